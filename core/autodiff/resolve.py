"""Resolving: where pullbacks are taken of calls of plain functions, these become calls of split variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import Invalid
from ..ops.effect_op import EFFECT_OPS
from ..program.program import BY_ROWS, PULLBACK_TARGET, RECOMPUTE, Function, Node, Operand, Program, Region, Var
from ..types import Type
from ..value import literal
from .activity import ActivityAnalysis
from .cells import check_cell_threads, functions_with_ops
from .custom_rules import remove_rules
from .deferred_reads import check_deferred_reads
from .reverse import AdjointBuilder, Reverser
from .rows import Rows, empty_rows, propagate_rows, row_adjoint_types, to_dense

MAX_PHASES = 64
"""Of one function: derivatives of the sixth order."""


def resolve_pullbacks(program: Program) -> Program:
    """The program with split variants of the functions that pullbacks are taken of.

    What tracing writes is `d... = pullback c a...`, `c` being a call of a function that has no pullback: `a...` are the
    adjoints of all its float results, `d...` those of all its float parameters. Raises Invalid (D1) where something is
    differentiated that cannot be, (D2) where a function would be differentiated without end.
    """
    while True:
        asking = {function.name for function in program.functions if any(_requested_pullbacks(program, function.body))}
        if not asking:
            return remove_rules(program)
        program = _split_callees(program, _ready_functions(program, asking))


def _requested_pullbacks(program: Program, region: Region) -> Iterator[tuple[Node, Node]]:
    """The calls of plain functions, with the pullbacks that are taken of them."""
    calls = {node.name: node for node in region.walk() if node.op == "call"}
    for node in region.walk():
        call = calls.get(node.attribute(PULLBACK_TARGET)) if node.op == "pullback" else None
        if call is not None and program[call.attribute("function")].body.pullback is None:
            yield call, node


def _ready_functions(program: Program, asking: set[str]) -> list[str]:
    """Of the functions that ask for pullbacks those all of whose callees, of the calls they ask about, ask for none."""
    ready = []
    for name in sorted(asking):
        callees = {call.attribute("function") for call, _ in _requested_pullbacks(program, program[name].body)}
        if not any(each.name in asking for callee in callees for each in _reachable_functions(program, callee)):
            ready.append(name)
    if not ready:
        first = program[min(asking)]
        raise Invalid(
            "this takes a gradient of itself, whose order has no end",
            rule="D2",
            where=first.location or first.name,
            hint="a function may call the gradient of another one, or itself, and not both",
        )
    return ready


def _reachable_functions(program: Program, name: str) -> tuple[Function, ...]:
    return replace(program, entry=name).reachable_functions()


@dataclass(frozen=True)
class _PullbackRequest:
    """One pullback, of a call: what it gives, by the positions of parameters, and takes, by those of results."""

    call: Node
    pullback: Node
    parameter_adjoints: Mapping[int, list[Var]]
    """Two of a parameter by rows."""
    result_adjoints: Mapping[int, Operand]
    row_parameters: frozenset[int]
    """The parameters whose adjoints are by rows."""
    required_parameters: tuple[int, ...]
    """Of which something is wanted."""

    @classmethod
    def from_nodes(cls, callee: Function, call: Node, node: Node, used: set[str]) -> _PullbackRequest:
        """`used` are the names of what is wanted at all."""
        rows, rest = frozenset(dict(node.attributes).get(BY_ROWS, ())), iter(node.results)
        adjoints = {
            at: [next(rest) for _ in range(2 if at in rows else 1)]
            for at, variable in enumerate(callee.body.parameters)
            if variable.type.dtype.kind == "f"
        }
        made = [at for at, type_ in enumerate(callee.results) if type_.dtype.kind == "f"]
        given = dict(zip(made, node.inputs, strict=True))
        wanted = tuple(at for at, each in adjoints.items() if any(variable.name in used for variable in each))
        return cls(call, node, adjoints, given, rows, wanted)

    @property
    def nonzero_results(self) -> tuple[int, ...]:
        """Of which an adjoint is given that is not 0."""
        return tuple(at for at, value in self.result_adjoints.items() if not _is_zero(value))


def _split_callees(program: Program, asking: list[str]) -> Program:
    """The program in which the pullbacks of these functions are of split ones."""
    activity, found = ActivityAnalysis(program), {}
    for name in asking:
        used = _used_names(program[name].body)
        for call, node in _requested_pullbacks(program, program[name].body):
            callee = program[call.attribute("function")]
            _check_recomputation(program, callee.name, node)
            asked = found[name, call.name] = _PullbackRequest.from_nodes(callee, call, node, used)
            activity.request_gradient(callee.name, asked.required_parameters, asked.nonzero_results)
    activity.analyze_to_fixpoint()
    callees = [(asked, asked.call.attribute("function")) for asked in found.values()]
    propagate_rows(
        activity, [(name, asked.row_parameters & activity.active_parameters[name]) for asked, name in callees]
    )
    putting = functions_with_ops(program, "put")
    for name in activity.regions:
        for problem in check_cell_threads(program[name], putting):
            raise problem
    for problem in check_deferred_reads(activity, putting):
        raise problem
    taken = {function.name for function in program.functions}
    names: dict[str, str] = {}
    for name in activity.regions:
        names[name] = _fresh_name(f"{name}_split", taken)
    reverser = Reverser(activity, names.__getitem__)
    split = [reverser.reverse_function(program[name]) for name in activity.regions]
    for each in split:
        if len(each.pullbacks) > MAX_PHASES:
            raise Invalid("this is differentiated too often", rule="D2", where=each.location or each.name)
    functions = []
    for function in program.functions:
        if function.name in asking:
            mine = {call: asked for (name, call), asked in found.items() if name == function.name}
            function = replace(
                function, body=_PullbackRewriter(activity, names, mine, function).rewrite_region(function.body)
            )
        functions.append(function)
    return replace(program, functions=(*functions, *split))


def first_effect(functions: Iterable[Function]) -> Node | None:
    """The first node in functions that draws, or acts: computed again, it is not the same, or happens twice."""
    nodes = (each for function in functions for each in function.body.walk())
    return next(
        (
            each
            for each in nodes
            if each.op in EFFECT_OPS and (EFFECT_OPS[each.op].draw or EFFECT_OPS[each.op].resource)
        ),
        None,
    )


def _check_recomputation(program: Program, callee: str, node: Node) -> None:
    """Raises Invalid where a pullback computes a function again, and that would not be the same, or not once."""
    if RECOMPUTE not in dict(node.attributes):
        return
    acting = first_effect(_reachable_functions(program, callee))
    if acting is not None:
        done = "draws" if EFFECT_OPS[acting.op].draw else "acts"
        raise Invalid(
            f"a pullback computes {callee} again, which {done} ({acting.name})",
            rule="D5",
            where=node.location or node.name,
            hint="pull back once, where the call stands; tl.value_and_grad does both in one",
        )


def _fresh_name(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def _used_names(region: Region) -> set[str]:
    """The names that stand as operands or results, anywhere in a region."""
    found = {result for phase in region.phases() for result in phase.results if isinstance(result, str)}
    for phase in region.phases():
        for node in phase.nodes:
            found |= {operand for operand in node.inputs if isinstance(operand, str)}
            for inner in node.regions:
                found |= _used_names(inner)
    return found


def _is_zero(value: Operand) -> bool:
    return not isinstance(value, str) and not np.any(value.value)  # type: ignore[arg-type]  # no handle


class _PullbackRewriter:
    """Rewrites the calls and pullbacks of one function that asks."""

    def __init__(
        self, activity: ActivityAnalysis, names: dict[str, str], asked: dict[str, _PullbackRequest], function: Function
    ) -> None:
        self.activity = activity
        self.split_names = names
        self.requests = asked
        self.requests_by_pullback = {each.pullback.name: each for each in asked.values()}
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
                inner = tuple(map(self.rewrite_region, node.regions))
                self.builder.types = outer
                nodes.append(replace(node, regions=inner))
            else:
                nodes.append(node)
        later = self.rewrite_region(region.pullback) if region.pullback else None
        return replace(region, nodes=tuple(nodes), pullback=later)

    def rewrite_call(self, node: Node) -> Node:
        callee = node.attribute("function")
        is_differentiated = self.active_positions(node)[0] and self.active_positions(node)[1]
        name = self.split_names[callee] if is_differentiated else callee
        return replace(
            node, attributes=tuple((key, name if key == "function" else said) for key, said in node.attributes)
        )

    def active_positions(self, call: Node) -> tuple[list[int], list[int]]:
        callee = call.attribute("function")
        return sorted(self.activity.active_parameters[callee]), sorted(self.activity.active_results[callee])

    def rewrite_pullback(self, asked: _PullbackRequest) -> list[Node]:
        """The pullback with what is active; the other adjoints are zero."""
        callee, (taken, given) = asked.call.attribute("function"), self.active_positions(asked.call)
        taken = taken if given else []
        parameters, rows = self.activity.program[callee].body.parameters, self.activity.regions[callee].row_tables
        wanted, nodes = list[Var](), list[Node]()
        for at in taken:
            results = asked.parameter_adjoints[at]
            if parameters[at].name in rows and at not in asked.row_parameters:
                results = self.row_adjoint_variables(parameters[at].type, results[0].name)
                whole = to_dense(self.builder, Rows(*(each.name for each in results)), asked.call.inputs[at])
                nodes += self.bind_results(asked, at, [whole])
            wanted += results
        if taken:
            of = tuple(pair for pair in asked.pullback.attributes if pair[0] == PULLBACK_TARGET)
            operands = tuple(asked.result_adjoints[at] for at in given)
            nodes = [replace(asked.pullback, inputs=operands, results=tuple(wanted), attributes=of), *nodes]
        for at in set(asked.required_parameters) - set(taken):
            if at in asked.row_parameters:
                nodes += self.bind_results(asked, at, empty_rows(self.builder, asked.call.inputs[at]))
            else:
                nodes.append(_zero_adjoint(asked.parameter_adjoints[at][0], asked.call.inputs[at], asked.pullback))
        return nodes

    def row_adjoint_variables(self, table: Type, of: str) -> list[Var]:
        """The adjoint of a table by rows."""
        made = [Var(self.builder.adjoint_name(of), type_) for type_ in row_adjoint_types(table)]
        self.builder.record_types(made)
        return made

    def bind_results(self, asked: _PullbackRequest, at: int, values: Sequence[Operand]) -> list[Node]:
        """What has been written, such that these values are what is asked for."""
        made, self.builder.nodes = self.builder.nodes, []
        pairs = zip(values, asked.parameter_adjoints[at], strict=True)
        return [*made, *(Node("identity", (value,), (each,), (), (), asked.pullback.location) for value, each in pairs)]


def _zero_adjoint(result: Var, like: Operand, node: Node) -> Node:
    """The adjoint of what nothing depends on."""
    zero = literal(0.0, Type(result.type.dtype))
    return Node("broadcast_like", (zero, like), (result,), (), (), node.location)
