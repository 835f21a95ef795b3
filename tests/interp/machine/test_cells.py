"""S13: write-once cells, on programs small enough to be checked by hand."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.observe.event_text import event_lines
from support.programs.waves import later
from tagloom.interp.machine.event import CellAddress, Event
from tagloom.interp.machine.schedule import Script
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.outcome.outcome import Outcome

OPEN = tl.Type(tl.float64, (None,))
SCHEDULES = ("waves", "fifo", "lifo", *(f"random:{seed}" for seed in range(6)))


@tl.function
def made(n: tl.int64, i: tl.int64) -> tl.int64:
    a = tl.cells(n, tl.int64)
    return a[i]


@tl.function
def stored(n: tl.int64, i: tl.int64) -> tl.int64:
    a = tl.cells(n, tl.int64)
    tl.put(a, i, 7)
    return a[0]


@tl.function
def collected(n: tl.int64) -> tl.Array[tl.int64, None]:
    """Cells of which i has i squared, the last put first."""
    a = tl.cells(n, tl.int64)
    tl.while_loop(lambda i: i >= 0, lambda i: _put(a, i), n - 1)
    return tl.collect(a)


def _put(a: Any, i: Any) -> Any:
    tl.put(a, i, i * i)
    return i - 1


@tl.function
def waiting(x: tl.int64) -> tuple[tl.int64, tl.int64, tl.int64]:
    """Three gets of one cell, one after another, before the put."""
    a = tl.cells(1, tl.int64)
    first, second, third = a[0], a[later(x, 2)], a[later(x, 1)]
    tl.put(a, 0, later(x, 5) + 7)
    return first, second, third


@tl.function
def twice(x: tl.int64) -> tl.int64:
    a = tl.cells(2, tl.int64)
    tl.put(a, 1, later(x, 3))
    tl.put(a, 1, x + 1)
    tl.put(a, 1, later(x, 1) + 2)
    return x


@tl.function
def mixed(x: tl.Array[tl.float64, 2], y: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None, None]:
    a = tl.cells(2, OPEN)
    tl.put(a, 0, x)
    tl.put(a, 1, y)
    return tl.collect(a)


def fired(outcome: Outcome, name: str) -> list[Event]:
    """The firings of nodes of this name, in their order."""
    return [e for e in outcome.events if e.is_firing and outcome.graph.nodes[e.token.node].name == name]


@pytest.mark.parametrize(
    ("function", "n", "i", "message"),
    [
        (made, -1, 0, "fewer than no cells at node made.cells"),
        (made, -(2**63), 0, "fewer than no cells at node made.cells"),
        (made, 0, 0, "there is no cell 0 among 0 at node made.get"),
        (made, 3, 3, "there is no cell 3 among 3 at node made.get"),
        (made, 3, -1, "there is no cell -1 among 3 at node made.get"),
        (made, 2**62, 2**62, f"there is no cell {2**62} among {2**62} at node made.get"),
        (stored, 0, 0, "there is no cell 0 among 0 at node stored.put"),
        (stored, 2, 2, "there is no cell 2 among 2 at node stored.put"),
        (stored, 2, -1, "there is no cell -1 among 2 at node stored.put"),
    ],
)
@pytest.mark.parametrize("schedule", ["waves", "lifo"])
def test_s13_a_wrong_index_or_count_traps(function: tl.Function, n: int, i: int, message: str, schedule: str) -> None:
    """S13: fewer than no cells and an index out of range are traps. A large number of cells takes no memory."""
    out = function.run(n, i, schedule=schedule)
    assert (out.status, out.traps[0].message, out.results) == ("Trapped", message, (None,))


def test_s13_a_get_of_an_empty_cell_stays_deferred() -> None:
    """S13: a get of a cell that is never put stays deferred, and the deadlock names the cell."""
    out = made.run(3, 2)
    assert (out.status, len(out.residue)) == ("Deadlocked", 2)
    assert [w.blocked_on for w in out.residue if w.blocked_on is not None] == [CellAddress(out.residue[0].value, 2)]
    assert out.error is not None and out.error.excerpt is not None
    first, second = out.error.excerpt.splitlines()
    assert first == "  nothing fills a[2]"
    assert second.startswith("  test_cells.py:") and second.endswith(" reads a[2] under main")


def test_s13_a_put_that_traps_fills_nothing() -> None:
    """S13: a put that traps fills no cell, and the get of another cell stays deferred; the run reports the trap."""
    out = stored.run(2, 2)
    assert len([w for w in out.residue if w.blocked_on is not None]) == 1


@pytest.mark.inner(first=12)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_s13_a_collect_fires_when_all_cells_are_full(n: int, schedule: str) -> None:
    """S13: a collect fires once, when all cells are full, and returns their values in order. For no cells it returns an
    empty array."""
    out = collected.run(n, schedule=schedule, keep="events")
    assert (out.value.tolist(), out.value.dtype) == ([i * i for i in range(n)], np.int64)
    assert len(fired(out, "collect")) == 1


def test_a_collect_of_no_cells_has_the_shape_of_the_element() -> None:
    """A collect of no cells of arrays returns an array with the element's shape behind a first size of 0."""

    def nothing(n):
        return tl.collect(tl.cells(n, tl.Array[tl.float64, 3]))

    assert tl.function(nothing).run(0, engine="reference").value.shape == (0, 3)


