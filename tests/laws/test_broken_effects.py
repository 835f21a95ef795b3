"""Broken machines: each changes one behaviour of cells, effects, random numbers or bounds. The laws catch all but two
of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import tagloom as tl
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from pytest import MonkeyPatch
from support.generators.effect_programs import act_cases
from support.generators.generator import Case
from support.laws.effect_laws import bound_violations, twice_violations, violations
from support.twins.broken_twin import broken, caught
from tagloom.core.graph import lower
from tagloom.core.hashing import name_key
from tagloom.core.ops.effects import format_text
from tagloom.core.ops.random import draw_key
from tagloom.core.program.program import Region
from tagloom.core.tag import ROOT, Tag, child_key
from tagloom.interp.engines.limits import Limits
from tagloom.interp.machine import cells, fire, state, step
from tagloom.interp.machine import effects as acts
from tagloom.interp.machine import k_bounds as bounds
from tagloom.interp.machine.activation import ActivationRecord
from tagloom.interp.machine.event import Event, Token
from tagloom.interp.outcome import outcome

SMALL = Limits(firings=300)


def _after(
    patch: MonkeyPatch, op: str, change: Callable[[acts.EffectResult, Any, tuple[Any, ...]], acts.EffectResult]
) -> None:
    """Change what an op does, after it has been computed."""
    result = acts._EFFECT_RULES[op]

    def changed(number: int, node: Any) -> acts.EffectRule:
        act = result(number, node)

        def other(blocks: Any, world: Any, token: Token, inputs: tuple[Any, ...]) -> acts.EffectResult:
            return change(act(blocks, world, token, inputs), blocks, inputs)

        return other

    patch.setitem(acts._EFFECT_RULES, op, changed)


def trap_on_an_empty_cell(patch: MonkeyPatch) -> None:
    """S13: a get of an empty cell traps instead of becoming a deferred read."""
    _after(
        patch,
        "get",
        lambda act, blocks, inputs: acts.EffectResult(trap="the cell is empty") if act.deferred_at else act,
    )


def lose_a_deferred_get(patch: MonkeyPatch) -> None:
    """S13: a store wakes only the first of the deferred gets."""
    _after(patch, "store", lambda act, blocks, inputs: act._replace(woken_tokens=act.woken_tokens[:1]))


def overwrite(patch: MonkeyPatch) -> None:
    """S13: a second store does not trap, and its value replaces the first."""
    _after(patch, "store", lambda act, blocks, inputs: act._replace(trap=None))
    patch.setattr(cells.CellBlock, "read", lambda self, number: self.writes[number][-1].inputs[2])


def report_by_arrival(patch: MonkeyPatch) -> None:
    """S13: the trap of a cell is reported for the store that came second."""
    text = outcome.effects.second_put_trap_message

    def second(graph: Any, puts: Any) -> Event:
        put = puts[1]
        token = Token(put.node, 0, put.tag, put.inputs[0])
        return Event(token, 0, put.inputs, (), (), text(put.inputs[1]), (), False)

    patch.setattr(outcome, "second_write_event", second)


def wake_at_the_front(patch: MonkeyPatch) -> None:
    """S13: tokens that a store wakes go to the front of the flight. Only schedules can tell the difference; no result
    and no law depends on it."""
    apply, revert = state.State.apply, state.State.revert

    def forward(self: state.State, event: Event) -> None:
        apply(self, event)
        if event.woken and not event.released:
            self.flight.rotate(len(event.woken))

    def back(self: state.State, event: Event) -> None:
        if event.woken and not event.released:
            self.flight.rotate(-len(event.woken))
        revert(self, event)

    patch.setattr(state.State, "apply", forward)
    patch.setattr(state.State, "revert", back)


def forget_the_condition(patch: MonkeyPatch) -> None:
    """L10: the loop continues with the order token from before its condition, instead of the one that the condition
    returns."""
    region_of = lower._ProgramLowering.lower_region

    def forgetful(self: Any, scope: Any, region: Region) -> Any:
        loops = (node for f in self.functions for node in f.body.walk() if node.op == "while_loop")
        before, results = dict(scope.order_tokens), region_of(self, scope, region)
        if any(node.regions[0] is region for node in loops):
            scope.order_tokens.update(before)
        return results

    patch.setattr(lower._ProgramLowering, "lower_region", forgetful)


def repeat_effects(patch: MonkeyPatch) -> None:
    """S14: applying the event of a print prints again."""
    apply = state.State.apply

    def printing(self: state.State, event: Event) -> None:
        node = self.rules[event.token.node].node
        if event.inputs is not None and node.op == "print":
            self.world.print(format_text(dict(node.attributes)["text"], event.inputs[:-1]))
        apply(self, event)

    patch.setattr(state.State, "apply", printing)


def _keyed(patch: MonkeyPatch, key: Callable[[int, int, Tag], int]) -> None:
    """Random numbers are drawn with another key: of the seed, the hashed name, and the tag."""

    def drawing(node: Any, seed: int) -> Any:
        draw, attributes = fire.EFFECT_OPS[node.op].draw, dict(node.attributes)
        arity = len(node.ports) - node.has_trigger
        if draw is None:
            return None
        return lambda inputs, tag: ((0, draw(key(seed, name_key(str(node)), tag), *inputs[:arity], **attributes)),)

    patch.setattr(fire, "draw_rule", drawing)


def draw_without_the_iteration(patch: MonkeyPatch) -> None:
    """S15: all iterations of a loop draw the same numbers."""

    def flat(tag: Tag) -> int:
        return child_key(flat(tag.parent), tag.site, 0) if tag.parent else tag.key

    _keyed(patch, lambda seed, name, tag: draw_key(seed, name, flat(tag)))


def draw_without_the_parent(patch: MonkeyPatch) -> None:
    """S15: a call draws the same numbers wherever it is made."""

    def inner(tag: Tag) -> int:
        return child_key(ROOT.key, tag.site, tag.iteration) if tag.parent else tag.key

    _keyed(patch, lambda seed, name, tag: draw_key(seed, name, inner(tag)))


def draw_without_the_seed(patch: MonkeyPatch) -> None:
    """S15: every run draws the same numbers."""
    _keyed(patch, lambda seed, name, tag: draw_key(0, name, tag.key))


def forget_deferred_gets(patch: MonkeyPatch) -> None:
    """S16: an iteration with nothing but deferred gets is not busy."""
    apply = state.State.apply

    def forgetful(self: state.State, event: Event) -> None:
        for token in (event.token,) if event.deferred_at else event.woken:
            if self.loop_bounds:
                self.add_busy(token.tag, -1 if event.deferred_at else 1)
        apply(self, event)

    patch.setattr(state.State, "apply", forgetful)


def count_throttled_tokens(patch: MonkeyPatch) -> None:
    """S16: tokens throttled at an iteration make it busy. In lowered programs no law sees this: while such tokens wait,
    no later iteration has been reached."""
    send, release = state.State._apply_send, state.State._release

    def counting(self: state.State, sent: Any, record: ActivationRecord, arrives: bool, held: bool) -> None:
        send(self, sent, record, arrives, held)
        if held:
            self.add_busy(sent[0].tag, len(sent))

    def releasing(self: state.State, released: Any) -> None:
        release(self, released)
        for _, token in released:
            self.add_busy(token.tag, -1)

    patch.setattr(state.State, "_apply_send", counting)
    patch.setattr(state.State, "_release", releasing)


def release_one_iteration_early(patch: MonkeyPatch) -> None:
    """S16: tokens of iteration j are released once iteration j-k-1 is over."""
    following = bounds.open_iteration

    def early(at: state.State, tag: Tag) -> Tag | None:
        bound = at.loop_bounds.get(tag.site)
        return None if bound is None else following(at, tag, tag.iteration + bound + 1)

    patch.setattr(bounds, "throttled_iteration", early)


def throttle_nothing(patch: MonkeyPatch) -> None:
    """S16: a bound throttles no token."""
    patch.setattr(step, "is_throttled", lambda at, rule, record: False)


def forget_tokens_throttled_in_inner_loops(patch: MonkeyPatch) -> None:
    """S16: tokens throttled in an inner loop do not make the iteration around it busy."""
    send, release = state.State._apply_send, state.State._release

    def sending(self: state.State, sent: Any, record: ActivationRecord, arrives: bool, held: bool) -> None:
        send(self, sent, record, arrives, held)
        if held:
            self.add_busy(sent[0].tag.parent, -len(sent))

    def releasing(self: state.State, released: Any) -> None:
        for _, token in released:
            self.add_busy(token.tag.parent, 1)
        release(self, released)

    patch.setattr(state.State, "_apply_send", sending)
    patch.setattr(state.State, "_release", releasing)


Laws = Callable[[Case], Iterator[str]]


@dataclass(frozen=True)
class BrokenMachine:
    """A broken machine, and the laws and programs that should catch it."""

    break_code: Callable[[MonkeyPatch], None]
    laws: Laws
    cases: st.SearchStrategy[Case]


def acting(case: Case) -> Iterator[str]:
    return violations(case, ("lifo", "random:1"), SMALL)


def bounding(case: Case) -> Iterator[str]:
    return bound_violations(case, (1, 2), ("waves", "lifo"))


def putting_twice(case: Case) -> Iterator[str]:
    return twice_violations(case, ("lifo", "random:1"))


@tl.function
def drawing_in_a_loop(n: tl.int64) -> tl.float64:
    """A loop that draws: generated programs rarely use the draws of later iterations."""
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, tl.uniform()), 0, 0.0)[1]


@tl.function
def printing_in_a_condition(n: tl.int64) -> tl.int64:
    """A loop that prints in its condition: generated programs rarely show the order of such prints."""

    def going_on(i: Any) -> Any:
        tl.print("condition", i)
        return i < n

    def body(i: Any) -> Any:
        tl.print("body", i)
        return i + 1

    return tl.while_loop(going_on, body, 0)[0]


@tl.function
def drawing(n: tl.int64) -> tl.float64:
    return tl.uniform()


@tl.function
def getting_twice(n: tl.int64) -> tl.int64:
    """Two gets of a cell wait for its put."""
    block = tl.cells(1, tl.int64)
    first, second = block[0], block[0]
    return first + second + tl.put(block, 0, n)[0]


@tl.function
def getting_before_the_put(n: tl.int64) -> tl.int64:
    """Each iteration has a get that waits for the end of the loop."""
    block = tl.cells(1, tl.int64)
    (i,) = tl.while_loop(lambda i: i < n, lambda i: (block[0], i + 1)[1], 0)
    tl.put(block, 0, i)
    return i


FREE, EARLY = act_cases(bounded=False), act_cases(early=True, bounded=False)
TWICE = act_cases(twice=True, bounded=False)
CAUGHT = (
    BrokenMachine(trap_on_an_empty_cell, acting, EARLY),
    BrokenMachine(lose_a_deferred_get, acting, st.just(Case(getting_twice.program, [3]))),
    BrokenMachine(overwrite, putting_twice, TWICE),
    BrokenMachine(report_by_arrival, putting_twice, TWICE),
    BrokenMachine(forget_the_condition, acting, st.just(Case(printing_in_a_condition.program, [2]))),
    BrokenMachine(repeat_effects, acting, FREE),
    BrokenMachine(draw_without_the_iteration, acting, st.just(Case(drawing_in_a_loop.program, [3]))),
    BrokenMachine(draw_without_the_parent, acting, FREE),
    BrokenMachine(draw_without_the_seed, acting, st.just(Case(drawing.program, [3]))),
    BrokenMachine(forget_deferred_gets, bounding, st.just(Case(getting_before_the_put.program, [4]))),
    BrokenMachine(release_one_iteration_early, bounding, EARLY),
    BrokenMachine(throttle_nothing, bounding, EARLY),
    BrokenMachine(forget_tokens_throttled_in_inner_loops, bounding, EARLY),
)
SLOW = (draw_without_the_parent,)
"""Twins that only many examples catch."""
UNSEEN = (BrokenMachine(wake_at_the_front, acting, EARLY), BrokenMachine(count_throttled_tokens, bounding, EARLY))


def failing_case(twin: BrokenMachine, examples: int) -> Case:
    """A program on which the broken machine breaks a law, and the true one none."""

    def fails(case: Case) -> bool:
        with broken(twin.break_code):
            return next(twin.laws(case), None) is not None

    case = caught(twin.cases, fails, twin.break_code.__doc__, examples)
    assert list(twin.laws(case)) == []
    return case


@pytest.mark.full
@pytest.mark.parametrize(
    "twin",
    [pytest.param(t, id=t.break_code.__name__, marks=[pytest.mark.heavy] * (t.break_code in SLOW)) for t in CAUGHT],
)
def test_the_laws_catch_a_broken_machine(twin: BrokenMachine) -> None:
    """Every broken machine breaks a law on a program on which the true machine keeps all laws."""
    failing_case(twin, 400)


@pytest.mark.full
@pytest.mark.parametrize("twin", UNSEEN, ids=lambda twin: twin.break_code.__name__)
def test_two_twins_are_not_caught(twin: BrokenMachine) -> None:
    """Two twins are not caught: they differ only in what schedules decide, or in what never happens."""
    with pytest.raises(NoSuchExample):
        failing_case(twin, 10)
