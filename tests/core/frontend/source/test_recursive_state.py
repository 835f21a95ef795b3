"""Recursive functions with state: what a function that calls itself under a symbolic condition changes outside of
itself is passed along, so that the calls of a recursion change it one after the other, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements, evaluator_disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import recursion as recursions
from tagloom.core.frontend.trace import program_builder


class Case(NamedTuple):
    """A function, and arguments on which it is compared with Python."""

    function: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]


CASES: list[Case] = []


def recursion(*inputs: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Add the decorated function to the cases."""

    def add(function: Any) -> Any:
        CASES.append(Case(function, inputs))
        return function

    return add


class Calls:
    def __init__(self):
        self.count = 0
        self.log = []

    def factorial(self, n):
        self.count += 1
        self.log.append(n)
        return 1 if n <= 1 else n * self.factorial(n - 1)


@recursion((3,), (0,))
def calls_with_words(n):
    out = []

    def visit(k, word):
        if k == 0:
            return
        visit(k - 1, "left")
        out.append(word)
        visit(k - 1, "right")

    visit(n, "root")
    return out


@recursion((3,), (0,))
def calls_with_words_of_which_one_ends(n):
    out = []

    def visit(k, word):
        if k == 0:
            return
        if word == "end":
            return
        visit(k - 1, "left")
        out.append(word)
        visit(k - 1, "right")
        visit(k - 1, "end")

    visit(n, "end")
    visit(n, "root")
    return out


@recursion((3,), (0,))
def moves_of_hanoi(n):
    def hanoi(k, a, b, c):
        if k == 0:
            return []
        return hanoi(k - 1, a, c, b) + [a + c] + hanoi(k - 1, b, a, c)

    return hanoi(n, "A", "B", "C")


@recursion((3,), (0,))
def moves_of_hanoi_in_a_list(n):
    moves = []

    def hanoi(k, a, b, c):
        if k > 0:
            hanoi(k - 1, a, c, b)
            moves.append((a, c))
            hanoi(k - 1, b, a, c)

    hanoi(n, "A", "B", "C")
    return moves


@recursion((3,), (0,))
def lists_of_pairs(n):
    def countdown(k):
        if k == 0:
            return []
        return [(k, k / 2)] + countdown(k - 1)

    def from_one(k):
        if k == 0:
            return [0]
        return from_one(k - 1) + [k]

    return countdown(n), from_one(n)


@recursion((3,), (0,))
def a_list_and_a_string_and_a_count(n):
    def collect(k):
        if k == 0:
            return [], "x", 0
        items, text, count = collect(k - 1)
        return items + [str(k)], text + "y", count + 1

    return collect(n)


@recursion((3,), (0,))
def lists_of_results_and_a_counter(n):
    calls = 0

    def collect(k):
        nonlocal calls
        calls += 1
        if k == 0:
            return []
        return collect(k - 1) + [(calls, "left" if k % 2 else "right")]

    return collect(n), calls


@recursion((4,), (0,))
def method(n):
    calls = Calls()
    result = calls.factorial(n)
    return result, calls.count, calls.log


@dataclass
class Count:
    calls: int = 0

    def factorial(self, n):
        self.calls += 1
        return 1 if n <= 1 else n * self.factorial(n - 1)


@recursion((4,), (0,))
def method_of_a_dataclass(n):
    count = Count()
    result = count.factorial(n)
    return result, count.calls


LOG: list[Any] = []


def logged(k):
    LOG.append(k)
    if k > 0:
        logged(k - 1)


@recursion((2,), (3,))
def row_of_symbolic_list_across_a_call(n):
    """The row is in a list of symbolic length, and the calls below change it."""
    rows = [[i, i + 1] for i in range(n)]

    def change(k):
        row = rows[k % 2]
        row[1] += 10
        if k > 0:
            change(k - 1)
        row[0] += row[1]
        return row[0]

    return change(n), rows


@recursion((3,), (0,))
def row_across_a_call(n):
    rows = [[1, 2], [3, 4]]

    def add(k):
        row = rows[k % 2]
        row[1] += 10
        if k > 0:
            add(k - 1)
        row[0] += row[1]
        return row[0]

    return add(n), rows


@recursion((3,), (0,))
def global_list(n):
    LOG.clear()
    logged(n)
    return list(LOG)


