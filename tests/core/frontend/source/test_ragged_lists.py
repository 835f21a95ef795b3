"""Lists of different lengths in lists and dicts whose length or keys are known only at run time: programs agree with
Python, also where such a list has several names, or are refused in words."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program
from support.generators.row_programs import write_ragged_program
from support.generators.table_programs import write_group_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import items, open_lists, tables
from tagloom.core.frontend.trace import pytree

SEEDS = 300
"""The programs of the heavy part."""


def pascal(n, i):
    rows = [[1]]
    for _ in range(n):
        prev = rows[-1]
        rows.append([1] + [prev[j] + prev[j + 1] for j in range(len(prev) - 1)] + [1])
    return rows, rows[-1], rows[i][i - 1], sum(rows[i]), len(rows[i])


def buckets(n, k):
    result = [[] for _ in range(k)]
    for x in range(n):
        result[x * x % k].append(x)
    return result, [len(each) for each in result]


def groups(n, k):
    by_rest, by_bit, tests = defaultdict(list), {}, {}
    for x in range(n):
        by_rest[x * x % k].append(x)
        by_bit.setdefault(x % 2, []).append(x * 0.5)
        tests[x % 3] = tests.get(x % 3, []) + [x > k]
    return dict(by_rest), by_bit, tests, sum(len(each) for each in by_rest.values())


def groups_by_tests(n, k):
    result = {}
    for x in range(n):
        if x % k not in result:
            result[x % k] = []
        result[x % k].append((x, x > 2))
    for key, group in result.items():
        group.append((key, False))
    return result


def subsets(n, k):
    result = [[]]
    for x in range(n):
        result += [chosen + [x * k] for chosen in result]
    return result


def permutations(n, k):
    result = [[]]
    for x in range(n):
        longer = []
        for one in result:
            for place in range(len(one) + 1):
                longer.append(one[:place] + [x + k] + one[place:])
        result = longer
    return result


def paths(n, k):
    result, path = [], []

    def walk(first):
        result.append(path[:])
        for j in range(first, n):
            path.append(j)
            walk(j + k)
            path.pop()

    walk(0)
    return result


def breadth_first(n, k):
    neighbours = [[] for _ in range(n)]
    for u in range(n * 2):
        neighbours[u % n].append((u * k + 1) % n)
    seen, order, queue = [False] * n, [], [0]
    seen[0] = True
    while queue:
        u = queue.pop(0)
        order.append(u)
        for v in neighbours[u]:
            if not seen[v]:
                seen[v] = True
                queue.append(v)
    return order, neighbours


def rows_by_two_names(n, k):
    rows = [[x] * x for x in range(n)]
    first, second = rows[k], rows[1]
    first.append(7)
    second += [8, 9]
    rows[k].insert(0, 6)
    rows[1].pop()
    del rows[-1][0]
    return rows, first, second


def last_rows(n, k):
    rows = [[x] * k for x in range(n)]
    last = rows[-1].pop()
    rows.pop(0)
    rows[-1] += [last, 7]
    return rows


def values_by_two_names(n, k):
    table, xs = {}, [n]
    table[k] = xs
    table[k].append(3)
    xs.append(4)
    ys = table.setdefault(k, [])
    ys.append(5)
    return table, xs, ys


def rows_in_text(n, k):
    rows = [[x] * (x % k) for x in range(n)]
    return f"{rows}", [1] in rows, rows == [[]] * n


def value_or_default(n, k):
    table = {n: [1]}
    xs = table.get(k + 2, [])
    table[n].append(3)
    return xs


AGREEING = (
    value_or_default,
    pascal, buckets, groups, breadth_first, rows_by_two_names, values_by_two_names, subsets, permutations, paths,
    groups_by_tests, rows_in_text, last_rows,
)  # fmt: skip
INPUTS = [(4, 2), (2, 1)]


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("function", AGREEING, ids=lambda function: function.__name__)
def test_ragged_lists(function: Any) -> None:
    """Lists of different lengths grow, shrink and are read by all their names, as in Python."""
    assert list(disagreements(function, INPUTS, RUNS[:1], [[True, True]])) == []


@pytest.mark.full
def test_rows_as_array() -> None:
    """The array of rows that have shrunk to one length has nothing behind them; rows of different lengths are NumPy's
    ValueError."""

    def shrink(n: Any, length: Any) -> Any:
        rows = []
        for i in range(n):
            row = []
            for k in range(i + 1):
                row.append(i + k)
            while len(row) > length:
                row.pop()
            rows.append(row)
        return np.array(rows)

    assert not list(disagreements(shrink, [(3, 1), (3, 2)], RUNS[:1], [[True, True]]))


@pytest.mark.parametrize("function", (pascal, buckets), ids=lambda function: function.__name__)
def test_engines(function: Any) -> None:
    """All engines and schedules agree with Python."""
    assert list(disagreements(function, INPUTS[:1], RUNS, [[True, True]])) == []
    assert tl.function(function).run(*INPUTS[0], engine="compiled").value == function(*INPUTS[0])


def one_list_many_times(n):
    rows = [[]] * n
    rows[0].append(3)
    return rows


def value_of_two_keys(n):
    table, xs = {}, [1]
    table[n] = xs
    table[n + 1] = xs
    table[n].append(3)
    return table


def value_or_older_default(n):
    table, kept, total = {n: [1]}, [2], 0
    for _ in range(n):
        xs = table.get(2, kept)
        table[n].append(3)
        total += len(xs)
    return total


def copied_table(n):
    table = {n: [1]}
    other = table.copy()
    other[n].append(3)
    return table


def row_of_a_loop(n):
    rows, last = [[k] * k for k in range(n)], []
    for row in rows:
        last = row
    rows[n - 1].append(5)
    return last


def row_of_an_arm(n):
    rows = [[k] * k for k in range(n)]
    row = rows[0] if n > 2 else [3]
    rows[0].append(5)
    return row


def row_in_another_list(n):
    rows = [[k] * k for k in range(n)]
    others = [rows[0]]
    for k in range(n):
        others.append([k])
    rows[0].append(5)
    return others


def row_that_grows_in_the_list(n):
    rows, row = [], []
    for k in range(n):
        row.append(k)
        rows.append(row)
    return rows


def sum_with_a_comprehension(n):
    rows = [[k] * k for k in range(n)]
    both = rows + [row + [0] for row in rows]
    for row in rows:
        row.append(5)
    return both


def sum_with_a_call(n):
    rows = [[k] * k for k in range(n)]
    both = rows + buckets(n, 2)[0]
    rows[1].append(5)
    return both


def sum_of_lists(n):
    rows = [[k] * k for k in range(n)]
    twice = sum([rows, rows], [])  # noqa: RUF017 - code as users write it
    rows[1].append(5)
    return twice


def product(n):
    rows = [[k] * k for k in range(n)]
    same = rows * 1
    for row in rows:
        row.append(5)
    return same


REFUSED = (
    product, sum_with_a_comprehension, sum_with_a_call, sum_of_lists, one_list_many_times, value_of_two_keys,
    value_or_older_default, copied_table, row_of_a_loop, row_of_an_arm, row_in_another_list, row_that_grows_in_the_list,
)  # fmt: skip


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_lists_with_names_that_are_not_known(function: Any) -> None:
    """A change that another list must show, of which the trace has a copy, is refused in words."""
    with pytest.raises(tl.Invalid) as caught:
        tl.function(function)(4)
    assert caught.value.rule == "F4" and caught.value.hint


@pytest.mark.full
@pytest.mark.parametrize("seed", (0, 7, 151))
def test_ragged_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds agree with Python, or are refused. One of them gave a wrong result once."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("write", (write_ragged_program, write_group_program))
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_many_ragged_programs(first: int, write: Any, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least half are converted."""
    assert sum(check(seed, tmp_path, write) for seed in range(first, first + 50)) >= 50 // 2


