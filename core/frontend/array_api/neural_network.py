"""Functions for neural networks, beyond the standard: activations, softmax, layers, segment sums, clipping of
gradients.

They are composed of functions of the standard. Activations are elementwise, for floats of any shape, and keep the dtype
of their operand.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...autodiff.rows import Rows
from ...dtypes import DType
from ...errors import Invalid, Usage
from ..eager.apply import apply
from ..effects import uniform
from ..sizes import static_size
from ..trace.pytree import flatten, is_number_list, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .common import (
    astype,
    check_floating,
    check_indices,
    check_numeric,
    element_count,
    numpy_scalar,
    rank_of,
    resolve_axis,
    shape_of,
    static_number,
    static_sizes,
    type_of,
    widen,
)
from .creation import iota
from .datatypes import result_type
from .indexing import shape as sizes_of
from .manipulation import expand_dims, matrix_transpose
from .numeric import max as largest
from .numeric import mean, square
from .numeric import sum as total


def relu(x: Any, /) -> Any:
    """Each element, or 0 if it is negative. The derivative at 0 is 0.

    >>> relu([-2.0, 0.0, 3.0]).tolist()
    [0.0, 0.0, 3.0]
    """
    check_floating(x, "relu")
    return apply("where", apply("less_equal", x, 0.0), 0.0, x)


def softplus(x: Any, /) -> Any:
    """The logarithm of 1 + exp(x), without overflow.

    >>> softplus([0.0, 1000.0]).tolist()
    [0.6931471805599453, 1000.0]
    """
    check_floating(x, "softplus")
    return apply("logaddexp", x, 0.0)


def sigmoid(x: Any, /) -> Any:
    """The logistic function 1 / (1 + exp(-x)), accurate for large negative x too.

    >>> sigmoid([0.0, -1000.0, 1000.0]).tolist()
    [0.5, 0.0, 1.0]
    """
    check_floating(x, "sigmoid")
    return astype(apply("exp", apply("negative", softplus(apply("negative", widen(x))))), type_of(x).dtype)


def silu(x: Any, /) -> Any:
    """x times its sigmoid; also called swish.

    >>> silu([0.0, 1000.0]).tolist()
    [0.0, 1000.0]
    """
    check_floating(x, "silu")
    wide = widen(x)
    return astype(apply("multiply", wide, sigmoid(wide)), type_of(x).dtype)


def gelu(x: Any, /, *, approximate: bool = False) -> Any:
    """x times the probability that a standard normal number is less than x. `approximate` computes it by tanh, as many
    published networks do.

    >>> gelu([0.0, 100.0]).tolist()
    [0.0, 100.0]
    """
    check_floating(x, "gelu")
    wide = widen(x)
    if approximate:
        cube = apply("multiply", apply("multiply", wide, wide), apply("multiply", wide, 0.044715))
        inner = apply("multiply", apply("add", wide, cube), math.sqrt(2.0 / math.pi))
        result = apply("multiply", apply("multiply", wide, 0.5), apply("add", apply("tanh", inner), 1.0))
    else:
        half = apply("multiply", wide, 0.5)
        result = apply("multiply", half, apply("erfc", apply("multiply", wide, -math.sqrt(0.5))))
    return astype(result, type_of(x).dtype)


def one_hot(indices: Any, count: Any, /, *, dtype: DType | None = None) -> Any:
    """The one-hot encoding of indices: along a new last axis of size `count`, 1 at the index and 0 elsewhere.

    An index out of range becomes zeros only. The dtype is float64 by default. The count may be symbolic; then a
    negative one traps. Raises Invalid (V4) for indices that are not integers.

    >>> one_hot([1, 0], 3, dtype=dtypes.int64).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    check_indices(indices)
    wide_dtype = dtypes.uint64 if type_of(indices).dtype is dtypes.uint64 else dtypes.int64
    positions = astype(iota(count if isinstance(count, Symbol) else static_size(count, "the count")), wide_dtype)
    return astype(apply("equal", expand_dims(astype(indices, wide_dtype), -1), positions), dtype or dtypes.float64)


