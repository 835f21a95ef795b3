"""Type inference on graphs: forward from the arguments and literals, to the least fixed point.

A merge starts with the type of the first port that has one, and widens with the others. Like `core.program.infer`, this
module reports no problems: where a rule is broken, it puts in a likely type.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from .. import dtypes
from ..ops.effects import ALL_OPS
from ..ops.routing import ALL_ROUTING_OPS
from ..program.infer import DEFAULT_TYPE, HOLE, LatticeType, guess_type, infer_op_type, widen
from ..types import Type
from .graph import Edge, Graph, GraphNode, NodeOutput, OutputRef


def count_outputs(op: str) -> int:
    """The number of outputs of a node of this op; a guess for an unknown op."""
    row = ALL_OPS.get(op)
    return ALL_ROUTING_OPS[op].output_count if op in ALL_ROUTING_OPS else row.output_count if row else 1


def infer_graph_types(graph: Graph) -> Graph:
    """The graph with every HOLE among its outputs replaced by a type."""
    inference = _GraphInference(graph)
    nodes = tuple(
        node
        if all(output.type is not HOLE for output in node.outputs)
        else replace(node, outputs=tuple(inference.fill_output(number, k, old) for k, old in enumerate(node.outputs)))
        for number, node in enumerate(graph.nodes)
    )
    return replace(graph, nodes=nodes)


def nodes_needing_types(graph: Graph) -> set[int]:
    """The numbers of the nodes whose types cannot be inferred. All other nodes may omit their types."""
    types = {
        OutputRef(n, k): output.type for n, node in enumerate(graph.nodes) for k, output in enumerate(node.outputs)
    }
    inference = _GraphInference(graph)
    typed_nodes = {
        number
        for number, node in enumerate(graph.nodes)
        if len(node.outputs) != count_outputs(node.op)
        or inference.infer_node(number) != [types[OutputRef(number, k)] for k in range(len(node.outputs))]
    }
    while True:
        holes = tuple(
            node if number in typed_nodes else replace(node, outputs=tuple(replace(o, type=HOLE) for o in node.outputs))
            for number, node in enumerate(graph.nodes)
        )
        inferred_graph = infer_graph_types(replace(graph, nodes=holes))
        mistyped_nodes = {
            n
            for n, node in enumerate(graph.nodes)
            if n not in typed_nodes and node.outputs != inferred_graph.nodes[n].outputs
        }
        if not mistyped_nodes:
            return typed_nodes
        typed_nodes |= mistyped_nodes


class _GraphInference:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.types: dict[OutputRef, LatticeType] = {
            OutputRef(-1, k): argument.type for k, (_, argument) in enumerate(graph.arguments)
        }
        for number, node in enumerate(graph.nodes):
            for k, output in enumerate(node.outputs):
                self.types[OutputRef(number, k)] = None if output.type is HOLE else output.type
        self.worklist = deque(n for n, node in enumerate(graph.nodes) if any(o.type is HOLE for o in node.outputs))
        self.queued_nodes = set(self.worklist)
        self.infer_to_fixpoint()

    def infer_to_fixpoint(self) -> None:
        """Widen types to the fixed point. A cycle that no token enters then gets the default type, and widening
        continues."""
        untyped_nodes = deque(self.worklist)
        while True:
            while self.worklist:
                number = self.worklist.popleft()
                self.queued_nodes.discard(number)
                self.widen_outputs(number, self.infer_node(number))
            while untyped_nodes and None not in [
                self.types[OutputRef(untyped_nodes[0], k)] for k in range(self.output_count(untyped_nodes[0]))
            ]:
                untyped_nodes.popleft()
            if not untyped_nodes:
                return
            number = untyped_nodes.popleft()
            self.widen_outputs(number, [DEFAULT_TYPE] * self.output_count(number))

    def output_count(self, number: int) -> int:
        return len(self.graph.nodes[number].outputs)

    def widen_outputs(self, number: int, types: list[LatticeType]) -> None:
        """Widen the types of a node's outputs, and queue the nodes that they feed."""
        for k, (output, new) in enumerate(zip(self.graph.nodes[number].outputs, types, strict=True)):
            old = self.types[OutputRef(number, k)]
            wider = widen(old, new)
            if output.type is not HOLE or wider == old:
                continue
            self.types[OutputRef(number, k)] = wider
            for edge in output.edges:
                consumer = edge.node
                if (
                    0 <= consumer < len(self.graph.nodes)
                    and consumer not in self.queued_nodes
                    and self.has_holes(self.graph.nodes[consumer])
                ):
                    self.queued_nodes.add(consumer)
                    self.worklist.append(consumer)

    def has_holes(self, node: GraphNode) -> bool:
        return any(output.type is HOLE for output in node.outputs)

    def infer_node(self, number: int) -> list[LatticeType]:
        """A type for each output of a node, from the types of its ports so far."""
        node = self.graph.nodes[number]
        ports = [self.port_type(number, port) for port in range(len(node.ports) - node.has_trigger)]
        width = len(node.outputs)
        if node.op == "merge":
            types = [self.join_types(ports)]
        elif node.op == "live_merge":
            types = [self.join_types(ports), Type(dtypes.int32)]
        elif node.op in ("any_live", "trigger"):
            types = [Type(dtypes.bool)]
        elif node.op == "exit":
            types = [*ports[:1], Type(dtypes.int64)]
        elif node.op in ALL_ROUTING_OPS:
            types = ports[:1] * width
        else:
            types = [infer_op_type(node.op, ports, node.attributes), Type(dtypes.bool)]
        types = types[:width] + [guess_type(ports)] * (width - len(types))
        return [DEFAULT_TYPE if type_ is HOLE else type_ for type_ in types]

    def join_types(self, ports: list[LatticeType]) -> LatticeType:
        widest: LatticeType = None
        for type_ in ports:
            widest = widen(widest, type_)
        return widest if ports else DEFAULT_TYPE

    def port_type(self, number: int, port: int) -> LatticeType:
        """The type of a port so far; HOLE where nothing feeds it."""
        literal = self.graph.nodes[number].ports[port]
        if literal is not None:
            return literal.type
        sources = self.sources.get(Edge(number, port), [])
        return self.join_types([self.types[source] for source in sources]) if sources else HOLE

    def fill_output(self, number: int, k: int, old: NodeOutput) -> NodeOutput:
        return replace(old, type=self.types[OutputRef(number, k)] or DEFAULT_TYPE) if old.type is HOLE else old
