"""Which firing of the reverse pass belongs to which firing of the forward pass, for any depth and order of firings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tagloom as tl
from support.programs.gradient_functions import GRADIENTS, grad_fac, grad_nested, grad_power
from tagloom.core.graph.graph import Graph
from tagloom.interp.queries.adjoints import AdjointPartners, nearest_adjoints


def names_of(graph: Graph, numbers: list[int]) -> list[str]:
    return [graph.nodes[number].name for number in numbers]


def partners(function: tl.Function, name: str) -> list[str]:
    """The nodes that reverse a node."""
    graph = function.graph
    return names_of(graph, AdjointPartners(graph).adjoint_nodes(graph.only(name)))


def test_partners_in_a_recursion() -> None:
    """The return of a call's pullback reverses the call, and a call reverses a return; other nodes are reversed by the
    nodes named after them."""
    assert partners(grad_fac, "fac_split.multiply") == ["back_multiply", "back_multiply_1"]
    assert partners(grad_fac, "fac_split.fac.call_x") == ["back_fac"]
    assert partners(grad_fac, "fac_split.fac") == ["back_fac.call_d_cond"]
    assert partners(grad_fac, "fac_split.cond") == ["d_cond", "back_cond.switch_d_result"]
    assert partners(grad_fac, "fac_split.less_equal") == []


def test_partners_in_a_loop() -> None:
    """The gates of each loop variable with an adjoint are reversed by the gates of that adjoint, and by no others."""
    assert partners(grad_power, "loop_p") == ["back_loop.d_multiply.reenter"]
    assert partners(grad_power, "power_split.loop.enter_p") == partners(grad_power, "loop.p") == ["back_loop"]
    assert partners(grad_power, "loop.switch_p") == ["back_loop.d_multiply"]
    assert partners(grad_power, "loop_x") == ["back_loop.d_x.reenter"]
    assert partners(grad_power, "loop.i") == partners(grad_power, "loop") == []


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("schedule", ["waves", "lifo", "random:5"])
def test_partners_fire_under_one_tag(name: str, schedule: str) -> None:
    """If all nodes of the reverse pass fired, each fired in an activation of one of its partners. The relation is
    symmetric."""
    function, arguments = GRADIENTS[name]
    out = function.run(*arguments, keep="events", schedule=schedule)
    graph, adjoints = out.graph, AdjointPartners(out.graph)
    homes: dict[int, set[object]] = {}
    for event in out.events:
        if event.is_firing:
            homes.setdefault(event.token.node, set()).add(adjoints.activation_of(event))
    paired = 0
    for number in range(len(graph.nodes)):
        assert all(number in adjoints.primal_nodes(back) for back in adjoints.adjoint_nodes(number))
        forwards = adjoints.primal_nodes(number)
        assert all(number in adjoints.adjoint_nodes(forward) for forward in forwards)
        around = set().union(*(homes.get(each, set()) for each in forwards)) if forwards else set()
        assert not forwards or homes.get(number, set()) <= around, graph.nodes[number]
        paired += bool(forwards)
    later = sum(adjoints.phases.phase_of(number) > 0 for number in range(len(graph.nodes)))
    assert paired >= later * 0.6


def test_products_are_reversed_under_their_tag() -> None:
    """The products of the adjoint with each factor have the tag of the product that they reverse."""
    out = grad_fac.run(5.0, keep="events")
    operands = {tag: event.inputs for tag, event in firings(out, "multiply")}
    for name, factor in (("back_multiply", 1), ("back_multiply_1", 0)):
        for tag, event in firings(out, name):
            assert event.inputs is not None and operands[tag] is not None
            assert event.inputs[0] == operands[tag][factor]
    assert len(operands) == 4


def firings(out: tl.Outcome, name: str) -> Iterator[tuple[object, object]]:
    for event in out.events:
        if event.is_firing and out.graph.nodes[event.token.node].name == name:
            yield event.token.tag, event


def test_a_sum_passes_its_adjoint_on() -> None:
    """A sum has no reverse node: its adjoint is that of its consumer, the loop variable in the next iteration."""
    out = grad_nested.run(0.5, 3, keep="events")
    adjoints = AdjointPartners(out.graph)
    (event,) = [e for e in out.events if e.is_firing and str(e.token.tag).endswith("loop[1]") and is_sum(out.graph, e)]
    actual = nearest_adjoints(adjoints, event)
    assert names_of(out.graph, [number for number, _ in actual]) == ["back_loop"]
    assert {str(tag) for _, tag in actual} == {str(event.token.tag).replace("[1]", "[2]")}


def is_sum(graph: Graph, event: tl.Event) -> bool:
    return graph.nodes[event.token.node].name == "add_2"
