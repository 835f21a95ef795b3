"""Inferring types: of a program's nodes from what they consume, of a graph's outputs by a fixed point.

A type that is to be inferred is HOLE; whatever else stands there is kept. Where no type can be inferred, because
the program or the graph breaks a rule, a likely one stands in: this module complains of nothing, `validate` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, zip_longest
from typing import TypeAlias

from .. import dtypes
from ..errors import Invalid
from ..ops.effect_op import ROWS, Act, Row
from ..types import HandleType, Type, element_type, handle_type
from ..value import Literal
from .program import PULLED, Function, Node, Operand, Program, Region, Var

HOLE = Type(dtypes.bool, (-1,))
"""Stands, by identity, where a type is to be inferred."""

Pullbacks: TypeAlias = Mapping[str, Sequence[Sequence[Type]]]
"""What functions return in further phases."""

Known: TypeAlias = Type | None
"""A type so far: None is the bottom, below all types, where nothing has come yet."""

STAND_IN = Type(dtypes.int64)


def fill(program: Program) -> Program:
    """The program with a type for every HOLE; Invalid where a function's results cannot be inferred, since it never
    returns.

    Results of functions are a fixed point: from the bottom up by `join`, so that it ends.
    """
    results = dict(_results(program))
    return replace(
        program, functions=tuple(_Walk(results, each, pullbacks(program)).filled(each) for each in program.functions)
    )


def made(program: Program) -> Iterator[list[Type]]:
    """For every node, in program order, the types that its results would be given, were each of them a HOLE and all
    other types as they are."""
    results = {function.name: list(function.results) for function in program.functions}
    for function in program.functions:
        yield from (
            [type_ or STAND_IN for type_ in types] for types in _Walk(results, function, pullbacks(program)).made
        )


def _results(program: Program) -> Iterator[tuple[str, list[Known]]]:
    """The types of every function's results."""
    found: dict[str, list[Known]] = {function.name: list(function.results) for function in program.functions}
    open_ = {f.name: f for f in program.functions if any(type_ is HOLE for type_ in f.results)}
    callers: dict[str, list[str]] = {name: [] for name in open_}
    for name, function in open_.items():
        found[name] = [None] * len(function.body.results)
        for callee in _callees(function) & open_.keys():
            callers[callee].append(name)
    waiting, further = dict.fromkeys(reversed(open_)), pullbacks(program)
    while waiting:
        name, _ = waiting.popitem()
        leaving = [
            widened(old, new) for old, new in zip(found[name], _Walk(found, open_[name], further).leaving, strict=True)
        ]
        if leaving != found[name]:
            found[name] = leaving
            waiting.update(dict.fromkeys(callers[name]))
    for name, types in found.items():
        if None in types:
            raise Invalid(
                f"the types of what {name} returns cannot be inferred",
                rule="V6",
                where=open_[name].location or name,
                hint=f"it seems never to return; say the types, as in func {name}(...) -> int64",
            )
        yield name, types


def pullbacks(program: Program) -> Pullbacks:
    return {function.name: function.pullbacks for function in program.functions}


def _callees(function: Function) -> set[str]:
    return {str(dict(node.attributes).get("function")) for node in function.body.walk() if node.op == "call"}


