"""A training of a few steps, and a process whose children continue it until they are killed or it is finished: `python
killed_training.py FOLDER ENGINE`.

For each line on standard input it forks a child, which knows only the folder, and prints the child's process id. The
child prints each step that it has saved, and the parent a line once the child is dead.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import tagloom as tl

X = tl.asarray(np.linspace(-1.0, 1.0, 60).reshape(20, 3))
Y = tl.asarray(np.sin(np.arange(20.0)))
STEPS = 20


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
        """The bits of all variables."""
        slots = [each for _, kept in sorted(self.optimizer.slots.items()) for each in kept.values()]
        return [np.asarray(each).tobytes() for each in (self.w, self.b, self.done, self.batches.count, *slots)]


def go_on(folder: str, engine: str) -> None:
    """Resume a training at the last saved step of the folder, and save each further step."""
    training = Training(tl.optimizers.Adam(0.1))
    manager = tl.CheckpointManager(tl.Checkpoint(**vars(training)), folder, keep=2)
    manager.restore_latest()
    while int(training.done) < STEPS:
        training.step.run(engine=engine)
        manager.save(training.done)
        print(int(training.done), flush=True)


def main(folder: str, engine: str) -> None:
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            go_on(folder, engine)
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("dead", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
