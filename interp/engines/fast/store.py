"""The token store: all arrays of a run, and how they grow; and the objects that its words stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.tag import ROOT, Tag
from ....core.types import Type
from ....core.value import Value
from ...image.image import (
    COMING,
    DEEPEST,
    LOW_BITS,
    NODE,
    PORT_BITS,
    SCOPE,
    SITE,
    TAGGED,
    Header,
    Image,
    Words,
    is_boxed,
    value_of,
    word_of,
)
from ..interrupt import machine_memory
from ..reference import Limits
from .arrays import aligned, grown_by, power
from .registers import NEED, A, Given, Held, Mode, Noted, Options, R
from .rows import rows_of

SLACK = 512
"""For how many steps at least there is to be room."""
FACTOR = 4
"""How many times as large an array gets where there is no room for more."""
SMALL, LEAP = 2**22, 16
"""Below how many bytes one gets so many times as large: fib(28) under waves, which ends with 44 MB, spends 0.1 ns a
firing on copies, and not 1. From there on it gets all the room that it may ever need: the system gives memory when it
is used, and to copy a gigabyte takes seconds, in which nobody sees Ctrl-C."""
MOST = 2**62
"""The largest limit that a word takes; no run gets there."""
PAGE = 2**17
"""The words of a page of the journal, and room: to turn pages of 2**15 takes 10 ns a step more."""
HEAVY = 2**24
"""A page whose dead arrays have so many bytes is turned: it has room for 10,000 of them."""
_PINNED = 2**40
"""The references to a literal: more than a run takes away."""


class Store:
    """The state of a run of an image, as arrays that the machine changes."""

    def __init__(self, image: Image, limits: Limits, mode: Mode, *, seed: int, clocked: bool, enough: int) -> None:
        self.image = image
        graph = image.graph
        self._most = min(limits.bytes, machine_memory())
        """The bytes that an array may ever have."""
        self.options = np.zeros(len(Options), np.int64)
        self.options[[Options.MODE, Options.SEED]] = mode, np.uint64(seed).astype(np.int64)
        self.options[[Options.FIRINGS, Options.TOKENS]] = min(limits.firings, MOST), min(limits.tokens, MOST)
        self.options[Options.DEPTH] = min(limits.depth, DEEPEST)
        self.options[Options.ENOUGH] = enough
        self.options[Options.CLOCKED] = clocked
        self.options[[Options.FAN, Options.LARGEST]] = image.fan, image.largest
        self.options[Options.PLAIN] = self.is_plain
        self.registers = np.zeros(len(R), np.int64)
        self.registers[R.TOP] = len(image.literals)
        self.registers[[R.HELD_TOP, R.PASSED]] = 1, -1
        self.memory = aligned(len(image.literals) + (2 * SLACK) * image.largest)
        self.memory[: len(image.literals)] = image.literals
        self.ring = np.zeros((power(2 * SLACK * image.fan), 2), np.int64)
        self.profile = np.zeros((2 * SLACK if clocked else 1, 2), np.int32)
        """The firings of each wave, and the tokens that wait after it: half a word each, of which there are fewer than
        2**31. A serial loop has as many waves as steps, and of 10**6 trips, with whole words, 128 MB."""
        self.free = np.zeros(len(image.scopes), np.int64)
        self.counts = np.zeros(len(graph.nodes), np.int64)
        self.begun = np.zeros(len(image.sites), np.int64)
        self.results = np.zeros((max(len(graph.results), 1), 2), np.int64)
        self.given = np.zeros(len(Given), np.int64)
        self.woken = np.zeros((1, 2), np.int64)
        self.held = np.zeros((2 * SLACK if image.is_bounded else 1, len(Held)), np.int64)
        self.due = np.zeros(len(self.held), np.int64)
        self.codes = np.ascontiguousarray(image.nodes[:, NODE.CODE])
        self.rows, self._sends, self._routes = rows_of(image)
        self.needs = np.zeros((1, 2, len(NEED)), np.int64)
        self.objects: list[Value | None] = list(image.objects)
        self.references = np.full(max(len(self.objects), 1), _PINNED, np.int64)
        self.unused: list[int] = []
        self.made = 0
        """The bytes of the arrays that have been made since somebody looked at memory."""
        self.dead = np.zeros(4 * 2 * SLACK, np.int64)
        self.tags: dict[int, Tag] = {}
        """The tags that have been made as objects, by their frames."""
        self.lost = np.zeros(1, np.int64)
        self.journal = np.zeros(1, np.int64)
        self.states = np.zeros(1, np.int64)
        self.dying: list[int] | None = None
        """The objects that are dead, but of which the journal speaks; None where none is kept."""
        self.dying_bytes = 0
        """The bytes of those of the page under way."""
        self._moved = True
        """Whether an array has grown since its address was written down."""
        self._addresses = np.zeros(0, np.int64)

    @property
    def is_plain(self) -> bool:
        """Whether most deliveries may be those of `plain`."""
        return not self.image.is_bounded and bool(self.options[Options.MODE] != Mode.RANDOM)

    def addresses(self) -> int:
        """What the machine's `run` takes: the address of a list of where everything is."""
        if self._moved:
            self._addresses, self._moved = self._found(), False
        return self._addresses.ctypes.data

    def _found(self) -> Words:
        image = self.image
        rows: dict[A, npt.NDArray[Any]] = {
            A.OPTIONS: self.options, A.REGISTERS: self.registers, A.MEMORY: self.memory, A.RING: self.ring,
            A.PROFILE: self.profile, A.DEAD: self.dead, A.LOST: self.lost, A.REFERENCES: self.references,
            A.NODES: image.nodes, A.PORTS: image.ports, A.EDGES: image.edges, A.ROUTES: image.routes,
            A.SITES: image.sites, A.SCOPES: image.scopes, A.CODES: self.codes, A.COUNTS: self.counts,
            A.BEGUN: self.begun, A.FREE: self.free, A.RESULTS: self.results, A.GIVEN: self.given, A.WOKEN: self.woken,
            A.HELD: self.held, A.DUE: self.due, A.ROWS: self.rows, A.SENDS: self._sends, A.SEND_ROUTES: self._routes,
            A.JOURNAL: self.journal, A.STATES: self.states, A.NEEDS: self.needs,
        }  # fmt: skip
        found = np.zeros(len(A), np.int64)
        for of, array in rows.items():
            assert array.flags.c_contiguous
            found[of] = array.ctypes.data
        sizes: dict[A, npt.NDArray[Any]] = {
            A.MEMORY_SIZE: self.memory,
            A.RING_SIZE: self.ring,
            A.PROFILE_SIZE: self.profile,
            A.DEAD_SIZE: self.dead,
            A.HELD_SIZE: self.held,
            A.JOURNAL_SIZE: self.journal,
        }
        for of, array in sizes.items():
            found[of] = len(array)
        if not image.is_bounded:
            found[A.HELD_SIZE] = 2**62
        return found

    @property
    def live(self) -> int:
        """How many tokens there are: in flight, waiting, parked and held."""
        r = self.registers
        return int(r[R.LENGTH] + r[R.WAITING] + r[R.PARKED] + r[R.HOLDING])

    def has_moved(self) -> None:
        """Somebody has put an array in the place of another."""
        self._moved = True

    def has_room(self) -> bool:
        """Whether nothing is nearly full, the journal left out."""
        return next(self._small(), None) is None

    def growth(self) -> int:
        """The bytes that `grow` would touch: those of the copies; what is beyond them is memory when it is used."""
        return sum(array.nbytes for array in self._small())

    def grow(self) -> None:
        """Make what is nearly full larger."""
        for array in self._small():
            if array.nbytes < SMALL:
                self._grow(array, LEAP)
                continue
            try:
                self._grow(array, max(FACTOR, self._most // array.nbytes))
            except MemoryError:  # the system promises no more than it has
                self._grow(array, FACTOR)

    def _grow(self, array: npt.NDArray[Any], factor: int) -> None:
        if array is self.memory:
            self._grow_memory(factor)
        elif array is self.ring:
            self.fit_ring((factor - 1) * len(self.ring))
        elif array is self.profile:
            self._grow_profile(factor)
        else:
            self._grow_held(factor)

    def _grow_memory(self, factor: int) -> None:
        grown = aligned(factor * len(self.memory))
        grown[: len(self.memory)] = self.memory
        self.memory, self._moved = grown, True

    def _grow_profile(self, factor: int) -> None:
        self.profile, self._moved = grown_by(self.profile, factor), True

    def _grow_held(self, factor: int) -> None:
        self.held, self._moved = grown_by(self.held, factor), True
        self.due = np.zeros(len(self.held), np.int64)

    def _small(self) -> Iterator[npt.NDArray[Any]]:
        r, image = self.registers, self.image
        if (len(self.memory) - r[R.TOP]) // image.largest < SLACK:
            yield self.memory
        if (len(self.ring) - r[R.LENGTH] - r[R.HOLDING]) // image.fan < SLACK:
            yield self.ring
        if self.options[Options.CLOCKED] and len(self.profile) - r[R.WAVES] < SLACK:
            yield self.profile
        if image.is_bounded and (len(self.held) - r[R.HELD_TOP]) // image.fan < SLACK:
            yield self.held

    def adopt(self, memory: Words, ring: Words, profile: npt.NDArray[np.int32]) -> None:
        """Go on with arrays in which another machine went on; the oldest token in flight is the first of its ring."""
        self.memory, self.ring, self.profile = memory, ring, profile
        self.registers[R.HEAD] = 0
        if not self.registers[R.OPEN]:  # nor opens any more, so that nothing of memory is used
            self.registers[R.TOP] = len(self.image.literals)
        self._moved = True

    def fit_ring(self, more: int) -> None:
        """Make room for so many tokens in flight more."""
        r = self.registers
        length = int(r[R.LENGTH])
        size = power(length + int(r[R.HOLDING]) + more + 1)
        if size <= len(self.ring):
            return
        head = int(r[R.HEAD])
        first = min(length, len(self.ring) - head)
        ring = np.empty((size, 2), np.int64)
        ring[:first] = self.ring[head : head + first]
        ring[first:length] = self.ring[: length - first]
        self.ring, r[R.HEAD] = ring, 0
        self._moved = True

    def fit_woken(self, tokens: int) -> None:
        """Make room for so many tokens that a cell wakes."""
        if len(self.woken) < tokens:
            self.woken = np.zeros((2 * tokens, 2), np.int64)
            self._moved = True

    def fit_memory(self, words: int) -> None:
        """Make memory as large as so many words, and room."""
        wanted = words + 2 * SLACK * self.image.largest
        while len(self.memory) < wanted:
            self._grow_memory(FACTOR)

    def fit_profile(self, waves: int) -> None:
        """Make room for so many waves."""
        while len(self.profile) < waves + SLACK:
            self._grow_profile(FACTOR)

    def fit_held(self, tokens: int) -> None:
        """Make room for so many tokens that bounds hold."""
        while self.image.is_bounded and len(self.held) < tokens + SLACK:
            self._grow_held(FACTOR)

    def word(self, value: Value, type_: Type, references: int) -> int:
        """The word of a value; an object gets a number, and so many tokens refer to it."""
        if not is_boxed(type_):
            return word_of(value, type_.dtype)
        if not self.unused:
            self.unused = list(range(len(self.objects) + len(self.objects) // 2 + 16, len(self.objects) - 1, -1))
            self.objects += [None] * len(self.unused)
            grown = np.zeros(len(self.objects), np.int64)
            grown[: len(self.references)] = self.references
            self.references = grown
            self._moved = True
        number = self.unused.pop()
        self.objects[number] = value
        self.made += getattr(value, "nbytes", 0)
        self.references[number] = references
        return number

    def value(self, word: int, type_: Type) -> Value:
        """The value of a word."""
        if not is_boxed(type_):
            return value_of(word, type_.dtype)
        found = self.objects[word]
        assert found is not None
        return found

    def drop(self, number: int) -> None:
        """A token that referred to an object is gone."""
        self.references[number] -= 1
        if self.references[number] == 0:
            self._let_go(number)

    def sweep(self) -> None:
        """Let go of the objects and tags that the machine has told to be dead."""
        r = self.registers
        for number in self.dead[: r[R.DEAD]].tolist():
            self._let_go(number)
        for frame in self.lost[: r[R.LOST]].tolist():
            del self.tags[frame]
        r[[R.DEAD, R.LOST]] = 0

    def _let_go(self, number: int) -> None:
        if self.dying is not None:
            self.dying.append(number)
            self.dying_bytes += getattr(self.objects[number], "nbytes", 0)
            return
        self.objects[number] = None
        self.unused.append(number)

    def begin_journal(self) -> None:
        """Keep one from now on, of which `turn` gives the pages."""
        image = self.image
        last = [int(image.nodes[members, NODE.STATE].max(initial=image.header - 1)) for members in image.members]
        self.states = np.array(last, np.int64) + 1 - image.header
        closing = Noted.CLOSED_WORDS + int(self.states.max())
        firing = Noted.FIRED_WORDS + int(image.nodes[:, NODE.NEEDS].max(initial=0))
        self.options[Options.CLOSING] = closing
        self.options[Options.NOTING] = firing + closing + Noted.RELEASED_WORDS * image.fan
        self.dying = []
        self.turn(None)

    def turn(self, page: Words | None) -> Words:
        """Go on with another page of the journal, this one if it is large enough; what was written on the last one."""
        r, options = self.registers, self.options
        written = self.journal[: r[R.NOTED]]
        bound = int(r[R.OPEN] * options[Options.CLOSING] + r[R.HOLDING] * Noted.RELEASED_WORDS)
        room = PAGE + 16 * int(options[Options.NOTING])
        if page is None or len(page) < bound + room:
            page = np.empty(2 * bound + room, np.int64)  # which is memory where it is written
        self.journal, r[R.NOTED], self.dying_bytes = page, 0, 0
        if not self._moved:  # all others are where they were: to ask each takes 40 us
            self._addresses[[A.JOURNAL, A.JOURNAL_SIZE]] = page.ctypes.data, len(page)
        return written

    def release(self, dead: Iterable[int]) -> None:
        """Let go of objects of which no journal speaks any more."""
        for number in dead:
            self.objects[number] = None
            self.unused.append(number)

    def parent_of(self, frame: int) -> int:
        """The frame around this one; 0 for that of the root."""
        return int(self.memory[frame + Header.ABOVE]) >> LOW_BITS

    def site_of(self, frame: int) -> int:
        return int(self.memory[frame + Header.ABOVE]) & ((1 << LOW_BITS) - 1)

    def link(self, frame: int) -> tuple[int, int]:
        """The words of a frame that say what its tag is, but for those around it."""
        return int(self.memory[frame + Header.ABOVE]), int(self.memory[frame + Header.WHEN])

    def pending(self, frame: int) -> int:
        """What has to happen in an activation before it closes."""
        return int(self.memory[frame + Header.COUNTS]) % COMING

    def tag(self, frame: int) -> Tag:
        """The tag of an activation, made where it has not been: what is around it first."""
        path = []
        while frame not in self.tags and self.parent_of(frame):
            path.append(frame)
            frame = self.parent_of(frame)
        tag = self.tags.get(frame, ROOT)
        for each in reversed(path):
            iteration = int(self.memory[each + Header.WHEN]) >> LOW_BITS
            tag = self.tags[each] = tag.child(self.image.site_list[self.site_of(each)], iteration)
            self.memory[each + Header.COUNTS] |= TAGGED
        if len(self.lost) < len(self.tags):
            self.lost = np.zeros(2 * len(self.tags), np.int64)
            self._moved = True
        return tag

    def flight(self) -> Iterator[tuple[int, int, int]]:
        """The tokens in flight, in their order: port, frame and word."""
        r, mask = self.registers, len(self.ring) - 1
        for at in range(r[R.HEAD], r[R.HEAD] + r[R.LENGTH]):
            token, word = self.ring[at & mask].tolist()
            yield token & (1 << PORT_BITS) - 1, token >> PORT_BITS, word

    def frames(self) -> Iterator[int]:
        """The frames of the open activations, in the order of memory."""
        frame, image, memory = len(self.image.literals), self.image, self.memory.data
        sizes = image.scopes[image.sites[:, SITE.SCOPE], SCOPE.SIZE].tolist()
        while frame < self.registers[R.TOP]:
            if memory[frame + Header.WHEN] >= 0:
                yield frame
            frame += sizes[memory[frame + Header.ABOVE] & ((1 << LOW_BITS) - 1)]
