"""Creation: arrays of constants and ranges, concrete ones outside of a trace; in one they are part of the program."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Usage
from ...ops.open import steps
from ...types import Type
from ...value import Literal, literal
from ..api import apply, compute
from ..eager.array import Concrete, CopyNeeded, like
from ..trace.operators import check_device
from ..trace.source_location import here
from ..trace.symbol import Symbol
from ..trace.trace import current, number_of, to_operand
from .common import astype, check_dtype, elements, number, rank_of, shape_of, static_shape, static_size, type_of, whole
from .manipulation import broadcast_arrays, expanded

MOST_WRITTEN = 64
"""How many elements of a range are written into a program; more are computed when it runs."""


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None) -> Any:
    """An array of these: numbers, lists of them, NumPy's arrays, or an array as it is, as `dtype` if that is given.

    >>> asarray([1, 2], dtype=dtypes.float32)
    asarray([1., 2.], dtype=float32)
    """
    check_device(device)
    check_dtype(dtype)
    known = isinstance(obj, Symbol | Concrete)
    if copy is False and not (known and dtype in (None, obj.dtype)):
        raise Usage("this needs a copy", where=here(), required="copy=None, or True", got=repr(type(obj).__name__))
    if known:
        return astype(obj, dtype)
    return Concrete(_as(obj, dtype))


def _as(obj: Any, dtype: DType | None) -> Literal:
    """A literal of a dtype, which whatever it was becomes; integers and lists of them are refused that do not fit."""
    if dtype is None:
        return _literal(obj)
    try:
        return literal(obj, Type(dtype, None))
    except Usage as error:
        value = np.asarray(_literal(obj).value)
        is_counted = isinstance(obj, int | list | tuple) and value.dtype.kind in "biu"
        if dtype.is_integer and is_counted and not _is_within(value, dtype):
            error.where = here()
            raise
        return literal(_plain("astype", value, dtype=dtype))


def _is_within(integers: Any, dtype: DType) -> bool:
    low, high = dtype.range
    return not integers.size or (low <= int(integers.min()) and int(integers.max()) <= high)


def _literal(obj: Any) -> Literal:
    found = to_operand(obj)
    assert isinstance(found, Literal)
    return found


def _plain(op: str, *operands: Any, **attributes: Any) -> Any:
    """What an op gives eagerly, in a trace too."""
    return compute(op, [_literal(each) for each in operands], attributes)


def filling(value: Any, dtype: DType) -> Any:
    """What arrays are filled with, as a dtype; a number is no concrete array, and Python's has to fit."""
    given = number_of(value)
    if isinstance(given, Symbol | Concrete):
        return astype(given, dtype)
    made = _as(given, dtype).value
    return made if current() is None or np.ndim(np.asarray(made)) else number(made, dtype)


