"""Small programs whose objects keep state from call to call, made as scenarios are (`object_scenarios`)."""

# ruff: noqa: B905, E731

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tagloom as tl

from .object_scenarios import ObjectScenario

STATEFUL_PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""
VISITS = 0
"""The number of calls of `mode_of_module`."""


def stateful_program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    STATEFUL_PROGRAMS[make.__name__] = make
    return make


class Account:
    """An account with the list of its changes."""

    def __init__(self, balance):
        self.balance, self.changes = balance, []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.changes.append(amount)

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"insufficient: {self.balance}")
        self.balance -= amount
        self.changes.append(-amount)


@stateful_program
def transfer_that_raises(speculate):
    first, second = Account(100.0), Account(5.0)

    @speculate
    def transfer(first, second, amount):
        first.withdraw(amount)
        second.deposit(amount)
        return first.balance + second.balance

    amounts = (1.0, 2.0, 3.0, 10.0, 5.0, 500.0, 20.0, -1.0, 3.0, 4.0, 5.0)
    return transfer, [(first, second, amount) for amount in amounts]


@stateful_program
def transfer_that_catches(speculate):
    first, second = Account(50.0), Account(5.0)

    @speculate
    def transfer(first, second, amount):
        try:
            first.withdraw(amount)
        except ValueError:
            return False
        second.deposit(amount)
        return True

    amounts = (1.0, 2.0, 3.0, 10.0, 5.0, 500.0, 20.0, 1.0, 3.0, 900.0, 2.0)
    return transfer, [(first, second, amount) for amount in amounts]


@stateful_program
def numbered_tickets(speculate):
    class Ticket:
        issued = 0

        def __init__(self, price):
            Ticket.issued += 1
            self.number, self.price = Ticket.issued, price

    @speculate
    def buy(prices):
        ticket = None
        total = 0
        for price in prices:
            ticket = Ticket(price)
            total += ticket.price
        return ticket.number, total

    return buy, [([k, k + 1],) for k in range(9)]


@stateful_program
def areas_of_shapes(speculate):
    class Shape:
        scale = 1.0

        def scaled(self):
            return self.area() * self.scale * self.scale

    class Square(Shape):
        def __init__(self, side):
            self.side = side

        def area(self):
            return self.side * self.side

    class Circle(Shape):
        def __init__(self, radius):
            self.radius = radius

        def area(self):
            return 3.0 * self.radius * self.radius

    class Framed(Square):
        scale = 2.0

        def area(self):
            return super().area() + 1.0

    shapes = [Square(1.0), Circle(2.0), Framed(3.0)]

    @speculate
    def grow(shapes, by):
        total = 0.0
        for shape in shapes:
            total += shape.scaled()
            if isinstance(shape, Square):
                shape.side += by
        return total

    return grow, [(shapes, float(k)) for k in range(8)]


@stateful_program
def layers_that_are_called(speculate):
    class Layer:
        def __init__(self, weight, bias):
            self.weight, self.bias, self.calls = weight, bias, 0

        def __call__(self, x):
            self.calls += 1
            return self.weight * x + self.bias

    class Network:
        def __init__(self):
            self.layers = [Layer(2.0, 1.0), Layer(-1.0, 0.5), Layer(0.5, 0.0)]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
                if x < 0:
                    x = 0.0
            return x

    network = Network()

    @speculate
    def apply(network, x):
        return network(x) + network(x + 1)

    return apply, [(network, float(k)) for k in range(-3, 7)]


@stateful_program
def mean_in_a_closure(speculate):
    def make():
        total, count = 0.0, 0

        @speculate
        def add(x):
            nonlocal total, count
            total += x
            count += 1
            return total / count

        return add

    return make(), [(float(k),) for k in (1, 5, 2, 8, 3, 9, 1, 4, 2)]


@stateful_program
def generators_over_a_growing_list(speculate):
    class Bag:
        def __init__(self):
            self.items, self.total = [1, 2, 3], 0

    bag = Bag()

    @speculate
    def add(bag, k):
        bag.total += sum(item * k for item in bag.items if item != k)
        bag.items.append(k)
        return max(item for item in bag.items)

    return add, [(bag, k) for k in range(9)]


