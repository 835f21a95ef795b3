"""What the programs of the corpus compute, once more: in plain Python and NumPy, from the comments at their heads.

Nothing here comes from tagloom, and nothing was copied from its answers. Arguments are plain: a scalar is a Python
number, an array NumPy's. A result is a Python bool or int, a Python float where it is float64, `np.float32`, an array,
or a tuple of several. Where a run traps, `Trap` is raised, with the message of the first trap in program order; where
it deadlocks, `Stuck`. What a run prints is kept in `LINES`. Random numbers are those of the seed 0.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

PROGRAMS: dict[tuple[str, str], Callable[..., Any]] = {}
"""By file and function."""

BY_ZERO, REMAINDER, POWER = "integer division by zero", "integer remainder by zero", "integer to a negative power"


class Trap(Exception):
    """The first trap of a run."""


class Stuck(Exception):
    """What waits for ever."""


LINES: list[str] = []
"""What has been printed since somebody cleared it."""


def program(file: str, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say which function of which file is meant; without names, the one that is called as here."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (function.__name__,):
            assert (file, name) not in PROGRAMS
            PROGRAMS[file, name] = function
        return function

    return note


# What the comments say of numbers


def wrap(number: int, bits: int = 64, signed: bool = True) -> int:
    number %= 2**bits
    return number - 2**bits if signed and number >= 2 ** (bits - 1) else number


def quotient(x: int, y: int) -> int:
    if y == 0:
        raise Trap(BY_ZERO)
    return math.floor(Fraction(x, y))


def rest(x: int, y: int) -> int:
    if y == 0:
        raise Trap(REMAINDER)
    return x - y * math.floor(Fraction(x, y))


def power_of(x: int, y: int) -> int:
    if y < 0:
        raise Trap(POWER)
    return pow(x, y, 2**64) if y > 5000 else x**y


def f32(number: float) -> np.float32:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.float32(number)


def over(x: float, y: float) -> float:
    """IEEE division."""
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


def smaller(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else min(x, y)


def larger_of(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else max(x, y)


def toward_zero(x: float, low: int, high: int) -> int:
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return high if x > 0 else low
    return min(max(math.trunc(x), low), high)


def shape(x: Any) -> str:
    return str(np.shape(x))


def each(function: Callable[..., Any], dtype: Any, *operands: Any) -> Any:
    """Element by element, once the operands have been repeated to one shape."""
    try:
        arrays = np.broadcast_arrays(*operands)
    except ValueError:
        raise Trap(f"shapes {' and '.join(map(shape, operands))} do not broadcast") from None
    values = [function(*items) for items in zip(*(array.ravel().tolist() for array in arrays), strict=True)]
    made = np.array(values, dtype=dtype).reshape(arrays[0].shape)
    return made if made.ndim else made[()].item()


# Arithmetic


def _all_of(bits: int, signed: bool) -> Callable[[int, int], tuple[int, ...]]:
    def all_of(x: int, y: int) -> tuple[int, ...]:
        exact = (x + y, x - y, x * y, quotient(x, y), rest(x, y), -x, abs(x), min(x, y), max(x, y))
        return tuple(wrap(number, bits, signed) for number in exact)

    return all_of


program("int8_arithmetic", "all_of")(_all_of(8, True))
program("uint8_arithmetic", "all_of")(_all_of(8, False))


@program("int16_polynomial")
def polynomial(x: int) -> int:
    return wrap(3 * x**3 - 200 * x**2 + 7 * x - 5, 16)


@program("int32_random_numbers")
def generate(x: int, n: int) -> int:
    for _ in range(n):
        x = 1664525 * x + 1013904223
    return wrap(x, 32)


@program("int64_wraps")
def square(x: int) -> int:
    return wrap(x**2)


@program("int64_wraps")
def double(x: int) -> int:
    return wrap(2 * x)


@program("int64_wraps", "power")
def int64_power(x: int, y: int) -> int:
    return wrap(power_of(x, y))


@program("int64_wraps")
def lowest_by(y: int) -> tuple[int, int]:
    return wrap(quotient(-(2**63), y)), rest(-(2**63), y)


@program("uint16_checksum")
def checksum(k: int, n: int) -> tuple[int, int]:
    words = [i * k for i in range(n)]
    return sum(words) % 2**16, sum(sum(words[: i + 1]) for i in range(n)) % 2**16


@program("uint32_hash", "hash")
def hashed(n: int) -> int:
    h = 7
    for digit in reversed(str(n) if n else ""):
        h = 31 * h + int(digit)
    return h % 2**32


@program("uint64_random_numbers", "next")
def following(x: int) -> int:
    return (6364136223846793005 * x + 1442695040888963407) % 2**64


@program("uint64_random_numbers")
def highest() -> int:
    return 2**64 - 1


@program("uint64_random_numbers", "half")
def halves(x: int) -> tuple[int, int]:
    return x // 2, x % 2


@program("uint64_random_numbers", "by")
def rest_by(x: int, y: int) -> int:
    return rest(x, y)


@program("float32_rounds")
def total(x: float, y: float) -> np.float32:
    return f32(x + y)


@program("float32_rounds")
def product(x: float, y: float) -> np.float32:
    return f32(x * y)


@program("float32_rounds", "quotient")
def float32_quotient(x: float, y: float) -> np.float32:
    return f32(over(x, y))


@program("float32_rounds")
def lost(x: float) -> float:
    return x - float(f32(x))


@program("harmonic_sum")
def harmonic(n: int) -> tuple[np.float32, float]:
    short, long = np.float32(0), 0.0
    for k in range(1, n + 1):
        short = np.float32(short + np.float32(1) / np.float32(k))
        long += 1 / k
    return short, long


@program("float64_specials")
def sums(x: float, y: float) -> tuple[float, ...]:
    return x + y, x - y, x * y, over(x, y)


@program("negative_zero")
def extremes32(x: Any, y: float) -> tuple[Any, Any]:
    return each(lambda x: smaller(x, y), np.float32, x), each(lambda x: larger_of(x, y), np.float32, x)


@program("negative_zero")
@program("float64_specials")
def extremes(x: float, y: float) -> tuple[float, float]:
    return smaller(x, y), larger_of(x, y)


@program("float64_specials")
def compared(x: float, y: float) -> tuple[bool, ...]:
    return x < y, x <= y, x > y, x >= y, x == y, x != y


@program("negative_zero")
def ways(x: float) -> tuple[float, ...]:
    return over(1.0, x), -x, abs(x), math.sqrt(x), 2 * x, x + 0.0


@program("negative_zero", "same")
def same_zeros(x: float, y: float) -> tuple[bool, bool]:
    return x == y, over(1.0, x) == over(1.0, y)


@program("promotion", "narrow")
def promoted_narrow(x: int, y: int) -> int:
    return wrap(x + y, 8)


@program("promotion", "mixed8")
def promoted_sum(x: int, y: int) -> int:
    return x + y


@program("promotion", "mixed16", "mixed32")
def promoted_product(x: int, y: int) -> int:
    return x * y


@program("promotion", "unsigned")
def promoted_difference(x: int, y: int) -> int:
    return (x - y) % 2**64


@program("promotion", "floats")
def promoted_floats(x: float, y: float) -> float:
    return float(np.float32(x)) * y


@program("promotion", "compared")
def promoted_comparison(x: int, y: int) -> bool:
    return x < y


@program("promotion", "chosen")
def promoted_choice(p: bool, x: int, y: int) -> int:
    return x if p else y


@program("floor_and_remainder")
def parts(x: int, y: int) -> tuple[int, int, bool]:
    q, r = quotient(x, y), rest(x, y)
    return wrap(q), r, q * y + r == x


@program("floor_and_remainder")
def modulo_first(x: int, y: int) -> int:
    return rest(x, y) + quotient(x, y)


@program("float_division")
def rounded_down(x: float, y: float) -> tuple[float, float]:
    if y == 0:
        return over(x, y), math.nan
    q = math.floor(Fraction(x) / Fraction(y))
    r = Fraction(x) - q * Fraction(y)
    return float(q) if q else math.copysign(0.0, x) * math.copysign(1.0, y), math.copysign(float(r), y)


@program("float_division", "power")
def float_power(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(x) ** np.float64(y))


@program("float_division")
def product_or_zero(x: float, y: float) -> float:
    return x * y if y else 0.0


@program("elementary_functions", "all_of")
def elementary(x: float) -> tuple[np.float32, ...]:
    with np.errstate(all="ignore"):
        return tuple(f32(f(np.float64(x))) for f in (np.sqrt, np.exp, np.log, np.sin, np.cos, np.tanh))


def each_of(x: float, *functions: Any) -> tuple[np.float32, ...]:
    with np.errstate(all="ignore"):
        return tuple(f32(f(np.float64(x))) for f in functions)


@program("elementary_functions")
def circular(x: float) -> tuple[np.float32, ...]:
    return each_of(x, np.tan, np.arcsin, np.arccos, np.arctan)


@program("elementary_functions")
def hyperbolic(x: float) -> tuple[np.float32, ...]:
    return each_of(x, np.sinh, np.cosh, np.arcsinh, np.arccosh, np.arctanh)


@program("elementary_functions")
def near_zero(x: float) -> tuple[np.float32, ...]:
    return each_of(x, np.expm1, np.log1p, np.log2, np.log10)


@program("elementary_functions")
def of_two(x: float, y: float) -> tuple[np.float32, ...]:
    with np.errstate(all="ignore"):
        return tuple(f32(f(np.float64(x), np.float64(y))) for f in (np.arctan2, np.logaddexp, np.hypot))


@program("special_functions")
def of_errors(x: float) -> tuple[np.float32, ...]:
    return f32(math.copysign(abs(x) ** (1 / 3), x)), f32(math.erf(x)), f32(math.erfc(x))


@program("special_functions")
def of_gamma(x: float) -> tuple[np.float32, np.float32]:
    """Python's own."""
    try:
        return f32(math.lgamma(x)), derivatives(0.0, x)
    except ValueError:  # at poles
        return np.float32(math.inf), np.float32(math.nan)


