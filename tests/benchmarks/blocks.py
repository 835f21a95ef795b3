"""The time of a firing with and without blocks: `python tests/benchmarks/blocks.py [--quick]` prints a table.

Nanoseconds of processor time per firing of whole runs of `fast` under `lifo` and under `waves`, in one process: by the
token machine alone, and with blocks from the first step. The runs of a row take turns, three times; the least is
printed. Then what generating and compiling the blocks takes, in seconds of processor time. `--quick` takes smaller
sizes, for trials."""

from __future__ import annotations

import argparse
import os
import time
from datetime import date
from pathlib import Path
from runpy import run_path
from typing import Any, NamedTuple

import tagloom as tl
from cores import ack, fib, loops, tak, tree
from firings import processor
from table import markdown
from tagloom.interp.engines.fast.block_generation import block_program
from tagloom.interp.engines.fast.block_loader import LoadedBlocks, load_blocks
from tagloom.interp.engines.fast.run import FastRun, delivery_order
from tagloom.interp.engines.jit.native import compile_object
from tagloom.interp.engines.reference import first_state
from tagloom.interp.image.image import cached_image

RUNS = 3
LIMITS = tl.Limits(depth=10**6, firings=10**10)
primes = run_path(str(Path(__file__).resolve().parents[2] / "papers_examples" / "recursion" / "primes.py"))


@tl.function
def collatz(n: tl.int64) -> tl.int64:
    """The steps of all numbers up to n."""

    def steps(start: Any) -> Any:
        halve = lambda k, count: (tl.cond(k % 2 == 0, lambda: k // 2, lambda: 3 * k + 1), count + 1)  # noqa: E731
        return tl.while_loop(lambda k, count: k != 1, halve, start, 0)[1]

    return tl.while_loop(lambda i, s: i <= n, lambda i, s: (i + 1, s + steps(i)), 1, 0)[1]


@tl.function
def mandelbrot(size: tl.int64) -> tl.int64:
    """The number of iterations of all points of a square grid, at most 50 each."""

    def escape(cx: Any, cy: Any) -> Any:
        inside = lambda x, y, k: tl.logical_and(k < 50, x * x + y * y <= 4.0)  # noqa: E731
        step = lambda x, y, k: (x * x - y * y + cx, 2.0 * x * y + cy, k + 1)  # noqa: E731
        return tl.while_loop(inside, step, 0.0, 0.0, 0)[2]

    def row(i: Any) -> Any:
        at = lambda k: tl.astype(k, tl.float64) * 3.0 / tl.astype(size, tl.float64)  # noqa: E731
        point = lambda j, s: (j + 1, s + escape(at(j) - 2.0, at(i) - 1.5))  # noqa: E731
        return tl.while_loop(lambda j, s: j < size, point, 0, 0)[1]

    return tl.while_loop(lambda i, s: i < size, lambda i, s: (i + 1, s + row(i)), 0, 0)[1]


class BlockRow(NamedTuple):
    """A program, with what it is called with, in earnest and to try."""

    name: str
    function: Any
    full: tuple[int, ...]
    quick: tuple[int, ...]


ROWS = (
    BlockRow("fib({})", fib, (28,), (22,)),
    BlockRow("tak({}, {}, {})", tak, (18, 12, 6), (12, 8, 4)),
    BlockRow("ack({}, {})", ack, (2, 500), (2, 100)),
    BlockRow("a binary tree of sums, 2^{} leaves", tree, (16, 0), (12, 0)),
    BlockRow("{0:,} loops of {0:,} iterations in a loop", loops, (500,), (100,)),
    BlockRow("Collatz, all numbers up to {:,}", collatz, (5_000,), (300,)),
    BlockRow("Mandelbrot, {0} x {0} points", mandelbrot, (100,), (12,)),
    BlockRow("the prime of number {:,}", primes["main"], (1_500,), (40,)),
)


def time_run(
    row: BlockRow, arguments: tuple[int, ...], schedule: str, loaded: LoadedBlocks | None
) -> tuple[float, Any]:
    """The seconds of processor time of one run, and its statistics."""
    state = first_state(row.function.graph, list(arguments), schedule)
    run = FastRun(state, schedule, until="quiet", limits=LIMITS)
    run.store.use_blocks(loaded)
    start = time.process_time()
    error = run.resume()
    seconds = time.process_time() - start
    assert error is None, error
    return seconds, run.stats()


def measure(row: BlockRow, arguments: tuple[int, ...], schedule: str) -> list[str]:
    """The cells of a row under one schedule."""
    start, order = time.process_time(), delivery_order(schedule)
    assert order is not None
    program = block_program(cached_image(row.function.graph, {}), order[0])
    assert program is not None
    generating = time.process_time() - start
    compile_object(program.text, "deliver_blocks", 3)
    compiling, loaded = time.process_time() - start - generating, load_blocks(program)
    best: dict[bool, float] = {}
    for _ in range(RUNS):
        results = {}
        for has_blocks in (False, True):
            seconds, stats = time_run(row, arguments, schedule, loaded if has_blocks else None)
            best[has_blocks], results[has_blocks] = min(seconds, best.get(has_blocks, seconds)), stats
        assert results[False] == results[True]
    firings = results[True].firings
    without, with_blocks = (best[key] / firings * 1e9 for key in (False, True))
    return [
        row.name.format(*arguments),
        schedule,
        f"{firings:,}",
        f"{without:.1f}",
        f"{with_blocks:.1f}",
        f"{without / with_blocks:.1f}",
        f"{generating:.2f}",
        f"{compiling:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    is_quick = parser.parse_args().quick
    print(f"{processor()}, {date.today()}, load {os.getloadavg()[0]:.1f}\n")
    columns = ["program", "schedule", "firings", "machine", "blocks", "ratio", "generating, s", "compiling, s"]
    runs = [(row, row.quick if is_quick else row.full, schedule) for row in ROWS for schedule in ("lifo", "waves")]
    print(markdown(columns, [measure(*run) for run in runs]))


if __name__ == "__main__":
    main()
