"""Algorithms as students and researchers write them: sorting by hand, dynamic programming, graphs, matrices, numerical
methods, bits, queues and caches."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import cache, lru_cache

from .table import everyday


@everyday(([5, 2, 9, 1],), ([1],), ([3, 3, 1],))
def selection_sort(values):
    values = list(values)
    for i in range(len(values)):
        smallest = i
        for j in range(i + 1, len(values)):
            if values[j] < values[smallest]:
                smallest = j
        values[i], values[smallest] = values[smallest], values[i]
    return values


@everyday(([5, 2, 9, 1],), ([4, 3],), ([3, 3, 1],))
def insertion_sort_while(values):
    result = values[:]
    for i in range(1, len(result)):
        key = result[i]
        j = i - 1
        while j >= 0 and result[j] > key:
            result[j + 1] = result[j]
            j -= 1
        result[j + 1] = key
    return result


@everyday((3, 0, 2, 1), (0, 0, 0, 4))
def counting_sort_four(a, b, c, d):
    counts = [0] * 5
    for x in (a, b, c, d):
        counts[x] += 1
    out = []
    for value, count in enumerate(counts):
        out += [value] * count
    return out


@everyday((8, (1, 3, 5)), (11, (2, 5)), (0, (2,)))
def min_coins(amount, coins):
    best = [0] + [10**6] * amount
    for a in range(1, amount + 1):
        for c in coins:
            if c <= a and best[a - c] + 1 < best[a]:
                best[a] = best[a - c] + 1
    return best[amount] if best[amount] < 10**6 else -1


@everyday(([1, 3, 4, 5], [1, 4, 5, 7], 7), ([2, 2], [3, 4], 3))
def knapsack(weights, values, capacity):
    table = [0] * (capacity + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            table[c] = max(table[c], table[c - w] + v)
    return table[capacity]


@everyday(([3, 1, 4, 1, 5, 9, 2, 6],), ([5, 4, 3],))
def longest_increasing(xs):
    best = [1] * len(xs)
    for i in range(len(xs)):
        for j in range(i):
            if xs[j] < xs[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return max(best)


@everyday(([1, 2, 3, 4], [2, 4, 3]), ([1], [2]))
def lcs_length(a, b):
    rows, cols = len(a), len(b)
    table = [[0] * (cols + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, cols + 1):
            if a[i - 1] == b[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[rows][cols]


@everyday(([-2, 1, -3, 4, -1, 2],), ([-1, -2],))
def max_subarray_with_bounds(xs):
    best, best_start, best_end = xs[0], 0, 0
    current, start = xs[0], 0
    for i, x in enumerate(xs[1:], 1):
        if current < 0:
            current, start = x, i
        else:
            current += x
        if current > best:
            best, best_start, best_end = current, start, i
    return best, best_start, best_end


@everyday((4321,), (0,), (7,))
def digits_reversed(n):
    if n == 0:
        return [0]
    out = []
    while n:
        n, d = divmod(n, 10)
        out.append(d)
    return out


@everyday((153,), (154,), (9474,))
def armstrong(n):
    digits = 0
    m = n
    while m > 0:
        digits += 1
        m //= 10
    total = 0
    m = n
    while m > 0:
        total += (m % 10) ** digits
        m //= 10
    return total == n


@everyday((13,), (255,), (0,))
def run_of_ones(n):
    longest = current = 0
    while n:
        if n & 1:
            current += 1
            longest = max(longest, current)
        else:
            current = 0
        n >>= 1
    return longest


@everyday((10,), (1,), (64,))
def next_power_of_two(n):
    p = 1
    while p < n:
        p <<= 1
    return p


@everyday((6,), (40,), (1,))
def gray_code(n):
    g = n ^ (n >> 1)
    back = 0
    while g:
        back ^= g
        g >>= 1
    return back == n, n ^ (n >> 1)


@everyday((0b1011,), (1,))
def swap_bits(n):
    odd = n & 0x55
    even = (n & 0xAA) >> 1
    return odd << 1 | even


GRAPH = {0: [1, 2], 1: [3], 2: [3, 4], 3: [5], 4: [5], 5: []}


@everyday((0, 5), (3, 1), (2, 4))
def reachable(start, goal):
    seen = [False] * 6
    stack = [start]
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        if seen[node]:
            continue
        seen[node] = True
        for follower in range(6):
            if follower in GRAPH[node]:
                stack.append(follower)
    return False


@everyday((0,), (2,))
def bfs_levels(start):
    edges = [[1, 2], [3], [3, 4], [5], [5], []]
    distance = [-1] * 6
    distance[start] = 0
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in edges[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


@everyday(([[0, 4, 1], [4, 0, 2], [1, 2, 0]],), ([[0, 1], [1, 0]],))
def floyd_warshall(d):
    n = len(d)
    d = [row[:] for row in d]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d


@everyday((0,), (3,), gap="[0.0, 7.0")
def dijkstra_dense(source):
    w = [[0, 7, 9, 20], [7, 0, 10, 15], [9, 10, 0, 11], [20, 15, 11, 0]]
    dist = [math.inf] * 4
    dist[source] = 0
    done = [False] * 4
    for _ in range(4):
        u = min((k for k in range(4) if not done[k]), key=lambda k: dist[k])
        done[u] = True
        for v in range(4):
            if dist[u] + w[u][v] < dist[v]:
                dist[v] = dist[u] + w[u][v]
    return dist


@everyday(
    ([[2.0, 1.0], [1.0, 3.0]], [3.0, 5.0]),
    ([[0.0, 1.0], [1.0, 1.0]], [1.0, 2.0]),
)
def gauss_solve(matrix, rhs):
    n = len(rhs)
    a = [row[:] + [b] for row, b in zip(matrix, rhs)]
    for col in range(n):
        pivot = max(range(col, n), key=lambda r: abs(a[r][col]))
        a[col], a[pivot] = a[pivot], a[col]
        for r in range(col + 1, n):
            f = a[r][col] / a[col][col]
            for c in range(col, n + 1):
                a[r][c] -= f * a[col][c]
    x = [0.0] * n
    for r in reversed(range(n)):
        x[r] = (a[r][n] - sum(a[r][c] * x[c] for c in range(r + 1, n))) / a[r][r]
    return x


@everyday(([[1, 2], [3, 4]],), ([[2]],), ([[1, 0, 2], [0, 1, 1], [3, 1, 0]],))
def determinant(m):
    if len(m) == 1:
        return m[0][0]
    total = 0
    for j, x in enumerate(m[0]):
        minor = [row[:j] + row[j + 1 :] for row in m[1:]]
        total += (-1) ** j * x * determinant(minor)
    return total


@everyday(([[1, 1], [1, 0]], 5), ([[2, 0], [0, 2]], 0))
def matrix_power(m, n):
    def times(a, b):
        return [[sum(a[i][k] * b[k][j] for k in range(2)) for j in range(2)] for i in range(2)]

    result = [[1, 0], [0, 1]]
    while n > 0:
        if n % 2 == 1:
            result = times(result, m)
        m = times(m, m)
        n //= 2
    return result


@everyday(
    ([[1, 2, 3], [4, 5, 6], [7, 8, 9]],),
)
def spiral(m):
    top, bottom, left, right = 0, len(m) - 1, 0, len(m[0]) - 1
    out = []
    while top <= bottom and left <= right:
        for c in range(left, right + 1):
            out.append(m[top][c])
        top += 1
        for r in range(top, bottom + 1):
            out.append(m[r][right])
        right -= 1
        if top <= bottom:
            for c in range(right, left - 1, -1):
                out.append(m[bottom][c])
            bottom -= 1
        if left <= right:
            for r in range(bottom, top - 1, -1):
                out.append(m[r][left])
            left += 1
    return out


@everyday((7, 20), (1, 3))
def lcg_dice(seed, throws):
    counts = [0] * 6
    for _ in range(throws):
        seed = (1103515245 * seed + 12345) % 2**31
        counts[seed % 6] += 1
    return counts


@everyday((12345, 50), (1, 10))
def monte_carlo_pi(seed, n):
    inside = 0
    for _ in range(n):
        seed = (16807 * seed) % 2147483647
        x = seed / 2147483647
        seed = (16807 * seed) % 2147483647
        y = seed / 2147483647
        inside += x * x + y * y <= 1
    return 4 * inside / n


@everyday((30,), (90,))
def rule_cells(rule):
    cells = [0] * 9
    cells[4] = 1
    for _ in range(3):
        cells = [(rule >> (cells[i - 1] * 4 + cells[i] * 2 + cells[(i + 1) % 9])) & 1 for i in range(9)]
    return cells


@everyday((2.0,), (10.0,), (0.25,))
def newton_sqrt(x):
    guess = x
    for step in range(50):
        better = (guess + x / guess) / 2
        if abs(better - guess) < 1e-12:
            break
        guess = better
    else:
        return None
    return better


@everyday((1.0, 2.0), (0.0, 3.0))
def bisect_root(lo, hi):
    f = lambda x: x**3 - 2 * x - 1
    steps = 0
    while hi - lo > 1e-6 and steps < 100:
        mid = (lo + hi) / 2
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
        steps += 1
    return round(lo, 3) if False else lo, steps


@everyday((10,), (4,))
def simpson(n):
    if n % 2:
        raise ValueError("n must be even")
    h = math.pi / n
    s = 0.0
    for i in range(n + 1):
        weight = 1 if i in (0, n) else 4 if i % 2 else 2
        s += weight * math.sin(i * h)
    return s * h / 3


@everyday((1.0, 0.1, 5), (2.0, 0.05, 3))
def rk4(y, h, steps):
    def f(t, y):
        return -2 * y + t

    t = 0.0
    path = [y]
    for _ in range(steps):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h * k1 / 2)
        k3 = f(t + h / 2, y + h * k2 / 2)
        k4 = f(t + h, y + h * k3)
        y += h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        t += h
        path.append(y)
    return path


@everyday((3,), (0,), (6,))
def weekday_name(day):
    names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    return names[day % 7]


@everyday((404,), (200,), (999,))
def http_status(code):
    match code:
        case 200 | 201:
            return "ok"
        case c if 400 <= c < 500:
            return "client"
        case 500:
            return "server"
        case _:
            return "other"


@everyday((1994,), (4,), (49,))
def roman(n):
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
    count = 0
    for value, letters in table:
        while n >= value:
            n -= value
            count += len(letters)
    return count


@everyday((20,), (7,))
def fib_memo(n):
    memo = {0: 0, 1: 1}

    def fib(k):
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n)


@everyday((10,), (3,))
def fib_cached(n):
    @lru_cache(maxsize=None)
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


@dataclass
class Account:
    balance: int = 0
    fees: int = 0

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("insufficient funds")
        self.balance -= amount
        if amount > 100:
            self.fees += 1
        return self.balance


@everyday((150,), (500,), (20,))
def account(amount):
    a = Account(300)
    a.withdraw(amount)
    return a.balance, a.fees


@dataclass(frozen=True)
class P:
    x: float
    y: float

    def dist(self, other):
        return math.hypot(self.x - other.x, self.y - other.y)


@everyday((1.0, 2.0), (5.0, 5.0))
def nearest(x, y):
    points = [P(0.0, 0.0), P(4.0, 4.0), P(1.0, 3.0)]
    here = P(x, y)
    best = min(points, key=here.dist)
    return best.x, best.y


@everyday((10,), (3,))
def sum_of_generator(n):
    def evens(limit):
        k = 0
        while k < limit:
            yield k
            k += 2

    return sum(x * x for x in evens(n))


@everyday((10,), (1,))
def generator_known(k):
    def parts():
        yield k
        yield k * 2
        if k > 3:
            yield k * 3

    return sum(parts())


@everyday(([3, 1, 2], 10), ([9, 8], 1))
def enumerate_find(xs, limit):
    total = 0
    for i, x in enumerate(xs, start=1):
        total += i * x
        if total > limit:
            return i, total
    return -1, total


@everyday(([1, 2, 3], [4, 5, 6]), ([0], [2]))
def zip_dot_reversed(a, b):
    return sum(x * y for x, y in zip(a, reversed(b)))


@everyday(([5, 1, 4],), ([2, 2],))
def argsort(xs):
    return sorted(range(len(xs)), key=lambda i: xs[i])


@everyday(([3, 8, 5],), ([1, 3],))
def any_all(xs):
    return any(x % 2 == 0 for x in xs), all(x > 2 for x in xs), sum(1 for x in xs if x > 3)


@everyday(([1, 2, 3, 4, 5, 6],), ([7],))
def slice_steps(xs):
    return xs[::2], xs[::-1], xs[1::2], xs[-2:]


@everyday((5,), (12,))
def counter_closure(n):
    calls = 0

    def bump(k):
        nonlocal calls
        calls += 1
        if k > 1:
            bump(k // 2 if k % 2 == 0 else 3 * k + 1)

    bump(n)
    return calls


@everyday((12,), (50,), (1000,))
def pythagorean(limit):
    for a in range(1, 20):
        for b in range(a, 20):
            c2 = a * a + b * b
            c = math.isqrt(c2)
            if c * c == c2 and a + b + c == limit:
                return a, b, c
    return None


@everyday((3,), (0,), (7,))
def finally_in_loop(n):
    log = 0
    for k in range(5):
        try:
            if k == n:
                break
            if k % 2:
                continue
            log += 10
        finally:
            log += 1
    return log


@everyday((17,), (18,))
def while_else_prime(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            print("divisible by", d)
            break
        d += 1
    else:
        print("prime")
        return True
    return False


@everyday((3, 4), (0, 0), (-1, 5), refusal="F4: this `match`")
def quadrant(x, y):
    match (x, y):
        case (0, 0):
            return "origin"
        case (a, 0) | (0, a):
            return "axis"
        case (a, b) if a > 0 and b > 0:
            return "first"
        case _:
            return "elsewhere"


@everyday(([2, 7, 11, 15], 9), ([1, 2], 5))
def two_sum(xs, target):
    seen = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return None


@everyday(([1, 2, 2, 3],), ([4, 5],))
def has_duplicates(xs):
    seen = set()
    for x in xs:
        if x in seen:
            return True
        seen.add(x)
    return False


@everyday(([1, 2, 2, 3],), ([4, 4, 4],))
def count_values(xs):
    counts = {}
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
    return max(counts.values())


@everyday(([1, 2, 2, 3],), ([4, 4, 4],))
def distinct(xs):
    return len(set(xs))


@everyday(([3, 1, 3],), ([2, 2],))
def unique_sorted(xs):
    return sorted(set(xs))


@everyday((13,), (4,), (1,))
def collatz_seen(n):
    seen = set()
    while n not in seen:
        seen.add(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return len(seen)


@everyday((19,), (4,))
def happy_number(n):
    seen = []
    while n != 1 and n not in seen:
        seen.append(n)
        n = sum(int(d) ** 2 for d in str(n))
    return n == 1


@everyday((1,), (0,), (2,))
def dict_dispatch(op):
    ops = {0: lambda a, b: a + b, 1: lambda a, b: a - b, 2: lambda a, b: a * b}
    return ops[op](6, 3)


@everyday((5, 3), (3, 5))
def histogram_dict(a, b):
    counts = {"low": 0, "high": 0}
    for x in (a, b, a + b):
        key = "low" if x < 5 else "high"
        counts[key] += 1
    return counts


@everyday((3,), (-2,), (0,))
def safe_inverse(n):
    try:
        return 1 / n
    except ZeroDivisionError:
        return float("inf")


@everyday((5,), (0,))
def countdown_list(n):
    result = []
    while n > 0:
        result.append(n)
        n -= 1
    result.append(0)
    return result[::-1]


@everyday((10,), (2,))
def primes_below(n):
    primes = []
    for k in range(2, n):
        if all(k % p for p in primes):
            primes.append(k)
    return primes


@everyday((30,), (10,))
def sieve(n):
    flags = [True] * (n + 1)
    flags[0] = flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return [k for k, f in enumerate(flags) if f]


@everyday((5,), (1,))
def pascal_row(n):
    row = [1]
    for k in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]
    return row


@everyday((3,), (1,))
def hanoi_moves(n):
    moves = []

    def move(k, a, b, c):
        if k == 0:
            return
        move(k - 1, a, c, b)
        moves.append((a, c))
        move(k - 1, b, a, c)

    move(n, 0, 1, 2)
    return len(moves)


@everyday((4,), (3,))
def queens(n):
    def place(row, cols, d1, d2):
        if row == n:
            return 1
        count = 0
        for c in range(n):
            bit = 1 << c
            if not (cols & bit or d1 & (1 << (row + c)) or d2 & (1 << (row - c + n))):
                count += place(row + 1, cols | bit, d1 | 1 << (row + c), d2 | 1 << (row - c + n))
        return count

    return place(0, 0, 0, 0)


@everyday((3,), (12,))
def seasons(month):
    if month in {12, 1, 2}:
        return "winter"
    elif month in {3, 4, 5}:
        return "spring"
    return "rest"


@everyday((2, 10), (3, 0), (0, 0), (0, -1), (2, -1), gap="integer to a negative power")
def int_power(b, e):
    return b**e


@everyday((7,), (-7,))
def division_rules(n):
    return n // 2, n % 2, -n // 2, divmod(n, -3), int(n / 2), n % -4


@everyday(([0.5, 1.5, 2.5],), ([1.0],))
def stats(xs):
    mean = sum(xs) / len(xs)
    var = sum((x - mean) ** 2 for x in xs) / len(xs)
    return mean, var, math.sqrt(var), max(xs) - min(xs)


@everyday((3.7,), (-2.2,), (0.0,))
def sign_trunc(x):
    s = (x > 0) - (x < 0)
    return s, int(x), math.floor(x), math.ceil(x), abs(x)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


@everyday((5,), (2,))
def stack_binary(n):
    s = Stack()
    while n > 0:
        s.push(n % 2)
        n //= 2
    out = 0
    while len(s):
        out = out * 10 + s.pop()
    return out


@everyday(([3, 4, 5],), ([1, 2],))
def reverse_polish(xs):
    stack = []
    for token in [*xs[:2], "+", *xs[2:], "*"]:
        if token == "+":
            b, a = stack.pop(), stack.pop()
            stack.append(a + b)
        elif token == "*" and len(stack) > 1:
            b, a = stack.pop(), stack.pop()
            stack.append(a * b)
        elif token != "*":
            stack.append(token)
    return stack


class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next


@everyday((3,), (1,))
def linked_list_sum(n):
    head = None
    for k in range(4):
        head = Node(k * n, head)
    total, node = 0, head
    while node is not None:
        if node.value > 3:
            total += node.value
        node = node.next
    return total


@everyday((2,), (5,), refusal="V5")
def linked_list_symbolic(n):
    head = None
    for k in range(n):
        head = Node(k, head)
    total, node = 0, head
    while node is not None:
        total += node.value
        node = node.next
    return total


@everyday((1, 2, 3), (3, 2, 1), (2, 2, 2))
def classify_triangle(a, b, c):
    a, b, c = sorted([a, b, c])
    if a + b <= c:
        return None
    kinds = len({a, b, c})
    return {1: "equilateral", 2: "isosceles", 3: "scalene"}[kinds]


@everyday((3,), (10,))
def ackermann_small(n):
    def ack(m, k):
        if m == 0:
            return k + 1
        if k == 0:
            return ack(m - 1, 1)
        return ack(m - 1, ack(m, k - 1))

    return ack(2, n)


@everyday((5, "up"), (5, "down"))
def move_by(n, direction):
    step = {"up": 1, "down": -1}[direction]
    position = 0
    for _ in range(n):
        position += step
        if position >= 3:
            return "top"
    return position


@everyday((3,), (0,))
def flatten_isinstance(n):
    def total(x):
        if isinstance(x, list):
            return sum(total(y) for y in x)
        return x

    return total([n, [1, n, [2]], 3])


@everyday((3,), (-3,))
def optional_value(n):
    def find(k):
        if k > 0:
            return k * 2
        return None

    r = find(n)
    if isinstance(r, int):
        return r + 1
    return "none"


@everyday((3,), (-3,))
def optional_or(n):
    def find(k):
        if k > 0:
            return k * 2
        return None

    return find(n) or 17


@everyday((2,), (0,), (5,))
def list_or_number(n):
    def parse(k):
        return [k, k + 1] if k > 1 else k

    r = parse(n)
    if isinstance(r, list):
        return sum(r)
    return r * 10


@everyday(([3, 5, 2],), ([1, 1],))
def prefix_sums(xs):
    out = [0]
    for x in xs:
        out.append(out[-1] + x)
    return out


@everyday(([1, 5, 2, 8, 3], 2), ([4, 4], 4))
def partition(xs, pivot):
    low = [x for x in xs if x < pivot]
    high = [x for x in xs if x >= pivot]
    return low + high


@everyday(([4, 2, 7],), ([1],))
def quicksort_rec(xs):
    if len(xs) <= 1:
        return xs
    p = xs[0]
    return quicksort_rec([x for x in xs[1:] if x < p]) + [p] + quicksort_rec([x for x in xs[1:] if x >= p])


@everyday(([4, 2, 7, 1],), ([1],))
def mergesort_rec(xs):
    if len(xs) <= 1:
        return xs
    m = len(xs) // 2
    a, b = mergesort_rec(xs[:m]), mergesort_rec(xs[m:])
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    return out + a[i:] + b[j:]


@everyday(([4, 2, 7, 1], 3), ([1, 2], 0))
def binary_search_bisect(xs, target):
    xs = sorted(xs)
    lo, hi = 0, len(xs)
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < target:
            lo = mid + 1
        else:
            hi = mid
    return lo


@everyday((0,), (2,), (5,))
def bfs_levels_from(start):
    edges = [[1, 2], [3], [3, 4], [5], [5], []]
    distance = [-1] * 6
    distance[start] = 0
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in edges[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


@everyday((5, 2), (7, 3), (1, 1))
def josephus_queue(n, k):
    q = deque()
    for i in range(n):
        q.append(i)
    while len(q) > 1:
        for _ in range(k - 1):
            q.append(q.popleft())
        q.popleft()
    return q[0]


@everyday(
    (5,),
    (0,),
)
def both_ends(n):
    q = deque()
    for i in range(n):
        if i % 2:
            q.appendleft(i)
        else:
            q.append(i)
    total = 0
    for x in q:
        total = total * 10 + x
    q.append(7)
    q[0] = 4
    return total, len(q), q[0], q[-1], 3 in q


@everyday(
    (5,),
    (0,),
)
def window(n):
    q = deque(maxlen=3)
    for i in range(4):
        q.append(i * n)
    return sum(q), len(q)


@everyday((5,), (0,), refusal="V5: a deque")
def window_open(n):
    q = deque(maxlen=3)
    for i in range(n):
        q.append(i)
    return sum(q), len(q)


@everyday((5,), (0,))
def empty_queue(n):
    q = deque()
    if n > 3:
        q.append(n)
    return q.popleft()


@everyday((5,), (0,))
def swap_queue(n):
    q = deque([(n, 1)])
    seen = 0
    while q:
        a, d = q.popleft()
        seen += d
        if a > 1:
            q.append((a // 2, d + 1))
            q.append((a - a // 2, d))
    return seen


@everyday((5,), (0,))
def graph_paths(n):
    adj = {0: [1, 2], 1: [3], 2: [3], 3: []}
    count = 0
    stack = [n % 3]
    while stack:
        v = stack.pop()
        count += 1
        for w in adj[v]:
            stack.append(w)
    return count


@everyday((1,), (2,), (0,), gap="(0.0, 0")
def rows_of_words(n):
    rows = [[1.5], [2.5, 3.5, 1.0], []]
    return sum(rows[n]), len(rows[n]), rows[n]


@everyday((1,), (3,))
def rows_out(n):
    rows = [[1], [2, 3]]
    return rows[n]


@everyday((1, 0), (0, 1))
def row_item(n, k):
    rows = [[1, 7], [2, 3, 9]]
    return rows[n][k], rows[-1][n], max(rows[n])


@cache
def steps(n):
    return 0 if n <= 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)


@everyday((6,), (27,), (1,))
def cached_global(n):
    return steps(n)


LOG = []


@cache
def logged(n):
    LOG.append(1)
    return n + 1


@everyday((6,), refusal="F4: logged changes state")
def cached_log(n):
    return logged(n) + logged(n) + len(LOG)


class Grid:
    @cache
    def ways(self, r, c):
        if r == 0 or c == 0:
            return 1
        return self.ways(r - 1, c) + self.ways(r, c - 1)


@everyday((3, 2), (0, 4))
def cached_method(r, c):
    return Grid().ways(r, c)


@everyday((3,), (0,))
def pow_try(n):
    try:
        return n**-1
    except ZeroDivisionError:
        return -5.0


@everyday((3,), (0,), (7,))
def known_dict(n):
    d = {0: 1, 3: 2}
    d[n] = d.get(n, 0) + 5
    return d[0] * 100 + d[3]


@everyday((3,), (-3,), (0,))
def kinds_of_result(n):
    def parse(k):
        if k > 0:
            return k
        if k < 0:
            return "narrowed_by_not"
        return None

    r = parse(n)
    if r is None:
        return 0
    if isinstance(r, str):
        return len(r)
    return r + 1


@everyday((3,), (-3,))
def tuple_or_none(n):
    def split(k):
        return (k // 2, k % 2) if k > 0 else None

    r = split(n)
    if not isinstance(r, tuple):
        return -1
    a, b = r
    return a * 10 + b


@everyday((3,), (-3,))
def early_exit_or_none(n):
    def f(k):
        for i in range(k):
            if i * i > 2:
                return i
        return None

    r = f(n)
    return r if isinstance(r, int) else 0


@everyday((3,), (-3,))
def returned_narrowed(n):
    x = n if n > 0 else "negative"
    if isinstance(x, str):
        return x.upper()
    return str(x + 1) if n > 100 else x + 1


class Square:
    def __init__(s, v):
        s.v = v

    def area(s):
        return s.v * 2


class Oblong(Square):
    def area(s):
        return s.v * 3


@everyday((3,), (-3,))
def by_class(n):
    shape = Square(n) if n > 0 else Oblong(-n)
    if isinstance(shape, Oblong):
        return shape.area() + 100
    return shape.area()


@everyday((3,), (-3,), (0,), refusal="F4: this is one of several values")
def sum_of_either(n):
    v = [n, 1] if n > 0 else (n, 2, 3) if n < 0 else 5
    if isinstance(v, (list, tuple)):
        t = 0
        for q in v:
            t += q
        return t
    return v


@everyday((3,), (-3,), (0,))
def match_kinds(n):
    v = n if n > 0 else None if n == 0 else "s"
    match v:
        case int():
            return v + 1
        case None:
            return -1
        case str():
            return len(v)


@everyday((3,), (-3,))
def narrowed_by_not(n):
    v = n if n > 0 else None
    if not isinstance(v, int) or v > 100:
        return 0
    return v * 2


@everyday((3,), (-3,))
def carried_or_none(n):
    v = None
    for i in range(n):
        if isinstance(v, int):
            v = v + i
        else:
            v = i
    return v


@everyday((3,), (-3,))
def ret_choice(n):
    v = n if n > 0 else "narrowed_by_not"
    if isinstance(v, int):
        v = v + 1
    return v


@everyday((3,), (-3,), gap="3.0")
def ret_choice2(n):
    v = n if n > 0 else None
    if v is not None:
        return v
    return 1.5


@everyday((3,), (-3,))
def ret_inner(n):
    def g(k):
        v = k if k > 0 else None
        if isinstance(v, int):
            return v
        return -1

    return g(n) + 1


@everyday((3,), (0,))
def zero_pow(n):
    x = n**-1 if n else 0.0
    return x
