"""Provenance: where a token came from, and which firings used it.

A query costs time in proportion to its answer, thanks to `index`. Reads and steps no state: why a node has not fired is
in `why`, how two runs differ in `difference`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.tag import ROOT
from ...core.value import format_value
from ..machine.event import Token
from .index import EventIndex
from .origin import ArgumentOrigin, FiringOrigin, Origin, OriginId, TokenKey


@dataclass(frozen=True, slots=True)
class DependenceLink:
    """A firing or argument that a walk reached.

    `depth` is the number of firings on the shortest path to it; 0 is the sender of the queried token, and 1 the firing
    that consumed it. `operands` gives the port and the sender of each token that it consumed: the number of an event,
    or -1 - k for the k-th argument. A cell that it read counts as port -1, with the store as its sender.
    """

    depth: int
    number: OriginId
    origin: Origin
    operands: tuple[tuple[int, OriginId], ...]
    change_descriptions: tuple[str, ...] = ()
    """In a fork, descriptions of its tokens that were changed."""

    def __str__(self) -> str:
        return ", ".join([str(self.origin), *self.change_descriptions])


def where_from(
    index: EventIndex, what: Token | TokenKey | FiringOrigin, depth: int | None = None
) -> Iterator[DependenceLink]:
    """The firings and arguments behind a token or a firing, nearest first, each once; a firing itself comes first.

    The walk is lazy and goes no further than `depth`. Raises Usage if nobody sent the token.
    """
    return _breadth_first(
        index, [_start_of(index, what)], 0, depth, lambda number: [sent for _, sent in index.operands(number)]
    )


def _start_of(index: EventIndex, what: Token | TokenKey | FiringOrigin) -> OriginId:
    """The start of a backward walk: the firing itself, or the sender of the token."""
    if isinstance(what, FiringOrigin):
        return what.number
    node, port, tag = what[:3]
    sender = index.sender(node, port, tag)
    if sender is None:
        raise Usage(f"no token has come to {_describe_port(index.graph, node, port)} under {tag}")
    return sender


def who_used(
    index: EventIndex, what: Token | TokenKey | FiringOrigin | ArgumentOrigin, depth: int | None = 1
) -> Iterator[DependenceLink]:
    """The firings that consumed a token, or the tokens of a firing or argument: nearest first, each once.

    With `depth` 1 they are the direct consumers, with 2 also the consumers of their results, and with None everything
    that depends on the start.
    """
    if isinstance(what, FiringOrigin):
        users = index.users(what.number)
    elif isinstance(what, ArgumentOrigin):
        users = index.users(-1 - what.position)
    else:
        user = index.user(*what[:3])
        users = [] if user is None else [user]
    return _breadth_first(index, users, 1, depth, index.users)


def _breadth_first(
    index: EventIndex, starts: list[OriginId], at: int, most: int | None, further: Callable[[OriginId], list[OriginId]]
) -> Iterator[DependenceLink]:
    """A lazy breadth-first walk."""
    seen, ahead = set(starts), deque((at, number) for number in starts)
    while ahead:
        depth, number = ahead.popleft()
        if most is not None and depth > most:
            return
        changes = (_describe_change(index, token) for token in index.changed_tokens(number)) if index.edits else ()
        yield DependenceLink(depth, number, index.origin(number), index.operands(number), tuple(changes))
        fresh = [found for found in dict.fromkeys(further(number)) if found not in seen]
        seen.update(fresh)
        ahead.extend((depth + 1, found) for found in fresh)


def tree(index: EventIndex, what: Token | TokenKey | FiringOrigin, depth: int = 4, max_lines: int = 100) -> str:
    """Where a token, or the operands of a firing, came from, as text: the firing, and below it a line for each of its
    operands by port, and so on.

    A firing that was printed before appears by its event number only; the tree ends at `depth` and after `max_lines`
    lines.
    """
    start = _start_of(index, what)
    lines, told = [str(index.origin(start, None if isinstance(what, FiringOrigin) else what))], {start}
    ahead = [(1, *operand) for operand in reversed(_operand_tokens(index, start))] if depth else []
    while ahead:
        at, port, number, token = ahead.pop()
        if len(lines) == max_lines:
            return "\n".join([*lines, "..."])
        origin = index.origin(number, token)
        again = number in told and isinstance(origin, FiringOrigin)
        said = f"{origin.short_description}, as above" if again else origin
        lines.append(f"{'  ' * at}{'cell' if port < 0 else f'port {port}'}: {said}")
        if number not in told and at < depth:
            ahead.extend((at + 1, *operand) for operand in reversed(_operand_tokens(index, number)))
            told.add(number)
    return "\n".join(lines)


def _operand_tokens(index: EventIndex, number: OriginId) -> list[tuple[int, OriginId, TokenKey | None]]:
    """The operands of a firing, with the tokens that carried them; None for a value read from a cell."""
    node, _, tag, _ = index.events[number].token if number >= 0 else Token(-1, 0, ROOT, 0)
    return [(port, sent, TokenKey(node, port, tag) if port >= 0 else None) for port, sent in index.operands(number)]


def _describe_change(index: EventIndex, token: TokenKey) -> str:
    port = _describe_port(index.graph, token.node, token.port)
    return f"changed to {format_value(index.changed_value(token))} on {port} under {token.tag}"


def _describe_port(graph: Graph, node: int, port: int) -> str:
    return f"result {port}" if node < 0 else f"port {port} of {graph.nodes[node]}"
