"""The code generator: a structured program as text in the Python of `jit.function_code`, which compiles it. Loops
become loops, calls become calls, values become variables.

The text is emitted from the top down: `emit_module`, `emit_group`, `emit_function`, `emit_phase`, `emit_region`; then a
function for each kind of node that holds regions or calls, here, and for other ops in `elementwise`,
`matrix_products`, `data_movement` and `cells`. All of them write through one `FunctionEmitter`.

The generated code evaluates nodes in the order of the big-step evaluator. Its variable `s` is the address of the state
(jit.state), `left` is the number of tag levels that remain, and `key` is the tag key, passed only where random numbers
need it.
To end a run early, code writes the reason into the state and returns; each caller then checks the state and returns
too. Results are meaningless after that. While they return, functions record the calls and iterations that they leave:
these are the steps of the tag.

A function checks depth and stack before its first call; a request to stop fails the check of the stack, so a recursion
stops on its way down, too. An operation that may take long is followed by a poll. Each phase of a function is a
separate generated function, which reads the values that earlier phases saved from a record (`layout.TapeLayout`).

The first phase of a loop runs it and counts its iterations; later phases replay them, alternately from last to first
and from first to last. A loop polls the state after each iteration or, where it only counts, after STRIP_ITERATIONS of
them, so that LLVM can still unroll it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ....core import dtypes
from ....core.program.program import Node, Operand, Program, Region
from ....core.types import Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.kernels import LANE_TYPES, lane
from ..jit.native import FUNCTION_CODE, SECOND_PART
from ..jit.state import (
    HOST_FAILED,
    HOST_TOO_LARGE,
    MATMUL_FUNCTIONS,
    OPERANDS,
    SHARED_FUNCTIONS,
    SLOT_WORDS,
    STACK_FLOOR,
    STACK_GUARD,
    STOP_FLAG,
    TAPE_NEXT,
)
from .cells import CELL_EMITTERS
from .data_movement import emit_strided_op
from .elementwise import emit_array_literal, emit_chain, emit_draw, emit_elementwise
from .emitter import (
    ArrayFacts,
    FunctionEmitter,
    GeneratedModule,
    Transposed,
    TypedExpression,
    merge_facts,
)
from .fusion import FusedChain, plan_fusion
from .layout import (
    FIRST_ITERATION,
    LAST_ITERATION,
    NEXT_ITERATION,
    PREVIOUS_ITERATION,
    TRIP_COUNT,
    FunctionPhase,
    PhaseGroup,
    PhaseKey,
    PhaseStart,
    TapeLayout,
    axes_tuple,
    fill_slots,
    function_tape_layout,
    functions_reaching,
    is_recursive_group,
    numba_dtype,
    numpy_dtype,
    slot_positions,
    slot_type,
    slot_types,
    strongly_connected_components,
    tuple_expression,
)
from .matrix_products import emit_matmul, emit_special_node, emit_sum, is_fresh, plan_accumulation
from .support import is_draw, is_host_op, is_narrow_op, is_short, needs_poll
from .tape import TapeReference, TapeScope, emit_load, emit_mark, emit_release, emit_save, emit_tape_allocation

HEADER = f"""\
{kernels.HEADER}import numpy as np
from numba.types import Array, Tuple, void
from {__package__.rpartition(".")[0]}.jit import intrinsics as m, random as d
"""
ARRAY_HEADER = f"""\
from {__package__.rpartition(".")[0]}.jit import arrays as e, parallel_loops as w, numpy_loops as n
from {__package__.rpartition(".")[0]}.jit import matrices as p, runtime as h
parallel_for_large = h.parallel_for_large
"""
STRIP_ITERATIONS = 4096
"""The iterations of a counted loop between two polls."""
_MAX_SPECULATIVE_LOOPS = 3
"""The greatest nesting at which facts about loop variables are assumed and checked: each such loop may be emitted
twice."""
_MODULE_MEMBER = re.compile(r"\b(k|d|m|e|w|n|p|np)\.(\w+)")
_INT = Type(dtypes.int64)
_LARGEST_STEP = 2**20
"""The largest step of a counted loop."""
_EFFECTS = ("print", "callback")
"""The effects that Python performs."""

# Modules


def emit_module(program: Program) -> GeneratedModule:
    """Generate the module of a supported program.

    `entry` takes the addresses of the state, of the arguments and of the results, the greatest depth of tags, and the
    key of the root tag.
    """
    module = GeneratedModule()
    keyed_functions, groups = functions_reaching(program, is_draw), dict[PhaseKey, PhaseGroup]()
    layouts = {function.name: function_tape_layout(program, function) for function in program.reachable_functions()}
    module.has_tapes = not all(layout.is_empty for layout in layouts.values())
    for number, members in enumerate(strongly_connected_components(program)):
        name, phase = members[0].key
        name = f"{name}_{phase}" if phase else name
        readable_name = name if name.isidentifier() and name.isascii() else ""
        group = PhaseGroup(f"f{number}_{readable_name}", members, members[0].function.name in keyed_functions)
        groups.update({member.key: group for member in members})
        emit_group(program, module, layouts, groups, group)
    emit_entry(program, module, groups[program.entry, 0], layouts[program.entry])
    module.lines[:0] = module.loop_lines
    return module


def module_text(module: GeneratedModule, *, has_only_scalars: bool) -> str:
    """The text of a generated module. Programs on arrays take the functions of the shared library from there."""
    body = "\n".join([*(f"{name} = {text}" for text, name in module.constants.items()), *module.lines])
    package = __package__.rpartition(".")[0]
    lines = (HEADER if has_only_scalars else HEADER + ARRAY_HEADER).splitlines()
    called = set(re.findall(r"\b(\w+)\(", body))
    if "strided_op" in called:
        lines.append(f"from {package}.jit.strided_ops import strided_op")
    if products := sorted(called & set(MATMUL_FUNCTIONS)):
        lines.append(f"from {package}.jit.matrices import {', '.join(products)}")
    for part, name in sorted({match.groups() for match in _MODULE_MEMBER.finditer(body)}):
        is_shared = name in SHARED_FUNCTIONS and not has_only_scalars
        lines.append(f"{part}_{name} = {'h' if is_shared else part}.{name}")
    return "\n".join([FUNCTION_CODE, *lines, SECOND_PART, _MODULE_MEMBER.sub(r"\1_\2", body), ""])


def emit_group(
    program: Program,
    module: GeneratedModule,
    layouts: Mapping[str, TapeLayout],
    groups: Mapping[PhaseKey, PhaseGroup],
    group: PhaseGroup,
) -> None:
    """Emit the function of a group. Its recursive results are first assumed to be unique arrays without -0.0, and those
    of first phases not to be lazy; if that turns out to be wrong, the function is emitted again with weaker facts,
    until these agree."""
    if is_recursive_group(group.members):
        optimistic_facts = ArrayFacts(is_unique=True, has_no_negative_zero=True)
        module.result_facts |= {
            member.key: [
                ArrayFacts() if type_.is_scalar else optimistic_facts._replace(may_be_lazy=member.number > 0)
                for type_ in member.results
            ]
            for member in group.members
        }
    while True:
        snapshot, assumed = module.copy(), dict(module.result_facts)
        emitter = FunctionEmitter(program, module, layouts, groups, group)
        emit_function(emitter)
        facts = {
            key: weaken_facts(assumed.get(key, result_facts), result_facts)
            for key, result_facts in emitter.result_facts.items()
        }
        if not is_recursive_group(group.members) or all(facts[key] == assumed[key] for key in facts):
            module.result_facts |= facts
            return
        module.restore(snapshot)
        module.result_facts |= facts


def weaken_facts(assumed_facts: Sequence[ArrayFacts], computed_facts: Sequence[ArrayFacts]) -> list[ArrayFacts]:
    """For each result, the facts on which both lists agree."""
    return [merge_facts(pair) for pair in zip(assumed_facts, computed_facts, strict=True)]


def emit_entry(program: Program, module: GeneratedModule, group: PhaseGroup, layout: TapeLayout) -> None:
    """Emit the function `entry`, which reads the arguments, calls the entry function and stores its results."""
    main = program.main
    arguments, begin = list[str](), 0
    for _, type_ in main.body.parameters:
        array = f"{numpy_dtype(numba_dtype(type_.dtype))}, {axes_tuple(type_)}"
        arguments.append(
            f"m.read_{lane(type_.dtype)}(a, {begin})" if type_.is_scalar else f"m.take_array(a, {begin}, {array})"
        )
        begin += 1 if type_.is_scalar else 2 + len(type_.shape or ())
    implicit = {"s": "s", "left": "left", "record": "record", "key": "uint64(key)"}
    implicit["which"] = f"int64({group.phase_index((main.name, 0))})"
    slots = fill_slots(arguments, slot_types(p.type for p in main.body.parameters), group.parameters)
    module.lines += [
        "@int64(int64, int64, int64, int64, int64)",
        "def entry(s, a, r, left, key):",
        f" lowest = m.maximum(m.stack_pointer() - m.read_i(s, {STACK_GUARD}), m.read_i(s, {STACK_FLOOR}))",
        " m.set_stack_guard(s, lowest)",
        f" if m.read_i(s, {STOP_FLAG}) != 0: return 0",
        *[f" begin = m.read_i(s, {TAPE_NEXT})"] * module.has_tapes,
        *[f" record = m.allocate_words(s, {layout.end * module.has_tapes})"] * group.has_tape,
        f" result = {group.name}({', '.join([*(implicit[name] for name, _ in group.implicit_parameters), *slots])})",
        *[" m.release(s, begin, 0)"] * module.has_tapes,
        f" if m.read_i(s, {STOP_FLAG}) != 0: return 0",  # meaningless arrays would never be freed
    ]
    for index, position in enumerate(slot_positions(slot_types(main.results), group.results)):
        result = f"result[{position}]" if len(group.results) > 1 else "result"
        store = "write" if main.results[index].is_scalar else "store_array"
        module.lines.append(f" m.{store}(r, {SLOT_WORDS * index}, {result})")
    module.lines.append(" return 0")


# Functions and regions


def emit_function(emitter: FunctionEmitter) -> None:
    """Emit the function of the emitter's group: one phase, or a branch for each."""
    group, module = emitter.group, emitter.module
    slots = [f"x{index}" for index in range(len(group.parameters))]
    names = [*(name for name, _ in group.implicit_parameters), *slots]
    module.lines += [f"@{group.signature}", f"def {group.name}({', '.join(names)}):"]
    if is_recursive_group(group.members):
        for slot, kind in zip(slots, group.parameters, strict=True):
            if kind.startswith("Array("):
                emitter.emit(f"{slot} = e.receive({slot})")
    for number, member in enumerate(group.members):
        emitter.function_name = member.function.name
        arguments = [slots[index] for index in slot_positions(slot_types(member.parameters), group.parameters)]
        if len(group.members) == 1:
            emit_phase(emitter, member, arguments)
            return
        with emitter.block(f"if which == {number}:"):
            emit_phase(emitter, member, arguments)
    emitter.emit("return")


