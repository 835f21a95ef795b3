"""Write-once cells as a state holds them.

S13 `cells` makes n empty cells, and a handle of them: its node and tag. `store` fills a cell; it has no output. `get`
    fires once its cell is full, and `collect` once all are: until then the token that came last is parked at an empty
    cell, the first there is, and the store that fills this sends it again, behind the flight. A second store to a cell
    is a trap of the cell, which names all its stores; the value stays the one that came first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.handle import Handle
from ...core.tag import Tag
from ...core.value import Value, fingerprint
from .event import Cell, Event, Token


class Put(NamedTuple):
    """A firing of a `store`: its node, its tag, and its operands."""

    node: int
    tag: Tag
    inputs: tuple[Value, ...]


class Block:
    """The cells that one handle stands for. Like a record, it is copied where it is not of the heap's own `era`."""

    __slots__ = ("era", "full", "parked", "puts", "size")

    def __init__(self, size: int, era: object) -> None:
        self.size = size
        self.era = era
        self.puts: dict[int, tuple[Put, ...]] = {}
        """Of each cell, in the order in which they came: the first has its value."""
        self.parked: dict[int, tuple[Token, ...]] = {}
        """The tokens that stay at each empty cell, in the order in which they came."""
        self.full = 0
        """All cells below this one are known to be full: where a look for an empty one begins."""

    def copy(self, era: object) -> Block:
        made = Block(self.size, era)
        made.puts, made.parked, made.full = self.puts.copy(), self.parked.copy(), self.full
        return made

    def first_empty(self) -> int | None:
        """The first cell that is empty, if one is."""
        while self.full < self.size and self.full in self.puts:
            self.full += 1
        return self.full if self.full < self.size else None

    def value(self, number: int) -> Value:
        """What a full cell holds."""
        return self.puts[number][0].inputs[2]

    def snapshot(self) -> Any:
        puts = {
            n: [(put.node, put.tag, *map(fingerprint, put.inputs)) for put in made] for n, made in self.puts.items()
        }
        parked = {n: [(*token[:3], fingerprint(token.value)) for token in tokens] for n, tokens in self.parked.items()}
        return self.size, puts, parked


class Heap:
    """All cells of a state. They stay until the run is over."""

    def __init__(self) -> None:
        self.blocks: dict[Handle, Block] = {}
        self.parked = 0
        """How many tokens are parked, at all cells."""
        self.era = object()

    def fork(self) -> Heap:
        """An equal heap that goes its own way; blocks are shared until one of the two changes them."""
        made = Heap()
        made.blocks, made.parked, self.era = self.blocks.copy(), self.parked, object()
        return made

    def park(self, cell: Cell, token: Token) -> None:
        parked = self._mine(cell.handle).parked
        parked[cell.number] = (*parked.get(cell.number, ()), token)
        self.parked += 1

    def unpark(self, cell: Cell) -> None:
        """The token that was parked last comes back."""
        _put_back(self._mine(cell.handle).parked, cell.number)
        self.parked -= 1

    def apply(self, event: Event, op: str) -> None:
        """What a firing of this op does to cells."""
        handle, number = _subject(event, op)
        if handle is None:
            return
        if number is None:
            self.blocks[handle] = Block(handle.size, self.era)
            return
        assert event.inputs is not None
        block, put = self._mine(handle), Put(event.token.node, event.token.tag, event.inputs)
        block.puts[number] = (*block.puts.get(number, ()), put)
        if event.woken:
            del block.parked[number]
            self.parked -= len(event.woken)

    def revert(self, event: Event, op: str) -> None:
        """Undo it."""
        handle, number = _subject(event, op)
        if handle is None:
            return
        if number is None:
            del self.blocks[handle]
            return
        block = self._mine(handle)
        _put_back(block.puts, number)
        block.full = min(block.full, number)
        if event.woken:
            block.parked[number] = event.woken
            self.parked += len(event.woken)

    def _mine(self, handle: Handle) -> Block:
        """The cells of a handle, to be changed."""
        block = self.blocks[handle]
        if block.era is not self.era:
            block = self.blocks[handle] = block.copy(self.era)
        return block

    def snapshot(self) -> Any:
        return self.parked, {handle: block.snapshot() for handle, block in self.blocks.items()}


def _subject(event: Event, op: str) -> tuple[Handle | None, int | None]:
    """The cells that a firing makes, or those that it puts to and the number of the cell; else nothing."""
    inputs: Any = event.inputs
    if op == "cells" and event.trap is None:
        made: Any = event.outputs[0][1]
        return made, None
    if op == "store" and 0 <= inputs[1] < inputs[0].size:
        return inputs[0], inputs[1]
    return None, None


def _put_back(entries: dict[int, tuple[Any, ...]], number: int) -> None:
    """Take away the last entry of a cell."""
    entries[number] = entries[number][:-1]
    if not entries[number]:
        del entries[number]
