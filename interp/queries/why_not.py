"""Why a node has not fired under a tag, and which nodes could fire, at one position of a run.

The search follows edges upstream from the ports without a token. The tag of a sender follows from the rule of its op,
inverted (S7 to S9, S17): `return` sends from the activation of the call; `exit` from the last iteration of its loop, or
from one that has not opened; `back` from the iteration after, or, out of the loop, from the first one; all others from
the same tag, its parent, or the iteration before. The search enters no activation that has not opened, but continues at
the nodes that would open it; so it ends. At an empty cell it continues at the stores that have received the number of
the cell; at a throttled token, at the cause that keeps the earlier iteration busy.

A node may still fire if, for each port without a token (for a merge: for any), some path ends at a token in flight;
otherwise it never fires, so nodes that only wait for each other are not live. The verdict is unknown if a path ends at
a cell whose number no store has received, but some store still may receive it. Liveness is the least fixed point over
the waiters that the search reached; computing it reads neither events nor the state.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias
from typing import Literal as Word

from ...core.errors import TagloomError, Usage
from ...core.graph.graph import Edge, OutputRef
from ...core.ops.routing import ALL_ROUTING_OPS
from ...core.tag import ROOT, Site, Tag
from ...core.types import Handle, type_of
from ...core.value import Value
from ..machine.event import CellAddress, Token
from ..machine.state import State
from ..machine.step import step
from .answers import (
    ActivationStatus,
    DeferredRead,
    EndOfWave,
    FiringOrigin,
    FiringVerdict,
    InFlightToken,
    MissingToken,
    OriginId,
    Reason,
    RootCause,
    RoutedAway,
    RoutedAwayEarlier,
    ThrottledToken,
    TokenKey,
    TrappedFiring,
    UnfedPort,
    UnfilledCell,
    UnfiredNode,
    UnopenedActivation,
    WaitEntry,
    Waiter,
    WaitingToken,
    WhyNotAnswer,
)
from .index import EventIndex

MAX_WAITERS = 1_000_000
"""The limit on the waiters that one query follows."""

READ_OPS = ("get", "collect")
"""The ops whose reads may be deferred although all operands have arrived. Trying a step of theirs has no effect."""

_NO_TOKENS: Mapping[int, Value] = {}


class EnabledFiring(NamedTuple):
    """A token in flight whose delivery would fire its node, and the node's name."""

    position: int
    node: int
    tag: Tag
    name: str

    def __str__(self) -> str:
        return f"position {self.position}: {self.name} under {self.tag}"


def could_fire(state: State, candidates: Iterable[tuple[int, Token]] | None = None) -> Iterator[EnabledFiring]:
    """The tokens in flight whose delivery, as the next step, would fire a node, in flight order; `candidates` restricts
    them to some tokens with their positions."""
    rules, records = state.rules, state.records
    for position, (node, port, tag, _) in enumerate(state.flight) if candidates is None else candidates:
        rule, record = rules[node], records[tag]
        if node in record.fired_nodes:
            continue  # the step would breach S4
        operands = record.waiting_operands.get(node, _NO_TOKENS) if rule.required_tokens > 1 else _NO_TOKENS
        if len(operands) < rule.required_tokens - 1 or port in operands:
            continue
        if rule.node.op not in READ_OPS or step(state, position).is_firing:
            yield EnabledFiring(position, node, tag, str(rule.node))


