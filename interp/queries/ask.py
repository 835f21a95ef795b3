"""Queries at the current position of a history, with names of nodes and texts of tags; and where a token came from, and
which firings used it.

With `index`, a query about provenance takes time in proportion to its answer. `why_not` and `difference` have the other
queries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple, Protocol, TypeVar

from ...core.errors import TagloomError, Usage, plural
from ...core.graph.graph import Graph, GraphNode
from ...core.program import hints
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value, abbreviate
from ..machine.event import Event, Token
from ..machine.state import State
from .answers import ArgumentOrigin, FiringOrigin, Origin, OriginId, TokenEdit, TokenKey, WhyNotAnswer
from .contexts import Context, check_node_tag
from .difference import Difference, first_difference
from .index import EventIndex
from .why_not import EnabledFiring, could_fire, why_not

Item = TypeVar("Item", covariant=True)


class AnswerList(tuple[Item, ...]):
    """The items of an answer, which are valid also after the history has moved; as text, one line for each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "none"


class HistoryCursorLike(Protocol):
    """A position in a history: `position` events have happened, `state` is the state after them, and a slice of the
    history gives events by their numbers."""

    state: State
    position: int

    @property
    def edits(self) -> Sequence[tuple[int, TokenEdit]]:
        """The edited tokens, each with the number of events before the edit."""

    def __getitem__(self, numbers: slice, /) -> Sequence[Event]: ...


class HasQueries(Protocol):
    """An object with queries, such as a history."""

    @property
    def ask(self) -> RunQueries: ...


class RunQueries:
    """Queries about a run at the current position of a cursor.

    A node is given by name, `add` or `fib.add`, and a tag as text, `main/fib/loop[4]`, or as a `Tag`.
    """

    def __init__(
        self, cursor: HistoryCursorLike, graph: Graph, arguments: Sequence[Value], index: EventIndex | None = None
    ) -> None:
        self._cursor = cursor
        self._graph = graph
        self._arguments = arguments
        self._index = index

    @property
    def index(self) -> EventIndex:
        """The index of the events, brought up to the current position."""
        index = self._current_index
        index.edits = tuple(self._cursor.edits)
        index.catch_up(self._cursor, self._cursor.position)
        return index

    @property
    def _current_index(self) -> EventIndex:
        """The index, which may be at another position."""
        if self._index is None:
            self._index = EventIndex(self._graph, self._arguments)
        return self._index

    @property
    def contexts(self) -> Mapping[int, Context]:
        """The function or loop under whose tags each node fires. This reads no events."""
        return self._current_index.contexts

    def why_not(self, node: str, tag: str | Tag = ROOT, *, stop_error: TagloomError | None = None) -> WhyNotAnswer:
        """Why a node has not fired under a tag: its ports, and for each missing token, where it was lost or where it
        is."""
        number, parsed_tag = self._resolve(node, tag)
        return why_not(self.index, self._cursor.state, number, parsed_tag, stop_error=stop_error)

    def could_fire(self) -> AnswerList[EnabledFiring]:
        """The tokens in flight whose delivery, as the next step, would fire a node."""
        return AnswerList(could_fire(self._cursor.state))

    def where_from(self, node: str, tag: str | Tag = ROOT, depth: int | None = None) -> AnswerList[DependenceLink]:
        """The firing of a node, and the firings and arguments that its operands came from, nearest first."""
        return AnswerList(where_from(self.index, self.firing(node, tag), depth))

    def tree(self, node: str, tag: str | Tag = ROOT, depth: int = 4) -> str:
        """The firings that the operands of a firing came from, as text: a tree with one line for each operand, at most
        `depth` levels deep, without the nodes that only pass a value on."""
        return tree(self.index, self.firing(node, tag), depth)

    def origin(self, node: str, tag: str | Tag = ROOT, port: int | None = None) -> Origin:
        """The firing or argument that made the value on a port of a node, behind the nodes that only passed it on; by
        default that of the first port with a token. Raises Usage if no token has come."""
        index, (number, parsed_tag) = self.index, self._resolve(node, tag)
        ports = [at for at, literal in enumerate(self._graph.nodes[number].ports) if literal is None]
        for at in ports if port is None else [port]:
            sender = index.sender(number, at, parsed_tag)
            if sender is not None:
                return index.origin(*skip_passing(index, sender, TokenKey(number, at, parsed_tag))[:2])
        where = "" if port is None else f" to port {port} of"
        raise Usage(
            f"no token has come{where or ' to'} {node} under {tag}", hint=f"why_not({node!r}, {str(tag)!r}) says why"
        )

    def who_used(self, node: str, tag: str | Tag = ROOT, depth: int | None = 1) -> AnswerList[DependenceLink]:
        """The firings that consumed the results of a node's firing; with depth None, all firings that depend on it."""
        return AnswerList(who_used(self.index, self.firing(node, tag), depth))

    def first_difference(self, other: RunQueries | HasQueries) -> Difference | None:
        """The first difference, in dependence order, from another run (a history or its `ask`); None if there is none.
        Each run is compared up to its current position."""
        queries = other if isinstance(other, RunQueries) else getattr(other, "ask", None)
        if not isinstance(queries, RunQueries):
            raise Usage(
                "other must be a run", required="a history, or its ask", got=type(other).__name__, python=TypeError
            )
        return first_difference(self.index, queries.index)

    def firing(self, node: str, tag: str | Tag = ROOT) -> FiringOrigin:
        """The firing of a node under a tag; raises Usage if it has not fired."""
        index, (number, parsed_tag) = self.index, self._resolve(node, tag)
        event = index.firing_event(number, parsed_tag)
        if event is None:
            hint = f"why_not({node!r}, {str(tag)!r}) says why"
            raise Usage(f"{node} has not fired under {tag}", hint=hint, python=KeyError)
        return index.firing_origin(event)

    def _resolve(self, node: str, tag: str | Tag) -> tuple[int, Tag]:
        """A node number and a tag; raises Usage if the node never fires under such a tag."""
        number, parsed_tag = self._graph.only(node), tag if isinstance(tag, Tag) else parse_tag(self._graph, tag)
        check_node_tag(self._graph, self.contexts, number, parsed_tag)
        return number, parsed_tag


