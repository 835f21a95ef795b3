"""Mutual recursion: two functions that call each other need nothing that one alone does not.

The graph contains each body once. `main` and the other function feed the merge of each parameter, and the tag says
where a result returns to.

The thesis runs a pair of functions F and G; we chose even and odd. For 7: (False, True), in 8 calls of
each.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def even(n: tl.int64) -> tl.bool:
    return True if n == 0 else odd(n - 1)


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return False if n == 0 else even(n - 1)


@tl.function
def main(n: tl.int64) -> tuple[tl.bool, tl.bool]:
    return even(n), odd(n)


EXPECTED = [
    {"run": ("main", 0), "result": (True, False), "calls": {"main": 1, "even": 1, "odd": 1}, "size": "quick"},
    {"run": ("main", 7), "result": (False, True), "calls": {"main": 1, "even": 8, "odd": 8}, "size": "quick"},
    {"run": ("main", 999), "result": (False, True), "calls": {"main": 1, "even": 1000, "odd": 1000}, "size": "quick"},
]


if __name__ == "__main__":
    for n in (6, 7):
        is_even, is_odd = main(n)
        print(f"{n}: even {is_even}, odd {is_odd}")
