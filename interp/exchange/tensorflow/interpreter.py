"""The interpretation of TensorFlow's graphs: their ops applied, while a function is traced, to symbolic values.

A value is an array of NumPy if it is a constant, a symbolic value, or one of `values.py`. A frame becomes a while loop,
the Merges of one predicate become a conditional (`control.py` finds both), and a function of the graph becomes a
function of the program.
"""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.errors import Malformed
from ....core.frontend.array_api.common import type_of
from ....core.frontend.eager.variable import Variable
from ....core.frontend.trace.annotation import DerivedFunction
from ....core.frontend.trace.pytree import leaf_type
from ....core.frontend.trace.source_location import user_location
from ....core.types import Type
from ...function.function import Function
from ...machine.dead_tokens import missing_value
from ..folding import fold, is_small_constant
from ..foreign_rows import as_results, call_row
from ..functions import CapturedConstants, function_spec, identifier, unique_identifiers
from ..refusals import tl, unsupported
from .control import SWITCHES, BranchGroup, ControlAnalysis, Gate, Gates, LoopFrame
from .graph import Endpoint, ForeignGraph, ForeignNode, GraphLibrary, read_function
from .listing import GraphListing, describe_endpoint, node_scopes
from .loops import DEFAULT_PARALLEL_ITERATIONS, CarriedLoop, evaluate_branches, evaluate_loop
from .operations import OPERATIONS, TensorFlowOperation
from .tensors import RESOURCE, VARIANT, FunctionName, StringArray, read_tensor
from .values import VariableHandle, as_predicate, is_array, is_constant

MAX_DEPTH = 40
"""The maximal nesting of branches, of loops, and of functions that are not calls of the program."""


MAX_REPETITIONS = 2**12
"""The number of nodes that one trace may evaluate beyond four times the nodes of the graph: a branch or a loop
evaluates the nodes of its function each time, so functions in functions may have a number of nodes that is exponential
in their size."""


class DeadOutput:
    """Stands for an output without a value: it is dead, or nothing uses it."""


DEAD_OUTPUT = DeadOutput()


@dataclass(frozen=True, slots=True)
class GraphScope:
    """The evaluation of a graph in one region: the values of its nodes by name, with those of the regions around it,
    and the live outputs of Switches, by their predicates."""

    graph: ForeignGraph
    values: ChainMap[str, Sequence[Any]]
    choices: Mapping[Endpoint, int]

    def inner_scope(self, values: dict[str, Sequence[Any]], choices: Mapping[Endpoint, int]) -> GraphScope:
        """The scope of a region in this one."""
        return GraphScope(self.graph, self.values.new_child(values), {**self.choices, **choices})


@dataclass(frozen=True, slots=True)
class TensorFlowCall:
    """A node under evaluation, for rows that need more than operands and attributes."""

    interpreter: GraphInterpreter
    node: ForeignNode
    graph: ForeignGraph


