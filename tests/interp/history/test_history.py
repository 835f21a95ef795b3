"""Histories beyond their laws (test_history_laws.py): logs, limits, edits, speed, memory."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.generators.graph_edits import EDITS
from support.generators.json_edits import FILL, RUNS, fib, mean, quotients
from support.laws.history_laws import other_value, replay_state, state_fields, walk_violations
from support.programs.papers import of_paper
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.tag import ROOT
from tagloom.core.types import Handle
from tagloom.interp.engines import reference
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.protocol import Until
from tagloom.interp.history import segment
from tagloom.interp.history import segment as stretch
from tagloom.interp.history.edit import TokenSlot
from tagloom.interp.history.history import History
from tagloom.interp.machine.schedule import Script, write_script
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.statistics import Meter
from tagloom.interp.records.documents import to_outcome_record

FIB = fib.trace(6).graph
each_run = pytest.mark.parametrize(
    ("graph", "arguments"), RUNS, ids=[f"{graph.name}{n}" for n, (graph, _) in enumerate(RUNS)]
)


def histories(*schedules: str) -> Iterator[History]:
    for schedule in schedules or ("waves", "fifo", "lifo", "random:7"):
        yield History(FIB, [6], schedule=schedule, spacing=10)


@pytest.mark.inner(first=1)
@each_run
@pytest.mark.parametrize("seed", range(4))
def test_graphs_by_hand(graph: Graph, arguments: list[Any], seed: int) -> None:
    """The laws of walks hold on arrays, traps, deadlocks, and on graphs that break the rules."""
    assert list(walk_violations(graph, arguments, "random:1", seed, spacing=4, unchecked=True)) == []


@given(cases(), st.sampled_from(EDITS), st.integers(0, 2**32))
@settings(max_examples=25)
def test_broken_graphs(case: Case, change: Any, seed: int) -> None:
    """The laws hold on randomly broken graphs, some of whose events cannot be undone."""
    graph = change(random.Random(seed), lower(case.program))
    try:
        History(graph, case.arguments, unchecked=True)
    except (tl.Invalid, tl.Usage):
        reject()
    assert list(walk_violations(graph, case.arguments, "random:1", seed, 40, unchecked=True)) == []


def test_stepping_and_returning() -> None:
    """`forward` and `back` return the events that they pass; there is none before the first or after the last."""
    history = History(FIB, [6])
    assert history.back() is None and (len(history), history.fork_position) == (0, 0)
    events = list(iter(history.forward, None))
    assert events == list(history) and history[3] is events[3]
    assert [history.back() for _ in events] == events[::-1] and history.back() is None
    assert history.forward_to(lambda state, event: event.is_firing) is next(
        event for event in events if event.is_firing
    )
    history.jump(len(history))
    assert history.back_to(lambda state, event: event.is_firing) is events[history.position]
    assert history.back_to(lambda state, event: False) is None and history.position == 0
    assert history.forward_to(lambda state, event: False) is None and history.position == len(history)


def test_wrong_positions_are_refused() -> None:
    """Invalid positions are refused with a message, and the history does not move."""
    history = History(FIB, [6])
    history.forward()
    for wrong in (lambda: history.jump(-1), lambda: history.jump(2), lambda: history.at(2)):
        with pytest.raises(tl.Usage, match="no position"):
            wrong()
    for number in (-2, 1):
        with pytest.raises(IndexError, match="no event"):
            history[number]
    for place in ("add", ("add", 0), TokenSlot(999, 0, ROOT), None):
        with pytest.raises(tl.Usage, match="this does not identify a token"):
            history.change(place, 3)  # type: ignore[arg-type]
    with pytest.raises(tl.Usage, match="cannot select events"):
        history.forward_to(5)  # type: ignore[arg-type]
    with pytest.raises(tl.Usage, match="no token is at position 99"):
        history.deliver(99)
    with pytest.raises(tl.Usage, match="no token is at position -1"):
        history.change(-1, 3)
    history.back()
    with pytest.raises(tl.Usage, match="choose"):
        history.deliver(0)
    assert (history.position, len(history)) == (0, 1)


def test_known_events_compute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moving over known events fires no node, so effects do not happen again."""
    history = History(FIB, [6], spacing=10)
    history.run()
    monkeypatch.setattr(reference, "step", None)
    for position in random.Random(1).choices(range(len(history) + 1), k=50):
        history.jump(position)
        history.back()
        history.forward()
        history.at(position)


