"""Small programs on objects and state, each of several features at once, made as scenarios are (`object_scenarios`)."""

# ruff: noqa: B009, B010

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import tagloom as tl

from .object_scenarios import ObjectScenario

PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""


def program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    PROGRAMS[make.__name__] = make
    return make


@program
def doubly_linked_removal(speculate):
    class Link:
        def __init__(self, value):
            self.value, self.before, self.after = value, None, None

    class Chain:
        def __init__(self):
            self.first = self.last = None
            self.size = 0

        def append(self, value):
            link = Link(value)
            link.before = self.last
            if self.last is None:
                self.first = link
            else:
                self.last.after = link
            self.last = link
            self.size += 1
            return link

        def remove(self, link):
            if link.before is None:
                self.first = link.after
            else:
                link.before.after = link.after
            if link.after is None:
                self.last = link.before
            else:
                link.after.before = link.before
            self.size -= 1

    chain = Chain()
    for value in range(5):
        chain.append(value)

    @speculate
    def move_to_end(chain, position):
        link = chain.first
        for _ in range(position):
            link = link.after
        chain.remove(link)
        chain.append(link.value)
        return link.value, chain.first is link, chain.last.value

    return move_to_end, [(chain, k) for k in (0, 1, 4, 2, 3, 0, 4, 1, 5, 2, 0, 4)]


@program
def cached_property(speculate):
    class Sphere:
        def __init__(self, radius):
            self._radius, self._volume, self.computed = radius, None, 0

        @property
        def radius(self):
            return self._radius

        @radius.setter
        def radius(self, value):
            if value != self._radius:
                self._radius, self._volume = value, None

        @property
        def volume(self):
            if self._volume is None:
                self.computed += 1
                self._volume = 4.18879 * self._radius * self._radius * self._radius
            return self._volume

    spheres = [Sphere(1.0), Sphere(2.0)]

    @speculate
    def resize(sphere, other, radius):
        before = sphere.volume + other.volume
        sphere.radius = radius
        other.radius += 0.0
        return sphere.volume - before, sphere.computed, other.computed

    radii = (1.0, 2.0, 2.0, 3.0, 3.0, 1.5, 1.5, 2, 2, 2.0, 4.0, -1.0)
    return resize, [(spheres[k % 2], spheres[k % 3 % 2], radius) for k, radius in enumerate(radii)]


@program
def derivative_of_expressions(speculate):
    class Number:
        def __init__(self, value):
            self.value = value

        def evaluate(self, x):
            return self.value

        def derive(self):
            return Number(0)

    class Unknown:
        def evaluate(self, x):
            return x

        def derive(self):
            return Number(1)

    class Sum:
        def __init__(self, left, right):
            self.left, self.right = left, right

        def evaluate(self, x):
            return self.left.evaluate(x) + self.right.evaluate(x)

        def derive(self):
            return Sum(self.left.derive(), self.right.derive())

    class Product:
        def __init__(self, left, right):
            self.left, self.right = left, right

        def evaluate(self, x):
            return self.left.evaluate(x) * self.right.evaluate(x)

        def derive(self):
            return Sum(Product(self.left.derive(), self.right), Product(self.left, self.right.derive()))

    def polynomial(degree):
        tree = Number(degree)
        for k in range(degree):
            tree = Sum(Product(tree, Unknown()), Number(k))
        return tree

    @speculate
    def slope(tree, x):
        derived = tree.derive()
        return derived.evaluate(x), derived

    return slope, [(polynomial(degree), x) for degree, x in zip((1, 2, 3, 1, 4, 2, 0, 3, 5, 2), range(10), strict=True)]


