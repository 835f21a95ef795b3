// Tokens, drawn as pills: their places at a position of the run, and their movement to the next. Marks on boxes.

const SVG = "http://www.w3.org/2000/svg";
const PLACE_ON_ARROW = { [IN_FLIGHT]: 0.45, [READY]: 0.45, [WAITING]: 0.85 };
const LOOKS = { [IN_FLIGHT]: "flight", [READY]: "flight", [WAITING]: "waiting", [DEFERRED]: "deferred", [THROTTLED]: "throttled" };
const PILL_HEIGHT = 14;

function svgElement(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}

const isDead = (token) => shortValue(run.tokens.value[token]) === "dead";

const isShown = (token, filter) => filter < 0 || isWithin(run.tokens.tag[token], filter);

// The spot of each token of a state: its arrow, or -1 for a corner of its box; the part of the arrow; its row in a
// stack of `of` tokens; its look. `more`, at the last token of a high stack, is the number of tokens not shown.
function tokenSpots(live, filter) {
  const byPlace = new Map(), shown = new Map();
  for (const [token, place] of live) {
    if (place === RETURNED || !isShown(token, filter)) continue;
    const arrow = PLACE_ON_ARROW[place] === undefined ? -1 : arrowOfToken(token);
    const key = arrow >= 0 ? `${arrow} ${PLACE_ON_ARROW[place]}` : boxOfToken(token);
    if (!byPlace.has(key)) byPlace.set(key, []);
    byPlace.get(key).push({ token, arrow, part: PLACE_ON_ARROW[place], look: isDead(token) ? "dead" : LOOKS[place] });
  }
  markRects = buildMarks(live, currentEvents()).map(markRect);
  for (const spot of placeStacks([...byPlace.values()]).flat()) shown.set(spot.token, spot);
  return shown;
}

function spotPoint(spot, part) {
  const point = spot.arrow >= 0 ? pointOnArrow(spot.arrow, part) : pointBesideBox(boxOfToken(spot.token), spot.place, pillWidth(spot) / 2, spot.of);
  return { x: point.x + spot.aside, y: point.y + spot.lift + (spot.row - (spot.of - 1) / 2) * PILL_HEIGHT };
}

// The text of a pill: a value, or the number of tokens that are not shown; both if there is room for one pill only; and
// without a value, the number of all tokens of its place.
function pillText({ token, look, more, of, isBare }) {
  if (isBare) return more ? `${run.badges[look][0]} ×${more + 1}` : run.badges[look][0];
  const text = `${run.badges[look][0]} ${shortValue(run.tokens.value[token])}`;
  return !more ? text : of === 1 ? `${text} +${more}` : `+${more}`;
}

const pillWidth = (spot) => 8 + 5.8 * pillText(spot).length;

function pillTitle({ token, look, more, of }) {
  const text = `${fullValue(run.tokens.value[token])} under ${tagPath(run.tokens.tag[token])}: ${run.badges[look][1]}`;
  return !more ? text : of === 1 ? `${text}; and ${plural(more, "token")} more` : plural(more, "token");
}

function buildPill(spot) {
  const { token, look, more } = spot;
  const label = more || spot.of > 2 ? "" : run.tags.short[run.tokens.tag[token]];
  const wide = pillWidth(spot), group = svgElement("g", { class: `token ${look}` });
  group.append(
    svgElement("title", {}, pillTitle(spot)),
    svgElement("rect", { x: -wide / 2, y: -PILL_HEIGHT / 2 + 1, width: wide, height: PILL_HEIGHT - 2, rx: look === "dead" ? 0 : 6 }),
    svgElement("text", { y: 3.2, "text-anchor": "middle" }, pillText(spot)),
    svgElement("text", { x: wide / 2 + 2, y: 3, class: "tag" }, label === "main" ? "" : label),
  );
  return group;
}

const layer = document.getElementById("tokens");
const pills = new Map();
let shownSpots = new Map(), animation = 0;

