"""Operators that compute element by element."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....core.types import Type
from ...truncation import truncate_divide, truncate_remainder
from ..operations import row, tl, unsupported
from ..storage import contiguous_copies, conversion_copies
from .common import axis_position, cast, common_dtype, dtype_of, is_number, known_sizes, rank_of, scalar_like, to_dtype
from .shapes import part

FLOATING = {
    "acos": "acos", "acosh": "acosh", "arccos": "acos", "arccosh": "acosh", "asin": "asin", "arcsin": "asin",
    "asinh": "asinh", "arcsinh": "asinh", "atan": "atan", "arctan": "atan", "atanh": "atanh", "arctanh": "atanh",
    "cos": "cos", "cosh": "cosh", "digamma": "digamma", "special_digamma": "digamma", "erf": "erf",
    "special_erf": "erf", "erfc": "erfc", "special_erfc": "erfc", "exp": "exp", "expm1": "expm1",
    "special_expm1": "expm1", "lgamma": "lgamma", "special_gammaln": "lgamma", "log": "log", "log10": "log10",
    "log1p": "log1p", "special_log1p": "log1p", "log2": "log2", "reciprocal": "reciprocal", "sigmoid": "sigmoid",
    "special_expit": "sigmoid", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
    "special_ndtri": "ndtri",
}  # fmt: skip
"""The operators that are a function of tagloom on floats; integers become floats first."""
SAME = {
    "abs": "abs", "absolute": "abs", "bitwise_not": "bitwise_invert", "isinf": "isinf", "isnan": "isnan",
    "isfinite": "isfinite", "neg": "negative", "negative": "negative", "square": "square", "sign": "sign",
    "sgn": "sign", "signbit": "signbit", "silu": "silu",
}  # fmt: skip
ROUNDING = {"ceil": "ceil", "floor": "floor", "fix": "trunc", "trunc": "trunc"}
COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "not_equal": "not_equal", "lt": "less", "less": "less", "le": "less_equal",
    "less_equal": "less_equal", "gt": "greater", "greater": "greater", "ge": "greater_equal",
    "greater_equal": "greater_equal",
}  # fmt: skip
ARITHMETIC = {
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift", "arctan2": "atan2", "atan2": "atan2",
    "bitwise_left_shift": "bitwise_left_shift", "bitwise_right_shift": "bitwise_right_shift", "copysign": "copysign",
    "hypot": "hypot", "logaddexp": "logaddexp", "maximum": "maximum", "minimum": "minimum", "nextafter": "nextafter",
}  # fmt: skip
BITWISE = {
    "bitwise_and": ("bitwise_and", "logical_and"), "__and__": ("bitwise_and", "logical_and"),
    "bitwise_or": ("bitwise_or", "logical_or"), "__or__": ("bitwise_or", "logical_or"),
    "bitwise_xor": ("bitwise_xor", "logical_xor"), "__xor__": ("bitwise_xor", "logical_xor"),
}  # fmt: skip
LOGICAL = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"}


def register_floating(name: str, function: str) -> None:
    @row(name)
    def compute(self: Any, *, result: Type) -> Any:
        return getattr(tl, function)(to_dtype(self, result.dtype))


def register_same(name: str, function: str) -> None:
    @row(name)
    def compute(self: Any) -> Any:
        if function == "bitwise_invert" and dtype_of(self).kind == "b":
            return tl.logical_not(self)
        if function in ("isinf", "isnan", "isfinite") and dtype_of(self).kind != "f":
            self = tl.astype(self, tl.float32)
        if function == "sign" and dtype_of(self).kind in "bu":
            return to_dtype(to_bool(self), dtype_of(self))
        if function == "sign" and dtype_of(self).kind == "f":
            return tl.where(tl.isnan(self), scalar_like(0, self), tl.sign(self))  # that of NaN is 0
        return getattr(tl, function)(self)


def register_rounding(name: str, function: str) -> None:
    @row(name)
    def compute(self: Any) -> Any:
        return getattr(tl, function)(self) if dtype_of(self).kind == "f" else self


def register_comparison(name: str, function: str) -> None:
    @row(name)
    def compute(self: Any, other: Any) -> Any:
        return getattr(tl, function)(*cast(common_dtype(self, other), self, other))


def register_arithmetic(name: str, function: str) -> None:
    @row(name)
    def compute(self: Any, other: Any, *, result: Type) -> Any:
        return getattr(tl, function)(*cast(result.dtype, self, other))


def register_bitwise(name: str, functions: tuple[str, str]) -> None:
    @row(name)
    def compute(self: Any, other: Any, *, result: Type) -> Any:
        function = functions[1] if result.dtype.kind == "b" else functions[0]
        return getattr(tl, function)(*cast(result.dtype, self, other))


def register_logical(name: str, function: str) -> None:
    @row(name)
    def compute(self: Any, other: Any) -> Any:
        return getattr(tl, function)(to_bool(self), to_bool(other))


Register = Callable[[str, Any], None]
FAMILIES: tuple[tuple[dict[str, Any], Register], ...] = (
    (FLOATING, register_floating), (SAME, register_same), (ROUNDING, register_rounding),
    (COMPARISONS, register_comparison), (ARITHMETIC, register_arithmetic), (BITWISE, register_bitwise),
    (LOGICAL, register_logical),
)  # fmt: skip
for _family, _register in FAMILIES:
    for _name, _function in _family.items():
        _register(_name, _function)


def to_bool(x: Any) -> Any:
    """Whether each element is not zero."""
    if is_number(x):
        return np.asarray(bool(x))
    return x if dtype_of(x).kind == "b" else tl.not_equal(x, scalar_like(0, x))


@row("logical_not")
def logical_not(self: Any) -> Any:
    return tl.logical_not(to_bool(self))


@row("isreal")
def isreal(self: Any) -> Any:
    return tl.broadcast_to(np.asarray(True), tl.shape(self))


@row("isposinf")
def isposinf(self: Any) -> Any:
    return tl.equal(*cast(common_dtype(self, math.inf), self, math.inf))


@row("isneginf")
def isneginf(self: Any) -> Any:
    return tl.equal(*cast(common_dtype(self, -math.inf), self, -math.inf))


@row("add")
def add(self: Any, other: Any, *, alpha: Any = 1, result: Type) -> Any:
    x, y = cast(result.dtype, self, scale(other, alpha, result))
    return tl.logical_or(x, y) if result.dtype.kind == "b" else tl.add(x, y)


def scale(x: Any, factor: Any, result: Type) -> Any:
    """An operand times a factor, in the dtype of the result."""
    return x if is_number(factor) and factor == 1 else tl.multiply(*cast(result.dtype, x, factor))


@row("sub", "subtract")
def sub(self: Any, other: Any, *, alpha: Any = 1, result: Type) -> Any:
    return tl.subtract(*cast(result.dtype, self, scale(other, alpha, result)))


@row("rsub")
def rsub(self: Any, other: Any, *, alpha: Any = 1, result: Type) -> Any:
    return tl.subtract(*cast(result.dtype, other, scale(self, alpha, result)))


@row("mul", "multiply")
def mul(self: Any, other: Any, *, result: Type) -> Any:
    x, y = cast(result.dtype, self, other)
    return tl.logical_and(x, y) if result.dtype.kind == "b" else tl.multiply(x, y)


@row("div", "divide", "true_divide")
def div(self: Any, other: Any, *, rounding_mode: str | None = None, result: Type) -> Any:
    """The rounding mode "floor" rounds as Python's `//` does, "trunc" toward zero."""
    x, y = cast(result.dtype, self, other)
    if rounding_mode is None:
        return tl.divide(x, y)
    if rounding_mode == "floor":
        return tl.floor_divide(x, y)
    if rounding_mode != "trunc":
        raise unsupported("attribute", f"the rounding mode {rounding_mode!r}")
    return truncate_divide(x, y)


