"""The engine `auto`: an engine over others.

A run begins on the reference, so that small runs wait for no compiler. A long run moves to `fast`, or, where the caller
wants only its value, starts again on `compiled`; from then on that program starts on `compiled` directly. Many short
runs of a program count as a long one.

Machine code that is not on disk is compiled in the background (`jit.compiler_process`), and the run goes on meanwhile;
so it moves when the code is there. A helper thread imports numba, generates the text and loads the code, so that no run
waits for that either. Results, errors and statistics do not depend on when that is.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from ...core.errors import Crash, Exhausted, TagloomError
from ...core.graph.graph import Graph
from ...core.ops.effects import resource_of
from ..machine.schedule import schedule
from ..outcome.outcome import Outcome, build_outcome
from ..outcome.statistics import Meter
from ..records.event_sink import log_path, open_event_sink
from . import reference
from .compiled import engine as compiled_engine
from .compiled.support import unsupported_program
from .fast import engine as fast_engine
from .interrupt import LOADER_THREAD, interrupt_at_once
from .jit import compiler_process
from .jit.compiler_process import Compilation, CompileState
from .limits import Limits, resolve_limits
from .protocol import Job, RunOptions
from .reference import admit_arguments, first_state, is_until_met, resume
from .thread_switches import frequent_switches

WARMUP_FIRINGS = 50_000
"""The firings of a run after which machine code is requested, if it has to be loaded or compiled. They take about a
third of a second on the reference, as does the start of numba."""
WARMUP_SECONDS = 0.3
"""The total seconds of the runs of a program after which machine code is requested."""
LOADED_WARMUP_FIRINGS = 1_000
"""The firings after which a run moves to `fast`, if that is loaded or the program is known to take long. They take some
milliseconds on the reference, as does the start of a run on `fast`."""
POLL_FIRINGS = 256
"""The number of firings on the reference between two decisions."""
POLL_SECONDS = 0.05
"""Seconds on `fast` between two decisions."""
FIRST_BURST_STEPS = 2**14
"""The number of steps on `fast` before the first decision; later ones are POLL_SECONDS apart."""


class AutoEngine:
    """The engine `auto`: runs every job on the engine that suits it."""

    name = "auto"
    is_selector = True

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        return None

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        selector = EngineSelector(job, options)
        if not (selector.may_restart and selector.has_machine_code()):
            outcome = run_without_code(job, arguments, options, selector)
            if outcome is not None:
                return outcome
        try:
            outcome = compiled_engine.ENGINE.run(job, arguments, options)
        except Crash as crash:
            warnings.warn(f"engine auto continues on fast: {crash}", RuntimeWarning, stacklevel=2)
            return fast_engine.ENGINE.run(job, arguments, options)
        if compiled_engine.ran_out_of_stack(outcome):
            return fast_engine.ENGINE.run(job, arguments, options)
        return outcome


def run_without_code(
    job: Job, arguments: Sequence[object], options: RunOptions, selector: EngineSelector
) -> Outcome | None:
    """Run a job that `compiled` has no machine code for, or does not support; None if the run should start again on
    `compiled`."""
    if fast_engine.ENGINE.unsupported(job, options) is not None:
        return reference.ENGINE.run(job, arguments, options)
    log_path(options.keep)
    if selector.select(0, 0.0) is Target.COMPILED:
        return None
    with interrupt_at_once():
        outcome = start_on_reference(job, arguments, options, selector)
    if outcome is None and not selector.may_restart:  # its code could not be compiled
        return fast_engine.ENGINE.run(job, arguments, options)
    return outcome


class Target(Enum):
    """Where a run on the reference may go on: on `fast`, or from the start on `compiled`."""

    FAST = "fast"
    COMPILED = "compiled"


class HelperThread:
    """Work in a separate thread, or in the calling one if no thread can start. If it fails, the engine that it is for
    says why."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.is_done = False
        try:
            threading.Thread(target=self._run, name=LOADER_THREAD).start()
        except RuntimeError:  # too many threads
            self._run()

    def _run(self) -> None:
        with suppress(Exception), frequent_switches():
            self._work()
        self.is_done = True


@dataclass(slots=True, eq=False)
class Warmup:
    """The warm-up of a program: the knowledge of `auto` about its runs."""

    graph: weakref.ref[Graph]
    is_restartable: bool
    """Whether `compiled` supports the program, and a run may start again there because it has no effects."""
    seconds: float = 0.0
    """The seconds of all runs, but for those on `compiled`."""
    generation: HelperThread | None = None
    """The thread that imports `compiled`, and generates and requests the code."""
    compilation: Compilation | None = None
    """The compilation for `compiled`, once it is requested."""
    loading: HelperThread | None = None
    """The thread that loads the code when it is on disk."""

    def is_over(self, firings: int, seconds: float) -> bool:
        """Whether the program deserves machine code, after these firings and seconds of the current run."""
        if firings >= WARMUP_FIRINGS or self.generation is not None:
            return True
        return self.seconds + seconds >= WARMUP_SECONDS and compiler_process.is_enabled()


