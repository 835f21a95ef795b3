"""Errors of runs, histories, files, queues and training: each belongs to the class that Python has for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.core.errors import TagloomError
from tagloom.interp.history.history import History
from tagloom.interp.outcome.critical_path import time_on
from tagloom.interp.training.metrics import append_metrics


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n < 2, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def cube(x: tl.float64) -> tl.float64:
    square = x * x
    return square * x


def history() -> History:
    """A history of a run that is over."""
    run = History(fib.graph, [3])
    run.run()
    return run


def queue() -> tl.FIFOQueue:
    return tl.FIFOQueue(4, tl.int64)


class Slotted:
    __slots__ = ()

    @tl.function
    def method(self, x: tl.int64) -> tl.int64:
        return x


def iterate_in_trace() -> Any:
    elements = queue()
    return tl.function(lambda: next(iter(elements)))()


def manager() -> tl.CheckpointManager:
    return tl.CheckpointManager(tl.Checkpoint(w=tl.Variable(1.0)), "nowhere")


W = tl.Variable(1.0, name="w")
NARROW = tl.Variable(1.0, dtype=tl.float32, name="narrow")
MISSING = "no-such-folder/no-such-file"

PYTHON_CLASSES: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    # Runs and their options.
    "a schedule that is not there": (lambda: fib.run(3, schedule="none"), KeyError),
    "a script that is no list": (lambda: tl.Script(7), TypeError),  # type: ignore[arg-type]
    "a position that is no integer": (lambda: tl.Script([0.5]), TypeError),  # type: ignore[list-item]
    "a position below 0": (lambda: tl.Script([-1]), ValueError),
    "a schedule that cannot follow a script": (lambda: tl.Script([0], "none"), KeyError),
    "a script for another program": (lambda: fib.run(3, schedule=tl.Script([99]), engine="reference"), IndexError),
    "a seed that is no integer": (lambda: fib.run(3, seed=0.5, engine="reference"), TypeError),  # type: ignore[arg-type]
    "a seed below 0": (lambda: fib.run(3, seed=-1, engine="reference"), ValueError),
    "keep of another type": (lambda: fib.run(3, keep=1.5), TypeError),  # type: ignore[arg-type]
    "keep of no events": (lambda: fib.run(3, keep=0), ValueError),
    "a script file that is not there": (lambda: fib.run(3, schedule=f"hand:{MISSING}"), FileNotFoundError),
    "processors that are no number": (lambda: time_on(fib.graph, (), "two"), TypeError),  # type: ignore[arg-type]
    "no processors": (lambda: time_on(fib.graph, (), 0), ValueError),
    "a function that is printed as a program": (lambda: tl.print_program(fib), TypeError),  # type: ignore[arg-type]
    "a trace that is printed as a graph": (lambda: tl.print_graph(fib.trace(3)), TypeError),  # type: ignore[arg-type]
    "a trace that is lowered": (lambda: tl.lower(fib.trace(3)), TypeError),  # type: ignore[arg-type]
    "a program that is run as a graph": (lambda: tl.run_graph(fib.program, [3]), TypeError),  # type: ignore[arg-type]
    "a history of a function": (lambda: History(fib, [3]), TypeError),  # type: ignore[arg-type]
    "a breakpoint on a function": (lambda: tl.breakpoint_on(fib, "fired"), TypeError),  # type: ignore[arg-type]
    # Functions.
    "a method of a class with slots": (lambda: Slotted().method(1), TypeError),
    "maximum_specializations that is no integer": (lambda: tl.function(maximum_specializations="all"), TypeError),  # type: ignore[call-overload]
    "maximum_specializations below 1": (lambda: tl.function(maximum_specializations=0), ValueError),
    "primals that are no tuple": (lambda: tl.jvp(cube, 1.0, (1.0,)), TypeError),  # type: ignore[arg-type]
    "argnums that are no integers": (lambda: tl.grad(cube, 0.5), TypeError),
    "argnums beyond the arguments": (lambda: tl.grad(cube, 3), ValueError),
    "a feed that is no dict": (lambda: cube.partial("square", feed=[2.0]), TypeError),  # type: ignore[arg-type]
    "a fetched name that is no text": (lambda: cube.partial(7), TypeError),
    "a fetched value that is not there": (lambda: fib.partial("main/none")(3), KeyError),
    "an argument that a fetched value needs": (lambda: cube.partial("multiply")(...), TypeError),
    # Histories and queries.
    "an event beyond the end": (lambda: history()[10_000], IndexError),
    "a position beyond the end": (lambda: history().jump(10_000), IndexError),
    "a selector that selects nothing": (lambda: history().back_to(7), TypeError),  # type: ignore[arg-type]
    "a token that is not in flight": (lambda: history().deliver(0), IndexError),
    "a place that is no place": (lambda: history().change(0.5, 1), TypeError),  # type: ignore[arg-type]
    "a place beyond the flight": (lambda: history().change(99, 1), IndexError),
    "a slot without a token": (lambda: history().change(("fib.add", 0, "main"), 1), KeyError),
    "a spacing that is no integer": (lambda: History(fib.graph, [3], spacing=0.5), TypeError),  # type: ignore[arg-type]
    "a tag that is not there": (lambda: history().ask.why_not("fib.add", "main/none"), KeyError),
    "a node that has not fired": (lambda: History(fib.graph, [3]).ask.firing("fib.add"), KeyError),
    "a difference from no run": (lambda: history().ask.first_difference(7), TypeError),  # type: ignore[arg-type]
    "a breakpoint that is not there": (lambda: tl.Breakpoints()[1], KeyError),
    # Files.
    "a log that is not there": (lambda: tl.read_events(MISSING), FileNotFoundError),
    "a log in a folder that is not there": (lambda: fib.run(3, keep=f"{MISSING}.jsonl"), FileNotFoundError),
    "columns in a folder that is not there": (lambda: fib.run(3, keep=f"{MISSING}.npz"), FileNotFoundError),
    "a document that is not there": (lambda: tl.read_json(MISSING), FileNotFoundError),
    "something without a JSON form": (lambda: tl.to_json(7), TypeError),  # type: ignore[arg-type]
    "a text that is no JSON": (lambda: tl.from_json("{"), ValueError),
    "a checkpoint that is not there": (lambda: tl.Checkpoint(w=W).restore(MISSING), FileNotFoundError),
    "a checkpoint that is a folder": (lambda: tl.Checkpoint(w=W).restore("."), IsADirectoryError),
    "a checkpoint in a folder that is not there": (lambda: tl.Checkpoint(w=W).save(MISSING), FileNotFoundError),
    "a checkpoint of a number": (lambda: tl.Checkpoint(w=7), TypeError),
    "a number of checkpoints below 1": (lambda: tl.CheckpointManager(tl.Checkpoint(), ".", keep=0), ValueError),
    "a step that is no integer": (lambda: manager().save(0.5), TypeError),  # type: ignore[arg-type]
    "a step below 0": (lambda: manager().save(-1), ValueError),
    "metrics that are not there": (lambda: tl.read_metrics(MISSING), FileNotFoundError),
    "a metric that is no number": (lambda: append_metrics("metrics", 1, {"loss": []}), TypeError),
    "a metric that is text": (lambda: append_metrics("metrics", 1, {"loss": "low"}), ValueError),
    # Queues.
    "a capacity that is no integer": (lambda: tl.FIFOQueue("four", tl.int64), TypeError),  # type: ignore[arg-type]
    "a capacity below 1": (lambda: tl.FIFOQueue(0, tl.int64), ValueError),
    "a timeout that is no number": (lambda: queue().enqueue(1, timeout="soon"), TypeError),  # type: ignore[arg-type]
    "a timeout below 0": (lambda: queue().enqueue(1, timeout=-1), ValueError),
    "a timeout": (lambda: queue().dequeue(timeout=0), TimeoutError),
    "a queue iterated in traced code": (iterate_in_trace, TypeError),
    # Training.
    "an optimizer of a number": (lambda: tl.optimizers.SGD().apply((1.0,), (7,)), TypeError),
    "L-BFGS of two dtypes": (lambda: tl.optimizers.LBFGS().step(lambda: W * W, (W, NARROW)), TypeError),
    "L-BFGS without history": (lambda: tl.optimizers.LBFGS(history=0), ValueError),
}


@pytest.mark.inner(first=33)
@pytest.mark.parametrize("name", PYTHON_CLASSES)
def test_errors_belong_to_classes_of_python(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that Python has a class for is caught by that class, and is a tagloom error with its parts."""
    monkeypatch.chdir(tmp_path)
    call, python = PYTHON_CLASSES[name]
    with pytest.raises(python) as raised:
        call()
    assert isinstance(raised.value, TagloomError)
    assert isinstance(raised.value, ValueError) == issubclass(python, ValueError)