def why_not(
    index: EventIndex,
    state: State,
    node: int,
    tag: Tag,
    *,
    stop_error: TagloomError | None = None,
    max_waiters: int = MAX_WAITERS,
) -> WhyNotAnswer:
    """Why a node has not fired under a tag. The index has the events that led to this state.

    `stop_error` is the error that ended the run, if it did not become quiescent. Raises Usage if index and state are
    not at the same position.
    """
    if len(index) != state.steps:
        raise Usage(
            "the index and the state are not at the same position",
            required=f"{state.steps} events",
            got=len(index),
        )
    search, tag = _UpstreamSearch(index, state), index.opened_tag(tag) or tag
    number = index.firing_event(node, tag)
    if number is not None:
        return WhyNotAnswer(
            index.graph, node, tag, search.activation_status(tag), "fired", search.firing_origin(number)
        )
    waiters, requirements, required_by = search.collect_waiters(UnfiredNode(node, tag), max_waiters)
    may_live, surely_live = (
        compute_liveness(search, waiters, requirements, is_live)
        for is_live in (search.is_possibly_live, search.is_surely_live)
    )
    verdict: FiringVerdict = (
        "never" if not may_live[0] else "pending" if surely_live[0] and len(waiters) < max_waiters else "unknown"
    )
    roots, previous = find_root_causes(search, waiters, requirements, may_live)
    primary_causes = (TrappedFiring, UnfedPort) if surely_live[0] else (TrappedFiring, UnfedPort, UnfilledCell)
    roots.sort(key=lambda root: not isinstance(root.reason, primary_causes))
    waits = tuple(
        WaitEntry(waiter, requirements[at], may_live[at], previous.get(at, required_by[at]))
        for at, waiter in enumerate(waiters)
    )
    cycle = () if may_live[0] or roots else find_cycle(search, waiters, requirements, may_live)
    return WhyNotAnswer(
        index.graph, node, tag, search.activation_status(tag), verdict, None, waits, tuple(roots), cycle, stop_error
    )


