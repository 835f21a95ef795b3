"""Momentum from primitives: another optimizer is just variables and arithmetic.

A velocity v is a variable beside the weight; a step sets it to u v + g, and subtracts the rate times that from the
weight. That is all, and nothing in the machine knows of optimizers: `tl.optimizers.Momentum` has the same bits.

    tagloom run papers_examples/tensorflow/momentum.py 30

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.1, from a
description: in the system before it such a rule had to go into its parameter server.
"""

import tagloom as tl

RATE, U = 0.125, 0.5
w, v = tl.Variable([4.0, -3.0], name="w"), tl.Variable([0.0, 0.0], name="v")


def loss():
    return tl.sum((w - 1.0) ** 2)


@tl.function
def step():
    gradient = tl.grad(loss, w)()
    v.assign(U * v + gradient)
    w.assign_sub(RATE * v)
    return loss()


@tl.function
def main(steps: tl.int64) -> tl.float64:
    value = loss()
    for _ in range(steps):
        value = step()
    return value


def library_weights(steps):
    """The weights after some steps of `tl.optimizers`."""
    w = tl.Variable([4.0, -3.0], name="w")
    optimizer, slope = tl.optimizers.Momentum(RATE, U), tl.grad(lambda: tl.sum((w - 1.0) ** 2), w)
    for _ in range(steps):
        optimizer.apply(slope(), w)
    return w.value


EXPECTED = [{"run": ("main", 0), "result": 25.0, "size": "quick"}]


HEADING = ["| steps | loss |", "|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for n in (0, 10, 20, 40):
        w.assign([4.0, -3.0])
        v.assign([0.0, 0.0])
        rows.append(f"| {n} | {main(n):.3g} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
