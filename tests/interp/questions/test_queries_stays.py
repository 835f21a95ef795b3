"""Why a node has not fired where a token stays at a cell, or is held by a bound: what is claimed, and how."""

from __future__ import annotations

import re

import tagloom as tl
from tagloom.interp.questions.causes import EndOfWave, HeldBack, InFlight, Parked, Unfilled


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
    two = tl.cells(2, tl.int64)
    tl.put(two, tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0] - n, n)
    return tl.get(two, 1)


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
def ahead(n: tl.int64) -> tl.int64:
    """An iteration gets what the second after it puts."""
    made = tl.cells(20, tl.int64)

    def body(i: tl.int64, s: tl.int64) -> tuple[tl.int64, tl.int64]:
        tl.put(made, i, i)
        return i + 1, s + tl.get(made, i + 2)

    return tl.while_loop(lambda i, s: i < n, body, 0, 0, parallel_iterations=2)[1]


@tl.function
def counted(n: tl.int64) -> tl.int64:
    """A bounded loop, and beside it one that goes on by itself."""
    held = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 3 % 10 + i % 7), 0, 0, parallel_iterations=1)[1]
    return held + tl.while_loop(lambda i: i < 5 * n, lambda i: i + 1, 0)[0]


def ended(function: tl.Function, *arguments: object) -> tl.History:
    history = function.history(*arguments, schedule="fifo")
    history.run()
    return history


def at_first_park(function: tl.Function, *arguments: object) -> tl.History:
    """Where a token has been parked, with others in flight."""
    history = ended(function, *arguments)
    history.jump(0)
    history.forward_to("parked")
    assert history.state.flight
    return history


def said(history: tl.History, node: str = "return") -> list[str]:
    lines = str(history.ask.why_not(node)).splitlines()
    return [re.sub(r" \(\w+\.py:\d+\)", "", line).strip() for line in lines]


def test_cells_that_wait_for_each_other() -> None:
    """A circle through cells is told as one, also while something else is in flight."""
    history = ended(swap, 1)
    answer = history.ask.why_not("get_2")
    assert answer.verdict == "never" and not answer.roots
    assert sum(isinstance(answer.waits[at].place, Parked) for at in answer.circle) == 2
    assert said(history)[-1] == "hint: it never will: these nodes wait for each other"


def test_a_store_that_knows_its_cell() -> None:
    """The way goes on from the cell to the store that has been sent its number, and to what that waits for."""
    history = at_first_park(late, 3)
    assert history.ask.why_not("return").verdict == "pending"
    lines = said(history)
    cell = "cell 0 of late.cells, made under main"
    assert lines[4].startswith("port 0 of late.get under main: the token from late.cells at event ")
    assert lines[4].endswith(f" is parked at {cell}, which nobody has put")
    assert lines[5] == f"{cell}: waits for late.put under main"
    assert lines[-1] == "hint: it may still fire"


def test_a_store_that_does_not_know_its_cell() -> None:
    """No store is known to fill the cell, and one might: that it may still fire is not claimed."""
    history = at_first_park(guess, 3)
    answer = history.ask.why_not("return")
    assert answer.verdict == "unknown"
    assert [type(root.reason) for root in answer.roots] == [Unfilled]
    lines = said(history)
    assert lines[5] == (
        "cell 1 of guess.cells, made under main: no store of such cells has been sent its index (guess.put under main)"
    )
    assert lines[-1] == "hint: it is not known: only a store that has not been sent its index could fill the cell"
    history.jump(len(history))
    assert history.ask.why_not("return").verdict == "never"
    assert said(history)[5] == "cell 1 of guess.cells, made under main: there is no store that could fill it"


def test_other_tokens_in_flight_are_no_hope() -> None:
    """The cell is never put, and tokens of a loop fly: it never will is the answer at once."""
    history = at_first_park(half_full, 3)
    assert history.ask.why_not("get").verdict == "never"
    assert history.ask.why_not("return").verdict == "never"
    assert history.ask.why_not("loop", "main/loop[0]").verdict == "pending"


def test_a_collect_waits_for_every_cell() -> None:
    """The first empty cell will be put, and the other never: the other is what is told."""
    history = at_first_park(gathered, 3)
    assert history.ask.why_not("return").verdict == "never"
    assert said(history)[5] == "cell 1 of gathered.cells, made under main: there is no store that could fill it"


def test_a_bound_that_holds_back() -> None:
    """The tag, the iteration that is busy and the bound are said, and the cell at which that iteration is parked."""
    history = ended(ahead, 6)
    answer = history.ask.why_not("return")
    assert answer.verdict == "never"
    assert any(isinstance(waits.place, HeldBack) and waits.place.bound == 2 for waits in answer.waits)
    lines = said(history)
    assert lines[-5].endswith("is held under main/loop[2]: iteration 0 is still busy, and the bound of ahead.loop is 2")
    assert lines[-4].startswith("main/loop[0] is busy: the token from ahead.add_1 at event ")
    assert lines[-4].endswith("is parked at cell 2 of ahead.cells, made under main, which nobody has put")
    assert lines[-3].startswith(
        "cell 2 of ahead.cells, made under main: no store of such cells has been sent its index ("
    )


def test_a_bound_that_will_let_go() -> None:
    """While the iteration before computes, its tokens in flight have to be delivered first; under waves, the wave has
    to end as well."""
    seen = set()
    for schedule in ("fifo", "waves"):
        history = counted.history(4, schedule=schedule)
        while history.forward() is not None:
            if history.state.held:
                answer = history.ask.why_not("remainder", str(next(iter(history.state.held))))
                assert answer.verdict == "pending"
                seen.update(type(root.reason) for root in answer.roots)
    assert seen == {InFlight, EndOfWave}
