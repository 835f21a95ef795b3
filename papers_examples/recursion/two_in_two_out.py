"""Two inputs and two outputs: one call node per argument, one return node per result.

The thesis gives the result, 10; the functions are ours. `divide` subtracts repeatedly, and `main` checks its results by
the law of division, quotient * y + remainder = x: for 10 and 3 it gives 3 * 3 + 1 = 10, and with the two results
swapped it would give 1 * 3 + 3 = 6. Four calls of divide.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def divide(x: tl.int64, y: tl.int64) -> tuple[tl.int64, tl.int64]:
    if x < y:
        return 0, x
    quotient, remainder = divide(x - y, y)
    return quotient + 1, remainder


@tl.function
def main(x: tl.int64, y: tl.int64) -> tl.int64:
    quotient, remainder = divide(x, y)
    return quotient * y + remainder


EXPECTED = [
    {"run": ("divide", 10, 3), "result": (3, 1), "calls": {"divide": 4}, "size": "quick"},
    {"run": ("main", 10, 3), "result": 10, "calls": {"main": 1, "divide": 4}, "size": "quick"},
    {"run": ("main", 1000, 7), "result": 1000, "calls": {"main": 1, "divide": 143}, "size": "quick"},
]


if __name__ == "__main__":
    quotient, remainder = divide(1000, 7)
    print(f"1000 = {quotient} * 7 + {remainder}; main(1000, 7) = {main(1000, 7)}")
