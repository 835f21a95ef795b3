"""Fast-forwarding: the fast machine runs ahead, and a new history begins near the position where it stops.

An event of a history costs some 5 us and 1 KB, and users need only events near the current position. The fast machine
follows the same schedule at some 10 ns per event, but keeps only its current state. So a history may begin at a
**base**: a position in the run, with the state and the statistics exported there. Events are numbered from the
beginning of the run. To compute the events before the base, the fast machine runs again, unless that would repeat
effects on the outside world: from the last **keyframe** before them, or from the beginning. A keyframe is a state that
was exported on the way, if that was cheap, at distances from the goal that double.

Stop conditions say where the fast machine stops to evaluate a breakpoint. The parts of its condition that depend only
on the node, and on whether it fires, are evaluated in advance for each node. Where the condition may hold, the machine
stops, and the condition is evaluated on the next event. If the condition implies a comparison with a number that the
machine can evaluate itself, the machine stops only where the comparison holds. Conditions on the effect of an event on
the flight or the store are not supported, since the machine does not know it in advance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from ...core import dtypes
from ...core.dtypes import DType
from ...core.errors import Exhausted, TagloomError, Usage
from ...core.ops.effects import resource_of
from ...core.tag import ROOT
from ...core.types import Type
from ...deprecation import RenamedAttribute
from ..breakpoints.breakpoint import Breakpoint, Breakpoints
from ..breakpoints.expression import Expression, compile_condition, parse
from ..breakpoints.syntax import (
    ArithmeticChain,
    ComparisonExpression,
    Conjunction,
    Disjunction,
    ExpressionNode,
    IndexedName,
    LogicalNot,
    NameReference,
    Negation,
    NumberLiteral,
    format_expression,
)
from ..engines.fast.layout import StopOperator, StopQuantity
from ..engines.fast.stops import ALWAYS_STOP, NEVER_STOP, StopComparison, StopConditions, StopPoint
from ..engines.limits import external_limit_error, resident_memory
from ..engines.protocol import Job, RunOptions
from ..engines.reference import first_state
from ..engines.registry import find_engine
from ..image.image import Image, cached_image, is_boxed
from ..machine.event import Event, Token
from ..machine.state import State
from ..outcome.statistics import Meter
from .advance import Advance
from .segment import Lineage, RunOrigin

if TYPE_CHECKING:
    from ..engines.fast.run import FastRun

WINDOW = 20_000
"""The default number of known events before the target position. They take 0.1 s to step, and some 20 MB."""
IMPORT_COST = 1_500
"""The cost of importing an open activation into the fast machine, in events of that machine."""
MAX_LATE_TOKENS = 3_000
"""The most open activations and tokens of a machine whose state is still read after an interrupt, or after a limit of
the clock or memory: reading this many takes less than a tenth of a second."""
MAX_KEYFRAME_SIZE = 500
"""The most open activations and tokens in a keyframe, which takes some 15 ms to export."""
MAX_KEYFRAME_WAVES = 100_000
"""The most waves in the statistics of a keyframe."""
MAX_KEYFRAME_BYTES = 2**20
"""The most bytes of arrays in a keyframe."""
KEYFRAME_COUNT = 64
"""The most keyframes that are kept; the oldest are dropped."""
STATE_BYTES = 700
"""The bytes that an open activation or a token takes in a state of the reference machine, when it is read."""
_EXACT_LIMITS = ("firings", "tokens", "depth")
"""The limits that both machines reach at the same event."""


class MachineStage(NamedTuple):
    """The activity of a fast-forward, in words, and its fast machine."""

    name: str
    run: FastRun


class PausedMachine(NamedTuple):
    """A fast machine that Ctrl-C or a limit stopped, and the key of the conditions on which it would have stopped."""

    run: FastRun
    stops_key: Hashable


class FastForward(Advance):
    """A history that the fast machine can fast-forward, so that its first known position may be after the beginning of
    the run."""

    _machine_stage: MachineStage | None
    """The present stage of the fast machine, if it works."""
    _paused_machine: PausedMachine | None
    """The machine of the last fast-forward, if Ctrl-C or a limit stopped it: the next one continues there."""
    _machine_keyframes: deque[Meter]
    """The statistics, each with its state, at positions that the fast machine has passed."""

    def _reset(self, origin: RunOrigin, lineage: Lineage, state: State, position: int) -> None:
        super()._reset(origin, lineage, state, position)
        self._machine_stage = self._paused_machine = None
        self._machine_keyframes = deque(maxlen=KEYFRAME_COUNT)

    @property
    def is_fork(self) -> bool:
        """Whether this history is a fork of another."""
        return False

    @property
    def current_position(self) -> int:
        """The current position; while the fast machine runs ahead, that of the fast machine. Thread-safe."""
        stage = self._machine_stage
        return self.position if stage is None else stage.run.steps

    @property
    def current_stage(self) -> str:
        """The present stage of the fast machine, in words; empty if it does nothing. Thread-safe."""
        stage = self._machine_stage
        return "" if stage is None else stage.name

    @property
    def paused_position(self) -> int | None:
        """The position of a fast machine that was stopped and can continue; None if there is none."""
        return None if self._paused_machine is None else self._paused_machine.run.steps

    def can_continue(self, stops_key: Hashable = None) -> bool:
        """Whether a fast machine that was stopped can continue with these conditions to stop."""
        return self._paused_machine is not None and self._paused_machine.stops_key == stops_key

    @property
    def unsupported_reason(self) -> str | None:
        """Why the fast machine cannot run ahead of this history; None if it can."""
        if self.edits or self._first_manual_event is not None:
            return "tokens were chosen or edited by hand"
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

    def fast_forward(
        self,
        position: int | None = None,
        stops: StopConditions | None = None,
        *,
        window: int | None = None,
        stops_key: Hashable = None,
    ) -> Self:
        """A history of the same run that begins `window` (default WINDOW) events before a position; or before the
        position where the fast machine stops or the run is over, if that is earlier. Its cursor is at its beginning.
        Returns this history itself if the new beginning is among its known events. It does not search the known events
        for stops.

        If the run is interrupted, or out of time or memory, the history begins where the fast machine was; `stop_error`
        says why. A state is not read if that would take long or exceed the limit on memory. Then an interrupt raises
        KeyboardInterrupt, and a limit returns this history itself, with its `stop_error`. The machine waits at
        `paused_position`, and the next fast-forward continues there if its goal is not before it and its stop
        conditions have the same `stops_key`; after the limit on memory, the machine is dropped. Raises Usage if the
        fast machine does not support this run.
        """
        reason = self.unsupported_reason
        if reason is not None:
            raise Usage("the fast engine cannot fast-forward this run", got=reason)
        window = WINDOW if window is None else window
        goal = None if position is None else max(position - window, 0)
        if goal is not None and self.base <= goal <= len(self):
            return self
        self._stop_error = self._outcome = None
        run, key = self._continue_machine(goal, stops_key) or self._start_machine(goal, stops), stops_key
        try:
            error = self._run_machine(run, goal, stops)
            if is_exact_stop(error) and (goal is None or run.steps < goal):
                goal = max(run.steps - max(window, 1), 0)  # the trap that stopped it has happened
                if self.base <= goal <= len(self):
                    return self
                run, key = self._start_machine(goal), None
                error = self._run_machine(run, goal, None)
            if is_exact_stop(error):
                error = self._unreadable_state(run)
            if error is not None and run.open_size > MAX_LATE_TOKENS:
                if is_limit(error, "interrupt"):
                    raise KeyboardInterrupt
                self._stop_error = error
                if not is_limit(error, "bytes"):
                    self._paused_machine = PausedMachine(run, key)
                return self
            return self._from_machine(run, error)
        except KeyboardInterrupt:
            self._paused_machine = PausedMachine(run, key)
            raise
        finally:
            self._machine_stage = None

    far = RenamedAttribute("fast_forward")

    def reveal(self, position: int) -> None:
        """Compute the events from an earlier position on, so that they are known, too. The current position does not
        change.

        Raises KeyboardInterrupt on Ctrl-C, and Exhausted at a limit, and then changes nothing.
        """
        base = self.base
        if position >= base:
            return
        run = self._start_machine(max(position, 0))
        try:
            error = self._run_machine(run, max(position, 0), None) or self._unreadable_state(run)
            if error is not None:
                raise KeyboardInterrupt if is_limit(error, "interrupt") else error
            earlier_history = self._from_machine(run, None)
        finally:
            self._machine_stage = None
        earlier_history.forward_to(lambda state, event: state.steps >= base)
        error = earlier_history.stop_error
        if len(earlier_history) < base:
            assert error is not None, "the run has been further"
            raise KeyboardInterrupt if is_limit(error, "interrupt") else error
        self._lineage = Lineage((*earlier_history._lineage.segments, *self._lineage.segments))
        self._reset_index()

    def _reset_index(self) -> None:
        """Discard the index that queries use."""

    def _continue_machine(self, goal: int | None, stops_key: Hashable) -> FastRun | None:
        """The paused machine, if it is on the way to this goal and has the same stop conditions."""
        paused, self._paused_machine = self._paused_machine, None
        if paused is None or paused.stops_key != stops_key or (goal is not None and goal < paused.run.steps):
            return None
        return paused.run

    def _start_machine(self, goal: int | None, stops: StopConditions | None = None) -> FastRun:
        """Start the fast machine at the end of the known events, at a keyframe, or at the beginning of the run,
        whichever reaches the goal soonest; with stop conditions, not after the known events. A goal of None means that
        it runs until it stops by itself."""
        from ..engines.fast.run import FastRun

        origin, last = self._origin, self._lineage.last_segment
        open_activations = len(last.keyframes[-1].state.records)
        latest = min(inf if goal is None else goal, inf if stops is None else len(self))
        keyframes = [keyframe for keyframe in self._machine_keyframes if keyframe.state.steps <= latest]
        nearest = max(keyframes, key=lambda keyframe: keyframe.state.steps, default=None)
        start = 0 if nearest is None else nearest.state.steps
        if len(self) >= start + IMPORT_COST * open_activations and (goal is None or goal >= len(self)):
            meter = last.meter_at(len(self))
        elif nearest is not None:
            meter = copy(nearest)
            meter.state = nearest.state.fork()
        else:
            state = first_state(origin.graph, origin.arguments, origin.schedule, origin.seed, origin.bound, self.world)
            meter = Meter(state, is_clocked=state.is_clocked)
        run = FastRun(meter.state, origin.schedule, until="quiet", limits=self.limits, meter=meter)
        run.allow_blocks(must_count_waves=True)
        return run

    def _run_machine(self, run: FastRun, goal: int | None, stops: StopConditions | None) -> TagloomError | None:
        """Run the machine to its goal, or to a stop beyond the known events; returns the error that stopped it, if
        any."""
        self._machine_stage = MachineStage("the fast machine skips ahead", run)
        if stops is not None and run.steps < len(self):
            error = run.resume(len(self) - run.steps)
            if error is not None:
                return error
        if goal is not None and stops is None:
            for position in keyframe_positions(run.steps, goal, WINDOW):
                error = run.resume(position - run.steps)
                if error is not None or run.steps < position:
                    return error
                self._save_keyframe(run)
        return run.resume(None if goal is None else goal - run.steps, stops)

    def _save_keyframe(self, run: FastRun) -> None:
        """Save the state of the machine, unless that would take long or much memory."""
        is_small = run.open_size <= MAX_KEYFRAME_SIZE and run.wave_count <= MAX_KEYFRAME_WAVES
        if is_small and run.array_bytes <= MAX_KEYFRAME_BYTES:
            self._machine_keyframes.append(run.meter(run.state()))

    def _unreadable_state(self, run: FastRun) -> Exhausted | None:
        """The error if the machine's state, once it is read, would exceed the limit on memory; None if it would not."""
        is_too_large = resident_memory() + STATE_BYTES * run.open_size > self.limits.bytes
        return external_limit_error("bytes", self.limits) if is_too_large else None

    def _from_machine(self, run: FastRun, error: TagloomError | None) -> Self:
        """A history that begins at the machine's position."""
        self._machine_stage = MachineStage(f"reading {run.open_size:,} open activations and tokens", run)
        state = run.state()
        history = type(self).__new__(type(self))
        history._reset(
            self._origin, Lineage((self._origin.new_segment(state.steps, run.meter(state)),)), state, state.steps
        )
        history.name, history.world, history.limits, history._stop_error = self.name, self.world, self.limits, error
        history._machine_keyframes = self._machine_keyframes
        return history


