"""The words that several cores share, in lines of the processor's cache: one with what is for all, one for each core,
two for each ring of letters, and the letters."""

from __future__ import annotations

from enum import IntEnum

from ..image import LINE, Words
from .store import aligned

MOST_LETTERS = 256
"""How many letters fit into a ring."""


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
    """Whether it asks for an activation: the frame of a stub, for what is around it."""


class LETTER(IntEnum):
    """The words of a letter."""

    KIND = 0
    TO = 1
    """The frame that it is about; of OPEN and ARGUMENT, the stub of what is around it."""
    PORT = 2
    VALUE = 3
    WAVE = 4
    SITE = 2
    """Of OPEN, that of the activation; the others are of the one around it."""
    AROUND = 3
    DEPTH = 4
    FRAME = 5
    HOME = 6


class Letters(IntEnum):
    """The kinds of letters."""

    OPEN = 0
    """Open an activation."""
    ARGUMENT = 1
    """A token for one that was opened so, and an argument of it."""
    TOKEN = 2
    """A token for the activation of a frame."""
    CLOSED = 3
    """The activation has closed that this stub stands for."""


def shared(cores: int, burst: int) -> Words:
    """The words for so many cores, as they begin: all but the first are idle."""
    words = aligned(LINE * (1 + cores + cores * cores * (2 + MOST_LETTERS)))
    words[[ALL.CORES, ALL.BURST]] = cores, burst
    words[2 * LINE + ONE.IDLE : (1 + cores) * LINE : LINE] = 1
    return words


def unread(words: Words) -> Words:
    """The letters that are under way, a row each, of shape (letters, LINE); nobody reads or writes meanwhile."""
    cores = int(words[ALL.CORES])
    lines = words.reshape(-1, LINE)[1 + cores :]
    counts, letters = lines[: 2 * cores**2, 0].reshape(-1, 2), lines[2 * cores**2 :]
    found = [
        ring * MOST_LETTERS + number % MOST_LETTERS
        for ring, (read, written) in enumerate(counts.tolist())
        for number in range(read, written)
    ]
    return letters[found]
