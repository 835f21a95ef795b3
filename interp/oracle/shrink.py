"""Makes a program smaller while a symptom stays. A part of the program runs alone, on the values that the rest computed
for it: a node, or the inside of a branch, of an iteration, or of a call. A loop becomes its starts, a cond one of its
branches, the only call of a function its body, a node an operand, a literal or a parameter, an operand a literal; loop
variables are dropped, merged or made invariant; literals become smaller, and unused parts are removed one by one.

A candidate that breaks a rule of programs is never tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

import numpy as np

from ...core.ops.op import OPS, build_kernel, trap_message
from ...core.program.evaluate import evaluate
from ...core.program.program import FunctionDef, Node, Operand, Program, Region, Var
from ...core.program.validate import program_problems
from ...core.types import Type, type_of
from ...core.value import Literal, Value, admit, is_same_value
from .generate import FuzzCase

T = TypeVar("T")
"""The type of an item."""
MOST_ELEMENTS = 4
"""Arrays of this many elements are made smaller one by one."""
LARGEST_SIZE = 1e300
"""Larger numbers count as this one, so that sums of sizes are finite."""
MOST_ENTRIES = 12
"""The most iterations of a loop whose values are computed."""
MAX_TRIES = 600
"""The most candidates that are tried for one program."""


def shrink(case: FuzzCase, is_interesting: Callable[[FuzzCase], bool], max_tries: int = MAX_TRIES) -> FuzzCase:
    """The smallest case found that is still interesting. Candidates are first single parts of the program, on the
    values that they had, then small changes. When a candidate still fails, the search continues with it from the same
    position, until no candidate is left or too many were tried. No candidate is tried twice."""
    tried_keys = {case_key(case)}
    tries = 0

    def accepts(candidate: FuzzCase) -> bool:
        nonlocal tries
        key = case_key(candidate)
        if tries >= max_tries or key in tried_keys or not is_valid(candidate):
            return False
        tried_keys.add(key)
        tries += 1
        return is_interesting(candidate)

    while (part := next(filter(accepts, isolated_parts(case)), None)) is not None:
        case = part
    position = 0
    while tries < max_tries:
        for index, candidate in enumerate(smaller_cases(case)):
            if index >= position and accepts(candidate):
                case, position = candidate, index
                break
        else:
            part = next(filter(accepts, isolated_parts(case)), None)
            if part is None and position == 0:
                return case
            case, position = part or case, 0
    return case


def case_key(case: FuzzCase) -> str:
    """A text that is equal for cases with the same program and arguments."""
    return repr((case.program, [repr(np.asarray(value)) for value in case.arguments]))


def isolated_parts(case: FuzzCase) -> Iterator[FuzzCase]:
    """Parts of main on constants, which are the values that the rest computes for them: one node, the inside of a
    region, the nodes from one on, the nodes up to one. Each has fewer nodes than the case."""
    main = case.program.main
    names = [result for node in main.body.nodes for result in node.results]
    state = region_values(case.program, main.body, case.arguments)
    if state is None:
        return
    literals: dict[str, Operand] = {
        var.name: Literal(value, type_of(value))
        for var, value in zip((*main.body.parameters, *names), (*case.arguments, *state), strict=True)
    }
    nodes = main.body.nodes

    def with_main(body: Region, results: Sequence[Type]) -> FuzzCase:
        return FuzzCase(replace_function(case.program, main, replace(main, body=body, results=tuple(results))), ())

    def with_nodes(part: tuple[Node, ...], results: Sequence[Var]) -> FuzzCase:
        defined_names = {result.name for node in part for result in node.results}
        outer_literals = {name: value for name, value in literals.items() if name not in defined_names}
        operands = tuple(result.name for result in results)
        return with_main(substitute(Region((), part, operands), outer_literals), [result.type for result in results])

    structured = [node for node in nodes if node.regions or node.op == "call"]
    for node in structured if len(nodes) > 1 else ():
        yield with_nodes((node,), node.results)
    for node in structured:
        for region, arguments in entered_regions(case.program, node, literals):
            values: dict[str, Operand] = {
                parameter.name: Literal(value, type_of(value))
                for parameter, value in zip(region.parameters, arguments, strict=True)
            }
            results = [var for inner in region.nodes for var in inner.results]
            if results:
                body = substitute(Region((), region.nodes, tuple(var.name for var in results)), values)
                yield with_main(body, [var.type for var in results])
    for position in range(len(nodes) - 1, 0, -1):
        names_after = {result.name for node in nodes[position:] for result in node.results}
        outer_literals = {name: value for name, value in literals.items() if name not in names_after}
        body = substitute(Region((), nodes[position:], main.body.results), outer_literals)
        yield with_main(body, main.results)
        if not nodes[position - 1].regions:
            yield with_nodes((nodes[position - 1],), nodes[position - 1].results)
    for position in range(1, len(nodes)):
        body = Region(main.body.parameters, nodes[:position], tuple(var.name for var in nodes[position - 1].results))
        yield with_main(body, [var.type for var in nodes[position - 1].results])._replace(arguments=case.arguments)


def entered_regions(
    program: Program, node: Node, literals: Mapping[str, Operand]
) -> Iterator[tuple[Region, tuple[Value, ...]]]:
    """The regions that a node on these values enters, with the arguments of each entry; of a loop the last iterations
    first. A call enters the body of its function."""
    inputs = tuple(
        operand_value.value
        for operand in node.inputs
        if isinstance(operand_value := literals[operand] if isinstance(operand, str) else operand, Literal)
    )
    if node.op == "call":
        yield program[node.attribute("function")].body, inputs
    elif node.op == "cond":
        yield node.regions[0 if inputs[0] else 1], inputs[1:]
    elif node.op == "while_loop":
        entries = [inputs]
        while len(entries) < MOST_ENTRIES:
            predicate = evaluate_region(program, node.regions[0], entries[-1])
            next_values = evaluate_region(program, node.regions[1], entries[-1]) if predicate and predicate[0] else None
            if next_values is None:
                break
            entries.append(next_values)
        for entry in reversed(entries[:-1]):
            yield node.regions[1], entry
        yield node.regions[0], entries[-1]


def evaluate_region(program: Program, region: Region, arguments: Sequence[Value]) -> tuple[Value, ...] | None:
    """The results of a region on its arguments; None if it does not return."""
    types = region_types(region)
    results = tuple(types[result] if isinstance(result, str) else result.type for result in region.results)
    entry = replace(program.main, body=region, results=results)
    region_program = replace_function(program, program.main, entry)
    return evaluate(region_program, arguments, max_steps=5_000, max_depth=200).results


def region_values(program: Program, region: Region, arguments: Sequence[Value]) -> tuple[Value, ...] | None:
    """The values of all results of a region's nodes, in order; None if the region does not return."""
    names = tuple(result.name for node in region.nodes for result in node.results)
    return evaluate_region(program, replace(region, results=names), arguments)


