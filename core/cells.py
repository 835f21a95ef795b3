"""Handles: what stands for write-once cells while they travel as tokens.

The cells themselves are part of the state of a run; a handle only says which they are: those that a node made when it
fired under a tag.
"""

from __future__ import annotations

from typing import NamedTuple

from .tag import Tag
from .types import Type


class Handle(NamedTuple):
    """The cells that node number `node` made under `tag`: `size` of them, each of type `element`."""

    node: int
    tag: Tag
    size: int
    element: Type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and self.node == other.node and self.tag == other.tag

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.node, self.tag))

    def __str__(self) -> str:
        return f"cells of node {self.node} under {self.tag}"
