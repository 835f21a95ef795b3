"""Variables: their values, eagerly and in programs, and their refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl


def test_a_variable_is_used_as_an_array() -> None:
    """Operators, ops, NumPy and Python's conversions use its value."""
    w = tl.Variable([1.0, 2.0], name="w")
    assert (w * 2 + 1).shape == (2,) and float(tl.sum(w)) == 3.0 and np.asarray(w).tolist() == [1.0, 2.0]
    assert float(w[1]) == 2.0 and len(w) == 2 and [float(each) for each in w] == [1.0, 2.0]
    assert (w.dtype, w.shape, w.ndim, w.size) == (tl.float64, (2,), 1, 2)
    n = tl.Variable(3)
    assert int(n) == 3 and bool(n) and list(range(n)) == [0, 1, 2] and bool((np.ones(2) * w)[1] == 2.0)


def test_assigning() -> None:
    """An assigned value has the variable's type: a Python number takes its dtype, and a variable gives its value."""
    x, y = tl.Variable(1.0, dtype=tl.float32), tl.Variable(5)
    x.assign(3)
    y.assign_add(y)
    y.assign_sub(1)
    assert repr(x) == "<variable x: float32 = 3.>" and int(y) == 9
    before = y.value
    y.assign(0)
    assert int(before) == 9
    rows = tl.Variable(np.zeros((0, 3)), dtype=tl.Array[tl.float64, None, 3], name="rows")
    rows.assign(np.ones((2, 3)))
    assert rows.value.shape == (2, 3) and rows.shape == (None, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tl.Variable([1.0, 2.0]).assign([1.0, 2.0, 3.0]),
        lambda: tl.Variable([1.0, 2.0]).assign(1.0),
        lambda: tl.Variable(1).assign(1.5),
        lambda: tl.function(lambda: tl.Variable(1))(),
        lambda: tl.function(lambda x: tl.Variable(x) * 2)(1.0),
        lambda: tl.Variable("text"),
        lambda: tl.Variable(1.0, name="two words"),
        lambda: tl.Variable(1.5, dtype=tl.int64),
    ],
    ids=["shape", "rank", "dtype", "made at each trace", "symbolic", "no value", "name", "dtype at first"],
)
def test_wrong_uses_are_refused(wrong: Callable[[], Any]) -> None:
    """Wrong uses are refused in words, at the user's line."""
    with pytest.raises((tl.Usage, tl.Invalid)) as raised:
        wrong()
    assert "test_variables.py" in str(raised.value) and (raised.value.required or raised.value.got)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_the_condition_of_a_loop_assigns(engine: str) -> None:
    """A condition assigns once more often than there are iterations, and before the body reads."""
    n = tl.Variable(0, name="n")

    def going_on(i: Any, seen: Any) -> Any:
        n.assign_add(1)
        return (i < 3) & (n < 10)

    def step(i: Any, seen: Any) -> Any:
        return i + 1, seen * 10 + n

    def looped(start: Any) -> Any:
        return tl.while_loop(going_on, step, start, 0)

    staged = tl.function(looped)
    for start, expected, count in ((0, (3, 123), 4), (3, (3, 0), 1), (-20, (-11, 123456789), 10)):
        for run in (looped, lambda start: staged.run(start, engine=engine).value):
            n.assign(0)
            assert (run(start), int(n)) == (expected, count)


def test_a_condition_may_draw() -> None:
    """A condition may draw from a generator, without loop variables, as often as eagerly; the gradient is that of the
    iterations."""

    def counts(stage: Any) -> list[int]:
        dice, count = tl.Generator(2), tl.Variable(0, name="count")
        tossed = stage(lambda: tl.while_loop(lambda: dice.uniform() < 0.7, lambda: count.assign_add(1)))
        return [(tossed(), int(count))[1] for _ in range(6)]

    actual = counts(tl.function)
    assert actual == counts(lambda function: function) and actual[-1] > 4
    dice = tl.Generator(2)
    power = tl.function(lambda x: tl.while_loop(lambda y: dice.uniform() < 0.7, lambda y: y * x, 1.0)[0])
    assert actual[0] > 0 and tl.grad(power)(3.0) == actual[0] * 3.0 ** (actual[0] - 1)


