"""Bookmarks, and the search for events."""

from __future__ import annotations

from typing import Any

from ...core.errors import Usage, counted
from ...interp.breakpoints.expression import compile_condition
from .arguments import Words
from .command import Group
from .describe import event_data, event_said
from .reply import Said
from .session import Session
from .state import Bookmark

marking = Group("marking")
FOUND = 20


@marking.row("bookmark", "NAME [NOTE]", key="M", help="give this place a name: `goto @NAME` comes back")
def bookmark(session: Session, words: Words) -> Said:
    name, note = words.next("a name"), " ".join(words.rest())
    if not name.replace("-", "").replace("_", "").isalnum():
        raise Usage("this is no name for a bookmark", required="letters, digits, - and _", got=name[:40])
    made = Bookmark(name, session.run.name, session.history.position, note)
    others = tuple(mark for mark in session.situation.bookmarks if mark.name != name)
    session.change(bookmarks=(*others, made))
    return Said([_said(made)], {"bookmark": _data(made)})


@marking.row("bookmarks", key="'", help="the places that have names")
def bookmarks(session: Session, words: Words) -> Said:
    words.done()
    marks = session.situation.bookmarks
    return Said(
        [_said(mark) for mark in marks] or ["no place has a name"], {"bookmarks": [_data(mark) for mark in marks]}
    )


def _said(mark: Bookmark) -> str:
    note = f": {mark.note}" if mark.note else ""
    return f"@{mark.name}: {mark.run} after {counted(mark.position, 'event')}{note}"


def _data(mark: Bookmark) -> dict[str, Any]:
    return {"name": mark.name, "run": mark.run, "position": mark.position, "note": mark.note}


@marking.row("search", "CONDITION", key="/", help="the known events for which a condition holds")
def search(session: Session, words: Words) -> Said:
    if not words.text:
        words.next("a condition")
    history = session.history
    condition = compile_condition(words.text, history.graph)
    found, more = list[int](), 0
    for state, event in history.events(history.base, len(history)):
        if condition.holds(state, event):
            if len(found) < FOUND:
                found.append(state.steps - 1)
            else:
                more += 1
    lines = [event_said(history.graph, number, history[number]) for number in found]
    lines += [f"and {more:,} more"] if more else []
    rows = [event_data(history.graph, number, history[number]) for number in found]
    known = counted(len(history) - history.base, "event")
    return Said(lines or [f"none of the {known} known"], {"events": rows, "more": more})
