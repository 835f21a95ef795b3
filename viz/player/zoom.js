// The size of the graph on the screen, and which part of it is in sight.

const LEGIBLE = 0.8;

function zoom(by) {
  const plan = byId("plan"), pane = byId("scroll"), fits = fitting();
  if (by !== 1) page.zoom = by === 0 ? 0 : Math.min(4, Math.max(fits / 2, (page.zoom || fits) * by));
  const scale = page.zoom || fits;
  plan.style.width = `${plan.viewBox.baseVal.width * scale}px`;
  plan.style.height = `${plan.viewBox.baseVal.height * scale}px`;
  pane.classList.toggle("all", page.zoom === 0);
}

function fitting() {
  const { width, height } = byId("plan").viewBox.baseVal, pane = byId("scroll");
  return Math.max(0.1, Math.min((pane.clientWidth - 8) / width, (pane.clientHeight - 8) / height, 1.6));
}

// Keep some of what fired in sight, where not all of the graph is.
function follow(nodes) {
  const pane = byId("scroll");
  if (!nodes.length || pane.scrollHeight <= pane.clientHeight + 4) return;
  const outer = pane.getBoundingClientRect(), places = nodes.map((node) => boxOf(run.nodes[node][BOX]).getBoundingClientRect());
  const inside = (box) => box.top >= outer.top && box.bottom <= outer.bottom && box.left >= outer.left && box.right <= outer.right;
  if (places.some(inside)) return;
  const inner = places[places.length - 1];
  pane.scrollTop += inner.top - outer.top - outer.height / 2;
  pane.scrollLeft += inner.left - outer.left - outer.width / 2;
}
