"""Exporting a run from the token store to a state of the reference machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from ....core.tag import ROOT, Tag
from ....core.value import Value
from ...image.image import (
    ARGUMENT_UNIT,
    LOW_BITS,
    MAX_PASSED_VALUES,
    PORT_BITS,
    RESULT_UNIT,
    FrameHeader,
    NodeColumn,
    PortColumn,
    SiteColumn,
    WordArray,
)
from ...machine.activation import ActivationRecord
from ...machine.event import Token
from ...machine.state import State
from ...outcome.outcome import ResidueToken
from ...outcome.statistics import Meter
from .host_firings import HostFirings
from .registers import Register, ThrottledColumn
from .store import TokenStore


def result_values(store: TokenStore) -> dict[int, Value]:
    """The results that have arrived, by position."""
    graph = store.image.graph
    types = [graph.nodes[number].outputs[0].type for number in graph.results]
    return {
        position: store.to_value(int(word), types[position])
        for position, (came, word) in enumerate(store.result_words.tolist())
        if came
    }


def waiting_operands(store: TokenStore) -> Iterator[ResidueToken]:
    """The operands that wait for partners."""
    for frame in store.frames():
        for number, port, value in frame_operands(store, frame):
            yield ResidueToken(number, port, store.tag(frame), value)


def frame_operands(store: TokenStore, frame: int) -> Iterator[tuple[int, int, Value]]:
    """The operands that wait in an activation: node, port and value."""
    image, memory = store.image, store.memory
    members = image.scope_members[image.sites[store.site_of(frame), SiteColumn.SCOPE]]
    rows = image.nodes[members]
    bits = memory[frame + rows[:, NodeColumn.MASK_WORD]] & rows[:, NodeColumn.OPERAND_MASK]
    for number, there in zip(members[bits != 0].tolist(), bits[bits != 0].tolist(), strict=True):
        first = image.first_port[number]
        for port in range(len(image.graph.nodes[number].ports)):
            row = image.ports[first + port]
            if there & int(row[PortColumn.BIT]):
                yield (
                    number,
                    port,
                    store.to_value(int(memory[frame + row[PortColumn.OPERAND_WORD]]), image.port_types[first + port]),
                )


def export_state(store: TokenStore, outside: HostFirings, state: State) -> State:
    """Fill a state of the same graph and options with the machine's state."""
    r, image = store.registers, store.image
    tags = _frame_tags(store)
    records = _activation_records(store, state, tags)
    state.records = dict(zip(tags.values(), records.values(), strict=True))
    for frame, record in records.items():
        around = records.get(store.parent_of(frame))
        if around is not None:
            around.open_children += 1
            around.child_tags[record.tag.site, record.tag.iteration] = record.tag
    state.flight = deque(_flight_tokens(store, records))
    for block in outside.cells.blocks.values():
        for tokens in block.deferred_reads.values():
            for token in tokens:
                state.records[token.tag].token_count += 1
    for step, token in throttled_tokens(store, tags):
        state.throttled_tokens[token.tag] = (*state.throttled_tokens.get(token.tag, ()), (step, token))
        state.records[token.tag].token_count += 1
    state.cells = outside.cells
    state.results, state.trap_events = result_values(store), outside.traps
    state.firings_by_node = store.firing_counts.tolist()
    sites = zip(image.site_list, store.opened_counts.tolist(), strict=True)
    state.activations_by_site = {site: count for site, count in sites if count}
    state.firings, state.steps = int(r[Register.FIRINGS]), int(r[Register.STEPS])
    state.waiting_count, state.wave_remaining, state.throttled_count = (
        int(r[Register.WAITING]),
        int(r[Register.WAVE_REMAINING]),
        int(r[Register.THROTTLED]),
    )
    return state


def export_meter(store: TokenStore, state: State) -> Meter:
    """The machine's statistics, as a meter of this state. Waves are counted only if there is a clock."""
    r, made = store.registers, Meter(state, is_clocked=state.is_clocked)
    made.largest_store, made.largest_flight = int(r[Register.LARGEST_STORE]), int(r[Register.LARGEST_FLIGHT])
    made.deepest_tag, made.firings_at_wave_start = int(r[Register.DEEPEST_TAG]), int(r[Register.FIRINGS_BEFORE_WAVE])
    waves = store.profile[: r[Register.WAVES]]
    made.wave_profile, made.wave_waiting = waves[:, 0].tolist(), waves[:, 1].tolist()
    return made


