"""S16: how many iterations of a loop run at once, and how a bound may change a run."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tagloom as tl
from support.generators.generator import Case
from support.laws.effect_laws import bound_violations
from support.programs.waves import later
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.outcome.outcome import Outcome

SCHEDULES = ("waves", "fifo", "lifo", "random:1", "random:2")


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """Both loops start their next iteration early, while unused values of the inner loop are still being computed."""

    def inner(j: Any, t: Any) -> tuple[Any, Any]:
        later(t, 3)
        return j + 1, t + 1

    def outer(i: Any, s: Any) -> tuple[Any, Any]:
        tl.while_loop(lambda j, t: j < 3, inner, 0, s, parallel_iterations=1)
        return i + 1, s + 1

    return tl.while_loop(lambda i, s: i < n, outer, 0, n, parallel_iterations=1)[1]


@tl.function
def slow(n: tl.int64) -> tl.int64:
    """A loop whose counter runs ahead of its work."""
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + later(i, 30)), 0, 0)[1]


@tl.function
def tree(n: tl.int64) -> tl.int64:
    """A loop in a recursion in a loop."""
    return tl.cond(n < 1, lambda: 1, lambda: tl.while_loop(lambda i, s: i < n, _branch, 0, n)[1])


def _branch(i: Any, s: Any) -> tuple[Any, Any]:
    return i + 1, s + tree(i)


@tl.function
def ahead(n: tl.int64) -> tl.int64:
    """Each iteration waits for what the fifth after it puts, if there is one."""
    a = tl.cells(n, tl.int64)

    def body(i: Any, s: Any) -> tuple[Any, Any]:
        tl.put(a, i, i * i)
        return i + 1, s + tl.cond(i + 5 < n, lambda: a[i + 5], lambda: 0)

    return tl.while_loop(lambda i, s: i < n, body, 0, 0)[1]


def most_overlapping(outcome: Outcome) -> int:
    """The most iterations of a loop that overlap, each taken from its first firing to its last."""
    spans: dict[Any, list[int]] = {}
    for number, event in enumerate(outcome.events):
        if event.is_firing and event.token.tag.site.kind == "loop":
            spans.setdefault(event.token.tag, []).append(number)
    return max(sum(min(other) <= min(span) <= max(other) for other in spans.values()) for span in spans.values())


def drive(state: State, name: str) -> list[Event]:
    """The events of a run from this state, under a schedule."""
    pick, events = schedule(name), []
    while state.flight:
        events.append(step(state, pick(state)))
        state.apply(events[-1])
    return events


@pytest.mark.full
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("function, argument", [(nested, 3), (slow, 6)], ids=["nested", "slow"])
def test_s16_throttling_can_be_undone(function: tl.Function, argument: int, schedule: str) -> None:
    """S16: that tokens are throttled and released is undone step by step, together with the counts of them; what is
    undone can be done again. Only a firing has its tokens throttled."""
    out = function.run(argument, schedule=schedule, k=1, keep="events")
    assert any(event.is_throttled for event in out.events) and any(event.released for event in out.events)
    assert all(event.is_firing for event in out.events if event.is_throttled)
    state = State(out.graph, [argument], bound=1, is_clocked=schedule == "waves")
    snapshots = [(state.snapshot(), state.throttled_count)]
    for event in out.events:
        state.apply(event)
        snapshots.append((state.snapshot(), state.throttled_count))
    assert state.throttled_count == 0
    for position in reversed(range(len(out.events))):
        state.revert(out.events[position])
        assert (state.snapshot(), state.throttled_count) == snapshots[position]
        state.apply(out.events[position])
        assert (state.snapshot(), state.throttled_count) == snapshots[position + 1]
        state.revert(out.events[position])


@pytest.mark.full
def test_s16_throttled_tokens_keep_the_outer_iteration_busy() -> None:
    """S16: an iteration of the outer loop is busy while tokens of its inner loop are throttled, even for the length of
    one event or wave."""
    assert list(bound_violations(Case(nested.program, [3]))) == []


@pytest.mark.full
@pytest.mark.parametrize("function", [slow, tree, nested, ahead])
def test_laws_of_bounds(function: tl.Function) -> None:
    """S16: the laws hold on a loop that runs ahead, a loop in a recursion, loops in loops, and one with deferred
    gets."""
    assert list(bound_violations(Case(function.program, [4]))) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_s16_at_most_k_iterations_overlap(schedule: str) -> None:
    """S16: with a bound of k at most k iterations overlap; without a bound, more of this loop do."""
    assert most_overlapping(slow.run(9, keep="events", schedule=schedule, k=1)) == 1
    assert most_overlapping(slow.run(9, keep="events", schedule=schedule, k=3)) <= 3
    assert most_overlapping(slow.run(9, keep="events")) > 3


def test_the_option_k_overrides_the_bounds_of_loops() -> None:
    """`parallel_iterations` bounds one loop; the option k replaces the bounds of all loops."""

    @tl.function
    def bounded(n: tl.int64) -> tl.int64:
        work = lambda i, s: (i + 1, s + later(i, 30))  # noqa: E731
        return tl.while_loop(lambda i, s: i < n, work, 0, 0, parallel_iterations=2)[1]

    free, own, other = (bounded.run(9, keep="events", **options) for options in ({"k": 99}, {}, {"k": 4}))
    assert [most_overlapping(run) for run in (free, own, other)] == [8, 2, 4]
    assert free.results == own.results == other.results == (36,)
    assert free.firings == own.firings == other.firings
    assert (free.stats.span or 0) < (other.stats.span or 0) < (own.stats.span or 0)


def test_s16_waves_release_throttled_tokens_at_their_end() -> None:
    """S16: under `waves`, throttled tokens are released at the end of a wave. Under other schedules, the event after
    which the iteration is no longer busy releases them."""

    @tl.function
    def both(n: tl.int64) -> tl.int64:
        return slow(n) + slow(later(n, 7))

    waves, random = (both.run(3, keep="events", schedule=name, k=1) for name in ("waves", "random:1"))
    assert any(event.is_throttled for event in waves.events)
    assert all(event.ends_wave for event in waves.events if event.released)
    assert not all(event.ends_wave for event in random.events if event.released)
    unclocked_state = State(random.graph, [3], bound=1)
    assert drive(unclocked_state, "random:1") == list(random.events)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("k", "status"), [(1, "Deadlocked"), (5, "Deadlocked"), (6, "Returned"), (10, "Returned")])
def test_s16_a_small_bound_deadlocks(schedule: str, k: int, status: str) -> None:
    """S16: an iteration that waits for the fifth after it needs a bound of six. With a smaller one, the deadlock names
    what waits."""
    out = ahead.run(12, k=k, schedule=schedule)
    assert (out.status, out.results) == (
        status,
        (None if status == "Deadlocked" else sum(i * i for i in range(5, 12)),),
    )


def test_the_message_of_a_deadlock_by_a_bound() -> None:
    """The deadlock names the cell that nothing fills, the read, the throttled iteration, the busy one, and a remedy."""
    error = ahead.run(12, k=5).error
    assert error is not None
    assert re.sub(r"test_k_bounds.py:\d+", "HERE", str(error)) == (
        "S12: the run became quiescent, and results are missing (ahead)\n"
        "  nothing fills a[5]\n"
        "  HERE reads a[5] under main/loop[0]\n"
        "  main/loop[5] has not begun: iteration 0 is still busy, and the bound of ahead.loop is 5\n"
        "  required: 1 result\n  got: 0, and 18 waiting tokens\n"
        "  hint: try a larger bound on the iterations of ahead.loop: --k N, or k=N"
    )


@pytest.mark.parametrize("k", [0, -1, 1.0, True, "1"])
def test_wrong_bounds_are_refused(k: Any) -> None:
    """A bound is an integer of at least 1, for a run and for a loop."""
    with pytest.raises(tl.Usage, match="k must be an integer from 1 up"):
        slow.run(1, k=k)

    @tl.function
    def looped(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0, parallel_iterations=k)[0]

    with pytest.raises(tl.Usage, match="parallel_iterations is not a bound on iterations"):
        looped.run(1)


@pytest.mark.full
def test_s12_throttled_tokens_are_live() -> None:
    """S12: throttled tokens count for the limit on tokens."""
    for k in (1, 2, 3):
        enough = next(n for n in range(100) if slow.run(6, k=k, limits=tl.Limits(tokens=n)).status == "Returned")
        out = slow.run(6, k=k, limits=tl.Limits(tokens=enough - 1))
        assert out.status == "Exhausted"
