"""A recurrent network as a loop in the graph, and its gradient through time.

A cell maps h to tanh(x W + h U), and is scanned over a sequence whose length is known only to the run. So one graph
serves all lengths, and so does that of the gradient, which goes through the same iterations backwards. `unrolled` is
the form for machines without loops: Python makes a copy of the cell for each step, and a graph for each length.

    tagloom run papers_examples/tensorflow/rnn.py "[[1.0], [0.5], [-1.0]]"

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), from a description; the
numbers are ours.
"""

import tagloom as tl

Sequence = tl.Array[tl.float64, None, 1]
W = tl.Variable([[0.5, -0.25]], name="W")
U = tl.Variable([[0.5, 0.125], [-0.25, 0.75]], name="U")


@tl.autograph.inline
def cell(h, x):
    return tl.tanh(x @ W + h @ U)


@tl.function
def main(xs: Sequence) -> tl.float64:
    """The sum of squares of the last state."""
    h = tl.foldl(cell, tl.zeros(2), xs)
    return tl.sum(h * h)


@tl.function
def gradient(xs: Sequence) -> tl.Array[tl.float64, 2, 2]:
    """The gradient by U, through all steps."""
    return tl.grad(main, U)(xs)


@tl.function
def states(xs: Sequence) -> tl.Array[tl.float64, None, 2]:
    """All states."""
    return tl.scan(lambda h, x: (cell(h, x), cell(h, x)), tl.zeros(2), xs)[1]


@tl.function
def unrolled(xs):
    h = tl.zeros(2)
    for k in range(xs.shape[0]):
        h = cell(h, xs[k, :])
    return tl.sum(h * h)


XS = [[1.0], [0.5], [-1.0]]
EXPECTED = [
    {"run": ("main", XS), "result": 0.05176392779317132, "size": "quick"},
    {"run": ("main", [[0.0], [0.0]]), "result": 0.0, "size": "quick"},
]


HEADING = ["| length | result | nodes of the graph with the loop | nodes, unrolled |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for n in (2, 4, 8):
        xs = tl.ones((n, 1))
        counts = [len(f.trace(xs).graph.nodes) for f in (main, unrolled)]
        rows.append(f"| {n} | {main(xs):.6f} | {counts[0]} | {counts[1]} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
