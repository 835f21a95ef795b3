"""Code generation for loops. The first phase runs the loop and counts its iterations; later phases replay them,
alternately from last to first and from first to last.

A loop polls the state after each iteration or, where it only counts, after STRIP_ITERATIONS of them, so that LLVM can
still unroll it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from ....core.program.program import Node
from ....core.types import Type
from ..jit.kernels import LANE_TYPES
from ..jit.state import EXIT_TAPE_FULL
from . import counted_loops as counting
from . import layout
from .facts import ArrayFacts, ArrayFactTable
from .records import TapeReference
from .tape_layout import FIRST_ITERATION, LAST_ITERATION, NEXT_ITERATION, PREVIOUS_ITERATION, TRIP_COUNT, TapeLayout
from .text import GeneratedModule

STRIP_ITERATIONS = 4096
_MAX_SPECULATIVE_LOOPS = 3
"""The greatest nesting at which facts about loop variables are assumed and checked: each such loop may be emitted
twice."""


class LoopEmitter(Protocol):
    """The part of FunctionEmitter that emitters of loops need."""

    enclosing_loops: list[tuple[int, str]]
    module: GeneratedModule
    checked_limits: Any
    facts: ArrayFactTable
    dead_operands: set[str]

    def emit(self, text: str) -> None: ...
    def assign(self, text: str) -> str: ...
    def materialize(self, text: str) -> str: ...
    def block(self, head: str) -> AbstractContextManager[None]: ...
    def fresh_name(self, of: str = "v") -> str: ...
    def fresh_variable(self, type_: Type) -> str: ...
    def emit_depth_check(self, levels: int, *, stack: bool) -> None: ...
    def add_site(self, node: Node) -> int: ...
    def loop_iteration(self, node: Node, count: str) -> AbstractContextManager[None]: ...
    def emit_region(self, record: TapeReference, number: int, given: Sequence[str]) -> list[str]: ...
    def emit_poll(self) -> None: ...
    def emit_exit(self, why: str | None = None, *, records_tag: bool = False) -> None: ...


def emit_first_phase(writer: LoopEmitter, record: TapeReference, node: Node, texts: Sequence[str]) -> list[str]:
    """Emit the first phase of a loop, with its loop variables as variables."""
    return _ForwardLoopEmitter(writer, record, node, texts).emit_loop()


def emit_later_phase(
    writer: LoopEmitter, record: TapeReference, root: Node, number: int, types: Sequence[Type], texts: Sequence[str]
) -> list[str]:
    """Emit a later phase of the loop `root`."""
    begins = [
        ArrayFacts(
            text in writer.dead_operands and len(writer.enclosing_loops) < _MAX_SPECULATIVE_LOOPS,
            text in writer.facts.no_negative_zero,
        )
        for text in texts
    ]
    while True:
        before = writer.module.copy(), writer.facts.copy(), writer.checked_limits
        names, held = _emit_replay_loop(writer, record, root, number, types, texts, begins)
        if held == begins:
            return names
        made, known, writer.checked_limits = before
        writer.module.restore(made)
        writer.facts.restore(known)
        begins = held


def _emit_replay_loop(
    writer: LoopEmitter,
    record: TapeReference,
    root: Node,
    number: int,
    types: Sequence[Type],
    texts: Sequence[str],
    assumed: Sequence[ArrayFacts],
) -> tuple[list[str], list[ArrayFacts]]:
    """Emit a later phase of a loop under assumed facts about its variables; also return the facts that then hold."""
    names = _emit_loop_variables(writer, types, texts)
    for name, fact in zip(names, assumed, strict=True):
        writer.facts.set_facts(name, fact)
    body, address = record.layout.inner_layouts[root.name][1], record.address
    at, is_back = record.layout.structure_offset[root.name], number % 2 == 1
    inner = writer.assign(
        "0" if body.is_empty else f"m.read_i({address}, {at + (LAST_ITERATION if is_back else FIRST_ITERATION)})"
    )
    trips, count = writer.assign(f"m.read_i({address}, {at + TRIP_COUNT})"), writer.fresh_name("n")
    writer.emit(f"{count} = {f'{trips} - 1' if is_back else '0'}")
    going = f"{count} >= 0" if is_back else f"{count} < {trips}"
    with _enclosing_loop(writer, root, count), writer.block(f"while {going}:"):
        with writer.loop_iteration(root, count):
            made = list(map(writer.materialize, writer.emit_region(TapeReference(inner, body), number, names)))
            facts = writer.facts.facts_of(made)
            _emit_rebinding(writer, names, made)
        if not body.is_empty:
            writer.emit(f"{inner} = m.read_i({inner}, {PREVIOUS_ITERATION if is_back else NEXT_ITERATION})")
        writer.emit(f"{count} {'-' if is_back else '+'}= 1")
        writer.emit_poll()
    pairs = zip(assumed, facts, strict=True)
    return names, [
        ArrayFacts(one.is_unique and other.is_unique, one.has_no_negative_zero and other.has_no_negative_zero)
        for one, other in pairs
    ]


@contextmanager
def _enclosing_loop(writer: LoopEmitter, node: Node, count: str) -> Iterator[None]:
    """A context whose code is emitted inside a loop."""
    writer.emit_depth_check(len(writer.enclosing_loops) + 1, stack=False)
    writer.enclosing_loops.append((writer.add_site(node), count))
    yield
    writer.enclosing_loops.pop()


def _emit_loop_variables(writer: LoopEmitter, types: Sequence[Type], texts: Sequence[str]) -> list[str]:
    """Emit loop variables with these initial values."""
    names = []
    for type_, text in zip(types, texts, strict=True):
        names.append(writer.fresh_variable(type_))
        slot = layout.slot_type(type_)
        writer.emit(f"{names[-1]} = {LANE_TYPES[slot]}({text})" if slot in LANE_TYPES else f"{names[-1]} = {text}")
    return names


def _emit_rebinding(writer: LoopEmitter, names: Sequence[str], made: Sequence[str]) -> None:
    """Emit the assignment of an iteration's results to the loop variables."""
    changed = [(name, text) for name, text in zip(names, made, strict=True) if name != text]
    if changed:
        writer.emit(f"{', '.join(name for name, _ in changed)} = {', '.join(text for _, text in changed)}")


