"""Handles: what stands for write-once cells while they travel as tokens.

The cells themselves are part of the state of a run; a handle only says which they are: those that a node made when it
fired under a tag.
"""

from __future__ import annotations

from dataclasses import dataclass

from .dtypes import DType
from .tag import Tag


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """The cells that node number `node` made under `tag`: `size` of them, of the kind that `dtype` says."""

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
