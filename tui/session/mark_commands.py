"""Commands for breakpoints and logpoints, watches, and bookmarks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from ...core.errors import Malformed, Usage, plural
from ...core.graph.graph import Graph
from ...interp.breakpoints.expression import compile_condition
from ...interp.machine.event import Event
from ...viz.labels import NodeLabels, short_name
from ...viz.scopes import node_scopes
from .command import CommandArguments, CommandGroup, CommandResult, parse_number
from .listing import abbreviate_outputs, describe_event, describe_outputs, event_data
from .run import BreakpointSpec, compile_breakpoint
from .session import Bookmark, Session

breakpoint_commands = CommandGroup[Session]("stopping")
_IGNORE_PATTERN = re.compile(r"(.*\S)\s+ignore\s+(\S+)", re.DOTALL)
_LOG_PATTERN = re.compile(r'(.*\S)\s+"([^"]*)"', re.DOTALL)


def set_breakpoint(session: Session, condition: str, ignore: int = 0, log: str | None = None) -> CommandResult:
    """Set a breakpoint; raises Malformed or Usage if it does not compile for the current run."""
    compile_breakpoint(BreakpointSpec(0, condition, ignore, log), session.history.graph)
    point = session.add_breakpoint(condition, ignore, log)
    return CommandResult([f"breakpoint {point}"], {"breakpoint": breakpoint_data(point)})


def breakpoint_data(point: BreakpointSpec) -> dict[str, Any]:
    """A breakpoint as data."""
    names = ("number", "condition", "ignore", "log", "enabled")
    return {name: getattr(point, name) for name in names}


@breakpoint_commands.register(
    "break", "CONDITION [ignore N]", key="b", help="stop where a condition holds, after N hits"
)
def break_command(session: Session, words: CommandArguments) -> CommandResult:
    text = words.text
    if not text:
        words.next_word("a condition")
    ignoring = _IGNORE_PATTERN.fullmatch(text)
    condition, times = (ignoring[1], parse_number(ignoring[2], 0, words.usage)) if ignoring else (text, 0)
    return set_breakpoint(session, condition, times)


@breakpoint_commands.register(
    "log", 'CONDITION "TEXT"', key="L", help="log a text with {expressions} wherever a condition holds"
)
def log(session: Session, words: CommandArguments) -> CommandResult:
    match = _LOG_PATTERN.fullmatch(words.text)
    if match is None:
        example = "log node == 'add' and fired \"{tag}: {inputs[0]}\""
        raise Malformed(
            "this is not a logpoint", required=words.usage, got=words.text[:80] or None, hint=f"as in {example}"
        )
    return set_breakpoint(session, match[1], 0, match[2])


def find_breakpoint(session: Session, words: CommandArguments) -> BreakpointSpec:
    """Take the number of a breakpoint from a command; raises Usage if there is no such breakpoint."""
    number, points = words.next_number("the number of a breakpoint", 1), session.snapshot.breakpoints
    point = next((point for point in points if point.number == number), None)
    if point is None:
        numbers = ", ".join(str(point.number) for point in points)
        raise Usage(f"there is no breakpoint {number}", required=f"one of {numbers}" if numbers else None)
    return point


def change_breakpoint(session: Session, point: BreakpointSpec, **changes: Any) -> CommandResult:
    """Change fields of a breakpoint."""
    changed_point = replace(point, **changes)
    session.update_state(
        breakpoints=tuple(
            changed_point if breakpoint_ is point else breakpoint_ for breakpoint_ in session.snapshot.breakpoints
        )
    )
    return CommandResult([f"breakpoint {changed_point}"], {"breakpoint": breakpoint_data(changed_point)})


@breakpoint_commands.register("ignore", "N HITS", key=",i", help="let breakpoint N ignore this many hits")
def ignore(session: Session, words: CommandArguments) -> CommandResult:
    point, hits = find_breakpoint(session, words), words.next_number("HITS")
    words.expect_end()
    return change_breakpoint(session, point, ignore=hits)


@breakpoint_commands.register("enable", "N", key=",e", help="enable breakpoint N again", reverse="disable")
def enable(session: Session, words: CommandArguments) -> CommandResult:
    point = find_breakpoint(session, words)
    words.expect_end()
    return change_breakpoint(session, point, enabled=True)


@breakpoint_commands.register("disable", "N", key=",d", help="disable breakpoint N", reverse="enable")
def disable(session: Session, words: CommandArguments) -> CommandResult:
    point = find_breakpoint(session, words)
    words.expect_end()
    return change_breakpoint(session, point, enabled=False)


@breakpoint_commands.register("delete", "[N]", key=",D", help="delete breakpoint N; without N, all")
def delete(session: Session, words: CommandArguments) -> CommandResult:
    if not words:
        session.update_state(breakpoints=())
        return CommandResult(["there are no breakpoints"])
    point = find_breakpoint(session, words)
    words.expect_end()
    session.update_state(
        breakpoints=tuple(breakpoint_ for breakpoint_ in session.snapshot.breakpoints if breakpoint_ is not point)
    )
    return CommandResult([f"deleted {point}"], {"breakpoint": breakpoint_data(point)})


@breakpoint_commands.register("breaks", key="B", help="the breakpoints, with the number of hits up to here")
def breaks(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    lines, rows = list[str](), list[dict[str, Any]]()
    points, run = session.snapshot.breakpoints, session.run
    for point in points:
        hits, start = run.breakpoints.hits(points, point.number, run.history) or (None, 0)
        hits_text = f"does not apply to {run.name}" if hits is None else plural(hits, "hit")
        start_text = f" since event {start:,}" if start else ""
        lines.append(f"  {point}: {hits_text}{start_text}")
        rows.append({**breakpoint_data(point), "hits": hits})
    return CommandResult(lines or ["there are no breakpoints"], {"breakpoints": rows})


# Watches: the values of a node across tags, up to the current position

watch_commands = CommandGroup[Session]("watching")
MAX_SHOWN = 5
"""The most values of a watch that are shown."""
MAX_VALUES = 200
"""The most values that `values` lists."""


def last_firings(session: Session, node: int, most: int) -> list[tuple[int, Event]]:
    """A node's last firings with their numbers, the latest last."""
    run = session.run
    return [(number, run.history[number]) for number in run.firings(node)[-most:]]


