"""Functional control flow, calls of functions, and lists of arrays."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ...functions import unique_identifiers
from ..graph import ForeignGraph, ForeignNode
from ..interpreter import TensorFlowCall, chosen_output, short_name
from ..loops import DEFAULT_PARALLEL_ITERATIONS, CarriedLoop, evaluate_branches, evaluate_loop
from ..operations import operation, require, tl, unsupported
from ..tensors import ElementType, FunctionName
from ..values import TensorList, as_size, is_constant, zeros
from .common import dtype_of, scalar, to_dtype
from .indexing import as_index


@operation("If", "StatelessIf", takes_values=True)
def if_(
    condition: Any, *operands: Any, then_branch: FunctionName, else_branch: FunctionName, node: TensorFlowCall
) -> Any:
    """A constant condition chooses before the run."""
    return choose(condition, [else_branch, then_branch], operands, node)


@operation("Case", "StatelessCase", takes_values=True)
def case(index: Any, *operands: Any, branches: Sequence[FunctionName], node: TensorFlowCall) -> Any:
    """An index out of range chooses the last branch."""
    return choose(index, branches, operands, node)


def choose(predicate: Any, names: Sequence[str], operands: Sequence[Any], node: TensorFlowCall) -> list[Any]:
    """The results of one of several functions."""
    interpreter = node.interpreter
    graphs = [interpreter.function_graph(name) for name in names]
    branches = [functools.partial(interpreter.evaluate_graph, graph, operands) for graph in graphs]
    if is_constant(predicate):
        number = (
            int(bool(predicate.reshape(()))) if node.node.op.endswith("If") else chosen_output(predicate, len(names))
        )
        return branches[number]()
    if not graphs[0].results and not any(interpreter.effectful_nodes(graph) for graph in graphs):
        return []
    return evaluate_branches(scalar(predicate), branches)


@operation("While", "StatelessWhile", takes_values=True)
def evaluate_while(
    *starts: Any,
    cond: FunctionName,
    body: FunctionName,
    parallel_iterations: int = DEFAULT_PARALLEL_ITERATIONS,
    node: TensorFlowCall,
) -> Any:
    interpreter = node.interpreter
    test_graph, body_graph = interpreter.function_graph(cond), interpreter.function_graph(body)
    require(len(starts) == len(body_graph.results) == len(body_graph.arguments) == len(test_graph.arguments),
            "the functions of a While do not take as many values as the loop carries")  # fmt: skip
    require(len(test_graph.results) == 1, "the condition of a While returns one value")
    names = unique_identifiers(short_name(endpoint.node) for endpoint in node.node.inputs)

    def test(values: Sequence[Any]) -> Any:
        return scalar(interpreter.evaluate_graph(test_graph, values)[0])

    def advance(values: Sequence[Any], needed_positions: Collection[int]) -> list[Any]:
        return interpreter.evaluate_graph(body_graph, values, needed_positions)

    loop = CarriedLoop(
        names=names,
        starts=starts,
        sources=[argument_positions(body_graph, [endpoint.node]) for endpoint in body_graph.results],
        condition_sources=argument_positions(test_graph, [test_graph.results[0].node]),
        invariants=[
            k for k in range(len(starts)) if interpreter.argument_position(body_graph, body_graph.results[k]) == k
        ],
        result_positions=used_outputs(node.graph, node.node),
        has_effects=bool(interpreter.effectful_nodes(body_graph)) or bool(interpreter.effectful_nodes(test_graph)),
        parallel_iterations=parallel_iterations,
        test=test,
        advance=advance,
    )
    return evaluate_loop(loop)


def argument_positions(graph: ForeignGraph, names: Sequence[str]) -> set[int]:
    """The positions of the parameters on which nodes depend."""
    reached_names = graph.reachable_nodes(names)
    return {position for position, argument in enumerate(graph.arguments) if argument.node in reached_names}


def used_outputs(graph: ForeignGraph, node: ForeignNode) -> list[int]:
    """The outputs of a node that others take."""
    return [endpoint.port for endpoint in graph.used_endpoints if endpoint.node == node.name]


@operation(
    "PartitionedCall", "StatefulPartitionedCall", takes_values=True,
    ignored=("config", "config_proto", "executor_type"),
)  # fmt: skip
def partitioned_call(*operands: Any, f: FunctionName, node: TensorFlowCall) -> Any:
    return node.interpreter.call_function(f, operands)


@operation("TensorListReserve", "EmptyTensorList", takes_values=True)
def reserve(shape: Any, count: Any, *, element_dtype: ElementType, node: TensorFlowCall) -> Any:
    """`count` elements, all zeros; EmptyTensorList has none, whatever its limit is."""
    number = np.asarray(0, np.int32) if node.node.op == "EmptyTensorList" else scalar(count)
    sizes = known_element_sizes(shape)
    if sizes is None:
        return TensorList(element_dtype.dtype, count=number)
    return TensorList(element_dtype.dtype, zeros(element_dtype.dtype, number, sizes))


def known_element_sizes(shape: Any) -> list[int] | None:
    """The sizes of the elements of a list, if all are known."""
    if not is_constant(shape) or shape.ndim == 0 or bool(np.any(shape < 0)):
        return None
    sizes: list[int] = [int(size) for size in shape]
    return sizes


def known_array(items: Any) -> Any:
    """The array of a list; raises Unsupported where nothing says the shape of its elements."""
    require(isinstance(items, TensorList), "this is not a list of arrays")
    if items.array is None:
        raise unsupported("shape", "the shape of the elements of this list is unknown", hint="give element_shape")
    return items.array


@operation("TensorListFromTensor", takes_values=True)
def list_from_array(x: Any, shape: Any) -> Any:
    return TensorList(dtype_of(x), x)


@operation("TensorListStack", takes_values=True, ignored=("num_elements",))
def stack_list(items: Any, shape: Any, *, element_dtype: ElementType) -> Any:
    sizes = known_element_sizes(shape)
    return known_array(items if sizes is None else items.with_sizes(sizes))


@operation("TensorListGetItem", takes_values=True)
def get_item(items: Any, index: Any, shape: Any, *, element_dtype: ElementType) -> Any:
    return tl.take(known_array(items), as_index(scalar(index)), axis=0)


@operation("TensorListGather", takes_values=True)
def gather_items(items: Any, indices: Any, shape: Any, *, element_dtype: ElementType) -> Any:
    return tl.take(known_array(items), as_index(indices), axis=0)


@operation("TensorListSetItem", takes_values=True)
def set_item(items: Any, index: Any, element: Any, *, resize_if_index_out_of_bounds: bool = False) -> Any:
    """A list that is resized has zeros between its old end and the new element."""
    require(isinstance(items, TensorList), "this is not a list of arrays")
    position, array = tl.reshape(as_index(index), ()), items.array_for(element)
    if resize_if_index_out_of_bounds:
        length = tl.asarray(tl.shape(array)[0], dtype=tl.int64)
        extension = tl.maximum(tl.subtract(tl.add(tl.astype(position, tl.int64), 1), length), 0)
        array = tl.concat([array, tl.full((extension, *tl.shape(element)), np.zeros((), items.dtype.numpy))])
    return items.with_array(tl.scatter(array, tl.expand_dims(element, axis=0), tl.reshape(position, (1,))))


@operation("TensorListLength", takes_values=True)
def list_length(items: Any) -> Any:
    return to_dtype(items.length, tl.int32)


@operation("TensorListElementShape", takes_values=True)
def element_shape(items: Any, *, shape_type: ElementType) -> Any:
    return np.array(known_array(items).shape[1:], shape_type.dtype.numpy)


@operation("TensorListPushBack", takes_values=True)
def push_back(items: Any, element: Any) -> Any:
    require(isinstance(items, TensorList), "this is not a list of arrays")
    return items.with_array(tl.concat([items.array_for(element), tl.expand_dims(element, axis=0)]))


@operation("TensorListPopBack", outputs=("output_handle", "tensor"), takes_values=True)
def pop_back(items: Any, shape: Any, *, element_dtype: ElementType) -> Any:
    array = known_array(items)
    return [items.with_array(tl.index(array, slice(0, -1))), tl.index(array, -1)]


@operation("TensorListResize", takes_values=True)
def resize_list(items: Any, count: Any) -> Any:
    if items.array is None:
        return TensorList(items.dtype, count=count)
    array = items.array
    extension = tl.maximum(tl.subtract(as_size(count), tl.shape(array)[0]), np.int64(0))
    longer_array = tl.concat([array, zeros(items.dtype, extension, tl.shape(array)[1:])])
    return TensorList(items.dtype, tl.index(longer_array, slice(0, as_size(count))))
