"""Ops that compute element by element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .....core.frontend.array_api.common import type_of
from ...truncation import truncate_divide, truncate_remainder
from ..operations import operation, require, tl, unsupported
from ..tensors import ElementType
from ..values import TensorList, is_array
from .common import dtype_of, rank_of, scalar_like, shape_of, to_dtype

SAME = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Add": "add", "AddV2": "add", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atan2": "atan2", "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Digamma": "digamma", "Erf": "erf",
    "Erfc": "erfc", "Exp": "exp", "Expm1": "expm1", "Floor": "floor",
    "FloorMod": "remainder", "Greater": "greater", "GreaterEqual": "greater_equal", "Inv": "reciprocal",
    "Invert": "bitwise_invert", "IsFinite": "isfinite", "IsInf": "isinf", "IsNan": "isnan", "Less": "less",
    "LessEqual": "less_equal", "Lgamma": "lgamma", "Log": "log", "Log1p": "log1p", "LogicalAnd": "logical_and",
    "LogicalNot": "logical_not", "LogicalOr": "logical_or", "Maximum": "maximum", "Minimum": "minimum",
    "Mul": "multiply", "MulNoNan": "multiply_no_nan", "Ndtri": "ndtri", "Neg": "negative", "NextAfter": "nextafter",
    "Polygamma": "polygamma", "Pow": "pow", "RealDiv": "divide", "Reciprocal": "reciprocal", "Relu": "relu",
    "Rint": "round", "SelectV2": "where", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
    "Softplus": "softplus", "Sqrt": "sqrt", "Square": "square", "Sub": "subtract", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
"""The ops that are a function of tagloom."""


def register_same(name: str, function: str) -> None:
    @operation(name)
    def compute(*operands: Any) -> Any:
        return getattr(tl, function)(*operands)


for _name, _function in SAME.items():
    register_same(_name, _function)


@operation("Identity", "Snapshot", "PlaceholderWithDefault", takes_values=True)
def identity(x: Any) -> Any:
    return x


@operation("EnsureShape", has_effect=True)
def ensure_shape(x: Any, *, shape: tuple[int | None, ...] | None) -> Any:
    """The operand, whose sizes are checked: before the run where they are known."""
    if shape is None:
        return x
    require(len(shape) == rank_of(x), "an array does not have the number of axes that EnsureShape requires")
    for size, required_size in zip(tl.shape(x), shape, strict=True):
        if isinstance(size, int):
            require(required_size in (None, size), "an array does not have the shape that EnsureShape requires")
        elif required_size is not None:
            tl.assert_(tl.equal(size, scalar_like(required_size, size)), f"an array does not have shape {list(shape)}")
    return x


@operation("StopGradient")
def stop_gradient(x: Any) -> Any:
    return tl.stop_gradient(x)


@operation("PreventGradient", ignored=("message",))
def prevent_gradient(x: Any) -> Any:
    return tl.prevent_gradient(x)


@operation("IdentityN", takes_values=True)
def identity_n(*operands: Any) -> Any:
    return list(operands)


@operation("Equal", ignored=("incompatible_shape_error",))
def equal(x: Any, y: Any) -> Any:
    return tl.equal(x, y)


@operation("NotEqual", ignored=("incompatible_shape_error",))
def not_equal(x: Any, y: Any) -> Any:
    return tl.not_equal(x, y)


@operation("ApproximateEqual")
def approximate_equal(x: Any, y: Any, *, tolerance: float = 1e-5) -> Any:
    return tl.less(tl.abs(tl.subtract(x, y)), scalar_like(tolerance, x))


@operation("AddN", "AccumulateNV2", takes_values=True)
def add_n(*operands: Any) -> Any:
    """The sum of arrays; or a list of the sums of the arrays that lists have at one index."""
    lists = [operand for operand in operands if isinstance(operand, TensorList)]
    if not lists:
        require(all(map(is_array, operands)), "AddN takes arrays or lists of arrays")
        return functools.reduce(tl.add, operands)
    require(len(lists) == len(operands), "AddN takes arrays or lists of arrays")
    arrays = [list_.array for list_ in lists if list_.array is not None]  # a list without an array is all zeros
    return lists[0].with_array(functools.reduce(tl.add, arrays)) if arrays else lists[0]


@operation("Cast")
def cast(x: Any, *, DstT: ElementType, Truncate: bool = False) -> Any:  # noqa: N803
    require(not Truncate or dtype_of(x).kind != "f" or DstT.dtype.kind != "f", "Cast that truncates is not imported")
    return to_dtype(x, DstT.dtype)


@operation("Bitcast")
def bitcast(x: Any, *, type: ElementType) -> Any:
    if dtype_of(x).bits != type.dtype.bits:
        raise unsupported("dtype", f"the bits of {dtype_of(x)!r} are not read as {type.dtype!r}")
    return tl.bitcast(x, type.dtype)


@operation("FloorDiv")
def floor_divide(x: Any, y: Any) -> Any:
    """The quotient of floats is rounded once before it is rounded down: 1 // 0.1 is 10."""
    return tl.floor(tl.divide(x, y)) if dtype_of(x).kind == "f" else tl.floor_divide(x, y)


