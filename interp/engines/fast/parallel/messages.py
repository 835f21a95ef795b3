"""What cores send each other, in the part of Python that numba compiles: messages, in a ring for each sender and
receiver, in the order in which they were sent. `machine` says how this is compiled.
`shared` says what lies where. Whoever writes a word that others read does it with `post`.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ....image.image import LINE
from ...jit.memory import look, peek, poke, post
from ..registers import A, R
from ..shared import ALL, MESSAGE, MOST_MESSAGES, ONE


def line_of(core: Any) -> Any:
    """The line of a core."""
    return (1 + core) * LINE


def ring_of(c: Any, sender: Any, receiver: Any) -> Any:
    """The two lines of a ring: how many messages have been read, and how many written."""
    cores = peek(c, ALL.CORES)
    return (1 + cores + 2 * (sender * cores + receiver)) * LINE


def message_of(c: Any, sender: Any, receiver: Any, number: Any) -> Any:
    """Where the message of this number lies."""
    cores = peek(c, ALL.CORES)
    ring = sender * cores + receiver
    return c + 8 * LINE * (1 + cores + 2 * cores * cores + ring * MOST_MESSAGES + number % MOST_MESSAGES)


def is_full(a: Any, receiver: Any) -> Any:
    """Whether there is no room for two messages more to a core."""
    c = peek(a, A.SHARED)
    ring = ring_of(c, peek(peek(a, A.REGISTERS), R.CORE), receiver)
    return peek(c, ring + LINE) - look(c, ring) > MOST_MESSAGES - 2


def write_message(
    a: Any, receiver: Any, kind: Any, to: Any, one: Any, two: Any, three: Any, four: Any, five: Any
) -> None:
    """Send a message, for which there is room."""
    c, core = peek(a, A.SHARED), peek(peek(a, A.REGISTERS), R.CORE)
    ring = ring_of(c, core, receiver)
    number = peek(c, ring + LINE)
    message = message_of(c, core, receiver, number)
    poke(message, MESSAGE.KIND, kind)
    poke(message, MESSAGE.TO, to)
    poke(message, MESSAGE.PORT, one)
    poke(message, MESSAGE.VALUE, two)
    poke(message, MESSAGE.WAVE, three)
    poke(message, MESSAGE.FRAME, four)
    poke(message, MESSAGE.HOME, five)
    post(c, ring + LINE, number + 1)


def is_all_quiet(c: Any) -> Any:
    """Whether all cores are idle, and no message is under way: who has read how many is looked at first, and who has
    written how many after that. Where these are the same, none was read or under way in between: so whoever was idle
    is. Mattern, "Algorithms for distributed termination detection" (1987), counts twice so, and has the proof."""
    cores, under_way = peek(c, ALL.CORES), 0
    for core in range(cores):
        for sender in range(cores):
            under_way -= look(c, ring_of(c, sender, core))
        if look(c, line_of(core) + ONE.IDLE) == 0:
            return False
    for core in range(cores):
        for receiver in range(cores):
            under_way += look(c, ring_of(c, core, receiver) + LINE)
    return under_way == 0
