"""Written by `python tests/op_stubs.py` from the registry of ops."""

from typing import Any

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitcast",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "digamma",
    "divide",
    "equal",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "identity",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "pow",
    "prevent_gradient",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "stop_gradient",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]

def abs(x: Any, /) -> Any:
    """Absolute value. That of the lowest signed integer is the integer itself."""

def acos(x: Any, /) -> Any:
    """Arccosine, in radians; NaN outside -1 to 1."""

def acosh(x: Any, /) -> Any:
    """Inverse hyperbolic cosine; NaN below 1."""

def add(x: Any, y: Any, /) -> Any:
    """Sum. Integers wrap."""

def asin(x: Any, /) -> Any:
    """Arcsine, in radians; NaN outside -1 to 1."""

def asinh(x: Any, /) -> Any:
    """Inverse hyperbolic sine."""

def atan(x: Any, /) -> Any:
    """Arctangent, in radians."""

def atan2(x: Any, y: Any, /) -> Any:
    """The angle of the point (y, x), in radians from -pi to pi; the first operand is y."""

def atanh(x: Any, /) -> Any:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside."""

def bitcast(x: Any, /, dtype: Any) -> Any:
    """The bits of x read as another dtype of as many bits (attribute `dtype`): integers of both signs, and the floats
    of 16, 32 and 64 bits. It has no adjoint. A signalling NaN may become a quiet one."""

def bitwise_and(x: Any, y: Any, /) -> Any:
    """The bits set in both operands."""

def bitwise_invert(x: Any, /) -> Any:
    """The bits that are not set."""

def bitwise_left_shift(x: Any, y: Any, /) -> Any:
    """The bits of x shifted left by y: x * 2**y, which wraps, and 0 once y is the number of bits. Traps on a negative
    y."""

def bitwise_or(x: Any, y: Any, /) -> Any:
    """The bits set in at least one operand."""

def bitwise_right_shift(x: Any, y: Any, /) -> Any:
    """The bits of x shifted right by y: x // 2**y. Traps on a negative y."""

def bitwise_xor(x: Any, y: Any, /) -> Any:
    """The bits set in exactly one operand."""

def cbrt(x: Any, /) -> Any:
    """Cube root."""

def ceil(x: Any, /) -> Any:
    """The smallest whole number that is not below x. An integer stays as it is."""

def copysign(x: Any, y: Any, /) -> Any:
    """The first operand with the sign of the second, which may be a zero or a NaN."""

def cos(x: Any, /) -> Any:
    """Cosine of radians; NaN at infinities."""

def cosh(x: Any, /) -> Any:
    """Hyperbolic cosine; inf where it overflows."""

def digamma(x: Any, /) -> Any:
    """The derivative of lgamma; NaN at its poles, which are 0 and the negative integers. The error is some ulp, or
    1e-15 near its zeros."""

def divide(x: Any, y: Any, /) -> Any:
    """Quotient; x/0 is an infinity with the sign of both, 0/0 is NaN. Integers become float64; see floor_divide."""

def equal(x: Any, y: Any, /) -> Any:
    """Whether x equals y."""

def erf(x: Any, /) -> Any:
    """The error function: the integral of exp(-t * t) from 0 to x, times 2 / sqrt(pi)."""

def erfc(x: Any, /) -> Any:
    """1 - erf(x), accurate for large x too."""

def exp(x: Any, /) -> Any:
    """Exponential; inf where it overflows."""

def expm1(x: Any, /) -> Any:
    """exp(x) - 1, accurate near zero too."""

def floor(x: Any, /) -> Any:
    """The largest whole number that is not above x. An integer stays as it is."""

def floor_divide(x: Any, y: Any, /) -> Any:
    """Quotient, rounded down. Integer division by zero traps; the lowest integer // -1 wraps to itself."""

def greater(x: Any, y: Any, /) -> Any:
    """Whether x > y."""

def greater_equal(x: Any, y: Any, /) -> Any:
    """Whether x >= y."""

def hypot(x: Any, y: Any, /) -> Any:
    """The length of (x, y): the square root of x * x + y * y, without intermediate overflow."""

def identity(x: Any, /) -> Any:
    """The value itself. In a graph it gives a literal a token of its own."""

def isfinite(x: Any, /) -> Any:
    """Whether it is neither infinite nor NaN."""

def isinf(x: Any, /) -> Any:
    """Whether it is infinite."""

def isnan(x: Any, /) -> Any:
    """Whether it is NaN."""

def less(x: Any, y: Any, /) -> Any:
    """Whether x < y."""

