"""Lists that branches and loops give to other variables: a variable changes its list if no other name of it is used."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.list_programs import write_renaming_program
from support.generators.python_programs import load_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import sole_names, staging, writes


def levels(n):
    level, found, total = [1], [], 0
    while level:
        following = []
        for x in level:
            total += x
            if 2 * x <= n:
                following.append(2 * x)
            if 2 * x + 1 <= n:
                following.append(2 * x + 1)
        found.append(level)
        level = following
    return found, total


def current_and_next(n):
    current, following = [1], []
    for i in range(n):
        for x in current:
            following.append(x + i)
            if x % 2 == 0:
                following.append(x)
        current, following = following, []
    return current


def lines_of_words(n):
    line, lines, width = [], [], 0
    for i in range(n):
        word = i % 4 + 1
        if width + word > 6:
            lines.append(line)
            line = []
            width = 0
        line.append(word)
        width += word
    if line:
        lines.append(line)
    return lines


def swapped(n):
    a, b = [1], [2]
    for i in range(n):
        a.append(i)
        a, b = b, a
    b.append(7)
    return a, b


def longest_run(n):
    run, longest = [], []
    for i in range(n):
        if i * i % 5 < 3:
            run.append(i)
        else:
            if len(run) > len(longest):
                longest = run
            run = []
    return longest, run


def chosen(n):
    xs = [] if n > 3 else [n]
    xs.append(5)
    if n > 2:
        xs = [1]
    for i in range(n):
        xs.append(i)
    return xs


def inner_loops(n):
    run, runs = [1], []
    for i in range(n):
        for j in range(i):
            run.append(j)
            if j % 2:
                runs.append(run)
                run = []
        if i % 2:
            run = [i]
    return run, runs


def attributes(n):
    class Buffers:
        pass

    buffers = Buffers()
    buffers.front, buffers.back = [1], []
    for i in range(n):
        for x in buffers.front:
            buffers.back.append(x + i)
        buffers.front, buffers.back = buffers.back, []
    return buffers.front, len(buffers.back)


def only_after_the_loop(n):
    xs = [1]
    for i in range(n):
        xs = [i, i]
    xs.append(3)
    ys = xs
    ys.append(4)
    return xs, ys


def swapped_in_a_branch(n):
    a, b = [0] * n, [1] * n
    for i in range(n):
        for j in range(n):
            b[j] = a[j] + i
        if i % 2 == 0:
            a, b = b, a
    return a, b


def attributes_swapped_in_a_branch(n):
    class Buffers:
        pass

    buffers = Buffers()
    buffers.front, buffers.back = [1, 2], [3, 4]
    for i in range(n):
        buffers.front[0] += buffers.back[1]
        if i % 2:
            buffers.front, buffers.back = buffers.back, buffers.front
    return buffers.front, buffers.back


def best_copy(n):
    row = [1, 2, 3]
    best = row[:]
    for i in range(n):
        row[i % 3] += i
        if row[0] % 2 == 0:
            best = row[:]
    best[0] += 1
    best.append(4)
    return best, row


def best_of_all(n):
    row = [k % 5 for k in range(n)]
    best = row
    for _ in range(2):
        following = [max(row[j], row[j - 1] if j else 0) + j for j in range(n)]
        if sum(following) > sum(best):
            best = following
        row = following
    for j in range(n):
        best[j] += 1
    return best


RIGHT = (
    swapped_in_a_branch,
    attributes_swapped_in_a_branch,
    best_copy,
    best_of_all,
    levels,
    lines_of_words,
    current_and_next,
    swapped,
    longest_run,
    chosen,
    inner_loops,
    attributes,
    only_after_the_loop,
)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_the_only_name_of_a_list(function: Callable[[int], object]) -> None:
    """A variable changes the list that it has by then, and no other list."""
    assert list(disagreements(function, [(3,), (0,), (7,)], RUNS[:1])) == []


def name_from_before(n):
    xs = [n]
    ys = xs
    if n > 3:
        xs = []
    xs.append(1)
    return ys


def item_from_before(n):
    xs = [n]
    rows = [xs]
    if n > 3:
        xs = []
    xs.append(1)
    return rows


def other_variable_of_a_branch(n):
    xs, longest = [n], [0]
    if n > 3:
        xs = []
    if n % 2:
        longest = xs
    xs.append(1)
    return longest


def name_before_the_loop(n):
    xs = [1]
    kept = xs
    for i in range(n):
        xs.append(i)
        if i % 2:
            xs = []
    return kept


def name_in_the_next_iteration(n):
    xs, total = [1], 0
    for i in range(n):
        total += len(xs)
        ys = xs if i % 2 else []
        ys.append(i)
    return total


def kept_and_changed(n):
    run, runs = [], []
    for i in range(n):
        run.append(i)
        runs.append(run)
        if i % 2 == 0:
            run = []
    return runs


def two_names_of_one(n):
    xs, ys = [1], [2]
    for i in range(n):
        ys.append(i)
        if i % 2:
            xs = []
        ys = xs
    return xs, ys


def copies_of_both_arms(n):
    xs, ys, rows = [n], [], []
    for i in range(n):
        xs.append(i)
    rows = [xs]
    if n > 4:
        rows = [xs]
    else:
        xs.append(7)
        rows.append(ys)
        xs = []
    return xs, rows


def augmented_source(n):
    xs, ys = [n], []
    zs = ys if n > 3 else xs
    xs += [1]
    ys *= 2
    return zs


@pytest.mark.parametrize("function", (copies_of_both_arms, augmented_source))
def test_changes_before_an_arm_ends(function: Callable[[int], object]) -> None:
    """A list that one branch has changed, and in one of several lists, has its items from the end of that branch."""
    assert list(disagreements(function, [(3,), (5,)], RUNS[:1])) == []


def change_of_the_source(n):
    xs = [n]
    ys = [] if n > 3 else xs
    xs.append(1)
    return ys


def kept_by_a_list_of_the_other_arm(n):
    xs = [n]
    rows = [xs]
    if n > 4:
        n += 1
    else:
        rows.append(xs)
        xs = [1] if n > 1 else []
    xs.append(7)
    return rows, n


def outer_list(n):
    xs, ys = [n], [0]
    for i in range(n):
        ys.append(i)
        ys = xs
    return xs


def row_at_the_start(n):
    xs = [1]
    rows = [xs]
    for i in range(n):
        xs += [i]
        rows.append(xs)
        xs = [i]
    return rows


def name_that_a_loop_carries(n):
    xs, ys, zs = [n], [], [0]
    zs = ys if n > 3 else xs
    for _ in range(n - 3):
        ys, zs = [], ys
        xs = [2]
    xs.append(7)
    return zs


def copied_in_the_next_iteration(n):
    xs, ys, rows = [n], [0], []
    for _ in range(n):
        xs, ys = [], xs
        rows.append(xs)
    ys.append(7)
    return rows


def list_from_before_a_loop(n):
    shared = [n]
    xs, ys = shared, []
    for i in range(n):
        if i == 0:
            ys = xs
        xs = []
    ys.append(7)
    return shared


def name_before_two_loops(n):
    xs, ys = [1, 2], [3, 4]
    kept = xs
    for _ in range(n):
        for _ in range(n):
            xs, ys = ys, xs
            xs[0] += 1
    return xs, kept


REFUSED = (
    name_before_two_loops,
    list_from_before_a_loop,
    kept_by_a_list_of_the_other_arm,
    outer_list,
    row_at_the_start,
    name_that_a_loop_carries,
    copied_in_the_next_iteration,
    name_from_before,
    item_from_before,
    other_variable_of_a_branch,
    name_before_the_loop,
    name_in_the_next_iteration,
    kept_and_changed,
    two_names_of_one,
    change_of_the_source,
)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_other_names_are_refused(function: Callable[[int], object]) -> None:
    """A list that may have been changed under another name is not used."""
    with pytest.raises(tl.Invalid, match=r"one of several|given this list to another variable") as caught:
        tl.function(function)(3)
    assert caught.value.where is not None and caught.value.hint


def _names_stay(patch: MonkeyPatch) -> None:
    for module in (sole_names, staging):
        patch.setattr(module, "note_renamed", lambda lists: None)


def _nothing_else_has_a_list(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "has_other_name", lambda value, others: False)


def _sources_change_alone(patch: MonkeyPatch) -> None:
    patch.setattr(writes, "note_list_change", lambda value: None)


def _variables_keep_their_lists(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "_closed_sources", lambda sources: {key: {key} for key in sources})


@pytest.mark.full
@pytest.mark.parametrize(
    ("patch", "function"),
    [
        (_names_stay, name_from_before),
        (_names_stay, name_before_the_loop),
        (_nothing_else_has_a_list, kept_and_changed),
        (_sources_change_alone, change_of_the_source),
        (_variables_keep_their_lists, list_from_before_a_loop),
    ],
)
def test_twins(patch: Callable[[MonkeyPatch], None], function: Callable[[int], object]) -> None:
    """The law detects a list that changes under one name only."""
    with broken(patch):
        assert list(disagreements(function, [(3,), (4,)], RUNS[:1], [[True]]))


def check(seed: int, folder: Path) -> bool:
    program = write_renaming_program(random.Random(seed).randint)
    return agrees_or_is_refused(program.text, load_program(program, folder), program.inputs, masks=[[True, True]])


@pytest.mark.full
@pytest.mark.parametrize("seed", (0, 11))
def test_renaming_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds agree with Python."""
    assert check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_many_renaming_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least two in five are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 50)) >= 20


def name_of_an_argument(xs: Any, n: Any) -> Any:
    ys = xs
    for i in range(n):
        ys.append(i)
        if i % 2:
            ys = []
    return ys


def test_an_argument_has_another_name() -> None:
    """The caller has a list that is an argument, too."""
    with pytest.raises(tl.Invalid, match="one of several"):
        tl.function(name_of_an_argument)([1, 2], 3)
