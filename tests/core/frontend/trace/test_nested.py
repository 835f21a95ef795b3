"""Nested values end to end: programs on them compute what plain Python does, in a trace and outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core.value import is_same_value
from tagloom.interp.oracle.check import check
from tagloom.tui import load
from tagloom.tui.cli.main import app
from typer.testing import CliRunner

PASS = """
import dataclasses
import tagloom as tl


@dataclasses.dataclass
class Point:
    x: tl.float64
    y: "tl.float64"


@tl.function
def swapped(p: Point, n):
    return {"p": Point(p.y, p.x), "n": n}
"""


@dataclass(frozen=True, slots=True)
class Vector:
    """A user's class whose methods do not know tagloom."""

    x: tl.float64
    y: tl.float64

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor: Any) -> Vector:
        return Vector(self.x * factor, self.y * factor)

    @property
    def norm2(self) -> Any:
        return self.x * self.x + self.y * self.y


@dataclass
class Particle:
    place: Vector
    speed: Vector
    bounces: tl.int64

    def moved(self, dt: Any) -> Particle:
        """One step under gravity; below the ground the velocity is reversed."""
        speed = self.speed + Vector(0.0, -9.81) * dt
        place = self.place + speed * dt
        below = place.y < 0.0
        return tl.cond(
            below,
            lambda: Particle(Vector(place.x, -place.y), Vector(speed.x, -speed.y) * 0.9, self.bounces + 1),
            lambda: Particle(place, speed, self.bounces),
        )


def moved_in_python(x: float, y: float, u: float, v: float, steps: int) -> tuple[float, float, float, float, int]:
    """The steps of `Particle`, in plain Python."""
    bounces = 0
    for _ in range(steps):
        u, v = u + 0.0 * 0.01, v + -9.81 * 0.01
        x, y = x + u * 0.01, y + v * 0.01
        if y < 0.0:
            y, u, v, bounces = -y, u * 0.9, -v * 0.9, bounces + 1
    return x, y, u, v, bounces


def simulated(particle: Particle, steps: Any) -> Any:
    return tl.while_loop(lambda p, k: k < steps, lambda p, k: (p.moved(0.01), k + 1), particle, 0)[0]


@tl.function
def simulate(particle: Particle, steps: tl.int64) -> Particle:
    return simulated(particle, steps)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("steps", [0, 1, 7, 150])
def test_a_particle(steps: int) -> None:
    """A dataclass of dataclasses is the state of a loop, and its methods run on symbols; the bits agree with plain
    Python."""
    start = Particle(Vector(0.0, 0.3), Vector(1.0, 0.5), 0)
    x, y, u, v, bounces = moved_in_python(0.0, 0.3, 1.0, 0.5, steps)
    expected = Particle(Vector(x, y), Vector(u, v), bounces)
    assert simulate(start, steps) == expected and simulate.run(start, steps, schedule="random:3").value == expected
    assert simulated(start, steps) == expected, "and outside of a trace"
    assert [p.name for p in simulate.program.main.body.parameters] == [
        *("particle_place_x", "particle_place_y", "particle_speed_x", "particle_speed_y", "particle_bounces"),
        "steps",
    ]


class Counts(TypedDict):
    odd: tl.int64
    even: tl.int64