@pytest.mark.parametrize("sizes", [(), (2, 3), (0,)])
def test_zeros_of_cells(sizes: tuple[int, ...]) -> None:
    """Zeros for cells have the dtype and shape of an element, once for each cell."""
    element = tl.Type(tl.int8, sizes)
    text = "func main(n: int64) -> {} {{\n  c = cells n, element={}\n  z = cell_zeros c\n  return z\n}}"
    graph = tl.lower(tl.parse_program(text.format(tl.Type(tl.int8, (None, *sizes)), element)))
    for n in (0, 2):
        zeros = tl.run_graph(graph, [n]).value
        assert (zeros.shape, zeros.dtype, zeros.any()) == ((n, *sizes), np.int8, False)


@pytest.mark.parametrize("sizes", ["?", "2, ?", "?, 3"])
def test_zeros_of_cells_need_known_sizes(sizes: str) -> None:
    """A program that takes zeros for cells whose elements have an unknown size is invalid, with the hint of the op."""
    text = f"func main(n: int64) -> int8[?, {sizes}] {{\n  c = cells n, element=int8[{sizes}]\n  z = cell_zeros c\n"
    with pytest.raises(tl.Invalid, match="the elements have unknown sizes") as error:
        tl.run_graph(tl.lower(tl.parse_program(text + "  return z\n}")), [2])
    assert "hint: give cells a type with known sizes" in str(error.value)


def test_s13_a_collect_is_deferred_at_the_first_empty_cell() -> None:
    """S13: a collect is deferred at the first empty cell. Cells that are filled from the last to the first wake it
    once; cells that are filled from the first to the last wake it at each cell."""

    @tl.function
    def forth(n: tl.int64) -> tl.Array[tl.int64, None]:
        a = tl.cells(n, tl.int64)

        def body(i: Any) -> Any:
            tl.put(a, i, i)
            return i + 1

        tl.while_loop(lambda i: i < n, body, 0)
        return tl.collect(a)

    def deferred(out: Outcome) -> list[int]:
        return [event.deferred_at.number for event in out.events if event.deferred_at is not None]

    assert deferred(collected.run(4, keep="events")) == [0]
    assert deferred(forth.run(4, keep="events")) == [0, 1, 2, 3]


def test_s13_a_collect_stacks_arrays() -> None:
    """S13: a collect stacks arrays of one shape along a new first axis, and traps if their shapes differ. Without
    cells, an open size is 0."""
    assert mixed.run([1.0, 2.0], [3.0, 4.0]).value.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    out = mixed.run([1.0, 2.0], [3.0])
    assert out.traps[0].message == "cells of shapes (2,) and (1,) make no array at node mixed.collect"

    @tl.function
    def none(n: tl.int64) -> tl.Array[tl.float64, None, None, 3]:
        return tl.collect(tl.cells(n, tl.Type(tl.float64, (None, 3))))

    assert none.run(0).value.shape == (0, 0, 3)


