"""Functions on objects with state, and calls of them: what speculation must do as Python does."""

from __future__ import annotations

import copy
import random
from typing import Any

import tagloom as tl


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


class Counter:
    step = 2

    def __init__(self, n, friend=None):
        self.n, self.peak, self.friend = n, 0.5, friend

    def bump(self, k):
        self.n += k
        if self.n > 10:
            self.peak = self.peak * 2.0
        return self.n

    @property
    def double(self):
        return self.n * self.step


class Leaf:
    def __init__(self, value):
        self.value = value

    def evaluate(self):
        return self.value


class Sum:
    def __init__(self, one, other):
        self.one, self.other = one, other

    def evaluate(self):
        return self.one.evaluate() + self.other.evaluate()


class Product(Sum):
    def evaluate(self):
        return self.one.evaluate() * self.other.evaluate()


def tree(size: int, draw: random.Random, value: Any = None) -> Any:
    """A random tree of this many nodes."""
    if size == 0:
        return None
    left = draw.randrange(size)
    own = draw.randrange(-100, 100) if value is None else value(draw)
    return Node(own, tree(left, draw, value), tree(size - 1 - left, draw, value))


def total(node):
    return 0 if node is None else node.value + total(node.left) + total(node.right)


def depth(node):
    if node is None:
        return 0
    left, right = depth(node.left), depth(node.right)
    return 1 + (left if left > right else right)


def largest(node, best):
    if node is None:
        return best
    best = max(best, node.value)
    return largest(node.right, largest(node.left, best))


def mirror(node):
    if node is None:
        return None
    node.left, node.right = node.right, node.left
    mirror(node.left)
    mirror(node.right)
    return node


def find(node, value):
    while node is not None:
        if node.value == value:
            return node
        node = node.left if value < node.value else node.right
    return None


def count_and_bump(counter, k):
    counter.bump(k)
    counter.bump(k)
    return counter.double, counter.peak


def aliases(a, b):
    a.n = 7
    b.n = b.n + 1
    return a.n, a is b, a == b


def swap_friends(a, b):
    a.friend, b.friend = b.friend, a.friend
    return a.friend is b


def walk(counter):
    steps = 0
    while counter.friend is not None:
        counter = counter.friend
        steps += 1
    return counter, steps


def loops(n, x):
    s = 0
    for i in range(n):
        if i == 3:
            continue
        if i > 6:
            break
        s += i * x
    else:
        s += 1000
    while s > 100:
        s = s - 7
        if s == 77:
            return -1.5
    return s


def late_write(counter, n):
    counter.n = counter.n + 1
    if n < 0:
        raise ValueError(f"{n} is negative")
    counter.n = counter.n + 100 // n
    return counter.n


def rare_print(counter, n):
    counter.n = n
    if n == 5:
        print("five", counter.n)
    counter.n = counter.n + 1
    return n


def power(n):
    return n**3 - n


def evaluate(expression):
    return expression.evaluate()


def pairs(n, flag):
    p = (n, 1.5) if flag else (n + 1, 2.5)
    a, b = p
    return b, (a, flag and n > 2, not flag, n or None)


def unassigned(n):
    if n > 2:
        x = n
    return x


GLOBAL_COUNT = 5


def count_globally(n):
    global GLOBAL_COUNT
    GLOBAL_COUNT = GLOBAL_COUNT + n
    return GLOBAL_COUNT if n > 0 else None


def divide(a, b):
    return a / b, a // b, a % b


class Changing:
    def __init__(self, n):
        self.n = n

    def value(self):
        return self.n


def redefined(changing, k):
    return changing.value() + k


class RedefinedCalls(list):
    """Calls between which a method is defined again."""

    def __getitem__(self, position):
        Changing.value = (lambda self: self.n + 100) if position == 5 else _VALUE
        return list.__getitem__(self, position)

    def __deepcopy__(self, memo):
        return RedefinedCalls(copy.deepcopy(list(self), memo))


_VALUE = Changing.value
_NAN = float("nan")


