"""Fibonacci numbers: a function with two recursive calls is one static graph.

The graph contains the body once. Its parameter is a merge, fed by the environment and by both call sites. The tag of
each token says which site sent it, so each result returns to the site that called.

With fib(0) = fib(1) = 1, computing fib(n) takes 2 fib(n) - 1 calls: fib(n) of them are leaves, which add one each to
the result, and a binary tree has one inner node less than leaves.

fib(24) = 75025, in 150,049 calls.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018),
from whose tables the rows with `thesis` are: seconds with static graphs, and with dynamic ones.
"""

import tagloom as tl


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


EXPECTED = [
    {"run": ("fib", 0), "result": 1, "calls": {"fib": 1}, "size": "quick"},
    {"run": ("fib", 1), "result": 1, "calls": {"fib": 1}, "size": "quick"},
    {"run": ("fib", 10), "result": 89, "calls": {"fib": 177}, "size": "quick"},
    {"run": ("fib", 15), "result": 987, "calls": {"fib": 1973}, "size": "quick"},
    {"run": ("fib", 24), "result": 75025, "calls": {"fib": 150049}, "size": "heavy", "thesis": (0.812, 0.991)},
    {"run": ("fib", 30), "result": 1346269, "calls": {"fib": 2692537}, "size": "huge", "thesis": (13.968, 17.801)},
    {"run": ("fib", 33), "result": 5702887, "calls": {"fib": 11405773}, "size": "huge", "thesis": (61.287, 75.646)},
]


if __name__ == "__main__":
    for n in (5, 10, 15):
        out = fib.run(n)
        print(f"fib({n}) = {out.value}, in {out.activations()['fib']:,} calls and {out.stats.firings:,} firings")
