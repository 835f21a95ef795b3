"""Sums of the numbers from each place of a list to its end, in cells. It never ends: see docs/case-studies.md."""

import tagloom as tl


@tl.function
def backwards(n: tl.int64) -> tl.int64:
    left = tl.cells(n + 1, tl.int64)
    left = tl.put(left, n, 0)

    def step(i):
        tl.put(left, i, left[i + 1] + i)
        return i + 1

    tl.while_loop(lambda i: i < n, step, 0, parallel_iterations=4)
    return left[0]
