"""The loop that a node stands in, computed in two ways."""

from __future__ import annotations

import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.contexts import ControlContext, ControlContexts
from tagloom.core.graph.graph import OutputRef
from tagloom.core.graph.nesting import LOOP_GATES, LoopContext, LoopInfo
from tagloom.core.tag import ENVIRONMENT, Site

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
ROUND, OTHER = Site("g", "round", "loop"), Site("g", "other", "loop")
INT = tl.Type(tl.int64)


def home(place: ControlContext) -> LoopContext:
    return place.owner if isinstance(place.owner, Site) else None


@settings(max_examples=20, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_nesting_agrees_with_control_contexts(case: Case) -> None:
    """The loop in which a node is drawn is that of its inferred control context."""
    graph = tl.lower(case.program)
    nesting, places = LoopInfo(graph), ControlContexts(graph)
    for number, node in enumerate(graph.nodes):
        if node.op in LOOP_GATES:
            assert nesting.loop_of(number) == node.site
        elif node.op == "call":
            assert node.site is not None
            assert nesting.loop_of(number) == home(places.outer_contexts[node.site])
        elif node.site != ENVIRONMENT:
            assert nesting.loop_of(number) == home(places.contexts[OutputRef(number, 0)])
        if node.op == "enter":
            assert node.site is not None
            around = home(places.outer_contexts[node.site])
            assert nesting.enclosing_loops(node.site) == (*nesting.enclosing_loops(around), node.site)


def test_loops_that_enter_each_other_have_an_order() -> None:
    """If an invalid graph has two loops inside each other, the one that is reached first contains the other."""
    builder = tl.GraphBuilder("g")
    x = builder.argument("x", INT)
    (a,) = builder.node("enter", "a", [x], [INT], site=ROUND)
    (b,) = builder.node("enter", "b", [a], [INT], site=OTHER)
    builder.node("enter", "c", [b], [INT], site=ROUND)
    nesting = LoopInfo(builder.build())
    assert nesting.enclosing_loops(OTHER) == (ROUND, OTHER)
    assert nesting.enclosing_loops(ROUND) == (ROUND,)


def test_an_unreachable_node_stands_in_no_loop() -> None:
    """A node that waits for itself is drawn in the body of its function, and a gate always in its loop."""
    builder = tl.GraphBuilder("g")
    (again,) = builder.node("add", "again", [None, None], [INT])
    builder.connect(again, again.node, 0)
    (left,) = builder.node("exit", "left", [again], [INT], site=ROUND)
    nesting = LoopInfo(builder.build())
    assert nesting.loop_of(again.node) is None
    assert nesting.loop_of(left.node) == ROUND
