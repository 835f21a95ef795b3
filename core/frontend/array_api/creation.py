"""Creation: arrays of constants and ranges, concrete ones outside of a trace; in one they are part of the program."""

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
from ..api import apply, compute
from ..eager.array import ConcreteArray, CopyNeeded, result_like
from ..trace.source_location import user_location
from ..trace.symbol import Symbol, check_device
from ..trace.trace import current_region, to_operand, unwrap_weak
from .common import (
    astype,
    check_dtype,
    element_count,
    numpy_scalar,
    rank_of,
    shape_of,
    static_integer,
    static_shape,
    static_size,
    type_of,
)
from .manipulation import broadcast_arrays, insert_axes

MAX_LITERAL_ELEMENTS = 64
"""How many elements of a range are written into a program; more are computed when it runs."""


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None) -> Any:
    """An array of these: numbers, lists of them, NumPy's arrays, or an array as it is, as `dtype` if that is given.

    >>> asarray([1, 2], dtype=dtypes.float32)
    asarray([1., 2.], dtype=float32)
    """
    check_device(device)
    check_dtype(dtype)
    known = isinstance(obj, Symbol | ConcreteArray)
    if copy is False and not (known and dtype in (None, obj.dtype)):
        raise Usage(
            "this needs a copy", where=user_location(), required="copy=None, or True", got=repr(type(obj).__name__)
        )
    if known:
        return astype(obj, dtype)
    return ConcreteArray(_literal_of_dtype(obj, dtype))


def _literal_of_dtype(obj: Any, dtype: DType | None) -> Literal:
    """A literal of a dtype, which whatever it was becomes; integers and lists of them are refused that do not fit."""
    if dtype is None:
        return _make_literal(obj)
    try:
        return literal(obj, Type(dtype, None))
    except Usage as error:
        value = np.asarray(_make_literal(obj).value)
        is_counted = isinstance(obj, int | list | tuple) and value.dtype.kind in "biu"
        if dtype.is_integer and is_counted and not _fits_dtype(value, dtype):
            error.where = user_location()
            raise
        return literal(_compute_eagerly("astype", value, dtype=dtype))


def _fits_dtype(integers: Any, dtype: DType) -> bool:
    low, high = dtype.range
    return not integers.size or (low <= int(integers.min()) and int(integers.max()) <= high)


def _make_literal(obj: Any) -> Literal:
    found = to_operand(obj)
    assert isinstance(found, Literal)
    return found


def _compute_eagerly(op: str, *operands: Any, **attributes: Any) -> Any:
    """What an op gives eagerly, in a trace too."""
    return compute(op, [_make_literal(each) for each in operands], attributes)


def convert_fill_value(value: Any, dtype: DType) -> Any:
    """What arrays are filled with, as a dtype; a number is no concrete array, and Python's has to fit."""
    given = unwrap_weak(value)
    if isinstance(given, Symbol | ConcreteArray):
        return astype(given, dtype)
    made = _literal_of_dtype(given, dtype).value
    return made if current_region() is None or np.ndim(np.asarray(made)) else numpy_scalar(made, dtype)


