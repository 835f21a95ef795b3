"""Programs of everyday kinds, such as games, simulations and queues, made as scenarios are (`object_scenarios`)."""

# ruff: noqa: B905, SIM110

from __future__ import annotations

import math
from dataclasses import dataclass

import tagloom as tl

from .object_scenarios import ObjectScenario

EVERYDAY_PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""
TICKS = 0
"""The number of calls of `clock_of_module`."""


def everyday_program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    EVERYDAY_PROGRAMS[make.__name__] = make
    return make


@everyday_program
def elevator(speculate):
    class Elevator:
        def __init__(self):
            self.floor, self.stops, self.moved = 0, [], 0

        def request(self, floor):
            if floor not in self.stops:
                self.stops.append(floor)

        def run(self):
            while len(self.stops) > 0:
                target = self.stops.pop(0)
                self.moved += abs(target - self.floor)
                self.floor = target

    @speculate
    def ride(elevator, first, second):
        elevator.request(first)
        elevator.request(second)
        elevator.run()
        return elevator.floor, elevator.moved

    elevator = Elevator()
    return ride, [(elevator, k % 5, (3 * k) % 7) for k in range(11)]


@everyday_program
def controller_with_memory(speculate):
    @dataclass
    class Controller:
        gain: float
        integral: float = 0.0
        last: float = 0.0

        def step(self, error):
            self.integral += 0.1 * error
            change = (error - self.last) / 0.1
            self.last = error
            return self.gain * error + 0.5 * self.integral + 0.01 * change

    class Plant:
        def __init__(self):
            self.value = 0.0

        def apply(self, force):
            self.value += 0.1 * (force - 0.2 * self.value)

    @speculate
    def settle(controller, plant, goal):
        for _ in range(5):
            plant.apply(controller.step(goal - plant.value))
        return plant.value

    controller, plant = Controller(2.0), Plant()
    return settle, [(controller, plant, float(k % 3)) for k in range(10)]


@everyday_program
def ring_buffer(speculate):
    class Ring:
        def __init__(self, size):
            self.items, self.head, self.count = [0] * size, 0, 0

        def push(self, value):
            self.items[(self.head + self.count) % len(self.items)] = value
            if self.count < len(self.items):
                self.count += 1
            else:
                self.head = (self.head + 1) % len(self.items)

        def total(self):
            return sum(self.items[(self.head + k) % len(self.items)] for k in range(self.count))

    @speculate
    def push(ring, value):
        ring.push(value)
        return ring.total()

    ring = Ring(4)
    return push, [(ring, k * k - 5) for k in range(12)]


@everyday_program
def linked_queue(speculate):
    class Link:
        def __init__(self, value):
            self.value, self.next = value, None

    class Queue:
        def __init__(self):
            self.first = self.last = None
            self.size = 0

        def put(self, value):
            link = Link(value)
            if self.last is None:
                self.first = link
            else:
                self.last.next = link
            self.last = link
            self.size += 1

        def get(self):
            if self.first is None:
                return -1
            value = self.first.value
            self.first = self.first.next
            if self.first is None:
                self.last = None
            self.size -= 1
            return value

    @speculate
    def rotate(queue, value):
        queue.put(value)
        if value % 3 == 0:
            queue.get()
        return queue.get() if queue.size > 2 else queue.size

    queue = Queue()
    return rotate, [(queue, k) for k in range(1, 14)]


@everyday_program
def life_on_a_ring(speculate):
    class World:
        def __init__(self, cells):
            self.cells, self.age = cells, 0

    @speculate
    def step(world):
        old = world.cells
        n = len(old)
        world.cells = [1 if old[k - 1] != old[(k + 1) % n] else 0 for k in range(n)]
        world.age += 1
        return sum(world.cells)

    world = World([0, 0, 0, 1, 0, 0, 0, 0])
    return step, [(world,) for _ in range(10)]


