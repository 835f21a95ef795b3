"""The functions of NumPy on symbolic arrays and numbers, by functions of tagloom that compute the same values.

NumPy's promotion holds: an int64 array beside a float becomes float64. Functions without an exact counterpart in
tagloom, or with one for other dtypes or keywords only, are left to the refusal of `Symbol`, which names the function of
tagloom.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid
from ..array_api.creation import iota
from ..trace.captures import read_variable
from ..trace.numbers import DTYPES, number_kind
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.symbol import ARRAY_METHODS, METHOD_HINTS, Symbol, array_namespace, describe_call
from . import library
from .array_writes import note_result, require_in_bounds, set_elements
from .convert import convert
from .raising import located_exception, stage_assertion
from .ranges import SymbolicRange
from .trees import is_symbolic

_ZEROS: dict[str, Any] = {"b": False, "i": 0, "f": 0.0}
"""A number of each kind, which has the promotion of all of them."""


class _NoCounterpart(Exception):
    """tagloom has no function that computes the same for these arguments."""


# Operands


def _dtype_of(value: Any) -> np.dtype[Any] | None:
    """The dtype of an array; None for a number."""
    if number_kind(value) is not None:
        return None
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype
    type_ = getattr(value, "_type", None)
    if type_ is None or not isinstance(type_.dtype, DType):
        raise _NoCounterpart
    return type_.dtype.numpy


def _rank(value: Any) -> int:
    rank = 0 if number_kind(value) is not None else value.ndim
    if rank is None:
        raise _NoCounterpart
    return int(rank)


def _to_operand(value: Any) -> Any:
    """An operand: a list, tuple or range as the array that NumPy makes of it."""
    value = read_variable(value)
    if isinstance(value, SymbolicRange):
        return array_namespace().arange(value.start, value.stop, value.step)
    if type(value) not in (list, tuple):
        _dtype_of(value)
        return value
    if has_stacked_items(value):
        return array_namespace().asarray(value)
    rows = _promote_arrays(*value)
    if not rows:
        raise _NoCounterpart
    return array_namespace().stack([array_namespace().asarray(row) for row in rows])


def _result_dtype(values: Sequence[Any]) -> Any:
    """The dtype that NumPy computes with. Raises _NoCounterpart for different dtypes that are not Python's."""
    value_dtypes = [_dtype_of(value) for value in values]
    if len(set(value_dtypes) - {None}) > 1 and any(
        value_dtype not in _PYTHON_DTYPES for value_dtype in value_dtypes if value_dtype is not None
    ):
        raise _NoCounterpart
    operands = [
        _ZEROS[str(number_kind(value))] if value_dtype is None else value_dtype
        for value, value_dtype in zip(values, value_dtypes, strict=True)
    ]
    return np.result_type(*operands) if operands else np.dtype(float)


_PYTHON_DTYPES = tuple(dtype.numpy for dtype in DTYPES.values())


def _cast(value: Any, dtype: Any) -> Any:
    """An operand as one of a NumPy dtype."""
    dtype = np.dtype(dtype)
    element = dtypes.from_numpy(dtype)
    if element is None:
        raise _NoCounterpart
    if isinstance(value, Symbol):
        return array_namespace().astype(value, element)
    if type(value) is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise _NoCounterpart  # NumPy takes another dtype, or fails
    return np.asarray(value).astype(dtype)


def _promote(*values: Any) -> list[Any]:
    """Operands as arrays of the dtype that NumPy computes with."""
    operands = list(map(_to_operand, values))
    if not operands:
        return []
    dtype = _result_dtype(operands)
    return [_cast(operand, dtype) for operand in operands]


def _promote_arrays(*values: Any) -> list[Any]:
    """Operands as arrays of one dtype, for functions that make an array of each number before they promote: an int32
    array and a number of Python become int64."""
    operands = list(map(_to_operand, values))
    if not operands:
        return []
    operand_dtypes = [_dtype_of(operand) or DTYPES[str(number_kind(operand))].numpy for operand in operands]
    dtype = np.result_type(*operand_dtypes)
    return [_cast(operand, dtype) for operand in operands]


def _to_float(value: Any) -> Any:
    """An operand of an elementwise function that computes floats: NumPy makes float64 of int32 and int64."""
    operand = _to_operand(value)
    dtype = _result_dtype([operand])
    if dtype.kind == "f":
        return operand
    if dtype not in (np.int32, np.int64):
        raise _NoCounterpart  # NumPy makes float16 of bools and int8, and float32 of int16
    return _cast(operand, float)


