"""The image of a graph: flat arrays of numbers, which token engines run.

An activation has a frame of words: a header, words of bits (which operands of a node have arrived, and whether it has
fired), a word for each child activation that several tokens enter, and a word for each operand that may wait. So
operands are matched by indexing, without a search. The nodes of a function outside its loops form a scope, and so do
the nodes of a loop. All activations of a scope run the same nodes, so their frames have the same layout.

A value is one word of 64 bits: a bool or an integer as itself, a float by its bits, a narrower one as the equal
float64. An array or a handle of cells is an object (boxed), and its word is the number of the object.

NodeColumn, PortColumn, SiteColumn, ScopeColumn and FrameHeader name the columns of the arrays; `show --form image`
prints them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from threading import Lock

import numpy as np
import numpy.typing as npt

from ...core import dtypes
from ...core.dtypes import DType
from ...core.errors import Usage
from ...core.graph.contexts import ControlContexts
from ...core.graph.graph import Graph, GraphNode, NodeOutput, OutputRef
from ...core.ops.effects import EFFECT_OPS
from ...core.ops.op import OPS
from ...core.program.program import PARALLEL_ITERATIONS
from ...core.tag import ENVIRONMENT, Site, site_key
from ...core.types import Type
from ...core.value import Value
from ..lru_cache import LRUCache
from .opcodes import Opcode, cast_code, opcode_of

IMAGE_VERSION = 1
"""The version of the layout of the arrays. Images exist in memory only; the version is printed with them."""

WordArray = npt.NDArray[np.int64]

PORT_BITS = 24
"""The low bits of a token in flight that are its port: such a token is one word, a frame and a port."""
PORT_MASK = (1 << PORT_BITS) - 1
CACHE_LINE_WORDS = 8
"""The words in a cache line of the processor; frames are multiples of it."""
SCRATCH_WORD = 1
"""The word of memory for the operand that arrived last; word 0 is unused, and the words of literals follow."""
MAX_WAITING_OPERANDS = 60
"""The limit on the waiting operands of a node: their bits share a word with the bit for its firing."""


class FrameHeader(IntEnum):
    """The header of a frame. The last words exist only if the graph draws random numbers, or has k-bounds."""

    PARENT = 0
    """The parent frame, and in the low bits the number of the site. After the activation has closed: the next free
    frame."""
    ITERATION = 1
    """The iteration, and in the low bits the depth; negative after the activation has closed."""
    PENDING = 2
    """The low bits count tokens in the activation, open child activations, arguments that have not arrived and results
    that have not left; at 0 it closes (S11). The high bits count the arguments that have arrived and the results that
    have left, and say whether its tag exists as a Python object."""
    KEY = 3
    """The key of its tag (T4)."""
    BUSY = 4
    """The count of tokens in it that are not throttled, child activations that have such tokens, and tokens throttled
    for those (S16)."""
    THROTTLED = 5
    """The first row in the linked list of tokens that are throttled for this activation, or 0."""
    PREVIOUS = 6
    """Like NEXT, the frame of a neighbouring open iteration of the same loop."""
    NEXT = 7


LOW_BITS = 24
"""The number of low bits for the site in PARENT, and for the depth in ITERATION."""
LOW_MASK = (1 << LOW_BITS) - 1
MAX_DEPTH = 2**LOW_BITS - 2
"""The deepest tag, whatever the limit."""
ARGUMENT_UNIT = 1 << 32
"""What an arriving argument adds to PENDING."""
PENDING_MASK = ARGUMENT_UNIT - 1
"""The low bits of PENDING; at 0 the activation closes."""
RESULT_UNIT = 1 << 47
"""What a leaving result adds to PENDING."""
TAG_BUILT = 1 << 62
"""The bit of PENDING that says that the tag exists as a Python object."""
MAX_PASSED_VALUES = 2**15 - 1
"""The limit on the arguments of an activation, and on its results."""


class NodeColumn(IntEnum):
    """The columns of a node."""

    CODE = 0
    """Its opcode."""
    REQUIRED_TOKENS = 1
    """The number of tokens that it fires on."""
    OPERAND_MASK = 2
    """The bits of all its operands; 0 if it needs one token only."""
    FIRED_BIT = 3
    """The bit that is set when it fires."""
    MASK_WORD = 4
    """The word of the frame with these bits."""
    EDGES_BEGIN = 5
    """The position where the edges of output 0 begin; the edges of output 1 begin at SECOND_EDGES_BEGIN and end at
    EDGES_END."""
    SECOND_EDGES_BEGIN = 6
    EDGES_END = 7
    ROUTE = 8
    """The position in `routes` where the edges by site (S10) of output 0 begin, or -1; ROUTE_SECOND is the same for
    output 1."""
    ROUTE_SECOND = 9
    SITE = 10
    """The number of its site, or -1; for a node that makes a result, the position of the result."""
    CHILD_WORD = 11
    """The word of the frame for the child activation that it sends to; 0 if no other node sends there."""
    CAST = 12
    """The number of the cast of its result; 0 for none."""
    BOXED_FLAGS = 13
    """Flags: 1 if output 0 is an object, 2 if the trigger is, 4 if the operand at port 0 is a literal; 8, 16 and 32 if
    operand 0, 1 and 2 of a node that leaves the loop are objects."""
    BOUND = 14
    """The k-bound of its loop, for a next_iteration; 0 for none."""
    IS_SPECIAL = 15
    """Whether any of ROUTE, ROUTE_SECOND, CAST and BOXED_FLAGS is set."""


class PortColumn(IntEnum):
    """The columns of a port."""

    NODE = 0
    """The number of its node."""
    BIT = 1
    """The bit that is set while its operand waits; 0 if it never waits."""
    OPERAND_WORD = 2
    """The word of the frame where an operand waits."""
    OPERAND_0 = 3
    """The locations of operands 0, 1 and 2 if the token of this port arrives last: a word of the frame, or,
    complemented, of memory."""
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
    """The scope that runs in its activations."""
    ARGUMENTS = 1
    """The number of arguments or loop variables that enter."""
    RESULTS = 2
    """The number of results that leave."""
    KEY = 3
    """Its contribution to the key of a tag."""
    BOUND = 4
    """The k-bound of the loop; 0 if it has none."""


class ScopeColumn(IntEnum):
    """The columns of a scope."""

    SIZE = 0
    """The number of words of a frame."""
    CLEAR_END = 1
    """The end of the words behind the header that are 0 in a new frame: bits, and words for child activations."""


@dataclass(frozen=True, eq=False)
class Image:
    """A graph as arrays. `site_list` and `scope_list` have the sites and scopes by number."""

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
    """The number of words in the header of a frame."""
    has_tag_keys: bool
    """Whether frames contain the keys of their tags, for random numbers."""
    has_loop_bounds: bool
    """Whether a loop has a k-bound."""
    first_port: tuple[int, ...] = field(repr=False)
    """The number of the first port of each node."""
    scope_members: tuple[WordArray, ...] = field(repr=False)
    """The nodes of each scope."""

    @cached_property
    def max_fanout(self) -> int:
        """The most tokens that a firing sends. It takes only the edges of one site."""
        fanouts = np.diff(
            self.nodes[:, [NodeColumn.EDGES_BEGIN, NodeColumn.SECOND_EDGES_BEGIN, NodeColumn.EDGES_END]], axis=1
        )
        lengths, count = np.diff(self.routes, axis=1)[:, 0], len(self.sites)
        for output, column in enumerate((NodeColumn.ROUTE, NodeColumn.ROUTE_SECOND)):
            for number in np.flatnonzero(self.nodes[:, column] >= 0):
                first = self.nodes[number, column]
                fanouts[number, output] = lengths[first : first + count].max()
        return int(fanouts.sum(axis=1).max(initial=1))

    @cached_property
    def loop_links(self) -> dict[Site, tuple[int, int]]:
        """For each loop with a reverse pass, the frame words that link to the last iteration, and to the previous
        one."""
        links: dict[Site, list[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op in ("reenter", "back") and node.site is not None:
                link_index = 0 if node.op == "reenter" else 1
                links.setdefault(node.site, [0, 0])[link_index] = int(
                    self.ports[self.first_port[number], PortColumn.LINK_WORD]
                )
        return {site: (last, previous) for site, (last, previous) in links.items()}

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
        value: Value = struct.unpack("<d", struct.pack("<q", word))[0]
        return value if dtype is dtypes.float64 else dtype.numpy.type(value)
    if dtype is dtypes.int64:
        return word
    number: Value = dtype.numpy.type(word % 2**64 if dtype is dtypes.uint64 else word)
    return number


def to_signed(word: int) -> int:
    """A word of 64 bits as a signed number."""
    return word - 2**64 if word >= 2**63 else word


def build_image(graph: Graph, bounds: Mapping[Site, int] | None = None, *, has_own_words: bool = False) -> Image:
    """Build the image of a graph that keeps the rules; `bounds`, unless None, override the k-bounds of its loops.

    Of two operands of a node only one waits, so they share a word; with `has_own_words` they do not, for a machine to
    which both may come at once. Raises Usage if the graph is too large for this form.
    """
    return _ImageBuilder(graph, bounds, has_own_words=has_own_words).build()


_image_cache: LRUCache[tuple[int, tuple[tuple[Site, int], ...]], Image] = LRUCache(64)
_image_cache_lock = Lock()
"""Locked while `_image_cache` changes: several threads may run programs."""


def cached_image(graph: Graph, bounds: Mapping[Site, int]) -> Image:
    """The image of a graph, from a cache of the graphs used last. Graphs are compared by identity, not by equality."""
    key = id(graph), tuple(bounds.items())
    with _image_cache_lock:
        image = _image_cache.get(key)
        if image is None or image.graph is not graph:
            image = _image_cache.put(key, build_image(graph, bounds))
    return image


class _ImageBuilder:
    def __init__(self, graph: Graph, bounds: Mapping[Site, int] | None, *, has_own_words: bool) -> None:
        self.graph, self.bounds, self.has_own_words = graph, bounds, has_own_words
        self.contexts = ControlContexts(graph)
        self.sites: list[Site] = list(
            dict.fromkeys([ENVIRONMENT, *(n.site for n in graph.nodes if n.site is not None)])
        )
        self.first_port: list[int] = []
        self.edges: list[int] = []
        self.routes: list[tuple[int, int]] = []
        self.links: dict[tuple[str, Site], int] = {}
        """For loops with a reverse pass: the word of an iteration's frame that links to the previous iteration, and the
        word of the enclosing frame that links to the last one."""
        self.literals: list[int] = [0, 0]
        self.objects: list[Value] = []
        count = 0
        for node in graph.nodes:
            self.first_port.append(count)
            count += len(node.ports)
        if count >= 2**PORT_BITS:
            raise Usage(
                "this graph is too large for an image", required=f"fewer than {2**PORT_BITS:,} ports", got=count
            )
        self.scope_of = [self.node_scope(number, node) for number, node in enumerate(graph.nodes)]
        self.scopes: list[str | Site] = list(
            dict.fromkeys([graph.name, *self.scope_of, *map(self._callee_scope, self.sites)])
        )
        self.has_tag_keys = any(node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw is not None for node in graph.nodes)
        self.has_loop_bounds = any(self.loop_bound(node) for node in graph.nodes)
        self.header_words = (
            len(FrameHeader) if self.has_loop_bounds else FrameHeader.KEY + 1 if self.has_tag_keys else FrameHeader.KEY
        )

    def build(self) -> Image:
        """Lay out the frames, and fill in all arrays."""
        graph = self.graph
        types = [type_ for number in range(len(graph.nodes)) for type_ in self.port_types_of(number)]
        nodes = np.zeros((len(graph.nodes), len(NodeColumn)), np.int64)
        ports = np.zeros((len(types), len(PortColumn)), np.int64)
        scopes = np.zeros((len(self.scopes), len(ScopeColumn)), np.int64)
        for number, scope in enumerate(self.scopes):
            scopes[number] = self.lay_out_frame(self._scope_members(scope).tolist(), nodes, ports)
        for number, node in enumerate(graph.nodes):
            self.fill_node(number, node, nodes, types)
            self.fill_ports(number, node, ports, types)
        padding = [0] * (round_up_to_cache_line(len(self.literals)) - len(self.literals))
        arguments = (
            tuple(self._port_number(edge.node, edge.port) for edge in output.edges) for _, output in graph.arguments
        )
        return Image(
            graph, nodes, ports,
            np.array(self.edges or [0], np.int64),
            np.array(self.routes or [(0, 0)], np.int64),
            np.array([self.site_row(site) for site in self.sites], np.int64),
            scopes,
            np.array(self.literals + padding, np.int64),
            tuple(self.objects), tuple(self.sites), tuple(self.scopes), tuple(types), tuple(arguments),
            self.header_words, self.has_tag_keys, self.has_loop_bounds, tuple(self.first_port),
            tuple(map(self._scope_members, self.scopes)),
        )  # fmt: skip

    def _scope_members(self, scope: str | Site) -> WordArray:
        return np.array([number for number, own_scope in enumerate(self.scope_of) if own_scope == scope], np.int64)

    def _port_number(self, node: int, port: int) -> int:
        return self.first_port[node] + port

    def node_scope(self, number: int, node: GraphNode) -> str | Site:
        """The scope of a node: the function or loop under whose tags it fires."""
        if node.op == "return":
            assert node.site is not None
            return self.contexts.callees[node.site]
        if node.op == "merge":
            return self.contexts.contexts[OutputRef(number, 0)].owner
        port = next(position for position, literal in enumerate(node.ports) if literal is None)
        return self.contexts.contexts[self.contexts.port_source(number, port)].owner

    def _callee_scope(self, site: Site) -> str | Site:
        return site if site.kind == "loop" else self.contexts.callees[site]

    def port_types_of(self, number: int) -> list[Type]:
        """The types of a node's ports."""
        node = self.graph.nodes[number]
        return [
            literal.type if literal is not None else self.graph.output(self.contexts.port_source(number, port)).type
            for port, literal in enumerate(node.ports)
        ]

    def loop_bound(self, node: GraphNode) -> int:
        """The k-bound of a `next_iteration`; 0 for none."""
        if node.op != "next_iteration" or node.site is None or node.phase:
            return 0
        bound = dict(node.attributes).get(PARALLEL_ITERATIONS) if self.bounds is None else self.bounds.get(node.site)
        return bound or 0

    def lay_out_frame(self, members: list[int], nodes: WordArray, ports: WordArray) -> tuple[int, int]:
        """Lay out the frame of a scope: bits, then child activations, then operands. Returns its size and the end of
        the words to clear."""
        word, bit = self.header_words, 0
        for number in members:
            waits = self.waiting_ports(number)
            if bit + len(waits) + 1 > 63:
                word, bit = word + 1, 0
            nodes[number, NodeColumn.MASK_WORD] = word
            for port in waits:
                ports[self._port_number(number, port), PortColumn.BIT] = 1 << bit
                nodes[number, NodeColumn.OPERAND_MASK] |= 1 << bit
                bit += 1
            nodes[number, NodeColumn.FIRED_BIT] = 1 << bit
            bit += 1
        word += 1
        words: dict[tuple[str, Site], int] = {}
        for number in members:
            node = self.graph.nodes[number]
            is_shared = node.site is not None and self.count_senders(node) > 1
            if node.site is not None and node.op in ("call", "enter", "next_iteration") and is_shared:
                kind = "next" if node.op == "next_iteration" else "below"
                if (kind, node.site) not in words:
                    words[kind, node.site] = word
                    word += 1
                nodes[number, NodeColumn.CHILD_WORD] = words[kind, node.site]
        for number in members:
            node = self.graph.nodes[number]
            if node.site is not None and node.op in ("reenter", "back") and (node.op, node.site) not in self.links:
                self.links[node.op, node.site] = word
                word += 1
        clear_end = word
        for number in members:
            waits = self.waiting_ports(number)
            is_shared = len(waits) == 2 and not self.has_own_words
            for position, port in enumerate(waits):
                ports[self._port_number(number, port), PortColumn.OPERAND_WORD] = word if is_shared else word + position
            word += 1 if is_shared else len(waits)
        return round_up_to_cache_line(word), clear_end

    def count_senders(self, node: GraphNode) -> int:
        """The number of nodes that send to the same activations as this node."""
        assert node.site is not None
        return len(self.contexts.nodes_by_site[node.op, node.site])

    def waiting_ports(self, number: int) -> list[int]:
        """The ports whose tokens may wait for others."""
        node = self.graph.nodes[number]
        open_ports = [port for port, literal in enumerate(node.ports) if literal is None]
        if node.op == "merge" or len(open_ports) < 2:
            return []
        if len(open_ports) > MAX_WAITING_OPERANDS:
            required = f"nodes of at most {MAX_WAITING_OPERANDS} operands"
            raise Usage(f"{node} is too large for an image", where=node.origin, required=required, got=len(open_ports))
        return open_ports

    def fill_node(self, number: int, node: GraphNode, nodes: WordArray, types: list[Type]) -> None:
        """Fill in the row of a node, and add its edges."""
        row, node_types = nodes[number], types[self.first_port[number] : self.first_port[number] + len(node.ports)]
        row[NodeColumn.CODE] = opcode_of(node, node_types, number in self.graph.results)
        row[NodeColumn.REQUIRED_TOKENS] = 1 if node.op == "merge" else sum(literal is None for literal in node.ports)
        row[NodeColumn.ROUTE] = row[NodeColumn.ROUTE_SECOND] = -1
        if number in self.graph.results:
            row[NodeColumn.EDGES_BEGIN] = row[NodeColumn.SECOND_EDGES_BEGIN] = row[NodeColumn.EDGES_END] = 0
            row[NodeColumn.SITE] = self.graph.results.index(number)
        else:
            outputs = [*node.outputs, NodeOutput(Type(dtypes.bool), ())][:2]
            for position, (begin, output) in enumerate(
                zip((NodeColumn.EDGES_BEGIN, NodeColumn.SECOND_EDGES_BEGIN), outputs, strict=False)
            ):
                row[begin] = len(self.edges)
                self.add_edges(row, position, output)
            if len(outputs) < 2:
                row[NodeColumn.SECOND_EDGES_BEGIN] = len(self.edges)
            row[NodeColumn.EDGES_END] = len(self.edges)
            row[NodeColumn.SITE] = -1 if node.site is None else self.sites.index(node.site)
        row[NodeColumn.BOUND] = self.loop_bound(node)
        if node.outputs:
            row[NodeColumn.CAST] = cast_code(node.outputs[0].type.dtype) if node.op in OPS else 0
            row[NodeColumn.BOXED_FLAGS] = is_boxed(node.outputs[0].type)
        if node.has_trigger and is_boxed(node_types[-1]) and row[NodeColumn.CODE] != Opcode.FALLBACK:
            row[NodeColumn.BOXED_FLAGS] |= 2
        if node.ports and node.ports[0] is not None:
            row[NodeColumn.BOXED_FLAGS] |= 4
        if row[NodeColumn.CODE] == Opcode.FALLBACK:
            for port, type_ in enumerate(node_types[:3]):
                row[NodeColumn.BOXED_FLAGS] |= is_boxed(type_) * (8 << port)
        row[NodeColumn.IS_SPECIAL] = any(
            (
                row[NodeColumn.CAST],
                row[NodeColumn.BOXED_FLAGS],
                row[NodeColumn.ROUTE] + 1,
                row[NodeColumn.ROUTE_SECOND] + 1,
            )
        )

    def add_edges(self, row: WordArray, position: int, output: NodeOutput) -> None:
        """S10: add the edges of an output, and, if it feeds returns, those for each site on top of the tag."""
        targets = [self._port_number(edge.node, edge.port) for edge in output.edges]
        self.edges += targets
        returns = {
            port: self.graph.nodes[edge.node].site
            for edge, port in zip(output.edges, targets, strict=True)
            if self.graph.nodes[edge.node].op == "return"
        }
        if not returns:
            return
        row[NodeColumn.ROUTE_SECOND if position else NodeColumn.ROUTE] = len(self.routes)
        for site in self.sites:
            begin = len(self.edges)
            self.edges += [port for port in targets if port not in returns or returns[port] == site]
            self.routes.append((begin, len(self.edges)))

    def fill_ports(self, number: int, node: GraphNode, ports: WordArray, types: list[Type]) -> None:
        """Fill in the locations of a node's operands, for each port whose token may arrive last."""
        base, waits = self.first_port[number], self.waiting_ports(number)
        literals = {
            position: ~self.add_literal(literal.value, types[base + position])
            for position, literal in enumerate(node.ports)
            if literal is not None
        }
        for last in range(len(node.ports)):
            row = ports[base + last]
            row[PortColumn.NODE] = number
            if node.site is not None:
                row[PortColumn.LINK_WORD] = self.links.get((_LINK_PARTNERS.get(node.op, node.op), node.site), 0)
            for column, position in zip(
                (PortColumn.OPERAND_0, PortColumn.OPERAND_1, PortColumn.OPERAND_2), range(len(node.ports)), strict=False
            ):
                if position in literals:
                    row[column] = literals[position]
                else:
                    row[column] = (
                        ports[base + position, PortColumn.OPERAND_WORD] if position != last and waits else ~SCRATCH_WORD
                    )
            if node.op == "merge":
                row[PortColumn.OPERAND_0] = ~SCRATCH_WORD

    def add_literal(self, value: Value, type_: Type) -> int:
        """Add a literal; returns its word of memory."""
        if is_boxed(type_):
            self.objects.append(value)
            word = len(self.objects) - 1
        else:
            word = encode_word(value, type_.dtype)
        self.literals.append(word)
        return len(self.literals) - 1

    def site_row(self, site: Site) -> tuple[int, ...]:
        """The columns of a site; raises Usage if too many values pass through it."""
        numbers = self.contexts.nodes_by_site
        arrivals = len(self.graph.arguments) if site == ENVIRONMENT else 0
        arrivals += sum(len(numbers.get((op, site), ())) for op in ("call", "enter", "reenter"))
        departures = len(numbers.get(("return", site), ()))
        if max(arrivals, departures) > MAX_PASSED_VALUES:
            required = f"at most {MAX_PASSED_VALUES:,} arguments and results of a function, and variables of a loop"
            raise Usage(f"{site} is too large for an image", required=required, got=max(arrivals, departures))
        scope = self.scopes.index(self._callee_scope(site))
        bound = max(
            (self.loop_bound(self.graph.nodes[n]) for n in numbers.get(("next_iteration", site), ())), default=0
        )
        return scope, arrivals, departures, to_signed(site_key(site)), bound


_LINK_PARTNERS = {"next_iteration": "back", "exit": "reenter"}
"""The op that reads the frame link written by a firing of this op."""


def round_up_to_cache_line(words: int) -> int:
    """A number of words, rounded up to a full cache line."""
    return -(-words // CACHE_LINE_WORDS) * CACHE_LINE_WORDS