def parse_tag(graph: Graph, text: str) -> Tag:
    """Parse a tag, such as `main/fib/loop[4]`; raises Usage if the graph has no such sites.

    Each step is the name of a call or loop of the function that the steps before it lead to.
    """
    tag, function, callees = ROOT, graph.name, dict(graph.calls)
    sites = {(node.site.function, node.site.name): node.site for node in graph.nodes if node.site is not None}
    first, *steps = text.split("/")
    if first != str(ROOT):
        raise Usage("a tag begins with main, the root", got=repr(text))
    for step in steps:
        name, bracket, rest = step.partition("[")
        site = sites.get((function, name))
        if site is None:
            names = [site_name for owner, site_name in sites if owner == function]
            hint = hints.suggest_name(name, names) or (f"choose from {', '.join(names)}" if names else None)
            raise Usage(f"{function} has no call or loop {name!r}", got=repr(text), hint=hint, python=KeyError)
        tag = tag.child(site, _parse_iteration(site, bracket + rest, text))
        function = callees.get(site, function) if site.kind == "call" else function
    return tag


def _parse_iteration(site: Site, brackets: str, text: str) -> int:
    number = brackets[1:-1]
    if site.kind == "call" and not brackets:
        return 0
    if site.kind == "loop" and brackets[-1:] == "]" and number.isascii() and number.isdigit():
        return int(number)
    required = f"{site.name}[0], or another iteration" if site.kind == "loop" else site.name
    raise Usage(f"{site} is a {site.kind}", required=required, got=repr(text))


@dataclass(frozen=True, slots=True)
class DependenceLink:
    """A firing or argument that a search along dependences reached.

    `depth` is the number of firings on the shortest path to it; 0 is the sender of the queried token, and 1 the firing
    that consumed it. `operands` gives the port and the sender of each token that it consumed: the number of an event,
    or -1 - k for the k-th argument. A cell that it read counts as port -1, with the store as its sender.
    """

    depth: int
    number: OriginId
    origin: Origin
    operands: tuple[tuple[int, OriginId], ...]
    change_descriptions: tuple[str, ...] = ()
    """For a fork, descriptions of the changes of its tokens."""

    def __str__(self) -> str:
        return ", ".join([str(self.origin), *self.change_descriptions])


