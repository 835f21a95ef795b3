"""Casts: the conversion of operands before a column computes them, and NumPy's error state meanwhile.

`op` selects the column; this module converts scalars and narrow floats to the types that a column takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context, ContextVar
from typing import Any, TypeAlias

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..types import Type
from ..value import Value, round_floats

Cast: TypeAlias = Callable[[Any], Any]
_NUMPY_CONSTRUCTORS: dict[type, Cast] = dict.fromkeys(dtypes.BY_PYTHON, np.asarray)
_FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def compose_casts(casts: Sequence[Cast | None], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its operands cast first; a cast of None leaves an operand unchanged. One and two operands are
    unrolled, which saves 0.3 us."""
    first, second = casts[0], casts[-1]
    if not any(casts):
        return function
    if len(casts) == 1 and first:
        return lambda x: function(first(x))
    if len(casts) == 2 and first and second:
        return lambda x, y: function(first(x), second(y))
    if len(casts) == 2 and second:
        return lambda x, y: function(x, second(y))
    if len(casts) == 2 and first:
        return lambda x, y: function(first(x), y)

    def call(*operands: Any) -> Any:
        pairs = zip(casts, operands, strict=True)
        return function(*[operand if cast is None else cast(operand) for cast, operand in pairs])

    return call


def to_numpy(operand: Value) -> Any:
    """An operand for NumPy: a Python number becomes an array of its dtype, which NumPy would otherwise adapt to the
    other operands."""
    constructor = _NUMPY_CONSTRUCTORS.get(type(operand))
    return operand if constructor is None else constructor(operand)


def to_numpy_float64(operand: Value) -> Any:
    """`to_numpy`, with float32 converted to float64."""
    array = to_numpy(operand)
    return array.astype(_FLOAT64) if array.dtype.char == "f" else array


def _astype_float64(operand: Any) -> Any:
    return operand.astype(_FLOAT64)


def numpy_cast(type_: Type) -> Cast | None:
    """The cast of operands of this type for NumPy; None if they need none."""
    return None if type_.shape else to_numpy


def float64_cast(type_: Type) -> Cast | None:
    """`numpy_cast`, with float32 converted to float64."""
    if type_.dtype is not dtypes.float32:
        return numpy_cast(type_)
    return _astype_float64 if type_.shape else to_numpy_float64


def unboxing_cast(type_: Type) -> Cast | None:
    """The cast of scalars of this type to Python numbers, whose integers do not wrap; None if they need none."""
    return None if type_.dtype in dtypes.PYTHON_DTYPES else {"f": float, "i": int, "u": int}.get(type_.dtype.kind)


def round_to_float32(number: float) -> Any:
    """The number rounded to float32; infinite beyond its range."""
    if -_FLOAT32_MAX <= number <= _FLOAT32_MAX:
        return np.float32(number)
    token = ERROR_STATE.set(IGNORE_ERRORS)
    try:
        return np.float32(number)
    finally:
        ERROR_STATE.reset(token)


def rounding_constructor(dtype: DType) -> Cast:
    """The function that rounds numbers to float32, and then to a float of 16 bits."""
    constructor = dtype.numpy.type

    def round_number(number: float) -> Any:
        token = ERROR_STATE.set(IGNORE_ERRORS)
        try:
            return constructor(np.float32(number))
        finally:
            ERROR_STATE.reset(token)

    return round_number


def widen_array(operand: Any) -> Any:
    """An operand in the dtype that ops compute it in: float32 for the floats of 16 bits."""
    if not isinstance(operand, np.ndarray | np.generic) or dtypes.from_numpy(operand.dtype) not in dtypes.FLOAT_FORMATS:
        return operand
    return operand.astype(_FLOAT32)


def narrow_value(value: Any, dtype: DType) -> Value:
    """A float, or an array of them, rounded to a float of 16 bits."""
    array: Any = round_floats(np.asarray(value), dtype)
    if array.ndim:
        array.setflags(write=False)
    return array if array.ndim else array[()]  # type: ignore[no-any-return]


def _find_error_state() -> tuple[ContextVar[Any], Any]:
    """The context variable in which NumPy keeps its error state, and its value for ignoring all errors: setting and
    resetting it takes 0.1 us, and np.errstate 1 us."""
    context = Context()
    context.run(np.seterr, all="ignore")
    ((variable, value),) = context.items()
    return variable, value


ERROR_STATE, IGNORE_ERRORS = _find_error_state()


def build_elementwise(
    function: Callable[..., Any], casts: Sequence[Cast | None], dtype: np.dtype[Any]
) -> Callable[..., Any]:
    """A kernel that casts one or two operands, calls a function which fills a new array, and converts the array to a
    value of a dtype. Most ops on arrays do that; inlining it saves 0.3 us, and 0.2 us more for each operand that is
    widened."""
    assert 1 <= len(casts) <= 2, "only functions of one or two operands have such kernels"
    set_state, reset_state, wide = ERROR_STATE.set, ERROR_STATE.reset, _FLOAT64
    widens = all(cast is _astype_float64 for cast in casts)
    compute = function if widens else compose_casts(casts, function)

    def unary(x: Any) -> Any:
        token = set_state(IGNORE_ERRORS)
        try:
            output = compute(x.astype(wide) if widens else x)
            if output.dtype is not dtype:
                output = output.astype(dtype)
        finally:
            reset_state(token)
        output.setflags(False)
        return output

    def unary_wide(x: Any) -> Any:
        """Widens float32, and rounds the result."""
        token = set_state(IGNORE_ERRORS)
        try:
            output = function(x.astype(wide)).astype(dtype)
        finally:
            reset_state(token)
        output.setflags(False)
        return output

    def binary(x: Any, y: Any) -> Any:
        token = set_state(IGNORE_ERRORS)
        try:
            output = compute(x.astype(wide), y.astype(wide)) if widens else compute(x, y)
            if output.dtype is not dtype:
                output = output.astype(dtype)
        finally:
            reset_state(token)
        output.setflags(False)
        return output

    if len(casts) == 2:
        return binary
    return unary_wide if widens and dtype == np.float32 else unary
