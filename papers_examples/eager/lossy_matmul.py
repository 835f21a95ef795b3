"""A lossy product: a Python flag, and a graph for each of its values.

In training, a matrix product drops each element with probability 0.8, and scales the others by five; otherwise it is
the plain product. The flag is no value of the program: `tl.Static` lets Python decide by it during the trace. Each
value has a graph of its own, that of False without random numbers, and `explain()` gives the reason.

The dropped elements depend on the seed of the run, and not on the schedule.

    tagloom run papers_examples/eager/lossy_matmul.py:evaluating "[[1.0, 2.0]]" "[[3.0], [4.0]]"

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855), from a description.
"""

import tagloom as tl

KEPT = 0.2
WIDTH = 4
MATRIX = tl.Array[tl.float64, None, None]


@tl.function
def lossy_matmul(w: MATRIX, x: MATRIX, training: tl.Static) -> MATRIX:
    outputs = w @ x
    if training:
        is_kept = tl.uniform((WIDTH, WIDTH)) < KEPT
        outputs = tl.where(is_kept, outputs / KEPT, 0.0)
    return outputs


@tl.function
def evaluating(w: MATRIX, x: MATRIX) -> MATRIX:
    return lossy_matmul(w, x, False)


@tl.function
def main(w: MATRIX, x: MATRIX) -> MATRIX:
    return lossy_matmul(w, x, True)


ONES = [[1.0] * WIDTH for _ in range(WIDTH)]
EXPECTED = [
    {"run": ("evaluating", [[1.0, 2.0]], [[3.0], [4.0]]), "result": [[11.0]], "size": "quick"},
    {"run": ("evaluating", ONES, ONES), "result": [[4.0] * WIDTH] * WIDTH, "size": "quick"},
]
EAGER = [(lambda: lossy_matmul(ONES, ONES, False), [[4.0] * WIDTH] * WIDTH)]


HEADING = ["| training | ops | elements that stay, with seeds 0 to 3 |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for training in (False, True):
        program = lossy_matmul.trace(ONES, ONES, training)
        ops = ", ".join(f"`{node.op}`" for node in program.program.main.body.nodes)
        kept_counts = [int((lossy_matmul.run(ONES, ONES, training, seed=seed).value > 0).sum()) for seed in range(4)]
        rows.append(f"| {training} | {ops} | {', '.join(map(str, kept_counts))} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), "", lossy_matmul.explain(), sep="\n")
