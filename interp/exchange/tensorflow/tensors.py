"""TensorFlow's dtypes, shapes, arrays and attributes as tagloom's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core import dtypes
from ....core.dtypes import DType
from ....core.errors import Malformed
from ..refusals import unsupported
from .messages import DATA_TYPES, Message

MAX_ELEMENTS = 2**28
"""The most elements of a constant or a variable."""
MAX_REPEATED = 2**26
"""The most elements of a constant whose last value stands for those that the file lacks."""
MAX_RANK = 64
"""The most axes of an array, which is NumPy's limit."""
DTYPES: Mapping[int, DType] = {
    number: dtype
    for number, name in DATA_TYPES.items()
    for dtype in dtypes.ALL
    if {"FLOAT": "float32", "DOUBLE": "float64", "HALF": "float16"}.get(name, name.lower()) == dtype.numpy.name
}
"""The dtypes that tagloom has, by their numbers."""
STRING, RESOURCE, VARIANT = 7, 20, 21
VALUES = {
    "float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val",
    "uint64": "uint64_val", "float16": "half_val", "bfloat16": "half_val",
}  # fmt: skip
"""The field that has the elements of an array one by one, by dtype; it is `int_val` for all other dtypes."""


class ElementType(int):
    """An attribute that is a dtype, by its number."""

    @property
    def dtype(self) -> DType:
        """The dtype; raises Unsupported for one that tagloom lacks."""
        number = int(self) % 100
        if number not in DTYPES:
            name = DATA_TYPES.get(number, str(number)).lower()
            raise unsupported("dtype", f"tagloom has no values of TensorFlow's dtype {name}")
        return DTYPES[number]


class FunctionName(str):
    """An attribute that is a function of the graph, by its name."""

    __slots__ = ()


class StringArray(NamedTuple):
    """A constant of strings: messages of assertions and prints, names of files."""

    strings: tuple[str, ...]


def read_shape(message: Message) -> tuple[int | None, ...] | None:
    """A shape, with None for an unknown size; None if the number of axes is unknown."""
    if message.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in message.dim)


def read_tensor(message: Message) -> Any:
    """The array of a tensor, or its strings; raises Malformed if the elements do not fit the shape."""
    if message.dtype == STRING:
        return StringArray(tuple(text.decode(errors="replace") for text in message.string_val))
    dtype = ElementType(message.dtype).dtype.numpy
    shape = read_shape(message.tensor_shape)
    if shape is None or None in shape:
        raise Malformed("a constant has no shape")
    sizes = tuple(size or 0 for size in shape)
    count = element_count(sizes)
    if message.tensor_content:
        if len(message.tensor_content) != count * dtype.itemsize:
            required = f"{count * dtype.itemsize:,} bytes"
            raise Malformed("a constant is damaged", required=required, got=f"{len(message.tensor_content):,}")
        return np.frombuffer(message.tensor_content, dtype).reshape(sizes)
    values = getattr(message, VALUES.get(dtype.name, "int_val"))
    if len(values) > count:
        raise Malformed("a constant is damaged", required=f"{count:,} elements", got=f"{len(values):,}")
    if count > MAX_REPEATED and len(values) < count:
        raise Malformed("a constant is damaged", required=f"{count:,} elements", got=f"{len(values):,}")
    elements = np.zeros(count, dtype)
    if values:
        bits = np.array(values).astype(np.uint16 if VALUES.get(dtype.name) == "half_val" else dtype)
        last = bits.view(dtype)
        elements[: len(values)] = last
        elements[len(values) :] = last[-1]
    return elements.reshape(sizes)


def element_count(sizes: Sequence[int]) -> int:
    """The number of elements of an array in a file; raises Malformed where they are too many."""
    count = math.prod(sizes) if len(sizes) <= MAX_RANK else MAX_ELEMENTS + 1
    if count > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements along {MAX_RANK} axes"
        raise Malformed("an array is too large", required=required, got=f"sizes {list(sizes[:MAX_RANK])}")
    return count


def read_attribute(message: Message) -> Any:
    """The value of an attribute; a constant stays a message until it is used."""
    for name in ("s", "i", "f", "b", "type", "shape", "tensor", "placeholder", "func", "list"):
        if name in message:
            value = getattr(message, name)
            return [*read_list(value)] if name == "list" else read_single(name, value)
    return None


def read_list(message: Message) -> list[Any]:
    return [read_single(name, value) for name, values in message.values.items() for value in values]


def read_single(name: str, value: Any) -> Any:
    """A value of an attribute's field of this name."""
    match name:
        case "s":
            return value.decode(errors="replace")
        case "type":
            return ElementType(value)
        case "shape":
            return read_shape(value)
        case "func":
            return FunctionName(value.name)
        case "placeholder":
            raise unsupported("attribute", "a function with attributes as parameters is not imported", got=value)
    return value
