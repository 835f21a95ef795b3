"""`tl.vmap`: the k-th element of a result is the function of the k-th elements, to the bit, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.python_functions import FUNCTIONS, PIECES, compose
from tagloom.core.value import is_same_value
from tagloom.interp.function import vectorize
from tagloom.interp.function.function import argument_leaves
from tagloom.interp.oracle.check import check

VALUES = np.array([-1.5, 0.0, 0.3, 2.0, 0.75])


def assert_agrees_on_engines(function: tl.Function, *arguments: Any) -> None:
    traced = function.trace(*arguments)
    leaves = traced.all_arguments(argument_leaves(function, arguments))
    verdicts = list(check(traced.graph, traced.program, leaves, engines=True))
    assert all(verdict.difference is None for verdict in verdicts), verdicts


def check_map_law(names: Sequence[str], values: Any) -> None:
    """A mapped function has the bits of a Python loop, and fires as often as the calls and the loop do."""
    function = tl.function(compose(names))
    mapped = tl.vmap(function)
    runs = [function.run(x, engine="reference") for x in values]
    outcome = mapped.run(values, engine="reference")
    assert is_same_value(np.asarray(outcome.value), np.array([run.value for run in runs]))
    empty = mapped.run(values[:0], engine="reference")
    one = mapped.run(values[:1], engine="reference").firings - empty.firings - runs[0].firings
    assert outcome.firings == empty.firings + sum(run.firings + one for run in runs)


@settings(max_examples=12, deadline=None)
@given(FUNCTIONS)
def test_a_map_has_the_bits_of_a_python_loop(names: Sequence[str]) -> None:
    """vmap(f)(xs) is stack([f(x) for x in xs]), bit for bit, of generated functions with branches, loops and recursion;
    its firings are those of the calls, and a constant number for each element."""
    check_map_law(names, VALUES)


@pytest.mark.full
@pytest.mark.parametrize("name", PIECES)
def test_every_engine_and_schedule_maps(name: str) -> None:
    """All engines and schedules agree on mapped branches, loops and recursion."""
    assert_agrees_on_engines(tl.vmap(PIECES[name]), VALUES)


def reverse_elements(scan: Any) -> Any:
    def scan_reversed(step: Any, initial: Any, count: Any, element_at: Callable[[Any], Any]) -> Any:
        return scan(step, initial, count, lambda k: element_at(count - 1 - k))

    return scan_reversed


def repeat_an_element(scan: Any) -> Any:
    def scan_repeated(step: Any, initial: Any, count: Any, element_at: Callable[[Any], Any]) -> Any:
        return scan(step, initial, count, lambda k: element_at(tl.where(k == 2, 1, k)))

    return scan_repeated


@pytest.mark.parametrize("break_scan", [reverse_elements, repeat_an_element])
def test_broken_maps_are_caught(break_scan: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails for a map that takes the elements in another order, or one of them twice."""
    monkeypatch.setattr(vectorize, "scan_elements", break_scan(vectorize.scan_elements))
    with pytest.raises(AssertionError):
        check_map_law(["square"], VALUES)


@settings(max_examples=20, deadline=None)
@given(st.integers(-3, 2), st.integers(-3, 2))
def test_axes(in_axis: int, out_axis: int) -> None:
    """Any axis of an argument may be mapped, and stand at any place of a result."""
    x, y = np.arange(24.0).reshape(2, 3, 4), np.array([1.0, -1.0])
    elements = [tl.sum(row) * row + y[0] for row in np.moveaxis(x, in_axis, 0)]
    mapped = tl.vmap(lambda x, y: tl.sum(x) * x + y[0], (in_axis, None), out_axis)(x, y)
    assert is_same_value(mapped, np.stack(elements, out_axis))


def check_unmapped_law(names: Sequence[str]) -> None:
    """A result without an axis is that of one call; a result that depends on an element is refused as such."""
    function = compose(names)
    both = tl.vmap(lambda x, y: (function(x), function(y)), (0, None), (0, None))
    rows, one = both(VALUES, 0.3)
    assert is_same_value(rows, tl.vmap(function)(VALUES)) and is_same_value(one, tl.function(function)(0.3))
    for draw in (tl.uniform, lambda: tl.callback(lambda: 1.0, returns=tl.float64)):
        for result in (lambda x, _: function(x), lambda _, y, draw=draw: function(y) + draw()):
            with pytest.raises(tl.Usage, match="may differ from element to element"):
                tl.vmap(result, (0, None), None)(VALUES, 0.3)


@settings(max_examples=5, deadline=None)
@given(FUNCTIONS)
def test_results_that_depend_on_no_element_need_no_axis(names: Sequence[str]) -> None:
    """With out_axes None a result of generated functions is returned once; if an element, a random number or a callback
    decides it, it is refused."""
    check_unmapped_law(names)


