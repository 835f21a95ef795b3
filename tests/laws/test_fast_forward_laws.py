"""The laws of fast-forwarding hold on generated programs, and catch twins that differ in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.engines.block_interpreter import interpreted_blocks
from support.generators.generator import Case, cases
from support.laws.fast_forward_laws import base_violations, hit_violations, session_violations, stop_violations
from support.observe.moments import chain, fib, mixed
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.interp.breakpoints.breakpoint import Breakpoints
from tagloom.interp.engines.fast import run
from tagloom.interp.engines.fast import state_transfer as handover
from tagloom.interp.engines.fast.block_generation import block_program
from tagloom.interp.engines.fast.block_loader import block_loader
from tagloom.interp.engines.fast.run import delivery_order
from tagloom.interp.engines.fast.store import TokenStore
from tagloom.interp.history import fast_forward
from tagloom.interp.image.image import cached_image
from tagloom.interp.machine.state import State
from tagloom.interp.queries import index as late
from tagloom.tui.session.run_index import RunIndex

SCHEDULES = ("fifo", "lifo", "waves", "random:1")
SEEDS = st.integers(0, 2**20)
RUNS: dict[str, tuple[Graph, list[Any]]] = {
    "fib": (fib.graph, [5]),
    "mixed": (mixed.graph, [3, 100, 0.1, True, [0.5, -1.0, 3.0]]),
    "chain": (chain.graph, [6]),
}
"""Calls; loops, a trap and an array; cells with deferred reads, and a bound."""


@pytest.mark.full(first=6)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", RUNS)
def test_histories_with_bases_are_right(name: str, schedule: str) -> None:
    """Histories that begin at several bases are right for calls, loops, traps, arrays, cells and bounds."""
    for seed in range(4):
        assert list(base_violations(*RUNS[name], schedule, seed)) == []
        assert list(stop_violations(*RUNS[name], schedule, seed)) == []
        assert list(session_violations(*RUNS[name], schedule, seed)) == []
        assert list(hit_violations(*RUNS[name], schedule, seed)) == []


@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo"])
def test_a_base_behind_blocks(schedule: str, monkeypatch: MonkeyPatch) -> None:
    """The fast machine uses the blocks of a graph if they are loaded, except under `lifo`, whose blocks count no waves;
    then the laws hold, too."""
    graph, arguments = RUNS["fib"]
    image, order = cached_image(graph, {}), delivery_order(schedule)
    assert order is not None
    program = block_program(image, order[0])
    assert program is not None
    loader = block_loader(image, order[0])
    monkeypatch.setattr(loader, "loaded_blocks", interpreted_blocks(program))
    counts: list[int] = []
    count_paths = TokenStore.count_paths
    monkeypatch.setattr(
        TokenStore, "count_paths", lambda self: (counts.append(int(self.path_counts.sum())), count_paths(self))[1]
    )
    for seed in range(2):
        assert list(base_violations(graph, arguments, schedule, seed)) == []
        assert list(session_violations(graph, arguments, schedule, seed)) == []
    assert any(counts) == (schedule != "lifo")


@settings(max_examples=8)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_history_with_a_base(case: Case, schedule: str, seed: int) -> None:
    """A history with a base equals an ordinary one at every event that it knows, and stops at the same events."""
    graph = lower(case.program)
    assert list(base_violations(graph, case.arguments, schedule, seed)) == []
    assert list(stop_violations(graph, case.arguments, schedule, seed)) == []


@settings(max_examples=4)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_session_that_fast_forwards(case: Case, schedule: str, seed: int) -> None:
    """Commands lead a fast-forwarding session to the same positions as one that knows every event."""
    graph = lower(case.program)
    assert list(session_violations(graph, case.arguments, schedule, seed)) == []
    assert list(hit_violations(graph, case.arguments, schedule, seed)) == []


@pytest.mark.heavy
@settings(max_examples=60)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_many_programs(case: Case, schedule: str, seed: int) -> None:
    """The laws of fast-forwarding hold on many more programs."""
    graph = lower(case.program)
    assert list(base_violations(graph, case.arguments, schedule, seed)) == []
    assert list(stop_violations(graph, case.arguments, schedule, seed)) == []
    assert list(session_violations(graph, case.arguments, schedule, seed)) == []
    assert list(hit_violations(graph, case.arguments, schedule, seed)) == []


def begin_one_late(patch: MonkeyPatch) -> None:
    """The base is one event after the imported state."""
    new_segment = fast_forward.RunOrigin.new_segment
    patch.setattr(
        fast_forward.RunOrigin, "new_segment", lambda self, start, meter: new_segment(self, start + bool(start), meter)
    )


def miscount_waves(patch: MonkeyPatch) -> None:
    """The last wave before the base is forgotten."""
    to_meter = handover.export_meter

    def short(*given: Any) -> Any:
        result = to_meter(*given)
        result.wave_profile = result.wave_profile[:-1]
        return result

    patch.setattr(run, "export_meter", short)


def lose_deferred_reads(patch: MonkeyPatch) -> None:
    """Deferred reads of empty cells are not imported."""
    to_state = handover.export_state

    def lossy(*given: Any) -> State:
        state = to_state(*given)
        state.cells = state.cells.fork()
        for handle, block in list(state.cells.blocks.items()):
            result = state.cells.blocks[handle] = block.copy(state.cells.owner)
            result.deferred_reads = {}
        return state

    patch.setattr(run, "export_state", lossy)


def reveal_to_the_wrong_place(patch: MonkeyPatch) -> None:
    """Revealed events are placed one event too late."""
    lineage = fast_forward.Lineage

    def misplaced(segments: Any) -> Any:
        result = lineage(segments)
        result.base += len(segments) > 1
        return result

    patch.setattr(fast_forward, "Lineage", misplaced)


def share_cells(patch: MonkeyPatch) -> None:
    """A keyframe shares its cells with the machine, which runs on."""
    to_state = handover.export_state

    def shared(store: Any, host: Any, state: State) -> State:
        result = to_state(store, host, state)
        result.cells = host.cells
        return result

    patch.setattr(run, "export_state", shared)


def start_after_a_stop(patch: MonkeyPatch) -> None:
    """The machine starts at a keyframe after the known events, and passes what it should stop at."""
    start = fast_forward.FastForward._start_machine
    patch.setattr(fast_forward.FastForward, "_start_machine", lambda self, goal, stops=None: start(self, goal))


def forget_revealed_events(patch: MonkeyPatch) -> None:
    """The index of a run lacks the events that became known after later ones."""
    patch.setattr(RunIndex, "extend_back", lambda self, history: self)


def treat_unknown_firings_as_none(patch: MonkeyPatch) -> None:
    """Queries treat a node that fired before the base as one that has not fired."""
    patch.setattr(late.PartialIndex, "firing_event", late.EventIndex.firing_event)


def forget_tokens_of_the_base(patch: MonkeyPatch) -> None:
    """A token that existed at the base has no sender."""
    patch.setattr(late.PartialIndex, "existed_at_base", lambda self, token: False)


def stop_after_the_node(patch: MonkeyPatch) -> None:
    """The fast machine skips a firing of the node that is next at its position."""
    go_ahead = fast_forward.FastForward._run_machine

    def beyond(self: fast_forward.FastForward, machine: Any, goal: Any, stops: Any) -> Any:
        stopped = go_ahead(self, machine, goal, stops)
        if stops is not None and stops.comparisons and machine.stopped_by == "node":
            stopped = go_ahead(self, machine, goal, stops)
        return stopped

    patch.setattr(fast_forward.FastForward, "_run_machine", beyond)


def turn_comparisons_round(patch: MonkeyPatch) -> None:
    """The machine stops if a value is larger instead of smaller."""
    patch.setitem(fast_forward.COMPARISON_SIGNS, "<", fast_forward.StopOperator.GREATER)
    patch.setitem(fast_forward.COMPARISON_SIGNS, ">=", fast_forward.StopOperator.LESS_EQUAL)


def count_before_the_step(patch: MonkeyPatch) -> None:
    """A condition on the next event sees the counts before it."""
    coming = run.next_event

    def late_by_one(*given: Any) -> Any:
        state, event = coming(*given)
        state.steps -= 1
        return state, event

    patch.setattr(run, "next_event", late_by_one)


def forget_tokens_that_stay(patch: MonkeyPatch) -> None:
    """The machine stops only before nodes that fire, not at tokens that wait."""
    need = fast_forward.ConditionAnalysis.comparison_at
    fires = lambda self, number, port: need(self, number, None) if port is None else None  # noqa: E731
    patch.setattr(fast_forward.ConditionAnalysis, "comparison_at", fires)


def forget_hits_on_the_way(patch: MonkeyPatch) -> None:
    """Hits that the fast machine passed are not counted."""
    patch.setattr(Breakpoints, "mark_observed", lambda self, start, step: None)


LAWS = (base_violations, stop_violations, hit_violations, session_violations)

WRONG: tuple[Callable[[MonkeyPatch], None], ...] = (
    begin_one_late,
    miscount_waves,
    lose_deferred_reads,
    reveal_to_the_wrong_place,
    share_cells,
    start_after_a_stop,
    forget_revealed_events,
    treat_unknown_firings_as_none,
    forget_tokens_of_the_base,
    stop_after_the_node,
    turn_comparisons_round,
    count_before_the_step,
    forget_tokens_that_stay,
    forget_hits_on_the_way,
)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("how", WRONG, ids=lambda how: how.__name__)
def test_the_laws_catch_every_twin(how: Callable[[MonkeyPatch], None], monkeypatch: MonkeyPatch) -> None:
    """Every twin that differs in one line breaks a law on one of these programs."""
    how(monkeypatch)

    def is_caught(name: str, schedule: str, seed: int) -> bool:
        given = (*RUNS[name], schedule, seed)
        try:
            return any(True for law in LAWS for _ in law(*given))
        except Exception:
            return True

    assert any(is_caught(name, schedule, seed) for name in RUNS for schedule in SCHEDULES for seed in range(6))
