"""No converted recursion costs more firings than the same recursion by `tl.cond`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import tagloom as tl
from tagloom.core.frontend.source.program_operators import ProgramOperators


def by_hand(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of integers whose source stays as it is."""
    return tl.autograph.do_not_convert(function)


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


@tl.function
@by_hand
def fib_by_hand(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib_by_hand(n - 1) + fib_by_hand(n - 2))


@tl.function
def power(x: tl.int64, n: tl.int64) -> tl.int64:
    if n == 0:
        return 1
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


@tl.function
@by_hand
def power_by_hand(x: tl.int64, n: tl.int64) -> tl.int64:
    def some():
        half = power_by_hand(x, n // 2)
        return tl.cond(n % 2 == 0, lambda: half * half, lambda: half * half * x)

    return tl.cond(n == 0, lambda: 1, some)


@tl.function
def ackermann(m: tl.int64, n: tl.int64) -> tl.int64:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@tl.function
@by_hand
def ackermann_by_hand(m: tl.int64, n: tl.int64) -> tl.int64:
    def some():
        return tl.cond(
            n == 0,
            lambda: ackermann_by_hand(m - 1, 1),
            lambda: ackermann_by_hand(m - 1, ackermann_by_hand(m, n - 1)),
        )

    return tl.cond(m == 0, lambda: n + 1, some)


@tl.function
def tak(x: tl.int64, y: tl.int64, z: tl.int64) -> tl.int64:
    if y >= x:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


@tl.function
@by_hand
def tak_by_hand(x: tl.int64, y: tl.int64, z: tl.int64) -> tl.int64:
    def inner():
        return tak_by_hand(tak_by_hand(x - 1, y, z), tak_by_hand(y - 1, z, x), tak_by_hand(z - 1, x, y))

    return tl.cond(y >= x, lambda: z, inner)


@tl.function
def is_even(n: tl.int64) -> tl.bool:
    return True if n == 0 else is_odd(n - 1)


@tl.function
def is_odd(n: tl.int64) -> tl.bool:
    return False if n == 0 else is_even(n - 1)


@tl.function
@by_hand
def is_even_by_hand(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: is_odd_by_hand(n - 1))


@tl.function
@by_hand
def is_odd_by_hand(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: is_even_by_hand(n - 1))


@tl.function
def range_sum(low: tl.int64, high: tl.int64) -> tl.int64:
    if high - low <= 1:
        return low if low < high else 0
    middle = (low + high) // 2
    return range_sum(low, middle) + range_sum(middle, high)


@tl.function
@by_hand
def range_sum_by_hand(low: tl.int64, high: tl.int64) -> tl.int64:
    def halves():
        middle = (low + high) // 2
        return range_sum_by_hand(low, middle) + range_sum_by_hand(middle, high)

    return tl.cond(high - low <= 1, lambda: tl.cond(low < high, lambda: low, lambda: 0), halves)


@tl.function
def gcd_and_steps(a: tl.int64, b: tl.int64) -> tuple[tl.int64, tl.int64]:
    if b == 0:
        return a, 0
    divisor, steps = gcd_and_steps(b, a % b)
    return divisor, steps + 1


@tl.function
@by_hand
def gcd_and_steps_by_hand(a: tl.int64, b: tl.int64) -> tuple[tl.int64, tl.int64]:
    def some():
        divisor, steps = gcd_and_steps_by_hand(b, a % b)
        return divisor, steps + 1

    return tl.cond(b == 0, lambda: (a, 0), some)


RECURSIONS = [
    (fib, fib_by_hand, (6,)),
    (power, power_by_hand, (3, 11)),
    (ackermann, ackermann_by_hand, (2, 2)),
    (tak, tak_by_hand, (5, 3, 1)),
    (is_even, is_even_by_hand, (6,)),
    (range_sum, range_sum_by_hand, (0, 7)),
    (gcd_and_steps, gcd_and_steps_by_hand, (21, 13)),
]


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(("plain", "hand", "arguments"), RECURSIONS, ids=lambda each: getattr(each, "name", ""))
def test_a_converted_recursion_costs_no_more(plain: Any, hand: Any, arguments: tuple[int, ...]) -> None:
    """Value, firings and critical path are those of `tl.cond`, or fewer."""
    runs = [function.run(*arguments, engine="reference") for function in (plain, hand)]
    assert runs[0].value == runs[1].value and runs[0].status == "Returned"
    assert runs[0].firings <= runs[1].firings
    assert runs[0].stats.span <= runs[1].stats.span


@pytest.mark.full
def test_a_branch_with_one_node_more_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a converted branch that negates its test twice breaks the law."""
    stage = ProgramOperators.stage_branch

    def stage_with_negations(self: ProgramOperators, test: Any, *rest: Any) -> Any:
        return stage(self, tl.logical_not(tl.logical_not(test)), *rest)

    monkeypatch.setattr(ProgramOperators, "stage_branch", stage_with_negations)

    @tl.function
    def sum_to(n: tl.int64) -> tl.int64:
        return 0 if n <= 0 else n + sum_to(n - 1)

    @tl.function
    @by_hand
    def sum_by_hand(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 0, lambda: 0, lambda: n + sum_by_hand(n - 1))

    with pytest.raises(AssertionError):
        test_a_converted_recursion_costs_no_more(sum_to, sum_by_hand, (4,))


def test_recursion_with_a_cache_warns_once() -> None:
    """A function that calls itself without its cache is named in one warning; others with a cache are in none."""

    @cache
    def fibonacci(k: Any) -> Any:
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)

    @cache
    def double(k: Any) -> Any:
        return 2 * k

    with pytest.warns(RuntimeWarning, match="fibonacci calls itself with symbolic arguments") as caught:
        assert tl.function(lambda n: fibonacci(n))(6) == 8
        assert tl.function(lambda n: fibonacci(n) + double(n) + double(n))(6) == 32
    assert len(caught) == 1 and caught[0].filename == __file__
