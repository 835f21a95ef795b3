"""Fast-forwarding: the fast machine runs ahead, and a history begins near where it stops.

A stepped event costs some 5 us and 1 KB, and users look at events near the current position. The fast machine follows
the same schedule at some 10 ns per event; it knows its current state, but none before. So a history may begin at a
**base**: a position in the run, with the state and the statistics exported there. All numbers are those of the whole
run. To learn the events before the base, the fast machine runs again from the beginning; it never does so if that would
repeat effects on the outside world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ...core.errors import Exhausted, TagloomError, Usage
from ...core.ops.effects import resource_of
from ..engines.protocol import Job, RunOptions
from ..engines.reference import first_state
from ..engines.registry import find_engine
from ..image.build import cached_image
from ..machine.state import State
from ..outcome.statistics import Meter
from .advance import Advance
from .run_origin import RunOrigin
from .segment import Lineage

if TYPE_CHECKING:
    from ..engines.fast.run import FastRun
    from ..engines.fast.stops import StopConditions

WINDOW = 20_000
"""The number of events known before the target position: they take 0.1 s to step, and some 20 MB."""
IMPORT_COST = 1_500
"""The cost of importing an open activation into the fast machine, in events that it could make meanwhile."""
_EXACT_LIMITS = ("firings", "tokens", "depth")
"""The limits that both machines reach at the same event."""


class FastForward(Advance):
    """A history that may begin later than its run."""

    _fast_run: FastRun | None
    """The fast machine, while it runs ahead."""

    def _reset(self, begun: RunOrigin, lineage: Lineage, state: State, position: int) -> None:
        super()._reset(begun, lineage, state, position)
        self._fast_run = None

    @property
    def is_fork(self) -> bool:
        """Whether it has a parent."""
        return False

    @property
    def current_position(self) -> int:
        """The current position; while the fast machine runs ahead, its position. Safe to call from another thread."""
        run = self._fast_run
        return self.position if run is None else run.steps

    @property
    def unsupported_reason(self) -> str | None:
        """Why the fast machine cannot run ahead of this history; None if it can."""
        if self.edits or self._first_manual_event is not None:
            return "somebody chose or changed what happens"
        if self.is_fork:
            return "it is a fork"
        if any(resource_of(node.op) is not None for node in self.graph.nodes):
            return "the program has effects, which would happen again"
        return find_engine("fast").unsupported(*self._fast_job) or self._image_error()

    @property
    def _fast_job(self) -> tuple[Job, RunOptions]:
        return Job(self.graph, self.structure, is_ill_formed=self.is_invalid), RunOptions(
            self._origin.schedule, k=self.bound
        )

    def _image_error(self) -> str | None:
        try:
            cached_image(self.graph, self.base_keyframe.state.loop_bounds)
        except Usage as error:
            return error.message
        return None

    def far(
        self, position: int | None = None, stops: StopConditions | None = None, *, window: int | None = None
    ) -> Self:
        """A history of the same run that begins `window` (default WINDOW) events before a position, and stands at its
        beginning; or before the place where the fast machine stops, if that is earlier, or where the run is over.
        Returns this history itself if its known events lead there. The known events are not searched for stops.

        If the run is interrupted, or out of time or memory, the history begins where the run got to; `stop_error` says
        why. Raises Usage if the fast machine does not support this run.
        """
        why = self.unsupported_reason
        if why is not None:
            raise Usage("the fast machine cannot go ahead in this run", got=why)
        window = WINDOW if window is None else window
        goal = None if position is None else max(position - window, 0)
        if goal is not None and self.base <= goal <= len(self):
            return self
        run = self._start_machine(goal)
        stopped = self._run_machine(run, goal, stops)
        if _is_exact_stop(stopped) and (goal is None or run.steps < goal):
            goal = max(run.steps - max(window, 1), 0)  # the trap that stopped it has happened
            if self.base <= goal <= len(self):
                return self
            run = self._start_machine(goal)
            stopped = self._run_machine(run, goal, None)
        return self._from_machine(run, None if _is_exact_stop(stopped) else stopped)

    def reveal(self, position: int) -> None:
        """Make the events from an earlier position on known, too. The current position stays.

        Raises KeyboardInterrupt on Ctrl-C, and Exhausted at a limit; then nothing has changed.
        """
        base = self.base
        if position >= base:
            return
        run = self._start_machine(max(position, 0))
        stopped = self._run_machine(run, max(position, 0), None)
        early = self._from_machine(run, stopped)
        if stopped is None:
            early.forward_to(lambda state, event: state.steps >= base)
            stopped = early.stop_error
        if len(early) < base:
            assert stopped is not None, "the run has been further"
            raise KeyboardInterrupt if _is_interrupt(stopped) else stopped
        self._lineage = Lineage((*early._lineage.segments, *self._lineage.segments))
        self._reset_index()

    def _reset_index(self) -> None:
        """Discard the index that queries use."""

    def _start_machine(self, goal: int | None) -> FastRun:
        """The fast machine, at the end of the known events or at the beginning of the run, whichever reaches the goal
        sooner; a goal of None is wherever it stops."""
        from ..engines.fast.run import FastRun

        begun, last = self._origin, self._lineage.last_segment
        open_activations = len(last.keyframes[-1].state.records)
        if len(self) >= IMPORT_COST * open_activations and (goal is None or goal >= len(self)):
            meter = last.meter_at(len(self))
        else:
            state = first_state(begun.graph, begun.arguments, begun.schedule, begun.seed, begun.bound, self.world)
            meter = Meter(state, is_clocked=state.is_clocked)
        return FastRun(meter.state, begun.schedule, until="quiet", limits=self.limits, meter=meter)

    def _run_machine(self, run: FastRun, goal: int | None, stops: StopConditions | None) -> TagloomError | None:
        """Run the machine to its goal, or to a stop beyond the known events; returns the error that stopped it, if
        any."""
        self._fast_run = run
        try:
            if stops is not None and run.steps < len(self):
                stopped = run.go(len(self) - run.steps)
                if stopped is not None:
                    return stopped
            return run.go(None if goal is None else goal - run.steps, stops)
        finally:
            self._fast_run = None

    def _from_machine(self, run: FastRun, stopped: TagloomError | None) -> Self:
        """A history that begins at the machine's position."""
        state = run.state()
        made = type(self).__new__(type(self))
        made._reset(
            self._origin, Lineage((self._origin.new_segment(state.steps, run.meter(state)),)), state, state.steps
        )
        made.name, made.world, made.limits, made._stop_error = self.name, self.world, self.limits, stopped
        return made


def _is_exact_stop(stopped: TagloomError | None) -> bool:
    """Whether the reference would stop at the same event, or continue there too."""
    return stopped is None or (isinstance(stopped, Exhausted) and stopped.limit in _EXACT_LIMITS)


def _is_interrupt(stopped: TagloomError) -> bool:
    return isinstance(stopped, Exhausted) and stopped.limit == "interrupt"
