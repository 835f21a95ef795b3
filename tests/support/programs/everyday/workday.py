"""Everyday functions: what a working day brings: reports, money, dates, text, small classes, matrices, queues."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import accumulate, chain, combinations

import numpy as np

from .table import everyday


# Interview questions


@everyday(([3, 1, 4, 1, 5, 9, 2, 6], 3), ([5, 5, 5], 2), ([1], 1))
def kth_largest(nums, k):
    pivot = nums[0]
    while True:
        bigger = [x for x in nums if x > pivot]
        same = [x for x in nums if x == pivot]
        if k <= len(bigger):
            nums = bigger
        elif k <= len(bigger) + len(same):
            return pivot
        else:
            k -= len(bigger) + len(same)
            nums = [x for x in nums if x < pivot]
        pivot = nums[0]


@everyday(([1, 2, 3, 4, 5, 6, 7], 3), ([1, 2], 5), ([9], 0))
def rotate_array(nums, k):
    n = len(nums)
    k %= n

    def flip(i, j):
        while i < j:
            nums[i], nums[j] = nums[j], nums[i]
            i += 1
            j -= 1

    flip(0, n - 1)
    flip(0, k - 1)
    flip(k, n - 1)
    return nums


@everyday(([7, 1, 5, 3, 6, 4],), ([7, 6, 4, 3, 1],), ([1, 2, 3],))
def stock_with_fee(prices):
    cash, hold = 0, -prices[0]
    for p in prices[1:]:
        cash, hold = max(cash, hold + p - 1), max(hold, cash - p)
    return cash


@everyday((5, [[1, 4], [2, 4], [3, 1], [3, 2]]), (2, [[1, 0], [0, 1]]), (3, [[2, 0], [1, 0]]))
def course_order(n, requires):
    after = [[] for _ in range(n)]
    missing = [0] * n
    for course, first in requires:
        after[first].append(course)
        missing[course] += 1
    ready = [c for c in range(n) if missing[c] == 0]
    order = []
    while ready:
        c = ready.pop()
        order.append(c)
        for d in after[c]:
            missing[d] -= 1
            if missing[d] == 0:
                ready.append(d)
    return order if len(order) == n else []


@everyday(([[1, 3], [2, 6], [8, 10], [15, 18]],), ([[1, 4], [4, 5]],), ([[3, 9]],))
def merge_intervals(intervals):
    intervals.sort(key=lambda iv: iv[0])
    merged = []
    for start, end in intervals:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


@everyday(([1, 2, 3], 4), ([2, 5], 7), ([3], 2))
def coin_ways(coins, amount):
    ways = [1] + [0] * amount
    for coin in coins:
        for a in range(coin, amount + 1):
            ways[a] += ways[a - coin]
    return ways[amount]


@everyday((4,), (1,), (5,))
def n_queens(n):
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


@everyday(([[1, 1, 0], [0, 1, 0], [1, 0, 1]],), ([[0, 0], [0, 0]],))
def count_islands(grid):
    rows, cols = len(grid), len(grid[0])

    def sink(r, c):
        if r < 0 or c < 0 or r >= rows or c >= cols or grid[r][c] == 0:
            return 0
        grid[r][c] = 0
        return 1 + sink(r + 1, c) + sink(r - 1, c) + sink(r, c + 1) + sink(r, c - 1)

    sizes = []
    for r in range(rows):
        for c in range(cols):
            size = sink(r, c)
            if size:
                sizes.append(size)
    return sorted(sizes, reverse=True)


@everyday(([2, 1, 5, 6, 2, 3],), ([4],), ([1, 1],))
def largest_rectangle(heights):
    stack = []
    best = 0
    for i, h in enumerate(heights + [0]):
        start = i
        while stack and stack[-1][1] > h:
            start, height = stack.pop()
            best = max(best, height * (i - start))
        stack.append((start, h))
    return best


@everyday((3,), (1,), (0,))
def gray_code(n):
    codes = [0]
    for bit in range(n):
        codes += [c | (1 << bit) for c in reversed(codes)]
    return codes


@everyday(([4, 2, 7, 1], 8), ([1, 1, 1], 3), ([5], 9))
def closest_pair_sum(xs, target):
    best = None
    for a, b in combinations(xs, 2):
        gap = abs(a + b - target)
        if best is None or gap < best[0]:
            best = (gap, a, b)
    return best


@everyday((13,), (1994,), (4,))
def to_roman(n):
    table = [
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
    ]
    out = []
    for value, letters in table:
        count, n = divmod(n, value)
        out.append(letters * count)
    return "".join(out)


@everyday(([0, 1, 0, 3, 12],), ([0, 0],), ([1, 2],))
def move_zeroes(nums):
    write = 0
    for read, x in enumerate(nums):
        if x != 0:
            nums[write], nums[read] = x, nums[write]
            write += 1
    return nums, write


@everyday((8, 3), (1, 1), (5, 2))
def josephus_ring(n, k):
    people = deque(range(1, n + 1))
    gone = []
    while len(people) > 1:
        people.rotate(-(k - 1))
        gone.append(people.popleft())
    return people[0], gone


# Numbers


@everyday((2.0, 1e-9), (10.0, 1e-6))
def newton_cube_root(a, eps):
    x = a
    for step in range(50):
        nxt = x - (x * x * x - a) / (3 * x * x)
        if abs(nxt - x) < eps:
            break
        x = nxt
    else:
        raise RuntimeError("no convergence")
    return round(nxt, 6), step


@everyday((0.0, 2.0, 10), (1.0, 3.0, 4))
def simpson(a, b, n):
    f = lambda x: x**3 - math.sin(x)
    h = (b - a) / n
    total = f(a) + f(b)
    for i in range(1, n):
        total += f(a + i * h) * (4 if i % 2 else 2)
    return round(total * h / 3, 9)


@everyday((np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])), (np.eye(2), np.array([0.5, -1.0])))
def conjugate_gradient(A, b):
    x = np.zeros(2)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(10):
        if rs < 1e-20:
            break
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return np.round(x, 8)


@everyday((np.array([[2.0, 1.0, 1.0], [4.0, -6.0, 0.0], [-2.0, 7.0, 2.0]]),), (np.eye(3),))
def determinant(a):
    m = a.copy()
    n = m.shape[0]
    det = 1.0
    for i in range(n):
        p = i + np.argmax(np.abs(m[i:, i]))
        if m[p, i] == 0:
            return 0.0
        if p != i:
            m[[i, p]] = m[[p, i]]
            det = -det
        det *= m[i, i]
        for j in range(i + 1, n):
            m[j] -= m[j, i] / m[i, i] * m[i]
    return round(float(det), 9)


@everyday((np.array([1.0, 2.0, 4.0, 7.0, 11.0]), 3), (np.array([5.0, 5.0]), 1))
def moving_average(x, w):
    c = np.cumsum(np.concatenate(([0.0], x)))
    return (c[w:] - c[:-w]) / w


@everyday(([1.0, 2.0, 3.0, 4.0], [2.1, 3.9, 6.2, 7.8]), ([0.0, 1.0], [1.0, 3.0]))
def linear_fit(xs, ys):
    n = len(xs)
    mx, my = sum(xs) / n, sum(ys) / n
    num = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    den = sum((x - mx) ** 2 for x in xs)
    slope = num / den
    return round(slope, 6), round(my - slope * mx, 6)


@everyday((48, 36), (7, 0), (0, 5))
def extended_gcd(a, b):
    if b == 0:
        return a, 1, 0
    g, x, y = extended_gcd(b, a % b)
    return g, y, x - (a // b) * y


@everyday((60,), (2,), (97,))
def prime_factors(n):
    factors = {}
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors[d] = factors.get(d, 0) + 1
            n //= d
        d += 1
    if n > 1:
        factors[n] = factors.get(n, 0) + 1
    return factors


@everyday((30,), (2,), (1,))
def sieve(n):
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    for p in range(2, int(n**0.5) + 1):
        if is_prime[p]:
            for q in range(p * p, n + 1, p):
                is_prime[q] = False
    return [i for i, flag in enumerate(is_prime) if flag]


@everyday(([3.0, 1.0, 2.0],), ([5.0],), ([2.0, 4.0, 4.0, 5.0],))
def summary(xs):
    xs = sorted(xs)
    n = len(xs)
    mid = n // 2
    median = xs[mid] if n % 2 else (xs[mid - 1] + xs[mid]) / 2
    mean = sum(xs) / n
    var = sum((x - mean) ** 2 for x in xs) / n
    return {"min": xs[0], "max": xs[-1], "median": median, "mean": mean, "std": round(math.sqrt(var), 6)}


@everyday((1000.0, 0.05, 12), (500.0, 0.1, 3))
def loan_schedule(principal, rate, months):
    payment = principal * rate / (1 - (1 + rate) ** -months)
    balance = principal
    rows = []
    for month in range(1, months + 1):
        interest = balance * rate
        balance -= payment - interest
        rows.append((month, round(interest, 2), round(abs(balance), 2)))
    return rows


# Simulations


@everyday((7, 20), (1, 5))
def lcg_walk(seed, steps):
    x = y = 0
    visited = {(0, 0)}
    for _ in range(steps):
        seed = (seed * 1103515245 + 12345) % 2147483648
        direction = seed // 65536 % 4
        if direction == 0:
            x += 1
        elif direction == 1:
            x -= 1
        elif direction == 2:
            y += 1
        else:
            y -= 1
        visited.add((x, y))
    return x, y, len(visited)


@everyday(([[0, 1, 0], [0, 1, 0], [0, 1, 0]], 3), ([[1, 1], [1, 1]], 2))
def life(grid, generations):
    h, w = len(grid), len(grid[0])
    for _ in range(generations):
        new = [[0] * w for _ in range(h)]
        for r in range(h):
            for c in range(w):
                around = 0
                for dr in (-1, 0, 1):
                    for dc in (-1, 0, 1):
                        if dr or dc:
                            around += grid[(r + dr) % h][(c + dc) % w]
                if around == 3 or (around == 2 and grid[r][c]):
                    new[r][c] = 1
        grid = new
    return grid


@everyday((100.0, 20.0, 0.1, 15.0), (20.0, 90.0, 0.5, 1.0))
def cooling(temp, ambient, k, t_end):
    t, dt = 0.0, 0.5
    history = [temp]
    while t < t_end:
        temp += -k * (temp - ambient) * dt
        t += dt
        history.append(temp)
        if abs(temp - ambient) < 0.5:
            break
    return len(history), round(history[-1], 6)


@everyday(([3, 0, 2, 5], 2), ([1], 1))
def bank_queue(arrivals, service):
    queue = deque()
    free_at = 0
    waits = []
    for t, n in enumerate(arrivals):
        for _ in range(n):
            queue.append(t)
        while queue and free_at <= t:
            came = queue.popleft()
            waits.append(t - came)
            free_at = max(free_at, t) + service
    return waits, len(queue)


@everyday((30, 10, 6), (5, 5, 3))
def predator_prey(rabbits, foxes, years):
    log = []
    for year in range(years):
        eaten = min(rabbits, foxes // 2)
        rabbits += rabbits // 3 - eaten
        foxes = foxes + eaten // 2 - foxes // 4
        log.append({"year": year, "rabbits": rabbits, "foxes": foxes})
        if rabbits <= 0:
            break
    return [entry["rabbits"] for entry in log], log[-1]["foxes"]


@everyday((10, 30), (4, 110))
def elementary_automaton(width, rule):
    cells = [0] * width
    cells[width // 2] = 1
    for _ in range(4):
        print("".join("#" if c else "." for c in cells))
        cells = [rule >> (cells[i - 1] * 4 + cells[i] * 2 + cells[(i + 1) % width]) & 1 for i in range(width)]
    return sum(cells)


@everyday((3, 7), (0, 0))
def elevator(start, target):
    floor, moves = start, []
    while floor != target:
        step = 1 if target > floor else -1
        floor += step
        moves.append("up" if step > 0 else "down")
    print(f"arrived at {floor} after {len(moves)} moves")
    return moves


# Text


@everyday((3661,), (59,), (90000,))
def format_duration(seconds):
    parts = []
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}" + ("s" if count != 1 else ""))
    return ", ".join(parts) if parts else "0 seconds"


@everyday((1234567,), (-42,), (0,))
def thousands(n):
    sign = "-" if n < 0 else ""
    digits = str(abs(n))
    groups = []
    while len(digits) > 3:
        groups.insert(0, digits[-3:])
        digits = digits[:-3]
    groups.insert(0, digits)
    return sign + ",".join(groups)


@everyday((12321,), (123,), (0,))
def is_palindrome_number(n):
    s = str(n)
    i, j = 0, len(s) - 1
    while i < j:
        if s[i] != s[j]:
            return False
        i += 1
        j -= 1
    return True


@everyday(("hello world", 3), ("Zebra, Ox!", 25))
def caesar(text, shift):
    out = ""
    for ch in text:
        if ch.isalpha():
            base = ord("a") if ch.islower() else ord("A")
            out += chr((ord(ch) - base + shift) % 26 + base)
        else:
            out += ch
    return out


@everyday((5,), (1,), (8,))
def look_and_say(n):
    term = "1"
    for _ in range(n - 1):
        nxt, i = "", 0
        while i < len(term):
            j = i
            while j < len(term) and term[j] == term[i]:
                j += 1
            nxt += str(j - i) + term[i]
            i = j
        term = nxt
    return term


@everyday((5,), (2,))
def multiplication_table(n):
    width = len(str(n * n))
    for i in range(1, n + 1):
        print(" ".join(f"{i * j:>{width}}" for j in range(1, n + 1)))
    return width


@everyday(([3, 7, 2], 10), ([1, 1], 4))
def bar_chart(values, width):
    top = max(values)
    for i, v in enumerate(values):
        length = v * width // top
        print(f"{i}: {'*' * length}{' ' * (width - length)}|{v:4d}")
    return top


@everyday((10, 2), (255, 16), (0, 7))
def to_base(n, b):
    digits = "0123456789abcdef"
    if n == 0:
        return "0"
    out = []
    while n:
        n, r = divmod(n, b)
        out.append(digits[r])
    return "".join(reversed(out))


@everyday(("the cat the dog the end", 2), ("a b a", 1))
def top_words(text, k):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))
    return ranked[:k]


# Classes


class Account:
    fee = 1

    def __init__(self, balance=0):
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        total = amount + self.fee
        if total > self.balance:
            return False
        self.balance -= total
        self.history.append(("withdraw", amount))
        return True


@everyday((100, 30), (5, 10), (5, -1))
def bank(start, amount):
    account = Account(start)
    account.deposit(amount)
    ok = account.withdraw(2 * amount)
    failed = 0
    for k in range(3):
        if not account.withdraw(amount // (k + 1)):
            failed += 1
    return account.balance, ok, failed, len(account.history)


@dataclass
class Item:
    name: str
    price: float
    quantity: int = 1
    tags: list = field(default_factory=list)

    @property
    def total(self):
        return self.price * self.quantity


@everyday((2, 9.5), (0, 1.0), (12, 3.25))
def invoice(n, price):
    items = [Item("pen", price, n), Item("book", 12.0), Item("bag", 2 * price, n // 2)]
    for item in items:
        if item.total > 20:
            item.tags.append("big")
            item.price *= 0.9
    total = sum(item.total for item in items)
    return round(total, 2), [len(item.tags) for item in items]


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def norm(self):
        return math.hypot(self.x, self.y)


@everyday((3.0, 4.0, 5), (0.0, 1.0, 1))
def projectile(vx, vy, steps):
    pos, vel, g = Vector(0.0, 0.0), Vector(vx, vy), Vector(0.0, -1.0)
    highest = 0.0
    for _ in range(steps):
        pos = pos + vel * 0.5
        vel = vel + g * 0.5
        if pos.y > highest:
            highest = pos.y
        if pos.y < 0:
            break
    return pos.x, highest, round(vel.norm(), 6), pos == Vector(0.0, 0.0)


class Stack:
    def __init__(self):
        self._items = []

    def push(self, x):
        self._items.append(x)

    def pop(self):
        if not self._items:
            raise IndexError("pop from empty stack")
        return self._items.pop()

    def __len__(self):
        return len(self._items)


@everyday(([3, 4, -1, 2, -2],), ([-1],), ([5],))
def stack_machine(program):
    stack = Stack()
    for op in program:
        if op >= 0:
            stack.push(op)
        elif op == -1:
            stack.push(stack.pop() + stack.pop())
        else:
            stack.push(stack.pop() * stack.pop())
    return stack.pop(), len(stack)


class Shape:
    def area(self):
        raise NotImplementedError

    def describe(self):
        return f"{type(self).__name__} of {self.area():.2f}"


class Circle(Shape):
    def __init__(self, r):
        self.r = r

    def area(self):
        return math.pi * self.r**2


class Square(Shape):
    def __init__(self, a):
        self.a = a

    def area(self):
        return self.a**2


@everyday((2.0, True), (1.5, False))
def shapes(size, round_one):
    shape = Circle(size) if round_one else Square(size)
    print(shape.describe())
    others = [Square(size), Circle(size / 2)]
    return max(shape.area(), *(s.area() for s in others)) > 4.0


class Inventory:
    def __init__(self):
        self.stock = {}

    def add(self, sku, n=1):
        self.stock[sku] = self.stock.get(sku, 0) + n
        return self

    def remove(self, sku, n=1):
        have = self.stock.get(sku)
        if have is None or have < n:
            raise KeyError(sku)
        if have == n:
            del self.stock[sku]
        else:
            self.stock[sku] = have - n


@everyday((3, 2), (1, 5), (2, 2))
def warehouse(a, b):
    inv = Inventory()
    inv.add(7, a).add(8, b).add(7)
    try:
        inv.remove(7, b)
    except KeyError:
        return "short", inv.stock
    return "ok", inv.stock


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


@everyday(([1, 2, 3, 4], 2), ([5], 0))
def linked_list(values, k):
    head = None
    for v in reversed(values):
        head = Node(v, head)
    prev, node = None, head
    while node is not None:
        node.next, prev, node = prev, node, node.next
    out, node = [], prev
    while node:
        if node.value != k:
            out.append(node.value)
        node = node.next
    return out


class Tree:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        if key < self.key:
            if self.left is None:
                self.left = Tree(key)
            else:
                self.left.insert(key)
        elif key > self.key:
            if self.right is None:
                self.right = Tree(key)
            else:
                self.right.insert(key)

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.key
        if self.right:
            yield from self.right


@everyday(([5, 2, 8, 1, 5],), ([3],), refusal="F4: insert calls itself under a symbolic condition")
def tree_sort(keys):
    root = Tree(keys[0])
    for k in keys[1:]:
        root.insert(k)
    return list(root)


# Closures and generators


@everyday((5, 3), (0, 2))
def make_counters(n, step):
    def counter(start):
        value = start

        def bump(by=step):
            nonlocal value
            value += by
            return value

        return bump

    a, b = counter(0), counter(n)
    a()
    if n > 2:
        b(10)
        a(n)
    return a(), b()


@everyday((4, 10), (1, 1))
def compose_all(n, x):
    def compose(*fs):
        return reduce(lambda f, g: lambda v: g(f(v)), fs)

    add = lambda v: v + n
    double = lambda v: 2 * v
    return compose(add, double, add)(x), compose(double)(x)


@everyday((10,), (1,), (100,))
def fib_below(limit):
    def fibs():
        a, b = 0, 1
        while True:
            yield a
            a, b = b, a + b

    out = []
    for f in fibs():
        if f >= limit:
            break
        if f % 2 == 0:
            out.append(f)
    return out


@everyday(([1, 2, 3, 4, 5, 6, 7], 3), ([1], 2))
def chunks(xs, size):
    def chunked():
        for i in range(0, len(xs), size):
            yield xs[i : i + size]

    return [sum(chunk) for chunk in chunked()]


@everyday((6, 3), (3, 0))
def memo_grid(r, c):
    @lru_cache(maxsize=None)
    def paths(i, j):
        if i == 0 or j == 0:
            return 1
        return paths(i - 1, j) + paths(i, j - 1)

    memo = {}

    def walk(i, j):
        if (i, j) in memo:
            return memo[i, j]
        if i == 0 or j == 0:
            result = 1
        else:
            result = walk(i - 1, j) + walk(i, j - 1)
        memo[i, j] = result
        return result

    return walk(r, c), len(memo)


@everyday(([5, 1, 4], 2), ([2], 1))
def running_totals(xs, k):
    totals = list(accumulate(xs))
    best = max(range(len(totals)), key=lambda i: totals[i] % (k + 2))
    return totals, best, list(chain(xs, totals))[k]


# Records


Point = namedtuple("Point", "x y")


@everyday(([(0, 0), (3, 4), (1, 1)], 1), ([(2, 2)], 5))
def nearest_point(pairs, k):
    points = [Point(x, y) for x, y in pairs]
    here = Point(k, k)
    nearest = min(points, key=lambda p: (p.x - here.x) ** 2 + (p.y - here.y) ** 2)
    return nearest.x, nearest.y


@everyday(([88, 92, 75, 60, 45],), ([100],), ([],))
def grade_report(scores):
    buckets = defaultdict(list)
    for i, s in enumerate(scores):
        if s >= 90:
            grade = "A"
        elif s >= 75:
            grade = "B"
        elif s >= 60:
            grade = "C"
        else:
            grade = "F"
        buckets[grade].append(i)
    for grade in "ABCF":
        if grade in buckets:
            print(grade, *buckets[grade], sep=" ")
    return {g: len(v) for g, v in buckets.items()}


@everyday((2024, 2), (1900, 2), (2023, 12))
def days_in_month(year, month):
    match month:
        case 2:
            leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
            return 29 if leap else 28
        case 4 | 6 | 9 | 11:
            return 30
        case m if 1 <= m <= 12:
            return 31
        case _:
            raise ValueError(f"no month {month}")


@everyday((2026, 12, 1), (2000, 2, 29), (1999, 1, 1))
def day_of_week(y, m, d):
    offsets = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]
    if m < 3:
        y -= 1
    names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    return names[(y + y // 4 - y // 100 + y // 400 + offsets[m - 1] + d) % 7]


@everyday(([12, 5, 8], 20), ([30], 10), ([], 5))
def pack_boxes(sizes, capacity):
    bins = []
    for s in sorted(sizes, reverse=True):
        if s > capacity:
            continue
        for b in bins:
            if sum(b) + s <= capacity:
                b.append(s)
                break
        else:
            bins.append([s])
    return bins


@everyday(([1, 2, 2, 3], [2, 2, 4]), ([], [1]), ([7], [7]))
def multiset_intersection(a, b):
    left, right = Counter(a), Counter(b)
    out = []
    for x in sorted(left):
        out += [x] * min(left[x], right[x])
    return out


@everyday(([[1, 2, 3], [4, 5, 6]],), ([[7]],))
def spiral(matrix):
    out = []
    top, bottom, left, right = 0, len(matrix) - 1, 0, len(matrix[0]) - 1
    while top <= bottom and left <= right:
        for c in range(left, right + 1):
            out.append(matrix[top][c])
        top += 1
        for r in range(top, bottom + 1):
            out.append(matrix[r][right])
        right -= 1
        if top <= bottom:
            for c in range(right, left - 1, -1):
                out.append(matrix[bottom][c])
            bottom -= 1
        if left <= right:
            for r in range(bottom, top - 1, -1):
                out.append(matrix[r][left])
            left += 1
    return out


@everyday(([5, 3, 8, 1],), ([2],), ([9, 9, 1],))
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
