"""Helpers of rows of several families."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from ...operands import axis_position, check_table_size, dtype_of, known_sizes, scalar_like
from ..interpreter import dtype_of_element
from ..operators import require, tl
from ..storage import carrier_of, cast_to_storage, storage_type

__all__ = [
    "COST",
    "axis_position",
    "cast_to_element",
    "check_table_size",
    "dtype_of",
    "integers",
    "known_sizes",
    "rank_of",
    "require",
    "scalar",
    "scalar_like",
    "shape_of",
    "to_dtype",
    "type_of",
]

COST = 256
"""The number of elements that cost as much as an iteration of Python, or a node."""


def to_dtype(x: Any, element: int | DType) -> Any:
    """An operand in the dtype of an element type of ONNX, or in a dtype."""
    dtype = dtype_of_element(element) if isinstance(element, int) else element
    return x if dtype_of(x) is dtype else tl.astype(x, dtype)


def cast_to_element(x: Any, element: int, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """An operand, which may be of a storage type, as one of an element type of ONNX."""
    storage = storage_type(element)
    if storage is None:
        return to_dtype(carrier_of(x), element)
    return cast_to_storage(x, storage, saturate=bool(saturate), round_mode=round_mode)


def integers(constant: Any) -> tuple[int, ...]:
    """The integers of a constant operand or an attribute."""
    return tuple(int(number) for number in np.asarray(constant).reshape(-1))


def scalar(x: Any) -> Any:
    """An operand of one element, without axes."""
    if isinstance(x, np.ndarray):
        return x.reshape(())
    return x if type_of(x).shape == () else tl.reshape(x, ())
