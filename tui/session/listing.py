"""Lists of tokens, activations, cells and events: of many the first, and under `only` those under a tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ...core.errors import TagloomError
from ...core.tag import Tag
from ...core.types import Handle
from ...core.value import Value
from ...interp.machine.activation import ActivationRecord
from ...interp.machine.cells import CellBlock, CellWrite
from ...interp.machine.event import Token
from ...interp.machine.state import State
from .run_index import is_under
from .session import Session

MAX_SCANNED = 20_000
"""The most tokens or activations scanned for those under a tag: there may be millions, and each takes 0.5 us."""


class FlightListing(NamedTuple):
    """Tokens in flight, each with its position."""

    tokens: list[tuple[int, Token]]
    remaining_count: int
    """The number of tokens that are not listed."""
    unscanned_count: int
    """The number of tokens that were not scanned."""


def list_flight(session: Session, most: int) -> FlightListing:
    """The tokens in flight: the next to be delivered, then the others in the order of the schedule."""
    history, top = session.history, session.root_tag
    tokens, following = history.state.flight, history.next_choice
    if following is None:
        return FlightListing([], 0, 0)
    count = len(tokens)
    last_first = zip(range(count - 1, -1, -1), reversed(tokens), strict=True)
    order = last_first if history.schedule == "lifo" else enumerate(tokens)
    others = (each for each in order if each[0] != following)
    ordered = chain([(following, tokens[following])], others)
    if top is None:
        found = list(islice(ordered, most))
        return FlightListing(found, count - len(found), 0)
    looked = islice(ordered, MAX_SCANNED)
    found = [each for each in looked if is_under(each[1].tag, top)]
    return FlightListing(found[:most], max(len(found) - most, 0), max(count - MAX_SCANNED, 0))


class WaitingNode(NamedTuple):
    """A waiting node with its operands, as of the time of reading."""

    tag: Tag
    node: int
    operands: dict[int, Value]


class StoreListing(NamedTuple):
    """The store: activations, with the nodes that wait in them, and throttled tokens."""

    entries: list[Tag | WaitingNode | Token]
    remaining_count: int
    """The number of tokens that are not listed."""


def list_store(session: Session, most: int) -> StoreListing:
    """The waiting-matching store by activation, and the throttled tokens."""
    state, top = session.history.state, session.root_tag
    found: list[Tag | WaitingNode | Token] = list(islice(_entries_by_tag(_open_records(state, top)), most))
    kept = sum(len(each.operands) for each in found if isinstance(each, WaitingNode))
    count = (
        state.waiting_count if top is None else sum(_count_tokens(record) for _, record in _open_records(state, top))
    )
    held = [token for tag, entries in state.throttled_tokens.items() if is_under(tag, top) for _, token in entries]
    return StoreListing([*found, *held[:most]], count - kept + max(len(held) - most, 0))


def _open_records(state: State, top: Tag | None) -> Iterator[tuple[Tag, ActivationRecord]]:
    """The open activations in which something waits, in the order in which they opened, or only `top` and those below
    it."""
    records = state.records.items() if top is None else _records_below(state, top)
    yield from ((tag, record) for tag, record in islice(records, MAX_SCANNED) if record.waiting_operands)


def _records_below(state: State, top: Tag) -> Iterator[tuple[Tag, ActivationRecord]]:
    """An activation and all below it. Without recursion, because tags may be very deep."""
    ahead = [top] if top in state.records else []
    while ahead:
        tag = ahead.pop()
        record = state.records[tag]
        yield tag, record
        ahead.extend(reversed(record.child_tags.values()))


def _entries_by_tag(records: Iterator[tuple[Tag, ActivationRecord]]) -> Iterator[Tag | WaitingNode]:
    for tag, record in records:
        yield tag
        yield from (WaitingNode(tag, number, held.copy()) for number, held in sorted(record.waiting_operands.items()))


def _count_tokens(record: ActivationRecord) -> int:
    return sum(map(len, record.waiting_operands.values()))


class CellEntry(NamedTuple):
    """A cell of an array: the store that filled it, or the reads parked there."""

    cell_number: int
    content: CellWrite | Token


class CellListing(NamedTuple):
    """Arrays of cells, each followed by its entries."""

    entries: list[Handle | CellEntry]
    remaining_count: int
    """The number of lines that are not listed."""
    array_count: int
    parked_count: int
    """The number of tokens parked at these arrays."""


def list_cells(session: Session, most: int) -> CellListing:
    """The cells: entries of firings under the tag, and arrays that were made there or have such entries."""
    heap, top = session.history.state.cells, session.root_tag
    if top is None:
        found = list(islice(_cell_entries(heap.blocks, None), most))
        entries = sum(
            len(block.writes) + sum(map(len, block.deferred_reads.values())) for block in heap.blocks.values()
        )
        return CellListing(found, len(heap.blocks) + entries - len(found), len(heap.blocks), heap.deferred_count)
    found = list(_cell_entries(heap.blocks, top))
    parked = sum(isinstance(each, CellEntry) and isinstance(each.content, Token) for each in found)
    arrays = sum(isinstance(each, Handle) for each in found)
    return CellListing(found[:most], max(len(found) - most, 0), arrays, parked)


def _cell_entries(blocks: Mapping[Handle, CellBlock], top: Tag | None) -> Iterator[Handle | CellEntry]:
    for handle, block in blocks.items():
        entries = (each for each in _block_entries(block) if is_under(each.content.tag, top))
        first = next(entries, None)
        if first is not None or is_under(handle.tag, top):
            yield handle
            yield from chain(() if first is None else (first,), entries)


def _block_entries(block: CellBlock) -> Iterator[CellEntry]:
    for at in sorted({*block.writes, *block.deferred_reads}):
        yield from (CellEntry(at, put) for put in block.writes.get(at, ())[:1])
        yield from (CellEntry(at, token) for token in block.deferred_reads.get(at, ()))


def list_events(session: Session) -> Sequence[int]:
    """The numbers of the known events for which the condition of `events` holds; none, if it does not compile for this
    run, as after another program was loaded."""
    try:
        return session.run.index.find_matching(session.history, session.focus.event_condition, session.root_tag)
    except TagloomError:
        return ()