def is_valid(case: FuzzCase) -> bool:
    """Whether the program keeps the rules of programs."""
    return not program_problems(case.program)


def count_nodes(program: Program) -> int:
    """The number of nodes of a program, in all functions and regions."""
    return sum(1 for function in program.functions for _ in function.body.walk())


def smaller_cases(case: FuzzCase) -> Iterator[FuzzCase]:
    """The candidates, the boldest first."""
    program, arguments = case
    reachable = {function.name for function in program.reachable_functions()}
    if len(reachable) < len(program.functions):
        yield FuzzCase(
            replace(program, functions=tuple(f for f in program.functions if f.name in reachable)), arguments
        )
    yield from (FuzzCase(inlined_program, arguments) for inlined_program in programs_without_call(program))
    for function in program.functions:
        for smaller in smaller_functions(function, is_entry=function.name == program.entry):
            yield FuzzCase(replace_function(program, function, smaller), arguments)
    main = program.main
    yield from cases_with_parameters(case)
    for position, parameter in enumerate(main.body.parameters):
        body = substitute(main.body, {parameter.name: Literal(arguments[position], parameter.type)})
        body = replace(body, parameters=replace_item(body.parameters, position))
        smaller_main = replace(main, body=body)
        yield FuzzCase(replace_function(program, main, smaller_main), replace_item(arguments, position))
        for value in smaller_values(arguments[position]):
            yield FuzzCase(program, replace_item(arguments, position, value))


