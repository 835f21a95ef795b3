"""The laws of queries: each answer is computed again here, from the events alone and by brute force."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from support.generators.effect_programs import Witness
from tagloom.core.errors import Usage
from tagloom.core.graph.graph import Edge, Graph
from tagloom.core.tag import ROOT, Tag
from tagloom.core.types import type_of
from tagloom.core.value import fingerprint
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, drive
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import CellAddress, Token
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.queries import ask as queries
from tagloom.interp.queries import difference
from tagloom.interp.queries import why_not as why
from tagloom.interp.queries.answers import (
    ArgumentOrigin,
    DeferredRead,
    EndOfWave,
    FiringOrigin,
    InFlightToken,
    InjectedOrigin,
    RoutedAway,
    ThrottledToken,
    TokenKey,
    TrappedFiring,
    UnfilledCell,
    UnfiredNode,
    UnopenedActivation,
    WaitingToken,
    WhyNotAnswer,
)
from tagloom.interp.queries.contexts import check_node_tag
from tagloom.interp.queries.index import EventIndex

Place = tuple[int, Tag]
HOPES = InFlightToken | EndOfWave | UnfilledCell
"""Reasons that need no further reason: the token may still come."""

AHEAD = UnfiredNode | UnopenedActivation | DeferredRead | ThrottledToken
"""Reasons that wait for something themselves."""


def new_run(graph: Graph, arguments: Sequence[Any]) -> tuple[State, EventIndex]:
    values = admit_arguments(graph, arguments)
    return State(graph, values, world=Witness()), EventIndex(graph, values)


def run_and_index(
    graph: Graph, arguments: Sequence[Any], name: str = "fifo", steps: int = 2_000
) -> tuple[State, EventIndex]:
    """A state and its index, after at most this many steps of a run."""
    state, index = new_run(graph, arguments)
    for event in drive(state, schedule(name), Limits()):
        index.add(event)
        if state.steps >= steps:
            break
    return state, index


class Links:
    """The sender and the consumer of each token, found by playing all events through a separate store."""

    def __init__(self, index: EventIndex) -> None:
        self.sent: dict[Any, int] = {}
        self.used: dict[Any, int] = {}
        self.puts: dict[Any, int] = {}
        self.behind: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.after: defaultdict[int, list[int]] = defaultdict(list)
        for position, (_, output) in enumerate(index.graph.arguments):
            self.sent.update({(*edge, ROOT): -1 - position for edge in output.edges})
        past = [(at, edit) for at, (position, edit) in enumerate(index.edits) if position <= len(index.events)]
        self.sent.update({edit.token[:3]: -1 - len(index.arguments) - at for at, edit in past if edit.is_injection})
        self.changed = {edit.token[:3]: edit.value for _, edit in past if not edit.is_injection}
        store: defaultdict[Place, list[Any]] = defaultdict(list)
        for number, event in enumerate(index.events):
            if event.deferred_at is None:
                store[event.token.node, event.token.tag].append(event.token[:3])
            if event.inputs is not None:
                for token in sorted(store.pop((event.token.node, event.token.tag)), key=lambda token: token[1]):
                    self.used[token] = number
                    self.behind[number].append((token[1], self.sent[token]))
                self._cells(index.graph.nodes[event.token.node].op, event, number)
            self.sent.update({token[:3]: number for token in event.sent})
        for token, user in self.used.items():
            self.after[self.sent[token]].append(user)

    def _cells(self, op: str, event: Any, number: int) -> None:
        if op == "store" and event.trap is None:
            self.puts[event.inputs[:2]] = number
        if op in ("get", "collect") and event.trap is None:
            which = [event.inputs[1]] if op == "get" else range(event.inputs[0].size)
            for put in (self.puts[event.inputs[0], cell] for cell in which):
                self.behind[number].append((-1, put))
                self.after[put].append(number)

    def away(self, starts: list[int], at: int, further: Any) -> dict[int, int]:
        """The distance of everything that can be reached, by relaxation to a fixpoint."""
        result = dict.fromkeys(starts, at)
        ahead = list(starts)
        while ahead:
            number = ahead.pop()
            for other in further(number):
                if other not in result or result[other] > result[number] + 1:
                    result[other] = result[number] + 1
                    ahead.append(other)
        return result


def edits_by_token(index: EventIndex) -> Iterator[str]:
    """The last edit of every token, and for every sender its edited tokens in order."""
    links = Links(index)
    for token, sender in links.sent.items():
        changed_value = index.origin(sender, Token(*token, 0)).changed_value
        if (changed_value is not None) != (token in links.changed) or fingerprint(changed_value) != fingerprint(
            links.changed.get(token)
        ):
            yield f"{token} is said to be changed to {changed_value}, not {links.changed.get(token)}"
    for sender in set(links.sent.values()):
        expected = [token for token in links.changed if links.sent[token] == sender]
        if list(index.changed_tokens(sender)) != expected:
            yield f"{index.changed_tokens(sender)} of {sender} are said to be changed, not {expected}"
        origin = index.origin(sender)
        text = (
            origin.number
            if isinstance(origin, FiringOrigin)
            else -1 - origin.position
            if isinstance(origin, ArgumentOrigin)
            else None
        )
        if text != (None if sender < -len(index.arguments) else sender) or origin.changed_value is not None:
            yield f"{origin} is not {sender}"
        if isinstance(origin, InjectedOrigin) and (
            links.sent[origin.token[:3]] != sender
            or index.edits[-1 - len(index.arguments) - sender][0] != origin.position
        ):
            yield f"{origin} was not injected by {sender}"


def provenance_violations(index: EventIndex, dice: random.Random) -> Iterator[str]:
    """Every token's sender and consumer; all firings on which a token depends, and all that depend on it, with
    distances."""
    links = Links(index)
    for token, sender in links.sent.items():
        if index.sender(*token) != sender:
            yield f"{token} was sent by {sender}, not {index.sender(*token)}"
        if index.user(*token) != links.used.get(token):
            yield f"{token} was used by {links.used.get(token)}, not {index.user(*token)}"
    nodes, tags = list(enumerate(index.graph.nodes)), list(dict.fromkeys(token[2] for token in links.sent))
    ports = [(number, port) for number, node in nodes for port, held in enumerate(node.ports) if held is None]
    for token in {(*dice.choice(ports), dice.choice(tags)) for _ in range(30)} - links.sent.keys():
        if index.sender(*token) is not None or index.user(*token) is not None:
            yield f"{token} was never sent, and is said to be by {index.sender(*token)}"
    for event in index.events:
        number, port, tag, _ = event.token
        if index.graph.nodes[number].op == "merge":
            others = [(number, other, tag) for other in range(len(index.graph.nodes[number].ports)) if other != port]
            if any(index.sender(*other) is not None or index.user(*other) is not None for other in others):
                yield f"merge {number} got more than one token under {tag}"
    for token in dice.sample(sorted(links.sent, key=links.sent.__getitem__), min(5, len(links.sent))):
        depth = dice.choice([None, 0, 1, 3])
        behind = links.away([links.sent[token]], 0, lambda number: [sent for _, sent in links.behind[number]])
        yield from _walked(links, queries.where_from(index, TokenKey(*token), depth), behind, depth)
        starts = [links.used[token]] if token in links.used else []
        after = links.away(starts, 1, links.after.__getitem__)
        yield from _walked(links, queries.who_used(index, TokenKey(*token), depth), after, depth)
    senders = [number for number, event in enumerate(index.events) if event.inputs is not None]
    senders += set(links.sent.values()) - set(senders)
    for number in dice.sample(senders, min(4, len(senders))):
        if list(index.users(number)) != _in_order(links, index, number):
            yield f"what {number} sent was used by {index.users(number)}"
        origin = index.origin(number)
        if not isinstance(origin, InjectedOrigin):
            direct = queries.who_used(index, origin)
            yield from _walked(links, direct, dict.fromkeys(links.after[number], 1), 1)


def _in_order(links: Links, index: EventIndex, number: int) -> list[int]:
    """Who used the tokens of this sender, in their order, and then who got what it put."""
    tokens = [token for token, sender in links.sent.items() if sender == number]
    used = [links.used[token] for token in tokens if token in links.used]
    return list(dict.fromkeys([*used, *links.after[number]]))


def _walked(
    links: Links, link_iterator: Iterator[queries.DependenceLink], expected_depths: dict[int, int], most: int | None
) -> Iterator[str]:
    results = list(link_iterator)
    if {link.number: link.depth for link in results} != {
        n: d for n, d in expected_depths.items() if most is None or d <= most
    }:
        yield f"walked to {[(link.number, link.depth) for link in results]}, not {expected_depths} up to {most}"
    if [link.depth for link in results] != sorted(link.depth for link in results):
        yield "the nearest do not come first"
    for link in results:
        if list(link.operands) != links.behind[link.number]:
            yield f"event {link.number} consumed {links.behind[link.number]}, not {link.operands}"


def closed_activations(index: EventIndex) -> list[Tag]:
    """The activations that have closed, by the events."""
    return [each.tag for event in index.events[: len(index)] for each in event.closed]


def past_query_violations(history: History, dice: random.Random, moves: int = 12) -> Iterator[str]:
    """Queries about the past of a history and its forks, at random positions, agree with a fresh index up to there."""
    walks = [history]
    for _ in range(moves):
        walk = dice.choice(walks)
        walk.jump(dice.choice((len(walk), dice.randint(0, len(walk)))))
        if len(walks) < 4:
            walks.append(walk.branch())
        for _ in range(5):
            if walk.state.flight and walk.position == len(walk):
                walk.deliver(dice.randrange(len(walk.state.flight)))
        index = walk.ask.index
        fresh = EventIndex(walk.graph, walk.arguments, walk[: walk.position])
        known_tokens = [token for event in (*history, *walk) for token in (event.token, *event.sent)]
        for token in dice.sample(known_tokens, min(len(known_tokens), 40)):
            if _answers(index, *token[:3]) != _answers(fresh, *token[:3]):
                yield f"at {walk.position}: {token} is asked about at another moment"


def _answers(index: EventIndex, node: int, port: int, tag: Tag) -> Any:
    """The index's answers about a token, its sender and its consumer."""
    sender, user = index.sender(node, port, tag), index.user(node, port, tag)
    links = [] if sender is None else [index.operands(sender), index.users(sender), str(index.origin(sender))]
    opened = [str(index.opened_tag(each)) for each in tag.self_and_ancestors()]
    return len(index), sender, user, links, index.firing_event(node, tag), opened, index.has_closed(tag)


