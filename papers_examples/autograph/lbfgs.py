"""L-BFGS with a line search, as one writes it in Python: a loop whose end depends on the gradient, with a loop in it.

`minimise` keeps the last `MEMORY` steps and changes of the gradient in two arrays. Both loops, over the memory, have a
known number of iterations and are unrolled; the other two depend on values.

    tagloom run papers_examples/autograph/lbfgs.py "[-1.2, 1.0, -1.2, 1.0]" 60

Source: L-BFGS of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from a description; the function is ours.
"""

import tagloom as tl

MEMORY, SIZE, SMALL = 4, 4, 1e-6


def rosenbrock(x):
    return tl.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


value_and_slope = tl.value_and_grad(rosenbrock)


def direction(g, steps, changes):
    """The gradient times an estimate of the inverse Hessian, by the two loops over the memory."""
    q, factors = g, []
    for k in range(MEMORY):
        curvature = tl.sum(steps[k, :] * changes[k, :])
        rho = tl.where(curvature > 0.0, 1.0 / tl.where(curvature > 0.0, curvature, 1.0), 0.0)
        factor = rho * tl.sum(steps[k, :] * q)
        q = q - factor * changes[k, :]
        factors.append((rho, factor))
    squares = tl.sum(changes[0, :] ** 2)
    q = q * tl.where(squares > 0.0, tl.sum(steps[0, :] * changes[0, :]) / tl.where(squares > 0.0, squares, 1.0), 1.0)
    for k in reversed(range(MEMORY)):
        rho, factor = factors[k]
        q = q + (factor - rho * tl.sum(changes[k, :] * q)) * steps[k, :]
    return q


def minimise(x, limit):
    """The minimum, its value, and the number of steps."""
    steps, changes = tl.zeros((MEMORY, SIZE)), tl.zeros((MEMORY, SIZE))
    value, g = value_and_slope(x)
    count = 0
    while tl.sum(g * g) > SMALL**2 and count < limit:
        p = direction(g, steps, changes)
        rate, slope = 1.0, tl.sum(p * g)
        while rosenbrock(x - rate * p) > value - 1e-4 * rate * slope and rate > 1e-10:
            rate = rate / 2.0
        new = x - rate * p
        value, new_g = value_and_slope(new)
        steps = tl.concat([tl.expand_dims(new - x, axis=0), steps[:-1, :]])
        changes = tl.concat([tl.expand_dims(new_g - g, axis=0), changes[:-1, :]])
        x, g = new, new_g
        count += 1
    return x, value, count


START = [-1.2, 1.0, -1.2, 1.0]


@tl.function
def main(x: tl.Array[tl.float64, SIZE], limit: tl.int64) -> tl.int64:
    """The number of steps to a minimum."""
    return minimise(x, limit)[2]


@tl.function
def minimum(x: tl.Array[tl.float64, SIZE], limit: tl.int64) -> tl.Array[tl.float64, SIZE]:
    return minimise(x, limit)[0]


EXPECTED = [
    {"run": ("main", START, 100), "result": 48, "firings": 12859, "size": "quick"},
    {"run": ("main", [1.0, 1.0, 1.0, 1.0], 100), "result": 0, "firings": 99, "size": "quick"},
    {"run": ("main", START, 3), "result": 3, "firings": 1210, "size": "quick"},
]
WAYS = {"eager": lambda: minimise(tl.asarray(START), 100), "loop in the graph": lambda: main(START, 100)}
CLAIM = "nearly 2 times as fast as eager"

if __name__ == "__main__":
    x, value, count = minimise(tl.asarray(START), 100)
    print("op by op:", x, "after", count, "steps; the value is", value)
    print("as a program:", minimum(START, 100), "after", main(START, 100), "steps")
