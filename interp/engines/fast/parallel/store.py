"""The token store of one core of several: its tokens know in which wave they are delivered, and some of its frames are
proxies, which stand for activations that another core has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from weakref import ref

import numpy as np

from .....core.tag import Tag
from ....image.image import NODE, SCOPE, SITE, Image, Words
from ....image.opcodes import Code
from ....outcome.statistics import Stats
from ...reference import Limits
from ..arrays import power
from ..registers import PROXY, WAVE, A, Mode, R
from ..rows import ROW, rows_of
from ..series import Series
from ..shared import MESSAGE
from ..store import SLACK, Store

REST, LONG_REST = 50e-6, 1e-3
"""How many seconds an idle core sleeps between two looks at its messages, at first; each time it sleeps twice as long,
up to so many: to wake up every 50 us makes the core at work half as fast where others want the processor too."""


class Stamped(Store):
    """What one core has of a run; `shared` is what all share, and `cores` are the stores of all: whoever wants their
    tags holds these."""

    def __init__(self, image: Image, limits: Limits, shared: Words, cores: Sequence[ref[Stamped]]) -> None:
        super().__init__(image, limits, Mode.YOUNGEST, seed=0, clocked=True, enough=0)
        self.registers[R.CORE] = len(cores)
        self.rows, self._shared, self._cores = rows_for_cores(image), shared, cores
        self.profile = np.zeros((2 * SLACK, len(WAVE)), np.int64)
        self.rest = REST
        """How many seconds the core sleeps when it has nothing to do next."""
        self.waits = np.zeros(len(self.memory), np.int64)
        self.waves = np.zeros(len(self.ring), np.int64)

    def _found(self) -> Words:
        found = super()._found()
        found[[A.WAITS, A.WAVES]] = self.waits.ctypes.data, self.waves.ctypes.data
        found[A.SHARED] = self._shared.ctypes.data
        return found

    def growth(self) -> int:
        return 2 * super().growth()

    def _grow_memory(self, factor: int) -> None:
        waits = np.zeros(factor * len(self.memory), np.int64)
        super()._grow_memory(factor)
        waits[: len(self.waits)] = self.waits
        self.waits = waits

    def fit_ring(self, more: int) -> None:
        r, length = self.registers, int(self.registers[R.LENGTH])
        waves = np.zeros(max(len(self.ring), power(length + more + 1)), np.int64)
        head, size = int(r[R.HEAD]), len(self.ring)
        super().fit_ring(more)
        if len(self.ring) > size:
            first = min(length, size - head)
            waves[:first] = self.waves[head : head + first]
            waves[first:length] = self.waves[: length - first]
            self.waves = waves

    def is_proxy(self, frame: int) -> bool:
        return bool(self.memory[frame + self.image.header] < 0)

    def frames(self) -> Iterator[int]:
        """The frames of the open activations that this core has itself."""
        frame = len(self.image.literals)
        while frame < self.registers[R.TOP]:
            is_proxy, site = self.is_proxy(frame), self.site_of(frame)
            if not is_proxy and self.memory[frame + 1] >= 0:
                yield frame
            scope = self.image.sites[site, SITE.SCOPE]
            frame += self.image.largest if is_proxy else int(self.image.scopes[scope, SCOPE.SIZE])

    def tag(self, frame: int) -> Tag:
        """The tag of an activation: what is around it may be another core's."""
        proxies: list[tuple[Stamped, int]] = []
        store, top = self, self._outermost(frame)
        while store.is_proxy(top) and top not in store.tags:
            proxies.append((store, top))
            store, around = store._home(top)
            top = store._outermost(around)
        for store, proxy in reversed(proxies):
            home, around = store._home(proxy)
            store.tags[proxy] = Store.tag(home, around)
        return super().tag(frame)

    def _outermost(self, frame: int) -> int:
        """Of what is around a frame in this store, the last that has no tag yet."""
        while frame not in self.tags and self.parent_of(frame):
            frame = self.parent_of(frame)
        return frame

    def _home(self, proxy: int) -> tuple[Stamped, int]:
        """What a proxy stands for: the store of a core, and a frame there."""
        core, frame = self.waits[[proxy + PROXY.CORE, proxy + PROXY.FRAME]].tolist()
        home = self._cores[core]()
        assert home is not None
        return home, frame


