"""Called Python functions are functions of the program, if they change nothing outside and return values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import functions
from tagloom.core.frontend.source.state import Journal
from tagloom.core.frontend.source.templates import copy_tree
from tagloom.core.frontend.trace import program_builder
from tagloom.core.frontend.trace.program_builder import ProgramBuilder, Specialization


class Pair(NamedTuple):
    first: Any
    second: Any


class Scale:
    def __init__(self, factor):
        self.factor = factor
        self.calls = 0

    def apply(self, x):
        return self.factor * x

    def count(self, x):
        self.calls = self.calls + 1
        return x + self.calls


def square(x):
    return x * x + 1


def fib(n):
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def divide(n, d=3):
    return n // d, n % d


def swap(pair):
    return Pair(pair.second, pair.first + 1)


def grow(items, item):
    items.append(item)
    return items


def doubled_items(items):
    return [2 * item for item in items]


def same(items):
    return items, items[0] + 1


def shared(n):
    return square(n) + square(n + 1)


def recursive_callee(n):
    return fib(n) + fib(n - 1)


def mutual_callees(n):
    return is_even(n), is_odd(n)


def default_and_keyword(n):
    return divide(n), divide(n, d=4), divide(d=n + 1, n=7)


def named_tuples(n):
    return swap(swap(Pair(n, 2 * n)))


def lists(n):
    items = doubled_items([n, n + 1])
    kept, first = same(items)
    kept.append(first)
    items.append(5)
    other, _ = same(items)
    other[0] = 7
    grow(items, n)
    return items, other


def state_between_calls(n):
    scale = Scale(n)
    first = scale.apply(n)
    scale.factor = 2 * n
    return first, scale.apply(n), scale.count(n), scale.count(n), scale.calls


def closures(n):
    offset = 0

    def shifted(k):
        return offset if k <= 0 else shifted(k - 1) + 1

    first = shifted(n)
    offset = n
    return first, shifted(n)


def in_loops(n):
    total = 0
    for k in range(n):
        if k % 2 == 0:
            total += square(k)
        else:
            total -= divide(k, d=2)[0]
    return total


def unrolled_recursion(n):
    def power(x, k):
        return 1 if k == 0 else x * power(x, k - 1)

    return power(n, 5)


def nested_definitions(n):
    def outer(k):
        def inner(j):
            return j * n + k

        return inner(k) + inner(n)

    return outer(n) + outer(2)


class Leaf(Exception):
    pass


def check_sign(n):
    if n < 0:
        raise Leaf("negative")
    return n


def caught(n):
    try:
        return fails(n)
    except Leaf:
        return -n


def fails(n):
    m = n + 1
    raise Leaf(str(type(m)))


FUNCTIONS: list[Callable[[Any], Any]] = [
    shared, recursive_callee, mutual_callees, default_and_keyword, named_tuples, lists, state_between_calls, closures,
    in_loops, unrolled_recursion, nested_definitions, caught,
]  # fmt: skip


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_calls_return_what_python_returns(function: Callable[[Any], Any]) -> None:
    """Functions whose callees are functions of the program, or must not be, return what Python returns."""
    staged = tl.function(function)
    for n in (0, 1, 3, 6):
        for options in ({"engine": "reference"}, {"engine": "reference", "schedule": "lifo"}, {"engine": "fast"}):
            assert staged.run(n, **options).value == function(n), (n, options)


def names(function: Callable[[Any], Any]) -> list[str]:
    return [each.name for each in tl.function(function).trace(3).program.functions]


def test_lists_that_a_program_returns_are_new() -> None:
    """A list that another `tl.function` returns is a copy, as outside of a trace: a branch may change it."""

    @tl.function
    def same(items):
        return items

    @tl.function
    def change(n):
        items, copied = [n], [0]
        if n > 0:
            copied = same(items)
            copied.append(2)
        return items, copied

    assert change(1) == ([1], [1, 2])
    assert change(-1) == ([-1], [0])


def test_a_program_has_the_functions_of_the_user() -> None:
    """Each called function is there once, however often it is called; one that changes what is outside is not."""
    assert names(shared) == ["shared", "square"]
    assert names(recursive_callee) == ["recursive_callee", "fib"]
    assert names(mutual_callees) == ["mutual_callees", "is_even", "is_odd"]
    assert names(nested_definitions) == ["nested_definitions", "outer", "outer_1", "inner", "inner_1", "inner_2"]
    assert names(unrolled_recursion) == ["unrolled_recursion", "power"]
    assert names(lists) == ["lists", "doubled_items"]
    assert names(state_between_calls) == ["state_between_calls", "Scale_apply", "Scale_apply_1"]
    assert names(in_loops) == ["in_loops", "square", "divide"]


def test_a_recursive_callee_fires_as_often_as_by_hand() -> None:
    """A call of plain recursion is one call of the function that one would write with cond."""

    @tl.function
    def written(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 1, lambda: 1, lambda: written(n - 1) + written(n - 2))

    by_hand, plain = tl.function(lambda n: written(n)), tl.function(lambda n: fib(n))
    assert plain.run(10).firings == by_hand.run(10).firings


def test_effects_happen_once_and_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """A callee prints and assigns variables when the program runs, once for each call."""
    total = tl.Variable(0)

    def add(x):
        print("add", x)
        total.assign(total.value + x)

    def both(n):
        add(n)
        print("between")
        add(n + 1)
        return total.value

    staged = tl.function(both)
    assert staged(3) == 7 and staged(3) == 14
    assert capsys.readouterr().out.splitlines() == ["add 3", "between", "add 4"] * 2


def test_gradients_go_through_callees() -> None:
    """The gradient of a function with callees, and the gradient that a tape takes of a callee, are right."""

    def cube_plus(x):
        return x * square(x)

    assert tl.grad(cube_plus)(2.0) == 13.0
    assert tl.grad(tl.grad(cube_plus))(2.0) == 12.0

    @tl.function
    def by_tape(x):
        with tl.Tape() as tape:
            tape.watch(x)
            y = cube_plus(x)
        return tape.gradient(y, x)

    assert by_tape(2.0) == 13.0


@pytest.mark.full
def test_a_recursion_over_ever_other_types_is_refused() -> None:
    """A recursion whose argument has another structure in each call is refused in words."""

    def longer(items, n):
        return n if n <= 0 else longer((items, n), n - 1)

    with pytest.raises(tl.Invalid, match="longer calls itself with new types or objects each time"):
        tl.function(lambda n: longer([n], n))(3)


def test_callees_that_are_not_isolated_are_caught() -> None:
    """Broken: results are rebuilt whatever they are, or changes outside are not seen. Then aliases are lost, and
    counts."""

    def any_result(patch: MonkeyPatch) -> None:
        patch.setattr(functions, "_is_value", lambda *arguments: True)

    def no_changes(patch: MonkeyPatch) -> None:
        patch.setattr(Journal, "record", lambda journal, place: None)

    with broken(any_result):
        assert tl.function(lists).run(3).value != lists(3)
    with broken(no_changes):
        assert "Scale_count" in names(state_between_calls)


def shifted(n: Any, k: float) -> Any:
    return n * 2.0 + k


@tl.function
def many_different_calls(n: Any) -> Any:
    for k in range(40):
        n = shifted(n, float(k % 20))
    return n


def test_each_new_function_is_compared_with_equal_ones_only(monkeypatch: MonkeyPatch) -> None:
    """Of 40 calls that differ in a constant, 20 have an equal one before them, and no other pair is compared: tracing
    takes time in proportion to the number of calls."""
    sound, pairs = program_builder.is_same_function, list[Any]()
    monkeypatch.setattr(program_builder, "is_same_function", lambda *each: pairs.append(each) or sound(*each))
    program = many_different_calls.trace(1.0).program
    assert sum(function.name.startswith("shifted") for function in program.functions) == 20
    assert len(pairs) == 20


def even_sum(k: Any, a: Any) -> Any:
    if k <= 0:
        return a
    return odd_sum(k - 1, a % 7) + odd_sum(k - 2, a)


def odd_sum(k: Any, a: Any) -> Any:
    if k <= 0:
        return a
    return even_sum(k - 1, a) + k


def test_inference_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two functions that call one another, first with a known argument, then with a symbolic one, are traced a few
    times each. (A new trace was replaced by an equal one that was stale, for ever.)"""
    sound, traces = ProgramBuilder.trace_specialization, list[str]()

    def counted(builder: ProgramBuilder, function: Specialization) -> None:
        traces.append(function.name)
        assert len(traces) < 60
        sound(builder, function)

    monkeypatch.setattr(ProgramBuilder, "trace_specialization", counted)

    @tl.function
    def product(n: tl.int64, m: tl.int64) -> tl.int64:
        return even_sum(n, 4) * even_sum(n, m)

    assert product(5, 3) == even_sum(5, 4) * even_sum(5, 3)


