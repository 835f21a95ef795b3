"""Operands are drawn in their order: what that means, and what it may cost."""

from __future__ import annotations

from pathlib import Path

import pytest
import tagloom as tl
from tagloom.tui.load import find_program, program_and_graph
from tagloom.viz import operand_order
from tagloom.viz.graph_view import graph_view
from tagloom.viz.operand_order import (
    MAX_GROWTH,
    count_crossings,
    lay_out_boxes,
    operand_pairs,
    order_operands,
    swapped_pairs,
)
from tagloom.viz.pictures import trim_view
from tagloom.viz.view import View

EXAMPLES = Path(tl.__file__).parent / "papers_examples"


def view_of(file: str) -> View:
    """The view of an example, as it is drawn."""
    return trim_view(graph_view(program_and_graph(find_program(str(EXAMPLES / file)))[1]))


def is_ordered(view: View) -> bool:
    """Whether the operands of a view are in their order, and the calls that compute them."""
    return not swapped_pairs(operand_pairs(view), lay_out_boxes(view))


@pytest.mark.full
def test_the_calls_of_fib_are_in_their_order() -> None:
    """Above `fib + fib_1`, `fib` is on the left, and so is its call; without constraints both are on the right."""
    view = view_of("recursion/fib.py")
    titles = {(view.boxes[left].title, view.boxes[right].title) for left, right in operand_pairs(view)}
    assert titles == {("return fib", "return fib_1"), ("call fib.n", "call fib_1.n")}
    assert not is_ordered(view) and is_ordered(order_operands(view))


@pytest.mark.full
def test_an_order_that_ignores_swaps_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that sees no swapped operands leaves fib as it was."""
    view = view_of("recursion/fib.py")
    monkeypatch.setattr(operand_order, "swapped_pairs", lambda pairs, layout: [])
    assert not is_ordered(order_operands(view))


@pytest.mark.full
@pytest.mark.parametrize(
    "file", ["recursion/gradient.py", "recursion/two_in_two_out.py", "roots/inner_product.py", "recursion/tree_prod.py"]
)
def test_order_costs_little(file: str) -> None:
    """Constraints never add crossings or swapped operands, or widen a picture much; boxes and arrows stay the same."""
    view = view_of(file)
    ordered = order_operands(view)
    assert (ordered.boxes, ordered.arrows) == (view.boxes, view.arrows)
    before, after, pairs = lay_out_boxes(view), lay_out_boxes(ordered), operand_pairs(view)
    assert len(swapped_pairs(pairs, after)) <= len(swapped_pairs(pairs, before))
    assert count_crossings(view, after) <= count_crossings(view, before) and after.width <= before.width * MAX_GROWTH


def test_operands_of_commuting_gates_have_no_order() -> None:
    """Only ops that are written as formulas order their operands; one box that is both operands is no pair."""
    view = View("f", is_static=True)
    for name, kind in (("a", "argument"), ("b", "argument"), ("m", "merge"), ("s", "arithmetic"), ("d", "arithmetic")):
        view.root.add_box(name, kind, name)  # type: ignore[arg-type]
    for tail, head, port in (("a", "m", 0), ("b", "m", 1), ("a", "s", 0), ("a", "s", 1), ("b", "d", 0), ("a", "d", 1)):
        view.add_arrow(tail, head, "data", port=port)
    assert operand_pairs(view) == [("b", "a")]
