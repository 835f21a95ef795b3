"""Waves on the device leave the reference's states at the same ticks of its clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.laws.fast_laws import comparable_fields, with_value_bits
from support.programs.hand_written_graphs import counting_loop
from tagloom.core import dtypes
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.text import parse_graph
from tagloom.core.types import Type
from tagloom.core.value import admit
from tagloom.interp.engines.cuda import device, kernels
from tagloom.interp.engines.cuda.wave import WaveRun
from tagloom.interp.engines.cuda.wave_kernels import KERNELS
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.jit import cache
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, drive, first_state, run_graph
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State

ENDING = ("status", "results", "residue", "open", "trapped")
NUMBERS = [name for name, dtype in dtypes.BY_NAME.items() if dtype.kind in "iuf"]


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """A nested loop; the inner one makes no trip the first time."""

    def outer(i: tl.int64, s: tl.int64) -> Any:
        return i + 1, tl.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * i), 0, s)[1]

    return tl.while_loop(lambda i, s: i < n, outer, 0, 0)[1]


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def two_results(n: tl.int64, x: tl.float64) -> tl.float64:
    """Two arguments and two results, an unused argument, and calls in a loop."""

    def pair(a: tl.float64, b: tl.int64) -> Any:
        return tl.where(a > 2.0, a, -a), a * 2.0

    def step(i: tl.int64, s: tl.float64) -> Any:
        one, two = pair(s, i)
        return i + 1, one + two

    return tl.while_loop(lambda i, s: i < n, step, 0, x)[1]


def loop_over(dtype: tl.DType) -> Graph:
    """A loop and calls in which a number of this dtype overflows, by addition or by squares."""

    def python(n: Any, x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return i + 1, tl.cond(y > x, lambda: y + x, lambda: y * y)

        return tl.while_loop(lambda i, y: i < n, step, 0, x)[1]

    python.__annotations__ = {"n": tl.int64, "x": dtype, "return": dtype}
    return tl.function(python).graph


def ticks(graph: Graph, arguments: Sequence[Any], limits: Limits) -> Iterator[State]:
    """The reference's states between waves, with the first one."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves")
    yield state
    for event in drive(state, schedule("waves"), limits):
        if event.ends_wave:
            yield state


def started_run(graph: Graph, arguments: Sequence[Any]) -> WaveRun:
    return WaveRun(first_state(graph, admit_arguments(graph, arguments), "waves"), Limits())


def differences(graph: Graph, arguments: Sequence[Any]) -> Iterator[str]:
    """Where a wave leaves another state than the reference; a wave with a trap must leave the state unchanged."""
    run, before = started_run(graph, arguments), None
    for wave, state in enumerate(ticks(graph, arguments, Limits())):
        done = not wave or run.run_wave()
        wanted = with_value_bits(state.snapshot()) if done else before
        if done == bool(state.trap_events):
            yield f"wave {wave} is {'done' if done else 'not done'}, and there are {len(state.trap_events)} traps"
        if with_value_bits(run.state().snapshot()) != wanted:
            yield f"the states differ after {wave} waves"
        if not done or with_value_bits(run.state().snapshot()) != wanted:
            return
        before = wanted


@tl.function
def quotient(n: tl.int64) -> tl.int64:
    """Divides by 2, 1 and 0, while calls continue."""
    return tl.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + n // (2 - i) + fib(i)), 0, 0)[1]


TRIPS = parse_graph("""
graph twice(x: int64) -> int64 {
  site twice.first calls trips
  site twice.second calls trips
  send = call[first] x
  back = return[first] trips.out:1
  send_again = call[second] back
  back_again = return[second] trips.out:1
  trips.x = merge send, send_again
  trips.entered = enter[up] trips.x
  trips.i = merge trips.entered, trips.next
  trips.below = less trips.i, 5
  trips.way = switch trips.i, trips.below
  trips.j = add trips.way:0, 1
  trips.next = next_iteration[up] trips.j
  trips.out = exit[up] trips.way:1
  return back_again
}
""")
"""How many trips a loop makes is what a function returns, to two places."""
COUNTING = counting_loop([("total", 0), ("trips", 1)])
GRAPHS = [
    (quotient.graph, (9,)),
    (COUNTING, (3,)),
    (TRIPS, (2,)),
    (fib.graph, (4,)),
    (nested.graph, (4,)),
    (even.graph, (5,)),
    (two_results.graph, (3, -1.5)),
]


