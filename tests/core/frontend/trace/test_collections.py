"""Collections that are not containers of values: no list is silently stacked into an array."""

from __future__ import annotations

import array
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.source import convert
from tagloom.core.frontend.trace import program_builder, pytree
from tagloom.core.frontend.trace.pytree import flatten
from tagloom.interp.function.function import trace_arguments


class OwnList(list[Any]):
    """A list of a class of the user."""


class OwnTuple(tuple[Any, ...]):
    """A tuple of a class of the user."""


class Row:
    """A sequence of a class of the user, of which NumPy makes an array."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, position: int) -> Any:
        return self.items[position]


class Kind(Enum):
    """An enum, whose class has items."""

    ONE = object()


ONES = np.ones(2)
REFUSED_EVERYWHERE: dict[str, Callable[[], Any]] = {
    "deque": lambda: deque([ONES, ONES]),
    "deque of numbers": lambda: deque([1, 2]),
    "UserList": lambda: UserList([ONES, ONES]),
    "OwnList": lambda: OwnList([ONES, ONES]),
    "OwnList of numbers": lambda: OwnList([1, 2]),
    "OwnTuple": lambda: OwnTuple((ONES, ONES)),
    "Counter": lambda: Counter(a=1),
    "UserDict": lambda: UserDict(a=1),
}
REFUSED_AS_RESULTS: dict[str, Callable[[], Any]] = {
    **REFUSED_EVERYWHERE,
    "range": lambda: range(3),
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset({1, 2}),
    "keys": lambda: {1: 2}.keys(),
    "Row": lambda: Row([ONES, ONES]),
}


def refusals(value: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    """The places where a value passes into or out of a program, except arguments."""
    return {
        "result": lambda: tl.function(value)(),
        "part of a result": lambda: tl.function(lambda x: {"x": x, "other": [value()]})(1.0),
        "branch": lambda: tl.function(lambda p: tl.cond(p, value, value))(True),
        "branch outside a trace": lambda: tl.cond(True, value, value),
        "loop variable": lambda: tl.function(lambda x: tl.while_loop(lambda v: x > 1, lambda v: v, value()))(0),
        "output of a map": lambda: tl.map(lambda x: value(), ONES),
    }


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", REFUSED_AS_RESULTS)
def test_other_collections_are_no_values(name: str) -> None:
    """Where a value passes into or out of a program, a collection that is neither a container nor an array is refused,
    with a TypeError that names its class."""
    value = REFUSED_AS_RESULTS[name]
    for call in refusals(value).values():
        with pytest.raises(TypeError, match=f"F4: .*this {type(value()).__name__} is neither a value") as caught:
            call()
        assert isinstance(caught.value, tl.Invalid) and "test_collections.py" in str(caught.value)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", REFUSED_EVERYWHERE)
def test_other_collections_are_no_arguments(name: str) -> None:
    """An argument is refused, too, alone and as a part, since as a static object it would keep its first items. A
    parameter that is annotated tl.Static takes it."""
    value = REFUSED_EVERYWHERE[name]()
    for argument in (value, {"a": [value]}):
        for function in (tl.function(lambda x: 1), tl.grad(lambda x: 1.0)):
            with pytest.raises(TypeError, match=r"F4: this .* neither a value") as caught:
                function(argument)
            assert "tl.Static" in str(caught.value)

    def count(items: tl.Static) -> Any:
        return len(items)

    assert tl.function(count)(value) == len(value)


def test_a_member_of_an_enum_is_no_collection() -> None:
    """Methods of an object's class decide, and not those of its metaclass: the class of an enum has items."""
    assert tl.function(lambda: (1, Kind.ONE))() == (1, Kind.ONE)
    assert tl.function(lambda: Kind.ONE)() is Kind.ONE


def test_a_refusal_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check, NumPy stacks the items of a deque: the tests above detect that."""
    monkeypatch.setattr(pytree, "is_other_collection", lambda kind: False)
    assert tl.function(lambda: deque([ONES, ONES]))().shape == (2, 2)


@pytest.mark.parametrize("kind", ["array", "memoryview", "bytearray"])
def test_arrays_of_python_are_values(kind: str) -> None:
    """Python's own arrays are arguments with values, so a change between two calls is seen."""
    numbers = bytearray([1, 2]) if kind == "bytearray" else array.array("d", [1.0, 2.0])
    argument = memoryview(numbers) if kind == "memoryview" else numbers
    total = tl.function(lambda x: tl.sum(x))
    assert total(argument) == 3
    numbers[0] = 7
    assert total(argument) == 9


