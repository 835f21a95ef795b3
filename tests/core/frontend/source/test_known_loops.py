"""Loops whose trips are known while tracing run in Python; where a symbolic condition may end them early, or they add
too many nodes, their rest is a loop of the program."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.observe.ctrl_c import default_ctrl_c
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import staging
from tagloom.core.frontend.source.operators import Operators


def smallest_divisor(n):
    for k in range(2, 2**62):
        if n % k == 0:
            return k
    return n


def triangular(n):
    total = 0
    for k in range(10**18):
        total += k
        if total > n:
            break
    return total, k


def newton(n):
    guess = n * 1.0
    for trip in range(100):  # noqa: B007
        following = 0.5 * (guess + 2.0 / guess)
        if abs(following - guess) < 1e-9:
            break
        guess = following
    else:
        guess = -1.0
    return guess, trip


def nested(n):
    for i in range(60):
        for j in range(4):
            if i * j == n:
                return i + j
    return 0


def downwards(n):
    total = 0
    for i in range(100, 3, -2):
        if (i + n) % 3 == 0:
            continue
        total += i
        print(i)
        if total > 1000:
            break
    return total, i


def rows(n):
    table = [(1, 2), (3, 4), (5, 7)] * 20
    for i in range(len(table)):
        if table[i][1] > n:
            return table[i]
    return (0, 0)


def items_of_two_kinds(n):
    table = [(1, 2), 3] * 20
    for i in range(len(table)):
        if i > n:
            return i
        if i % 2:
            n += table[i]
    return -1


FUNCTIONS: list[Callable[[Any], Any]] = [
    smallest_divisor, triangular, newton, nested, downwards, rows, items_of_two_kinds,
]  # fmt: skip


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_symbolic_exits(function: Callable[[Any], Any]) -> None:
    """A long loop that a symbolic condition may end does what Python does, and its program is short, unless the body
    cannot be staged."""
    assert list(disagreements(function, [(35,), (7,), (6,)], RUNS)) == []
    size = sum(1 for each in tl.function(function).trace(35).program.functions for _ in each.body.walk())
    assert (size < 100) == (function is not items_of_two_kinds)


def endless(n):
    table = [n, (n, 1)]
    for i in range(2**62):
        if i > n:
            return i
        table.reverse()
        table = [table[0], (i, table[1], 1)]
    return -1


def test_what_cannot_be_staged() -> None:
    """A loop of too many trips to unroll, whose body cannot be staged, is refused in words."""
    with pytest.raises(tl.Invalid) as caught:
        tl.function(endless)(3)
    assert caught.value.rule in ("F4", "V5") and caught.value.where is not None


def many_trips(n):
    for i in range(300):
        n = (n * 3 + i) % 1001
    return n, i


def many_trips_of_while(n):
    i = 0
    while i < 300:
        n = (n * 3 + i) % 1001
        i += 1
    return n, i


@pytest.mark.parametrize("function", (many_trips, many_trips_of_while))
def test_long_loops(function: Callable[[Any], Any], monkeypatch: MonkeyPatch) -> None:
    """A loop that adds too many nodes warns, with their number, and the rest of its trips is a loop of the program."""
    monkeypatch.setattr(staging, "MAX_UNROLLED_NODES", 60)
    with pytest.warns(RuntimeWarning, match="has added 6[0-9] nodes; its other iterations are a loop of the program"):
        assert list(disagreements(function, [(35,), (7,)], RUNS[:1])) == []


def spinning(n):
    k = 0
    while True:
        k += 1
    return n


def endless_with_exit(n):
    k = 0
    while True:
        k += 1
        if k < 0:
            break
    return n


def endless_range(n):
    for k in range(2**62):  # noqa: B007
        pass
    return n + k


def endless_items(n):
    for k in itertools.count():  # noqa: B007
        pass
    return n


@pytest.mark.parametrize("function", (spinning, endless_with_exit, endless_range, endless_items))
def test_endless_loops_are_refused(function: Callable[[Any], Any], monkeypatch: MonkeyPatch) -> None:
    """F4: a loop that adds no nodes warns, with its line, its variables and its trips so far, and is refused."""
    monkeypatch.setattr(staging, "ITERATIONS_PER_WARNING", 100)
    monkeypatch.setattr(staging, "MAX_PYTHON_ITERATIONS", 300)
    traced = tl.function(function)
    with (
        pytest.warns(RuntimeWarning, match="have run [12]00 iterations; this one is at (k|start) = ") as warned,
        pytest.raises(tl.Invalid, match="have run 300 iterations") as raised,
    ):
        traced.run(3)
    assert len(warned) == 2 and warned[0].filename == __file__
    assert function.__code__.co_firstlineno < raised.value.where.line < function.__code__.co_firstlineno + 6


def test_trips_of_all_loops_of_a_trace_count(monkeypatch: MonkeyPatch) -> None:
    """F4: the trips of all loops of a trace count together, and those of another trace do not."""
    monkeypatch.setattr(staging, "ITERATIONS_PER_WARNING", 100)
    monkeypatch.setattr(staging, "MAX_PYTHON_ITERATIONS", 100)

    def two_loops(n):
        total = 0
        for k in range(40):
            total += k
        for k in range(count):
            total += k
        return n + total

    count = 59
    assert tl.function(two_loops)(1) == tl.function(two_loops)(1) == 1 + 780 + 1711
    count = 60
    with pytest.raises(tl.Invalid, match="have run 100 iterations"):
        tl.function(two_loops)(1)


@pytest.mark.full
def test_ctrl_c_ends_an_endless_trace() -> None:
    """Ctrl-C ends a trace that never ends within 0.2 s of processor time, and says where it was."""
    pressed = []

    def press() -> None:
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    with default_ctrl_c(), pytest.raises(KeyboardInterrupt) as raised:
        timer = threading.Timer(0.3, press)
        timer.start()
        tl.function(spinning).run(3)
    assert time.process_time() - pressed[0] < 0.2
    assert (
        "Python was tracing spinning, defined at " in raised.value.__notes__[0]
        and "test_known_loops.py" in raised.value.__notes__[0]
    )


def _forgotten_exit(patch: MonkeyPatch) -> None:
    original = Operators._for_range

    def begin_anew(self: Any, *arguments: Any) -> Any:
        return original(self, *arguments[:-1], None)

    patch.setattr(Operators, "_for_range", begin_anew)


@pytest.mark.full
def test_twin() -> None:
    """Broken: the rest of a loop begins though an earlier trip has left it. The law sees other values."""
    with broken(_forgotten_exit):
        assert list(disagreements(triangular, [(-1,)], RUNS[:1]))


def counted(n):
    total = 0
    while total < n:
        total += 2
        tl.loop_options(parallel_iterations=2)
    for k in range(n):
        tl.loop_options(parallel_iterations=3)
        if k == 4:
            break
        total += k
    return total


def test_loop_options() -> None:
    """The bound on trips that run at once is an attribute of the loop; in Python it does nothing."""
    assert list(disagreements(counted, [(0,), (3,), (9,)], RUNS[:1])) == []
    text = tl.print_program(tl.function(counted).trace(3).program)
    assert text.count("parallel_iterations=2") == text.count("parallel_iterations=3") == 1


def outside_of_a_loop(n):
    tl.loop_options(parallel_iterations=2)
    return n


def no_bound(n):
    while n > 0:
        tl.loop_options(parallel_iterations=0)
        n -= 1
    return n


@pytest.mark.parametrize("function", (outside_of_a_loop, no_bound))
def test_bad_loop_options(function: Callable[[Any], Any]) -> None:
    """Options outside of a loop, and a bound of no trips, are refused."""
    with pytest.raises(tl.Usage):
        tl.function(function)(3)