class Recurrent:
    def __init__(self, size):
        self.state = tl.asarray([0.0] * size)
        self.weight = tl.asarray([[0.1 * (i - j) for j in range(size)] for i in range(size)])
        self.steps, self.is_training, self.best = 0, True, -1.0

    def step(self, x):
        self.state = tl.tanh(x @ self.weight + self.state)
        self.steps += 1
        return self.state


def train(model, x, n):
    for _ in range(n):
        y = model.step(x)
        if model.is_training:
            x = x * 0.5 + y
    model.is_training = n != 3
    return x, model.steps


def tree_state(model, node):
    if node is None:
        return model.state
    return tl.tanh((tree_state(model, node.left) + tree_state(model, node.right)) @ model.weight + node.value)


def unions(n, counter):
    for i in range(3):
        if i == n:
            return counter, n
    if n > 4:
        return n
    return n, 0.5


def double(n):
    return n + n


def mixed(n, x):
    return n if n > 3 else x


def inverted(n):
    a = ~n
    b = a + a
    return b + b, abs(b), n & a


def chosen(n, k, flag):
    x = n if flag else k
    return x + n


def is_among(x, y):
    return x in (y, 1)


def scaled(a, b):
    return a * b


def read(owner):
    return owner.n


class Layer:
    def __init__(self, weight, bias):
        self.weight, self.bias = weight, bias

    def apply(self, x):
        return x * self.weight + self.bias


class Network:
    def __init__(self, layers):
        self.layers, self.sizes, self.options = layers, [], {"count": 0, "rate": 0.5}


def run_layers(network, x):
    for layer in network.layers:
        x = layer.apply(x)
    network.sizes.append(len(network.layers))
    network.options["count"] += 1
    if "rate" in network.options and "other" not in network.options:
        network.options["rate"] = network.options["rate"] * 0.5
    return x, network.options["rate"]


def sort(numbers):
    for i in range(len(numbers)):
        for j in range(len(numbers) - 1 - i):
            if numbers[j] > numbers[j + 1]:
                numbers[j], numbers[j + 1] = numbers[j + 1], numbers[j]
    return numbers


def push_and_pop(numbers, n):
    for i in range(n):
        numbers.append(i * i)
    s = 0
    while numbers:
        s += numbers.pop()
        if s > 300:
            break
    for i, x in enumerate(numbers):
        s -= x * i
    return s, numbers[-1]


def list_aliases(a, b):
    a[0] = b[1]
    b.append(a[0])
    return a is b, len(a), len(b), a


class Branching:
    def __init__(self, value, children):
        self.value, self.children = value, children


def sum_branches(node):
    s = node.value
    for child in node.children:
        s += sum_branches(child)
    node.value = s
    return s


def grow_rows(rows):
    s = 0
    for row in rows:
        for x in row:
            s += x
        row[0] = s
        if s < 9:
            row.append(1)
    return s


def dot(a, b):
    s = 0.0
    for x, y in zip(a, b):  # noqa: B905
        s += x * y
    return s


def grow_while_iterating(numbers, limit):
    for x in numbers:
        if len(numbers) < limit:
            numbers.append(x + 1)
    return numbers[len(numbers) - 1], numbers[-2]


def rotate(owners, position):
    first = owners[position]
    owners[position] = owners[0]
    owners[0] = first
    first.n = first.n + 1
    return first is owners[0], owners[position].n


def write_both(one, other):
    one.n += 1
    other.n *= 10
    return one.n, other.n


class SharingCalls(list):
    """Calls with two objects, which at last share a `__dict__`; `copy.deepcopy` would give each its own."""

    def __init__(self) -> None:
        for n in range(8):
            one, other = Counter(n), Counter(3)
            if n >= 5:
                other.__dict__ = one.__dict__
            self.append((one, other))

    def __deepcopy__(self, memo: Any) -> SharingCalls:
        return SharingCalls()


class Attributes(dict):
    """The `__dict__` of an object, whose methods Python does not call."""

    def get(self, *arguments):
        return 99

    def __contains__(self, name):
        return False


