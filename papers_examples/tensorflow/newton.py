"""Newton's method on a batch: a Hessian in a loop, and the loop mapped over starting points.

`tl.hessian` computes each row of second derivatives by a pullback of its own, under a tag of its own; `tl.vmap` runs
the loops of all starting points beside each other, each for as long as it takes. So the number of steps differs from
element to element, and nobody waits for the slowest one.

    tagloom run papers_examples/tensorflow/newton.py "[[1.5, 1.5], [-1.0, 2.0], [1.0, 1.0]]"

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), on gradients of loops and
parallel iterations, from a description; the program is ours. The function is Rosenbrock's, with 4 in place of 100.
"""

import tagloom as tl


def rosenbrock(p):
    return (1.0 - p[0]) ** 2.0 + 4.0 * (p[1] - p[0] * p[0]) ** 2.0


def minimize(start):
    """The minimum that Newton's method finds from a start, and the number of steps."""

    def step(p, k):
        return p - tl.linalg.solve(tl.hessian(rosenbrock)(p), tl.grad(rosenbrock)(p)), k + 1

    def is_far(p, k):
        slope = tl.grad(rosenbrock)(p)
        return tl.sum(slope * slope) > 1e-16

    return tl.while_loop(is_far, step, start, 0, maximum_iterations=50)


@tl.function
def main(starts: tl.Array[tl.float64, None, 2]) -> tl.Array[tl.int64, None]:
    """The number of steps from each start."""
    return tl.vmap(minimize)(starts)[1]


@tl.function
def minima(starts: tl.Array[tl.float64, None, 2]) -> tl.Array[tl.float64, None, 2]:
    """The minimum found from each start."""
    return tl.vmap(minimize)(starts)[0]


STARTS = [[1.5, 1.5], [-1.0, 2.0], [1.0, 1.0]]
EXPECTED = [{"run": ("main", STARTS), "result": [5, 7, 0], "size": "quick"}]

HEADING = ["| start | steps | minimum |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = zip(STARTS, main(STARTS), minima(STARTS), strict=True)
    return [f"| {start} | {steps} | {x:.4f}, {y:.4f} |" for start, steps, (x, y) in rows]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
