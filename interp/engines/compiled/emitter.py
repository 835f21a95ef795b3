"""The function emitter: it writes the Python text of generated functions, and does not depend on kinds of nodes. Like
LLVM's IRBuilder, it appends at the current position: `emit` appends a line, `assign` an assignment to a fresh variable,
`block` an indented block. It also emits the exits of a function: traps, limits, polls.

Text goes into a `GeneratedModule`. Facts about array variables are collected while they are emitted, in an
`ArrayFactTable`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from ....core.dtypes import DType
from ....core.hashing import name_key
from ....core.program.program import Node, Program
from ....core.tag import Site, site_key
from ....core.types import HandleType, Type
from ..jit.state import (
    EXIT_FALLBACK,
    EXIT_MEMORY,
    EXIT_TRAP,
    OPERANDS,
    SEED,
    SLOT_WORDS,
    STACK_GUARD,
)
from .fusion import FusedChain, exceeds_max_elements
from .layout import PhaseGroup, PhaseKey, TapeLayout

MIN_CHARGED_BYTES = 4096
"""Smaller arrays are not accounted for one by one: the waiting thread measures the memory 50 times a second."""


class TypedExpression(NamedTuple):
    """The text of a value, and its type."""

    text: str
    type: Type

    @property
    def sizes(self) -> list[str]:
        """Text of the sizes of an array."""
        shape = self.type.shape or ()
        return [f"{self.text}.shape[{axis}]" if size is None else str(size) for axis, size in enumerate(shape)]


class Transposed(TypedExpression):
    """A matrix to be read transposed; its type is the type of the transpose."""


class TrapSite(NamedTuple):
    """A site that can trap, or make a host call: the function, the node, and the types of its operands; for a chain,
    the types of its inputs."""

    function: str
    node: Node | FusedChain
    types: tuple[Type, ...]


class ArrayFacts(NamedTuple):
    """Facts that hold for an array variable. The defaults, which say the least, are always safe."""

    is_unique: bool = False
    """No argument, record, view or other live variable refers to the elements."""
    has_no_negative_zero: bool = False
    """No element is -0.0, so adding zeros changes no bit."""
    may_be_lazy: bool = False
    """The array may be lazy zeros: sizes without elements (jit.arrays)."""


def merge_facts(facts: Sequence[ArrayFacts]) -> ArrayFacts:
    """The facts about a variable that takes one of several values, merged from the facts about these values."""
    return ArrayFacts(
        all(fact.is_unique for fact in facts),
        all(fact.has_no_negative_zero for fact in facts),
        any(fact.may_be_lazy for fact in facts),
    )


@dataclass(slots=True)
class ArrayFactTable:
    """The facts about all array variables of a function: for each fact, the variables for which it holds."""

    unique: set[str] = field(default_factory=set)
    no_negative_zero: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)

    def facts_of(self, texts: Sequence[str]) -> list[ArrayFacts]:
        """The facts about variables that are passed on together."""
        return [
            ArrayFacts(text in self.unique and texts.count(text) == 1, text in self.no_negative_zero, text in self.lazy)
            for text in texts
        ]

    def set_facts(self, text: str, facts: ArrayFacts) -> None:
        for variables, holds in zip((self.unique, self.no_negative_zero, self.lazy), facts, strict=True):
            if holds:
                variables.add(text)
            else:
                variables.discard(text)

    def mark_shared(self, texts: Iterable[str]) -> None:
        """Note that the elements of these variables are shared from now on."""
        self.unique.difference_update(texts)

    def copy(self) -> ArrayFactTable:
        """An independent copy."""
        return ArrayFactTable(set(self.unique), set(self.no_negative_zero), set(self.lazy))

    def restore(self, snapshot: ArrayFactTable) -> None:
        """Restore an earlier copy."""
        self.unique, self.no_negative_zero, self.lazy = (
            set(snapshot.unique),
            set(snapshot.no_negative_zero),
            set(snapshot.lazy),
        )


@dataclass(slots=True)
class GeneratedModule:
    """A generated module: its source lines, and the tables for the numbers in them."""

    lines: list[str] = field(default_factory=list)
    trap_sites: list[TrapSite] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    """The sites of calls and loops, which are the steps of tags."""
    has_tapes: bool = False
    """Whether any function saves values for later phases."""
    has_host_calls: bool = False
    """Whether it calls the host: for effects, or ops without machine code."""
    result_facts: dict[PhaseKey, list[ArrayFacts]] = field(default_factory=dict)
    """The facts about the results of phases of functions."""
    loop_lines: list[str] = field(default_factory=list)
    """The lines of the outlined loop functions."""
    outlined_functions: dict[str, str] = field(default_factory=dict)
    """The names of outlined loop functions, by their text with normalized variable names."""
    outline_aliases: dict[str, str] = field(default_factory=dict)
    """For the name of each outlined function, the name of the emitted function with the same text."""
    constants: dict[str, str] = field(default_factory=dict)
    """The names of array literals, which are global constants of the module, by the text of their value."""

    def copy(self) -> GeneratedModule:
        """An independent copy."""
        return GeneratedModule(**{part.name: copy(getattr(self, part.name)) for part in fields(self)})

    def restore(self, snapshot: GeneratedModule) -> None:
        """Restore an earlier copy."""
        for part in fields(self):
            setattr(self, part.name, copy(getattr(snapshot, part.name)))

    @property
    def max_operands(self) -> int:
        """The greatest number of operands of a trap site."""
        return max((len(trap_site.types) for trap_site in self.trap_sites), default=0)


class CheckedLimits(NamedTuple):
    """The limits that are checked on every path to the current position: the number of further tag levels, and whether
    the stack is checked."""

    levels: int
    is_stack_checked: bool


class FunctionEmitter:
    """Writes one generated function."""

    def __init__(
        self,
        program: Program,
        module: GeneratedModule,
        tape_layouts: Mapping[str, TapeLayout],
        phase_groups: Mapping[PhaseKey, PhaseGroup],
        group: PhaseGroup,
    ) -> None:
        self.program, self.module, self.group = program, module, group
        self.tape_layouts, self.phase_groups = tape_layouts, phase_groups
        self.indent = 1
        self.name_count = 0
        self.function_name = ""
        self.enclosing_loops: list[tuple[int, str]] = []
        """The enclosing loops: each with the number of its site and its counter variable."""
        self.tag_keys = ["key"]
        self.checked_limits = CheckedLimits(0, False)
        self.facts = ArrayFactTable()
        self.dead_operands = set[str]()
        """The operands of the current node that are unique and not used after it."""
        self.result_facts = dict[PhaseKey, list[ArrayFacts]]()
        """The facts about the results of this function's phases."""

    # Lines and names

    def emit(self, text: str) -> None:
        self.module.lines.append(" " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Emit an indented block under `head`. Limits that are checked inside do not count as checked after it."""
        self.emit(head)
        self.indent += 1
        checked_limits = self.checked_limits
        yield
        self.checked_limits = checked_limits
        self.indent -= 1

    def fresh_name(self, prefix: str = "v") -> str:
        self.name_count += 1
        return f"{prefix}{self.name_count}"

    def fresh_variable(self, type_: Type) -> str:
        """A fresh variable for a value of a type; for a handle of cells, two variables in parentheses."""
        if isinstance(type_.dtype, HandleType):
            return f"({self.fresh_name()}, {self.fresh_name()})"
        return self.fresh_name()

    def assign(self, text: str) -> str:
        """Assign an expression to a fresh variable."""
        name = self.fresh_name()
        self.emit(f"{name} = {text}")
        return name

    def unpack_handle(self, text: str, type_: Type) -> str:
        """Unpack a handle into two variables, once instead of at every use; return the text of any other value as it
        is."""
        if not isinstance(type_.dtype, HandleType):
            return text
        name = self.fresh_variable(type_)
        self.emit(f"{name} = {text}")
        return name

    def materialize(self, text: str) -> str:
        """A variable whose array is materialized: if it may be lazy zeros, they are written here."""
        if text in self.facts.lazy:
            self.emit(f"{text} = e.materialize({text})")
            self.facts.lazy.discard(text)
        return text

    @contextmanager
    def outline(self) -> Iterator[tuple[str, str]]:
        """Emit the loop of an outlined function. Yields its name and the name of its `words`
        parameter; its other parameters are `first` and `last`. An equal body is emitted once: see
        `GeneratedModule.outline_aliases`."""
        name, words = self.fresh_name(f"{self.group.name}_"), self.fresh_name("c")
        outer_lines, indent = self.module.lines, self.indent
        self.module.lines, self.indent = [], 1
        yield name, words
        numbers: dict[str, str] = {}
        normalized_text = "\n".join(
            re.sub(r"\b[a-z]\d+\b", lambda match: numbers.setdefault(match[0], f"{match[0][0]}{len(numbers)}"), line)
            for line in self.module.lines
        )
        if normalized_text not in self.module.outlined_functions:
            self.module.outlined_functions[normalized_text] = name
            self.module.loop_lines += [f"def {name}({words}, first, last):", *self.module.lines]
        self.module.outline_aliases[name] = self.module.outlined_functions[normalized_text]
        self.module.lines, self.indent = outer_lines, indent

    # Exits of the function

    def emit_exit(self, abort_call: str | None = None, *, records_tag: bool = False) -> None:
        """Emit the return of an aborted function; with `records_tag`, it first records the iterations that it
        leaves."""
        if abort_call is not None:
            self.emit(abort_call)
        for site, count in reversed(self.enclosing_loops) if records_tag else ():
            self.emit(f"m.record_tag_step(s, {site}, {count})")
        self.emit("return")

    def emit_poll(self) -> None:
        """Emit the check whether the run was asked to stop."""
        with self.block("if m.load_relaxed(s) != 0:"):
            self.emit_exit()

    def emit_depth_check(self, levels: int, *, stack: bool) -> None:
        """Emit the check that the tag may grow by `levels` and, with `stack`, that the stack is not exhausted, unless
        an earlier check covers it. The check of the stack is a poll, too: a request to stop raises the guard."""
        if levels <= self.checked_limits.levels and (self.checked_limits.is_stack_checked or not stack):
            return
        # This order saves 6 % on fib(32).
        stack_test = f"m.stack_pointer() < m.read_i(s, {STACK_GUARD}) or " if stack else ""
        with self.block(f"if {stack_test}left < {levels}:"):
            self.emit_exit(f"m.abort_at_guard(s, left < {levels})")
        self.checked_limits = CheckedLimits(
            max(levels, self.checked_limits.levels), stack or self.checked_limits.is_stack_checked
        )

    def emit_trap(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], condition: str) -> None:
        """Emit the trap of a node, on a condition."""
        with self.block(f"if {condition}:"):
            self.store_operands(inputs)
            self.emit_exit(f"m.abort_run(s, {EXIT_TRAP}, {self.add_trap_site(node, inputs)})", records_tag=True)

    def emit_memory_exit(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], condition: str) -> None:
        """Emit the exit for a result that is too large, on a condition."""
        with self.block(f"if {condition}:"):
            self.emit_exit(f"m.abort_run(s, {EXIT_MEMORY}, {self.add_trap_site(node, inputs)})")

    def emit_size_check(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], sizes: Sequence[str]) -> None:
        """Emit the exit for a result of these sizes where it has too many elements."""
        condition = exceeds_max_elements(sizes)
        if condition != "False":
            self.emit_memory_exit(node, inputs, condition)

    def emit_memory_charge(self, sizes: Sequence[str], dtype: DType) -> None:
        """Emit the accounting for an array of these sizes that is allocated next, unless it is certainly small. Where
        it exceeds the limit on bytes, the next poll ends the run."""
        static_sizes = [int(size) for size in sizes if size.isdigit()]
        if len(static_sizes) < len(sizes) or math.prod(static_sizes) * dtype.numpy.itemsize >= MIN_CHARGED_BYTES:
            self.emit(f"m.charge_memory(s, {' * '.join([str(dtype.numpy.itemsize), *sizes])})")

    def emit_fallback_exit(self, condition: str) -> None:
        """Emit the exit to the token engine, on a condition."""
        if condition != "False":
            with self.block(f"if {condition}:"):
                self.emit_exit(f"m.abort_run(s, {EXIT_FALLBACK}, 0)")

    def store_operands(self, inputs: Sequence[TypedExpression]) -> None:
        """Store the operands in the slots of the state, where the waiting thread reads them."""
        for index, (text, type_) in enumerate(inputs):
            self.emit(f"m.{'write' if type_.is_scalar else 'store_array'}(s, {OPERANDS + SLOT_WORDS * index}, {text})")

    # Sites and tag keys

    def add_site(self, node: Node) -> int:
        self.module.sites.append(node.site(self.function_name))
        return len(self.module.sites) - 1

    def add_trap_site(self, node: Node | FusedChain, inputs: Sequence[TypedExpression]) -> int:
        self.module.trap_sites.append(TrapSite(self.function_name, node, tuple(type_ for _, type_ in inputs)))
        return len(self.module.trap_sites) - 1

    def child_key(self, node: Node, count: str) -> str:
        """The tag key of a call or an iteration at this node."""
        return f"d.child_key({self.tag_keys[-1]}, uint64({site_key(node.site(self.function_name))}), uint64({count}))"

    def emit_draw_key(self, node: Node) -> str:
        """The key of a draw, which depends on its node and its tag."""
        number = name_key(f"{self.function_name}.{node.name}")
        return self.assign(f"d.draw_key(m.read_u(s, {SEED}), uint64({number}), {self.tag_keys[-1]})")