@row("floor_divide")
def floor_divide(self: Any, other: Any, *, result: Type) -> Any:
    return tl.floor_divide(*cast(result.dtype, self, other))


@row("remainder")
def remainder(self: Any, other: Any, *, result: Type) -> Any:
    """The remainder has the sign of the divisor."""
    return tl.remainder(*cast(result.dtype, self, other))


@row("fmod")
def fmod(self: Any, other: Any, *, result: Type) -> Any:
    """The remainder has the sign of the dividend."""
    return truncate_remainder(*cast(result.dtype, self, other))


@row("pow", "float_power")
def pow_(self: Any, exponent: Any, *, result: Type) -> Any:
    if is_number(exponent) and exponent == 2:
        return tl.square(to_dtype(self, result.dtype))
    if is_number(exponent) and abs(exponent) == 0.5:
        return (rsqrt if exponent < 0 else square_root)(self, result=result)  # which differ for -0.0 and -inf
    return tl.pow(*cast(result.dtype, self, exponent))


@row("ldexp")
def ldexp(self: Any, other: Any, *, result: Type) -> Any:
    x, y = cast(result.dtype, self, other)
    return tl.multiply(x, tl.pow(scalar_like(2, x), y))


def square_root(x: Any, *, result: Type) -> Any:
    """The square root, in the dtype of the result."""
    return tl.sqrt(to_dtype(x, result.dtype))


