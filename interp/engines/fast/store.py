"""The token store: all arrays of a run, their growth, and the objects that words refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ....core.tag import ROOT, Tag
from ....core.types import Type
from ....core.value import Value
from ...image.image import (
    ARGUMENT_UNIT,
    CACHE_LINE_WORDS,
    LOW_BITS,
    LOW_MASK,
    MAX_DEPTH,
    PORT_BITS,
    PORT_MASK,
    TAG_BUILT,
    FrameHeader,
    Image,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    SiteColumn,
    WordArray,
    decode_word,
    encode_word,
    is_boxed,
)
from ...machine.event import Token
from ..limits import Limits, machine_memory
from .block_program import LoadedBlocks
from .delivery_table import delivery_table
from .layout import (
    Address,
    ArrayNodeColumn,
    ComparisonColumn,
    DeliveryOrder,
    FutureColumn,
    HostResult,
    JournalWord,
    MachineOption,
    Register,
    ThrottledColumn,
)

SLACK_STEPS = 512
"""The number of steps that every array must have room for."""
GROWTH_FACTOR = 4
"""The factor by which an array grows if memory for more is not available."""
SMALL_ARRAY_BYTES, SMALL_GROWTH_FACTOR = 2**22, 16
"""Arrays below this size grow by this factor: fib(28) under waves, which ends with 44 MB, then spends 0.1 ns a firing
on copies instead of 1. Larger arrays grow at once to their maximal size: the system provides memory only when it is
used, and copying a gigabyte would delay Ctrl-C for seconds."""
LARGEST_LIMIT = 2**62
"""The largest limit that fits into a word; no run reaches it."""
PAGE_WORDS = 2**17
"""The size of a journal page, in words, without the reserve. With 2**15, turning pages costs 10 ns more per step."""
PAGE_TURN_BYTES = 2**24
"""A page is turned once it keeps dead arrays of this many bytes alive."""
MIN_COUNTED_BYTES = 2**8
"""Smaller values do not count for the cost of futures: their number bounds them."""
_PINNED_REFERENCES = 2**40
"""The reference count of a literal: so high that no run brings it to 0."""


class TokenStore:
    """The state of a run of an image, as arrays that the machine reads and writes."""

    def __init__(
        self, image: Image, limits: Limits, order: DeliveryOrder, *, seed: int, clocked: bool, result_limit: int
    ) -> None:
        self.image = image
        graph = image.graph
        self._max_array_bytes = min(limits.bytes, machine_memory())
        """The maximal size of an array in bytes."""
        self.options = np.zeros(len(MachineOption), np.int64)
        self.options[[MachineOption.ORDER, MachineOption.SEED]] = order, np.uint64(seed).astype(np.int64)
        self.options[[MachineOption.FIRING_LIMIT, MachineOption.TOKEN_LIMIT]] = (
            int(min(limits.max_firings, LARGEST_LIMIT)),
            int(min(limits.max_tokens, LARGEST_LIMIT)),
        )
        self.options[MachineOption.DEPTH_LIMIT] = min(limits.depth, MAX_DEPTH)
        self.options[MachineOption.RESULT_LIMIT] = result_limit
        self.options[MachineOption.HAS_WAVE_CLOCK] = clocked
        self.options[[MachineOption.FAN_OUT, MachineOption.LARGEST_FRAME]] = image.max_fanout, image.largest_frame
        self.options[MachineOption.HAS_SCALAR_PATH] = self.allows_scalar_path
        self.registers = np.zeros(len(Register), np.int64)
        self.registers[Register.MEMORY_TOP] = len(image.literals)
        self.registers[[Register.THROTTLED_TOP, Register.RESUME_STEP]] = 1, -1
        self.memory = aligned_words(len(image.literals) + (2 * SLACK_STEPS) * image.largest_frame)
        self.memory[: len(image.literals)] = image.literals
        self.ring = np.zeros((next_power_of_two(2 * SLACK_STEPS * image.max_fanout), 2), np.int64)
        self.profile = np.zeros((2 * SLACK_STEPS if clocked else 1, 2), np.int32)
        """The firings of each wave and the tokens that wait after it, as int32: both are below 2**31. A serial loop has
        as many waves as steps; with int64, 10**6 iterations would take 128 MB."""
        self.free_frames = np.zeros(len(image.scopes), np.int64)
        self.firing_counts = np.zeros(len(graph.nodes), np.int64)
        self.opened_counts = np.zeros(len(image.sites), np.int64)
        self.result_words = np.zeros((max(len(graph.results), 1), 2), np.int64)
        self.host_result = np.zeros(len(HostResult), np.int64)
        self.woken_tokens = np.zeros((1, 2), np.int64)
        self.throttled = np.zeros((2 * SLACK_STEPS if image.has_loop_bounds else 1, len(ThrottledColumn)), np.int64)
        self.release_rows = np.zeros(len(self.throttled), np.int64)
        self.codes = np.ascontiguousarray(image.nodes[:, NodeColumn.CODE])
        self.delivery_rows, self._send_lists, self._send_routes = delivery_table(image)
        self.comparisons = np.zeros((1, 2, len(ComparisonColumn)), np.int64)
        self.objects: list[Value | None] = list(image.objects)
        self.reference_counts = np.full(max(len(self.objects), 1), _PINNED_REFERENCES, np.int64)
        self.unused_objects: list[int] = []
        self.futures = np.zeros((0, len(FutureColumn)), np.int64)
        self.object_levels = np.zeros(len(self.reference_counts), np.int64)
        self.array_nodes = np.zeros((1, len(ArrayNodeColumn)), np.int64)
        self.elements: dict[int, WordArray] = {}
        """The elements of some arrays as words, by number of the object."""
        self.element_addresses = np.zeros(len(self.reference_counts), np.int64)
        self.compute_futures: Callable[[], None] = lambda: None
        """Computes all objects that are futures."""
        self.allocated_bytes = 0
        """The bytes of the arrays that were allocated since the last check of memory."""
        self.dead_objects = np.zeros(4 * 2 * SLACK_STEPS, np.int64)
        self.tags: dict[int, Tag] = {}
        """The tags that exist as Python objects, by frame."""
        self.dropped_tags = np.zeros(1, np.int64)
        self.journal = np.zeros(1, np.int64)
        self.state_words = np.zeros(1, np.int64)
        self.retired_objects: list[int] | None = None
        """The dead objects to which the journal still refers; None without a journal."""
        self.retired_bytes = 0
        """The bytes of the dead objects to which the current page refers."""
        self.page_array_bytes = 0
        """The bytes of the arrays that were allocated since the current page of the journal began."""
        self.blocks: LoadedBlocks | None = None
        """The blocks that the machine uses; None if it must not use any."""
        self.path_counts = np.zeros(1, np.int64)
        self._is_address_table_stale = True
        """Whether an array has moved since the address table was built."""
        self._address_table = np.zeros(0, np.int64)

    @property
    def allows_scalar_path(self) -> bool:
        """Whether `deliver_scalar` may be used: not with k-bounds or random order."""
        return not self.image.has_loop_bounds and bool(self.options[MachineOption.ORDER] != DeliveryOrder.RANDOM)

    def address_table(self) -> int:
        """The address of the table of the addresses of all arrays, which the machine's `run` takes."""
        if self._is_address_table_stale:
            self._address_table, self._is_address_table_stale = self.build_address_table(), False
        return self._address_table.ctypes.data

    def build_address_table(self) -> WordArray:
        """A new table of addresses and sizes, indexed by `Address`."""
        image = self.image
        rows: dict[Address, npt.NDArray[Any]] = {
            Address.OPTIONS: self.options,
            Address.REGISTERS: self.registers,
            Address.MEMORY: self.memory,
            Address.RING: self.ring,
            Address.PROFILE: self.profile,
            Address.DEAD_OBJECTS: self.dead_objects,
            Address.DROPPED_TAGS: self.dropped_tags,
            Address.REFERENCE_COUNTS: self.reference_counts,
            Address.NODES: image.nodes,
            Address.PORTS: image.ports,
            Address.EDGES: image.edges,
            Address.ROUTES: image.routes,
            Address.SITES: image.sites,
            Address.SCOPES: image.scopes,
            Address.CODES: self.codes,
            Address.FIRING_COUNTS: self.firing_counts,
            Address.OPENED_COUNTS: self.opened_counts,
            Address.FREE_FRAMES: self.free_frames,
            Address.RESULTS: self.result_words,
            Address.HOST_RESULT: self.host_result,
            Address.WOKEN_TOKENS: self.woken_tokens,
            Address.THROTTLED: self.throttled,
            Address.RELEASE_ROWS: self.release_rows,
            Address.DELIVERY_ROWS: self.delivery_rows,
            Address.SEND_LISTS: self._send_lists,
            Address.SEND_ROUTES: self._send_routes,
            Address.JOURNAL: self.journal,
            Address.STATE_WORDS: self.state_words,
            Address.COMPARISONS: self.comparisons,
            Address.PATH_COUNTS: self.path_counts,
            Address.FUTURES: self.futures,
            Address.LEVELS: self.object_levels,
            Address.ARRAY_NODES: self.array_nodes,
            Address.ELEMENTS: self.element_addresses,
        }
        table = np.zeros(len(Address), np.int64)
        for entry, array in rows.items():
            assert array.flags.c_contiguous
            table[entry] = array.ctypes.data
        sizes: dict[Address, npt.NDArray[Any]] = {
            Address.MEMORY_SIZE: self.memory,
            Address.RING_SIZE: self.ring,
            Address.PROFILE_SIZE: self.profile,
            Address.DEAD_OBJECTS_SIZE: self.dead_objects,
            Address.THROTTLED_SIZE: self.throttled,
            Address.JOURNAL_SIZE: self.journal,
            Address.FUTURES_SIZE: self.futures,
        }
        for entry, array in sizes.items():
            table[entry] = len(array)
        if not image.has_loop_bounds:
            table[Address.THROTTLED_SIZE] = 2**62
        table[Address.BLOCKS] = 0 if self.blocks is None else self.blocks.address
        return table

    @property
    def live_tokens(self) -> int:
        """The number of tokens: in flight, waiting, in deferred reads, and throttled."""
        r = self.registers
        return int(r[Register.FLIGHT_LENGTH] + r[Register.WAITING] + r[Register.DEFERRED_READS] + r[Register.THROTTLED])

    def mark_moved(self) -> None:
        """Note that an array was replaced by another, so that the address table is stale."""
        self._is_address_table_stale = True

    def use_blocks(self, blocks: LoadedBlocks | None) -> None:
        """Use these blocks from now on, or none."""
        if blocks is not self.blocks:
            self.count_paths()
            self.blocks = blocks
            if blocks is not None:
                self.path_counts = np.zeros(len(blocks.program.firings), np.int64)
            self._is_address_table_stale = True

    def count_paths(self) -> None:
        """Add what the paths of blocks have done to the counts by node and by site."""
        if self.blocks is not None:
            self.firing_counts += self.path_counts @ self.blocks.program.firings
            self.opened_counts += self.path_counts @ self.blocks.program.openings
            self.path_counts[:] = 0

    def has_room(self) -> bool:
        """Whether no array is nearly full; the journal does not count."""
        return next(self.nearly_full_arrays(), None) is None

    def growth_bytes(self) -> int:
        """The bytes that `grow` would copy. The rest of the new arrays takes memory only when it is used."""
        return sum(array.nbytes for array in self.nearly_full_arrays())

    def grow(self) -> None:
        """Enlarge the arrays that are nearly full."""
        for array in self.nearly_full_arrays():
            if array.nbytes < SMALL_ARRAY_BYTES:
                self._grow(array, SMALL_GROWTH_FACTOR)
                continue
            try:
                self._grow(array, max(GROWTH_FACTOR, self._max_array_bytes // array.nbytes))
            except MemoryError:  # the system does not overcommit memory
                self._grow(array, GROWTH_FACTOR)

    def _grow(self, array: npt.NDArray[Any], factor: int) -> None:
        if array is self.memory:
            self._grow_memory(factor)
        elif array is self.ring:
            self.reserve_ring((factor - 1) * len(self.ring))
        elif array is self.profile:
            self._grow_profile(factor)
        else:
            self._grow_throttled(factor)

    def _grow_memory(self, factor: int) -> None:
        memory = aligned_words(factor * len(self.memory))
        memory[: len(self.memory)] = self.memory
        self.memory, self._is_address_table_stale = memory, True

    def _grow_profile(self, factor: int) -> None:
        self.profile, self._is_address_table_stale = grow_rows(self.profile, factor), True

    def _grow_throttled(self, factor: int) -> None:
        self.throttled, self._is_address_table_stale = grow_rows(self.throttled, factor), True
        self.release_rows = np.zeros(len(self.throttled), np.int64)

    def nearly_full_arrays(self) -> Iterator[npt.NDArray[Any]]:
        """The arrays without room for SLACK_STEPS steps."""
        r, image = self.registers, self.image
        if (len(self.memory) - r[Register.MEMORY_TOP]) // image.largest_frame < SLACK_STEPS:
            yield self.memory
        if (len(self.ring) - r[Register.FLIGHT_LENGTH] - r[Register.THROTTLED]) // image.max_fanout < SLACK_STEPS:
            yield self.ring
        if self.options[MachineOption.HAS_WAVE_CLOCK] and len(self.profile) - r[Register.WAVES] < SLACK_STEPS:
            yield self.profile
        if (
            image.has_loop_bounds
            and (len(self.throttled) - r[Register.THROTTLED_TOP]) // image.max_fanout < SLACK_STEPS
        ):
            yield self.throttled

    def adopt_arrays(self, memory: WordArray, ring: WordArray, profile: npt.NDArray[np.int32]) -> None:
        """Continue with the arrays of another machine. The oldest token in flight must be the first of the ring."""
        self.memory, self.ring, self.profile = memory, ring, profile
        self.registers[Register.FLIGHT_HEAD] = 0
        if not self.registers[Register.OPEN_ACTIVATIONS]:  # nothing of memory is in use
            self.registers[Register.MEMORY_TOP] = len(self.image.literals)
        self._is_address_table_stale = True

    def reserve_ring(self, tokens: int) -> None:
        """Make room for this number of further tokens in flight."""
        r = self.registers
        length = int(r[Register.FLIGHT_LENGTH])
        size = next_power_of_two(length + int(r[Register.THROTTLED]) + tokens + 1)
        if size <= len(self.ring):
            return
        head = int(r[Register.FLIGHT_HEAD])
        first = min(length, len(self.ring) - head)
        ring = np.empty((size, 2), np.int64)
        ring[:first] = self.ring[head : head + first]
        ring[first:length] = self.ring[: length - first]
        self.ring, r[Register.FLIGHT_HEAD] = ring, 0
        self._is_address_table_stale = True

    def reserve_woken(self, tokens: int) -> None:
        """Make room for this number of tokens that a cell wakes."""
        if len(self.woken_tokens) < tokens:
            self.woken_tokens = np.zeros((2 * tokens, 2), np.int64)
            self._is_address_table_stale = True

    def reserve_memory(self, words: int) -> None:
        """Make room in memory for this number of words and a reserve."""
        required = words + 2 * SLACK_STEPS * self.image.largest_frame
        while len(self.memory) < required:
            self._grow_memory(GROWTH_FACTOR)

    def reserve_profile(self, waves: int) -> None:
        """Make room for this number of waves."""
        while len(self.profile) < waves + SLACK_STEPS:
            self._grow_profile(GROWTH_FACTOR)

    def reserve_throttled(self, tokens: int) -> None:
        """Make room for this number of throttled tokens."""
        while self.image.has_loop_bounds and len(self.throttled) < tokens + SLACK_STEPS:
            self._grow_throttled(GROWTH_FACTOR)

    def to_word(self, value: Value, type_: Type, references: int) -> int:
        """The word of a value. An object gets a number, and `references` as its count of references from tokens."""
        if not is_boxed(type_):
            return encode_word(value, type_.dtype)
        number = self.take_numbers(1)[0]
        self.objects[number] = value
        size = getattr(value, "nbytes", 0)
        self.allocated_bytes += size
        self.page_array_bytes += size
        if size >= MIN_COUNTED_BYTES and len(self.futures):  # futures may keep it alive after the last token
            self.registers[Register.FUTURE_COST] += size
        self.reference_counts[number] = references
        return number

    def take_numbers(self, count: int) -> list[int]:
        """This many numbers of objects that are not in use."""
        lacking = count - len(self.unused_objects)
        if lacking > 0:
            old_count = len(self.objects)
            new_count = old_count + max(lacking, old_count // 2 + 17)
            self.unused_objects = [*range(new_count - 1, old_count - 1, -1), *self.unused_objects]
            self.objects += [None] * (new_count - old_count)
            self.reference_counts = np.concatenate([self.reference_counts, np.zeros(new_count - old_count, np.int64)])
            self.object_levels = np.concatenate([self.object_levels, np.zeros(new_count - old_count, np.int64)])
            self.element_addresses = np.concatenate([self.element_addresses, np.zeros(new_count - old_count, np.int64)])
            self._is_address_table_stale = True
        numbers = self.unused_objects[len(self.unused_objects) - count :]
        del self.unused_objects[len(self.unused_objects) - count :]
        return numbers

    def to_value(self, word: int, type_: Type) -> Value:
        """The value of a word; computes all futures if it is one."""
        if not is_boxed(type_):
            return decode_word(word, type_.dtype)
        value = self.objects[word]
        if value is None:
            self.compute_futures()
            value = self.objects[word]
        assert value is not None
        return value

    def to_token(self, port_index: int, tag: Tag, word: int) -> Token:
        """The token for a port of the image, under this tag, with the value of this word."""
        image, number = self.image, int(self.image.ports[port_index, PortColumn.NODE])
        value = self.to_value(word, image.port_types[port_index])
        return Token(number, port_index - image.first_port[number], tag, value)

    def drop_reference(self, number: int) -> None:
        """Remove a token's reference to an object; frees the object after the last one."""
        self.reference_counts[number] -= 1
        if self.reference_counts[number] == 0:
            self.retire_object(number)

    def sweep(self) -> None:
        """Free the objects and tags that the machine reported as dead."""
        r = self.registers
        for number in self.dead_objects[: r[Register.DEAD_OBJECTS]].tolist():
            self.retire_object(number)
        for frame in self.dropped_tags[: r[Register.DROPPED_TAGS]].tolist():
            del self.tags[frame]
        r[[Register.DEAD_OBJECTS, Register.DROPPED_TAGS]] = 0

    def retire_object(self, number: int) -> None:
        if self.retired_objects is not None:
            self.retired_objects.append(number)
            self.retired_bytes += getattr(self.objects[number], "nbytes", 0)
            return
        self.free_objects([number])

    def free_objects(self, numbers: Sequence[int]) -> None:
        """Forget objects to which no token, future or page of the journal refers."""
        for number in numbers:
            self.objects[number] = None
        self.unused_objects += numbers
        for number in self.elements.keys() & numbers if self.elements else ():
            del self.elements[number]
            self.element_addresses[number] = 0

    def share_elements(self, number: int, words: WordArray) -> None:
        """Let the machine read the elements of an object."""
        self.elements[number], self.element_addresses[number] = words, words.ctypes.data

    def start_journal(self) -> None:
        """Keep a journal from now on; `turn_page` returns its pages."""
        image = self.image
        last_words = [
            int(image.nodes[members, NodeColumn.MASK_WORD].max(initial=image.header_words - 1))
            for members in image.scope_members
        ]
        self.state_words = np.array(last_words, np.int64) + 1 - image.header_words
        close_words = JournalWord.CLOSE_WORDS + int(self.state_words.max())
        firing_words = JournalWord.FIRING_WORDS + int(image.nodes[:, NodeColumn.REQUIRED_TOKENS].max(initial=0))
        self.options[MachineOption.CLOSE_JOURNAL_WORDS] = close_words
        self.options[MachineOption.STEP_JOURNAL_WORDS] = (
            firing_words + close_words + JournalWord.RELEASE_WORDS * image.max_fanout
        )
        self.retired_objects = []
        self.turn_page(None)

    def turn_page(self, page: WordArray | None) -> WordArray:
        """Continue on another page of the journal, `page` if it is large enough; returns the words of the last page."""
        r, options = self.registers, self.options
        page_words = self.journal[: r[Register.JOURNAL_LENGTH]]
        bound = int(
            r[Register.OPEN_ACTIVATIONS] * options[MachineOption.CLOSE_JOURNAL_WORDS]
            + r[Register.THROTTLED] * JournalWord.RELEASE_WORDS
        )
        reserve = PAGE_WORDS + 16 * int(options[MachineOption.STEP_JOURNAL_WORDS])
        if page is None or len(page) < bound + reserve:
            page = np.empty(2 * bound + reserve, np.int64)  # takes memory only where it is written
        self.journal, r[Register.JOURNAL_LENGTH] = page, 0
        self.retired_bytes = self.page_array_bytes = 0
        if not self._is_address_table_stale:  # no other address has changed, and reading all takes 40 us
            self._address_table[[Address.JOURNAL, Address.JOURNAL_SIZE]] = page.ctypes.data, len(page)
        return page_words

    def parent_of(self, frame: int) -> int:
        """The frame of the parent activation; 0 for the root."""
        return int(self.memory[frame + FrameHeader.PARENT]) >> LOW_BITS

    def site_of(self, frame: int) -> int:
        return int(self.memory[frame + FrameHeader.PARENT]) & LOW_MASK

    def frame_words(self, frame: int) -> tuple[int, int]:
        """The two header words of a frame from which its tag follows, given the parent's tag."""
        return int(self.memory[frame + FrameHeader.PARENT]), int(self.memory[frame + FrameHeader.ITERATION])

    def pending_count(self, frame: int) -> int:
        """The number of tokens, open children, missing arguments and missing results that keep an activation open."""
        return int(self.memory[frame + FrameHeader.PENDING]) % ARGUMENT_UNIT

    def tag(self, frame: int) -> Tag:
        """The tag of an activation; created on first use, ancestors first."""
        path = []
        while frame not in self.tags and self.parent_of(frame):
            path.append(frame)
            frame = self.parent_of(frame)
        tag = self.tags.get(frame, ROOT)
        for ancestor in reversed(path):
            iteration = int(self.memory[ancestor + FrameHeader.ITERATION]) >> LOW_BITS
            tag = self.tags[ancestor] = tag.child(self.image.site_list[self.site_of(ancestor)], iteration)
            self.memory[ancestor + FrameHeader.PENDING] |= TAG_BUILT
        if len(self.dropped_tags) < len(self.tags):
            self.dropped_tags = np.zeros(2 * len(self.tags), np.int64)
            self._is_address_table_stale = True
        return tag

    def flight(self) -> Iterator[tuple[int, int, int]]:
        """The tokens in flight, in their order: port, frame and word."""
        r, mask = self.registers, len(self.ring) - 1
        for slot in range(r[Register.FLIGHT_HEAD], r[Register.FLIGHT_HEAD] + r[Register.FLIGHT_LENGTH]):
            token, word = self.ring[slot & mask].tolist()
            yield token & PORT_MASK, token >> PORT_BITS, word

    def frames(self) -> Iterator[int]:
        """The frames of the open activations, in the order of memory."""
        frame, image, memory = len(self.image.literals), self.image, self.memory.data
        sizes = image.scopes[image.sites[:, SiteColumn.SCOPE], ScopeColumn.SIZE].tolist()
        while frame < self.registers[Register.MEMORY_TOP]:
            if memory[frame + FrameHeader.ITERATION] >= 0:
                yield frame
            frame += sizes[memory[frame + FrameHeader.PARENT] & LOW_MASK]


Number = TypeVar("Number", np.int32, np.int64)


def next_power_of_two(size: int) -> int:
    """The smallest power of 2 that is at least `size`."""
    return 1 << max(size - 1, 1).bit_length()


def grow_rows(array: npt.NDArray[Number], factor: int) -> npt.NDArray[Number]:
    """A copy with `factor` times as many rows, the new ones zero."""
    copy = np.zeros((factor * len(array), *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy


def aligned_words(words: int) -> WordArray:
    """A zeroed array of words, aligned to a cache line."""
    room = np.zeros(words + CACHE_LINE_WORDS, np.int64)
    begin = -(room.ctypes.data // 8) % CACHE_LINE_WORDS
    return room[begin : begin + words]
