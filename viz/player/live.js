// A page that computes: the run is a function of the arguments, the schedule and the choices made by hand, which are all
// that the address carries. Changing one of them makes the run anew, and the player shows it as it shows a recorded run.

const { writeJson, writeOutcome } = require("./machine.js");

const live = { values: [], schedule: "waves", choices: new Map(), form: null, graph: null, portTypes: new Map() };
const SCHEDULE_NAMES = ["waves", "fifo", "lifo", "random"];
const parameters = () => live.form.arguments.slice(live.form.hidden);

// The model. A choice stands at a position of the run: { deliver: position in the flight }, { change: token, text } or
// { inject: [node, port, activation], text }. Where there is none, the schedule decides.

const isByHand = () => live.choices.size > 0;
const isEdited = () => [...live.choices.values()].some((choice) => choice.deliver === undefined);

// A run at its beginning: the machine, the number of events so far, and the Stop that ended it, if one did.
function beginRun() {
  const { seed, bound } = pageData.live, isClocked = live.schedule === "waves" && !isByHand();
  return { machine: new Machine(live.graph, live.values, { seed: BigInt(seed), bound, isClocked }), at: 0, stop: null };
}

// Go on to this number of events, or to the end of the run. A choice that cannot be made is forgotten.
function advanceRun(run, to, observer = { add() {}, addEdit() {} }) {
  const { machine } = run, choose = chooser(live.schedule);
  while (run.at < to && !run.stop) {
    const choice = live.choices.get(run.at);
    try {
      if (choice && choice.deliver === undefined) observer.addEdit(...applyEdit(machine, choice));
      else if (!machine.flight.length) break;
      else {
        const event = machine.step(Math.min(choice ? choice.deliver : choose(machine.steps, machine.flight.length), machine.flight.length - 1));
        machine.apply(event);
        observer.add(event);
      }
      run.at += 1;
    } catch (error) {
      if (error.status) run.stop = error;
      else if (choice) live.choices.delete(run.at);
      else throw error;
    }
  }
  return run;
}

// Change or inject a token; the edit, and what it is in words.
function applyEdit(machine, { change, inject, text }) {
  const name = (node) => machine.graph.nodes[node].name;
  if (change !== undefined) {
    const old = [...machine.flight, ...machine.waitingTokens()].find((token) => token.number === change);
    if (!old) throw new Error("this token is not there to be changed");
    const edit = machine.change(change, parseValue(text, old.value.dtype));
    return [edit, `${valueText(old.value)} for port ${old.port} of ${name(old.node)} under ${framePath(old.frame)} becomes ${valueText(edit.edited.value)}`];
  }
  const [node, port, frame] = inject, edit = machine.inject(node, port, frame, parseValue(text, portType(node, port)));
  return [edit, `${valueText(edit.edited.value)} is injected for port ${port} of ${name(node)} under ${framePath(edit.edited.frame)}`];
}

// The dtype of a port, which is that of the output that feeds it.
function portType(node, port) {
  if (!live.portTypes.size) {
    const outputs = [...live.form.arguments, ...live.form.nodes.flatMap((each) => each.outputs)];
    for (const { type, edges } of outputs) for (const edge of edges) live.portTypes.set(String(edge), type.dtype);
  }
  return live.portTypes.get(`${node},${port}`);
}

// The machine after the events up to a position, without anything recorded. It goes on from where it was, if it can.
let lastRun = null;

function machineAt(position) {
  if (!lastRun || lastRun.at > position) lastRun = beginRun();
  return advanceRun(lastRun, position).machine;
}

// Make the run anew and show it at a position; `isSame` says that its events up to there are those shown now.
function makeRun(position, isSame = false) {
  pause();
  complain("");
  lastRun = null;
  const { max_events: most } = pageData.live, made = beginRun(), recorder = new Recorder(made.machine, live.values);
  const { machine, stop } = advanceRun(made, most, recorder), isCut = !stop && machine.flight.length > 0;
  const columns = recorder.columns({ schedule: isByHand() ? "hand" : live.schedule, isCut, stop });
  columns.note = isCut ? `The first ${most.toLocaleString("en")} events are shown; the run goes on` : "";
  if (!isSame) forgetPills();
  loadRun(columns);
  page.address = liveAddress();
  showRun(Math.min(position, LENGTH));
  showChoices();
  if (!page.playing) writeAddress();
}

// Choose at the present position: later choices, made in another future, are forgotten.
function chooseHere(choice) {
  const { position } = page;
  for (const at of [...live.choices.keys()]) if (at >= position) live.choices.delete(at);
  live.choices.set(position, choice);
  if (page.unit === "wave") page.unit = "firing";
  makeRun(position, true);
  if (live.choices.has(position)) seek(position + 1, STEP_MILLISECONDS / 1.5);
}

function undoChoice() {
  const last = Math.max(...live.choices.keys());
  if (!isByHand()) return;
  live.choices.delete(last);
  makeRun(last, true);
}

