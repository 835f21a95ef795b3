"""Breakpoints: where they stop, what logpoints print, and that hit counts stay right when time goes back."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.observe.moments import RUNS, moments
from tagloom.core.errors import Malformed, TagloomError, Usage
from tagloom.core.graph.graph import Graph
from tagloom.interp.breakpoints import breakpoint as module
from tagloom.interp.breakpoints.breakpoint import (
    NO_HITS,
    PROGRAM_BREAKPOINT_CONDITION,
    Breakpoint,
    Breakpoints,
    LogLine,
    breakpoint_on,
    program_breakpoint,
)
from tagloom.interp.breakpoints.expression import compile_condition, compile_expression, compile_template
from tagloom.interp.engines.reference import admit_arguments
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step

FIB = RUNS["fib"][0]
CONDITIONS = ("fired", "op == 'add'", "tag in '**/fib_1' and value > 0", "store > 2", "lost", "step % 7 == 0", "trap")


def stop_steps(condition: str, run: str = "fib", **details: Any) -> list[int]:
    """The steps of a run at which a breakpoint stops."""
    there = Breakpoints()
    number = there.add(breakpoint_on(RUNS[run][0], condition, **details))
    return [m.state.steps for m in moments(run) if there.evaluate(m.state, m.event).stops == (number,)]


def true_steps(condition: str, run: str = "fib") -> list[int]:
    """The steps of a run after which a condition holds."""
    one = compile_condition(condition, RUNS[run][0])
    return [m.state.steps for m in moments(run) if one.holds(m.state, m.event)]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("ignore", [0, 1, 5, 10_000])
def test_a_breakpoint_stops_behind_the_hits_that_it_ignores(condition: str, ignore: int) -> None:
    """A breakpoint stops at each hit after the ignored ones."""
    for run in ("fib", "mixed", "stuck"):
        try:
            assert stop_steps(condition, run, ignore=ignore) == true_steps(condition, run)[ignore:]
        except Usage as error:
            assert "no" in error.message


class Walk:
    """A run that goes forward and back at random, shows its breakpoints the events on the way forward, and records its
    path."""

    def __init__(self, run: str, chance: random.Random, breakpoints: Breakpoints) -> None:
        graph, arguments, _ = RUNS[run]
        self.state = State(graph, admit_arguments(graph, arguments))
        self.chance = chance
        self.breakpoints = breakpoints
        self.way: list[Event] = []
        self.stops: list[tuple[int, ...]] = []

    def forward(self) -> None:
        if self.state.flight:
            event = step(self.state, self.chance.randrange(len(self.state.flight)))
            self.state.apply(event)
            self.way.append(event)
            self.stops.append(self.breakpoints.evaluate(self.state, event).stops)

    def back(self) -> None:
        if self.way:
            self.state.revert(self.way.pop())
            self.stops.pop()

    def true_hits(self, graph: Graph, condition: str) -> list[int]:
        """The steps of the path at which a condition holds, by a separate run."""
        one, state = compile_condition(condition, graph), State(graph, self.arguments)
        found = []
        for event in self.way:
            state.apply(event)
            if one.holds(state, event):
                found.append(state.steps)
        return found

    @property
    def arguments(self) -> list[Any]:
        return admit_arguments(self.state.graph, RUNS[self.state.graph.name][1])


def wander(chance: random.Random, legs: list[int]) -> list[str]:
    """Wrong hits and stops along a random path of these lengths."""
    expected = {"op == 'add'": 0, "fired and depth > 1": 3, "store > 2": 1}
    there = Breakpoints()
    numbers = {there.add(breakpoint_on(FIB, condition, ignore=n)): condition for condition, n in expected.items()}
    walk, wrong = Walk("fib", chance, there), []
    for leg in legs:
        for _ in range(abs(leg)):
            walk.forward() if leg > 0 else walk.back()
        for number, condition in numbers.items():
            true = walk.true_hits(FIB, condition)
            for at in range(len(walk.way) + 1):
                if there.hits(number, at) != sum(hit <= at for hit in true):
                    wrong.append(f"{condition}: {there.hits(number, at)} hits at step {at}")
            stops = [at for at, numbers_ in enumerate(walk.stops, 1) if number in numbers_]
            if stops != true[expected[condition] :]:
                wrong.append(f"{condition} stops at {stops}")
    return wrong


@given(st.randoms(use_true_random=False), st.lists(st.integers(-30, 40), max_size=6))
@settings(max_examples=40)
def test_hits_are_a_function_of_the_step(chance: random.Random, legs: list[int]) -> None:
    """Hits and stops are those of a run that took the final path directly, however time went back and whatever was
    tried before."""
    assert wander(chance, legs) == []


def test_an_event_counts_once() -> None:
    """An event that is shown again, also on the way back, gives the same answer and no further hit."""
    there = Breakpoints()
    number = there.add(breakpoint_on(FIB, "op == 'add'", ignore=2))
    forwards = [there.evaluate(m.state, m.event) for m in moments("fib")]
    backwards = [there.evaluate(m.state, m.event) for m in reversed(moments("fib"))]
    assert backwards[::-1] == forwards
    assert there.hits(number, len(forwards)) == len(true_steps("op == 'add'"))


def test_logpoints_print_and_do_not_stop() -> None:
    """A logpoint prints a line at each hit that is not ignored; braces contain expressions, and `{{` is a brace."""
    there = Breakpoints()
    said = "{node} got {inputs[0]} {{under}} {tag}: {value * 2}, {outputs}, {inputs[1]}, {trap == '}'}"
    number = there.add(breakpoint_on(FIB, "node == 'fib.n'", log=said, ignore=1))
    seen = [there.evaluate(m.state, m.event) for m in moments("fib")]
    lines = [line for each in seen for line in each.lines]
    assert not any(each.stops for each in seen) and len(lines) == len(true_steps("node == 'fib.n'")) - 1
    assert lines[0] == LogLine(number, lines[0].step, "fib.n got 3 {under} main/fib_1: 6, 3, ?, false")


def test_templates_survive_a_round_trip() -> None:
    """The text of a template parses to the same template, with its braces and quotes."""
    for text in (
        "",
        "plain",
        "{{}}",
        "{value}{tag}",
        "a {{{value}}} b",
        "{trap == '}'}",
        '{trap == "\'{"}',
        "é\n{ 1+1 }",
    ):
        made = compile_template(text, FIB)
        assert compile_template(str(made), FIB) == made
    assert str(compile_template("{ 1+1 }", FIB)) == "{1 + 1}"


@pytest.mark.parametrize(
    "text, message, column",
    [
        ("a } b", "this brace was not opened", 3),
        ("a {value b", "this brace is not closed", 3),
        ("a {value {tag}", "this brace is not closed", 3),
        ("a {trap == '}", "unexpected `'`", 12),
        ("a {valu}", "there is no name 'valu'", 4),
        ("a {}", "the expression ends too soon", 4),
        ("a {value} {value +}", "the expression ends too soon", 19),
    ],
)
def test_a_mistake_in_a_template_is_marked(text: str, message: str, column: int) -> None:
    """A mistake in a template is marked at its position in the whole text."""
    with pytest.raises(TagloomError) as raised:
        breakpoint_on(FIB, "fired", log=text)
    assert (raised.value.message, raised.value.where) == (message, f"column {column}")


def test_disabled_breakpoints_count_nothing() -> None:
    """A disabled breakpoint does not stop and counts no hits; enabled again, it continues with its old count."""
    there = Breakpoints()
    number = there.add(breakpoint_on(FIB, "fired"))
    run = moments("fib")
    for part, enabled in ((run[:20], True), (run[20:40], False), (run[40:60], True)):
        there.replace(number, replace(there[number], enabled=enabled))
        seen = {there.evaluate(m.state, m.event) for m in part}
        assert (seen != {NO_HITS}) is enabled
    fired = [step for step in true_steps("fired") if step <= 20 or 40 < step <= 60]
    assert [there.hits(number, at) for at in (20, 40, 60)] == [sum(hit <= at for hit in fired) for at in (20, 40, 60)]
    for m in run[:20]:
        there.replace(number, replace(there[number], enabled=False))
        there.evaluate(m.state, m.event)
    assert there.hits(number, 20) == 0


def test_breakpoints_have_numbers() -> None:
    """Numbers are unique; another condition begins without hits, the same one keeps them."""
    there = Breakpoints()
    first, second = there.add(breakpoint_on(FIB, "fired")), there.add(breakpoint_on(FIB, "lost"))
    moment = moments("fib")[0]
    assert there.evaluate(moment.state, moment.event).stops == (first,)
    there.replace(first, breakpoint_on(FIB, "(fired)", ignore=1))
    assert there.hits(first, 1) == 1
    there.replace(first, breakpoint_on(FIB, "not lost"))
    assert there.hits(first, 1) == 0
    there.remove(second)
    assert (there.add(breakpoint_on(FIB, "trap")), len(there)) == (3, 2)
    assert [(number, str(each)) for number, each in there] == [(1, "not lost"), (3, "trap")]
    for use in (there.remove, there.__getitem__, lambda number: there.hits(number, 1)):
        with pytest.raises(Usage, match="there is no breakpoint 2"):
            use(second)


def test_a_breakpoint_prints_its_settings() -> None:
    """The text of a breakpoint has its condition, ignore count, message, and whether it is disabled."""
    made = replace(breakpoint_on(FIB, "op=='add'", ignore=1, log="{value}"), enabled=False)
    assert str(made) == "op == 'add', after 1 hit, says '{value}', disabled"


def test_bad_breakpoints_are_refused() -> None:
    """Conditions that are not boolean and ignore counts that are not integers are refused."""
    with pytest.raises(Usage, match="a number is not a bool"):
        breakpoint_on(FIB, "depth")
    with pytest.raises(Usage, match="requires a truth value"):
        Breakpoint(compile_expression("depth", FIB))
    with pytest.raises(Malformed):
        breakpoint_on(FIB, "fired and")
    for ignore in (-1, True, 1.5):
        with pytest.raises(Usage, match="to ignore"):
            breakpoint_on(FIB, "fired", ignore=ignore)  # type: ignore[arg-type]


def test_breakpoints_in_programs() -> None:
    """A run stops where a node of op `breakpoint` fires on true, and not where it fires on false or where its token
    waits; a graph without one stops nowhere. Here fib's comparison stands for one."""
    assert program_breakpoint(FIB) is None
    nodes = tuple(replace(node, op="breakpoint") if node.op == "less_equal" else node for node in FIB.nodes)
    made = program_breakpoint(replace(FIB, nodes=nodes))
    assert made is not None and str(made) == PROGRAM_BREAKPOINT_CONDITION
    stops = [m.state.steps for m in moments("fib") if made.condition.holds(m.state, m.event)]
    assert stops == true_steps("op == 'less_equal' and fired and value") != true_steps("op == 'less_equal'")


