"""Resolving pullbacks: calls of plain functions whose pullback is taken become calls of split variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import Invalid
from ..ops.effects import EFFECT_OPS
from ..program.program import (
    BY_ROWS,
    PULLBACK_TARGET,
    RECOMPUTE,
    FunctionDef,
    Node,
    Operand,
    Program,
    Region,
    Var,
    unique_name,
    used_names,
)
from ..types import Type
from ..value import literal
from .activity import ActivityAnalysis, rule_parameters
from .cells import check_cell_threads, check_deferred_reads, functions_with_ops
from .reverse import AdjointBuilder, Reverser
from .rows import Rows, empty_rows, propagate_rows, row_adjoint_types, to_dense

MAX_PHASES = 64
"""The most phases of one function: derivatives up to the sixth order."""


def resolve_pullbacks(program: Program) -> Program:
    """The program with split variants of the functions whose pullbacks are taken.

    Tracing emits `d... = pullback c a...`, where `c` is a call of a function without a pullback, `a...` are the
    adjoints of all its float results, and `d...` those of all its float parameters. Raises Invalid where an op on the
    way has no gradient (D1), where the order of derivatives has no bound (D2), and where D4 to D6 are broken.
    """
    while True:
        pending_names = {
            function.name for function in program.functions if any(_requested_pullbacks(program, function.body))
        }
        if not pending_names:
            return remove_rules(program)
        program = _split_callees(program, _ready_functions(program, pending_names))


def _requested_pullbacks(program: Program, region: Region) -> Iterator[tuple[Node, Node]]:
    """The calls of plain functions whose pullbacks are taken, each with its pullback node."""
    calls = {node.name: node for node in region.walk() if node.op == "call"}
    for node in region.walk():
        call = calls.get(node.attribute(PULLBACK_TARGET)) if node.op == "pullback" else None
        if call is not None and program[call.attribute("function")].body.pullback is None:
            yield call, node


def _ready_functions(program: Program, pending_names: set[str]) -> list[str]:
    """The pending functions that can be rewritten now: no pending function is reachable from the callees that they
    differentiate."""
    ready_names = []
    for name in sorted(pending_names):
        callees = {call.attribute("function") for call, _ in _requested_pullbacks(program, program[name].body)}
        if not any(
            function.name in pending_names for callee in callees for function in program.reachable_functions(callee)
        ):
            ready_names.append(name)
    if not ready_names:
        unready = program[min(pending_names)]
        raise Invalid(
            "a function takes the gradient of itself, so the order of derivatives is unbounded",
            rule="D2",
            where=unready.location or unready.name,
            hint="let a function call itself, or take a gradient, but not both",
        )
    return ready_names


@dataclass(frozen=True)
class _PullbackRequest:
    """The pullback of one call: the adjoints that it returns, by parameter, and takes, by result."""

    call: Node
    pullback: Node
    parameter_adjoints: Mapping[int, list[Var]]
    """One variable for each parameter, or two where the adjoint is by rows."""
    result_adjoints: Mapping[int, Operand]
    row_parameters: frozenset[int]
    """The positions of the parameters whose adjoints are by rows."""
    required_parameters: tuple[int, ...]
    """The positions of the parameters whose adjoints are used."""

    @classmethod
    def from_nodes(cls, callee: FunctionDef, call: Node, node: Node, used_values: set[str]) -> _PullbackRequest:
        """The request of a pullback `node`; `used_values` are the names that any node or result uses."""
        row_parameters, results = frozenset(dict(node.attributes).get(BY_ROWS, ())), iter(node.results)
        adjoints = {
            position: [next(results) for _ in range(2 if position in row_parameters else 1)]
            for position, variable in enumerate(callee.body.parameters)
            if variable.type.dtype.kind == "f"
        }
        float_results = [position for position, type_ in enumerate(callee.results) if type_.dtype.kind == "f"]
        result_adjoints = dict(zip(float_results, node.inputs, strict=True))
        required_parameters = tuple(
            position
            for position, variables in adjoints.items()
            if any(variable.name in used_values for variable in variables)
        )
        return cls(call, node, adjoints, result_adjoints, row_parameters, required_parameters)

    @property
    def nonzero_results(self) -> tuple[int, ...]:
        """The positions of the results whose adjoint is not the literal 0."""
        return tuple(position for position, value in self.result_adjoints.items() if not _is_zero(value))


def _split_callees(program: Program, requesting_names: list[str]) -> Program:
    """The program in which these functions take the pullbacks of split callees."""
    analysis, requests = ActivityAnalysis(program), {}
    for name in requesting_names:
        used_values = set[str]().union(*map(used_names, program[name].body.walk_regions()))
        for call, node in _requested_pullbacks(program, program[name].body):
            callee = program[call.attribute("function")]
            _check_recomputation(program, callee.name, node)
            request = requests[name, call.name] = _PullbackRequest.from_nodes(callee, call, node, used_values)
            analysis.request_gradient(callee.name, request.required_parameters, request.nonzero_results)
    analysis.analyze_to_fixpoint()
    callees = [(request, request.call.attribute("function")) for request in requests.values()]
    propagate_rows(
        analysis, [(name, request.row_parameters & analysis.active_parameters[name]) for request, name in callees]
    )
    functions_with_puts = functions_with_ops(program, "put")
    for name in analysis.regions:
        for problem in check_cell_threads(program[name], functions_with_puts):
            raise problem
    for problem in check_deferred_reads(analysis, functions_with_puts):
        raise problem
    used_function_names = {function.name for function in program.functions}
    names: dict[str, str] = {}
    for name in analysis.regions:
        names[name] = unique_name("", f"{name}_split", used_function_names)
        used_function_names.add(names[name])
    reverser = Reverser(analysis, names.__getitem__)
    split_functions = [reverser.reverse_function(program[name]) for name in analysis.regions]
    for split_function in split_functions:
        if len(split_function.pullback_result_types) > MAX_PHASES:
            raise Invalid(
                "a function is differentiated more than six times",
                rule="D2",
                where=split_function.location or split_function.name,
            )
    functions = []
    for function in program.functions:
        if function.name in requesting_names:
            function_requests = {call: request for (name, call), request in requests.items() if name == function.name}
            function = replace(
                function,
                body=_PullbackRewriter(analysis, names, function_requests, function).rewrite_region(function.body),
            )
        functions.append(function)
    return replace(program, functions=(*functions, *split_functions))


def first_effect(functions: Iterable[FunctionDef]) -> Node | None:
    """The first node in functions that draws random numbers or has an effect: it must not be computed twice."""
    nodes = (node for function in functions for node in function.body.walk())
    return next(
        (
            node
            for node in nodes
            if node.op in EFFECT_OPS and (EFFECT_OPS[node.op].draw or EFFECT_OPS[node.op].resource)
        ),
        None,
    )


def _check_recomputation(program: Program, callee: str, node: Node) -> None:
    """Raises Invalid (D5) where a pullback recomputes a function that draws or has effects."""
    if RECOMPUTE not in dict(node.attributes):
        return
    effect = first_effect(program.reachable_functions(callee))
    if effect is not None:
        verb = "draws random numbers" if EFFECT_OPS[effect.op].draw else "has effects"
        raise Invalid(
            f"a pullback recomputes {callee}, which {verb} ({effect.name})",
            rule="D5",
            where=node.location or node.name,
            hint="use the pullback once, in the region of the call, as tl.value_and_grad does",
        )


def _is_zero(value: Operand) -> bool:
    return not isinstance(value, str) and not np.any(value.value)  # type: ignore[arg-type]  # no handle


class _PullbackRewriter:
    """Rewrites the calls and pullbacks of one function that takes pullbacks."""

    def __init__(
        self,
        analysis: ActivityAnalysis,
        split_names: dict[str, str],
        requests: dict[str, _PullbackRequest],
        function: FunctionDef,
    ) -> None:
        self.analysis = analysis
        self.split_names = split_names
        self.requests = requests
        self.requests_by_pullback = {request.pullback.name: request for request in requests.values()}
        self.builder = AdjointBuilder({var.name for node in function.body.walk() for var in node.results})

    def rewrite_region(self, region: Region) -> Region:
        nodes: list[Node] = []
        self.builder.record_types(region.parameters)
        for node in region.nodes:
            self.builder.record_types(node.results)
            if node.name in self.requests_by_pullback:
                nodes += self.rewrite_pullback(self.requests_by_pullback[node.name])
            elif node.name in self.requests and node.op == "call":
                nodes.append(self.rewrite_call(node))
            elif node.regions:
                outer = self.builder.types
                self.builder.types = {}
                regions = tuple(map(self.rewrite_region, node.regions))
                self.builder.types = outer
                nodes.append(replace(node, regions=regions))
            else:
                nodes.append(node)
        pullback = self.rewrite_region(region.pullback) if region.pullback else None
        return replace(region, nodes=tuple(nodes), pullback=pullback)

    def rewrite_call(self, node: Node) -> Node:
        callee = node.attribute("function")
        is_differentiated = self.active_positions(node)[0] and self.active_positions(node)[1]
        name = self.split_names[callee] if is_differentiated else callee
        return replace(
            node, attributes=tuple((key, name if key == "function" else value) for key, value in node.attributes)
        )

    def active_positions(self, call: Node) -> tuple[list[int], list[int]]:
        callee = call.attribute("function")
        return sorted(self.analysis.active_parameters[callee]), sorted(self.analysis.active_results[callee])

    def rewrite_pullback(self, request: _PullbackRequest) -> list[Node]:
        """The pullback reduced to active adjoints; the other adjoints are zero."""
        callee = request.call.attribute("function")
        active_parameters, active_results = self.active_positions(request.call)
        active_parameters = active_parameters if active_results else []
        parameters, rows = self.analysis.program[callee].body.parameters, self.analysis.regions[callee].row_tables
        pullback_results, nodes = list[Var](), list[Node]()
        for position in active_parameters:
            results = request.parameter_adjoints[position]
            if parameters[position].name in rows and position not in request.row_parameters:
                results = self.row_adjoint_variables(parameters[position].type, results[0].name)
                dense = to_dense(
                    self.builder, Rows(*(variable.name for variable in results)), request.call.inputs[position]
                )
                nodes += self.bind_results(request, position, [dense])
            pullback_results += results
        if active_parameters:
            target = tuple(pair for pair in request.pullback.attributes if pair[0] == PULLBACK_TARGET)
            operands = tuple(request.result_adjoints[position] for position in active_results)
            nodes = [
                replace(request.pullback, inputs=operands, results=tuple(pullback_results), attributes=target),
                *nodes,
            ]
        for position in set(request.required_parameters) - set(active_parameters):
            if position in request.row_parameters:
                nodes += self.bind_results(request, position, empty_rows(self.builder, request.call.inputs[position]))
            else:
                nodes.append(
                    _zero_adjoint(
                        request.parameter_adjoints[position][0], request.call.inputs[position], request.pullback
                    )
                )
        return nodes

    def row_adjoint_variables(self, table: Type, name: str) -> list[Var]:
        """New variables for the adjoint of a table by rows."""
        variables = [Var(self.builder.adjoint_name(name), type_) for type_ in row_adjoint_types(table)]
        self.builder.record_types(variables)
        return variables

    def bind_results(self, request: _PullbackRequest, position: int, values: Sequence[Operand]) -> list[Node]:
        """The nodes built so far, and identities that give these values the names of a parameter's adjoints."""
        nodes, self.builder.nodes = self.builder.nodes, []
        pairs = zip(values, request.parameter_adjoints[position], strict=True)
        return [
            *nodes,
            *(Node("identity", (value,), (variable,), (), (), request.pullback.location) for value, variable in pairs),
        ]