def emit_phase(emitter: FunctionEmitter, phase: FunctionPhase, arguments: Sequence[str]) -> None:
    """Emit one phase of a function. If it is the only one, it allocates and releases its record itself."""
    layout, address, mark = emitter.tape_layouts[phase.function.name], "record", None
    if not phase.function.pullback_result_types and not layout.is_empty:
        mark = emit_mark(emitter)
        address = emit_tape_allocation(emitter, layout)
    texts = list(map(emitter.unpack_handle, arguments, phase.parameters))
    results = emit_region(emitter, TapeReference(address, layout), phase.number, texts)
    if not phase.number:
        results = list(map(emitter.materialize, results))
    emitter.result_facts[phase.key] = emitter.facts.facts_of(results)
    if mark:
        emit_release(emitter, mark)
    slots = fill_slots(results, slot_types(phase.results), emitter.group.results)
    emitter.emit(f"return {tuple_expression(slots)}")


def emit_region(emitter: FunctionEmitter, record: TapeReference, number: int, arguments: Sequence[str]) -> list[str]:
    """Emit the nodes of a phase; return the text of its results."""
    layout = record.layout
    phase, closed_region, scope = layout.phases[number], layout.closed_phase(number), TapeScope(emitter, layout, number)
    values: dict[Operand, TypedExpression] = {
        var.name: TypedExpression(text, var.type) for var, text in zip(phase.parameters, arguments, strict=True)
    }

    def value(operand: Operand) -> TypedExpression:
        if isinstance(operand, Literal):
            return emit_literal(emitter, operand)
        if operand not in values:
            values[operand] = emit_load(emitter, record, operand)
        return values[operand]

    def materialized_value(operand: Operand) -> TypedExpression:
        expression = value(operand)
        if isinstance(expression, Transposed):
            return expression
        return expression._replace(text=emitter.materialize(expression.text))

    plan = plan_accumulation(closed_region)
    for node in plan_fusion(closed_region, plan.special_nodes):
        if isinstance(node, FusedChain):
            values.update(emit_chain(emitter, node, materialized_value))
            emitter.facts.unique |= {values[output].text for loop in node.loops for output in loop.outputs}
        elif node.name in plan.transposes:
            values[node.name] = Transposed(materialized_value(node.inputs[0]).text, node.results[0].type)
        elif node.name in plan.special_nodes:
            text = emit_special_node(emitter, plan, node, value, materialized_value)
            values[node.name] = TypedExpression(text, node.results[0].type)
        elif node.name not in plan.fused_nodes:
            inputs = list(map(materialized_value, node.inputs))
            emitter.dead_operands = plan.dead_operands(node, value) & emitter.facts.unique
            scope.enter_node(node.name)
            results = emit_node(emitter, record, node, inputs)
            scope.exit_node(node.name)
            if is_fresh(node.op):
                emitter.facts.unique.update(results)
            if node.op in ("scatter", "scatter_index"):
                emitter.facts.no_negative_zero.difference_update(results)
            pairs = zip(node.results, results, strict=True)
            values.update((var.name, TypedExpression(text, var.type)) for var, text in pairs)
    results = [value(result).text for result in phase.results]
    for name in layout.saved_values(number):
        emit_save(emitter, record, name, materialized_value(name))
        emitter.facts.mark_shared([values[name].text])
    return results


