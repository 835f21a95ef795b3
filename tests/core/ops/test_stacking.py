"""Kernels on stacks: each element of a result has the bits that the op computes alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.generators.array_rows import arities, attributes
from support.generators.edges import EDGES
from tagloom.core import dtypes
from tagloom.core.errors import Invalid
from tagloom.core.ops.op import OPS, Op, build_kernel, dynamic_size_count, trap_message
from tagloom.core.ops.stacking import StackedKernel, build_stacked_kernel
from tagloom.core.types import Type
from tagloom.core.value import admit, fingerprint

SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((), (3,)),
    ((3,),),
    ((5,),),
    ((1,),),
    ((2, 3),),
    ((3,), (2, 3)),
    ((3,), (3, 5)),
    ((1, 3), (3, 5)),
    ((67,), (67, 33)),
    ((3, 3),),
)
"""The shapes that operands of a row take in turns."""
DTYPES = (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.int8, dtypes.bool)
COUNTS = (1, 2, 7, 33)
"""The numbers of elements of stacks: more and fewer than the registers of processors hold."""
STACKED = [row.name for row in OPS.values() if row.stacking is not None or row.scalar is not None]


def stacked_forms(row: Op) -> Iterator[tuple[StackedKernel, Any]]:
    """Kernels on stacks of a row, with the kernel for operands alone."""
    for row_attributes in attributes(row):
        if dynamic_size_count(row, dict(row_attributes)):
            continue
        for arity in arities(row, row_attributes):
            for shapes in SHAPES:
                for dtype in DTYPES:
                    types = tuple(Type(dtype, shapes[position % len(shapes)]) for position in range(arity))
                    if row.name == "where":
                        types = (Type(dtypes.bool, types[0].shape), *types[1:])
                    try:
                        result = row.type_rule(*types, **dict(row_attributes))
                    except Invalid:
                        continue
                    if result.is_scalar:
                        continue
                    kernel = build_stacked_kernel(row, types, result, row_attributes)
                    if kernel is not None:
                        yield kernel, build_kernel(row, types, result, row_attributes)


def draw_operand(draw: np.random.Generator, type_: Type, count: int) -> list[Any]:
    """Values of a type: numbers around 0, a quarter of them edges of the dtype."""
    size = count * math.prod(type_.shape or ())  # type: ignore[arg-type]
    edges = np.array(EDGES[type_.dtype], type_.dtype.numpy)
    numbers = (draw.standard_normal(size) * 3).astype(type_.dtype.numpy)
    numbers = np.where(draw.random(size) < 0.25, draw.choice(edges, size), numbers)
    return [admit(part.reshape(type_.shape)[()], type_) for part in np.split(numbers, count)]  # type: ignore[arg-type]


@pytest.mark.full
@pytest.mark.parametrize("name", STACKED)
def test_stacks_have_the_bits_of_single_operands(name: str) -> None:
    """A kernel on a stack of operands, some of them the same for the whole stack, computes for each element the bits of
    the kernel for one."""
    row, draw = OPS[name], np.random.default_rng(1)
    for kernel, alone in stacked_forms(row):
        for count in COUNTS:
            for shared in range(-1, len(kernel.operands)):
                columns = [
                    draw_operand(draw, type_, 1) * count
                    if position == shared or type_.is_scalar
                    else draw_operand(draw, type_, count)
                    for position, type_ in enumerate(kernel.operands)
                ]
                if all(column[0] is column[-1] for column in columns):
                    continue
                singles = list(zip(*columns, strict=True))
                if any(trap_message(row, operands, tuple(kernel.stacking.attributes.items())) for operands in singles):
                    continue
                stacks = [
                    column[0] if position == shared or type_.is_scalar else np.stack(column)
                    for position, (column, type_) in enumerate(zip(columns, kernel.operands, strict=True))
                ]
                for one, operands in zip(kernel(count, *stacks), singles, strict=True):
                    assert fingerprint(admit(one)) == fingerprint(alone(*operands)), (name, kernel.operands, operands)


def test_which_ops_have_kernels_on_stacks() -> None:
    """Sums may be added in another order in a stack, and products of matrices may call another function of BLAS: these
    have no kernels on stacks. A row times a matrix has one."""
    vector, matrix = Type(dtypes.float64, (3,)), Type(dtypes.float64, (3, 3))
    assert build_stacked_kernel(OPS["sum"], (matrix,), vector, (("axis", 0), ("keepdims", False))) is None
    assert build_stacked_kernel(OPS["matmul"], (matrix, matrix), matrix, ()) is None
    assert build_stacked_kernel(OPS["matmul"], (vector, matrix), vector, ()) is not None