@program
def observers(speculate):
    class Counter:
        def __init__(self, factor):
            self.total, self.factor = 0, factor

        def update(self, value):
            self.total += value * self.factor

    class Logger:
        def __init__(self):
            self.lines = []

        def update(self, value):
            self.lines.append(value)
            print(f"logged {value}")

    class Subject:
        def __init__(self):
            self.observers, self.value = [], 0

        def set(self, value):
            if value == self.value:
                return False
            self.value = value
            for observer in self.observers:
                observer.update(value)
            return True

    subject, counter, logger = Subject(), Counter(2), Logger()
    subject.observers += [counter, logger, counter]

    @speculate
    def change(subject, value):
        return subject.set(value), len(subject.observers)

    return change, [(subject, value) for value in (1, 1, 2, 3, 3, 5, 8, 8, 0, 0, -1, 2)]


@program
def union_find(speculate):
    class Forest:
        def __init__(self, count):
            self.parents = list(range(count))
            self.count = count

    def find(forest, item):
        while forest.parents[item] != item:
            forest.parents[item] = forest.parents[forest.parents[item]]
            item = forest.parents[item]
        return item

    forest = Forest(10)

    @speculate
    def unite(forest, one, other):
        first, second = find(forest, one), find(forest, other)
        if first == second:
            return False
        forest.parents[first] = second
        forest.count -= 1
        return True

    pairs = ((0, 1), (2, 3), (1, 2), (0, 3), (4, 5), (6, 7), (5, 6), (8, 9), (9, 10), (7, 0), (9, 0), (3, 8))
    return unite, [(forest, *pair) for pair in pairs]


@program
def priority_queue(speculate):
    class Job:
        def __init__(self, rank, name):
            self.rank, self.name = rank, name

        def __lt__(self, other):
            return self.rank < other.rank

    def sift(jobs, position):
        while position > 0:
            parent = (position - 1) // 2
            if not jobs[position] < jobs[parent]:
                break
            jobs[position], jobs[parent] = jobs[parent], jobs[position]
            position = parent

    jobs = []

    @speculate
    def push(jobs, job):
        jobs.append(job)
        sift(jobs, len(jobs) - 1)
        return jobs[0]

    ranks = (5, 3, 8, 1, 9, 2, 2, 7, 0, 4, 6)
    return push, [(jobs, Job(rank, f"job {rank}")) for rank in ranks]


@program
def error_in_the_middle(speculate):
    class Ledger:
        def __init__(self):
            self.balance, self.entries, self.failures = 100, [], 0

        def pay(self, amount):
            self.balance -= amount
            if self.balance < 0:
                raise ValueError(f"{amount} is too much")
            self.entries.append(amount)

    ledger = Ledger()

    @speculate
    def pay_all(ledger, amounts):
        paid = 0
        for amount in amounts:
            try:
                ledger.pay(amount)
            except ValueError as error:
                ledger.failures += 1
                ledger.balance += amount
                print("refused:", error)
            else:
                paid += amount
            finally:
                ledger.last = amount
        return paid

    lists = ([1, 2], [3], [], [4, 5, 6], [10], [200], [1], [2, 3], [500, 1], [5], [7])
    return pay_all, [(ledger, amounts) for amounts in lists]


@program
def nested_finally(speculate):
    class Trace:
        def __init__(self):
            self.steps = []

    trace = Trace()

    @speculate
    def run(trace, n):
        for k in range(n):
            try:
                try:
                    if k == 3:
                        break
                    if k == 1:
                        continue
                    trace.steps.append(k)
                finally:
                    trace.steps.append(10 + k)
            finally:
                trace.steps.append(100 + k)
        else:
            return "complete"
        return len(trace.steps)

    return run, [(trace, n) for n in (2, 3, 1, 4, 2, 5, 0, 6, 3, 1)]


@program
def views_of_numpy(speculate):
    class Window:
        def __init__(self, base, start, stop):
            self.base, self.view = base, base[start:stop]

    base = np.arange(6.0)
    windows = [Window(base, 0, 3), Window(base, 2, 5)]

    @speculate
    def shift(window, other, amount):
        window.view[0] = other.view[-1] + amount
        window.view += 1.0
        return float(other.view.sum()), window.view.base is other.view.base

    return shift, [(windows[k % 2], windows[k % 3 % 2], float(k)) for k in range(10)]


