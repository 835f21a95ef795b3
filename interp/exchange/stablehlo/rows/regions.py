"""Recognition, before the run, of the computation of a region for scalars: one operation, the search for an extreme
element, or an order of elements."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.trace.program_builder import suspend_tracing
from ..interpreter import HloRegion
from ..module import OperationBlock, constant_elements

ORDERING = frozenset({
    "stablehlo.and", "stablehlo.compare", "stablehlo.constant", "stablehlo.maximum", "stablehlo.minimum",
    "stablehlo.not", "stablehlo.or", "stablehlo.return", "stablehlo.select", "stablehlo.xor",
})  # fmt: skip
"""Operations whose results depend on their operands' order alone."""


def single_operations(block: OperationBlock) -> list[str] | None:
    """For a block of pairs of parameters, the k-th and the (n + k)-th: the operation that each result applies to its
    pair, without its dialect. None for another block."""
    count = len(block.results)
    producers = {operation.results[0]: operation for operation in block.operations if len(operation.results) == 1}
    names = []
    for index, result in enumerate(block.results):
        producer = producers.get(result)
        if producer is None or len(block.parameters) != 2 * count:
            return None
        if set(producer.operands) != {block.parameters[index], block.parameters[count + index]}:
            return None
        names.append(producer.name.removeprefix("stablehlo."))
    return names if len(block.operations) == count + 1 else None


def depends_on_order(block: OperationBlock) -> bool:
    """Whether the results of a block depend only on the order of its parameters, of 0 and of NaN."""
    block_values = {*block.parameters, *(result for operation in block.operations for result in operation.results)}
    for operation in block.operations:
        if operation.name not in ORDERING or not block_values.issuperset(operation.operands):
            return False
        if operation.name == "stablehlo.constant":
            elements, _ = constant_elements(operation.attributes["value"])
            if elements.dtype.kind == "f" and not np.all((elements == 0) | np.isnan(elements)):
                return False
            if elements.dtype.kind != "f" and np.any(elements != 0):
                return False
    return True


def sample_numbers(dtype: DType) -> list[Any]:
    """Numbers of a dtype that occur in every order relative to each other, 0 and NaN."""
    if dtype.kind == "f":
        return [-math.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf, math.nan]
    return [False, True] if dtype.kind == "b" else [0, 1, 2] if dtype.kind == "u" else [-2, -1, 0, 1, 2]


def evaluate_rows(region: HloRegion, columns: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """The results of a region for each row of columns of constants."""
    with suspend_tracing():
        return list(map(np.asarray, region.lift(*columns)))


def chooses_largest(region: HloRegion, dtype: DType, index_dtype: DType) -> bool | None:
    """Whether a region of (value, index, value, index), the first index before the second, chooses the largest value,
    the first of equals, and NaN before all; False for the smallest, None for another region."""
    if len(region.block.parameters) != 4 or not depends_on_order(region.block) or dtype.kind == "b":
        return None
    rows = list(itertools.product(sample_numbers(dtype), sample_numbers(dtype), [(0, 1), (1, 2), (0, 2)]))
    first, second = (np.array([row[k] for row in rows], dtype.numpy) for k in (0, 1))
    indices = [np.array([row[2][k] for row in rows], index_dtype.numpy) for k in (0, 1)]
    values, numbers = evaluate_rows(region, [first, indices[0], second, indices[1]])
    for largest in (True, False):
        is_first = ((first >= second) if largest else (first <= second)) | np.isnan(first.astype(np.float64))
        selected_indices = np.where(is_first, first, second)
        if np.array_equal(values, selected_indices, equal_nan=dtype.kind == "f") and np.array_equal(
            numbers, np.where(is_first, indices[0], indices[1])
        ):
            return largest
    return None


def sorts_descending(region: HloRegion, dtype: DType) -> bool | None:
    """Whether a comparator orders by its first pair of parameters from the largest down, NaN first; False for from the
    smallest up, NaN last; None for another one. A comparison that NaN makes false in both orders may be either."""
    block = region.block
    operands = {operand for operation in block.operations for operand in operation.operands}
    if not depends_on_order(block) or operands & set(block.parameters[2:]):
        return None
    rows = list(itertools.product(sample_numbers(dtype), sample_numbers(dtype)))
    first, second = (np.array([row[k] for row in rows], dtype.numpy) for k in (0, 1))
    extra_operands = [np.zeros(len(rows), np.int32)] * (len(block.parameters) - 2)
    (comes_first,) = evaluate_rows(region, [first, second, *extra_operands])
    is_nan = np.isnan(first.astype(np.float64)), np.isnan(second.astype(np.float64))
    has_nan = is_nan[0] | is_nan[1]
    ascending = np.where(has_nan, ~is_nan[0] & is_nan[1], first < second)
    descending = np.where(has_nan, is_nan[0] & ~is_nan[1], first > second)
    for answer, order in ((False, ascending), (True, descending)):
        if np.array_equal(comes_first, order) or np.array_equal(comes_first, order & ~has_nan):
            return answer
    return None