@tl.function
def swap(table: Any, count: Any) -> Any:
    """The table with its values exchanged as many times."""
    for _ in range(count):
        table["b"], table["a"] = table["a"], table["b"]
    return {"table": table, "list": [table]}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
@pytest.mark.parametrize("kind", [OrderedDict, partial(defaultdict, list)], ids=["OrderedDict", "defaultdict"])
def test_dicts_of_python_keep_their_class(kind: Callable[..., Any], engine: str) -> None:
    """An OrderedDict or defaultdict comes back as one: from a program, a gradient, a map, a branch and a loop, with its
    order and its default factory."""
    model = kind(b=1.0, a=2.0)
    pair = swap.run(model, 3, engine=engine).value
    results = {
        "result": pair["table"],
        "part": pair["list"][0],
        "gradient": tl.grad(lambda table: table["b"] + 2 * table["a"])(model),
        "pullback": tl.vjp(lambda table: table["b"] + 2 * table["a"], model)[1](1.0)[0],
        "tape": gradient_by_tape(model),
        "cond": tl.function(lambda p, table: tl.cond(p, lambda: table, lambda: table))(True, model),
        "branch": tl.function(lambda p, first, second: first if p else second)(True, model, model),
        "fori_loop": tl.fori_loop(0, 2, lambda i, table: kind(b=table["b"], a=table["a"] + i), model),
        "vmap": tl.vmap(lambda x: kind(b=x, a=x))(ONES),
        "map": tl.map(lambda x: kind(b=x, a=x), ONES),
    }
    for place, result in results.items():
        assert (type(result), list(result)) == (type(model), ["b", "a"]), place
        assert getattr(result, "default_factory", None) is getattr(model, "default_factory", None), place
    assert pair["table"] == {"b": 2, "a": 1} and results["gradient"] == {"b": 1, "a": 2}


def gradient_by_tape(model: Any) -> Any:
    """The gradient of the sum of the values of a dict, by a tape."""
    weights = model.copy()
    weights.update({key: tl.asarray(value) for key, value in model.items()})
    with tl.Tape() as tape:
        for value in weights.values():
            tape.watch(value)
        total = weights["b"] + 2 * weights["a"]
    return tape.gradient(total, weights)


def test_the_order_of_an_ordered_dict_is_part_of_its_structure() -> None:
    """A dict with another order of its keys needs no new trace, an OrderedDict does, since Python compares the order,
    too. So does a defaultdict with another default factory."""
    function = tl.function(lambda table: table)
    values = [{"b": 1, "a": 2}, OrderedDict(b=1, a=2), defaultdict(int, b=1, a=2), defaultdict(list, b=1, a=2)]
    for value in [*values, OrderedDict(a=1, b=2)]:
        result = function(value)
        assert result == value and list(result) == list(value) and type(result) is type(value)
    assert [str(each) for each in function.explain().split("nests as ")].__len__() == 5
    assert defaultdict(int, b=1).default_factory is function(defaultdict(int, b=1)).default_factory


def test_an_argument_of_these_classes_changes() -> None:
    """A call changes an OrderedDict or defaultdict in its arguments, as Python does."""
    ordered, counts = OrderedDict(a=1, b=2), defaultdict(int, a=1)

    def change(ordered: Any, counts: Any, x: Any) -> Any:
        ordered.move_to_end("a")
        counts["new"] += x
        return counts["new"]

    assert tl.function(change)(ordered, counts, 5) == 5
    assert list(ordered) == ["b", "a"] and counts == {"a": 1, "new": 5} and counts.default_factory is int


def test_these_classes_are_printed_as_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    """`print` of an OrderedDict or defaultdict with symbolic values writes what Python does."""
    for value in (OrderedDict(a=1, b=2), defaultdict(int, a=1), OrderedDict()):
        tl.function(lambda table, x: print(table, x))(value, 3)
        assert capsys.readouterr().out == f"{value} 3\n"


