"""L-BFGS finds minima in about as many steps as other implementations, with the same bits eagerly and in programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl

LBFGS = tl.optimizers.LBFGS


class _Forgetful(LBFGS):
    """It remembers one step instead of five."""

    def _direction(self, gradient: Any) -> Any:
        for name in ("moves", "turns"):
            self.slots[name].assign(tl.concat([tl.zeros_like(self.slots[name][:-1, :]), self.slots[name][-1:, :]]))
        return super()._direction(gradient)


class _Unchecked(LBFGS):
    """It takes every step without checking the loss."""

    def _line_search(self, loss: Any, leaves: Any, start: Any, towards: Any) -> None:
        super()._line_search(lambda: -tl.inf, leaves, start, towards)


def valley(kind: Any, how: str, steps: int) -> tuple[float, bytes]:
    """The loss after this many steps down Rosenbrock's valley in three dimensions, and the position, bit for bit."""
    a, b, optimizer = tl.Variable([-1.2, 1.0], name="a"), tl.Variable(2.0, name="b"), kind(history=5)

    @tl.function
    def loss():
        x, y, z = a[0], a[1], b.value
        return 100.0 * ((y - x * x) ** 2 + (z - y * y) ** 2) + (1.0 - x) ** 2 + (1.0 - y) ** 2

    @tl.function
    def step():
        return optimizer.step(loss, {"a": a, "b": b})

    @tl.function
    def all_steps():
        return tl.while_loop(lambda i: i < steps, lambda i: (step(), i + 1)[1], 0)

    if how == "loop":
        all_steps()
    for _ in range(steps if how != "loop" else 0):
        optimizer.step(loss, {"a": a, "b": b}) if how == "eager" else step.run(engine=how).value
    return float(loss()), np.asarray(a).tobytes() + np.asarray(b).tobytes()


@pytest.mark.full
def test_rosenbrock_s_valley() -> None:
    """60 steps reach the minimum of a valley in which gradient descent is slow; SciPy's take 52. A twin that remembers
    one step only does not reach it, nor does one that never checks the loss."""
    assert valley(LBFGS, "loop", 60)[0] < 1e-12
    assert not valley(_Forgetful, "loop", 60)[0] < 1e-12
    assert not valley(_Unchecked, "loop", 60)[0] < 1e-12


class Descent:
    """A training down that valley, with the state that it saves."""

    def __init__(self) -> None:
        self.x, self.optimizer, self.done = tl.Variable([-1.2, 1.0], name="x"), LBFGS(history=3), tl.Variable(0)

    def loss(self) -> Any:
        x, y = self.x[0], self.x[1]
        return 100.0 * (y - x * x) ** 2 + (1.0 - x) ** 2

    @tl.function
    def step(self) -> Any:
        self.done.assign_add(1)
        return self.optimizer.step(self.loss, {"x": self.x})


def end_of_descent(breaks: tuple[int, ...], folder: Path, *, left_out: str = "") -> bytes:
    """The end of eight steps with interruptions, each resumed by new objects from the file alone."""
    for end in (*breaks, 8):
        descent = Descent()
        checkpoint = tl.Checkpoint(**{name: part for name, part in vars(descent).items() if name != left_out})
        if (folder / "kept").exists():
            checkpoint.restore(folder / "kept")
        while int(descent.done) < end:
            descent.step.run(engine="reference")
        checkpoint.save(folder / "kept")
    return np.asarray(descent.x).tobytes()


@pytest.mark.full
def test_a_resumed_descent_has_the_same_bits(tmp_path: Path) -> None:
    """An interrupted descent ends with the same bits; without the remembered steps, with others."""
    folders = [tmp_path / str(at) for at in range(10)]
    for folder in folders:
        folder.mkdir()
    whole = end_of_descent((), folders[8])
    assert [end_of_descent((end,), folders[end]) == whole for end in range(8)] == [True] * 8
    assert end_of_descent((5,), folders[9], left_out="optimizer") != whole


@pytest.mark.full
def test_eager_and_staged_descents_have_the_same_bits() -> None:
    """Eagerly, as a program for each step on each engine, and as one program with a loop, the descent is the same, bit
    for bit."""
    expected = valley(LBFGS, "eager", 12)
    for how in ("reference", "fast", "loop"):
        assert valley(LBFGS, how, 12) == expected


@pytest.mark.full
@pytest.mark.parametrize("dtype", [tl.float64, tl.float32], ids=repr)
def test_a_quadratic_form(dtype: Any) -> None:
    """It finds the minimum of a quadratic form, which solves a linear system, even if the form is ill-conditioned."""
    rows = (np.vander(np.linspace(0.5, 2.0, 4)) + np.eye(4)).tolist()
    matrix, x = tl.asarray(rows, dtype=dtype), tl.Variable([0.0] * 4, dtype=dtype, name="x")
    optimizer = LBFGS()

    @tl.function
    def loss():
        return tl.sum((matrix @ x - 1.0) ** 2)

    losses = [float(optimizer.step(loss, x)) for _ in range(40)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < (1e-12 if dtype is tl.float64 else 1e-6) and x.dtype is dtype


def test_no_step_down() -> None:
    """If no step reduces the loss, and at a minimum, no variable changes."""
    x, optimizer = tl.Variable(2.0, name="x"), LBFGS(halvings=3)

    def wrong() -> Any:
        return tl.where(x == 2.0, x, 100.0)

    optimizer.step(wrong, x)
    assert float(x) == 2.0
    flat, optimizer = tl.Variable(1.0, name="x"), LBFGS()
    for _ in range(3):
        optimizer.step(lambda: (flat - 1.0) ** 2, flat)
    assert float(flat) == 1.0


def test_names_of_slots() -> None:
    """The slots keep their names, under which checkpoints contain them."""
    x, optimizer = tl.Variable([2.0, 1.0], name="x"), LBFGS(history=3)
    optimizer.step(lambda: tl.sum(x * x), x)
    shapes = {name: slot.shape for name, slot in optimizer.slots.items()}
    assert shapes == {"moves": (3, 2), "turns": (3, 2), "point": (2,), "gradient": (2,), "count": ()}


def test_wrong_variables_are_refused() -> None:
    """Other variables than at the first step, several dtypes, open sizes, and a memory of no steps are refused."""
    x, y = tl.Variable(1.0, name="x"), tl.Variable([1.0, 2.0], name="y")
    narrow = tl.Variable(1.0, dtype=tl.float32, name="narrow")
    wide = tl.Variable([1.0], dtype=tl.Array[tl.float64, None], name="wide")
    optimizer = LBFGS()
    optimizer.step(lambda: x * x, x)
    with pytest.raises(tl.Usage, match="was used with other variables"):
        optimizer.step(lambda: tl.sum(y * y), y)
    with pytest.raises(tl.Usage, match="one dtype"):
        LBFGS().step(lambda: x * tl.astype(narrow, tl.float64), (x, narrow))
    with pytest.raises(tl.Usage, match="known sizes"):
        LBFGS().step(lambda: tl.sum(wide), wide)
    with pytest.raises(tl.Usage, match="options of L-BFGS are out of range"):
        LBFGS(history=0)
