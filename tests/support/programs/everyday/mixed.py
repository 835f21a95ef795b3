"""Functions of many kinds: choices between words, functions and objects, searches that find nothing, texts, generators
and patterns."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
import functools
import itertools
import operator
import string
from collections import Counter, defaultdict, deque, namedtuple
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from .table import everyday


@everyday((0,), (3,), (12,))
def triangular_or_not(n):
    total = 0
    for i in range(1, n + 1):
        total += i
        if total == n:
            return True
        if total > n:
            return False
    return n == 0


@everyday((10,), (97,), (1,))
def prime_factors_list(n):
    factors = []
    d = 2
    while n > 1:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
        if d * d > n:
            if n > 1:
                factors.append(n)
            break
    return factors


@everyday((5, 3), (3, 5), (4, 4))
def ordered(a, b):
    lo, hi = (a, b) if a < b else (b, a)
    return f"{lo}..{hi}", hi - lo


@everyday(([3, 1, 2],), ([5, 4, 4],), ([1, 2, 3],))
def bubble(xs):
    xs = list(xs)
    swapped = True
    passes = 0
    while swapped:
        swapped = False
        passes += 1
        for i in range(len(xs) - 1):
            if xs[i] > xs[i + 1]:
                xs[i], xs[i + 1] = xs[i + 1], xs[i]
                swapped = True
    return xs, passes


@everyday((7,), (0,), (-3,))
def describe(n):
    if n < 0:
        kind = "negative"
    elif n == 0:
        kind = "zero"
    else:
        kind = "positive"
    return kind


@everyday((7,), (0,), (-3,))
def describe_print(n):
    kind = "odd" if n % 2 else "even"
    print(f"{n} is {kind}")
    return n


@everyday(([4, 8, 15],), ([1, 1, 1],), ([-2, -5, -1],))
def largest(xs):
    best = None
    where = -1
    for i, x in enumerate(xs):
        if best is None or x > best:
            best, where = x, i
    return best, where


@everyday(([4, 8, 15], 8), ([1, 1, 1], 3), ([-2, -5, -1], -1))
def find_or_none(xs, key):
    for i, x in enumerate(xs):
        if x == key:
            return i
    return None


@everyday((4, 8), (1, 3), (9, 2))
def last_multiple(n, k):
    found = None
    for i in range(n):
        if i % k == 0:
            found = i
    return -1 if found is None else found


@dataclass
class Account:
    balance: float = 0.0
    history: list = field(default_factory=list)

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(amount)

    def withdraw(self, amount):
        if amount > self.balance:
            return False
        self.balance -= amount
        self.history.append(-amount)
        return True


@everyday((100.0, 30.0), (10.0, 30.0), (-1.0, 3.0))
def banking(a, b):
    account = Account()
    account.deposit(a)
    ok = account.withdraw(b)
    return account.balance, ok, account.history


@dataclass(frozen=True)
class Point:
    x: int
    y: int

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def norm1(self):
        return abs(self.x) + abs(self.y)


@everyday((3,), (10,), (0,))
def walk(n):
    p = Point(0, 0)
    for i in range(n):
        p = p + (Point(1, 0) if i % 2 == 0 else Point(0, -1))
    return p.norm1(), p.x, p.y


@everyday((3, 4), (-1, 2), (0, 0))
def farther(a, b):
    p, q = Point(a, b), Point(b, a + 1)
    best = p if p.norm1() >= q.norm1() else q
    return best.x, best.y


@everyday((3, "add"), (4, "mul"), (5, "sub"))
def by_name(n, op):
    table = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}
    f = table.get(op, lambda a, b: a - b)
    return f(n, 2)


@everyday((3,), (4,), (-5,))
def pick_function(n):
    f = math.floor if n > 0 else math.ceil
    return f(n / 2)


@everyday((3,), (4,), (5,))
def pick_lambda(n):
    step = (lambda v: v // 2) if n % 2 == 0 else (lambda v: 3 * v + 1)
    return step(n)


@everyday((27,), (1,), (6,))
def collatz_peak(n):
    peak, steps = n, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        peak = max(peak, n)
        steps += 1
    return {"peak": peak, "steps": steps}


@everyday(([1, 2, 2, 3],), ([5, 5, 5, 5],), ([1, 2, 3, 4],))
def has_duplicates(xs):
    seen = set()
    for x in xs:
        if x in seen:
            return True
        seen.add(x)
    return False


@everyday(([1, 2, 2, 3],), ([5, 5, 5, 5],), ([1, 2, 3, 4],))
def distinct_count(xs):
    return len(set(xs))


@everyday(([1, 2, 2, 3],), ([5, 5, 5, 5],), ([1, 2, 3, 4],))
def histogram(xs):
    counts = {}
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
    return max(counts.values())


@everyday(([1, 2, 2, 0],), ([3, 3, 3, 3],), ([1, 2, 3, 0],))
def mode_small(xs):
    counts = [0] * 4
    for x in xs:
        counts[x] += 1
    best = counts.index(max(counts))
    return best, counts[best]


@everyday((10,), (2,), (1,))
def sieve(n):
    flags = [True] * (n + 1)
    flags[0] = False
    flags[1] = False
    p = 2
    while p * p <= n:
        if flags[p]:
            for m in range(p * p, n + 1, p):
                flags[m] = False
        p += 1
    return sum(flags)


@everyday((5,), (0,), (9,))
def pascal_row(n):
    row = [1]
    for k in range(n):
        row.append(row[-1] * (n - k) // (k + 1))
    return row


@everyday((6, 3), (5, 0), (4, 4))
def choose(n, k):
    if k == 0 or k == n:
        return 1
    return choose(n - 1, k - 1) + choose(n - 1, k)


@everyday((2, 10, 1000), (3, 0, 7), (5, 13, 13))
def modpow(b, e, m):
    result = 1
    b %= m
    while e:
        if e & 1:
            result = result * b % m
        b = b * b % m
        e >>= 1
    return result


@everyday((240, 46), (7, 3), (0, 5))
def extended_gcd(a, b):
    if a == 0:
        return b, 0, 1
    g, x, y = extended_gcd(b % a, a)
    return g, y - (b // a) * x, x


@everyday(([1, 2, 3], [4, 5, 6]), ([0, 0, 0], [1, 1, 1]))
def cross(a, b):
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


@everyday(([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


@everyday(([[1, 2], [3, 4]],), ([[0, 1], [1, 0]],))
def transpose_and_trace(m):
    t = [list(row) for row in zip(*m)]
    return t, sum(m[i][i] for i in range(len(m)))


@everyday(([3, 1, 2],), ([1, 1, 0],))
def ranks(xs):
    order = sorted(range(len(xs)), key=lambda i: xs[i])
    out = [0] * len(xs)
    for r, i in enumerate(order):
        out[i] = r
    return out


@everyday(([3, -1, 2],), ([-1, -1, 0],))
def split_signs(xs):
    pos = [x for x in xs if x > 0]
    neg = [x for x in xs if x < 0]
    return len(pos), len(neg), sum(pos), sum(neg)


@everyday(([1, 5, 3, 2],), ([4, 3, 2, 1],), ([1, 2, 3, 4],))
def longest_run(xs):
    best = run = 1
    for a, b in zip(xs, xs[1:]):
        run = run + 1 if b > a else 1
        best = max(best, run)
    return best


@everyday(([1, 5, -3, 2],), ([-4, -3, -2, -1],))
def kadane(xs):
    best = cur = xs[0]
    for x in xs[1:]:
        cur = max(x, cur + x)
        best = max(best, cur)
    return best


@everyday((3, 2), (0, 5), (2, 0))
def ackermann(m, n):
    match m, n:
        case 0, _:
            return n + 1
        case _, 0:
            return ackermann(m - 1, 1)
        case _:
            return ackermann(m - 1, ackermann(m, n - 1))


@everyday((1,), (2,), (7,))
def weekday(n):
    match n:
        case 0 | 6 | 7:
            return 1.5
        case 1:
            return 0.5
        case d if d < 0:
            raise ValueError("no such day")
        case _:
            return 1.0


@everyday((10, 3), (10, 0), (-7, 2))
def safe_div(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return 0


@everyday((10, 3), (10, 0), (-7, 2))
def finally_counter(a, b):
    log = []
    try:
        if b == 0:
            return -1, log
        log.append(a % b)
        return a // b, log
    finally:
        log.append(99)


class Tally:
    def __init__(self):
        self.n = 0
        self.open = False

    def __enter__(self):
        self.open = True
        return self

    def __exit__(self, *exc):
        self.open = False
        self.n += 1


@everyday((10,), (3,), (0,))
def with_tally(n):
    t = Tally()
    for i in range(3):
        with t as inner:
            if n > i:
                inner.n += n
    return t.n, t.open


@everyday((4,), (1,), (0,))
def closure_counter(n):
    count = 0

    def bump(by=1):
        nonlocal count
        count += by
        return count

    for i in range(n):
        bump()
        if i % 2:
            bump(by=i)
    return count


@everyday((3,), (8,))
def make_adders(n):
    adders = [lambda x, k=k: x + k for k in range(3)]
    value = n
    for f in adders:
        value = f(value)
    return value


@everyday((3, 4, 5), (1, 1, 3), (2, 2, 2))
def triangle(a, b, c):
    a, b, c = sorted((a, b, c))
    if a + b <= c:
        raise ValueError("not a triangle")
    if a == b == c:
        return 3
    return 2 if a == b or b == c else 0


@everyday((3,), (0,), (7,))
def countdown_gen(n):
    def gen(k):
        while k > 0:
            yield k
            k -= 1

    return sum(gen(3)) + n


def evens(limit):
    k = 0
    while k < limit:
        yield k
        k += 2


@everyday((3,), (0,), (7,))
def sum_evens(n):
    total = 0
    for e in evens(n):
        total += e
    return total


@everyday((5,), (1,), (30,))
def walrus_roots(n):
    out = 0
    while (sq := out * out) < n:
        out += 1
    return out, sq


@everyday(([1, 2, 3, 4], 2), ([1, 2, 3, 4], 0), ([1, 2, 3, 4], 3))
def rotate(xs, k):
    k %= len(xs)
    return xs[k:] + xs[:k]


@everyday(([1, 2, 3, 4],), ([0, 0, 0, 1],))
def prefix_sums(xs):
    return list(itertools.accumulate(xs))


@everyday(([1, 2, 3, 4],), ([0, 0, 0, 1],))
def product_reduce(xs):
    return functools.reduce(operator.mul, xs, 1)


@everyday(([1, 2, 3, 4],), ([2, 2, 2, 1],))
def pairs_with_sum(xs):
    return sum(1 for a, b in itertools.combinations(xs, 2) if a + b == 5)


@everyday((1, 2, 3), (0, 0, 0))
def star(a, b, c):
    rest = (b, c)
    first, *others = [a, *rest]
    return first + sum(others), len(rest), others[::-1]


@everyday((3, 5), (-3, 5))
def kwargs_sum(a, b):
    def inner(**kw):
        return {k: v * 2 for k, v in kw.items() if k != "skip"}

    return inner(x=a, y=b, skip=1)


@everyday((13,), (0,), (255,))
def to_binary(n):
    if n == 0:
        return [0]
    bits = []
    while n:
        bits.append(n & 1)
        n >>= 1
    return bits[::-1]


@everyday((13,), (0,), (255,))
def to_binary_text(n):
    text = ""
    while n > 0:
        text = str(n % 2) + text
        n //= 2
    return text or "0"


@everyday((121,), (10,), (7,))
def palindrome_text(n):
    s = str(n)
    return s == s[::-1]


@everyday((121,), (10,), (907,))
def digit_sum_text(n):
    return sum(int(c) for c in str(n))


@functools.lru_cache(maxsize=None)
def memo_fib(n):
    return n if n < 2 else memo_fib(n - 1) + memo_fib(n - 2)


@everyday((10,), (1,))
def use_memo(n):
    return memo_fib(n)


@everyday((10,), (1,))
def own_memo(n):
    memo = {}

    def f(k):
        if k in memo:
            return memo[k]
        memo[k] = k if k < 2 else f(k - 1) + f(k - 2)
        return memo[k]

    return f(n)


class Color(Enum):
    RED = 1
    GREEN = 2


@everyday((1,), (2,), (5,))
def enum_choice(n):
    c = Color.RED if n < 2 else Color.GREEN
    return c.value


@everyday((1,), (2,), (5,))
def enum_compare(n):
    c = Color.RED if n < 2 else Color.GREEN
    if c is Color.RED:
        return 10
    return 20


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        if not self.items:
            raise IndexError("empty stack")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


@everyday((3, 4), (0, 2), (5, -5))
def stack_use(a, b):
    s = Stack()
    s.push(a)
    if a > b:
        s.push(b)
    if len(s) > 1:
        s.push(s.pop() + s.pop())
    return s.pop(), len(s)


@everyday((3,), (0,), (6,))
def queue_rounds(n):
    q = deque([1, 2, 3])
    for _ in range(n):
        q.append(q.popleft())
    return list(q)


@everyday((1.0,), (-2.0,), (0.0,))
def newton_sqrt(x):
    if x < 0:
        raise ValueError("negative")
    guess = x or 1.0
    for _ in range(20):
        nxt = 0.5 * (guess + x / guess)
        if abs(nxt - guess) < 1e-12:
            break
        guess = nxt
    else:
        guess = -guess
    return guess


@everyday((5, 2), (0, 0), (3, 9))
def grid_search(n, target):
    for i in range(n):
        for j in range(n):
            if i * j == target and i != j:
                return i, j
    return -1, -1


@everyday((3, 1), (1, 3), (2, 2))
def compare3(a, b):
    return (a > b) - (a < b)


@everyday((3, 1), (1, 3), (2, 2))
def spaceship_word(a, b):
    word = {-1: "less", 0: "equal", 1: "greater"}[(a > b) - (a < b)]
    print(word)
    return word


@everyday((3,), (1,), (2,))
def optional_then_use(n):
    limit = 10 if n > 2 else None
    total = 0
    for i in range(20):
        if limit is not None and i >= limit:
            break
        total += i
    return total


class Shape:
    def area(self):
        raise NotImplementedError


class Square(Shape):
    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s * self.s


class Circle(Shape):
    def __init__(self, r):
        self.r = r

    def area(self):
        return 3 * self.r * self.r


@everyday((3,), (1,), (-2,))
def polymorphic(n):
    shape = Square(n) if n > 1 else Circle(n)
    return shape.area()


@everyday((3,), (1,), (-2,))
def shapes_sum(n):
    shapes = [Square(n), Circle(n), Square(2)]
    return sum(s.area() for s in shapes if s.area() > 3)


@everyday((3,), (1,), (-2,))
def swap_objects(n):
    a, b = Square(n), Square(n + 1)
    if n > 0:
        a, b = b, a
    return a.area() - b.area()


@everyday((3,), (0,), (5,), refusal="V5: loop variable head changes its structure")
def linked_list(n):
    head = None
    for i in range(n):
        head = (i, head)
    total = 0
    while head is not None:
        value, head = head
        total += value
    return total


@everyday((3,), (0,), (5,))
def word_count(n):
    words = "the quick brown the lazy the".split()
    return sum(1 for i, w in enumerate(words) if w == "the" and i < n)


@everyday((3,), (0,), (25,))
def caesar(n):
    return [(ord(c) - 97 + n) % 26 for c in "hello"]


@everyday((3,), (0,), (25,))
def chr_text(n):
    return chr(97 + n)


@everyday((7,), (12,), (1,))
def perfect(n):
    return n == sum(d for d in range(1, n) if n % d == 0)


@everyday((7,), (12,), (28,))
def any_all(n):
    return any(n % d == 0 for d in range(2, n)), all(n % d for d in range(2, n))


@everyday((2023, 3), (2024, 2), (1900, 2))
def month_days(year, month):
    days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else days[month - 1]


@everyday((3,), (0,), (4,))
def message(n):
    return "one item" if n == 1 else f"{n} items"


@everyday((3, 0.5), (0, 2.0))
def round_up(n, q):
    return round(n * q, 1), math.ceil(n / q), divmod(n, 2)


@everyday((3,), (0,), (4,))
def compose(n):
    fs = [abs, float, math.sqrt]
    return functools.reduce(lambda v, f: f(v), fs, n)


@everyday((1,), (3,), (4,))
def nested_default(n):
    def go(k, acc=(), scale=2):
        return acc if k == 0 else go(k - 1, acc + (k * scale,))

    return sum(go(3)) + n


@everyday((1,), (3,), (10,))
def state_machine(n):
    state = "start"
    for _ in range(3):
        if state == "start":
            state = "run" if n > 2 else "stop"
        elif state == "run":
            n -= 1
            state = "stop" if n < 3 else "run"
        else:
            break
    return n


@everyday((1,), (3,), (10,))
def flags_text(n):
    parts = []
    if n > 2:
        parts.append("big")
    if n % 2:
        parts.append("odd")
    return ", ".join(parts)


@everyday((1,), (3,), (10,))
def hanoi(n):
    moves = 0

    def move(k, a, b, c):
        nonlocal moves
        if k == 0:
            return
        move(k - 1, a, c, b)
        moves += 1
        move(k - 1, c, b, a)

    move(n, "a", "b", "c")
    return moves


@everyday((1, 5), (3, 2))
def clamp_min(n, m):
    values = {"a": n, "b": m}
    values["c"] = min(values.values())
    key = min(values, key=values.get)
    return key, values[key]


@everyday((1,), (3,))
def setdefault_group(n):
    groups = {}
    for w in ("ab", "c", "de", "f"):
        groups.setdefault(len(w), []).append(n)
    return groups


@everyday((1,), (3,), (8,))
def group_by_parity(n):
    groups = {"even": [], "odd": []}
    for i in range(n):
        groups["even" if i % 2 == 0 else "odd"].append(i)
    return groups


@everyday((1,), (3,), (8,))
def defaultdict_count(n):
    counts = defaultdict(int)
    for i in range(n):
        counts[i % 3] += 1
    return counts[0], counts[1]
