"""The values of a graph that are not arrays: variables, lists of arrays and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.dtypes import DType
from ....core.frontend.array_api.common import type_of
from ..refusals import tl, unsupported
from .tensors import StringArray


@dataclass(frozen=True, slots=True, eq=False)
class VariableHandle:
    """A resource that is a variable; `variable` is None if its value is not known, so that it cannot be used."""

    name: str
    variable: Any = None

    def contents(self) -> Any:
        """The variable of tagloom; raises Unsupported where there is none."""
        if self.variable is None:
            hint = "import a SavedModel or a concrete function, or freeze the graph"
            raise unsupported("construct", f"the graph does not have the value of variable {self.name!r}", hint=hint)
        return self.variable


@dataclass(frozen=True, slots=True)
class TensorList:
    """A list of arrays of one type, as one array. `array` is None while the shape of the elements is unknown; then
    `count` is their number."""

    dtype: DType
    array: Any = None
    count: Any = 0
    is_open: bool = False
    """Whether the array may have size 1 in place of sizes that are known only at run time."""

    @property
    def length(self) -> Any:
        """The number of elements."""
        if self.array is None:
            return self.count
        size = tl.shape(self.array)[0]
        return np.asarray(size, np.int64) if isinstance(size, int) else size

    def with_sizes(self, sizes: Sequence[Any]) -> TensorList:
        """The list with elements of these sizes: zeros, if it has none yet."""
        return self if self.array is not None else TensorList(self.dtype, zeros(self.dtype, self.count, sizes))

    def array_for(self, element: Any) -> Any:
        """The array of the list, with the sizes of a new element."""
        sizes, array = tl.shape(element), self.with_sizes(tl.shape(element)).array
        return tl.broadcast_to(array, (tl.shape(array)[0], *sizes)) if self.is_open else array

    def with_array(self, array: Any) -> TensorList:
        """A list with these elements."""
        return TensorList(self.dtype, array, is_open=self.is_open)


@dataclass(frozen=True, slots=True)
class FormattedText:
    """A text with values: a template, and the operands that replace its placeholders."""

    template: str
    placeholder: str
    operands: tuple[Any, ...]

    def parts(self) -> list[Any]:
        """The pieces of the text, in order."""
        pieces: list[Any] = []
        texts = self.template.split(self.placeholder)
        for position, text in enumerate(texts):
            pieces += [text] if text else []
            pieces += [self.operands[position]] if position < min(len(self.operands), len(texts) - 1) else []
        return pieces


def zeros(dtype: DType, count: Any, sizes: Sequence[Any]) -> Any:
    """An array of zeros: `count` elements of these sizes."""
    if isinstance(count, np.ndarray | np.generic) and all(isinstance(size, int) for size in sizes):
        return np.zeros((max(int(count), 0), *sizes), dtype.numpy)
    return tl.full((as_size(count), *sizes), np.zeros((), dtype.numpy))


def as_size(size: Any) -> Any:
    """A number of elements in a form that functions of arrays take: an int, or a symbolic int64."""
    if isinstance(size, np.ndarray | np.generic):
        return int(size)
    return size if isinstance(size, int) or type_of(size).dtype is tl.int64 else tl.astype(size, tl.int64)


def is_array(value: Any) -> bool:
    """Whether a value is an array, constant or symbolic."""
    return not isinstance(value, VariableHandle | TensorList | FormattedText | StringArray)


def is_constant(value: Any) -> bool:
    """Whether an array is known before the run."""
    return isinstance(value, np.ndarray)


def pack(value: Any, label: str) -> Any:
    """A value in the form that branches and loops carry: a list is its array. `label` names the value in errors."""
    if isinstance(value, TensorList):
        if value.array is None:
            raise unsupported("shape", f"the shape of the elements of {label}, a list of arrays, is unknown")
        return value.array
    if not is_array(value):
        raise unsupported("construct", f"{label} is not an array")
    return value


def unpack(array: Any, like: Any) -> Any:
    """The inverse of `pack`, for a value of the same form as `like`."""
    return like.with_array(array) if isinstance(like, TensorList) else array


def as_predicate(value: Any) -> Any:
    """A condition as one bool: a number is true if it is not 0."""
    type_ = type_of(value)
    number = value if type_.shape == () else tl.reshape(value, ())
    return number if type_.dtype.kind == "b" else tl.not_equal(number, np.asarray(0, type_.dtype.numpy))
