// What the page is doing: the position, whether it plays, what is chosen; and the keys, the mouse and the address.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 16, 64];
const BEAT = 900;
const ADDRESS = 300;
const LEGIBLE = 0.8;
const byId = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

const page = { position: 0, from: 0, playing: false, filter: -1, chosen: [], speed: 1, byWave: Boolean(run.clocked), zoom: 0 };

const allStops = Array.from({ length: LENGTH + 1 }, (_, position) => position);
const waveStops = [0, ...waveEnds];
let stops = page.byWave ? waveStops : allStops;

// The positions that a step goes to: all, or those at which something happened in the activation that is chosen.
function chooseStops() {
  const all = page.byWave ? waveStops : allStops;
  stops = page.filter < 0 ? all : all.filter((position, i) => {
    for (let event = i ? all[i - 1] : 0; event < position; event++) if (isBelow(run.events.tag[event], page.filter)) return true;
    return position === 0;
  });
}

function after(position) {
  return stops.find((stop) => stop > position);
}

function before(position) {
  for (let i = stops.length - 1; i >= 0; i--) if (stops[i] < position) return stops[i];
  return undefined;
}

// Moving

function seek(position, milliseconds = 0) {
  const to = Math.max(0, Math.min(position, LENGTH)), on = to > page.position;
  const near = before(to);
  page.from = on && milliseconds ? page.position : near === undefined ? to : near;
  page.position = to;
  const live = stateAt(to);
  if (milliseconds && !still.matches) glide(live, page.filter, milliseconds, () => {});
  else stand(live, page.filter);
  update(live);
}

function step(direction) {
  pause();
  const to = direction > 0 ? after(page.position) : before(page.position);
  if (to === undefined) return;
  seek(to, direction > 0 ? BEAT / Math.max(page.speed, 1) / 1.5 : 0);
}

let timer = 0, clock = 0;

function play() {
  if (predicting) return;
  if (after(page.position) === undefined) seek(0);
  page.playing = true;
  clock = performance.now();
  beat();
  updateControls();
}

function pause() {
  page.playing = false;
  clearTimeout(timer);
  updateControls();
  writeAddress();
}

// One beat: a step; where steps are faster than the screen, several.
function beat() {
  const each = BEAT / page.speed, now = performance.now();
  let to = after(page.position);
  for (clock += each; to !== undefined && clock < now; clock += each) to = after(to) || to;
  if (to === undefined) return pause();
  seek(to, each > 60 ? each * 0.9 : 0);
  timer = setTimeout(beat, Math.max(clock - performance.now(), 8));
}

// Showing

function currentEvents() {
  const found = [];
  for (let event = page.from; event < page.position; event++) if (page.filter < 0 || isBelow(run.events.tag[event], page.filter)) found.push(event);
  return found.length ? found : page.position ? [page.position - 1] : [];
}

let marked = [];

function mark(name, box) {
  boxOf(box).classList.add(name);
  marked.push([name, box]);
}

function marksOf(live, events) {
  const badges = new Map();
  const badge = (box, look, text) => { if (!badges.has(box)) badges.set(box, []); badges.get(box).push([look, text]); };
  const ready = new Map();
  for (const [token, place] of live) {
    if (place === READY && shownUnder(token, page.filter)) ready.set(boxOfToken(token), (ready.get(boxOfToken(token)) || 0) + 1);
    if (place === CAME) badge(boxOfToken(token), "came", value(run.tokens.v[token]));
  }
  for (const event of events) {
    const box = run.nodes[run.events.node[event]][BOX], did = run.events.did[event];
    if (did === FIRES) mark("fired", box);
    if (did === TRAPS) { mark("trapped", box); badge(box, "trap", ""); }
  }
  if (!predicting) for (const [box, count] of ready) badge(box, "ready", count > 1 ? count : "");
  return [...badges].flatMap(([box, said]) => said.map(([look, text], row) => {
    const { x, y } = frame(box);
    return svg("text", { class: `mark ${look}`, x: x - 3, y: y + 9 + row * 11, "text-anchor": "end" }, `${text} ${run.signs[look][0]}`.trim());
  }));
}

function update(live) {
  for (const [name, box] of marked) boxOf(box).classList.remove(name);
  marked = [];
  const events = currentEvents(), nodes = [...new Set(events.map((event) => run.events.node[event]))];
  byId("marks").replaceChildren(...marksOf(live, events));
  page.chosen.forEach((node) => mark("chosen", run.nodes[node][BOX]));
  updateSource(page.chosen, nodes.length <= 60 ? nodes : []);
  updateInspector(page.chosen, page.position, live);
  updateTree(page.position, page.filter, events.length ? run.events.tag[events[events.length - 1]] : -1);
  updateProfile(page.position);
  updatePrinted();
  updateControls();
  follow(nodes);
  if (predicting) ask(page.byWave, after(page.position) === undefined);
  if (!page.playing) writeAddress();
}

function updatePrinted() {
  const lines = printing.filter((event) => event < page.position).map((event) => run.events.texts[event]);
  byId("printed").textContent = lines.slice(-200).join("\n");
}

