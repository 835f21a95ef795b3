"""Taking a run over from the reference machine: from its state to the token store."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ....core.tag import ROOT, Site, Tag
from ...image.image import COMING, LEAVING, LOW_BITS, NODE, PORT, PORT_BITS, SCOPE, SITE, Header, Words
from ...machine.activation import Record
from ...machine.event import Token
from ...machine.state import State
from ...outcome.statistics import Meter
from .host_firings import Outside
from .registers import Held, R
from .store import Store


def from_state(store: Store, outside: Outside, state: State, meter: Meter) -> None:
    """Fill a store that has not begun, and what is outside of it, with what the reference knows; `meter` has watched
    the run so far."""
    frames = _frames(store, state)
    for tag, frame in frames.items():
        _fill(store, frames, state.records[tag], frame)
    _link(store, frames)
    flight = [_words(store, frames, token) for token in state.flight]
    store.fit_ring(len(flight) + state.holding)
    store.ring[: len(flight)] = np.array(flight, np.int64).reshape(-1, 2)
    _hold(store, frames, state)
    outside.cells, outside.traps = state.cells.fork(), list(state.traps)
    for block in outside.cells.blocks.values():
        for tokens in block.parked.values():
            for token in tokens:
                outside.parked[token[:3]] = _words(store, frames, token)
    _count(store, state, meter)


def _frames(store: Store, state: State) -> dict[Tag, int]:
    """Where the frame of each open activation is to be."""
    image, found, top = store.image, {}, int(store.registers[R.TOP])
    sites = {site: number for number, site in enumerate(image.site_list)}
    for tag in sorted(state.records, key=lambda tag: tag.depth):
        found[tag] = top
        top += int(image.scopes[image.sites[sites[tag.site], SITE.SCOPE], SCOPE.SIZE])
    store.fit_memory(top)
    store.registers[R.TOP] = top
    for tag, frame in found.items():
        header = store.memory[frame : frame + image.header]
        above = found[tag.parent] if tag.parent is not None else 0
        header[Header.ABOVE] = above << LOW_BITS | sites[tag.site]
        header[Header.WHEN] = tag.iteration << LOW_BITS | tag.depth
        if image.header > Header.KEY:
            header[Header.KEY] = np.uint64(tag.key).astype(np.int64)
    return found


def _fill(store: Store, frames: dict[Tag, int], record: Record, frame: int) -> None:
    """What waits in an activation and what has fired; its counts."""
    image, memory = store.image, store.memory
    coming, leaving = record.wanted
    missing = coming - record.arrived + leaving - record.left
    passed = record.arrived * COMING + record.left * LEAVING
    memory[frame + Header.COUNTS] = record.tokens + record.open + missing + passed
    if image.is_bounded:
        memory[frame + Header.BUSY] = record.busy
    for number in record.fired:
        memory[frame + image.nodes[number, NODE.STATE]] |= image.nodes[number, NODE.FIRED]
    for number, held in record.waiting.items():
        for port, value in held.items():
            at = image.first_port[number] + port
            memory[frame + image.nodes[number, NODE.STATE]] |= image.ports[at, PORT.BIT]
            memory[frame + image.ports[at, PORT.WAIT]] = store.word(value, image.port_types[at], 1)


def _link(store: Store, frames: dict[Tag, int]) -> None:
    """Who knows whom: the activation below, of several arguments; the next iteration; and those next to it."""
    image, memory = store.image, store.memory
    places = _places(image.nodes, image.graph.nodes, "next_iteration"), _places(image.nodes, image.graph.nodes, None)
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
        links = image.links.get(site, (0, 0))
        if links[0]:
            memory[frames[tags[-1].parent or ROOT] + links[0]] = frames[tags[-1]]
        for before, after in pairwise(tags):
            if links[1]:
                memory[frames[after] + links[1]] = frames[before]
            if site in places[0] and after.iteration == before.iteration + 1:
                memory[frames[before] + places[0][site]] = frames[after]
            if image.is_bounded:
                memory[frames[before] + Header.NEWER] = frames[after]
                memory[frames[after] + Header.OLDER] = frames[before]


def _places(rows: Words, nodes: Iterable[object], op: str | None) -> dict[Site, int]:
    """For each site that several nodes of this op, or of those that enter, send to, the word of a frame for it."""
    found = {}
    for row, node in zip(rows.tolist(), nodes, strict=True):
        wanted = node.op == op if op else node.op in ("call", "enter")  # type: ignore[attr-defined]
        if wanted and row[NODE.PLACE]:
            found[node.site] = row[NODE.PLACE]  # type: ignore[attr-defined]
    return found


def _words(store: Store, frames: dict[Tag, int], token: Token) -> tuple[int, int]:
    at = store.image.first_port[token.node] + token.port
    return frames[token.tag] << PORT_BITS | at, store.word(token.value, store.image.port_types[at], 1)


def _hold(store: Store, frames: dict[Tag, int], state: State) -> None:
    entries = sorted((entry for held in state.held.values() for entry in held), key=lambda entry: entry[0])
    store.fit_held(len(entries))
    for row, (step, token) in enumerate(entries, start=1):
        words, frame = _words(store, frames, token), frames[token.tag]
        store.held[row] = step, *words, row - 1, (row + 1) % (len(entries) + 1), store.memory[frame + Header.HELD]
        store.memory[frame + Header.HELD] = row
    if entries:
        store.held[0, [Held.PREVIOUS, Held.NEXT]] = len(entries), 1
    store.registers[[R.HELD_TOP, R.HOLDING]] = len(entries) + 1, len(entries)


def _count(store: Store, state: State, meter: Meter) -> None:
    r, image = store.registers, store.image
    types = [image.graph.nodes[number].outputs[0].type for number in image.graph.results]
    for position, value in state.results.items():
        store.results[position] = 1, store.word(value, types[position], 1)
    store.counts[:] = state.counts
    store.begun[:] = [state.opened.get(site, 0) for site in image.site_list]
    r[[R.LENGTH, R.WAITING, R.PARKED]] = len(state.flight), state.waiting, state.cells.parked
    r[[R.FIRINGS, R.STEPS, R.AHEAD]] = state.firings, state.steps, state.ahead
    r[[R.CAME, R.OPEN]] = len(state.results), len(state.records)
    r[[R.LARGEST_STORE, R.LARGEST_FLIGHT, R.DEEPEST]] = meter.largest_store, meter.largest_flight, meter.deepest
    waves = np.array([meter.profile, meter.waiting], np.int64).reshape(2, -1).T
    store.fit_profile(len(waves))
    store.profile[: len(waves), :2] = waves
    r[[R.WAVES, R.BEFORE]] = len(waves), meter.firings_before
