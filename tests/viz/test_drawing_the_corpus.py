"""The corpus as pictures: every text that can be read can be drawn, invalid graphs too."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pictures.drawings import graph_dot, program_dot
from tagloom.core.graph.lower import lower
from tagloom.core.program.validate import program_problems
from tagloom.core.text import parse

FILES = sorted((Path(__file__).parents[1] / "corpus").glob("*.tl"))


@pytest.mark.full
def test_every_text_can_be_drawn() -> None:
    """Every graph of the corpus, every program, and the graph of every valid program, gives DOT with its name."""
    drawn = 0
    for file in FILES:
        document = parse(file.read_text())
        graphs = list(document.graphs)
        if document.program is not None:
            assert document.program.entry in program_dot(document.program)
            graphs += [] if program_problems(document.program) else [lower(document.program)]
        assert all(graph.name in graph_dot(graph) for graph in graphs), file.name
        drawn += len(graphs)
    assert drawn > 150