def keyframe_positions(start: int, goal: int, spacing: int) -> list[int]:
    """The positions of keyframes on the way from a start to a goal, ascending: at distances from the goal that double,
    from `spacing` on, and more than `spacing` after the start.

    >>> keyframe_positions(0, 1000, 100), keyframe_positions(850, 1000, 100)
    ([200, 600, 800, 900], [])
    """
    positions, distance = list[int](), spacing
    while goal - distance > start + spacing:
        positions.append(goal - distance)
        distance *= 2
    return positions[::-1]


def is_exact_stop(error: TagloomError | None) -> bool:
    """Whether the reference would stop at the same event with this error, or, for None, continue there."""
    return error is None or (isinstance(error, Exhausted) and error.limit in _EXACT_LIMITS)


def is_limit(error: TagloomError | None, limit: str) -> bool:
    """Whether the error is that of this limit; that of Ctrl-C is `interrupt`."""
    return isinstance(error, Exhausted) and error.limit == limit


NODE_NAMES = {"node", "function", "op", "site", "line", "fired"}
"""The names whose values depend only on the node, and on whether it fires."""
TOKEN_NAMES = {"deferred", "woken", "throttled", "lost", "store", "flight"}
"""The names for the effect of an event on tokens, which the fast machine does not know in advance."""
COMPARISON_SIGNS = {
    "==": StopOperator.EQUAL,
    "!=": StopOperator.NOT_EQUAL,
    "<": StopOperator.LESS,
    "<=": StopOperator.LESS_EQUAL,
    ">": StopOperator.GREATER,
    ">=": StopOperator.GREATER_EQUAL,
}
MIRRORED_SIGNS = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
COUNTER_FIELDS = {
    "depth": StopQuantity.DEPTH,
    "tag.depth": StopQuantity.DEPTH,
    "iteration": StopQuantity.ITERATION,
    "tag.iteration": StopQuantity.ITERATION,
    "count": StopQuantity.NODE_FIRINGS,
    "firings": StopQuantity.FIRINGS,
    "step": StopQuantity.STEP,
}
"""The counters that the fast machine can compare at any node."""
MAX_EXACT_INTEGER = 2**53
"""Integers up to this magnitude are exact as floats."""

