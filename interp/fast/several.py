"""A run of `fast` on several cores: each has tokens and frames of its own, and gives activations to those that have
nothing to do.

A run is kept where it came to its end. How else it may end, other than from outside, depends on the schedule, or has to
be told in the words of the one that the run was asked for: then it is begun again on one core.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import TagloomError
from ...core.frontend.structure import Structure
from ..alarm import EVERY, Alarm, Interrupt, interruptible, resident
from ..imaging import known_image
from ..measure import Meter, Stats
from ..outcome import Outcome, ending
from ..reference import Limits, rung
from ..series import Series
from ..state import State
from .handover import results, waiting
from .load import Variant, machine
from .outside import Outside
from .registers import R, Why
from .shared import ALL, shared
from .stamped import Stamped, is_shareable, profile
from .takeover import from_state

ENLIST = 48
"""After how many bursts of one core the others begin: those of 2 ms. To start a thread takes 0.1 ms."""
BURST = 4096
"""How many tokens a core delivers between two looks at what others want."""
BURSTS = 128
"""How many bursts go by between two looks at the clock, at memory, and at Ctrl-C: some 5 ms."""
REST = 50e-6
"""How many seconds an idle core sleeps between two looks at its letters."""
MOST_CORES = 64


class Several:
    """A run on several cores, from its beginning on."""

    def __init__(self, state: State, limits: Limits, cores: int, *, burst: int = BURST, enlist: int = ENLIST) -> None:
        self._state, self._limits, self._enlist = state, limits, enlist
        image = known_image(state.graph, state.bounds)
        self.shared = shared(cores, burst)
        self.stores: list[Stamped] = []
        for _ in range(cores):
            self.stores.append(Stamped(image, limits, self.shared, self.stores))
        from_state(self.stores[0], Outside(self.stores[0], state), state, Meter(state, clocked=False))
        self._begun = len(state.flight)
        self._threads: list[threading.Thread] = []
        self._ended: str | None = None
        self._failed: BaseException | None = None

    def go(self, spent: float = 0.0) -> str:
        """Go on until the run is over: "quiet", the limit that ended it from outside, or "again" where one core has to
        tell how it ends."""
        machine(Variant.STAMPED)
        limits, first = self._limits, self.stores[0]
        left = None if limits.seconds is None else max(0.0, limits.seconds - spent)
        with interruptible() as interrupt:
            alarm = Alarm(left, limits.bytes, interrupt)
            try:
                budget, looked = self._enlist, 0
                while self._ended is None:
                    self._end(alarm.rings(0, None))
                    self._go(first, budget)
                    if self.firings > limits.firings:
                        self._end("again")
                    if not self._threads:
                        self._start()
                    budget = BURSTS
            finally:
                self._end("again")
                for thread in self._threads:
                    thread.join()
        if self._failed is not None:
            raise self._failed
        return self._ended

    def _start(self) -> None:
        for store in self.stores[1:]:
            thread = threading.Thread(target=self._serve, args=(store,), name="tagloom core", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, store: Stamped) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self._ended is None:
                self._go(store, BURSTS)
        except BaseException as error:
            self._failed = error
            self._end("again")

    def _go(self, store: Stamped, budget: int) -> None:
        match Why(machine(Variant.STAMPED)(store.addresses(), budget, store.image.header)):
            case Why.ROOM:
                if resident() + store.growth() > self._limits.bytes:
                    self._end("bytes")
                else:
                    store.grow()
            case Why.IDLE:
                time.sleep(REST)
            case Why.QUIET:
                self._end("quiet")
            case Why.LEAVE:
                self._end("again")

    def _end(self, how: str | None) -> None:
        if how is not None and self._ended is None:
            self._ended = how
            self.shared[ALL.STOP] = 1

    @property
    def firings(self) -> int:
        return sum(int(store.registers[R.FIRINGS]) for store in self.stores)
