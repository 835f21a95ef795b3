"""Which breakpoints the fast machine can stop at: what they mean in its words.

It knows which node is about to fire, how deep the activation is that is about to open, and that a firing trapped. So a
condition that only says which nodes are to fire is a set of nodes: it is tried on a firing of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.graph import Graph
from ...core.tag import ROOT
from ..breakpoints.breakpoint import Breakpoint, Breakpoints
from ..breakpoints.expression import Expression
from ..breakpoints.reader import read
from ..breakpoints.tree import Chain, Comparison, Either, Every, Item, Minus, Name, Not, Number, Tree
from ..event import Event, Token
from ..state import State

if TYPE_CHECKING:
    from ..fast.run import Stops

OF_NODES = {"node", "function", "op", "site", "line", "fired"}
"""The names that say no more than which node it is, and whether it fires."""


def stops_of(breakpoints: Breakpoints, state: State) -> Stops | str:
    """Where the fast machine stops, from this state on, before one of these breakpoints is hit next, or when it is; or
    why it cannot."""
    from ..fast.run import Stops

    found = Stops()
    for number, each in breakpoints:
        if not each.enabled:
            continue
        told = _stops(each, state)
        if isinstance(told, str):
            return f"breakpoint {number} {told}"
        depths = [depth for depth in (found.depth, told.depth) if depth is not None]
        found = Stops(found.nodes | told.nodes, min(depths, default=None), found.traps or told.traps)
    return found


def _stops(point: Breakpoint, state: State) -> Stops | str:
    from ..fast.run import Stops

    if point.log is not None:
        return "says what happens"
    if point.ignore:
        return "counts hits"
    tree = read(point.condition.text)
    match tree:
        case Name("trap"):
            return Stops(traps=True)
        case Comparison("==" | ">=" | ">" as sign, Name("depth" | "tag.depth"), Number(int() as depth)):
            return _deep(depth + (sign == ">"), state)
    if not OF_NODES.issuperset(names(tree)):
        return "looks at more than which node fires"
    return _nodes(point.condition, state.graph)


def _deep(depth: int, state: State) -> Stops | str:
    """An event is so deep first after such an activation has opened: unless there is one already."""
    from ..fast.run import Stops

    if depth < 1 or any(tag.depth >= depth for tag in state.records):
        return "holds in activations that are open already"
    return Stops(depth=depth)


def _nodes(condition: Expression, graph: Graph) -> Stops | str:
    from ..fast.run import Stops

    waits = Event(Token(0, 0, ROOT, False), 0, None, (), (), None, (), False)
    found, state = set(), State.__new__(State)  # which nobody looks at
    for number in range(len(graph.nodes)):
        waiting = waits._replace(token=waits.token._replace(node=number))
        if condition.holds(state, waiting):
            return "holds where a token only comes; say `and fired`"
        if condition.holds(state, waiting._replace(inputs=())):
            found.add(number)
    return Stops(frozenset(found))


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