TruthTest: TypeAlias = Callable[[ExpressionNode], bool | None]
"""Says whether a part of a condition holds; None if that is unknown before the event."""


def build_stop_conditions(breakpoints: Breakpoints, state: State) -> StopConditions | str:
    """The conditions on which the fast machine stops, from this state on, to evaluate these breakpoints; or the reason
    why it cannot."""
    necessary: dict[StopPoint, StopComparison] = {}
    for number, point in breakpoints:
        if not point.enabled:
            continue
        comparisons = stop_comparisons(point, state)
        if isinstance(comparisons, str):
            return f"breakpoint {number} {comparisons}"
        for stop_point, comparison in comparisons.items():
            is_only = necessary.get(stop_point, comparison) == comparison
            necessary[stop_point] = comparison if is_only else ALWAYS_STOP
    return StopConditions(comparisons=necessary, is_hit=breakpoints.should_stop)


def stop_comparisons(point: Breakpoint, state: State) -> dict[StopPoint, StopComparison] | str:
    """The points at which a breakpoint may hit, each with a comparison that the hit implies; or the reason why the fast
    machine cannot stop there."""
    tree = parse(point.condition.text)
    parts = point.log.parts if point.log is not None else ()
    logged = [parse(part.text) for part in parts if isinstance(part, Expression)]
    if any(name in TOKEN_NAMES for expression in (tree, *logged) for name in names_in(expression)):
        return "depends on what happens to a token after the event"
    analysis, comparisons = ConditionAnalysis(tree, state), dict[StopPoint, StopComparison]()
    for number, rule in enumerate(state.rules):
        ports = [port for port, literal in enumerate(rule.node.ports) if literal is None]
        stop_points: list[StopPoint] = [(number, port) for port in (None, *ports)]
        node_comparisons = {
            stop_point: comparison
            for stop_point in stop_points
            if (comparison := analysis.comparison_at(*stop_point)) is not None
        }
        if node_comparisons and rule.effect is not None:
            return f"may hold at {rule.node}, which acts on cells"
        comparisons.update(
            node_comparisons
            if rule.required_tokens > 1
            else {key: comparison for key, comparison in node_comparisons.items() if key[1] is None}
        )
    return comparisons


