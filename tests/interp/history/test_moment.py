"""The description of a history's position: the moment, the next event, and how the run ended."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.laws.history_laws import state_fields
from support.observe.event_bits import bits
from support.observe.moments import RUNS, chain, fib
from tagloom.interp.breakpoints.breakpoint import breakpoint_on
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History


def test_the_parts_of_a_moment() -> None:
    """A moment has the last event with operands and results, the results, the flight, the waiting tokens, and the
    cells."""
    history = fib.history(2)
    assert str(history.moment()).startswith("event:\nflight: 2 for port 0 of fib.n under main")
    history.run()
    assert str(history.moment()) == "event: fib.return under main: 2 -> 2 at 0\nresult 0: 2"
    stays = fib.history(4)
    stays.jump(0)
    stays.forward_to("not fired")
    assert (
        stays.moment().event.endswith("and stays") and len(stays.moment().waiting_tokens) == stays.state.waiting_count
    )
    cells = chain.history(4, k=9)
    cells.run()
    assert cells.moment().cells[0] == "1 of chain.cells under main: 8" and len(cells.moment().cells) == 4


@pytest.mark.parametrize("name", RUNS)
def test_equal_positions_have_equal_moments(name: str) -> None:
    """A history that returns to a position has the same moment, and a different one a step later."""
    graph, arguments, schedule = RUNS[name]
    history = History(graph, arguments, schedule=schedule, unchecked=True)
    history.run()
    texts = [str(history.jump(at) and history.moment()) for at in range(len(history) + 1)]
    again = History(graph, arguments, schedule=schedule, unchecked=True)
    for at in range(len(history)):
        assert str(again.moment()) == texts[at] != texts[at + 1]
        again.forward()


@pytest.mark.parametrize("name", RUNS)
def test_next_choice_is_the_position_of_the_next_event(name: str) -> None:
    """`next_choice` is the position that the next event takes, known or new, and None at the end."""
    graph, arguments, schedule = RUNS[name]
    history = History(graph, arguments, schedule=schedule, unchecked=True)
    while (following := history.next_choice) is not None:
        event = history.forward()
        assert event is not None and event.position == following
        history.back()
        assert history.next_choice == following
        history.forward()
    assert not history.state.flight


def test_stopped_and_by_hand() -> None:
    """`stopped` is the limit that ended a run, and None if it became quiescent; `by_hand` is the first choice that was
    made by hand."""
    history = fib.history(9, limits=Limits(firings=30))
    assert history.run().status == "Exhausted" and isinstance(history.stop_error, tl.Exhausted)
    history.limits = Limits()
    assert history.run().status == "Returned" and history.stop_error is None and history.first_manual_event is None
    history.jump(8)
    other = next(ready.position for ready in history.ask.could_fire() if ready.position != history.next_choice)
    assert history.choose(other).first_manual_event == 8


def test_events_cover_forks_and_edits() -> None:
    """`events` iterates over forks and edits too, without moving the history."""
    history = fib.history(3)
    history.forward_to("node == 'subtract' and fired")
    branch = history.change(len(history.state.flight) - 1, 1)
    branch.run()
    at = branch.position
    for position, (state, event) in enumerate(branch.events(2, at), 3):
        assert state_fields(state) == state_fields(branch.at(position)) and bits(event) == bits(branch[position - 1])
    assert branch.position == at


def test_a_copy_of_breakpoints_keeps_hits() -> None:
    """A copy of breakpoints keeps the hits of equal conditions, and leaves the originals unchanged."""
    history = fib.history(4)
    stops = tl.Breakpoints()
    number = stops.add(breakpoint_on(fib.graph, "node == 'add' and fired"))
    history.forward_to(stops)
    others = stops.with_breakpoints({number: stops[number], 7: breakpoint_on(fib.graph, "fired")})
    assert others.hits(number, history.position) == 1 and others.hits(7, history.position) == 0
    assert others.observed_until(number) == history.position and others.observed_until(7) == 0
    history.forward_to(others)
    assert stops.hits(number, 101) == 1 and stops.add(stops[number]) == 2 and others.add(stops[number]) == 8
    disabled = breakpoint_on(fib.graph, "node == 'add'")
    assert stops.with_breakpoints({number: disabled}).hits(number, 101) == 0
