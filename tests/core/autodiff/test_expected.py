"""Gradients with known values, numbers of firings, and no residue.

Rows that differ in one number only show how many firings an iteration, or a call, adds."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from support.laws.machine_laws import cleanliness, firings, results
from tagloom.core.graph.nesting import adjoint_dependent_nodes

SCHEDULES = ("waves", "fifo", "lifo", "random:1", "random:2")
VALUES = np.array([1.5, 0.5, 2.0, 1.25, 0.75, 3.0, 0.9])


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    """x is a constant of the loop."""
    return tl.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, y * x), 0, 1.0)[1]


@tl.function
def squared(x: tl.float64, n: tl.int64) -> tl.float64:
    """x enters the loop, and leaves it unchanged if there are no iterations."""
    return tl.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, y * y), 0, x)[1]


@tl.function
def nested(x: tl.float64, n: tl.int64) -> tl.float64:
    """The sum over i < n and j < i of x**j."""

    @tl.autograph.inline
    def inner(i: Any) -> Any:
        return tl.while_loop(lambda j, s, p: j < i, lambda j, s, p: (j + 1, s + p, p * x), 0, 0.0, 1.0)[1]

    return tl.while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s + inner(i)), 0, 0.0)[1]


@tl.function
def thrice(x: tl.float64, n: tl.int64) -> tl.float64:
    """Loops nested twice: x to the power of n**3."""

    @tl.autograph.inline
    def times(y: Any, body: Any) -> Any:
        return tl.while_loop(lambda k, _: k < n, lambda k, z: (k + 1, body(z)), 0, y)[1]

    return times(1.0, lambda y: times(y, lambda z: times(z, lambda u: u * x)))


@tl.function
def chosen(x: tl.float64, n: tl.int64) -> tl.float64:
    """A loop under a cond."""
    return tl.cond(x > 0.0, lambda: power(x, n), lambda: -x)


@tl.function
def turns(x: tl.float64, n: tl.int64) -> tl.float64:
    """A cond in a loop, which ends early: of 5 iterations, 2 * x**3 + x**2."""

    def body(k: Any, y: Any) -> Any:
        return k + 1, tl.cond(k % 2 == 0, lambda: y * x, lambda: y + x)

    return tl.while_loop(lambda k, y: (k < n) & (y < 1e6), body, 0, 1.0)[1]


@tl.function
def forgetful(x: tl.float64, n: tl.int64) -> tl.float64:
    """Only the first iteration depends on x."""
    return tl.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, 0.5), 0, x)[1]


@tl.function
def powers_in_cells(x: tl.float64, n: tl.int64) -> tl.float64:
    """x**n, with each power in a cell that the next iteration reads."""
    held = tl.put(tl.cells(n, tl.float64), 0, x)
    _, held = tl.while_loop(lambda k, _: k < n, lambda k, held: (k + 1, tl.put(held, k, held[k - 1] * x)), 1, held)
    return held[n - 1]


@tl.function
def factorial(x: tl.float64) -> tl.float64:
    return tl.cond(x <= 0.5, lambda: 1.0, lambda: x * factorial(x - 1.0))


@tl.function
def one_of_two(x: tl.float64) -> tl.float64:
    """One of two calls of a function is differentiated."""
    return factorial(x + 1.0) + tl.vjp(factorial, x)[1](1.0)[0]


@tl.function
def jacobian(x: tl.float64, y: tl.float64) -> Any:
    """Two pullbacks of one call; the second computes the call again."""
    _, pullback = tl.vjp(lambda x, y: (x * y, x - y * y), x, y)
    return *pullback((1.0, 0.0)), *pullback((0.0, 1.0))


@tl.function
def guarded(x: tl.float64) -> tl.float64:
    return tl.cond(x > 0.0, lambda: tl.sqrt(x), lambda: 0.0)


@tl.function
def elementwise(x: tl.float64) -> tl.float64:
    return tl.where(x > 0.0, tl.sqrt(x), 0.0)


@tl.function
def unused_sqrt(x: tl.float64) -> tl.float64:
    """The branch that is taken computes sqrt and does not use it."""
    return tl.cond(x < 1.0, lambda: (tl.sqrt(x), x), lambda: (x, x))[1]


@tl.function
def tree_prod(base: tl.float64, at: tl.int64) -> tl.float64:
    """base**8 times the product of 7 values: each node of a heap has one of these, and each empty leaf has the base.
    Source: AutoGraph, arXiv 1810.08061."""
    return tl.cond(
        at > 7,
        lambda: base,
        lambda: tree_prod(base, 2 * at) * tree_prod(base, 2 * at + 1) * tl.take(VALUES, at - 1),
    )


@tl.function
def tree(depth: tl.int64, x: tl.float64) -> tl.float64:
    """A tree of independent calls."""
    return tl.cond(depth <= 0, lambda: tl.sin(x), lambda: tree(depth - 1, x * 0.5) * tree(depth - 1, x + 0.1))


@tl.function
def chain(n: tl.int64, x: tl.float64) -> tl.float64:
    return tl.cond(n <= 0, lambda: x, lambda: tl.sin(chain(n - 1, x)))


@tl.function
def independent_iterations(trips: tl.int64, n: tl.int64, x: tl.float64) -> tl.float64:
    """Iterations that depend on each other by a sum only."""
    return tl.while_loop(
        lambda i, _: i < trips, lambda i, s: (i + 1, s + chain(n, x * tl.astype(i, tl.float64))), 0, 0.0
    )[1]


class ExpectedGradient(NamedTuple):
    """A program, its arguments, and what is expected of its gradient."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    value: Any
    firings: int
    k: int | None = None


