"""Operations with regions that are branches or loops, and calls."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from ..interpreter import HloRegion, OperationCall, as_array, parameter_names
from ..operations import row, tl
from .common import dtype_of, numeric


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
    last = numeric(len(regions) - 1, index)
    return tl.switch(tl.where(tl.less(index, numeric(0, index)), last, index), list(map(branch_of, regions)))


def branch_of(region: HloRegion) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(map(as_array, region()))


@row("while")
def while_(*starts: Any, regions: list[HloRegion]) -> Any:
    """The loop variables have the names of the parameters of its body."""
    test, body = regions
    names = parameter_names(body.block)

    def name_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return function

    @name_parameters
    def condition(*variables: Any) -> Any:
        return as_array(test(*variables)[0])

    @name_parameters
    def advance(*variables: Any) -> Any:
        results = tuple(map(as_array, body(*variables)))
        return results if len(results) > 1 else results[0]

    if not starts:
        return ()
    return tuple(tl.while_loop(condition, advance, *starts))


@row("composite")
def composite(*operands: Any, operation: OperationCall, decomposition: str) -> Any:
    """An operation that another system may know by name is computed by the function that says what it is."""
    return call(*operands, operation=operation, callee=decomposition)


@row("call", dialect="func")
def call(*operands: Any, operation: OperationCall, callee: str) -> Any:
    if not operation.operation.results:
        return ()
    result = operation.interpreter.function(callee)(*map(as_array, operands))
    return result if len(operation.operation.results) > 1 else (result,)
