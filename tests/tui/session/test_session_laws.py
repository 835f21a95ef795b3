"""The laws of sessions hold on generated programs and on the corpus, and catch sessions that are wrong in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws import session_laws
from support.laws.session_laws import (
    LIMITS,
    Replays,
    activation_violations,
    around_violations,
    fork_violations,
    frame_violations,
    mark_violations,
    motion_violations,
    place_violations,
    reply_violations,
    start_session,
    walk_violations,
)
from support.observe.moments import chain, fib, mixed
from support.programs.hand_written_graphs import counting_loop, stuck
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.interp.breakpoints.breakpoint import Breakpoints
from tagloom.interp.history.history import History
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.tui.session import run_commands as forking
from tagloom.tui.session import step_commands as activations
from tagloom.tui.session import step_commands as moving
from tagloom.tui.session.call_frame import CallFrame
from tagloom.tui.session.commands import COMMANDS, new_session
from tagloom.tui.session.run_index import ActivationSummary, RunIndex, RunIndexSegment
from tagloom.tui.session.session import Session

SCHEDULES = ("fifo", "lifo", "waves", "random:1")
SEEDS = st.integers(0, 2**20)
RUNS: dict[str, tuple[Graph, list[Any]]] = {
    "fib": (fib.graph, [4]),
    "mixed": (mixed.graph, [2, 100, 0.1, True, [0.5, -1.0, 3.0]]),
    "count": (counting_loop([("total", 0), ("trips", 1)]), [3]),
    "stuck": (stuck(), [5]),
    "chain": (chain.graph, [4]),
}


@settings(max_examples=8)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_session_agrees_with_replay(case: Case, schedule: str, seed: int) -> None:
    """After any walk of commands, every run agrees with a replay of its choices and edits from the beginning; undo
    restores all that was shown, and redo repeats it; every reply is valid JSON."""
    assert list(walk_violations(start_session(lower(case.program), case.arguments, schedule), seed)) == []


@pytest.mark.full
@pytest.mark.parametrize("name", RUNS)
def test_the_laws_hold_on_runs_of_all_kinds(name: str) -> None:
    """The laws hold with loops, traps, cells and bounds, and on an invalid graph."""
    graph, arguments = RUNS[name]
    for seed in range(3):
        assert list(walk_violations(start_session(graph, arguments, "waves", unchecked=True), seed)) == []


@settings(max_examples=15)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_fork_knows_its_past(case: Case, schedule: str, seed: int) -> None:
    """The shared past of nested forks, with the hits of breakpoints, agrees with its events."""
    assert list(fork_violations(start_session(lower(case.program), case.arguments, schedule), seed)) == []


@settings(max_examples=15)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_a_command_and_its_reverse(case: Case, schedule: str, seed: int) -> None:
    """From a stop, a motion command and its reverse are the identity, and neither passes a stop."""
    assert list(motion_violations(start_session(lower(case.program), case.arguments, schedule), seed)) == []


@pytest.mark.full
@pytest.mark.parametrize("name", ["fib", "mixed", "chain"])
@pytest.mark.parametrize("schedule", ["waves", "lifo"])
def test_over_and_out_agree_with_tags(name: str, schedule: str) -> None:
    """`over` and `out` agree with the tags of the events."""
    graph, arguments = RUNS[name]
    assert list(activation_violations(start_session(graph, arguments, schedule))) == []


@settings(max_examples=10)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_over_and_out_go_event_by_event(case: Case, schedule: str, seed: int) -> None:
    """`over` and `out`, which inspect no state elsewhere, agree with a search that inspects every state."""
    assert list(around_violations(start_session(lower(case.program), case.arguments, schedule), seed)) == []


@pytest.mark.full
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("schedule", ["waves", "lifo"])
def test_over_and_out_of_loops(name: str, schedule: str) -> None:
    """This holds in loops too, whose iterations may overlap."""
    graph, arguments = RUNS[name]
    assert list(around_violations(start_session(graph, arguments, schedule, unchecked=True), 1)) == []


WORDS = st.sampled_from([*COMMANDS, *(f"{name} " for name in COMMANDS)])
PARTS = st.sampled_from(
    [
        *"'\"{}[]()=<>+-*/%,.@#\\:",
        "node",
        "fired",
        "and",
        "not",
        "main/fib",
        "add",
        "fib.add",
        "0",
        "-1",
        "9" * 30,
        "\n",
    ]
)


@settings(max_examples=60)
@given(st.lists(st.builds(lambda name, parts: name + " ".join(parts), WORDS, st.lists(PARTS | st.text()))))
def test_any_line_is_answered(lines: list[str]) -> None:
    """Every line gets a reply in words: nothing is raised, nothing is evaluated by Python, and a failure changes
    nothing. Commands that write or read files are left out."""
    session = start_session(fib.graph, [3])
    for line in lines:
        if line.split(" ")[0] in ("load", "replay", "export", "pytest", "schedule", "compare"):
            continue
        before = session.snapshot
        reply = session.execute(line)
        assert list(reply_violations(reply.to_json())) == []
        assert reply.ok or session.snapshot == before
    assert list(place_violations(session, "all of them", Replays())) == []


@settings(max_examples=60)
@given(st.sampled_from(["break", "log", "search"]), st.text() | st.lists(PARTS, max_size=12).map(" ".join))
def test_any_condition_is_answered(name: str, text: str) -> None:
    """Only the language of breakpoints reads conditions and texts."""
    session = start_session(fib.graph, [3])
    reply = session.execute(f"{name} {text}")
    assert reply.ok or reply.data["error"] in ("Usage", "Malformed")
    assert session.execute("continue").ok and session.execute("reverse").ok and session.execute("breaks").ok


@pytest.mark.full
@pytest.mark.parametrize("name", RUNS)
def test_any_edit_is_answered(name: str) -> None:
    """A token can be edited or injected at every port of every node, or the reply says why not. Undone, nothing is left
    of it. Otherwise the run continues to some ending."""
    session = start_session(*RUNS[name], "waves", unchecked=True)
    session.execute("step 3")
    before = session.snapshot
    places = [f"{node} {port}" for node in session.history.graph.nodes for port in range(len(node.ports) + 1)]
    for edit, place, value in product(("change", "inject"), places, ("1", "true")):
        reply = session.execute(f"{edit} {place} main {value}")
        assert reply.data["error"] in ("Usage", "Malformed") if not reply.ok else session.execute("run").ok
        assert not reply.ok or session.execute("outcome").ok
        while session.snapshot != before:
            assert session.execute("undo").ok


def test_python_is_not_evaluated() -> None:
    """A Python call is refused as a value and as a condition."""
    session = start_session(fib.graph, [3])
    for line in (
        "break __import__('os')",
        "search exec('1')",
        "change 0 __import__('os')",
        'log fired "{().__class__}"',
    ):
        assert not session.execute(line).ok


CORPUS = sorted((Path(__file__).resolve().parents[2] / "corpus").glob("*.tl"))


def corpus_violations(file: Path, seed: int, moves: int) -> Iterator[str]:
    """The violations on a walk over a program of the corpus, for its last case that can run."""
    for case in reversed(tl.parse(file.read_text()).cases):
        session = new_session(StartOptions("waves", LIMITS, unchecked=True))
        try:
            session.load_run(RunRequest(f"{file}:{case.name}", case.arguments, session.options))
        except tl.TagloomError:
            continue
        yield from walk_violations(session, seed, moves)
        yield from motion_violations(session, seed, 3)
        return


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("file", CORPUS[::16], ids=lambda file: file.stem)
def test_some_of_the_corpus(file: Path) -> None:
    """The laws hold on some programs of the corpus, loaded as a user would load them."""
    assert list(corpus_violations(file, 1, 4)) == []


@pytest.mark.heavy
@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_the_whole_corpus(file: Path) -> None:
    """The laws hold on the whole corpus."""
    assert list(corpus_violations(file, 2, 25)) == []


@pytest.mark.heavy
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(cases() | act_cases(), st.sampled_from(SCHEDULES), SEEDS)
@pytest.mark.timeout(1800)
def test_many_walks(case: Case, schedule: str, seed: int) -> None:
    """The laws hold on more programs, with effects, and on longer walks."""
    graph = lower(case.program)
    if any(node.op == "callback" for node in graph.nodes):
        return
    assert list(walk_violations(start_session(graph, case.arguments, schedule), seed, 40)) == []
    assert list(motion_violations(start_session(graph, case.arguments, schedule), seed, 30)) == []


@pytest.mark.heavy
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(SCHEDULES))
@pytest.mark.timeout(1800)
def test_over_and_out_of_generated_programs(case: Case, schedule: str) -> None:
    """`over` and `out` agree with the tags of the events on generated programs."""
    assert list(activation_violations(start_session(lower(case.program), case.arguments, schedule))) == []


@settings(max_examples=8)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_activations_have_distinct_marks(case: Case, schedule: str, seed: int) -> None:
    """The number of an activation is the same at all positions, in all forks and in all panes."""
    assert list(mark_violations(start_session(lower(case.program), case.arguments, schedule), seed, 12)) == []


@settings(max_examples=8)
@given(cases(), st.sampled_from(SCHEDULES), SEEDS)
def test_the_frame_of_a_call(case: Case, schedule: str, seed: int) -> None:
    """The frame of the current call has what the events say, at any position."""
    assert list(frame_violations(start_session(lower(case.program), case.arguments, schedule), seed, 12)) == []


@pytest.mark.full
def test_wrong_marks_and_frames_are_caught(monkeypatch: MonkeyPatch) -> None:
    """Numbers that begin with 2, and a frame without its last value, break the laws."""
    graph, arguments = RUNS["fib"]
    assert not list(mark_violations(start_session(graph, arguments), 1, 12))
    assert not list(frame_violations(start_session(graph, arguments), 1, 12))
    with monkeypatch.context() as patch:
        counts = property(lambda self: 2, lambda self, count: None)
        patch.setattr(RunIndexSegment, "initial_open_count", counts, raising=False)
        assert list(mark_violations(start_session(graph, arguments), 1, 12))
    find = session_laws.find_call_frame

    def late(session: Session) -> CallFrame:
        frame = find(session)
        return frame._replace(values=frame.values[:-1])

    monkeypatch.setattr(session_laws, "find_call_frame", late)
    assert list(frame_violations(start_session(graph, arguments), 1, 12))


# Sessions that are wrong in one line


def stop_early(patch: MonkeyPatch) -> None:
    """A motion forward stops one event early."""
    ahead = moving.step_forward

    def early(history: History, kind: moving.EventFilter, places: Sequence[int] | None = None) -> bool:
        result = ahead(history, kind, places)
        if result and history.position > 1:
            history.back()
        return result

    patch.setattr(moving, "step_forward", early)


def stop_here(patch: MonkeyPatch) -> None:
    """A motion back takes the position for the last stop before it."""

    def behind(history: History, kind: moving.EventFilter, places: Sequence[int] | None = None) -> bool:
        for position in range(history.position, 0, -1):
            if kind(history[position - 1]):
                history.jump(position)
                return True
        history.jump(0)
        return False

    patch.setattr(moving, "step_backward", behind)


def forget_the_run(patch: MonkeyPatch) -> None:
    """undo forgets which run was current."""
    _return = Session._restore
    patch.setattr(
        Session, "_restore", lambda self, to: _return(self, replace(to, current=self.snapshot.current or to.current))
    )


def forget_positions(patch: MonkeyPatch) -> None:
    """undo restores all but the positions."""
    patch.setattr(Session, "_restore", lambda self, to: self.__setattr__("_state", to))


def change_the_run_itself(patch: MonkeyPatch) -> None:
    """A choice at the end changes the run itself, so that undo cannot remove it."""
    patch.setattr(forking, "deliver_by_hand", lambda session, wanted: session.history.deliver(wanted))


def read_the_parent_s_later_events(patch: MonkeyPatch) -> None:
    """A fork sees activations of its parent from after the fork."""
    patch.setattr(ActivationSummary, "as_of", lambda self, position: self)


def open_again(patch: MonkeyPatch) -> None:
    """A fork opens activations again that were open at its beginning."""
    patch.setattr(RunIndexSegment, "_is_opening", lambda self, tag: True)


def begin_a_wave(patch: MonkeyPatch) -> None:
    """A fork counts the firings of the current wave from zero."""
    patch.setattr(RunIndex, "_count_wave_firings", lambda self, position: 0)


def forget_iterations(patch: MonkeyPatch) -> None:
    """A loop counts as opened by the current iteration."""
    patch.setattr(
        activations.ActivationScope, "open_position", lambda self, known: known.activation(self.tag).open_position or 0
    )


def keep_later_hits(patch: MonkeyPatch) -> None:
    """A fork keeps the hits that its parent had after the fork."""
    patch.setattr(Breakpoints, "fork", lambda self, step: self)


WRONG: dict[Callable[[MonkeyPatch], None], str] = {
    stop_early: r"^from \d+, |passes over|stays at",
    stop_here: r"^from \d+, ",
    forget_the_run: "undo does not undo|does not do .* again",
    forget_positions: "undo does not undo|does not do .* again",
    change_the_run_itself: "undo does not undo choose",
    read_the_parent_s_later_events: "other activations .* are known",
    open_again: "other activations .* are known",
    forget_iterations: "out-back from|over-back from",
    begin_a_wave: "other waves .* are known",
    keep_later_hits: "breakpoint .* hits",
}
"""What the law says that is to notice each."""


def violations(seed: int) -> Iterator[str]:
    """The violations of the laws on a walk over fib."""
    yield from motion_violations(start_session(fib.graph, [3]), seed, 3)
    yield from walk_violations(start_session(fib.graph, [3]), seed, 12)
    yield from fork_violations(start_session(*RUNS["count"]), seed)
    yield from around_violations(start_session(*RUNS["count"]), seed, 5)


@pytest.mark.full
@pytest.mark.parametrize(("how", "message"), WRONG.items(), ids=[how.__name__ for how in WRONG])
def test_the_laws_catch_a_wrong_session(how: Callable[[MonkeyPatch], None], message: str) -> None:
    """Each session that is wrong in one line breaks the law about it on some walk, on which the true one keeps all
    laws; it does not merely fail."""
    for seed in range(60):
        with MonkeyPatch.context() as patch:
            how(patch)
            results = [violation for violation in violations(seed) if re.search(message, violation)]
        if results:
            assert list(violations(seed)) == []
            return
    pytest.fail(f"no law caught this: {how.__doc__}")
