"""Numbers: symbolic scalars combine as Python's numbers do, in value and in type."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.twins.broken_twin import broken
from tagloom.core.frontend.trace import numbers

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "abs": abs}
LEAVES = ("n", "x", "p", 0, 1, 3, -2, 0.5, 2.0, True, False)

EXPRESSIONS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
        st.tuples(st.sampled_from(sorted(UNARY)), inner),
        st.tuples(st.just("**"), inner, st.sampled_from((0, 1, 2, 3, -1, 0.5))),
    ),
    max_leaves=8,
)


def evaluate(expression: Any, names: dict[str, Any]) -> Any:
    """The value of an expression, with Python's operators."""
    if not isinstance(expression, tuple):
        return names.get(expression, expression) if isinstance(expression, str) else expression
    operands = [evaluate(each, names) for each in expression[1:]]
    if expression[0] == "**":
        return operands[0] ** operands[1]
    return UNARY[expression[0]](*operands) if len(operands) == 1 else BINARY[expression[0]](*operands)


def python_value(expression: Any, names: dict[str, Any]) -> Any:
    """What Python computes; None where it raises, or is complex, or an integer takes over 50 bits."""
    try:
        value = evaluate(expression, names)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError):
        return None
    return value if not isinstance(value, complex) and abs(value) < 2**50 else None


def check_agreement(expression: Any, names: dict[str, Any]) -> None:
    """The program's result is Python's, and has its type."""
    expected = python_value(expression, names)
    staged = tl.function(lambda n, x, p: (evaluate(expression, {"n": n, "x": x, "p": p}), n))
    result = staged.run(*names.values(), engine="reference").value[0]
    assert type(result) is type(expected), expression
    assert result == expected or math.isclose(result, expected, rel_tol=1e-12), expression


def iterate_parts(expression: Any) -> Any:
    yield expression
    if isinstance(expression, tuple):
        for part in expression[1:]:
            yield from iterate_parts(part)


@given(EXPRESSIONS, st.integers(-9, 9), st.sampled_from((-2.5, -1.0, 0.0, 0.5, 3.0)), st.booleans())
def test_arithmetic_has_the_value_and_the_type_of_python(expression: Any, n: int, x: float, p: bool) -> None:
    """Generated expressions of an int, a float and a bool, and constants, have Python's results and their types."""
    names = {"n": n, "x": x, "p": p}
    assume(all(python_value(part, names) is not None for part in iterate_parts(expression)))
    check_agreement(expression, names)


def test_numbers_that_are_not_converted_are_caught() -> None:
    """Broken: a bool stays a bool in arithmetic."""

    names = {"n": 1, "x": 1.0, "p": True}

    def without_bools(patch: MonkeyPatch) -> None:
        patch.setattr(numbers, "_ARITHMETIC", ())

    with broken(without_bools), pytest.raises(tl.Invalid):
        check_agreement(("+", "p", "p"), names)
    check_agreement(("+", "p", "p"), names)


def sum_of_halves(n):
    x = 0
    for _ in range(n):
        x = x + 0.5
    return x


def halved_until_small(n):
    x = n
    while x > 3:
        x = x / 2
    return x


def exchanged(n):
    a, b, c = 0, 1.5, True
    for _ in range(n):
        a, b, c = b, c, a
    return a, b, c


def grows_in_one_arm(n):
    x = 1
    for k in range(n):
        x = x * 1.5 if k % 2 == 0 else x + 1
    return x


def counted(n):
    count = 0
    for k in range(n):
        count += k > 2
    return count


def one_of_three(n):
    return n if n > 4 else 0.5 if n > 2 else True


def recursive(n):
    return n if n <= 1 else recursive(n - 1) * 0.5 + (n == 3)


def narrow(n):
    x = 0
    for _ in range(n):
        x = x + tl.astype(0.5, tl.float32)
    return x


FUNCTIONS = (sum_of_halves, halved_until_small, exchanged, grows_in_one_arm, counted, one_of_three, recursive, narrow)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_variables_take_the_higher_kind(function: Callable[[Any], Any]) -> None:
    """A variable that may be an int or a float after a branch or loop is a float, of the same value; of a bool and an
    int, it is an int."""
    staged = tl.function(function)
    for n in range(8):
        expected = function(n)
        for engine in ("reference", "fast"):
            assert staged.run(n, engine=engine).value == expected, (n, engine)


def test_other_dtypes_do_not_change_kind() -> None:
    """Values of dtypes that Python has not, and functions of the standard, keep the standard's rules."""

    def of_32_bits(n: tl.int32):
        return n * 0.5

    def by_function(n, x):
        return tl.add(n, x)

    with pytest.raises(tl.Invalid, match="do not promote"):
        tl.function(of_32_bits)(1)
    with pytest.raises(tl.Invalid, match="do not promote"):
        tl.function(by_function)(1, 2.0)


def test_a_number_takes_the_dtype_of_an_array() -> None:
    """A symbolic integer times an array of floats is an array of that dtype, as a Python integer is."""
    scaled = tl.function(lambda xs, n: xs * n)
    xs = tl.asarray([1.0, 2.0], dtype=tl.float32)
    result = scaled(xs, 3)
    assert result.dtype == tl.float32 and result[1] == 6.0


@pytest.mark.parametrize("value", [True, 3, 2.5, -0.5])
def test_round_gives_an_integer(value: Any) -> None:
    """`round` of one number is an int, also of a bool."""

    @tl.function
    def rounded(x):  # type: ignore[no-untyped-def]
        return round(x)

    result = rounded(value)
    assert (result, type(result)) == (round(value), int)
