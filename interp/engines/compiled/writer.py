"""The emitter of functions: writes the Python source of one generated function at a time (`source.py` describes the
module around them)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ....core.mix import name_key
from ....core.program.program import Node, Operand, Program
from ....core.tag import site_key
from ....core.types import HandleType, Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.state import EXIT_DEPTH, EXIT_FALLBACK, EXIT_MEMORY, EXIT_STACK, EXIT_TRAP, OPERANDS, SLOT_WORDS
from . import adjoint_sums as sums
from . import cells, effects, fused, layout, loops, moves, products
from . import elementwise as arrays
from . import records as recording
from .chains import FusedChain, plan_fusion
from .components import is_recursive_group
from .elementwise import Transposed, TypedExpression
from .facts import ArrayFacts, ArrayFactTable, merge_facts
from .layout import PhaseGroup
from .phases import FunctionPhase, PhaseKey, PhaseStart
from .records import TapeReference
from .support import is_draw, is_host_op, is_short, needs_poll
from .tape_layout import TapeLayout
from .text import GeneratedModule, TrapSite

SELF_NAME, NULL_RESULT_NAME = "again", "nothing"
"""In generated code, the name of the function itself, and of the one that returns its result after an abort."""


class _CheckedLimits(NamedTuple):
    """The limits that are already checked on every path to here: how many more tag levels, and whether the stack."""

    levels: int
    is_stack_checked: bool


class FunctionEmitter:
    """Emits one generated function."""

    def __init__(
        self,
        program: Program,
        made: GeneratedModule,
        kept: Mapping[str, TapeLayout],
        whose: Mapping[PhaseKey, PhaseGroup],
        component: PhaseGroup,
    ) -> None:
        self.program, self.module, self.tape_layouts, self.phase_groups, self.group = (
            program,
            made,
            kept,
            whose,
            component,
        )
        self.indent = 1
        self.name_count = 0
        self.function_name = ""
        self.enclosing_loops: list[tuple[int, str]] = []
        """The enclosing loops: each with the number of its site and its counter variable."""
        self.tag_keys = ["key"]
        self.checked_limits = _CheckedLimits(0, False)
        self.start_line = 0
        self.facts = ArrayFactTable()
        self.dead_operands = set[str]()  # operands of the current node that are unique and not used after it
        self.result_facts = dict[PhaseKey, list[ArrayFacts]]()  # facts about the results of phases

    def emit(self, text: str) -> None:
        self.module.lines.append(" " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Emit an indented block under `head`. Limits that are checked inside do not count as checked after it."""
        self.emit(head)
        self.indent += 1
        asked = self.checked_limits
        yield
        self.checked_limits = asked
        self.indent -= 1

    @contextmanager
    def outline(self) -> Iterator[tuple[str, str]]:
        """Emit the body of a helper function, placed before the current one. Yields its name and the name of its
        `words` parameter; its other parameters are `first` and `last`. An equal body is emitted once: see
        `GeneratedModule.outline_aliases`."""
        name, words = self.fresh_name(f"{self.group.name}_"), self.fresh_name("c")
        outside, indent = self.module.lines, self.indent
        self.module.lines, self.indent = [], 1
        yield name, words
        numbers: dict[str, str] = {}
        alike = "\n".join(
            re.sub(r"\b[a-z]\d+\b", lambda found: numbers.setdefault(found[0], f"{found[0][0]}{len(numbers)}"), line)
            for line in self.module.lines
        )
        if alike not in self.module.outlined_functions:
            self.module.outlined_functions[alike] = name
            head = ["@kernel(void(int64, int64, int64), cache=True)", f"def {name}({words}, first, last):"]
            tail = f"{name} = w.address_function({name})"
            outside[self.start_line : self.start_line] = [*head, *self.module.lines, tail]
        self.module.outline_aliases[name] = self.module.outlined_functions[alike]
        self.module.lines, self.indent = outside, indent

    def fresh_name(self, of: str = "v") -> str:
        self.name_count += 1
        return f"{of}{self.name_count}"

    def fresh_variable(self, type_: Type) -> str:
        """A fresh variable for a value of a type; for a handle of cells, two variables in parentheses."""
        return (
            f"({self.fresh_name()}, {self.fresh_name()})" if isinstance(type_.dtype, HandleType) else self.fresh_name()
        )

    def unpack_handle(self, text: str, type_: Type) -> str:
        """Text that consists of names only: a handle is unpacked once instead of at every use."""
        if not isinstance(type_.dtype, HandleType):
            return text
        name = self.fresh_variable(type_)
        self.emit(f"{name} = {text}")
        return name

    def emit_function(self) -> None:
        own, self.start_line = self.group, len(self.module.lines)
        slots = [f"x{at}" for at in range(len(own.parameters))]
        names = [*(name for name, _ in own.implicit_parameters), *slots]
        if is_recursive_group(own.members):
            self.module.lines.append(f"{SELF_NAME} = m.recursive_call({own.signature})")
        if own.has_arrays:
            self.module.lines.append(f"{NULL_RESULT_NAME} = m.null_function({layout.numba_result_type(own.results)})")
        self.module.lines += [f"@kernel({own.signature}, cache=True)", f"def {own.name}({', '.join(names)}):"]
        for number, member in enumerate(own.members):
            self.function_name = member.function.name
            given = [slots[at] for at in layout.slot_positions(layout.slot_types(member.parameters), own.parameters)]
            if len(own.members) == 1:
                self.emit_phase(member, given)
                return
            with self.block(f"if which == {number}:"):
                self.emit_phase(member, given)
        self.emit(self.null_return)

    def emit_phase(self, phase: FunctionPhase, given: Sequence[str]) -> None:
        """Emit one phase of a function. A function with a single phase manages its record alone."""
        kept, address, before = self.tape_layouts[phase.function.name], "record", None
        if not phase.function.pullbacks and not kept.is_empty:
            before = recording.emit_mark(self)
            address = loops.emit_tape_allocation(self, kept)
        made = self.emit_region(
            TapeReference(address, kept), phase.number, list(map(self.unpack_handle, given, phase.parameters))
        )
        if not phase.number:
            made = list(map(self.materialize, made))
        self.result_facts[phase.key] = self.facts.facts_of(made)
        if before:
            recording.emit_release(self, before)
        slots = layout.fill_slots(made, layout.slot_types(phase.results), self.group.results)
        self.emit(f"return {layout.tuple_expression(slots)}")

    @property
    def null_return(self) -> str:
        """The return statement of a function that is aborted."""
        made = (
            f"{NULL_RESULT_NAME}()"
            if self.group.has_arrays
            else layout.tuple_expression(list(map(layout.zero_expression, self.group.results)))
        )
        return f"return {made}"

    def emit_exit(self, why: str | None = None, *, records_tag: bool = False) -> None:
        if why is not None:
            self.emit(why)
        for site, count in reversed(self.enclosing_loops) if records_tag else ():
            self.emit(f"m.record_tag_step(s, {site}, {count})")
        self.emit(self.null_return)

    def emit_depth_check(self, levels: int, *, stack: bool) -> None:
        """Emit the check that the tag may grow by `levels`, and optionally that stack is left, unless it is already
        checked."""
        if levels <= self.checked_limits.levels and (self.checked_limits.is_stack_checked or not stack):
            return
        longer = "m.stack_pointer() < m.read_i(s, 3) or " if stack else ""  # this order saves 6 % on fib(32)
        with self.block(f"if {longer}left < {levels}:"):
            self.emit_exit(f"m.abort_run(s, {EXIT_DEPTH} if left < {levels} else {EXIT_STACK}, 0)")
        self.checked_limits = _CheckedLimits(
            max(levels, self.checked_limits.levels), stack or self.checked_limits.is_stack_checked
        )

    def add_site(self, node: Node) -> int:
        self.module.sites.append(node.site(self.function_name))
        return len(self.module.sites) - 1

    def child_key(self, node: Node, count: str) -> str:
        """The tag key of a call or an iteration at this node."""
        return f"d.child_key({self.tag_keys[-1]}, uint64({site_key(node.site(self.function_name))}), uint64({count}))"

    def emit_region(self, record: TapeReference, number: int, given: Sequence[str]) -> list[str]:
        """Emit the nodes of a phase; return the text of its results."""
        kept = record.layout
        phase, whole, opened = kept.phases[number], kept.closed_phase(number), recording.TapeScope(self, kept, number)
        values: dict[Operand, TypedExpression] = {
            var.name: TypedExpression(text, var.type) for var, text in zip(phase.parameters, given, strict=True)
        }

        def value(operand: Operand) -> TypedExpression:
            if isinstance(operand, Literal):
                return self.emit_literal(operand)
            if operand not in values:
                values[operand] = recording.emit_load(self, record, operand)
            return values[operand]

        def materialized_value(operand: Operand) -> TypedExpression:
            found = value(operand)
            return found if isinstance(found, Transposed) else found._replace(text=self.materialize(found.text))

        plan = sums.plan_accumulation(whole)
        for node in plan_fusion(whole, plan.special_nodes):
            if isinstance(node, FusedChain):
                values.update(fused.emit_chain(self, node, materialized_value))
                self.facts.unique |= {values[each].text for loop in node.loops for each in loop.outputs}
                continue
            if node.name in plan.fused_nodes:
                if node.name in plan.transposes:
                    values[node.name] = Transposed(materialized_value(node.inputs[0]).text, node.results[0].type)
                continue
            if node.name in plan.special_nodes:
                values[node.name] = TypedExpression(
                    sums.emit_special_node(self, plan, node, value, materialized_value), node.results[0].type
                )
                continue
            inputs = list(map(materialized_value, node.inputs))
            texts = [each.text for each in inputs]
            self.dead_operands = plan.dead_operands(node, value) & self.facts.unique
            if not sums.is_fresh(node.op):
                self.facts.mark_shared(texts)
            opened.enter_node(node.name)
            match node.op:
                case "cond":
                    results = self.emit_cond(record, node, texts)
                case "while_loop":
                    results = loops.emit_first_phase(self, record, node, texts)
                case "call":
                    results = self.emit_call(record, node, PhaseStart(node, 0), texts)
                case "pullback":
                    results = self.emit_pullback(record, node, texts)
                case "breakpoint" | "identity" | "stop_gradient":
                    results = texts
                case _:
                    results = [self.emit_op(node, inputs, texts)]
                    if needs_poll(node) and not is_short(node, [each.type for each in inputs]):
                        self.emit_poll()
            opened.exit_node(node.name)
            if sums.is_fresh(node.op):
                self.facts.unique.update(results)
            if node.op == "scatter_index":
                self.facts.no_negative_zero.difference_update(results)
            values.update(
                (var.name, TypedExpression(text, var.type)) for var, text in zip(node.results, results, strict=True)
            )
        made = [value(result).text for result in phase.results]
        for name in kept.saved_values(number):
            recording.emit_save(self, record, name, materialized_value(name))
            self.facts.mark_shared([values[name].text])
        return made

    def materialize(self, text: str) -> str:
        """A variable whose array is materialized: if it may be lazy zeros, they are written here."""
        if text in self.facts.lazy:
            self.emit(f"{text} = e.materialize({text})")
            self.facts.lazy.discard(text)
        return text

    def emit_literal(self, literal: Literal) -> TypedExpression:
        if literal.type.is_scalar:
            return TypedExpression(kernels.literal_expression(literal.value, literal.type.dtype), literal.type)
        return TypedExpression(arrays.emit_array_literal(self, np.asarray(literal.value), literal.type), literal.type)

    def emit_op(self, node: Node, inputs: Sequence[TypedExpression], texts: Sequence[str]) -> str:
        result = node.results[0].type
        if is_draw(node):
            return arrays.emit_draw(self, node, inputs)
        if node.op in effects.EFFECT_OPS:
            return effects.emit_host_call(self, node, inputs)
        if is_host_op(node):
            return moves.emit_strided_op(self, node, inputs) or effects.emit_host_call(self, node, inputs)
        if node.op in products.MATMUL_SUM_OPS:
            return products.emit_matmul_or_sum(self, node, list(inputs))
        if node.op in cells.EMITTERS:
            return cells.EMITTERS[node.op](self, node, inputs)
        if not result.is_scalar:
            return arrays.emit_elementwise(self, node, inputs)
        types = [each.type for each in inputs]
        condition = kernels.trap_condition(node.op, types, result, texts)
        if condition is not None:
            self.emit_trap(node, inputs, condition)
        return self.assign(kernels.expression(node.op, types, result, node.attributes, texts))

    def assign(self, text: str) -> str:
        """Assign an expression to a fresh variable."""
        name = self.fresh_name()
        self.emit(f"{name} = {text}")
        return name

    def emit_trap(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], condition: str) -> None:
        """Emit the trap of a node, on a condition."""
        with self.block(f"if {condition}:"):
            self.store_operands(inputs)
            self.emit_exit(f"m.abort_run(s, {EXIT_TRAP}, {self.add_trap_site(node, inputs)})", records_tag=True)

    def store_operands(self, inputs: Sequence[TypedExpression]) -> None:
        """Store the operands in the slots of the state, where the waiting thread reads them."""
        for at, (text, type_) in enumerate(inputs):
            self.emit(f"m.{'write' if type_.is_scalar else 'store_array'}(s, {OPERANDS + SLOT_WORDS * at}, {text})")

    def emit_memory_exit(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], condition: str) -> None:
        """Emit the exit for a result that is too large, on a condition."""
        with self.block(f"if {condition}:"):
            self.emit_exit(f"m.abort_run(s, {EXIT_MEMORY}, {self.add_trap_site(node, inputs)})")

    def emit_fallback_exit(self, condition: str) -> None:
        """Emit the exit to the token engine, on a condition."""
        if condition != "False":
            with self.block(f"if {condition}:"):
                self.emit_exit(f"m.abort_run(s, {EXIT_FALLBACK}, 0)")

    def add_trap_site(self, node: Node | FusedChain, inputs: Sequence[TypedExpression]) -> int:
        self.module.trap_sites.append(TrapSite(self.function_name, node, tuple(type_ for _, type_ in inputs)))
        return len(self.module.trap_sites) - 1

    def emit_draw_key(self, node: Node) -> str:
        where = name_key(f"{self.function_name}.{node.name}")
        return self.assign(f"d.draw_key(m.read_u(s, 6), uint64({where}), {self.tag_keys[-1]})")

    def emit_cond(self, record: TapeReference, node: Node, texts: Sequence[str]) -> list[str]:
        if node.name in record.layout.structure_offset:
            self.emit(f"m.write({record.address}, {record.layout.structure_offset[node.name]}, {texts[0]})")
        return self.emit_branches(record, node, PhaseStart(node, 0), texts[0], texts[1:])

    def emit_branches(
        self, record: TapeReference, node: Node, begun: PhaseStart, predicate: str, texts: Sequence[str]
    ) -> list[str]:
        """Emit a phase of both branches of a cond, under its predicate."""
        names, facts = [self.fresh_variable(result.type) for result in node.results], list[list[ArrayFacts]]()
        for head, inner in zip(
            (f"if {predicate}:", "else:"), record.layout.inner_layouts[begun.root.name], strict=True
        ):
            with self.block(head):
                made = self.emit_region(TapeReference(record.address, inner), begun.number, texts)
                facts.append(self.facts.facts_of(made))
                for name, text in zip(names, made, strict=True):
                    self.emit(f"{name} = {text}")
                if not names:
                    self.emit("pass")
        for name, *each in zip(names, *facts, strict=True):
            self.facts.set_facts(name, merge_facts(each))
        return names

    def emit_pullback(self, record: TapeReference, node: Node, texts: Sequence[str]) -> list[str]:
        """Emit a later phase of a call, cond or loop."""
        begun = record.layout.phase_starts[node.name]
        match begun.root.op:
            case "cond":
                at = record.layout.structure_offset[begun.root.name]
                predicate = self.assign(f"m.read_b({record.address}, {at})")
                return self.emit_branches(record, node, begun, predicate, texts)
            case "while_loop":
                types = [result.type for result in node.results]
                return loops.emit_later_phase(self, record, begun.root, begun.number, types, texts)
            case _:
                return self.emit_call(record, node, begun, texts)

    def emit_call(self, record: TapeReference, node: Node, begun: PhaseStart, texts: Sequence[str]) -> list[str]:
        """Emit the call of a phase of a function."""
        callee = FunctionPhase(self.program[begun.root.attribute("function")], begun.number)
        component, levels = self.phase_groups[callee.key], len(self.enclosing_loops) + 1
        self.emit_depth_check(levels, stack=True)
        hidden = {
            "s": "s",
            "left": f"left - {levels}",
            "record": f"int64({self.callee_tape(record, begun)})" if component.has_tape else "",
            "key": self.child_key(begun.root, "0") if component.has_tag_key else "",
            "which": f"int64({component.phase_index(callee.key)})",
        }
        slots = layout.fill_slots(texts, layout.slot_types(callee.parameters), component.parameters)
        name = self.fresh_name()
        called = SELF_NAME if component is self.group else component.name
        self.emit(
            f"{name} = {called}({', '.join([*(hidden[each] for each, _ in component.implicit_parameters), *slots])})"
        )
        with self.block("if m.read_i(s, 0) != 0:"):
            self.emit_exit(f"m.record_tag_step(s, {self.add_site(begun.root)}, 0)", records_tag=True)
        places = layout.slot_positions(layout.slot_types(callee.results), component.results)
        texts = [f"{name}[{place}]" if len(component.results) > 1 else name for place in places]
        texts = [self.unpack_handle(text, result.type) for text, result in zip(texts, node.results, strict=True)]
        facts = self.module.result_facts[callee.key]
        texts = [self.assign(text) if fact.may_be_lazy else text for text, fact in zip(texts, facts, strict=True)]
        for text, fact in zip(texts, facts, strict=True):
            self.facts.set_facts(text, fact)
        return texts

    def callee_tape(self, record: TapeReference, begun: PhaseStart) -> str:
        """The address of a callee's record, which the first phase allocates."""
        callee, at = (
            self.tape_layouts[begun.root.attribute("function")],
            record.layout.structure_offset.get(begun.root.name),
        )
        if at is None or callee.is_empty:
            return "0"
        if begun.number:
            return self.assign(f"m.read_i({record.address}, {at})")
        made = loops.emit_tape_allocation(self, callee)
        self.emit(f"m.write({record.address}, {at}, {made})")
        return made

    @contextmanager
    def loop_iteration(self, loop: Node, count: str) -> Iterator[None]:
        """A context whose code is emitted inside an iteration of a loop."""
        key = self.tag_keys[-1]
        if self.group.has_tag_key and any(
            self.needs_tag_key(each) for region in loop.regions for each in region.walk()
        ):
            key = self.fresh_name("key")
            self.emit(f"{key} = {self.child_key(loop, count)}")
        self.tag_keys.append(key)
        yield
        self.tag_keys.pop()

    def emit_poll(self) -> None:
        """Emit the check whether the run was asked to stop."""
        with self.block("if m.load_relaxed(s) != 0:"):
            self.emit_exit()

    def needs_tag_key(self, node: Node) -> bool:
        return is_draw(node) or (node.op == "call" and self.phase_groups[node.attribute("function"), 0].has_tag_key)
