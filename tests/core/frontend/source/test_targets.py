"""Targets of assignments, loops and `with`: attributes and items are assigned as Python does, in its order, and what a
symbolic branch or loop changes there is merged."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.monkeypatch import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import convert
from tagloom.core.frontend.source.passes import writes
from tagloom.core.frontend.source.state import AttributePlace


class Link:
    def __init__(self, value, following=None):
        self.value, self.following = value, following


def reversed_links(n):
    link, before = Link(n, Link(2, Link(1))), None
    while link:
        link.following, before, link = before, link, link.following
    return before.value, before.following.value, before.following.following.value


def position_before_item(n):
    xs, i = [10, 20, 30], 0
    xs[i], i, xs[i] = 5, n, 6
    (i, xs[i]), *rest = (2, 9), 1, n
    return xs, i, rest


def item_before_a_part(n):
    xs, i = [1, (2, 3)], 0
    xs[i], (p, q) = n, xs
    (xs[0], (i, xs[1])), y = (7, (n, i)), xs
    return xs, p, q, i, y


def items_of_a_loop(n):
    counts, xs, total = {"k": -1}, [0, 0], 0
    for counts["k"], (xs[1], y) in enumerate(zip(range(n), range(5, 5 + n), strict=True)):
        total += counts["k"] * xs[1] + y
    else:
        total += 100
    return counts, xs, total


def attribute_of_a_loop(n):
    link, total = Link(-1), 0
    for link.value in range(n):
        if link.value == 2:
            break
        total += link.value
    return link.value, total


def parts_of_a_with(n):
    link, items = Link(0), {}
    with (
        contextlib.nullcontext(n) as link.value,
        contextlib.nullcontext(link.value + 1) as items["y"],
        contextlib.nullcontext(7) as z,
    ):
        if link.value > 2:
            items["y"] += 10
    return link.value, items["y"], z


def attribute_of_a_class(n):
    class Counted:
        count = 0

        def __init__(self):
            Counted.count += 1

    if n > 1:
        Counted.count = 10 * n
    for _ in range(n):
        Counted()
    return Counted.count, Counted().count


FUNCTIONS: list[Callable[[Any], Any]] = [
    reversed_links, position_before_item, item_before_a_part, items_of_a_loop, attribute_of_a_loop, parts_of_a_with,
    attribute_of_a_class,
]  # fmt: skip


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_targets_are_assigned_as_in_python(function: Callable[[Any], Any]) -> None:
    """The value is that of Python, with a known and a symbolic argument."""
    assert list(disagreements(function, [(0,), (1,), (2,), (4,)], RUNS[:1])) == []


def _variables_first(patch: MonkeyPatch) -> None:
    replace = writes._Writes._replace

    def replace_all_but_names(self: Any, target: ast.expr, later: list[ast.stmt]) -> ast.expr:
        return target if isinstance(target, ast.Name) else replace(self, target, later)

    patch.setattr(convert, "_CONVERTED", {})
    patch.setattr(writes._Writes, "_replace", replace_all_but_names)


def _unwritten_attributes(patch: MonkeyPatch) -> None:
    patch.setattr(AttributePlace, "write", lambda place, content: None)


@pytest.mark.full
@pytest.mark.parametrize(
    "fault, function", ((_variables_first, position_before_item), (_unwritten_attributes, attribute_of_a_class))
)
def test_twins(fault: Callable[[MonkeyPatch], None], function: Callable[[Any], Any]) -> None:
    """Broken: variables are assigned before the items beside them; attributes keep what the last branch has
    assigned."""
    with broken(fault):
        assert list(disagreements(function, [(2,), (1,), (0,)], RUNS[:1]))
