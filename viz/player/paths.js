// Where things are on the plan: points along arrows, and the middle of boxes. All in the coordinates of the drawing.

const SAMPLES = 24;
const drawing = document.getElementById("drawing");
const boxOf = (name) => document.getElementById(`b-${name}`);

const frames = new Map();

function frame(name) {
  if (!frames.has(name)) frames.set(name, boxOf(name).getBBox());
  return frames.get(name);
}

function sampled(number) {
  const group = document.getElementById(`a-${number}`);
  const line = group && group.querySelector("path");
  if (!line) return null;
  const length = line.getTotalLength(), points = [];
  for (let i = 0; i <= SAMPLES; i++) points.push(line.getPointAtLength((length * i) / SAMPLES));
  return group.dataset.turned ? points.reverse() : points;
}

const ways = run.arrows.map((_, number) => sampled(number));

// How many tokens may be heaped up on an arrow: on a short one fewer, on the shortest one, which says how many more.
const SHORT = 60, MIDDLE = 100;

function room(number) {
  const length = document.querySelector(`#a-${number} path`).getTotalLength();
  return length < SHORT ? 1 : length < MIDDLE ? 2 : 3;
}

const rooms = run.arrows.map((_, number) => (ways[number] ? room(number) : 3));

// A point on an arrow: 0 is where it begins, 1 where it ends.
function along(number, part) {
  const points = ways[number], at = Math.min(Math.max(part, 0), 1) * SAMPLES, i = Math.min(Math.floor(at), SAMPLES - 1);
  const a = points[i], b = points[i + 1], rest = at - i;
  return { x: a.x + (b.x - a.x) * rest, y: a.y + (b.y - a.y) * rest };
}

// Beside a box, at one of its corners: for tokens that are on no arrow.
function beside(name, corner = 0, half = 0) {
  const { x, y, width, height } = frame(name);
  return { x: corner % 2 ? x - half : x + width + half, y: corner < 2 ? y : y + height };
}

function boxOfToken(token) {
  const node = run.tokens.n[token];
  return node < 0 ? run.results[run.tokens.p[token]] : run.nodes[node][BOX];
}
