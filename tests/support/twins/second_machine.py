"""This is a second machine for tagged-token dataflow graphs, written from the specification alone.

It shares no code with any other machine. Numbers of rules (S1 - S12, T2, T4) are those of docs/semantics.md. A tag is
no path here, but the frame of its activation: a frame knows its parent, site and iteration, owns the frames below it,
and keeps the tokens that wait under its tag. There is no other store. A token in flight holds its frame. Two tags are
equal exactly if they are one frame (T2, T4). A value is an array of NumPy, a scalar too.
"""

import json
import math
import sys
from base64 import b64decode
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

Json = dict[str, Any]
Value = np.ndarray  # a scalar is an array without axes
Site = tuple[str, str, str]
Entry = tuple["Frame", int, int, Any]  # something that is under a frame, at a node and port: a trap, or a token
MAIN: Site = ("", "main", "call")
MASK = 2**64 - 1


class Stop(Exception):
    """A firing, or the run, ends: Trapped, Broken or Exhausted; the rule; the message."""


def of_c(name: str) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        try:
            return getattr(math, name)(*map(float, values))
        except (ValueError, OverflowError):  # Python raises at the edges, where NumPy has C's values
            return OF_NUMPY[name](*values)

    return function


TAKES: dict[str, list[str]] = {}  # for each op, the kinds of dtypes that each operand may have
for row in """
    iuf iuf: add subtract multiply floor_divide remainder pow minimum maximum less less_equal greater greater_equal
    f: sqrt exp log sin cos tanh tan asin acos atan sinh cosh asinh acosh atanh expm1 log1p log2 log10 signbit
    f f: divide atan2 copysign | biu biu: bitwise_and bitwise_or bitwise_xor | biu: bitwise_invert | b: logical_not
    iuf: negative abs sum floor ceil trunc round sign isfinite isinf isnan | b b: logical_and logical_or logical_xor
    iu iu: bitwise_left_shift bitwise_right_shift | iuf iuf: matmul | biuf: identity stop_gradient astype
    biuf biuf: equal not_equal | b biuf biuf: where
""".replace("\n", "|").split("|"):
    TAKES |= {name: row.partition(":")[0].split() for name in row.partition(":")[2].split()}

MOVES = ("call", "enter", "merge", "next_iteration", "return")  # the ops that pass their operand on

OF_C = {name: of_c(name) for name in TAKES if name == "pow" or (TAKES[name][0] == "f" and hasattr(math, name))}
OF_NUMPY = {name: getattr(np, name) for name in TAKES if name not in ("pow", "identity", "stop_gradient", "astype")}
OF_NUMPY |= {"pow": lambda a, b: np.power(a, b + np.zeros_like(a))}  # not one exponent for all
OF_NUMPY |= dict.fromkeys(("identity", "stop_gradient"), np.copy)
OF_NUMPY |= {"minimum": lambda a, b: np.where((a <= b) | (a != a), a, b)}
OF_NUMPY |= {"maximum": lambda a, b: np.where((a >= b) | (a != a), a, b)}
TRAPS = {f"bitwise_{way}_shift": (lambda b: b < 0, "shift by a negative number") for way in ("left", "right")}
TRAPS["pow"] = lambda b: b < 0, "integer to a negative power"
for name, what in (("floor_divide", "division"), ("remainder", "remainder")):
    TRAPS[name] = np.logical_not, f"integer {what} by zero"


def read_value(document: Json) -> Value:
    data = document["data"] if "shape" in document else [document["data"]]
    if isinstance(data, str):
        data = np.frombuffer(b64decode(data), np.dtype(document["dtype"]).newbyteorder("<"))
    numbers = [float(item) if document["dtype"][0] == "f" else int(item) for item in data]
    return np.array(numbers, document["dtype"]).reshape(document.get("shape", ()))


def write_number(number: Any) -> Any:
    plain = math.isfinite(number) if isinstance(number, float) else abs(number) <= 2**53
    return number if plain else str(number)


def write_value(value: Value) -> Json:
    data = [write_number(number) for number in value.ravel().tolist()]
    shape: Json = {"shape": list(value.shape)} if value.shape else {}
    return {"dtype": str(value.dtype), **shape, "data": data if value.shape else data[0]}


