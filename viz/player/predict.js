// Prediction: the next step is hidden; the user clicks the nodes that will fire, and learns which were right.

let predicting = false, judged = false;
const guesses = new Set();

// The right answer: the boxes that fire in the next wave, or, if steps are not waves, those that one delivery can fire.
function rightBoxes(position, next, byWave, live) {
  const right = new Set();
  if (byWave) {
    for (let event = position; event < next; event++) {
      if (isFiring(event)) right.add(boxOfNode(run.events.node[event]));
    }
  } else {
    for (const [token, place] of live) if (place === READY) right.add(boxOfToken(token));
  }
  return right;
}

let lastQuestion = "";

// Ask about the next step, or say how the run ended. An answer is shown until the position changes.
function updateQuestion() {
  const here = predicting ? `${page.unit} ${page.position}` : "";
  if (here === lastQuestion) return;
  lastQuestion = here;
  judged = false;
  guesses.clear();
  markGuesses();
  if (!predicting) return;
  const isOver = nextStop(page.position) === undefined;
  byId("prompt").textContent = isOver ? describeEnding() : `${question(nextStop(page.position))} Click them, then check.`;
  byId("check").disabled = isOver;
  fitAgain();
}

function question(next) {
  if (page.unit !== "wave") return "Which nodes could fire now, by the delivery of one token?";
  if (!page.position && run.partial_waves[0]) return "Which nodes fire in the rest of this wave?";
  return `Which nodes fire in the next wave${next === LENGTH && run.partial_waves[1] ? ", as far as this page has it" : ""}?`;
}

function guess(box) {
  if (judged) return;
  if (!guesses.delete(box)) guesses.add(box);
  markGuesses();
}

function markGuesses() {
  for (const element of drawing.querySelectorAll(".guessed, .right, .wrong, .missed")) {
    element.classList.remove("guessed", "right", "wrong", "missed");
    element.removeAttribute("aria-pressed");
  }
  for (const box of guesses) {
    boxElement(box).classList.add("guessed");
    boxElement(box).setAttribute("aria-pressed", "true");
  }
}

function judge(right) {
  judged = true;
  const good = [...guesses].filter((box) => right.has(box)), wrong = [...guesses].filter((box) => !right.has(box));
  const missed = [...right].filter((box) => !guesses.has(box));
  good.forEach((box) => boxElement(box).classList.add("right"));
  wrong.forEach((box) => boxElement(box).classList.add("wrong"));
  missed.forEach((box) => boxElement(box).classList.add("missed"));
  const named = (boxes) => boxes.map((box) => boxElement(box).querySelector("title").textContent).join("; ");
  const parts = [`${good.length} of ${right.size} right`];
  if (wrong.length) parts.push(`Not these: ${named(wrong)}`);
  if (missed.length) parts.push(`Missed: ${named(missed)}`);
  document.getElementById("prompt").textContent = !wrong.length && !missed.length ? `Right: ${plural(right.size, "node")}.` : `${parts.join(". ")}.`;
  fitAgain();
  scrollToBoxes([...right]);
}