def readiness_violations(state: State) -> Iterator[str]:
    """`could_fire` is true exactly for nodes that a single step would fire."""
    expected = []
    for position, token in enumerate(state.flight):
        if step(state, position).is_firing:
            expected.append((position, token.node, token.tag))
    if [tuple(ready[:3]) for ready in why.could_fire(state)] != expected:
        yield f"could fire: {list(why.could_fire(state))}, not {expected}"


class Future:
    """The continuation of a run, to its end or for many steps; `without` withholds some tokens."""

    def __init__(self, index: EventIndex, without: frozenset[Any] = frozenset(), most: int = 3_000) -> None:
        values = index.arguments[index.graph.hidden_count :]
        state = State(index.graph, values, world=Witness())
        for event in index.events:
            state.apply(event)
        self.fired: set[Place] = set()
        self.sent: set[Any] = set()
        self.opened: set[Tag] = set()
        self.released: set[Tag] = set()
        self.puts: dict[CellAddress, list[Place]] = {}
        aside = 0
        for _ in range(most):
            while aside < len(state.flight) and state.flight[aside][:3] in without:
                aside += 1
            if aside == len(state.flight):
                break
            event = step(state, aside)
            state.apply(event)
            self.sent.update(token[:3] for token in event.sent)
            self.opened.update(token.tag for token in event.sent)
            self.released.update(token.tag for _, token in event.released)
            if event.inputs is not None:
                self.fired.add((event.token.node, event.token.tag))
                if state.graph.nodes[event.token.node].op == "store":
                    self.puts.setdefault(CellAddress(*event.inputs[:2]), []).append(  # type: ignore[arg-type]
                        (event.token.node, event.token.tag)
                    )


