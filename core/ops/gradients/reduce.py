"""Rules of reductions. Of several that are the largest all have the same share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..axes import require_sizes, resolve_axes
from ..op import Gradient
from .order import product_after, product_before
from .term import Term, adjoint_rule, zeros_like


def _broadcast_reduced(made: Term, x: Term, axis: Any, keepdims: bool) -> Term:
    """What was made along axes, for each element that it was made of."""
    if axis is None or keepdims:
        return made.broadcast_like(x)
    gone = resolve_axes(axis, x.type)
    key = ", ".join("None" if at in gone else ":" for at in range(len(require_sizes(x.type))))
    return made.index(key=key).broadcast_like(x)


def _sum_adjoint(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    return _broadcast_reduced(g, x, axis, keepdims)


def _prod_adjoint(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    if axis is None:
        return _product_excluding_self(x.reshape(shape=(-1,)), (0,)).reshape_like(x).multiply_no_nan(g)
    return _product_excluding_self(x, resolve_axes(axis, x.type)).multiply_no_nan(
        _broadcast_reduced(g, x, axis, keepdims)
    )


def _product_excluding_self(x: Term, axes: tuple[int, ...]) -> Term:
    """For each factor the product of all others along these axes."""
    if not axes:
        return zeros_like(x) + 1.0
    axis, *further = axes
    others = product_before(x, axis) * product_after(x, axis)
    return others * _product_excluding_self(x.prod(axis=axis, keepdims=True), tuple(further)) if further else others


def _extremum_adjoint(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    is_it = x.equal(_broadcast_reduced(z, x, axis, keepdims))
    count = is_it.astype(dtype=x.type.dtype).sum(axis=axis, keepdims=keepdims)
    return is_it.where(_broadcast_reduced(g / count, x, axis, keepdims), 0.0)


RULES: Mapping[str, Gradient] = {
    "sum": adjoint_rule(_sum_adjoint),
    "sum_like": adjoint_rule(lambda g, z, x, y: g.broadcast_like(x), None),
    "prod": adjoint_rule(_prod_adjoint),
    "max": adjoint_rule(_extremum_adjoint),
    "min": adjoint_rule(_extremum_adjoint),
}
