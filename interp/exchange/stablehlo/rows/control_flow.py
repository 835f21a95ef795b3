"""Operations with regions that are branches or loops, and calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...functions import name_parameters, unique_identifiers
from ..interpreter import HloRegion, OperationCall, as_array
from ..operations import row, tl
from .common import dtype_of, scalar_like


@row("if")
def if_(predicate: Any, *, operation: OperationCall, regions: list[HloRegion]) -> Any:
    """A branch without results computes nothing."""
    if not operation.operation.results:
        return ()
    return tl.cond(predicate, *map(branch_of, regions))


@row("case")
def case(index: Any, *, operation: OperationCall, regions: list[HloRegion]) -> Any:
    """An index that is out of range, a negative one too, means the last branch. JAX writes a condition as an index."""
    if not operation.operation.results:
        return ()
    producer = operation.interpreter.producers.get(operation.operation.operands[0])
    if len(regions) == 2 and producer is not None and producer.name == "stablehlo.convert":
        predicate = as_array(operation.environment[producer.operands[0]])
        if dtype_of(predicate).kind == "b":
            return tl.cond(predicate, branch_of(regions[1]), branch_of(regions[0]))
    last = scalar_like(len(regions) - 1, index)
    return tl.switch(tl.where(tl.less(index, scalar_like(0, index)), last, index), list(map(branch_of, regions)))


def branch_of(region: HloRegion) -> Callable[[], tuple[Any, ...]]:
    """A function of a region's results, as arrays."""
    return lambda: tuple(map(as_array, region()))


GENERIC = re.compile(r"iterArg(_\d+)?|arg\d+|")
"""The names that MLIR generates."""


@row("while")
def evaluate_while(*starts: Any, operation: OperationCall, regions: list[HloRegion]) -> Any:
    """A variable that the body returns unchanged, as JAX does with all values that a body uses, is not a loop variable,
    but a value of the surroundings. The others have the names of the parameters of the body."""
    test, body = regions
    variables = [k for k, result in enumerate(body.block.results) if result != body.block.parameters[k]]
    if not variables:  # a loop without iterations, or without end
        variables = list(range(len(starts)))
    names = variable_names(operation, body)
    name_variables = name_parameters(unique_identifiers(names[k] for k in variables))

    def all_values(values: Sequence[Any]) -> list[Any]:
        complete = list(starts)
        for k, value in zip(variables, values, strict=True):
            complete[k] = value
        return complete

    @name_variables
    def condition(*values: Any) -> Any:
        return as_array(test(*all_values(values))[0])

    @name_variables
    def advance(*values: Any) -> Any:
        results = body(*all_values(values))
        next_values = tuple(as_array(results[k]) for k in variables)
        return next_values if len(next_values) > 1 else next_values[0]

    return all_values(tl.while_loop(condition, advance, *(starts[k] for k in variables)))


def variable_names(operation: OperationCall, body: HloRegion) -> list[str]:
    """The names of loop variables; a variable without a name in the module is named after its start value."""
    value_names = operation.interpreter.value_names
    names = []
    for name, start, inner in zip(body.block.names, operation.operation.operands, body.block.parameters, strict=True):
        if GENERIC.fullmatch(name):
            name = value_names.get(start, name)
        names.append(value_names.setdefault(inner, name))
    return names


@row("composite")
def composite(*operands: Any, operation: OperationCall, decomposition: str) -> Any:
    """A composite operation is computed by the function that decomposes it."""
    return call(*operands, operation=operation, callee=decomposition)


@row("call", dialect="func")
def call(*operands: Any, operation: OperationCall, callee: str) -> Any:
    if not operation.operation.results:
        return ()
    result = operation.interpreter.function(callee)(*map(as_array, operands))
    return result if len(operation.operation.results) > 1 else (result,)
