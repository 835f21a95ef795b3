"""Classes with state, closures, text and exceptions, as a programmer writes them."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import functools
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import dataclass

from .table import everyday


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.history = 0

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history += 1

    def withdraw(self, amount):
        if amount > self.balance:
            raise RuntimeError("insufficient funds")
        self.balance -= amount
        self.history += 1


@everyday((10, 5, 3), (10, 0, 3), (1, 2, 9))
def bank(start, deposit, withdrawal):
    account = Account(start)
    account.deposit(deposit)
    account.withdraw(withdrawal)
    return account.balance, account.history


@everyday((10, 4), (3, 4), (100, 4))
def withdraw_while_possible(balance, amount):
    account = Account(balance)
    while account.balance >= amount:
        account.withdraw(amount)
    return account.balance, account.history


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __abs__(self):
        return (self.x**2 + self.y**2) ** 0.5

    @property
    def area(self):
        return self.x * self.y


@everyday((3.0, 4.0, 2.0), (1.0, 0.0, -1.0))
def vector_arithmetic(x, y, k):
    v = Vector(x, y) * k + Vector(1.0, 1.0)
    return abs(v), v.area, v == Vector(x, y)


@everyday((3,), (0,))
def move_vector(n):
    v = Vector(0, 0)
    for i in range(n):
        v = v + Vector(i, 1)
    return v.x, v.y


class Counter:
    total = 0

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return self.count

    @classmethod
    def double(cls, n):
        return 2 * n

    @staticmethod
    def triple(n):
        return 3 * n


@everyday((3,), (0,))
def call_counter(n):
    tick = Counter()
    last = 0
    for _ in range(n):
        last = tick()
    return last, tick.count, Counter.double(n), Counter.triple(n)


class Shape:
    def __init__(self, size):
        self.size = size

    def area(self):
        raise NotImplementedError

    def describe(self):
        return self.area() * 2


class Square(Shape):
    def area(self):
        return self.size * self.size


class Circle(Shape):
    def __init__(self, size):
        super().__init__(size)
        self.factor = 3

    def area(self):
        return self.factor * self.size**2


@everyday((2,), (5,))
def total_area(n):
    shapes = [Square(n), Circle(n), Square(1)]
    return sum(shape.area() for shape in shapes), shapes[1].describe()


@dataclass
class Particle:
    position: float
    velocity: float

    def step(self, dt):
        self.position += self.velocity * dt
        if self.position < 0 or self.position > 10:
            self.velocity = -self.velocity


@everyday((5, 3.0), (8, -2.5))
def bounce(steps, velocity):
    particle = Particle(1.0, velocity)
    for _ in range(steps):
        particle.step(0.5)
    return particle.position, particle.velocity


Point = namedtuple("Point", "x y")


@everyday((1, 2), (3, -4))
def named_points(x, y):
    p = Point(x, y)
    q = p._replace(x=p.y)
    return p.x * q.x, max(p), q


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


@everyday((3, 4), (1, 0))
def postfix(a, b):
    stack = Stack()
    for token in (a, b, "+", 2, "*"):
        if token == "+":
            stack.push(stack.pop() + stack.pop())
        elif token == "*":
            stack.push(stack.pop() * stack.pop())
        else:
            stack.push(token)
    return stack.pop(), len(stack)


@everyday((5,), (-5,))
def make_adders(n):
    def adder(k):
        return lambda x: x + k

    adders = [adder(k) for k in (1, n, n * n)]
    return [f(10) for f in adders]


@everyday((3,), (6,))
def counter_closure(n):
    count = 0

    def increment(by=1):
        nonlocal count
        count += by
        return count

    for i in range(n):
        increment()
        if i % 2:
            increment(by=i)
    return count


@everyday((4,), (0,))
def compose_functions(n):
    def compose(*functions):
        return functools.reduce(lambda f, g: lambda x: g(f(x)), functions)

    return compose(lambda x: x + 1, lambda x: x * 2, abs)(n - 3)


@everyday((2, 5), (3, 3))
def apply_times(x, n):
    def apply(f, times, value):
        for _ in range(times):
            value = f(value)
        return value

    return apply(lambda v: v * 2 + 1, n, x)


@everyday((6,), (1,))
def memoised(n):
    cache = {}

    def fib(k):
        if k in cache:
            return cache[k]
        value = k if k < 2 else fib(k - 1) + fib(k - 2)
        cache[k] = value
        return value

    return fib(n)


@everyday((7,), (8,))
def mutual(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    return even(n), odd(n)


@everyday((3,), (15,), (10,), (7,))
def fizz_buzz(n):
    for i in range(1, n + 1):
        if i % 15 == 0:
            print("FizzBuzz")
        elif i % 3 == 0:
            print("Fizz")
        elif i % 5 == 0:
            print("Buzz")
        else:
            print(i)


@everyday((3,), (0,))
def print_table(n):
    for i in range(n):
        print(i, i * i, f"{i} squared is {i * i}")
    return n


@everyday((3, 2.5), (0, -1.0))
def print_kinds(n, x):
    print(n > 1, x, [n, x], (n,), None)
    print("sum:", n + x, sep="\t")
    print()
    return n


@everyday((5,), (-5,), (0,))
def sign_word(n):
    word = "positive" if n > 0 else "negative" if n < 0 else "zero"
    print(word)
    return n


@everyday((7,), (70,))
def percent_format(n):
    print("%d items" % n)
    return n


@everyday((7,), (70,))
def str_format(n):
    print(f"{n} items, {n + 1}")
    return n


@everyday((4,), (1,))
def print_triangle(n):
    for i in range(1, n + 1):
        print("*" * i)
    return n


@everyday((4,), (0,))
def safe_divide(n):
    try:
        return 12 // n
    except ZeroDivisionError:
        return -1


@everyday((4,), (-4,))
def finally_runs(n):
    log = 0
    try:
        if n < 0:
            return log - 1
        log += n
    finally:
        print("done", n)
    return log


@everyday((4,), (0,))
def divide_or_raise(n):
    try:
        result = 100 // n
    finally:
        print("tried")
    return result


@everyday((1,), (5,))
def lookup_error(i):
    values = (10, 20, 30)
    if not 0 <= i < len(values):
        raise IndexError("out of range")
    return values[i]


@contextmanager
def scaled(factor):
    yield factor * 2


@everyday((3,), (-3,))
def with_context(n):
    with scaled(n) as k:
        if k > 0:
            return k
    return 0


@everyday((2, 3), (3, 2))
def default_arguments(a, b):
    def area(width, height=None, *, scale=1):
        if height is None:
            height = width
        return width * height * scale

    return area(a), area(a, b), area(b, scale=a), area(*[a, b], scale=2)


@everyday((3, 1), (1, 3))
def variadic(a, b):
    def total(*values, **named):
        return sum(values) + sum(named.values())

    return total(a, b, 1, k=a, m=b)


@everyday((True, 4), (False, 4))
def same_condition(p, n):
    if p:
        x = n + 1
    n += 2
    if p:
        return x * n
    return n


@everyday((5,), (-5,))
def optional_result(n):
    def find(k):
        if k > 0:
            return k
        return None

    result = find(n)
    return 0 if result is None else result


@everyday((5, 2), (0, 0))
def tuple_match(a, b):
    match (a, b):
        case (0, 0):
            return "origin" == "x"
        case (0, _) | (_, 0):
            return True
        case (x, y) if x == y:
            return True
    return False


@everyday((0, 0), (0, 4), (3, 0), (2, 2), (2, 3))
def tuple_match_values(a, b):
    match a, b:
        case 0, 0:
            return 0
        case 0, y:
            return y
        case x, 0:
            return -x
        case x, y:
            return x * 10 + y


@everyday((3,), (8,))
def global_constant(n):
    return n * LIMIT if n < LIMIT else LIMIT


LIMIT = 5


@everyday((0,), (1,), (2,), (7,))
def dispatch_table(code):
    def add(a, b):
        return a + b

    def subtract(a, b):
        return a - b

    if code == 0:
        operation = add
    else:
        operation = subtract
    return operation(5, 3)


@everyday((0, 6, 3), (1, 6, 3), (2, 6, 3), (3, 6, 3), (3, 6, 0))
def calculator(op, a, b):
    if op == 0:
        return a + b
    if op == 1:
        return a - b
    if op == 2:
        return a * b
    if op == 3:
        if b == 0:
            raise ZeroDivisionError("division by zero")
        return a // b
    raise ValueError(f"unknown operator {op}")


@everyday((12,), (7,))
def walrus_loop(n):
    total = 0
    while (half := n // 2) > 0:
        total += half
        n = half
    return total


@everyday((3, 5), (5, 3))
def conditional_swap_attribute(a, b):
    p = Particle(a, b)
    if p.position > p.velocity:
        p.position, p.velocity = p.velocity, p.position
    return p.position, p.velocity


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


TREE = Node(5, Node(3, Node(1), Node(4)), Node(8, None, Node(9)))


@everyday((4,), (7,), (5,))
def tree_contains(key):
    def contains(node):
        if node is None:
            return False
        if node.value == key:
            return True
        return contains(node.left) if key < node.value else contains(node.right)

    return contains(TREE)


@everyday((2,), (3,))
def tree_sum(k):
    def total(node):
        return 0 if node is None else node.value * k + total(node.left) + total(node.right)

    return total(TREE)


@everyday((2, 3), (10, -1))
def linked_list_sum(a, b):
    head = None
    for value in (a, b, a * b):
        head = Node(value, head)
    total = 0
    while head is not None:
        total = total * 2 + head.value
        head = head.left
    return total
