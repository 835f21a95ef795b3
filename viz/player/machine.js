// The token machine on scalars: rules S1 to S17 of docs/semantics.md. It has no screen and reads no files, so it runs in
// a page and under Node alike. `step` says what the delivery of a token does, and `apply` does it.
//
// A tag is the frame of its activation: a frame knows its parent, site and iteration, owns the frames below it, and
// keeps the tokens that wait under its tag. Two tags are equal exactly if they are one frame (T2, T4).

const { ROWS, Stop, compute, int64, numberText, readValue, refuse, trap, truth, valueText, writeJson, writeValue } = require("./scalars.js");
const { below, nameKey, normal, splitmix64, uniform } = require("./keys.js");

const MAIN = { function: "", name: "main", kind: "call" };
const siteText = ({ kind, function: owner, name }) => `${kind} ${owner}.${name}`;

// What passes its operand on; what tokens enter an activation by; and what has an effect or draws.
const PASSING = new Set(["merge", "call", "return", "enter", "next_iteration", "reenter", "breakpoint", "identity", "stop_gradient"]);
const ENTRANCES = new Set(["call", "enter", "reenter"]);
const OTHERS = new Set([...PASSING, "switch", "exit", "back", "cells", "store", "get", "print", "uniform", "normal", "integers"]);

// Why the machine cannot run a graph document, in words; "" if it can.
function unsupported(graph) {
  const isScalar = ({ dtype, shape, element }) => (dtype === "cells" ? isScalar(element) : Array.isArray(shape) && !shape.length);
  for (const node of graph.nodes) {
    const name = `${node.function}.${node.name}`;
    const hasArray = node.ports.some((port) => port && port.shape) || node.outputs.some(({ type }) => !isScalar(type));
    if (node.op === "callback") return `${name} calls a Python function, and the page has no Python`;
    if (!(node.op in ROWS) && !OTHERS.has(node.op)) return `the machine of the page has no op ${node.op}, which ${name} needs: it computes on scalars only`;
    if (hasArray || (node.attributes.shape || []).length) return `${name} has a value that is an array, and the machine computes on scalars only`;
  }
  const array = graph.arguments.find(({ type }) => !isScalar(type));
  return array ? `the argument ${array.name} is an array, and the machine computes on scalars only` : "";
}

// A graph document as the machine reads it: nodes, and the sites with what S11, S16 and program order ask of them.
class Graph {
  constructor(form) {
    this.form = form;
    this.sites = new Map();
    this.nodes = form.nodes.map((node, number) => ({
      number, op: node.op, name: `${node.function}.${node.name}`, document: node, attributes: node.attributes,
      phase: node.attributes.phase || 0, site: node.site && this.site(node.site), literals: node.ports.map((port) => port && readValue(port)),
      isTriggered: node.triggered, tokensNeeded: node.op === "merge" ? 1 : node.ports.filter((port) => port === null).length,
      results: form.results.flatMap((result, at) => (result === number ? [at] : [])), isReverse: false,
    }));
    this.main = this.site(MAIN);
    this.nodes.forEach((node) => {
      node.outputs = node.document.outputs.map((output) => this.edges(output));
      if (!node.site) return;
      node.site.arguments += ENTRANCES.has(node.op);
      node.site.results += node.op === "return";
      if (ENTRANCES.has(node.op) && !node.site.ranks.has(node.phase)) node.site.ranks.set(node.phase, node.number);
      const starts = node.op === "call" ? node.outputs[0].map((edge) => edge.node) : ENTRANCES.has(node.op) ? [node.number] : [];
      node.site.starts.push(...starts.map((start) => [start, node.phase]));
      if (node.op === "next_iteration" && !node.phase) node.site.bound = node.attributes.parallel_iterations || null;
    });
    form.calls.forEach(({ site, function: callee }) => { this.site(site).callee = callee; });
    for (const site of this.sites.values()) site.starts.sort(([a], [b]) => a - b);
    this.markReverse();
  }