@program("special_functions")
def quantile(p: float) -> np.float32:
    """By bisection of the distribution, in the lower half."""
    if not 0.0 <= p <= 1.0:
        return np.float32(math.nan)
    if p in (0.0, 1.0):
        return np.float32(math.copysign(math.inf, p - 0.5))
    if p == 0.5:
        return np.float32(0.0)
    share, low, high = min(p, 1.0 - p), -40.0, 0.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if math.erfc(-middle / math.sqrt(2.0)) / 2.0 < share else (low, middle)
    return np.float32(high if p < 0.5 else -high)


@program("special_functions")
def derivatives(n: float, x: float) -> np.float32:
    """By the sum of 1 / (x + k) ** (n + 1), whose terms from the 1,000th on the Euler-Maclaurin formula adds up."""
    if x != x or n < 0 or n != int(n) or x == -math.inf:
        return np.float32(math.nan)
    if x <= 0 and x == int(x):
        return np.float32(math.inf if n % 2 else math.nan)
    if math.isinf(x):
        return np.float32(0.0 if n else math.inf)
    order, last = int(n), x + 1000
    terms = math.fsum((x + k) ** -(order + 1) for k in range(1000))
    if not order:
        return f32(math.log(last) - 1 / (2 * last) - 1 / (12 * last**2) - terms)
    rest = last**-order / order + last ** -(order + 1) / 2 + (order + 1) * last ** -(order + 2) / 12
    return f32((-1) ** (order + 1) * math.factorial(order) * (terms + rest))


@program("bits_of_floats")
def wide(x: float) -> tuple[int, int]:
    """By the parts that the comment names, which frexp gives."""
    sign, size = int(math.copysign(1.0, x) < 0), abs(x)
    if size == math.inf:
        exponent, fraction = 2047, 0
    else:
        part, power = math.frexp(size)
        exponent = max(power + 1022, 0) if size else 0
        fraction = int(math.ldexp(part, 53)) - 2**52 if exponent else int(size / 5e-324)
    bits = (sign << 63) + (exponent << 52) + fraction
    return wrap(bits), bits


@program("bits_of_floats")
def narrow(x: int) -> np.float32:
    sign, exponent, fraction = -1.0 if x >> 31 else 1.0, (x >> 23) % 256, x % 2**23
    if exponent == 255:
        return np.float32(math.nan if fraction else sign * math.inf)
    return f32(sign * math.ldexp(fraction + 2**23 * bool(exponent), max(exponent, 1) - 150))


@program("bits_of_floats", "all_of")
def bits_of_all(x: Any) -> Any:
    return np.array([struct.unpack("<i", struct.pack("<f", number))[0] for number in x.tolist()], np.int32)


@program("bits_of_floats", "next")
def next_float(x: float) -> float:
    return math.nextafter(x, math.inf)


@program("parts_of_numbers")
def parts_of(x: float) -> tuple[Any, ...]:
    """By fractions, which are exact."""
    if not math.isfinite(x):
        whole = (x,) * 4
    else:
        exact = Fraction(x)
        found = math.floor(exact), math.ceil(exact), math.trunc(exact), round(exact)
        whole = tuple(math.copysign(float(each), x) if not each else float(each) for each in found)
        whole = (0.0 if 0 < x < 1 else whole[0], *whole[1:])
    sign = x if x != x else float((x > 0) - (x < 0))
    return *whole, sign, math.copysign(1.0, x) < 0, math.isfinite(x), math.isinf(x), x != x


@program("parts_of_numbers")
def signed(x: float, y: float) -> tuple[float, float]:
    """The bits of a float that is not NaN are those of an integer that counts, from zero away."""
    sign = math.copysign(abs(x), y)
    if x != x or y != y or x == y:
        return sign, math.nan if x != x or y != y else y
    if x == 0:
        return sign, math.copysign(5e-324, y)
    (bits,) = struct.unpack("<q", struct.pack("<d", abs(x)))
    (further,) = struct.unpack("<d", struct.pack("<q", bits + (1 if (y > x) == (x > 0) else -1)))
    return sign, math.copysign(further, x)


@program("parts_of_numbers")
def of_integer(x: int) -> tuple[Any, ...]:
    return x, x, x, x, (x > 0) - (x < 0), True, False, False


SHIFT = "shift by a negative number"


@program("bits")
def bits_of(x: int, y: int) -> tuple[int, ...]:
    """In two's complement of as many places as the dtype has, place by place."""
    places = [(x >> place & 1, y >> place & 1) for place in range(8)]
    both, one, either = ([f(a, b) for a, b in places] for f in (min, max, lambda a, b: (a + b) % 2))
    found = [wrap(sum(bit << place for place, bit in enumerate(row)), 8) for row in (both, one, either)]
    return *found, -1 - x


@program("bits")
def shifted(x: int, y: int) -> tuple[int, int]:
    if y < 0:
        raise Trap(SHIFT)
    return wrap(x * 2**y, 8), math.floor(Fraction(x, 2**y))


@program("bits")
def shifted_all(x: Any, y: Any) -> tuple[Any, Any]:
    if any(number < 0 for number in y.tolist()):
        raise Trap(SHIFT)
    pairs = [shifted(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return np.array([one for one, _ in pairs], np.int8), np.array([other for _, other in pairs], np.int8)


@program("bits")
def truths_of(x: bool, y: bool) -> tuple[bool, ...]:
    return x and y, x or y, x is not y, not x


@program("logic")
def table(x: bool, y: bool) -> tuple[bool, ...]:
    return x and y, x or y, x is not y, not x


@program("logic")
def majority(x: bool, y: bool, z: bool) -> bool:
    return x + y + z >= 2


@program("logic")
def alike(x: bool, y: bool) -> tuple[bool, bool]:
    return x is y, x is not y


@program("comparisons")
def code(x: int, y: int) -> int:
    return 1 * (x < y) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y)


@program("where_and_cond")
def with_where(x: int, y: int) -> int:
    return quotient(x, y)


@program("where_and_cond")
def with_cond(x: int, y: int) -> int:
    return quotient(x, y) if y else 0


@program("where_arrays", "chosen")
def chosen_elements(p: Any, x: Any, y: int) -> Any:
    return each(lambda p, x, y: x if p else y, np.int64, p, x, y)


@program("where_arrays")
def positive(x: Any) -> Any:
    return np.array([number if number > 0 else 0.0 for number in x], np.float64)


@program("conversions")
def to_int64(x: float) -> int:
    return toward_zero(x, -(2**63), 2**63 - 1)


@program("conversions")
def to_int8(x: float) -> int:
    return toward_zero(x, -128, 127)


@program("conversions")
def to_uint8(x: float) -> int:
    return toward_zero(x, 0, 255)


@program("conversions")
def narrowed(x: int) -> tuple[int, ...]:
    expected = ((8, True), (8, False), (16, True), (16, False), (32, True), (32, False), (64, False))
    return tuple(wrap(x, bits, signed) for bits, signed in expected)


@program("conversions")
def to_floats(x: int) -> tuple[np.float32, float]:
    return f32(float(x)), float(x)


@program("conversions")
def to_bool(x: float) -> bool:
    return x != 0


@program("conversions")
def elements(x: Any) -> tuple[Any, Any]:
    return each(lambda x: toward_zero(x, -128, 127), np.int8, x), each(lambda x: x != 0, np.bool_, x)


program("literals", "signed")(lambda: tuple(-(2 ** (bits - 1)) for bits in (8, 16, 32, 64)))
program("literals", "unsigned")(lambda: tuple(2**bits - 1 for bits in (8, 16, 32, 64)))
program("literals", "others")(lambda: (True, False, np.float32(0.1), 0.1))


@program("literals")
def specials() -> tuple[Any, ...]:
    return math.inf, -math.inf, math.nan, -0.0, np.float32(math.nan), np.float32(-math.inf)


@program("literals")
def arrays() -> tuple[Any, ...]:
    square, short = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, math.nan], np.float32)
    return np.array([1, 2]), square, np.array([False]), np.array([1, -2, 3], np.int8), short


@program("literals", "empty")
def empty_literals() -> tuple[Any, ...]:
    return np.zeros(0), np.zeros((2, 0)), np.zeros((0, 3), np.int8)


@program("literals")
def one_float() -> Any:
    return np.array([1.0, 2.5, -0.0])


@program("empty_arrays")
def divided(x: Any, y: int) -> Any:
    return each(quotient, np.int64, x, y)


