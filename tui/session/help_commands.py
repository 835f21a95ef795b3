"""Commands for help, which comes from the registry; undo and redo; and quit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import plural
from .arguments import CommandArguments
from .command import Command, CommandGroup, find_command
from .reply import CommandResult
from .session import Session
from .state import SessionState
from .step_commands import position_result

session_commands = CommandGroup[Session]("session")


@session_commands.register("undo", key="u", help="take back the last command that changed something", reverse="redo")
def undo(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    before = session.snapshot
    said = _undo_result("undone", session.undo(), session)
    again = _count_undone_effects(before, session.snapshot)
    lines = [f"  {plural(again, 'effect')} of it may happen again"] if again else []
    return CommandResult([*said.text, *lines], {**said.data, "repeats": again})


def _count_undone_effects(before: SessionState, after: SessionState) -> int:
    """The number of effects in events that undo removed: those of choices by hand at the end of a run."""
    pairs = ((run.history, after.find_run(run.name)) for run in before.runs)
    gone = [history for history, now in pairs if now is not None and now.history is history.parent]
    return sum(len(history.effects(history.fork_position)) for history in gone)


@session_commands.register("redo", key="U", help="do again what was undone last", reverse="undo")
def redo(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    return _undo_result("done again", session.redo(), session)


def _undo_result(what: str, line: str, session: Session) -> CommandResult:
    if not session.snapshot.runs:
        return CommandResult([f"{what}: {line}"], {"line": line})
    said = position_result(session)
    return CommandResult([f"{what}: {line}", *said.text], {**said.data, "line": line})


@session_commands.register("help", "[COMMAND]", key="h", help="the commands, or one of them")
def help_command(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    if name is None:
        rows = [_command_data(command) for command in session.commands.values()]
        return CommandResult(list(describe_commands(session.commands)), {"commands": rows})
    command = find_command(session.commands, name)
    key = f"key: {command.key}" if command.key else "no key"
    back = f"; the other way: {command.reverse}" if command.reverse else ""
    return CommandResult([command.usage, f"  {command.help}", f"  {key}{back}"], {"commands": [_command_data(command)]})


def _command_data(command: Command[Session]) -> dict[str, Any]:
    names = ("name", "key", "usage", "help", "group", "reverse")
    return {name: getattr(command, name) for name in names}


def describe_commands(commands: Mapping[str, Command[Session]]) -> Iterator[str]:
    """All commands by group, a line for each."""
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


@session_commands.register("quit", key="q", help="leave")
def quit_command(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    session.is_finished = True
    return CommandResult([])
