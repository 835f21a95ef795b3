"""A network that creates its weights in its first call, and a checkpoint that restores them when they are created.

A layer learns the shape of its weights from its first input. `Net` creates its variables in the first trace of its
function, which is then traced once more without creating any; a later trace may not create variables. So weights are
created once, and the graph captures them.

State is a graph of objects with named edges, and a checkpoint matches by names, not by the time or place of creation: a
new `Net`, restored before it has weights, gets each of them when it is created. `main` is the line through 1, 3, 5, 7
that 120 training steps find.

    tagloom run papers_examples/eager/net.py 10.0

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855): a network with a checkpoint, restoring on creation,
and state that the first call creates; written anew from descriptions.
"""

import tempfile
from pathlib import Path

import numpy as np
import tagloom as tl

XS = np.arange(4.0)[:, None]
YS = 2.0 * XS + 1.0


class Net:
    def __init__(self):
        self.w = self.b = None

    def __call__(self, x):
        if self.w is None:
            self.w = tl.Variable(np.zeros((x.shape[1], 1)), name="w")
            self.b = tl.Variable(np.zeros(1), name="b")
        return x @ self.w + self.b

    def loss(self, x, y):
        return tl.mean((self(x) - y) ** 2)

    @tl.function
    def step(self, x, y):
        self(x)
        loss, slopes = tl.value_and_grad(self.loss, (self.w, self.b))(x, y)
        for variable, slope in zip((self.w, self.b), slopes, strict=True):
            variable.assign_sub(0.15 * slope)
        return loss


def train(steps):
    net = Net()
    return net, [float(net.step(XS, YS)) for _ in range(steps)]


NET, LOSSES = train(120)


@tl.function
def main(x: tl.float64) -> tl.float64:
    return tl.round(1e3 * tl.sum(NET(tl.reshape(x, (1, 1))))) / 1e3


def restore_net():
    """A restored new network's prediction for 10, before and after its first call; and what was left to match."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.safetensors"
        tl.Checkpoint(net=NET).save(path)
        net = Net()
        checkpoint = tl.Checkpoint(net=net)
        missing = checkpoint.restore(path).only_in_file
        value = float(net(tl.asarray([[10.0]]))[0, 0])
        checkpoint.complete().check()
    return missing, round(value, 3)


EXPECTED = [{"run": ("main", 10.0), "result": 21.0, "size": "quick"}]
EAGER = [(lambda: main(10.0), 21.0), (lambda: restore_net()[1], 21.0)]


if __name__ == "__main__":
    print("| 0 | 1 | 5 | 20 | 119 |", "|---|---|---|---|---|", sep="\n")
    print("|", " | ".join(f"{LOSSES[k]:.4f}" for k in (0, 1, 5, 20, 119)), "|\n")
    missing, prediction = restore_net()
    print("| missing when it was restored | prediction for 10 |", "|---|---|", sep="\n")
    print(f"| {', '.join(missing)} | {prediction:.3f} |")
