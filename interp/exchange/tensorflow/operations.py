"""The registry of TensorFlow's ops: a row an op, in the file of its family. A row is a Python function that applies
tagloom's own functions to the operands; its keyword parameters are attributes, with their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..foreign_rows import keyword_parameters
from ..refusals import require, tl, unsupported

__all__ = ["OPERATIONS", "TensorFlowOperation", "operation", "output_offset", "require", "tl", "unsupported"]

Compute: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class TensorFlowOperation:
    """The row of an op: the function that computes it, and its requirements on operands and attributes."""

    name: str
    compute: Compute
    static: Collection[int]
    """The positions of operands that must be constants, such as axes: they determine the nodes of the program."""
    outputs: Sequence[str]
    """The names of its outputs, if it has several."""
    has_effect: bool
    """Whether it does more than compute its results; such nodes run in the order of their control edges."""
    attributes: frozenset[str]
    ignored_attributes: Collection[str]
    """Attributes that do not change what the op computes."""
    takes_node: bool
    takes_values: bool
    """Whether operands may be lists of arrays, variables and strings."""


OPERATIONS: dict[str, TensorFlowOperation] = {}


def operation(
    *names: str,
    static: Collection[int] = (),
    outputs: Sequence[str] = (),
    has_effect: bool = False,
    ignored: Collection[str] = (),
    takes_values: bool = False,
) -> Callable[[Compute], Compute]:
    """Register a function as the row of these ops. Its keyword parameter `node`, if it has one, takes a
    `TensorFlowCall`."""

    def register(compute: Compute) -> Compute:
        keywords = keyword_parameters(compute)
        for name in names:
            OPERATIONS[name] = TensorFlowOperation(
                name,
                compute,
                static,
                outputs,
                has_effect,
                keywords - {"node"},
                ignored,
                "node" in keywords,
                takes_values,
            )
        return compute

    return register


def output_offset(op: str, output: str) -> int:
    """The number of an output of an op, by its name; 0 for an op with one output, which may be a list."""
    row = OPERATIONS.get(op)
    return row.outputs.index(output) if row is not None and output in row.outputs else 0
