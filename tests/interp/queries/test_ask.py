"""Queries on a history, by name; their answers do not change when the history moves."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.programs.hand_written_graphs import stuck
from tagloom.interp.history.history import History


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def half_full(n: tl.int64) -> tl.int64:
    filled = tl.put(tl.cells(2, tl.int64), 0, n)
    return tl.get(filled, 0) + tl.get(filled, 1)


@tl.function
def quotient(n: tl.int64) -> tl.int64:
    return (n + 1) // (n - n)


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def rows(n: tl.int64) -> tl.int64:
    """A loop in a loop."""

    def row(i: tl.int64, total: tl.int64) -> tuple[tl.int64, tl.int64]:
        return i + 1, tl.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s * 2), 0, total)[1]

    return tl.while_loop(lambda i, total: i < n, row, 0, 1)[1]


def history_at_its_end(function: tl.Function, *arguments: object) -> tl.History:
    history = function.history(*arguments)
    history.run()
    return history


def without_locations(text: str) -> list[str]:
    """The lines without the source locations of nodes."""
    return [line.split(" (")[0] + line[line.index(" under") :] if " (" in line else line for line in text.splitlines()]


def test_the_provenance_of_a_trap() -> None:
    """The provenance of a firing that sent nothing begins with the firing, with all its operands below."""
    ask = history_at_its_end(quotient, 3).ask
    assert without_locations(ask.tree("floor_divide", depth=1)) == [
        "quotient.floor_divide under main at event 5: floor_divide 4, 0 traps: integer division by zero",
        "  port 0: quotient.add under main at event 1: add 3, 1 -> 4",
        "  port 1: quotient.subtract under main at event 3: subtract 3, 3 -> 0",
        "1 more level: depth 2 shows it",
    ]
    assert [link.depth for link in ask.where_from("floor_divide")] == [0, 1, 1, 2, 3]
    assert ask.tree("floor_divide", depth=0).splitlines()[1:] == ["2 more levels: depth 2 shows them"]


def test_the_provenance_of_a_put() -> None:
    """The provenance of a put, which sends no token, begins with its firing too."""
    first, *below = without_locations(history_at_its_end(half_full, 5).ask.tree("put", depth=1))
    assert first.startswith("half_full.put under main at event ")
    assert [line.split(" ")[2:4] for line in below] == [["port", "0:"], ["port", "2:"]]


def test_a_hidden_argument_is_true() -> None:
    """The trigger of a constant program is listed as an argument, with the value true."""

    @tl.function
    def constant() -> tl.int64:
        return tl.identity(1) + 2

    history = constant.history()
    history.run()
    *_, last = history.ask.where_from("add")
    assert str(last) == "argument trigger = true"


def test_answers_do_not_change_when_the_history_moves() -> None:
    """An answer is computed completely when it is asked for."""
    history = fib.history(3)
    history.jump(0)
    ready = history.ask.could_fire()
    assert len(ready) == 1 and str(ready) == "position 0: fib.n under main"
    history.run()
    behind, after = history.ask.where_from("add", depth=1), history.ask.who_used("subtract")
    history.jump(3)
    assert len(ready) == 1 and len(behind) == 3 and len(after) == 1
    assert without_locations(str(behind))[0] == "fib.add under main at event 52: add 2, 1 -> 3"
    assert [str(link) for link in behind] == str(behind).splitlines()


def test_a_tree_leaves_out_nodes_that_only_pass_a_value_on() -> None:
    """An operand has the firing that made its value, and the last call that passed it on."""
    ask = history_at_its_end(fib, 3).ask
    assert without_locations(ask.tree("add", depth=2)) == [
        "fib.add under main at event 52: add 2, 1 -> 3",
        "  port 0: fib.add under main/fib at event 49: add 1, 1 -> 2",
        "    port 0: fib.literal under main/fib/fib at event 42: identity 1 -> 1",
        "    port 1: fib.literal under main/fib/fib_1 at event 43: identity 1 -> 1",
        "  port 1: fib.literal under main/fib_1 at event 24: identity 1 -> 1",
        "    port 1: fib.less_equal under main/fib_1 at event 14: less_equal 1, 1 -> true",
        "4 more levels: depth 6 shows them",
    ]
    below = ask.tree("subtract", "main/fib", depth=1).splitlines()[1]
    assert below.split(" (")[0] == "  port 0: fib.subtract" and ", through fib.fib.call_n (" in below


@pytest.mark.parametrize("depth", range(7))
def test_a_tree_says_how_many_levels_are_below(depth: int) -> None:
    """The last line counts them, at each depth, and stands only where the tree is cut."""
    lines = history_at_its_end(fib, 3).ask.tree("add", depth=depth).splitlines()
    indents = [(len(line) - len(line.lstrip())) // 2 for line in lines]
    if depth == 6:
        assert indents[-1] and max(indents) == 6
    else:
        assert max(indents) == depth
        left = 6 - depth
        shows = "it" if left == 1 else "them"
        assert lines[-1] == f"{left} more level{'s' * (left > 1)}: depth 6 shows {shows}"


def test_the_origin_of_a_value_is_behind_what_passes_it_on() -> None:
    """The firing or argument that made the value on a port, by default on the first one."""
    ask = history_at_its_end(fib, 3).ask
    assert without_locations(str(ask.origin("add"))) == ["fib.add under main/fib at event 49: add 1, 1 -> 2"]
    assert without_locations(str(ask.origin("add", port=1))) == [
        "fib.literal under main/fib_1 at event 24: identity 1 -> 1"
    ]
    assert str(ask.origin("return")) == str(ask.origin("cond"))
    assert str(ask.origin("subtract")) == "argument n = 3"
    with pytest.raises(tl.Usage, match="no token has come to port 7 of add under main"):
        ask.origin("add", port=7)


def test_answers_name_edits() -> None:
    """Every answer names the edit and the origin of an edited token, except before the edit and in the parent."""
    history = history_at_its_end(fib, 4)
    history.jump(0)
    history.forward_to("node == 'subtract' and fired")
    position = len(history.state.flight) - 1
    what_if = history.change(position, 1)
    sent = without_locations(what_if.ask.tree("subtract", depth=0))[0]
    assert sent == f"fib.subtract under main at event {history.position - 1}: subtract 4, 1 -> 3"
    asked = what_if.ask.why_not("fib.call_n")
    assert "the token from fib.subtract at event 6 (changed to 1) is in flight" in str(asked)
    what_if.run()
    assert without_locations(what_if.ask.tree("fib.call_n", depth=1)) == [
        f"fib.fib.call_n under main at event {what_if.ask.firing('fib.call_n').number}: call 1 -> 1",
        f"  port 0: {sent}, changed to 1",
        "1 more level: depth 2 shows it",
    ]
    assert without_locations(str(what_if.ask.where_from("fib.call_n", depth=1)))[1] == (
        f"{sent}, changed to 1 on port 0 of fib.fib.call_n under main"
    )
    history.run()
    assert "changed" not in history.ask.tree("fib.call_n")
    told = str(history.ask.first_difference(what_if.ask))
    assert "it got different operands" in told
    maker = "from fib.subtract at event 6"
    assert told.endswith(f"port 0 got 3 {maker} in the first, 1 {maker} (changed to 1) in the second")
    what_if.jump(6)
    assert "changed" not in str(what_if.ask.why_not("fib.call_n"))


def test_an_edit_of_the_first_token() -> None:
    """If an edit changed the token of the first event, the answer says so; the argument itself is unchanged."""
    history = fib.history(4)
    history.jump(0)
    what_if = history.change(0, 3)
    what_if.run()
    assert without_locations(what_if.ask.tree("fib.n", depth=1)) == [
        "fib.n under main at event 0: merge 3 -> 3",
        "  port 0: argument n = 4, changed to 3",
    ]


def test_an_edit_behind_a_switch() -> None:
    """A value comes from the edit of a token, even if switches and merges passed it on afterwards."""

    @tl.function
    def doubled(n: tl.int64) -> tl.int64:
        return tl.cond(n > 1, lambda: n + n, lambda: 0)

    history = history_at_its_end(doubled, 3)
    history.jump(2)  # the comparison and the merge of n have fired; n is in flight to the switch
    what_if = history.change(("cond.switch_n", 0, "main"), 7)
    what_if.run()
    left, _, right = what_if.ask.tree("add").splitlines()[1:]
    assert left.endswith(" under main at event 0: merge 3 -> 3, changed to 7")
    assert right == "  port 1: doubled.n at event 0 (changed to 7), as above"


def test_the_origin_of_an_injected_token() -> None:
    """The origin of an injected token is its injection, with its time and later edits, in each form of answer."""
    history = History(stuck(), [1], schedule="fifo", unchecked=True)
    history.run()
    at = len(history)
    injected = history.inject("sum", 1, "main", 30)
    assert f"from an injection at event {at} is in flight" in str(injected.ask.why_not("sum"))
    changed = injected.change(("sum", 1, "main"), 31)
    assert f"from an injection at event {at} (changed to 31) is in flight" in str(changed.ask.why_not("sum"))
    for what_if, text in ((injected, ""), (changed, ", changed to 31")):
        what_if.run()
        assert what_if.ask.tree("sum", depth=1).splitlines()[-1] == f"  port 1: 30, injected at event {at}{text}"


def test_cells_have_the_name_of_their_node() -> None:
    """A handle is named by the node that made it, not by its number."""
    ask = history_at_its_end(half_full, 5).ask
    assert without_locations(ask.tree("put", depth=1))[:2] == [
        "half_full.put under main at event 4: store half_full.cells under main, 0, 5",
        "  port 0: half_full.cells under main at event 2: cells 2 -> half_full.cells under main",
    ]
    (got,) = [line for line in str(ask.why_not("get_1")).splitlines() if line.startswith("  got: ")]
    assert "cells of node" not in got


@pytest.mark.parametrize(
    ("function", "node", "tag", "message", "hint"),
    [
        (even, "odd.subtract", "main", "odd.subtract is not a node of even, which runs under main", "main/odd"),
        (even, "odd.n", "main", "odd.n is not a node of even, which runs under main", "main/odd"),
        (even, "even.subtract", "main/odd", "even.subtract is not a node of odd, which runs under main/odd", "main"),
        (
            rows,
            "multiply",
            "main",
            "rows.multiply is not a node of rows, which runs under main",
            "main/loop[0]/loop_1[0]",
        ),
        (
            rows,
            "rows.return",
            "main/loop[1]",
            "rows.return is not a node of rows.loop, which runs under main/loop[1]",
            "main",
        ),
    ],
)
def test_a_node_of_another_scope_is_refused(
    function: tl.Function, node: str, tag: str, message: str, hint: str
) -> None:
    """A node of another function or loop is refused, with a tag that it has."""
    ask = history_at_its_end(function, 3).ask
    for question in (ask.why_not, ask.tree, ask.who_used):
        with pytest.raises(tl.Usage) as refused:
            question(node, tag)
        assert refused.value.message == message
        assert refused.value.hint == hint


def test_queries_about_firings_are_never_refused() -> None:
    """The tag of each firing is one that its node can have, so no query about a firing is refused."""
    for function in (fib, even, rows, half_full, quotient):
        history = history_at_its_end(function, 3)
        for event in history:
            if event.is_firing:
                node = str(history.graph.nodes[event.token.node])
                assert history.ask.firing(node, event.token.tag).event is event


def test_first_difference_takes_a_history_or_its_ask() -> None:
    """The other run is a history, or the `ask` of one; anything else is refused."""
    one, other = history_at_its_end(fib, 3), history_at_its_end(fib, 4)
    told = one.ask.first_difference(other)
    assert told is not None and str(told) == str(one.ask.first_difference(other.ask))
    assert one.ask.first_difference(history_at_its_end(fib, 3)) is None
    with pytest.raises(tl.Usage, match="other must be a run") as refused:
        one.ask.first_difference(fib.run(3))  # type: ignore[arg-type]
    assert refused.value.required == "a history, or its ask"


def test_the_repr_of_an_answer_is_short() -> None:
    """The `repr` of an answer is one line, without the graph."""
    ask = history_at_its_end(half_full, 5).ask
    assert repr(ask.why_not("get_1")) == "<never: half_full.get_1 under main>"
    assert len(repr(ask.where_from("put")[0])) < 400
    assert "Graph(" not in repr(ask.first_difference(history_at_its_end(half_full, 6)))
