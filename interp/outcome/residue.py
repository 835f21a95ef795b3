"""The tokens left over at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...core.tag import Tag
from ...core.value import Value
from ..machine.event import CellAddress
from ..machine.state import State
from .program_order import program_order


class ResidueToken(NamedTuple):
    """A token left over at the end of a run: it waits for other operands, is a deferred read, or is throttled by a
    k-bound."""

    node: int
    port: int
    tag: Tag
    value: Value
    blocked_on: CellAddress | int | None = None
    """The empty cell of a deferred read, or the k-bound that throttles the token."""


def collect_residue(state: State) -> tuple[ResidueToken, ...]:
    """The residue of a state, in program order."""
    residue = [
        ResidueToken(node, port, tag, value)
        for tag, record in state.records.items()
        for node, operands in record.waiting_operands.items()
        for port, value in operands.items()
    ]
    for handle, block in state.cells.blocks.items():
        for number, tokens in block.deferred_reads.items():
            residue += [ResidueToken(*token, CellAddress(handle, number)) for token in tokens]
    for tag, entries in state.throttled_tokens.items():
        bound = state.loop_bounds.get(
            tag.site, max(state.loop_bounds.values())
        )  # a graph that breaks the rules may have another loop's site here
        residue += [ResidueToken(*token, bound) for _, token in entries]
    return sort_residue(state.graph, residue)


def sort_residue(graph: Graph, residue: Sequence[ResidueToken]) -> tuple[ResidueToken, ...]:
    """The residue in program order."""
    ranks = program_order(graph, ((token.tag, token.node) for token in residue))
    return tuple(sorted(residue, key=lambda waiting: (ranks[waiting.tag, waiting.node], waiting.port)))
