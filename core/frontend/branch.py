"""The Python functions given to `cond` and `while_loop`: their regions, and what they return.

Owns running them on symbolic values. What their results must be is for `api` to say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import dtypes
from ..errors import Invalid, TagloomError, Usage, counted
from ..program import MOST_NESTED, Location
from ..types import Type
from ..value import Literal
from .known import at
from .source import definition, here
from .structure import LEAF, Structure, fixed, flatten, settled, unflatten
from .symbol import Symbol
from .tracing import NoTypeYet, RegionTrace, Value, entered, number_of, to_operand, weak_number

_BOOL = Type(dtypes.bool)


@dataclass(frozen=True, slots=True)
class Returned:
    """What a branch or a body returned: the leaves, where a weak value is its number, and how they nest."""

    leaves: list[Any]
    structure: Structure
    weak: list[bool]
    """Which leaves are weak values."""
    line: Location | None
    """Where the function is defined."""

    def told(self, operand: Value | Literal) -> str:
        """A type of this side, and the line that it comes from."""
        return at(operand.type, operand.location if isinstance(operand, Value) else self.line)


def returned(python: Callable[..., Any], value: object) -> Returned:
    """What a function returned, taken apart."""
    leaves, structure = ([], fixed(None)) if value is None else flatten(value)
    numbers = [number_of(leaf) for leaf in leaves]
    weak = [number is not leaf for number, leaf in zip(numbers, leaves, strict=True)]
    return Returned(numbers, structure, weak, line_of(python))


def nothing() -> Invalid:
    """What to say of a branch or body that returns nothing."""
    hint = "return a value, or a tuple, dict or dataclass of values"
    return Invalid("a branch or body returns nothing", rule="V5", where=here(), hint=hint)


def traced_branch(region: RegionTrace, python: Callable[..., Any]) -> Returned | None:
    """What a branch returns; None where this path gives no type yet, or its types do not fit, which is kept."""
    try:
        return returned(python, run(region, python, Structure(tuple), ()))
    except NoTypeYet:
        return None
    except TagloomError as error:
        region.instance.keep(error)
        return None


def subregion(region: RegionTrace) -> RegionTrace:
    """A region inside of one; raises Invalid where they nest too deep."""
    if sum(1 for _ in region.around()) >= MOST_NESTED:
        raise Invalid(
            "branches and loops nest too deep",
            where=here(),
            required=f"{MOST_NESTED} regions at most",
            hint="a plain function that calls itself is traced for ever; make it a tl.function",
        )
    return RegionTrace(region.instance, region.names, parent=region)


def run(region: RegionTrace, python: Callable[..., Any], structure: Structure, parameters: Sequence[Value]) -> Any:
    """Trace a function into a region; `structure` says how its parameters nest."""
    if not callable(python):
        raise Usage("a branch, condition or body must be a function", where=here(), got=repr(python))
    check_parameters(python, len(structure.parts))
    with entered(region):
        return settled(python(*unflatten(structure, map(Symbol, parameters))))


def foreseen(region: RegionTrace, structure: Structure, types: Sequence[Type], leaves: Sequence[object]) -> Any:
    """What a cond or a loop makes of which a part gives no type yet: values of which only the types are known.

    They never come into a program: the function is traced again when more is known. `leaves` that are Python numbers
    make weak values.
    """
    line = here()
    values = [
        Value(region, region.names.fresh("foreseen"), type_, line, weak_number(leaf))
        for type_, leaf in zip(types, leaves, strict=True)
    ]
    return unflatten(structure, map(Symbol, values))


def foreseen_cond(region: RegionTrace, side: Returned | None) -> Any:
    """What a cond makes that has a type from one branch only; raises NoTypeYet where it has none from any."""
    if side is None:
        raise NoTypeYet
    return foreseen(region, side.structure, [to_operand(leaf).type for leaf in side.leaves], side.leaves)


def both_weak(one: Returned, other: Returned, position: int) -> int | float | None:
    """What is weak of a result where both branches yield Python numbers, one of them by a weak value."""
    leaves = one.leaves[position], other.leaves[position]
    weak = [weak_number(leaf) for leaf in leaves]
    if None in weak or not (one.weak[position] or other.weak[position]):
        return None
    return weak[0] if isinstance(weak[0], float) else weak[1]


def line_of(python: Callable[..., Any]) -> Location | None:
    """The line where a function is defined, else the one that is running."""
    return definition(python.__code__) if inspect.isfunction(python) else here()


def parameter_names(body: Callable[..., Any], count: int) -> list[str]:
    """The names of the loop variables: those of the body's parameters, where it has as many."""
    try:
        names = list(inspect.signature(body).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"v{k}" for k in range(count)]


def check_parameters(python: Callable[..., Any], count: int) -> None:
    """Raises Usage where a function cannot be called with so many values."""
    try:
        signature = inspect.signature(python)
    except (TypeError, ValueError):
        return  # a builtin that does not say
    try:
        signature.bind(*range(count))
    except TypeError:
        raise Usage(
            "a branch, condition or body takes another number of values",
            where=line_of(python),
            required=counted(count, "parameter"),
            got=str(signature),
            hint="a branch takes none; a condition and a body take each loop variable",
        ) from None


def captured_by(*regions: RegionTrace) -> list[Value]:
    """What these regions use from around them."""
    return list(dict.fromkeys(outer for region in regions for outer in region.captured))


def predicate(value: Any, of: str) -> Value | Literal:
    leaves, structure = flatten(value)
    pred = to_operand(number_of(leaves[0])) if structure == LEAF else None
    if pred is None or pred.type != _BOOL:
        line = pred.location if isinstance(pred, Value) else None
        got = at(pred.type, line) if pred else structure
        raise Invalid(f"the {of} is not one bool", rule="V5", where=here(), required=_BOOL, got=got)
    return pred
