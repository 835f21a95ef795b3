"""Graphs of TensorFlow as its executor runs them: node by node, with dead tokens.

The importer of `interpreter.py` finds the loops and conditionals of a graph. Here each node stays a node, so a graph
that does not consist of these has a meaning, too, even if it has races or dead results. S18 says how the nodes fire.

An ordinary op is traced by itself, and its nodes take the place of the node. A control edge is a port: `after` waits
for it. A constant Enter becomes a variable that goes from one iteration to the next. `any_live` says whether a frame
has another iteration, which is so if a NextIteration is live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ....core import dtypes
from ....core.errors import Malformed
from ....core.frontend.trace.pytree import leaf_type
from ....core.frontend.trace.source_location import user_location
from ....core.graph.graph import Graph, GraphBuilder, OutputRef
from ....core.ops.op import OPS
from ....core.program.program import PARALLEL_ITERATIONS, Location
from ....core.tag import Site
from ....core.types import Type
from ....core.value import Literal, literal
from ..foreign_rows import as_results
from ..functions import identifier, unique_identifiers
from ..refusals import tl, unsupported
from .control import frame_name
from .graph import ARGUMENT, Endpoint, ForeignGraph, ForeignNode, GraphLibrary
from .interpreter import GraphInterpreter, TensorFlowCall
from .loops import DEFAULT_PARALLEL_ITERATIONS
from .operations import OPERATIONS

Source: TypeAlias = OutputRef | Literal
"""The source of a port."""
BOOL = Type(dtypes.bool)
LIVE_LITERAL = literal(True)
"""The output of a node that has no value, such as a NoOp."""


def executor_graph(graph: ForeignGraph, library: GraphLibrary) -> Graph:
    """The graph with dead tokens of a graph. Raises Usage for ops that tagloom lacks, or that have effects."""
    return _ExecutorGraphBuilder(graph, library).build()


class _ExecutorGraphBuilder:
    """Adds the nodes of a graph in an order in which each follows its inputs, except in loops."""

    def __init__(self, graph: ForeignGraph, library: GraphLibrary) -> None:
        self.graph, self.name = graph, identifier(graph.name, "graph")
        self.interpreter = GraphInterpreter(graph, library, {}, self.name)
        self.builder = GraphBuilder(self.name)
        self.start = self.builder.argument("start", BOOL)
        """Fires the nodes whose operands are constants."""
        self.location: Location | None = None
        """The line of the node that is added."""
        names = unique_identifiers(argument.node for argument in graph.arguments)
        self.sources: dict[str, Sequence[Source]] = {
            argument.node: [self.builder.argument(name, Type(argument.element.dtype, argument.shape))]
            for name, argument in zip(names, graph.arguments, strict=True)
        }
        """The outputs of each node."""
        self.frame_paths: dict[str, tuple[str, ...]] = {argument.node: () for argument in graph.arguments}
        """The names of the frames around the outputs of each node, outermost first."""
        self.switch_controls: dict[str, OutputRef] = {}
        """By the name of a Switch, the token that is dead where the Switch is."""
        self.nodes = sort_nodes(graph)
        self.bounds = {
            frame_name(node): ((PARALLEL_ITERATIONS, node.integer("parallel_iterations", DEFAULT_PARALLEL_ITERATIONS)),)
            for node in self.nodes
            if node.op == "Enter"
        }
        """The attributes of the next_iterations of each frame."""
        merges = (node for node in self.nodes if is_loop_merge(graph, node))
        self.loop_frames = {frame_name(graph.nodes[enter]) for merge in merges for enter in enters_of(graph, merge)}
        """The frames that are loops."""
        self.next_values: dict[str, list[OutputRef]] = {}
        """The inputs of the NextIterations of each frame."""
        self.next_iterations: dict[str, OutputRef] = {}
        self.loop_merges: list[tuple[ForeignNode, OutputRef]] = []
        """The Merges of loop variables."""
        self.invariants: list[tuple[str, str, OutputRef]] = []
        """The frame of each constant Enter, its name, and its value in each iteration."""
        self.loop_outputs: list[tuple[str, OutputRef]] = []
        """The frame and the output of each Exit and NextIteration of a loop; the second port of its node says whether
        the frame has another iteration."""

    def build(self) -> Graph:
        for node in self.nodes:
            if node.name not in self.sources:
                self.add_node(node)
        self.close_loops()
        results = [self.token(self.value(endpoint)) for endpoint in self.graph.results]
        graph = self.builder.build(results, hidden_count=1)
        is_used = self.builder.has_edges(self.start)
        return graph if is_used else replace(graph, arguments=graph.arguments[1:], hidden_count=0)

    # Ports

    def value(self, endpoint: Endpoint) -> Source:
        """The source that an endpoint stands for. Raises Malformed if its node has no such output."""
        outputs = self.sources[endpoint.node]
        if endpoint.port >= len(outputs):
            raise Malformed(f"node {endpoint.node} has no output {endpoint.port}")
        return outputs[endpoint.port]

    def type_of(self, source: Source) -> Type:
        return source.type if isinstance(source, Literal) else self.builder.type(source)

    def token(self, source: Source) -> OutputRef:
        """A source that sends tokens: a constant is sent when the run starts."""
        return self.emit("identity", "constant", [source])[0] if isinstance(source, Literal) else source

    def emit(
        self, op: str, name: str, inputs: Sequence[Source], types: Sequence[Type] | None = None, **details: Any
    ) -> list[OutputRef]:
        """Add a node; it has the type of its first input if `types` is None."""
        output_types = [self.type_of(inputs[0])] if types is None else types
        trigger = self.start if all(isinstance(source, Literal) for source in inputs) else None
        return self.builder.node(op, name, inputs, output_types, trigger=trigger, location=self.location, **details)

    def controls(self, node: ForeignNode) -> list[OutputRef]:
        """The tokens that are dead where a node that this one must follow is."""
        sources = (self.control_source(name) for name in node.controls)
        return [source for source in sources if source is not None]

    def control_source(self, name: str) -> OutputRef | None:
        """A token that is dead where a node is; None if the node never is. A control edge comes from a node, so one
        from a Switch is dead only if the Switch is."""
        node, outputs = self.graph.nodes[name], self.sources[name]
        if node.op == ARGUMENT:
            return None
        if node.op == "Switch":
            if name not in self.switch_controls:
                inputs = [self.value(endpoint) for endpoint in reversed(node.inputs)]
                self.switch_controls[name] = self.emit("after", f"{node_name(name)}.control", inputs)[0]
            return self.switch_controls[name]
        source = outputs[0]
        return None if isinstance(source, Literal) else source

    def follow(self, node: ForeignNode, sources: list[Source]) -> list[Source]:
        """The inputs of a node, the first of them after the nodes that it must follow."""
        controls = self.controls(node)
        if not controls or not sources:
            return sources
        return [self.emit("after", f"{node_name(node.name)}.after", [sources[0], *controls])[0], *sources[1:]]

    # Nodes

    def add_node(self, node: ForeignNode) -> None:
        position = self.interpreter.listing.positions[self.graph.name, node.name]
        self.location = self.interpreter.listing.call_at(position, [node.name], user_location)
        name, self.frame_paths[node.name] = node_name(node.name), self.find_frame_path(node)
        match node.op:
            case "Merge":
                self.sources[node.name] = self.add_merge(node, name)
            case "NextIteration":
                inputs = self.follow(node, [self.value(node.inputs[0])])
                self.add_next_iteration(node, name, self.token(inputs[0]))
            case "Const":
                constant = literal(np.asarray(self.interpreter.constant(node)))
                controls = self.controls(node)
                self.sources[node.name] = self.emit("after", name, [constant, *controls]) if controls else [constant]
            case "NoOp":
                controls = self.controls(node)
                self.sources[node.name] = (
                    self.emit("after", name, [LIVE_LITERAL, *controls]) if controls else [LIVE_LITERAL]
                )
            case "ControlTrigger":
                if self.frame_paths[node.name]:
                    message = "a ControlTrigger in a frame is not imported"
                    raise unsupported("construct", message, got=f"node {node.name}")
                self.sources[node.name] = self.emit("trigger", name, self.controls(node) or [LIVE_LITERAL], [BOOL])
            case _:
                inputs = self.follow(node, [self.value(endpoint) for endpoint in node.inputs])
                self.sources[node.name] = self.add_operation(node, name, inputs)

    def find_frame_path(self, node: ForeignNode) -> tuple[str, ...]:
        """The frames around the outputs of a node."""
        paths = [self.frame_paths[name] for name in node.predecessors if name in self.frame_paths]
        path = max(paths, key=len, default=())
        if node.op == "Enter":
            return (*path, frame_name(node))
        if node.op == "Exit":
            if not path:
                raise Malformed(f"Exit {node.name} is in no frame")
            return path[:-1]
        return path

    def add_operation(self, node: ForeignNode, name: str, inputs: list[Source]) -> Sequence[Source]:
        """The outputs of a node with these inputs."""
        match node.op:
            case "Switch":
                return self.emit("dead_switch", name, inputs, [self.type_of(inputs[0])] * 2)
            case "Enter":
                return self.add_enter(node, name, self.token(inputs[0]))
            case "Exit":
                return [self.add_exit(node, name, self.token(inputs[0]))]
            case "Identity" | "LoopCond" | "StopGradient":
                return inputs if isinstance(inputs[0], Literal) else self.emit("identity", name, inputs[:1])
        return self.trace_operation(node, name, inputs)

    def site(self, frame: str) -> Site:
        return Site(self.name, node_name(frame), "loop")

    def add_enter(self, node: ForeignNode, name: str, value: OutputRef) -> list[OutputRef]:
        frame = frame_name(node)
        outputs = self.emit("enter", name, [value], site=self.site(frame))
        if not node.attribute("is_constant", False) or frame not in self.loop_frames:
            return outputs
        merge = self.emit("merge", f"{name}.merge", outputs)
        self.invariants.append((frame, name, merge[0]))
        return merge

    def add_merge(self, node: ForeignNode, name: str) -> list[OutputRef]:
        """A Merge. The Merge of a loop variable passes on every token."""
        if is_loop_merge(self.graph, node):
            merge = self.emit(
                "merge", name, [self.token(self.sources[enter][0]) for enter in enters_of(self.graph, node)]
            )
            self.loop_merges.append((node, merge[0]))
            return merge
        sources = [self.value(endpoint) for endpoint in node.inputs]
        type_ = self.type_of(sources[0])
        for source in sources[1:]:
            type_ = type_.join(self.type_of(source)) or type_
        return self.emit("live_merge", name, sources, [type_, Type(dtypes.int32)])

    def trace_operation(self, node: ForeignNode, name: str, inputs: Sequence[Source]) -> Sequence[Source]:
        """The nodes of an ordinary op, traced by itself."""
        row = OPERATIONS.get(node.op)
        if row is None or row.has_effect or row.takes_values or row.takes_node:
            message = f"{node.op} does not run with dead tokens"
            raise unsupported("op", message, required="an op of TensorFlow that only computes", got=f"node {node.name}")
        call = TensorFlowCall(self.interpreter, node, self.graph)
        positions = [position for position, source in enumerate(inputs) if not isinstance(source, Literal)]
        results: list[Any] = []

        def evaluate(*symbols: Any) -> Any:
            operands: list[Any] = [
                np.asarray(source.value) if isinstance(source, Literal) else None for source in inputs
            ]
            for position, symbol in zip(positions, symbols, strict=True):
                operands[position] = symbol
            results[:] = as_results(self.interpreter.apply_row(row, call, operands))
            return tuple(map(tl.asarray, results)) if len(results) > 1 else tl.asarray(results[0])

        types = [leaf_type(self.type_of(inputs[position])) for position in positions]
        parameters = [(f"x{position}", type_) for position, type_ in zip(positions, types, strict=True)]
        traced_graph = self.interpreter.make_function("operation", self.graph, evaluate, parameters).graph
        if not positions and all(isinstance(value, np.ndarray) for value in results):
            return [literal(value) for value in results]
        return self.splice(traced_graph, node, name, [inputs[position] for position in positions])

    def splice(self, traced_graph: Graph, node: ForeignNode, name: str, inputs: Sequence[Source]) -> list[OutputRef]:
        """Add the nodes of a traced op; returns its outputs."""
        hidden = traced_graph.hidden_count
        computing = [number for number, traced_node in enumerate(traced_graph.nodes) if traced_node.op in OPS]
        entries = [number for number, traced_node in enumerate(traced_graph.nodes) if traced_node.op == "merge"]
        hidden_count = len(traced_graph.nodes) - len(computing) - len(traced_graph.results)
        if (
            len(traced_graph.arguments) - hidden != len(inputs)
            or len(entries) != hidden_count
            or len(entries) > len(inputs)
        ):
            message = f"{node.op} does not run with dead tokens: it has branches, loops or large constants"
            raise unsupported("construct", message, got=f"node {node.name}")
        first = next((source for source in inputs if not isinstance(source, Literal)), self.start)
        outputs: dict[OutputRef, Source] = {OutputRef(-1, number): first for number in range(hidden)}
        outputs |= {OutputRef(-1, hidden + position): source for position, source in enumerate(inputs)}
        sources = traced_graph.sources()

        def port(number: int, position: int) -> Source:
            constant = traced_graph.nodes[number].ports[position]
            return outputs[sources[number, position][0]] if constant is None else constant  # type: ignore[index]

        outputs |= {OutputRef(number, 0): port(number, 0) for number in entries}
        for number in computing:
            traced_node = traced_graph.nodes[number]
            ports: list[Source] = [port(number, position) for position in range(len(traced_node.ports))]
            trigger = self.token(ports.pop()) if traced_node.has_trigger else None
            own_name = name if len(computing) == 1 else f"{name}.{traced_node.name}"
            refs = self.builder.node(
                traced_node.op, own_name, ports, [output.type for output in traced_node.outputs], trigger=trigger,
                attributes=traced_node.attributes, location=self.location,
            )  # fmt: skip
            outputs |= {OutputRef(number, position): ref for position, ref in enumerate(refs)}
        return [self.token(port(number, 0)) for number in traced_graph.results]

    # Loops

    def add_next_iteration(self, node: ForeignNode, name: str, value: OutputRef) -> None:
        path = self.frame_paths[node.name]
        if not path:
            raise Malformed(f"NextIteration {node.name} is in no frame")
        self.next_values.setdefault(path[-1], []).append(value)
        self.next_iterations[node.name] = self.emit_next_iteration(name, value, path[-1])
        self.sources[node.name] = [self.next_iterations[node.name]]

    def emit_next_iteration(self, name: str, value: OutputRef, frame: str) -> OutputRef:
        """A next_iteration, whose second port is connected later."""
        types, site = [self.type_of(value)], self.site(frame)
        result = self.builder.node(
            "next_iteration", name, [value, None], types, site=site, attributes=self.bounds[frame],
            location=self.location,
        )[0]  # fmt: skip
        self.loop_outputs.append((frame, result))
        return result

    def add_exit(self, node: ForeignNode, name: str, value: OutputRef) -> OutputRef:
        frame = self.frame_paths[node.inputs[0].node][-1]
        ports: list[Source | None] = [value, None] if frame in self.loop_frames else [value]
        types, site = [self.type_of(value), Type(dtypes.int64)], self.site(frame)
        result = self.builder.node("exit", name, ports, types, site=site, location=self.location)[0]
        if frame in self.loop_frames:
            self.loop_outputs.append((frame, result))
        return result

    def close_loops(self) -> None:
        """Connect the values of the end of an iteration: the NextIterations, and whether there is another iteration."""
        for node, merge in self.loop_merges:
            for endpoint in node.inputs:
                if endpoint.node in self.next_iterations:
                    self.builder.connect_new_port(self.next_iterations[endpoint.node], merge.node)
        self.location = None
        for frame, name, merge in self.invariants:
            self.builder.connect_new_port(self.emit_next_iteration(f"{name}.next", merge, frame), merge.node)
        continuations = {
            frame: self.emit("any_live", f"{node_name(frame)}.continues", values, [BOOL])[0]
            for frame, values in self.next_values.items()
        }
        for frame, output in self.loop_outputs:
            self.builder.connect(continuations[frame], output.node, 1)


def sort_nodes(graph: ForeignGraph) -> list[ForeignNode]:
    """The nodes on which results depend, each after those on which it depends; a Merge need not follow its
    NextIterations. Raises Malformed if there is another cycle."""
    order: dict[str, ForeignNode] = {}
    opened: set[str] = set()
    pending = sorted(graph.reachable_nodes([endpoint.node for endpoint in graph.results]))
    while pending:
        node = graph.nodes[pending[-1]]
        pending_predecessors = [name for name in iteration_predecessors(graph, node) if name not in order]
        if node.name in order or not pending_predecessors:
            order.setdefault(node.name, node)
            pending.pop()
        elif node.name in opened:
            raise Malformed("the graph has a cycle that is not a loop", got=f"node {node.name}")
        else:
            opened.add(node.name)
            pending += pending_predecessors
    return list(order.values())


def iteration_predecessors(graph: ForeignGraph, node: ForeignNode) -> list[str]:
    """The nodes that a node depends on in its own iteration."""
    is_merge = node.op == "Merge"
    return [name for name in node.predecessors if not (is_merge and graph.nodes[name].op == "NextIteration")]


def is_loop_merge(graph: ForeignGraph, node: ForeignNode) -> bool:
    """Whether a node is the Merge of a loop variable."""
    return node.op == "Merge" and any(graph.nodes[source.node].op == "NextIteration" for source in node.inputs)


def enters_of(graph: ForeignGraph, merge: ForeignNode) -> list[str]:
    """The Enters that lead to the Merge of a loop variable. Raises Malformed if something else does."""
    names = [source.node for source in merge.inputs if graph.nodes[source.node].op != "NextIteration"]
    if not names or any(graph.nodes[name].op != "Enter" for name in names):
        ops = ", ".join(graph.nodes[name].op for name in names)
        raise Malformed(f"Merge {merge.name} does not begin a loop variable", required="an Enter", got=ops)
    return names


def node_name(name: str) -> str:
    """The name of a node of TensorFlow as tagloom writes it: parts with points between.

    >>> node_name("while/Merge_1"), node_name("while/cond/2")
    ('n_while.Merge_1', 'n_while.cond.n_2')
    """
    return ".".join(identifier(part, "n") for part in name.split("/") if part) or "n"