@stateful_program
def particles_with_vectors(speculate):
    @dataclass
    class Vector:
        x: float
        y: float = 0.0

        def __add__(self, other):
            return Vector(self.x + other.x, self.y + other.y)

        def __mul__(self, factor):
            return Vector(self.x * factor, self.y * factor)

        def squared(self):
            return self.x * self.x + self.y * self.y

    class Particle:
        def __init__(self, position, velocity):
            self.position, self.velocity, self.is_alive = position, velocity, True

    particles = [Particle(Vector(0.0, 0.0), Vector(1.0, 2.0)), Particle(Vector(3.0), Vector(-1.0, 0.5))]

    @speculate
    def move(particles, seconds):
        count = 0
        for particle in particles:
            if not particle.is_alive:
                continue
            particle.position = particle.position + particle.velocity * seconds
            if particle.position.squared() > 40.0:
                particle.is_alive = False
            count += 1
        return count

    return move, [(particles, 0.5) for _ in range(12)]


@stateful_program
def schedule_in_a_dict(speculate):
    settings = {"rate": 0.1, "steps": 0, "least": 1e9}

    @speculate
    def step(settings, loss):
        settings["steps"] += 1
        if loss < settings["least"]:
            settings["least"] = loss
        else:
            settings["rate"] *= 0.5
        return settings["rate"]

    return step, [(settings, loss) for loss in (5.0, 4.0, 6.0, 3.0, 3.5, 2.0, 9.0, 1.0)]


@stateful_program
def training_that_stops_early(speculate):
    class Trainer:
        def __init__(self):
            self.weight, self.least, self.bad_epochs, self.epochs, self.has_stopped = 5.0, 1e9, 0, 0, False

        def fit(self, rate, patience):
            for _ in range(20):
                self.epochs += 1
                self.weight -= rate * 2 * self.weight
                loss = self.weight * self.weight
                if loss < self.least - 1e-3:
                    self.least, self.bad_epochs = loss, 0
                else:
                    self.bad_epochs += 1
                    if self.bad_epochs >= patience:
                        self.has_stopped = True
                        break
            else:
                self.has_stopped = False
            return loss

    trainer = Trainer()

    @speculate
    def fit(trainer, rate):
        return trainer.fit(rate, 2)

    return fit, [(trainer, rate) for rate in (0.1, 0.01, 0.3, 1.5, 0.2, 0.9, 0.05, 0.1)]


@stateful_program
def mode_of_module(speculate):
    global VISITS
    VISITS = 0

    class Counter:
        def __init__(self):
            self.count = 0

    counter = Counter()

    @speculate
    def visit(counter, k):
        global VISITS
        VISITS += 1
        if VISITS > 5:
            counter.count -= k
        else:
            counter.count += k
        return VISITS * 10 + counter.count

    return visit, [(counter, k) for k in range(10)]


@stateful_program
def list_with_two_names(speculate):
    class Box:
        def __init__(self):
            self.items = [1, 2, 3]
            self.same_items = self.items

    box = Box()

    @speculate
    def add(box, k):
        box.items.append(k)
        if k % 3 == 0:
            box.same_items = list(box.same_items)
        box.same_items[0] += k
        return box.items[0], len(box.same_items), box.same_items is box.items

    return add, [(box, k) for k in range(1, 10)]


@stateful_program
def deleted_attribute(speculate):
    class Session:
        def __init__(self):
            self.token, self.count = 1, 0

    session = Session()

    @speculate
    def visit(session, k):
        session.count += 1
        if k % 2:
            del session.token
        if not hasattr(session, "token"):
            session.token = k
        return session.token

    return visit, [(session, k) for k in range(9)]


@stateful_program
def attributes_in_slots(speculate):
    class Pair:
        __slots__ = ("first", "second")

        def __init__(self, first, second):
            self.first, self.second = first, second

    pair = Pair(1, 2)

    @speculate
    def turn(pair, k):
        pair.first, pair.second = pair.second + k, pair.first
        return pair.first

    return turn, [(pair, k) for k in range(8)]


@stateful_program
def attribute_of_a_descriptor(speculate):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            return self if instance is None else instance.__dict__[self.name]

        def __set__(self, instance, value):
            if value < 0:
                raise ValueError(self.name)
            instance.__dict__[self.name] = value

    class Article:
        price = Positive()

        def __init__(self):
            self.price = 3

    article = Article()

    @speculate
    def raise_price(article, by):
        article.price = article.price + by
        return article.price

    return raise_price, [(article, by) for by in (1, 2, 3, 4, -100, 2, 3)]


