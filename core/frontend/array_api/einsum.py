"""Einstein summation: `einsum`. Operands are contracted from left to right, two at a time, by `matmul`."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

from ...errors import Invalid, Usage
from ..eager.apply import apply
from ..trace.source_location import user_location
from .common import check_numeric, rank_of, shape_of
from .linalg import diagonal
from .manipulation import expand_dims, permute_dims, reshape
from .numeric import sum as total

FIRST_ELLIPSIS_LABEL = 0x110000 - 64
"""The code point of the first label for the axes of an ellipsis; subscripts never contain these characters."""


class LabelledArray(NamedTuple):
    """An array with a label for each axis; no label occurs twice."""

    array: Any
    labels: tuple[str, ...]


def einsum(subscripts: str, /, *operands: Any) -> Any:
    """The sum of products that `subscripts` describe, as in NumPy: "ij,jk->ik" is a matrix product. Each operand has a
    letter for each axis; the result has the letters after the arrow or, without an arrow, those that occur once, in
    alphabetical order. `...` stands for axes that broadcast. The dtype is that of the operands' product.

    Raises Usage if the subscripts cannot be read, and Invalid if they do not fit the operands.

    >>> einsum("ij,j->i", [[1, 2], [3, 4]], [10, 1]).tolist()
    [12, 34]
    >>> int(einsum("ii", [[1, 2], [3, 4]]))
    5
    """
    inputs, result = read_subscripts(subscripts, operands)
    sizes: dict[str, int | None] = {}
    arrays = []
    for labels, operand in zip(inputs, operands, strict=True):
        check_numeric(operand)
        for label, size in zip(labels, shape_of(operand), strict=True):
            known_size = sizes.get(label)
            if _is_ellipsis(label) and 1 in (known_size, size):
                sizes[label] = size if known_size in (None, 1) else known_size
            else:
                sizes[label] = _check_size(label, known_size, size)
        arrays.append(_take_diagonals(LabelledArray(operand, labels)))
    product = arrays[0]
    for position, right in enumerate(arrays[1:], 1):
        later_labels = {label for labels in inputs[position + 1 :] for label in labels} | set(result)
        product = _contract(product, right, later_labels)
    product = _sum_labels(product, set(product.labels) - set(result))
    return (
        permute_dims(product.array, tuple(product.labels.index(label) for label in result)) if result else product.array
    )


def read_subscripts(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The labels of each operand and of the result. An ellipsis becomes labels that no text contains, the last axis
    first, so that the ellipses of several operands broadcast."""
    if not isinstance(subscripts, str) or not operands:
        required = 'as in tl.einsum("ij,jk->ik", a, b)'
        raise Usage(
            "einsum needs subscripts and operands", where=user_location(), required=required, got=repr(subscripts)
        )
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    parts = inputs.split(",")
    for part in [*parts, output]:
        letters = part.replace("...", "", 1)
        if not all(letter.isascii() and letter.isalpha() for letter in letters):
            required = "ASCII letters, one ... an operand, commas, and at most one arrow"
            raise Usage(
                "einsum cannot read its subscripts", where=user_location(), required=required, got=repr(subscripts)
            )
    if len(parts) != len(operands):
        required, got = f"{len(parts)}, as {subscripts!r} says", len(operands)
        raise Invalid("the number of operands is wrong", rule="V4", where=user_location(), required=required, got=got)
    labelled = [_label_axes(part, rank_of(operand)) for part, operand in zip(parts, operands, strict=True)]
    broadcast = sorted({label for labels in labelled for label in labels if _is_ellipsis(label)}, reverse=True)
    if not arrow:
        count = Counter(label for labels in labelled for label in labels if not _is_ellipsis(label))
        return labelled, (*broadcast, *sorted(label for label, times in count.items() if times == 1))
    prefix, dots, suffix = output.partition("...")
    result = (*prefix, *(broadcast if dots else ()), *suffix)
    unknown_labels = [label for label in result if not any(label in labels for labels in labelled)]
    if unknown_labels or len(set(result)) < len(result):
        required = "labels of operands, each once"
        raise Usage("einsum cannot form this result", where=user_location(), required=required, got=repr(output))
    return labelled, result