def questions(state: State, future: Future, index: EventIndex, dice: random.Random) -> list[Place]:
    """Nodes to ask about: the results, some that wait, some that will fire, and random ones, valid or not."""
    results = [(node, ROOT) for node in state.graph.results]
    waiting = [(node, tag) for tag, record in state.records.items() for node in record.waiting_operands]
    order = sorted(future.fired, key=str)
    tags = [*state.records, *closed_activations(index), *sorted(future.opened, key=str)]
    anywhere = [(dice.randrange(len(state.graph.nodes)), dice.choice(tags)) for _ in range(6)]
    beyond = [(node, tag.child(tag.site, 7) if tag.parent else tag) for node, tag in anywhere[:1]]
    return [*results, *_some(dice, waiting, 4), *_some(dice, order, 6), *anywhere, *beyond]


def _some(dice: random.Random, items: list[Any], most: int) -> list[Any]:
    return dice.sample(items, min(most, len(items)))


def reason_violations(state: State, index: EventIndex, dice: random.Random) -> Iterator[str]:
    """The claims of `why_not` at one position of a run are true, and stay true while the run continues."""
    future = Future(index)
    withheld = 2
    for node, tag in questions(state, future, index, dice):
        answer = why.why_not(index, state, node, tag)
        yield from (f"{answer}\n{claim}" for claim in _claims(answer, state, index, future))
        flying = [root.reason for root in answer.root_causes if isinstance(root.reason, InFlightToken)]
        if answer.verdict == "pending" and withheld and len(flying) == len(answer.root_causes):
            withheld -= 1
            needed = frozenset(state.flight[reason.position][:3] for reason in flying)
            if (node, tag) in Future(index, needed).fired:
                yield f"{answer}\nit fired without what is said to be needed first"


