"""Operations that compute element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....core import dtypes
from .....core.types import Type
from ...truncation import truncate_divide, truncate_remainder
from ..operations import row, tl, unsupported
from .common import dtype_of, scalar_like, to_dtype

SAME = {
    "abs": "abs", "atan2": "atan2", "cbrt": "cbrt", "ceil": "ceil", "cosine": "cos", "exponential": "exp",
    "exponential_minus_one": "expm1", "floor": "floor", "is_finite": "isfinite", "log": "log",
    "log_plus_one": "log1p", "logistic": "sigmoid", "negate": "negative", "round_nearest_even": "round",
    "select": "where", "sine": "sin", "sqrt": "sqrt", "subtract": "subtract", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
"""The operations that are also functions of tagloom."""
SAME_CHLO = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cosh": "cosh", "digamma": "digamma", "erf": "erf", "erfc": "erfc", "is_inf": "isinf", "lgamma": "lgamma",
    "next_after": "nextafter", "sinh": "sinh", "tan": "tan", "square": "square",
}  # fmt: skip
"""The operations of CHLO, which JAX uses beside StableHLO, that are also functions of tagloom."""
COMPARISONS = {
    "EQ": "equal", "NE": "not_equal", "LT": "less", "LE": "less_equal", "GT": "greater", "GE": "greater_equal",
}  # fmt: skip


def register_same(name: str, function: str, dialect: str) -> None:
    @row(name, dialect=dialect, is_elementwise=True)
    def compute(*operands: Any) -> Any:
        return getattr(tl, function)(*operands)


for _name, _function in SAME.items():
    register_same(_name, _function, "stablehlo")
for _name, _function in SAME_CHLO.items():
    register_same(_name, _function, "chlo")


def register_logical(name: str, logical: str, bitwise: str) -> None:
    """Register an operation that is a logical function for bools and another function for numbers."""

    @row(name, is_elementwise=True)
    def compute(*operands: Any) -> Any:
        return getattr(tl, logical if dtype_of(operands[0]).kind == "b" else bitwise)(*operands)


for _name, _logical, _bitwise in (
    ("and", "logical_and", "bitwise_and"), ("or", "logical_or", "bitwise_or"), ("xor", "logical_xor", "bitwise_xor"),
    ("not", "logical_not", "bitwise_invert"), ("add", "logical_or", "add"), ("multiply", "logical_and", "multiply"),
):  # fmt: skip
    register_logical(_name, _logical, _bitwise)


@row("maximum", is_elementwise=True)
def maximum(x: Any, y: Any) -> Any:
    """-0.0 is less than 0.0, as IEEE 754 says of its operation of this name."""
    if dtype_of(x).kind == "b":
        return tl.logical_or(x, y)
    return extremum(tl.maximum, x, y, first_sign=1.0)


@row("minimum", is_elementwise=True)
def minimum(x: Any, y: Any) -> Any:
    """-0.0 is less than 0.0, as IEEE 754 says of its operation of this name."""
    if dtype_of(x).kind == "b":
        return tl.logical_and(x, y)
    return extremum(tl.minimum, x, y, first_sign=-1.0)


def extremum(function: Callable[[Any, Any], Any], x: Any, y: Any, *, first_sign: float) -> Any:
    """The larger or smaller of two numbers. tagloom's functions choose the first of two zeros: so a zero with the sign
    of `first_sign` comes first."""
    if dtype_of(x).kind != "f":
        return function(x, y)
    for constant, operand in ((x, y), (y, x)):
        if isinstance(constant, np.ndarray):
            signs = np.copysign(1.0, constant[constant == 0])
            if np.all(signs == first_sign):
                return function(constant, operand) if signs.size else function(x, y)
            if np.all(signs == -first_sign):
                return function(operand, constant)
    is_first = tl.equal(tl.copysign(scalar_like(1, x), x), scalar_like(first_sign, x))
    return tl.where(is_first, function(x, y), function(y, x))


@row("sign", is_elementwise=True)
def sign(x: Any) -> Any:
    """The sign of -0.0 is -0.0."""
    return tl.copysign(tl.sign(x), x) if dtype_of(x).kind == "f" else tl.sign(x)


@row("rsqrt", is_elementwise=True)
def rsqrt(x: Any) -> Any:
    return tl.reciprocal(tl.sqrt(x))


@row("divide", is_elementwise=True)
def divide(x: Any, y: Any) -> Any:
    """Integers are divided toward zero. Divided by zero they give all ones, as in XLA."""
    if dtype_of(x).kind == "f":
        return tl.divide(x, y)
    divisor, is_zero = nonzero_divisor(y)
    quotient = truncate_divide(x, divisor)
    ones = -1 if dtype_of(x).kind == "i" else dtype_of(x).range[1]
    return quotient if is_zero is None else tl.where(is_zero, scalar_like(ones, x), quotient)


@row("remainder", is_elementwise=True)
def remainder(x: Any, y: Any) -> Any:
    """With the sign of the dividend. Of an integer by zero it is the dividend, as in XLA."""
    if dtype_of(x).kind == "f":
        return truncate_remainder(x, y)
    divisor, is_zero = nonzero_divisor(y)
    result = truncate_remainder(x, divisor)
    return result if is_zero is None else tl.where(is_zero, x, result)


def nonzero_divisor(y: Any) -> tuple[Any, Any]:
    """A divisor with 1 in place of zeros, and where those are; None where a constant has none."""
    if isinstance(y, np.ndarray) and bool(np.all(y != 0)):
        return y, None
    is_zero = tl.equal(y, scalar_like(0, y))
    return tl.where(is_zero, scalar_like(1, y), y), is_zero


@row("power", is_elementwise=True)
def power(x: Any, y: Any) -> Any:
    """An integer to a negative power is 0, but for 1 and -1."""
    if dtype_of(x).kind != "i":
        return tl.pow(x, y)
    zero, unit = scalar_like(0, x), scalar_like(1, x)
    is_negative = tl.less(y, zero)
    result = tl.pow(x, tl.where(is_negative, tl.bitwise_and(y, unit), y))
    is_unit = tl.logical_or(tl.equal(x, unit), tl.equal(x, scalar_like(-1, x)))
    return tl.where(tl.logical_and(is_negative, tl.logical_not(is_unit)), zero, result)


@row("clamp", is_elementwise=True)
def clamp(low: Any, x: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


@row("round_nearest_afz", is_elementwise=True)
def round_nearest_afz(x: Any) -> Any:
    """Halves are rounded away from zero."""
    truncated = tl.trunc(x)
    is_far = tl.greater_equal(tl.abs(tl.subtract(x, truncated)), scalar_like(0.5, x))
    return tl.where(is_far, tl.add(truncated, tl.copysign(scalar_like(1, x), x)), truncated)


@row("compare", is_elementwise=True)
def compare(x: Any, y: Any, *, comparison_direction: str, compare_type: str = "") -> Any:
    function = getattr(tl, COMPARISONS[last_word(comparison_direction)])
    if last_word(compare_type) == "TOTALORDER" and dtype_of(x).kind == "f":
        return function(total_order(x), total_order(y))
    if dtype_of(x).kind == "b":
        return function(tl.astype(x, tl.uint8), tl.astype(y, tl.uint8))
    return function(x, y)


def last_word(attribute: str) -> str:
    """The value of an attribute that is an enumeration.

    >>> last_word("#stablehlo<comparison_direction LT>")
    'LT'
    """
    return attribute.rstrip(">").rpartition(" ")[2]


def total_order(x: Any) -> Any:
    """Integers in the total order of IEEE 754 of floats: -NaN, -infinity, ..., -0, 0, ..., infinity, NaN."""
    integer = getattr(dtypes, f"int{dtype_of(x).bits}")
    bits = tl.bitcast(x, integer)
    return tl.where(
        tl.less(bits, scalar_like(0, bits)), tl.bitwise_xor(bits, scalar_like(integer.range[1], bits)), bits
    )


@row("convert", is_elementwise=True)
def convert(x: Any, *, result: Type) -> Any:
    return to_dtype(x, result.dtype)


@row("bitcast_convert", is_elementwise=True)
def bitcast_convert(x: Any, *, result: Type) -> Any:
    source, target = dtype_of(x), result.dtype
    if source is target:
        return x
    if "b" in (source.kind, target.kind):
        raise unsupported("dtype", f"the bits of {source!r} are not read as {target!r}")
    if source.bits > target.bits:
        return tl.bitcast(split_bits(x, target.bits), target)
    return tl.bitcast(x if source.bits == target.bits else join_bits(x, target.bits), target)


def split_bits(x: Any, width: int) -> Any:
    """Numbers as unsigned ones of `width` bits, fewer than they have, along a new last axis, the lowest bits first."""
    bits, part = tl.bitcast(x, unsigned_of(x)), getattr(dtypes, f"uint{width}")
    shifts = range(0, dtype_of(x).bits, width)
    parts = [tl.astype(tl.bitwise_right_shift(bits, scalar_like(shift, bits)), part) for shift in shifts]
    return tl.stack(parts, axis=-1)


def join_bits(x: Any, width: int) -> Any:
    """The numbers along the last axis, the lowest bits first, as one unsigned number of `width` bits."""
    bits, dtype = tl.bitcast(x, unsigned_of(x)), getattr(dtypes, f"uint{width}")
    parts = [tl.astype(tl.take(bits, np.int64(k), axis=-1), dtype) for k in range(width // dtype_of(x).bits)]
    word = parts[0]
    for k, part in enumerate(parts[1:], 1):
        shifted = tl.bitwise_left_shift(part, scalar_like(k * dtype_of(x).bits, part))
        word = tl.bitwise_or(word, shifted)
    return word


@row("reduce_precision", is_elementwise=True)
def reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    exponent, mantissa = {32: (8, 23), 64: (11, 52)}[dtype_of(x).bits]
    if exponent_bits < exponent or mantissa_bits < mantissa:
        raise unsupported("dtype", "numbers of fewer bits than their dtype has are not imported")
    return x


def shift_count(y: Any) -> Any:
    """A number of bits to shift by. A negative one, read as unsigned, exceeds the number of bits."""
    if dtype_of(y).kind == "u" or (isinstance(y, np.ndarray) and bool(np.all(y >= 0))):
        return y
    return tl.where(tl.less(y, scalar_like(0, y)), scalar_like(dtype_of(y).bits, y), y)


@row("shift_left", is_elementwise=True)
def shift_left(x: Any, y: Any) -> Any:
    return tl.bitwise_left_shift(x, shift_count(y))


@row("shift_right_arithmetic", is_elementwise=True)
def shift_right_arithmetic(x: Any, y: Any) -> Any:
    if dtype_of(x).kind == "i":
        return tl.bitwise_right_shift(x, shift_count(y))
    signed = getattr(dtypes, f"int{dtype_of(x).bits}")
    return tl.bitcast(shift_right_arithmetic(tl.bitcast(x, signed), tl.bitcast(y, signed)), dtype_of(x))


@row("shift_right_logical", is_elementwise=True)
def shift_right_logical(x: Any, y: Any) -> Any:
    if dtype_of(x).kind == "u":
        return tl.bitwise_right_shift(x, y)
    unsigned = getattr(dtypes, f"uint{dtype_of(x).bits}")
    return tl.bitcast(tl.bitwise_right_shift(tl.bitcast(x, unsigned), tl.bitcast(y, unsigned)), dtype_of(x))


@row("popcnt", is_elementwise=True)
def popcnt(x: Any) -> Any:
    """The number of bits that are 1, counted in pairs, then in groups of four, and so on."""
    bits, counts = dtype_of(x).bits, x if dtype_of(x).kind == "u" else tl.bitcast(x, unsigned_of(x))
    width = 1
    while width < bits:
        mask = sum(1 << bit for bit in range(bits) if bit // width % 2 == 0)
        low = tl.bitwise_and(counts, scalar_like(mask, counts))
        high = tl.bitwise_and(tl.bitwise_right_shift(counts, scalar_like(width, counts)), scalar_like(mask, counts))
        counts, width = tl.add(low, high), 2 * width
    return tl.astype(counts, dtype_of(x))


@row("count_leading_zeros", is_elementwise=True)
def count_leading_zeros(x: Any) -> Any:
    """The number of zeros before the first 1: the zeros that remain when all bits behind a 1 are set."""
    filled = x if dtype_of(x).kind == "u" else tl.bitcast(x, unsigned_of(x))
    width = 1
    while width < dtype_of(x).bits:
        filled = tl.bitwise_or(filled, tl.bitwise_right_shift(filled, scalar_like(width, filled)))
        width *= 2
    return tl.astype(popcnt(tl.bitwise_invert(filled)), dtype_of(x))


def unsigned_of(x: Any) -> Any:
    """The unsigned dtype of as many bits as x has."""
    return getattr(dtypes, f"uint{dtype_of(x).bits}")


@row("erf_inv", dialect="chlo", is_elementwise=True)
def erf_inv(x: Any) -> Any:
    """The inverse of erf, by the inverse of the normal distribution; a step of Newton's method then makes small results
    accurate."""
    wide = to_dtype(x, tl.float64)
    rough = tl.multiply(tl.ndtri(tl.multiply(tl.add(wide, 1.0), 0.5)), math.sqrt(0.5))
    slope = tl.multiply(tl.exp(tl.negative(tl.square(rough))), 2 / math.sqrt(math.pi))
    better = tl.subtract(rough, tl.divide(tl.subtract(tl.erf(rough), wide), slope))
    return to_dtype(tl.where(tl.less(tl.abs(wide), 0.9), better, rough), dtype_of(x))


@row("optimization_barrier")
def optimization_barrier(*operands: Any) -> Any:
    return operands


@row("sharding_constraint", dialect="sdy")
def sharding_constraint(x: Any) -> Any:
    return x