def programs_without_call(program: Program) -> Iterator[Program]:
    """The program with the body of a function in place of the only call of it."""
    calls = Counter(
        node.attribute("function")
        for function in program.functions
        for node in function.body.walk()
        if node.op == "call"
    )

    def inline(region: Region, caller: str) -> Iterator[Region]:
        for position, node in enumerate(region.nodes):
            preceding, following = region.nodes[:position], region.nodes[position + 1 :]
            if node.op == "call" and node.attribute("function") != caller and calls[node.attribute("function")] == 1:
                callee = program[node.attribute("function")].body
                values = {var.name: operand for var, operand in zip(callee.parameters, node.inputs, strict=True)}
                body = substitute(callee, values)
                results = {var.name: operand for var, operand in zip(node.results, body.results, strict=True)}
                remainder = substitute(Region((), following, region.results), results)
                yield Region(region.parameters, (*preceding, *body.nodes, *remainder.nodes), remainder.results)
            for index, inner in enumerate(node.regions):
                for inlined_region in inline(inner, caller):
                    regions = replace_item(node.regions, index, inlined_region)
                    yield replace(region, nodes=(*preceding, replace(node, regions=regions), *following))

    for function in program.functions:
        for body in inline(function.body, function.name):
            yield replace_function(program, function, replace(function, body=body))


def cases_with_parameters(case: FuzzCase) -> Iterator[FuzzCase]:
    """The case with parameters of main in place of the results of one of its nodes, and with the values of these as
    arguments: a compiler cannot fold them, as it can fold literals."""
    program, arguments = case
    main = program.main
    results = [result for node in main.body.nodes for result in node.results]
    state = region_values(program, main.body, arguments)
    if state is None:
        return
    values = dict(zip((result.name for result in results), state, strict=True))
    for node in reversed(main.body.nodes):
        nodes = tuple(other for other in main.body.nodes if other is not node)
        body = replace(main.body, parameters=(*main.body.parameters, *node.results), nodes=nodes)
        added_values = tuple(values[result.name] for result in node.results)
        yield FuzzCase(replace_function(program, main, replace(main, body=body)), (*arguments, *added_values))


def smaller_functions(function: FunctionDef, *, is_entry: bool) -> Iterator[FunctionDef]:
    """Smaller bodies of a function; only an entry may lose results."""
    if is_entry and len(function.results) > 1:
        for position in range(len(function.results)):
            body = replace(function.body, results=replace_item(function.body.results, position))
            yield replace(function, body=body, results=replace_item(function.results, position))
    for body in smaller_regions(function.body):
        yield replace(function, body=body)


def smaller_regions(region: Region) -> Iterator[Region]:
    """The region with one of its nodes, or a part of a node, removed or simplified."""
    types = region_types(region)
    for position in reversed(range(len(region.nodes))):
        node = region.nodes[position]
        preceding, following = region.nodes[:position], region.nodes[position + 1 :]
        remainder = Region((), following, region.results)
        names_in_use, names = used_names(remainder), {result.name for result in node.results}
        if not names_in_use & names:
            yield Region(region.parameters, (*preceding, *following), region.results)
        for nodes, values in (*(((), replacement) for replacement in replacements(node, types)), *inline_regions(node)):
            changed_region = substitute(remainder, values)
            yield Region(region.parameters, (*preceding, *nodes, *changed_region.nodes), changed_region.results)
        for smaller in smaller_nodes(node, types):
            if not names_in_use & (names - {result.name for result in smaller.results}):
                yield Region(region.parameters, (*preceding, smaller, *following), region.results)
    for position, result in enumerate(region.results):
        if isinstance(result, str):
            for operand in simpler_operands(region, result, types):
                yield replace(region, results=replace_item(region.results, position, operand))
        else:
            for value in smaller_values(result.value):
                literal = Literal(value, result.type)
                yield replace(region, results=replace_item(region.results, position, literal))


def simpler_operands(region: Region, name: str, types: Mapping[str, Type]) -> Iterator[Operand]:
    """The replacements for a result of a region: a literal, and for the result of a node a parameter of its type."""
    type_ = types[name]
    yield from literals_of(type_)
    if all(parameter.name != name for parameter in region.parameters):
        yield from (parameter.name for parameter in region.parameters if parameter.type == type_)


