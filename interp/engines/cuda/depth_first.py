"""A depth-first run: a program of scalars whose functions call themselves, without tokens, on many threads.

A round is a launch in which each thread advances its own calls, depth first, until its fuel is used up. Between two
rounds the host checks the clock and Ctrl-C, and if many threads have nothing left, kernels distribute the ready calls
again, sorted by depth and code. Frames are reused as soon as a call returns, so memory is bounded by the depth of the
calls and the number of threads.

If a call traps or is too deep, `compiled` runs the program from its start, and says how it ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.errors import TagloomError
from ....core.graph.graph import Graph
from ....core.program.program import Program
from ....core.value import Value, borrow
from ...image.image import MAX_DEPTH, decode_word, encode_word
from ...lru_cache import LRUCache
from ...outcome.outcome import Outcome, value_outcome
from ..compiled.run import run_compiled
from ..interrupt import interrupt_between_steps
from ..jit.cache import load_module, show_compiling
from ..limits import LimitMonitor, Limits, external_limit_error, resident_memory, resolve_limits
from ..protocol import Job, RunOptions
from ..reference import admit_arguments
from .device import (
    allocate,
    describe_device,
    free_bytes,
    is_simulated,
    launch,
    missing_requirement,
    numba_cuda,
    run_lock,
    simulator_settings,
)
from .fork_code import CALLER, EXIT_FULL, HEADER_WORDS, LEFT, PC, PENDING, RESULT, ForkCode, emit_forks
from .kernels import kernel_source
from .map_run import program_module, unsupported_kernels, unsupported_scalars
from .round_kernels import DEPTH_KEYS, KERNELS, RoundControl
from .thread_code import EXIT_FUEL
from .wave import unsupported_options

MAX_THREADS, MAX_SIMULATED_THREADS = 2**16, 6
"""The number of threads on a GPU and on the simulator."""
FIRST_FUEL, FUEL_FACTOR, MAX_FUEL = 2**5, 4, 2**14
"""The blocks, iterations and calls of a thread in the first round, the factor from one round to the next, and the most.
While many threads are idle and distribution makes more of them busy, rounds get shorter again."""
LOOP_FUEL = 2**62
"""The most fuel where a single block, with a loop in it, needs more than MAX_FUEL."""
IDLE_SHARE = 0.25
"""From this share of idle threads on, the ready frames are distributed again."""
FIRST_FRAMES, FIRST_ROWS = 16, 8
"""The frames, and the room for ready ones, of a thread at first; both are doubled where they are not enough."""


@dataclass(frozen=True, slots=True)
class ForkProgram:
    """A program, and its code, which is None if no function calls itself."""

    program: Program
    fork_code: ForkCode | None


_programs: LRUCache[int, ForkProgram] = LRUCache(64)
"""The code of recent programs, by the id of the program, which they keep alive."""


def fork_code(program: Program) -> ForkCode | None:
    """The code of a program of scalars, generated on first use."""
    entry = _programs.get(id(program))
    if entry is None or entry.program is not program:
        entry = _programs.put(id(program), ForkProgram(program, emit_forks(program)))
    return entry.fork_code


def is_depth_first(options: RunOptions) -> bool:
    """Whether these options ask for a depth-first run."""
    return options.schedule == "lifo"


def unsupported(job: Job, options: RunOptions) -> str | None:
    """Why a job cannot run depth first with these options, or None."""
    program = job.program
    if program is None:
        return "it runs programs depth first, and this is a graph"
    names = ("until", "keep", "k")
    reason = next(unsupported_options({name: getattr(options, name) for name in names} | {"schedule": "waves"}), None)
    reason = reason or next(unsupported_scalars(program), None)
    if reason is not None:
        return reason
    code = fork_code(program)
    if code is None:
        return "it runs depth first only functions that call themselves, and what calls them"
    return next(unsupported_kernels(code.code.kernel_names), None) or missing_requirement()


def round_source(code: ForkCode, *, is_simulated: bool) -> str:
    """The module of a program: its state machine and the kernels."""
    constants = {
        "BLOCK_COUNT": code.block_count,
        "FRAME_WORDS": code.code.frame_words,
        "DEPTH_KEYS": DEPTH_KEYS,
        "EXIT_FUEL": EXIT_FUEL,
        "EXIT_FULL": EXIT_FULL,
        "LEFT": LEFT,
        "PC": PC,
    }
    machine = program_module(code.code, is_simulated=is_simulated)
    return machine + kernel_source("round_kernels", KERNELS, constants)


class DepthFirstRun:
    """A run of a supported program on its arguments."""

    def __init__(self, program: Program, arguments: Sequence[Value], limits: Limits) -> None:
        code = fork_code(program)
        assert code is not None
        self.program, self.code, self.arguments, self.limits = program, code, arguments, limits
        self.depth = min(limits.depth, MAX_DEPTH)
        self.frame_words = code.code.frame_words
        self.threads = MAX_SIMULATED_THREADS if is_simulated() else MAX_THREADS
        self.control = np.zeros(len(RoundControl), np.int64)
        self.frame_room, self.rows = max(FIRST_FRAMES * self.threads, 2), FIRST_ROWS
        self.rounds = self.distributions = 0
        """The number of rounds, and how often ready frames were distributed again."""
        with show_compiling(f"the calls of {program.entry}"):
            self.kernels = self.load_kernels()

    def load_kernels(self) -> dict[str, Any]:
        """The kernels by name."""
        text = f"# {describe_device()}\n{round_source(self.code, is_simulated=is_simulated())}"
        with simulator_settings():
            module = load_module("rounds", text, self._warm_up)
        return {name: getattr(module, name) for name in KERNELS}

    def _warm_up(self, module: Any) -> None:
        """Launch each kernel on no thread's data."""
        to_device = numba_cuda().to_device
        words, table, none = (to_device(np.zeros(shape, np.int64)) for shape in (1, (1, 1), 0))
        launch(module.run_round, 1, words, table, none, none, words, 0)
        launch(module.count_ready, 1, words, table, none, words, 0)
        launch(module.sum_keys, 1, none, to_device(np.zeros(len(RoundControl), np.int64)))
        launch(module.sort_ready, 1, words, table, none, words, words, 0)
        launch(module.distribute, 1, table, none, words, words)

    def run(self) -> list[Value] | str | None:
        """The results, the external limit that ended the run, or None if `compiled` must say how it ends."""
        with simulator_settings(), interrupt_between_steps() as interrupt:
            monitor = LimitMonitor(self.limits.seconds, self.limits.bytes, interrupt)
            try:
                ending = self.run_rounds(monitor)
            except MemoryError:
                ending = "bytes"
            if ending == "interrupt":
                interrupt.acknowledge()
        return ending

    def run_rounds(self, monitor: LimitMonitor) -> list[Value] | str | None:
        """As `run`; raises MemoryError."""
        to_device = numba_cuda().to_device
        self.check_room(self.array_bytes(), held_bytes=0)
        pool = allocate((self.frame_room * self.frame_words,), np.dtype(np.int64))
        first = self.first_frames()
        pool[: len(first)].copy_to_device(first)
        ready = allocate((self.rows, self.threads), np.dtype(np.int64))
        ready[0].copy_to_device(np.ones(self.threads, np.int64))
        tops = to_device((np.arange(self.threads) == 0).astype(np.int64))
        frees = to_device(np.full(self.threads, -1, np.int64))
        control, fuel, last_busy = to_device(self.control), FIRST_FUEL, 0
        self.control[RoundControl.NEXT_FRAME] = 2
        while True:
            exceeded_limit = monitor.exceeded_limit(0, None)
            if exceeded_limit is not None:
                return exceeded_limit
            self.control[: RoundControl.NEXT_FRAME] = 0
            self.control[RoundControl.FRAME_ROOM] = self.frame_room
            control.copy_to_device(self.control)
            launch(self.kernels["run_round"], self.threads, pool, ready, tops, frees, control, fuel)
            control.copy_to_host(self.control)
            self.rounds += 1
            if self.control[RoundControl.TRAP] or self.control[RoundControl.DEPTH]:
                return None
            if self.control[RoundControl.RETURNED]:
                return self.results(pool[: self.frame_words].copy_to_host())
            if self.control[RoundControl.FULL]:
                pool, ready = self.grow(pool, ready)
            idle = int(self.control[RoundControl.IDLE])
            has_idle, is_growing = idle >= IDLE_SHARE * self.threads, self.threads - idle > last_busy
            last_busy = self.threads - idle
            if has_idle:
                self.distribute(pool, ready, tops, control)
            if self.control[RoundControl.STUCK]:
                fuel = min(fuel * FUEL_FACTOR, LOOP_FUEL)
            elif has_idle and is_growing:
                fuel = max(fuel // FUEL_FACTOR, FIRST_FUEL)
            else:
                fuel = min(fuel * FUEL_FACTOR, MAX_FUEL)

    def first_frames(self) -> npt.NDArray[np.int64]:
        """Frame 0, to which the entry function returns, and frame 1, in which it runs."""
        frames = np.zeros((2, self.frame_words), np.int64)
        frames[0, [PC, PENDING]] = -1, 1
        frames[1, [CALLER, PC, LEFT, RESULT]] = 0, self.code.entry, self.depth, HEADER_WORDS
        for number, (value, (_, type_)) in enumerate(
            zip(self.arguments, self.program.main.body.parameters, strict=True)
        ):
            frames[1, HEADER_WORDS + number] = encode_word(value, type_.dtype)
        return frames.reshape(-1)

    def results(self, frame: npt.NDArray[np.int64]) -> list[Value]:
        """The results in frame 0."""
        words = frame[HEADER_WORDS:].tolist()
        return [decode_word(word, type_.dtype) for word, type_ in zip(words, self.program.main.results, strict=False)]

    def grow(self, pool: Any, ready: Any) -> tuple[Any, Any]:
        """Twice the frames and twice the room for ready ones. Raises MemoryError."""
        used = min(int(self.control[RoundControl.NEXT_FRAME]), self.frame_room)
        self.control[RoundControl.NEXT_FRAME] = used
        self.check_room(2 * self.array_bytes(), held_bytes=self.array_bytes())
        larger_pool = allocate((2 * self.frame_room * self.frame_words,), np.dtype(np.int64))
        larger_ready = allocate((2 * self.rows, self.threads), np.dtype(np.int64))
        larger_pool[: used * self.frame_words].copy_to_device(pool[: used * self.frame_words])
        larger_ready[: self.rows].copy_to_device(ready)
        self.frame_room, self.rows = 2 * self.frame_room, 2 * self.rows
        return larger_pool, larger_ready

    def array_bytes(self) -> int:
        """The bytes of the frames, of the table of ready ones and of their order."""
        return 8 * (self.frame_room * self.frame_words + 2 * self.rows * self.threads)

    def check_room(self, new_bytes: int, *, held_bytes: int) -> None:
        """Raises MemoryError if new arrays of this size, beside those that the device holds, exceed the limit on bytes
        or the memory of the device."""
        if resident_memory() + held_bytes + new_bytes > self.limits.bytes or new_bytes > free_bytes():
            raise MemoryError

    def distribute(self, pool: Any, ready: Any, tops: Any, control: Any) -> None:
        """Distribute the ready frames again."""
        keys = numba_cuda().to_device(np.zeros(DEPTH_KEYS * self.code.block_count, np.int64))
        order = allocate((self.rows * self.threads,), np.dtype(np.int64))
        launch(self.kernels["count_ready"], self.threads, pool, ready, tops, keys, self.depth)
        launch(self.kernels["sum_keys"], 1, keys, control)
        launch(self.kernels["sort_ready"], self.threads, pool, ready, tops, keys, order, self.depth)
        launch(self.kernels["distribute"], self.threads, ready, tops, order, control)
        self.distributions += 1


def run_depth_first(job: Job, arguments: Sequence[object], limits: Limits | None) -> Outcome:
    """Run a supported job; the outcome says how the run ended. Raises Usage if the arguments do not fit."""
    assert job.program is not None
    graph: Graph = job.graph
    admitted, resolved, start_time = admit_arguments(graph, arguments, borrow), resolve_limits(limits), time.monotonic()
    with run_lock:
        ending = DepthFirstRun(job.program, admitted, resolved).run()
    if isinstance(ending, str):
        error: TagloomError = external_limit_error(ending, resolved)
        return value_outcome(graph, job.structure, "cuda", None, error)
    if ending is not None:
        return value_outcome(graph, job.structure, "cuda", ending)
    if resolved.seconds is not None:
        resolved = replace(resolved, seconds=max(0.0, resolved.seconds - (time.monotonic() - start_time)))
    outcome = run_compiled(job.program, graph, admitted, limits=resolved, structure=job.structure)
    assert outcome is not None, "a program of scalars has no cells"
    return replace(outcome, engine="cuda")
