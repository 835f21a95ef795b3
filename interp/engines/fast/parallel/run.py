"""A run of `fast` on several cores: each has tokens and frames of its own, and gives activations to those that have
nothing to do.

A run is kept where it came to its end. How else it may end, other than from outside, depends on the schedule, or has to
be told in the words of the one that the run was asked for: then it is begun again on one core.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from weakref import ref

from .....core.frontend.trace.pytree import Structure
from .....core.graph.graph import Graph
from .....core.world import World
from ....image.build import known_image
from ....image.image import Words
from ....machine.state import State
from ....outcome.outcome import Outcome, ending
from ....outcome.statistics import Meter, Stats
from ...interrupt import Alarm, interruptible, resident
from ...reference import Limits, Until, admit_arguments, first_state, limits_of, rung
from ..export_state import results
from ..host_firings import Outside
from ..import_state import from_state
from ..load import Variant, machine
from ..registers import R, Why
from ..run import Residue, run_fast
from ..shared import ALL, MESSAGE, Messages, shared, unread
from .store import LONG_REST, REST, Profile, Stamped, is_shareable, profile, stats_of

ENLIST = 48
"""After how many bursts of one core the others begin: those of 2 ms. To start a thread takes 0.1 ms."""
BURST = 4096
"""How many tokens a core delivers between two looks at what others want."""
BURSTS = 128
"""How many bursts go by between two looks at the clock, at memory, and at Ctrl-C: some 5 ms."""
FIRST_LOOK = 2**26
"""After how many firings it is first looked at whether a wave may have had more tokens than the limit, and then
whenever there are twice as many: after half a second, which is what a run that is begun again may lose."""
AGAIN = "again"
"""How a run on several cores ended that one core is to begin again."""


def run_on_cores(
    cores: int,
    graph: Graph,
    arguments: Sequence[object],
    *,
    schedule: str,
    until: Until,
    limits: Limits | None,
    structure: Structure,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
) -> Outcome:
    """Run a graph whose rules have been checked, under `waves` until it is quiet; how it ends is data.

    Raises Usage where the arguments do not fit.
    """
    admitted, spent = admit_arguments(graph, arguments), 0.0
    state, most = first_state(graph, admitted, schedule, seed, k, world), limits_of(limits)
    if is_shareable(known_image(graph, state.bounds)) and most.tokens < 2**31:
        run = Several(state, most, cores)
        run.go()
        if run.is_good:
            return run.outcome(structure)
        spent = run.spent
        del run  # its memory would count against the bytes of the run that follows
    return run_fast(
        graph, admitted, schedule=schedule, until=until, limits=limits, structure=structure, seed=seed, k=k,
        world=world, spent=spent,
    )  # fmt: skip


class Several:
    """A run on several cores, from its beginning on; after so many bursts of the first, the others begin."""

    def __init__(self, state: State, limits: Limits, cores: int, *, burst: int = BURST, enlist: int = ENLIST) -> None:
        self._state, self._limits, self._enlist = state, limits, enlist
        image = known_image(state.graph, state.bounds)
        self.shared = shared(cores, burst)
        self.stores: list[Stamped] = []
        known: list[ref[Stamped]] = []
        for _ in range(cores):
            self.stores.append(Stamped(image, limits, self.shared, known))
            known.append(ref(self.stores[-1]))
        self._outside = Outside(self.stores[0], state)
        from_state(self.stores[0], self._outside, state, Meter(state, clocked=False))
        self._begun = len(state.flight)
        self._threads: list[threading.Thread] = []
        self.ended: str | None = None
        """How: "quiet", the limit that ended it from outside, or AGAIN."""
        self.spent = 0.0
        """How many seconds it took."""
        self._failed: BaseException | None = None

    def go(self) -> None:
        """Go on until the run is over; raises KeyboardInterrupt where somebody pressed Ctrl-C, and it is quiet."""
        machine(Variant.STAMPED)  # which may take seconds to compile, the first time
        began = time.monotonic()
        with interruptible() as interrupt:
            alarm = Alarm(self._limits.seconds, self._limits.bytes, interrupt)
            try:
                self._lead(alarm)
            finally:
                self._end(AGAIN)
                for thread in self._threads:
                    thread.join()
            self.spent = time.monotonic() - began
            if self._failed is not None:
                raise self._failed
            if interrupt.pressed and not (self.ended == "quiet" and self.is_good) and interrupt.hear():
                self.ended = "interrupt"

    def _lead(self, alarm: Alarm) -> None:
        """What the first core does: begin, have the others begin if it lasts, and look at what ends all."""
        bursts, looked = self._enlist, FIRST_LOOK
        while self.ended is None:
            self._end(alarm.rings(0, None))
            self.work(self.stores[0], bursts)
            firings, bursts = self.firings, BURSTS
            if firings > self._limits.firings:
                self._end(AGAIN)
            if firings > looked:
                looked = 2 * firings
                self._end(None if self._fits(self._profile()) else AGAIN)
            if not self._threads and self.ended is None:
                self._enlist_others()

    def _enlist_others(self) -> None:
        """Have the others begin, or as many as the system gives threads for."""
        for store in self.stores[1:]:
            thread = threading.Thread(target=self._serve, args=(store,), name="tagloom core", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._threads.append(thread)

    def _serve(self, store: Stamped) -> None:
        """What another core does."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self.ended is None:
                self.work(store, BURSTS)
        except BaseException as error:  # whoever waits for the run is to know
            self._failed = error
            self._end(AGAIN)

    def work(self, store: Stamped, bursts: int) -> None:
        """Make so many bursts, or fewer, and do what stopped them."""
        match Why(machine(Variant.STAMPED)(store.addresses(), bursts, store.image.header)):
            case Why.ROOM:
                self._grow(store)
            case Why.IDLE:
                time.sleep(store.rest)
                store.rest = min(2 * store.rest, LONG_REST)
                return
            case Why.QUIET:
                self._end("quiet")
            case Why.LEAVE:
                self._end(AGAIN)
        store.rest = REST

    def _grow(self, store: Stamped) -> None:
        if resident() + store.growth() > self._limits.bytes:
            self._end("bytes")
            return
        try:
            store.grow()
        except MemoryError:
            self._end(AGAIN)

    def _end(self, how: str | None) -> None:
        """All are to leave, if there is a reason; the first one counts."""
        if how is not None and self.ended is None:
            self.ended = how
            self.shared[ALL.STOP] = 1

    @property
    def firings(self) -> int:
        return sum(int(store.registers[R.FIRINGS]) for store in self.stores)

    def _profile(self) -> Profile:
        """That of what has been done so far."""
        return profile(self.stores, self._begun)

    def _fits(self, by_wave: Profile) -> bool:
        """Whether surely no wave had more tokens than the limit allows, after any of its firings."""
        return by_wave.most_alive() <= self._limits.tokens

    @cached_property
    def _whole(self) -> Profile:
        """That of the run, when it has ended."""
        return self._profile()

    @property
    def is_good(self) -> bool:
        """Whether the run is to be kept: where it is quiet, all that is left are results."""
        if self.ended != "quiet":
            return self.ended != AGAIN
        pending = (R.LENGTH, R.WAITING, R.OPEN)
        is_clean = not any(store.registers[list(pending)].any() for store in self.stores)
        has_come = self.stores[0].registers[R.CAME] == len(self._state.graph.results)
        return bool(is_clean and has_come and self.firings <= self._limits.firings and self._fits(self._whole))

    def stats(self) -> Stats:
        """The measures of a run that has ended."""
        return stats_of(self.stores, self._whole, self._opening())

    def _opening(self) -> Words:
        """The messages that open activations and that no core has read, where the run was ended from outside."""
        messages = unread(self.shared)
        opening: Words = messages[messages[:, MESSAGE.KIND] == Messages.OPEN]
        return opening

    def outcome(self, structure: Structure) -> Outcome:
        """How it ended, where it is good."""
        state, first = self._state, self.stores[0]
        state.records.clear()
        state.results = results(first)
        return ending(
            state,
            self.stats(),
            None if self.ended == "quiet" else rung(str(self.ended), self._limits),
            "quiet",
            left=Residue(self.stores, self._outside, state.bounds),
            open_activations=sum(int(store.registers[R.OPEN]) for store in self.stores) + len(self._opening()),
            schedule="waves",
            engine="fast",
            structure=structure,
            cores=1 + len(self._threads),
        )
