// The state of the page (position, playing, selection), its motion, and its address.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 16, 64];
const STEP_MILLISECONDS = 900;
const ADDRESS_DELAY = 300;
const byId = (id) => document.getElementById(id);
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

// `address` is what the address has besides the position.
const page = { position: 0, from: 0, playing: false, filter: -1, chosen: [], speed: 1, unit: "wave", zoom: 0, hasChosenZoom: false, address: "" };

let allStops = [], stopsBy = {}, units = [], stops = [];

// Find the positions at which steps of each unit end, in a run that has just been loaded.
function findStops() {
  allStops = Array.from({ length: LENGTH + 1 }, (_, position) => position);
  const firings = allStops.filter((position) => position && (isFiring(position - 1) || run.events.kind[position - 1] === TOKEN_IS_EDITED));
  stopsBy = { wave: [0, ...waveEnds], firing: [...new Set([0, ...firings, LENGTH])], event: allStops };
  units = run.has_waves ? ["wave", "firing", "event"] : ["firing", "event"];
  if (!units.includes(page.unit)) page.unit = units[0];
  byId("unit").replaceChildren(...units.map((unit) => new Option(unit, unit)));
  byId("unit").value = page.unit;
  chooseStops();
}

// The positions to which steps go: all, or only those at which an event happens in the chosen activation.
function chooseStops() {
  const all = stopsBy[page.unit];
  stops = page.filter < 0 ? all : all.filter((position, i) => {
    for (let event = i ? all[i - 1] : 0; event < position; event++) if (isWithin(run.events.tag[event], page.filter)) return true;
    return position === 0;
  });
}

function nextStop(position) {
  return stops.find((stop) => stop > position);
}

function previousStop(position, among = stops) {
  for (let i = among.length - 1; i >= 0; i--) if (among[i] < position) return among[i];
  return undefined;
}

// The position at which the step to this position starts; the chosen activation does not matter.
const stepStart = (position) => previousStop(position, stopsBy[page.unit]) || 0;

// Moving

function seek(position, milliseconds = 0) {
  const inside = Math.max(0, Math.min(position, LENGTH)), to = predicting ? stopAtOrBefore(inside) : inside, isForward = to > page.position;
  page.from = isForward && milliseconds ? page.position : stepStart(to);
  page.position = to;
  const live = stateAt(to);
  if (milliseconds && !reducedMotion.matches) animateState(live, page.filter, milliseconds, () => showMarks(live));
  else {
    showState(live, page.filter);
    showMarks(live);
  }
  updatePanes(live);
  updateQuestion();
}

// The last stop at or before a position: predictions begin at stops.
const stopAtOrBefore = (position) => previousStop(position + 1) || 0;

function step(direction) {
  pause();
  const to = direction > 0 ? nextStop(page.position) : previousStop(page.position);
  if (to === undefined) return;
  seek(to, direction > 0 ? STEP_MILLISECONDS / Math.max(page.speed, 1) / 1.5 : 0);
}

let timer = 0, clock = 0;

function play() {
  if (predicting) return;
  if (nextStop(page.position) === undefined) seek(0);
  page.playing = true;
  clock = performance.now();
  playStep();
  updateControls();
}

function pause() {
  page.playing = false;
  clearTimeout(timer);
  updateControls();
  writeAddress();
}

// One step of playing, or several if steps are faster than the screen.
function playStep() {
  const each = STEP_MILLISECONDS / page.speed, now = performance.now();
  let to = nextStop(page.position);
  for (clock += each; to !== undefined && clock < now; clock += each) to = nextStop(to) || to;
  if (to === undefined) return pause();
  seek(to, each > 60 ? each * 0.9 : 0);
  timer = setTimeout(playStep, Math.max(clock - performance.now(), 8));
}

// Showing

function currentEvents() {
  const events = [];
  for (let event = page.from; event < page.position; event++) if (page.filter < 0 || isWithin(run.events.tag[event], page.filter)) events.push(event);
  return events;
}

