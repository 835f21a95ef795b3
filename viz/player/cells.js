// The write-once cells: what each holds after so many events, and the reads that are parked at those that are empty.

const PUT = 0, PARK = 1;
const ARRAYS = 12, CELLS = 64, READERS = 3;
const [CELL_AT, CELL_DID, CELL_OF, CELL_NUMBER, CELL_VALUE, CELL_NODE, CELL_TAG] = [0, 1, 2, 3, 4, 5, 6];

// By array that has been made, its cells by number: who put what, and who is parked.
function cellsAt(position, filter) {
  const found = new Map();
  run.cells.arrays.forEach(([made, , tag], array) => {
    if (made <= position && (filter < 0 || isBelow(tag, filter))) found.set(array, new Map());
  });
  for (const change of run.cells.changes) {
    if (change[CELL_AT] > position) break;
    const cells = found.get(change[CELL_OF]);
    if (!cells) continue;
    if (!cells.has(change[CELL_NUMBER])) cells.set(change[CELL_NUMBER], { puts: [], parked: [], at: 0 });
    const cell = cells.get(change[CELL_NUMBER]);
    if (change[CELL_DID] === PUT) { cell.puts.push(change); cell.parked = []; } else cell.parked.push(change);
    cell.at = change[CELL_AT];
  }
  return found;
}

function updateCells(position, filter) {
  if (!run.cells.arrays.length) return;
  const pane = byId("cells"), found = [...cellsAt(position, filter)], parts = [];
  for (const [array, cells] of found.slice(-ARRAYS)) parts.push(...arrayShown(array, cells, position));
  if (!found.length) parts.push(paragraph("None has been made yet."));
  if (found.length > ARRAYS) parts.unshift(paragraph(`The last ${ARRAYS} of ${counted(found.length, "array")}:`));
  pane.replaceChildren(...parts);
}

function arrayShown(array, cells, position) {
  const [, name, tag, size] = run.cells.arrays[array], full = [...cells.values()].filter((cell) => cell.puts.length).length;
  const title = heading(`${name} under ${path(tag)}: ${full.toLocaleString("en")} of ${size.toLocaleString("en")} full`);
  const numbers = size <= CELLS ? Array.from({ length: size }, (_, number) => number) : [...cells.keys()].sort((a, b) => a - b);
  const list = document.createElement("ul");
  list.append(...numbers.slice(0, CELLS).map((number) => cellShown(number, cells.get(number), position)));
  return numbers.length > CELLS ? [title, list, paragraph(`and ${(numbers.length - CELLS).toLocaleString("en")} more`)] : [title, list];
}

function cellShown(number, cell, position) {
  const item = document.createElement("li"), name = document.createElement("b");
  name.textContent = `${number}: `;
  item.append(name);
  if (!cell || !(cell.puts.length || cell.parked.length)) {
    item.className = "empty";
    item.append("empty");
    return item;
  }
  const readers = cell.parked.map((each) => run.tags.short[each[CELL_TAG]]), more = readers.length - READERS;
  const reads = `${run.signs.parked[0]} ${readers.slice(0, READERS).join(", ")}${more > 0 ? ` +${more}` : ""}`;
  item.className = cell.puts.length > 1 ? "twice" : cell.puts.length ? "full" : "parked";
  item.classList.toggle("now", cell.at > page.from && cell.at <= position);
  item.append(cell.puts.length ? cell.puts.map((put) => value(put[CELL_VALUE])).join(" and ") : reads);
  item.title = [...cell.puts, ...cell.parked].map((each) => {
    const who = `${run.nodes[each[CELL_NODE]][NAME]} under ${path(each[CELL_TAG])}`;
    return each[CELL_DID] === PUT ? `${whole(each[CELL_VALUE])}, put by ${who}` : `${who} waits for it`;
  }).join("; ");
  return item;
}
