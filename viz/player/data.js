// The run, its state after any number of events (replayed from the nearest checkpoint), and sentences about events. The
// page has a recorded run, or a machine that makes runs (live.js); both are shown from the same columns.

const pageData = JSON.parse(document.getElementById("data").textContent);
const CONSUMED = 0, IN_FLIGHT = 1, READY = 2, WAITING = 3, DEFERRED = 4, THROTTLED = 5, RETURNED = 6;
const TOKEN_WAITS = 0, NODE_FIRES = 1, NODE_TRAPS = 2, READ_IS_DEFERRED = 3, TOKEN_IS_EDITED = 4;
const [NAME, OP, LINE, LITERALS, HAS_TRIGGER, LABEL, ORIGIN] = [0, 1, 2, 3, 4, 5, 6];
const CHECKPOINT_INTERVAL = 64;

let run = pageData, LENGTH = 0, moveOffsets = [], checkpoints = [], waveEnds = [], firingsOf = [];

// Show another run: `columns` are those of columns.py. The waves end at `waveEnds`; only the schedule `waves` has waves.
function loadRun(columns) {
  run = columns;
  LENGTH = run.move_counts.length;
  moveOffsets = [0];
  for (const size of run.move_counts) moveOffsets.push(moveOffsets[moveOffsets.length - 1] + size);
  keepCheckpoints();
  waveEnds = [];
  for (let event = 0; event < LENGTH; event++) {
    if (event + 1 === LENGTH || run.events.wave[event + 1] !== run.events.wave[event]) waveEnds.push(event + 1);
  }
  firingsOf = run.nodes.map(() => []);
  run.events.node.forEach((node, event) => { if (isFiring(event)) firingsOf[node].push(event); });
}

const isFiring = (event) => run.events.kind[event] === NODE_FIRES || run.events.kind[event] === NODE_TRAPS;

const isInFlight = (place) => place === IN_FLIGHT || place === READY;

// Apply one move: a token and its new place. A token that joins the flight is appended to it.
function applyMove(live, code) {
  const token = code >> 3, place = code & 7;
  if (place === CONSUMED || (isInFlight(place) && !isInFlight(live.get(token)))) live.delete(token);
  if (place !== CONSUMED) live.set(token, place);
}

function applyEvent(live, event) {
  for (let i = moveOffsets[event]; i < moveOffsets[event + 1]; i++) applyMove(live, run.moves[i]);
}

function keepCheckpoints() {
  checkpoints = [];
  const live = new Map();
  for (const code of run.initial_moves) applyMove(live, code);
  for (let event = 0; event <= LENGTH; event++) {
    if (event % CHECKPOINT_INTERVAL === 0) checkpoints.push(new Map(live));
    if (event < LENGTH) applyEvent(live, event);
  }
}

// The live tokens after `position` events, with their places. Those in flight are in the machine's order.
function stateAt(position) {
  const nearest = Math.floor(position / CHECKPOINT_INTERVAL);
  const live = new Map(checkpoints[nearest]);
  for (let event = nearest * CHECKPOINT_INTERVAL; event < position; event++) applyEvent(live, event);
  return live;
}

const shortValue = (number) => run.values[number][0];
const fullValue = (number) => { const row = run.values[number]; return row[row.length - 1]; };

// A value in a sentence: abbreviated if it is long.
const MAX_SENTENCE_VALUE = 60;
const sentenceValue = (number) => (fullValue(number).length > MAX_SENTENCE_VALUE ? shortValue(number) : fullValue(number));

function isWithin(tag, ancestor) {
  while (tag > ancestor) tag = run.tags.parent[tag];
  return tag === ancestor;
}

// The text of a tag; a very deep one is abbreviated in the middle.
const MAX_TAG_STEPS = 20, OUTER_STEPS = 5, INNER_STEPS = 6;