def softmax(x: Any, /, *, axis: int = -1) -> Any:
    """The softmax of floats along an axis: exponentials, divided by their sum.

    >>> softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    if _is_empty(x, axis):
        return apply("exp", x)
    wide = widen(x)
    powers = apply("exp", apply("subtract", wide, largest(wide, axis=axis, keepdims=True)))
    return astype(apply("divide", powers, total(powers, axis=axis, keepdims=True)), type_of(x).dtype)


def log_softmax(x: Any, /, *, axis: int = -1) -> Any:
    """The logarithm of `softmax`, computed accurately even where the softmax is near 0.

    >>> log_softmax([0.0, 0.0]).tolist()
    [-0.6931471805599453, -0.6931471805599453]
    """
    if _is_empty(x, axis):
        return apply("log", x)
    wide = widen(x)
    shifted = apply("subtract", wide, largest(wide, axis=axis, keepdims=True))
    logarithm = apply("log", total(apply("exp", shifted), axis=axis, keepdims=True))
    return astype(apply("subtract", shifted, logarithm), type_of(x).dtype)


def _is_empty(x: Any, axis: int) -> bool:
    """Whether an axis is known to have no elements, and so no largest one."""
    return type_of(x).shape is not None and shape_of(x)[resolve_axis(axis, x)] == 0


def segment_sum(values: Any, segments: Any, count: int, /) -> Any:
    """The sums of values by segment: element k of the result is the sum of the values whose segment is k.

    `values` has any number of axes; `segments`, integers with one axis, has the segment of each element along their
    first axis. The result has size `count` along it. A negative segment counts from the last. Traps on a segment out of
    range. Raises Invalid (V4) where the arrays do not fit each other, or a size other than the first is unknown.

    >>> segment_sum([1, 2, 4], [0, 1, 0], 2).tolist()
    [5, 2]
    """
    check_numeric(values)
    check_indices(segments)
    if rank_of(segments) != 1 or rank_of(values) == 0:
        required = "values with axes, and segments with one axis"
        raise Invalid(
            "segments do not fit the values",
            rule="V4",
            where=user_location(),
            required=required,
            got=f"{type_of(values)} and {type_of(segments)}",
        )
    value_sizes = static_sizes(values, "segment_sum", range(1, rank_of(values)))
    shape = (static_size(count, "the count"), *value_sizes)
    zeros = apply("broadcast_to", numpy_scalar(0, type_of(values).dtype), shape=shape)
    value_count, segment_count = shape_of(values)[0], shape_of(segments)[0]
    if None in (value_count, segment_count):  # traps where there are not as many segments as values
        segments = apply("reshape_like", segments, iota(element_count(values, 0)))
    elif value_count != segment_count:
        message, got = "there is not one segment for each value", f"{type_of(values)} and {type_of(segments)}"
        raise Invalid(message, rule="V4", where=user_location(), required=value_count, got=got)
    return apply("scatter_add", zeros, values, segments)


def clip_by_norm(x: Any, norm: Any, /) -> Any:
    """An array of floats, or `tl.Rows`, scaled down so that its L2 norm is at most `norm`; computed in float32 for
    floats of 16 bits, whose squares may overflow.

    >>> clip_by_norm([3.0, 4.0], 2.5).tolist()
    [1.5, 2.0]
    """
    length = apply("sqrt", sum_of_squares(x))

    def scale_down(values: Any) -> Any:
        scaled = apply("divide", apply("multiply", widen(values), norm), apply("maximum", length, norm))
        return scaled if type_of(values).dtype not in dtypes.FLOAT_FORMATS else astype(scaled, type_of(values).dtype)

    return map_values(x, scale_down)


def clip_by_global_norm(values: Any, norm: Any, /) -> tuple[Any, Any]:
    """Nested arrays of floats and `tl.Rows`, scaled down by a common factor so that the L2 norm of all together is at
    most `norm`. The second result is the norm before the scaling, a float32 for floats of 16 bits. If it is infinite or
    NaN, all elements become NaN.

    Raises Usage where there are no arrays.

    >>> clipped, length = clip_by_global_norm({"w": 3.0, "b": 4.0}, 2.5)
    >>> clipped, length
    ({'w': 1.5, 'b': 2.0}, 5.0)
    """
    leaves, structure = flatten(values, is_leaf=lambda value: isinstance(value, Rows) or is_number_list(value))
    if not leaves:
        raise Usage("clipping needs arrays", where=user_location(), required="arrays of floats", got=repr(values))
    length = apply("sqrt", functools.reduce(functools.partial(apply, "add"), map(sum_of_squares, leaves)))
    ratio = apply("divide", norm, apply("maximum", length, norm))
    factor = apply("where", apply("isfinite", length), ratio, math.nan)
    clipped = [
        map_values(leaf, lambda array: apply("multiply", array, astype(factor, type_of(array).dtype)))
        for leaf in leaves
    ]
    return unflatten(structure, clipped), length


def sum_of_squares(x: Any) -> Any:
    """The sum of the squares of all elements, float32 for floats of 16 bits; for rows, of the table that they add up
    to."""
    first, second = (x.values, sum_duplicate_rows(x).values) if isinstance(x, Rows) else (x, x)
    return apply("sum", apply("multiply", widen(first), widen(second)), axis=None, keepdims=False)


def map_values(x: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to an array, or to the values of rows."""
    return Rows(x.indices, change(x.values)) if isinstance(x, Rows) else change(x)


