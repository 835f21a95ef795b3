"""Everyday functions: NumPy, matrices, text, words in recursion, dicts, simulations and small classes."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate

import numpy as np

from .table import everyday

FLOATS = np.array([0.5, -1.5, 2.0, 3.25])
READINGS = np.array([3, 8, 1, 9, 4, 7])
MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])


# NumPy


@everyday((FLOATS,))
def standardise(x):
    return (x - np.mean(x)) / np.std(x)


@everyday((FLOATS,))
def rectify(x):
    return np.where(x > 0, x, 0.0), np.maximum(x, 0.5)


@everyday((MATRIX, np.array([1.0, 0.0])))
def dominant_eigenvalue(a, v):
    for _ in range(10):
        w = np.dot(a, v)
        v = w / np.linalg.norm(w)
    return np.dot(v, np.dot(a, v))


@everyday((FLOATS, 0.1), (FLOATS, 2.0))
def mean_squared_error(x, level):
    errors = x - level
    return np.mean(errors**2), np.max(np.abs(errors))


@everyday((READINGS,))
def peak_reading(x):
    k = np.argmax(x)
    if k == 0:
        return "first", x[k]
    return "later", x[k]


@everyday((FLOATS,))
def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


@everyday((3, 4.0), (2, 0.5), refusal="V4: multiply")
def grid_of_distances(n, spacing):
    xs = np.arange(n) * spacing
    return np.sqrt(np.sum(xs * xs)), xs


@everyday((READINGS, 5), (READINGS, 100))
def fraction_above(x, level):
    return np.sum(x > level) / len(x), np.any(x > level), np.all(x > level)


@everyday((FLOATS,))
def cumulative_return(x):
    total = np.cumsum(x)
    return total[-1], np.min(total)


@everyday((4,), (1,))
def outer_table(n):
    k = np.arange(1, n + 1)
    return np.outer(k, k)


@everyday((0.3, 0.4), (0.0, 0.0))
def rotate_point(angle, length):
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rotation @ np.array([length, 0.0])


@everyday((np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.1, 5.9])))
def fit_line(x, y):
    mx, my = np.mean(x), np.mean(y)
    slope = np.sum((x - mx) * (y - my)) / np.sum((x - mx) ** 2)
    return slope, my - slope * mx


# Matrices as lists


@everyday((2,), (3,), (1,))
def rotation_of_a_square(n):
    grid = [[i * n + j for j in range(n)] for i in range(n)]
    turned = [[grid[n - 1 - j][i] for j in range(n)] for i in range(n)]
    return turned


@everyday((3,), (1,))
def checkerboard(n):
    board = [[(i + j) % 2 for j in range(n)] for i in range(n)]
    return board, sum(sum(row) for row in board)


@everyday((4, 2), (3, 0))
def band_matrix(n, width):
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(1 if abs(i - j) <= width else 0)
        rows.append(row)
    return rows


@everyday((1, 2, 3, 4), (0, 1, 1, 0))
def inverse_two_by_two(a, b, c, d):
    det = a * d - b * c
    if det == 0:
        raise ValueError("singular")
    return [[d / det, -b / det], [-c / det, a / det]]


@everyday((3,), (2,))
def diagonal_sums(n):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            grid[i][j] = i * j + 1
    return sum(grid[i][i] for i in range(n)), sum(grid[i][n - 1 - i] for i in range(n))


@everyday((5,), (0,))
def snake_rows(n):
    order = []
    for i in range(n):
        cells = [i * 3, i * 3 + 1, i * 3 + 2]
        if i % 2:
            cells.reverse()
        order.extend(cells)
    return order


# Text


@everyday((5,), (1,))
def ruler(n):
    line = "|"
    for i in range(n):
        line += "----" if i % 2 else "...."
        line += "|"
    return line


@everyday((12321,), (12,), (7,))
def palindrome_number(n):
    s = str(n)
    left, right = 0, len(s) - 1
    while left < right:
        if s[left] != s[right]:
            return False
        left += 1
        right -= 1
    return True


@everyday((3, 7), (10, 0), (0, 0))
def score_line(home, away):
    result = "draw" if home == away else "home win" if home > away else "away win"
    return f"{home}:{away} ({result})"


@everyday((1234,), (0,), (90,))
def spelled(n):
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return " ".join(names[int(c)] for c in str(n))


@everyday((6,), (1,))
def numbered_list(n):
    lines = []
    for i in range(1, n + 1):
        lines.append(f"{i}. item")
    return "\n".join(lines)


@everyday((90,), (7,), (3725,))
def duration(seconds):
    parts = []
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        parts.append(f"{hours} h")
    if minutes:
        parts.append(f"{minutes} min")
    if seconds or not parts:
        parts.append(f"{seconds} s")
    return " ".join(parts)


@everyday((5, 3), (26, 1))
def rail_letters(n, step):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[i * step % 26] for i in range(n))


@everyday((37,), (100,))
def progress_bar(percent):
    full = percent // 10
    return "[" + "#" * full + "." * (10 - full) + f"] {percent}%"


@everyday((5,), (1,))
def pyramid_lines(n):
    for i in range(1, n + 1):
        print(" " * (n - i) + "*" * (2 * i - 1))


@everyday((48271,), (111,), (5,))
def digits_in_order(n):
    return "".join(sorted(str(n)))


@everyday((123, 321), (123, 124), (1, 11))
def same_digits(a, b):
    return sorted(str(a)) == sorted(str(b))


@everyday((2024,), (7,))
def checksum_text(n):
    total = 0
    for position, c in enumerate(str(n)):
        total += (position + 1) * int(c)
    return str(n) + "-" + str(total % 9)


@everyday((1001,), (1,))
def ones_and_zeros(n):
    s = str(n)
    return s.count("1"), s.count("0"), s.replace("0", "o")


# Words in recursion


@everyday((3,), (0,))
def bit_strings(n):
    if n == 0:
        return [""]
    return [b + rest for b in "01" for rest in bit_strings(n - 1)]


@everyday((3,), (1,))
def balanced_brackets(n):
    def build(prefix, opened, closed):
        if closed == n:
            return [prefix]
        found = []
        if opened < n:
            found += build(prefix + "(", opened + 1, closed)
        if closed < opened:
            found += build(prefix + ")", opened, closed + 1)
        return found

    return build("", 0, 0)


@everyday((3,), (0,))
def tower_moves(n):
    def move(n, a, b):
        if n == 0:
            return []
        c = 6 - a - b
        return move(n - 1, a, c) + [f"{a}->{b}"] + move(n - 1, c, b)

    return move(n, 1, 3)


@everyday((6,), (1,))
def fibonacci_word(n):
    if n <= 1:
        return "0" if n == 0 else "01"
    return fibonacci_word(n - 1) + fibonacci_word(n - 2)


@everyday((10,), (0,))
def binary_by_recursion(n):
    if n < 2:
        return str(n)
    return binary_by_recursion(n // 2) + str(n % 2)


@everyday((3,), (1,))
def koch_turns(n):
    if n == 0:
        return "F"
    part = koch_turns(n - 1)
    return part + "L" + part + "R" + part


@everyday((4,), (2,))
def combinations_of(n):
    found = []

    def choose(start, total, count):
        if count == 0:
            found.append(total)
            return
        for k in range(start, n):
            choose(k + 1, total + k, count - 1)

    choose(0, 0, 2)
    return found


# Dicts


@everyday((10,), (1,))
def squares_by_last_digit(n):
    groups = defaultdict(int)
    for k in range(n):
        groups[k * k % 10] += 1
    return dict(groups)


@everyday((9,), (1,))
def remainders(n):
    groups = {0: [], 1: [], 2: []}
    for k in range(n):
        groups[k % 3].append(k)
    return groups


@everyday((8,), (2,))
def grouped_by_setdefault(n):
    groups = {}
    for k in range(n):
        groups.setdefault(k % 3, []).append(k)
    return groups


@everyday((8,), (2,))
def grouped_by_default(n):
    groups = defaultdict(list)
    for k in range(n):
        groups[k % 2].append(k * k)
    return sum(groups[0]), sum(groups[1])


@everyday((20,), (3,))
def first_seen(n):
    seen = {}
    x = 1
    for step in range(n):
        if x in seen:
            return seen[x], step
        seen[x] = step
        x = x * 3 % 17
    return None


@everyday((3, 2), (0, 5), (4, 0))
def shopping_total(apples, pears):
    prices = {"apple": 30, "pear": 45}
    basket = {"apple": apples, "pear": pears}
    total = 0
    for name, count in basket.items():
        total += prices[name] * count
    if total > 200:
        total -= total // 10
    return total


@everyday((13,), (5,))
def parity_names(n):
    counts = {"even": 0, "odd": 0}
    for k in range(n):
        counts["odd" if k * k % 3 else "even"] += 1
    return counts["even"] - counts["odd"], counts


@everyday((30,), (2,))
def divisors_of_all(n):
    counts = {}
    for k in range(1, n + 1):
        d = 0
        for j in range(1, k + 1):
            if k % j == 0:
                d += 1
        counts[d] = counts.get(d, 0) + 1
    return sorted(counts.items())


@everyday((5,), (3,))
def inverted(n):
    table = {k: k * k % 7 for k in range(n)}
    inverse = {}
    for key, value in table.items():
        inverse[value] = key
    return inverse


@everyday((4, 2), (7, 9), refusal="F4: an item of a dict is assigned at a symbolic key")
def cache_of_two(a, b):
    cache = OrderedDict()
    for key in (a, b, a):
        if key in cache:
            cache.move_to_end(key)
        cache[key] = key * 2
    return list(cache.items())


@everyday((6,), (0,))
def labelled(n):
    table = {}
    for k in range(n):
        table[f"k{k % 2}"] = k
    return table


@everyday((112233,), (5,))
def digit_table(n):
    table = {}
    for c in str(n):
        table[c] = table.get(c, 0) + 1
    return table


# Simulations


@everyday((10, 3), (0, 1))
def lift(target, start):
    floor, seconds = start, 0
    while floor != target:
        floor += 1 if floor < target else -1
        seconds += 4
        if floor % 5 == 0:
            seconds += 2
    return seconds


@everyday((20.0, 5), (18.0, 0))
def thermostat(temperature, minutes):
    heating = False
    log = []
    for _ in range(minutes):
        if temperature < 19.0:
            heating = True
        elif temperature > 21.0:
            heating = False
        temperature += 0.7 if heating else -0.4
        log.append(round(temperature, 2))
    return log, heating


@everyday((17, 30), (1, 5))
def pseudo_random_walk(seed, n):
    x = y = 0
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        match seed % 4:
            case 0:
                x += 1
            case 1:
                x -= 1
            case 2:
                y += 1
            case _:
                y -= 1
    return x, y, abs(x) + abs(y)


@everyday((5, 3), (2, 9))
def printer_queue(jobs, pages):
    queue = deque()
    for j in range(jobs):
        queue.append((j, pages + j % 2))
    order = []
    while queue:
        name, left = queue.popleft()
        if left > 3:
            queue.append((name, left - 3))
        else:
            order.append(name)
    return order


@everyday((8, 3), (5, 0))
def spreading_rumour(n, days):
    knows = [False] * n
    knows[0] = True
    for _ in range(days):
        after = list(knows)
        for i in range(n):
            if knows[i]:
                after[(i + 1) % n] = True
                after[(i * 2) % n] = True
        knows = after
    return sum(knows), knows


@everyday((100.0, 12, 0.01), (0.0, 3, 0.5))
def loan(balance, months, rate):
    paid = 0.0
    for month in range(months):
        balance *= 1 + rate
        payment = min(balance, 10.0)
        balance -= payment
        paid += payment
        if balance <= 0:
            return month + 1, paid
    return months, paid


@everyday((3, 1), (10, 4))
def traffic_light(seconds, start):
    state = ("red", "green", "yellow")[start % 3]
    for _ in range(seconds):
        if state == "red":
            state = "green"
        elif state == "green":
            state = "yellow"
        else:
            state = "red"
    return state


@everyday((12, 5), (3, 3))
def water_jugs(a, b):
    x = y = steps = 0
    while x != 4 and steps < 30:
        if x == a:
            x = 0
        elif y == 0:
            y = b
        else:
            poured = min(y, a - x)
            x, y = x + poured, y - poured
        steps += 1
    return x, y, steps


@everyday((7,), (27,))
def collatz_heights(n):
    heights = [n]
    while heights[-1] != 1:
        last = heights[-1]
        heights.append(last // 2 if last % 2 == 0 else 3 * last + 1)
    return max(heights), len(heights), heights[:3]


@everyday((5, 100), (1, 3))
def coin_flips(seed, n):
    heads = run = best = 0
    for _ in range(n):
        seed = seed * 16807 % 2147483647
        if seed % 2:
            heads += 1
            run += 1
            best = max(best, run)
        else:
            run = 0
    return heads, best


# Small classes


class Thermometer:
    def __init__(self, celsius):
        self.celsius = celsius

    @property
    def fahrenheit(self):
        return self.celsius * 9 / 5 + 32

    def is_freezing(self):
        return self.celsius <= 0


@everyday((10.0,), (-4.0,))
def thermometer(c):
    t = Thermometer(c)
    if t.is_freezing():
        t.celsius += 1
    return t.fahrenheit


@dataclass
class Inventory:
    stock: int
    sold: int = 0
    log: list = field(default_factory=list)

    def sell(self, count):
        if count > self.stock:
            self.log.append(-1)
            return False
        self.stock -= count
        self.sold += count
        self.log.append(count)
        return True


@everyday((10, 4), (3, 5))
def inventory(stock, count):
    shop = Inventory(stock)
    results = [shop.sell(count), shop.sell(count), shop.sell(1)]
    return results, shop.stock, shop.sold, shop.log


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def norm(self):
        return math.hypot(self.x, self.y)


@everyday((3, 0.5), (0, 1.0))
def drifting(n, wind):
    position = Vector(0.0, 0.0)
    velocity = Vector(1.0, wind)
    for _ in range(n):
        position = position + velocity * 0.5
    return position.x, position.y, position.norm()


class Counter2:
    def __init__(self):
        self.counts = {}

    def add(self, key):
        self.counts[key] = self.counts.get(key, 0) + 1

    def most(self):
        best, times = None, 0
        for key, count in self.counts.items():
            if count > times:
                best, times = key, count
        return best, times


@everyday((20, 7), (1, 3))
def votes(n, k):
    counter = Counter2()
    for i in range(n):
        counter.add(i * i % k)
    return counter.most()


class Node:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest


@everyday((5,), (0,), refusal="V5: loop variable head")
def chain_total(n):
    head = None
    for i in range(n):
        head = Node(i, head)
    total = 0
    while head is not None:
        total += head.value
        head = head.rest
    return total


@everyday((1, 2), (5, 5))
def nodes_by_hand(a, b):
    chain = Node(a, Node(b, Node(a + b)))
    total, node = 0, chain
    while node is not None:
        total = total * 10 + node.value
        node = node.rest
    return total


class Particle:
    def __init__(self, x, v):
        self.x, self.v = x, v

    def step(self, dt):
        self.x += self.v * dt
        if self.x < 0 or self.x > 1:
            self.v = -self.v


@everyday((10, 0.3), (0, 1.0))
def particles_in_a_box(steps, v):
    particles = [Particle(0.5, v), Particle(0.1, -v)]
    for _ in range(steps):
        for p in particles:
            p.step(0.25)
    return [(p.x, p.v) for p in particles]


@everyday((6,), (1,))
def created_points(n):
    points = [Vector(i, i * i) for i in range(n)]
    return sum(p.x + p.y for p in points)


@everyday((4, 9), (9, 4), (5, 5))
def farther_of_two(a, b):
    p, q = Vector(a, 1), Vector(b, 2)
    far = p if p.norm() > q.norm() else q
    far.x = far.x + 1
    return far.x, p.x, q.x


Reading = namedtuple("Reading", "time value")


@everyday((4, 10), (1, 3))
def best_reading(n, top):
    readings = [Reading(t, (t * 7 + top) % 11) for t in range(n)]
    best = readings[0]
    for r in readings:
        if r.value > best.value:
            best = r
    return best.time, best.value


# Algorithms


@everyday((np.array([3, 1, 2]),), (np.array([5, 4, 4, 1]),))
def shell_sorted(xs):
    xs = list(xs)
    gap = len(xs) // 2
    while gap > 0:
        for i in range(gap, len(xs)):
            x, j = xs[i], i
            while j >= gap and xs[j - gap] > x:
                xs[j] = xs[j - gap]
                j -= gap
            xs[j] = x
        gap //= 2
    return xs


@everyday((48, 18), (7, 13), (0, 5))
def gcd_steps(a, b):
    steps = []
    while b:
        steps.append((a, b))
        a, b = b, a % b
    return a, steps


@everyday((10, 3), (5, 5), (4, 0))
def pascal_choose(n, k):
    row = [1]
    for i in range(n):
        row = [1] + [row[j] + row[j + 1] for j in range(len(row) - 1)] + [1]
    return row[k]


@everyday((60,), (97,), (1,))
def factor_pairs(n):
    pairs = []
    d = 1
    while d * d <= n:
        if n % d == 0:
            pairs.append((d, n // d))
        d += 1
    return pairs


@everyday((100,), (2,))
def goldbach(n):
    def is_prime(k):
        if k < 2:
            return False
        d = 2
        while d * d <= k:
            if k % d == 0:
                return False
            d += 1
        return True

    for p in range(2, n):
        if is_prime(p) and is_prime(n - p):
            return p, n - p
    return None


@everyday((np.array([2, 7, 11, 15]), 9), (np.array([1, 2]), 9))
def pair_by_table(xs, target):
    seen = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return None


@everyday((np.array([1, 3, 6, 10]),), (np.array([5]),))
def gaps(xs):
    return [b - a for a, b in zip(xs, xs[1:])], list(accumulate(xs))


@everyday((np.array([4, 2, 9]), 3), (np.array([1, 1]), 0))
def dot_by_reduce(xs, start):
    return reduce(lambda total, x: total * 2 + x, xs, start)


@everyday((5, 3), (2, 2), (0, 4))
def stirling_like(n, k):
    if n == 0 and k == 0:
        return 1
    if n == 0 or k == 0:
        return 0
    return k * stirling_like(n - 1, k) + stirling_like(n - 1, k - 1)


@everyday((25,), (2,), (0,))
def zeckendorf(n):
    fibs = [1, 2]
    while fibs[-1] + fibs[-2] <= n:
        fibs.append(fibs[-1] + fibs[-2])
    parts = []
    for f in reversed(fibs):
        if f <= n:
            parts.append(f)
            n -= f
    return parts


@everyday((6,), (1,))
def bell_triangle(n):
    row = [1]
    for _ in range(n - 1):
        new = [row[-1]]
        for x in row:
            new.append(new[-1] + x)
        row = new
    return row[0], row


@everyday((0b1011, 0b0110), (0, 0))
def bit_tricks(a, b):
    return a & b, a | b, a ^ b, a << 2, b >> 1, (a ^ b).bit_length(), bin(a | b)


@everyday((13, 4), (8, 2), (5, 7))
def josephus_list(n, k):
    people = list(range(1, n + 1))
    at = 0
    while len(people) > 1:
        at = (at + k - 1) % len(people)
        people.pop(at)
    return people[0]


@everyday((3,), (5,))
def magic_square(n):
    square = [[0] * n for _ in range(n)]
    i, j = 0, n // 2
    for k in range(1, n * n + 1):
        square[i][j] = k
        ni, nj = (i - 1) % n, (j + 1) % n
        if square[ni][nj]:
            ni, nj = (i + 1) % n, j
        i, j = ni, nj
    return square


@everyday((np.array([5, 3, 8, 1]),), (np.array([2]),))
def second_smallest(xs):
    low = second = None
    for x in xs:
        if low is None or x < low:
            low, second = x, low
        elif second is None or x < second:
            second = x
    return second


@everyday((10,), (3,))
def made_and_changed_lists(n):
    def split(n):
        small, large = [], []
        for k in range(n):
            if k * 7 % 10 < 5:
                small.append(k)
            else:
                large.append(k)
        return small, large

    small, large = split(n)
    small.append(100)
    large.sort(reverse=True)
    return small, large