def emit_node(
    emitter: FunctionEmitter, record: TapeReference, node: Node, inputs: Sequence[TypedExpression]
) -> list[str]:
    """Emit one node; return the text of its results."""
    texts = [input_.text for input_ in inputs]
    if not is_fresh(node.op):
        emitter.facts.mark_shared(texts)
    match node.op:
        case "cond":
            return emit_cond(emitter, record, node, texts)
        case "while_loop":
            return emit_loop(emitter, record, node, texts)
        case "call":
            return emit_call(emitter, record, node, PhaseStart(node, 0), texts)
        case "pullback":
            return emit_pullback(emitter, record, node, texts)
        case "breakpoint" | "identity" | "stop_gradient":
            return texts
    result = emit_op(emitter, node, inputs)
    if needs_poll(node) and not is_short(node, [input_.type for input_ in inputs]):
        emitter.emit_poll()
    return [result]


def emit_literal(emitter: FunctionEmitter, literal: Literal) -> TypedExpression:
    """Emit a literal: the text of a number, or a new array."""
    if literal.type.is_scalar:
        return TypedExpression(kernels.literal_expression(literal.value, literal.type.dtype), literal.type)
    return TypedExpression(emit_array_literal(emitter, np.asarray(literal.value), literal.type), literal.type)


