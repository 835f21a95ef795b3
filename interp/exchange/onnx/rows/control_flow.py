"""Operators with graphs: conditions and loops. And operators of sequences and optional values.

An optional value is the value itself, or None if it is empty. Whether it is empty must be known before the run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .....core.frontend.trace.captures import read_variable
from .....core.frontend.trace.control_flow import open_subregion
from .....core.frontend.trace.program_builder import RegionBuilder, current_region, enter_region
from .....core.program.program import UniqueNames
from .....core.types import Type
from ...functions import identifier, name_parameters
from ..interpreter import Body, NodeCall, dtype_of_element, find_body, type_proto
from ..operators import NeedsConstantOperand, operator, tl, unsupported
from ..sequences import (
    ItemSequence,
    PackedSequence,
    erase,
    insert,
    item_at,
    join,
    length_of,
    pack,
)
from ..storage import StorageArray, StorageType, carrier_of, storage_of, with_storage
from .common import (
    COST,
    axis_position,
    check_table_size,
    dtype_of,
    integers,
    known_sizes,
    rank_of,
    require,
    scalar,
    type_of,
)


@operator("If", is_folded=False, takes_storage=True)
def if_(condition: Any, *, then_branch: Body, else_branch: Body) -> Any:
    """A condition that is a constant chooses before the run."""
    if isinstance(condition, np.ndarray):
        return tuple((then_branch if bool(condition.reshape(())) else else_branch)())
    then_forms, else_forms = trace_forms(then_branch), trace_forms(else_branch)
    require(len(then_forms) == len(else_forms), "the branches of If have different numbers of results")
    pairs = list(zip(then_forms, else_forms, strict=True))
    if any(
        then_form.is_empty != else_form.is_empty or then_form.axes != else_form.axes for then_form, else_form in pairs
    ):
        raise NeedsConstantOperand(0)
    ranks = [max(then_form.item_rank, else_form.item_rank) for then_form, else_form in pairs]

    def results_of(branch: Body) -> tuple[Any, ...]:
        return tuple(carry(value, rank) for value, rank in zip(branch(), ranks, strict=True))

    return tl.cond(scalar(condition), lambda: results_of(then_branch), lambda: results_of(else_branch))


class ValueForm(NamedTuple):
    """The part of a value that is known before the run: the type of an array, and its storage type, if it has one; the
    largest number of axes of the items of a sequence; neither for an empty optional value."""

    type: Type | None
    item_rank: int = 0
    is_empty: bool = False
    storage: StorageType | None = None

    @property
    def axes(self) -> int | None:
        """The number of axes of an array, if it is known."""
        return None if self.type is None or self.type.shape is None else len(self.type.shape)


def form_of(value: Any) -> ValueForm:
    """The form of a value."""
    match value:
        case None:
            return ValueForm(None, is_empty=True)
        case PackedSequence():
            return ValueForm(None, value.rank)
        case ItemSequence():
            return ValueForm(None, max(map(rank_of, value.items), default=0))
        case StorageArray():
            return ValueForm(type_of(value.carrier), storage=value.type)
    return ValueForm(type_of(value))


def trace_forms(body: Body, *inputs: Any) -> list[ValueForm]:
    """The forms of the results of a graph for inputs without constants. The graph is traced into a region that is
    dropped, once for each combination of forms of inputs and surrounding values, since graphs nest."""
    forms, key = body.interpreter.result_forms, body.key(inputs)
    if key not in forms:
        with dropped_nodes() as region, enter_region(open_subregion(region)):
            forms[key] = body.graph, list(map(form_of, body(*map(as_symbolic, inputs))))
    result: list[ValueForm] = forms[key][1]
    return result


@contextmanager
def dropped_nodes() -> Iterator[RegionBuilder]:
    """The current region, from which the nodes of the `with` block are dropped."""
    region = current_region()
    assert region is not None, "graphs are evaluated in a trace"
    mark = region.mark()
    yield region
    region.reset(mark)


def carry(value: Any, rank: int) -> Any:
    """A value in the form that loops carry: a sequence is packed."""
    return pack(value, rank) if isinstance(value, ItemSequence | PackedSequence) else value


@operator("Loop", is_folded=False, takes_storage=True)
def loop(limit: Any = None, condition: Any = None, *starts: Any, body: Body) -> Any:
    """While the condition holds, and at most `limit` times: the body takes the number of the iteration, the condition
    and the carried values, and returns the condition, the carried values, and an element of each array that the loop
    collects.

    If only the limit ends the loop, the elements are put into cells; else each array grows.
    """
    count = len(starts)
    require(len(body.graph.input) == count + 2, "the body of Loop does not take as many values as the loop carries")
    require(len(body.graph.output) > count, "the body of Loop returns fewer values than the loop carries")
    is_counted = limit is not None and body.returns_unchanged(0, body.graph.input[1].name)
    is_counted = is_counted and (condition is None or (isinstance(condition, np.ndarray) and bool(condition.all())))
    first = np.asarray(True) if condition is None else scalar(condition)
    ranks, collected = loop_types(body, starts, first)
    starts = tuple(carry(start, rank) for start, rank in zip(starts, ranks, strict=True))
    trip_count = None if limit is None else tl.maximum(scalar(limit), np.int64(0))

    def step(k: Any, continues: Any, values: Sequence[Any]) -> tuple[Any, tuple[Any, ...], list[Any]]:
        results = body(k, continues, *values)
        next_values = tuple(carry(result, rank) for result, rank in zip(results[1 : 1 + count], ranks, strict=True))
        return scalar(results[0]), next_values, list(map(carrier_of, results[1 + count :]))

    if is_counted:

        @name_variables(body, "collected")
        def counted_body(k: Any, handles: tuple[Any, ...], *values: Any) -> Any:
            _, next_values, elements = step(k, np.asarray(True), values)
            filled = tuple(tl.put(handle, k, element) for handle, element in zip(handles, elements, strict=True))
            return k + 1, filled, *next_values

        handles = tuple(tl.cells(trip_count, form.type) for form in collected)
        _, handles, *values = tl.while_loop(
            lambda k, *_: tl.less(k, trip_count), counted_body, np.int64(0), handles, *starts
        )
        pairs = zip(handles, collected, strict=True)
        return (*values, *(with_storage(tl.collect(handle), form.storage) for handle, form in pairs))

    def continues(k: Any, condition: Any, *_: Any) -> Any:
        return condition if trip_count is None else tl.logical_and(condition, tl.less(k, trip_count))

    @name_variables(body, "condition", "collected")
    def growing_body(k: Any, condition: Any, arrays: tuple[Any, ...], *values: Any) -> Any:
        condition, next_values, elements = step(k, condition, values)
        return k + 1, condition, tuple(map(append, arrays, elements)), *next_values

    arrays = tuple(no_elements(form.type) for form in collected)
    _, _, arrays, *values = tl.while_loop(continues, growing_body, np.int64(0), first, arrays, *starts)
    pairs = zip(arrays, collected, strict=True)
    return (*values, *(with_storage(as_array(array, form.type), form.storage) for array, form in pairs))


def name_variables(body: Body, *extra: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that names the parameters of a function after the inputs of a body, for the variables of the loop:
    the iteration, these `extra` names, then the carried values."""
    first, _, *carried_names = (identifier(parameter.name, "v") for parameter in body.graph.input)
    unique = UniqueNames()
    return name_parameters([unique.fresh_name(name) for name in (first, *extra, *carried_names)])