class Scaled:
    """A layer: an object that is called."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x * self.factor


DOUBLED, TRIPLED = Scaled(2.0), Scaled(3.0)


def test_called_objects_have_the_name_of_their_class() -> None:
    """The functions that calls of objects become have the name of the class, one for each object."""

    @tl.function
    def net(x: tl.float64) -> tl.float64:
        return TRIPLED(DOUBLED(x)) + DOUBLED(x)

    out = net.run(1.5)
    assert out.value == 12.0 and out.activations() == {"net": 1, "Scaled": 2, "Scaled_1": 1}


def test_lambdas_that_only_return_lambdas() -> None:
    """Of nested lambdas on one line, the one that was passed is converted, whatever the outer one returns."""
    outer = lambda x: lambda y: x - y if y > 0 else x  # noqa: E731
    inner = tl.function(lambda x: outer(x)(5))
    assert inner(7) == 2 and tl.function(outer(7))(5) == 2
    with pytest.raises(tl.Usage, match="this is not a value of a program"):
        tl.function(outer)(7)
    thunk = lambda: lambda: lambda: 3  # noqa: E731
    with pytest.raises(tl.Usage, match="this is not a value of a program"):
        tl.function(thunk)()
    assert tl.function(thunk()())() == 3


LAMBDAS_IN_AN_ASSERT = """
def check(call):
    assert call(lambda n: n - 1 if n > 0 else n, 3) == 2 and call(lambda n: n + 1, 3) == 4 and (
        call(lambda n: 2 if n > 2 and n < 5 else 0, 3)) == 2 and call(lambda: lambda n: n if n else 7)(0) == 7
