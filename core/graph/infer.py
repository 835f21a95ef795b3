"""Inferring the types of a graph's outputs: forward from the arguments and literals, to a fixed point.

The least one: a merge starts with what comes first and widens as its ports do. Like `infer`, this module complains
of nothing: where a rule is broken, a likely type stands in.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from .. import dtypes
from ..ops.effect_op import ROWS
from ..ops.routing import CONTROL
from ..program.infer import HOLE, STAND_IN, Known, computed, likely, widened
from ..types import Type
from .graph import Edge, Graph, Node, Output, Source


def outputs_of(op: str) -> int:
    """How many outputs a node has, of an op, or of none that exists."""
    row = ROWS.get(op)
    return CONTROL[op].outputs if op in CONTROL else row.outputs if row else 1


def fill_graph(graph: Graph) -> Graph:
    """The graph with a type for every HOLE among the outputs of its nodes."""
    inference = _Inference(graph)
    nodes = tuple(
        node
        if all(output.type is not HOLE for output in node.outputs)
        else replace(node, outputs=tuple(inference.output(number, k, old) for k, old in enumerate(node.outputs)))
        for number, node in enumerate(graph.nodes)
    )
    return replace(graph, nodes=nodes)


def needing_types(graph: Graph) -> set[int]:
    """The nodes, by number, whose types inference would not find: all others may be left to it."""
    types = {Source(n, k): each.type for n, node in enumerate(graph.nodes) for k, each in enumerate(node.outputs)}
    inference = _Inference(graph)
    said = {
        number
        for number, node in enumerate(graph.nodes)
        if len(node.outputs) != outputs_of(node.op)
        or inference.made(number) != [types[Source(number, k)] for k in range(len(node.outputs))]
    }
    while True:
        holes = tuple(
            node if number in said else replace(node, outputs=tuple(replace(o, type=HOLE) for o in node.outputs))
            for number, node in enumerate(graph.nodes)
        )
        found = fill_graph(replace(graph, nodes=holes))
        wrong = {n for n, node in enumerate(graph.nodes) if n not in said and node.outputs != found.nodes[n].outputs}
        if not wrong:
            return said
        said |= wrong


class _Inference:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.types: dict[Source, Known] = {
            Source(-1, k): argument.type for k, (_, argument) in enumerate(graph.arguments)
        }
        for number, node in enumerate(graph.nodes):
            for k, output in enumerate(node.outputs):
                self.types[Source(number, k)] = None if output.type is HOLE else output.type
        self.waiting = deque(n for n, node in enumerate(graph.nodes) if any(o.type is HOLE for o in node.outputs))
        self.queued = set(self.waiting)
        self.settle()

    def settle(self) -> None:
        """To the fixed point; then, where cycles that no token enters are left, from a stand-in on."""
        stuck = deque(self.waiting)
        while True:
            while self.waiting:
                number = self.waiting.popleft()
                self.queued.discard(number)
                self.put(number, self.made(number))
            while stuck and None not in [self.types[Source(stuck[0], k)] for k in range(self.width(stuck[0]))]:
                stuck.popleft()
            if not stuck:
                return
            number = stuck.popleft()
            self.put(number, [STAND_IN] * self.width(number))

    def width(self, number: int) -> int:
        return len(self.graph.nodes[number].outputs)

    def put(self, number: int, types: list[Known]) -> None:
        """Widen a node's outputs, and look again at what they feed."""
        for k, (output, new) in enumerate(zip(self.graph.nodes[number].outputs, types, strict=True)):
            old = self.types[Source(number, k)]
            wider = widened(old, new)
            if output.type is not HOLE or wider == old:
                continue
            self.types[Source(number, k)] = wider
            for edge in output.edges:
                fed = edge.node
                if 0 <= fed < len(self.graph.nodes) and fed not in self.queued and self.is_open(self.graph.nodes[fed]):
                    self.queued.add(fed)
                    self.waiting.append(fed)

    def is_open(self, node: Node) -> bool:
        return any(output.type is HOLE for output in node.outputs)

    def made(self, number: int) -> list[Known]:
        """As many types as the node has outputs, of what its ports have so far."""
        node = self.graph.nodes[number]
        ports = [self.port(number, port) for port in range(len(node.ports) - node.triggered)]
        width = len(node.outputs)
        if node.op == "merge":
            types = [self.merged(ports)]
        elif node.op == "exit":
            types = [*ports[:1], Type(dtypes.int64)]
        elif node.op in CONTROL:
            types = ports[:1] * width
        else:
            types = [computed(node.op, ports, node.attributes), Type(dtypes.bool)]
        types = types[:width] + [likely(ports)] * (width - len(types))
        return [STAND_IN if type_ is HOLE else type_ for type_ in types]

    def merged(self, ports: list[Known]) -> Known:
        joined: Known = None
        for type_ in ports:
            joined = widened(joined, type_)
        return joined if ports else STAND_IN

    def port(self, number: int, port: int) -> Known:
        """What comes to a port so far; HOLE where nothing ever does."""
        literal = self.graph.nodes[number].ports[port]
        if literal is not None:
            return literal.type
        sources = self.sources.get(Edge(number, port), [])
        return self.merged([self.types[source] for source in sources]) if sources else HOLE

    def output(self, number: int, k: int, old: Output) -> Output:
        return replace(old, type=self.types[Source(number, k)] or STAND_IN) if old.type is HOLE else old
