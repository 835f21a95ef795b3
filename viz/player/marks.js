// What boxes say of themselves: just fired, chosen, can fire, trapped, and the results that have come.

let marked = [];

function mark(name, box) {
  boxOf(box).classList.add(name);
  marked.push([name, box]);
}

function marksOf(live, events) {
  const badges = new Map();
  const badge = (box, look, text) => { if (!badges.has(box)) badges.set(box, []); badges.get(box).push([look, text]); };
  const ready = new Map();
  for (const [token, place] of live) {
    if (place === READY && shownUnder(token, page.filter)) ready.set(boxOfToken(token), (ready.get(boxOfToken(token)) || 0) + 1);
    if (place === CAME) badge(boxOfToken(token), "came", value(run.tokens.v[token]));
  }
  for (const event of events) {
    const box = run.nodes[run.events.node[event]][BOX], did = run.events.did[event];
    if (did === FIRES) mark("fired", box);
    if (did === TRAPS) { mark("trapped", box); badge(box, "trap", ""); }
  }
  if (!predicting) for (const [box, count] of ready) badge(box, "ready", count > 1 ? count : "");
  return [...badges].flatMap(([box, said]) => said.map(([look, text], row) => {
    const { x, y } = frame(box);
    return svg("text", { class: `mark ${look}`, x: x - 3, y: y + 9 + row * 11, "text-anchor": "end" }, `${text} ${run.signs[look][0]}`.trim());
  }));
}

function showMarks(live) {
  for (const [name, box] of marked) boxOf(box).classList.remove(name);
  marked = [];
  byId("marks").replaceChildren(...marksOf(live, currentEvents()));
  page.chosen.forEach((node) => mark("chosen", run.nodes[node][BOX]));
}
