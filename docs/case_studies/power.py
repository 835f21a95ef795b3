"""b to the n by squaring. Wrong: see docs/case-studies.md."""

import tagloom as tl


@tl.function
def power(b: tl.int64, n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 1, lambda: tl.cond(n % 2 == 0, lambda: even(b, n), lambda: odd(b, n)))


@tl.autograph.inline
def even(b, n):
    return power(b * b, n // 2)


@tl.autograph.inline
def odd(b, n):
    return b * power(n - 1, b)