def test_a_repeated_request_goes_no_further() -> None:
    """A run that stopped as requested goes no further when the request is repeated."""
    history = History(quotients.trace(3).graph, [3], schedule="fifo")
    assert history.run("trap").status == "Trapped" and history.state.flight
    stopped = len(history)
    assert history.run("trap").status == "Trapped" and len(history) == stopped
    assert history.run().status == "Trapped" and len(history) > stopped


def test_a_jump_takes_the_shortest_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jump passes at most as many events as lie between two keyframes, and few to a near position."""
    history = History(FIB, [6], spacing=40)
    history.run()
    went: list[str] = []
    for name in ("apply", "revert"):
        true = getattr(State, name)
        monkeypatch.setattr(
            State, name, lambda self, event, true=true, name=name: (went.append(name), true(self, event))
        )
    dice, last = random.Random(1), len(history) // 40 * 40
    for _ in range(100):
        went.clear()
        position = dice.randint(0, len(history))
        history.jump(position)
        assert len(went) <= 40 and (position >= last or went.count("apply") <= 30), "one of the two is nearer"
        went.clear()
        near = max(0, min(len(history), position + dice.randint(-5, 5)))
        history.jump(near)
        assert len(went) <= 2 * abs(near - position), "a revert counts as two"


def test_results_nest() -> None:
    """Results have the structure that the function returned, if the history knows it."""

    @tl.function
    def both(n: tl.int64) -> tuple[tl.int64, tl.int64]:
        return n + 1, n * 2

    traced = both.trace(3)
    assert History(traced.graph, [3], structure=traced.structure).run().value == both(3) == (4, 6)


def test_outcome_is_that_of_the_end() -> None:
    """`outcome()` describes how the run ended, from any position; before the end is known, there is none."""
    for history in histories():
        with pytest.raises(tl.Usage, match="is not over"):
            history.outcome()
        out = history.run()
        history.jump(5)
        assert history.outcome() is out and out.events == tuple(history) and out.value == 8


LOUD = lower(
    tl.parse_program("""
