"""Python in a graph: a callback that is recursive in Python, and calls functions of the graph.

`main` calls Python for the number of Collatz steps from n to 1. `steps` is plain Python on concrete values: it
branches, recurs, and calls `next_number`, a tl.function, for each next number, so graph and Python call each other.
Callbacks run one after another, in program order.

`power` is recursive in Python as well, and is differentiated: on a tape by the ops that ran; and as a callback, which
is opaque to tapes and graphs, by the gradient that `tl.custom_gradient` gives it. That gradient calls Python again, in
the forward pass, since a reverse pass has no effects.

    tagloom run papers_examples/eager/py_func.py 27

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855) has recursive functions of Python in graphs
(`py_func`), which can be differentiated; the functions are ours.
"""

import tagloom as tl


@tl.function
def next_number(n: tl.int64) -> tl.int64:
    return n // 2 if n % 2 == 0 else 3 * n + 1


def steps(n):
    return 0 if n == 1 else 1 + steps(next_number(n))


@tl.function
def main(n: tl.int64) -> tl.int64:
    return tl.callback(steps, n, returns=tl.int64)


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


@tl.custom_gradient
def power_by_callback(x, n):
    """The power by a callback, which gets Python numbers, and leaves nothing to differentiate."""
    steepness = tl.astype(n, tl.float64) * tl.callback(power, x, n - 1, returns=tl.float64)
    return tl.callback(power, x, n, returns=tl.float64), lambda adjoint: (steepness * adjoint, None)


@tl.function
def staged(x: tl.float64, n: tl.int64) -> tl.float64:
    return power_by_callback(x * x, n)


staged_slope = tl.grad(staged)


def slope(function, x, n):
    with tl.Tape() as tape:
        tape.watch(x)
        y = function(x, n)
    return y, tape.gradient(y, x)


EXPECTED = [
    {"run": ("main", 1), "result": 0, "size": "quick"},
    {"run": ("main", 6), "result": 8, "size": "quick"},
    {"run": ("main", 27), "result": 111, "size": "quick"},
    {"run": ("staged", 2.0, 3), "result": 64.0, "size": "quick"},
    {"run": ("staged_slope", 2.0, 3), "result": 192.0, "size": "quick"},
]
EAGER = [
    (lambda: slope(power, tl.asarray(2.0), 5), (32.0, 80.0)),
    (lambda: slope(power_by_callback, tl.asarray(2.0), 5), (32.0, 80.0)),
]


HEADING = ["| n | steps |", "|---|---|"]


if __name__ == "__main__":
    print(*HEADING, *(f"| {n} | {main(n)} |" for n in (6, 27, 97)), sep="\n")
