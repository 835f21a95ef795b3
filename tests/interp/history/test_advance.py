"""Histories at their end: how a run ends there, how it continues after a deviation, and that its memory is freed."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest
import tagloom as tl
from support.generators.json_edits import fib
from support.laws.history_laws import replay_state, state_fields
from support.programs.hand_written_graphs import race
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history import fast_forward
from tagloom.interp.history import segment as stretch
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.queries.index import EventIndex
from tagloom.interp.records.documents import to_outcome_record

FIB = fib.trace(6).graph


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]


def press(*arguments: Any) -> bool:
    """Send Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
    return False


def history_with_a_query(history: History) -> None:
    history.run()
    assert history.ask.tree("add")


def exhausted_history(history: History) -> None:
    history.limits = Limits(firings=100)
    assert history.run().status == "Exhausted"


def interrupted_history(history: History) -> None:
    history.jump(0)
    assert (
        history.forward_to(lambda state, event: state.steps == 70 and press()) is None
        and history.outcome().status == "Exhausted"
    )


def history_of_a_broken_run(history: History) -> None:
    with pytest.raises(ZeroDivisionError):
        history.forward_to(lambda state, event: state.steps > 60 and 1 // 0 > 0)


def history_with_a_fork(history: History) -> None:
    history.run()
    branch = history.jump(50) and history.change(0, history.state.flight[0].value)
    assert branch.run() and branch.ask.index and history.children == (branch,)


@pytest.mark.full
@pytest.mark.usefixtures("handled", "unfrozen")
@pytest.mark.parametrize(
    "happens",
    [history_with_a_query, exhausted_history, interrupted_history, history_of_a_broken_run, history_with_a_fork],
)
def test_a_long_history_is_freed(happens: Callable[[History], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A history is freed with its last reference, whatever it was asked and however it ended, and no object stays
    frozen in the garbage collector."""
    monkeypatch.setattr(stretch, "LONG_HISTORY", 50)
    history = History(FIB, [6], spacing=10)
    happens(history)
    assert gc.isenabled() and gc.get_freeze_count() > 0
    gone = ref(history)
    del history
    assert gone() is None and gc.get_freeze_count() == 0


def test_indexed_events_are_not_indexed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that were indexed for a query are not indexed again, neither after going back nor in a fork."""
    history, indexed, see = History(FIB, [6]), [], EventIndex.add
    monkeypatch.setattr(EventIndex, "add", lambda self, event: (indexed.append(event), see(self, event))[1])
    history.run()
    assert len(history.ask.index) == len(indexed) == len(history)
    history.jump(9)
    branch = history.branch()
    assert len(history.ask.index) == len(branch.ask.index) == 9
    branch.deliver(len(branch.state.flight) - 1)
    assert branch.ask.index.events == [*history[:9], branch[9]] and len(history.ask.index) == 9
    assert indexed == [*history, branch[9]]


def test_a_limit_ends_a_search() -> None:
    """One search over new events is one run: seconds end it, its limit on firings is exact, and it can continue
    later."""
    history = endless.history(1, limits=Limits(seconds=0.1))
    begun = time.monotonic()
    assert history.forward_to(lambda state, event: False) is None
    assert 0.1 <= time.monotonic() - begun < 5 and history.position == len(history) > 10
    error = history.outcome().error
    assert isinstance(error, tl.Exhausted) and error.limit == "seconds"
    history.limits = Limits(firings=history.outcome().firings + 3)
    length = len(history)
    assert history.forward_to("trap != ''") is None and len(history) > length
    assert history.outcome().status == "Exhausted"


def test_a_search_sets_up_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search goes through known events one by one, and runs once from their end on; its position is right."""
    history, calls, places = History(FIB, [6]), [], []
    true_go_on = History._drive
    monkeypatch.setattr(History, "_drive", lambda self, *how: (calls.append(len(self)), true_go_on(self, *how))[1])
    for _ in range(10):
        history.forward()
    history.jump(5)
    calls.clear()

    def wanted(state: State, event: Event) -> bool:
        places.append((history.position, state is history.state, history[history.position - 1] is event))
        return state.steps == 30

    assert history.forward_to(wanted) is history[29] and (history.position, len(history)) == (30, 30)
    assert calls == [10] and places == [(position, True, True) for position in range(6, 31)]
    assert state_fields(history.state) == state_fields(replay_state(history, 30))
    with pytest.raises(ZeroDivisionError):
        history.forward_to(lambda state, event: 1 // 0 > 0)
    assert (history.position, len(history)) == (31, 31) and state_fields(history.state) == state_fields(
        replay_state(history, 31)
    )
    assert to_outcome_record(history.run()) == to_outcome_record(tl.run_graph(FIB, [6]))


def test_errors_of_callbacks_are_raised_unchanged() -> None:
    """An error of a caller's callback is raised unchanged even if the graph is invalid."""
    history = History(FIB, [6])
    branch = history.change(0, 5)
    with pytest.raises(ZeroDivisionError):
        branch.forward_to(lambda state, event: 1 // 0 > 0)
    assert branch.run().value == 5


@pytest.mark.usefixtures("handled")
def test_no_ctrl_c_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a search, even at the event that it looks for; a single step is completed, and raises
    KeyboardInterrupt."""
    history = History(FIB, [6])
    assert history.forward_to(lambda state, event: press() or True) is None and len(history) == 1
    error = history.outcome().error
    assert isinstance(error, tl.Exhausted) and error.limit == "interrupt"
    true_apply = State.apply
    with monkeypatch.context() as patch:
        patch.setattr(State, "apply", lambda self, event: (true_apply(self, event), press())[0])
        for length, move in enumerate((history.forward, lambda: history.deliver(0)), 2):
            with pytest.raises(KeyboardInterrupt):
                move()
            assert (history.position, len(history)) == (length, length)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(tl.Usage, match="is not over"):
        history.outcome()
    assert to_outcome_record(history.run()) == to_outcome_record(tl.run_graph(FIB, [6]))


@pytest.mark.usefixtures("handled")
def test_ctrl_c_at_the_end_of_a_continued_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ending in a log is not that of the run that continued it, even if Ctrl-C came at its end."""
    tl.run_graph(FIB, [6], limits=Limits(firings=50), keep=tmp_path / "begun.jsonl")
    history, apply = History.load(tmp_path / "begun.jsonl"), State.apply
    monkeypatch.setattr(State, "apply", lambda self, event: (apply(self, event), self.flight or press())[0])
    with pytest.raises(KeyboardInterrupt):
        history.run()
    monkeypatch.undo()
    history.save(tmp_path / "whole.jsonl")
    assert tl.read_events(tmp_path / "whole.jsonl").outcome == to_outcome_record(tl.run_graph(FIB, [6]))


def test_choices_count_as_by_hand_only_if_they_happened() -> None:
    """A choice that a limit prevented changes nothing; one that broke the run counts as made by hand."""
    history = History(FIB, [6])
    history.forward()
    history.limits = Limits(tokens=1)
    assert history.deliver(1) is None and history.outcome().status == "Exhausted"
    history.limits = Limits()
    assert to_outcome_record(history.run()) == to_outcome_record(tl.run_graph(FIB, [6]))

    history = History(race("add", 2), [1, 2, 3], schedule="lifo", unchecked=True)
    for position, schedule in ((0, "hand"), (-1, "lifo")):
        broken = history.branch()
        broken.forward_to("fired")
        broken.deliver(position % len(broken.state.flight))
        out = broken.run()
        assert (out.status, out.schedule) == ("Broken", schedule)


CALLING = """
func calling(n: int64) -> int64 {
  a = callback n, function="twice", returns=int64
  b = add a, n
  return b
}
"""


@pytest.mark.parametrize("then", ["fifo", "lifo", "random:3"])
def test_a_deviation_ends_the_script(then: str) -> None:
    """After another choice than the script's, or an edit, the schedule after the script continues."""
    script = tl.Script(choices("lifo")[:60], then=then)
    history = History(FIB, [6], schedule=script)
    for _ in range(20):
        history.forward()
    other = next(n for n in range(len(history.state.flight)) if n != script.positions[20])
    strayed, edited = history.choose(other), history.change(0, history.state.flight[0].value)
    same = history.choose(script.positions[20])
    for branch in (strayed, edited):
        branch.run()
        result = tl.Script(branch.choices[: 20 + (branch is strayed)], then=then)
        assert branch.choices == choices(result)
    same.run()
    strayed.jump(20)
    back = strayed.branch()
    back.run()
    assert same.choices == back.choices == choices(script)


def choices(schedule: str | tl.Script) -> tuple[int, ...]:
    """The positions that a run by a schedule takes."""
    history = History(FIB, [6], schedule=schedule)
    history.run()
    return history.choices


def test_a_history_as_a_script(tmp_path: Path) -> None:
    """A history's choices as a script, with the schedule after them, give the same run; an edit cannot be in a
    script."""
    for schedule in ("waves", "lifo", "random:5"):
        history = History(FIB, [6], schedule=schedule)
        for _ in range(30):
            history.forward()
        script = history.script()
        assert (len(script.positions), script.then) == (30, schedule) and choices(script) == choices(schedule)
        assert history.choose(len(history.state.flight) - 1).script().then == schedule
        assert History(FIB, [6], schedule=script).script().then == schedule
    with pytest.raises(tl.Usage, match="no script"):
        history.change(0, history.state.flight[0].value).script()
    history.choose(0).save(tmp_path / "run.jsonl")
    assert History.load(tmp_path / "run.jsonl").script().then == "fifo"


def test_a_log_has_no_callbacks(tmp_path: Path) -> None:
    """A loaded history that needs callbacks refuses to continue before anything happens; `world` provides them."""
    graph, path = lower(tl.parse_program(CALLING)), tmp_path / "run.jsonl"
    world = tl.World(callbacks={"twice": lambda n: 2 * n})
    History(graph, [3], world=world).run()
    tl.run_graph(graph, [3], world=world, keep=path)
    loaded = History.load(path)
    assert loaded.run().value == 9, "all has happened"
    loaded.jump(1)
    branch = loaded.branch()
    for going_on in (branch.run, branch.forward, lambda: branch.deliver(0), lambda: branch.forward_to("fired")):
        with pytest.raises(tl.Usage, match="no function is given for callback twice"):
            going_on()
    assert len(branch) == 1
    branch.world = world
    assert branch.run().value == 9
    given = History.load(path, world=tl.World(callbacks={"twice": lambda n: 3 * n}))
    given.jump(0)
    assert given.branch().run().value == 12


@tl.function
def stopping(n: tl.int64) -> tl.int64:
    def body(i: Any, s: Any) -> Any:
        tl.breakpoint(i == 2)
        return i + 1, s + i

    return tl.while_loop(lambda i, s: i < n, body, 0, 0)[1]


def breakpoints(graph: Any, **details: Any) -> tuple[tl.Breakpoints, int]:
    """A breakpoint and a logpoint at each addition."""
    stops = tl.Breakpoints()
    number = stops.add(tl.breakpoint_on(graph, "op == 'add' and fired", **details))
    stops.add(tl.breakpoint_on(graph, "op == 'add' and fired", log="{inputs[0]} + {inputs[1]}"))
    return stops, number


@pytest.mark.full
@pytest.mark.parametrize("known", [0, 60, 400])
def test_breakpoints_stop_a_history(known: int) -> None:
    """Breakpoints stop a history over known and new events, in both directions, with the lines of logpoints; ignored
    hits are counted from the beginning."""
    expected = [number + 1 for number, event in enumerate(run(FIB)) if event.is_firing and is_add(event)]
    history = run(FIB, known)
    history.jump(0)
    stops, number = breakpoints(FIB)
    assert [history.position for _ in iter(lambda: history.forward_to(stops), None)] == expected
    added = [run(FIB)[at - 1].inputs for at in expected]
    assert [line.text for line in stops.lines] == [f"{a} + {b}" for a, b in added if a is not None]
    assert stops.hits(number, len(history)) == len(expected) == stops.hits(number + 1, len(history))
    back = [history.position + 1 for _ in iter(lambda: history.back_to(stops), None)]
    assert back == expected[::-1] and len(stops.lines) == len(expected), "nothing is said on the way back"
    history = run(FIB, known)
    for ignoring in (3, 9):
        stops, number = breakpoints(FIB, ignore=ignoring)
        history.jump(min(expected[4], len(history)))
        there = sum(at <= history.position for at in expected)
        assert history.forward_to(stops) is not None
        assert (
            history.position == expected[max(ignoring, there)] and stops.hits(number, 10**6) == max(ignoring, there) + 1
        )
    history.run()
    stops, number = breakpoints(FIB, ignore=5)
    back = [history.position + 1 for _ in iter(lambda: history.back_to(stops), None)]
    assert back == expected[:4:-1] and history.position == 0 and stops.hits(number, 10**6) == len(expected)


def run(graph: Any, most: int = 10**6) -> History:
    history = History(graph, [6], spacing=10)
    while len(history) < most and history.forward() is not None:
        pass
    return history


def is_add(event: Event) -> bool:
    return FIB.nodes[event.token.node].op == "add"


def test_breakpoints_of_the_program() -> None:
    """Without a condition, a history stops at the program's breakpoints; without any, at the end."""
    history = stopping.history(5)
    for _ in range(2):
        event = history.forward_to()
        assert event is not None and history.graph.nodes[event.token.node].op == "breakpoint"
        assert history.forward_to() is None and history.outcome().value == 10
        assert history.back_to() is event and history.back_to() is None
    plain = History(FIB, [6])
    assert plain.forward_to() is None and plain.outcome().value == 8


def test_wrong_options_are_refused() -> None:
    """A history refuses the options that a run refuses, with the same message, before it begins."""
    with pytest.raises(tl.Usage, match=r"limits must be tl\.Limits"):
        fib.history(4, limits=5)  # type: ignore[arg-type]
    for spacing in (0, -1, 2.5, True):
        with pytest.raises(tl.Usage, match="spacing"):
            History(FIB, [6], spacing=spacing)  # type: ignore[arg-type]
    history = fib.history(4)
    with pytest.raises(tl.Usage, match="until cannot be 'ever'"):
        history.run("ever")  # type: ignore[arg-type]
    history.limits = 5  # type: ignore[assignment]
    with pytest.raises(tl.Usage, match=r"limits must be tl\.Limits"):
        history.run()
    texts = []
    for method in (stopping.run, stopping.history):
        with pytest.raises(tl.Usage, match="argument n of stopping") as raised:
            method("x")
        texts.append(str(raised.value).replace(str(raised.value.where), "HERE"))
        assert Path(__file__).name in str(raised.value.where)
    assert texts[0] == texts[1]

    @tl.function
    def outer(n: tl.int64) -> tl.int64:
        stopping.history(n)
        return n

    with pytest.raises(tl.Usage, match=r"stopping\.history cannot be traced"):
        outer(3)


@pytest.mark.full
@pytest.mark.parametrize(("size", "is_kept"), [(2, True), (100, False)])
def test_keyframes_hold_few_bytes(size: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast machine saves no keyframe while its arrays take more memory than one may have."""
    monkeypatch.setattr(fast_forward, "MAX_KEYFRAME_BYTES", 400)

    @tl.function
    def repeat(x, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x * 0.5
        return x

    history = repeat.history(np.ones(size), 20_000)
    history.fast_forward(100_000)
    assert bool(history._machine_keyframes) == is_kept
