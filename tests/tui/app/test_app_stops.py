"""Stopping, leaving and restarting the app: by Escape, by `q`, by an edit; and what it remembers."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
import tagloom as tl
from onscreen import Screen, shown
from tagloom.core.errors import Usage
from tagloom.tui.app import app
from tagloom.tui.app.graph import GraphPane
from tagloom.tui.app.themes import load_preference, save_preference
from tagloom.tui.app.worker import FileWatcher
from tagloom.tui.panes.graph import GraphLayout, LayoutRequest, draft_layout, lay_out_graph
from tagloom.tui.run_start import RunRequest
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.run_index import RunIndex

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("alone")]


async def goes_on(screen: Screen) -> None:
    """Begin a run that does not end, and wait until it goes on for long."""
    screen.app.do("run")
    while "Esc stops it" not in screen.line("last-event") or len(screen.app.session.history) <= 100:
        await screen.pilot.pause(0.05)


def keeps_working(name: str) -> bool:
    """Whether a thread of this name is alive after a while in which its work could stop."""
    until = time.monotonic() + 20
    while any(thread.name.startswith(name) for thread in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.01)
    return any(thread.name.startswith(name) for thread in threading.enumerate())


# Stopping


@pytest.mark.full
def test_escape_stops_a_run(folder: Path) -> None:
    """Escape stops an endless run at its position, from which it can continue."""

    async def script(screen: Screen) -> None:
        screen.app.do("run")
        while "Esc stops it" not in screen.line("last-event") or len(screen.app.session.history) <= 100:
            await screen.pilot.pause(0.05)
        await screen.press("escape")
        assert "interrupted" in screen.line("last-event") and screen.app.session.history.position > 100
        await screen.press("s")
        assert "interrupted" not in screen.line("last-event")

    shown(script, "ends.py:endless", "1")


@pytest.mark.full
def test_escape_stops_the_fast_machine() -> None:
    """Escape stops a run far ahead at once, whatever it does: the reference machine's steps, the fast machine, reading
    its state. The line below the panes says the stage and how far it is; then it says where the fast machine waits, and
    the next `$` goes on from there."""

    async def press_escape(screen: Screen, stage: str, position: int) -> float:
        """Wait for a stage and a position, press Escape, and wait for the answer; the seconds that took."""
        while stage not in screen.line("last-event") or screen.app.session.history.current_position < position:
            await screen.pilot.pause(0.02)
        assert " events; Esc stops it" in screen.line("last-event")
        begin = time.perf_counter()
        screen.app.action_stop()
        while "interrupted" not in screen.line("last-event"):
            await screen.pilot.pause(0.005)
        return time.perf_counter() - begin

    async def script(screen: Screen) -> None:
        late = []
        for stage in ("run: ", "the fast machine skips ahead", "the fast machine skips ahead"):
            before = screen.app.session.history.paused_position or 0
            screen.app.do("run")
            late.append(await press_escape(screen, stage, before + 1_000 if "machine" in stage else 0))
            await screen.still()
            paused = screen.app.session.history.paused_position or 0
            assert paused > before or stage == "run: "
        assert late[0] < 5 and min(late[1:]) < 5, "0.1 s on a machine that does nothing else"

    shown(script, "papers_examples/recursion/fib.py", "33")


@pytest.mark.full
def test_escape_stops_a_layout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long layout says so, is stopped by Escape and not begun again by itself; zooming begins another."""
    calls = []

    def slow(paper: LayoutRequest) -> GraphLayout:
        calls.append(paper)
        while paper.zoom == 0:
            time.sleep(0.01)
        return lay_out_graph(paper)

    monkeypatch.setattr(app, "lay_out_graph", slow)

    async def script(screen: Screen) -> None:
        await screen.press("s")
        message = screen.app.query_one(GraphPane).message
        assert "stopped; Enter or a click here restarts it" in message and len(calls) == 1
        await screen.press("1")
        await screen.pilot.press("enter")
        while len(calls) < 2:  # Enter has restarted it
            await screen.pilot.pause(0.01)
        await screen.pilot.press("escape")
        await screen.press("greater_than_sign")
        assert "n <= 1" in screen.text("graph") and not screen.app.query_one(GraphPane).message

    async def stopping(screen: Screen) -> None:
        while not calls:  # before it has begun there is nothing to stop
            await screen.pilot.pause(0.01)
        await screen.pilot.press("escape")
        await script(screen)

    shown(stopping, "fib.py:fib", "4", waits=False)


