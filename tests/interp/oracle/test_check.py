"""The oracle: all ways to run a program agree, and a broken machine differs."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.core.program import evaluate as big_step
from tagloom.interp.engines import reference
from tagloom.interp.engines.limits import Limits
from tagloom.interp.machine import fire
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.oracle import check as oracle
from tagloom.interp.oracle.check import SCHEDULES, Verdict, check


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def total(n: tl.int64) -> tuple[tl.int64, tl.float64]:
    _, s, x = tl.while_loop(lambda i, s, x: i < n, lambda i, s, x: (i + 1, s + fib(i), x / 2.0), 0, 0, 1.0)
    return s, x


@tl.function
def quotients(n: tl.int64) -> tl.int64:
    """Two traps if n is 0; the second in program order happens first."""
    slow = fib(fib(n + 3)) // n
    return slow + 7 // n


@tl.function
def wild(x: tl.float64) -> tl.float64:
    return tl.sqrt(x - 1.0) / (x - x)


@tl.function
def first_of(x: tl.int64, y: tl.int64) -> tl.int64:
    return tl.cond(x <= 1, lambda: 1, lambda: first_of(x - 1, first_of(x, y)))


def notes_by_way(function: tl.Function, *arguments: Any, limits: Limits | None = None) -> list[Verdict]:
    return list(check(function.graph, function.program, arguments, limits))


def differing_ways(found: list[Verdict]) -> list[str]:
    return [verdict.variant for verdict in found if verdict.difference is not None]


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [(fib, (6,), "13"), (total, (5,), "12, 0.03125"), (wild, (0.5,), "nan"), (wild, (5.0,), "inf")],
    ids=lambda value: getattr(value, "name", None),
)
def test_examples_agree(function: tl.Function, arguments: tuple[Any, ...], message: str) -> None:
    """Every schedule and the evaluator give the same values, bit for bit, with NaN and infinities."""
    verdicts = notes_by_way(function, *arguments)
    assert [verdict.variant for verdict in verdicts] == [*SCHEDULES, "evaluator"]
    assert differing_ways(verdicts) == []
    assert {verdict.status for verdict in verdicts} == {"Returned"}
    firings = function.run(*arguments).firings
    assert [verdict.summary for verdict in verdicts] == [f"{message} after {firings} firings"] * len(SCHEDULES) + [
        message
    ]


def test_traps_agree() -> None:
    """If the machine traps, every schedule has the same traps, and the evaluator stops at the first of them."""
    verdicts = notes_by_way(quotients, 0)
    assert differing_ways(verdicts) == []
    assert {verdict.status for verdict in verdicts} == {"Trapped"}
    assert verdicts[-1].summary == "integer division by zero at node quotients.floor_divide"


def test_a_graph_alone_has_no_evaluator() -> None:
    """Without its program, a graph is checked under every schedule."""
    assert [verdict.variant for verdict in check(fib.graph, None, [5])] == list(SCHEDULES)


@pytest.mark.full
def test_runs_ended_by_a_limit_are_compared_in_common_results() -> None:
    """Runs that a limit ended are compared in the results that both have, with the evaluator's too; how far they came
    is no difference."""
    verdicts = notes_by_way(first_of, 2, 2, limits=Limits(firings=500))
    assert differing_ways(verdicts) == []
    assert {verdict.status for verdict in verdicts} == {"Exhausted"}
    assert {verdict.summary.split()[0] for verdict in verdicts[:-1]} == {"1", "-"}
    assert differing_ways(notes_by_way(fib, 8, limits=Limits(depth=3))) == []


def test_a_trap_before_a_limit_is_no_difference() -> None:
    """If a limit ended the machine, its first trap need not be the program's first."""

    @tl.function
    def late(n: tl.int64) -> tl.int64:
        return fib(12) // n + 7 // n

    verdicts = notes_by_way(late, 0, limits=Limits(firings=200))
    assert late.run(0, limits=Limits(firings=200)).traps
    assert differing_ways(verdicts) == []


def test_the_evaluator_ends_with_the_machine() -> None:
    """The evaluator may take as many steps as the machine has firings, so that a program that diverges ends at once."""

    @tl.function
    def endless(n: tl.int64) -> tl.int64:
        return endless(n)

    verdicts = notes_by_way(endless, 1, limits=Limits(firings=100))
    assert verdicts[-1][:3] == ("evaluator", "Exhausted", "after 100 nodes")