@row("rsqrt")
def rsqrt(self: Any, *, result: Type) -> Any:
    return tl.reciprocal(tl.sqrt(to_dtype(self, result.dtype)))


@row("exp2", "special_exp2")
def exp2(self: Any, *, result: Type) -> Any:
    return tl.pow(*cast(result.dtype, 2.0, self))


@row("deg2rad")
def deg2rad(self: Any, *, result: Type) -> Any:
    return tl.multiply(*cast(result.dtype, self, math.pi / 180))


@row("rad2deg")
def rad2deg(self: Any, *, result: Type) -> Any:
    return tl.multiply(*cast(result.dtype, self, 180 / math.pi))


@row("frac")
def frac(self: Any) -> Any:
    return tl.subtract(self, tl.trunc(self))


@row("round")
def round_(self: Any, *, decimals: int = 0) -> Any:
    if dtype_of(self).kind != "f":
        return self
    if not decimals:
        return tl.round(self)
    factor = scalar_like(10.0 ** abs(decimals), self)
    first, second = (tl.multiply, tl.divide) if decimals > 0 else (tl.divide, tl.multiply)
    return second(tl.round(first(self, factor)), factor)


@row("positive")
def positive(self: Any) -> Any:
    return self


@row("fmax")
def fmax(self: Any, other: Any, *, result: Type) -> Any:
    """The larger element; NaN only if both are."""
    return ignore_nan(tl.maximum, *cast(result.dtype, self, other))


@row("fmin")
def fmin(self: Any, other: Any, *, result: Type) -> Any:
    return ignore_nan(tl.minimum, *cast(result.dtype, self, other))


def ignore_nan(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """A function of two arrays; where an element is NaN, the other one."""
    if dtype_of(x).kind != "f":
        return function(x, y)
    return tl.where(tl.isnan(x), y, tl.where(tl.isnan(y), x, function(x, y)))


@row("xlogy", "special_xlogy")
def xlogy(self: Any, other: Any, *, result: Type) -> Any:
    x, y = cast(result.dtype, self, other)
    is_zero = tl.logical_and(tl.equal(x, scalar_like(0, x)), tl.logical_not(tl.isnan(y)))
    safe_y = tl.where(is_zero, scalar_like(1, y), y)
    return tl.where(is_zero, scalar_like(0, x), tl.multiply(x, tl.log(safe_y)))


@row("logaddexp2")
def logaddexp2(self: Any, other: Any, *, result: Type) -> Any:
    x, y = cast(result.dtype, self, other)
    factor = scalar_like(math.log(2), x)
    return tl.divide(tl.logaddexp(tl.multiply(x, factor), tl.multiply(y, factor)), factor)


@row("heaviside")
def heaviside(self: Any, values: Any, *, result: Type) -> Any:
    x, y = cast(result.dtype, self, values)
    steps = tl.where(tl.greater(x, scalar_like(0, x)), scalar_like(1, x), scalar_like(0, x))
    return tl.where(tl.equal(x, scalar_like(0, x)), y, steps)


@row("lerp")
def lerp(self: Any, end: Any, weight: Any, *, result: Type) -> Any:
    """From the nearer end, which is exact where the weight is 0 or 1."""
    x, y, w = cast(result.dtype, self, end, weight)
    distance = tl.subtract(y, x)
    from_start = tl.add(x, tl.multiply(w, distance))
    from_end = tl.subtract(y, tl.multiply(distance, tl.subtract(scalar_like(1, w), w)))
    return tl.where(tl.less(tl.abs(w), scalar_like(0.5, w)), from_start, from_end)


@row("addcmul")
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, result: Type) -> Any:
    x, y, z = cast(result.dtype, self, tensor1, tensor2)
    return tl.add(x, scale(tl.multiply(y, z), value, result))


@row("addcdiv")
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, result: Type) -> Any:
    x, y, z = cast(result.dtype, self, tensor1, tensor2)
    return tl.add(x, scale(tl.divide(y, z), value, result))


