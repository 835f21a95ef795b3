"""The image of a graph: one flat form, as arrays of numbers, that every token engine runs.

An activation has a frame of words: a header, words of bits (which operands of a node are there, and whether it has
fired), a place for each operand that may have to wait, and a place for each activation below that several tokens enter.
So matching is an index and no search. Which nodes fire under a tag is static: those of a function, but for those of its
loops, or those of one loop; that is a scope, and all frames of a scope look alike.

A value is one word of 64 bits: a bool or an integer as itself, a float by its bits, float32 as the float64 it equals.
What does not fit into a word, arrays and handles of cells, is an object, and its word the number of it.

The columns of the arrays are the names in NodeColumn, PortColumn, SiteColumn, ScopeColumn and FrameHeader;
`show --form image` writes them out.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...core import dtypes
from ...core.dtypes import DType
from ...core.graph.graph import Graph
from ...core.tag import Site
from ...core.types import Type
from ...core.value import Value

IMAGE_VERSION = 1
"""Of this form: what is written in one version is read in no other."""

WordArray = npt.NDArray[np.int64]

PORT_BITS = 24
"""A token in flight is a frame and a port in one word; the lower bits are the port."""
CACHE_LINE_WORDS = 8
"""The words of a line of the processor's cache: frames are multiples of it."""
SCRATCH_WORD = 1
"""The word of memory where the operand lies that came last; word 0 is nothing's, and literals follow."""
MAX_WAITING_OPERANDS = 60
"""How many operands of a node may wait: their bits share a word with that of the firing."""


class FrameHeader(IntEnum):
    """What a frame begins with. The last ones are there only where the graph draws random numbers, or has bounds."""

    PARENT = 0
    """The frame around it, and in the low bits the number of its site. Once it has closed, another that has."""
    ITERATION = 1
    """The iteration, and in the low bits the depth; below 0 once it has closed."""
    PENDING = 2
    """In the low bits what is pending: tokens in it, open activations below, arguments to come and results to go; at 0
    it closes (S11). Above them the arguments that have come, the results that have gone, and whether its tag has been
    made as a Python object."""
    KEY = 3
    """The key of its tag (T4)."""
    BUSY = 4
    """The tokens in it that are not held, the activations below that have any, and the tokens held for those (S16)."""
    THROTTLED = 5
    """The row of a token that is held for it, or 0."""
    PREVIOUS = 6
    """The open iterations of the same loop next to it."""
    NEXT = 7


LOW_BITS = 24
"""How many low bits of PARENT are the site, and of ITERATION the depth."""
MAX_DEPTH = 2**LOW_BITS - 2
"""The deepest tag, whatever the limit."""
ARGUMENT_UNIT = 1 << 32
"""What an argument that comes adds to COUNTS."""
RESULT_UNIT = 1 << 47
TAG_BUILT = 1 << 62
MAX_PASSED_VALUES = 2**15 - 1
"""How many arguments an activation may have, and how many results."""


class NodeColumn(IntEnum):
    """The columns of a node."""

    CODE = 0
    REQUIRED_TOKENS = 1
    OPERAND_MASK = 2
    """The bits of its operands, all set; 0 where it needs one token only."""
    FIRED_BIT = 3
    """The bit that says that it has fired."""
    MASK_WORD = 4
    """The word of the frame that has these bits."""
    EDGES_BEGIN = 5
    """The edges of output 0 begin here, of output 1 at SECOND_EDGES_BEGIN, and end at EDGES_END."""
    SECOND_EDGES_BEGIN = 6
    EDGES_END = 7
    ROUTE = 8
    """Where output 0's edges by site begin in `routes`, or -1; of output 1, ROUTE_SECOND (S10)."""
    ROUTE_SECOND = 9
    SITE = 10
    CHILD_WORD = 11
    """The word of the frame that knows the activation which it sends to, or 0 where nothing else sends there."""
    CAST = 12
    BOXED_FLAGS = 13
    """1 where output 0 is an object; 2 more where its trigger is; 4 more where the operand at port 0 is a literal."""
    BOUND = 14
    IS_SPECIAL = 15
    """Whether any of ROUTE, ROUTE_SECOND, CAST and BOXED_FLAGS says something."""


