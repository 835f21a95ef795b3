"""Moments of runs: an event and the state after it, as far as expressions can name it, computed from events alone."""

from __future__ import annotations

import functools
import math
from collections import Counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl
from support.programs.hand_written_graphs import counting_loop, stuck
from tagloom.core.graph.graph import Graph
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def divided(x: tl.int64) -> tl.int64:
    return 60 // x


@tl.function
def mixed(
    n: tl.int64, small: tl.int8, short: tl.float32, p: tl.bool, xs: tl.Array[tl.float64, 3]
) -> tuple[tl.int64, tl.Array[tl.float64, 3], tl.int8, tl.float32, tl.bool]:
    """A loop with a call that traps in its first iteration, with values of all types."""
    _, total, ys = tl.while_loop(
        lambda i, total, ys: i < n, lambda i, total, ys: (i + 1, total + divided(i), ys * 2.0), 0, 0, xs
    )
    return total + fib(n), ys, small + small, short * short, tl.logical_not(p)


@tl.function
def chain(n: tl.int64) -> tl.int64:
    """Cells that are got before they are put, in a loop with a bound."""
    cells = tl.put(tl.cells(n + 1, tl.int64), n, 1)
    cells, _ = tl.while_loop(
        lambda a, j: j < n, lambda a, j: (tl.put(a, j, 2 * a[j + 1]), j + 1), cells, 1, parallel_iterations=3
    )
    return cells[1]


@tl.function
def overflowing(x: tl.float64, xs: tl.Array[tl.float32, 3]) -> tuple[tl.float64, tl.Array[tl.float32, 3]]:
    """Infinite values, and what becomes of them."""
    return 1.0 / x - 2.0 / x, xs / (xs - 2.0)


class Moment(NamedTuple):
    """An event, and a stand-in for the state after it with the attributes that expressions read."""

    graph: Graph
    state: Any
    event: Event
    names: dict[str, Any]
    """The values of names for numbers, booleans and strings."""


RUNS: dict[str, tuple[Graph, list[Any], str]] = {
    "fib": (fib.graph, [5], "lifo"),
    "mixed": (mixed.graph, [2, 100, 0.1, True, [0.5, -1.0, 3.0]], "random:4"),
    "count": (counting_loop([("total", 0), ("trips", 1)]), [3], "waves"),
    "stuck": (stuck(), [5], "fifo"),
    "chain": (chain.graph, [4], "random:2"),
    "overflowing": (overflowing.graph, [0.0, [0.0, 1.0, 2.0]], "waves"),
}


def events(graph: Graph, arguments: list[Any], schedule: str) -> tuple[Event, ...]:
    return run_graph(graph, arguments, schedule=schedule, keep="events", unchecked=True).events


@functools.cache
def moments(run: str) -> tuple[Moment, ...]:
    """Every moment of a run."""
    graph, arguments, schedule = RUNS[run]
    fired: Counter[int] = Counter()
    held: Counter[Any] = Counter()
    flight = sum(len(output.edges) for _, output in graph.arguments)
    results = []
    for step, event in enumerate(events(graph, arguments, schedule), 1):
        token = event.token
        if event.is_firing:
            fired[token.node] += 1
            del held[token.node, token.tag]
        elif event.deferred_at is None:
            held[token.node, token.tag] += 1
        flight += sum(sent.node >= 0 for sent in event.sent if not event.is_throttled) - 1
        flight += len(event.woken) + len(event.released)
        state = SimpleNamespace(
            steps=step,
            firings=sum(fired.values()),
            waiting_count=sum(held.values()),
            flight=range(flight),
            firings_by_node=[fired[number] for number in range(len(graph.nodes))],
        )
        results.append(Moment(graph, state, event, _names(graph, event, state)))
    return tuple(results)


def _names(graph: Graph, event: Event, state: Any) -> dict[str, Any]:
    token, node = event.token, graph.nodes[event.token.node]
    results = [value for _, value in event.outputs]
    return {
        "node": {node.name, f"{node.function}.{node.name}"},
        "function": {node.function},
        "op": {node.op},
        "site": {node.site.name, f"{node.site.function}.{node.site.name}"} - {".main"} if node.site else set(),
        "tag.site": {token.tag.site.name, str(token.tag.site)} - {".main"},
        "line": node.location.line if node.location else None,
        "port": token.port,
        "value": results[0] if results else token.value,
        "inputs": list(event.inputs or ()),
        "outputs": dict(event.outputs),
        "nonfinite": sum(not math.isfinite(number) for result in results[:1] for number in _floats(result)),
        "fired": event.inputs is not None,
        "trap": event.trap or "",
        "lost": (event.inputs is None and not state.flight)
        or (len(results) > 0 and len(event.sent) == 0 and not event.trap),
        "deferred": event.deferred_at is not None,
        "woken": len(event.woken),
        "throttled": event.is_throttled,
        "tag.depth": len(token.tag.path()),
        "depth": len(token.tag.path()),
        "tag.iteration": token.tag.path()[-1][1] if token.tag.path() else 0,
        "iteration": token.tag.path()[-1][1] if token.tag.path() else 0,
        "count": state.firings_by_node[token.node],
        "firings": state.firings,
        "step": state.steps,
        "store": state.waiting_count,
        "flight": len(state.flight),
    }


def _floats(value: Any) -> list[float]:
    """The elements of a value of floats."""
    array = np.asarray(value)
    return array.ravel().tolist() if array.dtype.kind == "f" else []