def full(shape: Any, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of a shape that is known, of one number again and again.

    >>> full(2, 7)
    asarray([7, 7], dtype=int64)
    """
    check_device(device)
    value, sizes = asarray(number_of(fill_value), dtype=dtype), static_shape(shape)
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
    value = like([x], filling(fill_value, dtype or type_.dtype))
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
        raise Usage("a range is of numbers", where=here(), required="an integer or a float dtype", got=repr(dtype))
    bounds: list[Any] = [number_of(each) for each in ((0, start, step) if stop is None else (start, stop, step))]
    if not all(type(each) in (int, float) for each in bounds):
        return _concrete(astype(apply("arange", *bounds), dtype))
    if dtype is not None and dtype.is_integer and float not in map(type, bounds):
        return _concrete(_range_of_integers(bounds, dtype))
    return _concrete(astype(_range(_of_one_kind(bounds)), dtype))


def _range_of_integers(bounds: list[int], dtype: DType) -> Any:
    """Where some of uint64 are beyond int64, what each is more than the first is not."""
    count, (start, _, step) = _count(bounds), bounds
    if count:
        _as([start, start + (count - 1) * step], dtype)
    if count == 0 or all(-(2**63) <= each < 2**63 for each in bounds):
        return astype(_range(bounds if count else [0, 0, 1]), dtype)
    places = apply("multiply", astype(counting(count), dtype), number(step % 2**64, dtype))
    return apply("add", places, number(start, dtype))


def _concrete(value: Any) -> Any:
    return value if isinstance(value, Symbol) else asarray(value)


def _range(numbers: list[Any]) -> Any:
    """A range of Python's numbers: NumPy's array where it is short, or computed eagerly, else a symbolic value."""
    count = _count(numbers)
    if current() is None or count <= MOST_WRITTEN:
        return _plain("arange", *numbers)
    return apply("reshape", apply("arange", *numbers), shape=(count,))


def counting(count: Any) -> Any:
    """The numbers from 0 below a count, which may be symbolic; no concrete array."""
    return _range([0, count, 1]) if type(count) is int else apply("arange", 0, count, 1)


def _of_one_kind(bounds: list[Any]) -> list[Any]:
    return list(map(float, bounds)) if float in map(type, bounds) else bounds


def _count(numbers: list[Any]) -> int:
    start, stop, step = numbers
    if not (step and math.isfinite((stop - start) / step)):
        raise Usage("arange without an end", where=here(), got=f"{start}, {stop}, {step}")
    return steps(start, stop, step)


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
    count = whole(num, "num")
    if count < 0:
        raise Usage("fewer than no numbers", where=here(), required="num from 0 up", got=num)
    wide = dtypes.float64 if dtype is None or dtype.kind != "f" else dtype
    first, last = (astype(asarray(each), wide) for each in (number_of(start), number_of(stop)))
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
    return _concrete(diagonal_of_ones(rows, columns, whole(k, "k"), dtype or dtypes.float64))


def diagonal_of_ones(rows: int, columns: int, k: int, dtype: DType) -> Any:
    """A matrix with ones on a diagonal; no concrete array."""
    places = apply("add", expanded(counting(rows), [1]), k)
    return astype(apply("equal", places, expanded(counting(columns), [0])), dtype)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """A matrix, or a stack of them, with zeros above the k-th diagonal above the main one.

    >>> tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return apply("where", apply("less_equal", _above(x), whole(k, "k")), x, number(0, type_of(x).dtype))


def triu(x: Any, /, *, k: int = 0) -> Any:
    """A matrix, or a stack of them, with zeros below the k-th diagonal above the main one.

    >>> triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return apply("where", apply("greater_equal", _above(x), whole(k, "k")), x, number(0, type_of(x).dtype))


def _above(x: Any) -> Any:
    """How far each element of a matrix is above the main diagonal."""
    if rank_of(x) < 2:
        raise Usage("this is no matrix", where=here(), required="2 axes or more", got=type_of(x))
    columns, rows = (counting(elements(x, axis)) for axis in (-1, -2))
    return apply("subtract", expanded(columns, [0]), expanded(rows, [1]))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Arrays of one axis as the coordinates of a grid: each along an axis of its own, and the same along the others.
    With "xy" the first two of these are swapped.

    >>> [x.tolist() for x in meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise Usage("this is no order of axes", where=here(), required='"xy" or "ij"', got=repr(indexing))
    if any(len(shape_of(each)) != 1 for each in arrays):
        raise Usage("coordinates have one axis", where=here(), got=", ".join(str(type_of(each)) for each in arrays))
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    alone = [expanded(each, [at for at in order if at != place]) for each, place in zip(arrays, order, strict=True)]
    return broadcast_arrays(*alone)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The elements of another library's array, as they are now.

    >>> from_dlpack(np.ones(2))
    asarray([1., 1.], dtype=float64)
    """
    check_device(device)
    if isinstance(x, Concrete):
        return x
    if copy is False:
        raise CopyNeeded("this needs a copy", where=here(), required="copy=None, or True", got=type(x).__name__)
    try:
        return asarray(np.from_dlpack(x))
    except (AttributeError, TypeError, BufferError, RuntimeError) as error:
        raise Usage("this array cannot be taken over by DLPack", where=here(), got=f"{error}") from None
