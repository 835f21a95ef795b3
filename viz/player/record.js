// The columns of a run on the page's own machine: those that columns.py writes of a recorded run, from the same events.

const { Graph, Log, Machine, chooser, ending } = require("./machine.js");
const { parseValue, readValue, valueText } = require("./scalars.js");

const MAX_SHORT_VALUE = 14, MAX_NUMBER = 10, MAX_LIST = 64;

const shortText = (value) => (value.cells || valueText(value).length <= MAX_SHORT_VALUE ? valueText(value) : shortNumber(valueText(value)));

// A number without its type, and with fewer digits if it has many. Its sign and its magnitude remain.
function shortNumber(literal) {
  const number = literal.slice(literal.lastIndexOf("(") + 1).replace(/\)$/, "");
  if (number.length <= MAX_NUMBER) return number;
  const [, sign, whole, fraction, exponent] = /^(-?)(\d*)\.?(\d*)(e.*)?$/.exec(number);
  const isLong = whole.length > MAX_NUMBER - 3;
  const digits = isLong ? `${whole[0]}.${whole.slice(1)}${fraction}` : `${whole}${fraction && `.${fraction}`}`;
  const magnitude = isLong ? `e${whole.length - 1}` : exponent ?? "";
  return `${sign}${digits.slice(0, MAX_NUMBER - 1 - sign.length - magnitude.length)}…${magnitude}`;
}

const stepText = (frame) => (frame.site.form.kind === "loop" ? `${frame.site.form.name}[${frame.iteration}]` : frame.site.form.name);

function fullText(machine, value) {
  return value.cells ? `${machine.graph.nodes[value.node].name} under ${framePath(value.frame)}` : valueText(value);
}

function framePath(frame) {
  const steps = [];
  for (let at = frame; at; at = at.parent) steps.push(stepText(at));
  return steps.reverse().join("/");
}

// As many texts as fit, but at least one, and the number of the others.
function listText(texts, most = MAX_LIST) {
  if (texts.join(", ").length <= most) return texts.join(", ");
  let length = 0, count = 0;
  for (const text of texts) if ((length += text.length + 2) <= most || !count) count++;
  return [...texts.slice(0, count), ...(count < texts.length ? [`… ${texts.length - count} more`] : [])].join(", ");
}

// A tag in a few characters: its innermost steps.
function shortTag(frame) {
  const steps = [];
  for (let at = frame; at.parent && steps.length < 4; at = at.parent) steps.push(stepText(at));
  const shown = frame.depth <= 3 && steps.join("/").length <= MAX_SHORT_VALUE ? steps : steps.slice(0, 2);
  return [...(shown.length < frame.depth ? ["…"] : []), ...shown.reverse()].join("/") || "main";
}

// Texts with escapes instead of control characters and invisible ones, as core/escape.py has them.
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

function escapeControls(text) {
  return text.replace(CONTROLS, (letter) => {
    const code = letter.codePointAt(0), digits = code.toString(16), [mark, size] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return letter === "\r" ? "\\r" : `\\${mark}${digits.padStart(size, "0")}`;
  });
}

function escapeTexts(form) {
  if (typeof form === "string") return escapeControls(form);
  if (Array.isArray(form)) return form.map(escapeTexts);
  return form && typeof form === "object" ? Object.fromEntries(Object.entries(form).map(([key, part]) => [key, escapeTexts(part)])) : form;
}

// Records a run while the machine makes it.
class Recorder {
  constructor(machine, values) {
    this.machine = machine;
    this.values = values;
    this.valueNumbers = new Map();
    this.tokens = [];
    this.places = new Map();
    this.events = [];
    this.moves = [];
    this.wave = 1;
    this.activity = new Map([[machine.root, this.newActivity(0)]]);
    this.cells = { arrays: [], changes: [] };
    this.arrayNumbers = new Map();
    this.printed = [];
    this.initialMoves = machine.flight.map((token) => this.join(token));
  }

  newActivity(position) { return { opened: position, returned: -1, closed: -1, inputs: new Map(), returns: new Map() }; }

  move(token, place) {
    this.tokens[token.number] = token;
    this.places.set(token.number, place);
    return token.number * 8 + place;
  }

  join(token) { return this.move(token, this.machine.wouldFire(token) ? READY : IN_FLIGHT); }

  // The moves of tokens in flight that have become ready, or are ready no longer.
  refresh(isConcerned) {
    const moves = [];
    for (const token of this.machine.flight) {
      if (!isConcerned(token)) continue;
      const place = this.machine.wouldFire(token) ? READY : IN_FLIGHT;
      if (this.places.has(token.number) && place !== this.places.get(token.number)) moves.push(this.move(token, place));
    }
    return moves;
  }

