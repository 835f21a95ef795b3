"""MAML: learning weights from which one step of gradient descent learns a task; a gradient of a gradient.

A task is a sine of some amplitude and phase. The loss of a task is that of a small network *after* a step on five of
its points, and the meta-step descends on the sum over the tasks. The loop over the tasks is a loop of Python.

    tagloom run papers_examples/autograph/maml.py 4

Source: MAML of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from a description; network and numbers are ours.
"""

import numpy as np
import tagloom as tl

HIDDEN, POINTS, RATE, META_RATE = 16, 5, 0.05, 0.02
RNG = np.random.default_rng(5)
SHAPES = {"w1": (1, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, 1), "b2": (1,)}
WEIGHTS = {name: tl.asarray(RNG.normal(0.0, 0.4, shape)) for name, shape in SHAPES.items()}


def network(weights, x):
    return tl.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def loss(weights, x, y):
    return tl.mean((network(weights, x) - y) ** 2)


slope = tl.grad(loss)


def task(k):
    """Five points to learn from, and five to be judged by, of the k-th sine."""
    amplitude, phase = 1.0 + 0.5 * tl.sin(float(k)), 0.7 * float(k)
    x = tl.reshape(tl.linspace(-2.0, 2.0, 2 * POINTS), (2 * POINTS, 1))
    y = amplitude * tl.sin(x + phase)
    return (x[::2, :], y[::2, :]), (x[1::2, :], y[1::2, :])


def meta_loss(weights, tasks):
    """The sum of the losses after a step on each task."""
    total = 0.0
    for k in range(tasks):
        (x, y), test_points = task(k)
        gradients = slope(weights, x, y)
        adapted_weights = {name: weights[name] - RATE * gradients[name] for name in weights}
        total += loss(adapted_weights, *test_points)
    return total


meta_slope = tl.grad(meta_loss)


def meta_train(weights, tasks, steps):
    """The meta-loss before and after some meta-steps."""
    before = meta_loss(weights, tasks)
    for _ in range(steps):
        gradients = meta_slope(weights, tasks)
        weights = {name: weights[name] - META_RATE * gradients[name] for name in weights}
    return before, meta_loss(weights, tasks)


@tl.function
def main(tasks: tl.int64) -> tl.float64:
    """The meta-loss of weights that have learnt nothing."""
    return meta_loss(WEIGHTS, tasks)


@tl.function
def loss_after_training(tasks: tl.int64, steps: tl.int64) -> tl.float64:
    """The meta-loss after meta-steps."""
    return meta_train(WEIGHTS, tasks, steps)[1]


EXPECTED = [
    {"run": ("main", 4), "result": 2.7729462136179097, "within": 1e-9, "firings": 757, "size": "quick"},
    {
        "run": ("loss_after_training", 4, 10),
        "result": 1.0189614175524748,
        "within": 1e-9,
        "firings": 16173,
        "size": "quick",
    },
]
WAYS = {"eager": lambda: meta_train(WEIGHTS, 4, 2), "loop in the graph": lambda: loss_after_training(4, 2)}
CLAIM = "1.9 and 2.7 times as fast as eager"

if __name__ == "__main__":
    before, after = meta_train(WEIGHTS, 4, 10)
    print("op by op:", before, "->", after)
    print("as a program:", main(4), "->", loss_after_training(4, 10))
