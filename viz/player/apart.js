// Heaps of pills that keep apart: of the places that a heap could have, the first where it hides no other, and no box.

const PLACES = { 0.45: [0.45, 0.3, 0.65, 0.2, 0.8, 0.1], 0.85: [0.85, 0.7, 0.95, 0.55, 0.4, 0.25] };
const CORNERS = [0, 1, 2, 3];
const ASIDE = [0, 1, -1, 2, -2, 3, -3];
const OVER_PILL = 16;

function overlap(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return wide > 0 && high > 0 ? wide * high : 0;
}

const drawn = [...drawing.querySelectorAll("[role=button]")].map((box) => {
  const { x, y, width, height } = frame(box.id.slice(2));
  return { left: x, top: y, right: x + width, bottom: y + height };
});

// The boxes that something on an arrow could hide.
const FAR = 60;
const near = ways.map((points) => {
  if (!points) return [];
  const xs = points.map(({ x }) => x), ys = points.map(({ y }) => y);
  const around = { left: Math.min(...xs) - FAR, right: Math.max(...xs) + FAR, top: Math.min(...ys) - FAR, bottom: Math.max(...ys) + FAR };
  return drawn.filter((box) => overlap(box, around));
});

// Where a heap can be: on its arrow, or, as far as its own width goes, beside that; or at the corners of its box.
function* choices([{ way, part }], half) {
  const places = way >= 0 ? PLACES[part] : CORNERS;
  for (const aside of way >= 0 ? ASIDE : [0]) for (const place of places) yield [place, aside * half];
}

function areaOf(heap, half, place, aside) {
  const [{ way, token }] = heap, point = way >= 0 ? along(way, place) : beside(boxOfToken(token), place, half);
  const x = point.x + aside, { y } = point;
  return { left: x - half, right: x + half, top: y - (heap.length * HIGH) / 2, bottom: y + (heap.length * HIGH) / 2 };
}

// The order is that of arrows and boxes, so that it is the same at
// a step however one has come there.
function spread(heaps) {
  const name = (heap) => (heap[0].way >= 0 ? heap[0].way : run.arrows.length + run.tokens.n[heap[0].token]);
  const taken = [];
  for (const heap of heaps.sort((a, b) => name(a) - name(b) || a[0].part - b[0].part)) {
    const [{ way }] = heap, half = Math.max(...heap.map(widthOf)) / 2;
    let best = Infinity, chosen = [], area = null;
    for (const choice of choices(heap, half)) {
      const here = areaOf(heap, half, ...choice);
      const hidden = (others) => others.reduce((sum, other) => sum + overlap(here, other), 0);
      const cost = hidden(taken) * OVER_PILL + hidden(way >= 0 ? near[way] : drawn);
      if (cost < best) [best, chosen, area] = [cost, choice, here];
      if (!best) break;
    }
    taken.push(area);
    for (const spot of heap) [spot[way >= 0 ? "part" : "corner"], spot.aside] = chosen;
  }
}
