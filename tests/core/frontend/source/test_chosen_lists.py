"""Lists that are one of several: a change of such a list is one of the list that the run chooses, and all names of a
list show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import items, program_operators, staging, trees


def older_name_grows(n):
    a, b = [1], [2]
    t = a if n > 0 else b
    a.append(5)
    return t


def both_names_grow(n):
    a, b = [1], [2]
    t = a if n > 0 else b
    t.append(n)
    b.append(9)
    return t, a, b, len(t)


def partition(n):
    low, high = [], []
    for i in range(n):
        (low if i * i % 5 < 2 else high).append(i)
    return low, high


def chosen_stack(n):
    low, high = [], []
    for i in range(n):
        t = low if i % 3 == 0 else high
        t.append(i)
        if len(t) > 2:
            t.pop()
    return low, high


def groups_by_word(n):
    groups = {"even": [], "odd": []}
    for i in range(n):
        groups["even" if i % 2 == 0 else "odd"].append(i)
    return groups


def assigned_items(n):
    a, b = [1, 2], [3, 4]
    t = a if n > 0 else b
    t[0] = 10
    t[n % 2] += 1
    a[1] = 7
    return a, b, t


def changed_in_a_loop(n):
    a, b = [1, 2], [3, 4]
    t = a if n > 0 else b
    for i in range(n):
        t[0] += i
        b[1] -= 1
    return a, b, t


def swapped_names_grow(n):
    a, b = [1, 2], [3, 4, 5]
    if n > 0:
        a, b = b, a
    a.append(n)
    return a, b


def swapped_names(n):
    a, b = [1, 2], [3, 4]
    if n > 0:
        a, b = b, a
    a[0] = n
    return a, b


def emptied_in_turn(n):
    g = [[], []]
    for i in range(n):
        if g[i % 2]:
            g[i % 2].pop()
        else:
            g[i % 2].append(i)
    return g


def chosen_by_a_function(n):
    def pick(a, b):
        return a if n > 0 else b

    x, y = [1], [2]
    z = pick(x, y)
    z.append(3)
    x.append(4)
    return x, y, z


def passed_to_a_function(n):
    x, y = [1], [2]
    z = x if n > 0 else y

    def add(t):
        t.append(n)

    add(z)
    return x, y, z


def two_names(n):
    x, y = [1], [2]
    z = x if n > 0 else y
    w = z
    w.append(5)
    return x, y, z, w, z is w


def renamed_option(n):
    x, y = [1], [2]
    z = x if n > 0 else y
    x = x + [3]
    z.append(5)
    return x, y, z


def in_a_tuple(n):
    x, y = [1], [2]
    pair = (x if n > 0 else y, 3)
    pair[0].append(5)
    return x, y, pair


def several_methods(n):
    x, y = [1], [2]
    z = x if n > 0 else y
    x.extend([7, 8])
    z += [5]
    z.sort(reverse=True)
    return x, y, z


def list_in_a_dict(n):
    graph = {0: [1, 2], 1: [2], 2: [0], 3: []}
    graph[n].append(3)
    return graph


def list_of_lists(n):
    g = [[], [], []]
    for k in range(n):
        g[k * k % 3].append(k)
    return g, max(len(x) for x in g), [len(x) for x in g]


def towers(n):
    stacks = [[3, 2, 1], [], []]
    moves = 0
    for i in range(n):
        a, b = i % 3, (i + 1) % 3
        if stacks[a] and (not stacks[b] or stacks[a][-1] < stacks[b][-1]):
            stacks[b].append(stacks[a].pop())
            moves += 1
    return moves, stacks


def returned_by_a_closure(n):
    a, b = [1], [2]
    t = a if n > 2 else b

    def f():
        return t

    u = f()
    a.append(3)
    b.append(4)
    return u, t


def option_grows_in_a_loop(n):
    a, b = [1], [2]
    t = a if n > 2 else b
    i = 0
    while i < n:
        a.append(i)
        i += 1
    return t


def in_a_dict(n):
    a, b = [1], [2]
    t = a if n > 2 else b
    d = {"x": t}
    a.append(n)
    return d


def in_a_list(n):
    a, b = [1], [2]
    t = a if n > 2 else b
    xs = [t, [9]]
    for i in range(n):
        b.append(i)
    xs[0].append(5)
    return xs, a, b


def chosen_in_each_trip(n):
    a, b = [1], [2]
    out = []
    for i in range(n):
        t = a if i % 2 else b
        t.append(i)
        out.append(len(t))
    return out, a, b


def chosen_in_a_recursion(n):
    a, b = [1], [2]

    def push(k):
        if k > 0:
            (a if k % 2 else b).append(k)
            push(k - 1)

    push(n)
    return a, b


def changed_by_a_branch_and_a_loop(n):
    a, b = [1, 5], [2, 6]
    t = a if n > 2 else b
    if n > 3:
        a[0] = 50
    while n > 0:
        t[1] += 1
        n -= 1
        b[0] += n
    return a, b, t


def taken_before_a_loop(n):
    g = [[], []]
    r = g[n % 2]
    for i in range(n):
        g[0].append(i)
    r.append(100)
    return g, r


def groups_in_a_dict(n):
    groups = {0: [], 1: [], 2: []}
    for i in range(n):
        groups[i % 3].append(i)
    total = 0
    for key, numbers in groups.items():
        total += key * sum(numbers)
    for v in groups.values():
        v.sort(reverse=True)
    return total, groups


def buckets(n):
    buckets = [[] for _ in range(3)]
    for x in (n, 5, n + 1, 7):
        buckets[x % 3].append(x)
    return [x for b in buckets for x in sorted(b)]


def bounded_buckets(n):
    buckets = [[] for _ in range(3)]
    for x in range(n):
        b = buckets[x % 3]
        if len(b) < 2:
            b.append(x)
        else:
            b[0] = x
    return buckets


def methods_that_remove(n):
    a, b = [1, 5], [2, 6, 7]
    t = a if n > 2 else b
    del t[0]
    t[n % 2] = 9
    t.insert(0, n)
    t.clear() if n == 4 else t.reverse()
    return a, b, t


def rows_of_several_lengths(n):
    rows = [[1, 2], [3]]
    r = rows[n % 2]
    x = r.pop()
    rows[0][0] = x
    return rows, r


def carried_list(n):
    a, b = [1], [2]
    t = a
    s = 0
    for i in range(n):
        a[0] += 10
        s = s * 3 + t[0]
        t = b if i % 2 == 0 else a
    return s


def carried_row(n):
    g = [[1, 2], [3, 4]]
    row, s = g[0], 0
    for i in range(n):
        g[0][0] += 10
        s = s * 3 + row[0]
        row = g[(i + 1) % 2]
    return s


def chosen_twice(n):
    a, b = [1], [2]
    t = a if n > 2 else b
    if n > 3:
        t = b if n > 4 else a
    a.append(3)
    return t, len(t)


def chosen_in_an_arm(n):
    a, b = [1, 5], [2, 6]
    if n > 1:
        t = a if n > 2 else b
        t[0] = 7
        u = t
    else:
        u = b
    u[1] = 3
    return a, b, u


def added_after_a_choice(n):
    a, b = [1], [2]
    t = a if n > 2 else b
    rows = [t]
    for i in range(n):
        rows.append([i])
    a.append(3)
    return rows


def chosen_of_several(n):
    a, b, c = [1], [2], [3, 4]
    t = a if n > 2 else b
    if n % 2:
        t = c
    u = t if n > 4 else b
    u.append(n)
    t.append(9)
    u.sort(reverse=True)
    return a, b, c, t, u


def smallest_row(n):
    rows = [[n, 1], [3, n], [2, 2]]
    best = rows[0]
    for row in rows:
        if sum(row) < sum(best):
            best = row
    best[0] = 99
    best.append(1)
    return rows, best


def row_from_the_end(n):
    rows = [[n, 1], [3, n], [2, 2]]
    last, first = rows[-(n % 3) - 1], rows[n % 3]
    row = last if n > 3 else first
    row[1] = 7
    return rows, last, first, row


def one_of_two_empty_lists(n):
    g = [[], []]
    g[n % 2].append(1)
    return g


def name_of_an_empty_list(n):
    g = [[], []]
    h = g[n % 2]
    h.append(n)
    g[0].append(7)
    return g, len(h)


def item_of_a_dict_extended(n):
    d = {0: [1], 1: []}
    d[n % 2] += [n]
    return d


def renamed_beside_an_exception(n):
    xs, ys, t = [n], [], 0
    zs = ys
    if n > 2:
        zs = xs
    else:
        t += xs[1]
    xs[-1] += n
    return xs, ys, zs, t


def repeated_in_place(n):
    a, b = [3, 1], [2]
    t = a if n > 1 else b
    t *= 2
    counted = []
    for k in range(n):
        counted.append(k)
    counted *= 2
    return a, b, t, counted


def repeated_by_the_run(n):
    xs, empty = [1, 2], []
    ys = xs
    xs *= n
    empty *= n
    return xs, ys, empty, [] * n


CHANGES = (
    repeated_in_place,
    repeated_by_the_run,
    renamed_beside_an_exception,
    older_name_grows,
    both_names_grow,
    partition,
    chosen_stack,
    groups_by_word,
    assigned_items,
    changed_in_a_loop,
    swapped_names_grow,
    swapped_names,
    emptied_in_turn,
    chosen_by_a_function,
    passed_to_a_function,
    two_names,
    renamed_option,
    in_a_tuple,
    several_methods,
    list_in_a_dict,
    list_of_lists,
    towers,
    returned_by_a_closure,
    option_grows_in_a_loop,
    in_a_dict,
    in_a_list,
    chosen_in_each_trip,
    chosen_in_a_recursion,
    changed_by_a_branch_and_a_loop,
    taken_before_a_loop,
    groups_in_a_dict,
    buckets,
    bounded_buckets,
    methods_that_remove,
    rows_of_several_lengths,
    one_of_two_empty_lists,
    name_of_an_empty_list,
    item_of_a_dict_extended,
    chosen_twice,
    chosen_in_an_arm,
    chosen_of_several,
    smallest_row,
    row_from_the_end,
)
REFUSED = (
    added_after_a_choice,
    carried_list,
    carried_row,
)


NUMBERS = {list_in_a_dict: [(0,), (1,), (3,)], towers: [(1,), (7,)]}


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", CHANGES, ids=lambda function: function.__name__)
def test_chosen_lists(function: Any) -> None:
    """All names of the lists show what Python shows."""
    inputs = NUMBERS.get(function, [(0,), (1,), (3,), (4,), (5,)])
    assert list(disagreements(function, inputs, RUNS[:1], [[True]])) == []


@pytest.mark.full(first=1)
@pytest.mark.parametrize("function", (partition, towers, groups_in_a_dict), ids=lambda function: function.__name__)
def test_chosen_lists_on_engines(function: Any) -> None:
    """All schedules and engines agree on them."""
    assert list(disagreements(function, [(1,), (5,)], [*RUNS, ("compiled", "waves")], [[True]])) == []


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_changes_that_are_refused(function: Any) -> None:
    """A list that a loop carries, or an array copies, has lost its options: a change of one is refused."""
    with pytest.raises(tl.Invalid, match=r"it may be one of several|may have given this list to another"):
        tl.function(function)(3)


TWINS: dict[str, tuple[Callable[[MonkeyPatch], None], Callable[..., Any]]] = {
    "the first list is always the one": (
        lambda patch: patch.setattr(items, "call_on_chosen", lambda origin, call: call(origin.container[0])),
        partition,
    ),
    "other names of a list keep its old items": (
        lambda patch: patch.setattr(items, "_take_again", lambda origin: list(origin.item)),
        older_name_grows,
    ),
    "the two lists of a branch are in the wrong order": (
        lambda patch: patch.setattr(
            staging,
            "note_options",
            lambda item, options, index, note=staging.note_options: note(item, options[::-1], index),
        ),
        both_names_grow,
    ),
    "a repeated list is a new one": (
        lambda patch: patch.setattr(program_operators.ProgramOperators, "_repeat_list", lambda *operands: False),
        repeated_by_the_run,
    ),
    "the options of a copied list are not noted": (
        lambda patch: patch.setattr(trees, "_register", register_without_options),
        added_after_a_choice,
    ),
    "the options of a choice that is chosen are in the wrong order": (
        lambda patch: patch.setattr(staging, "_older_options", options_in_the_wrong_order),
        chosen_of_several,
    ),
}


def options_in_the_wrong_order(value: Any, branch: Any, sound: Any = staging._older_options) -> Any:
    choice = sound(value, branch)
    return choice and choice._replace(options=choice.options[::-1])


def register_without_options(state: Any, shared: Any, containers: dict[int, Any]) -> None:
    if type(state) is list:
        containers[id(state)] = state


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_twins_are_caught(name: str) -> None:
    """A change of another list, or one that is missing, shows."""
    twin, function = TWINS[name]
    with broken(twin):
        assert list(disagreements(function, [(1,), (3,), (5,)], RUNS[:1], [[True]]))
