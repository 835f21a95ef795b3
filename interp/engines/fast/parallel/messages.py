"""Messages between cores, compiled by numba: one ring buffer per sender and receiver, in the order of sending.
`machine` says how this is compiled. `shared` has the layout. Words that other cores read are written with
`atomic_store`."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ....image.image import CACHE_LINE_WORDS
from ...jit.memory import atomic_load, atomic_store, peek, poke
from ..registers import Address, Register
from ..shared import RING_CAPACITY, CoreLine, MessageWord, SharedLine


def core_line(core: Any) -> Any:
    """The line of a core."""
    return (1 + core) * CACHE_LINE_WORDS


def ring_offset(c: Any, sender: Any, receiver: Any) -> Any:
    """The two lines of a ring: how many messages have been read, and how many written."""
    cores = peek(c, SharedLine.CORE_COUNT)
    return (1 + cores + 2 * (sender * cores + receiver)) * CACHE_LINE_WORDS


def message_address(c: Any, sender: Any, receiver: Any, number: Any) -> Any:
    """Where the message of this number lies."""
    cores = peek(c, SharedLine.CORE_COUNT)
    ring = sender * cores + receiver
    return c + 8 * CACHE_LINE_WORDS * (1 + cores + 2 * cores * cores + ring * RING_CAPACITY + number % RING_CAPACITY)


def is_ring_full(a: Any, receiver: Any) -> Any:
    """Whether there is no room for two messages more to a core."""
    c = peek(a, Address.SHARED_WORDS)
    ring = ring_offset(c, peek(peek(a, Address.REGISTERS), Register.CORE), receiver)
    return peek(c, ring + CACHE_LINE_WORDS) - atomic_load(c, ring) > RING_CAPACITY - 2


def write_message(
    a: Any, receiver: Any, kind: Any, to: Any, one: Any, two: Any, three: Any, four: Any, five: Any
) -> None:
    """Send a message, for which there is room."""
    c, core = peek(a, Address.SHARED_WORDS), peek(peek(a, Address.REGISTERS), Register.CORE)
    ring = ring_offset(c, core, receiver)
    number = peek(c, ring + CACHE_LINE_WORDS)
    message = message_address(c, core, receiver, number)
    poke(message, MessageWord.KIND, kind)
    poke(message, MessageWord.TARGET, to)
    poke(message, MessageWord.PORT, one)
    poke(message, MessageWord.VALUE, two)
    poke(message, MessageWord.WAVE, three)
    poke(message, MessageWord.PARENT_FRAME, four)
    poke(message, MessageWord.SENDER_PROXY, five)
    atomic_store(c, ring + CACHE_LINE_WORDS, number + 1)


def is_quiescent(c: Any) -> Any:
    """Whether all cores are idle and no message is in transit. The counts of messages read are loaded first, the counts
    written after that. If they agree, no message was read or in transit in between, so every idle core still is.
    Mattern, "Algorithms for distributed termination detection" (1987), counts twice in this way, and has the proof."""
    cores, under_way = peek(c, SharedLine.CORE_COUNT), 0
    for core in range(cores):
        for sender in range(cores):
            under_way -= atomic_load(c, ring_offset(c, sender, core))
        if atomic_load(c, core_line(core) + CoreLine.IS_IDLE) == 0:
            return False
    for core in range(cores):
        for receiver in range(cores):
            under_way += atomic_load(c, ring_offset(c, core, receiver) + CACHE_LINE_WORDS)
    return under_way == 0
