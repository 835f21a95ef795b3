"""A lossy product: a flag of Python's, and a graph for each of its values.

In training a product of matrices loses each element with probability 0.8, and what stays counts five times; otherwise
it is the product. The flag is no value of the program: Python decides by it while it traces, and each value gets a
graph of its own, that of False without a random number. The paper's `function` keeps a graph for each value of such an
argument; here a function is made for each, and says so.

What is lost depends on the seed of the run and not on the schedule: each run has its own.

    tagloom run papers_examples/eager/lossy_matmul.py:evaluating "[[1.0, 2.0]]" "[[3.0], [4.0]]"

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855), from a description.
"""

import tagloom as tl

KEPT = 0.2
WIDTH = 4
MATRIX = tl.Array[tl.float64, None, None]


def lossy_matmul(training):
    """The function for one value of the flag."""

    @tl.function
    def matmul(w: MATRIX, x: MATRIX) -> MATRIX:
        outputs = w @ x
        if training:
            is_kept = tl.uniform((WIDTH, WIDTH)) < KEPT
            outputs = tl.where(is_kept, outputs / KEPT, 0.0)
        return outputs

    return matmul


main = training = lossy_matmul(True)
evaluating = lossy_matmul(False)

ONES = [[1.0] * WIDTH for _ in range(WIDTH)]
EXPECTED = [
    {"run": ("evaluating", [[1.0, 2.0]], [[3.0], [4.0]]), "result": [[11.0]], "size": "quick"},
    {"run": ("evaluating", ONES, ONES), "result": [[4.0] * WIDTH] * WIDTH, "size": "quick"},
]
AT_ONCE = []


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for name, function in (("evaluating", evaluating), ("training", training)):
        traced = function.trace(ONES, ONES)
        ops = ", ".join(f"`{node.op}`" for node in traced.program.main.body.nodes)
        kept = [int((function.run(ONES, ONES, seed=seed).value > 0).sum()) for seed in range(4)]
        rows.append(f"| {name} | {ops} | {', '.join(map(str, kept))} |")
    return rows


if __name__ == "__main__":
    print(*table(), sep="\n")