def region_types(region: Region) -> dict[str, Type]:
    """The types of the values of a region, without those of inner regions."""
    types = {parameter.name: parameter.type for parameter in region.parameters}
    for node in region.nodes:
        types.update((result.name, result.type) for result in node.results)
    return types


def used_names(region: Region) -> set[str]:
    """The names that the nodes and results of a region use at its own level."""
    operands = [operand for node in region.nodes for operand in node.inputs]
    return {operand for operand in (*operands, *region.results) if isinstance(operand, str)}


def replacements(node: Node, types: dict[str, Type]) -> Iterator[dict[str, Operand]]:
    """The replacements for the results of a node: for constant operands the computed values, for a loop its start
    values, else an operand or a literal of the type."""
    constants = [operand for operand in node.inputs if isinstance(operand, Literal)]
    if node.op in OPS and len(constants) == len(node.inputs):
        values = tuple(constant.value for constant in constants)
        if trap_message(OPS[node.op], values, node.attributes) is None:
            kernel = build_kernel(
                OPS[node.op], [constant.type for constant in constants], node.results[0].type, node.attributes
            )
            yield {node.name: Literal(kernel(*values), node.results[0].type)}
    if node.op == "while_loop":
        yield {result.name: start for result, start in zip(node.results, node.inputs, strict=True)}
    options: list[list[Operand]] = []
    for result in node.results:
        operands = [
            operand
            for operand in node.inputs
            if (types[operand] if isinstance(operand, str) else operand.type) == result.type
        ]
        options.append([*operands[:2], zero_literal(result.type)])
    for choice in range(max(map(len, options))):
        yield {
            result.name: candidates[min(choice, len(candidates) - 1)]
            for result, candidates in zip(node.results, options, strict=True)
        }


def literals_of(type_: Type) -> Iterator[Literal]:
    """Literals that may stand for a value of a type: zero, and one or true."""
    zero = zero_literal(type_)
    yield zero
    yield Literal(admit(np.ones_like(np.asarray(zero.value))), type_)


def zero_literal(type_: Type) -> Literal:
    """The zero of a type."""
    return Literal(admit(np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)), type_)


def inline_regions(node: Node) -> Iterator[tuple[tuple[Node, ...], dict[str, Operand]]]:
    """The nodes of a branch of a cond, or of one iteration of a loop, and the operands that replace the results."""
    if node.op not in ("cond", "while_loop"):
        return
    regions, inputs = (node.regions, node.inputs[1:]) if node.op == "cond" else (node.regions[1:], node.inputs)
    for region in regions:
        names = {parameter.name: operand for parameter, operand in zip(region.parameters, inputs, strict=True)}
        body = substitute(replace(region, parameters=()), names)
        yield body.nodes, {result.name: value for result, value in zip(node.results, body.results, strict=True)}


def smaller_nodes(node: Node, types: Mapping[str, Type]) -> Iterator[Node]:
    """The node with a smaller region, with a smaller literal, without a loop variable, or without an unused result."""
    for position, region in enumerate(node.regions):
        for smaller in smaller_regions(region):
            yield replace(node, regions=replace_item(node.regions, position, smaller))
    for position, operand in enumerate(node.inputs):
        values: Iterable[Operand] = ()
        if isinstance(operand, Literal):
            values = (Literal(value, operand.type) for value in smaller_values(operand.value))
        elif operand in types:
            values = literals_of(types[operand])
        for value in values:
            yield replace(node, inputs=replace_item(node.inputs, position, value))
    if node.op == "while_loop":
        for first, second in combinations(range(len(node.inputs)), 2):
            if node.results[first].type == node.results[second].type:
                yield from (merge_variables(node, *pair) for pair in ((first, second), (second, first)))
    if node.op == "while_loop" and len(node.inputs) > 1:
        for position in range(len(node.inputs)):
            yield drop_variable(node, position)
    if node.op == "cond":
        for position in range(len(node.inputs) - 1):
            yield drop_branch_operand(node, position)
        if len(node.results) > 1:
            for position in range(len(node.results)):
                regions = tuple(
                    replace(region, results=replace_item(region.results, position)) for region in node.regions
                )
                yield replace(node, results=replace_item(node.results, position), regions=regions)


