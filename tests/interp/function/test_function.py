"""Functions as users call them: traced once for each list of types, run, called in a trace, or refused with reasons."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.graph.graph import Graph
from tagloom.core.program.program import Program


@tl.function
def fib(n: tl.int64) -> tl.int64:
    """Fibonacci numbers."""
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def doubled(x):  # type: ignore[no-untyped-def]
    return x + x


@tl.function
def scaled(x: tl.float64, n: tl.int64) -> tl.float64:
    return x * tl.astype(n, tl.float64)


def counting() -> tuple[tl.Function, list[int]]:
    """A function without annotations, and the number of times that its Python ran."""
    ran: list[int] = []

    def python(x):  # type: ignore[no-untyped-def]
        ran.append(1)
        return x + x

    return tl.function(python), ran


def test_a_function_is_traced_once_for_each_list_of_types() -> None:
    """The Python function runs once for each list of argument types, for all values, whether they are Python's or
    NumPy's."""
    function, ran = counting()
    assert [function(3), function(4), function.run(-5).value, function(np.int64(6))] == [6, 8, -10, 12]
    assert len(ran) == 1
    assert (function(1.5), function(np.float64(2.5)), len(ran)) == (3.0, 5.0, 2)
    assert function(np.array([1, 2])).tolist() == [2, 4]
    assert function(np.array([3, 4])).tolist() == [6, 8]
    assert len(ran) == 3
    assert function(np.array([1, 2, 3])).tolist() == [2, 4, 6]
    assert len(ran) == 4, "another shape is another type"


def test_an_annotated_function_is_traced_once() -> None:
    """Annotations fix the types: there is one trace, and arguments are converted if they fit."""
    ran: list[int] = []

    @tl.function
    def function(x: tl.float64) -> tl.float64:
        ran.append(1)
        return x * 2.0

    assert (function(3), function(3.5), function.run(4).value, len(ran)) == (6.0, 7.0, 8.0, 1)
    assert function.graph is function.trace(3).graph
    assert function.program is function.trace(9.5).program


def test_an_annotated_function_has_a_program_and_a_graph() -> None:
    """A fully annotated function has a program and a graph without being run; the graph is the program's lowering."""
    assert isinstance(fib.program, Program) and isinstance(fib.graph, Graph)
    assert fib.program.entry == fib.graph.name == "fib"
    assert fib.graph == tl.lower(fib.program)
    assert fib.program is fib.program and fib.graph is fib.graph


def test_without_annotations_examples_give_the_types() -> None:
    """A function without annotations has no program before its types are known; `.trace` gives one for example
    arguments."""
    for read in (lambda: doubled.program, lambda: doubled.graph):
        with pytest.raises(tl.Usage) as raised:
            read()
        assert "parameter x of doubled has no type (test_function.py:" in str(raised.value)
        assert "use .trace(...)" in str(raised.value)
    assert str(doubled.trace(1).program.main.results[0]) == "int64"
    assert str(doubled.trace(np.ones((2, 3))).program.main.results[0]) == "float64[2, 3]"


