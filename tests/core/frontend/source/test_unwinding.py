"""`with`, and `try` with `finally`, where a symbolic condition decides whether they are left by an exception or another
exit: what they do at their end comes first, as in Python, or the function is refused in words."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program, write_program
from support.laws.python_laws import RUNS, disagreements, evaluator_disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import raising
from tagloom.core.frontend.source.program_operators import ProgramOperators

INPUTS = [(n,) for n in range(-1, 6)]


def exit_of_finally(n):
    try:
        if n > 2:
            return 1
        return 3
    finally:
        if n > 3:
            return 2  # noqa: B012


def finally_reads_what_the_arm_assigns(n):
    m = 1
    try:
        m = 2
        if n < 0:
            m = 3
            raise ValueError("a")
        m = 4
    finally:
        print("end", m)
    return m


def raise_in_a_loop(n):
    m = 1
    for i in range(n):
        try:
            if i == 2:
                continue
            if i == 3:
                raise KeyError("k")
            m += i
        finally:
            print("trip", i, m)
    return m


def nested(n):
    m = 1
    try:
        m = 2
        try:
            if n < 0:
                m = 3
                raise ValueError("a")
            m = 4
            assert n != 1, "one"
            m = 5
        finally:
            print("inner", m)
    finally:
        m += 1
        print("outer", m)
    return m


class Announced:
    def __init__(self, name):
        self.name, self.count = name, 0

    def __enter__(self):
        print("enter", self.name)
        return self

    def __exit__(self, kind, error, trace):
        print("exit", self.name, self.count)


def manager_of_ones_own(n):
    with Announced("a") as a, nullcontext():
        a.count = n
        if n < 0:
            a.count = 7
            raise ValueError("a")
        a.count += 1
    return a.count


def return_in_finally(n):
    try:
        if n < 0:
            raise ValueError("a")
        return 1
    finally:
        return 7  # noqa: B012, SIM107


def break_in_finally(n):
    for i in range(n):
        try:
            if i > 1:
                raise ValueError("a")
        finally:
            break  # noqa: B012
    return n


def finally_after_handlers(n):
    try:
        if n < 0:
            raise ValueError("a")
        m = n
    except KeyError:
        m = 1
    else:
        if n == 3:
            raise IndexError("b")
    finally:
        print("end", n)
    return m


def trap_in_try(n):
    try:
        m = 10 // n
    finally:
        print("end", n)
    return m


def exits_with_comprehensions(n):
    for k in (3, 5):
        if any(k * g == n for g in range(n)):
            return sum(g for g in range(n) if g != k)
    return n


FUNCTIONS: list[Callable[[Any], Any]] = [
    exit_of_finally, finally_reads_what_the_arm_assigns, raise_in_a_loop, nested, manager_of_ones_own,
    return_in_finally, break_in_finally, finally_after_handlers, trap_in_try, exits_with_comprehensions,
]  # fmt: skip


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_ends_of_statements_come_first(function: Callable[[Any], Any]) -> None:
    """Value, printed lines and exception are those of Python, on all schedules."""
    assert list(disagreements(function, INPUTS, RUNS)) == []


class Catching:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is ValueError


@contextmanager
def catching():
    try:
        yield
    except ValueError:
        return


def suppressed(n):
    with suppress(ValueError):
        if n < 0:
            raise ValueError("a")
        return 1
    return 2


def caught_by_a_class(n):
    with Catching():
        if n < 0:
            raise ValueError("a")
        return 1
    return 2


def caught_by_a_generator(n):
    with catching():
        if n < 0:
            raise ValueError("x")
    return n


def check_sign(n):
    if n < 0:
        raise ValueError("below")
    return n * 2


def trap_before_finally(n):
    m = 0
    try:
        m = check_sign(n)
    finally:
        print("end", m)
    return m


class Count:
    number = 0


def attribute_before_finally(n):
    count = Count()
    try:
        count.number = 6 // n
    finally:
        print("end", count.number)
    return count.number


def item_before_finally(n):
    xs = [0, 0]
    try:
        xs[0] = 6 // n
    finally:
        print("end", xs[0])
    return xs


def append_before_finally(n):
    xs = []
    try:
        xs.append(6 // n)
    finally:
        print("end", xs)
    return xs


def constant_before_finally(n):
    m = 1
    try:
        check_sign(n)
        m = 4
    finally:
        print("end", m)
    return m


def other_name_before_finally(n):
    xs = [1]
    ys = xs
    try:
        check_sign(n)
        ys[0] = 4
    finally:
        print("end", xs[0])
    return xs


def call_before_finally(n):
    m = 0

    def change():
        nonlocal m
        check_sign(n)
        m = 4

    try:
        change()
    finally:
        print("end", m)
    return m


def iterator_before_finally(n):
    items = iter([3, 4])
    try:
        check_sign(n)
        next(items)
    finally:
        print("end", next(items))
    return n


def count_before_finally(n):
    xs = []
    try:
        for k in range(n):
            xs.append(1)
            check_sign(3 - k)
            xs.append(2)
    finally:
        print("end", len(xs))
    return xs


def nonlocal_before_finally(n):
    m = 0

    def end():
        print("end", m)

    try:
        m = 6 // n
    finally:
        end()
    return m


class Printing(Count):
    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        print("end", self.number)


def attribute_of_a_manager(n):
    with Printing() as printing:
        printing.number = 6 // n
    return printing.number


@pytest.mark.parametrize(
    "function",
    (
        attribute_of_a_manager,
        suppressed,
        caught_by_a_class,
        caught_by_a_generator,
        trap_before_finally,
        attribute_before_finally,
        item_before_finally,
        append_before_finally,
        constant_before_finally,
        other_name_before_finally,
        call_before_finally,
        iterator_before_finally,
        count_before_finally,
        nonlocal_before_finally,
    ),
)
def test_refused(function: Callable[[Any], Any]) -> None:
    """A manager that may suppress an exception, and a `finally` that would print a value that a trap withholds, are
    refused, with the line."""
    with pytest.raises(tl.Invalid) as caught:
        tl.function(function)(3)
    assert caught.value.rule == "F4" and caught.value.where is not None and caught.value.hint


def known_manager(n):
    with suppress(ValueError):
        raise ValueError("a")
    with Catching():
        raise ValueError("b")
    return n + 1


def test_known_exceptions_are_suppressed() -> None:
    """Where no symbol decides on an exception, a manager may suppress it."""
    assert list(disagreements(known_manager, INPUTS[:2], RUNS[:1])) == []


def raised_in_two_trips(n, p):
    for k in (0, 4):
        if k > 3:
            raise ValueError("second")
        if p or n < 9:
            raise IndexError("first")
    return n


@pytest.mark.parametrize("seed", (3062, 3076, 3097))
def test_programs_that_disagreed(seed: int, tmp_path: Path) -> None:
    """Generated programs in which a `finally` prints after a `raise`, and one raises where an earlier trip has raised,
    agree with Python."""
    program = write_program(random.Random(seed).randint)
    function = load_program(program, tmp_path)
    found = [*disagreements(function, program.inputs, RUNS), *evaluator_disagreements(function, program.inputs)]
    assert found == []


def test_first_exception_counts_whatever_the_parameters() -> None:
    """An exception that no symbol decides on does not hide one that comes first, in a function of `*arguments`, too."""
    for function in (raised_in_two_trips, lambda *arguments: raised_in_two_trips(*arguments)):
        assert isinstance(tl.function(function).run(2, True).error, IndexError)


def missing_after_division(n):
    counts = {"a": 1}
    quotient = 6 // n
    return quotient + counts["b"]


def raised_after_item(n):
    xs = [1, 2, 3]
    if n > 2:
        xs[n]
    raise ValueError("after an item")


@pytest.mark.parametrize("function", (missing_after_division, raised_after_item))
def test_traps_come_before_known_exceptions(function: Callable[[Any], Any]) -> None:
    """An exception that no symbol decides on does not hide that of an operation before it."""
    assert list(disagreements(function, [(0,), (2,), (3,)], RUNS)) == []


def _unchecked(patch: MonkeyPatch) -> None:
    patch.setattr(ProgramOperators, "check_effects", lambda *arguments: None)


def _raised_at_once(patch: MonkeyPatch) -> None:
    def unwind(number: Any, error: Callable[[], Any]) -> Any:
        raise raising.located_exception(error())

    patch.setattr(ProgramOperators, "unwind", staticmethod(unwind))
    _unchecked(patch)


def _unchecked_changes(patch: MonkeyPatch) -> None:
    patch.setattr(ProgramOperators, "check_effects", lambda self, *positions: raising.check_effects(*positions[:2]))


@pytest.mark.full
@pytest.mark.parametrize(
    "fault, function",
    (
        (_unchecked, trap_before_finally),
        (_unchecked_changes, constant_before_finally),
        (_unchecked_changes, other_name_before_finally),
        (_unchecked_changes, call_before_finally),
        (_raised_at_once, finally_reads_what_the_arm_assigns),
    ),
)
def test_twins(fault: Callable[[MonkeyPatch], None], function: Callable[[Any], Any]) -> None:
    """Broken: traps in a `try` are not checked, or not those before a change; a `raise` comes before the `finally`. The
    law sees other lines."""
    with broken(fault):
        assert list(disagreements(function, INPUTS, RUNS[:1]))
