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
from tagloom.viz.state_view import state_view
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


@tl.function
def fib_from_zero(n: tl.int64) -> tl.int64:
    return n if n <= 1 else fib_from_zero(n - 1) + fib_from_zero(n - 2)


@tl.function
def fib_from_one(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib_from_one(n - 1) + fib_from_one(n - 2)


@pytest.mark.full
@pytest.mark.parametrize("function", [fib_from_zero, fib_from_one], ids=lambda function: function.name)
def test_calls_and_moments_are_in_their_order(function: tl.Function) -> None:
    """The order holds also where Graphviz ignores constraints outside of a cluster, and where tokens need room."""
    assert is_ordered(order_operands(trim_view(graph_view(function.graph))))
    history = function.history(4)
    history.run()
    history.jump(40)
    assert is_ordered(order_operands(state_view(history.state, history[39])))


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
    """Constraints add at most one crossing for each pair that they put in order, no swapped operands, and little width;
    boxes and arrows stay the same."""
    view = view_of(file)
    ordered = order_operands(view)
    assert (ordered.boxes, ordered.arrows) == (view.boxes, view.arrows)
    before, after, pairs = lay_out_boxes(view), lay_out_boxes(ordered), operand_pairs(view)
    mended = len(swapped_pairs(pairs, before)) - len(swapped_pairs(pairs, after))
    assert mended >= 0 and count_crossings(after) - count_crossings(before) <= mended
    assert after.width <= before.width * MAX_GROWTH


def test_operands_of_commuting_gates_have_no_order() -> None:
    """Only ops that are written as formulas order their operands; one box that is both operands is no pair."""
    view = View("f", is_static=True)
    for name, kind in (("a", "argument"), ("b", "argument"), ("m", "merge"), ("s", "arithmetic"), ("d", "arithmetic")):
        view.root.add_box(name, kind, name)  # type: ignore[arg-type]
    for tail, head, port in (("a", "m", 0), ("b", "m", 1), ("a", "s", 0), ("a", "s", 1), ("b", "d", 0), ("a", "d", 1)):
        view.add_arrow(tail, head, "data", port=port)
    assert operand_pairs(view) == [("b", "a")]
