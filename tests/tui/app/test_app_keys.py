"""The keys of the app: each command has one, of one stroke or two, and the bottom line shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from onscreen import SIZES, Screen, shown
from tagloom.tui.app import app
from tagloom.tui.app.command_line import CommandLine
from tagloom.tui.app.graph import GraphPane
from tagloom.tui.panes.help import key_at, second_key_hints
from tagloom.tui.session.command import LEADER_KEY
from tagloom.tui.session.commands import COMMANDS
from textual.binding import Binding

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("alone")]


BEFORE = {
    "adjoint": "run",
    "outcome": "run",
    "stats": "run",
    "why": "run",
    "redo": "undo",
    "choose": "goto 12",
    "replay": "export out/y.jsonl",
}
"""What is done before a command, so that it can be done."""

TYPED = {
    "search": "search value == 2",
    "goto": "goto 12",
    "log": 'log fired "{tag}"',
    "ignore": "ignore 1 2",
    "change": "change 0 1",
    "inject": "inject add 0 main 7",
    "switch": "switch fib",
    "compare": "compare --args 3",
    "bookmark": "bookmark here",
    "fold": "fold fib",
    "slice": "slice ...",
    "load": "load fib.py:fib 3",
    "schedule": "schedule out/s.json",
    "picture": "picture out/x.dot",
    "export": "export out/x.jsonl",
    "pytest": "pytest out/test_x.py",
    "replay": "replay out/y.jsonl",
}
"""The lines of commands of which the key cannot know all that is meant."""

REFUSED = {"adjoint", "forward"}
"""fib has no gradient."""


@pytest.mark.parametrize("size", [SIZES[0], pytest.param(SIZES[2], marks=pytest.mark.heavy)], ids=str)
def test_every_command(folder: Path, size: tuple[int, int]) -> None:
    """The key of every command, with its suggested arguments, does the command, on a small screen and on a large
    one."""
    (folder / "out").mkdir()

    async def script(screen: Screen) -> None:
        line = screen.app.query_one(CommandLine)
        for name, command in COMMANDS.items():
            if name == "quit":
                continue
            if name in BEFORE:
                await screen.do(BEFORE[name])
            await screen.press(*command.key)
            if screen.focused == "line":
                assert line.value.startswith(f"{name} ")
                line.value = TYPED.get(name, line.value)
                await screen.press("enter")
            else:
                assert name not in TYPED
            reply = screen.app.presenter.replies[-1]
            assert reply.command.split()[0] == name and reply.ok == (name not in REFUSED), reply
        await screen.pilot.press("q")
        assert screen.app.return_code == 0

    shown(script, "fib.py:fib", "4", size=size)


@pytest.mark.full
def test_keys_are_commands(folder: Path) -> None:
    """A key does its command, or begins its line with the likely arguments."""

    async def script(screen: Screen) -> None:
        await screen.press(*"sss")
        assert "5/5 events 3 fired" in screen.line("status")
        await screen.press(*"SSS")
        assert " 0/5 events 0 fired" in screen.line("status")
        await screen.press("b")
        assert screen.app.query_one(CommandLine).value == "break node == 'fib.n' and fired"
        await screen.press("enter")
        assert "breakpoint 1" in screen.text("answers") and "breakpoint 1" in screen.line("last-event")
        await screen.press("c")
        assert "▶ fib.n " in screen.line("last-event") and "● breakpoint 1" in screen.line("last-event")
        await screen.press(LEADER_KEY, "i")
        assert screen.app.query_one(CommandLine).value == "ignore 1 "

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_typing_replaces_suggested_arguments(folder: Path) -> None:
    """After `b`, the suggested condition is selected: a typed one replaces it, Enter takes it, and after an
    arrow key it is edited. A line that is to be continued has nothing selected."""

    async def script(screen: Screen) -> None:
        line = screen.app.query_one(CommandLine)
        await screen.press("slash", *"trap")
        assert line.value == "search trap"
        await screen.press("escape", "b", *"traps")
        assert line.value == "break traps"
        await screen.press("escape", "b", "right", *" x")
        assert line.value == "break node == 'fib.n' and fired x"
        await screen.press("escape", "equals_sign", "7")
        assert line.value == "change 0 7"
        await screen.press("escape", "b", "enter")
        assert screen.app.presenter.replies[-1].command == "break node == 'fib.n' and fired"

    shown(script, "fib.py:fib", "4")


def test_keys_of_the_screen_are_no_commands() -> None:
    """A key that the screen uses is no command's key, since it could not be pressed."""
    names = {"less_than_sign": "<", "greater_than_sign": ">", "full_stop": "."}
    own = {names.get(binding.key, binding.key) for binding in app.Debugger.BINDINGS if isinstance(binding, Binding)}
    assert {"<", ">", "."} <= own
    assert own.isdisjoint(command.key for command in COMMANDS.values())


