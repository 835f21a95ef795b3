"""Select: one Python function, op by op and as a graph.

The row (1, 0) times a column of two picks its first element. `select` is that as plain Python: on concrete values its
ops run eagerly. `staged` is the same function traced: a graph of one product, with the same result. Ops, rows and
kernels are the same in both cases, so that programs are written and debugged eagerly, and run as graphs.

    tagloom run papers_examples/eager/selection.py "[[2.0], [-2.0]]"

Source: the first example of "TensorFlow Eager: a multi-stage, Python-embedded DSL for machine learning" (Agrawal and
others, arXiv 1903.01855), from a description.
"""

import tagloom as tl


def select(vector):
    row = tl.asarray([[1.0, 0.0]])
    return row @ vector


@tl.function
def main(vector: tl.Array[tl.float64, 2, 1]) -> tl.Array[tl.float64, 1, 1]:
    return select(vector)


EXPECTED = [
    {"run": ("main", [[2.0], [-2.0]]), "result": [[2.0]], "size": "quick"},
    {"run": ("main", [[-3.0], [5.0]]), "result": [[-3.0]], "size": "quick"},
]
EAGER = [
    (lambda: select(tl.asarray([[2.0], [-2.0]])), [[2.0]]),
    (lambda: select([[2.0], [-2.0]]), [[2.0]]),
]


if __name__ == "__main__":
    print(f"| eagerly | {select(tl.asarray([[2.0], [-2.0]]))} |", f"| as a graph | {main([[2.0], [-2.0]])} |", sep="\n")
