"""A list that both branches of a symbolic conditional refer to stays one object, which later changes reach by every
name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import calls, staging

INPUTS = [(1, 3), (-1, 3), (2, 4)]


def finally_appends(p, n):
    log = []
    try:
        if p > 0:
            return n, log
        log.append(p)
        return -n, log
    finally:
        log.append(99)


def tuple_with_a_list(p, n):
    xs = [0, n]
    pair = (0, xs)
    if p > 0:
        pair = (p, xs)
    pair[1].append(5)
    xs[0] = p
    return pair, xs


def variable_of_one_arm(p, n):
    xs = [n, n * 2]
    if p > 0:
        ys = [x + p for x in xs]
        zs = xs[1:]
        ws = xs
    n = n + 1
    if p > 0:
        ws.append(4)
        return ys, zs, ws, xs
    return xs, xs, xs, xs


def dict_of_one_list(p, n):
    xs = [0, n]
    if p > 0:
        table = {"k": xs}
        table["k"].append(p)
    else:
        table = {"k": xs}
    xs[0] = 9
    return table, xs


FUNCTIONS = (finally_appends, tuple_with_a_list, variable_of_one_arm, dict_of_one_list)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_one_list_on_both_paths(function: Callable[[Any, Any], Any]) -> None:
    """The list that the function changes later is the list in its result."""
    assert list(disagreements(function, INPUTS, RUNS[:1])) == []


def one_of_two(p, n):
    xs = [n]
    ys = xs if p > 0 else [n, 1]
    ys.append(1)
    return xs, ys


def other_position(p, n):
    xs, ys = [n], [n]
    pair = (xs, ys) if p > 0 else (ys, xs)
    xs.append(p)
    return pair


def one_list_or_two(p, n):
    if p > 0:
        xs = [n]
        ys = xs
    else:
        xs, ys = [n], [n]
    return xs is ys


UNKNOWN = (one_of_two, other_position, one_list_or_two)


@pytest.mark.parametrize("function", UNKNOWN, ids=lambda function: function.__name__)
def test_one_of_several_lists_is_not_changed(function: Callable[[Any, Any], Any]) -> None:
    """A list that may be one of several is not changed, by a method either, and `is` does not compare it: the function
    is refused in words."""
    with pytest.raises(tl.Invalid, match=r"may be one of several|may have given this list to another"):
        tl.function(function)(1, 3)


def _all_lists_are_copies(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "shared_containers", lambda one, other: set())
    patch.setattr(calls, "is_one_of_several", lambda container: False)


@pytest.mark.full
def test_twin() -> None:
    """The law detects merged lists that are copies, and changed without a word."""
    with broken(_all_lists_are_copies):
        assert list(disagreements(finally_appends, INPUTS, RUNS[:1]))
