"""Documents with arrays, as bytes.

A packed document is the length of a JSON text (8 bytes, little-endian), the text, and all arrays, one after another:
their elements in C order, little-endian. Spaces end the text, and zeros each array, so that each array begins at a
multiple of 16 bytes. In the text, an array is a reference `{"array": [dtype, shape, position]}`; the position counts
from the end of the text. An array that occurs several times is written once. No other object of a document may have
`array` as its only key.

The bytes may lie in several buffers, one after another, as long as the text and each array lie in one. So nobody copies
large arrays within a process.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core.dtypes import BY_NAME
from ....core.json.value import JsonValue
from ....core.types import MAX_AXES

Array: TypeAlias = npt.NDArray[np.generic]
Buffer: TypeAlias = bytes | memoryview
Packed: TypeAlias = Sequence[Buffer]
"""A packed document: its bytes, in one or more buffers."""
_LENGTH = struct.Struct("<Q")
_KEY = "array"
_ALIGNMENT = 16
"""Arrays begin at multiples of this: NumPy and compiled code need aligned elements, and bytes objects have this
alignment."""
MIN_BUFFER_BYTES = 2**12
"""An array of this many bytes is a buffer of its own; smaller ones are copied into one with their neighbours."""
MAX_SHARES = 8
"""An array that is at least an eighth of its buffer shares the memory of the buffer, and keeps all of it alive. A
smaller one is copied."""


def pack(document: Any) -> tuple[Buffer, ...]:
    """A document as buffers: data for JSON, in which arrays may occur as well. A large array whose elements are in
    order is not copied: its buffer is its own memory, which nobody may change as long as the buffer is used.

    >>> (data,) = pack([np.array([1, 2], np.int16)])
    >>> data[8:48], data[48:].hex(" ", 2)
    (b'[{"array":["int16",[2],0]}]             ', '0100 0200 0000 0000 0000 0000 0000 0000')
    """
    arrays: list[Array] = []
    references: dict[int, JsonValue] = {}
    end = 0

    def refer(array: object) -> JsonValue:
        nonlocal end
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{type(array).__name__} is not data for JSON")
        if id(array) not in references:
            references[id(array)] = {_KEY: [array.dtype.name, list(array.shape), end]}
            arrays.append(array)
            end += _padded_size(array.nbytes)
        return references[id(array)]

    text = json.dumps(document, separators=(",", ":"), default=refer).encode()
    text = text.ljust(_padded_size(_LENGTH.size + len(text)) - _LENGTH.size)
    buffers: list[Buffer] = []
    parts: list[Any] = [_LENGTH.pack(len(text)), text]
    for elements in element_bytes(arrays):
        padding = bytes(_padded_size(elements.nbytes) - elements.nbytes)
        if elements.nbytes < MIN_BUFFER_BYTES:
            parts += elements, padding
        else:
            buffers += b"".join(parts), elements.data.toreadonly()
            parts = [padding]
    return tuple(buffer for buffer in (*buffers, b"".join(parts)) if buffer)


def _padded_size(size: int) -> int:
    """The least multiple of the alignment that is not below a size."""
    return size + -size % _ALIGNMENT


def element_bytes(arrays: Sequence[Array]) -> list[npt.NDArray[np.uint8]]:
    """The bytes of the elements of each array, without a copy if they are in this order already."""
    ordered = (array.astype(array.dtype.newbyteorder("<"), order="C", copy=False) for array in arrays)
    return [array.reshape(-1).view(np.uint8) for array in ordered]


def unpack(packed: Packed) -> Any:
    """The document that `pack` wrote. The buffers may be those of `pack`, or some of these joined. The arrays are
    read-only, share the memory of large buffers, and take no more memory than the buffers, even if the data are
    damaged. Raises ValueError, LookupError or TypeError if the data have another form.

    >>> unpack(pack([7, np.array([1, 2], np.int16)]))
    [7, array([1, 2], dtype=int16)]
    """
    first = memoryview(packed[0] if packed else b"")
    if len(first) < _LENGTH.size:
        raise ValueError("the data end before the text begins")
    (length,) = _LENGTH.unpack_from(first)
    start = _LENGTH.size + length
    if start > len(first):
        raise ValueError("the data end before the text does")
    arrays = _ArrayReader([first[start:], *(memoryview(buffer) for buffer in packed[1:])])
    document = json.loads(bytes(first[_LENGTH.size : start]), object_hook=arrays.replace_reference)
    if arrays.end != arrays.size:
        raise ValueError("there are bytes of no array")
    return document


class _ArrayReader:
    """Reads the arrays of a document in the order of their references."""

    def __init__(self, buffers: Sequence[memoryview]) -> None:
        """`buffers` have the bytes after the text."""
        self._buffers = iter(buffers)
        self._buffer, self._buffer_start = next(self._buffers), 0
        """The buffer of the last array, and where it begins."""
        self.size = sum(map(len, buffers))
        self.end = 0
        """Where the next array begins."""
        self._arrays: dict[JsonValue, Array] = {}
        """The arrays that were read, by dtype, shape and position."""

    def replace_reference(self, mapping: dict[str, Any]) -> Any:
        """The array to which a reference refers; any other object as it is."""
        if len(mapping) != 1 or _KEY not in mapping:
            return mapping
        name, shape, position = mapping[_KEY]
        key = name, tuple(shape), position
        if key not in self._arrays:
            self._arrays[key] = self._read(*key)
        return self._arrays[key]

    def _read(self, name: str, shape: tuple[int, ...], position: int) -> Array:
        if len(shape) > MAX_AXES or any(type(size) is not int or size < 0 for size in shape):
            raise ValueError("this is not a shape")
        dtype = BY_NAME[name].numpy
        end = self.end + _padded_size(math.prod(shape) * dtype.itemsize)
        if position != self.end or end > self.size:
            raise ValueError("an array is not where the one before it ends, or ends after the data")
        # an empty array may be at the end, behind the last buffer
        while self._buffer_start + len(self._buffer) < min(position + 1, self.size):
            self._buffer_start += len(self._buffer)
            self._buffer = next(self._buffers)
        view = np.ndarray(shape, dtype.newbyteorder("<"), self._buffer, position - self._buffer_start)
        shares = view.flags.aligned and MAX_SHARES * view.nbytes >= len(self._buffer)
        array = view.astype(dtype, copy=not shares)
        array.setflags(write=False)
        self.end = end
        return array