def sum_duplicate_rows(rows: Rows) -> Rows:
    """The same rows, where every duplicate has the sum over all duplicates of its index.

    >>> import tagloom as tl
    >>> sum_duplicate_rows(Rows(tl.asarray([5, 2, 5]), tl.asarray([[1.0], [2.0], [4.0]]))).values
    asarray([[5.],
             [2.],
             [5.]], dtype=float64)
    """
    numbers = apply("inverse_indices", rows.indices)
    zeros = apply("multiply_no_nan", rows.values, 0.0)
    totals = apply("scatter_add", zeros, rows.values, numbers)
    return Rows(rows.indices, apply("take", totals, numbers, axis=0))


def layer_norm(x: Any, /, *, axis: Any = -1, scale: Any = None, offset: Any = None, epsilon: float = 1e-5) -> Any:
    """Floats minus their mean along axes, divided by their standard deviation; then times `scale`, plus `offset`.
    `epsilon` is added to the variance.

    >>> layer_norm([1.0, 3.0], epsilon=0.0).tolist()
    [-1.0, 1.0]
    """
    check_floating(x, "layer_norm")
    wide = widen(x)
    deviations = apply("subtract", wide, mean(wide, axis=axis, keepdims=True))
    variance = mean(square(deviations), axis=axis, keepdims=True)
    deviation = apply("sqrt", apply("add", variance, static_number(epsilon, "epsilon")))
    normal, dtype = apply("divide", deviations, deviation), type_of(x).dtype
    for name, operand in (("multiply", scale), ("add", offset)):
        if operand is not None:
            normal = apply(name, normal, operand if isinstance(operand, int | float) else widen(operand))
            dtype = result_type(dtype, operand)
    return astype(normal, dtype)


def dropout(x: Any, rate: float, /) -> Any:
    """Floats with each element replaced by 0 with probability `rate`, from 0 below 1, or else divided by `1 - rate`.
    The draw is that of `tl.uniform`: it depends on the seed, not on the schedule.

    >>> dropout([1.0, 2.0], 0.0)
    asarray([1., 2.], dtype=float64)
    """
    check_floating(x, "dropout")
    share = static_number(rate, "rate")
    if not 0.0 <= share < 1.0:
        raise Usage("a rate of dropout is out of range", where=user_location(), required="from 0 below 1", got=rate)
    is_kept = apply("greater_equal", uniform(sizes_of(x)), share)
    return apply("where", is_kept, apply("divide", x, 1.0 - share), 0.0)


def _check_same_size(axes: str, first: Any, second: Any, axis: int) -> None:
    """Raises Invalid (V4) where an axis of two arrays has two sizes."""
    if len({shape_of(first)[axis], shape_of(second)[axis]} - {None}) > 1:
        raise Invalid(
            f"{axes} differ",
            rule="V4",
            where=user_location(),
            required="one size",
            got=f"{type_of(first)} and {type_of(second)}",
        )


def dot_product_attention(
    query: Any, key: Any, value: Any, /, *, mask: Any = None, causal: bool = False, scale: float | None = None
) -> Any:
    """Attention: for each query the mean of the values, weighted by the softmax of its products with the keys.

    Shapes: query `(..., n, d)`, key `(..., m, d)`, value `(..., m, e)`, result `(..., n, e)`; a mask of bools
    broadcasts to `(..., n, m)`, and is true where a query may attend. With `causal` query i attends to keys up to i
    only. `scale` multiplies the products, by default with 1/sqrt(d). A query that may attend to nothing gets NaN.
    Raises Invalid (V4) for other shapes, and for arrays that are not of floats.

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
    _check_same_size("the last axes of query and key", query, key, -1)
    _check_same_size("the second last axes of key and value", key, value, -2)
    dtype = result_type(query, key, value)
    query, key, value = widen(query), widen(key), widen(value)
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
    return astype(apply("matmul", softmax(products), value), dtype)
