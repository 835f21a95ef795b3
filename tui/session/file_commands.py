"""Commands for files: they load programs and logs, and write logs, outcomes, graphs and tests."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import Usage, plural
from ...core.files import write_file
from ...core.text import print_graph
from ...interp.records.documents import write_json
from ...interp.records.event_log import SUFFIX
from ...viz.pictures import PICTURES, render_picture
from ...viz.pictures import run_picture as picture_of
from ..run_start import Start
from .arguments import CommandArguments
from .command import CommandGroup
from .export_test import export_test
from .fast_forward import goto_event_or_end
from .inspect_commands import require_outcome
from .reply import CommandResult
from .session import Session
from .step_commands import position_result

file_commands = CommandGroup[Session]("files")


@file_commands.register(
    "load",
    "FILE[:NAME] [ARGS] [--schedule S] [--k K] [--seed N]",
    key=",l",
    help="begin the run of a program, and go to it",
)
def load(session: Session, words: CommandArguments) -> CommandResult:
    target = words.next_word("a file")
    changed = words.take_run_options()
    session.load_run(Start(target, words.remaining_words(), session.options).with_options(**changed))
    return position_result(session)


@file_commands.register(
    "reload", key=",r", help="begin again from the program's file, at the same event if there is one; breakpoints stay"
)
def reload(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    run = session.run
    if run.start is None:
        raise Usage("this run was made from no file", hint="load FILE[:NAME] ARGS")
    position = run.history.position
    session.load_run(run.start)
    goto_event_or_end(session, position)
    return position_result(session)


@file_commands.register(
    "picture", "FILE.svg|.png|.pdf|.dot [FORM]", key=",P", help=f"draw where one is: {', '.join(PICTURES)}"
)
def picture(session: Session, words: CommandArguments) -> CommandResult:
    name, form = words.next_word("a file"), words.optional_word() or "moment"
    words.expect_end()
    file = session.check_output_path(name)
    write_file(file, render_picture(picture_of(session.history, form), file.suffix.lower().removeprefix(".")))
    return CommandResult([f"{file} has a picture of it: {form}"], {"file": str(file), "form": form})


@file_commands.register("replay", f"FILE{SUFFIX}", key=",y", help="a run from its log, checked event by event")
def replay(session: Session, words: CommandArguments) -> CommandResult:
    file = words.next_word("a log")
    words.expect_end()
    if not file.endswith(SUFFIX):
        raise Usage("this is no log of events", required=f"a name that ends in {SUFFIX}", got=file)
    session.load_run(Start(file, (), session.options))
    return position_result(session)


@file_commands.register(
    "export", f"FILE{SUFFIX}|.json|.tl", key=",x", help="write the log of the run, its outcome, or the graph"
)
def export(session: Session, words: CommandArguments) -> CommandResult:
    file = _output_path(session, words)
    history, suffix = session.history, file.suffix
    if suffix == SUFFIX:
        history.save(file)
        said = f"the log of {plural(len(history), 'event')}"
    elif suffix == ".json":
        write_json(require_outcome(session), file)
        said = "the outcome"
    elif suffix == ".tl":
        write_file(file, print_graph(history.graph).encode())
        said = "the graph"
    else:
        raise Usage("nothing is exported to such a file", required=words.usage, got=str(file))
    return CommandResult([f"{file} has {said}"], {"file": str(file)})


@file_commands.register("pytest", "FILE.py", key="P", help="write a test that goes here, and says what is true")
def pytest(session: Session, words: CommandArguments) -> CommandResult:
    file = _output_path(session, words)
    if file.suffix != ".py":
        raise Usage("a test is a Python file", required=words.usage, got=str(file))
    write_file(file, export_test(session.run, file.parent).encode())
    return CommandResult([f"{file} has a test of this moment"], {"file": str(file)})


def _output_path(session: Session, words: CommandArguments) -> Path:
    """The path to write to."""
    name = words.next_word("a file")
    words.expect_end()
    return session.check_output_path(name)
