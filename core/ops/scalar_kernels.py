"""Scalar kernels with their edges guarded: plain functions of plain numbers that never raise.

Python raises on 1/0.0, log(0) and exp(1000); IEEE 754 has values there, which these functions return. They compute on
Python's numbers and on machine numbers alike: an integer result has the type of the operands, so that nothing turns
into a float where integers are unsigned.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_MAX_EXP_ARGUMENT = 709.782712893384
"""The largest float64 whose exponential is finite."""
_MAX_SINH_ARGUMENT = 710.4758600739439
"""The largest float64 whose hyperbolic sine, and cosine, is finite."""
_INTEGRAL_BOUND = 2.0**52
"""Every float64 of this size or larger is a whole number."""
_LN_2 = 0.6931471805599453


def div(x: float, y: float) -> float:
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x or y != y:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def product_or_zero(x: float, y: float) -> float:
    return x * y if y != 0.0 else 0.0


def floordiv(x: float, y: float) -> float:
    return x // y if y != 0.0 else div(x, y)


def integer_floordiv(x: int, y: int) -> int:
    """The lowest integer // -1 does not fit in 64 bits; its negative wraps."""
    if y == -1:
        return -x
    return x // y if y != 0 else y


def mod(x: float, y: float) -> float:
    return x % y if y != 0.0 else math.nan


def integer_mod(x: int, y: int) -> int:
    if y == -1:
        return x - x
    return x % y if y != 0 else y