_warmups: dict[int, Warmup] = {}
"""By the identities of graphs, as long as these exist."""


def find_warmup(job: Job) -> Warmup:
    """The warm-up of a job's program. Graphs are compared by identity."""
    key = id(job.graph)
    warmup = _warmups.get(key)
    if warmup is None or warmup.graph() is not job.graph:
        graph = weakref.ref(job.graph, lambda _: _warmups.pop(key, None))
        warmup = _warmups[key] = Warmup(graph, is_restartable(job))
    return warmup


def is_restartable(job: Job) -> bool:
    """Whether `compiled` supports a program, and the program has no effects, which must happen once."""
    if job.program is None or any(resource_of(node.op) is not None for node in job.graph.nodes):
        return False
    return unsupported_program(job.program) is None


class EngineSelector:
    """The choice of the engine on which a run continues."""

    def __init__(self, job: Job, options: RunOptions) -> None:
        self.job, self.options = job, options
        self.warmup = find_warmup(job)

    @property
    def may_restart(self) -> bool:
        """Whether the run may start again on `compiled`: only its value is wanted, and nothing happens twice."""
        options = self.options
        if options.measures or options.limits is not None or options.keep is not None or not self.warmup.is_restartable:
            return False
        is_supported = compiled_engine.ENGINE.unsupported(self.job, options) is None
        return is_supported and compiled_engine.compile_failure(self.job.program) is None

    def select(self, firings: int, seconds: float) -> Target | None:
        """The engine on which the run continues after these firings and seconds; None if it stays where it is. Requests
        missing machine code."""
        may_restart, is_warm = self.may_restart, self.warmup.is_over(firings, seconds)
        if may_restart and (self.has_machine_code() or (is_warm and self.is_compiled_ready())):
            return Target.COMPILED
        if firings >= min(WARMUP_FIRINGS, LOADED_WARMUP_FIRINGS) and self.is_fast_ready(is_warm):
            return Target.FAST
        return None

    def has_machine_code(self) -> bool:
        """Whether the machine code of the program is in memory."""
        return compiled_engine.has_machine_code(self.job.program)

    def is_compiled_ready(self) -> bool:
        """Whether the run can go on as `compiled` without waiting for a compiler, or has no choice but to wait."""
        if not compiler_process.is_enabled():
            return True
        warmup, program = self.warmup, self.job.program
        assert program is not None

        def generate() -> None:
            compilation = compiled_engine.code_compilation(program)
            compilation.request()
            warmup.compilation = compilation

        if warmup.generation is None:
            warmup.generation = HelperThread(generate)
        if not warmup.generation.is_done:
            return False
        if warmup.compilation is None:  # nothing can be cached, or generated: `compiled` says why
            return True
        state = warmup.compilation.poll()
        if state is CompileState.READY and warmup.loading is None:
            warmup.loading = HelperThread(lambda: compiled_engine.load_machine_code(program))
        if state is CompileState.FAILED:
            warmup.is_restartable = False
            message = (
                f"engine auto runs {self.job.graph.name} on reference and fast, since its code could not be compiled"
            )
            warnings.warn(f'{message}: engine="compiled" says why', RuntimeWarning, stacklevel=2)
        return warmup.loading is not None and warmup.loading.is_done

    def is_fast_ready(self, is_warm: bool) -> bool:
        """Whether the run can go on as `fast` without waiting for a compiler, or has no choice but to wait."""
        is_journal = self.options.keep is not None
        may_restart, is_enabled = self.may_restart, compiler_process.is_enabled()
        if may_restart and not is_enabled:
            return False  # it will wait for `compiled`
        if is_machine_loaded(is_journal):
            return True
        if not is_warm or not is_enabled:
            return is_warm
        if not is_machine_prepared(is_journal):
            return False
        try:
            compilation = machine_compilation(is_journal)
        except OSError:  # nothing can be cached
            return True
        if not may_restart:
            compilation.request()
        return compilation.poll() is not CompileState.PENDING  # if it failed, `fast` says why


def machine_variant(load: Any, is_journal: bool) -> Any:
    """The token machine of the module `load` for runs that keep their events, or for those that do not."""
    return load.MachineVariant.JOURNAL if is_journal else load.MachineVariant.BASE


def is_machine_loaded(is_journal: bool) -> bool:
    """Whether this process has loaded a token machine. Imports nothing: that takes a third of a second, or waits for
    the thread that imports."""
    load = sys.modules.get(f"{__package__}.fast.load")
    is_loaded = getattr(load, "is_machine_loaded", None)  # None while the module is being imported
    return is_loaded is not None and is_loaded(machine_variant(load, is_journal))


