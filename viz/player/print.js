// On paper: a strip of moments, side by side, instead of what moves.

const MOMENTS = 6;

// The width of paper, in points of the drawing: as many moments stand side by side as can be drawn at this scale. For
// wide graphs the paper is turned.
const PAPER = 680, SCALE = 0.75, TURNED = 1.4;

function moments(stops) {
  if (stops.length <= MOMENTS) return stops;
  return Array.from({ length: MOMENTS }, (_, i) => stops[Math.round((i * (stops.length - 1)) / (MOMENTS - 1))]);
}

function buildStrip(stops, filter) {
  const strip = document.getElementById("strip");
  strip.replaceChildren();
  const { width, height } = document.getElementById("plan").viewBox.baseVal, aside = Math.floor(PAPER / (width * SCALE));
  strip.className = aside > 2 ? "" : aside === 2 ? "two" : width > TURNED * height && !aside ? "one wide" : "one";
  for (const position of moments(stops)) {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    figure.append(pictured(position, filter), caption);
    caption.textContent = `After ${counted(position ? run.events.at[position - 1] + 1 : run.events.at[0] || 0, "event")}. ${toldOf(position, filter)}`;
    strip.append(figure);
  }
}

function toldOf(position, filter) {
  const events = allStops.slice(since(position), position);
  return toldAll(filter < 0 ? events : events.filter((event) => isBelow(run.events.tag[event], filter)), position, filter);
}

function pictured(position, filter) {
  const picture = document.getElementById("plan").cloneNode(true), live = stateAt(position);
  const shown = [...spots(live, filter).values()].map((spot) => [spot, pill(spot)]);
  for (const [spot, made] of shown) put(made, placed(spot, spot.part));
  clearLabels(shown);
  picture.querySelector("#tokens").replaceChildren(...shown.map(([, made]) => made));
  picture.querySelector("#marks").replaceChildren(...marksOf(live, []));
  for (const element of [picture, ...picture.querySelectorAll("[id], [role], [tabindex]")]) {
    for (const name of ["id", "role", "tabindex", "aria-pressed"]) element.removeAttribute(name);
    element.classList.remove("fired", "trapped", "ready", "chosen");
  }
  picture.removeAttribute("style");
  return picture;
}