function showPill(spot) {
  const old = pills.get(spot.token), key = `${spot.look} ${spot.more} ${spot.of > 2} ${spot.isBare}`;
  if (old && old.key === key) return old.element;
  if (old) old.element.remove();
  const element = buildPill(spot);
  pills.set(spot.token, { element, key });
  layer.append(element);
  return element;
}

function moveTo(element, { x, y }) {
  element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
}

function removePill(token) {
  const old = pills.get(token);
  if (old) old.element.remove();
  pills.delete(token);
}

// Forget the tokens of the run that was shown before.
function forgetPills() {
  cancelAnimationFrame(animation);
  removeOthers(new Map());
  shownSpots = new Map();
}

// Hide the labels beside pills that would overlap another pill, a box, letters, or a mark.
function hideOverlappingLabels(shown) {
  const all = shown.map(([spot, element]) => {
    const half = Number(element.querySelector("rect").getAttribute("width")) / 2, label = element.querySelector(".tag");
    return { ...spotPoint(spot, spot.part), half, label, ends: half + 4 + 4.4 * label.textContent.length };
  });
  const overlaps = (a, b) => Math.abs(a.y - b.y) < PILL_HEIGHT && b.x > a.x && b.x - b.half < a.x + a.ends;
  const area = ({ x, y, half, ends }) => ({ left: x + half, right: x + ends, top: y - PILL_HEIGHT / 2, bottom: y + PILL_HEIGHT / 2 });
  const hides = (each) => all.some((other) => overlaps(each, other)) || [...boxRects, ...letterRects, ...markRects].some((rect) => overlapArea(rect, area(each)));
  for (const each of all) each.label.classList.toggle("overlapping", hides(each));
}

const shownPills = () => [...shownSpots.values()].map((spot) => [spot, pills.get(spot.token).element]);

// Show a state without animation.
function showState(live, filter) {
  cancelAnimationFrame(animation);
  shownSpots = tokenSpots(live, filter);
  removeOthers(shownSpots);
  for (const spot of shownSpots.values()) moveTo(showPill(spot), spotPoint(spot, spot.part));
  hideOverlappingLabels(shownPills());
}

// Remove the pills of tokens without a spot. A cancelled animation may leave such pills.
function removeOthers(spots) {
  for (const token of [...pills.keys()]) if (!spots.has(token)) removePill(token);
}

// Animate the change from the shown state to another. In the first half delivered tokens move to their nodes; then
// `onArrival` is called; in the second half the sent tokens leave their nodes.
function animateState(live, filter, milliseconds, onArrival) {
  cancelAnimationFrame(animation);
  const before = shownSpots, after = tokenSpots(live, filter), legs = [];
  removeOthers(before);
  shownSpots = after;
  for (const [token, spot] of before) if (!after.has(token)) legs.push({ spot, from: spot.part, to: live.has(token) ? spot.part : 1, begin: 0, end: 0.5, leaves: true });
  for (const [token, spot] of after) legs.push(animationLeg(spot, before.get(token)));
  const start = performance.now();
  let hasArrived = false;
  const tick = (now) => {
    const time = Math.max(0, Math.min((now - start) / milliseconds, 1));
    for (const each of legs) drawLeg(each, time);
    if (!hasArrived && time >= 0.5) onArrival();
    hasArrived = time >= 0.5;
    if (time < 1) animation = requestAnimationFrame(tick);
    else hideOverlappingLabels(shownPills());
  };
  tick(start);
}

function animationLeg(spot, old) {
  if (!old) return { spot, from: 0, to: spot.part, begin: 0.5, end: 1 };
  const stays = old.arrow === spot.arrow && old.part === spot.part;
  return { spot, old, from: old.part, to: spot.part, begin: 0, end: stays ? 1 : 0.5 };
}