def collatz_counts(n: Any) -> Any:
    """How many numbers of Collatz's sequence are even and odd, with the keys in two orders."""

    def body(n: Any, counts: Any) -> Any:
        half = n % 2 == 0
        more = tl.cond(
            half,
            lambda: {"even": counts["even"] + 1, "odd": counts["odd"]},
            lambda: {"odd": counts["odd"] + 1, "even": counts["even"]},
        )
        return tl.where(half, n // 2, 3 * n + 1), more

    return tl.while_loop(lambda n, counts: n != 1, body, n, {"odd": 0, "even": 0})[1]


@tl.function
def collatz(n: tl.int64) -> Counts:
    return collatz_counts(n)


@given(st.integers(1, 60))
def test_a_dict_of_counters(n: int) -> None:
    """A dict can be a loop variable, whatever the order of its keys; the result has the order of the annotation."""
    counts, m = {"odd": 0, "even": 0}, n
    while m != 1:
        counts["odd" if m % 2 else "even"] += 1
        m = 3 * m + 1 if m % 2 else m // 2
    assert collatz(n) == collatz_counts(n) == counts and list(collatz(n)) == ["odd", "even"]


class Extremes(NamedTuple):
    low: tl.int64
    high: tl.int64
    at: tuple[tl.int64, tl.int64]


@tl.function
def extremes(n: tl.int64):  # type: ignore[no-untyped-def]
    """The least and the greatest of n, n-1, ... of (k * k) % 17, and their positions."""
    here = (n * n) % 17

    def further() -> Extremes:
        rest = extremes(n - 1)
        low, high = tl.minimum(here, rest.low), tl.maximum(here, rest.high)
        return Extremes(
            low, high, (tl.where(here < rest.low, n, rest.at[0]), tl.where(here > rest.high, n, rest.at[1]))
        )

    return tl.cond(n == 0, lambda: Extremes(here, here, (n, n)), further)


@pytest.mark.parametrize("n", [0, 1, 5, 20])
def test_a_named_tuple_through_recursion(n: int) -> None:
    """A recursive function without annotation returns a named tuple with a tuple in it."""
    squares = [(k * k % 17, k) for k in range(n + 1)]
    low, high = min(squares), max(squares, key=lambda pair: (pair[0], -pair[1]))
    assert extremes(n) == Extremes(low[0], high[0], (low[1], high[1]))
    assert isinstance(extremes(n), Extremes) and len(extremes.program.main.results) == 4


@tl.function
def echoed(value):  # type: ignore[no-untyped-def]
    return value


@pytest.mark.parametrize(
    "value",
    [
        (1, (2.5, True)),
        {"b": 1, "a": {"c": (2, 3)}},
        Vector(1.0, 2.0),
        (Vector(1.0, 2.0), {"n": Extremes(1, 2, (3, 4))}),
        ({}, 1, ()),
        ((1,),),
    ],
    ids=repr,
)
def test_arguments_without_annotations(value: Any) -> None:
    """An unannotated parameter takes the structure of its argument, which is returned unchanged."""
    assert echoed(value) == value and repr(echoed(value)) == repr(value)


def test_one_trace_for_each_structure() -> None:
    """A function is traced once for each structure and its types, whatever the order of keys."""
    assert echoed.trace({"a": 1, "b": 2}) is echoed.trace({"b": 3, "a": 4}) is not echoed.trace((1, 2))
    assert echoed.trace(Vector(1.0, 2.0)) is not echoed.trace((1.0, 2.0))


def test_arrays_in_structures() -> None:
    """Arrays, and lists as arrays, are leaves."""

    @tl.function
    def scaled(state: tuple[tl.Array[tl.float64, None], tl.float64]):  # type: ignore[no-untyped-def]
        rows, factor = state
        return {"rows": rows * factor, "factor": factor}

    result = scaled(([1, 2, 3], 2))
    assert is_same_value(result["rows"], np.array([2.0, 4.0, 6.0])) and is_same_value(result["factor"], 2.0)


def test_calls_with_structures() -> None:
    """In a trace, calls take and return nested values, annotated or not; literals adapt to their types."""

    @tl.function
    def mirrored(v: Vector) -> Vector:
        return Vector(v.y, v.x)

    @tl.function
    def both(pair):  # type: ignore[no-untyped-def]
        return mirrored(pair["v"]), echoed(pair)["n"]

    @tl.function
    def main(x: tl.float64):  # type: ignore[no-untyped-def]
        return both({"v": mirrored(Vector(x, 2)), "n": 3})

    assert main(1.5) == (Vector(1.5, 2.0), 3)


@pytest.mark.parametrize(
    "body", [lambda p: (p[0] + 1, p[1] * 2), lambda p: ((p[0] + 1, p[1] * 2),)], ids=["bare", "in a tuple"]
)
def test_one_loop_variable(body: Any) -> None:
    """The body of a loop with a single nested variable may return it as it is, or in a tuple of one."""

    def loop(n: Any) -> Any:
        return tl.while_loop(lambda p: p[0] < n, body, (0, 1))

    assert loop(3) == tl.function(lambda n: loop(n))(3) == ((3, 8),)


@dataclass
class Scaled:
    """A class that computes one of its fields."""

    x: tl.float64
    twice: Any = field(init=False)

    def __post_init__(self) -> None:
        self.twice = self.x * 2


def test_fields_that_a_class_computes() -> None:
    """A field that __post_init__ computes is computed in the trace."""

    @tl.function
    def f(s: Scaled) -> Scaled:
        return tl.cond(s.twice > 1.0, lambda: Scaled(s.twice), lambda: s)

    assert f(Scaled(3.0)) == Scaled(6.0) and f(Scaled(0.1)) == Scaled(0.1)


@pytest.mark.full
def test_the_machines_see_flat_values() -> None:
    """A program has a parameter and a result for each leaf; all schedules and the evaluator agree on it."""
    traced = simulate.trace(Particle(Vector(0.0, 0.3), Vector(1.0, 0.5), 0), 3)
    leaves = [0.0, 0.3, 1.0, 0.5, 0, 3]
    assert len(traced.program.main.results) == 5
    assert all(verdict.difference is None for verdict in check(traced.graph, traced.program, leaves, tl.Limits()))
    assert tl.run_graph(traced.graph, leaves).value == tuple(simulate.run(*_particle(), 3).results)


def _particle() -> tuple[Particle]:
    return (Particle(Vector(0.0, 0.3), Vector(1.0, 0.5), 0),)


def test_a_missing_leaf_raises_the_ending() -> None:
    """If a leaf of a nested result is missing, `value` raises the error of the ending."""

    @tl.function
    def f(n: tl.int64) -> tuple[tl.int64, tuple[tl.int64, tl.int64]]:
        return n, (n, 1 // n)

    assert f(1) == (1, (1, 1))
    with pytest.raises(tl.Trap, match="division by zero"):
        f.run(0).value  # noqa: B018


def test_words_of_the_command_line(tmp_path: Path) -> None:
    """On the command line, a nested parameter is a word for each leaf."""
    (tmp_path / "user.py").write_text(PASS)
    subject = load.find_program(str(tmp_path / "user.py"))
    assert isinstance(subject, tl.Function)
    assert [name for name, _ in load.parameters(subject)] == ["p_x", "p_y", "n"]
    values = load.parse_arguments(subject, ["1.5", "2", "7"])
    assert values == [1.5, 2.0, 7] and load.program_and_graph(subject, values)[1].name == "swapped"
    swapped = subject.run(*subject.source.unflatten_arguments(values)).value
    assert (swapped["p"].x, swapped["p"].y, swapped["n"]) == (2.0, 1.5, 7)
    printed = CliRunner().invoke(app, ["run", f"{tmp_path / 'user.py'}:swapped", "1.5", "2", "7"])
    assert printed.stdout.splitlines() == ["p.x: 2.0", "p.y: 1.5", "n: 7"], "the leaves with the way to each"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((1.0, 2.0), 1), "required: Vector(x, y)\n  got: (value, value)"),
        ((Vector(1.0, (2.0,)), 1), "required: Vector(x, y)\n  got: Vector(x, y: (value,))"),
        ((Vector(1.0, 2.0), (1,)), "required: one value\n  got: (value,)"),
        ((Vector(1.0, True), 1), "argument v.y of f"),
        ((Vector(1.0, "a"), 1), "argument v.y of f"),
        ((Vector(1.0, 2.0),), "required: f(v: Vector(x: float64, y: float64), n: int64)\n  got: 1 argument"),
    ],
)
def test_v6_arguments_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    """V6: concrete arguments with another structure or types than the annotation are the caller's mistake."""

    @tl.function
    def f(v: Vector, n: tl.int64) -> tl.float64:
        return v.norm2

    with pytest.raises(tl.Usage) as refused:
        f(*arguments)
    assert message in str(refused.value)


