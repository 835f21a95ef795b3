"""Powers of two in cells, each twice the one before. It never ends: see docs/case-studies.md."""

import tagloom as tl


@tl.function
def doubled(n: tl.int64) -> tl.int64:
    powers = tl.cells(n + 1, tl.int64)
    for i in range(1, n + 1):
        powers[i] = powers[i - 1] * 2
    return powers[n]
