"""Handles: the values that refer to write-once cells.

The cells themselves are part of the state of a run. A handle only identifies them, by the node that made them and the
tag under which it fired.
"""

from __future__ import annotations

from dataclasses import dataclass

from .dtypes import DType
from .tag import Tag


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """An array of `size` cells, made by node number `node` under `tag`; `dtype` gives the type of the cells."""

    node: int
    tag: Tag
    size: int
    dtype: DType

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and self.node == other.node and self.tag == other.tag

    def __hash__(self) -> int:
        return hash((self.node, self.tag))

    def __str__(self) -> str:
        return f"cells of node {self.node} under {self.tag}"
