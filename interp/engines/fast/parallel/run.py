"""A parallel run of `fast`: each core has its own tokens and frames, and donates activations to idle cores.

The outcome is conclusive if the run becomes quiescent within the limits, with all results and no residue, or if the
clock, memory or Ctrl-C ends it. Any other ending, such as a trap, depends on the schedule: then the run starts again on
one core.
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
from ...interrupt import interrupt_between_steps
from ...limits import LimitMonitor, Limits, external_limit_error, resident_memory, resolve_limits
from ...protocol import Until
from ...reference import admit_arguments, first_state
from ..host_firings import HostFirings
from ..load import MachineVariant, load_machine
from ..registers import ExitReason, Register
from ..run import LazyResidue, run_fast
from ..shared_memory import MessageKind, MessageWord, SharedLine, new_shared_words, unread_messages
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
"""The number of bursts of the first core before the others start: some 2 ms. Starting a thread takes 0.1 ms."""
BURST_TOKENS = 4096
"""The number of tokens that a core delivers between two checks of the requests of others."""
BURSTS_PER_CHECK = 128
"""The number of bursts between checks of the clock, memory and Ctrl-C: some 5 ms."""
FIRST_TOKEN_CHECK = 2**26
"""The number of firings before the first check of the limit on tokens, after some half a second; the next check is at
twice the number. If the run exceeds the limit, this time is lost."""
MAX_TOKENS = 2**31 - 1
"""The maximal number of tokens alive at once that the profile of waves can count."""
RESTART = "restart"
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
    """Run a validated graph under `waves` until it is quiescent; the outcome says how the run ended. A run with a limit
    on firings or tokens, which are exact, has one core from the beginning.

    Raises Usage if the arguments do not fit.
    """
    admitted, elapsed = admit_arguments(graph, arguments), 0.0
    state, resolved_limits = first_state(graph, admitted, schedule, seed, k, world), resolve_limits(limits)
    has_counts = resolved_limits.firings is not None or resolved_limits.tokens is not None
    if not has_counts and supports_parallel_run(cached_image(graph, state.loop_bounds)):
        run = ParallelRun(state, resolved_limits, cores)
        run.run_to_end()
        if run.is_conclusive:
            return run.outcome(structure)
        elapsed = run.elapsed
        del run  # its memory would count towards the limit of the next run
    return run_fast(
        graph, admitted, schedule=schedule, until=until, limits=limits, structure=structure, seed=seed, k=k,
        world=world, elapsed=elapsed,
    )  # fmt: skip


class ParallelRun:
    """A run on several cores, from its beginning. The first core starts alone, the others follow if the run lasts."""

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
        references: list[ref[CoreStore]] = []
        for _ in range(cores):
            self.stores.append(CoreStore(image, limits, self.shared_words, references))
            references.append(ref(self.stores[-1]))
        self._host = HostFirings(self.stores[0], state)
        import_state(self.stores[0], self._host, state, Meter(state, is_clocked=False))
        self._initial_tokens = len(state.flight)
        self._threads: list[threading.Thread] = []
        self.end_reason: str | None = None
        """Why the run ended: "quiet", the external limit that ended it, or RESTART; None while it runs."""
        self.elapsed = 0.0
        """The seconds that the run took."""
        self._error: BaseException | None = None

    def run_to_end(self) -> None:
        """Run until the end; raises KeyboardInterrupt on Ctrl-C if the run is already quiescent."""
        load_machine(MachineVariant.MULTICORE)  # here, since it may compile for seconds
        start_time = time.monotonic()
        with interrupt_between_steps() as interrupt:
            monitor = LimitMonitor(self._limits.seconds, self._limits.bytes, interrupt)
            try:
                self._run_first_core(monitor)
            finally:
                self._request_stop(RESTART)
                for thread in self._threads:
                    thread.join()
            self.elapsed = time.monotonic() - start_time
            if self._error is not None:
                raise self._error
            if (
                interrupt.is_requested
                and not (self.end_reason == "quiet" and self.is_conclusive)
                and interrupt.acknowledge()
            ):
                self.end_reason = "interrupt"

    def _run_first_core(self, monitor: LimitMonitor) -> None:
        """The main loop of the first core, which also starts the other threads and checks the limits."""
        bursts, next_check = self._bursts_before_threads, FIRST_TOKEN_CHECK
        while self.end_reason is None:
            self._request_stop(monitor.exceeded_limit(0, None))
            self.run_bursts(self.stores[0], bursts)
            firings, bursts = self.firings, BURSTS_PER_CHECK
            if firings > self._limits.max_firings:
                self._request_stop(RESTART)
            if firings > next_check:
                next_check = 2 * firings
                self._request_stop(None if self._fits_token_limit(self._current_profile()) else RESTART)
            if not self._threads and self.end_reason is None:
                self._start_threads()

    def _start_threads(self) -> None:
        """Start the other cores, or as many as the system has threads for."""
        for store in self.stores[1:]:
            thread = threading.Thread(target=self._run_core, args=(store,), name="tagloom core", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._threads.append(thread)

    def _run_core(self, store: CoreStore) -> None:
        """The main loop of another core."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self.end_reason is None:
                self.run_bursts(store, BURSTS_PER_CHECK)
        except BaseException as error:  # raised again by `run_to_end`
            self._error = error
            self._request_stop(RESTART)

    def run_bursts(self, store: CoreStore, bursts: int) -> None:
        """Make at most this number of bursts on one core, and handle the reason for the stop."""
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

    def _request_stop(self, reason: str | None) -> None:
        """Ask all cores to stop, if there is a reason; the first reason counts."""
        if reason is not None and self.end_reason is None:
            self.end_reason = reason
            self.shared_words[SharedLine.STOP_FLAG] = 1

    @property
    def firings(self) -> int:
        return sum(int(store.registers[Register.FIRINGS]) for store in self.stores)

    def _current_profile(self) -> WaveProfile:
        """The profile of the run so far."""
        return wave_profile(self.stores, self._initial_tokens)

    def _fits_token_limit(self, profile: WaveProfile) -> bool:
        """Whether the number of tokens certainly stayed within the limit, and within what the profile can count."""
        return profile.peak_tokens_bound() <= min(self._limits.max_tokens, MAX_TOKENS)

    @cached_property
    def _final_profile(self) -> WaveProfile:
        """The profile of the run after its end."""
        return self._current_profile()

    @property
    def is_conclusive(self) -> bool:
        """Whether the result is valid for the requested schedule: all results arrived, nothing is left, and no limit
        was met; or an external limit ended the run."""
        if self.end_reason != "quiet":
            return self.end_reason != RESTART
        pending = (Register.FLIGHT_LENGTH, Register.WAITING, Register.OPEN_ACTIVATIONS)
        is_clean = not any(store.registers[list(pending)].any() for store in self.stores)
        is_complete = self.stores[0].registers[Register.RESULT_COUNT] == len(self._state.graph.results)
        return bool(
            is_clean
            and is_complete
            and self.firings <= self._limits.max_firings
            and self._fits_token_limit(self._final_profile)
        )

    def stats(self) -> Stats:
        """The statistics of the run after its end."""
        return parallel_stats(self.stores, self._final_profile, self._unread_opens())

    def _unread_opens(self) -> WordArray:
        """The OPEN messages that no core has read; there are some only if an external limit ended the run."""
        messages = unread_messages(self.shared_words)
        opens: WordArray = messages[messages[:, MessageWord.KIND] == MessageKind.OPEN]
        return opens

    def outcome(self, structure: TreeDef) -> Outcome:
        """The outcome of a conclusive run."""
        state, first_store = self._state, self.stores[0]
        state.records.clear()
        state.results = result_values(first_store)
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