def _to_real(value: Any) -> Any:
    """An operand of an average, a norm or a test for NaN: a float, or float64 of bools and integers."""
    operand = _to_operand(value)
    return operand if _result_dtype([operand]).kind == "f" else _cast(operand, float)


def _to_number(value: Any) -> Any:
    """An operand that is no bool."""
    operand = _to_operand(value)
    if _result_dtype([operand]).kind not in "if":
        raise _NoCounterpart
    return operand


def _to_bool(value: Any) -> Any:
    operand = _to_operand(value)
    return operand if _result_dtype([operand]).kind == "b" else operand != 0


# Elementwise functions


def _float_function(name: str, operand_of: Callable[[Any], Any] = _to_float) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        return getattr(array_namespace(), name)(operand_of(x))

    return function


def _rounding_function(name: str) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        operand = _to_operand(x)
        if _result_dtype([operand]).kind != "f":
            raise _NoCounterpart  # its dtype depends on the version of NumPy
        return getattr(array_namespace(), name)(operand)

    return function


def _number_function(name: str) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        return getattr(array_namespace(), name)(_to_number(x))

    return function


def _bool_function(name: str) -> Callable[..., Any]:
    def function(*operands: Any) -> Any:
        if len(operands) != getattr(np, name).nin:
            raise _NoCounterpart
        return getattr(array_namespace(), name)(*map(_to_bool, operands))

    return function


def _binary_function(name: str, kinds: str = "if") -> Callable[..., Any]:
    """A function of two operands whose common dtype is of one of these kinds."""

    def function(x: Any, y: Any, /) -> Any:
        operands = _promote(x, y)
        if operands[0].dtype.kind not in kinds:
            raise _NoCounterpart
        return getattr(array_namespace(), name)(*operands)

    return function


def _angle_function(function: np.ufunc) -> Callable[..., Any]:
    """A product with the factor that NumPy has for the dtype."""

    def multiply(x: Any, /) -> Any:
        operand = _to_float(x)
        return operand * function(_result_dtype([operand]).type(1))

    return multiply


def _binary_float_function(name: str) -> Callable[..., Any]:
    def function(x: Any, y: Any, /) -> Any:
        return getattr(array_namespace(), name)(*map(_to_float, _promote(x, y)))

    return function


def _select(condition: Any, *values: Any) -> Any:
    if not values:
        return _positions(condition)
    x, y = values
    return array_namespace().where(_to_bool(condition), *_promote(x, y))


def _clip(a: Any, a_min: Any, a_max: Any) -> Any:
    bounds = {"maximum": a_min, "minimum": a_max}
    names = [name for name, bound in bounds.items() if bound is not None]
    operand, *values = _promote(a, *(bounds[name] for name in names))
    if not names or any(map(_rank, values)) or operand.dtype.kind not in "if":
        raise _NoCounterpart
    for name, value in zip(names, values, strict=True):
        operand = getattr(array_namespace(), name)(operand, value)
    return operand


def _round(a: Any, decimals: Any = 0) -> Any:
    if type(decimals) is not int:
        raise _NoCounterpart
    if decimals == 0:
        return _rounding_function("round")(a)
    operand = _to_operand(a)
    if _result_dtype([operand]) is not np.dtype(float):
        raise _NoCounterpart
    unit, namespace = 10.0 ** abs(decimals), array_namespace()
    return namespace.round(operand * unit) / unit if decimals > 0 else namespace.round(operand / unit) * unit


# Reductions


def _reduction(name: str, operand_of: Callable[[Any], Any]) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return getattr(array_namespace(), name)(operand_of(a), axis=axis, keepdims=keepdims)

    return function


def _to_summand(value: Any) -> Any:
    """An operand of a sum or product: NumPy adds bools and signed integers as int64."""
    operand = _to_operand(value)
    dtype = _result_dtype([operand])
    if dtype.kind == "u":
        raise _NoCounterpart
    return operand if dtype.kind == "f" else _cast(operand, np.int64)


def _scan(name: str) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None) -> Any:
        operand = _to_summand(a)
        if axis is None and _rank(operand) != 1:
            operand = array_namespace().reshape(operand, (-1,))
        return getattr(array_namespace(), name)(operand, axis=0 if axis is None else axis)

    return function