def test_the_order_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the keys of an OrderedDict are sorted as those of a dict, two orders have one structure: the test of the order
    detects that."""
    monkeypatch.setattr(pytree, "OrderedDict", None)
    assert flatten(OrderedDict(b=1, a=2))[1] == flatten(OrderedDict(a=1, b=2))[1]


RESULTS_WITHOUT_VALUES: dict[str, Callable[[Any], Any]] = {
    "None": lambda x: None,
    "[]": lambda x: [],
    "{}": lambda x: {},
    "()": lambda x: (),
    "word": lambda x: "word",
    "words": lambda x: ["a", "b"],
    "nested": lambda x: {"a": [(), {}], "b": None},
}


@pytest.mark.parametrize("name", RESULTS_WITHOUT_VALUES)
def test_results_without_values(name: str) -> None:
    """A function may return None, an empty container or a word: called, mapped, in a branch, and in a call of another
    function. `vjp` has it as its value, and says that there are no floats to differentiate."""
    function = RESULTS_WITHOUT_VALUES[name]
    value, traced = function(0), tl.function(function)
    results = {
        "call": traced(1.0),
        "engine": traced.run(1.0, engine="fast").value,
        "vmap": tl.vmap(function)(ONES),
        "nested call": tl.function(lambda x: {"r": traced(x), "x": x})(1.0)["r"],
        "vjp": tl.vjp(function, 1.0)[0],
        "vjp under trace": tl.function(lambda x: (tl.vjp(function, x)[0], x))(1.0)[0],
        "aux": tl.grad(lambda x: (x * x, function(x)), has_aux=True)(3.0)[1],
    }
    for place, result in results.items():
        assert result == value and type(result) is type(value), place
    adjoint = tl.vjp(function, 1.0)[1]
    for call in (lambda: adjoint(value), lambda: tl.jvp(function, (1.0,), (1.0,))):
        with pytest.raises(tl.Invalid, match="no float among its results"):
            call()


def test_parts_without_values_have_derivatives() -> None:
    """`vjp` and `jvp` of a result with an empty list, an empty dict or None among its parts: the adjoint and the
    tangent have these parts, too."""

    def parts(x: Any) -> Any:
        return [], {"a": {}, "b": None, "c": x * x}

    value, pullback = tl.vjp(parts, 3.0)
    assert value == ([], {"a": {}, "b": None, "c": 9.0}) and pullback(value) == (54.0,)
    assert tl.jvp(parts, (3.0,), (1.0,)) == (value, ([], {"a": {}, "b": None, "c": 6.0}))
    assert tl.function(lambda x: tl.jvp(parts, (x,), (1.0,)))(3.0)[1] == ([], {"a": {}, "b": None, "c": 6.0})


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.int64, np.float32, np.float64])
def test_lists_of_numpy_numbers(dtype: Any) -> None:
    """One array holds a list of NumPy's numbers of one dtype, in that dtype, as it holds Python's numbers: a list that
    a function has returned has one parameter when it is passed again. Its items have the classes of scalar results:
    Python's for bool, int64 and float64."""
    numbers = [dtype(1), dtype(0), dtype(1)]
    item_class = type(tl.function(lambda x: x)(dtype(1)))
    keep = tl.function(lambda xs: xs)
    for xs in (numbers, keep(numbers), [numbers, numbers]):
        result = keep(xs)
        assert result == xs and len(trace_arguments(keep, (xs,)).program.main.body.parameters) == 1
        assert {type(x) for x in (result if xs[0] is not numbers else result[0])} == {item_class}
    mixed = tl.function(lambda xs: xs)([np.int64(2**62 + 1), np.float64(0.5)])
    assert mixed == [2**62 + 1, 0.5] and type(mixed[0]) is int, "of two dtypes, each is a value of its own"


def test_a_loop_exchanges_lists_of_both_forms() -> None:
    """A list whose items are values of their own and one that an array holds are the same for a loop and a branch."""

    @tl.function
    def exchange(x: Any, xs: Any) -> Any:
        own = [x, x + 1]
        first, second = tl.while_loop(lambda k, *_: k < 3, lambda k, p, q: (k + 1, q, p), 0, own, xs)[1:]
        return first, second, tl.cond(x > 0, lambda: own, lambda: xs), tl.cond(x > 0, lambda: xs, lambda: own)

    for xs in ([5.0, 6.0], [np.float64(5), np.float64(6)], [np.array(5.0), np.array(6.0)]):
        assert exchange(1.0, xs) == (xs, [1, 2], [1, 2], xs)


