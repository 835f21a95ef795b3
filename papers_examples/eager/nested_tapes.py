"""Nested tapes: x * x at 3, its slope 6, and the slope of the slope, 2.

A tape records the ops that run under it, and its reverse pass consists of ops, too. So an outer tape records those, and
gives the second derivative. `slope` and `main` are the same as programs: tl.grad makes a graph of a graph, without a
tape, and the second one differentiates the first.

    tagloom run papers_examples/eager/nested_tapes.py 3.0

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855), from a description; the numbers are the paper's.
"""

import tagloom as tl


def square(x):
    return x * x


def by_tapes(x):
    """The value, its slope and the slope of the slope, computed eagerly."""
    with tl.Tape() as outer:
        outer.watch(x)
        with tl.Tape() as inner:
            inner.watch(x)
            y = square(x)
        slope = inner.gradient(y, x)
    return y, slope, outer.gradient(slope, x)


@tl.function
def value(x: tl.float64) -> tl.float64:
    return square(x)


slope = tl.grad(value)
main = tl.grad(slope)

EXPECTED = [
    {"run": ("value", 3.0), "result": 9.0, "size": "quick"},
    {"run": ("slope", 3.0), "result": 6.0, "size": "quick"},
    {"run": ("main", 3.0), "result": 2.0, "size": "quick"},
]
EAGER = [
    (lambda: by_tapes(tl.asarray(3.0)), (9.0, 6.0, 2.0)),
    (lambda: by_tapes(tl.asarray(-0.5)), (0.25, -1.0, 2.0)),
]


HEADING = ["| | by tapes | as graphs |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    tapes = [float(number) for number in by_tapes(tl.asarray(3.0))]
    graphs = [function(3.0) for function in (value, slope, main)]
    names = ("x * x at 3", "its slope", "the slope of that")
    return [f"| {name} | {tape:g} | {graph:g} |" for name, tape, graph in zip(names, tapes, graphs, strict=True)]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