const printing = Object.keys(run.events.texts).map(Number).filter((event) => run.events.did[event] === FIRES);

function updateControls() {
  const { position } = page, number = position ? run.events.at[position - 1] + 1 : (run.events.at[0] || 0);
  byId("slider").value = position;
  byId("play").textContent = page.playing ? "Pause" : "Play";
  const wave = run.clocked && position ? `, wave ${run.events.wave[position - 1].toLocaleString("en")}` : "";
  const where = `Step ${number.toLocaleString("en")} of ${run.total.toLocaleString("en")}${wave}`;
  byId("where").textContent = where;
  byId("slider").setAttribute("aria-valuetext", where);
  byId("sentence").setAttribute("aria-live", page.playing ? "off" : "polite");
  byId("sentence").textContent = predicting && position ? `${where}.` : `${where}: ${toldAll(page.from, position)}`;
  const over = position === LENGTH && (!LENGTH || run.events.at[LENGTH - 1] === run.total - 1);
  byId("result").textContent = over ? (run.value ? `= ${run.value}` : `${run.status}: ${run.error}`) : "";
}

// Keep some of what fired in sight, where not all of the graph is.
function follow(nodes) {
  const pane = byId("scroll");
  if (!nodes.length || pane.scrollHeight <= pane.clientHeight + 4) return;
  const outer = pane.getBoundingClientRect(), places = nodes.map((node) => boxOf(run.nodes[node][BOX]).getBoundingClientRect());
  const inside = (box) => box.top >= outer.top && box.bottom <= outer.bottom && box.left >= outer.left && box.right <= outer.right;
  if (places.some(inside)) return;
  const inner = places[places.length - 1];
  pane.scrollTop += inner.top - outer.top - outer.height / 2;
  pane.scrollLeft += inner.left - outer.left - outer.width / 2;
}

// The address: #step=17 is after the 17th event of the run.

let written = 0;

function writeAddress() {
  clearTimeout(written);
  written = setTimeout(() => {
    const number = page.position ? run.events.at[page.position - 1] + 1 : run.events.at[0] || 0;
    try { history.replaceState(null, "", `#step=${number}`); } catch { /* a frame of a notebook has no address */ }
  }, ADDRESS);
}

function readAddress() {
  const found = /^#step=(\d{1,9})$/.exec(location.hash);
  if (!found) return 0;
  let position = 0;
  while (position < LENGTH && run.events.at[position] < Number(found[1])) position++;
  return position;
}

// Choosing

function choose(nodes) {
  page.chosen = nodes;
  update(stateAt(page.position));
}

function filterBy(tag) {
  page.filter = tag === 0 || tag === page.filter ? -1 : tag;
  byId("filter").textContent = page.filter < 0 ? "All are shown." : `Only ${path(page.filter)} is shown, with all below it.`;
  chooseStops();
  seek(page.position);
}

function clickBox(name) {
  if (predicting) return guess(name);
  const nodes = run.nodes.flatMap((node, number) => (node[BOX] === name ? [number] : []));
  choose(nodes.length && nodes[0] === page.chosen[0] ? [] : nodes);
}

function setUnit(byWave) {
  page.byWave = byWave && Boolean(run.clocked);
  byId("unit").value = page.byWave ? "wave" : "event";
  chooseStops();
  seek(page.position);
}

function setSpeed(speed) {
  page.speed = speed;
  byId("speed").value = speed;
  clock = performance.now();
}

function faster(by) {
  setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(page.speed) + by))]);
}

function setPredicting(wanted) {
  pause();
  predicting = wanted;
  guesses.clear();
  markGuesses();
  byId("predict").setAttribute("aria-pressed", String(predicting));
  byId("question").hidden = !predicting;
  byId("play").disabled = predicting;
  seek(predicting && !stops.includes(page.position) ? before(page.position) : page.position);
}

function turnTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
}

// Keys: what a key does, and what the help says of it.

const KEYS = [
  [[" "], "Space", "play or pause", () => (page.playing ? pause() : play())],
  [["ArrowRight"], "→", "one step on", () => step(1)],
  [["ArrowLeft"], "←", "one step back", () => step(-1)],
  [["ArrowDown"], "↓", "on the graph: the next node", () => walkBoxes(1)],
  [["ArrowUp"], "↑", "on the graph: the node before", () => walkBoxes(-1)],
  [["Home"], "Home", "to the beginning", () => { pause(); seek(0); }],
  [["End"], "End", "to the end", () => { pause(); seek(LENGTH); }],
  [[..."0123456789"], "0 to 9", "to so many tenths of the run", (key) => { pause(); seek(Math.round((LENGTH * Number(key)) / 10)); }],
  [["+", "="], "+", "faster", () => faster(1)],
  [["-"], "−", "slower", () => faster(-1)],
  [["w"], "w", "steps by wave, or by event", () => setUnit(!page.byWave)],
  [["p"], "p", "predict what fires next", () => setPredicting(!predicting)],
  [["c"], "c", "check a prediction", () => check()],
  [["t"], "t", "light or dark", turnTheme],
  [["?"], "?", "these keys", () => byId("keys").showModal()],
  [["Escape"], "Esc", "choose nothing, show all", () => { page.chosen = []; if (page.filter >= 0) filterBy(0); else choose([]); }],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const target = event.target, onButton = target.closest("button, [role=button]");
  if (target.closest("select") || (onButton && (event.key === " " || event.key === "Enter"))) return pressed(event, target);
  const walks = event.key === "ArrowDown" || event.key === "ArrowUp";
  if (walks && !target.closest("#plan")) return;
  const row = KEYS.find(([keys]) => keys.includes(event.key));
  if (!row) return;
  event.preventDefault();
  row[3](event.key);
}