@program
def arrays_with_two_names(speculate):
    class Holder:
        def __init__(self, array):
            self.array = array

    shared = tl.asarray([1.0, 2.0, 3.0])
    holders = [Holder(shared), Holder(shared), Holder(tl.asarray([0.0, 0.5, 1.0]))]

    @speculate
    def add(one, other, k):
        before = one.array
        one.array += k
        other.array = other.array * 2.0
        return one.array is before, before, one.array - other.array

    return add, [(holders[k % 3], holders[k % 2], float(k)) for k in range(10)]


_level = 0
_trail: list[int] = []


@program
def globals_of_two_functions(speculate):
    global _level, _trail
    _level, _trail = 0, []

    def enter(n):
        global _level
        _level += n
        _trail.append(_level)

    @speculate
    def walk(n):
        global _trail
        before = _trail
        enter(n)
        if n % 4 == 3:
            _trail = [_level]
            enter(1)
        return _level, before is _trail, len(before), len(_trail)

    return walk, [(n,) for n in (1, 2, 0, 3, 4, 5, 7, 8, 3, 2, 11)]


@program
def two_closures_of_one_cell(speculate):
    def make():
        count, log = 0, []

        def bump(k):
            nonlocal count
            count += k
            log.append(count)
            return count

        def reset():
            nonlocal count, log
            log = [count]
            count = 0

        def run(k):
            if k < 0:
                reset()
                return bump(-k)
            return bump(k) + bump(1), len(log)

        return run

    return speculate(make()), [(k,) for k in (1, 2, 3, -1, 4, 0, -2, 5, -3, 1)]


@program
def class_value_hidden_by_instance(speculate):
    class Base:
        count = 10
        log: ClassVar[list[int]] = []

        def bump(self):
            self.count += 1
            self.log.append(self.count)
            return self.count

    class Special(Base):
        count = 20

        def bump(self):
            type(self).count += 100
            return super().bump()

    owners = [Base(), Special(), Base(), Special()]

    @speculate
    def bump(owner):
        return owner.bump(), type(owner).count, len(Base.log)

    return bump, [(owners[k],) for k in (0, 1, 0, 2, 3, 1, 3, 2, 0, 1, 2)]


@program
def kinds_of_numbers(speculate):
    class Cell:
        def __init__(self, value):
            self.value = value

    cells = [Cell(1), Cell(True), Cell(2.5), Cell(-3)]

    @speculate
    def combine(one, other, n):
        one.value = one.value + other.value if n % 2 else one.value - n
        ratio = -7 // (n + 1), -7 % (n + 1), 7 / (n + 1)
        flag = one.value == other.value
        return one.value, ratio, flag + 1, -0.0 * n, bool(one.value), isinstance(one.value, bool)

    pairs = ((0, 3), (0, 3), (3, 0), (0, 0), (1, 0), (1, 3), (2, 0), (0, 2), (3, 1), (2, 2), (1, 1))
    return combine, [(cells[a], cells[b], n) for n, (a, b) in enumerate(pairs)]


@program
def mutual_recursion(speculate):
    class Item:
        def __init__(self, value, rest=None):
            self.value, self.rest, self.parity = value, rest, None

    class Tally:
        odd = 0
        even = 0

    def visit_even(item, tally):
        if item is None:
            return 0
        item.parity = "even"
        tally.even += item.value
        return item.value + visit_odd(item.rest, tally)

    def visit_odd(item, tally):
        if item is None:
            return 0
        item.parity = "odd"
        tally.odd += item.value
        return visit_even(item.rest, tally) - item.value

    def chain(n):
        item = None
        for value in range(n):
            item = Item(value, item)
        return item

    tally, shared = Tally(), chain(4)

    @speculate
    def alternate(item, tally):
        return visit_even(item, tally), tally.even, tally.odd

    chains = [chain(n) for n in (2, 3, 1, 0, 5, 6)]
    return alternate, [(item, tally) for item in (*chains, shared, shared.rest, shared, None, chains[0])]