  site(form) {
    const text = siteText(form);
    if (!this.sites.has(text)) {
      this.sites.set(text, { form, number: this.sites.size, arguments: 0, results: 0, ranks: new Map(), starts: [], bound: null, callee: null });
    }
    return this.sites.get(text);
  }

  // The edges of an output, in order; the site of an edge is that of the return node where it ends (S10).
  edges({ edges }) {
    const sorted = [...edges].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return sorted.map(([node, port]) => ({ node, port, site: this.nodes[node].op === "return" ? this.nodes[node].site : null }));
  }

  // The nodes of the reverse pass, which S16 does not count.
  markReverse() {
    const waiting = this.nodes.filter((node) => node.phase);
    waiting.forEach((node) => { node.isReverse = true; });
    for (const node of waiting) {
      for (const { node: next } of node.outputs.flat()) {
        if (!this.nodes[next].isReverse) waiting.push(this.nodes[next]);
        this.nodes[next].isReverse = true;
      }
    }
  }
}

// A tag and its activation record. `number` counts frames in the order in which they open.
class Frame {
  constructor(parent, site, iteration) {
    Object.assign(this, { parent, site, iteration, depth: parent ? parent.depth + 1 : 0, number: 0 });
    this.open();
  }

  // The key of the tag, from which random numbers are drawn.
  key() {
    let key = nameKey("main");
    for (const { site, iteration } of newFrames(this, new Map()).slice(1)) key = splitmix64(key ^ nameKey(siteText(site.form)), BigInt(iteration));
    return key;
  }

  // `alive` counts the tokens under the tag, `busy` those that S16 counts, `came` arguments and `went` results.
  open() {
    Object.assign(this, { isOpen: true, below: new Map(), waiting: new Map(), fired: new Set(), alive: 0, busy: 0, came: 0, went: 0 });
  }

  child(site, iteration) { return this.below.get(`${site.number} ${iteration}`); }

  // S11: whether the activation closes.
  isDone() {
    return !this.alive && !this.below.size && this.came >= this.site.arguments && this.went >= this.site.results;
  }
}

// The frame and those around it, as far as they are not in a map, the outermost first.
function newFrames(frame, known) {
  const chain = [];
  for (let at = frame; at && !known.has(at); at = at.parent) chain.push(at);
  return chain.reverse();
}

const path = (frame) => newFrames(frame, new Map()).slice(1).map(({ site, iteration }) => ({ ...site.form, iteration }));

// The position in the flight that a step takes, by a schedule's name.
function chooser(schedule) {
  const [name, seed] = schedule.split(":");
  if (name === "random" && /^\d{1,20}$/.test(seed) && BigInt(seed) < 2n ** 64n) {
    return (step, length) => Number(splitmix64(BigInt(seed), BigInt(step)) % BigInt(length));
  }
  if (name === "lifo") return (step, length) => length - 1;
  if (name === "fifo" || name === "waves") return () => 0;
  throw new Error(`no schedule is called ${schedule}: there are fifo, lifo, waves and random:SEED`);
}

// What the delivery of a token does. `inputs` are the operands of a firing, null if none fires; `deferredAt` is the
// empty cell of a read. `apply` fills in what is consumed, sent, woken, throttled, released and closed.
const newEvent = (token, position, endsWave) => ({
  token, position, endsWave, inputs: null, outputs: [], sends: [], trap: null, line: null, deferredAt: null,
  consumed: [], sent: [], woken: [], isThrottled: false, released: [], closed: [],
});