@everyday_program
def polynomial_with_operators(speculate):
    class Polynomial:
        def __init__(self, coefficients):
            self.coefficients = coefficients

        def __call__(self, x):
            value = 0
            for c in self.coefficients:
                value = value * x + c
            return value

        def __add__(self, other):
            return Polynomial([a + b for a, b in zip(self.coefficients, other.coefficients)])

    @speculate
    def evaluate(p, q, x):
        return (p + q)(x) - p(x)

    p, q = Polynomial([1, 2, 3]), Polynomial([4, -5, 6])
    return evaluate, [(p, q, k - 4) for k in range(10)]


@everyday_program
def binary_counter(speculate):
    class Register:
        def __init__(self, width):
            self.bits = [False] * width

        def increment(self):
            for k in range(len(self.bits)):
                if self.bits[k]:
                    self.bits[k] = False
                else:
                    self.bits[k] = True
                    return True
            return False

    @speculate
    def count(register, times):
        done = 0
        for _ in range(times):
            if register.increment():
                done += 1
        return done

    register = Register(4)
    return count, [(register, k % 4) for k in range(12)]


@everyday_program
def vending_machine(speculate):
    class Machine:
        PRICE = 5

        def __init__(self):
            self.credit, self.stock, self.state = 0, 4, "ready"

        def insert(self, coin):
            if self.state == "empty":
                return "rejected"
            self.credit += coin
            if self.credit >= self.PRICE:
                self.credit -= self.PRICE
                self.stock -= 1
                if self.stock == 0:
                    self.state = "empty"
                return "sold"
            return "waiting"

    @speculate
    def insert(machine, coin):
        answer = machine.insert(coin)
        print(answer, machine.credit)
        return machine.state

    machine = Machine()
    return insert, [(machine, coin) for coin in (2, 2, 2, 5, 1, 1, 4, 2, 2, 1, 5, 5)]


@everyday_program
def parity_of_mutual_methods(speculate):
    class Walker:
        def __init__(self):
            self.steps = 0

        def is_even(self, n):
            self.steps += 1
            return True if n == 0 else self.is_odd(n - 1)

        def is_odd(self, n):
            self.steps += 1
            return False if n == 0 else self.is_even(n - 1)

    @speculate
    def check(walker, n):
        return walker.is_even(n), walker.steps

    walker = Walker()
    return check, [(walker, n) for n in range(10)]