def cast(value: Value, dtype: np.dtype) -> Value:
    """What astype makes: floats become the nearest integer towards zero that there is."""
    if value.dtype.kind != "f" or dtype.kind not in "iu":
        return (value.astype(np.float64) if dtype.kind == "f" else value).astype(dtype)
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    numbers = [0 if math.isnan(x) else int(min(max(x, lowest), highest)) for x in value.ravel().tolist()]
    return np.array(numbers, dtype).reshape(value.shape)


def promote(values: list[Value]) -> np.dtype:
    """The dtype in which an op on the values computes."""
    result, kinds = np.result_type(*(value.dtype for value in values)), {value.dtype.kind for value in values}
    if len(kinds) > 1 and (kinds != {"i", "u"} or result.kind != "i"):
        raise Stop("Broken", "V9", f"{' and '.join(str(value.dtype) for value in values)} do not promote")
    return result


def compute(op: str, operands: list[Value], attributes: Json) -> Value:
    """S5: what an ordinary op makes of its operands."""
    if any(value.dtype.kind not in kinds for value, kinds in zip(operands, TAKES[op], strict=True)):
        raise Stop("Broken", "V9", f"{op} does not take {', '.join(str(value.dtype) for value in operands)}")
    with np.errstate(all="ignore"):
        if op == "astype":
            return cast(operands[0], np.dtype(attributes["dtype"]))
        dtype, shapes = promote(operands[-2:]), [value.shape for value in operands]
        text = f"shapes {' and '.join(map(str, shapes))} do not {'multiply' if op == 'matmul' else 'broadcast'}"
        try:
            shape = np.matmul(*map(np.zeros, shapes)).shape if op == "matmul" else np.broadcast_shapes(*shapes)
        except ValueError:
            raise Stop("Trapped", "S5", text) from None
        wide = [value.astype(np.float64 if dtype.kind == "f" else dtype) for value in operands[-2:]]
        if dtype.kind in "iu" and op in TRAPS and TRAPS[op][0](np.broadcast_to(wide[1], shape)).any():
            raise Stop("Trapped", "S5", TRAPS[op][1])
        functions = OF_C if op in OF_C and dtype.kind == "f" and shape == () else OF_NUMPY
        result = np.asarray(functions[op](*operands[:-2], *wide, **attributes))
        return result if result.dtype.kind == "b" or (op == "sum" and dtype.kind != "f") else result.astype(dtype)


class Node:
    """A node as the machine needs it. An edge is (node, port, site), the site that of a return node, else None."""

    def __init__(self, number: int, document: Json) -> None:
        self.number, self.op, self.document = number, document["op"], document
        self.name = f"{document['function']}.{document['name']}"
        self.site = site_of(document["site"]) if document["site"] else None
        self.literals = [None if port is None else read_value(port) for port in document["ports"]]
        self.outputs: list[list[tuple[int, int, Site | None]]] = []


@dataclass(eq=False, slots=True)
class Frame:
    """A tag and its activation record: what waits under it (node, port, value), and what S11 asks for."""

    parent: "Frame | None"
    site: Site
    iteration: int
    depth: int
    below: "dict[tuple[Site, int], Frame]" = field(default_factory=dict)
    waiting: dict[int, dict[int, Value]] = field(default_factory=dict)
    fired: set[int] = field(default_factory=set)
    alive: int = 0
    came: int = 0
    went: int = 0


def site_of(document: Json) -> Site:
    return document["function"], document["name"], document["kind"]


def splitmix64(seed: int, number: int) -> int:
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def chooser(schedule: str) -> Callable[[int, int], int]:
    """The position in the flight that a step takes, by the number of the step and the length of the flight."""
    if schedule.startswith("random:"):
        return lambda step, length: splitmix64(int(schedule[7:]), step) % length
    return {"fifo": lambda _, __: 0, "waves": lambda _, __: 0, "lifo": lambda _, length: length - 1}[schedule]


