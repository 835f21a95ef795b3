// The program beside the graph: a line and the nodes that it made are lit together.

const lineElements = [];
const nodesOfLine = new Map();

function buildSource(choose) {
  const pane = document.getElementById("source");
  if (!run.source.length) document.getElementById("source-pane").hidden = true;
  run.nodes.forEach((node, number) => {
    const key = String(node[LINE]);
    if (node[LINE]) nodesOfLine.set(key, [...(nodesOfLine.get(key) || []), number]);
  });
  run.source.forEach(([file, first, lines], piece) => {
    const title = document.createElement("h3");
    title.textContent = file;
    pane.append(title);
    if (!lines.length) pane.append("the source is not here");
    lineElements.push(lines.map((text, offset) => sourceLine(pane, [piece, offset], first + offset, text, choose)));
  });
}

function sourceLine(pane, place, number, text, choose) {
  const nodes = nodesOfLine.get(String(place));
  const line = document.createElement(nodes ? "button" : "div"), count = document.createElement("span");
  line.className = "line";
  count.className = "number";
  count.textContent = number;
  line.append(count, text || " ");
  if (nodes) {
    line.setAttribute("aria-pressed", "false");
    line.addEventListener("click", () => choose(nodes));
  }
  pane.append(line);
  return line;
}

let litLines = [];

// Light the lines of the nodes that are chosen, and of those that have just fired.
function updateSource(chosen, current) {
  for (const line of litLines) {
    line.classList.remove("chosen", "now");
    line.setAttribute("aria-pressed", "false");
  }
  litLines = [];
  const light = (node, name) => {
    const place = run.nodes[node][LINE], line = place && lineElements[place[0]][place[1]];
    if (!line) return;
    line.classList.add(name);
    if (name === "chosen") line.setAttribute("aria-pressed", "true");
    litLines.push(line);
  };
  current.forEach((node) => light(node, "now"));
  chosen.forEach((node) => light(node, "chosen"));
  if (litLines.length) keepInSight(document.getElementById("source"), litLines[0]);
}

function keepInSight(pane, element) {
  const inner = element.getBoundingClientRect(), outer = pane.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom) pane.scrollTop += inner.top - outer.top - outer.height / 2;
}
