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
from support.twins.twins import Break, broken, caught
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.protocol import Limits
from tagloom.interp.history import edit, history
from tagloom.interp.history import segment as stretch
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.statistics import Meter

SCHEDULES = ("fifo", "lifo", "waves", "random:1", "random:2")
SEEDS = st.integers(0, 2**20)
SMALL = Limits(firings=150)


@settings(max_examples=20)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS, st.integers(1, 9))
def test_a_history_is_where_replay_is(case: Case, schedule: str, seed: int, spacing: int) -> None:
    """After any walk of steps both ways, jumps, branches, choices and edits, a history at i equals replay to i; and
    none disturbs another, its parent included."""
    assert list(walk_violations(lower(case.program), case.arguments, schedule, seed, spacing)) == []


@settings(max_examples=10)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS, st.integers(1, 9))
def test_keyframes_far_apart(case: Case, schedule: str, seed: int, spacing: int) -> None:
    """The same where open activations cost so much that keyframes are further apart than their spacing."""
    with MonkeyPatch.context() as patch:
        patch.setattr(stretch, "FORK_COST", 3.0)
        assert list(walk_violations(lower(case.program), case.arguments, schedule, seed, spacing)) == []


@settings(max_examples=15)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_history_ends_as_the_run(case: Case, schedule: str, seed: int) -> None:
    """Outcome and measures are those of run_graph, under limits too, whether or not one went back meanwhile."""
    assert list(outcome_violations(lower(case.program), case.arguments, schedule, seed, SMALL)) == []


@pytest.mark.heavy
@settings(max_examples=150)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS, st.integers(1, 9))
@pytest.mark.timeout(1800)
def test_many_histories(case: Case, schedule: str, seed: int, spacing: int) -> None:
    """The same, on more programs and longer walks than a person waits for."""
    graph = lower(case.program)
    assert list(walk_violations(graph, case.arguments, schedule, seed, spacing, moves=60)) == []
    assert list(outcome_violations(graph, case.arguments, schedule, seed, SMALL)) == []


def share_records(patch: MonkeyPatch) -> None:
    """A fork shares its records, and neither copies them before it changes one."""
    fork = State.fork

    def sharing(self: State) -> State:
        era, made = self.owner, fork(self)
        self.owner = made.owner = era
        return made

    patch.setattr(State, "fork", sharing)


def jump_one_short(patch: MonkeyPatch) -> None:
    """Going on from a keyframe stops one event early."""
    between = stretch.Segment.events_between
    patch.setattr(stretch.Segment, "events_between", lambda self, start, stop: between(self, start, stop)[:-1])


def forget_the_clock(patch: MonkeyPatch) -> None:
    """revert leaves the clock as it was."""
    revert = State.revert

    def forgetful(self: State, event: Event) -> None:
        ahead = self.wave_remaining
        revert(self, event)
        self.wave_remaining = ahead

    patch.setattr(State, "revert", forgetful)


def revert_in_order(patch: MonkeyPatch) -> None:
    """Events are reverted in the order in which they happened."""
    patch.setattr(stretch, "reversed", list, raising=False)


def keep_the_state_itself(patch: MonkeyPatch) -> None:
    """A keyframe is the state that goes on."""
    patch.setattr(stretch.Segment, "_fork_state", lambda self, state: state)


def misplace_keyframes(patch: MonkeyPatch) -> None:
    """The first keyframe is taken for that of the next one's place."""
    keyframes = stretch.Segment.nearby_keyframes

    def misplaced(self: stretch.Segment, position: int) -> Any:
        return ((state, at + (at > self.start)) for state, at in keyframes(self, position))

    patch.setattr(stretch.Segment, "nearby_keyframes", misplaced)


def share_the_future(patch: MonkeyPatch) -> None:
    """A branch writes its events where its parent does."""
    patch.setattr(stretch.Lineage, "fork", lambda self, own: self)


def forget_the_edit(patch: MonkeyPatch) -> None:
    """A branch says that a token was changed, and it was not."""
    patch.setattr(history, "apply_edit", lambda state, change: None)


def edit_the_parent_too(patch: MonkeyPatch) -> None:
    """A waiting token is changed in a record that is shared."""
    make = edit.apply_edit

    def rash(state: State, change: edit.Edit) -> None:
        if isinstance(change.place, int):
            make(state, change)
        else:
            state.records[change.token.tag].waiting_operands[change.token.node][change.token.port] = change.value

    patch.setattr(history, "apply_edit", rash)


def go_round_the_edit(patch: MonkeyPatch) -> None:
    """A state walks on past where a branch begins, and its edit is never made."""

    def reach(self: stretch.Lineage, position: int) -> stretch.Segment:
        first: stretch.Segment = self.segments[0]
        return first if position <= first.end else true_stretch(self, position)

    true_stretch = stretch.Lineage.segment_at
    patch.setattr(stretch.Lineage, "segment_at", reach)


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
    """The measures of a branch go on from the parent's end."""
    patch.setattr(stretch.Segment, "meter_at", lambda self, position: _meter(self, position))


def _meter(at: stretch.Segment, position: int) -> Meter:
    made = Meter(at.state_at(position), is_clocked=at.meter.is_clocked)
    made.wave_profile = list(at.meter.wave_profile)
    return made


def keep_the_profile(patch: MonkeyPatch) -> None:
    """Keyframes hold the profile that goes on, not as long as it was."""
    true_keyframe: Any = stretch.Keyframe
    patch.setattr(stretch, "Keyframe", lambda state, meter, waves: true_keyframe(state, meter, None))


WRONG_ENDINGS: tuple[Break, ...] = (count_twice, keep_the_profile)


def violations(how: Break, case: Case) -> Iterator[str]:
    """What the laws say that are to notice this, on a few walks over a program."""
    graph = lower(case.program)
    for seed, spacing in enumerate((2, 20, 40)):
        if how in WRONG_ENDINGS:
            yield from outcome_violations(graph, case.arguments, "waves", seed, SMALL)
        else:
            yield from walk_violations(graph, case.arguments, "waves", seed, spacing)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, id=how.__name__, marks=[pytest.mark.heavy] * (how is edit_the_parent_too))
        for how in WRONG_WALKS + WRONG_ENDINGS
    ],
)
def test_the_laws_catch_a_broken_history(how: Break) -> None:
    """A history that is wrong in one line breaks a law on some program, on which the true one keeps it."""

    def wrong(case: Case) -> bool:
        with broken(how):
            return next(violations(how, case), None) is not None

    case = caught(cases(), wrong, how.__doc__, 300)
    assert list(violations(how, case)) == []
