// The profile: how many nodes fire in each wave (without a clock: how many tokens are in flight), with a cursor.

const COLUMNS = 240, TALL = 40;
let cursor = null, profileBounds = [];

function heights() {
  if (run.clocked) {
    profileBounds = [0, ...waveEnds];
    return waveEnds.map((end, wave) => {
      let count = 0;
      for (let event = wave ? waveEnds[wave - 1] : 0; event < end; event++) count += run.events.did[event] === FIRES || run.events.did[event] === TRAPS;
      return count;
    });
  }
  const live = stateAt(0), found = [];
  for (let event = 0; event < LENGTH; event++) {
    apply(live, event);
    let count = 0;
    for (const place of live.values()) count += flies(place);
    found.push(count);
  }
  profileBounds = found.map((_, event) => event).concat([LENGTH]);
  return found;
}

function buildProfile(seek) {
  const chart = document.getElementById("profile"), bars = heights(), size = Math.ceil(bars.length / COLUMNS) || 1;
  const columns = [];
  for (let i = 0; i < bars.length; i += size) {
    const some = bars.slice(i, i + size);
    columns.push(some.reduce((a, b) => a + b, 0) / some.length);
  }
  const highest = Math.max(1, ...columns);
  chart.setAttribute("viewBox", `0 0 ${Math.max(bars.length, 1)} ${TALL}`);
  columns.forEach((height, column) => {
    const tall = (height / highest) * TALL;
    chart.append(svg("rect", { class: "bar", x: column * size + 0.05 * size, y: TALL - tall, width: size * 0.9, height: tall }));
  });
  cursor = svg("rect", { class: "cursor", x: 0, y: 0, width: Math.max(bars.length / 300, 0.02), height: TALL });
  chart.append(cursor);
  const what = run.clocked ? "Firings in each wave" : "Tokens in flight after each event";
  document.getElementById("profile-title").textContent = `${what}: ${counted(bars.length, run.clocked ? "wave" : "event")}, at most ${Math.max(0, ...bars)}`;
  chart.addEventListener("click", (event) => {
    const box = chart.getBoundingClientRect();
    seek(profileBounds[Math.min(bars.length, Math.floor(((event.clientX - box.left) / box.width) * bars.length) + 1)]);
  });
}

function updateProfile(position) {
  let wave = 0;
  while (wave + 1 < profileBounds.length && profileBounds[wave + 1] <= position) wave++;
  const begin = profileBounds[wave], end = profileBounds[wave + 1];
  cursor.setAttribute("x", wave + (end === undefined ? 0 : (position - begin) / (end - begin)));
}
