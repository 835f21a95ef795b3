"""The image of a graph: its flat form, as arrays of numbers, that token engines run.

An activation has a frame of words: a header, words of bits (which operands of a node have arrived, and whether it has
fired), a place for each operand that may have to wait, and a place for each child activation that several tokens enter.
So matching is an index, not a search. The nodes that fire under a tag are static: those of a function outside its
loops, or those of one loop. They form a scope, and all frames of a scope have the same layout.

A value is one word of 64 bits: a bool or an integer as itself, a float by its bits, float32 as the equal float64.
Arrays and handles of cells are objects, and their word is the number of the object.

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
"""The version of this form: an image written in one version cannot be read in another."""

WordArray = npt.NDArray[np.int64]

PORT_BITS = 24
"""A token in flight is one word, a frame and a port; the port takes this number of low bits."""
CACHE_LINE_WORDS = 8
"""The words in a cache line of the processor; frames are multiples of it."""
SCRATCH_WORD = 1
"""The word of memory of the operand that arrived last; word 0 is unused, and literals follow."""
MAX_WAITING_OPERANDS = 60
"""The limit on waiting operands of a node: their bits share a word with the bit of the firing."""


class FrameHeader(IntEnum):
    """The header of a frame. The last words exist only if the graph draws random numbers, or has k-bounds."""

    PARENT = 0
    """The parent frame, and in the low bits the number of its site. After closing, the next free frame."""
    ITERATION = 1
    """The iteration, and in the low bits the depth; negative once it has closed."""
    PENDING = 2
    """The low bits count what is pending: tokens in the activation, open child activations, arguments to come and
    results to go; at 0 it closes (S11). The high bits count the arguments that have arrived and the results that have
    left, and say whether its tag exists as a Python object."""
    KEY = 3
    """The key of its tag (T4)."""
    BUSY = 4
    """The tokens in it that are not throttled, the child activations that have such tokens, and the tokens throttled
    for those (S16)."""
    THROTTLED = 5
    """The row of a token that is throttled for it, or 0."""
    PREVIOUS = 6
    """Links to the neighbouring open iterations of the same loop."""
    NEXT = 7


LOW_BITS = 24
"""The number of low bits for the site in PARENT, and for the depth in ITERATION."""
MAX_DEPTH = 2**LOW_BITS - 2
"""The deepest tag, whatever the limit."""
ARGUMENT_UNIT = 1 << 32
"""What an arriving argument adds to PENDING."""
RESULT_UNIT = 1 << 47
TAG_BUILT = 1 << 62
MAX_PASSED_VALUES = 2**15 - 1
"""The limit on the arguments of an activation, and on its results."""


class NodeColumn(IntEnum):
    """The columns of a node."""

    CODE = 0
    REQUIRED_TOKENS = 1
    OPERAND_MASK = 2
    """The bits of its operands, all set; 0 where it needs one token only."""
    FIRED_BIT = 3
    """The bit that is set once it has fired."""
    MASK_WORD = 4
    """The word of the frame with these bits."""
    EDGES_BEGIN = 5
    """Where the edges of output 0 begin; those of output 1 begin at SECOND_EDGES_BEGIN, and end at EDGES_END."""
    SECOND_EDGES_BEGIN = 6
    EDGES_END = 7
    ROUTE = 8
    """Where output 0's edges by site begin in `routes`, or -1; of output 1, ROUTE_SECOND (S10)."""
    ROUTE_SECOND = 9
    SITE = 10
    CHILD_WORD = 11
    """The word of the frame that holds the activation it sends to, or 0 if no other node sends there."""
    CAST = 12
    BOXED_FLAGS = 13
    """The sum of 1 if output 0 is an object, 2 if its trigger is, and 4 if the operand at port 0 is a literal."""
    BOUND = 14
    IS_SPECIAL = 15
    """Whether any of ROUTE, ROUTE_SECOND, CAST and BOXED_FLAGS is set."""


class PortColumn(IntEnum):
    """The columns of a port."""

    NODE = 0
    BIT = 1
    OPERAND_WORD = 2
    """The word of the frame where an operand waits."""
    OPERAND_0 = 3
    """Where operands 0, 1 and 2 lie if the token of this port arrives last: a word of the frame, or, complemented, of
    memory."""
    OPERAND_1 = 4
    OPERAND_2 = 5
    LINK_WORD = 6
    """In a loop with a reverse pass: for a next_iteration or exit, the word of the target frame that stores the
    sender's frame; for a reenter or back, the word of its own frame that stores it. Else 0."""
    UNUSED = 7
    """Pads rows to 8 words, a cache line."""


class SiteColumn(IntEnum):
    """The columns of a site."""

    SCOPE = 0
    ARGUMENTS = 1
    """The number of arguments or loop variables that come in."""
    RESULTS = 2
    KEY = 3
    """Its contribution to the key of a tag."""
    BOUND = 4
    """The k-bound of the loop; 0 if it has none."""


class ScopeColumn(IntEnum):
    """The columns of a scope."""

    SIZE = 0
    """The number of words of a frame."""
    CLEAR_END = 1
    """The end of the words behind the header that are 0 in a new frame: bits, and places for child activations."""


@dataclass(frozen=True, eq=False)
class Image:
    """A graph as arrays; `sites` and `scopes` give the numbers their meaning."""

    graph: Graph
    nodes: WordArray
    ports: WordArray
    edges: WordArray
    routes: WordArray
    sites: WordArray
    scopes: WordArray
    literals: WordArray
    """The initial words of memory."""
    objects: tuple[Value, ...]
    """The literals that are objects, by number."""
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
        """The most tokens that a firing sends; of routed edges, those for one site."""
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
        """For loops with a reverse pass: the words that link the last iteration, and the previous one."""
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
    """Whether values of this type are objects: all except scalars."""
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
