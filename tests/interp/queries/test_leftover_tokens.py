"""Why a node has not fired when a token is deferred at a cell, or throttled by a bound: the claims and their text."""

from __future__ import annotations

import random
import re

import pytest
import tagloom as tl
from support.laws.query_laws import new_run, quiescence_violations, reason_violations
from tagloom.core.tag import ROOT
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive
from tagloom.interp.machine.schedule import schedule as schedules
from tagloom.interp.machine.step import step
from tagloom.interp.queries.answers import DeferredRead, EndOfWave, InFlightToken, ThrottledToken, UnfilledCell
from tagloom.interp.queries.why_not import why_not


@tl.function
def swap(n: tl.int64) -> tl.int64:
    """Each cell waits for the other."""
    both = tl.cells(2, tl.int64)
    tl.put(both, 0, tl.get(both, 1))
    tl.put(both, 1, tl.get(both, 0))
    return n + tl.get(both, 0)


@tl.function
def late(n: tl.int64) -> tl.int64:
    """The put knows its cell long before it has its value."""
    one = tl.cells(1, tl.int64)
    tl.put(one, 0, tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0])
    return tl.get(one, 0)


@tl.function
def guess(n: tl.int64) -> tl.int64:
    """The put learns its cell late, and it is another one."""
    three = tl.cells(3, tl.int64)
    tl.put(three, tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0] - n, n)
    return tl.get(three, 2)


@tl.function
def half_full(n: tl.int64) -> tl.int64:
    """The only put is to the other cell."""
    two = tl.put(tl.cells(2, tl.int64), 0, n)
    return tl.get(two, 1) + tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]


@tl.function
def gathered(n: tl.int64) -> tl.Array[tl.int64, ...]:
    """Of two cells one is put, late, and the other never."""
    two = tl.cells(2, tl.int64)
    tl.put(two, 0, tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0])
    return tl.collect(two)


@tl.function
def hidden(n: tl.int64) -> tl.int64:
    """Two stores get their handles when a loop is over: one to cells of another type."""
    two, floats = tl.cells(2, tl.int64), tl.cells(2, tl.float64)

    def fill() -> tl.int64:
        tl.put(floats, 1, 1.5)
        return tl.get(tl.put(two, 0, n), 0)

    late = tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]
    return tl.cond(late > 0, fill, lambda: 0) + tl.get(two, 0) + tl.get(two, 1)


@tl.function
def both(n: tl.int64) -> tl.int64:
    """One put has received its cell and no value; the other has received nothing."""
    two = tl.cells(2, tl.int64)
    late = tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]
    tl.put(two, 0, late)
    tl.put(two, late - n + 1, n)
    return tl.get(two, 0)


@tl.function
def again(n: tl.int64) -> tl.int64:
    """One of two cells is put, here and in each call of itself."""
    two = tl.put(tl.cells(2, tl.int64), n - n, n)
    return tl.get(two, 0) + tl.get(two, 1) + tl.cond(n < 1, lambda: 0, lambda: again(n - 1))


@tl.function
def wide(n: tl.int64) -> tl.Array[tl.int64, ...]:
    """More cells than are followed, of which the second is put."""
    result = tl.put(tl.cells(1_005, tl.int64), 1, n)
    return tl.collect(result)


@tl.function
def ahead(n: tl.int64) -> tl.int64:
    """An iteration gets what the second after it puts."""
    handle = tl.cells(20, tl.int64)

    def body(i: tl.int64, s: tl.int64) -> tuple[tl.int64, tl.int64]:
        tl.put(handle, i, i)
        return i + 1, s + tl.get(handle, i + 2)

    return tl.while_loop(lambda i, s: i < n, body, 0, 0, parallel_iterations=2)[1]


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """A bounded loop in a bounded loop."""

    def row(i: tl.int64, s: tl.int64) -> tuple[tl.int64, tl.int64]:
        inner = tl.while_loop(lambda j, t: j < n, lambda j, t: (j + 1, t * 3 % 7 + j), 0, s, parallel_iterations=1)
        return i + 1, inner[1]

    return tl.while_loop(lambda i, s: i < n, row, 0, 0, parallel_iterations=1)[1]