@stateful_program
def nested_contexts(speculate):
    class Scope:
        def __init__(self):
            self.depth = 0

        def __enter__(self):
            self.depth += 1
            return self.depth

        def __exit__(self, kind, value, trace):
            self.depth -= 1

    scope = Scope()

    @speculate
    def enter(scope, k):
        with scope as outer, scope as inner:
            result = outer * 10 + inner + k
        return result + scope.depth

    return enter, [(scope, k) for k in range(8)]


@stateful_program
def context_with_starred_exit(speculate):
    class Scope:
        def __init__(self):
            self.depth, self.depths = 0, []

        def __enter__(self):
            self.depth += 1
            return self.depth

        def __exit__(self, *reasons):
            self.depth -= 1
            self.depths.append(self.depth)
            return False

    scope = Scope()

    @speculate
    def enter(scope, k):
        with scope as depth:
            return depth + k

    return enter, [(scope, k) for k in range(8)]


@stateful_program
def stack_of_cells(speculate):
    class Cell:
        def __init__(self, value, rest):
            self.value, self.rest = value, rest

    class Stack:
        def __init__(self):
            self.top, self.size = None, 0

        def push(self, value):
            self.top = Cell(value, self.top)
            self.size += 1

        def pop(self):
            if self.top is None:
                raise IndexError("empty")
            value, self.top = self.top.value, self.top.rest
            self.size -= 1
            return value

    stack = Stack()

    @speculate
    def push_and_pop(stack, count):
        for k in range(count):
            stack.push(k * count)
        total = 0
        while stack.size > 2:
            total += stack.pop()
        return total

    return push_and_pop, [(stack, count) for count in range(8)]


@stateful_program
def search_tree_that_grows(speculate):
    class Node:
        def __init__(self, key):
            self.key, self.left, self.right, self.count = key, None, None, 1

    class Tree:
        def __init__(self):
            self.root, self.size = None, 0

        def add(self, key):
            if self.root is None:
                self.root = Node(key)
                self.size += 1
                return
            node = self.root
            while True:
                if key == node.key:
                    node.count += 1
                    return
                child = node.left if key < node.key else node.right
                if child is None:
                    break
                node = child
            self.size += 1
            if key < node.key:
                node.left = Node(key)
            else:
                node.right = Node(key)

    tree = Tree()

    @speculate
    def add(tree, key):
        tree.add(key)
        tree.add((key * 7) % 5)
        return tree.size

    return add, [(tree, key) for key in (5, 2, 8, 1, 9, 3, 5, 7, 2)]


@stateful_program
def expressions_with_an_environment(speculate):
    class Number:
        def __init__(self, value):
            self.value = value

        def evaluate(self, environment):
            return self.value

    class Sum:
        def __init__(self, left, right):
            self.left, self.right = left, right

        def evaluate(self, environment):
            return self.left.evaluate(environment) + self.right.evaluate(environment)

    class Product:
        def __init__(self, left, right):
            self.left, self.right = left, right

        def evaluate(self, environment):
            return self.left.evaluate(environment) * self.right.evaluate(environment)

    first = Sum(Product(Number(2), Number(3)), Product(Sum(Number(1), Number(4)), Number(5)))
    second = Product(Number(7), Sum(Number(1), first))
    environment = {"x": 1}

    @speculate
    def evaluate(expression, environment):
        return expression.evaluate(environment)

    expressions = (first, second, first, second, Number(3), first, second, second, first)
    return evaluate, [(expression, environment) for expression in expressions]


@stateful_program
def diamond_of_digits(speculate):
    class First:
        def __init__(self):
            self.digits = 0

        def add(self):
            self.digits = self.digits * 10 + 1

    class Second(First):
        def add(self):
            self.digits = self.digits * 10 + 2
            super().add()

    class Third(First):
        def add(self):
            self.digits = self.digits * 10 + 3
            super().add()

    class Fourth(Second, Third):
        def add(self):
            self.digits = self.digits * 10 + 4
            super().add()

    fourth = Fourth()

    @speculate
    def add(fourth, k):
        fourth.digits = k
        fourth.add()
        return fourth.digits

    return add, [(fourth, k) for k in range(8)]


