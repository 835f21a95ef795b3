"""A parallel run of `fast`: each core has its own tokens and frames, and donates activations to idle cores.

The result of a run that becomes quiescent is kept. Any other ending, except from outside, depends on the schedule, or
must be reported for the requested schedule: then the run starts again on one core.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from weakref import ref

from .....core.frontend.trace.pytree import TreeDef
from .....core.graph.graph import Graph
from .....core.world import World
from ....image.image import WordArray, cached_image
from ....machine.state import State
from ....outcome.outcome import Outcome, build_outcome
from ....outcome.statistics import Meter, Stats
from ...interrupt import LimitMonitor, interrupt_between_steps, resident_memory
from ...protocol import Limits, Until, resolve_limits
from ...reference import admit_arguments, external_limit_error, first_state
from ..host_firings import HostFirings
from ..load import MachineVariant, load_machine
from ..registers import ExitReason, Register
from ..run import LazyResidue, run_fast
from ..shared import MessageKind, MessageWord, SharedLine, new_shared_words, unread_messages
from ..state_transfer import import_state, result_values
from .store import (
    IDLE_SLEEP,
    MAX_IDLE_SLEEP,
    CoreStore,
    WaveProfile,
    parallel_stats,
    supports_parallel_run,
    wave_profile,
)

BURSTS_BEFORE_THREADS = 48
"""After how many bursts of one core the others begin: those of 2 ms. To start a thread takes 0.1 ms."""
BURST_TOKENS = 4096
"""How many tokens a core delivers between two looks at what others want."""
BURSTS_PER_CHECK = 128
"""How many bursts go by between two looks at the clock, at memory, and at Ctrl-C: some 5 ms."""
FIRST_TOKEN_CHECK = 2**26
"""After how many firings it is first looked at whether a wave may have had more tokens than the limit, and then
whenever there are twice as many: after half a second, which is what a run that is begun again may lose."""
RESTART = "again"
"""The end reason of a parallel run that must start again on one core."""


def run_on_cores(
    cores: int,
    graph: Graph,
    arguments: Sequence[object],
    *,
    schedule: str,
    until: Until,
    limits: Limits | None,
    structure: TreeDef,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
) -> Outcome:
    """Run a graph whose rules have been checked, under `waves` until it is quiet; how it ends is data.

    Raises Usage where the arguments do not fit.
    """
    admitted, spent = admit_arguments(graph, arguments), 0.0
    state, most = first_state(graph, admitted, schedule, seed, k, world), resolve_limits(limits)
    if supports_parallel_run(cached_image(graph, state.loop_bounds)) and most.tokens < 2**31:
        run = ParallelRun(state, most, cores)
        run.go()
        if run.is_conclusive:
            return run.outcome(structure)
        spent = run.elapsed
        del run  # its memory would count against the bytes of the run that follows
    return run_fast(
        graph, admitted, schedule=schedule, until=until, limits=limits, structure=structure, seed=seed, k=k,
        world=world, elapsed=spent,
    )  # fmt: skip


class ParallelRun:
    """A run on several cores, from its beginning on; after so many bursts of the first, the others begin."""

    def __init__(
        self,
        state: State,
        limits: Limits,
        cores: int,
        *,
        burst_tokens: int = BURST_TOKENS,
        bursts_before_threads: int = BURSTS_BEFORE_THREADS,
    ) -> None:
        self._state, self._limits, self._bursts_before_threads = state, limits, bursts_before_threads
        image = cached_image(state.graph, state.loop_bounds)
        self.shared_words = new_shared_words(cores, burst_tokens)
        self.stores: list[CoreStore] = []
        known: list[ref[CoreStore]] = []
        for _ in range(cores):
            self.stores.append(CoreStore(image, limits, self.shared_words, known))
            known.append(ref(self.stores[-1]))
        self._host = HostFirings(self.stores[0], state)
        import_state(self.stores[0], self._host, state, Meter(state, is_clocked=False))
        self._initial_tokens = len(state.flight)
        self._threads: list[threading.Thread] = []
        self.end_reason: str | None = None
        """How: "quiet", the limit that ended it from outside, or AGAIN."""
        self.elapsed = 0.0
        """How many seconds it took."""
        self._error: BaseException | None = None

    def go(self) -> None:
        """Go on until the run is over; raises KeyboardInterrupt where somebody pressed Ctrl-C, and it is quiet."""
        load_machine(MachineVariant.MULTICORE)  # which may take seconds to compile, the first time
        began = time.monotonic()
        with interrupt_between_steps() as interrupt:
            alarm = LimitMonitor(self._limits.seconds, self._limits.bytes, interrupt)
            try:
                self._run_first_core(alarm)
            finally:
                self._request_stop(RESTART)
                for thread in self._threads:
                    thread.join()
            self.elapsed = time.monotonic() - began
            if self._error is not None:
                raise self._error
            if (
                interrupt.is_requested
                and not (self.end_reason == "quiet" and self.is_conclusive)
                and interrupt.acknowledge()
            ):
                self.end_reason = "interrupt"

    def _run_first_core(self, alarm: LimitMonitor) -> None:
        """What the first core does: begin, have the others begin if it lasts, and look at what ends all."""
        bursts, looked = self._bursts_before_threads, FIRST_TOKEN_CHECK
        while self.end_reason is None:
            self._request_stop(alarm.exceeded_limit(0, None))
            self.run_bursts(self.stores[0], bursts)
            firings, bursts = self.firings, BURSTS_PER_CHECK
            if firings > self._limits.firings:
                self._request_stop(RESTART)
            if firings > looked:
                looked = 2 * firings
                self._request_stop(None if self._fits_token_limit(self._current_profile()) else RESTART)
            if not self._threads and self.end_reason is None:
                self._start_threads()

    def _start_threads(self) -> None:
        """Have the others begin, or as many as the system gives threads for."""
        for store in self.stores[1:]:
            thread = threading.Thread(target=self._run_core, args=(store,), name="tagloom core", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._threads.append(thread)

    def _run_core(self, store: CoreStore) -> None:
        """What another core does."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self.end_reason is None:
                self.run_bursts(store, BURSTS_PER_CHECK)
        except BaseException as error:  # whoever waits for the run is to know
            self._error = error
            self._request_stop(RESTART)

    def run_bursts(self, store: CoreStore, bursts: int) -> None:
        """Make so many bursts, or fewer, and do what stopped them."""
        match ExitReason(
            load_machine(MachineVariant.MULTICORE)(store.address_table(), bursts, store.image.header_words)
        ):
            case ExitReason.ARRAY_FULL:
                self._grow(store)
            case ExitReason.IDLE:
                time.sleep(store.idle_sleep)
                store.idle_sleep = min(2 * store.idle_sleep, MAX_IDLE_SLEEP)
                return
            case ExitReason.QUIESCENT:
                self._request_stop("quiet")
            case ExitReason.HOST_FIRING:
                self._request_stop(RESTART)
        store.idle_sleep = IDLE_SLEEP

    def _grow(self, store: CoreStore) -> None:
        if resident_memory() + store.growth_bytes() > self._limits.bytes:
            self._request_stop("bytes")
            return
        try:
            store.grow()
        except MemoryError:
            self._request_stop(RESTART)

    def _request_stop(self, how: str | None) -> None:
        """All are to leave, if there is a reason; the first one counts."""
        if how is not None and self.end_reason is None:
            self.end_reason = how
            self.shared_words[SharedLine.STOP_FLAG] = 1

    @property
    def firings(self) -> int:
        return sum(int(store.registers[Register.FIRINGS]) for store in self.stores)

    def _current_profile(self) -> WaveProfile:
        """That of what has been done so far."""
        return wave_profile(self.stores, self._initial_tokens)

    def _fits_token_limit(self, by_wave: WaveProfile) -> bool:
        """Whether surely no wave had more tokens than the limit allows, after any of its firings."""
        return by_wave.peak_tokens_bound() <= self._limits.tokens

    @cached_property
    def _final_profile(self) -> WaveProfile:
        """That of the run, when it has ended."""
        return self._current_profile()

    @property
    def is_conclusive(self) -> bool:
        """Whether the run is to be kept: where it is quiet, all that is left are results."""
        if self.end_reason != "quiet":
            return self.end_reason != RESTART
        pending = (Register.FLIGHT_LENGTH, Register.WAITING, Register.OPEN_ACTIVATIONS)
        is_clean = not any(store.registers[list(pending)].any() for store in self.stores)
        has_come = self.stores[0].registers[Register.RESULT_COUNT] == len(self._state.graph.results)
        return bool(
            is_clean
            and has_come
            and self.firings <= self._limits.firings
            and self._fits_token_limit(self._final_profile)
        )

    def stats(self) -> Stats:
        """The measures of a run that has ended."""
        return parallel_stats(self.stores, self._final_profile, self._unread_opens())

    def _unread_opens(self) -> WordArray:
        """The messages that open activations and that no core has read, where the run was ended from outside."""
        messages = unread_messages(self.shared_words)
        opening: WordArray = messages[messages[:, MessageWord.KIND] == MessageKind.OPEN]
        return opening

    def outcome(self, structure: TreeDef) -> Outcome:
        """How it ended, where it is good."""
        state, first = self._state, self.stores[0]
        state.records.clear()
        state.results = result_values(first)
        return build_outcome(
            state,
            self.stats(),
            None if self.end_reason == "quiet" else external_limit_error(str(self.end_reason), self._limits),
            "quiet",
            residue_override=LazyResidue(self.stores, self._host, state.loop_bounds),
            open_activations=sum(int(store.registers[Register.OPEN_ACTIVATIONS]) for store in self.stores)
            + len(self._unread_opens()),
            schedule="waves",
            engine="fast",
            structure=structure,
            cores=1 + len(self._threads),
        )
