"""Generated functions on lists that grow and shrink do what Python does, or are refused in words."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.list_programs import write_list_program
from support.generators.python_programs import load_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.errors import Invalid
from tagloom.core.frontend.source import items
from tagloom.core.frontend.source.program_operators import ProgramOperators

SEEDS = 300
"""The programs of the heavy part."""


def check(seed: int, folder: Path) -> bool:
    """Check the law on a program; whether it is converted. What is refused says where, and what to write."""
    program = write_list_program(random.Random(seed).randint)
    function = load_program(program, folder)
    return agrees_or_is_refused(program.text, function, program.inputs)


@pytest.mark.full
@pytest.mark.parametrize("seed", (1, 2, 3, 78))
def test_list_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds agree with Python; one, which changes a list that may be one of two, is refused."""
    assert check(seed, tmp_path) == (seed != 2)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_many_list_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least a third are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 50)) >= 50 // 3


def delete_item(n: Any) -> Any:
    """Deletes an item of a list of symbolic length."""
    xs = []
    for i in range(n):
        xs.append(i * i)
    del xs[1]
    return xs, len(xs)


def change_slices(n: Any, a: Any, b: Any) -> Any:
    """Deletes and assigns slices of a list of symbolic length."""
    xs = []
    for i in range(n):
        xs.append(i)
    del xs[:2]
    xs[a:b] = [7, n]
    ys = xs[:]
    ys[1:] = (y + 1 for y in ys)
    del ys[a:b]
    zs = [0, 1, 2, 3]
    zs[b:a] = xs
    xs[:] = xs[::-1]
    return xs, ys, zs


def insert_first(n: Any) -> Any:
    """Inserts an item at a symbolic index, in a list that is empty."""
    xs = []
    xs.insert(n, 3)
    xs.insert(n - 1, 4)
    return xs