def where_from(
    index: EventIndex, start: Token | TokenKey | FiringOrigin, depth: int | None = None
) -> Iterator[DependenceLink]:
    """The firings and arguments that a token or a firing came from, nearest first, each once; a firing itself is first.

    The search is lazy, and ends at `depth`. Raises Usage if nothing sent the token.
    """
    return breadth_first(
        index, [start_of(index, start)], 0, depth, lambda number: [producer for _, producer in index.operands(number)]
    )


def start_of(index: EventIndex, start: Token | TokenKey | FiringOrigin) -> OriginId:
    """The number at which a backward search starts: of the firing itself, or of the sender of the token."""
    if isinstance(start, FiringOrigin):
        return start.number
    node, port, tag = start[:3]
    sender = index.sender(node, port, tag)
    if sender is None:
        message = f"no token has come to {_describe_port(index.graph, node, port)} under {tag}"
        raise Usage(message, python=KeyError)
    return sender


def who_used(
    index: EventIndex, start: Token | TokenKey | FiringOrigin | ArgumentOrigin, depth: int | None = 1
) -> Iterator[DependenceLink]:
    """The firings that consumed a token, or the tokens of a firing or argument, nearest first, each once.

    With `depth` 1 they are the direct consumers, with 2 also the consumers of their results, and with None everything
    that depends on the start.
    """
    if isinstance(start, FiringOrigin):
        users = index.users(start.number)
    elif isinstance(start, ArgumentOrigin):
        users = index.users(-1 - start.position)
    else:
        user = index.user(*start[:3])
        users = [] if user is None else [user]
    return breadth_first(index, users, 1, depth, index.users)


def breadth_first(
    index: EventIndex,
    starts: list[OriginId],
    start_depth: int,
    max_depth: int | None,
    neighbors: Callable[[OriginId], list[OriginId]],
) -> Iterator[DependenceLink]:
    """Search breadth first and lazily from `starts`, whose depth is `start_depth`, along `neighbors`."""
    visited, queue = set(starts), deque((start_depth, number) for number in starts)
    while queue:
        depth, number = queue.popleft()
        if max_depth is not None and depth > max_depth:
            return
        changes = (_describe_change(index, token) for token in index.changed_tokens(number)) if index.edits else ()
        yield DependenceLink(depth, number, index.origin(number), index.operands(number), tuple(changes))
        unvisited = [neighbor for neighbor in dict.fromkeys(neighbors(number)) if neighbor not in visited]
        visited.update(unvisited)
        queue.extend((depth + 1, neighbor) for neighbor in unvisited)


PASSING_OPS = ("merge", "return", "switch", "call", "enter", "exit", "next_iteration", "reenter", "back", "identity")
"""The ops that pass a value on: that of port 0, or, for a merge, that of the port with the token."""
MAX_COUNTED_FIRINGS = 20_000
"""The most firings that are visited to count levels."""


def tree(index: EventIndex, start: Token | TokenKey | FiringOrigin, depth: int = 4, max_lines: int = 100) -> str:
    """Where a token or a firing came from, as text: a line for the firing, then an indented line for each of its
    operands, by port, and so on.

    Nodes that only pass a value on have no lines: an operand has the firing that made its value, and the last call that
    passed it on. A firing that was printed before appears by its event number only; the tree ends at `depth` and after
    `max_lines` lines, and the last line counts the levels below, or says that lines are left out.
    """
    first = start_of(index, start)
    lines, printed_firings = [str(index.origin(first, None if isinstance(start, FiringOrigin) else start))], {first}
    stack = [(1, *operand) for operand in reversed(made_operands(index, first))] if depth else []
    is_cut = not depth and bool(made_operands(index, first))
    while stack:
        level, port, (number, token, call) = stack.pop()
        if len(lines) == max_lines:
            hint = "a smaller depth shows all operands, and `why` of a firing goes on from it"
            return "\n".join([*lines, f"... these are the first {plural(max_lines, 'line')}: {hint}"])
        origin = index.origin(number, token)
        is_repeated = number in printed_firings and isinstance(origin, FiringOrigin)
        text = f"{origin.short_description}, as above" if is_repeated else origin
        call_text = "" if call is None else f", through {call}{f' ({call.location})' if call.location else ''}"
        lines.append(f"{'  ' * level}{'cell' if port < 0 else f'port {port}'}: {text}{call_text}")
        if number not in printed_firings:
            printed_firings.add(number)
            if level < depth:
                stack.extend((level + 1, *operand) for operand in reversed(made_operands(index, number)))
            else:
                is_cut = is_cut or bool(made_operands(index, number))
    return "\n".join([*lines, *([describe_levels(index, first, depth)] if is_cut else [])])


