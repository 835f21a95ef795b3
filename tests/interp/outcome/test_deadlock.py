"""The cause of a deadlock: the cell that nothing fills, and the reads that lead to it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tagloom as tl
from tagloom.tui.session.commands import new_session


@tl.function
def backwards(n: tl.int64) -> tl.int64:
    """Each iteration reads the cell that the next one fills."""

    def fill(j: Any) -> Any:
        tl.put(chain, j, 2 * chain[j + 1])
        return j + 1

    chain = tl.cells(n + 1, tl.int64)
    tl.put(chain, n, 1)
    tl.while_loop(lambda j: j < n, fill, 0)
    return chain[0]


@tl.function
def circular(n: tl.int64) -> tl.int64:
    ring = tl.cells(2, tl.int64)
    tl.put(ring, 0, ring[1] + n)
    tl.put(ring, 1, ring[0])
    return ring[0]


@tl.function
def half(n: tl.int64) -> tl.int64:
    pair = tl.cells(2, tl.int64)
    tl.put(pair, 0, n)
    return pair[0] + pair[1]


@tl.function
def caller(n: tl.int64) -> tl.int64:
    return half(n) + 1


@tl.function
def gathered(n: tl.int64) -> Any:
    both = tl.cells(2, tl.int64)
    tl.put(both, 0, n)
    tl.print(both[1])
    return tl.collect(both)


def cause(function: tl.Function, *arguments: object, **options: Any) -> list[str]:
    """The lines of the cause of a deadlock, without the numbers of source lines."""
    error = function.run(*arguments, **options).error
    assert isinstance(error, tl.Deadlock) and error.excerpt is not None and not getattr(error, "__notes__", [])
    return re.sub(r"test_deadlock\.py:\d+", "HERE", error.excerpt).splitlines()


@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo", "random:1"])
def test_a_chain_of_reads_ends_at_the_cell_that_nothing_fills(schedule: str) -> None:
    """The chain begins at the read that the result waits for, under every schedule."""
    assert cause(backwards, 6, k=3, schedule=schedule) == [
        "  nothing fills chain[3]",
        "  HERE reads chain[0] under main",
        "  HERE reads chain[1] under main/loop[0], to fill chain[0]",
        "  HERE reads chain[2] under main/loop[1], to fill chain[1]",
        "  HERE reads chain[3] under main/loop[2], to fill chain[2]",
        "  main/loop[3] has not begun: iteration 0 is still busy, and the bound of backwards.loop is 3",
    ]


def test_the_middle_of_a_long_chain_is_left_out() -> None:
    """Of 41 reads, the first three and the last three are listed."""
    lines = cause(backwards, 60, k=40)
    assert len(lines) == 9 and lines[4] == "  ... 35 more reads ..."
    assert lines[-2] == "  HERE reads chain[40] under main/loop[39], to fill chain[39]"


def test_reads_that_wait_for_each_other_are_a_cycle() -> None:
    """A cell that waits for itself is named with the reads around the cycle, and nothing else."""
    assert cause(circular, 1) == [
        "  ring[1] waits for itself",
        "  HERE reads ring[1] under main, to fill ring[0]",
        "  HERE reads ring[0] under main, to fill ring[1]",
    ]


def test_a_read_in_a_call_is_found_from_the_result() -> None:
    """Cells of a call are named with its tag."""
    assert cause(caller, 1) == [
        "  nothing fills pair[1] of main/half",
        "  HERE reads pair[1] of main/half under main/half",
    ]


def test_other_reads_of_the_cell_are_listed() -> None:
    """Each read of the cell that nothing fills may be the mistake."""
    lines = cause(gathered, 1)
    assert lines[0] == "  nothing fills both[1]" and len(lines) == 3
    assert lines[2] == "  HERE reads both[1] under main, too"


@pytest.mark.full
def test_all_engines_name_the_same_cause() -> None:
    """The cause follows from the residue, which all machines with tokens leave alike."""
    assert cause(backwards, 6, k=3, engine="fast") == cause(backwards, 6, k=3)


def test_cells_without_a_name_in_the_source_have_that_of_their_node() -> None:
    """In the text form, that is the name of the value."""
    program = tl.parse("""func main(n: int64) -> int64 {
  block = cells n, element=int64
  x = get block, 0
  return x
}""").program
    assert program is not None
    error = tl.run_graph(tl.lower(program), [2]).error
    assert error is not None and error.excerpt is not None
    assert error.excerpt.splitlines()[0] == "  nothing fills block[0]"


def test_the_debugger_says_why_a_run_deadlocked() -> None:
    """The cause stands below the position at the end, without a question, and nowhere before."""
    session = new_session()
    session.add_run(backwards.history(6, k=3), None, "backwards")
    assert not any("nothing fills" in line for line in session.execute("step").text)
    lines = session.execute("run").text
    assert "  nothing fills chain[3]" in lines and lines[-1].startswith("  hint: try a larger bound")