def test_errors_of_a_loop_whose_condition_assigns() -> None:
    """The errors are those of any loop, at the user's line."""
    n = tl.Variable(0, name="n")

    def going_on(i: Any) -> Any:
        n.assign_add(1)
        return i < 3

    def looped(body: Any) -> tl.Function:
        return tl.function(lambda: tl.while_loop(going_on, body, 0))

    for body, text in (
        (lambda i: tl.astype(i, tl.float64), "loop variable i changes its type"),
        (lambda i: (i, i), "does not return one value for each loop variable"),
        (lambda i, j: i, "takes the wrong number of values"),
        (lambda i: {"i": i}, "loop variable i changes its structure"),
    ):
        with pytest.raises((tl.Usage, tl.Invalid), match=text) as raised:
            looped(body)()
        assert "test_variables.py" in str(raised.value)
    with pytest.raises(tl.Invalid, match="condition of while_loop is not one bool"):
        tl.function(lambda: tl.while_loop(lambda i: (n.assign(i), i)[1], lambda i: i + 1, 0))()


@pytest.mark.full
def test_a_run_that_does_not_return_changes_nothing() -> None:
    """If a run traps or reaches a limit, no variable is assigned."""
    n = tl.Variable(1, name="n")

    @tl.function
    def f(d: tl.int64) -> tl.int64:
        n.assign(n + 10)
        return n // d

    for engine in ("reference", "fast", "compiled"):
        assert f.run(0, engine=engine).status == "Trapped"
        assert f.run(1, engine=engine, limits=tl.Limits(depth=0)).status in ("Returned", "Exhausted")
        n.assign(1)
    assert f.history(2).graph is not None and int(n) == 1
    out = f.run(2)
    assert (out.value, out.variables, int(n)) == (5, {"n": 11}, 11)


def test_counting() -> None:
    """A counter that a function closes over, from TensorFlow Eager: 1, 2, 3."""
    count = tl.Variable(0, name="count")

    @tl.function
    def counted() -> None:
        count.assign_add(1)

    @tl.function
    def nested():  # type: ignore[no-untyped-def]
        counted()
        return count.value

    assert [int(nested()) for _ in range(3)] == [1, 2, 3]
    assert counted() is None and int(count) == 4


def test_a_variable_is_created_in_the_first_trace() -> None:
    """A function may create a variable that does not exist yet; then it is traced once more, and not again."""

    class Net:
        def __init__(self) -> None:
            self.w: Any = None

        @tl.function
        def scaled(self, x: Any) -> Any:
            if self.w is None:
                self.w = tl.Variable(lambda: tl.ones((2,)) * 3, name="w")
            return x * self.w

    net, other = Net(), Net()
    assert np.asarray(net.scaled(np.ones(2))).tolist() == [3.0, 3.0]
    assert "traced twice, since the first tracing created w" in net.scaled.explain()
    net.w.assign([1.0, 2.0])
    assert np.asarray(net.scaled(np.ones((4, 2))))[0].tolist() == [1.0, 2.0]
    assert np.asarray(other.scaled(np.ones(2))).tolist() == [3.0, 3.0]
    fresh: list[Any] = []
    late = tl.function(lambda x: (fresh.append(tl.Variable(0.0)) if x.ndim == 2 else None, x * 2)[1])
    late(np.ones(2))
    with pytest.raises(tl.Usage, match="is created in every trace of this function"):
        late(np.ones((2, 2)))


def test_a_read_value_does_not_change() -> None:
    """A value that was read does not change, whatever is assigned later, in loops too."""
    w = tl.Variable(2.0, name="w")

    @tl.function
    def f():  # type: ignore[no-untyped-def]
        before = w.value

        def body(i: Any) -> Any:
            w.assign(w * before)
            return i + 1

        tl.while_loop(lambda i: i < 3, body, 0)
        return before, w.value

    assert [float(each) for each in f()] == [2.0, 16.0]


