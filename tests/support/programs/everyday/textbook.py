"""Functions in the manner of text-books: recursion with memo, digits, dates, matrices as lists of lists, graphs as
dicts of lists, games, bit tricks, dataclasses, enums, named tuples and patterns."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import enum
import functools
import itertools
import math
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

from .table import everyday


@everyday((1, 7), (12, 25), (2, 0))
def day_number(month, day):
    days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    total = day
    for m in range(month - 1):
        total += days[m]
    return total


@everyday((2000, 3, 1), (1999, 12, 31), (2024, 2, 29), (1900, 1, 1))
def julian_day(year, month, day):
    a = (14 - month) // 12
    y = year + 4800 - a
    m = month + 12 * a - 3
    return day + (153 * m + 2) // 5 + 365 * y + y // 4 - y // 100 + y // 400 - 32045


@everyday((2024,), (1961,), (2000,))
def easter(year):
    a = year % 19
    b, c = divmod(year, 100)
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    l = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * l) // 451
    month, day = divmod(h + l - 7 * m + 114, 31)
    return month, day + 1


@everyday((59, 1), (0, 90), (3599, 3600))
def add_seconds(start, seconds):
    total = start + seconds
    hours, rest = divmod(total, 3600)
    minutes, left = divmod(rest, 60)
    print(f"{hours}h {minutes}m {left}s")
    return (hours, minutes, left)


@everyday((2023, 1), (2024, 2), (2023, 12))
def next_month(year, month):
    month += 1
    if month == 13:
        year, month = year + 1, 1
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    match month:
        case 2:
            length = 29 if leap else 28
        case 4 | 6 | 9 | 11:
            length = 30
        case _:
            length = 31
    return year, month, length


@everyday((30, 6), (9, 2), (0, 4))
def change_ways_memo(amount, kinds):
    coins = [1, 2, 5, 10, 20, 50]
    memo = {}

    def ways(left, k):
        if left == 0:
            return 1
        if left < 0 or k == 0:
            return 0
        if (left, k) not in memo:
            memo[left, k] = ways(left - coins[k - 1], k) + ways(left, k - 1)
        return memo[left, k]

    return ways(amount, kinds)


@everyday((5,), (12,), (0,))
def catalan_memo(n):
    table = {0: 1}

    def catalan(k):
        if k in table:
            return table[k]
        total = 0
        for i in range(k):
            total += catalan(i) * catalan(k - 1 - i)
        table[k] = total
        return total

    return catalan(n)


@everyday((3, 4), (0, 5), (6, 2))
def grid_paths_cached(rows, columns):
    @functools.lru_cache(maxsize=None)
    def paths(r, c):
        if r == 0 or c == 0:
            return 1
        return paths(r - 1, c) + paths(r, c - 1)

    return paths(rows, columns)


@everyday((4,), (1,), (6,))
def count_calls(n):
    calls = 0

    def fib(k):
        nonlocal calls
        calls += 1
        if k < 2:
            return k
        return fib(k - 1) + fib(k - 2)

    value = fib(n)
    return value, calls


@everyday((3,), (0,), (4,))
def subsets_visited(n):
    found = []

    def visit(k, total):
        if k == 0:
            found.append(total)
            return
        visit(k - 1, total)
        visit(k - 1, total + k)

    visit(n, 0)
    return sorted(found)


@everyday((3,), (1,), (5,))
def depth_of_recursion(n):
    deepest = [0]

    def go(k, depth):
        deepest[0] = max(deepest[0], depth)
        if k <= 1:
            return
        go(k // 2, depth + 1)
        go(k - k // 2, depth + 1)

    go(n, 1)
    return deepest[0]


@everyday((0,), (2,), (5,))
def visited_set(start):
    graph = {0: [1, 2], 1: [2], 2: [0, 3], 3: [3], 4: [5], 5: [4]}
    visited = set()

    def visit(node):
        if node in visited:
            return
        visited.add(node)
        for other in graph[node]:
            visit(other)

    visit(start)
    return sorted(visited)


@everyday((0, 3), (3, 0), (4, 1))
def shortest_hops(start, goal):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: [4], 4: []}
    queue = deque([(start, 0)])
    seen = {start}
    while queue:
        node, hops = queue.popleft()
        if node == goal:
            return hops
        for other in graph[node]:
            if other not in seen:
                seen.add(other)
                queue.append((other, hops + 1))
    return -1


@everyday((1,), (3,), (0,))
def degrees(extra):
    graph = {0: [1, 2], 1: [2], 2: [0], 3: []}
    graph[extra].append(3)
    incoming = {node: 0 for node in graph}
    for node, others in graph.items():
        for other in others:
            incoming[other] += 1
    return incoming


@everyday((2, 5), (0, 1), (4, 4))
def topological(a, b):
    edges = [(0, 1), (1, 2), (a, b)]
    indegree = [0] * 6
    for u, v in edges:
        indegree[v] += 1
    ready = [node for node in range(6) if indegree[node] == 0]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for u, v in edges:
            if u == node:
                indegree[v] -= 1
                if indegree[v] == 0:
                    ready.append(v)
    return order if len(order) == 6 else None


@everyday((1, 2), (0, 0), (-3, 4))
def matrix_times_vector(a, b):
    matrix = [[1, 2, a], [0, b, 1], [3, 0, 1]]
    vector = [a, b, 1]
    return [sum(row[j] * vector[j] for j in range(3)) for row in matrix]


@everyday((2,), (0,), (-1,))
def matrix_transposed(n):
    matrix = [[n, 1, 2], [3, n * 2, 5]]
    turned = [[row[i] for row in matrix] for i in range(3)]
    flipped = list(zip(*matrix))
    return turned, flipped


@everyday((3,), (1,), (4,))
def magic_square_sum(n):
    square = [[0] * n for _ in range(n)]
    row, column = 0, n // 2
    for k in range(1, n * n + 1):
        square[row][column] = k
        next_row, next_column = (row - 1) % n, (column + 1) % n
        if square[next_row][next_column] != 0:
            row = (row + 1) % n
        else:
            row, column = next_row, next_column
    return sum(square[i][i] for i in range(n))


@everyday((1, 1), (2, 3), (0, 5))
def determinant_3(a, b):
    m = [[a, b, 1], [2, a, b], [1, 0, 4]]

    def minor(i, j):
        rows = [row[:j] + row[j + 1 :] for k, row in enumerate(m) if k != i]
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]

    return sum((-1) ** j * m[0][j] * minor(0, j) for j in range(3))


@everyday((0, 0), (1, 2), (2, 2))
def neighbours_alive(i, j):
    grid = [[1, 0, 1], [0, 1, 0], [1, 1, 1]]
    count = 0
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if di == 0 and dj == 0:
                continue
            x, y = i + di, j + dj
            if 0 <= x < 3 and 0 <= y < 3:
                count += grid[x][y]
    return count


@everyday((0,), (1,), (6,))
def count_ones(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


@everyday((5, 9), (0, 0), (255, 1))
def hamming_distance(a, b):
    x = a ^ b
    return bin(x).count("1") if isinstance(x, str) else sum((x >> k) & 1 for k in range(10))


@everyday((6,), (13,), (0,))
def reverse_bits(n):
    result = 0
    for _ in range(8):
        result = result << 1 | n & 1
        n >>= 1
    return result


@everyday((12, 18), (7, 3), (0, 5))
def binary_gcd(a, b):
    if a == 0:
        return b
    if b == 0:
        return a
    shift = 0
    while (a | b) & 1 == 0:
        a >>= 1
        b >>= 1
        shift += 1
    while a & 1 == 0:
        a >>= 1
    while b != 0:
        while b & 1 == 0:
            b >>= 1
        if a > b:
            a, b = b, a
        b -= a
    return a << shift


@everyday((5, 3), (1000003, 7), (0, 2))
def russian_peasant(a, b):
    total = 0
    while b > 0:
        if b % 2:
            total += a
        a, b = a * 2, b // 2
    return total


@everyday((12345,), (0,), (987,))
def digits_of(n):
    digits = []
    while True:
        n, digit = divmod(n, 10)
        digits.insert(0, digit)
        if n == 0:
            return digits


@everyday((4539,), (79927398713,), (0,))
def luhn(n):
    total, position = 0, 0
    while n > 0:
        digit = n % 10
        if position % 2 == 1:
            digit *= 2
            if digit > 9:
                digit -= 9
        total += digit
        n //= 10
        position += 1
    return total % 10 == 0


@everyday((3, 2), (7, 8), (0, 16))
def to_base_value(n, base):
    value, factor = 0, 1
    while n:
        value += factor * (n % base)
        n //= base
        factor *= 10
    return value


@everyday((6174,), (3524,), (1111,))
def kaprekar(n):
    steps = 0
    while n != 6174 and steps < 8:
        digits = sorted([n // 1000, n // 100 % 10, n // 10 % 10, n % 10])
        low = 0
        for d in digits:
            low = low * 10 + d
        high = 0
        for d in reversed(digits):
            high = high * 10 + d
        n = high - low
        steps += 1
    return steps


@everyday((20,), (1,), (9,))
def look_and_count(n):
    counts = Counter()
    for k in range(1, n + 1):
        counts[k % 10] += 1
    return counts.most_common(1)[0][1], sum(counts.values())


@dataclass
class Rectangle:
    width: int
    height: int = 1

    @property
    def area(self):
        return self.width * self.height

    def scaled(self, factor):
        return Rectangle(self.width * factor, self.height * factor)


@everyday((2, 3), (0, 1), (5, 5))
def rectangles(w, h):
    r = Rectangle(w, h).scaled(2)
    return r.area, r == Rectangle(4, 6), Rectangle(w).area


@dataclass(frozen=True)
class Money:
    cents: int
    currency: str = "EUR"

    def __add__(self, other):
        if self.currency != other.currency:
            raise ValueError("currencies differ")
        return Money(self.cents + other.cents, self.currency)


@everyday((150,), (0,), (999,))
def purse(cents):
    total = Money(0)
    for k in range(3):
        total = total + Money(cents + k)
    euros, rest = divmod(total.cents, 100)
    return euros, rest


@everyday((1, 2), (5, 0), (3, 3))
def sorted_dataclasses(a, b):
    shapes = [Rectangle(a, 4), Rectangle(b, 3), Rectangle(2, 2)]
    best = max(shapes, key=lambda s: s.area)
    return best.width, best.height, sum(s.area for s in shapes)


class Direction(enum.Enum):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3

    def turned(self):
        return Direction((self.value + 1) % 4)


@everyday((0,), (3,), (7,))
def robot(turns):
    facing = Direction.NORTH
    x = y = 0
    for k in range(turns):
        if facing is Direction.NORTH:
            y += k
        elif facing is Direction.EAST:
            x += k
        elif facing is Direction.SOUTH:
            y -= k
        else:
            x -= k
        facing = facing.turned()
    return x, y


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@everyday((1,), (3,), (2,))
def level_compare(n):
    return n == Level.LOW, n >= Level.HIGH, Level.HIGH - n


Vector2 = namedtuple("Vector2", "x y")


@everyday((1, 2), (0, 0), (-3, 4))
def named_vectors(a, b):
    v = Vector2(a, b)
    w = v._replace(x=v.x + 10)
    dx, dy = w
    return v.x * w.x + v.y * w.y, dx - dy, v == Vector2(1, 2)


class Entry2(NamedTuple):
    key: int
    weight: int = 1

    def heavier(self, other):
        return self.weight > other.weight


@everyday((4, 2), (0, 9), (1, 1))
def named_entries(key, weight):
    first, second = Entry2(key), Entry2(key + 1, weight)
    heavy = first if first.heavier(second) else second
    return heavy.key, heavy.weight


@everyday((0, 0), (0, 5), (3, 0), (2, 2))
def match_point(x, y):
    match (x, y):
        case (0, 0):
            return "origin"
        case (0, b):
            return f"axis"
        case (a, 0):
            return "other axis"
        case (a, b) if a == b:
            return "diagonal"
        case _:
            return "plane"


@everyday((1, 5), (2, 7), (3, 0), (9, 9))
def match_command(code, value):
    total = 10
    match [code, value]:
        case [1, amount]:
            total += amount
        case [2, amount] if amount > 5:
            total -= amount
        case [3, _]:
            total = 0
        case [other, _]:
            total = -other
    return total


@everyday((0,), (3,), (10,))
def match_rectangle(n):
    shape = Rectangle(n, 2) if n > 2 else Money(n)
    match shape:
        case Rectangle(width=w, height=h):
            return w * h
        case Money(cents=c):
            return -c


@everyday((1, 1), (0, 2), (2, 0), (1, 2))
def rock_paper(a, b):
    beats = {0: 2, 1: 0, 2: 1}
    if a == b:
        return "draw"
    return "first" if beats[a] == b else "second"


@everyday((15,), (0,), (7,))
def nim_winner(stones):
    turn = 0
    while stones > 0:
        take = stones % 4 or 1
        stones -= take
        turn = 1 - turn
    return turn


@everyday((3, 7), (10, 3), (5, 5))
def guess_the_number(secret, first):
    low, high, guess, tries = 0, 16, first, 1
    while guess != secret:
        if guess < secret:
            low = guess + 1
        else:
            high = guess - 1
        guess = (low + high) // 2
        tries += 1
        if tries > 10:
            return None
    return tries


@everyday((1,), (4,), (0,))
def tic_tac_winner(move):
    board = [1, 1, 0, 2, 2, 0, 0, 0, 0]
    if board[move] == 0:
        board[move] = 1
    else:
        board[2] = 1
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    for a, b, c in lines:
        if board[a] != 0 and board[a] == board[b] == board[c]:
            return board[a]
    return 0


@everyday((7, 3), (0, 2), (20, 6))
def snakes(rolls, seed):
    jumps = {3: 11, 14: 4, 17: 8}
    position = 0
    for _ in range(rolls):
        seed = (seed * 5 + 3) % 16
        position = min(position + seed % 6 + 1, 20)
        position = jumps.get(position, position)
    return position


@everyday((5,), (0,), (10,))
def bouncing_ball(bounces):
    height, travelled = 64.0, 0.0
    for _ in range(bounces):
        travelled += height
        height /= 2
        travelled += height
        if height < 1:
            break
    return travelled, height


@everyday((10, 3), (0, 1), (30, 9))
def bank_queue(customers, seed):
    waiting, clock, total_wait = deque(), 0, 0
    for c in range(customers):
        seed = (seed * 7 + 5) % 11
        waiting.append(clock)
        if seed % 2 == 0 and waiting:
            total_wait += clock - waiting.popleft()
        clock += 1
    return total_wait, len(waiting)


@everyday((4,), (0,), (11,))
def predator_prey(years):
    rabbits, foxes = 100, 10
    history = []
    for year in range(years):
        rabbits, foxes = rabbits + rabbits // 10 - foxes, foxes + rabbits // 100 - 1
        rabbits = max(rabbits, 0)
        foxes = max(foxes, 1)
        history.append((rabbits, foxes))
    return history[-1] if history else None


@everyday((6,), (27,), (1,))
def collatz_generator(n):
    def steps(k):
        while k != 1:
            yield k
            k = k // 2 if k % 2 == 0 else 3 * k + 1
        yield 1

    total = 0
    for value in steps(n):
        total += value
    return total


@everyday((5,), (0,), (8,))
def generator_pairs(n):
    def pairs(limit):
        for i in range(limit):
            for j in range(i):
                if (i + j) % 3 == 0:
                    yield i, j

    return sum(a * b for a, b in pairs(n))


@everyday((10,), (1,), (30,))
def fibonacci_until(limit):
    def fibonacci():
        a, b = 0, 1
        while True:
            yield a
            a, b = b, a + b

    found = []
    for value in fibonacci():
        if value > limit:
            break
        found.append(value)
    return found


@everyday((4,), (0,), (9,))
def first_squares(n):
    def squares():
        k = 0
        while True:
            yield k * k
            k += 1

    return [x for x, _ in zip(squares(), range(n))]


@everyday((3,), (0,), (6,))
def chained_generators(n):
    def evens(limit):
        for k in range(limit):
            if k % 2 == 0:
                yield k

    def doubled(items):
        for item in items:
            yield 2 * item

    return list(doubled(evens(n)))


@everyday((6, 3), (1, 0), (0, 4))
def divide_or_none(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return None


@everyday((5, 2), (5, 0), (-1, 3))
def parse_ratio(a, b):
    try:
        if a < 0:
            raise ValueError("negative")
        result = a // b
    except ValueError:
        result = -1
    except ZeroDivisionError:
        result = -2
    else:
        result += 100
    return result


@everyday((1,), (3,), (5,), (-4,))
def item_or_default(i):
    items = [10, 20, 30]
    try:
        return items[i]
    except IndexError:
        return 0


@everyday((1,), (2,), (5,))
def key_or_default(k):
    table = {1: 10, 2: 20}
    try:
        value = table[k]
    except KeyError:
        value = -1
    return value


class Insufficient(Exception):
    pass


class Wallet:
    def __init__(self, amount):
        self.amount = amount

    def pay(self, price):
        if price > self.amount:
            raise Insufficient("too little")
        self.amount -= price


@everyday((10, 3), (4, 9), (0, 0))
def pay_twice(amount, price):
    wallet, failed = Wallet(amount), 0
    for _ in range(2):
        try:
            wallet.pay(price)
        except Insufficient:
            failed += 1
    return wallet.amount, failed


@everyday((4,), (0,), (-2,))
def nested_tries(n):
    log = 0
    try:
        try:
            if n == 0:
                raise KeyError("zero")
            if n < 0:
                raise ValueError("negative")
            log += 1
        except KeyError:
            log += 10
        finally:
            log += 100
    except ValueError:
        log += 1000
    return log


@everyday((3,), (0,), (5,))
def sum_of_inverses(n):
    total = 0
    for k in range(n):
        try:
            total += 12 // (k - 2)
        except ZeroDivisionError:
            total += 1000
    return total


@everyday((3,), (0,), (12,))
def size_word(n):
    return "big" if n > 10 else "medium" if n > 2 else "small"


@everyday((0,), (6,), (10,))
def weekday_word(n):
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    return names[n % 7]


@everyday((85,), (70,), (12,))
def grade_word(score):
    for limit, grade in [(90, "A"), (80, "B"), (70, "C")]:
        if score >= limit:
            return grade
    return "F"


@everyday((3,), (0,), (1,))
def plural(n):
    word = "apple" if n == 1 else "apples"
    print(f"{n} {word}")
    return len(word)


@everyday((15,), (3,), (7,))
def fizz_word(n):
    text = ""
    if n % 3 == 0:
        text += "Fizz"
    if n % 5 == 0:
        text += "Buzz"
    return text or "none"


@everyday((2, 3), (0, 0), (7, -1))
def sign_table(a, b):
    signs = {-1: "negative", 0: "zero", 1: "positive"}
    sign = (a > 0) - (a < 0)
    other = 1 if b > 0 else -1 if b < 0 else 0
    return signs[sign] + " " + signs[other]


@everyday((4,), (0,), (7,))
def compare_strings(n):
    word = "odd" if n % 2 else "even"
    return word == "odd", word.upper(), word[0], len(word), word < "f"


@everyday((1994,), (4,), (9,))
def roman_printed(n):
    values = [
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
    letters = 0
    for value, numeral in values:
        while n >= value:
            n -= value
            letters += len(numeral)
            print(numeral)
    return letters


@everyday((3,), (0,), (8,))
def running_average(n):
    class Average:
        def __init__(self):
            self.total = 0
            self.count = 0

        def add(self, x):
            self.total += x
            self.count += 1
            return self

        def __float__(self):
            return self.total / self.count if self.count else 0.0

    average = Average()
    for k in range(n):
        average.add(k * k)
    return float(average)


@everyday((5, 2), (0, 0), (9, 4))
def linked_stack(n, k):
    class Node:
        def __init__(self, value, below=None):
            self.value, self.below = value, below

    top = None
    for value in (n, k, n + k):
        top = Node(value, top)
    total, weight = 0, 1
    while top is not None:
        total += weight * top.value
        weight *= 10
        top = top.below
    return total


@everyday((3,), (8,), (5,), refusal="F4: insert calls itself under a symbolic condition, and stores an object")
def search_tree(n):
    class Tree:
        def __init__(self, key):
            self.key, self.left, self.right = key, None, None

        def insert(self, key):
            if key < self.key:
                if self.left is None:
                    self.left = Tree(key)
                else:
                    self.left.insert(key)
            else:
                if self.right is None:
                    self.right = Tree(key)
                else:
                    self.right.insert(key)

        def depth(self):
            return 1 + max(child.depth() if child else 0 for child in (self.left, self.right))

    tree = Tree(5)
    tree.insert(3)
    tree.insert(n)
    return tree.depth()


@everyday((3, 4), (0, 0), (10, 2))
def fraction_sum_reduced(n, d):
    numerator, denominator = 0, 1
    for k in range(1, n + 1):
        numerator = numerator * (k + d) + denominator
        denominator *= k + d
        g = math.gcd(numerator, denominator)
        numerator //= g
        denominator //= g
        if denominator > 10**6:
            break
    return numerator, denominator


@everyday((7,), (1,), (12,))
def partitions(n):
    table = [1] + [0] * n
    for part in range(1, n + 1):
        for total in range(part, n + 1):
            table[total] += table[total - part]
    return table[n]


@everyday((4, 2), (5, 5), (3, 0))
def stirling(n, k):
    row = [1]
    for i in range(1, n + 1):
        row = [0] + row
        for j in range(1, i):
            row[j] += j * row[j + 1] if j + 1 < len(row) else 0
    return row[k] if k < len(row) else 0


@everyday((3, 1), (0, 2), (6, 6))
def edit_like(a, b):
    first, second = [a, 1, 2, b], [1, b, 2]
    table = [[i + j if i * j == 0 else 0 for j in range(4)] for i in range(5)]
    for i in range(1, 5):
        for j in range(1, 4):
            cost = 0 if first[i - 1] == second[j - 1] else 1
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + cost)
    return table[4][3]


@everyday((5,), (2,), (0,))
def union_find(k):
    parent = list(range(6))

    def find(x):
        while parent[x] != x:
            x = parent[x]
        return x

    for a, b in [(0, 1), (k, 3), (1, 3)]:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
    return len({find(x) for x in range(6)})


@everyday((4, 7), (1, 1), (0, 3))
def average_and_spread(a, b):
    data = [a, b, 2 * a, 5]
    mean = sum(data) / len(data)
    variance = sum((x - mean) ** 2 for x in data) / len(data)
    return mean, math.sqrt(variance), max(data) - min(data)


@everyday((3,), (6,), (0,))
def heap_of(n):
    heap = []
    for k in range(n):
        heap.append((k * 5) % 7)
        child = len(heap) - 1
        while child > 0:
            parent = (child - 1) // 2
            if heap[parent] <= heap[child]:
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            child = parent
    return heap


@everyday((10,), (2,), (25,))
def primes_by_trial(n):
    primes = []
    for candidate in range(2, n):
        for p in primes:
            if p * p > candidate:
                primes.append(candidate)
                break
            if candidate % p == 0:
                break
        else:
            primes.append(candidate)
    return primes


@everyday((3,), (1,), (6,))
def permutation_count(n):
    used = [False] * 4
    count = 0

    def place(position):
        nonlocal count
        if position == 3:
            count += 1
            return
        for k in range(4):
            if not used[k] and (k + position) % n != 0:
                used[k] = True
                place(position + 1)
                used[k] = False

    place(0)
    return count


@everyday((2, 1), (0, 0), (1, 3))
def groups_by_rest(a, b):
    groups = defaultdict(list)
    for x in (a, b, 5, 8):
        groups[x % 3].append(x)
    return {key: sum(items) for key, items in groups.items()}


@everyday((3,), (0,), (7,))
def with_default_state(n):
    def steps(value, step=2, *, limit=10):
        seen = []
        while value < limit:
            seen.append(value)
            value += step
        return seen, value

    return steps(n), steps(n, limit=12), steps(n, 3)


@everyday((4,), (9,), (1,), gap="Python returned (False, True, False), the program (0, True, False)")
def truthy_chain(n):
    first = n > 3 and n - 3
    second = n < 5 or "large"
    third = not (n % 3)
    return first, second, third


@everyday((5,), (0,), (12,))
def while_with_walrus(n):
    total = 0
    while (half := n // 2) > 0:
        total += half
        n = half
    return total, half


@everyday((3,), (0,), (6,))
def for_else_counter(n):
    for i in range(n):
        if i * i > 10:
            answer = i
            break
    else:
        answer = -1
    return answer, n


@everyday((5,), (3,), (0,))
def loop_past_bound(n):
    i = 7
    for i in range(7, n):
        pass
    j = 0
    while j < n:
        j += 3
    return i, j


@everyday((4,), (0,), (1,))
def growing_rows(n):
    row = [1]
    for _ in range(n):
        row = [1] + [a + b for a, b in zip(row, row[1:])] + [1]
    return row
