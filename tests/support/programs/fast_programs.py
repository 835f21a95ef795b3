"""Small programs for the fast machine that never end, or grow until a limit ends them."""

from __future__ import annotations

from typing import Any

import tagloom as tl
from tagloom.interp.engines.limits import Limits

HUGE = Limits(firings=10**15, tokens=10**15, depth=10**15)


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]


@tl.function
def flood(n: tl.int64) -> tl.int64:
    return flood(n) + flood(n)


@tl.function
def arrays(x: tl.Array[tl.float64, 3]) -> tl.Array[tl.float64, 3]:
    return tl.while_loop(lambda a: True, lambda a: a * 0.5 + 1.0, x)[0]


@tl.function
def wide(n: tl.int64) -> tl.int64:
    """2**n concurrent loops that do not end."""
    return tl.cond(n <= 0, lambda: endless(1), lambda: wide(n - 1) + wide(n - 1))


@tl.function
def bounded(n: tl.int64) -> tl.int64:
    """2**n concurrent loops that do not end, each with a throttled token."""

    def loop() -> Any:
        step = lambda i: tl.cond(i > 3, lambda: i - 1, lambda: i + 1)  # noqa: E731
        return tl.while_loop(lambda i: i >= 0, step, 1, parallel_iterations=1)[0]

    return tl.cond(n <= 0, loop, lambda: bounded(n - 1) + bounded(n - 1))


@tl.function
def triangle(n: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: 0, lambda: n + triangle(n - 1))


@tl.function
def deferring(n: tl.int64) -> tl.int64:
    """A loop with deferred gets, which also traps and prints."""
    cells = tl.cells(n, tl.int64)

    def body(i: tl.int64, s: tl.int64) -> Any:
        tl.print(i, 12 // (i - 2))
        return i + 1, s + tl.get(cells, i)

    result = tl.while_loop(lambda i, s: i < n, body, 0, 0)[1]
    tl.while_loop(lambda i: i < n, lambda i: (tl.put(cells, i, i * i), i + 1)[1:], 0)
    return result


@tl.function
def printing(n: tl.int64) -> tl.int64:
    def body(i: tl.int64) -> Any:
        tl.print(i)
        return (i + 1,)

    return tl.while_loop(lambda i: i < n, body, 0)[0]


@tl.function
def far(n: tl.int64) -> tl.int64:
    """A loop without end that runs far ahead of what its iterations compute, so that very many are open."""
    slow = lambda s: tl.while_loop(lambda j: j < 3, lambda j: j + 1, s)[0]  # noqa: E731
    step = lambda i, s: (i + 1, s + slow(s))  # noqa: E731
    return tl.while_loop(lambda i, s: i >= 0, step, n, 0, parallel_iterations=200_000)[1]
