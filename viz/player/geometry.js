// The plan that is drawn, which page.html has or which replaces it, and its geometry: points along arrows and beside boxes, places for stacks of tokens, and the zoom. Coordinates
// are those of the SVG, except in `scrollToBoxes`.

const SAMPLES = 24;
const drawing = document.getElementById("drawing");
const boxElement = (name) => document.getElementById(`b-${name}`);

const { plans } = pageData;
let plan = plans[0];

// The bounds of boxes, by name; the sampled points of arrows, and the most tokens on each, by number; what tokens should
// not hide: boxes, the letters beside them, and all letters; and the boxes, and all letters, near each arrow. Outside of
// `bounds`, tokens are cut.
const frames = new Map();
let bounds = null, arrowPoints = [], stackLimits = [], boxRects = [], letterRects = [], textRects = [], boxesNearArrow = [], lettersNearArrow = [];

const boxNames = () => [...drawing.querySelectorAll("[role=button]")].map((box) => box.id.slice(2));

// Draw the plan of this number, without tokens and marks.
function drawPlan(number) {
  if (number !== plans.indexOf(plan)) replaceDrawing(number);
  frames.clear();
  bounds = drawingBounds();
  arrowPoints = Array.from({ length: plan.arrow_count }, (_, arrow) => samplePath(arrow));
  stackLimits = arrowPoints.map((points, arrow) => (points ? stackLimit(arrow) : 3));
  const texts = [...drawing.querySelectorAll("text")].filter((text) => text.textContent.trim() && !text.closest("#marks, #tokens"));
  boxRects = boxNames().map((name) => toRect(boxBounds(name)));
  const rectsOf = (some) => some.map((text) => toRect(text.getBBox()));
  letterRects = rectsOf(texts.filter((text) => !text.closest(".node")));
  textRects = rectsOf(texts);
  const near = (rects) => arrowPoints.map((points) => (points ? rects.filter((rect) => overlapArea(rect, areaAround(points))) : []));
  [boxesNearArrow, lettersNearArrow] = [near(boxRects), near(textRects)];
  for (const name of boxNames()) {
    if (plans.some((each) => each.unfolded_box === name)) boxElement(name).setAttribute("aria-expanded", "false");
  }
  drawing.querySelector("[role=button]").tabIndex = 0;
}

// Replace the boxes, arrows and frames; the marks and tokens above them stay.
function replaceDrawing(number) {
  const isDrawn = (element) => !["marks", "tokens"].includes(element.id), shown = byId("plan");
  plan.drawing = [[...drawing.children].filter(isDrawn), shown.getAttribute("viewBox"), drawing.getAttribute("transform")];
  plan.drawing[0].forEach((element) => element.remove());
  plan = plans[number];
  plan.drawing = plan.drawing || parseDrawing(plan.svg, isDrawn);
  const [elements, box, transform] = plan.drawing;
  drawing.prepend(...elements);
  shown.setAttribute("viewBox", box);
  drawing.setAttribute("transform", transform);
  for (const element of elements) element.classList.remove("fired", "trapped", "chosen", "unfolded", "guessed", "right", "wrong", "missed");
}

function parseDrawing(svg, isDrawn) {
  const template = document.createElement("template");
  template.innerHTML = svg;
  const group = template.content.querySelector("#drawing");
  return [[...group.children].filter(isDrawn), group.parentNode.getAttribute("viewBox"), group.getAttribute("transform")];
}

function drawingBounds() {
  const { x, y, width, height } = byId("plan").viewBox.baseVal, { e, f } = drawing.transform.baseVal.consolidate().matrix;
  return toRect({ x: x - e, y: y - f, width, height });
}

function boxBounds(name) {
  if (!frames.has(name)) frames.set(name, boxElement(name).getBBox());
  return frames.get(name);
}

function samplePath(number) {
  const group = document.getElementById(`a-${number}`);
  const line = group && group.querySelector("path");
  if (!line) return null;
  const length = line.getTotalLength(), points = [];
  for (let i = 0; i <= SAMPLES; i++) points.push(line.getPointAtLength((length * i) / SAMPLES));
  return group.dataset.reversed ? points.reverse() : points;
}

// The most tokens shown on an arrow: 3, or 2 on short arrows, or 1 on very short ones, with the number of the others.
const SHORT_ARROW = 60, MIDDLE_ARROW = 100;

function stackLimit(number) {
  const length = document.querySelector(`#a-${number} path`).getTotalLength();
  return length < SHORT_ARROW ? 1 : length < MIDDLE_ARROW ? 2 : 3;
}

