"""The speed of the reference machine: `python tests/benchmarks/firings.py [RUNS]` prints a table.

Firings a second without events, as the median of several runs with the slowest and the fastest; the time and memory of
200,000 nested calls; and a loop of a million iterations. Each row runs in a process of its own."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import tagloom as tl


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.cond(n == 0, lambda: 0, lambda: n + total(n - 1))


@tl.function
def count(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), 0, 0)[1]


ROWS = {
    "fib(20), waves": (fib, 20, "waves"),
    "fib(20), lifo": (fib, 20, "lifo"),
    "fib(17), random:1": (fib, 17, "random:1"),
    "200,000 nested calls": (total, 200_000, "waves"),
    "loop of 1,000,000 iterations": (count, 1_000_000, "waves"),
}


def measure(name: str) -> None:
    """One run: firings, seconds, peak memory in MiB."""
    function, argument, schedule = ROWS[name]
    function.run(1, engine="reference")
    start = time.perf_counter()
    outcome = function.run(argument, schedule=schedule, engine="reference")
    seconds = time.perf_counter() - start
    assert outcome.status == "Returned", outcome.error
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(outcome.firings, seconds, peak)


def processor() -> str:
    """The name of the processor, and the number of cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"


def table(runs: int) -> None:
    """Every row, several times."""
    print(f"{date.today()}, {processor()}, Python {platform.python_version()}; median of {runs} (slowest, fastest)\n")
    print("| run | firings | firings a second | seconds | peak memory |\n|---|---|---|---|---|")
    for name in ROWS:
        results = []
        for _ in range(runs if "fib" in name else 1):
            process = subprocess.run(
                [sys.executable, __file__, "--row", name], capture_output=True, text=True, check=True
            )
            results.append(tuple(map(float, process.stdout.split())))
        firings, peak = int(results[0][0]), max(row[2] for row in results)
        speeds = sorted(firings / row[1] for row in results)
        seconds = statistics.median(row[1] for row in results)
        spread = f" ({speeds[0]:,.0f}, {speeds[-1]:,.0f})" if len(results) > 1 else ""
        print(f"| {name} | {firings:,} | {statistics.median(speeds):,.0f}{spread} | {seconds:.1f} | {peak:,.0f} MiB |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        measure(sys.argv[2])
    else:
        table(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
