"""Frames of activations, compiled by numba: opening and closing them, and small functions that all parts of the machine
use. `load` compiles this file; `machine` says what `a`, `o`, `r`, `mem` and `header` are."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np

from ...image.image import (
    LOW_BITS,
    LOW_MASK,
    PENDING_MASK,
    PORT_BITS,
    TAG_BUILT,
    FrameHeader,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    SiteColumn,
)
from ...image.opcodes import Opcode, first_trapping_opcode
from ..jit.memory import inline_njit, peek, poke, prefetch, unlikely
from ..jit.random import splitmix64
from .journal import note_close
from .layout import Address, Register

FIRST_TRAPPING = first_trapping_opcode()
NODE_BYTES = 8 * len(NodeColumn)
PORT_BYTES = 8 * len(PortColumn)
PREFETCH_DISTANCE = 32
"""How many tokens ahead of delivery a frame is prefetched. On fib(28) a firing takes 15 ns; with 16, 16.5 ns; with 8,
20 ns."""
SITE_WORDS = len(SiteColumn)
SCOPE_WORDS = len(ScopeColumn)
HAS_JOURNAL = False
"""Whether the machine keeps a journal. `load` resolves this: it keeps or removes the code under the condition."""
IS_MULTICORE = False
"""Whether tokens have the number of their wave, and activations can move to other cores. `load` resolves this too."""


def operand(mem: Any, frame: Any, offset: Any) -> Any:
    """The word of an operand: at an offset in the frame or, if `offset` is complemented, from the start of memory."""
    absolute = offset >> 63
    return peek(mem, (frame & ~absolute) + (offset ^ absolute))


def parent_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + FrameHeader.PARENT) >> LOW_BITS


def site_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + FrameHeader.PARENT) & LOW_MASK


def iteration_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + FrameHeader.ITERATION) >> LOW_BITS


def depth_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + FrameHeader.ITERATION) & LOW_MASK


@inline_njit
def token_at(ring: Any, mask: Any, position: Any) -> Any:
    """The two words of the token at a position of the ring: its frame and port, and its value."""
    slot = (position & mask) << 1
    return peek(ring, slot), peek(ring, slot + 1)


@inline_njit
def put_token(ring: Any, mask: Any, position: Any, token: Any, value: Any) -> None:
    """Put a token at a position of the ring."""
    slot = (position & mask) << 1
    poke(ring, slot, token)
    poke(ring, slot + 1, value)


@inline_njit
def prefetch_frame(ring: Any, mask: Any, position: Any, mem: Any) -> None:
    """Prefetch the frame of the token at a position of the ring, two cache lines of it. On fib(28) a firing takes 24 ns
    instead of 43."""
    frame = mem + (peek(ring, (position & mask) << 1) >> PORT_BITS << 3)
    prefetch(frame, 0)
    prefetch(frame, 8)


def open_activation(a: Any, r: Any, mem: Any, parent: Any, site: Any, iteration: Any, header: Any) -> Any:
    """Open an activation of a site, with this parent, and return its frame: a free one of the scope, or a new one."""
    if IS_MULTICORE:
        proxy = peek(r, Register.NEXT_PROXY)
        if unlikely(proxy != 0):
            poke(r, Register.NEXT_PROXY, 0)
            return proxy
    sites, free_frames = peek(a, Address.SITES), peek(a, Address.FREE_FRAMES)
    row = site * SITE_WORDS
    scope = peek(sites, row + SiteColumn.SCOPE)
    clear_end = peek(peek(a, Address.SCOPES), scope * SCOPE_WORDS + ScopeColumn.CLEAR_END)
    frame = peek(free_frames, scope)
    if frame:
        poke(free_frames, scope, parent_of(mem, frame))
    else:
        frame = peek(r, Register.MEMORY_TOP)
        poke(r, Register.MEMORY_TOP, frame + peek(peek(a, Address.SCOPES), scope * SCOPE_WORDS + ScopeColumn.SIZE))
    for word in range(frame + header, frame + clear_end):
        poke(mem, word, 0)
    depth = depth_of(mem, parent) + 1
    poke(mem, frame + FrameHeader.PARENT, parent << LOW_BITS | site)
    poke(mem, frame + FrameHeader.ITERATION, iteration << LOW_BITS | depth)
    poke(
        mem,
        frame + FrameHeader.PENDING,
        peek(sites, row + SiteColumn.ARGUMENTS) + peek(sites, row + SiteColumn.RESULTS),
    )
    poke(mem, parent + FrameHeader.PENDING, peek(mem, parent + FrameHeader.PENDING) + 1)
    if header > FrameHeader.KEY:
        seed = peek(mem, parent + FrameHeader.KEY) ^ peek(sites, row + SiteColumn.KEY)
        key = splitmix64(np.uint64(seed), np.uint64(iteration))
        poke(mem, frame + FrameHeader.KEY, np.int64(key))
    if header > FrameHeader.BUSY:
        for word in range(frame + FrameHeader.BUSY, frame + FrameHeader.NEXT + 1):
            poke(mem, word, 0)
    poke(r, Register.OPEN_ACTIVATIONS, peek(r, Register.OPEN_ACTIVATIONS) + 1)
    poke(peek(a, Address.OPENED_COUNTS), site, peek(peek(a, Address.OPENED_COUNTS), site) + 1)
    if depth > peek(r, Register.DEEPEST_TAG):
        poke(r, Register.DEEPEST_TAG, depth)
    return frame


@inline_njit
def is_too_deep(mem: Any, frame: Any, code: Any, limit: Any) -> Any:
    """Whether the activation that a call or next_iteration in this frame opens is deeper than the limit: that of a call
    is one deeper than the frame."""
    return depth_of(mem, frame) + (code == Opcode.CALL) > limit


def find_target(mem: Any, frame: Any, node: Any) -> Any:
    """The frame of the activation that another argument or loop variable has opened; 0 if it is not open."""
    child_word = peek(node, NodeColumn.CHILD_WORD)
    return peek(mem, frame + child_word) if child_word else 0


def open_target(a: Any, r: Any, mem: Any, frame: Any, node: Any, code: Any, header: Any) -> Any:
    """Open the activation to which a call or next_iteration sends that fires in this frame, and link it there; returns
    its frame."""
    site, child_word = peek(node, NodeColumn.SITE), peek(node, NodeColumn.CHILD_WORD)
    if code == Opcode.CALL:
        target = open_activation(a, r, mem, frame, site, 0, header)
    else:
        target = open_activation(a, r, mem, parent_of(mem, frame), site, iteration_of(mem, frame) + 1, header)
        if header > FrameHeader.BUSY:
            poke(mem, target + FrameHeader.PREVIOUS, frame)
            poke(mem, frame + FrameHeader.NEXT, target)
    if child_word:
        poke(mem, frame + child_word, target)
    return target


def close_proxy(r: Any, mem: Any, frame: Any) -> None:
    """Add a proxy to the list of closed ones that must be reported to other cores; the root counts as a proxy."""
    poke(mem, frame + FrameHeader.PARENT, peek(r, Register.CLOSED_PROXIES) << LOW_BITS)
    poke(mem, frame + FrameHeader.ITERATION, -1)
    poke(r, Register.CLOSED_PROXIES, frame)


def close_activation(a: Any, r: Any, mem: Any, frame: Any, header: Any) -> None:
    """S11: close an activation in which nothing is pending, and each ancestor in which then nothing is pending."""
    while True:
        site, parent = site_of(mem, frame), parent_of(mem, frame)
        if IS_MULTICORE and unlikely(parent == 0):
            close_proxy(r, mem, frame)
            return
        if HAS_JOURNAL:
            note_close(a, r, mem, frame, peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.SCOPE), header)
        release_frame(a, r, mem, frame, site, header)
        if parent == 0:
            return
        counts = peek(mem, parent + FrameHeader.PENDING) - 1
        poke(mem, parent + FrameHeader.PENDING, counts)
        if (counts & PENDING_MASK) != 0:
            return
        frame = parent


def drop_tag(a: Any, r: Any, frame: Any) -> None:
    """Report that the tag of a frame is no longer needed as a Python object."""
    poke(peek(a, Address.DROPPED_TAGS), peek(r, Register.DROPPED_TAGS), frame)
    poke(r, Register.DROPPED_TAGS, peek(r, Register.DROPPED_TAGS) + 1)


def release_frame(a: Any, r: Any, mem: Any, frame: Any, site: Any, header: Any) -> None:
    """Add the frame of an activation that closes to the free ones of its scope."""
    free_frames, scope = (
        peek(a, Address.FREE_FRAMES),
        peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.SCOPE),
    )
    if peek(mem, frame + FrameHeader.PENDING) & TAG_BUILT:
        drop_tag(a, r, frame)
    if header > FrameHeader.BUSY:
        previous, following = peek(mem, frame + FrameHeader.PREVIOUS), peek(mem, frame + FrameHeader.NEXT)
        if previous:
            poke(mem, previous + FrameHeader.NEXT, following)
        if following:
            poke(mem, following + FrameHeader.PREVIOUS, previous)
    poke(mem, frame + FrameHeader.PARENT, peek(free_frames, scope) << LOW_BITS | site)
    poke(mem, frame + FrameHeader.ITERATION, -1)
    poke(free_frames, scope, frame)
    poke(r, Register.OPEN_ACTIVATIONS, peek(r, Register.OPEN_ACTIVATIONS) - 1)


@inline_njit
def remove_from_flight(ring: Any, mask: Any, head: Any, length: Any, position: Any) -> Any:
    """Remove the token at a position from the flight; returns the new head."""
    if position == 0:
        return head + 1
    if position != length - 1:
        head = shift_tokens(ring, mask, head, length, position)
    return head


def shift_tokens(ring: Any, mask: Any, head: Any, length: Any, position: Any) -> Any:
    """Close the gap at a position of the flight by shifting the tokens on its shorter side; returns the new head."""
    if position < length >> 1:
        for back in range(position, 0, -1):
            target, source = (head + back & mask) << 1, (head + back - 1 & mask) << 1
            poke(ring, target, peek(ring, source))
            poke(ring, target + 1, peek(ring, source + 1))
        return head + 1
    for forth in range(position, length - 1):
        target, source = (head + forth & mask) << 1, (head + forth + 1 & mask) << 1
        poke(ring, target, peek(ring, source))
        poke(ring, target + 1, peek(ring, source + 1))
    return head


def adjust_references(a: Any, r: Any, reference_counts: Any, number: Any, change: Any) -> None:
    """Change the number of tokens that refer to an object; at 0, add it to the dead objects."""
    count = peek(reference_counts, number) + change
    poke(reference_counts, number, count)
    if count == 0:
        poke(peek(a, Address.DEAD_OBJECTS), peek(r, Register.DEAD_OBJECTS), number)
        poke(r, Register.DEAD_OBJECTS, peek(r, Register.DEAD_OBJECTS) + 1)


@inline_njit
def store_result(a: Any, r: Any, node: Any, value: Any) -> None:
    """Store a result of the run."""
    results, offset = peek(a, Address.RESULTS), peek(node, NodeColumn.SITE) << 1
    poke(results, offset, 1)
    poke(results, offset + 1, value)
    poke(r, Register.RESULT_COUNT, peek(r, Register.RESULT_COUNT) + 1)


@inline_njit
def count_wave(a: Any, r: Any, firings: Any, waiting: Any) -> None:
    """Add the wave that ends to the profile: its firings, and the tokens that wait after it."""
    wave_firings = firings - peek(r, Register.FIRINGS_BEFORE_WAVE)
    poke(peek(a, Address.PROFILE), peek(r, Register.WAVES), wave_firings | waiting << 32)
    poke(r, Register.WAVES, peek(r, Register.WAVES) + 1)
    poke(r, Register.FIRINGS_BEFORE_WAVE, firings)