func loud(n: int64) -> int64 {
  a = callback n, function="twice", returns=int64
  p = print a, text="{}"
  b = add a, n
  q = print b, text="{}"
  return b
}
""")
)


def test_effects_happen_once_in_each_fork(tmp_path: Path) -> None:
    """Neither moving over a run nor reading its log repeats an effect. A fork repeats the effects after its beginning,
    and says so."""
    seen_: list[Any] = []
    world = tl.World(seen_.append, {"twice": lambda n: (seen_.append(("twice", n)), 2 * n)[1]})
    history = History(LOUD, [3], world=world, spacing=2)
    assert history.run().value == 9 and seen_ == [("twice", 3), "6", "9"]
    for position in (0, 4, 1, len(history), 2):
        history.jump(position)
        history.at(position)
    first = next(n for n, event in enumerate(history) if event.is_firing and event.outputs and event.outputs[0][1] == 6)
    history.save(tmp_path / "run.jsonl")
    loaded = History.load(tmp_path / "run.jsonl", world=world)
    assert len(seen_) == 3 and loaded.outcome().value == 9
    history.jump(len(history))
    assert history.branch().repeats == () and history.repeats == ()
    history.jump(first + 1)
    branch = history.branch()
    assert len(branch.repeats) == 2 and str(branch).endswith("on; 2 effects may happen again")
    assert branch.run().value == 9 and seen_[3:] == ["6", "9"]
    loaded.jump(0)
    assert loaded.branch().run().value == 9 and seen_[5:] == [("twice", 3), "6", "9"]


def test_a_run_by_hand_throttles_until_waves_end(tmp_path: Path) -> None:
    """A run by waves with a bound that continues by hand throttles tokens until waves end. No log can express that, and
    none is written."""
    history = History(quotients.trace(3).graph, [3], k=1)
    history.forward()
    branch = history.choose(len(history.state.flight) - 1)
    assert branch.run().schedule == "hand"
    with pytest.raises(tl.Usage, match="bounds"):
        branch.save(tmp_path / "run.jsonl")
    fifo = History(quotients.trace(3).graph, [3], k=1, schedule="fifo")
    fifo.forward()
    other = fifo.choose(len(fifo.state.flight) - 1)
    out = other.run()
    other.save(tmp_path / "run.jsonl")
    assert History.load(tmp_path / "run.jsonl").bound == 1 and tl.read_events(
        tmp_path / "run.jsonl"
    ).outcome == to_outcome_record(out)


def test_handles_cannot_be_edited() -> None:
    """A handle cannot be the value of an edit."""
    history = History(lower(FILL), [3])
    assert history.forward_to(lambda state, event: any(_is_handle(token.value) for token in event.sent)) is not None
    (place, *_) = (n for n, token in enumerate(history.state.flight) if _is_handle(token.value))
    with pytest.raises(tl.Usage, match="the token for port"):
        history.change(place, 3)


def _is_handle(value: object) -> bool:
    return isinstance(value, Handle)


def test_a_limit_can_be_raised() -> None:
    """An exhausted run continues with higher limits, and ends as if there had been none."""
    for history in histories():
        history.limits = Limits(firings=40)
        out = history.run()
        assert (out.status, out.firings, history.forward()) == ("Exhausted", 40, None)
        assert to_outcome_record(out) == to_outcome_record(
            tl.run_graph(FIB, [6], schedule=history.schedule, limits=Limits(firings=40))
        )
        assert to_outcome_record(history.outcome()) == to_outcome_record(out)
        history.limits = Limits()
        assert to_outcome_record(history.run()) == to_outcome_record(tl.run_graph(FIB, [6], schedule=history.schedule))


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("until", ["quiet", "result", "trap"])
@pytest.mark.parametrize("schedule", ["waves", "lifo"])
@each_run
def test_logs(graph: Graph, arguments: list[Any], schedule: str, until: Until, tmp_path: Path) -> None:
    """A history writes the same log as the run, byte by byte, and can be read from it."""
    run_log, history_log, reloaded_log = (tmp_path / f"{name}.jsonl" for name in ("run", "history", "reloaded"))
    expected = tl.run_graph(graph, arguments, schedule=schedule, until=until, keep=run_log, unchecked=True)
    history = History(graph, arguments, schedule=schedule, unchecked=True)
    assert to_outcome_record(history.run(until)) == to_outcome_record(expected)
    history.jump(len(history) // 2)
    history.save(history_log)
    assert history_log.read_bytes() == run_log.read_bytes()
    loaded = History.load(history_log, spacing=3)
    assert loaded.position == len(loaded) == len(history) and loaded.choices == history.choices
    for position in range(len(loaded), -1, -1):
        assert state_fields(loaded.jump(position)) == state_fields(history.at(position))
    assert loaded.outcome().status == expected.status
    loaded.save(reloaded_log)
    assert reloaded_log.read_bytes() == run_log.read_bytes()


def test_an_exhausted_run_continues_from_its_log(tmp_path: Path) -> None:
    """A log that a limit ended has its ending, and the history read from it has no such limit."""
    path = tmp_path / "run.jsonl"
    tl.run_graph(FIB, [6], limits=Limits(firings=40), keep=path)
    loaded = History.load(path)
    assert (loaded.outcome().status, loaded.outcome().firings) == ("Exhausted", 40)
    assert to_outcome_record(loaded.run()) == to_outcome_record(tl.run_graph(FIB, [6]))
    loaded.save(path)
    assert to_outcome_record(loaded.outcome()) == tl.read_events(path).outcome


@pytest.mark.full
def test_a_log_that_was_cut_short(tmp_path: Path) -> None:
    """The history of a truncated log continues to the end of the whole run; an unfinished one is saved without an
    end."""
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    wanted = tl.run_graph(FIB, [6], schedule="random:3", keep=whole)
    lines = whole.read_bytes().splitlines(keepends=True)
    for length in range(1, len(lines), 17):
        cut.write_bytes(b"".join(lines[:length]))
        loaded = History.load(cut)
        events = sum(line.startswith(b'{"deliver"') for line in lines[:length])
        assert len(loaded) == events
        loaded.save(cut)
        assert len(tl.read_events(cut).events) == events and tl.read_events(cut).outcome is None
        assert to_outcome_record(loaded.run()) == to_outcome_record(wanted)


def test_options_are_in_the_log(tmp_path: Path) -> None:
    """Seed, bound and schedule come from the log, so that the run continues as it would have; a script counts as by
    hand."""
    path = tmp_path / "run.jsonl"
    history = History(lower(FILL), [3], seed=5, k=2, schedule="random:4")
    for _ in range(20):
        history.forward()
    history.save(path)
    loaded = History.load(path)
    assert (loaded.seed, loaded.bound, loaded.schedule) == (5, 2, "random:4")
    wanted = tl.run_graph(lower(FILL), [3], seed=5, k=2, schedule="random:4", world=tl.World(lambda line: None))
    assert to_outcome_record(loaded.run()) == to_outcome_record(wanted)
    write_script(Script(loaded.choices), tmp_path / "script.json")
    again = History(lower(FILL), [3], seed=5, k=2, schedule=f"hand:{tmp_path / 'script.json'}")
    assert (again.run().schedule, again.choices) == ("hand", loaded.choices)


@pytest.mark.full
def test_a_fork_by_choice_has_a_log(tmp_path: Path) -> None:
    """A fork by another choice is by hand and has a log; it returns the same, since results do not depend on schedules.
    A choice that the schedule makes too is not by hand."""
    path = tmp_path / "run.jsonl"
    for history in histories("waves", "fifo"):
        history.run()
        history.jump(20)
        assert history.choose(0).run().schedule == history.schedule
        branch = history.choose(len(history.state.flight) - 1)
        out = branch.run()
        assert (out.schedule, out.value, out.stats.profile) == ("hand", 8, None)
        branch.save(path)
        log = tl.read_events(path)
        assert (log.schedule, log.outcome) == ("hand", to_outcome_record(out))
        assert [event.position for event in log.events] == list(branch.choices)
        loaded = History.load(path)
        loaded.jump(7)
        assert loaded.branch().run().value == 8
        branch.jump(10)
        assert branch.branch().run().schedule == history.schedule, "before the choice, nothing was by hand"


def test_an_edited_argument_is_a_what_if(tmp_path: Path) -> None:
    """An edited argument gives the run on that argument, as a what-if without a log."""
    history = History(FIB, [6])
    assert history.run().value == 8
    history.jump(0)
    branch = history.change(0, 7)
    while branch.back() or branch.position:
        pass
    out = branch.run()
    assert (out.status, out.value, out.schedule, out.stats.span) == ("Returned", 13, "what-if", None)
    assert (branch.parent, branch.fork_position, history.children) == (history, 0, (branch,))
    assert "with 7 instead of 6 on port 0 of node" in str(branch)
    with pytest.raises(tl.Usage, match="a fork with an edit has no"):
        branch.save(tmp_path / "run.jsonl")
    assert history.outcome().value == 8 and [edit.value for _, edit in branch.edits] == [7]


def test_a_trap_names_the_edit_that_caused_it() -> None:
    """A trap that an edit caused says so."""
    history = History(mean.graph, [[1.0], 2])
    assert history.run().status == "Returned"
    (division,) = history.graph.find("floor_divide")
    number = next(n for n, event in enumerate(history) if event.token.node == division)
    history.jump(number)
    out = history.change(history[number].position, 0).run()
    assert out.status == "Trapped" and out.error is not None
    assert any("what if, after" in note and "0 instead of 2" in note for note in out.error.__notes__)


def test_a_waiting_token_can_be_edited() -> None:
    """Tokens that wait in the store can be edited too, in a record of the fork's own."""
    history = History(FIB, [6])
    assert history.forward_to(lambda state, event: not event.is_firing) is not None
    before = state_fields(history.state)
    ((tag, number, port),) = (
        (tag, number, port)
        for tag, record in history.state.records.items()
        for number, held in record.waiting_operands.items()
        for port in held
    )
    branch = history.change(TokenSlot(number, port, tag), history.state.records[tag].waiting_operands[number][port])
    assert state_fields(branch.state) == before == state_fields(history.state)
    other = history.change(TokenSlot(number, port, tag), 0)
    assert state_fields(other.state) != before == state_fields(history.state) == state_fields(branch.state)
    with pytest.raises(tl.Usage, match="no token waits"):
        history.change(TokenSlot(number, 7, tag), 1)


