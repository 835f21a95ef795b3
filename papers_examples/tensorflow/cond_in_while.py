"""A conditional in a loop, and its gradient: each iteration is reversed through the branch that it took.

For n steps: if the count k is even, x becomes 3 x, otherwise x + x x / 2. The adjoint of an iteration goes back through
the branch that was taken, under that iteration's own tag; no stack recorded the branch. The second derivative is made
in the same way.

    tagloom run papers_examples/tensorflow/cond_in_while.py:slope 1.0 4

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), from a description; there
what the branches take is kept on stacks, and there are no second derivatives.
"""

import tagloom as tl


@tl.function
def main(x: tl.float64, n: tl.int64) -> tl.float64:
    def body(k, x):
        return k + 1, tl.cond(k % 2 == 0, lambda: 3.0 * x, lambda: x + 0.5 * x * x)

    return tl.while_loop(lambda k, x: k < n, body, 0, x)[1]


slope = tl.grad(main)
curvature = tl.grad(slope)


def by_hand(x, n):
    """The value, the slope and the curvature, computed step by step."""
    d, dd = 1.0, 0.0
    for k in range(n):
        if k % 2 == 0:
            x, d, dd = 3.0 * x, 3.0 * d, 3.0 * dd
        else:
            x, d, dd = x + 0.5 * x * x, d + x * d, dd + d * d + x * dd
    return x, d, dd


EXPECTED = [
    {"run": (name, 1.0, n), "result": by_hand(1.0, n)[order], "size": "quick"}
    for n in (0, 1, 4)
    for order, name in enumerate(("main", "slope", "curvature"))
]


HEADING = ["| iterations | value at 1 | slope | curvature |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    return [f"| {n} | {main(1.0, n):g} | {slope(1.0, n):g} | {curvature(1.0, n):g} |" for n in (0, 1, 2, 4)]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
