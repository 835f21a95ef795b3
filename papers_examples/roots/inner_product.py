"""An inner product that begins before its vectors are complete: producers and a consumer overlap.

Two loops fill two vectors of cells, x[i] = e^(i/n) and y[i] = e^(-i/n), each by nine terms of the series; a third loop
adds up x[i] * y[i]. All three start at once. A get of an empty cell is deferred, and continues after the put: no loop
waits for a whole vector, and only the data determine the order. `main` does so. `phases` is the same program with a
barrier: its consumer starts when both vectors are full.

The critical path of `main` is 5 n + 36 waves, that of `phases` 10 n + 41: the sum of filling, 5 n + 30, and of adding
up. Each loop needs five waves from one iteration to the next. The overlap almost halves the time, with the same firings
except the 9 of the barrier. In `main` all 2 n gets are deferred, since the consumer is always ahead of the series; in
`phases` only the two of the barrier are.

Elements are independent, so iterations overlap too, as far as a bound k permits: the table in the README shows loop
parallelism against storage. An iteration of a producer lasts over 30 waves, and the next begins after 5, so seven
overlap: a bound of 7 or more changes nothing.

For n = 100: 100.00004780261193, since e^(i/n) * e^(-i/n) = 1, and the rest is the truncation error of the series.

    tagloom run papers_examples/roots/inner_product.py 100 --stats
    tagloom run papers_examples/roots/inner_product.py:phases 100 --stats
    tagloom run papers_examples/roots/inner_product.py 100 --stats --k 2

Source: the inner product, I-structures and k-bounded loops are those of Arvind and Nikhil, "Executing a program on the
MIT tagged-token dataflow architecture" (IEEE Transactions on Computers, 1990). What the vectors hold is our choice.
"""

import tagloom as tl

TERMS = 8


@tl.autograph.inline
def exponential(x):
    """The series of e^x up to x^8/8!, by Horner's rule: Python's loop unrolls into a chain of multiplications."""
    total = 1.0
    for term in range(TERMS, 0, -1):
        total = 1.0 + x * total / float(term)
    return total


@tl.autograph.inline
def fill_cells(n, element):
    """A vector of n cells, and the loop that fills it; the handle is returned at once."""

    def iteration(i):
        tl.put(cells, i, element(tl.astype(i, tl.float64)))
        return i + 1

    cells = tl.cells(n, tl.float64)
    tl.while_loop(lambda i: i < n, iteration, 0)
    return cells


@tl.autograph.inline
def vectors(n):
    size = tl.astype(n, tl.float64)
    return fill_cells(n, lambda i: exponential(i / size)), fill_cells(n, lambda i: exponential(-i / size))


@tl.autograph.inline
def sum_products(x, y, n, start):
    _, total = tl.while_loop(lambda i, total: i < n, lambda i, total: (i + 1, total + x[i] * y[i]), start, 0.0)
    return total


@tl.function
def main(n: tl.int64) -> tl.float64:
    x, y = vectors(n)
    return sum_products(x, y, n, 0)


@tl.function
def phases(n: tl.int64) -> tl.float64:
    """Iteration n - 1 is the last to fill its cells, so the consumer's start depends on its puts."""
    x, y = vectors(n)
    start = tl.cond(x[n - 1] + y[n - 1] > 0.0, lambda: 0, lambda: 0)
    return sum_products(x, y, n, start)


@tl.function
def fill(n: tl.int64) -> tuple[tl.Array[tl.float64, None], tl.Array[tl.float64, None]]:
    x, y = vectors(n)
    return tl.collect(x), tl.collect(y)


EXPECTED = [
    {"run": ("main", 1), "result": 1.0, "size": "quick"},
    {"run": ("main", 10), "result": 10.000002699215123, "size": "quick"},
    {"run": ("phases", 10), "result": 10.000002699215123, "size": "quick"},
    {"run": ("main", 10), "k": 1, "result": 10.000002699215123, "size": "quick"},
    {"run": ("main", 100), "result": 100.00004780261193, "size": "quick"},
]


def deferred_reads(out: tl.Outcome) -> int:
    """The number of gets that came before their put."""
    return sum(event.deferred_at is not None for event in out.events)


def overlap_rows(*sizes: int) -> list[str]:
    """The rows of the README's first table."""
    rows = []
    for n in sizes:
        overlapped, phased, filled_only = (function.run(n, keep="events") for function in (main, phases, fill))
        spans = " | ".join(f"{out.stats.span:,}" for out in (overlapped, filled_only, phased))
        reads = " | ".join(f"{deferred_reads(out)}" for out in (overlapped, phased))
        rows.append(f"| {n} | {overlapped.firings:,} | {phased.firings:,} | {spans} | {reads} |")
    return rows


def bound_rows(n: int) -> list[str]:
    """The rows of the README's second table."""
    rows = []
    for k in (1, 2, 5, 10, None):
        stats = main.run(n, k=k).stats
        row = f"| {k or 'none'} | {stats.firings:,} | {stats.span:,} | {stats.parallelism:.1f}"
        rows.append(f"{row} | {max(stats.profile)} | {stats.largest_store} |")
    return rows


OVERLAP_HEADING = [
    "| n | work | work, phases | span | span, filling | span, phases | reads deferred | deferred, phases |",
    "|---|---|---|---|---|---|---|---|",
]
BOUNDED_HEADING = ["| k | work | span | work/span | largest P(t) | largest store |", "|---|---|---|---|---|---|"]


if __name__ == "__main__":
    print(*OVERLAP_HEADING, *overlap_rows(10, 20, 50, 100), "", *BOUNDED_HEADING, *bound_rows(100), sep="\n")
