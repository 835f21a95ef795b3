"""The cost of speculation for a function that it never speeds up: its calls break an assumption, its graph is slow, or
it has none.

    python tests/benchmarks/losses.py [--calls N]

Both ways run in one process, in turn. A row has the time that the first hundred calls take, with watching, graphs and
runs that are lost, and the least time of a call after the function was given up, as a multiple of Python's. The goal is
at most 1.2 times. The exit status is 1 if a function is not given up, or misses the goal.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import tagloom as tl

AIM = 1.2
FIRST_CALLS = 100


class Entry:
    """One of many objects."""

    def __init__(self, amount):
        self.amount = amount


class Account:
    """An object with a number that grows past the ints of a graph, and with many others."""

    def __init__(self, count):
        self.total = 2**61
        self.entries = [Entry(number) for number in range(count)]

    def add(self, count):
        for number in range(count):
            self.total += number + 2**61
        return self.total


def overflow(account, count):
    """Breaks the assumption that an int has at most 62 bits, in each call."""
    account.total = 2**61
    return account.add(count)


def fail(count):
    """Raises an exception."""
    raise KeyError(count)


def search(account, count):
    """Catches an exception of a function that it calls, in each call."""
    for number in range(count):
        account.total = number
    try:
        fail(count)
    except KeyError:
        return account.total


def generate(account, count):
    """Has no graph, since it has a generator."""

    def numbers():
        yield from range(count)

    account.total = sum(numbers())
    return account.total


def add_up(account, count):
    """Reads many objects once: Python adds their numbers sooner than they are encoded."""
    total = 0
    for entry in account.entries:
        total += entry.amount
    return total


FUNCTIONS = (overflow, search, generate, add_up)


def seconds_of(function: Any, count: int, calls: int) -> list[float]:
    """The time of each of some calls."""
    account, times = Account(count), []
    for _ in range(calls):
        start = time.perf_counter()
        function(account, count)
        times.append(time.perf_counter() - start)
    return times


def measure(function: Any, count: int, calls: int) -> tuple[Any, float, float]:
    """The speculated function after some calls; the seconds that the first ones take; and the least time of a later one
    as a multiple of Python's."""
    speculated = tl.speculate(function)
    first_seconds = sum(seconds_of(speculated, count, FIRST_CALLS))
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(calls):
        for is_speculated, way in ((False, function), (True, speculated)):
            times[is_speculated] += seconds_of(way, count, 1)
    return speculated, first_seconds, min(times[True]) / min(times[False])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="of each way, after the first hundred")
    parser.add_argument("--count", type=int, default=1000, help="the iterations of the loop in a call")
    options = parser.parse_args()
    print("| function | the first 100 calls | a later call | why it stays in Python |", "|---|---|---|---|", sep="\n")
    is_right = True
    for function in FUNCTIONS:
        speculated, first_seconds, later = measure(function, options.count, options.calls)
        first = f"{1000 * first_seconds:.3g} ms"
        print(f"| {function.__name__} | {first} | {later:.3g} times | {speculated.reason} |", flush=True)
        is_right &= speculated.reason is not None and later <= AIM
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
