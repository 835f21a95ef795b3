"""Arrays of NumPy that converted code changes in place: what all names of an array show is what Python shows, or the
function is refused in words."""

from __future__ import annotations

import copy
import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.array_programs import write_array_program
from support.generators.python_programs import load_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from tagloom.core.frontend.source import array_writes, state, trees
from tagloom.core.frontend.trace import mutable_arrays

SEEDS = 300
"""The programs of the heavy part."""
VECTOR = np.array([1.0, 2.0, 3.0, 0.5])
MATRIX = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])


def check(seed: int, folder: Path) -> bool:
    """Check the law on a program; whether it is converted."""
    program = write_array_program(random.Random(seed).randint)
    function = load_program(program, folder)
    return agrees_or_is_refused(program.text, function, program.inputs, masks=[[True] * 4, [False, False, True, True]])


@pytest.mark.parametrize("seed", (72, 280))
def test_array_programs(seed: int, tmp_path: Path) -> None:
    """Programs of these seeds agree with Python, or are refused. Both gave wrong results once."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_many_array_programs(first: int, tmp_path: Path) -> None:
    """50 programs agree, or are refused; at least half are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 50)) >= 50 // 2


def lower_upper(a):
    n = a.shape[0]
    lower, upper = np.eye(n), a.copy()
    for i in range(n):
        for j in range(i + 1, n):
            lower[j, i] = upper[j, i] / upper[i, i]
            upper[j] -= lower[j, i] * upper[i]
    return lower, upper


def solve(a, b):
    n, a, b = len(b), a.copy(), b.copy()
    for i in range(n):
        p = i + np.argmax(np.abs(a[i:, i]))
        if p != i:
            a[[i, p]] = a[[p, i]]
            b[[i, p]] = b[[p, i]]
        for j in range(i + 1, n):
            m = a[j, i] / a[i, i]
            a[j, i:] -= m * a[i, i:]
            b[j] -= m * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def distances(d):
    d, n = d.copy(), d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def life(grid, steps):
    for _ in range(steps):
        padded = np.pad(grid, 1)
        new = grid.copy()
        for i in range(4):
            for j in range(4):
                count = padded[i : i + 3, j : j + 3].sum() - grid[i, j]
                if count < 2 or count > 3:
                    new[i, j] = 0
                elif count == 3:
                    new[i, j] = 1
        grid = new
    return grid


def means(x, k):
    centers = x[:k].copy()
    for _ in range(3):
        labels = ((x[:, None, :] - centers[None, :, :]) ** 2).sum(axis=-1).argmin(axis=1)
        for j in range(k):
            members = labels == j
            if members.any():
                centers[j] = x[members].mean(axis=0)
    return centers


def queens(n):
    board = np.zeros(6, dtype=int)

    def is_free(row, column):
        attacks = 0
        for i in range(row):
            if board[i] == column or abs(board[i] - column) == row - i:
                attacks += 1
        return attacks == 0

    def place(row):
        if row == n:
            return 1
        total = 0
        for column in range(n):
            if is_free(row, column):
                board[row] = column
                total += place(row + 1)
        return total

    return place(0)


def remembered(n):
    memo = np.zeros(50)

    def fib(k):
        if k < 2:
            return k * 1.0
        if memo[k] > 0:
            return memo[k]
        memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n)


class Rod:
    def __init__(self, n):
        self.heat, self.n = np.zeros(n), n

    def step(self, k):
        new = self.heat.copy()
        for i in range(1, self.n - 1):
            new[i] = self.heat[i] + k * (self.heat[i - 1] - 2 * self.heat[i] + self.heat[i + 1])
        new[0] = 1.0
        self.heat = new


def diffuse(k, steps):
    rod = Rod(5)
    for _ in range(steps):
        rod.step(k)
    return rod.heat


def histogram(xs):
    counts = np.zeros(5, dtype=int)
    for x in xs:
        counts[int(x)] += 1
    return counts


