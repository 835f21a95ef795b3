"""The token store: all arrays of a run, their growth, and the objects that words refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    MAX_DEPTH,
    PORT_BITS,
    TAG_BUILT,
    FrameHeader,
    Image,
    NodeColumn,
    ScopeColumn,
    SiteColumn,
    WordArray,
    decode_word,
    encode_word,
    is_boxed,
)
from ..interrupt import machine_memory
from ..protocol import Limits
from .registers import (
    Address,
    ComparisonColumn,
    DeliveryOrder,
    HostResult,
    JournalWord,
    MachineOption,
    Register,
    ThrottledColumn,
)
from .rows import delivery_table

SLACK_STEPS = 512
"""For how many steps at least there is to be room."""
GROWTH_FACTOR = 4
"""How many times as large an array gets where there is no room for more."""
SMALL_ARRAY_BYTES, SMALL_GROWTH_FACTOR = 2**22, 16
"""Below how many bytes one gets so many times as large: fib(28) under waves, which ends with 44 MB, spends 0.1 ns a
firing on copies, and not 1. From there on it gets all the room that it may ever need: the system gives memory when it
is used, and to copy a gigabyte takes seconds, in which nobody sees Ctrl-C."""
LARGEST_LIMIT = 2**62
"""The largest limit that a word takes; no run gets there."""
PAGE_WORDS = 2**17
"""The words of a page of the journal, and room: to turn pages of 2**15 takes 10 ns a step more."""
PAGE_TURN_BYTES = 2**24
"""A page whose dead arrays have so many bytes is turned: it has room for 10,000 of them."""
_PINNED_REFERENCES = 2**40
"""The references to a literal: more than a run takes away."""


class TokenStore:
    """The state of a run of an image, as arrays that the machine changes."""

    def __init__(
        self, image: Image, limits: Limits, order: DeliveryOrder, *, seed: int, clocked: bool, result_limit: int
    ) -> None:
        self.image = image
        graph = image.graph
        self._max_array_bytes = min(limits.bytes, machine_memory())
        """The bytes that an array may ever have."""
        self.options = np.zeros(len(MachineOption), np.int64)
        self.options[[MachineOption.ORDER, MachineOption.SEED]] = order, np.uint64(seed).astype(np.int64)
        self.options[[MachineOption.FIRING_LIMIT, MachineOption.TOKEN_LIMIT]] = (
            min(limits.firings, LARGEST_LIMIT),
            min(limits.tokens, LARGEST_LIMIT),
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
        """The firings of each wave, and the tokens that wait after it: half a word each, of which there are fewer than
        2**31. A serial loop has as many waves as steps, and of 10**6 trips, with whole words, 128 MB."""
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
        self.allocated_bytes = 0
        """The bytes of the arrays that have been made since somebody looked at memory."""
        self.dead_objects = np.zeros(4 * 2 * SLACK_STEPS, np.int64)
        self.tags: dict[int, Tag] = {}
        """The tags that have been made as objects, by their frames."""
        self.dropped_tags = np.zeros(1, np.int64)
        self.journal = np.zeros(1, np.int64)
        self.state_words = np.zeros(1, np.int64)
        self.retired_objects: list[int] | None = None
        """The objects that are dead, but of which the journal speaks; None where none is kept."""
        self.retired_bytes = 0
        """The bytes of those of the page under way."""
        self._is_address_table_stale = True
        """Whether an array has grown since its address was written down."""
        self._address_table = np.zeros(0, np.int64)

    @property
    def allows_scalar_path(self) -> bool:
        """Whether most deliveries may be those of `deliver_scalar`."""
        return not self.image.has_loop_bounds and bool(self.options[MachineOption.ORDER] != DeliveryOrder.RANDOM)

    def address_table(self) -> int:
        """What the machine's `run` takes: the address of a list of where everything is."""
        if self._is_address_table_stale:
            self._address_table, self._is_address_table_stale = self._build_address_table(), False
        return self._address_table.ctypes.data

    def _build_address_table(self) -> WordArray:
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
        }
        found = np.zeros(len(Address), np.int64)
        for of, array in rows.items():
            assert array.flags.c_contiguous
            found[of] = array.ctypes.data
        sizes: dict[Address, npt.NDArray[Any]] = {
            Address.MEMORY_SIZE: self.memory,
            Address.RING_SIZE: self.ring,
            Address.PROFILE_SIZE: self.profile,
            Address.DEAD_OBJECTS_SIZE: self.dead_objects,
            Address.THROTTLED_SIZE: self.throttled,
            Address.JOURNAL_SIZE: self.journal,
        }
        for of, array in sizes.items():
            found[of] = len(array)
        if not image.has_loop_bounds:
            found[Address.THROTTLED_SIZE] = 2**62
        return found

    @property
    def live_tokens(self) -> int:
        """How many tokens there are: in flight, waiting, parked and held."""
        r = self.registers
        return int(r[Register.FLIGHT_LENGTH] + r[Register.WAITING] + r[Register.PARKED] + r[Register.THROTTLED])

    def mark_moved(self) -> None:
        """Somebody has put an array in the place of another."""
        self._is_address_table_stale = True

    def has_room(self) -> bool:
        """Whether nothing is nearly full, the journal left out."""
        return next(self._nearly_full(), None) is None

    def growth_bytes(self) -> int:
        """The bytes that `grow` would touch: those of the copies; what is beyond them is memory when it is used."""
        return sum(array.nbytes for array in self._nearly_full())

    def grow(self) -> None:
        """Make what is nearly full larger."""
        for array in self._nearly_full():
            if array.nbytes < SMALL_ARRAY_BYTES:
                self._grow(array, SMALL_GROWTH_FACTOR)
                continue
            try:
                self._grow(array, max(GROWTH_FACTOR, self._max_array_bytes // array.nbytes))
            except MemoryError:  # the system promises no more than it has
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
        grown = aligned_words(factor * len(self.memory))
        grown[: len(self.memory)] = self.memory
        self.memory, self._is_address_table_stale = grown, True

    def _grow_profile(self, factor: int) -> None:
        self.profile, self._is_address_table_stale = grow_rows(self.profile, factor), True

    def _grow_throttled(self, factor: int) -> None:
        self.throttled, self._is_address_table_stale = grow_rows(self.throttled, factor), True
        self.release_rows = np.zeros(len(self.throttled), np.int64)

    def _nearly_full(self) -> Iterator[npt.NDArray[Any]]:
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
        """Go on with arrays in which another machine went on; the oldest token in flight is the first of its ring."""
        self.memory, self.ring, self.profile = memory, ring, profile
        self.registers[Register.FLIGHT_HEAD] = 0
        if not self.registers[Register.OPEN_ACTIVATIONS]:  # nor opens any more, so that nothing of memory is used
            self.registers[Register.MEMORY_TOP] = len(self.image.literals)
        self._is_address_table_stale = True

    def reserve_ring(self, more: int) -> None:
        """Make room for so many tokens in flight more."""
        r = self.registers
        length = int(r[Register.FLIGHT_LENGTH])
        size = next_power_of_two(length + int(r[Register.THROTTLED]) + more + 1)
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
        """Make room for so many tokens that a cell wakes."""
        if len(self.woken_tokens) < tokens:
            self.woken_tokens = np.zeros((2 * tokens, 2), np.int64)
            self._is_address_table_stale = True

    def reserve_memory(self, words: int) -> None:
        """Make memory as large as so many words, and room."""
        wanted = words + 2 * SLACK_STEPS * self.image.largest_frame
        while len(self.memory) < wanted:
            self._grow_memory(GROWTH_FACTOR)

    def reserve_profile(self, waves: int) -> None:
        """Make room for so many waves."""
        while len(self.profile) < waves + SLACK_STEPS:
            self._grow_profile(GROWTH_FACTOR)

    def reserve_throttled(self, tokens: int) -> None:
        """Make room for so many tokens that bounds hold."""
        while self.image.has_loop_bounds and len(self.throttled) < tokens + SLACK_STEPS:
            self._grow_throttled(GROWTH_FACTOR)

    def to_word(self, value: Value, type_: Type, references: int) -> int:
        """The word of a value; an object gets a number, and so many tokens refer to it."""
        if not is_boxed(type_):
            return encode_word(value, type_.dtype)
        if not self.unused_objects:
            self.unused_objects = list(
                range(len(self.objects) + len(self.objects) // 2 + 16, len(self.objects) - 1, -1)
            )
            self.objects += [None] * len(self.unused_objects)
            grown = np.zeros(len(self.objects), np.int64)
            grown[: len(self.reference_counts)] = self.reference_counts
            self.reference_counts = grown
            self._is_address_table_stale = True
        number = self.unused_objects.pop()
        self.objects[number] = value
        self.allocated_bytes += getattr(value, "nbytes", 0)
        self.reference_counts[number] = references
        return number

    def to_value(self, word: int, type_: Type) -> Value:
        """The value of a word."""
        if not is_boxed(type_):
            return decode_word(word, type_.dtype)
        found = self.objects[word]
        assert found is not None
        return found

    def drop_reference(self, number: int) -> None:
        """A token that referred to an object is gone."""
        self.reference_counts[number] -= 1
        if self.reference_counts[number] == 0:
            self._free_object(number)

    def sweep(self) -> None:
        """Let go of the objects and tags that the machine has told to be dead."""
        r = self.registers
        for number in self.dead_objects[: r[Register.DEAD_OBJECTS]].tolist():
            self._free_object(number)
        for frame in self.dropped_tags[: r[Register.DROPPED_TAGS]].tolist():
            del self.tags[frame]
        r[[Register.DEAD_OBJECTS, Register.DROPPED_TAGS]] = 0

    def _free_object(self, number: int) -> None:
        if self.retired_objects is not None:
            self.retired_objects.append(number)
            self.retired_bytes += getattr(self.objects[number], "nbytes", 0)
            return
        self.objects[number] = None
        self.unused_objects.append(number)

    def start_journal(self) -> None:
        """Keep one from now on, of which `turn_page` gives the pages."""
        image = self.image
        last = [
            int(image.nodes[members, NodeColumn.MASK_WORD].max(initial=image.header_words - 1))
            for members in image.scope_members
        ]
        self.state_words = np.array(last, np.int64) + 1 - image.header_words
        closing = JournalWord.CLOSE_WORDS + int(self.state_words.max())
        firing = JournalWord.FIRING_WORDS + int(image.nodes[:, NodeColumn.REQUIRED_TOKENS].max(initial=0))
        self.options[MachineOption.CLOSE_JOURNAL_WORDS] = closing
        self.options[MachineOption.STEP_JOURNAL_WORDS] = firing + closing + JournalWord.RELEASE_WORDS * image.max_fanout
        self.retired_objects = []
        self.turn_page(None)

    def turn_page(self, page: WordArray | None) -> WordArray:
        """Go on with another page of the journal, this one if it is large enough; what was written on the last one."""
        r, options = self.registers, self.options
        written = self.journal[: r[Register.JOURNAL_LENGTH]]
        bound = int(
            r[Register.OPEN_ACTIVATIONS] * options[MachineOption.CLOSE_JOURNAL_WORDS]
            + r[Register.THROTTLED] * JournalWord.RELEASE_WORDS
        )
        room = PAGE_WORDS + 16 * int(options[MachineOption.STEP_JOURNAL_WORDS])
        if page is None or len(page) < bound + room:
            page = np.empty(2 * bound + room, np.int64)  # which is memory where it is written
        self.journal, r[Register.JOURNAL_LENGTH], self.retired_bytes = page, 0, 0
        if not self._is_address_table_stale:  # all others are where they were: to ask each takes 40 us
            self._address_table[[Address.JOURNAL, Address.JOURNAL_SIZE]] = page.ctypes.data, len(page)
        return written

    def free_objects(self, dead: Iterable[int]) -> None:
        """Let go of objects of which no journal speaks any more."""
        for number in dead:
            self.objects[number] = None
            self.unused_objects.append(number)

    def parent_of(self, frame: int) -> int:
        """The frame around this one; 0 for that of the root."""
        return int(self.memory[frame + FrameHeader.PARENT]) >> LOW_BITS

    def site_of(self, frame: int) -> int:
        return int(self.memory[frame + FrameHeader.PARENT]) & ((1 << LOW_BITS) - 1)

    def frame_words(self, frame: int) -> tuple[int, int]:
        """The words of a frame that say what its tag is, but for those around it."""
        return int(self.memory[frame + FrameHeader.PARENT]), int(self.memory[frame + FrameHeader.ITERATION])

    def pending_count(self, frame: int) -> int:
        """What has to happen in an activation before it closes."""
        return int(self.memory[frame + FrameHeader.PENDING]) % ARGUMENT_UNIT

    def tag(self, frame: int) -> Tag:
        """The tag of an activation, made where it has not been: what is around it first."""
        path = []
        while frame not in self.tags and self.parent_of(frame):
            path.append(frame)
            frame = self.parent_of(frame)
        tag = self.tags.get(frame, ROOT)
        for each in reversed(path):
            iteration = int(self.memory[each + FrameHeader.ITERATION]) >> LOW_BITS
            tag = self.tags[each] = tag.child(self.image.site_list[self.site_of(each)], iteration)
            self.memory[each + FrameHeader.PENDING] |= TAG_BUILT
        if len(self.dropped_tags) < len(self.tags):
            self.dropped_tags = np.zeros(2 * len(self.tags), np.int64)
            self._is_address_table_stale = True
        return tag

    def flight(self) -> Iterator[tuple[int, int, int]]:
        """The tokens in flight, in their order: port, frame and word."""
        r, mask = self.registers, len(self.ring) - 1
        for at in range(r[Register.FLIGHT_HEAD], r[Register.FLIGHT_HEAD] + r[Register.FLIGHT_LENGTH]):
            token, word = self.ring[at & mask].tolist()
            yield token & (1 << PORT_BITS) - 1, token >> PORT_BITS, word

    def frames(self) -> Iterator[int]:
        """The frames of the open activations, in the order of memory."""
        frame, image, memory = len(self.image.literals), self.image, self.memory.data
        sizes = image.scopes[image.sites[:, SiteColumn.SCOPE], ScopeColumn.SIZE].tolist()
        while frame < self.registers[Register.MEMORY_TOP]:
            if memory[frame + FrameHeader.ITERATION] >= 0:
                yield frame
            frame += sizes[memory[frame + FrameHeader.PARENT] & ((1 << LOW_BITS) - 1)]


Number = TypeVar("Number", np.int32, np.int64)


def next_power_of_two(size: int) -> int:
    """The smallest power of 2 that is at least `size`."""
    return 1 << max(size - 1, 1).bit_length()


def grow_rows(array: npt.NDArray[Number], factor: int) -> npt.NDArray[Number]:
    """A copy with `factor` times as many rows, the new ones zero."""
    grown = np.zeros((factor * len(array), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def aligned_words(words: int) -> WordArray:
    """A zeroed array of words, aligned to a cache line."""
    room = np.zeros(words + CACHE_LINE_WORDS, np.int64)
    begin = -(room.ctypes.data // 8) % CACHE_LINE_WORDS
    return room[begin : begin + words]
