"""Maps in programs: which programs are maps of a function of scalars over arrays, as `vmap` makes them, so that one
thread can compute each element.

    size = size xs, axis=0
    cells = cells size
    loop = while_loop 0, cells, size, xs { while: k < size; do: put cells, k, f(take xs, k); k + 1 }
    collect = collect loop
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....core.program.program import Node, Operand, Program, Region
from ....core.tag import ROOT, Tag
from ....core.types import HandleType
from ....core.value import Literal, Value

_OUTER_OPS = ("size", "cells", "while_loop", "collect", "reshape")


class MapOperand(NamedTuple):
    """An operand of the function: a literal, or the number of a parameter of the program; of an array, `take` is the
    node that takes the element."""

    literal: Literal | None
    parameter: int = -1
    take: Node | None = None


class MapSize(NamedTuple):
    """The number of elements of a map: the operand that has it, and either the number or the number of the parameter
    whose length it is."""

    operand: Operand
    number: int | None
    parameter: int = -1


class ElementMap(NamedTuple):
    """A program that calls a function on each element of arrays: the loop, the call in it, the operands of the call,
    and for each result of the program the result of the call that it collects."""

    program: Program
    loop: Node
    call: Node
    operands: tuple[MapOperand, ...]
    results: tuple[int, ...]
    size: MapSize

    @property
    def function(self) -> str:
        """The name of the function of one element."""
        return str(self.call.attribute("function"))

    @property
    def element_program(self) -> Program:
        """The program of one element."""
        return Program(self.program.functions, self.function)

    def element_tag(self, number: int, inner: Tag | None = None) -> Tag:
        """The tag of the call for an element; with `inner`, the tag that continues it by the steps of `inner`."""
        entry = self.program.entry
        iteration = ROOT.child(self.loop.site(entry), number)
        if inner is None:
            return iteration
        tag = iteration.child(self.call.site(entry))
        for site, step in inner.path():
            tag = tag.child(site, step)
        return tag

    def count(self, arguments: Sequence[Value]) -> int:
        """The number of elements of a run on these arguments."""
        number = self.size.number
        return len(arguments[self.size.parameter]) if number is None else number  # type: ignore[arg-type]


def find_element_map(program: Program) -> ElementMap | None:
    """The map that a program is; None for any other program."""
    body = program.main.body
    loops = [node for node in body.nodes if node.op == "while_loop"]
    if body.pullback or len(loops) != 1 or any(node.op not in _OUTER_OPS for node in body.nodes):
        return None
    (loop,) = loops
    definitions = {result.name: node for node in body.nodes for result in node.results}
    parameters = {parameter.name: number for number, parameter in enumerate(body.parameters)}
    outer = dict(zip([parameter.name for parameter in loop.regions[1].parameters], loop.inputs, strict=True))
    match = _match_loop(loop, outer, parameters)
    if match is None:
        return None
    call, operands, put_results = match
    size = _match_size(loop, outer, definitions, parameters)
    results = [_match_result(result, body, loop, definitions, put_results, size) for result in body.results]
    if size is None or not results or not all(isinstance(result, int) for result in results):
        return None
    if any(node.inputs[0] != size.operand for node in body.nodes if node.op == "cells"):
        return None
    arrays = [body.parameters[operand.parameter].type for operand in operands if operand.take]
    if not arrays or any(type_.shape is None or len(type_.shape) != 1 for type_ in arrays):
        return None
    return ElementMap(program, loop, call, operands, tuple(result for result in results if result is not None), size)


def _match_loop(
    loop: Node, outer: Mapping[str, Operand], parameters: Mapping[str, int]
) -> tuple[Node, tuple[MapOperand, ...], dict[int, int]] | None:
    """The call of a loop over elements, its operands, and for each position of cells among the loop variables the
    number of the result that is put into them. None for other loops."""
    region = loop.regions[1]
    index, nodes = region.parameters[0].name, {node.name: node for node in region.nodes}
    calls = [node for node in region.nodes if node.op == "call"]
    if region.pullback or len(calls) != 1 or not _is_literal(loop.inputs[0], 0):
        return None
    (call,) = calls
    used = {call.name}

    def element(operand: Operand) -> MapOperand | None:
        if isinstance(operand, Literal):
            return MapOperand(operand) if operand.type.is_scalar else None
        take = nodes.get(operand)
        if take is None:
            source = outer.get(operand)
            return MapOperand(None, parameters[source]) if isinstance(source, str) and source in parameters else None
        if take.op != "take" or take.attribute("axis") != 0 or take.inputs[1] != index:
            return None
        source = outer.get(take.inputs[0]) if isinstance(take.inputs[0], str) else None
        used.add(take.name)
        return MapOperand(None, parameters[source], take) if isinstance(source, str) and source in parameters else None

    operands = [element(operand) for operand in call.inputs]
    call_results: dict[Operand, int] = {result.name: number for number, result in enumerate(call.results)}
    put_results: dict[int, int] = {}
    for position, (parameter, result) in enumerate(zip(region.parameters, region.results, strict=True)):
        node = nodes.get(result) if isinstance(result, str) else None
        if position == 0:
            if node is None or node.op != "add" or node.inputs[0] != index or not _is_literal(node.inputs[1], 1):
                return None
            used.add(node.name)
        elif isinstance(parameter.type.dtype, HandleType):
            if node is None or node.op != "put" or node.inputs[:2] != (parameter.name, index):
                return None
            if node.inputs[2] not in call_results:
                return None
            used.add(node.name)
            put_results[position] = call_results[node.inputs[2]]
        elif result != parameter.name:
            return None
    if used != set(nodes) or not all(operands):
        return None
    return call, tuple(operand for operand in operands if operand is not None), put_results


def _match_size(
    loop: Node, outer: Mapping[str, Operand], definitions: Mapping[str, Node], parameters: Mapping[str, int]
) -> MapSize | None:
    """The number of elements; None for a condition of another form."""
    condition = loop.regions[0]
    (test,) = condition.nodes if len(condition.nodes) == 1 else (None,)
    if test is None or test.op != "less" or condition.results != (test.name,):
        return None
    index, size = test.inputs
    if index != condition.parameters[0].name:
        return None
    if not isinstance(size, Literal):
        positions = {parameter.name: number for number, parameter in enumerate(condition.parameters)}
        size = loop.inputs[positions[size]]
    if isinstance(size, Literal):
        return MapSize(size, int(size.value))  # type: ignore[arg-type]
    node = definitions.get(size)
    if node is None or node.op != "size" or node.attribute("axis") != 0 or node.inputs[0] not in parameters:
        return None
    return MapSize(size, None, parameters[node.inputs[0]])  # type: ignore[index]


def _match_result(
    result: Operand,
    body: Region,
    loop: Node,
    definitions: Mapping[str, Node],
    put_results: Mapping[int, int],
    size: MapSize | None,
) -> int | None:
    """The number of the result of the call that a result of the program collects; None if it is anything else."""
    node = definitions.get(result) if isinstance(result, str) else None
    if node is not None and node.op == "reshape":
        if size is None or tuple(node.attribute("shape")) != (size.number,) or not isinstance(node.inputs[0], str):
            return None
        node = definitions.get(node.inputs[0])
    if node is None or node.op != "collect":
        return None
    positions: dict[Operand, int] = {variable.name: number for number, variable in enumerate(loop.results)}
    return put_results.get(positions.get(node.inputs[0], -1))


def _is_literal(operand: Operand, value: int) -> bool:
    return isinstance(operand, Literal) and operand.type.is_scalar and operand.value == value
