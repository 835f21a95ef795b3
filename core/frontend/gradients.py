"""Gradients in a trace: calls whose pullbacks are taken.

Owns writing `d... = pullback c a...` behind a call of a plain function, of which `derive.resolve` makes a split one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..errors import Invalid, Usage
from ..op import Attributes
from ..program import AGAIN, PULLED
from ..types import Type
from .annotation import Source
from .inference import at, call
from .source import here
from .structure import Structure, flatten, leaf_names, leaves_as, unflatten
from .symbol import Symbol
from .tracing import RegionTrace, Value, current, to_operand


def traced_vjp(region: RegionTrace, source: Source, arguments: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    """The results of a call, and what pulls their adjoints back to those of its arguments, nested as these are; None
    where an argument is no float.

    A pullback is taken once, where the call stands. What is pulled back again, or elsewhere, is computed again there.
    """
    values, structure = call(region, source, arguments)
    pulled = False

    def pullback(adjoint: Any) -> Any:
        nonlocal pulled
        present = current()
        if present is None:
            raise Usage("a pullback is used after its function was traced", where=here(), hint="pull back in it")
        if present is not region or pulled:
            values_again, _ = call(present, source, arguments)
            return _pulled(present, source, arguments, values_again, structure, adjoint, ((AGAIN, True),))
        pulled = True
        return _pulled(region, source, arguments, values, structure, adjoint)

    return unflatten(structure, map(Symbol, values)), pullback


def _pulled(
    region: RegionTrace,
    source: Source,
    arguments: Sequence[Any],
    values: Sequence[Value],
    structure: Structure,
    adjoint: Any,
    marked: Attributes = (),
) -> tuple[Any, ...]:
    inputs = []
    for value, leaf in zip(values, leaves_as(structure, adjoint, "an adjoint"), strict=True):
        if value.type.dtype.kind == "f":
            operand = to_operand(leaf, Type(value.type.dtype) if type(leaf) in (int, float) else None)
            if not value.type.admits(operand.type):
                got = at(operand.type, operand.location if isinstance(operand, Value) else None)
                said = "an adjoint has another type than its result"
                raise Invalid(said, rule="D3", where=here(), required=value.type, got=got)
            inputs.append(region.operand(operand))
    taken = [flatten(argument) for argument in arguments]
    names = [
        name for (name, _), (_, each) in zip(source.arguments, taken, strict=True) for name in leaf_names(each, name)
    ]
    operands = [to_operand(leaf) for leaves, _ in taken for leaf in leaves]
    floats = [(name, operand) for name, operand in zip(names, operands, strict=True) if is_float(operand.type)]
    if not (inputs and floats):
        raise Invalid(
            f"{source.name} has no {'float among its arguments' if inputs else 'float among its results'}",
            rule="D3",
            where=here(),
            hint="integers and bools have no adjoint; convert with tl.astype(x, tl.float64)",
        )
    fresh = [region.names.fresh(f"d_{name}") for name, _ in floats]
    types = [operand.type for _, operand in floats]
    made = iter(region.node("pullback", inputs, types, fresh, attributes=((PULLED, values[0].name), *marked)))
    leaves = iter([Symbol(next(made)) if is_float(operand.type) else None for operand in operands])
    return tuple(unflatten(each, [next(leaves) for _ in found]) for found, each in taken)


def is_float(type_: Type) -> bool:
    return type_.dtype.kind == "f"


def traced_gradient(
    region: RegionTrace, source: Source, arguments: Sequence[Any], by: Sequence[int]
) -> tuple[Any, Any]:
    """The one float that a call returns, and its gradient by the arguments at these places."""
    value, pullback = traced_vjp(region, source, arguments)
    leaf = to_operand(value) if isinstance(value, Symbol) else None
    if leaf is None or not (leaf.type.is_scalar and is_float(leaf.type)):
        raise Invalid(
            f"{source.name} returns something else than one float, which has no gradient",
            rule="D3",
            where=here(),
            required="float64 or float32, of no axes",
            got=leaf.type if leaf else flatten(value)[1],
            hint="tl.vjp(f, *arguments) pulls an adjoint of any result back",
        )
    for place in by:
        for name, part in zip(*_leaves(source, arguments, place), strict=True):
            if not is_float(to_operand(part).type):
                got = to_operand(part).type
                said = f"argument {name} of {source.name} is no float, and has no gradient"
                raise Invalid(said, rule="D3", where=here(), required=dtypes.float64, got=got)
    pulled = pullback(1.0)
    return value, tuple(pulled[place] for place in by)


def _leaves(source: Source, arguments: Sequence[Any], place: int) -> tuple[list[str], list[Any]]:
    leaves, structure = flatten(arguments[place])
    return leaf_names(structure, source.arguments[place][0]), leaves