class Machine {
  // `graph` is a Graph. A `bound` that is not null replaces those of the loops; `limits` may have firings, depth and tokens.
  constructor(graph, values, { seed = 0n, bound = null, isClocked = false, limits = {} } = {}) {
    Object.assign(this, { graph, seed, isClocked, limits, flight: [], frames: [], handles: [], results: [], traps: [], printed: [] });
    Object.assign(this, { firings: 0, steps: 0, tokenCount: 0, openFrames: 0, deepest: 0, largestStore: 0, profile: [0], waits: [] });
    Object.assign(this, { stored: 0, deferredCount: 0, throttledCount: 0, throttled: new Map() });
    const loops = graph.nodes.filter((node) => node.op === "next_iteration" && !node.phase);
    this.bounds = new Map(loops.map(({ site }) => [site, bound ?? site.bound]).filter(([, limit]) => limit !== null));
    this.firingsOf = graph.nodes.map(() => 0);
    this.activations = new Map([[graph.form.name, 1], ...graph.form.calls.map((call) => [call.function, 0])]);
    this.activations.set(graph.form.name, 1);
    this.root = this.openFrame(new Frame(null, graph.main, 0));
    const all = [...Array(graph.form.hidden).fill(truth(true)), ...values];
    this.root.came = graph.main.arguments = all.length;
    graph.form.arguments.forEach((argument, at) => {
      for (const { node, port } of graph.edges(argument)) this.flight.push(this.token(node, port, this.root, all[at], [-1, at]));
    });
    this.root.alive = this.root.busy = this.due = this.largestFlight = this.flight.length;
  }

  token(node, port, frame, value, origin) { return { number: this.tokenCount++, node, port, frame, value, origin }; }

  // S1: what the delivery of the token at a position of the flight does. A Stop says why it cannot be done.
  step(position) {
    const token = this.flight[position], node = this.graph.nodes[token.node], { frame } = token;
    const event = newEvent(token, position, this.due === 1);
    const operands = this.match(node, token);
    if (!operands) return event;
    event.deferredAt = this.emptyCell(node, operands);
    if (event.deferredAt) return event;
    event.inputs = operands;
    event.target = this.destination(node, frame, operands);
    try {
      event.outputs = this.evaluate(node, operands.slice(0, operands.length - node.isTriggered), frame, event);
    } catch (stop) {
      if (!(stop instanceof Stop)) throw stop;
      if (stop.status !== "Trapped") throw new Stop(stop.status, stop.rule, `node ${node.name} got what it cannot take: ${stop.message}`);
      event.trap = stop.message;
    }
    const { base, into } = event.target, top = into ? into.site : base.site;
    event.sends = this.sends(node, frame, event.outputs, top);
    this.checkLimits(node, event);
    return event;
  }

  // S3, S10: what a firing sends, in the order of outputs, then of edges; `top` is the site on top of the tag. A value
  // that returns from the root goes to the environment, node -1.
  sends(node, frame, outputs, top) {
    return outputs.flatMap(([output, value]) => {
      if (node.op === "return" && !frame.parent) return node.results.map((port) => ({ node: -1, port, value, output }));
      return node.outputs[output].filter(({ site }) => site === null || site === top).map((edge) => ({ ...edge, value, output }));
    });
  }

  // S2, S4: the operands by port, or null if the token has to wait.
  match(node, { port, frame, value }) {
    const waiting = frame.waiting.get(node.number) || new Map();
    if (frame.fired.has(node.number) || waiting.has(port) || node.literals[port] !== null) {
      throw new Stop("Broken", "S4", `node ${node.name} got a second token on port ${port}`);
    }
    if (node.op === "merge") return [value];
    if (waiting.size + 1 < node.tokensNeeded) return null;
    return node.literals.map((literal, at) => literal || (at === port ? value : waiting.get(at).value));
  }

  // S7, S8, S9, S17: the frame to which a firing sends, `base`, or that and the step `into` a frame below it.
  destination(node, frame, operands) {
    const { op, site } = node;
    if (op === "call" || op === "enter") return { base: frame, into: { site, iteration: 0 } };
    if (op === "reenter") return { base: frame, into: { site, iteration: Number(operands[1].data) } };
    if (!["return", "exit", "next_iteration", "back"].includes(op)) return { base: frame, into: null };
    if (frame.site !== site) throw new Stop("Broken", "S8", `node ${node.name} got a tag without its site on top`);
    const base = frame.parent || frame, { iteration } = frame;
    if (op === "next_iteration") return { base, into: { site, iteration: iteration + 1 } };
    return { base, into: op === "back" && iteration ? { site, iteration: iteration - 1 } : null };
  }