function tagPath(tag) {
  const steps = [];
  for (let ancestor = tag; ancestor >= 0; ancestor = run.tags.parent[ancestor]) steps.push(run.tags.step[ancestor]);
  const omitted = steps.length - OUTER_STEPS - INNER_STEPS;
  if (steps.length > MAX_TAG_STEPS + 1) steps.splice(INNER_STEPS, omitted, `...${omitted.toLocaleString("en")} more...`);
  return steps.reverse().join("/");
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function resultsOf(event) {
  return run.events.results[event].map(sentenceValue);
}

// The worker of an event, if there were several.
function describeLane(event) {
  const row = run.lanes ? run.lanes.rows[event] : -1;
  return row < 0 ? "" : run.lanes.titles[row] === "driver" ? " in the driver" : ` on ${run.lanes.titles[row]}`;
}

// A sentence for one event.
function describeEvent(event) {
  const { node, tag, port, kind, operands: values, texts } = run.events;
  const name = run.nodes[node[event]][NAME], under = `under ${tagPath(tag[event])}${describeLane(event)}`;
  const operands = values[event].map(sentenceValue).join(", ");
  switch (kind[event]) {
    case TOKEN_IS_EDITED: return `By hand: ${texts[event]}.`;
    case TOKEN_WAITS: return `${operands} arrives at port ${port[event]} of ${name} ${under} and waits.`;
    case READ_IS_DEFERRED: return `${operands} arrives at ${name} ${under} and is deferred: its cell is empty.`;
    case NODE_TRAPS: return `${name} ${under} traps on ${operands}: ${texts[event]}.`;
  }
  const results = resultsOf(event).join(", ") || "nothing";
  const printed = texts[event] === undefined ? "" : ` It prints ${JSON.stringify(texts[event])}.`;
  return `${name} fires ${under}: ${run.nodes[node[event]][OP]} ${operands} → ${results}.${printed}`;
}

// Sentences for several events: each trap in full, then the firings, then the numbers of tokens that wait.
function describeEvents(events, position, filter) {
  if (!position) return describeStart(filter);
  if (!events.length) return `Nothing happens under ${tagPath(filter)}.`;
  if (events.length === 1) return describeEvent(events[0]);
  const eventsOfKind = (kind) => events.filter((event) => run.events.kind[event] === kind);
  const waiting = eventsOfKind(TOKEN_WAITS).length, deferred = eventsOfKind(READ_IS_DEFERRED).length;
  const sentences = [...eventsOfKind(TOKEN_IS_EDITED).map(describeEvent), ...eventsOfKind(NODE_TRAPS).map(describeEvent), describeFirings(eventsOfKind(NODE_FIRES), events)];
  if (waiting) sentences.push(`${plural(waiting, "token")} wait${waiting === 1 ? "s" : ""}.`);
  if (deferred) sentences.push(`${plural(deferred, "read")} ${deferred === 1 ? "is" : "are"} deferred.`);
  return sentences.filter(Boolean).join(" ");
}

const MAX_NAMED_FIRINGS = 4;

function describeFirings(firings, events) {
  if (firings.length < 2) return firings.map(describeEvent).join("");
  const names = firings.slice(0, MAX_NAMED_FIRINGS).map((event) => `${run.nodes[run.events.node[event]][NAME]} under ${tagPath(run.events.tag[event])}`);
  if (firings.length > MAX_NAMED_FIRINGS) names.push(`and ${(firings.length - MAX_NAMED_FIRINGS).toLocaleString("en")} more`);
  const waves = run.has_waves ? run.events.wave[events[events.length - 1]] - run.events.wave[events[0]] + 1 : 0;
  const when = waves === 1 ? " at once" : waves ? ` in ${plural(waves, "wave")}` : "";
  return `${plural(firings.length, "firing")}${when}: ${names.join("; ")}.`;
}

// A sentence for the state before the first event of the page.
function describeStart(filter) {
  const count = new Map(), first = run.events.number[0];
  for (const [token, place] of stateAt(0)) {
    const state = isInFlight(place) ? "in flight" : { [WAITING]: "waiting", [DEFERRED]: "deferred", [THROTTLED]: "throttled" }[place];
    if (state && isShown(token, filter)) count.set(state, (count.get(state) || 0) + 1);
  }
  const others = [...count].filter(([state]) => state !== "in flight").map(([state, tokens]) => `, ${tokens.toLocaleString("en")} ${state}`);
  const inFlight = plural(count.get("in flight") || 0, "token");
  return `${first ? `Before event ${first.toLocaleString("en")}` : "The beginning"}: ${inFlight} in flight${others.join("")}.`;
}

loadRun(pageData);
