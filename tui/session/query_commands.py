"""Query commands: why a node fired, who used its results, why it has not fired, and what could fire next."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ...core.errors import Usage, plural
from ...core.tag import ROOT, Tag
from ...interp.queries.ask import DependenceLink, parse_tag
from ...interp.queries.why_not import could_fire
from .command import CommandArguments, CommandGroup, CommandResult, parse_number, truncate_lines, with_omitted_count
from .listing import MAX_LINES, MAX_ROWS, describe_token, list_flight, token_data
from .node import last_firing_tag, parse_node_and_tag
from .session import Session

query_commands = CommandGroup[Session]("asking")
MAX_SCANNED = 2000
"""The most tokens that `enabled` scans; each takes 1 us."""


def link_data(link: DependenceLink) -> dict[str, Any]:
    """A firing, argument or injected token in an answer, as data; only firings have an event."""
    return {
        "depth": link.depth,
        "event": link.number if link.number >= 0 else None,
        "said": str(link),
        "operands": [{"port": port, "event": number if number >= 0 else None} for port, number in link.operands],
    }


WHY_DEPTH = 4
"""The levels of `why` without DEPTH."""


@query_commands.register("why", "NODE [TAG] [DEPTH]", key="y", help="the firings behind a firing, as a tree")
def why(session: Session, words: CommandArguments) -> CommandResult:
    parts = words.text.split()
    depth = WHY_DEPTH
    if len(parts) > 1 and not parts[-1].startswith(str(ROOT)):
        depth = parse_number(parts.pop(), 1, words.usage)
    name, tag = parse_node_and_tag(session, CommandArguments(words.usage, " ".join(parts)))
    ask = session.history.ask
    check_fired(session, name, tag)
    links = [link_data(link) for link in islice(ask.where_from(name, tag, depth), MAX_LINES)]
    return CommandResult(ask.tree(name, tag, depth).split("\n"), {"node": name, "tag": str(tag), "links": links})


def check_fired(session: Session, name: str, tag: Tag) -> None:
    """Raise Usage if a node has not fired under a tag."""
    try:
        session.history.ask.firing(name, tag)
    except Usage as error:
        error.hint = f"`why-not {name} {tag}` says why" if error.required is None else error.hint
        raise


@query_commands.register("who", "NODE [TAG]", key="Y", help="the firings that consumed what a firing sent")
def who_command(session: Session, words: CommandArguments) -> CommandResult:
    name, tag = parse_node_and_tag(session, words)
    check_fired(session, name, tag)
    links = session.history.ask.who_used(name, tag)
    data = {"node": name, "tag": str(tag), "users": [link_data(link) for link in links]}
    return CommandResult(truncate_lines(list(map(str, links)), MAX_LINES) or ["no firing, up to here"], data)


@query_commands.register(
    "why-not",
    "NODE [TAG]",
    key="?",
    help="why a node has not fired: which token is missing, and where it is or was lost",
)
def why_not(session: Session, words: CommandArguments) -> CommandResult:
    name, text = words.next_word("a node"), words.optional_word()
    words.expect_end()
    history = session.history
    if text is not None:
        tag = parse_tag(history.graph, text)
    else:  # a tag under which the node waits, if there is one
        node = session.find_node(name)
        tags = (tag for tag, record in history.state.records.items() if node in record.waiting_operands)
        tag = next(tags, None) or last_firing_tag(session, name)
    at_end = history.position == len(history)
    answer = history.ask.why_not(name, tag, stop_error=history.stop_error if at_end else None)
    return CommandResult(str(answer).split("\n"), {"node": name, "tag": str(tag), "verdict": answer.verdict})


@query_commands.register(
    "flight", key="l", help="the tokens in flight, in the order of the schedule; an arrow marks the next"
)
def flight(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    history, graph = session.history, session.history.graph
    next_position, listing = history.next_choice, list_flight(session, MAX_ROWS)
    lines = [
        f"{'->' if at == next_position else '  '} {at}: {describe_token(graph, token)}"
        for at, token in listing.tokens[:MAX_LINES]
    ]
    lines = with_omitted_count(lines, len(listing.tokens) + listing.remaining_count)
    lines += [f"and {plural(listing.unscanned_count, 'token')} not searched"] if listing.unscanned_count else []
    rows = [{"position": at, **token_data(graph, token)} for at, token in listing.tokens]
    data = {"flight": rows, "count": len(history.state.flight), "next": next_position}
    return CommandResult(lines or ["nothing is in flight"], data)


@query_commands.register(
    "enabled", "[POSITION]", key="x", help="the firings that can come next, from a position of the flight on"
)
def enabled(session: Session, words: CommandArguments) -> CommandResult:
    """Scans the first tokens only, because there may be millions; the reply says where it stopped."""
    first = words.next_number("a position of the flight") if words else 0
    words.expect_end()
    history = session.history
    state, next_position = history.state, history.next_choice
    firings = list(islice(could_fire(state, islice(enumerate(state.flight), first, first + MAX_SCANNED)), MAX_ROWS))
    end = firings[-1].position + 1 if len(firings) == MAX_ROWS else first + MAX_SCANNED
    remaining_count = max(len(state.flight) - end, 0)
    lines = [f"{'->' if firing.position == next_position else '  '} {firing}" for firing in firings[:MAX_LINES]]
    lines = with_omitted_count(lines, len(firings)) or [
        "none of these can fire next" if remaining_count else "nothing can fire next"
    ]
    lines += (
        [f"{plural(remaining_count, 'token')} more in flight: `enabled {end}` goes on there"] if remaining_count else []
    )
    rows = [{"position": firing.position, "node": firing.name, "tag": str(firing.tag)} for firing in firings]
    data = {"enabled": rows, "from": first, "unscanned": remaining_count, "next": next_position}
    return CommandResult(lines, data)