@program("empty_arrays", "power")
def power_elements(x: Any, y: int) -> Any:
    return each(lambda x: wrap(power_of(x, y)), np.int64, x)


@program("empty_arrays", "rest")
def rest_elements(x: Any, y: Any) -> Any:
    return each(rest, np.int8, x, y)


@program("empty_arrays")
def outer(x: Any, y: Any) -> Any:
    return each(lambda x, y: x * y, np.float64, x, y)


@program("empty_arrays", "total")
@program("broadcasting", "table")
def added(x: Any, y: Any) -> Any:
    return each(lambda x, y: x + y, np.int64, x, y)


@program("broadcasting")
def scaled(x: Any, y: float) -> Any:
    return each(lambda x: x * y, np.float64, x)


@program("broadcasting")
def mix(x: Any, y: Any, z: Any) -> Any:
    return each(lambda x, y, z: wrap(x * y + z, 8), np.int8, x, y, z)


@program("products_and_sums", "product")
def columns_added(x: Any, y: Any) -> Any:
    if x.shape[-1] != y.shape[0]:
        raise Trap(f"shapes {shape(x)} and {shape(y)} do not multiply")
    return (x * y).sum(axis=-1)


@program("products_and_sums")
def stacked(x: Any, y: Any) -> Any:
    return np.array([[wrap(int(row[0]) * int(y[0]) + int(row[1]) * int(y[1]), 8) for row in m] for m in x], np.int8)


@program("products_and_sums")
def inner(x: Any, y: Any) -> Any:
    return np.float32(columns_added(x, y))


@program("products_and_sums", "rows")
def rows_added(x: Any) -> Any:
    return np.array([sum(row) for row in x.tolist()])


@program("products_and_sums")
def columns(x: Any) -> Any:
    return np.array([[sum(column) for column in zip(*x.tolist(), strict=True)]])


@program("products_and_sums", "all_of")
def everything(x: Any) -> Any:
    return np.uint64(sum(np.ravel(x).tolist()))


@program("unknown_sizes")
def mean(x: Any, y: Any) -> Any:
    return each(lambda x, y: (x + y) / 2, np.float64, x, y)


@program("unknown_sizes")
def matrix(x: Any, y: Any) -> Any:
    return each(lambda x, y: x * y, np.int64, x, y)


@program("unknown_shape")
def distance(x: Any, y: Any) -> Any:
    return each(lambda x, y: abs(x - y), np.float64, x, y)


@program("clamp")
def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


@program("clamp")
def clamp_all(x: Any, low: float, high: float) -> Any:
    return each(lambda x: smaller(larger_of(x, low), high), np.float64, x)


@program("identity", "scalar", "array", "stopped")
def unchanged(x: Any) -> Any:
    return x


@program("identity", "literal")
def seven() -> int:
    return 7


# Conditionals


@program("absolute_value")
def absolute(x: int) -> int:
    return wrap(abs(x))


@program("fizz_buzz")
def fizz(n: int) -> int:
    return math.gcd(n, 15) if math.gcd(n, 15) > 1 else n


@program("sorted_pair", "sorted")
def sorted_pair(x: int, y: int) -> tuple[int, ...]:
    return tuple(sorted((x, y)))


@program("used_in_one_branch")
def choose(p: bool, a: int, b: int, c: int) -> int:
    return -a if p else b * b + 1


@program("literal_results")
def sign_word(x: float) -> tuple[int, Any]:
    return (-1, np.array([-1.0, 0.5])) if x < 0 else (1, np.array([1.0, math.inf]))


@program("literal_results")
def decided(x: int) -> int:
    return x + 1


@program("guarded_division")
def guarded(x: int, y: int) -> int:
    if y == 0:
        return -1
    return quotient(x, y) if x > y else rest(x, y)


@program("guarded_division")
def wrong_way_round(x: int, y: int) -> int:
    return quotient(x, y) if y == 0 else 0


@program("unknown_size_of_cond")
def joined(p: bool, q: bool) -> Any:
    a, b = np.arange(1, 3 if p else 4), 10 * np.arange(1, 3 if q else 4)
    return added(a, b)


# Loops


@program("sum_below")
def sum_below(n: int) -> int:
    return sum(range(n))


@program("sum_with_literal_bound")
def sum_to_ten() -> tuple[int, int]:
    return 45, 10


@program("zero_trips")
def never(x: float) -> float:
    return x


@program("zero_trips")
def halve(n: int) -> int:
    while n % 2 == 0:
        n //= 2
    return n


@program("multiplication_by_addition", "product")
def times(n: int, m: int) -> int:
    return n * m


@program("triangular_loop")
def triangle(n: int) -> int:
    return n * (n - 1) // 2


@program("smallest_divisor")
def smallest(n: int) -> int:
    return next(d for d in range(2, n + 1) if n % d == 0)


@program("only_read")
def axpy(n: int, x: Any, a: float, b: Any) -> Any:
    for _ in range(n):
        x = np.array([a * x[0] + b[0], a * x[1] + b[1]])
    return x


@program("greatest_common_divisor_loop", "gcd")
def euclid(a: int, b: int) -> int:
    return math.gcd(a, b)


