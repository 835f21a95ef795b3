"""The functions of NumPy on symbolic arrays and numbers, by functions of tagloom that compute the same values.

NumPy's promotion holds: an int64 array beside a float becomes float64. What tagloom has no exact counterpart for, or
has only for other dtypes or keywords, is left to the refusal of `Symbol`, which names the function of tagloom.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.numbers import DTYPES, number_kind
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.symbol import Symbol, array_namespace, describe_call
from .ranges import SymbolicRange

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
    found = [_dtype_of(value) for value in values]
    if len(set(found) - {None}) > 1 and any(each not in _PYTHON_DTYPES for each in found if each is not None):
        raise _NoCounterpart
    operands = [
        _ZEROS[str(number_kind(value))] if each is None else each for value, each in zip(values, found, strict=True)
    ]
    return np.result_type(*operands) if operands else np.dtype(float)


_PYTHON_DTYPES = tuple(dtype.numpy for dtype in DTYPES.values())


def _cast(value: Any, dtype: Any) -> Any:
    """An operand as one of a NumPy dtype."""
    dtype = np.dtype(dtype)
    if dtype not in dtypes.BY_NUMPY:
        raise _NoCounterpart
    if isinstance(value, Symbol):
        return array_namespace().astype(value, dtypes.BY_NUMPY[dtype])
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
    found = [_dtype_of(operand) or DTYPES[str(number_kind(operand))].numpy for operand in operands]
    dtype = np.result_type(*found)
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


def _binary_float_function(name: str) -> Callable[..., Any]:
    def function(x: Any, y: Any, /) -> Any:
        return getattr(array_namespace(), name)(*map(_to_float, _promote(x, y)))

    return function


def _select(condition: Any, x: Any, y: Any, /) -> Any:
    return array_namespace().where(_to_bool(condition), *_promote(x, y))


def _clip(a: Any, a_min: Any, a_max: Any) -> Any:
    operand, low, high = _promote(a, a_min, a_max)
    if _rank(low) or _rank(high) or operand.dtype.kind not in "if":
        raise _NoCounterpart
    return array_namespace().minimum(array_namespace().maximum(operand, low), high)


def _round(a: Any, decimals: Any = 0) -> Any:
    if type(decimals) is not int or decimals:
        raise _NoCounterpart
    return _rounding_function("round")(a)


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


def _parts(arrays: Any) -> list[Any]:
    if type(arrays) not in (list, tuple) or not arrays:
        raise _NoCounterpart
    return _promote_arrays(*arrays)


# Creation


def _to_dtype(dtype: Any, default: Any) -> Any:
    """A dtype of tagloom for one that is given to NumPy."""
    found = dtypes.BY_NUMPY.get(np.dtype(default if dtype is None else dtype))
    if found is None:
        raise _NoCounterpart
    return found


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
    return array_namespace().full(shape, _cast(value, own_dtype.numpy), dtype=own_dtype)


def _array_of(a: Any, dtype: Any = None) -> Any:
    operand = _to_operand(a)
    return operand if dtype is None else _cast(operand, np.dtype(dtype))


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
    np.concatenate: _concatenate,
    np.stack: _stack,
    **dict.fromkeys((np.array, np.asarray), _array_of),
    np.zeros: _zeros,
    np.ones: _ones,
    np.eye: _eye,
    np.identity: _identity,
    np.full: _full,
    np.arange: _arange,
    **{getattr(np, name): _like(name) for name in ("zeros_like", "ones_like")},
    np.float64: _as_class(float),
}
"""The functions of NumPy that tagloom computes, with those of their parameters that it takes."""


def apply_numpy(function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a function of NumPy with symbolic arguments. Returns NotImplemented where tagloom has no exact
    counterpart."""
    implementation = FUNCTIONS.get(function)
    if implementation is None:
        return NotImplemented
    try:
        bound = inspect.signature(implementation).bind(*arguments, **keywords)
    except TypeError:
        return NotImplemented  # other keywords
    try:
        return implementation(*bound.args, **bound.kwargs)
    except _NoCounterpart:
        return NotImplemented


def refuse(function: Any) -> NoReturn:
    """Raise the error for a function of NumPy that needs the values of its arguments."""
    raise Invalid(
        f"np.{function.__name__} needs concrete values, and an argument is symbolic while tagloom traces the function",
        rule="F1",
        where=user_location(),
        hint=describe_call(function.__name__) or "tl.callback(function, x, returns=tl.float64) calls Python",
        python=TypeError,
    )
