"""Depth and length: calls nest as deep as memory allows, and loops run in the memory of one trip."""

from __future__ import annotations

import time
import tracemalloc

import pytest
import tagloom as tl
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.outcome.program_order import TaggedNode, program_order


@tl.function
def triangle(n: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: 0, lambda: n + triangle(n - 1))


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), 0, 0)[1]


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return n * endless(n + 1)


@tl.function
def trapping(n: tl.int64) -> tl.int64:
    """A trap in every call."""
    return tl.cond(n < 1, lambda: n, lambda: 7 // (n - n) + trapping(n - 1))


def assert_deep(calls: int) -> Outcome:
    out = triangle.run(calls, limits=Limits(depth=calls))
    assert (out.status, out.value) == ("Returned", calls * (calls + 1) // 2)
    assert (out.residue, out.open_activations, out.stats.deepest_tag) == ((), 0, calls)
    assert out.activations() == {"triangle": calls + 1}
    return out


@pytest.mark.full
def test_a_hundred_thousand_nested_calls() -> None:
    """A recursion of depth 100,000 returns without residue; heavy tests and the benchmark go deeper."""
    assert_deep(100_000)


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_a_million_nested_calls() -> None:
    """A recursion of depth 1,000,000 returns: memory bounds depth, and not Python's stack."""
    begun = time.perf_counter()
    out = assert_deep(1_000_000)
    print(f"a million nested calls: {out.firings:,} firings in {time.perf_counter() - begun:.0f} s")


def assert_long(trips: int) -> State:
    """Run a loop, and count open iterations, live tokens and interned tags at every step."""
    state = State(total.graph, [trips])
    records = alive = 0
    for _ in drive(state, schedule("fifo"), Limits(firings=10**9)):
        records = max(records, len(state.records))
        alive = max(alive, state.live_count)
    assert state.results == {0: trips * (trips - 1) // 2}
    assert records <= 3, "the function, and two iterations while tokens cross from one to the next"
    assert alive <= 10
    assert (state.records, state.waiting_count) == ({}, 0)
    return state


@pytest.mark.full
def test_a_loop_of_many_trips() -> None:
    """S11: iterations close behind a loop: no step has more than two open, or more than ten live tokens."""
    assert_long(10_000)


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_a_loop_of_a_million_trips() -> None:
    """S11: this holds for a million trips."""
    begun = time.perf_counter()
    state = assert_long(1_000_000)
    print(f"a loop of a million trips: {state.firings:,} firings in {time.perf_counter() - begun:.0f} s")


def peak_of_a_run(trips: int) -> int:
    """The most bytes that Python had allocated during a run that keeps no events."""
    tracemalloc.start()
    try:
        out = total.run(trips, schedule="fifo")
        assert out.status == "Returned"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.full
def test_a_longer_loop_takes_no_more_memory() -> None:
    """A run of ten times as many trips needs the same memory, but for longer numbers."""
    peak_of_a_run(10)
    short, long = peak_of_a_run(300), peak_of_a_run(3000)
    assert long < short + 2000


@pytest.mark.full
@pytest.mark.parametrize(("function", "status"), [(endless, "Exhausted"), (trapping, "Trapped")])
def test_the_end_of_a_deep_run_takes_linear_time(function: tl.Function, status: str) -> None:
    """S12: the end of a run takes time linear in its residue: 20,000 waiting tokens or traps, each under a tag as deep
    as its number."""
    begun = time.process_time()
    out = function.run(20_000, limits=Limits(depth=20_000), engine="reference")
    took = time.process_time() - begun
    assert out.status == status
    left = [waiting.tag for waiting in out.residue] if status == "Exhausted" else [trap.tag for trap in out.traps]
    assert len(left) >= 20_000
    assert took < 20, "it takes about a second"


def test_program_order_orders_written_paths() -> None:
    """Ranks order tags as their written paths do, which defines program order; here paths are short."""

    @tl.function
    def tree(n: tl.int64) -> tl.int64:
        looped = tl.while_loop(lambda i: i < n, lambda i: i + 1 + tree(i - n) * 0, 0)[0]
        return tl.cond(n < 1, lambda: n, lambda: tree(n - 1) + looped + tree(n - 2))

    out = tree.run(4, keep="events", schedule="random:1")
    places = [(event.token.tag, event.token.node) for event in out.events if event.is_firing]
    sends = [(number, node) for number, node in enumerate(out.graph.nodes) if node.op in ("call", "enter")]
    first = {node.site: number for number, node in reversed(sends)}

    def path(place: TaggedNode) -> list[tuple[int, int]]:
        tag, number = place
        return [*((first[site], iteration) for site, iteration in tag.path()), (number, 0)]

    ranks = program_order(out.graph, places)
    assert sorted(places, key=ranks.__getitem__) == sorted(places, key=path)
    assert sorted(ranks.values()) == list(range(len(set(places))))
