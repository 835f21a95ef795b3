"""Trees a second in training: `python tests/benchmarks/trees.py [--quick] [--batches N...] [--systems NAME...]`
prints a table.

A step of TreeRNN and TreeLSTM (rows of `training.py`), by `compiled`, by `fast` with and without batches, op by op, and
by PyTorch, if it is installed. All systems take turns in one process, each on one thread; the least processor time of
three steps counts. Values are compared first. `--quick` takes one batch of one row and neither `compiled` nor PyTorch,
for trials; `--systems` names others than all of them."""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np
import tagloom as tl
from firings import processor
from systems import tagloom_training
from table import markdown
from tagloom.interp.engines.fast.futures import Futures

RUNS = 3
ROWS = ("treernn", "treelstm")
BATCHES = (1, 5, 50)
WITH_BATCHES, WITHOUT_BATCHES = "fast", "fast without batches"
SYSTEMS = (WITH_BATCHES, WITHOUT_BATCHES, "eager", "compiled", "PyTorch")

Step = Callable[[], tuple[Any, ...]]


def staged_step(row: str, batch: int, engine: str) -> Step:
    """A step as one graph on an engine of tagloom."""
    function, arguments = tagloom_training.step(row), tagloom_training.arguments(row, batch)

    def step() -> tuple[Any, ...]:
        outcome: tl.Outcome = function.run(*arguments, engine=engine, measures=False)
        loss, parameters = outcome.value  # type: ignore[misc]
        return (loss, *parameters)

    return step


def without_batches(step: Step) -> Step:
    """A step in which no node sends futures."""

    def computed_one_by_one() -> tuple[Any, ...]:
        true_install = Futures.install
        Futures.install = lambda self: None  # type: ignore[method-assign]
        try:
            return step()
        finally:
            Futures.install = true_install  # type: ignore[method-assign]

    return computed_one_by_one


def build_step(system: str, row: str, batch: int) -> Step:
    """A step by a system."""
    if system == "eager":
        return tagloom_training.eager(row, batch)
    if system == "PyTorch":
        import torch
        from systems import torch_training

        torch.set_num_threads(1)
        return torch_training.step(row, batch)
    step = staged_step(row, batch, "compiled" if system == "compiled" else "fast")
    return without_batches(step) if system == WITHOUT_BATCHES else step


def measure(row: str, batch: int, systems: Sequence[str]) -> dict[str, float]:
    """The seconds of processor time of a step, by system."""
    steps, best = {system: build_step(system, row, batch) for system in systems}, dict[str, float]()
    expected = [np.asarray(value) for value in steps[WITH_BATCHES]()]
    for name, step in steps.items():
        for value, other in zip(expected, step(), strict=True):
            np.testing.assert_allclose(value, np.asarray(other), rtol=1e-3, atol=1e-5, err_msg=name)
    for _ in range(RUNS):
        for name, step in steps.items():
            begin = time.process_time()
            step()
            seconds = time.process_time() - begin
            best[name] = min(seconds, best.get(name, seconds))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES, metavar="N", help="trees of a step")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, metavar="NAME", help=str(SYSTEMS))
    options = parser.parse_args()
    rows, batches, systems = ROWS, options.batches, [WITH_BATCHES, *options.systems]
    if options.quick:
        rows, batches, systems = ROWS[:1], (2,), list(SYSTEMS[:3])
    if not importlib.util.find_spec("torch"):
        systems = [system for system in systems if system != "PyTorch"]
    names = list(dict.fromkeys(systems))
    print(f"{processor()}, {date.today()}, load {os.getloadavg()[0]:.1f}; trees a second, and seconds as of `fast`\n")
    results = {(row, batch): measure(row, batch, names) for row in rows for batch in batches}
    lines = [
        [
            f"{row}, {batch}",
            *(f"{batch / seconds[name]:,.0f} ({seconds[name] / seconds[WITH_BATCHES]:.2f})" for name in names),
        ]
        for (row, batch), seconds in results.items()
    ]
    print(markdown(["row, trees of a step", *names], lines))


if __name__ == "__main__":
    main()
