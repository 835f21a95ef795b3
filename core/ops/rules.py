"""Helpers that families of ops share: type rules of elementwise ops, scalar columns that depend on dtypes, error
bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType, promote
from ..errors import Invalid
from ..types import Type, broadcast_shape
from .op import ScalarByDtype, ScalarFunction, TypeRule

_KIND_NAMES = {"b": "bool", "i": "an integer dtype", "f": "float32 or float64"}


def elementwise_type_rule(kinds: str, result: DType | None = None) -> TypeRule:
    """The type rule of an op whose operands, of these kinds (b, i for integers of both signs, f), broadcast and
    promote. The result has the promoted dtype, or `result`."""

    def rule(*operands: Type) -> Type:
        dtype = promote_operands(operands)
        if dtype.kind.replace("u", "i") not in kinds:
            raise Invalid(
                "operands of the wrong kind",
                required=" or ".join(_KIND_NAMES[kind] for kind in kinds),
                got=", ".join(map(str, operands)),
                hint=_convert_hint(dtype, kinds),
            )
        return Type(result or dtype, broadcast_shape([operand.shape for operand in operands]))

    return rule


def promote_operands(operands: Sequence[Type]) -> DType:
    """The dtype to which the operands promote; raises Invalid for operands of different kinds, which do not promote."""
    dtype: DType | None = operands[0].dtype
    for operand in operands[1:]:
        dtype = dtype and promote(dtype, operand.dtype)
    if dtype is None:
        raise Invalid(
            "operands of different dtypes",
            required="dtypes that promote to one: of one kind, or integers that a signed one holds",
            got=", ".join(map(str, operands)),
            hint="convert one with tl.astype(x, dtype)",
        )
    return dtype


def scalar_by_kind(integer_function: Callable[..., Any], *further: Any, fallback: Callable[..., Any]) -> ScalarByDtype:
    """A scalar column with one function for integers, and one for other dtypes."""
    chosen = ScalarFunction(integer_function, further), ScalarFunction(fallback)
    return ScalarByDtype(lambda operand, result: chosen[0 if result.is_integer else 1])


def short_symbol(name: str) -> str:
    """The name of an op as its symbol, if it is short enough."""
    return name if len(name) <= 4 else ""


def rounding_bound(count: int, size: Any, *operands: Any) -> Any:
    """The error bound of a sum of `count` terms, where `size` is the sum of their absolute values."""
    kinds = np.result_type(*operands)
    if kinds.kind != "f":
        return np.zeros_like(size)
    return (count * 2.0**-53 + (2.0**-24 if kinds == np.float32 else 0.0)) * size


def _convert_hint(dtype: DType, kinds: str) -> str:
    if dtype.is_integer and "f" in kinds:
        return "convert with tl.astype(x, tl.float64); for integer division write x // y"
    if dtype is dtypes.bool:
        return f"convert with tl.astype(x, tl.{'int64' if 'i' in kinds else 'float64'})"
    return "compare first, or convert with tl.astype"