first, second = tl.grad(power), tl.grad(tl.grad(power))
ROWS: dict[str, ExpectedGradient] = {
    "a loop constant, 3 trips": ExpectedGradient(first, (2.0, 3), 12.0, 37 + 3 * 22),
    "a loop constant, 4 trips": ExpectedGradient(first, (2.0, 4), 32.0, 37 + 4 * 22),
    "cells, 3 of them": ExpectedGradient(tl.grad(powers_in_cells), (2.0, 3), 12.0, 18 + 3 * 27),
    "cells, 4 of them": ExpectedGradient(tl.grad(powers_in_cells), (2.0, 4), 32.0, 18 + 4 * 27),
    "cells, second order": ExpectedGradient(tl.grad(tl.grad(powers_in_cells)), (2.0, 3), 12.0, 199),
    "no trips, a constant": ExpectedGradient(first, (3.0, 0), 0.0, 37),
    "no trips, a variable": ExpectedGradient(tl.grad(squared), (3.0, 0), 1.0, 30),
    "one trip": ExpectedGradient(tl.grad(squared), (3.0, 1), 6.0, 30 + 17),
    "a loop in a loop": ExpectedGradient(tl.grad(nested), (2.0, 4), 6.0, 411),
    "loops nested twice, 1 trip": ExpectedGradient(tl.grad(thrice), (3.0, 1), 1.0, 143),
    "loops nested twice, 2 trips": ExpectedGradient(tl.grad(thrice), (2.0, 2), 1024.0, 465),
    "under a cond": ExpectedGradient(tl.grad(chosen), (2.0, 3), 12.0, 118),
    "under a cond that is not taken": ExpectedGradient(tl.grad(chosen), (-2.0, 3), -1.0, 21),
    "a cond in a loop": ExpectedGradient(tl.grad(turns), (3.0, 5), 60.0, 195),
    "second order, 2 trips": ExpectedGradient(second, (2.0, 2), 2.0, 67 + 2 * 46),
    "second order, 3 trips": ExpectedGradient(second, (2.0, 3), 12.0, 67 + 3 * 46),
    "second order, a loop in a loop": ExpectedGradient(tl.grad(tl.grad(nested)), (2.0, 4), 2.0, 759),
    "second order, no trips": ExpectedGradient(second, (2.0, 0), 0.0, 67),
    "third order": ExpectedGradient(tl.grad(second), (2.0, 3), 6.0, 471),
    "one iteration at once": ExpectedGradient(first, (2.0, 6), 192.0, 37 + 6 * 22, k=1),
    "three iterations at once": ExpectedGradient(first, (2.0, 6), 192.0, 37 + 6 * 22, k=3),
    "as many as there are": ExpectedGradient(first, (2.0, 6), 192.0, 37 + 6 * 22),
    "second order, two at once": ExpectedGradient(second, (2.0, 6), 480.0, 67 + 6 * 46, k=2),
    "what is not gone on with, no trips": ExpectedGradient(tl.grad(forgetful), (3.0, 0), 1.0, 30),
    "what is not gone on with, 2 trips": ExpectedGradient(tl.grad(forgetful), (3.0, 2), 0.0, 30 + 2 * 16),
    "what is not gone on with, second order": ExpectedGradient(tl.grad(tl.grad(forgetful)), (3.0, 2), 0.0, 53 + 2 * 24),
    "one of two calls": ExpectedGradient(one_of_two, (3.0,), 24.0 + 11.0, 114),
    "two pullbacks of one call": ExpectedGradient(jacobian, (3.0, 4.0), (4.0, 3.0, 1.0, -8.0), 53),
    "sqrt at 0, not taken": ExpectedGradient(tl.grad(guarded), (0.0,), 0.0, 17),
    "sqrt at 0, not taken, second order": ExpectedGradient(tl.grad(tl.grad(guarded)), (0.0,), 0.0, 37),
    "sqrt at 4, taken": ExpectedGradient(tl.grad(guarded), (4.0,), 0.25, 18),
    "sqrt at 0, an element not chosen": ExpectedGradient(tl.grad(elementwise), (0.0,), 0.0, 15),
    "sqrt at 0, not used": ExpectedGradient(tl.grad(unused_sqrt), (0.0,), 1.0, 16),
    "tree_prod": ExpectedGradient(tree_prod, (1.5, 1), 1.5**8 * math.prod(VALUES), 182),
    "tree_prod, derived": ExpectedGradient(tl.grad(tree_prod), (1.5, 1), 8 * 1.5**7 * math.prod(VALUES), 291),
    "tree_prod, derived twice": ExpectedGradient(
        tl.grad(tl.grad(tree_prod)), (1.5, 1), 56 * 1.5**6 * math.prod(VALUES), 563
    ),
}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", ROWS)
def test_values_and_firings(name: str) -> None:
    """Values and numbers of firings are as expected under every schedule, without residue, and on `fast` unless loops
    have bounds."""
    row = ROWS[name]
    function: Any = row.function
    runs = [
        function.run(*row.arguments, engine="reference", schedule=each, keep="events", k=row.k) for each in SCHEDULES
    ]
    for run in (*runs, function.run(*row.arguments, engine="auto" if row.k else "fast", k=row.k)):
        assert (run.status, run.residue, run.open_activations, run.firings) == ("Returned", (), 0, row.firings)
        assert run.value == pytest.approx(row.value, rel=1e-14)
    for run in runs:
        assert list(cleanliness(run)) == []
        assert (results(run), firings(run)) == (results(runs[0]), firings(runs[0]))


