"""Bounds on the iterations of loops (S16), in the part of Python that numba compiles: who is busy, what is held, and
what is let go. `machine` says how this is compiled."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ...image.image import PORT_BITS, SITE, Header
from ..jit.memory import peek, poke
from .frames import JOURNAL, SITE_WORDS, iteration_of, parent_of, site_of
from .journal import note_released
from .registers import A, Held, R

HELD_WORDS = len(Held)


def busier(mem: Any, frame: Any, by: Any) -> Any:
    """Count more tokens, or fewer, that are not held in an activation, and it in those around it; the innermost one
    around which nothing changed."""
    while frame and by:
        before = peek(mem, frame + Header.BUSY)
        poke(mem, frame + Header.BUSY, before + by)
        by = (before + by > 0) - (before > 0)
        frame = parent_of(mem, frame)
    return frame


def older(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of this iteration of the same loop, at most as young as `frame`; 0 where it is not open."""
    while frame and iteration_of(mem, frame) > iteration:
        frame = peek(mem, frame + Header.OLDER)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def newer(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of this iteration of the same loop, at least as young as `frame`; 0 where it is not open."""
    while frame and iteration_of(mem, frame) < iteration:
        frame = peek(mem, frame + Header.NEWER)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def is_held(a: Any, mem: Any, frame: Any, needs: Any, bound: Any) -> Any:
    """S16: whether what a next_iteration sends, firing in this frame, is held."""
    wanted = iteration_of(mem, frame) + 1 - bound
    if wanted < 0:
        return False
    before = older(mem, frame, wanted)
    if before == 0:
        return False
    return peek(mem, before + Header.BUSY) > (needs if before == frame else 0)


def hold(a: Any, r: Any, mem: Any, target: Any, token: Any, value: Any, step: Any) -> None:
    """S16: keep a token out of the flight, behind those that are held already."""
    held, row = peek(a, A.HELD), peek(r, R.HELD_FREE)
    if row:
        poke(r, R.HELD_FREE, peek(held, row * HELD_WORDS + Held.NEXT))
    else:
        row = peek(r, R.HELD_TOP)
        poke(r, R.HELD_TOP, row + 1)
    at, last = row * HELD_WORDS, peek(held, Held.PREVIOUS)
    poke(held, at + Held.STEP, step)
    poke(held, at + Held.TOKEN, token)
    poke(held, at + Held.VALUE, value)
    poke(held, at + Held.PREVIOUS, last)
    poke(held, at + Held.NEXT, 0)
    poke(held, last * HELD_WORDS + Held.NEXT, row)
    poke(held, Held.PREVIOUS, row)
    poke(held, at + Held.BESIDE, peek(mem, target + Header.HELD))
    poke(mem, target + Header.HELD, row)
    poke(r, R.HOLDING, peek(r, R.HOLDING) + 1)
    busier(mem, parent_of(mem, target), 1)


def let_go(a: Any, r: Any, mem: Any, row: Any, at: Any) -> None:
    """S16: a held token joins the flight, in this place of the ring. Those of its iteration go together."""
    held, ring = peek(a, A.HELD), peek(a, A.RING)
    of = row * HELD_WORDS
    if JOURNAL:
        note_released(a, r, held + (of << 3))
    token, previous, following = peek(held, of + Held.TOKEN), peek(held, of + Held.PREVIOUS), peek(held, of + Held.NEXT)
    poke(ring, at, token)
    poke(ring, at + 1, peek(held, of + Held.VALUE))
    poke(held, previous * HELD_WORDS + Held.NEXT, following)
    poke(held, following * HELD_WORDS + Held.PREVIOUS, previous)
    poke(held, of + Held.NEXT, peek(r, R.HELD_FREE))
    poke(r, R.HELD_FREE, row)
    poke(r, R.HOLDING, peek(r, R.HOLDING) - 1)
    frame = token >> PORT_BITS
    poke(mem, frame + Header.HELD, 0)
    busier(mem, frame, 1)
    busier(mem, parent_of(mem, frame), -1)


def step_of(held: Any, row: Any) -> Any:
    return peek(held, row * HELD_WORDS + Held.STEP)


def due(a: Any, mem: Any, frame: Any, consumed: Any) -> Any:
    """Count what a firing consumed; how many held tokens are to be let go, whose rows are in DUE then, by their steps:
    those for which an activation was waited for that has stopped being busy."""
    held, rows, found, by = peek(a, A.HELD), peek(a, A.DUE), 0, -consumed
    while frame and by:
        before = peek(mem, frame + Header.BUSY)
        poke(mem, frame + Header.BUSY, before + by)
        by = (before + by > 0) - (before > 0)
        bound = peek(peek(a, A.SITES), site_of(mem, frame) * SITE_WORDS + SITE.BOUND)
        if by and bound:
            following = newer(mem, frame, iteration_of(mem, frame) + bound)
            row = peek(mem, following + Header.HELD) if following else 0
            while row:
                at = found
                while at > 0 and step_of(held, peek(rows, at - 1)) > step_of(held, row):
                    poke(rows, at, peek(rows, at - 1))
                    at -= 1
                poke(rows, at, row)
                found += 1
                row = peek(held, row * HELD_WORDS + Held.BESIDE)
        frame = parent_of(mem, frame)
    return found


def due_at_wave(a: Any, mem: Any, target: Any) -> Any:
    """The same at the end of a wave: all that nothing is waited for any more, but what this firing has just sent."""
    held, rows, found = peek(a, A.HELD), peek(a, A.DUE), 0
    row = peek(held, Held.NEXT)
    while row:
        frame = peek(held, row * HELD_WORDS + Held.TOKEN) >> PORT_BITS
        bound = peek(peek(a, A.SITES), site_of(mem, frame) * SITE_WORDS + SITE.BOUND)
        before = older(mem, frame, iteration_of(mem, frame) - bound)
        if before == 0 or (peek(mem, before + Header.BUSY) == 0 and before != target):
            poke(rows, found, row)
            found += 1
        row = peek(held, row * HELD_WORDS + Held.NEXT)
    return found
