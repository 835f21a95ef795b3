"""Programs of patterns, dicts, heaps, tuples and shared arrays, made as scenarios are (`object_scenarios`)."""

from __future__ import annotations

import bisect
import heapq
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from .object_scenarios import ObjectScenario

CONTAINER_PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""


def container_program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    CONTAINER_PROGRAMS[make.__name__] = make
    return make


@container_program
def expression_by_patterns(speculate):
    @dataclass
    class Number:
        value: int

    @dataclass
    class Sum:
        left: object
        right: object

    @dataclass
    class Product:
        left: object
        right: object

    def evaluate(tree, limit):
        match tree:
            case Number(value):
                return value
            case Sum(Number(value=0), right):
                return evaluate(right, limit)
            case Sum(left, right):
                return evaluate(left, limit) + evaluate(right, limit)
            case Product(left=left, right=right) if limit > 2:
                return evaluate(left, limit) * evaluate(right, limit)
            case Product():
                return -1
            case None:
                return 0
        return 99

    @speculate
    def value_of(tree, limit):
        return evaluate(tree, limit)

    trees = [Number(1), Sum(Number(1), Number(2)), Sum(Number(0), Number(5)), Product(Number(2), Number(3))]
    trees += [Sum(Product(Number(2), Number(2)), Number(1)), None, Sum(None, Number(1))]
    return value_of, [(tree, 1 + 2 * (k % 2)) for k, tree in enumerate(trees * 2)]


@container_program
def lengths_by_patterns(speculate):
    @speculate
    def judge(items, k):
        match items:
            case []:
                return 0
            case [one]:
                return one + k
            case [first, second]:
                return first * second
        match k:
            case 1 | 2:
                return -1
            case 3:
                return -3
            case other:
                return len(items) + other

    lists = ([], [3], [2, 5], [1, 2, 3], [4], [], [7, 8], [1, 1, 1, 1], [1, 2, 3], [5, 6, 7])
    return judge, [(items, k % 5) for k, items in enumerate(lists)]


@container_program
def method_by_class_name(speculate):
    class Leaf:
        def __init__(self, value):
            self.value = value

    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    class Visitor:
        def __init__(self):
            self.visits = 0

        def visit(self, node):
            self.visits += 1
            return getattr(self, "visit_" + type(node).__name__)(node)

        def visit_Leaf(self, node):
            return node.value

        def visit_Pair(self, node):
            return self.visit(node.left) + 2 * self.visit(node.right)

    visitor, old_name = Visitor(), Leaf.__name__

    @speculate
    def visit(node):
        return visitor.visit(node)

    def make_calls():
        nodes = [Leaf(1), Pair(Leaf(2), Leaf(3)), Pair(Pair(Leaf(1), Leaf(1)), Leaf(4)), Leaf(5)]
        for node in nodes * 3:
            yield (node,)
        Leaf.__name__ = "Other"
        yield from [(nodes[1],)] * 2
        Leaf.__name__ = old_name
        yield from [(nodes[1],)] * 3

    return visit, make_calls()


@container_program
def loops_over_dicts(speculate):
    rates = {"a": 1.0, "b": -2.0}
    moments = {"a": 0.0, "b": 0.0}
    factors = {1: 2, 3: 4}

    @speculate
    def step(x, extra):
        total = 0.0
        for name in rates:
            moments[name] = 0.5 * moments[name] + rates[name] * x
            rates[name] = rates[name] - 0.1 * moments[name]
        for name, moment in moments.items():
            total += moment * (2.0 if name == "a" else 1.0)
        for rate in rates.values():
            total = total * 0.5 + rate
            rates["b"] = rates["b"] + 1.0
        for key in extra:
            total += extra[key]
        for number, factor in factors.items():
            total += number * factor
        new = {"x": x, "y": 2.0}
        for value in new.values():
            total += value
        return total, len(rates) + len(extra) + len(new)

    def make_calls():
        extras = [{"p": 1.0}, {"p": 2.0, "q": 3.0}, {"q": 3.0, "p": 2.0}, {}, {"p": 5.0}]
        for k in range(12):
            yield 0.1 * k, extras[k % 5]
        rates["a"] = rates.pop("a")  # the keys in another order
        yield from [(0.2, extra) for extra in extras[:3]]
        rates["c"] = moments["c"] = 1.0
        yield from [(0.3, extra) for extra in extras]
        factors[7] = factors.pop(1)
        yield from [(0.4, extra) for extra in extras]

    return step, make_calls()


