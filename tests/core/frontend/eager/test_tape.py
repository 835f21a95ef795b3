"""The tape: what it records, what it knows values by, and what it says to who uses it wrongly."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.tape_programs import HAND_MADE
from tagloom.core.frontend.eager.recording import TAPE_STACK


def derivatives(function: Callable[..., Any], x: Any, order: int) -> list[float]:
    """Those of a function of a number, up to an order, by nested tapes."""
    if order == 0:
        return [float(function(x))]

    def slope(x: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return [float(function(x)), *derivatives(slope, x, order - 1)]


def test_nested_tapes() -> None:
    """x * x at 3: 9, 6, 2, 0."""
    assert derivatives(lambda x: x * x, tl.asarray(3.0), 3) == [9.0, 6.0, 2.0, 0.0]


def by_tape(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    given = tuple(map(tl.asarray, arguments))
    with tl.Tape() as tape:
        tape.watch(given)
        y = function(*given)
    return tape.gradient(y, given)


@pytest.mark.inner(first=7)
@pytest.mark.parametrize("name", HAND_MADE)
def test_a_tape_says_what_grad_says(name: str) -> None:
    """On functions written by hand, to the second order: a function of the gradient is differentiated again."""
    function, arguments = HAND_MADE[name]

    def again(gradients: Callable[[tuple[Any, ...]], Any]) -> Callable[..., Any]:
        return lambda x, y: sum(tl.sum(each * each * (0.5 + at)) for at, each in enumerate(gradients((x, y))))

    def slopes(xs: tuple[Any, ...]) -> Any:
        with tl.Tape() as tape:
            tape.watch(xs)
            y = function(*xs)
        return tape.gradient(y, xs)

    graph = tl.grad(function, (0, 1))
    for mine, theirs in (
        (by_tape(function, arguments), graph(*arguments)),
        (by_tape(again(slopes), arguments), tl.grad(again(lambda xs: graph(*xs)), (0, 1))(*arguments)),
    ):
        for one, other in zip(mine, theirs, strict=True):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in HAND_MADE if name not in ("float32", "what stops", "nothing")])
def test_a_tape_says_what_differences_say(name: str) -> None:
    """Moved along a direction, the value changes by the gradient along it."""
    function, arguments = HAND_MADE[name]
    step, directions = 1e-6, [np.ones_like(each) * (1 + at) for at, each in enumerate(arguments)]
    ends = [
        float(function(*(x + side * step * way for x, way in zip(arguments, directions, strict=True))))
        for side in (1, -1)
    ]
    found = by_tape(function, arguments)
    along = sum(float(np.sum(np.asarray(each) * way)) for each, way in zip(found, directions, strict=True))
    assert math.isclose(along, (ends[0] - ends[1]) / (2 * step), rel_tol=1e-5, abs_tol=1e-7)


def test_python_decides_and_is_not_seen() -> None:
    """What ran is recorded: the branch that Python took, and its loop as often as it went round."""
    x = tl.asarray(2.0)
    with tl.Tape() as tape:
        tape.watch(x)
        y = x
        while y < 50.0:
            y = y * x if y < 10.0 else y + x
    assert (float(y), float(tape.gradient(y, x))) == (50.0, 4 * 8.0 + 17.0)


def test_values_are_known_by_identity() -> None:
    """Of two arrays that hold the same, one is watched; the other is a constant, and the tape does not know it."""
    x, same = tl.asarray(3.0), tl.asarray(3.0)
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        y = x * same
    assert float(tape.gradient(y, x)) == 3.0
    with pytest.raises(tl.Usage, match="the tape does not know source") as raised:
        tape.gradient(y, same)
    assert "that same object x" in str(raised.value)


@pytest.mark.parametrize(
    "value", [3.0, np.float64(3.0), np.ones(2), [1.0, 2.0], "x", tl.asarray(3), tl.asarray([True])]
)
def test_what_cannot_be_watched(value: Any) -> None:
    """Python's numbers, NumPy's arrays and lists have no identity that ops keep; integers and bools no adjoint."""
    with tl.Tape() as tape, pytest.raises(tl.Usage, match="a tape watches arrays of floats"):
        tape.watch({"w": value})


def test_sources_nest() -> None:
    """So does the gradient; what the target does not depend on has zeros, and a value on the way is a source, too."""
    w, b, c = tl.asarray([1.0, 2.0]), tl.asarray(3.0), tl.asarray([[1.0]])
    with tl.Tape() as tape:
        tape.watch({"w": w, "rest": (b, c)})
        h = w * b
        y = tl.sum(h * h)
    found = tape.gradient(y, {"w": w, "more": (b, (h, c))})
    assert [np.asarray(each).tolist() for each in (found["w"], found["more"][1][0])] == [[18.0, 36.0], [6.0, 12.0]]
    assert (float(found["more"][0]), np.asarray(found["more"][1][1]).tolist()) == (30.0, [[0.0]])


def test_the_target_itself_is_a_source() -> None:
    """Its adjoint is the one that was given."""
    x = tl.asarray([1.0, 2.0])
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        y = tl.exp(x)
    assert np.asarray(tape.gradient(y, y, tl.asarray([3.0, 4.0]))).tolist() == [3.0, 4.0]
    assert np.asarray(tape.gradient((y, y), y, (tl.ones_like(y), tl.ones_like(y)))).tolist() == [2.0, 2.0]


def test_adjoints_of_more_than_one_float() -> None:
    """They are given, nested as the target; integers in it have none."""
    x = tl.asarray([1.0, 2.0])
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        y = {"square": x * x, "sum": tl.sum(x), "signs": tl.astype(x, tl.int64)}
    found = tape.gradient(y, x, {"square": [1.0, 10.0], "sum": 100.0, "signs": None})
    assert np.asarray(found).tolist() == [102.0, 140.0]
    for target, adjoints, said in (
        (y["square"], None, "the target of a gradient is not one float"),
        (y["signs"], None, "the target of a gradient is not one float"),
        (y["square"], (1.0, 2.0), "an adjoint has another structure than its value"),
        (y["square"], tl.asarray(1.0), "an adjoint has another type than its result"),
    ):
        with pytest.raises(tl.Invalid, match=f"D3: {said}"):
            tape.gradient(target, x, adjoints)


def test_a_target_that_left_is_refused() -> None:
    """A number of Python's, or of NumPy's, was not recorded, though it was computed of what is."""
    x = tl.asarray(2.0)
    for leaving in (float, np.sin):
        with tl.Tape() as tape:
            tape.watch(x)
            with pytest.raises(tl.Usage, match="target was not recorded"):
                tape.gradient(leaving(x), x)


def test_one_tape_gives_one_gradient() -> None:
    """Then it has forgotten all, and records no more; used anew, it begins anew. A persistent one gives several."""
    x = tl.asarray(3.0)
    tape, lasting = tl.Tape(), tl.Tape(persistent=True)
    with tape, lasting:
        tape.watch(x)
        lasting.watch(x)
        y = x * x
        assert float(tape.gradient(y, x)) == 6.0
        assert repr(tape) == "<tape of 0 steps>"
        with pytest.raises(tl.Usage, match="and dropped its records"):
            tape.gradient(y, x)
    assert [float(lasting.gradient(y, x)) for _ in range(2)] == [6.0, 6.0]
    with tape:
        tape.watch(x)
        y = x * x * x
    assert float(tape.gradient(y, x)) == 27.0


def test_a_persistent_tape_records_its_own_reverse_pass() -> None:
    """Under its `with`, so that it gives the second order, too."""
    x = tl.asarray(2.0)
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        first = tape.gradient(x * x * x, x)
        second = tape.gradient(first, x)
        assert [float(first), float(second), float(tape.gradient(second, x))] == [12.0, 12.0, 6.0]


def test_stop_recording() -> None:
    """What runs meanwhile is a constant; other tapes go on."""
    x = tl.asarray(3.0)
    with tl.Tape() as other, tl.Tape() as tape:
        tape.watch(x)
        other.watch(x)
        with tape.stop_recording():
            factor = x * x
        y = factor * x
    assert (float(tape.gradient(y, x)), float(other.gradient(y, x))) == (9.0, 27.0)
    with pytest.raises(tl.Usage, match="this tape is not recording"), tape.stop_recording():
        pass


def test_reset() -> None:
    """A tape that is reset has seen nothing, and goes on."""
    x = tl.asarray(3.0)
    with tl.Tape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        with pytest.raises(tl.Usage, match="does not know"):
            tape.gradient(y, x)
        tape.watch(x)
        assert float(tape.gradient(x * 2.0, x)) == 2.0


def test_only_what_is_watched_is_recorded() -> None:
    """Ops of other values, and those that make integers, leave nothing on the tape."""
    x, other = tl.asarray(3.0), tl.asarray(4.0)
    with tl.Tape() as tape:
        tape.watch(x)
        tl.exp(other)
        tl.astype(x, tl.int64) + 1
        assert repr(tape) == "<tape of 0 steps, recording>"
        x * other
        assert repr(tape) == "<tape of 1 step, recording>"


@pytest.mark.full
def test_what_was_recorded_is_released() -> None:
    """With the tape, and when it has given its gradient; no cycle keeps it."""

    def alive() -> int:
        kept = gc.get_objects()  # proxies of what is gone among them: they have a type, and can be asked nothing else
        arrays = [each for each in kept if type(each) is np.ndarray]
        return sum(each.shape == (12345,) for each in arrays) + sum(type(each) is tl.Tape for each in kept)

    def recorded() -> tuple[tl.Tape, Any, Any]:
        x = tl.asarray(np.ones(3))
        tape = tl.Tape()
        with tape:
            tape.watch(x)
            y = tl.sum(tl.exp(x) * x)
        return tape, x, y

    gc.collect()
    gc.disable()
    try:
        before = alive()
        tape, x, y = recorded()
        assert alive() == before + 1
        tape.gradient(y, x)
        assert (tape._entries, tape._tracked) == ([], {})
        del tape
        assert alive() == before
    finally:
        gc.enable()


def test_an_error_ends_recording() -> None:
    """Whatever is raised under a tape, it records no more afterwards."""
    x = tl.asarray(0)
    with pytest.raises(tl.Trap), tl.Tape():
        1 // x
    assert TAPE_STACK.get() == ()


def test_a_call_is_one_step() -> None:
    """A tl.function is recorded as a call, whose reverse pass is the derived program's; to any order."""
    x = tl.asarray(1.5)
    with tl.Tape() as tape:
        tape.watch(x)
        y = power(x, 3)
        assert repr(tape) == "<tape of 1 step, recording>"
    assert float(tape.gradient(y, x)) == 3 * 1.5**2
    assert derivatives(lambda x: power(x, 4), x, 4) == [1.5**4, 4 * 1.5**3, 12 * 1.5**2, 24 * 1.5, 24.0]
    assert derivatives(tl.grad(lambda x: power(x, 3)), x, 2) == [6.75, 9.0, 6.0]


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n == 0, lambda: 1.0, lambda: x * power(x, n - 1))


