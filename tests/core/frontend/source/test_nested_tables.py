"""Dicts and sets in dicts and lists, and strings as keys: changes are written where the item comes from."""

# mypy: ignore-errors
from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program
from support.generators.table_programs import write_nested_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import items, nested_lists, staging, tables


def dict_of_sets(n):
    graph = defaultdict(set)
    for k in range(n):
        graph[k % 2].add(k % 3)
        graph[k % 3].discard(k)
    return {k: sorted(v) for k, v in graph.items()}


def sets_in_list(n):
    rows = [set() for _ in range(3)]
    for k in range(n):
        if k * k % 5 not in rows[k % 3]:
            rows[k % 3].add(k * k % 5)
    return [len(r) for r in rows]


def sets_in_rows(n):
    rows = [set() for _ in range(n)]
    for k in range(n):
        v = k * k % 3
        if v in rows[k % 2 % n]:
            return False
        rows[k % 2 % n].add(v)
    return True


def lists_in_dicts_in_a_dict(n):
    d = {}
    for k in range(n):
        d.setdefault(k % 2, {}).setdefault(k % 3, []).append(k)
    return d


def counts_by_two_keys(n):
    d = defaultdict(lambda: defaultdict(int))
    for k in range(n):
        d[k % 2][k % 3] += k
    return {a: dict(b) for a, b in d.items()}


