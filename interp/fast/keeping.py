"""Who keeps the events of a run on the fast machine: all of them, the last ones, or a log."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..event import Event
from ..image import Words
from .events import Page, Reader, Tags, is_step, items, links
from .outside import Outside, Said
from .registers import Head, R
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

    def rest(self) -> None:  # noqa: B027  # nothing, where what is on the page can be read there
        """The machine pauses: what is on the page may be asked for."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """While this lasts Python looks for no cycles: events have none, and it looks at all of them again and again. An
    event takes 5 us instead of 9."""
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
        store, outside = self.store, self.outside
        words, said, dying = store.turn(store.journal).tolist(), outside.said, store.dying or []
        outside.said, store.dying = [], []
        with _no_collection():
            for event in self._reader.events(Page(words, said)):
                self._see(event)
        store.release(dying)

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
        store, outside = self.store, self.outside
        page = store.journal
        words = store.turn(self._forget())
        self._pages.append(_Written(words, page, outside.said, store.dying or [], self._turned))
        outside.said, store.dying, self._turned = [], [], int(store.registers[R.STEPS])

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

    def events(self) -> list[Event]:
        """The last events, up to where the run is now."""
        self._forget()
        store, outside = self.store, self.outside
        pages = [Page(page.words.tolist(), page.said) for page in self._pages]
        pages.append(Page(store.journal[: store.registers[R.NOTED]].tolist(), outside.said))
        begins = self._pages[0].steps if self._pages else self._turned
        pages[0] = _without(pages[0], max(int(store.registers[R.STEPS]) - self._count - begins, 0))
        with _no_collection():
            reader = Reader(store, outside.rules, Tags(store, links(page.words for page in pages)))
            return [event for page in pages for event in reader.events(page)]


def _without(page: Page, steps: int) -> Page:
    """A page without its first steps."""
    given = 0
    for at in items(page.words):
        head = page.words[at]
        if is_step(head):
            if steps == 0:
                return Page(page.words[at:], page.said[given:])
            steps -= 1
            given += bool(head & Head.GIVEN)
    return Page([], [])