def _with_attributes(n: int) -> Counter:
    counter = Counter(n)
    counter.__dict__ = Attributes(counter.__dict__)
    return counter


def _trees(seed: int, sizes: tuple[int, ...] = (5, 3, 0, 8, 1, 12, 0, 7)) -> list[Any]:
    draw = random.Random(seed)
    return [tree(size, draw) for size in sizes]


def _array_trees() -> list[Any]:
    draw = random.Random(9)
    return [tree(size, draw, lambda draw: tl.asarray([draw.random(), draw.random()])) for size in (3, 1, 5, 0, 4, 7, 2)]


def _counters() -> list[Counter]:
    a, b, c = Counter(1), Counter(2), Counter(3)
    a.friend, b.friend = b, c
    return [a, b, c]


def _search_tree() -> Node:
    return Node(8, Node(3, Node(1), Node(6)), Node(10, None, Node(14)))


def _expressions() -> list[Any]:
    two = Leaf(2)
    three = Sum(Leaf(1), Product(two, Leaf(3)))
    return [three, three, Product(two, two), Leaf(4), Leaf(2.5), Product(Leaf(2.5), two), three, Product(three, three)]


def _branching(draw: random.Random, depth: int) -> Branching:
    children = [_branching(draw, depth - 1) for _ in range(draw.randrange(3) if depth else 0)]
    return Branching(draw.randrange(9), children)


def _network(size: int) -> Network:
    return Network([Layer(tl.asarray([k + 1.0, 0.5]), tl.asarray([0.5, -1.0])) for k in range(size)])


def _lists() -> list[tuple[Any, ...]]:
    lists = [[1, 2], [3, 4], [5, 6]]
    pairs = ((0, 1), (1, 2), (0, 2), (2, 1), (1, 1), (2, 2), (0, 1), (0, 0), (1, 0))
    return [(lists[i], lists[j]) for i, j in pairs]


