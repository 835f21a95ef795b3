"""Handing a run over: from the token store to the state of the reference machine, and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from ....core.tag import ROOT, Tag
from ....core.value import Value
from ...image.image import COMING, LEAVING, LOW_BITS, MOST_PASSED, NODE, PORT, PORT_BITS, SITE, Header, Words
from ...machine.activation import Record
from ...machine.event import Token
from ...machine.state import State
from ...outcome.outcome import Waiting
from ...outcome.statistics import Meter
from .host_firings import Outside
from .registers import Held, R
from .store import Store


def results(store: Store) -> dict[int, Value]:
    """The results that have come, by position."""
    graph = store.image.graph
    types = [graph.nodes[number].outputs[0].type for number in graph.results]
    return {
        position: store.value(int(word), types[position])
        for position, (came, word) in enumerate(store.results.tolist())
        if came
    }


def waiting(store: Store) -> Iterator[Waiting]:
    """The operands that wait for partners."""
    for frame in store.frames():
        for number, port, value in operands(store, frame):
            yield Waiting(number, port, store.tag(frame), value)


def operands(store: Store, frame: int) -> Iterator[tuple[int, int, Value]]:
    """What waits in an activation: node, port and value."""
    image, memory = store.image, store.memory
    members = image.members[image.sites[store.site_of(frame), SITE.SCOPE]]
    rows = image.nodes[members]
    bits = memory[frame + rows[:, NODE.STATE]] & rows[:, NODE.FULL]
    for number, there in zip(members[bits != 0].tolist(), bits[bits != 0].tolist(), strict=True):
        first = image.first_port[number]
        for port in range(len(image.graph.nodes[number].ports)):
            row = image.ports[first + port]
            if there & int(row[PORT.BIT]):
                yield number, port, store.value(int(memory[frame + row[PORT.WAIT]]), image.port_types[first + port])


def to_state(store: Store, outside: Outside, state: State) -> State:
    """Fill a state of the same graph, with the same options, with what the machine knows."""
    r, image = store.registers, store.image
    tags = _tags(store)
    records = _records(store, state, tags)
    state.records = dict(zip(tags.values(), records.values(), strict=True))
    for frame, record in records.items():
        around = records.get(store.parent_of(frame))
        if around is not None:
            around.open += 1
            around.children[record.tag.site, record.tag.iteration] = record.tag
    state.flight = deque(_flight(store, records))
    for block in outside.cells.blocks.values():
        for tokens in block.parked.values():
            for token in tokens:
                state.records[token.tag].tokens += 1
    for step, token in held_tokens(store, tags):
        state.held[token.tag] = (*state.held.get(token.tag, ()), (step, token))
        state.records[token.tag].tokens += 1
    state.cells = outside.cells
    state.results, state.traps = results(store), outside.traps
    state.counts = store.counts.tolist()
    sites = zip(image.site_list, store.begun.tolist(), strict=True)
    state.opened = {site: count for site, count in sites if count}
    state.firings, state.steps = int(r[R.FIRINGS]), int(r[R.STEPS])
    state.waiting, state.ahead, state.holding = int(r[R.WAITING]), int(r[R.AHEAD]), int(r[R.HOLDING])
    return state


def to_meter(store: Store, state: State) -> Meter:
    """What the machine has measured, as a meter of this state. Waves are counted where there is a clock."""
    r, made = store.registers, Meter(state, clocked=state.clocked)
    made.largest_store, made.largest_flight = int(r[R.LARGEST_STORE]), int(r[R.LARGEST_FLIGHT])
    made.deepest, made.firings_before = int(r[R.DEEPEST]), int(r[R.BEFORE])
    waves = store.profile[: r[R.WAVES]]
    made.profile, made.waiting = waves[:, 0].tolist(), waves[:, 1].tolist()
    return made


def held_tokens(store: Store, tags: dict[int, Tag]) -> Iterator[tuple[int, Token]]:
    """The tokens that bounds hold, in the order of the steps that sent them, with those."""
    row = int(store.held[0, Held.NEXT])
    while row:
        step, token, word, _, following, _ = store.held[row].tolist()
        yield step, _token(store, tags, token & (1 << PORT_BITS) - 1, token >> PORT_BITS, word)
        row = following


def _token(store: Store, tags: dict[int, Tag], at: int, frame: int, word: int) -> Token:
    image = store.image
    number = int(image.ports[at, PORT.NODE])
    return Token(number, at - image.first_port[number], tags[frame], store.value(word, image.port_types[at]))


def _tags(store: Store) -> dict[int, Tag]:
    """The tags of all open activations, by their frames. The store keeps none of them: a run of half a million would
    take twice as long."""
    frames = list(store.frames())
    places = np.array(frames, np.int64)
    above, when = store.memory[places + Header.ABOVE], store.memory[places + Header.WHEN]
    parents = dict(zip(frames, (above >> LOW_BITS).tolist(), strict=True))
    steps = zip((above & (1 << LOW_BITS) - 1).tolist(), (when >> LOW_BITS).tolist(), strict=True)
    last, sites, made = dict(zip(frames, steps, strict=True)), store.image.site_list, dict[int, Tag]()
    for frame in frames:
        path, at = [], frame
        while at not in made and parents[at]:
            path.append(at)
            at = parents[at]
        tag = made.setdefault(at, ROOT)
        for each in reversed(path):
            site, iteration = last[each]
            tag = made[each] = tag.child(sites[site], iteration)
    return {frame: made[frame] for frame in frames}


def _flight(store: Store, records: dict[int, Record]) -> Iterator[Token]:
    """The tokens in flight, each counted in its record."""
    image, nodes = store.image, store.image.ports[:, PORT.NODE].tolist()
    for at, frame, word in store.flight():
        number, record = nodes[at], records[frame]
        record.tokens += 1
        yield Token(number, at - image.first_port[number], record.tag, store.value(word, image.port_types[at]))


def _records(store: Store, state: State, tags: dict[int, Tag]) -> dict[int, Record]:
    """The records of these frames, but for the tokens in flight. What all frames of a function or loop have in the same
    place is read at once: 3 us a frame instead of 17."""
    image, memory = store.image, store.memory
    found = {frame: Record(tag, state.signatures.get(tag.site, (0, 0)), state.era) for frame, tag in tags.items()}
    frames = np.fromiter(tags, np.int64, len(tags))
    counts = memory[frames + Header.COUNTS]
    passed = [(counts // each & MOST_PASSED).tolist() for each in (COMING, LEAVING)]
    for record, arrived, left in zip(found.values(), *passed, strict=True):
        record.arrived, record.left = arrived, left
    if image.is_bounded:
        for record, busy in zip(found.values(), memory[frames + Header.BUSY].tolist(), strict=True):
            record.busy = busy
    scopes = image.sites[memory[frames + Header.ABOVE] & (1 << LOW_BITS) - 1, SITE.SCOPE]
    for scope in np.unique(scopes).tolist():
        here = frames[scopes == scope]
        own = [found[frame] for frame in here.tolist()]
        _fire(store, own, here, image.members[scope])
        _fill(store, own, here, image.members[scope])
    return found


def _fire(store: Store, records: list[Record], frames: Words, members: Words) -> None:
    """What has fired in activations of one function or loop: in many of them the same."""
    rows = store.image.nodes[members]
    words, which = np.unique(rows[:, NODE.STATE], return_inverse=True)
    wanted = np.zeros(len(words), np.int64)
    np.bitwise_or.at(wanted, which, rows[:, NODE.FIRED])
    known: dict[bytes, set[int]] = {}
    for record, bits in zip(records, store.memory[frames[:, None] + words] & wanted, strict=True):
        key = bits.tobytes()
        if key not in known:
            known[key] = set(members[(bits[which] & rows[:, NODE.FIRED]) != 0].tolist())
        record.fired = known[key].copy()


def _fill(store: Store, records: list[Record], frames: Words, members: Words) -> None:
    """What waits there."""
    image, memory = store.image, store.memory
    for number in members.tolist():
        row, first = image.nodes[number], image.first_port[number]
        bits = memory[frames + row[NODE.STATE]]
        waits = np.flatnonzero(bits & row[NODE.FULL])
        for port in range(len(image.graph.nodes[number].ports) if len(waits) else 0):
            where, type_ = image.ports[first + port], image.port_types[first + port]
            there = waits[bits[waits] & where[PORT.BIT] != 0]
            words = memory[frames[there] + where[PORT.WAIT]].tolist()
            for at, word in zip(there.tolist(), words, strict=True):
                records[at].waiting.setdefault(number, {})[port] = store.value(word, type_)
                records[at].tokens += 1
