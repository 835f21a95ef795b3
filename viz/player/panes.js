// The panes beside the graph. The inspector: one node, its operands and its last firings.

const FIRINGS = 5, WAITING = 8;

function buildInspector(choose) {
  const list = document.getElementById("node");
  list.append(new Option("none", "-1"));
  run.nodes.forEach((node, number) => list.append(new Option(`${node[NAME]}: ${node[SAID]}`, number)));
  list.addEventListener("change", () => choose(list.value === "-1" ? [] : [Number(list.value)]));
}

function updateInspector(chosen, position, live) {
  const pane = document.getElementById("inspector"), list = document.getElementById("node");
  const node = chosen.length ? chosen[0] : -1;
  if (list.value !== String(node)) list.value = String(node);
  pane.replaceChildren();
  if (node < 0) return void pane.append(paragraph("Choose a node here, in the graph, or by its source line."));
  const row = run.nodes[node];
  pane.append(paragraph(`${row[OP]}, ${row[WHERE]}`), paragraph(run.docs[row[OP]] || ""));
  pane.append(heading("Operands"), bullets(operandsOf(node, live)));
  pane.append(heading("Last firings"), bullets(lastFirings(node, position)));
}

function operandsOf(node, live) {
  const ports = run.nodes[node][PORTS], literals = [];
  ports.forEach((literal, port) => { if (literal !== null) literals.push(`port ${port} is always ${literal}`); });
  const tokens = [];
  for (const [token, place] of live) {
    if (run.tokens.n[token] !== node || place === RESULT) continue;
    const state = run.signs[LOOKS[place]][1];
    tokens.push(`port ${run.tokens.p[token]}: ${fullValue(run.tokens.v[token])} under ${tagPath(run.tokens.t[token])}, ${state}`);
  }
  const more = tokens.length > WAITING ? [`and ${tokens.length - WAITING} more`] : [];
  const operands = [...literals, ...tokens.slice(0, WAITING), ...more];
  return operands.length ? operands : ["none"];
}

function lastFirings(node, position) {
  const events = firingsOf[node];
  let low = 0, high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle] < position) low = middle + 1;
    else high = middle;
  }
  const last = events.slice(Math.max(0, low - FIRINGS), low).reverse();
  return last.length ? last.map((event) => `step ${run.events.at[event] + 1}: ${describeEvent(event)}`) : ["It has not fired."];
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

function heading(text) {
  const element = document.createElement("h3");
  element.textContent = text;
  return element;
}

function bullets(lines) {
  const list = document.createElement("ul");
  for (const line of lines) list.append(Object.assign(document.createElement("li"), { textContent: line }));
  return list;
}

// The write-once cells: their values at a position, and the deferred reads of empty cells.

const PUT = 0, PARK = 1;
const ARRAYS = 12, CELLS = 64, READERS = 3;
const [CELL_AT, CELL_DID, CELL_OF, CELL_NUMBER, CELL_VALUE, CELL_NODE, CELL_TAG] = [0, 1, 2, 3, 4, 5, 6];

// The cells of each array that exists at a position, by number, with their stores and deferred reads.
function cellsAt(position, filter) {
  const arrays = new Map();
  run.cells.arrays.forEach(([creation, , tag], array) => {
    if (creation <= position && (filter < 0 || isWithin(tag, filter))) arrays.set(array, new Map());
  });
  for (const change of run.cells.changes) {
    if (change[CELL_AT] > position) break;
    const cells = arrays.get(change[CELL_OF]);
    if (!cells) continue;
    if (!cells.has(change[CELL_NUMBER])) cells.set(change[CELL_NUMBER], { puts: [], parked: [], at: 0 });
    const cell = cells.get(change[CELL_NUMBER]);
    if (change[CELL_DID] === PUT) { cell.puts.push(change); cell.parked = []; } else cell.parked.push(change);
    cell.at = change[CELL_AT];
  }
  return arrays;
}

function updateCells(position, filter) {
  if (!run.cells.arrays.length) return;
  const pane = byId("cells"), arrays = [...cellsAt(position, filter)], parts = [];
  for (const [array, cells] of arrays.slice(-ARRAYS)) parts.push(...showArray(array, cells, position));
  if (!arrays.length) parts.push(paragraph("No array exists yet."));
  if (arrays.length > ARRAYS) parts.unshift(paragraph(`The last ${ARRAYS} of ${plural(arrays.length, "array")}:`));
  pane.replaceChildren(...parts);
}

function showArray(array, cells, position) {
  const [, name, tag, size] = run.cells.arrays[array], full = [...cells.values()].filter((cell) => cell.puts.length).length;
  const title = heading(`${name} under ${tagPath(tag)}: ${full.toLocaleString("en")} of ${size.toLocaleString("en")} full`);
  const numbers = size <= CELLS ? Array.from({ length: size }, (_, number) => number) : [...cells.keys()].sort((a, b) => a - b);
  const list = document.createElement("ul");
  list.append(...numbers.slice(0, CELLS).map((number) => showCell(number, cells.get(number), position)));
  return numbers.length > CELLS ? [title, list, paragraph(`and ${(numbers.length - CELLS).toLocaleString("en")} more`)] : [title, list];
}