@operation("Div")
def divide(x: Any, y: Any) -> Any:
    """Integers are divided toward zero."""
    return tl.divide(x, y) if dtype_of(x).kind == "f" else truncate_divide(x, y)


operation("TruncateDiv")(truncate_divide)
operation("Mod", "TruncateMod")(truncate_remainder)


@operation("DivNoNan")
def div_no_nan(x: Any, y: Any) -> Any:
    """0 where the divisor is 0."""
    is_zero = tl.equal(y, scalar_like(0, y))
    return tl.where(is_zero, scalar_like(0, x), tl.divide(x, tl.where(is_zero, scalar_like(1, y), y)))


def register_no_zero(name: str, function: str) -> None:
    @operation(name)
    def compute(x: Any, y: Any) -> Any:
        """0 where x is 0, whatever y is."""
        is_zero = tl.equal(x, scalar_like(0, x))
        safe_divisor = tl.where(is_zero, scalar_like(1, y), y)
        factor = {"log": tl.log, "log1p": tl.log1p, "reciprocal": tl.reciprocal}[function](safe_divisor)
        product = tl.divide(x, safe_divisor) if function == "reciprocal" else tl.multiply(x, factor)
        return tl.where(is_zero, scalar_like(0, x), product)


for _name, _function in (("Xdivy", "reciprocal"), ("Xlogy", "log"), ("Xlog1py", "log1p")):
    register_no_zero(_name, _function)


@operation("SquaredDifference")
def squared_difference(x: Any, y: Any) -> Any:
    return tl.square(tl.subtract(x, y))


@operation("Rsqrt")
def rsqrt(x: Any) -> Any:
    return tl.reciprocal(tl.sqrt(x))


@operation("Round")
def round_(x: Any) -> Any:
    return tl.round(x) if dtype_of(x).kind == "f" else x


@operation("LeftShift")
def left_shift(x: Any, y: Any) -> Any:
    return tl.bitwise_left_shift(x, y)


@operation("RightShift")
def right_shift(x: Any, y: Any) -> Any:
    return tl.bitwise_right_shift(x, y)


@operation("Select")
def select(condition: Any, x: Any, y: Any) -> Any:
    """A vector as condition chooses rows."""
    if rank_of(condition) == 1 and rank_of(x) > 1:
        condition = tl.reshape(condition, (-1, *[1] * (rank_of(x) - 1)))
    return tl.where(condition, x, y)


@operation("ClipByValue")
def clip_by_value(x: Any, lower: Any, upper: Any) -> Any:
    return tl.maximum(tl.minimum(x, upper), lower)


@operation("Relu6")
def relu6(x: Any) -> Any:
    return tl.minimum(tl.maximum(x, scalar_like(0, x)), scalar_like(6, x))


