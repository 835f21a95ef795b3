"""Why has this node not fired under this tag, and what could fire: questions at a moment of a run.

The search goes upstream from the ports that have no token. Which node sends to a port, under which tag, is the rule of
its op read backwards (S7 to S9): what `return` sends comes from the activation of the call, what `exit` sends from the
last iteration of its loop or one that has not opened, all else from the same tag, its parent, or the iteration before.
It goes into no activation that has not opened; that one waits for any of the nodes that would open it. So it ends.

A node may still fire if on each port that lacks a token (a merge: on any) some way ends at a token in flight, and never
will if not: nodes that wait for each other, and for nothing else, are not alive.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ...core.control import CONTROL
from ...core.errors import TagloomError, Usage
from ...core.graph import Edge
from ...core.tag import Site, Tag
from ..event import Cell
from ..state import State
from ..step import step
from .causes import (
    Activation,
    Answer,
    Elsewhere,
    Held,
    HeldBack,
    InFlight,
    Missing,
    Parked,
    Place,
    Reason,
    Root,
    Trapped,
    Unfed,
    Unfired,
    Unopened,
    Verdict,
    Waits,
)
from .queries import Arrival, Firing, Index, Origin

MOST = 1_000_000
"""How many waiting nodes one question follows."""

READS = ("get", "collect")
"""What may be parked although all its operands have come. A step of them is a look at a cell, without effect."""

Needs: TypeAlias = tuple[Held | Missing, ...]


class Ready(NamedTuple):
    """A token in flight whose delivery would fire its node, which has this name."""

    position: int
    node: int
    tag: Tag
    name: str

    def __str__(self) -> str:
        return f"position {self.position}: {self.name} under {self.tag}"


def could_fire(state: State) -> Iterator[Ready]:
    """The tokens in flight whose delivery, as the next step, would fire a node: in the order of the flight."""
    for position, (node, port, tag, _) in enumerate(state.flight):
        rule, record = state.rules[node], state.records[tag]
        if node in record.fired:
            continue  # the step would breach S4
        held = record.waiting.get(node, {})
        if rule.needs > 1 and (len(held) < rule.needs - 1 or port in held):
            continue
        if rule.node.op not in READS or step(state, position).fired:
            yield Ready(position, node, tag, str(rule.node))


def why_not(
    index: Index, state: State, node: int, tag: Tag, *, stopped: TagloomError | None = None, most: int = MOST
) -> Answer:
    """Why a node has not fired under a tag in this state, whose events the index has seen.

    `stopped` is what ended the run, where it was not quiet. Raises Usage where the two are not at the same moment.
    """
    if len(index.events) != state.steps:
        raise Usage(
            "the index and the state are not at the same moment",
            required=f"{state.steps} events",
            got=len(index.events),
        )
    search, tag = _Search(index, state), index.opened(tag) or tag
    number = index.fired(node, tag)
    if number is not None:
        return Answer(index.graph, node, tag, search.activation(tag), "fired", search.firing(number))
    places, needs, asked_by = search.follow(Unfired(node, tag), most)
    alive = _alive(search, places, needs)
    roots, by = _roots(search, places, needs, alive)
    waits = tuple(Waits(place, needs[at], alive[at], by.get(at, asked_by[at])) for at, place in enumerate(places))
    circle = () if alive[0] or roots else _circle(search, places, needs, alive)
    cut = len(places) == most
    verdict: Verdict = "never" if not alive[0] else "unknown" if cut else "pending"
    return Answer(index.graph, node, tag, search.activation(tag), verdict, None, waits, tuple(roots), circle, stopped)


class _Search:
    """One question's way upstream."""

    def __init__(self, index: Index, state: State) -> None:
        self.index = index
        self.state = state
        self.nodes = index.graph.nodes

    @cached_property
    def flight(self) -> dict[tuple[int, int, Tag], int]:
        return {token[:3]: position for position, token in enumerate(self.state.flight)}

    @cached_property
    def parked(self) -> dict[tuple[int, int, Tag], Cell]:
        blocks = self.state.cells.blocks.items()
        return {
            token[:3]: Cell(handle, number)
            for handle, block in blocks
            for number, tokens in block.parked.items()
            for token in tokens
        }

    @cached_property
    def openers(self) -> dict[tuple[str, Site | None], list[int]]:
        found = defaultdict[tuple[str, Site | None], list[int]](list)
        for number, node in enumerate(self.nodes):
            found[node.op, node.site].append(number)
        return found

    def firing(self, number: int) -> Firing:
        return Firing(number, self.nodes[self.index.events[number].token.node], self.index.events[number])

    def activation(self, tag: Tag) -> Activation:
        return "open" if tag in self.state.records else "closed" if tag in self.index.closed else "unopened"

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
        if not tag.iteration or tag.parent is None:
            return tag
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
            for reason in _further(needs[-1]):
                if reason not in seen:
                    seen.add(reason)
                    ahead.append((reason, len(places) - 1))
        return places, needs, asked_by

    def needs(self, place: Place) -> Needs:
        if isinstance(place, Unopened):
            return (Missing(-1, self.opening(place.tag)),)
        number, tag = place
        ports = [port for port, literal in enumerate(self.nodes[number].ports) if literal is None]
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
        return Held(port, value, None if sender is None else self.index.origin(sender))

    def missing(self, node: int, port: int, tag: Tag) -> Missing:
        sender = self.index.sender(node, port, tag)
        if sender is not None:
            return Missing(port, (self.sent(Arrival(node, port, tag), self.index.origin(sender)),))
        row, sources = self.nodes[node], self.index.sources.get(Edge(node, port), ())
        if row.op == "return" and row.site != tag.site:  # S10
            return Missing(port, (Unfed(tuple(sources)),))
        reasons = [reason for source in sources if source.node >= 0 for reason in self.upstream(source.node, tag)]
        return Missing(port, tuple(reasons) or (Unfed(tuple(sources)),))

    def sent(self, token: Arrival, origin: Origin) -> Reason:
        """Where a token is that has been sent, and neither waits for partners nor has been consumed."""
        if token in self.flight:
            return InFlight(self.flight[token], origin)
        return Parked(self.parked[token], origin) if token in self.parked else HeldBack(origin)

    def opening(self, tag: Tag) -> tuple[Reason, ...]:
        """Of a tag whose parent is open: the nodes that would open it."""
        if tag.parent is None:
            return (Unfed(()),)
        op, under = ("call" if tag.site.kind == "call" else "enter"), tag.parent
        if tag.iteration:
            op, under = "next_iteration", tag.parent.child(tag.site, tag.iteration - 1)
        return tuple(self.absent(node, under) for node in self.openers.get((op, tag.site), ())) or (Unfed(()),)

    def upstream(self, node: int, tag: Tag) -> Iterator[Reason]:
        """Why this node has sent nothing that arrives under this tag; nothing where it never could."""
        row = self.nodes[node]
        match CONTROL[row.op].to if row.op in CONTROL else "same":
            case "same":
                yield self.absent(node, tag)
            case "child" if tag.parent is not None and (tag.site, tag.iteration) == (row.site, 0):
                yield self.absent(node, tag.parent)
            case "next" if tag.parent is not None and tag.site == row.site and tag.iteration:
                yield self.absent(node, tag.parent.child(tag.site, tag.iteration - 1))
            case "parent" if row.site is not None and row.op == "return":
                below = self.index.opened(tag.child(row.site))
                yield Unopened(tag.child(row.site)) if below is None else self.absent(node, below)
            case "parent" if row.site is not None:
                yield from self.leaving(node, tag, row.site)

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
            isinstance(self.absent(source.node, tag), Elsewhere) for source in sources if source.node >= 0
        )

    def absent(self, node: int, tag: Tag) -> Reason:
        """Why this node, under this tag, has not sent what is missing."""
        number = self.index.fired(node, tag)
        if number is None:
            return Unfired(node, self.index.opened(tag) or tag)
        firing = self.firing(number)
        if firing.event.trap is not None:
            return Trapped(firing)
        predicate = self.index.sender(node, 1, tag) if firing.node.op == "switch" else None
        return Elsewhere(firing, None if predicate is None else self.index.origin(predicate))

    def lives(self, reason: Reason) -> bool:
        """Whether a token that has been sent may still come. What is parked or held needs another event first."""
        return isinstance(reason, InFlight) or (isinstance(reason, HeldBack | Parked) and bool(self.state.flight))

    def takes_any(self, place: Place) -> bool:
        return isinstance(place, Unopened) or self.nodes[place.node].op == "merge"