@recursion((7, 3, 9), (1, 1, 8), (9, 8, 7))
def quicksort_in_place(a, b, c):
    xs = [a, b, c, 5]

    def sort(xs, low, high):
        if low >= high:
            return
        pivot, i = xs[high], low
        for j in range(low, high):
            if xs[j] < pivot:
                xs[i], xs[j] = xs[j], xs[i]
                i += 1
        xs[i], xs[high] = xs[high], xs[i]
        sort(xs, low, i - 1)
        sort(xs, i + 1, high)

    sort(xs, 0, 3)
    return xs


@recursion((3,), (0,), (5,))
def memoize_decorator(n):

    def memoize(f):
        cache = {}

        def wrapper(k):
            if k not in cache:
                cache[k] = f(k)
            return cache[k]

        return wrapper

    @memoize
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


@recursion((3, 2), (0, 1), (4, 4))
def mutual(n, m):
    calls = 0
    trace = []

    def even(k):
        nonlocal calls
        calls += 1
        trace.append(k)
        return True if k <= 0 else odd(k - 1)

    def odd(k):
        nonlocal calls
        calls += 10
        return False if k <= 0 else even(k - 1)

    a = even(n)
    b = odd(m)
    return (a, b, calls, trace)


@recursion((4,), (1,))
def queens(n):
    solutions = 0
    cols = []

    def place(row):
        nonlocal solutions
        if row == n:
            solutions += 1
            return
        for c in range(n):
            if all((c != cc and abs(c - cc) != row - r for r, cc in enumerate(cols))):
                cols.append(c)
                place(row + 1)
                cols.pop()

    place(0)
    return solutions


@recursion((3,), (0,), (2,))
def subsets(n):
    out = []
    path = []

    def go(i):
        if i == n:
            out.append(sum(path))
            return
        go(i + 1)
        path.append(i + 1)
        go(i + 1)
        path.pop()

    go(0)
    return out


@recursion((3,), (0,))
def widen(n):
    total = 0

    def go(k):
        nonlocal total
        total += k * 0.5
        if k > 0:
            go(k - 1)

    go(n)
    return total


@recursion((3,), (0,))
def printing(n):
    depth = 0

    def go(k):
        nonlocal depth
        depth += 1
        print("enter", k, depth)
        if k > 0:
            go(k - 1)
        print("leave", k, depth)
        depth -= 1

    go(n)
    return depth


@recursion((3,), (0,))
def local_helper(n):

    def g(k):
        total = 0

        def add(x):
            nonlocal total
            total += x

        add(k)
        add(1)
        return total + g(k - 1) if k > 0 else total

    return g(n)


@recursion((3,), (0,), (-2,))
def option_state(n):
    last = None

    def g(k):
        nonlocal last
        if k > 0:
            g(k - 1)
            last = k

    g(n)
    return last


@recursion((3,), (0,))
def word_state(n):
    mode = "none"

    def g(k):
        nonlocal mode
        if k <= 0:
            mode = "base"
            return
        g(k - 1)
        if k == 3:
            mode = "three"

    g(n)
    return mode


@recursion((3,), (1,), (0,))
def raising(n):
    seen = []

    def g(k):
        seen.append(k)
        if k == 1:
            raise ValueError("one")
        if k > 0:
            g(k - 2)

    g(n)
    return seen


@recursion((3, 5), (0, 1))
def twice_with_change_between(n, m):
    xs = []

    def g(k):
        xs.append(k)
        if k > 0:
            g(k - 1)

    g(n)
    xs.append(100)
    g(m)
    before = list(xs)
    xs.clear()
    g(1)
    return before, xs


@recursion((3,), (0,))
def arg_list(n):

    def g(k, acc):
        acc.append(k)
        return len(acc) if k <= 0 else g(k - 1, acc)

    acc = []
    r = g(n, acc)
    return (r, acc)


@recursion((3,), (0,))
def two_lists_one_after_the_other(n):
    def g(k, acc):
        acc.append(k)
        return len(acc) if k <= 0 else g(k - 1, acc)

    first, second = [], [7]
    return g(n, first), g(n, second), first, second


@recursion((3,), (0,))
def arg_list_default(n):

    def g(k, acc=None):
        if acc is None:
            acc = []
        acc.append(k)
        return acc if k <= 0 else g(k - 1, acc)

    return g(n)


@recursion((3,), (0,))
def arg_alias(n):
    xs = []

    def g(k, acc):
        acc.append(k)
        xs.append(-1)
        return sum(acc) if k <= 0 else g(k - 1, acc)

    return (g(n, xs), xs)


