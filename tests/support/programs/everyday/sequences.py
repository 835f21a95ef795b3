"""Lists, tuples, dicts and arrays, as a programmer writes them."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from .table import everyday

XS = np.array([5, 3, 8, 1, 9, 2])
YS = np.array([2.5, -1.0, 4.0])
GRID = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])


@everyday((XS,), (np.array([4]),))
def largest(xs):
    best = xs[0]
    for x in xs:
        if x > best:
            best = x
    return best


@everyday((XS, 8), (XS, 7))
def linear_search(xs, key):
    for i, x in enumerate(xs):
        if x == key:
            return i
    return -1


@everyday((np.array([1, 3, 5, 7, 9, 11]), 7), (np.array([1, 3, 5, 7, 9, 11]), 4))
def binary_search(xs, key):
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


@everyday((YS,), (np.array([1.0, 2.0]),))
def mean_and_variance(xs):
    mean = sum(xs) / len(xs)
    return mean, sum((x - mean) ** 2 for x in xs) / len(xs)


@everyday((np.array([1, 2, 3]), np.array([4, 5, 6])))
def dot(xs, ys):
    return sum(x * y for x, y in zip(xs, ys))


@everyday((XS, 3), (XS, 1))
def moving_sums(xs, width):
    return [sum(xs[i : i + 2]) * width for i in range(len(xs) - 1)]


@everyday((np.array([-2, 1, -3, 4, -1, 2, 1, -5, 4]),), (np.array([-1, -2]),))
def max_subarray(xs):
    best = current = xs[0]
    for x in xs[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best


@everyday((np.array([1, 2, 3, 2, 1]),), (np.array([1, 2, 3]),))
def is_mirror(xs):
    return all(xs[i] == xs[-1 - i] for i in range(len(xs) // 2))


@everyday((XS, 4), (XS, 0))
def count_above(xs, threshold):
    return len([x for x in xs if x > 5]) if False else sum(x > threshold for x in xs)


@everyday((1, 2, 3), (3, 2, 1), (2, 2, 0))
def sort_three(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return a, b, c


@everyday((4, 1, 3, 2), (1, 2, 3, 4))
def bubble_sort(a, b, c, d):
    items = [a, b, c, d]
    for end in range(len(items) - 1, 0, -1):
        for i in range(end):
            if items[i] > items[i + 1]:
                items[i], items[i + 1] = items[i + 1], items[i]
    return items


@everyday((4, 1, 3), (1, 3, 2))
def builtin_sort(a, b, c):
    return sorted([a, b, c])


@everyday((4, 1, 3), (1, 3, 2))
def builtin_sort_descending(a, b, c):
    return sorted((a, b, c), reverse=True)


@everyday((4, 1, 3), (1, 3, 2))
def median_of_three(a, b, c):
    return sorted([a, b, c])[1]


@everyday((5,), (0,), (1,))
def squares(n):
    result = []
    for i in range(n):
        result.append(i * i)
    return result


@everyday((5,), (0,))
def squares_comprehension(n):
    return [i * i for i in range(n)]


@everyday((6,), (1,))
def sum_of_collected(n):
    values = []
    for i in range(n):
        values.append(2 * i + 1)
    total = 0
    for v in values:
        total += v
    return total


@everyday((12,), (1,), (20,))
def divisors(n):
    found = []
    for d in range(1, n + 1):
        if n % d == 0:
            found.append(d)
    return found


@everyday((6,), (1,))
def fibonacci_list(n):
    numbers = [0, 1]
    for _ in range(n):
        numbers.append(numbers[-1] + numbers[-2])
    return numbers


@everyday((10, 2), (5, 3), (0, 2))
def to_base(n, base):
    digits = []
    while n > 0:
        digits.append(n % base)
        n //= base
    return digits[::-1]


@everyday((2,), (0,), (3,))
def pick_name_length(i):
    lengths = [3, 5, 4, 6]
    return lengths[i]


@everyday((1, 2), (0, 0), (2, 1))
def grid_lookup(i, j):
    grid = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    return grid[i][j]


@everyday((2,), (-1,), (9,))
def lookup_or_default(key):
    table = {1: 10, 2: 20, 3: 30}
    return table.get(key, 0)


@everyday((2,), (3,))
def lookup(key):
    table = {1: 10, 2: 20, 3: 30}
    return table[key]


@everyday((2,), (9,))
def lookup_guarded(key):
    prices = {1: 1.5, 2: 2.5}
    if key in prices:
        return prices[key]
    return -1.0


@everyday((XS, 2), (XS, 0))
def rotate_sum(xs, k):
    total = 0
    for i in range(len(xs)):
        total = total * 10 + xs[(i + k) % len(xs)]
    return total


@everyday((GRID,), (GRID + 1,))
def trace_and_antitrace(grid):
    n = len(grid)
    return sum(grid[i][i] for i in range(n)), sum(grid[i][n - 1 - i] for i in range(n))


@everyday((GRID, 5), (GRID, 42))
def find_in_grid(grid, key):
    for i, row in enumerate(grid):
        for j, value in enumerate(row):
            if value == key:
                return i, j
    return -1, -1


@everyday((GRID,), (np.array([[2, 0], [1, 3]]),))
def row_sums(grid):
    return [sum(row) for row in grid]


@everyday((GRID,))
def transpose(grid):
    return [[row[j] for row in grid] for j in range(len(grid[0]))]


@everyday((XS,))
def running_maximum(xs):
    out = []
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
        out.append(best)
    return out


@everyday((XS,))
def pairwise_differences(xs):
    return [b - a for a, b in zip(xs, xs[1:])]


@everyday((XS, 3), (XS, 2))
def every_nth_sum(xs, n):
    total = 0
    for i, x in enumerate(xs):
        if i % n == 0:
            total += x
    return total


@everyday((np.array([1, 1, 2, 3, 3, 3]),), (np.array([5]),))
def longest_run(xs):
    best = run = 1
    for previous, current in zip(xs, xs[1:]):
        run = run + 1 if previous == current else 1
        best = max(best, run)
    return best


@everyday((3, 4), (1, 1))
def multiplication_table_sum(rows, columns):
    total = 0
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            total += i * j
    return total


@everyday((5, 2), (3, 9))
def clamp_all(low, high):
    return [min(max(x, low), high) for x in (1, 4, 7)]


@everyday((True, False), (False, False))
def truth_table(a, b):
    return [a and b, a or b, not a, a != b]


@everyday((3,), (10,))
def stack_machine(n):
    stack = [n]
    stack.append(2)
    stack.append(stack.pop() * stack.pop())
    stack.append(5)
    return stack.pop() - stack.pop()


@everyday((XS,))
def swap_ends(xs):
    first, *middle, last = xs
    return last, sum(middle), first


@everyday((4,), (0,))
def countdown_list(n):
    values = []
    while n > 0:
        values.append(n)
        n -= 1
    return values


@everyday((6,), (2,))
def sieve_count(n):
    flags = [True] * 20
    for i in range(2, 20):
        if flags[i]:
            for j in range(i * i, 20, i):
                flags[j] = False
    return sum(flags[2:]) + n


@everyday((7,), (3,))
def sieve(n):
    flags = [True] * (n + 1)
    count = 0
    for i in range(2, n + 1):
        if flags[i]:
            count += 1
            for j in range(2 * i, n + 1, i):
                flags[j] = False
    return count


@everyday((3, 2), (0, 0))
def count_votes(a, b):
    counts = {0: 0, 1: 0, 2: 0, 3: 0}
    counts[0] += a
    counts[1] += b
    return counts


@everyday((2, 7), (1, 4))
def set_at(i, value):
    xs = [0, 0, 0]
    xs[i] = value
    return xs


@everyday((XS,))
def histogram(xs):
    counts = [0] * 10
    for x in xs:
        counts[x] += 1
    return counts


@everyday((XS, YS), (XS, np.array([1.0])))
def first_two(xs, ys):
    return xs[:2], ys[-1]


@everyday((3,), (0,))
def sum_nested_ranges(n):
    return sum(i * j for i in range(n) for j in range(i))


@everyday((5,), (1,))
def max_of_polynomial(n):
    return max(i * (4 - i) for i in range(n))


@everyday((10,), (4,))
def any_square(n):
    return any(k * k == n for k in range(n))


@everyday((10,), (7,))
def all_coprime(n):
    return all(n % k for k in range(2, n))


@everyday((5,), (0,))
def reversed_range_number(n):
    value = 0
    for i in reversed(range(n)):
        value = value * 10 + i
    return value


@everyday((4,), (0,))
def enumerated_range(n):
    total = 0
    for position, value in enumerate(range(3, 3 + n)):
        total += position * value
    return total


@everyday((4, 6), (6, 4))
def zipped_ranges(n, m):
    total = 0
    for a, b in zip(range(n), range(1, m)):
        total += a * b
    return total


@everyday((np.array([3, 1, 2]), 3), (np.array([3, 1, 2]), 2))
def zip_array_with_range(xs, n):
    total = 0
    for x, i in zip(xs, range(n)):
        total += x * i
    return total


@everyday((np.array([1, 2, 3, 4]), 2))
def map_and_filter(xs, k):
    return sum(map(lambda x: x * k, xs)), sum(filter(lambda x: x % 2 == 0, xs))


@everyday((np.array([3, 1, 2]),))
def arg_min(xs):
    best = 0
    for i in range(1, len(xs)):
        if xs[i] < xs[best]:
            best = i
    return best


@everyday((np.array([3, 1, 2]),))
def key_minimum(xs):
    return min(range(len(xs)), key=lambda i: xs[i])


@everyday(
    (np.array([1, 5, 2]), 3),
)
def insertion_position(xs, x):
    position = 0
    while position < len(xs) and xs[position] < x:
        position += 1
    return position


@everyday((2, 3, 5), (1, 1, 1))
def tuples_in_tuples(a, b, c):
    pairs = ((a, b), (b, c))
    total = 0
    for x, y in pairs:
        total += x * y
    (p, _), (_, q) = pairs
    return total, p, q


@everyday((1, 5), (7, 5))
def concatenated(a, b):
    left, right = [a, b], [b, a]
    both = left + right if a < b else right + left
    return both, len(both)


@everyday((3,), (5,))
def while_with_pop(n):
    work, total = [1, 2, 3], 0
    while work:
        total += work.pop() * n
    return total


@everyday((2, 3), (4, 1))
def matrix_power_trace(a, n):
    m = [[a, 1], [1, 0]]
    result = [[1, 0], [0, 1]]
    for _ in range(n):
        result = [[sum(result[i][k] * m[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
    return result[0][0] + result[1][1]


@everyday((10, 4), (3, 4))
def coins(amount, largest_coin):
    if amount == 0:
        return 1
    if amount < 0 or largest_coin == 0:
        return 0
    return coins(amount - largest_coin, largest_coin) + coins(amount, largest_coin - 1)
