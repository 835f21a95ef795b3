"""Functions of a course and of a laboratory: numerical methods, statistics, signal filters, text-book data structures,
generators as pipelines, recursion with memo and backtracking, grids, small classes and NumPy."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np

from support.programs.everyday.table import everyday


@everyday((2.0, 1e-9), (9.0, 1e-6))
def newton_sqrt(x, tolerance):
    guess = x
    while abs(guess * guess - x) > tolerance:
        guess = (guess + x / guess) / 2
    return guess


@everyday((0.0, 2.0, 30), (1.0, 2.0, 5))
def bisect_root(low, high, steps):
    f = lambda x: x**3 - x - 1
    for _ in range(steps):
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@everyday((10,), (1,), (4,))
def trapezoid(n):
    h = 1 / n
    total = 0.5 * (0.0 + 1.0)
    for k in range(1, n):
        x = k * h
        total += x * x
    return total * h


@everyday((0.1, 20), (0.5, 3))
def euler_decay(dt, steps):
    y, history = 1.0, []
    for _ in range(steps):
        history.append(y)
        y += dt * -y
    return y, history


@everyday((0.1, 5), (0.05, 2))
def runge_kutta(h, steps):
    def f(t, y):
        return y - t * t + 1

    t, y = 0.0, 0.5
    for _ in range(steps):
        k1 = h * f(t, y)
        k2 = h * f(t + h / 2, y + k1 / 2)
        k3 = h * f(t + h / 2, y + k2 / 2)
        k4 = h * f(t + h, y + k3)
        y += (k1 + 2 * k2 + 2 * k3 + k4) / 6
        t += h
    return y


@everyday(([1.0, 2.0, 4.0],), ([3.0, 3.0],))
def welford(values):
    mean = m2 = 0.0
    count = 0
    for x in values:
        count += 1
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
    return mean, m2 / count if count > 1 else 0.0


@everyday(([3, 1, 2],), ([5, 4, 1, 2],))
def median_of(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[middle])
    return (ordered[middle - 1] + ordered[middle]) / 2


@everyday(([1.0, 5.0, 2.0, 8.0], 2), ([1.0, 2.0, 3.0], 3))
def moving_average(signal, width):
    out = []
    for i in range(len(signal) - width + 1):
        out.append(sum(signal[i : i + width]) / width)
    return out


@everyday(([1.0, 2.0, 3.0], 0.5), ([4.0, 0.0], 0.1))
def exponential_smoothing(signal, alpha):
    state = signal[0]
    smoothed = [state]
    for x in signal[1:]:
        state = alpha * x + (1 - alpha) * state
        smoothed.append(state)
    return smoothed


@everyday((5, 3), (10, 0))
def binomial_rows(n, k):
    row = [1]
    for _ in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]
    return row[k]


@everyday((3, 3), (2, 4), (0, 2))
def lattice_paths(rows, columns):
    memo = {}

    def paths(r, c):
        if r == 0 or c == 0:
            return 1
        if (r, c) not in memo:
            memo[r, c] = paths(r - 1, c) + paths(r, c - 1)
        return memo[r, c]

    return paths(rows, columns), len(memo)


@everyday((7,), (3,), (11,))
def coin_combinations(amount):
    coins = [5, 2, 1]
    found = []

    def spend(rest, first, used):
        if rest == 0:
            found.append(used)
            return
        for k in range(first, 3):
            if coins[k] <= rest:
                spend(rest - coins[k], k, used + 1)

    spend(amount, 0, 0)
    return len(found), min(found)


@everyday((5,), (9,), (0,))
def subset_sums(target):
    numbers = [1, 4, 5, 3]
    chosen, count = [], 0

    def search(i, total):
        nonlocal count
        if i == len(numbers):
            if total == target:
                count += 1
            return
        chosen.append(numbers[i])
        search(i + 1, total + numbers[i])
        chosen.pop()
        search(i + 1, total)

    search(0, 0)
    return count, chosen


@everyday((2, 2), (0, 3))
def island_size(row, column):
    grid = [[1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 0]]

    def visit(r, c):
        if r < 0 or c < 0 or r >= 4 or c >= 4 or grid[r][c] != 1:
            return 0
        grid[r][c] = 2
        return 1 + visit(r + 1, c) + visit(r - 1, c) + visit(r, c + 1) + visit(r, c - 1)

    return visit(row, column), grid


@everyday((0, 3), (1, 4), (4, 0))
def breadth_first(start, goal):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: [4], 4: []}
    distance = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node == goal:
            return distance[node]
        for other in graph[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    return -1


@everyday((3,), (0,))
def depth_first_order(start):
    graph = [[1, 2], [3], [3], [0]]
    order, seen = [], [False] * 4

    def visit(node):
        seen[node] = True
        for other in graph[node]:
            if not seen[other]:
                visit(other)
        order.append(node)

    visit(start)
    return order


@everyday((3,), (5,), (0,))
def topological(extra):
    before = {0: [], 1: [0], 2: [0, 1], 3: [2]}
    if extra > 2:
        before[1].append(0)
    done, order = set(), []

    def place(task):
        if task in done:
            return
        for other in before[task]:
            place(other)
        done.add(task)
        order.append(task)

    for task in before:
        place(task)
    return order


@everyday((1, 3), (2, 0), (0, 0))
def union_find(a, b):
    parent = list(range(5))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def join(x, y):
        parent[find(x)] = find(y)

    join(0, 1)
    join(a, b)
    join(3, 4)
    return [find(x) for x in range(5)]


@everyday((6,), (1,), (25,))
def primes_by_generator(limit):
    def candidates():
        yield 2
        k = 3
        while True:
            yield k
            k += 2

    primes = []
    for c in candidates():
        if c > limit:
            break
        if all(c % p != 0 for p in primes):
            primes.append(c)
    return primes


@everyday((4,), (0,), (7,))
def pipeline(n):
    def numbers(limit):
        for k in range(limit):
            yield k

    def squares(items):
        for x in items:
            yield x * x

    def odd_only(items):
        for x in items:
            if x % 2:
                yield x

    return sum(odd_only(squares(numbers(n))))


@everyday((3,), (1,), (5,))
def gray_codes(n):
    def codes(bits):
        for k in range(2**bits):
            yield k ^ (k >> 1)

    previous, changes = 0, 0
    for code in codes(n):
        changes += bin_count(code ^ previous)
        previous = code
    return changes, previous


def bin_count(x):
    count = 0
    while x:
        count += x & 1
        x >>= 1
    return count


@everyday((10, 4), (7, 7), (3, 5))
def chunks(n, size):
    def split(items):
        start = 0
        while start < len(items):
            yield items[start : start + size]
            start += size

    return [sum(part) for part in split(list(range(n)))]


@everyday((5,), (2,))
def running_totals(n):
    def accumulate(items):
        total = 0
        for x in items:
            total += x
            yield total

    return list(accumulate(range(1, n + 1)))


@everyday((12,), (97,), (1,))
def factor_counts(n):
    def factors(m):
        d = 2
        while d * d <= m:
            while m % d == 0:
                yield d
                m //= d
            d += 1
        if m > 1:
            yield m

    counts = {}
    for p in factors(n):
        counts[p] = counts.get(p, 0) + 1
    return counts


@everyday((3, 2), (0, 5))
def take_while_sum(n, limit):
    def powers(base):
        value = 1
        while True:
            yield value
            value *= base

    total = 0
    for value in powers(n + 2):
        if value > limit * 10:
            return total
        total += value


@dataclass
class Account:
    owner: str
    balance: float = 0.0
    history: list = field(default_factory=list)

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(amount)

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("insufficient funds")
        self.balance -= amount
        self.history.append(-amount)


@everyday((50.0, 20.0), (10.0, 30.0), (0.0, 1.0))
def account(paid, taken):
    a = Account("me")
    a.deposit(paid)
    a.withdraw(taken)
    return a.balance, a.history


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*other.rows)] for r in self.rows])

    def __getitem__(self, key):
        i, j = key
        return self.rows[i][j]

    def trace(self):
        return sum(self.rows[i][i] for i in range(len(self.rows)))


@everyday((2, 3), (0, -1))
def matrix_class(a, b):
    m = Matrix([[a, 1], [0, b]]) @ Matrix([[1, b], [a, 1]])
    return m.trace(), m[0, 1], m[1, 0]


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    def __bool__(self):
        return len(self.items) > 0


@everyday((6,), (13,), (0,))
def binary_by_stack(n):
    stack = Stack()
    while n > 0:
        stack.push(n % 2)
        n //= 2
    digits = []
    while stack:
        digits.append(stack.pop())
    return digits


@everyday((3, 4), (10, 1))
def rpn(a, b):
    program = [a, b, "+", a, "*", b, "-"]
    stack = []
    for token in program:
        if token == "+":
            stack.append(stack.pop() + stack.pop())
        elif token == "*":
            stack.append(stack.pop() * stack.pop())
        elif token == "-":
            right = stack.pop()
            stack.append(stack.pop() - right)
        else:
            stack.append(token)
    return stack.pop()


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        result = 0
        for c in reversed(self.coefficients):
            result = result * x + c
        return result

    def derivative(self):
        return Polynomial(*(k * c for k, c in enumerate(self.coefficients) if k))


@everyday((2, 3), (0, 1))
def polynomial(x, c):
    p = Polynomial(1, c, 2)
    return p(x), p.derivative()(x)


@everyday(("add", 3), ("mul", 4), ("neg", 5))
def dispatch(name, x):
    table = {"add": lambda v: v + 1, "mul": lambda v: v * 2, "neg": lambda v: -v}
    return table[name](x)


@everyday((7,), (100,), (0,))
def digit_list(n):
    digits = []
    while True:
        digits.insert(0, n % 10)
        n //= 10
        if n == 0:
            return digits


@everyday((12,), (6,), (1,))
def collatz_memo(n):
    lengths = {1: 1}

    def length(k):
        if k not in lengths:
            lengths[k] = 1 + length(k // 2 if k % 2 == 0 else 3 * k + 1)
        return lengths[k]

    return length(n)


@everyday((4,), (1,), (6,))
def partitions(n):
    memo = {}

    def count(total, largest):
        if total == 0:
            return 1
        if total < 0 or largest == 0:
            return 0
        key = (total, largest)
        if key in memo:
            return memo[key]
        memo[key] = count(total - largest, largest) + count(total, largest - 1)
        return memo[key]

    return count(n, n)


@everyday(([3, 1, 2],), ([9, 8, 7, 1],))
def inversions(items):
    def sort(part):
        if len(part) <= 1:
            return part, 0
        middle = len(part) // 2
        left, a = sort(part[:middle])
        right, b = sort(part[middle:])
        merged, count, i, j = [], a + b, 0, 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                merged.append(left[i])
                i += 1
            else:
                merged.append(right[j])
                count += len(left) - i
                j += 1
        return merged + left[i:] + right[j:], count

    return sort(items)


@everyday(([4, 2, 7, 1],), ([1, 1],))
def heap_sort(items):
    heap = list(items)

    def sift(start, end):
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and heap[child] < heap[child + 1]:
                child += 1
            if heap[root] >= heap[child]:
                return
            heap[root], heap[child] = heap[child], heap[root]
            root = child

    for start in range(len(heap) // 2 - 1, -1, -1):
        sift(start, len(heap))
    for end in range(len(heap) - 1, 0, -1):
        heap[0], heap[end] = heap[end], heap[0]
        sift(0, end)
    return heap


@everyday(([1, 3, 5, 7], 5), ([2, 4], 3))
def lower_bound(items, x):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@everyday(([2, 7, 11, 15], 9), ([3, 3], 6), ([1, 2], 9))
def two_sum(numbers, target):
    seen = {}
    for i, x in enumerate(numbers):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return None


@everyday(([1, -2, 3, 4, -1],), ([-1, -2],))
def best_segment(values):
    best = current = values[0]
    start = first = last = 0
    for i, x in enumerate(values[1:], 1):
        if current < 0:
            current, first = x, i
        else:
            current += x
        if current > best:
            best, start, last = current, first, i
    return best, start, last


@everyday((3,), (5,))
def spiral(n):
    matrix = [[0] * 3 for _ in range(3)]
    r = c = 0
    dr, dc = 0, 1
    for k in range(1, 10):
        matrix[r][c] = k * n
        if not (0 <= r + dr < 3 and 0 <= c + dc < 3 and matrix[r + dr][c + dc] == 0):
            dr, dc = dc, -dr
        r, c = r + dr, c + dc
    return matrix


@everyday((2,), (0,), (5,))
def game_of_life(steps):
    grid = [[0, 1, 0], [0, 1, 0], [0, 1, 0]]
    for _ in range(steps):
        grid = [
            [1 if (n := neighbours(grid, r, c)) == 3 or (n == 2 and grid[r][c]) else 0 for c in range(3)]
            for r in range(3)
        ]
    return grid


def neighbours(grid, r, c):
    total = 0
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if (i or j) and 0 <= r + i < 3 and 0 <= c + j < 3:
                total += grid[r + i][c + j]
    return total


@everyday((5, 3), (8, 8))
def histogram_bins(n, width):
    bins = [0, 0, 0]
    for k in range(n):
        bins[min(k * k // width, 2)] += 1
    return bins


@everyday((4,), (9,))
def group_lists(n):
    groups = [[], [], []]
    for k in range(n):
        groups[k * k % 3].append(k)
    return groups, max(len(g) for g in groups)


@everyday((3, 5), (5, 3), (4, 4))
def describe_order(a, b):
    return "less" if a < b else "more" if a > b else "equal"


@everyday((85,), (61,), (12,))
def grade(score):
    for bound, letter in ((90, "A"), (80, "B"), (70, "C"), (60, "D")):
        if score >= bound:
            return letter
    return "F"


@everyday((3,), (0,), (-2,))
def guarded(x):
    if not isinstance(x, int):
        raise TypeError("int expected")
    if x < 0:
        raise ValueError(f"negative: {x}")
    try:
        return 100 // x
    except ZeroDivisionError:
        return -1
    finally:
        print("done", x)


@everyday((3, 2), (1, 0))
def retry(n, failures):
    attempts = 0
    while True:
        attempts += 1
        try:
            if attempts <= failures:
                raise RuntimeError("again")
            return n * attempts
        except RuntimeError:
            if attempts >= 5:
                raise


@everyday((np.array([1.0, 2.0, 3.0]), 0.1), (np.array([0.0, 1.0, 0.5]), 0.5))
def gradient_descent(x, rate):
    for _ in range(5):
        x = x - rate * 2 * x
    return x


@everyday((np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])))
def linear_layer(weights, x):
    hidden = np.maximum(weights @ x, 0.0)
    return np.sum(hidden), hidden


@everyday((np.array([1.0, 2.0, 0.5]),), (np.array([0.0, 0.0, 0.0]),))
def softmax(logits):
    shifted = logits - np.max(logits)
    weights = np.exp(shifted)
    return weights / np.sum(weights)


@everyday((np.array([3.0, 1.0, 2.0]), 2), (np.array([1.0, 5.0, 4.0]), 1), refusal="F1: np.argsort")
def top_k(values, k):
    order = np.argsort(-values)
    total = 0.0
    for position in range(k):
        total += values[order[position]]
    return total


@everyday((5, 2), (20, 3))
def lcg(seed, count):
    values = []
    for _ in range(count):
        seed = (1103515245 * seed + 12345) % 2**31
        values.append(seed % 100)
    return values


@everyday((3, 7), (10, 1))
def monte_carlo(seed, trials):
    inside = 0
    for _ in range(trials):
        seed = (seed * 16807) % 2147483647
        x = seed / 2147483647
        seed = (seed * 16807) % 2147483647
        y = seed / 2147483647
        inside += x * x + y * y < 1
    return 4 * inside / trials


@everyday((4, 2), (3, 3))
def tower_of_lists(n, k):
    rods = [list(range(n, 0, -1)), [], []]
    moves = 0

    def move(height, source, target, spare):
        nonlocal moves
        if height == 0:
            return
        move(height - 1, source, spare, target)
        rods[target].append(rods[source].pop())
        moves += 1
        move(height - 1, spare, target, source)

    move(k, 0, 2, 1)
    return moves, rods[2]


Point = namedtuple("Point", "x y")


@everyday((1, 2), (-3, 0))
def nearest(x, y):
    points = [Point(0, 0), Point(3, 4), Point(-2, 1)]
    best = min(points, key=lambda p: (p.x - x) ** 2 + (p.y - y) ** 2)
    return best.x, best.y


@everyday((6, 4), (12, 18), (7, 5))
def fractions_sum(a, b):
    def gcd(x, y):
        return x if y == 0 else gcd(y, x % y)

    top, bottom = a + b, a * b
    g = gcd(top, bottom)
    return top // g, bottom // g


@everyday((5,), (2,))
def word_frequencies(n):
    words = ["a", "b", "a", "c", "b", "a"][:5]
    counts = Counter(words)
    return counts["a"] * n, counts.most_common(1)[0][1]


@everyday((2, 3), (1, 1))
def nested_default(a, b):
    table = defaultdict(lambda: 0)
    for x, y in ((a, 1), (b, 2), (a, 3)):
        table[x] += y
    return dict(table)


@everyday((3,), (0,), (8,))
def ring_buffer(n):
    buffer, head = [0] * 4, 0
    for k in range(n):
        buffer[head] = k
        head = (head + 1) % 4
    return buffer, head


@everyday((10, 3), (5, 5), (7, 1))
def josephus(n, k):
    people = list(range(1, n + 1))
    position = 0
    while len(people) > 1:
        position = (position + k - 1) % len(people)
        people.pop(position)
    return people[0]


@everyday((4,), (0,), (9,))
def count_until(n):
    for k in itertools.count(1):
        if k * k > n:
            return k


@everyday((3, 3), (1, 2))
def print_table(rows, columns):
    for r in range(1, rows + 1):
        print(" | ".join(f"{r * c:3d}" for c in range(1, 4)))
    return rows * columns
