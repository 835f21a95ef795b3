"""Importing a run from a state of the reference machine into a token store, and exporting it back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ....core.tag import ROOT, Site, Tag
from ....core.value import Value
from ...image.image import (
    ARGUMENT_UNIT,
    LOW_BITS,
    LOW_MASK,
    MAX_PASSED_VALUES,
    PORT_BITS,
    PORT_MASK,
    RESULT_UNIT,
    FrameHeader,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    SiteColumn,
    WordArray,
)
from ...machine.activation import ActivationRecord
from ...machine.event import Token
from ...machine.state import State
from ...outcome.residue import ResidueToken
from ...outcome.statistics import Meter
from .host_firings import HostFirings
from .layout import Register, ThrottledColumn
from .store import TokenStore


def import_state(store: TokenStore, host: HostFirings, state: State, meter: Meter) -> None:
    """Fill a new store and `host` with a state of the reference machine; `meter` has the statistics so far."""
    frames = allocate_frames(store, state)
    for tag, frame in frames.items():
        fill_frame(store, frames, state.records[tag], frame)
    link_frames(store, frames)
    flight = [token_words(store, frames, token) for token in state.flight]
    store.reserve_ring(len(flight) + state.throttled_count)
    store.ring[: len(flight)] = np.array(flight, np.int64).reshape(-1, 2)
    import_throttled(store, frames, state)
    host.cells, host.traps = state.cells.fork(), list(state.trap_events)
    for block in host.cells.blocks.values():
        for tokens in block.deferred_reads.values():
            for token in tokens:
                host.deferred_words[token[:3]] = token_words(store, frames, token)
    import_counters(store, state, meter)


def allocate_frames(store: TokenStore, state: State) -> dict[Tag, int]:
    """Allocate a frame for each open activation."""
    image, frames, memory_top = store.image, {}, int(store.registers[Register.MEMORY_TOP])
    sites = {site: number for number, site in enumerate(image.site_list)}
    for tag in sorted(state.records, key=lambda tag: tag.depth):
        frames[tag] = memory_top
        memory_top += int(image.scopes[image.sites[sites[tag.site], SiteColumn.SCOPE], ScopeColumn.SIZE])
    store.reserve_memory(memory_top)
    store.registers[Register.MEMORY_TOP] = memory_top
    for tag, frame in frames.items():
        header = store.memory[frame : frame + image.header_words]
        parent_frame = frames[tag.parent] if tag.parent is not None else 0
        header[FrameHeader.PARENT] = parent_frame << LOW_BITS | sites[tag.site]
        header[FrameHeader.ITERATION] = tag.iteration << LOW_BITS | tag.depth
        if image.header_words > FrameHeader.KEY:
            header[FrameHeader.KEY] = np.uint64(tag.key).astype(np.int64)
    return frames


def fill_frame(store: TokenStore, frames: dict[Tag, int], record: ActivationRecord, frame: int) -> None:
    """Fill in the waiting operands, the firings and the counts of an activation."""
    image, memory = store.image, store.memory
    arguments, results = record.signature
    missing = arguments - record.arguments_received + results - record.results_returned
    passed_values = record.arguments_received * ARGUMENT_UNIT + record.results_returned * RESULT_UNIT
    memory[frame + FrameHeader.PENDING] = record.token_count + record.open_children + missing + passed_values
    if image.has_loop_bounds:
        memory[frame + FrameHeader.BUSY] = record.busy_count
    for number in record.fired_nodes:
        memory[frame + image.nodes[number, NodeColumn.MASK_WORD]] |= image.nodes[number, NodeColumn.FIRED_BIT]
    for number, operands in record.waiting_operands.items():
        for port, value in operands.items():
            port_index = image.first_port[number] + port
            memory[frame + image.nodes[number, NodeColumn.MASK_WORD]] |= image.ports[port_index, PortColumn.BIT]
            memory[frame + image.ports[port_index, PortColumn.OPERAND_WORD]] = store.to_word(
                value, image.port_types[port_index], 1
            )


def link_frames(store: TokenStore, frames: dict[Tag, int]) -> None:
    """Fill in the links between frames: to child activations with several arguments, and between iterations."""
    image, memory = store.image, store.memory
    next_words = _link_words(image.nodes, image.graph.nodes, "next_iteration")
    child_words = _link_words(image.nodes, image.graph.nodes, None)
    loops: dict[tuple[Tag, Site], list[Tag]] = {}
    for tag, frame in frames.items():
        if tag.parent is None:
            continue
        if tag.iteration == 0 and tag.site in child_words:
            memory[frames[tag.parent] + child_words[tag.site]] = frame
        if tag.site.kind == "loop":
            loops.setdefault((tag.parent, tag.site), []).append(tag)
    for (_, site), tags in loops.items():
        tags.sort(key=lambda tag: tag.iteration)
        links = image.loop_links.get(site, (0, 0))
        if links[0]:
            memory[frames[tags[-1].parent or ROOT] + links[0]] = frames[tags[-1]]
        for previous_tag, tag_after in pairwise(tags):
            if links[1]:
                memory[frames[tag_after] + links[1]] = frames[previous_tag]
            if site in next_words and tag_after.iteration == previous_tag.iteration + 1:
                memory[frames[previous_tag] + next_words[site]] = frames[tag_after]
            if image.has_loop_bounds:
                memory[frames[previous_tag] + FrameHeader.NEXT] = frames[tag_after]
                memory[frames[tag_after] + FrameHeader.PREVIOUS] = frames[previous_tag]


def _link_words(rows: WordArray, nodes: Iterable[object], op: str | None) -> dict[Site, int]:
    """For each site to which several nodes of this op send (None: `call` and `enter`), the offset of the link in the
    frame."""
    words = {}
    for row, node in zip(rows.tolist(), nodes, strict=True):
        is_opener = node.op == op if op else node.op in ("call", "enter")  # type: ignore[attr-defined]
        if is_opener and row[NodeColumn.CHILD_WORD]:
            words[node.site] = row[NodeColumn.CHILD_WORD]  # type: ignore[attr-defined]
    return words


def token_words(store: TokenStore, frames: dict[Tag, int], token: Token) -> tuple[int, int]:
    """The two words of a token in flight: frame and port, and value."""
    port_index = store.image.first_port[token.node] + token.port
    return frames[token.tag] << PORT_BITS | port_index, store.to_word(
        token.value, store.image.port_types[port_index], 1
    )


def import_throttled(store: TokenStore, frames: dict[Tag, int], state: State) -> None:
    """S16: fill in the throttled tokens, in the order of the steps that sent them."""
    entries = sorted(
        (entry for tokens in state.throttled_tokens.values() for entry in tokens), key=lambda entry: entry[0]
    )
    store.reserve_throttled(len(entries))
    for row, (step, token) in enumerate(entries, start=1):
        words, frame = token_words(store, frames, token), frames[token.tag]
        store.throttled[row] = (
            step,
            *words,
            row - 1,
            (row + 1) % (len(entries) + 1),
            store.memory[frame + FrameHeader.THROTTLED],
        )
        store.memory[frame + FrameHeader.THROTTLED] = row
    if entries:
        store.throttled[0, [ThrottledColumn.PREVIOUS, ThrottledColumn.NEXT]] = len(entries), 1
    store.registers[[Register.THROTTLED_TOP, Register.THROTTLED]] = len(entries) + 1, len(entries)


def import_counters(store: TokenStore, state: State, meter: Meter) -> None:
    """Fill in results, counters, statistics and the profile of waves."""
    r, image = store.registers, store.image
    types = [image.graph.nodes[number].outputs[0].type for number in image.graph.results]
    for position, value in state.results.items():
        store.result_words[position] = 1, store.to_word(value, types[position], 1)
    store.firing_counts[:] = state.firings_by_node
    store.opened_counts[:] = [state.activations_by_site.get(site, 0) for site in image.site_list]
    r[[Register.FLIGHT_LENGTH, Register.WAITING, Register.DEFERRED_READS]] = (
        len(state.flight),
        state.waiting_count,
        state.cells.deferred_count,
    )
    r[[Register.FIRINGS, Register.STEPS, Register.WAVE_REMAINING]] = state.firings, state.steps, state.wave_remaining
    r[[Register.RESULT_COUNT, Register.OPEN_ACTIVATIONS]] = len(state.results), len(state.records)
    r[[Register.LARGEST_STORE, Register.LARGEST_FLIGHT, Register.DEEPEST_TAG]] = (
        meter.largest_store,
        meter.largest_flight,
        meter.deepest_tag,
    )
    waves = np.array([meter.wave_profile, meter.wave_waiting], np.int64).reshape(2, -1).T
    store.reserve_profile(len(waves))
    store.profile[: len(waves), :2] = waves
    r[[Register.WAVES, Register.FIRINGS_BEFORE_WAVE]] = len(waves), meter.firings_at_wave_start


def result_values(store: TokenStore) -> dict[int, Value]:
    """The results that have arrived, by position."""
    graph = store.image.graph
    types = [graph.nodes[number].outputs[0].type for number in graph.results]
    return {
        position: store.to_value(int(word), types[position])
        for position, (has_arrived, word) in enumerate(store.result_words.tolist())
        if has_arrived
    }


_FRAMES_PER_BLOCK = 2**14


def waiting_operands(store: TokenStore) -> Iterator[ResidueToken]:
    """The operands that wait for partners."""
    if not store.registers[Register.WAITING]:
        return
    frames = np.fromiter(store.frames(), np.int64)
    for begin in range(0, len(frames), _FRAMES_PER_BLOCK):
        block = frames[begin : begin + _FRAMES_PER_BLOCK]
        for frame in block[has_waiting_operands(store, block)].tolist():
            for number, port, value in frame_operands(store, frame):
                yield ResidueToken(number, port, store.tag(frame), value)


def has_waiting_operands(store: TokenStore, frames: WordArray) -> npt.NDArray[np.bool_]:
    """For each of these frames, whether operands wait in it. Most frames of a wide run have none, and to look at one
    takes 20 us in Python."""
    image, memory = store.image, store.memory
    sites = memory[frames + FrameHeader.PARENT] & LOW_MASK
    scopes, has_waiting = image.sites[sites, SiteColumn.SCOPE], np.zeros(len(frames), np.bool_)
    for scope in np.unique(scopes).tolist():
        rows, is_member = image.nodes[image.scope_members[scope]], scopes == scope
        words = memory[frames[is_member][:, None] + rows[:, NodeColumn.MASK_WORD]]
        has_waiting[is_member] = (words & rows[:, NodeColumn.OPERAND_MASK]).any(axis=1)
    return has_waiting


def frame_operands(store: TokenStore, frame: int) -> Iterator[tuple[int, int, Value]]:
    """The operands that wait in an activation: node, port and value."""
    image, memory = store.image, store.memory
    members = image.scope_members[image.sites[store.site_of(frame), SiteColumn.SCOPE]]
    rows = image.nodes[members]
    bits = memory[frame + rows[:, NodeColumn.MASK_WORD]] & rows[:, NodeColumn.OPERAND_MASK]
    for number, waiting in zip(members[bits != 0].tolist(), bits[bits != 0].tolist(), strict=True):
        first = image.first_port[number]
        for port in range(len(image.graph.nodes[number].ports)):
            row = image.ports[first + port]
            if waiting & int(row[PortColumn.BIT]):
                yield (
                    number,
                    port,
                    store.to_value(int(memory[frame + row[PortColumn.OPERAND_WORD]]), image.port_types[first + port]),
                )


def export_state(store: TokenStore, host: HostFirings, state: State) -> State:
    """Fill a state of the same graph and options with the machine's state, which it shares nothing with."""
    r, image = store.registers, store.image
    tags = frame_tags(store)
    records = activation_records(store, state, tags)
    state.records = dict(zip(tags.values(), records.values(), strict=True))
    for frame, record in records.items():
        parent = records.get(store.parent_of(frame))
        if parent is not None:
            parent.open_children += 1
            parent.child_tags[record.tag.site, record.tag.iteration] = record.tag
    state.flight = deque(flight_tokens(store, records))
    for block in host.cells.blocks.values():
        for tokens in block.deferred_reads.values():
            for token in tokens:
                state.records[token.tag].token_count += 1
    state.throttled_tokens = {}
    for step, token in throttled_tokens(store, tags):
        state.throttled_tokens[token.tag] = (*state.throttled_tokens.get(token.tag, ()), (step, token))
        state.records[token.tag].token_count += 1
    state.cells = host.cells.fork()
    state.results, state.trap_events = result_values(store), list(host.traps)
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
    """The machine's statistics, as a meter of this state. Waves are counted only if the state is clocked."""
    r, meter = store.registers, Meter(state, is_clocked=state.is_clocked)
    meter.largest_store, meter.largest_flight = int(r[Register.LARGEST_STORE]), int(r[Register.LARGEST_FLIGHT])
    meter.deepest_tag, meter.firings_at_wave_start = int(r[Register.DEEPEST_TAG]), int(r[Register.FIRINGS_BEFORE_WAVE])
    waves = store.profile[: r[Register.WAVES]]
    meter.wave_profile, meter.wave_waiting = waves[:, 0].tolist(), waves[:, 1].tolist()
    return meter


