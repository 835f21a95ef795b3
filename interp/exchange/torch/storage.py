"""The memory of tensors while a program is traced. PyTorch's tensors share memory with their views, and operators
change them in place; values of tagloom never change. A storage holds the current value of a tensor, a view computes its
own from that, and a write to a view is a write of the whole tensor to the storage."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.frontend.array_api.common import shape_of
from ....core.frontend.trace.program_builder import suspend_tracing
from ..refusals import tl, unsupported
from .graph import TensorMeta


def contiguous_copies(source: TensorMeta, result: TensorMeta) -> bool | None:
    """Whether `contiguous` copies: unless the elements lie one after the other in memory."""
    if None in (*source.sizes, *source.strides):
        return None
    expected, copies = 1, False
    for size, stride in zip(reversed(source.sizes), reversed(source.strides), strict=True):
        copies |= size != 1 and stride != expected
        expected *= size or 0
    return copies


def conversion_copies(source: TensorMeta, result: TensorMeta) -> bool | None:
    """Whether a conversion copies: if the dtype differs."""
    return source.scalar_type != result.scalar_type


def reshape_copies(source: TensorMeta, result: TensorMeta) -> bool | None:
    """Whether `reshape` copies: unless strides exist for the new shape (`computeStride` in ATen/TensorUtils.cpp). Axes
    whose elements follow each other are joined to chunks; each chunk must be the product of new sizes.

    >>> from tagloom.interp.exchange.torch.graph import ScalarType
    >>> transposed = TensorMeta(ScalarType(7), (3, 2), (1, 3), 0, 7)
    >>> [reshape_copies(transposed, TensorMeta(ScalarType(7), sizes, (), 0, 7)) for sizes in ((6,), (3, 1, 2))]
    [True, False]
    """
    if None in (*source.sizes, *source.strides, *result.sizes):
        return None
    sizes, strides, shape = ([number or 0 for number in part] for part in (source.sizes, source.strides, result.sizes))
    if 0 in sizes or not sizes:
        return False
    axis, base, count, new_count = len(shape) - 1, strides[-1], 1, 1
    for k in reversed(range(len(sizes))):
        count *= sizes[k]
        if k and (sizes[k - 1] == 1 or strides[k - 1] == count * base):
            continue
        while axis >= 0 and (new_count < count or shape[axis] == 1):
            new_count *= shape[axis]
            axis -= 1
        if new_count != count:
            return True
        if k:
            base, count, new_count = strides[k - 1], 1, 1
    return axis != -1


MAX_VIEWS = 100
"""The maximal nesting of views of views."""
MAX_VIEW_ELEMENTS = 2**26
"""The most elements of a tensor that is changed through a view."""


class TensorStorage:
    """A tensor with memory of its own."""

    depth = 0

    def __init__(self, value: Any) -> None:
        self.value, self.version = value, 0
        self.is_maybe_shared = False
        """Whether another tensor is, in PyTorch, perhaps a view of this one, perhaps a copy."""

    @property
    def root(self) -> TensorStorage:
        return self

    def read(self) -> Any:
        """The current value."""
        return self.value

    def write(self, value: Any) -> None:
        """Replace the value; raises Unsupported where it is not known which other tensors change, too."""
        if self.is_maybe_shared:
            message = "this tensor is changed in place, and may share memory with another one"
            raise unsupported("construct", message, hint="call .clone() before, or functionalize the program: "
                              "exported.run_decompositions({})")  # fmt: skip
        self.value, self.version = value, self.version + 1


class TensorView:
    """A view of another tensor: `compute` is the function from the value of that tensor to its own value."""

    def __init__(self, base: TensorStorage | TensorView, compute: Callable[[Any], Any], value: Any) -> None:
        self.base, self.compute, self.value = base, compute, value
        self.root: TensorStorage = base.root
        self.depth: int = base.depth + 1
        self.version = self.root.version
        if self.depth > MAX_VIEWS:
            message = "there are too many views of views"
            raise unsupported("limit", message, required=f"at most {MAX_VIEWS}", hint="call .clone()")

    def read(self) -> Any:
        """The current value."""
        if self.version != self.root.version:
            self.value, self.version = self.compute(self.base.read()), self.root.version
        return self.value

    def write(self, value: Any) -> None:
        """Replace the elements of the base that this view shows."""
        base = self.base.read()
        self.base.write(insert_view(base, value, self.compute))
        self.value, self.version = value, self.root.version


def insert_view(base: Any, value: Any, compute: Callable[[Any], Any]) -> Any:
    """A copy of `base` in which the view by `compute` is `value`. Raises Unsupported for
    sizes that are known only at run time, and for more than MAX_VIEW_ELEMENTS elements.

    A view of an array of consecutive numbers shows which elements, counted in the flat array, the view has.
    """
    shape = shape_of(base)
    if None in shape:
        raise unsupported("shape", "a view of a tensor whose sizes are known only at run time is changed in place")
    sizes = tuple(size or 0 for size in shape)
    if math.prod(sizes) > MAX_VIEW_ELEMENTS:
        message = "a view of a tensor with so many elements is changed in place"
        raise unsupported("limit", message, required=f"at most {MAX_VIEW_ELEMENTS:,} elements", got=sizes)
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    with suspend_tracing():
        positions = np.asarray(compute(numbers))
    flat_positions = positions.reshape(-1)
    if positions.size == numbers.size and np.array_equal(np.sort(flat_positions), numbers.reshape(-1)):
        if np.array_equal(flat_positions, numbers.reshape(-1)):
            return value if positions.shape == sizes else tl.reshape(value, sizes)
        order = np.argsort(flat_positions).reshape(sizes)
        return tl.take(tl.reshape(value, (-1,)), order, axis=0)
    key = slice_of(positions, sizes)
    if key is not None:
        return tl.scatter_index(base, value, key)
    flat = tl.scatter(tl.reshape(base, (-1,)), tl.reshape(value, (-1,)), flat_positions)
    return tl.reshape(flat, sizes)


def slice_of(positions: np.ndarray[Any, Any], sizes: tuple[int, ...]) -> tuple[Any, ...] | None:
    """The key of Python that selects the elements at these flat positions of an array, if there is one with integers
    and slices of step 1 whose result has the shape of the positions."""
    if positions.size == 0:
        return None
    grid = np.unravel_index(positions.reshape(-1), sizes)
    key: list[Any] = []
    shape: list[int] = []
    for axis, numbers in enumerate(grid):
        first, last = int(numbers.min()), int(numbers.max())
        dropped_axes = len(sizes) - axis - (positions.ndim - len(shape))
        if first == last and dropped_axes > 0:
            key.append(first)
        else:
            key.append(slice(first, last + 1))
            shape.append(last + 1 - first)
    selected_positions = np.arange(math.prod(sizes)).reshape(sizes)[tuple(key)]
    return tuple(key) if np.array_equal(selected_positions, positions) else None
