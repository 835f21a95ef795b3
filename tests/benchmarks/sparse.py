"""Steps by rows: the time of one for tables of different sizes, compared with copies of the tables and with a step of
all rows: `python tests/benchmarks/sparse.py [ROWS...]`.

A step of Adagrad on 100 rows of 4 float32; the least of some samples, in milliseconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tagloom as tl
from table import markdown, number

ROWS = (10**3, 10**4, 10**5, 10**6, 10**7)
WIDTH, TAKEN, SHARDS = 4, 100, 100
SECONDS = 1.0


def least(work: Callable[[], Any]) -> float:
    """The least of some samples, in milliseconds."""
    work()
    samples, ends = list[float](), time.perf_counter() + SECONDS
    while len(samples) < 3 or time.perf_counter() < ends:
        begun = time.perf_counter()
        work()
        samples.append(time.perf_counter() - begun)
    return 1000.0 * min(samples)


def eager(rows: int, shards: int) -> float:
    """A step for which all touched rows are in one shard."""
    table, optimizer = tl.Embedding(np.zeros((rows, WIDTH), np.float32), shards=shards), tl.optimizers.Adagrad()
    places = np.random.default_rng(0).integers(0, rows // shards, TAKEN)
    slopes = tl.ones((TAKEN, WIDTH), dtype=tl.float32)
    none = tl.Rows(tl.zeros(0, dtype=tl.int64), slopes[:0])
    gradients = (tl.Rows(tl.asarray(places), slopes), *[none] * (shards - 1))
    return least(lambda: optimizer.apply(gradients, table.shards))


def staged(rows: int, engine: str) -> float:
    """Lookup, gradient and step as one program."""
    table, optimizer = tl.Embedding(np.zeros((rows, WIDTH), np.float32)), tl.optimizers.Adagrad()

    @tl.function
    def step(ids: Any) -> None:
        slopes = tl.grad(lambda: tl.sum(table(ids)), table.shards, rows=table.shards)()
        optimizer.apply(slopes, table.shards)

    ids = np.random.default_rng(0).integers(0, rows, TAKEN)
    return least(lambda: step.run(ids, engine=engine))


def dense(rows: int) -> float:
    """A step of all rows, with a gradient as large as the table."""
    table, optimizer = tl.Variable(np.zeros((rows, WIDTH), np.float32)), tl.optimizers.Adagrad()
    gradient = tl.ones((rows, WIDTH), dtype=tl.float32)
    return least(lambda: optimizer.apply(gradient, table))


def measure_columns(rows: int) -> dict[str, float]:
    """The columns of a line: a table, and Adagrad's slots of the same size."""
    two = np.zeros((2, rows, WIDTH), np.float32)
    return {
        "two copies": least(two.copy),
        "eager": eager(rows, 1),
        f"eager, in one of {SHARDS} shards": eager(rows, SHARDS),
        "reference": staged(rows, "reference"),
        "compiled": staged(rows, "compiled"),
        "all rows, eager": dense(rows),
    }


def main() -> None:
    results = {rows: measure_columns(rows) for rows in tuple(map(int, sys.argv[1:])) or ROWS}
    lines = [[f"{rows:,}", *map(number, line.values())] for rows, line in results.items()]
    print(markdown(["rows", *next(iter(results.values()))], lines))


if __name__ == "__main__":
    main()
