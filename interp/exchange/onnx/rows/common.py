"""What rows of several families use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from ..interpreter import dtype_of_element
from ..operators import tl, unsupported

__all__ = ["dtype_of", "integers", "known_sizes", "numeric", "rank_of", "scalar", "shape_of", "to_dtype", "type_of"]


def dtype_of(x: Any) -> DType:
    """The dtype of an operand."""
    return type_of(x).dtype


def to_dtype(x: Any, element: int | DType) -> Any:
    """An operand in the dtype of an element type of ONNX, or in a dtype."""
    dtype = dtype_of_element(element) if isinstance(element, int) else element
    return x if dtype_of(x) is dtype else tl.astype(x, dtype)


def integers(constant: Any) -> tuple[int, ...]:
    """The integers of a constant operand or an attribute."""
    return tuple(int(each) for each in np.asarray(constant).reshape(-1))


def scalar(x: Any) -> Any:
    """An operand of one element, without axes."""
    if isinstance(x, np.ndarray):
        return x.reshape(())
    return x if type_of(x).shape == () else tl.reshape(x, ())


def known_sizes(x: Any, axes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The sizes of an operand, along some axes or all; raises Unsupported for one that only the run knows."""
    shape = shape_of(x)
    sizes = shape if axes is None else [shape[axis] for axis in axes]
    if any(size is None for size in sizes):
        raise unsupported("shape", "sizes must be known here before the run", got=type_of(x))
    return tuple(size for size in sizes if size is not None)


def numeric(value: float, x: Any) -> Any:
    """A number in the dtype of an operand."""
    return np.asarray(value, dtype_of(x).numpy)