@operation("LeakyRelu")
def leaky_relu(x: Any, *, alpha: float = 0.2) -> Any:
    return tl.where(tl.greater(x, scalar_like(0, x)), x, tl.multiply(x, scalar_like(alpha, x)))


@operation("Elu")
def elu(x: Any) -> Any:
    return tl.where(tl.less(x, scalar_like(0, x)), tl.expm1(x), x)


@operation("Selu")
def selu(x: Any) -> Any:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    negative = tl.multiply(tl.expm1(x), scalar_like(scale * alpha, x))
    return tl.where(tl.less(x, scalar_like(0, x)), negative, tl.multiply(x, scalar_like(scale, x)))


@operation("Softsign")
def softsign(x: Any) -> Any:
    return tl.divide(x, tl.add(tl.abs(x), scalar_like(1, x)))


@operation("ZerosLike", takes_values=True)
def zeros_like(x: Any) -> Any:
    """Zeros in the place of each element; for a list, in the place of each element of its arrays."""
    if isinstance(x, TensorList):
        return x if x.array is None else x.with_array(full_like(x.array, 0))
    require(is_array(x), "ZerosLike takes an array or a list of arrays")
    return full_like(x, 0)


@operation("OnesLike")
def ones_like(x: Any) -> Any:
    return full_like(x, 1)


def full_like(x: Any, value: float) -> Any:
    """An array of one number, with the shape and dtype of x."""
    shape = type_of(x).shape
    if shape is not None and None not in shape:
        return tl.full(tuple(shape_of(x)), scalar_like(value, x))
    return tl.full_like(x, value)


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "TanhGrad": lambda y, dy: tl.multiply(dy, tl.subtract(scalar_like(1, y), tl.square(y))),
    "SigmoidGrad": lambda y, dy: tl.multiply(dy, tl.multiply(y, tl.subtract(scalar_like(1, y), y))),
    "SqrtGrad": lambda y, dy: tl.divide(tl.multiply(dy, scalar_like(0.5, y)), y),
    "RsqrtGrad": lambda y, dy: tl.multiply(tl.multiply(dy, scalar_like(-0.5, y)), tl.multiply(y, tl.square(y))),
    "ReciprocalGrad": lambda y, dy: tl.negative(tl.multiply(dy, tl.square(y))),
    "ReluGrad": lambda dy, x: tl.where(tl.greater(x, scalar_like(0, x)), dy, scalar_like(0, dy)),
    "Relu6Grad": lambda dy, x: tl.where(
        tl.logical_and(tl.greater(x, scalar_like(0, x)), tl.less(x, scalar_like(6, x))), dy, scalar_like(0, dy)
    ),
    "EluGrad": lambda dy, y: tl.where(tl.less(y, scalar_like(0, y)), tl.multiply(dy, tl.add(y, scalar_like(1, y))), dy),
    "SoftplusGrad": lambda dy, x: tl.multiply(dy, tl.sigmoid(x)),
}
"""Ops that TensorFlow's gradients use."""


def register_gradient(name: str) -> None:
    @operation(name)
    def compute(x: Any, y: Any) -> Any:
        return GRADIENTS[name](x, y)


for _name in GRADIENTS:
    register_gradient(_name)


@operation("LeakyReluGrad")
def leaky_relu_grad(dy: Any, x: Any, *, alpha: float = 0.2) -> Any:
    return tl.where(tl.greater(x, scalar_like(0, x)), dy, tl.multiply(dy, scalar_like(alpha, dy)))


@operation("CheckNumerics", has_effect=True)
def check_numerics(x: Any, *, message: str = "") -> Any:
    tl.assert_(tl.all(tl.isfinite(x)), message or "a value is not finite")
    return x


@operation("InvertPermutation")
def invert_permutation(x: Any) -> Any:
    return to_dtype(tl.argsort(x), dtype_of(x)) if not isinstance(x, np.ndarray) else np.argsort(x).astype(x.dtype)