  // S5, S6, S8, S13 to S15, S17: the outputs that get a value, as [output, value].
  evaluate(node, operands, frame, event) {
    const [first, second] = operands, { op, attributes } = node;
    if (PASSING.has(op)) return [[0, first]];
    if (op in ROWS) return [[0, compute(op, operands, attributes)]];
    switch (op) {
      case "switch":
        if (second.dtype !== "bool") refuse("a predicate is one bool");
        return [[second.data ? 0 : 1, first]];
      case "exit": return [[0, first], [1, int64(frame.iteration)]];
      case "back": return [[frame.iteration ? 0 : 1, first]];
      case "cells": return [[0, this.makeCells(node, frame, first)]];
      case "store":
        checkIndex(first, second);
        if (first.cells[second.data]) trap(`cell ${second.data} is put more than once`);
        return [];
      case "get":
        checkIndex(first, second);
        return [[0, first.cells[second.data].writes[0].value]];
      case "print": // S14
        event.line = fillText(attributes.text, operands);
        return [[0, truth(true)], [1, truth(true)]];
      default: return [[0, this.draw(op, operands, splitmix64(splitmix64(frame.key() ^ nameKey(node.name), this.seed), 0n))]];
    }
  }

  // S15. The key is that of element 0.
  draw(op, [low, high], key) {
    if (op === "uniform") return { dtype: "float64", data: uniform(key) };
    if (op === "normal") return { dtype: "float64", data: normal(key) };
    if (high.data <= low.data) trap("integers of an empty range");
    return { dtype: "int64", data: BigInt.asIntN(64, low.data + below(key, high.data - low.data)) };
  }

  makeCells(node, frame, { dtype, data }) {
    if (dtype !== "int64") refuse("cells are counted in int64");
    if (data < 0n) trap("fewer than no cells");
    return { dtype: "cells", element: node.attributes.element, node: node.number, frame, size: data, cells: {}, reads: {} };
  }

  // S13: the empty cell at which a get is deferred, or null.
  emptyCell(node, [handle, index]) {
    if (node.op !== "get" || !handle.cells) return null;
    const { data } = index;
    return data >= 0n && data < handle.size && !handle.cells[data] ? { handle, number: Number(data) } : null;
  }

  // S12: a limit ends the run before the firing.
  checkLimits(node, { sends, target: { base, into } }) {
    const alive = this.flight.length + this.stored + this.deferredCount + this.throttledCount - node.tokensNeeded + sends.filter((send) => send.node >= 0).length;
    this.checkLimit("firings", this.firings + 1, "firings");
    this.checkLimit("depth", sends.length ? base.depth + (into ? 1 : 0) : 0, "nested calls and loops");
    this.checkLimit("tokens", alive, "tokens at once");
  }

  checkLimit(name, size, what) {
    const limit = this.limits[name];
    if (limit === undefined || limit === null || size <= limit) return;
    throw Object.assign(new Stop("Exhausted", "S12", `the run exceeds the limit of ${limit} on ${what}`), { limit: name });
  }

  // Do what an event says; the event gets the tokens that are sent, and what closes and is released.
  apply(event) {
    const { token, position, inputs } = event, { frame } = token;
    this.flight.splice(position, 1);
    this.steps += 1;
    if (event.deferredAt) this.defer(event.deferredAt, token);
    else if (!inputs) this.wait(token);
    else this.fire(event, this.graph.nodes[token.node]);
    this.release(event);
    if (inputs) event.closed = this.close(frame);
    this.largestStore = Math.max(this.largestStore, this.stored);
    this.largestFlight = Math.max(this.largestFlight, this.flight.length);
    this.due -= 1;
    if (this.due) return;
    this.due = this.flight.length; // the clock ticks
    this.waits.push(this.stored);
    this.profile.push(0);
  }

  wait(token) {
    const { waiting } = token.frame;
    if (!waiting.has(token.node)) waiting.set(token.node, new Map());
    waiting.get(token.node).set(token.port, token);
    this.stored += 1;
  }

  defer({ handle, number }, token) {
    (handle.reads[number] = handle.reads[number] || []).push(token);
    this.deferredCount += 1;
  }