def _claims(answer: WhyNotAnswer, state: State, index: EventIndex, future: Future) -> Iterator[str]:
    fired = [n for n, e in enumerate(index.events) if e.is_firing and e.token[:3:2] == (answer.node, answer.tag)]
    if fired or answer.verdict == "fired":
        if answer.firing is None or fired != [answer.firing.number]:
            yield f"it fired at {fired}"
        return
    if (answer.verdict == "never") == answer.wait_entries[0].is_live:
        yield "the verdict is not that of the first"
    if answer.verdict in ("pending", "unknown") and not all(
        isinstance(root.reason, HOPES) for root in answer.root_causes
    ):
        yield "a root of what may fire is a loss"
    if answer.verdict == "pending" and all(isinstance(root.reason, UnfilledCell) for root in answer.root_causes):
        yield "it is only hoped that a cell will be filled"
    if not answer.root_causes and not answer.cycle:
        yield "there is no root"
    if not state.flight and answer.verdict != "never":
        yield "nothing may fire in a state that is quiet"
    for root in answer.root_causes:
        if all(
            need.port != root.port or root.reason not in need.reasons
            for need in answer.wait_entries[root.wait_index].missing_tokens
        ):
            yield f"{root} is not among the reasons"
    yield from _around(answer)
    if answer.tag in (*state.records, *closed_activations(index), *future.opened):
        yield from _astray(answer, index)
    if [waits.is_live for waits in answer.wait_entries] != _alive(answer, bool(state.flight)):
        yield "who may still fire does not follow from the reasons"
    for at, waits in enumerate(answer.wait_entries):
        yield from (f"{at}: {claim}" for claim in _one(answer, at, state, index, future))
        if waits.required_by is not None and all(
            waits.waiter not in need.reasons for need in answer.wait_entries[waits.required_by].missing_tokens
        ):
            yield f"{at} was not asked for by {waits.required_by}"


