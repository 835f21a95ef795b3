"""Query commands: why a node fired, who used its results, why it has not fired, and what else could happen."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ...core.errors import Usage, plural
from ...core.tag import ROOT, Tag
from ...interp.history.moment import describe_token
from ...interp.queries.ask import parse_tag
from ...interp.queries.provenance import DependenceLink
from ...interp.queries.why_not import could_fire
from .arguments import CommandArguments
from .command import CommandGroup
from .describe import MAX_LINES, MAX_ROWS, token_data
from .listing import list_flight
from .reply import CommandResult, truncate_lines, with_omitted_count
from .session import Session

query_commands = CommandGroup[Session]("asking")
MAX_SCANNED = 2000
"""The most tokens that `enabled` scans, each 1 us."""


def parse_node_and_tag(session: Session, words: CommandArguments) -> tuple[str, Tag]:
    """A node, and a tag: the given one, or that of the node's last firing, or the current one."""
    name, text = words.next_word("a node"), words.optional_word()
    words.expect_end()
    session.find_node(name)
    return name, parse_tag(session.history.graph, text) if text is not None else last_firing_tag(session, name)


def last_firing_tag(session: Session, name: str) -> Tag:
    """The tag of a node's last firing; if it has not fired, one under which it could."""
    run, node = session.run, session.find_node(name)
    numbers = run.firings(node)
    if numbers:
        return run.history[numbers[-1]].token.tag
    lives = run.history.ask.contexts.get(node)
    for tag in session.current_tag.self_and_ancestors():
        if lives in (tag.site, dict(run.history.graph.calls).get(tag.site)):
            return tag
    return ROOT


def _link_data(link: DependenceLink) -> dict[str, Any]:
    """A firing in an answer; an argument or injected token in its place has no event."""
    return {
        "depth": link.depth,
        "event": link.number if link.number >= 0 else None,
        "said": str(link),
        "operands": [{"port": port, "event": number if number >= 0 else None} for port, number in link.operands],
    }


@query_commands.register("why", "NODE [TAG]", key="y", help="the firings behind a firing, as a tree")
def why(session: Session, words: CommandArguments) -> CommandResult:
    name, tag = parse_node_and_tag(session, words)
    ask = session.history.ask
    _check_fired(session, name, tag)
    links = [_link_data(link) for link in islice(ask.where_from(name, tag, 4), MAX_LINES)]
    return CommandResult(ask.tree(name, tag).splitlines(), {"node": name, "tag": str(tag), "links": links})


def _check_fired(session: Session, name: str, tag: Tag) -> None:
    """Raise Usage if a node has not fired under a tag."""
    try:
        session.history.ask.firing(name, tag)
    except Usage as error:
        error.hint = f"`why-not {name} {tag}` says why" if error.required is None else error.hint
        raise


@query_commands.register("who", "NODE [TAG]", key="Y", help="the firings that consumed what a firing sent")
def who_command(session: Session, words: CommandArguments) -> CommandResult:
    name, tag = parse_node_and_tag(session, words)
    _check_fired(session, name, tag)
    links = session.history.ask.who_used(name, tag)
    data = {"node": name, "tag": str(tag), "users": [_link_data(link) for link in links]}
    return CommandResult(truncate_lines(list(map(str, links)), MAX_LINES) or ["nobody, up to here"], data)


@query_commands.register(
    "why-not", "NODE [TAG]", key="?", help="why a node has not fired: what is missing, and where it is or was lost"
)
def why_not(session: Session, words: CommandArguments) -> CommandResult:
    name, text = words.next_word("a node"), words.optional_word()
    words.expect_end()
    history = session.history
    tag = parse_tag(history.graph, text) if text is not None else _waiting_tag(session, name)
    at_end = history.position == len(history)
    answer = history.ask.why_not(name, tag, stop_error=history.stop_error if at_end else None)
    return CommandResult(str(answer).splitlines(), {"node": name, "tag": str(tag), "verdict": answer.verdict})


def _waiting_tag(session: Session, name: str) -> Tag:
    """A tag under which a node waits; if there is none, that of `last_firing_tag`."""
    node = session.find_node(name)
    waits = (tag for tag, record in session.history.state.records.items() if node in record.waiting_operands)
    return next(waits, None) or last_firing_tag(session, name)


@query_commands.register(
    "flight", key="l", help="the tokens in flight in the order of the schedule, by position; the next has an arrow"
)
def flight(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    history, graph = session.history, session.history.graph
    following, (tokens, left, unlooked) = history.next_choice, list_flight(session, MAX_ROWS)
    lines = [
        f"{'->' if at == following else '  '} {at}: {describe_token(graph, token)}" for at, token in tokens[:MAX_LINES]
    ]
    lines = with_omitted_count(lines, len(tokens) + left)
    lines += [f"and {plural(unlooked, 'token')} that nobody has looked at"] if unlooked else []
    rows = [{"position": at, **token_data(graph, token)} for at, token in tokens]
    data = {"flight": rows, "count": len(history.state.flight), "next": following}
    return CommandResult(lines or ["nothing is in flight"], data)


@query_commands.register(
    "enabled", "[POSITION]", key="x", help="the firings that could go next, from a position of the flight on"
)
def enabled(session: Session, words: CommandArguments) -> CommandResult:
    """Many tokens are looked at, but not all: there may be millions. It says where it stopped."""
    first = words.next_number("a position of the flight") if words else 0
    words.expect_end()
    history = session.history
    state, following = history.state, history.next_choice
    ready = list(islice(could_fire(state, islice(enumerate(state.flight), first, first + MAX_SCANNED)), MAX_ROWS))
    looked = ready[-1].position + 1 if len(ready) == MAX_ROWS else first + MAX_SCANNED
    left = max(len(state.flight) - looked, 0)
    lines = [f"{'->' if each.position == following else '  '} {each}" for each in ready[:MAX_LINES]]
    lines = with_omitted_count(lines, len(ready)) or ["nothing could fire next" if not left else "none of these could"]
    lines += [f"{plural(left, 'token')} more in flight: `enabled {looked}` goes on there"] if left else []
    rows = [{"position": each.position, "node": each.name, "tag": str(each.tag)} for each in ready]
    data = {"enabled": rows, "from": first, "unlooked": left, "next": following}
    return CommandResult(lines, data)
