"""Objects that a loop's body creates and then changes: copies, products and slices of lists, comprehensions, and copies
of instances. Their changes are not state of the loop."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import calls, program_operators, sequences, staging


@dataclass
class Pair:
    x: int
    y: int


def new_grid(n):
    grid = [[1, 2], [3, 4]]
    for _ in range(n):
        new = [[0] * 2 for _ in range(2)]
        new[0][1] = grid[1][0] + 1
        grid = new
    return grid


def product_of_a_list(n):
    grid = [1, 2]
    for _ in range(n):
        new = [0] * 2
        new[1] = grid[0] + 1
        grid = new
    return grid


def list_of_a_range(n):
    grid = [1, 2]
    for _ in range(n):
        new = list(range(2))
        new[1] = grid[0] + 1
        grid = new
    return grid


def slice_of_a_list(n):
    grid = [1, 2]
    for _ in range(n):
        new = grid[:]
        new[1] = grid[0] + 1
        grid = new
    return grid


def copied_rows(n):
    grid = [[1, 2], [3, 4]]
    for _ in range(n):
        new = [row[:] for row in grid]
        new[0][1] = grid[1][0] + 1
        grid = new
    return grid


def new_instance(n):
    p = Pair(1, 2)
    for _ in range(n):
        p = Pair(p.x + 1, p.y + p.x)
    return p.x, p.y


def replaced_instance(n):
    p = Pair(1, 2)
    for _ in range(n):
        p = replace(p, x=p.x + 1)
        p.y += p.x
    return p.x, p.y


def deep_copy(n):
    grid = [[1, 2], [3, 4]]
    for _ in range(n):
        new = copy.deepcopy(grid)
        new[0][1] = grid[1][0] + 1
        grid = new
    return grid


def turned_grid(n):
    grid = [[1, 2], [3, 4]]
    for _ in range(n):
        new = [list(r) for r in zip(*grid, strict=True)]
        new[0][1] += 1
        grid = new
    return grid


def longer_row(n):
    row = [1]
    for i in range(1, n + 1):
        row = [0] + row
        for j in range(1, i):
            row[j] += j * (row[j + 1] if j + 1 < len(row) else 0)
    return row


def sum_of_slices(n):
    xs = [1, 2, 3]
    for _ in range(n):
        ys = xs[:1] + xs[1:]
        ys[0] += xs[2]
        xs = ys
    return xs


def shallow_dict(n):
    d = {"a": 1, "b": [1, 2]}
    for _ in range(n):
        e = dict(d)
        e["a"] = d["a"] + 1
        e["b"][0] += 1
        d = e
    return d


def copied_dict(n):
    d = {"a": 1, "b": 2}
    for _ in range(n):
        e = d.copy()
        e["a"] = d["b"] + 1
        d = e
    return d


def shallow_copy(n):
    d = {"a": 1, "b": [1, 2]}
    keep = d["b"]
    for _ in range(n):
        e = copy.copy(d)
        e["b"][0] += 1
        e["a"] += 1
        d = e
    return d, keep


def alias_of_the_first_list(n):
    xs = [0, 0]
    alias = xs
    for i in range(n):
        ys = xs * 1
        ys[0] = i
        xs = ys
        alias[1] += 1
    return xs, alias


def shared_row(n):
    grid = [[1, 2], [3, 4]]
    first = grid[0]
    for _ in range(n):
        new = grid[:]
        new[0][1] += 1
        new[1] = [new[0][1], 0]
        grid = new
    return grid, first


def comprehension_of_rows(n):
    grid = [[0, 1, 1], [1, 1, 0]]
    for _ in range(n):
        grid = [[(grid[r][c] + grid[1 - r][c]) % 3 for c in range(3)] for r in range(2)]
        grid[0][0] = 5
    return grid


def new_list_in_both_arms(n):
    xs = [1, 2, 3]
    for _ in range(n):
        if xs[0] < 4:
            ys = [x + 1 for x in xs]
            ys[2] = 0
        else:
            ys = xs[:]
            ys[1] = 9
        xs = ys
    return xs


def alias_of_the_first(n):
    p = Pair(1, 2)
    q = p
    for _ in range(n):
        p = replace(p, x=p.x + 1)
        p.y += p.x
        q.x += 1
    return p.x, p.y, q.x, q.y


def collected_copies(n):
    xs = [0, 0, 0]
    out = []
    for i in range(n):
        ys = xs[:]
        ys[i % 3] += 1
        out.append(ys[0])
        xs = ys
    return xs, out


AGREEING = (
    new_grid,
    product_of_a_list,
    list_of_a_range,
    slice_of_a_list,
    copied_rows,
    new_instance,
    replaced_instance,
    deep_copy,
    turned_grid,
    longer_row,
    sum_of_slices,
    copied_dict,
    comprehension_of_rows,
    new_list_in_both_arms,
    collected_copies,
)

SHARING = (shallow_dict, shallow_copy, alias_of_the_first, alias_of_the_first_list, shared_row)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", AGREEING, ids=lambda function: function.__name__)
def test_created_objects(function: Any) -> None:
    """The loop is traced a few times, and does what Python does."""
    assert list(disagreements(function, [(0,), (1,), (4,)], RUNS[:1])) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "function",
    SHARING,
    ids=lambda function: function.__name__,
)
def test_created_objects_with_parts_of_others(function: Any) -> None:
    """A copy that shares its parts with an older list is right, or refused."""
    agrees_or_is_refused(function.__name__, function, [(0,), (1,), (4,)])


def keeps_nothing(value: Any) -> Any:
    return value


TWINS = {
    "sequences": (lambda patch: patch.setattr(sequences, "register_created", keeps_nothing), comprehension_of_rows),
    "operators": (lambda patch: patch.setattr(program_operators, "register_created", keeps_nothing), product_of_a_list),
    "calls": (lambda patch: patch.setattr(calls, "_COPIERS", ()), replaced_instance),
}


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_twins_are_caught(name: str, monkeypatch: MonkeyPatch) -> None:
    """If the new object counts as an older one, the loop gets new state each time that it is traced, and is refused."""
    twin, function = TWINS[name]
    monkeypatch.setattr(staging, "MAX_GROWTHS", 5)
    with broken(twin), pytest.raises(tl.Invalid, match="different ones each time it is traced"):
        list(disagreements(function, [(4,)], RUNS[:1]))