  fire(event, node) {
    const { token: { frame } } = event, waiting = frame.waiting.get(node.number);
    event.consumed = [event.token, ...(waiting ? waiting.values() : [])];
    frame.waiting.delete(node.number);
    frame.fired.add(node.number);
    frame.alive -= node.tokensNeeded;
    frame.went += node.op === "return";
    this.stored -= node.tokensNeeded - 1;
    this.firings += 1;
    this.firingsOf[node.number] += 1;
    this.profile[this.profile.length - 1] += 1;
    if (event.trap !== null) this.traps.push(event);
    if (event.line !== null) this.printed.push(event.line);
    event.isThrottled = this.isThrottled(node, frame);
    this.send(event, node);
    if (node.op === "cells" && event.outputs.length) this.handles.push(event.outputs[0][1]);
    if (node.op === "store") this.store(event, ...event.inputs);
    if (!node.isReverse) this.addBusy(frame, -node.tokensNeeded);
  }

  // S3: the tokens of a firing, all under one tag, at the end of the flight.
  send(event, node) {
    if (!event.sends.length) return;
    const { base, into } = event.target, target = into ? this.enter(base, into) : this.reopen(base);
    event.sent = event.sends.map(({ node: to, port, value, output }) => this.token(to, port, target, value, [node.number, output]));
    if (event.sent[0].node < 0) return void event.sent.forEach(({ port, value }) => { this.results[port] = value; });
    target.alive += event.sent.length;
    if (event.isThrottled) {
      this.throttled.set(target, [...(this.throttled.get(target) || []), ...event.sent.map((token) => [this.steps, token])]);
      this.throttledCount += event.sent.length;
      this.addBusy(target.parent, event.sent.length);
    } else {
      this.flight.push(...event.sent);
      this.addBusy(target, event.sent.filter((token) => !this.graph.nodes[token.node].isReverse).length);
    }
  }

  // The frame below, new if it is not open; one more of its arguments has come.
  enter(base, { site, iteration }) {
    const frame = base.child(site, iteration) || this.openFrame(new Frame(this.reopen(base), site, iteration));
    frame.came += 1;
    return frame;
  }

  openFrame(frame) {
    frame.number = this.frames.push(frame) - 1;
    this.openFrames += 1;
    this.deepest = Math.max(this.deepest, frame.depth);
    if (frame.site.callee) this.activations.set(frame.site.callee, this.activations.get(frame.site.callee) + 1);
    if (frame.parent) frame.parent.below.set(`${frame.site.number} ${frame.iteration}`, frame);
    return frame;
  }

  // A frame that has closed opens again only in a graph that breaks the rules.
  reopen(frame) {
    if (frame.isOpen) return frame;
    frame.open();
    return this.openFrame(frame);
  }

  // S13: a store fills its cell, and the reads deferred there fly again.
  store(event, handle, index) {
    const { data } = index, number = Number(data);
    if (data < 0n || data >= handle.size) return;
    const write = { node: event.token.node, frame: event.token.frame, inputs: event.inputs, value: event.inputs[2] };
    if (handle.cells[number]) return void handle.cells[number].writes.push(write);
    handle.cells[number] = { writes: [write] };
    event.woken = handle.reads[number] || [];
    delete handle.reads[number];
    this.deferredCount -= event.woken.length;
    this.flight.push(...event.woken);
  }

  // S16: whether the tokens of a next_iteration are throttled: whether the iteration j - k is busy.
  isThrottled(node, frame) {
    const bound = node.op === "next_iteration" && !node.phase ? this.bounds.get(node.site) : undefined;
    if (bound === undefined || !frame.parent || frame.iteration + 1 < bound) return false;
    const earlier = frame.parent.child(node.site, frame.iteration + 1 - bound);
    return earlier !== undefined && (earlier === frame ? earlier.busy > node.tokensNeeded : earlier.busy > 0);
  }

  addBusy(frame, change) {
    for (let at = frame; at && change && at.isOpen && this.bounds.size; at = at.parent) {
      const before = at.busy > 0;
      at.busy += change;
      change = (at.busy > 0) - before;
    }
  }

