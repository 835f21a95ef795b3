"""Functions whose graph is slower than Python: they stay in Python, and say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from support.twins.broken_twin import broken
from tagloom.interp.speculation import call_times
from tagloom.interp.speculation.call_times import FIRST_GAP, MAX_SLOW_ROUNDS, ROUND_CALLS, CallTimes
from tagloom.interp.speculation.speculative_function import SpeculativeFunction

WATCHED = 3
UNTIL_SLOW = WATCHED + MAX_SLOW_ROUNDS * (FIRST_GAP + 2 * ROUND_CALLS)
"""How many calls a function has until two rounds are over."""


class Counter:
    def __init__(self) -> None:
        self.n = 0


def bump(counter: Counter, step: int) -> int:
    counter.n += step
    return counter.n


@pytest.fixture
def set_ratio(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets how many times as long as in Python a call takes in the graph, by a clock that stands still otherwise."""
    now = [0.0]
    cost = [0.0]
    sound = SpeculativeFunction._run_graph

    def run_graph(function: SpeculativeFunction, roots: dict[str, Any]) -> Any:
        now[0] += cost[0]
        return sound(function, roots)

    def read_clock() -> float:
        now[0] += 0.5  # so each call takes this long at least, which is what it takes in Python
        return now[0]

    monkeypatch.setenv("TAGLOOM_ENGINE", "reference")
    monkeypatch.setattr(SpeculativeFunction, "_run_graph", run_graph)
    monkeypatch.setattr(call_times, "read_clock", read_clock)
    return lambda ratio: cost.__setitem__(0, 0.5 * (ratio - 1))


def _call_until_slow(speculated: Any, count: int = UNTIL_SLOW) -> None:
    counter = Counter()
    for call in range(count):
        assert speculated(counter, call) == counter.n == call * (call + 1) // 2


@pytest.mark.full
def test_a_slow_graph_is_given_up(set_ratio: Callable[[float], None]) -> None:
    """After two slow rounds the function stays in Python; the reason has both times. Each call has the effects of
    Python once, whichever way it ran."""
    set_ratio(1.5)
    speculated = tl.speculate(bump)
    _call_until_slow(speculated, UNTIL_SLOW - 1)
    assert speculated.reason is None
    assert "time of a call: 750 ms in the graph, 500 ms in Python" in speculated.explain()
    _call_until_slow(speculated, 1)
    assert speculated.reason == "a call takes 750 ms in the graph, 500 ms in Python"
    counts = speculated.counts
    timed = MAX_SLOW_ROUNDS * ROUND_CALLS
    assert (counts.graph, counts.python, counts.timed) == (MAX_SLOW_ROUNDS * (FIRST_GAP + ROUND_CALLS), timed, timed)
    assert f"{timed} in Python ({timed} to compare times)" in speculated.explain()
    _call_until_slow(speculated, 5)
    assert (counts.graph, counts.python) == (UNTIL_SLOW - WATCHED - timed, timed + 5)


@pytest.mark.full
def test_a_fast_graph_is_kept(set_ratio: Callable[[float], None]) -> None:
    """A graph that is at most 1.2 times as slow is kept."""
    set_ratio(1.19)
    speculated = tl.speculate(bump)
    _call_until_slow(speculated, 2 * UNTIL_SLOW)
    assert speculated.reason is None


@pytest.mark.full
def test_rounds_are_forgotten(set_ratio: Callable[[float], None]) -> None:
    """A fast round between two slow ones keeps the graph; one in between 1 and 1.2 does not change the count."""
    speculated = tl.speculate(bump)
    rounds = {3.0: 1, 0.9: 0, 2.0: 1, 1.1: 1, 1.3: 2}
    for ratio, slow_rounds in rounds.items():
        set_ratio(ratio)
        medians = speculated._times.medians
        while speculated._times.medians is medians:
            speculated(Counter(), 1)
        assert speculated._times.slow_rounds == slow_rounds, ratio
    assert speculated.reason is not None


@pytest.mark.full
def test_a_chosen_engine_is_kept(set_ratio: Callable[[float], None]) -> None:
    """Where the caller has chosen the engine, or checks calls, the graph runs even if it is slower."""
    set_ratio(100.0)
    for options in ({"engine": "reference"}, {"check": True}):
        speculated = tl.speculate(**options)(bump)  # type: ignore[call-overload]
        _call_until_slow(speculated, UNTIL_SLOW + 5)
        assert (speculated.reason, speculated.counts.timed) == (None, 0)


@pytest.mark.full
def test_a_new_graph_is_measured_anew(set_ratio: Callable[[float], None]) -> None:
    """The times of a graph do not count against the next one."""
    set_ratio(2.0)
    speculated = tl.speculate(bump)
    _call_until_slow(speculated, UNTIL_SLOW - 2)
    assert speculated._times.slow_rounds == 1
    speculated(Counter(), 0.5)  # a float, so the graph is made again
    assert (speculated.reason, speculated.builds, speculated._times.slow_rounds) == (None, 2, 0)


def _calls_in_both(patch: pytest.MonkeyPatch) -> None:
    sound = SpeculativeFunction._run_timed

    def run_timed(function: SpeculativeFunction, arguments: Any, keywords: Any) -> Any:
        function.python(*arguments, **keywords)
        return sound(function, arguments, keywords)

    patch.setattr(SpeculativeFunction, "_run_timed", run_timed)


def _no_limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CallTimes, "is_too_slow", False)


@pytest.mark.full
@pytest.mark.parametrize("twin", [_calls_in_both, _no_limit])
def test_broken_times_are_caught(twin: Any, set_ratio: Callable[[float], None]) -> None:
    """A twin that runs a timed call twice, or never gives a graph up, fails."""
    with broken(twin), pytest.raises(AssertionError):
        test_a_slow_graph_is_given_up(set_ratio)
