"""Event keepers: what keeps the events of a run on the fast machine, all, the last ones, or in a log."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, overload

from ...image.image import WordArray
from ...machine.event import Event
from .events import FrameTags, JournalPage, JournalReader, is_step, item_offsets, reopened_frame_links
from .host_firings import HostFiringNote, HostFirings
from .registers import JournalHead, Register
from .series import TupleLike
from .store import TokenStore


class EventKeeper(ABC):
    """Reads the journal of a run, page by page."""

    def attach(self, store: TokenStore, outside: HostFirings) -> None:
        """Attach to a run at its beginning or after an import."""
        self.store, self.host = store, outside
        store.start_journal()

    @abstractmethod
    def turn_page(self) -> None:
        """Keep the content of a full page, and give the machine another page."""

    def _detach_page(self, page: WordArray | None) -> tuple[WordArray, list[HostFiringNote], list[int]]:
        """The words of the page, its notes, and the objects that only it keeps alive; the machine continues with
        `page`."""
        store, outside = self.store, self.host
        found = store.turn_page(page), outside.notes, store.retired_objects or []
        outside.notes, store.retired_objects = [], []
        return found

    def on_pause(self) -> None:  # noqa: B027  # nothing, where what is on the page can be read there
        """Called when the machine pauses: the content of the page may be needed."""


@contextmanager
def without_gc() -> Iterator[None]:
    """A context without garbage collection: events and records have no cycles, but the collector scans all of them
    again and again. An event takes 5 us instead of 9, a record 8 instead of 15."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _EventForwarder(EventKeeper):
    """Makes events of each page as soon as it is full, or the machine pauses."""

    def __init__(self, see: Callable[[Event], object]) -> None:
        self._callback = see

    def attach(self, store: TokenStore, outside: HostFirings) -> None:
        super().attach(store, outside)
        tags = {frame: store.tag(frame) for frame in store.frames()}
        self._reader = JournalReader(store, outside.rules, tags)

    def turn_page(self) -> None:
        words, said, dying = self._detach_page(self.store.journal)
        with without_gc():
            for event in self._reader.events(JournalPage(words.tolist(), said)):
                self._callback(event)
        self.store.free_objects(dying)

    def on_pause(self) -> None:
        self.turn_page()


def forward_events(see: Callable[[Event], object]) -> EventKeeper:
    """A keeper that calls a function with each event."""
    return _EventForwarder(see)


class _FullPage(NamedTuple):
    """A full page."""

    words: WordArray
    buffer: WordArray
    notes: list[HostFiringNote]
    retired_objects: list[int]
    first_step: int
    """The number of steps before it."""


class Last(EventKeeper):
    """Keeps the last events of a run as words, and decodes them on demand."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pages: deque[_FullPage] = deque()

    def attach(self, store: TokenStore, outside: HostFirings) -> None:
        super().attach(store, outside)
        self._first_step = self._page_start = int(store.registers[Register.STEPS])

    def turn_page(self) -> None:
        page = self.store.journal
        words, said, dying = self._detach_page(self._discard_pages())
        self._pages.append(_FullPage(words, page, said, dying, self._page_start))
        self._page_start = int(self.store.registers[Register.STEPS])

    def _discard_pages(self) -> WordArray | None:
        """Drop the pages before the last events; returns one of them for reuse, if any."""
        steps, unused = int(self.store.registers[Register.STEPS]), None
        while self._pages:
            following = self._pages[1].first_step if len(self._pages) > 1 else self._page_start
            if steps - following < self._count:
                break
            gone = self._pages.popleft()
            self.store.free_objects(gone.retired_objects)
            unused = gone.buffer
        return unused

    def events(self) -> tuple[Event, ...]:
        """The last events, up to the current step."""
        return tuple(self.window())

    def window(self, earlier_events: Collection[Event] = ()) -> EventWindow:
        """The same, decoded on access, which must happen before the run continues; `earlier_events` are those kept
        before the import."""
        self._discard_pages()
        store, end = self.store, int(self.store.registers[Register.STEPS])
        page = _FullPage(
            store.journal[: store.registers[Register.JOURNAL_LENGTH]],
            store.journal,
            self.host.notes,
            [],
            self._page_start,
        )
        first = max(end - self._count, self._first_step)
        gone = max(len(earlier_events) + end - first - self._count, 0)
        return EventWindow(store, self.host, tuple(earlier_events)[gone:], [*self._pages, page], first)


class EventWindow(TupleLike[Event]):
    """The last events of a run, decoded on access, from the end backwards, and cached. If Ctrl-C interrupts decoding,
    the next access resumes it."""

    def __init__(
        self, store: TokenStore, outside: HostFirings, before: tuple[Event, ...], pages: list[_FullPage], first: int
    ) -> None:
        """The events from step `first` on, which is on the first page; the events `before` come from earlier."""
        self._store, self._host, self._pages, self._first_step = store, outside, pages, first
        self._earlier_events = before
        self._length = len(before) + int(store.registers[Register.STEPS]) - first
        self._decoded: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, at: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(at, slice):
            places = range(self._length)[at]
            made = self._decode_from(min(places, default=self._length))
            return tuple(made[place - self._length] for place in places)
        place = range(self._length)[at]
        return self._decode_from(place)[place - self._length]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._decode_from(0))

    def _decode_from(self, place: int) -> tuple[Event, ...]:
        """The events from a place on, and maybe more: each call at least doubles the decoded events, so that a walk
        from last to first does not read the whole journal each time."""
        missing = self._length - len(self._decoded)
        if place < missing:
            begin = max(min(place, missing - len(self._decoded)), 0)
            with without_gc():
                self._decoded = (
                    *self._earlier_events[begin:missing],
                    *self._decode_between(begin, missing),
                    *self._decoded,
                )
        if len(self._decoded) == self._length:
            self._pages = []
        return self._decoded

    def _decode_between(self, begin: int, end: int) -> Iterator[Event]:
        """The events between two places, except those of `_earlier_events`."""
        begin, end = max(begin - len(self._earlier_events), 0), max(end - len(self._earlier_events), 0)
        return islice(self._events_from(self._first_step + begin), end - begin)

    def _events_from(self, step: int) -> Iterator[Event]:
        """The events from a step on."""
        at = bisect_right(self._pages, step, key=lambda page: page.first_step) - 1
        pages = [_skip_steps(self._pages[at], step - self._pages[at].first_step), *self._pages[at + 1 :]]
        known = reopened_frame_links(page.words.tolist() for page in reversed(pages))
        reader = JournalReader(self._store, self._host.rules, FrameTags(self._store, known))
        for page in pages:
            yield from reader.events(JournalPage(page.words.tolist(), page.notes))


def _skip_steps(page: _FullPage, steps: int) -> _FullPage:
    """A page without its first steps."""
    given, words = 0, page.words.tolist()
    for at in item_offsets(words):
        if is_step(words[at]):
            if steps == 0:
                return page._replace(words=page.words[at:], notes=page.notes[given:])
            steps -= 1
            given += bool(words[at] & JournalHead.HOST_FIRING)
    return page._replace(words=page.words[:0], notes=[])