# Broken twins.


def count_every_look(patch: MonkeyPatch) -> None:
    """A hit is counted each time the run passes it."""
    patch.setattr(module, "bisect_left", lambda hits, at: len(hits) - 1)


def keep_hits_of_the_old_path(patch: MonkeyPatch) -> None:
    """Another path from the same step keeps the hits of the first."""
    look = module._BreakpointEntry.observe

    def stubborn(self: Any, state: State, event: Event) -> bool:
        before = list(self.hits)
        found = look(self, state, event)
        self.hits = sorted({*before, *self.hits})
        return found

    patch.setattr(module._BreakpointEntry, "observe", stubborn)


def ignore_one_too_few(patch: MonkeyPatch) -> None:
    """One hit too few is ignored."""
    patch.setattr(module, "bisect_right", lambda hits, at: sum(hit <= at for hit in hits) + 1)


@pytest.mark.parametrize("twin", [count_every_look, keep_hits_of_the_old_path, ignore_one_too_few])
def test_wrong_counts_are_caught(twin: Any, monkeypatch: MonkeyPatch) -> None:
    """Twins that count wrongly are caught on a path that turns back."""
    legs = [60, -40, 50, -20, 30]
    assert wander(random.Random(1), legs) == []
    twin(monkeypatch)
    assert wander(random.Random(1), legs) != []


def test_a_new_collection_evaluates_from_the_first_step() -> None:
    """Unless it is told where to begin, a breakpoint of a new collection has evaluated all steps: its hits are kept
    where the run begins again."""
    breakpoints = Breakpoints().with_breakpoints({1: breakpoint_on(FIB, "fired")})
    last = [m for m in moments("fib") if breakpoints.evaluate(m.state, m.event) is not None][-1].state.steps
    assert breakpoints.rebase(0).hits(1, last) == breakpoints.hits(1, last) == len(true_steps("fired"))