class _UpstreamSearch:
    """The upstream search of one query."""

    def __init__(self, index: EventIndex, state: State) -> None:
        self.index = index
        self.state = state
        self.nodes = index.graph.nodes
        self.flight_positions: dict[int, dict[tuple[int, Tag], int]] = {}

    @cached_property
    def flight_by_node(self) -> dict[int, list[tuple[int, Token]]]:
        """The tokens in flight by node, with their positions."""
        tokens = defaultdict[int, list[tuple[int, Token]]](list)
        for position, token in enumerate(self.state.flight):
            tokens[token[0]].append((position, token))
        return tokens

    def flight_position(self, token: TokenKey) -> int | None:
        """The position of a token in the flight, or None. Tokens are indexed node by node, on demand, since hashing all
        tags takes three times as long as the rest of the query."""
        positions = self.flight_positions.get(token.node)
        if positions is None:
            flying = self.flight_by_node.get(token.node, ())
            positions = self.flight_positions[token.node] = {token[1:3]: position for position, token in flying}
        return positions.get((token.port, token.tag))

    @cached_property
    def blocked_tokens(self) -> BlockedTokens:
        """The deferred reads and throttled tokens, with why they wait."""
        return BlockedTokens(self.index, self.state)

    @cached_property
    def nodes_by_op_and_site(self) -> dict[tuple[str, Site | None], list[int]]:
        """The numbers of the nodes of each op and site."""
        nodes = defaultdict[tuple[str, Site | None], list[int]](list)
        for number, node in enumerate(self.nodes):
            nodes[node.op, node.site].append(number)
        return nodes

    def firing_origin(self, number: int) -> FiringOrigin:
        """The firing of an event, by the number of the event."""
        return self.index.firing_origin(number)

    def activation_status(self, tag: Tag) -> ActivationStatus:
        """Whether the activation of a tag is open, has closed, or has not opened."""
        return "open" if tag in self.state.records else "closed" if self.index.has_closed(tag) else "unopened"

    def last_iteration(self, tag: Tag, site: Site) -> int | None:
        """The last iteration of a loop under a tag that has opened, or None. It is found by binary search, since
        iterations open in order."""
        if self.index.opened_tag(tag.child(site)) is None:
            return None
        low, high = 0, 1
        while self.index.opened_tag(tag.child(site, high)) is not None:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.index.opened_tag(tag.child(site, middle)) is None else (middle, high)
        return low

    def first_unopened(self, tag: Tag) -> Tag:
        """The outermost activation around this tag that has not opened; in a loop, its next iteration."""
        while tag.parent is not None and self.index.opened_tag(tag.parent) is None:
            tag = tag.parent
        assert tag.parent is not None, "main is always open"
        last = self.last_iteration(tag.parent, tag.site)
        return tag.parent.child(tag.site, 0 if last is None else last + 1)

    def collect_waiters(
        self, first: Waiter, max_waiters: int
    ) -> tuple[list[Waiter], list[Requirements], list[int | None]]:
        """All waiters that the first one waits for, breadth first; for each, its requirements, and the position of the
        waiter that required it first."""
        waiters: list[Waiter] = []
        requirements: list[Requirements] = []
        required_by: list[int | None] = []
        visited, queue = {first}, deque[tuple[Waiter, int | None]]([(first, None)])
        while queue and len(waiters) < max_waiters:
            waiter, by = queue.popleft()
            waiters.append(waiter)
            required_by.append(by)
            requirements.append(self.requirements_of(waiter))
            for reason in required_waiters(requirements[-1]):
                if reason not in visited:
                    visited.add(reason)
                    queue.append((reason, len(waiters) - 1))
        return waiters, requirements, required_by

    def requirements_of(self, waiter: Waiter) -> Requirements:
        """The tokens that a waiter waits for, port by port, as in `WaitEntry`."""
        match waiter:
            case UnopenedActivation(tag):
                return (MissingToken(-1, self.opening_reasons(tag)),)
            case DeferredRead(cell, _):
                return self.cell_requirements(cell)
            case ThrottledToken():
                return self.throttle_requirements(waiter)
        number, tag = waiter
        ports = [port for port, literal in enumerate(self.nodes[number].ports) if literal is None]
        if not ports:
            return (MissingToken(-1, (UnfedPort(()),)),)
        if self.index.opened_tag(tag) is None:
            return tuple(MissingToken(port, (UnopenedActivation(self.first_unopened(tag)),)) for port in ports)
        record = self.state.records.get(tag)
        operands = {} if record is None else record.waiting_operands.get(number, {})
        return tuple(
            self.waiting_token(number, port, tag) if port in operands else self.missing_token(number, port, tag)
            for port in ports
        )

    def waiting_token(self, node: int, port: int, tag: Tag) -> WaitingToken:
        """The token that waits at a port, with its origin."""
        sender = self.index.sender(node, port, tag)
        value = self.state.records[tag].waiting_operands[node][port]
        token = TokenKey(node, port, tag)
        return WaitingToken(port, value, None if sender is None else self.index.origin(sender, token))

    def missing_token(self, node: int, port: int, tag: Tag) -> MissingToken:
        """Why no token waits at a port: the reasons of its sources."""
        sender = self.index.sender(node, port, tag)
        if sender is not None:
            return MissingToken(port, (self.locate_sent_token(TokenKey(node, port, tag), sender),))
        row, sources = self.nodes[node], self.index.sources.get(Edge(node, port), ())
        if row.op == "return" and row.site != tag.site:  # S10
            return MissingToken(port, (UnfedPort(tuple(sources)),))
        reasons = [reason for source in sources if source.node >= 0 for reason in self.upstream_reasons(source, tag)]
        return MissingToken(port, tuple(reasons) or (UnfedPort(tuple(sources)),))

    def locate_sent_token(self, token: TokenKey, sender: OriginId) -> Reason:
        """The reason for a token that was sent, and neither waits for other operands nor has been consumed: it is in
        flight, a deferred read, or throttled."""
        origin = self.index.origin(sender, token)
        if (position := self.flight_position(token)) is not None:
            return InFlightToken(position, origin)
        if token in self.blocked_tokens.cell_by_token:
            return DeferredRead(self.blocked_tokens.cell_by_token[token], origin)
        return ThrottledToken(token.tag, self.blocked_tokens.bound(token.tag), origin)

    def cell_requirements(self, cell: CellAddress) -> Requirements:
        """The requirements of a cell; for a `collect`, the reasons of each empty cell."""
        return tuple(
            MissingToken(-1 - awaited_cell.number, self.blocked_tokens.filling_reasons(awaited_cell))
            for awaited_cell in self.blocked_tokens.awaited_cells(cell)
        )

    def throttle_requirements(self, throttled_token: ThrottledToken) -> Requirements:
        """The requirements of a throttled token: everything that keeps the earlier iteration busy."""
        reasons = list[Reason]()
        for token, status in self.blocked_tokens.tokens_below(
            self.index.opened_tag(throttled_token.busy_iteration) or throttled_token.busy_iteration
        ):
            if status == "waits":
                reasons.append(UnfiredNode(token.node, token.tag))
            elif (sender := self.index.sender(*token)) is not None:
                reasons.append(self.locate_sent_token(token, sender))
        distinct = dict.fromkeys(reasons) or [EndOfWave()]
        return tuple(MissingToken(-1 - at, (reason,)) for at, reason in enumerate(distinct))

    def opening_reasons(self, tag: Tag) -> tuple[Reason, ...]:
        """For each node that would open a tag whose parent is open: why it has not."""
        if tag.parent is None:
            return (UnfedPort(()),)
        op, opener_tag = ("call" if tag.site.kind == "call" else "enter"), tag.parent
        if tag.iteration:
            op, opener_tag = "next_iteration", tag.parent.child(tag.site, tag.iteration - 1)
        return tuple(
            self.absence_reason(node, opener_tag) for node in self.nodes_by_op_and_site.get((op, tag.site), ())
        ) or (UnfedPort(()),)

    def upstream_reasons(self, source: OutputRef, tag: Tag) -> Iterator[Reason]:
        """Why this output has sent no token to this tag; empty if it never does."""
        node, row = source.node, self.nodes[source.node]
        match ALL_ROUTING_OPS[row.op].result_tag if row.op in ALL_ROUTING_OPS else "same":
            case "same":
                yield self.absence_reason(node, tag)
            case "child" if tag.parent is not None and (tag.site, tag.iteration) == (row.site, 0):
                yield self.absence_reason(node, tag.parent)
            case "next" if tag.parent is not None and tag.site == row.site and tag.iteration:
                yield self.absence_reason(node, tag.parent.child(tag.site, tag.iteration - 1))
            case "iteration" if tag.parent is not None and tag.site == row.site:
                iteration = self.exit_iteration(node, tag.parent)
                if iteration is None or iteration == tag.iteration:
                    yield self.absence_reason(node, tag.parent)
            case "before" if source.output and row.site is not None:
                inner_tag = self.index.opened_tag(tag.child(row.site))
                yield (
                    UnopenedActivation(tag.child(row.site))
                    if inner_tag is None
                    else self.absence_reason(node, inner_tag)
                )
            case "before" if tag.parent is not None and tag.site == row.site and not source.output:
                if not self.is_last_iteration(tag):
                    yield self.absence_reason(node, tag.parent.child(tag.site, tag.iteration + 1))
            case "parent" if row.site is not None and row.op == "return":
                inner_tag = self.index.opened_tag(tag.child(row.site))
                yield (
                    UnopenedActivation(tag.child(row.site))
                    if inner_tag is None
                    else self.absence_reason(node, inner_tag)
                )
            case "parent" if row.site is not None:
                yield from self.exit_reasons(node, tag, row.site)

    def exit_iteration(self, reenter: int, tag: Tag) -> int | None:
        """The iteration that a `reenter` sends to, if known: the iteration in which the `exit` fired."""
        number = self.index.sender(reenter, 1, tag)
        return None if number is None or number < 0 else self.index.events[number].token.tag.iteration

    def is_last_iteration(self, tag: Tag) -> bool:
        """Whether the loop is known to have ended with this iteration."""
        exits = self.nodes_by_op_and_site.get(("exit", tag.site), ())
        return any(self.index.firing_event(number, tag) is not None for number in exits)

    def exit_reasons(self, node: int, tag: Tag, site: Site) -> Iterator[Reason]:
        """Why this exit of a loop has sent nothing: it waits in the last iteration, or for the next one."""
        last = self.last_iteration(tag, site)
        if last is None:
            yield UnopenedActivation(tag.child(site))
            return
        last_tag = tag.child(site, last)
        if not self.is_loop_continuing(node, last_tag):
            yield self.absence_reason(node, last_tag)
        yield UnopenedActivation(tag.child(site, last + 1))

    def is_loop_continuing(self, node: int, tag: Tag) -> bool:
        """Whether the switch of this exit sent its token to the next iteration instead."""
        sources = self.index.sources.get(Edge(node, 0), ())
        return self.index.sender(node, 0, tag) is None and any(
            isinstance(self.absence_reason(source.node, tag), RoutedAway | RoutedAwayEarlier)
            for source in sources
            if source.node >= 0
        )

    def absence_reason(self, node: int, tag: Tag) -> Reason:
        """Why this node has not sent the missing token under this tag."""
        number = self.index.firing_event(node, tag)
        if number is None:
            return UnfiredNode(node, self.index.opened_tag(tag) or tag)
        if number < 0 and not any(trap_event.token[:3:2] == (node, tag) for trap_event in self.state.trap_events):
            return RoutedAwayEarlier(node, tag)
        firing = self.firing_origin(number)
        if firing.event.trap is not None:
            return TrappedFiring(firing)
        predicate = self.index.sender(node, 1, tag) if firing.node.op == "switch" else None
        return RoutedAway(firing, None if predicate is None else self.index.origin(predicate, TokenKey(node, 1, tag)))

    def is_possibly_live(self, reason: Reason) -> bool:
        """Whether this reason may be live: a token may still arrive."""
        return self.is_surely_live(reason) or (
            isinstance(reason, UnfilledCell) and bool(reason.stores) and bool(self.state.flight)
        )

    def is_surely_live(self, reason: Reason) -> bool:
        """Whether this reason is certain to be live: a token is in flight, or the wave will end."""
        return isinstance(reason, InFlightToken) or (isinstance(reason, EndOfWave) and bool(self.state.flight))

    def needs_any_port(self, waiter: Waiter) -> bool:
        """Whether a token on any port is enough for this waiter, as for a merge."""
        return isinstance(waiter, UnopenedActivation) or (
            isinstance(waiter, UnfiredNode) and self.nodes[waiter.node].op == "merge"
        )