def emit_op(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a node without regions; return the text of its result."""
    result = node.results[0].type
    if is_draw(node):
        return emit_draw(emitter, node, inputs)
    if node.op in _EFFECTS:
        return emit_host_call(emitter, node, inputs)
    if is_narrow_op(node, [input_.type for input_ in inputs]) and node.op not in CELL_EMITTERS:
        return emit_host_call(emitter, node, inputs)
    if is_host_op(node):
        return emit_strided_op(emitter, node, inputs) or emit_host_call(emitter, node, inputs)
    if node.op == "matmul":
        return emit_matmul(emitter, node, inputs)
    if node.op == "sum":
        return emit_sum(emitter, node, inputs)
    if node.op in CELL_EMITTERS:
        return CELL_EMITTERS[node.op](emitter, node, inputs)
    if not result.is_scalar:
        return emit_elementwise(emitter, node, inputs)
    types, texts = [input_.type for input_ in inputs], [input_.text for input_ in inputs]
    condition = kernels.trap_condition(node.op, types, result, texts)
    if condition is not None:
        emitter.emit_trap(node, inputs, condition)
    return emitter.assign(kernels.expression(node.op, types, result, node.attributes, texts))


def emit_host_call(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a host call, for an effect or an op without machine code: operands are stored in slots of the state, Python
    performs the node (`thread.HostCallServer`), and its result is in the first slot. After it the node is done, or has
    trapped, or the run is stopping."""
    emitter.module.has_host_calls = True
    emitter.store_operands(inputs)
    status = emitter.assign(f"m.call_host(s, {emitter.add_trap_site(node, inputs)})")
    if node.op != "print":
        emitter.emit_trap(node, inputs, f"{status} == {HOST_FAILED}")
    if node.op not in _EFFECTS:
        emitter.emit_memory_exit(node, inputs, f"{status} == {HOST_TOO_LARGE}")
    with emitter.block(f"if {status} != 0:"):
        emitter.emit_exit()
    result = node.results[0].type
    if node.op == "print":
        return "True"
    if result.is_scalar:
        return emitter.assign(f"m.read_{lane(result.dtype)}(s, {OPERANDS})")
    dtype = numpy_dtype(numba_dtype(result.dtype))
    return emitter.assign(f"m.take_array(s, {OPERANDS}, {dtype}, {axes_tuple(result)})")


# Conds, calls and their later phases


def emit_cond(emitter: FunctionEmitter, record: TapeReference, node: Node, texts: Sequence[str]) -> list[str]:
    """Emit the first phase of a cond; later ones find its predicate in the record."""
    if node.name in record.layout.structure_offset:
        emitter.emit(f"m.write({record.address}, {record.layout.structure_offset[node.name]}, {texts[0]})")
    return emit_branches(emitter, record, node, PhaseStart(node, 0), texts[0], texts[1:])


def emit_branches(
    emitter: FunctionEmitter,
    record: TapeReference,
    node: Node,
    start: PhaseStart,
    predicate: str,
    texts: Sequence[str],
) -> list[str]:
    """Emit a phase of both branches of a cond, under its predicate."""
    names, facts = [emitter.fresh_variable(result.type) for result in node.results], list[list[ArrayFacts]]()
    layouts = record.layout.inner_layouts[start.root.name]
    for head, layout in zip((f"if {predicate}:", "else:"), layouts, strict=True):
        with emitter.block(head):
            results = emit_region(emitter, TapeReference(record.address, layout), start.number, texts)
            facts.append(emitter.facts.facts_of(results))
            for name, text in zip(names, results, strict=True):
                emitter.emit(f"{name} = {text}")
            if not names:
                emitter.emit("pass")
    for name, *sources in zip(names, *facts, strict=True):
        emitter.facts.set_facts(name, merge_facts(sources))
    return names


def emit_pullback(emitter: FunctionEmitter, record: TapeReference, node: Node, texts: Sequence[str]) -> list[str]:
    """Emit a later phase of a call, cond or loop."""
    start = record.layout.phase_starts[node.name]
    match start.root.op:
        case "cond":
            offset = record.layout.structure_offset[start.root.name]
            predicate = emitter.assign(f"m.read_b({record.address}, {offset})")
            return emit_branches(emitter, record, node, start, predicate, texts)
        case "while_loop":
            types = [result.type for result in node.results]
            return emit_later_loop_phase(emitter, record, start, types, texts)
        case _:
            return emit_call(emitter, record, node, start, texts)


def emit_call(
    emitter: FunctionEmitter, record: TapeReference, node: Node, start: PhaseStart, texts: Sequence[str]
) -> list[str]:
    """Emit the call of a phase of a function."""
    callee = FunctionPhase(emitter.program[start.root.attribute("function")], start.number)
    group, levels = emitter.phase_groups[callee.key], len(emitter.enclosing_loops) + 1
    emitter.emit_depth_check(levels, stack=True)
    implicit = {
        "s": "s",
        "left": f"left - {levels}",
        "record": f"int64({emit_callee_tape(emitter, record, start)})" if group.has_tape else "",
        "key": emitter.child_key(start.root, "0") if group.has_tag_key else "",
        "which": f"int64({group.phase_index(callee.key)})",
    }
    if is_recursive_group(group.members):
        dead_arrays = emitter.dead_operands & {
            text for text, type_ in zip(texts, callee.parameters, strict=True) if slot_type(type_).startswith("Array(")
        }
        texts = [f"e.transfer({text})" if text in dead_arrays else text for text in texts]
    slots = fill_slots(texts, slot_types(callee.parameters), group.parameters)
    name = emitter.fresh_name()
    arguments = [*(implicit[parameter] for parameter, _ in group.implicit_parameters), *slots]
    emitter.emit(f"{name} = {group.name}({', '.join(arguments)})")
    with emitter.block(f"if m.read_i(s, {STOP_FLAG}) != 0:"):
        emitter.emit_exit(f"m.record_tag_step(s, {emitter.add_site(start.root)}, 0)", records_tag=True)
    positions = slot_positions(slot_types(callee.results), group.results)
    texts = [f"{name}[{position}]" if len(group.results) > 1 else name for position in positions]
    texts = [emitter.unpack_handle(text, result.type) for text, result in zip(texts, node.results, strict=True)]
    facts = emitter.module.result_facts[callee.key]
    texts = [emitter.assign(text) if fact.may_be_lazy else text for text, fact in zip(texts, facts, strict=True)]
    for text, fact in zip(texts, facts, strict=True):
        emitter.facts.set_facts(text, fact)
    return texts


def emit_callee_tape(emitter: FunctionEmitter, record: TapeReference, start: PhaseStart) -> str:
    """Emit the address of a callee's record, which its first phase allocates."""
    layout = emitter.tape_layouts[start.root.attribute("function")]
    offset = record.layout.structure_offset.get(start.root.name)
    if offset is None or layout.is_empty:
        return "0"
    if start.number:
        return emitter.assign(f"m.read_i({record.address}, {offset})")
    address = emit_tape_allocation(emitter, layout)
    emitter.emit(f"m.write({record.address}, {offset}, {address})")
    return address


# Loops


def emit_loop(emitter: FunctionEmitter, record: TapeReference, node: Node, texts: Sequence[str]) -> list[str]:
    """Emit the first phase of a loop, with its loop variables as variables."""
    names = emit_loop_variables(emitter, [var.type for var in node.regions[1].parameters], texts)
    count, tapes = emitter.fresh_name("n"), None
    emitter.emit(f"{count} = 0")
    later_phases = record.layout.later_phases[node.name]
    if later_phases and not record.layout.inner_layouts[node.name][1].is_empty:
        tapes = IterationTapes(emitter.assign("0"), emitter.assign("0"), has_next_links=later_phases > 1)
    with enclosing_loop(emitter, node, count):
        counter = find_induction_variable(node)
        if counter is None:
            with emitter.block("while True:"):
                emit_iteration(emitter, record, node, names, count, tapes)
                emitter.emit_poll()
        else:
            # In strips of iterations. The last iteration may wrap, and the loop then continues.
            index, stop = names[counter.index], emitter.fresh_name()
            bound = str(counter.bound) if counter.bound_index is None else names[counter.bound_index]
            with emitter.block(f"while {index} < {bound}:"):
                remaining_iterations = f"(uint64({bound}) - uint64({index}) - uint64(1)) // uint64({counter.step})"
                emitter.emit(
                    f"{stop} = {count} + int64(min({remaining_iterations}, uint64({STRIP_ITERATIONS - 1}))) + 1"
                )
                with emitter.block(f"while {count} < {stop}:"):
                    emit_iteration(emitter, record, node, names, count, tapes, has_condition=False)
                emitter.emit_poll()
    if later_phases:
        offset, (last, first) = (
            record.layout.structure_offset[node.name],
            (tapes.last, tapes.first) if tapes else ("0", "0"),
        )
        for word, text in ((LAST_ITERATION, last), (FIRST_ITERATION, first), (TRIP_COUNT, count)):
            emitter.emit(f"m.write({record.address}, {offset + word}, int64({text}))")
    return names


@dataclass(frozen=True, slots=True)
class IterationTapes:
    """The records of a loop's iterations: the variables for the addresses of the latest and of the first one, and
    whether each record links to the next, which a third phase of the loop needs."""

    last: str
    first: str
    has_next_links: bool


def emit_iteration(
    emitter: FunctionEmitter,
    record: TapeReference,
    node: Node,
    names: Sequence[str],
    count: str,
    tapes: IterationTapes | None,
    *,
    has_condition: bool = True,
) -> None:
    """Emit one iteration of the first phase of a loop; without `has_condition`, the condition is known to be true."""
    condition_layout, body_layout = record.layout.inner_layouts[node.name]
    with loop_iteration(emitter, node, count):
        if has_condition:
            (condition,) = emit_region(emitter, TapeReference(record.address, condition_layout), 0, names)
            emitter.emit(f"if not {condition}: break")
        address = emit_iteration_tape(emitter, body_layout, tapes) if tapes else record.address
        results = emit_region(emitter, TapeReference(address, body_layout), 0, names)
        emit_rebinding(emitter, names, list(map(emitter.materialize, results)))
        emitter.emit(f"{count} += 1")


def emit_iteration_tape(emitter: FunctionEmitter, layout: TapeLayout, tapes: IterationTapes) -> str:
    """Emit the record of a new iteration, linked to its neighbours."""
    address, last = emit_tape_allocation(emitter, layout), tapes.last
    emitter.emit(f"m.write({address}, {PREVIOUS_ITERATION}, {last})")
    if tapes.has_next_links:
        with emitter.block(f"if {last} == 0:"):
            emitter.emit(f"{tapes.first} = {address}")
        with emitter.block("else:"):
            emitter.emit(f"m.write({last}, {NEXT_ITERATION}, {address})")
    emitter.emit(f"{last} = {address}")
    return address


def emit_later_loop_phase(
    emitter: FunctionEmitter, record: TapeReference, start: PhaseStart, types: Sequence[Type], texts: Sequence[str]
) -> list[str]:
    """Emit a later phase of a loop. Facts about its variables are first assumed; if they do not hold after an
    iteration, the loop is emitted again without them."""
    assumed = [
        ArrayFacts(
            text in emitter.dead_operands and len(emitter.enclosing_loops) < _MAX_SPECULATIVE_LOOPS,
            text in emitter.facts.no_negative_zero,
        )
        for text in texts
    ]
    while True:
        module, facts, checked_limits = emitter.module.copy(), emitter.facts.copy(), emitter.checked_limits
        names, true_facts = emit_replay_loop(emitter, record, start, types, texts, assumed)
        if true_facts == assumed:
            return names
        emitter.module.restore(module)
        emitter.facts.restore(facts)
        emitter.checked_limits, assumed = checked_limits, true_facts


def emit_replay_loop(
    emitter: FunctionEmitter,
    record: TapeReference,
    start: PhaseStart,
    types: Sequence[Type],
    texts: Sequence[str],
    assumed: Sequence[ArrayFacts],
) -> tuple[list[str], list[ArrayFacts]]:
    """Emit a later phase of a loop under assumed facts about its variables; also return the facts that then hold."""
    root, number = start
    names = emit_loop_variables(emitter, types, texts)
    for name, fact in zip(names, assumed, strict=True):
        emitter.facts.set_facts(name, fact)
    body, address = record.layout.inner_layouts[root.name][1], record.address
    offset, is_backward = record.layout.structure_offset[root.name], number % 2 == 1
    iteration = emitter.assign(
        "0"
        if body.is_empty
        else f"m.read_i({address}, {offset + (LAST_ITERATION if is_backward else FIRST_ITERATION)})"
    )
    trips, count = emitter.assign(f"m.read_i({address}, {offset + TRIP_COUNT})"), emitter.fresh_name("n")
    emitter.emit(f"{count} = {f'{trips} - 1' if is_backward else '0'}")
    condition = f"{count} >= 0" if is_backward else f"{count} < {trips}"
    with enclosing_loop(emitter, root, count), emitter.block(f"while {condition}:"):
        with loop_iteration(emitter, root, count):
            results = emit_region(emitter, TapeReference(iteration, body), number, names)
            results = list(map(emitter.materialize, results))
            facts = emitter.facts.facts_of(results)
            emit_rebinding(emitter, names, results)
        if not body.is_empty:
            link = PREVIOUS_ITERATION if is_backward else NEXT_ITERATION
            emitter.emit(f"{iteration} = m.read_i({iteration}, {link})")
        emitter.emit(f"{count} {'-' if is_backward else '+'}= 1")
        emitter.emit_poll()
    return names, [fact._replace(may_be_lazy=False) for fact in weaken_facts(assumed, facts)]


@contextmanager
def enclosing_loop(emitter: FunctionEmitter, node: Node, count: str) -> Iterator[None]:
    """A context whose code is emitted inside a loop."""
    emitter.emit_depth_check(len(emitter.enclosing_loops) + 1, stack=False)
    emitter.enclosing_loops.append((emitter.add_site(node), count))
    yield
    emitter.enclosing_loops.pop()


@contextmanager
def loop_iteration(emitter: FunctionEmitter, loop: Node, count: str) -> Iterator[None]:
    """A context whose code is emitted inside an iteration of a loop; it has a tag key if a draw in it needs one."""
    key = emitter.tag_keys[-1]
    if emitter.group.has_tag_key and any(
        is_draw(node) or (node.op == "call" and emitter.phase_groups[node.attribute("function"), 0].has_tag_key)
        for region in loop.regions
        for node in region.walk()
    ):
        key = emitter.fresh_name("key")
        emitter.emit(f"{key} = {emitter.child_key(loop, count)}")
    emitter.tag_keys.append(key)
    yield
    emitter.tag_keys.pop()


def emit_loop_variables(emitter: FunctionEmitter, types: Sequence[Type], texts: Sequence[str]) -> list[str]:
    """Emit loop variables with these initial values."""
    names = []
    for type_, text in zip(types, texts, strict=True):
        names.append(emitter.fresh_variable(type_))
        slot = slot_type(type_)
        emitter.emit(f"{names[-1]} = {LANE_TYPES[slot]}({text})" if slot in LANE_TYPES else f"{names[-1]} = {text}")
    return names


def emit_rebinding(emitter: FunctionEmitter, names: Sequence[str], texts: Sequence[str]) -> None:
    """Emit the assignment of an iteration's results to the loop variables."""
    changes = [(name, text) for name, text in zip(names, texts, strict=True) if name != text]
    if changes:
        emitter.emit(f"{', '.join(name for name, _ in changes)} = {', '.join(text for _, text in changes)}")


@dataclass(frozen=True, slots=True)
class InductionVariable:
    """The loop variable i of a counted loop, `i < n`, where n is invariant and i grows by a constant: its index, its
    step, and its bound n, a constant or the loop variable `bound_index`."""

    index: int
    step: int
    bound: int = 0
    bound_index: int | None = None


def find_induction_variable(loop: Node) -> InductionVariable | None:
    """The induction variable of a loop whose condition is only a comparison with a bound; else None."""
    condition, body = loop.regions
    if len(condition.nodes) != 1 or condition.nodes[0].op != "less" or condition.results != (condition.nodes[0].name,):
        return None
    variable, bound = condition.nodes[0].inputs
    names = [parameter.name for parameter in condition.parameters]
    if variable not in names or condition.parameters[index := names.index(str(variable))].type != _INT:
        return None
    step = constant_step(body, index)
    if step is None:
        return None
    if isinstance(bound, Literal):
        return InductionVariable(index, step, bound=int(bound.value)) if bound.type == _INT else None  # type: ignore[arg-type]
    if bound not in names or condition.parameters[bound_index := names.index(bound)].type != _INT:
        return None
    is_invariant = body.results[bound_index] == body.parameters[bound_index].name
    return InductionVariable(index, step, bound_index=bound_index) if is_invariant else None


def constant_step(body: Region, index: int) -> int | None:
    """The constant by which a loop variable grows in each iteration; None if it does not, or by a large constant."""
    for node in body.nodes:
        if node.op == "add" and node.name == body.results[index]:
            steps = [operand for operand in node.inputs if isinstance(operand, Literal)]
            if body.parameters[index].name in node.inputs and len(steps) == 1 and steps[0].type == _INT:
                step = int(steps[0].value)  # type: ignore[arg-type]
                return step if 0 < step <= _LARGEST_STEP else None
    return None