// A point on an arrow: 0 is its start, 1 its end.
function pointOnArrow(number, part) {
  const points = arrowPoints[number], at = Math.min(Math.max(part, 0), 1) * SAMPLES, i = Math.min(Math.floor(at), SAMPLES - 1);
  const a = points[i], b = points[i + 1], rest = at - i;
  return { x: a.x + (b.x - a.x) * rest, y: a.y + (b.y - a.y) * rest };
}

// The point of a pill, of this half width, beside a box, for tokens without an arrow: at a corner (0 to 3), in the
// middle of a stack of `count` above the box (4) or below it (5), or on its right (6) or left (7).
function pointBesideBox(name, place = 0, half = 0, count = 1) {
  const { x, y, width, height } = boxBounds(name), away = (count * PILL_HEIGHT) / 2 + 3;
  if (place >= 6) return { x: place === 6 ? x + width + half + 3 : x - half - 3, y: y + height / 2 };
  if (place >= 4) return { x: x + width / 2, y: place === 4 ? y - away : y + height + away };
  return { x: place % 2 ? x - half : x + width + half, y: place < 2 ? y : y + height };
}

function boxOfToken(token) {
  const node = run.tokens.node[token];
  return node < 0 ? plan.results[run.tokens.port[token]] : boxOfNode(node);
}

const boxOfNode = (node) => plan.boxes[node];

// The arrow of a token, or -1 if none is drawn: it is inside a folded box.
const arrowOfToken = (token) => plan.edges[run.tokens.edge[token]] ?? -1;

// Stacks of tokens. A stack is put at the first of its candidate places where it hides no other stack, no box and no
// letters, and is not cut; if there is none, it has fewer pills, and then one without a value. The last resort is the place
// where it hides least.

const ARROW_PLACES = { 0.45: [0.45, 0.3, 0.65, 0.2, 0.8, 0.1], 0.85: [0.85, 0.7, 0.95, 0.55, 0.4, 0.25] };
const BOX_PLACES = [0, 1, 2, 3, 6, 7, 4, 5];
const SIDEWAYS = [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5];
const LIFTS = [0, -1, 1, -2, 2];
const PILL_OVERLAP_COST = 16, LETTER_OVERLAP_COST = 256;

function overlapArea(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return wide > 0 && high > 0 ? wide * high : 0;
}

// The part of a stack that is outside of the drawing.
const cutArea = (rect) => (rect.right - rect.left) * (rect.bottom - rect.top) - overlapArea(rect, bounds);

const toRect = ({ x, y, width, height }) => ({ left: x, top: y, right: x + width, bottom: y + height });

// The area in which a stack on an arrow could be: its middle is at most MAX_ASIDE away, and its half is narrower than
// the rest.
const MAX_ASIDE = 130, NEAR_DISTANCE = 210;

function areaAround(points) {
  const xs = points.map(({ x }) => x), ys = points.map(({ y }) => y);
  return { left: Math.min(...xs) - NEAR_DISTANCE, right: Math.max(...xs) + NEAR_DISTANCE, top: Math.min(...ys) - NEAR_DISTANCE, bottom: Math.max(...ys) + NEAR_DISTANCE };
}

// Candidate places for a stack: on its arrow, then beside it by multiples of half its width, then above and below; or
// around its box.
function* candidatePlaces([{ arrow, part, of }], half) {
  if (arrow < 0) return yield* BOX_PLACES.map((place) => [place, 0, 0]);
  for (const lift of LIFTS) {
    for (const aside of lift ? SIDEWAYS.slice(0, 5) : SIDEWAYS) {
      if (Math.abs(aside * half) > MAX_ASIDE) continue;
      for (const place of ARROW_PLACES[part]) yield [place, aside * half, lift * (of + 1) * PILL_HEIGHT];
    }
  }
}

function stackRect(stack, half, place, aside, lift) {
  const [{ arrow, token }] = stack, point = arrow >= 0 ? pointOnArrow(arrow, place) : pointBesideBox(boxOfToken(token), place, half, stack.length);
  const x = point.x + aside, y = point.y + lift;
  return { left: x - half, right: x + half, top: y - (stack.length * PILL_HEIGHT) / 2, bottom: y + (stack.length * PILL_HEIGHT) / 2 };
}

// The first tokens of a place as a stack of at most `most` pills. The last pill of a stack that is too low has the number
// of tokens that are not shown. If `most` is 0, there is one pill without a value.
function stackOf(tokens, most) {
  const count = Math.min(tokens.length, Math.max(most, 1)), hidden = tokens.length - count;
  return tokens.slice(0, count).map((token, row) => ({
    ...token, row, of: count, isBare: !most, more: hidden && row === count - 1 ? hidden + (count > 1) : 0,
  }));
}

