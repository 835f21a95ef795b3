"""Operators with graphs: conditions, loops and calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....core.program.program import UniqueNames
from ...functions import identifier, name_parameters
from ..graph import OmittedArgument, ValueName
from ..interpreter import GraphCall, TorchCall, is_python
from ..operations import require, row, tl, unsupported
from .common import dtype_of
from .numbers import as_array, is_nonzero

GENERIC_NAME = re.compile(r"(arg|child|carry|getitem)_?\d*(_\d+)?")
"""Names that PyTorch generates for the parameters of graphs."""


@row("cond", dialect="higher_order")
def cond(
    pred: Any, true_graph: GraphCall, false_graph: GraphCall, operands: Sequence[Any] = (), *, node: TorchCall
) -> Any:
    """A condition that is a constant chooses before the run."""
    if is_python(pred) or isinstance(pred, np.ndarray):
        return (true_graph if bool(pred) else false_graph)(*operands)

    def branch(graph: GraphCall) -> Callable[[], tuple[Any, ...]]:
        return lambda: tuple(map(as_array, graph(*operands)))

    if not node.node.outputs:
        return ()
    return tl.cond(is_nonzero(pred), branch(true_graph), branch(false_graph))


@row("while_loop", dialect="higher_order")
def while_loop(
    test: GraphCall, body: GraphCall, starts: Sequence[Any], invariants: Sequence[Any] = (), *, node: TorchCall
) -> Any:
    """`invariants` are the operands that the body reads only. A start value that the body passes on unchanged is
    invariant, too."""
    variables = [
        k
        for k, (result, parameter) in enumerate(zip(body.graph.results, body.graph.parameters, strict=False))
        if result != parameter
    ] or list(range(len(starts)))
    require(
        len(body.graph.results) == len(starts), "the body of a loop gives a different number of values than it takes"
    )
    names = variable_names(node, body.graph.parameters, 2)
    first = list(map(as_array, starts))

    def all_values(values: Sequence[Any]) -> list[Any]:
        complete = list(first)
        for k, value in zip(variables, values, strict=True):
            complete[k] = value
        return [*complete, *invariants]

    def condition(*values: Any) -> Any:
        (result,) = test(*all_values(values))
        return is_nonzero(as_array(result))

    def advance(*values: Any) -> Any:
        results = body(*all_values(values))
        next_values = tuple(as_array(results[k]) for k in variables)
        return next_values if len(next_values) > 1 else next_values[0]

    loop = list(map(name_parameters([names[k] for k in variables]), (condition, advance)))
    return all_values(tl.while_loop(*loop, *(first[k] for k in variables)))[: len(starts)]


def variable_names(node: TorchCall, parameters: Sequence[Any], position: int) -> list[str]:
    """Names for the parameters of a graph, whose operands are in the argument of the node at `position`. A name that
    PyTorch has generated is replaced by the name of the operand."""
    operands = node.node.arguments[position][1] if len(node.node.arguments) > position else []
    unique = UniqueNames()
    names = []
    for k, parameter in enumerate(parameters):
        name = parameter if isinstance(parameter, ValueName) else ""
        outer = operands[k] if isinstance(operands, list) and k < len(operands) else ""
        if (not name or GENERIC_NAME.fullmatch(name)) and isinstance(outer, ValueName):
            name = outer
        names.append(unique.fresh_name(identifier(name, "x")))
    return names


@row("scan", dialect="higher_order")
def scan(
    combine: GraphCall, initial: Sequence[Any], arrays: Sequence[Any], invariants: Sequence[Any] = (), *,
    node: TorchCall,
) -> Any:  # fmt: skip
    """The last values that the body carries, and its other results, stacked, of a loop over the first axis of
    all arrays."""
    count = len(initial)

    def step(state: Any, elements: Any) -> Any:
        results = [as_array(value) for value in combine(*state, *elements, *invariants)]
        return tuple(results[:count]), tuple(results[count:])

    if not arrays:
        raise unsupported("construct", "a scan over no arrays")
    last, collected = tl.scan(step, tuple(map(as_array, initial)), tuple(arrays))
    return (*last, *collected)


@row("map_impl", dialect="higher_order")
def map_impl(body: GraphCall, arrays: Sequence[Any], invariants: Sequence[Any] = (), *, node: TorchCall) -> Any:
    results = tl.map(lambda *elements: tuple(map(as_array, body(*elements, *invariants))), *arrays)
    return tuple(results)


@row("associative_scan", dialect="higher_order")
def associative_scan(
    combine: GraphCall, arrays: Sequence[Any], invariants: Sequence[Any] = (), *, node: TorchCall
) -> Any:
    """The results of combining the first 1, 2, 3, ... elements, computed in order."""
    first = tuple(tl.index(array, 0) for array in arrays)

    def step(state: Any, elements: Any) -> Any:
        combination = tuple(map(as_array, combine(*state, *elements, *invariants)))
        return combination, combination

    _, collected = tl.scan(step, first, tuple(tl.index(array, slice(1, None)) for array in arrays))
    pairs = zip(first, collected, strict=True)
    return tuple(tl.concat([tl.expand_dims(start, axis=0), tail], axis=0) for start, tail in pairs)


@row("invoke_subgraph", dialect="higher_order")
def invoke_subgraph(body: GraphCall, name: Any, *operands: Any, node: TorchCall) -> Any:
    return tuple(body.share([node.memory(argument) for _, argument in node.node.arguments[2:]]))


@row("wrap_with_set_grad_enabled", dialect="higher_order")
def wrap_with_set_grad_enabled(enabled: Any, body: GraphCall, *operands: Any, node: TorchCall) -> Any:
    """Where PyTorch records no gradients, they are zero."""
    results = body.share([node.memory(argument) for _, argument in node.node.arguments[2:]])
    if enabled:
        return tuple(results)
    return tuple(tl.stop_gradient(result) if is_float(result) else result for result in results)


@row("wrap_with_autocast", dialect="higher_order")
def wrap_with_autocast(
    device: Any, dtype: Any, enabled: Any, cache: Any, body: GraphCall, *operands: Any, node: TorchCall
) -> Any:
    """The graph has the casts itself, unless it is to cast: that is refused."""
    if enabled:
        raise unsupported("construct", "a region with autocast", hint="exported.run_decompositions() writes its casts")
    return tuple(body.share([node.memory(argument) for _, argument in node.node.arguments[5:]]))


def is_float(value: Any) -> bool:
    """Whether a value is an array of floats."""
    return not is_python(value) and not isinstance(value, OmittedArgument) and dtype_of(value).kind == "f"