@everyday_program
def heap_in_a_list(speculate):
    class Heap:
        def __init__(self):
            self.items = []

        def push(self, value):
            self.items.append(value)
            k = len(self.items) - 1
            while k > 0 and self.items[(k - 1) // 2] > self.items[k]:
                parent = (k - 1) // 2
                self.items[k], self.items[parent] = self.items[parent], self.items[k]
                k = parent

    @speculate
    def push(heap, value):
        heap.push(value)
        return heap.items[0]

    heap = Heap()
    return push, [(heap, (7 * k) % 11 - k) for k in range(12)]


@everyday_program
def clock_of_module(speculate):
    class Clock:
        def __init__(self):
            self.minutes = 0

    @speculate
    def tick(clock, n):
        global TICKS
        TICKS += 1
        clock.minutes = (clock.minutes + n) % 60
        return clock.minutes * 100 + TICKS % 10

    clock = Clock()
    return tick, [(clock, 7 * k) for k in range(10)]


@everyday_program
def bank_of_subclasses(speculate):
    class Account:
        fee = 1

        def __init__(self, balance):
            self.balance = balance

        def charge(self):
            self.balance -= self.fee
            return self.balance

    class Savings(Account):
        fee = 0

        def charge(self):
            self.balance += self.balance // 10
            return super().charge()

    class Premium(Savings):
        fee = 3

    @speculate
    def month(accounts):
        total = 0
        for account in accounts:
            total += account.charge()
        return total

    accounts = [Account(50), Savings(100), Premium(70), Account(9)]
    return month, [(accounts,) for _ in range(10)]


@everyday_program
def smoothed_vector(speculate):
    class Filter:
        def __init__(self):
            self.mean, self.weight, self.seen = tl.asarray([0.0, 0.0, 0.0]), 0.5, 0

        def update(self, x):
            self.mean = self.mean * (1.0 - self.weight) + x * self.weight
            self.seen += 1
            if self.seen % 4 == 0:
                self.weight = self.weight * 0.5
            return self.mean

    @speculate
    def update(smoother, x):
        smoother.update(x)
        return tl.sum(smoother.mean)

    smoother = Filter()
    return update, [(smoother, tl.asarray([1.0 * k, 2.0, -k * 0.5])) for k in range(10)]


@everyday_program
def rectangle_with_setters(speculate):
    class Rectangle:
        def __init__(self, width, height):
            self._width, self._height, self.changes = width, height, 0

        @property
        def area(self):
            return self._width * self._height

        @property
        def width(self):
            return self._width

        @width.setter
        def width(self, value):
            self._width = value if value > 0 else 1
            self.changes += 1

    @speculate
    def stretch(rectangle, by):
        rectangle.width += by
        return rectangle.area, rectangle.changes

    rectangle = Rectangle(2, 3)
    return stretch, [(rectangle, k % 5 - 2) for k in range(10)]


@everyday_program
def stack_calculator(speculate):
    class Calculator:
        def __init__(self):
            self.stack = []

        def run(self, code):
            for word in code:
                if word >= 0:
                    self.stack.append(word)
                elif word == -1:
                    self.stack.append(self.stack.pop() + self.stack.pop())
                else:
                    self.stack.append(self.stack.pop() * self.stack.pop())
            return self.stack.pop()

    @speculate
    def run(calculator, code):
        return calculator.run(code)

    calculator = Calculator()
    return run, [(calculator, [k, k + 1, -1, 3, -2]) for k in range(10)]


@everyday_program
def matrix_of_rows(speculate):
    class Matrix:
        def __init__(self, rows):
            self.rows = rows

        def trace(self):
            return sum([self.rows[k][k] for k in range(len(self.rows))])

        def add_to_row(self, target, source, factor):
            for k in range(len(self.rows[target])):
                self.rows[target][k] += factor * self.rows[source][k]

    @speculate
    def step(matrix, k):
        matrix.add_to_row(k % 3, (k + 1) % 3, k - 4)
        return matrix.trace()

    matrix = Matrix([[1, 2, 3], [0, 1, 4], [5, 6, 0]])
    return step, [(matrix, k) for k in range(10)]


@everyday_program
def linked_ring_of_players(speculate):
    class Player:
        def __init__(self, number):
            self.number, self.next, self.score = number, self, 0

    @speculate
    def eliminate(player, steps):
        for _ in range(steps):
            player = player.next
        removed = player.next
        player.next = removed.next
        player.score += removed.number
        return player

    players = [Player(k) for k in range(14)]
    for k, player in enumerate(players):
        player.next = players[(k + 1) % len(players)]
    return eliminate, [(players[0], k % 3) for k in range(10)]


@everyday_program
def game_of_two_players(speculate):
    class Player:
        def __init__(self, name):
            self.name, self.points, self.rival = name, 0, None

    class Game:
        def __init__(self, first, second):
            self.turn, self.rounds = first, 0
            first.rival, second.rival = second, first

        def play(self, dice):
            self.turn.points += dice
            self.rounds += 1
            if dice != 6:
                self.turn = self.turn.rival
            return self.turn.name

    @speculate
    def play(game, dice):
        name = game.play(dice)
        return name, game.turn.points - game.turn.rival.points

    game = Game(Player("ann"), Player("bob"))
    return play, [(game, dice) for dice in (3, 6, 2, 1, 6, 6, 4, 5, 2, 6, 1)]


@everyday_program
def inventory_by_name(speculate):
    class Inventory:
        def __init__(self):
            self.stock = {"nut": 10, "bolt": 4, "gear": 0}
            self.orders = 0

        def take_bolts(self, n):
            if self.stock["bolt"] < n:
                self.orders += 1
                self.stock["bolt"] += 5
                return 0
            self.stock["bolt"] -= n
            self.stock["nut"] -= n
            return n

    @speculate
    def take(inventory, n):
        taken = inventory.take_bolts(n)
        return taken + inventory.stock["nut"]

    inventory = Inventory()
    return take, [(inventory, k % 4) for k in range(12)]


@everyday_program
def first_match_in_a_tree(speculate):
    class Node:
        def __init__(self, key, children):
            self.key, self.children, self.visits = key, children, 0

        def find(self, key):
            self.visits += 1
            if self.key == key:
                return self
            for child in self.children:
                found = child.find(key)
                if found is not None:
                    return found
            return None

    @speculate
    def find(root, key):
        node = root.find(key)
        return -1 if node is None else node.visits

    root = Node(0, [Node(1, [Node(3, []), Node(4, [])]), Node(2, [Node(5, [Node(6, [])])])])
    return find, [(root, k % 8) for k in range(12)]


@everyday_program
def robot_with_directions(speculate):
    class Robot:
        def __init__(self):
            self.x, self.y, self.heading = 0, 0, 0

        def turn(self):
            self.heading = (self.heading + 1) % 4

        def forward(self, n):
            dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[self.heading]
            self.x += dx * n
            self.y += dy * n

    @speculate
    def move(robot, n):
        robot.forward(n)
        robot.turn()
        return robot.x, robot.y

    robot = Robot()
    return move, [(robot, k) for k in range(1, 12)]


@everyday_program
def last_readings(speculate):
    class Sensor:
        def __init__(self):
            self.readings = []

        def add(self, value):
            self.readings.append(value)
            recent = self.readings[-3:]
            return sum(recent) / len(recent)

    @speculate
    def add(sensor, value):
        return sensor.add(value)

    sensor = Sensor()
    return add, [(sensor, (5 * k) % 7) for k in range(11)]


@everyday_program
def rotated_list(speculate):
    class Wheel:
        def __init__(self, items):
            self.items = items

        def rotate(self, n):
            self.items = self.items[n:] + self.items[:n]
            return self.items[0]

    @speculate
    def rotate(wheel, n):
        return wheel.rotate(n)

    wheel = Wheel([1, 2, 3, 4, 5])
    return rotate, [(wheel, n) for n in (1, 2, 0, 3, 4, 5, 1, 9, -1, -2, 1)]


@everyday_program
def angle_that_wraps(speculate):
    class Wheel:
        def __init__(self):
            self.angle, self.turns = 0.0, 0.0

        def spin(self, by):
            self.turns += (self.angle + by) // 360.0
            self.angle = (self.angle + by) % 360.0
            return self.angle

    @speculate
    def spin(wheel, by):
        return wheel.spin(by)

    wheel = Wheel()
    return spin, [(wheel, 97.5 * k - 300.25) for k in range(11)]


@everyday_program
def growth_by_powers(speculate):
    class Colony:
        def __init__(self):
            self.size, self.rate = 2.0, 1.25

    @speculate
    def grow(colony, days):
        colony.size = colony.size * colony.rate**days
        return colony.size

    colony = Colony()
    return grow, [(colony, k % 3) for k in range(10)]


@everyday_program
def points_in_slots(speculate):
    class Point:
        __slots__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    @speculate
    def move(point, by):
        point.x += by
        point.y -= by
        return point.x * point.y

    point = Point(3, 4)
    return move, [(point, k) for k in range(10)]


@everyday_program
def votes_by_number(speculate):
    class Poll:
        def __init__(self):
            self.votes = {1: 0, 2: 0, 3: 0}

        def vote(self, number):
            self.votes[number] += 1
            return self.votes[1] - self.votes[2]

    @speculate
    def vote(poll, number):
        return poll.vote(number)

    poll = Poll()
    return vote, [(poll, k % 3 + 1) for k in range(10)]


@everyday_program
def handler_of_an_empty_stack(speculate):
    class Stack:
        def __init__(self):
            self.items, self.misses = [], 0

    @speculate
    def pop_or_push(stack, value):
        try:
            top = stack.items.pop()
        except IndexError:
            stack.misses += 1
            stack.items.append(value)
            return value
        return top * 2

    stack = Stack()
    return pop_or_push, [(stack, k) for k in range(12)]


@everyday_program
def counters_in_a_closure(speculate):
    def make_counters():
        total = 0
        history = []

        @speculate
        def add(n):
            nonlocal total
            total += n
            history.append(total)
            return total + len(history)

        return add

    return make_counters(), [(k - 2,) for k in range(10)]


@everyday_program
def budget_with_context(speculate):
    class Budget:
        def __init__(self):
            self.left, self.depth = 100, 0

        def __enter__(self):
            self.depth += 1
            return self

        def __exit__(self, kind, error, traceback):
            self.depth -= 1
            return False

        def spend(self, n):
            self.left -= n
            return self.left

    @speculate
    def spend(budget, n):
        with budget as open_budget:
            left = open_budget.spend(n) * budget.depth
        return left + budget.depth

    budget = Budget()
    return spend, [(budget, k) for k in range(10)]


@everyday_program
def bodies_with_forces(speculate):
    class Body:
        def __init__(self, position, mass):
            self.position, self.velocity, self.mass = position, tl.asarray([0.0, 0.0]), mass

    @speculate
    def step(bodies, dt):
        for body in bodies:
            force = tl.asarray([0.0, 0.0])
            for other in bodies:
                if other is not body:
                    force = force + (other.position - body.position) * other.mass
            body.velocity = body.velocity + force * dt
        for body in bodies:
            body.position = body.position + body.velocity * dt
        return bodies[0].position

    bodies = [Body(tl.asarray([1.0 * k, 2.0 - k]), 1.0 + k) for k in range(3)]
    return step, [(bodies, 0.125) for _ in range(9)]


@everyday_program
def document_of_parts(speculate):
    class Text:
        def __init__(self, length):
            self.length = length

        def width(self):
            return self.length

    class Box:
        def __init__(self, parts, margin):
            self.parts, self.margin = parts, margin

        def width(self):
            best = 0
            for part in self.parts:
                best = max(best, part.width())
            return best + 2 * self.margin

    @speculate
    def grow(box, by):
        box.margin += by
        return box.width()

    inner = Box([Text(3), Text(8)], 1)
    box = Box([inner, Text(5), Box([Text(9)], 0)], 2)
    return grow, [(box, k % 2) for k in range(10)]


@everyday_program
def distance_with_roots(speculate):
    class Walker:
        def __init__(self):
            self.x, self.y, self.path = 0.0, 0.0, 0.0

        def go(self, x, y):
            self.path += math.sqrt((x - self.x) * (x - self.x) + (y - self.y) * (y - self.y))
            self.x, self.y = x, y

    @speculate
    def go(walker, x, y):
        walker.go(x, y)
        return walker.path

    walker = Walker()
    return go, [(walker, 1.5 * k, 4.0 - k) for k in range(10)]


@everyday_program
def events_by_time(speculate):
    class Event:
        def __init__(self, time, value):
            self.time, self.value = time, value

    class Agenda:
        def __init__(self):
            self.events, self.now = [], 0

        def add(self, event):
            k = len(self.events)
            self.events.append(event)
            while k > 0 and self.events[k - 1].time > event.time:
                self.events[k] = self.events[k - 1]
                k -= 1
            self.events[k] = event

        def advance(self):
            event = self.events.pop(0)
            self.now = event.time
            return event.value

    @speculate
    def step(agenda, delay, value):
        agenda.add(Event(agenda.now + delay, value))
        agenda.add(Event(agenda.now + 2 * delay, value + 1))
        return agenda.advance()

    agenda = Agenda()
    return step, [(agenda, (5 * k) % 4, 10 * k) for k in range(11)]


@everyday_program
def undo_of_changes(speculate):
    class Editor:
        def __init__(self):
            self.value, self.undone = 0, []

        def change(self, value):
            self.undone.append(self.value)
            self.value = value

        def undo(self):
            if self.undone:
                self.value = self.undone.pop()

    @speculate
    def edit(editor, value):
        if value < 0:
            editor.undo()
        else:
            editor.change(value)
        return editor.value

    editor = Editor()
    return edit, [(editor, k) for k in (1, 2, -1, 3, -1, -1, -1, 5, 6, -1, 7)]


@everyday_program
def palindrome_of_items(speculate):
    class Line:
        def __init__(self):
            self.items = []

    @speculate
    def add(line, value):
        line.items.append(value)
        backwards = line.items[::-1]
        for k in range(len(backwards)):
            if backwards[k] != line.items[k]:
                return False
        return True

    line = Line()
    return add, [(line, k) for k in (1, 2, 1, 1, 2, 1, 3, 1, 2, 1, 1)]


@everyday_program
def shopping_cart_of_dataclasses(speculate):
    @dataclass
    class Item:
        price: int
        count: int = 1

        def cost(self):
            return self.price * self.count

    @dataclass
    class Cart:
        items: list
        discount: int = 0

        def total(self):
            return sum(item.cost() for item in self.items) - self.discount

    @speculate
    def add(cart, price):
        cart.items.append(Item(price))
        if price % 2 == 0:
            cart.items[-1].count += 1
            cart.discount += 1
        return cart.total()

    cart = Cart([])
    return add, [(cart, k + 3) for k in range(10)]


@everyday_program
def longest_run(speculate):
    class Run:
        def __init__(self):
            self.last, self.length, self.best = None, 0, 0

    @speculate
    def see(run, value):
        run.length = run.length + 1 if value == run.last else 1
        run.last = value
        run.best = max(run.best, run.length)
        return run.best

    run = Run()
    return see, [(run, value) for value in (1, 1, 2, 2, 2, 3, 3, 1, 1, 1, 1, 2)]


@everyday_program
def network_with_two_heads(speculate):
    class Layer:
        def __init__(self, scale):
            self.weight, self.calls = tl.asarray([[scale, 0.25], [-0.5, scale]]), 0

        def __call__(self, x):
            self.calls += 1
            return tl.tanh(x @ self.weight)

    class Network:
        def __init__(self):
            self.body, self.heads, self.use_second = Layer(1.0), [Layer(0.5), Layer(2.0)], False

        def __call__(self, x):
            hidden = self.body(x)
            head = self.heads[1] if self.use_second else self.heads[0]
            self.use_second = not self.use_second
            return head(hidden)

    @speculate
    def predict(network, x):
        return network(x)

    network = Network()
    return predict, [(network, tl.asarray([0.5, 1.0 * k])) for k in range(10)]


@everyday_program
def cache_with_a_limit(speculate):
    class Cache:
        def __init__(self, limit):
            self.keys, self.values, self.limit, self.hits = [], [], limit, 0

        def get(self, key):
            for k in range(len(self.keys)):
                if self.keys[k] == key:
                    self.hits += 1
                    return self.values[k]
            value = key * key + 1
            self.keys.append(key)
            self.values.append(value)
            if len(self.keys) > self.limit:
                self.keys.pop(0)
                self.values.pop(0)
            return value

    @speculate
    def get(cache, key):
        return cache.get(key), cache.hits

    cache = Cache(3)
    return get, [(cache, key) for key in (1, 2, 1, 3, 4, 1, 2, 4, 4, 5, 1)]
