"""Reading: what variables hold, as tapes know it.

A tape knows values by identity, and what a variable holds others may have, too: who read it before, the variable that
it was assigned from. So a tape that reads a variable for the first time has it as an array of its own, which is what
the gradient is by. Tapes around it, which may have read it before, take that down as a step.
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
    """What a variable holds here, as an array; tapes under way are told."""
    region = current_region()
    if not any(recorder.is_watching(variable) for recorder in recording_tapes()):
        return as_array(variable.value if region is None else region.read_resource(variable))
    is_used, held = region is None or region.has_used(variable), peek_resource(variable)
    return resolve_watched_array(variable, held, None if is_used else as_array(held))


def record_assignment(variable: Resource) -> None:
    """Tell tapes under way that a variable, which they have seen, is assigned: from now on it is a value as any other,
    also where it holds again what it held."""
    for recorder in TAPE_STACK.get():
        if recorder.region is current_region():
            recorder.record_assignment(variable)


def peek_resource(variable: Resource) -> StoredValue:
    """What it holds here, of which nobody is told; in a trace a value, which a literal becomes."""
    region = current_region()
    if region is None:
        now: StoredValue = variable.value
        return now
    held = region.read_resource(variable)
    if isinstance(held, Literal):
        held = region.store[variable] = emit_op(region, "identity", [held])
    return held


def resolve_watched_array(variable: Resource, held: StoredValue, own: TapeArray | None = None) -> TapeArray:
    """The array that a variable is, to the innermost tape that watches it, while it holds this; `own` is one that
    nobody has yet."""
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
    """Have one of them watch a variable as another array than the others have for it; that array."""
    apart = identity_copy(array)
    recorder.watch_variable(variable, held, array, apart)
    for other in recording_tapes():
        if other is not recorder:
            other.record(TapeEntry((array,), (apart,), identity_vjp))
    return apart


def identity_copy(array: TapeArray) -> TapeArray:
    """Another array of the same elements; in a trace that is a node."""
    if (region := current_region()) is not None:
        return Symbol(emit_op(region, "identity", [to_operand(array)]))
    assert isinstance(array, ConcreteArray)
    return copy_array(array)


def identity_vjp(adjoints: Sequence[Any], wanted: Sequence[int], rows: Collection[int]) -> Sequence[Any]:
    """What pulls adjoints back from such an array, by rows, too."""
    return adjoints