class _Walk:
    """One walk through the body of a function: `made` has the types of every node's results in program order,
    `leaving` those of the function's."""

    def __init__(self, results: Mapping[str, Sequence[Known]], function: Function, pullbacks: Pullbacks) -> None:
        self.results, self.pullbacks = results, pullbacks
        self.made: list[list[Known]] = []
        self.phases: dict[str, list[list[Known]]] = {}
        """What the phases make that are still to come, by the name of the node that began the last."""
        self.later: list[list[Known]] = []
        self.leaving = list(map(_settled, self.region(function.body)))

    def region(self, region: Region) -> list[Known]:
        """The types of what the first phase yields; those of further ones are kept for their pullbacks."""
        known: dict[str, Known] = {}
        left, self.phases = self.phases, {}
        yielded = [self.phase(phase, known) for phase in region.phases()]
        self.phases = left
        self.later = yielded[1:]
        return yielded[0]

    def phase(self, region: Region, known: dict[str, Known]) -> list[Known]:
        known.update((parameter.name, parameter.type) for parameter in region.parameters)
        for node in region.nodes:
            place = len(self.made)
            self.made.append([])
            sides, later = [], []
            for inner in node.regions:
                sides.append(self.region(inner))
                later.append(self.later)
            types = self.node(node, [_type(operand, known) for operand in node.inputs], sides)
            self.following(node, later)
            self.made[place] = types
            for result, type_ in zip(node.results, types, strict=True):
                known[result.name] = type_ if result.type is HOLE else result.type
        return [_type(result, known) for result in region.results]

    def following(self, node: Node, later: list[list[list[Known]]]) -> None:
        """Keep what pullbacks of a node make, phase by phase."""
        name = node.results[0].name if node.results else ""
        made: list[list[Known]] = []
        if node.op == "call":
            made = list(map(list, self.pullbacks.get(str(dict(node.attributes).get("function")), ())))
        elif node.op == "cond" and len(later) == 2:
            made = [[widened(one, other) for one, other in zip_longest(*pair)] for pair in zip(*later, strict=False)]
        elif node.op == "while_loop" and len(node.regions) == 2:
            phases = islice(node.regions[1].phases(), 1, None)
            made = [[parameter.type for parameter in phase.parameters] for phase in phases]
        elif node.op == "pullback":
            made = self.phases.get(dict(node.attributes).get(PULLED, ""), [])[1:]
        if made:
            self.phases[name] = made

    def node(self, node: Node, operands: list[Known], sides: list[list[Known]]) -> list[Known]:
        """As many types as the node has results."""
        match node.op:
            case "cond":
                types = [widened(one, other) for one, other in zip_longest(*sides)] if len(sides) == 2 else []
            case "while_loop":
                types = [parameter.type for region in node.regions[-1:] for parameter in region.parameters]
            case "call":
                types = list(self.results.get(dict(node.attributes).get("function", ""), ()))
            case "pullback":
                types = next(iter(self.phases.get(dict(node.attributes).get(PULLED, ""), [])), [])
            case _:
                named = [type_ for given, type_ in zip(node.inputs, operands, strict=True) if isinstance(given, str)]
                types = [computed(node.op, operands, node.attributes, like=named)]
        missing = len(node.results) - len(types)
        return list(map(_settled, types[: len(node.results)] + [likely(operands)] * missing))

    def filled(self, function: Function) -> Function:
        """The function with its holes filled, where `leaving` and `made` have no bottom."""
        types = iter(self.made)
        results = function.results
        if any(type_ is HOLE for type_ in results):
            results = tuple(made or STAND_IN for made in self.leaving)
        return replace(function, body=_filled(function.body, types), results=results)


def _filled(region: Region, types: Iterator[list[Known]]) -> Region:
    nodes = []
    for node in region.nodes:
        found = next(types)
        results = tuple(
            Var(name, (made or STAND_IN) if type_ is HOLE else type_)
            for (name, type_), made in zip(node.results, found, strict=True)
        )
        regions = tuple(_filled(inner, types) for inner in node.regions)
        nodes.append(replace(node, results=results, regions=regions))
    later = _filled(region.pullback, types) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=later)


def _settled(type_: Known) -> Known:
    """A type for a value; what cannot be known gets the one that stands in."""
    return STAND_IN if type_ is HOLE else type_


def _type(operand: Operand, known: Mapping[str, Known]) -> Known:
    """An operand's type; HOLE where no value has the name."""
    return operand.type if isinstance(operand, Literal) else known.get(operand, HOLE)


def computed(
    op: str, operands: Sequence[Known], attributes: Iterable[tuple[str, object]], like: Sequence[Known] = ()
) -> Known:
    """What an op that computes makes of these; where it takes no such operands, what it makes of several of one type.

    HOLE among the operands is a type that cannot be known; the bottom makes the bottom. `like` are the operands whose
    types count first where not all can: those that are no literals.
    """
    if None in operands:
        return None
    row, given = ROWS.get(op), dict(attributes)
    if row is None or tuple(given) != row.attributes:
        return _USUAL.get(op, likely(operands))
    one = likely([*like, *operands])
    exact = [one if type_ is HOLE else type_ for type_ in operands]
    arity = len(operands) if row.arity is None else row.arity
    guesses: list[Sequence[Known]] = [exact, *_fitting(row, exact), [one] * arity]
    for guess in (*guesses, [Type(dtypes.bool), *[one] * (arity - 1)]):
        with suppress(Invalid):
            if row.arity is None or len(guess) == arity:
                return row.types(*guess, **given)
    return _USUAL.get(op, likely(operands))


_USUAL = {"cells": handle_type(STAND_IN), "print": Type(dtypes.bool)}
"""What stands in for the results of ops that do not depend on their operands."""


def _fitting(row: Row, operands: Sequence[Known]) -> Iterator[list[Type]]:
    """Operands that an act on cells, on the world or at random takes, whatever it got."""
    if isinstance(row, Act):
        yield [Type(dtypes.int64)] * (row.arity or 0)
        for handle in [each for each in operands[:1] if each and isinstance(each.dtype, HandleType)]:
            yield [handle, Type(dtypes.int64), element_type(handle)][: row.arity]


def likely(operands: Sequence[Known]) -> Known:
    """A type that can stand in for the result of what breaks a rule: that of an operand."""
    known = [type_ for type_ in operands if type_ is not HOLE]
    return known[0] if known else STAND_IN


def widened(old: Known, new: Known) -> Known:
    """The narrowest type that admits both; the first where none does."""
    if old is None or new is None or old is HOLE or new is HOLE:
        return new if old is None or old is HOLE else old
    return old.join(new) or old