SCENARIOS: dict[str, Any] = {
    "run_layers": (
        run_layers,
        lambda: [(each, tl.asarray([1.0, k])) for each in (_network(2), _network(3)) for k in range(4)],
    ),
    "sort": (sort, lambda: [([7 * k % 5 - k % 3 for k in range(size)],) for size in (3, 4, 0, 5, 8, 1, 9)]),
    "push_and_pop": (push_and_pop, lambda: [(each, n) for each in [[1, 2, 3]] for n in (2, 3, 4, 5, 30, 40, 0, 1)]),
    "list_aliases": (list_aliases, _lists),
    "sum_branches": (sum_branches, lambda: [(_branching(random.Random(seed), 3),) for seed in range(7)]),
    "grow_rows": (grow_rows, lambda: [([[1, 2], [3], [4, 5, 6]][:k],) for k in (1, 2, 3, 3, 2, 1, 0, 3)]),
    "dot": (dot, lambda: [([1.0, 2.0, 3.0][:i], [0.5, 0.25][:j]) for i in range(4) for j in range(3)]),
    "grow_while_iterating": (grow_while_iterating, lambda: [([k, 2], 5 + 2 * k) for k in range(7)]),
    "write_both": (write_both, SharingCalls),
    "rotate": (rotate, lambda: [(each, k) for each in [_counters()] for k in (0, 1, 2, -1, 1, 3, -3, 2)]),
    "total": (total, lambda: [(each,) for each in _trees(1)]),
    "depth": (depth, lambda: [(each,) for each in _trees(2)]),
    "largest": (largest, lambda: [(each, -1000) for each in _trees(3)]),
    "mirror": (mirror, lambda: [(each,) for each in _trees(4)] + [(node,) for node in [tree(6, random.Random(5))] * 3]),
    "find": (find, lambda: [(each, k) for each in [_search_tree()] for k in (8, 1, 7, 14, 3, 2, 10)]),
    "count_and_bump": (count_and_bump, lambda: [(each, k) for each in _counters()[:2] for k in (1, 2, 3, -4)]),
    "aliases": (
        aliases,
        lambda: [
            (a, b)
            for c in [_counters()]
            for a, b in ((c[0], c[1]), (c[1], c[2]), (c[0], c[0]), (c[2], c[2]), (c[0], c[2]), (c[1], c[1]))
        ],
    ),
    "swap_friends": (
        swap_friends,
        lambda: [(c[i], c[j]) for c in [_counters()] for i, j in ((0, 1), (1, 2), (0, 2), (2, 2), (1, 0), (0, 1))],
    ),
    "walk": (walk, lambda: [(c[i],) for c in [_counters()] for i in (0, 1, 2, 0, 1, 2)]),
    "loops": (loops, lambda: [(n, x) for n, x in zip(range(9), (1, 2, 30, 1, 50, 2, 3, 4, 5), strict=True)]),
    "loops of floats": (
        loops,
        lambda: [(n, x) for n, x in zip(range(9), (1.5, 2, 30.5, 1, 50, 2.5, 3, 4, 5), strict=True)],
    ),
    "late_write": (late_write, lambda: [(c[0], n) for c in [_counters()] for n in (1, 2, 3, 4, -1, 5, 0, 6)]),
    "rare_print": (rare_print, lambda: [(c[0], n) for c in [_counters()] for n in (1, 2, 3, 4, 5, 6, 7, 5)]),
    "power": (power, lambda: [(n,) for n in (1, 2, -3, 10**5, -(10**6), 10**7, 10**20, 4, 5)]),
    "evaluate": (evaluate, lambda: [(each,) for each in _expressions()]),
    "pairs": (pairs, lambda: [(n, n % 2 == 0) for n in range(8)]),
    "unassigned": (unassigned, lambda: [(n,) for n in (3, 4, 5, 6, 1, 7, 8)]),
    "count_globally": (count_globally, lambda: [(n,) for n in (1, -1, 2, 3, 0, -7, 4)]),
    "divide": (
        divide,
        lambda: [(a, b) for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (5, 0), (2**55, 3), (6, 3))],
    ),
    "redefined": (redefined, lambda: RedefinedCalls([(c, k) for c in [Changing(1)] for k in range(8)])),
    "train": (
        train,
        lambda: [(m, tl.asarray([1.0, k, 0.5]), k) for m in [Recurrent(3)] for k in (1, 2, 3, 0, 3, 1, 2)],
    ),
    "tree_state": (tree_state, lambda: [(m, node) for m in [Recurrent(2)] for node in _array_trees()]),
    "unions": (unions, lambda: [(n, Counter(1)) for n in (0, 3, 5, 1, 4, 6, 2, 7)]),
    "double": (double, lambda: [(n,) for n in (1, 2, 3, 4, 2.5, -0.0, 2**70, True, 5)]),
    "inverted": (inverted, lambda: [(n,) for n in (1, 2, 3, 4, 2**62 - 1, -(2**62) + 1, 5)]),
    "chosen": (chosen, lambda: [(n, n + 1, n % 2 == 0) for n in (1, 2, 3, 4, 2**63 - 1, 1, 2**62 - 1)]),
    "is_among": (
        is_among,
        lambda: [(x, y) for x, y in ((1, 2), (2, 3), (3, 3), (4, 4), (2.5, 2.5), (_NAN, _NAN), (5, 1))],
    ),
    "scaled": (
        scaled,
        lambda: [
            (tl.asarray(a, dtype=tl.float64), tl.asarray([b, 0.5]) if b else tl.asarray(2))
            for a, b in ((1, 1.5), (2, 2.5), (3, 3.5), (4, 4.5), (5, None), (6, None), (7, 1.5))
        ],
    ),
    "read": (read, lambda: [(_with_attributes(n),) for n in range(6)]),
    "mixed": (
        mixed,
        lambda: [(n, x) for n, x in ((1, 2), (5, 6), (2, 1.5), (7, 2.5), (0, True), (3, None), (4, "a"), (1, 9))],
    ),
}
