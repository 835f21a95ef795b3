"""Arrays whose sizes are known at run time: ranges, repetitions, indices of nonzero elements, unique elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from .gradient_rules import Term, adjoint_rule, iota, movement_rule, scatter_back, zeros_like
from .op import MAX_ELEMENTS, TrapCondition, op
from .type_rules import (
    check_numeric,
    describe_shapes,
    elementwise_type_rule,
    promote_operands,
    require_sizes,
    resolve_axis,
)

_NUMERIC = elementwise_type_rule("if")


def arange_type(*operands: Type) -> Type:
    _NUMERIC(*(Type(operand.dtype) for operand in operands))
    for operand in operands:
        if operand.shape != ():
            raise Invalid(
                f"a bound of a range has shape {describe_shapes(require_sizes(operand))}",
                required="numbers",
                got=operand,
            )
    return Type(promote_operands(operands), (None,))


def range_length(start: Any, stop: Any, step: Any) -> int:
    """The length of the range from `start`, before `stop`, of Python numbers."""
    if all(type(number) is int for number in (start, stop, step)):
        return max(0, int(-((start - stop) // step)))
    return max(0, math.ceil((float(stop) - float(start)) / float(step)))


def is_endless_range(start: Any, stop: Any, step: Any) -> bool:
    with np.errstate(all="ignore"):
        return not step or not np.isfinite(np.divide(np.subtract(stop, start, dtype=float), step))


def arange_elements(start: Any, stop: Any, step: Any) -> int:
    return range_length(*(np.asarray(number).item() for number in (start, stop, step)))


def arange_array(start: Any, stop: Any, step: Any) -> Any:
    count = arange_elements(start, stop, step)
    check_element_count(count)
    dtype = np.result_type(start, stop, step)
    return np.asarray(start, dtype) + np.arange(count).astype(dtype) * np.asarray(step, dtype)


def check_element_count(count: int) -> None:
    if count > MAX_ELEMENTS:
        raise MemoryError(f"an array of {count} elements")


def repeat_type(x: Type, repeats: Type, axis: object) -> Type:
    check_numeric(x)
    check_numeric(repeats, kinds="iu")
    position, sizes, counts = resolve_axis(axis, x), require_sizes(x), require_sizes(repeats)
    size = sizes[position]
    if len(counts) > 1 or (counts and None not in (counts[0], size) and counts[0] not in (size, 1)):
        message = f"{describe_shapes(counts)} numbers of repeats for axis {position} of shape {describe_shapes(sizes)}"
        raise Invalid(message, required="one number, or one for each element", got=repeats)
    return Type(x.dtype, (*sizes[:position], None, *sizes[position + 1 :]))


def repeat_elements(x: Any, repeats: Any, axis: int) -> int:
    """The size of the result; if that is 0 because of other axes, the sum of the repeats."""
    counts, size = np.asarray(repeats), np.shape(x)[axis]
    other_sizes = np.shape(x)[:axis] + np.shape(x)[axis % np.ndim(x) + 1 :]
    return int(math.prod(filter(None, other_sizes)) * sum_of_counts(counts) * (size if counts.size == 1 else 1))


def sum_of_counts(counts: Any) -> int:
    """The sum of an array of integers, as one of Python. Where it could overflow, the sums of the halves of 32 bits do
    not."""
    largest = max(abs(int(counts.max(initial=0))), abs(int(counts.min(initial=0))))
    if largest * counts.size < 2**63:
        return int(counts.sum())
    wide = counts if counts.dtype == np.uint64 else counts.astype(np.int64)
    return (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())


def repeat_array(x: Any, repeats: Any, axis: int) -> Any:
    check_element_count(repeat_elements(x, repeats, axis))
    return np.repeat(x, np.asarray(repeats).astype(np.int64), axis=axis)  # NumPy takes no uint64


def nonzero_type(x: Type, axis: object) -> Type:
    check_numeric(x)
    resolve_axis(axis, x)
    return Type(dtypes.int64, (None,))


def unique_values_type(x: Type, axis: object = None) -> Type:
    check_numeric(x)
    if axis is None:
        return Type(x.dtype, (None,))
    position, sizes = resolve_axis(axis, x), require_sizes(x)
    return Type(x.dtype, (*sizes[:position], None, *sizes[position + 1 :]))


def unique_indices_type(x: Type, axis: object = None) -> Type:
    unique_values_type(x, axis)
    return Type(dtypes.int64, (None,))


def inverse_indices_type(x: Type, axis: object = None) -> Type:
    check_numeric(x)
    return Type(dtypes.int64, x.shape if axis is None else (require_sizes(x)[resolve_axis(axis, x)],))


def unique_parts(x: Any, axis: int | None = None) -> tuple[Any, Any, Any]:
    """The index of the first occurrence of each unique element, in the order of the elements; for each element, the
    position of its unique element; and the count of each. Every NaN is unique. With an axis the elements are the parts
    of x along it, which are equal where all their numbers are, and in lexicographic order."""
    if axis is None:
        elements = np.ravel(x)
        order = np.argsort(elements, kind="stable")
        ordered = elements[order]
        differs = ordered[1:] != ordered[:-1]
    else:
        elements = np.moveaxis(np.asarray(x), axis, 0)
        rows = elements.reshape(len(elements), math.prod(elements.shape[1:]))
        order = np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))
        ordered = rows[order]
        differs = (ordered[1:] != ordered[:-1]).any(axis=1)
    is_first = np.ones(len(elements), np.bool_)
    is_first[1:] = differs
    inverse = np.zeros(len(elements), np.int64)
    inverse[order] = np.cumsum(is_first.astype(np.int64)) - 1  # of bools, `cumsum` would keep Python's lock
    starts = np.flatnonzero(is_first)
    shape = np.shape(x) if axis is None else inverse.shape
    return order[starts], inverse.reshape(shape), np.diff(np.append(starts, len(elements)))


def unique_values_array(x: Any, axis: int | None = None) -> Any:
    elements = np.ravel(x) if axis is None else np.asarray(x)
    return np.take(elements, unique_parts(x, axis)[0], axis=axis or 0)


def arange_step_adjoint(g: Term, z: Term, start: Term, stop: Term, step: Term) -> Term:
    """Number k of a range contains the step k times."""
    numbers = iota(g.size(axis=None)).astype(dtype=g.type.dtype)
    return numbers.multiply_no_nan(g).sum(axis=None, keepdims=False)


def unique_values_adjoint(g: Term, z: Term, x: Term, axis: int | None = None) -> Term:
    """The adjoint goes to the first of equal elements."""
    if axis is not None:
        return scatter_back("take", g, x, x.unique_indices(axis=axis), axis=axis)
    return zeros_like(x).reshape(shape=(-1,)).scatter_add(g, x.unique_indices()).reshape_like(x)


op(
    "arange",
    arity=3,
    type_rule=arange_type,
    numpy=arange_array,
    result_elements=arange_elements,
    shape_rule=None,
    trap_condition=TrapCondition(is_endless_range, "arange without an end", "iuf"),
    gradient=adjoint_rule(lambda g, z, start, stop, step: g.sum(axis=None, keepdims=False), None, arange_step_adjoint),
    doc="""The numbers start, start + step and so on that come before `stop`, along one axis. Their number is known at
