"""Variables under tapes: a gradient by one is by it alone, whoever else has what it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from tagloom.core.frontend.eager import recording as reading

Way: TypeAlias = Callable[[Callable[[], Any]], Any]
"""How a function of nothing runs."""


def eagerly(function: Callable[[], Any]) -> Any:
    return function()


def in_trace(function: Callable[[], Any]) -> Any:
    return tl.function(lambda: function())()


both_ways = pytest.mark.parametrize("way", [eagerly, in_trace])


class Step(NamedTuple):
    """What is done with variables, and with what was read or made so far."""

    kind: str
    one: int
    other: int

    def take(self, variables: Sequence[Any], made: list[Any]) -> None:
        match self.kind:
            case "read":
                made.append(variables[self.one].value)
            case "multiply":
                made.append(made[self.other % len(made)] * variables[self.one])
            case "assign":
                variables[self.one].assign(made[self.other % len(made)])
            case "copy":
                variables[self.one].assign(variables[self.other % len(variables)])


Story: TypeAlias = tuple[list[Step], list[Step], list[Step]]
"""What is done before there are tapes, under one, and under two."""
FIRST = 1.25, 0.75
KINDS = "read", "multiply", "assign", "copy"
STEPS = st.lists(st.builds(Step, st.sampled_from(KINDS), st.integers(0, 1), st.integers(0, 7)), max_size=4)
STORIES: Any = st.tuples(STEPS, STEPS, STEPS)


def target(variables: Sequence[Any], made: Sequence[Any]) -> Any:
    """A number that all have a part in."""
    parts = [*variables, *made]
    return sum((parts[at] * each * (at + 0.5) for at, each in enumerate(parts[1:])), start=parts[0] * 0.25)


def by_tapes(story: Story, way: Way) -> list[float]:
    """The gradients by both variables of the inner tape, and of the outer one."""
    variables = [tl.Variable(value, name=name) for value, name in zip(FIRST, "ab", strict=True)]

    def slopes() -> Any:
        made: list[Any] = [tl.asarray(1.5)]
        before, outside, inside = story
        for step in before:
            step.take(variables, made)
        with tl.Tape() as outer:
            for step in outside:
                step.take(variables, made)
            with tl.Tape() as inner:
                for step in inside:
                    step.take(variables, made)
                y = target(variables, made)
            found = inner.gradient(y, tuple(variables))
        return (*found, *outer.gradient(y, tuple(variables)))

    return [float(each) for each in way(slopes)]


class Dual:
    """A number, and how it changes."""

    def __init__(self, value: float, slope: float = 0.0) -> None:
        self.number, self.slope = value, slope

    def __mul__(self, other: Any) -> Dual:
        other = plain(other)
        return Dual(self.number * other.number, self.number * other.slope + self.slope * other.number)

    def __add__(self, other: Any) -> Dual:
        other = plain(other)
        return Dual(self.number + other.number, self.slope + other.slope)


class Cell:
    """A variable of such numbers."""

    def __init__(self, value: Dual) -> None:
        self.value = value

    def assign(self, other: Any) -> None:
        self.value = plain(other)

    def __mul__(self, other: Any) -> Dual:
        return self.value * other


def plain(other: Any) -> Dual:
    return other.value if isinstance(other, Cell) else other if isinstance(other, Dual) else Dual(other)


def by_hand(story: Story) -> list[float]:
    """The same: of one variable after the other it is seen how the number changes with what it holds when a tape
    begins."""
    found = []
    for begin in (2, 1):
        for by in (0, 1):
            variables, made = [Cell(Dual(value)) for value in FIRST], [Dual(1.5)]
            for number, steps in enumerate(story):
                if number == begin:
                    variables[by].value = Dual(variables[by].value.number, 1.0)
                for step in steps:
                    step.take(variables, made)
            found.append(target(variables, made).slope)
    return found


def is_wrong(story: Story, way: Way) -> bool:
    return not np.allclose(by_tapes(story, way), by_hand(story), rtol=1e-9)


@both_ways
@settings(max_examples=60)
@given(story=STORIES)
def test_a_gradient_is_by_one_variable(way: Way, story: Story) -> None:
    """Whatever was read before, assigned, or assigned from another one: by the variable as the tape found it."""
    assert not is_wrong(story, way)


def shares(patch: pytest.MonkeyPatch) -> None:
    """What others have is what the tape has."""
    patch.setattr(reading, "identity_copy", lambda array: array)


def tells_nobody(patch: pytest.MonkeyPatch) -> None:
    """What an inner tape has is news to the outer one."""
    record = tl.Tape.record
    patch.setattr(tl.Tape, "record", lambda tape, step: step.vjp is reading.identity_vjp or record(tape, step))


def forgets(patch: pytest.MonkeyPatch) -> None:
    """What a variable holds is told apart each time that it is read."""
    patch.setattr(tl.Tape, "resolve_watched_array", lambda *_: None)


@both_ways
@pytest.mark.parametrize("twin", [shares, tells_nobody, forgets])
def test_broken_readings_are_found(
    twin: Callable[[pytest.MonkeyPatch], None], way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some story tells each of them from what is right."""
    calm = settings(
        max_examples=300,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    twin(monkeypatch)
    find(STORIES, lambda story: is_wrong(story, way), settings=calm)


@both_ways
def test_what_was_read_before_is_a_constant(way: Way) -> None:
    """As the weights that a step is to stay near to, or those of a network that follows another."""
    w, behind = tl.Variable([1.0, 2.0], name="w"), tl.Variable([0.0, 0.0], name="behind")

    def slope() -> Any:
        behind.assign(w)
        anchor = w.value
        with tl.Tape() as tape:
            y = tl.sum(w * anchor + w * behind * 10.0)
        return tape.gradient(y, (w, behind))

    by_w, by_behind = way(slope)
    assert np.asarray(by_w).tolist() == [11.0, 22.0] and np.asarray(by_behind).tolist() == [10.0, 20.0]


@both_ways
def test_what_functions_close_over(way: Way) -> None:
    """A call, a branch and a loop have the variable as the tape has it; so have those that it was given to."""
    w = tl.Variable(3.0, name="w")

    def slope() -> Any:
        anchor = w.value
        scaled = tl.function(lambda x: x * w)
        with tl.Tape() as tape:
            y = scaled(anchor) + scaled(w) + tl.cond(anchor > 0.0, lambda: w * anchor, lambda: w)
            y = y + tl.while_loop(lambda k, _: k < 2, lambda k, z: (k + 1, z * w), 0, anchor)[1]
        return tape.gradient(y, w)

    assert float(way(slope)) == 3.0 + 6.0 + 3.0 + 3.0 * 2 * 3.0


@both_ways
def test_what_a_call_assigns(way: Way) -> None:
    """It is a value as any other: the gradient goes on through it, and by the variable it is by what that held."""
    v, x = tl.Variable(5.0, name="v"), tl.Variable(3.0, name="x")
    squared = tl.function(lambda x: v.assign(x * x))

    def slope() -> Any:
        with tl.Tape() as tape:
            squared(x.value)
            y = v * v
        return tape.gradient(y, (x, v))

    assert list(map(float, way(slope))) == [4 * 27.0, 0.0]


@both_ways
def test_tapes_that_stop_and_go_on(way: Way) -> None:
    """A variable that an inner tape reads while the outer one takes nothing down is known to that later on; what was
    made of it meanwhile is not."""
    w = tl.Variable(2.0, name="w")

    def slope() -> Any:
        anchor = w.value
        with tl.Tape() as outer, tl.Tape() as inner:
            with outer.stop_recording():
                one = w * w * anchor
            other = w * w * w
            with inner.stop_recording():
                last = w * 5.0
            y = one + other + last
        return inner.gradient(y, w), outer.gradient(y, w)

    assert list(map(float, way(slope))) == [2 * 2.0 * 2.0 + 12.0, 12.0 + 5.0]


@both_ways
def test_variables_that_are_watched(way: Way) -> None:
    """Also one that is not trainable, before the tape begins, and what it holds is not what others have."""
    w = tl.Variable(2.0, name="w", trainable=False)

    def slope() -> Any:
        anchor = w.value
        with tl.Tape() as outer:
            outer.watch(w)
            tape = tl.Tape()
            tape.watch(w)
            with tape:
                y = w * w * anchor
            first = tape.gradient(y, w)
        return first, outer.gradient(first, w)

    assert list(map(float, way(slope))) == [8.0, 4.0]


@both_ways
def test_by_rows(way: Way) -> None:
    """Of nested tapes, too, for which the table is another array each."""
    w = tl.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")

    def rows() -> Any:
        before = w.value
        with tl.Tape() as outer:
            y = tl.sum(tl.take(w, [2, 0], axis=0) ** 3)
            with tl.Tape() as inner:
                z = tl.sum(tl.take(w, [2, 2], axis=0) ** 2) + tl.sum(before)
            slope = inner.gradient(z, w, rows=w)
            y = y + tl.sum(slope.values)
        return slope, outer.gradient(y, w, rows=w)

    inner, outer = way(rows)
    assert np.asarray(inner.indices).tolist() == [2, 2]
    assert np.asarray(inner.values).tolist() == [[10.0, 12.0]] * 2
    dense = np.zeros((3, 2))
    np.add.at(dense, np.asarray(outer.indices), np.asarray(outer.values))
    assert np.allclose(dense, [[3.0, 12.0], [0.0, 0.0], [75.0 + 4.0, 108.0 + 4.0]])


def test_no_node_where_nobody_else_has_it() -> None:
    """In a trace a variable is told apart by a node, where somebody may have what it holds; else there is none."""
    w = tl.Variable(2.0, name="w")

    def slope() -> Any:
        with tl.Tape() as tape:
            y = w * w
        return tape.gradient(y, w)

    def ops(function: Callable[[], Any]) -> list[str]:
        return [node.op for node in tl.function(function).trace().program.main.body.nodes]

    assert "identity" not in ops(lambda: slope())
    assert ops(lambda: (w.value, slope())[1]).count("identity") == 1


@both_ways
def test_a_call_that_assigns_what_it_was_given(way: Way) -> None:
    """Its pullback is given what the variable held before."""
    v = tl.Variable(3.0, name="v")

    @tl.function
    def cube(x: tl.float64) -> tl.float64:
        v.assign(x * 2.0)
        return x * x * x

    def slope() -> Any:
        with tl.Tape() as tape:
            y = cube(v)
        return tape.gradient(y, v)

    assert float(way(slope)) == 27.0
