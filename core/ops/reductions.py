"""Reductions, and cumulative sums and products: ops that combine elements along axes.

Names and meanings follow the Python Array API standard 2024.12.

Gradients of products do not divide, so that factors of 0 need no special case. The rule of `cumulative_prod` needs
memory for the square of the number of factors: for each factor, the products that contain it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid
from ..types import Type
from .gradient_rules import Term, adjoint_rule, flip, index_along, iota, product_after, product_before, zeros_like
from .op import TypeRule, op
from .type_rules import (
    can_broadcast,
    check_numeric,
    describe_shapes,
    element_count,
    elementwise_type_rule,
    reduced_shape,
    require_sizes,
    resolve_axes,
    resolve_axis,
    rounding_bound,
)

_numeric = elementwise_type_rule("if")
WIDE_INTEGERS = {"i": dtypes.int64, "u": dtypes.uint64}
"""The dtypes in which integers are added and multiplied, by kind."""


def accumulator_dtype(dtype: DType) -> DType:
    """The dtype in which numbers of this dtype are added."""
    return WIDE_INTEGERS.get(dtype.kind, dtype)


def sum_type(x: Type, axis: object = None, keepdims: object = False) -> Type:
    _numeric(Type(x.dtype))
    return Type(accumulator_dtype(x.dtype), reduced_shape(x, axis, keepdims))


def sum_like_type(x: Type, y: Type) -> Type:
    _numeric(Type(x.dtype))
    check_numeric(y)
    if x.shape is not None and y.shape is not None and not can_broadcast(y.shape, x.shape):
        message = f"shape {describe_shapes(y.shape)} does not broadcast to {describe_shapes(x.shape)}"
        raise Invalid(message, required="a shape that broadcasts to that of the first operand", got=f"{x} and {y}")
    return Type(accumulator_dtype(x.dtype), y.shape)


def logical_type(x: Type, axis: object = None, keepdims: object = False) -> Type:
    check_numeric(x)
    return Type(dtypes.bool, reduced_shape(x, axis, keepdims))


def nonempty_type_rule(name: str, dtype: DType | None = None) -> TypeRule:
    """The type rule of a reduction that is undefined without elements."""

    def rule(x: Type, axis: object = None, keepdims: object = False) -> Type:
        check_numeric(x, kinds="iuf")
        if dtype is not None and axis is not None:
            resolve_axis(axis, x)
        result = Type(dtype or x.dtype, reduced_shape(x, axis, keepdims))
        if element_count(x, axis) == 0:
            raise Invalid(
                f"{name} of no elements, of shape {describe_shapes(x.shape or ())}", required="elements", got=x
            )
        return result

    return rule


def ufunc_reduction(ufunc: np.ufunc) -> Any:
    """The NumPy column of a reduction by a function of two elements."""
    return partial(ufunc.reduce, axis=None)


_NUMPY_BUFFER_SIZE = np.getbufsize()
"""The number of elements that NumPy casts at a time; longer sums would be added in a different order than sums of
float64."""
_FLOAT64 = dtypes.float64.numpy
_ONES_VECTOR = np.ones(1024)
"""The sum of up to this many float32 is a product with ones: of 4 it takes 0.7 us, and NumPy's sum 1.2; of 1,024 they
take 1.1 and 1.7."""


def sum_by_dot(x: Any, ones: Any) -> Any:
    """The sum of few elements of float32, in float64."""
    total = x.ravel().astype(_FLOAT64).dot(ones)
    return total if total else np.add.reduce(x, None, _FLOAT64)  # its initial 0.0 makes every zero sum +0.0


def sum_float32(x: Any) -> Any:
    """The sum of any number of elements of float32, in float64; for few, with the bits of `sum_by_dot`."""
    count = x.size
    if 0 < count <= _ONES_VECTOR.size:
        return sum_by_dot(x, _ONES_VECTOR[:count])
    return np.add.reduce(x, None, _FLOAT64) if count <= _NUMPY_BUFFER_SIZE else np.add.reduce(x.astype(_FLOAT64), None)


def sum_kernel(x: Type, axis: Any = None, keepdims: bool = False) -> Any:
    """A quicker sum of arrays of a type: NumPy takes 0.1 us less without keywords, and 0.2 if it widens floats. For
    float32 all forms of the sum of all elements give the same bits, except with `keepdims`."""
    reduce, elements, is_narrow = np.add.reduce, element_count(x, None), x.dtype is dtypes.float32
    if keepdims:
        return None
    if is_narrow and (axis is None or (x.shape is not None and len(resolve_axes(axis, x)) == len(x.shape))):
        ones = _ONES_VECTOR[:elements]
        return (lambda x: sum_by_dot(x, ones)) if elements and elements <= _ONES_VECTOR.size else sum_float32
    if not elements:
        return None
    return (lambda x: reduce(x.astype(_FLOAT64), axis)) if is_narrow else (lambda x: reduce(x, axis))


def arg_reduction(function: Any) -> Any:
    """The column of np.argmax or np.argmin."""

    def column(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(x, axis=axis, keepdims=keepdims)

    return column


def _reduced_element_count(x: Any, axis: Any) -> int:
    shape = np.shape(x)
    return math.prod(
        shape if axis is None else [shape[position] for position in (axis if isinstance(axis, tuple) else (axis,))]
    )


def extremum_reduction(ufunc: np.ufunc) -> Any:
    """The NumPy column of max or min, which returns the first of equal zeros; NumPy leaves their sign to the
    processor."""
    reduce = ufunc_reduction(ufunc)

    def column(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        extrema = reduce(x, axis=axis, keepdims=keepdims)
        if np.asarray(x).dtype.kind != "f" or not np.any(extrema == 0):
            return extrema
        rank = np.ndim(x)
        reduced_axes = (
            range(rank) if axis is None else sorted(position % rank for position in np.atleast_1d(axis).tolist())
        )
        kept_axes = [position for position in range(rank) if position not in reduced_axes]
        rows = np.transpose(x, (*kept_axes, *reduced_axes)).reshape(
            *(np.shape(x)[position] for position in kept_axes), -1
        )
        zeros = np.take_along_axis(rows, np.argmax(rows == 0, axis=-1)[..., None], -1)
        return np.where(extrema == 0, zeros.reshape(np.shape(extrema)), extrema)

    return column


def sum_error_bound(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return rounding_bound(_reduced_element_count(x, axis), np.sum(np.abs(x), axis=axis, keepdims=keepdims), x)


def broadcast_axes(x: Any, y: Any) -> tuple[int, ...]:
    """The axes along which y would broadcast to the shape of x."""
    new = np.ndim(x) - np.ndim(y)
    wide = (position for position, size in enumerate(np.shape(y), new) if size == 1 != np.shape(x)[position])
    return (*range(new), *wide)


def sum_like_array(x: Any, y: Any) -> Any:
    axes = broadcast_axes(x, y)
    return np.sum(x, axis=axes).reshape(np.shape(y)) if axes else x


def sum_like_error_bound(x: Any, y: Any) -> Any:
    axes = broadcast_axes(x, y)
    return rounding_bound(_reduced_element_count(x, axes), np.sum(np.abs(x), axis=axes), x).reshape(np.shape(y))


def prod_error_bound(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Each multiplication rounds once (Higham, Accuracy and Stability of Numerical Algorithms, 3.1)."""
    with np.errstate(all="ignore"):
        return rounding_bound(2 * _reduced_element_count(x, axis), np.abs(np.prod(x, axis=axis, keepdims=keepdims)), x)


