"""Types: a dtype and a shape. A dimension may be unknown (None), and so may the whole shape.

This module also defines handles, the values that refer to write-once cells. The cells themselves are part of the state
of a run.
"""

from __future__ import annotations

import copyreg
import functools
import reprlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from . import dtypes
from .dtypes import DType
from .errors import Invalid, TagloomError, Usage
from .tag import Tag


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """Refers to an array of `size` cells, made by the node of number `node` when it fired under `tag`.

    `dtype` says what the cells hold. Two handles are equal if they have the same node and tag.
    """

    node: int
    tag: Tag
    size: int
    dtype: DType

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and self.node == other.node and self.tag == other.tag

    def __hash__(self) -> int:
        return hash((self.node, self.tag))

    def __str__(self) -> str:
        return f"cells of node {self.node} under {self.tag}"


@dataclass(frozen=True, slots=True)
class DeadTokenValue:
    """The value of a dead token: node number `node` sent it first, from output `port`, when it fired under `tag`.

    Only graphs with dead tokens (S18) have such values.
    """

    node: int
    port: int
    tag: Tag

    def __str__(self) -> str:
        return f"dead, from output {self.port} of node {self.node} under {self.tag}"


OPAQUE_CLASSES = (Handle, DeadTokenValue)
"""The classes of the values that are neither numbers nor arrays."""

MAX_AXES = 64
"""The maximal number of axes of an array: NumPy's limit."""
Shape: TypeAlias = tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class Type:
    """A dtype and a shape; `()` is a scalar, None in the shape an unknown size, None an unknown shape.

    >>> print(Type(dtypes.float64, (3, None)), Type(dtypes.int64), Type(dtypes.bool, None))
    float64[3, ?] int64 bool[...]
    """

    dtype: DType
    shape: Shape = ()

    def __str__(self) -> str:
        if self.shape == ():
            return repr(self.dtype)
        if self.shape is None:
            return f"{self.dtype!r}[...]"
        return f"{self.dtype!r}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"

    @property
    def is_scalar(self) -> bool:
        return self.shape == ()

    def admits(self, other: Type) -> bool:
        """Whether every value of type `other` is a value of this type.

        >>> Type(dtypes.int64, (None,)).admits(Type(dtypes.int64, (3,)))
        True
        """
        if self.dtype is not other.dtype:
            return False
        if self.shape is None:
            return True
        if other.shape is None or len(self.shape) != len(other.shape):
            return False
        return all(size in (None, other_size) for size, other_size in zip(self.shape, other.shape, strict=True))

    def join(self, other: Type) -> Type | None:
        """The narrowest type that admits both; None where their dtypes differ, since no type does.

        >>> print(Type(dtypes.int64, (2, 3)).join(Type(dtypes.int64, (2, 4))))
        int64[2, ?]
        """
        if self.dtype is not other.dtype:
            return None
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return Type(self.dtype, None)
        pairs = zip(self.shape, other.shape, strict=True)
        return Type(self.dtype, tuple(size if size == other_size else None for size, other_size in pairs))


MAX_INTERNED = 4096
"""The maximal number of interned types."""
_INTERN_TABLE: dict[Type, Type] = {}


def intern_type(type_: Type) -> Type:
    """The interned object that equals this type: identity is faster to compare than equality. A full table is emptied,
    so different objects may still be equal types.

    >>> intern_type(Type(dtypes.int64, (3,))) is intern_type(Type(dtypes.int64, (3,)))
    True
    """
    interned = _INTERN_TABLE.get(type_)
    if interned is None:
        if len(_INTERN_TABLE) >= MAX_INTERNED:
            _INTERN_TABLE.clear()
        interned = _INTERN_TABLE.setdefault(type_, type_)
    return interned