def _alive(answer: WhyNotAnswer, moving: bool) -> list[bool]:
    """Which waits may still end, by the rule alone: a least fixpoint, beginning with none."""
    alive: set[Any] = set()
    while True:
        before = len(alive)
        for waits in answer.wait_entries:
            ports = [
                any(reason in alive or _is_hope(reason, moving) for reason in need.reasons)
                for need in waits.missing_tokens
            ]
            merge = isinstance(waits.waiter, UnfiredNode) and answer.graph.nodes[waits.waiter.node].op == "merge"
            if any(ports) if merge else all(ports):
                alive.add(waits.waiter)
        if len(alive) == before:
            return [waits.waiter in alive for waits in answer.wait_entries]


def _is_hope(reason: Any, moving: bool) -> bool:
    if isinstance(reason, UnfilledCell):
        return moving and bool(reason.stores)
    return isinstance(reason, InFlightToken) or (isinstance(reason, EndOfWave) and moving)


def _astray(answer: WhyNotAnswer, index: EventIndex) -> Iterator[str]:
    """If the node that is asked about can fire under its tag, so can each node that is said to wait."""
    fits = [_fits(index, waits.waiter) for waits in answer.wait_entries if isinstance(waits.waiter, UnfiredNode)]
    if fits[0] and not all(fits):
        yield "a node waits under a tag under which it never fires"


def _fits(index: EventIndex, place: UnfiredNode) -> bool:
    try:
        check_node_tag(index.graph, index.contexts, place.node, place.tag)
    except Usage:
        return False
    return place.tag.iteration >= 0


def _around(answer: WhyNotAnswer) -> Iterator[str]:
    for at, following in zip(answer.cycle, (*answer.cycle[1:], *answer.cycle[:1]), strict=True):
        if all(
            answer.wait_entries[following].waiter not in need.reasons for need in answer.wait_entries[at].missing_tokens
        ):
            yield f"{at} does not wait for {following}"


def _one(answer: WhyNotAnswer, at: int, state: State, index: EventIndex, future: Future) -> Iterator[str]:
    """The claims about one entry of the answer."""
    waits = answer.wait_entries[at]
    place = waits.waiter
    if isinstance(place, UnopenedActivation):
        if place.tag in state.records or index.has_closed(place.tag):
            yield "it has opened"
        before = [
            place.tag.parent,
            place.tag.iteration and place.tag.parent.child(place.tag.site, place.tag.iteration - 1),
        ]
        if any(tag and tag not in state.records and not index.has_closed(tag) for tag in before):
            yield "what has to open before has not opened"
        if not waits.is_live and place.tag in future.opened:
            yield "it opened in the end"
        yield from _reasons_hold(None, place.tag, waits.requirements[0].reasons, state, future)
        return
    if isinstance(place, DeferredRead):
        yield from _deferred_holds(place, waits, state, future)
        yield from _stores_are_so(place, waits, state, index)
        return
    if isinstance(place, ThrottledToken):
        yield from _throttled_holds(place, waits, state, future)
        return
    node, tag = place
    if index.firing_event(node, tag) is not None or any(
        e.is_firing and e.token[:3:2] == (node, tag) for e in index.events
    ):
        yield "it has fired"
    if not waits.is_live and (node, tag) in future.fired:
        yield "it fired in the end"
    reasons = [reason for need in waits.missing_tokens for reason in need.reasons]
    if at and state.graph.nodes[node].op == "exit" and reasons and all(isinstance(one, RoutedAway) for one in reasons):
        yield "it is waited for in an iteration that went on to the next"
    record = state.records.get(tag)
    store = record.waiting_operands.get(node, {}) if record else {}
    ports = [port for port, held in enumerate(state.graph.nodes[node].ports) if held is None] or [-1]
    if [need.port for need in waits.requirements] != ports:
        yield f"it has the ports {ports}"
    for need in waits.requirements:
        if isinstance(need, WaitingToken) != (need.port in store):
            yield f"the store has {store}"
        elif isinstance(need, WaitingToken):
            if fingerprint(need.value) != fingerprint(store[need.port]):
                yield f"{need.value} is not what the store has"
        else:
            yield from _reasons_hold((node, need.port, tag), tag, need.reasons, state, future)


