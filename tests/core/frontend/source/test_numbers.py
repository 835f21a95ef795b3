"""Numbers: symbolic scalars combine as Python's numbers do, in value and in type."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import mathematics
from tagloom.core.frontend.trace import numbers


def rounded(x, n):
    return (
        [round(x, digits) for digits in (0, 1, 2, 3, 9, -1, -2)],
        round(n, -1),
        round(n, -3),
        round(n, 2),
        round(n > 3, 1),
    )


ROUNDED = [
    2.675, 1.115, 0.145, 5.015, 1e-9, -0.04, 2.5, -12.5, 250.0, 150.0, -5.0, 1e22, 2.0**52 + 0.5, 4503599627370497.5,
    9007199254740993.0, 123456789012.345, 1e308, 0.5e-9, -1499.999999999999, 1500.0,
]  # fmt: skip


def rounding_inputs() -> list[tuple[float, int]]:
    return [(x, n) for x, n in zip(ROUNDED, (15, 25, -15, -2500, 3500, 0, 7, 4, 1, 49) * 2, strict=True)]


@pytest.mark.full
def test_rounding_to_digits() -> None:
    """`round(x, digits)` rounds the exact value to the nearest decimal number, and halves to an even digit."""
    assert list(disagreements(rounded, rounding_inputs(), RUNS)) == []


@pytest.mark.heavy
def test_rounding_to_digits_on_compiled() -> None:
    """So it does on `compiled`."""
    assert list(disagreements(rounded, rounding_inputs(), [("compiled", "waves")])) == []


def test_rounding_by_a_product_alone_is_caught() -> None:
    """Broken: the rounding error of the product with the power of ten is ignored."""
    with broken(lambda patch: patch.setattr(mathematics, "_product_error", lambda left, right, product: 0.0)):
        assert list(disagreements(rounded, [(1.115, 15)], RUNS[:1]))


def powers(n, m):
    total = n**m + 2**m if m >= 0 else 0
    return total, n**-2, pow(n, -1)


def augmented_power(n, m):
    n **= -m
    return n


def remainders(x, y):
    return math.fmod(x, y), math.fmod(-x, y)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (powers, [(2, 3), (0, 1), (-3, 0)]),
        (augmented_power, [(0, 1)]),
        (remainders, [(5.5, 2.0), (1e18, 0.7), (0.0, -3.0), (1.0, math.inf), (1.0, 0.0), (math.inf, 2.0)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_powers_and_remainders(function: Callable[..., Any], inputs: list[tuple[Any, ...]]) -> None:
    """A negative power of the integer 0 is a ZeroDivisionError; `math.fmod` is exact."""
    assert list(disagreements(function, inputs, RUNS[:1])) == []


def counts(n, k):
    return math.comb(n, k), math.comb(n, 2), math.lcm(n, k), math.lcm(k - 3, n)


def arrangements(n, k):
    return math.perm(n, k)


def closeness(x, y):
    return math.isclose(x, y), math.isclose(x, 3)


def special_functions(x):
    return math.erf(x), math.erfc(x), math.cbrt(x)


def divisors(n, k):
    return (
        (n > k).bit_length(),
        n.bit_length(),
        math.gcd(n, k, 6),
        math.gcd(12, 18, n),
        math.gcd(n),
        math.lcm(n, k, 4),
        math.lcm(k),
    )


def powers_of_floats(x, y):
    return math.pow(x, y), math.pow(abs(x), 0.5)


def hyperbolic_functions(x, y):
    return math.asinh(x), math.exp2(x), math.acosh(x), math.atanh(y)


def gamma_functions(x):
    return math.gamma(x), math.lgamma(x)


def remainders_of_floats(x, y):
    return math.remainder(x, y)


def scaled(x, n):
    return math.ldexp(x, n)


def parts(x, y):
    return math.modf(x), math.modf(y)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (counts, [(5, 2), (62, 31), (66, 33), (5, 7), (0, 0), (-1, 2), (3, -1)]),
        (arrangements, [(5, 2), (20, 20), (5, 7), (0, 0), (3, -1)]),
        (closeness, [(1.0, 1 + 1e-10), (1.0, 1 + 1e-8), (math.inf, 1e308), (math.nan, 1.0), (3, 3.0000000001)]),
        (special_functions, [(0.3,), (-2.0,), (1e300,)]),
        (divisors, [(12, -18), (0, 5), (7, 0)]),
        (powers_of_floats, [(2.0, 0.5), (-2, 3), (-2.0, 0.5), (0.0, -1), (1e300, 2.0), (-0.0, 3.0), (-8.0, 1 / 3)]),
        (powers_of_floats, [(1.0, math.nan), (math.nan, 0.0), (-1.0, math.inf), (-math.inf, 3.0), (0.5, -math.inf)]),
        (powers_of_floats, [(0.0, -math.inf), (-math.inf, -3.0), (-math.inf, 0.5), (-0.5, math.inf)]),
        (hyperbolic_functions, [(1.5, 0.5), (1.0, -0.5), (0.5, 0.5), (2.0, 1.0), (2000.0, 0.0), (3, 0)]),
        (
            gamma_functions,
            [(0.3,), (5.0,), (-3.7,), (150.2,), (-150.2,), (1e-300,), (0.0,), (-2.0,), (172.0,)],
        ),
        (remainders_of_floats, [(7.5, 2.0), (5.0, 2.0), (-7.0, 2.0), (1.0, math.inf), (math.inf, 1.0), (3, 0)]),
        (scaled, [(0.75, 3), (1.3, -1074), (2.0**-91 * 1.3, -970), (1.0, 2000), (5e-324, 2000), (math.inf, 1), (3, 1)]),
        (parts, [(2.75, -2.75), (-0.0, 3.0), (-0.5, 1e300), (math.inf, -math.inf)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_functions_of_math(function: Callable[..., Any], inputs: list[tuple[Any, ...]]) -> None:
    """Functions of `math` that are plain Python or ops; a product that fits does not wrap on the way."""
    assert list(disagreements(function, inputs, RUNS[:1])) == []


@pytest.mark.parametrize("name", ["frexp", "ulp"])
def test_functions_of_math_without_an_op_are_refused(name: str) -> None:
    """The refusal names the function, and its hint is a call that works."""
    function = getattr(math, name)
    with pytest.raises(tl.Invalid, match=f"math.{name} has no op for symbolic numbers") as refused:
        tl.function(lambda x: function(x))(2.5)
    assert f"tl.callback(math.{name}, " in str(refused.value)
    if name == "ulp":
        assert tl.function(lambda x: tl.callback(function, x, returns=tl.float64))(2.5) == function(2.5)


def test_a_count_of_combinations_that_wraps_on_the_way_is_caught() -> None:
    """Broken: the product is divided after it has wrapped."""

    def wrapping(n, k):  # type: ignore[no-untyped-def]
        result = 1
        for i in range(1, k + 1):
            result = result * (n - k + i) // i
        return result

    with broken(lambda patch: patch.setitem(mathematics.PYTHON_IMPLEMENTATIONS, math.comb, wrapping)):
        assert list(disagreements(counts, [(66, 33)], RUNS[:1]))


def test_powers_without_the_check_are_caught() -> None:
    """Broken: a negative power of 0 is infinite."""
    with broken(lambda patch: patch.setattr(mathematics, "check_power", lambda base, exponent: None)):
        assert list(disagreements(augmented_power, [(0, 1)], RUNS[:1]))


def walrus_in_comprehensions(n, m):
    squares = [square for k in range(n) if (square := k * m) > 2]
    return (
        squares,
        sum(twice for k in (n, m) if (twice := 2 * k) % 3),
        any((last := k) > 3 and last < 9 for k in range(n)),
    )


def reductions(n, m):
    largest, total = functools.reduce(max, [n, m, 2]), functools.reduce(lambda a, b: a * 3 + b, range(n), m)
    return largest, total, functools.reduce(operator.add, [k for k in range(n) if k % 2], 0)


def empty_reduction(n, m):
    return functools.reduce(operator.mul, [k for k in range(n) if k > m])


def walrus_of_earlier_values(n, total):
    return [total := total + k for k in [1, n, 2]]


def test_walrus_under_a_condition() -> None:
    """A variable that a generator expression assigns, where a symbolic condition may end it, is refused."""

    def first_above(n):
        if any((last := k) > 1 for k in [0, n, 1]):
            return last
        return -1

    with pytest.raises(tl.Invalid, match="a generator expression assigns a variable"):
        tl.function(first_above)(5)


@pytest.mark.parametrize("function", (walrus_in_comprehensions, walrus_of_earlier_values, reductions, empty_reduction))
def test_library_calls(function: Callable[..., Any]) -> None:
    """`functools.reduce` and `:=` in comprehensions take symbolic values."""
    assert list(disagreements(function, [(5, 2), (0, 3), (4, -1)], RUNS[:2])) == []


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


def flat(x, n):
    items = []

    def walk(part):
        if hasattr(part, "__iter__"):
            for each in part:
                walk(each)
        else:
            items.append(part)

    walk(x)
    return items, hasattr(str(n), "upper"), hasattr(str(n), "sum"), hasattr([k * k for k in range(n)], "append")


def test_hasattr_asks_the_class_that_a_value_has_in_python() -> None:
    """`hasattr` of a symbolic value says what Python says, or is refused where numbers of Python and NumPy differ."""
    assert list(disagreements(flat, [([1, [2, 3]], 4)], RUNS[:1], [[True, True]])) == []
    of_sum = tl.function(lambda x: hasattr(x, "sum"))
    assert of_sum(np.ones(2)) and of_sum(np.float32(2.0))
    with pytest.raises(tl.Invalid, match="F4: whether a number has the attribute sum depends on its class"):
        of_sum(2.5)
