"""A run by waves: the arrays of a token store on a device, and the kernels of a wave over them, one wave after another.

The store is that of `fast`, so a run can be taken over from the reference, looked at after every wave, and handed back.
Where something traps, or a limit is so near that it might be met within a wave, the run goes on from before that wave
as `fast`, which does one firing after another.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ...core.errors import Crash, TagloomError
from ...core.frontend.structure import Structure
from ..alarm import interruptible, resident
from ..fast.arrays import aligned, power
from ..fast.registers import Options, R
from ..fast.run import Clock, Fast
from ..image import NODE, PORT, Image, Words
from ..jit.progress import compiling
from ..outcome import Outcome
from ..reference import Limits, rung
from ..state import State
from .device import free, launch, numba_cuda, quiet
from .load import wave_kernels
from .passes import SHARE, Work

_OF_STORE = {
    "r": "registers",
    "counts": "counts",
    "begun": "begun",
    "results": "results",
    "lost": "lost",
}
"""The arrays of the store that kernels change, by their names there; but for those that grow."""


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
        there = self._there or self._put()
        first = not wave_kernels.cache_info().currsize
        with quiet(), compiling("the kernels of a wave") if first else nullcontext():
            self._grow(self._wanted(n))
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
        """Whether the next wave might meet a limit, or what the device has."""
        store, limits = self.fast.store, self._limits
        r, n = store.registers, int(store.registers[R.LENGTH])
        tokens = store.live + n * store.image.fan
        if r[R.FIRINGS] + n > limits.firings or tokens > limits.tokens or r[R.DEEPEST] >= store.options[Options.DEPTH]:
            return True
        shapes = self._wanted(n).items() if self._there else ()
        more = sum(prod(shape) * self._there[name].dtype.itemsize for name, shape in shapes)
        held = sum(array.nbytes for array in self._there.values())
        return bool(more > 0 and (resident() + held + more > limits.bytes or more > free()))

    def _put(self) -> dict[str, Any]:
        """Copy the store to the device."""
        store = self.fast.store
        image = store.image
        arrays = {name: getattr(store, of) for name, of in _OF_STORE.items()}
        arrays |= {name: getattr(image, name) for name in ("nodes", "ports", "edges", "routes", "sites", "scopes")}
        arrays |= {"codes": store.codes, "joints": _joints(image), "told": np.zeros(2, np.int64)}
        arrays |= {"mem": store.memory, "latest": np.zeros_like(store.memory), "ring": store.ring}
        arrays |= {name: np.zeros(shape, np.int64) for name, shape in _of_tokens(len(store.ring)).items()}
        arrays["profile"] = store.profile
        self._there = {name: numba_cuda().to_device(array) for name, array in arrays.items()}
        return self._there

    def _wanted(self, n: int) -> dict[str, tuple[int, ...]]:
        """The arrays on the device that are too small for the next wave, and the shapes that they are to have."""
        r, image, there = self.fast.store.registers, self.fast.store.image, self._there
        wanted: dict[str, tuple[int, ...]] = {}
        if (tokens := n * (image.fan + 1)) > len(there["ring"]):
            wanted |= {"ring": (power(tokens), 2), **_of_tokens(power(tokens))}
        if (words := int(r[R.TOP]) + n * image.largest) > len(there["mem"]):
            wanted |= {"mem": (2 * words,), "latest": (2 * words,)}
        if (waves := int(r[R.WAVES])) >= len(there["profile"]):
            wanted |= {"profile": (2 * waves, 2)}
        return wanted

    def _grow(self, wanted: dict[str, tuple[int, ...]]) -> None:
        for name, shape in wanted.items():
            grown = numba_cuda().device_array(shape, self._there[name].dtype)
            self._copy(name, grown)
            self._there[name] = grown
        if "ring" in wanted:
            self.fast.store.registers[R.HEAD] = 0
            self._there["r"].copy_to_device(self.fast.store.registers)

    def _copy(self, name: str, to: Any) -> None:
        """Copy what an array on the device says to another, of the device or of NumPy, that is at least as large; the
        flight to where the ring begins."""
        r, there = self.fast.store.registers, self._there[name]
        head, length, at = int(r[R.HEAD]), int(r[R.LENGTH]), 0
        first = min(length, len(there) - head)
        used = {
            "ring": ((head, first), (0, length - first)),
            "mem": ((0, int(r[R.TOP])),),
            "latest": ((0, int(r[R.TOP])),),
            "profile": ((0, int(r[R.WAVES])),),
        }
        for begin, count in used.get(name, ()):
            if count and isinstance(to, np.ndarray):
                there[begin : begin + count].copy_to_host(to[at : at + count])
            elif count:
                to[at : at + count].copy_to_device(there[begin : begin + count])
            at += count

    def _here(self) -> None:
        """Copy what has changed back into the store, which may be changed from here on."""
        if not self._there:
            return
        store = self.fast.store
        for name, of in _OF_STORE.items():
            self._there[name].copy_to_host(getattr(store, of))
        if not store.registers[R.OPEN]:
            store.registers[R.TOP] = len(store.image.literals)  # of what has closed nobody asks
        memory = aligned(len(self._there["mem"]))
        ring, profile = (np.zeros(self._there[name].shape, self._there[name].dtype) for name in ("ring", "profile"))
        for name, array in (("mem", memory), ("ring", ring), ("profile", profile)):
            self._copy(name, array)
        store.adopt(memory, ring, profile)
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
        nodes, ports, codes, ring, totals = d["nodes"], d["ports"], d["codes"], d["ring"], d["totals"]
        scopes, ends = (d["sites"], d["scopes"], d["begun"]), (d["edges"], sums, totals, d["counts"], d["results"])
        launch(k["opening"], n, r, work, mem, d["latest"], nodes, ports, codes, *scopes, int(image.header))
        launch(k["count"], _shares(n), r, sums, totals)
        if n > SHARE:
            launch(k["total"], 1, totals, _shares(n))
        launch(k["send"], n, r, work, mem, ring, nodes, ports, codes, *ends)
        launch(k["close"], n, r, work, mem, d["lost"])
        launch(k["tick"], 1, r, sums, totals, d["profile"], len(ring) - 1)


def _of_tokens(tokens: int) -> dict[str, tuple[int, ...]]:
    """The shapes of what kernels tell each other, of so many tokens."""
    return {"work": (len(Work), tokens), "sums": (2, tokens), "totals": (2, _shares(tokens))}


def _shares(tokens: int) -> int:
    """How many threads add up so many tokens."""
    return -(-tokens // SHARE)


def _joints(image: Image) -> Words:
    """For each node with several operands, a word of its frame that is no other's: the first where one waits."""
    found = np.zeros(len(image.nodes), np.int64)
    for row in image.ports.tolist():
        if row[PORT.BIT]:
            known = found[row[PORT.NODE]]
            found[row[PORT.NODE]] = min(known, row[PORT.WAIT]) if known else row[PORT.WAIT]
    assert (found[image.nodes[:, NODE.FULL] != 0] > 0).all()
    return found
