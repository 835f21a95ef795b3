"""Questions over the events of a run: where a token came from, and who used it.

A node fires at most once under a tag, and a port gets at most one token under it (S4). So (node, tag) names a firing,
and (node, port, tag) a token, and all that has to be kept beside the events is at which of them each node fired. Who
sent a token is read from the edges of the graph; each question costs what its answer costs.

Nothing here reads a state or steps one: why a node has not fired is in `why`, how two runs differ in `difference`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Protocol

from ...core.control import CONTROL
from ...core.errors import Usage
from ...core.graph import Edge, Graph, Source
from ...core.tag import ROOT, Tag
from ...core.value import Value, show
from ..alarm import interruptible
from ..event import Cell, Event, Token
from .contexts import Context, contexts
from .origin import Argument, Arrival, Change, Firing, Injected, Number, Origin

CELLS = ("store", "get", "collect")
"""The ops that put into cells and read them: what is put goes to what reads it by no edge."""


class Numbered(Protocol):
    """Events by number."""

    def __getitem__(self, number: int) -> Event: ...


class Index:
    """Which event each node fired at, under each tag: what is kept of a run so that questions have cheap answers.

    `see` takes the events of the run in their order; `unsee` forgets the last. It keeps the events themselves, and some
    120 bytes for each firing. Questions are about the moment when `at` of them have happened: who goes back forgets
    nothing.
    """

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[Value],
        events: Iterable[Event] = (),
        edits: Iterable[tuple[int, Change]] = (),
    ) -> None:
        """`arguments` are those of the run, as values; the hidden ones are not among them. `edits` are the tokens that
        were changed, each with how many events had happened then."""
        self.graph = graph
        self.arguments: tuple[Value, ...] = (*[True] * graph.hidden, *arguments)
        self.edits = tuple(edits)
        self.events: list[Event] = []
        self.at = inf
        """Events from this number on have not happened yet; but for this, all have."""
        self.closed: dict[Tag, Number] = {}
        """The event at which each activation closes, of those that do."""
        self.sources = graph.sources()
        self.crosses = [node.op in CONTROL and CONTROL[node.op].to != "same" for node in graph.nodes]
        """Whether a node sends under another tag than its own."""
        self._fired: dict[Tag, dict[int, Number]] = {}
        self._crossed: dict[Tag, dict[int, Number]] = {}
        """By the tag of what they sent, the nodes that sent from another activation."""
        self._puts: dict[Cell, Number] = {}
        """By which store each cell was filled."""
        self._gets: dict[Number, list[Number]] = {}
        """By store, the firings that got what it put."""
        self._latest: tuple[Tag | None, dict[int, Number]] = None, {}
        for event in events:
            self.see(event)

    @cached_property
    def contexts(self) -> dict[int, Context]:
        """The function or loop under whose tags each node fires; of a graph that breaks the rules nothing is known."""
        return contexts(self.graph)

    def follow(self, walk: Numbered, position: int) -> None:
        """Stand where this walk does: see what has not been seen of it, and forget only what happened otherwise. Where
        that is interrupted, it goes on from there the next time."""
        common = min(len(self.events), position)
        while common and self.events[common - 1] is not walk[common - 1]:
            common -= 1
        with interruptible() as interrupt:
            while common < position and len(self.events) > common:
                self.unsee()
                if interrupt.pressed:
                    raise KeyboardInterrupt
            for number in range(len(self.events), position):
                self.see(walk[number])
                if interrupt.pressed:
                    raise KeyboardInterrupt
        self.at = position

    def __len__(self) -> int:
        """How many events have happened."""
        return int(min(len(self.events), self.at))

    def has_closed(self, tag: Tag) -> bool:
        return self.closed.get(tag, self.at) < self.at

    def see(self, event: Event) -> None:
        """The next event of the run."""
        number = len(self.events)
        self.events.append(event)
        if event.inputs is None:
            return
        node, _, tag, _ = event.token
        latest, under = self._latest
        if tag is not latest:  # a third of the time on fib: hashing a tag is a call
            under = self._fired.setdefault(tag, {})
            self._latest = tag, under
        under[node] = number
        if self.crosses[node] and event.sent:
            self._crossed.setdefault(event.sent[0].tag, {})[node] = number
        for finished in event.closed:
            self.closed[finished.tag] = number
        if self.graph.nodes[node].op in CELLS and event.trap is None:
            if event.outputs:
                for put in self.puts(event):
                    self._gets.setdefault(put, []).append(number)
            else:
                self._puts[Cell(*event.inputs[:2])] = number  # type: ignore[arg-type]

    def unsee(self) -> Event:
        """Forget the last event, as if it had not been seen; returns it."""
        event = self.events.pop()
        if event.inputs is not None:
            node, _, tag, _ = event.token
            self._latest = None, {}
            _drop(self._fired, tag, node)
            if self.crosses[node] and event.sent:
                _drop(self._crossed, event.sent[0].tag, node)
            for finished in event.closed:
                del self.closed[finished.tag]
            if self.graph.nodes[node].op in CELLS and event.trap is None:
                if event.outputs:
                    for put in self.puts(event):
                        self._gets[put].pop()
                else:
                    del self._puts[Cell(*event.inputs[:2])]  # type: ignore[arg-type]
        return event

    def fired(self, node: int, tag: Tag) -> Number | None:
        """The event at which this node fired under this tag, if it did."""
        return self._past(self._fired, tag, node)

    def _past(self, kept: dict[Tag, dict[int, Number]], tag: Tag, node: int) -> Number | None:
        number = kept.get(tag, _NOBODY).get(node)
        return number if number is not None and number < self.at else None

    def opened(self, tag: Tag) -> Tag | None:
        """The tag itself, if its activation has ever opened, as the events have it: that one is found again in a time
        that does not grow with its depth."""
        first = next(iter(self._crossed.get(tag, _NOBODY).values()), self.at)
        if first >= self.at:
            return ROOT if tag == ROOT else None
        return self.events[int(first)].sent[0].tag

    def sender(self, node: int, port: int, tag: Tag) -> Number | None:
        """Who sent the token of this port under this tag; None if nobody has."""
        if node < 0:
            return self._past(self._crossed, tag, self.graph.results[port])
        for source in self.sources.get(Edge(node, port), ()):
            number = self._sent_by(source, tag)
            if number is not None and (number < 0 or _has(self.events[number].sent, node, port)):
                return number
        return self._injected(Arrival(node, port, tag)) if self.edits else None

    def _injected(self, token: Arrival) -> Number | None:
        """The edit that put this token into the flight, if one did."""
        for at, (position, edit) in enumerate(self.edits):
            if edit.is_new and position <= len(self) and edit.token[:3] == token:
                return -1 - len(self.arguments) - at
        return None

    def _sent_by(self, source: Source, tag: Tag) -> Number | None:
        """The firing of a source, whatever it sent, whose tokens are under this tag."""
        if source.node < 0:
            return -1 - source.output if tag == ROOT else None
        return self._past(self._crossed if self.crosses[source.node] else self._fired, tag, source.node)

    def user(self, node: int, port: int, tag: Tag) -> Number | None:
        """The firing that consumed the token of this port under this tag; None if none has."""
        number = None if node < 0 else self.fired(node, tag)
        if number is None or self.graph.nodes[node].op != "merge":
            return number
        return number if self.events[number].token.port == port else None

    def puts(self, event: Event) -> list[Number]:
        """The stores that filled what a firing of `get`, or of `collect`, got; of another op, or of a trap, none."""
        if event.trap is not None:
            return []
        inputs: Any = event.inputs
        op = self.graph.nodes[event.token.node].op
        numbers = [inputs[1]] if op == "get" else range(inputs[0].size) if op == "collect" else []
        return [self._puts[Cell(inputs[0], number)] for number in numbers]

    def operands(self, number: Number) -> tuple[tuple[int, Number], ...]:
        """For each token that this firing consumed, its port, and who sent it; and for each cell that it read, -1 and
        the store that filled it."""
        if number < 0:
            return ()
        node, came, tag, _ = self.events[number].token
        row = self.graph.nodes[node]
        ports = [came] if row.op == "merge" else [p for p, literal in enumerate(row.ports) if literal is None]
        senders = ((port, self.sender(node, port, tag)) for port in ports)
        cells = ((-1, put) for put in self.puts(self.events[number]))
        return (*((port, sender) for port, sender in senders if sender is not None), *cells)

    def users(self, number: Number) -> list[Number]:
        """The firings that consumed what this firing, or argument, sent, in the order of the tokens, or that read the
        cell that it filled: each once."""
        if number < -len(self.arguments):
            sent = [self.edits[-1 - len(self.arguments) - number][1].token[:3]]
        elif number < 0:
            sent = [(*edge, ROOT) for edge in self.graph.arguments[-1 - number][1].edges]
        else:
            sent = [token[:3] for token in self.events[number].sent]
        found = (self.user(*token) for token in sent)
        users = [user for user in found if user is not None]
        return list(dict.fromkeys([*users, *(got for got in self._gets.get(number, ()) if got < self.at)]))

    def origin(self, number: Number, token: Token | Arrival | None = None) -> Origin:
        """A firing, or an argument, in full; as the origin of a token that it sent, with how that was changed."""
        changed = None if token is None or not self.edits else self.changed_to(token)
        if number >= 0:
            return Firing(number, self.graph, self.events[number], changed)
        if number < -len(self.arguments):
            after, edit = self.edits[-1 - len(self.arguments) - number]
            return Injected(after, self.graph, edit.token, changed)
        name, _ = self.graph.arguments[-1 - number]
        return Argument(-1 - number, name, self.arguments[-1 - number], changed)

    def changed_to(self, token: Token | Arrival) -> Value | None:
        """The value that a token was given last, if it was changed in the past."""
        found = [edit.value for edit in self._changed() if edit.token[:3] == token[:3]]
        return found[-1] if found else None

    def _changed(self) -> Iterator[Change]:
        """What was changed in the past."""
        return (edit for at, edit in self.edits if at <= len(self) and not edit.is_new)

    def changes(self, number: Number) -> tuple[Arrival, ...]:
        """The tokens of a firing, or of an argument, that were changed in the past."""
        tokens = dict.fromkeys(Arrival(*edit.token[:3]) for edit in self._changed())
        return tuple(token for token in tokens if self.sender(*token) == number)


_NOBODY: Mapping[int, Number] = {}


def _has(sent: tuple[Token, ...], node: int, port: int) -> bool:
    return any(token[0] == node and token[1] == port for token in sent)


def _drop(under: dict[Tag, dict[int, Number]], tag: Tag, node: int) -> None:
    del under[tag][node]
    if not under[tag]:
        del under[tag]


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
