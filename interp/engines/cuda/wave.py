"""A run by waves: the arrays of a token store on a device, and the kernels of a wave over them, one wave after another.

The store is that of `fast`, so a run can be taken over from the reference, looked at after every wave, and handed back.
Where something traps, a limit is so near that it might be met within a wave, or the device has no room for it, the run
goes on from before that wave as `fast`, which does one firing after another.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.errors import Crash, TagloomError
from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ...image.image import Image, NodeColumn, PortColumn, WordArray, build_image, is_boxed
from ...image.opcodes import Opcode
from ...machine.state import State
from ...outcome.outcome import Outcome
from ..fast.registers import MachineOption, Register
from ..fast.run import FastRun, RunMonitor
from ..fast.store import aligned_words, next_power_of_two
from ..interrupt import interrupt_between_steps, resident_memory
from ..jit.cache import show_compiling
from ..protocol import Limits, resolve_limits
from ..reference import admit_arguments, external_limit_error, first_state
from .device import (
    allocate,
    free_bytes,
    launch,
    missing_requirement,
    numba_cuda,
    simulator_warnings_off,
)
from .kernels import load_wave_kernels
from .passes import TOKENS_PER_THREAD, WaveColumn

_STORE_ARRAYS = {
    "r": "registers",
    "counts": "firing_counts",
    "opened_counts": "opened_counts",
    "results": "result_words",
    "dropped_tags": "dropped_tags",
}
"""The arrays of the store that kernels change, by their names there; but for those that grow."""


class WaveRun:
    """A run of a graph that `support` has nothing against, wave by wave."""

    def __init__(self, state: State, limits: Limits) -> None:
        """Take a run over from the reference machine, between two waves."""
        self.fallback = FastRun(state, "waves", until="quiet", limits=limits)
        self._limits = limits
        self._device_arrays: dict[str, Any] = {}
        """The arrays on the device; empty where those of the store say what is."""
        with simulator_warnings_off(), show_compiling("the kernels of a wave"):
            self._kernels = load_wave_kernels(self._warm_up)

    def run_wave(self) -> bool:
        """Deliver all tokens in flight, of which there must be some; False, and nothing is done, where that traps, or
        the device has no room for it."""
        store = self.fallback.store
        n = int(store.registers[Register.FLIGHT_LENGTH])
        with simulator_warnings_off():
            try:
                self._grow(self._missing_arrays(n))
            except MemoryError:
                return False
            there = self._device_arrays
            self._launch_firing(n, there)
            broken, trapped = there["flags"].copy_to_host().tolist()
            if broken:
                raise Crash("a graph that keeps the rules broke the machine", where=store.image.graph.name)
            if trapped:
                self._launch_undo(n, there)
                return False
            self._launch_send(n, there)
        there["r"].copy_to_host(store.registers)
        return True

    def state(self) -> State:
        """The state of the reference machine that this run is in."""
        self._copy_back()
        self.fallback.store.sweep()
        return self.fallback.state()

    def go(self) -> TagloomError | None:
        """Go on until the run is over; what stopped it, if that was no ending of its own."""
        store, registers = self.fallback.store, self.fallback.store.registers
        began = time.monotonic()
        with interrupt_between_steps() as interrupt:
            ringing = self._run_waves(RunMonitor(self._limits, interrupt))
            self._copy_back()
            store.sweep()
            if registers[Register.FLIGHT_LENGTH] and interrupt.acknowledge():
                ringing = "interrupt"
        if ringing is not None:
            return external_limit_error(ringing, self._limits)
        self.fallback.elapsed = time.monotonic() - began
        return self.fallback.go() if registers[Register.FLIGHT_LENGTH] else None

    def outcome(self, stopped: TagloomError | None, structure: TreeDef) -> Outcome:
        """How it ended."""
        return replace(self.fallback.outcome(stopped, structure), engine="cuda")

    def _run_waves(self, clock: RunMonitor) -> str | None:
        """Waves, until none is left, one traps, or a limit is near; which alarm rang before that."""
        store = self.fallback.store
        while store.registers[Register.FLIGHT_LENGTH]:
            ringing = clock.exceeded_limit(store)
            if ringing is not None:
                return ringing
            if self._is_near_limit() or not self.run_wave():
                return clock.exceeded_limit(store)
        return None

    def _is_near_limit(self) -> bool:
        """Whether the next wave might meet a limit, or what the device has."""
        store, limits = self.fallback.store, self._limits
        r, n = store.registers, int(store.registers[Register.FLIGHT_LENGTH])
        tokens = store.live_tokens + n * store.image.max_fanout
        if (
            r[Register.FIRINGS] + n > limits.firings
            or tokens > limits.tokens
            or r[Register.DEEPEST_TAG] >= store.options[MachineOption.DEPTH_LIMIT]
        ):
            return True
        wanted = self._missing_arrays(n)
        return bool(wanted) and not self._has_room(wanted)

    def _has_room(self, wanted: dict[str, tuple[int, ...]]) -> bool:
        """Whether the device has so much memory, and the limit leaves it, which counts what is on either side."""
        more = sum(prod(shape) * _dtype_of(name).itemsize for name, shape in wanted.items())
        held = sum(array.nbytes for array in self._device_arrays.values())
        return resident_memory() + held + more <= self._limits.bytes and more <= free_bytes()

    def _missing_arrays(self, n: int) -> dict[str, tuple[int, ...]]:
        """The arrays that the device lacks for the next wave, or has too few rows of, and the shapes that they are to
        have: twice what may be needed, where there is room for that."""
        needed = dict(self._required_shapes(n, 1))
        if not needed:  # as for nearly all waves
            return needed
        double = dict(self._required_shapes(n, 2))
        return double if self._has_room(double) else needed

    def _required_shapes(self, n: int, spare: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        store, there = self.fallback.store, self._device_arrays
        r, image = store.registers, store.image
        known: dict[str, Any] = there or self._host_arrays()
        if (tokens := n * (image.max_fanout + 1)) > len(known["ring"]) or not there:
            tokens = next_power_of_two(max(tokens, len(known["ring"])))
            yield from {"ring": (tokens, 2), "work": (len(WaveColumn), tokens), "sums": (2, tokens)}.items()
            yield "totals", (2, _share_count(tokens))
        if (words := int(r[Register.MEMORY_TOP]) + n * image.largest_frame) > len(known["mem"]) or not there:
            words = spare * words if there else max(words, len(known["mem"]))
            yield from {"mem": (words,), "latest": (words,)}.items()
        if (waves := int(r[Register.WAVES]) + 1) > len(known["profile"]) or not there:
            yield "profile", (max(spare * waves, len(known["profile"])), 2)

    def _grow(self, wanted: dict[str, tuple[int, ...]]) -> None:
        """Raises MemoryError, with nothing done, where the device has no room."""
        if not wanted:
            return
        r = self.fallback.store.registers
        made = {name: allocate(shape, _dtype_of(name)) for name, shape in wanted.items()}
        source = self._device_arrays or self._host_arrays()
        for name, array in made.items():
            for at, part in _live_parts(name, source.get(name), r):
                array[at : at + len(part)].copy_to_device(part)
        if "ring" in made:
            r[Register.FLIGHT_HEAD] = 0
        if not self._device_arrays:
            self._device_arrays = {name: numba_cuda().to_device(array) for name, array in self._fixed_arrays().items()}
        self._device_arrays |= made
        self._device_arrays["r"].copy_to_device(r)

    def _host_arrays(self) -> dict[str, Any]:
        """What the store has of the arrays that grow."""
        store = self.fallback.store
        latest = np.zeros_like(store.memory)
        return {"ring": store.ring, "mem": store.memory, "latest": latest, "profile": store.profile}

    def _fixed_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that do not grow."""
        store, image = self.fallback.store, self.fallback.store.image
        arrays = {name: getattr(store, of) for name, of in _STORE_ARRAYS.items()}
        arrays |= {name: getattr(image, name) for name in ("nodes", "ports", "edges", "routes", "sites", "scopes")}
        return arrays | {"codes": store.codes, "match_words": _match_words(image), "flags": np.zeros(2, np.int64)}

    def _copy_back(self) -> None:
        """Copy what has changed back into the store, which may be changed from here on."""
        if not self._device_arrays:
            return
        store = self.fallback.store
        for name, of in _STORE_ARRAYS.items():
            self._device_arrays[name].copy_to_host(getattr(store, of))
        memory = aligned_words(len(self._device_arrays["mem"]))
        ring, profile = (np.zeros(self._device_arrays[name].shape, _dtype_of(name)) for name in ("ring", "profile"))
        for name, array in (("mem", memory), ("ring", ring), ("profile", profile)):
            if name != "mem" or store.registers[Register.OPEN_ACTIVATIONS]:  # of what has closed nobody asks
                for at, part in _live_parts(name, self._device_arrays[name], store.registers):
                    part.copy_to_host(array[at : at + len(part)])
        store.adopt_arrays(memory, ring, profile)
        self._device_arrays = {}

    def _warm_up(self, kernels: dict[str, Any]) -> None:
        """Launch the kernels without a token, where they do nothing."""
        self._kernels = kernels
        axes = {name: array.ndim for name, array in self._fixed_arrays().items()}
        axes |= {name: len(shape) for name, shape in self._required_shapes(1, 1)}
        blank = {name: numba_cuda().to_device(np.zeros((64,) * n, _dtype_of(name))) for name, n in axes.items()}
        for launch_part in (self._launch_firing, self._launch_undo, self._launch_send):
            launch_part(1, blank)
        launch(kernels["sum_totals"], 2, blank["totals"], 0)

    def _launch_firing(self, n: int, d: dict[str, Any]) -> None:
        """What can be taken back of a wave."""
        k, r, work, mem, sums, flags = self._kernels, d["r"], d["work"], d["mem"], d["sums"], d["flags"]
        nodes, ports, ring, latest = d["nodes"], d["ports"], d["ring"], d["latest"]
        launch(k["mark_arrivals"], n, r, work, mem, latest, ring, nodes, ports, d["match_words"], flags)
        launch(k["select_firings"], n, r, work, mem, latest, ring, nodes, ports, d["match_words"], sums)
        launch(k["fire"], n, r, work, mem, latest, ring, nodes, ports, d["codes"], d["routes"], sums, flags)

    def _launch_undo(self, n: int, d: dict[str, Any]) -> None:
        """Take that back."""
        launch(self._kernels["undo"], n, *(d[name] for name in ("r", "work", "mem", "nodes", "ports")))

    def _launch_send(self, n: int, d: dict[str, Any]) -> None:
        """The rest."""
        k, r, work, mem, sums, image = self._kernels, d["r"], d["work"], d["mem"], d["sums"], self.fallback.store.image
        nodes, ports, codes, ring, totals = d["nodes"], d["ports"], d["codes"], d["ring"], d["totals"]
        scopes, ends = (
            (d["sites"], d["scopes"], d["opened_counts"]),
            (d["edges"], sums, totals, d["counts"], d["results"]),
        )
        launch(
            k["open_activations"], n, r, work, mem, d["latest"], nodes, ports, codes, *scopes, int(image.header_words)
        )
        launch(k["sum_shares"], _share_count(n), r, sums, totals)
        if n > TOKENS_PER_THREAD:
            launch(k["sum_totals"], 2, totals, _share_count(n))
        launch(k["send"], n, r, work, mem, ring, nodes, ports, codes, *ends)
        launch(k["close_activations"], n, r, work, mem, d["dropped_tags"])
        launch(k["advance_clock"], 1, r, sums, totals, d["profile"], len(ring) - 1)