@tl.function
def slow(x: tl.float64, n: tl.int64) -> tl.float64:
    """A loop that counts faster than it computes."""
    return tl.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, tl.tanh(tl.sin(tl.tanh(tl.sin(y)))) * x), 0, 1.0)[1]


def most_overlapping(run: tl.Outcome) -> int:
    """The most iterations of a loop that overlap on the way forth, each taken from its first firing to its last."""
    later, spans = adjoint_dependent_nodes(run.graph), dict[Any, list[int]]()
    for number, event in enumerate(run.events):
        if event.is_firing and event.token.tag.site.kind == "loop" and event.token.node not in later:
            spans.setdefault(event.token.tag, []).append(number)
    return max(sum(min(other) <= min(span) <= max(other) for other in spans.values()) for span in spans.values())


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("order", [1, 2])
def test_s16_bounds_hold_in_derivatives(order: int) -> None:
    """S16: a bound throttles the forward pass; without one, more iterations overlap."""
    derivative = tl.grad(slow) if order == 1 else tl.grad(tl.grad(slow))
    actual = {k: most_overlapping(derivative.run(2.0, 9, engine="reference", keep="events", k=k)) for k in (1, 2, None)}
    assert actual[1] == 1 and actual[2] == 2 and actual[None] > 2


@pytest.mark.full
def test_d2_a_function_is_differentiated_six_times() -> None:
    """D2: a function can be differentiated six times, and a seventh derivative is refused."""
    derivative: Any = lambda x: x**7.0  # noqa: E731
    for order in range(1, 7):
        derivative = tl.grad(derivative)
        assert derivative(2.0) == pytest.approx(math.perm(7, order) * 2.0 ** (7 - order))
    with pytest.raises(tl.Invalid, match="D2"):
        tl.grad(derivative)(2.0)


