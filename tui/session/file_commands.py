"""Files: programs and logs come in; logs, outcomes, graphs and tests go out."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import Usage, counted
from ...core.files import write_file
from ...core.text import print_graph
from ...interp.records.documents import write_json
from ...interp.records.event_log import SUFFIX
from ...viz.pictures import PICTURES, drawn
from ...viz.pictures import picture as picture_of
from ..run_start import Start
from .arguments import Words
from .command import Group
from .export_test import test_of
from .fast_forward import towards
from .inspect_commands import ended
from .reply import Said
from .session import Session
from .step_commands import stand

exporting = Group("files")


@exporting.row(
    "load",
    "FILE[:NAME] [ARGS] [--schedule S] [--k K] [--seed N]",
    key=",l",
    help="begin the run of a program, and go to it",
)
def load(session: Session, words: Words) -> Said:
    target = words.next("a file")
    changed = words.run_options()
    session.load(Start(target, words.rest(), session.options).otherwise(**changed))
    return stand(session)


@exporting.row(
    "reload", key=",r", help="begin again from the program's file, at the same event if there is one; breakpoints stay"
)
def reload(session: Session, words: Words) -> Said:
    words.done()
    run = session.run
    if run.start is None:
        raise Usage("this run was made from no file", hint="load FILE[:NAME] ARGS")
    position = run.history.position
    session.load(run.start)
    towards(session, position)
    return stand(session)


@exporting.row("picture", "FILE.svg|.png|.pdf|.dot [FORM]", key=",P", help=f"draw where one is: {', '.join(PICTURES)}")
def picture(session: Session, words: Words) -> Said:
    name, form = words.next("a file"), words.maybe() or "moment"
    words.done()
    file = session.unused(name)
    write_file(file, drawn(picture_of(session.history, form), file.suffix.lower().removeprefix(".")))
    return Said([f"{file} has a picture of it: {form}"], {"file": str(file), "form": form})


@exporting.row("replay", f"FILE{SUFFIX}", key=",y", help="a run from its log, checked event by event")
def replay(session: Session, words: Words) -> Said:
    file = words.next("a log")
    words.done()
    if not file.endswith(SUFFIX):
        raise Usage("this is no log of events", required=f"a name that ends in {SUFFIX}", got=file)
    session.load(Start(file, (), session.options))
    return stand(session)


@exporting.row(
    "export", f"FILE{SUFFIX}|.json|.tl", key=",x", help="write the log of the run, its outcome, or the graph"
)
def export(session: Session, words: Words) -> Said:
    file = _target(session, words)
    history, suffix = session.history, file.suffix
    if suffix == SUFFIX:
        history.save(file)
        said = f"the log of {counted(len(history), 'event')}"
    elif suffix == ".json":
        write_json(ended(session), file)
        said = "the outcome"
    elif suffix == ".tl":
        write_file(file, print_graph(history.graph).encode())
        said = "the graph"
    else:
        raise Usage("nothing is exported to such a file", required=words.usage, got=str(file))
    return Said([f"{file} has {said}"], {"file": str(file)})


@exporting.row("pytest", "FILE.py", key="P", help="write a test that goes here, and says what is true")
def pytest(session: Session, words: Words) -> Said:
    file = _target(session, words)
    if file.suffix != ".py":
        raise Usage("a test is a Python file", required=words.usage, got=str(file))
    write_file(file, test_of(session.run, file.parent).encode())
    return Said([f"{file} has a test of this moment"], {"file": str(file)})


def _target(session: Session, words: Words) -> Path:
    """Where to write."""
    name = words.next("a file")
    words.done()
    return session.unused(name)
