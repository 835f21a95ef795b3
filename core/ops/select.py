"""Choosing and converting: ops that compute nothing new from their operands' values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid
from ..op import op
from ..types import Type, join_shapes
from . import guarded
from .rules import common_dtype


def _where(condition: Type, x: Type, y: Type) -> Type:
    if condition.dtype is not dtypes.bool:
        hint = "compare first, or convert with tl.astype(x, tl.bool)"
        raise Invalid("the condition of where is no bool", required="bool", got=condition, hint=hint)
    return Type(common_dtype((x, y)), join_shapes([condition.shape, x.shape, y.shape]))


def _same(x: Type) -> Type:
    return x


def _converted(x: Type, dtype: DType) -> Type:
    return Type(dtype, x.shape)


_CONVERT: dict[str, Callable[[Any], Any]] = {"b": lambda x: x != 0, "i": guarded.to_int64, "f": float}


def _convert_array(x: Any, dtype: DType) -> Any:
    """NumPy leaves NaN and numbers out of the range of integers to the machine; the row does not."""
    array = np.asarray(x)
    if array.dtype.kind != "f" or dtype is not dtypes.int64:
        return array.astype(dtype.numpy)
    inside = np.where(np.abs(array) < 2.0**63, array, 0.0).astype(np.int64)
    highest, lowest = np.int64(2**63 - 1), np.int64(-(2**63))
    return np.where(array >= 2.0**63, highest, np.where(array <= -(2.0**63), lowest, inside))


where = op(
    "where",
    arity=3,
    types=_where,
    numpy=np.where,
    scalar=lambda condition, x, y: x if condition else y,
    doc="""x where the condition holds, else y. All three are computed; `tl.cond` computes only one side.

>>> tl.where(True, 1, 2)
1
""",
)
identity = op(
    "identity",
    arity=1,
    types=_same,
    numpy=lambda x: x,
    scalar=lambda x: x,
    doc="""The value itself. In a graph it gives a literal a token of its own.

>>> tl.identity(3)
3
""",
)
astype = op(
    "astype",
    arity=1,
    types=_converted,
    numpy=_convert_array,
    scalar=lambda x, dtype: _CONVERT[dtype.kind](x),
    attributes=("dtype",),
    doc="""x as another dtype (attribute `dtype`).

To int64 toward zero; beyond int64 the nearest int64, and NaN gives 0. To float64 rounded to the nearest.
To bool: whether it is not zero; NaN is not zero.

>>> tl.astype(-2.7, tl.int64)
-2
""",
)