run time, or before if all three are Python numbers. Traps on a step of 0, and on infinite bounds.

>>> tl.arange(2, 8, 3)
asarray([2, 5], dtype=int64)
""",
)
op(
    "repeat",
    arity=2,
    type_rule=repeat_type,
    numpy=repeat_array,
    result_elements=repeat_elements,
    attributes=("axis",),
    shape_rule=None,
    same_dtype_operands=(0, 1),
    trap_condition=TrapCondition(lambda x, repeats, axis: repeats < 0, "fewer than no repeats"),
    gradient=movement_rule("repeat"),
    doc="""Each element along an axis (attribute `axis`) repeated: a number of times for all, or one for each. Traps on
a negative number.

>>> tl.repeat([10, 20], [2, 1]).tolist()
[10, 10, 20]
""",
)
op(
    "nonzero",
    arity=1,
    type_rule=nonzero_type,
    numpy=lambda x, axis: np.nonzero(x)[axis],
    attributes=("axis",),
    shape_rule=None,
    doc="""The indices along an axis (attribute `axis`) of the elements that are not zero, or true, in order, int64. The
function of this name returns those along all axes.

>>> tl.nonzero([0, 5, 7])[0].tolist()
[1, 2]
""",
)
op(
    "unique_values",
    arity=1,
    type_rule=unique_values_type,
    numpy=unique_values_array,
    has_superlinear_work=True,
    attributes=("axis",),
    attribute_defaults={"axis": None},
    optional_attributes=("axis",),
    shape_rule=None,
    gradient=adjoint_rule(unique_values_adjoint),
    doc="""The unique elements, in order; of 0.0 and -0.0 the one that comes first. Every NaN is unique. With an `axis`
the unique parts along it, in lexicographic order.

>>> tl.unique_values([3, 1, 3]).tolist()
[1, 3]
""",
)
op(
    "unique_indices",
    arity=1,
    type_rule=unique_indices_type,
    numpy=lambda x, axis=None: unique_parts(x, axis)[0],
    has_superlinear_work=True,
    attributes=("axis",),
    attribute_defaults={"axis": None},
    optional_attributes=("axis",),
    shape_rule=None,
    doc="""For each of `unique_values(x)`, the index of its first occurrence among the elements of x, int64; with an
`axis`, along it.

>>> tl.unique_indices([3, 1, 3]).tolist()
[1, 0]
""",
)
op(
    "inverse_indices",
    arity=1,
    type_rule=inverse_indices_type,
    numpy=lambda x, axis=None: unique_parts(x, axis)[1],
    has_superlinear_work=True,
    attributes=("axis",),
    attribute_defaults={"axis": None},
    optional_attributes=("axis",),
    shape_rule=None,
    doc="""For each element, its index in `unique_values(x)`, int64; with an `axis`, for each part along it.

>>> tl.inverse_indices([3, 1, 3]).tolist()
[1, 0, 1]
""",
)
op(
    "value_counts",
    arity=1,
    type_rule=unique_indices_type,
    numpy=lambda x, axis=None: unique_parts(x, axis)[2],
    has_superlinear_work=True,
    attributes=("axis",),
    attribute_defaults={"axis": None},
    optional_attributes=("axis",),
    shape_rule=None,
    doc="""For each of `unique_values(x)`, how often it occurs in x, int64.

>>> tl.value_counts([3, 1, 3]).tolist()
[1, 2]
""",
)