class Machine:
    """The state of a run: flight, frames (which hold the store), and what is counted."""

    def __init__(self, graph: Json, arguments: list[Json], limits: dict[str, int]) -> None:
        self.graph, self.limits = graph, limits
        self.nodes = [Node(number, node) for number, node in enumerate(graph["nodes"])]
        for node in self.nodes:
            node.outputs = [self.edges(output) for output in node.document["outputs"]]
        self.members = Counter((node.op, node.site) for node in self.nodes)
        self.rank = {node.site: node.number for node in reversed(self.nodes) if node.op in ("call", "enter")}
        self.functions = {site_of(call["site"]): call["function"] for call in graph["calls"]}
        self.root = Frame(None, MAIN, 0, 0)
        self.flight: deque[tuple[int, int, Frame, Value]] = deque()
        self.results: list[Value | None] = [None] * len(graph["results"])
        self.traps: list[Entry] = []
        self.activations = Counter(dict.fromkeys(self.functions.values(), 0) | {graph["name"]: 1})
        self.by_node, self.profile, self.waits = [0] * len(self.nodes), [0], list[int]()
        self.firings = self.stored = self.steps = self.deepest = self.largest_store = 0
        values = [np.array(True)] * graph["hidden"] + [read_value(value) for value in arguments]
        for argument, value in zip(graph["arguments"], values, strict=True):
            self.send([(*edge[:2], value) for edge in self.edges(argument) if edge[2] in (None, MAIN)], self.root)
        self.due = self.largest_flight = len(self.flight)

    def edges(self, output: Json) -> list[tuple[int, int, Site | None]]:
        targets = [(self.nodes[number], port) for number, port in sorted(output["edges"])]
        return [(node.number, port, node.site if node.op == "return" else None) for node, port in targets]

    def send(self, tokens: list[tuple[int, int, Value]], frame: Frame) -> None:
        frame.alive += len(tokens)
        self.flight.extend((number, port, frame, value) for number, port, value in tokens)

    def run(self, choose: Callable[[int, int], int]) -> None:
        """S1: deliver until the machine is quiet; a Stop ends it earlier."""
        self.check_limit("tokens", len(self.flight))
        while self.flight:
            position = choose(self.steps, len(self.flight))
            token = self.flight[position]
            del self.flight[position]
            self.deliver(*token)
            self.steps += 1
            self.largest_store = max(self.largest_store, self.stored)
            self.largest_flight = max(self.largest_flight, len(self.flight))
            self.due -= 1
            if not self.due:  # the clock ticks
                self.due = len(self.flight)
                self.waits.append(self.stored)
                self.profile.append(0)

    def deliver(self, number: int, port: int, frame: Frame, value: Value) -> None:
        """S2, S4: one token comes; its node fires, or it waits."""
        node, came = self.nodes[number], {**frame.waiting.get(number, {}), port: value}
        if number in frame.fired or port in frame.waiting.get(number, {}) or node.literals[port] is not None:
            raise Stop("Broken", "S4", f"node {node.name} got a second token")
        if node.op == "merge":
            self.fire(node, frame, [value], 1)
        elif len(came) < sum(literal is None for literal in node.literals):
            frame.waiting[number] = came
            self.stored += 1
        else:
            ports = node.literals[:-1] if node.document["triggered"] else node.literals
            operands = [came[place] if literal is None else literal for place, literal in enumerate(ports)]
            self.fire(node, frame, operands, len(came))

    def fire(self, node: Node, frame: Frame, operands: list[Value], consumed: int) -> None:
        """S2 - S10: the firing is worked out, then checked against the limits, then made."""
        (base, step), outputs, trap = self.destination(node, frame), [], ""
        try:
            outputs = self.evaluate(node, frame, operands)
        except Stop as stop:
            status, rule, trap = stop.args
            if status == "Broken":
                raise Stop(status, rule, f"node {node.name} got what it cannot take: {trap}") from None
        top = step[0] if step else base.site
        sent = [(*e[:2], value) for output, value in outputs for e in node.outputs[output] if e[2] in (None, top)]
        self.check_limit("firings", self.firings + 1)
        self.check_limit("depth", base.depth + bool(step) if sent else 0)
        self.check_limit("tokens", len(self.flight) + 1 + self.stored - consumed + len(sent))
        self.consume(node, frame, consumed)
        if trap:
            self.traps.append((frame, node.number, 0, (trap, operands)))
        if sent:
            self.send(sent, self.enter(base, step) if step else base)
        if node.op == "return" and frame is self.root:
            places = zip(self.graph["results"], self.results, strict=True)
            self.results = [operands[0] if number == node.number else value for number, value in places]
        self.close(frame)

    def consume(self, node: Node, frame: Frame, consumed: int) -> None:
        frame.waiting.pop(node.number, None)
        frame.fired.add(node.number)
        frame.alive -= consumed
        frame.went += node.op == "return"
        self.stored -= consumed - 1
        self.firings += 1
        self.profile[-1] += 1
        self.by_node[node.number] += 1

    def destination(self, node: Node, frame: Frame) -> tuple[Frame, tuple[Site, int] | None]:
        """S7 - S9: the frame to which a firing sends, or the frame above it and the step down from there."""
        if node.op in ("call", "enter") and node.site:
            return frame, (node.site, 0)
        if node.op not in ("return", "exit", "next_iteration"):
            return frame, None
        if frame.site != node.site:
            raise Stop("Broken", "S8", f"node {node.name} got a tag without its site on top")
        return frame.parent or frame, (frame.site, frame.iteration + 1) if node.op == "next_iteration" else None

    def evaluate(self, node: Node, frame: Frame, operands: list[Value]) -> list[tuple[int, Value]]:
        """S5, S6, S8: the outputs that get a value."""
        if node.op in TAKES:
            return [(0, compute(node.op, operands, node.document["attributes"]))]
        if node.op == "exit":
            return [(0, operands[0]), (1, np.array(frame.iteration, np.int64))]
        if node.op in MOVES:
            return [(0, operands[0])]
        if node.op != "switch":
            raise NotImplementedError(node.op)
        if operands[1].dtype.kind != "b" or operands[1].shape:
            raise Stop("Broken", "V9", "a predicate is one bool")
        return [(int(not operands[1]), operands[0])]

    def enter(self, base: Frame, step: tuple[Site, int]) -> Frame:
        """The frame below, new if it is not open; one more of its arguments has come."""
        if step not in base.below:
            base.below[step] = Frame(base, *step, base.depth + 1)
            self.deepest = max(self.deepest, base.depth + 1)
            self.activations.update([self.functions[step[0]]] if step[0] in self.functions else [])
        base.below[step].came += 1
        return base.below[step]

    def close(self, frame: Frame) -> None:
        """S11, from a frame upwards. All that can come to a frame that closes has come: it is not opened again."""
        while frame.parent and self.done(frame):
            del frame.parent.below[frame.site, frame.iteration]
            frame = frame.parent

    def done(self, frame: Frame) -> bool:
        """Whether nothing is in a frame or below it, all its arguments have come and all its results have gone."""
        entrance = "call" if frame.site[2] == "call" else "next_iteration" if frame.iteration else "enter"
        came = frame is self.root or frame.came == self.members[entrance, frame.site]
        return came and frame.went == self.members["return", frame.site] and not frame.alive and not frame.below

    def check_limit(self, name: str, size: int) -> None:
        if name in self.limits and size > self.limits[name]:
            what = {"firings": "firings", "tokens": "tokens at once", "depth": "nested calls and loops"}[name]
            raise Stop("Exhausted", "S12", f"the run exceeds the limit of {self.limits[name]} on {what}")

    def open_frames(self) -> list[Frame]:
        frames = [] if self.done(self.root) else [self.root]
        for frame in frames:
            frames.extend(frame.below.values())
        return frames

    def in_program_order(self, entries: list[Entry]) -> list[Entry]:
        """Under one frame by number of node; what is below ranks with the first call or enter of its site."""
        contents: dict[Frame, list[tuple[tuple[int, int, int], Any]]] = {self.root: []}
        for entry in entries:
            for above in unseen(entry[0], contents):
                contents[above] = []
                contents[above.parent or above].append(((self.rank[above.site], 1, above.iteration), above))
            contents[entry[0]].append(((entry[1], 0, entry[2]), entry))
        ordered, stack = list[Entry](), list[Any]([self.root])
        while stack:
            top = stack.pop()
            if isinstance(top, Frame):
                stack += [thing for _, thing in sorted(contents[top], key=itemgetter(0), reverse=True)]
            else:
                ordered.append(top)
        return ordered