Requirements: TypeAlias = tuple[WaitingToken | MissingToken, ...]
LivenessTest: TypeAlias = Callable[[Reason], bool]


class LivenessOracle(Protocol):
    """The part of a search that the functions about liveness use."""

    def is_possibly_live(self, reason: Reason) -> bool: ...

    def needs_any_port(self, waiter: Waiter) -> bool: ...


def missing_tokens(requirements: Requirements) -> Iterator[MissingToken]:
    """The requirements that are not met: the ports without a token."""
    return (requirement for requirement in requirements if isinstance(requirement, MissingToken))


def required_waiters(requirements: Requirements) -> Iterator[Waiter]:
    """The waiters among the reasons of these requirements."""
    for missing in missing_tokens(requirements):
        yield from (reason for reason in missing.reasons if isinstance(reason, Waiter))


def compute_liveness(
    search: LivenessOracle, waiters: Sequence[Waiter], requirements: Sequence[Requirements], is_live: LivenessTest
) -> list[bool]:
    """Which of these waiters may still fire, open or continue; `is_live` decides for the reasons that end the search.
    This is the least fixed point, in which a cycle does not keep itself alive."""
    collected = set(waiters)
    missing_counts = [
        1 if search.needs_any_port(waiter) else sum(1 for _ in missing_tokens(requirements[at]))
        for at, waiter in enumerate(waiters)
    ]
    users = defaultdict[Waiter, list[tuple[int, int]]](list)
    queue: list[tuple[int, int]] = []
    for at in range(len(waiters)):
        for missing in missing_tokens(requirements[at]):
            for reason in missing.reasons:
                if isinstance(reason, Waiter) and reason in collected:
                    users[reason].append((at, missing.port))
                elif isinstance(reason, Waiter) or is_live(reason):
                    queue.append((at, missing.port))
    supplied = set[tuple[int, int]]()
    while queue:
        at, port = queue.pop()
        if (at, port) not in supplied:
            supplied.add((at, port))
            missing_counts[at] -= 1
            if not missing_counts[at]:
                queue += users[waiters[at]]
    return [count <= 0 for count in missing_counts]


