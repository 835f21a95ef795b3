"""map, scan and foldl, composed of a loop and write-once arrays.

None of them is an op: each is a while loop that puts its results into cells, or passes them on. If iterations are
independent, as in `map_rounds`, many overlap, and each adds only the time of the loop's counter to the critical path.
If each waits for the one before, as in `fold_rounds`, each adds all its time. Gradients follow from those of loops and
cells.

    tagloom run papers_examples/tensorflow/folds.py "[1.0, 2.0, 3.0]"

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), from a description.
"""

import tagloom as tl

Vector = tl.Array[tl.float64, None]


@tl.function
def main(x: Vector) -> Vector:
    """The running sums."""
    return tl.scan(lambda total, element: (total + element, total + element), 0.0, x)[1]


@tl.function
def squares(x: Vector) -> Vector:
    return tl.map(lambda element: element * element, x)


@tl.function
def polynomial(coefficients: Vector, x: tl.float64) -> tl.float64:
    """Horner's rule, from the highest coefficient to the lowest."""
    return tl.foldl(lambda y, element: y * x + element, 0.0, coefficients)


slopes = tl.grad(polynomial, 0)


@tl.autograph.inline
def rounds(x):
    for _ in range(8):
        x = 3.0 * x * (1.0 - x)
    return x


@tl.function
def map_rounds(x: Vector) -> Vector:
    return tl.map(rounds, x)


@tl.function
def fold_rounds(x: Vector) -> tl.float64:
    return tl.foldl(lambda y, element: rounds(y * element), 0.5, x)


EXPECTED = [
    {"run": ("main", [1.0, 2.0, 3.0]), "result": [1.0, 3.0, 6.0], "size": "quick"},
    {"run": ("squares", [1.0, 2.0, 3.0]), "result": [1.0, 4.0, 9.0], "size": "quick"},
    {"run": ("polynomial", [1.0, 2.0, 3.0], 10.0), "result": 123.0, "size": "quick"},
    {"run": ("slopes", [1.0, 2.0, 3.0], 10.0), "result": [100.0, 10.0, 1.0], "size": "quick"},
]


HEADING = ["| | n = 8 | n = 16 | n = 32 |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for label, function in (("`map`", map_rounds), ("`foldl`", fold_rounds)):
        stats = [function.run([0.5] * n, keep="events").stats for n in (8, 16, 32)]
        rows.append(f"| {label} | {' | '.join(str(stat.span) for stat in stats)} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
