"""Converted functions agree with Python: with concrete values, and with symbolic ones on engines and schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.plain_functions import CASES
from tagloom.core.frontend.source.convert import convert
from tagloom.core.frontend.source.operators import OPERATORS

INPUTS = [(function, arguments) for function, inputs in CASES for arguments in inputs]
NAMES = [f"{function.__name__}{arguments}" for function, arguments in INPUTS]
RUNS: list[dict[str, Any]] = [
    {"engine": "reference", "schedule": "fifo"},
    {"engine": "reference", "schedule": "lifo"},
    {"engine": "reference", "schedule": "random:7"},
    {"engine": "fast"},
]


@pytest.mark.parametrize(("function", "arguments"), INPUTS, ids=NAMES)
def test_converted_functions_do_what_python_does(function: Any, arguments: tuple[Any, ...]) -> None:
    """With concrete values, the converted function returns what the original returns."""
    assert OPERATORS.cell_contents is not None
    assert convert(function)(*arguments) == function(*arguments)


@pytest.mark.parametrize(("function", "arguments"), INPUTS, ids=NAMES)
def test_staged_functions_do_what_python_does(function: Any, arguments: tuple[Any, ...]) -> None:
    """With symbolic values, the program returns what the original returns, under each schedule, with equal counts of
    firings."""
    staged, firings = tl.function(function), set()
    for options in RUNS:
        out = staged.run(*arguments, **options)
        assert out.error is None, out.error
        assert np.array_equal(np.asarray(out.value), np.asarray(function(*arguments))), options
        firings.add(out.firings)
    assert len(firings) == 1
