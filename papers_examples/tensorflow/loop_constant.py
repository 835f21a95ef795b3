"""The gradient by a value that a loop only reads: the sum over all iterations.

`main` is w^n x, computed by a loop that reads w in each iteration. w is a loop variable whose next value is itself; so
its adjoint goes back from iteration to iteration, and each adds its contribution: n w^(n-1) x. It needs no accumulator.
Without iterations the gradient is 0.

    tagloom run papers_examples/tensorflow/loop_constant.py:by_w 2.0 3.0 5

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), from a description; there
a loop in the reverse graph adds up what goes to a loop constant.
"""

import tagloom as tl


@tl.function
def main(w: tl.float64, x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, w * y), 0, x)[1]


by_w = tl.grad(main, 0)
by_x = tl.grad(main, 1)

EXPECTED = [
    {"run": ("main", 2.0, 3.0, 5), "result": 96.0, "size": "quick"},
    {"run": ("by_w", 2.0, 3.0, 5), "result": 240.0, "size": "quick"},
    {"run": ("by_x", 2.0, 3.0, 5), "result": 32.0, "size": "quick"},
    {"run": ("by_w", 2.0, 3.0, 0), "result": 0.0, "size": "quick"},
    {"run": ("by_x", 2.0, 3.0, 0), "result": 1.0, "size": "quick"},
]


HEADING = ["| n | value | by w | by x |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    return [f"| {n} | {main(2.0, 3.0, n):g} | {by_w(2.0, 3.0, n):g} | {by_x(2.0, 3.0, n):g} |" for n in (0, 1, 5)]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
