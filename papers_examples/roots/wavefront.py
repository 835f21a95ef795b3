"""A wavefront: n x n cells, each computed from two neighbours, a whole anti-diagonal at a time.

    a[i, j] = 1 on the upper and left edge, else a[i - 1, j] + a[i, j - 1]

Loops start the elements, a loop over the columns in a loop over the rows, but their order is not that of the
computation. An element waits for its neighbours and for nothing else, so an anti-diagonal, i + j = constant, can be
computed at one time, and is: the critical path grows with n although the work grows with n^2.

`main` starts the rows from above and the columns from the left. Its span is 10 n + 14 for n >= 2: a row starts every 5
waves, so does a column in it, and there are n of each. The values come just in time: only the get of the result is
deferred. `backward` starts both from the other end, where nothing is computed yet: every get of the run, all 2 (n-1)^2
+ 1, finds its cell empty and is deferred. It gives the same values, and takes 20 n - 8 waves for n >= 2: 10 n to start
all elements, and 10 n for the values to return, 5 waves from a diagonal to the next. A bound k < n on its loops
deadlocks it. `flat` starts the elements by one loop over all n^2, in the order of `main`, and its span is 5 n^2 + 17:
the counter of that loop is a chain as long as the work, whatever the cells permit.

The profile of `main` is a triangle: each diagonal, which takes 5 waves, has 44 firings more than the one before, and
after the middle 44 less. The work is 44 n^2 + 12 n + 29, so the average parallelism grows as 4.4 n. For 12:
705432, in 6,509 firings and 134 waves; `flat` takes 737.

    tagloom run papers_examples/roots/wavefront.py 12 --stats
    tagloom run papers_examples/roots/wavefront.py:backward 12 --stats
    tagloom run papers_examples/roots/wavefront.py:flat 12 --stats

a[n-1, n-1] is the number of shortest paths across the grid, (2n-2)! / (n-1)!^2.

Source: I-structures and the overlap of those who fill them with those who read them are those of Arvind and Nikhil,
"Executing a program on the MIT tagged-token dataflow architecture" (IEEE Transactions on Computers, 1990). The program
is ours.
"""

import tagloom as tl


@tl.function
def element(a: tl.Cells[tl.int64], n: tl.int64, i: tl.int64, j: tl.int64) -> tl.int64:
    return tl.cond(
        (i == 0) | (j == 0),
        lambda: 1,
        lambda: a[(i - 1) * n + j] + a[i * n + j - 1],
    )


@tl.function
def main(n: tl.int64) -> tl.int64:
    def row(i):
        def column(j):
            tl.put(a, i * n + j, element(a, n, i, j))
            return j + 1

        tl.while_loop(lambda j: j < n, column, 0)
        return i + 1

    a = tl.cells(n * n, tl.int64)
    tl.while_loop(lambda i: i < n, row, 0)
    return a[n * n - 1]


@tl.function
def backward(n: tl.int64) -> tl.int64:
    def row(i):
        def column(j):
            tl.put(a, i * n + j, element(a, n, i, j))
            return j - 1

        tl.while_loop(lambda j: j >= 0, column, n - 1)
        return i - 1

    a = tl.cells(n * n, tl.int64)
    tl.while_loop(lambda i: i >= 0, row, n - 1)
    return a[n * n - 1]


@tl.function
def flat(n: tl.int64) -> tl.int64:
    def start_element(place):
        tl.put(a, place, element(a, n, place // n, place % n))
        return place + 1

    a = tl.cells(n * n, tl.int64)
    tl.while_loop(lambda place: place < n * n, start_element, 0)
    return a[n * n - 1]


EXPECTED = [
    {"run": ("main", 1), "result": 1, "calls": {"main": 1, "element": 1}, "size": "quick"},
    {"run": ("main", 5), "result": 70, "calls": {"main": 1, "element": 25}, "size": "quick"},
    {"run": ("backward", 5), "result": 70, "calls": {"backward": 1, "element": 25}, "size": "quick"},
    {"run": ("flat", 5), "result": 70, "calls": {"flat": 1, "element": 25}, "size": "quick"},
    {"run": ("main", 12), "result": 705432, "calls": {"main": 1, "element": 144}, "size": "quick"},
    {"run": ("backward", 12), "k": 10, "result": None, "status": "Deadlocked", "size": "quick"},
]


def deferred_reads(out: tl.Outcome) -> int:
    """The number of gets that came before their put."""
    return sum(event.deferred_at is not None for event in out.events)


def table(*sizes: int) -> list[str]:
    """The rows of the README's table."""
    rows = []
    for n in sizes:
        for program in (main, backward, flat):
            out = program.run(n, keep="events")
            stats = out.stats
            row = f"| {n} | `{program.name}` | {out.value:,} | {stats.firings:,} | {stats.span:,}"
            rows.append(f"{row} | {stats.parallelism:.1f} | {max(stats.profile)} | {deferred_reads(out)} |")
    return rows


HEADING = [
    "| n | program | result | work | span | work/span | largest P(t) | reads deferred |",
    "|---|---|---|---|---|---|---|---|",
]


if __name__ == "__main__":
    print(*HEADING, *table(4, 8, 16), sep="\n")