@container_program
def dict_that_grows_in_a_loop(speculate):
    seen = {"first": 1}

    @speculate
    def note(value):
        total = 0
        if value > 3:
            seen["large"] = value
        for key in seen:
            total += seen[key]
        return total

    return note, [(value,) for value in (1, 2, 3, 1, 2, 3, 1, 2, 5, 1, 2, 9, 1, 2, 3)]


@container_program
def events_in_a_heap(speculate):
    class Simulation:
        def __init__(self):
            self.queue, self.now, self.order = [(1, 3), (2, 4), (3, 5)], 0, []

        def schedule(self, time, kind):
            heapq.heappush(self.queue, (time, kind))

    simulation = Simulation()

    @speculate
    def advance(simulation, count):
        for _ in range(count):
            if len(simulation.queue) == 0:
                break
            simulation.now, kind = heapq.heappop(simulation.queue)
            simulation.order.append(kind)
            if kind > 1:
                simulation.schedule(simulation.now + kind, kind - 1)
        return simulation.now

    def make_calls():
        for k in range(10):
            if k == 6:
                simulation.queue.append((simulation.now + 2, 5))
                heapq.heapify(simulation.queue)
            yield simulation, 1 + k % 2

    return advance, make_calls()


@container_program
def sorted_insertions(speculate):
    class Ranking:
        def __init__(self):
            self.scores = [2]

    ranking = Ranking()

    @speculate
    def insert(x, y):
        bisect.insort(ranking.scores, x)
        numbers = [y, x, 3, 1]
        heapq.heapify(numbers)
        pairs = sorted([(x, y), (y, x), (x, x)])
        return bisect.bisect(ranking.scores, y), bisect.bisect_left(ranking.scores, x), numbers, pairs

    return insert, [(k % 4, (k * 3) % 7) for k in range(10)]


@container_program
def order_of_tuples(speculate):
    class Card:
        def __init__(self, suit, rank):
            self.suit, self.rank = suit, rank

    @speculate
    def compare(card, other):
        first, second = (card.suit, card.rank), (other.suit, other.rank)
        orders = first < second, first <= second, first > (0, 1.5), first >= second
        return orders, first == second, first != second, (card.suit,) < first, (card.suit, 1) == (card.suit, 1, 2)

    nan = float("nan")
    rows = ((1, 2.0, 1, 3.0), (1, 2.0, 1, 2.0), (0, 1.5, 5, 1.0), (2, 1.0, 1, 9.0), (3, 0.0, 3, -0.0), (1, 1.0, 0, 1.0))
    rows = (*rows, *rows, (1, nan, 1, 2.0), *rows)
    return compare, [(Card(a, b), Card(c, d)) for a, b, c, d in rows]


@container_program
def items_from_the_last(speculate):
    class Log:
        def __init__(self):
            self.entries = []

    log = Log()

    @speculate
    def look(n, k):
        log.entries.append(n)
        result = 0
        for entry in reversed(log.entries):
            result = result * 2 + entry
            if entry == k:
                break
        for k in reversed(range(n)):
            result += k * k - result % 3
        for k in reversed(range(n, 0, -1)):
            result = result * 2 - k
        for k in reversed((1, 2, n)):
            result = result * 3 + k
        return result, [entry for entry in reversed(log.entries)]  # noqa: C416

    return look, [(n, 3) for n in range(9)]


@container_program
def list_that_shrinks_backwards(speculate):
    @speculate
    def fold(items):
        result = 0
        for item in reversed(items):
            result = result * 10 + item
            if len(items) > 2:
                items.pop()
                items.pop()
        return result

    return fold, [([*range(1, n + 1)],) for n in (0, 1, 2, 3, 5, 4, 8, 0, 6)]


