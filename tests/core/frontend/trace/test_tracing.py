"""Tracing: the programs that Python functions become. Functions that cannot be traced are in test_tracing_errors."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.program.program import Node, Program
from tagloom.core.types import Type
from tagloom.core.value import is_same_value, literal

INT, FLOAT, BOOL = tl.Type(tl.int64), tl.Type(tl.float64), tl.Type(tl.bool)


def lines(traced: tl.Function) -> list[str]:
    """The lines of a program's text that have nodes."""
    return [line.strip() for line in tl.print_program(traced.program, locations=False).splitlines() if " = " in line]


def nodes(program: Program) -> list[Node]:
    return [node for function in program.functions for node in function.body.walk()]


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def divided(a: tl.int64, b: tl.int64) -> tuple[tl.int64, tl.int64]:
    return a // b, a % b


@tl.function
def gcd(a: tl.int64, b: tl.int64) -> tl.int64:
    return tl.cond(b == 0, lambda: a, lambda: gcd(b, divided(a, b)[1]))


@pytest.mark.parametrize(
    ("python", "written"),
    [
        (lambda x, y: x + y, "add x, y"),
        (lambda x, y: 1 + x, "add 1, x"),
        (lambda x, y: 2 * x, "multiply 2, x"),
        (lambda x, y: 7 % x, "remainder 7, x"),
        (lambda x, y: x - 1, "subtract x, 1"),
        (lambda x, y: 1 - x, "subtract 1, x"),
        (lambda x, y: x * y, "multiply x, y"),
        (lambda x, y: 7 // x, "floor_divide 7, x"),
        (lambda x, y: x % y, "remainder x, y"),
        (lambda x, y: 2**x, "pow 2, x"),
        (lambda x, y: -x, "negative x"),
        (lambda x, y: abs(x), "abs x"),
        (lambda x, y: x < y, "less x, y"),
        (lambda x, y: x > 1, "greater x, 1"),
        (lambda x, y: x >= 1, "greater_equal x, 1"),
        (lambda x, y: x == 1, "equal x, 1"),
        (lambda x, y: x != y, "not_equal x, y"),
        (lambda x, y: tl.minimum(x, 3), "minimum x, 3"),
        (lambda x, y: np.array([1, 2]) - x, "subtract [1, 2], x"),
        (lambda x, y: np.array([1, 2]) < x, "less [1, 2], x"),
        (lambda x, y: x + np.array([1, 2]), "add x, [1, 2]"),
        (lambda x, y: np.int64(3) * x, "multiply 3, x"),
        (lambda x, y: tl.astype(x, tl.float64), "astype x, dtype=float64"),
        (lambda x, y: tl.identity(3), "identity 3"),
        (lambda x, p: True & p, "logical_and true, p"),
        (lambda x, p: False | p, "logical_or false, p"),
        (lambda x, p: p ^ True, "logical_xor p, true"),
        (lambda x, p: np.array([True]) ^ p, "logical_xor [true], p"),
        (lambda x, p: ~p, "logical_not p"),
        (lambda f, y: 1 / f, "divide 1.0, f"),
        (lambda f, y: f / 2, "divide f, 2.0"),
        (lambda f, y: 2.5**f, "pow 2.5, f"),
    ],
)
def test_operators_make_nodes(python: Callable[..., Any], written: str) -> None:
    """Python's operators, with a Python number or a NumPy array on either side, and functions by name, become nodes of
    the program."""
    kinds = {"x": 1, "y": 2, "p": True, "f": 0.5}
    program = tl.function(python).trace(*map(kinds.__getitem__, inspect.signature(python).parameters)).program
    (node,) = program.main.body.nodes
    assert tl.print_program(program, locations=False).splitlines()[1] == f"  {node.name} = {written}"


@pytest.mark.parametrize(
    ("python", "result"),
    [
        (lambda x: x + 1, FLOAT),
        (lambda x: 2**x, FLOAT),
        (lambda x: tl.where(x > 0, 1, x), FLOAT),
        (lambda x: tl.cond(x > 0, lambda: x, lambda: 1), FLOAT),
        (lambda x: tl.cond(x > 0, lambda: 1, lambda: x), FLOAT),
        (lambda x: tl.while_loop(lambda y: y < 3, lambda y: 4, x)[0], FLOAT),
        (lambda x: tl.cond(x > 0, lambda: 1, lambda: 2), INT),
        (lambda x: 1, INT),
    ],
)
def test_integers_adapt(python: Callable[..., Any], result: Type) -> None:
    """A Python integer takes the dtype of the other operand; alone it is an int64."""
    traced = tl.function(python).trace(0.5)
    assert traced.program.main.results == (result,) and type(traced.program.main.body.results) is tuple
    assert result == FLOAT or not any(lit == literal(1.0) for node in nodes(traced.program) for lit in node.inputs)


def test_annotated_results_adapt() -> None:
    """A literal takes the annotated result type, and so does an argument of a call."""

    @tl.function
    def half(x: tl.float64) -> tl.float64:
        return x / 2

    @tl.function
    def f(n: tl.int64) -> tuple[tl.float64, tl.float64]:
        return 1, half(3)

    assert f(0) == (1.0, 1.5)
    assert f.program.main.body.results[0] == literal(1.0)


def test_closures() -> None:
    """Exactly the outer values that a branch or loop uses are passed in, under their own names."""

    @tl.function
    def f(a: tl.int64, b: tl.int64, c: tl.int64) -> tl.int64:
        d = a + b
        return tl.cond(d > 0, lambda: tl.while_loop(lambda i: i < d, lambda i: i + b, 0)[0], lambda: a)

    assert lines(f) == [
        "add = add a, b",
        "greater = greater add, 0",
        "cond = cond greater, add, b, a {",
        "loop, loop_add, loop_b = while_loop 0, add, b {",
        "less = less i, add",
        "add_1 = add i, b",
    ]
    assert f(2, 3, 100) == 6 and f(-2, 1, 100) == -2


def test_captures_through_several_regions() -> None:
    """A value that is used three regions deep passes through every region on the way, once each."""

    @tl.function
    def f(x: tl.int64, n: tl.int64) -> tl.int64:
        def body(i: Any) -> Any:
            return tl.cond(i > 1, lambda: tl.while_loop(lambda j: j < x, lambda j: j + x + x, i)[0], lambda: i + 1)

        return tl.while_loop(lambda i: i < n, body, 0)[0]

    taking = [[p.name for p in region.parameters] for node in nodes(f.program) for region in node.regions]
    assert taking == [["i", "n", "x"]] * 2 + [["i", "x"]] * 2 + [["j", "x"]] * 2
    assert f(3, 8) == 8 and sum(node.op == "while_loop" for node in nodes(f.program)) == 2


def test_self_and_mutual_recursion() -> None:
    """A called function is a function of the program, once for each list of types, whoever calls it."""
    assert [function.name for function in even.program.functions] == ["even", "odd"]
    assert [function.name for function in odd.program.functions] == ["odd", "even"]
    assert [even(n) for n in range(4)] == [True, False, True, False] and odd(101) is True
    assert gcd(1071, 462) == 21 and [function.name for function in gcd.program.functions] == ["gcd", "divided"]


def test_functions_without_annotations() -> None:
    """A function that does not call itself needs no annotations: it is traced for its arguments, and is a function of
    the program for each list of types."""

    @tl.function
    def twice(x):  # type: ignore[no-untyped-def]
        return x + x

    @tl.function
    def pair(x):  # type: ignore[no-untyped-def]
        return twice(x), twice(x * 2)

    @tl.function
    def f(n: tl.int64, x: tl.float64) -> tuple[tl.int64, tl.float64, tl.float64]:
        return twice(n), *pair(twice(x))

    assert twice(3) == 6 and twice(1.5) == 3.0 and is_same_value(twice(np.array([1.0, 2.0])), np.array([2.0, 4.0]))
    assert [function.name for function in f.program.functions] == ["f", "twice", "twice_1", "pair"]
    assert f(1, 0.5) == (2, 2.0, 4.0)
    assert twice.trace(3) is twice.trace(4) is not twice.trace(0.5)


def test_one_result_or_a_tuple() -> None:
    """A function returns a tuple if Python does, even of one element; otherwise it returns one value."""

    @tl.function
    def one(n: tl.int64) -> tuple[tl.int64]:
        return (n,)

    @tl.function
    def uses(n: tl.int64) -> tl.int64:
        (m,) = one(n)
        return tl.cond(n > 0, lambda: (m,), lambda: (n,))[0]

    assert one(3) == (3,) and uses(3) == 3 and divided(7, 2) == (3, 1)


def test_annotations_of_python() -> None:
    """Python's int, float and bool are the three dtypes; annotations as strings are resolved later."""

    @tl.function
    def f(n: int, x: float, b: bool, a: tl.Array[tl.int64, 2]) -> tuple[int, float, bool, Later]:
        return n, x, b, a

    assert [str(p.type) for p in f.program.main.body.parameters] == ["int64", "float64", "bool", "int64[2]"]
    assert f.program.main.results == (INT, FLOAT, BOOL, Later)


Later = tl.Array[tl.int64, None]


def test_annotations_without_the_future_import() -> None:
    """Annotations may be objects or, as in this file, strings."""
    code = "@tl.function\ndef f(n: tl.int64) -> tl.int64:\n    return n + 1\n"
    for head in ("", "from __future__ import annotations\n"):
        scope: dict[str, Any] = {"tl": tl}
        exec(compile(head + code, "user.py", "exec", dont_inherit=True), scope)
        assert isinstance(inspect.get_annotations(scope["f"].__wrapped__)["n"], str if head else type)
        assert scope["f"](3) == 4


def test_names() -> None:
    """Parameters keep their names, loop variables have the names of the body's parameters, and nodes are named after
    their op or function; a name that exists gets a number."""

    @tl.function
    def f(i: tl.int64, true: tl.int64) -> tl.int64:
        j, k = tl.while_loop(lambda a, b: a < true, lambda i, j: (i + 1, j + even_number(i)), i, 0)
        return j + k

    @tl.function
    def even_number(n: tl.int64) -> tl.int64:
        return tl.astype(even(n), tl.int64)

    assert [p.name for p in f.program.main.body.parameters] == ["i", "true_1"]
    (loop,) = (node for node in f.program.main.body.nodes if node.op == "while_loop")
    assert [p.name for p in loop.regions[1].parameters] == ["i_1", "j", "true_1"]
    assert [p.name for p in loop.regions[0].parameters] == ["i_1", "j", "true_1"]
    assert [result.name for result in loop.results] == ["loop", "loop_j", "loop_true_1"]
    assert [node.name for node in loop.regions[1].nodes] == ["add", "even_number", "add_1"]
    assert f(0, 4) == 6


def test_names_of_items() -> None:
    """A captured array has the name of its collection with its key or position; items of long collections have none."""
    weights = {"w1": tl.asarray([1.0, 2.0]), "b": tl.asarray([0.5, 0.5]), 3: tl.asarray([1.0, 1.0])}
    rows, many = [tl.asarray([1.0, 0.0]), tl.asarray([0.0, 1.0])], [tl.asarray([2.0, 2.0])] * 1001

    @tl.function
    def f(x: tl.float64) -> Any:
        return x * weights["w1"] + weights["b"] * weights[3] + rows[1] + many[0]

    names = [parameter.name for parameter in f.program.main.body.parameters]
    assert names == ["x", "weights_w1", "weights_b", "weights_3", "rows_1", "constant"]


def test_names_of_items_run_no_user_code() -> None:
    """Keys that are no strings and no integers have no part in names: their methods are not called."""

    class Key:
        __str__ = __repr__ = __format__ = None  # type: ignore[assignment]

    items = {Key(): tl.asarray([1.0, 2.0]), "last": tl.asarray([3.0, 4.0])}
    key = next(iter(items))

    @tl.function
    def f(x: tl.float64) -> Any:
        return x * items["last"] + items[key]

    assert [parameter.name for parameter in f.program.main.body.parameters] == ["x", "items_last", "constant"]


def test_names_of_variables_in_collections() -> None:
    """A variable that is added to a collection where it is created has the name of the collection."""
    layers: list[Any] = []
    layers.append(tl.Variable(1.0))
    layers.insert(0, tl.Variable(2.0))
    layers.append(tl.Variable(3.0, name="last"))

    @tl.function
    def f(x: tl.float64) -> tl.float64:
        return x * layers[0] + layers[1] * layers[2]

    names = {parameter.name for parameter in f.program.main.body.parameters}
    assert names == {"x", "layers", "layers_1", "last"}


def test_loop_variables_without_names() -> None:
    """If no parameters of the body name the variables, they are numbered."""

    @tl.function
    def f(n: tl.int64) -> tl.int64:
        return sum(tl.while_loop(lambda *v: v[0] < n, lambda *v: (v[0] + 1, v[1] * 2), 0, 1))

    (loop,) = (node for node in f.program.main.body.nodes if node.op == "while_loop")
    assert [p.name for p in loop.regions[1].parameters] == ["v0", "v1", "n"]
    assert f(4) == 4 + 16


def test_v2_names_are_unique() -> None:
    """V2: nodes of all regions of a function have distinct names."""

    @tl.function
    def f(n: tl.int64) -> tl.int64:
        def side() -> Any:
            return tl.cond(n > 1, lambda: n + 1, lambda: n + 2)

        return tl.cond(n > 0, side, side)

    names = [result.name for node in nodes(f.program) for result in node.results]
    assert len(set(names)) == len(names) == 2 + 2 * 4
    assert [f(n) for n in (0, 1, 2)] == [2, 3, 3]


def test_locations_are_the_users_lines() -> None:
    """Each node has the file and line of the user's Python that created it, in lambdas too."""

    @tl.function
    def f(n: tl.int64) -> tl.int64:
        m = n + 1
        return tl.cond(
            m > 0,
            lambda: -m,
            lambda: (
                even_by_two(m)
                * 3
            ),
        )  # fmt: skip

    @tl.function
    def even_by_two(n: tl.int64) -> tl.int64:
        return n // 2

    start = f.program.main.location
    assert start is not None and start.file == __file__
    actual = {node.op: node.location.line - start.line for node in nodes(f.program) if node.location}
    expected = {"add": 2, "greater": 4, "negative": 5, "call": 7, "multiply": 7, "cond": 3, "floor_divide": 14}
    assert actual == expected and {node.location.file for node in nodes(f.program) if node.location} == {__file__}
    assert str(start) == f"test_tracing.py:{start.line}"


def test_python_runs_while_tracing() -> None:
    """Python's control flow on concrete values runs during the trace: it is unrolled."""

    @tl.function
    def power(x: tl.float64) -> tl.float64:
        result: Any = 1.0
        for k in range(5):
            if k % 2 == 0:
                result = result * x if k else x
        return result + [math.pi][0]

    assert [node.op for node in power.program.main.body.nodes] == ["multiply", "multiply", "add"]
    assert power(2.0) == 8.0 + math.pi


def test_a_trace_is_symbolic_throughout() -> None:
    """In a trace, cond, while_loop and functions of concrete values become parts of the program, too."""

    @tl.function
    def f(n: tl.int64) -> tl.int64:
        return tl.cond(True, lambda: 1, lambda: 2) + tl.while_loop(lambda i: i < 3, lambda i: i + 1, 0)[0]

    assert [node.op for node in f.program.main.body.nodes] == ["cond", "while_loop", "add"]
    assert f(0) == 4


def test_arrays_of_any_shape_are_traced() -> None:
    """Arrays of known, partly known and unknown shape are traced as such, and literals may be arrays."""

    @tl.function
    def f(a: tl.Array[tl.float64, 2, None], b: tl.Array[tl.float64]) -> tl.Array[tl.float64, 2, None]:
        return tl.where(a < b, a, 0) + np.array([[1.0], [2.0]])

    assert [str(node.results[0].type) for node in f.program.main.body.nodes] == ["bool[2, ?]", *["float64[2, ?]"] * 2]
    assert is_same_value(f([[1.0, 2.0], [3.0, 4.0]], [2.5, 2.5]), np.array([[2.0, 3.0], [2.0, 2.0]]))
    assert is_same_value(f(np.zeros((2, 0)), np.zeros(0)), np.zeros((2, 0)))


def test_l7_literals_are_copies() -> None:
    """L7: the program contains an array as it was when the function was traced."""
    weights = np.array([1.0, 2.0])
    scale = tl.function(lambda x: x * weights)
    traced = scale.trace(1.0)
    weights[:] = 0.0
    assert traced.program.main.body.nodes[0].inputs[1] == literal([1.0, 2.0])
    assert is_same_value(scale(1.0), np.array([1.0, 2.0]))


class Model:
    """A user's class with a traced method."""

    def __init__(self, step: int) -> None:
        self.step = step

    def forward(self, n: tl.int64) -> tl.int64:
        return n + self.step

    @staticmethod
    def plain(n: tl.int64) -> tl.int64:
        return n + 5


def test_methods() -> None:
    """A bound method is a function of the remaining parameters; so is a static method."""
    assert tl.function(Model(3).forward)(1) == 4 and tl.function(Model.plain)(1) == 6


def test_functions_keep_their_metadata() -> None:
    """A traced function has the name, docstring and signature of the Python function."""
    assert even.__name__ == even.name == "even" and repr(even) == "<tagloom function even>"
    assert list(inspect.signature(even).parameters) == ["n"] and Model.__doc__


def test_lambdas_have_a_name() -> None:
    """The function of a lambda has an identifier as its name."""
    assert tl.function(lambda n: n + 1).trace(3).program.entry.isidentifier()


def test_tracing_is_deterministic() -> None:
    """A second trace gives an equal program."""
    again = tl.function(gcd.__wrapped__)  # type: ignore[attr-defined]
    assert tl.print_program(again.program) == tl.print_program(gcd.program) and again.trace(1, 2) is again.trace(3, 4)
