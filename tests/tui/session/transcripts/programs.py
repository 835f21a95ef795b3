"""The programs of the transcripts."""

import tagloom as tl


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def divided(n: tl.int64) -> tl.int64:
    def body(i, total):
        tl.print("i is", i)
        return i - 1, total + 60 // i

    return tl.while_loop(lambda i, total: i >= 0, body, n, 0)[1]


@tl.function
def chain(n: tl.int64) -> tl.int64:
    cells = tl.put(tl.cells(n + 1, tl.int64), n, 1)
    cells, _ = tl.while_loop(
        lambda a, j: j < n, lambda a, j: (tl.put(a, j, 2 * a[j + 1]), j + 1), cells, 1, parallel_iterations=2
    )
    return cells[1]