@container_program
def functions_in_a_row(speculate):
    def double(x):
        return 2 * x

    def increment(x):
        return x + 1

    def weigh(total, x):
        return total + 2 * x

    def add(*numbers):
        total = 0
        for number in numbers:
            total += number
        return total

    class Pipeline:
        def __init__(self, *steps):
            self.steps = steps

        def __call__(self, x):
            return reduce(lambda value, step: step(value), self.steps, x)

    pipeline = Pipeline(double, increment, abs)

    @speculate
    def run(x, items):
        triple = (x, 2 * x, 1)
        return pipeline(x), reduce(weigh, items, x), add(*triple), add(), add(0, *triple, x), max(x, *(1, 2))

    return run, [(k - 3, [*range(k)]) for k in range(9)]


@container_program
def rows_of_one_array(speculate):
    class Model:
        def __init__(self):
            self.weights, self.count = np.array([1.0, 2.0]), 0

    model, data = Model(), np.arange(12.0).reshape(6, 2)

    @speculate
    def score(rows, offset):
        total = 0.0
        for row in rows:
            total += float((row + np.array([offset, model.count * 0.5])) @ model.weights)
        model.count += len(rows)
        return total

    read_only = np.ones(2)
    read_only.flags.writeable = False
    calls = [(list(data[:k]), 0.5) for k in (1, 2, 3, 4, 5, 6, 2)]
    calls += [([read_only, data[0], data[0]], 1.0), ([np.frombuffer(np.arange(2.0).tobytes()), np.ones(2)], 1.0)]
    return score, calls


@container_program
def row_that_changes(speculate):
    @speculate
    def add(row, other):
        row[0] += 1.0
        return float(row.sum() + other.sum())

    data = np.zeros((3, 2))
    calls = [(np.ones(2), np.zeros(2)) for _ in range(5)]
    calls += [(data[0], np.ones(2)), (data[0], data[0]), (np.ones(2), data[1]), (data[0, :], data[:2, 0])]
    calls += [(np.ones(2), np.zeros(2)) for _ in range(4)]
    return add, calls


@container_program
def partial_functions(speculate):
    def scale(factor, x, offset=0):
        return factor * x + offset

    double, triple = partial(scale, 2), partial(scale, 3, offset=1)

    @speculate
    def run(x):
        return double(x), triple(x), triple(x, offset=x), double(offset=5, x=x)

    def make_calls():
        yield from [(k,) for k in range(8)]
        triple.keywords["offset"] = 7
        yield from [(k,) for k in range(3)]
        double.__setstate__((scale, (4,), {}, {}))
        yield from [(k,) for k in range(5)]

    return run, make_calls()


@container_program
def breaks_in_else_of_loops(speculate):
    @speculate
    def count(n, items):
        total = 0
        for k in range(n):
            for item in items:
                if item == 5:
                    break
                total += item
            else:
                if k > 1:
                    break
                total += 10
            total += 1000
        for k in range(n):
            for item in (1, 2):
                if item == n:
                    break
            else:
                if k > 1:
                    continue
                total += 7
            total += 100
        return total

    return count, [(k % 5, [1, 2] if k % 3 else [5]) for k in range(11)]


@container_program
def loops_over_tuples_that_end_early(speculate):
    lines = ((0, 1, 2), (0, 3, 6), (0, 4, 8), (2, 4, 6))
    numbers = {"a": 1, "b": 2, "c": 3}

    class Board:
        def __init__(self):
            self.fields, self.log = [0] * 9, []

    board = Board()

    @speculate
    def play(place, player):
        for name, number in numbers.items():
            if number == place:
                board.log.append(name)
                break
        else:
            board.log.append("none")
        board.fields[place] = player
        for first, second, third in lines:
            if board.fields[first] == 0:
                continue
            if board.fields[first] == board.fields[second] == board.fields[third]:
                return board.fields[first]
            board.log.append("no")
        return 0

    return play, [(place, 1 + k % 2) for k, place in enumerate((4, 0, 2, 6, 3, 5, 2, 1, 7, 8))]