COMPREHENSIONS: dict[str, Callable[..., Any]] = {
    "zip": lambda xs, ys: [x - y for x, y in zip(xs, ys)],  # noqa: B905
    "zip strict": lambda xs, ys: [x - y for x, y in zip(xs, ys, strict=True)],
    "zip of three": lambda xs, ys: [x * y + z for x, y, z in zip(xs, ys, xs)],  # noqa: B905
    "zip and range": lambda xs, ys: [x * k for x, k in zip(xs, range(3))],  # noqa: B905
    "enumerate": lambda xs, ys: [k * x for k, x in enumerate(xs)],
    "enumerate zip": lambda xs, ys: [k * x + y for k, (x, y) in enumerate(zip(xs, ys))],  # noqa: B905
    "reversed": lambda xs, ys: [2 * x for x in reversed(xs)],
    "dict": lambda xs, ys: {k: x for k, x in enumerate(xs)},  # noqa: C416
    "sum": lambda xs, ys: sum(x * y for x, y in zip(xs, ys)),  # noqa: B905
    "transposed": lambda xs, ys: [list(column) for column in zip(*[xs, ys])],  # noqa: B905
    "if": lambda xs, ys, least=1.5, *, scale=2.0: [x * scale for x in xs if x > least],
    "two ifs": lambda xs, ys: [x - y for x in xs if x > 1 for y in ys if y - x > 3],
    "sum with if": lambda xs, ys: sum(x for x in xs if x > ys[0] - 3),
    "dict of zip": lambda xs, ys: {int(x): y for x, y in zip(xs, ys)},  # noqa: B905
    "dict with if": lambda xs, ys: {int(x): x for x in xs if x > 1},
    "set": lambda xs, ys: len({x > 2 for x in xs if x > 1}),
    "symbolic range": lambda xs, ys: [i * i for i in range(int(ys[0])) if i % 2],
    "any": lambda xs, ys: any(x > y for x, y in zip(xs, ys) if x > 1),  # noqa: B905
}


@pytest.mark.parametrize("name", COMPREHENSIONS)
def test_comprehensions_in_lambdas_go_through_lists(name: str) -> None:
    """A comprehension in a lambda goes through `zip`, `enumerate` and `reversed` of lists of numbers as in Python, and
    its `if` may depend on the run."""
    function, lists = COMPREHENSIONS[name], ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert tl.function(function)(*lists) == function(*lists)


def call_lambdas(xs, n):
    """Lambdas in a function see the variables that it has when they are called."""
    above = lambda: [x for x in xs if x > n]  # noqa: E731
    total = lambda bound: sum(x for x in xs if x > bound)  # noqa: E731
    in_comprehension = [lambda bound: len([x for x in xs if x > bound]) for _ in range(2)]
    n += 1
    return above(), total(n), in_comprehension[1](n), sorted(xs, key=lambda x: sum(y for y in xs if y > x))