def test_a_call_of_several() -> None:
    """Arguments and results nest; integers go by, and what nothing has contributed to counts as zeros."""

    @tl.function
    def mixed(p: Any, n: Any) -> Any:
        return {"scaled": p["a"] * p["b"], "count": n + 1, "unused": tl.exp(p["a"])}

    a, b = tl.asarray([1.0, 2.0]), tl.asarray(3.0)
    with tl.Tape() as tape:
        tape.watch((a, b))
        found = mixed({"a": a, "b": b}, tl.asarray(7))
        y = tl.sum(found["scaled"] * tl.astype(found["count"], tl.float64))
    da, db = tape.gradient(y, (a, b))
    assert (np.asarray(da).tolist(), float(db)) == ([24.0, 24.0], 24.0)


def test_vjp_and_jvp_are_recorded() -> None:
    """They are calls, too."""
    x = tl.asarray(2.0)
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        value, pullback = tl.vjp(lambda x: x * x * x, x)
        (slope,) = pullback(1.0)
        moved = tl.jvp(lambda x: x * x * x, (x,), (2.0,))[1]
    assert [float(tape.gradient(each, x)) for each in (value, slope, moved)] == [12.0, 12.0, 24.0]


def test_what_a_trace_closes_over() -> None:
    """An array that a function closes over is one more argument of its program, and has a gradient if it is watched."""
    x, w = tl.asarray(2.0), tl.asarray(5.0)
    scaled = tl.function(lambda x: x * w)
    with tl.Tape() as tape:
        tape.watch(x)
        assert float(tape.gradient(scaled(x), x)) == 5.0
    with tl.Tape() as tape:
        tape.watch((x, w))
        y = scaled(x) * w
    assert list(map(float, tape.gradient(y, (x, w)))) == [25.0, 20.0]