@cache
def machine_compilation(is_journal: bool) -> Compilation:
    """The compilation of a token machine, not yet requested. Raises OSError where nothing can be cached."""
    from .fast import load

    return Compilation(load.machine_task(machine_variant(load, is_journal)))


_preparations: dict[bool, HelperThread] = {}
"""The threads of `is_machine_prepared`, by whether the machine is that of runs that keep their events."""


def is_machine_prepared(is_journal: bool) -> bool:
    """Whether a thread has imported the engine `fast`, generated the text of a token machine, and loaded the machine if
    its code was on disk. The first call starts the thread. That takes up to half a second; meanwhile the run continues,
    and ends at its limits."""

    def prepare() -> None:
        from .fast import load, run  # noqa: F401 - a run that moves needs it

        if machine_compilation(is_journal).is_on_disk():
            load.load_machine(machine_variant(load, is_journal))

    if is_journal not in _preparations:
        _preparations[is_journal] = HelperThread(prepare)
    return _preparations[is_journal].is_done  # if it failed, `fast` says why


MAX_TOKENS_FOR_VALUE = 2**20
"""The most tokens of a run that waits for `compiled`; then it waits without running, since `compiled` needs none."""


def start_on_reference(
    job: Job, arguments: Sequence[object], options: RunOptions, selector: EngineSelector
) -> Outcome | None:
    """Begin on the reference, and go on where the `selector` says; None if the run should start again on `compiled`."""
    start_time = time.monotonic()
    try:
        return run_until_selected(job, arguments, options, selector, start_time)
    finally:
        selector.warmup.seconds += time.monotonic() - start_time


def run_until_selected(
    job: Job, arguments: Sequence[object], options: RunOptions, selector: EngineSelector, start_time: float
) -> Outcome | None:
    may_restart = selector.may_restart
    limits = Limits(tokens=MAX_TOKENS_FOR_VALUE) if may_restart else resolve_limits(options.limits)
    admitted = admit_arguments(job.graph, arguments)
    name = str(options.schedule)
    state = first_state(job.graph, admitted, name, options.seed, options.k, options.world)
    with open_event_sink(options.keep, job.graph, admitted, name, options.seed, options.k) as sink:
        meter = Meter(state, is_clocked=state.is_clocked)
        can_hand_over = cache(lambda: fast_engine.can_take_over(state))
        target: Target | None = None
        next_poll = next_poll_after(0)

        def select() -> bool:
            nonlocal target, next_poll
            next_poll = next_poll_after(state.firings)
            target = selector.select(state.firings, time.monotonic() - start_time)
            if target is Target.FAST and not can_hand_over():
                target = None
            return target is not None

        def should_stop() -> bool:
            return is_until_met(options.until, state) or (state.firings >= next_poll and select())

        observers = [meter.observe, *sink.observers]
        stop_error = resume(state, schedule(name), limits, should_stop, observers, is_ill_formed=False)
        if may_restart and is_limit_exceeded(stop_error):
            return None
        if stop_error is not None or not state.flight or is_until_met(options.until, state):
            details: dict[str, Any] = {"schedule": name, "engine": "reference", "structure": job.structure}
            details |= sink.outcome_fields(state.steps)
            return sink.finish(build_outcome(state, meter.stats(), stop_error, options.until, **details))
        if target is Target.COMPILED:
            return None
        from .fast.run import FastRun, resume_to_outcome

        before: dict[str, Any] = {"meter": meter, "elapsed": time.monotonic() - start_time}
        if may_restart:
            run = FastRun(state, name, until=options.until, limits=limits, **before)
            return run_until_overtaken(run, job, selector, start_time)
        return resume_to_outcome(state, name, options.until, limits, job.structure, sink, **before)


def next_poll_after(firings: int) -> int:
    """The number of firings at which a run on the reference asks again for the engine on which it continues."""
    return min(
        threshold
        for threshold in (firings + POLL_FIRINGS, WARMUP_FIRINGS, LOADED_WARMUP_FIRINGS)
        if threshold > firings
    )


def is_limit_exceeded(error: TagloomError | None) -> bool:
    """Whether a run ended at a limit, and not by Ctrl-C."""
    return isinstance(error, Exhausted) and error.limit != "interrupt"


def run_until_overtaken(run: Any, job: Job, selector: EngineSelector, start_time: float) -> Outcome | None:
    """Go on as `fast` to the end; None if the run should start again on `compiled`, which is ready, or has no such
    limit."""
    steps = FIRST_BURST_STEPS
    while True:
        burst_start, end = time.monotonic(), run.steps + steps
        error = run.resume(steps)
        if is_limit_exceeded(error):
            return None
        if error is not None or run.steps < end:
            outcome: Outcome = run.outcome(error, job.structure)
            return outcome
        now = time.monotonic()
        if selector.select(0, now - start_time) is Target.COMPILED:
            return None
        if now - burst_start < POLL_SECONDS:
            steps *= 2


ENGINE = AutoEngine()
