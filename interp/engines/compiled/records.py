"""The text of records (kept.py says what is in them): values are written at the end of a phase, and read where a later
one first uses them. What no phase reads any more is given back as soon as nothing lies behind it that one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ....core.types import HandleType, Type, element_type
from ..jit.kernels import LANES, lane
from ..jit.state import LAST_ROW, RECORD
from . import layout
from .elementwise import Value
from .tape_layout import Kept

ROW_WORDS = 3
"""The words of an array in a record, before its sizes."""


class Record(NamedTuple):
    """Text of the address of a record, and what of it belongs to a region."""

    address: str
    kept: Kept


class Writer(Protocol):
    """Who writes the function that a record is used in."""

    def line(self, text: str) -> None: ...
    def made_of(self, text: str) -> str: ...


class Mark(NamedTuple):
    """Text of where the next record begins, and of the last row."""

    begin: str
    row: str


def mark(writer: Writer) -> Mark:
    """Where records are now."""
    return Mark(writer.made_of(f"m.read_i(s, {RECORD})"), writer.made_of(f"m.read_i(s, {LAST_ROW})"))


def release(writer: Writer, to: Mark) -> None:
    """Give back all records since a mark."""
    writer.line(f"records.release(s, {to.begin}, {to.row})")


def write(writer: Writer, record: Record, name: str, value: Value) -> None:
    """Write a value into a record."""
    at, (text, type_) = record.kept.at[name], value
    if isinstance(type_.dtype, HandleType):
        values, full = text[1:-1].split(", ")
        writer.line(f"records.keep(s, {record.address}, {at}, {values})")
        writer.line(f"records.keep(s, {record.address}, {at + ROW_WORDS + len(_held(type_))}, {full})")
    elif type_.is_scalar:
        writer.line(f"m.write({record.address}, {at}, {LANES[lane(type_.dtype)]}({text}))")
    else:
        writer.line(f"records.keep(s, {record.address}, {at}, {text})")


def read(writer: Writer, record: Record, name: str) -> Value:
    """The value that an earlier phase wrote."""
    at, type_ = record.kept.at[name], record.kept.variables[name].type
    if isinstance(type_.dtype, HandleType):
        held, of = _held(type_), element_type(type_)
        kind = "np.int64" if layout.is_open(of) else layout.numpy(layout.element(of.dtype))
        values = _array(writer, record, at, kind, len(held))
        full = _array(writer, record, at + ROW_WORDS + len(held), "np.bool_", 1)
        return Value(f"({values}, {full})", type_)
    if type_.is_scalar:
        return Value(writer.made_of(f"m.read_{lane(type_.dtype)}({record.address}, {at})"), type_)
    kind = layout.numpy(layout.element(type_.dtype))
    return Value(_array(writer, record, at, kind, len(type_.shape or ())), type_)


def _array(writer: Writer, record: Record, at: int, kind: str, rank: int) -> str:
    return writer.made_of(f"records.kept({record.address}, {at}, {kind}, ({'0, ' * rank}))")


def _held(type_: Type) -> Sequence[object]:
    """The axes of the array that a handle has first."""
    of = element_type(type_)
    return (None, None) if layout.is_open(of) else (None, *(of.shape or ()))


class Opened:
    """The records that nodes of one phase of a region make, in order: each with the node whose they are, and a mark of
    where they begin, if they end in this phase. `ended` are nodes whose last phase is over."""

    def __init__(self, writer: Writer, kept: Kept, phase: int) -> None:
        self.writer, self.kept = writer, kept
        self.open: list[tuple[str, Mark | None]] = []
        self.ended: set[str] = set()
        begun = (kept.begun.get(node.name) for node in kept.phases[phase].nodes)
        self.ending = {each.root.name for each in begun if each and kept.is_last(each)}

    def before(self, name: str) -> None:
        """A node is about to make records."""
        begun = self.kept.begun.get(name)
        if begun and not self.kept.is_last(begun):
            root = begun.root.name
            self.open.append((root, mark(self.writer) if root in self.ending else None))

    def after(self, name: str) -> None:
        """A node has been computed: what nobody reads any more is given back."""
        begun = self.kept.begun.get(name)
        if begun is None or not self.kept.is_last(begun):
            return
        self.ended.add(begun.root.name)
        last = None
        while self.open and self.open[-1][0] in self.ended:
            _, last = self.open.pop()
        if last:
            release(self.writer, last)
