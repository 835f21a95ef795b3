"""A bound on a loop can deadlock it: with k = 5 it deadlocks, with k = 10 it does not.

    a[n] = 1; for j in 1 .. n-1: a[j] = 2 * a[j + 1]

Each iteration reads the cell that the next one fills, so the last iteration is the first that can finish. A loop
without a bound starts them all: n - 1 gets are deferred, one after another, until the last finds a[n] and the values
return to a[1] = 2^(n-1). With a bound k, iteration k waits for the end of iteration 0, which waits for iteration 1, and
so on up to iteration n - 2, the last: if that has not started, nothing can happen any more. So the run deadlocks
exactly if k < n - 1. With arrays that are written in order, the same loop would read missing values; here it waits.

For n = 10 without a bound, or with k = 9 or more: 512, in 155 firings, 15 n + 5. With k = 5: Deadlocked, after 68
firings, 12 k + 8. The README has the error.

    tagloom run papers_examples/roots/bounded_deadlock.py 10
    tagloom run papers_examples/roots/bounded_deadlock.py 10 --k 5
    tagloom run papers_examples/roots/bounded_deadlock.py:five 10

The last one has its bound in the program, and `--k 10` replaces it.

Source: Arvind and Nikhil, "Executing a program on the MIT tagged-token dataflow architecture" (IEEE Transactions on
Computers, 1990), which gives this loop, with n = 10 and k = 5, as a danger of k-bounded loops.
"""

import tagloom as tl


@tl.autograph.inline
def double(n, bound):
    """The program of both functions below: Python that runs while they are traced."""

    def iteration(j):
        tl.put(a, j, 2 * a[j + 1])
        return j + 1

    a = tl.cells(n + 1, tl.int64)
    tl.put(a, n, 1)
    tl.while_loop(lambda j: j < n, iteration, 1, parallel_iterations=bound)
    return a[1]


@tl.function
def main(n: tl.int64) -> tl.int64:
    return double(n, None)


@tl.function
def five(n: tl.int64) -> tl.int64:
    return double(n, 5)


EXPECTED = [
    {"run": ("main", 2), "result": 2, "size": "quick"},
    {"run": ("main", 10), "result": 512, "size": "quick"},
    {"run": ("main", 10), "k": 10, "result": 512, "size": "quick"},
    {"run": ("main", 10), "k": 9, "result": 512, "size": "quick"},
    {"run": ("main", 10), "k": 8, "result": None, "status": "Deadlocked", "size": "quick"},
    {"run": ("main", 10), "k": 5, "result": None, "status": "Deadlocked", "size": "quick"},
    {"run": ("five", 10), "result": None, "status": "Deadlocked", "size": "quick"},
    {"run": ("five", 10), "k": 10, "result": 512, "size": "quick"},
    {"run": ("five", 6), "result": 32, "size": "quick"},
]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for k in (1, 2, 5, 8, 9, 10, None):
        out = main.run(10, k=k, keep="events")
        cells = sum(token.blocked_on is not None and not isinstance(token.blocked_on, int) for token in out.residue)
        throttled_count = sum(isinstance(token.blocked_on, int) for token in out.residue)
        bound, value = k or "none", "" if out.missing else out.value
        rows.append(f"| {bound} | {out.status} | {value} | {out.firings} | {cells} | {throttled_count} |")
    return rows


HEADING = [
    "| k | ending | result | firings | reads deferred at the end | tokens throttled at the end |",
    "|---|---|---|---|---|---|",
]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
