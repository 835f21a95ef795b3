"""The big-step evaluator: programs have the same meaning without tokens, without recursion, and within limits."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from tagloom.core.program.evaluate import Evaluation, evaluate
from tagloom.core.value import fingerprint, is_same_value

DEEP = 30_000


@tl.function
def count(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 0, lambda: count(n - 1) + 1)


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def forever(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 5, n)[0]


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return endless(n + 1)


@tl.function
def divided(n: tl.int64) -> tl.int64:
    a = tl.cond(n > 5, lambda: 10 // (n - 8), lambda: 1)
    b = 100 // n
    return a + b


@tl.function
def looped(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: 12 // (n - i) > 0, lambda i: i + divided(i), 0)[0]


@pytest.mark.full
def test_deep_calls_need_no_stack() -> None:
    """30,000 nested calls, each in a branch, need none of Python's stack."""
    assert sys.getrecursionlimit() < DEEP // 10
    assert evaluate(count.program, [DEEP]) == Evaluation("Returned", (DEEP,))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 12])
def test_programs_mean_what_python_computes(n: int) -> None:
    """A program computes what the Python from which it was traced computes."""

    def python(n: int) -> int:
        return n if n <= 1 else python(n - 1) + python(n - 2)

    assert evaluate(fib.program, [n]) == Evaluation("Returned", (python(n),))


@pytest.mark.parametrize(
    ("program", "argument", "limits"),
    [
        (forever, 0, {"max_steps": 1_000}),
        (endless, 0, {"max_steps": 1_000}),
        (endless, 0, {"max_depth": 1_000}),
        (count, 1_000, {"max_depth": 2_000}),
        (fib, 20, {"max_steps": 1_000}),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_limits_end_evaluations(program: tl.Function, argument: int, limits: dict[str, int]) -> None:
    """A limit ends an endless evaluation, as data."""
    assert evaluate(program.program, [argument], **limits) == Evaluation("Exhausted")


def test_limits_are_exact() -> None:
    """Every node counts each time it is evaluated; the depth is that of nested regions."""
    steps = 4 * len(["less_equal", "cond"]) + 3 * len(["subtract", "call", "add"])
    depth = 4 * len(["count", "branch"])
    assert evaluate(count.program, [3], max_steps=steps).results == (3,)
    assert evaluate(count.program, [3], max_steps=steps - 1).status == "Exhausted"
    assert evaluate(count.program, [3], max_depth=depth).results == (3,)
    assert evaluate(count.program, [3], max_depth=depth - 1).status == "Exhausted"


@pytest.mark.parametrize(
    ("program", "argument", "node", "message"),
    [
        (divided, 0, "divided.floor_divide_1", "integer division by zero"),
        (divided, 8, "divided.floor_divide", "integer division by zero"),
        (looped, 5, "divided.floor_divide_1", "integer division by zero"),
        (looped, 0, "looped.floor_divide", "integer division by zero"),
    ],
)
def test_s5_evaluation_stops_at_the_first_trap(program: tl.Function, argument: int, node: str, message: str) -> None:
    """S5: evaluation stops at the first operation without a value, in program order; branches that are not taken never
    trap."""
    assert evaluate(program.program, [argument]) == Evaluation("Trapped", trap=(node, message))
    assert evaluate(divided.program, [5]).results == (21,)


@settings(max_examples=15)
@given(cases())
def test_evaluation_is_repeatable(case: Case) -> None:
    """A second evaluation gives the same result, bit for bit, and arguments are not changed."""
    before = list(map(fingerprint, case.arguments))
    one, other = evaluate(case.program, case.arguments), evaluate(case.program, case.arguments)
    assert (one.status, one.trap) == (other.status, other.trap)
    assert all(map(is_same_value, one.results or (), other.results or ()))
    assert before == list(map(fingerprint, case.arguments))


def test_loops_and_several_results() -> None:
    """A loop yields all its variables, even those that it only reads."""

    @tl.function
    def both(n: tl.int64, x: tl.float64) -> tuple[tl.int64, tl.float64]:
        return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), 0, 1.0)

    def found(n: int) -> Any:
        return evaluate(both.program, [n, 2.0]).results

    assert [found(n) for n in (0, 1, 10)] == [(0, 1.0), (1, 2.0), (10, 1024.0)]
