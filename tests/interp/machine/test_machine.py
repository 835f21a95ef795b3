"""The rules of the machine, S1 to S11, each on a graph small enough to be checked by hand."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl
from support.observe.event_text import event_lines, line, lines
from support.programs.hand_written_graphs import counting_loop, race, sum_graph
from support.programs.waves import later
from tagloom.core.errors import Broken
from tagloom.core.graph.graph import Edge, Graph
from tagloom.core.tag import ROOT
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.fire import build_rules, needs_limit_check
from tagloom.interp.machine.state import ActivationRecord, State
from tagloom.interp.machine.step import step
from tagloom.interp.outcome.outcome import Outcome

INT = tl.Type(tl.int64)


@tl.function
def increment(x: tl.int64) -> tl.int64:
    return x + 1


@tl.function
def two_calls(n: tl.int64) -> tl.int64:
    return increment(n) * increment(n + n)


@tl.function
def first(x: tl.int64, y: tl.int64) -> tl.int64:
    return x + 1


@tl.function
def late_argument(n: tl.int64) -> tl.int64:
    return first(n, later(n, 4))


@tl.function
def count(n: tl.int64) -> tl.int64:
    (i,) = tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)
    return i


@tl.function
def choose(p: tl.bool, x: tl.int64) -> tl.int64:
    return tl.cond(p, lambda: x + 1, lambda: x - 1)


@tl.function
def trapping(n: tl.int64) -> tuple[tl.int64, tl.int64]:
    return 7 // n, n + 1


@tl.function
def divided(n: tl.int64) -> tl.int64:
    return 60 // n


def run_to_quiescence(state: State) -> list[Event]:
    """Runs a state until it is quiescent, oldest token first, and returns the events."""
    events = []
    while state.flight:
        events.append(step(state, 0))
        state.apply(events[-1])
    return events


def state_after(graph: Graph, arguments: list[Any], steps: int) -> State:
    """The state after this many steps, oldest token first."""
    state = State(graph, arguments)
    for _ in range(steps):
        state.apply(step(state, 0))
    return state


def record_of(state: State, tag: str) -> ActivationRecord:
    """The record of the open activation of this tag."""
    (result,) = [record for open_tag, record in state.records.items() if str(open_tag) == tag]
    return result


def test_s1_a_step_delivers_one_token() -> None:
    """S1: a step delivers the token at any given position, and the other tokens keep their order. Computing a step does
    not change the state."""
    graph = sum_graph()
    for position in range(3):
        state = State(graph, [3, 4])
        before = list(state.flight)
        untouched = state.snapshot()
        event = step(state, position)
        assert state.snapshot() == untouched
        state.apply(event)
        assert (event.token, event.position) == (before[position], position)
        assert list(state.flight) == [*before[:position], *before[position + 1 :]]


def test_s2_a_node_fires_when_every_port_has_a_token() -> None:
    """S2: the first token for a node with two ports waits; the node fires on the second and consumes both."""
    graph = sum_graph()
    state = State(graph, [3, 4])
    assert lines(graph, run_to_quiescence(state)) == [
        "inner[0] <- 3 @ main: waits",
        "inner[1] <- 4 @ main: sends 7 to outer[0]",
        "outer[1] <- 4 @ main: waits",
        "outer[0] <- 7 @ main: sends 11 to return[0]",
        "return[0] <- 11 @ main: sends 11 to result 0; closes main",
    ]
    assert (state.results, state.waiting_count, state.records) == ({0: 11}, 0, {})


def test_tokens_of_another_machine_are_received() -> None:
    """A machine that begins without arguments, and receives their tokens from another, ends as that one would."""
    graph = sum_graph()
    three, *fours = State(graph, [3, 4]).flight
    state = State(graph, None)
    state.receive([three], is_argument=True)
    state.receive(fours, is_argument=True)
    assert (state.records[ROOT].token_count, state.records[ROOT].arguments_received) == (3, 2)
    run_to_quiescence(state)
    assert (state.results, state.waiting_count, state.records) == ({0: 11}, 0, {})


def test_s2_a_token_waits_in_its_record() -> None:
    """S2: the record of an activation holds its waiting tokens by node and port, and counts them."""
    state = state_after(sum_graph(), [3, 4], 1)
    record = state.records[ROOT]
    assert (record.waiting_operands, record.token_count, state.waiting_count, len(state.flight)) == (
        {0: {0: 3}},
        3,
        1,
        2,
    )


def test_s2_a_literal_needs_no_token() -> None:
    """S2: a port with a literal is always full, so `x + 1` fires on one token."""
    assert event_lines(increment.run(3, keep="events")) == [
        "x[0] <- 3 @ main: sends 3 to add[0]",
        "add[0] <- 3 @ main: sends 4 to return[0]",
        "return[0] <- 4 @ main: sends 4 to result 0; closes main",
    ]


def test_s3_results_go_to_the_end_of_the_flight() -> None:
    """S3: a firing sends all its tokens at once, to the end of the flight, ordered by node and then by port, whatever
    the order in which the edges were added."""
    builder = tl.GraphBuilder("fan")
    x = builder.argument("x", INT)
    (a,) = builder.node("negative", "a", [x], [INT])
    (b,) = builder.node("add", "b", [None, None], [INT])
    (c,) = builder.node("negative", "c", [x], [INT])
    for node, port in ((b.node, 1), (b.node, 0)):
        builder.connect(a, node, port)
    graph = builder.build([b, c])
    state = State(graph, [5])
    event = step(state, 0)
    state.apply(event)
    assert [(token.node, token.port) for token in state.flight] == [(c.node, 0), (b.node, 0), (b.node, 1)]
    assert tuple(state.flight)[1:] == event.sent


def test_s3_tokens_are_ordered_by_output() -> None:
    """S3: a node sends the tokens of its first output before those of the second, although the graph lists the second's
    edges first: exit sends the value before the trip count."""
    graph = counting_loop([("trips", 1), ("value", 0)])
    state = State(graph, [1])
    (event,) = [event for event in run_to_quiescence(state) if graph.nodes[event.token.node].name == "out"]
    assert line(graph, event) == "out[0] <- 1 @ main/loop[1]: sends 1 to value[0] @ main, 1 to trips[0] @ main"


def test_s4_no_port_gets_a_second_token() -> None:
    """S4: a second token on a full port breaks the run. The error names node, tag, port and both tokens."""
    state = state_after(race("add", 2), [3, 4, 5], 1)
    with pytest.raises(Broken) as raised:
        step(state, 0)
    assert (raised.value.rule, raised.value.tag) == ("S4", ROOT)
    assert str(raised.value) == (
        "S4: node race.node got a second token under main\n"
        "  required: one token on port 0, which holds 3\n"
        "  got: 4 on port 0, from argument x or argument y\n"
        "  hint: two edges end on this port; a merge is missing before it"
    )


@pytest.mark.parametrize(("op", "ports", "arguments"), [("merge", 1, [3, 4]), ("add", 2, [3, 5, 4])])
def test_s4_no_node_fires_twice_under_a_tag(op: str, ports: int, arguments: list[int]) -> None:
    """S4: a node that has fired under a tag cannot fire under it again, even if nothing waits: so a race at a merge is
    caught."""
    graph = race(op, ports)
    state = State(graph, arguments)
    order = [0] if op == "merge" else [0, 1]
    for position in order:
        state.apply(step(state, position))
    assert not state.records[ROOT].waiting_operands
    with pytest.raises(Broken, match="one firing under a tag; it has fired already"):
        step(state, 0)


def test_s4_a_node_fires_once_under_each_tag() -> None:
    """S4: a node fires once under each tag: the `add` of a function that is called twice fires under the tag of each
    call."""
    assert [str(tag) for tag in two_calls.run(3, keep="events").values("increment.add")] == [
        "main/increment",
        "main/increment_1",
    ]


def test_s5_an_ordinary_node_computes() -> None:
    """S5: a node sends its result under the tag of its operands, and the event has the operands by port."""
    out = trapping.run(2, keep="events")
    (event,) = [
        event for event in out.events if event.is_firing and str(out.graph.nodes[event.token.node]).endswith("ide")
    ]
    assert (event.inputs, event.outputs, event.trap) == ((7, 2), ((0, 3),), None)
    assert [token.tag for token in event.sent] == [ROOT]


def test_s5_a_trap_sends_nothing_and_the_run_goes_on() -> None:
    """S5: a firing that traps is counted, consumes its operands and sends nothing; other nodes continue to
    quiescence."""
    out = trapping.run(0, keep="events")
    assert event_lines(out) == [
        "n[0] <- 0 @ main: sends 0 to floor_divide[1], 0 to add[0]",
        "floor_divide[1] <- 0 @ main: traps, integer division by zero",
        "add[0] <- 0 @ main: sends 1 to return_1[0]",
        "return_1[0] <- 1 @ main: sends 1 to result 1",
    ]
    assert (out.status, out.results, out.missing, out.firings) == ("Trapped", (None, 1), (0,), 4)


def test_s6_merge_and_switch() -> None:
    """S6: switch sends its value to output 0 if the predicate is true, and to output 1 otherwise. Merge passes its
    operand on."""
    assert event_lines(choose.run(True, 5, keep="events"))[2:] == [
        "cond.switch_x[1] <- true @ main: waits",
        "cond.switch_x[0] <- 5 @ main: sends 5 to add[0]",
        "add[0] <- 5 @ main: sends 6 to cond[0]",
        "cond[0] <- 6 @ main: sends 6 to return[0]",
        "return[0] <- 6 @ main: sends 6 to result 0; closes main",
    ]
    assert event_lines(choose.run(False, 5, keep="events"))[3:6] == [
        "cond.switch_x[0] <- 5 @ main: sends 5 to subtract[0]",
        "subtract[0] <- 5 @ main: sends 4 to cond[1]",
        "cond[1] <- 4 @ main: sends 4 to return[0]",
    ]


def test_s7_s8_s10_calls_and_returns() -> None:
    """S7: call sends t -> t/site. S8: return sends t/site -> t. S10: the one `add` feeds both returns, and each result
    goes to the return of the site on top of its tag."""
    assert event_lines(two_calls.run(3, keep="events")) == [
        "n[0] <- 3 @ main: sends 3 to increment.call_x[0], 3 to add[0], 3 to add[1]",
        "increment.call_x[0] <- 3 @ main: sends 3 to x[0] @ main/increment",
        "add[0] <- 3 @ main: waits",
        "add[1] <- 3 @ main: sends 6 to increment_1.call_x[0]",
        "x[0] <- 3 @ main/increment: sends 3 to add[0]",
        "increment_1.call_x[0] <- 6 @ main: sends 6 to x[1] @ main/increment_1",
        "add[0] <- 3 @ main/increment: sends 4 to increment[0]",
        "x[1] <- 6 @ main/increment_1: sends 6 to add[0]",
        "increment[0] <- 4 @ main/increment: sends 4 to multiply[0] @ main; closes main/increment",
        "add[0] <- 6 @ main/increment_1: sends 7 to increment_1[0]",
        "multiply[0] <- 4 @ main: waits",
        "increment_1[0] <- 7 @ main/increment_1: sends 7 to multiply[1] @ main; closes main/increment_1",
        "multiply[1] <- 7 @ main: sends 28 to return[0]",
        "return[0] <- 28 @ main: sends 28 to result 0; closes main",
    ]


def test_s10_the_environment_is_a_site() -> None:
    """S10: the outermost result of a recursion goes to the environment, which is node -1 in events, and the others go
    to the calling node."""

    @tl.function
    def down(n: tl.int64) -> tl.int64:
        return tl.cond(n < 1, lambda: n, lambda: down(n - 1))

    out = down.run(2, keep="events")
    (merge,) = out.graph.find("cond")
    routes = build_rules(out.graph)[merge].routes[0]
    assert routes is not None
    assert {str(site): [str(out.graph.nodes[edge.node]) for edge in edges] for site, edges in routes.items()} == {
        ".main": ["down.return"],
        "down.down": ["down.down"],
        "None": [],
    }
    assert {str(tag): value for tag, value in out.values("down.down").items()} == {"main/down": 0, "main/down/down": 0}
    assert [tuple(token) for token in out.events[-1].sent] == [(-1, 0, ROOT, 0)]


def test_functions_are_non_strict() -> None:
    """A function starts on its first argument and returns before the other has come. The other is consumed all the
    same."""
    reply = event_lines(late_argument.run(3, keep="events"))
    sent, started, returned = (
        next(number for number, line in enumerate(reply) if line.startswith(begin))
        for begin in ("first.call_y[0]", "add[0]", "first[0]")
    )
    assert started < returned < sent
    assert reply[-1] == "y[0] <- 3 @ main/first: sends nothing; closes main/first, main"


def test_s7_s8_s9_a_loop() -> None:
    """S7: enter sends t -> t/loop[0]. S9: next_iteration sends t/loop[k] -> t/loop[k+1]. S8: exit sends
    t/loop[k] -> t. Each iteration closes when its last token has left it."""
    reply = event_lines(count.run(1, keep="events"))
    assert [line for line in reply if line.startswith(("loop.enter", "loop.next", "loop[", "loop_n["))] == [
        "loop.enter_i[1] <- true @ main: sends 0 to loop.i[0] @ main/loop[0]",
        "loop.enter_n[0] <- 1 @ main: sends 1 to loop.n[0] @ main/loop[0]",
        "loop.next_n[0] <- 1 @ main/loop[0]: sends 1 to loop.n[1] @ main/loop[1]",
        "loop.next_i[0] <- 1 @ main/loop[0]: sends 1 to loop.i[1] @ main/loop[1]; closes main/loop[0]",
        "loop[0] <- 1 @ main/loop[1]: sends 1 to return[0] @ main",
        "loop_n[0] <- 1 @ main/loop[1]: sends nothing; closes main/loop[1]",
    ]


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_s8_the_second_output_of_exit_is_the_trip_count(trips: int) -> None:
    """S8: the second output of exit is k, the number of the iteration that it leaves: the number of trips."""
    out = tl.run_graph(counting_loop([("value", 0), ("trips", 1)]), [trips])
    assert (out.status, out.results, out.residue) == ("Returned", (trips, trips), ())


def test_s11_the_counts_of_a_record() -> None:
    """S11: a record counts its tokens, its open children, the arguments received and the results returned."""
    state = State(two_calls.graph, [3])
    assert record_of(state, "main").signature == (1, 1)
    seen = []
    while state.flight:
        state.apply(step(state, 0))
        seen.append(
            {
                str(tag): (r.token_count, r.open_children, r.arguments_received, r.results_returned)
                for tag, r in state.records.items()
            }
        )
    assert seen == [
        {"main": (3, 0, 1, 0)},  # n has fired: a call's token, and two to add
        {"main": (2, 1, 1, 0), "main/increment": (1, 0, 1, 0)},
        {"main": (2, 1, 1, 0), "main/increment": (1, 0, 1, 0)},
        {"main": (1, 1, 1, 0), "main/increment": (1, 0, 1, 0)},
        {"main": (1, 1, 1, 0), "main/increment": (1, 0, 1, 0)},
        {"main": (0, 2, 1, 0), "main/increment": (1, 0, 1, 0), "main/increment_1": (1, 0, 1, 0)},
        {"main": (0, 2, 1, 0), "main/increment": (1, 0, 1, 0), "main/increment_1": (1, 0, 1, 0)},
        {"main": (0, 2, 1, 0), "main/increment": (1, 0, 1, 0), "main/increment_1": (1, 0, 1, 0)},
        {"main": (1, 1, 1, 0), "main/increment_1": (1, 0, 1, 0)},
        {"main": (1, 1, 1, 0), "main/increment_1": (1, 0, 1, 0)},
        {"main": (1, 1, 1, 0), "main/increment_1": (1, 0, 1, 0)},
        {"main": (2, 0, 1, 0)},
        {"main": (1, 0, 1, 0)},
        {},
    ]


def test_s11_children_are_interned_and_released() -> None:
    """S11: both arguments of a call have one tag object. When the activation closes, its parent forgets the tag, and
    the record is removed."""
    state = State(late_argument.graph, [3])
    tags = []
    while state.flight:
        event = step(state, 0)
        state.apply(event)
        main = state.records.get(ROOT)
        if main is not None and main.child_tags:
            ((site, iteration),) = main.child_tags
            assert (str(site), iteration) == ("late_argument.first", 0)
            tags += [token.tag for token in event.sent if token.tag is not ROOT]
    assert len(tags) == 4 and all(tag is tags[0] for tag in tags)
    assert state.records == {}


def test_s11_an_open_child_keeps_its_ancestors_open() -> None:
    """S11: an activation without further tokens stays open while a child is open; then all close in one event,
    innermost first."""
    out = late_argument.run(3, keep="events")
    assert [[str(closed.tag) for closed in event.closed] for event in out.events if event.closed] == [
        ["main/first", "main"]
    ]
    (closing,) = out.events[-1].closed[:1]
    assert {str(out.graph.nodes[node]) for node in closing.fired_nodes} == {
        "first.x",
        "first.y",
        "first.add",
        "late_argument.first",
    }


def test_s11_a_lost_result_keeps_its_activation_open() -> None:
    """S11: if a trap loses the result of a call, the call's activation and its ancestors never close."""

    @tl.function
    def outer(n: tl.int64) -> tl.int64:
        return divided(n)

    out = outer.run(0)
    assert (out.status, out.open_activations, out.residue) == ("Trapped", 2, ())
    assert outer.run(5).open_activations == 0


def test_a_trigger_is_consumed_like_any_token() -> None:
    """L7, S2: a node with literals only fires on its trigger, and ignores the trigger's value."""

    @tl.function
    def constant() -> tl.int64:
        return tl.cond(True, lambda: 1, lambda: 2)

    out: Outcome = constant.run(keep="events")
    assert out.value == 1
    (node,) = out.graph.find("literal")
    assert out.graph.nodes[node].has_trigger
    assert out.graph.arguments[0][1].edges == (Edge(0, 0),)


def test_limits_are_checked_before_long_firings() -> None:
    """Before a firing that computes arrays, or has an effect, the machine checks its limits; before others it does
    not."""

    @tl.function
    def run(x: tl.float64, v: tl.Array[tl.float64, None]) -> tl.float64:
        tl.print(x)
        return tl.cond(x > 0.0, lambda: tl.sum(v + 1.0), lambda: x * 2.0)

    checked = {node.op for node in run.graph.nodes if needs_limit_check(node)}
    assert checked == {"add", "sum", "print"}
    assert {"merge", "switch", "greater", "multiply"} <= {node.op for node in run.graph.nodes} - checked
