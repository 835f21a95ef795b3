// The tree of activations: each call and each iteration, up to so many; choosing one shows its tokens only, and steps by its events.

const SHOWN = 1500;
const items = [];

function buildTree(choose) {
  const list = document.getElementById("tags"), below = run.tags.up.map(() => []);
  run.tags.up.forEach((up, tag) => { if (up >= 0) below[up].push(tag); });
  const waiting = run.tags.up.flatMap((up, tag) => (up < 0 ? [[tag, 1]] : []));
  while (waiting.length && items.length < SHOWN) {
    const [tag, level] = waiting.pop();
    items.push(item(list, tag, level, choose));
    for (const each of below[tag].reverse()) waiting.push([each, level + 1]);
  }
  if (items.length < run.tags.up.length) {
    const rest = document.createElement("li");
    rest.setAttribute("role", "treeitem");
    rest.setAttribute("aria-disabled", "true");
    rest.className = "rest";
    rest.textContent = `and ${(run.tags.up.length - items.length).toLocaleString("en")} more; --under shows one with all below it`;
    list.append(rest);
  }
  list.addEventListener("keydown", (event) => walk(event, choose));
  items[0].element.tabIndex = 0;
}

function item(list, tag, level, choose) {
  const element = document.createElement("li");
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", level);
  element.setAttribute("aria-selected", "false");
  element.tabIndex = -1;
  element.style.paddingInlineStart = `${Math.min(level, 24) * 0.8}em`;
  element.textContent = run.tags.called[tag];
  element.addEventListener("click", () => choose(tag));
  list.append(element);
  return { element, tag, said: "" };
}

function walk(event, choose) {
  const seen = items.filter(({ element }) => !element.hidden);
  const at = seen.findIndex(({ element }) => element === document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (to !== undefined && seen[to]) focusItem(seen[to]);
  else if ((event.key === "Enter" || event.key === " ") && at >= 0) choose(seen[at].tag);
  else if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
}

function focusItem(item) {
  for (const { element } of items) element.tabIndex = -1;
  item.element.tabIndex = 0;
  item.element.focus();
}

// What has not begun is hidden, what is over is faint, and what came out is said once it has come.
function updateTree(position, filter, current) {
  for (const item of items) {
    const { tag } = item, { opened, closed, came, called, gave } = run.tags;
    const is = opened[tag] > position ? "later" : closed[tag] >= 0 && closed[tag] <= position ? "over" : "open";
    const text = came[tag] >= 0 && came[tag] <= position && gave[tag] ? `${called[tag]} = ${gave[tag]}` : called[tag];
    const said = `${is} ${tag === filter} ${tag === current} ${text}`;
    if (said === item.said) continue;
    item.said = said;
    item.element.hidden = is === "later" && tag !== 0;
    item.element.className = `${is}${tag === current ? " current" : ""}`;
    item.element.setAttribute("aria-selected", String(tag === filter));
    item.element.textContent = text;
    if (tag === current && !item.element.hidden) keepInSight(document.getElementById("tags"), item.element);
  }
}
