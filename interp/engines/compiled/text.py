"""A generated module: its source lines, and the tables for the numbers in them."""

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
    """A site that can trap, or make a host call: the function, the node, and the types of its operands; for a chain,
    the types of its inputs."""

    function: str
    node: Node | FusedChain
    types: tuple[Type, ...]


@dataclass(slots=True)
class GeneratedModule:
    """A generated module: its source lines, and the tables for the numbers in them."""

    lines: list[str] = field(default_factory=list)
    trap_sites: list[TrapSite] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)

    has_tapes: bool = False
    result_facts: dict[PhaseKey, list[ArrayFacts]] = field(default_factory=dict)
    """The facts about the results of phases of functions."""
    outlined_functions: dict[str, str] = field(default_factory=dict)
    """The names of outlined loop functions, by their text with normalized variable names."""
    outline_aliases: dict[str, str] = field(default_factory=dict)
    """For the name of each outlined function, that of the emitted one with the same text."""

    def copy(self) -> GeneratedModule:
        """An independent copy."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return GeneratedModule(**{name: copy(value) for name, value in held.items()})

    def restore(self, before: GeneratedModule) -> None:
        """Restore an earlier copy."""
        for each in fields(self):
            setattr(self, each.name, copy(getattr(before, each.name)))

    @property
    def max_operands(self) -> int:
        """The most operands of a trap."""
        return max((len(each.types) for each in self.trap_sites), default=0)
