"""Functions of NumPy in speculated graphs: the result has the class, dtype and shape that NumPy gives it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.speculation import call
from tagloom.core.frontend.source.numpy_functions import FUNCTIONS
from tagloom.interp.speculation.speculative_function import INTERNAL_ERROR

OPERANDS: tuple[tuple[Any, ...], ...] = (
    (np.float64(0.5),),
    (np.float64(0.5), np.float64(0.25)),
    (np.array([0.5]), ()),
    (np.array([0.5, 0.25]), 0),
)


def describe_type(ending: tuple[Any, ...]) -> tuple[Any, ...]:
    """The class, dtype and shape of the result of a call; of an exception its class."""
    kind, result, _ = ending
    return kind, type(result), getattr(result, "dtype", None), np.shape(result)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_types_of_results(function: Any) -> None:
    """A function of NumPy on scalars and arrays: NumPy has scalars of its own, and arrays without axes."""
    for operands in OPERANDS:
        box = SimpleNamespace(first=operands[0], second=operands[-1])

        def unary(box: Any) -> Any:
            return function(box.first)

        def binary(box: Any) -> Any:
            return function(box.first, box.second)

        python = unary if len(operands) == 1 else binary
        speculated = tl.speculate(engine="reference")(python)
        expected = describe_type(call(python, [box]))
        for _ in range(5):
            assert describe_type(call(speculated, [box])) == expected, operands
        assert not [event for event in speculated.events if INTERNAL_ERROR in event]
