"""The text of answers: which parts of a long answer are printed, and the words for each kind of root."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.laws.query_laws import new_run, run_and_index
from support.programs.hand_written_graphs import stuck, sum_graph
from tagloom.core.graph.graph import Graph, OutputRef
from tagloom.core.tag import ROOT
from tagloom.interp.history.history import History
from tagloom.interp.queries.answers import UnfedPort, UnfilledCell
from tagloom.interp.queries.why_not import why_not


def chain(count: int) -> Graph:
    """A chain of nodes that wait for each other, the first one for the argument."""
    nodes = [f"  n{at} = negative {f'n{at - 1}' if at else 'x'}" for at in range(count)]
    return tl.parse_graph("\n".join(["graph chain(x: int64) -> int64 {", *nodes, f"  return n{count - 1}", "}"]))


def total(count: int) -> Graph:
    """The sum of so many arguments, from the left."""
    arguments = ", ".join(f"x{at}: int64" for at in range(count))
    nodes = [f"  s{at} = add {f's{at - 1}' if at > 1 else 'x0'}, x{at}" for at in range(1, count)]
    return tl.parse_graph("\n".join([f"graph total({arguments}) -> int64 {{", *nodes, f"  return s{count - 1}", "}"]))


def path_lines(graph: Graph) -> list[str]:
    """The lines between `got` and `hint` in the answer why the result has not come, at the beginning of a run."""
    state, index = new_run(graph, [7] * len(graph.arguments))
    return str(why_not(index, state, graph.results[0], ROOT)).splitlines()[3:-1]


@pytest.mark.parametrize(("count", "message"), [(7, [*"6543210"]), (8, [*"76543210"])])
def test_short_paths_are_printed_in_full(count: int, message: list[str]) -> None:
    """A path of up to eight steps is printed in full, a step on each line, with its end."""
    *steps, end = path_lines(chain(count))
    assert [line.rsplit(".n")[-1].removesuffix(" under main") for line in steps] == message
    assert end == "  port 0 of chain.n0 under main: the token from argument x is in flight, at position 0"


@pytest.mark.parametrize(
    ("count", "first", "left_out", "last"), [(9, "8765", 1, "3210"), (10, "9876", 2, "3210"), (21, "", 13, "")]
)
def test_long_paths_leave_out_their_middle(count: int, first: str, left_out: int, last: str) -> None:
    """Of a path of more than eight steps, the first four and the last four are printed, with the number of steps
    between."""
    *steps, _ = path_lines(chain(count))
    assert len(steps) == 9 and steps[4] == f"  ... {left_out} more ..."
    waited_for = [line.rsplit(".n")[-1].removesuffix(" under main") for line in steps]
    assert "".join(waited_for[:4]).startswith(first) and "".join(waited_for[5:]).endswith(last)


@pytest.mark.parametrize(("count", "more"), [(2, []), (3, []), (4, ["  and 1 more"]), (5, ["  and 2 more"])])
def test_at_most_three_roots_are_printed(count: int, more: list[str]) -> None:
    """The path to the first root, the ends of two others, and the number of further ones are printed."""
    lines = path_lines(total(count))
    assert [line for line in lines if line.startswith("  and ")] == lines[len(lines) - len(more) :] == more
    ends = [line for line in lines if " is in flight, at position " in line]
    assert len(ends) == min(count, 3)
    assert [line.startswith("  also ") for line in ends] == [False, True, True][: len(ends)]


def test_stores_that_might_fill_a_cell() -> None:
    """Up to four stores are named, with their tags if known; the others are counted."""
    graph = sum_graph()
    four = "sum.inner under main, sum.outer, sum.inner, sum.outer"
    for more, text in ((), four), ((1,), f"{four} and 1 more"), ((1, 0), f"{four} and 2 more"):
        stores = ((0, ROOT), (1, None), (0, None), (1, None), *((store, None) for store in more))
        assert UnfilledCell(stores).describe(graph) == f"no store of such cells has been sent its index ({text})"
    assert UnfilledCell(()).describe(graph) == "there is no store that could fill it"


def test_ports_that_nothing_feeds() -> None:
    """The text for a port without a source, and for one whose sources send under other tags."""
    assert UnfedPort(()).describe(sum_graph()) == "nothing is connected to it"
    assert UnfedPort((OutputRef(-1, 1), OutputRef(0, 0))).describe(sum_graph()) == (
        "argument y and sum.inner sends to it under other tags only"
    )


OUTSIDE = tl.parse_graph(
    """graph outside(x: int64, n: int64) -> int64 {
  enter_i = enter[loop] 0 @ n
  i = merge enter_i, next_i
  more = less i, n
  way = switch i, more
  next_i = next_iteration[loop] way:0
  out = exit[loop] way:1
  return out:0
}"""
)
"""A loop that n has not entered."""


def test_a_token_that_comes_under_another_tag() -> None:
    """The text names the argument that the loop needs and never gets, what the node has received, and that nothing else
    can come."""
    state, index = run_and_index(OUTSIDE, [7, 3])
    assert str(why_not(index, state, OUTSIDE.results[0], ROOT)).splitlines() == [
        "S2: node outside.return has not fired under main",
        "  required: a token on port 0",
        "  got: none",
        "  port 0 of outside.return under main: waits for outside.out under main/loop[0]",
        "  port 0 of outside.out under main/loop[0]: waits for outside.way under main/loop[0]",
        "  port 1 of outside.way under main/loop[0]: waits for outside.more under main/loop[0]",
        "  port 1 of outside.more under main/loop[0]: argument n sends to it under other tags only",
        "  hint: it never will",
    ]
    (merge,), (again,) = OUTSIDE.find("i"), [tag for tag in state.records if tag is not ROOT]
    assert str(why_not(index, state, merge, ROOT.child(again.site, 1))).splitlines()[1:4] == [
        "  required: a token on one of the ports 0, 1",
        "  got: no such activation: it has not opened",
        "  port 0 of outside.i under main/loop[1]: waits for main/loop[1] to open",
    ]


def test_an_edited_predicate() -> None:
    """The predicate of a switch is printed with its edit."""
    history = History(stuck(), [1], schedule="fifo", unchecked=True)
    history.run()
    history.jump(1)
    what_if = history.change(("switch", 1, "main"), False)
    what_if.run()
    assert str(what_if.ask.why_not("sum")).splitlines()[2:4] == [
        "  got: 1 on port 1 from stuck.switch at event 2",
        "  port 0 of stuck.sum under main: it went to the other output at stuck.switch under main at event 2: "
        "switch 1, false -> 1; false came from stuck.less at event 0 (changed to false)",
    ]
    held = what_if.change(("sum", 1, "main"), 9)
    assert str(held.ask.why_not("sum")).splitlines()[2] == (
        "  got: 9 on port 1 from stuck.switch at event 2 (changed to 9)"
    )
