"""The number of binary trees with n nodes. Wrong: see docs/case-studies.md."""

import tagloom as tl


@tl.function
def trees(n: tl.int64) -> tl.int64:
    if n == 0:
        return 1
    total = 0
    for left in range(n - 1):
        total = total + trees(left) * trees(n - 1 - left)
    return total