def _label_axes(part: str, rank: int) -> tuple[str, ...]:
    prefix, dots, suffix = part.partition("...")
    extra = rank - len(prefix) - len(suffix)
    if extra < 0 or (extra and not dots):
        required = f"{len(part.replace('...', ''))} axes{' or more' if dots else ''}, as {part!r} says"
        raise Invalid(
            "an operand has the wrong number of axes", rule="V4", where=user_location(), required=required, got=rank
        )
    return (*prefix, *(chr(FIRST_ELLIPSIS_LABEL + axis) for axis in reversed(range(extra))), *suffix)


def _is_ellipsis(label: str) -> bool:
    return ord(label) >= FIRST_ELLIPSIS_LABEL


def _check_size(label: str, first: int | None, second: int | None) -> int | None:
    if None not in (first, second) and first != second:
        required, got = f"one size for each axis {label!r}", f"{first} and {second}"
        raise Invalid("the sizes of an axis differ", rule="V4", where=user_location(), required=required, got=got)
    return second if first is None else first


def _take_diagonals(operand: LabelledArray) -> LabelledArray:
    """The operand with each repeated label replaced by one axis, the diagonal."""
    array, labels = operand
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        other_axes = [axis for axis in range(len(labels)) if axis not in (first, second)]
        array = diagonal(permute_dims(array, (*other_axes, first, second)))
        labels = (*(labels[axis] for axis in other_axes), label)
    return LabelledArray(array, labels)


def _sum_labels(operand: LabelledArray, labels: set[str]) -> LabelledArray:
    axes = tuple(axis for axis, label in enumerate(operand.labels) if label in labels)
    if not axes:
        return operand
    return LabelledArray(
        total(operand.array, axis=axes), tuple(label for label in operand.labels if label not in labels)
    )


def _contract(left: LabelledArray, right: LabelledArray, later_labels: set[str]) -> LabelledArray:
    """The product of two operands, summed over the labels that are not needed later."""
    left = _sum_labels(left, set(left.labels) - set(right.labels) - later_labels)
    right = _sum_labels(right, set(right.labels) - set(left.labels) - later_labels)
    common_labels = [label for label in left.labels if label in right.labels]
    summed_labels = [label for label in common_labels if label not in later_labels]
    batch_labels = [label for label in common_labels if label in later_labels]
    rows = [label for label in left.labels if label not in common_labels]
    columns = [label for label in right.labels if label not in common_labels]
    left_sizes = dict(zip(left.labels, shape_of(left.array), strict=True))
    right_sizes = dict(zip(right.labels, shape_of(right.array), strict=True))
    is_stretched = any(_is_ellipsis(label) and left_sizes[label] != right_sizes[label] for label in common_labels)
    if None in (*left_sizes.values(), *right_sizes.values()) or is_stretched or not summed_labels:
        labels = (*batch_labels, *rows, *columns, *summed_labels)
        product = apply("multiply", _align(left, labels), _align(right, labels))
        return _sum_labels(LabelledArray(product, labels), set(summed_labels))
    shape = [left_sizes[label] for label in batch_labels]
    height, depth = (math.prod(left_sizes[label] or 0 for label in group) for group in (rows, summed_labels))
    width = math.prod(right_sizes[label] or 0 for label in columns)
    left_matrix = reshape(_align(left, (*batch_labels, *rows, *summed_labels)), (*shape, height, depth))
    right_matrix = reshape(_align(right, (*batch_labels, *summed_labels, *columns)), (*shape, depth, width))
    product = apply("matmul", left_matrix, right_matrix)
    final_shape = [*shape, *(left_sizes[label] for label in rows), *(right_sizes[label] for label in columns)]
    return LabelledArray(reshape(product, tuple(final_shape)), (*batch_labels, *rows, *columns))


def _align(operand: LabelledArray, labels: tuple[str, ...]) -> Any:
    """The array with its axes in the order of these labels, and axes of size 1 for the labels it does not have."""
    present_labels = [label for label in labels if label in operand.labels]
    array = (
        permute_dims(operand.array, tuple(map(operand.labels.index, present_labels)))
        if present_labels
        else operand.array
    )
    new_axes = tuple(axis for axis, label in enumerate(labels) if label not in operand.labels)
    return expand_dims(array, axis=new_axes) if new_axes else array