  // S16: release what no busy iteration throttles any more; under `waves` only at the end of a wave.
  release(event) {
    if (!this.throttled.size || (this.isClocked && !event.endsWave)) return;
    for (const [frame, entries] of this.throttled) {
      const earlier = frame.parent.child(frame.site, frame.iteration - this.bounds.get(frame.site));
      if (!earlier || earlier.busy === 0) event.released.push(...entries);
    }
    event.released.sort(([a], [b]) => a - b);
    for (const [, token] of event.released) {
      this.throttled.delete(token.frame);
      this.flight.push(token);
      this.throttledCount -= 1;
      this.addBusy(token.frame, 1);
      this.addBusy(token.frame.parent, -1);
    }
  }

  // S11, from a frame upwards: the frames that close, each with the nodes that fired under it.
  close(frame) {
    const closed = [];
    for (let at = frame; at && at.isOpen && at.isDone(); at = at.parent) {
      at.isOpen = false;
      this.openFrames -= 1;
      if (at.parent) at.parent.below.delete(`${at.site.number} ${at.iteration}`);
      closed.push([at, [...at.fired].sort((a, b) => a - b)]);
    }
    return closed;
  }

  // Another value for a token in flight or waiting. No rule does that, and no log can record it.
  change(number, value) {
    const place = this.flight.findIndex((token) => token.number === number);
    const waiting = this.waitingTokens().find((token) => token.number === number);
    const old = place >= 0 ? this.flight[place] : waiting;
    if (!old) throw new Error("this token is not there to be changed");
    const changed = this.token(old.node, old.port, old.frame, value, old.origin);
    if (place >= 0) this.flight[place] = changed;
    else old.frame.waiting.get(old.node).set(old.port, changed);
    return { token: old, edited: changed };
  }

  // A token that no node has sent, at the end of the flight.
  inject(node, port, number, value) {
    const frame = this.frames[number];
    if (!frame || !frame.isOpen) throw new Error("this activation is not open here");
    if (!this.graph.nodes[node] || this.graph.nodes[node].literals[port] !== null) throw new Error("this port takes no tokens");
    const edited = this.token(node, port, frame, value, [-2, 0]);
    this.flight.push(edited);
    this.due = this.due || 1;
    frame.alive += 1;
    this.addBusy(frame, 1);
    return { token: null, edited };
  }

  waitingTokens() {
    const open = this.root.isOpen ? [this.root] : [];
    for (const frame of open) open.push(...frame.below.values());
    return open.flatMap((frame) => [...frame.waiting.values()].flatMap((tokens) => [...tokens.values()]));
  }

  // Whether the delivery of a token in flight would fire its node (S2, S4, S13).
  wouldFire(token) {
    const node = this.graph.nodes[token.node];
    try {
      const operands = this.match(node, token);
      return operands !== null && this.emptyCell(node, operands) === null;
    } catch { return false; }
  }
}

function checkIndex(handle, { dtype, data }) {
  if (!handle.cells || dtype !== "int64") refuse("cells are counted in int64");
  if (data < 0n || data >= handle.size) trap(`there is no cell ${data} among ${handle.size}`);
}

// A text with values in the places for them: literals in {}, and what Python prints in {:}, which differs for bools;
// {{ and }} are braces.
function fillText(text, values) {
  const rest = [...values];
  const pythonText = (value) => (value.dtype === "bool" ? (value.data ? "True" : "False") : numberText(value));
  return text.replace(/\{\{|\}\}|\{:?\}/g, (braces) =>
    braces === "{}" ? valueText(rest.shift()) : braces === "{:}" ? pythonText(rest.shift()) : braces[0],
  );
}

// Program order: compare two entries { frame, node } by the order in which a sequential evaluation meets them.
function programOrder(a, b) {
  const [left, right] = [orderKey(a), orderKey(b)];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    for (let part = 0; part < 3; part++) if (left[at][part] !== right[at][part]) return left[at][part] - right[at][part];
  }
  return left.length - right.length;
}

