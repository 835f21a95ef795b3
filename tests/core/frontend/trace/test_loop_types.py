"""Loop variables that start with Python numbers have the dtypes that the body gives them, and parameters of functions
those that the recursive calls, or the values that they meet, give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.frontend.trace import program_builder

NUMBERS = [dtype for dtype in dtypes.ALL if dtype.kind != "b"]


@pytest.mark.parametrize("dtype", NUMBERS, ids=repr)
def test_loops_cond_and_recursion_agree(dtype: dtypes.DType) -> None:
    """A sum that starts with 0 or 0.0 has the dtype of what is added, in a loop as in a recursion and a branch."""
    start, x = (0.0 if dtype.kind == "f" else 0), dtype.numpy.type(3)

    def recurse(n: Any, x: Any) -> Any:
        return tl.cond(n <= 0, lambda: start, lambda: recursion(n - 1, x) + x)

    recursion = tl.function(recurse)
    loop = tl.function(lambda x: tl.while_loop(lambda i, _: i < 2, lambda i, total: (i + 1, total + x), 0, start)[1])
    branch = tl.function(lambda x: tl.cond(x > 0, lambda: x + x, lambda: start))
    called = tl.function(lambda x: recursion(2, x))
    for function in (loop, branch, called):
        assert function.trace(x).program.main.results[0].dtype is dtype
        assert function(x) == 6


@tl.function
def chained(x: tl.float32) -> Any:
    """Each variable gets its dtype from the one before."""
    return tl.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y + x, z + y), 0, 0.0, 0.0)


@tl.function
def nested(x: tl.float32) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, tl.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z + x), 0, y)[1]

    return tl.while_loop(lambda i, y: i < 3, body, 0, 0.0)


@tl.function
def branching(x: tl.float32) -> Any:
    """The branches have different dtypes where y is float64."""
    return tl.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tl.cond(y > 1.0, lambda: y * x, lambda: x)), 0, 0.5)


@pytest.mark.parametrize("function, value", [(chained, 7.5), (nested, 15.0), (branching, 39.0625)])
def test_dtypes_spread_through_loops(function: Any, value: float) -> None:
    """The dtype reaches variables that depend on others, inner loops and branches; counters stay int64."""
    types = [type_.dtype for type_ in function.program.main.results]
    assert types == [dtypes.int64] + [dtypes.float32] * (len(types) - 1)
    assert function(np.float32(2.5))[-1] == value


def test_loops_of_default_dtypes_are_traced_once() -> None:
    """A loop without other dtypes than int64 and float64 is traced as often as without Python numbers."""
    traced = list[Any]()

    def body(i: Any, y: Any) -> Any:
        traced.append(y)
        return i + 1, y * 2.0

    assert tl.function(lambda n: tl.while_loop(lambda i, y: i < n, body, 0, 1.0)[1])(3) == 8.0
    assert len(traced) == 1


@pytest.mark.parametrize("start, following", [(0, 0.5), (0.0, np.ones(1, np.float32)), (300, np.int8(1))])
def test_other_kinds_shapes_and_ranges_are_refused(start: Any, following: Any) -> None:
    """V5: a number does not become one of another kind, an array, or a dtype that does not hold it."""
    with pytest.raises((tl.Invalid, tl.Usage), match=r"changes its type|does not fit into int8"):
        tl.function(lambda n: tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, following), 0, start))(3)


def repeat(a: Any, x: Any) -> Any:
    for _ in range(3):
        a = a + x
    return a


def choose(a: Any, x: Any) -> Any:
    return tl.cond(x > 0, lambda: a, lambda: x)


def nest(a: Any, x: Any) -> Any:
    return tl.function(add)(a, x) + a


def add(a: Any, x: Any) -> Any:
    return a + x


BODIES: dict[str, Any] = {
    "sum": add,
    "tuple": lambda a, x: (x - a * x, {"b": a * a + x}),
    "loop": repeat,
    "branch": choose,
    "call": nest,
    "called Python": lambda a, x: add(a * 2, x),
    "no meeting": lambda a, x: (a * 2, x + x),
    "both": lambda a, x: (a, a + x),
    "two dtypes": lambda a, x: (a * x, a * tl.astype(x, tl.float64)) if isinstance(a, float) else (a * x, x),
}
KEEPS_OWN_TYPE = ("both",)
"""Functions that return the number itself, too: it keeps its own type everywhere."""


def check_number_law(name: str, dtype: dtypes.DType) -> None:
    """A function that is called with a Python number has the result types, and for numbers that all dtypes have the
    values, that it has with the number in the parameter's place; a NumPy number keeps its type."""
    body, number, x = BODIES[name], (0.5 if dtype.kind == "f" else 2), dtype.numpy.type(3)
    required = tl.function(lambda x: body(number, x))
    function = tl.function(lambda a, x: body(a, x))
    for traced, arguments in ((function, (number, x)), (tl.function(lambda x: function(number, x)), (x,))):
        types = [type_.dtype for type_ in traced.trace(*arguments).program.main.results]
        assert types == [type_.dtype for type_ in required.trace(x).program.main.results]
        for engine in ("reference", "fast"):
            values = traced.run(*arguments, engine=engine).results, required.run(x, engine=engine).results
            assert all(np.array_equal(*pair) for pair in zip(*values, strict=True))
    if dtype.kind == "f":
        assert np.asarray(tl.function(add)(np.float64(0.5), x)).dtype == np.float64


