// Keys: what a key does, and what the help says of it.

const KEYS = [
  [[" "], "Space", "play or pause", () => (page.playing ? pause() : play())],
  [["ArrowRight"], "→", "one step on", () => step(1)],
  [["ArrowLeft"], "←", "one step back", () => step(-1)],
  [["ArrowDown"], "↓", "on the graph: the next node", () => walkBoxes(1)],
  [["ArrowUp"], "↑", "on the graph: the node before", () => walkBoxes(-1)],
  [["Shift+ArrowRight", "Shift+ArrowLeft", "Shift+ArrowDown", "Shift+ArrowUp"], "Shift+arrows", "scroll the graph, or the pane one is in", scrollPane],
  [["Home"], "Home", "to the beginning", () => { pause(); seek(0); }],
  [["End"], "End", "to the end", () => { pause(); seek(LENGTH); }],
  [[..."0123456789"], "0 to 9", "to so many tenths of the run", (key) => { pause(); seek(Math.round((LENGTH * Number(key)) / 10)); }],
  [["+", "="], "+", "faster", () => faster(1)],
  [["-"], "−", "slower", () => faster(-1)],
  [["w"], "w", "steps by wave, by firing, by event", () => setUnit(UNITS[(UNITS.indexOf(page.unit) + 1) % UNITS.length])],
  [["p"], "p", "predict what fires next", () => setPredicting(!predicting)],
  [["c"], "c", "check a prediction", () => check()],
  [["t"], "t", "light or dark", turnTheme],
  [["?"], "?", "these keys", () => byId("keys").showModal()],
  [["Escape"], "Esc", "choose nothing, show all", () => { page.chosen = []; if (page.filter >= 0) filterBy(0); else choose([]); }],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const target = event.target, onButton = target.closest("button, [role=button]");
  if (target.closest("select") || (onButton && (event.key === " " || event.key === "Enter"))) return pressed(event, target);
  const walks = !event.shiftKey && (event.key === "ArrowDown" || event.key === "ArrowUp");
  if (walks && !target.closest("#plan")) return;
  const key = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  const row = KEYS.find(([keys]) => keys.includes(key));
  if (!row) return;
  event.preventDefault();
  row[3](key, target);
}

const SCROLL = 60;

function scrollPane(key, target) {
  const pane = target.closest("[role=region][tabindex]") || byId("scroll");
  const [right, down] = { Right: [1, 0], Left: [-1, 0], Down: [0, 1], Up: [0, -1] }[key.replace("Shift+Arrow", "")];
  pane.scrollBy(right * SCROLL, down * SCROLL);
}

// A box of the graph is a button; others press themselves.
function pressed(event, target) {
  const box = target.closest("#plan [role=button]");
  if (!box || (event.key !== " " && event.key !== "Enter")) return;
  event.preventDefault();
  clickBox(box.id.slice(2));
}

function walkBoxes(by) {
  const boxes = [...drawing.querySelectorAll("[role=button]")], at = boxes.indexOf(document.activeElement);
  const to = boxes[Math.max(0, Math.min(boxes.length - 1, at + by))];
  boxes.forEach((box) => { box.tabIndex = -1; });
  to.tabIndex = 0;
  to.focus();
}