def throttled_tokens(store: TokenStore, tags: dict[int, Tag]) -> Iterator[tuple[int, Token]]:
    """The throttled tokens, each with the number of the step that sent it, in that order."""
    row = int(store.throttled[0, ThrottledColumn.NEXT])
    while row:
        step, token, word, _, next_row, _ = store.throttled[row].tolist()
        yield step, store.to_token(token & PORT_MASK, tags[token >> PORT_BITS], word)
        row = next_row


def frame_tags(store: TokenStore) -> dict[int, Tag]:
    """The tags of all open activations, by frame. They are not stored in `store.tags`: with half a million activations,
    that would take twice as long."""
    frames = list(store.frames())
    offsets = np.array(frames, np.int64)
    parent_words, iteration_words = (
        store.memory[offsets + FrameHeader.PARENT],
        store.memory[offsets + FrameHeader.ITERATION],
    )
    parents = dict(zip(frames, (parent_words >> LOW_BITS).tolist(), strict=True))
    steps = zip((parent_words & LOW_MASK).tolist(), (iteration_words >> LOW_BITS).tolist(), strict=True)
    last_steps, sites, tags = dict(zip(frames, steps, strict=True)), store.image.site_list, dict[int, Tag]()
    for frame in frames:
        path, ancestor = [], frame
        while ancestor not in tags and parents[ancestor]:
            path.append(ancestor)
            ancestor = parents[ancestor]
        tag = tags.setdefault(ancestor, ROOT)
        for ancestor in reversed(path):
            site, iteration = last_steps[ancestor]
            tag = tags[ancestor] = tag.child(sites[site], iteration)
    return {frame: tags[frame] for frame in frames}