def no_elements(type_: Type) -> Any:
    """The empty start value of a loop that collects elements of a type: an array if their shape is known, else a packed
    sequence."""
    assert type_.shape is not None
    if None in type_.shape:
        return PackedSequence(tl.zeros(0, dtype=type_.dtype), np.zeros((0, len(type_.shape)), np.int64))
    return np.zeros((0, *type_.shape), type_.dtype.numpy)


def append(array: Any, element: Any) -> Any:
    """The collected elements of a loop, with one more element."""
    if isinstance(array, PackedSequence):
        return insert(array, element)
    return tl.concat([array, tl.expand_dims(element, axis=0)])


def loop_types(body: Body, starts: Sequence[Any], condition: Any) -> tuple[list[int], list[ElementForm]]:
    """The numbers of axes of the items of carried sequences, and the forms of the elements of arrays."""
    ranks = [form_of(start).item_rank for start in starts]
    while True:
        values = [carry(start, rank) for start, rank in zip(starts, ranks, strict=True)]
        forms = trace_forms(body, np.int64(0), condition, *values)
        wider_ranks = [max(rank, form.item_rank) for rank, form in zip(ranks, forms[1 : 1 + len(starts)], strict=True)]
        if wider_ranks == ranks:
            return ranks, element_forms(forms[1 + len(starts) :])
        ranks = wider_ranks