  add(event) {
    const { token } = event, node = this.machine.graph.nodes[token.node], position = this.events.length + 1;
    const moves = [], isPartner = (other) => other.node === token.node && other.frame === token.frame;
    if (event.deferredAt) moves.push(this.move(token, DEFERRED));
    else if (!event.inputs) moves.push(this.move(token, WAITING), ...this.refresh(isPartner));
    else {
      moves.push(...event.consumed.map((each) => each.number).sort((a, b) => a - b).map((number) => this.move(this.tokens[number], CONSUMED)));
      moves.push(...this.refresh(isPartner));
      moves.push(...event.sent.map((each) => (each.node < 0 ? this.move(each, RETURNED) : event.isThrottled ? this.move(each, THROTTLED) : this.join(each))));
      moves.push(...event.woken.map((each) => this.join(each)));
      if (node.op === "store") moves.push(...this.refresh((other) => this.machine.graph.nodes[other.node].op === "get"));
    }
    moves.push(...event.released.map(([, each]) => this.join(each)));
    this.recordActivity(event, node, position);
    this.recordCells(event, node, position);
    if (event.line !== null) this.printed.push([position, event.line]);
    const operands = event.inputs ? event.inputs.slice(0, event.inputs.length - node.isTriggered) : [token.value];
    const kind = event.deferredAt ? READ_IS_DEFERRED : !event.inputs ? TOKEN_WAITS : event.trap === null ? NODE_FIRES : NODE_TRAPS;
    this.push(moves, { token, kind, operands, results: event.outputs.map(([, value]) => value), text: event.trap ?? event.line ?? undefined });
    this.wave += event.endsWave;
  }

  // A token that was changed or injected by hand.
  addEdit({ token, edited }, text) {
    const moves = token ? [this.move(token, CONSUMED)] : [];
    const isWaiting = token && !this.machine.flight.includes(edited);
    moves.push(isWaiting ? this.move(edited, WAITING) : this.join(edited));
    this.push([...moves, ...this.refresh((other) => other.node === edited.node && other.frame === edited.frame)], { token: edited, kind: TOKEN_IS_EDITED, operands: [], results: [], text });
  }

  push(moves, event) {
    this.moves.push(moves);
    this.events.push({ ...event, wave: this.wave });
  }

  recordActivity(event, node, position) {
    for (const { frame } of event.sent) if (!this.activity.has(frame)) this.activity.set(frame, this.newActivity(position));
    const { frame } = event.token;
    if (event.inputs && node.op === "return") {
      this.activity.get(frame).returned = position;
      this.activity.get(frame).returns.set(node.number, event.inputs[0]);
    }
    if (["call", "enter", "next_iteration"].includes(node.op)) {
      for (const each of event.sent) this.activity.get(each.frame).inputs.set(each.node, { phase: node.phase, value: each.value });
    }
    for (const [closed] of event.closed) this.activity.get(closed).closed = position;
  }

  recordCells(event, node, position) {
    if (event.inputs && node.op === "cells" && event.trap === null) {
      const handle = event.outputs[0][1];
      this.arrayNumbers.set(handle, this.cells.arrays.length);
      this.cells.arrays.push([position, node.name, handle.frame.number, Number(handle.size)]);
    }
    const access = [node.number, event.token.frame.number];
    if (event.deferredAt) this.cells.changes.push([position, DEFERRED_READ, this.arrayNumbers.get(event.deferredAt.handle), event.deferredAt.number, -1, ...access]);
    else if (event.inputs && node.op === "store" && event.trap === null) {
      const [handle, index, value] = event.inputs;
      this.cells.changes.push([position, STORE, this.arrayNumbers.get(handle), Number(index.data), this.value(value), ...access]);
    }
  }

  // The number of a value in the table of texts.
  value(value) {
    const full = fullText(this.machine, value);
    if (!this.valueNumbers.has(full)) this.valueNumbers.set(full, [this.valueNumbers.size, shortText(value)]);
    return this.valueNumbers.get(full)[0];
  }

