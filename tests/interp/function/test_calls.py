"""A `tl.function` is called as Python calls functions: defaults, keywords, `*args`, `**kwargs`, and any callable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st

ENGINES = ("reference", "fast", "compiled")


def scale(x: Any, y: Any = 2.0, *rest: Any, k: Any = 1.0, **named: Any) -> Any:
    """Each argument has another weight, so that no two can be confused."""
    return (
        x + 10 * y + 100 * k + sum(1000 * each for each in rest) + sum(len(key) * each for key, each in named.items())
    )


def positional(x: Any, /, y: Any = 2.0) -> Any:
    return x - y


def keyword_only(x: Any, *, k: Any) -> Any:
    return x - k


FUNCTIONS: dict[str, Callable[..., Any]] = {each.__name__: each for each in (scale, positional, keyword_only)}
CALLED = {name: tl.function(python) for name, python in FUNCTIONS.items()}
NUMBERS = st.integers(-8, 8).map(float)


@given(
    name=st.sampled_from(sorted(FUNCTIONS)),
    arguments=st.lists(NUMBERS, max_size=4),
    named=st.dictionaries(st.sampled_from(["x", "y", "k", "other", "further"]), NUMBERS, max_size=3),
)
def test_calls_bind_as_in_python(name: str, arguments: list[float], named: dict[str, float]) -> None:
    """A call returns what Python's call returns, and is refused, with Python's class of error, where Python refuses it;
    `run` takes the same arguments, except those that have the names of its options."""
    python, function = FUNCTIONS[name], CALLED[name]
    try:
        expected = python(*arguments, **named)
    except TypeError:
        with pytest.raises(tl.Usage) as caught:
            function(*arguments, **named)
        assert isinstance(caught.value, TypeError) and Path(__file__).name in str(caught.value.where)
        return
    assert function(*arguments, **named) == expected
    if "k" not in named:
        assert function.run(*arguments, **named).value == expected


@given(arguments=st.lists(NUMBERS, min_size=1, max_size=3), k=NUMBERS)
def test_calls_in_traces_bind_as_in_python(arguments: list[float], k: float) -> None:
    """A traced call binds its arguments as an eager call does."""
    outer = tl.function(lambda *values: CALLED["scale"](*values, k=k, other=values[0]))
    assert outer(*arguments) == scale(*arguments, k=k, other=arguments[0])


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("engine", ENGINES)
def test_recursion_with_a_default(engine: str) -> None:
    """A recursive call may pass its arguments by keyword and leave out defaults, on every engine."""

    @tl.function
    def total(n: tl.int64, accumulated: tl.int64 = 0) -> Any:
        return tl.cond(n <= 0, lambda: accumulated, lambda: total(n - 1, accumulated=accumulated + n))

    assert total.run(10, engine=engine).value == 55
    assert total.run(10, accumulated=5, engine=engine).value == 60
    assert [name for name, _ in total.program.main.body.parameters] == ["n", "accumulated"]


def test_limits_of_the_command_line_have_a_hint() -> None:
    """Who limits a run by a keyword of the command line's name is told how to write it; a parameter of that name, or
    another wrong keyword, has no such hint."""

    @tl.function
    def wait(n: tl.int64, timeout: tl.int64 = 3) -> tl.int64:
        return n + timeout

    with pytest.raises(tl.Usage, match=r"hint: a limit is an option of its own: limits=tl.Limits\(firings=...\)"):
        wait.run(1, max_firings=100)
    with pytest.raises(tl.Usage, match="unexpected keyword argument 'firings'") as caught:
        wait.run(1, firings=100)
    assert caught.value.hint is None
    assert wait.run(1, timeout=4).value == 5


def test_gradients_take_defaults_and_keywords() -> None:
    """The gradient of a function is called as the function is; `argnums` counts parameters, `*args` as one."""
    assert tl.grad(scale)(1.0, k=3.0) == 1.0
    assert tl.grad(scale, 1)(1.0, y=4.0) == 10.0
    assert tl.grad(scale, 2)(1.0, 2.0, 3.0, 4.0) == (1000.0, 1000.0)
    value, pullback = tl.vjp(scale, 1.0, 2.0, 3.0)
    assert value == scale(1.0, 2.0, 3.0) and pullback(1.0) == (1.0, 10.0, (1000.0,), None, {})


def test_a_default_number_takes_the_dtype_that_fits() -> None:
    """A default without a declared type is a Python number in the trace, like a literal; with one, it has that type."""

    def raised(x: Any, n: Any = 3) -> Any:
        return x * n

    def typed(x: Any, n: tl.int32 = 3) -> Any:
        return n

    assert tl.function(raised)(2.5) == 7.5 and tl.function(raised)(2) == 6
    assert tl.function(typed).run(1.0).results[0].dtype == np.int32


class Affine:
    """An object that is called."""

    def __init__(self, factor: float) -> None:
        self.factor, self.name = factor, "an attribute of its own"

    def __call__(self, x: Any, offset: Any = 1.0) -> Any:
        return self.factor * x + offset

    def method(self, x: Any, *, offset: Any = 1.0) -> Any:
        return self.factor * x + offset

    @classmethod
    def of_class(cls, x: Any, offset: Any = 1.0) -> Any:
        return x + offset


@pytest.mark.parametrize(
    ("python", "name"),
    [
        (Affine(3.0), "Affine"),
        (Affine(3.0).method, "method"),
        (Affine.of_class, "of_class"),
        (functools.partial(scale, 5.0), "scale"),
        (functools.partial(scale, y=5.0), "scale"),
        (functools.partial(Affine(3.0), offset=5.0), "Affine"),
        (functools.partial(tl.function(scale), 1.0), "scale"),
    ],
    ids=["object", "method", "class method", "partial", "partial by keyword", "partial of an object", "of a function"],
)
def test_any_callable_is_a_function(python: Callable[..., Any], name: str) -> None:
    """Objects with `__call__`, methods and partials become functions, named after what they call."""
    function = tl.function(python)
    assert function.name == name and function.file == __file__
    assert function(2.0) == python(2.0)
    assert list(inspect.signature(function).parameters) == list(inspect.signature(python).parameters)
    assert tl.grad(function)(2.0) == pytest.approx((python(3.0) - python(1.0)) / 2)


@pytest.mark.parametrize("builtin", [len, int, np.sin])
def test_builtins_are_refused(builtin: Any) -> None:
    """A callable without Python code cannot be traced."""
    with pytest.raises(tl.Usage, match="needs a Python function") as caught:
        tl.function(builtin)
    assert isinstance(caught.value, TypeError)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("engine", ENGINES)
def test_none_is_a_result(engine: str) -> None:
    """A function that returns None does so when it is called, run, and called by other functions, on every engine; its
    prints happen once."""

    @tl.function
    def show(x: tl.int64) -> None:
        tl.print(x)

    @tl.function
    def program(n: tl.int64) -> Any:
        show(n)
        tl.cond(n > 3, lambda: show(n + 1), lambda: None)
        return n, None

    lines: list[str] = []
    outcome = program.run(5, engine=engine, world=tl.World(lines.append))
    assert outcome.value == (5, None) and lines == ["5", "6"]
    assert show.run(1, engine=engine, world=tl.World(lines.append)).value is None and lines == ["5", "6", "1"]


def test_none_is_an_argument_and_a_loop_variable() -> None:
    """None is a static argument, in containers too, and may be a part of a loop variable."""

    @tl.function
    def add(x: Any, other: Any = None) -> Any:
        return x if other is None or other["bias"] is None else x + other["bias"]

    @tl.function
    def loop(n: tl.int64) -> Any:
        return tl.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, None), (0, None))

    assert [add(1.0), add(1.0, None), add(1.0, {"bias": None}), add(1.0, {"bias": 2.0})] == [1.0, 1.0, 1.0, 3.0]
    assert loop(3) == ((3, None),)


def test_a_branch_that_returns_none_where_the_other_returns_a_value_is_refused() -> None:
    """Only both branches of a cond may return None."""
    with pytest.raises(tl.Invalid, match="V5"):
        tl.function(lambda x: tl.cond(x > 0, lambda: x, lambda: None))(1.0)


@pytest.mark.parametrize("kind", ["grad", "value_and_grad"])
@pytest.mark.parametrize("values", [(np.ones(2),), (1.0, 2.0), (np.ones(2), np.ones(2), 3.0)])
def test_values_beside_the_function_are_refused(kind: str, values: tuple[Any, ...]) -> None:
    """`tl.grad(f, w, b)` says what to write: the values belong behind `tl.grad(f)`."""
    with pytest.raises(tl.Usage) as caught:
        getattr(tl, kind)(scale, *values)
    assert isinstance(caught.value, TypeError) and f"{kind}(f)(x" in f"{caught.value.required} {caught.value.hint}"
