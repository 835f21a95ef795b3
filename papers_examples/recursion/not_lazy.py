"""Not lazy: an unneeded argument is computed all the same, and here that never ends.

f(2, 2) calls f(1, f(2, 2)), whose result is 1 whatever its second argument is. Calls are non-strict: the outer f starts
on its first argument and returns 1. But dataflow is driven by data and not by need, so the second argument is computed
meanwhile, and that computation starts another one, and so on.

Run until quiescent, it ends Exhausted, with its result 1. Run until the result, it returns 1. The schedule matters
here, as it never does if a run becomes quiescent: waves, fifo and random are fair and get to the result; lifo always
continues with the newest token, so it follows the inner calls for ever.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def f(x: tl.int64, y: tl.int64) -> tl.int64:
    return 1 if x <= 1 else f(x - 1, f(x, y))


EXPECTED = [
    {"run": ("f", 2, 2), "result": 1, "status": "Exhausted", "max_firings": 1000, "size": "quick"},
    {"run": ("f", 2, 2), "result": 1, "until": "result", "max_firings": 1000, "size": "quick"},
]


if __name__ == "__main__":
    few = tl.Limits(firings=1000)
    print("until nothing is left to fire:", f.run(2, 2, limits=few).status)
    print("until the result is there:", f.run(2, 2, until="result", limits=few).value)
