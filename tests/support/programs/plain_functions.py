"""Plain Python functions with symbolic conditions, each with inputs: the table of `tests/core/frontend/source`."""

# ruff: noqa
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: list[tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = []
"""Each function with its inputs."""


def case(*inputs: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Add the decorated function to the table."""

    def add(function: Any) -> Any:
        CASES.append((function, inputs))
        return function

    return add


@case((3,), (-3,), (0,))
def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


@case((10,), (0,), (7,))
def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case((10,), (0,), (30,))
def continue_and_break(n):
    s = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if i > 20:
            break
        s += i
    return s


@case((10,), (3,))
def else_of_a_loop(n):
    for i in range(n):
        if i * i == 16:
            r = i
            break
    else:
        r = -1
    return r


@case((10, 5), (3, 2))
def nested_loops(n, k):
    t = 0
    for i in range(n):
        for j in range(i):
            if j > k:
                break
            t += j
        else:
            t += 100
    return t


@case((3, 4), (0, 5), (5, 0), (0, 0))
def and_or_not(a, b):
    return (a and b), (a or b), not a, (a < b < 10)


@case((5,), (2,))
def partial_exits(x):
    y = 0
    if x > 3:
        if x > 4:
            return 100
        y = 1
    else:
        if x < 2:
            return 200
        y = 2
    y = y * 10
    return y + x


@case((5,), (2,), (-1,))
def break_of_an_endless_loop(x):
    while True:
        x += 3
        if x > 10:
            break
    return x


@case((5,), (25,))
def return_of_a_loop(n):
    k = 2
    while k * k <= n:
        if n % k == 0:
            return k
        k += 1
    return n


@case((3,), (8,))
def list_in_a_loop(n):
    xs = [0, 1]
    for i in range(n):
        xs[0], xs[1] = xs[1], xs[0] + xs[1]
    return xs[0]


@case((3,), (-8,))
def list_in_a_branch(n):
    xs = []
    if n > 0:
        xs.append(n)
    else:
        xs.append(-n)
    return xs[0] * 2


class Account:
    def __init__(self, v):
        self.v = v
        self.n = 0

    def bump(self, d):
        if d > 0:
            self.v += d
            self.n = self.n + 1
        return self


@case((3,), (-8,))
def object_in_a_branch(d):
    p = Account(10)
    p.bump(d)
    p.bump(1)
    return p.v, p.n


@case((3,), (8,))
def object_in_a_loop(d):
    p = Account(10)
    for i in range(d):
        p.bump(i - 2)
    return p.v, p.n


@case((3,), (8,))
def nonlocal_variable(d):
    c = 0

    def inc(k):
        nonlocal c
        c += k

    if d > 5:
        inc(d)
    for i in range(d):
        inc(i)
    return c


@case((3,), (8,))
def walrus_in_conditions(d):
    if (m := d * 2) > 10:
        return m
    return m + 1 if (q := m + d) > 3 else q


@case((5,), (0,))
def assigned_in_the_loop_only(n):
    while n > 3:
        z = n * 2
        n -= 1
        if z == 6:
            return z
    return n


@case((4,), (1,))
def ternaries(n):
    return (n if n > 2 else -n) + (1 if n == 4 else 0)


@case((4,), (9,), (2,))
def in_known_collections(n):
    if n in (1, 4, 9):
        return 1
    return 0 if n not in [2, 3] else 5


@case((7,), (12,))
def return_through_finally(n):
    try:
        if n > 10:
            return n * 2
        n += 1
    finally:
        m = 3
    return n + m


@case((7,), (2,))
def search_of_a_known_list(x):
    xs = [1, 3, 7]
    for v in xs:
        if v == x:
            return v * 10
    return -1


@case((7,), (2,))
def augmented_items(x):
    d = {"a": 1, "b": x}
    if x > 5:
        d["a"] += x
        d["b"] = 0
    return d["a"] + d["b"]


def odd(n):
    return False if n == 0 else even(n - 1)


def even(n):
    return True if n == 0 else odd(n - 1)


@case((7,), (2,))
def mutual_recursion(x):
    return odd(x)


@case(
    (2, 3),
)
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@case((10,), (0,), (7,))
def walrus_in_a_test(n):
    t = 0
    while (m := n - t) > 0:
        t += m // 2 + 1
    return t * 100 + m


@case((5,), (2,), (0,))
def walrus_in_a_test_with_exits(n):
    t = 0
    while (m := n - t) > 0:
        if m == 3:
            break
        t += 1
    else:
        t += 50
    return t * 100 + m


@case((2, 9), (9, 2), (1, 1))
def extremes(a, b):
    return max(a, b, 3) * 100 + min([b, a]) + max((a, 7), key=lambda k: -k) + min([], default=a)


@case((3,), (0,), (7,))
def quantifiers(n):
    some, every = any([n > 3, n < 1]), all(k != n for k in range(4))
    return (1 if some else 0) + (10 if every else 0) + (100 if any(7 % k == 0 for k in (n + 1, n + 2)) else 0)


@case((3,), (0,))
def isinstance_and_type(n):
    is_number = isinstance(n, int) and not isinstance(n, float) and isinstance(n > 1, bool)
    return n if is_number and type(n) is int else -1


@case((2.5,), (3.5,), (-0.4,))
def round_to_integer(x):
    return round(x)


@case((3,), (1,))
def identity(n):
    flag = n > 2
    return 1 if flag is True else 2 if flag is not False else 3


@case((2,), (5,))
def variadic(n, k=3, *rest, scale=2, **options):
    return n * k if n > k else n * scale + k + len(rest) + len(options)


@case((3,))
def annotated_inside(n):
    def add(k: not_a_name) -> not_a_name:
        return k + n

    return add(1) if n > 2 else add(2)


@case((5,), (0,), (1,))
def backwards(n):
    t = 0
    for i in reversed(range(n)):
        t = t * 10 + i
    for i in reversed(range(1, 2 * n, 3)):
        t = t * 10 + i
    for i in reversed(range(n, -2, -2)):
        t = t + i
    return t


@case((5,), (0,), (17,))
def number_as_test_of_a_loop_with_a_break(n):
    while n > 0:
        n -= 1
        while n % 3:
            n -= 1
            if n < 2:
                break
        else:
            n -= 1
    return n


@case((0,), (1,), (2,), (7,), (4,))
def match_of_literals(n):
    match n:
        case 0:
            r = 10
        case 1 | 2:
            r = 20
        case k if k > 5:
            r = k
        case _:
            r = 30
    for i in range(n):
        match i:
            case 3:
                continue
            case 6:
                break
        r += i
    return r


@case((3, 5), (0, 2), (4, 4))
def loop_at_the_end_of_an_arm(n, m):
    while n > 0:
        n -= 1
        if m > 3:
            for i in range(n):
                m += i
        else:
            m += 1
        if m == 9:
            return n * 100
        for i in range(2):
            m += 1
    return m


@case((0, True), (1, True), (3, True), (0, False))
def assigned_before_the_loop_is_staged(n, p):
    c = 2
    while c > 0:
        c -= 1
        for i in range(2):
            if p:
                x = c
                if n == i:
                    return x
    return -1


@case((1, 0), (3, 0), (1, 7))
def a_loop_target_that_a_return_reads(n, m):
    for k in (m, n):
        if k == 7:
            break
    else:
        for i in range(n, 3):
            return i + 10
    return k


@case((3, True), (3, False), (0, True))
def walrus_that_is_assigned_where_it_is_read(n, p):
    if (a := n + 1) > 1 and (b := a * 2) > 0:
        r = a + b
    elif not (p or (c := n - 5) > 0):
        r = c
    else:
        r = a
    while (d := r - 3) > 0:
        r -= 2
        if d == 2:
            return d
    return r + d


@case((3,), (0,), (9,))
def endless(n):
    if n > 2:
        while True:
            n -= 1
            if n < 0:
                return n
            if n == 3:
                return 7
    else:
        n += 1
    return n * 2


@case((3,), (0,), (9,))
def endless_inside(n):
    while True:
        while True:
            n += 1
            if n > 10:
                return n
            if n % 4 == 0:
                break
        n += 1


@case((0, 5), (1, 0), (7, 9), (2, 8), (-3, 4))
def memberships(n, m):
    k = 0
    if n in {1, 2}:
        k += 1
    if n in {7: 1, 2: 0}:
        k += 2
    if n in range(0, 10, 2):
        k += 4
    if n in range(m):
        k += 8
    if n not in range(m, -1, -3):
        k += 16
    if n / 2 in range(0, m):
        k += 32
    if 3 in range(n, m):
        k += 64
    return k


@case((0, 5), (1, 0), (7, 9), (-2, 8), (4, -3))
def sums_of_ranges(n, m):
    return sum(range(n)), sum(range(n, m, 3), 2), sum(range(m, n, -2)), len(range(n)), len(range(m, n, -2))


@case((3,), (0,))
def namespaces(n):
    d = Account(n)
    return vars(d)["v"] + eval("k + 1", {"k": n}) + len(dir(d)) * 0


@case((3,), (0,))
def quantifiers_of_numbers(n):
    return any([0, 3]), all([1, n]), any([0, n])


@case((0,), (3,), (9,))
def last_number_of_a_range(n):
    i = -1
    for i in range(1, n, 2):
        pass
    return i
