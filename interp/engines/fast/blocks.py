"""Blocks: the token machine under `lifo`, specialized to one image.

Under `lifo` the tokens that a delivered token sends are delivered next. So much of the work after a delivery follows
from the graph: which tokens are delivered in which order, which of them wait for which, and which nodes fire. A *block*
is the code of such a chain of deliveries. It begins with a token for a certain port; tokens that are sent and delivered
within it exist in variables only; predicates, and bits of operands that may have arrived earlier, are tests. Each
*path* through its tests makes certain firings, which are counted by one counter. A block ends when it has no token of
its own left, and continues with the youngest token in the ring; or when it would follow an activation too far, and
continues with another block.

A path computes first, and then commits: it writes all frames, counts and tokens at its end, as the same steps of
`deliver_scalar` leave them. Before that it changes nothing. So it can be aborted at any point, by a trap, a breach of
S4, or the limit on depth: `deliver_scalar` then makes its steps one by one. Between two blocks the state is that of the
token machine at this step, except for WAVE_REMAINING, which blocks do not count: a wave begins where they stop.

A frame that a path has opened has no unknown bits. If a block ends at a token for such a frame, the next one is
compiled for exactly these bits, so that it need not test them. This is basic block versioning (M. Chevalier-Boisvert
and M. Feeley, Simple and effective type check removal through lazy basic block versioning, ECOOP 2015), with what is
known about frames instead of types.

This module generates the text for `lifo`, `wave_blocks` that for `waves`; `load` compiles it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from ....core.graph.graph import Edge, Graph, OutputRef
from ...image.image import (
    ARGUMENT_UNIT,
    LOW_BITS,
    LOW_MASK,
    PENDING_MASK,
    PORT_BITS,
    PORT_MASK,
    RESULT_UNIT,
    SCRATCH_WORD,
    TAG_BUILT,
    FrameHeader,
    Image,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    SiteColumn,
)
from ...image.opcodes import FIRST_KERNEL, Opcode, first_trapping_opcode, scalar_kernels
from ..jit.native import SECOND_PART, WORD_CODE
from .block_program import BlockProgram
from .delivery_table import scalar_path_nodes
from .layout import LARGEST_PATH, Address
from .load import ENUMS, MachineVariant, inline_constants, machine_parts
from .opcode_source import scalar_kernels_text

MAX_BRANCHES = 16
"""The most tests on a path."""
MAX_BLOCK_PATHS = 6
"""From this number of paths on, a block ends where it would need another test."""
SHORT_PATH = 1
"""Up to this number of deliveries, a path goes on with a token of the ring."""
MAX_VERSIONS = 8
"""The most versions of a block, for frames with certain bits; further ones test all bits."""
MAX_INLINE_SITES = 3
"""Up to this number of call sites, a return is a test of the site, and the block goes on; with more, it is a jump."""
MAX_LINES = 16_000
"""An image whose blocks would have more lines has none: compiling them would take more than ten seconds."""
MAX_UNLIKELY_LINES = 2_000
"""If the text is longer, no blocks are generated for the firings that follow an operand which comes before its
partner."""


_HEAD = """
def deliver_blocks(a, budget, header):
    r, mem, ring, mask = (
        peek(a, Address.REGISTERS), peek(a, Address.MEMORY), peek(a, Address.RING), peek(a, Address.RING_SIZE) - 1
    )
    if peek(r, Register.FLIGHT_LENGTH) == 0:
        return 0
    free, path_counts = peek(a, Address.FREE_FRAMES), peek(a, Address.PATH_COUNTS)
    depth_limit = peek(peek(a, Address.OPTIONS), MachineOption.DEPTH_LIMIT)
    waiting, firings, opened = peek(r, Register.WAITING), peek(r, Register.FIRINGS), 0
    largest_store, largest_flight = peek(r, Register.LARGEST_STORE), peek(r, Register.LARGEST_FLIGHT)
    memory_top, deepest = peek(r, Register.MEMORY_TOP), peek(r, Register.DEEPEST_TAG)
    head = peek(r, Register.FLIGHT_HEAD)
    end, remaining, is_over = head + peek(r, Register.FLIGHT_LENGTH) - 1, budget, 0
    token, value = peek(ring, (end & mask) << 1), peek(ring, ((end & mask) << 1) + 1)
    frame, port = token >> PORT_BITS, token & PORT_MASK
    while remaining >= LARGEST_PATH:
        match port:
"""
RETURN_TEXT = """\
    poke(r, Register.WAITING, waiting)
    poke(r, Register.FIRINGS, firings)
    poke(r, Register.STEPS, peek(r, Register.STEPS) + budget - remaining)
    poke(r, Register.LARGEST_STORE, largest_store)
    poke(r, Register.LARGEST_FLIGHT, largest_flight)
    poke(r, Register.MEMORY_TOP, memory_top)
    poke(r, Register.DEEPEST_TAG, deepest)
    poke(r, Register.OPEN_ACTIVATIONS, peek(r, Register.OPEN_ACTIVATIONS) + opened)
    return budget - remaining