@recursion((6, 2), (3, 0))
def merge_sort(a, b):

    def ms(xs):
        if len(xs) <= 1:
            return xs
        m = len(xs) // 2
        left = ms(xs[:m])
        right = ms(xs[m:])
        out = []
        i = j = 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                out.append(left[i])
                i += 1
            else:
                out.append(right[j])
                j += 1
        return out + left[i:] + right[j:]

    return ms([a, b, 5, 1])


@recursion((3,), (0,))
def nested_recursions(n):
    total = 0

    def outer(k):
        nonlocal total

        def inner(j):
            nonlocal total
            total += 1
            if j > 0:
                inner(j - 1)

        inner(k)
        if k > 0:
            outer(k - 1)

    outer(n)
    return total


@recursion((3,), (0,))
def in_loop(n):
    total = 0

    def g(k):
        nonlocal total
        total += k
        if k > 0:
            g(k - 1)

    for i in range(n):
        g(i)
    return total


@recursion((3,), (0,))
def loop_inside(n):
    order = []

    def g(k):
        for j in range(k):
            order.append((k, j))
            g(j)

    g(n)
    return order


@recursion((3,), (0,), (6,))
def dict_counts(n):
    counts = {"a": 0, "b": 0}

    def g(k):
        if k <= 0:
            return
        counts["a" if k % 2 == 0 else "b"] += 1
        g(k - 1)

    g(n)
    return counts


@recursion((3,), (0,))
def result_and_state(n):
    seen = set()

    def g(k):
        if k in seen:
            return 0
        seen.add(k)
        return k + (g(k // 2) + g(k - 1) if k > 0 else 0)

    return (g(n), sorted(seen))


@recursion((3,), (5,))
def closure_read_between(n):
    x = 1

    def g(k):
        return x if k <= 0 else g(k - 1) + x

    a = g(n)
    x = 10
    return (a, g(n))


@recursion((3,), (0,))
def inner_defined_each_time(n):
    count = 0

    def g(k):
        nonlocal count
        count += 1

        def h(j):
            nonlocal count
            count += j

        h(k)
        if k > 0:
            g(k - 1)

    g(n)
    return count


@recursion((2,), (0,), (3,))
def tuple_state(n):
    best = (0, 0)

    def g(k, s):
        nonlocal best
        if s > best[0]:
            best = (s, k)
        if k > 0:
            g(k - 1, s + k)
            g(k - 1, s - 1)

    g(n, 0)
    return best


@recursion((2,), (0,))
def permutations(n):
    out = []

    def go(path, rest):
        if not rest:
            out.append(path)
            return
        for i in range(len(rest)):
            if (rest[i] + n) % 4 != 3:
                go(path + [rest[i]], rest[:i] + rest[i + 1 :])

    go([], [1, 2, 3])
    return out


@recursion((4, 3), (2, 2))
def binary_tree_state(n, m):
    keys = []
    left = []
    right = []

    def insert(at, key):
        if key < keys[at]:
            if left[at] < 0:
                left[at] = len(keys)
                keys.append(key)
                left.append(-1)
                right.append(-1)
            else:
                insert(left[at], key)
        elif right[at] < 0:
            right[at] = len(keys)
            keys.append(key)
            left.append(-1)
            right.append(-1)
        else:
            insert(right[at], key)

    keys.append(3)
    left.append(-1)
    right.append(-1)
    insert(0, n)
    insert(0, m)
    insert(0, 5)
    return (keys, left, right)


def parameters() -> list[Any]:
    return [pytest.param(case, id=case.function.__name__) for case in CASES]


@pytest.mark.full(first=13)
@pytest.mark.parametrize("case", parameters())
def test_recursions_change_state_as_python_does(case: Case) -> None:
    """Value, printed lines and exception are those of Python, on the reference under three schedules and on `fast`; the
    evaluator agrees."""
    assert list(disagreements(case.function, case.inputs, RUNS)) == []
    assert list(evaluator_disagreements(case.function, case.inputs)) == []


def row_outside(n):
    rows = [[i, i + 1] for i in range(n)]
    row = rows[n % 2]

    def change(k):
        rows[k % 2][0] += 5
        return change(k - 1) + row[0] if k > 0 else row[0]

    return change(n), rows


def row_of_two_outside(n):
    rows = [[1, 2], [3, 4]]
    row = rows[n % 2]

    def change(k):
        rows[k % 2][0] += 5
        return change(k - 1) + row[0] if k > 0 else row[0]

    return change(n), rows


def stored_object(n):
    head = None

    def push(k):
        nonlocal head
        if k > 0:
            head = Calls()
            push(k - 1)

    push(n)
    return head is None


def advanced_iterator(n):
    items = iter([1, 2, 3, 4, 5])

    def take(k):
        item = next(items)
        return item if k == 0 else item + take(k - 1)

    return take(n)


def other_lists(n):
    one, other = [0], [0]

    def swap(k, xs, ys):
        xs[0] += k
        return 0 if k <= 0 else swap(k - 1, ys, xs)

    swap(n, one, other)
    return one, other


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (stored_object, "push calls itself under a symbolic condition, and changes head outside of it"),
        (row_outside, "change calls itself .*, and changes a list, while it closes over an item of that list"),
        (row_of_two_outside, "change calls itself .*, and changes a list, while it closes over an item of that list"),
        (advanced_iterator, "an iterator is advanced in code that runs under a symbolic condition"),
        (
            other_lists,
            "swap calls itself under a symbolic condition, and changes its argument xs, which is not the same",
        ),
    ],
)
def test_state_that_cannot_be_passed_along_is_refused(function: Callable[..., Any], words: str) -> None:
    """F4 says what a recursion changes, and why it is not a value that calls can pass along."""
    with pytest.raises(tl.Invalid, match=f"F4: {words}"):
        tl.function(function)(3)


