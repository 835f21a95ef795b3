"""The registry of ONNX's operators: a row an operator, in the file of its family. A row is a Python function that
applies tagloom's own functions to the operands; its keyword parameters are the attributes, with their defaults.

An operator that changed has a row for each meaning, by the version of the operator set from which it holds. An operator
without a row is interpreted by the body that ONNX's own definition gives it, if there is one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..foreign_rows import keyword_parameters
from ..refusals import require, tl, unsupported

__all__ = ["NeedsConstantOperand", "Operator", "SizeVector", "as_single_value", "find_operator", "operator", "require",
           "tl", "unsupported"]  # fmt: skip

Compute: TypeAlias = Callable[..., Any]
"""Computes an operator: operands by position, None for one that is left out; attributes by name."""


class NeedsConstantOperand(Exception):
    """Raised by a row: the operand at this position must be a constant."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


@dataclass(frozen=True, slots=True)
class SizeVector:
    """A vector of sizes: integers, and symbolic int64 scalars for sizes that depend on the run. It becomes an array
    when a row needs one, so the known sizes of shapes stay known through other operators."""

    parts: tuple[Any, ...]

    def as_array(self) -> Any:
        """The vector as a symbolic value."""
        return tl.stack([np.asarray(part, np.int64) if isinstance(part, int) else part for part in self.parts])


def as_single_value(value: Any) -> Any:
    """A value in the form that rows take: a vector of sizes becomes an array."""
    return value.as_array() if isinstance(value, SizeVector) else value


@dataclass(frozen=True, slots=True)
class Operator:
    """A row: how an operator computes from this version of its operator set on."""

    name: str
    version: int
    compute: Compute
    static: Collection[int]
    """The operands that decide which nodes there are, as axes do; they must be constants."""
    is_folded: bool
    """Whether small results of constants are computed while the model is imported. Operators with regions, and draws,
    are not."""
    attributes: frozenset[str] | None
    """Their names; None where another row checks them."""
    takes_output_count: bool
    takes_call: bool
    takes_sizes: bool
    """Whether operands may be vectors of sizes that are partly known."""
    takes_storage: bool
    """Whether the row itself treats operands of storage types (`storage.py`). Any other row only moves elements: it
    gets carriers, and its results have the storage types that ONNX's schema derives from those of the operands."""


ROWS: dict[tuple[str, str], list[Operator]] = {}
"""The rows of each operator, by domain and name, the latest version first."""


def operator(
    *names: str,
    version: int = 1,
    domain: str = "",
    static: Collection[int] = (),
    is_folded: bool = True,
    takes_sizes: bool = False,
    takes_storage: bool = False,
) -> Callable[[Compute], Compute]:
    """Register a function as the row of operators. A parameter `output_count` gets the number of results that are
    asked for, a parameter `call` the node (`interpreter.NodeCall`)."""

    def register(compute: Compute) -> Compute:
        parameters = inspect.signature(compute).parameters.values()
        keywords = keyword_parameters(compute)
        has_others = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
        special = {"output_count", "call"}
        for name in names:
            row = Operator(
                name,
                version,
                compute,
                static,
                is_folded,
                None if has_others else keywords - special,
                "output_count" in keywords,
                "call" in keywords,
                takes_sizes,
                takes_storage,
            )
            rows = ROWS.setdefault((domain, name), [])
            rows.append(row)
            rows.sort(key=lambda row: -row.version)
        return compute

    return register


def find_operator(domain: str, name: str, version: int) -> Operator | None:
    """The row of an operator in a version of its operator set; None where there is none."""
    return next((row for row in ROWS.get((domain, name), ()) if row.version <= version), None)
