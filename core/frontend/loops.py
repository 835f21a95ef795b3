"""Counted loops, and loops over the first axis of arrays, built from `while_loop` and cells.

In a trace, the iterations of `map` do not depend on each other, so the machine runs them in parallel. Outside a trace,
the functions are called eagerly, one element at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..errors import Invalid, Usage
from .array_api.common import astype, element_count, shape_of, type_of
from .array_api.datatypes import result_type
from .array_api.manipulation import moveaxis, stack
from .control_flow import while_loop
from .eager.apply import apply
from .eager.gradients import call_as_one_step
from .eager.recording import recording_tapes
from .effects import cells, collect, put
from .trace.choice import Choice
from .trace.control_flow import check_branch, convert_in_trace, open_subregion
from .trace.program_builder import current_region, enter_region
from .trace.pytree import (
    TreeDef,
    array_treedef,
    count_item_axes,
    element_treedef,
    flatten,
    is_text_class,
    trim_lists,
    unflatten,
)
from .trace.source_location import user_location

ScanBody: TypeAlias = Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[tuple[Any, ...], Any]]
"""(carry, an element of each array) -> (next carry, output for the element)."""


def map(function: Callable[..., Any], /, *arrays: Any) -> Any:
    """Apply a function to each element of arrays along their first axes; returns its results as arrays.

    The arrays may nest, and so may the result of the function: `map(f, x, y)` calls `f(x[k], y[k])`. All arrays have
    the same length. Raises Usage for a value without axes, and outside a trace for empty arrays; Invalid (V4) for
    different lengths.

    >>> map(lambda x: x * x, [1, 2, 3]).tolist()
    [1, 4, 9]
    """
    check_branch(function, len(arrays))
    function = convert_in_trace(function)
    return _scan_arrays(lambda _, elements: ((), function(*elements)), (), arrays, "map(function, *arrays)")[1]


def scan(function: Callable[[Any, Any], Any], initial: Any, arrays: Any, /) -> tuple[Any, Any]:
    """Call `function(carry, element)`, which returns the next carry and an output, on each element in turn.

    Returns the last carry, and the outputs as arrays. Elements are along the first axis of `arrays`, which may
    nest, as may the carry and the output. Raises Usage where the function does not return a tuple of two, for
    a value without axes, and outside a trace for empty arrays; Invalid (V4) for arrays of different lengths.

    >>> carry, sums = scan(lambda total, x: (total + x, total + x), 0, [1, 2, 3])
    >>> carry, sums.tolist()
    (6, [1, 3, 6])
    """
    check_branch(function, 2)
    function = convert_in_trace(function)

    def step(carry: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        results = function(*carry, *outputs)
        if not isinstance(results, tuple) or len(results) != 2:
            required = "the next carry, and an output"
            raise Usage("the function of scan does not return two results", where=user_location(), required=required)
        return results[:1], results[1]

    (carry,), outputs = _scan_arrays(step, (initial,), (arrays,), "scan(function, initial, arrays)")
    return carry, outputs


def foldl(function: Callable[[Any, Any], Any], initial: Any, arrays: Any, /) -> Any:
    """The last carry of `function(carry, element)`, called on each element of arrays in turn.

    Elements are along the first axis of `arrays`, which may nest, as may the carry. Raises Usage for a value
    without axes, Invalid (V4) for arrays of different lengths.

    >>> foldl(lambda total, x: total + x, 0, [1, 2, 3])
    6
    """
    check_branch(function, 2)
    leaves, structure = _flatten_arrays(arrays)
    count, function = _leading_size(leaves, "foldl(function, initial, arrays)"), convert_in_trace(function)
    return fori_loop(0, count, lambda k, carry: function(carry, _element_at(leaves, structure, k)), initial)


def foldr(function: Callable[[Any, Any], Any], initial: Any, arrays: Any, /) -> Any:
    """As `foldl`, from the last element to the first: `function(carry, element)`.

    >>> foldr(lambda total, x: 10 * total + x, 0, [1, 2, 3])
    321
    """
    check_branch(function, 2)
    leaves, structure = _flatten_arrays(arrays)
    count, function = _leading_size(leaves, "foldr(function, initial, arrays)"), convert_in_trace(function)
    return fori_loop(0, count, lambda k, carry: function(carry, _element_at(leaves, structure, count - 1 - k)), initial)


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], initial: Any, /) -> Any:
    """The last carry of `for i in range(lower, upper): carry = body(i, carry)`, which begins as `initial`.

    The bounds are integers, and i has the dtype to which they promote. The carry is one value, which may nest; the body
    returns the next one, of the same types and structure. Raises Invalid (V5) where it does not, or a bound is not an
    integer; Invalid (V4) for bounds without a common dtype.

    >>> fori_loop(1, 5, lambda i, product: product * i, 1)
    24
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        type_ = type_of(bound)
        if not (type_.is_scalar and type_.dtype.is_integer):
            raise Invalid(
                f"the {name} bound of fori_loop is not an integer",
                rule="V5",
                where=user_location(),
                required="an integer without axes",
                got=type_,
                python=TypeError,
            )

    check_branch(body, 2)
    traced_body = convert_in_trace(body)

    @functools.wraps(body, updated=())
    def next_carry(i: Any, carry: Any) -> tuple[Any, Any]:
        return i + 1, traced_body(i, carry)

    # in a narrower dtype than that of `upper`, i would wrap around below it
    first = lower if type(lower) is type(upper) is int else astype(lower, result_type(lower, upper))
    return while_loop(lambda i, _: i < upper, next_carry, first, initial)[1]


