"""What families share: type rules, which say what an op asks of its operands' types and the type it makes, and scalar
columns that depend on them."""

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
    """Operands of these kinds (b, i for integers of both signs, f), broadcast and promoted; the result has the
    promoted dtype, or `result`."""

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
    """The dtype that these operands promote to. Kinds do not mix by themselves: the Array API leaves that open."""
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
    """A scalar column with a function of its own for integers."""
    chosen = ScalarFunction(integer_function, further), ScalarFunction(fallback)
    return ScalarByDtype(lambda operand, result: chosen[0 if result.is_integer else 1])


def short_symbol(name: str) -> str:
    """The symbol of an op that is known by its name: that, if it is as short as a symbol."""
    return name if len(name) <= 4 else ""


def rounding_bound(count: int, size: Any, *operands: Any) -> Any:
    """How far a sum of so many products may be from the exact one; `size` is that of their absolute values."""
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
