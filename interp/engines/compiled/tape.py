"""Code generation for tape records, whose layout is a `layout.TapeLayout`. Values are written at the end of a phase,
and read where a later phase first uses them. A record that no later phase reads is released as soon as no live
record follows it."""

from __future__ import annotations

from typing import NamedTuple

from ....core.types import HandleType, element_type
from ..jit.kernels import LANE_TYPES, lane
from ..jit.state import EXIT_TAPE_FULL, TAPE_LAST_ROW, TAPE_NEXT
from .emitter import FunctionEmitter, TypedExpression
from .layout import ROW_WORDS, TapeLayout, cell_storage_sizes, has_unknown_size, numba_dtype, numpy_dtype


class TapeReference(NamedTuple):
    """The text of a record's address, and the layout of the region's part of it."""

    address: str
    layout: TapeLayout


class TapeMark(NamedTuple):
    """A position in the arena: text of the next record's address, and of the last row."""

    next_address: str
    last_row: str


def emit_tape_allocation(emitter: FunctionEmitter, layout: TapeLayout) -> str:
    """Emit the allocation of a record; return its address."""
    address = emitter.assign(f"m.allocate_words(s, {layout.end})")
    with emitter.block(f"if {address} == 0:"):
        emitter.emit_exit(f"m.abort_run(s, {EXIT_TAPE_FULL}, 0)")
    return address


def emit_mark(emitter: FunctionEmitter) -> TapeMark:
    """Emit a mark of the current position."""
    return TapeMark(emitter.assign(f"m.read_i(s, {TAPE_NEXT})"), emitter.assign(f"m.read_i(s, {TAPE_LAST_ROW})"))


def emit_release(emitter: FunctionEmitter, mark: TapeMark) -> None:
    """Emit the release of all records after a mark."""
    emitter.emit(f"m.release(s, {mark.next_address}, {mark.last_row})")


def emit_save(emitter: FunctionEmitter, record: TapeReference, name: str, value: TypedExpression) -> None:
    """Emit the save of a value in a record."""
    offset, (text, type_) = record.layout.value_offset[name], value
    if isinstance(type_.dtype, HandleType):
        values, full = text[1:-1].split(", ")
        emitter.emit(f"m.save_array(s, {record.address}, {offset}, {values})")
        at_full = offset + ROW_WORDS + len(cell_storage_sizes(element_type(type_)))
        emitter.emit(f"m.save_array(s, {record.address}, {at_full}, {full})")
    elif type_.is_scalar:
        emitter.emit(f"m.write({record.address}, {offset}, {LANE_TYPES[lane(type_.dtype)]}({text}))")
    else:
        emitter.emit(f"m.save_array(s, {record.address}, {offset}, {text})")


def emit_load(emitter: FunctionEmitter, record: TapeReference, name: str) -> TypedExpression:
    """Emit the load of a value that an earlier phase saved."""
    offset, type_ = record.layout.value_offset[name], record.layout.variables[name].type

    def load_array(offset: int, dtype: str, rank: int) -> str:
        return emitter.assign(f"m.load_array({record.address}, {offset}, {dtype}, ({'0, ' * rank}))")

    if isinstance(type_.dtype, HandleType):
        element = element_type(type_)
        rank = len(cell_storage_sizes(element))
        values = load_array(
            offset, "np.int64" if has_unknown_size(element) else numpy_dtype(numba_dtype(element.dtype)), rank
        )
        return TypedExpression(f"({values}, {load_array(offset + ROW_WORDS + rank, 'np.bool_', 1)})", type_)
    if type_.is_scalar:
        return TypedExpression(emitter.assign(f"m.read_{lane(type_.dtype)}({record.address}, {offset})"), type_)
    dtype = numpy_dtype(numba_dtype(type_.dtype))
    return TypedExpression(load_array(offset, dtype, len(type_.shape or ())), type_)


class TapeScope:
    """The open records that the nodes of one phase of a region have created, in order: for each, the name of its node
    and, if the node ends in this phase, a mark of the record's start. `finished_nodes` have completed their last
    phase."""

    def __init__(self, emitter: FunctionEmitter, layout: TapeLayout, phase: int) -> None:
        self.emitter, self.layout = emitter, layout
        self.open_tapes: list[tuple[str, TapeMark | None]] = []
        self.finished_nodes: set[str] = set()
        starts = (layout.phase_starts.get(node.name) for node in layout.phases[phase].nodes)
        self.finishing_nodes = {start.root.name for start in starts if start and layout.is_last(start)}

    def enter_node(self, name: str) -> None:
        """Note that a node is about to create records."""
        start = self.layout.phase_starts.get(name)
        if start and not self.layout.is_last(start):
            root = start.root.name
            self.open_tapes.append((root, emit_mark(self.emitter) if root in self.finishing_nodes else None))

    def exit_node(self, name: str) -> None:
        """Note that a node is complete; release the records that are no longer read."""
        start = self.layout.phase_starts.get(name)
        if start is None or not self.layout.is_last(start):
            return
        self.finished_nodes.add(start.root.name)
        mark = None
        while self.open_tapes and self.open_tapes[-1][0] in self.finished_nodes:
            _, mark = self.open_tapes.pop()
        if mark:
            emit_release(self.emitter, mark)