def _spread(name: str) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Any:
        return getattr(array_namespace(), name)(_to_real(a), axis=axis, correction=ddof, keepdims=keepdims)

    return function


def _to_ordered(value: Any) -> Any:
    """An operand whose items tagloom orders: bools as int64."""
    operand = _to_operand(value)
    return _cast(operand, np.int64) if _result_dtype([operand]).kind == "b" else operand


# Products


def _dot(a: Any, b: Any, /) -> Any:
    x, y = _promote_arrays(a, b)
    if x.dtype.kind not in "if" or max(_rank(x), _rank(y)) > 2:
        raise _NoCounterpart
    if 0 in (_rank(x), _rank(y)):
        return array_namespace().multiply(x, y)
    return array_namespace().matmul(x, y)


def _product_of_vectors(a: Any, b: Any, /) -> Any:
    x, y = _promote_arrays(a, b)
    if x.dtype.kind not in "if" or (_rank(x), _rank(y)) != (1, 1):
        raise _NoCounterpart
    return array_namespace().matmul(x, y)


def _outer(a: Any, b: Any) -> Any:
    x, y = _promote_arrays(a, b)
    if x.dtype.kind not in "if" or (_rank(x), _rank(y)) != (1, 1):
        raise _NoCounterpart
    return array_namespace().multiply(array_namespace().expand_dims(x, axis=1), y)


def _norm(x: Any) -> Any:
    operand, namespace = _to_real(x), array_namespace()
    if _rank(operand) not in (1, 2):
        raise _NoCounterpart
    flat = namespace.reshape(operand, (-1,)) if _rank(operand) == 2 else operand
    return namespace.sqrt(namespace.matmul(flat, flat))


# Shapes


def _transpose(a: Any, axes: Any = None) -> Any:
    operand = _to_operand(a)
    return array_namespace().permute_dims(operand, tuple(reversed(range(_rank(operand)))) if axes is None else axes)


def _reshape(a: Any, /, shape: Any) -> Any:
    return array_namespace().reshape(_to_operand(a), shape if type(shape) in (tuple, list) else (shape,))


def _ravel(a: Any) -> Any:
    return array_namespace().reshape(_to_operand(a), (-1,))


def _flip(m: Any, axis: Any = None) -> Any:
    return array_namespace().flip(_to_operand(m), axis=axis)


def _sort(a: Any, axis: Any = -1) -> Any:
    return array_namespace().sort(_ravel(a)) if axis is None else array_namespace().sort(_to_operand(a), axis=axis)


def _squeeze(a: Any, axis: Any) -> Any:
    return array_namespace().squeeze(_to_operand(a), axis)


def _concatenate(arrays: Any, /, axis: Any = 0) -> Any:
    return array_namespace().concat(_parts(arrays), axis=axis)


def _stack(arrays: Any, axis: Any = 0) -> Any:
    return array_namespace().stack(_parts(arrays), axis=axis)


def _pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    if mode != "constant" or number_kind(constant_values) is None:
        raise _NoCounterpart
    operand = _to_operand(array)
    widths = np.broadcast_to(np.asarray(pad_width, dtype=int), (_rank(operand), 2)).tolist()
    value = _cast(constant_values, _result_dtype([operand]))
    return array_namespace().pad(operand, list(map(tuple, widths)), value=value)


