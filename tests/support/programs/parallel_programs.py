"""Small programs with calls and loops that several cores can share."""

from __future__ import annotations

import tagloom as tl


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def tak(x: tl.int64, y: tl.int64, z: tl.int64) -> tl.int64:
    return tl.cond(y < x, lambda: tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)), lambda: z)


@tl.function
def sums(n: tl.int64) -> tl.int64:
    """Loops in a loop, each with a call in it."""

    def inner(i: tl.int64) -> tl.int64:
        return tl.while_loop(lambda j, s: j < n, lambda j, s: (j + 1, s * 3 + fib(i - j)), 0, 0)[1]

    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner(i)), 0, 0)[1]


@tl.function
def through(n: tl.int64) -> tl.int64:
    return fib(n)


@tl.function
def twice(n: tl.int64) -> tl.int64:
    """Results of calls are results of the function, which is called at two sites (S10)."""
    return through(n) - 2 * through(n - 1)


@tl.function
def relayed(n: tl.int64) -> tl.int64:
    """All results of calls are results of another function, which is called at two sites."""
    return tl.cond(n <= 1, lambda: n, lambda: relay(n - 1) - 2 * relay(n - 2))


@tl.function
def relay(n: tl.int64) -> tl.int64:
    return relayed(n)


@tl.function
def fragile(n: tl.int64) -> tl.int64:
    """A tree of calls in which a third of the leaves and half of the sums trap."""
    return tl.cond(
        n <= 1,
        lambda: 10 // (n % 3),
        lambda: (fragile(n - 1) + fragile(n - 2)) * 0 + 10 // (n % 2) + fragile(n - 3) * 0,
    )


@tl.function
def careless(n: tl.int64) -> tl.int64:
    """A tree of calls in which half of the divisions trap, whose quotients nobody needs: the calls return."""
    return tl.cond(n <= 1, lambda: wasted(n), lambda: careless(n - 1) + careless(n - 2) + wasted(n))


@tl.function
def wasted(n: tl.int64) -> tl.int64:
    divisor = n % 2
    (n * n * n) // divisor  # the dividend comes first, in a later wave
    return n