// The address: arguments, schedule and choices. 12:d3 delivers position 3 as the 13th event, 15:c57=9 changes token 57
// to 9, and 16:i4.0.2=5 injects 5 for port 0 of node 4 under activation 2.

function liveAddress() {
  const values = live.values.map((value) => encodeURIComponent(valueText(value))).join(",");
  const choices = [...live.choices].sort(([a], [b]) => a - b).map(([at, { deliver, change, inject, text }]) => {
    const what = deliver !== undefined ? `d${deliver}` : `${change !== undefined ? `c${change}` : `i${inject.join(".")}`}=${encodeURIComponent(text)}`;
    return `${at}:${what}`;
  });
  return `&args=${values}&schedule=${live.schedule}${choices.length ? `&choices=${choices.join(";")}` : ""}`;
}

// Take arguments, schedule and choices from an address; what it does not say, or says wrongly, stays as it is.
function readLiveAddress(hash) {
  const parts = new Map(hash.slice(1).split("&").map((part) => [part.split("=")[0], part.slice(part.indexOf("=") + 1)]));
  const texts = (parts.get("args") ?? "").split(",").map((text) => { try { return decodeURIComponent(text); } catch { return ""; } });
  try {
    if (parts.has("args") && (texts.length === parameters().length || !parameters().length)) live.values = parameters().map(({ type }, at) => parseValue(texts[at], type.dtype));
    if (parts.has("schedule")) { chooser(parts.get("schedule")); live.schedule = parts.get("schedule"); }
  } catch { /* the page's own arguments and schedule stay */ }
  live.choices.clear();
  for (const text of (parts.get("choices") ?? "").split(";")) readChoice(text);
}

function readChoice(text) {
  const match = /^(\d{1,7}):(?:d(\d{1,7})|c(\d{1,7})=([^;]{1,80})|i(\d{1,7})\.(\d{1,4})\.(\d{1,7})=([^;]{1,80}))$/.exec(text);
  if (!match) return;
  const [, at, deliver, change, changed, node, port, frame, injected] = match;
  try {
    if (deliver) live.choices.set(Number(at), { deliver: Number(deliver) });
    else if (change) live.choices.set(Number(at), { change: Number(change), text: decodeURIComponent(changed) });
    else live.choices.set(Number(at), { inject: [node, port, frame].map(Number), text: decodeURIComponent(injected) });
  } catch { /* no such text */ }
}

// The form: arguments and schedule

function buildLiveForm() {
  const form = byId("live-form"), fields = byId("live-arguments");
  parameters().forEach(({ name, type }, at) => {
    const label = document.createElement("label"), field = document.createElement("input");
    Object.assign(field, { id: `argument-${at}`, size: 8, autocomplete: "off", spellcheck: false });
    label.append(`${escapeControls(name)}: ${type.dtype} `, field);
    fields.append(label);
  });
  byId("live-schedule").append(...SCHEDULE_NAMES.map((name) => new Option(name, name)));
  byId("live-schedule").addEventListener("change", () => { byId("live-seed-label").hidden = byId("live-schedule").value !== "random"; submitForm(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); submitForm(); });
}

function fillLiveForm() {
  live.values.forEach((value, at) => { byId(`argument-${at}`).value = valueText(value); });
  const [name, seed = "0"] = live.schedule.split(":");
  byId("live-schedule").value = name;
  byId("live-seed").value = seed;
  byId("live-seed-label").hidden = name !== "random";
}

function submitForm() {
  const name = byId("live-schedule").value;
  try {
    live.values = parameters().map(({ name: parameter, type }, at) => {
      try { return parseValue(byId(`argument-${at}`).value, type.dtype); } catch (error) { throw new Error(`${parameter}: ${error.message}`); }
    });
    const schedule = name === "random" ? `random:${byId("live-seed").value.trim()}` : name;
    chooser(schedule);
    live.schedule = schedule;
  } catch (error) {
    return complain(error.message);
  }
  live.choices.clear();
  if (live.schedule === "waves") page.unit = "wave";
  makeRun(0);
}

function complain(text) {
  byId("live-complaint").textContent = escapeControls(text);
  byId("live-complaint").hidden = !text;
}

function showChoices() {
  const hand = [...live.choices.values()], edits = hand.filter((choice) => choice.deliver === undefined).length;
  const parts = [hand.length - edits ? `${plural(hand.length - edits, "delivery")} by hand`.replace("deliverys", "deliveries") : "", edits ? plural(edits, "edit") : ""].filter(Boolean);
  byId("live-choices").textContent = parts.length ? `${parts.join(", ")}; then ${live.schedule}` : "";
  byId("live-undo").disabled = byId("live-clear").disabled = !hand.length;
  byId("live-log").disabled = isEdited();
}

// The flight: the tokens in flight at the present position, of which one is delivered or changed; or one is injected

const MAX_LISTED_FLIGHT = 200;
let flightTokens = [];

