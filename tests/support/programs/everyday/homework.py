"""Everyday functions: sieves, tables, parsers, recursion over words, small classes, and arrays with their methods."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
import operator
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from .table import everyday


@everyday((10,), (1,), (0,))
def sieve_list(n):
    prime = [True] * (n + 1)
    prime[0:2] = [False] * min(2, n + 1)
    for p in range(2, int(n**0.5) + 1):
        if prime[p]:
            for m in range(p * p, n + 1, p):
                prime[m] = False
    return [k for k, is_prime in enumerate(prime) if is_prime]


@everyday((12, 18), (7, 0), (-4, 6))
def extended_gcd(a, b):
    old_r, r = a, b
    old_s, s = 1, 0
    while r:
        q = old_r // r
        old_r, r = r, old_r - q * r
        old_s, s = s, old_s - q * s
    t = (old_r - old_s * a) // b if b else 0
    return {"gcd": old_r, "x": old_s, "y": t}


@everyday(([1, 3, 4, 5], 7), ([2], 3), ([5, 2, 1], 11))
def coin_ways(coins, amount):
    ways = [1] + [0] * amount
    for c in coins:
        for v in range(c, amount + 1):
            ways[v] += ways[v - c]
    return ways[amount]


@everyday(([5, 5, 9], [1, 2, 3], 3), ([6, 10], [1, 2], 4))
def knapsack(values, weights, capacity):
    best = [[0] * (capacity + 1) for _ in range(len(values) + 1)]
    for i in range(1, len(values) + 1):
        for w in range(capacity + 1):
            best[i][w] = best[i - 1][w]
            if weights[i - 1] <= w:
                best[i][w] = max(best[i][w], best[i - 1][w - weights[i - 1]] + values[i - 1])
    chosen = []
    w = capacity
    for i in range(len(values), 0, -1):
        if best[i][w] != best[i - 1][w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    return best[-1][-1], chosen[::-1]


class Stack:
    def __init__(self):
        self.items = []
        self.high = 0

    def push(self, x):
        self.items.append(x)
        self.high = max(self.high, len(self.items))

    def pop(self):
        if not self.items:
            raise IndexError("pop from an empty stack")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


@everyday((10,), (255,), (0,))
def to_base_with_stack(n):
    stack = Stack()
    while n > 0:
        stack.push(n % 2)
        n //= 2
    out = []
    while len(stack) > 0:
        out.append(stack.pop())
    return out, stack.high


@everyday((4,), (0,))
def stack_underflow(n):
    s = Stack()
    for k in range(n):
        s.push(k)
    s.pop()
    return len(s)


@everyday((3,), (5,), (0,))
def pascal_triangle(n):
    rows = []
    row = [1]
    for _ in range(n):
        rows.append(row)
        row = [1] + [a + b for a, b in zip(row, row[1:])] + [1]
    return rows[-1] if rows else None


@everyday((15,), (3,))
def fizzbuzz_lines(n):
    for k in range(1, n + 1):
        s = ""
        if k % 3 == 0:
            s += "Fizz"
        if k % 5 == 0:
            s += "Buzz"
        print(s or k)


@everyday((1994,), (49,), (3,))
def roman(n):
    out = ""
    for value, letters in (
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ):
        while n >= value:
            out += letters
            n -= value
    return out


@everyday((0b101101,), (0,), (1023,))
def run_lengths(n):
    text = bin(n)[2:]
    runs = []
    last, count = text[0], 0
    for c in text:
        if c == last:
            count += 1
        else:
            runs.append((last, count))
            last, count = c, 1
    runs.append((last, count))
    return runs


@everyday((2, 3), (4, 1))
def matrix_power_fib(n, m):
    def mul(a, b):
        return [[sum(a[i][k] * b[k][j] for k in range(2)) % 1000 for j in range(2)] for i in range(2)]

    result = [[1, 0], [0, 1]]
    base = [[1, 1], [1, 0]]
    e = n * m
    while e:
        if e & 1:
            result = mul(result, base)
        base = mul(base, base)
        e >>= 1
    return result[0][1]


@dataclass
class Account:
    owner: str
    balance: float = 0.0
    history: list = field(default_factory=list)

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError(f"bad amount {amount}")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            return False
        self.balance -= amount
        self.history.append(("withdraw", amount))
        return True


@everyday((100.0, 30.0), (10.0, 30.0), (-1.0, 2.0))
def bank(first, second):
    a, b = Account("ann"), Account("bob", 5.0)
    a.deposit(first)
    if a.withdraw(second):
        b.deposit(second)
    return a.balance, b.balance, len(a.history), len(b.history)


@everyday((5, 2), (6, 6), (3, 0))
def binomial_memo(n, k):
    memo = {}

    def choose(n, k):
        if k == 0 or k == n:
            return 1
        if (n, k) not in memo:
            memo[n, k] = choose(n - 1, k - 1) + choose(n - 1, k)
        return memo[n, k]

    return choose(n, k), len(memo)


@everyday((4,), (3,), (1,))
def queens(n):
    count = 0
    columns, up, down = set(), set(), set()

    def place(row):
        nonlocal count
        if row == n:
            count += 1
            return
        for c in range(n):
            if c in columns or row + c in up or row - c in down:
                continue
            columns.add(c)
            up.add(row + c)
            down.add(row - c)
            place(row + 1)
            columns.remove(c)
            up.remove(row + c)
            down.remove(row - c)

    place(0)
    return count


@everyday((3,), (0,), (2,))
def parentheses(n):
    out = []

    def grow(text, opened, closed):
        if len(text) == 2 * n:
            out.append(text)
            return
        if opened < n:
            grow(text + "(", opened + 1, closed)
        if closed < opened:
            grow(text + ")", opened, closed + 1)

    grow("", 0, 0)
    return out


@everyday((3,), (2,), (1,))
def subsets_by_recursion(n):
    out = []

    def walk(k, chosen):
        if k == n:
            out.append(list(chosen))
            return
        walk(k + 1, chosen)
        walk(k + 1, chosen + [k])

    walk(0, [])
    return out


@everyday((12,), (5,))
def group_by_remainder(n):
    groups = defaultdict(list)
    for k in range(n):
        groups[k % 3].append(k)
    return dict(groups)


@everyday((12,), (5,))
def group_by_setdefault(n):
    groups = {}
    for k in range(n):
        groups.setdefault(k % 3, []).append(k * k)
    return {key: sum(v) for key, v in groups.items()}


@everyday((12345,), (7,), (0,))
def biggest_digit(n):
    return max(str(n)), min(str(n)), sorted(str(n), reverse=True)


@everyday((255,), (0,), (-10,))
def hexed(n):
    return hex(n), oct(n), f"{n:x}", f"{n:#b}"


@everyday((5, True), (5, False), (0, True))
def maybe_list(n, empty):
    xs = [] if empty else [n]
    xs.append(n + 1)
    return xs, len(xs)


@everyday((np.array([1.0, 2.0, 4.0]),), (np.array([3.0, -1.0, 0.5]),))
def array_methods(x):
    return x.sum(), x.mean(), x.max(), x.argmax(), x.std()


@everyday((np.arange(6.0),), (np.array([5.0, 1.0, 2.0, 2.0, 9.0, 0.0]),))
def finite_differences(x):
    d = np.diff(x)
    return d, np.full_like(x, 2.0), x.reshape(2, 3).T, x.copy()


@everyday((0.0, 1.0), (2.0, -2.0))
def linspace_points(a, b):
    xs = np.linspace(a, b, 5)
    return np.trapezoid(xs**2, xs), xs


@everyday((4,), (1,))
def f_string_keys(n):
    table = {}
    for k in range(n):
        table[f"row{k}"] = k * k
    return table


@everyday((3,), (5,), refusal="F4: a loop changes more than 1000 objects")
def list_of_objects(n):
    accounts = []
    for k in range(n):
        a = Account(f"user{k}")
        a.deposit(10.0 * (k + 1))
        accounts.append(a)
    return sum(a.balance for a in accounts)


@everyday((-3,), (4,), (0,))
def sqrt_guarded(n):
    if n >= 0:
        return math.sqrt(n)
    return -math.sqrt(-n)


@everyday((3, "x"), (0, "y"))
def arm_with_value_error(n, text):
    if n == 0:
        return int(text)
    return n


@everyday(([3, 1, 2],), ([5, 4, 9, 1],), ([1],))
def merge_sort(xs):
    if len(xs) <= 1:
        return xs
    mid = len(xs) // 2
    left, right = merge_sort(xs[:mid]), merge_sort(xs[mid:])
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    return out + left[i:] + right[j:]


@everyday((6,), (1,), (0,), refusal="V5: loop variable head changes")
def linked_list(n):
    class Node:
        def __init__(self, value, rest):
            self.value, self.rest = value, rest

    head = None
    for k in range(n):
        head = Node(k, head)
    total = 0
    while head is not None:
        total = total * 2 + head.value
        head = head.rest
    return total


@everyday((10, 3), (7, 7), (3, 10))
def simulate_queue(n, servers):
    waiting = deque()
    served = []
    for t in range(n):
        waiting.append(t)
        if t % servers == 0 and waiting:
            served.append((t, waiting.popleft()))
    return served, list(waiting)


@everyday((17,), (16,), (1,))
def collatz_table(limit):
    lengths = {1: 1}
    for start in range(2, limit + 1):
        n, steps = start, 0
        while n not in lengths:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        lengths[start] = lengths[n] + steps
    best = max(lengths, key=lambda k: lengths[k])
    return best, lengths[best]


@everyday((5,), (8,))
def text_triangle(n):
    lines = []
    for k in range(1, n + 1):
        lines.append(" " * (n - k) + "*" * (2 * k - 1))
    return "\n".join(lines)


@everyday((7, 3), (2, 9))
def ops_table(a, b):
    table = {"+": operator.add, "-": operator.sub, "*": operator.mul, "max": max}
    return {name: f(a, b) for name, f in table.items()}


@everyday((121,), (123,), (7,), (10,))
def is_palindrome_number(n):
    s = str(n)
    i, j = 0, len(s) - 1
    while i < j:
        if s[i] != s[j]:
            return False
        i += 1
        j -= 1
    return True


@everyday((2.0,), (9.0,), (0.0,), (-1.0,))
def newton_sqrt(x):
    if x < 0:
        raise ValueError("negative")
    if x == 0:
        return 0.0
    guess = x
    for step in range(50):
        better = (guess + x / guess) / 2
        if abs(better - guess) < 1e-12:
            break
        guess = better
    else:
        print("no convergence")
    return better, step


@everyday((3, 4), (1, 1), (2, 5))
def spiral(rows, cols):
    out = []
    top, left, bottom, right = 0, 0, rows - 1, cols - 1
    while top <= bottom and left <= right:
        for j in range(left, right + 1):
            out.append((top, j))
        for i in range(top + 1, bottom + 1):
            out.append((i, right))
        if top < bottom and left < right:
            for j in range(right - 1, left, -1):
                out.append((bottom, j))
            for i in range(bottom, top, -1):
                out.append((i, left))
        top, left, bottom, right = top + 1, left + 1, bottom - 1, right - 1
    return out


@everyday((10,), (4,))
def prime_generator(limit):
    def primes():
        found = []
        n = 2
        while True:
            if all(n % p for p in found):
                found.append(n)
                yield n
            n += 1

    out = []
    for p in primes():
        if p > limit:
            break
        out.append(p)
    return out


@everyday((5, 7), (0, 0), (20, 3))
def tokens(a, b):
    text = f"{a}+{b}*2"
    total, current = 0, 0
    pending = 1
    for c in text:
        if c.isdigit():
            current = current * 10 + int(c)
        elif c == "*":
            pending *= current
            current = 0
        else:
            total += pending * current
            pending, current = 1, 0
    return total + pending * current