def test_the_hint_for_a_loop_variable_is_valid() -> None:
    """The hint for a loop variable whose size changes is a valid program."""

    @tl.function
    def opened(a: tl.Array[tl.float64, None]):  # type: ignore[no-untyped-def]
        return a

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.while_loop(lambda a, k: k < n, lambda a, k: (a + np.ones(3), k + 1), opened(np.zeros(1)), 0)[0]

    assert is_same_value(f(2), np.full(3, 2.0)) and is_same_value(f(0), np.zeros(1))


def test_a_tuple_is_no_array() -> None:
    """A tuple is several values; for an array, a list is needed."""
    norm = tl.function(lambda a: a * a)
    assert is_same_value(norm(np.array([1, 2])), np.array([1, 4]))

    @tl.function
    def doubled(a: tl.Array[tl.int64, 2]):  # type: ignore[no-untyped-def]
        return a + a

    with pytest.raises(tl.Usage, match="hint: pass a list for an array, not a tuple"):
        doubled((1, 2))


def test_v5_eager_loops_keep_their_structure() -> None:
    """V5: outside of a trace too, loop variables keep their structure and types."""
    with pytest.raises(tl.Invalid, match="loop variable p changes its structure") as refused:
        tl.while_loop(lambda p, k: k < 3, lambda p, k: ({"x": p.x}, k + 1), Vector(1.0, 2.0), 0)
    assert refused.value.rule == "V5" and "Vector(x, y)" in str(refused.value.required)
    with pytest.raises(tl.Invalid, match="loop variable k changes its type") as wrong:
        tl.while_loop(lambda p, k: k < 3, lambda p, k: (p, k + 0.5), Vector(1.0, 2.0), 0)
    assert "test_nested.py" in str(wrong.value.where)
