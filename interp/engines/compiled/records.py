"""Code generation for tape records (layouts in tape_layout.py). Values are written at the end of a phase, and read
where a later phase first uses them. A record that no later phase reads is released as soon as no live record follows
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ....core.types import HandleType, Type, element_type
from ..jit.kernels import LANE_TYPES, lane
from ..jit.state import TAPE_LAST_ROW, TAPE_NEXT
from . import layout
from .elementwise import TypedExpression
from .tape_layout import TapeLayout

ROW_WORDS = 3
"""The words of an array in a record before its sizes."""


class TapeReference(NamedTuple):
    """The text of a record's address, and the layout of the region's part of it."""

    address: str
    layout: TapeLayout


class RecordEmitter(Protocol):
    """The part of FunctionEmitter that emitters of records need."""

    def emit(self, text: str) -> None: ...
    def assign(self, text: str) -> str: ...


class TapeMark(NamedTuple):
    """A position in the arena: text of the next record's address, and of the last row."""

    next_address: str
    last_row: str


def emit_mark(writer: RecordEmitter) -> TapeMark:
    """Emit a mark of the current position."""
    return TapeMark(writer.assign(f"m.read_i(s, {TAPE_NEXT})"), writer.assign(f"m.read_i(s, {TAPE_LAST_ROW})"))


def emit_release(writer: RecordEmitter, to: TapeMark) -> None:
    """Emit the release of all records after a mark."""
    writer.emit(f"m.release(s, {to.next_address}, {to.last_row})")


def emit_save(writer: RecordEmitter, record: TapeReference, name: str, value: TypedExpression) -> None:
    """Emit the save of a value in a record."""
    at, (text, type_) = record.layout.value_offset[name], value
    if isinstance(type_.dtype, HandleType):
        values, full = text[1:-1].split(", ")
        writer.emit(f"m.save_array(s, {record.address}, {at}, {values})")
        at_full = at + ROW_WORDS + len(_cell_storage_axes(type_))
        writer.emit(f"m.save_array(s, {record.address}, {at_full}, {full})")
    elif type_.is_scalar:
        writer.emit(f"m.write({record.address}, {at}, {LANE_TYPES[lane(type_.dtype)]}({text}))")
    else:
        writer.emit(f"m.save_array(s, {record.address}, {at}, {text})")


def emit_load(writer: RecordEmitter, record: TapeReference, name: str) -> TypedExpression:
    """Emit the load of a value that an earlier phase saved."""
    at, type_ = record.layout.value_offset[name], record.layout.variables[name].type
    if isinstance(type_.dtype, HandleType):
        held, of = _cell_storage_axes(type_), element_type(type_)
        kind = "np.int64" if layout.has_unknown_size(of) else layout.numpy_dtype(layout.numba_dtype(of.dtype))
        values = _emit_load_array(writer, record, at, kind, len(held))
        full = _emit_load_array(writer, record, at + ROW_WORDS + len(held), "np.bool_", 1)
        return TypedExpression(f"({values}, {full})", type_)
    if type_.is_scalar:
        return TypedExpression(writer.assign(f"m.read_{lane(type_.dtype)}({record.address}, {at})"), type_)
    kind = layout.numpy_dtype(layout.numba_dtype(type_.dtype))
    return TypedExpression(_emit_load_array(writer, record, at, kind, len(type_.shape or ())), type_)


def _emit_load_array(writer: RecordEmitter, record: TapeReference, at: int, kind: str, rank: int) -> str:
    return writer.assign(f"m.load_array({record.address}, {at}, {kind}, ({'0, ' * rank}))")


def _cell_storage_axes(type_: Type) -> Sequence[object]:
    """The sizes of the first array of a handle; None for dynamic ones."""
    of = element_type(type_)
    return (None, None) if layout.has_unknown_size(of) else (None, *(of.shape or ()))


class TapeScope:
    """The records that the nodes of one phase of a region create, in order: each with its node, and with a mark of its
    start if it ends in this phase. `finished_nodes` have completed their last phase."""

    def __init__(self, writer: RecordEmitter, kept: TapeLayout, phase: int) -> None:
        self.writer, self.layout = writer, kept
        self.open_tapes: list[tuple[str, TapeMark | None]] = []
        self.finished_nodes: set[str] = set()
        begun = (kept.phase_starts.get(node.name) for node in kept.phases[phase].nodes)
        self.finishing_nodes = {each.root.name for each in begun if each and kept.is_last(each)}

    def enter_node(self, name: str) -> None:
        """Note that a node is about to create records."""
        begun = self.layout.phase_starts.get(name)
        if begun and not self.layout.is_last(begun):
            root = begun.root.name
            self.open_tapes.append((root, emit_mark(self.writer) if root in self.finishing_nodes else None))

    def exit_node(self, name: str) -> None:
        """Note that a node is complete; release the records that are no longer read."""
        begun = self.layout.phase_starts.get(name)
        if begun is None or not self.layout.is_last(begun):
            return
        self.finished_nodes.add(begun.root.name)
        last = None
        while self.open_tapes and self.open_tapes[-1][0] in self.finished_nodes:
            _, last = self.open_tapes.pop()
        if last:
            emit_release(self.writer, last)
