"""Lists that grow, tables, queues and stacks, as a programmer writes them."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from .table import everyday

XS = np.array([5, 3, 8, 3, 9, 2])
SORTED = np.array([1, 3, 3, 5, 8])
EDGES_FROM = np.array([0, 0, 1, 2, 3])
EDGES_TO = np.array([1, 2, 3, 3, 4])


@everyday((12,), (1,), (30,))
def prime_factors(n):
    factors = []
    p = 2
    while p * p <= n:
        while n % p == 0:
            factors.append(p)
            n //= p
        p += 1
    if n > 1:
        factors.append(n)
    return factors


@everyday((20,), (2,), (3,))
def primes_below(n):
    primes = []
    for k in range(2, n):
        if all(k % p for p in primes):
            primes.append(k)
    return primes


@everyday((20,), (3,))
def sieve_of_eratosthenes(n):
    flags = [True] * (n + 1)
    flags[0] = flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return [i for i in range(n + 1) if flags[i]]


@everyday((6,), (1,), (27,))
def collatz_path(n):
    path = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        path.append(n)
    return path


@everyday((13,), (0,), (8,))
def binary_digits(n):
    if n == 0:
        return [0]
    bits = []
    while n:
        bits.insert(0, n % 2)
        n //= 2
    return bits


@everyday((6,), (0,), (1,))
def climbing_ways(n):
    ways = [0] * (n + 1)
    ways[0] = 1
    for i in range(1, n + 1):
        ways[i] = ways[i - 1] + (ways[i - 2] if i > 1 else 0)
    return ways[n]


@everyday((11,), (0,), (3,))
def coin_table(amount):
    best = [0] + [10**9] * amount
    for value in range(1, amount + 1):
        for coin in (1, 4, 5):
            if coin <= value and best[value - coin] + 1 < best[value]:
                best[value] = best[value - coin] + 1
    return best[amount]


@everyday((10,), (0,))
def knapsack(capacity):
    weights, values = [3, 4, 5], [4, 5, 7]
    best = [0] * (capacity + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[-1]


@everyday((XS,), (np.array([4]),))
def prefix_sums(xs):
    sums = [0]
    for x in xs:
        sums.append(sums[-1] + x)
    return sums


@everyday((5,), (0,))
def running_totals(n):
    totals, total = [], 0.0
    for i in range(n):
        total += i / 2
        totals.append(total)
    return totals


@everyday((XS, 4), (XS, 100))
def split_by_pivot(xs, pivot):
    low, high = [], []
    for x in xs:
        if x < pivot:
            low.append(x)
        else:
            high.append(x)
    return low, high


@everyday((XS, 4), (XS, 0))
def filtered(xs, limit):
    return [x for x in xs if x > limit]


@everyday((XS, 3), (XS, 7))
def positions_of(xs, key):
    return [i for i, x in enumerate(xs) if x == key]


@everyday((np.array([1, 1, 2, 2, 2, 5]),), (np.array([4]),))
def run_lengths(xs):
    runs = []
    count = 1
    for previous, current in zip(xs, xs[1:]):
        if previous == current:
            count += 1
        else:
            runs.append((previous, count))
            count = 1
    runs.append((xs[-1], count))
    return runs


@everyday((3, 4), (1, 1), (2, 0))
def decode_runs(a, b):
    out = []
    for value, count in ((7, a), (9, b)):
        for _ in range(count):
            out.append(value)
    return out


@everyday((np.array([1, 4, 6]), np.array([2, 3, 9])), (np.array([1]), np.array([0])))
def merge_sorted(xs, ys):
    merged, i, j = [], 0, 0
    while i < len(xs) and j < len(ys):
        if xs[i] <= ys[j]:
            merged.append(xs[i])
            i += 1
        else:
            merged.append(ys[j])
            j += 1
    while i < len(xs):
        merged.append(xs[i])
        i += 1
    while j < len(ys):
        merged.append(ys[j])
        j += 1
    return merged


@everyday((XS,), (np.array([2, 1]),))
def insertion_sort(xs):
    items = []
    for x in xs:
        place = 0
        while place < len(items) and items[place] <= x:
            place += 1
        items.insert(place, x)
    return items


@everyday((XS,), (np.array([2, 1]),))
def selection_sort(xs):
    rest, ordered = list(xs), []
    while rest:
        smallest = min(rest)
        rest.remove(smallest)
        ordered.append(smallest)
    return ordered


@everyday((XS,), (np.array([1]),))
def unique_values(xs):
    seen = []
    for x in xs:
        if x not in seen:
            seen.append(x)
    return seen


@everyday((XS,), (SORTED,))
def remove_adjacent_duplicates(xs):
    out = []
    for x in xs:
        if not out or out[-1] != x:
            out.append(x)
    return out


@everyday((5, 2), (7, 3), (1, 1))
def josephus(n, k):
    people = list(range(1, n + 1))
    index = 0
    while len(people) > 1:
        index = (index + k - 1) % len(people)
        people.pop(index)
    return people[0]


@everyday((7,), (2,))
def queue_of_cards(n):
    cards = []
    for i in range(1, n + 1):
        cards.append(i)
    while len(cards) > 1:
        cards.pop(0)
        cards.append(cards.pop(0))
    return cards[0]


@everyday((4,), (0,))
def triangle_rows_last(n):
    row = [1]
    for _ in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]
    return row


@everyday((3, 4), (1, 1), (2, 5))
def grid_paths(rows, columns):
    table = [[1] * columns for _ in range(rows)]
    for i in range(1, rows):
        for j in range(1, columns):
            table[i][j] = table[i - 1][j] + table[i][j - 1]
    return table[rows - 1][columns - 1]


@everyday((3,), (1,))
def identity_matrix(n):
    return [[1 if i == j else 0 for j in range(n)] for i in range(n)]


@everyday((np.array([1, 2, 3, 2]), np.array([2, 3, 1])), (np.array([1]), np.array([1])))
def longest_common_subsequence(xs, ys):
    row = [0] * (len(ys) + 1)
    for x in xs:
        new = [0]
        for j, y in enumerate(ys):
            new.append(row[j] + 1 if x == y else max(row[j + 1], new[-1]))
        row = new
    return row[-1]


@everyday((np.array([3, 1, 4, 1, 5, 9, 2, 6]),), (np.array([1]),))
def longest_increasing(xs):
    best = [1] * len(xs)
    for i in range(len(xs)):
        for j in range(i):
            if xs[j] < xs[i]:
                best[i] = max(best[i], best[j] + 1)
    return max(best)


@everyday((np.array([3, 1, 4, 1, 5]),), (np.array([1, 2]),))
def next_greater(xs):
    result, stack = [-1] * len(xs), []
    for i in range(len(xs)):
        while stack and xs[stack[-1]] < xs[i]:
            result[stack.pop()] = xs[i]
        stack.append(i)
    return result


@everyday((np.array([1, 1, -1, 1, -1, -1]),), (np.array([1, -1, -1]),), (np.array([1, 1]),))
def balanced(signs):
    stack = []
    for s in signs:
        if s > 0:
            stack.append(s)
        elif stack:
            stack.pop()
        else:
            return False
    return not stack


@everyday((np.array([2, 3, -1, 4, -2]),), (np.array([1, 1, -1]),))
def reverse_polish(tokens):
    stack = []
    for t in tokens:
        if t == -1:
            stack.append(stack.pop() + stack.pop())
        elif t == -2:
            stack.append(stack.pop() * stack.pop())
        else:
            stack.append(t)
    return stack[0]


@everyday((np.array([2, -1]),), (np.array([-1]),))
def reverse_polish_with_error(tokens):
    stack = []
    for t in tokens:
        if t < 0:
            stack.append(stack.pop() + stack.pop())
        else:
            stack.append(t)
    return stack.pop()


@everyday((EDGES_FROM, EDGES_TO, 0), (EDGES_FROM, EDGES_TO, 3))
def breadth_first(sources, targets, start):
    queue, order = [start], []
    visited = [False] * 5
    visited[start] = True
    while queue:
        node = queue.pop(0)
        order.append(node)
        for a, b in zip(sources, targets):
            if a == node and not visited[b]:
                visited[b] = True
                queue.append(b)
    return order


@everyday((EDGES_FROM, EDGES_TO, 0), (EDGES_FROM, EDGES_TO, 4))
def depth_first_count(sources, targets, start):
    stack, seen, count = [start], [False] * 5, 0
    while stack:
        node = stack.pop()
        if seen[node]:
            continue
        seen[node] = True
        count += 1
        for a, b in zip(sources, targets):
            if a == node:
                stack.append(b)
    return count


@everyday((5,), (1,))
def distances_on_a_ring(n):
    distance = [-1] * n
    distance[0] = 0
    queue = [0]
    for node in queue:
        for step in (1, n - 1):
            other = (node + step) % n
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


@everyday((SORTED, 11), (SORTED, 100))
def pair_with_sum(xs, target):
    low, high = 0, len(xs) - 1
    while low < high:
        total = xs[low] + xs[high]
        if total == target:
            return [low, high]
        if total < target:
            low += 1
        else:
            high -= 1
    return []


@everyday((XS, 12), (XS, 1))
def longest_window(xs, limit):
    start, total, best = 0, 0, 0
    for end in range(len(xs)):
        total += xs[end]
        while total > limit:
            total -= xs[start]
            start += 1
        best = max(best, end - start + 1)
    return best


@everyday((SORTED, 3), (SORTED, 9), (SORTED, 0))
def bisect_left(xs, x):
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@everyday((5,), (1,))
def moving_pairs(n):
    values = [i * i % 7 for i in range(n)]
    return [a + b for a, b in zip(values, values[1:])]


@everyday((6,), (0,))
def evens_and_odds(n):
    evens = [i for i in range(n) if i % 2 == 0]
    odds = [i for i in range(n) if i % 2]
    return evens + odds


@everyday((5, 2), (4, 0), (3, 7))
def rotated(n, k):
    xs = list(range(n))
    k = k % n
    return xs[k:] + xs[:k]


@everyday((4,), (1,))
def reversed_copy(n):
    xs = [i * 3 for i in range(n)]
    xs.reverse()
    return xs


@everyday((6,), (1,))
def sorted_by_remainder(n):
    return sorted(range(n), key=lambda i: (i % 3, i))


@everyday((7, 3), (4, 1))
def largest_three(n, m):
    values = [(i * m) % 5 for i in range(n)]
    values.sort(reverse=True)
    return values[:3]


@everyday((5,), (0,))
def sum_of_list(n):
    values = [i * i for i in range(n)]
    return sum(values), len(values)


@everyday((5,), (0,))
def extremes(n):
    values = [(i * 7) % 5 for i in range(n)]
    return max(values), min(values)


@everyday((5, 4), (5, 9))
def contains(n, x):
    squares = [i * i for i in range(n)]
    return x in squares


@everyday((5, 4), (5, 5))
def index_in_list(n, x):
    squares = [i * i for i in range(n)]
    return squares.index(x)


@everyday((5, 4), (2, 7))
def item_or_error(n, i):
    values = [2 * k for k in range(n)]
    return values[i]


@everyday((3, 1), (3, 3))
def assign_or_error(n, i):
    values = [0] * n
    values[i] = 5
    return values


@everyday((4,), (0,))
def polynomial(n):
    coefficients = [k + 1 for k in range(n)]
    value = 0
    for c in reversed(coefficients):
        value = value * 2 + c
    return value


@everyday((3,), (0,), gap="Python returned 0, the program 0.0")
def weighted_sum(n):
    weights = [0.5 * k for k in range(n)]
    return sum(w * k for k, w in enumerate(weights))


@everyday((5,), (2,))
def swapped_halves(n):
    xs = [k for k in range(n)]
    for i in range(n // 2):
        xs[i], xs[n - 1 - i] = xs[n - 1 - i], xs[i]
    return xs


@everyday((4, True), (4, False))
def grows_on_one_path(n, flag):
    xs = [n]
    if flag:
        xs.append(n + 1)
    return xs, len(xs)


@everyday((XS, 3), (XS, 1))
def count_by_bucket(xs, width):
    counts = [0] * (10 // width + 1)
    for x in xs:
        counts[x // width] += 1
    return counts


@everyday((5,), (0,), gap="Python returned [1], the program [1.0]")
def mixed_numbers(n):
    out = [1]
    for i in range(n):
        out.append(i / 2)
    return out


@everyday((4,), (1,))
def extended(n):
    out = []
    for i in range(n):
        out += [i, -i]
    out.extend(range(n))
    return out


@everyday((3,), (0,))
def pairs_below(n):
    return [(i, j) for i in range(n) for j in range(i)]


@everyday((6, 3), (2, 5))
def printed_items(n, k):
    items = []
    for i in range(n):
        if i % k == 0:
            items.append(i)
    for item in items:
        print("item", item)
    return len(items)


@everyday((3, 2), (0, 1))
def helper_appends(n, k):
    out = []

    def add(x):
        out.append(x * k)

    for i in range(n):
        add(i)
    return out


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()


@everyday((4, 2), (1, 3))
def object_with_list(n, k):
    stack = Stack()
    for i in range(n):
        stack.push(i)
    for _ in range(k):
        stack.pop()
    return len(stack.items)