function drawLeg({ spot, old, from, to, begin, end, leaves }, time) {
  if (time < begin || (leaves && time >= end)) return removePill(spot.token);
  const part = Math.min((time - begin) / (end - begin), 1), eased = part * (2 - part);
  const element = showPill(spot), point = spotPoint(spot, from + (to - from) * eased);
  if (old && old.arrow === spot.arrow) {
    const oldPoint = spotPoint(old, from + (to - from) * eased);
    point.y = oldPoint.y + (point.y - oldPoint.y) * eased;
  }
  moveTo(element, point);
}

// Marks on boxes: those that have just fired, can fire, have trapped or are chosen; and results that have arrived.

// Marks are left of their boxes, or right of them if they would be cut, or hide something, on the left and not there. Of
// many results at one box, the first ones are shown, and the number of the others.
const MARK_CHARACTER_WIDTH = 6.2, MAX_RESULT_MARKS = 3;
let markedBoxes = [], markRects = [];

function markBox(name, box) {
  boxElement(box).classList.add(name);
  markedBoxes.push([name, box]);
}

function buildMarks(live, events) {
  const badges = new Map(), ready = new Map(), results = new Map();
  const append = (lists, box, item) => { if (!lists.has(box)) lists.set(box, []); lists.get(box).push(item); };
  const badge = (box, look, text) => append(badges, box, [look, text]);
  for (const [token, place] of live) {
    if (place === READY && isShown(token, page.filter)) ready.set(boxOfToken(token), (ready.get(boxOfToken(token)) || 0) + 1);
    if (place === RETURNED) append(results, boxOfToken(token), shortValue(run.tokens.value[token]));
  }
  for (const [box, values] of results) {
    const count = values.length > MAX_RESULT_MARKS ? MAX_RESULT_MARKS - 1 : values.length;
    for (const value of values.slice(0, count)) badge(box, "arrived", value);
    if (count < values.length) badge(box, "arrived", `+${values.length - count}`);
  }
  for (const event of events) {
    const box = boxOfNode(run.events.node[event]), kind = run.events.kind[event];
    if (kind === NODE_TRAPS) badge(box, "trap", "");
  }
  if (!predicting) for (const [box, count] of ready) badge(box, "ready", count > 1 ? count : "");
  return [...badges].flatMap(([box, texts]) => texts.map(([look, text], row) => {
    const { x, y, width } = boxBounds(box), label = `${text} ${run.badges[look][0]}`.trim();
    const [left, right] = [{ x: x - 3, "text-anchor": "end" }, { x: x + width + 3, "text-anchor": "start" }].map(
      (side) => svgElement("text", { class: `mark ${look}`, y: y + 9 + row * 11, ...side }, label));
    return hiddenByMark(right) < hiddenByMark(left) ? right : left;
  }));
}

// How much of other boxes and of letters a mark hides, and how much of it is cut.
function hiddenByMark(mark) {
  const rect = markRect(mark);
  return cutArea(rect) + [...boxRects, ...letterRects].reduce((sum, other) => sum + overlapArea(rect, other), 0);
}

// The area of a mark, from the width of its characters, since it may not be in the drawing yet.
function markRect(mark) {
  const width = MARK_CHARACTER_WIDTH * mark.textContent.length + 4, x = Number(mark.getAttribute("x")), y = Number(mark.getAttribute("y"));
  const left = mark.getAttribute("text-anchor") === "end" ? x - width : x;
  return { left, right: left + width, top: y - 9, bottom: y + 3 };
}

function showMarks(live) {
  for (const [name, box] of markedBoxes) boxElement(box).classList.remove(name);
  markedBoxes = [];
  const events = currentEvents();
  for (const event of events) if (isFiring(event)) markBox(run.events.kind[event] === NODE_FIRES ? "fired" : "trapped", boxOfNode(run.events.node[event]));
  byId("marks").replaceChildren(...buildMarks(live, events));
  page.chosen.forEach((node) => markBox("chosen", boxOfNode(node)));
}
