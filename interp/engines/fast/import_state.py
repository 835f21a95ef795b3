"""Importing a run: from a state of the reference machine to the token store."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ....core.tag import ROOT, Site, Tag
from ...image.image import (
    ARGUMENT_UNIT,
    LOW_BITS,
    PORT_BITS,
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
from ...outcome.statistics import Meter
from .host_firings import HostFirings
from .registers import Register, ThrottledColumn
from .store import TokenStore


def import_state(store: TokenStore, outside: HostFirings, state: State, meter: Meter) -> None:
    """Fill a fresh store, and the state outside it, from the reference; `meter` has the statistics so far."""
    frames = _allocate_frames(store, state)
    for tag, frame in frames.items():
        _fill_frame(store, frames, state.records[tag], frame)
    _link_frames(store, frames)
    flight = [_token_words(store, frames, token) for token in state.flight]
    store.reserve_ring(len(flight) + state.throttled_count)
    store.ring[: len(flight)] = np.array(flight, np.int64).reshape(-1, 2)
    _import_throttled(store, frames, state)
    outside.cells, outside.traps = state.cells.fork(), list(state.trap_events)
    for block in outside.cells.blocks.values():
        for tokens in block.deferred_reads.values():
            for token in tokens:
                outside.parked_words[token[:3]] = _token_words(store, frames, token)
    _import_counters(store, state, meter)


def _allocate_frames(store: TokenStore, state: State) -> dict[Tag, int]:
    """Allocate a frame for each open activation."""
    image, found, top = store.image, {}, int(store.registers[Register.MEMORY_TOP])
    sites = {site: number for number, site in enumerate(image.site_list)}
    for tag in sorted(state.records, key=lambda tag: tag.depth):
        found[tag] = top
        top += int(image.scopes[image.sites[sites[tag.site], SiteColumn.SCOPE], ScopeColumn.SIZE])
    store.reserve_memory(top)
    store.registers[Register.MEMORY_TOP] = top
    for tag, frame in found.items():
        header = store.memory[frame : frame + image.header_words]
        above = found[tag.parent] if tag.parent is not None else 0
        header[FrameHeader.PARENT] = above << LOW_BITS | sites[tag.site]
        header[FrameHeader.ITERATION] = tag.iteration << LOW_BITS | tag.depth
        if image.header_words > FrameHeader.KEY:
            header[FrameHeader.KEY] = np.uint64(tag.key).astype(np.int64)
    return found


def _fill_frame(store: TokenStore, frames: dict[Tag, int], record: ActivationRecord, frame: int) -> None:
    """Fill in the waiting operands, the firings and the counts of an activation."""
    image, memory = store.image, store.memory
    coming, leaving = record.signature
    missing = coming - record.arguments_received + leaving - record.results_returned
    passed = record.arguments_received * ARGUMENT_UNIT + record.results_returned * RESULT_UNIT
    memory[frame + FrameHeader.PENDING] = record.token_count + record.open_children + missing + passed
    if image.has_loop_bounds:
        memory[frame + FrameHeader.BUSY] = record.busy_count
    for number in record.fired_nodes:
        memory[frame + image.nodes[number, NodeColumn.MASK_WORD]] |= image.nodes[number, NodeColumn.FIRED_BIT]
    for number, held in record.waiting_operands.items():
        for port, value in held.items():
            at = image.first_port[number] + port
            memory[frame + image.nodes[number, NodeColumn.MASK_WORD]] |= image.ports[at, PortColumn.BIT]
            memory[frame + image.ports[at, PortColumn.OPERAND_WORD]] = store.to_word(value, image.port_types[at], 1)


def _link_frames(store: TokenStore, frames: dict[Tag, int]) -> None:
    """Fill in the links between frames: to child activations with several arguments, to the next iteration, and to
    neighbouring ones."""
    image, memory = store.image, store.memory
    places = (
        _link_words(image.nodes, image.graph.nodes, "next_iteration"),
        _link_words(image.nodes, image.graph.nodes, None),
    )
    loops: dict[tuple[Tag, Site], list[Tag]] = {}
    for tag, frame in frames.items():
        if tag.parent is None:
            continue
        if tag.iteration == 0 and tag.site in places[1]:
            memory[frames[tag.parent] + places[1][tag.site]] = frame
        if tag.site.kind == "loop":
            loops.setdefault((tag.parent, tag.site), []).append(tag)
    for (_, site), tags in loops.items():
        tags.sort(key=lambda tag: tag.iteration)
        links = image.loop_links.get(site, (0, 0))
        if links[0]:
            memory[frames[tags[-1].parent or ROOT] + links[0]] = frames[tags[-1]]
        for before, after in pairwise(tags):
            if links[1]:
                memory[frames[after] + links[1]] = frames[before]
            if site in places[0] and after.iteration == before.iteration + 1:
                memory[frames[before] + places[0][site]] = frames[after]
            if image.has_loop_bounds:
                memory[frames[before] + FrameHeader.NEXT] = frames[after]
                memory[frames[after] + FrameHeader.PREVIOUS] = frames[before]


def _link_words(rows: WordArray, nodes: Iterable[object], op: str | None) -> dict[Site, int]:
    """For each site that several nodes of this op, or of those that enter, send to, the word of a frame for it."""
    found = {}
    for row, node in zip(rows.tolist(), nodes, strict=True):
        wanted = node.op == op if op else node.op in ("call", "enter")  # type: ignore[attr-defined]
        if wanted and row[NodeColumn.CHILD_WORD]:
            found[node.site] = row[NodeColumn.CHILD_WORD]  # type: ignore[attr-defined]
    return found


def _token_words(store: TokenStore, frames: dict[Tag, int], token: Token) -> tuple[int, int]:
    at = store.image.first_port[token.node] + token.port
    return frames[token.tag] << PORT_BITS | at, store.to_word(token.value, store.image.port_types[at], 1)


def _import_throttled(store: TokenStore, frames: dict[Tag, int], state: State) -> None:
    entries = sorted((entry for held in state.throttled_tokens.values() for entry in held), key=lambda entry: entry[0])
    store.reserve_throttled(len(entries))
    for row, (step, token) in enumerate(entries, start=1):
        words, frame = _token_words(store, frames, token), frames[token.tag]
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


def _import_counters(store: TokenStore, state: State, meter: Meter) -> None:
    r, image = store.registers, store.image
    types = [image.graph.nodes[number].outputs[0].type for number in image.graph.results]
    for position, value in state.results.items():
        store.result_words[position] = 1, store.to_word(value, types[position], 1)
    store.firing_counts[:] = state.firings_by_node
    store.opened_counts[:] = [state.activations_by_site.get(site, 0) for site in image.site_list]
    r[[Register.FLIGHT_LENGTH, Register.WAITING, Register.PARKED]] = (
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