@stateful_program
def grid_with_items(speculate):
    class Grid:
        def __init__(self, width, height):
            self.width, self.cells = width, [0] * (width * height)

        def __getitem__(self, position):
            return self.cells[position[1] * self.width + position[0]]

        def __setitem__(self, position, value):
            self.cells[position[1] * self.width + position[0]] = value

        def __len__(self):
            return len(self.cells)

        def __contains__(self, value):
            return value in self.cells

    grid = Grid(3, 3)

    @speculate
    def write(grid, k):
        grid[k % 3, (k * 2) % 3] = k
        grid[1, 1] = grid[k % 3, 0] + 1
        return (k in grid), len(grid), grid[1, 1]

    return write, [(grid, k) for k in range(9)]


class TreeNode:
    """A node of a binary tree."""

    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


@stateful_program
def mirrored_tree(speculate):
    def make_tree(depth):
        return TreeNode(depth, make_tree(depth - 1), make_tree(depth - 1)) if depth else None

    tree = make_tree(4)

    @speculate
    def mirror(node):
        if node is None:
            return 0
        node.left, node.right = node.right, node.left
        node.value += 1
        return node.value + mirror(node.left) + 2 * mirror(node.right)

    return mirror, [(tree,) for _ in range(8)]


@stateful_program
def tree_with_shared_nodes(speculate):
    shared = TreeNode(1)
    tree = TreeNode(2, shared, TreeNode(3, shared, shared))

    @speculate
    def increase(node):
        if node is None:
            return 0
        node.value += 1
        return node.value + increase(node.left) + increase(node.right)

    return increase, [(tree,) for _ in range(8)]


@stateful_program
def cell_with_arrays(speculate):
    class Cell:
        def __init__(self):
            self.weights = tl.asarray([[0.1, 0.2], [0.3, 0.4]])
            self.state, self.steps = tl.asarray([0.0, 0.0]), 0

        def step(self, x):
            self.state = tl.maximum(self.state @ self.weights + x, 0.0)
            self.steps += 1
            return self.state

    cell = Cell()

    @speculate
    def run(cell, x, count):
        for _ in range(count):
            y = cell.step(x)
        return y

    return run, [(cell, tl.asarray([0.5, -0.5]), count) for count in (1, 2, 3, 1, 4, 2, 5, 1)]


@stateful_program
def mean_of_a_ring(speculate):
    class Ring:
        def __init__(self, size):
            self.items, self.head, self.is_full = [0.0] * size, 0, False

        def add(self, item):
            self.items[self.head] = item
            self.head = (self.head + 1) % len(self.items)
            if self.head == 0:
                self.is_full = True

        def mean(self):
            count = len(self.items) if self.is_full else self.head
            total = 0.0
            for k in range(count):
                total += self.items[k]
            return total / count

    ring = Ring(4)

    @speculate
    def add(ring, item):
        ring.add(item)
        return ring.mean()

    return add, [(ring, float(k)) for k in range(11)]


@stateful_program
def traffic_light(speculate):
    class Light:
        RED, GREEN, AMBER = 0, 1, 2

        def __init__(self):
            self.state, self.seconds, self.changes = Light.RED, 0, 0

        def tick(self):
            self.seconds += 1
            if self.state == Light.RED and self.seconds > 3:
                self.state, self.seconds = Light.GREEN, 0
            elif self.state == Light.GREEN and self.seconds > 2:
                self.state, self.seconds = Light.AMBER, 0
            elif self.state == Light.AMBER:
                self.state, self.seconds = Light.RED, 0
            else:
                return False
            self.changes += 1
            return True

    light = Light()

    @speculate
    def run(light, count):
        total = 0
        for k in range(count):
            if light.tick():
                total += k
        return total, light.state

    return run, [(light, count) for count in range(1, 9)]


@stateful_program
def parser_with_named_modes(speculate):
    class Parser:
        def __init__(self):
            self.mode, self.total, self.message = "idle", 0, ""

        def feed(self, k):
            if self.mode == "idle" and k > 2:
                self.mode = "busy"
            elif self.mode == "busy":
                self.total += k
                if self.total > 10:
                    self.mode, self.message = "done", f"total {self.total}"
            return self.mode

    parser = Parser()

    @speculate
    def feed(parser, k):
        return parser.feed(k)

    return feed, [(parser, k) for k in (1, 3, 2, 4, 1, 5, 2, 3, 4, 1, 2)]


