"""Variable reads and assignments, as tapes record them.

A tape knows values by identity, and the value of a variable may be in use elsewhere: by earlier reads, or in the
variable that it was assigned from. So when a tape sees a variable for the first time, it gets a copy of its own, and
differentiates with respect to that. Outer tapes, which may have seen the variable before, record the copy as a step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...value import Literal
from ..trace.captures import Resource
from ..trace.symbol import Symbol
from ..trace.trace import current_region, emit_op, to_operand
from .array import ConcreteArray, copy_array
from .recording import TAPE_STACK, StoredValue, TapeArray, TapeEntry, TapeProtocol, as_array, recording_tapes


def read_and_record(variable: Resource) -> TapeArray:
    """The current value of a variable as an array; active tapes record the read."""
    region = current_region()
    if not any(recorder.is_watching(variable) for recorder in recording_tapes()):
        return as_array(variable.value if region is None else region.read_resource(variable))
    is_used, held = region is None or region.has_used(variable), peek_resource(variable)
    return resolve_watched_array(variable, held, None if is_used else as_array(held))


def record_assignment(variable: Resource) -> None:
    """Tell the active tapes that a variable is assigned: from now on its value is an ordinary one, even if the same
    array is assigned again."""
    for recorder in TAPE_STACK.get():
        if recorder.region is current_region():
            recorder.record_assignment(variable)


def peek_resource(variable: Resource) -> StoredValue:
    """The current value, without recording the read. In a trace, an identity op makes a literal a symbolic value."""
    region = current_region()
    if region is None:
        now: StoredValue = variable.value
        return now
    held = region.read_resource(variable)
    if isinstance(held, Literal):
        held = region.store[variable] = emit_op(region, "identity", [held])
    return held


def resolve_watched_array(variable: Resource, held: StoredValue, own: TapeArray | None = None) -> TapeArray:
    """The array by which the innermost watching tape knows a variable whose value is `held`. `own`, if given, is an
    array of that value that is not in use elsewhere, so that a tape needs no copy."""
    array = as_array(held) if own is None else own
    for recorder in recording_tapes():
        if not recorder.is_watching(variable):
            continue
        known = recorder.resolve_watched_array(variable, held, array)
        if known is None and own is not None:
            known = own
            recorder.watch_variable(variable, held, own, own)
        array, own = watch_copy(recorder, variable, held, array) if known is None else known, None
    return array


def watch_copy(recorder: TapeProtocol, variable: Resource, held: StoredValue, array: TapeArray) -> TapeArray:
    """Let one tape watch a variable as a copy of `array`, and record the copy on the other tapes; returns the copy."""
    apart = identity_copy(array)
    recorder.watch_variable(variable, held, array, apart)
    for other in recording_tapes():
        if other is not recorder:
            other.record(TapeEntry((array,), (apart,), identity_vjp))
    return apart


def identity_copy(array: TapeArray) -> TapeArray:
    """A new array of the same elements; in a trace, by an identity op."""
    if (region := current_region()) is not None:
        return Symbol(emit_op(region, "identity", [to_operand(array)]))
    assert isinstance(array, ConcreteArray)
    return copy_array(array)


def identity_vjp(adjoints: Sequence[Any], wanted: Sequence[int], rows: Collection[int]) -> Sequence[Any]:
    """The VJP of `identity_copy`; adjoints pass unchanged, `Rows` too."""
    return adjoints