def find_root_causes(
    search: LivenessOracle, waiters: Sequence[Waiter], requirements: Sequence[Requirements], may_live: Sequence[bool]
) -> tuple[list[RootCause], dict[int, int]]:
    """The root causes of the verdict: for a live node, the live ones; for a dead one, those of ports that no token can
    reach. Also returns, for each waiter on a path to them, the waiter before it.

    If any of several sources would be enough and none can send, some were simply not chosen by the program. Then only
    paths to a fault (a trap, or a port that nothing feeds) count, if there are any.
    """
    positions = {waiter: at for at, waiter in enumerate(waiters)}
    faulty = set[int]() if may_live[0] else find_faulty(search, waiters, requirements, may_live)
    roots: dict[object, RootCause] = {}
    previous, queue = dict[int, int](), deque([0])
    while queue:
        at = queue.popleft()
        needs_fault = at in faulty and search.needs_any_port(waiters[at])
        for port, reason in deciding_reasons(search, requirements[at], may_live[at], positions, may_live):
            if not isinstance(reason, Waiter):
                if not needs_fault or isinstance(reason, TrappedFiring | UnfilledCell):
                    roots.setdefault(cause_key(at, port, reason), RootCause(at, port, reason))
            elif (cause := positions.get(reason, 0)) not in previous and (not needs_fault or cause in faulty) and cause:
                previous[cause] = at
                queue.append(cause)
    return list(roots.values()), previous