class _ForwardLoopEmitter:
    """Emits the first phase of a loop."""

    def __init__(self, writer: LoopEmitter, record: TapeReference, node: Node, texts: Sequence[str]) -> None:
        self.writer, self.tape, self.node = writer, record, node
        self.variable_names = _emit_loop_variables(writer, [var.type for var in node.regions[1].parameters], texts)
        self.condition_layout, self.body_layout = record.layout.inner_layouts[node.name]
        self.later_phases = record.layout.later_phases[node.name]
        self.count = writer.fresh_name("n")
        self.last_tape, self.first_tape = "0", "0"
        """The records of the latest iteration and of the first."""

    def emit_loop(self) -> list[str]:
        writer = self.writer
        writer.emit(f"{self.count} = 0")
        if self.has_iteration_tapes:
            self.last_tape, self.first_tape = writer.assign("0"), writer.assign("0")
        with _enclosing_loop(writer, self.node, self.count):
            counter = counting.find_induction_variable(self.node)
            if counter is None:
                with writer.block("while True:"):
                    self.emit_iteration()
                    writer.emit_poll()
            else:
                self.emit_counted_loop(counter)
        if self.later_phases:
            address, at = self.tape.address, self.tape.layout.structure_offset[self.node.name]
            for word, text in (
                (LAST_ITERATION, self.last_tape),
                (FIRST_ITERATION, self.first_tape),
                (TRIP_COUNT, self.count),
            ):
                writer.emit(f"m.write({address}, {at + word}, int64({text}))")
        return self.variable_names

    @property
    def has_iteration_tapes(self) -> bool:
        """Whether each iteration has a record of its own."""
        return bool(self.later_phases) and not self.body_layout.is_empty

    def emit_counted_loop(self, counter: counting.InductionVariable) -> None:
        """Emit a loop that counts up to a bound, in strips of iterations: the last iteration may wrap, and the loop
        then continues."""
        writer, names = self.writer, self.variable_names
        index, stop = names[counter.index], writer.fresh_name()
        bound = str(counter.bound) if counter.bound_index is None else names[counter.bound_index]
        with writer.block(f"while {index} < {bound}:"):
            after = f"(uint64({bound}) - uint64({index}) - uint64(1)) // uint64({counter.step})"
            writer.emit(f"{stop} = {self.count} + int64(min({after}, uint64({STRIP_ITERATIONS - 1}))) + 1")
            with writer.block(f"while {self.count} < {stop}:"):
                self.emit_iteration(is_condition_known=True)
            writer.emit_poll()

    def emit_iteration(self, *, is_condition_known: bool = False) -> None:
        writer = self.writer
        with writer.loop_iteration(self.node, self.count):
            if not is_condition_known:
                (going,) = writer.emit_region(
                    TapeReference(self.tape.address, self.condition_layout), 0, self.variable_names
                )
                writer.emit(f"if not {going}: break")
            inner = self.emit_iteration_tape() if self.has_iteration_tapes else self.tape.address
            made = writer.emit_region(TapeReference(inner, self.body_layout), 0, self.variable_names)
            _emit_rebinding(writer, self.variable_names, list(map(writer.materialize, made)))
            writer.emit(f"{self.count} += 1")

    def emit_iteration_tape(self) -> str:
        """Emit the record of a new iteration, linked to its neighbours if a later phase follows the links."""
        writer, last = self.writer, self.last_tape
        inner = emit_tape_allocation(writer, self.body_layout)
        writer.emit(f"m.write({inner}, {PREVIOUS_ITERATION}, {last})")
        if self.later_phases > 1:
            with writer.block(f"if {last} == 0:"):
                writer.emit(f"{self.first_tape} = {inner}")
            with writer.block("else:"):
                writer.emit(f"m.write({last}, {NEXT_ITERATION}, {inner})")
        writer.emit(f"{last} = {inner}")
        return inner


def emit_tape_allocation(writer: LoopEmitter, kept: TapeLayout) -> str:
    """Emit the allocation of a record."""
    made = writer.assign(f"m.allocate_words(s, {kept.end})")
    with writer.block(f"if {made} == 0:"):
        writer.emit_exit(f"m.abort_run(s, {EXIT_TAPE_FULL}, 0)")
    return made
