"""k-bounds of loops (S16), compiled by numba: busy counts, throttling and releasing. `machine` says how this is
compiled."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ...image.image import PORT_BITS, FrameHeader, SiteColumn
from ..jit.memory import peek, poke
from .frames import HAS_JOURNAL, SITE_WORDS, iteration_of, parent_of, site_of
from .journal import note_release
from .registers import Address, Register, ThrottledColumn

THROTTLED_WORDS = len(ThrottledColumn)


def add_busy(mem: Any, frame: Any, by: Any) -> Any:
    """Change the count of busy tokens of an activation and of those around it; returns the innermost one whose parent
    did not change."""
    while frame and by:
        before = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, before + by)
        by = (before + by > 0) - (before > 0)
        frame = parent_of(mem, frame)
    return frame


def find_older(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of this iteration of the same loop, at most as young as `frame`; 0 where it is not open."""
    while frame and iteration_of(mem, frame) > iteration:
        frame = peek(mem, frame + FrameHeader.PREVIOUS)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def find_newer(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of this iteration of the same loop, at least as young as `frame`; 0 where it is not open."""
    while frame and iteration_of(mem, frame) < iteration:
        frame = peek(mem, frame + FrameHeader.NEXT)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def is_throttled(a: Any, mem: Any, frame: Any, needs: Any, bound: Any) -> Any:
    """S16: whether a next_iteration that fires in this frame is throttled."""
    wanted = iteration_of(mem, frame) + 1 - bound
    if wanted < 0:
        return False
    before = find_older(mem, frame, wanted)
    if before == 0:
        return False
    return peek(mem, before + FrameHeader.BUSY) > (needs if before == frame else 0)


def throttle(a: Any, r: Any, mem: Any, target: Any, token: Any, value: Any, step: Any) -> None:
    """S16: keep a token out of the flight, behind the throttled ones."""
    held, row = peek(a, Address.THROTTLED), peek(r, Register.THROTTLED_FREE)
    if row:
        poke(r, Register.THROTTLED_FREE, peek(held, row * THROTTLED_WORDS + ThrottledColumn.NEXT))
    else:
        row = peek(r, Register.THROTTLED_TOP)
        poke(r, Register.THROTTLED_TOP, row + 1)
    at, last = row * THROTTLED_WORDS, peek(held, ThrottledColumn.PREVIOUS)
    poke(held, at + ThrottledColumn.STEP, step)
    poke(held, at + ThrottledColumn.TOKEN, token)
    poke(held, at + ThrottledColumn.VALUE, value)
    poke(held, at + ThrottledColumn.PREVIOUS, last)
    poke(held, at + ThrottledColumn.NEXT, 0)
    poke(held, last * THROTTLED_WORDS + ThrottledColumn.NEXT, row)
    poke(held, ThrottledColumn.PREVIOUS, row)
    poke(held, at + ThrottledColumn.NEXT_OF_ITERATION, peek(mem, target + FrameHeader.THROTTLED))
    poke(mem, target + FrameHeader.THROTTLED, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) + 1)
    add_busy(mem, parent_of(mem, target), 1)


def release_throttled(a: Any, r: Any, mem: Any, row: Any, at: Any) -> None:
    """S16: a throttled token joins the flight, at this place of the ring. Those of one iteration are released
    together."""
    held, ring = peek(a, Address.THROTTLED), peek(a, Address.RING)
    of = row * THROTTLED_WORDS
    if HAS_JOURNAL:
        note_release(a, r, held + (of << 3))
    token, previous, following = (
        peek(held, of + ThrottledColumn.TOKEN),
        peek(held, of + ThrottledColumn.PREVIOUS),
        peek(held, of + ThrottledColumn.NEXT),
    )
    poke(ring, at, token)
    poke(ring, at + 1, peek(held, of + ThrottledColumn.VALUE))
    poke(held, previous * THROTTLED_WORDS + ThrottledColumn.NEXT, following)
    poke(held, following * THROTTLED_WORDS + ThrottledColumn.PREVIOUS, previous)
    poke(held, of + ThrottledColumn.NEXT, peek(r, Register.THROTTLED_FREE))
    poke(r, Register.THROTTLED_FREE, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) - 1)
    frame = token >> PORT_BITS
    poke(mem, frame + FrameHeader.THROTTLED, 0)
    add_busy(mem, frame, 1)
    add_busy(mem, parent_of(mem, frame), -1)


def step_of(held: Any, row: Any) -> Any:
    return peek(held, row * THROTTLED_WORDS + ThrottledColumn.STEP)


def find_releasable(a: Any, mem: Any, frame: Any, consumed: Any) -> Any:
    """Count the tokens that a firing consumed; returns the number of tokens to release, those throttled for activations
    that stopped being busy. Their rows are in RELEASE_ROWS, in the order of their steps."""
    held, rows, found, by = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0, -consumed
    while frame and by:
        before = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, before + by)
        by = (before + by > 0) - (before > 0)
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        if by and bound:
            following = find_newer(mem, frame, iteration_of(mem, frame) + bound)
            row = peek(mem, following + FrameHeader.THROTTLED) if following else 0
            while row:
                at = found
                while at > 0 and step_of(held, peek(rows, at - 1)) > step_of(held, row):
                    poke(rows, at, peek(rows, at - 1))
                    at -= 1
                poke(rows, at, row)
                found += 1
                row = peek(held, row * THROTTLED_WORDS + ThrottledColumn.NEXT_OF_ITERATION)
        frame = parent_of(mem, frame)
    return found


def find_releasable_at_wave(a: Any, mem: Any, target: Any) -> Any:
    """The same at the end of a wave: all tokens that no busy activation throttles, except those just sent."""
    held, rows, found = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0
    row = peek(held, ThrottledColumn.NEXT)
    while row:
        frame = peek(held, row * THROTTLED_WORDS + ThrottledColumn.TOKEN) >> PORT_BITS
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        before = find_older(mem, frame, iteration_of(mem, frame) - bound)
        if before == 0 or (peek(mem, before + FrameHeader.BUSY) == 0 and before != target):
            poke(rows, found, row)
            found += 1
        row = peek(held, row * THROTTLED_WORDS + ThrottledColumn.NEXT)
    return found