def _flatten_arrays(arrays: Any) -> tuple[list[Any], TreeDef]:
    """The leaves and structure of arrays; a list of numbers is one of them."""
    leaves, structure = flatten(arrays)
    return leaves, array_treedef(structure)


def _leading_size(leaves: Sequence[Any], call: str) -> Any:
    """The common length of the first axes of arrays, which are parameters of a call; raises Usage or Invalid (V4) where
    there is none."""
    if not leaves or not all(shape_of(leaf) for leaf in leaves):
        raise Usage(
            "these are not arrays with axes",
            where=user_location(),
            required=f"arrays: {call}",
            got=" and ".join(str(type_of(leaf)) for leaf in leaves),
        )
    lengths = {shape_of(leaf)[0] for leaf in leaves} - {None}
    if len(lengths) > 1:
        got = " and ".join(str(type_of(leaf)) for leaf in leaves)
        raise Invalid(
            "the arrays have different lengths", rule="V4", where=user_location(), required="one length", got=got
        )
    return lengths.pop() if lengths else element_count(leaves[0], 0)


def _element_at(leaves: Sequence[Any], structure: TreeDef, k: Any) -> Any:
    return unflatten(*trim_lists(element_treedef(structure), [apply("take", leaf, k, axis=0) for leaf in leaves]))


def _scan_arrays(
    step: ScanBody, initial: tuple[Any, ...], arrays: tuple[Any, ...], call: str
) -> tuple[tuple[Any, ...], Any]:
    """`scan_elements` over the first axes of arrays, which are parameters of a call."""
    leaves, structure = _flatten_arrays(arrays)
    return scan_elements(step, initial, _leading_size(leaves, call), lambda k: _element_at(leaves, structure, k))


def scan_elements(
    step: ScanBody, initial: tuple[Any, ...], count: Any, element_at: Callable[[Any], Any]
) -> tuple[tuple[Any, ...], Any]:
    """The last carry, and the outputs as arrays, of a loop over `element_at(0)` to `element_at(count - 1)`. Each output
    is put into a cell, so that iterations do not depend on each other unless the carry does."""
    region = current_region()
    if region is None:
        return _scan_eagerly(step, initial, [element_at(k) for k in range(count)])
    if recording_tapes():
        return call_as_one_step("map", scan_elements, lambda: scan_elements(step, initial, count, element_at))  # type: ignore[no-any-return]
    with enter_region(open_subregion(region)):  # this region is dropped: only the types of the outputs are needed
        output_leaves, output_structure = flatten(
            step(initial, element_at(0))[1], constants_are_static=True, is_leaf=None
        )
        types = [type_of(leaf) for leaf in output_leaves]
        _refuse_choices(output_structure)

    def body(k: Any, handles: tuple[Any, ...], *carry: Any) -> tuple[Any, ...]:
        next_carry, output = step(carry, element_at(k))
        output_leaves = flatten(output, constants_are_static=True, is_leaf=None)[0]
        filled_handles = tuple(put(handle, k, leaf) for handle, leaf in zip(handles, output_leaves, strict=True))
        return k + 1, filled_handles, *next_carry

    empty = tuple(cells(count, type_) for type_ in types)
    _, handles, *carry = while_loop(lambda k, *_: k < count, body, 0, empty, *initial)
    columns = [_with_static_size(collect(handle), count) for handle in handles]
    pairs = zip(columns, count_item_axes(output_structure), strict=True)
    columns = [moveaxis(column, 0, axes) if axes else column for column, axes in pairs]  # the items of lists come first
    return tuple(carry), unflatten(output_structure, columns)


def _refuse_choices(structure: TreeDef) -> None:
    """Raises Invalid (F4) for an output that is a string, one of several strings, or None for some elements."""
    if structure.container is Choice or is_text_class(structure.container):
        raise Invalid(
            "the outputs of the elements differ in structure, so arrays cannot hold them",
            rule="F4",
            where=user_location(),
            required="numbers or arrays of one shape",
            got=structure,
            hint="return a number for each case, as in 1 if x > 0 else 0",
            python=TypeError,
        )
    for _, part in structure.children:
        _refuse_choices(part)


def _scan_eagerly(step: ScanBody, carry: tuple[Any, ...], elements: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    """`scan_elements` outside a trace; raises Usage without elements, since the outputs then have no type."""
    outputs = []
    for element in elements:
        carry, output = step(carry, element)
        outputs.append(flatten(output, constants_are_static=True, is_leaf=None))
    if not outputs:
        hint = "a tl.function infers their types"
        raise Usage("without elements the outputs have no types", where=user_location(), hint=hint)
    columns = zip(*(leaves for leaves, _ in outputs), strict=True)
    return carry, unflatten(outputs[0][1], [stack(list(column)) for column in columns])


def _with_static_size(array: Any, count: Any) -> Any:
    """The array with a static first size, where `count` is static."""
    shape = (count, *shape_of(array)[1:])
    return array if not isinstance(count, int) or None in shape else apply("reshape", array, shape=shape)