def test_name_and_docstring_are_kept() -> None:
    """Its name and docstring are the Python function's."""
    assert (fib.name, fib.__name__, fib.__doc__) == ("fib", "fib", "Fibonacci numbers.")
    assert repr(fib) == "<tagloom function fib>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0,), "scaled takes 2 arguments\n  required: scaled(x: float64, n: int64)\n  got: 1 argument"),
        ((1.0, 2, 3), "scaled takes 2 arguments\n  required: scaled(x: float64, n: int64)\n  got: 3 arguments"),
        ((1.0, 2.0), "argument n of scaled: a value of the wrong type\n  required: int64\n  got: 2.0 of type float64"),
        ((1.0, True), "argument n of scaled: a value of the wrong type\n  required: int64\n  got: true of type bool"),
        ((True, 1), "argument x of scaled: a value of the wrong type\n  required: float64\n  got: true of type bool"),
        (([1.0], 1), "argument x of scaled: a value of the wrong type\n  required: float64"),
        (("x", 1), "argument x of scaled: "),
        ((1.0, None), "argument n of scaled: "),
        ((1.0, 2**63), "argument n of scaled: this integer does not fit into int64\n  got: 9223372036854775808"),
        ((1.0, np.int32(1)), "argument n of scaled: "),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], message: str) -> None:
    """Arguments that do not fit are refused before anything runs, with the parameter and both types."""
    for use in (scaled, scaled.run):
        with pytest.raises(tl.Usage) as raised:
            use(*arguments)
        assert re.sub(r" \(test_function.py:\d+\)", "", str(raised.value)).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "slow"}, "no engine is called 'slow'\n  required: auto, reference, fast, compiled, cuda"),
        ({"engine": "compiled", "until": "trap"}, "engine compiled cannot run this\n  got: until='trap'"),
        ({"schedule": "fast"}, "no schedule is called 'fast'"),
        ({"until": "never"}, "until cannot be 'never'\n  required: quiet, result, trap"),
        (
            {"keep": "tokens"},
            "a run cannot keep 'tokens'\n  required: keep=\"events\", a number of events from 1 up, or the",
        ),
        ({"keep": 0}, 'a run cannot keep 0\n  required: keep="events", a number of events from 1 up'),
        ({"keep": True}, "a run cannot keep True\n"),
    ],
)
def test_unknown_options(options: dict[str, Any], message: str) -> None:
    """An unknown option is refused with a list of the known ones."""
    with pytest.raises(tl.Usage) as raised:
        fib.run(3, **options)
    assert str(raised.value).startswith(message)


def test_a_run_inside_a_trace_is_refused() -> None:
    """A run during a trace is refused, at the user's line; a call adds a call to the program."""

    @tl.function
    def runs(n: tl.int64) -> tl.int64:
        return fib.run(n).value

    with pytest.raises(tl.Usage) as raised:
        runs(3)
    line = runs.__wrapped__.__code__.co_firstlineno + 2
    assert str(raised.value) == f"fib.run cannot be traced (test_function.py:{line})\n  hint: write fib(...)"

    @tl.function
    def calls(n: tl.int64) -> tl.int64:
        return fib(n) + 1

    assert calls(6) == 14
    assert {function.name for function in calls.program.functions} == {"calls", "fib"}


@pytest.mark.parametrize("what", [3, "fib", len, None], ids=str)
def test_only_python_functions_are_accepted(what: Any) -> None:
    """Anything but a Python function is refused at the user's line."""
    with pytest.raises(tl.Usage, match=r"tl.function needs a Python function \(test_function.py:\d+\)"):
        tl.function(what)


def test_a_function_of_tagloom_stays_what_it_is() -> None:
    """`tl.function` returns a function of tagloom itself, and refuses options for it."""
    assert tl.function(fib) is fib
    assert tl.function(tl.grad(lambda x: x * x))(3.0) == 6.0
    with pytest.raises(tl.Invalid, match=r"fib is already a tagloom function, whose options do not change"):
        tl.function(relax_shapes=True)(fib)


def test_a_failed_trace_can_be_tried_again() -> None:
    """A trace that fails in the user's Python leaves nothing behind: it raises again, and other functions trace."""
    fails = [True]

    @tl.function
    def shaky(n: tl.int64) -> tl.int64:
        if fails[0]:
            raise ValueError("not yet")
        return n + 1

    for _ in "12":
        with pytest.raises(ValueError, match="not yet"):
            shaky(1)
    assert fib(5) == 8
    fails.clear()
    fails.append(False)
    assert shaky(1) == 2


def test_two_threads_trace_independently() -> None:
    """Two functions that are traced alternately in two threads do not mix."""
    barrier = threading.Barrier(2, timeout=30)

    def make(offset: int) -> tl.Function:
        def python(n: tl.int64) -> tl.int64:
            barrier.wait()
            m = n + offset
            barrier.wait()
            return tl.cond(m < 0, lambda: 0, lambda: m * offset)

        return tl.function(python)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda offset: make(offset)(1), (10, 20))) == [110, 420]


def test_one_function_in_many_threads() -> None:
    """A function that several threads call first at the same time returns each the right value."""

    @tl.function
    def fresh(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 1, lambda: 1, lambda: fresh(n - 1) + fresh(n - 2))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh, range(10))) == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
