"""A run by waves: the arrays of a token store on a device, and batches of waves that the kernel delivers.

The host issues the waves of a batch one after another and does not wait between them. How many tokens are in flight is
known on the device only: after each wave the kernel checks whether the next one might exceed a limit or an array, and
if so the remaining waves of the batch do nothing. So every wave is delivered completely or not at all.

The store is the store of `fast`, so a run can be imported from the reference, inspected after every wave, and exported.
The tokens of a wave have no order on the device. That decides nothing, except which firings come before a limit on
firings, tokens or depth ends the run: `fast` makes such a run again from its start. If the device has no room for a
wave, `fast` continues from before that wave.
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
from ....core.ops.effects import EFFECT_OPS, resource_of
from ....core.tag import ROOT, Tag
from ...image.image import (
    LOW_BITS,
    PORT_BITS,
    PORT_MASK,
    FrameHeader,
    Image,
    NodeColumn,
    PortColumn,
    WordArray,
    build_image,
    is_boxed,
)
from ...image.opcodes import Opcode
from ...machine.event import Event, Token
from ...machine.state import State
from ...outcome.outcome import Outcome
from ..fast.host_firings import HostDelivery
from ..fast.layout import MachineOption, Register
from ..fast.run import FastRun, RunMonitor
from ..fast.store import TokenStore, aligned_words, next_power_of_two
from ..interrupt import interrupt_between_steps
from ..jit.cache import show_compiling
from ..limits import Limits, external_limit_error, resident_memory, resolve_limits
from ..reference import admit_arguments, first_state
from .device import (
    allocate,
    free_bytes,
    grid_blocks,
    launch_blocks,
    max_threads,
    missing_requirement,
    numba_cuda,
    run_lock,
    simulator_settings,
)
from .kernels import load_wave_kernels
from .wave_kernels import Control, WaveStop, wave_stop

BATCH_WAVES = 16
"""The number of waves that are issued at a time."""
TRAP_ROWS = 4096
"""The most traps of a run that the device records."""
_SMALL_BYTES = 2**26
"""Arrays that together have at most this size grow by a factor of 16, larger ones by a factor of 2."""
_STORE_ARRAYS = {"r": "registers", "results": "result_words", "dropped_tags": "dropped_tags"}
"""The arrays of the store that kernels change and that do not grow, by their names in the kernels."""


class WaveRun:
    """A run of a graph for which `unsupported` returns None, wave by wave."""

    def __init__(self, state: State, limits: Limits) -> None:
        """Import a run from the reference machine, between two waves."""
        self._first_state, self._limits = state, limits
        image = build_image(state.graph, has_own_words=True)
        self.fallback = FastRun(state, "waves", until="quiet", limits=limits, image=image)
        self._device_arrays: dict[str, Any] = {}
        """The arrays on the device, by name; empty while the arrays of the store are current."""
        self._control = np.zeros(len(Control), np.int64)
        """The words of `control` after the last batch."""
        with simulator_settings(), show_compiling("the kernels of a wave"):
            self._kernels = load_wave_kernels(image, self._warm_up)

    def run_waves(self, count: int) -> WaveStop:
        """Deliver up to this number of waves, as long as tokens are in flight; returns why no further one may begin.
        Without room on the device, none is delivered, and the reason is FULL."""
        registers = self.fallback.store.registers
        n = int(registers[Register.FLIGHT_LENGTH])
        with simulator_settings():
            try:
                self._make_room(n)
            except MemoryError:
                return WaveStop.FULL
            arrays, control = self._device_arrays, self._control
            control[Control.STOP] = wave_stop(registers, control)
            if control[Control.STOP]:
                return WaveStop(int(control[Control.STOP]))
            arrays["control"].copy_to_device(control)
            blocks = grid_blocks(n << 2)
            for _ in range(count):
                self.launch_wave(blocks, arrays)
            arrays["control"].copy_to_host(control)
            arrays["r"].copy_to_host(registers)
        if control[Control.CONFLICTS]:
            raise Crash("the machine failed on a valid graph", where=self.fallback.store.image.graph.name)
        if control[Control.TRAPS] > TRAP_ROWS:
            return WaveStop.LIMIT
        return WaveStop.NONE

    def state(self) -> State:
        """The current state, exported to the reference machine."""
        self._copy_back()
        self.fallback.store.sweep()
        return self.fallback.state()

    def run_to_end(self) -> TagloomError | None:
        """Run to the end; returns the error that ended the run, if any."""
        store, start_time = self.fallback.store, time.monotonic()
        with interrupt_between_steps() as interrupt:
            ending = self._run_batches(RunMonitor(self._limits, interrupt))
            if ending is WaveStop.LIMIT:
                return self._run_again(start_time)
            self._copy_back()
            store.sweep()
            if store.registers[Register.FLIGHT_LENGTH] and interrupt.acknowledge():
                ending = "interrupt"
        if isinstance(ending, str):
            return external_limit_error(ending, self._limits)
        if not store.registers[Register.FLIGHT_LENGTH]:
            return None
        if self._limits.tokens is not None:  # their order decides how many there are at once
            return self._run_again(start_time)
        self.fallback.elapsed = time.monotonic() - start_time
        error = self.fallback.resume()
        is_exact = getattr(error, "limit", None) not in ("firings", "depth")
        return error if is_exact else self._run_again(start_time)

    def outcome(self, stop_error: TagloomError | None, structure: TreeDef) -> Outcome:
        """The outcome of the run; `stopped` is the error that ended it, if any."""
        return replace(self.fallback.outcome(stop_error, structure), engine="cuda")

    def _run_batches(self, monitor: RunMonitor) -> WaveStop | str:
        """Run waves until the run is over, a limit is near or the device is full; returns the reason, or the external
        limit that was exceeded before that."""
        store, stop = self.fallback.store, WaveStop.NONE
        while store.registers[Register.FLIGHT_LENGTH] and stop is WaveStop.NONE:
            exceeded_limit = monitor.exceeded_limit(store)
            if exceeded_limit is not None:
                return exceeded_limit
            stop = self.run_waves(BATCH_WAVES)
        return monitor.exceeded_limit(store) or stop

    def _run_again(self, start_time: float) -> TagloomError | None:
        """Run on `fast` from the start, in the seconds that are left."""
        self._device_arrays = {}
        self.fallback = FastRun(
            self._first_state, "waves", until="quiet", limits=self._limits, elapsed=time.monotonic() - start_time
        )
        return self.fallback.resume()

    # Arrays on the device

    def _make_room(self, n: int) -> None:
        """Make room for at least one wave of `n` tokens. Raises MemoryError, with nothing changed, if there is none."""
        required_shapes = dict(self._required_shapes(n, 1))
        if not required_shapes:
            return
        used_bytes = sum(array.nbytes for array in self._device_arrays.values())
        shapes = dict(self._required_shapes(n, 16 if used_bytes < _SMALL_BYTES else 2))
        if not self._has_room(shapes):
            shapes = required_shapes
            if not self._has_room(shapes):
                raise MemoryError
        self._grow(shapes)

    def _has_room(self, shapes: dict[str, tuple[int, ...]]) -> bool:
        """Whether arrays of these shapes fit on the device and into the limit on bytes, which counts the memory of host
        and device."""
        new_bytes = sum(prod(shape) * dtype_of(name).itemsize for name, shape in shapes.items())
        used_bytes = sum(array.nbytes for array in self._device_arrays.values())
        return resident_memory() + used_bytes + new_bytes <= self._limits.bytes and new_bytes <= free_bytes()

    def _required_shapes(self, n: int, factor: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The shapes of the missing arrays for a wave of `n` tokens, with `factor` times the required size."""
        store, on_device = self.fallback.store, self._device_arrays
        r, image = store.registers, store.image
        if not on_device or n * image.max_fanout > on_device["flight"].shape[2]:
            yield "flight", (2, 2, factor * n * image.max_fanout)
        if not on_device or r[Register.MEMORY_TOP] + n * image.largest_frame > len(on_device["mem"]):
            yield "mem", (factor * (int(r[Register.MEMORY_TOP]) + n * image.largest_frame),)
        if not on_device or r[Register.WAVES] >= len(on_device["profile"]):
            yield "profile", (factor * (int(r[Register.WAVES]) + BATCH_WAVES), 2)

    def _grow(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Allocate arrays of these shapes and copy the data; raises MemoryError, with nothing changed, if the device
        has no room."""
        store, to_device = self.fallback.store, numba_cuda().to_device
        arrays = {name: allocate(shape, dtype_of(name)) for name, shape in shapes.items()}
        if self._device_arrays:
            source = {name: self._device_arrays[name] for name in shapes}
        else:
            source = {"flight": self._host_flight(), "mem": store.memory, "profile": store.profile}
            self._device_arrays = {name: to_device(array) for name, array in self._fixed_arrays().items()}
        for name, array in arrays.items():
            copy_live_parts(name, source[name], array, store.registers)
        self._device_arrays |= arrays
        self._control[[Control.FLIGHT_ROOM, Control.MEMORY_ROOM, Control.PROFILE_ROOM]] = (
            self._device_arrays["flight"].shape[2],
            len(self._device_arrays["mem"]),
            len(self._device_arrays["profile"]),
        )

    def _host_flight(self) -> npt.NDArray[np.int64]:
        """The tokens in flight, in the half of a `flight` from which the next wave takes them."""
        store = self.fallback.store
        r = store.registers
        slots = np.arange(r[Register.FLIGHT_LENGTH]) + r[Register.FLIGHT_HEAD] & len(store.ring) - 1
        return np.stack([store.ring[slots].T] * 2)

    def _fixed_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that do not grow."""
        store, image, options = self.fallback.store, self.fallback.store.image, self.fallback.store.options
        self._control[[Control.FIRING_LIMIT, Control.TOKEN_LIMIT, Control.DEPTH_LIMIT]] = options[
            [MachineOption.FIRING_LIMIT, MachineOption.TOKEN_LIMIT, MachineOption.DEPTH_LIMIT]
        ]
        self._control[[Control.FAN_OUT, Control.LARGEST_FRAME]] = image.max_fanout, image.largest_frame
        self._control[Control.TRAPS] = 0
        arrays = {name: getattr(store, attribute) for name, attribute in _STORE_ARRAYS.items()}
        arrays |= {name: getattr(image, name) for name in ("nodes", "ports", "edges", "routes", "sites", "scopes")}
        return arrays | {
            "control": self._control,
            "counts": np.concatenate([store.firing_counts, store.opened_counts]),
            "trap_rows": np.zeros((TRAP_ROWS, 2), np.int64),
            "spares": np.zeros(max_threads(), np.int64),
        }

    def _copy_back(self) -> None:
        """Copy the arrays back into the store, whose arrays are current from here on."""
        if not self._device_arrays:
            return
        store, device_arrays = self.fallback.store, self._device_arrays
        for name, attribute in _STORE_ARRAYS.items():
            device_arrays[name].copy_to_host(getattr(store, attribute))
        counts = device_arrays["counts"].copy_to_host()
        store.firing_counts[:], store.opened_counts[:] = np.split(counts, [len(store.firing_counts)])
        trap_rows = device_arrays["trap_rows"][: int(self._control[Control.TRAPS])].copy_to_host()
        memory, profile = aligned_words(len(device_arrays["mem"])), np.zeros(device_arrays["profile"].shape, np.int32)
        if store.registers[Register.OPEN_ACTIVATIONS] or len(trap_rows):  # closed frames are not needed
            copy_live_parts("mem", device_arrays["mem"], memory, store.registers)
        copy_live_parts("profile", device_arrays["profile"], profile, store.registers)
        flight = np.zeros(device_arrays["flight"].shape, np.int64)
        copy_live_parts("flight", device_arrays["flight"], flight, store.registers)
        ring = np.zeros((next_power_of_two(flight.shape[2]), 2), np.int64)
        ring[: flight.shape[2]] = flight[store.registers[Register.WAVES] & 1].T
        store.adopt_arrays(memory, ring, profile)
        self.fallback.host.traps += [self._trap_event(token, word) for token, word in trap_rows.tolist()]
        self._device_arrays = {}

    def _trap_event(self, token: int, word: int) -> Event:
        """The event of a firing that trapped, from the token that arrived last. Its partners are still in its frame,
        which is not reused."""
        store, host = self.fallback.store, self.fallback.host
        port_index, frame = token & PORT_MASK, token >> PORT_BITS
        number = int(store.image.ports[port_index, PortColumn.NODE])
        port = port_index - store.image.first_port[number]
        inputs, tag = host.with_operands(HostDelivery(number, port, frame, word, 0, ())).inputs, frame_tag(store, frame)
        _, trap = host.rules[number].fire(inputs, tag)
        if trap is None:
            raise Crash("a firing trapped on the device, and not on the host", where=store.image.graph.name, got=inputs)
        value = store.to_value(word, store.image.port_types[port_index])
        return Event(Token(number, port, tag, value), 0, inputs, (), (), trap, (), False)

    # Kernels

    def _warm_up(self, kernels: dict[str, Any]) -> None:
        """Launch the kernel on an empty flight, on which it does nothing."""
        self._kernels = kernels
        axes = {name: array.ndim for name, array in self._fixed_arrays().items()}
        axes |= {name: len(shape) for name, shape in self._required_shapes(1, 1)}
        blank = {name: numba_cuda().to_device(np.zeros((32,) * n, dtype_of(name))) for name, n in axes.items()}
        self.launch_wave(1, blank)

    def launch_wave(self, blocks: int, d: dict[str, Any]) -> None:
        """Launch the kernel of a wave."""
        arguments = [d[name] for name in _KERNEL_ARRAYS]
        launch_blocks(self._kernels["deliver_wave"], blocks, *arguments, int(self.fallback.store.image.header_words))


_KERNEL_ARRAYS = (
    *("r", "control", "flight", "mem", "nodes", "ports", "edges", "routes", "sites", "scopes", "counts", "results"),
    *("dropped_tags", "profile", "trap_rows", "spares"),
)
"""The arrays that `deliver_wave` takes, in their order."""


def frame_tag(store: TokenStore, frame: int) -> Tag:
    """The tag of an activation that is or was open. The iteration of a closed one is complemented."""
    path = []
    while parent := store.parent_of(frame):
        iteration = int(store.memory[frame + FrameHeader.ITERATION])
        path.append((store.image.site_list[store.site_of(frame)], max(iteration, ~iteration) >> LOW_BITS))
        frame = parent
    tag = ROOT
    for site, iteration in reversed(path):
        tag = tag.child(site, iteration)
    return tag


def live_parts(name: str, array: Any, registers: WordArray) -> Iterator[Any]:
    """The parts of an array that are in use, each contiguous."""
    length, waves, top = (int(registers[n]) for n in (Register.FLIGHT_LENGTH, Register.WAVES, Register.MEMORY_TOP))
    if name != "flight":
        yield array[: top if name == "mem" else waves]
    else:
        yield from (array[waves & 1, column, :length] for column in range(2))


def copy_live_parts(name: str, source: Any, target: Any, registers: WordArray) -> None:
    """Copy the parts of an array that are in use to another one. At least one of the two is on the device."""
    for from_part, to_part in zip(
        live_parts(name, source, registers), live_parts(name, target, registers), strict=True
    ):
        if isinstance(target, np.ndarray):
            if from_part.size:
                from_part.copy_to_host(to_part)
        elif from_part.size:
            to_part.copy_to_device(from_part)


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of the array with this name."""
    return np.dtype(np.int32 if name == "profile" else np.int64)


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
        yield "it supports only the schedule waves, and lifo for functions that call themselves"
    if options["until"] != "quiet":
        yield f"it runs until it is quiescent, and does not support until={options['until']!r}"
    if options["k"] is not None:
        yield "it does not support k-bounds"


def unsupported_nodes(graph_image: Image) -> Iterator[str]:
    """Why the nodes and loops of an image cannot run."""
    if graph_image.has_loop_bounds:
        yield f"it does not support k-bounds: {_NO_ORDER}"
    for number, node in enumerate(graph_image.graph.nodes):
        first, code = graph_image.first_port[number], graph_image.nodes[number, NodeColumn.CODE]
        types = graph_image.port_types[first : first + len(node.ports)]
        if node.op in EFFECT_OPS and node.op != "breakpoint":
            yield f"{unsupported_effect(node.op)} ({node})"
        if any(map(is_boxed, types)):
            yield f"it supports only scalars, which are words of a frame, and {node} has other operands"
        if code == Opcode.FALLBACK:
            yield f"it has no kernel for {node.op} ({node})"


_NO_ORDER = "that needs an order of the tokens of a wave, which has none on a device"


def unsupported_effect(op: str) -> str:
    """Why an op cannot run that does more than compute: it draws a random number, changes the world, or has cells."""
    if EFFECT_OPS[op].draw is not None:
        return f"it has no random numbers, as {op}: frames on a device have no keys"
    if resource_of(op) is not None:
        return f"it has no effects, as {op}: {_NO_ORDER}"
    return f"it has no cells, as {op}: on a device only frames hold values"


def run_cuda(
    graph: Graph, arguments: Sequence[object], *, limits: Limits | None, structure: TreeDef, seed: int = 0
) -> Outcome:
    """Run a supported graph; the outcome says how the run ended. Raises Usage if the arguments do not fit."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves", seed)
    with run_lock:
        run = WaveRun(state, resolve_limits(limits))
        return run.outcome(run.run_to_end(), structure)