function updatePanes(live) {
  const events = currentEvents(), nodes = [...new Set(events.map((event) => run.events.node[event]))];
  updateSource(page.chosen, nodes.length <= 60 ? nodes : []);
  updateInspector(page.chosen, page.position, live);
  updateTree(page.position, page.filter, events.length ? run.events.tag[events[events.length - 1]] : -1);
  updateProfile(page.position);
  updatePrinted();
  updateCells(page.position, page.filter);
  updateControls();
  if (pageData.live && !page.playing) updateFlight();
  scrollToBoxes(page.position ? nodes.map(boxOfNode) : boxesInFlight(live));
  if (!page.playing) writeAddress();
}

function boxesInFlight(live) {
  return [...new Set([...live].filter(([, place]) => isInFlight(place)).map(([token]) => boxOfToken(token)))];
}

const MAX_PRINTED_LINES = 200;

function updatePrinted() {
  const { lines, omitted } = run.printed, printed = lines.filter(([at]) => at <= page.position);
  const earlier = omitted + Math.max(0, printed.length - MAX_PRINTED_LINES);
  byId("earlier").hidden = !earlier;
  byId("earlier").textContent = `${plural(earlier, "earlier line")}`;
  const pane = byId("printed"), text = printed.slice(-MAX_PRINTED_LINES).map(([, line]) => line).join("\n");
  if (text === pane.textContent) return;
  pane.textContent = text;
  pane.scrollTop = pane.scrollHeight;
}

function updateControls() {
  const { position } = page, number = position ? run.events.number[position - 1] + 1 : (run.events.number[0] || 0);
  byId("slider").value = position;
  byId("play").textContent = page.playing ? "Pause" : "Play";
  const wave = run.has_waves && position ? `, wave ${run.events.wave[position - 1].toLocaleString("en")}` : "";
  const total = `${run.event_count.toLocaleString("en")}${run.status ? "" : " or more"}`;
  const where = `Step ${number.toLocaleString("en")} of ${total}${wave}`;
  byId("position").textContent = where;
  byId("slider").setAttribute("aria-valuetext", where);
  byId("sentence").setAttribute("aria-live", page.playing ? "off" : "polite");
  byId("sentence").textContent = predicting && position ? `${where}.` : `${where}: ${describeEvents(currentEvents(), position, page.filter)}`;
  byId("result").textContent = isAtEnd() ? (run.value ? `= ${run.value}` : `${run.status}: ${run.error}`) : "";
}

// Whether the run ends at this position. A page may end before the run does; a run that goes on has no status.
function isAtEnd() {
  const isLast = !LENGTH || run.events.number[LENGTH - 1] === run.event_count - 1;
  return run.status !== "" && page.position === LENGTH && isLast;
}

function describeEnding() {
  if (!isAtEnd()) return "This page ends here; the run goes on.";
  return run.value ? `The run is over: it returned ${run.value}.` : `The run ended here: ${run.error || run.status}.`;
}

// The address: #step=17 is the position after the 17th event of the run, &unfold=NAME the box that is unfolded. A page in a frame goes to the number of events
// that the page around it sends, and sends that page the number to which its reader goes. It never sends a number back:
// by then the other page may be elsewhere.

let addressTimer = 0, sharedNumber = 0;

function writeAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const number = numberOfEvents();
    try { history.replaceState(null, "", `#step=${number}${page.address}${plan.unfolded_box && `&unfold=${plan.unfolded_box}`}`); } catch { /* a frame of a notebook has no address */ }
    if (parent !== window && number !== sharedNumber) parent.postMessage({ tagloom: { position: number } }, "*");
    sharedNumber = number;
  }, ADDRESS_DELAY);
}

// The number of events of the run before the position.
function numberOfEvents() {
  return page.position ? run.events.number[page.position - 1] + 1 : run.events.number[0] || 0;
}

// The position in an address, or undefined.
function readAddress(hash = location.hash) {
  const match = /^#step=(\d{1,9})(?=&|$)/.exec(hash);
  return match ? positionOfEvent(Number(match[1])) : undefined;
}

// The position after this number of events of the run.
function positionOfEvent(number) {
  let position = 0;
  while (position < LENGTH && run.events.number[position] < number) position++;
  return position;
}

