"""Frames of activations, in the part of Python that numba compiles: how they are opened and closed, and other small
parts of the machine. `machine` says how this is compiled."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np

from ...image.image import LOW_BITS, SCOPE, SITE, TAGGED, Header
from ..jit.memory import peek, poke, rare
from .journal import note_closed
from .registers import A, R

SITE_WORDS = len(SITE)
SCOPE_WORDS = len(SCOPE)
LOW = (1 << LOW_BITS) - 1
PENDING = (1 << 32) - 1
JOURNAL = False
"""Whether the machine keeps a journal: `load` leaves out what stands under it, or the question."""
STAMPED = False
"""Whether tokens know their waves, and activations may be given to other cores: the same."""


def mixed(seed: Any, number: Any) -> Any:
    """splitmix64, of words."""
    z = np.uint64(seed) + (np.uint64(number) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def operand(mem: Any, frame: Any, place: Any) -> Any:
    """What lies at the place of an operand: a word of the frame, or, complemented, of memory."""
    absolute = place >> 63
    return peek(mem, (frame & ~absolute) + (place ^ absolute))


def parent_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + Header.ABOVE) >> LOW_BITS


def site_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + Header.ABOVE) & LOW


def iteration_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + Header.WHEN) >> LOW_BITS


def depth_of(mem: Any, frame: Any) -> Any:
    return peek(mem, frame + Header.WHEN) & LOW


def opened(a: Any, r: Any, mem: Any, parent: Any, site: Any, iteration: Any, header: Any) -> Any:
    """A new frame for an activation of a site, below a frame."""
    if STAMPED:
        proxy = peek(r, R.NEXT_PROXY)
        if rare(proxy != 0):
            poke(r, R.NEXT_PROXY, 0)
            return proxy
    sites, free = peek(a, A.SITES), peek(a, A.FREE)
    row = site * SITE_WORDS
    scope = peek(sites, row + SITE.SCOPE)
    clear = peek(peek(a, A.SCOPES), scope * SCOPE_WORDS + SCOPE.CLEAR)
    frame = peek(free, scope)
    if frame:
        poke(free, scope, parent_of(mem, frame))
    else:
        frame = peek(r, R.TOP)
        poke(r, R.TOP, frame + peek(peek(a, A.SCOPES), scope * SCOPE_WORDS + SCOPE.SIZE))
    for word in range(frame + header, frame + clear):
        poke(mem, word, 0)
    depth = depth_of(mem, parent) + 1
    poke(mem, frame + Header.ABOVE, parent << LOW_BITS | site)
    poke(mem, frame + Header.WHEN, iteration << LOW_BITS | depth)
    poke(mem, frame + Header.COUNTS, peek(sites, row + SITE.COMING) + peek(sites, row + SITE.LEAVING))
    poke(mem, parent + Header.COUNTS, peek(mem, parent + Header.COUNTS) + 1)
    if header > Header.KEY:
        key = mixed(peek(mem, parent + Header.KEY) ^ peek(sites, row + SITE.KEY), iteration)
        poke(mem, frame + Header.KEY, np.int64(key))
    if header > Header.BUSY:
        for word in range(frame + Header.BUSY, frame + Header.NEWER + 1):
            poke(mem, word, 0)
    poke(r, R.OPEN, peek(r, R.OPEN) + 1)
    poke(peek(a, A.BEGUN), site, peek(peek(a, A.BEGUN), site) + 1)
    if depth > peek(r, R.DEEPEST):
        poke(r, R.DEEPEST, depth)
    return frame


def closed_proxy(r: Any, mem: Any, frame: Any) -> None:
    """Another core is to be told that a proxy has closed; the root, too, is taken for one."""
    poke(mem, frame + Header.ABOVE, peek(r, R.CLOSED_PROXIES) << LOW_BITS)
    poke(mem, frame + Header.WHEN, -1)
    poke(r, R.CLOSED_PROXIES, frame)


def closed(a: Any, r: Any, mem: Any, frame: Any, header: Any) -> None:
    """S11: close an activation in which nothing is pending, and those around it for which it was the last."""
    sites, free = peek(a, A.SITES), peek(a, A.FREE)
    while True:
        site, parent = site_of(mem, frame), parent_of(mem, frame)
        if STAMPED and rare(parent == 0):
            closed_proxy(r, mem, frame)
            return
        scope = peek(sites, site * SITE_WORDS + SITE.SCOPE)
        if JOURNAL:
            note_closed(a, r, mem, frame, scope, header)
        if peek(mem, frame + Header.COUNTS) & TAGGED:
            poke(peek(a, A.LOST), peek(r, R.LOST), frame)
            poke(r, R.LOST, peek(r, R.LOST) + 1)
        if header > Header.BUSY:
            before, after = peek(mem, frame + Header.OLDER), peek(mem, frame + Header.NEWER)
            if before:
                poke(mem, before + Header.NEWER, after)
            if after:
                poke(mem, after + Header.OLDER, before)
        poke(mem, frame + Header.ABOVE, peek(free, scope) << LOW_BITS | site)
        poke(mem, frame + Header.WHEN, -1)
        poke(free, scope, frame)
        poke(r, R.OPEN, peek(r, R.OPEN) - 1)
        if parent == 0:
            return
        counts = peek(mem, parent + Header.COUNTS) - 1
        poke(mem, parent + Header.COUNTS, counts)
        if (counts & PENDING) != 0:
            return
        frame = parent


def take(ring: Any, mask: Any, head: Any, length: Any, position: Any) -> Any:
    """Close the gap that a token leaves in the middle of the flight; where the flight begins then."""
    if position < length >> 1:
        for back in range(position, 0, -1):
            at, of = (head + back & mask) << 1, (head + back - 1 & mask) << 1
            poke(ring, at, peek(ring, of))
            poke(ring, at + 1, peek(ring, of + 1))
        return head + 1
    for forth in range(position, length - 1):
        at, of = (head + forth & mask) << 1, (head + forth + 1 & mask) << 1
        poke(ring, at, peek(ring, of))
        poke(ring, at + 1, peek(ring, of + 1))
    return head


def released(a: Any, r: Any, refs: Any, number: Any, by: Any) -> None:
    """Count the tokens that refer to an object; where none is left it is dead."""
    left = peek(refs, number) + by
    poke(refs, number, left)
    if left == 0:
        poke(peek(a, A.DEAD), peek(r, R.DEAD), number)
        poke(r, R.DEAD, peek(r, R.DEAD) + 1)
