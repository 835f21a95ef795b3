"""The text of a module, and what the numbers in it stand for."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from ....core.program.program import Node
from ....core.tag import Site
from ....core.types import Type
from .chains import FusedChain
from .facts import ArrayFacts
from .phases import PhaseKey


class TrapSite(NamedTuple):
    """What can trap, or is an effect, in which function: a node, and the types of its operands; or some node of a
    chain, and what of other nodes the chain uses."""

    function: str
    node: Node | FusedChain
    types: tuple[Type, ...]


@dataclass(slots=True)
class GeneratedModule:
    """The text of a module, and what the numbers in it stand for."""

    lines: list[str] = field(default_factory=list)
    trap_sites: list[TrapSite] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)

    has_tapes: bool = False
    result_facts: dict[PhaseKey, list[ArrayFacts]] = field(default_factory=dict)
    """What is known of the results of phases of functions."""
    outlined_functions: dict[str, str] = field(default_factory=dict)
    """The functions that loops over elements are, by what they do, names of variables apart."""
    outline_aliases: dict[str, str] = field(default_factory=dict)
    """By the name of such a function, that of the one that does the same."""

    def copy(self) -> GeneratedModule:
        """What there is so far, by itself."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return GeneratedModule(**{name: copy(value) for name, value in held.items()})

    def restore(self, before: GeneratedModule) -> None:
        """Be as it was."""
        for each in fields(self):
            setattr(self, each.name, copy(getattr(before, each.name)))

    @property
    def max_operands(self) -> int:
        """How many operands a trap has at most."""
        return max((len(each.types) for each in self.trap_sites), default=0)