def _missing(needs: Needs) -> Iterator[Missing]:
    return (need for need in needs if isinstance(need, Missing))


def _further(needs: Needs) -> Iterator[Place]:
    """The places that these wait for in turn."""
    for need in _missing(needs):
        yield from (reason for reason in need.reasons if isinstance(reason, Unfired | Unopened))


def _alive(search: _Search, places: Sequence[Place], needs: Sequence[Needs]) -> list[bool]:
    """Which of these may still fire, or open: the least solution, so that a circle does not keep itself alive."""
    known = set(places)
    lacking = [1 if search.takes_any(place) else sum(1 for _ in _missing(needs[at])) for at, place in enumerate(places)]
    users = defaultdict[Place, list[tuple[int, int]]](list)
    ahead: list[tuple[int, int]] = []
    for at in range(len(places)):
        for need in _missing(needs[at]):
            for reason in need.reasons:
                if isinstance(reason, Unfired | Unopened) and reason in known:
                    users[reason].append((at, need.port))
                elif isinstance(reason, Unfired | Unopened) or search.lives(reason):
                    ahead.append((at, need.port))
    ahead += [user for at, place in enumerate(places) if not lacking[at] for user in users[place]]
    supplied = set[tuple[int, int]]()
    while ahead:
        at, port = ahead.pop()
        if (at, port) not in supplied:
            supplied.add((at, port))
            lacking[at] -= 1
            if not lacking[at]:
                ahead += users[places[at]]
    return [left <= 0 for left in lacking]


