"""Generator functions hand over their items: a loop over one runs its body where the generator yields, in branches and
loops of the program that are those of the generator."""

# The functions are as programmers write them.
# ruff: noqa: B007, B905, C401, C416, E741, N805, UP028

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements, evaluator_disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source.program_operators import ProgramOperators


class Case(NamedTuple):
    """A function, and arguments on which it is compared with Python."""

    function: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]


CASES: list[Case] = []


def handed_over(*inputs: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Add the decorated function to the cases."""

    def add(function: Any) -> Any:
        CASES.append(Case(function, inputs))
        return function

    return add


@handed_over((3,), (0,))
def enumerate_generator(n):

    def evens(m):
        for k in range(m):
            if k % 2 == 0:
                yield (k * k)

    s = 0
    for i, x in enumerate(evens(n), 1):
        s += i * x
    return s


@handed_over((3,), (0,), (9,))
def with_break(n):

    def evens(m):
        k = 0
        while True:
            yield k
            k += 2

    s = 0
    for x in evens(n):
        if x > n:
            break
        s += x
    else:
        s = -1
    return (s, x)


@handed_over((3,), (0,), (9,))
def with_return(n):

    def divisors(m):
        for d in range(2, m):
            if m % d == 0:
                yield d

    for d in divisors(n):
        if d > 2:
            return d
    return -1


@handed_over((3,), (0,))
def any_all(n):

    def g(m):
        for k in range(m):
            yield k

    return (
        any(x > 1 for x in g(n)),
        all(x < 5 for x in g(n)),
        max(g(n + 1)),
        list(g(n)),
        sum(g(n)),
        sorted(-x for x in g(n)),
    )


@handed_over((3,), (0,))
def any_of_gen(n):

    def g(m):
        for k in range(m):
            yield (k > 1)

    return (any(g(n)), all(g(n)))


@handed_over((3,), (0,))
def yield_from(n):

    def a(m):
        for k in range(m):
            yield k

    def b(m):
        yield (-1)
        yield from a(m)
        yield from [7, 8]
        yield from range(m)

    return list(b(n))


@handed_over((3,), (0,))
def recursive_generator(n):

    def down(k):
        if k > 0:
            yield k
            yield from down(k - 1)
            yield (-k)

    return (list(down(n)), sum(down(n)))


@handed_over((3,), (0,), (2,))
def recursive_break(n):

    def down(k):
        if k > 0:
            yield k
            yield from down(k - 1)

    s = 0
    for x in down(n):
        if x == 2:
            break
        s += x
    return s


@handed_over((3,), (0,))
def prints_interleaved(n):

    def g(m):
        print("start")
        for k in range(m):
            print("before", k)
            yield k
            print("after", k)
        print("end")

    for x in g(n):
        print("body", x)
    return n


@handed_over((3,), (0,))
def prints_and_break(n):

    def g(m):
        for k in range(m):
            print("before", k)
            yield k
            print("after", k)
        print("end")

    for x in g(5):
        if x == n:
            break
        print("body", x)
    return n


@handed_over((3,), (0,))
def two_consumers(n):

    def g(m):
        for k in range(m):
            yield k

    total = 0
    for x in g(n):
        for y in g(x):
            total += x * y
            if y > 1:
                break
    return total


@handed_over((3,), (0,))
def next_first(n):

    def g(m):
        yield m
        yield (m + 1)
        yield (m + 2)

    it = g(n)
    a = next(it)
    s = 0
    for x in it:
        s += x
    return (a, s)


@handed_over((3,), (0,))
def in_branch(n):

    def g(m):
        for k in range(m):
            yield k

    t = []
    if n > 1:
        for x in g(n):
            t.append(x)
    return t


@handed_over((3,), (0,))
def exhausted_in_a_try(n):

    def g(m):
        yield m
        return m

    items = g(n)
    first = next(items)
    try:
        next(items)
    except StopIteration as end:
        return (first, end.value)


class Tree:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r = (v, l, r)

    def __iter__(self):
        if self.l:
            yield from self.l
        yield self.v
        if self.r:
            yield from self.r


@handed_over((3,), (0,))
def tree_iter(n):
    tr = Tree(n, Tree(1), Tree(n + 1))
    return ([x for x in tr], sum(tr))


@handed_over((3,), (0,))
def send_used(n):

    def g():
        x = yield 1
        yield x

    it = g()
    next(it)
    return it.send(n)


@handed_over((3,), (0,))
def try_in_generator(n):

    def g(m):
        try:
            yield m
            yield (m + 1)
        finally:
            print("closed")

    s = 0
    for x in g(n):
        s += x
    return s


@handed_over((3,), (0,))
def return_in_generator(n):

    def g(m):
        for k in range(10):
            if k == m:
                return
            yield k

    return list(g(n))


@handed_over((3,), (0,))
def zipped(n):

    def squares():
        k = 0
        while True:
            yield (k * k)
            k += 1

    return [x + y for x, y in zip(squares(), range(n))]


@handed_over((3,), (0,))
def last_item(n):

    def g(m):
        for k in range(m):
            yield k

    x = -1
    for x in g(n):
        pass
    return x


@handed_over((3,), (0,))
def module_level(n):
    s = 0
    for a, b in mod_pairs(n):
        s += a * b
        continue
    return s


def mod_pairs(n):
    """Doc."""
    i = 0
    while i < n:
        j = 0
        while j < i:
            yield (i, j)
            j += 1
        i += 1


@handed_over((3,), (0,))
def method_gen(n):

    class A:
        def __init__(s, m):
            s.m = m
            s.c = 0

        def items(s):
            for k in range(s.m):
                s.c += 1
                yield k

    a = A(n)
    return ([x for x in a.items()], a.c)


@handed_over((3,), (0,))
def state_nonlocal(n):
    count = 0

    def g(m):
        nonlocal count
        for k in range(m):
            count += 1
            yield count

    return (sum(g(n)), count)


@handed_over((3,), (0,))
def genexp_for(n):
    s = 0
    for x in (k * k for k in range(n) if k % 2):
        s += x
    return s


@handed_over((3,), (5,))
def dict_of_gen(n):

    def g(m):
        for k in range(m):
            yield (k, k * k)

    return (dict(g(n)), {a: b for a, b in g(n)}, set((x for x, _ in g(n))) == {0, 1, 2})


@handed_over((3,), (0,))
def raising_gen(n):

    def g(m):
        for k in range(m):
            if k == 2:
                raise ValueError("two")
            yield k

    return sum(g(n))


@handed_over((2,), (0,))
def locals_of_loop(n):

    def g(m):
        for k in range(m):
            yield k

    out = []
    for x in g(n):
        y = x * 2
        z = y + 1
        if z > 2:
            out.append(z)
    return out


@handed_over((2,), (0,))
def join_gen(n):

    def g():
        for k in (1, 2):
            yield str(k)

    return ",".join(g())


@handed_over((2,), (0,))
def star_gen(n):

    def g(m):
        yield m
        yield 2

    a, b = g(n)
    return (max(*g(n)), a, b, [*g(n)])


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("case", [pytest.param(case, id=case.function.__name__) for case in CASES])
def test_generators_do_what_they_do_in_python(case: Case) -> None:
    """Value, printed lines, their order, and the exception are those of Python, on the reference under three schedules
    and on `fast`; the evaluator agrees."""
    assert list(disagreements(case.function, case.inputs, RUNS)) == []
    assert list(evaluator_disagreements(case.function, case.inputs)) == []


def resumed(n):
    def g(m):
        yield m
        yield m + 1

    items = g(n)
    for _ in items:
        break
    return list(items)


def condition_in_a_try(n):
    def g(m):
        try:
            if m > 0:
                yield m
        finally:
            print("closed")

    return sum(g(n))


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (resumed, "F4: an iterator or a generator expression is iterated a second time"),
        (condition_in_a_try, "F1: .* needs a concrete value"),
    ],
)
def test_generators_that_need_their_own_frame_are_refused(function: Callable[..., Any], words: str) -> None:
    """A generator cannot go on after a loop over it, and one that yields in a `try` runs in Python."""
    with pytest.raises(tl.Invalid, match=words):
        tl.function(function)(3)


def permutations_of_a_shorter_list(n):
    def permutations(items):
        if len(items) <= 1:
            yield items
            return
        for k in range(len(items)):
            for rest in permutations(items[:k] + items[k + 1 :]):
                yield [items[k]] + rest

    return [sum(items) for items in permutations(list(range(n)))]


@pytest.mark.heavy
def test_an_endless_recursion_of_generators_through_loops_is_refused_soon() -> None:
    """The recursion of a generator has another type in each call, in a loop: it is not traced in all the ways in which
    each loop around it can be traced, which would never end."""
    with pytest.raises(tl.Invalid, match="F4: permutations calls itself with new types or objects each time"):
        tl.function(permutations_of_a_shorter_list)(3)


def sum_of_evens(n):
    def evens(limit):
        k = 0
        while k < limit:
            yield k
            k += 2

    total = 0
    for item in evens(n):
        total += item
    return total


@tl.function
def sum_of_evens_by_hand(n: tl.int64) -> Any:
    total = k = 0
    while k < n:
        total += k
        k += 2
    return total


def test_a_generator_costs_what_the_loop_in_it_costs() -> None:
    """A sum over a generator takes as many firings as the same loop without one."""
    function = tl.function(sum_of_evens)
    assert function(10) == 20
    assert function.run(10).firings == sum_of_evens_by_hand.run(10).firings


@pytest.mark.full
def test_broken_generators_are_caught() -> None:
    """Broken: a loop of the program does not carry the variables of the loop over the generator, or a generator goes on
    after a `break`."""

    def no_variables(patch: MonkeyPatch) -> None:
        patch.setattr("tagloom.core.frontend.source.program_operators.record_write", lambda place: None)

    def no_stop(patch: MonkeyPatch) -> None:
        patch.setattr(ProgramOperators, "not_", lambda self, value: False)

    for fault, function in ((no_variables, sum_of_evens), (no_stop, prints_and_break)):
        with broken(fault):
            assert is_caught(function)


def is_caught(function: Callable[..., Any]) -> bool:
    """Whether the law detects a fault on this function, or tagloom refuses it."""
    try:
        return list(disagreements(function, [(3,)], RUNS[:1])) != []
    except tl.Invalid:
        return True
