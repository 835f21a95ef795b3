// The panes beside the graph. The inspector: one node, its operands and its last firings.

const MAX_LISTED_FIRINGS = 5, MAX_LISTED_TOKENS = 8;

function buildInspector(choose) {
  const list = document.getElementById("node");
  list.append(new Option("none", "-1"));
  run.nodes.forEach((node, number) => list.append(new Option(`${node[NAME]}: ${node[LABEL]}`, number)));
  list.addEventListener("change", () => choose(list.value === "-1" ? [] : [Number(list.value)]));
}

function updateInspector(chosen, position, live) {
  const pane = document.getElementById("inspector"), list = document.getElementById("node");
  const node = chosen.length ? chosen[0] : -1;
  if (list.value !== String(node)) list.value = String(node);
  pane.replaceChildren();
  if (node < 0) return void pane.append(paragraph("Choose a node here, in the graph, or by its source line."));
  const row = run.nodes[node];
  pane.append(paragraph(`${row[OP]}, ${row[ORIGIN]}`), paragraph(run.docs[row[OP]] || ""));
  pane.append(heading("Operands"), bullets(operandsOf(node, live)));
  pane.append(heading("Last firings"), bullets(lastFirings(node, position)));
}

function operandsOf(node, live) {
  const ports = run.nodes[node][LITERALS], literals = [];
  ports.forEach((literal, port) => { if (literal !== null) literals.push(`port ${port} is always ${literal}`); });
  const tokens = [];
  for (const [token, place] of live) {
    if (run.tokens.node[token] !== node || place === RETURNED) continue;
    const state = run.badges[LOOKS[place]][1];
    tokens.push(`port ${run.tokens.port[token]}: ${fullValue(run.tokens.value[token])} under ${tagPath(run.tokens.tag[token])}, ${state}`);
  }
  const more = tokens.length > MAX_LISTED_TOKENS ? [`and ${tokens.length - MAX_LISTED_TOKENS} more`] : [];
  const operands = [...literals, ...tokens.slice(0, MAX_LISTED_TOKENS), ...more];
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
  const last = events.slice(Math.max(0, low - MAX_LISTED_FIRINGS), low).reverse();
  return last.length ? last.map((event) => `step ${run.events.number[event] + 1}: ${describeEvent(event)}`) : ["It has not fired."];
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

const STORE = 0, DEFERRED_READ = 1;
const MAX_ARRAYS = 12, MAX_CELLS = 64, MAX_READERS = 3;
const [CHANGE_POSITION, CHANGE_KIND, CHANGE_ARRAY, CHANGE_CELL, CHANGE_VALUE, CHANGE_NODE, CHANGE_TAG] = [0, 1, 2, 3, 4, 5, 6];

// The cells of each array that exists at a position, by number, with their stores and deferred reads.
function cellsAt(position, filter) {
  const arrays = new Map();
  run.cells.arrays.forEach(([creation, , tag], array) => {
    if (creation <= position && (filter < 0 || isWithin(tag, filter))) arrays.set(array, new Map());
  });
  for (const change of run.cells.changes) {
    if (change[CHANGE_POSITION] > position) break;
    const cells = arrays.get(change[CHANGE_ARRAY]);
    if (!cells) continue;
    if (!cells.has(change[CHANGE_CELL])) cells.set(change[CHANGE_CELL], { stores: [], reads: [], lastChange: 0 });
    const cell = cells.get(change[CHANGE_CELL]);
    if (change[CHANGE_KIND] === STORE) { cell.stores.push(change); cell.reads = []; } else cell.reads.push(change);
    cell.lastChange = change[CHANGE_POSITION];
  }
  return arrays;
}

function updateCells(position, filter) {
  if (!run.cells.arrays.length) return;
  const pane = byId("cells"), arrays = [...cellsAt(position, filter)], parts = [];
  for (const [array, cells] of arrays.slice(-MAX_ARRAYS)) parts.push(...showArray(array, cells, position));
  if (!arrays.length) parts.push(paragraph("No array exists yet."));
  if (arrays.length > MAX_ARRAYS) parts.unshift(paragraph(`The last ${MAX_ARRAYS} of ${plural(arrays.length, "array")}:`));
  pane.replaceChildren(...parts);
}

function showArray(array, cells, position) {
  const [, name, tag, size] = run.cells.arrays[array], full = [...cells.values()].filter((cell) => cell.stores.length).length;
  const title = heading(`${name} under ${tagPath(tag)}: ${full.toLocaleString("en")} of ${size.toLocaleString("en")} full`);
  const numbers = size <= MAX_CELLS ? Array.from({ length: size }, (_, number) => number) : [...cells.keys()].sort((a, b) => a - b);
  const list = document.createElement("ul");
  list.append(...numbers.slice(0, MAX_CELLS).map((number) => showCell(number, cells.get(number), position)));
  return numbers.length > MAX_CELLS ? [title, list, paragraph(`and ${(numbers.length - MAX_CELLS).toLocaleString("en")} more`)] : [title, list];
}

function showCell(number, cell, position) {
  const item = document.createElement("li"), name = document.createElement("b");
  name.textContent = `${number}: `;
  item.append(name);
  if (!cell || !(cell.stores.length || cell.reads.length)) {
    item.className = "empty";
    item.append("empty");
    return item;
  }
  const readers = cell.reads.map((each) => run.tags.short[each[CHANGE_TAG]]), more = readers.length - MAX_READERS;
  const readsText = `${run.badges.deferred[0]} ${readers.slice(0, MAX_READERS).join(", ")}${more > 0 ? ` +${more}` : ""}`;
  item.className = cell.stores.length > 1 ? "conflict" : cell.stores.length ? "full" : "deferred";
  item.classList.toggle("current", cell.lastChange > page.from && cell.lastChange <= position);
  item.append(cell.stores.length ? cell.stores.map((store) => shortValue(store[CHANGE_VALUE])).join(" and ") : readsText);
  item.title = [...cell.stores, ...cell.reads].map((each) => {
    const reader = `${run.nodes[each[CHANGE_NODE]][NAME]} under ${tagPath(each[CHANGE_TAG])}`;
    return each[CHANGE_KIND] === STORE ? `${fullValue(each[CHANGE_VALUE])}, put by ${reader}` : `${reader} waits for it`;
  }).join("; ");
  return item;
}

// The profile, with a cursor: firings in each wave, or, if there are no waves, tokens in flight after each event.

const PROFILE_COLUMNS = 240, PROFILE_HEIGHT = 40;
let cursor = null, profileBounds = [];

function profileHeights() {
  if (run.has_waves) {
    profileBounds = [0, ...waveEnds];
    return waveEnds.map((end, wave) => {
      let count = 0;
      for (let event = wave ? waveEnds[wave - 1] : 0; event < end; event++) count += isFiring(event);
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

function buildProfile() {
  byId("profile").replaceChildren(byId("profile-title"));
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
  const what = run.has_waves ? "Firings in each wave" : "Tokens in flight after each event";
  document.getElementById("profile-title").textContent = `${what}: ${plural(bars.length, run.has_waves ? "wave" : "event")}, at most ${Math.max(0, ...bars)}`;
}

// The position at the end of the bar at this point of the chart.
function positionOfBar(x) {
  const box = byId("profile").getBoundingClientRect(), bars = profileBounds.length - 1;
  return profileBounds[Math.min(bars, Math.floor(((x - box.left) / box.width) * bars) + 1)];
}

function updateProfile(position) {
  let wave = 0;
  while (wave + 1 < profileBounds.length && profileBounds[wave + 1] <= position) wave++;
  const begin = profileBounds[wave], end = profileBounds[wave + 1];
  updateLanes(position);
  cursor.setAttribute("x", wave + (end === undefined ? 0 : (position - begin) / (end - begin)));
}

// The lanes of several workers: a row for each, with a bar at each of its events, and an arrow where a call or loop was
// donated to it, from the side of the donor.

const laneCursors = [];

function buildLanes() {
  const pane = byId("lanes");
  pane.hidden = !run.lanes;
  pane.replaceChildren();
  laneCursors.length = 0;
  if (!run.lanes) return;
  const { titles, rows, donations } = run.lanes, percent = (event) => `${(100 * (event + 0.5)) / Math.max(LENGTH, 1)}%`;
  titles.forEach((title, row) => {
    const lane = document.createElement("div"), chart = svgElement("svg", { viewBox: `0 0 ${Math.max(LENGTH, 1)} 1`, preserveAspectRatio: "none" });
    lane.className = "lane";
    let bars = "";
    rows.forEach((of, event) => { if (of === row) bars += `M${event} ${isFiring(event) ? 0.15 : 0.6}h1V1h-1z`; });
    chart.append(svgElement("path", { class: "bar", d: bars }));
    const name = document.createElement("span"), cursor = document.createElement("span");
    name.className = "title";
    name.append(title);
    cursor.className = "lane-cursor";
    laneCursors.push(cursor);
    lane.append(chart, name, cursor);
    for (const [sender, receiver] of donations.filter(([, receiver]) => rows[receiver] === row)) {
      const arrow = document.createElement("span");
      arrow.className = "donation";
      arrow.append(rows[sender] < row ? "↓" : "↑");
      arrow.style.left = percent(receiver);
      arrow.title = `${titles[rows[sender]]} gave ${tagPath(run.events.tag[receiver])} to ${title}`;
      lane.append(arrow);
    }
    pane.append(lane);
  });
  pane.setAttribute("aria-label", `${plural(titles.length, "lane")}: ${titles.join(", ")}; ${plural(donations.length, "donation")} of a call or loop`);
}

function updateLanes(position) {
  for (const each of laneCursors) each.style.left = `${(100 * position) / Math.max(LENGTH, 1)}%`;
}

// The position after the event at this point of the lanes.
function positionOfLanes(x) {
  const box = byId("lanes").getBoundingClientRect();
  return Math.max(0, Math.min(LENGTH, Math.floor(((x - box.left) / box.width) * LENGTH) + 1));
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
    if (!lines.length) pane.append("the source cannot be read");
    lineElements.push(lines.map((text, offset) => sourceLine(pane, [piece, offset], first + offset, text, choose)));
  });
}

function sourceLine(pane, place, number, text, choose) {
  const nodes = nodesOfLine.get(String(place));
  const line = document.createElement(nodes ? "button" : "div"), count = document.createElement("span");
  line.className = "line";
  count.className = "number";
  count.textContent = number;
  const [, begin, rest] = /^(\s*\S*)(.*)$/.exec(text), start = document.createElement("span");
  start.className = "begin";  // a word that is too long for the row is broken there, rather than moved below the number
  start.textContent = begin || " ";
  line.append(count, start, rest);
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
    line.classList.remove("chosen", "current");
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
  current.forEach((node) => highlight(node, "current"));
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
  items.length = 0;
  byId("tags").replaceChildren();
  const list = document.getElementById("tags"), children = run.tags.parent.map(() => []);
  run.tags.parent.forEach((parent, tag) => { if (parent >= 0) children[parent].push(tag); });
  const waiting = run.tags.parent.flatMap((parent, tag) => (parent < 0 ? [[tag, 1]] : []));
  while (waiting.length && items.length < MAX_TREE_ITEMS) {
    const [tag, level] = waiting.pop();
    items.push(buildTreeItem(list, tag, level, choose));
    for (const each of children[tag].reverse()) waiting.push([each, level + 1]);
  }
  if (items.length < run.tags.parent.length) {
    const rest = document.createElement("li");
    rest.setAttribute("role", "treeitem");
    rest.setAttribute("aria-disabled", "true");
    rest.className = "rest";
    rest.textContent = `and ${(run.tags.parent.length - items.length).toLocaleString("en")} more; play --under TAG shows one with all below it`;
    list.append(rest);
  }
  items[0].element.tabIndex = 0;
}

function buildTreeItem(list, tag, level, choose) {
  const element = document.createElement("li");
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", level);
  element.setAttribute("aria-selected", "false");
  element.tabIndex = -1;
  element.style.paddingInlineStart = `${Math.min(level, 24) * 0.8}em`;
  element.textContent = run.tags.call[tag];
  element.title = run.tags.full_call[tag];
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
    const { tag } = item, { call, results, opened, returned, closed } = run.tags;
    const stage = opened[tag] > position ? "future" : closed[tag] >= 0 && closed[tag] <= position ? "closed" : "open";
    const hasReturned = returned[tag] >= 0 && returned[tag] <= position;
    const text = hasReturned && results[tag] ? `${call[tag]} = ${results[tag]}` : call[tag];
    const state = `${stage} ${tag === filter} ${tag === current} ${text}`;
    if (state === item.state) continue;
    item.state = state;
    item.element.hidden = stage === "future" && tag !== 0;
    item.element.className = `${stage}${tag === current ? " current" : ""}`;
    item.element.setAttribute("aria-selected", String(tag === filter));
    item.element.textContent = text;
    if (tag === current && !item.element.hidden) scrollIntoPane(document.getElementById("tags"), item.element);
  }
}
