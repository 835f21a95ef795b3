"""Questions over the events of a run: where a token came from, and who used it.

Each costs what its answer costs: what is kept of a run for that is its `index`.

Nothing here reads a state or steps one: why a node has not fired is in `why`, how two runs differ in `difference`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.tag import ROOT
from ...core.value import show
from ..machine.event import Token
from .index import Index
from .origin import Argument, Arrival, Firing, Number, Origin


@dataclass(frozen=True, slots=True)
class Link:
    """A firing, or an argument, that a walk came to.

    `depth` is how many firings away it is, by the shortest way; 0 is the sender of the token that was asked for, and 1
    the firing that consumed it. `operands` says for each token that it consumed the port and its sender: the number of
    an event, or -1 - k for the k-th argument. A cell that it read counts as a port -1, and the store as its sender.
    """

    depth: int
    number: Number
    origin: Origin
    operands: tuple[tuple[int, Number], ...]
    changes: tuple[str, ...] = ()
    """In a what-if, which of the tokens that it sent were changed, in words."""

    def __str__(self) -> str:
        return ", ".join([str(self.origin), *self.changes])


def where_from(index: Index, what: Token | Arrival | Firing, depth: int | None = None) -> Iterator[Link]:
    """The firings behind a token, or behind a firing and that one first, and the arguments that they go back to:
    nearest first, each once.

    The walk goes no further than it is asked for links, nor than `depth`. Raises Usage if nobody sent the token.
    """
    return _walk(index, [_start(index, what)], 0, depth, lambda number: [sent for _, sent in index.operands(number)])


def _start(index: Index, what: Token | Arrival | Firing) -> Number:
    """Where a walk back begins: at the firing itself, or at who sent the token."""
    if isinstance(what, Firing):
        return what.number
    node, port, tag = what[:3]
    sender = index.sender(node, port, tag)
    if sender is None:
        raise Usage(f"no token has come to {_said(index.graph, node, port)} under {tag}")
    return sender


def who_used(index: Index, what: Token | Arrival | Firing | Argument, depth: int | None = 1) -> Iterator[Link]:
    """The firings that consumed a token, or what a firing or an argument sent: nearest first, each once.

    With a `depth` of 1 they are those that consumed it directly, with 2 those that consumed what these sent as well,
    and with None all that depend on it.
    """
    if isinstance(what, Firing):
        users = index.users(what.number)
    elif isinstance(what, Argument):
        users = index.users(-1 - what.position)
    else:
        user = index.user(*what[:3])
        users = [] if user is None else [user]
    return _walk(index, users, 1, depth, index.users)


def _walk(
    index: Index, starts: list[Number], at: int, most: int | None, further: Callable[[Number], list[Number]]
) -> Iterator[Link]:
    """Breadth first, as far as it is asked."""
    seen, ahead = set(starts), deque((at, number) for number in starts)
    while ahead:
        depth, number = ahead.popleft()
        if most is not None and depth > most:
            return
        changes = (_told(index, token) for token in index.changes(number)) if index.edits else ()
        yield Link(depth, number, index.origin(number), index.operands(number), tuple(changes))
        fresh = [found for found in dict.fromkeys(further(number)) if found not in seen]
        seen.update(fresh)
        ahead.extend((depth + 1, found) for found in fresh)


def tree(index: Index, what: Token | Arrival | Firing, depth: int = 4, most: int = 100) -> str:
    """Where a token, or what a firing consumed, came from, in words: the firing, and below it a line for each of its
    operands by port, and so on.

    A firing that was said before is named by its event only; nothing is said below `depth`, nor after `most` lines.
    """
    start = _start(index, what)
    lines, told = [str(index.origin(start, None if isinstance(what, Firing) else what))], {start}
    ahead = [(1, *operand) for operand in reversed(_fed(index, start))] if depth else []
    while ahead:
        at, port, number, token = ahead.pop()
        if len(lines) == most:
            return "\n".join([*lines, "..."])
        origin = index.origin(number, token)
        again = number in told and isinstance(origin, Firing)
        said = f"{origin.short}, as above" if again else origin
        lines.append(f"{'  ' * at}{'cell' if port < 0 else f'port {port}'}: {said}")
        if number not in told and at < depth:
            ahead.extend((at + 1, *operand) for operand in reversed(_fed(index, number)))
            told.add(number)
    return "\n".join(lines)


def _fed(index: Index, number: Number) -> list[tuple[int, Number, Arrival | None]]:
    """The operands of a firing, with the tokens that they came as; what a cell held came as none."""
    node, _, tag, _ = index.events[number].token if number >= 0 else Token(-1, 0, ROOT, 0)
    return [(port, sent, Arrival(node, port, tag) if port >= 0 else None) for port, sent in index.operands(number)]


def _told(index: Index, token: Arrival) -> str:
    return (
        f"changed to {show(index.changed_to(token))} on {_said(index.graph, token.node, token.port)} under {token.tag}"
    )


def _said(graph: Graph, node: int, port: int) -> str:
    return f"result {port}" if node < 0 else f"port {port} of {graph.nodes[node]}"