@pytest.mark.full
def test_a_failed_layout_does_not_hold_up_the_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the layout of one of two runs fails, its pane says why, and the other run is laid out. If both fail, neither
    is tried again by itself."""
    refused, calls = {"renamed"}, list[str]()

    def fail(request: LayoutRequest) -> GraphLayout:
        calls.append(request.graph.name)
        if calls[-1] in refused:
            raise Usage("Graphviz failed")
        return lay_out_graph(request)

    monkeypatch.setattr(app, "lay_out_graph", fail)
    (folder / "renamed.py").write_text((folder / "fib.py").read_text().replace("fib", "renamed"))

    async def script(screen: Screen) -> None:
        await screen.do("load renamed.py:renamed 4", "beside fib")
        panes = screen.app.panes()
        graph, other = panes["graph"], panes["other graph"]
        assert isinstance(graph, GraphPane) and isinstance(other, GraphPane)
        assert "Graphviz failed" in graph.message
        assert other.picture is not None and not other.message
        refused.add("fib")
        await screen.press("greater_than_sign")
        while not ("Graphviz failed" in graph.message and "Graphviz failed" in other.message):
            await screen.pilot.pause(0.02)
        count = len(calls)
        await screen.press("s")
        assert len(calls) == count

    shown(script, "fib.py:fib", "4", size=(120, 40))


@pytest.mark.full
def test_escape_stops_a_snapshot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot after a command may take long. Stopped, the lines show the position, and the next command takes a
    snapshot again. A snapshot in progress, as after a resize, is not dropped."""
    catch_up, stopped = RunIndex.catch_up, list[bool]()

    def slow(known: RunIndex, *more: object) -> None:
        try:
            while not stopped and threading.current_thread() is not threading.main_thread():
                time.sleep(0.01)
        except KeyboardInterrupt:
            stopped.append(True)
            raise
        catch_up(known, *more)  # type: ignore[arg-type]

    async def script(screen: Screen) -> None:
        monkeypatch.setattr(RunIndex, "catch_up", slow)
        screen.app.do("goto 5")
        while "Esc stops it" not in screen.line("last-event"):
            await screen.pilot.pause(0.02)
        await screen.press("escape")
        assert "5/5 events" in screen.line("status")
        assert "panes still show the state before" in screen.line("last-event")
        await screen.press("s")
        assert "6/6 events" in screen.line("status") and "6 of 6 events" in screen.whole()
        screen.app.do("goto 9")
        screen.app.request_snapshot()
        screen.app.action_stop()
        await screen.still()
        assert f"{screen.app.session.history.position}/" in screen.line("status")

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_a_layout_that_nobody_stopped_starts_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt that was meant for the layout before does not leave the pane empty; the help that Escape closes goes
    first, and the layout goes on behind it."""
    calls = list[LayoutRequest]()

    def interrupted(request: LayoutRequest) -> GraphLayout:
        calls.append(request)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return lay_out_graph(request)

    monkeypatch.setattr(app, "lay_out_graph", interrupted)

    async def script(screen: Screen) -> None:
        await screen.pilot.press("f1")
        await screen.press("escape")
        assert "n <= 1" in screen.text("graph") and len(calls) == 2

    shown(script, "fib.py:fib", "4", waits=False)


@pytest.mark.full
def test_an_unfolded_graph_has_a_draft() -> None:
    """While every node of a large graph is laid out, it is shown as it was folded, under the same request; what is
    folded as by default needs no draft."""
    loop = "while(i: int64) {\nc = less i, 3\nyield c\n}\ndo(i: int64) {\nj = add i, 1\nk = add j, 1\nyield k\n}\n"
    loops = "".join(f"i{number} = while_loop 0 {{\n{loop}}}\n" for number in range(8))
    default = LayoutRequest(
        tl.lower(tl.parse_program(f"func main(n: int64) -> int64 {{\n{loops}return n\n}}")), (), 80, 40
    )
    full = default._replace(is_full=True)
    draft = draft_layout(full)
    assert draft is not None and draft.request == full and draft.folding == default.find_folding(draft.view)
    assert draft.folded_subjects and draft_layout(default) is None


# Leaving


@pytest.mark.full
def test_q_leaves_during_a_run(folder: Path) -> None:
    """`q` leaves during an endless run, and no thread remains that Python would wait for."""

    async def script(screen: Screen) -> None:
        await goes_on(screen)
        screen.app.simulate_key("q")
        while screen.app.return_code is None:
            await screen.pilot.pause(0.01)
        assert screen.app.return_code == 0

    shown(script, "ends.py:endless", "1")
    assert not keeps_working("session")


@pytest.mark.full
def test_q_leaves_during_a_layout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout in progress is stopped when the user leaves."""
    began = threading.Event()

    def endless(paper: LayoutRequest) -> GraphLayout:
        began.set()
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(app, "lay_out_graph", endless)

    async def script(screen: Screen) -> None:
        while not began.is_set():
            await screen.pilot.pause(0.01)
        await screen.pilot.press("q")

    shown(script, "fib.py:fib", "4", waits=False)
    assert not keeps_working("layout")


