"""Watches: the values of a node across tags, up to the current position."""

from __future__ import annotations

from typing import Any

from .arguments import CommandArguments
from .command import CommandGroup
from .describe import describe_outputs
from .reply import CommandResult
from .session import Session

watch_commands = CommandGroup[Session]("watching")
MAX_SHOWN = 5
MAX_VALUES = 200


def recent_values(session: Session, node: int, most: int) -> list[dict[str, Any]]:
    """The results of a node's last firings, the latest last."""
    run, graph = session.run, session.history.graph
    numbers = run.firings(node)[-most:]
    events = [(number, run.history[number]) for number in numbers]
    return [
        {"event": number, "tag": str(event.token.tag), "value": describe_outputs(graph, event)}
        for number, event in events
    ]


def describe_watches(session: Session) -> tuple[list[str], dict[str, Any]]:
    """A line for each watch, and its values; empty for a node that the current run does not have."""
    lines, data = list[str](), dict[str, Any]()
    for name in session.snapshot.watches:
        number = session.node_number(name)
        found = [] if number is None else recent_values(session, number, MAX_SHOWN)
        data[name] = found
        count = 0 if number is None else session.history.state.firings_by_node[number]
        more = "... " if count > len(found) else ""
        said = ", ".join(f"{each['value']} ({each['tag']})" for each in found) or "no value yet"
        lines.append(f"  watch {name}: {more}{said}")
    return lines, data


@watch_commands.register("watch", "NODE", key="@", help="show the values of a node, across tags, after each motion")
def watch(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a node")
    words.expect_end()
    graph, watches = session.history.graph, session.snapshot.watches
    full = str(graph.nodes[session.find_node(name)])
    session.update_state(watches=(*(each for each in watches if each != full), full))
    return _watches_result(session)


@watch_commands.register("unwatch", "[NODE]", key=",u", help="watch it no more; without NODE, nothing")
def unwatch(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    if name is None:
        session.update_state(watches=())
        return _watches_result(session)
    watches = session.snapshot.watches
    full = name if name in watches else str(session.history.graph.nodes[session.find_node(name)])
    session.update_state(watches=tuple(each for each in watches if each != full))
    return _watches_result(session)


@watch_commands.register("watches", key=",w", help="what is watched, with the last values")
def watches(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    return _watches_result(session)


def _watches_result(session: Session) -> CommandResult:
    lines, data = describe_watches(session)
    return CommandResult(lines or ["nothing is watched"], {"watches": data})


@watch_commands.register("values", "NODE [N]", key="v", help="the last N values of a node, with their tags")
def values_command(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a node")
    most = words.next_number("N", 1) if words else 20
    words.expect_end()
    number = session.find_node(name)
    found = recent_values(session, number, min(most, MAX_VALUES))
    lines = [f"  event {each['event']}, {each['tag']}: {each['value']}" for each in found]
    return CommandResult(
        lines or ["it has not fired"], {"node": str(session.history.graph.nodes[number]), "values": found}
    )