class Array:
    """Annotations for arrays: `Array[float64, 3, None]` is a matrix of three rows, `Array[float64, ...]` of any shape.

    >>> from tagloom.core.dtypes import float64
    >>> print(Array[float64, 3, None], Array[float64, ...])
    float64[3, ?] float64[...]
    """

    def __class_getitem__(cls, item: object) -> Type:
        dtype, *shape = item if isinstance(item, tuple) and item else (item, None)
        if not isinstance(dtype, DType):
            raise Usage("Array[dtype, sizes...] takes a dtype first", got=repr(dtype), python=TypeError)
        if shape == [...]:
            return Type(dtype, None)
        if any(not (n is None or (type(n) is int and n >= 0)) for n in shape):
            raise Usage("a size is a non-negative integer, or None if unknown", got=repr(tuple(shape)))
        if len(shape) > MAX_AXES:
            raise Usage(f"an array has at most {MAX_AXES} axes", got=len(shape))
        return Type(dtype, tuple(shape))


class HandleType(DType):
    """The class of the dtypes of handles. Their kind is 'h'; no op computes with them."""

    element: Type


copyreg.pickle(HandleType, lambda cls: (_unpickle_handle_dtype, (cls.element,)))


def _unpickle_handle_dtype(element: Type) -> HandleType:
    """Rebuild a dtype of handles from its pickled form."""
    dtype = handle_type(element).dtype
    assert isinstance(dtype, HandleType)
    return dtype


DEAD_TYPE = Type(DType("dead", (), {"kind": "h", "numpy": np.dtype(object)}))
"""The type of dead tokens. No port has it: a dead token comes instead of a value of the port's type."""


@functools.cache
def handle_type(element: Type) -> Type:
    """The type of a handle of cells whose elements have this type.

    >>> print(handle_type(Type(dtypes.float64, (3,))))
    cells[float64[3]]
    """
    columns = {"kind": "h", "numpy": np.dtype(object), "element": element}
    return Type(HandleType(f"cells[{element}]", (), columns))


def element_type(handle: Type) -> Type:
    """The type of the cells that handles of this type refer to; raises Invalid for any other type."""
    if not isinstance(handle.dtype, HandleType):
        hint = "tl.cells(n, dtype) returns a handle, and so does tl.put"
        raise Invalid("this is not a handle of cells", required="cells[...]", got=handle, hint=hint)
    return handle.dtype.element


class Cells:
    """Annotations for handles of write-once cells: `Cells[float64]`, or `Cells[Array[float64, 3]]`.

    >>> from tagloom.core.dtypes import float64
    >>> print(Cells[float64])
    cells[float64]
    """

    def __class_getitem__(cls, item: object) -> Type:
        return handle_type(check_element_type(as_type(item)))


def check_element_type(type_: Type) -> Type:
    """A type that cells may have; raises Usage for handles."""
    if isinstance(type_.dtype, HandleType):
        raise Usage("cells cannot hold handles of cells", got=type_)
    return type_


def as_type(annotation: object) -> Type:
    """The type that an annotation means: a dtype, a Type, or Python's own int, float, bool."""
    if isinstance(annotation, Type):
        return annotation
    if isinstance(annotation, DType):
        return Type(annotation)
    if isinstance(annotation, type) and annotation in dtypes.BY_PYTHON:
        return Type(dtypes.BY_PYTHON[annotation])
    raise Usage(
        "not a type",
        got=repr(annotation),
        required="a dtype such as tl.int64, or tl.Array[dtype, sizes...]",
    )