// The stacks of places, each of which has the most pills that hide nothing. They are placed in the order of their arrows
// and boxes, so that a position always looks the same.
function placeStacks(places) {
  const name = ([{ arrow, token }]) => (arrow >= 0 ? arrow : arrowPoints.length + run.tokens.node[token]);
  const taken = [];
  return places.sort((a, b) => name(a) - name(b) || a[0].part - b[0].part).map((tokens) => {
    const [{ arrow }] = tokens, most = arrow < 0 ? 3 : stackLimits[arrow];
    let best = null;
    for (let count = Math.min(most, tokens.length); count >= 0 && !(best && best.cost === 0); count--) {
      const placed = placeStack(stackOf(tokens, count), taken);
      if (!best || placed.cost < best.cost) best = placed;
    }
    taken.push(best.area);
    for (const spot of best.stack) [spot[arrow >= 0 ? "part" : "place"], spot.aside, spot.lift] = best.choice;
    return best.stack;
  });
}

// The best place of a stack beside the areas that are taken, and what it hides there.
function placeStack(stack, taken) {
  const [{ arrow }] = stack, half = Math.max(...stack.map(pillWidth)) / 2;
  const [boxes, letters] = arrow >= 0 ? [boxesNearArrow[arrow], lettersNearArrow[arrow]] : [boxRects, textRects];
  let best = null;
  for (const choice of candidatePlaces(stack, half)) {
    const area = stackRect(stack, half, ...choice);
    const hidden = (others) => others.reduce((sum, other) => sum + overlapArea(area, other), 0);
    const cost = hidden(taken) * PILL_OVERLAP_COST + hidden(boxes) + (hidden(letters) + hidden(markRects) + cutArea(area)) * LETTER_OVERLAP_COST;
    if (!best || cost < best.cost) best = { stack, choice, area, cost };
    if (!cost) break;
  }
  return best;
}

// Zoom, and the part of the graph in sight.

const LEGIBLE_SCALE = 0.8;

// A graph that fits at this scale or a larger one is shown whole, although LEGIBLE_SCALE would be easier to read.
const SMALLEST_FIT = 0.68;

const chooseZoom = () => (fittingScale() < SMALLEST_FIT ? LEGIBLE_SCALE : 0);

function zoom(by) {
  const plan = byId("plan"), pane = byId("scroll"), fits = fittingScale();
  if (by !== 1) {
    page.zoom = by === 0 ? 0 : Math.min(4, Math.max(fits / 2, (page.zoom || fits) * by));
    page.hasChosenZoom = true;
  }
  const scale = page.zoom || fits;
  plan.style.width = `${plan.viewBox.baseVal.width * scale}px`;
  plan.style.height = `${plan.viewBox.baseVal.height * scale}px`;
  pane.classList.toggle("all", page.zoom === 0);
}

// Fit the graph to the pane, whose size has changed, unless the user has chosen a scale.
function fitAgain() {
  if (!page.hasChosenZoom) page.zoom = chooseZoom();
  zoom(1);
}

function fittingScale() {
  const { width, height } = byId("plan").viewBox.baseVal, pane = byId("scroll");
  return Math.min(Math.max(pane.clientWidth - 8, 1) / width, Math.max(pane.clientHeight - 8, 1) / height, 1.6);
}

// The most boxes that `scrollToBoxes` considers; of more boxes it takes the last ones.
const MAX_SCROLL_BOXES = 60;

// Scroll so that as many of these boxes as possible are in sight. Do not scroll if half of those are in sight already.
function scrollToBoxes(boxes) {
  const pane = byId("scroll");
  if (!boxes.length || (pane.scrollHeight <= pane.clientHeight + 4 && pane.scrollWidth <= pane.clientWidth + 4)) return;
  const sight = pane.getBoundingClientRect(), places = boxes.slice(-MAX_SCROLL_BOXES).map((box) => boxElement(box).getBoundingClientRect());
  const [wide, high] = [pane.clientWidth, pane.clientHeight];
  const within = (left, top) => places.filter((box) =>
    box.left >= left && box.right <= left + wide && box.top >= top && box.bottom <= top + high);
  const around = (box) => [(box.left + box.right - wide) / 2, (box.top + box.bottom - high) / 2];
  let best = [places[places.length - 1]];
  for (const place of places) {
    const found = within(...around(place));
    if (found.length > best.length) best = found;
  }
  if (within(sight.left, sight.top).length * 2 >= best.length) return;
  const edge = (side, of) => of(...best.map((box) => box[side]));
  const [left, top] = around({
    left: edge("left", Math.min), right: edge("right", Math.max), top: edge("top", Math.min), bottom: edge("bottom", Math.max),
  });
  pane.scrollLeft += left - sight.left;
  pane.scrollTop += top - sight.top;
}