"""


def test_lambdas_in_an_assert_that_pytest_changed(tmp_path: Path) -> None:
    """pytest before 8.4 gives everything in an `assert` the place of the whole statement."""
    file = tmp_path / "lambdas.py"
    file.write_text(LAMBDAS_IN_AN_ASSERT)
    tree = ast.parse(LAMBDAS_IN_AN_ASSERT)
    statement = next(node for node in ast.walk(tree) if isinstance(node, ast.Assert))
    for node in ast.walk(statement):
        ast.copy_location(node, statement)
    module: dict[str, Any] = {}
    exec(compile(tree, str(file), "exec"), module)

    def call(function: Any, *arguments: Any) -> Any:
        return tl.function(function)(*arguments) if arguments else tl.function(function())

    module["check"](call)


def test_syntax_trees_of_other_tools_do_no_harm() -> None:
    """Python has one `Load` and one `Add` for all syntax trees. Their attributes, such as the parents that IPython adds
    when it shows a traceback, are not part of the tree of a function."""
    foreign = ast.parse("a + b", mode="eval").body
    assert isinstance(foreign, ast.BinOp) and isinstance(foreign.left, ast.Name)
    shared = [foreign.op, foreign.left.ctx]
    for node in shared:
        node.parent = foreign  # type: ignore[attr-defined]
    try:
        copied = copy_tree(ast.parse("c + d", mode="eval").body)
        assert copied.op is foreign.op and ast.unparse(copied) == "c + d"
    finally:
        for node in shared:
            del node.parent  # type: ignore[attr-defined]