def changed_result(n):
    if n == 0:
        return []
    items = changed_result(n - 1)
    items.append(n)
    return items


def changed_copy(n):
    if n == 0:
        return []
    items = changed_copy(n - 1)[:]
    items.append(n)
    return items


def test_results_of_the_function_itself_are_changed_in_copies() -> None:
    """A list that a function gets from itself may be one of an argument: a change of it is refused, one of a copy is
    not."""
    with pytest.raises(tl.Invalid, match="may be one of several"):
        tl.function(changed_result)(3)
    assert list(disagreements(changed_copy, [(0,), (3,)], RUNS[:1], [[True]])) == []


@tl.function
def counted(n: tl.int64) -> Any:
    calls = 0

    def fib(k):
        nonlocal calls
        calls += 1
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    result = fib(n)
    return result, calls


@tl.function
def counted_by_hand(n: tl.int64) -> Any:
    def fib(k, calls):
        calls += 1
        if k < 2:
            return k, calls
        first, calls = fib(k - 1, calls)
        second, calls = fib(k - 2, calls)
        return first + second, calls

    return fib(n, 0)


def test_state_costs_what_arguments_and_results_cost() -> None:
    """A counter around a recursion costs as many firings as one that is passed as an argument and a result."""
    assert counted(10) == (55, 177)
    assert counted.run(10).firings <= counted_by_hand.run(10).firings


@pytest.mark.full
def test_broken_state_is_caught() -> None:
    """Broken: a call does not give the state its new content, or does not pass its content along."""

    def no_results(patch: MonkeyPatch) -> None:
        sound = recursions.StatePart.rebuild
        patch.setattr(recursions.StatePart, "rebuild", lambda self, leaves: [sound(self, leaves), self.place.read()][1])

    def no_content(patch: MonkeyPatch) -> None:
        sound = recursions.StatePart.leaves
        patch.setattr(recursions.StatePart, "leaves", lambda self, content: sound(self, self.model))

    for fault in (no_results, no_content):
        with broken(fault):
            assert found_by_law(twice_with_change_between)


@pytest.mark.full
def test_results_of_one_structure_only_are_caught() -> None:
    """Broken: results of several structures get none together, or an empty result keeps its column of bools."""

    def no_structure(patch: MonkeyPatch) -> None:
        patch.setattr(program_builder.UNIFY_RESULT, "cell_contents", lambda previous, result: None)

    def kept_column(patch: MonkeyPatch) -> None:
        patch.setattr(recursions, "_without_empty_column", lambda result: result)

    for fault in (no_structure, kept_column):
        with broken(fault):
            assert found_by_law(lists_of_pairs, (3,))


def found_by_law(function: Callable[..., Any], arguments: tuple[Any, ...] = (3, 5)) -> bool:
    """Whether the law detects a fault on this function, or tagloom refuses it."""
    try:
        return list(disagreements(function, [arguments], RUNS[:1])) != []
    except tl.Invalid:
        return True
