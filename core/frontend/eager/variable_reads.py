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
from ..trace.trace import apply, current, to_operand
from .array import Concrete, another
from .recording import RECORDERS, Array, Held, Record, Recorder, array_of, hearing


def read_here(variable: Resource) -> Array:
    """What a variable holds here, as an array; tapes under way are told."""
    region = current()
    if not any(recorder.watches(variable) for recorder in hearing()):
        return array_of(variable.value if region is None else region.held(variable))
    is_used, held = region is None or region.has_used(variable), held_here(variable)
    return seen(variable, held, None if is_used else array_of(held))


def assigned(variable: Resource) -> None:
    """Tell tapes under way that a variable, which they have seen, is assigned: from now on it is a value as any other,
    also where it holds again what it held."""
    for recorder in RECORDERS.get():
        if recorder.region is current():
            recorder.assigned(variable)


def held_here(variable: Resource) -> Held:
    """What it holds here, of which nobody is told; in a trace a value, which a literal becomes."""
    region = current()
    if region is None:
        now: Held = variable.value
        return now
    held = region.held(variable)
    if isinstance(held, Literal):
        held = region.store[variable] = apply(region, "identity", [held])
    return held


def seen(variable: Resource, held: Held, own: Array | None = None) -> Array:
    """The array that a variable is, to the innermost tape that watches it, while it holds this; `own` is one that
    nobody has yet."""
    array = array_of(held) if own is None else own
    for recorder in hearing():
        if not recorder.watches(variable):
            continue
        known = recorder.seen(variable, held, array)
        if known is None and own is not None:
            known = own
            recorder.see(variable, held, own, own)
        array, own = see_apart(recorder, variable, held, array) if known is None else known, None
    return array


def see_apart(recorder: Recorder, variable: Resource, held: Held, array: Array) -> Array:
    """Have one of them watch a variable as another array than the others have for it; that array."""
    apart = same_as(array)
    recorder.see(variable, held, array, apart)
    for other in hearing():
        if other is not recorder:
            other.record(Record((array,), (apart,), handed_on))
    return apart


def same_as(array: Array) -> Array:
    """Another array of the same elements; in a trace that is a node."""
    if (region := current()) is not None:
        return Symbol(apply(region, "identity", [to_operand(array)]))
    assert isinstance(array, Concrete)
    return another(array)


def handed_on(adjoints: Sequence[Any], wanted: Sequence[int], rows: Collection[int]) -> Sequence[Any]:
    """What pulls adjoints back from such an array, by rows, too."""
    return adjoints
