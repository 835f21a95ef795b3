"""Handing a run over: from the token store to the state of the reference machine, and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ...core.tag import Tag
from ...core.value import Value
from ..activation import Record
from ..event import Token
from ..image import COMING, LEAVING, MOST_PASSED, NODE, PORT, PORT_BITS, SITE, Header
from ..outcome import Waiting
from ..state import State
from .outside import Outside
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
    state.records.clear()
    tags = {frame: store.tag(frame) for frame in store.frames()}
    for frame, tag in tags.items():
        state.records[tag] = _record(store, outside, state, frame, tag)
    for tag in tags.values():
        if tag.parent in state.records:
            parent = state.records[tag.parent]
            parent.open += 1
            parent.children[tag.site, tag.iteration] = tag
    state.flight = deque(_token(store, tags, *each) for each in store.flight())
    for token in state.flight:
        state.records[token.tag].tokens += 1
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


def _record(store: Store, outside: Outside, state: State, frame: int, tag: Tag) -> Record:
    record = Record(tag, state.signatures.get(tag.site, (0, 0)), state.era)
    for number, port, value in operands(store, frame):
        record.waiting.setdefault(number, {})[port] = value
        record.tokens += 1
    record.fired = outside.fired(frame)
    counts = int(store.memory[frame + Header.COUNTS])
    record.arrived, record.left = counts // COMING & MOST_PASSED, counts // LEAVING & MOST_PASSED
    if store.image.is_bounded:
        record.busy = int(store.memory[frame + Header.BUSY])
    return record
