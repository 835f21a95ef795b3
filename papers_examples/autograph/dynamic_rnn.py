"""A recurrent network over sequences of different lengths, as one writes it in Python.

`rnn` is plain Python: a loop over the time steps, in which a sequence that has ended keeps its state. Called with
arrays it runs op by op; `main` is the same function as a program, with a loop in its graph, for all lengths. `by_hand`
is the loop that one had to write: it has the same firings.

    tagloom run papers_examples/autograph/dynamic_rnn.py 8

Source: `dynamic_rnn` of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from a description; the numbers are ours.
"""

import numpy as np
import tagloom as tl

BATCH, INPUTS, UNITS = 4, 8, 16
RNG = np.random.default_rng(1)
W, U = (tl.Variable(RNG.normal(0.0, 0.3, (size, UNITS)), name=name) for size, name in ((INPUTS, "W"), (UNITS, "U")))
XS, LENGTHS = tl.asarray(RNG.normal(size=(64, BATCH, INPUTS))), tl.asarray([3, 8, 5, 64])


def cell(x, h):
    return tl.tanh(x @ W + h @ U)


@tl.autograph.inline
def rnn(xs, lengths, steps):
    """The last state of each sequence; `xs` has shape (time, batch, inputs)."""
    h = tl.zeros((BATCH, UNITS))
    for t in range(steps):
        h = tl.where(tl.expand_dims(t < lengths, axis=1), cell(xs[t, :, :], h), h)
    return h


@tl.function
def main(steps: tl.int64) -> tl.float64:
    """The sum of squares of the last states."""
    h = rnn(XS, LENGTHS, steps)
    return tl.sum(h * h)


@tl.function
def by_hand(steps: tl.int64) -> tl.float64:
    def body(t, h):
        return t + 1, tl.where(tl.expand_dims(t < LENGTHS, axis=1), cell(XS[t, :, :], h), h)

    _, h = tl.while_loop(lambda t, h: t < steps, body, 0, tl.zeros((BATCH, UNITS)))
    return tl.sum(h * h)


@tl.function
def gradient(steps: tl.int64) -> tl.Array[tl.float64, UNITS, UNITS]:
    """The gradient by U, through all steps."""
    return tl.grad(main, U)(steps)


def eager(steps):
    h = rnn(XS, LENGTHS, steps)
    return tl.sum(h * h)


EXPECTED = [
    {"run": ("main", 8), "result": 26.144822811833798, "within": 1e-12, "firings": 359, "size": "quick"},
    {"run": ("by_hand", 8), "result": 26.144822811833798, "within": 1e-12, "firings": 359, "size": "quick"},
    {"run": ("main", 0), "result": 0.0, "firings": 39, "size": "quick"},
]
WAYS = {"eager": lambda: eager(64), "loop in the graph": lambda: main(64), "by hand": lambda: by_hand(64)}
CLAIM = "as fast as a hand-written graph"

if __name__ == "__main__":
    print("op by op:", eager(8))
    print("as a program:", main(8), "in", main.run(8).firings, "firings; by hand", by_hand.run(8).firings)