@stateful_program
def printed_log(speculate):
    class Log:
        def __init__(self):
            self.lines = 0

        def add(self, x):
            self.lines += 1
            print("line", self.lines, f"{x:.2f}", x > 1)

    log = Log()

    @speculate
    def add(log, x):
        for k in range(2):
            log.add(x + k)
        assert x < 5, "too large"
        return log.lines

    return add, [(log, float(k)) for k in (0, 1, 2, 3, 4, 1, 2, 6, 7, 3)]


@stateful_program
def resource_that_is_closed(speculate):
    class Resource:
        def __init__(self):
            self.is_open, self.uses = False, 0

    resource = Resource()

    @speculate
    def use(resource, k):
        resource.is_open = True
        try:
            resource.uses += 1
            if k == 4:
                raise RuntimeError("four")
            return 10 // k
        finally:
            resource.is_open = False

    return use, [(resource, k) for k in (1, 2, 3, 5, 6, 4, 0, 2, 1, 3, 5)]


@stateful_program
def queue_that_is_full(speculate):
    class FullError(Exception):
        pass

    class Queue:
        def __init__(self, capacity):
            self.items, self.capacity, self.dropped = [], capacity, 0

        def put(self, item):
            if len(self.items) >= self.capacity:
                raise FullError(item)
            self.items.append(item)

    queue = Queue(4)

    @speculate
    def put(queue, item):
        try:
            queue.put(item)
            was_put = True
        except FullError:
            queue.dropped += 1
            queue.items.pop(0)
            was_put = False
        return was_put, len(queue.items)

    return put, [(queue, k) for k in range(11)]


@stateful_program
def class_methods_that_count(speculate):
    class Temperature:
        conversions = 0

        def __init__(self, degrees):
            self.degrees = degrees

        @staticmethod
        def convert(fahrenheit):
            return (fahrenheit - 32) * 5 / 9

        @classmethod
        def from_fahrenheit(cls, fahrenheit):
            cls.conversions += 1
            return cls(cls.convert(fahrenheit))

    class Limit(Temperature):
        pass

    @speculate
    def convert(x):
        first, second = Temperature.from_fahrenheit(x), Limit.from_fahrenheit(x + 1)
        return first.degrees + second.degrees, Temperature.conversions, Limit.conversions, type(second) is Limit

    return convert, [(float(k),) for k in range(9)]


@stateful_program
def comparisons_that_count(speculate):
    class Version:
        def __init__(self, major, minor):
            self.major, self.minor, self.comparisons = major, minor, 0

        def __lt__(self, other):
            self.comparisons += 1
            return (self.major, self.minor) < (other.major, other.minor)

        def __eq__(self, other):
            return self.major == other.major and self.minor == other.minor

        def __bool__(self):
            return self.major != 0

        def __neg__(self):
            return Version(-self.major, -self.minor)

        def __abs__(self):
            return self.major if self.major > 0 else -self.major

    versions = [Version(3, 1), Version(1, 2), Version(0, 5), Version(3, 0)]

    @speculate
    def increase_least(versions, by):
        least = versions[0]
        for version in versions:
            if version < least:
                least = version
        negative = -least
        least.major += by
        return least.major, least == versions[1], bool(least), abs(negative)

    return increase_least, [(versions, by) for by in range(8)]


@stateful_program
def handlers_in_a_tuple(speculate):
    class Total:
        def __init__(self):
            self.value = 0

    total = Total()

    def add(total, k):
        total.value += k

    def double(total, k):
        total.value *= 2

    handlers = (add, double, add)

    @speculate
    def handle(total, k):
        for handler in handlers:
            handler(total, k)
        shift = lambda x: x + total.value
        return shift(k)

    return handle, [(total, k) for k in range(8)]


@stateful_program
def defaults_and_keywords(speculate):
    class Options:
        def __init__(self, *, first=1, second=2):
            self.first, self.second = first, second

    @speculate
    def scale(x, options=None, *, factor=2):
        options = Options(first=x) if options is None else options
        options.second += factor
        return options.first * factor + options.second

    return scale, [(k,) for k in range(5)] + [(k, Options(second=k)) for k in range(5)]