class GraphInterpreter:
    """Evaluates a graph and its functions. Large constants are the same objects in each trace."""

    def __init__(self, graph: ForeignGraph, library: GraphLibrary, captures: Mapping[str, Any], name: str) -> None:
        """`captures` are the values of variables, and of parameters that callers do not pass, by the names of their
        nodes; None stands for a resource that is not a variable."""
        self.graph, self.library = graph, library
        self.graphs: dict[str, ForeignGraph] = {}
        self.analyses: dict[ForeignGraph, ControlAnalysis] = {}
        self.effects: dict[ForeignGraph, set[str]] = {}
        self.constants: dict[ForeignNode, Any] = {}
        self.captured_constants = CapturedConstants()
        self.functions: dict[tuple[Any, ...], Function] = {}
        self.depth = 0
        self.evaluation_count = 0
        """How many nodes the current trace has evaluated."""
        resources = [argument.node for argument in graph.arguments if argument.element == RESOURCE]
        self.captures = {
            name: self.captured_value(name, value) for name, value in {**dict.fromkeys(resources), **captures}.items()
        }
        self.listing = GraphListing([graph, *self.called_graphs()], name)

    def called_graphs(self) -> list[ForeignGraph]:
        """The bodies of the functions that the graph needs, in the order in which they are called."""
        order: dict[str, ForeignGraph] = {}
        pending = [self.graph]
        while pending:
            graph = pending.pop(0)
            for name in self.called_functions(graph):
                if name not in order:
                    order[name] = self.function_graph(name)
                    pending.append(order[name])
        return list(order.values())

    def called_functions(self, graph: ForeignGraph) -> list[str]:
        """The names of the functions that a graph's nodes call."""
        names = []
        for name in graph.reachable_nodes([*(result.node for result in graph.results), *graph.control_results]):
            names += called_names(graph.nodes[name])
        return [name for name in dict.fromkeys(names) if name in self.library.definitions]

    def function_graph(self, name: str) -> ForeignGraph:
        """The body of a function; raises Malformed where there is none."""
        if name not in self.library.definitions:
            raise Malformed(f"the graph has no function {name!r}", where=user_location())
        if name not in self.graphs:
            self.graphs[name] = read_function(self.library.definitions[name], self.library)
        return self.graphs[name]

    def analysis(self, graph: ForeignGraph) -> ControlAnalysis:
        """The conditions and loops of a graph."""
        if graph not in self.analyses:
            self.analyses[graph] = ControlAnalysis(graph)
        return self.analyses[graph]

    def effectful_nodes(self, graph: ForeignGraph) -> set[str]:
        """The nodes of a graph that have effects, or depend on one that has."""
        if graph not in self.effects:
            followers: dict[str, list[str]] = {name: [] for name in graph.nodes}
            for node in graph.nodes.values():
                for name in node.predecessors:
                    followers[name].append(node.name)
            pending = [node.name for node in graph.nodes.values() if self.has_effect(node)]
            effectful = set(pending)
            while pending:
                unvisited = set(followers[pending.pop()]) - effectful
                effectful |= unvisited
                pending += unvisited
            self.effects[graph] = effectful
        return self.effects[graph]

    def has_effect(self, node: ForeignNode) -> bool:
        """Whether a node does more than compute its values."""
        visited: set[str] = set()
        pending = [node]
        while pending:
            current = pending.pop()
            row = OPERATIONS.get(current.op)
            if row is not None and row.has_effect:
                return True
            called = {name for name in called_names(current) if name in self.library.definitions} - visited
            visited |= called
            pending += [inner for name in called for inner in self.function_graph(name).nodes.values()]
        return False

    def entry(self, name: str, wrap: Callable[[list[Any]], Any]) -> Function:
        """The function that the graph computes; `wrap` makes its result of the values of the outputs."""
        arguments = [argument for argument in self.graph.arguments if argument.node not in self.captures]
        types = [leaf_type(Type(argument.element.dtype, argument.shape)) for argument in arguments]
        names = unique_identifiers(argument.node for argument in arguments)

        def evaluate(*operands: Any) -> Any:
            self.evaluation_count = 0
            values = {argument.node: operand for argument, operand in zip(arguments, operands, strict=True)}
            operands = tuple(
                values.get(argument.node, self.captures.get(argument.node)) for argument in self.graph.arguments
            )
            return wrap(self.evaluate_graph(self.graph, operands))

        return self.make_function(name, self.graph, evaluate, list(zip(names, types, strict=True)))

    def make_function(
        self, name: str, graph: ForeignGraph, evaluate: Callable[..., Any], parameters: Sequence[tuple[str, Any]]
    ) -> Function:
        """A function of this name, defined where a graph is."""
        python = DerivedFunction(name, self.listing.definition(self.listing.line_of(graph)), evaluate)
        spec = function_spec(python, parameters)
        return Function(python, lambda _: spec)

    def call_function(self, name: str, operands: Sequence[Any]) -> list[Any]:
        """The values that a function of the graph returns, by a call of the program. One that takes or returns lists
        of arrays, or returns nothing, is evaluated in place."""
        graph = self.function_graph(name)
        kinds = [int(argument.element) for argument in graph.arguments]
        results = [position for position, endpoint in enumerate(graph.results) if not self.is_handle(graph, endpoint)]
        variants = [result.type for result in self.library.signatures[name].output_arg]
        has_only_arrays = all(is_array(operand) or isinstance(operand, VariableHandle) for operand in operands)
        if VARIANT in (*kinds, *variants) or not results or not has_only_arrays:
            return self.evaluate_graph(graph, operands)
        handles = {k: operand for k, operand in enumerate(operands) if isinstance(operand, VariableHandle)}
        key = (name, *((position, id(handle)) for position, handle in handles.items()))
        if key not in self.functions:
            array_positions = [position for position in range(len(operands)) if position not in handles]
            names = unique_identifiers(graph.arguments[position].node for position in array_positions)

            def evaluate(*arguments: Any) -> Any:
                values = {**handles, **dict(zip(array_positions, arguments, strict=True))}
                outputs = self.evaluate_graph(graph, [values[position] for position in range(len(operands))])
                arrays = tuple(outputs[position] for position in results)
                return arrays if len(arrays) > 1 else arrays[0]

            self.functions[key] = self.make_function(
                identifier(user_function_name(name), "function"),
                graph,
                evaluate,
                [(parameter, None) for parameter in names],
            )
        arrays = [operand for position, operand in enumerate(operands) if position not in handles]
        returned_values = self.functions[key](*arrays)
        returned_values = returned_values if len(results) > 1 else (returned_values,)
        outputs = [handles.get(self.argument_position(graph, endpoint)) for endpoint in graph.results]
        for position, value in zip(results, returned_values, strict=True):
            outputs[position] = value
        return outputs

    def argument_position(self, graph: ForeignGraph, endpoint: Endpoint) -> int:
        """The position of the parameter that an output passes on; -1 if it passes on none."""
        root = self.analysis(graph).root(endpoint).node
        return next((k for k, argument in enumerate(graph.arguments) if argument.node == root), -1)

    def is_handle(self, graph: ForeignGraph, endpoint: Endpoint) -> bool:
        """Whether an output passes on a parameter that is a variable."""
        position = self.argument_position(graph, endpoint)
        return position >= 0 and graph.arguments[position].element == RESOURCE

    def evaluate_graph(
        self, graph: ForeignGraph, operands: Sequence[Any], needed_positions: Collection[int] | None = None
    ) -> list[Any]:
        """The results of a graph for the values of its parameters; None for those whose positions are not
        in `needed_positions`."""
        if len(operands) != len(graph.arguments):
            raise Malformed(f"function {graph.name} takes the wrong number of values", required=len(graph.arguments),
                            got=len(operands))  # fmt: skip
        values: dict[str, Sequence[Any]] = {
            argument.node: (operand,) for argument, operand in zip(graph.arguments, operands, strict=True)
        }
        scope = GraphScope(graph, ChainMap(values), {})
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise unsupported("limit", "functions nest too deep", required=f"{MAX_DEPTH} at most", got=graph.name)
            controls = self.effectful_nodes(graph).intersection(graph.control_results)
            positions_by_gates: dict[Gates, list[int]] = {}
            for position in range(len(graph.results)) if needed_positions is None else needed_positions:
                gates = self.result_gates(graph, graph.results[position])
                positions_by_gates.setdefault(gates, []).append(position)
            always_live = positions_by_gates.get(frozenset(), ())
            self.evaluate(scope, [*(graph.results[position].node for position in always_live), *controls])
            results: list[Any] = [None] * len(graph.results)
            for gates, positions in positions_by_gates.items():
                live_values = self.evaluate_results(scope, self.analysis(graph).sort_gates(gates), positions)
                for position, value in zip(positions, live_values, strict=True):
                    results[position] = value
            return results
        finally:
            self.depth -= 1

    def result_gates(self, graph: ForeignGraph, endpoint: Endpoint) -> Gates:
        """The conditions under which a result is live. One with effects, or in a loop, must be live, as an error says
        where it is evaluated."""
        analysis = self.analysis(graph)
        gates = analysis.gates(endpoint)
        is_refused = endpoint.node in self.effectful_nodes(graph) or any(
            gate.predicate.node in analysis.frames for gate in gates
        )
        return frozenset() if is_refused else gates

    def evaluate_results(self, scope: GraphScope, gates: Sequence[Gate], positions: Sequence[int]) -> list[Any]:
        """The results of a graph at these positions, live under these conditions, outermost first. Where one of them
        does not hold, they trap, as TensorFlow's executor does when it must return a dead value."""
        graph, analysis = scope.graph, self.analysis(scope.graph)
        endpoints = [graph.results[position] for position in positions]
        if not gates:
            self.evaluate(scope, [endpoint.node for endpoint in endpoints])
            return [self.value(scope, endpoint) for endpoint in endpoints]
        gate, *inner_gates = gates
        self.evaluate(scope, [gate.predicate.node])
        switch, predicate = analysis.switch_of(endpoints[0], gate), self.value(scope, gate.predicate)
        message = f"result {positions[0]} has no value: {describe_dead_output(switch, gate)}"
        message += "" if endpoints[0].node == switch.name else f", and so is {describe_endpoint(endpoints[0])}"
        message += f" (TensorFlow: {missing_value(positions[0])})"
        live_values: list[Any] = []

        def evaluate_live() -> list[Any]:
            inner = scope.inner_scope({}, {gate.predicate: gate.port})
            live_values[:] = self.evaluate_results(inner, inner_gates, positions)
            return live_values

        def evaluate_dead() -> list[Any]:
            tl.assert_(np.bool_(False), message)
            return [zero_of(value) for value in live_values]

        def choose() -> list[Any]:
            is_live = choice_of(switch, predicate, gate.port)
            if not is_constant(is_live):
                return evaluate_branches(is_live, [evaluate_dead, evaluate_live])
            if not is_live:
                raise Malformed(message, where=user_location())
            return evaluate_live()

        position = self.listing.positions[graph.name, switch.name]
        return self.listing.call_at(position, [f"<{switch.op}>"], choose)  # type: ignore[no-any-return]

    def evaluate(self, scope: GraphScope, names: Sequence[str]) -> None:
        """Evaluate nodes, and before them those on which they depend."""
        pending, opened = list(names)[::-1], set()
        while pending:
            name = pending[-1]
            if name in scope.values:
                pending.pop()
                continue
            pending_dependencies = [
                dependency for dependency in self.dependencies(scope, name) if dependency not in scope.values
            ]
            if not pending_dependencies:
                pending.pop()
                self.evaluate_at(scope, scope.graph.nodes[name])
            elif name in opened:
                raise Malformed("the graph has a cycle that is not a loop", got=f"node {name}")
            else:
                opened.add(name)
                pending += pending_dependencies[::-1]

    def controls(self, graph: ForeignGraph, names: Iterable[str]) -> list[str]:
        """The nodes, among these, that have effects or depend on one: only their order matters."""
        effects = self.effectful_nodes(graph)
        return [name for name in names if name in effects]

    def dependencies(self, scope: GraphScope, name: str) -> list[str]:
        """The nodes that must be evaluated before a node; for a node of a loop or conditional, before all of that."""
        graph, node = scope.graph, scope.graph.nodes[name]
        analysis = self.analysis(graph)
        if name in analysis.frames:
            enters = frame_enters(graph, analysis.frames[name])
            data = [endpoint.node for enter in enters for endpoint in enter.inputs]
            return [*data, *self.controls(graph, (control for enter in enters for control in enter.controls))]
        if node.op == "Merge":
            return self.group_dependencies(scope, name)
        if node.op in SWITCHES and analysis.root(node.inputs[1]) in scope.choices:
            return [node.inputs[0].node, *self.controls(graph, node.controls)]
        return [*(endpoint.node for endpoint in node.inputs), *self.controls(graph, node.controls)]

    def group_dependencies(self, scope: GraphScope, name: str) -> list[str]:
        """The nodes of the predicate of a conditional, and of the outer values that its branches use."""
        graph, analysis = scope.graph, self.analysis(scope.graph)
        group = analysis.group(name)
        outer, visited = [group.predicate.node], set(group.merges)
        pending = list(group.merges)
        while pending:
            node = graph.nodes[pending.pop()]
            for endpoint in node.inputs:
                if any(gate.predicate == group.predicate for gate in analysis.gates(endpoint)):
                    if endpoint.node not in visited:
                        visited.add(endpoint.node)
                        pending.append(endpoint.node)
                else:
                    outer.append(endpoint.node)
            for control in self.controls(graph, node.controls):
                if not any(gate.predicate == group.predicate for gate in analysis.node_gates(control)):
                    outer.append(control)
                elif control not in visited:
                    visited.add(control)
                    pending.append(control)
        return list(dict.fromkeys(outer))

    def value(self, scope: GraphScope, endpoint: Endpoint) -> Any:
        """The value of an output that has been evaluated; raises Unsupported where it is dead."""
        outputs = scope.values[endpoint.node]
        if endpoint.port >= len(outputs):
            raise Malformed(f"node {endpoint.node} has no output {endpoint.port}", where=user_location())
        value = outputs[endpoint.port]
        if isinstance(value, DeadOutput):
            raise unsupported(
                "construct", f"output {endpoint.port} of {endpoint.node} is dead, and so is the node that uses it"
            )
        return value

    def evaluate_at(self, scope: GraphScope, node: ForeignNode) -> None:
        """Evaluate a node in its line of the listing."""
        self.evaluation_count += 1
        limit = 4 * len(self.listing.positions) + MAX_REPETITIONS
        if self.evaluation_count > limit:
            message = "the functions of branches and loops repeat too many nodes"
            raise unsupported("limit", message, required=f"{limit:,} at most", got=scope.graph.name)
        evaluate = functools.partial(self.evaluate_node, scope, node)
        position = self.listing.positions.get((scope.graph.name, node.name))
        results = evaluate() if position is None else self.listing.call_at(position, node_scopes(node), evaluate)
        scope.values.update(results)

    def evaluate_node(self, scope: GraphScope, node: ForeignNode) -> dict[str, Sequence[Any]]:
        """The values of a node, and of the other nodes that belong to the same loop or conditional."""
        analysis = self.analysis(scope.graph)
        if node.name in analysis.frames:
            return self.evaluate_frame(scope, analysis.frames[node.name])
        match node.op:
            case "Merge":
                return self.evaluate_group(scope, node.name)
            case "Switch" | "_SwitchN":
                return {node.name: self.evaluate_switch(scope, node)}
            case "Enter":
                message = f"Enter {node.name} gives a value for the first iteration only"
                raise unsupported("construct", message, required="a constant, or a Merge behind it")
            case "NextIteration" | "Exit" | "LoopCond":
                raise Malformed(f"{node.op} {node.name} belongs to no frame", where=user_location())
            case "Const":
                return {node.name: (self.constant(node),)}
            case "NoOp" | "ControlTrigger":
                return {node.name: ()}
        operands = [self.value(scope, endpoint) for endpoint in node.inputs]
        if node.op in self.library.definitions:
            return {node.name: self.call_function(node.op, operands)}
        row = OPERATIONS.get(node.op)
        if row is None:
            raise unsupported("op", f"tagloom has no op {node.op} of TensorFlow", got=f"node {node.name}")
        return {node.name: self.apply_row(row, TensorFlowCall(self, node, scope.graph), operands)}

    def evaluate_switch(self, scope: GraphScope, node: ForeignNode) -> Sequence[Any]:
        """The outputs of a Switch whose live output is known."""
        predicate = self.analysis(scope.graph).root(node.inputs[1])
        count = output_count(node)
        choice = scope.choices.get(predicate)
        if choice is None:
            value = self.value(scope, node.inputs[1])
            if not is_constant(value):
                hint = "return the output of a Merge of both outputs"
                message = f"an output of {node.op} {node.name} is dead for some values of {predicate.node}"
                raise unsupported("construct", f"{message}, and no Merge follows", hint=hint)
            choice = chosen_output(value, count)
        return [self.value(scope, node.inputs[0]) if port == choice else DEAD_OUTPUT for port in range(count)]

    def evaluate_group(self, scope: GraphScope, name: str) -> dict[str, Sequence[Any]]:
        """The values of the Merges of a conditional."""
        graph, group = scope.graph, self.analysis(scope.graph).group(name)
        predicate = self.value(scope, group.predicate)
        ports = sorted({port for merge in group.merges for port in group.sides[merge]})
        if not ports or ports != list(range(len(ports))):
            raise unsupported("construct", f"Merge {name} does not take all outputs of a Switch")
        used_merges = [merge for merge in group.merges if graph.used_endpoints & {Endpoint(merge), Endpoint(merge, 1)}]
        if not used_merges and self.effectful_nodes(graph).isdisjoint(group.merges):
            return {merge: (np.bool_(True), np.int32(0)) for merge in group.merges}
        sides = [functools.partial(self.evaluate_side, scope, group, used_merges, port) for port in ports]
        if is_constant(predicate):
            results = sides[chosen_output(predicate, len(sides))]()
        else:
            results = evaluate_branches(predicate, sides)
        outputs: dict[str, Sequence[Any]] = dict.fromkeys(group.merges, (DEAD_OUTPUT, DEAD_OUTPUT))
        values, indices = iter(results[: len(used_merges)]), iter(results[len(used_merges) :])
        for merge in used_merges:
            outputs[merge] = (
                next(values),
                next(indices) if Endpoint(merge, 1) in graph.used_endpoints else DEAD_OUTPUT,
            )
        return outputs

    def evaluate_side(self, scope: GraphScope, group: BranchGroup, used_merges: Sequence[str], port: int) -> list[Any]:
        """The inputs that the Merges in use take from one side of a conditional, then the positions of these inputs,
        for the Merges whose second output is used. It runs the effects of the side."""
        graph, analysis = scope.graph, self.analysis(scope.graph)
        inner = scope.inner_scope({}, {group.predicate: port})
        inputs = {merge: graph.nodes[merge].inputs[group.sides[merge][port]] for merge in group.merges}
        sources = self.controls(graph, [endpoint.node for endpoint in inputs.values()])
        gate = Gate(group.predicate, port)
        effects = [
            control
            for merge in group.merges
            for control in self.controls(graph, graph.nodes[merge].controls)
            if gate in analysis.node_gates(control)
        ]
        self.evaluate(inner, [*(inputs[merge].node for merge in used_merges), *sources, *effects])
        positions = [
            np.int32(group.sides[merge][port]) for merge in used_merges if Endpoint(merge, 1) in graph.used_endpoints
        ]
        return [*(self.value(inner, inputs[merge]) for merge in used_merges), *positions]

    def evaluate_frame(self, scope: GraphScope, frame: LoopFrame) -> dict[str, Sequence[Any]]:
        """The values of the Exits of a frame."""
        graph, analysis = scope.graph, self.analysis(scope.graph)
        if any(merge in scope.values for merge in frame.merges):
            raise Malformed(f"a value leaves frame {frame.name!r} in its own body", where=user_location())
        gate = Gate(Endpoint(frame.condition), frame.body_port)
        for merge in frame.merges:
            if gate not in analysis.gates(frame.next_values[merge]):
                message = f"the NextIteration of {merge} does not depend on LoopCond {frame.condition}"
                raise Malformed(message, where=user_location(), required="a value of the body of the loop")
        constants = {
            enter.name: (self.value(scope, enter.inputs[0]),)
            for enter in frame_enters(graph, frame)
            if enter.attribute("is_constant", False)
        }
        evaluation = FrameEvaluation(self, scope, frame, constants)
        finals = evaluate_loop(evaluation.carried_loop())
        return {
            name: (final,)
            for merge, final in zip(frame.merges, finals, strict=True)
            for name in evaluation.exits(merge)
        }

    def constant(self, node: ForeignNode) -> Any:
        """The value of a Const. A large one is a concrete array, which the program captures by name."""
        if node not in self.constants:
            if "value" not in node.messages:
                raise Malformed(f"constant {node.name} has no value", where=user_location())
            self.constants[node] = self.captured_value(node.name, read_tensor(node.messages["value"].tensor))
        return self.constants[node]

    def captured_value(self, name: str, value: Any) -> Any:
        """A value that stands outside the program: a large array becomes a concrete one, a variable a handle."""
        if value is None or isinstance(value, Variable):
            return VariableHandle(name, value)
        if isinstance(value, StringArray):
            return value
        return self.captured_constants.admit(value, identifier(short_name(name), "constant"))

    def apply_row(self, row: TensorFlowOperation, call: TensorFlowCall, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an op by its row; computed at once if they depend on small constants alone."""
        node, keywords = call.node, {}
        for name in node.messages:
            if name in row.attributes:
                keywords[name] = node.attribute(name)
            elif not is_ignorable(row, name, node):
                message = f"attribute {name!r} of {node.op} is not imported"
                raise unsupported("attribute", message, got=f"node {node.name}")
        for position, operand in enumerate(operands):
            if not row.takes_values and not is_array(operand):
                message = f"{node.op} does not take {type(operand).__name__} here"
                raise unsupported("dtype", message, got=f"node {node.name}")
            if position in row.static and not is_constant(operand):
                message = f"operand {position} of {node.op} must be a constant"
                raise unsupported("shape", message, got=f"node {node.name}")
        if row.takes_node:
            keywords["node"] = call

        def compute() -> Sequence[Any]:
            return as_results(call_row(row, operands, keywords))

        is_pure = not (row.has_effect or row.takes_values or row.takes_node)
        is_folded = is_pure and operands and all(map(is_small_constant, operands))
        return fold(compute) if is_folded else compute()


def is_ignorable(row: TensorFlowOperation, name: str, node: ForeignNode) -> bool:
    """Whether a row may ignore an attribute, because it is a dtype or number of operands, a note of TensorFlow's own,
    or empty."""
    message = node.messages[name]
    if name.startswith("_") or name in row.ignored_attributes or "type" in message or not message.values:
        return True
    is_types = "list" in message and set(message.list.values) <= {"type"}
    return is_types or name in ("N", "output_shapes", "shape", "parallel_iterations")


def called_names(node: ForeignNode) -> list[str]:
    """The names of the functions that a node calls."""
    called = [
        node.attribute(name) for name in ("f", "body", "cond", "then_branch", "else_branch") if name in node.messages
    ]
    branches = node.attribute("branches", []) if "branches" in node.messages else []
    return [node.op, *(name for name in (*called, *branches) if isinstance(name, FunctionName))]


@dataclass(frozen=True, slots=True)
class FrameEvaluation:
    """The evaluation of a frame as a loop: one variable for each of its Merges, in their order."""

    interpreter: GraphInterpreter
    scope: GraphScope
    frame: LoopFrame
    constants: Mapping[str, Sequence[Any]]
    """The values of the Enters that are the same in each iteration."""

    @property
    def graph(self) -> ForeignGraph:
        return self.scope.graph

    def carried_loop(self) -> CarriedLoop:
        """The loop, for `evaluate_loop`."""
        graph, frame, nodes = self.graph, self.frame, self.graph.nodes
        start_inputs = [nodes[frame.enters[merge]].inputs[0] for merge in frame.merges]
        condition_input = nodes[frame.condition].inputs[0]
        has_used_exit = [
            any(Endpoint(name) in graph.used_endpoints for name in self.exits(merge)) for merge in frame.merges
        ]
        first_enter = frame_enters(graph, frame)[0]
        return CarriedLoop(
            names=unique_identifiers(short_name(endpoint.node) for endpoint in start_inputs),
            starts=[self.interpreter.value(self.scope, endpoint) for endpoint in start_inputs],
            sources=[frame_sources(graph, frame, [frame.next_values[merge].node]) for merge in frame.merges],
            condition_sources=frame_sources(graph, frame, [condition_input.node]),
            invariants=[k for k, merge in enumerate(frame.merges) if is_passed_on(graph, frame, merge)],
            result_positions=[k for k, is_used in enumerate(has_used_exit) if is_used],
            has_effects=not self.interpreter.effectful_nodes(graph).isdisjoint([frame.condition, *frame.next_values]),
            parallel_iterations=first_enter.integer("parallel_iterations", DEFAULT_PARALLEL_ITERATIONS),
            test=self.test,
            advance=self.advance,
        )

    def exits(self, merge: str) -> list[str]:
        """The Exits by which a variable leaves the loop."""
        switches = self.frame.switches[merge]
        return [
            consumer.name for switch in switches for consumer in self.graph.consumers[switch] if consumer.op == "Exit"
        ]

    def test(self, values: Sequence[Any]) -> Any:
        """Whether another iteration follows, for the values of all variables."""
        condition, interpreter = self.graph.nodes[self.frame.condition], self.interpreter
        inner = self.scope.inner_scope(self.start_values(values), {})
        interpreter.evaluate(inner, [condition.inputs[0].node, *interpreter.controls(self.graph, condition.controls)])
        predicate = interpreter.value(inner, condition.inputs[0])
        return predicate if self.frame.body_port == 1 else tl.logical_not(predicate)

    def advance(self, values: Sequence[Any], needed_positions: Collection[int]) -> list[Any]:
        """The next values of the variables at these positions, for the values of all; None for the others."""
        frame, interpreter = self.frame, self.interpreter
        values_at_start = self.start_values(values)
        for merge, value in zip(frame.merges, values, strict=True):
            outputs = (value, DEAD_OUTPUT) if frame.body_port == 0 else (DEAD_OUTPUT, value)
            values_at_start |= dict.fromkeys(frame.switches[merge], outputs)
        values_at_start[frame.condition] = (np.asarray(frame.body_port == 1),)
        inner = self.scope.inner_scope(values_at_start, {Endpoint(frame.condition): frame.body_port})
        next_values = [frame.next_values[merge] for merge in frame.merges]
        controls = [
            control
            for merge in frame.merges
            for control in interpreter.controls(self.graph, frame.next_controls[merge])
        ]
        interpreter.evaluate(inner, [*(next_values[k].node for k in needed_positions), *controls])
        return [interpreter.value(inner, next_values[k]) if k in needed_positions else None for k in range(len(values))]

    def start_values(self, values: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """The outputs of the Enters and Merges at the start of an iteration."""
        return {
            **self.constants,
            **{merge: (value, DEAD_OUTPUT) for merge, value in zip(self.frame.merges, values, strict=True)},
        }


def frame_enters(graph: ForeignGraph, frame: LoopFrame) -> list[ForeignNode]:
    """The Enters of a frame."""
    nodes = graph.nodes.values()
    return [node for node in nodes if node.op == "Enter" and node.attribute("frame_name") == frame.name]


def frame_sources(graph: ForeignGraph, frame: LoopFrame, names: Sequence[str]) -> set[int]:
    """The positions of the loop variables on whose values in the same iteration nodes depend."""
    positions = {merge: position for position, merge in enumerate(frame.merges)}
    reached, pending = set(names), list(names)
    while pending:
        current = pending.pop()
        if current not in positions:
            unvisited = {endpoint.node for endpoint in graph.nodes[current].inputs} - reached
            reached |= unvisited
            pending += unvisited
    return {positions[name] for name in reached if name in positions}


def is_passed_on(graph: ForeignGraph, frame: LoopFrame, merge: str) -> bool:
    """Whether the body passes a loop variable on unchanged."""
    return graph.source(frame.next_values[merge], ("Identity",)).node in frame.switches[merge]


def choice_of(switch: ForeignNode, predicate: Any, port: int) -> Any:
    """Whether a predicate chooses this output of a Switch: a bool, constant or symbolic."""
    count = output_count(switch)
    if is_constant(predicate):
        return np.asarray(chosen_output(predicate, count) == port)
    if switch.op == "Switch":
        is_true = as_predicate(predicate)
        return is_true if port else tl.logical_not(is_true)
    index, last = tl.astype(predicate, tl.int64), np.int64(count - 1)
    is_outside = tl.logical_or(tl.less(index, np.int64(0)), tl.greater(index, last))
    return tl.equal(tl.where(is_outside, last, index), np.int64(port))


def output_count(switch: ForeignNode) -> int:
    """The number of outputs of a Switch."""
    return 2 if switch.op == "Switch" else switch.integer("num_outs", 0)


def describe_dead_output(switch: ForeignNode, gate: Gate) -> str:
    """Why an output of a Switch is dead, in words."""
    value = ("true", "false")[gate.port] if switch.op == "Switch" else "another number"
    return f"{gate.predicate.node} is {value}, so output {gate.port} of {switch.op} {switch.name} is dead"


def zero_of(value: Any) -> Any:
    """A zero in place of a value that the program does not compute, of its type as far as that is known."""
    if not is_array(value):
        raise unsupported("construct", "a result that may be dead is a list of arrays, a variable or a text")
    type_ = type_of(value)
    sizes = type_.shape if type_.shape is not None and None not in type_.shape else ()
    return np.zeros([size for size in sizes if size is not None], type_.dtype.numpy)


def chosen_output(value: Any, count: int) -> int:
    """The output of a Switch that a constant chooses; a number that is out of range chooses the last."""
    number = int(np.asarray(value).reshape(()))
    return number if 0 <= number < count else count - 1


def user_function_name(name: str) -> str:
    """The name of the user's function, without the parts that TensorFlow adds to it.

    >>> user_function_name("__inference_search_442"), user_function_name("double")
    ('search', 'double')
    """
    plain_name = name.removeprefix("__inference_").removeprefix("__forward_")
    return plain_name if plain_name == name else plain_name.rstrip("0123456789").rstrip("_")


def short_name(name: str) -> str:
    """The last part of a node's name."""
    return name.rpartition("/")[2]