def test_a_call_that_draws_is_refused() -> None:
    """D5: its reverse pass would run with other random numbers. Nobody minds where no gradient is wanted."""
    x = tl.asarray(2.0)
    noisy = tl.function(lambda x: x * tl.uniform())
    with tl.Tape() as tape:
        noisy(x)
        tape.watch(x)
        with pytest.raises(tl.Invalid, match=r"D5: .* draws random numbers"):
            noisy(x)


def test_a_tape_records_once() -> None:
    """It cannot be entered while it records."""
    tape = tl.Tape()
    with tape, pytest.raises(tl.Usage, match="recording already"), tape:
        pass


def test_jax_says_the_same() -> None:
    """A small network, with its gradient and the gradient of a function of that."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    dice = np.random.default_rng(1)
    w, b, v, x = (dice.normal(size=size) for size in ((4, 3), (4,), (4,), (5, 3)))

    def loss(np_: Any, w: Any, b: Any, v: Any) -> Any:
        return np_.sum(np_.tanh(x @ w.T + b) @ v) ** 2.0

    try:
        wanted = jax.grad(lambda *p: loss(jax.numpy, *p), (0, 1, 2))(w, b, v)
        second = jax.grad(lambda *p: jax.numpy.sum(jax.grad(lambda *q: loss(jax.numpy, *q), 0)(*p) ** 2.0), (0, 1, 2))
        again = second(w, b, v)
    finally:
        jax.config.update("jax_enable_x64", before)
    p = tuple(map(tl.asarray, (w, b, v)))
    with tl.Tape() as outer:
        outer.watch(p)
        with tl.Tape() as tape:
            tape.watch(p)
            y = loss(tl, *p)
        found = tape.gradient(y, p)
        squares = tl.sum(found[0] ** 2.0)
    for mine, theirs in zip((*found, *outer.gradient(squares, p)), (*wanted, *again), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