@program("loop_in_cond_in_loop")
def odd_triangles(n: int) -> int:
    return sum(i * (i + 1) // 2 for i in range(1, n, 2))


@program("integer_square_root")
def root(n: int) -> int:
    return math.isqrt(n)


def fibonacci_number(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@program("fibonacci_loop", "fibonacci")
def fibonacci_modulo(n: int) -> int:
    return fibonacci_number(n) % 2**64


@program("vector_iteration")
def settle(x: Any, a: Any) -> Any:
    for _ in range(8):
        x = each(lambda a, x: a * x / 2 + 1, np.float64, a, x)
    return x


@program("power_by_squaring", "power")
def power_by_squaring(x: int, n: int) -> int:
    return wrap(pow(x, max(n, 0), 2**64))


# Recursion


# Derivatives, as formulas say them


@program("gradients")
def slope(x: float) -> float:
    return 2 * x


@program("gradients")
def curve(x: float) -> tuple[float, float, float]:
    return x * x, 2 * x, x - x + 2.0


@program("gradients")
def gradient_of_fac(x: float) -> tuple[float, float]:
    """The derivative of a product is the sum, over its factors, of the products of the others."""
    factors = []
    while x > 1.0:
        factors.append(x)
        x -= 1.0
    others = (math.prod(factors[:at] + factors[at + 1 :]) for at in range(len(factors)))
    return float(math.prod(factors)), float(sum(others))


@program("gradients")
def gradient_of_power(x: float, n: int) -> tuple[float, float]:
    n = max(n, 0)
    return float(x**n), float(n * x ** (n - 1)) if n else 0.0


@program("gradients")
def descend(x: float, n: int) -> float:
    """Each step takes a quarter away: an eighth of the slope 2 x."""
    return x * 0.75 ** max(n, 0)


@program("no_adjoints")
def constant(x: float) -> float:
    return x


@program("no_adjoints")
def adjoints_of_cells(n: int) -> Any:
    if n < 0:
        raise Trap("fewer than no cells")
    return [[0.0, 0.0]] * n


@program("graph_going_back", "doublings_back")
def doublings_back(x: float, limit: float, d: float) -> tuple[float, float]:
    doublings = 0
    while x < limit:
        x, doublings = 2 * x, doublings + 1
    return x, d * 2.0**doublings


@program("factorial")
def factorial(n: int) -> int:
    return wrap(math.factorial(max(n, 0)))


@program("fibonacci", "fib")
@program("limits", "fib")
def fib(n: int) -> int:
    return fibonacci_number(n)


@program("ackermann")
def ack(m: int, n: int) -> int:
    return {0: n + 1, 1: n + 2, 2: 2 * n + 3}[m]


@program("takeuchi")
def tak(x: int, y: int, z: int) -> int:
    if x <= y:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


@program("range_sum")
def range_sum(a: int, b: int) -> int:
    return sum(range(a, b))


@program("greatest_common_divisor")
def gcd(a: int, b: int) -> int:
    return math.gcd(a, b)


@program("binomial")
def binomial(n: int, k: int) -> int:
    return math.comb(n, k)


@program("hanoi")
def hanoi(n: int, a: int, b: int) -> tuple[int, int]:
    """The moves themselves, tower by tower, with disks that are really there."""
    pegs: dict[int, list[int]] = {1: [], 2: [], 3: []}
    pegs[a] = list(range(n, 0, -1))
    ends: list[int] = []

    def move(count: int, start: int, end: int) -> None:
        if count:
            spare = ({1, 2, 3} - {start, end}).pop()
            move(count - 1, start, spare)
            disk = pegs[start].pop()
            assert disk == count and all(disk < other for other in pegs[end])
            pegs[end].append(disk)
            ends.append(end)
            move(count - 1, spare, end)

    move(n, a, b)
    return len(ends), sum(ends)


@program("even_or_odd")
def even(n: int) -> bool:
    return n % 2 == 0


@program("even_or_odd")
def odd(n: int) -> bool:
    return n % 2 == 1


def _ring(start: int) -> Callable[[int, int], int]:
    steps = (lambda x: 3 * x, lambda x: x - 1, lambda x: x // 2)

    def go(n: int, x: int) -> int:
        for k in range(n):
            x = steps[(start + k) % 3](x)
        return x

    return go


program("three_way_recursion", "triple")(_ring(0))
program("three_way_recursion", "halve")(_ring(2))


@program("recursion_in_loop_in_recursion")
def catalan(n: int) -> int:
    return math.comb(2 * n, n) // (n + 1)


@program("mccarthy_91")
def f(n: int) -> int:
    return n - 10 if n > 100 else 91


@program("collatz")
def steps(n: int) -> int:
    count = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    return count


@program("tail_recursion")
def sum_to(n: int) -> int:
    return n * (n + 1) // 2


@program("deep_recursion")
def depth(n: int) -> int:
    return n


@program("two_sites")
def main(x: int) -> int:
    b = (x - 1) ** 3
    return x**6 + b**3 + b


program("two_sites", "cube")(lambda x: x**3)
program("two_sites", "square")(lambda x: x**2)
program("unused_arguments", "main")(lambda x, y, z: y)
program("unused_arguments", "second")(lambda a, b, c: b)
program("unused_arguments", "constant")(lambda a: 7)


@program("not_strict", "main")
def not_strict(a: int, b: int) -> int:
    quotient(a, b)
    return 10 * a


program("without_parameters", "repeat")(lambda n: 42 * n)
program("without_parameters", "answer")(lambda: 42)
program("without_parameters", "half")(lambda: 21)
program("without_parameters", "only_if")(lambda p: 42 if p else 0)


@program("several_results_of_a_call")
def digits(n: int) -> tuple[int, int, int]:
    return n % 10, n // 10 % 10, n // 100


@program("several_results_of_a_call")
def divide_by(n: int, d: int) -> tuple[int, int]:
    return quotient(n, d), rest(n, d)


@program("several_results_of_a_call")
def swap(x: int, y: int) -> tuple[int, int]:
    return y, x


@program("loop_of_calls")
def digital_root(n: int) -> int:
    return 1 + (n - 1) % 9


@program("loop_of_calls")
def digit_sum(n: int) -> int:
    return sum(map(int, str(n)))


@program("array_recursion")
def doubled(x: Any, n: int) -> Any:
    with np.errstate(over="ignore"):
        made = np.asarray(x, np.float64) * 2.0**n
        return made.astype(np.float32) if made.ndim else np.float32(made)


# Graphs by hand


@program("graph_counter")
def count(n: int) -> tuple[int, int]:
    return max(n, 0), max(n, 0)


@program("graph_conditional")
def larger(x: float, y: float) -> float:
    return y if x < y else x


@program("graph_conditional")
def three_ways(x: int) -> int:
    return -x if x < 0 else 2 * x if x else 100


@program("graph_call")
def twice(x: int) -> int:
    return wrap(2 * (2 * x + 1))


@program("graph_recursion")
def sum_down(n: int) -> int:
    return n * (n + 1) // 2 if n > 0 else n


@program("graph_triggers")
def constants() -> tuple[int, Any]:
    return 13, np.array([1 / 3, 2 / 3], np.float32)


@program("graph_triggers")
def on_anything(x: Any) -> int:
    return 2


@program("graph_two_loops")
def doublings(x: int, limit: int) -> int:
    return 10 * next(k for k in range(64) if x * 2**k >= limit)


@program("loop_without_tags")
def right(x: int) -> int:
    return max(x, 10)


@program("one_site_twice")
def apart(x: int) -> int:
    return 2 * x + 2 * (x + 1)


@program("deadlock_one_side")
def merged(x: int) -> int:
    return x + 1 if x < 3 else x


# Traps, and what comes where nothing traps


@program("trap_division_by_zero")
def scalar(x: int, y: int) -> tuple[int, int]:
    return quotient(x, y), x + y


@program("trap_division_by_zero")
def scalar32(x: int, y: int) -> int:
    return wrap(quotient(x, y), 32)


@program("trap_division_by_zero")
def unsigned(x: int, y: int) -> int:
    return rest(x, y)


@program("trap_division_by_zero")
def array(x: Any, y: Any) -> Any:
    return each(quotient, np.int64, x, y)


@program("trap_division_by_zero")
def by_scalar(x: Any, y: int) -> Any:
    return each(rest, np.int8, x, y)


@program("trap_division_by_zero")
def floats(x: float, y: float) -> tuple[float, float]:
    return rounded_down(x, y)


@program("trap_negative_power")
def power(x: int, y: int) -> int:
    return wrap(power_of(x, y), 16)


@program("trap_negative_power")
def powers(x: int, y: Any) -> Any:
    return each(power_of, np.int64, x, y)


@program("trap_negative_power", "unsigned")
def unsigned_power(x: int, y: int) -> int:
    return power_of(x, y) % 2**8


@program("trap_negative_power")
def falling(n: int) -> int:
    return sum(power_of(2, 3 - i) for i in range(n))


@program("trap_shapes")
def chain(x: Any, y: Any, z: Any) -> Any:
    return each(lambda a, z: -(a * z), np.float64, each(lambda x, y: x + y, np.float64, x, y), z)


@program("trap_shapes")
def chosen(p: Any, x: Any, y: Any) -> Any:
    return each(lambda p, x, y: x if p else y, np.int8, p, x, y)


@program("trap_shapes", "compared")
def compared_arrays(x: Any, y: Any) -> Any:
    return each(lambda x, y: x == y, np.bool_, x, y)


@program("trap_shapes")
def logical(x: Any, y: Any) -> Any:
    return each(lambda x, y: x != y, np.bool_, x, y)


@program("trap_order")
def three(x: int, z: int, e: int) -> tuple[int, int, int]:
    late, early, last = quotient(x + 3, z), rest(x, z), power_of(x, e)
    return last, early, late


@program("trap_order", "main")
def two_calls(x: int, y: int) -> int:
    return quotient(x, y) + quotient(y, x) + rest(x, 0)


@program("trap_order")
def in_branch(p: bool, x: int) -> tuple[int, int]:
    return power_of(x, -1) if p else quotient(x, 0), rest(x, 0)


@program("trap_in_loop")
def sum_of_quotients(n: int) -> tuple[int, int]:
    return sum(quotient(12, 3 - i) for i in range(n)), n


@program("trap_in_recursion")
def quotients(n: int, m: int) -> int:
    return sum(quotient(60, k) for k in range(n, m - 1, -1))


@program("trap_in_condition", "decided")
def decided_by_remainder(x: int, y: int) -> int:
    return x if rest(x, y) == 0 else -x


@program("trap_in_condition")
def looped(x: int, step: int) -> int:
    while quotient(100, x) > 1:
        x += step
    return x


@program("trap_not_taken")
def safe(x: int) -> int:
    """A power of two ends at 1. Anything else comes to an odd number, and that to a negative power."""
    if x == 0:
        return 0
    while x % 2 == 0:
        x //= 2
    return x if x == 1 else power_of(x, -x)


@program("endless_loop")
def up_to(x: int, top: int) -> int:
    return max(x, top + 1)


@program("not_lazy", "f")
def one(x: int, y: int) -> int:
    return 1


program("refused_v01_used_too_early", "helper")(lambda x: x)
program("refused_v06_arguments", "sum")(lambda x, y: x + y)


# Longer ones


@program("loop_in_condition")
def next_prime(n: int) -> int:
    while any(n % d == 0 for d in range(2, n)):
        n += 1
    return n


@program("trigger_through_recursion")
def counted(n: int) -> int:
    return max(n, 0)


program("same_value_twice", "results")(lambda x: (x, 2 * x, 2 * x, x))
program("same_value_twice", "branch")(lambda p, x: (x, x) if p else (x * x, x))
program("same_value_twice", "swapping")(lambda n, a, b: (b, a) if n % 2 else (a, b))
program("same_value_twice", "once")(lambda x: (2 * x, False))
program("graph_literals", "choice")(lambda p: 7 if p else 8)
program("graph_literals", "call_of_literal")(lambda x: 2.5)
program("graph_literals", "returned")(lambda x: (True, x))


@program("newton_square_root", "root")
def newton(a: float, start: float) -> float:
    x, y = start, (start + a / start) / 2
    while y < x:
        x, y = y, (y + over(a, y)) / 2
    return x


@program("compensated_sum", "sums")
def plain_and_kahan(x: float, n: int) -> tuple[float, float]:
    plain = total = lost = 0.0
    for _ in range(n):
        plain += x
        more = x - lost
        lost = ((total + more) - total) - more
        total += more
    return plain, total


@program("mandelbrot", "steps")
def escape(a: float, b: float, limit: int) -> int:
    x = y = 0.0
    for k in range(limit):
        if not x * x + y * y <= 4:
            return k
        x, y = (x + y) * (x - y) + a, 2 * (x * y) + b
    return limit


@program("partitions")
def partitions(n: int, k: int) -> int:
    """By the other way of counting: one part after another, as with coins."""
    found = [1] + [0] * n
    for part in range(1, k + 1):
        for whole in range(part, n + 1):
            found[whole] += found[whole - part]
    return found[n]


@program("hofstadter_sequences")
def female(n: int) -> int:
    return _hofstadter(n)[0]


@program("hofstadter_sequences")
def male(n: int) -> int:
    return _hofstadter(n)[1]


def _hofstadter(n: int) -> tuple[int, int]:
    """By tables."""
    f, m = [1], [0]
    for k in range(1, n + 1):
        m.append(k - f[m[k - 1]])
        f.append(k - m[f[k - 1]])
    return f[n], m[n]


@program("adaptive_integral")
def integral(a: float, b: float, eps: float) -> float:
    middle = (a + b) / 2
    ends, between = bell(a) + bell(b), bell(middle)
    whole = (b - a) * ends / 2
    halves = (b - a) * ((bell(a) + between) + (between + bell(b))) / 4
    if abs(halves - whole) <= eps:
        return halves
    return integral(a, middle, eps / 2) + integral(middle, b, eps / 2)


@program("adaptive_integral", "f")
def bell(x: float) -> float:
    return 1 / (x * x + 1)


@program("josephus")
def left(n: int, k: int) -> int:
    """With people who are really there."""
    ring = list(range(n))
    while len(ring) > 1:
        out = (k - 1) % len(ring)
        ring = ring[out + 1 :] + ring[:out]
    return ring[0]


@program("trap_everywhere")
def many(n: int) -> int:
    for i in range(n):
        bad(i)
        rest(i, 0)
    return n


@program("trap_everywhere")
def bad(i: int) -> int:
    return power_of(2, i - 3) + quotient(6, 1 - i)


# All ops, by dtype


def _power(bits: int, signed: bool) -> Callable[[int, int], int]:
    return lambda x, y: wrap(power_of(x, y), bits, signed)


for _bits in (16, 32, 64):
    program("signed_arithmetic", f"int{_bits}_all")(_all_of(_bits, True))
    program("signed_arithmetic", f"int{_bits}_power")(_power(_bits, True))
    program("unsigned_arithmetic", f"uint{_bits}_all")(_all_of(_bits, False))
    program("unsigned_arithmetic", f"uint{_bits}_power")(_power(_bits, False))


@program("float32_arithmetic", "all_of")
def float32_all_of(x: float, y: float) -> tuple[np.float32, ...]:
    """In NumPy's own float32, which rounds once."""
    a, b = np.float32(x), np.float32(y)
    with np.errstate(all="ignore"):
        exact = not any(map(math.isnan, (x, y))) and not math.isinf(x)
        q, r = rounded_down(x, y) if exact else (math.nan, math.nan)
        least, most = smaller(x, y), larger_of(x, y)
        return a + b, a - b, a * b, a / b, f32(q), f32(r), f32(least), f32(most), abs(a)


@program("float32_arithmetic", "powers")
def float32_powers(x: float) -> tuple[np.float32, ...]:
    a = np.float32(x)
    with np.errstate(all="ignore"):
        return a * a, np.sqrt(a), np.float32(1) / a, -a


program("comparisons_by_dtype", "bytes", "words", "halves", "longs", "floats")(compared)
program("comparisons_by_dtype", "truths")(alike)


@program("comparisons_by_dtype", "arrays")
def compared_elements(x: Any, y: Any) -> tuple[Any, Any]:
    return each(lambda x, y: x < y, np.bool_, x, y), each(lambda x, y: x == y, np.bool_, x, y)


@program("array_arithmetic")
def ints(x: Any, y: Any) -> tuple[Any, ...]:
    def op(function: Callable[..., int], *operands: Any) -> Any:
        return each(lambda *items: wrap(function(*items), 16), np.int16, *operands)

    def add(x: int, y: int) -> int:
        return x + y

    both = [op(f, x, y) for f in (add, lambda x, y: x - y, lambda x, y: x * y, quotient, rest)]
    return *both, op(lambda x: -x, x), op(abs, x), op(min, x, y)


@program("array_arithmetic", "floats")
def float_elements(x: Any, y: float) -> tuple[Any, ...]:
    def down(x: float) -> tuple[float, float]:
        return (math.nan, math.nan) if math.isinf(x) else rounded_down(x, y)

    functions = (
        lambda x: x + y,
        lambda x: x - y,
        lambda x: x * y,
        lambda x: over(x, y),
        lambda x: down(x)[0],
        lambda x: down(x)[1],
    )
    return tuple(each(function, np.float64, x) for function in functions)


@program("array_arithmetic")
def functions(x: Any) -> tuple[Any, ...]:
    columns = list(zip(*map(elementary, x.tolist()), strict=True)) if len(x) else [()] * 6
    return tuple(np.array(column, np.float32) for column in columns)


def as_half(x: float) -> np.float16:
    """By the format of `struct`, which raises where a number is beyond the range."""
    try:
        return np.float16(struct.unpack("<e", struct.pack("<e", x))[0])
    except OverflowError:
        return np.float16(math.copysign(math.inf, x))


def as_brain(numbers: list[float]) -> Any:
    """By the upper 16 bits of float32: half of the lower ones is added, and less than that for an even number."""
    words = np.array(numbers, np.float32).view(np.uint32).astype(np.uint64)
    return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16)


def product_sum_ratio(x: float, y: float, rounded: Callable[[float], Any]) -> tuple[Any, ...]:
    return rounded(x * y), rounded(float(rounded(x * y)) + x), rounded(over(x, y))


@program("narrow_floats", "halves")
def half_numbers(x: np.float16, y: np.float16) -> tuple[Any, ...]:
    return product_sum_ratio(float(x), float(y), as_half)


@program("narrow_floats")
def brains(x: Any, y: Any) -> tuple[Any, ...]:
    with np.errstate(over="ignore"):
        rows = [product_sum_ratio(float(item), float(y), lambda z: as_brain([z])[0]) for item in x]
    return tuple(np.array(column, ml_dtypes.bfloat16) for column in (zip(*rows, strict=True) if rows else [()] * 3))


@program("narrow_floats")
def together(x: np.float16, y: Any) -> tuple[Any, ...]:
    return np.float32(float(x) + float(y)), as_brain([float(x)])[0]


@program("array_arithmetic")
def truths(x: Any, y: Any) -> tuple[Any, ...]:
    table = each(lambda x, y: x and y, np.bool_, x, y), each(lambda x, y: x or y, np.bool_, x, y)
    return *table, each(lambda x, y: x is not y, np.bool_, x, y), each(lambda x: not x, np.bool_, x)


# Cells

NO_CELLS, EMPTY_RANGE = "fewer than no cells", "integers of an empty range"
NO_ORDER = "permutation of fewer than no numbers"


def new_cells(n: int) -> dict[int, Any]:
    if n < 0:
        raise Trap(NO_CELLS)
    return {}


def at(n: int, i: int) -> int:
    if not 0 <= i < n:
        raise Trap(f"there is no cell {i} among {n}")
    return i


def whole(values: dict[int, Any], n: int, dtype: Any = np.int64) -> Any:
    """All of n cells, in order."""
    if set(values) != set(range(n)):
        raise Stuck
    return np.array([values[i] for i in range(n)], dtype)


program("cells_chain", "chain")(lambda n: n)


def _chain_by(bound: int) -> Callable[[int], int]:
    """Iteration `bound` waits for the first, and the first for all others."""

    def bounded_chain(n: int) -> int:
        if n > bound:
            raise Stuck
        return n

    return bounded_chain


program("cells_chain", "chain_by_5")(_chain_by(5))
program("cells_chain", "chain_by_10")(_chain_by(10))


@program("cells_prefix_sums", "read_first", "filled_first")
def prefix_sums(n: int) -> tuple[int, int]:
    prefixes = [sum(k * k for k in range(i)) for i in range(n + 1)]
    return sum(prefixes[:n]), prefixes[n]


@program("cells_inner_product", "product", "waiting")
def inner_product(n: int) -> float:
    new_cells(n)
    total = 0.0
    for i in range(n):
        total += (i + 1) * 0.5**i
    return total


@program("cells_wavefront")
def paths(n: int) -> int:
    at(n * n, n * n - 1)
    return math.comb(2 * n - 2, n - 1)


@program("cells_in_recursion")
def squares(n: int) -> Any:
    new_cells(n)
    at(n, 0)
    return np.arange(n) ** 2


@program("cells_of_arrays")
def rows(x: Any, n: int) -> Any:
    return np.array([[x[0] * 2.0**k, x[1] / 2.0**k] for k in range(n)], np.float64).reshape(n, 2)


@program("cells_of_arrays")
def ragged(x: Any, y: Any) -> Any:
    if x.shape != y.shape:
        raise Trap(f"cells of shapes {y.shape} and {x.shape} make no array")
    return np.array([y, x], np.int8)


@program("cells_of_arrays")
def one_of_two(x: Any, y: Any, i: int) -> Any:
    return (y, x)[at(2, i)]


program("cells_of_arrays", "none")(lambda: (np.zeros(0, np.bool_), np.zeros((0, 0, 3), np.float32)))


@program("cells_exchange")
def talk(x: int) -> int:
    question = 10 * x
    answer = question + 1
    return answer + question - answer


@program("cells_exchange")
def both_answer(x: int) -> int:
    raise Stuck


@program("cells_left_empty")
def hole(n: int) -> Any:
    return whole({i: i for i in range(0, n, 2)}, n)


@program("cells_left_empty")
def one_branch(p: bool) -> int:
    return int(whole({0: 7} if p else {}, 1)[0])


@program("cells_left_empty")
def itself() -> int:
    raise Stuck


program("cells_left_empty", "left_over")(lambda x: x)


@program("trap_cells", "twice")
def put_twice(x: int) -> int:
    raise Trap("cell 0 is put more than once")


@program("trap_cells")
def modulo(n: int, m: int) -> Any:
    """The first put that traps, in program order, is to cell 0."""
    values = new_cells(m)
    for i in range(n):
        if rest(i, m) in values:
            raise Trap(f"cell {i % m} is put more than once")
        values[i % m] = i % m
    return whole(values, m)


@program("trap_cells")
def put_at(n: int, i: int) -> int:
    new_cells(n)
    at(n, i)
    return 4


@program("trap_cells")
def get_at(n: int, i: int) -> int:
    new_cells(n)
    at(n, i)
    raise Stuck


@program("trap_cells")
def two_reasons(n: int, x: int) -> int:
    y = quotient(x, n)
    new_cells(y)
    at(y, 0)
    return at(y, y)


@program("bounded_loop", "free", "by_2", "by_1")
def long_way(n: int) -> tuple[int, int]:
    s = 1
    for i in range(n):
        s = (3 * s + i) % 1000
    return s, n


def _waits(first: int) -> int:
    if first == -1:
        return first
    raise Stuck


program("endless_loop_of_gets", "unbounded", "bounded")(_waits)


@program("breakpoints", "squares")
def sum_of_squares(n: int, stop: int) -> int:
    return sum(i * i for i in range(n))


@program("graph_cells", "swap")
def swapped_cells(x: int, y: int) -> tuple[int, int]:
    return y, x


@program("graph_cells")
def by_name(i: int, x: float) -> Any:
    at(2, i)
    return whole({i: x, 1 - i: -x}, 2, np.float64)


@program("graph_cells")
def told(x: int) -> tuple[int, bool]:
    LINES.extend([f"given {x}", f"got {x}", "done"])
    return x, True


@program("graph_cells")
def stuck(x: int) -> int:
    raise Stuck


program("graph_bounded_loop", "count")(count)


@program("refused_v06_handles", "main")
def first_cell(n: int) -> int:
    new_cells(n)
    at(n, 0)
    return n


# What is printed


@program("print_order", "steps")
def printed_steps(n: int) -> int:
    LINES.append(f"from {n}")
    for i in range(n, 0, -1):
        LINES.append(f"{i} > 0 is true")
        if i % 2 == 0:
            LINES.append(f"{i} is even")
    LINES.extend(["0 > 0 is false", "done"])
    return 0


@program("print_hanoi", "hanoi")
def hanoi_without_recursion(n: int, a: int, b: int) -> int:
    """By the binary count: move m is of the disk whose number is that of the zeros at the end of m; disks go round."""
    direct, pegs = [a, b, 6 - a - b], [0] * n
    for move in range(1, 2**n):
        disk = (move & -move).bit_length()
        step = 1 if (n - disk) % 2 == 0 else 2
        before = pegs[disk - 1]
        pegs[disk - 1] = (before + step) % 3
        LINES.append(f"disk {disk} from {direct[before]} to {direct[pegs[disk - 1]]}")
    return 2**n - 1


@program("print_stops", "quotients")
def printed_quotients(x: int, y: int) -> int:
    LINES.append(f"{x} over {y}")
    LINES.extend([f"is {quotient(x, y)}", "the end"])
    return x + y


@program("print_stops")
def cell(x: int, filled: bool) -> tuple[int, bool]:
    LINES.extend(["a cell", f"with {x}", "is read"] if filled else ["a cell"])
    return x, True


@program("print_stops")
def all_printed(x: int) -> tuple[int, bool]:
    at(1, x)
    raise Stuck


@program("print_values", "show")
def shown(i: int, x: float, p: bool, b: int, a: Any) -> bool:
    of_a = f"float32({[float(str(number)) for number in a]})" if len(a) else "float32[0]([])"
    LINES.append(f"{i}, {x} and {'true' if p else 'false'}")
    LINES.append("{int8(" + str(b) + ")} " + of_a + "{}")
    LINES.extend(['"no" operands: {}, ä', "", f"{i}\n{i}"])
    return True


# Random numbers, from what docs/semantics.md says of them


def splitmix64(seed: int, n: int) -> int:
    """Output n, from 0, of Steele, Lea and Flood's generator."""
    z = (seed + (n + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def word(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


ROOT = word("main")


def below_tag(tag: int, site: str, iteration: int = 0) -> int:
    return splitmix64(tag ^ word(site), iteration)


def draw(name: str, tag: int = ROOT) -> int:
    return splitmix64(tag ^ word(name), 0)


def below(e: int, m: int) -> int:
    """A number below m, all as likely: the first word that does not fall among the few too many."""
    for n in range(100):
        high, low = divmod(splitmix64(e, n) * m, 2**64)
        if low >= 2**64 % m:
            return high
    raise AssertionError("a hundred words are rejected")


def uniform(key: int, i: int = 0) -> float:
    return (splitmix64(splitmix64(key, i), 0) >> 11) / 2**53


def normal(key: int, i: int = 0) -> float:
    e = splitmix64(key, i)
    u, v = ((splitmix64(e, 0) >> 11) + 1) / 2**53, (splitmix64(e, 1) >> 11) / 2**53
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def integer(key: int, low: int, high: int, i: int = 0) -> int:
    if low >= high:
        raise Trap(EMPTY_RANGE)
    return low + below(splitmix64(key, i), high - low)


def permutation(key: int, n: int) -> Any:
    if n < 0:
        raise Trap(NO_ORDER)
    order = list(range(n))
    for j in reversed(range(1, n)):
        k = below(splitmix64(key, j), j + 1)
        order[j], order[k] = order[k], order[j]
    return np.array(order, np.int64)


@program("random_walk")
def walk(n: int) -> tuple[int, int]:
    places = [0]
    for k in range(n):
        u = uniform(draw("walk.u", below_tag(ROOT, "loop walk.i", k)))
        places.append(places[-1] + (1 if u < 0.5 else -1))
    return places[-1], max(map(abs, places))


@program("random_pi")
def pi(n: int) -> float:
    hits = 0
    for k in range(n):
        tag = below_tag(ROOT, "loop pi.i", k)
        x, y = uniform(draw("pi.x", tag)), uniform(draw("pi.y", tag))
        hits += x * x + y * y < 1
    return hits / n * 4


@program("random_recursion", "tree")
def tree(n: int, tag: int = ROOT) -> int:
    if n == 0:
        return integer(draw("tree.digit", tag), 0, 10)
    left, right = (tree(n - 1, below_tag(tag, f"call tree.{side}")) for side in ("left", "right"))
    return int(f"{left}{right:0{2 ** (n - 1)}}")


@program("random_recursion", "main")
def two_trees(n: int) -> tuple[int, int, int]:
    return *(tree(n, below_tag(ROOT, f"call main.{site}")) for site in "ab"), 0


@program("random_shuffle")
def two(n: int) -> tuple[Any, Any, Any]:
    p, q = (permutation(draw(f"two.{name}"), n) for name in "pq")
    return p, q, p == q


@program("random_shuffle")
def by_rank(n: int) -> Any:
    numbers = [uniform(draw("by_rank.u", below_tag(ROOT, "loop by_rank.i", k))) for k in range(n)]
    return np.array(sorted(range(n), key=numbers.__getitem__), np.int64)


@program("random_arrays")
def uniforms() -> tuple[float, Any, Any]:
    six = [uniform(draw("uniforms.y"), i) for i in range(6)]
    return uniform(draw("uniforms.x")), np.reshape(six, (2, 3)), np.zeros((0, 4))


@program("random_arrays")
def normals() -> tuple[float, Any]:
    return normal(draw("normals.x")), np.array([normal(draw("normals.y"), i) for i in range(5)])


@program("random_arrays")
def dice(low: int, high: int) -> tuple[int, Any]:
    six = [integer(draw("dice.y"), low, high, i) for i in range(6)]
    return integer(draw("dice.x"), low, high), np.array(six, np.int64)


program("random_arrays", "order")(lambda n: permutation(draw("order.p"), n))


def of_count(seed: int, count: int) -> int:
    return splitmix64(splitmix64(seed % 2**64, 0), count % 2**64)


@program("random_by_count", "drawn")
def drawn_by_count(seed: int, count: int) -> tuple[float, int, bool, Any]:
    key = of_count(seed, count)
    near = sum(normal(key, i) for i in range(3)) < 100
    return uniform(key), integer(key, -5, 5), near, permutation(key, 4)


program("random_by_count", "bounds")(lambda low, high: integer(of_count(1, 0), low, high))
program("random_by_count", "shuffled")(lambda n: permutation(of_count(1, 0), n))


@program("graph_cells")
def drawn(x: int) -> tuple[Any, float]:
    three = [integer(draw("drawn.three"), 0, x, i) for i in range(3)]
    return np.array(three, np.int64), uniform(draw("drawn.one"))


# Arrays taken apart, and put together


OUTSIDE = "an index is out of range"


def inside(indices: Any, size: int) -> Any:
    if any(not -size <= index < size for index in np.ravel(indices).tolist()):
        raise Trap(OUTSIDE)
    return np.asarray(indices).astype(np.int64)


@program("arrays_in_parts")
def part(x: Any) -> Any:
    return np.array([[row[1:]] for row in x[::-1]], np.int64)


@program("arrays_in_parts")
def last(x: Any) -> float:
    if not len(x):
        raise Trap("there is no index -1 along axis 0 of shape (0,)")
    return float(x[-1])


@program("arrays_in_parts", "columns")
def columns_of_arrays(x: Any, i: Any) -> Any:
    return np.array([[row[k] for k in inside(i, x.shape[1])] for row in x], np.int8)


@program("arrays_in_parts", "one")
def one_of_arrays(x: Any, i: int) -> Any:
    return np.float32(x[inside(i, len(x))])


@program("arrays_in_parts")
def in_rows(x: Any, i: Any) -> Any:
    if len(i) not in (1, len(x)):
        raise Trap(f"shapes ({len(x)}, 1) and ({len(i)}, 1) do not broadcast")
    rows = [i[0]] * len(x) if len(i) == 1 else i
    return np.array([[row[k] for k in inside(these, x.shape[1])] for row, these in zip(x, rows, strict=True)])


@program("arrays_in_parts")
def places(x: Any, i: Any, j: Any) -> Any:
    inside(i, x.shape[0]), inside(j, x.shape[1])
    return np.array([x[a, b] for a, b in zip(*np.broadcast_arrays(i, j), strict=True)], np.bool_)


@program("arrays_in_parts")
def put_in(x: Any, v: Any, i: Any) -> Any:
    if len(v) not in (1, len(i)):
        raise Trap(f"shapes ({len(v)},) and ({len(i)},) do not broadcast")
    made = x.tolist()
    for index, value in zip(inside(i, len(x)).tolist(), np.broadcast_to(v, i.shape).tolist(), strict=True):
        made[index] = value
    return np.array(made, np.int64)


@program("arrays_in_parts", "added")
def added_of_arrays(x: Any, v: Any, i: Any) -> Any:
    made = x.astype(np.int64)
    for index in inside(i, len(x)).tolist():
        made[index] += v
    return (made % 256).astype(np.uint8)


@program("arrays_in_parts", "largest")
def largest_in_place(x: Any, v: Any, i: Any) -> Any:
    elements = x.tolist()
    for index, value in zip(inside(i, len(x)).tolist(), v.tolist(), strict=True):
        elements[index] = value if value > elements[index] else elements[index]
    return np.array(elements)


@program("arrays_in_parts", "smallest")
def smallest_in_place(x: Any, v: int, i: Any, j: Any) -> Any:
    elements = x.copy()
    for row, column in zip(inside(i, x.shape[0]).tolist(), inside(j, x.shape[1]).tolist(), strict=True):
        elements[row, column] = min(elements[row, column], v)
    return elements


@program("arrays_in_parts", "multiplied")
def multiplied_in_place(x: Any, v: Any, i: Any) -> Any:
    elements = x.tolist()
    for index, value in zip(inside(i, len(x)).tolist(), v.tolist(), strict=True):
        elements[index] = (elements[index] * value + 128) % 256 - 128
    return np.array(elements, np.int8)


@program("arrays_in_parts")
def put_there(x: Any, v: Any) -> Any:
    if not len(x):
        raise Trap(f"there is no index 0 along axis 0 of shape {x.shape}")
    wide = range(0, x.shape[1], 2)
    if len(v) not in (1, len(wide)):
        raise Trap(f"shapes ({len(v)},) and ({len(wide)},) do not broadcast")
    made = x.tolist()
    for number, k in enumerate(wide):
        made[0][k] = v[number % len(v)]
    return np.array(made, np.int32)


@program("arrays_in_parts")
def kept(x: Any, mask: Any) -> Any:
    if len(mask) != len(x):
        raise Trap(f"a mask of shape ({len(mask)},) does not fit shape ({len(x)},)")
    return np.array([value for value, keep in zip(x, mask, strict=True) if keep], np.float64)


@program("arrays_in_shape")
def spread(x: Any) -> Any:
    if len(x) not in (1, 3):
        raise Trap(f"shape ({len(x)},) does not broadcast to (2, 3)")
    return np.array([[x[k % len(x)] for k in range(3)]] * 2)


@program("arrays_in_shape")
def as_many(x: bool, y: Any) -> Any:
    return np.full(y.shape, x)


@program("arrays_in_shape")
def in_pairs(x: Any) -> Any:
    if len(x) % 2:
        raise Trap(f"shape ({len(x)},) does not become (-1, 2)")
    return np.array([x[k : k + 2] for k in range(0, len(x), 2)], np.int32).reshape(len(x) // 2, 2)


@program("arrays_in_shape")
def as_it_is(x: Any, y: Any) -> Any:
    if x.size != y.size:
        raise Trap(f"shape {x.shape} does not become {y.shape}")
    return np.array([number for row in x for number in row], np.int8)


@program("arrays_in_shape")
def turned(x: Any) -> Any:
    return np.array([[row[k] for row in x] for k in range(2)], np.float32)


@program("arrays_in_shape", "flat")
def without_the_first_axis(x: Any) -> Any:
    if len(x) != 1:
        raise Trap(f"axis 0 of shape ({len(x)}, 2) has another size than 1")
    return x[0]


@program("arrays_in_shape")
def moved(x: Any) -> Any:
    return np.array([x[k - 1] for k in range(len(x))], np.int64)


@program("arrays_in_shape", "joined")
def joined_of_arrays(x: Any, y: Any) -> Any:
    if y.shape[1] != 2:
        raise Trap(f"shapes {x.shape} and {y.shape} do not concatenate along axis 0")
    return np.array([*x.tolist(), *y.tolist()], np.int16)


@program("arrays_in_shape", "counted")
def rows_and_all(x: Any) -> Any:
    return len(x), sum(len(row) for row in x)


def check_size(size: int, fewest: int = 0) -> int:
    if size < fewest:
        raise Trap("negative dimensions are not allowed")
    return size


@program("arrays_of_run_time_sizes")
def filled(n: int) -> Any:
    return np.array([[7, 7]] * check_size(n), np.int64).reshape(n, 2)


@program("arrays_of_run_time_sizes", "in_rows")
def rows_of_size(x: Any, n: int) -> Any:
    if check_size(n, -1) == -1:
        raise Trap("more than one size is -1")
    if not n or len(x) % n:
        raise Trap(f"shape ({len(x)},) does not become ({n}, -1)")
    width = len(x) // n
    return np.array([x[k * width : (k + 1) * width] for k in range(n)], np.int64).reshape(n, width)


@program("arrays_of_run_time_sizes", "part")
def part_between(x: Any, start: int, stop: int, step: int) -> Any:
    if step == 0:
        raise Trap("slice step cannot be zero")
    return np.array(x.tolist()[start:stop:step], np.int64)


@program("arrays_of_run_time_sizes")
def cleared(x: Any, stop: int) -> Any:
    zeros = range(*slice(None, stop).indices(len(x)))
    return np.array([0 if k in zeros else number for k, number in enumerate(x)], np.int64)


@program("arrays_of_run_time_sizes", "drawn")
def drawn_below_six(n: int) -> Any:
    return np.array([5] * check_size(n), np.int64)


@program("arrays_of_run_time_sizes", "doubled")
def doubled_ones(n: int) -> Any:
    return np.array([1][:n] * 2 ** max(n, 0), np.int64)


@program("arrays_as_one", "narrowed")
def sums_in_rows(x: Any, y: Any) -> Any:
    if len(y) not in (1, len(x)):
        raise Trap(f"shape {y.shape} does not broadcast to {x.shape}")
    rows = [sum(row) for row in x.tolist()]
    return np.array([[number] for number in (rows if len(y) == len(x) else [sum(rows)])], np.int64)


@program("arrays_as_one", "product")
def product_of_arrays(x: Any) -> Any:
    return np.array([wrap(math.prod(column)) for column in x.T.tolist()], np.int64)


@program("arrays_as_one", "total")
def total_of_arrays(x: Any) -> Any:
    return np.array([[[sum(int(n) for n in x[:, k].ravel())] for k in range(2)]], np.uint64)


def extreme(numbers: Any, name: str, pick: Any) -> Any:
    if not len(numbers):
        raise Trap(f"{name} of no elements")
    return next((number for number in numbers if number != number), None) or pick(numbers)


@program("arrays_as_one")
def largest(x: Any) -> Any:
    if not x.shape[1]:
        raise Trap(f"max of no elements, of shape {x.shape}")
    return np.array([extreme(row, "max", max) for row in x.tolist()], np.float64)


@program("arrays_as_one", "smallest")
def smallest_of_arrays(x: Any) -> int:
    if not len(x):
        raise Trap("min of no elements, of shape (0,)")
    return int(min(x))


@program("arrays_as_one")
def where_largest(x: Any) -> int:
    numbers = x.tolist()
    strange = [k for k, number in enumerate(numbers) if number != number]
    return strange[0] if strange else numbers.index(max(numbers))


@program("arrays_as_one")
def where_smallest(x: Any) -> Any:
    return np.array([[column.index(min(column)) for column in x.T.tolist()]], np.int64)


@program("arrays_as_one")
def every(x: Any) -> Any:
    return np.array([all(column) for column in x.T.tolist()], np.bool_)


@program("arrays_as_one")
def some(x: Any) -> bool:
    return any(number != 0 for number in x)


@program("arrays_as_one", "sums")
def sums_of_arrays(x: Any) -> Any:
    return np.array([[sum(row[: k + 1]) for k in range(len(row))] for row in x.tolist()], np.int64)


@program("arrays_as_one")
def products(x: Any) -> Any:
    return np.array([math.prod(x.tolist()[: k + 1]) for k in range(len(x))], np.float64)


def order(numbers: list[Any], *, descending: bool = False) -> list[int]:
    """Python's sort is stable, in reverse too."""
    strange = [k for k, number in enumerate(numbers) if number != number]
    usual = [k for k, number in enumerate(numbers) if number == number]
    return [*sorted(usual, key=lambda k: numbers[k], reverse=descending), *strange]


@program("arrays_in_order")
def ascending(x: Any) -> Any:
    places = np.array(order(x.tolist()), np.int64)
    return x[places], places


@program("arrays_in_order")
def descending(x: Any) -> Any:
    places = np.array([order(row, descending=True) for row in x.tolist()], np.int64)
    return np.array([row[at] for row, at in zip(x, places, strict=True)], np.int64), places


@program("arrays_in_order")
def found(x: Any, y: Any) -> Any:
    before = [sum(number < expected for number in x) for expected in y]
    behind = [sum(number <= expected for number in x) for expected in y]
    return np.array(before, np.int64), np.array(behind, np.int64)


@program("arrays_in_order")
def numbers(start: int, stop: int, step: int) -> Any:
    if step == 0:
        raise Trap("arange without an end")
    return np.array(list(range(start, stop, step)), np.int64)


@program("arrays_in_order", "steps")
def steps_of_arrays(start: float, stop: float, step: float) -> Any:
    if not math.isfinite(stop):
        raise Trap("arange without an end")
    made = []
    while start + len(made) * step < stop:
        made.append(start + len(made) * step)
    return np.array(made)


@program("arrays_in_order")
def again(x: Any, times: Any) -> Any:
    if len(times) not in (1, len(x)):
        raise Trap(f"({len(times)},) numbers of repeats for axis 0 of shape ({len(x)},)")
    if any(count < 0 for count in times):
        raise Trap("fewer than no repeats")
    every = np.broadcast_to(times, x.shape)
    return np.array([value for value, count in zip(x, every, strict=True) for _ in range(count)], np.int8)


@program("arrays_in_order")
def not_zero(x: Any) -> Any:
    at = [(i, j) for i, row in enumerate(x.tolist()) for j, number in enumerate(row) if number != 0]
    return np.array([i for i, _ in at], np.int64), np.array([j for _, j in at], np.int64)


@program("arrays_in_order")
def different(x: Any) -> Any:
    flat = x.ravel().tolist()
    values: list[float] = []
    first, which = [], {}
    for at in order(flat):
        if not values or flat[at] != values[-1]:
            values.append(flat[at])
            first.append(at)
        which[at] = len(values) - 1
    inverse = np.array([which[at] for at in range(len(flat))], np.int64).reshape(x.shape)
    counts = [list(which.values()).count(k) for k in range(len(values))]
    return np.array(values), np.array(first, np.int64), inverse, np.array(counts, np.int64)


# Linear algebra of diagonal matrices, and of such as can be done by hand


def of_diagonal(x: Any) -> list[float]:
    """The diagonal of a square matrix that has nothing else."""
    if x.shape[0] != x.shape[1]:
        raise Trap(f"shape {x.shape} is no square matrix")
    return [float(x[k, k]) for k in range(len(x))]


@program("arrays_factored")
def determinants(x: Any) -> Any:
    value = math.prod(of_diagonal(x))
    return value, math.copysign(1.0, value), math.log(abs(value))


def inverses(x: Any) -> list[float]:
    diagonal = of_diagonal(x)
    if x[0, 0] * x[-1, -1] == (x[0, -1] * x[-1, 0] if len(x) > 1 else 0.0):
        raise Trap("the matrix is singular")
    return [1 / value for value in diagonal]


@program("arrays_factored", "inverse")
def inverse_of_two(x: Any) -> Any:
    """By elimination with the last row first: a zero of a negative number is negative."""
    one, other = inverses(x)
    return np.array([[one, 0.0], [0.0 / other, other]])


@program("arrays_factored")
def solution(a: Any, b: Any) -> Any:
    if len(a) != len(b):
        raise Trap(f"shapes {a.shape} and {b.shape} make no equations")
    return np.array([number * float(value) for number, value in zip(inverses(a), b, strict=True)], np.float32)


@program("arrays_factored", "triangle")
def root_of_two(x: Any) -> Any:
    """Of [[a, b], [b, c]]: the root of a, b over that, and the root of what is left of c."""
    (a, b), (_, c) = x.tolist()
    rest = c - b * b / a
    if rest <= 0:
        raise Trap("the matrix is not positive definite")
    lower = np.array([[math.sqrt(a), 0.0], [b / math.sqrt(a), math.sqrt(rest)]])
    return lower, lower.T


@program("arrays_factored", "columns")
def one_column(x: Any) -> Any:
    length = math.sqrt(sum(float(number) ** 2 for number in x.ravel()))
    return np.abs(x) / length, np.array([[length]])


@program("arrays_factored")
def symmetric(x: Any) -> Any:
    diagonal = of_diagonal(x)
    places = order(diagonal)
    return np.array(sorted(diagonal)), np.array([[float(k == place) for place in places] for k in range(len(x))])


@program("arrays_factored")
def singular(x: Any) -> Any:
    """Of a matrix with one number in each row and column."""
    rows = [(abs(row[k]), i, k) for i, row in enumerate(x.tolist()) for k in range(2) if row[k]]
    found = sorted(rows, reverse=True)
    left = np.array([[float(i == row) for _, row, _ in found] for i in range(2)])
    right = np.array([[float(k == column) for k in range(2)] for _, _, column in found])
    return left, np.array([value for value, _, _ in found]), right


def substituted(rows: list[int], a: Any, b: Any) -> list[Fraction | float]:
    """The solution of equations, of which each in this order has one unknown more."""
    if any(not a[k][k] for k in rows):
        raise Trap("the matrix is singular")
    known: dict[int, Any] = {}
    for k in rows:
        left = b[k] if math.isinf(b[k]) else Fraction(b[k])
        known[k] = (left - sum((Fraction(a[k][j]) * value for j, value in known.items()), Fraction(0))) / Fraction(
            a[k][k]
        )
    return [known[k] for k in sorted(known)]


@program("arrays_triangular", "upper")
def upper_equations(a: Any, b: Any) -> Any:
    of_diagonal(a)
    if len(a) != len(b):
        raise Trap(f"shapes {a.shape} and {b.shape} make no equations")
    return np.array([float(value) for value in substituted([*range(len(a))][::-1], a.tolist(), b.tolist())])


@program("arrays_triangular")
def lower_ones(a: Any, b: Any) -> Any:
    order_, ones = [*range(len(a))], np.tril(a, -1) + np.eye(len(a))
    down = [substituted(order_, ones.tolist(), column) for column in b.T.tolist()]
    up = [substituted(order_[::-1], ones.T.tolist(), column) for column in b.T.tolist()]
    return tuple(np.array([[float(value) for value in column] for column in each]).T for each in (down, up))


@program("arrays_factored")
def above(x: Any) -> Any:
    return np.array([row[k + 1] for k, row in enumerate(x.tolist()) if k + 1 < len(row)], np.int64)


@program("arrays_in_shape", "pieces")
def pairs_in_rows(x: Any) -> Any:
    if x.shape[1] < 2:
        raise Trap(f"no window of shape (2,) fits into shape {x.shape}")
    return np.array([[row[k : k + 2] for k in range(0, len(row) - 1, 2)] for row in x], np.int64)


@program("arrays_in_shape")
def spaced_pieces(x: Any) -> Any:
    if len(x) < 3:
        raise Trap(f"no window of shape (3,) fits into shape {x.shape}")
    return np.array([[x[k], x[k + 2]] for k in range(len(x) - 2)], np.int64)


@program("arrays_in_order")
def distinct_columns(x: Any) -> tuple[Any, ...]:
    columns = list(map(tuple, x.T.tolist()))
    distinct = sorted(set(columns))
    values = np.array(distinct, np.int64).reshape(len(distinct), 2).T
    first, which, counts = (
        [columns.index(column) for column in distinct],
        [distinct.index(column) for column in columns],
        [columns.count(column) for column in distinct],
    )
    return values, np.array(first, np.int64), np.array(which, np.int64), np.array(counts, np.int64)


@program("assertions")
def checked(n: int) -> int:
    if n >= 10:
        raise Trap("ValueError: n is not below 10")
    return wrap(2 * n)


@program("assertions")
def first_of_two(n: int) -> int:
    if n <= 5:
        raise Trap('KeyError: "one"' if n <= 0 else "AssertionError")
    return n


@program("assertions", "factorial")
def factorial_or_trap(n: int) -> int:
    if n < 0:
        raise Trap("ValueError: n is negative")
    return wrap(math.factorial(n))


@program("assertions")
def all_positive(x: Any) -> float:
    if not all(x > 0):
        raise Trap("AssertionError")
    return float(sum(x.tolist()))


@program("assertions")
def until(n: int) -> int:
    if n > 3:
        raise Trap("OverflowError: three")
    return max(n, 0)