@pytest.mark.full
@pytest.mark.parametrize(
    ("graph", "arguments"), GRAPHS, ids=["quotient", "count", "trips", "fib", "nested", "even", "two_results"]
)
def test_every_wave(graph: Graph, arguments: tuple[Any, ...]) -> None:
    """After every wave, the tokens in flight, their order, the waiting tokens and the open activations are the
    reference's."""
    assert not list(differences(graph, arguments))


@pytest.mark.full
@pytest.mark.parametrize("name", NUMBERS)
def test_every_wave_of_a_loop_over_a_dtype(name: str) -> None:
    """Numbers of every dtype wrap, round and overflow as in the reference."""
    dtype = dtypes.BY_NAME[name]
    large = dtype.range[1] - 1 if dtype.is_integer else float(dtype.limits.max) / 2
    assert not list(differences(loop_over(dtype), (4, admit(large, Type(dtype)))))


@pytest.fixture
def reverse_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels whose last thread takes the first token, in blocks of 3 threads that each add up 2. The simulator starts
    threads in order, so ordinary kernels are tested with one order only."""
    monkeypatch.setattr(device, "BLOCK_THREADS", 3)
    monkeypatch.setattr("tagloom.interp.engines.cuda.wave.TOKENS_PER_THREAD", 2)
    monkeypatch.setitem(kernels._CONSTANTS, "TOKENS_PER_THREAD", 2)
    text = kernels.wave_source().replace(
        "g = cuda.grid(1)\n    if g >= r[1]", "g = r[1] - 1 - cuda.grid(1)\n    if g < 0"
    )
    assert text.count("if g < 0") == len(KERNELS) - len(("sum_shares", "sum_totals", "advance_clock"))
    monkeypatch.setattr(kernels, "wave_source", lambda: text)
    monkeypatch.setattr(kernels, "_kernels", {})
    yield


@pytest.mark.full
@pytest.mark.usefixtures("reverse_threads")
def test_the_order_of_threads_does_not_matter() -> None:
    """Every wave leaves the same state for any order of threads."""
    for graph, arguments in GRAPHS:
        assert not list(differences(graph, arguments))


def test_kernels_are_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels that one process compiled are on disk for the next, with their machine code if there is any."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    for hits in (0, 1):
        monkeypatch.setattr(cache, "_modules", {})
        monkeypatch.setattr(kernels, "_kernels", {})
        loaded = started_run(fib.graph, [3])._kernels
        assert set(loaded) == set(KERNELS)
        if not device.is_simulated():
            assert {name: sum(kernel.stats.cache_hits.values()) for name, kernel in loaded.items()} == dict.fromkeys(
                KERNELS, hits
            )
    (folder,) = (tmp_path / "tagloom").iterdir()
    assert (folder / "wave.py").read_text() == kernels.wave_source()
    assert (folder / "sums.json").exists()


@pytest.mark.full
def test_an_inspected_run_leaves_nothing() -> None:
    """A run that is inspected after each wave ends without tokens, activations and tags."""
    run = started_run(fib.graph, [4])
    while run.state().flight:
        run.run_wave()
    store = run.fallback.store
    assert (store.live_tokens, int(store.registers[Register.OPEN_ACTIVATIONS]), list(store.frames()), store.tags) == (
        0,
        0,
        [],
        {},
    )


@pytest.mark.full
def test_a_started_run_continues_on_the_device() -> None:
    """A run that the reference begins continues on the device after any wave, with the same end."""
    wanted = comparable_fields(run_graph(fib.graph, [4], schedule="waves"))
    for waves in (0, 1, 7, 20):
        *_, state = islice(ticks(fib.graph, [4], Limits()), waves + 1)
        run = WaveRun(state, Limits())
        stopped = run.run_to_end()
        got = comparable_fields(run.outcome(stopped, flat_treedef(1)))
        assert got["stats"].by_node == wanted["stats"].by_node
        assert [got[key] for key in ENDING] == [wanted[key] for key in ENDING]
