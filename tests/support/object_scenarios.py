"""Scenarios of objects and state: each makes its classes, a function, and what yields the arguments of its calls.

A scenario is called once for each side, with a decorator: `tl.speculate` for one, and what returns the function for
Python. So the sides share neither classes, cells nor objects.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tagloom as tl

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
ObjectScenario = Callable[[Decorator], tuple[Callable[..., Any], Iterable[tuple[Any, ...]]]]
SCENARIOS: dict[str, ObjectScenario] = {}
"""All scenarios by name."""
VISITS = 0
HISTORY: list[int] = []
SETTINGS = {"scale": 2, "offset": 1}


def scenario(make: ObjectScenario) -> ObjectScenario:
    """Add a scenario to the table, under the name of its function."""
    SCENARIOS[make.__name__] = make
    return make


# State of one object


@scenario
def counter(speculate):
    class Counter:
        def __init__(self):
            self.n = 0

        def bump(self, k):
            self.n += k
            return self.n

    @speculate
    def step(c, k):
        return c.bump(k) + c.bump(1)

    c = Counter()
    return step, [(c, k) for k in range(10)]


@scenario
def running_mean(speculate):
    class Mean:
        def __init__(self):
            self.count, self.total, self.low, self.high = 0, 0.0, None, None

    @speculate
    def add(mean, x):
        mean.count += 1
        mean.total += x
        if mean.low is None or x < mean.low:
            mean.low = x
        if mean.high is None or x > mean.high:
            mean.high = x
        return mean.total / mean.count

    mean = Mean()
    return add, [(mean, x) for x in (1.5, 2.5, -1.0, 4.0, 3.0, 9.0, -7.5, 0.0, 1.0, 2.0)]


@scenario
def account(speculate):
    class Account:
        def __init__(self, balance):
            self.balance, self.entries = balance, []

        def deposit(self, amount):
            self.balance += amount
            self.entries.append(amount)

        def withdraw(self, amount):
            if amount > self.balance:
                return False
            self.balance -= amount
            self.entries.append(-amount)
            return True

    @speculate
    def transfer(a, b, amount):
        if a.withdraw(amount):
            b.deposit(amount)
        return a.balance, b.balance

    a, b = Account(100), Account(50)
    return transfer, [(a, b, k) for k in (10, 20, 500, 5, 7, 9, 3, 400, 11, 1)]


@scenario
def random_generator(speculate):
    class Generator:
        def __init__(self, seed):
            self.state = seed

        def draw(self):
            self.state = (self.state * 1103515245 + 12345) % 2147483648
            return self.state / 2147483648

    @speculate
    def mean_of(generator, n):
        s = 0.0
        for _ in range(n):
            s += generator.draw()
        return s / n

    generator = Generator(7)
    return mean_of, [(generator, n) for n in range(1, 11)]


@scenario
def recurrent_state(speculate):
    class Cell:
        def __init__(self):
            self.state = tl.asarray([0.0, 0.5])
            self.weight = tl.asarray([[0.5, -0.25], [0.125, 1.0]])
            self.steps = 0

        def __call__(self, x):
            self.state = self.state @ self.weight + x
            self.steps += 1
            return self.state

    @speculate
    def run(cell, x, n):
        for _ in range(n):
            x = cell(x) * 0.5
        return x

    cell = Cell()
    return run, [(cell, tl.asarray([1.0, 2.0 * k]), k % 4) for k in range(10)]


@scenario
def state_machine(speculate):
    class Machine:
        def __init__(self):
            self.state, self.count = "idle", 0

    @speculate
    def advance(machine, signal):
        if machine.state == "idle" and signal > 0:
            machine.state = "running"
        elif machine.state == "running":
            machine.count += signal
            if machine.count > 5:
                machine.state = "done"
        elif machine.state == "done":
            machine.state, machine.count = "idle", 0
        return machine.state

    machine = Machine()
    return advance, [(machine, k) for k in (0, 1, 3, 4, 1, 1, 2, 2, 3, 1, 1)]


@scenario
def optional_attribute(speculate):
    class Lazy:
        def __init__(self, n):
            self.n, self.cache = n, None

        def value(self):
            if self.cache is None:
                self.cache = self.n * self.n
            return self.cache

    @speculate
    def total(a, b):
        return a.value() + b.value()

    shared = Lazy(3)
    return total, [(shared, Lazy(k)) for k in range(10)]


@scenario
def new_attribute(speculate):
    class Bag:
        pass

    @speculate
    def mark(bag, n):
        bag.mark = n
        return bag.mark + 1

    bag = Bag()
    return mark, [(bag if n % 2 else Bag(), n) for n in range(10)]


@scenario
def moving_window(speculate):
    class Window:
        def __init__(self, size):
            self.items, self.position = [0.0] * size, 0

        def push(self, x):
            self.items[self.position] = x
            self.position = (self.position + 1) % len(self.items)
            return sum(self.items) / len(self.items)

    @speculate
    def push(window, x):
        return window.push(x)

    window = Window(4)
    return push, [(window, 0.5 * k) for k in range(10)]


@scenario
def schedule(speculate):
    class Schedule:
        def __init__(self):
            self.rate, self.best, self.patience, self.bad, self.stopped = 1.0, None, 2, 0, False

    @speculate
    def observe(schedule, loss):
        if schedule.best is None or loss < schedule.best:
            schedule.best, schedule.bad = loss, 0
        else:
            schedule.bad += 1
            if schedule.bad > schedule.patience:
                schedule.rate *= 0.5
                schedule.bad = 0
                schedule.stopped = schedule.rate < 0.2
        return schedule.rate, schedule.stopped

    schedule = Schedule()
    return observe, [(schedule, x) for x in (5.0, 4.0, 6.0, 7.0, 8.0, 3.0, 4.0, 4.0, 4.0, 5.0, 5.0, 5.0)]


# Aliases


class Box:
    def __init__(self, n):
        self.n = n


@scenario
def two_names(speculate):
    @speculate
    def bump(a, b):
        a.n += 1
        b.n *= 3
        return a.n + b.n, a is b

    boxes = [Box(1), Box(2)]
    return bump, [(boxes[i], boxes[j]) for i, j in ((0, 1), (1, 0), (0, 0), (1, 1), (0, 1), (0, 0), (1, 0), (1, 1))]


@scenario
def swap_through_list(speculate):
    @speculate
    def swap(items, i, j):
        items[i], items[j] = items[j], items[i]
        items[i].n += 1
        return items[i] is items[j]

    items = [Box(k) for k in range(4)]
    return swap, [(items, i, j) for i, j in ((0, 1), (1, 2), (3, 3), (2, 0), (1, 3), (0, 0), (2, 3), (-1, 0))]


@scenario
def shared_list(speculate):
    class Owner:
        def __init__(self, items):
            self.items = items

    @speculate
    def append(one, other, x):
        one.items.append(x)
        other.items.append(x + 1)
        return len(one.items), one.items is other.items, other.items[-1]

    items = [0]
    owners = [Owner(items), Owner(items), Owner([5])]
    pairs = ((0, 1), (0, 2), (2, 2), (1, 0), (0, 1), (2, 1), (1, 1), (0, 2), (2, 0))
    return append, [(owners[i], owners[j], 10 * k) for k, (i, j) in enumerate(pairs)]


@scenario
def move_reference(speculate):
    class Holder:
        def __init__(self, item=None):
            self.item = item

    @speculate
    def move(source, target):
        target.item = source.item
        source.item = None
        if target.item is not None:
            target.item.n += 1
            return target.item.n
        return -1

    a, b = Holder(Box(1)), Holder()
    return move, [(a, b), (b, a), (a, b), (b, a), (b, a), (a, b), (a, a), (b, b), (b, a)]


@scenario
def cycle(speculate):
    class Ring:
        def __init__(self, n):
            self.n, self.next = n, self

    def ring(values):
        items = [Ring(v) for v in values]
        for one, other in zip(items, [*items[1:], items[0]], strict=True):
            one.next = other
        return items[0]

    @speculate
    def turn(start):
        node, s = start.next, start.n
        while node is not start:
            s += node.n
            node.n += 1
            node = node.next
        return s

    rings = [ring(range(k + 1)) for k in range(4)]
    return turn, [(rings[k % 4],) for k in range(10)]


@scenario
def identity_of_result(speculate):
    @speculate
    def larger(a, b):
        return a if a.n > b.n else b

    boxes = [Box(k * 7 % 5) for k in range(5)]
    return larger, [(boxes[k % 5], boxes[(k + 2) % 5]) for k in range(10)]


# Trees and linked structures


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


def tree_of(size: int, shift: int = 0) -> Tree | None:
    if size == 0:
        return None
    left = (size * 7 + shift) % size
    return Tree(size + shift, tree_of(left, shift), tree_of(size - 1 - left, shift + 1))


@scenario
def tree_total(speculate):
    @speculate
    def total(tree):
        if tree is None:
            return 0
        return tree.value + total(tree.left) + total(tree.right)

    return total, [(tree_of(k, k),) for k in (1, 3, 0, 5, 8, 2, 13, 21, 1, 0)]


@scenario
def tree_copy(speculate):
    @speculate
    def doubled(tree):
        if tree is None:
            return None
        return Tree(2 * tree.value, doubled(tree.left), doubled(tree.right))

    return doubled, [(tree_of(k, k),) for k in (1, 3, 0, 5, 8, 2, 13, 21, 1, 0)]


@scenario
def tree_insert(speculate):
    @speculate
    def insert(tree, value):
        if tree is None:
            return Tree(value)
        if value < tree.value:
            tree.left = insert(tree.left, value)
        else:
            tree.right = insert(tree.right, value)
        return tree

    root = Tree(10)
    return insert, [(root, k) for k in (5, 15, 3, 12, 7, 20, 1, 11, 10, 6)]


@scenario
def tree_depth_first(speculate):
    @speculate
    def collect(tree, values):
        if tree is not None:
            collect(tree.left, values)
            values.append(tree.value)
            collect(tree.right, values)
        return values

    return collect, [(tree_of(k, k), []) for k in (1, 3, 2, 5, 8, 0, 13, 4, 1, 6)]


@scenario
def tree_annotate(speculate):
    @speculate
    def measure(tree, depth):
        if tree is None:
            return 0
        tree.value = depth + max(measure(tree.left, depth + 1), measure(tree.right, depth + 1))
        return tree.value

    return measure, [(tree_of(k, k), k) for k in (1, 3, 2, 5, 8, 0, 13, 4, 1, 6)]


@scenario
def list_reverse(speculate):
    class Link:
        def __init__(self, value, rest=None):
            self.value, self.rest = value, rest

    @speculate
    def reverse(link):
        previous = None
        while link is not None:
            link.rest, previous, link = previous, link, link.rest
        return previous

    def links(n):
        head = None
        for k in range(n):
            head = Link(k, head)
        return head

    return reverse, [(links(n),) for n in (3, 1, 0, 5, 2, 7, 4, 0, 1, 9)]


@scenario
def list_build(speculate):
    class Link:
        def __init__(self, value, rest):
            self.value, self.rest = value, rest

    @speculate
    def build(n):
        head = None
        for k in range(n):
            head = Link(k * k, head)
        return head

    return build, [(n,) for n in (3, 1, 0, 5, 2, 7, 4, 0, 1, 9, 30)]


@scenario
def nary_tree(speculate):
    class Branch:
        def __init__(self, value, children):
            self.value, self.children = value, children

    def branch(n):
        return Branch(n, [branch(k) for k in range(n)])

    @speculate
    def total(branch):
        s = branch.value
        for child in branch.children:
            s += total(child)
        return s

    return total, [(branch(n),) for n in (1, 2, 3, 0, 2, 4, 3, 1, 0, 4)]


@scenario
def tuple_tree(speculate):
    class Pair:
        def __init__(self, parts):
            self.parts = parts

    def pair(n):
        return None if n == 0 else Pair((n, pair(n - 1), pair(n // 2)))

    @speculate
    def total(pair):
        if pair is None:
            return 0
        value, one, other = pair.parts
        return value + total(one) - total(other)

    return total, [(pair(n),) for n in (1, 2, 3, 0, 2, 5, 3, 1, 4, 6)]


@scenario
def graph_search(speculate):
    class Vertex:
        def __init__(self):
            self.edges, self.is_visited, self.order = [], False, -1

    @speculate
    def search(start, first):
        stack, order = [start], first
        while stack:
            vertex = stack.pop()
            if not vertex.is_visited:
                vertex.is_visited, vertex.order = True, order
                order += 1
                for other in vertex.edges:
                    stack.append(other)
        return order

    def make(n):
        vertices = [Vertex() for _ in range(n)]
        for k, vertex in enumerate(vertices):
            vertex.edges = [vertices[(k * 2 + 1) % n], vertices[(k * 3 + 2) % n]]
        return vertices[0]

    return search, [(make(n), n) for n in (1, 3, 5, 2, 7, 4, 9, 6, 1, 8)]


# New objects


@scenario
def vectors(speculate):
    @dataclass
    class Vector:
        x: float
        y: float = 0.0

        def __add__(self, other):
            return Vector(self.x + other.x, self.y + other.y)

        def __mul__(self, k):
            return Vector(self.x * k, self.y * k)

        def length(self):
            return self.x * self.x + self.y * self.y

    @speculate
    def move(position, velocity, n):
        for _ in range(n):
            position = position + velocity * 0.5
        return position, position.length()

    return move, [(Vector(1.0), Vector(0.5, float(k)), k % 4) for k in range(10)]


@scenario
def particles(speculate):
    @dataclass
    class Particle:
        x: float
        v: float
        trail: list = field(default_factory=list)

    @speculate
    def spawn(particles, x):
        particles.append(Particle(x, 1.0))
        for particle in particles:
            particle.x += particle.v
            particle.trail.append(particle.x)
            if particle.x > 5.0:
                particle.v = -particle.v
        return len(particles)

    items = []
    return spawn, [(items, 1.5 * k) for k in range(10)]


@scenario
def factory(speculate):
    class Circle:
        def __init__(self, r):
            self.r = r

        def area(self):
            return 3.0 * self.r * self.r

    class Square:
        def __init__(self, a):
            self.a = a

        def area(self):
            return self.a * self.a

    @speculate
    def make(kind, size):
        shape = Circle(size) if kind > 0 else Square(size)
        return shape, shape.area()

    return make, [(k % 3 - 1, 0.5 * k) for k in range(10)]


@scenario
def inherited_init(speculate):
    class Base:
        def __init__(self, name):
            self.name, self.count = name, 0

        def touch(self):
            self.count += 1
            return self

    class Derived(Base):
        def __init__(self, name, extra):
            super().__init__(name)
            self.extra = extra

        def touch(self):
            self.extra += 10
            return super().touch()

    @speculate
    def make(n):
        thing = Derived(n, n + 1)
        thing.touch().touch()
        return thing

    return make, [(n,) for n in range(10)]


@scenario
def pairs_in_list(speculate):
    @speculate
    def pairs(n):
        result = []
        for i in range(n):
            result.append((i, i * i))
        return result

    return pairs, [(n,) for n in (2, 3, 1, 0, 5, 8, 2, 4, 0, 20)]


@scenario
def comprehension(speculate):
    @speculate
    def squares(boxes, k):
        return [box.n * k for box in boxes if box.n > 1]

    boxes = [Box(n) for n in range(6)]
    return squares, [(boxes[: k % 6], k) for k in range(3, 13)]


@scenario
def dict_record(speculate):
    @speculate
    def record(box, k):
        box.n += k
        return {"n": box.n, "k": k, "is_even": box.n % 2 == 0}

    box = Box(1)
    return record, [(box, k) for k in range(10)]


@scenario
def list_of_lists(speculate):
    @speculate
    def grid(rows, columns):
        return [[i * columns + j for j in range(columns)] for i in range(rows)]

    return grid, [(i, j) for i, j in ((1, 1), (2, 3), (3, 2), (0, 2), (2, 0), (4, 4), (1, 5), (3, 3), (2, 2))]


@scenario
def stack_class(speculate):
    class Stack:
        def __init__(self):
            self.items = []

        def push(self, x):
            self.items.append(x)

        def pop(self):
            return self.items.pop()

        def __len__(self):
            return len(self.items)

    @speculate
    def evaluate(tokens):
        stack = Stack()
        for token in tokens:
            if token >= 0:
                stack.push(token)
            else:
                b, a = stack.pop(), stack.pop()
                stack.push(a + b if token == -1 else a * b)
        return stack.pop(), len(stack)

    programs = ([1, 2, -1], [3, 4, -2], [1, 2, 3, -1, -2], [5], [2, 2, -2, 2, -2], [1, 1, -1, 1, -1, 1, -1])
    return evaluate, [(list(programs[k % 6]),) for k in range(10)]


# Polymorphism


@scenario
def shapes(speculate):
    class Shape:
        scale = 2

        def area(self):
            return 0

        def scaled(self):
            return self.area() * self.scale

    class Square(Shape):
        def __init__(self, a):
            self.a = a

        def area(self):
            return self.a * self.a

    class Rectangle(Shape):
        scale = 3

        def __init__(self, a, b):
            self.a, self.b = a, b

        def area(self):
            return self.a * self.b

    @speculate
    def total(shapes):
        s = 0
        for shape in shapes:
            s += shape.scaled()
        return s

    items = [Square(2), Rectangle(2, 3), Square(4), Rectangle(1, 5), Shape()]
    return total, [(items[: k % 6],) for k in range(1, 11)]


@scenario
def visitor(speculate):
    class Constant:
        def __init__(self, value):
            self.value = value

    class Binary:
        def __init__(self, op, one, other):
            self.op, self.one, self.other = op, one, other

    @speculate
    def evaluate(node):
        if isinstance(node, Constant):
            return node.value
        one, other = evaluate(node.one), evaluate(node.other)
        return one + other if node.op == "+" else one * other

    def expression(n):
        return Constant(n) if n < 2 else Binary("+" if n % 2 else "*", expression(n - 1), expression(n - 2))

    return evaluate, [(expression(n),) for n in (1, 2, 3, 4, 0, 5, 6, 2, 7, 3)]


@scenario
def strategy(speculate):
    class Double:
        def apply(self, x):
            return 2 * x

    class AddOne:
        def __init__(self):
            self.calls = 0

        def apply(self, x):
            self.calls += 1
            return x + 1

    @speculate
    def run(steps, x):
        for step in steps:
            x = step.apply(x)
        return x

    one, other = Double(), AddOne()
    lists = [[one], [other], [one, other], [other, one, other], []]
    return run, [(lists[k % 5], k) for k in range(10)]


@scenario
def properties(speculate):
    class Celsius:
        def __init__(self, degrees):
            self._degrees = degrees

        @property
        def fahrenheit(self):
            return self._degrees * 1.8 + 32.0

        @fahrenheit.setter
        def fahrenheit(self, value):
            self._degrees = (value - 32.0) / 1.8

    @speculate
    def warm(celsius, k):
        celsius.fahrenheit = celsius.fahrenheit + k
        return celsius._degrees

    celsius = Celsius(10.0)
    return warm, [(celsius, float(k)) for k in range(10)]


@scenario
def equality(speculate):
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __eq__(self, other):
            return self.x == other.x and self.y == other.y

        def __lt__(self, other):
            return self.x < other.x

    @speculate
    def compare(a, b):
        return a == b, a != b, a < b, a is b

    points = [Point(k % 3, k % 2) for k in range(6)]
    return compare, [(points[k % 6], points[(k * k) % 6]) for k in range(10)]


@scenario
def container_protocol(speculate):
    class Matrix:
        def __init__(self, rows):
            self.rows = rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, position):
            return self.rows[position]

        def __setitem__(self, position, value):
            self.rows[position] = value

        def __contains__(self, value):
            return value == self.rows[0]

    @speculate
    def swap(matrix, i):
        last = len(matrix) - 1
        matrix[i], matrix[last] = matrix[last], matrix[i]
        return matrix[i], 3 in matrix, bool(matrix)

    matrix = Matrix([5, 3, 8, 1])
    return swap, [(matrix, k % 4) for k in range(10)]


@scenario
def static_and_class_methods(speculate):
    class Temperature:
        offset = 32

        def __init__(self, degrees):
            self.degrees = degrees

        @staticmethod
        def clip(x):
            return 0 if x < 0 else x

        @classmethod
        def shifted(cls, x):
            return cls(x + cls.offset)

    @speculate
    def make(x):
        return Temperature.shifted(Temperature.clip(x))

    return make, [(k - 3,) for k in range(10)]


# Exceptions


@scenario
def raise_after_write(speculate):
    @speculate
    def divide(box, n):
        box.n += 1
        if n == 0:
            raise ValueError("no zero")
        box.n = box.n * 10 // n
        return box.n

    box = Box(5)
    return divide, [(box, n) for n in (1, 2, 3, 0, 5, 2, 3, 1, 2, 4, 3)]


@scenario
def caught_division(speculate):
    @speculate
    def ratio(box, n):
        try:
            box.n = 100 // n
        except ZeroDivisionError:
            box.n = -1
        return box.n

    box = Box(5)
    return ratio, [(box, n) for n in (1, 0, 3, 0, 5, 0, 3, 0, 2, 0)]


@scenario
def own_exception(speculate):
    class Empty(Exception):
        pass

    class Queue:
        def __init__(self, items):
            self.items = items

        def take(self):
            if not self.items:
                raise Empty
            return self.items.pop()

    @speculate
    def take_two(queue):
        s = 0
        for _ in range(2):
            try:
                s += queue.take()
            except Empty:
                s -= 100
        return s

    queue = Queue(list(range(9)))
    return take_two, [(queue,) for _ in range(10)]


@scenario
def finally_runs(speculate):
    class Lock:
        def __init__(self):
            self.depth, self.uses = 0, 0

    @speculate
    def use(lock, n):
        lock.depth += 1
        try:
            lock.uses += n
            return lock.uses
        finally:
            lock.depth -= 1

    lock = Lock()
    return use, [(lock, n) for n in range(10)]


@scenario
def context_manager(speculate):
    class Scope:
        def __init__(self):
            self.depth, self.entered = 0, 0

        def __enter__(self):
            self.depth += 1
            self.entered += 1
            return self

        def __exit__(self, kind, value, traceback):
            self.depth -= 1
            return False

    @speculate
    def use(scope, n):
        with scope as inner:
            result = inner.depth * n
        return result + scope.depth

    scope = Scope()
    return use, [(scope, n) for n in range(10)]


@scenario
def key_error(speculate):
    @speculate
    def look(table, other):
        table["count"] += 1
        if other:
            return table["missing"]
        return table["count"]

    table = {"count": 0}
    return look, [(table, k == 4) for k in range(20)]


@scenario
def assertion(speculate):
    @speculate
    def checked(box, n):
        box.n += n
        assert box.n < 20, "too many"
        return box.n

    box = Box(0)
    return checked, [(box, n) for n in (1, 2, 3, 4, 1, 2, 1, 2, 1, 1)]


# Effects


@scenario
def printed_numbers(speculate):
    @speculate
    def report(box, k):
        box.n += k
        print("n is", box.n, k / 2)
        return box.n

    box = Box(0)
    return report, [(box, k) for k in range(10)]


@scenario
def printed_loop(speculate):
    @speculate
    def report(boxes):
        for i, box in enumerate(boxes):
            box.n += 1
            if box.n % 2 == 0:
                print(f"box {i}: {box.n:3d}", end=";")
            else:
                print()
        return len(boxes)

    boxes = [Box(k) for k in range(5)]
    return report, [(boxes[: k % 6],) for k in range(1, 11)]


@scenario
def text_result(speculate):
    class Person:
        def __init__(self, age):
            self.age = age

        def describe(self):
            return f"age {self.age}"

    @speculate
    def birthday(person):
        person.age += 1
        return person.describe() + "!"

    person = Person(30)
    return birthday, [(person,) for _ in range(10)]


@scenario
def log_to_list(speculate):
    class Log:
        def __init__(self):
            self.lines = []

        def write(self, kind, value):
            self.lines.append((kind, value))

    @speculate
    def work(log, n):
        log.write("begin", n)
        s = 0
        for i in range(n):
            s += i
        log.write("end", s)
        return s

    log = Log()
    return work, [(log, n) for n in range(10)]


@scenario
def variable_of_tagloom(speculate):
    class Model:
        def __init__(self):
            self.w = tl.asarray([1.0, -0.5])
            self.loss = 0.0

    @speculate
    def update(model, x, rate):
        error = model.w * x - 1.0
        model.w = model.w - error * x * rate
        return tl.sum(error * error)

    model = Model()
    return update, [(model, tl.asarray([0.5, k * 0.25]), tl.asarray(0.125)) for k in range(10)]


# Global variables


@scenario
def global_counter(speculate):
    global VISITS
    VISITS = 0

    @speculate
    def visit(n):
        global VISITS
        VISITS += n
        return VISITS

    return visit, [(n,) for n in range(10)]


@scenario
def global_list(speculate):
    global HISTORY
    HISTORY = []

    @speculate
    def note(n):
        HISTORY.append(n)
        return len(HISTORY) + HISTORY[0]

    return note, [(n,) for n in range(10)]


@scenario
def global_settings(speculate):
    global SETTINGS
    SETTINGS = {"scale": 2, "offset": 1}

    @speculate
    def scaled(n):
        SETTINGS["offset"] += 1
        return n * SETTINGS["scale"] + SETTINGS["offset"]

    return scaled, [(n,) for n in range(10)]


@scenario
def module_function(speculate):
    @speculate
    def distance(a, b):
        return math.sqrt(a.n * a.n + b.n * b.n) + math.pi

    return distance, [(Box(k), Box(2 * k)) for k in range(10)]


# Class attributes


@scenario
def class_counter(speculate):
    class Ticket:
        count = 0

    @speculate
    def issue(k):
        Ticket.count += k
        return Ticket.count

    def calls():
        for k in range(10):
            yield (k,)
            assert Ticket.count >= 0

    return issue, calls()


@scenario
def numbered_instances(speculate):
    class Ticket:
        count = 0

        def __init__(self):
            Ticket.count += 1
            self.number = Ticket.count

    @speculate
    def issue():
        return Ticket(), Ticket().number

    return issue, [() for _ in range(10)]


@scenario
def class_default(speculate):
    class Settings:
        level = 1

        def raise_level(self):
            self.level += 1
            return self.level

    @speculate
    def change(settings):
        return settings.raise_level()

    items = [Settings(), Settings()]
    return change, [(items[k % 2],) for k in range(10)]


@scenario
def class_attribute_changes(speculate):
    class Settings:
        level = 1

    @speculate
    def read(settings, n):
        return settings.level * n

    def calls():
        settings = Settings()
        for n in range(10):
            if n > 6:
                Settings.level = n
            yield settings, n

    return read, calls()


@scenario
def class_registry(speculate):
    class Registry:
        items: list = []  # noqa: RUF012

        @classmethod
        def add(cls, n):
            cls.items.append(n)
            return len(cls.items)

    @speculate
    def register(n):
        return Registry.add(n)

    return register, [(n,) for n in range(10)]


# Closures


@scenario
def closure_counter(speculate):
    def make():
        count = 0

        @speculate
        def bump(k):
            nonlocal count
            count += k
            return count

        return bump

    return make(), [(k,) for k in range(10)]


@scenario
def closure_list(speculate):
    values = [1]

    @speculate
    def grow(k):
        values.append(values[-1] + k)
        return values

    return grow, [(k,) for k in range(10)]


@scenario
def closure_pair(speculate):
    total = 0

    def add(k):
        nonlocal total
        total += k

    @speculate
    def run(n):
        for i in range(n):
            add(i)
        return total

    return run, [(k,) for k in range(10)]


@scenario
def function_attribute(speculate):
    class Handler:
        def __init__(self, action):
            self.action, self.calls = action, 0

    def double(x):
        return 2 * x

    @speculate
    def handle(handler, x):
        handler.calls += 1
        return handler.action(x)

    handler = Handler(double)
    return handle, [(handler, x) for x in range(10)]


@scenario
def inner_function(speculate):
    @speculate
    def run(box, n):
        def add(k):
            box.n += k
            return box.n

        return add(n) + add(1)

    box = Box(0)
    return run, [(box, n) for n in range(10)]


@scenario
def lambda_argument(speculate):
    @speculate
    def apply(box, k):
        scale = lambda x: x * 3  # noqa: E731
        box.n = scale(box.n) % 7 + k
        return box.n

    box = Box(1)
    return apply, [(box, k) for k in range(10)]


@scenario
def default_list(speculate):
    @speculate
    def collect(n, items=[]):  # noqa: B006
        items.append(n)
        return len(items)

    return collect, [(n,) for n in range(10)]


# Arrays of NumPy, and views of them


@scenario
def array_in_place(speculate):
    @speculate
    def add(a, k):
        a += k
        a[0] = a[1]
        return a

    a = np.array([1.0, 2.0, 3.0])
    return add, [(a, float(k)) for k in range(10)]


@scenario
def array_attribute(speculate):
    class Grid:
        def __init__(self):
            self.cells, self.steps = np.zeros(4), 0

    @speculate
    def paint(grid, i, x):
        grid.cells[i] += x
        grid.steps += 1
        return grid.steps

    grid = Grid()
    return paint, [(grid, k % 4, 0.5 * k) for k in range(10)]


@scenario
def array_view(speculate):
    @speculate
    def shift(a, view):
        view[0] = a[0] + 1.0
        a[1] = view[0] * 2.0
        return a

    a = np.arange(4.0)
    return shift, [(a, a[1:]) for _ in range(10)]


@scenario
def array_result(speculate):
    @speculate
    def combine(a, b, k):
        return (a + b) * k - a

    return combine, [(np.arange(3.0) + k, np.ones(3) * k, float(k)) for k in range(10)]


@scenario
def replay_buffer(speculate):
    class Buffer:
        def __init__(self):
            self.items, self.next, self.size = [], 0, 3

        def add(self, state, reward):
            if len(self.items) < self.size:
                self.items.append((state, reward))
            else:
                self.items[self.next] = (state, reward)
            self.next = (self.next + 1) % self.size

    @speculate
    def add(buffer, state, reward):
        buffer.add(state, reward)
        return sum(reward for _, reward in buffer.items)

    buffer = Buffer()
    return add, [(buffer, tl.asarray([1.0, k]), 0.5 * k) for k in range(10)]


@scenario
def memo(speculate):
    class Memo:
        def __init__(self):
            self.values = {0: 0, 1: 1}

    @speculate
    def fib(memo, n):
        if n in memo.values:
            return memo.values[n]
        memo.values[n] = fib(memo, n - 1) + fib(memo, n - 2)
        return memo.values[n]

    memo = Memo()
    return fib, [(memo, n) for n in (1, 3, 2, 5, 8, 4, 12, 10, 20, 15)]


@scenario
def layers_of_two_sizes(speculate):
    class Layer:
        def __init__(self, weight):
            self.weight, self.calls = weight, 0

        def __call__(self, x):
            self.calls += 1
            return x @ self.weight

    class Model:
        def __init__(self):
            self.layers = [Layer(tl.ones((2, 3))), Layer(tl.ones((3, 1)))]
            self.is_training = True

    @speculate
    def forward(model, x):
        for layer in model.layers:
            x = layer(x)
        return x * 0.5 if model.is_training else x

    model = Model()
    return forward, [(model, tl.asarray([[1.0, k]])) for k in range(10)]


@scenario
def suppressed_error(speculate):
    @speculate
    def risky(box, n):
        with contextlib.suppress(KeyError):
            box.n += n
        return box.n

    box = Box(1)
    return risky, [(box, n) for n in range(10)]
