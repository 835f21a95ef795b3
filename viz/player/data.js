// The run as the page was told of it, and its state after any number of events: replayed from the nearest checkpoint.

const run = JSON.parse(document.getElementById("data").textContent);
const GONE = 0, FLIGHT = 1, READY = 2, WAITS = 3, PARKED = 4, HELD = 5, CAME = 6;
const STAYS = 0, FIRES = 1, TRAPS = 2, PARKS = 3;
const [NAME, OP, BOX, LINE, PORTS, TRIGGERED, SAID, WHERE] = [0, 1, 2, 3, 4, 5, 6, 7];
const LENGTH = run.sizes.length;
const SPACING = 64;

const begins = [0];
for (const size of run.sizes) begins.push(begins[begins.length - 1] + size);

const flies = (place) => place === FLIGHT || place === READY;

// One move: what joins the flight joins it behind all others.
function move(live, code) {
  const token = code >> 3, place = code & 7;
  if (place === GONE || (flies(place) && !flies(live.get(token)))) live.delete(token);
  if (place !== GONE) live.set(token, place);
}

function apply(live, event) {
  for (let i = begins[event]; i < begins[event + 1]; i++) move(live, run.moves[i]);
}

const checkpoints = [];

function keepCheckpoints() {
  const live = new Map();
  for (const code of run.start) move(live, code);
  for (let event = 0; event <= LENGTH; event++) {
    if (event % SPACING === 0) checkpoints.push(new Map(live));
    if (event < LENGTH) apply(live, event);
  }
}
keepCheckpoints();

// The live tokens after so many events, with their places; those in flight are in its order.
function stateAt(position) {
  const nearest = Math.floor(position / SPACING);
  const live = new Map(checkpoints[nearest]);
  for (let event = nearest * SPACING; event < position; event++) apply(live, event);
  return live;
}

// Where waves end, as positions; a run that has no clock has events only.
const waveEnds = [];
for (let event = 0; event < LENGTH; event++) {
  if (event + 1 === LENGTH || run.events.wave[event + 1] !== run.events.wave[event]) waveEnds.push(event + 1);
}

const firingsOf = run.nodes.map(() => []);
run.events.node.forEach((node, event) => {
  if (run.events.did[event] === FIRES || run.events.did[event] === TRAPS) firingsOf[node].push(event);
});

const value = (number) => run.values[number][0];
const whole = (number) => { const row = run.values[number]; return row[row.length - 1]; };

function isBelow(tag, around) {
  while (tag > around) tag = run.tags.up[tag];
  return tag === around;
}

// A tag as it is written; the middle of a very deep one is left out.
const DEEP = 20, OUTER = 5, INNER = 6;

function path(tag) {
  const steps = [];
  for (let at = tag; at >= 0; at = run.tags.up[at]) steps.push(run.tags.step[at]);
  const left = steps.length - OUTER - INNER;
  if (steps.length > DEEP + 1) steps.splice(INNER, left, `...${left.toLocaleString("en")} more...`);
  return steps.reverse().join("/");
}

const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function madeBy(event) {
  return run.events.made[event].map(whole);
}

// A sentence for one event.
function told(event) {
  const { node, tag, port, did, got, texts } = run.events;
  const name = run.nodes[node[event]][NAME], under = `under ${path(tag[event])}`;
  const operands = got[event].map(whole).join(", ");
  switch (did[event]) {
    case STAYS: return `${operands} comes to port ${port[event]} of ${name} ${under}, and waits.`;
    case PARKS: return `${operands} comes to ${name} ${under}, and is parked: its cell is empty.`;
    case TRAPS: return `${name} ${under} traps on ${operands}: ${texts[event]}.`;
  }
  const made = madeBy(event).join(", ") || "nothing";
  const printed = texts[event] === undefined ? "" : ` It prints ${JSON.stringify(texts[event])}.`;
  return `${name} fires ${under}: ${run.nodes[node[event]][OP]} ${operands} → ${made}.${printed}`;
}

// Sentences for some events: traps first, each in full; then what fired, and what came and stays.
function toldAll(events, position, filter) {
  if (!position) return toldBefore(filter);
  if (!events.length) return `Nothing happens under ${path(filter)}.`;
  if (events.length === 1) return told(events[0]);
  const doing = (did) => events.filter((event) => run.events.did[event] === did);
  const stay = doing(STAYS).length, parked = doing(PARKS).length;
  const said = [...doing(TRAPS).map(told), toldFirings(doing(FIRES), events)];
  if (stay) said.push(`${counted(stay, "token")} wait${stay === 1 ? "s" : ""}.`);
  if (parked) said.push(`${counted(parked, "token")} ${parked === 1 ? "is" : "are"} parked.`);
  return said.filter(Boolean).join(" ");
}

const NAMED = 4;

function toldFirings(firing, events) {
  if (firing.length < 2) return firing.map(told).join("");
  const names = firing.slice(0, NAMED).map((event) => `${run.nodes[run.events.node[event]][NAME]} under ${path(run.events.tag[event])}`);
  if (firing.length > NAMED) names.push(`and ${(firing.length - NAMED).toLocaleString("en")} more`);
  const waves = run.clocked ? run.events.wave[events[events.length - 1]] - run.events.wave[events[0]] + 1 : 0;
  const when = waves === 1 ? " at once" : waves ? ` in ${counted(waves, "wave")}` : "";
  return `${counted(firing.length, "firing")}${when}: ${names.join("; ")}.`;
}

// What is there before the first event of the page.
function toldBefore(filter) {
  const count = new Map(), first = run.events.at[0];
  for (const [token, place] of stateAt(0)) {
    const how = flies(place) ? "in flight" : { [WAITS]: "waiting", [PARKED]: "parked", [HELD]: "held" }[place];
    if (how && shownUnder(token, filter)) count.set(how, (count.get(how) || 0) + 1);
  }
  const others = [...count].filter(([how]) => how !== "in flight").map(([how, many]) => `, ${many.toLocaleString("en")} ${how}`);
  const flying = counted(count.get("in flight") || 0, "token");
  return `${first ? `Before event ${first.toLocaleString("en")}` : "The beginning"}: ${flying} in flight${others.join("")}.`;
}