"""
"""The end of the function: what every step changes goes from variables back to the registers."""
_TAIL = f"""
            case _:
                break
        if end == head:
            is_over = 1
            break
        end -= 1
        token, value = peek(ring, (end & mask) << 1), peek(ring, ((end & mask) << 1) + 1)
        frame, port = token >> PORT_BITS, token & PORT_MASK
    if is_over == 0:
        poke(ring, (end & mask) << 1, frame << PORT_BITS | port)
        poke(ring, ((end & mask) << 1) + 1, value)
        end += 1
    poke(r, Register.FLIGHT_LENGTH, end - head)
    poke(r, Register.WAVE_REMAINING, end - head)
{RETURN_TEXT}"""
"""The function before and after the choice of the block. The token to be delivered is in `frame`, `port` and `value`;
the others lie in the ring between `head` and `end`."""
_HELPERS = ("parent_of", "site_of", "drop_tag", "release_frame", "close_activation")
"""The functions of `frames` that blocks use."""


_CONSTANTS = {
    "PORT_BITS": PORT_BITS, "PORT_MASK": PORT_MASK, "LOW_BITS": LOW_BITS, "LOW_MASK": LOW_MASK,
    "PENDING_MASK": PENDING_MASK, "TAG_BUILT": TAG_BUILT, "LARGEST_PATH": LARGEST_PATH,
}  # fmt: skip


class PathToken(NamedTuple):
    """A token that exists while a block runs: the text of its port, the name of its frame, the text of its word."""

    port: int | str
    frame: str
    word: str


class BlockKey(NamedTuple):
    """The start of a block: a token for a port; and, if `set_bits` is not None, a frame whose bits are known:
    `set_bits` has those that are set, by mask word; `unopened_children` the words of child activations that are not
    open; `pending` is its word PENDING, if that is known, too."""

    port: int
    set_bits: tuple[tuple[int, int], ...] | None = None
    unopened_children: tuple[int, ...] = ()
    pending: int | None = None


@dataclass(slots=True)
class FrameFacts:
    """The known facts about a frame on a path, and the words that the path will write to it.

    `set_bits` and `clear_bits` are the bits known to be set and not set, by mask word; `changed_bits` those that the
    path changes; `conflicts` those that must not have been set when it began. `loaded_words` has the names of the mask
    words read. `waiting_words` are the words of the operands that the path leaves waiting, by port. `children` are the
    frames of child activations, by the word of the frame that has them; None if not open."""

    name: str
    scope: int
    level: int
    """The depth of its tag, relative to the depth of the token with which the block begins."""
    is_fresh: bool = False
    """Whether the path has opened it."""
    is_complete: bool = False
    """Whether all bits are known: those that are not in `set_bits` are not set."""
    is_testable: bool = False
    """Whether the path may test what it does not know about this frame, and about values in it."""
    is_found: bool = False
    """Whether it is an open activation that another token entered: nothing is known about it."""
    site: int | None = None
    other_sites: frozenset[int] = frozenset()
    """The sites that it is known not to have."""
    parent: str | None = None
    iteration: str | None = None
    """The text of its word ITERATION."""
    set_bits: dict[int, int] = field(default_factory=dict)
    clear_bits: dict[int, int] = field(default_factory=dict)
    changed_bits: dict[int, int] = field(default_factory=dict)
    conflicts: dict[int, int] = field(default_factory=dict)
    loaded_words: dict[int, str] = field(default_factory=dict)
    waiting_words: dict[int, str] = field(default_factory=dict)
    children: dict[int, str | None] = field(default_factory=dict)
    opened_children: dict[int, str] = field(default_factory=dict)
    pending_before: int | None = None
    """Its word PENDING when the path begins, or when it is opened; None if unknown."""
    pending: int = 0
    """What the path adds to its word PENDING."""
    waits: frozenset[int] = frozenset()
    """The ports at which a token is known to wait, since a test has failed."""

    def copy(self) -> FrameFacts:
        """An independent copy."""
        return replace(
            self,
            set_bits=dict(self.set_bits),
            clear_bits=dict(self.clear_bits),
            changed_bits=dict(self.changed_bits),
            conflicts=dict(self.conflicts),
            loaded_words=dict(self.loaded_words),
            waiting_words=dict(self.waiting_words),
            children=dict(self.children),
            opened_children=dict(self.opened_children),
        )

    def are_set(self, word: int, bits: int) -> bool | None:
        """Whether all of these bits are set; None if that is unknown."""
        set_bits = self.set_bits.get(word, 0)
        if set_bits & bits == bits:
            return True
        clear_bits = ~set_bits if self.is_complete else self.clear_bits.get(word, 0)
        return False if clear_bits & bits else None

    def change_bits(self, word: int, bits: int, *, is_set: bool) -> None:
        """Set or clear bits."""
        set_bits, clear_bits = self.set_bits.get(word, 0), self.clear_bits.get(word, 0)
        self.set_bits[word] = set_bits | bits if is_set else set_bits & ~bits
        self.clear_bits[word] = clear_bits & ~bits if is_set else clear_bits | bits
        self.changed_bits[word] = self.changed_bits.get(word, 0) | bits


@dataclass(slots=True)
class BlockPath:
    """A path through a block, as far as it is generated. `stack` are its tokens, the next one last."""

    frames: dict[str, FrameFacts]
    stack: list[PathToken]
    truths: dict[str, bool] = field(default_factory=dict)
    """The predicates whose outcome is known."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of computed words, by their texts."""
    branches: int = 0
    steps: int = 0
    firings: Counter[int] = field(default_factory=Counter)
    openings: list[str] = field(default_factory=list)
    """The frames that it opens."""
    waiting_count: int = 0
    largest_waiting: int = 0
    largest_stack: int = 0
    is_unlikely: bool = False
    """Whether the blocks that it goes on with are generated only where the text is short."""
    pop_count: int = 0
    """The number of tokens that it has taken from the ring, after its first."""
    port_below: int | None = None
    """The port whose token, in the frame that the block begins with, probably is the youngest in the ring."""
    has_moved_up: bool = False
    """Whether it has followed a result to the activation that the block's first token did not enter."""

    def copy(self) -> BlockPath:
        """An independent copy."""
        return replace(
            self,
            frames={name: frame.copy() for name, frame in self.frames.items()},
            stack=list(self.stack),
            truths=dict(self.truths),
            names=dict(self.names),
            firings=Counter(self.firings),
            openings=list(self.openings),
        )


class BranchTest(NamedTuple):
    """A condition that a path must test at its next token, with the path if it holds and the path if it does not."""

    condition: str
    holds: BlockPath
    fails: BlockPath
    is_of_partners: bool = False
    """Whether it tests if the other operands are there."""


class PathEnd(NamedTuple):
    """The end of a path before its next token: `is_aborted` if the path cannot be made at all, `is_left` if `machine`
    must deliver that token, neither if another block does."""

    is_aborted: bool = False
    is_left: bool = False


