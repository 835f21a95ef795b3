"""Commands for bookmarks, and the search for events."""

from __future__ import annotations

from typing import Any

from ...core.errors import Usage, plural
from ...interp.breakpoints.expression import compile_condition
from .arguments import CommandArguments
from .command import CommandGroup
from .describe import describe_event, event_data
from .reply import CommandResult
from .session import Session
from .state import Bookmark

bookmark_commands = CommandGroup[Session]("marking")
MAX_MATCHES = 20


@bookmark_commands.register("bookmark", "NAME [NOTE]", key="M", help="give this place a name: `goto @NAME` comes back")
def bookmark(session: Session, words: CommandArguments) -> CommandResult:
    name, note = words.next_word("a name"), " ".join(words.remaining_words())
    if not name.replace("-", "").replace("_", "").isalnum():
        raise Usage("this is no name for a bookmark", required="letters, digits, - and _", got=name[:40])
    made = Bookmark(name, session.run.name, session.history.position, note)
    others = tuple(mark for mark in session.snapshot.bookmarks if mark.name != name)
    session.update_state(bookmarks=(*others, made))
    return CommandResult([_describe_bookmark(made)], {"bookmark": _bookmark_data(made)})


@bookmark_commands.register("bookmarks", key="'", help="the places that have names")
def bookmarks(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    marks = session.snapshot.bookmarks
    return CommandResult(
        [_describe_bookmark(mark) for mark in marks] or ["no place has a name"],
        {"bookmarks": [_bookmark_data(mark) for mark in marks]},
    )


def _describe_bookmark(mark: Bookmark) -> str:
    note = f": {mark.note}" if mark.note else ""
    return f"@{mark.name}: {mark.run} after {plural(mark.position, 'event')}{note}"


def _bookmark_data(mark: Bookmark) -> dict[str, Any]:
    return {"name": mark.name, "run": mark.run, "position": mark.position, "note": mark.note}


@bookmark_commands.register("search", "CONDITION", key="/", help="the known events for which a condition holds")
def search(session: Session, words: CommandArguments) -> CommandResult:
    if not words.text:
        words.next_word("a condition")
    history = session.history
    condition = compile_condition(words.text, history.graph)
    found, more = list[int](), 0
    for state, event in history.events(history.base, len(history)):
        if condition.holds(state, event):
            if len(found) < MAX_MATCHES:
                found.append(state.steps - 1)
            else:
                more += 1
    lines = [describe_event(history.graph, number, history[number]) for number in found]
    lines += [f"and {more:,} more"] if more else []
    rows = [event_data(history.graph, number, history[number]) for number in found]
    known = plural(len(history) - history.base, "event")
    return CommandResult(lines or [f"none of the {known} known"], {"events": rows, "more": more})
