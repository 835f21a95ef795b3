"""Kernels: their results share no memory, and float32 is computed directly only if that changes no bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.array_rows import Attributes, cases
from support.generators.edges import EDGES
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS, Op, build_kernel, trap_message
from tagloom.core.types import type_of
from tagloom.core.value import admit, is_same_value

each_row = pytest.mark.parametrize("row", OPS.values(), ids=lambda row: row.name)


def is_defined(row: Op, operands: Sequence[Any], attributes: Attributes) -> bool:
    """Whether an op accepts these operands and has a value for them that fits in memory."""
    try:
        row.type_rule(*map(type_of, operands), **dict(attributes))
        return trap_message(row, tuple(operands), attributes) is None
    except (tl.Invalid, MemoryError):
        return False


@pytest.mark.inner(first=25)
@each_row
def test_results_share_no_memory(row: Op) -> None:
    """The result of a kernel shares no elements with its operands, to which somebody may write."""
    for _, operands, attributes in cases(row, 10):
        given = [np.array(each) if np.ndim(each) else each for each in operands]
        kinds = list(map(type_of, given))
        if not is_defined(row, given, attributes):
            continue
        result = build_kernel(row, kinds, row.type_rule(*kinds, **dict(attributes)), attributes)(*given)
        assert not any(np.shares_memory(result, each) for each in given if np.ndim(each) and np.ndim(result))
        assert all(each.flags.writeable for each in given if np.ndim(each))


def narrowed(operand: Any, moved: float) -> Any:
    """The floats as float32, slightly changed."""
    array = np.asarray(operand)
    with np.errstate(over="ignore"):
        other = array + moved * np.random.default_rng(0).normal(size=array.shape)
        return admit(other.astype(np.float32)) if array.dtype.kind == "f" else operand


def operands_for(row: Op) -> Iterator[tuple[list[Any], Attributes]]:
    """Operands of float32: any floats, ordinary ones and edge values, or those of the laws of rows."""
    if row.scalar is None:
        for _, operands, attributes in cases(row, 100):
            yield from (([narrowed(each, moved) for each in operands], attributes) for moved in (0.0, 1.0))
        return
    dice, count = np.random.default_rng(0), row.arity or 3
    bits = dice.integers(0, 2**32, (count, 4096), np.uint64).astype(np.uint32).view(np.float32)
    edges = np.array(np.meshgrid(*[EDGES[dtypes.float32]] * count), np.float32).reshape(count, -1)
    for numbers in (bits, dice.normal(size=bits.shape).astype(np.float32), edges):
        yield [numbers[0] > 0, *numbers[1:]] if row.name == "where" else list(numbers), ()


def differs(row: Op) -> bool:
    """Whether a row that computes float32 directly has other bits than float64 with rounding."""
    for operands, attributes in operands_for(row):
        kinds = list(map(type_of, operands))
        if is_defined(row, operands, attributes):
            type_ = row.type_rule(*kinds, **dict(attributes))
            ways = (
                build_kernel(each, kinds, type_, attributes)
                for each in (row, replace(row, has_innocuous_rounding=False, is_data_movement=False))
            )
            if not is_same_value(*(way(*operands) for way in ways)):
                return True
    return False


@pytest.mark.inner(first=17)
@pytest.mark.parametrize(
    "row", [row for row in OPS.values() if row.has_innocuous_rounding or row.is_data_movement], ids=lambda row: row.name
)
def test_rounding_twice_is_innocuous(row: Op) -> None:
    """Rows that declare it compute float32 to the bits of float64 with rounding, on any floats and on edge values."""
    assert not differs(row)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    "row", [row for row in OPS.values() if row.is_data_movement or row.specialize_numpy], ids=lambda row: row.name
)
def test_fast_kernels_agree(row: Op) -> None:
    """Rows that only move elements declare nothing about floats. A kernel made for given attributes agrees with the
    column, and so does a kernel whose results may share elements, which are read-only."""
    for operands, attributes in operands_for(row):
        kinds = list(map(type_of, operands))
        if is_defined(row, operands, attributes):
            type_ = row.type_rule(*kinds, **dict(attributes))
            wanted = build_kernel(
                replace(row, specialize_numpy=None, is_data_movement=False), kinds, type_, attributes
            )(*map(admit, operands))
            with np.errstate(all="raise" if row.is_data_movement else "warn"):
                actual = [
                    build_kernel(row, kinds, type_, attributes, may_alias=each)(*map(admit, operands))
                    for each in (False, True)
                ]
            assert all(is_same_value(each, wanted) for each in actual)
            assert not any(isinstance(each, np.ndarray) and each.flags.writeable for each in actual)


@pytest.mark.parametrize("name", ["exp", "floor_divide", "pow", "log1p", "sum", "prod"])
def test_wrong_claims_about_rounding_are_caught(name: str) -> None:
    """A row that declares it wrongly is caught."""
    assert differs(replace(OPS[name], has_innocuous_rounding=True))
