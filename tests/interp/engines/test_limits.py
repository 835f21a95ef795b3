"""Limits: each is exact, and a run without end ends soon."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.graph.graph import Graph
from tagloom.interp.engines.limits import Limits, resident_memory
from tagloom.interp.engines.reference import drive
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + fib(i)), 0, 0)[1]


@tl.function
def plain(x: tl.int64, y: tl.int64) -> tl.int64:
    return (x + y) * (x - y)


@tl.function
def trapping(n: tl.int64) -> tl.int64:
    return plain(7 // n, n) + fib(4)


@tl.function
def endless_call(n: tl.int64) -> tl.int64:
    return n * endless_call(n + 1)


@tl.function
def endless_loop(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]


@tl.function
def flood(n: tl.int64) -> tl.int64:
    return flood(n) + flood(n)


PROGRAMS: list[tuple[tl.Function, tuple[int, ...]]] = [
    (fib, (0,)),
    (fib, (7,)),
    (total, (5,)),
    (plain, (5, 3)),
    (trapping, (0,)),
]
SCHEDULES = ("waves", "lifo", "random:3")
programs = pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda value: getattr(value, "name", None))


def watched(graph: Graph, arguments: tuple[int, ...], name: str, measure: Callable[[State], int]) -> int:
    """The maximum of a statistic of the state over all steps."""
    state = State(graph, arguments)
    most = measure(state)
    for _ in drive(state, schedule(name), Limits()):
        most = max(most, measure(state))
    return most


def live_tokens(state: State) -> int:
    """The number of live tokens, counted from the flight and the records."""
    return len(state.flight) + sum(
        len(held) for record in state.records.values() for held in record.waiting_operands.values()
    )


def assert_exact(function: tl.Function, arguments: tuple[int, ...], name: str, limit: str, needed: int) -> None:
    """Asserts that a run with exactly the limit that it needs is the run without limits, and that one less is
    Exhausted."""
    free = function.run(*arguments, schedule=name)
    enough = function.run(*arguments, schedule=name, limits=Limits(**{limit: needed}))
    assert (enough.status, enough.results, enough.stats) == (free.status, free.results, free.stats)
    if needed:
        short = function.run(*arguments, schedule=name, limits=Limits(**{limit: needed - 1}))
        assert short.status == "Exhausted"
        assert isinstance(short.error, tl.Exhausted)
        assert f"exceeds the limit of {needed - 1:,} on" in str(short.error)
        assert f"--max-{limit} N, or limits=tl.Limits({limit}=N)" in str(short.error)


@pytest.mark.inner(first=4)
@programs
@pytest.mark.parametrize("name", SCHEDULES)
def test_firings_are_exact(function: tl.Function, arguments: tuple[int, ...], name: str) -> None:
    """S12: a run needs exactly its number of firings, traps included."""
    assert_exact(function, arguments, name, "firings", function.run(*arguments, schedule=name).firings)


@pytest.mark.inner(first=7)
@programs
@pytest.mark.parametrize("name", SCHEDULES)
def test_tokens_are_exact(function: tl.Function, arguments: tuple[int, ...], name: str) -> None:
    """S12: a run needs exactly its largest number of live tokens, in flight and waiting; the state's own count is right
    at every step."""
    needed = watched(function.graph, arguments, name, live_tokens)
    assert needed == watched(function.graph, arguments, name, lambda state: state.live_count)
    assert_exact(function, arguments, name, "tokens", needed)


@pytest.mark.inner(first=9)
@programs
@pytest.mark.parametrize("name", SCHEDULES)
def test_depth_is_exact(function: tl.Function, arguments: tuple[int, ...], name: str) -> None:
    """S12: a run needs exactly the depth of its deepest tag."""
    assert_exact(function, arguments, name, "depth", function.run(*arguments, schedule=name).stats.deepest_tag)


def test_limits_of_zero() -> None:
    """S12: with 0 firings no node fires; with 0 tokens none is delivered; with depth 0 a program without calls and
    loops runs."""
    assert plain.run(5, 3, limits=Limits(firings=0)).stats.by_node == (0,) * len(plain.graph.nodes)
    nothing = plain.run(5, 3, limits=Limits(tokens=0))
    assert (nothing.status, nothing.stats.steps) == ("Exhausted", 0)
    assert plain.run(5, 3, limits=Limits(depth=0)).value == 16


def test_an_exhausted_run_has_its_results_so_far() -> None:
    """S12: an Exhausted run has the results so far, and says how to stop at them; a run that stops there returns."""

    @tl.function
    def first_of(x: tl.int64, y: tl.int64) -> tl.int64:
        return tl.cond(x <= 1, lambda: 1, lambda: first_of(x - 1, first_of(x, y)))

    out = first_of.run(2, 2, limits=Limits(firings=1000))
    assert (out.status, out.results, out.missing, out.value) == ("Exhausted", (1,), (), 1)
    assert "until result" in out.error.__notes__[0]  # type: ignore[union-attr]
    assert first_of.run(2, 2, limits=Limits(firings=1000), until="result").status == "Returned"


@pytest.mark.parametrize("limit", ["firings", "tokens", "depth"])
@pytest.mark.parametrize("number", [-1, 1.5, True, "10"])
def test_bad_limits_are_refused(limit: str, number: Any) -> None:
    """A limit is an integer of at least 0; anything else is refused by name."""
    with pytest.raises(tl.Usage, match=f"limit on {limit}"):
        Limits(**{limit: number})


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "limits"),
    [
        (endless_call, Limits(firings=20_000)),
        (endless_call, Limits(depth=5_000)),
        (endless_call, Limits(tokens=5_000)),
        (endless_loop, Limits(firings=20_000)),
        (flood, Limits(tokens=20_000)),
        (flood, Limits(depth=10)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_diverging_program_ends_soon(function: tl.Function, limits: Limits) -> None:
    """A program that never ends is Exhausted by the limit that it reaches, and its residue is computed within about a
    second, however deep it is."""
    begun = time.process_time()
    out = function.run(1, limits=limits)
    assert (out.status, out.missing) == ("Exhausted", (0,))
    assert all(waiting.node in range(len(out.graph.nodes)) for waiting in out.residue)
    assert time.process_time() - begun < 10


def test_only_depth_and_memory_are_limited_by_default() -> None:
    """A run may fire as often, and have as many tokens alive, as it needs; a limit on these is asked for."""
    limits = tl.Limits()
    assert (limits.firings, limits.tokens, limits.seconds) == (None, None, None)
    assert limits.max_firings == limits.max_tokens == float("inf")
    assert limits.depth == 250_000 and limits.bytes > 0
    assert total.run(5).status == "Returned"
    for name in ("firings", "tokens"):
        with pytest.raises(tl.Usage, match=f"the limit on {name} must be an integer"):
            tl.Limits(**{name: 1.5})


@pytest.mark.full
def test_a_long_run_is_not_cut_short() -> None:
    """A run of more than 10^8 firings returns on the fast engine."""
    outcome = count_to.run(10_000_000, engine="fast")
    assert outcome.status == "Returned" and (outcome.firings or 0) > 10**8


@tl.function
def count_to(n: tl.int64) -> tl.int64:
    """A loop of twelve firings an iteration."""
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), 0, 0)[1]


CREATIONS = {
    "broadcast_to": lambda n: tl.broadcast_to(1.5, (n,)),
    "zeros": lambda n: tl.zeros(n),
    "full": lambda n: tl.full((n, 2), 1.5),
    "arange": lambda n: tl.arange(n),
    "linspace": lambda n: tl.linspace(0.0, 1.0, n),
    "eye": lambda n: tl.eye(n // 20_000, 20_000),
    "tile": lambda n: tl.tile(tl.asarray([1.0, 2.0]), (n // 2,)),
    "repeat": lambda n: tl.repeat(tl.asarray([1.0, 2.0]), n // 2),
    "uniform": lambda n: tl.uniform(n),
    "normal": lambda n: tl.normal((n,)),
}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("name", CREATIONS)
def test_memory_is_limited_before_an_array_is_made(name: str, engine: str) -> None:
    """An array of a size that is known only at run time is refused before its memory is requested, if it would exceed
    the limit on bytes; one that fits is made."""
    function = tl.function(lambda n: tl.sum(CREATIONS[name](n)))
    function.run(40_000, engine=engine)  # the first run on an engine loads machine code, which takes memory too
    limits = tl.Limits(bytes=resident_memory() + 2**27)
    assert function.run(40_000, engine=engine, limits=limits).status == "Returned"
    tracemalloc.start()
    try:
        outcome = function.run(2**27, engine=engine, limits=limits)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (outcome.status, outcome.error.limit) == ("Exhausted", "bytes")  # type: ignore[union-attr]
    assert peak < 2**28  # the array has 2**30 bytes, a mask on the way 2**27


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_results_are_measured_before_they_are_made(engine: str) -> None:
    """The results of any op with large operands are measured, static sizes and broadcasting included."""
    column, row = np.ones((2**14, 1)), np.ones((1, 2**14))
    static, dynamic = (tl.Array[tl.float64, 2**14, 1], tl.Array[tl.float64, 1, 2**14]), tl.Array[tl.float64, None, None]
    for types in (static, (dynamic, dynamic)):

        def product(x: Any, y: Any) -> Any:
            return tl.sum(x * y)

        product.__annotations__ = dict(zip("xy", types, strict=True))
        limits = tl.Limits(bytes=resident_memory() + 2**27)
        outcome = tl.function(product).run(column, row, engine=engine, limits=limits)
        assert (outcome.status, outcome.error.limit) == ("Exhausted", "bytes")  # type: ignore[union-attr]
