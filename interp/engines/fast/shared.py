"""The layout of the words that cores share, in cache lines: one global line, one per core, two per ring of messages,
and the messages."""

from __future__ import annotations

from enum import IntEnum

from ...image.image import CACHE_LINE_WORDS, WordArray
from .store import aligned_words

RING_CAPACITY = 256
"""The capacity of a ring, in messages."""


class SharedLine(IntEnum):
    """The first line."""

    CORE_COUNT = 0
    STOP_FLAG = 1
    """Whether all are to leave."""
    BURST_TOKENS = 2
    """How many tokens are delivered between two looks at what others want."""


class CoreLine(IntEnum):
    """The line of a core."""

    IS_IDLE = 0
    REQUESTED_PROXY = 1
    """Whether it asks for an activation: the frame of a proxy, for what is around it."""


class MessageWord(IntEnum):
    """The words of a message."""

    KIND = 0
    TARGET = 1
    """The frame that it is about; of OPEN and ARGUMENT, the proxy of what is around it."""
    PORT = 2
    VALUE = 3
    WAVE = 4
    SITE = 2
    """Of OPEN, that of the activation; the others are of the one around it."""
    PARENT_SITE = 3
    PARENT_DEPTH = 4
    PARENT_FRAME = 5
    SENDER_PROXY = 6


class MessageKind(IntEnum):
    """The kinds of messages."""

    OPEN = 0
    """Open an activation."""
    ARGUMENT = 1
    """A token for one that was opened so, and an argument of it."""
    TOKEN = 2
    """A token for the activation of a frame."""
    CLOSE = 3
    """The activation has closed that this proxy stands for."""


def new_shared_words(cores: int, burst: int) -> WordArray:
    """The words for so many cores, as they begin: all but the first are idle."""
    words = aligned_words(CACHE_LINE_WORDS * (1 + cores + cores * cores * (2 + RING_CAPACITY)))
    words[[SharedLine.CORE_COUNT, SharedLine.BURST_TOKENS]] = cores, burst
    words[2 * CACHE_LINE_WORDS + CoreLine.IS_IDLE : (1 + cores) * CACHE_LINE_WORDS : CACHE_LINE_WORDS] = 1
    return words


def unread_messages(words: WordArray) -> WordArray:
    """The messages that are under way, a row each, of shape (messages, CACHE_LINE_WORDS); nobody reads or writes
    meanwhile."""
    cores = int(words[SharedLine.CORE_COUNT])
    lines = words.reshape(-1, CACHE_LINE_WORDS)[1 + cores :]
    counts, messages = lines[: 2 * cores**2, 0].reshape(-1, 2), lines[2 * cores**2 :]
    found = [
        ring * RING_CAPACITY + number % RING_CAPACITY
        for ring, (read, written) in enumerate(counts.tolist())
        for number in range(read, written)
    ]
    return messages[found]
