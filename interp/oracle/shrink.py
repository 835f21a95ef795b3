"""Makes a program smaller while a symptom stays. A loop becomes its starts, a cond one of its branches, a node an
operand or a literal; literals become smaller, and unused parts go one by one.

A candidate that breaks a rule of programs is never tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ...core.ops.op import OPS, build_kernel, trap_message
from ...core.program.program import FunctionDef, Node, Operand, Program, Region
from ...core.program.validate import program_problems
from ...core.types import Type
from ...core.value import Literal, Value, admit, is_same_value
from .generate import FuzzCase

T = TypeVar("T")
"""The type of an item."""
MAX_TRIES = 600
"""The most candidates that are tried for one program."""


def shrink(case: FuzzCase, is_interesting: Callable[[FuzzCase], bool], max_tries: int = MAX_TRIES) -> FuzzCase:
    """The smallest case found that is still interesting. Each candidate that is kept starts the search again from the
    place where it was found, until no candidate is left or too many were tried."""
    tries, position = 0, 0
    while tries < max_tries:
        for index, candidate in enumerate(smaller_cases(case)):
            if index < position or not is_valid(candidate):
                continue
            tries += 1
            if is_interesting(candidate):
                case, position = candidate, index
                break
            if tries >= max_tries:
                return case
        else:
            if position == 0:
                return case
            position = 0
    return case


def is_valid(case: FuzzCase) -> bool:
    """Whether the program keeps the rules of programs."""
    return not program_problems(case.program)


def count_nodes(program: Program) -> int:
    """The number of nodes of a program, in all functions and regions."""
    return sum(1 for function in program.functions for _ in function.body.walk())


def smaller_cases(case: FuzzCase) -> Iterator[FuzzCase]:
    """The candidates, the boldest first."""
    program, arguments = case
    used = {function.name for function in program.reachable_functions()}
    if len(used) < len(program.functions):
        yield FuzzCase(replace(program, functions=tuple(f for f in program.functions if f.name in used)), arguments)
    for function in program.functions:
        for smaller in smaller_functions(function, is_entry=function.name == program.entry):
            functions = tuple(smaller if each is function else each for each in program.functions)
            yield FuzzCase(replace(program, functions=functions), arguments)
    main = program.main
    for position, parameter in enumerate(main.body.parameters):
        rest = arguments[:position] + arguments[position + 1 :]
        body = substitute(main.body, {parameter.name: Literal(arguments[position], parameter.type)})
        body = replace(body, parameters=main.body.parameters[:position] + main.body.parameters[position + 1 :])
        functions = tuple(replace(main, body=body) if each is main else each for each in program.functions)
        yield FuzzCase(replace(program, functions=functions), rest)
        for value in smaller_values(arguments[position]):
            yield FuzzCase(program, (*arguments[:position], value, *arguments[position + 1 :]))


def smaller_functions(function: FunctionDef, *, is_entry: bool) -> Iterator[FunctionDef]:
    """Smaller bodies of a function; only an entry may lose results."""
    if is_entry and len(function.results) > 1:
        for position in range(len(function.results)):
            results = function.body.results[:position] + function.body.results[position + 1 :]
            types = function.results[:position] + function.results[position + 1 :]
            yield replace(function, body=replace(function.body, results=results), results=types)
    for body in smaller_regions(function.body):
        yield replace(function, body=body)


def smaller_regions(region: Region) -> Iterator[Region]:
    """The region with one of its nodes, or a part of one, gone or simpler."""
    types = region_types(region)
    for position in reversed(range(len(region.nodes))):
        node = region.nodes[position]
        before, after = region.nodes[:position], region.nodes[position + 1 :]
        rest = Region((), after, region.results)
        used, names = used_names(rest), {result.name for result in node.results}
        if not used & names:
            yield Region(region.parameters, (*before, *after), region.results)
        for nodes, values in (*(((), each) for each in replacements(node, types)), *inline_regions(node)):
            changed = substitute(rest, values)
            yield Region(region.parameters, (*before, *nodes, *changed.nodes), changed.results)
        for smaller in smaller_nodes(node):
            if not used & (names - {result.name for result in smaller.results}):
                yield Region(region.parameters, (*before, smaller, *after), region.results)
    for position, result in enumerate(region.results):
        if isinstance(result, Literal):
            for value in smaller_values(result.value):
                results = (*region.results[:position], Literal(value, result.type), *region.results[position + 1 :])
                yield replace(region, results=results)


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
    """What may stand for the results of a node: of constants what it computes, of a loop its starts, else an operand or
    a literal of the type."""
    constants = [operand for operand in node.inputs if isinstance(operand, Literal)]
    if node.op in OPS and len(constants) == len(node.inputs):
        values = tuple(constant.value for constant in constants)
        if trap_message(OPS[node.op], values, node.attributes) is None:
            kernel = build_kernel(
                OPS[node.op], [each.type for each in constants], node.results[0].type, node.attributes
            )
            yield {node.name: Literal(kernel(*values), node.results[0].type)}
    if node.op == "while_loop":
        yield {result.name: start for result, start in zip(node.results, node.inputs, strict=True)}
    options: list[list[Operand]] = []
    for result in node.results:
        same = [each for each in node.inputs if (types[each] if isinstance(each, str) else each.type) == result.type]
        options.append([*same[:2], zero_literal(result.type)])
    for choice in range(max(map(len, options))):
        yield {
            result.name: candidates[min(choice, len(candidates) - 1)]
            for result, candidates in zip(node.results, options, strict=True)
        }


def zero_literal(type_: Type) -> Literal:
    """The zero of a type."""
    return Literal(admit(np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)), type_)


def inline_regions(node: Node) -> Iterator[tuple[tuple[Node, ...], dict[str, Operand]]]:
    """The nodes of a branch of a cond, or of one trip of a loop, and what they give for the results."""
    if node.op not in ("cond", "while_loop"):
        return
    regions, inputs = (node.regions, node.inputs[1:]) if node.op == "cond" else (node.regions[1:], node.inputs)
    for region in regions:
        names = {parameter.name: operand for parameter, operand in zip(region.parameters, inputs, strict=True)}
        body = substitute(replace(region, parameters=()), names)
        yield body.nodes, {result.name: value for result, value in zip(node.results, body.results, strict=True)}


def smaller_nodes(node: Node) -> Iterator[Node]:
    """The node with a smaller region, with a smaller literal, without a loop variable, or without an unused result."""
    for position, region in enumerate(node.regions):
        for smaller in smaller_regions(region):
            yield replace(node, regions=(*node.regions[:position], smaller, *node.regions[position + 1 :]))
    for position, operand in enumerate(node.inputs):
        if isinstance(operand, Literal):
            for value in smaller_values(operand.value):
                inputs = (*node.inputs[:position], Literal(value, operand.type), *node.inputs[position + 1 :])
                yield replace(node, inputs=inputs)
    if node.op == "while_loop" and len(node.inputs) > 1:
        for position in range(len(node.inputs)):
            yield drop_variable(node, position)
    if node.op == "cond":
        for position in range(len(node.inputs) - 1):
            yield drop_branch_operand(node, position)
        if len(node.results) > 1:
            for position in range(len(node.results)):
                regions = tuple(replace(each, results=drop_item(each.results, position)) for each in node.regions)
                yield replace(node, results=drop_item(node.results, position), regions=regions)


def drop_item(items: tuple[T, ...], position: int) -> tuple[T, ...]:
    """A tuple without one of its items."""
    return items[:position] + items[position + 1 :]


def drop_variable(node: Node, position: int) -> Node:
    """A loop without a variable: where its regions use it, its start does, if that is a literal, or else zero."""
    start = node.inputs[position]
    regions = []
    for region in node.regions:
        parameter = region.parameters[position]
        value = start if isinstance(start, Literal) else zero_literal(parameter.type)
        smaller = substitute(
            replace(region, parameters=drop_item(region.parameters, position)), {parameter.name: value}
        )
        regions.append(smaller)
    condition, body = regions
    body = replace(body, results=drop_item(body.results, position))
    return replace(
        node,
        inputs=drop_item(node.inputs, position),
        results=drop_item(node.results, position),
        regions=(condition, body),
    )


def drop_branch_operand(node: Node, position: int) -> Node:
    """A cond without an operand of its branches: zero stands for it, or the literal that it is."""
    operand = node.inputs[1 + position]
    regions = []
    for region in node.regions:
        parameter = region.parameters[position]
        value = operand if isinstance(operand, Literal) else zero_literal(parameter.type)
        regions.append(
            substitute(replace(region, parameters=drop_item(region.parameters, position)), {parameter.name: value})
        )
    return replace(node, inputs=drop_item(node.inputs, 1 + position), regions=tuple(regions))


def smaller_values(value: Value) -> Iterator[Value]:
    """Simpler values of the same type: zero, one, half."""
    array = np.asarray(value)
    for candidate in (np.zeros_like(array), np.ones_like(array), (array / 2).astype(array.dtype)):
        smaller = admit(candidate[()] if candidate.ndim == 0 else candidate)
        if not is_same_value(smaller, value) and complexity(smaller) < complexity(value):
            yield smaller


def complexity(value: Value) -> float:
    """An order on values: by the sum of their sizes, with negative numbers behind positive ones."""
    array = np.asarray(value).astype(np.float64)
    return float(np.sum(np.abs(np.nan_to_num(array)) * 2 + (array < 0)))


def substitute(region: Region, names: dict[str, Operand]) -> Region:
    """The region with operands in place of names, at its own level. Inner regions see only their parameters."""

    def read(operand: Operand) -> Operand:
        return names.get(operand, operand) if isinstance(operand, str) else operand

    nodes = tuple(replace(node, inputs=tuple(map(read, node.inputs))) for node in region.nodes)
    return Region(region.parameters, nodes, tuple(map(read, region.results)))
