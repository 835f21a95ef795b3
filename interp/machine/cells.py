"""Write-once cells (I-structures): their contents, their writes and their deferred reads.

S13 `cells` makes n empty cells and a handle to them: its node and tag. `store` fills a cell; it has no output. `get`
    fires once its cell is full, and `collect` once all its cells are. Until then the read is deferred: the token that
    came last waits at the first empty cell, and the store that fills that cell sends it again, to the end of the
    flight. A second store to a cell is a trap of the cell, which names all its stores; the cell keeps the value that
    came first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.tag import Tag
from ...core.types import Handle
from ...core.value import Value, fingerprint
from .event import CellAddress, Event, Token


class CellWrite(NamedTuple):
    """A firing of `store`: its node, tag and operands."""

    node: int
    tag: Tag
    inputs: tuple[Value, ...]


class CellBlock:
    """The cells of one handle. Forked heaps share blocks (copy on write): a heap copies a block with another `owner`
    before it changes it."""

    __slots__ = ("deferred_reads", "full_prefix", "owner", "size", "writes")

    def __init__(self, size: int, owner: object) -> None:
        self.size = size
        self.owner = owner
        self.writes: dict[int, tuple[CellWrite, ...]] = {}
        """The writes to each cell, in order of arrival; the first gave the cell its value."""
        self.deferred_reads: dict[int, tuple[Token, ...]] = {}
        """The deferred reads at each empty cell, in order of arrival."""
        self.full_prefix = 0
        """All cells below this index are full; the search for an empty one begins here."""

    def copy(self, owner: object) -> CellBlock:
        """An equal block with its own dictionaries, for another owner."""
        block = CellBlock(self.size, owner)
        block.writes, block.deferred_reads, block.full_prefix = (
            self.writes.copy(),
            self.deferred_reads.copy(),
            self.full_prefix,
        )
        return block

    def first_empty(self) -> int | None:
        """The index of the first empty cell, or None."""
        while self.full_prefix < self.size and self.full_prefix in self.writes:
            self.full_prefix += 1
        return self.full_prefix if self.full_prefix < self.size else None

    def read(self, number: int) -> Value:
        """The value of a full cell."""
        return self.writes[number][0].inputs[2]

    def snapshot(self) -> Any:
        """The block as plain data: equal snapshots are equal blocks."""
        writes = {
            number: [(write.node, write.tag, *map(fingerprint, write.inputs)) for write in cell_writes]
            for number, cell_writes in self.writes.items()
        }
        deferred_reads = {
            number: [(*token[:3], fingerprint(token.value)) for token in tokens]
            for number, tokens in self.deferred_reads.items()
        }
        return self.size, writes, deferred_reads


class CellHeap:
    """All cells of a state. No cell is freed before the run ends."""

    def __init__(self) -> None:
        self.blocks: dict[Handle, CellBlock] = {}
        self.deferred_count = 0
        """The number of deferred reads at all cells."""
        self.owner = object()

    def fork(self) -> CellHeap:
        """An equal, independent heap; both share each block until one of them changes it."""
        heap = CellHeap()
        heap.blocks, heap.deferred_count, self.owner = self.blocks.copy(), self.deferred_count, object()
        return heap

    def defer(self, cell: CellAddress, token: Token) -> None:
        """Add a deferred read at an empty cell."""
        reads = self._writable_block(cell.handle).deferred_reads
        reads[cell.number] = (*reads.get(cell.number, ()), token)
        self.deferred_count += 1

    def undo_defer(self, cell: CellAddress) -> None:
        """Undo `defer` for the last deferred read of a cell."""
        _pop_last(self._writable_block(cell.handle).deferred_reads, cell.number)
        self.deferred_count -= 1

    def apply(self, event: Event, op: str) -> None:
        """Apply the effect of a firing of this op on cells."""
        handle, number = target_cells(event, op)
        if handle is None:
            return
        if number is None:
            self.blocks[handle] = CellBlock(handle.size, self.owner)
            return
        assert event.inputs is not None
        block, write = self._writable_block(handle), CellWrite(event.token.node, event.token.tag, event.inputs)
        block.writes[number] = (*block.writes.get(number, ()), write)
        if event.woken:
            del block.deferred_reads[number]
            self.deferred_count -= len(event.woken)

    def revert(self, event: Event, op: str) -> None:
        """Undo `apply`."""
        handle, number = target_cells(event, op)
        if handle is None:
            return
        if number is None:
            del self.blocks[handle]
            return
        block = self._writable_block(handle)
        _pop_last(block.writes, number)
        block.full_prefix = min(block.full_prefix, number)
        if event.woken:
            block.deferred_reads[number] = event.woken
            self.deferred_count += len(event.woken)

    def _writable_block(self, handle: Handle) -> CellBlock:
        """The block of a handle, safe to change."""
        block = self.blocks[handle]
        if block.owner is not self.owner:
            block = self.blocks[handle] = block.copy(self.owner)
        return block

    def snapshot(self) -> Any:
        """The heap as plain data: equal snapshots are equal heaps."""
        return self.deferred_count, {handle: block.snapshot() for handle, block in self.blocks.items()}


def target_cells(event: Event, op: str) -> tuple[Handle | None, int | None]:
    """The handle of the cells that a firing makes, with None; or the handle and index that it stores to; else (None,
    None)."""
    inputs: Any = event.inputs
    if op == "cells" and event.trap is None:
        value: Any = event.outputs[0][1]
        return value, None
    if op == "store" and 0 <= inputs[1] < inputs[0].size:
        return inputs[0], inputs[1]
    return None, None


def _pop_last(entries: dict[int, tuple[Any, ...]], number: int) -> None:
    """Remove the last entry of a cell."""
    entries[number] = entries[number][:-1]
    if not entries[number]:
        del entries[number]
