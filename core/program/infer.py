"""Type inference: the types of a program's nodes, from their operands.

HOLE marks a type to infer; other types are kept. Where a program breaks a rule, so that no type can be inferred, this
module fills in a likely type and reports nothing: `validate` reports problems.
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
from ..ops.op import operand_count
from ..types import HandleType, Type, element_type, handle_type
from ..value import Literal
from .program import PULLBACK_TARGET, FunctionDef, Node, Operand, Program, Region, Var, callees

HOLE = Type(dtypes.bool, (-1,))
"""A type to infer; compared by identity."""

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
            _FunctionInference(results, function, pullback_types(program)).fill_function(function)
            for function in program.functions
        ),
    )


def infer_node_types(program: Program) -> Iterator[list[Type]]:
    """For each node in program order, the types that inference would give its results if all other types were kept."""
    results = {function.name: list(function.results) for function in program.functions}
    for function in program.functions:
        yield from (
            [type_ or DEFAULT_TYPE for type_ in types]
            for types in _FunctionInference(results, function, pullback_types(program)).node_types
        )


def _infer_results(program: Program) -> Iterator[tuple[str, list[LatticeType]]]:
    """The types of each function's results."""
    result_types: dict[str, list[LatticeType]] = {
        function.name: list(function.results) for function in program.functions
    }
    undeclared_functions = {f.name: f for f in program.functions if any(type_ is HOLE for type_ in f.results)}
    callers: dict[str, list[str]] = {name: [] for name in undeclared_functions}
    for name, function in undeclared_functions.items():
        result_types[name] = [None] * len(function.body.results)
        for callee in set(callees(function)) & undeclared_functions.keys():
            callers[callee].append(name)
    worklist, pullbacks = dict.fromkeys(reversed(undeclared_functions)), pullback_types(program)
    while worklist:
        name, _ = worklist.popitem()
        new_types = [
            widen(old, new)
            for old, new in zip(
                result_types[name],
                _FunctionInference(result_types, undeclared_functions[name], pullbacks).result_types,
                strict=True,
            )
        ]
        if new_types != result_types[name]:
            result_types[name] = new_types
            worklist.update(dict.fromkeys(callers[name]))
    for name, types in result_types.items():
        if None in types:
            raise Invalid(
                f"the result types of {name} cannot be inferred",
                rule="V6",
                where=undeclared_functions[name].location or name,
                hint=f"it seems never to return; declare the types, as in func {name}(...) -> int64",
            )
        yield name, types


def pullback_types(program: Program) -> PullbackTypes:
    return {function.name: function.pullback_result_types for function in program.functions}


class _FunctionInference:
    """One pass over the body of a function. `node_types` has the types of each node's results in program order,
    `result_types` the types of the function's results."""

    def __init__(
        self, results: Mapping[str, Sequence[LatticeType]], function: FunctionDef, pullbacks: PullbackTypes
    ) -> None:
        self.function_results, self.pullback_types = results, pullbacks
        self.node_types: list[list[LatticeType]] = []
        self.pending_phases: dict[str, list[list[LatticeType]]] = {}
        """The result types of the phases that have not begun yet, by the name of the node that began the latest
        phase."""
        self.later_phase_types: list[list[LatticeType]] = []
        self.result_types = list(map(_default_hole, self.infer_region(function.body)))

    def infer_region(self, region: Region) -> list[LatticeType]:
        """The types that the first phase yields; sets `later_phase_types` to the types of the further phases."""
        name_types: dict[str, LatticeType] = {}
        outer_phases, self.pending_phases = self.pending_phases, {}
        phase_types = [self.infer_phase(phase, name_types) for phase in region.phases()]
        self.pending_phases = outer_phases
        self.later_phase_types = phase_types[1:]
        return phase_types[0]

    def infer_phase(self, region: Region, name_types: dict[str, LatticeType]) -> list[LatticeType]:
        name_types.update((parameter.name, parameter.type) for parameter in region.parameters)
        for node in region.nodes:
            position = len(self.node_types)
            self.node_types.append([])
            sides, region_phases = [], []
            for inner in node.regions:
                sides.append(self.infer_region(inner))
                region_phases.append(self.later_phase_types)
            types = self.infer_node(node, [_operand_type(operand, name_types) for operand in node.inputs], sides)
            self.record_pullback_types(node, region_phases)
            self.node_types[position] = types
            for result, type_ in zip(node.results, types, strict=True):
                name_types[result.name] = type_ if result.type is HOLE else result.type
        return [_operand_type(result, name_types) for result in region.results]

    def record_pullback_types(self, node: Node, region_phases: list[list[list[LatticeType]]]) -> None:
        """Record the result types of a node's pullbacks, phase by phase."""
        name = node.results[0].name if node.results else ""
        phase_types: list[list[LatticeType]] = []
        if node.op == "call":
            phase_types = list(map(list, self.pullback_types.get(str(dict(node.attributes).get("function")), ())))
        elif node.op == "cond" and len(region_phases) == 2:
            phase_types = [
                [widen(first, second) for first, second in zip_longest(*pair)]
                for pair in zip(*region_phases, strict=False)
            ]
        elif node.op == "while_loop" and len(node.regions) == 2:
            phases = islice(node.regions[1].phases(), 1, None)
            phase_types = [[parameter.type for parameter in phase.parameters] for phase in phases]
        elif node.op == "pullback":
            phase_types = self.pending_phases.get(dict(node.attributes).get(PULLBACK_TARGET, ""), [])[1:]
        if phase_types:
            self.pending_phases[name] = phase_types

    def infer_node(self, node: Node, operands: list[LatticeType], sides: list[list[LatticeType]]) -> list[LatticeType]:
        """A type for each result of a node."""
        match node.op:
            case "cond":
                types = [widen(first, second) for first, second in zip_longest(*sides)] if len(sides) == 2 else []
            case "while_loop":
                types = [parameter.type for region in node.regions[-1:] for parameter in region.parameters]
            case "call":
                types = list(self.function_results.get(dict(node.attributes).get("function", ""), ()))
            case "pullback":
                types = next(iter(self.pending_phases.get(dict(node.attributes).get(PULLBACK_TARGET, ""), [])), [])
            case _:
                named_types = [
                    type_ for operand, type_ in zip(node.inputs, operands, strict=True) if isinstance(operand, str)
                ]
                types = [infer_op_type(node.op, operands, node.attributes, preferred=named_types)]
        missing_count = len(node.results) - len(types)
        return list(map(_default_hole, types[: len(node.results)] + [guess_type(operands)] * missing_count))

    def fill_function(self, function: FunctionDef) -> FunctionDef:
        """The function with its holes filled by the inferred types."""
        types = iter(self.node_types)
        results = function.results
        if any(type_ is HOLE for type_ in results):
            results = tuple(inferred or DEFAULT_TYPE for inferred in self.result_types)
        return replace(function, body=_fill_region(function.body, types), results=results)


