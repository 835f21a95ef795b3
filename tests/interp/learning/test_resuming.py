"""A training that is broken off at any step, and taken up again by another process, has the same bits at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st

X = tl.asarray(np.linspace(-1.0, 1.0, 60).reshape(20, 3))
Y = tl.asarray(np.sin(np.arange(20.0)))
STEPS = 6
MAKERS = {"adam": lambda: tl.optimizers.Adam(0.1), "momentum": lambda: tl.optimizers.Momentum(0.1)}


class Training:
    """A layer, an optimizer and the generator that draws its batches; a step is one program."""

    def __init__(self, optimizer: Any) -> None:
        self.w, self.b = tl.Variable([0.1, 0.2, 0.3], name="w"), tl.Variable(0.0, name="b")
        self.optimizer, self.batches, self.done = optimizer, tl.Generator(3), tl.Variable(0, name="done")

    def loss(self, x: Any, y: Any) -> Any:
        return tl.mean((tl.tanh(x @ self.w + self.b) - y) ** 2)

    @tl.function
    def step(self) -> Any:
        rows = self.batches.integers(0, 20, (5,))
        variables = {"w": self.w, "b": self.b}
        loss, gradients = tl.value_and_grad(self.loss, variables)(tl.take(X, rows, axis=0), tl.take(Y, rows))
        self.optimizer.apply(gradients, variables)
        self.done.assign_add(1)
        return loss

    def bits(self) -> list[bytes]:
        """All that it has, to the bit."""
        slots = [each for _, kept in sorted(self.optimizer.slots.items()) for each in kept.values()]
        return [np.asarray(each).tobytes() for each in (self.w, self.b, self.done, self.batches.count, *slots)]


def trained(make: Any, breaks: tuple[int, ...], folder: Path, *, left_out: str = "") -> list[bytes]:
    """What a training has at its end that was broken off after some steps, each time by a process that then knew
    nothing but the file."""
    for end in (*breaks, STEPS):
        training = Training(make())
        objects = {name: part for name, part in vars(training).items() if name != left_out}
        checkpoint = tl.Checkpoint(**objects)
        if (folder / "kept").exists():
            checkpoint.restore(folder / "kept")
        while int(training.done) < end:
            training.step.run(engine="reference")
        checkpoint.save(folder / "kept")
    return training.bits()


@pytest.mark.parametrize("name", MAKERS)
def test_broken_off_at_any_step(name: str, tmp_path: Path) -> None:
    """Slots of the optimizer, which are made at its first step, and the generator's count go on where they were."""
    (tmp_path / "whole").mkdir()
    whole = trained(MAKERS[name], (), tmp_path / "whole")
    for end in range(STEPS):
        (tmp_path / f"{end}").mkdir()
        assert trained(MAKERS[name], (end,), tmp_path / f"{end}") == whole


@settings(max_examples=5)
@given(breaks=st.lists(st.integers(0, STEPS - 1), max_size=4).map(sorted).map(tuple))
def test_broken_off_again_and_again(breaks: tuple[int, ...], tmp_path_factory: pytest.TempPathFactory) -> None:
    """So it is where it is broken off several times, and where it is saved again before it has made a step."""
    folders = [tmp_path_factory.mktemp(name) for name in ("whole", "parts")]
    assert trained(MAKERS["adam"], breaks, folders[1]) == trained(MAKERS["adam"], (), folders[0])


@pytest.mark.parametrize("left_out", ["optimizer", "batches"])
def test_what_is_not_kept_is_missed(left_out: str, tmp_path: Path) -> None:
    """Without the optimizer's slots, or without the generator, the weights are others."""
    (tmp_path / "whole").mkdir()
    whole = trained(MAKERS["adam"], (), tmp_path / "whole")
    assert trained(MAKERS["adam"], (3,), tmp_path, left_out=left_out)[:2] != whole[:2]
