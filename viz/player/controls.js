// Keys and buttons, and the start of the page.

const KEYS = [
  [[" "], "Space", "play or pause", () => (page.playing ? pause() : play())],
  [["ArrowRight"], "→", "one step forward", () => step(1)],
  [["ArrowLeft"], "←", "one step back", () => step(-1)],
  [["ArrowDown"], "↓", "in the graph: the next node", () => walkBoxes(1)],
  [["ArrowUp"], "↑", "in the graph: the previous node", () => walkBoxes(-1)],
  [["Shift+ArrowRight", "Shift+ArrowLeft", "Shift+ArrowDown", "Shift+ArrowUp"], "Shift+arrows", "scroll the graph, or the focused pane", scrollPane],
  [["Home"], "Home", "to the beginning", () => { pause(); seek(0); }],
  [["End"], "End", "to the end", () => { pause(); seek(LENGTH); }],
  [[..."0123456789"], "0 to 9", "to that tenth of the run (5 is the middle)", (key) => { pause(); seek(Math.round((LENGTH * Number(key)) / 10)); }],
  [["+", "="], "+", "faster", () => changeSpeed(1)],
  [["-"], "−", "slower", () => changeSpeed(-1)],
  [["w"], "w", "switch between steps by wave, by firing and by event", () => setUnit(units[(units.indexOf(page.unit) + 1) % units.length])],
  [["p"], "p", "predict which nodes fire next", () => setPredicting(!predicting)],
  [["c"], "c", "check a prediction", () => checkGuesses()],
  ...(pageData.live ? [
    [["d"], "d", "deliver the chosen token", () => deliverChosen()],
    [["u"], "u", "undo the last choice by hand", () => undoChoice()],
  ] : []),
  ...(plans.length > 1 ? [[["o"], "o", "unfold the focused or chosen box; fold what is unfolded", () => unfold(currentBox())]] : []),
  [["t"], "t", "switch between light and dark", toggleTheme],
  [["?"], "?", "show these keys", () => byId("keys").showModal()],
  [["Escape"], "Esc", "clear the selection; show all activations", () => { page.chosen = []; if (page.filter >= 0) filterBy(0); else choose([]); }],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const target = event.target, onButton = target.closest("button, [role=button]");
  if (target.closest("input:not([type=range])")) return undefined;
  if (target.closest("select") || (onButton && (event.key === " " || event.key === "Enter"))) return pressBox(event, target);
  const walks = !event.shiftKey && (event.key === "ArrowDown" || event.key === "ArrowUp");
  if (walks && !target.closest("#plan")) return;
  const key = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  const row = KEYS.find(([keys]) => keys.includes(key));
  if (!row) return;
  event.preventDefault();
  row[3](key, target);
}

const SCROLL_PIXELS = 60;

function scrollPane(key, target) {
  const pane = target.closest("[role=region][tabindex]") || byId("scroll");
  const [right, down] = { Right: [1, 0], Left: [-1, 0], Down: [0, 1], Up: [0, -1] }[key.replace("Shift+Arrow", "")];
  pane.scrollBy(right * SCROLL_PIXELS, down * SCROLL_PIXELS);
}

// SVG boxes have the role of buttons, but browsers do not click them when Enter or Space is pressed.
function pressBox(event, target) {
  const box = target.closest("#plan [role=button]");
  if (!box || (event.key !== " " && event.key !== "Enter")) return;
  event.preventDefault();
  const name = box.id.slice(2);
  if (event.key === " " && !predicting) chooseBox(name);
  else clickBox(name);
}

// The focused box, or else that of the chosen node.
function currentBox() {
  const box = document.activeElement.closest("#plan [role=button]");
  return box ? box.id.slice(2) : page.chosen.length ? boxOfNode(page.chosen[0]) : "";
}

function walkBoxes(by) {
  const boxes = [...drawing.querySelectorAll("[role=button]")], at = boxes.indexOf(document.activeElement);
  const to = boxes[Math.max(0, Math.min(boxes.length - 1, at + by))];
  focusBox(to);
}

function focusBox(box) {
  for (const other of drawing.querySelectorAll("[role=button]")) other.tabIndex = -1;
  box.tabIndex = 0;
  box.focus({ preventScroll: true });
}

// Startup: build the panes, add listeners, and show the position in the address.

function addListeners() {
  const clicks = {
    first: () => { pause(); seek(0); }, back: () => step(-1), forward: () => step(1), last: () => { pause(); seek(LENGTH); },
    play: () => (page.playing ? pause() : play()), predict: () => setPredicting(!predicting), theme: toggleTheme,
    help: () => byId("keys").showModal(), close: () => byId("keys").close(), check: checkGuesses, next: goToNextQuestion,
    smaller: () => zoom(1 / 1.25), larger: () => zoom(1.25), fit: () => zoom(0), fold: () => unfold(""),
  };
  for (const id in clicks) byId(id).addEventListener("click", clicks[id]);
  byId("slider").addEventListener("input", () => {
    const to = Number(byId("slider").value);
    pause();
    seek(to);
  });
  byId("unit").addEventListener("change", () => setUnit(byId("unit").value));
  byId("speed").addEventListener("change", () => setSpeed(Number(byId("speed").value)));
  byId("plan").addEventListener("click", (event) => {
    const box = event.target.closest("[role=button]");
    if (box) clickBox(box.id.slice(2));
  });
  byId("tags").addEventListener("keydown", (event) => moveInTree(event, filterBy));
  byId("lanes").addEventListener("click", (event) => { pause(); seek(positionOfLanes(event.clientX)); });
  byId("profile").addEventListener("click", (event) => { pause(); seek(positionOfBar(event.clientX)); });
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", ({ newURL }) => {
    const { hash } = new URL(newURL); // by now the page may have written another one
    if (planInAddress(hash) !== plans.indexOf(plan)) showPlan(planInAddress(hash));
    if (pageData.live) return openAddress(hash);
    const to = readAddress(hash);
    if (to !== undefined) { pause(); seek(to); }
  });
  addEventListener("message", receivePosition);
  new ResizeObserver(() => requestAnimationFrame(fitAgain)).observe(byId("scroll")); // the panes around it grow, too
  addEventListener("beforeprint", () => buildStrip(stops, page.filter));
}

function fillControls() {
  for (const speed of SPEEDS) byId("speed").append(new Option(`${speed}×`, speed));
  const dead = run.values.some(([text]) => text === "dead") ? ["dead"] : [];
  for (const look of ["flight", "waiting", ...dead, "deferred", "throttled", "ready", "trap", "arrived"]) {
    const entry = document.createElement("span"), sign = document.createElement("b");
    sign.className = `mark ${look}`;
    sign.textContent = run.badges[look][0];
    entry.append(sign, ` ${run.badges[look][1]}`);
    byId("legend").append(entry);
  }
  for (const [, key, what] of KEYS) {
    const row = byId("key-table").insertRow(), name = document.createElement("th");
    name.textContent = key;
    row.append(name);
    row.insertCell().textContent = what;
  }
  byId("link").hidden = !pageData.live || parent !== window;
}

buildSource(choose);
buildInspector(choose);
fillControls();
addListeners();
setSpeed(1);
drawPlan(planInAddress());
page.zoom = chooseZoom();
zoom(1);
if (pageData.live) openLivePage();
else showRun(readAddress() || 0);