class ConditionAnalysis:
    """Derives comparisons that a condition implies, at each node of a graph."""

    def __init__(self, tree: ExpressionNode, state: State) -> None:
        self._expression, self._state = tree, state
        self._image: Image = cached_image(state.graph, state.loop_bounds)
        self._compiled_expressions: dict[str, Expression] = {}

    def comparison_at(self, number: int, port: int | None) -> StopComparison | None:
        """A comparison that the condition implies where this node fires, or where a token waits at this port; None if
        the condition never holds there."""

        def holds(tree: ExpressionNode) -> bool | None:
            return self._static_truth(tree, number, port)

        if static_truth(self._expression, holds) is False:
            return None
        comparison = next(self.necessary_comparisons(self._expression, holds, number, port), ALWAYS_STOP)
        return (
            None
            if comparison == NEVER_STOP and (port is not None or self._state.rules[number].find_trap is None)
            else comparison
        )

    def _static_truth(self, tree: ExpressionNode, number: int, port: int | None) -> bool | None:
        """Whether an expression holds there, if that is known in advance."""
        names = set(names_in(tree))
        if names <= NODE_NAMES:
            inputs = () if port is None else None
            event = Event(Token(number, 0, ROOT, False), 0, inputs, (), (), None, (), False)
            return self.compile_cached(tree).holds(self._state, event)
        if port is not None and (tree == NameReference("trap") or names & {"inputs", "outputs"}):
            return False
        if tree == NameReference("trap") and self._state.rules[number].find_trap is None:
            return False
        return None

    def compile_cached(self, tree: ExpressionNode) -> Expression:
        """A part of the condition, compiled once."""
        text = format_expression(tree)
        if text not in self._compiled_expressions:
            self._compiled_expressions[text] = compile_condition(text, self._state.graph)
        return self._compiled_expressions[text]

    def necessary_comparisons(
        self, tree: ExpressionNode, holds: TruthTest, number: int, port: int | None
    ) -> Iterator[StopComparison]:
        """The comparisons that the condition implies and that the machine can evaluate."""
        match tree:
            case Conjunction(tests):
                for test in tests:
                    yield from self.necessary_comparisons(test, holds, number, port)
            case Disjunction(tests):
                possible_tests = [test for test in tests if static_truth(test, holds) is not False]
                if len(possible_tests) == 1:
                    yield from self.necessary_comparisons(possible_tests[0], holds, number, port)
            case NameReference("trap"):
                yield NEVER_STOP
            case ComparisonExpression(sign, left, right) if sign in COMPARISON_SIGNS:
                if (bound := constant_value(right)) is not None:
                    yield from self.comparison_with(left, sign, bound, number, port)
                elif (bound := constant_value(left)) is not None:
                    yield from self.comparison_with(right, MIRRORED_SIGNS[sign], bound, number, port)

    def comparison_with(
        self, tree: ExpressionNode, sign: str, bound: int | float, number: int, port: int | None
    ) -> Iterator[StopComparison]:
        """The comparison of a name with a number, if the machine can evaluate it there."""
        match tree:
            case NameReference(name) if name in COUNTER_FIELDS:
                yield from machine_comparison(COUNTER_FIELDS[name], dtypes.int64, sign, bound)
            case NameReference("value") | IndexedName("outputs", 0):
                type_ = self.value_type(number, port)
                if type_ is not None and not is_boxed(type_):
                    yield from machine_comparison(StopQuantity.VALUE, type_.dtype, sign, bound)
            case IndexedName("inputs", index) if index < min(3, len(self._state.graph.nodes[number].ports)):
                type_ = self._image.port_types[self._image.first_port[number] + index]
                if not is_boxed(type_) and self._state.graph.nodes[number].op != "merge":
                    yield from machine_comparison(
                        StopQuantity(StopQuantity.OPERAND_0 + index), type_.dtype, sign, bound
                    )

    def value_type(self, number: int, port: int | None) -> Type | None:
        """The type of the name `value` where a node fires, or where a token waits at a port."""
        if port is not None:
            return self._image.port_types[self._image.first_port[number] + port]
        outputs = self._state.graph.nodes[number].outputs
        return outputs[0].type if outputs else None