def unseen(frame: Frame | None, seen: dict[Frame, Any]) -> list[Frame]:
    """The frame and those above it, from above, as far as they are not in the dictionary."""
    chain: list[Frame] = []
    while frame is not None and frame not in seen:
        chain.append(frame)
        frame = frame.parent
    return chain[::-1]


def number_tags(root: Frame, frames: list[Frame]) -> tuple[dict[Frame, int], dict[Site, int], list[list[int]]]:
    """The tags that an outcome speaks of, each after its parent: their numbers, their sites, their lines."""
    numbers, sites, lines = {root: 0}, dict[Site, int](), list[list[int]]()
    for frame in frames:
        for above in unseen(frame, numbers):
            site = sites.setdefault(above.site, len(sites))
            lines.append([numbers[above.parent or above], site, above.iteration])
            numbers[above] = len(lines)
    return numbers, sites, lines


def write_trap(node: Node, tag: int, message: str, operands: list[Value]) -> Json:
    trap = {"node": node.number, "name": node.name, "tag": tag, "message": message, "where": node.document["location"]}
    return trap | {"operands": list(map(write_value, operands)), "words": None}


def write_stats(machine: Machine, schedule: str) -> Json:
    first = {node.name: node for node in reversed(machine.nodes)}
    names = [node.name if node is first[node.name] else f"{node.name}#{node.number}" for node in machine.nodes]
    by_node = dict(zip(names, machine.by_node, strict=True))
    profile = [firings for firings in machine.profile if firings]  # a wave without firings is the last
    waves: Json = {"critical_path": len(profile), "profile": profile, "waiting": machine.waits}
    waves["parallelism"] = machine.firings / len(profile) if profile else None
    stats: Json = {"steps": machine.steps, "largest_store": machine.largest_store, "deepest_tag": machine.deepest}
    stats |= {"largest_flight": machine.largest_flight, "activations": dict(machine.activations), "by_node": by_node}
    return stats | (waves if schedule == "waves" else dict.fromkeys(waves))


