"""Fast-forwarding in a session: its replies, what it knows, and going back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from onscreen import Screen, shown
from pytest import MonkeyPatch
from support.laws.fast_forward_laws import near
from tagloom.core.errors import Usage
from tagloom.core.tag import ROOT
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.fast.run import RunMonitor
from tagloom.interp.engines.limits import external_limit_error
from tagloom.interp.history.history import History
from tagloom.tui.panes.inspector import inspector_page
from tagloom.tui.panes.timeline import build_timeline
from tagloom.tui.panes.tokens import tags_page
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.tui.session import fast_forward as far
from tagloom.tui.session import node
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.session import Session

FIB = str(Path(__file__).resolve().parents[3] / "papers_examples/recursion/fib.py")


def session_of(number: str, target: str = FIB, **options: Any) -> Session:
    session = new_session(StartOptions(**options))
    session.load_run(RunRequest(target, (number,), session.options))
    return session


def reply_lines(session: Session, line: str) -> str:
    reply = session.execute(line)
    assert reply.ok, reply.text
    return "\n".join(reply.text)


@pytest.mark.full
def test_goto_a_far_event() -> None:
    """After a far `goto`, the events before the position are known and no others. Steps work in both directions, and
    undo, a number, or the reverse of a command lead back to the earlier position."""
    session = session_of("22", schedule="lifo")
    assert "the fast machine skipped ahead: events are known from 380,000 on" in reply_lines(session, "goto 400000")
    history = session.history
    assert (history.base, history.position, history.state.steps) == (380_000, 400_000, 400_000)
    first = history.state.snapshot()
    assert "400,001 events" in reply_lines(session, "event") and "400,000 events" in reply_lines(session, "event-back")
    assert "known from 380,000 on" in build_timeline(session, 80, 2).subtitle
    assert "381,000" in reply_lines(session, "goto 381000") and session.history is history
    reply_lines(session, "event-back")
    assert history.base == 375_000 and "380,999" in reply_lines(session, "where")
    reply_lines(session, "goto 300000")
    assert history.base == 280_000 and session.history is history and len(history) == 400_001
    reply_lines(session, "start")
    assert session.history.base == 0 and len(session.history) == 0
    for _ in range(4):
        reply_lines(session, "undo")
    assert session.history.position == 400_000 and session.history.state.snapshot() == first


@pytest.mark.full
def test_the_end_and_a_breakpoint(monkeypatch: MonkeyPatch) -> None:
    """`run` goes to the end, with the outcome and statistics of the run; `continue` goes to the first hit, or says why
    every event was stepped."""
    near(monkeypatch)
    session, ordinary = session_of("7"), session_of("7", whole=True)
    for each in (session, ordinary):
        assert "it is over" in reply_lines(each, "run")
    assert session.history.base > 0 == ordinary.history.base
    assert session.execute("stats").data == ordinary.execute("stats").data
    assert session.execute("outcome").text == ordinary.execute("outcome").text
    assert "the events of this run are not all known" in session.execute("compare --schedule lifo").text[0]
    session = session_of("7")
    reply_lines(session, "break trap")
    assert "it is over" in reply_lines(session, "continue") and session.history.base > 0
    session = session_of("7")
    reply_lines(session, "break value == -1")
    assert "it is over" in reply_lines(session, "continue") and session.history.base > 0
    session = session_of("7")
    reply_lines(session, "break store == -1")
    assert "every event was stepped: breakpoint 1 depends on what happens to a token after the event" in reply_lines(
        session, "continue"
    )
    assert session.history.base == 0


def test_hits_on_the_way(monkeypatch: MonkeyPatch) -> None:
    """Hits that the fast machine passes are counted: ignore counts work, log points print every line, and `breaks`
    counts from the beginning, or, after a jump, from there."""
    near(monkeypatch)
    session, ordinary = session_of("7", schedule="lifo"), session_of("7", schedule="lifo", whole=True)
    for each in (session, ordinary):
        reply_lines(each, "break op == 'add' and fired and value > 1 ignore 6")
        reply_lines(each, 'log value <= 3 and not fired "{step}: {value} under {tag}"')
    replies = [each.execute("continue").data for each in (session, ordinary)]
    assert replies[0] == {**replies[1], "base": session.history.base, "known": len(session.history)}
    assert session.history.base > 0 and replies[0]["hits"] == [
        "  breakpoint 1: op == 'add' and fired and value > 1, ignores 6 hits"
    ]
    assert len(replies[0]["logged"]) > 1
    assert session.execute("breaks").text == ordinary.execute("breaks").text
    session = session_of("7", schedule="lifo")
    reply_lines(session, "break op == 'add' and fired"), reply_lines(session, "goto 250")
    assert "since event 242" in reply_lines(session, "breaks") and "since" not in reply_lines(ordinary, "breaks")


@pytest.mark.full
def test_a_breakpoint_on_a_value_far_ahead() -> None:
    """A breakpoint on values in a run of ten million events is found at once, by the fast machine."""
    session = session_of("33", schedule="lifo")
    reply_lines(session, "break value == 317811 and op == 'add' and fired")
    assert "breakpoint 1" in reply_lines(session, "continue")
    assert session.history.position > 1_000_000
    assert session.history.last_event is not None and session.history.last_event.outputs[0][1] == 317_811


def press_after(events: int, monkeypatch: MonkeyPatch) -> None:
    """Presses Escape when the fast machine has come this far."""
    go_ahead = History._run_machine

    def pressed(self: History, run: Any, goal: Any, stops: Any) -> Any:
        go_ahead(self, run, events, stops)
        return far_interrupt(self)

    monkeypatch.setattr(History, "_run_machine", pressed)


@pytest.mark.full
def test_escape_without_a_goal(monkeypatch: MonkeyPatch) -> None:
    """Escape on the way to the end stops at the position, and the session does not continue by itself."""
    near(monkeypatch)
    session = session_of("20", schedule="lifo")
    press_after(30_000, monkeypatch)
    reply = session.execute("run")
    assert not reply.ok and "interrupted after 30,000 events" in reply.text[0]
    session = session_of("20", schedule="lifo")
    reply_lines(session, 'log value == 5 and fired "{step}"')
    reply = session.execute("continue")
    assert not reply.ok and "interrupted after 30,000 events" in reply.text[0]
    lines = [int(line) for line in reply.text if line.isdecimal()]
    assert lines and lines == sorted(lines) and lines[-1] <= 30_000, "what log points had said by then is said"


@pytest.mark.full
@pytest.mark.parametrize("command", ["run", "continue", "goto 60000"])
def test_a_machine_that_was_interrupted_goes_on(command: str, monkeypatch: MonkeyPatch) -> None:
    """Where reading the state would take long, Escape leaves the session where it is, and says where the fast machine
    waits. The same command goes on from there, and ends as it would have without Escape; a command with another goal
    begins anew."""
    near(monkeypatch)
    monkeypatch.setattr("tagloom.interp.history.fast_forward.MAX_LATE_TOKENS", -1)
    breakpoint_line = "break value == 4181 and op == 'add' and fired"
    session, ordinary = session_of("19", schedule="lifo"), session_of("19", schedule="lifo")
    for each in (session, ordinary):
        reply_lines(each, breakpoint_line)
    press_after(30_000, monkeypatch)
    reply = session.execute(command)
    monkeypatch.undo()
    assert not reply.ok and "the fast machine paused at 30,000 events" in reply.text[1]
    assert session.history.position < 30_000 and session.history.paused_position == 30_000
    begun, start_machine = list[int](), History._start_machine

    def counted(self: History, *given: Any) -> Any:
        run = start_machine(self, *given)
        begun.append(run.steps)
        return run

    near(monkeypatch)
    monkeypatch.setattr(History, "_start_machine", counted)
    steps, step = list[float](), far.run_until

    def recorded(history: History, is_match: Any, most: float = inf) -> bool:
        steps.append(most - len(history))
        return step(history, is_match, most)

    monkeypatch.setattr(far, "run_until", recorded)
    lines = reply_lines(session, command)
    assert command == "goto 60000" or steps[0] == 0, "the reference machine takes no steps before the fast one goes on"
    monkeypatch.setattr(far, "run_until", step)
    assert begun == ([] if command == "goto 60000" else begun[:1]), "one machine for the window before the end, at most"
    assert session.history.paused_position is None
    assert lines == reply_lines(ordinary, command)
    assert session.history.position == ordinary.history.position
    assert session.history.state.firings_by_node == ordinary.history.state.firings_by_node


def test_reading_a_state_that_is_interrupted(monkeypatch: MonkeyPatch) -> None:
    """Escape while the state of the fast machine is read loses nothing: the machine waits where it was."""
    near(monkeypatch)
    session, read = session_of("15", schedule="lifo"), History._from_machine

    def pressed(self: History, run: Any, error: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(History, "_from_machine", pressed)
    reply = session.execute("goto 9000")
    monkeypatch.setattr(History, "_from_machine", read)
    assert not reply.ok and session.history.paused_position is not None
    reply_lines(session, "goto 9000")
    assert session.history.position == 9000


@pytest.mark.parametrize("limit", ["bytes", "seconds"])
def test_a_large_state_is_not_read_after_a_limit(limit: str, monkeypatch: MonkeyPatch) -> None:
    """Where a limit ends the fast machine, and reading its state would take long or exceed the limit on memory, the
    session stays where it is, and says why. The machine waits, and goes on with a higher limit; but one that would
    exceed the limit on memory frees its memory, so that the session can go on."""
    near(monkeypatch)
    session, ordinary = session_of("19", schedule="lifo"), session_of("19", schedule="lifo")
    monkeypatch.setattr("tagloom.interp.history.fast_forward.MAX_LATE_TOKENS", -1)
    if limit == "bytes":
        monkeypatch.setattr("tagloom.interp.history.fast_forward.STATE_BYTES", 2**60)
    else:
        reached = lambda self, store: "seconds" if store.registers[Register.STEPS] > 30_000 else None  # noqa: E731
        monkeypatch.setattr(RunMonitor, "exceeded_limit", reached)
    reason = f"on {'bytes of memory' if limit == 'bytes' else 'time, in seconds'}"
    session.execute("run")
    assert len(session.history) > 1
    session.history.jump(1)
    missed, lines = session.execute("goto 60000").text, session.execute("run").text
    monkeypatch.undo()
    assert missed[0] == "event 60,000 was not reached" and reason in missed[1]
    paused = session.history.paused_position
    assert reason in "".join(lines) and session.history.position < 30_000
    assert (paused is None) == (limit == "bytes")
    assert paused is None or f"the fast machine paused at {paused:,} events" in lines[-1]
    near(monkeypatch)
    assert reply_lines(session, "run") == reply_lines(ordinary, "run") and session.history.paused_position is None
    assert session.history.state.firings_by_node == ordinary.history.state.firings_by_node


def test_a_fast_forward_forgets_an_earlier_stop() -> None:
    """An interrupt that stopped the run earlier does not stop a fast-forward that ends among known events."""
    history = session_of("9", limits=tl.Limits(firings=500)).history
    history.forward_to(lambda state, event: False)
    length, history._stop_error = len(history), external_limit_error("interrupt", history.limits)
    assert history.fast_forward(10**6) is history and history.stop_error is None
    history.run()
    assert len(history) == length and "on firings" in str(history.stop_error)


@pytest.mark.full
def test_a_wide_run_ends_at_its_limit_on_seconds(monkeypatch: MonkeyPatch) -> None:
    """A run with millions of open activations does not outlast its limit by the time that reading them takes."""
    near(monkeypatch)
    reply_lines(session_of("19"), "run")  # the fast machine is loaded
    session = session_of("60", limits=tl.Limits(seconds=0.5))
    start = time.process_time()
    lines = session.execute("run").text
    assert session.history.paused_position is not None and "exceeds the limit" in "".join(lines)
    assert time.process_time() - start < 1.5, "twice the limit: for the known events, and for the fast machine"


def test_undo_that_is_stopped(monkeypatch: MonkeyPatch) -> None:
    """An undo that is stopped changes nothing, and can be repeated."""
    session = session_of("5")
    reply_lines(session, "step 3"), reply_lines(session, "step 4")
    there = session.history.position

    def stopped(self: Any, situation: Any) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "_restore", stopped)
    assert not session.execute("undo").ok and session.history.position == there
    reply_lines(session, "undo")
    assert session.history.state.firings == 3


def test_a_fork_at_the_base(monkeypatch: MonkeyPatch) -> None:
    """A fork at the base knows what its run knows there, with the arguments."""
    near(monkeypatch)
    session = session_of("6", schedule="lifo")
    reply_lines(session, "goto 250"), reply_lines(session, "event-back 30")
    assert session.history.position == session.history.base
    before = session.run.index.activation(ROOT).arguments
    reply_lines(session, "fork")
    assert session.run.index.activation(ROOT).arguments == before != {}


def test_a_hit_far_ahead(monkeypatch: MonkeyPatch) -> None:
    """The hit at which the fast machine stops is the one that stepping finds."""
    near(monkeypatch)
    places = []
    for whole in (False, True):
        session = session_of("7", schedule="lifo", whole=whole)
        reply_lines(session, "break op == 'add' and fired and function == 'fib'")
        reply = session.execute("continue")
        places.append((session.history.position, session.history.last_event, reply.data["hits"]))
    assert places[0] == places[1] and places[0][0] > 40


def test_unknown_events_are_named(monkeypatch: MonkeyPatch) -> None:
    """A `why` ends at the base; a query without an answer says so; counts are those of the whole run."""
    near(monkeypatch)
    session = session_of("6", schedule="lifo")
    reply_lines(session, "goto 250")
    assert session.history.base == 242
    assert "sent before event 242" in reply_lines(session, "why cond")
    assert "fib(…)" in tags_page(session).text() and "fib()" not in tags_page(session).text()
    assert reply_lines(session, "inspect add").splitlines()[3].split()[0] == str(
        session.history.state.firings_by_node[session.find_node("add")]
    )
    for line in ("export it.jsonl", "schedule it.json", "picture it.svg tags", "why subtract main"):
        reply = session.execute(line)
        assert not reply.ok and "known" in reply.text[0], reply.text
    assert session.execute("why-not add main").ok


def test_runs_that_cannot_fast_forward(monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    """Runs with effects, choices and forks are stepped, and the reply says why."""
    near(monkeypatch)
    file = tmp_path / "loud.py"
    file.write_text(
        "import tagloom as tl\n\n@tl.function\ndef loud(n: tl.int64) -> tl.int64:\n    tl.print(n)\n"
        "    return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]\n"
    )
    loud = session_of("50", str(file))
    assert "every event was stepped: the program has effects" in reply_lines(loud, "goto 200")
    assert loud.history.base == 0
    session = session_of("6", schedule="lifo")
    reply_lines(session, "goto 250")
    reply_lines(session, "fork other")
    assert "every event was stepped: it is a fork" in reply_lines(session, "run")
    reply_lines(session, "goto 245")
    reply = session.execute("goto 20")
    assert not reply.ok and "far before the known events of other" in reply.text[0]
    reply_lines(session, "switch fib")
    reply_lines(session, "goto 20")
    reply_lines(session, "fork")
    assert session.run.parent == "fib"


@pytest.mark.full
def test_an_exported_test_fast_forwards(monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    """The test goes to its moment as the session did."""
    session = session_of("22", schedule="lifo")
    reply_lines(session, "goto 400000")
    reply_lines(session, f"pytest {tmp_path / 'test_it.py'}")
    text = (tmp_path / "test_it.py").read_text()
    assert "run = run.fast_forward(400000)" in text
    known: dict[str, Callable[[], None]] = {}
    exec(compile(text, str(tmp_path / "test_it.py"), "exec"), {"__file__": str(tmp_path / "test_it.py")}, known)


@pytest.mark.full
def test_options_of_fast_forwarding(tagloom: Any, monkeypatch: MonkeyPatch) -> None:
    """`--at` begins far ahead, and `--whole` knows every event; a position that is never reached is an error."""
    near(monkeypatch)
    Path("where.txt").write_text("where\n")
    for words, base in (((), 242), (("--whole",), 0)):
        ran = tagloom("debug", FIB, "7", "--at", "250", *words, "--headless", "--json", "--commands", "where.txt")
        data = json.loads(ran.out)["data"]
        assert (data["position"], data["base"]) == (250, base)
    ran = tagloom("debug", FIB, "3", "--at", "250", "--headless")
    assert ran.code == 2 and "event 250 is never reached" in ran.err


@pytest.mark.full
def test_ctrl_c_while_fast_forwarding(monkeypatch: MonkeyPatch) -> None:
    """The session stops at the machine's position, which is the new base, and continues from there in both
    directions."""
    session = session_of("27", schedule="lifo")
    press_after(1_000_000, monkeypatch)
    reply = session.execute("goto 3000000")
    monkeypatch.undo()
    assert not reply.ok and "interrupted after 1,000,000 events" in reply.text[0]
    assert session.history.base == session.history.position == 1_000_000
    assert "earlier events are not known" in reply_lines(session, "where")
    assert "1,000,001 events" in reply_lines(session, "event")
    reply_lines(session, "event-back 2")
    assert session.history.position == 999_999
    reply_lines(session, "undo"), reply_lines(session, "undo"), reply_lines(session, "undo")
    assert session.history.position == 0


def far_interrupt(history: History) -> Any:
    from tagloom.interp.engines.limits import external_limit_error

    return external_limit_error("interrupt", history.limits)


@pytest.mark.full
def test_histories_fast_forward() -> None:
    """Histories fast-forward without a session, and say what they cannot do."""
    history = session_of("20").history
    late = history.fast_forward(100_000)
    assert (late.base, late.position, history.base, len(history)) == (80_000, 80_000, 0, 0)
    with pytest.raises(Usage, match="event 5 is before the first known event"):
        late.jump(5)
    with pytest.raises(Usage, match="not all known"):
        late.script()
    branch = late.branch()
    with pytest.raises(Usage, match="the fast engine cannot fast-forward"):
        branch.fast_forward(100_000)
    late.reveal(79_990)
    assert late.base == 79_990 and late.jump(79_995).steps == 79_995


@pytest.mark.full
def test_the_screen_shows_the_base() -> None:
    """The status shows the position, and the border of the timeline the base."""

    async def script(screen: Screen) -> None:
        await screen.do("goto 400000")
        assert "400,000/400,000 events" in screen.line("status")
        assert "known from 380,000 on" in str(screen.app.panes()["timeline"].border_subtitle or "") + screen.whole()
        await screen.do("event-back 3")
        assert "399,997/400,000" in screen.line("status")

    shown(script, FIB, "22", schedule="lifo")
    assert far.FAST_FORWARD_THRESHOLD == 200_000


@pytest.mark.full
def test_a_node_that_fired_before_the_base(monkeypatch: MonkeyPatch) -> None:
    """For an open activation, the answer is that the node fired; for a closed one, that this is unknown here. The pane
    agrees."""
    monkeypatch.setattr(node, "SCAN_LIMIT", 1)
    session = session_of("22", schedule="lifo")
    reply_lines(session, "select fib.less_equal main")
    reply_lines(session, "goto 400000")
    assert "it has fired" in reply_lines(session, "inspect less_equal main")
    assert any("consumed earlier" in each.text for each in inspector_page(session, 80).rows)
    closed = session.execute("inspect add main/fib_1/fib")
    assert not closed.ok and "the answer needs events that are not known" in closed.text[0]
    session = session_of("22", schedule="lifo")
    for line in ("goto 1000", "select add main/fib_1/fib", "goto 400000"):
        reply_lines(session, line)
    assert any("the answer needs events that are not known" in each.text for each in inspector_page(session, 80).rows)
