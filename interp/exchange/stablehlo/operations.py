"""The registry of StableHLO's operations: a row an operation, in the file of its family. A row is a Python function
that applies tagloom's own functions to the operands. Its keyword parameters are attributes of the operation, by their
names; `result` is the type of its first result, `operation` the operation itself, and `regions` are its regions, as
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..foreign_rows import keyword_parameters
from ..refusals import require, tl, unsupported

__all__ = ["ROWS", "HloRow", "require", "row", "tl", "unsupported"]

Compute: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class HloRow:
    """The row of an operation: the function that computes it."""

    name: str
    compute: Compute
    is_elementwise: bool
    """Whether it computes element by element: then an operand may be a scalar in place of an array of equal elements,
    and in a region for scalars arrays may stand in place of scalars."""
    takes_splats: bool
    """Whether an operand may be a scalar that stands for an array of equal elements (`Splat`)."""
    attributes: frozenset[str]
    takes_result: bool
    takes_operation: bool
    takes_regions: bool


ROWS: dict[str, HloRow] = {}


def row(
    *names: str, dialect: str = "stablehlo", is_elementwise: bool = False, takes_splats: bool = False
) -> Callable[[Compute], Compute]:
    """Register a function as the row of operations."""

    def register(compute: Compute) -> Compute:
        keywords = keyword_parameters(compute)
        special = {"result", "operation", "regions"}
        for name in names:
            full_name = f"{dialect}.{name}"
            ROWS[full_name] = HloRow(
                full_name,
                compute,
                is_elementwise,
                takes_splats,
                keywords - special,
                "result" in keywords,
                "operation" in keywords,
                "regions" in keywords,
            )
        return compute

    return register
