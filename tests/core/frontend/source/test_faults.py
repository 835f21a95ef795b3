"""Exceptions of the user's code become part of the program, or reach the user's handlers. Refusals and faults of
tagloom end the trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import contexts, handlers, option_operations, raising, staging


def missing_index(n):
    items = [1, 2]
    return items[5] if n > 2 else n


def missing_key(n):
    return {"a": 1}["b"] if n > 2 else n


def deleted_key(n):
    table = {"a": 1}
    if n > 2:
        del table["b"]
    return n


def popped_key(n):
    table = {"a": 1}
    if n > 2:
        return table.pop("b")
    return n


def popped_from_nothing(n):
    stack = []
    if n > 2:
        return stack.pop()
    return n


def a_known_division(n):
    zero = 0
    return 7 // zero if n > 2 else n


def a_known_overflow(n):
    return math.exp(1e4) if n > 2 else 1.5


def a_cast_of_infinity(n):
    return int(math.inf) if n > 2 else n


def a_known_text(n):
    return int("seven") if n > 2 else n


def a_known_root(n):
    return math.sqrt(-1.0) if n > 2 else 1.5


def a_missing_item(n):
    if n > 2:
        return [1, 2].index(3)
    return n


def a_removed_item(n):
    items = [1, 2]
    if n > 2:
        items.remove(3)
    return len(items)


def an_element_not_in_a_set(n):
    elements = {1, 2}
    if n > 2:
        elements.remove(3)
    return len(elements)


def items_without_a_variable(n):
    if n > 2:
        _a, _b = [1]
    return n


def a_caught_text(n):
    try:
        k = int("seven") if n > 2 else n
    except ValueError:
        k = -1
    return k


def an_unassigned_variable(n):
    if n > 2:
        return later  # noqa: F821
    later = n
    return later  # noqa: RET504


def an_unknown_name(n):
    return unknown_name if n > 2 else n  # type: ignore[name-defined]  # noqa: F821


def none_plus_one(n):
    found = n if n < 3 else None
    return found + 1  # type: ignore[operator]


def attribute_of_none(n):
    found = "word" if n < 3 else None
    return found.upper() == "WORD"  # type: ignore[union-attr]


FAILURES: list[Callable[[Any], Any]] = [
    missing_index, missing_key, deleted_key, popped_key, popped_from_nothing, a_known_division, a_known_overflow,
    a_cast_of_infinity, a_known_text, a_known_root, a_missing_item, a_removed_item, an_element_not_in_a_set,
    items_without_a_variable, a_caught_text, an_unassigned_variable, an_unknown_name, none_plus_one, attribute_of_none,
]  # fmt: skip


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", FAILURES, ids=lambda function: function.__name__)
def test_failures_of_operations_are_traps(function: Callable[[Any], Any]) -> None:
    """An operation that Python refuses in a branch raises Python's exception where that branch is taken."""
    assert list(disagreements(function, [(n,) for n in (0, 2, 3)], RUNS[:1], [[True]])) == []


def test_a_symbol_where_a_function_needs_a_number_is_no_failure() -> None:
    """A ValueError of unconverted code about a symbol ends the trace: a run would not raise it."""

    @tl.autograph.do_not_convert
    def take_number(value: object) -> object:
        raise ValueError("not a number")

    def pick(n):
        return take_number([n]) if n > 2 else 1.5

    with pytest.raises(ValueError, match="not a number"):
        tl.function(pick)(1)
    with broken(lambda patch: patch.setattr(raising, "_has_run_time_values", lambda value: False)):
        assert tl.function(pick)(1) == 1.5


def branch_in_an_arm(n):
    if n > 0:
        if n > 2:
            n += 1
        return n
    return 0


def branch_in_a_try(n):
    try:
        if n > 2:
            n += 1
    except Exception:
        return -1
    return n


def branch_in_a_with(n):
    with suppress(NameError):
        if n > 2:
            n += 1
    return n


def branch_for_a_choice(n):
    found = n if n < 3 else None
    return 0 if found is None else found + 1


FAULTS = [
    (branch_in_an_arm, staging, "_weak_flags"),
    (branch_in_a_try, staging, "_weak_flags"),
    (branch_in_a_with, staging, "_weak_flags"),
    (branch_for_a_choice, option_operations, "_examples"),
]
"""Functions, each with a global name of tagloom that its trace needs."""


@pytest.mark.parametrize(("function", "module", "name"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_a_fault_of_tagloom_ends_the_trace(function: Any, module: Any, name: str, monkeypatch: MonkeyPatch) -> None:
    """A NameError in the code of tagloom is neither a trap of the program nor an exception that the user's `except` or
    context manager takes."""
    monkeypatch.delattr(module, name)
    with pytest.raises(NameError, match=name) as caught:
        tl.function(function)(3)
    assert not isinstance(caught.value, tl.TagloomError)


def _every_exception_is_of_the_user(patch: MonkeyPatch) -> None:
    patch.setattr(raising, "is_of_user", lambda error: True)
    patch.setattr(option_operations, "is_of_user", lambda error: True)
    for module in (raising, contexts, handlers):
        patch.setattr(module, "hides_fault", lambda classes, error: False)


@pytest.mark.parametrize(("function", "module", "name"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_faults_in_the_place_of_exceptions_are_caught(
    function: Any, module: Any, name: str, monkeypatch: MonkeyPatch
) -> None:
    """Broken: all exceptions are the user's. Then a fault becomes a trap, or the program goes on."""
    monkeypatch.delattr(module, name)
    with broken(_every_exception_is_of_the_user):
        run = tl.function(function).run(1)
    assert run.status == "Trapped" or run.value == (-1 if function is branch_in_a_try else 1)


class Quiet:
    """A context manager that suppresses all exceptions."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *details: object) -> bool:
        return True


@contextmanager
def quiet() -> Any:
    with suppress(Exception):
        yield


def refused_in_a_try(n):
    try:
        return len(locals()) + n
    except ValueError:
        return -1


def refused_in_a_suppress(n):
    with suppress(Exception):
        return len(locals()) + n
    return -1


def refused_in_a_class(n):
    with Quiet():
        return len(locals()) + n
    return -1


def refused_in_a_generator(n):
    with quiet():
        return len(locals()) + n
    return -1


@pytest.mark.parametrize(
    "function",
    [refused_in_a_try, refused_in_a_suppress, refused_in_a_class, refused_in_a_generator],
    ids=lambda function: function.__name__,
)
def test_handlers_take_no_refusals(function: Callable[[Any], Any]) -> None:
    """A refusal is raised although the user's code handles all exceptions: Python raises none there."""
    with pytest.raises(tl.Invalid, match=r"locals\(\) is not supported"):
        tl.function(function)(3)


def test_handlers_take_the_exceptions_of_python() -> None:
    """A handler takes an exception that Python raises, too, and one that it names by its class of tagloom."""

    def has_name(n):
        try:
            return n.name
        except AttributeError:
            return -1

    def is_refused(n):
        try:
            return len(locals()) + n
        except tl.Invalid:
            return -2

    assert (tl.function(has_name)(3), tl.function(is_refused)(3)) == (-1, -2)
