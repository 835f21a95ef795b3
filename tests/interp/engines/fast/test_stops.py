"""Stops of the fast machine: before a node fires, before a depth is exceeded, after a trap, and after a number of
steps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.trace.pytree import LEAF
from tagloom.core.graph.graph import GraphNode
from tagloom.interp.engines.fast.layout import StopOperator, StopQuantity
from tagloom.interp.engines.fast.run import FastRun
from tagloom.interp.engines.fast.stops import StopComparison, StopConditions, StopPoint
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive, first_state
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State

QUIET = Limits()


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def halved(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + 12 // (i % 3)), 0, 0)[1]


def started_machine(function: Any, argument: int, name: str = "lifo", limits: Limits = QUIET) -> FastRun:
    return FastRun(first_state(function.graph, [argument], name), name, until="quiet", limits=limits)


def reference(function: Any, argument: int, name: str = "lifo") -> tuple[State, Any]:
    """A run of the reference machine: its state, and its events one by one."""
    state = first_state(function.graph, [argument], name)
    return state, drive(state, schedule(name), QUIET)


def test_a_run_stops_before_a_node_fires() -> None:
    """The run stops before each firing of the node, in the reference's state."""
    node = fib.graph.only("add")
    run = started_machine(fib, 6)
    state, events = reference(fib, 6)
    before, stops = state.snapshot(), []
    for event in events:
        if event.is_firing and event.token.node == node:
            stops.append(before)
        before = state.snapshot()
    met = []
    while run.resume(stops=StopConditions(nodes=frozenset([node]))) is None and run.stopped_by == "node":
        met.append(run.state().snapshot())
    assert met == stops and len(met) == 12
    assert run.outcome(None, LEAF).value == fib.run(6, engine="reference").value


def test_a_run_stops_before_a_depth_is_exceeded() -> None:
    """The run stops before it opens an activation at that depth, and can continue, unlike at a limit."""
    run = started_machine(fib, 8)
    assert run.resume(stops=StopConditions(depth=3)) is None and run.stopped_by == "depth"
    assert max(tag.depth for tag in run.state().records) == 2
    assert run.resume() is None and run.stopped_by is None
    assert run.outcome(None, LEAF).stats == fib.run(8, engine="reference", schedule="lifo").stats
    limited = started_machine(fib, 8, limits=Limits(depth=3))
    assert limited.resume(stops=StopConditions(depth=7)) is not None and limited.stopped_by is None


def test_a_run_stops_after_a_trap() -> None:
    """The run stops after each firing that traps; at its end all traps are recorded."""
    run, traps = started_machine(halved, 7, "waves"), 0
    while run.resume(stops=StopConditions(traps=True)) is None and run.stopped_by == "trap":
        traps += 1
        assert len(run.state().trap_events) == traps
    expected = halved.run(7, engine="reference")
    assert (traps, list(map(str, run.outcome(None, LEAF).traps))) == (
        len(expected.traps),
        list(map(str, expected.traps)),
    )


@pytest.mark.full
def test_steps_in_any_portions_give_the_same_run() -> None:
    """Steps and stops in any mixture give the same run."""
    node, run = fib.graph.only("less_equal"), started_machine(fib, 9, "random:5")
    turns = 0
    while run.store.live_tokens:
        assert run.resume(7, StopConditions(nodes=frozenset([node]), depth=4)) is None
        turns += 1
    assert turns > 100
    assert run.outcome(None, LEAF).stats == fib.run(9, engine="reference", schedule="random:5").stats


@tl.function
def wandering(n: tl.int64, x: tl.float32) -> tl.float32:
    return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * y - 1.5 + tl.astype(i % 3, tl.float32)), 0, x)[1]


READS: dict[StopQuantity, Callable[[State, Event], Any]] = {
    StopQuantity.VALUE: lambda state, event: event.outputs[0][1] if event.outputs else event.token.value,
    StopQuantity.OPERAND_0: lambda state, event: None if event.inputs is None else event.inputs[0],
    StopQuantity.OPERAND_1: lambda state, event: None if event.inputs is None else event.inputs[-1],
    StopQuantity.DEPTH: lambda state, event: event.token.tag.depth,
    StopQuantity.ITERATION: lambda state, event: event.token.tag.iteration,
    StopQuantity.NODE_FIRINGS: lambda state, event: state.firings_by_node[event.token.node],
    StopQuantity.FIRINGS: lambda state, event: state.firings,
    StopQuantity.STEP: lambda state, event: state.steps,
}
SIGNS = {
    StopOperator.EQUAL: operator.eq, StopOperator.NOT_EQUAL: operator.ne, StopOperator.LESS: operator.lt,
    StopOperator.LESS_EQUAL: operator.le, StopOperator.GREATER: operator.gt, StopOperator.GREATER_EQUAL: operator.ge,
}  # fmt: skip


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("name", ["lifo", "waves"])
@pytest.mark.parametrize("what", READS)
def test_a_run_stops_at_a_comparison(what: StopQuantity, name: str) -> None:
    """The machine stops exactly at the firings and waiting tokens where the comparison holds, and its callback sees the
    reference's event."""
    graph, arguments = wandering.graph, [7, np.float32(0.25)]
    state = first_state(graph, arguments, name)
    happened = [(READS[what](state, event), *seen(state, event)) for event in drive(state, schedule(name), QUIET)]
    for node in [number for number, row in enumerate(graph.nodes) if row.op in ("add", "multiply")]:
        ports = [] if what in (StopQuantity.OPERAND_0, StopQuantity.OPERAND_1) else waiting(graph.nodes[node])
        here = [each for each in happened if each[3].node == node and (each[4] is not None or ports)]
        middle = here[len(here) // 2][0]
        is_float = not isinstance(middle, int)
        for sign, holds in SIGNS.items():
            asked: list[Any] = []
            need = StopComparison(what, sign, float(middle) if is_float else middle, is_float)
            spots: list[StopPoint] = [(node, port) for port in (None, *ports)]
            is_hit = lambda *given: asked.append(seen(*given))  # noqa: B023, E731
            stops = StopConditions(comparisons=dict.fromkeys(spots, need), is_hit=is_hit)
            run = FastRun(first_state(graph, arguments, name), name, until="quiet", limits=QUIET)
            assert run.resume(stops=stops) is None and not run.store.live_tokens
            assert asked == [each[1:] for each in here if holds(each[0], middle)]


def seen(state: State, event: Event) -> tuple[Any, ...]:
    return state.steps, state.firings, event.token, event.inputs, event.outputs


def waiting(node: GraphNode) -> list[int]:
    """The ports at which tokens wait for each other."""
    return [port for port, literal in enumerate(node.ports) if literal is None]
