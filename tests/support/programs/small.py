"""Small programs with at most a dozen firings, so that every schedule of them can be run; and a machine with a race."""

from __future__ import annotations

from typing import Any

import tagloom as tl
from hypothesis import assume
from hypothesis import strategies as st
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import flat_tuple_type, leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.types import Type
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step

FIRINGS = 12
INT = Type(tl.int64)


@tl.function
def doubled(x: tl.int64) -> tl.int64:
    return x + x


@tl.function
def third(x: tl.int64, y: tl.int64) -> tl.int64:
    return y


@st.composite
def small_runs(draw: Any) -> tuple[Graph, list[Any]]:
    """Graphs and arguments of programs with ops, traps, branches, calls and loops that take 12 firings or fewer."""
    names, results = ("x", "y", "z")[: draw(st.integers(0, 3))], draw(st.integers(1, 2))

    def body(*arguments: Any) -> Any:
        scope: list[Any] = [draw(st.integers(-1, 2)), *arguments]
        for _ in range(draw(st.integers(1, 3))):
            scope.append(statement(draw, scope))
        return tuple(some(draw, scope) for _ in range(results))

    body.__name__ = "main"
    source = FunctionSpec(body, tuple((name, leaf_type(INT)) for name in names), flat_tuple_type((INT,) * results))
    program, _ = ProgramBuilder(Symbol).build_program(source, (leaf_type(INT),) * len(names))
    graph, arguments = lower(program), [draw(st.integers(-1, 2)) for _ in names]
    assume(run_graph(graph, arguments, limits=Limits(firings=FIRINGS)).status != "Exhausted")
    return graph, arguments


def some(draw: Any, scope: list[Any]) -> Any:
    """A value in scope, one of the latest mostly."""
    return scope[-1 - draw(st.integers(0, len(scope) - 1))]


def statement(draw: Any, scope: list[Any]) -> Any:
    """A new value computed from those in scope."""
    one, other = some(draw, scope), some(draw, scope)
    match draw(st.sampled_from(["op", "op", "op", "branch", "call", "loop"])):
        case "branch":
            return tl.cond(tl.less(one, other), lambda: one, lambda: tl.subtract(other, 1))
        case "call":
            return doubled(one) if draw(st.booleans()) else third(one, other)
        case "loop":
            return tl.while_loop(lambda i: i < one, lambda i: i + 1, draw(st.integers(0, 1)))[0]
    return draw(st.sampled_from([tl.add, tl.multiply, tl.floor_divide]))(one, other)


def hoarding(at: State, position: int) -> Event:
    """A machine with a race: the value of a sum is its last operand."""
    event = step(at, position)
    if event.is_firing and at.graph.nodes[event.token.node].op == "add":
        sent = tuple(token._replace(value=event.token.value) for token in event.sent)
        return event._replace(outputs=((0, event.token.value),), sent=sent)
    return event
