"""Walks that generated ones rarely contain: a token injected into an empty flight, and statistics of a run by hand."""

from __future__ import annotations

import random

import pytest
import tagloom as tl
from support.laws.history_laws import other_value, position_violations
from support.observe.moments import fib
from tagloom.interp.history.history import History

STUCK = tl.parse_graph(
    """graph stuck(x: int64) -> int64 {
  low = less x, 3
  way = switch x, low
  sum = add way:0, way:1
  more = add sum, 1
  return more
}"""
)
"""The sum needs both ways of a switch."""


@pytest.mark.parametrize("schedule", ["waves", "fifo"])
def test_a_token_into_an_empty_flight(schedule: str) -> None:
    """A quiescent run and its clock continue with an injected token, as in replay, and its waves end one after the
    other."""
    history = History(STUCK, [1], schedule=schedule, unchecked=True)
    history.run()
    assert not history.state.flight
    what_if = history.inject("sum", 1, "main", 30)
    since = len(what_if)
    assert what_if.run().value == 32
    assert [event.ends_wave for event in what_if[since:]] == [True] * (len(what_if) - since)
    assert list(position_violations(what_if, "injecting", random.Random(1), 5)) == []


@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo"])
def test_statistics_are_those_of_the_outcome(schedule: str) -> None:
    """Statistics at the end equal the outcome's, also for a run that continued by hand, which has no waves."""
    history = fib.history(4, schedule=schedule)
    history.run()
    history.jump(9)
    by_hand = history.choose(len(history.state.flight) - 1)
    what_if = history.change(0, other_value(history.state.flight[0].value))
    for each in (history, by_hand, what_if):
        each.run()
        each.jump(len(each))
        assert each.stats == each.outcome().stats
