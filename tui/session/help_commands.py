"""Help, from the registry; what was done, taken back; and the way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import counted
from .arguments import Words
from .command import Command, Group, found
from .reply import Said
from .session import Session
from .state import Situation
from .step_commands import stand

helping = Group("session")


@helping.row("undo", key="u", help="take back the last command that changed something", reverse="redo")
def undo(session: Session, words: Words) -> Said:
    words.done()
    before = session.situation
    said = _turned("undone", session.undo(), session)
    again = _unhappened(before, session.situation)
    lines = [f"  {counted(again, 'effect')} of it may happen again"] if again else []
    return Said([*said.text, *lines], {**said.data, "repeats": again})


def _unhappened(before: Situation, after: Situation) -> int:
    """How many effects there were in what has never happened: after choices at the end of a run, which go with them."""
    pairs = ((run.history, after.named(run.name)) for run in before.runs)
    gone = [history for history, now in pairs if now is not None and now.history is history.parent]
    return sum(len(history.effects(history.branched_at)) for history in gone)


@helping.row("redo", key="U", help="do again what was undone last", reverse="undo")
def redo(session: Session, words: Words) -> Said:
    words.done()
    return _turned("done again", session.redo(), session)


def _turned(what: str, line: str, session: Session) -> Said:
    if not session.situation.runs:
        return Said([f"{what}: {line}"], {"line": line})
    said = stand(session)
    return Said([f"{what}: {line}", *said.text], {**said.data, "line": line})


@helping.row("help", "[COMMAND]", key="h", help="the commands, or one of them")
def help_(session: Session, words: Words) -> Said:
    name = words.maybe()
    words.done()
    if name is None:
        rows = [_row(command) for command in session.commands.values()]
        return Said(list(listing(session.commands)), {"commands": rows})
    command = found(session.commands, name)
    key = f"key: {command.key}" if command.key else "no key"
    back = f"; the other way: {command.reverse}" if command.reverse else ""
    return Said([command.usage, f"  {command.help}", f"  {key}{back}"], {"commands": [_row(command)]})


def _row(command: Command) -> dict[str, Any]:
    names = ("name", "key", "usage", "help", "group", "reverse")
    return {name: getattr(command, name) for name in names}


def listing(commands: Mapping[str, Command]) -> Iterator[str]:
    """All commands by group, a line each."""
    group = ""
    for command in commands.values():
        if command.group != group:
            group = command.group
            yield f"{group}:"
        if len(command.usage) > 28:
            yield f"  {command.key:3}{command.usage}"
            yield f"  {'':31} {command.help}"
        else:
            yield f"  {command.key:3}{command.usage:28} {command.help}"


@helping.row("quit", key="q", help="leave")
def quit_(session: Session, words: Words) -> Said:
    words.done()
    session.is_over = True
    return Said([])