def flight_tokens(store: TokenStore, records: dict[int, ActivationRecord]) -> Iterator[Token]:
    """The tokens in flight, each counted in its record."""
    image, nodes = store.image, store.image.ports[:, PortColumn.NODE].tolist()
    for port_index, frame, word in store.flight():
        number, record = nodes[port_index], records[frame]
        record.token_count += 1
        yield Token(
            number,
            port_index - image.first_port[number],
            record.tag,
            store.to_value(word, image.port_types[port_index]),
        )


def activation_records(store: TokenStore, state: State, tags: dict[int, Tag]) -> dict[int, ActivationRecord]:
    """The records of these frames, without the tokens in flight. Columns are read for all frames of a scope at once: 3
    us per frame instead of 17."""
    image, memory = store.image, store.memory
    records = {
        frame: ActivationRecord(tag, state.signatures.get(tag.site, (0, 0)), state.owner) for frame, tag in tags.items()
    }
    frames = np.fromiter(tags, np.int64, len(tags))
    counts = memory[frames + FrameHeader.PENDING]
    passed_values = [(counts // unit & MAX_PASSED_VALUES).tolist() for unit in (ARGUMENT_UNIT, RESULT_UNIT)]
    for record, argument_count, result_count in zip(records.values(), *passed_values, strict=True):
        record.arguments_received, record.results_returned = argument_count, result_count
    if image.has_loop_bounds:
        for record, busy in zip(records.values(), memory[frames + FrameHeader.BUSY].tolist(), strict=True):
            record.busy_count = busy
    scopes = image.sites[memory[frames + FrameHeader.PARENT] & LOW_MASK, SiteColumn.SCOPE]
    for scope in np.unique(scopes).tolist():
        members, scope_frames = image.scope_members[scope], frames[scopes == scope]
        scope_records = [records[frame] for frame in scope_frames.tolist()]
        _fill_firings(store, scope_records, scope_frames, members)
        _fill_operands(store, scope_records, scope_frames, members)
    return records


def _fill_firings(store: TokenStore, records: list[ActivationRecord], frames: WordArray, members: WordArray) -> None:
    """Fill in the fired nodes of the activations of one scope; equal bits are decoded once."""
    rows = store.image.nodes[members]
    words, word_index = np.unique(rows[:, NodeColumn.MASK_WORD], return_inverse=True)
    masks = np.zeros(len(words), np.int64)
    np.bitwise_or.at(masks, word_index, rows[:, NodeColumn.FIRED_BIT])
    fired_nodes: dict[bytes, set[int]] = {}
    for record, bits in zip(records, store.memory[frames[:, None] + words] & masks, strict=True):
        key = bits.tobytes()
        if key not in fired_nodes:
            fired_nodes[key] = set(members[(bits[word_index] & rows[:, NodeColumn.FIRED_BIT]) != 0].tolist())
        record.fired_nodes = fired_nodes[key].copy()


def _fill_operands(store: TokenStore, records: list[ActivationRecord], frames: WordArray, members: WordArray) -> None:
    """Fill in the waiting operands of the activations of one scope."""
    image, memory = store.image, store.memory
    for number in members.tolist():
        row, first = image.nodes[number], image.first_port[number]
        bits = memory[frames + row[NodeColumn.MASK_WORD]]
        waiting_rows = np.flatnonzero(bits & row[NodeColumn.OPERAND_MASK])
        for port in range(len(image.graph.nodes[number].ports) if len(waiting_rows) else 0):
            port_row, type_ = image.ports[first + port], image.port_types[first + port]
            indices = waiting_rows[bits[waiting_rows] & port_row[PortColumn.BIT] != 0]
            words = memory[frames[indices] + port_row[PortColumn.OPERAND_WORD]].tolist()
            for row_index, word in zip(indices.tolist(), words, strict=True):
                records[row_index].waiting_operands.setdefault(number, {})[port] = store.to_value(word, type_)
                records[row_index].token_count += 1
