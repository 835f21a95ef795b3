"""After a call, the caller's lists and dicts are those that Python leaves: in contents, in order, and in identity."""

from __future__ import annotations

import copy
import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from support.generators.list_programs import write_change_program, write_row_program
from support.generators.python_programs import PythonProgram, load_program
from tagloom.core.frontend.source import items as items_module
from tagloom.core.frontend.trace import program_builder
from tagloom.interp.function import function as function_module

SEEDS = 60
"""The programs of the longer part."""


def parts_of(value: Any) -> list[Any]:
    """The lists, dicts and instances of dataclasses in a value."""
    if not (isinstance(value, list | tuple | dict) or is_dataclass(value)):
        return []
    items = attributes(value).values() if is_dataclass(value) else value.values() if isinstance(value, dict) else value
    own = [] if isinstance(value, tuple) else [value]
    return [*own, *(part for item in items for part in parts_of(item))]


def attributes(value: Any) -> dict[str, Any]:
    """The fields of an instance of a dataclass."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def picture(value: Any, numbers: dict[int, int]) -> Any:
    """What a value contains, with its classes; each list, dict or instance that comes again is a number."""
    if id(value) in numbers:
        return numbers[id(value)]
    kind = type(value)
    if kind in (list, dict, OrderedDict, defaultdict) or is_dataclass(value):
        numbers[id(value)] = len(numbers)
    if is_dataclass(value):
        return kind, picture(attributes(value), numbers)
    if isinstance(value, list | tuple):
        return kind, [picture(item, numbers) for item in value]
    if kind in (dict, OrderedDict, defaultdict):
        return kind, [(key, picture(item, numbers)) for key, item in value.items()]
    return (kind, value.tolist()) if kind is np.ndarray else (kind, value)


def after_call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a call leaves: a picture of each list and dict that the caller has, then of the arguments."""
    arguments = copy.deepcopy(arguments)
    numbers: dict[int, int] = {}
    parts = parts_of(arguments)
    function(*arguments)
    return [picture(part, numbers) for part in (*parts, *arguments)]


def check(seed: int, folder: Path, write: Callable[..., PythonProgram] = write_change_program) -> int:
    """Check the law on a program; how many of its calls are converted. What is refused says why; what raises in Python
    raises the same class here."""
    program = write(random.Random(seed).randint)
    function = load_program(program, folder)
    count = 0
    for arguments in program.inputs:
        try:
            expected = after_call(function, arguments)
        except Exception as error:
            with pytest.raises((type(error), tl.Invalid)):
                after_call(tl.function(function), arguments)
            continue
        try:
            changed = after_call(tl.function(function), arguments)
        except tl.Invalid as error:
            assert error.rule in ("F4", "V4", "V5") and error.where is not None, error
            continue
        assert changed == expected, program.text
        count += 1
    return count


