"""The thesis's search for primes: four functions, three of them recursive, two of those mutually recursive.

This is not the n-th prime. The algorithm is kept as it was measured, with its errors: `first` and `second` both try 6i
- 1 (the second was surely meant for 6i + 1), so that each success counts twice; and `test` divides by numbers 6i - 1
only, so that it accepts 77 = 7 * 11, for instance. Counting from 2 as number 0, as the program does, prime number 7500
is 76213.

    test(N, i)   true if (6i - 1)^2 > N; false if 6i - 1 divides N; else test(N, i + 1)
    the search   tries 6i - 1 twice before it goes on to i + 1, and ends with the success number n - 1

primes(7500) = 42209, in 214,901 calls; primes(10000) = 57077, in 327,710.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018),
from whose tables the rows with `thesis` are: seconds with static graphs, and with dynamic ones. `main` is its
`primes`; the names of the other functions are ours.
"""

import tagloom as tl


@tl.function
def test(number: tl.int64, i: tl.int64) -> tl.bool:
    divisor = 6 * i - 1
    if divisor * divisor > number:
        return True
    if number % divisor == 0:
        return False
    return test(number, i + 1)


@tl.function
def first(skip: tl.int64, i: tl.int64) -> tl.int64:
    """Try 6i - 1; `skip` is the number of successes that remain."""
    candidate = 6 * i - 1
    if test(candidate, 1):
        return candidate if skip == 0 else second(skip - 1, i)
    return second(skip, i)


@tl.function
def second(skip: tl.int64, i: tl.int64) -> tl.int64:
    """Try 6i - 1 again, then go on to i + 1."""
    candidate = 6 * i - 1
    if test(candidate, 1):
        return candidate if skip == 0 else first(skip - 1, i + 1)
    return first(skip, i + 1)


@tl.function
def main(n: tl.int64) -> tl.int64:
    if n <= 0:
        return 2
    if n == 1:
        return 3
    return first(n - 2, 1)


EXPECTED = [
    {"run": ("main", 0), "result": 2, "calls": {"main": 1, "first": 0, "second": 0, "test": 0}, "size": "quick"},
    {"run": ("main", 1), "result": 3, "calls": {"main": 1, "first": 0, "second": 0, "test": 0}, "size": "quick"},
    {"run": ("main", 2), "result": 5, "calls": {"main": 1, "first": 1, "second": 0, "test": 1}, "size": "quick"},
    {"run": ("main", 50), "result": 191, "calls": {"main": 1, "first": 32, "second": 31, "test": 121}, "size": "quick"},
    {
        "run": ("main", 7500),
        "result": 42209,
        "calls": {"main": 1, "first": 7035, "second": 7034, "test": 200831},
        "size": "heavy",
        "thesis": (13.502, 13.458),
    },
    {
        "run": ("main", 10000),
        "result": 57077,
        "calls": {"main": 1, "first": 9513, "second": 9512, "test": 308684},
        "size": "heavy",
        "thesis": (20.636, 20.378),
    },
]


if __name__ == "__main__":
    for n in (0, 1, 2, 50):
        print(f"prime {n}: {main(n)}")
