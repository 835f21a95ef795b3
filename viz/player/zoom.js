// The size of the graph on the screen, and which part of it is in sight.

const LEGIBLE = 0.8;

// Of what is as small as this nothing is cut off: a box at the edge of which half is missing is harder to read.
const NEARLY = 0.68;

function zoom(by) {
  const plan = byId("plan"), pane = byId("scroll"), fits = fitting();
  if (by !== 1) page.zoom = by === 0 ? 0 : Math.min(4, Math.max(fits / 2, (page.zoom || fits) * by));
  const scale = page.zoom || fits;
  plan.style.width = `${plan.viewBox.baseVal.width * scale}px`;
  plan.style.height = `${plan.viewBox.baseVal.height * scale}px`;
  pane.classList.toggle("all", page.zoom === 0);
}

// What was fitted to its pane still is, when the pane has another size.
function refit() {
  if (!page.zoom) zoom(0);
}

function fitting() {
  const { width, height } = byId("plan").viewBox.baseVal, pane = byId("scroll");
  return Math.max(0.1, Math.min((pane.clientWidth - 8) / width, (pane.clientHeight - 8) / height, 1.6));
}

// Of more boxes than this the last are looked at: where most of them fit is found by trying.
const FOLLOWED = 60;

// Keep in sight what fired, where not all of the graph is: as much of it as fits. What is in sight stays where it is as
// long as that is half of what would fit elsewhere.
function follow(boxes) {
  const pane = byId("scroll");
  if (!boxes.length || (pane.scrollHeight <= pane.clientHeight + 4 && pane.scrollWidth <= pane.clientWidth + 4)) return;
  const sight = pane.getBoundingClientRect(), places = boxes.slice(-FOLLOWED).map((box) => boxOf(box).getBoundingClientRect());
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
