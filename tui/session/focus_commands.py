"""Commands about what one looks at: they change no run, and `undo` passes over them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any

from ...core.errors import Usage
from ...core.ops.key import read_key
from ...interp.breakpoints.expression import compile_condition
from ...interp.queries.ask import tag_of
from ...viz.collapse import named
from ...viz.graph_view import graph_view
from .arguments import Words
from .command import Group
from .describe import event_said
from .inspect_commands import inspect
from .listing import events as listed_events
from .reply import Said
from .session import Session

focusing = Group("focus")
LISTED = 20


@focusing.row(
    "select", "[NODE] [TAG]", key="*", help="inspect this node until another is selected; without NODE, the present"
)
def select(session: Session, words: Words) -> Said:
    if not words:
        session.focus = replace(session.focus, node=None, node_tag=None)
        return Said(["the present node is inspected"])
    said = inspect(session, Words(words.usage, words.text))
    name, tag = words.next("a node"), words.maybe()
    full = str(session.history.graph.nodes[session.find(name)])
    session.focus = replace(session.focus, node=full, node_tag=tag)
    return said


@focusing.row("only", "[TAG]", key="&", help="show only what is under a tag, and below it; without TAG, all")
def only(session: Session, words: Words) -> Said:
    text = words.maybe()
    words.done()
    tag = None if text is None else str(tag_of(session.history.graph, text))
    session.focus = replace(session.focus, only=tag)
    return Said([f"only {tag} is shown" if tag else "all activations are shown"], {"only": tag})


@focusing.row("fold", "NAME", key="-", help="draw a function, or a loop, as one box", reverse="unfold")
def fold(session: Session, words: Words) -> Said:
    names = _meant(session, words.next("a function or a loop"))
    words.done()
    focus = session.focus
    return _drawn(session, (*_without(focus.folded, names), *names), _without(focus.opened, names))


@focusing.row("unfold", "[NAME]", key="_", help="draw what is inside it; without NAME, of all", reverse="fold")
def unfold(session: Session, words: Words) -> Said:
    names = _meant(session, words.maybe())
    words.done()
    focus = session.focus
    return _drawn(session, _without(focus.folded, names), (*_without(focus.opened, names), *names))


def _meant(session: Session, name: str | None) -> list[str]:
    """The functions and loops that somebody means, by their full names; all, without a name."""
    view = graph_view(session.history.graph)
    meant = None if name is None else named(view, [name])
    return [each.subject for each in view.outside.all() if each.subject and (meant is None or each.name in meant)]


def _without(names: tuple[str, ...], others: list[str]) -> tuple[str, ...]:
    return tuple(each for each in names if each not in others)


def _drawn(session: Session, folded: tuple[str, ...], opened: tuple[str, ...]) -> Said:
    session.focus = replace(session.focus, folded=folded, opened=opened)
    return Said([f"folded: {', '.join(folded)}" if folded else "nothing is folded"], {"folded": list(folded)})


@focusing.row("slice", "SLICE", key="[", help="show this slice of arrays, as in 0, 2:5; ... is the whole")
def choose_slice(session: Session, words: Words) -> Said:
    text = words.text.strip().removeprefix("[").removesuffix("]").strip()
    if not text:
        raise Usage("a slice is missing", required=words.usage)
    read_key(text)
    session.focus = replace(session.focus, slice="" if text == "..." else text)
    return Said([f"arrays are shown at [{text}]"], {"slice": text})


@focusing.row("events", "[CONDITION]", key="!", help="list the events for which a condition holds; without one, all")
def events(session: Session, words: Words) -> Said:
    history = session.history
    if words.text:
        compile_condition(words.text, history.graph)
    session.focus = replace(session.focus, events=words.text)
    numbers = listed_events(session)
    here = bisect_left(numbers, history.position)
    last = list(numbers[max(here - LISTED, 0) : here])
    lines = [event_said(history.graph, number, history[number]) for number in last]
    data: dict[str, Any] = {"events": last, "count": len(numbers)}
    return Said(lines or ["no event up to here is such"], data)