@tl.function
def counted(n: tl.int64) -> tl.int64:
    """A bounded loop, and beside it one that goes on by itself."""
    held = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 3 % 10 + i % 7), 0, 0, parallel_iterations=1)[1]
    return held + tl.while_loop(lambda i: i < 5 * n, lambda i: i + 1, 0)[0]


def history_at_its_end(function: tl.Function, *arguments: object) -> tl.History:
    history = function.history(*arguments, schedule="fifo")
    history.run()
    return history


def at_first_park(function: tl.Function, *arguments: object) -> tl.History:
    """Where a token has been deferred, with others in flight."""
    history = history_at_its_end(function, *arguments)
    history.jump(0)
    history.forward_to("deferred")
    assert history.state.flight
    return history


def answer_lines(history: tl.History, node: str = "return") -> list[str]:
    lines = str(history.ask.why_not(node)).splitlines()
    return [re.sub(r" \(\w+\.py:\d+\)", "", line).strip() for line in lines]


@pytest.mark.full
@pytest.mark.parametrize("schedule", ["fifo", "lifo"])
def test_claims_about_leftover_tokens_are_true(schedule: str) -> None:
    """Claims about deferred and throttled tokens agree with the events, at every few events of a run, and come true."""
    dice = random.Random(schedule)
    for function in (swap, late, guess, half_full, gathered, ahead, counted, hidden, nested):
        state, index = new_run(function.graph, [3])
        for event in drive(state, schedules(schedule), Limits()):
            index.add(event)
            assert list(quiescence_violations(state, index)) == []
            if dice.random() < 0.06:
                assert list(reason_violations(state, index, dice)) == []


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", [late, counted, nested], ids=lambda function: function.__name__)
def test_tokens_on_their_way_are_pending(function: tl.Function) -> None:
    """At every event of a run that returns, some token is said to be on its way to the result."""
    for name in ("fifo", "lifo"):
        state, index = new_run(function.graph, [2])
        while state.flight:
            assert why_not(index, state, function.graph.results[0], ROOT).verdict in ("pending", "fired")
            event = step(state, 0 if name == "fifo" else len(state.flight) - 1)
            state.apply(event)
            index.add(event)
        assert index.firing_event(function.graph.results[0], ROOT) is not None


def test_cells_that_wait_for_each_other() -> None:
    """A cycle through cells is reported as one, also while other tokens are in flight."""
    history = history_at_its_end(swap, 1)
    answer = history.ask.why_not("get_2")
    assert answer.verdict == "never" and not answer.root_causes
    assert sum(isinstance(answer.wait_entries[at].waiter, DeferredRead) for at in answer.cycle) == 2
    assert answer_lines(history)[-1] == "hint: it never will: these nodes wait for each other"


def test_a_store_that_knows_its_cell() -> None:
    """The path continues from the cell to the store that has received its index, and to what that waits for."""
    history = at_first_park(late, 3)
    assert history.ask.why_not("return").verdict == "pending"
    lines = answer_lines(history)
    cell = "cell 0 of late.cells, made under main"
    assert lines[4].startswith("port 0 of late.get under main: the token from late.cells at event ")
    assert lines[4].endswith(f" is deferred at {cell}, which no store has filled")
    assert lines[5] == f"{cell}: waits for late.put under main"
    assert lines[-1] == "hint: it may still fire"


def test_a_store_that_does_not_know_its_cell() -> None:
    """A store that might fill the cell is named as such, without the claim that it will."""
    history = at_first_park(guess, 3)
    answer = history.ask.why_not("return")
    assert answer.verdict == "unknown"
    assert [type(root.reason) for root in answer.root_causes] == [UnfilledCell]
    lines = answer_lines(history)
    assert lines[5] == (
        "cell 2 of guess.cells, made under main: no store of such cells has been sent its index (guess.put under main)"
    )
    assert (
        lines[-1]
        == "hint: whether it will is unknown: only a store that has not been sent its index could fill the cell"
    )
    history.jump(len(history))
    assert history.ask.why_not("return").verdict == "never"
    assert answer_lines(history)[5] == "cell 2 of guess.cells, made under main: there is no store that could fill it"