def test_one_of_two_calls_is_split() -> None:
    """The call that is not differentiated is a call of the plain function."""
    assert {function.name for function in one_of_two.program.functions} == {
        "one_of_two",
        "factorial",
        "factorial_split",
    }


def test_fast_refuses_bounds_in_reverse_passes() -> None:
    """`fast` refuses bounded loops with a reverse pass before the run; it accepts programs without bounds, or without
    reverse passes."""
    with pytest.raises(tl.Usage, match="engine fast cannot run this\n  got: it does not support k-bounds"):
        first.run(2.0, 6, engine="fast", k=2)
    assert power.run(2.0, 6, engine="fast", k=2).value == 64.0
    assert first.run(2.0, 6, engine="fast").value == 192.0


def test_one_array_is_the_adjoint_of_cells() -> None:
    """The adjoints of all gets of an array of cells are added to one array, without zeros of their own."""
    for n in (1, 4, 9):
        run = tl.grad(powers_in_cells).run(2.0, n, engine="reference")
        assert sum(run.stats.by_node[at] for at, node in enumerate(run.graph.nodes) if node.op == "cell_zeros") == 1


@pytest.mark.full
def test_independent_calls_are_differentiated_in_parallel() -> None:
    """The span of the gradient of a balanced tree grows with its depth, and not with its size."""
    derivative = tl.grad(tree, 1)
    actual = [derivative.run(depth, 0.7, engine="reference") for depth in (3, 4, 5, 6, 7)]
    assert [run.stats.span for run in actual] == [9 + 16 * depth for depth in (3, 4, 5, 6, 7)]
    assert [run.firings for run in actual] == [20 * 2 ** (depth + 1) - 19 for depth in (3, 4, 5, 6, 7)]
    assert actual[-1].stats.parallelism > 6 * actual[0].stats.parallelism


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("n", [10, 20])
def test_iterations_are_differentiated_in_parallel(n: int) -> None:
    """One more iteration makes the critical path longer by its loop-carried part only, however much else it
    computes."""
    derivative = tl.grad(independent_iterations, 2)
    results = [derivative.run(trips, n, 0.7, engine="reference") for trips in (2, 3, 4, 8)]
    paths, each = [run.stats.span for run in results], [run.firings for run in results]
    assert [after - before for before, after in pairwise(paths)] == [8, 8, 32]
    assert [after - before for before, after in pairwise(each)] == [40 + 18 * n] * 2 + [4 * (40 + 18 * n)]


WAITING: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], float]] = {
    "a loop": (first, lambda n: (1.1, n), 2),
    "a recursion": (tl.grad(factorial), lambda n: (float(n),), 2),
    "a tree": (tl.grad(tree, 1), lambda n: (n, 0.7), 2.5),
    "a loop, second order": (second, lambda n: (1.1, n), 6),
    "a recursion, second order": (tl.grad(tl.grad(factorial)), lambda n: (float(n),), 7),
}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", WAITING)
def test_waiting_tokens_grow_linearly(name: str) -> None:
    """The largest number of waiting tokens is linear in the number of activations."""
    function, arguments, each = WAITING[name]
    actual: list[Any] = [function.run(*arguments(n), engine="reference") for n in (4, 5, 7, 9)]  # type: ignore[attr-defined]
    activations = [sum(run.stats.activations_by_site.values()) for run in actual]
    least = actual[0].stats.largest_store - each * activations[0]
    assert [run.stats.largest_store for run in actual] == [least + each * count for count in activations]
