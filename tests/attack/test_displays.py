"""Valid graphs of every shape, and edited ones, under everything that displays them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tagloom as tl
from attack.displays import begin_display, display_violations
from attack.flat_graphs import graph_and_arguments, hand_written_graph
from onscreen import Screen, shown
from support.generators.json_edits import arguments_for
from tagloom.core.graph.validate import graph_problems
from tagloom.viz import activation_tree

FEW_NODES = """graph f(x: int64, y: int64, z: int64, w: int64) -> int64 {
  a = add x, y
  return a
}
"""
"""A valid graph with more arguments than nodes."""


def violations(seed: int, folder: Path) -> list[str]:
    dice = random.Random(seed)
    history = begin_display(*graph_and_arguments(dice), dice.choice(["waves", "lifo", "random:3"]))
    return [] if history is None else list(display_violations(history, dice, folder))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_graphs_are_displayed(seed: int, tmp_path: Path) -> None:
    """Graphs written by hand, lowered and edited have every picture and every column of the player, and every command
    of the session answers."""
    assert violations(seed, tmp_path) == []


@pytest.mark.heavy
def test_more_graphs_are_displayed(tmp_path: Path) -> None:
    """The same for more graphs."""
    for seed in range(100, 140):
        assert violations(seed, tmp_path) == [], seed


def test_graphs_have_shapes_that_lowering_never_makes() -> None:
    """The law is not vacuous: valid graphs have more arguments than nodes, and arguments that nothing reads."""
    graphs = [hand_written_graph(random.Random(seed)) for seed in range(200)]
    valid = [graph for graph in graphs if not graph_problems(graph)]
    assert len(valid) > 20
    assert any(len(graph.arguments) > len(graph.nodes) for graph in valid)
    assert any(not output.edges for graph in valid for _, output in graph.arguments)


class Position(int):
    """The broken twin of `RootArgument`: a plain number."""

    @property
    def position(self) -> int:
        return int(self)


def test_positions_are_no_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The law fails where arguments of the root are keyed by plain numbers, which readers take for nodes."""
    monkeypatch.setattr(activation_tree, "RootArgument", Position)
    graph = tl.parse_graph(FEW_NODES)
    history = begin_display(graph, [1, 2, 3, 4], "waves")
    assert history is not None
    assert any("IndexError" in each for each in display_violations(history, random.Random(1), tmp_path))


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full), pytest.param(2, marks=pytest.mark.full)])
def test_graphs_are_on_screen(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app shows such graphs with all its panes, and answers commands."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    dice = random.Random(seed)
    file = tmp_path / "graph.tl"
    graph = tl.parse_graph(FEW_NODES) if seed == 0 else hand_written_graph(dice)
    file.write_text(tl.print_graph(graph))
    words = [str(value).lower() for value in arguments_for(graph)]

    async def script(screen: Screen) -> None:
        for line in ("run", "start", "step 2", "tags all", "beside f", "why a", "only main", "outcome"):
            await screen.do(line)
            assert screen.app.return_code is None

    shown(script, str(file), *words, unchecked=True)
