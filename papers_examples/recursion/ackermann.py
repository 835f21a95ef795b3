"""Ackermann's function: a recursive call as the argument of another.

The outer call of `ack(m - 1, ack(m, n - 1))` starts as soon as its first argument has come, and waits for the second
inside the body: arguments travel separately, each through a merge of its own.

ack(3, 3) = 61, in 2,432 calls.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018),
from whose tables the rows with `thesis` are: seconds with static graphs, and with dynamic ones.
"""

import tagloom as tl


@tl.function
def ack(m: tl.int64, n: tl.int64) -> tl.int64:
    if m == 0:
        return n + 1
    if n == 0:
        return ack(m - 1, 1)
    return ack(m - 1, ack(m, n - 1))


EXPECTED = [
    {"run": ("ack", 0, 0), "result": 1, "calls": {"ack": 1}, "size": "quick"},
    {"run": ("ack", 2, 3), "result": 9, "calls": {"ack": 44}, "size": "quick"},
    {"run": ("ack", 3, 3), "result": 61, "calls": {"ack": 2432}, "size": "quick", "thesis": (0.0885, 0.1177)},
    {"run": ("ack", 3, 6), "result": 509, "calls": {"ack": 172233}, "size": "heavy", "thesis": (6.165, 8.322)},
    {"run": ("ack", 3, 8), "result": 2045, "calls": {"ack": 2785999}, "size": "huge", "thesis": (100.88, 128.96)},
]


if __name__ == "__main__":
    for m, n in ((2, 3), (3, 3)):
        out = ack.run(m, n)
        print(f"ack({m}, {n}) = {out.value}, in {out.activations()['ack']:,} calls")