  // All columns. `isCut` says that the run goes on.
  columns({ schedule, isCut, stop }) {
    const { machine, events, tokens } = this, { graph } = machine, column = (of) => events.map(of);
    const { status, message } = isCut ? { status: "", message: "" } : ending(machine, stop);
    const isReturned = graph.form.results.every((_, at) => machine.results[at] !== undefined);
    const texts = {};
    events.forEach(({ text }, at) => { if (text !== undefined) texts[at] = text; });
    const args = this.values.map(shortText), count = events.length, lastWave = count ? events[count - 1].wave : 0;
    const columns = {
      has_waves: Number(schedule === "waves"), schedule, status, error: message, event_count: count, partial_waves: [0, Number(Boolean(isCut) && lastWave === this.wave)],
      call: `${graph.form.name}(${listText(args)})`, full_call: `${graph.form.name}(${this.values.map(valueText).join(", ")})`,
      value: isReturned ? machine.results.map(valueText).join(", ") : "", full_value: isReturned ? machine.results.map(valueText).join(", ") : "",
      initial_moves: this.initialMoves, moves: this.moves.flat(), move_counts: this.moves.map((moved) => moved.length), cells: this.cells, printed: { omitted: 0, lines: this.printed },
      events: {
        number: column((_, at) => at), node: column(({ token }) => token.node), tag: column(({ token }) => token.frame.number), port: column(({ token }) => token.port),
        kind: column(({ kind }) => kind), wave: column(({ wave }) => wave), operands: column(({ operands }) => operands.map((value) => this.value(value))),
        results: column(({ results }) => results.map((value) => this.value(value))), texts,
      },
      tokens: {
        node: tokens.map((token) => token.node), port: tokens.map((token) => token.port), tag: tokens.map((token) => token.frame.number),
        value: tokens.map((token) => this.value(token.value)), edge: tokens.map((token) => this.edge(token)),
      },
      tags: this.tags(), values: [...this.valueNumbers].map(([full, [, short]]) => (short === full ? [short] : [short, full])),
    };
    return { ...pageData, ...escapeTexts(columns) };
  }

  // The number of the edge of a token, or -1 if there is none. An injected token is on an edge to its port.
  edge({ node, port, origin: [from] }) {
    const head = node < 0 ? `r${port}` : `n${node}`, tail = from === -2 ? null : from < 0 ? `a${this.originArgument(node, port)}` : `n${from}`;
    return pageData.live.edges.findIndex(([a, b, p]) => b === head && p === Math.max(node < 0 ? 0 : port, 0) && (tail === null || a === tail));
  }

  originArgument(node, port) {
    return this.machine.graph.form.arguments.findIndex(({ edges }) => edges.some(([to, at]) => to === node && at === port));
  }

  tags() {
    const columns = { parent: [], step: [], short: [], call: [], results: [], full_call: [], opened: [], returned: [], closed: [] };
    for (const frame of this.machine.frames) {
      const activity = this.activity.get(frame) || this.newActivity(0), call = this.call(frame, activity, MAX_LIST), full = this.call(frame, activity, Infinity);
      const row = {
        parent: frame.parent ? frame.parent.number : -1, step: stepText(frame), short: shortTag(frame), call, results: this.results(frame, activity),
        full_call: full === call ? "" : full, opened: activity.opened, returned: activity.returned, closed: activity.closed,
      };
      for (const name in columns) columns[name].push(row[name]);
    }
    return columns;
  }

  // The inputs of an activation in a phase, as [name, text], in the order of parameters and without triggers.
  inputs(frame, { inputs }, phase) {
    const { hidden, arguments: listed } = this.machine.graph.form;
    if (!frame.parent && !phase) return this.values.map((value, at) => [listed[hidden + at].name, shortText(value)]);
    const entries = [...inputs].filter(([, input]) => input.phase === phase).sort(([a], [b]) => a - b);
    return entries.map(([node, { value }]) => [this.machine.graph.nodes[node].document.name.split(".").pop(), shortText(value)]).filter(([name]) => !name.startsWith("trigger"));
  }

  call(frame, activity, most) {
    const inputs = this.inputs(frame, activity, 0);
    if (frame.site.form.kind === "loop") return `${stepText(frame)}: ${listText(inputs.map((pair) => pair.join(" = ")), most)}`;
    return `${frame.parent ? frame.site.callee : this.machine.graph.form.name}(${listText(inputs.map(([, text]) => text), most)})`;
  }

  // The results of a call, and its further phases, which compute gradients.
  results(frame, activity) {
    if (frame.site.form.kind === "loop") return "";
    const { nodes } = this.machine.graph, phases = [...new Set([0, ...[...activity.inputs.values()].map(({ phase }) => phase)])].sort((a, b) => a - b);
    return phases.map((phase) => {
      const returns = [...activity.returns].filter(([node]) => nodes[node].phase === phase).sort(([a], [b]) => a - b);
      const text = listText(returns.map(([, value]) => shortText(value)));
      if (!phase) return text;
      const head = `∂${phase > 1 ? phase : ""}(${listText(this.inputs(frame, activity, phase).map(([, input]) => input))})`;
      return text ? `${head} = ${text}` : head;
    }).filter(Boolean).join(", ");
  }
}
