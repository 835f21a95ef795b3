// What is known of one node: what it does, what waits for it, and its last firings.

const FIRINGS = 5, WAITING = 8;

function buildInspector(choose) {
  const list = document.getElementById("node");
  list.append(new Option("none", "-1"));
  run.nodes.forEach((node, number) => list.append(new Option(`${node[NAME]}: ${node[SAID]}`, number)));
  list.addEventListener("change", () => choose(list.value === "-1" ? [] : [Number(list.value)]));
}

function updateInspector(chosen, position, live) {
  const pane = document.getElementById("inspector"), list = document.getElementById("node");
  const node = chosen.length ? chosen[0] : -1;
  if (list.value !== String(node)) list.value = String(node);
  pane.replaceChildren();
  if (node < 0) return void pane.append(paragraph("Choose a node here, on the graph, or by its line."));
  const row = run.nodes[node];
  pane.append(paragraph(`${row[OP]}, ${row[WHERE]}`), paragraph(run.docs[row[OP]] || ""));
  pane.append(heading("Operands"), bullets(operandsOf(node, live)));
  pane.append(heading("Last value"), bullets(lastFirings(node, position)));
}

function operandsOf(node, live) {
  const ports = run.nodes[node][PORTS], fixed = [];
  ports.forEach((literal, port) => { if (literal !== null) fixed.push(`port ${port} is always ${literal}`); });
  const come = [];
  for (const [token, place] of live) {
    if (run.tokens.n[token] !== node || place === CAME) continue;
    const how = run.signs[LOOK[place]][1];
    come.push(`port ${run.tokens.p[token]}: ${whole(run.tokens.v[token])} under ${path(run.tokens.t[token])}, ${how}`);
  }
  const more = come.length > WAITING ? [`and ${come.length - WAITING} more`] : [];
  const said = [...fixed, ...come.slice(0, WAITING), ...more];
  return said.length ? said : ["none"];
}

function lastFirings(node, position) {
  const events = firingsOf[node];
  let low = 0, high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle] < position) low = middle + 1;
    else high = middle;
  }
  const last = events.slice(Math.max(0, low - FIRINGS), low).reverse();
  return last.length ? last.map((event) => `step ${run.events.at[event] + 1}: ${told(event)}`) : ["It has not fired."];
}

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

function heading(text) {
  const made = document.createElement("h3");
  made.textContent = text;
  return made;
}

function bullets(lines) {
  const made = document.createElement("ul");
  for (const line of lines) made.append(Object.assign(document.createElement("li"), { textContent: line }));
  return made;
}
