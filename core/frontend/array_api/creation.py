"""Creation of arrays: constants, ranges, grids. Outside a trace they are concrete; in a trace they are part of the
program."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Usage
from ...ops.dynamic_shapes import range_length
from ...types import Type
from ...value import Literal, literal
from ..eager.apply import apply, compute
from ..eager.array import ConcreteArray, result_like
from ..sizes import open_sizes, static_integer, static_size
from ..trace.program_builder import MAX_LITERAL_ELEMENTS, current_region, to_literal, to_operand, unwrap_weak
from ..trace.source_location import user_location
from ..trace.stacked_items import is_stacked_array
from ..trace.symbol import Symbol, check_device
from .common import (
    astype,
    check_dtype,
    element_count,
    numpy_scalar,
    rank_of,
    shape_of,
    type_of,
)
from .manipulation import broadcast_arrays, insert_axes


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None) -> Any:
    """An array of a number, nested lists of numbers, or a NumPy array, of dtype `dtype` if that is given.

    An array or symbol of tagloom is returned unchanged, or converted to `dtype`. Without `dtype`, Python bools become
    bool, ints int64, and floats float64. Raises Usage for integers that do not fit into an integer `dtype`, for lists
    whose rows differ in length, and with `copy=False` where a copy is needed.

    >>> asarray([1, 2], dtype=dtypes.float32)
    asarray([1., 2.], dtype=float32)
    """
    check_device(device)
    check_dtype(dtype)
    if is_stacked_array(obj):
        obj = Symbol(to_operand(obj))  # type: ignore[arg-type]
    is_array = isinstance(obj, Symbol | ConcreteArray)
    if copy is False and not (is_array and dtype in (None, obj.dtype)):
        raise Usage(
            "this cannot become an array without a copy",
            where=user_location(),
            required="copy=None, or True",
            got=repr(type(obj).__name__),
        )
    if is_array:
        return astype(obj, dtype)
    return ConcreteArray(literal_of_dtype(obj, dtype))


def literal_of_dtype(obj: Any, dtype: DType | None) -> Literal:
    """A literal converted to a dtype, as `astype` converts; but raises Usage for Python integers that do not fit."""
    if dtype is None:
        return to_literal(obj)
    try:
        return literal(obj, Type(dtype, None))
    except Usage as error:
        value = np.asarray(to_literal(obj).value)
        are_integers = isinstance(obj, int | list | tuple) and value.dtype.kind in "biu" and value.size > 0
        low, high = dtype.range if dtype.is_integer and are_integers else (-math.inf, math.inf)
        if are_integers and not low <= int(value.min()) <= int(value.max()) <= high:
            error.where = user_location()
            raise
        return literal(compute_eagerly("astype", value, dtype=dtype))


def compute_eagerly(op: str, *operands: Any, **attributes: Any) -> Any:
    """The value of an op on constants, computed at once even in a trace."""
    return compute(op, [to_literal(operand) for operand in operands], attributes)


def convert_fill_value(value: Any, dtype: DType) -> Any:
    """The value that fills an array, converted to its dtype: an array, a symbol, or a number that is not a concrete
    array. Raises Usage for a Python integer that does not fit."""
    fill = unwrap_weak(value)
    if isinstance(fill, Symbol | ConcreteArray):
        return astype(fill, dtype)
    constant = literal_of_dtype(fill, dtype).value
    return constant if current_region() is None or np.ndim(np.asarray(constant)) else numpy_scalar(constant, dtype)


def full(shape: Any, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array that is filled with one number, of dtype `dtype` or the number's own.

    Sizes may be symbolic; a negative one traps. Raises Usage for other shapes, and for an integer that does not fit
    into `dtype`.

    >>> full(2, 7)
    asarray([7, 7], dtype=int64)
    """
    check_device(device)
    value, (sizes, symbols) = asarray(unwrap_weak(fill_value), dtype=dtype), open_sizes(shape)
    return apply("broadcast_to", value, *symbols, shape=sizes) if sizes else value


