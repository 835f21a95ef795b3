"""The functions of Python's module `math` on symbolic numbers: ops on float64, with Python's exceptions as traps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import dtypes
from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.numbers import number_kind, to_kind
from ..trace.source_location import user_location
from ..trace.symbol import array_namespace
from . import library
from .convert import convert
from .raising import located_exception, stage_assertion
from .trees import is_symbolic


class MathFunction(NamedTuple):
    """A function of `math` as an op."""

    op: str
    is_outside: Callable[..., Any] | None = None
    """Whether operands are outside of the domain, for which Python raises ValueError."""
    may_overflow: bool = False
    """Whether Python raises OverflowError where the result is infinite."""
    gives_integer: bool = False


def _is_infinite(x: Any) -> Any:
    return array_namespace().isinf(x)


FUNCTIONS: dict[Callable[..., Any], MathFunction] = {
    math.sqrt: MathFunction("sqrt", lambda x: x < 0),
    math.exp: MathFunction("exp", may_overflow=True),
    math.expm1: MathFunction("expm1", may_overflow=True),
    math.log: MathFunction("log", lambda x: x <= 0),
    math.log2: MathFunction("log2", lambda x: x <= 0),
    math.log10: MathFunction("log10", lambda x: x <= 0),
    math.log1p: MathFunction("log1p", lambda x: x <= -1),
    math.sin: MathFunction("sin", _is_infinite),
    math.cos: MathFunction("cos", _is_infinite),
    math.tan: MathFunction("tan", _is_infinite),
    math.asin: MathFunction("asin", lambda x: abs(x) > 1),
    math.acos: MathFunction("acos", lambda x: abs(x) > 1),
    math.atan: MathFunction("atan"),
    math.atan2: MathFunction("atan2"),
    math.sinh: MathFunction("sinh", may_overflow=True),
    math.cosh: MathFunction("cosh", may_overflow=True),
    math.tanh: MathFunction("tanh"),
    math.asinh: MathFunction("asinh"),
    math.acosh: MathFunction("acosh", lambda x: x < 1),
    math.atanh: MathFunction("atanh", lambda x: abs(x) >= 1),
    math.fabs: MathFunction("abs"),
    math.cbrt: MathFunction("cbrt"),
    math.erf: MathFunction("erf"),
    math.erfc: MathFunction("erfc"),
    math.hypot: MathFunction("hypot"),
    math.copysign: MathFunction("copysign"),
    math.isnan: MathFunction("isnan"),
    math.isinf: MathFunction("isinf"),
    math.isfinite: MathFunction("isfinite"),
    math.floor: MathFunction("floor", gives_integer=True),
    math.ceil: MathFunction("ceil", gives_integer=True),
    math.trunc: MathFunction("trunc", gives_integer=True),
}
"""The functions of `math` that are ops on numbers."""
PYTHON_IMPLEMENTATIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    math.comb: library.combination_count,
    math.factorial: library.factorial,
    math.gcd: library.greatest_common_divisor,
    math.isqrt: library.integer_root,
    math.lcm: library.least_common_multiple,
    math.perm: library.permutation_count,
}
"""The functions of `math` on integers that are implemented in Python. Each takes as many arguments as its
implementation has parameters; gcd and lcm take any number."""
FLOAT_IMPLEMENTATIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    math.degrees: library.degrees,
    math.exp2: library.power_of_two,
    math.gamma: library.gamma,
    math.isclose: library.is_close,
    math.lgamma: library.log_gamma,
    math.modf: library.split_float,
    math.pow: library.float_power,
    math.radians: library.radians,
    math.remainder: library.remainder,
}
"""Those on floats, to which integers are converted."""


def _without_op(function: Callable[..., Any], count: int) -> Invalid:
    return Invalid(
        f"math.{function.__name__} has no op for symbolic numbers",
        rule="F4",
        where=user_location(),
        got=f"{count} argument{'s' * (count > 1)}",
        hint=f"tl.callback(math.{function.__name__}, ..., returns=tl.float64) calls Python's function",
    )


def check_power(base: Any, exponent: Any) -> None:
    """Stage the assertion that `base ** exponent`, of integers, is not a negative power of 0: a ZeroDivisionError."""
    base, exponent = read_variable(base), read_variable(exponent)
    kinds = number_kind(base), number_kind(exponent)
    if not (is_symbolic(base) or is_symbolic(exponent)) or None in kinds or "f" in kinds:
        return
    if (not is_symbolic(base) and base != 0) or (not is_symbolic(exponent) and exponent >= 0):
        return
    is_defined = base != 0 if is_symbolic(base) else exponent >= 0
    if is_symbolic(base) and is_symbolic(exponent):
        is_defined |= exponent >= 0
    stage_assertion(is_defined, located_exception(ZeroDivisionError("0.0 cannot be raised to a negative power")))


def round_to_digits(number: Any, digits: int) -> Any:
    """`round(number, digits)` of a symbolic number, as Python rounds: to the decimal number that is nearest to the
    exact value; of two, to the one whose last digit is even.

    The rounding error of the product with the power of ten, or of the quotient, is computed exactly, and decides if the
    product is halfway between two integers. If it is 2**53 or more, the digits to drop are below the precision of the
    number, which is returned unchanged.
    """
    namespace, size = array_namespace(), 10 ** abs(digits)
    if number_kind(number) != "f":
        return to_kind(number, "i") if digits >= 0 else convert(library.round_integer)(number, size)  # type: ignore[arg-type]
    scale = float(size)
    scaled = number * scale if digits >= 0 else number / scale
    if digits >= 0:
        rest = _product_error(number, scale, scaled)
    else:
        product = scaled * scale
        rest = (number - product) - _product_error(scaled, scale, product)
    is_half = abs(scaled - namespace.trunc(scaled)) == 0.5
    nearest = namespace.round(scaled)
    rounded = namespace.where(is_half & (rest > 0), namespace.ceil(scaled), nearest)
    rounded = namespace.where(is_half & (rest < 0), namespace.floor(scaled), rounded)
    result = rounded / scale if digits >= 0 else rounded * scale
    return namespace.where(abs(scaled) < 2.0**53, result, number)


def _product_error(left: Any, right: Any, product: Any) -> Any:
    """The exact product of two floats minus the rounded one (Dekker, Numerische Mathematik 18, 1971)."""
    (left_high, left_low), (right_high, right_low) = _halves(left), _halves(right)
    rest = left_high * right_high - product + left_high * right_low + left_low * right_high
    return rest + left_low * right_low


def _halves(number: Any) -> tuple[Any, Any]:
    """Two floats of half the precision whose sum is a float."""
    scaled = number * 134217729.0
    high = scaled - (scaled - number)
    return high, number - high


def _float_remainder(x: Any, y: Any) -> Any:
    """`math.fmod(x, y)`."""
    namespace = array_namespace()
    is_defined = (namespace.logical_not(_is_infinite(x)) & (y != 0)) | namespace.isnan(x) | namespace.isnan(y)
    stage_assertion(is_defined, located_exception(ValueError("math domain error")))
    return namespace.copysign(abs(x) % abs(y), x)


def apply_math(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Apply a function of `math` to numbers, some of which are symbolic. Returns NotImplemented if an argument is not a
    number of the kind that it takes; raises Invalid (F4) if there is no op for it."""
    kinds = [number_kind(argument) for argument in arguments]
    if None in kinds:
        return NotImplemented
    if function in (math.gcd, math.lcm) and len(arguments) != 2:  # that of one number is that of it and itself
        first, *others = arguments
        return functools.reduce(lambda left, right: apply_math(function, (left, right)), others or [first], first)
    takes_floats = function in FLOAT_IMPLEMENTATIONS
    implementation = (FLOAT_IMPLEMENTATIONS if takes_floats else PYTHON_IMPLEMENTATIONS).get(function)
    if implementation is not None:
        if "f" in kinds and not takes_floats:
            return NotImplemented
        if len(arguments) != implementation.__code__.co_argcount:
            raise _without_op(function, len(arguments))
        operands = [to_kind(argument, "f") for argument in arguments] if takes_floats else arguments
        return convert(implementation)(*operands)  # type: ignore[arg-type]
    if function is math.fmod and len(arguments) == 2:
        return _float_remainder(*(to_kind(argument, "f") for argument in arguments))
    if function is math.ldexp and kinds[1:] in (["i"], ["b"]):
        return convert(library.scale_by_power)(to_kind(arguments[0], "f"), to_kind(arguments[1], "i"))  # type: ignore[arg-type]
    row = FUNCTIONS.get(function)
    if row is None or (function is math.hypot and len(arguments) != 2):
        raise _without_op(function, len(arguments))
    if row.gives_integer and "f" not in kinds:
        return to_kind(arguments[0], "i")
    operands = [to_kind(argument, "f") for argument in arguments]
    namespace = array_namespace()
    base = operands.pop() if function is math.log and len(operands) == 2 else None
    if row.is_outside is not None:
        stage_assertion(
            namespace.logical_not(row.is_outside(*operands)), located_exception(ValueError("math domain error"))
        )
    if base is not None:
        return apply_math(math.log, tuple(operands)) / apply_math(math.log, (base,))
    result = getattr(namespace, row.op)(*operands)
    if row.may_overflow:
        is_finite = namespace.logical_not(namespace.isinf(result)) | _is_infinite(operands[0])
        stage_assertion(is_finite, located_exception(OverflowError("math range error")))
    return namespace.astype(result, dtypes.int64) if row.gives_integer else result
