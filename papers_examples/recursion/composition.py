"""Composition: the result of one call is the argument of another, F(G(5)) = 50.

The token that leaves G through its return enters F's call, which replaces one step of the tag by another.

The thesis gives the result; the functions are ours. They do not commute, so the result shows their order: F(G(5)) = 2 *
25 = 50, and G(F(5)) would be 100. Three calls.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def f(x: tl.int64) -> tl.int64:
    return 2 * x


@tl.function
def g(x: tl.int64) -> tl.int64:
    return x * x


@tl.function
def main(x: tl.int64) -> tl.int64:
    return f(g(x))


EXPECTED = [
    {"run": ("main", 5), "result": 50, "calls": {"main": 1, "f": 1, "g": 1}, "size": "quick"},
]


if __name__ == "__main__":
    print("f(g(5)) =", main(5))
