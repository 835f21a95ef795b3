// The machine of live pages under Node, as a foreign machine. Each line of the input is a task,
// { graph, arguments, schedule, limits, seed, bound, log, sources }; each line of the output is its outcome document, or
// { unsupported: why }, or { failed: what the machine threw }. `log` names a file for the log, `sources` another folder
// of the machine's modules.

const fs = require("fs");
const path = require("path");
const OWN_SOURCES = path.join(__dirname, "../../../viz/player");

const graphs = new Map();

function runTask({ graph, arguments: values, schedule = "waves", limits = {}, seed = 0, bound = null, log = null, sources = OWN_SOURCES }) {
  const { Graph, Log, Machine, chooser, run, unsupported, writeJson, writeOutcome } = require(path.resolve(sources, "machine.js"));
  const { readValue } = require(path.resolve(sources, "scalars.js"));
  const why = unsupported(graph);
  if (why) return JSON.stringify({ unsupported: why });
  const key = sources + JSON.stringify(graph, (_, data) => (Object.is(data, -0) ? "-0" : data));
  if (!graphs.has(key)) graphs.set(key, new Graph(graph));
  const options = { seed: BigInt(seed), bound, isClocked: schedule === "waves", limits };
  const numbers = values.map(readValue), machine = new Machine(graphs.get(key), numbers, options);
  const lines = log ? new Log(machine, numbers, schedule, options.seed, bound) : null;
  const stop = run(machine, chooser(schedule), lines ? (event) => lines.add(event) : undefined);
  const outcome = writeOutcome(machine, stop, schedule);
  if (lines) fs.writeFileSync(log, `${[...lines.lines, writeJson({ outcome })].join("\n")}\n`);
  return writeJson({ ...outcome, printed: machine.printed });
}

for (const task of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  let line;
  try { line = runTask(JSON.parse(task)); } catch (error) { line = JSON.stringify({ failed: String(error.stack) }); }
  process.stdout.write(`${line}\n`);
}