def less_equal(x: Any, y: Any, /) -> Any:
    """Whether x <= y."""

def lgamma(x: Any, /) -> Any:
    """The logarithm of the absolute value of the gamma function; inf at 0 and at negative integers. The error is some
    ulp, or 1e-15 near its zeros below 0."""

def log(x: Any, /) -> Any:
    """Natural logarithm; -inf at zero, NaN below."""

def log1p(x: Any, /) -> Any:
    """Natural logarithm of 1 + x, accurate near zero too."""

def log2(x: Any, /) -> Any:
    """Logarithm to the base 2; -inf at zero, NaN below."""

def log10(x: Any, /) -> Any:
    """Logarithm to the base 10; -inf at zero, NaN below."""

def logaddexp(x: Any, y: Any, /) -> Any:
    """log(exp(x) + exp(y)), without intermediate overflow."""

def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both hold. Both operands are computed."""

def logical_not(x: Any, /) -> Any:
    """Whether it does not hold."""

def logical_or(x: Any, y: Any, /) -> Any:
    """Whether at least one holds. Both operands are computed."""

def logical_xor(x: Any, y: Any, /) -> Any:
    """Whether exactly one holds."""

def maximum(x: Any, y: Any, /) -> Any:
    """The larger of two numbers; NaN if either is NaN; the first of equal numbers, 0.0 and -0.0 among them."""

def minimum(x: Any, y: Any, /) -> Any:
    """The smaller of two numbers; NaN if either is NaN; the first of equal numbers, 0.0 and -0.0 among them."""

def multiply(x: Any, y: Any, /) -> Any:
    """Product. Integers wrap."""

def multiply_no_nan(x: Any, y: Any, /) -> Any:
    """Product of floats; 0 where y is 0, even if x is infinite or NaN. NaN where y is NaN."""

def ndtri(x: Any, /) -> Any:
    """The quantile of the normal distribution with mean 0 and variance 1: the number below which a draw is with
    probability p. Infinite at 0 and 1, NaN outside. The error is some ulp."""

def negative(x: Any, /) -> Any:
    """The number with its sign changed. Integers wrap: the lowest signed integer is its own negative, and that of an
    unsigned x is 2**bits - x."""

def nextafter(x: Any, y: Any, /) -> Any:
    """The next float of the dtype after the first operand, toward the second; the second if they are equal."""

def not_equal(x: Any, y: Any, /) -> Any:
    """Whether x differs from y."""

def polygamma(x: Any, y: Any, /) -> Any:
    """The n-th derivative of digamma at x, for whole n from 0 to 170; NaN for other n. At 0 and at negative integers it
    is inf for odd n and NaN for even n. The error is some n + 4 ulp, and more near zeros."""

def pow(x: Any, y: Any, /) -> Any:
    """Power. Integers wrap, and trap on a negative exponent; floats follow C's pow."""

def prevent_gradient(x: Any, /) -> Any:
    """The value itself, of floats, whose gradient is refused (D1). For computations whose derivative would be wrong,
    such as draws by rejection."""

def remainder(x: Any, y: Any, /) -> Any:
    """Remainder with the sign of the divisor. Integer remainder by zero traps; of floats it is NaN."""

def round(x: Any, /) -> Any:
    """The nearest whole number, the even one of two. An integer stays as it is."""

def sign(x: Any, /) -> Any:
    """-1, 0 or 1 for a number below, at or above zero; NaN for NaN, and 0.0 for -0.0."""

def signbit(x: Any, /) -> Any:
    """Whether the sign of a float is minus, also for -0.0."""

def sin(x: Any, /) -> Any:
    """Sine of radians; NaN at infinities."""

def sinh(x: Any, /) -> Any:
    """Hyperbolic sine; infinite where it overflows."""

def sqrt(x: Any, /) -> Any:
    """Square root; NaN below zero."""

def stop_gradient(x: Any, /) -> Any:
    """The value itself, which gradients treat as a constant: no adjoint flows back through it."""

def subtract(x: Any, y: Any, /) -> Any:
    """Difference. Integers wrap."""

def tan(x: Any, /) -> Any:
    """Tangent of radians; NaN at infinities."""

def tanh(x: Any, /) -> Any:
    """Hyperbolic tangent."""

def trunc(x: Any, /) -> Any:
    """The nearest whole number toward zero. An integer stays as it is."""

def where(x: Any, y: Any, z: Any, /) -> Any:
    """x where the condition is true, else y. All three operands are computed; `tl.cond` computes only one side."""