def full(shape: Any, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of a shape that is known, of one number again and again.

    >>> full(2, 7)
    asarray([7, 7], dtype=int64)
    """
    check_device(device)
    value, sizes = asarray(unwrap_weak(fill_value), dtype=dtype), static_shape(shape)
    return apply("broadcast_to", value, shape=sizes) if sizes else value


def zeros(shape: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of zeros, float64 unless `dtype` says another.

    >>> zeros(3)
    asarray([0., 0., 0.], dtype=float64)
    """
    return full(shape, 0, dtype=dtype or dtypes.float64, device=device)


def ones(shape: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of ones, float64 unless `dtype` says another.

    >>> ones((1, 2))
    asarray([[1., 1.]], dtype=float64)
    """
    return full(shape, 1, dtype=dtype or dtypes.float64, device=device)


def empty(shape: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of a shape: of zeros, since nothing here is undefined.

    >>> empty(2)
    asarray([0., 0.], dtype=float64)
    """
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of the shape of another, and of its dtype unless `dtype` says another, of one number.

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
    """An array of the shape of another, and of its dtype unless `dtype` says another, of zeros.

    >>> zeros_like([1, 2]).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of the shape of another, and of its dtype unless `dtype` says another, of ones.

    >>> ones_like([1.5, 2.5]).tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of the shape of another, and of its dtype unless `dtype` says another: of zeros.

    >>> empty_like([1, 2]).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: DType | None = None, device: Any = None) -> Any:
    """The numbers start, start + step, ... before `stop`; from 0 to `start` where there is no `stop`.

    Bounds may be symbolic: then the run decides how many there are.

    >>> arange(2, 8, 3)
    asarray([2, 5], dtype=int64)
    """
    check_device(device)
    check_dtype(dtype)
    if dtype is not None and dtype.kind == "b":
        raise Usage(
            "a range is of numbers", where=user_location(), required="an integer or a float dtype", got=repr(dtype)
        )
    bounds: list[Any] = [unwrap_weak(each) for each in ((0, start, step) if stop is None else (start, stop, step))]
    if not all(type(each) in (int, float) for each in bounds):
        return _to_concrete(astype(apply("arange", *bounds), dtype))
    if dtype is not None and dtype.is_integer and float not in map(type, bounds):
        return _to_concrete(_integer_range(bounds, dtype))
    return _to_concrete(astype(_number_range(_unify_bounds(bounds)), dtype))


def _integer_range(bounds: list[int], dtype: DType) -> Any:
    """Where some of uint64 are beyond int64, what each is more than the first is not."""
    count, (start, _, step) = _range_size(bounds), bounds
    if count:
        _literal_of_dtype([start, start + (count - 1) * step], dtype)
    if count == 0 or all(-(2**63) <= each < 2**63 for each in bounds):
        return astype(_number_range(bounds if count else [0, 0, 1]), dtype)
    places = apply("multiply", astype(iota(count), dtype), numpy_scalar(step % 2**64, dtype))
    return apply("add", places, numpy_scalar(start, dtype))


def _to_concrete(value: Any) -> Any:
    return value if isinstance(value, Symbol) else asarray(value)


def _number_range(numbers: list[Any]) -> Any:
    """A range of Python's numbers: NumPy's array where it is short, or computed eagerly, else a symbolic value."""
    count = _range_size(numbers)
    if current_region() is None or count <= MAX_LITERAL_ELEMENTS:
        return _compute_eagerly("arange", *numbers)
    return apply("reshape", apply("arange", *numbers), shape=(count,))


def iota(count: Any) -> Any:
    """The numbers from 0 below a count, which may be symbolic; no concrete array."""
    return _number_range([0, count, 1]) if type(count) is int else apply("arange", 0, count, 1)


def _unify_bounds(bounds: list[Any]) -> list[Any]:
    return list(map(float, bounds)) if float in map(type, bounds) else bounds


def _range_size(numbers: list[Any]) -> int:
    start, stop, step = numbers
    if not (step and math.isfinite((stop - start) / step)):
        raise Usage("arange without an end", where=user_location(), got=f"{start}, {stop}, {step}")
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
    """`num` numbers as far from each other, from `start` to `stop`, which is the last one if `endpoint`.

    >>> linspace(0.0, 1.0, 5)
    asarray([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64)
    """
    check_device(device)
    count = static_integer(num, "num")
    if count < 0:
        raise Usage("fewer than no numbers", where=user_location(), required="num from 0 up", got=num)
    wide = dtypes.float64 if dtype is None or dtype.kind != "f" else dtype
    first, last = (astype(asarray(each), wide) for each in (unwrap_weak(start), unwrap_weak(stop)))
    steps = count - 1 if endpoint else count
    places = astype(arange(count), wide)
    made = first + places * ((last - first) / float(max(steps, 1)))
    if endpoint and count > 1:
        made = apply("where", places == float(count - 1), last, made)
    return astype(made, dtype)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Any = None
) -> Any:
    """A matrix with ones on a diagonal, the k-th above the main one, and zeros elsewhere.

    >>> eye(2)
    asarray([[1., 0.],
             [0., 1.]], dtype=float64)
    """
    check_device(device)
    check_dtype(dtype)
    rows, columns = (static_size(each, "a size") for each in (n_rows, n_rows if n_cols is None else n_cols))
    return _to_concrete(diagonal_of_ones(rows, columns, static_integer(k, "k"), dtype or dtypes.float64))


def diagonal_of_ones(rows: int, columns: int, k: int, dtype: DType) -> Any:
    """A matrix with ones on a diagonal; no concrete array."""
    places = apply("add", insert_axes(iota(rows), [1]), k)
    return astype(apply("equal", places, insert_axes(iota(columns), [0])), dtype)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """A matrix, or a stack of them, with zeros above the k-th diagonal above the main one.

    >>> tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return apply(
        "where", apply("less_equal", _diagonal_offsets(x), static_integer(k, "k")), x, numpy_scalar(0, type_of(x).dtype)
    )


def triu(x: Any, /, *, k: int = 0) -> Any:
    """A matrix, or a stack of them, with zeros below the k-th diagonal above the main one.

    >>> triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return apply(
        "where",
        apply("greater_equal", _diagonal_offsets(x), static_integer(k, "k")),
        x,
        numpy_scalar(0, type_of(x).dtype),
    )


def _diagonal_offsets(x: Any) -> Any:
    """How far each element of a matrix is above the main diagonal."""
    if rank_of(x) < 2:
        raise Usage("this is no matrix", where=user_location(), required="2 axes or more", got=type_of(x))
    columns, rows = (iota(element_count(x, axis)) for axis in (-1, -2))
    return apply("subtract", insert_axes(columns, [0]), insert_axes(rows, [1]))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Arrays of one axis as the coordinates of a grid: each along an axis of its own, and the same along the others.
    With "xy" the first two of these are swapped.

    >>> [x.tolist() for x in meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise Usage("this is no order of axes", where=user_location(), required='"xy" or "ij"', got=repr(indexing))
    if any(len(shape_of(each)) != 1 for each in arrays):
        raise Usage(
            "coordinates have one axis", where=user_location(), got=", ".join(str(type_of(each)) for each in arrays)
        )
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    alone = [insert_axes(each, [at for at in order if at != place]) for each, place in zip(arrays, order, strict=True)]
    return broadcast_arrays(*alone)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The elements of another library's array, as they are now.

    >>> from_dlpack(np.ones(2))
    asarray([1., 1.], dtype=float64)
    """
    check_device(device)
    if isinstance(x, ConcreteArray):
        return x
    if copy is False:
        raise CopyNeeded(
            "this needs a copy", where=user_location(), required="copy=None, or True", got=type(x).__name__
        )
    try:
        return asarray(np.from_dlpack(x))
    except (AttributeError, TypeError, BufferError, RuntimeError) as error:
        raise Usage("this array cannot be taken over by DLPack", where=user_location(), got=f"{error}") from None
