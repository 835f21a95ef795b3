"""How the fast machine looks for the next hit of a breakpoint: at which steps it stops, and asks.

A condition is worked out for each node as far as it only says which node it is, and whether it fires. Where it may hold
then, the machine stops, and asks it of the event that is about to happen; where one of its comparisons with a number is
needed for it to hold, only where that holds, which the machine finds out by itself. What an event makes of the flight
and the store it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...core import dtypes
from ...core.dtypes import DType
from ...core.tag import ROOT
from ...core.types import Type
from ..breakpoints.breakpoint import Breakpoint, Breakpoints
from ..breakpoints.expression import Expression, compile_condition
from ..breakpoints.reader import read
from ..breakpoints.tree import Chain, Comparison, Either, Every, Item, Minus, Name, Not, Number, Tree, write
from ..engines.fast.registers import Sign, What
from ..engines.fast.stops import ANY, NONE, Need, Spot, Stops
from ..image.build import known_image
from ..image.image import Image, is_boxed
from ..machine.event import Event, Token
from ..machine.state import State

OF_NODES = {"node", "function", "op", "site", "line", "fired"}
"""The names that say no more than which node it is, and whether it fires."""
OF_TOKENS = {"parked", "woken", "held", "lost", "store", "flight"}
"""Those that say what becomes of tokens."""
SIGNS = {
    "==": Sign.EQUAL, "!=": Sign.OTHER, "<": Sign.LESS, "<=": Sign.MOST, ">": Sign.MORE, ">=": Sign.LEAST
}  # fmt: skip
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
COUNTED = {
    "depth": What.DEPTH, "tag.depth": What.DEPTH, "iteration": What.ITERATION, "tag.iteration": What.ITERATION,
    "count": What.COUNT, "firings": What.FIRINGS, "step": What.STEP,
}  # fmt: skip
"""What is counted, whichever node it is."""
MOST = 2**53
"""Integers up to here are floats too."""

Holds: TypeAlias = Callable[[Tree], bool | None]
"""Whether a part of a condition holds; None where nobody knows before it happens."""


def stops_of(breakpoints: Breakpoints, state: State) -> Stops | str:
    """Where the fast machine stops, from this state on, to ask whether one of these breakpoints stops there; or why it
    cannot."""
    needs: dict[Spot, Need] = {}
    for number, each in breakpoints:
        if not each.enabled:
            continue
        told = _needs(each, state)
        if isinstance(told, str):
            return f"breakpoint {number} {told}"
        for spot, need in told.items():
            needs[spot] = need if needs.get(spot, need) == need else ANY
    return Stops(needs=needs, is_hit=breakpoints.stop)


def _needs(point: Breakpoint, state: State) -> dict[Spot, Need] | str:
    """Where a breakpoint may be hit, with what is needed for it."""
    tree = read(point.condition.text)
    parts = point.log.parts if point.log is not None else ()
    said = [read(part.text) for part in parts if isinstance(part, Expression)]
    if any(name in OF_TOKENS for each in (tree, *said) for name in names(each)):
        return "looks at what becomes of tokens"
    condition, found = Condition(tree, state), dict[Spot, Need]()
    for number, rule in enumerate(state.rules):
        ports = [port for port, literal in enumerate(rule.node.ports) if literal is None]
        spots: list[Spot] = [(number, port) for port in (None, *ports)]
        here = {spot: need for spot in spots if (need := condition.need(*spot)) is not None}
        if here and rule.acts is not None:
            return f"may hold at {rule.node}, which acts on cells"
        found.update(here if rule.needs > 1 else {spot: need for spot, need in here.items() if spot[1] is None})
    return found


class Condition:
    """What is needed for a condition to hold, at each node of a graph."""

    def __init__(self, tree: Tree, state: State) -> None:
        self._tree, self._state = tree, state
        self._image: Image = known_image(state.graph, state.bounds)
        self._compiled: dict[str, Expression] = {}

    def need(self, number: int, port: int | None) -> Need | None:
        """What is needed for it to hold where this node fires, or where a token stays at this port; None where it never
        holds there."""

        def holds(tree: Tree) -> bool | None:
            return self._holds(tree, number, port)

        if decided(self._tree, holds) is False:
            return None
        found = next(self._needed(self._tree, holds, number, port), ANY)
        return None if found == NONE and (port is not None or self._state.rules[number].trap is None) else found

    def _holds(self, tree: Tree, number: int, port: int | None) -> bool | None:
        """Whether what decides by itself holds there."""
        asked = set(names(tree))
        if asked <= OF_NODES:
            inputs = () if port is None else None
            event = Event(Token(number, 0, ROOT, False), 0, inputs, (), (), None, (), False)
            return self._expression(tree).holds(self._state, event)
        if port is not None and (tree == Name("trap") or asked & {"inputs", "outputs"}):
            return False
        if tree == Name("trap") and self._state.rules[number].trap is None:
            return False
        return None

    def _expression(self, tree: Tree) -> Expression:
        text = write(tree)
        if text not in self._compiled:
            self._compiled[text] = compile_condition(text, self._state.graph)
        return self._compiled[text]

    def _needed(self, tree: Tree, holds: Holds, number: int, port: int | None) -> Iterator[Need]:
        """What is needed, as far as the machine finds it out: each is."""
        match tree:
            case Every(tests):
                for test in tests:
                    yield from self._needed(test, holds, number, port)
            case Either(tests):
                left = [test for test in tests if decided(test, holds) is not False]
                if len(left) == 1:
                    yield from self._needed(left[0], holds, number, port)
            case Name("trap"):
                yield NONE
            case Comparison(sign, left, right) if sign in SIGNS:
                if (bound := _number(right)) is not None:
                    yield from self._compared(left, sign, bound, number, port)
                elif (bound := _number(left)) is not None:
                    yield from self._compared(right, FLIPPED[sign], bound, number, port)

    def _compared(self, tree: Tree, sign: str, bound: int | float, number: int, port: int | None) -> Iterator[Need]:
        match tree:
            case Name(name) if name in COUNTED:
                yield from _need(COUNTED[name], dtypes.int64, sign, bound)
            case Name("value") | Item("outputs", 0):
                type_ = self._type_of_value(number, port)
                if type_ is not None and not is_boxed(type_):
                    yield from _need(What.VALUE, type_.dtype, sign, bound)
            case Item("inputs", index) if index < min(3, len(self._state.graph.nodes[number].ports)):
                type_ = self._image.port_types[self._image.first_port[number] + index]
                if not is_boxed(type_) and self._state.graph.nodes[number].op != "merge":
                    yield from _need(What(What.FIRST + index), type_.dtype, sign, bound)

    def _type_of_value(self, number: int, port: int | None) -> Type | None:
        if port is not None:
            return self._image.port_types[self._image.first_port[number] + port]
        outputs = self._state.graph.nodes[number].outputs
        return outputs[0].type if outputs else None


def _need(what: What, dtype: DType, sign: str, bound: int | float) -> Iterator[Need]:
    """A comparison of numbers of a dtype, if the machine can make it."""
    if dtype.kind == "b":
        yield NONE  # no truth value compares with a number
    elif dtype.kind == "f" and (isinstance(bound, float) or abs(bound) <= MOST):
        yield Need(what, SIGNS[sign], bound, True)
    elif dtype.is_integer and dtype is not dtypes.uint64 and isinstance(bound, int) and -(2**63) <= bound < 2**63:
        yield Need(what, SIGNS[sign], bound)


def _number(tree: Tree) -> int | float | None:
    match tree:
        case Number(value):
            return value
        case Minus(Number(value)):
            return -value
    return None


def decided(tree: Tree, holds: Holds) -> bool | None:
    """Whether a condition holds, where of each of its parts that decide by themselves somebody says whether it does."""
    match tree:
        case Not(operand):
            found = decided(operand, holds)
            return None if found is None else not found
        case Every(tests):
            all_ = [decided(test, holds) for test in tests]
            return False if False in all_ else None if None in all_ else True
        case Either(tests):
            all_ = [decided(test, holds) for test in tests]
            return True if True in all_ else None if None in all_ else False
    return holds(tree)


def names(tree: Tree) -> Iterator[str]:
    """All names in an expression."""
    match tree:
        case Name(name) | Item(name, _):
            yield name
        case Minus(operand) | Not(operand):
            yield from names(operand)
        case Every(tests) | Either(tests):
            for test in tests:
                yield from names(test)
        case Comparison(_, left, right):
            yield from (*names(left), *names(right))
        case Chain(first, rest):
            yield from names(first)
            for _, operand in rest:
                yield from names(operand)
