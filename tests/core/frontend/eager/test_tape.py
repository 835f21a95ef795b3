"""The tape: what it records, how it identifies values, and its messages for wrong uses."""

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
    """The derivatives of a function of a number, up to an order, by nested tapes."""
    if order == 0:
        return [float(function(x))]

    def slope(x: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return [float(function(x)), *derivatives(slope, x, order - 1)]


def test_nested_tapes() -> None:
    """The derivatives of x * x at 3 are 9, 6, 2, 0."""
    assert derivatives(lambda x: x * x, tl.asarray(3.0), 3) == [9.0, 6.0, 2.0, 0.0]


def by_tape(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    given = tuple(map(tl.asarray, arguments))
    with tl.Tape() as tape:
        tape.watch(given)
        y = function(*given)
    return tape.gradient(y, given)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", HAND_MADE)
def test_a_tape_agrees_with_grad(name: str) -> None:
    """Tapes agree with `tl.grad` on functions written by hand, to the second order."""
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
def test_a_tape_agrees_with_differences(name: str) -> None:
    """Along a direction, the value changes as its gradient says."""
    function, arguments = HAND_MADE[name]
    step, directions = 1e-6, [np.ones_like(each) * (1 + at) for at, each in enumerate(arguments)]
    ends = [
        float(function(*(x + side * step * way for x, way in zip(arguments, directions, strict=True))))
        for side in (1, -1)
    ]
    result = by_tape(function, arguments)
    along = sum(float(np.sum(np.asarray(each) * way)) for each, way in zip(result, directions, strict=True))
    assert math.isclose(along, (ends[0] - ends[1]) / (2 * step), rel_tol=1e-5, abs_tol=1e-7)


def test_python_s_control_flow_is_not_recorded() -> None:
    """A tape records the branch that Python took, and each iteration of its loop."""
    x = tl.asarray(2.0)
    with tl.Tape() as tape:
        tape.watch(x)
        y = x
        while y < 50.0:
            y = y * x if y < 10.0 else y + x
    assert (float(y), float(tape.gradient(y, x))) == (50.0, 4 * 8.0 + 17.0)


def test_values_are_identified_by_identity() -> None:
    """Of two equal arrays one is watched; the other is a constant that the tape does not know."""
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
def test_other_values_cannot_be_watched(value: Any) -> None:
    """Python numbers, NumPy arrays and lists have no identity that ops preserve; integers and bools have no adjoint."""
    with tl.Tape() as tape, pytest.raises(tl.Usage, match="a tape watches arrays of floats"):
        tape.watch({"w": value})


def test_sources_nest() -> None:
    """The gradient has the structure of the sources. Sources without influence have zeros, and intermediate values can
    be sources."""
    w, b, c = tl.asarray([1.0, 2.0]), tl.asarray(3.0), tl.asarray([[1.0]])
    with tl.Tape() as tape:
        tape.watch({"w": w, "rest": (b, c)})
        h = w * b
        y = tl.sum(h * h)
    actual = tape.gradient(y, {"w": w, "more": (b, (h, c))})
    assert [np.asarray(each).tolist() for each in (actual["w"], actual["more"][1][0])] == [[18.0, 36.0], [6.0, 12.0]]
    assert (float(actual["more"][0]), np.asarray(actual["more"][1][1]).tolist()) == (30.0, [[0.0]])


def test_the_target_can_be_a_source() -> None:
    """The adjoint of the target is the given one."""
    x = tl.asarray([1.0, 2.0])
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        y = tl.exp(x)
    assert np.asarray(tape.gradient(y, y, tl.asarray([3.0, 4.0]))).tolist() == [3.0, 4.0]
    assert np.asarray(tape.gradient((y, y), y, (tl.ones_like(y), tl.ones_like(y)))).tolist() == [2.0, 2.0]


def test_adjoints_of_several_floats_are_given() -> None:
    """The adjoints of several floats must be given, in the structure of the target; integers have none."""
    x = tl.asarray([1.0, 2.0])
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        y = {"square": x * x, "sum": tl.sum(x), "signs": tl.astype(x, tl.int64)}
    actual = tape.gradient(y, x, {"square": [1.0, 10.0], "sum": 100.0, "signs": None})
    assert np.asarray(actual).tolist() == [102.0, 140.0]
    for target, adjoints, text in (
        (y["square"], None, "the target of a gradient is not one float"),
        (y["signs"], None, "the target of a gradient is not one float"),
        (y["square"], (1.0, 2.0), "an adjoint does not have the structure of its value"),
        (y["square"], tl.asarray(1.0), "an adjoint does not have the type of its result"),
    ):
        with pytest.raises(tl.Invalid, match=f"D3: {text}"):
            tape.gradient(target, x, adjoints)


def test_an_unrecorded_target_is_refused() -> None:
    """A Python number, or NumPy's, was not recorded, even if it was computed from a watched value."""
    x = tl.asarray(2.0)
    for leaving in (float, np.sin):
        with tl.Tape() as tape:
            tape.watch(x)
            with pytest.raises(tl.Usage, match="target was not recorded"):
                tape.gradient(leaving(x), x)


def test_one_tape_gives_one_gradient() -> None:
    """After its gradient a tape is empty and records no more; it can be used anew. A persistent tape gives several
    gradients."""
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
    """Inside its `with`, a persistent tape records its own reverse pass, and so gives the second order."""
    x = tl.asarray(2.0)
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        first = tape.gradient(x * x * x, x)
        second = tape.gradient(first, x)
        assert [float(first), float(second), float(tape.gradient(second, x))] == [12.0, 12.0, 6.0]


def test_stop_recording() -> None:
    """Values computed meanwhile are constants; other tapes go on recording."""
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
    """A tape that is reset is empty, and goes on recording."""
    x = tl.asarray(3.0)
    with tl.Tape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        with pytest.raises(tl.Usage, match="does not know"):
            tape.gradient(y, x)
        tape.watch(x)
        assert float(tape.gradient(x * 2.0, x)) == 2.0


def test_only_watched_values_are_recorded() -> None:
    """Ops on other values, and ops with integer results, are not recorded."""
    x, other = tl.asarray(3.0), tl.asarray(4.0)
    with tl.Tape() as tape:
        tape.watch(x)
        tl.exp(other)
        tl.astype(x, tl.int64) + 1
        assert repr(tape) == "<tape of 0 steps, recording>"
        x * other
        assert repr(tape) == "<tape of 1 step, recording>"


@pytest.mark.full
def test_recorded_values_are_freed() -> None:
    """Recorded values are freed with the tape, and after its gradient, without a cycle."""

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
    """After any error inside its `with`, a tape records no more."""
    x = tl.asarray(0)
    with pytest.raises(tl.Trap), tl.Tape():
        1 // x
    assert TAPE_STACK.get() == ()


@pytest.mark.full
def test_a_call_is_one_entry() -> None:
    """A tl.function is recorded as one call; its reverse pass is the derived program's, to any order."""
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


def test_calls_nest() -> None:
    """Arguments and results nest, integers have no adjoints, and results without influence count as zeros."""

    @tl.function
    def mixed(p: Any, n: Any) -> Any:
        return {"scaled": p["a"] * p["b"], "count": n + 1, "unused": tl.exp(p["a"])}

    a, b = tl.asarray([1.0, 2.0]), tl.asarray(3.0)
    with tl.Tape() as tape:
        tape.watch((a, b))
        result = mixed({"a": a, "b": b}, tl.asarray(7))
        y = tl.sum(result["scaled"] * tl.astype(result["count"], tl.float64))
    da, db = tape.gradient(y, (a, b))
    assert (np.asarray(da).tolist(), float(db)) == ([24.0, 24.0], 24.0)


@pytest.mark.full
def test_vjp_and_jvp_are_recorded() -> None:
    """`vjp` and `jvp` are recorded as calls."""
    x = tl.asarray(2.0)
    with tl.Tape(persistent=True) as tape:
        tape.watch(x)
        value, pullback = tl.vjp(lambda x: x * x * x, x)
        (slope,) = pullback(1.0)
        moved = tl.jvp(lambda x: x * x * x, (x,), (2.0,))[1]
    assert [float(tape.gradient(each, x)) for each in (value, slope, moved)] == [12.0, 12.0, 24.0]


def test_arrays_that_a_function_closes_over() -> None:
    """An array that a function closes over is another argument of its program, and has a gradient if it is watched."""
    x, w = tl.asarray(2.0), tl.asarray(5.0)
    scaled = tl.function(lambda x: x * w)
    with tl.Tape() as tape:
        tape.watch(x)
        assert float(tape.gradient(scaled(x), x)) == 5.0
    with tl.Tape() as tape:
        tape.watch((x, w))
        y = scaled(x) * w
    assert list(map(float, tape.gradient(y, (x, w)))) == [25.0, 20.0]


def test_d5_a_call_that_draws_is_refused() -> None:
    """D5: the reverse pass of a call that draws would draw other numbers, and is refused. The call is allowed without a
    gradient."""
    x = tl.asarray(2.0)
    noisy = tl.function(lambda x: x * tl.uniform())
    with tl.Tape() as tape:
        noisy(x)
        tape.watch(x)
        with pytest.raises(tl.Invalid, match=r"D5: .* draws random numbers"):
            noisy(x)


def test_a_recording_tape_cannot_be_entered() -> None:
    """A tape cannot be entered while it records."""
    tape = tl.Tape()
    with tape, pytest.raises(tl.Usage, match="recording already"), tape:
        pass


def test_a_tape_agrees_with_jax() -> None:
    """A small network, its gradient, and the gradient of a function of that agree with JAX."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    dice = np.random.default_rng(1)
    w, b, v, x = (dice.normal(size=size) for size in ((4, 3), (4,), (4,), (5, 3)))

    def loss(np_: Any, w: Any, b: Any, v: Any) -> Any:
        return np_.sum(np_.tanh(x @ w.T + b) @ v) ** 2.0

    try:
        expected = jax.grad(lambda *p: loss(jax.numpy, *p), (0, 1, 2))(w, b, v)
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
        result = tape.gradient(y, p)
        squares = tl.sum(result[0] ** 2.0)
    for mine, theirs in zip((*result, *outer.gradient(squares, p)), (*expected, *again), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_a_tape_records_an_unrolled_loop_with_exits() -> None:
    """A loop of known length that a symbolic condition may leave by a `return` has its gradient, in a function that is
    traced more than once, too."""

    def power_above(x: Any) -> Any:
        y = x
        for _ in range(3):
            if y > 10.0:
                return y
            y = y * x
        return y

    @tl.function
    def slope(x: tl.float64) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = power_above(x)
        return tape.gradient(y, x)

    assert (slope(3.0), slope(2.0)) == (27.0, 32.0)