def find_faulty(
    search: LivenessOracle, waiters: Sequence[Waiter], requirements: Sequence[Requirements], may_live: Sequence[bool]
) -> set[int]:
    """The dead waiters with a path to a fault: a trap, or a port that nothing feeds."""
    positions = {waiter: at for at, waiter in enumerate(waiters)}
    users = defaultdict[int, list[int]](list)
    queue = list[int]()
    for at, waiter in enumerate(waiters):
        for _, reason in (
            deciding_reasons(search, requirements[at], False, positions, may_live) if not may_live[at] else ()
        ):
            if isinstance(reason, Waiter):
                users[positions[reason]].append(at)
            elif not isinstance(
                reason,
                RoutedAway | RoutedAwayEarlier | UnfedPort
                if search.needs_any_port(waiter)
                else RoutedAway | RoutedAwayEarlier,
            ):
                queue.append(at)
    faulty = set(queue)
    while queue:
        for user in users[queue.pop()]:
            if user not in faulty:
                faulty.add(user)
                queue.append(user)
    return faulty


def deciding_reasons(
    search: LivenessOracle,
    requirements: Requirements,
    is_live: bool,
    positions: dict[Waiter, int],
    may_live: Sequence[bool],
) -> Iterator[tuple[int, Reason]]:
    """The reasons, by port, why a waiter is live (if `is_live`) or dead."""
    for missing in missing_tokens(requirements):
        live_reasons = [reason for reason in missing.reasons if _is_reason_live(search, reason, positions, may_live)]
        if is_live or not live_reasons:
            yield from ((missing.port, reason) for reason in (live_reasons if is_live else missing.reasons))


