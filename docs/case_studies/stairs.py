"""The ways to climb n stairs, one or two at a time. Wrong: see docs/case-studies.md."""

import tagloom as tl


@tl.function
def ways(n: tl.int64) -> tl.int64:
    if n <= 1:
        return 0
    return ways(n - 1) + ways(n - 2)
