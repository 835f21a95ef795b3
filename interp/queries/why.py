"""Why has this node not fired under this tag, and what could fire: questions at a moment of a run.

The search goes upstream from the ports that have no token. Which node sends to a port, under which tag, is the rule of
its op read backwards (S7 to S9, S17): what `return` sends comes from the activation of the call, what `exit` sends from
the last iteration of its loop or one that has not opened, what `back` sends from the iteration after, or from the first
one out of the loop; all else from the same tag, its parent, or the iteration before.
It goes into no activation that has not opened; that one waits for any of the nodes that would open it. So it ends.

It goes on through cells, to the stores that have been sent the number of the cell, and through bounds, to what keeps an
earlier iteration busy.

A node may still fire if on each port that lacks a token (a merge: on any) some way ends at a token in flight, and never
will if not: nodes that wait for each other, and for nothing else, are not alive. It is not known where a way ends at a
cell, no store has been sent its index, and some still may be.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ...core.errors import TagloomError, Usage
from ...core.graph.graph import Edge, Source
from ...core.ops.routing import CONTROL
from ...core.tag import Site, Tag
from ...core.value import Value
from ..machine.event import Cell, Token
from ..machine.state import State
from ..machine.step import step
from .causes import (
    Activation,
    Answer,
    Elsewhere,
    EndOfWave,
    Gone,
    Held,
    HeldBack,
    InFlight,
    Missing,
    Parked,
    Place,
    Reason,
    Trapped,
    Unfed,
    Unfilled,
    Unfired,
    Unopened,
    Verdict,
    Waits,
)
from .index import Index
from .liveness import Needs, alive, circle_of, further, roots_of
from .origin import Arrival, Firing, Number
from .parked_tokens import Staying

MOST = 1_000_000
"""How many waiting nodes one question follows."""

READS = ("get", "collect")
"""What may be parked although all its operands have come. A step of them is a look at a cell, without effect."""

_NONE: Mapping[int, Value] = {}


class Ready(NamedTuple):
    """A token in flight whose delivery would fire its node, which has this name."""

    position: int
    node: int
    tag: Tag
    name: str

    def __str__(self) -> str:
        return f"position {self.position}: {self.name} under {self.tag}"


def could_fire(state: State, among: Iterable[tuple[int, Token]] | None = None) -> Iterator[Ready]:
    """The tokens in flight whose delivery, as the next step, would fire a node: in the order of the flight, or of those
    among which one asks, with their positions."""
    rules, records = state.rules, state.records
    for position, (node, port, tag, _) in enumerate(state.flight) if among is None else among:
        rule, record = rules[node], records[tag]
        if node in record.fired:
            continue  # the step would breach S4
        held = record.waiting.get(node, _NONE) if rule.needs > 1 else _NONE
        if len(held) < rule.needs - 1 or port in held:
            continue
        if rule.node.op not in READS or step(state, position).fired:
            yield Ready(position, node, tag, str(rule.node))


def why_not(
    index: Index, state: State, node: int, tag: Tag, *, stopped: TagloomError | None = None, most: int = MOST
) -> Answer:
    """Why a node has not fired under a tag in this state, whose events the index has seen.

    `stopped` is what ended the run, where it was not quiet. Raises Usage where the two are not at the same moment.
    """
    if len(index) != state.steps:
        raise Usage(
            "the index and the state are not at the same moment",
            required=f"{state.steps} events",
            got=len(index),
        )
    search, tag = _Search(index, state), index.opened(tag) or tag
    number = index.fired(node, tag)
    if number is not None:
        return Answer(index.graph, node, tag, search.activation(tag), "fired", search.firing(number))
    places, needs, asked_by = search.follow(Unfired(node, tag), most)
    living, surely = (alive(search, places, needs, lives) for lives in (search.lives, search.lives_surely))
    verdict: Verdict = "never" if not living[0] else "pending" if surely[0] and len(places) < most else "unknown"
    roots, by = roots_of(search, places, needs, living)
    first = (Trapped, Unfed) if surely[0] else (Trapped, Unfed, Unfilled)
    roots.sort(key=lambda root: not isinstance(root.reason, first))
    waits = tuple(Waits(place, needs[at], living[at], by.get(at, asked_by[at])) for at, place in enumerate(places))
    circle = () if living[0] or roots else circle_of(search, places, needs, living)
    return Answer(index.graph, node, tag, search.activation(tag), verdict, None, waits, tuple(roots), circle, stopped)


class _Search:
    """One question's way upstream."""

    def __init__(self, index: Index, state: State) -> None:
        self.index = index
        self.state = state
        self.nodes = index.graph.nodes
        self.positions: dict[int, dict[tuple[int, Tag], int]] = {}

    @cached_property
    def flying(self) -> dict[int, list[tuple[int, Token]]]:
        """The tokens in flight by node, with their positions."""
        found = defaultdict[int, list[tuple[int, Token]]](list)
        for position, token in enumerate(self.state.flight):
            found[token[0]].append((position, token))
        return found

    def position(self, token: Arrival) -> int | None:
        """Where in the flight a token is, if it is there. The tags of one node's tokens are hashed, once it is asked
        about: to hash all takes three times as long as all else."""
        found = self.positions.get(token.node)
        if found is None:
            flying = self.flying.get(token.node, ())
            found = self.positions[token.node] = {each[1:3]: position for position, each in flying}
        return found.get((token.port, token.tag))

    @cached_property
    def staying(self) -> Staying:
        return Staying(self.index, self.state)

    @cached_property
    def openers(self) -> dict[tuple[str, Site | None], list[int]]:
        found = defaultdict[tuple[str, Site | None], list[int]](list)
        for number, node in enumerate(self.nodes):
            found[node.op, node.site].append(number)
        return found

    def firing(self, number: int) -> Firing:
        return Firing(number, self.index.graph, self.index.events[number])

    def activation(self, tag: Tag) -> Activation:
        return "open" if tag in self.state.records else "closed" if self.index.has_closed(tag) else "unopened"

    def last(self, tag: Tag, site: Site) -> int | None:
        """The last iteration that has opened of a loop under a tag; they open one after the other."""
        if self.index.opened(tag.child(site)) is None:
            return None
        low, high = 0, 1
        while self.index.opened(tag.child(site, high)) is not None:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.index.opened(tag.child(site, middle)) is None else (middle, high)
        return low

    def first_unopened(self, tag: Tag) -> Tag:
        """Of a tag that has not opened, the one around it that has to open first."""
        while tag.parent is not None and self.index.opened(tag.parent) is None:
            tag = tag.parent
        assert tag.parent is not None, "main is always open"
        last = self.last(tag.parent, tag.site)
        return tag.parent.child(tag.site, 0 if last is None else last + 1)

    def follow(self, first: Place, most: int) -> tuple[list[Place], list[Needs], list[int | None]]:
        """All that the first waits for, breadth first; what each needs, and who asked for it first."""
        places: list[Place] = []
        needs: list[Needs] = []
        asked_by: list[int | None] = []
        seen, ahead = {first}, deque[tuple[Place, int | None]]([(first, None)])
        while ahead and len(places) < most:
            place, by = ahead.popleft()
            places.append(place)
            asked_by.append(by)
            needs.append(self.needs(place))
            for reason in further(needs[-1]):
                if reason not in seen:
                    seen.add(reason)
                    ahead.append((reason, len(places) - 1))
        return places, needs, asked_by

    def needs(self, place: Place) -> Needs:
        match place:
            case Unopened(tag):
                return (Missing(-1, self.opening(tag)),)
            case Parked(cell, _):
                return self.filling(cell)
            case HeldBack():
                return self.busy(place)
        number, tag = place
        ports = [port for port, literal in enumerate(self.nodes[number].ports) if literal is None]
        if not ports:
            return (Missing(-1, (Unfed(()),)),)
        if self.index.opened(tag) is None:
            return tuple(Missing(port, (Unopened(self.first_unopened(tag)),)) for port in ports)
        record = self.state.records.get(tag)
        held = {} if record is None else record.waiting.get(number, {})
        return tuple(
            self.held(number, port, tag) if port in held else self.missing(number, port, tag) for port in ports
        )

    def held(self, node: int, port: int, tag: Tag) -> Held:
        sender = self.index.sender(node, port, tag)
        value = self.state.records[tag].waiting[node][port]
        token = Arrival(node, port, tag)
        return Held(port, value, None if sender is None else self.index.origin(sender, token))

    def missing(self, node: int, port: int, tag: Tag) -> Missing:
        sender = self.index.sender(node, port, tag)
        if sender is not None:
            return Missing(port, (self.sent(Arrival(node, port, tag), sender),))
        row, sources = self.nodes[node], self.index.sources.get(Edge(node, port), ())
        if row.op == "return" and row.site != tag.site:  # S10
            return Missing(port, (Unfed(tuple(sources)),))
        reasons = [reason for source in sources if source.node >= 0 for reason in self.upstream(source, tag)]
        return Missing(port, tuple(reasons) or (Unfed(tuple(sources)),))

    def sent(self, token: Arrival, sender: Number) -> Reason:
        """Where a token is that has been sent, and neither waits for partners nor has been consumed."""
        origin = self.index.origin(sender, token)
        if (position := self.position(token)) is not None:
            return InFlight(position, origin)
        if token in self.staying.parked:
            return Parked(self.staying.parked[token], origin)
        return HeldBack(token.tag, self.staying.bound(token.tag), origin)

    def filling(self, cell: Cell) -> Needs:
        """What a cell waits for; where all of several are wanted, what each that is empty waits for."""
        return tuple(Missing(-1 - each.number, self.staying.stores_to(each)) for each in self.staying.wanted(cell))

    def busy(self, held: HeldBack) -> Needs:
        """What keeps an iteration busy, for which another is held: all of it."""
        reasons = list[Reason]()
        for token, what in self.staying.under(self.index.opened(held.busy) or held.busy):
            if what == "waits":
                reasons.append(Unfired(token.node, token.tag))
            elif (sender := self.index.sender(*token)) is not None:
                reasons.append(self.sent(token, sender))
        distinct = dict.fromkeys(reasons) or [EndOfWave()]
        return tuple(Missing(-1 - at, (reason,)) for at, reason in enumerate(distinct))

    def opening(self, tag: Tag) -> tuple[Reason, ...]:
        """Of a tag whose parent is open: the nodes that would open it."""
        if tag.parent is None:
            return (Unfed(()),)
        op, under = ("call" if tag.site.kind == "call" else "enter"), tag.parent
        if tag.iteration:
            op, under = "next_iteration", tag.parent.child(tag.site, tag.iteration - 1)
        return tuple(self.absent(node, under) for node in self.openers.get((op, tag.site), ())) or (Unfed(()),)

    def upstream(self, source: Source, tag: Tag) -> Iterator[Reason]:
        """Why this output has sent nothing that arrives under this tag; nothing where it never could."""
        node, row = source.node, self.nodes[source.node]
        match CONTROL[row.op].to if row.op in CONTROL else "same":
            case "same":
                yield self.absent(node, tag)
            case "child" if tag.parent is not None and (tag.site, tag.iteration) == (row.site, 0):
                yield self.absent(node, tag.parent)
            case "next" if tag.parent is not None and tag.site == row.site and tag.iteration:
                yield self.absent(node, tag.parent.child(tag.site, tag.iteration - 1))
            case "iteration" if tag.parent is not None and tag.site == row.site:
                left = self.left_at(node, tag.parent)
                if left is None or left == tag.iteration:
                    yield self.absent(node, tag.parent)
            case "before" if source.output and row.site is not None:
                below = self.index.opened(tag.child(row.site))
                yield Unopened(tag.child(row.site)) if below is None else self.absent(node, below)
            case "before" if tag.parent is not None and tag.site == row.site and not source.output:
                if not self.is_last(tag):
                    yield self.absent(node, tag.parent.child(tag.site, tag.iteration + 1))
            case "parent" if row.site is not None and row.op == "return":
                below = self.index.opened(tag.child(row.site))
                yield Unopened(tag.child(row.site)) if below is None else self.absent(node, below)
            case "parent" if row.site is not None:
                yield from self.leaving(node, tag, row.site)

    def left_at(self, reenter: int, tag: Tag) -> int | None:
        """The iteration that an adjoint comes back to, where it is known: that in which the exit fired."""
        number = self.index.sender(reenter, 1, tag)
        return None if number is None or number < 0 else self.index.events[number].token.tag.iteration

    def is_last(self, tag: Tag) -> bool:
        """Whether a loop is known to have been left in this iteration."""
        exits = self.openers.get(("exit", tag.site), ())
        return any(self.index.fired(number, tag) is not None for number in exits)

    def leaving(self, node: int, tag: Tag, site: Site) -> Iterator[Reason]:
        """Why this exit of a loop has sent nothing: it waits in the last iteration, or for the next one."""
        last = self.last(tag, site)
        if last is None:
            yield Unopened(tag.child(site))
            return
        here = tag.child(site, last)
        if not self.goes_on(node, here):
            yield self.absent(node, here)
        yield Unopened(tag.child(site, last + 1))

    def goes_on(self, node: int, tag: Tag) -> bool:
        """Whether what feeds this exit sent on another way in this iteration."""
        sources = self.index.sources.get(Edge(node, 0), ())
        return self.index.sender(node, 0, tag) is None and any(
            isinstance(self.absent(source.node, tag), Elsewhere | Gone) for source in sources if source.node >= 0
        )

    def absent(self, node: int, tag: Tag) -> Reason:
        """Why this node, under this tag, has not sent what is missing."""
        number = self.index.fired(node, tag)
        if number is None:
            return Unfired(node, self.index.opened(tag) or tag)
        if number < 0 and not any(each.token[:3:2] == (node, tag) for each in self.state.traps):
            return Gone(node, tag)
        firing = self.firing(number)
        if firing.event.trap is not None:
            return Trapped(firing)
        predicate = self.index.sender(node, 1, tag) if firing.node.op == "switch" else None
        return Elsewhere(firing, None if predicate is None else self.index.origin(predicate, Arrival(node, 1, tag)))

    def lives(self, reason: Reason) -> bool:
        """Whether this end of the search may be none, for all that is known."""
        return self.lives_surely(reason) or (
            isinstance(reason, Unfilled) and bool(reason.stores) and bool(self.state.flight)
        )

    def lives_surely(self, reason: Reason) -> bool:
        """Whether a token is known that may still come."""
        return isinstance(reason, InFlight) or (isinstance(reason, EndOfWave) and bool(self.state.flight))

    def takes_any(self, place: Place) -> bool:
        return isinstance(place, Unopened) or (isinstance(place, Unfired) and self.nodes[place.node].op == "merge")
