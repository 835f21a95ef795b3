"""Cells of a distributed run: each worker has the cells whose address hashes to its rank.

So any worker finds the cells of a handle without asking, as in machines whose I-structure memory is interleaved (Arvind
and Nikhil, Executing a program on the MIT tagged-token dataflow architecture, IEEE Trans. Computers, 1990). A hash only
chooses a worker: cells are found by their whole addresses. A get is split in two: the request goes to the memory, and a
result comes back once the cell is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....core.graph.graph import Graph
from ....core.hashing import splitmix64
from ....core.types import Handle
from ....core.value import Value
from ....core.world import World
from ...machine.effects import EffectRule
from ...machine.event import Event, Token
from ...outcome.critical_path import accessed_cell, cells_read
from .messages import FiringRequest, FiringResult
from .stores import WorkerStores


def memory_rank(graph: Graph, token: Token, inputs: Sequence[Value], worker_count: int) -> int:
    """The worker that has the cells which a firing makes or uses."""
    node, tag = token.node, token.tag
    if graph.nodes[node].op != "cells":
        handle = inputs[0]
        assert isinstance(handle, Handle)
        node, tag = handle.node, handle.tag
    return splitmix64(tag.key, node) % worker_count


class CellMemory:
    """The cells of one worker."""

    def __init__(self, stores: WorkerStores, effects: Sequence[EffectRule | None]) -> None:
        self._stores, self._effects = stores, effects
        self._world = World()

    def perform(self, client: int, request: FiringRequest) -> Iterator[tuple[int, FiringResult]]:
        """Perform a firing; yields its result, and the results of the reads that it ends, each with the rank of its
        client. Yields nothing for a read that is deferred. Raises MemoryError where a result does not fit."""
        token, inputs, depth = request
        stores, heap = self._stores, self._stores.state.cells
        op, effect = stores.state.graph.nodes[token.node].op, self._effects[token.node]
        assert effect is not None
        outputs, trap, deferred_at, woken_reads = effect(heap.blocks, self._world, token, inputs)
        if deferred_at is not None:
            heap.defer(deferred_at, token)
            stores.deferred_requests[token.tag, token.node] = client, request
            return
        heap.apply(Event(token, 0, inputs, outputs, (), trap, (), False, None, woken_reads), op)
        if op == "store" and trap is None:
            stores.fill_depths[accessed_cell(inputs)] = depth
        yield client, FiringResult(token.node, token.tag, outputs, trap, self._depth_read(op, inputs))
        for read in woken_reads:
            yield from self.perform(*stores.deferred_requests.pop((read.tag, read.node)))

    def _depth_read(self, op: str, inputs: tuple[Any, ...]) -> int:
        """The depth of the deepest store to a cell that a firing reads; 0 if there is none."""
        return max((self._stores.fill_depths.get(cell, 0) for cell in cells_read(op, inputs)), default=0)
