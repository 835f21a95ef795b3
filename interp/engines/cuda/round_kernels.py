"""The source of the kernels of a depth-first run: a round, and the four that distribute the ready frames again.

`depth_first` joins this file with the state machine `advance` of a program, and puts numbers for the names of words.
"""

# mypy: ignore-errors
from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .fork_code import EXIT_FULL, LEFT, PC
from .thread_code import EXIT_FUEL

if TYPE_CHECKING:
    from numba import cuda, int64

    FRAME_WORDS = BLOCK_COUNT = 0

    def advance(pool: Any, ready: Any, control: Any, t: int, top: int, free: int, fuel: int) -> tuple[int, ...]: ...


class RoundControl(IntEnum):
    """The words of `control`. The first count the threads that ended a round with each exit code."""

    RETURNED = 0
    """1 if the program has returned; only the thread that completes its last join writes this word."""
    FUEL = 1
    DEPTH = 2
    TRAP = 3
    FULL = 4
    IDLE = 5
    STUCK = 6
    """The number of threads whose fuel was not enough for a single block."""
    NEXT_FRAME = 7
    """The first frame that has not been used."""
    FRAME_ROOM = 8
    """The number of frames of the pool."""
    READY = 9
    """The number of ready frames, after they were sorted."""


KERNELS = ("run_round", "count_ready", "sum_keys", "sort_ready", "distribute")
DEPTH_KEYS = 256
"""The number of depths that are told apart when ready frames are sorted."""

# Compiled from here on.


def take_frame(pool: Any, control: Any, free: Any) -> Any:
    """A free frame of this thread, or one that has not been used, or -1; and the next free one."""
    if free >= 0:
        return free, pool[free * FRAME_WORDS]
    frame = cuda.atomic.add(control, RoundControl.NEXT_FRAME, 1)
    if frame >= control[RoundControl.FRAME_ROOM]:
        return int64(-1), free
    return frame, free


def free_frame(pool: Any, frame: Any, free: Any) -> Any:
    """Add a frame to the free ones of this thread."""
    pool[frame * FRAME_WORDS] = free
    return frame


def run_round(pool: Any, ready: Any, tops: Any, frees: Any, control: Any, fuel: Any):
    """Advance the ready frames of each thread, the last first, until its fuel is used up or it has none left."""
    t = cuda.grid(1)
    if t >= tops.shape[0]:
        return
    code, frame, pc, top, free, rest, blocks = advance(pool, ready, control, t, tops[t], frees[t], fuel)
    if frame >= 0 and code in (EXIT_FUEL, EXIT_FULL):
        pool[frame * FRAME_WORDS + PC] = pc
        ready[top, t] = frame
        top += 1
    tops[t], frees[t] = top, free
    cuda.atomic.add(control, code, 1)
    if code == EXIT_FUEL and blocks == 1 and rest < 0:
        cuda.atomic.add(control, RoundControl.STUCK, 1)


def sort_key(pool: Any, frame: Any, depth: Any) -> Any:
    """The key of a ready frame: its depth, then its block, so that the threads of a warp run the same code."""
    level = min(depth - pool[frame * FRAME_WORDS + LEFT], DEPTH_KEYS - 1)
    return level * BLOCK_COUNT + pool[frame * FRAME_WORDS + PC]


def count_ready(pool: Any, ready: Any, tops: Any, keys: Any, depth: Any):
    t = cuda.grid(1)
    if t < tops.shape[0]:
        for row in range(tops[t]):
            cuda.atomic.add(keys, sort_key(pool, ready[row, t], depth), 1)


def sum_keys(keys: Any, control: Any):
    """Replace the number of frames of each key by the place of the first of them."""
    if cuda.grid(1) > 0:
        return
    total = 0
    for key in range(keys.shape[0]):
        count = keys[key]
        keys[key] = total
        total += count
    control[RoundControl.READY] = total


def sort_ready(pool: Any, ready: Any, tops: Any, keys: Any, order: Any, depth: Any):
    t = cuda.grid(1)
    if t < tops.shape[0]:
        for row in range(tops[t]):
            order[cuda.atomic.add(keys, sort_key(pool, ready[row, t], depth), 1)] = ready[row, t]


def distribute(ready: Any, tops: Any, order: Any, control: Any):
    """Give each thread its share of the sorted frames, the shallow ones first, which it runs last."""
    t = cuda.grid(1)
    if t < tops.shape[0]:
        row = 0
        for place in range(t, control[RoundControl.READY], tops.shape[0]):
            ready[row, t] = order[place]
            row += 1
        tops[t] = row