def ending(machine: Machine, choose: Callable[[int, int], int]) -> tuple[str, str | None, str]:
    """S12: run, and say how it ended: status, rule, message."""
    try:
        machine.run(choose)
    except Stop as stop:
        return stop.args[0], stop.args[1], stop.args[2]
    if machine.traps:
        _, number, _, (message, _) = machine.in_program_order(machine.traps)[0]
        return "Trapped", "S5", f"{message} at node {machine.nodes[number].name}"
    if any(value is None for value in machine.results):
        return "Deadlocked", "S12", "the run became quiescent, and results are missing"
    return "Returned", None, ""


def run(graph: Json, arguments: list[Json], schedule: str = "waves", limits: dict[str, int] | None = None) -> Json:
    """The outcome document of a run of the graph document on the arguments; a limit that is missing is none."""
    machine = Machine(graph, arguments, limits or {})
    (status, rule, message), opened = ending(machine, chooser(schedule)), machine.open_frames()
    left = [(f, n, port, value) for f in opened for n in f.waiting for port, value in f.waiting[n].items()]
    traps, residue = map(machine.in_program_order, (machine.traps, left))
    tags, sites, lines = number_tags(machine.root, [entry[0] for entry in traps + residue])
    outcome = {"tagloom": "outcome", "version": 1, "status": status, "engine": "second", "schedule": schedule}
    outcome["results"] = [None if value is None else write_value(value) for value in machine.results]
    outcome |= {"firings": machine.firings, "stats": write_stats(machine, schedule)}
    outcome["traps"] = [write_trap(machine.nodes[n], tags[frame], *trap) for frame, n, _, trap in traps]
    outcome["residue"] = [[n, port, tags[frame], write_value(value)] for frame, n, port, value in residue]
    outcome |= {"open_activations": len(opened), "tags": lines}
    outcome["sites"] = [dict(zip(("function", "name", "kind"), site, strict=True)) for site in sites]
    return outcome | {"error": {"rule": rule, "message": message, "words": None} if rule else None}


if __name__ == "__main__":
    task = json.load(sys.stdin)
    print(json.dumps(run(task["graph"], task["arguments"], task.get("schedule", "waves"), task.get("limits"))))
