"""Adjoints of the operations that tapes record: of ops by the gradient rules of their rows, of calls by their
pullbacks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...autodiff.rows import Rows, row_use_error
from ...errors import Invalid
from ...ops.indexing import row_adjoint
from ...ops.op import lookup_op
from ...types import HandleType, Type
from ...value import literal
from ..trace.program_builder import to_operand
from ..trace.pytree import flatten, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .apply import apply
from .array import ConcreteArray
from .recording import (
    AnyTapeEntry,
    DeferredOpEntry,
    OpTapeEntry,
    TapeArray,
    TapeEntry,
    cells_not_recorded_error,
    is_float_array,
    nondifferentiable_error,
    record_entry,
    recording_tapes,
)


class OpDispatcher:
    """Applies ops for gradient rules on a tape. Outer tapes record these ops like any others."""

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Any:
        return apply(op, *operands, **attributes)

    def type(self, operand: Any) -> Type:
        return operand._type if isinstance(operand, ConcreteArray) else to_operand(operand).type


def to_tape_entry(entry: AnyTapeEntry | DeferredOpEntry) -> TapeEntry:
    """An entry with its VJP, built only when a gradient is computed."""
    if isinstance(entry, TapeEntry):
        return entry
    op_entry = OpTapeEntry(*entry)
    return TapeEntry(op_entry.operands, op_entry.results, functools.partial(op_vjp, op_entry))


def op_vjp(
    entry: OpTapeEntry, adjoints: Sequence[Any], positions: Sequence[int], row_positions: Collection[int]
) -> list[Any]:
    """The adjoints of an op's operands by its gradient rule, summed to the shapes of operands that it broadcasts."""
    op, attributes, builder = entry.applied_op.op, entry.applied_op.attributes, OpDispatcher()
    row = lookup_op(op)
    if row.gradient is None:
        raise nondifferentiable_error(op)
    operands = [
        operand if isinstance(operand, ConcreteArray | Symbol) else ConcreteArray(literal(operand, type_))
        for operand, type_ in zip(entry.operands, entry.applied_op.types, strict=True)
    ]
    (adjoint,) = adjoints
    operand_adjoints: list[Any] = []
    for position in positions:
        if position in row_positions and (parts := row_adjoint(builder, op, adjoint, operands, attributes)):
            operand_adjoints.append(Rows(*parts))
            continue
        contribution = row.gradient(builder, position, adjoint, entry.result, *operands, **attributes)
        if position in row_positions and contribution is not None:
            raise row_use_error("a source", op, user_location())
        if contribution is not None and row.scalar is not None:
            shape, operand_shape = builder.type(contribution).shape, operands[position]._type.shape
            is_same = shape == operand_shape and shape is not None and None not in shape
            contribution = contribution if is_same else builder("sum_like", contribution, operands[position])
        operand_adjoints.append(contribution)
    return operand_adjoints


def record_call(
    name: str,
    operands: Sequence[Any],
    result: Any,
    assigned: Sequence[TapeArray],
    pullback: Callable[[Any, Collection[int]], Sequence[Any]],
    *,
    draws: bool = False,
) -> None:
    """Record a call of a traced function as one step.

    `operands` are all operands of the program, `assigned` the new values of variables. `pullback` takes the adjoint of
    (result, assigned), and the positions whose adjoints are `Rows`; it returns the adjoints of `operands`. `draws` says
    that the call draws random numbers; a pullback, which runs the program again, would draw others.

    Raises Invalid (D5) where such a call depends on a watched value, since its gradient would be wrong; Usage where an
    operand or result is a handle of cells.
    """
    results, structure = flatten((result, tuple(assigned)), by_reference=True, is_leaf=None)
    positions = [position for position, leaf in enumerate(operands) if is_float_array(leaf)]
    float_operands, floats = (
        [operands[position] for position in positions],
        [leaf for leaf in results if is_float_array(leaf)],
    )
    if draws and floats and any(tape.is_tracked(operand) for tape in recording_tapes() for operand in float_operands):
        message = f"a tape records {name}, which draws random numbers, and its reverse pass would draw other numbers"
        hint = "draw outside and pass the numbers as an argument, or use tl.value_and_grad, which draws once"
        raise Invalid(message, rule="D5", where=user_location(), hint=hint)
    if any(isinstance(leaf, Symbol) and isinstance(leaf.dtype, HandleType) for leaf in (*operands, *results)):
        raise cells_not_recorded_error()

    def vjp(adjoints: Sequence[Any], operand_numbers: Sequence[int], rows: Collection[int]) -> list[Any]:
        result_adjoints = iter(adjoints)
        leaf_adjoints = [
            instantiate_adjoint(next(result_adjoints), leaf) if is_float_array(leaf) else 0 for leaf in results
        ]
        operand_adjoints = pullback(unflatten(structure, leaf_adjoints), [positions[number] for number in rows])
        return [operand_adjoints[positions[number]] for number in operand_numbers]

    record_entry(float_operands, floats, vjp)


def instantiate_adjoint(adjoint: Any, value: TapeArray) -> Any:
    """An adjoint in the shape of its value, summed where the value was broadcast; zeros if it is None."""
    if adjoint is not None:
        fits = value._type.admits(to_operand(adjoint).type)
        return adjoint if fits else apply("sum_like", adjoint, value)
    zero, shape = ConcreteArray(literal(0.0, Type(value.dtype))), value._type.shape
    if shape is None or None in shape:
        return apply("broadcast_like", zero, value)
    return apply("broadcast_to", zero, shape=shape) if shape else zero