def describe_levels(index: EventIndex, start: OriginId, depth: int) -> str:
    """A line that counts the levels of the tree of a firing below a depth."""
    levels, queue, count = {start: 0}, [-start], 0
    while queue and count < MAX_COUNTED_FIRINGS:
        number, count = -heappop(queue), count + 1  # all that use a firing come after it
        for _, (producer, _, _) in made_operands(index, number):
            if producer not in levels and producer >= 0:
                heappush(queue, -producer)
            levels[producer] = max(levels.get(producer, 0), levels[number] + 1)
    most = max(levels.values())
    if queue:
        return f"at least {most - depth:,} more levels"
    return f"{plural(most - depth, 'more level')}: depth {most:,} shows {'it' if most == depth + 1 else 'them'}"


class ValueOrigin(NamedTuple):
    """The firing or argument that made a value, the last token that carried the value from there (None for a value read
    from a cell), and the last call that passed the value on, if any."""

    number: OriginId
    token: TokenKey | None
    call: GraphNode | None


def made_operands(index: EventIndex, number: OriginId) -> list[tuple[int, ValueOrigin]]:
    """The operands of a firing by port, each with the origin of its value. A trigger is left out if it says nothing: if
    it is a hidden argument, or a literal that was passed on."""
    operands = [(port, skip_passing(index, sender, token)) for port, sender, token in operand_tokens(index, number)]
    return [(port, origin) for port, origin in operands if not is_plain_trigger(index, number, port, origin)]


def is_plain_trigger(index: EventIndex, number: OriginId, port: int, origin: ValueOrigin) -> bool:
    """Whether an operand is a hidden argument, or a trigger that no branch sent."""
    if origin.number < 0:
        return -index.graph.hidden_count <= origin.number
    node = index.graph.nodes[index.events[number].token.node]
    sender = index.graph.nodes[index.events[origin.number].token.node]
    return node.has_trigger and port == len(node.ports) - 1 and sender.op in PASSING_OPS


def skip_passing(index: EventIndex, number: OriginId, token: TokenKey | None) -> ValueOrigin:
    """The origin of the value of a token, behind the nodes that only passed it on. A token that an edit in a fork
    changed has its value from there."""
    call = None
    while number >= 0 and (token is None or not index.edits or index.changed_value(token) is None):
        node, arrival_port, tag, _ = index.events[number].token
        row = index.graph.nodes[node]
        port = arrival_port if row.op == "merge" else 0
        sender = index.sender(node, port, tag) if row.op in PASSING_OPS else None
        if sender is None:
            break
        call = row if call is None and row.op == "call" else call
        number, token = sender, TokenKey(node, port, tag)
    return ValueOrigin(number, token, call)


def operand_tokens(index: EventIndex, number: OriginId) -> list[tuple[int, OriginId, TokenKey | None]]:
    """The operands of a firing, with the tokens that carried them; None for a value read from a cell."""
    node, _, tag, _ = index.events[number].token if number >= 0 else Token(-1, 0, ROOT, 0)
    return [
        (port, producer, TokenKey(node, port, tag) if port >= 0 else None) for port, producer in index.operands(number)
    ]


def _describe_change(index: EventIndex, token: TokenKey) -> str:
    port = _describe_port(index.graph, token.node, token.port)
    return f"changed to {abbreviate(index.changed_value(token))} on {port} under {token.tag}"


def _describe_port(graph: Graph, node: int, port: int) -> str:
    return f"result {port}" if node < 0 else f"port {port} of {graph.nodes[node]}"
