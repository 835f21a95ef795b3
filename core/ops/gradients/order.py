"""Rules of what goes along an axis: sums and products so far, and sorting.

Products divide by nothing, so that zeros among the factors are numbers like others. The rule of `cumulative_prod`
takes room for the square of the number of factors: for each of them the products from it on.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..axes import resolve_axis
from ..op import Gradient
from .term import Term, adjoint_rule, iota, zeros_like


def flip(x: Term, axis: int) -> Term:
    return index_along(x, axis, "::-1")


def index_along(x: Term, axis: int, key: str) -> Term:
    """What a key takes along one axis."""
    return x.index(key=":, " * resolve_axis(axis, x.type) + key)


def product_before(x: Term, axis: int) -> Term:
    """For each factor the product of those before it, 1 for the first."""
    ones = zeros_like(index_along(x, axis, ":1")) + 1.0
    return ones.concat(index_along(x, axis, ":-1"), axis=axis).cumulative_prod(axis=axis)


def product_after(x: Term, axis: int) -> Term:
    """For each factor the product of those behind it, 1 for the last."""
    return flip(product_before(flip(x, axis), axis), axis)


def _cumulative_sum_adjoint(g: Term, z: Term, x: Term, axis: int) -> Term:
    return flip(flip(g, axis).cumulative_sum(axis=axis), axis)


def _cumulative_prod_adjoint(g: Term, z: Term, x: Term, axis: int) -> Term:
    """Along the axis `at` is the factor, along the next one the product: from what is behind the factor on."""
    at = resolve_axis(axis, x.type)
    rest = ", None" * (len(z.type.shape or ()) - at - 1)
    product = iota(x.size(axis=at)).index(key=f":{rest}")
    factor = product.index(key=":, None")
    further = factor.less(product).where(index_along(x, at, "None"), 1.0).cumulative_prod(axis=at + 1)
    each = factor.less_equal(product).where(further.multiply_no_nan(index_along(g, at, "None")), 0.0)
    return product_before(x, at).multiply_no_nan(each.sum(axis=at + 1, keepdims=False))


def _sort_adjoint(g: Term, z: Term, x: Term, axis: int, descending: bool) -> Term:
    """The order of the order is where each element has gone."""
    gone_to = x.argsort(axis=axis, descending=descending).argsort(axis=axis, descending=False)
    return g.take_along_axis(gone_to, axis=axis)


RULES: Mapping[str, Gradient] = {
    "cumulative_sum": adjoint_rule(_cumulative_sum_adjoint),
    "cumulative_prod": adjoint_rule(_cumulative_prod_adjoint),
    "sort": adjoint_rule(_sort_adjoint),
}
