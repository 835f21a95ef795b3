"""Programs of dicts under computed keys, sets, deques, sorts with keys and exceptions of calls, made as scenarios are
(`object_scenarios`)."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import ClassVar

from .object_scenarios import ObjectScenario

KEYED_PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""


def keyed_program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    KEYED_PROGRAMS[make.__name__] = make
    return make


@keyed_program
def keys_that_come_and_go(speculate):
    class Cache:
        def __init__(self):
            self.values = {}

    cache = Cache()

    @speculate
    def use(cache, key, limit):
        if key in cache.values:
            value = cache.values.pop(key)
        else:
            value = key * key
            if len(cache.values) == limit:
                oldest = list(cache.values)[0]  # noqa: RUF015 (a graph has no `iter`)
                del cache.values[oldest]
        cache.values[key] = value
        return value, len(cache.values)

    return use, [(cache, key, 3) for key in (1, 2, 3, 1, 4, 1, 2, 5, 2, 1, 6, 2)]


@keyed_program
def visited_in_a_set(speculate):
    class Vertex:
        def __init__(self, number):
            self.number, self.edges = number, []

    class Search:
        def __init__(self):
            self.seen, self.forbidden = set(), {3}

    vertices = [Vertex(k) for k in range(6)]
    for one, other in ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5)):
        vertices[one].edges.append(vertices[other])
    search = Search()

    @speculate
    def reach(search, start, forget):
        if forget >= 0:
            search.seen.discard(forget)
        pending, found = [start], 0
        while pending:
            vertex = pending.pop()
            if vertex.number in search.seen or vertex.number in search.forbidden:
                continue
            search.seen.add(vertex.number)
            found += 1
            pending += vertex.edges
        return found, len(search.seen), sorted(search.seen)

    starts = ((0, -1), (4, -1), (0, -1), (1, -1), (5, -1), (3, -1), (2, 5), (4, 1), (0, -1), (1, 0))
    return reach, [(search, vertices[k], forget) for k, forget in starts]


@keyed_program
def window_in_a_deque(speculate):
    class Window:
        def __init__(self):
            self.values = deque(maxlen=3)

    window = Window()

    @speculate
    def add(window, value):
        window.values.append(value)
        total = 0
        for each in window.values:
            total += each
        return total, window.values[0], window.values[-1], len(window.values)

    return add, [(window, k * k % 7) for k in range(10)]


@keyed_program
def groups_in_a_defaultdict(speculate):
    class Index:
        def __init__(self):
            self.groups, self.counts, self.letters = defaultdict(list), defaultdict(int), Counter()

    index = Index()

    @speculate
    def add(index, word, value):
        index.groups[word].append(value)
        index.counts[value % 3] += value
        index.letters[word] += 1
        old = index.counts[value + 10]
        return old, len(index.counts), len(index.groups), index.letters[word], index.letters["none"], len(index.letters)

    words = ("red", "blue", "red", "green", "blue", "white", "red", "black", "blue", "brown")
    return add, [(index, word, k) for k, word in enumerate(words)]


@keyed_program
def dict_that_changes_in_its_loop(speculate):
    @speculate
    def extend(table, key, is_kept):
        total = 0
        for each in table:
            total += each
            if not is_kept:
                table[key] = each
        return total, len(table)

    def calls():
        table = {0: 0, 1: 1}
        for k in range(12):
            yield table, 10 + k, k % 6 != 5

    return extend, calls()


@keyed_program
def withdrawals_that_fail(speculate):
    class Overdrawn(Exception):
        pass

    class Account:
        def __init__(self, balance):
            self.balance, self.attempts = balance, 0

        def withdraw(self, amount):
            self.attempts += 1
            if amount > self.balance:
                raise Overdrawn(f"only {self.balance}")
            self.balance -= amount
            return self.balance

        def withdraw_twice(self, amount):
            return self.withdraw(amount) + self.withdraw(amount)

    class Bank:
        def __init__(self):
            self.accounts, self.failures = [Account(50), Account(20)], 0

        def pay(self, number, amount):
            before = self.accounts[number].attempts
            try:
                left = self.accounts[number].withdraw_twice(amount)
            except Overdrawn:
                self.failures += 1
                return -1, self.accounts[number].attempts - before
            else:
                return left, before
            finally:
                self.accounts[1 - number].balance += 3

    bank = Bank()

    @speculate
    def pay(bank, number, amount):
        return bank.pay(number, amount), bank.failures

    return pay, [(bank, k % 2, amount) for k, amount in enumerate((5, 5, 1, 9, 30, 8, 2, 90, 12, 1, 14, 3))]


@keyed_program
def exceptions_that_pass_loops_and_functions(speculate):
    def check(value, limit):
        if value < 0:
            raise ValueError("negative")
        if value > limit:
            raise KeyError(value)
        return value

    def total(values, limit):
        result = 0
        for value in values:
            result += check(value, limit)
        return result

    log = []

    @speculate
    def guard(values, limit):
        try:
            return total(values, limit)
        except KeyError:
            log.append("too large")
        except ValueError:
            log.append("negative")
        return len(log)

    lists = ([1, 2], [3], [2, 2, 2], [1, -1, 9], [1, 9, -1], [], [4], [5, 6], [-2], [3, 3])
    return guard, [(values, 4) for values in lists]


@keyed_program
def context_that_rolls_back(speculate):
    class Store:
        def __init__(self):
            self.value, self.commits, self.rollbacks = 10, 0, 0

    class Transaction:
        def __init__(self, store):
            self.store = store

        def __enter__(self):
            self.saved = self.store.value
            return self

        def __exit__(self, kind, value, traceback):
            if kind is None:
                self.store.commits += 1
                return False
            self.store.value = self.saved
            self.store.rollbacks += 1
            return kind is ValueError

    def change(store, delta):
        store.value += delta
        if store.value < 0:
            raise ValueError("negative")
        if store.value > 40:
            raise OverflowError("large")

    store = Store()

    @speculate
    def run(store, delta):
        try:
            with Transaction(store):
                change(store, delta)
                change(store, 1)
        except OverflowError:
            return "large"
        return store.value, store.commits, store.rollbacks

    return run, [(store, delta) for delta in (5, -3, 2, -30, 4, 50, 1, -99, 20, 3)]


@keyed_program
def prices_that_are_rounded(speculate):
    class Line:
        def __init__(self, price, count):
            self.price, self.count = price, count

        @property
        def total(self):
            return round(self.price * self.count, 2)

    lines = []

    @speculate
    def add(price, count, digits):
        line = Line(price, count)
        lines.append(line)
        rounded = round(price, 1), round(price), round(count), round(-price, 2), round(price / 3, 3)
        return line.total, rounded, math.floor(price), math.ceil(price)

    prices = (2.675, 1.005, 0.125, 0.375, 2.5, 3.5, 0.15, 0.25, 0.35, 1e-3, 1234.565, 0.5)
    return add, [(price, k % 3 + 1, 2) for k, price in enumerate(prices)]


@keyed_program
def sorted_with_keys(speculate):
    class Job:
        def __init__(self, name, weight, length):
            self.name, self.weight, self.length = name, weight, length

        def ratio(self):
            return self.weight / self.length

    class Pool:
        def __init__(self):
            self.jobs = [Job("a", 2, 1), Job("b", 4, 2), Job("c", 1, 1)]

        def rank(self, job):
            return job.weight * 10 - job.length

    pool = Pool()

    @speculate
    def plan(pool, name, weight, length):
        pool.jobs.append(Job(name, weight, length))
        best = max(pool.jobs, key=lambda job: job.ratio())
        least = min(pool.jobs, key=pool.rank)
        pool.jobs.sort(key=lambda job: job.weight, reverse=True)
        by_weight = [job.name for job in pool.jobs]
        if len(pool.jobs) > 5:
            pool.jobs.remove(best)
        return best.name, least.name, by_weight

    jobs = (("d", 2, 2), ("e", 2, 1), ("f", 4, 2), ("g", 1, 3), ("h", 9, 3), ("i", 2, 2), ("j", 4, 4), ("k", 6, 2))
    return plan, [(pool, *job) for job in jobs]


@keyed_program
def least_recently_used(speculate):
    class Cache:
        def __init__(self):
            self.values, self.hits = OrderedDict(), 0

    cache = Cache()

    @speculate
    def get(cache, key):
        if key in cache.values:
            cache.values.move_to_end(key)
            cache.hits += 1
            return cache.values[key]
        cache.values[key] = key * 2
        if len(cache.values) > 2:
            del cache.values[min(cache.values)]
        return -1

    return get, [(cache, key) for key in (1, 2, 1, 3, 1, 4, 4, 1, 2, 2)]


@keyed_program
def members_as_keys(speculate):
    class Light(Enum):
        RED = 0
        GREEN = 1

        def next(self):
            return Light.GREEN if self is Light.RED else Light.RED

    class Crossing:
        times: ClassVar = {Light.RED: 3, Light.GREEN: 2}

        def __init__(self):
            self.light, self.rest, self.counts = Light.RED, 3, {Light.RED: 0}

        def tick(self):
            self.rest -= 1
            self.counts[self.light] = self.counts.get(self.light, 0) + 1
            if self.rest == 0:
                self.light = self.light.next()
                self.rest = self.times[self.light]

    crossing = Crossing()

    @speculate
    def run(crossing, count):
        for _ in range(count):
            crossing.tick()
        return crossing.light, crossing.rest, sum(crossing.counts.values())

    return run, [(crossing, count) for count in (1, 2, 3, 1, 4, 2, 5, 1, 1, 7)]


@keyed_program
def iterator_of_the_user_in_a_loop(speculate):
    class Countdown:
        def __init__(self, start):
            self.start = start

        def __iter__(self):
            return Steps(self.start)

    class Steps:
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            return self

        def __next__(self):
            if self.count <= 0:
                raise StopIteration
            self.count -= 1
            return self.count

    countdown = Countdown(3)

    @speculate
    def total(countdown, start, limit):
        countdown.start = start
        result = 0
        for step in countdown:
            if step == limit:
                break
            result += step
        return result

    return total, [(countdown, start, k % 4) for k, start in enumerate((3, 2, 0, 5, 1, 4, 6, 0, 3, 7))]


@keyed_program
def one_dict_under_two_names(speculate):
    class View:
        def __init__(self, table):
            self.table = table

    shared = {"a": 1, "b": 2}
    first, second = View(shared), View(shared)

    @speculate
    def write(first, second, key, value):
        first.table[key] = value
        second.table["a"] += 1
        return first.table["a"], second.table[key], first.table is second.table, list(second.table.values())

    return write, [(first, second, key, k) for k, key in enumerate(("a", "b", "a", "c", "d", "e", "a", "f", "b", "g"))]


@keyed_program
def sets_and_dicts_of_comprehensions(speculate):
    @speculate
    def count(values, limit):
        distinct = {value % limit for value in values}
        squares = {value: value * value for value in values}
        return len(distinct), squares, limit - 1 in distinct, {1, limit}

    return count, [([k, k + 1, 2 * k], 2 + k % 3) for k in range(10)]


@keyed_program
def set_that_gets_and_loses_items(speculate):
    class Board:
        def __init__(self):
            self.cells = {8, 1}

    board = Board()

    @speculate
    def move(board, old, new):
        if old in board.cells:
            board.cells.remove(old)
        board.cells.add(new)
        return len(board.cells)

    pairs = ((1, 2), (2, 16), (8, 3), (0, 9), (0, 17), (17, 1), (9, 25), (0, 4), (0, 5), (0, 6), (0, 7), (0, 11))
    return move, [(board, old, new) for old, new in pairs]


@keyed_program
def keys_of_several_classes(speculate):
    @speculate
    def look_up(table, key):
        return table.get(key, "none"), key in table

    table = {1: "one", "one": 1, (1, 2): "pair", None: "nothing", 2.5: "half"}
    keys = (1, "one", (1, 2), None, 2.5, True, 3, "two", (2, 1), 1.0, 2)
    return look_up, [(table, key) for key in keys]


@keyed_program
def queue_in_a_deque(speculate):
    class Till:
        def __init__(self):
            self.line, self.served = deque(), 0

    till = Till()

    @speculate
    def step(till, arrivals):
        for k in range(arrivals):
            till.line.append(k + arrivals)
        if arrivals == 3:
            till.line.appendleft(99)
        if till.line:
            till.served += till.line.popleft()
        if len(till.line) > 4:
            till.line.pop()
        return till.served, len(till.line), 2 in till.line

    return step, [(till, arrivals) for arrivals in (1, 0, 2, 3, 0, 0, 1, 3, 3, 0, 0, 0)]


@keyed_program
def levels_of_a_logger(speculate):
    class Level(IntEnum):
        DEBUG = 10
        ERROR = 40

    class Logger:
        def __init__(self, level=Level.ERROR, parent=None):
            self.level, self.parent, self.count = level, parent, 0

        def log(self, level, weights=(1, 2)):
            if level >= self.level and level != 20:
                self.count += weights[1]
                print(f"{level.name}: {self.count}")
            if self.parent is not None:
                self.parent.log(level)

    root = Logger()
    child = Logger(Level.DEBUG, root)

    @speculate
    def log(logger, level):
        logger.log(level)
        return root.count, level > Level.DEBUG

    return log, [(child if k % 3 else root, Level.ERROR if k % 4 else Level.DEBUG) for k in range(10)]


@keyed_program
def moves_that_replace_fields(speculate):
    @dataclass(frozen=True)
    class Position:
        x: int
        y: int = 0
        facing: str = "N"

    class Turtle:
        def __init__(self):
            self.position, self.path = Position(0), []

        def go(self, commands):
            for command in commands:
                self.path.append(self.position)
                if command == "F":
                    self.position = replace(self.position, x=self.position.x + 1)
                else:
                    self.position = replace(self.position, y=-self.position.y, facing=command.lower())

    turtle = Turtle()

    @speculate
    def go(turtle, commands):
        turtle.go(commands)
        return turtle.position, len(commands), commands[-1] in "FN", len(turtle.path)

    return go, [(turtle, ("F", "FS", "FFN")[k % 3]) for k in range(10)]


class Holder:
    def __init__(self, value):
        self.value = value


@keyed_program
def order_of_an_ordered_dict(speculate):
    @speculate
    def use(recent, key):
        if key in recent.value:
            recent.value.move_to_end(key)
        else:
            recent.value[key] = key
        if len(recent.value) > 3:
            first = list(recent.value)[0]  # noqa: RUF015 (a graph has no `iter`)
            recent.value[recent.value.pop(first) + 50] = key
        return list(recent.value.items())

    recent = Holder(OrderedDict())
    return use, [(recent, key) for key in (1, 2, 1, 3, 4, 2, 5, 1, 6)]


@keyed_program
def sort_with_keys_that_read_the_list(speculate):
    @speculate
    def sort(items, total, is_down):
        def rank(item):
            total[0] += len(items.value)
            return item % 4

        items.value.sort(key=rank, reverse=is_down or len(items.value) > 5)
        return total[0]

    items, total = Holder([5, 3, 4, 1, 2, 9]), [0]
    return sort, [(items, total, k % 2 == 0) for k in range(9)]


@keyed_program
def key_functions_of_an_object_that_a_call_returns(speculate):
    class Ranking:
        def __init__(self):
            self.uses = 0

        def use(self):
            self.uses += 1
            return self

        def rank(self, item):
            return self.uses - item

    @speculate
    def sort(items, ranking):
        items.sort(key=ranking.use().rank, reverse=len(items) > 2)
        return sorted(items, key=None), max(items, key=ranking.use().rank), ranking.uses

    ranking = Ranking()
    lists = ([3, 1, 2], [3, 1, 4], [3, 1, 5], [2, 1], [5], [1, 1, 0], [4, 3], [9, 8, 7])
    return sort, [(items, ranking) for items in lists]


@keyed_program
def deque_that_turns_in_its_loop(speculate):
    @speculate
    def total(queue, last):
        result = 0
        for item in queue.value:
            result += item
            if item == last:
                queue.value.append(queue.value.popleft())
                if item == 3:
                    break
        return result

    queue = Holder(deque([1, 2, 3], maxlen=3))
    return total, [(queue, last) for last in (9, 3, 9, 9, 3, 9, 2, 9, 3, 9, 1, 3, 9)]


@keyed_program
def keys_that_move_in_a_loop(speculate):
    @speculate
    def total(table, other, key):
        result = 0
        for each in table.value:
            result += each
            if each == key:
                del other.value[each]
                other.value[each] = result
        return result, list(table.value)

    table = {1: 1, 2: 2, 3: 3}
    holders = Holder(table), Holder(table)
    return total, [(*holders, key) for key in (9, 9, 1, 9, 9, 2, 9, 9, 9, 9, 3, 9)]


@keyed_program
def sets_that_are_cleared(speculate):
    @speculate
    def change(items, item, is_cleared):
        if is_cleared:
            items.value.clear()
        if item:
            items.value.add(item)
        return len(items.value)

    items = Holder({1, 9})
    changes = ((2, 0), (0, 1), (1, 1), (9, 0), (9, 1), (2, 0), (1, 0), (0, 1), (1, 0), (2, 0), (10, 1), (2, 0))
    return change, [(items, *change) for change in changes]


@keyed_program
def sets_that_lose_items_before_others_come(speculate):
    @speculate
    def change(items, first, lost, last):
        items.value.add(first)
        items.value.add(9)
        items.value.discard(lost)
        items.value.add(last)
        return len(items.value)

    lost = (1, 5, 1, 5, 1, 5, 5, 1, 5, 5, 5)
    return change, [(Holder(set()), 1, each, 2) for each in lost]


@keyed_program
def set_that_a_call_loses(speculate):
    @speculate
    def count(limit, best):
        seen, result = set(), 0
        for k in range(limit):
            seen.add(k * 8 % 5)
            if k % 2:
                seen.discard(k - 1)
            result = max(result, len(seen))
        best.value = result
        return result

    best = Holder(0)
    return count, [(k % 5 + 1, best) for k in range(9)]


@keyed_program
def sets_of_constants_and_keys(speculate):
    @speculate
    def collect(table, kept, key, is_kept):
        keys, constants = set(table), {16, 1, 2, 3, 4}
        table[key] = len(keys)
        if is_kept:
            kept.value = keys if key > 2 else constants
        return key in keys, key in constants

    table, kept = {16: 0, 1: 0, 2: 0, 3: 0, 4: 0}, Holder({0})
    return collect, [(table, kept, k % 5, k in (0, 2, 5, 9)) for k in range(12)]