def sieve(n):
    is_prime = np.ones(31, dtype=bool)
    is_prime[:2] = False
    for k in range(2, 6):
        if is_prime[k]:
            is_prime[k * k :: k] = False
    return is_prime[: n + 1].sum()


def edit_distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    table[:, 0] = np.arange(len(a) + 1)
    table[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (0 if a[i - 1] == b[j - 1] else 1)
            table[i, j] = min(change, table[i - 1][j] + 1, table[i][j - 1] + 1)
    return table[-1, -1]


def swap_rows(a):
    a = a.copy()
    a[0], a[1] = a[1], a[0]  # both are views: this is no swap
    return a


def center_rows(a):
    a = a.copy()
    for row in a:
        row -= row.mean()
    return a


def keep_one(x, n):
    y, kept = x.copy(), []
    for k in range(3):
        kept.append(y)
        y[k] = n
    return kept


def truncate(x, n):
    counts = np.zeros(3, dtype=int)
    counts[0], counts[1:] = x[1] * 1.7, n
    return counts


def change_in_branch(x, n):
    x, y = x.copy(), x.copy()
    if n > 2:
        x[0] = n
    else:
        y[1:] *= n
    return x, y


def change_in_call(x, n):
    def change(y, k):
        y[k] += 10.0

    y = x.copy()
    change(y, n)
    change(y[1:], 0)
    return y


def mask(x, n):
    x = x.copy()
    x[x < n] = 0.0
    x[x > 2] += x[x > 2]
    return x


def named_twice(n):
    x = np.zeros(3)
    y = x
    x[0] = n
    y += 1.0
    return x, y, x is y


def copy_by_library(x, n):
    y = x.copy()
    z, (u, w) = copy.copy(y), copy.deepcopy([y, y])
    y[n] = 50.0
    u[0] = 7.0
    return y, z, u, w


def describe_before(x, n):
    y = x.copy()
    text = f"{y}"
    y[n] = 8.0
    return text, y[n]


def select_by_mask(x, n):
    y = x.copy()
    rows = y[[0, n]]
    rows[0] = 5.0
    whole = y[n > 1]
    return y, rows, whole


def select_from_constant(x, n):
    table = np.arange(12.0).reshape(3, 4).copy()
    rows = table[[n, 0]]
    rows[0, 1] = 5.0
    table[[0, n]] = table[[n, 0]]
    return rows, table, table[1, [0, n]].sum()


def find_in_cache(n):
    cache = {}

    def row(i):
        if i not in cache:
            cache[i] = np.zeros(2)
        return cache[i]

    row(0)[0] = n
    row(1)[1] = n + 1
    row(0)[1] += 3
    cache.get(1)[0] = n
    return row(0), row(1)


def create_in_call(x, n):
    def twice():
        z = x + n
        return z, z

    def row():
        return np.zeros(2)

    a, b = twice()
    c, d = row(), row()
    a[0] = c[0] = 5.0
    return a, b, c, d


def part_from_call(x, n):
    y = x.copy()

    def rest():
        return {"rest": [y[1:], y + 1]}

    parts = rest()["rest"]
    y[1] = n
    return parts


def add_in_call(x, n):
    y = x.copy()

    def add(z):
        z += n
        return z.sum()

    return add(y), y


def change_under_condition(n):
    x, y, z = np.ones(3), np.array([3.0, 1.0, 2.0]), np.zeros((2, 2))
    if n > 1:
        x.fill(4.0)
        y.sort()
        z[0].fill(n)
    return x, y, z


POINTS = np.array([[1.0, 1.0], [1.2, 0.9], [5.0, 5.0], [5.1, 4.8]])
GRID = np.array([[0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lower_upper, (MATRIX,)),
    (solve, (MATRIX, VECTOR[:3])),
    (distances, (MATRIX,)),
    (life, (GRID, 2)),
    (means, (POINTS, 2)),
    (queens, (4,)),
    (remembered, (12,)),
    (diffuse, (0.25, 4)),
    (histogram, (np.array([1.0, 2.0, 2.0, 4.0]),)),
    (sieve, (20,)),
    (edit_distance, (np.array([1, 2, 3, 4]), np.array([2, 3, 3]))),
    (swap_rows, (MATRIX,)),
    (center_rows, (MATRIX,)),
    (keep_one, (VECTOR, 3)),
    (truncate, (VECTOR, 3)),
    (change_in_branch, (VECTOR, 3)),
    (change_in_branch, (VECTOR, 2)),
    (change_in_call, (VECTOR, 2)),
    (mask, (VECTOR, 2)),
    (named_twice, (4,)),
    (copy_by_library, (VECTOR, 2)),
    (select_by_mask, (VECTOR, 2)),
    (select_from_constant, (VECTOR, 2)),
    (find_in_cache, (2,)),
    (create_in_call, (VECTOR, 2)),
    (part_from_call, (VECTOR, 2)),
    (add_in_call, (VECTOR, 2)),
    (change_under_condition, (0,)),
    (change_under_condition, (2,)),
)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda part: getattr(part, "__name__", ""))
def test_programs(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Programs of numerical mathematics with NumPy compute what Python computes, with symbolic arguments."""
    masks = [[True] * len(arguments)]
    assert not list(disagreements(function, [arguments], RUNS[::3], masks))


def change_argument(x):
    x[0] = 1.0
    return x


def read_reshaped(x):
    y = x.copy()
    rows = y.reshape(2, 2)
    y[0] = 50.0
    return rows


def change_reshaped(x):
    y = x.copy()
    y.reshape(2, 2)[0, 0] = 50.0
    return y


def change_chosen(x, n):
    y, z = x.copy(), x.copy()
    chosen = y if n > 2 else z
    y[0] = 7.0
    return chosen, y


def change_kept(x, n):
    y, kept = x.copy(), []
    for _ in range(n):
        y[0] += 1.0
        kept.append(y)
    return kept


def change_recorded(x):
    y = x.copy()
    with tl.Tape() as tape:
        tape.watch(x)
        y[0] = 1.0
        z = tl.sum(y * x)
    return tape.gradient(z, x)


def change_natively(x):
    y = x.copy()
    y[0] = 2.0
    operator.attrgetter("__iadd__")(y)(1.0)
    return y


def choose_in_call(x, n):
    y, z = x.copy(), x + 1.0

    def choose():
        return y if n > 1 else z

    chosen = choose()
    y[0] = 50.0
    return chosen


def take_known_row(n):
    x = np.zeros((2, 2))
    row = x[n]
    x[0, 0] = 7.0
    return row


def return_known(n):
    x = np.zeros(3)

    def find(k):
        return x if k == 0 else find(k - 1)

    found = find(n)
    x[0] = 5.0
    return found


def add_in_recursion(x, n):
    y = x.copy()

    def add(z, k):
        if k == 0:
            return z.sum()
        z += k
        return add(z, k - 1)

    return add(y, n), y


class Holder:
    """An object whose operators return an array that it has."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __add__(self, other: Any) -> Any:
        return self.array

    def __neg__(self) -> Any:
        return self.array


def change_sum(x: Any) -> Any:
    y = Holder(x) + 1
    y[0] = 7.0
    return y


def change_negative(x: Any) -> Any:
    y = -Holder(x)
    y[0] = 7.0
    return y


REFUSALS = (
    (change_sum, (VECTOR,), "changed that the function has not created"),
    (change_negative, (VECTOR,), "changed that the function has not created"),
    (change_argument, (VECTOR,), "changed that the function has not created"),
    (read_reshaped, (VECTOR,), "may share its elements with another array, which has changed"),
    (change_reshaped, (VECTOR,), "changed that may share its elements with another one"),
    (change_chosen, (VECTOR, 2), "has a copy, made at "),
    (change_kept, (VECTOR, 3), "has a copy, made at "),
    (change_recorded, (VECTOR,), "while a tape records"),
    (choose_in_call, (VECTOR, 2), "has a copy, made at "),
    (take_known_row, (0,), "has a copy, made at "),
    (return_known, (1,), "has a copy, made at "),
    (add_in_recursion, (VECTOR, 2), "may share its elements with another one"),
)


@pytest.mark.parametrize(("function", "arguments", "words"), REFUSALS, ids=lambda part: getattr(part, "__name__", ""))
def test_refusals(function: Callable[..., Any], arguments: tuple[Any, ...], words: str) -> None:
    """A change that other names would not see is refused, with its line and the copy to make."""
    with pytest.raises(tl.Invalid, match=r"F4: (an|this) .*array") as caught:
        tl.function(function)(*arguments)
    assert words in str(caught.value) and "copy" in str(caught.value.hint)
    assert "test_array_writes.py" in str(caught.value.where)


CHANGES: tuple[Callable[[Any], object], ...] = (
    lambda x: np.put(x, [0], 5),
    lambda x: np.copyto(x, np.array([7.0, 8.0, 9.0])),
    lambda x: np.add(x, 1, out=x),
    lambda x: np.fill_diagonal(x.reshape(3, 1), 4),
    lambda x: x.partition(1),
    lambda x: np.random.default_rng(0).shuffle(x),
    lambda x: operator.setitem(x.flat, 0, 5.0),
)


@pytest.mark.filterwarnings("ignore:you are shuffling a 'MutableArray'")
def test_changes_by_libraries() -> None:
    """A change of an array by a function that is not converted is refused where the program decides whether it
    happens."""
    for change in CHANGES:

        def branch(n: Any, change: Any = change) -> Any:
            x = np.array([3.0, 1.0, 2.0])
            if n > 1:
                change(x)
            return x

        with pytest.raises(tl.TagloomError):
            tl.function(branch)(0)
    with pytest.raises(tl.Invalid, match="F4: an array is changed by a function that is not converted"):
        tl.function(change_natively)(VECTOR)


def test_text_before_change() -> None:
    """A string has the elements that an array had when the string was made."""
    text, element = tl.function(describe_before)(VECTOR, 2)
    assert (text, float(element)) == ("[1.0, 2.0, 3.0, 0.5]", 8.0)


def test_known_change_in_call() -> None:
    """A call that may become a function of the program changes an array of its caller once."""

    def fill(x: Any, n: Any) -> Any:
        np.add(x, 1, out=x)
        return n + 1

    @tl.function
    def call(n: Any) -> Any:
        x = np.zeros(2)
        return fill(x, n), x

    count, x = call(2)
    assert (int(count), np.asarray(x).tolist()) == (3, [1.0, 1.0])


def test_out_of_range() -> None:
    """An index out of range is an IndexError, and a value that does not fit a ValueError, as in NumPy."""

    @tl.function
    def assign(x: Any, i: Any) -> Any:
        y = x.copy()
        y[i] = 0.0
        return y

    assert np.asarray(assign(VECTOR, -1)).tolist() == [1.0, 2.0, 3.0, 0.0]
    with pytest.raises(IndexError):
        assign(VECTOR, 4)

    @tl.function
    def assign_rows(x: Any) -> Any:
        y = x.copy()
        y[:3] = np.ones(2)
        return y

    with pytest.raises(ValueError, match="V4"):
        assign_rows(VECTOR)


def fill_bytes(n: Any) -> Any:
    x, y = np.zeros(3, dtype=np.int8), np.zeros(3, dtype=np.uint8)
    x[0] = n
    for k in range(2):
        y[k] = 100 + n + k
    return x, y


BYTES = [(5,), (-128,), (127,), (128,), (-100,), (-101,), (300,)]


def test_integers_out_of_bounds() -> None:
    """An integer that an element cannot hold is an OverflowError, as in NumPy; one at the bounds is stored."""
    assert not list(disagreements(fill_bytes, BYTES, RUNS[::3], [[True]]))


def add_bytes(n: Any) -> Any:
    x = np.zeros(2, dtype=np.int8)
    x += n
    return x


def store_float(n: Any) -> Any:
    x = np.zeros(2, dtype=np.int8)
    x[1] = n + 0.5
    return x


CREATIONS: tuple[Callable[[Any], Any], ...] = (
    add_bytes,
    store_float,
    lambda n: np.full(3, n, dtype=np.int8),
    lambda n: np.full_like(np.zeros(2, dtype=np.int8), n),
    lambda n: np.array([[n, 1], [2, 3]], dtype=np.int8),
    lambda n: np.array([k * n for k in range(n % 3)], dtype=np.uint8),
    lambda n: np.array(n).astype(np.int8),
)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", CREATIONS)
def test_arrays_with_integers_out_of_bounds(function: Callable[[Any], Any]) -> None:
    """The same holds for numbers that a new array gets, or that are added to all elements; `astype` wraps."""
    assert not list(disagreements(function, [(5,), (127,), (-128,), (200,), (300,), (-129,)], RUNS[:1], [[True]]))


def test_dtype_of_augmented() -> None:
    """An array of integers that is divided in place is a TypeError, as in NumPy; an array keeps its dtype."""

    @tl.function
    def divide(x: Any, y: Any) -> Any:
        z = x.copy()
        z /= y
        return z

    with pytest.raises(TypeError, match="cannot cast float64 to int64"):
        divide(np.array([1, 2]), 2)
    assert np.asarray(divide(np.array([1.0, 2.0], np.float32), 2.0)).dtype == np.float32


def test_gradient() -> None:
    """The gradient of a function that fills an array is that of the function of its elements."""

    def loss(w: Any) -> Any:
        y = np.zeros(4)
        for i in range(4):
            y[i] = w[i] ** 2
        y[1] *= 3.0
        return y.sum()

    gradient = tl.function(lambda w: tl.grad(loss)(w))(VECTOR)
    assert np.asarray(gradient).tolist() == [2.0, 12.0, 6.0, 1.0]


TWINS: dict[str, tuple[Any, str, Callable[[Any], Any], Callable[..., Any], tuple[Any, ...]]] = {
    "views do not write through": (
        array_writes,
        "_replace",
        lambda replace: (
            lambda array, changed: replace(array, changed) if type(array) is mutable_arrays.MutableArray else None
        ),
        center_rows,
        (MATRIX,),
    ),
    "views are copies": (
        mutable_arrays,
        "take_part",
        lambda take_part: lambda array, key: array_writes.as_mutable(tl.asarray(array)[key]),
        center_rows,
        (MATRIX,),
    ),
    "a branch that is not taken leaves its change": (
        state.ElementsPlace,
        "write",
        lambda write: lambda place, content: None,
        change_in_branch,
        (VECTOR, 2),
    ),
    "copies are not noted": (trees, "note_copied_arrays", lambda note: lambda leaves: None, change_chosen, (VECTOR, 3)),
    "a possible view does not look at its array": (
        mutable_arrays.PossibleView,
        "_tagloom_value",
        lambda value: property(lambda view: view._value),
        read_reshaped,
        (VECTOR,),
    ),
    "integers wrap": (array_writes, "require_in_bounds", lambda require: lambda *pair: None, fill_bytes, (300,)),
    "a change has no place": (
        array_writes,
        "record_write",
        lambda record: lambda place: None,
        change_in_branch,
        (VECTOR, 2),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_broken_twins_are_caught(name: str, monkeypatch: MonkeyPatch) -> None:
    """A front end that loses a change, or the note of a copy, disagrees with Python, or no longer refuses."""
    owner, attribute, breaks, function, arguments = TWINS[name]
    monkeypatch.setattr(owner, attribute, breaks(getattr(owner, attribute)))
    assert list(disagreements(function, [arguments], RUNS[:1], [[True] * len(arguments)]))
