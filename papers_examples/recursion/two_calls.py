"""Two calls of one function from one function: two sites feed one merge, and each result returns to its site.

The thesis gives the result, 16; the functions are ours. They subtract, so that a mix-up would show: 25 - 9 = 16, but 9
- 25 = -16. Three calls.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def g(x: tl.int64) -> tl.int64:
    return x * x


@tl.function
def main(x: tl.int64, y: tl.int64) -> tl.int64:
    return g(x) - g(y)


EXPECTED = [
    {"run": ("main", 5, 3), "result": 16, "calls": {"main": 1, "g": 2}, "size": "quick"},
    {"run": ("main", 3, 5), "result": -16, "calls": {"main": 1, "g": 2}, "size": "quick"},
]


if __name__ == "__main__":
    print("g(5) - g(3) =", main(5, 3))
    print("g(3) - g(5) =", main(3, 5))
