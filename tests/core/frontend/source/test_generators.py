"""Generators and containers of other classes under symbolic conditions: what they change is undone and merged, or
refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import convert


def counted(n, log):
    log[0] += 1
    print("first")
    yield n
    log[0] += 10
    yield 2 * n


def of_the_module(n):
    log = [0]
    total = sum(counted(n, log)) if n > 0 else 0
    return total, log[0]


def of_the_function(n):
    log = [0]

    def inner():
        log[0] += 1
        yield n

    if n > 0:
        return sum(inner()), log[0]
    return max(counted(n, log)), log[0]


def rotated(n):
    items = deque([1, 2])
    if n > 0:
        items.rotate(1)
        items[0] += n
    return list(items)


FUNCTIONS: list[Callable[[Any], Any]] = [of_the_module, of_the_function, rotated]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_effects_are_those_of_python(function: Callable[[Any], Any]) -> None:
    """Value and printed lines are those of Python: what a branch changes stays in it."""
    assert list(disagreements(function, [(3,), (-3,)], RUNS[:1])) == []


class Log(list):  # type: ignore[type-arg]
    """A list of a class of its own."""


def longer_log(n):
    log = Log([1])
    if n > 0:
        log.append(n)
    return len(log)


def longer_window(n):
    items = deque([1], maxlen=3)
    if n > 0:
        items.append(n)
    return len(items)


def changed_bytes(n):
    data = bytearray(b"ab")
    if n > 0:
        data[0] = 65
    return data[0]


@pytest.mark.parametrize("function", (longer_log, longer_window, changed_bytes))
def test_refused(function: Callable[[Any], Any]) -> None:
    """What cannot be merged is refused, with the variable's class."""
    with pytest.raises(tl.Invalid, match="different structures after the branches"):
        tl.function(function)(3)


def _generators_as_they_are(patch: MonkeyPatch) -> None:
    patch.setattr(convert, "_CONVERTED", {})
    patch.setattr(convert, "_HANDING_OVER", {})
    patch.setattr(convert, "convert_writes", lambda node: node)


@pytest.mark.full
def test_twin() -> None:
    """Broken: a generator writes without announcement, in the branch that is not taken, too."""
    with broken(_generators_as_they_are):
        assert list(disagreements(of_the_module, [(-3,)], RUNS[:1]))