// What is below a frame ranks, phase by phase, with the first node that enters it in that phase.
function orderKey({ frame, node }) {
  const key = [];
  let number = node, phase = 0;
  for (let at = frame; at.parent; at = at.parent) {
    key.unshift([number, key.length ? 1 : 0, phase]);
    const found = at.site.starts.filter(([start]) => start <= number).pop(), within = found ? found[1] : 0;
    number = at.site.ranks.get(within);
    phase = within % 2 ? -at.iteration : at.iteration;
  }
  key.unshift([number, key.length ? 1 : 0, phase]);
  return key;
}

// S12: how a run ended; `stop` is what ended it early, or null.
function ending(machine, stop) {
  if (stop) return { status: stop.status, rule: stop.rule, message: stop.message, limit: stop.limit || null };
  const traps = trapsInOrder(machine);
  if (traps.length) {
    const [{ message, node }] = traps;
    return { status: "Trapped", rule: "S5", message: `${message} at node ${machine.graph.nodes[node].name}`, limit: null };
  }
  const isMissing = machine.graph.form.results.some((_, at) => machine.results[at] === undefined);
  if (isMissing) return { status: "Deadlocked", rule: "S12", message: "the run became quiescent, and results are missing", limit: null };
  return { status: "Returned", rule: null, message: "", limit: null };
}

// The traps in program order. All second stores to a cell are one trap, at the store that is second in that order.
function trapsInOrder(machine) {
  const conflicts = new Set(), traps = [];
  for (const event of machine.traps) {
    const [handle, index] = event.inputs, node = machine.graph.nodes[event.token.node];
    const cell = node.op === "store" ? handle.cells[index.data] : undefined;
    const operands = event.inputs.slice(0, event.inputs.length - node.isTriggered);
    if (cell) conflicts.add([cell, event.trap]);
    else traps.push({ frame: event.token.frame, node: node.number, message: event.trap, operands });
  }
  for (const [cell, message] of new Map(conflicts)) {
    const second = [...cell.writes].sort(programOrder)[1];
    traps.push({ frame: second.frame, node: second.node, message, operands: second.inputs });
  }
  return traps.sort(programOrder);
}

// What is left over, in program order: tokens that wait, are deferred, or are throttled.
function residue(machine) {
  const left = machine.waitingTokens().map((token) => ({ ...token, blocked: null }));
  for (const handle of machine.handles) {
    for (const number in handle.reads) {
      const blocked = { deferred: [writeCarried(handle), Number(number)] };
      left.push(...handle.reads[number].map((token) => ({ ...token, blocked })));
    }
  }
  for (const [frame, entries] of machine.throttled) {
    left.push(...entries.map(([, token]) => ({ ...token, blocked: { throttled: machine.bounds.get(frame.site) } })));
  }
  return left.sort((a, b) => programOrder(a, b) || a.port - b.port);
}

// The JSON forms of docs/json.md

function writeCarried(value) {
  if (!value.cells) return writeValue(value);
  return { dtype: "cells", element: value.element, data: { node: value.node, tag: path(value.frame), size: value.size } };
}

function writeStats(machine, schedule) {
  const { nodes } = machine.graph, first = new Map();
  nodes.forEach((node) => { if (!first.has(node.name)) first.set(node.name, node); });
  const title = (node) => (first.get(node.name) === node ? node.name : `${node.name}#${node.number}`);
  const byNode = Object.fromEntries(nodes.map((node) => [title(node), machine.firingsOf[node.number]]));
  const profile = machine.profile.filter(Boolean), isClocked = schedule === "waves";
  return {
    steps: machine.steps, largest_store: machine.largestStore, largest_flight: machine.largestFlight, deepest_tag: machine.deepest,
    critical_path: isClocked ? profile.length : null, parallelism: isClocked && profile.length ? machine.firings / profile.length : null,
    profile: isClocked ? profile : null, waiting: isClocked ? machine.waits : null,
    activations: Object.fromEntries(machine.activations), by_node: byNode,
  };
}

