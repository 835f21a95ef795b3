"""Rules of what goes along an axis: sums and products so far, and sorting.

Products divide by nothing, so that zeros among the factors are numbers like others. The rule of `cumulative_prod`
takes room for the square of the number of factors: for each of them the products from it on.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..axes import axis_of
from ..op import Gradient
from .term import Term, adjoints, counted, zero


def flipped(x: Term, axis: int) -> Term:
    return along(x, axis, "::-1")


def along(x: Term, axis: int, key: str) -> Term:
    """What a key takes along one axis."""
    return x.index(key=":, " * axis_of(axis, x.type) + key)


def before(x: Term, axis: int) -> Term:
    """For each factor the product of those before it, 1 for the first."""
    ones = zero(along(x, axis, ":1")) + 1.0
    return ones.concat(along(x, axis, ":-1"), axis=axis).cumulative_prod(axis=axis)


def behind(x: Term, axis: int) -> Term:
    """For each factor the product of those behind it, 1 for the last."""
    return flipped(before(flipped(x, axis), axis), axis)


def _summed(g: Term, z: Term, x: Term, axis: int) -> Term:
    return flipped(flipped(g, axis).cumulative_sum(axis=axis), axis)


def _multiplied(g: Term, z: Term, x: Term, axis: int) -> Term:
    """Along the axis `at` is the factor, along the next one the product: from what is behind the factor on."""
    at = axis_of(axis, x.type)
    rest = ", None" * (len(z.type.shape or ()) - at - 1)
    product = counted(x.size(axis=at)).index(key=f":{rest}")
    factor = product.index(key=":, None")
    further = factor.less(product).where(along(x, at, "None"), 1.0).cumulative_prod(axis=at + 1)
    each = factor.less_equal(product).where(further.multiply_no_nan(along(g, at, "None")), 0.0)
    return before(x, at).multiply_no_nan(each.sum(axis=at + 1, keepdims=False))


def _sorted(g: Term, z: Term, x: Term, axis: int, descending: bool) -> Term:
    """The order of the order is where each element has gone."""
    gone_to = x.argsort(axis=axis, descending=descending).argsort(axis=axis, descending=False)
    return g.take_along_axis(gone_to, axis=axis)


RULES: Mapping[str, Gradient] = {
    "cumulative_sum": adjoints(_summed),
    "cumulative_prod": adjoints(_multiplied),
    "sort": adjoints(_sorted),
}
