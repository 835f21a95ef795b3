"""Sums of computed elements are as exact as their row states, with the same bits on any number of cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import differences
from support.twins.compiled_twins import broken
from tagloom.interp.engines.compiled.fusion import BLOCK_ELEMENTS, FusedChain, plan_fusion
from tagloom.interp.engines.jit import parallel_loops, thread_pool
from tagloom.interp.engines.reference import admit_arguments

FLOATS, INTS = tl.Array[tl.float64, None], tl.Array[tl.int64, None]


@tl.function
def scaled(x: FLOATS, a: tl.float64) -> tl.float64:
    return tl.sum(a * x + 1.0)


@tl.function
def summed_and_returned(x: FLOATS) -> tuple[FLOATS, tl.float64]:
    """The array that is summed is a result too."""
    y = x * x
    return y, tl.sum(y)


@tl.function
def two_sums(x: tl.Array[tl.float32, None]) -> tuple[tl.float32, tl.Array[tl.float32, None]]:
    """Two sums in a chain, one over an operand of the other's array; and an op after them."""
    y = x * x
    z = tl.exp(-y)
    return tl.sum(y) + tl.sum(z), z * tl.sum(y)


@tl.function
def stretched(x: tl.Array[tl.int64, None, None], y: INTS) -> tl.Array[tl.int64, 1, 1]:
    return tl.sum(x + y, keepdims=True)


@tl.function
def counted(x: FLOATS) -> tl.int64:
    """Integer sums; here none wraps."""
    return tl.sum(tl.astype(x > 0.5, tl.int64))


@tl.function
def repeated(x: FLOATS, n: tl.int64) -> tl.float64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tl.sum(x * 2.0)), 0, 0.0)[1]


WHOLE: list[tuple[tl.Function, list[Any]]] = [
    *(
        (scaled, [np.arange(float(size)), 3.0])
        for size in (
            0,
            1,
            BLOCK_ELEMENTS - 1,
            BLOCK_ELEMENTS,
            BLOCK_ELEMENTS + 1,
            parallel_loops.PARALLEL_MIN_ELEMENTS + 5,
        )
    ),
    (summed_and_returned, [np.arange(5000.0)]),
    (two_sums, [np.zeros(5000, np.float32)]),
    (stretched, [np.arange(12).reshape(4, 3), np.arange(3)]),
    (stretched, [np.arange(4).reshape(4, 1), np.arange(3)]),
    (stretched, [np.arange(4).reshape(2, 2), np.arange(3)]),
    (counted, [np.linspace(0.0, 1.0, parallel_loops.PARALLEL_MIN_ELEMENTS)]),
    (repeated, [np.arange(9.0), 5]),
]


@pytest.mark.full(first=5)
@pytest.mark.parametrize(("function", "arguments"), WHOLE, ids=lambda each: getattr(each, "name", ""))
def test_exact_sums_are_equal(function: tl.Function, arguments: list[Any]) -> None:
    """Sums without rounding equal the reference's."""
    admitted = admit_arguments(function.graph, arguments)
    assert not list(differences(function.program, function.graph, admitted))


def test_a_summed_array_is_never_written() -> None:
    """An array that is only summed is never written: the sum is part of the chain."""
    for function in (scaled, summed_and_returned, counted):
        (part,) = plan_fusion(function.program.main.body)
        assert isinstance(part, FusedChain) and [len(loop.outputs) for loop in part.loops] == [
            int(function is summed_and_returned)
        ]


@pytest.mark.full
@pytest.mark.parametrize(
    "size", [3 * BLOCK_ELEMENTS + 7, parallel_loops.PARALLEL_MIN_ELEMENTS + 1, 9 * parallel_loops.CHUNK_ELEMENTS + 3]
)
def test_helpers_do_not_change_bits(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum has the same bits with and without helpers, within the bound of its row."""
    x = np.random.default_rng(size).normal(size=size)
    expected = scaled.run(x, 0.1, engine="compiled").value
    assert len({scaled.run(x, 0.1, engine="compiled").value for _ in range(20)}) == 1
    monkeypatch.setattr(thread_pool, "start_pool", lambda: 0)
    assert scaled.run(x, 0.1, engine="compiled").value == expected
    terms = 0.1 * x + 1.0
    exact = np.sum(terms.astype(np.longdouble))
    assert abs(expected - exact) <= size * 2.0**-53 * np.abs(terms).sum()


TWINS = {
    "blocks are added where they are": (r"\[(i\d+) // 2048\] = (p\.sum_.*)", r"[0] = \2"),
    "the last block is left out": (r"e\.zeros\(\(\((v\d+) \+ 2047\)", r"e.zeros(((\1 + 0)"),
    "a block has another's place": (r"\[(i\d+) // 2048\] = p", r"[(\1 // 2048) // 2 * 2] = p"),
}


@pytest.mark.full
@pytest.mark.parametrize("twin", TWINS)
def test_twin_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose sum depends on the sharing has other bits; one that omits elements has another value."""
    given = [np.random.default_rng(seed).normal(size=9 * parallel_loops.CHUNK_ELEMENTS + 5) for seed in range(6)]
    expected = [scaled.run(x, 0.1, engine="compiled").value for x in given]
    broken(monkeypatch, *TWINS[twin])
    assert [scaled.run(x, 0.1, engine="compiled").value for x in given] != expected