@pytest.mark.full
@pytest.mark.parametrize("seed", (1, 2, 3, 4))
def test_programs_that_change_arguments(seed: int, tmp_path: Path) -> None:
    """A generated function of nested lists and dicts leaves what Python leaves, or is refused in words."""
    check(seed, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_many_programs_that_change_arguments(first: int, tmp_path: Path) -> None:
    """Of the 40 calls of 20 programs most are converted."""
    assert sum(check(seed, tmp_path) for seed in range(first, first + 20)) > 20


@pytest.mark.full
@pytest.mark.parametrize("seed", (1, 2, 3, 4))
def test_programs_on_rows(seed: int, tmp_path: Path) -> None:
    """A generated function of rows of one length leaves what Python leaves, whatever other names it has for them."""
    check(seed, tmp_path, write_row_program)


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_many_programs_on_rows(first: int, tmp_path: Path) -> None:
    """Of the 40 calls of 20 programs most are converted."""
    assert sum(check(seed, tmp_path, write_row_program) for seed in range(first, first + 20)) > 20


def refill(arguments: Any, contents: Any, origins: str, numbers: Any) -> None:
    """A wrong `change_arguments`: lists stay where they are, and take the items of those that Python puts there."""
    for argument, content in zip(arguments, contents, strict=False):
        former = [*argument, *[None] * len(content)]
        for old, new in zip(former, content, strict=False):
            if type(old) is type(new) is list:
                old[:] = new
        argument[:] = [
            old if type(old) is type(new) is list else new for old, new in zip(former, content, strict=False)
        ]


def test_lists_that_stay_where_they_are_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law detects lists that take items instead of places."""
    case = (lambda rows: rows.reverse()), ([[1], [2, 3]],)
    assert after_call(tl.function(case[0]), case[1]) == after_call(*case)
    monkeypatch.setattr(function_module, "change_arguments", refill)
    assert after_call(tl.function(case[0]), case[1]) != after_call(*case)


def swap(rows):
    rows[0], rows[1] = rows[1], rows[0]


def alias(table):
    table["c"] = table["a"]
    table["a"].append(4)
    del table["b"]


def fill(rows, n):
    for i in range(n):
        for j in range(n):
            rows[i][j] = i + j


def append_rows(rows, n):
    for i in range(n):
        rows.append([i, i])


def clear_and_append(rows, n):
    rows.clear()
    append_rows(rows, n)


def reverse_and_append(rows, n):
    rows.reverse()
    append_rows(rows, n)


def pop_and_append(rows, n):
    rows.pop(0)
    append_rows(rows, n)


def append_row(rows, row, n):
    for _ in range(n):
        rows.append(row)


def append_first(rows, n):
    for _ in range(n):
        rows.append(rows[0])


def swap_deep(rows, i):
    rows[i][0], rows[i][1] = rows[i][1], rows[i][0]


class Pair(NamedTuple):
    rows: Any
    number: int


def replace_row(rows, i):
    rows[i] = [i, i]


def rotate(rows, i):
    rows[i], rows[i + 1] = rows[i + 1], rows[i]
    rows[0], rows[-1] = rows[-1], rows[0]


def assign_slice(rows):
    rows[1:] = [[5, 5], rows[0]]
    rows[:] = rows[::-1]


def change_copy(rows):
    copied = rows[:]
    copied[0][1] = 7
    for row in rows:
        row.reverse()


def keep_removed(rows, more):
    row = rows[0]
    rows[:] = [[7, 8]]
    more.extend(row)


SQUARE = [[3, 1], [1, 2]]
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "swap": (swap, ([[1], [2, 3]],)),
    "pop": (lambda rows: rows.pop(0) and None, ([[1], [2, 3]],)),
    "insert": (lambda rows: rows.insert(0, [7]), ([[1], [2, 3]],)),
    "replace": (lambda rows: rows.__setitem__(0, [7]), ([[1], [2, 3]],)),
    "alias": (alias, ({"b": [1], "a": [2]},)),
    "move": (lambda rows, row: rows.append(row), ([[1], [2, 3]], [4])),
    "change and remove": (lambda rows: rows.pop().append(4), ([[1], [2, 3]],)),
    "fill": (fill, (SQUARE, 2)),
    "append rows": (append_rows, (SQUARE, 2)),
    "named tuple": (lambda pair: pair.rows[0].append(3), (Pair([[1], [2, 3]], 1),)),
    "tuple": (lambda pair: pair[0].append(3), (([1], [2]),)),
    "order": (lambda table: table.update(z=1, a=table.pop("b")), ({"b": 1, "a": 0},)),
    "OrderedDict": (lambda table: table.move_to_end("a"), (OrderedDict(a=1, b=2),)),
    "defaultdict": (lambda table: table["q"].append(1), (defaultdict(list, {"k": [1]}),)),
    "reverse rows": (lambda rows: rows.reverse(), (SQUARE,)),
    "pop a row": (lambda rows: rows.pop() and None, (SQUARE,)),
    "pop at an index": (lambda rows, i: rows.pop(i) and None, (SQUARE, -2)),
    "replace a row": (replace_row, (SQUARE, 1)),
    "replace the first row": (replace_row, ([*SQUARE, [5, 6]], -3)),
    "rotate": (rotate, ([*SQUARE, [5, 6]], 1)),
    "sort rows": (lambda rows: rows.sort(), ([*SQUARE, [1, 1]],)),
    "sort rows by a key": (lambda rows: rows.sort(key=lambda row: row[1]), (SQUARE,)),
    "assign a slice of rows": (assign_slice, (SQUARE,)),
    "own row": (lambda rows: rows.append(rows[0]), (SQUARE,)),
    "extend": (lambda rows, more: more.extend(rows), (SQUARE, [])),
    "part": (lambda rows, more: more.extend(rows[1:]), (SQUARE, [])),
    "choice": (lambda rows, more, i: more.append(rows[i]), ([[1], [2, 3]], [], 1)),
    "branch": (lambda rows, n: rows.reverse() if n > 0 else None, ([[1], [2, 3]], 1)),
    "change rows of a copy": (change_copy, (SQUARE,)),
    "keep a removed row": (keep_removed, (SQUARE, [])),
    "change rows of rows": (lambda cube: cube[1].reverse(), ([SQUARE, [[5, 6], [7, 8]]],)),
    "sort an empty row": (lambda rows: rows.sort(), ([[1, 2], [], [0, 3]],)),
    "change what was popped": (lambda rows: rows.pop().append(4), (SQUARE,)),
}


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("name", CASES)
def test_lists_are_those_of_python(name: str) -> None:
    """Contents, order and identity are Python's."""
    function, arguments = CASES[name]
    assert after_call(tl.function(function), arguments) == after_call(function, arguments)


@dataclass
class Particle:
    x: float
    path: list[float] = field(default_factory=list)

    def move(self, step):
        self.path.append(self.x)
        self.x += step


@dataclass(slots=True)
class Range:
    start: int
    stop: int
    size: int = field(init=False)

    def __post_init__(self):
        self.size = self.stop - self.start


@dataclass(frozen=True)
class Pieces:
    items: list[int]


def move_in_a_loop(particle, n):
    while particle.x < n:
        particle.move(particle.x)


def exchange(ranges):
    first, second = ranges
    first.start, second.start = second.start, first.start
    ranges.reverse()


def replace_instances(table):
    table["b"] = table.pop("a")
    table["c"] = Particle(2.0, [table["b"].x])
    table["b"].x = 4.0


def move_in_a_branch(particle, n):
    if n > 0:
        particle.move(1.0)
    else:
        particle.path = [n * 0.5]


OBJECTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "method": (lambda particle: particle.move(2.0), (Particle(1.0),)),
    "loop": (move_in_a_loop, (Particle(1.0), 20)),
    "slots": (exchange, ([Range(1, 5), Range(2, 3)],)),
    "frozen": (lambda pieces: pieces.items.append(3), (Pieces([1, 2]),)),
    "dict of instances": (replace_instances, ({"a": Particle(1.0)},)),
    "list of an instance": (lambda particle: particle.path.reverse(), (Particle(1.0, [1.0, 2.0]),)),
    "tuple of instances": (lambda pair: pair[1].move(1.0), ((Particle(1.0), Particle(2.0)),)),
    "branch": (move_in_a_branch, (Particle(1.0, [2.0]), 1)),
    "other branch": (move_in_a_branch, (Particle(1.0, [2.0]), -1)),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_attributes_of_dataclasses_are_those_of_python(name: str) -> None:
    """A call changes attributes of instances in its arguments, and the instances stay the same objects."""
    function, arguments = OBJECTS[name]
    assert after_call(tl.function(function), arguments) == after_call(function, arguments)


def test_attributes_that_stay_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law detects attributes that are not written back."""
    monkeypatch.setattr(program_builder, "is_dataclass_instance", lambda value: False)
    function, arguments = OBJECTS["loop"]
    assert after_call(tl.function(function), arguments) != after_call(function, arguments)


def assign(name: str) -> Callable[..., Any]:
    return lambda instance: setattr(instance, name, 3)


def test_attributes_that_no_program_returns_are_refused() -> None:
    """An attribute that is not a parameter of its class, a list in an instance at a symbolic index, and an attribute of
    an instance in two places are refused, those of a frozen dataclass raise Python's error, and nothing changes."""
    particles = [Particle(1.0), Particle(2.0)]
    with pytest.raises(tl.Invalid, match="attribute colour of a Particle is assigned"):
        tl.function(assign("colour"))(particles[0])
    with pytest.raises(tl.Invalid, match="attribute size of a Range is assigned"):
        tl.function(assign("size"))(Range(1, 2))
    with pytest.raises(tl.Invalid, match="one of several"):
        tl.function(lambda particles, i: particles[i].move(1.0))(particles, 1)
    with pytest.raises(tl.Invalid, match="in another place of the arguments"):
        tl.function(lambda first, second: first.move(second.x))(particles[0], particles[0])
    with pytest.raises(AttributeError):
        tl.function(assign("items"))(Pieces([1]))
    assert particles == [Particle(1.0), Particle(2.0)]


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "own row in a loop": (append_first, (SQUARE, 2)),
    "row in a loop": (append_row, (SQUARE, [5, 5], 2)),
    "clear": (clear_and_append, (SQUARE, 2)),
    "reverse": (reverse_and_append, ([[1], [2, 3]], 2)),
    "pop": (pop_and_append, ([[1], [2, 3]], 2)),
    "deep": (swap_deep, ([[[1, 2], [5, 6]], [[3, 4], [7, 8]]], 1)),
    "pop in a branch": (lambda rows, n: rows.pop() if n > 0 else None, (SQUARE, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_moves_that_only_the_run_knows_are_refused(name: str) -> None:
    """Where lists move to places that are known only at run time, the call is refused, and changes nothing."""
    function, arguments = REFUSED[name]
    before = copy.deepcopy(arguments)
    with pytest.raises(tl.Invalid, match="moves or replaces lists") as caught:
        tl.function(function)(*arguments)
    assert caught.value.where is not None and arguments == before


def change_one_of_two_names(rows, i, j):
    first, second = rows[i], rows[j]
    first[0] = 9
    rows[1].reverse()
    return first[0] * 100 + second[0] * 10 + rows[0][0]


def test_a_row_of_two_names_is_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were taken at two indices change together if the indices are equal; a copy that stays as it was is
    detected."""
    compute = tl.function(change_one_of_two_names)
    for i, j in ((1, 1), (0, 1), (0, -2), (-1, 0)):
        assert compute([[1, 2], [3, 4]], i, j) == change_one_of_two_names([[1, 2], [3, 4]], i, j)
    monkeypatch.setattr(items_module, "valid_origins", list)
    stale = tl.function(change_one_of_two_names)([[1, 2], [3, 4]], 1, 1)
    assert stale != change_one_of_two_names([[1, 2], [3, 4]], 1, 1)


def change_in_branch(rows, i, n):
    row = rows[i]
    if n > 1:
        rows[i][0] = 5
    rows[i][1] = 7
    return sum(row)


def change_in_loop(rows, i, n):
    row = rows[i]
    for k in range(n):
        rows[k][0] = 5
    rows[i][1] = 7
    return sum(row)


def append_and_change(rows, i, n):
    row = rows[-1]
    rows.append([i, n])
    rows[i][1] = 7
    return sum(row) * 10 + sum(rows[-1])


@pytest.mark.parametrize("function", (change_in_branch, change_in_loop, append_and_change))
def test_a_row_is_one_list_after_a_branch_or_loop(function: Callable[..., int]) -> None:
    """A row that was taken before a branch, a loop or an append of the program changes with its list afterwards."""
    for i, n in ((0, 2), (1, 2), (1, 0)):
        assert tl.function(function)([[1, 2], [3, 4]], i, n) == function([[1, 2], [3, 4]], i, n)


def find_row(rows, row):
    position = -1
    try:
        position = rows.index(row)
    except (IndexError, ValueError):
        position = 9
    return position, rows[0][0]


def test_rows_that_a_try_takes_twice() -> None:
    """The body of a `try` may be traced twice; no row that the first trace takes is in the program."""
    rows = [[1, 2], [3, 4], [5, 6]]
    for row in ([3, 4], [5, 6], [7, 8]):
        assert tl.function(find_row)(rows, row) == find_row(rows, row)


def test_equal_rows_are_no_checks_of_a_try() -> None:
    """Where rows are compared in a `try`, their items exist: nothing checks positions, and the body runs again only for
    the exception of `index`."""
    program = tl.function(find_row).trace([[1, 2], [3, 4], [5, 6]], [3, 4]).program
    assert len(list(program.main.body.walk())) < 50


def test_rows_that_are_only_read_are_in_one_array() -> None:
    """A function that changes no rows has one array for them; one that changes a row has a list for each."""
    rows = [[row, row + 1] for row in range(40)]
    read = tl.function(lambda rows: tl.sum(tl.asarray(rows))).trace(rows).program
    assert len(list(read.main.body.walk())) == 1
    changed = tl.function(lambda rows: (rows[0].reverse(), tl.sum(tl.asarray(rows)))[1]).trace(rows).program
    assert len(list(changed.main.body.walk())) > 40


def test_arrays_in_lists_are_the_callers() -> None:
    """An array that moves in a list is the same array."""
    first = np.ones(2)
    tl.function(lambda xs: xs.reverse())(xs := [first, np.zeros(3)])
    assert xs[1] is first


def test_an_error_changes_nothing() -> None:
    """After an error in the run the arguments are as they were, and a note says so."""
    xs = [1]
    with pytest.raises(IndexError) as caught:
        tl.function(lambda xs, n: (xs.append(4), xs[n]))(xs, 7)
    assert xs == [1] and "as they were before the call" in "".join(caught.value.__notes__)
