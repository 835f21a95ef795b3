"""The table of everyday functions: plain Python as a programmer writes it, with inputs; none was written for the
converter. `tests/core/frontend/source/test_everyday_functions.py` compares all of them with Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.programs.reference.table import Entry

EVERYDAY: list[Entry] = []


def everyday(*inputs: tuple[Any, ...], refusal: str = "", mixed: bool = True, gap: str = "") -> Callable[[Any], Any]:
    """Add the decorated function to the table."""

    def add(function: Any) -> Any:
        EVERYDAY.append(Entry(function, inputs, refusal, mixed, gap))
        return function

    return add
