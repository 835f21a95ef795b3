"""A list as an argument is a list: it does what it does in Python, though one array holds its numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.list_programs import write_argument_program
from support.generators.python_programs import load_program
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from tagloom.core.frontend.trace import pytree

SEEDS = 100
"""The programs of the heavy part."""


def check(seed: int, folder: Path) -> bool:
    """Check the law on a program; whether it is converted. What is refused says where."""
    program = write_argument_program(random.Random(seed).randint)
    function = load_program(program, folder)
    runs = (*RUNS[:1], ("fast", "waves"), ("compiled", "waves")) if seed == 1 else RUNS[:1]
    return agrees_or_is_refused(program.text, function, program.inputs, runs, [[True, True, True]])


@pytest.mark.full
@pytest.mark.parametrize("seed", (1, 2, 3, 4, 5))
def test_programs_on_list_arguments(seed: int, tmp_path: Path) -> None:
    """A generated function of two lists returns what Python returns, in value and type; the first on three engines."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 25))
def test_many_programs_on_list_arguments(first: int, tmp_path: Path) -> None:
    """25 programs agree, or are refused in words; most are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 25)) >= 20


def add_lists(xs, ys):
    return xs + ys, xs * 2, xs == ys, xs < ys, 3 in xs


def change(xs, n):
    xs.append(n)
    xs[0] = n
    return xs.pop(1), xs, xs[-1], xs[::-1]


def transpose(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def total(xs):
    return 0 if not xs else xs[0] + total(xs[1:])


def last(xs):
    for x in xs:
        found = x
    return found


def bubble_sort(xs):
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


def fill(rows, i, j):
    rows[i][j] = 7
    return rows, len(rows), len(rows[0]), rows[-1][0]


def extend(xs, n):
    xs.extend(x * n for x in xs[1:] if x > 1)
    return xs


CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (add_lists, [([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ([3], []), ([1.5], [1.5])]),
    (change, [([1, 2], 3), ([4, 5, 6], 0)]),
    (transpose, [([[1, 2], [3, 4]],), ([[1, 2, 3]],)]),
    (extend, [([1, 2, 3], 2), ([5, 1], 3)]),
    (total, [([1, 2, 3],), ([],)]),
    (last, [([1, 2],), (list(range(40)),)]),
    (bubble_sort, [([3, 1, 2],), ([2.5, 1.5],)]),
    (fill, [([[1, 2], [3, 4]], 1, 0), ([[1, 2], [3, 4]], -1, 1)]),
    (lambda xs, n: (xs * n, n * xs, xs[n:], xs[n]), [([1, 2, 3], 2)]),
    (lambda xs: ([x * x for x in xs], sum(x for x in xs), sorted(xs), max(xs)), [([3, 1, 2],)]),
    (lambda table: table["a"] + table["b"], [({"a": [1, 2], "b": [3]},)]),
    (lambda rows: (rows[1], rows + [[0]]), [([[1], [2, 3]],)]),
    (lambda xs: (isinstance(xs, list), len(xs), bool(xs)), [([1, 2],), ([],)]),
]


@pytest.mark.inner(first=4)
@pytest.mark.parametrize(("function", "inputs"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_list_does_what_it_does_in_python(function: Callable[..., Any], inputs: list[tuple[Any, ...]]) -> None:
    """Value and type are those of Python."""
    count = len(inputs[0])
    assert list(disagreements(function, inputs, RUNS[:1], [[True] * count])) == []


def sum_of_squares(xs):
    t = 0
    for x in xs:
        t += x * x
    return t


def test_one_array_holds_the_numbers() -> None:
    """A program for 1,000 numbers has one parameter, and as many nodes as one for 20."""
    long, short = (tl.function(sum_of_squares).trace(list(range(size))).program for size in (1000, 20))
    assert [len(program.main.body.parameters) for program in (long, short)] == [1, 1]
    assert len(list(long.main.body.walk())) == len(list(short.main.body.walk())) < 12


def test_a_list_that_is_no_list_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an array in place of the list, `+` adds: the cases detect that."""
    monkeypatch.setattr(pytree, "_is_packable", lambda numbers, like: False)
    assert tl.function(lambda xs: xs + xs)([1, 2]).tolist() == [2, 4]


