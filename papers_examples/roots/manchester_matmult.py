"""A product of matrices in cells, compared with figures of the Manchester machine.

Three n x n matrices of cells. Loops over rows and columns fill a and b, and a third pair of loops starts all elements
of c = a b, each a loop over n products; no loop waits for a whole matrix. The work is 31 n^3 + 88 n^2 + 98 n + 59
firings, and the span 15 n + 10 waves: 5 waves for each row, column and product.

The published figures for MATMULT are a work of 100,288 and a span of 425, so an average parallelism of 236.0. Our work
is nearest for n = 14: 103,743 firings in 220 waves, 471.6. We do not know the size of theirs, and the machines count
different things: see manchester_sum.py.

    tagloom run papers_examples/roots/manchester_matmult.py 14 --stats

The result is the last element of c, where a[i, j] = i + j and b[i, j] = i - j.

Source: Gurd, Kirkham and Watson, "The Manchester prototype dataflow computer" (Communications of the ACM, 1985), from
which are the figures of MATMULT. The program is ours.
"""

import tagloom as tl

PUBLISHED = {"work": 100_288, "span": 425}


@tl.autograph.inline
def matrix(n, element):
    """n x n cells, and the loops that fill them."""

    def row(i):
        def column(j):
            tl.put(cells, i * n + j, element(i, j))
            return j + 1

        tl.while_loop(lambda j: j < n, column, 0)
        return i + 1

    cells = tl.cells(n * n, tl.int64)
    tl.while_loop(lambda i: i < n, row, 0)
    return cells


@tl.function
def main(n: tl.int64) -> tl.int64:
    @tl.autograph.inline
    def product(i, j):
        def add_product(k, total):
            return k + 1, total + a[i * n + k] * b[k * n + j]

        _, total = tl.while_loop(lambda k, total: k < n, add_product, 0, 0)
        return total

    a = matrix(n, lambda i, j: i + j)
    b = matrix(n, lambda i, j: i - j)
    c = matrix(n, product)
    return c[n * n - 1]


EXPECTED = [
    {"run": ("main", 1), "result": 0, "size": "quick"},
    {"run": ("main", 4), "result": -22, "size": "quick"},
    {"run": ("main", 14), "result": -1547, "size": "heavy"},
]


def table(*sizes: int) -> list[str]:
    """The rows of the README's table."""
    rows = []
    for n in sizes:
        stats = main.run(n).stats
        row = f"| {n} | {stats.firings:,} | {stats.span} | {stats.parallelism:.1f}"
        rows.append(f"{row} | {stats.largest_store:,} |")
    return rows


HEADING = ["| n x n matrices | work | span | work/span | largest store |", "|---|---|---|---|---|"]


if __name__ == "__main__":
    print(*HEADING, *table(2, 4, 8, 14), sep="\n")