def cumulative_type(x: Type, axis: object) -> Type:
    check_numeric(x, kinds="iuf")
    resolve_axis(axis, x)
    return Type(accumulator_dtype(x.dtype), x.shape)


def reduction_op(name: str, types: TypeRule, numpy: Any, doc: str, **columns: Any) -> None:
    columns |= {"attributes": ("axis", "keepdims"), "doc": doc}
    op(name, arity=1, type_rule=types, numpy=numpy, shape_rule=None, **columns)


def extremum_op(name: str, ufunc: np.ufunc, adjective: str, result: list[int]) -> None:
    """Declare the op of the largest or the smallest element."""
    summary = f"The {adjective} element along an axis or several (attribute `axis`; None: of all); NaN if one is NaN;"
    doc = f"""{summary} the first of
equal elements, 0.0 and -0.0 among them. Traps if there is no element. With `keepdims` the axes stay, with size 1.

>>> tl.{name}([[1, 5], [3, 4]], axis=0).tolist()
{result}
"""
    columns = {"symbol": name, "has_innocuous_rounding": True, "gradient": adjoint_rule(extremum_adjoint)}
    reduction_op(name, nonempty_type_rule(name), extremum_reduction(ufunc), doc, **columns)


def broadcast_reduced(reduced: Term, x: Term, axis: Any, keepdims: bool) -> Term:
    """The result of a reduction, broadcast to the elements that were reduced."""
    if axis is None or keepdims:
        return reduced.broadcast_like(x)
    axes = resolve_axes(axis, x.type)
    key = ", ".join("None" if position in axes else ":" for position in range(len(require_sizes(x.type))))
    return reduced.index(key=key).broadcast_like(x)


