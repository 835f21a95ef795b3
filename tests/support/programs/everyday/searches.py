"""Functions that return words and None, look things up, search by `next`, and print in context managers."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math, functools, itertools, operator
from dataclasses import dataclass, field
from collections import deque
from typing import NamedTuple
from contextlib import contextmanager

from .table import everyday


@everyday((85,), (42,), (100,))
def grade(score):
    for limit, letter in ((90, "A"), (80, "B"), (70, "C")):
        if score >= limit:
            return letter
    return "F"


@everyday((3, 1), (1, 1), (0, 2))
def rock_paper(a, b):
    names = ["rock", "paper", "scissors"]
    if a % 3 == b % 3:
        return "draw"
    winner = a if (a - b) % 3 == 1 else b
    return names[winner % 3]


@everyday((10, 3), (2, 9), (5, 5))
def clamp_report(x, hi):
    clamped = min(x, hi)
    reason = None
    if clamped != x:
        reason = "too big"
    return clamped, reason


@everyday((7,), (0,), (-4,))
def parse_sign(n):
    sign, rest = ("-", -n) if n < 0 else ("+", n)
    print(sign, rest)
    return rest


@everyday((5,), (2,), (0,))
def first_even_square(n):
    result = None
    for k in range(1, n + 1):
        if (k * k) % 2 == 0:
            result = k * k
            break
    else:
        print("nothing")
    return result


@everyday(([4, 2, 9],), ([1, 1, 1],), ([3, 8, 8],))
def two_largest(xs):
    first = second = None
    for x in xs:
        if first is None or x > first:
            first, second = x, first
        elif second is None or x > second:
            second = x
    return first, second


@dataclass
class Item:
    name: str
    price: float
    count: int = 1

    def total(self):
        return self.price * self.count


@everyday((3, 2.5), (0, 1.0))
def basket(n, price):
    items = [Item("a", price), Item("b", 2 * price, n), Item("c", 1.0, 2)]
    best = max(items, key=lambda i: i.total())
    return sum(i.total() for i in items), best.name


@everyday((3,), (1,), (0,))
def cheapest_name(n):
    prices = {"tea": n, "milk": 2, "jam": n * n}
    best = None
    for name, price in prices.items():
        if best is None or price < prices[best]:
            best = name
    return best


class Light:
    def __init__(self):
        self.state = "red"
        self.ticks = 0

    def tick(self):
        self.ticks += 1
        if self.state == "red":
            self.state = "green"
        elif self.state == "green":
            self.state = "yellow"
        else:
            self.state = "red"


@everyday((3,), (0,), (7,))
def traffic(n):
    light = Light()
    for _ in range(n):
        light.tick()
    return light.state, light.ticks


class Account:
    def __init__(self, owner, balance=0):
        self.owner, self.balance = owner, balance

    def pay(self, other, amount):
        if amount > self.balance:
            return "refused"
        self.balance -= amount
        other.balance += amount
        return "paid"


@everyday((30,), (80,), (50,))
def transfer(amount):
    a, b = Account("ann", 50), Account("bob")
    status = a.pay(b, amount)
    richer = a if a.balance > b.balance else b
    return status, richer.owner, a.balance, b.balance


@everyday((30,), (80,), (50,))
def richer_pays(amount):
    a, b = Account("ann", 50), Account("bob", 60)
    payer, taker = (a, b) if amount % 20 == 0 else (b, a)
    print(payer.pay(taker, amount))
    return a.balance, b.balance


@everyday((4,), (9,), (1,))
def squares_until(n):
    out = []
    k = 1
    while True:
        if k * k > n:
            break
        out.append(k * k)
        k += 1
    return out, len(out)


@everyday((2, 3), (0, 0), (-1, 4))
def quadrant(x, y):
    match (x > 0, y > 0):
        case (True, True):
            return 1
        case (False, True):
            return 2
        case _:
            return None


@dataclass
class Circle:
    r: float


@dataclass
class Rect:
    w: float
    h: float


@everyday((2.0, True), (3.0, False))
def area(x, round_):
    shape = Circle(x) if round_ else Rect(x, x + 1)
    match shape:
        case Circle(r):
            return 3 * r * r
        case Rect(w, h):
            return w * h


@everyday((5,), (12,), (0,))
def days(n):
    units = [("week", 7), ("day", 1)]
    out = {}
    for name, size in units:
        out[name], n = divmod(n, size)
    return out


@everyday((3, "x"), (0, "y"))
def repeat_label(n, label):
    for i in range(n):
        print(f"{label}{i}")
    return label


@everyday((6,), (7,), (1,))
def divisor_or_none(n):
    return next((d for d in (2, 3, 5) if n % d == 0), None)


@everyday((6,), (7,), (1,))
def fallback(n):
    value = None
    if n % 2 == 0:
        value = n // 2
    return value or 100


@everyday((6,), (3,), (1,))
def handler_table(n):
    handlers = {0: lambda v: v + 1, 1: lambda v: v * 10, 2: abs}
    return handlers[n % 3](n)


@everyday((6, 2), (3, 5))
def strategy(a, b):
    def fast(v):
        return v * 2

    def slow(v):
        total = 0
        for i in range(v):
            total += 2
        return total

    chosen = fast if a > b else slow
    return chosen(a), chosen is fast, chosen.__name__


@everyday((5,), (0,), (3,), gap="Python returned 4, the program 4.0")
def running_max(n):
    peak = -math.inf
    for i in range(n):
        v = (i * 7) % 5
        peak = max(peak, v)
    return peak


@everyday((5,), (0,), (3,))
def average(n):
    if n == 0:
        return None
    return sum(range(n)) / n


@everyday((3, 4), (5, 12), (1, 1))
def hypot_kind(a, b):
    c = math.isqrt(a * a + b * b)
    exact = c * c == a * a + b * b
    print("exact" if exact else "rounded", c)
    return c if exact else None


class Temperature:
    def __init__(self, c):
        self.c = c

    @property
    def f(self):
        return self.c * 9 / 5 + 32

    def label(self):
        return "hot" if self.c > 25 else "mild" if self.c > 10 else "cold"


@everyday((30,), (15,), (-3,))
def weather(c):
    t = Temperature(c)
    return t.f, t.label()


@everyday((30,), (15,), (-3,))
def chained_methods(c):
    class B:
        def __init__(self):
            self.v = 0

        def plus(self, k):
            self.v += k
            return self

        def twice(self):
            self.v *= 2
            return self

    b = B().plus(c)
    if c > 0:
        b.twice()
    return b.plus(1).v


@everyday((3,), (10,), (0,))
def ackermann_like(n):
    def go(k, depth=0):
        if k <= 0:
            return depth
        return go(k - 3, depth + 1)

    return go(n)


@everyday((1, 2, 3), (3, 2, 1), (2, 2, 2))
def median3(a, b, c):
    return sorted([a, b, c])[1]


@everyday((1, 2), (2, 1))
def swap_if(a, b):
    if a > b:
        a, b = b, a
    return [a, b], (b, a), {"lo": a, "hi": b}


@everyday((10,), (99,), (5,))
def reverse_number(n):
    out = 0
    while n:
        n, d = divmod(n, 10)
        out = out * 10 + d
    return out


@everyday((8,), (5,), (1,))
def power_of_two(n):
    return n > 0 and n & (n - 1) == 0


@everyday((8,), (5,), (1,))
def steps(n):
    log = []
    while n > 1:
        if n % 2:
            n += 1
            log.append(1)
        else:
            n //= 2
            log.append(0)
    return log


@everyday((3, 2), (0, 1), (2, 2))
def grid_sum(r, c):
    grid = [[i * 10 + j for j in range(3)] for i in range(4)]
    return grid[r][c] + sum(grid[r]) + sum(row[c] for row in grid)


@everyday((3, 2), (0, 1), (2, 2))
def path_cost(r, c):
    cost = [[1, 3, 1], [1, 5, 1], [4, 2, 1], [1, 1, 1]]

    @functools.cache
    def best(i, j):
        if i < 0 or j < 0:
            return 1000
        if i == 0 and j == 0:
            return cost[0][0]
        return cost[i][j] + min(best(i - 1, j), best(i, j - 1))

    return best(3, 2) + r - c


@everyday((3,), (0,), (-2,))
def guard_raises(n):
    if n < 0:
        raise ValueError(f"bad {n}")
    if n == 0:
        raise KeyError("zero")
    return 10 // n


@everyday((3,), (0,), (-2,))
def log_lines(n):
    level = "warn" if n <= 0 else "info"
    print(f"[{level}] value={n}")
    if level == "warn":
        print("careful")
    return len(level)


@contextmanager
def section(name):
    print("begin", name)
    yield name
    print("end", name)


@everyday((3,), (0,))
def sections(n):
    with section("outer"):
        for i in range(2):
            with section(f"inner {i}"):
                if n > i:
                    print("yes")
    return n


@everyday((3,), (1,), (5,))
def accumulate_pairs(n):
    pairs = [(i, i * i) for i in range(n)]
    return sum(a * b for a, b in pairs), pairs[-1]


@everyday((3, 7), (7, 3))
def set_ops(a, b):
    s = {1, 3, 5, 7}
    return a in s, b in s, (a in s) != (b in s)


@everyday((3, 7), (7, 3), (4, 4))
def compare_words(a, b):
    words = {-1: "less", 0: "same", 1: "more"}
    return words[(a > b) - (a < b)]


@everyday((0,), (1,), (2,))
def nested_none(n):
    config = {"limit": None, "name": "x"}
    if n > 0:
        config["limit"] = n * 10
    limit = config["limit"] if config["limit"] is not None else 5
    return limit, config["name"]


@everyday((4,), (0,), (9,))
def binary_search(n):
    xs = [1, 3, 4, 7, 9, 11]
    lo, hi = 0, len(xs) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if xs[mid] == n:
            return mid
        if xs[mid] < n:
            lo = mid + 1
        else:
            hi = mid - 1
    return None


@everyday((4,), (0,), (9,))
def tern_chain(n):
    size = "small" if n < 3 else "medium" if n < 6 else "large"
    factor = {"small": 1, "medium": 2, "large": 3}[size]
    return factor * n, size == "medium"


@everyday((6,), (7,), (1,), refusal="F4: next() takes a generator expression from a variable")
def next_twice(n):
    g = (d for d in (2, 3, 5) if n % d == 0)
    return next(g, 0) + next(g, 0)


@everyday((6,), (7,), (30,))
def first_divisors(n):
    a = next((d, n // d) for d in range(2, n + 1) if n % d == 0)
    b = next((w for w, k in (("a", 2), ("b", 3)) if n % k == 0), "none")
    c = next((i for i in range(n) if i * i > n), -1)
    return a, b, c


@everyday((6,), (7,), (0,))
def next_empty(n):
    return next(d for d in (2, 3, 5) if n < d)


@everyday((6,), (7,), (0,))
def next_no_trap(n):
    return next((12 // d for d in (2, n) if d > 1), 0)
