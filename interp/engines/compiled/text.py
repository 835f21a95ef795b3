"""The text of a module, and what the numbers in it stand for."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from ....core.program.program import Node
from ....core.tag import Site
from ....core.types import Type
from .chains import Chain
from .facts import Fact
from .phases import Key


class Trapping(NamedTuple):
    """What can trap, or is an effect, in which function: a node, and the types of its operands; or some node of a
    chain, and what of other nodes the chain uses."""

    function: str
    node: Node | Chain
    types: tuple[Type, ...]


@dataclass(slots=True)
class Text:
    """The text of a module, and what the numbers in it stand for."""

    lines: list[str] = field(default_factory=list)
    trapping: list[Trapping] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)

    has_records: bool = False
    facts: dict[Key, list[Fact]] = field(default_factory=dict)
    """What is known of the results of phases of functions."""
    outlined: dict[str, str] = field(default_factory=dict)
    """The functions that loops over elements are, by what they do, names of variables apart."""
    alike: dict[str, str] = field(default_factory=dict)
    """By the name of such a function, that of the one that does the same."""

    def copy(self) -> Text:
        """What there is so far, by itself."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return Text(**{name: copy(value) for name, value in held.items()})

    def restore(self, before: Text) -> None:
        """Be as it was."""
        for each in fields(self):
            setattr(self, each.name, copy(getattr(before, each.name)))

    @property
    def operands(self) -> int:
        """How many operands a trap has at most."""
        return max((len(each.types) for each in self.trapping), default=0)