def test_a_known_store_is_preferred() -> None:
    """The text prefers a store that is known to fill the cell to one that might; the answer has both."""
    history = at_first_park(both, 3)
    answer = history.ask.why_not("return")
    assert {type(root.reason) for root in answer.root_causes} == {InFlightToken, UnfilledCell}
    lines = answer_lines(history)
    assert lines[5] == "cell 0 of both.cells, made under main: waits for both.put under main"
    assert not any("no store of such cells" in line for line in lines)


def test_a_store_that_has_been_sent_nothing() -> None:
    """A store without tokens might fill a cell of its type, unless its index is a different literal."""
    history = at_first_park(hidden, 3)
    while history.ask.why_not("get_2").wait_entries[0].requirements:
        results = {node: history.ask.why_not(node) for node in ("get_1", "get_2")}
        if all(
            answer.root_causes and isinstance(answer.root_causes[0].reason, UnfilledCell) for answer in results.values()
        ):
            break
        history.forward()
    stores = {node: answer.root_causes[0].reason.stores for node, answer in results.items()}
    (put,) = history.graph.find("put_1")
    assert stores == {"get_1": ((put, None),), "get_2": ()}


def test_a_store_of_a_function_that_calls_itself() -> None:
    """A store that has fired may fire again under another tag, so it is unknown what it will fill."""
    history = at_first_park(again, 3)
    history.forward_to("node == 'put' and fired")
    assert history.ask.why_not("get_1").verdict == "unknown"
    assert history_at_its_end(again, 3).ask.why_not("return").verdict == "never"


def test_a_collect_of_many_cells() -> None:
    """At most a thousand empty cells of a collect are followed, and no full ones."""
    history = history_at_its_end(wide, 3)
    (needs,) = [
        waits.requirements
        for waits in history.ask.why_not("return").wait_entries
        if isinstance(waits.waiter, DeferredRead)
    ]
    assert [need.port for need in needs] == [-1, *range(-3, -1_002, -1)]


def test_unrelated_tokens_are_no_reason_to_wait() -> None:
    """A cell that is never put is reported at once, while unrelated tokens are in flight."""
    history = at_first_park(half_full, 3)
    assert history.ask.why_not("get").verdict == "never"
    assert history.ask.why_not("return").verdict == "never"
    assert history.ask.why_not("loop", "main/loop[0]").verdict == "pending"


def test_a_collect_waits_for_every_cell() -> None:
    """Of a cell that will be put and one that never will, the text names the latter."""
    history = at_first_park(gathered, 3)
    assert history.ask.why_not("return").verdict == "never"
    assert answer_lines(history)[5] == "cell 1 of gathered.cells, made under main: there is no store that could fill it"


def test_a_bound_that_holds_back() -> None:
    """The text names the throttled tag, the busy iteration and the bound, and the cell at which that iteration is
    deferred."""
    history = history_at_its_end(ahead, 6)
    answer = history.ask.why_not("return")
    assert answer.verdict == "never"
    assert any(isinstance(waits.waiter, ThrottledToken) and waits.waiter.bound == 2 for waits in answer.wait_entries)
    lines = answer_lines(history)
    bound = "iteration 0 is still busy, and the bound of ahead.loop is 2"
    assert lines[-5].endswith(f"is throttled under main/loop[2]: {bound}")
    assert lines[-4].startswith("main/loop[0] is busy: the token from ahead.add_1 at event ")
    assert lines[-4].endswith("is deferred at cell 2 of ahead.cells, made under main, which no store has filled")
    assert lines[-3].startswith(
        "cell 2 of ahead.cells, made under main: no store of such cells has been sent its index ("
    )


@pytest.mark.full
def test_a_bound_that_will_release() -> None:
    """While the earlier iteration computes, its tokens in flight must be delivered first; under `waves`, the wave must
    end too."""
    seen = set()
    for schedule in ("fifo", "waves"):
        history = counted.history(4, schedule=schedule)
        while history.forward() is not None:
            if history.state.throttled_tokens:
                answer = history.ask.why_not("remainder", str(next(iter(history.state.throttled_tokens))))
                assert answer.verdict == "pending"
                seen.update(type(root.reason) for root in answer.root_causes)
    assert seen == {InFlightToken, EndOfWave}
