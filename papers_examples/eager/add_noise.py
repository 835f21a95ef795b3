"""Noise: a number that Python draws during the trace is a constant of the graph.

`frozen` adds numbers that NumPy draws. Python runs only when the function is traced, so its noise is a literal of the
graph, the same in every run. `main` adds a number of `tl.uniform`, which is a node: each run draws with its own seed,
and each call and iteration of a run draws its own number. A run with the same seed draws the same numbers, under any
schedule and on any engine.

    tagloom run papers_examples/eager/add_noise.py 1.0 --seed 7

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855), whose `add_noise` shows the first of these.
"""

import numpy as np
import tagloom as tl

_DICE = np.random.default_rng(7)


@tl.function
def frozen(x: tl.float64) -> tl.float64:
    return x + float(_DICE.random())


@tl.function
def main(x: tl.float64) -> tl.float64:
    return x + tl.uniform()


@tl.function
def walk(x: tl.float64, n: tl.int64) -> tl.float64:
    """n steps of noise: each iteration calls `main`, which draws its own number."""
    for _ in range(n):
        x = main(x)
    return x


EXPECTED = [
    {"run": ("frozen", 1.0), "result": 1.6250954666046669, "size": "quick"},
    {"run": ("frozen", 2.0), "result": 2.6250954666046668, "size": "quick"},
]
EAGER = []


HEADING = ["| drawn by | seed 0 | seed 1 | seed 2 | seed 0 |", "|---|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for name, function in (("NumPy's, frozen", frozen), ("`tl.uniform`", main)):
        samples = [f"{function.run(0.0, seed=seed).value:.3f}" for seed in (0, 1, 2, 0)]
        rows.append(f"| {name} | {' | '.join(samples)} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
