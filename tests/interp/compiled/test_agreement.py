"""The compiled engine means what the reference means, on generated programs and on the corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from compiled_laws import differences
from generator import Case
from hypothesis import Phase, given, settings
from scalar_cases import scalar_cases
from tagloom.core.lower import lower
from tagloom.interp.compiled.support import supports
from tagloom.interp.reference import admit_arguments


def check(case: Case) -> None:
    if supports(case.program) is None:
        assert not list(differences(case.program, lower(case.program), case.arguments))


@settings(max_examples=8, phases=[Phase.generate])
@given(scalar_cases())
def test_generated_programs(case: Case) -> None:
    """Generated programs give the results of the reference bit for bit, or its first trap, word for word."""
    check(case)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@settings(max_examples=500)
@given(scalar_cases())
def test_many_generated_programs(case: Case) -> None:
    """The same, of many."""
    check(case)


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def drawn(n: tl.int64) -> tl.float64:
    def step(i: tl.int64, s: tl.float64) -> object:
        die = tl.astype(tl.integers(-3, i + 1), tl.float64)
        return i + 1, s + die * tl.normal() + tl.cond(i % 2 == 0, lambda: tl.uniform(), lambda: walk(i))

    return tl.while_loop(lambda i, s: i < n, step, 0, 0.0)[1]


@tl.function
def walk(n: tl.int64) -> tl.float64:
    return tl.cond(n <= 0, lambda: 0.0, lambda: walk(n - 1) + tl.uniform() + walk(n - 2))


@tl.function
def spread(a: tl.uint64, b: tl.int8, c: tl.float32) -> tuple[tl.uint64, tl.int8, tl.float32, tl.bool]:
    """Two functions that recur through each other, on every lane."""
    return tl.cond(a == np.uint64(0), lambda: (a, b, c, True), lambda: spread_on(c, a - np.uint64(1), b))


@tl.function
def spread_on(c: tl.float32, a: tl.uint64, b: tl.int8) -> tuple[tl.uint64, tl.int8, tl.float32, tl.bool]:
    def back() -> object:
        made = spread(a, b * np.int8(3), c / np.float32(3.0))
        return made[0] + a, made[1] - b, made[2] + c, ~made[3]

    return tl.cond(a > np.uint64(100), lambda: (a, b, c, False), back)


@tl.function
def strips(n: tl.int64, m: tl.int64) -> tl.int64:
    """A loop that counts, over several strips, with one inside that counts by threes up to another bound."""
    inner = lambda i: tl.while_loop(lambda j, t: j < m, lambda j, t: (j + 3, t + j * i), i, 0)[1]  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner(i)), 0, 0)[1]


EVEN, DRAWN, SPREAD, STRIPS = [[7], [8], [0]], [[9], [0]], [[11, -5, 2.5], [200, 1, 0.0]], [[5, 11], [9000, 3]]


@pytest.mark.parametrize(
    ("function", "inputs"),
    [(even, EVEN), (drawn, DRAWN), (spread, SPREAD), (strips, STRIPS)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_small_programs(function: tl.Function, inputs: list[list[Any]]) -> None:
    """Mutual recursion, random numbers, every lane, and loops that count."""
    for arguments in inputs:
        admitted = admit_arguments(function.graph, arguments)
        assert not list(differences(function.program, function.graph, admitted, seed=5))