def list_of_dicts(n):
    seen = [{} for _ in range(n)]
    for k in range(n):
        seen[k][k + 1] = k
        seen[k // 2][k] = 7
    return seen


def delete_inner(n):
    d = {}
    for k in range(n):
        d[k] = {k: 1, k + 1: 2}
        del d[k][k]
        if k > 1:
            d[k - 1].pop(k)
            d[k].update({9: k})
    return d


def set_union_inner(n):
    reach = {k: {k} for k in range(n)}
    for k in range(n - 1):
        reach[k + 1] |= reach[k]
    return [sorted(reach[k]) for k in range(n)]


def one_of_two_dicts(n):
    a, b = {}, {1: 2}
    for k in range(n):
        t = a if k % 2 else b
        t[k] = n
    return a, b


def one_of_two_sets(n):
    a, b = set(), {1}
    (a if n > 2 else b).add(n)
    c = a if n % 2 else b
    c |= {4}
    return sorted(a), sorted(b), len(c)


def dicts_in_dicts_in_a_dict(n):
    g = {}
    for k in range(n):
        if k not in g:
            g[k] = {}
        g[k][0] = {}
        g[k][0][k] = 5
    return g


def weighted_edges(n):
    graph = {k: {} for k in range(n)}
    for k in range(n - 1):
        graph[k][k + 1] = k * 2
        graph[k + 1][k] = k * 2
    total = 0
    for u in graph:
        for v, w in graph[u].items():
            total += u * v * w
    return total, [len(graph[u]) for u in graph]


def two_names_of_a_row(n):
    d = {k: {} for k in range(n + 1)}
    row = d[n]
    d[n][7] = 1
    row[8] = 2
    return d, row


def records_by_index(n):
    people = [{"name": 1, "age": 2}, {"name": 3, "age": 4}]
    for k in range(n):
        people[k % 2]["age"] += k
    return people


def records_grow(n):
    people = []
    for k in range(n):
        people.append({"id": k, "score": 0})
    for k in range(n):
        people[k]["score"] += k * k
    for p in people:
        p["score"] += 1
    return people


def lists_in_comprehension(n):
    d = {k: [] for k in range(n)}
    for k in range(n - 1):
        d[k].append(k + 1)
        d[k + 1].append(k)
    return d


def known_comprehension(n):
    d = {k: [n] for k in range(3)}
    for k in range(n):
        d[k % 3].append(k)
    return d, dict.fromkeys("ab", n), {k + 1: v for k, v in [(1, n), (2, 3)]}


def get_then_append(n):
    groups = {}
    for i in range(n):
        bucket = groups.get(i % 3, [])
        bucket.append(i)
        groups[i % 3] = bucket
    return groups


def get_and_forget(n):
    groups = {0: [9]}
    for i in range(n):
        groups.get(i % 3, []).append(i)
    return groups


def get_dict(n):
    table = {}
    for i in range(n):
        row = table.get(i % 2, {})
        row[i % 3] = row.get(i % 3, 0) + i
        table[i % 2] = row
    return table


def entry_changed_after_it_was_stored(n):
    groups = {0: [9]}
    for i in range(n):
        bucket = groups.get(i % 3, [])
        bucket.append(i)
        groups[i % 3] = bucket
        bucket.append(-i)
        groups[i % 2] = [i]
    return groups


def known_start(n):
    groups = defaultdict(list)
    groups[0] = [9]
    for i in range(n):
        groups[i % 3].append(i)
    return groups


def labels_as_keys(n):
    table = {}
    for i in range(n):
        table[f"k{i % 3}"] = i
    return table


def digits_as_keys(n):
    counts = {}
    for c in str(n * n):
        counts[c] = counts.get(c, 0) + 1
    return counts


def texts_in_a_set(n):
    seen = set()
    dup = 0
    for i in range(n):
        key = f"{i % 3}-{i * i % 2}"
        if key in seen:
            dup += 1
        seen.add(key)
    return dup, len(seen)


def known_and_symbolic(n):
    d = {"a": 1, "bb": 2}
    d[f"b{n}"] = 3
    return d, "bb" in d, d.get(f"{n}", -1), f"b{n}" in d, "b4" in d


def lookup_in_known(n):
    d = {"k0": 5, "k1": 6, "k2": 7}
    return d[f"k{n % 3}"], d.get(f"k{n}", 0)


def tuple_keys(n):
    d = {}
    for i in range(n):
        d[(f"r{i % 2}", i % 3)] = i
    return len(d), sum(d.values())


def groups_by_text(n):
    groups = defaultdict(list)
    for i in range(n):
        groups[str(i)[-1]].append(i)
    return dict(groups)


def counter_text(n):
    c = Counter(str(n) + "11")
    return dict(c)


def delete_text(n):
    d = {}
    for i in range(n):
        d[f"x{i}"] = i
    if f"x{n - 1}" in d:
        del d[f"x{n - 1}"]
    return d, sorted(d.values())


def shared_in_comprehension(n):
    row = [n]
    d = {k: row for k in range(n) if k >= 0}
    if n > 2:
        d[1].append(7)
    return d, row


def get_elsewhere(n):
    groups, other = {0: [9]}, {}
    for i in range(n):
        bucket = groups.get(i % 3, [])
        bucket.append(i)
        other[i] = bucket
    return groups, other


def get_default_used(n):
    groups = {0: [9]}
    total = 0
    for i in range(n):
        fresh = [i]
        bucket = groups.get(i % 3, fresh)
        bucket.append(i)
        total += len(fresh)
    return groups, total


def used_after_another_entry(n):
    groups = {0: [9], 1: [4]}
    if n > 1:
        groups[n] = [n]
    b = groups.get(n, [])
    b.append(7)
    groups[5] = [1]
    b.append(8)
    return groups, b


def stored_in_a_branch(n):
    d = {n: [1]}
    x = d.get(n - 1, [])
    if n > 2:
        d[n - 1] = x
        x.append(0)
    else:
        x.append(1)
    return d, x


def one_list_for_all_keys(n):
    d, x = {}, [7]
    for k in range(n):
        d.setdefault(k, x).append(k)
    return d, x


def one_list_of_a_factory(n):
    x = [7]
    d = defaultdict(lambda: x)
    for k in range(n):
        d[k].append(k)
    return dict(d), x


def value_of_a_cleared_dict(n):
    d = {n: [1]}
    x = d[n]
    d.clear()
    x.append(3)
    return d, x


def list_in_a_record_of_a_loop(n):
    report = {"even": {"count": 0, "items": []}, "odd": {"count": 0, "items": []}}
    for k in range(n):
        row = report["even" if k % 2 == 0 else "odd"]
        row["count"] += 1
        row["items"].append(k)
    return report


def pairs_as_keys_of_strings(n):
    board = {(r, c): "." for r in range(2) for c in range(2)}
    player = "X"
    for k in range(n):
        cell = (k // 2 % 2, k % 2)
        if board[cell] == ".":
            board[cell] = player
            player = "O" if player == "X" else "X"
    return ["".join(board[r, c] for c in range(2)) for r in range(2)]


def first_entry(n):
    d = {}
    for k in range(n):
        d[(k * 5 + n) % 7] = k
        if len(d) > 3:
            oldest = next(iter(d))
            del d[oldest]
    it = iter(d.items())
    first = next(it)
    second = next(it, None)
    return first, second, next(iter(d.values())), next(iter({}), -1)


def first_of_no_entries(n):
    d = {}
    for k in range(n):
        d[k] = k
    try:
        return next(iter(d))
    except StopIteration:
        return -1


def text_among_known_keys(n):
    d = {"a0": 1, "a1": 2}
    d[f"a{n % 2}"] += n
    return d


def get_by_variable(n):
    groups = {}
    for i in range(n):
        k = i % 3
        bucket = groups.get(k, [])
        bucket.append(i)
        groups[k] = bucket
    return groups


def get_and_default(n):
    d = defaultdict(dict)
    for i in range(n):
        row = d.get(i, {})
        row[7] = 1
        d[i][n] = n
    return dict(d)


RIGHT = (
    pairs_as_keys_of_strings,
    first_entry,
    first_of_no_entries,
    text_among_known_keys,
    get_by_variable,
    get_and_default,
    dict_of_sets,
    sets_in_list,
    sets_in_rows,
    lists_in_dicts_in_a_dict,
    counts_by_two_keys,
    list_of_dicts,
    delete_inner,
    set_union_inner,
    one_of_two_dicts,
    one_of_two_sets,
    dicts_in_dicts_in_a_dict,
    weighted_edges,
    two_names_of_a_row,
    records_by_index,
    records_grow,
    lists_in_comprehension,
    known_comprehension,
    get_then_append,
    get_and_forget,
    get_dict,
    entry_changed_after_it_was_stored,
    known_start,
)
TEXTS = (
    labels_as_keys,
    digits_as_keys,
    texts_in_a_set,
    known_and_symbolic,
    lookup_in_known,
    tuple_keys,
    groups_by_text,
    counter_text,
    delete_text,
)
REFUSED = {
    shared_in_comprehension: "may be an item of two lists",
    get_elsewhere: "may be an item of two lists",
    get_default_used: "has changed under another name|given this list to another",
    used_after_another_entry: "may be one of several",
    stored_in_a_branch: "may be one of several",
    one_list_for_all_keys: "may be one of several",
    one_list_of_a_factory: "may be one of several",
    value_of_a_cleared_dict: "may be one of several",
    list_in_a_record_of_a_loop: "may be one of several",
}


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_nested_tables(function: Callable[[int], object]) -> None:
    """A dict or set in a dict or list changes there, under all its names."""
    assert list(disagreements(function, [(5,), (0,), (2,)], RUNS[:1])) == []


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", TEXTS, ids=lambda function: function.__name__)
def test_texts_as_keys(function: Callable[[int], object]) -> None:
    """Strings with symbolic integers in them are keys, by their characters."""
    assert list(disagreements(function, [(4,), (0,), (12,)], RUNS[:1])) == []


@pytest.mark.full(first=1)
@pytest.mark.parametrize("function", (delete_inner, set_union_inner), ids=lambda function: function.__name__)
def test_nested_tables_on_engines(function: Callable[[int], object]) -> None:
    """All schedules and engines agree on them."""
    assert list(disagreements(function, [(1,), (4,)], [*RUNS, ("compiled", "waves")])) == []


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused_changes(function: Callable[[int], object]) -> None:
    """A change is refused where the program does not know all places of the item."""
    with pytest.raises(tl.Invalid, match=REFUSED[function]) as caught:
        tl.function(function)(5)
    assert caught.value.rule == "F4" and caught.value.hint


def get_or_create(n):
    d = {}
    for k in range(n):
        group = d.get(k % 3)
        if group is None:
            group = d[k % 3] = []
        group.append(k)
    return d


def get_and_append(n):
    d = {}
    for k in range(n):
        group = d.get(k * k % 3)
        if group:
            group.append(k)
        else:
            group = [k]
            d[k * k % 3] = group
    return d


def get_an_inner_dict(n):
    d = {}
    for k in range(n):
        inner = d.get(k % 2)
        if inner is None:
            inner = {}
            d[k % 2] = inner
        inner[k % 3] = inner.get(k % 3, 0) + 1
    return d


def get_if_there(n):
    d = {0: [], 2: []}
    for k in range(n):
        group = d.get(k % 3)
        if group is not None:
            group.append(k)
    return d


def assign_in_both_branches(n):
    d = {}
    for k in range(n):
        key = k % 3
        if key not in d:
            group = d[key] = [-1]
        else:
            group = d[key]
        group.append(k)
    return d


def assign_of_two_keys(n):
    d = {k: [k] for k in range(n)}
    for k in range(n):
        half, last = k // 2, n - 1
        if k % 2 == 0:  # noqa: SIM108
            group = d[half]
        else:
            group = d[last]
        group.append(k)
    return d


def replaced_after_get(n):
    d = {}
    for k in range(n):
        group = d.get(k % 2)
        if group is None:
            group = d[k % 2] = [k]
        d[k % 3] = [9]
        group = d[k % 2]
        total = len(group)
        d[k % 2] = [total]
    return d


@pytest.mark.parametrize(
    "function",
    [
        get_or_create,
        get_and_append,
        get_an_inner_dict,
        get_if_there,
        assign_in_both_branches,
        assign_of_two_keys,
        replaced_after_get,
    ],
    ids=lambda function: function.__name__,
)
def test_values_that_may_be_none(function: Callable[[int], object]) -> None:
    """A change of `d.get(k)`, or of a new value in its place, is one of the dict; a list of two places is refused."""
    text = function.__name__
    is_accepted = agrees_or_is_refused(text, function, [(0,), (3,), (5,)], masks=[[True]])
    assert is_accepted or function is assign_of_two_keys


def test_hints_name_the_class_of_the_item() -> None:
    """The hint of a refused change makes copies of dicts and sets by their class."""

    def shared_dicts(n):
        rows = [{} for _ in range(n)]
        others = list(rows)
        rows[0][1] = 7
        return others

    def shared_sets(n):
        groups = defaultdict(set)
        for k in range(n):
            groups[k % 2].add(k)
        others = dict(groups)
        groups[0].add(7)
        return others

    for function, hint in ((shared_dicts, "[dict(each) for"), (shared_sets, "{k: set(each) for")):
        with pytest.raises(tl.Invalid) as caught:
            tl.function(function)(4)
        assert hint in caught.value.hint


def _items_stay(patch: MonkeyPatch) -> None:
    patch.setattr(items, "_write_in_array", lambda content, origin: None)


def _default_is_there(patch: MonkeyPatch) -> None:
    sound = nested_lists.note_default
    patch.setattr(tables, "note_default", lambda item, table, key, _, default: sound(item, table, key, True, default))


def _first_character_decides(patch: MonkeyPatch) -> None:
    sound = tables._is_equal_text
    patch.setattr(tables, "_is_equal_text", lambda columns, key: sound(columns, key) | True)


def _all_places_are_one(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "have_one_place", lambda first, second: first is not None and second is not None)


def _last_option_is_there(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "known_option", lambda choice: choice.options[-1])


@pytest.mark.full
@pytest.mark.parametrize(
    ("patch", "function"),
    [
        (_all_places_are_one, assign_of_two_keys),
        (_last_option_is_there, get_or_create),
        (_items_stay, list_of_dicts),
        (_default_is_there, get_and_forget),
        (_first_character_decides, texts_in_a_set),
    ],
)
def test_twins(patch: Callable[[MonkeyPatch], None], function: Callable[[int], object]) -> None:
    """Broken: two items are at one place; a value is None where it is not; an item changes only itself; a default is an
    entry; all strings are one key."""
    with broken(patch):
        try:
            assert list(disagreements(function, [(3,), (5,)], RUNS[:1], [[True]]))
        except tl.Invalid as error:
            assert patch is _last_option_is_there, error


def check(seed: int, folder: Path) -> bool:
    program = write_nested_program(random.Random(seed).randint)
    return agrees_or_is_refused(program.text, load_program(program, folder), program.inputs, masks=[[True] * 3])


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_nested_programs(seed: int, tmp_path: Path) -> None:
    """Generated programs agree with Python, or are refused."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_many_nested_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least two in five are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 50)) >= 20