def keep_removed(n: Any) -> Any:
    """Keeps an item of a list whose items are all replaced."""
    rows = []
    for i in range(n):
        rows.append([i, 2])
    row = rows[n // 2]
    rows[:] = [[7, 8]]
    return row, rows


@pytest.mark.parametrize("function", (insert_first, keep_removed))
def test_items_that_come_and_go(function: Callable[[int], object]) -> None:
    """An item may be the first of its list; one that its list has lost stays as it was."""
    assert list(disagreements(function, [(4,), (1,)], RUNS[:1])) == []


def new_rows(n: Any) -> Any:
    """Lists of as many lists as the run says."""
    return [[i, 0] for i in range(n)]


def swapped_rows(n: Any) -> Any:
    """Each list is in one place again after it changes places with another."""
    rows = new_rows(n)
    for i in range(n):
        for k in range(i, n):
            if rows[k][0] > rows[i][0]:
                rows[i], rows[k] = rows[k], rows[i]
        rows[i][1] += 10
    return rows


def copied_rows(n: Any) -> Any:
    """The copies of lists change, and new ones that are added."""
    rows = new_rows(n)
    copies = [row[:] for row in rows]
    copies[0][1] = 5
    rows.append([n] + [n])
    rows[n][1] = 6
    for row in rows:
        row[0] += 1
    return rows, copies


@pytest.mark.parametrize("function", (swapped_rows, copied_rows))
def test_rows_of_their_own(function: Callable[[int], object]) -> None:
    """A list in a list that is in one place changes there, as Python's does."""
    assert list(disagreements(function, [(3,)], RUNS[:1])) == []


def repeat_row(n: Any) -> Any:
    """One list, many times."""
    rows = [[0, 0]] * n
    rows[0][0] = 5
    return rows


def append_row_twice(n: Any) -> Any:
    """One list, at the end and before it."""
    rows, row = new_rows(n), [7, 8]
    rows.append(row)
    rows.append(row)
    rows[n][0] = 5
    return rows


def append_row_in_loop(n: Any) -> Any:
    """One list, which each trip appends."""
    rows, row = [], [0, 0]
    for _ in range(n):
        rows.append(row)
    rows[0][0] = 5
    return rows


def collect_row(n: Any) -> Any:
    """One list, as the item of a comprehension."""
    row = [0, 0]
    rows = [row for _ in range(n)]
    rows[0][0] = 5
    return rows


def assign_row(n: Any) -> Any:
    """A list that is in two places of a list."""
    rows = new_rows(n)
    rows[0] = rows[1]
    rows[0][0] = 5
    return rows


def append_own_row(n: Any) -> Any:
    """A list that is in two places of a list, of which one is behind the items that the run counts."""
    rows = new_rows(n)
    rows.append(rows[0])
    rows[0][0] = 5
    return rows


def extend_by_itself(n: Any) -> Any:
    """Each list, twice."""
    rows = new_rows(n)
    rows += rows
    rows[0][0] = 5
    return rows


def change_slice(n: Any) -> Any:
    """A list that is an item of a slice, too."""
    rows = new_rows(n)
    for row in rows[1:]:
        row[0] = 5
    return rows


def change_reversed(n: Any) -> Any:
    """A list that is an item of a copy in another order."""
    rows = new_rows(n)
    for row in reversed(rows):
        row[0] = 5
    return rows


def change_sorted(n: Any) -> Any:
    """A list that is an item of a sorted copy."""
    rows = new_rows(n)
    ordered = sorted(rows)
    ordered[0][0] = 5
    return rows


def change_copy(n: Any) -> Any:
    """A list that is an item of a copy."""
    rows = new_rows(n)
    copied = rows.copy()
    copied[0][0] = 5
    return rows


def change_sum(n: Any) -> Any:
    """A list that is an item of a sum."""
    rows = new_rows(n)
    both = rows + [[9, 9]]
    both[0][0] = 5
    return rows


SHARING = (
    repeat_row,
    append_row_twice,
    append_row_in_loop,
    collect_row,
    assign_row,
    append_own_row,
    extend_by_itself,
    change_slice,
    change_reversed,
    change_sorted,
    change_copy,
    change_sum,
)


def check_sharing(function: Callable[[int], object]) -> None:
    """A change of a list that is an item twice, or of two lists, is refused in words."""
    with pytest.raises(Invalid, match="an item of two lists, or be twice in one") as caught:
        tl.function(function)(3)
    assert "[each[:] for each in x]" in str(caught.value)


@pytest.mark.parametrize("function", SHARING)
def test_shared_rows(function: Callable[[int], object]) -> None:
    """The law of `check_sharing`."""
    check_sharing(function)


@pytest.mark.parametrize("function", (repeat_row, change_slice, append_row_in_loop))
def test_unnoted_shared_rows(function: Callable[[int], object], monkeypatch: MonkeyPatch) -> None:
    """Broken: nothing notes the lists that have an item in common."""
    monkeypatch.setattr(items, "has_shared_lists", lambda container: False)
    with pytest.raises(pytest.fail.Exception):
        check_sharing(function)


def augmented(n: Any) -> Any:
    """Extends a list by `+=`, which assigns the same list."""
    xs = [n]
    for i in range(n):
        xs += [i, n]
    return xs


def new_empty_lists(n: Any) -> Any:
    """Each trip assigns another list, which has no items."""
    xs, ys = [n], []
    for _ in range(n):
        ys = xs[1:] + ys
    return ys, len(ys)


@pytest.mark.parametrize("function", (augmented, new_empty_lists))
def test_variables_with_lists(function: Callable[[int], object]) -> None:
    """A loop may assign to a variable the list that it has, or an equal one."""
    assert list(disagreements(function, [(4,), (0,)], RUNS[:1])) == []


def take_and_change(n: Any, i: Any) -> Any:
    """Takes a list of a list of symbolic length before a loop and an append, and changes it there afterwards."""
    rows = []
    for k in range(n):
        rows.append([k, 3])
    row = rows[i]
    for k in range(n):
        rows[k][0] += 5
    rows.append([4, 5])
    rows[i][1] = 7
    return row, rows


def test_an_item_changes_with_its_list() -> None:
    """A list that was taken from a list of symbolic length is one with it, whatever loops change and append."""
    assert list(disagreements(take_and_change, [(3, 1), (1, 0), (2, -1)], RUNS[:1])) == []


def reverse_and_change(n: Any) -> Any:
    """Changes a list that may be the one that was taken before lists moved."""
    rows = []
    for k in range(n):
        rows.append([k, 3])
    row = rows[0]
    rows.reverse()
    rows[0][1] = 7
    return row


def longest(n: Any) -> Any:
    return max([k, n] for k in range(n))


@pytest.mark.parametrize("function", (reverse_and_change, longest))
def test_lists_in_a_list_of_symbolic_length(function: Callable[[int], object]) -> None:
    """What the trace does not know of lists in such a list is refused in words."""
    with pytest.raises(tl.Invalid) as caught:
        tl.function(function)(3)
    assert caught.value.rule == "F4" and caught.value.hint


def alias_from_a_loop(n: Any) -> Any:
    """A loop gives a list a second name, by which it changes afterwards."""
    xs, ys = [n], []
    for _ in range(n):
        ys = xs
    xs += [1]
    return xs, ys


def test_aliases_that_a_loop_makes() -> None:
    """A list with a second name from a loop is not changed: the program has a copy of it."""
    with pytest.raises(tl.Invalid, match="one of several"):
        tl.function(alias_from_a_loop)(np.int64(2))


def test_deletion() -> None:
    """`del xs[i]` does what Python does."""
    assert list(disagreements(delete_item, [(4,), (2,)], RUNS[:1])) == []


def test_slices() -> None:
    """Slices that are assigned or deleted do what they do in Python, whatever their bounds."""
    inputs = [(5, 1, 2), (5, -1, 9), (4, 2, 1), (0, 0, 0), (6, -9, -2)]
    assert list(disagreements(change_slices, inputs, RUNS[:1])) == []


def change_steps(xs: Any) -> Any:
    xs[::2] = xs[:3]
    del xs[::-3]
    return xs


def assign_too_few(xs: Any) -> Any:
    xs[::2] = [1]


def delete_from(xs: Any, n: Any) -> Any:
    del xs[n::2]


def delete_twice(xs: Any, n: Any) -> Any:
    del xs[n:]
    del xs[::2]


def test_slices_with_a_step() -> None:
    """A slice with a step takes as many items as it has, and is refused where these are known only at run time."""
    assert list(disagreements(change_steps, [([1, 2, 3, 4, 5],)], RUNS[:1], [[True]])) == []
    with pytest.raises(ValueError, match="sequence of size 1 to extended slice of size 2"):
        tl.function(assign_too_few)([1, 2, 3])
    for function in (delete_from, delete_twice):
        with pytest.raises(tl.Invalid, match="with a step") as caught:
            tl.function(function)([1, 2, 3], 1)
        assert caught.value.rule == "F4" and caught.value.hint


def first_and_rest(n):
    items = [4]
    for i in range(n):
        items.append(i)
    first, *rest = items
    *start, last = items
    return first, len(rest), sum(start), last


def two_around_the_rest(n):
    first, *rest, last = [i for i in range(n) if i != 1]
    return first, rest, last


STARRED: list[tuple[Callable[[int], object], list[tuple[int]]]] = [
    (first_and_rest, [(0,), (3,)]),
    (two_around_the_rest, [(1,), (3,), (6,)]),
]
"""Functions that unpack a list of symbolic length to a starred variable."""


@pytest.mark.parametrize(("function", "inputs"), STARRED, ids=lambda value: getattr(value, "__name__", ""))
def test_starred_targets(function: Callable[[int], object], inputs: list[tuple[int]]) -> None:
    """A starred variable gets the items that the others leave; too few items are a ValueError."""
    assert list(disagreements(function, inputs, RUNS[:1])) == []


def test_unpacking_stacked_items_as_one_is_caught() -> None:
    """Broken: the items that only the run counts are unpacked as one."""

    def patch(monkeypatch: MonkeyPatch) -> None:
        monkeypatch.setattr(ProgramOperators, "unpack", lambda self, value, before, after: value)

    with broken(patch):
        assert list(disagreements(first_and_rest, [(3,)], RUNS[:1]))


def test_parameters_take_no_items_of_symbolic_number() -> None:
    """`f(*items)` is refused if which parameter gets an item is known only at run time."""

    def count(first, *rest):
        return len(rest)

    def entry(n):
        return count(*[i for i in range(n) if i != 1])

    with pytest.raises(tl.Invalid, match="its length must be known"):
        tl.function(entry)(3)
