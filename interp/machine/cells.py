"""Write-once cells as a state holds them.

S13 `cells` makes n empty cells and a handle to them: its node and tag. `store` fills a cell; it has no output. `get`
    fires once its cell is full, and `collect` once all its cells are. Until then the read is deferred: the token that
    came last is parked at the first empty cell, and the store that fills that cell sends it again, to the end of the
    flight. A second store to a cell is a trap of the cell, which names all its stores; the cell keeps the value that
    came first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.handle import Handle
from ...core.tag import Tag
from ...core.value import Value, fingerprint
from .event import CellAddress, Event, Token


class CellWrite(NamedTuple):
    """A firing of a `store`: its node, its tag, and its operands."""

    node: int
    tag: Tag
    inputs: tuple[Value, ...]


class CellBlock:
    """The cells that one handle stands for. Like a record, it is copied where it is not of the heap's own `owner`."""

    __slots__ = ("deferred_reads", "full_prefix", "owner", "size", "writes")

    def __init__(self, size: int, owner: object) -> None:
        self.size = size
        self.owner = owner
        self.writes: dict[int, tuple[CellWrite, ...]] = {}
        """Of each cell, in the order in which they came: the first has its value."""
        self.deferred_reads: dict[int, tuple[Token, ...]] = {}
        """The tokens that stay at each empty cell, in the order in which they came."""
        self.full_prefix = 0
        """All cells below this one are known to be full: where a look for an empty one begins."""

    def copy(self, owner: object) -> CellBlock:
        made = CellBlock(self.size, owner)
        made.writes, made.deferred_reads, made.full_prefix = (
            self.writes.copy(),
            self.deferred_reads.copy(),
            self.full_prefix,
        )
        return made

    def first_empty(self) -> int | None:
        """The first cell that is empty, if one is."""
        while self.full_prefix < self.size and self.full_prefix in self.writes:
            self.full_prefix += 1
        return self.full_prefix if self.full_prefix < self.size else None

    def read(self, number: int) -> Value:
        """What a full cell holds."""
        return self.writes[number][0].inputs[2]

    def snapshot(self) -> Any:
        puts = {
            n: [(put.node, put.tag, *map(fingerprint, put.inputs)) for put in made] for n, made in self.writes.items()
        }
        parked = {
            n: [(*token[:3], fingerprint(token.value)) for token in tokens] for n, tokens in self.deferred_reads.items()
        }
        return self.size, puts, parked


class CellHeap:
    """All cells of a state. They stay until the run is over."""

    def __init__(self) -> None:
        self.blocks: dict[Handle, CellBlock] = {}
        self.deferred_count = 0
        """How many tokens are parked, at all cells."""
        self.owner = object()

    def fork(self) -> CellHeap:
        """An equal heap that goes its own way; blocks are shared until one of the two changes them."""
        made = CellHeap()
        made.blocks, made.deferred_count, self.owner = self.blocks.copy(), self.deferred_count, object()
        return made

    def defer(self, cell: CellAddress, token: Token) -> None:
        parked = self._writable(cell.handle).deferred_reads
        parked[cell.number] = (*parked.get(cell.number, ()), token)
        self.deferred_count += 1

    def undo_defer(self, cell: CellAddress) -> None:
        """The token that was parked last comes back."""
        _pop_last(self._writable(cell.handle).deferred_reads, cell.number)
        self.deferred_count -= 1

    def apply(self, event: Event, op: str) -> None:
        """What a firing of this op does to cells."""
        handle, number = _target_cells(event, op)
        if handle is None:
            return
        if number is None:
            self.blocks[handle] = CellBlock(handle.size, self.owner)
            return
        assert event.inputs is not None
        block, put = self._writable(handle), CellWrite(event.token.node, event.token.tag, event.inputs)
        block.writes[number] = (*block.writes.get(number, ()), put)
        if event.woken:
            del block.deferred_reads[number]
            self.deferred_count -= len(event.woken)

    def revert(self, event: Event, op: str) -> None:
        """Undo it."""
        handle, number = _target_cells(event, op)
        if handle is None:
            return
        if number is None:
            del self.blocks[handle]
            return
        block = self._writable(handle)
        _pop_last(block.writes, number)
        block.full_prefix = min(block.full_prefix, number)
        if event.woken:
            block.deferred_reads[number] = event.woken
            self.deferred_count += len(event.woken)

    def _writable(self, handle: Handle) -> CellBlock:
        """The cells of a handle, to be changed."""
        block = self.blocks[handle]
        if block.owner is not self.owner:
            block = self.blocks[handle] = block.copy(self.owner)
        return block

    def snapshot(self) -> Any:
        return self.deferred_count, {handle: block.snapshot() for handle, block in self.blocks.items()}


def _target_cells(event: Event, op: str) -> tuple[Handle | None, int | None]:
    """The cells that a firing makes, or those that it puts to and the number of the cell; else nothing."""
    inputs: Any = event.inputs
    if op == "cells" and event.trap is None:
        made: Any = event.outputs[0][1]
        return made, None
    if op == "store" and 0 <= inputs[1] < inputs[0].size:
        return inputs[0], inputs[1]
    return None, None


def _pop_last(entries: dict[int, tuple[Any, ...]], number: int) -> None:
    """Take away the last entry of a cell."""
    entries[number] = entries[number][:-1]
    if not entries[number]:
        del entries[number]
