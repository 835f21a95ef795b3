"""The memory of gradients: `python tests/benchmarks/gradients.py [--quick]` prints a table.

Forward values that a reverse pass needs are waiting tokens, and records on `compiled`. So for each program, size and
engine the table has activations, the largest number of waiting tokens, and the memory of the run, beside that of the
program without its gradient. Each run has a process of its own. `--quick` takes small sizes, in one process, without
`compiled`, for trials."""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

import tagloom as tl
from firings import processor
from table import markdown
from tagloom.interp.engines.limits import resident_memory


@tl.function
def loop(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, tl.sin(y)), 0, x)[1]


@tl.function
def chain(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n <= 0, lambda: x, lambda: tl.sin(chain(x, n - 1)))


@tl.function
def tree(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n <= 0, lambda: tl.sin(x), lambda: tree(x, n - 1) * tree(x + 0.1, n - 1))


class GradientRow(NamedTuple):
    """A program, and its sizes: for the reference, for other engines, and for trials."""

    name: str
    function: Any
    reference: tuple[int, ...]
    fast: tuple[int, ...]
    quick: tuple[int, ...]


ROWS = (
    GradientRow("a loop of {:,} iterations", loop, (5_000, 10_000, 20_000), (50_000, 100_000, 200_000), (50, 100)),
    GradientRow("a chain of {:,} calls", chain, (5_000, 10_000, 20_000), (50_000, 100_000, 200_000), (50, 100)),
    GradientRow("a tree of depth {}", tree, (11, 12, 13), (14, 15, 16), (4, 5)),
)
ORDERS: dict[str, Callable[[Any], Any]] = {
    "value": lambda function: function,
    "gradient": tl.grad,
    "second order": lambda function: tl.grad(tl.grad(function)),
}


def measure(row: int, order: str, engine: str, size: int) -> dict[str, int]:
    """One run: activations, the largest number of waiting tokens, and its bytes beyond those of a short run. Only the
    last is known for `compiled`."""
    function = ORDERS[order](ROWS[row].function)
    options = {"engine": engine, "limits": tl.Limits(depth=10**6)}
    function.run(0.5, 3, **options)
    before = resident_memory()
    out = function.run(0.5, size, **options)
    assert out.status == "Returned", out.error
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    results = {"bytes": max(0, peak - before)}
    if engine != "compiled":
        results |= {"activations": sum(out.stats.activations_by_site.values()), "waited": out.stats.largest_store}
    return results


def measure_in_a_process(*asked: Any) -> dict[str, int]:
    """The figures of one run, in a process of its own."""
    command = [sys.executable, __file__, "--measure", *map(str, asked)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, int] = json.loads(ran.stdout)
    return result


def lines(
    number: int, row: GradientRow, engine: str, sizes: tuple[int, ...], how: Callable[..., dict[str, int]]
) -> list[list[str]]:
    """A line of the table for each size. An engine without tokens has the activations of the others."""
    results = []
    for size in sizes:
        result = {order: how(number, order, engine, size) for order in ORDERS}
        if engine == "compiled":
            counted = {order: how(number, order, "fast", size)["activations"] for order in ORDERS}
            activations, stored = counted["gradient"], ["", ""]
        else:
            counted = {order: each["activations"] for order, each in result.items()}
            activations, waited = counted["gradient"], result["gradient"]["waited"]
            stored = [f"{waited:,}", f"{waited / activations:.2f}"]
        each = [f"{result[order]['bytes'] / counted[order]:,.0f}" for order in ORDERS]
        results.append([row.name.format(size), engine, f"{activations:,}", *stored, *each])
    return results


def main() -> None:
    """Measures all rows, and prints them; or one run, and prints it as JSON."""
    parser = argparse.ArgumentParser(description="What a gradient keeps.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        row, order, engine, size = options.measure
        print(json.dumps(measure(int(row), order, engine, int(size))))
        return
    results = []
    for number, row in enumerate(ROWS):
        engines = {"reference": row.reference, "fast": row.fast, "compiled": row.fast}
        for engine, sizes in list(engines.items())[: 2 if options.quick else 3]:
            results += lines(
                number, row, engine, *((row.quick, measure) if options.quick else (sizes, measure_in_a_process))
            )
    print(f"{date.today()}, {processor()}, Python {platform.python_version()}\n")
    bytes_ = [f"bytes each, {order}" for order in ORDERS]
    print(markdown(["gradient of", "engine", "activations", "tokens that waited", "each", *bytes_], results))


if __name__ == "__main__":
    main()
