"""Rules of taking elements out of arrays, and of putting others in: what was taken from a place is added up there.

An op that only moves elements, whichever it is, moves their numbers alike; `moving` asks it where each came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import dtypes
from ..axes import resolve_axis
from ..op import Gradient, OpBuilder
from .term import Term, adjoint_rule, iota, zeros_like


def movement_rule(op: str) -> Gradient:
    """The rule of an op whose result is made of elements of its first operand."""

    return adjoint_rule(lambda g, z, *operands, **attributes: scatter_back(op, g, *operands, **attributes), None)


def scatter_back(op: str, g: Term, x: Term, *others: Term, **attributes: Any) -> Term:
    """What stands where this op moved the elements of x, added up where they came from."""
    came_from = x.op(op, iota(x.size(axis=None)).reshape_like(x), *others, **attributes)
    return zeros_like(x).reshape(shape=(-1,)).scatter_add(g, came_from).reshape_like(x)


def _take_adjoint(g: Term, z: Term, x: Term, indices: Term, axis: int) -> Term:
    if resolve_axis(axis, x.type) == 0:
        return zeros_like(x).scatter_add(g, indices)
    return scatter_back("take", g, x, indices, axis=axis)


def _scatter_values_adjoint(g: Term, z: Term, x: Term, values: Term, *indices: Term) -> Term:
    """Of several values for one place only the last one has been put there: their numbers are put alike, and those that
    are still there count. What integers stand elsewhere does not matter."""
    taken = g.gather(*indices)
    numbers = iota(taken.size(axis=None)).reshape_like(taken)
    last = x.astype(dtype=dtypes.int64).scatter(numbers, *indices).gather(*indices)
    return last.equal(numbers).where(taken, 0.0).sum_like(values)


def row_adjoint(
    do: OpBuilder, op: str, adjoint: Any, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> tuple[Any, Any] | None:
    """The adjoint of what an op takes rows of, by these: their numbers from 0, in a row, and the adjoint of each. None
    where it takes something else of its first operand."""
    if op not in ("take", "gather") or len(operands) != 2:
        return None
    x, indices, g = (Term(do, each) for each in (*operands, adjoint))
    if op == "take" and resolve_axis(attributes["axis"], x.type) != 0:
        return None
    places = indices if indices.type.dtype is dtypes.int64 else indices.astype(dtype=dtypes.int64)
    shape = indices.type.shape
    if shape is None or len(shape) != 1:
        places = places.reshape(shape=(-1,))
        g = g.reshape_like(x.take(places, axis=0))
    return places.less(0).where(places + x.size(axis=0), places).value, g.value


RULES: Mapping[str, Gradient] = {
    "index": adjoint_rule(lambda g, z, x, key: zeros_like(x).scatter_index(g, key=key)),
    "take": adjoint_rule(_take_adjoint, None),
    "take_along_axis": movement_rule("take_along_axis"),
    "gather": adjoint_rule(lambda g, z, x, *indices: zeros_like(x).scatter_add(g, *indices), None),
    "scatter": adjoint_rule(lambda g, z, x, values, *indices: g.scatter(0.0, *indices), _scatter_values_adjoint, None),
    "scatter_add": adjoint_rule(
        lambda g, z, x, values, *indices: g,
        lambda g, z, x, values, *indices: g.gather(*indices).sum_like(values),
        None,
    ),
    "scatter_index": adjoint_rule(
        lambda g, z, x, values, key: g.scatter_index(0.0, key=key),
        lambda g, z, x, values, key: g.index(key=key).sum_like(values),
    ),
    "boolean_mask": movement_rule("boolean_mask"),
}
