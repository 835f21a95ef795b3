"""Programs that are written against the standard alone give the same on NumPy arrays, on concrete arrays, and as
dataflow programs on every engine that runs them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs import array_programs
from tagloom.core.frontend.eager.array import ConcreteArray

DICE = np.random.default_rng(7)
POINTS = np.concatenate([DICE.normal(centre, 0.3, (8, 2)) for centre in (-2.0, 0.0, 3.0)])
MATRIX = (lambda a: a @ a.T)(DICE.normal(size=(4, 4)))
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "k-means": (array_programs.k_means, [POINTS, POINTS[[0, 9, 20]]]),
    "power iteration": (array_programs.power_iteration, [MATRIX]),
    "Gaussian filter": (array_programs.gaussian_filter, [DICE.normal(size=(6, 5))]),
    "principal components": (array_programs.principal_components, [DICE.normal(size=(12, 3)) * [3.0, 1.0, 0.1]]),
}
ENGINES = ("reference", "fast", "compiled")
each_program = pytest.mark.parametrize("name", PROGRAMS)


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def near(one: Any, other: Any) -> bool:
    """Whether dtypes, shapes and integers are equal, and floats differ by the order of additions only."""
    pairs = zip(map(np.asarray, several(one)), map(np.asarray, several(other)), strict=True)
    return all(a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in pairs)


@each_program
def test_concrete(name: str) -> None:
    """On concrete arrays each program gives concrete arrays with NumPy's values."""
    program, arguments = PROGRAMS[name]
    result = program(*map(tl.asarray, arguments))
    assert near(result, program(*arguments)) and all(isinstance(each, ConcreteArray) for each in several(result))


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param(name, engine, marks=[pytest.mark.heavy] * (engine == "compiled" and name != "Gaussian filter"))
        for name, engine in itertools.product(PROGRAMS, ENGINES)
    ],
)
def test_traced(name: str, engine: str) -> None:
    """Traced, each program gives the same on every engine."""
    program, arguments = PROGRAMS[name]
    outcome = tl.function(program).run(*arguments, engine=engine)
    assert outcome.status == "Returned" and near(outcome.value, program(*arguments))


@pytest.mark.inner(first=3)
@each_program
def test_float32(name: str) -> None:
    """In float32, all results are float32."""
    program, arguments = PROGRAMS[name]
    narrow = [each.astype(np.float32) for each in arguments]
    for result, expected in zip(several(tl.function(program)(*narrow)), several(program(*narrow)), strict=True):
        assert result.dtype == expected.dtype and np.allclose(result, expected, rtol=1e-3, atol=1e-3)
