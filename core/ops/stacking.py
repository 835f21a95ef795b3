"""Kernels of ops on stacks of operands: many firings of an op, on operands of the same types, as one call of NumPy.

Each element of the result has the bits that the op computes for the elements of the stacks alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dtypes import DType
from ..types import Type
from .op import Attributes, Kernel, Op, Stacking, build_kernel


class StackedKernel(NamedTuple):
    """An op on stacks of operands."""

    stacking: Stacking
    compute: Kernel
    operands: tuple[Type, ...]
    """The types of the operands without the axis of the stack."""
    result: Type

    def __call__(self, count: int, *operands: Any) -> npt.NDArray[Any]:
        """A stack of results. An operand is a stack of this many arrays; an array, which is the same for all of them;
        or a scalar likewise."""
        aligned = map(self._align, self.operands, self.stacking.ranks, operands, [count] * len(operands))
        result: Any = self.compute(*aligned)
        return result.reshape((count, *(self.result.shape or ())))  # type: ignore[no-any-return]

    def _align(self, type_: Type, rank: int, operand: Any, count: int) -> Any:
        shape: Any = type_.shape
        if not shape:
            return operand
        is_stack = operand.ndim > len(shape)
        padding = (1,) * (rank - len(shape))
        if padding or not is_stack:
            operand = operand.reshape(count if is_stack else 1, *padding, *shape)
        if not is_stack and not self.stacking.broadcasts:
            return np.broadcast_to(operand, (count, *padding, *shape))
        return operand


def build_stacked_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes
) -> StackedKernel | None:
    """The kernel of an op on stacks of operands of these types, all of whose sizes are known; None if the op does not
    compute stacks."""
    if row.stacking is not None:
        stacking = row.stacking(*operands, **dict(attributes))
    elif row.scalar is not None:
        stacking = Stacking((len(result.shape or ()),) * len(operands), dict(attributes))
    else:
        stacking = None
    if stacking is None or not math.prod(result.shape or ()):  # type: ignore[arg-type]  # all sizes are known
        return None
    types = [
        type_ if type_.is_scalar else _stack_type(type_.dtype, rank)
        for type_, rank in zip(operands, stacking.ranks, strict=True)
    ]
    stack_result = _stack_type(result.dtype, max(len(result.shape or ()), *stacking.ranks))
    compute = build_kernel(row, types, stack_result, tuple(stacking.attributes.items()))
    return StackedKernel(stacking, compute, tuple(operands), result)


def _stack_type(dtype: DType, rank: int) -> Type:
    return Type(dtype, (None,) * (rank + 1))