@program
def counted_words(speculate):
    class Book:
        def __init__(self):
            self.counts, self.longest = {"a": 0, "b": 0}, "a"

    book = Book()

    @speculate
    def count(book, word, k):
        if word in book.counts:
            book.counts[word] += k
        else:
            book.counts[word] = k
        if book.counts[word] > book.counts[book.longest]:
            book.longest = word
        return book.longest, book.counts.get("c", -1), len(book.counts)

    words = ("a", "b", "a", "b", "b", "c", "a", "c", "d", "c", "a")
    return count, [(book, word, k) for k, word in enumerate(words)]


@program
def diamond(speculate):
    class Root:
        def __init__(self, n):
            self.path, self.n = [], n

        def run(self, k):
            self.path.append("root")
            return k + self.n

    class Left(Root):
        def run(self, k):
            self.path.append("left")
            return super().run(k) * 2

    class Right(Root):
        def run(self, k):
            self.path.append("right")
            return super().run(k + 1) + 3

    class Bottom(Left, Right):
        def __init__(self, n):
            super().__init__(n + 1)
            self.extra = n

        def run(self, k):
            return super().run(k) - self.extra

    owners = [Bottom(1), Left(2), Right(3), Root(4)]

    @speculate
    def run(owner, k):
        return owner.run(k), len(owner.path)

    return run, [(owners[a], k) for k, a in enumerate((0, 0, 0, 0, 1, 2, 0, 1, 2, 3, 3, 0))]


@program
def rows_that_are_one_list(speculate):
    shared = [[0] * 3] * 3
    separate = [[0, 0, 0] for _ in range(3)]

    @speculate
    def mark(grid, i, j):
        grid[i][j] += 1
        row = grid[j]
        grid[j] = grid[i]
        grid[i] = row
        total = 0
        for row in grid:
            for cell in row:
                total += cell
        return total, grid[0] is grid[1]

    positions = ((0, 1), (1, 2), (2, 0), (0, 0), (1, 1), (2, 1), (0, 2), (2, 2), (1, 0), (-1, 0), (3, 0))
    return mark, [(shared if k % 2 else separate, *each) for k, each in enumerate(positions)]


@program
def growing_list_in_its_loop(speculate):
    class Node:
        def __init__(self, n):
            self.children = [Node(n - 1) for _ in range(n)]
            self.order = -1

    @speculate
    def number_nodes(root):
        pending = [root]
        for position, node in enumerate(pending):
            node.order = position
            pending.extend(node.children)
        return len(pending), pending[-1].order

    roots = [Node(n) for n in (1, 2, 0, 3, 2, 1, 3, 0, 2, 3)]
    return number_nodes, [(root,) for root in roots]


@program
def effects_in_conditions(speculate):
    class Probe:
        def __init__(self):
            self.asked = 0

        def ask(self, value):
            self.asked += 1
            return value

    probe = Probe()

    @speculate
    def decide(probe, a, b):
        first = probe.ask(a) < probe.ask(b) < probe.ask(5)
        second = probe.ask(a) and (probe.ask(b) or probe.ask(7))
        if (c := probe.ask(a) + b) > 3 and not probe.ask(b) == a:
            probe.asked += c
        return first, second, c, probe.asked

    pairs = ((1, 2), (2, 1), (0, 4), (3, 3), (4, 6), (0, 0), (5, 1), (2, 4), (1, 9), (3, 0))
    return decide, [(probe, *pair) for pair in pairs]


@program
def states_with_names(speculate):
    class Door:
        def __init__(self):
            self.state, self.log = "closed", []

    door = Door()

    @speculate
    def act(door, action):
        before = door.state
        if action == "open" and door.state == "closed":
            door.state = "open"
        elif action == "close" and door.state != "locked":
            door.state = "closed"
        elif action == "lock" and door.state == "closed":
            door.state = "locked"
        elif action == "unlock" and door.state == "locked":
            door.state = "closed"
        if before != door.state:
            door.log.append(f"{before} -> {door.state}")
            print(door.log[-1])
        return door.state, before == door.state

    actions = ("open", "close", "lock", "open", "unlock", "open", "open", "lock", "close", "lock", "kick", "unlock")
    return act, [(door, action) for action in actions]