def test_s13_gets_wake_in_the_order_in_which_they_deferred() -> None:
    """S13: a put sends the deferred gets to the end of the flight, in the order in which they were deferred."""
    out = waiting.run(0, keep="events")
    names = [out.graph.nodes[event.token.node].name for event in out.events if event.deferred_at is not None]
    assert names == ["get", "get_2", "get_1"]
    (store,) = fired(out, "put")
    assert [out.graph.nodes[token.node].name for token in store.woken] == names
    state = State(out.graph, [0], is_clocked=True)
    for event in out.events[: out.events.index(store) + 1]:
        state.apply(event)
    assert tuple(state.flight)[-3:] == store.woken
    assert (out.results, state.cells.deferred_count) == ((7, 7, 7), 0)


def test_s13_a_get_of_a_full_cell_fires() -> None:
    """S13: a get after the put fires at once."""
    out = stored.run(1, 0, schedule="lifo", keep="events")
    late = tl.run_graph(
        tl.lower(
            tl.parse_program("""
            func late(x: int64) -> int64 {
              a = cells 1, element=int64
              p = put a, 0, x
              one = negative x
              two = negative one
              i = subtract two, two
              g = get a, i
              return g
            }
        """)
        ),
        [3],
        keep="events",
    )
    assert out.value == 7 and late.results == (3,)
    assert not any(event.deferred_at for event in late.events)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_s13_the_second_put_in_program_order_traps(schedule: str) -> None:
    """S13: whichever put happens first, the trap is that of the second in program order, and names all puts."""
    out = twice.run(5, schedule=schedule)
    assert (out.status, len(out.traps), out.results) == ("Trapped", 1, (5,))
    lines = str(out.traps[0]).splitlines(), out.traps[0].__notes__
    assert lines[0][0].startswith("S5: cell 1 is put more than once at node twice.put_1 (test_cells.py:")
    assert lines[0][1] == "  got: store twice.cells under main, 1, 6"
    assert [note.split(" (")[0] for note in lines[1]] == [
        "  in twice",
        "  5 put by twice.put",
        "  6 put by twice.put_1",
        "  7 put by twice.put_2",
    ]


def test_s13_a_cell_keeps_its_first_value() -> None:
    """S13: a second put does not change the cell, and all gets of it return the same value."""

    @tl.function
    def raced(x: tl.int64) -> tuple[tl.int64, tl.int64]:
        a = tl.cells(1, tl.int64)
        before = a[0]
        tl.put(a, 0, x)
        tl.put(a, 0, x + 1)
        return before, a[later(x, 8) * 0]

    for schedule in SCHEDULES:
        out = raced.run(5, schedule=schedule)
        assert out.status == "Trapped" and out.results in [(5, 5), (6, 6)]


def test_s13_each_activation_creates_its_own_cells() -> None:
    """S13: each call and each iteration creates its own cells: a node and a tag identify them."""

    @tl.function
    def own(x: tl.int64) -> tl.int64:
        a = tl.cells(1, tl.int64)
        tl.put(a, 0, x)
        return a[0]

    @tl.function
    def summed(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + own(i) * own(10 * i)), 0, 0)[1]

    assert summed.run(5).value == 10 * (1 + 4 + 9 + 16)


@pytest.mark.full
def test_s13_a_handle_refers_to_the_same_cells_everywhere() -> None:
    """S13: a handle that passes through a cond, a loop, a recursion and a call refers to the same cells."""

    @tl.function
    def fill(a: tl.Cells[tl.int64], i: tl.int64) -> tl.Cells[tl.int64]:
        return tl.cond(i < 0, lambda: a, lambda: fill(tl.put(a, i, i + 1), i - 1))

    @tl.function
    def travel(n: tl.int64) -> tl.int64:
        a, b = tl.cells(n, tl.int64), tl.cells(n, tl.int64)
        chosen = tl.cond(n > 2, lambda: a, lambda: b)
        read = chosen[0] * 10 + a[n - 1]
        _, same = tl.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tl.cond(i < 9, lambda: h, lambda: b)), 0, a)
        fill(same, n - 1)
        tl.put(b, 0, 50)
        return read

    for schedule in SCHEDULES:
        assert [travel.run(n, schedule=schedule).value for n in (2, 3)] == [502, 13]


