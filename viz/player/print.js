// Printing: a strip of still pictures of several positions, instead of the animation.

const MAX_MOMENTS = 6;

// The width of the paper in points, and the smallest scale of a picture; as many pictures as fit are side by side. For
// graphs that are wider than LANDSCAPE_RATIO times their height the paper is turned.
const PAPER_WIDTH = 680, SMALLEST_PRINTED_SCALE = 0.75, LANDSCAPE_RATIO = 1.4;

function chooseMoments(stops) {
  if (stops.length <= MAX_MOMENTS) return stops;
  return Array.from({ length: MAX_MOMENTS }, (_, i) => stops[Math.round((i * (stops.length - 1)) / (MAX_MOMENTS - 1))]);
}

function buildStrip(stops, filter) {
  const strip = document.getElementById("strip");
  strip.replaceChildren();
  const { width, height } = document.getElementById("plan").viewBox.baseVal, aside = Math.floor(PAPER_WIDTH / (width * SMALLEST_PRINTED_SCALE));
  strip.className = aside > 2 ? "" : aside === 2 ? "two" : width > LANDSCAPE_RATIO * height && !aside ? "one wide" : "one";
  for (const position of chooseMoments(stops)) {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    figure.append(drawMoment(position, filter), caption);
    caption.textContent = `After ${plural(position ? run.events.number[position - 1] + 1 : run.events.number[0] || 0, "event")}. ${describeStep(position, filter)}`;
    strip.append(figure);
  }
}

function describeStep(position, filter) {
  const events = allStops.slice(stepStart(position), position);
  return describeEvents(filter < 0 ? events : events.filter((event) => isWithin(run.events.tag[event], filter)), position, filter);
}

function drawMoment(position, filter) {
  const picture = document.getElementById("plan").cloneNode(true), live = stateAt(position);
  const shown = [...tokenSpots(live, filter).values()].map((spot) => [spot, buildPill(spot)]);
  for (const [spot, element] of shown) moveTo(element, spotPoint(spot, spot.part));
  hideOverlappingLabels(shown);
  picture.querySelector("#tokens").replaceChildren(...shown.map(([, element]) => element));
  picture.querySelector("#marks").replaceChildren(...buildMarks(live, []));
  for (const element of [picture, ...picture.querySelectorAll("[id], [role], [tabindex]")]) {
    for (const name of ["id", "role", "tabindex", "aria-pressed"]) element.removeAttribute(name);
    element.classList.remove("fired", "trapped", "ready", "chosen");
  }
  picture.removeAttribute("style");
  return picture;
}