@program
def not_a_number(speculate):
    class Extremes:
        def __init__(self):
            self.low, self.high, self.count = 1e9, -1e9, 0

    extremes, nan = Extremes(), float("nan")

    @speculate
    def note(extremes, x, y):
        extremes.low = min(extremes.low, x)
        extremes.high = max(x, extremes.high)
        if x == y:
            extremes.count += 1
        return extremes.low, extremes.high, x != x, max(x, y), min(y, x), x < y, not x > y

    numbers = ((1.0, 2.0), (3.0, 3.0), (-1.0, 0.0), (0.0, -0.0), (nan, 1.0), (1.0, nan), (nan, nan), (-0.0, 0.0))
    return note, [(extremes, *pair) for pair in (*numbers, (5.0, 4.0), (float("inf"), 1.0), (2.0, float("-inf")))]


@program
def swallowed_errors(speculate):
    class Guard:
        def __init__(self, swallows):
            self.swallows, self.depth, self.errors = swallows, 0, 0

        def __enter__(self):
            self.depth += 1
            return self

        def __exit__(self, kind, error, traceback):
            self.depth -= 1
            if kind is not None:
                self.errors += 1
            return self.swallows

    guards = [Guard(True), Guard(False)]

    @speculate
    def divide(guard, values, n):
        with guard as inner:
            values[0] = inner.depth
            values[1] = 100 // n
            values[2] += 1
        return values[1], guard.errors

    values = [0, 0, 0]
    return divide, [(guards[k % 2], values, n) for k, n in enumerate((1, 2, 3, 4, 5, 0, 0, 6, 7, 8, 0, 9))]


@program
def order_of_evaluation(speculate):
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def take(self):
            self.x += 10
            return self.y

    pairs = [Pair(1, 2), Pair(3, 4)]

    @speculate
    def exchange(one, other, k):
        one.x, other.x = other.x, one.x
        one.x += other.take()
        one.y, one.x = one.x + k, one.y
        total = one.x + one.take() + one.x
        return total, one.x, one.y, other.x

    return exchange, [(pairs[k % 2], pairs[k % 3 % 2], k) for k in range(12)]


@program
def frozen_points(speculate):
    @dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = 0

        def moved(self, dx, dy=1):
            return Point(self.x + dx, self.y + dy)

    @dataclass
    class Path:
        points: list[Any] = field(default_factory=list)
        length: int = 0

        def __post_init__(self):
            self.length = len(self.points)

    path = Path([Point(0)])

    @speculate
    def step(path, dx):
        last = path.points[-1]
        new = last.moved(dx) if dx else last.moved(1, dy=0)
        if new == last:
            return last
        path.points.append(new)
        path.length += 1
        return new, new == Point(last.x, last.y), Path().length

    return step, [(path, dx) for dx in (1, 2, 0, -1, 3, 0, 0, 5, -4, 2)]


@program
def attributes_by_name(speculate):
    class Options:
        def __init__(self):
            self.width = 3

    options = Options()

    @speculate
    def configure(options, n):
        height = getattr(options, "height", 7)
        if not hasattr(options, "depth"):
            options.depth = n
        if n == 7:
            del options.depth
        if n % 3 == 0:
            setattr(options, "height", height + n)
        return height, options.width

    return configure, [(options, n) for n in (1, 2, 4, 3, 5, 6, 7, 8, 9, 10)]


@program
def growing_product(speculate):
    class Product:
        def __init__(self):
            self.value, self.steps = 1, 0

    product = Product()

    @speculate
    def multiply(product, k):
        product.steps += 1
        product.value *= k
        return product.value - k

    return multiply, [(product, 1000 + k) for k in range(12)]