@pytest.mark.inner(first=6)
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int8, dtypes.float64, dtypes.int64], ids=repr)
@pytest.mark.parametrize("name", [name for name in BODIES if name not in KEEPS_OWN_TYPE])
def test_numbers_take_the_dtype_of_what_they_meet(name: str, dtype: dtypes.DType) -> None:
    """A Python number that is passed to a function takes the dtype of the values that it meets there."""
    check_number_law(name, dtype)


def test_a_number_that_is_returned_keeps_its_type() -> None:
    """A parameter has one type: if the number is a result, that is its own, and the value is not rounded."""
    number, total = tl.function(BODIES["both"])(0.1, np.float32(1))
    assert number == 0.1
    assert np.asarray(total).dtype == np.float64


@pytest.mark.parametrize(
    "name, broken",
    [
        ("_fit_number", lambda self, spec, types, numbers, k: (types, numbers)),
        ("other_dtypes", lambda callee, numbers: set()),
        ("has_results", lambda function, types: True),
    ],
)
def test_broken_inference_of_numbers_is_caught(name: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails where numbers are not fitted, no dtype is looked for, or every dtype counts as right."""
    owner = program_builder.ProgramBuilder if name == "_fit_number" else program_builder
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises((AssertionError, tl.Invalid)):
        for each in ("sum", "branch", "no meeting", "two dtypes"):
            check_number_law(each, dtypes.float32)


@tl.function
def accumulated(n: Any, total: Any, x: Any) -> Any:
    return tl.cond(n <= 0, lambda: total, lambda: accumulated(n - 1, total + x, x))


@tl.function
def plainly(n: Any, total: Any, x: Any) -> Any:
    if n <= 0:
        return total
    return plainly(n - 1, total + x, x)


@tl.function
def even(n: Any, total: Any, x: Any) -> Any:
    return tl.cond(n <= 0, lambda: total, lambda: odd(n - 1, total + x, x))


@tl.function
def odd(n: Any, total: Any, x: Any) -> Any:
    return tl.cond(n <= 0, lambda: total, lambda: even(n - 1, total + x, x))


@tl.function
def shifted(n: Any, total: Any, last: Any, x: Any) -> Any:
    """The total gets its dtype from the variable that follows it."""
    return tl.cond(n <= 0, lambda: total, lambda: shifted(n - 1, total + last, x, x))


ACCUMULATORS = {
    "recursion": lambda start, x: accumulated(2, start, x),
    "plain Python": lambda start, x: plainly(2, start, x),
    "mutual recursion": lambda start, x: even(2, start, x),
    "two numbers": lambda start, x: shifted(3, start, start, x),
}


@pytest.mark.inner(first=6)
@pytest.mark.parametrize("name", ACCUMULATORS)
@pytest.mark.parametrize("dtype", NUMBERS, ids=repr)
def test_accumulators_of_recursions_have_the_dtype_of_the_recursive_calls(dtype: dtypes.DType, name: str) -> None:
    """A Python number that is passed to a recursive function, in a trace or by the user, takes the dtype that the
    recursive calls give to the parameter; a NumPy number keeps its own."""
    start, x, call = (0.0 if dtype.kind == "f" else 0), dtype.numpy.type(3), ACCUMULATORS[name]
    traced = tl.function(lambda x: call(start, x))
    program = traced.trace(x).program
    assert program.main.results[0].dtype is dtype
    assert len(program.functions) == (3 if name == "mutual recursion" else 2)
    for result in (traced(x), call(start, x)):
        assert result == 6
        assert np.asarray(result).dtype == dtype.numpy
    if dtype.kind == "f":
        assert np.asarray(call(np.float64(0), x)).dtype == np.float64


def test_recursions_of_default_dtypes_are_traced_once() -> None:
    """A recursion whose values have the dtypes of Python numbers is not traced again for its numbers."""
    traces = []

    @tl.function
    def count(n: Any, total: Any) -> Any:
        traces.append(n)
        return tl.cond(n <= 0, lambda: total, lambda: count(n - 1, total + n))

    assert tl.function(lambda: count(3, 0))() == 6
    once = len(traces)
    tl.function(lambda n: count(n, 0))(np.int64(3))
    assert len(traces) <= 2 * once


def test_a_number_that_does_not_fit_is_refused() -> None:
    """A number that takes a dtype into which it does not fit is refused, as it is beside an operand of that dtype."""
    with pytest.raises(tl.Usage, match="fit"):
        accumulated(2, 300, np.int8(1))
    with pytest.raises(tl.Usage, match="fit"):
        tl.function(lambda x: accumulated(2, 300, x))(np.int8(1))