function updateFlight() {
  const machine = machineAt(page.position), list = byId("flight"), before = flightTokens[list.selectedIndex];
  flightTokens = machine.flight.slice(0, MAX_LISTED_FLIGHT);
  const waiting = machine.waitingTokens().slice(0, MAX_LISTED_FLIGHT);
  const text = (token, state) => `${state} ${shortText(token.value)} → ${run.nodes[token.node][NAME]}:${token.port} under ${tagPath(token.frame.number)}`;
  list.replaceChildren(
    ...flightTokens.map((token) => new Option(text(token, !predicting && machine.wouldFire(token) ? run.badges.ready[0] : run.badges.flight[0]), token.number)),
    ...waiting.map((token) => new Option(text(token, run.badges.waiting[0]), token.number)),
  );
  flightTokens = [...flightTokens, ...waiting];
  const same = before ? flightTokens.findIndex((token) => token.number === before.number) : -1;
  list.selectedIndex = same >= 0 ? same : flightTokens.length ? 0 : -1;
  updateFlightButtons();
}

function updateFlightButtons() {
  const token = flightTokens[byId("flight").selectedIndex], waits = token && stateAt(page.position).get(token.number) === WAITING;
  byId("deliver").disabled = !token || waits || predicting;
  byId("change").disabled = byId("new-value").disabled = !token || Boolean(token.value.cells) || predicting;
  byId("new-value").placeholder = token ? valueText(token.value) : "";
  const node = page.chosen[0], ports = node === undefined ? [] : live.graph.nodes[node].literals.flatMap((literal, port) => (literal || portType(node, port) === "cells" ? [] : [port]));
  byId("inject-port").replaceChildren(...ports.map((port) => new Option(`port ${port} of ${run.nodes[node][NAME]}: ${portType(node, port)}`, port)));
  const under = page.filter < 0 ? "main" : tagPath(page.filter);
  byId("inject-where").textContent = ports.length ? `under ${under}` : "Select a node, and an activation, to inject a token there.";
  for (const id of ["inject", "injected-value", "inject-port"]) byId(id).hidden = !ports.length;
}

function deliverChosen() {
  const at = byId("flight").selectedIndex;
  if (!byId("deliver").disabled && at >= 0) chooseHere({ deliver: at });
}

function changeChosen() {
  const token = flightTokens[byId("flight").selectedIndex], text = byId("new-value").value;
  if (token) editHere({ change: token.number, text }, token.value.dtype);
}

function injectChosen() {
  const node = page.chosen[0], port = Number(byId("inject-port").value);
  editHere({ inject: [node, port, Math.max(page.filter, 0)], text: byId("injected-value").value }, portType(node, port));
}

function editHere(choice, dtype) {
  try {
    parseValue(choice.text, dtype);
    applyEdit(advanceRun(beginRun(), page.position).machine, choice);
  } catch (error) {
    return complain(error.message);
  }
  byId("new-value").value = byId("injected-value").value = "";
  chooseHere(choice);
}

// The log of the run, which `tagloom check` checks.
function saveLog() {
  const { seed, bound } = pageData.live, schedule = isByHand() ? "hand" : live.schedule;
  const made = beginRun(), log = new Log(made.machine, live.values, schedule, BigInt(seed), bound);
  const { machine, stop } = advanceRun(made, pageData.live.max_events, log);
  const lines = stop || machine.flight.length ? log.lines : [...log.lines, writeJson({ outcome: writeOutcome(machine, stop, schedule) })];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/jsonl" }));
  link.download = `${live.graph.form.name}.jsonl`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function openLivePage() {
  live.form = JSON.parse(pageData.live.graph);
  live.graph = new Graph(live.form);
  live.values = pageData.live.arguments.map(readValue);
  live.schedule = pageData.live.schedule;
  byId("live-form").hidden = byId("flight-pane").hidden = false;
  buildLiveForm();
  const clicks = { deliver: deliverChosen, change: changeChosen, inject: injectChosen, "live-undo": undoChoice, "live-clear": () => { live.choices.clear(); makeRun(page.position); }, "live-log": saveLog };
  for (const id in clicks) byId(id).addEventListener("click", clicks[id]);
  byId("flight").addEventListener("change", updateFlightButtons);
  byId("flight").addEventListener("dblclick", deliverChosen);
  layer.addEventListener("click", (event) => {
    const pill = event.target.closest(".token"), at = pill ? flightTokens.findIndex((token) => pills.get(token.number)?.element === pill) : -1;
    if (at >= 0) { byId("flight").selectedIndex = at; updateFlightButtons(); }
  });
  openAddress();
}

// Show what an address says.
function openAddress(hash = location.hash) {
  const step = /^#step=(\d{1,7})/.exec(hash);
  readLiveAddress(hash);
  fillLiveForm();
  page.unit = live.schedule === "waves" && !isByHand() ? "wave" : page.unit;
  makeRun(step ? Number(step[1]) : 0);
}