NextTurn: TypeAlias = BranchTest | PathEnd | None
"""The end or the branch of a path at its next token; None if the token is delivered."""


class PathSnapshot(NamedTuple):
    """A path and the number of lines before a token was followed into another activation."""

    path: BlockPath
    line_count: int
    height: int


class BlockWriter:
    """Generates the text of the blocks of one image: `write` generates all, `write_block` one, `follow` the rest of a
    path, `deliver` and `fire` one step of a path, `commit` its end."""

    head_text, tail_text = _HEAD, _TAIL
    helpers: tuple[str, ...] = _HELPERS
    """The functions of `frames` that the text uses."""

    def __init__(self, image: Image, ports_below: dict[int, int]) -> None:
        """`ports_below` are those of an earlier generation, or empty."""
        self.image, self.ports_below = image, dict(ports_below)
        """By port, the port whose token lay below the token for this port, in the same frame, when both were sent."""
        self.nodes, self.ports = image.nodes.tolist(), image.ports.tolist()
        self.edges, self.routes = image.edges.tolist(), image.routes.tolist()
        self.sites, self.scopes = image.sites.tolist(), image.scopes.tolist()
        self.is_scalar = scalar_path_nodes(image).tolist()
        self.scope_of = {
            number: scope for scope, members in enumerate(image.scope_members) for number in members.tolist()
        }
        self.graph_sources = image.graph.sources()
        self.later_bits = [self.bits_of_later_firings(later) for later in later_nodes(image)]
        self.codes, self.casts = set[int](), set[int]()
        """The opcodes of kernels, and the casts, that the text uses."""
        self.lines: list[str] = []
        self.paths: list[tuple[Counter[int], Counter[int]]] = []
        self.block_numbers: dict[BlockKey, int] = {}
        self.pending_blocks: dict[BlockKey, None] = {}
        """The blocks to be generated, in the order of the requests."""
        self.unlikely_blocks: dict[BlockKey, None] = {}
        """The same, for blocks that are generated only where the text is short."""
        self.written_blocks: set[BlockKey] = set()
        self.versions: Counter[int] = Counter()
        self.name_count = 0
        self.path_count = 0
        """The number of paths of the current block."""

    def bits_of_later_firings(self, later: frozenset[int]) -> dict[int, int]:
        """By mask word, the bits that only these nodes set: their own bits, and the bits of the operands that they
        send."""
        bits: Counter[int] = Counter()
        graph = self.image.graph
        for number in later:
            row = self.nodes[number]
            bits[row[NodeColumn.MASK_WORD]] |= row[NodeColumn.FIRED_BIT]
        targets = {edge for number in later for output in graph.nodes[number].outputs for edge in output.edges}
        for number, position in targets:
            sources = self.graph_sources[Edge(number, position)]
            if all(source.node in later and not sends_to_other_activation(graph, source.node) for source in sources):
                port = self.ports[self.image.first_port[number] + position]
                bits[self.nodes[number][NodeColumn.MASK_WORD]] |= port[PortColumn.BIT]
        return dict(bits)

    def write(self) -> Generator[None, None, BlockProgram | None]:
        """Generate the blocks that tokens can begin: tokens of arguments, and tokens that `machine` sends on. Yields
        after each."""
        for ports in self.image.arguments:
            self.request_all(ports)
        for number, row in enumerate(self.nodes):
            if not self.is_scalar[number]:
                self.request_all(self.edges[row[NodeColumn.EDGES_BEGIN] : row[NodeColumn.EDGES_END]])
        while self.pending_blocks or self.unlikely_blocks:
            is_likely = bool(self.pending_blocks)
            if is_likely and len(self.lines) >= MAX_LINES:
                return None
            if not is_likely and len(self.lines) >= MAX_UNLIKELY_LINES:
                break
            requested = self.pending_blocks if is_likely else self.unlikely_blocks
            key = next(iter(requested))
            del requested[key]
            if key not in self.written_blocks:
                self.written_blocks.add(key)
                self.write_block(key)
                yield
        return self.program()

    def program(self) -> BlockProgram | None:
        """The blocks that have been generated; None if there are none."""
        if not self.paths:
            return None
        firings = np.zeros((len(self.paths), len(self.nodes)), np.int64)
        openings = np.zeros((len(self.paths), len(self.sites)), np.int64)
        for number, (fired, opened_sites) in enumerate(self.paths):
            firings[number, list(fired)] = list(fired.values())
            openings[number, list(opened_sites)] = list(opened_sites.values())
        return BlockProgram(self.text(), firings, openings)

    def text(self) -> str:
        """The text of a module with the function, in the language of `word_code`."""
        constants, functions = machine_parts(MachineVariant.BASE)
        parts = [
            WORD_CODE,
            scalar_kernels_text(self.codes, self.casts),
            SECOND_PART,
            *(f"{name} = {number}" for name, number in _CONSTANTS.items()),
            constants,
            *(functions[name] for name in self.helpers),
            inline_constants(self.head_text, ENUMS),
            *self.lines,
            inline_constants(self.tail_text, ENUMS),
        ]
        return "\n".join(parts)

    def request_all(self, ports: Iterable[int]) -> None:
        for port in ports:
            self.block_number(BlockKey(port))

    def block_number(self, key: BlockKey, *, is_unlikely: bool = False) -> int:
        """The number of a block, which will be generated if it can begin: for a token of the ring, its port."""
        key = key._replace(port=self.entry_port(key.port))
        if key not in self.block_numbers:
            if key.set_bits is not None:
                if self.versions[key.port] >= MAX_VERSIONS:
                    return self.block_number(BlockKey(key.port), is_unlikely=is_unlikely)
                self.versions[key.port] += 1
            version = len(self.ports) + sum(self.versions.values()) - 1
            self.block_numbers[key] = key.port if key.set_bits is None else version
        if self.is_scalar[self.ports[key.port][PortColumn.NODE]] and key not in self.written_blocks:
            pending = self.unlikely_blocks if is_unlikely else self.pending_blocks
            pending[key] = None
        return self.block_numbers[key]

    def ports_of_entry(self, port: int) -> list[int]:
        """The ports whose tokens a block of the ring begins with: all those of a merge, since it fires on any."""
        number = self.ports[port][PortColumn.NODE]
        node, first = self.image.graph.nodes[number], self.image.first_port[number]
        return list(range(first, first + len(node.ports))) if node.op == "merge" else [port]

    def entry_port(self, port: int) -> int:
        """The first of these ports."""
        return self.ports_of_entry(port)[0]

    def fresh_name(self, prefix: str) -> str:
        self.name_count += 1
        return f"{prefix}{self.name_count}"

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def write_block(self, key: BlockKey) -> None:
        scope = self.scope_of[self.ports[key.port][PortColumn.NODE]]
        frame = FrameFacts("frame", scope, 0, is_testable=True)
        if key.set_bits is not None:
            frame.is_complete, frame.set_bits = True, dict(key.set_bits)
            frame.children, frame.pending_before = dict.fromkeys(key.unopened_children), key.pending
        self.path_count = 1
        numbers = [self.block_numbers[key]] if key.set_bits is not None else self.ports_of_entry(key.port)
        self.emit(3, f"case {' | '.join(map(str, numbers))}:")
        path = BlockPath({"frame": frame}, [PathToken(key.port, "frame", "value")])
        path.port_below = self.ports_below.get(key.port) if key.set_bits is None else None
        self.follow(path, 4)

    # Following the tokens of a path

    def follow(self, path: BlockPath, indent: int) -> None:
        """Generate the rest of a path."""
        snapshot: PathSnapshot | None = None
        while path.stack or self.may_pop(path):
            if not path.stack:
                self.branch(path, self.pop_expected(path, indent), indent)
                return
            if snapshot is not None and len(path.stack) < snapshot.height:
                snapshot = None
            frame = path.frames[path.stack[-1].frame]
            if snapshot is None and not frame.is_testable:
                snapshot = PathSnapshot(path.copy(), len(self.lines), len(path.stack))
            turn = PathEnd() if path.steps == LARGEST_PATH else self.deliver(path, indent)
            match turn:
                case BranchTest() if self.may_branch(path, frame):
                    self.branch(path, turn, indent)
                    return
                case BranchTest():
                    if snapshot is not None:
                        path = snapshot.path
                        del self.lines[snapshot.line_count :]
                    self.commit(path, indent, PathEnd())
                    return
                case PathEnd():
                    self.commit(path, indent, turn)
                    return
        self.commit(path, indent, None)

    def branch(self, path: BlockPath, test: BranchTest, indent: int) -> None:
        """Generate a test, and the rest of the path for both outcomes. If the other operands are not there, the path
        ends after the token has been laid down, so that the number of paths is not doubled by each such test."""
        holds, fails = test.holds, test.fails
        holds.branches = fails.branches = path.branches + 1
        if not test.is_of_partners:
            self.path_count += 1
            self.emit(indent, f"if {test.condition}:")
            self.follow(holds, indent + 1)
            self.emit(indent, "else:")
            self.follow(fails, indent + 1)
            return
        self.emit(indent, f"if not {test.condition}:")
        self.deliver(fails, indent + 1)
        if fails.stack:
            fails.is_unlikely = True
            self.commit(fails, indent + 1, PathEnd())
        else:
            self.follow(fails, indent + 1)
        self.emit(indent, "else:")
        self.follow(holds, indent + 1)

    def may_pop(self, path: BlockPath) -> bool:
        """Whether a path whose last token is delivered goes on with one of the ring: a short path only."""
        return path.port_below is not None and path.steps <= SHORT_PATH

    def pop_expected(self, path: BlockPath, indent: int) -> BranchTest:
        """Test whether the youngest token of the ring is the token that was below this block's first token when both
        were sent."""
        port, holds, fails = path.port_below, path.copy(), path.copy()
        assert port is not None
        end = f"end - {path.pop_count + 1}"
        word = self.fresh_name("v")
        self.emit(indent, f"{word} = peek(ring, (({end} & mask) << 1) + 1)")
        holds.stack = [PathToken(port, "frame", word)]
        holds.pop_count += 1
        holds.port_below, fails.port_below = self.ports_below.get(port), None
        token = f"peek(ring, ({end} & mask) << 1)"
        return BranchTest(f"{end} >= head and {token} == (frame << {PORT_BITS} | {port})", holds, fails)

    def may_branch(self, path: BlockPath, frame: FrameFacts) -> bool:
        """Whether a path may test something about this frame: the first test is always possible."""
        is_first = path.steps == 0
        return frame.is_testable and (is_first or (path.branches < MAX_BRANCHES and self.path_count < MAX_BLOCK_PATHS))

    def deliver(self, path: BlockPath, indent: int) -> NextTurn:
        """Deliver the next token of a path, or state what happens instead; then nothing of the path has changed."""
        port, name, word = path.stack[-1]
        frame = path.frames[name]
        if isinstance(port, str) or frame.is_found:
            return PathEnd()
        frame.scope = self.scope_of[self.ports[port][PortColumn.NODE]]
        row = self.ports[port]
        number = row[PortColumn.NODE]
        node, bit = self.nodes[number], row[PortColumn.BIT]
        if not self.is_scalar[number]:
            return PathEnd(is_left=True)
        mask_word, fired = node[NodeColumn.MASK_WORD], node[NodeColumn.FIRED_BIT]
        for zero_word, bits in {} if frame.is_complete else self.later_bits[number].items():
            frame.clear_bits[zero_word] = frame.clear_bits.get(zero_word, 0) | bits
        partners = node[NodeColumn.OPERAND_MASK] & ~bit
        if frame.set_bits.get(mask_word, 0) & (bit | fired):
            return PathEnd(is_aborted=True)
        has_partners = True if not partners else False if port in frame.waits else frame.are_set(mask_word, partners)
        if has_partners is None:
            holds, fails = path.copy(), path.copy()
            bits = self.load_bits(frame, mask_word, indent)
            for outcome in (holds, fails):
                outcome.frames[name].loaded_words[mask_word] = bits
            ready_frame = holds.frames[name]
            ready_frame.set_bits[mask_word] = ready_frame.set_bits.get(mask_word, 0) | partners
            fails.frames[name].waits |= {port}
            unknown = partners & ~frame.set_bits.get(mask_word, 0)
            return BranchTest(f"{bits} & {unknown} == {unknown}", holds, fails, is_of_partners=True)
        if not has_partners:
            self.note_conflicts(frame, mask_word, bit | fired, indent)
            path.stack.pop()
            path.steps += 1
            frame.change_bits(mask_word, bit, is_set=True)
            frame.waiting_words[port] = word
            path.waiting_count += 1
            path.largest_waiting = max(path.largest_waiting, path.waiting_count)
            return None
        return self.fire(path, indent, number, port)

    def note_conflicts(self, frame: FrameFacts, word: int, bits: int, indent: int) -> None:
        """S4: the path is not made if these bits had been set before."""
        unknown = bits & ~frame.clear_bits.get(word, 0)
        if not frame.is_complete and unknown:
            self.load_bits(frame, word, indent)
            frame.conflicts[word] = frame.conflicts.get(word, 0) | unknown

    def load_bits(self, frame: FrameFacts, word: int, indent: int) -> str:
        """The name of a mask word of a frame as it was when the path began."""
        if word not in frame.loaded_words:
            frame.loaded_words[word] = self.fresh_name("b")
            self.emit(indent, f"{frame.loaded_words[word]} = peek(mem, {frame.name} + {word})")
        return frame.loaded_words[word]

    def operand(self, frame: FrameFacts, port: int, position: int, word: str) -> str:
        """The text of an operand of the node that fires."""
        location = self.ports[port][PortColumn.OPERAND_0 + position]
        if location == ~SCRATCH_WORD:
            return word
        if location < 0:
            literal_port = self.image.first_port[self.ports[port][PortColumn.NODE]] + position
            literal = int(self.image.literals[~location])
            is_float = self.image.port_types[literal_port].dtype.kind == "f"
            return f"peek(mem, {~location})" if is_float or abs(literal) > 2**62 else str(literal)
        first = self.image.first_port[self.ports[port][PortColumn.NODE]]
        return frame.waiting_words.get(first + position, f"peek(mem, {frame.name} + {location})")

    def fire(self, path: BlockPath, indent: int, number: int, port: int) -> NextTurn:
        """Fire a node, all of whose operands are there."""
        token = path.stack[-1]
        frame, node = path.frames[token.frame], self.nodes[number]
        code, target, output, passed_value = node[NodeColumn.CODE], frame, 0, 0
        if code == Opcode.SWITCH:
            predicate = self.name_word(path, self.operand(frame, port, 1, token.word), indent)
            outcome = predicate != "0" if is_number(predicate) else path.truths.get(predicate)
            if outcome is None:
                holds, fails = path.copy(), path.copy()
                holds.truths[predicate], fails.truths[predicate] = True, False
                return BranchTest(f"{predicate} != 0", holds, fails)
            output = 0 if outcome else 1
        elif code in (Opcode.RETURN, Opcode.EXIT):
            if frame.parent is None and path.has_moved_up:
                return PathEnd()
            target = self.find_parent(path, frame, indent)
            if not target.is_testable and not target.is_fresh:
                if path.has_moved_up:
                    return PathEnd()
                path.has_moved_up = target.is_testable = True
        elif code in (Opcode.CALL, Opcode.NEXT_ITERATION):
            entry = self.find_target(path, frame, number, indent)
            if isinstance(entry, BranchTest):
                return entry
            target, passed_value = entry, ARGUMENT_UNIT - 1
        targets = self.find_targets(path, target, node, output, indent)
        if isinstance(targets, BranchTest | PathEnd):
            return targets
        out = self.compute_word(path, frame, port, node, indent)
        bit, fired = self.ports[port][PortColumn.BIT], node[NodeColumn.FIRED_BIT]
        mask_word, required = node[NodeColumn.MASK_WORD], node[NodeColumn.REQUIRED_TOKENS]
        self.note_conflicts(frame, mask_word, bit | fired, indent)
        partners = node[NodeColumn.OPERAND_MASK] & ~bit
        if partners:
            frame.change_bits(mask_word, partners, is_set=False)
            first = self.image.first_port[number]
            for row in range(first, first + len(self.image.graph.nodes[number].ports)):
                frame.waiting_words.pop(row, None)
        frame.change_bits(mask_word, fired, is_set=True)
        path.stack.pop()
        path.stack += [PathToken(edge, target.name, out) for edge in targets]
        path.steps += 1
        path.firings[number] += 1
        path.waiting_count -= required - 1
        frame.pending -= required
        if code == Opcode.RETURN:
            frame.pending += RESULT_UNIT - 1
        target.pending += len(targets) + passed_value
        if targets:
            path.largest_stack = max(path.largest_stack, len(path.stack) - path.pop_count)
        return None

    def compute_word(self, path: BlockPath, frame: FrameFacts, port: int, node: list[int], indent: int) -> str:
        """The name of the word that a node sends, or the text of a number."""
        word, code = path.stack[-1].word, node[NodeColumn.CODE]
        out = self.operand(frame, port, 0, word)
        if code >= FIRST_KERNEL:
            kernel = scalar_kernels()[code - FIRST_KERNEL]
            operands = [self.operand(frame, port, n, word) for n in range(len(kernel.operands))]
            operands = [self.name_word(path, operand, indent) for operand in operands]
            if code >= first_trapping_opcode():
                self.emit(indent, f"if traps({code}, {', '.join(operands[:2])}):")
                self.emit(indent + 1, "break")
            out = f"compute({code}, {', '.join(operands)})"
            self.codes.add(code)
        if node[NodeColumn.CAST]:
            out = f"cast({node[NodeColumn.CAST]}, {self.name_word(path, out, indent)})"
            self.casts.add(node[NodeColumn.CAST])
        return self.name_word(path, out, indent)

    def name_word(self, path: BlockPath, text: str, indent: int) -> str:
        """A name for the value of a text, or the text of a number."""
        if text.isidentifier() or is_number(text):
            return text
        if text not in path.names:
            path.names[text] = self.fresh_name("v")
            self.emit(indent, f"{path.names[text]} = {text}")
        return path.names[text]

    def iteration_word(self, frame: FrameFacts, indent: int) -> str:
        """The name of the word ITERATION of a frame: its iteration and depth."""
        if frame.iteration is None:
            frame.iteration = self.fresh_name("i")
            self.emit(indent, f"{frame.iteration} = peek(mem, {frame.name} + {int(FrameHeader.ITERATION)})")
        return frame.iteration

    def find_parent(self, path: BlockPath, frame: FrameFacts, indent: int) -> FrameFacts:
        """The frame of the parent activation."""
        if frame.parent is None:
            frame.parent = self.fresh_name("f")
            self.emit(indent, f"{frame.parent} = peek(mem, {frame.name} + {int(FrameHeader.PARENT)}) >> {LOW_BITS}")
            path.frames[frame.parent] = FrameFacts(frame.parent, -1, frame.level - 1)
        return path.frames[frame.parent]

    def find_target(self, path: BlockPath, frame: FrameFacts, number: int, indent: int) -> FrameFacts | BranchTest:
        """The frame that a call or next_iteration sends to; it is opened if no other token has entered it."""
        node = self.nodes[number]
        site, child_word = node[NodeColumn.SITE], node[NodeColumn.CHILD_WORD]
        if child_word:
            if child_word not in frame.children:
                name = self.fresh_name("f")
                self.emit(indent, f"{name} = peek(mem, {frame.name} + {child_word})")
                holds, fails = path.copy(), path.copy()
                holds.frames[frame.name].children[child_word] = name
                holds.frames[name] = FrameFacts(name, -1, frame.level, is_found=True)
                fails.frames[frame.name].children[child_word] = None
                return BranchTest(f"{name} != 0", holds, fails)
            child = frame.children[child_word]
            if child is not None:
                return path.frames[child]
        is_call = node[NodeColumn.CODE] == Opcode.CALL
        parent = frame if is_call else self.find_parent(path, frame, indent)
        iteration = self.iteration_word(frame, indent)
        name = self.fresh_name("f")
        target = FrameFacts(name, self.sites[site][SiteColumn.SCOPE], parent.level + 1, True, True, site=site)
        target.parent, target.iteration = parent.name, self.fresh_name("i")
        if is_call:
            self.emit(indent, f"{target.iteration} = ({iteration} & {LOW_MASK}) + 1")
            self.emit(indent, f"if {target.iteration} > depth_limit:")
        else:
            self.emit(indent, f"{target.iteration} = {iteration} + {1 << LOW_BITS}")
            self.emit(indent, f"if ({iteration} & {LOW_MASK}) > depth_limit:")
        self.emit(indent + 1, "break")
        header, clear_end = self.image.header_words, self.scopes[target.scope][ScopeColumn.CLEAR_END]
        target.children = dict.fromkeys(range(header, clear_end))
        target.pending_before = self.sites[site][SiteColumn.ARGUMENTS] + self.sites[site][SiteColumn.RESULTS]
        parent.pending += 1
        if child_word:
            frame.children[child_word] = frame.opened_children[child_word] = name
        path.frames[name] = target
        path.openings.append(name)
        return target

    def find_targets(
        self, path: BlockPath, target: FrameFacts, node: list[int], output: int, indent: int
    ) -> list[int | str] | BranchTest | PathEnd:
        """The ports that an output sends to, in order. S10: of the returns, only that of the site on top of the tag."""
        begin = node[NodeColumn.SECOND_EDGES_BEGIN if output else NodeColumn.EDGES_BEGIN]
        end = node[NodeColumn.EDGES_END if output else NodeColumn.SECOND_EDGES_BEGIN]
        route = node[NodeColumn.ROUTE]
        if route < 0 or begin == end:
            return list(self.edges[begin:end])
        if output:
            return PathEnd(is_left=True)
        if target.site is None:
            scope = self.scope_of[self.ports[self.edges[begin]][PortColumn.NODE]]
            sites = [number for number, row in enumerate(self.sites) if row[SiteColumn.SCOPE] == scope]
            sites = [site for site in sites[::-1] if site not in target.other_sites]
            if not sites:
                return PathEnd(is_aborted=True)
            name = f"s{target.name}"
            if not target.other_sites:
                self.emit(indent, f"{name} = peek(mem, {target.name} + {int(FrameHeader.PARENT)}) & {LOW_MASK}")
            lists = [self.edges[slice(*self.routes[route + site])] for site in sites]
            ends_here = path.has_moved_up and target.parent is None and target.is_testable
            if (ends_here or len(sites) > MAX_INLINE_SITES) and all(len(edges) == 1 for edges in lists):
                port = self.fresh_name("p")
                send_list = f"peek(peek(a, {int(Address.SEND_ROUTES)}), {route} + {name})"
                self.emit(indent, f"{port} = ~peek(peek(a, {int(Address.SEND_LISTS)}), {send_list})")
                for (edges,) in lists:
                    self.block_number(BlockKey(edges))
                return [port]
            holds, fails = path.copy(), path.copy()
            holds.frames[target.name].site = sites[0]
            fails.frames[target.name].other_sites |= {sites[0]}
            return BranchTest(f"{name} == {sites[0]}", holds, fails)
        return list(self.edges[slice(*self.routes[route + target.site])])

    # The end of a path

    def commit(self, path: BlockPath, indent: int, end: PathEnd | None) -> None:
        """Generate the end of a path, which writes all that it has done; `end` is None if no token of it is left."""
        if end is not None and end.is_aborted:
            self.emit(indent, "break")
            return
        self.emit_checks(path, indent)
        self.emit_openings(path, indent)
        for frame in path.frames.values():
            self.emit_frame(frame, indent)
        self.emit_pending(path, indent)
        self.emit_counts(path, indent)
        if path.pop_count:
            self.emit(indent, f"end -= {path.pop_count}")
        self.emit_tokens(path, indent, is_result=self.is_result(path, end))
        if end is None:
            return
        if path.steps == 0:
            assert end.is_left
            self.emit(indent, "break")
            return
        token = path.stack[-1]
        if isinstance(token.port, str):
            block: int | str = token.port
        else:
            key = self.version(path.frames[token.frame], token.port)
            block = self.block_number(key, is_unlikely=path.is_unlikely)
        for name, text in (("value", token.word), ("frame", token.frame), ("port", token.port)):
            if name != text:
                self.emit(indent, f"{name} = {text}")
        if end.is_left:
            self.emit(indent, "break")
            return
        if isinstance(block, str):
            self.emit(indent, "continue")
            return
        self.emit(indent, "if remaining < LARGEST_PATH:")
        self.emit(indent + 1, "break")
        self.emit(indent, f"go({block})")

    def version(self, frame: FrameFacts, port: int) -> BlockKey:
        """The block for a token in a frame about which this is known."""
        if not frame.is_complete:
            return BlockKey(port)
        unopened_children = tuple(sorted(word for word, child in frame.children.items() if child is None))
        set_bits = tuple(sorted((word, bits) for word, bits in frame.set_bits.items() if bits))
        pending = None if frame.pending_before is None else frame.pending_before + frame.pending
        return BlockKey(port, set_bits, unopened_children, pending)

    def emit_checks(self, path: BlockPath, indent: int) -> None:
        """Abort the path on a breach of S4."""
        for frame in path.frames.values():
            for word, bits in frame.conflicts.items():
                self.emit(indent, f"if {frame.loaded_words[word]} & {bits}:")
                self.emit(indent + 1, "break")

    def emit_openings(self, path: BlockPath, indent: int) -> None:
        """Allocate the frames that the path opens."""
        for name in path.openings:
            frame = path.frames[name]
            self.emit(indent, f"{name} = peek(free, {frame.scope})")
            self.emit(indent, f"if {name}:")
            self.emit(
                indent + 1, f"poke(free, {frame.scope}, peek(mem, {name} + {int(FrameHeader.PARENT)}) >> {LOW_BITS})"
            )
            self.emit(indent, "else:")
            self.emit(indent + 1, f"{name} = memory_top")
            self.emit(indent + 1, f"memory_top += {self.scopes[frame.scope][ScopeColumn.SIZE]}")
            site = frame.site
            self.emit(indent, f"poke(mem, {name} + {int(FrameHeader.PARENT)}, {frame.parent} << {LOW_BITS} | {site})")
            self.emit(indent, f"poke(mem, {name} + {int(FrameHeader.ITERATION)}, {frame.iteration})")
        if path.openings:
            deepest = max((path.frames[name] for name in path.openings), key=lambda frame: frame.level)
            self.emit(indent, f"deepest = max(deepest, {deepest.iteration} & {LOW_MASK})")

    def emit_frame(self, frame: FrameFacts, indent: int) -> None:
        """Write the bits, child activations and waiting operands of a frame."""
        words: dict[int, str] = {}
        if frame.is_fresh:
            header, clear_end = self.image.header_words, self.scopes[frame.scope][ScopeColumn.CLEAR_END]
            words = dict.fromkeys(range(header, clear_end), "0")
        for word, changed in frame.changed_bits.items():
            set_bits = frame.set_bits.get(word, 0)
            if frame.is_complete:
                words[word] = str(set_bits)
            else:
                loaded_word = frame.loaded_words.get(word, f"peek(mem, {frame.name} + {word})")
                words[word] = f"{loaded_word} & {~changed} | {set_bits & changed}"
        words |= frame.opened_children
        for port, value in frame.waiting_words.items():
            words[self.ports[port][PortColumn.OPERAND_WORD]] = value
        for word, text in words.items():
            self.emit(indent, f"poke(mem, {frame.name} + {word}, {text})")

    def emit_pending(self, path: BlockPath, indent: int) -> None:
        """Write the pending counts, and close activations, upwards. Frames that other tokens entered come last: one may
        have another name here, and is still open then, since it lacks the argument."""
        pending = int(FrameHeader.PENDING)
        closed_children: dict[str, str] = {}
        """The text that subtracts the children that close, by frame."""
        occupied = {token.frame for token in path.stack}
        for frame in sorted(path.frames.values(), key=lambda frame: -frame.level):
            closed = closed_children.get(frame.name, "")
            stays_open = frame.name in occupied or bool(frame.waiting_words)
            if frame.is_found or not (frame.is_fresh or frame.pending or closed):
                continue
            before = frame.pending_before
            start = (
                f"peek(mem, {frame.name} + {pending}) + {frame.pending}" if before is None else before + frame.pending
            )
            count = self.fresh_name("c")
            self.emit(indent, f"{count} = {start}{closed}")
            if before is not None and not closed:
                stays_open = (before + frame.pending) & PENDING_MASK != 0
            low_change = (frame.pending + PENDING_MASK // 2 & PENDING_MASK) - PENDING_MASK // 2
            if stays_open or (low_change > 0 and not closed):
                self.emit(indent, f"poke(mem, {frame.name} + {pending}, {count})")
                continue
            is_certain = before is not None and not closed
            if not is_certain:
                self.emit(indent, f"poke(mem, {frame.name} + {pending}, {count})")
            if frame.parent is None:
                self.emit(indent, f"if {count} & {PENDING_MASK} == 0:")
                self.emit(indent + 1, f"close_activation(a, r, mem, {frame.name}, header)")
            elif is_certain:
                self.emit_release(frame, "", indent)
                closed_children[frame.parent] = closed_children.get(frame.parent, "") + " - 1"
            else:
                has_closed = self.fresh_name("z")
                self.emit(indent, f"{has_closed} = 0")
                self.emit(indent, f"if {count} & {PENDING_MASK} == 0:")
                self.emit(indent + 1, f"{has_closed} = 1")
                self.emit_release(frame, count, indent + 1)
                closed_children[frame.parent] = closed_children.get(frame.parent, "") + f" - {has_closed}"
        for frame in path.frames.values():
            if frame.is_found and frame.pending:
                text = f"peek(mem, {frame.name} + {pending}) + {frame.pending}"
                self.emit(indent, f"poke(mem, {frame.name} + {pending}, {text})")

    def emit_release(self, frame: FrameFacts, count: str, indent: int) -> None:
        """Add a frame to the free ones; `count` is the name of its word PENDING, if its tag may exist."""
        if frame.scope < 0:
            site = f"peek(mem, {frame.name} + {int(FrameHeader.PARENT)}) & {LOW_MASK}"
            self.emit(indent, f"release_frame(a, r, mem, {frame.name}, {site}, header)")
            return
        if count:
            self.emit(indent, f"if {count} & {TAG_BUILT}:")
            self.emit(indent + 1, f"drop_tag(a, r, {frame.name})")
        site = str(frame.site)
        if frame.site is None:
            site = f"peek(mem, {frame.name} + {int(FrameHeader.PARENT)}) & {LOW_MASK}"
        name, scope = frame.name, frame.scope
        self.emit(indent, f"poke(mem, {name} + {int(FrameHeader.PARENT)}, peek(free, {scope}) << {LOW_BITS} | {site})")
        self.emit(indent, f"poke(mem, {name} + {int(FrameHeader.ITERATION)}, -1)")
        self.emit(indent, f"poke(free, {scope}, {name})")
        self.emit(indent, "opened -= 1")

    def emit_counts(self, path: BlockPath, indent: int) -> None:
        """Count what the path has done."""
        if not path.steps:
            return
        number = len(self.paths)
        openings = Counter(path.frames[name].site for name in path.openings)
        self.paths.append((path.firings, Counter({site: n for site, n in openings.items() if site is not None})))
        self.emit(indent, f"poke(path_counts, {number}, peek(path_counts, {number}) + 1)")
        if path.largest_waiting:
            self.emit(indent, f"largest_store = max(largest_store, waiting + {path.largest_waiting})")
        if path.largest_stack > 0:
            self.emit(indent, f"largest_flight = max(largest_flight, end - head + {path.largest_stack})")
        for name, change in (
            ("waiting", path.waiting_count),
            ("firings", path.firings.total()),
            ("remaining", -path.steps),
            ("opened", len(path.openings)),
        ):
            if change:
                self.emit(indent, f"{name} += {change}")

    def is_result(self, path: BlockPath, end: PathEnd | None) -> bool:
        """Whether a path ends at a result of the run."""
        if end is None or not end.is_left:
            return False
        number = self.ports[path.stack[-1].port][PortColumn.NODE]
        return bool(self.nodes[number][NodeColumn.CODE] == Opcode.RESULT)

    def emit_tokens(self, path: BlockPath, indent: int, *, is_result: bool) -> None:
        """Push the tokens of a path, but for the next one. No block begins with what is left at a result of the run."""
        for lower, token in pairwise(path.stack):
            if isinstance(token.port, int) and isinstance(lower.port, int) and lower.frame == token.frame:
                self.ports_below.setdefault(token.port, lower.port)
        for position, token in enumerate(path.stack[:-1]):
            assert isinstance(token.port, int)
            if not is_result:
                self.block_number(BlockKey(token.port), is_unlikely=path.is_unlikely)
            self.emit(
                indent, f"poke(ring, (end + {position} & mask) << 1, {token.frame} << {PORT_BITS} | {token.port})"
            )
            self.emit(indent, f"poke(ring, ((end + {position} & mask) << 1) + 1, {token.word})")
        if len(path.stack) > 1:
            self.emit(indent, f"end += {len(path.stack) - 1}")


def later_nodes(image: Image) -> list[frozenset[int]]:
    """For each node, those that cannot fire before it in the same activation."""
    graph, sources = image.graph, image.graph.sources()
    earlier: dict[int, frozenset[int]] = {}

    def needed_nodes(number: int) -> frozenset[int]:
        """The nodes without whose firing this one cannot fire."""
        node = graph.nodes[number]
        ports = [sources.get(Edge(number, port), []) for port, literal in enumerate(node.ports) if literal is None]
        needs = [frozenset.intersection(*map(with_earlier, port)) for port in ports if port]
        if node.op == "merge":
            return frozenset.intersection(*needs) if needs else frozenset()
        return frozenset().union(*needs)

    def with_earlier(source: OutputRef) -> frozenset[int]:
        """The nodes without whose firing this output sends nothing; none if it sends to another activation."""
        if source.node < 0 or sends_to_other_activation(graph, source.node):
            return frozenset()
        return earlier[source.node] | {source.node}

    for number in topological_order(graph):
        earlier[number] = needed_nodes(number)
    later: list[set[int]] = [set() for _ in graph.nodes]
    for user, numbers in earlier.items():
        for number in numbers:
            later[number].add(user)
    return list(map(frozenset, later))


def sends_to_other_activation(graph: Graph, number: int) -> bool:
    """Whether a node sends to a different activation than that in which it fires."""
    return graph.nodes[number].op in ("call", "enter", "next_iteration", "return", "exit", "reenter", "back")


def topological_order(graph: Graph) -> Iterable[int]:
    """The nodes, each after those that send to it in the same activation."""
    sources = graph.sources()
    predecessors: dict[int, set[int]] = {number: set() for number in range(len(graph.nodes))}
    for edge, refs in sources.items():
        predecessors[edge.node] |= {
            ref.node for ref in refs if ref.node >= 0 and not sends_to_other_activation(graph, ref.node)
        }
    return TopologicalSorter(predecessors).static_order()


def is_number(text: str) -> bool:
    """Whether a text is an integer."""
    return text.lstrip("-").isdigit()
