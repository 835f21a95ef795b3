"""Variables under tapes: a gradient by a variable ignores other values that are equal to, or shared with, its own."""

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


class VariableStep(NamedTuple):
    """An operation with variables and with the values read or computed so far."""

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


Story: TypeAlias = tuple[list[VariableStep], list[VariableStep], list[VariableStep]]
"""What is done before there are tapes, under one, and under two."""
FIRST = 1.25, 0.75
KINDS = "read", "multiply", "assign", "copy"
STEPS = st.lists(st.builds(VariableStep, st.sampled_from(KINDS), st.integers(0, 1), st.integers(0, 7)), max_size=4)
STORIES: Any = st.tuples(STEPS, STEPS, STEPS)


def target(variables: Sequence[Any], made: Sequence[Any]) -> Any:
    """A number that depends on all of them."""
    parts = [*variables, *made]
    return sum((parts[at] * each * (at + 0.5) for at, each in enumerate(parts[1:])), start=parts[0] * 0.25)


def by_tapes(story: Story, way: Way) -> list[float]:
    """The gradients by both variables of the inner tape, and of the outer one."""
    variables = [tl.Variable(value, name=name) for value, name in zip(FIRST, "ab", strict=True)]

    def slopes() -> Any:
        results: list[Any] = [tl.asarray(1.5)]
        before, outside, inside = story
        for step in before:
            step.take(variables, results)
        with tl.Tape() as outer:
            for step in outside:
                step.take(variables, results)
            with tl.Tape() as inner:
                for step in inside:
                    step.take(variables, results)
                y = target(variables, results)
            result = inner.gradient(y, tuple(variables))
        return (*result, *outer.gradient(y, tuple(variables)))

    return [float(each) for each in way(slopes)]


class Dual:
    """A number and its derivative."""

    def __init__(self, value: float, slope: float = 0.0) -> None:
        self.number, self.slope = value, slope

    def __mul__(self, other: Any) -> Dual:
        other = plain(other)
        return Dual(self.number * other.number, self.number * other.slope + self.slope * other.number)

    def __add__(self, other: Any) -> Dual:
        other = plain(other)
        return Dual(self.number + other.number, self.slope + other.slope)


class Cell:
    """A variable with dual numbers as values."""

    def __init__(self, value: Dual) -> None:
        self.value = value

    def assign(self, other: Any) -> None:
        self.value = plain(other)

    def __mul__(self, other: Any) -> Dual:
        return self.value * other


def plain(other: Any) -> Dual:
    return other.value if isinstance(other, Cell) else other if isinstance(other, Dual) else Dual(other)


def by_hand(story: Story) -> list[float]:
    """The gradients of `by_tapes`, computed by dual numbers: for one variable after the other, how the number depends
    on its value when a tape begins."""
    result = []
    for begin in (2, 1):
        for by in (0, 1):
            variables, results = [Cell(Dual(value)) for value in FIRST], [Dual(1.5)]
            for number, steps in enumerate(story):
                if number == begin:
                    variables[by].value = Dual(variables[by].value.number, 1.0)
                for step in steps:
                    step.take(variables, results)
            result.append(target(variables, results).slope)
    return result


def is_wrong(story: Story, way: Way) -> bool:
    return not np.allclose(by_tapes(story, way), by_hand(story), rtol=1e-9)


@both_ways
@settings(max_examples=60)
@given(story=STORIES)
def test_a_gradient_is_by_one_variable(way: Way, story: Story) -> None:
    """The gradient is by the variable's value at the beginning of the tape, whatever was read before, assigned, or
    assigned from another variable."""
    assert not is_wrong(story, way)


def share_values(patch: pytest.MonkeyPatch) -> None:
    """The tape watches the value itself, which others may have."""
    patch.setattr(reading, "identity_copy", lambda array: array)


def hide_reads(patch: pytest.MonkeyPatch) -> None:
    """An outer tape does not see the reads of an inner one."""
    record = tl.Tape.record
    patch.setattr(
        tl.Tape, "record", lambda tape, step: getattr(step, "vjp", None) is reading.identity_vjp or record(tape, step)
    )


def forget_reads(patch: pytest.MonkeyPatch) -> None:
    """Each read of a variable is another value."""
    patch.setattr(tl.Tape, "resolve_watched_array", lambda *_: None)


@both_ways
@pytest.mark.parametrize("twin", [share_values, hide_reads, forget_reads])
def test_broken_reads_are_caught(
    twin: Callable[[pytest.MonkeyPatch], None], way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each twin differs on some sequence of steps."""
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
def test_earlier_reads_are_constants(way: Way) -> None:
    """A value that was read before the tape began is a constant, such as weights that a step should stay near to, or a
    target network."""
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
def test_functions_see_the_watched_variable(way: Way) -> None:
    """A call, a branch and a loop see the variable as the tape does, and so does a function that receives it."""
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
def test_a_value_that_a_call_assigns(way: Way) -> None:
    """The gradient continues through a value that a call assigns; the gradient by the variable is by its earlier
    value."""
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
    """A variable that an inner tape reads while the outer one is stopped is known to the outer one afterwards; results
    computed meanwhile are not."""
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
    """A variable that is not trainable can be watched before the tape begins, and its value is distinct from equal
    ones."""
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
    """Gradients by rows work on nested tapes, which see the table as two arrays."""
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


def test_a_variable_needs_no_node_if_its_value_is_unshared() -> None:
    """In a trace, a node distinguishes a variable only if something else may have its value."""
    w = tl.Variable(2.0, name="w")

    @tl.autograph.inline
    def slope() -> Any:
        with tl.Tape() as tape:
            y = w * w
        return tape.gradient(y, w)

    def ops(function: Callable[[], Any]) -> list[str]:
        return [node.op for node in tl.function(function).trace().program.main.body.nodes]

    assert "identity" not in ops(lambda: slope())
    assert ops(lambda: (w.value, slope())[1]).count("identity") == 1


@both_ways
def test_a_call_that_assigns_its_argument(way: Way) -> None:
    """The pullback of the call uses the variable's earlier value."""
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
