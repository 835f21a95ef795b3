"""Watches: the values of a node across tags, up to where one is."""

from __future__ import annotations

from typing import Any

from .arguments import Words
from .command import Group
from .describe import values_of
from .reply import Said
from .session import Session

watching = Group("watching")
SHOWN = 5
MOST = 200


def values(session: Session, node: int, most: int) -> list[dict[str, Any]]:
    """What the last firings of a node gave, the latest at the end."""
    run, graph = session.run, session.history.graph
    numbers = run.firings(node)[-most:]
    events = [(number, run.history[number]) for number in numbers]
    return [
        {"event": number, "tag": str(event.token.tag), "value": values_of(graph, event)} for number, event in events
    ]


def watched(session: Session) -> tuple[list[str], dict[str, Any]]:
    """A line for each watch, and the values of each; a node that the current run has not got has none."""
    lines, data = list[str](), dict[str, Any]()
    for name in session.situation.watches:
        number = session.numbered(name)
        found = [] if number is None else values(session, number, SHOWN)
        data[name] = found
        count = 0 if number is None else session.history.state.counts[number]
        more = "... " if count > len(found) else ""
        said = ", ".join(f"{each['value']} ({each['tag']})" for each in found) or "no value yet"
        lines.append(f"  watch {name}: {more}{said}")
    return lines, data


@watching.row("watch", "NODE", key="@", help="show the values of a node, across tags, after each motion")
def watch(session: Session, words: Words) -> Said:
    name = words.next("a node")
    words.done()
    graph, watches = session.history.graph, session.situation.watches
    full = str(graph.nodes[session.find(name)])
    session.change(watches=(*(each for each in watches if each != full), full))
    return _listed(session)


@watching.row("unwatch", "[NODE]", key=",u", help="watch it no more; without NODE, nothing")
def unwatch(session: Session, words: Words) -> Said:
    name = words.maybe()
    words.done()
    if name is None:
        session.change(watches=())
        return _listed(session)
    watches = session.situation.watches
    full = name if name in watches else str(session.history.graph.nodes[session.find(name)])
    session.change(watches=tuple(each for each in watches if each != full))
    return _listed(session)


@watching.row("watches", key=",w", help="what is watched, with the last values")
def watches(session: Session, words: Words) -> Said:
    words.done()
    return _listed(session)


def _listed(session: Session) -> Said:
    lines, data = watched(session)
    return Said(lines or ["nothing is watched"], {"watches": data})


@watching.row("values", "NODE [N]", key="v", help="the last N values of a node, with their tags")
def values_command(session: Session, words: Words) -> Said:
    name = words.next("a node")
    most = words.number("N", 1) if words else 20
    words.done()
    number = session.find(name)
    found = values(session, number, min(most, MOST))
    lines = [f"  event {each['event']}, {each['tag']}: {each['value']}" for each in found]
    return Said(lines or ["it has not fired"], {"node": str(session.history.graph.nodes[number]), "values": found})