def _zero_adjoint(result: Var, operand: Operand, node: Node) -> Node:
    """A zero adjoint, for a parameter on which nothing depends."""
    zero = literal(0.0, Type(result.type.dtype))
    return Node("broadcast_like", (zero, operand), (result,), (), (), node.location)


def remove_rules(program: Program) -> Program:
    """The program without gradient rules. A call of a function with a rule that was not differentiated becomes
    identities."""
    undifferentiated_names = {
        function.name for function in program.functions if function.gradient_rule and function.body.pullback is None
    }
    functions = (
        replace(function, gradient_rule=None, body=_bypass_idle_calls(program, function.body, undifferentiated_names))
        for function in program.functions
    )
    result = replace(program, functions=tuple(functions))
    return replace(result, functions=result.reachable_functions())


def _bypass_idle_calls(program: Program, region: Region, undifferentiated_names: set[str]) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        if node.op == "call" and node.attribute("function") in undifferentiated_names:
            input_count = len(rule_parameters(program, program[node.attribute("function")]).inputs)
            nodes += [
                Node("identity", (node.inputs[input_count + position],), (result,), (), (), node.location)
                for position, result in enumerate(node.results)
            ]
        else:
            regions = tuple(
                _bypass_idle_calls(program, inner_region, undifferentiated_names) for inner_region in node.regions
            )
            nodes.append(replace(node, regions=regions) if regions else node)
    pullback = _bypass_idle_calls(program, region.pullback, undifferentiated_names) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=pullback)