# Two strokes


@pytest.mark.full
def test_two_strokes(folder: Path) -> None:
    """After the first stroke, the lines below the panes show the possible second ones, and the panes stay. The second
    stroke does its command. Escape drops the first, and interrupts nothing. Another letter does nothing, and other keys
    have their usual meaning."""

    async def script(screen: Screen) -> None:
        for size in SIZES:
            await screen.pilot.resize_terminal(*size)
            await screen.still()
            desk = screen.whole().splitlines()[:-3]
            await screen.press(LEADER_KEY)
            lines = screen.whole().splitlines()
            assert lines[:-3] == desk
            for command in COMMANDS.values():
                if command.key[0] == LEADER_KEY:
                    assert any(f" {command.key[1]} {command.name}" in line for line in lines[-3:]), command
            await screen.press("p")
            assert screen.app.presenter.replies[-1].command == "printed"
            assert "step" in screen.line("hints") and "events" in screen.whole().splitlines()[-2]
        await screen.press(LEADER_KEY, "escape", "s")
        assert screen.app.presenter.replies[-1].command == "step"
        count = len(screen.app.presenter.replies)
        await screen.press(LEADER_KEY, "S")
        assert len(screen.app.presenter.replies) == count and not screen.app.is_leader_pending
        await screen.press(LEADER_KEY, "f1")
        assert len(screen.app.screen_stack) == 2 and not screen.app.is_leader_pending
        await screen.press("escape")
        stopped: list[bool] = []
        screen.app.action_stop = lambda: stopped.append(True)  # type: ignore[method-assign]
        await screen.press(LEADER_KEY, "escape")
        assert not stopped
        await screen.press("escape")
        assert stopped

    shown(script, "fib.py:fib", "4", size=SIZES[0])


@pytest.mark.full
def test_two_strokes_by_the_mouse(folder: Path) -> None:
    """A click on a second stroke is that stroke."""

    async def script(screen: Screen) -> None:
        async def click(word: str) -> None:
            lines = screen.line("hints").splitlines()
            y = next(at for at, line in enumerate(lines) if word in line)
            await screen.pilot.click("#hints", offset=(lines[y].index(word), y))
            await screen.still()

        await screen.press(LEADER_KEY)
        await click("D delete")
        assert screen.app.presenter.replies[-1].command == "delete"
        await screen.press(LEADER_KEY)
        await click("Esc")
        assert not screen.app.is_leader_pending and len(screen.app.presenter.replies) == 1

    shown(script, "fib.py:fib", "4")


def test_second_strokes_fit_in_columns() -> None:
    """All second strokes fit into 80 columns, with the keys below one another; in fewer, whole columns are left out."""
    rows = second_key_hints(COMMANDS.values(), 80)
    assert max(len(row.text) for row in rows) <= 80 and "Esc leave" in rows[0].text
    assert [key_at(row, 1) for row in rows] == ["p", "o", "s"] and key_at(rows[1], 30) == "d"
    narrow = second_key_hints(COMMANDS.values(), 30)
    assert [row.text for row in narrow] == [
        row.text[: len(short.text)] for row, short in zip(rows, narrow, strict=True)
    ]


# The graph


@pytest.mark.full
def test_the_graph_follows_and_is_dragged(folder: Path) -> None:
    """A graph that follows shows the last event; one that does not keeps its position. It can be dragged with the
    mouse, and releasing the mouse is no click."""

    async def script(screen: Screen) -> None:
        graph = screen.app.query_one(GraphPane)

        def sees() -> bool:
            assert graph.picture is not None and graph.picture.focus_cell is not None
            (row, column), at = graph.picture.focus_cell, graph.scroll_offset
            return 0 <= row - at.y < graph.size.height and 0 <= column - at.x < graph.size.width

        await screen.do("run")
        assert sees()
        await screen.press("full_stop")
        before = graph.scroll_offset
        await screen.do("start")
        assert graph.scroll_offset == before and not sees() and "not following" in str(graph.border_subtitle)
        await screen.press("full_stop")
        assert sees() and "not following" not in str(graph.border_subtitle)
        graph.scroll_to(0, 0, animate=False, force=True)
        count = len(screen.app.presenter.replies)
        await screen.pilot.mouse_down(graph, offset=(20, 10))
        await screen.pilot.hover(graph, offset=(20, 6))
        await screen.pilot.mouse_up(graph, offset=(20, 6))
        await screen.still()
        assert graph.scroll_offset.y == 4 and len(screen.app.presenter.replies) == count

    shown(script, "fib.py:fib", "4", size=(80, 24))
