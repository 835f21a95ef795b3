"""The measures of a run whose firings have no common order: they are counted by depth.

The depth of a firing is 1 more than the depth of the deepest firing that made one of its operands, or filled a cell
that it reads; the environment's is 0. It belongs to the program and its arguments, and tokens carry it from worker to
worker. Without cells it is the wave in which the reference machine fires the node, and the counts by depth are the
profiles of waves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from ....core.graph.graph import Graph
from ....core.tag import Tag
from ...machine.event import Token
from ...machine.state import State
from ...outcome.statistics import Stats


class DepthMeter:
    """Counts firings and tokens by depth."""

    def __init__(self, graph: Graph) -> None:
        self._token_ports = [
            None if node.op == "merge" else [port for port, literal in enumerate(node.ports) if literal is None]
            for node in graph.nodes
        ]
        """The ports of each node that take tokens; None for a merge, which fires on any one."""
        self.operand_depths: dict[tuple[int, int, Tag], int] = {}
        """The depth of the firing that sent each token that no firing has consumed, by node, port and tag."""
        self.firings: Counter[int] = Counter()
        """The number of firings, by depth."""
        self.tokens: Counter[int] = Counter()
        """The number of tokens, by the depth of the firing that sent them."""
        self.waiting_changes: Counter[int] = Counter()
        """How many more tokens wait at the end of a wave than at the end of the previous wave."""
        self.deepest_tag = 0

    def expect(self, tokens: Sequence[Token], depth: int) -> None:
        """Count tokens that a firing of this depth sent to this machine."""
        for node, port, tag, _ in tokens:
            self.operand_depths[node, port, tag] = depth
        self.tokens[depth] += len(tokens)
        self.deepest_tag = max(self.deepest_tag, tokens[0].tag.depth)

    def firing_depth(self, token: Token) -> int:
        """The depth of the firing whose operands this token completes, if it reads no cells."""
        return 1 + max(self.operand_depths[operand] for operand in self._operands(token))

    def count_firing(self, token: Token, least_depth: int = 1) -> int:
        """Count the firing whose operands this token completes; returns its depth."""
        node, port, tag, _ = token
        ports, take = self._token_ports[node], self.operand_depths.pop
        depths = (
            [take((node, port, tag))] if ports is None else [take((node, operand_port, tag)) for operand_port in ports]
        )
        depth = max(1 + max(depths), least_depth)
        self.firings[depth] += 1
        for operand_depth in depths:
            self.waiting_changes[operand_depth] += 1
        self.waiting_changes[depth - 1] -= len(depths)
        return depth

    def _operands(self, token: Token) -> list[tuple[int, int, Tag]]:
        ports = self._token_ports[token.node]
        return [(token.node, port, token.tag) for port in ([token.port] if ports is None else ports)]

    def add(self, other: DepthMeter) -> None:
        """Add the counts of another machine of the same run."""
        self.operand_depths.update(other.operand_depths)
        self.firings.update(other.firings)
        self.tokens.update(other.tokens)
        self.waiting_changes.update(other.waiting_changes)
        self.deepest_tag = max(self.deepest_tag, other.deepest_tag)

    def stats(self, state: State) -> Stats:
        """The statistics of a run that ended in this state."""
        changes = self.waiting_changes.copy()
        for tag, record in state.records.items():
            for node, operands in record.waiting_operands.items():
                changes.update(self.operand_depths[node, port, tag] for port in operands)
        waiting = list(accumulate(changes[wave] for wave in range(1 + max(self.tokens, default=-1))))
        profile = tuple(self.firings[depth] for depth in range(1, 1 + max(self.firings, default=0)))
        return Stats(
            firings=state.firings,
            steps=state.steps,
            span=len(profile),
            parallelism=state.firings / len(profile) if profile else 0.0,
            profile=profile,
            waiting=tuple(waiting),
            largest_store=max(waiting, default=0),
            largest_flight=max(self.tokens.values(), default=0),
            deepest_tag=self.deepest_tag,
            by_node=tuple(state.firings_by_node),
            activations_by_site=dict(state.activations_by_site),
        )
