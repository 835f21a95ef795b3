"""Recording: ops, calls, and reads and assignments of variables record themselves on the active tapes.

This module has the stack of active tapes, and tape entries: the operands and results of one step by identity, and its
VJP. The reverse pass over the entries is in `tape`.

A tape records at the level where it was entered: outside all traces, or in one region under trace. A branch, loop or
call there is a single step, whose inner ops the tape does not see.

A tape knows values by identity, and the value of a variable may be in use elsewhere: by earlier reads, or in the
variable that it was assigned from. So when a tape sees a variable for the first time, it makes a copy of the value, and
differentiates with respect to that. Outer tapes, which may have seen the variable before, record the copy as a step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...errors import Invalid, Usage
from ...ops.op import OPS
from ...types import Type
from ...value import Literal
from ..trace.captures import Resource
from ..trace.program_builder import RegionBuilder, TracedOperand, TracedValue, current_region, emit_op, to_operand
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .array import ConcreteArray, copy_array

TapeArray: TypeAlias = ConcreteArray | Symbol
"""An array that tapes can record: a concrete one, or a symbol in a trace."""
StoredValue: TypeAlias = ConcreteArray | TracedValue | Literal
"""The value of a variable: a concrete array outside traces; a symbolic value or literal in a trace."""
VJP: TypeAlias = Callable[[Sequence[Any], Sequence[int], Collection[int]], Sequence[Any]]
"""(adjoints of results, positions of operands, positions by rows) -> the adjoints of the operands at these positions.
None stands for zero. The adjoints at the positions in the last argument are `Rows`."""


class TapeEntry(NamedTuple):
    """One recorded step, such as a call, with its operands and results, which are compared by identity."""

    operands: tuple[Any, ...]
    """Arrays, and Python numbers, which are constants."""
    results: tuple[TapeArray, ...]
    """The results of float dtype; others have no adjoint."""
    vjp: VJP


class AppliedOp(Protocol):
    """An op as applied: its name, the types that its operands were converted to, and its attributes."""

    @property
    def op(self) -> str: ...
    @property
    def types(self) -> tuple[Type, ...]: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...


class OpTapeEntry(NamedTuple):
    """One recorded op."""

    operands: tuple[Any, ...]
    result: TapeArray
    applied_op: AppliedOp

    @property
    def results(self) -> tuple[TapeArray]:
        return (self.result,)


AnyTapeEntry: TypeAlias = TapeEntry | OpTapeEntry
DeferredOpEntry: TypeAlias = tuple[tuple[Any, ...], ConcreteArray, AppliedOp]
"""The fields of an `OpTapeEntry`, which is built only when a gradient is computed: building it takes 0.3 us."""


class TapeProtocol(Protocol):
    """The interface of a tape for recording."""

    region: RegionBuilder | None
    """The region under trace where the tape was entered; None outside traces."""
    is_paused: bool
    """Whether recording is suspended."""

    def record(self, entry: AnyTapeEntry) -> None:
        """Record a step if an operand is watched, or depends on a watched value."""

    def record_eager_op(self, entry: DeferredOpEntry) -> None:
        """`record` for an op that ran eagerly."""

    def is_tracked(self, value: TapeArray) -> bool:
        """Whether a value is watched, or depends on a watched value."""

    def is_watching(self, variable: Resource) -> bool:
        """Whether a variable is watched, or will be when it is read."""

    def resolve_watched_array(self, variable: Resource, value: StoredValue, array: TapeArray) -> TapeArray | None:
        """The array that stands for a variable of this value on this tape; on other tapes it is `array`. None where
        this tape sees the variable for the first time."""

    def watch_variable(self, variable: Resource, value: StoredValue, outer_array: TapeArray, array: TapeArray) -> None:
        """Watch a variable of this value, which other tapes know as `outer_array`, as the array `array`."""

    def record_assignment(self, variable: Resource) -> None:
        """Record that a variable no longer has the value with which the tape first saw it."""


TAPE_STACK: ContextVar[tuple[TapeProtocol, ...]] = ContextVar("tape_stack", default=())
"""The active tapes, outermost first."""


def recording_tapes() -> Sequence[TapeProtocol]:
    """The active tapes that record in the current region, outermost first."""
    tapes = TAPE_STACK.get()
    if not tapes:
        return ()
    region = current_region()
    return [tape for tape in tapes if tape.region is region and not tape.is_paused]


def record_entry(operands: Sequence[Any], results: Sequence[TapeArray], vjp: VJP) -> None:
    """Record a step on the active tapes, if it has results that can have adjoints."""
    if results:
        entry = TapeEntry(tuple(operands), tuple(results), vjp)
        for tape in recording_tapes():
            tape.record(entry)


class _TracedOp(NamedTuple):
    op: str
    types: tuple[Type, ...]
    attributes: Mapping[str, Any]


def record_op(applied_op: AppliedOp, operands: tuple[Any, ...], result: TapeArray) -> None:
    """Record an op on the active tapes, if its result is of floats."""
    if result._type.dtype.kind != "f":
        return
    entry = OpTapeEntry(operands, result, applied_op)
    for tape in recording_tapes():
        tape.record(entry)


def record_eager_op(applied_op: AppliedOp, operands: tuple[Any, ...], result: ConcreteArray) -> None:
    """Record an op with a float result outside traces: `record_op`, but 0.5 us faster."""
    for tape in TAPE_STACK.get():
        if tape.region is None and not tape.is_paused:
            tape.record_eager_op((operands, result, applied_op))


def record_traced_op(
    op: str,
    operands: Sequence[Any],
    converted: Sequence[TracedOperand],
    attributes: Mapping[str, Any],
    result: Symbol,
) -> None:
    """Record an op in a trace. The value in `converted` replaces an operand that is not a tape
    array."""
    pairs = zip(operands, converted, strict=True)
    arrays = tuple(
        operand if isinstance(operand, ConcreteArray | Symbol) else as_array(value) for operand, value in pairs
    )
    record_op(_TracedOp(op, tuple(operand.type for operand in converted), attributes), arrays, result)


def record_nondifferentiable(op: str, operands: Sequence[Any], result: TapeArray) -> None:
    """Record an op without a gradient; its VJP raises Invalid (D1)."""

    def vjp(*_: Any) -> list[Any]:
        raise nondifferentiable_error(op)

    arrays = [operand for operand in operands if isinstance(operand, ConcreteArray | Symbol)]
    record_entry(arrays, [result] if is_float_array(result) else [], vjp)


def nondifferentiable_error(op: str) -> Invalid:
    hint = "tl.stop_gradient(x) makes a value a constant"
    required = "a gradient rule, in the column `gradient` of its row" if op in OPS else None
    return Invalid(f"{op} cannot be differentiated", rule="D1", where=user_location(), required=required, hint=hint)


def cells_not_recorded_error() -> Usage:
    """The error for using cells where a tape records."""
    hint = "create, fill and collect them in one tl.function, and call that; tl.map and tl.scan are recorded"
    return Usage("tapes do not record cells", where=user_location(), hint=hint)


def as_array(value: StoredValue) -> TapeArray:
    """The value of a variable as a tape array."""
    return (
        Symbol(value)
        if isinstance(value, TracedValue)
        else ConcreteArray(value)
        if isinstance(value, Literal)
        else value
    )


def is_float_array(value: Any) -> bool:
    """Whether a value is a tape array of floats, and so can have an adjoint."""
    return isinstance(value, ConcreteArray | Symbol) and value.dtype.kind == "f"


def read_and_record(variable: Resource) -> TapeArray:
    """The current value of a variable as an array; active tapes record the read."""
    region = current_region()
    if not any(tape.is_watching(variable) for tape in recording_tapes()):
        return as_array(variable.value if region is None else region.read_resource(variable))
    is_used, value = region is None or region.has_used(variable), peek_resource(variable)
    return resolve_watched_array(variable, value, None if is_used else as_array(value))


def record_assignment(variable: Resource) -> None:
    """Tell the active tapes that a variable is assigned: its value is no longer the watched one, even if the same array
    is assigned again."""
    for tape in TAPE_STACK.get():
        if tape.region is current_region():
            tape.record_assignment(variable)


def peek_resource(variable: Resource) -> StoredValue:
    """The current value, without recording the read. In a trace, an identity op makes a literal a symbolic value."""
    region = current_region()
    if region is None:
        array: StoredValue = variable.value
        return array
    value = region.read_resource(variable)
    if isinstance(value, Literal):
        value = region.store[variable] = emit_op(region, "identity", [value])
    return value


def resolve_watched_array(variable: Resource, value: StoredValue, unused_copy: TapeArray | None = None) -> TapeArray:
    """The array by which the innermost watching tape knows a variable of this value. `unused_copy`, if given, is an
    array of the value that is not in use elsewhere, so that a tape needs no copy."""
    array = as_array(value) if unused_copy is None else unused_copy
    for tape in recording_tapes():
        if not tape.is_watching(variable):
            continue
        watched_array = tape.resolve_watched_array(variable, value, array)
        if watched_array is None and unused_copy is not None:
            watched_array = unused_copy
            tape.watch_variable(variable, value, unused_copy, unused_copy)
        array, unused_copy = watch_copy(tape, variable, value, array) if watched_array is None else watched_array, None
    return array


def watch_copy(tape: TapeProtocol, variable: Resource, value: StoredValue, array: TapeArray) -> TapeArray:
    """Let one tape watch a variable as a copy of `array`, and record the copy on the other tapes; returns the copy."""
    copy = identity_copy(array)
    tape.watch_variable(variable, value, array, copy)
    for other_tape in recording_tapes():
        if other_tape is not tape:
            other_tape.record(TapeEntry((array,), (copy,), identity_vjp))
    return copy


def identity_copy(array: TapeArray) -> TapeArray:
    """A new array of the same elements; in a trace, by an identity op."""
    if (region := current_region()) is not None:
        return Symbol(emit_op(region, "identity", [to_operand(array)]))
    assert isinstance(array, ConcreteArray)
    return copy_array(array)


def identity_vjp(adjoints: Sequence[Any], positions: Sequence[int], row_positions: Collection[int]) -> Sequence[Any]:
    """The VJP of `identity_copy`; adjoints pass unchanged, `Rows` too."""
    return adjoints
