// What the page is doing: the position, whether it plays, what is chosen; and the address.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 16, 64];
const BEAT = 900;
const ADDRESS = 300;
const byId = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

const page = { position: 0, from: 0, playing: false, filter: -1, chosen: [], speed: 1, unit: run.clocked ? "wave" : "firing", zoom: 0 };

const allStops = Array.from({ length: LENGTH + 1 }, (_, position) => position);
const firings = allStops.filter((position) => position && run.events.did[position - 1] !== STAYS && run.events.did[position - 1] !== PARKS);
const stopsBy = { wave: [0, ...waveEnds], firing: [...new Set([0, ...firings, LENGTH])], event: allStops };
const UNITS = run.clocked ? ["wave", "firing", "event"] : ["firing", "event"];
let stops = stopsBy[page.unit];

// The positions that a step goes to: all, or those at which something happened in the activation that is chosen.
function chooseStops() {
  const all = stopsBy[page.unit];
  stops = page.filter < 0 ? all : all.filter((position, i) => {
    for (let event = i ? all[i - 1] : 0; event < position; event++) if (isBelow(run.events.tag[event], page.filter)) return true;
    return position === 0;
  });
}

function after(position) {
  return stops.find((stop) => stop > position);
}

function before(position, among = stops) {
  for (let i = among.length - 1; i >= 0; i--) if (among[i] < position) return among[i];
  return undefined;
}

// The events of a step that leads to a position: those since the stop before, whatever activation is chosen.
const since = (position) => before(position, stopsBy[page.unit]) || 0;

// Moving

function seek(position, milliseconds = 0) {
  const inside = Math.max(0, Math.min(position, LENGTH)), to = predicting ? stopUpTo(inside) : inside, on = to > page.position;
  page.from = on && milliseconds ? page.position : since(to);
  page.position = to;
  const live = stateAt(to);
  if (milliseconds && !still.matches) glide(live, page.filter, milliseconds, () => showMarks(live));
  else {
    stand(live, page.filter);
    showMarks(live);
  }
  update(live);
  askHere();
}

// What a prediction is of begins at a stop, wherever one seeks.
const stopUpTo = (position) => before(position + 1) || 0;

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
  return found;
}

function update(live) {
  const events = currentEvents(), nodes = [...new Set(events.map((event) => run.events.node[event]))];
  updateSource(page.chosen, nodes.length <= 60 ? nodes : []);
  updateInspector(page.chosen, page.position, live);
  updateTree(page.position, page.filter, events.length ? run.events.tag[events[events.length - 1]] : -1);
  updateProfile(page.position);
  updatePrinted();
  updateCells(page.position, page.filter);
  updateControls();
  follow(page.position ? nodes.map((node) => run.nodes[node][BOX]) : boxesInFlight(live));
  if (!page.playing) writeAddress();
}

function boxesInFlight(live) {
  return [...new Set([...live].filter(([, place]) => flies(place)).map(([token]) => boxOfToken(token)))];
}

const LINES = 200;

function updatePrinted() {
  const { lines, left } = run.printed, printed = lines.filter(([at]) => at <= page.position);
  const earlier = left + Math.max(0, printed.length - LINES);
  byId("earlier").hidden = !earlier;
  byId("earlier").textContent = `${counted(earlier, "line")} before these`;
  const pane = byId("printed"), text = printed.slice(-LINES).map(([, line]) => line).join("\n");
  if (text === pane.textContent) return;
  pane.textContent = text;
  pane.scrollTop = pane.scrollHeight;
}

function updateControls() {
  const { position } = page, number = position ? run.events.at[position - 1] + 1 : (run.events.at[0] || 0);
  byId("slider").value = position;
  byId("play").textContent = page.playing ? "Pause" : "Play";
  const wave = run.clocked && position ? `, wave ${run.events.wave[position - 1].toLocaleString("en")}` : "";
  const where = `Step ${number.toLocaleString("en")} of ${run.total.toLocaleString("en")}${wave}`;
  byId("where").textContent = where;
  byId("slider").setAttribute("aria-valuetext", where);
  byId("sentence").setAttribute("aria-live", page.playing ? "off" : "polite");
  byId("sentence").textContent = predicting && position ? `${where}.` : `${where}: ${toldAll(currentEvents(), position, page.filter)}`;
  byId("result").textContent = isOver() ? (run.value ? `= ${run.value}` : `${run.status}: ${run.error}`) : "";
}

// Whether the run ends where the page stands: pages of a part of it end elsewhere.
function isOver() {
  return page.position === LENGTH && (!LENGTH || run.events.at[LENGTH - 1] === run.total - 1);
}

function ending() {
  if (!isOver()) return "This page ends here; the run goes on.";
  return run.value ? `The run is over: it returned ${run.value}.` : `The run ended here: ${run.error || run.status}.`;
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

// The position that the address names; none where it names none.
function readAddress() {
  const found = /^#step=(\d{1,9})$/.exec(location.hash);
  if (!found) return undefined;
  let position = 0;
  while (position < LENGTH && run.events.at[position] < Number(found[1])) position++;
  return position;
}

// Choosing

function choose(nodes) {
  page.chosen = nodes;
  const live = stateAt(page.position);
  showMarks(live);
  update(live);
}

// A prediction is of the whole run: while one predicts, no activation is chosen.
function filterBy(tag) {
  page.filter = predicting || tag === 0 || tag === page.filter ? -1 : tag;
  sayFilter();
  chooseStops();
  seek(page.position);
}

function sayFilter() {
  const all = predicting ? "All are shown while you predict." : "All are shown.";
  byId("filter").textContent = page.filter < 0 ? all : `Only ${path(page.filter)} is shown, with all below it.`;
  byId("tags").setAttribute("aria-disabled", String(predicting));
}

function clickBox(name) {
  if (predicting) return guess(name);
  const nodes = run.nodes.flatMap((node, number) => (node[BOX] === name ? [number] : []));
  choose(nodes.length && nodes[0] === page.chosen[0] ? [] : nodes);
}

function setUnit(unit) {
  page.unit = unit;
  byId("unit").value = unit;
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
  filterBy(0);
  byId("predict").setAttribute("aria-pressed", String(predicting));
  byId("question").hidden = !predicting;
  byId("play").disabled = predicting;
  refit();
}

function turnTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
}

function check() {
  const to = after(page.position);
  if (!predicting || judged || to === undefined) return;
  judge(rightBoxes(page.position, to, page.unit === "wave", stateAt(page.position)));
}

function onward() {
  const to = after(page.position);
  if (to !== undefined) seek(to, BEAT / 1.5);
}
