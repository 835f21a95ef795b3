"""Large arrays that a function closes over are hidden arguments of its program, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.trace import program_builder
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.interp.engines.compiled import codegen
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.registry import run

WEIGHTS = np.linspace(-1.0, 1.0, 2000).reshape(20, 100)
POINT = np.linspace(0.0, 1.0, 100)


@tl.function
def layer(x: tl.Array[tl.float64, 100]) -> tl.float64:
    return tl.sum(tl.tanh(WEIGHTS @ x))


@tl.function
def layer_of(weights: tl.Array[tl.float64, 20, 100], x: tl.Array[tl.float64, 100]) -> tl.float64:
    return tl.sum(tl.tanh(weights @ x))


def closing_over(table: Any) -> Any:
    """A function that closes over an array."""
    return tl.function(lambda x: tl.sum(table * x))


@pytest.mark.parametrize("engine", ["reference", "fast", pytest.param("compiled", marks=pytest.mark.full), "auto"])
def test_every_engine_runs_them(engine: str) -> None:
    """No engine refuses a function for the size of an array that it closes over."""
    outcome = layer.run(POINT, engine=engine)
    assert outcome.engine in (engine, "reference")
    assert outcome.value == pytest.approx(float(np.tanh(WEIGHTS @ POINT).sum()))
    assert type(layer(POINT)) is float


def test_the_program_names_them_and_has_no_elements() -> None:
    """The argument has the array's Python name; the text, the graph and the code have none of its elements."""
    assert [parameter.name for parameter in layer.program.main.body.parameters] == ["x", "WEIGHTS"]
    assert len(tl.print_program(layer.program)) < 1000
    assert len("\n".join(codegen.emit_module(layer.program).lines)) < 5000
    small = closing_over(np.arange(float(program_builder.MAX_LITERAL_ELEMENTS))).trace(2.0).program
    assert [parameter.name for parameter in small.main.body.parameters] == ["x"]


def test_programs_that_differ_in_data_share_their_code() -> None:
    """The generated code, which is the key of the cache on disk, does not depend on the elements."""
    texts = [codegen.emit_module(closing_over(each).trace(2.0).program).lines for each in (POINT, POINT + 1.0)]
    assert texts[0] == texts[1]
    assert closing_over(POINT)(2.0) == 100.0 and closing_over(POINT + 1.0)(2.0) == 300.0


@pytest.mark.full
def test_gradients_are_those_of_an_argument() -> None:
    """The gradient with respect to other arguments is that of the function which takes the array as an argument, with
    as many firings: nothing is computed for the array itself. By `grad`, `vjp`, `jvp` and tapes."""
    expected = tl.grad(layer_of, 1)(WEIGHTS, POINT)
    assert np.array_equal(tl.grad(layer)(POINT), expected)
    assert tl.grad(layer).run(POINT).firings == tl.grad(layer_of, 1).run(WEIGHTS, POINT).firings
    assert np.allclose(tl.vjp(layer, POINT)[1](1.0)[0], expected)
    assert np.isclose(tl.jvp(layer, (POINT,), (POINT,))[1], expected @ POINT)
    x = tl.asarray(POINT)
    with tl.Tape() as tape:
        tape.watch(x)
        y = layer(x)
    assert np.allclose(tape.gradient(y, x), expected)


def test_a_constant_is_what_it_was_when_traced() -> None:
    """An array that changes later, or between two uses, keeps the elements that it had at each use."""
    table = np.zeros(100)

    @tl.function
    def twice(x: tl.float64) -> tl.float64:
        first = tl.sum(table * x)
        table[:] = 1.0
        return first + tl.sum(table * x)

    assert twice(3.0) == 300.0
    table[:] = 7.0
    assert twice(3.0) == 300.0


@pytest.mark.full
def test_recursion_branches_and_loops_pass_them_on() -> None:
    """Every region reads them; functions that call each other share one argument."""

    @tl.function
    def walk(n: tl.int64, x: tl.Array[tl.float64, 100]) -> tl.float64:
        return tl.cond(n <= 0, lambda: tl.sum(WEIGHTS[0] * x), lambda: walk(n - 1, x) + layer(x))

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + tl.sum(tl.take(WEIGHTS, i, axis=0) * POINT)

    @tl.function
    def loop(n: tl.int64) -> tl.float64:
        return tl.while_loop(lambda i, total: i < n, body, 0, 0.0)[1]

    assert walk(2, POINT) == pytest.approx(float(np.sum(WEIGHTS[0] * POINT)) + 2 * layer(POINT))
    assert [each.name for each in walk.program.main.body.parameters] == ["n", "x", "WEIGHTS", "constant"]
    assert loop(20) == pytest.approx(float(np.sum(WEIGHTS @ POINT)))
    assert tl.grad(lambda x: loop(3) * tl.sum(x))(POINT) == pytest.approx(np.full(100, loop(3)))


def test_arrays_made_in_the_function() -> None:
    """Large arrays made while tracing are arguments too, as first values of variables and in conversions."""

    class Counter:
        total: Any = None

        @tl.function
        def add(self, x: Any) -> Any:
            if self.total is None:
                self.total = tl.Variable(np.zeros(100))
            self.total.assign_add(x)
            return tl.sum(self.total + tl.asarray(POINT.tolist(), dtype=tl.float32))

    counter = Counter()
    assert float(counter.add(POINT)) == pytest.approx(100.0) and float(counter.add(POINT)) == pytest.approx(150.0)


def test_arrays_that_change_at_every_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recursion that makes another array at every trace is refused, and so is the pullback of such a function."""
    monkeypatch.setattr(program_builder, "MAX_CONSTANTS", 20)
    numbers = iter(range(10**6))

    @tl.function
    def endless(n):  # type: ignore[no-untyped-def]
        return tl.cond(n <= 0, lambda: 0.0, lambda: endless(n - 1) + tl.sum(np.full(100, float(next(numbers)))))

    with pytest.raises(tl.Invalid, match="more than 20 arrays") as refused:
        endless(3)
    assert "make it once, outside" in str(refused.value)
    noisy = tl.function(lambda x: tl.sum(x * np.full(100, float(next(numbers)))))
    with pytest.raises(tl.Invalid, match="closes over different arrays each time"):
        tl.vjp(noisy, POINT)[1](1.0)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_compiled_takes_large_literals_of_texts(dtype: str) -> None:
    """A text may have literals of more elements than `compiled` writes into a function: they are constants of the
    module, with the same elements, and shared by equal literals."""
    elements = np.resize(np.array([0, 1, 3, 0, 127]), 1200).astype(dtype)
    written = f"{dtype}[1200]([{', '.join(map(repr, elements.tolist())).lower()}])"
    program = tl.parse_program(
        f"""
        func main(p: bool) -> {dtype}[1200], {dtype}[2400] {{
          x = where p, {written}, {written}
          y = concat x, {written}, axis=0
          return x, y
        }}
        """
    )
    assert sum("decode_array(" in text for text in codegen.emit_module(program).constants) == 1
    graph = tl.lower(program)
    for engine in ("reference", "compiled"):
        x, y = run(Job(graph, flat_treedef(2), program), [True], RunOptions(), engine).results
        assert np.array_equal(x, elements) and x.dtype == dtype
        assert np.array_equal(y, [*elements, *elements])