def power(x: float, y: float) -> float:
    """C's pow, to the bit. Python's math.pow raises where C's overflows, has a pole, or is undefined."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0.0 and y % 2.0 == 1.0 else math.inf
    except ValueError:
        if x != 0.0:
            return math.nan
        return -math.inf if math.copysign(1.0, x) < 0.0 and y % 2.0 == 1.0 else math.inf


def integer_power(x: int, y: int, one: int, mask: int) -> int:
    """Square and multiply modulo 2**64, so that intermediate numbers stay small: `mask` is 2**64 - 1."""
    if y < 0:
        return one - one
    product = one
    while y > 0:
        if y & one:
            product = product * x & mask
        x = x * x & mask
        y = y >> one
    return product


def round_float(x: float, significand_bits: int, exponent_bits: int) -> float:
    """The nearest number of a binary format, of two equally near ones the even one; infinite beyond its range.

    A sum with 1.5 * 2**52 times the distance of neighbouring numbers has no bits for less than that distance.
    """
    number = float(x)
    if number != number or number == 0.0:
        return number
    bias = (1 << (exponent_bits - 1)) - 1
    if abs(number) >= 2.0 ** (bias + 1):
        return math.copysign(math.inf, number)
    exponent = max((int(np.float64(number).view(np.int64)) >> 52) & 0x7FF, 1024 - bias)
    shift = 1.5 * float(np.int64((exponent - significand_bits + 53) << 52).view(np.float64))
    rounded = (abs(number) + shift) - shift
    return math.copysign(rounded if rounded < 2.0 ** (bias + 1) else math.inf, number)


def float_bits(x: float, significand_bits: int, exponent_bits: int) -> int:
    """The bits of a number of a binary format of 16 bits. A NaN keeps its first bits, and is quiet."""
    fraction_bits, bias = significand_bits - 1, (1 << (exponent_bits - 1)) - 1
    word = int(np.float64(x).view(np.int64))
    sign = 0x8000 if word < 0 else 0
    fraction = (word >> (52 - fraction_bits)) & ((1 << fraction_bits) - 1)
    infinity = 0x7FFF >> fraction_bits << fraction_bits
    if x != x:
        return sign | infinity | fraction | (1 << (fraction_bits - 1))
    magnitude = abs(x)
    if magnitude == math.inf:
        return sign | infinity
    if magnitude < 2.0 ** (1 - bias):
        return sign | int(magnitude * 2.0 ** (bias - 1 + fraction_bits))
    return sign | (((((word >> 52) & 0x7FF) - 1023 + bias) << fraction_bits) + fraction)


def float_of_bits(word: int, significand_bits: int, exponent_bits: int) -> float:
    """The number of a binary format of 16 bits that has these bits."""
    fraction_bits, bias = significand_bits - 1, (1 << (exponent_bits - 1)) - 1
    exponent, fraction = (word & 0x7FFF) >> fraction_bits, word & ((1 << fraction_bits) - 1)
    sign = -1.0 if word & 0x8000 else 1.0
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    wide_exponent = 0x7FF if exponent == (1 << exponent_bits) - 1 else int(exponent) - bias + 1023
    bits = np.int64((int(wide_exponent) << 52) | (int(fraction) << (52 - fraction_bits)))
    return math.copysign(float(bits.view(np.float64)), sign)


def reinterpret_float(
    x: float, significand_bits: int, exponent_bits: int, result_significand_bits: int, result_exponent_bits: int
) -> float:
    """The number of one binary format of 16 bits that has the bits of a number of another one."""
    bits = float_bits(x, significand_bits, exponent_bits)
    return float_of_bits(bits, result_significand_bits, result_exponent_bits)


def exp(x: float) -> float:
    return math.exp(x) if not x > _MAX_EXP_ARGUMENT else math.inf


def log(x: float) -> float:
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def sqrt(x: float) -> float:
    return math.sqrt(x) if not x < 0.0 else math.nan


def sin(x: float) -> float:
    return math.sin(x) if not math.isinf(x) else math.nan


def cos(x: float) -> float:
    return math.cos(x) if not math.isinf(x) else math.nan


def tan(x: float) -> float:
    return math.tan(x) if not math.isinf(x) else math.nan


def asin(x: float) -> float:
    return math.asin(x) if -1.0 <= x <= 1.0 else math.nan


def acos(x: float) -> float:
    return math.acos(x) if -1.0 <= x <= 1.0 else math.nan


def sinh(x: float) -> float:
    return math.sinh(x) if not math.fabs(x) > _MAX_SINH_ARGUMENT else math.copysign(math.inf, x)


def cosh(x: float) -> float:
    return math.cosh(x) if not math.fabs(x) > _MAX_SINH_ARGUMENT else math.inf


def acosh(x: float) -> float:
    return math.acosh(x) if x >= 1.0 else math.nan


def atanh(x: float) -> float:
    if -1.0 < x < 1.0:
        return math.atanh(x)
    return math.copysign(math.inf, x) if math.fabs(x) == 1.0 else math.nan


def expm1(x: float) -> float:
    return math.expm1(x) if not x > _MAX_EXP_ARGUMENT else math.inf


def log1p(x: float) -> float:
    if x > -1.0:
        return math.log1p(x)
    return -math.inf if x == -1.0 else math.nan


def log2(x: float) -> float:
    if x > 0.0:
        return math.log2(x)
    return -math.inf if x == 0.0 else math.nan


def log10(x: float) -> float:
    if x > 0.0:
        return math.log10(x)
    return -math.inf if x == 0.0 else math.nan


def logaddexp(x: float, y: float) -> float:
    """Computed from the difference of the operands, so that no intermediate result overflows."""
    if x == y:  # includes equal infinities, whose difference is NaN
        return x + _LN_2
    difference = x - y
    if difference > 0.0:
        return x + math.log1p(exp(-difference))
    return y + math.log1p(exp(difference))


def hypot(x: float, y: float) -> float:
    """Within 1 ulp (Borges, "An improved algorithm for hypot(a, b)", 2019). It uses exactly rounded operations only, so
    that it gives the same bits on every processor; the C library's and Python's own differ from each other. A graphics
    processor may contract a product and a sum to one rounding."""
    first, second = math.fabs(x), math.fabs(y)
    if first == math.inf or second == math.inf:
        return math.inf
    if first != first or second != second:
        return math.nan
    large, small = (first, second) if first >= second else (second, first)
    if small <= large * 2.0**-54:
        return large + small
    if large > 2.0**511:
        return hypot_in_range(large * 2.0**-600, small * 2.0**-600) * 2.0**600
    if small < 2.0**-459:
        return hypot_in_range(large * 2.0**600, small * 2.0**600) * 2.0**-600
    return hypot_in_range(large, small)


def hypot_in_range(large: float, small: float) -> float:
    """hypot of operands whose squares neither overflow nor lose bits."""
    length = math.sqrt(large * large + small * small)
    if length <= 2.0 * small:
        excess = length - small
        error = large * (2.0 * excess - large) + (excess - 2.0 * (large - small)) * excess
    else:
        excess = length - large
        error = 2.0 * excess * (large - 2.0 * small) + ((4.0 * excess - small) * small + excess * excess)
    return length - error / (2.0 * length)


def round_half_even(x: float) -> float:
    """Adding 2**52 rounds, since no bits are left for a fraction."""
    if not math.fabs(x) < _INTEGRAL_BOUND:
        return x
    offset = math.copysign(_INTEGRAL_BOUND, x)
    return math.copysign((x + offset) - offset, x)


def floor(x: float) -> float:
    nearest = round_half_even(x)
    return nearest - 1.0 if nearest > x else nearest


def ceil(x: float) -> float:
    nearest = round_half_even(x)
    return math.copysign(nearest + 1.0, x) if nearest < x else nearest


def trunc(x: float) -> float:
    return math.copysign(floor(math.fabs(x)), x)


def identity(x: float) -> float:
    return x


def sign(x: float) -> float:
    """For NaN, x - x is NaN; for a zero it is a zero of the same type."""
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return x - x


def integer_sign(x: int, one: int) -> int:
    if x > 0:
        return one
    return one - one if x == 0 else one - one - one


def signbit(x: float) -> bool:
    return math.copysign(1.0, x) < 0.0


def isfinite(x: float) -> bool:
    return x - x == 0


def isinf(x: float) -> bool:
    return x == x and x - x != 0


def isnan(x: float) -> bool:
    return x != x


def left_shift(x: int, y: int) -> int:
    """A shift by 64 or more leaves no bits of any number."""
    return x << y if 0 <= y < 64 else x - x


def right_shift(x: int, y: int) -> int:
    return x >> y if 0 <= y < 64 else (x >> 63) >> 1


def minimum(x: float, y: float) -> float:
    return x if x != x or x <= y else y


def maximum(x: float, y: float) -> float:
    return x if x != x or x >= y else y


def to_integer(x: float, low: int, high: int, integer: Callable[[float], int]) -> int:
    """Round toward zero; saturate outside the range; NaN gives 0. `integer` is the constructor of the integer type."""
    if x != x:
        return integer(0)
    if x >= high:
        return high
    return integer(x) if x > low else low


def nonzero(x: float) -> bool:
    return x != 0
