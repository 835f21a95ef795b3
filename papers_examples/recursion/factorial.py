"""Factorials: the smallest recursion, called once and twice in one graph.

`main` adds one to a factorial. `twice` does so two times: its graph has one body of `fac` and two outer call sites, and
no token of one computation meets a token of the other, although both pass through the same nodes.

fac(6) + 1 = 721, in 6 calls of fac; twice, (721, 721), in 12.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def fac(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else n * fac(n - 1)


@tl.function
def main(n: tl.int64) -> tl.int64:
    return fac(n) + 1


@tl.function
def twice(n: tl.int64) -> tuple[tl.int64, tl.int64]:
    return fac(n) + 1, fac(n) + 1


EXPECTED = [
    {"run": ("fac", 1), "result": 1, "calls": {"fac": 1}, "size": "quick"},
    {"run": ("fac", 20), "result": 2432902008176640000, "calls": {"fac": 20}, "size": "quick"},
    {"run": ("main", 6), "result": 721, "calls": {"main": 1, "fac": 6}, "size": "quick"},
    {"run": ("twice", 6), "result": (721, 721), "calls": {"twice": 1, "fac": 12}, "size": "quick"},
]


if __name__ == "__main__":
    print("fac(6) =", fac(6))
    print("main(6) = fac(6) + 1 =", main(6))
    print("twice(6) =", twice(6), "in", twice.run(6).activations())
