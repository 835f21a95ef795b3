"""Lowering of cells, effects and random numbers: L9, L10, and the names that random numbers depend on."""

from __future__ import annotations

import pytest
import tagloom as tl
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.evaluate import evaluate
from tagloom.interp.engines.reference import run_graph

NAMES = ("literal", "literal_1", "literal_", "trigger", "trigger_", "output", "return", "return_1", "c")


@pytest.mark.parametrize("name", NAMES)
def test_s15_a_draw_keeps_its_name(name: str) -> None:
    """S15: lowering keeps the name of a draw, and names no other node so; the machine draws what the evaluator
    draws."""
    program = tl.parse_program(f"""
        func main(x: int64) -> float64, bool {{
          l = print x, text="{{}}"
          b = less x, 3
          a = cond b {{
            then() {{ yield true }}
            else() {{ yield false }}
          }}
          {name} = uniform shape=[]
          return {name}, a
        }}
    """)
    graph = lower(program)
    assert graph_problems(graph) == []
    assert str(graph.nodes[graph.find(name)[0]]) == f"main.{name}"
    quiet = tl.World(output=lambda line: None)
    evaluation = evaluate(program, [1], seed=1, world=quiet)
    assert evaluation.results is not None
    assert run_graph(graph, [1], seed=1, world=quiet).results == tuple(evaluation.results)
