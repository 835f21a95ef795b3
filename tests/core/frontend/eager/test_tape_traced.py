"""Tapes in functions under trace: their gradients are parts of the program, and agree with other gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.tape_programs import HAND_MADE


def slopes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The gradient by all arguments, by a tape, eagerly or in a trace."""
    with tl.Tape() as tape:
        tape.watch(arguments)
        y = function(*arguments)
    return tape.gradient(y, arguments)


def again(gradients: Callable[..., Any]) -> Callable[..., Any]:
    """A number that depends on gradients."""
    return lambda x, y: sum(tl.sum(each * each * (0.5 + at)) for at, each in enumerate(gradients(x, y)))


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", HAND_MADE)
def test_a_tape_in_a_trace_agrees_with_grad(name: str) -> None:
    """Tapes in a trace agree with `tl.grad` on functions written by hand, to the second order."""
    function, arguments = HAND_MADE[name]
    by_grad = again(lambda x, y: tl.grad(function, (0, 1))(x, y))
    by_tape = again(lambda x, y: slopes(function, (x, y)))
    arrays = tuple(map(tl.asarray, arguments))
    for one, other in ((function, function), (by_tape, by_grad)):
        traced = _traced(one)
        expected = tl.grad(other, (0, 1))(*arguments)
        for mine, eager, theirs in zip(traced(*arguments), slopes(one, arrays), expected, strict=True):
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(mine, eager, rtol=1e-12, atol=1e-12)


def _traced(function: Callable[..., Any]) -> tl.Function:
    return tl.function(lambda x, y: slopes(function, (x, y)))