def _append_items(arr: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate([_ravel(arr), _ravel(values)] if axis is None else [arr, values], axis=axis or 0)


def _join_columns(tup: Any) -> Any:
    parts = [part if _rank(part) else _ravel(part) for part in _parts(tup)]
    return _concatenate(parts, axis=0 if _rank(parts[0]) == 1 else 1)


def _join_rows(tup: Any) -> Any:
    return _concatenate([_reshape(part, (1, -1)) if _rank(part) <= 1 else part for part in _parts(tup)])


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return array_namespace().repeat(_to_operand(a), repeats, axis=axis)


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return array_namespace().roll(_to_operand(a), shift, axis=axis)


def _tile(A: Any, reps: Any) -> Any:  # noqa: N803 - NumPy's name
    return array_namespace().tile(_to_operand(A), reps)


def _parts(arrays: Any) -> list[Any]:
    if type(arrays) not in (list, tuple) or not arrays:
        raise _NoCounterpart
    return _promote_arrays(*arrays)


# Neighbours and order


def _diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    operand = _to_number(a)
    if type(n) is not int or n < 0:
        raise _NoCounterpart
    return array_namespace().diff(operand, n=n, axis=axis)


def _median(a: Any) -> Any:
    """The mean of the one or two items in the middle of all; NaN where an item is NaN, or where there is none."""
    items, namespace = array_namespace().sort(_ravel(_to_real(a))), array_namespace()
    count = items.shape[0]
    middle = namespace.mean(items[(count - 1) // 2 : count // 2 + 1])
    return namespace.where(namespace.any(namespace.isnan(items)), np.nan, middle)


def _is_empty(items: Any) -> bool:
    """Whether it is certain that an array with one axis has no items."""
    return not is_symbolic(items.shape[0]) and items.shape[0] == 0


def _quantile(a: Any, q: Any) -> Any:
    """NumPy's linear interpolation between the two items around a quantile, or around each of several; NaN where an
    item is NaN."""
    operands, namespace = [_to_number(a), _to_number(q)], array_namespace()
    if all(_result_dtype([operand]).kind == "i" for operand in operands):
        raise _NoCounterpart  # NumPy gives integers
    items, fraction = namespace.sort(_ravel(_to_real(a))), _to_real(q)
    if _result_dtype([items]) is not np.dtype(float) or _is_empty(items):
        raise _NoCounterpart
    count = items.shape[0]
    is_inside = (fraction >= 0) & (fraction <= 1)
    stage_assertion(namespace.all(is_inside), located_exception(ValueError("Quantiles must be in the range [0, 1]")))
    position = (count - 1) * fraction
    before = namespace.floor(position)
    weight = position - before
    start = namespace.astype(before, dtypes.int64)
    low = namespace.take(items, namespace.reshape(start, (-1,)))
    high = namespace.take(items, namespace.reshape(namespace.minimum(start + 1, count - 1), (-1,)))
    low, high = (namespace.reshape(bound, weight.shape) for bound in (low, high))
    step = high - low
    value = namespace.where(weight >= 0.5, high - step * (1 - weight), low + step * weight)
    return namespace.where(namespace.any(namespace.isnan(items)), np.nan, value)


def _percentile(a: Any, q: Any) -> Any:
    return _quantile(a, _to_real(_to_number(q)) / 100)


def _require_one_length(x: Any, y: Any, error: Exception) -> None:
    """Stage the assertion that two arrays with one axis have the same length. Raises _NoCounterpart for others."""
    if (_rank(x), _rank(y)) != (1, 1):
        raise _NoCounterpart
    stage_assertion(array_namespace().all(x.shape[0] == y.shape[0]), located_exception(error))


def _bin_counts(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    operand, namespace = _to_operand(x), array_namespace()
    if _rank(operand) != 1 or _result_dtype([operand]).kind != "i":
        raise _NoCounterpart
    positions = namespace.astype(operand, dtypes.int64)
    stage_assertion(
        namespace.all(positions >= 0),
        located_exception(ValueError("'list' argument must have no negative elements")),
    )
    stage_assertion(namespace.all(minlength >= 0), located_exception(ValueError("'minlength' must not be negative")))
    last = namespace.max(namespace.concat([positions, namespace.full(1, -1, dtype=dtypes.int64)]))
    is_bin = positions[:, None] == iota(namespace.maximum(last + 1, minlength))[None, :]
    if weights is None or _is_empty(operand):
        return namespace.count_nonzero(is_bin, axis=0)
    values = _to_real(weights)
    _require_one_length(positions, values, ValueError("The weights and list don't have the same length."))
    return namespace.sum(namespace.where(is_bin, values[:, None], 0.0), axis=0)


def _positions(a: Any) -> Any:
    """`np.nonzero(a)`, and `np.where(a)`."""
    operand = _to_bool(a)
    if not _rank(operand):
        raise _NoCounterpart
    return array_namespace().nonzero(operand)


def _flat_positions(a: Any) -> Any:
    return _positions(_ravel(a))[0]


def _diagonal(v: Any, k: Any = 0) -> Any:
    """`np.diag`: the diagonal of a matrix, or a matrix with this diagonal."""
    operand, namespace = _to_operand(v), array_namespace()
    if type(k) is not int or _rank(operand) not in (1, 2):
        raise _NoCounterpart
    if _rank(operand) == 2:
        return namespace.linalg.diagonal(operand, offset=k)
    size = operand.shape[0] + abs(k)
    rows, zero = _pad(operand, (max(-k, 0), max(k, 0))), _ZEROS.get(_result_dtype([operand]).kind, 0)
    return namespace.where(namespace.eye(size, k=k, dtype=dtypes.bool), namespace.expand_dims(rows, axis=1), zero)


def _diagonal_of_matrix(a: Any, offset: Any = 0) -> Any:
    if _rank(_to_operand(a)) != 2:
        raise _NoCounterpart
    return _diagonal(a, offset)


def _triangle(name: str) -> Callable[..., Any]:
    def function(m: Any, k: Any = 0) -> Any:
        operand = _to_operand(m)
        if type(k) is not int or _rank(operand) < 2:
            raise _NoCounterpart
        return getattr(array_namespace(), name)(operand, k=k)

    return function


def _trace(a: Any, offset: Any = 0) -> Any:
    operand = _to_summand(a)
    if type(offset) is not int or _rank(operand) != 2:
        raise _NoCounterpart
    return array_namespace().linalg.trace(operand, offset=offset)


def _stack_columns(tup: Any) -> Any:
    return _concatenate([_reshape(part, (-1, 1)) if _rank(part) <= 1 else part for part in _parts(tup)], axis=1)


def _range_of_values(a: Any, axis: Any = None) -> Any:
    operand, namespace = _to_number(a), array_namespace()
    return namespace.max(operand, axis=axis) - namespace.min(operand, axis=axis)


def _unique(ar: Any, return_counts: Any = False) -> Any:
    operand = _to_ordered(ar)
    if type(return_counts) is not bool or operand.dtype is not _to_operand(ar).dtype:
        raise _NoCounterpart
    namespace = array_namespace()
    if operand.dtype.kind != "f":
        return tuple(namespace.unique_counts(operand)) if return_counts else namespace.unique_values(operand)
    values, counts = namespace.unique_counts(operand)  # has each NaN on its own
    is_nan = namespace.isnan(values)
    is_first = ~is_nan | (namespace.cumulative_sum(namespace.astype(is_nan, dtypes.int64)) == 1)
    if not return_counts:
        return values[is_first]
    return values[is_first], namespace.where(is_nan, namespace.count_nonzero(is_nan), counts)[is_first]


def _stable_order(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """`np.argsort`, which leaves the order of equal items open unless it is stable."""
    is_stable = kind in ("stable", "mergesort") if stable is None else stable is True and kind is None
    if not is_stable:
        raise _NoCounterpart
    items = _to_ordered(a)
    return (
        array_namespace().argsort(items, axis=axis) if axis is not None else _stable_order(_ravel(items), stable=True)
    )


def _search(a: Any, v: Any, side: Any = "left") -> Any:
    items, values = _promote(a, v)
    if _rank(items) != 1 or items.dtype.kind not in "if":
        raise _NoCounterpart
    return array_namespace().searchsorted(items, values, side=side)


def _matrix_function(name: str) -> Callable[..., Any]:
    """A function of a matrix, by LAPACK as in NumPy."""

    def function(*operands: Any) -> Any:
        matrices = list(map(_to_real, operands))
        if any(_result_dtype([matrix]) is not np.dtype(float) for matrix in matrices) or _rank(matrices[0]) != 2:
            raise _NoCounterpart
        if len(operands) != (2 if name == "solve" else 1):
            raise _NoCounterpart
        return getattr(array_namespace().linalg, name)(*matrices)

    return function


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0) -> Any:
    heights = _to_real(y)
    if _rank(heights) != 1:
        raise _NoCounterpart
    widths = dx if x is None else _diff(_to_real(x))
    return array_namespace().sum(widths * (heights[1:] + heights[:-1]) / 2.0)


def _are_close(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    x, y = map(_to_real, (a, b))
    namespace = array_namespace()
    is_near = (namespace.abs(x - y) <= atol + rtol * namespace.abs(y)) & namespace.isfinite(y)
    return is_near | (x == y)


def _are_equal(a1: Any, a2: Any) -> Any:
    x, y = _promote(a1, a2)
    if any(is_symbolic(size) for size in (*x.shape, *y.shape)) or x.dtype.kind not in "bif":
        raise _NoCounterpart
    return array_namespace().all(x == y) if x.shape == y.shape else False


def _average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    operand, namespace = _to_real(a), array_namespace()
    if weights is None:
        return namespace.mean(operand, axis=axis)
    operand, factors = map(_to_real, _promote(a, weights))
    if axis is not None or _rank(operand) != _rank(factors):
        raise _NoCounterpart
    if _rank(operand) == 1:
        error: Exception = TypeError("Axis must be specified when shapes of a and weights differ.")
        _require_one_length(operand, factors, error)
    elif any(is_symbolic(size) for size in (*operand.shape, *factors.shape)) or operand.shape != factors.shape:
        raise _NoCounterpart
    total = namespace.sum(factors)
    error = ZeroDivisionError("Weights sum to zero, can't be normalized")
    stage_assertion(total != 0, located_exception(error))
    return namespace.sum(operand * factors) / total


def _are_all_close(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    return array_namespace().all(_are_close(a, b, rtol, atol))


# Creation


def _to_dtype(dtype: Any, default: Any) -> Any:
    """A dtype of tagloom for one that is given to NumPy."""
    known_dtype = dtypes.from_numpy(np.dtype(default if dtype is None else dtype))
    if known_dtype is None:
        raise _NoCounterpart
    return known_dtype


def _zeros(shape: Any, dtype: Any = None) -> Any:
    return array_namespace().zeros(shape, dtype=_to_dtype(dtype, float))


def _ones(shape: Any, dtype: Any = None) -> Any:
    return array_namespace().ones(shape, dtype=_to_dtype(dtype, float))


def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:  # noqa: N803 - NumPy's names
    return array_namespace().eye(N, M, k=k, dtype=_to_dtype(dtype, float))


def _identity(n: Any, dtype: Any = None) -> Any:
    return _eye(n, dtype=dtype)


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    value = read_variable(fill_value)
    own_dtype = _to_dtype(dtype, _result_dtype([value]))
    require_in_bounds(value, own_dtype)
    return array_namespace().full(shape, _cast(value, own_dtype.numpy), dtype=own_dtype)


def _array_of(a: Any, dtype: Any = None) -> Any:
    operand = _to_operand(a)
    if dtype is None:
        return operand
    if _has_numbers(a):
        require_in_bounds(operand, _to_dtype(dtype, None))
    return _cast(operand, np.dtype(dtype))


def _has_numbers(value: Any) -> bool:
    """Whether a value is a number, or a list or tuple with numbers: NumPy converts these one by one, and an array as a
    whole, whose elements may wrap."""
    is_list = type(value) in (list, tuple)
    if is_list and not has_stacked_items(value):
        return any(map(_has_numbers, value))
    return is_list or number_kind(value) is not None


def _like(name: str) -> Callable[..., Any]:
    def function(a: Any, dtype: Any = None) -> Any:
        operand = _to_operand(a)
        return getattr(array_namespace(), name)(operand, dtype=_to_dtype(dtype, _result_dtype([operand])))

    return function


def _arange(*bounds: Any) -> Any:
    values = list(map(read_variable, bounds))
    if not 1 <= len(values) <= 3 or any(number_kind(value) != "i" for value in values):
        raise _NoCounterpart
    return array_namespace().arange(*values)


def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    operand, value = _to_operand(a), read_variable(fill_value)
    own_dtype = _to_dtype(dtype, _result_dtype([operand]))
    require_in_bounds(value, own_dtype)
    return array_namespace().full_like(operand, _cast(value, own_dtype.numpy), dtype=own_dtype)


def _linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True) -> Any:
    """NumPy's own computation, for numbers: a step that rounds to 0 is avoided, and the last number is `stop`."""
    bounds = [read_variable(bound) for bound in (start, stop)]
    count, namespace = read_variable(num), array_namespace()
    if any(number_kind(bound) is None for bound in bounds) or number_kind(count) != "i" or type(endpoint) is not bool:
        raise _NoCounterpart
    low, high = (_cast(bound, float) for bound in bounds)
    positions = iota(count)
    numbers = namespace.astype(positions, dtypes.float64)
    divisor = namespace.astype(namespace.maximum(count - endpoint, 1), dtypes.float64)
    delta = high - low
    step = delta / divisor
    points = namespace.where(step == 0, numbers / divisor * delta, numbers * step) + low
    return namespace.where((positions == count - 1) & (positions > 0), high, points) if endpoint else points


def _as_class(kind: type) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        return _cast(_to_operand(x), kind)

    return function


_FLOAT_FUNCTIONS = {
    "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
}  # fmt: skip
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): _float_function(op) for name, op in _FLOAT_FUNCTIONS.items()},
    **{getattr(np, name): _rounding_function(name) for name in ("floor", "ceil", "trunc")},
    np.rint: _rounding_function("round"),
    **{getattr(np, name): _number_function(name) for name in ("abs", "negative", "square", "sign")},
    **{getattr(np, name): _float_function(name, _to_real) for name in ("isnan", "isinf", "isfinite")},
    **{getattr(np, name): _bool_function(name) for name in ("logical_and", "logical_or", "logical_not", "logical_xor")},
    **{getattr(np, name): _binary_function(name) for name in ("add", "subtract", "multiply", "maximum", "minimum")},
    **{getattr(np, name): _binary_function(name, "f") for name in ("floor_divide", "remainder")},
    np.power: _binary_function("pow", "f"),
    **{
        getattr(np, name): _binary_function(name, "bif")
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    np.divide: _binary_float_function("divide"),
    np.arctan2: _binary_float_function("atan2"),
    np.hypot: _binary_float_function("hypot"),
    np.where: _select,
    np.clip: _clip,
    np.round: _round,
    **{getattr(np, name): _reduction(name, _to_summand) for name in ("sum", "prod")},
    np.mean: _reduction("mean", _to_real),
    **{getattr(np, name): _reduction(name, _to_number) for name in ("max", "min")},
    np.amax: _reduction("max", _to_number),
    np.amin: _reduction("min", _to_number),
    **{getattr(np, name): _reduction(name, _to_bool) for name in ("all", "any")},
    **{getattr(np, name): _spread(name) for name in ("std", "var")},
    **{getattr(np, name): _reduction(name, _to_ordered) for name in ("argmax", "argmin")},
    np.count_nonzero: _reduction("count_nonzero", _to_bool),
    np.cumsum: _scan("cumulative_sum"),
    np.cumprod: _scan("cumulative_prod"),
    np.dot: _dot,
    np.matmul: _binary_function("matmul"),
    **dict.fromkeys((np.inner, np.vdot), _product_of_vectors),
    np.outer: _outer,
    np.linalg.norm: _norm,
    np.transpose: _transpose,
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.expand_dims: lambda a, axis: array_namespace().expand_dims(_to_operand(a), axis=axis),
    np.squeeze: _squeeze,
    np.flip: _flip,
    np.sort: _sort,
    np.diff: _diff,
    np.median: _median,
    np.quantile: _quantile,
    np.percentile: _percentile,
    np.ptp: _range_of_values,
    np.bincount: _bin_counts,
    np.unique: _unique,
    np.argsort: _stable_order,
    np.searchsorted: _search,
    np.nonzero: _positions,
    np.flatnonzero: _flat_positions,
    np.diag: _diagonal,
    np.diagonal: _diagonal_of_matrix,
    np.trace: _trace,
    **{getattr(np, name): _triangle(name) for name in ("tril", "triu")},
    **{getattr(np.linalg, name): _matrix_function(name) for name in ("det", "inv", "solve")},
    np.column_stack: _stack_columns,
    np.array_equal: _are_equal,
    np.fliplr: lambda m: _flip(m, 1),
    np.flipud: lambda m: _flip(m, 0),
    **{function: _angle_function(function) for function in (np.deg2rad, np.radians, np.rad2deg, np.degrees)},
    np.average: _average,
    np.empty: _zeros,
    np.empty_like: _like("zeros_like"),
    np.trapezoid: _trapezoid,
    np.isclose: _are_close,
    np.allclose: _are_all_close,
    np.append: _append_items,
    np.pad: _pad,
    np.hstack: _join_columns,
    np.vstack: _join_rows,
    np.repeat: _repeat,
    np.roll: _roll,
    np.tile: _tile,
    np.concatenate: _concatenate,
    np.stack: _stack,
    **dict.fromkeys((np.array, np.asarray), _array_of),
    np.copy: lambda a: _to_operand(a),
    np.zeros: _zeros,
    np.ones: _ones,
    np.eye: _eye,
    np.identity: _identity,
    np.full: _full,
    np.full_like: _full_like,
    np.linspace: _linspace,
    np.arange: _arange,
    **{getattr(np, name): _like(name) for name in ("zeros_like", "ones_like")},
    np.float64: _as_class(float),
}
"""The functions of NumPy that tagloom computes, with those of their parameters that it takes."""


def apply_numpy(function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a function of NumPy with symbolic arguments. Returns NotImplemented where tagloom has no exact counterpart;
    raises Invalid (F1) for a keyword that only NumPy takes."""
    implementation = FUNCTIONS.get(function)
    if implementation is None:
        return NotImplemented
    return apply_implementation(implementation, f"np.{function.__name__}", arguments, keywords)


def apply_implementation(
    implementation: Callable[..., Any], name: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """Call the implementation of a function or method of NumPy that has this name; as `apply_numpy`."""
    signature = inspect.signature(implementation)
    other = [keyword for keyword in keywords if keyword not in signature.parameters]
    if other:
        raise Invalid(
            f"{name} needs concrete values where it gets {', '.join(f'{option}=' for option in other)}",
            rule="F1",
            where=user_location(),
            required=f"no keywords but {', '.join(list(signature.parameters)[1:]) or 'none'}",
            hint=describe_call(name.partition(".")[2]),
            python=TypeError,
        )
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        return NotImplemented
    try:
        return implementation(*bound.args, **bound.kwargs)
    except _NoCounterpart:
        return NotImplemented


# Methods of arrays


def _reshape_to(a: Any, /, *shape: Any) -> Any:
    return _reshape(a, shape[0] if len(shape) == 1 else shape)


def _permute(a: Any, /, *axes: Any) -> Any:
    return _transpose(a, (axes[0] if len(axes) == 1 and type(axes[0]) is not int else axes) or None)


def _as_dtype(a: Any, /, dtype: Any) -> Any:
    return array_namespace().astype(a, dtype) if isinstance(dtype, DType) else _cast(a, dtype)


def _to_python(a: Any) -> Any:
    """An array whose elements are numbers of Python: int64 instead of int8, since they do not wrap at 8 bits."""
    dtype = _result_dtype([a])
    if dtype == np.uint64:
        raise _NoCounterpart
    return _cast(a, {"b": bool, "f": float}.get(dtype.kind, int))


def _to_lists(a: Any) -> Any:
    numbers = _to_python(a)
    return convert(library.to_lists)(numbers, _rank(a)) if _rank(a) else numbers  # type: ignore[arg-type]


METHODS: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[getattr(np, name)] for name in (
        "all", "any", "argmax", "argmin", "cumprod", "cumsum", "dot", "max", "mean", "min", "prod", "ravel", "repeat",
        "round", "squeeze", "std", "sum", "var",
    )},
    "astype": _as_dtype,
    "diagonal": _diagonal_of_matrix,
    "nonzero": _positions,
    "trace": _trace,
    "clip": lambda a, min=None, max=None: _clip(a, min, max),
    "copy": lambda a: a,
    "fill": lambda a, value: set_elements(a, ..., value),
    "flatten": _ravel,
    "item": lambda a: array_namespace().reshape(_to_python(a), ()),
    "reshape": _reshape_to,
    "sort": lambda a, axis=-1: set_elements(a, ..., _sort(a, axis)),
    "tolist": _to_lists,
    "transpose": _permute,
}  # fmt: skip
"""The methods of NumPy's arrays that symbolic arrays have."""


def find_method(array: Symbol, name: str) -> Callable[..., Any] | None:
    """A method of NumPy's arrays, of a symbolic one; None where tagloom does not compute it."""
    return functools.partial(_call_method, array, name) if name in METHODS else None


def _call_method(array: Symbol, name: str, /, *arguments: Any, **keywords: Any) -> Any:
    """Call a method of an array. Raises Invalid (F1) where tagloom does not compute what NumPy does."""
    result = apply_implementation(METHODS[name], f"x.{name}", (array, *arguments), keywords)
    if result is not NotImplemented:
        return note_result(name, result, [array])
    raise Invalid(
        f"x.{name} needs concrete values, and x is symbolic while tagloom traces the function",
        rule="F1",
        where=user_location(),
        got=repr(array),
        hint=METHOD_HINTS.get(name) or describe_call(name),
        python=TypeError,
    )


ARRAY_METHODS.cell_contents = find_method


def refuse(function: Any) -> NoReturn:
    """Raise the error for a function of NumPy that needs the values of its arguments."""
    raise Invalid(
        f"np.{function.__name__} needs concrete values, and an argument is symbolic while tagloom traces the function",
        rule="F1",
        where=user_location(),
        hint=describe_call(function.__name__) or "tl.callback(function, x, returns=tl.float64) calls Python",
        python=TypeError,
    )