// A box of the graph is a button; others press themselves.
function pressed(event, target) {
  const box = target.closest("#plan [role=button]");
  if (!box || (event.key !== " " && event.key !== "Enter")) return;
  event.preventDefault();
  clickBox(box.id.slice(2));
}

function walkBoxes(by) {
  const boxes = [...drawing.querySelectorAll("[role=button]")], at = boxes.indexOf(document.activeElement);
  const to = boxes[Math.max(0, Math.min(boxes.length - 1, at + by))];
  boxes.forEach((box) => { box.tabIndex = -1; });
  to.tabIndex = 0;
  to.focus();
}

function check() {
  if (!predicting || judged) return;
  judge(rightBoxes(page.position, after(page.position), page.byWave, stateAt(page.position)));
}

function onward() {
  const to = after(page.position);
  if (to !== undefined) seek(to, BEAT / 1.5);
}

// Zoom

function zoom(by) {
  const plan = byId("plan"), pane = byId("scroll"), fits = fitting();
  if (by !== 1) page.zoom = by === 0 ? 0 : Math.min(4, Math.max(fits / 2, (page.zoom || fits) * by));
  const scale = page.zoom || fits;
  plan.style.width = `${plan.viewBox.baseVal.width * scale}px`;
  plan.style.height = `${plan.viewBox.baseVal.height * scale}px`;
  pane.classList.toggle("all", page.zoom === 0);
}

function fitting() {
  const { width, height } = byId("plan").viewBox.baseVal, pane = byId("scroll");
  return Math.max(0.1, Math.min((pane.clientWidth - 8) / width, (pane.clientHeight - 8) / height, 1.6));
}

// Beginning

function listen() {
  const clicks = {
    first: () => { pause(); seek(0); }, back: () => step(-1), forward: () => step(1), last: () => { pause(); seek(LENGTH); },
    play: () => (page.playing ? pause() : play()), predict: () => setPredicting(!predicting), theme: turnTheme,
    help: () => byId("keys").showModal(), close: () => byId("keys").close(), answer: check, onward,
    smaller: () => zoom(1 / 1.25), larger: () => zoom(1.25), fit: () => zoom(0),
  };
  for (const id in clicks) byId(id).addEventListener("click", clicks[id]);
  byId("slider").addEventListener("input", () => { pause(); seek(Number(byId("slider").value)); });
  byId("unit").addEventListener("change", () => setUnit(byId("unit").value === "wave"));
  byId("speed").addEventListener("change", () => setSpeed(Number(byId("speed").value)));
  byId("plan").addEventListener("click", (event) => {
    const box = event.target.closest("[role=button]");
    if (box) clickBox(box.id.slice(2));
  });
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", () => { pause(); seek(readAddress()); });
  addEventListener("resize", () => { if (!page.zoom) zoom(0); });
  addEventListener("beforeprint", () => buildStrip(stops, page.filter));
}

function fill() {
  byId("called").textContent = run.called;
  byId("note").textContent = run.note;
  byId("note").hidden = !run.note;
  byId("slider").max = LENGTH;
  for (const speed of SPEEDS) byId("speed").append(new Option(`${speed}×`, speed));
  if (!run.clocked) byId("unit").replaceChildren(new Option("event", "event"));
  byId("printed-pane").hidden = !printing.length;
  for (const look of ["flight", "waits", "parked", "held", "ready", "trap", "came"]) {
    const said = document.createElement("span"), sign = document.createElement("b");
    sign.className = `mark ${look}`;
    sign.textContent = run.signs[look][0];
    said.append(sign, ` ${run.signs[look][1]}`);
    byId("legend").append(said);
  }
  for (const [, key, what] of KEYS) {
    const row = byId("key-table").insertRow(), name = document.createElement("th");
    name.textContent = key;
    row.append(name);
    row.insertCell().textContent = what;
  }
}

buildTree(filterBy);
buildSource(choose);
buildInspector(choose);
buildProfile((position) => { pause(); seek(position); });
fill();
listen();
setSpeed(1);
byId("unit").value = page.byWave ? "wave" : "event";
drawing.querySelector("[role=button]").setAttribute("tabindex", "0");
page.zoom = fitting() < LEGIBLE ? LEGIBLE : 0;
zoom(1);
seek(readAddress());
