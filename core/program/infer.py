"""Type inference: the types of a program's nodes, from their operands.

A type to infer is HOLE; other types stay. Where no type can be inferred because the program breaks a rule, a likely
type is put in: `validate` reports problems, this module does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, zip_longest
from typing import TypeAlias

from .. import dtypes
from ..errors import Invalid
from ..ops.effects import ALL_OPS, EffectOp, OpRow
from ..types import HandleType, Type, element_type, handle_type
from ..value import Literal
from .program import PULLBACK_TARGET, Function, Node, Operand, Program, Region, Var

HOLE = Type(dtypes.bool, (-1,))
"""The type that is to be inferred; compared by identity."""

PullbackTypes: TypeAlias = Mapping[str, Sequence[Sequence[Type]]]
"""For each function, the types of the results of each further phase."""

LatticeType: TypeAlias = Type | None
"""A type inferred so far: None is the bottom, below all types, where no value has arrived yet."""

DEFAULT_TYPE = Type(dtypes.int64)


def infer_types(program: Program) -> Program:
    """The program with every HOLE replaced by a type; raises Invalid where a function's results cannot be inferred
    because it never returns.

    The results of functions are a fixed point: types grow from the bottom by `join`, so the iteration ends.
    """
    results = dict(_infer_results(program))
    return replace(
        program,
        functions=tuple(
            _FunctionInference(results, each, pullback_types(program)).fill_function(each) for each in program.functions
        ),
    )


def infer_node_types(program: Program) -> Iterator[list[Type]]:
    """For each node in program order, the types that inference would give its results, all other types being kept."""
    results = {function.name: list(function.results) for function in program.functions}
    for function in program.functions:
        yield from (
            [type_ or DEFAULT_TYPE for type_ in types]
            for types in _FunctionInference(results, function, pullback_types(program)).node_types
        )


def _infer_results(program: Program) -> Iterator[tuple[str, list[LatticeType]]]:
    """The types of each function's results."""
    found: dict[str, list[LatticeType]] = {function.name: list(function.results) for function in program.functions}
    open_ = {f.name: f for f in program.functions if any(type_ is HOLE for type_ in f.results)}
    callers: dict[str, list[str]] = {name: [] for name in open_}
    for name, function in open_.items():
        found[name] = [None] * len(function.body.results)
        for callee in _callees(function) & open_.keys():
            callers[callee].append(name)
    waiting, further = dict.fromkeys(reversed(open_)), pullback_types(program)
    while waiting:
        name, _ = waiting.popitem()
        leaving = [
            widen(old, new)
            for old, new in zip(found[name], _FunctionInference(found, open_[name], further).result_types, strict=True)
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
                hint=f"it seems never to return; declare the types, as in func {name}(...) -> int64",
            )
        yield name, types


def pullback_types(program: Program) -> PullbackTypes:
    return {function.name: function.pullbacks for function in program.functions}


def _callees(function: Function) -> set[str]:
    return {str(dict(node.attributes).get("function")) for node in function.body.walk() if node.op == "call"}


class _FunctionInference:
    """One pass over the body of a function. `node_types` has the types of each node's results in program order,
    `result_types` those of the function's."""

    def __init__(
        self, results: Mapping[str, Sequence[LatticeType]], function: Function, pullbacks: PullbackTypes
    ) -> None:
        self.function_results, self.pullback_types = results, pullbacks
        self.node_types: list[list[LatticeType]] = []
        self.pending_phases: dict[str, list[list[LatticeType]]] = {}
        """The result types of the phases that are still to come, by the name of the node that began the latest
        phase."""
        self.later_phase_types: list[list[LatticeType]] = []
        self.result_types = list(map(_default_hole, self.infer_region(function.body)))

    def infer_region(self, region: Region) -> list[LatticeType]:
        """The types that the first phase yields; those of further phases are kept for their pullbacks."""
        known: dict[str, LatticeType] = {}
        left, self.pending_phases = self.pending_phases, {}
        yielded = [self.infer_phase(phase, known) for phase in region.phases()]
        self.pending_phases = left
        self.later_phase_types = yielded[1:]
        return yielded[0]

    def infer_phase(self, region: Region, known: dict[str, LatticeType]) -> list[LatticeType]:
        known.update((parameter.name, parameter.type) for parameter in region.parameters)
        for node in region.nodes:
            position = len(self.node_types)
            self.node_types.append([])
            sides, later = [], []
            for inner in node.regions:
                sides.append(self.infer_region(inner))
                later.append(self.later_phase_types)
            types = self.infer_node(node, [_operand_type(operand, known) for operand in node.inputs], sides)
            self.record_pullback_types(node, later)
            self.node_types[position] = types
            for result, type_ in zip(node.results, types, strict=True):
                known[result.name] = type_ if result.type is HOLE else result.type
        return [_operand_type(result, known) for result in region.results]

    def record_pullback_types(self, node: Node, later: list[list[list[LatticeType]]]) -> None:
        """Keep the result types of a node's pullbacks, phase by phase."""
        name = node.results[0].name if node.results else ""
        made: list[list[LatticeType]] = []
        if node.op == "call":
            made = list(map(list, self.pullback_types.get(str(dict(node.attributes).get("function")), ())))
        elif node.op == "cond" and len(later) == 2:
            made = [[widen(one, other) for one, other in zip_longest(*pair)] for pair in zip(*later, strict=False)]
        elif node.op == "while_loop" and len(node.regions) == 2:
            phases = islice(node.regions[1].phases(), 1, None)
            made = [[parameter.type for parameter in phase.parameters] for phase in phases]
        elif node.op == "pullback":
            made = self.pending_phases.get(dict(node.attributes).get(PULLBACK_TARGET, ""), [])[1:]
        if made:
            self.pending_phases[name] = made

    def infer_node(self, node: Node, operands: list[LatticeType], sides: list[list[LatticeType]]) -> list[LatticeType]:
        """A type for each result of a node."""
        match node.op:
            case "cond":
                types = [widen(one, other) for one, other in zip_longest(*sides)] if len(sides) == 2 else []
            case "while_loop":
                types = [parameter.type for region in node.regions[-1:] for parameter in region.parameters]
            case "call":
                types = list(self.function_results.get(dict(node.attributes).get("function", ""), ()))
            case "pullback":
                types = next(iter(self.pending_phases.get(dict(node.attributes).get(PULLBACK_TARGET, ""), [])), [])
            case _:
                named = [type_ for given, type_ in zip(node.inputs, operands, strict=True) if isinstance(given, str)]
                types = [infer_op_type(node.op, operands, node.attributes, preferred=named)]
        missing = len(node.results) - len(types)
        return list(map(_default_hole, types[: len(node.results)] + [guess_type(operands)] * missing))

    def fill_function(self, function: Function) -> Function:
        """The function with its holes filled by the inferred types."""
        types = iter(self.node_types)
        results = function.results
        if any(type_ is HOLE for type_ in results):
            results = tuple(made or DEFAULT_TYPE for made in self.result_types)
        return replace(function, body=_fill_region(function.body, types), results=results)