def broadcast_shape(shapes: list[Shape]) -> Shape:
    """The shape that arrays of these shapes broadcast to, by the rules of the Array API.

    Raises Invalid where two known sizes differ and neither is 1.

    >>> broadcast_shape([(3, 1), (4,)])
    (3, 4)
    """
    if any(shape is None for shape in shapes):
        return None
    known_shapes = [shape for shape in shapes if shape is not None]
    rank = max((len(shape) for shape in known_shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in known_shapes]
    columns = [set(sizes) for sizes in zip(*padded, strict=True)]
    if any(len(sizes - {1, None}) > 1 for sizes in columns):
        got = " and ".join(str(shape).replace("None", "?") for shape in known_shapes)
        raise Invalid("these shapes do not broadcast", required="equal sizes, or 1", got=got)
    return tuple(map(_broadcast_size, columns))


def _broadcast_size(sizes: set[int | None]) -> int | None:
    fixed = sizes - {1, None}
    if fixed:
        return fixed.pop()
    return None if None in sizes else 1


def describe_integer(number: int) -> str:
    """An integer as text for messages; a long one as its number of bits, since Python refuses to print very long
    ones."""
    return str(number) if number.bit_length() < 100 else f"an integer of {number.bit_length():,} bits"


def type_of(value: object) -> Type:
    """The type of a concrete value: a Python number, a NumPy scalar, an array, or a list of numbers.

    Raises Usage for anything else, for a dtype tagloom does not have, and for Python integers beyond int64.
    """
    if type(value) is Handle:
        return Type(value.dtype)
    if type(value) is DeadTokenValue:
        return DEAD_TYPE
    if type(value) in dtypes.BY_PYTHON:
        dtype = dtypes.BY_PYTHON[type(value)]
        if dtype is dtypes.int64 and not -(2**63) <= value < 2**63:  # type: ignore[operator]
            raise Usage("this integer does not fit into int64", got=describe_integer(value), python=OverflowError)  # type: ignore[arg-type]
        return Type(dtype)
    if type(value) is np.ndarray and (type_ := _array_type(value.dtype, value.shape)) is not None:
        return type_
    if isinstance(value, np.ndarray) and hasattr(value, "mask"):  # `np.ma` would import it
        raise Usage(
            "arrays have no masks",
            got="a masked array of NumPy",
            hint="x.filled(0.0) has a number for each masked element",
            python=TypeError,
        )
    try:
        array = np.asarray(value)
    except TagloomError:  # a symbol refuses
        raise
    except ValueError:
        raise ragged_array_error(value) from None
    if isinstance(value, list | tuple) and array.size and array.dtype != np.int64 and element_classes(value) == {int}:
        raise Usage("integers of this list do not fit into int64", got=reprlib.repr(value), python=OverflowError)
    type_ = _array_type(array.dtype, array.shape)
    if type_ is None:
        raise Usage(
            "this is not a value of a program",
            got=f"{reprlib.repr(value)}, of type {type(value).__name__}",
            required="a bool, int or float, or an array of them",
            hint=getattr(type(value), "VALUE_HINT", None) or _value_hint(value, array.dtype),
            python=TypeError,
        )
    return type_


def _value_hint(value: object, dtype: np.dtype[np.generic]) -> str | None:
    """A hint for a collection that is not a value, and for numbers of a dtype that only NumPy or `ml_dtypes` has."""
    if isinstance(value, dict):
        return "dict(x) is a plain dict of values"
    if isinstance(value, set | frozenset):
        return "sorted(x) is a list of the elements, in order"
    carrier = dtypes.carrier_of(dtype)
    if carrier:
        return f"there is no {dtype.name}; x.astype(tl.{carrier!r}) has the same values"
    if dtype.kind == "c":
        return "there are no complex dtypes; x.real and x.imag are floats"
    return f"there is no {dtype.name}; write x.astype(np.float32) or np.float64" if dtype.kind == "f" else None


@functools.lru_cache(MAX_INTERNED)
def _array_type(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Type | None:
    """The type of NumPy arrays of this dtype and shape; None for other dtypes."""
    element = dtypes.from_numpy(dtype.newbyteorder("="))
    return intern_type(Type(element, shape)) if element else None


def ragged_array_error(rows: object) -> Usage:
    """The error for nested lists that do not form an array."""
    message = f"rows of different lengths, or nested deeper than {MAX_AXES}, do not form an array"
    return Usage(message, got=reprlib.repr(rows))


def element_classes(rows: object) -> set[type]:
    """The Python classes of the elements of a nested list, or of a single value; includes list or tuple where the
    nesting is deeper than arrays allow.

    >>> sorted(map(str, element_classes([[1, 2.5]])))
    ["<class 'float'>", "<class 'int'>"]
    """
    items = [rows]
    for _ in range(MAX_AXES + 1):
        if not any(isinstance(item, list | tuple) for item in items):
            break
        items = [inner for item in items for inner in (item if isinstance(item, list | tuple) else (item,))]
    return set(map(type, items))
