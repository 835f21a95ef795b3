"""The time of a firing on several cores: `python tests/benchmarks/cores.py [--quick]` prints a table.

Nanoseconds per firing of whole runs of `fast`, in one process: under two schedules on one core, and with `cores` of one
and two. The runs of a row take turns, three times; the median is printed. `--quick` takes smaller sizes, for trials."""

from __future__ import annotations

import argparse
import os
import platform
import time
from datetime import date
from pathlib import Path
from runpy import run_path
from statistics import median
from typing import Any, NamedTuple

import tagloom as tl
from firings import count, processor, total
from table import markdown

RUNS = 3
RECURSION = Path(__file__).resolve().parents[2] / "papers_examples" / "recursion"
fib, ack, tak = (
    run_path(str(RECURSION / f"{file}.py"))[name]
    for file, name in (("fib", "fib"), ("ackermann", "ack"), ("takeuchi", "tak"))
)


@tl.function
def loops(n: tl.int64) -> tl.int64:
    def inner(i: Any) -> Any:
        return tl.while_loop(lambda j, s: j < n, lambda j, s: (j + 1, s * 3 + i * j), 0, 0)[1]

    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner(i)), 0, 0)[1]


@tl.function
def tree(n: tl.int64, at: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: at * at, lambda: tree(n - 1, 2 * at) + tree(n - 1, 2 * at + 1))


class CoresRow(NamedTuple):
    """A program, with what it is called with, in earnest and to try."""

    name: str
    function: Any
    full: tuple[int, ...]
    quick: tuple[int, ...]


ROWS = (
    CoresRow("fib({})", fib, (28,), (18,)),
    CoresRow("tak({}, {}, {})", tak, (18, 12, 6), (8, 4, 2)),
    CoresRow("{0:,} loops of {0:,} iterations in a loop", loops, (1000,), (50,)),
    CoresRow("a binary tree of sums, 2^{} leaves", tree, (18, 0), (10, 0)),
    CoresRow("one loop of {:,} iterations", count, (300_000,), (3_000,)),
    CoresRow("ack({}, {})", ack, (2, 500), (2, 20)),
    CoresRow("a chain of {:,} calls", total, (100_000,), (1_000,)),
)
COLUMNS: dict[str, dict[str, Any]] = {
    "`waves`": {"schedule": "waves"},
    "`lifo`": {"schedule": "lifo"},
    "`cores=1`": {"cores": 1},
    "`cores=2`": {"cores": 2},
}


class FiringTime(NamedTuple):
    """Nanoseconds per firing, by the clock and in processor time of all cores."""

    clock: float
    processors: float


def time_run(row: CoresRow, arguments: tuple[int, ...], options: dict[str, Any]) -> tuple[int, FiringTime]:
    """One run: its number of firings, and the time of one."""
    clock, processors = time.perf_counter(), time.process_time()
    outcome = row.function.run(*arguments, engine="fast", limits=tl.Limits(depth=10**6), **options)
    clock, processors = time.perf_counter() - clock, time.process_time() - processors
    assert outcome.status == "Returned", outcome.error
    return outcome.firings, FiringTime(1e9 * clock / outcome.firings, 1e9 * processors / outcome.firings)


def measure_row(row: CoresRow, arguments: tuple[int, ...]) -> tuple[int, dict[str, FiringTime]]:
    """The number of firings of a row, and its medians, by column."""
    for options in COLUMNS.values():
        time_run(row, row.quick, options)
    firings, samples = 0, {name: list[FiringTime]() for name in COLUMNS}
    for _ in range(RUNS):
        for name, options in COLUMNS.items():
            firings, sample = time_run(row, arguments, options)
            samples[name].append(sample)
    return firings, {name: FiringTime(*map(median, zip(*result, strict=True))) for name, result in samples.items()}


def main() -> None:
    """Measures all rows, and prints them."""
    parser = argparse.ArgumentParser(description="What a firing takes on several cores.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    is_quick = parser.parse_args().quick
    load, lines, processors = os.getloadavg()[0], [], []
    for row in ROWS:
        arguments = row.quick if is_quick else row.full
        name = row.name.format(*arguments)
        firings, result = measure_row(row, arguments)
        lines.append([name, f"{firings:,}", *(f"{each.clock:.1f}" for each in result.values())])
        processors.append(f"{name} {result['`cores=1`'].processors:.1f} and {result['`cores=2`'].processors:.1f}")
    where = f"{processor()}, load {load:.1f} at first, Python {platform.python_version()}"
    print(f"{date.today()}, {where}; ns a firing, median of {RUNS}\n")
    print(markdown(["program", "firings", *COLUMNS], lines))
    print(f"\nProcessor time, on one core and on two: {'; '.join(processors)}.")


if __name__ == "__main__":
    main()
