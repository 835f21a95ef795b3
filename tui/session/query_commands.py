"""Questions: why a node fired, who used what it sent, why it has not fired, and what else could happen."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ...core.errors import Usage, counted
from ...core.tag import ROOT, Tag
from ...interp.history.moment import token_said
from ...interp.queries.ask import tag_of
from ...interp.queries.provenance import Link
from ...interp.queries.why import could_fire
from .arguments import Words
from .command import Group
from .describe import MOST, SOME, token_data
from .listing import in_flight
from .reply import Said, cut, shortened
from .session import Session

asking = Group("asking")
LOOKED = 2000
"""So many tokens are looked at by `enabled`, each 1 us."""


def place(session: Session, words: Words) -> tuple[str, Tag]:
    """A node, and a tag: the one that is given, or that of the node's last firing, or where one is."""
    name, text = words.next("a node"), words.maybe()
    words.done()
    session.find(name)
    return name, tag_of(session.history.graph, text) if text is not None else last_tag(session, name)


def last_tag(session: Session, name: str) -> Tag:
    """Under which tag a node fired last; where it has not, one under which it could."""
    run, node = session.run, session.find(name)
    numbers = run.firings(node)
    if numbers:
        return run.history[numbers[-1]].token.tag
    lives = run.history.ask.contexts.get(node)
    for tag in session.tag.steps():
        if lives in (tag.site, dict(run.history.graph.calls).get(tag.site)):
            return tag
    return ROOT


def _link(link: Link) -> dict[str, Any]:
    """A firing that a question came to; where an argument or an injected token stands instead, it has no event."""
    return {
        "depth": link.depth,
        "event": link.number if link.number >= 0 else None,
        "said": str(link),
        "operands": [{"port": port, "event": number if number >= 0 else None} for port, number in link.operands],
    }


@asking.row("why", "NODE [TAG]", key="y", help="the firings behind a firing, as a tree")
def why(session: Session, words: Words) -> Said:
    name, tag = place(session, words)
    ask = session.history.ask
    _check_fired(session, name, tag)
    links = [_link(link) for link in islice(ask.where_from(name, tag, 4), MOST)]
    return Said(ask.tree(name, tag).splitlines(), {"node": name, "tag": str(tag), "links": links})


def _check_fired(session: Session, name: str, tag: Tag) -> None:
    """Raises Usage where a node has not fired under a tag."""
    try:
        session.history.ask.firing(name, tag)
    except Usage as error:
        error.hint = f"`why-not {name} {tag}` says why" if error.required is None else error.hint
        raise


@asking.row("who", "NODE [TAG]", key="Y", help="the firings that consumed what a firing sent")
def who(session: Session, words: Words) -> Said:
    name, tag = place(session, words)
    _check_fired(session, name, tag)
    links = session.history.ask.who_used(name, tag)
    data = {"node": name, "tag": str(tag), "users": [_link(link) for link in links]}
    return Said(cut(list(map(str, links)), MOST) or ["nobody, up to here"], data)


@asking.row(
    "why-not", "NODE [TAG]", key="?", help="why a node has not fired: what is missing, and where it is or was lost"
)
def why_not(session: Session, words: Words) -> Said:
    name, text = words.next("a node"), words.maybe()
    words.done()
    history = session.history
    tag = tag_of(history.graph, text) if text is not None else _unfired_tag(session, name)
    at_end = history.position == len(history)
    answer = history.ask.why_not(name, tag, stopped=history.stopped if at_end else None)
    return Said(str(answer).splitlines(), {"node": name, "tag": str(tag), "verdict": answer.verdict})


def _unfired_tag(session: Session, name: str) -> Tag:
    """A tag under which a node waits; where it waits under none, that of `last_tag`."""
    node = session.find(name)
    waits = (tag for tag, record in session.history.state.records.items() if node in record.waiting)
    return next(waits, None) or last_tag(session, name)


@asking.row(
    "flight", key="l", help="the tokens in flight in the order of the schedule, by position; the next has an arrow"
)
def flight(session: Session, words: Words) -> Said:
    words.done()
    history, graph = session.history, session.history.graph
    following, (tokens, left, unlooked) = history.next_choice, in_flight(session, SOME)
    lines = [f"{'->' if at == following else '  '} {at}: {token_said(graph, token)}" for at, token in tokens[:MOST]]
    lines = shortened(lines, len(tokens) + left)
    lines += [f"and {counted(unlooked, 'token')} that nobody has looked at"] if unlooked else []
    rows = [{"position": at, **token_data(graph, token)} for at, token in tokens]
    data = {"flight": rows, "count": len(history.state.flight), "next": following}
    return Said(lines or ["nothing is in flight"], data)


@asking.row("enabled", "[POSITION]", key="x", help="the firings that could go next, from a position of the flight on")
def enabled(session: Session, words: Words) -> Said:
    """Many tokens are looked at, but not all: there may be millions. It says where it stopped."""
    first = words.number("a position of the flight") if words else 0
    words.done()
    history = session.history
    state, following = history.state, history.next_choice
    ready = list(islice(could_fire(state, islice(enumerate(state.flight), first, first + LOOKED)), SOME))
    looked = ready[-1].position + 1 if len(ready) == SOME else first + LOOKED
    left = max(len(state.flight) - looked, 0)
    lines = [f"{'->' if each.position == following else '  '} {each}" for each in ready[:MOST]]
    lines = shortened(lines, len(ready)) or ["nothing could fire next" if not left else "none of these could"]
    lines += [f"{counted(left, 'token')} more in flight: `enabled {looked}` goes on there"] if left else []
    rows = [{"position": each.position, "node": each.name, "tag": str(each.tag)} for each in ready]
    data = {"enabled": rows, "from": first, "unlooked": left, "next": following}
    return Said(lines, data)