def values_data(graph: Graph, firings: Iterable[tuple[int, Event]]) -> list[dict[str, Any]]:
    """The results of firings as data."""
    return [
        {"event": number, "tag": str(event.token.tag), "value": describe_outputs(graph, event)}
        for number, event in firings
    ]


def describe_watches(session: Session) -> tuple[list[str], dict[str, Any]]:
    """A line for each watch, and its values; there are no values if the current run has no such node."""
    lines, data = list[str](), dict[str, Any]()
    for name in session.snapshot.watches:
        graph, number = session.history.graph, session.node_number(name)
        firings = [] if number is None else last_firings(session, number, MAX_SHOWN)
        data[name] = values_data(graph, firings)
        count = 0 if number is None else session.history.state.firings_by_node[number]
        ellipsis = "... " if count > len(firings) else ""
        values = (f"{abbreviate_outputs(graph, event)} ({event.token.tag})" for _, event in firings)
        text = ", ".join(values) or "no value yet"
        lines.append(f"  watch {name}: {ellipsis}{text}")
    return lines, data


def watches_result(session: Session) -> CommandResult:
    """The watches with their last values."""
    lines, data = describe_watches(session)
    return CommandResult(lines or ["nothing is watched"], {"watches": data})


@watch_commands.register("watch", "NODE", key="@", help="show the values of a node, across tags, after each step")
def watch(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a node")
    words.expect_end()
    graph, watches = session.history.graph, session.snapshot.watches
    full = str(graph.nodes[session.find_node(name)])
    session.update_state(watches=(*(watch for watch in watches if watch != full), full))
    return watches_result(session)


@watch_commands.register("unwatch", "[NODE]", key=",u", help="stop watching a node; without NODE, all")
def unwatch(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    if name is None:
        session.update_state(watches=())
        return watches_result(session)
    watches = session.snapshot.watches
    full = name if name in watches else str(session.history.graph.nodes[session.find_node(name)])
    session.update_state(watches=tuple(watch for watch in watches if watch != full))
    return watches_result(session)


@watch_commands.register("watches", key=",w", help="the watched nodes, with their last values")
def watches(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    return watches_result(session)


@watch_commands.register("values", "NODE [N]", key="v", help="the last N values of a node, with their tags")
def values_command(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a node")
    most = words.next_number("N", 1) if words else 20
    words.expect_end()
    graph, number = session.history.graph, session.find_node(name)
    firings = last_firings(session, number, min(most, MAX_VALUES))
    lines = [f"  event {at}, {event.token.tag}: {abbreviate_outputs(graph, event)}" for at, event in firings]
    data = {"node": str(graph.nodes[number]), "values": values_data(graph, firings)}
    return CommandResult(lines or ["it has not fired"], data)


# Bookmarks, and the search for events

bookmark_commands = CommandGroup[Session]("marking")
MAX_MATCHES = 20
"""The most events that `search` lists."""


@bookmark_commands.register("bookmark", "NAME [NOTE]", key="M", help="name this position; `goto @NAME` comes back")
def bookmark(session: Session, words: CommandArguments) -> CommandResult:
    name, note = words.next_word("a name"), " ".join(words.remaining_words())
    if not name.replace("-", "").replace("_", "").isalnum():
        raise Usage("this is not a name for a bookmark", required="letters, digits, - and _", got=name[:40])
    mark = Bookmark(name, session.run.name, session.history.position, note)
    others = tuple(bookmark for bookmark in session.snapshot.bookmarks if bookmark.name != name)
    session.update_state(bookmarks=(*others, mark))
    return CommandResult([describe_bookmark(mark)], {"bookmark": asdict(mark)})


@bookmark_commands.register("bookmarks", key="'", help="the bookmarks")
def bookmarks(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    marks = session.snapshot.bookmarks
    return CommandResult(
        [describe_bookmark(mark) for mark in marks] or ["there are no bookmarks"],
        {"bookmarks": [asdict(mark) for mark in marks]},
    )


def describe_bookmark(mark: Bookmark) -> str:
    """A line for a bookmark: its run, position and note."""
    note = f": {mark.note}" if mark.note else ""
    return f"@{mark.name}: {mark.run} after {plural(mark.position, 'event')}{note}"


@bookmark_commands.register(
    "search",
    "TEXT|CONDITION",
    key="/",
    help="nodes whose name, op, formula or helper has TEXT, the first one is shown; then events for which it holds",
)
def search(session: Session, words: CommandArguments) -> CommandResult:
    if not words.text:
        words.next_word("a text or a condition")
    history = session.history
    graph, numbers = history.graph, find_nodes(history.graph, words.text)
    lines = [describe_node(session, number) for number in numbers[:MAX_MATCHES]]
    lines += [f"and {plural(len(numbers) - MAX_MATCHES, 'node')} more"] if len(numbers) > MAX_MATCHES else []
    data: dict[str, Any] = {"nodes": [str(graph.nodes[number]) for number in numbers], "events": [], "more": 0}
    if numbers:
        session.show_node(numbers[0])
    try:
        condition = compile_condition(words.text, graph)
    except (Malformed, Usage) as error:
        if numbers:
            return CommandResult(lines, data)
        message = f"no node has {words.text[:40]!r} in its name, op, formula or helper; as a condition: {error.message}"
        raise Usage(message, required=error.required, got=error.got, hint=error.hint, excerpt=error.excerpt) from None
    matches, more = list[int](), 0
    for state, event in history.events(history.base, len(history)):
        if condition.holds(state, event):
            if len(matches) < MAX_MATCHES:
                matches.append(state.steps - 1)
            else:
                more += 1
    lines += [describe_event(history, number, history[number]) for number in matches]
    lines += [f"and {more:,} more"] if more else []
    rows = [event_data(history, number, history[number]) for number in matches]
    count = len(history) - history.base
    return CommandResult(
        lines or [f"none of the {count:,} known events matches"], {**data, "events": rows, "more": more}
    )


def find_nodes(graph: Graph, text: str) -> list[int]:
    """The nodes whose name, op, formula or helpers contain a text, in any case and without regard to spaces: first
    those whose name it is, then those whose name begins with it."""
    word, labels = "".join(text.lower().split()), NodeLabels(graph)
    ranked = list[tuple[int, int]]()
    for number, node in enumerate(graph.nodes):
        short, helpers = short_name(node.name).lower(), (scope.name for scope in node_scopes(node))
        texts = (str(node), node.op, *labels.label_lines(number), *helpers)
        if any(word in "".join(text.lower().split()) for text in texts):
            ranked.append((0 if short == word else 1 if short.startswith(word) else 2, number))
    return [number for _, number in sorted(ranked)]


def describe_node(session: Session, number: int) -> str:
    """A line for a node: its name, line and formula, and its last firing, if it has fired."""
    graph, firings = session.history.graph, session.run.firings(number)
    node = graph.nodes[number]
    line = f" ({node.location})" if node.location else ""
    fired = f"fired {plural(len(firings), 'time')}, last at event {firings[-1]}" if firings else "has not fired"
    return f"{node}{line}: {NodeLabels(graph).label_lines(number)[0]}, {fired}"