# Beginning again


@pytest.mark.full
def test_an_edit_restarts_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the program's file is edited, the run restarts at the same event; breakpoints stay."""
    monkeypatch.setattr(app, "WATCH_INTERVAL", 0.01)

    async def script(screen: Screen) -> None:
        await screen.do("goto 10", "break node == 'add' and fired")
        edit(folder / "fib.py", "n - 2", "n - 3")
        await screen.pilot.pause(0.1)
        await screen.still()
        assert screen.app.presenter.replies[-1].command == "reload"
        assert "10/10 events" in screen.line("status") and "(n - 3)" in screen.text("graph")
        assert len(screen.app.session.snapshot.breakpoints) == 1

    shown(script, "fib.py:fib", "4", watches=True)


@pytest.mark.full
def test_an_edit_during_a_command_restarts_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is edited during a command is loaded after it."""
    monkeypatch.setattr(app, "WATCH_INTERVAL", 0.01)

    async def script(screen: Screen) -> None:
        await goes_on(screen)
        edit(folder / "ends.py", "n * endless(n)", "3")
        await screen.pilot.pause(0.1)
        assert not screen.app.presenter.replies
        await screen.press("escape")
        await screen.pilot.pause(0.1)
        await screen.still()
        assert [reply.command for reply in screen.app.presenter.replies] == ["run", "reload"]
        await screen.do("run")
        assert "✓ 3 over" in screen.line("status")

    shown(script, "ends.py:endless", "1", watches=True)


def edit(file: Path, before: str, after: str) -> None:
    """Writes other text into a file, with another time."""
    file.write_text(file.read_text().replace(before, after))
    os.utime(file, ns=(1, 1))


def test_an_edit_is_noticed_once(folder: Path) -> None:
    """A file counts as changed once after each write."""
    session = new_session()
    session.load_run(RunRequest("fib.py:fib", ("4",), session.options))
    watched = FileWatcher(session)
    assert not watched.has_changed()
    os.utime(folder / "fib.py", ns=(1, 1))
    assert watched.has_changed() and not watched.has_changed()
    (folder / "fib.py").unlink()
    assert not watched.has_changed()


# What is remembered


@pytest.mark.full
def test_the_theme_is_remembered(folder: Path) -> None:
    """F3 and the palette choose the theme of the next start too; a start chooses nothing."""
    save_preference("theme", "tagloom-light")

    async def script(screen: Screen) -> None:
        assert screen.app.theme == "tagloom-light"
        (folder / "state" / "tagloom" / "theme").unlink()
        await screen.press("s")
        assert not load_preference("theme")
        await screen.press("f3")
        assert load_preference("theme") == "tagloom-dark"
        screen.app.action_change_theme()
        await screen.pilot.pause(0.1)
        await screen.pilot.press(*"nord")
        await screen.pilot.pause(0.2)
        await screen.press("enter")
        assert load_preference("theme") == "nord"

    shown(script, "fib.py:fib", "4")