@stateful_program
def numpy_array_with_two_names(speculate):
    class Model:
        def __init__(self):
            self.weights, self.steps = np.ones(3), 0
            self.same_weights, self.last_weights = self.weights, self.weights[1:]

    model = Model()

    @speculate
    def step(model, rate):
        model.weights -= rate * model.weights
        model.weights[0] = model.steps
        model.steps += 1
        return float(model.weights.sum()), float(model.same_weights[0]), float(model.last_weights[0])

    return step, [(model, 0.25) for _ in range(7)]


@stateful_program
def search_with_else(speculate):
    class Item:
        def __init__(self, key, next_item):
            self.key, self.next_item, self.hits = key, next_item, 0

    chain = None
    for key in range(6):
        chain = Item(key, chain)

    @speculate
    def find(chain, key):
        item, steps = chain, 0
        while item is not None:
            if item.key == key:
                item.hits += 1
                break
            item = item.next_item
            steps += 1
        else:
            return -1
        return steps, item.hits

    return find, [(chain, key) for key in (0, 3, 5, 9, 2, 3, 7, 3)]


@stateful_program
def cells_with_neighbours(speculate):
    class Cell:
        def __init__(self, is_alive):
            self.is_alive, self.neighbours = is_alive, []

    cells = [Cell(k % 2) for k in range(5)]
    for k, cell in enumerate(cells):
        cell.neighbours = [cells[(k + 1) % 5], cells[(k - 1) % 5]]

    @speculate
    def step(cells, k):
        states = [0 for _ in cells]
        for position, cell in enumerate(cells):
            count = sum(neighbour.is_alive for neighbour in cell.neighbours)
            states[position] = 1 if count == 1 or (count == 2 and cell.is_alive) else 0
        for cell, state in zip(cells, states):
            cell.is_alive = state
        return sum(states) + k

    return step, [(cells, k) for k in range(8)]


@stateful_program
def total_of_several_classes(speculate):
    class Mean:
        def __init__(self):
            self.total, self.count = 0, 0

    mean = Mean()

    @speculate
    def add(mean, x):
        mean.total = mean.total + x
        mean.count += 1
        return mean.total / mean.count, type(mean.total) is int

    return add, [(mean, x) for x in (1, 2, 3, 4, 0.5, 2, 3, True, 4)]


@stateful_program
def rate_as_a_property(speculate):
    class Schedule:
        def __init__(self):
            self.step, self.base = 0, 1.0

        @property
        def rate(self):
            return self.base * (0.5 if self.step > 4 else 1.0) if self.step % 3 else self.base * 0.1

    schedule = Schedule()

    @speculate
    def advance(schedule, gradient):
        schedule.step += 1
        schedule.base = min(max(schedule.base - schedule.rate * gradient, 0.01), 2.0)
        return round(schedule.base * 1000)

    return advance, [(schedule, gradient) for gradient in (0.1, -0.2, 0.3, 0.1, -0.5, 0.2, 0.9, 0.1)]


@stateful_program
def cache_in_an_object(speculate):
    class Cache:
        def __init__(self):
            self.results, self.hits = {}, 0

    cache = Cache()

    @speculate
    def square(cache, k):
        if k in cache.results:
            cache.hits += 1
            return cache.results[k]
        cache.results[k] = k * k
        return cache.results[k]

    return square, [(cache, k) for k in (1, 2, 1, 3, 2, 1, 5, 5, 1, 2, 3, 5, 1)]


@stateful_program
def pair_that_is_replaced(speculate):
    class Fibonacci:
        def __init__(self):
            self.pair, self.numbers = (0, 1), []

        def advance(self):
            first, second = self.pair
            self.pair = (second, first + second)
            self.numbers.append(first)
            return first

    fibonacci = Fibonacci()

    @speculate
    def advance(fibonacci, count):
        total = 0
        for _ in range(count):
            total += fibonacci.advance()
        return total, fibonacci.numbers[-1]

    return advance, [(fibonacci, count) for count in (1, 2, 3, 1, 4, 2, 1, 3)]


@stateful_program
def method_replaced_between_calls(speculate):
    class Dog:
        def __init__(self):
            self.barks = 0

        def bark(self):
            self.barks += 1
            return 1

    def bark_loudly(self):
        self.barks += 10
        return 2

    quiet = Dog.bark
    dog = Dog()

    @speculate
    def bark(dog, k):
        return dog.bark() + k

    def make_calls():
        for k in range(10):
            Dog.bark = bark_loudly if k in (5, 6, 8) else quiet
            yield dog, k

    return bark, make_calls()
