"""Optimizers follow their formulas, eagerly and in programs; twins with one error are caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.optimizer_laws import (
    adadelta,
    adagrad,
    adam,
    check_formula,
    momentum,
    problem,
    rmsprop,
    sgd,
    trained,
)
from tagloom.interp.training import optimizers

of = tl.optimizers
RULES: dict[str, tuple[Callable[[], Any], Any]] = {
    "sgd": (partial(of.SGD, 0.1), partial(sgd, rate=0.1)),
    "momentum": (partial(of.Momentum, 0.1, 0.8), partial(momentum, rate=0.1, u=0.8)),
    "nesterov": (partial(of.Momentum, 0.1, 0.8, nesterov=True), partial(momentum, rate=0.1, u=0.8, ahead=True)),
    "adagrad": (partial(of.Adagrad, 0.1, 0.3, 1e-8), partial(adagrad, rate=0.1, initial=0.3, epsilon=1e-8)),
    "adadelta": (partial(of.Adadelta, 0.5, 0.8, 1e-5), partial(adadelta, rate=0.5, rho=0.8, epsilon=1e-5)),
    "rmsprop": (
        partial(of.RMSProp, 0.1, 0.7, epsilon=1e-6),
        partial(rmsprop, rate=0.1, rho=0.7, epsilon=1e-6, u=0.0, centered=False),
    ),
    "rmsprop_all": (
        partial(of.RMSProp, 0.1, 0.7, 0.5, 1e-3, centered=True),
        partial(rmsprop, rate=0.1, rho=0.7, epsilon=1e-3, u=0.5, centered=True),
    ),
    "adam": (partial(of.Adam, 0.1, 0.8, 0.95, 1e-6), partial(adam, rate=0.1, b1=0.8, b2=0.95, epsilon=1e-6)),
}


class _Forgets(of.Optimizer):
    """An optimizer whose slots are reset before each step."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def initial_slots(self, value: Any) -> Any:
        return self.inner.initial_slots(value)

    def update(self, value: Any, gradient: Any, slots: Any) -> Any:
        return self.inner.update(value, gradient, slots)[0], slots


class _Uncorrected(of.Adam):
    """Adam without bias correction."""

    def update(self, value: Any, gradient: Any, slots: Any) -> Any:
        mean, squares = slots["mean"], slots["squares"]
        mean = self.beta_1 * mean + (1 - self.beta_1) * gradient
        squares = self.beta_2 * squares + (1 - self.beta_2) * gradient**2
        moved = value - self.rate * mean / (tl.sqrt(squares) + self.epsilon)
        return moved, {"mean": mean, "squares": squares, "count": slots["count"] + 1}


@pytest.mark.inner(first=14)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RULES)
def test_steps_follow_the_formulas(name: str, seed: int) -> None:
    """Steps are those of the formula, for nested variables, two of which have the same name."""
    check_formula(*RULES[name], seed)


@pytest.mark.parametrize("name", [name for name in RULES if name != "sgd"])
def test_forgotten_slots_are_caught(name: str) -> None:
    """Every optimizer but SGD needs its slots."""
    make, formula = RULES[name]
    with pytest.raises(AssertionError):
        check_formula(lambda: _Forgets(make()), formula, 0)


def test_missing_corrections_are_caught() -> None:
    """Adam without bias correction differs, and so does Momentum without Nesterov's look-ahead."""
    with pytest.raises(AssertionError):
        check_formula(partial(_Uncorrected, 0.1, 0.8, 0.95, 1e-6), RULES["adam"][1], 0)
    for one, other in (("momentum", "nesterov"), ("nesterov", "momentum"), ("rmsprop", "rmsprop_all")):
        with pytest.raises(AssertionError):
            check_formula(RULES[one][0], RULES[other][1], 0)


TORCH = {
    "sgd": lambda t, p: t.optim.SGD(p, 0.1),
    "momentum": lambda t, p: t.optim.SGD(p, 0.1, momentum=0.8),
    "nesterov": lambda t, p: t.optim.SGD(p, 0.1, momentum=0.8, nesterov=True),
    "adagrad": lambda t, p: t.optim.Adagrad(p, 0.1, initial_accumulator_value=0.3, eps=1e-8),
    "adadelta": lambda t, p: t.optim.Adadelta(p, 0.5, rho=0.8, eps=1e-5),
    "rmsprop": lambda t, p: t.optim.RMSprop(p, 0.1, alpha=0.7, eps=1e-6),
    "rmsprop_all": lambda t, p: t.optim.RMSprop(p, 0.1, alpha=0.7, momentum=0.5, eps=1e-3, centered=True),
    "adam": lambda t, p: t.optim.Adam(p, 0.1, betas=(0.8, 0.95), eps=1e-6),
}