def sum_adjoint(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    return broadcast_reduced(g, x, axis, keepdims)


def prod_adjoint(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    if axis is None:
        return product_excluding_self(x.reshape(shape=(-1,)), (0,)).reshape_like(x).multiply_no_nan(g)
    return product_excluding_self(x, resolve_axes(axis, x.type)).multiply_no_nan(
        broadcast_reduced(g, x, axis, keepdims)
    )


def product_excluding_self(x: Term, axes: tuple[int, ...]) -> Term:
    """For each factor the product of all other factors along these axes."""
    if not axes:
        return zeros_like(x) + 1.0
    axis, *other_axes = axes
    other_factors = product_before(x, axis) * product_after(x, axis)
    return (
        other_factors * product_excluding_self(x.prod(axis=axis, keepdims=True), tuple(other_axes))
        if other_axes
        else other_factors
    )


def extremum_adjoint(g: Term, z: Term, x: Term, axis: Any = None, keepdims: bool = False) -> Term:
    is_extremum = x.equal(broadcast_reduced(z, x, axis, keepdims))
    count = is_extremum.astype(dtype=x.type.dtype).sum(axis=axis, keepdims=keepdims)
    return is_extremum.where(broadcast_reduced(g / count, x, axis, keepdims), 0.0)


def cumulative_sum_adjoint(g: Term, z: Term, x: Term, axis: int) -> Term:
    return flip(flip(g, axis).cumulative_sum(axis=axis), axis)


def cumulative_prod_adjoint(g: Term, z: Term, x: Term, axis: int) -> Term:
    """The rule forms an array with the factors along `axis` and the products along the next axis: a factor is in each
    product from its own position on."""
    position = resolve_axis(axis, x.type)
    key_suffix = ", None" * (len(z.type.shape or ()) - position - 1)
    product_number = iota(x.size(axis=position)).index(key=f":{key_suffix}")
    factor_number = product_number.index(key=":, None")
    other_factors = (
        factor_number.less(product_number)
        .where(index_along(x, position, "None"), 1.0)
        .cumulative_prod(axis=position + 1)
    )
    contributions = factor_number.less_equal(product_number).where(
        other_factors.multiply_no_nan(index_along(g, position, "None")), 0.0
    )
    return product_before(x, position).multiply_no_nan(contributions.sum(axis=position + 1, keepdims=False))


op(
    "sum",
    arity=1,
    type_rule=sum_type,
    numpy=ufunc_reduction(np.add),
    specialize_numpy=sum_kernel,
    accepts_float32=True,
    numpy_scalar=lambda x: x + 0,  # NumPy's initial 0 turns -0.0 into 0.0
    attributes=("axis", "keepdims"),
    shape_rule=None,
    error_bound=sum_error_bound,
    gradient=adjoint_rule(sum_adjoint),
    symbol="sum",
    doc="""Sum of the elements along an axis or several (attribute `axis`; None: of all), 0 for no elements; with
`keepdims` the axes stay, with size 1.

Integers become int64 or uint64, and wrap. The order in which floats are added is open: bits may differ between engines
and machines. The error is at most n/2**53 times the sum of the n absolute values, before the sum is rounded to the
dtype.

>>> tl.sum([[1, 2], [3, 4]], axis=0).tolist()
[4, 6]
""",
)
op(
    "sum_like",
    arity=2,
    type_rule=sum_like_type,
    numpy=sum_like_array,
    shape_rule=None,
    same_dtype_operands=(0, 1),
    error_bound=sum_like_error_bound,
    gradient=adjoint_rule(lambda g, z, x, y: g.broadcast_like(x), None),
    doc="""x summed along the axes along which y would broadcast to the shape of x: the adjoint of `broadcast_like`, of
the shape of y. Only the shape of y counts; traps if it does not broadcast to that of x.

Dtypes, and the order of additions, are as with `sum`.

>>> tl.sum_like([[1, 2], [3, 4]], [[0], [0]]).tolist()
[[3], [7]]
""",
)
reduction_op(
    "prod",
    sum_type,
    ufunc_reduction(np.multiply),
    """Product of the elements along an axis or several (attribute `axis`; None: of all), 1 for no elements; with
`keepdims` the axes stay, with size 1.

Integers become int64 or uint64, and wrap. The order of floats is open: a product of n is within 2n/2**53 of the exact
one, relative to its size.

>>> tl.prod([[1, 2], [3, 4]], axis=1).tolist()
[2, 12]
""",
    error_bound=prod_error_bound,
    symbol="prod",
    gradient=adjoint_rule(prod_adjoint),
)
extremum_op("max", np.maximum, "largest", [3, 5])
extremum_op("min", np.minimum, "smallest", [1, 4])
reduction_op(
    "argmax",
    nonempty_type_rule("argmax", dtypes.int64),
    arg_reduction(np.argmax),
    """The index of the largest element along an axis (attribute `axis`; None: among all, in order), int64: the first of
equal elements, or the first NaN if there is one. Traps if there is no element.

>>> tl.argmax([3, 5, 5])
1
""",
)
reduction_op(
    "argmin",
    nonempty_type_rule("argmin", dtypes.int64),
    arg_reduction(np.argmin),
    """The index of the smallest element along an axis (attribute `axis`; None: among all, in order), int64: the first
of equal elements, or the first NaN if there is one. Traps if there is no element.

>>> tl.argmin([3, 1, 1])
1
""",
)
reduction_op(
    "all",
    logical_type,
    ufunc_reduction(np.logical_and),
    """Whether all elements along an axis or several (attribute `axis`; None: of all) are true, or not zero; true for
no elements. NaN is not zero. With `keepdims` the axes stay, with size 1.

>>> tl.all([[True, False], [True, True]], axis=1).tolist()
[False, True]
""",
    symbol="all",
    has_innocuous_rounding=True,
)
reduction_op(
    "any",
    logical_type,
    ufunc_reduction(np.logical_or),
    """Whether any element along an axis or several (attribute `axis`; None: of all) is true, or not zero; false for
no elements. NaN is not zero. With `keepdims` the axes stay, with size 1.

>>> tl.any([[True, False], [False, False]], axis=1).tolist()
[True, False]
""",
    symbol="any",
    has_innocuous_rounding=True,
)
op(
    "cumulative_sum",
    arity=1,
    type_rule=cumulative_type,
    numpy=lambda x, axis: np.cumsum(x, axis=axis),
    attributes=("axis",),
    shape_rule=None,
    gradient=adjoint_rule(cumulative_sum_adjoint),
    doc="""Cumulative sums along an axis (attribute `axis`, which may be left out for one axis), added one after
another. Integers become int64 or uint64, and wrap; float32 is added in float64, and each sum rounded.

>>> tl.cumulative_sum([1, 2, 3]).tolist()
[1, 3, 6]
""",
)
op(
    "cumulative_prod",
    arity=1,
    type_rule=cumulative_type,
    numpy=lambda x, axis: np.cumprod(x, axis=axis),
    attributes=("axis",),
    shape_rule=None,
    gradient=adjoint_rule(cumulative_prod_adjoint),
    doc="""Cumulative products along an axis (attribute `axis`, which may be left out for one axis), multiplied one
after another. Integers become int64 or uint64, and wrap; float32 is multiplied in float64, and rounded.

>>> tl.cumulative_prod([1, 2, 3]).tolist()
[1, 2, 6]
""",
)
