// The beginning: everything is built, told what to listen to, and shown where the address says.

function listen() {
  const clicks = {
    first: () => { pause(); seek(0); }, back: () => step(-1), forward: () => step(1), last: () => { pause(); seek(LENGTH); },
    play: () => (page.playing ? pause() : play()), predict: () => setPredicting(!predicting), theme: turnTheme,
    help: () => byId("keys").showModal(), close: () => byId("keys").close(), answer: check, onward,
    smaller: () => zoom(1 / 1.25), larger: () => zoom(1.25), fit: () => zoom(0),
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
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", () => {
    const to = readAddress();
    if (to !== undefined) { pause(); seek(to); }
  });
  addEventListener("resize", refit);
  addEventListener("beforeprint", () => buildStrip(stops, page.filter));
}

function fill() {
  byId("called").textContent = run.called;
  byId("note").textContent = run.note;
  byId("note").hidden = !run.note;
  byId("slider").max = LENGTH;
  for (const speed of SPEEDS) byId("speed").append(new Option(`${speed}×`, speed));
  byId("unit").replaceChildren(...UNITS.map((unit) => new Option(unit, unit)));
  byId("printed-pane").hidden = !run.printed.lines.length;
  byId("cells-pane").hidden = !run.cells.arrays.length;
  for (const look of ["flight", "waits", "parked", "held", "ready", "trap", "came"]) {
    const said = document.createElement("span"), sign = document.createElement("b");
    sign.className = `mark ${look}`;
    sign.textContent = run.signs[look][0];
    said.append(sign, ` ${run.signs[look][1]}`);
    byId("legend").append(said);
  }
  for (const [, key, what] of KEYS) {
    const row = byId("key-table").insertRow(), name = document.createElement("th");
    name.textContent = key;
    row.append(name);
    row.insertCell().textContent = what;
  }
}

buildTree(filterBy);
buildSource(choose);
buildInspector(choose);
buildProfile((position) => { pause(); seek(position); });
fill();
listen();
setSpeed(1);
byId("unit").value = page.unit;
drawing.querySelector("[role=button]").setAttribute("tabindex", "0");
page.zoom = fitting() < NEARLY ? LEGIBLE : 0;
zoom(1);
seek(readAddress() || 0);