@pytest.mark.heavy  # for torch, which takes seconds to come
@pytest.mark.parametrize("name", RULES)
def test_peers(name: str) -> None:
    """Steps of optimizers equal those of torch.optim, if torch is installed."""
    torch = pytest.importorskip("torch")
    x, gradients = problem(5)
    theirs, mine, optimizer = torch.tensor(x, requires_grad=True), tl.Variable(x), RULES[name][0]()
    other = TORCH[name](torch, [theirs])
    for g in gradients:
        theirs.grad = torch.tensor(g)
        other.step()
        optimizer.apply(g, mine)
    np.testing.assert_allclose(np.asarray(mine), theirs.detach().numpy(), rtol=1e-10)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("dtype", [tl.float64, tl.float32], ids=repr)
@pytest.mark.parametrize("name", RULES)
def test_eager_and_staged_steps_have_the_same_bits(name: str, dtype: Any) -> None:
    """By a tape, as a program for each step, and as one program with a loop, weights and slots are equal bit for bit,
    and the losses fall."""
    make = RULES[name][0]
    bits, losses = trained(make, "tape", dtype)
    assert losses == sorted(losses, reverse=True)
    for how in ("reference", "fast"):
        assert trained(make, how, dtype) == (bits, losses)
    assert trained(make, "loop", dtype)[0] == bits


@pytest.mark.heavy  # for what is compiled
@pytest.mark.parametrize("name", ["rmsprop_all", "adam"])
def test_compiled_steps_agree(name: str) -> None:
    """Steps on `compiled` agree but for the order of additions in sums."""
    (bits, losses), (expected, others) = (trained(RULES[name][0], how) for how in ("compiled", "tape"))
    assert losses == pytest.approx(others, rel=1e-12) and bits.keys() == expected.keys()
    for each in ("w", "b"):
        np.testing.assert_allclose(np.frombuffer(bits[each]), np.frombuffer(expected[each]), rtol=1e-9, atol=1e-12)


def test_slots_are_named_variables() -> None:
    """Slots are found by attributes and keys, have the variable's type, are not watched by tapes, and remain the same
    variables. A variable of open sizes has slots of open sizes."""
    w, optimizer = tl.Variable([1.0, 2.0], dtype=tl.Array[tl.float32, None], name="w"), of.Adam()
    w2 = tl.Variable(1, dtype=tl.float32, name="w")
    optimizer.apply((w, w2), (w, w2))
    result = dict(optimizer.slots["w"])
    assert {name: (each.name, each._type.shape, each.trainable) for name, each in result.items()} == {
        "mean": ("w_mean", (None,), False),
        "squares": ("w_squares", (None,), False),
        "count": ("w_count", (), False),
    }
    optimizer.apply([w2], [w2])
    assert all(optimizer.slots["w"][name] is each for name, each in result.items())
    assert [int(optimizer.slots[name]["count"]) for name in ("w", "w_1")] == [1, 2]
    assert result["mean"].dtype is tl.float32


class _Scaled(of.Optimizer):
    """An optimizer written before `first` became `initial_slots`."""

    def first(self, value: Any) -> Any:
        return {"scale": 0.5 + 0.0 * value}

    def update(self, value: Any, gradient: Any, slots: Any) -> Any:
        return value - slots["scale"] * gradient, {}


def test_the_old_name_of_initial_slots() -> None:
    """An optimizer that defines `first` still works, with a warning."""
    x = tl.Variable(3.0, name="x")
    with pytest.warns(DeprecationWarning, match=r"Optimizer.first is now Optimizer.initial_slots"):
        _Scaled().apply(2.0, x)
    assert float(x) == 2.0


def test_a_rate_may_change() -> None:
    """A learning rate that is a variable is read at every step, in a program too."""
    rate, w = tl.Variable(1.0), tl.Variable(0.0)
    optimizer = of.SGD(rate)

    @tl.function
    def step():
        optimizer.apply(1.0, w)
        return w

    step()
    rate.assign(0.25)
    step()
    assert float(w) == -1.25


W, B = tl.Variable([1.0, 2.0], name="w"), tl.Variable(0.0, name="b")


