"""K-bounds of loops (S16), compiled by numba: which tokens are throttled, and when they are released.

A busy count of each activation says how many tokens can still be delivered in it and below it. Throttled tokens lie in
a linked list, in the order of the steps that sent them. `load` compiles this file; `machine` says what `a`, `r` and
`mem` are.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ...image.image import PORT_BITS, FrameHeader, SiteColumn
from ..jit.memory import inline_njit, peek, poke
from .frames import HAS_JOURNAL, SITE_WORDS, iteration_of, parent_of, site_of
from .journal import note_release
from .layout import Address, MachineOption, Register, ThrottledColumn

THROTTLED_WORDS = len(ThrottledColumn)


def add_busy(mem: Any, frame: Any, change: Any) -> None:
    """Change the busy count of an activation and, where it becomes busy or idle, those of its ancestors."""
    while frame and change:
        old_count = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, old_count + change)
        change = (old_count + change > 0) - (old_count > 0)
        frame = parent_of(mem, frame)


def find_older(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of an iteration of the same loop that is not after the iteration of `frame`; 0 if it is not open."""
    while frame and iteration_of(mem, frame) > iteration:
        frame = peek(mem, frame + FrameHeader.PREVIOUS)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def find_newer(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of an iteration of the same loop that is not before the iteration of `frame`; 0 if it is not open."""
    while frame and iteration_of(mem, frame) < iteration:
        frame = peek(mem, frame + FrameHeader.NEXT)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def is_throttled(a: Any, mem: Any, frame: Any, required: Any, bound: Any) -> Any:
    """S16: whether a next_iteration that fires in this frame is throttled."""
    iteration = iteration_of(mem, frame) + 1 - bound
    if iteration < 0:
        return False
    older_frame = find_older(mem, frame, iteration)
    if older_frame == 0:
        return False
    return peek(mem, older_frame + FrameHeader.BUSY) > (required if older_frame == frame else 0)


def throttle(a: Any, r: Any, mem: Any, target: Any, token: Any, value: Any, step: Any) -> None:
    """S16: append a token to the throttled ones instead of the flight."""
    rows, row = peek(a, Address.THROTTLED), peek(r, Register.THROTTLED_FREE)
    if row:
        poke(r, Register.THROTTLED_FREE, peek(rows, row * THROTTLED_WORDS + ThrottledColumn.NEXT))
    else:
        row = peek(r, Register.THROTTLED_TOP)
        poke(r, Register.THROTTLED_TOP, row + 1)
    offset, last_row = row * THROTTLED_WORDS, peek(rows, ThrottledColumn.PREVIOUS)
    poke(rows, offset + ThrottledColumn.STEP, step)
    poke(rows, offset + ThrottledColumn.TOKEN, token)
    poke(rows, offset + ThrottledColumn.VALUE, value)
    poke(rows, offset + ThrottledColumn.PREVIOUS, last_row)
    poke(rows, offset + ThrottledColumn.NEXT, 0)
    poke(rows, last_row * THROTTLED_WORDS + ThrottledColumn.NEXT, row)
    poke(rows, ThrottledColumn.PREVIOUS, row)
    poke(rows, offset + ThrottledColumn.NEXT_OF_ITERATION, peek(mem, target + FrameHeader.THROTTLED))
    poke(mem, target + FrameHeader.THROTTLED, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) + 1)
    add_busy(mem, parent_of(mem, target), 1)


def release_token(a: Any, r: Any, mem: Any, row: Any, slot: Any) -> None:
    """S16: move a throttled token to the flight, at this offset of the ring. All tokens of an iteration are released
    together."""
    rows, ring = peek(a, Address.THROTTLED), peek(a, Address.RING)
    offset = row * THROTTLED_WORDS
    if HAS_JOURNAL:
        note_release(a, r, rows + (offset << 3))
    token, previous_row, next_row = (
        peek(rows, offset + ThrottledColumn.TOKEN),
        peek(rows, offset + ThrottledColumn.PREVIOUS),
        peek(rows, offset + ThrottledColumn.NEXT),
    )
    poke(ring, slot, token)
    poke(ring, slot + 1, peek(rows, offset + ThrottledColumn.VALUE))
    poke(rows, previous_row * THROTTLED_WORDS + ThrottledColumn.NEXT, next_row)
    poke(rows, next_row * THROTTLED_WORDS + ThrottledColumn.PREVIOUS, previous_row)
    poke(rows, offset + ThrottledColumn.NEXT, peek(r, Register.THROTTLED_FREE))
    poke(r, Register.THROTTLED_FREE, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) - 1)
    frame = token >> PORT_BITS
    poke(mem, frame + FrameHeader.THROTTLED, 0)
    add_busy(mem, frame, 1)
    add_busy(mem, parent_of(mem, frame), -1)


def step_of(rows: Any, row: Any) -> Any:
    return peek(rows, row * THROTTLED_WORDS + ThrottledColumn.STEP)


@inline_njit
def release_throttled(
    a: Any, r: Any, mem: Any, frame: Any, consumed: Any, target: Any, ends_wave: Any, position: Any
) -> Any:
    """S16: move the tokens that a step releases to the flight, from this position of the ring on; returns how many. The
    step consumed tokens in `frame`, and sent some to `target`; 0 if it sent none."""
    count = find_releasable(a, mem, frame, consumed)
    if peek(peek(a, Address.OPTIONS), MachineOption.HAS_WAVE_CLOCK):
        count = find_releasable_at_wave(a, mem, target) if ends_wave else 0
    mask = peek(a, Address.RING_SIZE) - 1
    for index in range(count):
        release_token(a, r, mem, peek(peek(a, Address.RELEASE_ROWS), index), (position + index & mask) << 1)
    return count


def find_releasable(a: Any, mem: Any, frame: Any, consumed: Any) -> Any:
    """Subtract the tokens that a firing consumed from busy counts. Returns the number of tokens to release: those that
    wait for activations which have stopped being busy. Their rows are in RELEASE_ROWS, in the order of their steps."""
    throttled, release_rows, count, change = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0, -consumed
    while frame and change:
        old_count = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, old_count + change)
        change = (old_count + change > 0) - (old_count > 0)
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        if change and bound:
            newer_frame = find_newer(mem, frame, iteration_of(mem, frame) + bound)
            row = peek(mem, newer_frame + FrameHeader.THROTTLED) if newer_frame else 0
            while row:
                position = count
                while position > 0 and step_of(throttled, peek(release_rows, position - 1)) > step_of(throttled, row):
                    poke(release_rows, position, peek(release_rows, position - 1))
                    position -= 1
                poke(release_rows, position, row)
                count += 1
                row = peek(throttled, row * THROTTLED_WORDS + ThrottledColumn.NEXT_OF_ITERATION)
        frame = parent_of(mem, frame)
    return count


def find_releasable_at_wave(a: Any, mem: Any, target: Any) -> Any:
    """Count, and list in RELEASE_ROWS, the tokens to release at the end of a wave: those that no busy activation
    throttles. An activation to which the last firing sent counts as busy."""
    throttled, release_rows, count = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0
    row = peek(throttled, ThrottledColumn.NEXT)
    while row:
        frame = peek(throttled, row * THROTTLED_WORDS + ThrottledColumn.TOKEN) >> PORT_BITS
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        older_frame = find_older(mem, frame, iteration_of(mem, frame) - bound)
        if older_frame == 0 or (peek(mem, older_frame + FrameHeader.BUSY) == 0 and older_frame != target):
            poke(release_rows, count, row)
            count += 1
        row = peek(throttled, row * THROTTLED_WORDS + ThrottledColumn.NEXT)
    return count
