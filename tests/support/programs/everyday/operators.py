"""Classes with operators, games, small algorithms and bookkeeping, as a programmer writes them."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math
from dataclasses import dataclass

from .table import everyday


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, factor):
        if isinstance(factor, Vector):
            return self.x * factor.x + self.y * factor.y
        return Vector(self.x * factor, self.y * factor)

    def __rmul__(self, factor):
        return self * factor

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __abs__(self):
        return max(abs(self.x), abs(self.y))

    def __bool__(self):
        return self.x != 0 or self.y != 0

    def __getitem__(self, index):
        if index == 0:
            return self.x
        if index == 1:
            return self.y
        raise IndexError("a vector has two coordinates")

    def __iter__(self):
        return iter((self.x, self.y))

    def __len__(self):
        return 2


@everyday((1, 2), (0, 0), (-3, 4))
def vector_sum(x, y):
    total = Vector(x, y) + Vector(1, 1) - Vector(y, x)
    return total.x, total.y


@everyday((1, 2), (0, 0), (-3, 4))
def vector_scaled(x, y):
    v = 3 * Vector(x, y) * 2
    return v[0], v[1], v * v


@everyday((1, 2), (0, 0), (-3, 4))
def vector_truth(x, y):
    if Vector(x, y):
        return abs(Vector(x, y))
    return -1


@everyday((1, 2), (0, 0), (2, 2))
def vector_equality(x, y):
    if Vector(x, y) == Vector(y, x):
        return 1
    if Vector(x, y) != Vector(1, 2):
        return 2
    return 3


@everyday((1, 2), (5, -1))
def vector_unpacked(x, y):
    a, b = Vector(x, y)
    return a * 10 + b + len(Vector(x, y))


@everyday((0,), (1,), (2,))
def vector_index(k):
    return Vector(7, 9)[k]


@everyday((3, 4), (1, -5))
def vector_not(x, y):
    v = Vector(x, y) - Vector(3, 4)
    return not v, bool(v)


class Fraction:
    def __init__(self, top, bottom):
        if bottom == 0:
            raise ZeroDivisionError("no denominator")
        a, b = abs(top), abs(bottom)
        while b:
            a, b = b, a % b
        sign = -1 if bottom < 0 else 1
        self.top, self.bottom = sign * top // a, sign * bottom // a

    def __add__(self, other):
        return Fraction(self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom)

    def __truediv__(self, other):
        return Fraction(self.top * other.bottom, self.bottom * other.top)

    def __lt__(self, other):
        return self.top * other.bottom < other.top * self.bottom

    def __float__(self):
        return self.top / self.bottom


@everyday((1, 2), (3, -6), (4, 8))
def fraction_sum(top, bottom):
    f = Fraction(top, bottom) + Fraction(1, 6)
    return f.top, f.bottom


@everyday((1, 2), (3, 0), (0, 4))
def fraction_quotient(top, bottom):
    f = Fraction(1, 3) / Fraction(top, bottom)
    return f.top, f.bottom


@everyday((1, 2), (3, 7), (-1, 3))
def fraction_compared(top, bottom):
    f, g = Fraction(top, bottom), Fraction(1, 3)
    return f < g, g < f, f > g


class Polynomial:
    def __init__(self, coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        value = 0
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    def __mul__(self, other):
        product = [0] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        return Polynomial(product)

    @property
    def degree(self):
        return len(self.coefficients) - 1


@everyday((2,), (0,), (-3,))
def polynomial_call(x):
    p = Polynomial([1, 2, 3])
    return p(x) + p(x + 1)


@everyday((2, 1), (0, 0), (-3, 5))
def polynomial_product(x, c):
    p = Polynomial([1, c]) * Polynomial([c, 0, 2])
    return p(x), p.degree


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, x):
        return self.low <= x < self.high

    def __and__(self, other):
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def __len__(self):
        return self.high - self.low if self.high > self.low else 0


@everyday((3,), (10,), (-1,))
def interval_contains(x):
    inside = Interval(0, 10)
    if x in inside:
        return 1
    return 2 if x not in Interval(-5, 0) else 3


@everyday((3, 8), (8, 3), (2, 20))
def interval_common(low, high):
    common = Interval(low, high) & Interval(5, 12)
    return common.low, common.high, 6 in common


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        size = len(self.rows)
        return Matrix(
            [[sum(self.rows[i][k] * other.rows[k][j] for k in range(size)) for j in range(size)] for i in range(size)]
        )

    def __getitem__(self, place):
        i, j = place
        return self.rows[i][j]

    def __setitem__(self, place, value):
        i, j = place
        self.rows[i][j] = value


@everyday((5,), (0,), (10,))
def matrix_fibonacci(n):
    result, base = Matrix([[1, 0], [0, 1]]), Matrix([[1, 1], [1, 0]])
    for _ in range(6):
        if n % 2 == 1:
            result = result @ base
        base = base @ base
        n //= 2
    return result[0, 1]


@everyday((3, 4), (0, 0), (-1, 7))
def matrix_assigned(a, b):
    m = Matrix([[0, 0], [0, 0]])
    m[0, 1] = a
    if b > 2:
        m[1, 0] = b
    return m[0, 1] + m[1, 0], m.rows


class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty stack")
        return self._items.pop()

    @property
    def top(self):
        return self._items[-1]

    def __len__(self):
        return len(self._items)


@everyday((3,), (0,), (5,))
def stack_of_digits(n):
    stack = Stack()
    for k in range(4):
        stack.push(n + k)
    total = 0
    while len(stack) > 1:
        total = total * 10 + stack.pop()
    return total, stack.top


@everyday((3,), (0,), (6,))
def stack_grows(n):
    stack = Stack()
    for k in range(n):
        stack.push(k * k)
    return len(stack), stack.pop() if len(stack) else -1


@everyday((12,), (1,), (0,))
def binary_digits(n):
    digits = []
    while n > 0:
        digits.append(n % 2)
        n //= 2
    digits.reverse()
    return digits, sum(digits)


@everyday((4, 3), (0, 1), (3, 5))
def ackermann_like(m, n):
    def go(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return go(m - 1, 1)
        return go(m - 1, n + 1)

    return go(m, n)


@everyday((10,), (1,), (7,))
def collatz_longest(n):
    best, best_length = 1, 1
    for start in range(1, n + 1):
        length, k = 1, start
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            length += 1
        if length > best_length:
            best, best_length = start, length
    return best, best_length


@everyday((3, 2), (1, 1), (0, 4))
def lattice_paths(rows, columns):
    if rows == 0 or columns == 0:
        return 1
    return lattice_paths(rows - 1, columns) + lattice_paths(rows, columns - 1)


@everyday((5, 2), (4, 4), (6, 0))
def binomial_row(n, k):
    row = [1]
    for i in range(n):
        row = [1] + [row[j] + row[j + 1] for j in range(len(row) - 1)] + [1]
    return row[k]


@everyday((100,), (7,), (0,))
def change_coins(amount):
    counts = {}
    for coin in (50, 20, 10, 5, 1):
        counts[coin] = amount // coin
        amount %= coin
    return counts


@everyday((11, 4), (5, 5), (3, 9))
def greatest_common_divisor(a, b):
    steps = 0
    while a != b:
        if a > b:
            a -= b
        else:
            b -= a
        steps += 1
        if steps > 50:
            raise RuntimeError("no end")
    return a, steps


@everyday((2024,), (1900,), (2000,))
def days_of_february(year):
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap else 28


@everyday((2024, 2, 29), (2023, 2, 29), (2023, 13, 1))
def day_of_year(year, month, day):
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        lengths[1] = 29
    if not 1 <= month <= 12:
        raise ValueError("month")
    if not 1 <= day <= lengths[month - 1]:
        raise ValueError("day")
    return sum(lengths[: month - 1]) + day


@everyday((0b1011,), (0,), (255,))
def gray_code(n):
    gray = n ^ (n >> 1)
    back, shift = gray, 1
    while shift < 16:
        back ^= back >> shift
        shift <<= 1
    return gray, back == n


@everyday((3,), (1,), (4,))
def hanoi(n):
    moves = 0

    def move(n, source, target, spare):
        nonlocal moves
        if n == 0:
            return
        move(n - 1, source, spare, target)
        moves += 1
        move(n - 1, spare, target, source)

    move(3, 1, 3, 2)
    return moves * n


@everyday((3,), (1,), (4,))
def hanoi_counted(n):
    def move(n, source, target, spare):
        if n == 0:
            return 0
        return move(n - 1, source, spare, target) + 1 + move(n - 1, spare, target, source)

    return move(n, 1, 3, 2)


@everyday((3, 1, 2), (1, 2, 3), (2, 2, 1))
def sorted_by_hand(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return [a, b, c]


@everyday((3, 1, 2), (1, 2, 3), (9, 8, 7))
def bubble_sort(a, b, c):
    xs = [a, b, c, 5]
    swapped = True
    while swapped:
        swapped = False
        for i in range(len(xs) - 1):
            if xs[i] > xs[i + 1]:
                xs[i], xs[i + 1] = xs[i + 1], xs[i]
                swapped = True
    return xs


@everyday((3, 1, 2), (1, 2, 3), (9, 8, 7))
def insertion_sort(a, b, c):
    xs = [a, b, c, 4, 0]
    for i in range(1, len(xs)):
        x, j = xs[i], i - 1
        while j >= 0 and xs[j] > x:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = x
    return xs


@everyday((3, 1, 2), (1, 2, 3), (9, 8, 7))
def quick_sort(a, b, c):
    def sort(xs):
        if len(xs) <= 1:
            return xs
        pivot, *rest = xs
        small = [x for x in rest if x < pivot]
        large = [x for x in rest if x >= pivot]
        return sort(small) + [pivot] + sort(large)

    return sort([a, b, c])


@everyday((7,), (4,), (100,))
def binary_search(key):
    xs = [1, 3, 4, 7, 9, 11]
    low, high = 0, len(xs) - 1
    while low <= high:
        middle = (low + high) // 2
        if xs[middle] == key:
            return middle
        if xs[middle] < key:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@everyday((1, 5), (3, 3), (0, 0))
def queue_at_the_till(a, b):
    queue = [a, b, 2, 4]
    clock = 0
    while queue:
        first = queue.pop(0)
        clock += 1
        if first > 1:
            queue.append(first - 1)
        if clock > 30:
            break
    return clock


@everyday((2,), (0,), (5,))
def life_step(k):
    cells = [0, 1, 1, 0, 1, 0]
    cells[k] = 1 - cells[k]
    return [1 if cells[i] + cells[(i + 1) % 6] + cells[i - 1] in (1, 2) else 0 for i in range(len(cells))]


@everyday((1,), (4,), (0,))
def tic_tac_toe(move):
    board = [1, 0, 2, 0, 0, 2, 1, 0, 0]
    if board[move]:
        raise ValueError("occupied")
    board[move] = 1
    for a, b, c in ((0, 1, 2), (3, 4, 5), (0, 4, 8), (0, 3, 6), (2, 4, 6)):
        if board[a] == board[b] == board[c] != 0:
            return board[a]
    return 0


@everyday((3, 2), (5, 5), (0, 1))
def rock_paper_scissors(a, b):
    match (a - b) % 3:
        case 0:
            return "draw" == "draw", 0
        case 1:
            return False, 1
        case _:
            return False, -1


@everyday((7,), (2,), (1,))
def dice_sums(sides):
    counts = [0] * 13
    for a in range(1, 7):
        for b in range(1, 7):
            counts[a + b] += 1 if a != sides else 2
    return counts[7], max(counts)


class Counter:
    def __init__(self):
        self.counts = {"even": 0, "odd": 0}

    def add(self, n):
        self.counts["even" if n % 2 == 0 else "odd"] += 1
        return self


@everyday((3,), (4,), (0,))
def counted_kinds(n):
    counter = Counter()
    counter.add(n).add(n + 1).add(2)
    return counter.counts


@dataclass
class Point:
    x: int
    y: int = 0

    def moved(self, dx=0, dy=0):
        return Point(self.x + dx, self.y + dy)


@everyday((3, 1), (0, -2))
def points_moved(n, d):
    p = Point(n).moved(dy=d).moved(2)
    return p.x, p.y, p == Point(n + 2, d)


@everyday((5,), (0,), (-2,))
def turtle(n):
    p, direction = Point(0, 0), 0
    for step in range(8):
        if direction == 0:
            p = p.moved(1, 0)
        elif direction == 1:
            p = p.moved(0, 1)
        else:
            p = p.moved(-1, -1)
        if step == n:
            direction = (direction + 1) % 3
    return p.x, p.y


class Base:
    rate = 2

    def cost(self, n):
        return n * self.rate + self.extra(n)

    def extra(self, n):
        return 0


class Express(Base):
    rate = 3

    def extra(self, n):
        return super().extra(n) + (5 if n > 3 else 1)


@everyday((3,), (4,), (0,))
def costs(n):
    return sum(kind().cost(n) for kind in (Base, Express))


@everyday((3, True), (4, False))
def chosen_class(n, fast):
    kind = Express() if fast else Base()
    return kind.cost(n)


@everyday((3,), (0,), (9,))
def accumulator(n):
    def make(total):
        def add(x):
            nonlocal total
            total += x
            return total

        return add

    add = make(n)
    add(1)
    if n > 2:
        add(10)
    return add(0)


@everyday((3,), (0,), (4,))
def composed(n):
    def compose(*functions):
        def run(x):
            for f in functions:
                x = f(x)
            return x

        return run

    return compose(lambda x: x + 1, lambda x: x * 2 if x > 2 else -x, abs)(n)


@everyday((10,), (6,), (1,))
def memoised(n):
    memo = {0: 0, 1: 1}

    def fib(k):
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(10) + n


@everyday((5, 0.5), (0, 2.0), (3, -1.0))
def compound(years, rate):
    amount = 100.0
    for year in range(years):
        amount *= 1 + rate / 100
        if amount < 0:
            break
    return round(amount, 2) if amount < 1e6 else 0.0


@everyday((2.0,), (0.25,), (100.0,))
def square_root(x):
    guess = x
    for _ in range(40):
        better = (guess + x / guess) / 2
        if abs(better - guess) < 1e-12:
            return better
        guess = better
    return guess


@everyday((3.0, 4.0), (0.0, 0.0), (-1.0, 1.0))
def polar(x, y):
    r = math.hypot(x, y)
    if r == 0:
        return 0.0, 0.0
    angle = math.degrees(math.atan2(y, x))
    return r, angle + 360 if angle < 0 else angle


@everyday((4, 2), (2, 4), (0, 0))
def logged(a, b):
    print("start", a)
    while a > b:
        print(a, ">", b)
        a -= 1
    else:
        print("done")
    assert a <= b, f"{a} is above {b}"
    return a


@everyday((3,), (11,), (-4,))
def classified(n):
    if n < 0:
        print("negative")
    elif n < 10:
        print("small", n)
    else:
        print(f"large {n:>4d}")
    return None


@everyday((3,), (0,), (8,))
def run_lengths(n):
    runs, last, count = [], -1, 0
    for bit in (n & 1, n >> 1 & 1, n >> 2 & 1, n >> 3 & 1):
        if bit == last:
            count += 1
        else:
            if count:
                runs.append((last, count))
            last, count = bit, 1
    runs.append((last, count))
    return runs


@everyday((3, 5), (2, 2), (7, 1))
def spiral(rows, columns):
    grid = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(3):
            grid[i][j] = i * rows + j * columns
    return [row[::-1] for row in grid[::-1]]


@everyday((3,), (1,), (6,))
def triangle_rows(n):
    rows = []
    for i in range(1, n + 1):
        total = 0
        for j in range(i):
            total += j
        rows.append(total)
    return rows


@everyday((4,), (9,), (1,))
def sieve_count(n):
    flags = [True] * 20
    flags[0] = flags[1] = False
    for p in range(2, 5):
        if flags[p]:
            for k in range(p * p, 20, p):
                flags[k] = False
    return sum(flags[k] for k in range(n + 1))


@everyday((13,), (8,), (1,))
def happy(n):
    seen = []
    while n != 1 and n not in seen:
        seen.append(n)
        total = 0
        while n:
            total += (n % 10) ** 2
            n //= 10
        n = total
    return n == 1


@everyday((3, 4, 5), (1, 1, 3), (2, 2, 2))
def triangle_kind(a, b, c):
    a, b, c = sorted((a, b, c))
    if a + b <= c:
        raise ValueError("no triangle")
    if a == b == c:
        return 3
    if a == b or b == c:
        return 2
    return 1 if a * a + b * b != c * c else 0


@everyday((6, 3), (5, 0), (0, 2))
def safe_ratio(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0


@everyday((3,), (0,), (5,))
def drained(n):
    def numbers():
        for k in range(5):
            yield k * n

    return sum(numbers())
