"""Commands that change the focus: they change no run, and `undo` skips them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any

from ...core.errors import Usage
from ...core.ops.indexing import parse_key
from ...interp.breakpoints.expression import compile_condition
from ...interp.queries.ask import parse_tag
from ...viz.collapse import find_clusters
from ...viz.graph_view import graph_view
from .arguments import CommandArguments
from .command import CommandGroup
from .describe import describe_event
from .inspect_commands import inspect
from .listing import list_events as listed_events
from .reply import CommandResult
from .session import Session

focus_commands = CommandGroup[Session]("focus")
MAX_LISTED = 20


@focus_commands.register(
    "select", "[NODE] [TAG]", key="*", help="inspect this node until another is selected; without NODE, the present"
)
def select(session: Session, words: CommandArguments) -> CommandResult:
    if not words:
        session.focus = replace(session.focus, node_name=None, node_tag=None)
        return CommandResult(["the present node is inspected"])
    said = inspect(session, CommandArguments(words.usage, words.text))
    name, tag = words.next_word("a node"), words.optional_word()
    full = str(session.history.graph.nodes[session.find_node(name)])
    session.focus = replace(session.focus, node_name=full, node_tag=tag)
    return said


@focus_commands.register("only", "[TAG]", key="&", help="show only what is under a tag, and below it; without TAG, all")
def only(session: Session, words: CommandArguments) -> CommandResult:
    text = words.optional_word()
    words.expect_end()
    tag = None if text is None else str(parse_tag(session.history.graph, text))
    session.focus = replace(session.focus, root_tag=tag)
    return CommandResult([f"only {tag} is shown" if tag else "all activations are shown"], {"only": tag})


@focus_commands.register("fold", "NAME", key="-", help="draw a function, or a loop, as one box", reverse="unfold")
def fold(session: Session, words: CommandArguments) -> CommandResult:
    names = _resolve_names(session, words.next_word("a function or a loop"))
    words.expect_end()
    focus = session.focus
    return _set_folding(
        session, (*_exclude_names(focus.folded_names, names), *names), _exclude_names(focus.unfolded_names, names)
    )


@focus_commands.register(
    "unfold", "[NAME]", key="_", help="draw what is inside it; without NAME, of all", reverse="fold"
)
def unfold(session: Session, words: CommandArguments) -> CommandResult:
    names = _resolve_names(session, words.optional_word())
    words.expect_end()
    focus = session.focus
    return _set_folding(
        session, _exclude_names(focus.folded_names, names), (*_exclude_names(focus.unfolded_names, names), *names)
    )


def _resolve_names(session: Session, name: str | None) -> list[str]:
    """The full names of the functions and loops that a name stands for; all, without a name."""
    view = graph_view(session.history.graph)
    meant = None if name is None else find_clusters(view, [name])
    return [each.subject for each in view.root.walk() if each.subject and (meant is None or each.name in meant)]


def _exclude_names(names: tuple[str, ...], others: list[str]) -> tuple[str, ...]:
    return tuple(each for each in names if each not in others)


def _set_folding(session: Session, folded: tuple[str, ...], opened: tuple[str, ...]) -> CommandResult:
    session.focus = replace(session.focus, folded_names=folded, unfolded_names=opened)
    return CommandResult([f"folded: {', '.join(folded)}" if folded else "nothing is folded"], {"folded": list(folded)})


@focus_commands.register("slice", "SLICE", key="[", help="show this slice of arrays, as in 0, 2:5; ... is the whole")
def slice_command(session: Session, words: CommandArguments) -> CommandResult:
    text = words.text.strip().removeprefix("[").removesuffix("]").strip()
    if not text:
        raise Usage("a slice is missing", required=words.usage)
    parse_key(text)
    session.focus = replace(session.focus, array_slice="" if text == "..." else text)
    return CommandResult([f"arrays are shown at [{text}]"], {"slice": text})


@focus_commands.register(
    "events", "[CONDITION]", key="!", help="list the events for which a condition holds; without one, all"
)
def events(session: Session, words: CommandArguments) -> CommandResult:
    history = session.history
    if words.text:
        compile_condition(words.text, history.graph)
    session.focus = replace(session.focus, event_condition=words.text)
    numbers = listed_events(session)
    here = bisect_left(numbers, history.position)
    last = list(numbers[max(here - MAX_LISTED, 0) : here])
    lines = [describe_event(history.graph, number, history[number]) for number in last]
    data: dict[str, Any] = {"events": last, "count": len(numbers)}
    return CommandResult(lines or ["no event up to here is such"], data)