def _fill_region(region: Region, types: Iterator[list[LatticeType]]) -> Region:
    nodes = []
    for node in region.nodes:
        found = next(types)
        results = tuple(
            Var(name, (made or DEFAULT_TYPE) if type_ is HOLE else type_)
            for (name, type_), made in zip(node.results, found, strict=True)
        )
        regions = tuple(_fill_region(inner, types) for inner in node.regions)
        nodes.append(replace(node, results=results, regions=regions))
    later = _fill_region(region.pullback, types) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=later)


def _default_hole(type_: LatticeType) -> LatticeType:
    """The type, or the default type for a HOLE."""
    return DEFAULT_TYPE if type_ is HOLE else type_


def _operand_type(operand: Operand, known: Mapping[str, LatticeType]) -> LatticeType:
    """The type of an operand; HOLE for an undefined name."""
    return operand.type if isinstance(operand, Literal) else known.get(operand, HOLE)


def infer_op_type(
    op: str,
    operands: Sequence[LatticeType],
    attributes: Iterable[tuple[str, object]],
    preferred: Sequence[LatticeType] = (),
) -> LatticeType:
    """The result type of an op on these operands; if it does not accept them, its result type on similar operands.

    A HOLE among the operands is a type that cannot be known; the bottom gives the bottom. `preferred` are the operands
    whose types count first where not all fit: those that are no literals.
    """
    if None in operands:
        return None
    row, given = ALL_OPS.get(op), dict(attributes)
    if row is None or tuple(given) != row.attributes:
        return _FALLBACK_TYPES.get(op, guess_type(operands))
    one = guess_type([*preferred, *operands])
    exact = [one if type_ is HOLE else type_ for type_ in operands]
    arity = len(operands) if row.arity is None else row.arity
    guesses: list[Sequence[LatticeType]] = [exact, *_candidate_operands(row, exact), [one] * arity]
    for guess in (*guesses, [Type(dtypes.bool), *[one] * (arity - 1)]):
        with suppress(Invalid):
            if row.arity is None or len(guess) == arity:
                return row.type_rule(*guess, **given)
    return _FALLBACK_TYPES.get(op, guess_type(operands))


_FALLBACK_TYPES = {"cells": handle_type(DEFAULT_TYPE), "print": Type(dtypes.bool)}
"""Result types for ops whose results do not depend on their operands."""


def _candidate_operands(row: OpRow, operands: Sequence[LatticeType]) -> Iterator[list[Type]]:
    """Operand types that an effect op accepts."""
    if isinstance(row, EffectOp):
        yield [Type(dtypes.int64)] * (row.arity or 0)
        for handle in [each for each in operands[:1] if each and isinstance(each.dtype, HandleType)]:
            yield [handle, Type(dtypes.int64), element_type(handle)][: row.arity]


def guess_type(operands: Sequence[LatticeType]) -> LatticeType:
    """A likely result type where a rule is broken: that of an operand."""
    known = [type_ for type_ in operands if type_ is not HOLE]
    return known[0] if known else DEFAULT_TYPE


def widen(old: LatticeType, new: LatticeType) -> LatticeType:
    """The narrowest type that admits both; the first where none does."""
    if old is None or new is None or old is HOLE or new is HOLE:
        return new if old is None or old is HOLE else old
    return old.join(new) or old
