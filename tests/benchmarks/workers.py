"""From what size of run workers pay: `python tests/benchmarks/workers.py [LARGEST]` prints a table.

Runs of fib(N) on one worker and on two, on a network in this process, beside the reference machine. So processor times
have neither the start of processes nor other work of the host in them. The start of a worker is the processor time that
a process takes for fib(1). From both follows the time on a quiet host with a core for each worker: the start, and half
of the processor time of two workers. Where it is less than that of the reference, two workers pay.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from statistics import median
from typing import Any

import tagloom as tl
from tagloom.interp.outcome.outcome import Outcome

SIZES = (10, 12, 14, 16, 18, 20, 22, 24)
RUNS = 3
WORKERS = 2
MESSAGES = ("TokenTransfer", "CloseNotice", "WorkRequest", "WorkRefusal")


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


def seconds(run: Callable[[], object]) -> float:
    """The median processor time of several runs, in seconds, with that of the processes that they have started."""
    times = []
    for _ in range(RUNS):
        before = processor_seconds()
        run()
        times.append(processor_seconds() - before)
    return median(times)


def processor_seconds() -> float:
    """The processor time of this process, and of the processes that it has started and that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def start() -> None:
    """The start of two processes, and their end."""
    fib.run(1, engine="distributed", cluster="processes", workers=WORKERS)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)  # else their time counts later


def run(n: int, **options: Any) -> Outcome:
    """A run that must return."""
    outcome = fib.run(n, **options)
    assert outcome.status == "Returned", outcome.error
    return outcome


def rows(sizes: tuple[int, ...]) -> list[str]:
    """The lines of the table, and the start of a worker."""
    for options in ({"engine": "reference"}, {"engine": "distributed"}):
        run(5, **options)
    start_seconds = seconds(start) / WORKERS
    lines = [
        "| run | firings | us a firing, reference | processor time: 1 worker | 2 workers | messages "
        "| time with 2 workers, start included |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in sizes:
        outcome = run(n, engine="distributed", workers=WORKERS)
        base = seconds(lambda n=n: run(n, engine="reference"))  # type: ignore[misc]
        shares = [
            seconds(lambda n=n, count=count: run(n, engine="distributed", workers=count)) / base  # type: ignore[misc]
            for count in (1, WORKERS)
        ]
        assert outcome.cluster is not None
        messages = sum(outcome.cluster.messages.get(name, 0) for name in MESSAGES)
        lines.append(
            f"| fib({n}) | {outcome.firings:,} | {1e6 * base / outcome.firings:.1f} | {shares[0]:.2f} "
            f"| {shares[1]:.2f} | {messages} | {start_seconds / base + shares[1] / WORKERS:.2f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return [*lines, "", f"The start of a worker takes {start_seconds:.2f} s of processor time."]


if __name__ == "__main__":
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    print(f"{date.today()}, {os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}\n")
    print("\n".join(rows(tuple(size for size in SIZES if size <= largest))))
