"""Functions that print parts of lines, and items of lists of symbolic length."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass
class Point:
    x: int
    y: float = 0.5
    name: str = field(default="a", repr=False)


@dataclass(frozen=True)
class Segment:
    start: Point
    end: Point

    def __str__(self):
        return f"{self.start.x} to {self.end.x}"


Pair = namedtuple("Pair", "first second")


class Item(NamedTuple):
    name: str
    price: int


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __str__(self):
        return f"${self.cents // 100}.{self.cents % 100:02d}"


class Debt(Money):
    def __repr__(self):
        return f"<{self.cents}>"


class Temperature:
    def __init__(self, degrees):
        self.degrees = degrees

    def __repr__(self):
        return "Temperature(%d)" % self.degrees


class Count:
    def __init__(self, n):
        self.n = n

    def __str__(self):
        if self.n > 2:
            return "many"
        return f"{self.n} only"


def instances(n):
    point = Point(n, n / 2)
    print(point, f"{point!r} {Segment(point, Point(1))} {Segment(point, point)!r}")
    print(Pair(n, 2), Item("tea", n), [point, Pair(1, n)])
    print(Money(n), f"{Money(n)}!", [Temperature(n)], Temperature(n), Debt(n), [Debt(n)])
    print("%s %r" % (Money(n), Temperature(n)), "{}".format(Money(n)))
    for k in range(n % 5):
        print(Count(k), end="; ")
    return str(Count(n)), repr(Temperature(n)), len(str(Money(n)))


class NotText:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return self.value


class MaybeNotText(NotText):
    def __str__(self):
        return "small" if self.value < 3 else None


def strings_that_are_none(n):
    print(MaybeNotText(n))
    print(NotText(n))


def keyword_that_print_has_not(n):
    print(n, color="red")


def text_after_a_line(n):
    texts = [str(k) for k in range(n)]
    print("".join(texts), end="")
    print(*texts, sep="")


def numbers_in_one_line(n):
    for k in range(n):
        print(k, end=" ")
    print()


def rectangle_of_stars(n):
    for _ in range(n):
        for _ in range(3):
            print("*", end="")
        print()
    print("done", end="")


def separated(n):
    for k in range(1, n + 1):
        print(k, end=", " if k < n else "\n")


def begun_in_a_branch(n):
    print("n:", end=" ")
    if n > 2:
        print("large", end="!")
    else:
        print("small")
    print("end", flush=True)


def begun_by_a_function(n):
    def item(k):
        print(k, end=" ")

    for k in range(n):
        item(k)
    print("end")
    item(7)


def begun_by_a_recursion(n):
    def show(k):
        if k > 0:
            show(k - 1)
            print(k, end=" ")
            if k % 3 == 0:
                print()

    show(n)
    print("end")


def text_of_a_recursion(n):
    text = ""

    def show(k):
        nonlocal text
        if k == 0:
            text += "0 "
            return
        show(k - 1)
        text += f"{k} "

    show(n)
    return text


def begun_before_an_error(n):
    print("n", n, end=": ")
    if n == 0:
        print("zero")
        raise ValueError("n is 0")
    print(10 // n, end="\n\n")
    return n


def truths(n):
    for k in range(n):
        print(k % 2 == 0, end=";")
    print(n == 2)


def floats(x):
    for k in range(4):
        print(f"{x * k:.2f}", end=" ")
    print(x)


def collected_numbers(xs):
    large = [x for x in xs if x > 1]
    print(*large)
    print("large:", *large, "of", *xs, sep=",")
    print("large:", *large, *large)
    print("large:", *[x for x in xs if x > 99])


def collected_strings(xs):
    texts = [f"<{x}>" for x in xs if x > 1]
    print(*texts, sep="|")
    print("texts", *texts, end=".\n")
    print(*texts, end="; ")
    print(*map(str, xs))


def starred_calls(xs):
    print(*sorted(xs))
    print(*(x for x in xs if x > 1), sep="")
    print(*reversed(xs), sep="{}")
    print(*enumerate(xs))
    return max(*xs, 2), min(1, *xs)


PRINTED = (
    (numbers_in_one_line, (3,), (0,)),
    (rectangle_of_stars, (2,), (0,)),
    (strings_that_are_none, (2,), (3,)),
    (keyword_that_print_has_not, (1,)),
    (text_after_a_line, (3,), (0,)),
    (separated, (3,), (1,)),
    (begun_in_a_branch, (3,), (0,)),
    (begun_by_a_function, (2,), (0,)),
    (begun_by_a_recursion, (4,), (0,)),
    (text_of_a_recursion, (3,), (0,)),
    (begun_before_an_error, (3,), (0,)),
    (truths, (3,), (0,)),
    (floats, (2.5,), (0.1,)),
    (collected_numbers, ([3, 1, 2],), ([],)),
    (collected_numbers, ([2.5, 1.0],), ([0.5],)),
    (collected_strings, ([3, 1, 2],), ([],)),
    (instances, (3,), (250,)),
    (starred_calls, ([3, 1, 2],), ([7],)),
)
"""Each function with its arguments."""
