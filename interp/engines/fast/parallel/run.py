"""A parallel run of `fast`: each core has its own tokens and frames, and donates activations to idle cores.

It ends as a run on one core does: quiescent, with the same results, traps and residue; at the limit on depth, which all
schedules reach or none; or by the limits on time or memory, or Ctrl-C. A limit on firings or tokens is exact, and so
depends on the order of steps: a run with one has one core from the beginning.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .....core.errors import Crash, TagloomError
from .....core.frontend.trace.pytree import TreeDef
from .....core.graph.graph import Graph
from .....core.world import World
from ....image.image import MAX_DEPTH, WordArray, cached_image
from ....machine.event import Event
from ....machine.state import State
from ....outcome.outcome import Outcome, build_outcome
from ....outcome.statistics import Meter, Stats
from ...interrupt import interrupt_between_steps
from ...limits import LimitMonitor, Limits, depth_error, external_limit_error, resident_memory, resolve_limits
from ...protocol import Until
from ...reference import admit_arguments, first_state
from ..host_firings import HostDelivery, HostFirings
from ..layout import ExitReason, Register
from ..load import MachineVariant, load_machine
from ..run import LazyResidue, array_memory_error, run_fast
from ..shared_memory import MessageKind, MessageWord, SharedLine, new_shared_words, unread_messages
from ..state_transfer import import_state, result_values
from .store import (
    IDLE_SLEEP,
    MAX_IDLE_SLEEP,
    CoreStore,
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
    """Run a validated graph under `waves` until it is quiescent; the outcome says how the run ended. Programs that only
    one core supports, and runs with a limit on firings or tokens, have one core from the beginning.

    Raises Usage if the arguments do not fit.
    """
    admitted, resolved_limits = admit_arguments(graph, arguments), resolve_limits(limits)
    state = first_state(graph, admitted, schedule, seed, k, world)
    has_counts = resolved_limits.firings is not None or resolved_limits.tokens is not None
    if not has_counts and supports_parallel_run(cached_image(graph, state.loop_bounds)):
        run = ParallelRun(state, resolved_limits, cores)
        run.run_to_end()
        return run.outcome(structure)
    return run_fast(
        graph, admitted, schedule=schedule, until=until, limits=limits, structure=structure, seed=seed, k=k, world=world
    )


class CoreTrap(NamedTuple):
    """A firing that trapped on one of the cores. Its tag is built when no core runs."""

    store: CoreStore
    delivery: HostDelivery
    trap: str


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
        self._hosts = [HostFirings(store, state) for store in self.stores]
        self.traps: list[CoreTrap] = []
        """The firings that have trapped."""
        import_state(self.stores[0], self._hosts[0], state, Meter(state, is_clocked=False))
        self.unread_openings: list[WordArray] = []
        """Messages that open activations and that no core has read, other than those in the rings."""
        self._initial_tokens = len(state.flight)
        self._threads: list[threading.Thread] = []
        self.end_reason: str | None = None
        """Why the run ended: "quiet", "depth", "bytes", "seconds" or "interrupt", "memory" if the system has no more of
        it, or "exception"; None while it runs."""
        self._error: BaseException | None = None

    def run_to_end(self) -> None:
        """Run until the end; raises KeyboardInterrupt on Ctrl-C if the run is already quiescent."""
        load_machine(MachineVariant.MULTICORE)  # here, since it may compile for seconds
        with interrupt_between_steps() as interrupt:
            monitor = LimitMonitor(self._limits.seconds, self._limits.bytes, interrupt)
            try:
                self._run_first_core(monitor)
            finally:
                self._request_stop("exception")
                for thread in self._threads:
                    thread.join()
            if self._error is not None:
                raise self._error
            if interrupt.is_requested and self.end_reason != "quiet" and interrupt.acknowledge():
                self.end_reason = "interrupt"

    def _run_first_core(self, monitor: LimitMonitor) -> None:
        """The main loop of the first core, which also starts the other threads and checks the limits."""
        bursts = self._bursts_before_threads
        while self.end_reason is None:
            self._request_stop(monitor.exceeded_limit(0, None))
            self.run_bursts(self.stores[0], bursts)
            bursts = BURSTS_PER_CHECK
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
            self._request_stop("exception")

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
                self._fire_on_host(store)
        store.idle_sleep = IDLE_SLEEP

    def _grow(self, store: CoreStore) -> None:
        if resident_memory() + store.growth_bytes() > self._limits.bytes:
            self._request_stop("bytes")
            return
        try:
            store.grow()
        except MemoryError:
            self._request_stop("memory")

    def _fire_on_host(self, store: CoreStore) -> None:
        """Perform the firing of the youngest token, which traps, or stop at the limit on depth."""
        host, registers = self._hosts[store.registers[Register.CORE]], store.registers
        registers[Register.STOP_POSITION] = registers[Register.FLIGHT_LENGTH] - 1
        delivery = host.current_delivery()
        rule = host.rules[delivery.node]
        trap = None if rule.find_trap is None else rule.find_trap(delivery.inputs)
        if trap is not None:
            first = int(store.image.first_port[delivery.node])
            ports = [number for number, literal in enumerate(rule.node.ports) if literal is None]
            waiting_ports = [first + number for number in ports if number != delivery.port]
            store.complete_trap(delivery.frame, first + delivery.port, waiting_ports, rule.required_tokens)
            self.traps.append(CoreTrap(store, delivery, trap))
        elif rule.node.op in ("call", "enter", "next_iteration"):
            self._request_stop("depth")
        else:
            raise Crash("the machine failed on a valid graph", where=store.image.graph.name)

    def _request_stop(self, reason: str | None) -> None:
        """Ask all cores to stop, if there is a reason; the first reason counts."""
        if reason is not None and self.end_reason is None:
            self.end_reason = reason
            self.shared_words[SharedLine.STOP_FLAG] = 1

    def withdraw_stop(self) -> None:
        """Let the cores go on after a stop."""
        self.end_reason, self.shared_words[SharedLine.STOP_FLAG] = None, 0

    @property
    def firings(self) -> int:
        return sum(int(store.registers[Register.FIRINGS]) for store in self.stores)

    def stats(self) -> Stats:
        """The statistics of the run after its end."""
        return parallel_stats(self.stores, wave_profile(self.stores, self._initial_tokens), self._unread_opens())

    def _unread_opens(self) -> WordArray:
        """The OPEN messages that no core has read; there are some only if an external limit ended the run."""
        messages = np.concatenate([unread_messages(self.shared_words), *self.unread_openings])
        opens: WordArray = messages[messages[:, MessageWord.KIND] == MessageKind.OPEN]
        return opens

    def outcome(self, structure: TreeDef) -> Outcome:
        """The outcome of the run after its end."""
        return self.build_outcome(self._stop_error(), engine="fast", structure=structure, cores=1 + len(self._threads))

    def build_outcome(self, error: TagloomError | None, **details: Any) -> Outcome:
        """The outcome of a run that this error has ended, None if it became quiescent."""
        state, first_store = self._state, self.stores[0]
        state.records.clear()
        state.results = result_values(first_store)
        state.trap_events = [trap_event(trap) for trap in self.traps]
        closed = sum(trap.store.release(trap.delivery.frame) for trap in self.traps)
        self.traps.clear()
        open_activations = sum(int(store.registers[Register.OPEN_ACTIVATIONS]) for store in self.stores)
        return build_outcome(
            state,
            self.stats(),
            error,
            "quiet",
            residue_override=LazyResidue(self.stores, self._hosts[0], state.loop_bounds),
            open_activations=open_activations + len(self._unread_opens()) - closed,
            schedule="waves",
            **details,
        )

    def _stop_error(self) -> TagloomError | None:
        """The error that ended the run; None if it became quiescent."""
        match self.end_reason:
            case "quiet":
                return None
            case "depth":
                return depth_error(self._limits, "fast", MAX_DEPTH)
            case "memory":
                return array_memory_error(self._state.graph.name)
        return external_limit_error(str(self.end_reason), self._limits)


def trap_event(trap: CoreTrap) -> Event:
    """The firing that trapped, as an event. No core may run."""
    store, delivery, message = trap
    port_index = store.image.first_port[delivery.node] + delivery.port
    token = store.to_token(port_index, store.tag(delivery.frame), delivery.word)
    return Event(token, delivery.position, delivery.inputs, (), (), message, (), False)
