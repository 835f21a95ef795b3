"""The layout of the memory that cores share, in cache lines: one global line, one line per core, two lines per message
ring, and the messages."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ...image.image import CACHE_LINE_WORDS, WordArray
from .store import aligned_words

RING_CAPACITY = 1024
"""The capacity of a ring, in messages."""


class SharedLine(IntEnum):
    """The words of the global line."""

    CORE_COUNT = 0
    STOP_FLAG = 1
    """1 if all cores must stop."""
    BURST_TOKENS = 2
    """The number of tokens that a core delivers between two checks of the requests of others."""
    MAX_FIRE_REQUESTS = 3
    """The most firings that a core requests of others before it waits for their outputs."""


class CoreLine(IntEnum):
    """The words of the line of a core."""

    IS_IDLE = 0
    REQUESTED_PROXY = 1
    """If the core requests an activation, the proxy that it reserved for the parent of that activation; else 0."""


class MessageWord(IntEnum):
    """The words of a message."""

    KIND = 0
    TARGET = 1
    """The receiving frame; for OPEN and ARGUMENT, the receiver's proxy for the parent activation, or 0 if the sender
    does not know it, since it has placed the activation there without a request."""
    PORT = 2
    VALUE = 3
    WAVE = 4
    SITE = 2
    """For OPEN, the site of the activation; the following words describe its parent."""
    PARENT_SITE = 3
    PARENT_DEPTH = 4
    PARENT_FRAME = 5
    SENDER_PROXY = 6
    SECOND = 5
    """For FIRE, the other operands; and the value that arrived last, which may be a trigger."""
    THIRD = 6
    LAST = 7


class MessageKind(IntEnum):
    """The kinds of messages."""

    OPEN = 0
    """Open an activation."""
    ARGUMENT = 1
    """An argument: a token for an activation that OPEN has opened."""
    TOKEN = 2
    """A token for an activation that has a frame on the receiving core."""
    CLOSE = 3
    """The activation of this proxy has closed."""
    FIRE = 4
    """Fire a node that is placed on the receiving core. The operands come from the frame on the sending core."""
    FIRED = 5
    """The output of a FIRE."""
    TRAPPED = 6
    """A FIRE traps. The core with the frame completes the firing."""


def new_shared_words(cores: int, burst: int) -> WordArray:
    """New shared words for `cores` cores with bursts of `burst` tokens: all cores but the first are idle."""
    words = aligned_words(CACHE_LINE_WORDS * (1 + cores + cores * cores * (2 + RING_CAPACITY)))
    words[[SharedLine.CORE_COUNT, SharedLine.BURST_TOKENS]] = cores, burst
    words[2 * CACHE_LINE_WORDS + CoreLine.IS_IDLE : (1 + cores) * CACHE_LINE_WORDS : CACHE_LINE_WORDS] = 1
    return words


def read_ring(words: WordArray, sender: int, receiver: int) -> WordArray:
    """Read all messages of a ring in place of its receiver, as rows. The receiver may not run during the call."""
    counts, messages = _ring(words, sender, receiver)
    rows: WordArray = messages[np.arange(counts[0], counts[1]) % RING_CAPACITY]
    counts[0] = counts[1]
    return rows


def ring_length(words: WordArray, sender: int, receiver: int) -> int:
    """The number of messages in a ring that were not read."""
    read_count, written_count = _ring(words, sender, receiver)[0].tolist()
    return int(written_count - read_count)


def fill_ring(words: WordArray, sender: int, receiver: int, *, rows: WordArray) -> int:
    """Write messages to a ring in place of its sender, as many of these rows as it has room for; returns their number.
    The sender may not run during the call."""
    counts, messages = _ring(words, sender, receiver)
    count = min(len(rows), RING_CAPACITY - int(counts[1] - counts[0]))
    messages[np.arange(counts[1], counts[1] + count) % RING_CAPACITY] = rows[:count]
    counts[1] += count
    return count


def _ring(words: WordArray, sender: int, receiver: int) -> tuple[WordArray, WordArray]:
    """Views of a ring: the numbers of messages read and written, and its messages."""
    cores = int(words[SharedLine.CORE_COUNT])
    lines, ring = words.reshape(-1, CACHE_LINE_WORDS)[1 + cores :], sender * cores + receiver
    first = 2 * cores**2 + ring * RING_CAPACITY
    return lines[2 * ring : 2 * ring + 2, 0], lines[first : first + RING_CAPACITY]


def unread_messages(words: WordArray) -> WordArray:
    """The messages in transit, an array of shape (messages, CACHE_LINE_WORDS). No core may run during the call."""
    cores = int(words[SharedLine.CORE_COUNT])
    lines = words.reshape(-1, CACHE_LINE_WORDS)[1 + cores :]
    counts, messages = lines[: 2 * cores**2, 0].reshape(-1, 2), lines[2 * cores**2 :]
    rows = [
        ring * RING_CAPACITY + number % RING_CAPACITY
        for ring, (read_count, written_count) in enumerate(counts.tolist())
        for number in range(read_count, written_count)
    ]
    return messages[rows]
