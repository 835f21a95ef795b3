"""Functions as in scripts and small tools: dates, parsing of numbers, counting, queues, small classes, bits and
numerical methods."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, defaultdict, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any

from support.programs.everyday.table import everyday


@everyday((2024,), (1900,), (2000,))
def is_leap_year(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@everyday((2024, 2), (2023, 2), (2023, 11))
def days_in_month(year: int, month: int) -> int:
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if month == 2 and is_leap_year(year):
        return 29
    return lengths[month - 1]


@everyday((2024, 3, 1), (2023, 12, 31), (2000, 1, 1))
def day_of_year(year: int, month: int, day: int) -> int:
    total = day
    for m in range(1, month):
        total += days_in_month(year, m)
    return total


@everyday((2024, 2, 29), (1970, 1, 1), (2026, 11, 29))
def weekday(year: int, month: int, day: int) -> int:
    if month < 3:
        month += 12
        year -= 1
    k, j = year % 100, year // 100
    h = (day + 13 * (month + 1) // 5 + k + k // 4 + j // 4 + 5 * j) % 7
    return (h + 5) % 7


@everyday((2024, 2, 28), (2023, 12, 31), (2023, 4, 30))
def next_day(year: int, month: int, day: int) -> tuple[int, int, int]:
    day += 1
    if day > days_in_month(year, month):
        day = 1
        month += 1
    if month > 12:
        month = 1
        year += 1
    return year, month, day


@everyday((2024,), (2025,), (1999,))
def easter(year: int) -> tuple[int, int]:
    a = year % 19
    b, c = divmod(year, 100)
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return month, day + 1


@everyday((3725,), (59,), (86400,))
def clock_text(seconds: int) -> None:
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    print(f"{hours:02d}:{minutes:02d}:{seconds:02d}")
    if hours >= 24:
        print("that is", hours // 24, "day" + ("s" if hours // 24 != 1 else ""))


@everyday((90,), (200000,), (0,))
def largest_unit(seconds: int) -> tuple[int, str]:
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return seconds // size, name
    return seconds, "s"


@everyday((1994,), (4,), (3999,))
def count_of_roman_letters(n: int) -> int:
    values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    letters = (1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1)
    total = 0
    for value, count in zip(values, letters, strict=True):
        while n >= value:
            n -= value
            total += count
    return total


@everyday(("MCMXCIV", 0), ("IV", 10), ("", 3))
def roman_value(text: str, offset: int) -> int:
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    total = offset
    for this, following in zip(text, text[1:] + " ", strict=True):
        value = values[this]
        total += -value if values.get(following, 0) > value else value
    return total


@everyday(([1, 2, 3], 10), ([0, 1], 2), ([], 16))
def value_of_digits(digits: list[int], base: int) -> int:
    value = 0
    for digit in digits:
        if digit >= base:
            raise ValueError("no digit of this base")
        value = value * base + digit
    return value


@everyday((255, 16), (0, 2), (10, 3))
def digits_of(n: int, base: int) -> list[int]:
    if n == 0:
        return [0]
    digits = []
    while n:
        n, digit = divmod(n, base)
        digits.append(digit)
    return digits[::-1]


@everyday(("12+34", 1), ("7", 2), ("1+2+3", 0))
def add_up(text: str, scale: int) -> int:
    total = 0
    number = 0
    for char in text:
        if char.isdigit():
            number = number * 10 + int(char)
        else:
            total += number
            number = 0
    return (total + number) * scale


@everyday(("3 4 + 2 *", 1), ("5 1 2 + 4 * + 3 -", 2), ("8", 5))
def reverse_polish(text: str, scale: int) -> int:
    stack: list[int] = []
    for token in text.split():
        if token in "+-*":
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if token == "+" else a - b if token == "-" else a * b)
        else:
            stack.append(int(token) * scale)
    return stack[0]


@everyday((3,), (20,), (1,))
def count_of_words(n: int) -> dict[str, int]:
    words = {"fizz": 0, "buzz": 0, "both": 0, "none": 0}
    for i in range(1, n + 1):
        if i % 15 == 0:
            words["both"] += 1
        elif i % 3 == 0:
            words["fizz"] += 1
        elif i % 5 == 0:
            words["buzz"] += 1
        else:
            words["none"] += 1
    return words


@everyday((7,), (0,), (13,))
def grade_name(points: int) -> str:
    grades = [(13, "A"), (10, "B"), (7, "C"), (0, "F")]
    for limit, name in grades:
        if points >= limit:
            return name
    raise ValueError("negative")


@everyday(([3, 1, 3, 2, 1, 3],), ([],), ([5],))
def mode_of(xs: list[int]) -> int | None:
    counts: dict[int, int] = {}
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
    best, best_count = None, 0
    for x, count in counts.items():
        if count > best_count:
            best, best_count = x, count
    return best


@everyday(([4, 1, 4, 9], 4), ([2], 3), ([1, 1], 1))
def positions_by_value(xs: list[int], key: int) -> list[int]:
    places = defaultdict(list)
    for i, x in enumerate(xs):
        places[x].append(i)
    return places[key]


@everyday((6,), (12,), (1,))
def divisor_counts(n: int) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for i in range(1, n + 1):
        for k in range(1, i + 1):
            if i % k == 0:
                counts[k] += 1
    return dict(counts)


@everyday(([2, 7, 11, 15], 9), ([3, 3], 6), ([1, 2], 7))
def two_sum(xs: list[int], target: int) -> tuple[int, int] | None:
    seen: dict[int, int] = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return None


@everyday(([[1, 2], [3, 4]], 2), ([[0, 1], [1, 0]], 3), ([[2, 0], [0, 2]], 0))
def matrix_power(a: list[list[int]], k: int) -> list[list[int]]:
    def times(x: list[list[int]], y: list[list[int]]) -> list[list[int]]:
        return [[sum(x[i][m] * y[m][j] for m in range(len(y))) for j in range(len(y[0]))] for i in range(len(x))]

    result = [[int(i == j) for j in range(len(a))] for i in range(len(a))]
    while k > 0:
        if k & 1:
            result = times(result, a)
        a = times(a, a)
        k >>= 1
    return result


@everyday((3,), (1,), (4,))
def spiral(n: int) -> list[list[int]]:
    grid = [[0] * n for _ in range(n)]
    row, column, dr, dc = 0, 0, 0, 1
    for k in range(1, n * n + 1):
        grid[row][column] = k
        r, c = row + dr, column + dc
        if not (0 <= r < n and 0 <= c < n) or grid[r][c]:
            dr, dc = dc, -dr
        row, column = row + dr, column + dc
    return grid


@everyday(([[1, 2, 3], [4, 5, 6]],), ([[1]],), ([[1, 2], [3, 4], [5, 6]],))
def rotate_right(grid: list[list[int]]) -> list[list[int]]:
    return [list(row) for row in zip(*grid[::-1], strict=True)]


@everyday(([[0, 1, 0], [0, 0, 1], [1, 1, 1]], 1), ([[0, 0], [0, 0]], 1), ([[1, 1], [1, 0]], 2))
def life_steps(grid: list[list[int]], steps: int) -> list[list[int]]:
    height, width = len(grid), len(grid[0])
    for _ in range(steps):
        new = [[0] * width for _ in range(height)]
        for r in range(height):
            for c in range(width):
                around = 0
                for dr in (-1, 0, 1):
                    for dc in (-1, 0, 1):
                        if (dr or dc) and 0 <= r + dr < height and 0 <= c + dc < width:
                            around += grid[r + dr][c + dc]
                new[r][c] = 1 if around == 3 or (around == 2 and grid[r][c]) else 0
        grid = new
    return grid


@everyday((4, 2), (6, 0), (5, 5))
def pascal_entry(n: int, k: int) -> int:
    row = [1]
    for _ in range(n):
        row = [1] + [a + b for a, b in zip(row, row[1:], strict=False)] + [1]  # noqa: RUF007
    return row[k]


@everyday(([5, 2, 8, 1, 9],), ([1],), ([3, 3, 2],))
def heap_order(xs: list[int]) -> list[int]:
    heap = list(xs)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in range(len(heap))]


@everyday(([4, 3, 2, 6],), ([5],), ([1, 1],))
def rope_cost(lengths: list[int]) -> int:
    heap = lengths[:]
    heapq.heapify(heap)
    total = 0
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


@everyday((5, 2), (7, 3), (1, 1))
def last_in_circle(n: int, k: int) -> int:
    people = deque(range(1, n + 1))
    while len(people) > 1:
        people.rotate(-(k - 1))
        people.popleft()
    return people[0]


@everyday((10, 3), (4, 4), (6, 1))
def moving_averages(n: int, width: int) -> list[float]:
    window: list[int] = []
    averages = []
    for i in range(n):
        window.append(i * i)
        if len(window) > width:
            window.pop(0)
        averages.append(sum(window) / len(window))
    return averages


@everyday((4,), (0,), (9,))
def queue_of_stacks(n: int) -> list[int]:
    inbox: list[int] = []
    outbox: list[int] = []
    out = []
    for i in range(n):
        inbox.append(i)
        if i % 3 == 2:
            if not outbox:
                while inbox:
                    outbox.append(inbox.pop())
            out.append(outbox.pop())
    return out


@dataclass
class Account:
    owner: int
    balance: int = 0
    history: list[int] = field(default_factory=list)

    def deposit(self, amount: int) -> None:
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(amount)

    def withdraw(self, amount: int) -> bool:
        if amount > self.balance:
            return False
        self.balance -= amount
        self.history.append(-amount)
        return True


@everyday((100, 30), (10, 30), (0, 1))
def account_day(deposit: int, withdrawal: int) -> tuple[int, bool, int]:
    account = Account(1)
    account.deposit(deposit)
    done = account.withdraw(withdrawal)
    return account.balance, done, len(account.history)


@everyday((5, 3), (3, 5), (4, 4), refusal="F4: this Account comes from")
def transfers(n: int, amount: int) -> tuple[int, int]:
    accounts = [Account(1, 10), Account(2, 5)]
    for i in range(n):
        source, target = accounts[i % 2], accounts[(i + 1) % 2]
        if source.withdraw(amount):
            target.deposit(amount)
    return accounts[0].balance, accounts[1].balance


@dataclass(frozen=True)
class Money:
    cents: int

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __mul__(self, factor: int) -> Money:
        return Money(self.cents * factor)

    def __lt__(self, other: Money) -> bool:
        return self.cents < other.cents


@everyday((3, 250), (0, 99), (10, 1))
def shopping(count: int, price: int) -> tuple[int, bool]:
    total = Money(price) * count + Money(100)
    return total.cents, total < Money(500)


class Stack:
    def __init__(self) -> None:
        self.items: list[int] = []

    def push(self, item: int) -> None:
        self.items.append(item)

    def pop(self) -> int:
        if not self.items:
            raise IndexError("pop from empty stack")
        return self.items.pop()

    def __len__(self) -> int:
        return len(self.items)


@everyday((3,), (0,), (6,))
def stack_sum(n: int) -> int:
    stack = Stack()
    for i in range(n):
        stack.push(i * 2)
    total = 0
    while len(stack) > 1:
        total += stack.pop() - stack.pop()
    return total


class LinearGenerator:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def next_number(self) -> int:
        self.state = (1103515245 * self.state + 12345) % 2147483648
        return self.state

    def roll(self, sides: int) -> int:
        return self.next_number() % sides + 1


@everyday((1, 5), (42, 0), (7, 12))
def dice_counts(seed: int, rolls: int) -> list[int]:
    generator = LinearGenerator(seed)
    counts = [0] * 6
    for _ in range(rolls):
        counts[generator.roll(6) - 1] += 1
    return counts


@everyday((3, 10), (99, 0), (5, 7))
def random_walk(seed: int, steps: int) -> tuple[int, int, int]:
    generator = LinearGenerator(seed)
    x = y = farthest = 0
    for _ in range(steps):
        direction = generator.next_number() // 65536 % 4
        if direction == 0:
            x += 1
        elif direction == 1:
            x -= 1
        elif direction == 2:
            y += 1
        else:
            y -= 1
        farthest = max(farthest, abs(x) + abs(y))
    return x, y, farthest


def fibonacci_numbers() -> Iterator[int]:
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


@everyday((50,), (1,), (0,))
def sum_of_even_fibonacci(limit: int) -> int:
    total = 0
    for f in fibonacci_numbers():
        if f > limit:
            break
        if f % 2 == 0:
            total += f
    return total


def chunks(xs: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(xs), size):
        yield xs[start : start + size]


@everyday(([1, 2, 3, 4, 5], 2), ([1], 3), ([4, 4, 4], 1))
def chunk_sums(xs: list[int], size: int) -> list[int]:
    return [sum(chunk) for chunk in chunks(xs, size)]


@everyday((5,), (0,), (2,))
def triangle_pairs(n: int) -> list[tuple[int, int]]:
    def pairs() -> Iterator[tuple[int, int]]:
        for i in range(n):
            for j in range(i):
                yield i, j

    return [(i, j) for i, j in pairs() if (i + j) % 2]


@everyday((10,), (1,), (30,))
def catalan(n: int) -> int:
    @cache
    def count(k: int) -> int:
        if k <= 1:
            return 1
        return sum(count(i) * count(k - 1 - i) for i in range(k))

    return count(n % 6)


@everyday((11, 3), (7, 1), (0, 2))
def coin_ways(amount: int, kinds: int) -> int:
    coins = [1, 2, 5, 10]
    memo: dict[tuple[int, int], int] = {}

    def ways(rest: int, k: int) -> int:
        if rest == 0:
            return 1
        if rest < 0 or k == 0:
            return 0
        if (rest, k) not in memo:
            memo[rest, k] = ways(rest, k - 1) + ways(rest - coins[k - 1], k)
        return memo[rest, k]

    return ways(amount, kinds)


@everyday((13,), (0,), (255,))
def bits_set(n: int) -> int:
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


@everyday((13, 4), (1, 8), (200, 8))
def reverse_bits(n: int, width: int) -> int:
    result = 0
    for _ in range(width):
        result = (result << 1) | (n & 1)
        n >>= 1
    return result


@everyday((5, 3), (8, 8), (0, 255))
def hamming(a: int, b: int) -> int:
    x = a ^ b
    distance = 0
    while x > 0:
        distance += x & 1
        x >>= 1
    return distance


@everyday((6,), (1,), (100,))
def gray_code_back(n: int) -> int:
    gray = n ^ (n >> 1)
    value = 0
    while gray:
        value ^= gray
        gray >>= 1
    return value


@everyday(([2, 3, 2, 4, 4],), ([7],), ([1, 2, 1, 2, 0],))
def single_number(xs: list[int]) -> int:
    return reduce(lambda a, b: a ^ b, xs)


@everyday((2.0,), (10.0,), (0.25,))
def square_root(x: float) -> float:
    guess = x / 2 if x > 1 else x
    while abs(guess * guess - x) > 1e-9:
        guess = (guess + x / guess) / 2
    return guess


@everyday((0.0, 3.0), (1.0, 2.0), (-4.0, 0.5))
def bisect_root(low: float, high: float) -> tuple[float, int]:
    def f(x: float) -> float:
        return x**3 - x - 2

    steps = 0
    while high - low > 1e-6 and steps < 60:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
        steps += 1
    return round((low + high) / 2, 4), steps


@everyday((0.0, 1.0, 4), (0.0, 3.0, 10), (-1.0, 1.0, 2))
def simpson(a: float, b: float, n: int) -> float:
    h = (b - a) / n
    total = math.exp(a) + math.exp(b)
    for i in range(1, n):
        total += (4 if i % 2 else 2) * math.exp(a + i * h)
    return total * h / 3


@everyday((1.0, 10), (0.5, 4), (0.0, 3))
def runge_kutta(y: float, steps: int) -> float:
    def slope(t: float, y: float) -> float:
        return y - t * t + 1

    t, h = 0.0, 0.2
    for _ in range(steps):
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + h / 2, y + h / 2 * k2)
        k4 = slope(t + h, y + h * k3)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    return y


@everyday(([1.0, 2.0, 4.0], 2.0), ([3.0], 5.0), ([1.0, 0.0, 0.0, 1.0], -1.0))
def horner(coefficients: list[float], x: float) -> float:
    value = 0.0
    for c in coefficients:
        value = value * x + c
    return value


@everyday((1000.0, 5), (0.0, 3), (250.5, 0))
def compound_table(amount: float, years: int) -> list[float]:
    table = []
    for year in range(1, years + 1):
        amount *= 1.05
        if year % 2 == 0:
            amount -= 10
        table.append(round(amount, 2))
    return table


@everyday((36, 48), (17, 5), (0, 9))
def extended_gcd(a: int, b: int) -> tuple[int, int, int]:
    x0, y0, x1, y1 = 1, 0, 0, 1
    while b:
        q, a, b = a // b, b, a % b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


@everyday((3, 200, 13), (2, 10, 1000), (5, 0, 7))
def power_modulo(base: int, exponent: int, modulus: int) -> int:
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


@everyday((30,), (2,), (1,))
def prime_gaps(n: int) -> list[int]:
    sieve = [True] * (n + 1)
    primes = []
    for i in range(2, n + 1):
        if sieve[i]:
            primes.append(i)
            for j in range(i * i, n + 1, i):
                sieve[j] = False
    return [b - a for a, b in zip(primes, primes[1:], strict=False)]  # noqa: RUF007


@everyday(([3, 1, 2], True), ([3, 1, 2], False), ([5], True))
def insertion_sort(xs: list[int], descending: bool) -> list[int]:
    ys = list(xs)
    for i in range(1, len(ys)):
        x, j = ys[i], i
        while j > 0 and ((ys[j - 1] < x) if descending else (ys[j - 1] > x)):
            ys[j] = ys[j - 1]
            j -= 1
        ys[j] = x
    return ys


@everyday(([1, 3, 5, 7, 9], 7), ([2, 4], 3), ([1], 1))
def binary_search(xs: list[int], key: int) -> int:
    low, high = 0, len(xs) - 1
    while low <= high:
        middle = (low + high) // 2
        if xs[middle] == key:
            return middle
        if xs[middle] < key:
            low = middle + 1
        else:
            high = middle - 1
    return -low - 1


@everyday(([3, 6, 1, 8, 2],), ([1],), ([2, 2, 1],))
def merge_sort(xs: list[int]) -> list[int]:
    if len(xs) <= 1:
        return xs
    half = len(xs) // 2
    left, right = merge_sort(xs[:half]), merge_sort(xs[half:])
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


@everyday(([-2, 1, -3, 4, -1, 2, 1, -5, 4],), ([-1],), ([2, 3],))
def best_segment(xs: list[int]) -> tuple[int, int, int]:
    best, best_start, best_end = xs[0], 0, 1
    current, start = 0, 0
    for i, x in enumerate(xs):
        if current <= 0:
            current, start = x, i
        else:
            current += x
        if current > best:
            best, best_start, best_end = current, start, i + 1
    return best, best_start, best_end


@everyday(([1, 4, 2, 5, 3],), ([1],), ([5, 4, 3],))
def longest_rising(xs: list[int]) -> int:
    lengths = [1] * len(xs)
    for i in range(len(xs)):
        for j in range(i):
            if xs[j] < xs[i]:
                lengths[i] = max(lengths[i], lengths[j] + 1)
    return max(lengths, default=0)


@everyday(("kitten", "sitting", 1), ("", "abc", 2), ("same", "same", 3))
def edit_distance(a: str, b: str, cost: int) -> int:
    previous = [j * cost for j in range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        current = [i * cost]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + cost, current[-1] + cost, previous[j - 1] + (x != y) * cost))
        previous = current
    return previous[-1]


@everyday((3, 3), (1, 5), (4, 2))
def grid_paths(rows: int, columns: int) -> int:
    table = [[1] * columns for _ in range(rows)]
    for r in range(1, rows):
        for c in range(1, columns):
            table[r][c] = table[r - 1][c] + table[r][c - 1]
    return table[-1][-1]


@everyday((10,), (0,), (4,))
def knapsack(capacity: int) -> int:
    items = [(5, 10), (4, 40), (6, 30), (3, 50)]
    best = [0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


@everyday((4,), (1,), (5,))
def queens(n: int) -> int:
    columns: set[int] = set()
    up: set[int] = set()
    down: set[int] = set()

    def place(row: int) -> int:
        if row == n:
            return 1
        count = 0
        for c in range(n):
            if c in columns or row + c in up or row - c in down:
                continue
            columns.add(c)
            up.add(row + c)
            down.add(row - c)
            count += place(row + 1)
            columns.remove(c)
            up.remove(row + c)
            down.remove(row - c)
        return count

    return place(0)


@everyday((0, 5), (2, 3), (5, 0))
def shortest_hops(start: int, end: int) -> int:
    graph = {0: [1, 2], 1: [3], 2: [3, 4], 3: [5], 4: [5], 5: []}
    distance = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node == end:
            return distance[node]
        for other in graph[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    return -1


@everyday(([[0, 1], [1, 2], [3, 4]], 5), ([[0, 3]], 4), ([[1, 0], [0, 1]], 2))
def components(edges: list[list[int]], n: int) -> int:
    parent = list(range(n))

    def find(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    count = n
    for a, b in edges:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
            count -= 1
    return count


Item = namedtuple("Item", ["weight", "value"])


@everyday((7,), (0,), (20,))
def best_ratio(limit: int) -> tuple[int, float]:
    items = [Item(3, 9.0), Item(5, 20.0), Item(2, 3.0)]
    items.sort(key=lambda item: item.value / item.weight, reverse=True)
    taken, value = 0, 0.0
    for item in items:
        if taken + item.weight <= limit:
            taken += item.weight
            value += item.value
    return taken, value


@dataclass
class Point:
    x: float
    y: float


@everyday((1.0, 2.0, 3), (0.0, 0.0, 1), (2.0, -1.0, 0))
def euler_fall(height: float, speed: float, steps: int) -> tuple[float, float]:
    body = Point(height, speed)
    for _ in range(steps):
        body = replace(body, x=body.x + 0.1 * body.y, y=body.y - 0.98)
        if body.x < 0:
            body.x, body.y = -body.x, -0.5 * body.y
    return body.x, body.y


@everyday((3, 4), (0, 2), (5, 1))
def cross_product(a: int, b: int) -> list[tuple[int, int]]:
    return [(x, y) for x, y in itertools.product(range(a), range(b)) if x <= y]


@everyday(([1, 1, 2, 3, 3, 3],), ([],), ([4],))
def run_lengths(xs: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for x in xs:
        if runs and runs[-1][0] == x:
            runs[-1] = (x, runs[-1][1] + 1)
        else:
            runs.append((x, 1))
    return runs


@everyday(([1, 1, 2, 3, 3, 3],), ([],), ([4],))
def run_lists(xs: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for x in xs:
        if runs and runs[-1][0] == x:
            runs[-1].append(x)
        else:
            runs.append([x])
    return runs


@everyday(([5, 3, 8], 4), ([], 1), ([1, 2, 3], 9))
def partition(xs: list[int], pivot: int) -> tuple[list[int], list[int]]:
    low, high = [], []
    for x in xs:
        (low if x < pivot else high).append(x)
    return low, high


@everyday((12,), (0,), (7,))
def elevator(calls: int) -> tuple[int, int]:
    floor, moved, state = 0, 0, "idle"
    for k in range(calls):
        target = (k * 7 + 3) % 5
        if target > floor:
            state = "up"
        elif target < floor:
            state = "down"
        else:
            state = "idle"
        while floor != target:
            floor += 1 if state == "up" else -1
            moved += 1
    return floor, moved


@everyday(("aab", 2), ("", 3), ("zz", 0))
def caesar_sum(text: str, shift: int) -> int:
    return sum((ord(c) - ord("a") + shift) % 26 for c in text)


@everyday((5,), (0,), (3,))
def shifted_text(shift: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[(letters.index(c) + shift) % 26] for c in "hello")


@everyday((12321,), (10,), (123,))
def is_palindrome_number(n: int) -> bool:
    text = str(n)
    return text == text[::-1]


@everyday((4,), (0,), (12,))
def binary_text(n: int) -> str:
    if n == 0:
        return "0"
    text = ""
    while n > 0:
        text = str(n % 2) + text
        n //= 2
    return text


@everyday((1234,), (7,), (990,))
def digit_total(n: int) -> int:
    return sum(int(c) for c in str(n))


@everyday((3, 2), (2, 3), (5, 5))
def compare_words(a: int, b: int) -> str:
    return f"{a} is {'more' if a > b else 'less' if a < b else 'the same'}"


@everyday((20,), (3,), (1,))
def vending(coins: int) -> tuple[str, int]:
    state, credit = "ready", 0
    for k in range(coins):
        credit += (5, 10, 20)[k % 3]
        if credit >= 50:
            state, credit = "sold", credit - 50
        elif credit > 0:
            state = "paying"
    return state, credit


@everyday((4, 1), (0, 3), (6, 2), refusal="F4: this list comes from")
def nested_totals(n: int, step: int) -> dict[str, Any]:
    report: dict[str, Any] = {"count": 0, "sizes": [0, 0], "last": {"value": None}}
    for i in range(0, n, step):
        report["count"] += 1
        report["sizes"][i % 2] += i
        report["last"]["value"] = i
    return report