class ElementForm(NamedTuple):
    """The type of the elements that a loop collects, and their storage type, if they have one."""

    type: Type
    storage: StorageType | None


def element_forms(forms: Sequence[ValueForm]) -> list[ElementForm]:
    """The forms of the elements that a loop collects; raises Unsupported if a number of axes is not known."""
    if any(form.axes is None for form in forms):
        raise unsupported("shape", "the number of axes of the elements that a loop collects is not known")
    return [ElementForm(form.type, form.storage) for form in forms if form.type is not None]


def as_symbolic(value: Any) -> Any:
    """A value that is not constant, although its start value is."""
    if isinstance(value, PackedSequence):
        return PackedSequence(as_symbolic(value.elements), as_symbolic(value.shapes))
    if isinstance(value, StorageArray):
        return StorageArray(as_symbolic(value.carrier), value.type)
    return tl.identity(value) if isinstance(value, np.ndarray | np.generic) else value


def as_array(array: Any, type_: Type) -> Any:
    """The collected elements of a loop as an array of elements of a type; without elements, open sizes are 0."""
    if not isinstance(array, PackedSequence):
        return array
    assert type_.shape is not None
    count, shape = array.length, type_.shape
    is_empty = tl.equal(count, 0)
    last = tl.concat([np.zeros((1, len(shape)), np.int64), array.shapes])[-1]
    sizes = [tl.where(is_empty, np.int64(0), last[axis]) if size is None else size for axis, size in enumerate(shape)]
    return tl.reshape(array.elements, (count, *sizes))