def test_an_edit_has_the_port_s_type() -> None:
    """The new value has the port's type, in canonical form; anything else is refused with the port's name."""
    history = History(mean.graph, [[1.0, 2.0], 3])
    (place,) = (n for n, token in enumerate(history.state.flight) if not isinstance(token.value, int))
    assert history.change(place, [3, 4, 5]).state.flight[place].value.tolist() == [3.0, 4.0, 5.0]  # type: ignore[union-attr]
    for wrong in (True, 3, [[1.0]], "x"):
        with pytest.raises(tl.Usage, match=r"the token for port \d of node mean\.") as raised:
            history.change(place, wrong)
        assert wrong == "x" or raised.value.required is not None
    assert history.children == ()


def test_a_token_is_named_by_node_port_and_tag() -> None:
    """A node, a port and a tag name a token, in flight or waiting."""
    history = History(FIB, [6])
    assert history.forward_to(lambda state, event: event.token.tag is not ROOT and not event.is_firing) is not None
    event = history[-1]
    (slot, token), flying = (TokenSlot(*event.token[:3]), event.token), history.state.flight[-1]
    for number, port, tag, value in (token, flying):
        for under in (tag, str(tag)):
            changed = history.change((str(FIB.nodes[number]), port, under), other_value(value))
            assert changed.edit is not None and changed.edit.token == (number, port, tag, value)
    same = history.change((str(FIB.nodes[slot.node]), slot.port, slot.tag), token.value)
    assert same.edit == (slot, token, token.value)
    for missing in (("fib.add", 7, "main"), TokenSlot(slot.node, 7, slot.tag)):
        with pytest.raises(tl.Usage, match=r"no token waits at port 7 of node fib\.[.\w]+, or is in flight"):
            history.change(missing, 1)
    with pytest.raises(tl.Usage):
        history.change(("fib.no", 0, "main"), 1)
    with pytest.raises(tl.Usage, match="no call or loop"):
        history.change(("fib.add", 0, "main/no"), 1)


