"""Lists of lists whose number is known only at run time: a list that has several names, or is in two lists, changes by
all of them, as in Python, or the function is refused in words."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program
from support.generators.row_programs import write_row_program, write_sorted_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import functions, items, nested_lists, writes

SEEDS = 300
"""The programs of the heavy part."""
ALL_SYMBOLIC = [[True, True, True]]


def check(seed: int, folder: Path) -> bool:
    """Check the law on a program; whether it is converted."""
    program = write_row_program(random.Random(seed).randint)
    return agrees_or_is_refused(program.text, load_program(program, folder), program.inputs, masks=ALL_SYMBOLIC)


@pytest.mark.full
@pytest.mark.parametrize("seed", (2, 319, 436))
def test_row_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds agree with Python, or are refused. Two of them gave wrong results once."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_many_row_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least a fifth are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 50)) >= 50 // 5


def table(n):
    rows = []
    for k in range(n):
        rows.append([k, k + 1])
    return rows


def join(one, other):
    return one + other


def without_first(items):
    return items[1:]


def assign_and_change(n):
    rows, new = table(n), [7, 8]
    rows[0] = new
    rows[0][0] = 50
    if n > 2:
        new[1] = n
    return rows, new


def assign_at_the_end(n):
    rows, new = table(n), [7, 8]
    rows[n - 1] = new
    rows[n - 1][0] = 50
    return rows, new


def only_read(n):
    rows, total = table(n), 0
    for k, row in enumerate(rows):
        total += k * row[0]
    for row, other in zip(rows, rows, strict=True):
        total += row[0] * other[1]
    rows[0][0] = total
    return rows


def copied(n):
    rows = table(n)
    more = [[x + 1 for x in row] for row in rows]
    more[0][0] = 5
    return rows, more


def from_a_display(n):
    rows = [[0, 0]]
    for k in range(n):
        rows.append([k, 3])
    rows[0][0] = 5
    return rows


AGREEING = (assign_and_change, assign_at_the_end, only_read, copied, from_a_display)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", AGREEING, ids=lambda function: function.__name__)
def test_rows_with_one_name(function: Any) -> None:
    """Rows that are not shared, or of which the trace knows the other name, change as in Python."""
    assert list(disagreements(function, [(4,), (3,)], RUNS[:1])) == []


def sum_of_lists(n):
    rows, more = table(n), table(2)
    both = join(rows, more)
    rows[0][0] = 50
    return both


def rest_of_a_call(n):
    rows = table(n)
    rest = without_first(rows)
    rows[1][0] = 50
    return rest


def display_with_a_star(n):
    rows = table(n)
    both = [*rows, [7, 7]]
    rows[0][0] = 50
    return both


def starred_variable(n):
    rows = table(n)
    first, *rest = rows
    rest.pop()
    rest[0][0] = 50
    return rows, first


def reversed_rows(n):
    rows = table(n)
    others = list(reversed(rows))
    rows[0][0] = 50
    return others


def product(n):
    rows = table(n)
    same = rows * 1
    rows[0][0] = 50
    return same


def one_row_for_all(n):
    rows, new = table(n), [7, 8]
    for k in range(n):
        rows[k] = new
    rows[0][0] = 5
    return rows


def change_in_the_list(n):
    rows, new = table(n), [1, 2]
    rows.append(new)
    rows.reverse()
    rows[0][0] = 4
    return new


def change_in_a_loop(n):
    new = [1, 2]
    rows = [new]
    for k in range(n):
        rows.append([k, 3])
    rows[0][0] = 5
    return rows, new


def change_by_a_branch(n):
    rows, new = table(n), [1, 2]
    rows.append(new)
    if n > 1:
        rows.append([2, 2])
    rows[n][0] = 8
    return new[0]


def replaced_by_a_branch(n):
    rows = table(n)
    rows[0] = rows[1]
    if n > 4:
        rows[1] = [5, 5]
    rows[0][0] = 7
    return rows[1][0]


def replaced_in_a_loop(n):
    rows = table(n)
    for k in range(n):
        rows[0] = rows[1]
        if k > n:
            rows[1] = [5, 5]
    rows[0][0] = 7
    return rows[1][0]


REFUSED = (
    sum_of_lists,
    rest_of_a_call,
    display_with_a_star,
    starred_variable,
    reversed_rows,
    product,
    one_row_for_all,
    change_in_the_list,
    change_in_a_loop,
    change_by_a_branch,
    replaced_by_a_branch,
    replaced_in_a_loop,
)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_rows_with_two_names_are_not_changed(function: Any) -> None:
    """A change that another list must show, of which the trace has a copy, is refused in words."""
    with pytest.raises(tl.Invalid, match="known only at run time") as caught:
        tl.function(function)(4)
    assert caught.value.rule == "F4" and caught.value.hint


def _forget_shared_blocks(patch: MonkeyPatch) -> None:
    patch.setattr(nested_lists, "note_shared_lists", lambda *containers: None)
    patch.setattr(nested_lists, "note_snapshot", lambda items: None)


def _forget_items(patch: MonkeyPatch) -> None:
    patch.setattr(writes, "note_stacked_lists", lambda identity, items: None)


def _forget_assigned_rows(patch: MonkeyPatch) -> None:
    patch.setattr(items, "note_assigned_origin", lambda container, index, row: None)


def _forget_in_a_branch(patch: MonkeyPatch) -> None:
    patch.setattr(nested_lists, "can_forget", lambda repeated: True)


def _rebuild_shared_results(patch: MonkeyPatch) -> None:
    patch.setattr(functions, "has_shared_lists", lambda container: False)


@pytest.mark.full
@pytest.mark.parametrize(
    "twin, function",
    [
        (_forget_shared_blocks, display_with_a_star),
        (_forget_items, change_in_the_list),
        (_forget_assigned_rows, assign_at_the_end),
        (_rebuild_shared_results, rest_of_a_call),
        (_forget_in_a_branch, replaced_by_a_branch),
    ],
)
def test_twins(twin: Any, function: Any) -> None:
    """The law detects rows that are shared without a note."""
    with broken(twin):
        assert list(disagreements(function, [(4,)], RUNS[:1]))


def sorted_and_changed(n):
    rows = [[n % 3, 1], [2, n], [1, 5]]
    first = rows[0]
    rows.sort()
    rows[0][1] = 7
    for row in sorted(rows, key=lambda each: -each[1]):
        row[0] += row[1]
    return rows, first


def merged_intervals(xs):
    xs = sorted(xs)
    merged = [xs[0]]
    for start, end in xs[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


@pytest.mark.parametrize(
    "function, inputs",
    [
        (sorted_and_changed, [(4,), (3,), (0,)]),
        (merged_intervals, [([[8, 10], [1, 3], [2, 6]],), ([[1, 2], [5, 6], [3, 4]],)]),
    ],
)
def test_sorted_lists_change(function: Any, inputs: Any) -> None:
    """A list that was sorted by a symbolic number changes by all its names."""
    assert list(disagreements(function, inputs, RUNS[:1])) == []


@pytest.mark.full
def test_sorted_lists_without_their_numbers() -> None:
    """Broken: a change of a sorted list is one of the first list."""
    sound = nested_lists.note_options

    def patch_options(patch: MonkeyPatch) -> None:
        patch.setattr(items, "note_options", lambda item, options, index, key: sound(item, options, 0 * index, key))

    with broken(patch_options):
        assert list(disagreements(sorted_and_changed, [(4,), (3,)], RUNS[:1]))


def check_sorted(seed: int, folder: Path) -> bool:
    program = write_sorted_program(random.Random(seed).randint)
    return agrees_or_is_refused(program.text, load_program(program, folder), program.inputs, masks=ALL_SYMBOLIC)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_sorted_programs(seed: int, tmp_path: Path) -> None:
    """Generated programs that sort lists and change them agree with Python, or are refused."""
    check_sorted(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_many_sorted_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least three in five are converted."""
    assert sum(check_sorted(seed, tmp_path) for seed in range(first, first + 50)) >= 30
