"""The engine `fast`: a run of the token machine in numba, from arguments to outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, overload
from typing import Literal as Word

import numpy as np

from ....core.errors import Crash, Exhausted, TagloomError, Usage
from ....core.frontend.trace.pytree import Structure
from ....core.graph.graph import Graph
from ....core.tag import Site
from ....core.world import World
from ...image.build import known_image
from ...image.image import DEEPEST, SITE
from ...machine.event import Cell
from ...machine.script import seed_of
from ...machine.state import State
from ...outcome.outcome import Outcome, Waiting, ending, exhausted, in_order
from ...outcome.statistics import Meter, Stats
from ...records.keep import Keep, Kept, keeping
from ..interrupt import EVERY, LARGE, Alarm, Interrupt, interruptible, resident
from ..reference import (  # fmt: skip
    Limits,
    Until,
    admit_arguments,
    check_until,
    first_state,
    limits_of,
    out_of_memory,
    rung,
)
from .event_keepers import Keeper, Last, no_collection
from .export_state import held_tokens, results, to_meter, to_state, waiting
from .host_firings import Outside
from .import_state import from_state
from .load import Variant, machine
from .next_event import coming
from .registers import Mode, Options, R, Why
from .scribe import keeper_of
from .series import Series, Tupled
from .stops import Need, Spot, Stops, watch
from .store import HEAVY, Store

BUDGET = 2**19
"""How many steps are made between two looks at the clock, at memory, and at Ctrl-C: some 5 ms."""


def _mode(schedule: str) -> tuple[Mode, int] | None:
    """Which token is next, under a schedule that has a name; and the seed of what is picked at random."""
    if schedule in ("fifo", "waves"):
        return Mode.OLDEST, 0
    if schedule == "lifo":
        return Mode.YOUNGEST, 0
    seed = seed_of(schedule)
    return None if seed is None else (Mode.RANDOM, seed)


class Fast:
    """A run of the fast machine, that can be driven, looked at, and handed over."""

    def __init__(
        self,
        state: State,
        schedule: str,
        *,
        until: Until,
        limits: Limits,
        meter: Meter | None = None,
        spent: float = 0.0,
        keeper: Keeper | None = None,
    ) -> None:
        """Take a run over from the reference machine, where it has got to by itself; `meter` has watched it so far, and
        so many seconds are `spent`. The `keeper`, if there is one, gets what happens from here on.

        Raises Usage where the schedule has no name, and where the graph is too large.
        """
        found = _mode(schedule)
        if found is None:
            raise Usage("the fast engine cannot run so", required="fifo, lifo, waves or random:SEED", got=schedule)
        self.schedule, self.until, self.limits, self.spent = schedule, until, limits, spent
        self.stopped_by: Word["node", "depth", "trap"] | None = None
        """Which of its stops the run stands at."""
        self._stops, self._spots = Stops(), dict[Spot, Need]()
        self.taken = state
        """What the reference knew: the mould for the state that it is handed back."""
        self.store = Store(
            known_image(state.graph, state.bounds), limits, found[0], seed=found[1], clocked=state.clocked,
            enough=len(state.graph.results) if until == "result" else 0,
        )  # fmt: skip
        self.outside = Outside(self.store, state)
        from_state(self.store, self.outside, state, meter or Meter(state, clocked=state.clocked))
        self._keeper, self._variant = keeper, Variant.NOTING if keeper else Variant.PLAIN
        if keeper is not None:
            keeper.begin(self.store, self.outside)

    def state(self) -> State:
        """The state of the reference machine that this run is in: it goes on from there by itself."""
        with no_collection():
            return to_state(self.store, self.outside, self.taken.fork())

    @property
    def steps(self) -> int:
        """How many steps have been made."""
        return int(self.store.registers[R.STEPS])

    def meter(self, state: State) -> Meter:
        """The measures so far, which go on with this state of the reference machine."""
        return to_meter(self.store, state)

    def go(self, steps: int | None = None, stops: Stops | None = None) -> TagloomError | None:
        """Go on until the run is over, so many steps have been made, or one of these stops is met; what stopped it, if
        that was no ending of its own. A stop at which the run stands already is passed. Raises KeyboardInterrupt where
        somebody pressed Ctrl-C, and nothing is left to do."""
        machine(self._variant)  # which may take seconds to compile, the first time; there Ctrl-C is what it always is
        with interruptible() as interrupt:
            stopped: TagloomError | None = self._pass()
            self._arm(stops or Stops())
            if stopped is None:
                stopped = self._go(steps, interrupt)
            self._arm(Stops())
            if self._keeper is not None:
                self._keeper.rest()
            is_left = bool(self.store.registers[R.LENGTH])
            return rung("interrupt", self.limits) if is_left and interrupt.hear() else stopped

    def _arm(self, stops: Stops) -> None:
        """Tell the machine where to stop."""
        store, self._stops, spots = self.store, stops, stops.spots()
        if spots != self._spots:
            watch(store, spots)
            self._spots = spots
        depths = (self.limits.depth, DEEPEST, self.limits.depth if stops.depth is None else stops.depth - 1)
        store.options[Options.DEPTH] = min(depths)

    def _pass(self) -> Exhausted | None:
        """Have the machine make the step that it stands before, if a stop is there; the limit that it would exceed."""
        begun, stands = self.store.registers[R.STEPS], self.stopped_by == "depth"
        self.store.registers[R.PASSED] = begun if self.stopped_by == "node" else -1
        self.stopped_by = None
        try:
            while stands and self.store.registers[R.STEPS] == begun and not self._over(self._burst(1)):
                pass
        except Exhausted as error:
            return error
        return None

    def _go(self, steps: int | None, interrupt: Interrupt) -> TagloomError | None:
        store, alarm = self.store, Clock(self.limits, interrupt, self.spent)
        if store.live > self.limits.tokens:
            return exhausted("tokens at once", "tokens", self.limits.tokens)
        end = None if steps is None else int(store.registers[R.STEPS]) + steps
        ringing = alarm.rings(store)
        while ringing is None:
            budget = self._budget() if end is None else min(self._budget(), end - int(store.registers[R.STEPS]))
            if budget <= 0:
                return None
            why = self._burst(budget)
            if self._keeper is not None and store.dying_bytes >= HEAVY:
                self._keeper.turn()
            # Here, and not after what is done outside: that is half of a step.
            ringing = None if why in (Why.QUIET, Why.RESULT) else alarm.rings(store)
            try:
                if ringing is None and self._over(why):
                    return None
            except Exhausted as error:
                return error
        return rung(ringing, self.limits) if store.registers[R.LENGTH] else None

    def _budget(self) -> int:
        """How many steps to make: fewer where each may have to go through many tokens, in flight or held, or from one
        open iteration to the next, which takes longer."""
        r, store, image = self.store.registers, self.store, self.store.image
        far = int(r[R.LENGTH]) if store.options[Options.MODE] == Mode.RANDOM else 0
        if image.is_bounded:
            far += 8 * min(int(r[R.OPEN]), int(image.sites[:, SITE.BOUND].max()))
            far += int(r[R.HOLDING]) if self.taken.clocked else 0
        return max(min(BUDGET >> 4, 2**27 // far), 64) if far else BUDGET

    def _burst(self, steps: int) -> Why:
        """Make so many steps, or fewer; why it stopped."""
        why = Why(machine(self._variant)(self.store.addresses(), steps, self.store.image.header))
        self.store.sweep()
        return why

    def _over(self, why: Why) -> bool:
        """Do what the machine stopped for, if anything; whether the run is over. Raises Exhausted at a limit."""
        match why:
            case Why.QUIET | Why.RESULT:
                return True
            case Why.ROOM:
                self._grow()
            case Why.FIRINGS:
                raise exhausted("firings", "firings", self.limits.firings)
            case Why.STOP if self._is_hit():
                self.stopped_by = "node"
                return True
            case Why.STOP:
                self.store.registers[R.PASSED] = self.steps
            case Why.DEPTH if self.store.options[Options.DEPTH] < min(self.limits.depth, DEEPEST):
                self.stopped_by = "depth"
                return True
            case Why.DEPTH:
                raise exhausted("nested calls and loops", "depth", self.limits.depth)
            case Why.TOKENS:
                raise exhausted("tokens at once", "tokens", self.limits.tokens)
            case Why.SECOND:
                raise Crash("a graph that keeps the rules broke the machine", where=self.store.image.graph.name)
            case Why.LEAVE:
                return self._leave()
        return False

    def _is_hit(self) -> bool:
        """Whether it stops at the step that it stands before, where it may."""
        is_hit = self._stops.is_hit
        try:
            return is_hit is None or is_hit(*coming(self.store, self.outside))
        except MemoryError:  # as the step itself will find
            return False

    def _grow(self) -> None:
        if self._keeper is not None and self.store.has_room():
            self._keeper.turn()
            return
        if resident() + self.store.growth() > self.limits.bytes:
            raise exhausted("bytes of memory", "bytes", self.limits.bytes)
        try:
            self.store.grow()
        except MemoryError:
            raise Exhausted("the run does not fit into memory", rule="S12", where=self.taken.graph.name) from None

    def _leave(self) -> bool:
        trapped = len(self.outside.traps)
        delivery = self.outside.delivery()
        try:
            self.outside.fire(delivery)
        except MemoryError:
            raise out_of_memory(self.state(), delivery.position) from None
        if len(self.outside.traps) == trapped:
            return False
        r = self.store.registers
        left = int(r[R.LENGTH]) - 1
        self._burst(1)
        self.outside.note_released(int(r[R.LENGTH]) - left)
        self.stopped_by = "trap" if self._stops.traps else None
        return self.until == "trap" or self._stops.traps

    def stats(self) -> Stats:
        """The measures so far."""
        r, store = self.store.registers, self.store
        profile, held = store.profile[: r[R.WAVES]].T
        if r[R.FIRINGS] > r[R.BEFORE]:
            profile = np.append(profile, r[R.FIRINGS] - r[R.BEFORE])
        clocked, span, firings = self.taken.clocked, len(profile), int(r[R.FIRINGS])
        while span and not profile[span - 1]:  # once or twice: a wave in which nothing fires sends nothing
            span -= 1
        sites = zip(store.image.site_list, store.begun.tolist(), strict=True)
        return Stats(
            firings=firings,
            steps=int(r[R.STEPS]),
            critical_path=span if clocked else None,
            parallelism=(firings / span if span else 0.0) if clocked else None,
            profile=Series(profile[:span]) if clocked else None,
            waiting=Series(held) if clocked else None,
            largest_store=int(r[R.LARGEST_STORE]),
            largest_flight=int(r[R.LARGEST_FLIGHT]),
            deepest_tag=int(r[R.DEEPEST]),
            by_node=tuple(store.counts.tolist()),
            opened={site: count for site, count in sites if count},
        )

    def outcome(self, stopped: TagloomError | None, structure: Structure) -> Outcome:
        """How it ended."""
        state = self.taken
        state.records.clear()
        state.results, state.traps, state.cells = results(self.store), self.outside.traps, self.outside.cells
        return ending(
            state,
            self.stats(),
            stopped,
            self.until,
            left=Residue([self.store], self.outside, state.bounds),
            open_activations=int(self.store.registers[R.OPEN]),
            schedule=self.schedule,
            engine="fast",
            structure=structure,
        )


class Clock:
    """What ends a run from outside: looked at between two bursts of steps. Memory takes longest to look at, and waits
    until some thousands of steps or a large array have been made."""

    def __init__(self, limits: Limits, interrupt: Interrupt, spent: float = 0.0) -> None:
        left = None if limits.seconds is None else max(0.0, limits.seconds - spent)
        self._alarm = Alarm(left, limits.bytes, interrupt)
        self._looked: int | None = None

    def rings(self, store: Store) -> str | None:
        steps = int(store.registers[R.STEPS])
        is_due = self._looked is None or steps - self._looked >= EVERY or store.made >= LARGE
        if is_due:
            self._looked, store.made = steps, 0
        return self._alarm.rings(0 if is_due else 1, None)


class Residue(Tupled[Waiting]):
    """What a run left waiting, in one store or in several, made when somebody looks at it: it may be millions of
    tokens."""

    def __init__(self, stores: Sequence[Store], outside: Outside, bounds: Mapping[Site, int]) -> None:
        self._stores = stores
        self._bounds = bounds
        self._outside = outside

    @cached_property
    def _all(self) -> tuple[Waiting, ...]:
        found = [each for store in self._stores for each in waiting(store)]
        for handle, block in self._outside.cells.blocks.items():
            for number, tokens in block.parked.items():
                found += [Waiting(*token, Cell(handle, number)) for token in tokens]
        store, bounds = self._stores[0], self._bounds
        if store.registers[R.HOLDING]:
            tags = {frame: store.tag(frame) for frame in store.frames()}
            for _, token in held_tokens(store, tags):
                found.append(Waiting(*token, bounds[token.tag.site]))
        return in_order(store.image.graph, found)

    def __len__(self) -> int:
        return sum(int(store.registers[[R.WAITING, R.PARKED, R.HOLDING]].sum()) for store in self._stores)

    @overload
    def __getitem__(self, at: int) -> Waiting: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Waiting, ...]: ...
    def __getitem__(self, at: int | slice) -> Waiting | tuple[Waiting, ...]:
        return self._all[at]

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._all)


def run_fast(
    graph: Graph,
    arguments: Sequence[object],
    *,
    schedule: str,
    until: Until,
    limits: Limits | None,
    structure: Structure,
    keep: Keep = None,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
    spent: float = 0.0,
) -> Outcome:
    """Run a graph whose rules have been checked; how it ends is data. `spent` are seconds that count as this run's.

    Raises Usage where the arguments do not fit, or an option is none.
    """
    check_until(until)
    admitted = admit_arguments(graph, arguments)
    state = first_state(graph, admitted, schedule, seed, k, world)
    with keeping(keep, graph, admitted, schedule, seed, k) as kept:
        return finished(state, schedule, until, limits_of(limits), structure, kept, spent=spent)


def finished(
    state: State, schedule: str, until: Until, limits: Limits, structure: Structure, kept: Kept, **before: Any
) -> Outcome:
    """Go on with a run from this state, keep what is to be kept, and say how it ended; `before` is what `Fast` takes of
    the part of it that is done already."""
    keeper = keeper_of(kept, known_image(state.graph, state.bounds))
    run = Fast(state, schedule, until=until, limits=limits, keeper=keeper, **before)
    stopped = run.go()
    window = keeper.window(kept.events or ()) if isinstance(keeper, Last) else None
    said = kept.said(int(run.store.registers[R.STEPS]), window)
    return kept.ended(replace(run.outcome(stopped, structure), **said))