@program
def shared_nodes(speculate):
    class Node:
        def __init__(self, value, parts=()):
            self.value, self.parts, self.seen = value, list(parts), False

    def total(node):
        if node.seen:
            return 0
        node.seen = True
        result = node.value
        for part in node.parts:
            result += total(part)
        return result

    def clear(node):
        if node.seen:
            node.seen = False
            for part in node.parts:
                clear(part)

    leaf = Node(1)
    inner = Node(2, [leaf, leaf])
    top = Node(3, [inner, leaf, inner])
    ring = Node(4, [top])
    ring.parts.append(ring)

    @speculate
    def measure(node):
        result = total(node)
        clear(node)
        twin = Node(result, node.parts)
        twins = [twin, twin]
        twins[0].value += 1
        return result, twins[1].value, twin.parts is node.parts

    return measure, [(node,) for node in (leaf, inner, top, ring, inner, top, ring, leaf, top, ring)]


@program
def sorted_by_key(speculate):
    class Player:
        def __init__(self, name, score):
            self.name, self.score = name, score

    players = [Player("a", 3), Player("b", 1), Player("c", 2)]

    @speculate
    def award(players, position, points):
        players[position].score += points
        players.sort(key=lambda player: -player.score)
        best = max(players, key=lambda player: player.score)
        return [player.name for player in players], best is players[0]

    return award, [(players, k % 3, k) for k in range(10)]


@program
def equality_in_lists(speculate):
    class Coin:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            if not isinstance(other, Coin):
                return NotImplemented
            return self.value == other.value

        __hash__ = None

    purse = [Coin(1), Coin(2)]

    @speculate
    def add(purse, coin):
        is_there = coin in purse
        is_odd = coin == 3, coin != purse[0]
        if not is_there:
            purse.append(coin)
        return is_there, is_odd, len(purse)

    return add, [(purse, Coin(value)) for value in (1, 3, 2, 3, 4, 4, 5, 1, 6, 6)]


@program
def loop_with_walrus(speculate):
    class Stack:
        def __init__(self, items):
            self.items = items

        def pop(self):
            return self.items.pop() if self.items else None

    @speculate
    def drain(stack, limit):
        total, skipped = 0, 0
        while (item := stack.pop()) is not None:
            if item > limit:
                skipped += 1
                continue
            total += item
            if total > 20:
                break
        return total, skipped, item

    lists = ([1, 2], [], [3, 9, 4], [10, 9, 8, 7], [5], [1, 1, 1], [], [30, 2], [6, 6, 6, 6], [2])
    return drain, [(Stack(items), 9) for items in lists]


@program
def methods_as_values(speculate):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def apply(self, x=3):
            return self.factor * x

    scales = [Scale(2), Scale(5)]

    @speculate
    def use(one, other, x):
        method = one.apply
        return method(x), method(), one.apply == one.apply, one.apply is one.apply, one.apply == other.apply

    return use, [(scales[k % 2], scales[k % 3 % 2], k) for k in range(9)]


@program
def attributes_that_may_be_missing(speculate):
    class Task:
        priority = 5

        def __init__(self, name):
            self.name = name

        @property
        def size(self):
            return len(self.parts)

    tasks = [Task("one"), Task("two")]
    tasks[0].parts = [1, 2]

    @speculate
    def rank(task, n):
        if n == 6:
            setattr(task, "owner", n)
        owner = getattr(task, "owner", None)
        has_parts = hasattr(task, "parts")
        size = getattr(task, "size") if has_parts else getattr(task, "weight", -1)
        task.last = getattr(task, "priority") + size
        return owner, has_parts, size, hasattr(task, "priority")

    return rank, [(tasks[k % 2], k) for k in range(12)]