def test_comprehensions_in_lambdas_of_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lambda with a comprehension is converted as a function is; without, its `if` is refused, and the hint names the
    way. So it is where the lambda has a default."""
    arguments = [3, 1, 2], 1
    assert tl.function(call_lambdas)(*arguments) == call_lambdas(*arguments)
    with pytest.raises(tl.Invalid, match="comprehension's `if`") as caught:
        tl.function(lambda xs, n: (lambda bound=n: [x for x in xs if x > bound])())(*arguments)
    assert "write a def" in str(caught.value)
    monkeypatch.setattr(convert, "define_lambda", lambda node, name: node)
    monkeypatch.setattr(convert, "_CONVERTED", {})
    with pytest.raises(tl.Invalid):
        tl.function(COMPREHENSIONS["if"])(*[[1.0, 2.0]] * 2)


def test_vmap_of_lists() -> None:
    """`vmap` of a function that returns a list is a list with an array for each item, also where one array holds the
    list; `out_axes` is the axis in these arrays."""
    rows = [[3, 1, 2], [6, 5, 4]]
    for argument in (rows, np.array(rows)):
        columns = tl.vmap(lambda row: sorted(row))(argument)
        assert type(columns) is list and [column.tolist() for column in columns] == [[1, 4], [2, 5], [3, 6]]
    repeated = tl.vmap(lambda row: [row for _ in range(4)], out_axes=1)(np.array(rows))
    assert [each.tolist() for each in repeated] == [[[3, 6], [1, 5], [2, 4]]] * 4
    assert tl.vmap(lambda x: ([1, 2], x), out_axes=(None, 0))(ONES)[0] == [1, 2]


def test_map_takes_a_list_as_an_array() -> None:
    """`tl.map` is a function of arrays: the elements of a nested list are arrays, eagerly and under trace."""
    rows = [[1, 2], [3, 4]]

    def double(rows: Any) -> Any:
        return tl.map(lambda row: row + row, rows)

    for result in (double(rows), tl.function(double)(rows)):
        assert type(result) is np.ndarray and result.tolist() == [[2, 4], [6, 8]]


def test_outputs_that_differ_in_structure_are_refused() -> None:
    """Arrays cannot hold words, or None for some elements: `vmap` and `map` say so."""
    for function in (lambda x: "a" if x > 0 else "b", lambda x: None if x > 0 else x):
        for call in (tl.vmap(function), tl.function(lambda xs, f=function: tl.map(f, xs))):
            with pytest.raises(TypeError, match=r"F4: .*the outputs of the elements differ in structure"):
                call(ONES)


def test_a_changed_set_is_another_one() -> None:
    """A set is a static object, and is compared with its elements: a change between two calls leads to a new trace."""
    allowed = {1, 2}
    total = tl.function(lambda x, allowed: x + sum(allowed))
    assert (total(1, allowed), total(1, allowed)) == (4, 4)
    allowed.add(9)
    assert total(1, allowed) == 13


def test_lists_of_numbers() -> None:
    """An argument that is a list is a list, and so is what a function, a branch or a map returns as one."""
    out = tl.function(lambda x: x)([1, 2])
    assert type(out) is list and out == [1, 2]
    for result in (
        tl.function(lambda: [1, 2])(),
        tl.function(lambda n: [n, 2])(1),
        tl.function(lambda p: tl.cond(p, lambda: [1, 2], lambda: [3, 4]))(True),
        tl.function(lambda n: [1, 2] if n > 0 else [n, 3])(1),
    ):
        assert type(result) is list and result == [1, 2]
    columns = tl.map(lambda x: [x, 2], [1, 1])
    assert type(columns) is list and [column.tolist() for column in columns] == [[1, 1], [2, 2]]
    x = tl.function(lambda x: tl.cond(x[0] > 0, lambda: [1, 2], lambda: x))(np.array([1, 5]))
    assert type(x) is np.ndarray, "the other branch returns an array"


@tl.function
def empty(n: Any) -> Any:
    return [] if n <= 0 else empty(n - 1)


def emptied(n: Any) -> Any:
    return [] if n > 0 else [n]


def test_empty_lists_are_lists() -> None:
    """A function that returns an empty list gives one, alone, in a branch, by recursion and as a part; its caller in
    the program can use it as a list."""
    always = tl.function(lambda n: [])
    assert always(1) == [] and empty(3) == []
    assert tl.function(emptied)(1) == [] and tl.function(emptied)(-1) == [-1]
    assert tl.function(lambda n: {"none": [], "n": n})(1) == {"none": [], "n": 1}
    assert tl.function(lambda n: len(always(n)) + n)(2) == 2
    assert tl.vmap(lambda x: ([], x))(ONES)[0] == tl.map(lambda x: ([], x), ONES)[0] == []


@tl.function
def collect(n: Any, item: Any) -> Any:
    return [] if n <= 0 else [*collect(n - 1, item), item]


def append_to_empty(n: Any, item: Any) -> Any:
    items = empty(0)
    for _ in range(n):
        items.append(item)
    return items


@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
@pytest.mark.parametrize("item", [True, 2**53 + 1, 0.5])
def test_an_empty_list_has_no_dtype(item: Any, engine: str) -> None:
    """Items that follow an empty list that a function has returned keep their kind: a large integer is exact."""
    for function in (collect, tl.function(append_to_empty)):
        items = function.run(2, item, engine=engine).value
        assert items == [item, item] and {type(value) for value in items} == {type(item)}


def test_a_dtype_of_empty_lists_is_needed_that_others_include(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the empty list is an array of float64, as NumPy makes it, large integers are rounded: the test above detects
    that."""
    monkeypatch.setattr(program_builder, "EMPTY_COLUMN", np.zeros(0))
    assert tl.function(collect.source.python_function)(2, 2**53 + 1) == [2**53, 2**53]