@pytest.mark.parametrize(
    ("gradients", "variables", "message"),
    [
        ((1.0,), (W, B), "gradients do not nest as their variables do"),
        ((np.ones(2), [2.0]), (W, [B, B]), r"gradients\[1\] do not nest"),
        ({"w": 1.0}, {"b": B}, "required: a dict of b"),
        ([[1.0, 2.0]], [W], "required: the gradient with respect to w"),
        ((None,), (B,), "required: the gradient with respect to b"),
        ((1.0,), (2.0,), "an optimizer changes only variables"),
        ((tl.asarray([1.0]),), (W,), "the gradient with respect to w and the variable differ in shape"),
        (tl.asarray(1.0), W, "required: float64.2."),
    ],
)
def test_gradients_that_do_not_fit_are_refused(gradients: Any, variables: Any, message: str) -> None:
    """Gradients have the structure and shapes of the variables: nothing is broadcast, and nothing is assigned."""
    with pytest.raises(tl.TagloomError, match=message):
        of.Momentum().apply(gradients, variables)
    assert np.asarray(W).tolist() == [1.0, 2.0] and float(B) == 0.0


STEPS = ([0.0, 1e-3, 1.0], [0.0, 1e-5, 1.0], [0.0, 1e-4, 300.0])
"""Gradients whose squares are beyond float16 on both sides; one element has none."""


def narrow_and_rounded(make: Callable[[], Any], dtype: Any, is_by_rows: bool) -> tuple[Any, Any, Any]:
    """A variable of 16 bits after some steps; one of float32 after the same steps, rounded after each; and the
    optimizer of the first one."""
    narrow, single = tl.Variable(tl.ones(3, dtype=dtype)), tl.Variable(tl.ones(3, dtype=tl.float32))
    optimizer, other = make(), make()
    for numbers in STEPS:
        gradient = tl.asarray(numbers, dtype=dtype)
        wide = tl.astype(gradient, tl.float32)
        rows = tl.asarray([2, 0, 1])
        optimizer.apply(tl.Rows(rows, tl.take(gradient, rows, axis=0)) if is_by_rows else gradient, narrow)
        other.apply(tl.Rows(rows, tl.take(wide, rows, axis=0)) if is_by_rows else wide, single)
        single.assign(tl.astype(tl.astype(single.value, dtype), tl.float32))
    return np.asarray(narrow), np.asarray(tl.astype(single.value, dtype)), optimizer


@pytest.mark.full
@pytest.mark.parametrize("is_by_rows", [False, True])
@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16], ids=repr)
@pytest.mark.parametrize("rule", RULES)
def test_steps_of_narrow_floats_round_once(rule: str, dtype: Any, is_by_rows: bool) -> None:
    """A variable of 16 bits takes the step of float32, rounded once: its slots are float32, and a gradient of 0 changes
    nothing where epsilon would be 0 in 16 bits."""
    narrow, rounded, optimizer = narrow_and_rounded(RULES[rule][0], dtype, is_by_rows)
    assert narrow.dtype == dtype.numpy and narrow.tobytes() == rounded.tobytes()
    assert np.isfinite(narrow).all() and float(narrow[0]) == 1.0
    (slots,) = optimizer.slots.values()
    assert {slot.dtype for slot in slots.values()} <= {tl.float32, tl.int64}


def test_steps_in_16_bits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam that steps in float16 divides by 0."""
    monkeypatch.setattr(optimizers, "widen", lambda x: x)
    narrow, rounded, _ = narrow_and_rounded(of.Adam, tl.float16, is_by_rows=False)
    assert narrow.tobytes() != rounded.tobytes() and np.isnan(narrow[0])


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "start"), [(tl.float16, 400.0), (tl.bfloat16, 40.0)], ids=repr)
def test_lbfgs_computes_in_float32(dtype: Any, start: float) -> None:
    """A step of L-BFGS on variables of 16 bits is computed in float32: the square of the first gradient is beyond
    float16. The values are rounded once."""
    w, optimizer = tl.Variable(tl.asarray([start, -start / 2], dtype=dtype), name="w"), optimizers.LBFGS()

    @tl.function
    def loss() -> Any:
        return tl.sum((tl.astype(w, tl.float32) - 1.0) ** 2)

    for _ in range(10):
        optimizer.step(loss, w)
    assert {optimizer.slots[name].dtype for name in ("point", "gradient")} == {tl.float32} and w.dtype is dtype
    assert np.allclose(np.asarray(w, np.float64), 1.0, atol=0.01)
