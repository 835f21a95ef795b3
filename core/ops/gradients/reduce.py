"""Rules of reductions. Of several that are the largest all have the same share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..axes import axes_of, sizes
from ..op import Gradient
from .order import before, behind
from .term import Term, adjoints, zero


def _spread(made: Term, x: Term, axis: Any, keepdims: bool) -> Term:
    """What was made along axes, for each element that it was made of."""
    if axis is None or keepdims:
        return made.broadcast_like(x)
    gone = axes_of(axis, x.type)
    key = ", ".join("None" if at in gone else ":" for at in range(len(sizes(x.type))))
    return made.index(key=key).broadcast_like(x)


def _sum(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    return _spread(g, x, axis, keepdims)


def _prod(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    if axis is None:
        return _others(x.reshape(shape=(-1,)), (0,)).reshape_like(x).multiply_no_nan(g)
    return _others(x, axes_of(axis, x.type)).multiply_no_nan(_spread(g, x, axis, keepdims))


def _others(x: Term, axes: tuple[int, ...]) -> Term:
    """For each factor the product of all others along these axes."""
    if not axes:
        return zero(x) + 1.0
    axis, *further = axes
    others = before(x, axis) * behind(x, axis)
    return others * _others(x.prod(axis=axis, keepdims=True), tuple(further)) if further else others


def _extreme(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    is_it = x.equal(_spread(z, x, axis, keepdims))
    count = is_it.astype(dtype=x.type.dtype).sum(axis=axis, keepdims=keepdims)
    return is_it.where(_spread(g / count, x, axis, keepdims), 0.0)


RULES: Mapping[str, Gradient] = {
    "sum": adjoints(_sum),
    "sum_like": adjoints(lambda g, z, x, y: g.broadcast_like(x), None),
    "prod": adjoints(_prod),
    "max": adjoints(_extreme),
    "min": adjoints(_extreme),
}