class PortColumn(IntEnum):
    """The columns of a port."""

    NODE = 0
    BIT = 1
    OPERAND_WORD = 2
    """The word of the frame where an operand waits."""
    OPERAND_0 = 3
    """Where the operands 0, 1 and 2 lie, when this port gets its token last: a word of the frame, or, complemented, of
    memory."""
    OPERAND_1 = 4
    OPERAND_2 = 5
    LINK_WORD = 6
    """Of a loop that goes back: the word of the frame that a next_iteration or exit sends to, which is told whose it
    is; of a reenter or back, the word of its own frame that was told. Else 0."""
    UNUSED = 7
    """Rows are of 8 words, a line of the processor's cache."""


class SiteColumn(IntEnum):
    """The columns of a site."""

    SCOPE = 0
    ARGUMENTS = 1
    """How many arguments or loop variables come in."""
    RESULTS = 2
    KEY = 3
    """What it adds to the key of a tag."""
    BOUND = 4
    """How many iterations of the loop run at once; 0 where it has no bound."""


class ScopeColumn(IntEnum):
    """The columns of a scope."""

    SIZE = 0
    """The words of a frame."""
    CLEAR_END = 1
    """The words from the header on that a new frame must have at 0: bits, and places for activations."""


@dataclass(frozen=True, eq=False)
class Image:
    """A graph as arrays; `sites` and `scopes` say what their numbers mean."""

    graph: Graph
    nodes: WordArray
    ports: WordArray
    edges: WordArray
    routes: WordArray
    sites: WordArray
    scopes: WordArray
    literals: WordArray
    """What memory begins with."""
    objects: tuple[Value, ...]
    """The literals that are objects, by their numbers."""
    site_list: tuple[Site, ...]
    scope_list: tuple[str | Site, ...]
    port_types: tuple[Type, ...]
    arguments: tuple[tuple[int, ...], ...]
    """The ports that each argument feeds."""
    header_words: int
    has_tag_keys: bool
    has_loop_bounds: bool
    first_port: tuple[int, ...] = field(repr=False)
    """The number of the first port of each node."""
    scope_members: tuple[WordArray, ...] = field(repr=False)
    """The nodes of each scope."""

    @cached_property
    def max_fanout(self) -> int:
        """The most tokens that a firing sends: where the site says where to, those for one site."""
        sent = np.diff(
            self.nodes[:, [NodeColumn.EDGES_BEGIN, NodeColumn.SECOND_EDGES_BEGIN, NodeColumn.EDGES_END]], axis=1
        )
        lengths, count = np.diff(self.routes, axis=1)[:, 0], len(self.sites)
        for output, column in enumerate((NodeColumn.ROUTE, NodeColumn.ROUTE_SECOND)):
            for number in np.flatnonzero(self.nodes[:, column] >= 0):
                first = self.nodes[number, column]
                sent[number, output] = lengths[first : first + count].max()
        return int(sent.sum(axis=1).max(initial=1))

    @cached_property
    def loop_links(self) -> dict[Site, tuple[int, int]]:
        """Of loops that go back: the words that know the last iteration, and the one before."""
        found: dict[Site, list[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op in ("reenter", "back") and node.site is not None:
                place = 0 if node.op == "reenter" else 1
                found.setdefault(node.site, [0, 0])[place] = int(
                    self.ports[self.first_port[number], PortColumn.LINK_WORD]
                )
        return {site: (last, before) for site, (last, before) in found.items()}

    @cached_property
    def largest_frame(self) -> int:
        """The words of the largest frame."""
        return int(self.scopes[:, ScopeColumn.SIZE].max())


def is_boxed(type_: Type) -> bool:
    """Whether values of this type are objects: all but scalars."""
    return not type_.is_scalar or type_.dtype.kind == "h"


def encode_word(value: Value, dtype: DType) -> int:
    """The word of a scalar.

    >>> encode_word(True, dtypes.bool), encode_word(-1, dtypes.int64), hex(encode_word(1.0, dtypes.float64))
    (1, -1, '0x3ff0000000000000')
    """
    if dtype.kind == "f":
        number: int = struct.unpack("<q", struct.pack("<d", float(value)))[0]  # type: ignore[arg-type]
        return number
    number = int(value)  # type: ignore[arg-type]
    return to_signed(number)


def decode_word(word: int, dtype: DType) -> Value:
    """The scalar of a word."""
    if dtype.kind == "b":
        return bool(word)
    if dtype.kind == "f":
        number = struct.unpack("<d", struct.pack("<q", word))[0]
        return number if dtype is dtypes.float64 else np.float32(number)
    if dtype is dtypes.int64:
        return word
    made: Value = dtype.numpy.type(word % 2**64 if dtype is dtypes.uint64 else word)
    return made


def to_signed(word: int) -> int:
    """A word as the number that an array holds."""
    return word - 2**64 if word >= 2**63 else word