def replace_item(items: tuple[T, ...], position: int, *substitutes: T) -> tuple[T, ...]:
    """A tuple with `substitutes` in place of one of its items; without substitutes, the item is removed."""
    return (*items[:position], *substitutes, *items[position + 1 :])


def replace_function(program: Program, function: FunctionDef, other: FunctionDef) -> Program:
    """A program with another function in place of one of its own."""
    return replace(program, functions=tuple(other if member is function else member for member in program.functions))


def drop_variable(node: Node, position: int) -> Node:
    """A loop without a variable: where its regions use it, its start does, if that is a literal, or else zero."""
    start = node.inputs[position]
    regions = []
    for region in node.regions:
        parameter = region.parameters[position]
        value = start if isinstance(start, Literal) else zero_literal(parameter.type)
        smaller = substitute(
            replace(region, parameters=replace_item(region.parameters, position)), {parameter.name: value}
        )
        regions.append(smaller)
    condition, body = regions
    body = replace(body, results=replace_item(body.results, position))
    return replace(
        node,
        inputs=replace_item(node.inputs, position),
        results=replace_item(node.results, position),
        regions=(condition, body),
    )


def merge_variables(node: Node, position: int, substitute_position: int) -> Node:
    """A loop without the variable at a position: the variable at another position stands for it. The result of the
    variable that goes must not be used."""
    regions = []
    for region in node.regions:
        names: dict[str, Operand] = {region.parameters[position].name: region.parameters[substitute_position].name}
        regions.append(substitute(replace(region, parameters=replace_item(region.parameters, position)), names))
    condition, body = regions
    return replace(
        node,
        inputs=replace_item(node.inputs, position),
        results=replace_item(node.results, position),
        regions=(condition, replace(body, results=replace_item(body.results, position))),
    )


def drop_branch_operand(node: Node, position: int) -> Node:
    """A cond without an operand of its branches: zero replaces it, or the literal, if the operand is one."""
    operand = node.inputs[1 + position]
    regions = []
    for region in node.regions:
        parameter = region.parameters[position]
        value = operand if isinstance(operand, Literal) else zero_literal(parameter.type)
        regions.append(
            substitute(replace(region, parameters=replace_item(region.parameters, position)), {parameter.name: value})
        )
    return replace(node, inputs=replace_item(node.inputs, 1 + position), regions=tuple(regions))


def smaller_values(value: Value) -> Iterator[Value]:
    """Simpler values of the same type: zero, one, half without its fraction, and small arrays with one element zero."""
    array = np.asarray(value)
    candidates = [np.zeros_like(array), np.ones_like(array), np.trunc(array / 2).astype(array.dtype)]
    if 1 < array.size <= MOST_ELEMENTS:
        for position in np.ndindex(array.shape):
            candidates.append(array.copy())
            candidates[-1][position] = 0
    for candidate in candidates:
        smaller = admit(candidate[()] if candidate.ndim == 0 else candidate)
        if not is_same_value(smaller, value) and complexity(smaller) < complexity(value):
            yield smaller


def complexity(value: Value) -> tuple[int, int, float]:
    """An order on values: by the number of NaNs, of infinities, and the sum of the other sizes, with negative numbers
    behind positive ones."""
    array = np.asarray(value).astype(np.float64)
    sizes = np.abs(array[np.isfinite(array)]).clip(max=LARGEST_SIZE)
    return int(np.isnan(array).sum()), int(np.isinf(array).sum()), float(np.sum(sizes) * 2 + np.signbit(array).sum())


def substitute(region: Region, names: dict[str, Operand]) -> Region:
    """The region with operands in place of names, at its own level. Inner regions see only their parameters."""

    def read(operand: Operand) -> Operand:
        return names.get(operand, operand) if isinstance(operand, str) else operand

    nodes = tuple(replace(node, inputs=tuple(map(read, node.inputs))) for node in region.nodes)
    return Region(region.parameters, nodes, tuple(map(read, region.results)))
