"""Everyday functions: strings, counts, two pointers, tables, searches, recursion, formats and small classes."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import Any

from .table import everyday


@everyday((1234567,), (999,), (0,), (1000,))
def thousands(n):
    digits = str(n)
    out = ""
    for i, d in enumerate(reversed(digits)):
        if i and i % 3 == 0:
            out = "," + out
        out = d + out
    return out


@everyday((3661,), (59,), (86399,))
def clock(seconds):
    h, rest = divmod(seconds, 3600)
    m, s = divmod(rest, 60)
    return f"{h:02d}:{m:02d}:{s:02d}"


@everyday((255,), (0,), (4096,))
def to_hex(n):
    digits = "0123456789abcdef"
    if n == 0:
        return "0"
    out = ""
    while n:
        out = digits[n % 16] + out
        n //= 16
    return out


@everyday((1994,), (4,), (3999,), (1,))
def roman(n):
    table = [
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ]  # fmt: skip
    out = []
    for value, numeral in table:
        count, n = divmod(n, value)
        out.append(numeral * count)
    return "".join(out)


@everyday((12,), (1,), (21,), (113,))
def ordinal(n):
    if 10 <= n % 100 <= 20:
        suffix = "th"
    else:
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return str(n) + suffix


@everyday((3, 7), (0, 1), (2, 2))
def banner(width, height):
    rows = []
    for y in range(height):
        row = ""
        for x in range(width):
            row += "#" if x in (0, width - 1) or y in (0, height - 1) else "."
        rows.append(row)
    return "\n".join(rows)


@everyday((1, 3.5), (3, 2.0), (0, 1.25))
def receipt(quantity, price):
    total = quantity * price
    print(f"{quantity} x {price:.2f}")
    print(f"total {total:>8.2f}")
    return total


@everyday((5,), (0,), (13,))
def look_and_say(n):
    term = "1"
    for _ in range(n % 5):
        out, i = "", 0
        while i < len(term):
            j = i
            while j < len(term) and term[j] == term[i]:
                j += 1
            out += str(j - i) + term[i]
            i = j
        term = out
    return term


@everyday(([1, 2, 4, 7, 11], 15), ([1, 2], 9), ([], 1), ([2, 2], 4))
def two_sum_sorted(xs, target):
    left, right = 0, len(xs) - 1
    while left < right:
        total = xs[left] + xs[right]
        if total == target:
            return left, right
        if total < target:
            left += 1
        else:
            right -= 1
    return None


@everyday(([1, 8, 6, 2, 5, 4, 8, 3, 7],), ([1, 1],), ([3],))
def most_water(heights):
    i, j, best = 0, len(heights) - 1, 0
    while i < j:
        best = max(best, min(heights[i], heights[j]) * (j - i))
        if heights[i] < heights[j]:
            i += 1
        else:
            j -= 1
    return best


@everyday(([0, 1, 0, 3, 12],), ([0],), ([1, 2],))
def move_zeros(xs):
    write = 0
    for x in xs:
        if x != 0:
            xs[write] = x
            write += 1
    while write < len(xs):
        xs[write] = 0
        write += 1
    return xs


@everyday(([1, 1, 2, 3, 3],), ([],), ([5],))
def without_repeats(xs):
    out = []
    for x in xs:
        if not out or out[-1] != x:
            out.append(x)
    return out


@everyday(([2, 3, 1, 2, 4, 3], 7), ([1, 1], 5), ([9], 4), gap="the program 2.0")
def shortest_window(xs, target):
    best, start, total = math.inf, 0, 0
    for end, x in enumerate(xs):
        total += x
        while total >= target:
            best = min(best, end - start + 1)
            total -= xs[start]
            start += 1
    return 0 if best == math.inf else best


@everyday(([1, 2, 5], 11), ([2], 3), ([1], 0))
def coin_change(coins, amount):
    table = [0] + [-1] * amount
    for a in range(1, amount + 1):
        for c in coins:
            if c <= a and table[a - c] >= 0 and (table[a] < 0 or table[a - c] + 1 < table[a]):
                table[a] = table[a - c] + 1
    return table[amount]


@everyday(([1, 3, 4], [15, 20, 30], 4), ([2], [3], 1))
def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[-1]


@everyday((3, 4), (1, 1), (2, 5))
def grid_paths(rows, columns):
    paths = [[1] * columns for _ in range(rows)]
    for r in range(1, rows):
        for c in range(1, columns):
            paths[r][c] = paths[r - 1][c] + paths[r][c - 1]
    return paths[-1][-1]


@everyday(([1, 3, 5, 7], [3, 4, 5]), ([1], [2]), ([], [1]))
def longest_common(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if x == y:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    return table[len(a)][len(b)]


@everyday(([10, 9, 2, 5, 3, 7, 101, 18],), ([1],), ([2, 2],))
def longest_increasing(xs):
    lengths = []
    for i, x in enumerate(xs):
        longest = 0
        for j in range(i):
            if xs[j] < x:
                longest = max(longest, lengths[j])
        lengths.append(longest + 1)
    return max(lengths)


@everyday((6, [0, 0, 1, 3], [1, 2, 3, 4], 0), (3, [0], [1], 2))
def reachable(n, sources, targets, start):
    neighbours = [[] for _ in range(n)]
    for s, t in zip(sources, targets):
        neighbours[s].append(t)
        neighbours[t].append(s)
    seen = [False] * n
    stack = [start]
    while stack:
        node = stack.pop()
        if seen[node]:
            continue
        seen[node] = True
        for other in neighbours[node]:
            stack.append(other)
    return sum(seen)


@everyday((5, [0, 1, 3], [1, 2, 4]), (3, [], []), (2, [0], [1]))
def components(n, a, b):
    parent = list(range(n))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for x, y in zip(a, b):
        parent[find(x)] = find(y)
    return len({find(x) for x in range(n)})


@everyday((0, 4), (3, 0), (2, 2))
def hops(start, goal):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: [4], 4: [0]}
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


@everyday((4, 4, 0, 0), (3, 5, 2, 2))
def flood(rows, columns, r, c):
    grid = [[(i * 3 + j * 2) % 4 != 1 for j in range(columns)] for i in range(rows)]

    def fill(y, x):
        if y < 0 or x < 0 or y >= rows or x >= columns or not grid[y][x]:
            return 0
        grid[y][x] = False
        return 1 + fill(y + 1, x) + fill(y - 1, x) + fill(y, x + 1) + fill(y, x - 1)

    return fill(r, c)


@everyday((3,), (0,), (2,))
def subsets(n):
    if n == 0:
        return [[]]
    rest = subsets(n - 1)
    return rest + [each + [n] for each in rest]


@everyday(([3, 1, 2],), ([],), ([5, 5, 1],))
def merge_sorted(xs):
    if len(xs) <= 1:
        return xs
    middle = len(xs) // 2
    left, right = merge_sorted(xs[:middle]), merge_sorted(xs[middle:])
    out, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    return out + left[i:] + right[j:]


@everyday(([3, 1, 2, 9, 4],), ([],), ([5, 5, 1],))
def quick_sorted(xs):
    if not xs:
        return []
    pivot, rest = xs[0], xs[1:]
    return quick_sorted([x for x in rest if x < pivot]) + [pivot] + quick_sorted([x for x in rest if x >= pivot])


@everyday((10, 3), (5, 5), (4, 0))
def binomial_rows(n, k):
    row = [1]
    for _ in range(n):
        row = [1] + [a + b for a, b in zip(row, row[1:])] + [1]
    return row[k]


@everyday((3, 0.1), (12, 0.05), (0, 0.5))
def savings(years, rate):
    balance, lines = 100.0, 0
    for year in range(1, years + 1):
        balance += balance * rate
        if year % 2 == 0:
            print(f"year {year}: {balance:.2f}")
            lines += 1
    return round(balance, 2), lines


@everyday((10, 3), (0, 1), (25, 7))
def lottery(n, seed):
    state, hits = seed, Counter()
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        hits[state % 6 + 1] += 1
    return max(hits.values(), default=0), len(hits)


@everyday((5,), (1,), (8,))
def josephus(n):
    people = list(range(1, n + 1))
    position = 0
    while len(people) > 1:
        position = (position + 2) % len(people)
        people.pop(position)
    return people[0]


@everyday((6,), (0,), (3,))
def life(steps):
    cells = [0, 1, 1, 0, 1, 0, 1]
    for _ in range(steps):
        cells = [1 if cells[i - 1] + cells[(i + 1) % len(cells)] == 1 else 0 for i in range(len(cells))]
    return "".join("#" if c else "." for c in cells)


@everyday((7,), (0,), (20,))
def queue_at_a_shop(minutes):
    queue, served, longest = deque(), 0, 0
    for minute in range(minutes):
        if minute % 2 == 0:
            queue.append(minute)
        if minute % 3 == 0 and queue:
            queue.popleft()
            served += 1
        longest = max(longest, len(queue))
    return served, longest, list(queue)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("the stack is empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


@everyday((5,), (0,), (8,))
def stack_of_odds(n):
    stack = Stack()
    for k in range(n):
        if k % 2:
            stack.push(k)
        elif len(stack) > 1:
            stack.pop()
    return len(stack), stack.items


@everyday(([3, 4, 0, 5, 1],), ([3, 0, 0],), ([],))
def calculator(codes):
    stack = Stack()
    for code in codes:
        if code == 0:
            stack.push(stack.pop() + stack.pop())
        elif code == 1:
            stack.push(stack.pop() * stack.pop())
        else:
            stack.push(code)
    return stack.items


@dataclass
class Account:
    owner: str
    balance: int = 0

    def deposit(self, amount):
        self.balance += amount

    def withdraw(self, amount):
        if amount > self.balance:
            return False
        self.balance -= amount
        return True


@everyday((100, 30), (10, 30), (0, 0))
def bank(first, second):
    account = Account("ann")
    account.deposit(first)
    done = account.withdraw(second)
    return f"{account.owner}: {account.balance}", done


@everyday((5, 20), (15, 3), (0, 0))
def transfer(a, b):
    accounts = [Account("ann", 10), Account("bob", 5)]
    for amount, source in ((a, 0), (b, 1)):
        if accounts[source].withdraw(amount):
            accounts[1 - source].deposit(amount)
    return [each.balance for each in accounts]


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.rows])

    def __eq__(self, other):
        return self.rows == other.rows


@everyday((5,), (0,), (10,))
def fibonacci_matrix(n):
    result, base = Matrix([[1, 0], [0, 1]]), Matrix([[1, 1], [1, 0]])
    while n > 0:
        if n % 2:
            result = result @ base
        base = base @ base
        n //= 2
    return result.rows[0][1]


class Ticker:
    total = 0

    def __init__(self, step=1):
        self.step, self.count = step, 0

    def tick(self):
        self.count += self.step
        return self.count


@everyday((3,), (0,), (7,))
def two_counters(n):
    slow, fast = Ticker(), Ticker(3)
    while slow.count + fast.count < n:
        fast.tick() if slow.count > 0 else slow.tick()
    return slow.count, fast.count


@everyday(([3, 1, 3, 2, 1, 3],), ([],), ([7],))
def most_common(xs):
    counts = {}
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
    best, most = None, 0
    for x, count in counts.items():
        if count > most:
            best, most = x, count
    return best, most


@everyday((172,), (0,), (1110,))
def digit_counts(n):
    counts = dict.fromkeys(range(10), 0)
    for c in str(n):
        counts[int(c)] += 1
    return {d: c for d, c in counts.items() if c}


@everyday((10,), (0,), (5,))
def grouped_squares(n):
    groups = defaultdict(list)
    for k in range(n):
        groups["even" if k % 2 == 0 else "odd"].append(k * k)
    return dict(groups)


@everyday(([5, 3, 9, 1], 2), ([1], 1), ([4, 4, 4], 2))
def top(xs, k):
    return sorted(xs, reverse=True)[:k], sum(sorted(xs)[-k:])


@everyday(([3, -1, 4], [1, 0, 2]), ([1], [1]))
def dot_and_cross(a, b):
    dot = sum(x * y for x, y in zip(a, b))
    norm = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return dot, dot / norm if norm else 0.0


@everyday((2.0,), (10.0,), (0.25,))
def newton_root(x):
    guess = x / 2 if x > 1 else 1.0
    while abs(guess * guess - x) > 1e-9:
        guess = (guess + x / guess) / 2
    return f"{guess:.6f}"


@everyday((0.0, 2.0), (1.0, 1.5), (-1.0, 3.0))
def bisect_root(low, high):
    f = lambda x: x**3 - 2  # noqa: E731
    if f(low) * f(high) > 0:
        raise ValueError("no sign change")
    while high - low > 1e-6:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return round((low + high) / 2, 4)


@everyday((4,), (1,), (6,))
def spiral(n):
    grid = [[0] * n for _ in range(n)]
    r, c, dr, dc = 0, 0, 0, 1
    for k in range(1, n * n + 1):
        grid[r][c] = k
        if not (0 <= r + dr < n and 0 <= c + dc < n) or grid[r + dr][c + dc]:
            dr, dc = dc, -dr
        r, c = r + dr, c + dc
    return grid


@everyday((5,), (3,), (0,))
def pascal_lines(n):
    row = [1]
    for _ in range(n):
        print(" ".join(str(x) for x in row))
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]


@everyday((20,), (2,), (1,))
def primes_text(n):
    sieve = [True] * (n + 1)
    found = []
    for k in range(2, n + 1):
        if sieve[k]:
            found.append(str(k))
            for multiple in range(k * k, n + 1, k):
                sieve[multiple] = False
    return ", ".join(found) or "none"


@everyday((84,), (13,), (64,), (1,))
def factor_text(n):
    parts, p = [], 2
    while n > 1:
        count = 0
        while n % p == 0:
            n //= p
            count += 1
        if count == 1:
            parts.append(f"{p}")
        elif count > 1:
            parts.append(f"{p}^{count}")
        p += 1
    return " * ".join(parts)


@everyday((7, 3), (10, 0), (-9, 2))
def safe_quotient(a, b):
    try:
        result = f"{a // b} rest {a % b}"
    except ZeroDivisionError:
        result = "undefined"
    finally:
        print("divided", a)
    return result


@everyday((3,), (-1,), (200,))
def validated(age):
    errors = []
    if age < 0:
        errors.append("negative")
    if age > 150:
        errors.append("too large")
    if errors:
        raise ValueError("; ".join(errors))
    return "child" if age < 18 else "adult"


@everyday(([1, 2, 3, 4],), ([],), ([7],))
def running(xs):
    totals, total = [], 0
    for x in xs:
        total += x
        totals.append(total)
    averages = [t / (i + 1) for i, t in enumerate(totals)]
    return totals, averages


@everyday(([1, 5, 2, 8, 3],), ([1],), ([2, 1],))
def peaks(xs):
    return [i for i in range(1, len(xs) - 1) if xs[i - 1] < xs[i] > xs[i + 1]], any(a > b for a, b in zip(xs, xs[1:]))


@everyday(([3, 0, 2], 4), ([1], 2))
def histogram(xs, width):
    lines = []
    for i, x in enumerate(xs):
        lines.append(f"{i:>{2}} |" + "*" * x + " " * (width - x))
    return lines


@everyday((5,), (0,), (12,))
def collatz_text(n):
    steps = []
    while n > 1:
        steps.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return " -> ".join(map(str, steps)) if steps else "nothing"


@everyday((10,), (1,), (0,))
def hofstadter(n):
    memo = {}

    def q(k):
        if k <= 2:
            return 1
        if k not in memo:
            memo[k] = q(k - q(k - 1)) + q(k - q(k - 2))
        return memo[k]

    return q(n)


@everyday((3, 2), (0, 0), (2, 3))
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@everyday((6, 3), (1, 1), (9, 0))
def elevator_log(floors, start):
    floor, direction, log = start, 1, []
    for step in range(8):
        if floor + direction > floors or floor + direction < 0:
            direction = -direction
            log.append("turn")
        else:
            floor += direction
            log.append("up" if direction > 0 else "down")
    return floor, log


@everyday((25, 10), (5, 5), (0, 3))
def tokens(n, base):
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return " ".join(names[int(c) % base] for c in str(n))


@everyday((4, 2), (3, 3), (1, 0))
def vowels(n, k):
    text = "programming" * n
    count = 0
    for c in text[k:]:
        if c in "aeiou":
            count += 1
    return count


@everyday(([2, 0, 1],), ([0],), ([1, 0],))
def inverse_permutation(p):
    q = [0] * len(p)
    for i, x in enumerate(p):
        q[x] = i
    return q, [p[x] for x in q] == list(range(len(p)))


@everyday(([5, 2, 8], 1), ([1, 2], 0), ([3], 9))
def insert_sorted(xs, value):
    xs = sorted(xs)
    i = 0
    while i < len(xs) and xs[i] < value:
        i += 1
    xs.insert(i, value)
    return xs, i


@everyday((3, 5), (5, 3), (2, 2))
def duel(a, b):
    winner, rounds = None, 0
    hp = {"a": 10, "b": 10}
    while winner is None:
        rounds += 1
        hp["b"] -= a
        hp["a"] -= b
        if hp["a"] <= 0 or hp["b"] <= 0:
            winner = "a" if hp["a"] > hp["b"] else "b" if hp["b"] > hp["a"] else "nobody"
    return winner, rounds


@everyday((2,), (0,), (5,), refusal="F4: this list comes from")
def nested_report(n):
    report: dict[str, Any] = {"sum": 0, "items": [], "best": None}
    for k in range(n):
        report["sum"] += k
        report["items"].append(k * k)
        report["best"] = k
    return report
