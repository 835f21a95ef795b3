"""The models of papers_examples/janus: their training steps run in graphs as in Python, and go stale under tracing."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES

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


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """After each step the losses, weights, slots, flags and counters are those of Python, and all steps after the
    watched ones run in graphs."""
    ways = load(monkeypatch, "ways")
    module = importlib.import_module(name)
    speculated = tl.speculate(type(module.make()).step)
    assert ways.first_difference(module, speculated, STEPS) is None
    assert (speculated.counts.graph, speculated.counts.python) == (STEPS - 3, 0), speculated.explain()


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
