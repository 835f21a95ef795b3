"""The speed of the compiled engine compared with hand-written numba: `python tests/benchmarks/compiled.py [RUNS]`
prints a table.

The two take turns in one process. Figures are medians of several runs in milliseconds, with the fastest and the
slowest."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tagloom as tl
from numba import int64, njit
from tagloom.interp.engines.compiled.run import run_compiled


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@njit(int64(int64))
def fib_by_hand(n: int) -> int:
    return n if n <= 1 else fib_by_hand(n - 1) + fib_by_hand(n - 2)


A, C = 6364136223846793005, 1442695040888963407
# Quadratic, because of a linear generator LLVM makes one that takes many iterations at once.


@tl.function
def quadratic(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + A) + C), 0, 1)[1]


@njit(int64(int64))
def quadratic_by_hand(n: int) -> int:
    i, x = 0, 1
    while i < n:
        x = x * (x + A) + C
        i += 1
    return x


@tl.function
def collatz(n: tl.int64) -> tl.int64:
    def steps(start: Any) -> Any:
        return tl.while_loop(
            lambda x, k: x > 1,
            lambda x, k: (tl.cond(x % 2 == 0, lambda: x // 2, lambda: 3 * x + 1), k + 1),
            start,
            0,
        )[1]

    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + steps(i)), 1, 0)[1]


@njit(int64(int64))
def collatz_by_hand(n: int) -> int:
    i, s = 1, 0
    while i < n:
        x, k = i, 0
        while x > 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            k += 1
        s += k
        i += 1
    return s


ROWS: list[tuple[str, tl.Function, Callable[[int], int], int]] = [
    ("fib(32)", fib, fib_by_hand, 32),
    ("quadratic generator, 10**8 iterations", quadratic, quadratic_by_hand, 10**8),
    ("collatz, up to 200,000", collatz, collatz_by_hand, 200_000),
]


def milliseconds(run: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    run(*arguments)
    return 1000 * (time.perf_counter() - start)


def table(runs: int) -> None:
    """Every row."""
    print("| run | compiled | by hand | ratio of medians |\n|---|---|---|---|")
    for name, function, by_hand, argument in ROWS:
        compiled = function.program, function.graph, [argument]
        outcome = run_compiled(*compiled)
        assert outcome.results == (by_hand(np.int64(argument)),), outcome
        pairs = [(milliseconds(run_compiled, *compiled), milliseconds(by_hand, argument)) for _ in range(runs)]
        columns = list(zip(*pairs, strict=True))
        texts = [f"{statistics.median(times):.2f} ({min(times):.2f}, {max(times):.2f})" for times in columns]
        print(f"| {name} | {' | '.join(texts)} | {statistics.median(columns[0]) / statistics.median(columns[1]):.2f} |")


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
