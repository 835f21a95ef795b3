"""Dicts and sets whose keys depend on the data behave as in Python, or are refused with an error."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program
from support.generators.table_programs import write_table_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import tables
from tagloom.core.frontend.trace.pytree import TreeDef

Function = Callable[..., Any]
SEEDS = 300
"""The programs of the heavy part."""


def counts(n):
    found = {}
    for i in range(n):
        k = i * i % 3
        found[k] = found.get(k, 0) + 1
    return found


def defaults(n):
    sums, numbers = collections.defaultdict(int), collections.Counter()
    for i in range(n):
        sums[i % 3] += i
        numbers[i % 2] += 1
    return sorted(sums.items()), len(sums), numbers[0], numbers[9], list(numbers.values())


def until_seen(n):
    seen = set()
    while n not in seen:
        seen.add(n)
        n = (n * n + 1) % 7
    return n, len(seen), sorted(seen)


def pair_with_sum(n):
    seen = {}
    for i, x in enumerate([n, 2, 4, 7]):
        if 9 - x in seen:
            return seen[9 - x], i
        seen[x] = i
    return None


def displays(n):
    return len({n, 3}), sorted({n, 2}), n in {2, n + 1}, {n: 1, 2: n}, {n, 3} == {3, n}


def beside_known_keys(n):
    found = {0: 1, 3: 2}
    found[n] = found.get(n, 0) + 5
    return found[0] * 100 + found[3], found


def removals(n):
    found = {i: i * i for i in range(n + 2)}
    del found[n]
    popped = found.pop(n + 1, -1), found.pop(77, -5)
    found.setdefault(n, 8)
    found.setdefault(0, 9)
    items = {n, 4, 5}
    items.discard(9)
    items.remove(4)
    return found, popped, sorted(items)


def missing_key(n):
    return {n: 1}[2]


def missing_item(n):
    items = {5}
    items.add(n)
    items.remove(2)
    return len(items)


def order_by_the_arm(n):
    found = {}
    if n > 1:
        found[5], found[6] = 1, 2
    else:
        found[6], found[5] = n, 4
    return found, list(found), list(found.values())


def pairs_as_keys(n):
    visited, grid = {(0, 0)}, {(n, 2): 1, (2, n): 2}
    visited.add((n, 1))
    grid[0, n] = 5
    return (2, 1) in visited, (0, 0) in visited, (n, 7) in visited, grid[n, 2], (n, 7) in grid, len(grid)


def set_operations(n):
    s, t = {n, 3, 1}, {1, 2, 9}
    order = s <= t, t >= s, s < t, s == {1, 3, n}, s != t, s.isdisjoint(t), s.issuperset([n])
    return sorted(s | t), sorted(t & s), sorted(s - t), sorted(t - s), sorted(s ^ t), order, max(s), sum(s)


def loops(n):
    found, total = {}, 0
    for i in range(n):
        found[i % 4] = i
    for key in found:
        total = total * 3 + key
    for key, value in found.items():
        total += key * value
    best = max(found, key=found.get) if found else -1
    return total, [key for key in found if found[key] > 2], best, {value: key for key, value in found.items()}


def new_in_each_trip(n):
    total = 0
    for i in range(n):
        items, found = set(), {}
        for j in range(i + 2):
            items.add(j % 2)
            found[j % 3] = j
        total += len(items) * 10 + len(found)
    return total


def under_a_condition(n):
    items, found = {1, 2}, {(1, 2): 3}
    if n > 0:
        items.add(3)
        found[1, 2] = 4
    return len(items), sorted(items), 3 in items, found[1, 2]


class Table:
    def __init__(self):
        self.squares = {}

    def get(self, n):
        if n not in self.squares:
            self.squares[n] = n * n
        return self.squares[n]


def of_an_object(n):
    table = Table()
    return table.get(n) + table.get(2) + table.get(n), len(table.squares)


def copies(n):
    found = {n: 1}
    others, copied = dict(found), found.copy()
    others[2] = 3
    found |= {7: 1}
    return found, others, copied, found == others, copied == {n: 1}, found | others


def reassigned(n):
    seen = set()
    for i in range(n):
        seen = seen | {i % 2}
    return (
        sorted(seen),
        sorted({i % 3 for i in range(n)}),
        len(set(range(n))),
        sorted(set([n, 3, 4] * 2)),
        type(seen) is set,
    )


def changed_in_its_loop(n):
    found = {n: 1, 9: 2}
    for key in found:
        found[key + 1] = 3
    return len(found)


def removed_in_its_loop(n):
    found = {n: 1, 9: 2, 7: 3}
    for key in found:
        if key == n:
            del found[9]
    return len(found)


def changed_before_a_break(n):
    found = {n: 1, 9: 2}
    for key, value in found.items():
        found[9] = 40
        if key == 9:
            found[8] = value
            break
    return found


def live_views(n):
    found = {n: 1, 3: 2}
    keys, values = found.keys(), found.values()
    found[7], found[3] = 1, 5
    return len(keys), 7 in keys, 5 in values, (3, 5) in found.items(), list(keys), sum(values), isinstance(keys, list)


Pair = collections.namedtuple("Pair", "left right")


def other_keys(n):
    pairs = {(n, 1), (1, 2)}
    return Pair(1, 2) in pairs, Pair(n, 1) in pairs, "a" in pairs, None in {n}, ("a", n) in pairs


def key_without_a_hash(n):
    return [n] in {n, 1}


def frozen_sets(n):
    fixed = frozenset((1, 2))
    return sorted(fixed | {n}), sorted(fixed - {n}), fixed >= {n}, fixed < {n, 1, 2}, fixed == {n, 1}, fixed != {n, 1}


def factory_with_an_effect(n):
    found = collections.defaultdict(lambda: print("new") or 3)
    found[n] = 1
    return found[n], found[4], found[4]


def unions_of_a_defaultdict(n):
    found = collections.defaultdict(int, {2: 7})
    return (found | {n: 4})[9], ({n: 4} | found)[9], dict(found | {n: 3})


def counter_without_the_key(n):
    numbers = collections.Counter()
    numbers[n] += 1
    del numbers[55]
    return len(numbers)


def collect(n):
    found = set()
    for i in range(n):
        found.add(i % 3)
    return found


def same(found):
    return found


def sets_of_calls(n):
    found, own = {7}, collect(n)
    if n > 1:
        found = collect(n)
        found.add(n)
    for i in range(n):
        other = set(own)
        other.add(i + 5)
        if n in other:
            other.remove(n)
    alias = same(own)
    alias.add(9)
    return sorted(found), sorted(own), alias == own


def lists_as_values(n):
    groups = {}
    for i in range(n):
        groups.setdefault(i % 2, []).append(i)
    return groups


def changed_value_in_a_loop(n):
    found = {1: [0, 0], n: [1, 1]}
    for row in found.values():
        row[0] = 9
    return found[1]


FUNCTIONS: list[Function] = [
    changed_in_its_loop, removed_in_its_loop, changed_before_a_break, live_views, other_keys, key_without_a_hash,
    frozen_sets, factory_with_an_effect, counter_without_the_key, unions_of_a_defaultdict,
    counts, until_seen, defaults, pair_with_sum, displays, beside_known_keys, removals, missing_key, missing_item,
    order_by_the_arm, pairs_as_keys, set_operations, loops, new_in_each_trip, under_a_condition, of_an_object, copies,
    reassigned, sets_of_calls, lists_as_values, changed_value_in_a_loop,
]  # fmt: skip
INPUTS = [(5,), (2,), (0,)]


@pytest.mark.full
@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_agrees_with_python(function: Function) -> None:
    """Value, order of keys and exception are those of Python, under all schedules."""
    assert list(disagreements(function, INPUTS, RUNS)) == []


@pytest.mark.heavy
@pytest.mark.parametrize("function", FUNCTIONS[::3], ids=lambda function: function.__name__)
def test_compiled_agrees(function: Function) -> None:
    """Compiled programs agree, too."""
    assert list(disagreements(function, INPUTS, [("compiled", "waves")])) == []


def test_a_set_as_a_result() -> None:
    """The caller gets a set of Python's numbers."""
    assert tl.function(lambda n: {n, 3})(np.int64(5)) == {3, 5}


