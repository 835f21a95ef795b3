"""Statistics: each is computed again from the events of a run, by another method."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
import tagloom as tl
from hypothesis import HealthCheck, assume, given, settings
from support.generators.generator import Case, cases
from support.laws.machine_laws import LIMITS
from support.programs.hand_written_graphs import sum_graph
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event, Token
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.outcome import Outcome

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def chain(n: tl.int64) -> tl.int64:
    return ((n + 1) * 2 - 3) * 5


def depths(out: Outcome) -> list[tuple[Event, int]]:
    """The wave in which each event's token is delivered: one more than the wave of the firing that sent it.

    A node fires with the last of its tokens, so a firing's wave is one more than the longest chain of firings that it
    depends on. A token is identified by (node, port, tag), which is unique in a run."""
    sent: dict[tuple[int, int, object], int] = {}
    results = []
    for event in out.events:
        node, port, tag, _ = event.token
        wave = sent.get((node, port, tag), 0) + 1
        results.append((event, wave))
        for token in event.sent:
            sent[token.node, token.port, token.tag] = wave
    return results


def longest_path(out: Outcome) -> tuple[int, Counter[int]]:
    """The length of the longest chain of firings, each fed by the one before it, and how many firings end a chain of
    each length.

    It uses the dependences only, and neither the order of events nor their waves."""
    producer: dict[tuple[int, int, object], tuple[int, object]] = {}
    ports: defaultdict[tuple[int, object], list[Token]] = defaultdict(list)
    firings = []
    for event in out.events:
        place = (event.token.node, event.token.tag)
        ports[place].append(event.token)
        if event.is_firing:
            firings.append(place)
            for token in event.sent:
                producer[token.node, token.port, token.tag] = place
    length: dict[tuple[int, object], int] = {}
    for place in reversed(firings):  # from the end, so that a stack is needed
        stack = [place]
        while stack:
            top = stack[-1]
            tokens = ports[top]
            fed = [producer[t.node, t.port, t.tag] for t in tokens if (t.node, t.port, t.tag) in producer]
            open_ = [maker for maker in fed if maker not in length]
            if open_:
                stack += open_
                continue
            length[top] = 1 + max((length[maker] for maker in fed), default=0)
            stack.pop()
    counted = Counter(length[place] for place in firings)
    return max(counted, default=0), counted


@settings(max_examples=20, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_the_critical_path_is_the_longest_chain_of_firings(case: Case) -> None:
    """The span is the longest path through the dependences of a run's firings, and P(t) is the number of firings that
    are t deep in them; the dependences are the same under every schedule."""
    graph = lower(case.program)
    waves = run_graph(graph, case.arguments, limits=LIMITS, keep="events")
    assume(waves.status != "Exhausted")
    span, counted = longest_path(waves)
    assert (waves.stats.span, waves.stats.profile) == (
        span,
        tuple(counted[depth] for depth in range(1, span + 1)),
    )
    other = run_graph(graph, case.arguments, limits=LIMITS, keep="events", schedule="random:5")
    assert longest_path(other) == (span, counted)


@settings(max_examples=20, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_the_statistics_add_up(case: Case) -> None:
    """The profile, and the counts by node, sum to the firings; parallelism is firings over waves; W(t) is the number of
    tokens that wait after wave t; the largest store and flight are the maxima over all steps."""
    graph = lower(case.program)
    out = run_graph(graph, case.arguments, limits=LIMITS, keep="events")
    assume(out.status != "Exhausted")
    stats = out.stats
    assert stats.profile is not None and stats.waiting is not None and stats.span is not None
    assert sum(stats.profile) == sum(stats.by_node) == stats.firings == sum(event.is_firing for event in out.events)
    assert stats.steps == len(out.events)
    assert stats.parallelism == stats.firings / stats.span
    state = State(graph, case.arguments)
    store, flight, waiting = 0, len(state.flight), {}
    for event, wave in depths(out):
        state.apply(event)
        held = sum(len(ports) for record in state.records.values() for ports in record.waiting_operands.values())
        store, flight, waiting[wave] = max(store, held), max(flight, len(state.flight)), held
    assert stats.waiting == tuple(waiting[wave] for wave in sorted(waiting))
    assert (stats.largest_store, stats.largest_flight) == (store, flight)
    assert stats.deepest_tag == max((token.tag.depth for event in out.events for token in event.sent), default=0)


def test_a_chain_has_no_parallelism() -> None:
    """A chain of n nodes takes n waves of one firing each, and no token waits."""
    stats = chain.run(3).stats
    assert (stats.firings, stats.span, stats.parallelism) == (6, 6, 1.0)
    assert (stats.profile, stats.waiting, stats.largest_store, stats.largest_flight) == ((1,) * 6, (0,) * 6, 0, 1)


def test_statistics_of_a_small_graph() -> None:
    """x + y fires in wave 1, (x + y) + y in wave 2, and the return in wave 3; in wave 1, y waits at the outer sum."""
    stats = run_graph(sum_graph(), [3, 4]).stats
    assert (stats.profile, stats.waiting) == ((1, 1, 1), (1, 0, 0))
    assert (stats.span, stats.parallelism, stats.largest_store, stats.largest_flight) == (3, 1.0, 1, 3)
    assert (stats.steps, stats.by_node) == (5, (1, 1, 1))


@pytest.mark.parametrize("name", ["fifo", "lifo", "random:1"])
def test_only_waves_measures_time(name: str) -> None:
    """Under other schedules, statistics that need the clock are None, and the others are as under `waves`."""
    waves, other = fib.run(8).stats, fib.run(8, schedule=name).stats
    assert (other.span, other.parallelism, other.profile, other.waiting) == (None, None, None, None)
    assert (other.firings, other.steps, other.by_node, other.deepest_tag) == (
        waves.firings,
        waves.steps,
        waves.by_node,
        waves.deepest_tag,
    )


@pytest.mark.full
def test_a_run_that_stopped_in_a_wave() -> None:
    """An unfinished wave counts: the profile of a run that a limit ended has all its firings."""
    for firings in range(1, 60):
        stats = fib.run(6, limits=tl.Limits(firings=firings)).stats
        assert stats.profile is not None
        assert (sum(stats.profile), len(stats.profile)) == (firings, stats.span)
        assert stats.profile[:-1] == (fib.run(6).stats.profile or ())[: len(stats.profile) - 1]


def test_a_run_without_a_firing() -> None:
    """A run without firings has no waves, and a parallelism of 0."""
    stats = chain.run(3, limits=tl.Limits(firings=0)).stats
    assert (stats.firings, stats.span, stats.parallelism, stats.profile) == (0, 0, 0.0, ())