def _live_parts(name: str, array: Any, registers: WordArray) -> Iterator[tuple[int, Any]]:
    """The parts of an array that say something, and where each goes: the flight to where the ring begins."""
    head, length, at = int(registers[Register.FLIGHT_HEAD]), int(registers[Register.FLIGHT_LENGTH]), 0
    parts: tuple[tuple[int, int], ...] = ()
    if name == "ring":
        first = min(length, len(array) - head)
        parts = (head, first), (0, length - first)
    elif name in ("mem", "latest"):
        parts = ((0, int(registers[Register.MEMORY_TOP])),)
    elif name == "profile":
        parts = ((0, int(registers[Register.WAVES])),)
    for begin, count in parts:
        if count:
            yield at, array[begin : begin + count]
        at += count


def _dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(np.int32 if name == "profile" else np.int64)


def _share_count(tokens: int) -> int:
    """How many threads add up so many tokens."""
    return -(-tokens // TOKENS_PER_THREAD)


def _match_words(image: Image) -> WordArray:
    """For each node with several operands, a word of its frame that is no other's: the first where one waits."""
    found = np.zeros(len(image.nodes), np.int64)
    for row in image.ports.tolist():
        if row[PortColumn.BIT]:
            known = found[row[PortColumn.NODE]]
            found[row[PortColumn.NODE]] = (
                min(known, row[PortColumn.OPERAND_WORD]) if known else row[PortColumn.OPERAND_WORD]
            )
    assert (found[image.nodes[:, NodeColumn.OPERAND_MASK] != 0] > 0).all()
    return found


_run_lock = Lock()
"""One run at a time: the simulator is for one thread."""


def unsupported(graph: Graph, options: dict[str, Any]) -> str | None:
    """Why a graph that keeps the rules cannot be run so, or None. `options` says which schedule, `until`, `keep` and
    `k` are wanted."""
    return (
        next(chain(_unsupported_options(options), unsupported_nodes(build_image(graph))), None) or missing_requirement()
    )


def _unsupported_options(asked: dict[str, Any]) -> Iterator[str]:
    if asked["keep"] is not None:
        yield "it keeps no events"
    if asked["schedule"] != "waves":
        yield "it runs by waves, and has no other schedule"
    if asked["until"] != "quiet":
        yield f"until={asked['until']!r}"
    if asked["k"] is not None:
        yield "it knows no bounds on iterations"


def unsupported_nodes(graph_image: Image) -> Iterator[str]:
    """What nodes of an image it has no kernels for."""
    if graph_image.has_loop_bounds:
        yield "it knows no bounds on iterations"
    for number, node in enumerate(graph_image.graph.nodes):
        first, code = graph_image.first_port[number], graph_image.nodes[number, NodeColumn.CODE]
        types = graph_image.port_types[first : first + len(node.ports)]
        if any(map(is_boxed, types)):
            yield f"{node} has operands that are no scalars"
        if node.op in ("reenter", "back"):
            yield f"{node} goes back through a loop"
        if code == Opcode.FALLBACK:
            yield f"{node} is {node.op}, which has no kernel there"


def run_cuda(
    graph: Graph, arguments: Sequence[object], *, limits: Limits | None, structure: TreeDef, seed: int = 0
) -> Outcome:
    """Run a graph that is supported; how it ends is data. Raises Usage where the arguments do not fit."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves", seed)
    with _run_lock:
        run = WaveRun(state, resolve_limits(limits))
        return run.outcome(run.go(), structure)