REFUSED: dict[str, Callable[[], Any]] = {
    "xs + 1": lambda: tl.function(lambda xs: xs + 1)([1, 2]),
    "xs + n": lambda: tl.function(lambda xs, n: xs + n)([1, 2], 1),
    "x * xs": lambda: tl.function(lambda xs, x: x * xs)([1, 2], 1.5),
    "xs ** 2": lambda: tl.function(lambda xs: xs**2)([1, 2]),
    "xs[0, 1]": lambda: tl.function(lambda xs: xs[0, 1])([[1, 2]]),
    "xs < n": lambda: tl.function(lambda xs, n: xs < n)([1, 2], 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_those_of_python(name: str) -> None:
    """What Python refuses for a list is a TypeError, which says how to make an array."""
    with pytest.raises(TypeError) as caught:
        REFUSED[name]()
    text = f"{caught.value} {getattr(caught.value, '__notes__', '')}"
    assert "list" in text and (name == "xs[0, 1]" or "tl.asarray(xs)" in text)


def test_functions_of_arrays_take_lists() -> None:
    """To functions and operators of arrays, a list of numbers is an array; so it is where the annotation says so, and
    as a NumPy array."""
    x = np.array([1.0, 2.0])
    for function in (
        lambda xs, x: tl.sum(xs), lambda xs, x: xs @ x - 2, lambda xs, x: tl.sum(x + xs) / 2,
        lambda xs, x: tl.sum(tl.asarray(xs)), lambda xs, x: tl.sum(tl.stack(xs)), lambda xs, x: tl.max(xs * x) - 1,
    ):  # fmt: skip
        assert tl.function(function)([1.0, 2.0], x) == 3.0
    doubled = tl.function(lambda x: x + x, input_signature=[tl.Array[tl.float64, None]])
    assert doubled([1.0, 2.0]).tolist() == tl.function(lambda x: x + x)(x).tolist() == [2.0, 4.0]
    assert tl.vmap(lambda x: x * 2)([1, 2]).tolist() == [2, 4]


def sort_in_place(xs):
    xs.sort()


def push(stack, table):
    stack.append(table["a"][0])
    table["b"] = len(stack)
    return stack.pop(0)


def test_changes_of_a_list_are_seen_by_the_caller() -> None:
    """A call changes lists and dicts in its arguments as Python does; `run` changes nothing."""
    xs = [3, 1, 2]
    assert tl.function(sort_in_place)(xs) is None and xs == [1, 2, 3] and type(xs[0]) is int
    stack, table = [5], {"a": [9]}
    assert tl.function(push)(stack, table) == 5
    assert (stack, table) == ([9], {"a": [9], "b": 2})
    tl.function(sort_in_place).run(ys := [2, 1])
    assert ys == [2, 1]


def test_a_change_in_a_called_function_is_refused() -> None:
    """A `tl.function` that another one calls has a copy of the list, so a change of it is refused."""
    inner = tl.function(sort_in_place)
    with pytest.raises(tl.Invalid, match="changes its argument xs"):
        tl.function(lambda xs: inner(xs))([2, 1])


def test_a_change_of_a_list_in_two_places_is_refused() -> None:
    """A function cannot see that two of its lists are one, so it may read both, but change neither."""
    row = [2, 1]
    pairs: list[tuple[Any, ...]] = [
        (lambda xs, ys: xs.append(len(ys)), row, row),
        (lambda rows: rows[0].append(5), [row, row, [1]]),
        (lambda table: table["a"].sort(), {"a": row, "b": row}),
        (lambda xs, table: table["a"].pop(), row, {"a": row}),
    ]
    for function, *arguments in pairs:
        with pytest.raises(tl.Invalid, match="in another place of the arguments"):
            tl.function(function)(*arguments)
    assert row == [2, 1] and tl.function(lambda xs, ys: xs + ys)(row, row) == [2, 1, 2, 1]
    assert tl.function(lambda xs, ys: xs.append(len(ys)))(row, [2, 1]) is None and row == [2, 1, 2]


def test_gradients_of_lists_are_lists() -> None:
    """Gradients, adjoints, tangents and Jacobians nest as the lists do."""
    assert tl.grad(lambda xs: xs[0] * xs[1] + sum(x * x for x in xs))([1.0, 2.0]) == [4.0, 5.0]
    value, pullback = tl.vjp(lambda xs: [x * x for x in xs], [1.0, 2.0])
    assert value == [1.0, 4.0] and pullback([1.0, 0.5]) == pullback(value[:1] + [0.5]) == ([2.0, 2.0],)
    assert tl.jvp(lambda xs: xs, ([1.0, 2.0],), ([1.0, 0.5],)) == ([1.0, 2.0], [1.0, 0.5])
    assert tl.jacobian(lambda xs: [xs[0] * xs[1], xs[0], 3.0 * xs[1]])([1.0, 2.0]) == [
        [2.0, 1.0],
        [1.0, 0.0],
        [0.0, 3.0],
    ]
    columns = tl.jacobian(lambda xs: tl.stack([xs[0] * xs[1], xs[0], 3.0 * xs[1]]))([1.0, 2.0])
    assert [column.tolist() for column in columns] == [[2.0, 1.0, 0.0], [1.0, 0.0, 3.0]]
    assert tl.hessian(lambda xs: xs[0] * xs[0] * xs[1])([2.0, 3.0]) == [[6.0, 4.0], [4.0, 0.0]]


def double_items(i, xs):
    return i + 1, [x * 2 for x in xs]


def test_loop_variables_are_lists() -> None:
    """A loop variable that begins as a list of numbers is one, in a trace and outside."""
    loop = lambda xs: tl.while_loop(lambda i, xs: i < 2, double_items, 0, xs)[1]  # noqa: E731
    assert loop([1, 2]) == tl.function(loop)([1, 2]) == tl.function(lambda n: loop([n, 2]))(1) == [4, 8]