def _fill_region(region: Region, types: Iterator[list[LatticeType]]) -> Region:
    nodes = []
    for node in region.nodes:
        inferred_types = next(types)
        results = tuple(
            Var(name, (inferred_type or DEFAULT_TYPE) if type_ is HOLE else type_)
            for (name, type_), inferred_type in zip(node.results, inferred_types, strict=True)
        )
        regions = tuple(_fill_region(inner, types) for inner in node.regions)
        nodes.append(replace(node, results=results, regions=regions))
    pullback = _fill_region(region.pullback, types) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=pullback)


def _default_hole(type_: LatticeType) -> LatticeType:
    """The type, or the default type for a HOLE."""
    return DEFAULT_TYPE if type_ is HOLE else type_


def _operand_type(operand: Operand, name_types: Mapping[str, LatticeType]) -> LatticeType:
    """The type of an operand; HOLE for an undefined name."""
    return operand.type if isinstance(operand, Literal) else name_types.get(operand, HOLE)


def infer_op_type(
    op: str,
    operands: Sequence[LatticeType],
    attributes: Iterable[tuple[str, object]],
    preferred: Sequence[LatticeType] = (),
) -> LatticeType:
    """The result type of an op on these operands; if it does not accept them, its result type on similar operands.

    A HOLE among the operands is a type that cannot be inferred. If an operand is at the bottom, so is the result. Where
    not all types fit, `preferred` count first: the types of the operands that are not literals.
    """
    if None in operands:
        return None
    row, attribute_values = ALL_OPS.get(op), dict(attributes)
    if row is None or not row.has_attributes(tuple(attribute_values)):
        return _FALLBACK_TYPES.get(op, guess_type(operands))
    likely_type = guess_type([*preferred, *operands])
    exact = [likely_type if type_ is HOLE else type_ for type_ in operands]
    count = operand_count(row, attribute_values)
    arity = len(operands) if count is None else count
    guesses: list[Sequence[LatticeType]] = [exact, *_candidate_operands(row, exact), [likely_type] * arity]
    for guess in (*guesses, [Type(dtypes.bool), *[likely_type] * (arity - 1)]):
        with suppress(Invalid):
            if count is None or len(guess) == arity:
                return row.type_rule(*guess, **attribute_values)
    return _FALLBACK_TYPES.get(op, guess_type(operands))


_FALLBACK_TYPES = {"cells": handle_type(DEFAULT_TYPE), "print": Type(dtypes.bool)}
"""Result types for ops whose results do not depend on their operands."""


def _candidate_operands(row: OpRow, operands: Sequence[LatticeType]) -> Iterator[list[Type]]:
    """Operand types that an effect op accepts."""
    if isinstance(row, EffectOp):
        yield [Type(dtypes.int64)] * (row.arity or 0)
        for handle in [type_ for type_ in operands[:1] if type_ and isinstance(type_.dtype, HandleType)]:
            yield [handle, Type(dtypes.int64), element_type(handle)][: row.arity]


def guess_type(operands: Sequence[LatticeType]) -> LatticeType:
    """A likely result type where a rule is broken: the type of an operand."""
    types = [type_ for type_ in operands if type_ is not HOLE]
    return types[0] if types else DEFAULT_TYPE


def widen(old: LatticeType, new: LatticeType) -> LatticeType:
    """The narrowest type that admits both; the first where none does."""
    if old is None or new is None or old is HOLE or new is HOLE:
        return new if old is None or old is HOLE else old
    return old.join(new) or old
