"""Commands for the session as a whole: files that it reads and writes, undo and redo, help, and quit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core.errors import Usage, plural
from ...core.files import write_file
from ...core.text import print_graph
from ...interp.records.documents import write_json
from ...interp.records.event_sink import LOG_SUFFIXES, is_log
from ...viz.pictures import PICTURES, render_picture
from ...viz.pictures import run_picture as picture_of
from ..run_start import RunRequest
from .command import Command, CommandArguments, CommandGroup, CommandResult, find_command
from .export_test import export_test
from .fast_forward import goto_event_or_end
from .inspect_commands import require_outcome
from .session import Session, SessionState
from .step_commands import position_result

_LOG = "|".join(LOG_SUFFIXES)
file_commands = CommandGroup[Session]("files")


@file_commands.register(
    "load",
    "FILE[:NAME] [ARGS] [--schedule S] [--k K] [--seed N]",
    key=",l",
    help="start a run of a program, and go to it",
)
def load(session: Session, words: CommandArguments) -> CommandResult:
    target = words.next_word("a file")
    options = words.take_run_options()
    session.load_run(RunRequest(target, words.remaining_words(), session.options).with_options(**options))
    return position_result(session)


@file_commands.register(
    "reload",
    key=",r",
    help="start again from the program's file, and go to the same event if possible; breakpoints stay",
)
def reload(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    run = session.run
    if run.start is None:
        raise Usage("this run has no program file", hint="load FILE[:NAME] ARGS")
    position = run.history.position
    session.load_run(run.start)
    goto_event_or_end(session, position)
    return position_result(session)


@file_commands.register(
    "picture", "FILE.svg|.png|.pdf|.dot [FORM]", key=",P", help=f"draw the run at this position: {', '.join(PICTURES)}"
)
def picture(session: Session, words: CommandArguments) -> CommandResult:
    name, form = words.next_word("a file"), words.optional_word() or "moment"
    words.expect_end()
    file = session.check_output_path(name)
    write_file(file, render_picture(picture_of(session.history, form), file.suffix.lower().removeprefix(".")))
    return CommandResult([f"{file} has the picture: {form}"], {"file": str(file), "form": form})


@file_commands.register("replay", f"FILE{_LOG}", key=",y", help="load a run from its log, and check each event")
def replay(session: Session, words: CommandArguments) -> CommandResult:
    file = words.next_word("a log")
    words.expect_end()
    if not is_log(file):
        raise Usage(
            "this is not a log of events", required=f"a name that ends in {' or '.join(LOG_SUFFIXES)}", got=file
        )
    session.load_run(RunRequest(file, (), session.options))
    return position_result(session)


@file_commands.register(
    "export", f"FILE{_LOG}|.json|.tl", key=",x", help="write the log of the run, its outcome, or its graph"
)
def export(session: Session, words: CommandArguments) -> CommandResult:
    file = output_path(session, words)
    history, suffix = session.history, file.suffix
    if suffix in LOG_SUFFIXES:
        history.save(file)
        contents = f"the log of {plural(len(history), 'event')}"
    elif suffix == ".json":
        write_json(require_outcome(session), file)
        contents = "the outcome"
    elif suffix == ".tl":
        write_file(file, print_graph(history.graph).encode())
        contents = "the graph"
    else:
        raise Usage("files with this suffix cannot be exported", required=words.usage, got=str(file))
    return CommandResult([f"{file} has {contents}"], {"file": str(file)})


@file_commands.register(
    "pytest", "FILE.py", key="P", help="write a test that goes to this position and asserts the state there"
)
def pytest(session: Session, words: CommandArguments) -> CommandResult:
    file = output_path(session, words)
    if file.suffix != ".py":
        raise Usage("a test is a Python file", required=words.usage, got=str(file))
    write_file(file, export_test(session.run, file.parent).encode())
    return CommandResult([f"{file} has a test of this position"], {"file": str(file)})


def output_path(session: Session, words: CommandArguments) -> Path:
    """Take the path of a file to write from a command; raises Usage if a run was loaded from it."""
    name = words.next_word("a file")
    words.expect_end()
    return session.check_output_path(name)


# Undo, help, quit

session_commands = CommandGroup[Session]("session")


@session_commands.register("undo", key="u", help="undo the last command that changed something", reverse="redo")
def undo(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    before = session.snapshot
    result = undo_result("undone", session.undo(), session)
    count = count_undone_effects(before, session.snapshot)
    lines = [f"  {plural(count, 'effect')} of it may happen again"] if count else []
    return CommandResult([*result.text, *lines], {**result.data, "repeats": count})


def count_undone_effects(before: SessionState, after: SessionState) -> int:
    """The number of effects in events that `undo` removed: the effects of choices by hand at the end of a run."""
    pairs = ((run.history, after.find_run(run.name)) for run in before.runs)
    removed = [history for history, run in pairs if run is not None and run.history is history.parent]
    return sum(len(history.effects(history.fork_position)) for history in removed)


@session_commands.register("redo", key="U", help="redo the command that was undone last", reverse="undo")
def redo(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    return undo_result("done again", session.redo(), session)


def undo_result(what: str, line: str, session: Session) -> CommandResult:
    """The result of `undo` and `redo`: the command line, and the position."""
    if not session.snapshot.runs:
        return CommandResult([f"{what}: {line}"], {"line": line})
    result = position_result(session)
    return CommandResult([f"{what}: {line}", *result.text], {**result.data, "line": line})


@session_commands.register("help", "[COMMAND]", key="h", help="the commands, or one of them")
def help_command(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    if name is None:
        rows = [command_data(command) for command in session.commands.values()]
        return CommandResult(list(describe_commands(session.commands)), {"commands": rows})
    command = find_command(session.commands, name)
    key = f"key: {command.key}" if command.key else "no key"
    back = f"; the other way: {command.reverse}" if command.reverse else ""
    return CommandResult([command.usage, f"  {command.help}", f"  {key}{back}"], {"commands": [command_data(command)]})


def command_data(command: Command[Session]) -> dict[str, Any]:
    """A command as data."""
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


@session_commands.register("quit", key="q", help="leave the debugger")
def quit_command(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    session.is_finished = True
    return CommandResult([])
