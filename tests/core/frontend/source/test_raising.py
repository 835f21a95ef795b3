"""`raise` and `assert` in converted functions: as in Python, with values and exceptions, on engines and schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import staging, trees
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.reference import run_graph


class Refusal(ValueError):
    """An exception with other arguments than a message."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(f"{reason} ({code})")


def factorial(n):
    if n < 0:
        raise ValueError("n is negative")
    return 1 if n == 0 else n * factorial(n - 1)


def fib(n):
    if n < 0:
        raise KeyError("neg")
    return n if n <= 1 else fib(n - 1) + fib(n - 2)


def grade(n):
    if n < 0:
        raise IndexError
    if n < 3:
        return 1
    if n < 5:
        return 2
    raise Refusal("too large", 7)


def always(n):
    if n < 0:
        raise TypeError("below")
    raise OverflowError("above")


def one_of_three(n):
    if n > 3:
        if n > 5:
            raise TypeError("above 5")
        raise OverflowError("above 3")
    return n


def sum_below_four(n):
    total = 0
    for k in range(n):
        if k == 4:
            raise RuntimeError("four")
        total += k
    return total


def loop_that_raises(n):
    while n > 3:
        raise NotImplementedError("a trip")
    return n


def loop_with_exits(n):
    k = 0
    while k < n:
        k += 1
        if k > 5:
            raise ArithmeticError
        if k == 3:
            continue
        if k == n - 1:
            break
    return k


def asserted(n):
    assert n != 2, "two"
    return n + 1


def unreachable(n):
    if n > 3:
        assert False, "unreachable"  # noqa: B011
    return n


def caught_in_an_arm(n):
    m = 0
    if n > 2:
        try:
            raise ValueError("x")
        except ValueError:
            m = 7
    return m + n


def check_sign(n):
    if n < 0:
        raise ZeroDivisionError("in a callee")
    return n


def callees(n):
    return check_sign(n) + check_sign(n - 1)


def with_finally(n):
    try:
        if n < 0:
            raise ValueError("w")
        return n
    finally:
        n += 1


def assigned_on_other_arms(n):
    if n == 3:
        y = 1
    elif n > 3:
        raise LookupError
    else:
        y = 2
    return y


FUNCTIONS: list[Callable[[Any], Any]] = [
    factorial, fib, grade, always, one_of_three, sum_below_four, loop_that_raises, loop_with_exits, asserted,
    unreachable, caught_in_an_arm, callees, with_finally, assigned_on_other_arms,
]  # fmt: skip
INPUTS = (-2, 0, 1, 2, 3, 4, 6)
RUNS: list[dict[str, Any]] = [
    {"engine": "reference"},
    {"engine": "reference", "schedule": "lifo"},
    {"engine": "reference", "schedule": "random:7"},
    {"engine": "fast"},
]


def outcome_of(function: Callable[[Any], Any], n: int) -> Any:
    try:
        return function(n)
    except Exception as error:
        return error


def agrees(out: Any, expected: Any) -> bool:
    """Whether a run ended as Python does: with the value, or with a trap of the exception's class and message."""
    if not isinstance(expected, Exception):
        return out.status == "Returned" and bool(np.array_equal(out.value, expected))
    message = str(expected.args[0]).partition("\n")[0] if expected.args else ""  # pytest adds lines to assertions
    return out.status == "Trapped" and isinstance(out.error, type(expected)) and message in str(out.error)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_exceptions_are_those_of_python(function: Callable[[Any], Any]) -> None:
    """A run returns what Python returns, or traps with the exception that Python raises. All schedules meet the same
    traps, with equal counts of firings."""
    staged = tl.function(function)
    for n in INPUTS:
        runs = [staged.run(n, **options) for options in RUNS]
        assert all(agrees(out, outcome_of(function, n)) for out in runs), n
        assert len({(out.firings, tuple(map(str, out.traps))) for out in runs}) == 1


@pytest.mark.full
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_compiled_raises_as_python_does(function: Callable[[Any], Any]) -> None:
    """Compiled code ends as Python does."""
    staged = tl.function(function)
    for n in INPUTS:
        assert agrees(staged.run(n, engine="compiled"), outcome_of(function, n)), n


def test_calls_raise_the_exception() -> None:
    """A call raises a trap that the user's `except` catches, on the line of the `raise`; a class of one's own, too."""
    with pytest.raises(ValueError, match="n is negative") as caught:
        tl.function(factorial)(-1)
    assert isinstance(caught.value, tl.Trap) and caught.value.where.line == factorial.__code__.co_firstlineno + 2
    with pytest.raises(Refusal, match=r"Refusal: too large \(7\)"):
        tl.function(grade)(9)


def test_what_follows_a_raise_does_not_run() -> None:
    """A recursion guarded by a raise makes no call after it: the assertion fires, and then nothing."""
    staged = tl.function(factorial)
    assert [staged.run(n).firings for n in (-5, -1, 0, 1, 3)] == [5, 5, 11, 24, 50]
    assert [str(trap.where).rpartition(":")[2] for trap in staged.run(-5).traps] == [
        str(factorial.__code__.co_firstlineno + 2)
    ]


def test_gradients_pass_assertions() -> None:
    """An assertion has no adjoint; a function with one has the gradient of the function without it."""

    def square(x):
        tl.assert_(x > 0.0, "x is not positive")
        if x > 10.0:
            raise OverflowError("x is large")
        return x * x

    assert tl.grad(square)(3.0) == 6.0
    for x, error in ((-1.0, AssertionError), (11.0, OverflowError)):
        with pytest.raises(error):
            tl.grad(square)(x)


def test_only_names_travel() -> None:
    """The text form and JSON carry the name of the exception, and the program traps as before."""
    program = tl.function(asserted).trace(2).program
    for again in (tl.parse(tl.print_program(program))["asserted"], tl.from_json(tl.to_json(program))):
        assert tl.print_program(again) == tl.print_program(program)
        out = run_graph(lower(again), [2])
        assert out.status == "Trapped" and isinstance(out.error, AssertionError) and "two" in str(out.error)


def _value_without_assertion(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "unreached_operand", lambda failure, type_: staging.to_operand(trees._zero(type_)))


def test_an_arm_whose_value_needs_no_assertion_is_caught() -> None:
    """Broken: a branch that raises yields zero at once. Then its callers go on, and more fires."""

    def doubled(n):
        return check_sign(n) * 2 + 1

    sound = tl.function(doubled).run(-1)
    with broken(_value_without_assertion):
        unsound = tl.function(doubled).run(-1)
    assert (sound.firings, unsound.firings) == (7, 13)
