"""A run by waves: the arrays of a token store on a device, and the kernels of a wave over them, one wave after another.

The store is that of `fast`, so a run can be taken over from the reference, looked at after every wave, and handed back.
Where something traps, a limit is so near that it might be met within a wave, or the device has no room for it, the run
goes on from before that wave as `fast`, which does one firing after another.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.errors import Crash, TagloomError
from ....core.frontend.trace.pytree import Structure
from ...image.image import NODE, PORT, Image, Words
from ...machine.state import State
from ...outcome.outcome import Outcome
from ..fast.arrays import aligned, power
from ..fast.registers import Options, R
from ..fast.run import Clock, Fast
from ..interrupt import interruptible, resident
from ..jit.progress import compiling
from ..reference import Limits, rung
from .device import allocate, free, launch, numba_cuda, quiet
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
        with quiet(), compiling("the kernels of a wave"):
            self._kernels = wave_kernels(self._launched)

    def wave(self) -> bool:
        """Deliver all tokens in flight, of which there must be some; False, and nothing is done, where that traps, or
        the device has no room for it."""
        store = self.fast.store
        n = int(store.registers[R.LENGTH])
        with quiet():
            try:
                self._grow(self._wanted(n))
            except MemoryError:
                return False
            there = self._there
            self._fire(n, there)
            broken, trapped = there["told"].copy_to_host().tolist()
            if broken:
                raise Crash("a graph that keeps the rules broke the machine", where=store.image.graph.name)
            if trapped:
                self._undo(n, there)
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
            if registers[R.LENGTH] and interrupt.hear():
                ringing = "interrupt"
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
        wanted = self._wanted(n)
        return bool(wanted) and not self._has_room(wanted)

    def _has_room(self, wanted: dict[str, tuple[int, ...]]) -> bool:
        """Whether the device has so much memory, and the limit leaves it, which counts what is on either side."""
        more = sum(prod(shape) * _dtype(name).itemsize for name, shape in wanted.items())
        held = sum(array.nbytes for array in self._there.values())
        return resident() + held + more <= self._limits.bytes and more <= free()

    def _wanted(self, n: int) -> dict[str, tuple[int, ...]]:
        """The arrays that the device lacks for the next wave, or has too few rows of, and the shapes that they are to
        have: twice what may be needed, where there is room for that."""
        needed = dict(self._shapes(n, 1))
        if not needed:  # as for nearly all waves
            return needed
        double = dict(self._shapes(n, 2))
        return double if self._has_room(double) else needed

    def _shapes(self, n: int, spare: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        store, there = self.fast.store, self._there
        r, image = store.registers, store.image
        known: dict[str, Any] = there or self._at_home()
        if (tokens := n * (image.fan + 1)) > len(known["ring"]) or not there:
            tokens = power(max(tokens, len(known["ring"])))
            yield from {"ring": (tokens, 2), "work": (len(Work), tokens), "sums": (2, tokens)}.items()
            yield "totals", (2, _shares(tokens))
        if (words := int(r[R.TOP]) + n * image.largest) > len(known["mem"]) or not there:
            words = spare * words if there else max(words, len(known["mem"]))
            yield from {"mem": (words,), "latest": (words,)}.items()
        if (waves := int(r[R.WAVES]) + 1) > len(known["profile"]) or not there:
            yield "profile", (max(spare * waves, len(known["profile"])), 2)

    def _grow(self, wanted: dict[str, tuple[int, ...]]) -> None:
        """Raises MemoryError, with nothing done, where the device has no room."""
        if not wanted:
            return
        r = self.fast.store.registers
        made = {name: allocate(shape, _dtype(name)) for name, shape in wanted.items()}
        source = self._there or self._at_home()
        for name, array in made.items():
            for at, part in _used(name, source.get(name), r):
                array[at : at + len(part)].copy_to_device(part)
        if "ring" in made:
            r[R.HEAD] = 0
        if not self._there:
            self._there = {name: numba_cuda().to_device(array) for name, array in self._fixed().items()}
        self._there |= made
        self._there["r"].copy_to_device(r)

    def _at_home(self) -> dict[str, Any]:
        """What the store has of the arrays that grow."""
        store = self.fast.store
        latest = np.zeros_like(store.memory)
        return {"ring": store.ring, "mem": store.memory, "latest": latest, "profile": store.profile}

    def _fixed(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that do not grow."""
        store, image = self.fast.store, self.fast.store.image
        arrays = {name: getattr(store, of) for name, of in _OF_STORE.items()}
        arrays |= {name: getattr(image, name) for name in ("nodes", "ports", "edges", "routes", "sites", "scopes")}
        return arrays | {"codes": store.codes, "joints": _joints(image), "told": np.zeros(2, np.int64)}

    def _here(self) -> None:
        """Copy what has changed back into the store, which may be changed from here on."""
        if not self._there:
            return
        store = self.fast.store
        for name, of in _OF_STORE.items():
            self._there[name].copy_to_host(getattr(store, of))
        memory = aligned(len(self._there["mem"]))
        ring, profile = (np.zeros(self._there[name].shape, _dtype(name)) for name in ("ring", "profile"))
        for name, array in (("mem", memory), ("ring", ring), ("profile", profile)):
            if name != "mem" or store.registers[R.OPEN]:  # of what has closed nobody asks
                for at, part in _used(name, self._there[name], store.registers):
                    part.copy_to_host(array[at : at + len(part)])
        store.adopt(memory, ring, profile)
        self._there = {}

    def _launched(self, kernels: dict[str, Any]) -> None:
        """Launch the kernels without a token, where they do nothing."""
        self._kernels = kernels
        axes = {name: array.ndim for name, array in self._fixed().items()}
        axes |= {name: len(shape) for name, shape in self._shapes(1, 1)}
        blank = {name: numba_cuda().to_device(np.zeros((64,) * n, _dtype(name))) for name, n in axes.items()}
        for launched in (self._fire, self._undo, self._send):
            launched(1, blank)
        launch(kernels["total"], 2, blank["totals"], 0)

    def _fire(self, n: int, d: dict[str, Any]) -> None:
        """What can be taken back of a wave."""
        k, r, work, mem, sums, told = self._kernels, d["r"], d["work"], d["mem"], d["sums"], d["told"]
        nodes, ports, ring, latest = d["nodes"], d["ports"], d["ring"], d["latest"]
        launch(k["arrive"], n, r, work, mem, latest, ring, nodes, ports, d["joints"], told)
        launch(k["settle"], n, r, work, mem, latest, ring, nodes, ports, d["joints"], sums)
        launch(k["fire"], n, r, work, mem, latest, ring, nodes, ports, d["codes"], d["routes"], sums, told)

    def _undo(self, n: int, d: dict[str, Any]) -> None:
        """Take that back."""
        launch(self._kernels["undo"], n, *(d[name] for name in ("r", "work", "mem", "nodes", "ports")))

    def _send(self, n: int, d: dict[str, Any]) -> None:
        """The rest."""
        k, r, work, mem, sums, image = self._kernels, d["r"], d["work"], d["mem"], d["sums"], self.fast.store.image
        nodes, ports, codes, ring, totals = d["nodes"], d["ports"], d["codes"], d["ring"], d["totals"]
        scopes, ends = (d["sites"], d["scopes"], d["begun"]), (d["edges"], sums, totals, d["counts"], d["results"])
        launch(k["opening"], n, r, work, mem, d["latest"], nodes, ports, codes, *scopes, int(image.header))
        launch(k["count"], _shares(n), r, sums, totals)
        if n > SHARE:
            launch(k["total"], 2, totals, _shares(n))
        launch(k["send"], n, r, work, mem, ring, nodes, ports, codes, *ends)
        launch(k["close"], n, r, work, mem, d["lost"])
        launch(k["tick"], 1, r, sums, totals, d["profile"], len(ring) - 1)


def _used(name: str, array: Any, registers: Words) -> Iterator[tuple[int, Any]]:
    """The parts of an array that say something, and where each goes: the flight to where the ring begins."""
    head, length, at = int(registers[R.HEAD]), int(registers[R.LENGTH]), 0
    parts: tuple[tuple[int, int], ...] = ()
    if name == "ring":
        first = min(length, len(array) - head)
        parts = (head, first), (0, length - first)
    elif name in ("mem", "latest"):
        parts = ((0, int(registers[R.TOP])),)
    elif name == "profile":
        parts = ((0, int(registers[R.WAVES])),)
    for begin, count in parts:
        if count:
            yield at, array[begin : begin + count]
        at += count


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(np.int32 if name == "profile" else np.int64)


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
