"""D4: a get that waits for a later put is refused exactly where its gradient would be wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
import tagloom as tl
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tagloom.core.autodiff import cells as waiting
from tagloom.core.autodiff import resolve

FLOAT = tl.float64
X = 1.5


@tl.function
def read(held: Any, at: Any) -> Any:
    return tl.get(held, at)


@tl.function
def filled(held: Any, at: Any, x: Any) -> Any:
    return tl.put(held, at, x)


def read_first(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = tl.get(held, 0)
    return early * tl.get(tl.put(held, 0, x), 0)


def collected_first(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = tl.sum(tl.collect(held))
    return early * tl.get(tl.put(held, 0, x), 0)


def read_between(x: Any) -> Any:
    """A get after a put to another cell."""
    held = tl.put(tl.cells(2, FLOAT), 0, x)
    early = tl.get(held, 1)
    return early * tl.get(tl.put(held, 1, x * x), 0)


def collected_between(x: Any) -> Any:
    held = tl.put(tl.cells(2, FLOAT), 0, x)
    early = tl.sum(tl.collect(held))
    return early * tl.get(tl.put(held, 1, x * x), 0)


def filled_by_a_loop(x: Any) -> Any:
    held = tl.cells(3, FLOAT)
    early = tl.get(held, 2)
    return early * tl.get(tl.while_loop(lambda k, _: k < 3, lambda k, h: (k + 1, tl.put(h, k, x)), 0, held)[1], 0)


def read_in_a_branch(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = tl.cond(x > 0.0, lambda: tl.get(held, 0), lambda: 1.0)
    return early * tl.get(tl.put(held, 0, x), 0)


def put_in_a_branch(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = tl.get(held, 0)
    return early * tl.get(tl.cond(x > 0.0, lambda: tl.put(held, 0, x), lambda: tl.put(held, 0, 2.0)), 0)


def made_in_a_loop(x: Any) -> Any:
    def body(k: Any, total: Any) -> Any:
        held = tl.cells(1, FLOAT)
        early = tl.get(held, 0)
        return k + 1, early + total * tl.get(tl.put(held, 0, x), 0)

    return tl.while_loop(lambda k, _: k < 2, body, 0, 1.0)[1]


def read_by_a_function(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = read(held, 0)
    return early * tl.get(tl.put(held, 0, x), 0)


def put_by_a_function(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = tl.get(held, 0)
    return early * tl.get(filled(held, 0, x), 0)


@tl.function
def inside(held: Any, x: Any) -> Any:
    early = tl.get(held, 0)
    return early * tl.get(tl.put(held, 0, x), 0)


def both_in_a_function(x: Any) -> Any:
    return inside(tl.cells(1, FLOAT), x)


@tl.function
def first_of(held: Any) -> Any:
    return tl.get(held, 0)


def read_early_and_late_by_a_function(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = first_of(held)
    return early + first_of(tl.put(held, 0, x * x))


WRONG = [
    read_first,
    collected_first,
    read_between,
    collected_between,
    filled_by_a_loop,
    read_in_a_branch,
    put_in_a_branch,
    made_in_a_loop,
    read_by_a_function,
    put_by_a_function,
    both_in_a_function,
    read_early_and_late_by_a_function,
]


def of_a_constant(x: Any) -> Any:
    held = tl.cells(1, FLOAT)
    early = tl.get(held, 0)
    return early * tl.get(tl.put(held, 0, 3.0), 0) * x


def of_another_cell(x: Any) -> Any:
    held = tl.cells(2, FLOAT)
    early = tl.get(held, 0)
    return early * tl.get(tl.put(tl.put(held, 1, x), 0, 3.0), 1)


def of_another_index(x: Any) -> Any:
    """The name of the index shows that it is another one."""
    held = tl.cells(2, FLOAT)
    at = tl.astype(x, tl.int64) - 1
    early = tl.get(held, at)
    return early * tl.get(tl.put(tl.put(held, at, 3.0), 1, x), 1)


def of_a_number_that_differs(x: Any) -> Any:
    """A value that depends on x is put to another cell for certain, and a constant to some cell."""
    held = tl.cells(2, FLOAT)
    early = tl.get(held, 0)
    return early * tl.get(tl.put(tl.put(held, 1, x), tl.astype(x, tl.int64) - 1, 3.0), 1)


def for_a_branch(x: Any) -> Any:
    """A get for a predicate, which has no adjoint."""
    held = tl.cells(1, FLOAT)
    early = tl.get(held, 0)
    held = tl.put(held, 0, x)
    return tl.cond(early > 0.0, lambda: tl.get(held, 0) * x, lambda: x)


def in_a_row(x: Any) -> Any:
    held = tl.put(tl.cells(4, FLOAT), 0, x)
    return tl.get(
        tl.while_loop(lambda k, _: k < 4, lambda k, h: (k + 1, tl.put(h, k, x * tl.get(h, k - 1))), 1, held)[1], 3
    )


def in_a_guarded_row(x: Any) -> Any:
    """The cells are empty in the first iteration, which does not read them."""

    def body(k: Any, held: Any) -> Any:
        return k + 1, tl.put(held, k, tl.cond(k == 0, lambda: x, lambda: x * tl.get(held, k - 1)))

    return tl.get(tl.while_loop(lambda k, _: k < 4, body, 0, tl.cells(4, FLOAT))[1], 3)


@tl.function
def chain(held: Any, k: Any, x: Any) -> Any:
    value = tl.cond(k == 0, lambda: x, lambda: x * tl.get(held, k - 1))
    more = tl.put(held, k, value)
    return tl.cond(k == 3, lambda: tl.get(more, 3), lambda: chain(more, k + 1, x))


def by_recursion(x: Any) -> Any:
    return chain(tl.cells(4, FLOAT), 0, x)


@tl.function
def of_its_own(held: Any) -> Any:
    held = tl.put(held, 0, 3.0)
    return held, tl.get(held, 0)


def in_a_function(x: Any) -> Any:
    held, early = of_its_own(tl.cells(2, FLOAT))
    return early * tl.get(tl.put(held, 1, x), 1)


RIGHT = [
    of_a_constant,
    of_another_cell,
    of_another_index,
    of_a_number_that_differs,
    for_a_branch,
    in_a_row,
    in_a_guarded_row,
    by_recursion,
    in_a_function,
]


class CellStep(NamedTuple):
    """A put to a cell, of x or of a constant, or a get of it: in the function itself, in a branch or in a loop."""

    kind: str
    cell: int
    way: str = "plain"


READ = st.builds(CellStep, st.just("read"), st.integers(0, 2), st.sampled_from(["plain", "branch", "loop"]))
PUT = st.sampled_from(["x", "constant", "what was read"])


@st.composite
def threads(draw: Any) -> list[CellStep]:
    """Each of three cells is put once, in any order, with gets anywhere."""
    steps = [CellStep(draw(PUT), cell) for cell in draw(st.permutations(range(3)))]
    for read in draw(st.lists(READ, min_size=1, max_size=3)):
        steps.insert(draw(st.integers(0, len(steps))), read)
    return steps


def following(steps: Sequence[CellStep]) -> Callable[[Any], Any]:
    """The function of such a thread of steps; each get has another weight in the result."""

    def function(x: Any) -> Any:
        held, document, total = tl.cells(3, FLOAT), x * 0.5, x
        for number, (kind, cell, way) in enumerate(steps):
            if kind == "read":
                document = read_in(way, held, cell, x)
                total = total + tl.sin(document * (1.0 + number))
            else:
                value = {"x": x * (2.0 + cell), "constant": 0.3 + cell, "what was read": document * 1.1}[kind]
                held = tl.put(held, cell, value)
        return total + 0.0 * tl.get(held, 0)

    return function


@tl.autograph.inline
def read_in(way: str, held: Any, cell: int, x: Any) -> Any:
    if way == "branch":
        return tl.cond(x > 0.0, lambda: tl.get(held, cell), lambda: 0.0)
    if way == "loop":
        return tl.while_loop(lambda k, _: k < 2, lambda k, total: (k + 1, total + tl.get(held, cell)), 0, 0.0)[1]
    return tl.get(held, cell)


def is_refused(function: Callable[[Any], Any]) -> bool:
    try:
        tl.grad(function).trace(X)
    except tl.Invalid as error:
        assert error.rule == "D4"
        return True
    return False


@settings(max_examples=25)
@given(threads())
def test_d4_threads_whose_gradients_would_be_wrong_are_refused(steps: list[CellStep]) -> None:
    """D4: if the indices of cells are literals, a thread is refused exactly if its gradient, when permitted, would
    differ from finite differences; only a thread that puts a value that it has read may be refused needlessly."""
    function = following(steps)
    assume(tl.function(function).run(X).status == "Returned")
    refused = is_refused(function)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolve, "check_deferred_reads", lambda *_: ())
        result = tl.grad(function)(X)
    is_wrong = result != pytest.approx(slope(function), rel=1e-5, abs=1e-5)
    assert refused == is_wrong or (refused and any(step.kind == "what was read" for step in steps))


@tl.function
def handed_on(held: Any, x: Any) -> Any:
    return held, x * 1.0


@tl.function
def fresh() -> Any:
    return tl.cells(1, FLOAT)


@tl.function
def fresh_beside(x: Any) -> Any:
    return fresh(), x * 1.0


NEW = {"made beside": lambda x: fresh_beside(x)[0], "made": lambda x: fresh()}
"""How a function makes an array: one that is differentiated, and one that is not."""


def of_two_arrays(steps: Sequence[str], way: str) -> Callable[[Any], Any]:
    """A put to each of two arrays and a get of each, in this order; both are passed to one function, or returned by
    one."""

    def function(x: Any) -> Any:
        new = NEW.get(way, lambda x: tl.cells(1, FLOAT))
        held, total = {"a": new(x), "b": new(x)}, x
        for kind, name in map(str.split, steps):
            if way == "handed on":
                held[name], _ = handed_on(held[name], x)
            if kind == "read":
                total = total + tl.sin((read if way.endswith("by a function") else tl.get)(held[name], 0))
            else:
                put = filled if way == "put by a function" else tl.put
                held[name] = put(held[name], 0, x * {"a": 2.0, "b": 3.0}[name])
        return total + 0.0 * (tl.get(held["a"], 0) + tl.get(held["b"], 0))

    return function


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("way", ["read by a function", "put by a function", "handed on", *NEW])
@pytest.mark.parametrize("steps", [*itertools.permutations(["put a", "put b", "read a", "read b"])], ids=", ".join)
def test_d4_arrays_passed_to_one_function_are_distinguished(steps: Sequence[str], way: str) -> None:
    """D4: the thread is refused if one of the two arrays is read before its put, whichever was created first, and is
    right otherwise."""
    function = of_two_arrays(steps, way)
    is_early = any(steps.index(f"read {name}") < steps.index(f"put {name}") for name in "ab")
    assert is_refused(function) == is_early
    assert is_early or tl.grad(function)(X) == pytest.approx(slope(function), rel=1e-6)


def slope(function: Callable[[Any], Any]) -> float:
    """The derivative by finite differences."""
    run, step = tl.function(function), 1e-6
    return float(run(X + step) - run(X - step)) / (2 * step)


@pytest.mark.parametrize("function", WRONG)
def test_d4_a_get_before_its_put_is_refused(function: Callable[[Any], Any]) -> None:
    """D4: the error has the line of the get and the name of the put. The program itself runs."""
    assert slope(function) != 0.0
    with pytest.raises(tl.Invalid, match=r"D4: .* waits for .*, a later put") as raised:
        tl.grad(function)(X)
    assert "test_waiting.py" in str(raised.value) and "through the handle that the put returns" in str(
        raised.value.hint
    )


@pytest.mark.parametrize("function", WRONG)
def test_refused_gradients_would_be_wrong(function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """If the check is disabled, the derivative differs from finite differences."""
    monkeypatch.setattr(resolve, "check_deferred_reads", lambda *_: ())
    assert tl.grad(function)(X) != pytest.approx(slope(function), rel=1e-6)


@pytest.mark.inner(first=6)
@pytest.mark.parametrize("function", RIGHT)
def test_right_gradients_are_not_refused(function: Callable[[Any], Any]) -> None:
    """A later put is allowed if it is of a constant, or to another cell, or if the get needs no adjoint."""
    assert tl.grad(function)(X) == pytest.approx(slope(function), rel=1e-6)


@pytest.mark.parametrize(
    ("broken", "function"),
    [
        ("_puts_varied_value", of_a_constant),
        ("_may_be_same_cell", of_a_number_that_differs),
        ("_is_same_cell", in_a_row),
    ],
)
def test_refusing_too_much_is_caught(broken: str, function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that takes every put for one that depends on x, and goes to the same cell, is caught."""
    monkeypatch.setattr(waiting, broken, lambda *_: True)
    with pytest.raises(tl.Invalid, match="D4"):
        tl.grad(function)(X)