def find_cycle(
    search: LivenessOracle, waiters: Sequence[Waiter], requirements: Sequence[Requirements], may_live: Sequence[bool]
) -> tuple[int, ...]:
    """A cycle of waiters that wait for each other, if nothing is live and no path ends."""
    positions = {waiter: at for at, waiter in enumerate(waiters)}
    at, path = 0, dict[int, None]()
    while at not in path:
        path[at] = None
        _, reason = next(deciding_reasons(search, requirements[at], False, positions, may_live))
        assert isinstance(reason, Waiter), "no path ends"
        at = positions[reason]
    cycle = list(path)
    return tuple(cycle[cycle.index(at) :])


def _is_reason_live(
    search: LivenessOracle, reason: Reason, positions: dict[Waiter, int], may_live: Sequence[bool]
) -> bool:
    if isinstance(reason, Waiter):
        return reason not in positions or may_live[positions[reason]]
    return search.is_possibly_live(reason)


def cause_key(at: int, port: int, reason: Reason) -> object:
    """The key by which root causes are distinct: one firing is one root cause, however many waiters depend on it."""
    if isinstance(reason, RoutedAwayEarlier):
        return reason
    return reason.firing.number if isinstance(reason, TrappedFiring | RoutedAway) else (at, port)


MAX_CELLS = 1_000
"""The limit on the empty cells that the search follows for one `collect`."""

TokenStatus: TypeAlias = Word["waits", "sent"]