def test_broken_maps_without_an_axis_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails where random numbers and callbacks count as the same for each element."""
    monkeypatch.setattr(vectorize, "has_changing_results", lambda node, functions: False)
    with pytest.raises(pytest.fail.Exception):
        check_unmapped_law(["sine"])


VARIABLE = tl.Variable(1.0)


def put_and_get(value: Any) -> Any:
    cells = tl.cells(1, tl.float64)
    tl.put(cells, 0, value)
    return tl.get(cells, 0)


def count_up() -> Any:
    VARIABLE.assign(VARIABLE + 1.0)
    return VARIABLE + 0.0


@pytest.mark.parametrize(
    "function, value",
    [
        (lambda x, y: put_and_get(y), 2.0),
        (lambda x, y: put_and_get(x), None),
        (lambda x, y: tl.cond(x > 0.0, lambda: y, lambda: y + 1.0), None),
        (lambda x, y: count_up(), None),
        (lambda x, y: y + VARIABLE, 3.0),
        (lambda x, y: 7.0, 7.0),
    ],
)
def test_what_a_result_without_an_axis_may_depend_on(function: Any, value: float | None) -> None:
    """Cells, branches and assigned variables carry what differs from element to element; other values do not."""
    mapped = tl.vmap(function, (0, None), None)
    if value is not None:
        assert mapped(VALUES, 2.0) == value
    else:
        with pytest.raises(tl.Usage, match="may differ"):
            mapped(VALUES, 2.0)
    with pytest.raises(tl.Usage, match=r"has no elements|may differ"):
        mapped(VALUES[:0], 2.0)


def count_beside(x: Any, k: Any) -> Any:
    i, total = 0, 0.0
    while i < k:
        i, total = i + 1, total + x
    return total, i


def choose_beside(x: Any, k: Any) -> Any:
    return tl.cond(k > 2, lambda: (x, k), lambda: (2.0 * x, -k))


def draw_beside(x: Any, k: Any) -> Any:
    i, total = 0, x
    while i < k:
        i, total = i + 1, total + tl.uniform()
    return total, i


def count_by_element(x: Any, k: Any) -> Any:
    i, total = 0, 0.0
    while total < x:
        i, total = i + 1, total + 1.0
    return total, i


def choose_by_element(x: Any, k: Any) -> Any:
    return tl.cond(x > 2, lambda: (x, k), lambda: (2.0 * x, -k))


def pass_on(x: Any, k: Any) -> Any:
    i, a, b, c = 0, 0.0, 0.0, 0.0
    while i < k:
        i, a, b, c = i + 1, x, a, b
    return a, c


def put_beside(x: Any, k: Any) -> Any:
    cells, i = tl.cells(k, tl.float64), 0
    while i < k:
        cells[i] = x
        i += 1
    return x, cells[0]


@pytest.mark.parametrize("function", [count_beside, choose_beside, draw_beside])
def test_results_beside_mapped_ones(function: Any) -> None:
    """A variable of a loop, or a result of a branch, that depends on no element needs no axis, beside those that do."""
    results, one = tl.vmap(function, (0, None), (0, None))(VALUES, 4)
    assert results.shape == VALUES.shape and one == function(VALUES[0], 4)[1]


def check_refusals_beside() -> None:
    for function in (count_by_element, choose_by_element, pass_on, put_beside):
        with pytest.raises(tl.Usage, match=r"the result\[1\] of \w+ may differ"):
            tl.vmap(function, (0, None), (0, None))(VALUES, 4)


def test_results_that_elements_decide() -> None:
    """A condition that depends on an element decides every result; a value goes from one loop variable to another, and
    through cells."""
    check_refusals_beside()


def test_broken_dependences_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusals fail where the regions of a node begin without mapped parameters."""
    monkeypatch.setattr(vectorize, "mapped_parameters", lambda region, flags: set())
    with pytest.raises(pytest.fail.Exception):
        check_refusals_beside()


def test_axes_nest_as_arguments_do() -> None:
    """The axes of a nested argument are a nest, and so are those of a result."""
    params = {"w": [np.arange(6.0).reshape(2, 3), np.ones(3)], "scale": 2.0}
    axes = ({"w": [1, None], "scale": None}, 0)

    def function(params: Any, x: Any) -> Any:
        w, v = params["w"]
        return {"a": w * x, "b": (params["scale"] * x, v * x)}

    result = tl.vmap(function, axes, {"a": 1, "b": (0, -1)})(params, VALUES[:3])
    rows = [function({"w": [params["w"][0][:, k], params["w"][1]], "scale": 2.0}, VALUES[k]) for k in range(3)]
    assert is_same_value(result["a"], np.stack([row["a"] for row in rows], 1))
    assert is_same_value(result["b"][0], np.array([row["b"][0] for row in rows]))
    assert is_same_value(result["b"][1], np.stack([row["b"][1] for row in rows], -1))


