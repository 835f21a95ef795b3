"""Which loop a node stands in, found in two ways."""

from __future__ import annotations

import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.contexts import Place, Places
from tagloom.core.graph.graph import Source
from tagloom.core.graph.nesting import GATES, Home, Nesting
from tagloom.core.tag import ENVIRONMENT, Site

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
ROUND, OTHER = Site("g", "round", "loop"), Site("g", "other", "loop")
INT = tl.Type(tl.int64)


def home(place: Place) -> Home:
    return place.context if isinstance(place.context, Site) else None


@settings(max_examples=20, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_nesting_agrees_with_places(case: Case) -> None:
    """What is drawn inside a loop is what the rules of well-formedness infer to live there."""
    graph = tl.lower(case.program)
    nesting, places = Nesting(graph), Places(graph)
    for number, node in enumerate(graph.nodes):
        if node.op in GATES:
            assert nesting.of(number) == node.site
        elif node.op == "call":
            assert node.site is not None
            assert nesting.of(number) == home(places.outer[node.site])
        elif node.site != ENVIRONMENT:
            assert nesting.of(number) == home(places.of[Source(number, 0)])
        if node.op == "enter":
            assert node.site is not None
            around = home(places.outer[node.site])
            assert nesting.around(node.site) == (*nesting.around(around), node.site)


def test_loops_that_enter_each_other_have_an_order() -> None:
    """Where a wrong graph has two loops each inside the other, the one that is reached first is around the other."""
    builder = tl.Builder("g")
    x = builder.argument("x", INT)
    (a,) = builder.node("enter", "a", [x], [INT], site=ROUND)
    (b,) = builder.node("enter", "b", [a], [INT], site=OTHER)
    builder.node("enter", "c", [b], [INT], site=ROUND)
    nesting = Nesting(builder.build())
    assert nesting.around(OTHER) == (ROUND, OTHER)
    assert nesting.around(ROUND) == (ROUND,)


def test_what_no_token_reaches_stands_in_no_loop() -> None:
    """A node that waits for itself is drawn in the body of its function; a gate always in its loop."""
    builder = tl.Builder("g")
    (again,) = builder.node("add", "again", [None, None], [INT])
    builder.connect(again, again.node, 0)
    (left,) = builder.node("exit", "left", [again], [INT], site=ROUND)
    nesting = Nesting(builder.build())
    assert nesting.of(again.node) is None
    assert nesting.of(left.node) == ROUND