class BlockedTokens:
    """The deferred reads and throttled tokens of a state, and why they wait; computed once for a query."""

    def __init__(self, index: EventIndex, state: State) -> None:
        self.index = index
        self.state = state
        self.nodes = index.graph.nodes

    # Deferred reads

    @cached_property
    def cell_by_token(self) -> dict[TokenKey, CellAddress]:
        """The empty cell at which each deferred read waits."""
        return {
            TokenKey(*token[:3]): CellAddress(handle, number)
            for handle, block in self.state.cells.blocks.items()
            for number, tokens in block.deferred_reads.items()
            for token in tokens
        }

    @cached_property
    def store_nodes(self) -> list[int]:
        """The numbers of the `store` nodes."""
        return [number for number, node in enumerate(self.nodes) if node.op == "store"]

    @cached_property
    def store_operands(self) -> dict[tuple[int, Tag], dict[int, Value]]:
        """The operands, by port, that each pending firing of a store has received, literals included."""
        stores = defaultdict[tuple[int, Tag], dict[int, Value]](dict)
        for tag, record in self.state.records.items():
            for number in self.store_nodes:
                if number in record.waiting_operands:
                    stores[number, tag].update(record.waiting_operands[number])
        throttled_tokens = (token for entries in self.state.throttled_tokens.values() for _, token in entries)
        for tokens in (self.state.flight, throttled_tokens):
            for number, port, tag, value in tokens:
                if number in self.store_nodes:
                    stores[number, tag][port] = value
        for (number, _), operands in stores.items():
            literals = enumerate(self.nodes[number].ports)
            operands.update({port: literal.value for port, literal in literals if literal is not None})
        return stores

    @cached_property
    def stores_by_cell(self) -> dict[CellAddress, list[tuple[int, Tag]]]:
        """By cell, the pending stores that have received its handle and its number."""
        stores = defaultdict[CellAddress, list[tuple[int, Tag]]](list)
        for store, operands in self.store_operands.items():
            if 0 in operands and 1 in operands:
                handle: Any = operands[0]
                number: Any = operands[1]
                stores[CellAddress(handle, number)].append(store)
        return stores

    def awaited_cells(self, cell: CellAddress) -> Iterator[CellAddress]:
        """The cell; and if all its deferred reads are those of `collect`, the later empty cells, too."""
        yield cell
        tokens = self.state.cells.blocks[cell.handle].deferred_reads.get(cell.number, ())
        if tokens and all(self.nodes[token.node].op == "collect" for token in tokens):
            puts, count = self.state.cells.blocks[cell.handle].writes, 0
            for number in range(cell.number + 1, cell.handle.size):
                if number not in puts and (count := count + 1) < MAX_CELLS:
                    yield CellAddress(cell.handle, number)

    def filling_reasons(self, cell: CellAddress) -> tuple[Reason, ...]:
        """The stores that will fill a cell if they fire; and an `UnfilledCell` with the stores whose cell is not known
        yet, if there are any, or if there is no store at all."""
        known_stores = [UnfiredNode(*store) for store in self.stores_by_cell.get(cell, ())]
        possible_stores = tuple(self.possible_stores(cell))
        return (
            (*known_stores, UnfilledCell(possible_stores, self.throttled_iterations(possible_stores)))
            if possible_stores or not known_stores
            else tuple(known_stores)
        )

    def throttled_iterations(self, stores: Iterable[tuple[int, Tag | None]]) -> tuple[tuple[Tag, int], ...]:
        """The throttled iterations that contain stores which have received nothing yet."""
        loops = {self.index.contexts.get(node) for node, tag in stores if tag is None}
        return tuple((tag, self.bound(tag)) for tag in self.state.throttled_tokens if tag.site in loops)

    def possible_stores(self, cell: CellAddress) -> Iterator[tuple[int, Tag | None]]:
        """The stores that may fill a cell: those that have not received both their handle and their index."""
        for (node, tag), operands in self.store_operands.items():
            is_match = (operands.get(0, cell.handle), operands.get(1, cell.number)) == cell
            if is_match and not (0 in operands and 1 in operands) and self.accepts_handle(node, cell.handle):
                yield node, tag
        for node in self.store_nodes:
            index = self.nodes[node].ports[1]
            fits = (index is None or index.value == cell.number) and self.accepts_handle(node, cell.handle)
            if fits and not self.has_been_used(node):
                yield node, None

    def accepts_handle(self, store: int, handle: Handle) -> bool:
        """Whether a store accepts a handle of this type."""
        stores = self.index.sources.get(Edge(store, 0), ())
        return any(self.index.graph.output(source).type.admits(type_of(handle)) for source in stores)

    def has_been_used(self, store: int) -> bool:
        """Whether the store has fired or received a token, and will not fire again: its function runs only once, as
        main."""
        graph, contexts = self.index.graph, self.index.contexts
        if contexts.get(store) != graph.name or graph.name in dict(graph.calls).values():
            return False
        return self.index.firing_event(store, ROOT) is not None or (store, ROOT) in self.store_operands

    # Throttled tokens

    def bound(self, tag: Tag) -> int:
        """The bound that throttles the tokens of this iteration; in a graph that breaks the rules, it may be another
        loop's."""
        return self.state.loop_bounds.get(tag.site, max(self.state.loop_bounds.values(), default=0))

    @cached_property
    def tokens_by_tag(self) -> dict[Tag, list[TokenKey]]:
        """The tokens in flight and the deferred reads, by tag."""
        tokens = defaultdict[Tag, list[TokenKey]](list)
        for node, port, tag, _ in self.state.flight:
            tokens[tag].append(TokenKey(node, port, tag))
        for token in self.cell_by_token:
            tokens[token.tag].append(token)
        return tokens

    def tokens_below(self, top: Tag) -> Iterator[tuple[TokenKey, TokenStatus]]:
        """The tokens that keep an activation busy: those under its tag or below it, throttled ones included, except
        those that are throttled for this activation itself."""
        stack = [top]
        while stack:
            tag = stack.pop()
            record = self.state.records.get(tag)
            if record is None:
                continue
            for node, ports in record.waiting_operands.items():
                if self.state.rules[node].counts_as_busy:
                    yield TokenKey(node, next(iter(ports)), tag), "waits"
            for token in self.tokens_by_tag.get(tag, ()):
                if self.state.rules[token.node].counts_as_busy:
                    yield token, "sent"
            for _, throttled_token in self.state.throttled_tokens.get(tag, ()) if tag != top else ():
                yield TokenKey(*throttled_token[:3]), "sent"
            stack += record.child_tags.values()