// The outcome document of a run.
function writeOutcome(machine, stop, schedule) {
  const { status, rule, message, limit } = ending(machine, stop), traps = trapsInOrder(machine), left = residue(machine);
  const numbers = new Map([[machine.root, 0]]), sites = new Map(), tags = [];
  const number = (frame) => {
    for (const each of newFrames(frame, numbers)) {
      if (!sites.has(each.site)) sites.set(each.site, sites.size);
      numbers.set(each, tags.push([numbers.get(each.parent), sites.get(each.site), each.iteration]));
    }
    return numbers.get(frame);
  };
  const written = traps.map((each) => {
    const node = machine.graph.nodes[each.node];
    const where = { where: node.document.location, words: null };
    return { node: each.node, name: node.name, tag: number(each.frame), message: each.message, operands: each.operands.map(writeCarried), ...where };
  });
  const rest = left.map(({ node, port, frame, value, blocked }) => [node, port, number(frame), writeCarried(value), ...(blocked ? [blocked] : [])]);
  const results = machine.graph.form.results.map((_, at) => (machine.results[at] === undefined ? null : writeValue(machine.results[at])));
  return {
    tagloom: "outcome", version: 1, status, results, firings: machine.firings, stats: writeStats(machine, schedule),
    engine: "javascript", schedule, traps: written, residue: rest, open_activations: machine.openFrames,
    error: rule ? { rule, message, words: null, limit } : null, sites: [...sites.keys()].map(({ form }) => form), tags,
  };
}

// The lines of a log: the first, those of an event, and the last.
class Log {
  constructor(machine, values, schedule, seed, bound) {
    this.sites = [...machine.graph.sites.values()].filter((site) => site !== machine.graph.main || machine.graph.nodes.some((node) => node.site === site));
    this.numbers = new Map([[machine.root, 0]]);
    this.tagCount = 1;
    const seedForm = seed > 2n ** 53n ? String(seed) : Number(seed);
    const header = { tagloom: "events", version: 1, graph: machine.graph.form, arguments: values.map(writeValue), schedule, seed: seedForm, bound, sites: this.sites.map(({ form }) => form) };
    this.lines = [writeJson(header)];
  }

  // The number of a tag; a tag that is new, or open again, gets a line.
  tag(frame) {
    for (const each of newFrames(frame, this.numbers)) {
      this.lines.push(writeJson({ tag: this.tagCount, parent: this.numbers.get(each.parent), site: this.sites.indexOf(each.site), iteration: each.iteration }));
      this.numbers.set(each, this.tagCount++);
    }
    return this.numbers.get(frame);
  }

  token({ node, port, frame, value }) { return [node, port, this.tag(frame), writeCarried(value)]; }

  add(event) {
    const sent = event.sent.map((token) => this.token(token)), line = { deliver: this.token(event.token), position: event.position };
    if (event.deferredAt) line.deferred = [writeCarried(event.deferredAt.handle), event.deferredAt.number];
    if (event.inputs) {
      line.inputs = event.inputs.map(writeCarried);
      line.outputs = event.outputs.map(([output, value]) => [output, writeCarried(value)]);
    }
    if (event.trap !== null) line.trap = event.trap;
    if (sent.length) line.sent = sent;
    if (event.closed.length) line.closed = event.closed.map(([frame, nodes]) => [this.tag(frame), nodes]);
    if (event.woken.length) line.woken = event.woken.map((token) => this.token(token));
    if (event.isThrottled) line.throttled = true;
    if (event.released.length) line.released = event.released.map(([step, token]) => [step, this.token(token)]);
    this.lines.push(writeJson(line));
    for (const [frame] of event.closed) this.numbers.delete(frame);
  }
}

// Run until the machine is quiescent or a Stop ends it; the Stop, or null. `onEvent` sees each event.
function run(machine, choose, onEvent = () => {}) {
  try {
    machine.checkLimit("tokens", machine.flight.length, "tokens at once");
    while (machine.flight.length) {
      const event = machine.step(choose(machine.steps, machine.flight.length));
      machine.apply(event);
      onEvent(event);
    }
    return null;
  } catch (stop) {
    if (!(stop instanceof Stop)) throw stop;
    return stop;
  }
}

module.exports = { Graph, Log, Machine, chooser, ending, run, unsupported, writeJson, writeOutcome };