@pytest.mark.full
def test_maps_nest() -> None:
    """A map of a map goes over two axes; one in a branch of a recursive function works as well."""
    table = np.arange(6.0).reshape(2, 3)
    assert is_same_value(tl.vmap(tl.vmap(lambda x: x * x))(table), table * table)
    products = tl.vmap(tl.vmap(lambda x, y: x * y, (None, 0)), (0, None))(VALUES, table[1])
    assert is_same_value(products, np.outer(VALUES, table[1]))

    @tl.function
    def doubled(n: Any, x: Any) -> Any:
        return tl.cond(n <= 0, lambda: x, lambda: doubled(n - 1, tl.vmap(lambda each: each + each)(x)))

    assert is_same_value(doubled(3, table[0]), 8.0 * table[0])


@pytest.mark.full
def test_gradients_and_maps() -> None:
    """The gradient of a sum of a map is the map of the gradient, bit for bit but for the sign of zeros, to which zeros
    are added; so are second derivatives."""
    function = compose(["branch", "chain", "loop"])
    each = tl.vmap(tl.grad(function))(VALUES)
    assert np.array_equal(tl.grad(lambda xs: tl.sum(tl.vmap(function)(xs)))(VALUES), each)
    second = tl.vmap(tl.grad(tl.grad(function)))(VALUES)
    assert np.array_equal(np.diagonal(tl.jacobian(tl.vmap(tl.grad(function)))(VALUES)), second)


def test_sizes_known_only_to_the_run() -> None:
    """With an annotation the mapped axis has any size, and one program serves all of them; the empty one, too."""

    def power(x: tl.float64, n: tl.int64) -> tl.float64:
        return tl.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * x), 0, 1.0)[1]

    powers = tl.vmap(power, (0, None))
    assert str(powers.program.main.body.parameters[0].type) == "float64[?]"
    assert powers([2.0, 3.0], 3).tolist() == [8.0, 27.0] and powers([], 3).tolist() == []
    assert powers.explain().count("\n") == 2, "one tracing"


@pytest.mark.full
def test_random_numbers_of_elements() -> None:
    """Each element draws its own numbers, the same on every engine and schedule."""
    drawn = tl.vmap(lambda x: x + tl.uniform(()))
    values = np.zeros(50)
    one, other = (np.asarray(drawn.run(values, seed=3, schedule=each).value) for each in ("fifo", "random:4"))
    assert np.array_equal(one, other) and len(set(one)) == 50


@pytest.mark.full
def test_defaults_are_passed_whole() -> None:
    """A default that a call leaves out is not mapped, and its number takes the dtype of the elements."""

    def scaled(x: Any, scale: Any = 2.0, *, offsets: Any = (1.0, None)) -> Any:
        return x * scale + offsets[0]

    values = VALUES.astype(np.float32)
    for axes in (0, (0,), (0, 0)):
        mapped = tl.vmap(scaled, axes)(values)
        assert mapped.dtype == np.float32 and mapped.tolist() == scaled(values).tolist()
    assert tl.vmap(scaled)(values, values).tolist() == scaled(values, values).tolist()
    assert tl.vmap(tl.vmap(scaled))(values[None]).dtype == np.float32


REFUSED = {
    "axes of *args": (lambda: tl.vmap(lambda *xs: xs[0], (0, None))(VALUES, 1.0), r"hint: \*args is one parameter"),
    "axes of another number": (
        lambda: tl.vmap(pair, (0,)),
        "in_axes of vmap does not have one entry for each argument",
    ),
    "no axis": (lambda: tl.vmap(pair, None)(VALUES, VALUES), "vmap maps over no axis"),
    "lengths": (lambda: tl.vmap(pair)(VALUES, VALUES[:2]), "the mapped axes have different lengths.*\n.*\n.*5 of x"),
    "a number": (lambda: tl.vmap(pair)(VALUES, 1.0), "argument y of pair has no axis 0"),
    "a nest": (lambda: tl.vmap(pair, ({"a": 0}, 0))(VALUES, VALUES), "in_axes of vmap does not nest as x"),
    "a word": (lambda: tl.vmap(pair, "0"), "in_axes of vmap must be integers or None"),
    "an array": (lambda: tl.vmap(pair, VALUES), r"write vmap\(f\)\(x\)"),
    "a result": (lambda: tl.vmap(pair, 0, 3)(VALUES, VALUES), "cannot have the mapped axis at 3"),
    "no result axis": (lambda: tl.vmap(pair, 0, None)(VALUES, VALUES), "may differ from element to element"),
}


def pair(x: Any, y: Any) -> Any:
    return x * y


@pytest.mark.parametrize("case", REFUSED)
def test_axes_that_do_not_fit_are_refused(case: str) -> None:
    """Axes that do not fit are refused at the user's line, with the name of the argument."""
    call, message = REFUSED[case]
    with pytest.raises((tl.Usage, tl.Invalid), match=message) as refused:
        call()
    assert "test_vmap.py" in str(refused.value.where)
