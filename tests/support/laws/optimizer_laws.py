"""The laws of optimizers: their steps follow the published formulas, written in NumPy, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import tagloom as tl

Numbers: TypeAlias = Any
Steps: TypeAlias = Callable[[Numbers, Sequence[Numbers]], Numbers]
"""The point after steps with these gradients."""


def sgd(x: Numbers, gradients: Sequence[Numbers], *, rate: float) -> Numbers:
    return x - rate * np.sum(gradients, axis=0)


def momentum(x: Numbers, gradients: Sequence[Numbers], *, rate: float, u: float, ahead: bool = False) -> Numbers:
    m = np.zeros_like(x)
    for g in gradients:
        m = u * m + g
        x = x - rate * (g + u * m if ahead else m)
    return x


def adagrad(x: Numbers, gradients: Sequence[Numbers], *, rate: float, initial: float, epsilon: float) -> Numbers:
    for t, g in enumerate(gradients):
        x = x - rate * g / (np.sqrt(initial + np.sum(np.square(gradients[: t + 1]), axis=0)) + epsilon)
    return x


def adadelta(x: Numbers, gradients: Sequence[Numbers], *, rate: float, rho: float, epsilon: float) -> Numbers:
    of_gradients, of_steps = np.zeros_like(x), np.zeros_like(x)
    for g in gradients:
        of_gradients = rho * of_gradients + (1 - rho) * g**2
        step = np.sqrt(of_steps + epsilon) / np.sqrt(of_gradients + epsilon) * g
        of_steps = rho * of_steps + (1 - rho) * step**2
        x = x - rate * step
    return x


def rmsprop(
    x: Numbers, gradients: Sequence[Numbers], *, rate: float, rho: float, epsilon: float, u: float, centered: bool
) -> Numbers:
    squares, mean, m = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for g in gradients:
        squares, mean = rho * squares + (1 - rho) * g**2, rho * mean + (1 - rho) * g
        m = u * m + g / (np.sqrt(squares - centered * mean**2) + epsilon)
        x = x - rate * m
    return x


def adam(x: Numbers, gradients: Sequence[Numbers], *, rate: float, b1: float, b2: float, epsilon: float) -> Numbers:
    """Adam with means as weighted sums instead of recurrences."""
    for t in range(1, len(gradients) + 1):
        ages = np.arange(t)[::-1].reshape(-1, *[1] * np.ndim(x))
        past = np.asarray(gradients[:t])
        mean = np.sum(b1**ages * past, axis=0) / np.sum(b1**ages)
        squares = np.sum(b2**ages * past**2, axis=0) / np.sum(b2**ages)
        x = x - rate * mean / (np.sqrt(squares) + epsilon)
    return x


def problem(seed: int, steps: int = 8) -> tuple[Numbers, list[Numbers]]:
    """A point and gradients, some of them 0 and some large."""
    random = np.random.default_rng(seed)
    gradients = random.normal(size=(steps, 3, 2)) * 10.0 ** random.integers(-3, 3, (steps, 1, 1))
    return random.normal(size=(3, 2)), list(np.where(random.random(gradients.shape) < 0.1, 0.0, gradients))


def check_formula(make: Callable[[], Any], formula: Steps, seed: int) -> None:
    """The steps of an optimizer follow the formula, for arrays and scalars, and beside other variables."""
    x, gradients = problem(seed)
    results = {"w": tl.Variable(x, name="w"), "parts": (tl.Variable(x[0, 0], name="w"), tl.Variable(x, name="v"))}
    optimizer = make()
    for at, g in enumerate(gradients):
        parts = (g[0, 0], g)
        optimizer.apply({"w": g, "parts": parts}, results)
        assert set(optimizer.slots) == {"w", "w_1", "v"}, at
    expected = formula(x, gradients)
    for variable, each in (
        (results["w"], expected),
        (results["parts"][0], expected[0, 0]),
        (results["parts"][1], expected),
    ):
        np.testing.assert_allclose(np.asarray(variable), each, rtol=1e-11, atol=1e-14)


Trained: TypeAlias = tuple[dict[str, bytes], list[float]]


def trained(make: Callable[[], Any], how: str, dtype: Any = tl.float64, steps: int = 4) -> Trained:
    """The bits of weights and slots after steps on a least-squares problem, and the losses. The steps run eagerly on a
    tape, as one program each on an engine, or as one program with a loop."""
    numbers = np.linspace(-1.0, 1.0, 12).reshape(4, 3).tolist()
    x, w = tl.asarray(numbers, dtype=dtype), tl.Variable([[0.5, -1.0], [2.0, 0.0], [0.1, 1.0]], dtype=dtype, name="w")
    b, optimizer, losses = tl.Variable(1.0, dtype=dtype, name="b"), make(), []
    model = {"w": w, "b": [b]}

    def loss_of(x: Any) -> Any:
        return tl.mean((x @ w - b) ** 2)

    @tl.function
    def step(x: Any) -> Any:
        loss, gradients = tl.value_and_grad(loss_of, (w, b))(x)
        optimizer.apply({"w": gradients[0], "b": [gradients[1]]}, model)
        return loss

    @tl.function
    def all_steps(x: Any) -> Any:
        return tl.while_loop(lambda i: i < steps, lambda i: (step(x), i + 1)[1], 0)

    if how == "loop":
        all_steps(x)
    for _ in range(steps if how != "loop" else 0):
        if how == "tape":
            with tl.Tape() as tape:
                loss = loss_of(x)
            optimizer.apply(tape.gradient(loss, {"w": w, "b": (b,)}), model)
        else:
            loss = step.run(x, engine=how).value
        losses.append(float(loss))
    kept = {f"{name}.{slot}": each for name, slots in optimizer.slots.items() for slot, each in slots.items()}
    return {name: np.asarray(each).tobytes() for name, each in {"w": w, "b": b, **kept}.items()}, losses
