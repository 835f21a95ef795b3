"""Functions of layers of neural networks: normalization, dropout, attention. They are composed of ops."""

from __future__ import annotations

import math
from typing import Any

from ...errors import Invalid, Usage
from ..api import apply
from ..effects import uniform
from ..trace.source_location import user_location
from .common import astype, check_floating, element_count, rank_of, static_number, static_sizes, type_of
from .creation import iota
from .manipulation import expand_dims, matrix_transpose
from .networks import softmax
from .numeric import mean, square


def layer_norm(x: Any, /, *, axis: Any = -1, scale: Any = None, offset: Any = None, epsilon: float = 1e-5) -> Any:
    """Floats minus their mean along axes, divided by their standard deviation; then times `scale`, plus `offset`.
    `epsilon` is added to the variance.

    >>> layer_norm([1.0, 3.0], epsilon=0.0).tolist()
    [-1.0, 1.0]
    """
    check_floating(x, "layer_norm")
    deviations = apply("subtract", x, mean(x, axis=axis, keepdims=True))
    variance = mean(square(deviations), axis=axis, keepdims=True)
    normal = apply("divide", deviations, apply("sqrt", apply("add", variance, static_number(epsilon, "epsilon"))))
    if scale is not None:
        normal = apply("multiply", normal, scale)
    return normal if offset is None else apply("add", normal, offset)


def dropout(x: Any, rate: float, /) -> Any:
    """Floats with each element replaced by 0 with probability `rate`, from 0 below 1, or else divided by `1 - rate`.
    The draw is that of `tl.uniform`: it depends on the seed, not on the schedule. The shape of x must be static.

    >>> dropout([1.0, 2.0], 0.0)
    asarray([1., 2.], dtype=float64)
    """
    check_floating(x, "dropout")
    share = static_number(rate, "rate")
    if not 0.0 <= share < 1.0:
        raise Usage("a rate of dropout is out of range", where=user_location(), required="from 0 below 1", got=rate)
    is_kept = apply("greater_equal", uniform(static_sizes(x, "dropout")), share)
    return apply("where", is_kept, apply("divide", x, 1.0 - share), 0.0)


def dot_product_attention(
    query: Any, key: Any, value: Any, /, *, mask: Any = None, causal: bool = False, scale: float | None = None
) -> Any:
    """Attention: for each query the mean of the values, weighted by the softmax of its products with the keys.

    Shapes: query `(..., n, d)`, key `(..., m, d)`, value `(..., m, e)`, result `(..., n, e)`; a mask of bools
    broadcasts to `(..., n, m)`, and is true where a query may attend. With `causal` query i attends to keys up to i
    only. `scale` multiplies the products, by default with 1/sqrt(d). A query that may attend to nothing gets NaN.

    >>> dot_product_attention([[1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], [[2.0], [4.0]]).tolist()
    [[3.0]]
    """
    for operand in (query, key, value):
        check_floating(operand, "dot_product_attention")
        if rank_of(operand) < 2:
            required = "arrays of two axes or more"
            raise Invalid(
                "attention needs matrices", rule="V4", where=user_location(), required=required, got=type_of(operand)
            )
    products, size = apply("matmul", query, matrix_transpose(key)), element_count(query, -1)
    if scale is not None:
        products = apply("multiply", products, static_number(scale, "scale"))
    elif type(size) is int:
        products = apply("multiply", products, 1.0 / math.sqrt(size) if size else 0.0)
    else:
        products = apply("divide", products, apply("sqrt", astype(size, type_of(products).dtype)))
    if causal:
        rows, columns = iota(element_count(query, -2)), iota(element_count(key, -2))
        causal_mask = apply("less_equal", columns, expand_dims(rows, axis=1))
        mask = causal_mask if mask is None else apply("logical_and", mask, causal_mask)
    if mask is not None:
        products = apply("where", mask, products, -math.inf)
    return apply("matmul", softmax(products), value)