def machine_comparison(quantity: StopQuantity, dtype: DType, sign: str, bound: int | float) -> Iterator[StopComparison]:
    """A comparison of numbers of a dtype, if the machine can evaluate it."""
    if dtype.kind == "b":
        yield NEVER_STOP  # a bool never compares with a number
    elif dtype.kind == "f" and (isinstance(bound, float) or abs(bound) <= MAX_EXACT_INTEGER):
        yield StopComparison(quantity, COMPARISON_SIGNS[sign], bound, True)
    elif dtype.is_integer and dtype is not dtypes.uint64 and isinstance(bound, int) and -(2**63) <= bound < 2**63:
        yield StopComparison(quantity, COMPARISON_SIGNS[sign], bound)


def constant_value(tree: ExpressionNode) -> int | float | None:
    """The value of a number in a condition, which may be negative; None for anything else."""
    match tree:
        case NumberLiteral(value):
            return value
        case Negation(NumberLiteral(value)):
            return -value
    return None


def static_truth(tree: ExpressionNode, holds: TruthTest) -> bool | None:
    """Whether a condition holds; `holds` decides its atomic parts."""
    match tree:
        case LogicalNot(operand):
            truth = static_truth(operand, holds)
            return None if truth is None else not truth
        case Conjunction(tests):
            truths = [static_truth(test, holds) for test in tests]
            return False if False in truths else None if None in truths else True
        case Disjunction(tests):
            truths = [static_truth(test, holds) for test in tests]
            return True if True in truths else None if None in truths else False
    return holds(tree)


def names_in(tree: ExpressionNode) -> Iterator[str]:
    """All names in an expression."""
    match tree:
        case NameReference(name) | IndexedName(name, _):
            yield name
        case Negation(operand) | LogicalNot(operand):
            yield from names_in(operand)
        case Conjunction(tests) | Disjunction(tests):
            for test in tests:
                yield from names_in(test)
        case ComparisonExpression(_, left, right):
            yield from (*names_in(left), *names_in(right))
        case ArithmeticChain(first, rest):
            yield from names_in(first)
            for _, operand in rest:
                yield from names_in(operand)
