"""The laws of histories hold on generated programs, and catch histories that are wrong in one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.generator import Case, cases
from support.laws.history_laws import outcome_violations, walk_violations
from support.twins.broken_twin import Break, broken, caught
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history import edit, history, segment
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.statistics import Meter

SCHEDULES = ("fifo", "lifo", "waves", "random:1", "random:2")
SEEDS = st.integers(0, 2**20)
SMALL = Limits(firings=150)


@settings(max_examples=20)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS, st.integers(1, 9))
def test_a_history_agrees_with_replay(case: Case, schedule: str, seed: int, spacing: int) -> None:
    """After any walk of steps both ways, jumps, forks, choices and edits, a history at event i equals replay to i, and
    no history changes another."""
    assert list(walk_violations(lower(case.program), case.arguments, schedule, seed, spacing)) == []


@settings(max_examples=10)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS, st.integers(1, 9))
def test_keyframes_far_apart(case: Case, schedule: str, seed: int, spacing: int) -> None:
    """The laws hold if open activations are so expensive that keyframes are further apart than their spacing."""
    with MonkeyPatch.context() as patch:
        patch.setattr(segment, "FORK_COST", 3.0)
        assert list(walk_violations(lower(case.program), case.arguments, schedule, seed, spacing)) == []


@settings(max_examples=15)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_history_has_the_run_s_outcome(case: Case, schedule: str, seed: int) -> None:
    """A history has the outcome and statistics of `run_graph`, also under limits and after going back."""
    assert list(outcome_violations(lower(case.program), case.arguments, schedule, seed, SMALL)) == []


@pytest.mark.heavy
@settings(max_examples=150)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS, st.integers(1, 9))
@pytest.mark.timeout(1800)
def test_many_histories(case: Case, schedule: str, seed: int, spacing: int) -> None:
    """The laws hold on many more programs and longer walks."""
    graph = lower(case.program)
    assert list(walk_violations(graph, case.arguments, schedule, seed, spacing, moves=60)) == []
    assert list(outcome_violations(graph, case.arguments, schedule, seed, SMALL)) == []


def share_records(patch: MonkeyPatch) -> None:
    """A fork and its origin share records, and neither copies one before changing it."""
    fork = State.fork

    def sharing(self: State) -> State:
        era, result = self.owner, fork(self)
        self.owner = result.owner = era
        return result

    patch.setattr(State, "fork", sharing)


def jump_one_short(patch: MonkeyPatch) -> None:
    """A jump from a keyframe stops one event early."""
    between = segment.HistorySegment.events_between
    patch.setattr(segment.HistorySegment, "events_between", lambda self, start, stop: between(self, start, stop)[:-1])


def forget_the_clock(patch: MonkeyPatch) -> None:
    """`revert` does not turn the clock back."""
    revert = State.revert

    def forgetful(self: State, event: Event) -> None:
        ahead = self.wave_remaining
        revert(self, event)
        self.wave_remaining = ahead

    patch.setattr(State, "revert", forgetful)


def revert_in_order(patch: MonkeyPatch) -> None:
    """Events are reverted in the order in which they happened."""
    patch.setattr(segment, "reversed", list, raising=False)


def keep_the_state_itself(patch: MonkeyPatch) -> None:
    """A keyframe is the current state instead of a fork of it."""
    patch.setattr(segment.HistorySegment, "_fork_state", lambda self, state: state)


def misplace_keyframes(patch: MonkeyPatch) -> None:
    """The first keyframe is used at the position of the second."""
    keyframes = segment.HistorySegment.nearby_keyframes

    def misplaced(self: segment.HistorySegment, position: int) -> Any:
        return ((state, at + (at > self.start)) for state, at in keyframes(self, position))

    patch.setattr(segment.HistorySegment, "nearby_keyframes", misplaced)


def share_the_future(patch: MonkeyPatch) -> None:
    """A fork appends its events to its parent's list."""
    patch.setattr(segment.Lineage, "fork", lambda self, own: self)


def forget_the_edit(patch: MonkeyPatch) -> None:
    """A fork records an edit of a token without making it."""
    patch.setattr(history, "apply_edit", lambda state, change: None)


def edit_the_parent_too(patch: MonkeyPatch) -> None:
    """The edit of a waiting token changes a record that the parent shares."""
    make = edit.apply_edit

    def rash(state: State, change: edit.Edit) -> None:
        if isinstance(change.place, int):
            make(state, change)
        else:
            state.records[change.token.tag].waiting_operands[change.token.node][change.token.port] = change.value

    patch.setattr(history, "apply_edit", rash)


def go_round_the_edit(patch: MonkeyPatch) -> None:
    """A state moves past the beginning of a fork without the fork's edit."""

    def reach(self: segment.Lineage, position: int) -> segment.HistorySegment:
        first: segment.HistorySegment = self.segments[0]
        return first if position <= first.end else true_segment_at(self, position)

    true_segment_at = segment.Lineage.segment_at
    patch.setattr(segment.Lineage, "segment_at", reach)


WRONG_WALKS: tuple[Break, ...] = (
    share_records,
    jump_one_short,
    forget_the_clock,
    revert_in_order,
    keep_the_state_itself,
    misplace_keyframes,
    share_the_future,
    forget_the_edit,
    edit_the_parent_too,
    go_round_the_edit,
)


def count_twice(patch: MonkeyPatch) -> None:
    """The statistics of a fork continue from its parent's end."""
    patch.setattr(segment.HistorySegment, "meter_at", lambda self, position: _meter(self, position))


def _meter(at: segment.HistorySegment, position: int) -> Meter:
    result = Meter(at.state_at(position), is_clocked=at.meter.is_clocked)
    result.wave_profile = list(at.meter.wave_profile)
    return result


def keep_the_profile(patch: MonkeyPatch) -> None:
    """Keyframes share the growing profile instead of remembering its length."""
    true_keyframe: Any = segment.Keyframe
    patch.setattr(segment, "Keyframe", lambda state, meter, waves: true_keyframe(state, meter, None))


WRONG_ENDINGS: tuple[Break, ...] = (count_twice, keep_the_profile)


def violations(how: Break, case: Case) -> Iterator[str]:
    """The violations of the relevant laws, on a few walks over a program."""
    graph = lower(case.program)
    for seed, spacing in enumerate((2, 20, 40)):
        if how in WRONG_ENDINGS:
            yield from outcome_violations(graph, case.arguments, "waves", seed, SMALL)
        else:
            yield from walk_violations(graph, case.arguments, "waves", seed, spacing)


@pytest.mark.full
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, id=how.__name__, marks=[pytest.mark.heavy] * (how is edit_the_parent_too))
        for how in WRONG_WALKS + WRONG_ENDINGS
    ],
)
def test_the_laws_catch_a_broken_history(how: Break) -> None:
    """Every history that is wrong in one line breaks a law on a program on which the true one keeps it."""

    def wrong(case: Case) -> bool:
        with broken(how):
            return next(violations(how, case), None) is not None

    case = caught(cases(), wrong, how.__doc__, 300)
    assert list(violations(how, case)) == []
