"""What staging gains: papers_examples/eager/l2hmc.py op by op and as a graph, the same numbers.

    python tests/benchmarks/l2hmc.py [SAMPLES ...]

prints milliseconds of a step: going ten leapfrog steps, the loss, its gradient and the descent; the median of some.
What is compiled is compiled before, and how long that took is said.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "papers_examples" / "eager"))

from l2hmc import Sampler  # type: ignore[import-not-found]

RATE = 1e-6
ENGINES = ("reference", "compiled")


def seconds(step: Callable[[], Any]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def staged(sampler: Any, engine: str) -> Callable[[], None]:
    """A step as a graph, on an engine."""

    def step() -> None:
        out = sampler.staged.run(RATE, engine=engine, account=False)
        assert (out.status, out.engine) == ("Returned", engine), out.error

    return step


def measured(samples: int, engines: tuple[str, ...] = ENGINES, times: int = 7) -> str:
    """A row: of so many samples, milliseconds at once, and staged on each engine with what that gains."""
    start = np.zeros((samples, 2))
    sampler = Sampler(start)
    sampler.at_once(RATE)
    at_once = statistics.median(seconds(lambda: sampler.at_once(RATE)) for _ in range(times))
    cells = [f"{samples}", f"{at_once * 1e3:.0f}"]
    for engine in engines:
        step = staged(Sampler(start), engine)
        first = seconds(step)
        found = statistics.median(seconds(step) for _ in range(times))
        cells += [f"{found * 1e3:.1f}", f"{at_once / found:.1f}", f"{first:.1f} s"]
    return f"| {' | '.join(cells)} |"


def main(*samples: int) -> None:
    heads = [head for engine in ENGINES for head in (f"{engine}, ms", "gain", "first step")]
    print("| samples | at once, ms |", " | ".join(heads), "|")
    print("|" + "---|" * (2 + len(heads)))
    for count in samples or (10, 50, 200):
        print(measured(count), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
