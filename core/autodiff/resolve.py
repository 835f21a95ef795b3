"""Resolving: where pullbacks are taken of calls of plain functions, these become calls of split variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import Invalid
from ..ops.effect_op import ACTS
from ..program.program import AGAIN, BY_ROWS, PULLED, Function, Node, Operand, Program, Region, Var
from ..types import Type
from ..value import literal
from .activity import Activity
from .cells import having, unthreaded
from .custom_rules import without_rules
from .deferred_reads import waiting
from .reverse import Reverser, Writer
from .rows import Rows, dense, no_rows, row_types, spread

MOST_PHASES = 64
"""Of one function: derivatives of the sixth order."""


def resolve(program: Program) -> Program:
    """The program with split variants of the functions that pullbacks are taken of.

    What tracing writes is `d... = pullback c a...`, `c` being a call of a function that has no pullback: `a...` are the
    adjoints of all its float results, `d...` those of all its float parameters. Raises Invalid (D1) where something is
    differentiated that cannot be, (D2) where a function would be differentiated without end.
    """
    while True:
        asking = {function.name for function in program.functions if any(_asked(program, function.body))}
        if not asking:
            return without_rules(program)
        program = _resolved(program, _ready(program, asking))


def _asked(program: Program, region: Region) -> Iterator[tuple[Node, Node]]:
    """The calls of plain functions, with the pullbacks that are taken of them."""
    calls = {node.name: node for node in region.walk() if node.op == "call"}
    for node in region.walk():
        call = calls.get(node.attribute(PULLED)) if node.op == "pullback" else None
        if call is not None and program[call.attribute("function")].body.pullback is None:
            yield call, node


def _ready(program: Program, asking: set[str]) -> list[str]:
    """Of the functions that ask for pullbacks those all of whose callees, of the calls they ask about, ask for none."""
    ready = []
    for name in sorted(asking):
        callees = {call.attribute("function") for call, _ in _asked(program, program[name].body)}
        if not any(each.name in asking for callee in callees for each in _reached(program, callee)):
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


def _reached(program: Program, name: str) -> tuple[Function, ...]:
    return replace(program, entry=name).reachable()


@dataclass(frozen=True)
class _Asked:
    """One pullback, of a call: what it gives, by the positions of parameters, and takes, by those of results."""

    call: Node
    node: Node
    adjoints: Mapping[int, list[Var]]
    """Two of a parameter by rows."""
    given: Mapping[int, Operand]
    rows: frozenset[int]
    """The parameters whose adjoints are by rows."""
    parameters: tuple[int, ...]
    """Of which something is wanted."""

    @classmethod
    def of(cls, callee: Function, call: Node, node: Node, used: set[str]) -> _Asked:
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
    def results(self) -> tuple[int, ...]:
        """Of which an adjoint is given that is not 0."""
        return tuple(at for at, value in self.given.items() if not _is_zero(value))


def _resolved(program: Program, asking: list[str]) -> Program:
    """The program in which the pullbacks of these functions are of split ones."""
    activity, found = Activity(program), {}
    for name in asking:
        used = _used(program[name].body)
        for call, node in _asked(program, program[name].body):
            callee = program[call.attribute("function")]
            _check_again(program, callee.name, node)
            asked = found[name, call.name] = _Asked.of(callee, call, node, used)
            activity.want(callee.name, asked.parameters, asked.results)
    activity.settle()
    callees = [(asked, asked.call.attribute("function")) for asked in found.values()]
    spread(activity, [(name, asked.rows & activity.parameters[name]) for asked, name in callees])
    putting = having(program, "put")
    for name in activity.areas:
        for problem in unthreaded(program[name], putting):
            raise problem
    for problem in waiting(activity, putting):
        raise problem
    taken = {function.name for function in program.functions}
    names: dict[str, str] = {}
    for name in activity.areas:
        names[name] = _fresh(f"{name}_split", taken)
    reverser = Reverser(activity, names.__getitem__)
    split = [reverser.function(program[name]) for name in activity.areas]
    for each in split:
        if len(each.pullbacks) > MOST_PHASES:
            raise Invalid("this is differentiated too often", rule="D2", where=each.location or each.name)
    functions = []
    for function in program.functions:
        if function.name in asking:
            mine = {call: asked for (name, call), asked in found.items() if name == function.name}
            function = replace(function, body=_Site(activity, names, mine, function).region(function.body))
        functions.append(function)
    return replace(program, functions=(*functions, *split))


def first_acting(functions: Iterable[Function]) -> Node | None:
    """The first node in functions that draws, or acts: computed again, it is not the same, or happens twice."""
    nodes = (each for function in functions for each in function.body.walk())
    return next((each for each in nodes if each.op in ACTS and (ACTS[each.op].draw or ACTS[each.op].resource)), None)


def _check_again(program: Program, callee: str, node: Node) -> None:
    """Raises Invalid where a pullback computes a function again, and that would not be the same, or not once."""
    if AGAIN not in dict(node.attributes):
        return
    acting = first_acting(_reached(program, callee))
    if acting is not None:
        raise Invalid(
            f"a pullback computes {callee} again, which {'draws' if ACTS[acting.op].draw else 'acts'} ({acting.name})",
            rule="D5",
            where=node.location or node.name,
            hint="pull back once, where the call stands; tl.value_and_grad does both in one",
        )


def _fresh(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def _used(region: Region) -> set[str]:
    """The names that stand as operands or results, anywhere in a region."""
    found = {result for phase in region.phases() for result in phase.results if isinstance(result, str)}
    for phase in region.phases():
        for node in phase.nodes:
            found |= {operand for operand in node.inputs if isinstance(operand, str)}
            for inner in node.regions:
                found |= _used(inner)
    return found


def _is_zero(value: Operand) -> bool:
    return not isinstance(value, str) and not np.any(value.value)  # type: ignore[arg-type]  # no handle


class _Site:
    """Rewrites the calls and pullbacks of one function that asks."""

    def __init__(self, activity: Activity, names: dict[str, str], asked: dict[str, _Asked], function: Function) -> None:
        self.activity = activity
        self.names = names
        self.asked = asked
        self.pullbacks = {each.node.name: each for each in asked.values()}
        self.writer = Writer({var.name for node in function.body.walk() for var in node.results})

    def region(self, region: Region) -> Region:
        nodes: list[Node] = []
        self.writer.know(region.parameters)
        for node in region.nodes:
            self.writer.know(node.results)
            if node.name in self.pullbacks:
                nodes += self.pullback(self.pullbacks[node.name])
            elif node.name in self.asked and node.op == "call":
                nodes.append(self.call(node))
            elif node.regions:
                outer = self.writer.types
                self.writer.types = {}
                inner = tuple(map(self.region, node.regions))
                self.writer.types = outer
                nodes.append(replace(node, regions=inner))
            else:
                nodes.append(node)
        later = self.region(region.pullback) if region.pullback else None
        return replace(region, nodes=tuple(nodes), pullback=later)

    def call(self, node: Node) -> Node:
        callee = node.attribute("function")
        is_differentiated = self.positions(node)[0] and self.positions(node)[1]
        name = self.names[callee] if is_differentiated else callee
        return replace(
            node, attributes=tuple((key, name if key == "function" else said) for key, said in node.attributes)
        )

    def positions(self, call: Node) -> tuple[list[int], list[int]]:
        callee = call.attribute("function")
        return sorted(self.activity.parameters[callee]), sorted(self.activity.results[callee])

    def pullback(self, asked: _Asked) -> list[Node]:
        """The pullback with what is active; the other adjoints are zero."""
        callee, (taken, given) = asked.call.attribute("function"), self.positions(asked.call)
        taken = taken if given else []
        parameters, rows = self.activity.program[callee].body.parameters, self.activity.areas[callee].rows
        wanted, nodes = list[Var](), list[Node]()
        for at in taken:
            results = asked.adjoints[at]
            if parameters[at].name in rows and at not in asked.rows:
                results = self.pair(parameters[at].type, results[0].name)
                whole = dense(self.writer, Rows(*(each.name for each in results)), asked.call.inputs[at])
                nodes += self.written(asked, at, [whole])
            wanted += results
        if taken:
            of = tuple(pair for pair in asked.node.attributes if pair[0] == PULLED)
            operands = tuple(asked.given[at] for at in given)
            nodes = [replace(asked.node, inputs=operands, results=tuple(wanted), attributes=of), *nodes]
        for at in set(asked.parameters) - set(taken):
            if at in asked.rows:
                nodes += self.written(asked, at, no_rows(self.writer, asked.call.inputs[at]))
            else:
                nodes.append(_zero(asked.adjoints[at][0], asked.call.inputs[at], asked.node))
        return nodes

    def pair(self, table: Type, of: str) -> list[Var]:
        """The adjoint of a table by rows."""
        made = [Var(self.writer.adjoint(of), type_) for type_ in row_types(table)]
        self.writer.know(made)
        return made

    def written(self, asked: _Asked, at: int, values: Sequence[Operand]) -> list[Node]:
        """What has been written, such that these values are what is asked for."""
        made, self.writer.nodes = self.writer.nodes, []
        pairs = zip(values, asked.adjoints[at], strict=True)
        return [*made, *(Node("identity", (value,), (each,), (), (), asked.node.location) for value, each in pairs)]


def _zero(result: Var, like: Operand, node: Node) -> Node:
    """The adjoint of what nothing depends on."""
    zero = literal(0.0, Type(result.type.dtype))
    return Node("broadcast_like", (zero, like), (result,), (), (), node.location)
