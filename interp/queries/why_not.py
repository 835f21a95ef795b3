"""Why a node has not fired under a tag, and which nodes could fire: queries at one moment of a run.

The search goes upstream from the ports that have no token. The node that sends to a port, and its tag, follow from the
rule of its op read backwards (S7 to S9, S17): a token of `return` comes from the activation of the call, one of `exit`
from the last iteration of its loop or one that has not opened, one of `back` from the iteration after, or from the
first one out of the loop; all others come from the same tag, its parent, or the iteration before. The search enters no
activation that has not opened; that activation waits for any of the nodes that would open it. So the search ends. It
continues through cells, to the stores that have received the number of the cell, and through bounds, to whatever keeps
an earlier iteration busy.

A node may still fire if, for each port that lacks a token (for a merge: for any), some path ends at a token in flight;
otherwise it never fires: nodes that only wait for each other are not live. The verdict is unknown if a path ends at a
cell, no store has received its index, and some store still may.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ...core.errors import TagloomError, Usage
from ...core.graph.graph import Edge, OutputRef
from ...core.ops.routing import ROUTING_OPS
from ...core.tag import Site, Tag
from ...core.value import Value
from ..machine.event import CellAddress, Token
from ..machine.state import State
from ..machine.step import step
from .causes import (
    ActivationStatus,
    EndOfWave,
    InFlightToken,
    MissingToken,
    ParkedToken,
    Reason,
    RoutedAway,
    RoutedAwayEarlier,
    ThrottledToken,
    TrappedFiring,
    UnfedPort,
    UnfilledCell,
    UnfiredNode,
    UnopenedActivation,
    Verdict,
    WaitEntry,
    Waiter,
    WaitingToken,
    WhyNotAnswer,
)
from .index import EventIndex
from .liveness import Requirements, compute_liveness, find_cycle, find_root_causes, required_waiters
from .origin import FiringOrigin, OriginId, TokenKey
from .parked_tokens import ParkedTokens

MAX_WAITERS = 1_000_000
"""The most waiting nodes that one query follows."""

READ_OPS = ("get", "collect")
"""The ops that may be parked although all their operands have arrived. A step of one reads a cell, without effect."""

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
        held = record.waiting_operands.get(node, _NO_TOKENS) if rule.required_tokens > 1 else _NO_TOKENS
        if len(held) < rule.required_tokens - 1 or port in held:
            continue
        if rule.node.op not in READ_OPS or step(state, position).fired:
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
    """Why a node has not fired under a tag in this state, whose events the index has.

    `stop_error` is what ended the run, if it did not become quiescent. Raises Usage if index and state are not at the
    same moment.
    """
    if len(index) != state.steps:
        raise Usage(
            "the index and the state are not at the same moment",
            required=f"{state.steps} events",
            got=len(index),
        )
    search, tag = _UpstreamSearch(index, state), index.opened_tag(tag) or tag
    number = index.firing_event(node, tag)
    if number is not None:
        return WhyNotAnswer(
            index.graph, node, tag, search.activation_status(tag), "fired", search.firing_origin(number)
        )
    places, needs, asked_by = search.collect_waiters(UnfiredNode(node, tag), max_waiters)
    living, surely = (
        compute_liveness(search, places, needs, lives) for lives in (search.is_possibly_live, search.is_surely_live)
    )
    verdict: Verdict = "never" if not living[0] else "pending" if surely[0] and len(places) < max_waiters else "unknown"
    roots, by = find_root_causes(search, places, needs, living)
    first = (TrappedFiring, UnfedPort) if surely[0] else (TrappedFiring, UnfedPort, UnfilledCell)
    roots.sort(key=lambda root: not isinstance(root.reason, first))
    waits = tuple(WaitEntry(place, needs[at], living[at], by.get(at, asked_by[at])) for at, place in enumerate(places))
    circle = () if living[0] or roots else find_cycle(search, places, needs, living)
    return WhyNotAnswer(
        index.graph, node, tag, search.activation_status(tag), verdict, None, waits, tuple(roots), circle, stop_error
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
        found = defaultdict[int, list[tuple[int, Token]]](list)
        for position, token in enumerate(self.state.flight):
            found[token[0]].append((position, token))
        return found

    def flight_position(self, token: TokenKey) -> int | None:
        """The position of a token in the flight, or None. Tags are hashed for one node's tokens at a time, on demand:
        hashing all takes three times as long as everything else."""
        found = self.flight_positions.get(token.node)
        if found is None:
            flying = self.flight_by_node.get(token.node, ())
            found = self.flight_positions[token.node] = {each[1:3]: position for position, each in flying}
        return found.get((token.port, token.tag))

    @cached_property
    def parked_tokens(self) -> ParkedTokens:
        return ParkedTokens(self.index, self.state)

    @cached_property
    def nodes_by_op_and_site(self) -> dict[tuple[str, Site | None], list[int]]:
        found = defaultdict[tuple[str, Site | None], list[int]](list)
        for number, node in enumerate(self.nodes):
            found[node.op, node.site].append(number)
        return found

    def firing_origin(self, number: int) -> FiringOrigin:
        return FiringOrigin(number, self.index.graph, self.index.events[number])

    def activation_status(self, tag: Tag) -> ActivationStatus:
        return "open" if tag in self.state.records else "closed" if self.index.has_closed(tag) else "unopened"

    def last_iteration(self, tag: Tag, site: Site) -> int | None:
        """The last opened iteration of a loop under a tag; iterations open in order."""
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
        """The outermost unopened tag around an unopened tag."""
        while tag.parent is not None and self.index.opened_tag(tag.parent) is None:
            tag = tag.parent
        assert tag.parent is not None, "main is always open"
        last = self.last_iteration(tag.parent, tag.site)
        return tag.parent.child(tag.site, 0 if last is None else last + 1)

    def collect_waiters(self, first: Waiter, most: int) -> tuple[list[Waiter], list[Requirements], list[int | None]]:
        """Everything that the first waiter waits for, breadth first; the requirements of each, and which waiter
        required it first."""
        places: list[Waiter] = []
        needs: list[Requirements] = []
        asked_by: list[int | None] = []
        seen, ahead = {first}, deque[tuple[Waiter, int | None]]([(first, None)])
        while ahead and len(places) < most:
            place, by = ahead.popleft()
            places.append(place)
            asked_by.append(by)
            needs.append(self.requirements_of(place))
            for reason in required_waiters(needs[-1]):
                if reason not in seen:
                    seen.add(reason)
                    ahead.append((reason, len(places) - 1))
        return places, needs, asked_by

    def requirements_of(self, place: Waiter) -> Requirements:
        match place:
            case UnopenedActivation(tag):
                return (MissingToken(-1, self.opening_reasons(tag)),)
            case ParkedToken(cell, _):
                return self.cell_requirements(cell)
            case ThrottledToken():
                return self.throttle_requirements(place)
        number, tag = place
        ports = [port for port, literal in enumerate(self.nodes[number].ports) if literal is None]
        if not ports:
            return (MissingToken(-1, (UnfedPort(()),)),)
        if self.index.opened_tag(tag) is None:
            return tuple(MissingToken(port, (UnopenedActivation(self.first_unopened(tag)),)) for port in ports)
        record = self.state.records.get(tag)
        held = {} if record is None else record.waiting_operands.get(number, {})
        return tuple(
            self.waiting_token(number, port, tag) if port in held else self.missing_token(number, port, tag)
            for port in ports
        )

    def waiting_token(self, node: int, port: int, tag: Tag) -> WaitingToken:
        sender = self.index.sender(node, port, tag)
        value = self.state.records[tag].waiting_operands[node][port]
        token = TokenKey(node, port, tag)
        return WaitingToken(port, value, None if sender is None else self.index.origin(sender, token))

    def missing_token(self, node: int, port: int, tag: Tag) -> MissingToken:
        sender = self.index.sender(node, port, tag)
        if sender is not None:
            return MissingToken(port, (self.locate_sent_token(TokenKey(node, port, tag), sender),))
        row, sources = self.nodes[node], self.index.sources.get(Edge(node, port), ())
        if row.op == "return" and row.site != tag.site:  # S10
            return MissingToken(port, (UnfedPort(tuple(sources)),))
        reasons = [reason for source in sources if source.node >= 0 for reason in self.upstream_reasons(source, tag)]
        return MissingToken(port, tuple(reasons) or (UnfedPort(tuple(sources)),))

    def locate_sent_token(self, token: TokenKey, sender: OriginId) -> Reason:
        """Where a token is that was sent, and neither waits for partners nor has been consumed."""
        origin = self.index.origin(sender, token)
        if (position := self.flight_position(token)) is not None:
            return InFlightToken(position, origin)
        if token in self.parked_tokens.cell_by_token:
            return ParkedToken(self.parked_tokens.cell_by_token[token], origin)
        return ThrottledToken(token.tag, self.parked_tokens.bound(token.tag), origin)

    def cell_requirements(self, cell: CellAddress) -> Requirements:
        """What a cell waits for; for a read of several cells, what each empty one waits for."""
        return tuple(
            MissingToken(-1 - each.number, self.parked_tokens.filling_reasons(each))
            for each in self.parked_tokens.awaited_cells(cell)
        )

    def throttle_requirements(self, held: ThrottledToken) -> Requirements:
        """Everything that keeps the busy iteration, for which another is throttled, from completing."""
        reasons = list[Reason]()
        for token, what in self.parked_tokens.tokens_below(
            self.index.opened_tag(held.busy_iteration) or held.busy_iteration
        ):
            if what == "waits":
                reasons.append(UnfiredNode(token.node, token.tag))
            elif (sender := self.index.sender(*token)) is not None:
                reasons.append(self.locate_sent_token(token, sender))
        distinct = dict.fromkeys(reasons) or [EndOfWave()]
        return tuple(MissingToken(-1 - at, (reason,)) for at, reason in enumerate(distinct))

    def opening_reasons(self, tag: Tag) -> tuple[Reason, ...]:
        """The nodes that would open a tag whose parent is open."""
        if tag.parent is None:
            return (UnfedPort(()),)
        op, under = ("call" if tag.site.kind == "call" else "enter"), tag.parent
        if tag.iteration:
            op, under = "next_iteration", tag.parent.child(tag.site, tag.iteration - 1)
        return tuple(
            self.absence_reason(node, under) for node in self.nodes_by_op_and_site.get((op, tag.site), ())
        ) or (UnfedPort(()),)

    def upstream_reasons(self, source: OutputRef, tag: Tag) -> Iterator[Reason]:
        """Why this output has sent no token to this tag; empty if it never could."""
        node, row = source.node, self.nodes[source.node]
        match ROUTING_OPS[row.op].result_tag if row.op in ROUTING_OPS else "same":
            case "same":
                yield self.absence_reason(node, tag)
            case "child" if tag.parent is not None and (tag.site, tag.iteration) == (row.site, 0):
                yield self.absence_reason(node, tag.parent)
            case "next" if tag.parent is not None and tag.site == row.site and tag.iteration:
                yield self.absence_reason(node, tag.parent.child(tag.site, tag.iteration - 1))
            case "iteration" if tag.parent is not None and tag.site == row.site:
                left = self.exit_iteration(node, tag.parent)
                if left is None or left == tag.iteration:
                    yield self.absence_reason(node, tag.parent)
            case "before" if source.output and row.site is not None:
                below = self.index.opened_tag(tag.child(row.site))
                yield UnopenedActivation(tag.child(row.site)) if below is None else self.absence_reason(node, below)
            case "before" if tag.parent is not None and tag.site == row.site and not source.output:
                if not self.is_last_iteration(tag):
                    yield self.absence_reason(node, tag.parent.child(tag.site, tag.iteration + 1))
            case "parent" if row.site is not None and row.op == "return":
                below = self.index.opened_tag(tag.child(row.site))
                yield UnopenedActivation(tag.child(row.site)) if below is None else self.absence_reason(node, below)
            case "parent" if row.site is not None:
                yield from self.exit_reasons(node, tag, row.site)

    def exit_iteration(self, reenter: int, tag: Tag) -> int | None:
        """The iteration to which an adjoint returns, if known: the one in which the exit fired."""
        number = self.index.sender(reenter, 1, tag)
        return None if number is None or number < 0 else self.index.events[number].token.tag.iteration

    def is_last_iteration(self, tag: Tag) -> bool:
        """Whether the loop is known to have ended in this iteration."""
        exits = self.nodes_by_op_and_site.get(("exit", tag.site), ())
        return any(self.index.firing_event(number, tag) is not None for number in exits)

    def exit_reasons(self, node: int, tag: Tag, site: Site) -> Iterator[Reason]:
        """Why this exit of a loop has sent nothing: it waits in the last iteration, or for the next one."""
        last = self.last_iteration(tag, site)
        if last is None:
            yield UnopenedActivation(tag.child(site))
            return
        here = tag.child(site, last)
        if not self.is_loop_continuing(node, here):
            yield self.absence_reason(node, here)
        yield UnopenedActivation(tag.child(site, last + 1))

    def is_loop_continuing(self, node: int, tag: Tag) -> bool:
        """Whether the source of this exit routed its token elsewhere in this iteration."""
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
        if number < 0 and not any(each.token[:3:2] == (node, tag) for each in self.state.trap_events):
            return RoutedAwayEarlier(node, tag)
        firing = self.firing_origin(number)
        if firing.event.trap is not None:
            return TrappedFiring(firing)
        predicate = self.index.sender(node, 1, tag) if firing.node.op == "switch" else None
        return RoutedAway(firing, None if predicate is None else self.index.origin(predicate, TokenKey(node, 1, tag)))

    def is_possibly_live(self, reason: Reason) -> bool:
        """Whether this reason may be live, as far as is known."""
        return self.is_surely_live(reason) or (
            isinstance(reason, UnfilledCell) and bool(reason.stores) and bool(self.state.flight)
        )

    def is_surely_live(self, reason: Reason) -> bool:
        """Whether a token that may still arrive is known."""
        return isinstance(reason, InFlightToken) or (isinstance(reason, EndOfWave) and bool(self.state.flight))

    def needs_any_port(self, place: Waiter) -> bool:
        return isinstance(place, UnopenedActivation) or (
            isinstance(place, UnfiredNode) and self.nodes[place.node].op == "merge"
        )
