"""A run by waves: the arrays of a token store on a device, and the kernels of a wave over them, one wave after another.

The store is that of `fast`, so a run can be taken over from the reference, looked at after every wave, and handed back.
Where something traps, or a limit is so near that it might be met within a wave, the run goes on from before that wave
as `fast`, which does one firing after another.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import Crash, TagloomError
from ...core.frontend.structure import Structure
from ..alarm import interruptible, resident
from ..fast.registers import Options, R
from ..fast.run import Clock, Fast
from ..fast.store import FACTOR
from ..image import NODE, PORT, Image, Words
from ..outcome import Outcome
from ..reference import Limits, rung
from ..state import State
from .device import launch, numba_cuda, quiet
from .load import wave_kernels
from .passes import Work

_OF_STORE = {
    "r": "registers",
    "mem": "memory",
    "ring": "ring",
    "profile": "profile",
    "counts": "counts",
    "begun": "begun",
    "results": "results",
    "lost": "lost",
}
"""The arrays of the store that kernels change, by their names there."""


class Waves:
    """A run of a graph that `support` has nothing against, wave by wave."""

    def __init__(self, state: State, limits: Limits) -> None:
        """Take a run over from the reference machine, between two waves."""
        self.fast = Fast(state, "waves", until="quiet", limits=limits)
        self._limits = limits
        self._there: dict[str, Any] = {}
        """The arrays on the device; empty where those of the store say what is."""

    def wave(self) -> bool:
        """Deliver all tokens in flight, of which there must be some; False, and nothing is done, where that traps."""
        store = self.fast.store
        n = int(store.registers[R.LENGTH])
        if not self._fits(n):
            self._here()
            store.fit_ring(n * store.image.fan)
            store.fit_memory(int(store.registers[R.TOP]) + n * store.image.largest)
            store.fit_profile(int(store.registers[R.WAVES]))
        there = self._there or self._put()
        with quiet():
            self._fire(n, there)
            broken, trapped = there["told"].copy_to_host().tolist()
            if broken:
                raise Crash("a graph that keeps the rules broke the machine", where=store.image.graph.name)
            if trapped:
                launch(wave_kernels()["undo"], n, *(there[name] for name in ("r", "work", "mem", "nodes", "ports")))
                return False
            self._send(n, there)
        there["r"].copy_to_host(store.registers)
        return True

    def state(self) -> State:
        """The state of the reference machine that this run is in."""
        self._here()
        self.fast.store.sweep()
        return self.fast.state()

    def go(self) -> TagloomError | None:
        """Go on until the run is over; what stopped it, if that was no ending of its own."""
        store, registers = self.fast.store, self.fast.store.registers
        began = time.monotonic()
        with interruptible() as interrupt:
            ringing = self._go(Clock(self._limits, interrupt))
        self._here()
        store.sweep()
        if ringing is not None:
            return rung(ringing, self._limits)
        self.fast.spent = time.monotonic() - began
        return self.fast.go() if registers[R.LENGTH] else None

    def outcome(self, stopped: TagloomError | None, structure: Structure) -> Outcome:
        """How it ended."""
        return replace(self.fast.outcome(stopped, structure), engine="cuda")

    def _go(self, clock: Clock) -> str | None:
        """Waves, until none is left, one traps, or a limit is near; which alarm rang before that."""
        store = self.fast.store
        while store.registers[R.LENGTH]:
            ringing = clock.rings(store)
            if ringing is not None:
                return ringing
            if self._is_near() or not self.wave():
                return clock.rings(store)
        return None

    def _is_near(self) -> bool:
        """Whether the next wave might meet a limit."""
        store, limits = self.fast.store, self._limits
        r, n = store.registers, int(store.registers[R.LENGTH])
        if not self._fits(n) and resident() + 2 * FACTOR * (store.memory.nbytes + store.ring.nbytes) > limits.bytes:
            return True
        tokens = store.live + n * store.image.fan
        return bool(
            r[R.FIRINGS] + n > limits.firings or tokens > limits.tokens or r[R.DEEPEST] >= store.options[Options.DEPTH]
        )

    def _fits(self, n: int) -> bool:
        """Whether the arrays have room for the next wave."""
        store, image = self.fast.store, self.fast.store.image
        ends = int(store.registers[R.TOP]) + n * image.largest
        is_wide, is_long = n * (image.fan + 1) <= len(store.ring), store.registers[R.WAVES] < len(store.profile)
        return is_wide and bool(is_long) and ends <= len(store.memory)

    def _put(self) -> dict[str, Any]:
        """Copy the store to the device."""
        cuda, store = numba_cuda(), self.fast.store
        image, tokens = store.image, len(store.ring)
        arrays = {name: getattr(store, of) for name, of in _OF_STORE.items()}
        arrays |= {name: getattr(image, name) for name in ("nodes", "ports", "edges", "routes", "sites", "scopes")}
        arrays |= {"codes": store.codes, "joints": _joints(image), "told": np.zeros(2, np.int64)}
        self._there = {name: cuda.to_device(array) for name, array in arrays.items()}
        shapes: dict[str, tuple[int, ...]] = {
            "latest": store.memory.shape,
            "work": (tokens, len(Work)),
            "sums": (2, 2, tokens),
        }
        self._there |= {name: cuda.to_device(np.zeros(shape, np.int64)) for name, shape in shapes.items()}
        return self._there

    def _here(self) -> None:
        """Copy what has changed back into the store, which may be changed from here on."""
        for name, of in _OF_STORE.items():
            if self._there:
                self._there[name].copy_to_host(getattr(self.fast.store, of))
        self._there = {}

    def _fire(self, n: int, d: dict[str, Any]) -> None:
        """What can be taken back of a wave."""
        k, r, work, mem, sums, told = wave_kernels(), d["r"], d["work"], d["mem"], d["sums"], d["told"]
        nodes, ports, ring, latest = d["nodes"], d["ports"], d["ring"], d["latest"]
        launch(k["arrive"], n, r, work, mem, latest, ring, nodes, ports, d["joints"], told)
        launch(k["settle"], n, r, work, mem, latest, ring, nodes, ports, d["joints"], sums)
        launch(k["fire"], n, r, work, mem, latest, ring, nodes, ports, d["codes"], d["routes"], sums, told)

    def _send(self, n: int, d: dict[str, Any]) -> None:
        """The rest."""
        k, r, work, mem, sums, image = wave_kernels(), d["r"], d["work"], d["mem"], d["sums"], self.fast.store.image
        nodes, ports, codes, ring = d["nodes"], d["ports"], d["codes"], d["ring"]
        scopes = d["sites"], d["scopes"], d["begun"]
        launch(k["opening"], n, r, work, mem, nodes, ports, codes, *scopes, int(image.header))
        source, reach = 0, 1
        while reach < n:
            launch(k["count"], n, r, sums, source, reach)
            source, reach = 1 - source, 2 * reach
        ends = d["edges"], sums, source, d["counts"], d["results"]
        launch(k["send"], n, r, work, mem, ring, nodes, ports, codes, *ends)
        launch(k["close"], n, r, work, mem, d["lost"])
        launch(k["tick"], 1, r, sums, source, d["profile"], len(self.fast.store.ring) - 1)


def _joints(image: Image) -> Words:
    """For each node with several operands, a word of its frame that is no other's: the first where one waits."""
    found = np.zeros(len(image.nodes), np.int64)
    for row in image.ports.tolist():
        if row[PORT.BIT]:
            known = found[row[PORT.NODE]]
            found[row[PORT.NODE]] = min(known, row[PORT.WAIT]) if known else row[PORT.WAIT]
    assert (found[image.nodes[:, NODE.FULL] != 0] > 0).all()
    return found