@container_program
def loops_over_properties(speculate):
    class Rows:
        def __init__(self):
            self.rows, self.rates, self.reads = [1, 2], {"a": 3, "b": 4}, 0

        @property
        def all_rows(self):
            self.reads += 1
            return self.rows

        @property
        def all_rates(self):
            self.reads += 10
            return self.rates

        @property
        def itself(self):
            self.reads += 100
            return self

        def items(self):
            return self.rows

    rows = Rows()

    @speculate
    def total(k):
        result = 0
        for row in rows.all_rows:
            result += row * k
        for name in rows.all_rates:
            result += rows.rates[name]
        for row in rows.itself.items():
            result -= row
        return result, rows.reads

    return total, [(k,) for k in range(8)]


@container_program
def tuples_of_objects(speculate):
    class Amount:
        def __init__(self, value):
            self.value, self.comparisons = value, 0

        def __eq__(self, other):
            self.comparisons += 1
            return self.value == other.value and self.value > 0

        __hash__ = None

    class Point:
        def __init__(self, x):
            self.x = x

    @speculate
    def compare(first, second, point, other):
        equal = (first, 1) == (second, 1), (first, 1) != (second, 2), (first,) == (second, 1), (first,) == (first,)
        return equal, (point.x, 1) == (point.x, 1), (point.x, 1) < (other.x, 2)

    one, two, zero = Amount(1), Amount(1), Amount(0)
    nan = np.float64("nan")
    pairs = [(one, two), (one, one), (zero, zero), (one, zero), (zero, zero), (two, one), (one, one), (zero, zero)]
    points = [(Point(np.float64(k % 2)), Point(np.float64(1.0))) for k in range(8)]
    return compare, [(*pair, *points[k]) for k, pair in enumerate(pairs)] + [(one, two, Point(nan), Point(nan))]


@container_program
def patterns_that_fail_late(speculate):
    @speculate
    def judge(pair, k):
        x = 100
        match pair:
            case (x, 0):
                return x
            case (1, x) if x > 3:
                return -x
            case (0, (x, 2)):
                return x + 1
        return x + k

    pairs = [(5, 0), (1, 2), (1, 7), (2, 3), (6, 0), (2, 9), (1, 1), (7, 1)]
    return judge, [(pair, k) for k, pair in enumerate(pairs)]


@container_program
def property_in_a_pattern(speculate):
    class Counter:
        def __init__(self):
            self.reads = 0

        @property
        def count(self):
            self.reads += 1
            return self.reads

    counter = Counter()

    @speculate
    def judge(k):
        match counter:
            case Counter(count=3):
                return -k
            case Counter(count=count):
                return count

    return judge, [(k,) for k in range(7)]


@container_program
def attribute_with_two_patterns(speculate):
    @dataclass
    class Point:
        x: int

    @speculate
    def judge(point):
        match point:
            case Point(first, x=second):
                return first + second
        return 0

    return judge, [(None,), (None,), (None,), (None,), (None,), (Point(1),), (None,)]


@container_program
def range_of_a_user_backwards(speculate):
    class Size:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            return self.value

        def __sub__(self, other):
            return self.value + other

    @speculate
    def count(size):
        result = 0
        for k in reversed(range(size)):
            result = 3 * result + k
        return result

    return count, [(Size(k),) for k in range(7)]


@container_program
def sorted_tuples_of_objects(speculate):
    class Weight:
        def __init__(self, value):
            self.value, self.comparisons = value, 0

        def __lt__(self, other):
            self.comparisons += 1
            return self.value < other.value

    @speculate
    def lightest(first, second, third):
        order = sorted([(1, first), (1, second), (1, third)])
        return order[0][1].value, first.comparisons, second.comparisons, third.comparisons

    return lightest, [(Weight(k % 3), Weight(k % 2), Weight(1)) for k in range(7)]


@container_program
def positional_parameter_by_keyword(speculate):
    def subtract(x, /, y):
        return x - y

    @speculate
    def judge(k):
        try:
            return subtract(x=k, y=1)
        except TypeError:
            return -1

    return judge, [(k,) for k in range(7)]