def rows_for_cores(image: Image) -> Words:
    """The rows of an image, with results, which `plain` takes itself there, and with what may be given away: what each
    argument sends one token to, so that whoever gets it knows how many have come."""
    rows, nodes = rows_of(image).rows.copy(), image.nodes
    code = nodes[:, NODE.CODE]
    sends = nodes[:, NODE.SECOND] - nodes[:, NODE.FIRST]
    others = np.unique(nodes[(code == Code.CALL) & (sends != 1), NODE.SITE])
    gives = (code == Code.CALL) & ~np.isin(nodes[:, NODE.SITE], others)
    rows[:, ROW.GIVES] = gives[rows[:, ROW.NUMBER]]
    is_result = code[rows[:, ROW.NUMBER]] == Code.RESULT
    rows[is_result, ROW.CODE] = Code.RESULT
    return rows


def is_shareable(image: Image) -> bool:
    """Whether several cores can run this: words only, no bounds, and nothing that leaves the loop."""
    return (
        not image.is_bounded and not image.is_keyed and bool((rows_for_cores(image)[:, ROW.CODE] != Code.LEAVE).all())
    )


class Profile(NamedTuple):
    """By wave, of what cores have done: firings; tokens that were delivered; tokens that wait when it is over."""

    fired: Words
    delivered: Words
    waiting: Words

    def most_alive(self) -> int:
        """At least as many as there were tokens at once, after any step: those at the beginning of a wave, and all
        that were sent in it."""
        alive = self.delivered.copy()
        alive[:-1] += self.delivered[1:]
        alive[1:] += self.waiting[:-1]
        return int(alive.max(initial=0))


def _length(numbers: Words) -> int:
    """How many numbers there are but for zeros at the end, of which there are few."""
    length = len(numbers)
    while length and not numbers[length - 1]:
        length -= 1
    return length


def profile(stores: Sequence[Stamped], begun: int) -> Profile:
    """The profile of a run that began with so many tokens, and had fewer than 2**31 at once."""
    rows = [store.profile[: store.registers[R.WAVES] + 1] for store in stores]
    fired, delivered, waiting = np.zeros((3, max(map(len, rows)) + 1), np.int64)
    delivered[0] = begun
    for each in rows:
        halves = each.view(np.int32)
        fired[: len(each)] += halves[:, 2 * WAVE.FIRED]
        waiting[: len(each)] -= halves[:, 2 * WAVE.FIRED + 1]
        delivered[1 : len(each) + 1] += each[:, WAVE.SENT]
    waiting += delivered
    np.cumsum(waiting, out=waiting)
    waves = _length(delivered)
    return Profile(fired[:waves], delivered[:waves], waiting[:waves])


def stats_of(stores: Sequence[Stamped], by_wave: Profile, opening: Words) -> Stats:
    """The measures of what has fired, and, where a run is over, of its waves; the messages `opening` activations have
    not been read."""
    registers = np.array([store.registers for store in stores])
    firings, span = int(registers[:, R.FIRINGS].sum()), _length(by_wave.fired)
    counts = np.sum([store.counts for store in stores], axis=0)
    opened = np.sum([store.begun for store in stores], axis=0)
    np.add.at(opened, opening[:, MESSAGE.SITE], 1)
    deepest = max(registers[:, R.DEEPEST].max(), 1 + opening[:, MESSAGE.DEPTH].max(initial=-1))
    return Stats(
        firings=firings,
        steps=int(registers[:, R.STEPS].sum()),
        critical_path=span,
        parallelism=firings / span if span else 0.0,
        profile=Series(by_wave.fired[:span]),
        waiting=Series(by_wave.waiting),
        largest_store=int(by_wave.waiting.max(initial=0)),
        largest_flight=int(by_wave.delivered.max(initial=0)),
        deepest_tag=int(deepest),
        by_node=tuple(counts.tolist()),
        opened={site: count for site, count in zip(stores[0].image.site_list, opened.tolist(), strict=True) if count},
    )