@operator("Scan", version=9, is_folded=False, takes_storage=True)
def scan(
    *operands: Any,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: Any = None,
    scan_output_axes: Any = None,
    scan_input_directions: Any = None,
    scan_output_directions: Any = None,
) -> Any:
    """A loop over slices of arrays, each along its own axis; its results are collected along axes, forwards or
    backwards."""
    state_count = len(operands) - num_scan_inputs
    states, arrays = operands[:state_count], list(map(carrier_of, operands[state_count:]))
    storages = list(map(storage_of, operands[state_count:]))
    output_count = len(body.graph.output) - state_count
    axes = [
        axis_position(axis, rank_of(array))
        for axis, array in zip(scan_input_axes or [0] * num_scan_inputs, arrays, strict=True)
    ]
    backwards = scan_input_directions or [0] * num_scan_inputs
    require(bool(arrays), "Scan has no array to take slices of")
    count, *other_counts = (tl.shape(array)[axis] for array, axis in zip(arrays, axes, strict=True))
    for other_count in other_counts:
        require(count == other_count, "the arrays that Scan takes slices of have different lengths")

    def elements_at(k: Any) -> list[Any]:
        positions = [tl.subtract(count - 1, k) if backward else k for backward in backwards]
        slices = [tl.take(*operands[:2], axis=operands[2]) for operands in zip(arrays, positions, axes, strict=True)]
        return list(map(with_storage, slices, storages))

    def step(k: Any, values: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        results = body(*values, *elements_at(k))
        return tuple(results[:state_count]), list(map(carrier_of, results[state_count:]))

    with dropped_nodes():  # of arrays without elements, there is no first slice
        slices = [tl.take(array, np.int64(0), axis=axis) for array, axis in zip(arrays, axes, strict=True)]
        collected = element_forms(trace_forms(body, *states, *map(with_storage, slices, storages))[state_count:])

    def advance(k: Any, handles: tuple[Any, ...], *values: Any) -> Any:
        next_values, elements = step(k, values)
        output_backwards = scan_output_directions or [0] * output_count
        positions = [tl.subtract(count - 1, k) if backward else k for backward in output_backwards]
        filled = tuple(tl.put(*write) for write in zip(handles, positions, elements, strict=True))
        return k + 1, filled, *next_values

    handles = tuple(tl.cells(count, form.type) for form in collected)
    _, handles, *values = tl.while_loop(lambda k, *_: tl.less(k, count), advance, np.int64(0), handles, *states)
    outputs = []
    for handle, form, axis in zip(handles, collected, scan_output_axes or [0] * output_count, strict=True):
        array = tl.collect(handle)
        outputs.append(with_storage(tl.moveaxis(array, 0, axis) if axis else array, form.storage))
    return (*values, *outputs)


@operator("Scan", version=8, is_folded=False)
def scan_batches(lengths: Any, *operands: Any, body: Body, num_scan_inputs: int, directions: Any = None) -> Any:
    """The first version has a batch along the first axis of everything, and scans the second."""
    if lengths is not None:
        raise unsupported("attribute", "Scan of version 8 with the lengths of sequences")

    def scan_one(*parts: Any) -> Any:
        return scan(*parts, body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions)

    batch = known_sizes(operands[0], [0])[0]
    results = [scan_one(*(tl.index(operand, k) for operand in operands)) for k in range(batch)]
    return tuple(tl.stack(list(column)) for column in zip(*results, strict=True))


@operator("SequenceMap", is_folded=False)
def sequence_map(sequence: Any, *further_operands: Any, body: Body, call: NodeCall) -> Any:
    """The body applied to the items of sequences, together with arrays."""
    operands = (sequence, *further_operands)
    if any(isinstance(operand, PackedSequence) for operand in operands):
        function = find_body(call.node, list(map(type_proto, operands)), call.version)
        assert function is not None, "SequenceMap has a body"
        return tuple(call.interpreter.evaluate_function(function, operands, {"body": body}, call.node))
    rows = []
    for k in range(len(sequence.items)):
        rows.append(body(*(operand.items[k] if isinstance(operand, ItemSequence) else operand for operand in operands)))
    columns = zip(*rows, strict=True) if rows else [()] * len(body.graph.output)
    types = [result.type.tensor_type.elem_type for result in body.graph.output]
    return tuple(
        ItemSequence(tuple(column), dtype_of_element(element)) for column, element in zip(columns, types, strict=True)
    )


@operator("SequenceConstruct")
def sequence_construct(*items: Any) -> Any:
    return ItemSequence(items, dtype_of(items[0]))


@operator("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> Any:
    return ItemSequence((), dtype_of_element(dtype))


@operator("SequenceInsert")
def sequence_insert(sequence: Any, item: Any, position: Any = None) -> Any:
    return insert(sequence, item, None if position is None else scalar(position))


@operator("SequenceErase")
def sequence_erase(sequence: Any, position: Any = None) -> Any:
    return erase(sequence, None if position is None else scalar(position))


@operator("SequenceAt")
def sequence_at(sequence: Any, position: Any) -> Any:
    return item_at(sequence, scalar(position))


@operator("SequenceLength")
def sequence_length(sequence: Any) -> Any:
    return length_of(sequence)


@operator("ConcatFromSequence")
def concat_from_sequence(sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    return join(sequence, axis, new_axis=bool(new_axis))


@operator("SplitToSequence", static=(1,))
def split_to_sequence(x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    """Without sizes, or with one size for all, the last part may be shorter."""
    position = axis_position(axis, rank_of(x))
    (total,) = known_sizes(x, [position])
    check_table_size(total, COST)
    if split is None:
        sizes = [1] * total
    elif split.ndim == 0:
        width = int(split)
        require(width > 0, "SplitToSequence makes parts without elements")
        sizes = [min(width, total - start) for start in range(0, total, width)]
    else:
        sizes = list(integers(split))
        require(sum(sizes) == total and min(sizes, default=0) >= 0, "the parts do not add up to the length of the axis")
    stops = np.cumsum([0, *sizes])
    parts = [
        tl.index(x, (*[slice(None)] * position, slice(int(start), int(stop))))
        for start, stop in itertools.pairwise(stops)
    ]
    if split is None and not keepdims:
        parts = [tl.squeeze(part, position) for part in parts]
    return ItemSequence(tuple(parts), dtype_of(x))


@operator("Optional", is_folded=False, takes_storage=True)
def optional(value: Any = None, *, type: Any = None) -> Any:
    return value


@operator("OptionalHasElement", is_folded=False, takes_storage=True)
def optional_has_element(value: Any = None) -> Any:
    return np.asarray(value is not None)


@operator("OptionalGetElement", is_folded=False, takes_storage=True)
def optional_get_element(value: Any) -> Any:
    if value is None:
        raise unsupported("construct", "the element of an empty optional value is taken")
    return read_variable(value)
