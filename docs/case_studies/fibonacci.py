"""The n-th Fibonacci number by a loop. Wrong: see docs/case-studies.md."""

import tagloom as tl


@tl.function
def fibonacci(n: tl.int64) -> tl.int64:
    def step(i, a, b):
        return i + 1, a, a + b

    _, a, _ = tl.while_loop(lambda i, a, b: i < n, step, 0, 0, 1)
    return a
