"""The words that several cores share, in lines of the processor's cache: one with what is for all, one for each core,
two for each ring of messages, and the messages."""

from __future__ import annotations

from enum import IntEnum

from ...image.image import LINE, Words
from .arrays import aligned

MOST_MESSAGES = 256
"""How many messages fit into a ring."""


class ALL(IntEnum):
    """The first line."""

    CORES = 0
    STOP = 1
    """Whether all are to leave."""
    BURST = 2
    """How many tokens are delivered between two looks at what others want."""


class ONE(IntEnum):
    """The line of a core."""

    IDLE = 0
    WANT = 1
    """Whether it asks for an activation: the frame of a proxy, for what is around it."""


class MESSAGE(IntEnum):
    """The words of a message."""

    KIND = 0
    TO = 1
    """The frame that it is about; of OPEN and ARGUMENT, the proxy of what is around it."""
    PORT = 2
    VALUE = 3
    WAVE = 4
    SITE = 2
    """Of OPEN, that of the activation; the others are of the one around it."""
    AROUND = 3
    DEPTH = 4
    FRAME = 5
    HOME = 6


class Messages(IntEnum):
    """The kinds of messages."""

    OPEN = 0
    """Open an activation."""
    ARGUMENT = 1
    """A token for one that was opened so, and an argument of it."""
    TOKEN = 2
    """A token for the activation of a frame."""
    CLOSED = 3
    """The activation has closed that this proxy stands for."""


def shared(cores: int, burst: int) -> Words:
    """The words for so many cores, as they begin: all but the first are idle."""
    words = aligned(LINE * (1 + cores + cores * cores * (2 + MOST_MESSAGES)))
    words[[ALL.CORES, ALL.BURST]] = cores, burst
    words[2 * LINE + ONE.IDLE : (1 + cores) * LINE : LINE] = 1
    return words


def unread(words: Words) -> Words:
    """The messages that are under way, a row each, of shape (messages, LINE); nobody reads or writes meanwhile."""
    cores = int(words[ALL.CORES])
    lines = words.reshape(-1, LINE)[1 + cores :]
    counts, messages = lines[: 2 * cores**2, 0].reshape(-1, 2), lines[2 * cores**2 :]
    found = [
        ring * MOST_MESSAGES + number % MOST_MESSAGES
        for ring, (read, written) in enumerate(counts.tolist())
        for number in range(read, written)
    ]
    return messages[found]
