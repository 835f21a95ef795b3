"""Which tokens, activations, cells and events are listed: of many the first, and under `only` those under a tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ...core.errors import TagloomError
from ...core.handle import Handle
from ...core.tag import Tag
from ...core.value import Value
from ...interp.machine.activation import Record
from ...interp.machine.cells import Block, Put
from ...interp.machine.event import Token
from ...interp.machine.state import State
from .run_index import is_under
from .session import Session

LOOKED = 20_000
"""So many tokens, or activations, are looked at for those under a tag: there may be millions, and each takes 0.5 us."""


class Flight(NamedTuple):
    """Tokens in flight, each with its position."""

    tokens: list[tuple[int, Token]]
    left: int
    """How many more there are."""
    unlooked: int
    """And how many that nobody has looked at."""


def in_flight(session: Session, most: int) -> Flight:
    """The tokens in flight: the next to be delivered, then the others in the order of the schedule."""
    history, top = session.history, session.only
    tokens, following = history.state.flight, history.next_choice
    if following is None:
        return Flight([], 0, 0)
    count = len(tokens)
    last_first = zip(range(count - 1, -1, -1), reversed(tokens), strict=True)
    order = last_first if history.schedule == "lifo" else enumerate(tokens)
    others = (each for each in order if each[0] != following)
    ordered = chain([(following, tokens[following])], others)
    if top is None:
        found = list(islice(ordered, most))
        return Flight(found, count - len(found), 0)
    looked = islice(ordered, LOOKED)
    found = [each for each in looked if is_under(each[1].tag, top)]
    return Flight(found[:most], max(len(found) - most, 0), max(count - LOOKED, 0))


class Waits(NamedTuple):
    """A node that waits, with what it has, as it is when somebody looks."""

    tag: Tag
    node: int
    held: dict[int, Value]


class Stored(NamedTuple):
    """What waits: activations, with the nodes that wait in them, and tokens that a bound holds."""

    found: list[Tag | Waits | Token]
    left: int
    """How many tokens more there are."""


def stored(session: Session, most: int) -> Stored:
    """The waiting-matching store by activation, and what bounds hold."""
    state, top = session.history.state, session.only
    found: list[Tag | Waits | Token] = list(islice(_by_tag(_open(state, top)), most))
    kept = sum(len(each.held) for each in found if isinstance(each, Waits))
    count = state.waiting if top is None else sum(_tokens(record) for _, record in _open(state, top))
    held = [token for tag, entries in state.held.items() if is_under(tag, top) for _, token in entries]
    return Stored([*found, *held[:most]], count - kept + max(len(held) - most, 0))


def _open(state: State, top: Tag | None) -> Iterator[tuple[Tag, Record]]:
    """The open activations in which something waits: as they were opened, or only one and those below it."""
    records = state.records.items() if top is None else _below(state, top)
    yield from ((tag, record) for tag, record in islice(records, LOOKED) if record.waiting)


def _below(state: State, top: Tag) -> Iterator[tuple[Tag, Record]]:
    """An activation and all below it. Without recursion: tags may be very deep."""
    ahead = [top] if top in state.records else []
    while ahead:
        tag = ahead.pop()
        record = state.records[tag]
        yield tag, record
        ahead.extend(reversed(record.children.values()))


def _by_tag(records: Iterator[tuple[Tag, Record]]) -> Iterator[Tag | Waits]:
    for tag, record in records:
        yield tag
        yield from (Waits(tag, number, held.copy()) for number, held in sorted(record.waiting.items()))


def _tokens(record: Record) -> int:
    return sum(map(len, record.waiting.values()))


class Entry(NamedTuple):
    """A cell of an array: who put what is in it, or who is parked there."""

    at: int
    who: Put | Token


class Cells(NamedTuple):
    """Arrays of cells, each followed by its entries."""

    found: list[Handle | Entry]
    left: int
    """How many lines more there are."""
    arrays: int
    parked: int
    """How many arrays there are, and how many tokens that are parked at them."""


def cells(session: Session, most: int) -> Cells:
    """What is in cells: entries by whoever is under the tag, and arrays that were made there, or have such entries."""
    heap, top = session.history.state.cells, session.only
    if top is None:
        found = list(islice(_cells(heap.blocks, None), most))
        entries = sum(len(block.puts) + sum(map(len, block.parked.values())) for block in heap.blocks.values())
        return Cells(found, len(heap.blocks) + entries - len(found), len(heap.blocks), heap.parked)
    found = list(_cells(heap.blocks, top))
    parked = sum(isinstance(each, Entry) and isinstance(each.who, Token) for each in found)
    arrays = sum(isinstance(each, Handle) for each in found)
    return Cells(found[:most], max(len(found) - most, 0), arrays, parked)


def _cells(blocks: Mapping[Handle, Block], top: Tag | None) -> Iterator[Handle | Entry]:
    for handle, block in blocks.items():
        entries = (each for each in _entries(block) if is_under(each.who.tag, top))
        first = next(entries, None)
        if first is not None or is_under(handle.tag, top):
            yield handle
            yield from chain(() if first is None else (first,), entries)


def _entries(block: Block) -> Iterator[Entry]:
    for at in sorted({*block.puts, *block.parked}):
        yield from (Entry(at, put) for put in block.puts.get(at, ())[:1])
        yield from (Entry(at, token) for token in block.parked.get(at, ()))


def events(session: Session) -> Sequence[int]:
    """The numbers of the known events for which the condition of `events` holds; of one that means nothing in this run,
    as after another program was loaded, none."""
    try:
        return session.run.known.matching(session.history, session.focus.events, session.only)
    except TagloomError:
        return ()
