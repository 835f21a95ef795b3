"""Variables passed around: as results of functions, branches and loops, as arguments, and on tapes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import tagloom as tl


def test_a_returned_variable_is_its_value() -> None:
    """A variable that a function returns is its value at that point; later assignments do not change it."""

    def counted(v: Any) -> Any:
        v.assign_add(1.0)
        return {"v": v, "rest": (v,)}

    v = tl.Variable(1.0, name="v")
    f = tl.function(counted)
    assert [float(f(v)["v"]) for _ in range(2)] == [2.0, 3.0] and float(f(v)["rest"][0]) == 4.0


@pytest.mark.parametrize("run", [lambda function: function, tl.function], ids=["eager", "traced"])
def test_a_variable_leaves_a_region_as_its_value(run: Any) -> None:
    """This holds for branches, conditions, loop bodies and steps of a scan."""
    kept, going = tl.Variable(1.0, name="kept"), tl.Variable(True, name="going")
    n, w = tl.Variable(0, name="n"), tl.Variable(0.0, name="w")

    def body(i: Any) -> Any:
        n.assign_add(1)
        going.assign(n < 3)
        return n

    def step(carried: Any, x: Any) -> Any:
        w.assign_add(x)
        return carried + x, w

    chosen = run(lambda x: tl.cond(x > 0.0, lambda: (kept.assign(x * 10), kept)[1], lambda: kept))
    assert float(chosen(tl.asarray(2.0))) == 20.0
    assert int(run(lambda: tl.while_loop(lambda i: going, body, 0)[0])()) == 3
    sums = run(lambda: tl.scan(step, 0.0, np.array([1.0, 1.0, 2.0, 3.0]))[1])()
    assert np.asarray(sums).tolist() == [1.0, 2.0, 4.0, 7.0]


def test_a_loop_over_variables_alone() -> None:
    """A loop whose body assigns variables needs no other loop variable; one that assigns nothing is refused."""
    n = tl.Variable(0, name="n")
    f = tl.function(lambda: tl.while_loop(lambda: n < 10, lambda: n.assign_add(3)))
    assert f() == () and int(n) == 12
    tl.while_loop(lambda: n < 20, lambda: n.assign_add(3))
    assert int(n) == 21
    with pytest.raises(tl.Usage, match="while_loop needs at least one loop variable"):
        tl.function(lambda: tl.while_loop(lambda: n < 10, lambda: None))()


def test_a_variable_as_an_argument() -> None:
    """A variable is passed by reference if the parameter is not annotated, and by value if it is. Gradients work for
    both."""
    v = tl.Variable(3.0, name="v")
    referred = tl.function(lambda a, x: a * v * x)
    with tl.Tape() as tape:
        y = referred(v, tl.asarray(2.0))
    assert float(tape.gradient(y, v)) == 12.0
    assert float(tl.grad(lambda x: x * x)(v)) == 6.0
    value, (by_v, by_x) = tl.value_and_grad(referred, (0, 1))(v, 2.0)
    assert (float(value), float(by_v), float(by_x)) == (18.0, 12.0, 9.0)
    assert list(map(float, tl.vjp(referred, v, 2.0)[1](1.0))) == [12.0, 9.0]

    @tl.function
    def annotated(a: tl.float64, b: tl.float64) -> tl.float64:
        return a * a * b

    b = tl.asarray(5.0)
    with tl.Tape() as tape:
        tape.watch(b)
        z = annotated(v, b)
    assert list(map(float, tape.gradient(z, (v, b)))) == [30.0, 9.0]
    with tl.Tape() as tape:
        z = annotated(v, 1.0)
    v.assign(100.0)
    assert float(tape.gradient(z, v)) == 6.0


def test_arguments_that_are_no_values() -> None:
    """Models, texts, flags and None have no adjoint, and do not shift those of other arguments."""

    class Net:
        w = tl.Variable(2.0, name="w")

    @tl.function
    def f(net: Any, a: Any, n: tl.Static, x: Any):  # type: ignore[no-untyped-def]
        return net.w * a * x * float(n[1])

    net, x = Net(), tl.asarray(3.0)
    with tl.Tape() as tape:
        tape.watch(x)
        y = f(net, 5.0, {1: 2}, x)
    assert list(map(float, tape.gradient(y, (x, net.w)))) == [20.0, 30.0]
    adjoints = tl.vjp(f, net, 5.0, {1: 2}, 3.0)[1](1.0)
    assert adjoints[0] is None and adjoints[2] is None and list(map(float, adjoints[1::2])) == [12.0, 20.0]
    assert [float(each) for each in tl.jvp(f, (net, 5.0, {1: 2}, 3.0), (None, 1.0, None, 0.5))] == [60.0, 22.0]
    with pytest.raises(tl.Invalid, match="argument n of f is static"):
        tl.grad(f, 2)(net, 5.0, {1: 2}, 3.0)


def test_jvp_assigns_once() -> None:
    """The second run, for the tangent, begins with the earlier values and assigns nothing."""
    v = tl.Variable(2.0, name="v")

    def f(x: Any) -> Any:
        y = v * x
        v.assign(v * 10)
        return y

    assert [float(each) for each in tl.jvp(f, (3.0,), (1.0,))] == [6.0, 2.0] and float(v) == 20.0
    v.assign(2.0)
    assert [float(each) for each in tl.function(lambda: tl.jvp(f, (3.0,), (1.0,)))()] == [6.0, 2.0]
    assert float(v) == 20.0


def test_a_function_that_returns_nothing_on_a_tape() -> None:
    """The variables that it assigns have gradients."""
    v = tl.Variable(3.0, name="v")
    f = tl.function(lambda x: v.assign(v * x))
    with tl.Tape() as tape:
        assert f(tl.asarray(2.0)) is None
        y = v * v
    assert (float(v), float(tape.gradient(y, v))) == (6.0, 24.0)


def test_custom_gradients_of_variables() -> None:
    """A variable can be an argument of a custom gradient."""

    @tl.custom_gradient
    def square(x):  # type: ignore[no-untyped-def]
        return x * x, lambda g: g * 1000.0

    v = tl.Variable(3.0, name="v")
    with tl.Tape() as tape:
        y = square(v)
    assert float(tape.gradient(y, v)) == 1000.0
    assert float(tl.grad(lambda x: square(v) * x, v)(2.0)) == 2000.0


def test_untrainable_variables_are_not_watched() -> None:
    """A variable that is not trainable is unknown to a tape unless it is watched."""
    n = tl.Variable(3.0, name="n", trainable=False)
    with tl.Tape() as tape:
        y = n * n
    with pytest.raises(tl.Usage, match="the tape does not know source"):
        tape.gradient(y, n)
    with tl.Tape() as tape:
        tape.watch(n)
        y = n * n
        n.assign(7.0)
    assert float(tape.gradient(y, n)) == 6.0


def test_copies() -> None:
    """A copy is another variable with the same value."""
    v = tl.Variable([1.0, 2.0], name="v", trainable=False)
    for one in (copy.copy(v), copy.deepcopy({"v": v})["v"]):
        one.assign([5.0, 6.0])
        assert np.asarray(v).tolist() == [1.0, 2.0] and (one.name, one.trainable) == ("v", False)


def test_update_hints_and_unique_names() -> None:
    """An attempt to update a variable in another way gets a hint; names in `variables` are unique."""
    v = tl.Variable([1.0, 2.0], name="v", dtype=tl.float32)
    with pytest.raises(tl.Usage, match="variable v is assigned only by its methods"):
        v += 1.0
    with pytest.raises(tl.Usage, match="elements of variable v cannot be assigned"):
        v[0] = 3.0
    with pytest.raises(AttributeError, match="arrays have no attribute foo"):
        v.foo  # noqa: B018
    v.assign([3.0, 4.0])
    one, two = tl.Variable(1), tl.Variable(2)

    def both() -> None:
        one.assign_add(10)
        two.assign_add(10)

    assert tl.function(both).run().variables == {"one": 11, "two": 12}


class Layer:
    """A layer whose variables get no names."""

    def __init__(self) -> None:
        self.weight = tl.Variable(2.0)
        self.parts: dict[str, Any] = {}
        self.parts["bias"] = new_variable(3.0)
        self.rows = [tl.Variable(5.0)]
        self.named = tl.Variable(7.0, name="scale")


def new_variable(value: float) -> Any:
    return tl.Variable(value)


def test_variables_have_the_names_that_they_are_assigned_to() -> None:
    """A variable without a name has, in programs, that of the attribute, the key, the list or the variable that it is
    assigned to, also by a helper; its `name`, which checkpoints use, is still the default."""
    layer, second = Layer(), tl.Variable(11.0)
    first = third = new_variable(13.0)

    def total() -> Any:
        parts = layer.weight * layer.parts["bias"] * layer.rows[0] * layer.named
        return parts * second * first * third

    names = [name for name, _ in tl.function(total).graph.arguments]
    assert names == ["weight", "bias", "rows", "scale", "second", "first"]
    assert (layer.weight.name, layer.named.name) == ("variable", "scale")


class Mean:
    """An object that holds an array which is no variable."""

    def __init__(self) -> None:
        self.running = tl.asarray([1.0, 2.0])

    def apply(self, x: Any) -> Any:
        return x - self.running


def test_captured_arrays_have_the_names_of_their_attributes() -> None:
    """An array that a function captures has, in programs, the name of the variable or the attribute that holds it."""
    mean, scale = Mean(), tl.asarray([3.0, 4.0])
    graph = tl.function(lambda x: mean.apply(x) * scale).trace(tl.asarray([5.0, 6.0])).graph
    assert [name for name, _ in graph.arguments] == ["x", "running", "scale"]


def test_init_scope_creates_variables_once() -> None:
    """Under `tl.init_scope()` too, variables are created in the first trace only."""

    @tl.function
    def f(x):  # type: ignore[no-untyped-def]
        with tl.init_scope():
            v = tl.Variable(1.0, name="v")
        return v * x

    with pytest.raises(tl.Usage, match="variable v is created in every trace"):
        f(1.0)