function receivePosition(event) {
  const number = event.data?.tagloom?.position;
  if (event.source !== parent || parent === window || !Number.isInteger(number)) return;
  const to = positionOfEvent(number);
  if (to !== page.position) {
    pause();
    seek(to);
  }
  sharedNumber = numberOfEvents();
}

// Show the run that has been loaded, at a position: everything that is built once a run.
function showRun(position) {
  byId("call").textContent = run.call;
  byId("call").title = run.full_call;
  byId("result").title = run.full_value;
  showFolding();
  byId("slider").max = LENGTH;
  byId("printed-pane").hidden = !run.printed.lines.length;
  byId("cells-pane").hidden = !run.cells.arrays.length;
  buildTree(filterBy);
  buildProfile();
  buildLanes();
  page.filter = -1;
  showFilter();
  findStops();
  seek(position);
}

// What the page leaves out of the run, and of the graph.
function showNote() {
  const text = [run.note, plan.note].filter(Boolean).join("; ");
  byId("note").textContent = text;
  byId("note").hidden = !text;
}

// Unfolding

// Change to the plan of this number: boxes and arrows move at once, and tokens with them.
function showPlan(number) {
  const before = new Set(boxNames());
  forgetPills();
  markedBoxes = [];
  drawPlan(number);
  [page.zoom, page.hasChosenZoom] = [chooseZoom(), false];
  zoom(1);
  const added = boxNames().filter((name) => !before.has(name));
  if (number) added.forEach((name) => boxElement(name).classList.add("unfolded"));
  showFolding();
  seek(page.position);
  scrollToBoxes(added);
  return added;
}

function showFolding() {
  byId("fold").hidden = !plan.unfolded_box;
  byId("fold-title").textContent = plan.title;
  showNote();
}

// The number of the plan in an address, or 0.
function planInAddress(hash = location.hash) {
  const match = /[#&]unfold=(\w+)(?=&|$)/.exec(hash);
  return match ? Math.max(planThatUnfolds(match[1]), 0) : 0;
}

// The number of the plan that unfolds a box of the present plan, or 0.
const planThatUnfolds = (name) => plans.findIndex((each) => each.unfolded_box === name && name);

// Unfold a box, or else fold what is unfolded. While the user predicts, the graph stays as it is.
function unfold(name) {
  const number = Math.max(planThatUnfolds(name), 0), folded = plan.unfolded_box;
  if (predicting || (!number && !folded)) return;
  const added = showPlan(number || plan.parent);
  const box = boxElement(number ? added[0] : folded);
  focusBox(box);
}

// Choosing

function choose(nodes) {
  page.chosen = nodes;
  const live = stateAt(page.position);
  showMarks(live);
  updatePanes(live);
}

// Predictions concern the whole run, so no activation is chosen while the user predicts.
function filterBy(tag) {
  page.filter = predicting || tag === 0 || tag === page.filter ? -1 : tag;
  showFilter();
  chooseStops();
  seek(page.position);
}

function showFilter() {
  const all = predicting ? "All activations are shown while you predict." : "All activations are shown.";
  byId("filter").textContent = page.filter < 0 ? all : `Only ${tagPath(page.filter)} and the activations below it are shown.`;
  byId("tags").setAttribute("aria-disabled", String(predicting));
}

function clickBox(name) {
  if (predicting) return guess(name);
  if (planThatUnfolds(name) > 0) return unfold(name);
  chooseBox(name);
}

function chooseBox(name) {
  const nodes = run.nodes.flatMap((_, number) => (boxOfNode(number) === name ? [number] : []));
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

function changeSpeed(by) {
  setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(page.speed) + by))]);
}

function setPredicting(isOn) {
  pause();
  predicting = isOn;
  filterBy(0);
  byId("predict").setAttribute("aria-pressed", String(predicting));
  byId("question").hidden = !predicting;
  byId("play").disabled = predicting;
  fitAgain();
}

function toggleTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
}

function checkGuesses() {
  const to = nextStop(page.position);
  if (!predicting || judged || to === undefined) return;
  judge(rightBoxes(page.position, to, page.unit === "wave", stateAt(page.position)));
}

function goToNextQuestion() {
  const to = nextStop(page.position);
  if (to !== undefined) seek(to, STEP_MILLISECONDS / 1.5);
}
