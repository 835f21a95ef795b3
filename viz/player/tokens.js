// Tokens as pills: where each stands at a position of the run, and how it moves from one to the next.

const SVG = "http://www.w3.org/2000/svg";
const STAND = { [FLIGHT]: 0.45, [READY]: 0.45, [WAITS]: 0.85 };
const LOOK = { [FLIGHT]: "flight", [READY]: "flight", [WAITS]: "waits", [PARKED]: "parked", [HELD]: "held" };
const HIGH = 14;

function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

const shownUnder = (token, filter) => filter < 0 || isBelow(run.tokens.t[token], filter);

// The spots of a state: by token its arrow (or box), how far along, its row in the stack, and what is written on it.
// Of more than a few at one place the last says how many more there are.
function spots(live, filter) {
  const stacks = new Map(), found = new Map();
  for (const [token, place] of live) {
    if (place === CAME || !shownUnder(token, filter)) continue;
    const way = STAND[place] === undefined ? -1 : run.tokens.a[token];
    const key = way >= 0 ? `${way} ${STAND[place]}` : boxOfToken(token);
    if (!stacks.has(key)) stacks.set(key, []);
    stacks.get(key).push({ token, way, part: STAND[place], look: LOOK[place] });
  }
  const heaps = [...stacks.values()].map((stack) => {
    const most = stack[0].way < 0 ? 3 : rooms[stack[0].way];
    return stack.slice(0, most).map((spot, row) => {
      spot.row = row;
      spot.of = Math.min(stack.length, most);
      spot.more = stack.length > most && row === most - 1 ? stack.length - row - (most === 1) : 0;
      found.set(spot.token, spot);
      return spot;
    });
  });
  spread(heaps);
  return found;
}

function placed(spot, part) {
  const point = spot.way >= 0 ? along(spot.way, part) : beside(boxOfToken(spot.token), spot.corner, widthOf(spot) / 2);
  return { x: point.x + spot.aside, y: point.y + (spot.row - (spot.of - 1) / 2) * HIGH };
}

// What a pill says: a value, how many there are more, or where there is room for one alone, both.
function words({ token, look, more, of }) {
  const said = `${run.signs[look][0]} ${value(run.tokens.v[token])}`;
  return !more ? said : of === 1 ? `${said} +${more}` : `+${more}`;
}

const widthOf = (spot) => 8 + 5.8 * words(spot).length;

function titled({ token, look, more, of }) {
  const said = `${whole(run.tokens.v[token])} under ${path(run.tokens.t[token])}: ${run.signs[look][1]}`;
  return !more ? said : of === 1 ? `${said}; and ${counted(more, "token")} more` : counted(more, "token");
}

function pill(spot) {
  const { token, look, more } = spot;
  const said = words(spot);
  const under = more || spot.of > 2 ? "" : run.tags.short[run.tokens.t[token]];
  const wide = widthOf(spot), made = svg("g", { class: `token ${look}` });
  made.append(
    svg("title", {}, titled(spot)),
    svg("rect", { x: -wide / 2, y: -HIGH / 2 + 1, width: wide, height: HIGH - 2, rx: 6 }),
    svg("text", { y: 3.2, "text-anchor": "middle" }, said),
    svg("text", { x: wide / 2 + 2, y: 3, class: "under" }, under === "main" ? "" : under),
  );
  return made;
}

const layer = document.getElementById("tokens");
const pills = new Map();
let standing = new Map(), moving = 0;

function show(spot) {
  const old = pills.get(spot.token), key = `${spot.look} ${spot.more} ${spot.of > 2}`;
  if (old && old.key === key) return old.made;
  if (old) old.made.remove();
  const made = pill(spot);
  pills.set(spot.token, { made, key });
  layer.append(made);
  return made;
}

function put(made, { x, y }) {
  made.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
}

function drop(token) {
  const old = pills.get(token);
  if (old) old.made.remove();
  pills.delete(token);
}

// Labels stand to the right of pills: one that would cross another pill, or a box, is not shown.
function clearLabels(shown) {
  const all = shown.map(([spot, made]) => {
    const half = Number(made.querySelector("rect").getAttribute("width")) / 2, label = made.querySelector(".under");
    return { ...placed(spot, spot.part), half, label, ends: half + 4 + 4.4 * label.textContent.length };
  });
  const crosses = (a, b) => Math.abs(a.y - b.y) < HIGH && b.x > a.x && b.x - b.half < a.x + a.ends;
  const area = ({ x, y, half, ends }) => ({ left: x + half, right: x + ends, top: y - HIGH / 2, bottom: y + HIGH / 2 });
  const hides = (each) => all.some((other) => crosses(each, other)) || drawn.some((box) => overlap(box, area(each)));
  for (const each of all) each.label.classList.toggle("crossed", hides(each));
}

const onScreen = () => [...standing.values()].map((spot) => [spot, pills.get(spot.token).made]);

// Show a state at once.
function stand(live, filter) {
  cancelAnimationFrame(moving);
  standing = spots(live, filter);
  for (const token of [...pills.keys()]) if (!standing.has(token)) drop(token);
  for (const spot of standing.values()) put(show(spot), placed(spot, spot.part));
  clearLabels(onScreen());
}

// Go from the state that is shown to another in so many milliseconds: all that moves, moves at once. First what is
// delivered comes to its node, and `arrived` is called, then what is sent leaves it.
function glide(live, filter, milliseconds, arrived) {
  cancelAnimationFrame(moving);
  const before = standing, after = spots(live, filter), legs = [];
  standing = after;
  for (const [token, spot] of before) if (!after.has(token)) legs.push({ spot, from: spot.part, to: live.has(token) ? spot.part : 1, begin: 0, end: 0.5, ends: true });
  for (const [token, spot] of after) legs.push(leg(spot, before.get(token)));
  const start = performance.now();
  let waits = true;
  const tick = (now) => {
    const time = Math.min((now - start) / milliseconds, 1);
    for (const each of legs) draw(each, time);
    if (waits && time >= 0.5) arrived();
    waits = waits && time < 0.5;
    if (time < 1) moving = requestAnimationFrame(tick);
    else clearLabels(onScreen());
  };
  tick(start);
}

function leg(spot, old) {
  if (!old) return { spot, from: 0, to: spot.part, begin: 0.5, end: 1 };
  const stays = old.way === spot.way && old.part === spot.part;
  return { spot, old, from: old.part, to: spot.part, begin: 0, end: stays ? 1 : 0.5 };
}

function draw({ spot, old, from, to, begin, end, ends }, time) {
  if (time < begin || (ends && time >= end)) return drop(spot.token);
  const part = Math.min((time - begin) / (end - begin), 1), eased = part * (2 - part);
  const made = show(spot), there = placed(spot, from + (to - from) * eased);
  if (old && old.way === spot.way) {
    const there0 = placed(old, from + (to - from) * eased);
    there.y = there0.y + (there.y - there0.y) * eased;
  }
  put(made, there);
}
