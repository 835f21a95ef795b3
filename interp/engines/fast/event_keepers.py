"""Who keeps the events of a run on the fast machine: all of them, the last ones, or a log."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, overload

from ...image.image import Words
from ...machine.event import Event
from .events import Page, Reader, Tags, is_step, items, links
from .host_firings import Outside, Said
from .registers import Head, R
from .series import Tupled
from .store import Store


class Keeper(ABC):
    """Reads the journal of a run, page by page."""

    def begin(self, store: Store, outside: Outside) -> None:
        """The run begins here, or is taken over."""
        self.store, self.outside = store, outside
        store.begin_journal()

    @abstractmethod
    def turn(self) -> None:
        """The page is full: keep what is on it, and give the machine another one."""

    def _torn_off(self, page: Words | None) -> tuple[Words, list[Said], list[int]]:
        """What is on the page, what was said of it, and the objects that are dead but for it; the machine goes on with
        this page."""
        store, outside = self.store, self.outside
        found = store.turn(page), outside.said, store.dying or []
        outside.said, store.dying = [], []
        return found

    def rest(self) -> None:  # noqa: B027  # nothing, where what is on the page can be read there
        """The machine pauses: what is on the page may be asked for."""


@contextmanager
def no_collection() -> Iterator[None]:
    """While this lasts Python looks for no cycles: events and records have none, and it looks at all of them again and
    again. An event takes 5 us instead of 9, a record 8 instead of 15."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Reading(Keeper):
    """Makes events of each page as soon as it is full, or the machine pauses."""

    def __init__(self, see: Callable[[Event], object]) -> None:
        self._see = see

    def begin(self, store: Store, outside: Outside) -> None:
        super().begin(store, outside)
        tags = {frame: store.tag(frame) for frame in store.frames()}
        self._reader = Reader(store, outside.rules, tags)

    def turn(self) -> None:
        words, said, dying = self._torn_off(self.store.journal)
        with no_collection():
            for event in self._reader.events(Page(words.tolist(), said)):
                self._see(event)
        self.store.release(dying)

    def rest(self) -> None:
        self.turn()


def everything(see: Callable[[Event], object]) -> Keeper:
    """Shows each event to somebody."""
    return _Reading(see)


class _Written(NamedTuple):
    """A page that is full."""

    words: Words
    page: Words
    said: list[Said]
    dying: list[int]
    steps: int
    """How many had been made before it."""


class Last(Keeper):
    """Keeps the last events of a run, as words: they become events when somebody asks for them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pages: deque[_Written] = deque()

    def begin(self, store: Store, outside: Outside) -> None:
        super().begin(store, outside)
        self._began = self._turned = int(store.registers[R.STEPS])

    def turn(self) -> None:
        page = self.store.journal
        words, said, dying = self._torn_off(self._forget())
        self._pages.append(_Written(words, page, said, dying, self._turned))
        self._turned = int(self.store.registers[R.STEPS])

    def _forget(self) -> Words | None:
        """Let go of the pages before the last events; one of them, which may be written again."""
        steps, unused = int(self.store.registers[R.STEPS]), None
        while self._pages:
            following = self._pages[1].steps if len(self._pages) > 1 else self._turned
            if steps - following < self._count:
                break
            gone = self._pages.popleft()
            self.store.release(gone.dying)
            unused = gone.page
        return unused

    def events(self) -> tuple[Event, ...]:
        """The last events, up to where the run is now."""
        return tuple(self.window())

    def window(self, before: Collection[Event] = ()) -> Window:
        """The same, made when they are looked at, which is to be before the run goes on; `before` are those that were
        kept when it was taken over."""
        self._forget()
        store, end = self.store, int(self.store.registers[R.STEPS])
        page = _Written(store.journal[: store.registers[R.NOTED]], store.journal, self.outside.said, [], self._turned)
        first = max(end - self._count, self._began)
        gone = max(len(before) + end - first - self._count, 0)
        return Window(store, self.outside, tuple(before)[gone:], [*self._pages, page], first)


class Window(Tupled[Event]):
    """The last events of a run, as words until somebody looks at them. As many are made as that takes, from the end
    backwards, and kept; where Ctrl-C ends that, they are made when somebody looks again."""

    def __init__(
        self, store: Store, outside: Outside, before: tuple[Event, ...], pages: list[_Written], first: int
    ) -> None:
        """From the step `first` on, which is on the first page; `before` it were others."""
        self._store, self._outside, self._pages, self._first = store, outside, pages, first
        self._before = before
        self._length = len(before) + int(store.registers[R.STEPS]) - first
        self._made: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, at: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(at, slice):
            places = range(self._length)[at]
            made = self._since(min(places, default=self._length))
            return tuple(made[place - self._length] for place in places)
        place = range(self._length)[at]
        return self._since(place)[place - self._length]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._since(0))

    def _since(self, place: int) -> tuple[Event, ...]:
        """The events from a place on, and maybe more: at least as many are made as there were, or to walk from the last
        to the first would go through the journal each time."""
        missing = self._length - len(self._made)
        if place < missing:
            begin = max(min(place, missing - len(self._made)), 0)
            with no_collection():
                self._made = (*self._before[begin:missing], *self._between(begin, missing), *self._made)
        if len(self._made) == self._length:
            self._pages = []
        return self._made

    def _between(self, begin: int, end: int) -> Iterator[Event]:
        """The events from a place up to another, those of `before` left out."""
        begin, end = max(begin - len(self._before), 0), max(end - len(self._before), 0)
        return islice(self._events(self._first + begin), end - begin)

    def _events(self, step: int) -> Iterator[Event]:
        """The events from a step on."""
        at = bisect_right(self._pages, step, key=lambda page: page.steps) - 1
        pages = [_without(self._pages[at], step - self._pages[at].steps), *self._pages[at + 1 :]]
        known = links(page.words.tolist() for page in reversed(pages))
        reader = Reader(self._store, self._outside.rules, Tags(self._store, known))
        for page in pages:
            yield from reader.events(Page(page.words.tolist(), page.said))


def _without(page: _Written, steps: int) -> _Written:
    """A page without its first steps."""
    given, words = 0, page.words.tolist()
    for at in items(words):
        if is_step(words[at]):
            if steps == 0:
                return page._replace(words=page.words[at:], said=page.said[given:])
            steps -= 1
            given += bool(words[at] & Head.GIVEN)
    return page._replace(words=page.words[:0], said=[])
