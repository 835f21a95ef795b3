"""The engine `fast`: a run of the token machine in numba, from arguments to outcome."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, overload

import numpy as np

from ....core.collector import paused_collector
from ....core.errors import Crash, Exhausted, TagloomError, Usage
from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ....core.tag import Site
from ....core.world import World
from ....deprecation import RenamedAttribute
from ...image.image import MAX_DEPTH, Image, NodeColumn, PortColumn, SiteColumn, cached_image
from ...image.opcodes import check_compilable
from ...machine.event import CellAddress, Event
from ...machine.schedule import random_seed
from ...machine.state import State
from ...outcome.outcome import Outcome, build_outcome, limit_exceeded
from ...outcome.residue import ResidueToken, sort_residue
from ...outcome.statistics import Meter, Stats
from ...records.column_log import ColumnLogWriter
from ...records.event_sink import EventSink, KeepOption, open_event_sink
from ..interrupt import Interrupt, interrupt_between_steps
from ..limits import (
    LARGE_RESULT_BYTES,
    MEMORY_CHECK_STEPS,
    LimitMonitor,
    Limits,
    depth_error,
    external_limit_error,
    resident_memory,
    resolve_limits,
)
from ..long_ops import OpAbandoned
from ..protocol import Until, check_until
from ..reference import admit_arguments, first_state, out_of_memory_error
from .block_loader import block_loader
from .columns import ColumnKeeper
from .events import EventKeeper, LastEventKeeper, forward_events
from .futures import Futures
from .host_firings import HostFirings
from .layout import DeliveryOrder, ExitReason, MachineOption, Register
from .lazy_sequences import IntegerSeries, TupleLike, trimmed_length
from .load import MachineVariant, load_machine
from .state_transfer import export_meter, export_state, import_state, result_values, throttled_tokens, waiting_operands
from .stops import StopComparison, StopConditions, StopPoint, install_stop_points
from .store import PAGE_TURN_BYTES, TokenStore

BURST_STEPS = 2**19
"""The number of steps between checks of the clock, memory and Ctrl-C: some 5 ms."""


def delivery_order(schedule: str) -> tuple[DeliveryOrder, int] | None:
    """The delivery order of a named schedule, and the seed of a random one; None for others."""
    if schedule in ("fifo", "waves"):
        return DeliveryOrder.OLDEST, 0
    if schedule == "lifo":
        return DeliveryOrder.YOUNGEST, 0
    seed = random_seed(schedule)
    return None if seed is None else (DeliveryOrder.RANDOM, seed)


MIN_HOST_FIRINGS = 16
"""From this firing on the host on, a run sends futures: a short run does not need a table of them."""


class FastRun:
    """A run of the fast machine, which can be driven, inspected and exported."""

    def __init__(
        self,
        state: State,
        schedule: str,
        *,
        until: Until,
        limits: Limits,
        meter: Meter | None = None,
        elapsed: float = 0.0,
        keeper: EventKeeper | None = None,
        image: Image | None = None,
    ) -> None:
        """Import a run from the reference machine at its current state; `meter` has its statistics so far, and
        `elapsed` is its number of seconds. The `keeper`, if given, gets the events from here on. The `image` is that of
        the graph, from a cache unless given.

        Raises Usage for a schedule without a name, and for a graph that is too large.
        """
        order = delivery_order(schedule)
        if order is None:
            raise Usage(
                "the fast engine cannot run this schedule", required="fifo, lifo, waves or random:SEED", got=schedule
            )
        self.schedule, self.until, self.limits, self.elapsed = schedule, until, limits, elapsed
        self.stopped_by: Literal["node", "depth", "trap"] | None = None
        """The kind of stop at which the run is; None if it is at none."""
        self._stop_conditions, self._stop_points = StopConditions(), dict[StopPoint, StopComparison]()
        self.origin_state = state
        """The imported state: the template for exports."""
        self.store = TokenStore(
            image or cached_image(state.graph, state.loop_bounds), limits, order[0], seed=order[1],
            clocked=state.is_clocked,
            result_limit=len(state.graph.results) if until == "result" else 0,
        )  # fmt: skip
        self.host = HostFirings(self.store, state)
        import_state(self.store, self.host, state, meter or Meter(state, is_clocked=state.is_clocked))
        self._keeper, self._variant = keeper, MachineVariant.JOURNAL if keeper else MachineVariant.BASE
        self._page_start = self.steps
        """The number of steps when a page was last turned before it was full."""
        self._may_use_blocks = False
        self._futures: Futures | None = None
        """None before MIN_HOST_FIRINGS, and for a run that keeps events: these have the values."""
        self._host_firings = 0
        if keeper is not None:
            keeper.attach(self.store, self.host)

    def state(self) -> State:
        """The current state, exported to the reference machine; independent of this run."""
        with paused_collector():
            return export_state(self.store, self.host, self.origin_state.fork())

    @property
    def steps(self) -> int:
        """The number of steps made."""
        return int(self.store.registers[Register.STEPS])

    @property
    def open_size(self) -> int:
        """The number of open activations and live tokens: the data that exporting the state must read."""
        return int(self.store.registers[Register.OPEN_ACTIVATIONS]) + self.store.live_tokens

    @property
    def array_bytes(self) -> int:
        """The bytes of the arrays that the machine holds."""
        return sum(getattr(value, "nbytes", 0) for value in self.store.objects)

    @property
    def wave_count(self) -> int:
        """The number of completed waves."""
        return int(self.store.registers[Register.WAVES])

    def meter(self, state: State) -> Meter:
        """The statistics so far, as a meter that continues with this state of the reference machine."""
        return export_meter(self.store, state)

    def resume(self, steps: int | None = None, stops: StopConditions | None = None) -> TagloomError | None:
        """Run to the end, or for this number of steps, or to the next stop; returns the error that ended the run, if
        any. Raises KeyboardInterrupt on Ctrl-C if nothing is left to do."""
        load_machine(self._variant)  # here, since it may compile for seconds, during which Ctrl-C works as usual
        check_compilable(self.store.image.graph)
        with interrupt_between_steps() as interrupt:
            stop_error: TagloomError | None = self._step_past_stop()
            self._set_stop_conditions(stops or StopConditions())
            if stop_error is None:
                try:
                    stop_error = self._run_bursts(steps, interrupt) or self._compute_futures()
                finally:
                    self.store.count_paths()  # not after each burst: each firing by Python ends one
                    if self._futures is not None:
                        self._futures.stop_reason = lambda: None
            self._set_stop_conditions(StopConditions())
            if self._keeper is not None:
                self._keeper.on_pause()
            has_flight = bool(self.store.registers[Register.FLIGHT_LENGTH])
            return (
                external_limit_error("interrupt", self.limits) if has_flight and interrupt.acknowledge() else stop_error
            )

    go = RenamedAttribute("resume")

    def allow_blocks(self, *, must_count_waves: bool = False) -> None:
        """Let blocks deliver tokens where they are ready (`block_loader`), if this run can use them: without events,
        and under `waves`, `fifo` or `lifo`. Blocks under `lifo` count no waves, so a state that is exported later
        begins one; `must_count_waves` leaves them out."""
        order, has_clock = self.store.options[[MachineOption.ORDER, MachineOption.HAS_WAVE_CLOCK]]
        counts_waves = order == DeliveryOrder.OLDEST
        may_omit_waves = order == DeliveryOrder.YOUNGEST and not (has_clock or must_count_waves)
        self._may_use_blocks = self._keeper is None and bool(counts_waves or may_omit_waves)

    def _choose_blocks(self, steps: int) -> None:
        """Use blocks in the next burst, if possible, after this number of steps."""
        if self._may_use_blocks:
            image, is_used = self.store.image, self.store.blocks is not None
            order = DeliveryOrder(self.store.options[MachineOption.ORDER])
            blocks = block_loader(image, order).find(image, 0 if is_used else steps)
            self.store.use_blocks(None if self._stop_points else blocks)

    def _set_stop_conditions(self, stops: StopConditions) -> None:
        """Tell the machine where to stop."""
        store, self._stop_conditions, stop_points = self.store, stops, stops.stop_points()
        if stop_points != self._stop_points:
            install_stop_points(store, stop_points)
            self._stop_points = stop_points
            self._install_futures()
        depths = (self.limits.depth, MAX_DEPTH, self.limits.depth if stops.depth is None else stops.depth - 1)
        store.options[MachineOption.DEPTH_LIMIT] = min(depths)

    def _start_futures(self) -> None:
        self._futures = Futures(self.store, lambda: self.origin_state.rules, self.limits.bytes)
        self._futures.stop_reason = self.host.stop_reason
        self._install_futures()

    def _install_futures(self) -> None:
        """Have nodes send futures, unless the run keeps events or may stop at nodes, where conditions read values."""
        if self._futures is not None:
            if self._stop_points:
                self._futures.uninstall()
            else:
                self._futures.install()

    def _compute_futures(self) -> TagloomError | None:
        """Compute all futures at the end of a run; returns the error that ended the run meanwhile, if any."""
        try:
            self.store.compute_futures()
        except OpAbandoned as abandoned:
            return external_limit_error(str(abandoned), self.limits)
        except MemoryError:
            return array_memory_error(self.origin_state.graph.name)
        return None

    def _step_past_stop(self) -> Exhausted | None:
        """Make sure that the stop at which the run is does not stop it again; returns the error if the next step would
        exceed a limit."""
        step, is_at_depth = self.store.registers[Register.STEPS], self.stopped_by == "depth"
        self.store.registers[Register.RESUME_STEP] = step if self.stopped_by == "node" else -1
        self.stopped_by = None
        try:
            while is_at_depth and self.store.registers[Register.STEPS] == step:
                if self._handle_exit(self._run_burst(1)):
                    break
        except Exhausted as error:
            return error
        return None

    def _run_bursts(self, steps: int | None, interrupt: Interrupt) -> TagloomError | None:
        store, monitor = self.store, RunMonitor(self.limits, interrupt, self.elapsed)
        if store.live_tokens > self.limits.max_tokens:
            return limit_exceeded("tokens at once", "tokens", self.limits.max_tokens)
        self.host.stop_reason, self.host.memory_limit = monitor.stop_reason, self.limits.bytes
        if self._futures is not None:
            self._futures.stop_reason = monitor.stop_reason
        end_step = None if steps is None else int(store.registers[Register.STEPS]) + steps
        self._choose_blocks(0)
        exceeded_limit = monitor.exceeded_limit(store)
        while exceeded_limit is None:
            budget = (
                self._burst_budget()
                if end_step is None
                else min(self._burst_budget(), end_step - int(store.registers[Register.STEPS]))
            )
            if budget <= 0:
                return None
            burst_start = self.steps
            exit_reason = self._run_burst(budget)
            self._choose_blocks(self.steps - burst_start)
            if self._keeper is not None and self._is_page_due(self._keeper):
                self._keeper.turn_page()
                self._page_start = self.steps
            # Not after a host firing, which is only half of a step.
            exceeded_limit = (
                None
                if exit_reason in (ExitReason.QUIESCENT, ExitReason.RESULTS_COMPLETE)
                else monitor.exceeded_limit(store)
            )
            try:
                if exceeded_limit is None and self._handle_exit(exit_reason):
                    return None
            except Exhausted as error:
                return error
        return external_limit_error(exceeded_limit, self.limits) if store.registers[Register.FLIGHT_LENGTH] else None

    def _is_page_due(self, keeper: EventKeeper) -> bool:
        """Whether a page is turned before it is full."""
        if self.store.retired_bytes >= PAGE_TURN_BYTES or self.store.page_array_bytes >= keeper.page_array_bytes:
            return True
        return keeper.page_steps is not None and self.steps - self._page_start >= keeper.page_steps

    def _burst_budget(self) -> int:
        """The number of steps of a burst: fewer if each step may search many tokens or open iterations."""
        registers, store, image = self.store.registers, self.store, self.store.image
        search_length = (
            int(registers[Register.FLIGHT_LENGTH]) if store.options[MachineOption.ORDER] == DeliveryOrder.RANDOM else 0
        )
        if image.has_loop_bounds:
            search_length += 8 * min(
                int(registers[Register.OPEN_ACTIVATIONS]), int(image.sites[:, SiteColumn.BOUND].max())
            )
            search_length += int(registers[Register.THROTTLED]) if self.origin_state.is_clocked else 0
        budget = max(min(BURST_STEPS >> 4, 2**27 // search_length), 64) if search_length else BURST_STEPS
        page_steps = None if self._keeper is None else self._keeper.page_steps
        return budget if page_steps is None else min(budget, page_steps)

    def _run_burst(self, steps: int) -> ExitReason:
        """Make at most this number of steps; returns why the loop stopped."""
        exit_reason = ExitReason(
            load_machine(self._variant)(self.store.address_table(), steps, self.store.image.header_words)
        )
        self.store.sweep()
        return exit_reason

    def _handle_exit(self, exit_reason: ExitReason) -> bool:
        """Handle the reason for the stop; returns whether the run is over. Raises Exhausted at a limit."""
        match exit_reason:
            case ExitReason.QUIESCENT | ExitReason.RESULTS_COMPLETE:
                return True
            case ExitReason.ARRAY_FULL:
                self._grow()
            case ExitReason.FIRING_LIMIT:
                raise limit_exceeded("firings", "firings", self.limits.max_firings)
            case ExitReason.STOP_CONDITION if self._is_stop_hit():
                self.stopped_by = "node"
                return True
            case ExitReason.STOP_CONDITION:
                self.store.registers[Register.RESUME_STEP] = self.steps
            case ExitReason.DEPTH_LIMIT if self.store.options[MachineOption.DEPTH_LIMIT] < min(
                self.limits.depth, MAX_DEPTH
            ):
                self.stopped_by = "depth"
                return True
            case ExitReason.DEPTH_LIMIT:
                raise depth_error(self.limits, "fast", MAX_DEPTH)
            case ExitReason.TOKEN_LIMIT:
                raise limit_exceeded("tokens at once", "tokens", self.limits.max_tokens)
            case ExitReason.SECOND_TOKEN:
                raise Crash("the machine failed on a valid graph", where=self.store.image.graph.name)
            case ExitReason.HOST_FIRING:
                return self._fire_on_host()
            case ExitReason.FUTURES_FULL:
                self._make_room_for_futures()
        return False

    def _is_stop_hit(self) -> bool:
        """Whether a possible stop at the next step is a hit."""
        is_hit = self._stop_conditions.is_hit
        try:
            return is_hit is None or is_hit(*next_event(self.store, self.host))
        except MemoryError:  # the step itself will report it
            return False

    def _grow(self) -> None:
        if self._keeper is not None and self.store.has_room():
            self._keeper.turn_page()
            return
        if resident_memory() + self.store.growth_bytes() > self.limits.bytes:
            raise limit_exceeded("bytes of memory", "bytes", self.limits.bytes)
        try:
            self.store.grow()
        except MemoryError:
            raise array_memory_error(self.origin_state.graph.name) from None

    def _make_room_for_futures(self) -> None:
        assert self._futures is not None, "only a run with futures fills their table"
        try:
            self._futures.make_room()
        except OpAbandoned as abandoned:
            raise external_limit_error(str(abandoned), self.limits) from None
        except MemoryError:
            raise array_memory_error(self.origin_state.graph.name) from None

    def _fire_on_host(self) -> bool:
        self._host_firings += 1
        if self._futures is None and self._keeper is None and self._host_firings >= MIN_HOST_FIRINGS:
            self._start_futures()
            return False  # the machine may fire this node itself
        trap_count = len(self.host.traps)
        try:
            token = self.host.current_token()
            if self._futures is not None and self.host.send_future(token, self._futures):
                return False
            delivery = self.host.with_operands(token)
            if self._futures is not None:
                self.host.share_elements(delivery, self._futures)
            self.host.fire(delivery)
        except OpAbandoned as abandoned:
            raise external_limit_error(str(abandoned), self.limits) from None
        except MemoryError:
            try:
                state = self.state()
            except MemoryError:  # the futures do not fit either
                raise array_memory_error(self.origin_state.graph.name) from None
            raise out_of_memory_error(state, token.position) from None
        if len(self.host.traps) == trap_count:
            return False
        r = self.store.registers
        remaining = int(r[Register.FLIGHT_LENGTH]) - 1
        self._run_burst(1)
        self.host.record_releases(int(r[Register.FLIGHT_LENGTH]) - remaining)
        self.stopped_by = "trap" if self._stop_conditions.traps else None
        return self.until == "trap" or self._stop_conditions.traps

    def stats(self) -> Stats:
        """The statistics so far."""
        r, store = self.store.registers, self.store
        profile, waiting = store.profile[: r[Register.WAVES]].T
        if r[Register.FIRINGS] > r[Register.FIRINGS_BEFORE_WAVE]:
            profile = np.append(profile, r[Register.FIRINGS] - r[Register.FIRINGS_BEFORE_WAVE])
        clocked, span, firings = self.origin_state.is_clocked, trimmed_length(profile), int(r[Register.FIRINGS])
        sites = zip(store.image.site_list, store.opened_counts.tolist(), strict=True)
        return Stats(
            firings=firings,
            steps=int(r[Register.STEPS]),
            span=span if clocked else None,
            parallelism=(firings / span if span else 0.0) if clocked else None,
            profile=IntegerSeries(profile[:span]) if clocked else None,
            waiting=IntegerSeries(waiting) if clocked else None,
            largest_store=int(r[Register.LARGEST_STORE]),
            largest_flight=int(r[Register.LARGEST_FLIGHT]),
            deepest_tag=int(r[Register.DEEPEST_TAG]),
            by_node=tuple(store.firing_counts.tolist()),
            activations_by_site={site: count for site, count in sites if count},
        )

    def outcome(self, stop_error: TagloomError | None, structure: TreeDef) -> Outcome:
        """The outcome of the run; `stop_error` is the error that ended it, if any."""
        state = self.origin_state
        state.records.clear()
        state.results, state.trap_events, state.cells = result_values(self.store), self.host.traps, self.host.cells
        return build_outcome(
            state,
            self.stats(),
            stop_error,
            self.until,
            residue_override=LazyResidue([self.store], self.host, state.loop_bounds),
            open_activations=int(self.store.registers[Register.OPEN_ACTIVATIONS]),
            schedule=self.schedule,
            engine="fast",
            structure=structure,
        )


def array_memory_error(graph_name: str) -> Exhausted:
    """The error of a run whose arrays cannot grow."""
    return Exhausted("the run does not fit into memory", rule="S12", where=graph_name)


class RunMonitor:
    """Checks between bursts whether the clock, memory or Ctrl-C ends a run. Memory, whose check is the slowest, is
    checked after some thousand steps, or after a large array."""

    def __init__(self, limits: Limits, interrupt: Interrupt, elapsed: float = 0.0) -> None:
        remaining_seconds = None if limits.seconds is None else max(0.0, limits.seconds - elapsed)
        self._limit_monitor = LimitMonitor(remaining_seconds, limits.bytes, interrupt)
        self._checked_steps: int | None = None

    def stop_reason(self) -> str | None:
        """The limit of the clock that is exceeded, or Ctrl-C."""
        return self._limit_monitor.exceeded_limit(1, None)

    def exceeded_limit(self, store: TokenStore) -> str | None:
        steps = int(store.registers[Register.STEPS])
        is_due = (
            self._checked_steps is None
            or steps - self._checked_steps >= MEMORY_CHECK_STEPS
            or store.allocated_bytes >= LARGE_RESULT_BYTES
        )
        if is_due:
            self._checked_steps, store.allocated_bytes = steps, 0
        return self._limit_monitor.exceeded_limit(0 if is_due else 1, None)


class LazyResidue(TupleLike[ResidueToken]):
    """The residue of a run, from one or several stores, built on first access: it may have millions of tokens."""

    def __init__(self, stores: Sequence[TokenStore], host: HostFirings, bounds: Mapping[Site, int]) -> None:
        self._stores = stores
        self._bounds = bounds
        self._host = host

    @cached_property
    def _tokens(self) -> tuple[ResidueToken, ...]:
        tokens = [operand for store in self._stores for operand in waiting_operands(store)]
        for handle, block in self._host.cells.blocks.items():
            for number, reads in block.deferred_reads.items():
                tokens += [ResidueToken(*token, CellAddress(handle, number)) for token in reads]
        store, bounds = self._stores[0], self._bounds
        if store.registers[Register.THROTTLED]:
            tags = {frame: store.tag(frame) for frame in store.frames()}
            for _, token in throttled_tokens(store, tags):
                tokens.append(ResidueToken(*token, bounds[token.tag.site]))
        return sort_residue(store.image.graph, tokens)

    def __len__(self) -> int:
        return sum(
            int(store.registers[[Register.WAITING, Register.DEFERRED_READS, Register.THROTTLED]].sum())
            for store in self._stores
        )

    @overload
    def __getitem__(self, index: int) -> ResidueToken: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ResidueToken, ...]: ...
    def __getitem__(self, index: int | slice) -> ResidueToken | tuple[ResidueToken, ...]:
        return self._tokens[index]

    def __iter__(self) -> Iterator[ResidueToken]:
        return iter(self._tokens)


def run_fast(
    graph: Graph,
    arguments: Sequence[object],
    *,
    schedule: str,
    until: Until,
    limits: Limits | None,
    structure: TreeDef,
    keep: KeepOption = None,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
    elapsed: float = 0.0,
) -> Outcome:
    """Run a validated graph; the outcome says how the run ended. The limit on seconds counts `elapsed`, too.

    Raises Usage if the arguments do not fit or an option is invalid.
    """
    check_until(until)
    admitted = admit_arguments(graph, arguments)
    state = first_state(graph, admitted, schedule, seed, k, world)
    with open_event_sink(keep, graph, admitted, schedule, seed, k) as sink:
        return resume_to_outcome(state, schedule, until, resolve_limits(limits), structure, sink, elapsed=elapsed)


def choose_keeper(sink: EventSink) -> EventKeeper | None:
    """The keeper of a run's events: for the last ones, for a column log, or for a function that takes each event; None
    if no events are kept."""
    if isinstance(sink.events, deque):
        return LastEventKeeper(sink.events.maxlen or 0)
    if isinstance(sink.log, ColumnLogWriter):
        return ColumnKeeper(sink.log)
    observers = sink.observers
    return forward_events(observers[0]) if observers else None


def resume_to_outcome(
    state: State,
    schedule: str,
    until: Until,
    limits: Limits,
    structure: TreeDef,
    sink: EventSink,
    *,
    meter: Meter | None = None,
    elapsed: float = 0.0,
) -> Outcome:
    """Continue a run from this state, keep its events, and return its outcome; `meter` and `elapsed` are the statistics
    and the seconds of the run so far."""
    keeper = choose_keeper(sink)
    run = FastRun(state, schedule, until=until, limits=limits, meter=meter, elapsed=elapsed, keeper=keeper)
    run.allow_blocks()
    stop_error = run.resume()
    window = keeper.window(sink.events or ()) if isinstance(keeper, LastEventKeeper) else None
    fields = sink.outcome_fields(int(run.store.registers[Register.STEPS]), window)
    return sink.finish(replace(run.outcome(stop_error, structure), **fields))


def next_event(store: TokenStore, host: HostFirings) -> tuple[State, Event]:
    """The next event, without the tokens that it sends and the activations that it closes, and a state after it that
    has only the counts of steps and firings. The node must have no effect on cells or the world."""
    r, image = store.registers, store.image
    number, port, frame, word, position, _ = host.current_token()
    port_index = image.first_port[number] + port
    token = store.to_token(port_index, store.tag(frame), word)
    event = Event(token, position, None, (), (), None, (), bool(r[Register.WAVE_REMAINING] == 1))
    operand_mask = int(image.nodes[number, NodeColumn.OPERAND_MASK])
    bits = int(
        store.memory[frame + image.nodes[number, NodeColumn.MASK_WORD]] | image.ports[port_index, PortColumn.BIT]
    )
    if bits & operand_mask == operand_mask:
        inputs = host.current_delivery().inputs
        outputs, trap = host.rules[number].fire(inputs, token.tag)
        event = event._replace(inputs=inputs, outputs=outputs, trap=trap)
    state = State.__new__(State)
    state.firings_by_node, state.firings, state.steps = (
        store.firing_counts.tolist(),
        int(r[Register.FIRINGS]),
        int(r[Register.STEPS]) + 1,
    )
    if event.is_firing:
        state.firings_by_node[number] += 1
        state.firings += 1
    return state, event
