"""A training with queues, variables and checkpoints, interrupted and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl

X = np.linspace(-1.0, 1.0, 40)
DATA = [{"x": float(x), "y": 3.0 * float(x) + 0.5} for x in X]


class Line:
    def __init__(self) -> None:
        self.slope, self.offset = tl.Variable(0.0), tl.Variable(0.0)

    def __call__(self, x: Any) -> Any:
        return self.slope * x + self.offset


class Momentum:
    """Gradient descent with momentum; creates its slots at the first step."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.slots: dict[str, tl.Variable] = {}

    def step(self, model: Any, loss: Any) -> None:
        watched = vars(model)
        with tl.Tape() as tape:
            value = loss()
        for name, gradient in tape.gradient(value, watched).items():
            if name not in self.slots:
                self.slots[name] = tl.Variable(0.0)
            self.slots[name].assign(0.9 * self.slots[name] - self.rate * gradient)
            watched[name].assign_add(self.slots[name])


def train(folder: Path, epochs: int) -> tuple[Line, int]:
    """The model after this many epochs, some of which a folder may have; each shuffles the data."""
    model, optimizer, epoch = Line(), Momentum(0.05), tl.Variable(0)
    manager = tl.CheckpointManager(tl.Checkpoint(model=model, optimizer=optimizer, epoch=epoch), folder, keep=2)
    manager.restore_latest()
    begun = int(epoch)
    while int(epoch) < epochs:
        queue = tl.ShuffleQueue(20, 10, {"x": tl.float64, "y": tl.float64}, seed=int(epoch))
        with tl.feeding(queue, DATA):
            for _ in range(len(DATA) // 8):
                batch = queue.dequeue_many(8)
                optimizer.step(model, lambda batch=batch: tl.mean((model(batch["x"]) - batch["y"]) ** 2))
        epoch.assign_add(1)
        manager.save(epoch)
    return model, begun


@pytest.mark.full
@pytest.mark.parametrize("breaks", [(5,), (1, 2, 5)])
def test_a_resumed_training_has_the_same_bits(breaks: tuple[int, ...], tmp_path: Path) -> None:
    """A training that is interrupted and resumed by another process has the bits of an uninterrupted one."""
    whole, _ = train(tmp_path / "whole", 6)
    for epochs in breaks:
        train(tmp_path / "parts", epochs)
    parts, begun = train(tmp_path / "parts", 6)
    assert begun == 5 and abs(float(whole.slope) - 3.0) < 1.5
    assert (float(parts.slope), float(parts.offset)) == (float(whole.slope), float(whole.offset))
    newest = [sorted((tmp_path / run).iterdir())[-1].read_bytes() for run in ("whole", "parts")]
    assert newest[0] == newest[1]
