"""Operators that compute element by element."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from onnx import TensorProto

from ...truncation import truncate_divide, truncate_remainder
from ..interpreter import dtype_of_element, element_of
from ..operators import SizeVector, as_single_value, find_operator, operator, tl, unsupported
from ..storage import StorageArray
from .common import axis_position, cast_to_element, dtype_of, rank_of, require, scalar, scalar_like, shape_of, to_dtype

SAME = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Add": "add", "And": "logical_and", "Asin": "asin",
    "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_invert",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh",
    "Equal": "equal", "Erf": "erf", "Exp": "exp", "Floor": "floor", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "IsNaN": "isnan", "Less": "less", "LessOrEqual": "less_equal", "Log": "log",
    "Mul": "multiply", "Neg": "negative", "Not": "logical_not", "Or": "logical_or", "Reciprocal": "reciprocal",
    "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
    "Softplus": "softplus", "Sqrt": "sqrt", "Sub": "subtract", "Tan": "tan", "Tanh": "tanh", "Where": "where",
    "Xor": "logical_xor",
}  # fmt: skip
"""The operators that are also functions of tagloom."""


ALIGNED = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
"""The operators whose operands were aligned by attributes, before version 7."""


def register_same(name: str, function: str) -> None:
    @operator(name, version=7 if name in ALIGNED else 1)
    def compute(*operands: Any, consumed_inputs: Any = None) -> Any:
        return getattr(tl, function)(*operands)


for _name, _function in SAME.items():
    register_same(_name, _function)


def register_aligned(name: str) -> None:
    row = find_operator("", name, 7)
    assert row is not None

    @operator(name)
    def compute(x: Any, y: Any, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Any = None) -> Any:
        """The axes of y are aligned with those of x from `axis` on."""
        new_axes = rank_of(x) - axis_position(axis, rank_of(x)) - rank_of(y) if broadcast and axis is not None else 0
        return row.compute(x, tl.expand_dims(y, axis=tuple(range(-new_axes, 0))) if new_axes > 0 else y)


@operator("Identity", is_folded=False, takes_sizes=True)
def identity(x: Any) -> Any:
    return x


@operator("Relu", version=14)
def relu(x: Any) -> Any:
    return tl.maximum(x, scalar_like(0, x))


@operator("Div", version=7)
def div(x: Any, y: Any) -> Any:
    """Integers are divided toward zero."""
    return tl.divide(x, y) if dtype_of(x).kind == "f" else truncate_divide(x, y)


@operator("Mod")
def mod(x: Any, y: Any, *, fmod: int = 0) -> Any:
    """The remainder has the sign of the divisor, or with `fmod` the sign of the dividend."""
    return truncate_remainder(x, y) if fmod else tl.remainder(x, y)


@operator("Pow", version=7)
def pow_(x: Any, y: Any) -> Any:
    """The result has the dtype of the base."""
    dtype = dtype_of(x)
    if dtype_of(y) is dtype and dtype.kind != "f":
        return tl.pow(x, y)
    if dtype.kind == "f":
        return tl.pow(x, to_dtype(y, dtype))
    if dtype_of(y).kind != "f":
        return tl.pow(x, to_dtype(y, dtype))
    return tl.astype(tl.pow(tl.astype(x, tl.float64), tl.astype(y, tl.float64)), dtype)


def register_fold(name: str, function: str) -> None:
    @operator(name)
    def compute(*operands: Any, consumed_inputs: Any = None) -> Any:
        return functools.reduce(getattr(tl, function), operands)


for _name, _function in (("Max", "maximum"), ("Min", "minimum"), ("Sum", "add")):
    register_fold(_name, _function)


@operator("Mean")
def mean(*operands: Any) -> Any:
    return tl.divide(functools.reduce(tl.add, operands), float(len(operands)))


@operator("Clip")
def clip_by_attributes(x: Any, *, min: float = -math.inf, max: float = math.inf) -> Any:
    return clip(x, scalar_like(min, x), scalar_like(max, x))


@operator("Clip", version=11)
def clip(x: Any, lower: Any = None, upper: Any = None) -> Any:
    """If the bounds cross, the upper one counts."""
    lower_bounded = x if lower is None else tl.maximum(x, scalar(lower))
    return lower_bounded if upper is None else tl.minimum(lower_bounded, scalar(upper))


@operator("PRelu")
def prelu_by_channel(x: Any, slope: Any, *, consumed_inputs: Any = None) -> Any:
    """A slope for each channel, or one for all."""
    is_vector = rank_of(slope) == 1 and shape_of(slope) != (1,)
    return prelu(x, tl.reshape(slope, (-1, *[1] * (rank_of(x) - 2))) if is_vector else slope)


@operator("PRelu", version=7)
def prelu(x: Any, slope: Any) -> Any:
    return tl.where(tl.less(x, scalar_like(0, x)), tl.multiply(slope, x), x)


@operator("LeakyRelu")
def leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    return tl.where(tl.less(x, 0.0), tl.multiply(x, alpha), x)


@operator("ThresholdedRelu")
def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    return tl.where(tl.greater(x, alpha), x, scalar_like(0, x))


@operator("Elu")
def elu(x: Any, *, alpha: float = 1.0) -> Any:
    return tl.where(tl.less(x, 0.0), tl.multiply(tl.expm1(tl.minimum(x, 0.0)), alpha), x)


@operator("Selu")
def selu(x: Any, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return tl.multiply(elu(x, alpha=alpha), gamma)


@operator("Celu")
def celu(x: Any, *, alpha: float = 1.0) -> Any:
    negative = tl.multiply(tl.expm1(tl.minimum(tl.divide(x, alpha), 0.0)), alpha)
    return tl.add(tl.maximum(x, 0.0), negative)


@operator("HardSigmoid")
def hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return tl.maximum(tl.minimum(tl.add(tl.multiply(x, alpha), beta), 1.0), 0.0)


@operator("HardSwish")
def hard_swish(x: Any) -> Any:
    return tl.multiply(x, hard_sigmoid(x, alpha=1 / 6))


@operator("Softsign")
def softsign(x: Any) -> Any:
    return tl.divide(x, tl.add(tl.abs(x), 1.0))


@operator("Mish")
def mish(x: Any) -> Any:
    return tl.multiply(x, tl.tanh(tl.softplus(x)))


@operator("Gelu")
def gelu(x: Any, *, approximate: str = "none") -> Any:
    return tl.gelu(x, approximate=approximate == "tanh")


@operator("Swish")
def swish(x: Any, *, alpha: float = 1.0) -> Any:
    return tl.multiply(x, tl.sigmoid(tl.multiply(x, alpha)))


@operator("Shrink")
def shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    shifted = tl.where(tl.less(x, scalar_like(-lambd, x)), x + scalar_like(bias, x), scalar_like(0, x))
    return tl.where(tl.greater(x, scalar_like(lambd, x)), x - scalar_like(bias, x), shifted)


@operator("IsInf")
def is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    if detect_negative and detect_positive:
        return tl.isinf(x)
    sign = tl.greater if detect_positive else tl.less
    is_infinite = tl.logical_and(tl.isinf(x), sign(x, 0.0))
    return is_infinite if detect_negative or detect_positive else tl.logical_and(is_infinite, tl.isnan(x))


@operator("BitShift")
def bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    """A negative number of bits, read as an unsigned one, is more than there are."""
    require(direction in ("LEFT", "RIGHT"), "direction is neither LEFT nor RIGHT")
    bits = y
    if dtype_of(y).kind == "i":
        bits = tl.where(tl.less(y, scalar_like(0, y)), scalar_like(dtype_of(y).bits, y), y)
    return (tl.bitwise_left_shift if direction == "LEFT" else tl.bitwise_right_shift)(x, bits)


@operator("Cast")
def cast_by_name(x: Any, *, to: str) -> Any:
    """The first version names the type."""
    return to_dtype(x, TensorProto.DataType.Value(to))


@operator("Cast", version=6, takes_sizes=True, takes_storage=True)
def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    if isinstance(x, SizeVector) and to == TensorProto.INT64:
        return x
    return cast_to_element(as_single_value(x), to, saturate=saturate, round_mode=round_mode)


@operator("CastLike", takes_storage=True)
def cast_like(x: Any, target: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    return cast_to_element(x, element_of(target), saturate=saturate, round_mode=round_mode)


@operator("BitCast", takes_storage=True)
def bit_cast(x: Any, *, to: int) -> Any:
    if isinstance(x, StorageArray):
        raise unsupported("dtype", f"tagloom has no bits of values of ONNX's type {x.type.name.lower()}")
    dtype = dtype_of_element(to)
    if "b" in (dtype.kind, dtype_of(x).kind):  # one byte, 0 or 1
        return tl.astype(x, dtype)
    return tl.bitcast(x, dtype)


@operator("Constant", is_folded=False)
def constant(
    *,
    value: Any = None,
    value_float: Any = None,
    value_floats: Any = None,
    value_int: Any = None,
    value_ints: Any = None,
    sparse_value: Any = None,
    value_string: Any = None,
    value_strings: Any = None,
) -> Any:
    if value is not None:
        return value
    if sparse_value is not None:
        return sparse_value
    for number, dtype in ((value_float, np.float32), (value_floats, np.float32), (value_int, np.int64),
                          (value_ints, np.int64)):  # fmt: skip
        if number is not None:
            return np.asarray(number, dtype)
    raise unsupported("dtype", "tagloom has no strings")


for _name in ALIGNED:
    register_aligned(_name)