def test_gradients_by_variables() -> None:
    """Gradients have the structure of the variables: 0 for an unused one, and by the earlier value for an assigned
    one."""
    w, b, unused = (tl.Variable(start, name=name) for name, start in (("w", 3.0), ("b", 1.0), ("unused", [1.0, 2.0])))

    def loss(x: Any) -> Any:
        w.assign(w * 2.0)
        return w * w * x + b

    gradients = tl.grad(loss, {"w": w, "rest": (b, unused), "x": 0})(5.0)
    assert float(gradients["w"]) == 8 * 3.0 * 5.0 and float(gradients["x"]) == 36.0
    assert float(gradients["rest"][0]) == 1.0 and np.asarray(gradients["rest"][1]).tolist() == [0.0, 0.0]
    w.assign(3.0)
    with tl.Tape() as tape:
        y = tl.function(loss)(5.0)
    assert [np.asarray(each).tolist() for each in tape.gradient(y, (w, b, unused))] == [120.0, 1.0, [0.0, 0.0]]
    assert float(w) == 6.0
    n = tl.Variable(1, name="n")
    with pytest.raises(tl.Invalid, match="variable n is not of floats"):
        tl.grad(lambda: w * tl.astype(n, tl.float64), n)()


@pytest.mark.full
def test_reads_in_recursion_add_up() -> None:
    """The reads of every activation contribute to the variable's adjoint, on every engine."""
    w = tl.Variable(2.0, name="w")

    @tl.function
    def power(n: tl.int64) -> tl.float64:
        return tl.cond(n <= 0, lambda: 1.0, lambda: w * power(n - 1))

    for engine in ("reference", "fast", "compiled"):
        assert tl.grad(power, w).run(5, engine=engine).value == 5 * 2.0**4
    assert tl.grad(tl.grad(power, w), w)(5) == 20 * 2.0**3


@pytest.mark.full
def test_training_steps_are_the_same_everywhere() -> None:
    """A training step has the same bits by a tape, traced, and on each engine."""

    def trained(step: Callable[[Any, Any, Any], Any]) -> bytes:
        w = tl.Variable([0.5, -0.25], name="w")
        for at in range(4):
            step(w, np.array([1.0, at]), 0.5 * at)
        return np.asarray(w).tobytes()

    def loss(w: Any, x: Any, y: Any) -> Any:
        error = tl.sum(w * x) - y
        return error * error

    def by_tape(w: Any, x: Any, y: Any) -> None:
        with tl.Tape() as tape:
            value = loss(w, tl.asarray(x), y)
        w.assign_sub(0.1 * tape.gradient(value, w))

    def traced(w: Any, x: Any, y: Any) -> Any:
        w.assign_sub(0.1 * tl.grad(lambda: loss(w, x, y), w)())
        return 0

    expected = trained(by_tape)
    staged = tl.function(traced)
    assert trained(staged) == expected
    for engine in ("reference", "fast"):
        run = tl.function(traced).run
        assert trained(lambda w, x, y, run=run, engine=engine: run(w, x, y, engine=engine)) == expected  # type: ignore


@pytest.mark.full
def test_random_state() -> None:
    """A generator continues from run to run, alike eagerly and in programs; its variables have its state."""

    def drawn(g: Any) -> Any:
        return g.normal((2,)), g.integers(0, 10), g.uniform(), g.permutation(4)

    one = tl.Generator(5)
    expected = [np.asarray(each).tobytes() for _ in range(2) for each in drawn(one)]
    for engine in ("reference", "fast", "compiled"):
        g, draw = tl.Generator(5), tl.function(drawn)
        actual = [np.asarray(each).tobytes() for _ in range(2) for each in draw.run(g, engine=engine).value]
        assert actual == expected and repr(g) == "<generator of seed 5, 8 drawn>"
    assert len({float(tl.uniform()) for _ in range(20)}) == 20