def loop_over_a_set(n):
    return [x + 1 for x in {n, 3}]


def item_of_a_set(n):
    return {n, 3}.pop()


def words_and_numbers(n):
    return {"a": 1, n: 2}


def texts_in_two_orders(n):
    table = {"a": n, "b": 1} if n > 2 else {"b": 2, "a": n}
    return [table[key] for key in table]


def texts_in_turns(n):
    table = {"a": 1, "b": 2}
    for _ in range(n):
        table = {"b": table["a"], "a": table["b"] + 1}
    return list(table.values())


def as_it_is(n):
    return dict.fromkeys({n: 1})


def keys_of_two_kinds(n):
    return {n: 1, 1.5: 2}


def bools_and_integers(n):
    return {True: 1, n: 2}


def equal_views(n):
    return {n: 1, 2: 3}.keys() == {2: 3, n: 1}.keys()


def union_of_counters(n):
    numbers, others = collections.Counter(), collections.Counter()
    numbers[n] += 3
    others[n] += 1
    return dict(numbers | others)


def equal_counters(n):
    numbers, others = collections.Counter(), collections.Counter()
    numbers[n] += 0
    return numbers == others


def ordered(n):
    found = collections.OrderedDict()
    found[n] = 1
    found.move_to_end(n)
    return len(found)