def _roots(
    search: _Search, places: Sequence[Place], needs: Sequence[Needs], alive: Sequence[bool]
) -> tuple[list[Root], dict[int, int]]:
    """Where the ways end that decide: of a node that may fire, those that are alive; of one that never will, those of
    ports that nothing can come to. With them, for each place on the way, which one it was reached from.

    Where any would do and none can come, some were not chosen, which is as it should be. Those that lead to a trap, or
    to a port that nothing feeds, are the reason, if there are such.
    """
    where = {place: at for at, place in enumerate(places)}
    faulty = set[int]() if alive[0] else _faulty(search, places, needs, alive)
    roots: dict[object, Root] = {}
    by, ahead = dict[int, int](), deque([0])
    while ahead:
        at = ahead.popleft()
        chosen = at in faulty and search.takes_any(places[at])
        for port, reason in _deciding(search, needs[at], alive[at], where, alive):
            if not isinstance(reason, Unfired | Unopened):
                if not chosen or isinstance(reason, Trapped | Parked | HeldBack):
                    roots.setdefault(_key(at, port, reason), Root(at, port, reason))
            elif (found := where.get(reason, 0)) not in by and (not chosen or found in faulty) and found:
                by[found] = at
                ahead.append(found)
    return sorted(roots.values(), key=lambda root: not isinstance(root.reason, Trapped | Unfed | Parked | HeldBack)), by


def _faulty(search: _Search, places: Sequence[Place], needs: Sequence[Needs], alive: Sequence[bool]) -> set[int]:
    """Of what never will fire, or open: where some way leads to a trap, or to a port that nothing feeds."""
    where = {place: at for at, place in enumerate(places)}
    users = defaultdict[int, list[int]](list)
    found = list[int]()
    for at, place in enumerate(places):
        for _, reason in _deciding(search, needs[at], False, where, alive) if not alive[at] else ():
            if isinstance(reason, Unfired | Unopened):
                users[where[reason]].append(at)
            elif not isinstance(reason, Elsewhere | Unfed if search.takes_any(place) else Elsewhere):
                found.append(at)
    faulty = set(found)
    while found:
        for user in users[found.pop()]:
            if user not in faulty:
                faulty.add(user)
                found.append(user)
    return faulty


def _deciding(
    search: _Search, needs: Needs, lives: bool, where: dict[Place, int], alive: Sequence[bool]
) -> Iterator[tuple[int, Reason]]:
    """The reasons, by port, why a node may still fire, or why it never will."""
    for need in _missing(needs):
        living = [reason for reason in need.reasons if _lives(search, reason, where, alive)]
        if lives or not living:
            yield from ((need.port, reason) for reason in (living if lives else need.reasons))


def _circle(search: _Search, places: Sequence[Place], needs: Sequence[Needs], alive: Sequence[bool]) -> tuple[int, ...]:
    """Where nothing is alive and no way ends, some that wait for each other."""
    where = {place: at for at, place in enumerate(places)}
    at, path = 0, dict[int, None]()
    while at not in path:
        path[at] = None
        _, reason = next(_deciding(search, needs[at], False, where, alive))
        assert isinstance(reason, Unfired | Unopened), "no way ends"
        at = where[reason]
    around = list(path)
    return tuple(around[around.index(at) :])


def _lives(search: _Search, reason: Reason, where: dict[Place, int], alive: Sequence[bool]) -> bool:
    if isinstance(reason, Unfired | Unopened):
        return reason not in where or alive[where[reason]]
    return search.lives(reason)


def _key(at: int, port: int, reason: Reason) -> object:
    """One firing is one root, however many wait for it."""
    return reason.firing.number if isinstance(reason, Trapped | Elsewhere) else (at, port)