def throttled_tokens(store: TokenStore, tags: dict[int, Tag]) -> Iterator[tuple[int, Token]]:
    """The throttled tokens, each with the number of the step that sent it, in that order."""
    row = int(store.throttled[0, ThrottledColumn.NEXT])
    while row:
        step, token, word, _, following, _ = store.throttled[row].tolist()
        yield step, _decode_token(store, tags, token & (1 << PORT_BITS) - 1, token >> PORT_BITS, word)
        row = following


def _decode_token(store: TokenStore, tags: dict[int, Tag], at: int, frame: int, word: int) -> Token:
    image = store.image
    number = int(image.ports[at, PortColumn.NODE])
    return Token(number, at - image.first_port[number], tags[frame], store.to_value(word, image.port_types[at]))


def _frame_tags(store: TokenStore) -> dict[int, Tag]:
    """The tags of all open activations, by frame. The store keeps no tags: a run of half a million would take twice as
    long."""
    frames = list(store.frames())
    places = np.array(frames, np.int64)
    above, when = store.memory[places + FrameHeader.PARENT], store.memory[places + FrameHeader.ITERATION]
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


def _flight_tokens(store: TokenStore, records: dict[int, ActivationRecord]) -> Iterator[Token]:
    """The tokens in flight, each counted in its record."""
    image, nodes = store.image, store.image.ports[:, PortColumn.NODE].tolist()
    for at, frame, word in store.flight():
        number, record = nodes[at], records[frame]
        record.token_count += 1
        yield Token(number, at - image.first_port[number], record.tag, store.to_value(word, image.port_types[at]))


def _activation_records(store: TokenStore, state: State, tags: dict[int, Tag]) -> dict[int, ActivationRecord]:
    """The records of these frames, without the tokens in flight. Columns are read for all frames of a scope at once: 3
    us per frame instead of 17."""
    image, memory = store.image, store.memory
    found = {
        frame: ActivationRecord(tag, state.signatures.get(tag.site, (0, 0)), state.owner) for frame, tag in tags.items()
    }
    frames = np.fromiter(tags, np.int64, len(tags))
    counts = memory[frames + FrameHeader.PENDING]
    passed = [(counts // each & MAX_PASSED_VALUES).tolist() for each in (ARGUMENT_UNIT, RESULT_UNIT)]
    for record, arrived, left in zip(found.values(), *passed, strict=True):
        record.arguments_received, record.results_returned = arrived, left
    if image.has_loop_bounds:
        for record, busy in zip(found.values(), memory[frames + FrameHeader.BUSY].tolist(), strict=True):
            record.busy_count = busy
    scopes = image.sites[memory[frames + FrameHeader.PARENT] & (1 << LOW_BITS) - 1, SiteColumn.SCOPE]
    for scope in np.unique(scopes).tolist():
        here = frames[scopes == scope]
        own = [found[frame] for frame in here.tolist()]
        _fill_firings(store, own, here, image.scope_members[scope])
        _fill_operands(store, own, here, image.scope_members[scope])
    return found


def _fill_firings(store: TokenStore, records: list[ActivationRecord], frames: WordArray, members: WordArray) -> None:
    """Fill in the firings of the activations of one scope; many have the same."""
    rows = store.image.nodes[members]
    words, which = np.unique(rows[:, NodeColumn.MASK_WORD], return_inverse=True)
    wanted = np.zeros(len(words), np.int64)
    np.bitwise_or.at(wanted, which, rows[:, NodeColumn.FIRED_BIT])
    known: dict[bytes, set[int]] = {}
    for record, bits in zip(records, store.memory[frames[:, None] + words] & wanted, strict=True):
        key = bits.tobytes()
        if key not in known:
            known[key] = set(members[(bits[which] & rows[:, NodeColumn.FIRED_BIT]) != 0].tolist())
        record.fired_nodes = known[key].copy()


def _fill_operands(store: TokenStore, records: list[ActivationRecord], frames: WordArray, members: WordArray) -> None:
    """Fill in the operands that wait there."""
    image, memory = store.image, store.memory
    for number in members.tolist():
        row, first = image.nodes[number], image.first_port[number]
        bits = memory[frames + row[NodeColumn.MASK_WORD]]
        waits = np.flatnonzero(bits & row[NodeColumn.OPERAND_MASK])
        for port in range(len(image.graph.nodes[number].ports) if len(waits) else 0):
            where, type_ = image.ports[first + port], image.port_types[first + port]
            there = waits[bits[waits] & where[PortColumn.BIT] != 0]
            words = memory[frames[there] + where[PortColumn.OPERAND_WORD]].tolist()
            for at, word in zip(there.tolist(), words, strict=True):
                records[at].waiting_operands.setdefault(number, {})[port] = store.to_value(word, type_)
                records[at].token_count += 1