def test_a_history_is_a_sequence_of_events() -> None:
    """A history is a sequence of its events, with negative indices and slices, across forks."""
    history = History(FIB, [6], spacing=10)
    history.run()
    history.jump(7)
    branch = history.choose(1)
    branch.run()
    for each in (history, branch):
        events = list(each)
        assert each[-1] is events[-1] and each[-len(each)] is events[0]
        for part in (slice(2, 4), slice(-5, None), slice(None, None, -1), slice(3, 30, 7), slice(9, 2)):
            assert each[part] == tuple(events[part])


@pytest.mark.full
def test_an_edit_may_break_a_valid_graph() -> None:
    """An edit of a predicate at one switch only may break S4 in a valid graph: the what-if ends so, and the machine is
    not at fault."""
    history = History(quotients.trace(3).graph, [3])
    history.run()
    statuses = set()
    for position in range(len(history)):
        history.jump(position)
        for place, token in enumerate(history.state.flight):
            if isinstance(token.value, bool):
                branch = history.change(place, not token.value)
                branch.limits = Limits(firings=500)
                statuses.add(branch.run().status)
                assert state_fields(branch.at(position)) == state_fields(replay_state(branch, position))
    assert "Deadlocked" in statuses or "Broken" in statuses


@pytest.mark.full
def test_forks_nest() -> None:
    """Forks nest a thousand deep over the pasts of all ancestors. A fork made in its parent's past belongs to the
    history that ran there. Unreferenced forks are freed."""
    first = History(FIB, [6], spacing=10)
    first.run()
    chain = [first]
    for position in range(1000):
        chain[-1].jump(min(position, len(first)) // 4)
        chain.append(chain[-1].branch())
        chain[-1].forward()
    last = chain[-1]
    assert to_outcome_record(last.run()) == to_outcome_record(first.outcome()) and last.choices == first.choices
    last.jump(3)
    early = last.branch("early")
    assert early.parent is not None and early.parent.fork_position <= 3 and early.name == "early"
    assert early in early.parent.children
    parent = early.parent
    del early
    assert all(child.name != "early" for child in parent.children)
    assert [branch.name for branch in [first.branch() for _ in range(3)]] == ["fib.2", "fib.3", "fib.4"]
    kept = first.branch()
    assert first.children[-1] is kept and len(first._children) == 2, "those that are gone take no room"


def test_forks_have_names() -> None:
    """A fork has its parent's name and a number, unless it is given a name."""
    history = History(FIB, [6])
    one, two = history.branch(), history.branch("late")
    assert (history.name, one.name, two.name, one.branch().name) == ("fib", "fib.1", "late", "fib.1.1")
    assert (history.choose(0, "first").name, history.change(0, 3, "other").name) == ("first", "other")
    assert repr(two) == f"<{two}>"
    assert str(history) == "fib: at 0 of 0 events" and str(two) == "late: at 0 of 0 events, a fork of fib from 0 on"


@pytest.mark.full
def test_an_interrupted_history_is_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C at any moment of a step or jump, the known events agree with replay and continue to the same end."""
    for method, owner in (
        ("apply", State),
        ("revert", State),
        ("observe", Meter),
        ("_add_keyframe", stretch.HistorySegment),
    ):
        for after in range(5):
            history = History(FIB, [6], spacing=9)
            with monkeypatch.context() as patch:
                _interrupt(patch, owner, method, after)
                with pytest.raises(KeyboardInterrupt):
                    for length in range(200):
                        history.jump(max(0, len(history) - 4))
                        history.jump(len(history))
                        for _ in range(length % 5):
                            history.forward()
            assert state_fields(history.state) == state_fields(replay_state(history, history.position))
            assert to_outcome_record(history.run()) == to_outcome_record(tl.run_graph(FIB, [6]))
            for position in range(0, len(history), 41):
                assert state_fields(history.at(position)) == state_fields(replay_state(history, position))


def test_near_positions_need_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A near position is reached without forking a state; a far one from a keyframe."""
    history, done = History(FIB, [6], spacing=50), []
    history.run()
    history.jump(80)
    for method in ("apply", "revert", "fork"):
        true = getattr(State, method)
        note = partial(lambda true, method, *arguments: (done.append(method), true(*arguments))[1], true, method)
        monkeypatch.setattr(State, method, lambda *arguments, note=note: note(*arguments))
    for position, expected in (
        (81, ["apply"]),
        (80, ["revert"]),
        (85, ["apply"] * 5),
        (95, ["apply"] * 10),
        (93, ["revert"] * 2),
        (3, ["fork", "apply", "apply", "apply"]),
        (49, ["fork", "revert"]),
    ):
        done.clear()
        history.jump(position)
        assert done == expected, position


def test_an_event_that_breaks_the_state_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of an invalid graph that breaks the state itself ends before that event."""
    graph, arguments = RUNS[8]
    history, true_apply = History(graph, arguments, unchecked=True, schedule="fifo"), State.apply

    def breaking(self: State, event: Any) -> None:
        if self.steps == 1:
            self.flight.rotate()
            self.waiting_count += 1
            raise ValueError
        true_apply(self, event)

    with monkeypatch.context() as patch:
        patch.setattr(State, "apply", breaking)
        out = history.run()
    assert (out.status, out.stats.steps, len(history)) == ("Broken", 1, 1)
    assert state_fields(history.state) == state_fields(replay_state(history, 1)) == state_fields(history.at(1))


def _interrupt(patch: pytest.MonkeyPatch, owner: type, method: str, after: int) -> None:
    true, calls = getattr(owner, method), 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == after * 2 + 3:
            if after % 2:
                true(*arguments)
            raise KeyboardInterrupt
        return true(*arguments)

    patch.setattr(owner, method, interrupted)


@pytest.mark.full
@pytest.mark.usefixtures("unfrozen")
def test_frozen_events_are_unfrozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long history freezes its events in the garbage collector, and unfreezes them with its last fork."""
    monkeypatch.setattr(stretch, "LONG_HISTORY", 50)
    assert gc.get_freeze_count() == 0
    history = History(FIB, [6], spacing=10)
    while len(history) < 49:
        history.forward()
    assert gc.get_freeze_count() == 0
    while len(history) < 60:
        history.forward()
    before = gc.get_freeze_count()
    assert before > 0, "at a keyframe"
    history.jump(5)
    branch: History | None = history.branch()
    assert branch is not None and gc.get_freeze_count() > before, "at a jump"
    history.run()
    del history
    assert gc.get_freeze_count() > 0
    branch = None
    assert gc.get_freeze_count() == 0 and branch is None


@pytest.mark.full
@pytest.mark.usefixtures("unfrozen")
def test_other_freezes_are_respected() -> None:
    """Histories freeze no objects if the collector is off, or if something is frozen already."""
    owner = History(FIB, [6])
    gc.freeze()
    count = gc.get_freeze_count()
    segment.freeze_objects(owner)
    assert gc.get_freeze_count() <= count
    gc.unfreeze()
    gc.disable()
    segment.freeze_objects(owner)
    gc.enable()
    assert gc.get_freeze_count() == 0


def jumps(n: int, count: int = 200) -> None:
    """The durations of random jumps over the run of fib(n), with Python's collector on."""
    assert gc.isenabled()
    graph = of_paper("recursion", "fib").fib.trace(n).graph
    before, began = memory(), time.perf_counter()
    history = History(graph, [n])
    history.run()
    took, dice, times = time.perf_counter() - began, random.Random(n), []
    for _ in range(count):
        position = dice.randrange(len(history))
        began = time.process_time()
        history.jump(position)
        times.append(1000 * (time.process_time() - began))
        assert history.state.steps == position
    print(
        f"fib({n}): {len(history):,} events in {took:.1f} s; {count} jumps take {sorted(times)[count // 2]:.1f} ms at "
        f"the median, {max(times):.1f} ms at most; {memory() - before:.0f} MB"
    )
    assert max(times) < 50


def memory() -> float:
    """The memory of this process in MB; 0 if the system does not report it."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 / 2**20 if status.exists() else 0.0


@pytest.mark.full
def test_jumps_are_quick() -> None:
    """Any event of a run of 23,000 is reached within 50 ms of processor time."""
    jumps(15)


@pytest.mark.heavy
def test_jumps_over_a_million_events_are_quick() -> None:
    """Any event of a run of a million is reached within 50 ms of processor time."""
    jumps(23)
