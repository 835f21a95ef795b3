"""float16 and bfloat16 on every engine: the bits of the reference."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from support.generators.edges import EDGES
from support.generators.generator import NARROW_PALETTES, Case, cases
from support.laws.compiled_laws import differences
from support.laws.fast_laws import violations
from tagloom.core import dtypes
from tagloom.core.dtypes import FLOAT_FORMATS, DType
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.graph.lower import lower
from tagloom.core.types import Type
from tagloom.core.value import admit, is_same_value
from tagloom.interp.oracle.sweep import OpSample, op_samples

ENGINES = ("fast", "compiled", "distributed")
each_dtype = pytest.mark.parametrize("dtype", FLOAT_FORMATS, ids=repr)


@tl.function
def steps(x: Any, n: int) -> Any:
    """A loop, a choice, a recursion, and ops on arrays."""
    total = x * 0
    for i in range(n):
        total = total + x / 3 if i % 2 == 0 else total * x - tl.exp(x)
    return total, tl.sum(total), total > x, descend(tl.sum(x), n)


@tl.function
def descend(x: Any, n: int) -> Any:
    return x if n == 0 else descend(x / 3, n - 1) + 1


@each_dtype
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_programs_have_the_bits_of_the_reference(dtype: DType, shape: tuple[int, ...]) -> None:
    """Loops, conds and calls end alike on every engine, and so do gradients, whose dtype is that of the argument."""
    argument = tl.asarray(np.full(shape, 1.1, dtype.numpy))
    slope = tl.grad(lambda x: tl.sum(descend(x * x / 3, 2)))
    for function, arguments in ((steps, (argument, 5)), (slope, (argument,))):
        required = function.run(*arguments, engine="reference").results
        assert dtypes.from_numpy(np.asarray(required[0]).dtype) is dtype and np.shape(required[0]) == shape
        for engine in ENGINES:
            assert all(map(is_same_value, function.run(*arguments, engine=engine).results, required))


@each_dtype
def test_truth_values_become_numbers(dtype: DType) -> None:
    """A cast of a bool is 0 or 1 on every engine."""
    function = tl.function(lambda x: tl.astype(x > 2, dtype))
    for engine in ENGINES:
        assert [float(function.run(x, engine=engine).value) for x in (1, 3)] == [0.0, 1.0]


def narrow_nodes(case: Case) -> int:
    """How many nodes of a program have a float of 16 bits."""
    nodes = (node for function in case.program.functions for node in function.body.walk())
    return sum(result.type.dtype in FLOAT_FORMATS for node in nodes for result in node.results)


def check(case: Case) -> None:
    """The engines agree with the reference on a program."""
    graph = lower(case.program)
    assert list(violations(case, ("waves",), handovers=(0,))) == []
    assert differences(case.program, graph, case.arguments) == []


@settings(max_examples=4, phases=[Phase.generate])
@given(cases(palettes=NARROW_PALETTES).filter(narrow_nodes))
def test_generated_programs(case: Case) -> None:
    """`fast` and `compiled` have the results, traps and effects of the reference on generated programs with floats of
    16 bits."""
    check(case)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@settings(max_examples=60)
@given(cases(palettes=NARROW_PALETTES, arrays=True).filter(narrow_nodes))
def test_many_generated_programs(case: Case) -> None:
    """So they have on many more, with all array ops."""
    check(case)


def elementwise_samples(dtype: DType) -> list[OpSample]:
    """The ops with a scalar column, on operands of a dtype, of bool and of int64."""
    samples = op_samples(value_dtypes=(*FLOAT_FORMATS, dtypes.int16, dtypes.float64))
    return [each for each in samples if each.row.scalar is not None and dtype in each.operand_dtypes]


@pytest.mark.full(first=1)
@each_dtype
@pytest.mark.parametrize("shape", [(), (4,)], ids=str)
def test_every_op_has_the_bits_of_the_reference(dtype: DType, shape: tuple[int, ...]) -> None:
    """Ops on single elements, on scalars and on arrays of edge values: a program that applies all of them has the
    results of the reference. NumPy's functions on arrays, which engines call, are those of the reference."""
    samples, dice = elementwise_samples(dtype), random.Random(0)

    def compute(x: Any, y: Any, truth: Any, number: Any) -> Any:
        operands = {dtype: (x, y, x), dtypes.bool: (truth,) * 3, dtypes.int64: (number,) * 3}
        return tuple(
            apply(each.row.name, *(operands[d][k] for k, d in enumerate(each.operand_dtypes)), **dict(each.attributes))
            for each in samples
        )

    function = tl.function(tl.autograph.do_not_convert(compute))
    for _ in range(12):
        drawn = [[dice.choice(EDGES[d]) for _ in range(4)] for d in (dtype, dtype, dtypes.bool, dtypes.int64)]
        arguments = [
            np.array(each, d.numpy) if shape else admit(each[0], Type(d))
            for each, d in zip(drawn, (dtype, dtype, dtypes.bool, dtypes.int64), strict=True)
        ]
        required = function.run(*arguments, engine="reference").results
        for engine in ("fast", "compiled"):
            actual = function.run(*arguments, engine=engine).results
            wrong = [
                str(s) for s, one, other in zip(samples, actual, required, strict=True) if not is_same_value(one, other)
            ]
            assert wrong == []


def test_what_compiled_refuses() -> None:
    """Cells of such scalars are refused in words, and `auto` runs them; cells of arrays are compiled."""

    @tl.function
    def stored(x: Any, n: int) -> Any:
        cells = tl.cells(n, tl.Array[tl.bfloat16, 2] if x.ndim else tl.bfloat16)
        for i in range(n):
            tl.put(cells, i, x)
        return tl.collect(cells)

    with pytest.raises(tl.Usage, match="no cells of bfloat16"):
        stored.run(tl.bfloat16.numpy.type(1.5), 2, engine="compiled")
    for argument in (tl.bfloat16.numpy.type(1.5), np.array([1.5, 2.5], tl.bfloat16.numpy)):
        engines = ("auto", "fast", "compiled") if np.ndim(argument) else ("auto", "fast")
        required = stored.run(argument, 2, engine="reference").results
        for engine in engines:
            assert all(map(is_same_value, stored.run(argument, 2, engine=engine).results, required))