def _deferred_holds(place: DeferredRead, waits: Any, state: State, future: Future) -> Iterator[str]:
    """A deferred read: its cells are empty, and whichever node fills them later is among those that the answer
    names."""
    for need in waits.requirements:
        cell = place.cell._replace(number=-1 - need.port)
        if cell.number in state.cells.blocks[cell.handle].writes:
            yield f"{cell} is full"
        unfilled = [store for reason in need.reasons if isinstance(reason, UnfilledCell) for store in reason.stores]
        for put in future.puts.get(cell, ()):
            if UnfiredNode(*put) not in need.reasons and put not in unfilled and (put[0], None) not in unfilled:
                yield f"{put} put to {cell}"
    expected = [place.cell._replace(number=-1 - need.port) for need in waits.requirements]
    if not waits.is_live and all(cell in future.puts for cell in expected):
        yield f"{place.cell} was put in the end"


def _stores_are_so(place: DeferredRead, waits: Any, state: State, index: EventIndex) -> Iterator[str]:
    """Each store that is said to fill a cell has received its handle and index, and each that has received them is
    named. A possible store has received one of them at most, and is named once. A `collect` waits for every empty
    cell."""
    block, sent = state.cells.blocks[place.cell.handle], sent_to_stores(index)
    gathers = all(state.graph.nodes[token.node].op == "collect" for token in block.deferred_reads[place.cell.number])
    empty = [number for number in range(place.cell.number, place.cell.handle.size) if number not in block.writes]
    cells = [-1 - need.port for need in waits.requirements]
    if cells != (empty if gathers else empty[:1]):
        yield f"{place} waits for the cells {cells} of {empty}"
    for number, need in zip(cells, waits.requirements, strict=True):
        named_stores = {(reason.node, reason.tag) for reason in need.reasons if isinstance(reason, UnfiredNode)}
        expected = {store for store, got in sent.items() if (got.get(0), got.get(1)) == (place.cell.handle, number)}
        if named_stores != expected:
            yield f"cell {number} waits for {named_stores}, not {expected}"
        maybe = [store for reason in need.reasons if isinstance(reason, UnfilledCell) for store in reason.stores]
        named_stores = {store for store in maybe if store[1] is not None}
        if named_stores != set(_might(sent, index.graph, place.cell.handle, number)) or len(set(maybe)) != len(maybe):
            yield f"cell {number} may be filled by {maybe}"
        for store in (store for store, tag in maybe if tag is None):
            literal = index.graph.nodes[store].ports[1]
            if literal is not None and literal.value != number:
                yield f"cell {number} is not filled by {store}"


def _might(sent: dict[Place, dict[int, Any]], graph: Graph, handle: Any, number: int) -> Iterator[Place]:
    """The stores that have received part of their handle and index, and can only fill this cell."""
    for (node, tag), got in sent.items():
        sources = graph.sources()[Edge(node, 0)]
        fits = any(graph.output(source).type.admits(type_of(handle)) for source in sources)
        if fits and not {0, 1} <= got.keys() and got.get(0, handle) == handle and got.get(1, number) == number:
            yield node, tag


def sent_to_stores(index: EventIndex) -> dict[Place, dict[int, Any]]:
    """The values that each store which has not fired has received, by port, literals included, by the events."""
    nodes, results = index.graph.nodes, defaultdict[Place, dict[int, Any]](dict)
    tokens = [token for event in index.events for token in event.sent]
    tokens += [
        Token(*edge, ROOT, index.arguments[at]) for at, (_, to) in enumerate(index.graph.arguments) for edge in to.edges
    ]
    for node, port, tag, value in tokens:
        if node >= 0 and nodes[node].op == "store" and index.firing_event(node, tag) is None:
            results[node, tag][port] = value
    for (node, _), operands in results.items():
        operands |= {port: held.value for port, held in enumerate(nodes[node].ports) if held is not None}
    return results


def quiescence_violations(state: State, index: EventIndex) -> Iterator[str]:
    """The events tell whether a run became quiescent, as the state does."""
    if difference._is_quiescent(index) == bool(state.flight):
        yield f"that it is quiet is said with {len(state.flight)} tokens in flight"