@program
def growing_texts(speculate):
    class Report:
        def __init__(self):
            self.text = ""

    def repeat(n):
        return "" if n == 0 else repeat(n - 1) + "x"

    report = Report()

    @speculate
    def write(report, n):
        for k in range(n):
            report.text += str(k)
        line = ""
        for k in range(n):
            line += f"{k},"
        return report.text, line, repeat(n)

    return write, [(report, n) for n in range(8)]


@program
def printed_before_raised(speculate):
    @speculate
    def show(items, index):
        try:
            print("go", index)
            pair = (print("in"), items[index])
            print("item", pair[1])
        except IndexError:
            print("caught")
        else:
            print("else")
        finally:
            print("finally")
        return index

    return show, [([1, 2], k) for k in (0, 1, 0, 2, 1, 5, 0, 3, 1, 2)]


@program
def nested_handlers(speculate):
    class Failure(Exception):
        pass

    class Deep(Failure):
        pass

    class Log:
        def __init__(self):
            self.lines = []

    log = Log()

    @speculate
    def run(log, k, table):
        try:
            try:
                if k == 1:
                    raise Failure("a")
                if k == 2:
                    raise Deep("b")
                if k == 3:
                    log.lines.append(table["x"])
                log.lines.append(10 // (k - 4))
            except Deep:
                log.lines.append("Deep")
                raise Failure("again")  # noqa: B904
            except ZeroDivisionError:
                log.lines.append("zero")
                return "zero"
            else:
                log.lines.append("else")
                if k == 6:
                    raise KeyError(k)
            finally:
                log.lines.append("finally")
        except Failure:
            log.lines.append("Failure")
        except LookupError:
            log.lines.append("lookup")
        return len(log.lines)

    order = (0, 5, 0, 1, 2, 3, 4, 6, 0, 1, 2, 3, 4, 6, 5, 7, 1, 2, 3, 4, 6)
    return run, [(log, k, {"y": 1}) for k in order]


@program
def handlers_in_a_loop(speculate):
    @speculate
    def collect(items, indices):
        results, misses = [], 0
        for index in indices:
            try:
                value = items[index]
                if value == 3:
                    continue
                share = 12 // value
            except IndexError:
                misses += 1
                continue
            except ZeroDivisionError:
                break
            results.append(share)
        else:
            misses += 100
        return len(results), misses, sum(results)

    items = [1, 2, 3, 0, 4]
    rows = ([0, 1], [1, 2], [0, 4], [0, 9, 1], [3, 0], [2, 2, 1], [9, 9], [0, 3, 1], [4, 5, 6, 0], [])
    return collect, [(items, row) for row in rows]


@program
def handler_around_a_loop(speculate):
    class Counter:
        def __init__(self):
            self.n = 0

    counter = Counter()

    @speculate
    def add(counter, items, count):
        total = 0
        try:
            for k in range(count):
                counter.n += 1
                total += items[k]
                while total > 5:
                    total -= items[k + 1]
            total += 1000
        except IndexError:
            total = -total
        return total, counter.n, k

    return add, [(counter, [1, 2, 3], n) for n in (1, 2, 1, 2, 3, 4, 1, 5, 2, 3, 9)]


@program
def augmented_and_raised(speculate):
    @speculate
    def update(items, index, divisor):
        result = 1
        try:
            items[index] += 10 // divisor
            result = 2
        except (IndexError, ZeroDivisionError):
            result += items[0]
        return result, items[0]

    pairs = ((0, 1), (1, 2), (0, 3), (5, 1), (0, 0), (5, 0), (1, 1), (0, 5), (7, 0), (1, 0))
    return update, [([1, 2], *pair) for pair in pairs]


@program
def recursion_ends_by_an_exception(speculate):
    class Tree:
        def __init__(self, depth):
            self.value = depth
            self.left, self.right = (Tree(depth - 1), Tree(depth - 2)) if depth > 1 else (None, None)

    @speculate
    def total(tree):
        try:
            share = 10 // tree.value
        except AttributeError:
            return 0
        except ZeroDivisionError:
            share = 100
        return share + total(tree.left) + total(tree.right)

    return total, [(Tree(depth),) for depth in (1, 2, 1, 3, 4, 2, 5, 0, 6, 3)]


@program
def asserted_and_caught(speculate):
    class Counts:
        def __init__(self):
            self.good = self.bad = 0

    counts = Counts()

    @speculate
    def judge(counts, k):
        try:
            assert k > 0, "low"
            counts.good += 1
            assert k < 5
        except AssertionError:
            counts.bad += 1
        return counts.good, counts.bad

    return judge, [(counts, k) for k in (1, 2, 3, 0, 6, 1, 0, 7, 2, 9, 3)]


@program
def first_handler_that_matches(speculate):
    class Own(KeyError):
        pass

    @speculate
    def read(table, k):
        name = Own
        try:
            if k:
                raise Own(k)
            return table["b"]
        except name:
            return "own"
        except KeyError:
            return "key"

    calls = [({"b": 1}, 0), ({"b": 1}, 0), ({"b": 2}, 1), ({}, 0), ({}, 1)]
    return read, [*calls, ({"b": 2}, 0), ({}, 0), ({"b": 2}, 1), *calls]


@program
def raised_in_a_loop_over_a_tuple(speculate):
    class Meter:
        def __init__(self):
            self.last, self.total = 0, 0

    meter = Meter()

    @speculate
    def add(meter, first, second, third):
        try:
            for divisor in (first, second, third):
                meter.last = divisor
                meter.total += 10 // divisor
            for meter.last in (first, third - 4):
                meter.total += 10 // meter.last
        except ZeroDivisionError:
            return "zero", divisor, meter.last
        return divisor, meter.last, meter.total

    rows = ((1, 2, 3), (1, 2, 5), (1, 0, 3), (0, 2, 3), (1, 2, 0), (1, 2, 4), (4, 5, 6), (0, 0, 0), (3, 2, 1))
    return add, [(meter, *row) for row in (*rows[:2] * 3, *rows)]


@program
def handler_of_no_class(speculate):
    @speculate
    def share(items, divisor):
        try:
            try:
                items.append(10 // divisor)
            except ():  # noqa: B029
                items.append(-1)
        except ZeroDivisionError:
            items.append(-2)
        return items[-1], len(items)

    items = []
    return share, [(items, divisor) for divisor in (1, 2, 5, 1, 0, 2, 0, 3, 0, 1)]


@program
def none_in_a_with(speculate):
    class Manager:
        def __init__(self):
            self.count = 0

        def __enter__(self):
            self.count += 1

        def __exit__(self, kind, error, trace):
            return None

    class Owner:
        def __init__(self, manager):
            self.manager, self.count = manager, 0

    @speculate
    def enter(owner):
        try:
            owner.count += 1
            with owner.manager:
                owner.count += 10
        except AttributeError:
            return "attribute"
        except TypeError:
            return "type"
        return owner.count

    full, empty = Owner(Manager()), Owner(None)
    owners = (full, full, empty, full, full, full, empty, full, full, empty, full, full)
    return enter, [(owner,) for owner in owners]


@program
def finalizer_of_an_exception(speculate):
    class Failure(Exception):
        def __del__(self):
            print("dropped")

    @speculate
    def judge(items, k):
        try:
            items.append(k)
            if k > 3:
                raise Failure
        except Failure:
            items.append(-k)
        return len(items)

    items = []
    return judge, [(items, k) for k in (1, 2, 4, 1, 0, 2, 3, 5, 3, 0, 6, 2)]


@program
def item_popped_before_it_is_written(speculate):
    @speculate
    def add(items, index):
        try:
            items[index] += items.pop()
        except IndexError:
            return "index", len(items)
        return items[0], len(items)

    pairs = (([1, 2, 3], 0), ([1, 2], 5), ([4, 5], 1), ([1, 2, 3], 2), ([1, 2], 0), ([7], 0), ([1, 2], -1), ([3, 4], 0))
    return add, [(list(items), index) for items, index in (*pairs[:1] * 5, *pairs, *pairs)]
