"""The functions of Python's module `math`, of symbolic numbers: ops on float64, with Python's exceptions as traps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import dtypes
from ..trace.numbers import number_kind, to_kind
from ..trace.symbol import array_namespace
from . import library
from .convert import convert
from .raising import raised, stage_assertion


class MathFunction(NamedTuple):
    """A function of `math` as an op."""

    op: str
    is_outside: Callable[..., Any] | None = None
    """Whether operands are outside of the domain: then Python raises ValueError."""
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
    math.fabs: MathFunction("abs"),
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
    math.isqrt: library.integer_root,
    math.gcd: library.greatest_common_divisor,
    math.factorial: library.factorial,
    math.degrees: library.degrees,
    math.radians: library.radians,
}
"""The functions of `math` that are written in Python, by the number of parameters of those."""


def apply_math(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A function of `math` of numbers, some of which are symbolic. Returns NotImplemented where there is no op for it,
    or for an argument that is no number."""
    kinds = [number_kind(argument) for argument in arguments]
    if None in kinds:
        return NotImplemented
    implementation = PYTHON_IMPLEMENTATIONS.get(function)
    if implementation is not None:
        takes_floats = implementation in (library.degrees, library.radians)
        is_applicable = len(arguments) == implementation.__code__.co_argcount and (takes_floats or "f" not in kinds)
        return convert(implementation)(*arguments) if is_applicable else NotImplemented  # type: ignore[arg-type]
    row = FUNCTIONS.get(function)
    if row is None:
        return NotImplemented
    if row.gives_integer and "f" not in kinds:
        return to_kind(arguments[0], "i")
    operands = [to_kind(argument, "f") for argument in arguments]
    namespace = array_namespace()
    base = operands.pop() if function is math.log and len(operands) == 2 else None
    if row.is_outside is not None:
        stage_assertion(namespace.logical_not(row.is_outside(*operands)), raised(ValueError("math domain error")))
    if base is not None:
        return apply_math(math.log, tuple(operands)) / apply_math(math.log, (base,))
    result = getattr(namespace, row.op)(*operands)
    if row.may_overflow:
        is_finite = namespace.logical_not(namespace.isinf(result)) | _is_infinite(operands[0])
        stage_assertion(is_finite, raised(OverflowError("math range error")))
    return namespace.astype(result, dtypes.int64) if row.gives_integer else result