def derivative(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    """The derivative of this order, by nested tapes."""
    if order == 0:
        return function

    def slope(x: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = derivative(function, order - 1)(x)
        return tape.gradient(y, x)

    return slope


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n == 0, lambda: 1.0, lambda: x * power(x, n - 1))


def loop(x: Any) -> Any:
    return tl.while_loop(lambda k, _: k < 4, lambda k, y: (k + 1, y * x), 0, tl.sin(x))[1]


def choice(x: Any) -> Any:
    return tl.cond(x > 1.0, lambda: x * tl.exp(x), lambda: x)


NESTED: dict[str, Callable[[Any], Any]] = {
    "ops": lambda x: tl.tanh(x * x) * tl.exp(x),
    "a call": lambda x: power(x * 2.0, 4) * x,
    "a branch": lambda x: choice(x) * x,
    "a loop": lambda x: loop(x) / x,
}


@pytest.mark.full
@pytest.mark.parametrize("name", NESTED)
def test_nested_tapes(name: str) -> None:
    """Nested tapes agree with nested `tl.grad`."""
    function = expected = NESTED[name]
    for order in (1, 2, 3):
        expected = tl.grad(expected)
        assert tl.function(derivative(function, order))(1.25) == pytest.approx(expected(1.25), rel=1e-12)


@pytest.mark.full
def test_nested_tapes_have_the_same_bits() -> None:
    """For functions of ops only, nested tapes have the bits of `tl.grad`, and of eager tapes."""
    function = expected = NESTED["ops"]
    for order in (1, 2, 3):
        expected = tl.grad(expected)
        for x in (0.05, 0.7, 1.25):
            actual = tl.function(derivative(function, order))(x)
            assert actual == expected(x) == float(derivative(function, order)(tl.asarray(x)))


@pytest.mark.full
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_engines_agree(engine: str) -> None:
    """A program with tapes runs alike on every engine."""
    for name in ["a call"] if engine == "compiled" else list(NESTED):
        function = NESTED[name]
        actual = tl.function(derivative(function, 2)).run(1.25, engine=engine)
        assert (actual.status, float(actual.value)) == ("Returned", pytest.approx(tl.grad(tl.grad(function))(1.25)))


def test_a_call_is_not_computed_again() -> None:
    """The pullback of a call uses its first computation: its effects happen once, and the gradient is that of its
    random numbers."""
    lines: list[str] = []

    @tl.function
    def noisy(x: Any) -> Any:
        tl.print("here")
        return x * tl.uniform()

    @tl.function
    def both(x: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = noisy(x)
        return y, tape.gradient(y, x)

    y, slope = both.run(2.0, world=tl.World(output=lines.append)).value
    assert (lines, slope) == (["here"], y / 2.0)


@pytest.mark.parametrize("persistent", [False, True])
def test_d5_calls_with_effects_are_not_computed_again(persistent: bool) -> None:
    """D5: if an outer tape, or the tape itself, records the pullback of a call, the call is computed again, and is
    refused if it draws."""
    noisy = tl.function(lambda x: x * tl.uniform())

    @tl.function
    def outer(x: Any) -> Any:
        with tl.Tape(persistent=persistent) as tape:
            tape.watch(x)
            if persistent:
                return tape.gradient(noisy(x), x)
            return derivative(noisy, 1)(x)

    with pytest.raises(tl.Invalid, match=r"D5: .* which draws"):
        outer(2.0)


@pytest.mark.full
def test_a_persistent_tape() -> None:
    """A persistent tape gives several gradients, and records its own reverse pass while it records."""

    @tl.function
    def several(x: Any) -> Any:
        with tl.Tape(persistent=True) as tape:
            tape.watch(x)
            first = tape.gradient(power(x, 3), x)
            second = tape.gradient(first, x)
        return first, second, tape.gradient(second, x), tape.gradient(first, x)

    assert several(2.0) == (12.0, 12.0, 6.0, 12.0)


def test_stop_recording() -> None:
    """Values traced meanwhile are constants; other tapes go on recording."""

    @tl.function
    def both(x: Any) -> Any:
        with tl.Tape() as other, tl.Tape() as tape:
            tape.watch(x)
            other.watch(x)
            with tape.stop_recording():
                factor = x * power(x, 1)
            y = factor * x
        return tape.gradient(y, x), other.gradient(y, x)

    assert both(3.0) == (9.0, 27.0)


def test_one_tape_gives_one_gradient() -> None:
    """A tape may be created before the trace, and is empty each time that it is used."""
    tape = tl.Tape()

    @tl.function
    def slope(x: Any) -> Any:
        with tape:
            tape.watch(x)
            y = x * x
        result = tape.gradient(y, x)
        with pytest.raises(tl.Usage, match="and dropped its records"):
            tape.gradient(y, x)
        return result

    assert (slope(3.0), slope(np.float32(3.0)), float(derivative(slope, 1)(tl.asarray(2.0)))) == (6.0, 6.0, 2.0)


def test_variables() -> None:
    """Variables are watched at their first read. The gradient is by their values at that time, whatever is assigned
    later, and assigned values are differentiated: in branches, loops and calls, too."""
    w, b = tl.Variable(3.0, name="w"), tl.Variable(1.0, name="b")

    @tl.function
    def doubled(x: Any) -> Any:
        w.assign(w * 2.0)
        return w * x

    def step(x: Any) -> Any:
        w.assign(3.0)
        with tl.Tape() as tape:
            y = w * w * x
            w.assign(y)
            tl.cond(x > 0.0, lambda: w.assign_add(w * b), lambda: None)
            tl.while_loop(lambda k: k < 2, lambda k: (w.assign(w * x), k + 1)[1], 0)
            y = doubled(x) * y
        return tape.gradient(y, {"w": w, "b": (b,)})

    eager = step(tl.asarray(0.5))
    w.assign(7.0)
    actual = tl.function(step)(0.5)
    # w1 = 9x; w2 = w1 (1 + b); w3 = w2 x^2; y = 2 w3 x * w1 = 2 x^5 (1 + b) w^4 of w = 3
    assert [float(each["w"]) for each in (eager, actual)] == pytest.approx([8 * 0.5**5 * 2 * 27] * 2)
    assert [float(each["b"][0]) for each in (eager, actual)] == pytest.approx([2 * 0.5**5 * 81] * 2)


@pytest.mark.full
def test_a_training_step() -> None:
    """A training step by a tape, with an optimizer, has the bits of a step by `tl.grad`."""

    def trained(by_tape: bool) -> bytes:
        w, optimizer = tl.Variable([0.5, -1.0], name="w"), tl.optimizers.Adam(rate=0.1)

        @tl.function
        def step(x: Any) -> Any:
            def loss() -> Any:
                return tl.sum((x * w - 1.0) ** 2)

            if by_tape:
                with tl.Tape() as tape:
                    value = loss()
                optimizer.apply(tape.gradient(value, w), w)
            else:
                value, slope = tl.value_and_grad(loss, w)()
                optimizer.apply(slope, w)
            return value

        losses = [step(tl.asarray([1.0, 2.0])) for _ in range(3)]
        return b"".join(np.asarray(each).tobytes() for each in (w, *losses))

    assert trained(by_tape=True) == trained(by_tape=False)


@pytest.mark.full
def test_arrays_that_a_function_closes_over() -> None:
    """Arrays from before the trace can be watched, and so can values of an outer function. An eager tape that watches
    such an array records the whole call."""
    w = tl.asarray([1.0, 2.0])

    @tl.function
    def slope(x: Any) -> Any:
        def inner() -> Any:
            scaled = tl.function(lambda z: z * w * x)
            with tl.Tape() as tape:
                tape.watch((w, x))
                y = tl.sum(scaled(x) * tl.cond(x > 0.0, lambda: w * x, lambda: w))
            return tape.gradient(y, (w, x))

        return tl.function(inner)()

    x = tl.asarray(0.5)
    with tl.Tape() as tape:
        tape.watch(w)
        dw, dx = slope(x)
        total = tl.sum(dw) * dx
    assert np.allclose(dw, 2 * 0.5**3 * np.array([1.0, 2.0])) and np.allclose(dx, 3 * 0.5**2 * 5.0)
    assert np.allclose(tape.gradient(total, w), 0.25 * 3.75 + 0.75 * 1.5 * np.array([1.0, 2.0]))


@pytest.mark.full
def test_branches_and_loops_have_tapes_of_their_own() -> None:
    """A tape in a branch or loop gives a gradient there; `tl.grad` of the whole, and of a map, is right, too."""

    @tl.function
    def descent(x: Any) -> Any:
        def body(k: Any, x: Any) -> Any:
            return k + 1, tl.cond(x > 0.0, lambda: x - 0.1 * derivative(choice, 1)(x), lambda: x)

        return tl.while_loop(lambda k, _: k < 3, body, 0, x)[1]

    @tl.function
    def wanted(x: Any) -> Any:
        def body(k: Any, x: Any) -> Any:
            return k + 1, tl.cond(x > 0.0, lambda: x - 0.1 * tl.grad(choice)(x), lambda: x)

        return tl.while_loop(lambda k, _: k < 3, body, 0, x)[1]

    assert descent(1.5) == wanted(1.5)
    assert tl.grad(descent)(1.5) == pytest.approx(tl.grad(wanted)(1.5), rel=1e-12)
    each = tl.function(lambda xs: tl.map(derivative(NESTED["a call"], 1), xs))(np.array([0.5, 1.5]))
    assert np.allclose(each, [tl.grad(NESTED["a call"])(x) for x in (0.5, 1.5)])


@pytest.mark.full
def test_map_and_scan() -> None:
    """`map` and `scan` are recorded as one entry each."""

    def f(xs: Any) -> Any:
        total, sums = tl.scan(lambda total, x: (total * x + 1.0, total * x), tl.sum(xs), tl.map(tl.sin, xs))
        return total * tl.sum(sums * sums)

    xs = np.array([0.5, -1.0, 2.0])
    result = tl.function(lambda xs: slopes(f, (xs,))[0])(xs)
    np.testing.assert_allclose(result, tl.grad(f)(xs), rtol=1e-12)


@pytest.mark.full
def test_vjp_and_jvp() -> None:
    """`vjp` and `jvp` under a tape are recorded."""

    @tl.function
    def several(x: Any) -> Any:
        def cube(x: Any) -> Any:
            return x * x * x

        with tl.Tape(persistent=True) as tape:
            tape.watch(x)
            value, pullback = tl.vjp(cube, x)
            (slope,) = pullback(1.0)
            moved = tl.jvp(cube, (x,), (2.0,))[1]
        return tuple(tape.gradient(each, x) for each in (value, slope, moved))

    assert several(2.0) == (12.0, 12.0, 24.0)


def test_custom_gradients() -> None:
    """A tape in a trace uses custom gradients, and not those of the functions behind them."""

    @tl.custom_gradient
    def halved(x: Any, y: Any) -> Any:
        return x * tl.exp(y), lambda adjoint: (adjoint / 2.0, adjoint * x)

    function = tl.function(lambda x, y: slopes(lambda x, y: halved(x, y) * x, (x, y)))
    assert function(3.0, 0.0) == tl.grad(lambda x, y: halved(x, y) * x, (0, 1))(3.0, 0.0)


def test_adjoints_of_unknown_sizes() -> None:
    """Adjoints have the shapes of their values, as far as these are known."""

    @tl.function
    def slope(x: tl.Array[tl.float64, None], y: tl.Array[tl.float64, 1]) -> Any:
        with tl.Tape() as tape:
            tape.watch((x, y))
            z = tl.sum(tl.tanh(x * y) * tl.sum(x))
        return tape.gradient(z, (x, y))

    x, y = np.array([0.5, 1.5, -1.0]), np.array([2.0])
    expected = tl.grad(lambda x, y: tl.sum(tl.tanh(x * y) * tl.sum(x)), (0, 1))(x, y)
    for mine, theirs in zip(slope(x, y), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def refused(said: str, function: Callable[..., Any], kind: type[tl.TagloomError] = tl.Usage) -> None:
    with pytest.raises(kind, match=said) as raised:
        tl.function(function)(1.5)
    assert "test_tape_traced.py" in str(raised.value)


def test_a_tape_belongs_to_the_region_of_its_with() -> None:
    """A tape has recorded nothing elsewhere: in a branch or function inside, outside of the trace, or in a trace if it
    records eager ops."""
    eager = tl.Tape()
    with eager:
        refused("was entered outside the function that is traced here", lambda x: eager.gradient(x, x))
        refused("was entered outside the function that is traced here", lambda x: eager.watch(x))
        refused("recording already", lambda x: eager.__enter__())
    kept: list[tuple[tl.Tape, Any, Any]] = []

    def within(ask: Callable[[tl.Tape, Any, Any], Any]) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            with tl.Tape(persistent=True) as tape:
                tape.watch(x)
                y = x * x
                kept.append((tape, y, x))
                return ask(tape, y, x)

        return function

    other = "was entered in a different function, branch or loop"
    refused(other, within(lambda tape, y, x: tl.cond(x > 0.0, lambda: tape.gradient(y, x), lambda: x)))
    refused(other, within(lambda tape, y, x: tl.function(lambda: tape.gradient(y, x))()))
    refused(other, within(lambda tape, y, x: tl.cond(x > 0.0, lambda: (tape.watch(y), x)[1], lambda: x)))
    assert tl.function(within(lambda tape, y, x: tape.gradient(y, x)))(1.5) == 3.0
    tape, y, x = kept[-1]
    with pytest.raises(tl.Usage, match=other):
        tape.gradient(y, x)


def test_wrong_uses_are_refused() -> None:
    """Unknown sources, integers, cells watched one by one, and callbacks are refused."""

    def of(use: Callable[[Any], Any], *, watch: bool = True) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            with tl.Tape() as tape:
                if watch:
                    tape.watch(x)
                y = use(x)
            return tape.gradient(y, x)

        return function

    def in_cells(x: Any) -> Any:
        return tl.get(tl.put(tl.cells(1, tl.float64), 0, x), 0)

    refused("the tape does not know source", of(lambda x: x * x, watch=False))
    refused("tapes do not record cells", of(in_cells))
    refused("D1: callback cannot be", of(lambda x: tl.callback(lambda x: x, x, returns=tl.float64) * x), tl.Invalid)
    with tl.Tape() as tape, pytest.raises(tl.Usage, match="a tape watches arrays of floats"):
        tape.watch(1.0)
    assert tl.function(of(lambda x: tl.function(in_cells)(x) * x))(1.5) == 3.0


def test_recursive_functions() -> None:
    """A function may compute its gradient by a tape before its own result type is known."""

    @tl.function
    def descent(x: Any, n: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = x * x * 0.5
        slope = tape.gradient(y, x)
        return tl.cond(n == 0, lambda: x, lambda: descent(x - 0.5 * slope, n - 1))

    assert descent(8.0, 3) == 1.0

    @tl.function
    def recursive(x: Any, n: Any) -> Any:
        def smaller() -> Any:
            with tl.Tape() as tape:
                tape.watch(x)
                y = recursive(x, n - 1) * x
            return tape.gradient(y, x)

        return tl.cond(n == 0, lambda: x, smaller)

    with pytest.raises(tl.Invalid, match="D2: a function takes the gradient of itself"):
        recursive(2.0, 1)


def test_literals_are_watched() -> None:
    """An array that is created in the trace can be watched; uses in branches and functions count."""

    @tl.function
    def slope(x: Any) -> Any:
        w = tl.asarray([2.0, 3.0])
        with tl.Tape() as tape:
            tape.watch(w)
            y = tl.sum(w * tl.cond(x > 0.0, lambda: w * x, lambda: w)) + power(w[0], 3)
        return tape.gradient(y, w)

    assert np.asarray(slope(0.5)).tolist() == [14.0, 3.0]


def test_functions_that_are_traced_again() -> None:
    """A function that is traced again, because more is known of its callees, has the same gradient."""

    @tl.function
    def down(x: Any, n: Any) -> Any:
        return tl.cond(n == 0, lambda: 1, lambda: down(x, n - 1) * x)

    @tl.function
    def slope(x: Any) -> Any:
        def inner() -> Any:
            with tl.Tape() as tape:
                tape.watch(x)
                y = down(x, 3) * tl.cond(x > 0.0, lambda: tl.cond(x > 1.0, lambda: x * x, lambda: x), lambda: 0.5)
            return tape.gradient(y, x)

        return tl.function(inner)() + down(x, 1)

    assert slope(2.0) == 5 * 2.0**4 + 2.0


def test_adjoints_have_the_sizes_of_the_argument() -> None:
    """The adjoint of an argument has its sizes, even if the parameter leaves them open; so it is by `tl.vjp`."""

    @tl.function
    def squares(x: tl.Array[tl.float64, None]) -> tl.float64:
        return tl.sum(x * x)

    @tl.function
    def both(x: tl.Array[tl.float64, 3]) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = squares(x)
        slope, (other,) = tape.gradient(y, x), tl.vjp(squares, x)[1](1.0)
        assert slope.shape == other.shape == (3,)
        return slope, other

    assert [each.tolist() for each in both(np.ones(3))] == [[2.0, 2.0, 2.0]] * 2


def test_an_integer_argument_of_a_float_parameter() -> None:
    """If the parameter is a float, the argument has an adjoint, even if an integer was passed."""

    @tl.function
    def product(x: tl.float64, y: tl.float64) -> tl.float64:
        return x * x * y

    def adjoints(y: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(y)
            z = product(2, y)
        return *tl.vjp(product, 2, 5.0)[1](1.0), tape.gradient(z, y)

    for way in (adjoints, tl.function(adjoints)):
        assert [float(each) for each in way(tl.asarray(5.0))] == [20.0, 4.0, 4.0]


def test_a_source_of_unknown_size_that_the_target_ignores_has_zeros() -> None:
    """The gradient of a source on which the target does not depend is zeros in its size, also if that is known
    only at run time."""

    @tl.function(input_signature=[tl.Array[tl.float64, None]])
    def derivative(x: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = tl.asarray(0.5)
        return tape.gradient(y, x)

    for size in (0, 3):
        np.testing.assert_array_equal(derivative(np.ones(size)), np.zeros(size))
