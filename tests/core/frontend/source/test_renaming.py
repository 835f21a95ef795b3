"""Loops and branches that give arrays other names, as in `a, b = b, a`, and change them by these: they do what Python
does, or are refused in words."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program
from support.generators.renaming_programs import write_renaming_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from tagloom.core.frontend.source import program_operators, recursion, staging

SEEDS = 400
"""The programs of the heavy part, of each kind."""
ENGINES = (*RUNS[::3], ("compiled", "waves"))


def check(seed: int, kind: str, folder: Path) -> bool:
    """Check the law on a program; whether it is converted."""
    program = write_renaming_program(random.Random(seed).randint, kind)
    function = load_program(program, folder)
    return agrees_or_is_refused(program.text, function, program.inputs, RUNS[:1], masks=[[True]])


@pytest.mark.full(first=4)
@pytest.mark.parametrize("seed", range(12))
def test_renaming_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds agree with Python, or are refused."""
    check(seed, "array", tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_many_renaming_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least a third are converted."""
    assert sum(check(seed, "array", tmp_path) for seed in range(first, first + 50)) >= 50 // 3


def edit_distance(n: Any, m: Any) -> Any:
    """The distance of two words, with two rows that swap their names."""
    prev, cur = np.arange(m + 1), np.zeros(m + 1, dtype=int)
    for i in range(1, n + 1):
        cur[0] = i
        for j in range(1, m + 1):
            cur[j] = min(prev[j - 1] + (i * j) % 3, prev[j] + 1, cur[j - 1] + 1)
        prev, cur = cur, prev
    return prev[m]


def live(n: Any) -> Any:
    """The game of life, with two grids."""
    grid, other = np.zeros((5, 5), dtype=int), np.zeros((5, 5), dtype=int)
    grid[1, 2] = grid[2, 2] = grid[3, 2] = 1
    for _ in range(n):
        for i in range(1, 4):
            for j in range(1, 4):
                count = grid[i - 1 : i + 2, j - 1 : j + 2].sum() - grid[i][j]
                other[i][j] = 1 if count == 3 or (count == 2 and grid[i][j] == 1) else 0
        grid, other = other, grid
    return grid


def rotate_three(n: Any) -> Any:
    """Three arrays, by a temporary name."""
    a, b, c = np.zeros(4), np.ones(4), np.full(4, 2.0)
    for k in range(n):
        a[k % 4] = k
        spare = a
        a = b
        b = c
        c = spare
    a[0] = 77.0
    return a, b, c


class Field:
    """An object with two buffers."""

    def __init__(self) -> None:
        self.front, self.back = np.zeros(3), np.ones(3)

    def step(self, k: Any) -> None:
        self.back[:] = self.front + k
        self.back[0] *= 2.0
        self.front, self.back = self.back, self.front


def step_field(n: Any) -> Any:
    """Buffers that are attributes."""
    field = Field()
    for k in range(n):
        field.step(k)
    return field.front, field.back


def swap_items(n: Any) -> Any:
    """Buffers that are items of a list, and of a dict."""
    rows, table = [np.zeros(2), np.ones(2)], {"a": np.zeros(2), "b": np.ones(2)}
    for k in range(n):
        rows[0][0] += k
        rows[0], rows[1] = rows[1], rows[0]
        table["a"][1] -= k
        table["a"], table["b"] = table["b"], table["a"]
    return rows, table


def swap_in_loops(n: Any) -> Any:
    """A swap in an inner loop, by a function that assigns the variables of another one."""
    a, b = np.zeros(3), np.ones(3)

    def step(i: Any) -> None:
        nonlocal a, b
        a[0] += i
        a, b = b, a

    for i in range(n):
        for j in range(i):
            step(j)
        a[1] += i
    return a, b


def change_created(n: Any) -> Any:
    """An array that each iteration creates, and the next one changes."""
    a = np.zeros(3)
    for i in range(n):
        a[0] += 1.0
        b = a * 2
        b[1] = i
        a = b
        a[2] -= 1.0
    return a


def name_in_loop(n: Any) -> Any:
    """A second name of an array that the same iteration changes."""
    a, b = np.zeros(3), np.ones(3)
    for i in range(n):
        b = a
        b[0] += i
    return a, b


def name_in_branch(n: Any) -> Any:
    """A second name of an array that the same branch changes."""
    a, b = np.zeros(3), np.ones(3)
    if n > 1:
        b = a
        b[1] += 5.0
    return a, b


def distinguish(n: Any) -> Any:
    """Compares arrays that are one for sure, or different for sure."""
    a, b, c = np.zeros(2), np.ones(2), np.full(2, n)
    d, part = c, c[:1]
    a[0] = n
    return a is b, c is d, c is not a, part is c, a is None


PROGRAMS: tuple[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]], ...] = (
    (edit_distance, ((0, 2), (3, 3), (4, 1))),
    (live, ((0,), (1,), (3,))),
    (rotate_three, ((0,), (1,), (5,))),
    (step_field, ((0,), (1,), (3,))),
    (swap_items, ((0,), (1,), (4,))),
    (swap_in_loops, ((0,), (2,), (4,))),
    (change_created, ((0,), (1,), (3,))),
    (name_in_loop, ((0,), (1,), (3,))),
    (name_in_branch, ((0,), (3,))),
    (distinguish, ((0,), (3,))),
)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(("function", "inputs"), PROGRAMS, ids=lambda part: getattr(part, "__name__", ""))
def test_programs(function: Callable[..., Any], inputs: tuple[tuple[int, ...], ...]) -> None:
    """Two buffers that swap their names hold what they hold in Python, on all engines."""
    masks = [[True] * len(inputs[0])]
    assert not list(disagreements(function, inputs, ENGINES, masks))


def read_other_name(n: Any) -> Any:
    """Reads an array by the name that no loop has changed."""
    a, b = np.zeros(3), np.ones(3)
    x = a
    for _ in range(n):
        a[0] += 1.0
        a, b = b, a
    return a, b, x


def read_part(n: Any) -> Any:
    """Reads a part of an array from before the loop."""
    a, b = np.zeros(3), np.ones(3)
    part = a[1:]
    for _ in range(n):
        a[1] += 1.0
        a, b = b, a
    return part


def keep_each(n: Any) -> Any:
    """Keeps the array of each iteration, which a later one changes."""
    a, b, kept = np.zeros(3), np.ones(3), []
    for i in range(n):
        kept.append(a)
        a[0] += i
        a, b = b, a
    return kept


def keep_last(n: Any) -> Any:
    """Has a third name of an array that swaps its names."""
    a, b = np.zeros(3), np.ones(3)
    last = a
    for i in range(n):
        last = a
        a[0] += i
        a, b = b, a
    return a, b, last


def compare_identity(n: Any) -> Any:
    """Asks whether an array is that of before the loop."""
    a, b = np.zeros(3), np.ones(3)
    first = a
    for _ in range(n):
        a, b = b, a
    return a is first, b is not first


def compare_chosen(n: Any) -> Any:
    """Asks which array a branch has chosen."""
    a, b = np.zeros(3), np.ones(3)
    c = a if n > 2 else b
    return c is a


def compare_ids(n: Any) -> Any:
    """Asks for the same by ids."""
    a, b = np.zeros(3), np.ones(3)
    names = {id(a): "a", id(b): "b"}
    for _ in range(n):
        a, b = b, a
    return names[id(a)]


def compare_list_ids(n: Any) -> Any:
    """Asks which list a branch has chosen."""
    a, b = [1], [2]
    c = a if n > 2 else b
    return id(c) == id(a)


@pytest.mark.parametrize("function", [compare_identity, compare_chosen, compare_ids, compare_list_ids])
def test_identities_that_only_the_run_knows(function: Callable[..., Any]) -> None:
    """Whether two arrays or lists are one object is refused where the trace has copies."""
    with pytest.raises(tl.Invalid, match=r"F4: (`is` compares|a symbolic value has no id|this list comes)") as caught:
        tl.function(function)(2)
    assert "test_renaming.py" in str(caught.value.where)


def read_copy(n: Any) -> Any:
    """Reads, by another name from the last iteration, an array that this one has changed."""
    a, b, s = np.zeros(2), np.ones(2), 0.0
    for _ in range(n):
        a[0] += 1.0
        s += b[0]
        b = a
    return s


def read_copy_in_dict(n: Any) -> Any:
    """Does the same by an item of a dict, and a part of the array."""
    a, d, s = np.zeros(2), {"k": np.ones(2)}, 0.0
    for _ in range(n):
        a[0] += 1.0
        s += d["k"][0]
        d["k"] = a[:]
    return s


def store_in_recursion(n: Any) -> Any:
    """Does the same in a recursion."""
    a, b, s = np.zeros(2), np.ones(2), 0.0

    def add(k: Any) -> None:
        nonlocal b, s
        if k > 0:
            a[0] += 1.0
            s += b[0]
            b = a
            add(k - 1)

    add(n)
    return s


def pass_in_recursion(n: Any) -> Any:
    """Does the same by an argument of a recursion."""
    a, s = np.zeros(2), 0.0

    def add(k: Any, x: Any) -> None:
        nonlocal s
        if k > 0:
            a[0] += 1.0
            s += x[0]
            add(k - 1, a)

    add(n, a)
    return s


def return_from_recursion(n: Any) -> Any:
    """Does the same by the result of a recursion."""
    a = np.zeros(2)

    def add(k: Any) -> Any:
        if k == 0:
            return a
        result = add(k - 1)
        a[0] += 1.0
        return result

    return add(n)


COPIES = (read_copy, read_copy_in_dict, store_in_recursion, pass_in_recursion, return_from_recursion)


@pytest.mark.parametrize("function", COPIES)
def test_copies_of_changed_arrays(function: Callable[..., Any]) -> None:
    """A copy that an iteration or a call leaves for the next one, which changes the array, is refused."""
    with pytest.raises(tl.Invalid, match=r"F4: (this array may share its elements|add calls itself)") as caught:
        tl.function(function)(3)
    assert "test_renaming.py" in str(caught.value.where)


REFUSALS: tuple[Callable[..., Any], ...] = (read_other_name, read_part, keep_each, keep_last)


@pytest.mark.parametrize("function", REFUSALS)
def test_refusals(function: Callable[..., Any]) -> None:
    """What another name of the array would show is refused, with the copy to make."""
    with pytest.raises(tl.Invalid, match=r"F4: an array") as caught:
        tl.function(function)(2)
    assert "copy" in str(caught.value.hint) and "test_renaming.py" in str(caught.value.where)


TWINS: dict[str, tuple[Any, str, Any, Callable[..., Any]]] = {
    "arrays keep their old names": (staging._LoopState, "rename_arrays", lambda loop: None, read_other_name),
    "own arrays are not checked after an iteration": (
        staging._StagedLoop,
        "_check_next_arrays",
        lambda loop, carried: None,
        keep_each,
    ),
    "a branch ends with the values from before": (staging, "_array_values", lambda contents: {}, name_in_branch),
    "an iteration ends with the values from before": (staging, "current_values", list, name_in_loop),
    "copies do not look at their sources": (staging._StagedLoop, "_check_copies", lambda *each: None, read_copy),
    "calls pass copies": (recursion.Recursion, "_check_arrays", lambda *each: None, pass_in_recursion),
    "copies have an identity": (program_operators, "_are_one_array", operator.is_, compare_identity),
}


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_broken_twins_are_caught(name: str, monkeypatch: MonkeyPatch) -> None:
    """A front end that forgets a name of an array disagrees with Python where the true one agrees or refuses."""
    owner, attribute, broken, function = TWINS[name]
    monkeypatch.setattr(owner, attribute, broken)
    assert list(disagreements(function, [(2,), (3,)], RUNS[:1], [[True]]))