def test_s13_deferring_can_be_undone_and_redone() -> None:
    """S13: deferring, waking and firing of a get are undone and redone step by step, by a script too."""
    out = waiting.run(0, keep="events")
    state, seen = State(out.graph, [0], is_clocked=True), []
    for event in out.events:
        seen.append(state.snapshot())
        assert step(state, event.position) == event
        state.apply(event)
    for event in reversed(out.events):
        state.revert(event)
        assert state.snapshot() == seen.pop()
    again = waiting.run(0, schedule=Script(tuple(event.position for event in out.events)), keep="events")
    assert event_lines(again) == event_lines(out)


def test_s12_deferred_tokens_are_live() -> None:
    """S12: a deferred get is a live token, and the limit on tokens is exact."""
    state = State(made.graph, [3, 2])
    while state.flight:
        state.apply(step(state, 0))
    assert (state.live_count, state.cells.deferred_count, state.waiting_count) == (2, 1, 1)
    out = waiting.run(0, keep="events")
    state = State(out.graph, [0], is_clocked=True)
    alive = [state.live_count]
    for event in out.events:
        state.apply(event)
        alive.append(state.live_count)
    assert waiting.run(0, limits=tl.Limits(tokens=max(alive))).status == "Returned"
    assert waiting.run(0, limits=tl.Limits(tokens=max(alive) - 1)).status == "Exhausted"


def test_a_collect_takes_linear_time() -> None:
    """A collect of n cells takes time linear in n: after waking it continues where it stopped."""

    @tl.function
    def filled(n: tl.int64) -> tl.Array[tl.int64, None]:
        cells, _ = tl.while_loop(lambda a, i: i < n, lambda a, i: (tl.put(a, i, i), i + 1), tl.cells(n, tl.int64), 0)
        return tl.collect(cells)

    history = filled.history(60)
    history.run()
    assert history.state.cells.blocks and list(history.outcome().value) == list(range(60))
    for place in (200, 600, 40, len(history)):
        history.jump(place)
        for block in history.state.cells.blocks.values():
            empty = next((n for n in range(block.size) if n not in block.writes), None)
            assert block.first_empty() == empty


def test_programs_with_handles_are_pickled() -> None:
    """Graphs and programs with handles can be pickled; the dtype of handles remains one object."""

    @tl.function
    def first(n: tl.int64) -> tl.float64:
        return tl.put(tl.cells(n, tl.float64), 0, 2.5)[0]

    graph = pickle.loads(pickle.dumps(first.graph))
    assert graph == first.graph and tl.run_graph(graph, [1]).status == "Returned"


@tl.function
def chain_by_items(n: tl.int64) -> tl.int64:
    a = tl.cells(n, tl.int64)
    a[0] = 1
    for i in range(1, n):
        a[i] = a[i - 1] + 1
    return a[n - 1]


@tl.function
def chain_by_put(n: tl.int64) -> tl.int64:
    a = tl.cells(n, tl.int64)
    tl.put(a, 0, 1)
    for i in range(1, n):
        tl.put(a, i, tl.get(a, i - 1) + 1)
    return tl.get(a, n - 1)


def test_an_assignment_to_a_cell_is_a_put() -> None:
    items, puts = chain_by_items.run(5), chain_by_put.run(5)
    assert items.value == puts.value == 5
    assert items.firings == puts.firings


def test_an_element_of_a_symbolic_array_cannot_be_assigned() -> None:
    @tl.function
    def first(x):
        x[0] = 1.0
        return x

    with pytest.raises(tl.Invalid, match=r"F4: an array is changed .*\n.*\n.*tl.scatter"):
        first(tl.zeros(3))
