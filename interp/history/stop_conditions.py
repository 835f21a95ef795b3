"""Stop conditions: at which steps the fast machine stops to evaluate a breakpoint.

A condition is evaluated in advance, for each node, as far as it depends only on which node it is and whether it fires.
Where it may hold, the machine stops, and the condition is evaluated on the event about to happen. If it requires a
comparison with a number that the machine can evaluate itself, the machine stops only where that holds. The effect of an
event on the flight and the store is not known in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...core import dtypes
from ...core.dtypes import DType
from ...core.tag import ROOT
from ...core.types import Type
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
from ..engines.fast.registers import StopOperator, StopQuantity
from ..engines.fast.stops import ALWAYS_STOP, NEVER_STOP, StopComparison, StopConditions, StopPoint
from ..image.build import cached_image
from ..image.image import Image, is_boxed
from ..machine.event import Event, Token
from ..machine.state import State

NODE_NAMES = {"node", "function", "op", "site", "line", "fired"}
"""The names that depend only on which node it is, and whether it fires."""
TOKEN_NAMES = {"parked", "woken", "held", "lost", "store", "flight"}
"""The names that describe what happens to tokens."""
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
"""The counters, which do not depend on the node."""
MAX_EXACT_INTEGER = 2**53
"""Integers up to this magnitude are exact as floats."""

TruthTest: TypeAlias = Callable[[ExpressionNode], bool | None]
"""Whether a part of a condition holds; None if that is unknown before the event."""


def build_stop_conditions(breakpoints: Breakpoints, state: State) -> StopConditions | str:
    """The steps at which the fast machine stops, from this state on, to evaluate these breakpoints; or a reason why it
    cannot."""
    needs: dict[StopPoint, StopComparison] = {}
    for number, each in breakpoints:
        if not each.enabled:
            continue
        told = _stop_comparisons(each, state)
        if isinstance(told, str):
            return f"breakpoint {number} {told}"
        for spot, need in told.items():
            needs[spot] = need if needs.get(spot, need) == need else ALWAYS_STOP
    return StopConditions(comparisons=needs, is_hit=breakpoints.should_stop)


def _stop_comparisons(point: Breakpoint, state: State) -> dict[StopPoint, StopComparison] | str:
    """The points where a breakpoint may hit, each with a comparison that is necessary for it."""
    tree = parse(point.condition.text)
    parts = point.log.parts if point.log is not None else ()
    logged = [parse(part.text) for part in parts if isinstance(part, Expression)]
    if any(name in TOKEN_NAMES for each in (tree, *logged) for name in names_in(each)):
        return "looks at what becomes of tokens"
    condition, found = ConditionAnalysis(tree, state), dict[StopPoint, StopComparison]()
    for number, rule in enumerate(state.rules):
        ports = [port for port, literal in enumerate(rule.node.ports) if literal is None]
        spots: list[StopPoint] = [(number, port) for port in (None, *ports)]
        here = {spot: need for spot in spots if (need := condition.comparison_at(*spot)) is not None}
        if here and rule.effect is not None:
            return f"may hold at {rule.node}, which acts on cells"
        found.update(
            here if rule.required_tokens > 1 else {spot: need for spot, need in here.items() if spot[1] is None}
        )
    return found


class ConditionAnalysis:
    """Derives necessary comparisons for a condition to hold, at each node of a graph."""

    def __init__(self, tree: ExpressionNode, state: State) -> None:
        self._expression, self._state = tree, state
        self._image: Image = cached_image(state.graph, state.loop_bounds)
        self._compiled_expressions: dict[str, Expression] = {}

    def comparison_at(self, number: int, port: int | None) -> StopComparison | None:
        """A necessary comparison where this node fires, or where a token waits at this port; None if the condition
        never holds there."""

        def holds(tree: ExpressionNode) -> bool | None:
            return self._static_truth(tree, number, port)

        if static_truth(self._expression, holds) is False:
            return None
        found = next(self._comparisons(self._expression, holds, number, port), ALWAYS_STOP)
        return (
            None if found == NEVER_STOP and (port is not None or self._state.rules[number].find_trap is None) else found
        )

    def _static_truth(self, tree: ExpressionNode, number: int, port: int | None) -> bool | None:
        """Whether an expression holds there, if that is known in advance."""
        asked = set(names_in(tree))
        if asked <= NODE_NAMES:
            inputs = () if port is None else None
            event = Event(Token(number, 0, ROOT, False), 0, inputs, (), (), None, (), False)
            return self._compile_cached(tree).holds(self._state, event)
        if port is not None and (tree == NameReference("trap") or asked & {"inputs", "outputs"}):
            return False
        if tree == NameReference("trap") and self._state.rules[number].find_trap is None:
            return False
        return None

    def _compile_cached(self, tree: ExpressionNode) -> Expression:
        text = format_expression(tree)
        if text not in self._compiled_expressions:
            self._compiled_expressions[text] = compile_condition(text, self._state.graph)
        return self._compiled_expressions[text]

    def _comparisons(
        self, tree: ExpressionNode, holds: TruthTest, number: int, port: int | None
    ) -> Iterator[StopComparison]:
        """The comparisons that are each necessary and that the machine can evaluate."""
        match tree:
            case Conjunction(tests):
                for test in tests:
                    yield from self._comparisons(test, holds, number, port)
            case Disjunction(tests):
                left = [test for test in tests if static_truth(test, holds) is not False]
                if len(left) == 1:
                    yield from self._comparisons(left[0], holds, number, port)
            case NameReference("trap"):
                yield NEVER_STOP
            case ComparisonExpression(sign, left, right) if sign in COMPARISON_SIGNS:
                if (bound := _constant_value(right)) is not None:
                    yield from self._comparison(left, sign, bound, number, port)
                elif (bound := _constant_value(left)) is not None:
                    yield from self._comparison(right, MIRRORED_SIGNS[sign], bound, number, port)

    def _comparison(
        self, tree: ExpressionNode, sign: str, bound: int | float, number: int, port: int | None
    ) -> Iterator[StopComparison]:
        match tree:
            case NameReference(name) if name in COUNTER_FIELDS:
                yield from _machine_comparison(COUNTER_FIELDS[name], dtypes.int64, sign, bound)
            case NameReference("value") | IndexedName("outputs", 0):
                type_ = self._value_type(number, port)
                if type_ is not None and not is_boxed(type_):
                    yield from _machine_comparison(StopQuantity.VALUE, type_.dtype, sign, bound)
            case IndexedName("inputs", index) if index < min(3, len(self._state.graph.nodes[number].ports)):
                type_ = self._image.port_types[self._image.first_port[number] + index]
                if not is_boxed(type_) and self._state.graph.nodes[number].op != "merge":
                    yield from _machine_comparison(
                        StopQuantity(StopQuantity.OPERAND_0 + index), type_.dtype, sign, bound
                    )

    def _value_type(self, number: int, port: int | None) -> Type | None:
        if port is not None:
            return self._image.port_types[self._image.first_port[number] + port]
        outputs = self._state.graph.nodes[number].outputs
        return outputs[0].type if outputs else None


def _machine_comparison(what: StopQuantity, dtype: DType, sign: str, bound: int | float) -> Iterator[StopComparison]:
    """A comparison of numbers of a dtype, if the machine can evaluate it."""
    if dtype.kind == "b":
        yield NEVER_STOP  # a bool never compares with a number
    elif dtype.kind == "f" and (isinstance(bound, float) or abs(bound) <= MAX_EXACT_INTEGER):
        yield StopComparison(what, COMPARISON_SIGNS[sign], bound, True)
    elif dtype.is_integer and dtype is not dtypes.uint64 and isinstance(bound, int) and -(2**63) <= bound < 2**63:
        yield StopComparison(what, COMPARISON_SIGNS[sign], bound)


def _constant_value(tree: ExpressionNode) -> int | float | None:
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
            found = static_truth(operand, holds)
            return None if found is None else not found
        case Conjunction(tests):
            all_ = [static_truth(test, holds) for test in tests]
            return False if False in all_ else None if None in all_ else True
        case Disjunction(tests):
            all_ = [static_truth(test, holds) for test in tests]
            return True if True in all_ else None if None in all_ else False
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
