"""The models of papers_examples/janus: their training steps run in graphs as in Python, and go stale under tracing."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES
from tagloom.interp.speculation.speculative_function import SpeculativeFunction

FOLDER = EXAMPLES / "janus"
STEPS = 6


def load(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """A program of the folder, whose modules import each other by their names. Other folders have modules of the same
    names, which are back after the test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for path in FOLDER.glob("*.py"):
        monkeypatch.setitem(sys.modules, path.stem, ModuleType(path.stem))  # so that it is undone
        del sys.modules[path.stem]
    return importlib.import_module(name)


PROGRAMS = ("lenet", "resnet", "lstm", "language_model", "tree_lstm", "gan", "a3c", "ppo", "pix2pix")


@pytest.mark.full(first=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """After each step the losses, weights, slots, flags and counters are those of Python, and all steps after the
    watched ones run in graphs."""
    ways = load(monkeypatch, "ways")
    module = importlib.import_module(name)
    speculated = tl.speculate(type(module.make()).step)
    assert ways.first_difference(module, speculated, STEPS) is None
    assert (speculated.counts.graph, speculated.counts.python) == (STEPS - 3, 0), speculated.explain()


@pytest.mark.heavy
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PROGRAMS)
def test_with_each_assumption_broken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Where any assertion fails, Python runs the step from its start, and nothing is left of the graph's run."""
    ways = load(monkeypatch, "ways")
    module = importlib.import_module(name)
    python_step = type(module.make()).step

    def run(broken_number: int | None) -> SpeculativeFunction:
        """The speculated step after STEPS steps, in the last two of which an assertion fails."""
        speculated = tl.speculate(python_step)

        def step(*arguments: Any) -> Any:
            counts = speculated.counts
            if broken_number is None or counts.watch + counts.graph + counts.python < STEPS - 2:
                return speculated(*arguments)
            with tl.testing.break_assumption(broken_number):
                return speculated(*arguments)

        assert ways.first_difference(module, step, STEPS) is None, broken_number
        assert speculated.counts.python == len(speculated.failed_runs)
        return speculated

    graph = run(None).graph
    assert graph is not None
    failed_runs = [run(number).failed_runs for number in range(len(graph.assumptions))]
    assert {len(each) for each in failed_runs} - {0}


@pytest.mark.full
@pytest.mark.parametrize("name", ["lenet", "language_model"])
def test_tracing_alone_goes_wrong(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """`tl.function` refuses a step that converts a symbol to a Python number, or leaves attributes with values of the
    trace."""
    ways = load(monkeypatch, "ways")
    module = importlib.import_module(name)
    assert ways.first_difference(module, ways.staged(module), 2) is not None


def test_all_programs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, "ways").PROGRAMS == PROGRAMS