def known_dict_in_its_loop(n):
    found = {1: 2}
    for _ in found:
        found[n] = 1
    return len(found)


def iterator(n):
    return list(iter({n: 1}))


REFUSED: dict[Function, str] = {
    keys_of_two_kinds: "keys of several kinds",
    bools_and_integers: "keys of several kinds",
    equal_views: r"keys\(\) of a dict whose keys are known only at run time",
    union_of_counters: "whose keys are known only at run time",
    equal_counters: "whose keys are known only at run time",
    ordered: "at a symbolic key",
    known_dict_in_its_loop: "to the dict that it iterates over",
    iterator: "used other than by next",
    loop_over_a_set: "a set whose items are known only at run time",
    item_of_a_set: "known only at run time",
    words_and_numbers: "keys of several kinds",
    as_it_is: "takes no dict or set whose keys are known only at run time",
}


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused_uses(function: Function) -> None:
    """Code that needs the keys, or the order of a set, during the trace is refused with a hint."""
    with pytest.raises(tl.Invalid, match=REFUSED[function]) as caught:
        tl.function(function)(np.int64(4))
    assert caught.value.rule in ("F4", "V5") and caught.value.hint


def sums_by_word(n):
    d = collections.defaultdict(int)
    for k in range(n):
        d["even" if k % 2 == 0 else "odd"] += k
    return dict(d)


def key_of_a_loop(n):
    d = {}
    for k in range(n):
        d["x"] = k
    return d


def counts_of_words(n):
    counts = {}
    for k in range(n):
        w = "low" if k < 2 else "mid" if k < 4 else "high"
        counts[w] = counts.get(w, 0) + 1
    return counts


def counter_of_letters(n):
    counts = collections.Counter()
    for k in range(n):
        counts["ab"[k % 2]] += 1
    return counts["a"], counts["b"], counts["c"], len(counts)


def added_words(n):
    d = {"a": 1}
    if n > 0:
        d["b"] = n
    if n > 3:
        d["a"] = 7
        d["c"] = 2
    total = 0
    for key, value in d.items():
        print(key, value)
        total += value
    return total, "b" in d, "c" in d, d.get("z", -1), list(d)


def set_of_words(n):
    seen = set()
    for k in range(n):
        seen.add("even" if k % 2 == 0 else "odd")
    return len(seen), "odd" in seen, sorted(seen)


def words_in_two_orders(n):
    d = {}
    if n > 0:
        d["x"] = 1
        d["y"] = 2
    else:
        d["y"] = 3
        d["x"] = 4
    return d, d["x"]


def words_in_tuples(n):
    d = {}
    for k in range(n):
        d[("row", k % 2)] = k
    return d


def removed_word(n):
    d = {"a": 1, "b": 2}
    if n > 0:
        del d["a"]
    return d, d.get("a", 0)


def word_that_may_be_missing(n):
    d = {"a": 1}
    if n > 0:
        d["b"] = 2
    return d["b"]


def inventory(n):
    inventory = {"apple": 3}
    for k in range(n):
        item = ["apple", "pear", "plum"][k % 3]
        if item in inventory:
            inventory[item] += 1
        else:
            inventory[item] = 1
    best = max(inventory, key=inventory.get)
    return inventory, best, sum(inventory.values())