def zeros(shape: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of zeros; float64 by default. Sizes may be symbolic.

    >>> zeros(3)
    asarray([0., 0., 0.], dtype=float64)
    """
    return full(shape, 0, dtype=dtype or dtypes.float64, device=device)


def ones(shape: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of ones; float64 by default. Sizes may be symbolic.

    >>> ones((1, 2))
    asarray([[1., 1.]], dtype=float64)
    """
    return full(shape, 1, dtype=dtype or dtypes.float64, device=device)


def empty(shape: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """The same as `zeros`: no array has undefined elements.

    >>> empty(2)
    asarray([0., 0.], dtype=float64)
    """
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array with the shape of x that is filled with one number; the dtype is that of x by default.

    In a trace the shape may be unknown.

    >>> full_like([1.0, 2.0], 7).tolist()
    [7.0, 7.0]
    """
    check_device(device)
    type_ = type_of(x)
    check_dtype(dtype)
    value = result_like([x], convert_fill_value(fill_value, dtype or type_.dtype))
    if type_.shape is None or None in type_.shape:
        return apply("broadcast_like", value, x)
    return apply("broadcast_to", value, shape=type_.shape) if type_.shape else value


def zeros_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of zeros with the shape of x; the dtype is that of x by default.

    >>> zeros_like([1, 2]).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of ones with the shape of x; the dtype is that of x by default.

    >>> ones_like([1.5, 2.5]).tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """The same as `zeros_like`: no array has undefined elements.

    >>> empty_like([1, 2]).tolist()
    [0, 0]
    """
    return zeros_like(x, dtype=dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: DType | None = None, device: Any = None) -> Any:
    """The numbers start, start + step, ... before `stop`; `arange(n)` starts at 0 and stops before n.

    The dtype is int64 if all bounds are integers, else float64, by default. Bounds may be symbolic: then the size is
    open, known only at run time. Raises Usage for a step of 0, or a bool `dtype`.

    >>> arange(2, 8, 3)
    asarray([2, 5], dtype=int64)
    """
    check_device(device)
    check_dtype(dtype)
    if dtype is not None and dtype.kind == "b":
        raise Usage(
            "there is no range of bools", where=user_location(), required="an integer or a float dtype", got=repr(dtype)
        )
    bounds: list[Any] = [unwrap_weak(bound) for bound in ((0, start, step) if stop is None else (start, stop, step))]
    if not all(type(bound) in (int, float) for bound in bounds):
        return _to_concrete(astype(apply("arange", *bounds), dtype))
    if float in map(type, bounds):
        bounds = list(map(float, bounds))
    elif dtype is not None and dtype.is_integer:
        return _to_concrete(integer_range(bounds, dtype))
    return _to_concrete(astype(number_range(bounds), dtype))


def integer_range(bounds: list[int], dtype: DType) -> Any:
    """A range of Python integers in an integer dtype: a NumPy array or a symbolic value. Bounds may be beyond int64, as
    some of uint64 are: then the range is computed from the distances to its start."""
    count, (start, _, step) = range_size(bounds), bounds
    if count:
        literal_of_dtype([start, start + (count - 1) * step], dtype)
    if count == 0 or all(-(2**63) <= bound < 2**63 for bound in bounds):
        return astype(number_range(bounds if count else [0, 0, 1]), dtype)
    distances = apply("multiply", astype(iota(count), dtype), numpy_scalar(step % 2**64, dtype))
    return apply("add", distances, numpy_scalar(start, dtype))


def _to_concrete(value: Any) -> Any:
    return value if isinstance(value, Symbol) else asarray(value)


def number_range(bounds: list[Any]) -> Any:
    """A range of Python numbers: a NumPy array if it is short or no trace is active, else a symbolic value."""
    count = range_size(bounds)
    if current_region() is None or count <= MAX_LITERAL_ELEMENTS:
        return compute_eagerly("arange", *bounds)
    return apply("reshape", apply("arange", *bounds), shape=(count,))


def iota(count: Any) -> Any:
    """The integers from 0 below a count: a NumPy array or a symbolic value. A symbolic count that is negative traps."""
    if type(count) is int:
        return number_range([0, count, 1])
    numbers = apply("arange", 0, count, 1)
    return apply("broadcast_to", numbers, count, shape=(None,)) if isinstance(count, Symbol) else numbers


def range_size(bounds: list[Any]) -> int:
    """The number of elements of a range; raises Usage for a step of 0 and for an infinite range."""
    start, stop, step = bounds
    if not (step and math.isfinite((stop - start) / step)):
        raise Usage("the range is infinite", where=user_location(), got=f"{start}, {stop}, {step}")
    return range_length(start, stop, step)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, which is the last of them if `endpoint` is true.

    The dtype is float64 by default; floats of 16 bits are computed in float64, and rounded once. All three may be
    symbolic. Raises Usage for a negative `num`; a symbolic one traps.

    >>> linspace(0.0, 1.0, 5)
    asarray([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64)
    """
    check_device(device)
    count = num if isinstance(num, Symbol) else static_integer(num, "num")
    if not isinstance(count, Symbol) and count < 0:
        raise Usage("num is negative", where=user_location(), required="num from 0 up", got=num)
    wide_dtype = dtypes.float32 if dtype is dtypes.float32 else dtypes.float64
    first, last = (astype(asarray(bound), wide_dtype) for bound in (unwrap_weak(start), unwrap_weak(stop)))
    steps = count - 1 if endpoint else count
    positions = astype(_to_concrete(iota(count)), wide_dtype)
    if isinstance(count, Symbol):
        numbers = first + positions * ((last - first) / astype(apply("maximum", steps, 1), wide_dtype))
        is_last = (positions == astype(steps, wide_dtype)) & (count > 1)
        return astype(apply("where", is_last, last, numbers) if endpoint else numbers, dtype)
    numbers = first + positions * ((last - first) / float(max(steps, 1)))
    if endpoint and count > 1:
        numbers = apply("where", positions == float(count - 1), last, numbers)
    return astype(numbers, dtype)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Any = None
) -> Any:
    """A matrix with ones on the k-th diagonal above the main one, and zeros elsewhere; float64 by default.

    It has `n_rows` rows and `n_cols` columns, by default as many as rows. They may be symbolic; a negative one traps.
    Raises Usage for other sizes.

    >>> eye(2)
    asarray([[1., 0.],
             [0., 1.]], dtype=float64)
    """
    check_device(device)
    check_dtype(dtype)
    rows, columns = (
        size if isinstance(size, Symbol) else static_size(size, "a size")
        for size in (n_rows, n_rows if n_cols is None else n_cols)
    )
    return _to_concrete(diagonal_of_ones(rows, columns, _diagonal_number(k), dtype or dtypes.float64))


def diagonal_of_ones(rows: Any, columns: Any, k: int, dtype: DType) -> Any:
    """A matrix with ones on the k-th diagonal: a NumPy array or a symbolic value."""
    diagonal_columns = apply("add", insert_axes(iota(rows), [1]), k)
    return astype(apply("equal", diagonal_columns, insert_axes(iota(columns), [0])), dtype)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of a matrix, or of a stack of matrices, with zeros above the k-th diagonal.

    `k` counts diagonals upwards from the main one, which is 0. Raises Usage for an array with fewer than two axes.

    >>> tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    is_below = apply("less_equal", _diagonal_offsets(x), _diagonal_number(k))
    return apply("where", is_below, x, numpy_scalar(0, type_of(x).dtype))


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of a matrix, or of a stack of matrices, with zeros below the k-th diagonal.

    `k` counts diagonals upwards from the main one, which is 0. Raises Usage for an array with fewer than two axes.

    >>> triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    is_above = apply("greater_equal", _diagonal_offsets(x), _diagonal_number(k))
    return apply("where", is_above, x, numpy_scalar(0, type_of(x).dtype))


def _diagonal_number(k: Any) -> int:
    """A static number of a diagonal. No matrix has a diagonal beyond int64, so that larger numbers mean its ends."""
    low, high = dtypes.int64.range
    return min(max(static_integer(k, "k"), low), high)


def _diagonal_offsets(x: Any) -> Any:
    """For each element of a matrix the number of its diagonal; the main diagonal is 0."""
    if rank_of(x) < 2:
        raise Usage("this is not a matrix", where=user_location(), required="2 axes or more", got=type_of(x))
    columns, rows = (iota(element_count(x, axis)) for axis in (-1, -2))
    return apply("subtract", insert_axes(columns, [0]), insert_axes(rows, [1]))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of a grid: for each array of one axis, an array that varies along its own axis of the grid.

    With "ij", the k-th array varies along axis k; with "xy", the axes of the first two are swapped. Raises Usage for
    another `indexing`, and for arrays that do not have one axis.

    >>> [x.tolist() for x in meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise Usage("there is no such indexing", where=user_location(), required='"xy" or "ij"', got=repr(indexing))
    if any(len(shape_of(coordinates)) != 1 for coordinates in arrays):
        raise Usage(
            "the coordinates do not have one axis each",
            where=user_location(),
            got=", ".join(str(type_of(coordinates)) for coordinates in arrays),
        )
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    pairs = zip(arrays, order, strict=True)
    return broadcast_arrays(
        *(insert_axes(array, [axis for axis in order if axis != own_axis]) for array, own_axis in pairs)
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """A copy of another library's array, taken by DLPack.

    Raises Usage where the array does not support DLPack (an AttributeError), where its dtype is unknown (a
    BufferError), and for `copy=False`, which needs a copy (a ValueError).

    >>> from_dlpack(np.ones(2))
    asarray([1., 1.], dtype=float64)
    """
    check_device(device)
    if isinstance(x, ConcreteArray):
        return x
    if copy is False:
        raise Usage(
            "this cannot become an array without a copy",
            where=user_location(),
            required="copy=None, or True",
            got=type(x).__name__,
            python=ValueError,
        )
    try:
        return asarray(np.from_dlpack(x))
    except (AttributeError, TypeError, BufferError, RuntimeError) as error:
        python = BufferError if hasattr(x, "__dlpack__") else AttributeError
        message = "this array cannot be imported by DLPack"
        raise Usage(message, where=user_location(), got=f"{error}", python=python) from None
