"""The text of loops: their first phase, which decides how many iterations there are, and further ones, which go through
the same iterations, from the last to the first and back again in turn.

A loop polls the state after each iteration, or, where it only counts, after STRIP_ITERATIONS of them: then numba may
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
"""In how many loops what is known of loop variables is tried: each may be written twice."""


class LoopEmitter(Protocol):
    """Who writes the function that a loop is in."""

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
    """The first phase of a loop; its variables are variables."""
    return _ForwardLoopEmitter(writer, record, node, texts).emit_loop()


def emit_later_phase(
    writer: LoopEmitter, record: TapeReference, root: Node, number: int, types: Sequence[Type], texts: Sequence[str]
) -> list[str]:
    """A further phase of the loop `root`."""
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
    """A further phase of a loop, if so much holds of its variables in all iterations; and what does."""
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
    """What is written meanwhile is in a loop."""
    writer.emit_depth_check(len(writer.enclosing_loops) + 1, stack=False)
    writer.enclosing_loops.append((writer.add_site(node), count))
    yield
    writer.enclosing_loops.pop()


def _emit_loop_variables(writer: LoopEmitter, types: Sequence[Type], texts: Sequence[str]) -> list[str]:
    """Variables that begin with these values."""
    names = []
    for type_, text in zip(types, texts, strict=True):
        names.append(writer.fresh_variable(type_))
        slot = layout.slot_type(type_)
        writer.emit(f"{names[-1]} = {LANE_TYPES[slot]}({text})" if slot in LANE_TYPES else f"{names[-1]} = {text}")
    return names


def _emit_rebinding(writer: LoopEmitter, names: Sequence[str], made: Sequence[str]) -> None:
    """What an iteration made is what the next one begins with."""
    changed = [(name, text) for name, text in zip(names, made, strict=True) if name != text]
    if changed:
        writer.emit(f"{', '.join(name for name, _ in changed)} = {', '.join(text for _, text in changed)}")


class _ForwardLoopEmitter:
    """Writes the first phase of a loop."""

    def __init__(self, writer: LoopEmitter, record: TapeReference, node: Node, texts: Sequence[str]) -> None:
        self.writer, self.tape, self.node = writer, record, node
        self.variable_names = _emit_loop_variables(writer, [var.type for var in node.regions[1].parameters], texts)
        self.condition_layout, self.body_layout = record.layout.inner_layouts[node.name]
        self.later_phases = record.layout.later_phases[node.name]
        self.count = writer.fresh_name("n")
        self.last_tape, self.first_tape = "0", "0"
        """The records of the last iteration so far, and of the first."""

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
        """Whether each iteration has a record."""
        return bool(self.later_phases) and not self.body_layout.is_empty

    def emit_counted_loop(self, counter: counting.InductionVariable) -> None:
        """A loop that counts up to a bound, by strips of so many iterations: the last one may wrap, and the loop goes
        on."""
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
        """The record of an iteration that begins; those of its neighbours are told, where somebody asks."""
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
    """A new record."""
    made = writer.assign(f"records.allocate_words(s, {kept.end})")
    with writer.block(f"if {made} == 0:"):
        writer.emit_exit(f"m.abort_run(s, {EXIT_TAPE_FULL}, 0)")
    return made