@row("where", is_folded=False)
def select_elements(condition: Any, self: Any = None, other: Any = None) -> Any:
    if self is None:
        return list(tl.nonzero(condition))
    return tl.where(condition, *cast(common_dtype(self, other), self, other))


@row("masked_fill")
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return tl.where(mask, to_dtype(value, dtype_of(self)), self)


@row("clamp", "clip")
def clamp(self: Any, min: Any = None, max: Any = None, *, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    x = x if min is None else tl.maximum(x, to_dtype(min, result.dtype))
    return x if max is None else tl.minimum(x, to_dtype(max, result.dtype))


@row("clamp_min")
def clamp_min(self: Any, min: Any, *, result: Type) -> Any:
    return clamp(self, min, result=result)


@row("clamp_max")
def clamp_max(self: Any, max: Any, *, result: Type) -> Any:
    return clamp(self, None, max, result=result)


@row("isclose")
def isclose(self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    x, y = self, other
    exact = tl.equal(x, y)
    if equal_nan and dtype_of(x).kind == "f":
        exact = tl.logical_or(exact, tl.logical_and(tl.isnan(x), tl.isnan(y)))
    x, y = (operand if dtype_of(operand).kind == "f" else tl.astype(operand, tl.float32) for operand in (x, y))
    distance, bound = (
        tl.abs(tl.subtract(x, y)),
        tl.add(scalar_like(atol, x), tl.multiply(scalar_like(rtol, x), tl.abs(y))),
    )
    return tl.logical_or(exact, tl.logical_and(tl.isfinite(distance), tl.less_equal(distance, bound)))


@row("nan_to_num")
def nan_to_num(self: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    if dtype_of(self).kind != "f":
        return self
    largest = float(dtype_of(self).limits.max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    x = tl.where(tl.isnan(self), scalar_like(nan or 0.0, self), self)
    x = tl.where(isposinf(self), scalar_like(high, self), x)
    return tl.where(isneginf(self), scalar_like(low, self), x)


# Activations


@row("relu")
def relu(self: Any) -> Any:
    return tl.maximum(self, scalar_like(0, self))


@row("relu6")
def relu6(self: Any) -> Any:
    return hardtanh(self, 0, 6)


@row("hardtanh")
def hardtanh(self: Any, min_val: Any = -1, max_val: Any = 1) -> Any:
    return tl.minimum(tl.maximum(self, scalar_like(min_val, self)), scalar_like(max_val, self))


@row("gelu")
def gelu(self: Any, *, approximate: str = "none") -> Any:
    return tl.gelu(self, approximate=approximate == "tanh")


@row("elu")
def elu(self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    x = self
    low = tl.minimum(x, scalar_like(0, x))
    negative = tl.multiply(scalar_like(alpha * scale, x), tl.expm1(tl.multiply(low, scalar_like(input_scale, x))))
    return tl.where(tl.less(x, scalar_like(0, x)), negative, tl.multiply(x, scalar_like(scale, x)))


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@row("selu")
def selu(self: Any) -> Any:
    return elu(self, SELU_ALPHA, SELU_SCALE)


@row("celu")
def celu(self: Any, alpha: Any = 1.0) -> Any:
    return elu(self, alpha, 1, 1 / alpha)


@row("leaky_relu")
def leaky_relu(self: Any, negative_slope: Any = 0.01) -> Any:
    return tl.where(tl.greater(self, scalar_like(0, self)), self, tl.multiply(self, scalar_like(negative_slope, self)))


@row("prelu", "_prelu_kernel")
def prelu(self: Any, weight: Any) -> Any:
    rank = rank_of(self)
    if rank_of(weight) == 1 and rank > 1 and known_sizes(weight) != (1,):
        weight = tl.reshape(weight, (1, -1, *[1] * (rank - 2)))
    return tl.where(tl.greater(self, scalar_like(0, self)), self, tl.multiply(weight, self))


@row("hardsigmoid")
def hardsigmoid(self: Any) -> Any:
    return tl.divide(relu6(tl.add(self, scalar_like(3, self))), scalar_like(6, self))


@row("hardswish")
def hardswish(self: Any) -> Any:
    return tl.divide(tl.multiply(self, relu6(tl.add(self, scalar_like(3, self)))), scalar_like(6, self))


@row("softplus")
def softplus(self: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled_x = self if beta == 1 else tl.multiply(self, scalar_like(beta, self))
    smooth = tl.softplus(scaled_x)
    smooth = smooth if beta == 1 else tl.divide(smooth, scalar_like(beta, self))
    return tl.where(tl.greater(scaled_x, scalar_like(threshold, self)), self, smooth)


@row("mish")
def mish(self: Any) -> Any:
    return tl.multiply(self, tl.tanh(tl.softplus(self)))


@row("log_sigmoid")
def log_sigmoid(self: Any) -> Any:
    return tl.negative(tl.softplus(tl.negative(self)))


@row("log_sigmoid_forward")
def log_sigmoid_forward(self: Any) -> Any:
    """The second result only helps PyTorch to differentiate."""
    return log_sigmoid(self), None


@row("threshold")
def threshold_(self: Any, threshold: Any, value: Any) -> Any:
    return tl.where(tl.less_equal(self, scalar_like(threshold, self)), scalar_like(value, self), self)


@row("hardshrink")
def hardshrink(self: Any, lambd: Any = 0.5) -> Any:
    is_inside = tl.less_equal(tl.abs(self), scalar_like(lambd, self))
    return tl.where(is_inside, scalar_like(0, self), self)


@row("softshrink")
def softshrink(self: Any, lambd: Any = 0.5) -> Any:
    limit, zero_of_self = scalar_like(lambd, self), tl.multiply(self, scalar_like(0, self))
    lower = tl.where(tl.less(self, tl.negative(limit)), tl.add(self, limit), zero_of_self)
    return tl.where(tl.greater(self, limit), tl.subtract(self, limit), lower)


@row("glu")
def glu(self: Any, dim: int = -1) -> Any:
    axis = axis_position(dim, rank_of(self))
    width = known_sizes(self, [axis])[0] // 2
    return tl.multiply(part(self, axis, slice(0, width)), tl.sigmoid(part(self, axis, slice(width, None))))


@row("logit", "special_logit")
def logit(self: Any, eps: float | None = None, *, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    if eps is not None:
        x = tl.minimum(tl.maximum(x, scalar_like(eps, x)), scalar_like(1 - eps, x))
    return tl.log(tl.divide(x, tl.subtract(scalar_like(1, x), x)))


@row("polygamma", "special_polygamma")
def polygamma(n: int, self: Any, *, result: Type) -> Any:
    return tl.polygamma(np.asarray(n, result.dtype.numpy), to_dtype(self, result.dtype))


# Conversions


@row("_to_copy")
def to_copy(self: Any, *, dtype: Any = None) -> Any:
    return self if dtype is None else to_dtype(self, dtype)


@row("to", is_view=True, copies=conversion_copies)
def to(self: Any, other: Any = None, dtype: Any = None, copy: bool = False) -> Any:
    return to_dtype(self, dtype_of(other) if other is not None else dtype or dtype_of(self))


@row("type_as")
def type_as(self: Any, other: Any) -> Any:
    return to_dtype(self, dtype_of(other))


@row("clone", "lift_fresh_copy", "lift_fresh", "contiguous_copy", "alias_copy")
def clone(self: Any) -> Any:
    return self


@row("copy")
def copy_(self: Any, src: Any) -> Any:
    return tl.broadcast_to(to_dtype(src, dtype_of(self)), tl.shape(self))


@row("fill")
def fill(self: Any, value: Any) -> Any:
    return tl.broadcast_to(to_dtype(value, dtype_of(self)), tl.shape(self))


@row("zero")
def zero(self: Any) -> Any:
    return fill(self, 0)


@row("detach", is_view=True)
def detach(self: Any) -> Any:
    return tl.stop_gradient(self) if dtype_of(self).kind == "f" else self


@row("alias", is_view=True)
def alias(self: Any) -> Any:
    return self


@row("contiguous", is_view=True, copies=contiguous_copies)
def contiguous(self: Any) -> Any:
    return self


@row("sum_to_size")
def sum_to_size(self: Any, size: list[Any]) -> Any:
    """The sum over the axes along which an array was broadcast from a shape."""
    extra = rank_of(self) - len(size)
    axes = tuple(range(extra))
    summed_axes = [extra + k for k, length in enumerate(size) if length == 1 and known_sizes(self, [extra + k]) != (1,)]
    total = functools.partial(tl.sum, dtype=dtype_of(self))
    x = total(self, axis=axes) if axes else self
    return total(x, axis=tuple(axis - extra for axis in summed_axes), keepdims=True) if summed_axes else x
