"""What writes the lines of a log knows, by number: the columns of the tables that `scribe` fills and `lines` reads."""

from __future__ import annotations

from enum import IntEnum

LENGTH_BITS = 24
"""A text in the pool is where it begins and, in so many low bits, how long it is."""


class Ink(IntEnum):
    """The addresses, and numbers beside them."""

    WORDS = 0
    """The page of the journal."""
    PAPER = 1
    """Where the lines go."""
    POOL = 2
    TAGS = 3
    """Rows of frames, by line of memory."""
    NEXT = 4
    """The number of the next tag."""
    PORTS = 5
    NODES = 6
    PARTS = 7
    EDGES = 8
    SCOPES = 9
    """Where the rows of the members of each scope begin, and end."""
    MEMBERS = 10
    SITE_SCOPES = 11
    """The scope of each site."""
    FLOATS = 12
    """The words of the floats of the page, in order."""
    FLOAT_TEXTS = 13
    FLOAT_COUNT = 14
    SAID = 15
    """The texts of what was said of the firings that were done outside, in order; how many were read."""
    SAID_READ = 16
    PIECES = 17
    """The texts that are the same in every log, by `Piece`."""


class Tagged(IntEnum):
    """A frame: the number of its tag, that of the one around it, and its iteration."""

    NUMBER = 0
    PARENT = 1
    ITERATION = 2
    UNUSED = 3


class Shape(IntEnum):
    """How a value is written."""

    SIGNED = 0
    UNSIGNED = 1
    BOOL = 2
    FLOAT = 3


class Port(IntEnum):
    """A port: how the token for it begins, and how its values do."""

    NODE = 0
    TOKEN = 1
    SHAPE = 2
    VALUE = 3


class LogNode(IntEnum):
    """A node."""

    KIND = 0
    SITE = 1
    RESULT = 2
    """How the token for the environment begins, or 0."""
    PARTS = 3
    """Where its operands begin, and end."""
    PARTS_END = 4
    SHAPE = 5
    VALUE = 6
    SHAPE_SECOND = 7
    VALUE_SECOND = 8
    NEEDS = 9


class Does(IntEnum):
    """What kind of node it is."""

    PLAIN = 0
    MERGE = 1
    SWITCH = 2
    NEXT = 3
    BACK = 4


class Part(IntEnum):
    """An operand: the text of a literal, or 0; its word; and the port, where it is a token."""

    TEXT = 0
    WORD = 1
    PORT = 2
    UNUSED = 3


class Member(IntEnum):
    """A node of a scope: the word of the bits that has the one that says that it has fired, and which that is."""

    NODE = 0
    STATE = 1
    FIRED = 2
    UNUSED = 3


class Piece(IntEnum):
    """Texts that are the same in every log."""

    TAG = 0
    ABOVE = 1
    SITE = 2
    ITERATION = 3
    END = 4
    DELIVER = 5
    POSITION = 6
    INPUTS = 7
    OUTPUTS = 8
    FIRST = 9
    SECOND = 10
    SENT = 11
    CLOSED = 12
    HELD = 13
    RELEASED = 14
    TRUE = 15
    FALSE = 16


PIECES = (
    '{"tag":', ',"parent":', ',"site":', ',"iteration":', "}\n", '{"deliver":', ',"position":', ',"inputs":[',
    '],"outputs":[', "[0,", "[1,", ',"sent":[', ',"closed":[', ',"held":true', ',"released":[', "true}", "false}",
)  # fmt: skip
"""What they are."""