def word_and_number_as_values(n):
    d = {"a": 1}
    if n > 0:
        d["b"] = "text"
    return d


def replaced_value(n):
    d = {"name": "ann", "age": 3}
    if n > 0:
        d["age"] = n
    return d


WORDS: tuple[Function, ...] = (
    sums_by_word,
    key_of_a_loop,
    counts_of_words,
    counter_of_letters,
    added_words,
    set_of_words,
    words_in_two_orders,
    words_in_tuples,
    removed_word,
    word_that_may_be_missing,
    inventory,
    word_and_number_as_values,
    replaced_value,
    texts_in_two_orders,
    texts_in_turns,
)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", WORDS, ids=lambda function: function.__name__)
def test_words_as_keys(function: Function) -> None:
    """Dicts and sets to which a branch or loop adds strings have Python's keys, in its order."""
    assert list(disagreements(function, [(0,), (1,), (6,)], RUNS[:1])) == []


def test_nan_as_a_key() -> None:
    """A look-up of nan, which Python finds by its identity, is a trap; nan is no integer."""

    def has(x):
        return x in {x, 0.5}

    assert tl.function(has)(1.5)
    with pytest.raises(NotImplementedError, match="nan"):
        tl.function(has)(float("nan"))
    assert not tl.function(lambda x, n: x in {n})(float("nan"), 1)


def test_cost_of_a_key() -> None:
    """Counting one key costs a number of firings that does not depend on how many keys there are."""
    staged = tl.function(counts)
    firings = [staged.run(n, engine="reference").firings for n in (9, 18, 27)]
    assert firings[2] - firings[1] == firings[1] - firings[0] <= 9 * 70


def check(seed: int, folder: Path) -> bool:
    """Check the law on a program; returns whether it is converted."""
    program = write_table_program(random.Random(seed).randint)
    function = load_program(program, folder)
    return agrees_or_is_refused(program.text, function, program.inputs)


@pytest.mark.full
@pytest.mark.parametrize("seed", (1, 2))
def test_table_programs(seed: int, tmp_path: Path) -> None:
    """Generated programs agree with Python."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_many_table_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least a third are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 50)) >= 50 // 3


def _never_found(patch: MonkeyPatch) -> None:
    patch.setattr(tables._KeyPosition, "is_there", property(lambda place: place.position < 0))


def _kept_after_removal(patch: MonkeyPatch) -> None:
    patch.setattr(tables, "_drop_row", lambda stacked, place: stacked)


def _order_of_the_first_arm(patch: MonkeyPatch) -> None:
    patch.setattr(TreeDef, "has_order_of", lambda treedef, other: True)


def _values_as_keys(patch: MonkeyPatch) -> None:
    patch.setattr(tables, "_keys", tables._values)


def _changes_of_both_arms(patch: MonkeyPatch) -> None:
    patch.setattr(tables, "announce_items", lambda table: None)


def _words_by_their_own_numbers(patch: MonkeyPatch) -> None:
    patch.setattr(tables, "_find", first_key)


def first_key(keys: Any, key: Any) -> Any:
    """Finds each word at the place of the first one."""
    return tables._KeyPosition(0, tables.item_count([keys]))


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "function"),
    [
        (_never_found, counts),
        (_kept_after_removal, removals),
        (_order_of_the_first_arm, order_by_the_arm),
        (_values_as_keys, loops),
        (_changes_of_both_arms, under_a_condition),
        (_words_by_their_own_numbers, counts_of_words),
    ],
)
def test_twins(fault: Callable[[MonkeyPatch], None], function: Function) -> None:
    """Broken: a key is never found; removed keys stay; the order of the first branch counts; values are keys; changes
    are not undone; each word is the first one."""
    with broken(fault):
        assert list(disagreements(function, INPUTS, RUNS[:1]))


def pair_with_total(total):
    seen = {}
    for position, x in enumerate(np.array([2, 7, 11, 15])):
        if total - x in seen:
            return seen[total - x], position
        seen[x] = position
    return None


def test_keys_of_numpy() -> None:
    """A number of NumPy is a key like one of Python."""
    assert not list(disagreements(pair_with_total, [(18,), (1,), (9,)], RUNS[:1], [[True]]))
