// On paper: a strip of moments, side by side, instead of what moves.

const MOMENTS = 6;

// Wider graphs, in points, have a row of the paper each.
const WIDE = 1000;

function moments(stops) {
  if (stops.length <= MOMENTS) return stops;
  return Array.from({ length: MOMENTS }, (_, i) => stops[Math.round((i * (stops.length - 1)) / (MOMENTS - 1))]);
}

function buildStrip(stops, filter) {
  const strip = document.getElementById("strip");
  strip.replaceChildren();
  const { width, height } = document.getElementById("plan").viewBox.baseVal;
  strip.className = width > 3 * height || width > WIDE ? "one" : width > height ? "two" : "";
  for (const position of moments(stops)) {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    figure.append(pictured(position, filter), caption);
    caption.textContent = `After ${counted(position ? run.events.at[position - 1] + 1 : run.events.at[0] || 0, "event")}`;
    strip.append(figure);
  }
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
