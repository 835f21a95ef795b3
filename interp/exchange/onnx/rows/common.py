"""Helpers of rows of several families."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from ...operands import axis_position, known_sizes
from ..interpreter import dtype_of_element
from ..operators import require, tl, unsupported
from ..storage import carrier_of, cast_to_storage, storage_type

__all__ = [
    "COST",
    "axis_position",
    "cast_to_element",
    "check_room",
    "dtype_of",
    "integers",
    "known_sizes",
    "numeric",
    "rank_of",
    "require",
    "scalar",
    "shape_of",
    "to_dtype",
    "type_of",
]

MAX_ELEMENTS = 2**26
"""The most elements of an array that a row makes before the run, such as the weights of a resized axis."""
COST = 256
"""The number of elements whose cost is that of an iteration of Python, or of a node."""


def dtype_of(x: Any) -> DType:
    """The dtype of an operand."""
    return type_of(x).dtype


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


def numeric(value: float, x: Any) -> Any:
    """A number in the dtype of an operand."""
    return np.asarray(value, dtype_of(x).numpy)


def check_room(*sizes: int) -> None:
    """Raises Unsupported for sizes of an array of more than MAX_ELEMENTS that a row would make before the run."""
    if any(size < 0 for size in sizes) or math.prod(sizes) > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements"
        raise unsupported("limit", "this operator needs a table that is too large", required=required, got=sizes)
