"""A run by waves: the arrays of a token store on a device, and the kernels that deliver one wave after another.

The store is the store of `fast`, so a run can be imported from the reference, inspected after every wave, and exported.
If a wave traps, may exceed a limit, or does not fit on the device, `fast` continues the run from the start of that
wave.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
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
from ..fast.layout import MachineOption, Register
from ..fast.run import FastRun, RunMonitor
from ..fast.store import aligned_words, next_power_of_two
from ..interrupt import interrupt_between_steps
from ..jit.cache import show_compiling
from ..limits import Limits, external_limit_error, resident_memory, resolve_limits
from ..reference import admit_arguments, first_state
from .device import (
    allocate,
    free_bytes,
    launch,
    missing_requirement,
    numba_cuda,
    run_lock,
    simulator_warnings_off,
)
from .kernels import load_wave_kernels
from .wave_kernels import TOKENS_PER_THREAD, WaveColumn

_STORE_ARRAYS = {
    "r": "registers",
    "counts": "firing_counts",
    "opened_counts": "opened_counts",
    "results": "result_words",
    "dropped_tags": "dropped_tags",
}
"""The arrays of the store that kernels change and that do not grow, by their names in the kernels."""


class WaveRun:
    """A run of a graph for which `unsupported` returns None, wave by wave."""

    def __init__(self, state: State, limits: Limits) -> None:
        """Import a run from the reference machine, between two waves."""
        self.fallback = FastRun(state, "waves", until="quiet", limits=limits)
        self._limits = limits
        self._device_arrays: dict[str, Any] = {}
        """The arrays on the device, by name; empty while the arrays of the store are current."""
        with simulator_warnings_off(), show_compiling("the kernels of a wave"):
            self._kernels = load_wave_kernels(self._warm_up)

    def run_wave(self) -> bool:
        """Deliver all tokens in flight, at least one. Returns False and changes nothing if a firing traps or the device
        has no room."""
        store = self.fallback.store
        n = int(store.registers[Register.FLIGHT_LENGTH])
        with simulator_warnings_off():
            try:
                self._grow(self._missing_arrays(n))
            except MemoryError:
                return False
            arrays = self._device_arrays
            self.launch_firing(n, arrays)
            has_conflict, has_trap = arrays["flags"].copy_to_host().tolist()
            if has_conflict:
                raise Crash("the machine failed on a valid graph", where=store.image.graph.name)
            if has_trap:
                self.launch_undo(n, arrays)
                return False
            self.launch_send(n, arrays)
        arrays["r"].copy_to_host(store.registers)
        return True

    def state(self) -> State:
        """The current state, exported to the reference machine."""
        self._copy_back()
        self.fallback.store.sweep()
        return self.fallback.state()

    def run_to_end(self) -> TagloomError | None:
        """Run to the end; returns the error that ended the run, if any."""
        store, registers = self.fallback.store, self.fallback.store.registers
        start_time = time.monotonic()
        with interrupt_between_steps() as interrupt:
            exceeded_limit = self._run_waves(RunMonitor(self._limits, interrupt))
            self._copy_back()
            store.sweep()
            if registers[Register.FLIGHT_LENGTH] and interrupt.acknowledge():
                exceeded_limit = "interrupt"
        if exceeded_limit is not None:
            return external_limit_error(exceeded_limit, self._limits)
        self.fallback.elapsed = time.monotonic() - start_time
        return self.fallback.resume() if registers[Register.FLIGHT_LENGTH] else None

    def outcome(self, stop_error: TagloomError | None, structure: TreeDef) -> Outcome:
        """The outcome of the run; `stopped` is the error that ended it, if any."""
        return replace(self.fallback.outcome(stop_error, structure), engine="cuda")

    def _run_waves(self, monitor: RunMonitor) -> str | None:
        """Run waves until the run is over, a wave traps or a limit is near; returns the external limit that was
        exceeded before that, if any."""
        store = self.fallback.store
        while store.registers[Register.FLIGHT_LENGTH]:
            exceeded_limit = monitor.exceeded_limit(store)
            if exceeded_limit is not None:
                return exceeded_limit
            if self.is_near_limit() or not self.run_wave():
                return monitor.exceeded_limit(store)
        return None

    def is_near_limit(self) -> bool:
        """Whether the next wave might exceed a limit or the memory of the device."""
        store, limits = self.fallback.store, self._limits
        r, n = store.registers, int(store.registers[Register.FLIGHT_LENGTH])
        tokens = store.live_tokens + n * store.image.max_fanout
        if (
            r[Register.FIRINGS] + n > limits.max_firings
            or tokens > limits.max_tokens
            or r[Register.DEEPEST_TAG] >= store.options[MachineOption.DEPTH_LIMIT]
        ):
            return True
        shapes = self._missing_arrays(n)
        return bool(shapes) and not self._has_room(shapes)

    def _has_room(self, shapes: dict[str, tuple[int, ...]]) -> bool:
        """Whether arrays of these shapes fit on the device and into the limit on bytes, which counts the memory of host
        and device."""
        new_bytes = sum(prod(shape) * dtype_of(name).itemsize for name, shape in shapes.items())
        used_bytes = sum(array.nbytes for array in self._device_arrays.values())
        return resident_memory() + used_bytes + new_bytes <= self._limits.bytes and new_bytes <= free_bytes()

    def _missing_arrays(self, n: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays that the next wave needs, and that are missing on the device or too small: twice the
        required size, if there is room."""
        required_shapes = dict(self._required_shapes(n, 1))
        if not required_shapes:  # as for nearly all waves
            return required_shapes
        doubled_shapes = dict(self._required_shapes(n, 2))
        return doubled_shapes if self._has_room(doubled_shapes) else required_shapes

    def _required_shapes(self, n: int, factor: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The shapes of the missing arrays for a wave of `n` tokens, with `factor` times the required size."""
        store, on_device = self.fallback.store, self._device_arrays
        r, image = store.registers, store.image
        arrays: dict[str, Any] = on_device or self._host_arrays()
        if (tokens := n * (image.max_fanout + 1)) > len(arrays["ring"]) or not on_device:
            tokens = next_power_of_two(max(tokens, len(arrays["ring"])))
            yield from {"ring": (tokens, 2), "work": (len(WaveColumn), tokens), "sums": (2, tokens)}.items()
            yield "totals", (2, share_count(tokens))
        if (words := int(r[Register.MEMORY_TOP]) + n * image.largest_frame) > len(arrays["mem"]) or not on_device:
            words = factor * words if on_device else max(words, len(arrays["mem"]))
            yield from {"mem": (words,), "latest": (words,)}.items()
        if (waves := int(r[Register.WAVES]) + 1) > len(arrays["profile"]) or not on_device:
            yield "profile", (max(factor * waves, len(arrays["profile"])), 2)

    def _grow(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Allocate arrays of these shapes and copy the data; raises MemoryError, with nothing changed, if the device
        has no room."""
        if not shapes:
            return
        r = self.fallback.store.registers
        arrays = {name: allocate(shape, dtype_of(name)) for name, shape in shapes.items()}
        source = self._device_arrays or self._host_arrays()
        for name, array in arrays.items():
            for offset, part in live_parts(name, source.get(name), r):
                array[offset : offset + len(part)].copy_to_device(part)
        if "ring" in arrays:
            r[Register.FLIGHT_HEAD] = 0
        if not self._device_arrays:
            self._device_arrays = {name: numba_cuda().to_device(array) for name, array in self._fixed_arrays().items()}
        self._device_arrays |= arrays
        self._device_arrays["r"].copy_to_device(r)

    def _host_arrays(self) -> dict[str, Any]:
        """The arrays of the store that grow, by their names in the kernels."""
        store = self.fallback.store
        latest = np.zeros_like(store.memory)
        return {"ring": store.ring, "mem": store.memory, "latest": latest, "profile": store.profile}

    def _fixed_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that do not grow."""
        store, image = self.fallback.store, self.fallback.store.image
        arrays = {name: getattr(store, attribute) for name, attribute in _STORE_ARRAYS.items()}
        arrays |= {name: getattr(image, name) for name in ("nodes", "ports", "edges", "routes", "sites", "scopes")}
        return arrays | {
            "codes": store.codes,
            "match_words": first_operand_words(image),
            "flags": np.zeros(2, np.int64),
        }

    def _copy_back(self) -> None:
        """Copy the arrays back into the store, whose arrays are current from here on."""
        if not self._device_arrays:
            return
        store = self.fallback.store
        for name, attribute in _STORE_ARRAYS.items():
            self._device_arrays[name].copy_to_host(getattr(store, attribute))
        memory = aligned_words(len(self._device_arrays["mem"]))
        ring, profile = (np.zeros(self._device_arrays[name].shape, dtype_of(name)) for name in ("ring", "profile"))
        for name, array in (("mem", memory), ("ring", ring), ("profile", profile)):
            if name != "mem" or store.registers[Register.OPEN_ACTIVATIONS]:  # closed frames are not needed
                for offset, part in live_parts(name, self._device_arrays[name], store.registers):
                    part.copy_to_host(array[offset : offset + len(part)])
        store.adopt_arrays(memory, ring, profile)
        self._device_arrays = {}

    def _warm_up(self, kernels: dict[str, Any]) -> None:
        """Launch the kernels on an empty flight, on which they do nothing."""
        self._kernels = kernels
        axes = {name: array.ndim for name, array in self._fixed_arrays().items()}
        axes |= {name: len(shape) for name, shape in self._required_shapes(1, 1)}
        blank = {name: numba_cuda().to_device(np.zeros((64,) * n, dtype_of(name))) for name, n in axes.items()}
        for launch_part in (self.launch_firing, self.launch_undo, self.launch_send):
            launch_part(1, blank)
        launch(kernels["sum_totals"], 2, blank["totals"], 0)

    def launch_firing(self, n: int, d: dict[str, Any]) -> None:
        """Launch the kernels of a wave up to `fire`, whose changes `undo` can revert."""
        k, r, work, mem, sums, flags = self._kernels, d["r"], d["work"], d["mem"], d["sums"], d["flags"]
        nodes, ports, ring, latest = d["nodes"], d["ports"], d["ring"], d["latest"]
        launch(k["mark_arrivals"], n, r, work, mem, latest, ring, nodes, ports, d["match_words"], flags)
        launch(k["select_firings"], n, r, work, mem, latest, ring, nodes, ports, d["match_words"], sums)
        launch(k["fire"], n, r, work, mem, latest, ring, nodes, ports, d["codes"], d["routes"], sums, flags)

    def launch_undo(self, n: int, d: dict[str, Any]) -> None:
        """Launch `undo`, after `launch_firing`."""
        launch(self._kernels["undo"], n, *(d[name] for name in ("r", "work", "mem", "nodes", "ports")))

    def launch_send(self, n: int, d: dict[str, Any]) -> None:
        """Launch the remaining kernels of a wave."""
        k, r, work, mem, sums, image = self._kernels, d["r"], d["work"], d["mem"], d["sums"], self.fallback.store.image
        nodes, ports, codes, ring, totals = d["nodes"], d["ports"], d["codes"], d["ring"], d["totals"]
        scopes, ends = (
            (d["sites"], d["scopes"], d["opened_counts"]),
            (d["edges"], sums, totals, d["counts"], d["results"]),
        )
        launch(
            k["open_activations"], n, r, work, mem, d["latest"], nodes, ports, codes, *scopes, int(image.header_words)
        )
        launch(k["sum_shares"], share_count(n), r, sums, totals)
        if n > TOKENS_PER_THREAD:
            launch(k["sum_totals"], 2, totals, share_count(n))
        launch(k["send"], n, r, work, mem, ring, nodes, ports, codes, *ends)
        launch(k["close_activations"], n, r, work, mem, d["dropped_tags"])
        launch(k["advance_clock"], 1, r, sums, totals, d["profile"], len(ring) - 1)


def live_parts(name: str, array: Any, registers: WordArray) -> Iterator[tuple[int, Any]]:
    """The parts of an array that are in use, each with its offset in a new array, whose ring begins with the flight."""
    head, length, offset = int(registers[Register.FLIGHT_HEAD]), int(registers[Register.FLIGHT_LENGTH]), 0
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
            yield offset, array[begin : begin + count]
        offset += count


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of the array with this name."""
    return np.dtype(np.int32 if name == "profile" else np.int64)


def share_count(tokens: int) -> int:
    """The number of threads that sum the counts of this number of tokens."""
    return -(-tokens // TOKENS_PER_THREAD)


def first_operand_words(image: Image) -> WordArray:
    """For each node with several operands, the offset in the frame of its first operand, which no other node uses; 0
    for other nodes."""
    words = np.zeros(len(image.nodes), np.int64)
    for row in image.ports.tolist():
        if row[PortColumn.BIT]:
            node, word = row[PortColumn.NODE], row[PortColumn.OPERAND_WORD]
            words[node] = min(words[node], word) if words[node] else word
    assert (words[image.nodes[:, NodeColumn.OPERAND_MASK] != 0] > 0).all()
    return words


def unsupported(graph: Graph, options: dict[str, Any]) -> str | None:
    """Why a valid graph cannot run with these options, or None. `options` has the keys schedule, until, keep and k."""
    return (
        next(chain(unsupported_options(options), unsupported_nodes(build_image(graph))), None) or missing_requirement()
    )


def unsupported_options(options: dict[str, Any]) -> Iterator[str]:
    """Why these options are not supported."""
    if options["keep"] is not None:
        yield "it keeps no events"
    if options["schedule"] != "waves":
        yield "it supports only the schedule waves"
    if options["until"] != "quiet":
        yield f"it runs until it is quiescent, and does not support until={options['until']!r}"
    if options["k"] is not None:
        yield "it does not support k-bounds"


def unsupported_nodes(graph_image: Image) -> Iterator[str]:
    """Why the nodes and loops of an image cannot run."""
    if graph_image.has_loop_bounds:
        yield "it does not support k-bounds"
    for number, node in enumerate(graph_image.graph.nodes):
        first, code = graph_image.first_port[number], graph_image.nodes[number, NodeColumn.CODE]
        types = graph_image.port_types[first : first + len(node.ports)]
        if any(map(is_boxed, types)):
            yield f"it supports only scalars, and {node} has other operands"
        if node.op in ("reenter", "back"):
            yield f"it does not support gradients of loops ({node})"
        if code == Opcode.FALLBACK:
            yield f"it has no kernel for {node.op} ({node})"


def run_cuda(
    graph: Graph, arguments: Sequence[object], *, limits: Limits | None, structure: TreeDef, seed: int = 0
) -> Outcome:
    """Run a supported graph; the outcome says how the run ended. Raises Usage if the arguments do not fit."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves", seed)
    with run_lock:
        run = WaveRun(state, resolve_limits(limits))
        return run.outcome(run.run_to_end(), structure)