@pytest.mark.full
@pytest.mark.parametrize("seed", (0, 1, 2))
def test_group_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds, on dicts of lists, agree with Python, or are refused."""
    check(seed, tmp_path, write_group_program)


def check(seed: int, folder: Path, write: Any = write_ragged_program) -> bool:
    """Check the law on a program; whether it is converted."""
    program = write(random.Random(seed).randint)
    return agrees_or_is_refused(program.text, load_program(program, folder), program.inputs, masks=[[True] * 3])


def _keep_the_zeros(patch: MonkeyPatch) -> None:
    patch.setattr(pytree, "has_lengths", lambda structure: False)


def _lose_items(patch: MonkeyPatch) -> None:
    full_lengths = open_lists._full_lengths
    patch.setattr(open_lists, "_full_lengths", lambda column, depth: full_lengths(column, depth) * 0)


def _forget_the_default(patch: MonkeyPatch) -> None:
    patch.setattr(tables, "note_shared_lists", lambda *containers: None)


def _forget_shared_lists(patch: MonkeyPatch) -> None:
    patch.setattr(items, "has_shared_lists", lambda container: False)


@pytest.mark.full
@pytest.mark.parametrize(
    "twin, function, arguments",
    [
        (_keep_the_zeros, pascal, (4, 2)),
        (_lose_items, pascal, (4, 2)),
        (_forget_the_default, value_or_older_default, (2,)),
        (_forget_shared_lists, row_of_a_loop, (4,)),
        (_forget_shared_lists, row_of_an_arm, (4,)),
        (_forget_shared_lists, row_in_another_list, (4,)),
        (_forget_shared_lists, one_list_many_times, (4,)),
    ],
)
def test_twins(twin: Any, function: Any, arguments: tuple[Any, ...]) -> None:
    """The law detects items that are lost, zeros that are not items, and lists that are shared without a note."""
    with broken(twin):
        assert list(disagreements(function, [arguments], RUNS[:1]))