function showCell(number, cell, position) {
  const item = document.createElement("li"), name = document.createElement("b");
  name.textContent = `${number}: `;
  item.append(name);
  if (!cell || !(cell.puts.length || cell.parked.length)) {
    item.className = "empty";
    item.append("empty");
    return item;
  }
  const readers = cell.parked.map((each) => run.tags.short[each[CELL_TAG]]), more = readers.length - READERS;
  const reads = `${run.signs.parked[0]} ${readers.slice(0, READERS).join(", ")}${more > 0 ? ` +${more}` : ""}`;
  item.className = cell.puts.length > 1 ? "twice" : cell.puts.length ? "full" : "parked";
  item.classList.toggle("now", cell.at > page.from && cell.at <= position);
  item.append(cell.puts.length ? cell.puts.map((put) => shortValue(put[CELL_VALUE])).join(" and ") : reads);
  item.title = [...cell.puts, ...cell.parked].map((each) => {
    const reader = `${run.nodes[each[CELL_NODE]][NAME]} under ${tagPath(each[CELL_TAG])}`;
    return each[CELL_DID] === PUT ? `${fullValue(each[CELL_VALUE])}, put by ${reader}` : `${reader} waits for it`;
  }).join("; ");
  return item;
}

// The profile, with a cursor: firings in each wave, or, if there are no waves, tokens in flight after each event.

const PROFILE_COLUMNS = 240, PROFILE_HEIGHT = 40;
let cursor = null, profileBounds = [];

function profileHeights() {
  if (run.clocked) {
    profileBounds = [0, ...waveEnds];
    return waveEnds.map((end, wave) => {
      let count = 0;
      for (let event = wave ? waveEnds[wave - 1] : 0; event < end; event++) count += run.events.did[event] === FIRES || run.events.did[event] === TRAPS;
      return count;
    });
  }
  const live = stateAt(0), counts = [];
  for (let event = 0; event < LENGTH; event++) {
    applyEvent(live, event);
    let count = 0;
    for (const place of live.values()) count += isInFlight(place);
    counts.push(count);
  }
  profileBounds = counts.map((_, event) => event).concat([LENGTH]);
  return counts;
}

function buildProfile(seek) {
  const chart = document.getElementById("profile"), bars = profileHeights(), size = Math.ceil(bars.length / PROFILE_COLUMNS) || 1;
  const columns = [];
  for (let i = 0; i < bars.length; i += size) {
    const some = bars.slice(i, i + size);
    columns.push(some.reduce((a, b) => a + b, 0) / some.length);
  }
  const highest = Math.max(1, ...columns);
  chart.setAttribute("viewBox", `0 0 ${Math.max(bars.length, 1)} ${PROFILE_HEIGHT}`);
  columns.forEach((height, column) => {
    const tall = (height / highest) * PROFILE_HEIGHT;
    chart.append(svgElement("rect", { class: "bar", x: column * size + 0.05 * size, y: PROFILE_HEIGHT - tall, width: size * 0.9, height: tall }));
  });
  cursor = svgElement("rect", { class: "cursor", x: 0, y: 0, width: Math.max(bars.length / 300, 0.02), height: PROFILE_HEIGHT });
  chart.append(cursor);
  const what = run.clocked ? "Firings in each wave" : "Tokens in flight after each event";
  document.getElementById("profile-title").textContent = `${what}: ${plural(bars.length, run.clocked ? "wave" : "event")}, at most ${Math.max(0, ...bars)}`;
  chart.addEventListener("click", (event) => {
    const box = chart.getBoundingClientRect();
    seek(profileBounds[Math.min(bars.length, Math.floor(((event.clientX - box.left) / box.width) * bars.length) + 1)]);
  });
}

function updateProfile(position) {
  let wave = 0;
  while (wave + 1 < profileBounds.length && profileBounds[wave + 1] <= position) wave++;
  const begin = profileBounds[wave], end = profileBounds[wave + 1];
  cursor.setAttribute("x", wave + (end === undefined ? 0 : (position - begin) / (end - begin)));
}

// The source: a line and its nodes are highlighted together.

const lineElements = [];
const nodesOfLine = new Map();

function buildSource(choose) {
  const pane = document.getElementById("source");
  if (!run.source.length) document.getElementById("source-pane").hidden = true;
  run.nodes.forEach((node, number) => {
    const key = String(node[LINE]);
    if (node[LINE]) nodesOfLine.set(key, [...(nodesOfLine.get(key) || []), number]);
  });
  run.source.forEach(([file, first, lines], piece) => {
    const title = document.createElement("h3");
    title.textContent = file;
    pane.append(title);
    if (!lines.length) pane.append("the source is not here");
    lineElements.push(lines.map((text, offset) => sourceLine(pane, [piece, offset], first + offset, text, choose)));
  });
}