def _throttled_holds(place: ThrottledToken, waits: Any, state: State, future: Future) -> Iterator[str]:
    """A throttled token: the earlier iteration is busy, for the reasons given; the token is released only if that
    iteration can end."""
    record = state.records.get(place.busy_iteration)
    over = record is None or record.busy_count == 0
    if over != (waits.requirements[0].reasons == (EndOfWave(),)):
        yield f"that {place.busy_iteration} is busy is {not over}"
    if not waits.is_live and place.tag in future.released:
        yield f"what was throttled under {place.tag} was let go"
    reasons = [reason for need in waits.requirements for reason in need.reasons]
    inside = {tag for tag in state.records if place.busy_iteration in (tag, *_above(tag))}
    waiting = {UnfiredNode(node, tag) for tag in inside for node in state.records[tag].waiting_operands}
    if waiting != {reason for reason in reasons if isinstance(reason, UnfiredNode)}:
        yield f"what waits in {place.busy_iteration} is not what keeps it busy"
    flying = [at for at, token in enumerate(state.flight) if token.tag in inside]
    if flying != sorted(reason.position for reason in reasons if isinstance(reason, InFlightToken)):
        yield f"what flies in {place.busy_iteration} is at {flying}"
    throttled = {
        tag
        for tag, entries in state.throttled_tokens.items()
        if entries and tag in inside and tag != place.busy_iteration
    }
    if throttled != {reason.tag for reason in reasons if isinstance(reason, ThrottledToken)}:
        yield f"{throttled} are throttled in {place.busy_iteration}"
    deferred = {cell for cell in _cells(state) if any(token.tag in inside for token in _deferred_reads(state, cell))}
    if deferred != {reason.cell for reason in reasons if isinstance(reason, DeferredRead)}:
        yield f"what is deferred in {place.busy_iteration} is at {deferred}"


def _cells(state: State) -> Iterator[CellAddress]:
    """The cells with deferred reads."""
    for handle, block in state.cells.blocks.items():
        yield from (CellAddress(handle, number) for number in block.deferred_reads)


def _above(tag: Tag) -> Iterator[Tag]:
    while tag.parent is not None:
        tag = tag.parent
        yield tag


def _reasons_hold(token: Any, tag: Tag, reasons: Sequence[Any], state: State, future: Future) -> Iterator[str]:
    """Each reason is true; if the reasons say that the token is lost, it is never sent."""
    for reason in reasons:
        match reason:
            case InFlightToken(position, _) if state.flight[position][:3] != token:
                yield f"{reason} is not that token"
            case ThrottledToken() if not any(held[:3] == token for _, held in state.throttled_tokens.get(tag, ())):
                yield f"{reason}, and is not throttled"
            case DeferredRead(cell, _) if token not in [at[:3] for at in _deferred_reads(state, cell)]:
                yield f"{reason}, and is not deferred there"
            case TrappedFiring(firing) if not firing.event.trap or firing.event.sent:
                yield f"{reason} did not trap"
            case RoutedAway(firing, FiringOrigin() as from_) if (firing.event.token.node, 1, firing.tag) not in [
                sent[:3] for sent in from_.event.sent
            ]:
                yield f"{reason}: the predicate did not come from there"
            case RoutedAway(firing, None) if firing.node.op == "switch" and firing.node.ports[1] is None:
                yield f"{reason}: where the predicate came from is not said"
            case RoutedAway(firing, _) if token in [sent[:3] for sent in firing.event.sent] or firing.event.trap:
                yield f"{reason} sent it"
    lost = not any(isinstance(reason, HOPES | AHEAD) for reason in reasons)
    if lost and (token in future.sent if token else tag in future.opened):
        yield f"what is lost by {reasons} came"
    if not reasons:
        yield "there is no reason"


def _deferred_reads(state: State, cell: Any) -> Sequence[Any]:
    block = state.cells.blocks[cell.handle]
    return () if cell.number in block.writes else block.deferred_reads.get(cell.number, ())