def test_a_machine_that_depends_on_the_schedule_differs(monkeypatch: MonkeyPatch) -> None:
    """A machine whose sums are sometimes their last operand differs under some schedule."""

    def racing(state: State, position: int) -> Event:
        event = step(state, position)
        if event.is_firing and state.graph.nodes[event.token.node].op == "add" and event.token.port:
            sent = tuple(token._replace(value=event.token.value) for token in event.sent)
            return event._replace(outputs=((0, event.token.value),), sent=sent)
        return event

    monkeypatch.setattr(reference, "step", racing)
    verdicts = notes_by_way(fib, 6)
    assert {"waves", "fifo"}.isdisjoint(differing_ways(verdicts)), "the standard, and what is the same order"
    assert "evaluator" in differing_ways(verdicts)
    errors = [str(verdict.difference) for verdict in verdicts if verdict.difference is not None]
    assert any(error.startswith("the endings differ (fib under ") for error in errors)
    assert all("  required: Returned " in error and "  got: Returned " in error for error in errors)


def test_a_wrong_rule_differs_from_the_evaluator(monkeypatch: MonkeyPatch) -> None:
    """A machine that is wrong in the same way under every schedule differs from the evaluator, which has no tokens."""
    monkeypatch.setitem(fire._ROUTING, "exit", lambda inputs, tag: ((0, tag.iteration), (1, tag.iteration)))
    verdicts = notes_by_way(total, 3)
    assert differing_ways(verdicts) == ["evaluator"]
    assert str(verdicts[-1].difference) == (
        "the results differ (total, evaluated without tokens)\n  required: Returned 3, 3\n  got: Returned 4, 0.125"
    )


def test_a_machine_that_fires_more_differs(monkeypatch: MonkeyPatch) -> None:
    """Equal results with different firings are a difference, which names the node."""
    run_graph = oracle.run_graph

    def generous(graph: Any, arguments: Any, **options: Any) -> Any:
        if options.get("schedule") == "lifo":
            arguments = [arguments[0] + 1]
        return run_graph(graph, arguments, **options)

    monkeypatch.setattr(oracle, "run_graph", generous)

    @tl.function
    def same(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0] * 0

    verdicts = notes_by_way(same, 2)
    assert differing_ways(verdicts) == ["lifo"]
    assert str(verdicts[2].difference) == (
        "node same.loop.i fires a different number of times (same under lifo)\n  required: 3\n  got: 4"
    )


def test_a_machine_that_traps_elsewhere_differs(monkeypatch: MonkeyPatch) -> None:
    """Equal endings with different traps are a difference, which lists both."""
    run_graph = oracle.run_graph

    def elsewhere(graph: Any, arguments: Any, **options: Any) -> Any:
        return run_graph(graph, [3 if options.get("schedule") == "lifo" else 5], **options)

    monkeypatch.setattr(oracle, "run_graph", elsewhere)

    @tl.function
    def reciprocals(n: tl.int64) -> tl.int64:
        def body(i: Any) -> Any:
            tl.floor_divide(7, i - n)
            return i + 1

        return tl.while_loop(lambda i: i < 8, body, 0)[0]

    trap = "integer division by zero at node reciprocals.floor_divide under main"
    assert str(notes_by_way(reciprocals, 5)[2].difference) == (
        f"the traps differ (reciprocals under lifo)\n  required: {trap}/loop[5]\n  got: {trap}/loop[3]"
    )


@pytest.mark.full
def test_a_wrong_evaluator_differs(monkeypatch: MonkeyPatch) -> None:
    """An evaluator with another ending, or with another trap, differs too."""
    for wrong, got in (
        (big_step.Evaluation("Returned", (14,)), "Returned 14"),
        (big_step.Evaluation("Trapped", trap=("fib.add", "no reason")), "Trapped no reason at node fib.add"),
        (big_step.Evaluation("Exhausted"), f"Exhausted after {fib.run(6).firings} nodes"),
    ):
        monkeypatch.setattr(oracle, "evaluate", lambda *arguments, wrong=wrong, **options: wrong)
        (error,) = [verdict.difference for verdict in notes_by_way(fib, 6) if verdict.difference is not None]
        assert str(error) == (
            f"the results differ (fib, evaluated without tokens)\n  required: Returned 13\n  got: {got}"
        )


def test_double_puts_are_no_difference() -> None:
    """The schedule decides which of two puts comes first, so such runs are not compared further."""

    @tl.function
    def either(n: tl.int64) -> tl.int64:
        cells = tl.cells(1, tl.int64)
        tl.put(cells, 0, 1)
        tl.put(cells, 0, n)
        return 10 // cells[0]

    assert not any(verdict.difference for verdict in oracle.check(either.graph, None, [0]))