function sourceLine(pane, place, number, text, choose) {
  const nodes = nodesOfLine.get(String(place));
  const line = document.createElement(nodes ? "button" : "div"), count = document.createElement("span");
  line.className = "line";
  count.className = "number";
  count.textContent = number;
  line.append(count, text || " ");
  if (nodes) {
    line.setAttribute("aria-pressed", "false");
    line.addEventListener("click", () => choose(nodes));
  }
  pane.append(line);
  return line;
}

let highlightedLines = [];

// Highlight the lines of the chosen nodes, and of those that have just fired.
function updateSource(chosen, current) {
  for (const line of highlightedLines) {
    line.classList.remove("chosen", "now");
    line.setAttribute("aria-pressed", "false");
  }
  highlightedLines = [];
  const highlight = (node, name) => {
    const place = run.nodes[node][LINE], line = place && lineElements[place[0]][place[1]];
    if (!line) return;
    line.classList.add(name);
    if (name === "chosen") line.setAttribute("aria-pressed", "true");
    highlightedLines.push(line);
  };
  current.forEach((node) => highlight(node, "now"));
  chosen.forEach((node) => highlight(node, "chosen"));
  if (highlightedLines.length) scrollIntoPane(document.getElementById("source"), highlightedLines[0]);
}

function scrollIntoPane(pane, element) {
  const inner = element.getBoundingClientRect(), outer = pane.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom) pane.scrollTop += inner.top - outer.top - outer.height / 2;
}

// The tree of activations, calls and iterations. Choosing one shows only its tokens, and steps only to its events.

const MAX_TREE_ITEMS = 1500;
const items = [];

function buildTree(choose) {
  const list = document.getElementById("tags"), below = run.tags.up.map(() => []);
  run.tags.up.forEach((up, tag) => { if (up >= 0) below[up].push(tag); });
  const waiting = run.tags.up.flatMap((up, tag) => (up < 0 ? [[tag, 1]] : []));
  while (waiting.length && items.length < MAX_TREE_ITEMS) {
    const [tag, level] = waiting.pop();
    items.push(buildTreeItem(list, tag, level, choose));
    for (const each of below[tag].reverse()) waiting.push([each, level + 1]);
  }
  if (items.length < run.tags.up.length) {
    const rest = document.createElement("li");
    rest.setAttribute("role", "treeitem");
    rest.setAttribute("aria-disabled", "true");
    rest.className = "rest";
    rest.textContent = `and ${(run.tags.up.length - items.length).toLocaleString("en")} more; play --under TAG shows one with all below it`;
    list.append(rest);
  }
  list.addEventListener("keydown", (event) => moveInTree(event, choose));
  items[0].element.tabIndex = 0;
}

function buildTreeItem(list, tag, level, choose) {
  const element = document.createElement("li");
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", level);
  element.setAttribute("aria-selected", "false");
  element.tabIndex = -1;
  element.style.paddingInlineStart = `${Math.min(level, 24) * 0.8}em`;
  element.textContent = run.tags.called[tag];
  element.addEventListener("click", () => choose(tag));
  list.append(element);
  return { element, tag, state: "" };
}

function moveInTree(event, choose) {
  const visible = items.filter(({ element }) => !element.hidden);
  const at = visible.findIndex(({ element }) => element === document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (to !== undefined && visible[to]) focusItem(visible[to]);
  else if ((event.key === "Enter" || event.key === " ") && at >= 0) choose(visible[at].tag);
  else if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
}

function focusItem(item) {
  for (const { element } of items) element.tabIndex = -1;
  item.element.tabIndex = 0;
  item.element.focus();
}

// Hide activations that have not opened, fade those that have closed, and show results that have arrived.
function updateTree(position, filter, current) {
  for (const item of items) {
    const { tag } = item, { opened, closed, came, called, gave } = run.tags;
    const is = opened[tag] > position ? "later" : closed[tag] >= 0 && closed[tag] <= position ? "over" : "open";
    const text = came[tag] >= 0 && came[tag] <= position && gave[tag] ? `${called[tag]} = ${gave[tag]}` : called[tag];
    const state = `${is} ${tag === filter} ${tag === current} ${text}`;
    if (state === item.state) continue;
    item.state = state;
    item.element.hidden = is === "later" && tag !== 0;
    item.element.className = `${is}${tag === current ? " current" : ""}`;
    item.element.setAttribute("aria-selected", String(tag === filter));
    item.element.textContent = text;
    if (tag === current && !item.element.hidden) scrollIntoPane(document.getElementById("tags"), item.element);
  }
}
