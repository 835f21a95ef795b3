"""The element types: what kind of number a value holds.

A dtype is a class, so that it serves as an annotation and as a value: `def f(n: tl.int64)`. NumPy has no bfloat16; the
package `ml_dtypes` adds it, with the kind "V": the kind of a dtype is that of the class here, not NumPy's. That package
is imported for the first array of bfloat16, since the import of its version 0.7 takes three times as long as that of
tagloom.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any, NamedTuple

import numpy as np


class DType(type):
    """The class of all dtypes. `kind` is 'b' (bool), 'i' (signed), 'u' (unsigned) or 'f' (floating point); `numpy` is
    the dtype of NumPy in which arrays are stored."""

    kind: str
    numpy: np.dtype[np.generic]

    def __getattr__(cls, name: str) -> Any:
        """`bfloat16.numpy`, which importing `ml_dtypes` defines."""
        if name != "numpy" or cls is not bfloat16:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        import ml_dtypes

        cls.numpy = np.dtype(ml_dtypes.bfloat16)
        return cls.numpy

    def __repr__(cls) -> str:
        return cls.__name__

    def __eq__(cls, other: object) -> builtins.bool:
        """Whether it is the same dtype; also of NumPy, as in `x.dtype == np.float64`, or one of Python's classes.

        >>> float64 == np.float64, float32 == np.dtype("float32"), int64 == int, float64 == np.int64
        (True, True, True, False)
        """
        if cls is other or type(other) is DType:
            return cls is other
        if cls is bfloat16 and "ml_dtypes" not in sys.modules:
            return False
        is_class = isinstance(other, type) and (issubclass(other, np.generic) or other in (builtins.bool, int, float))
        return (is_class or isinstance(other, np.dtype)) and cls.numpy == other

    __hash__ = type.__hash__

    @property
    def dtype(cls) -> np.dtype[np.generic]:
        """The dtype of NumPy: what NumPy takes for this class."""
        return cls.numpy

    @property
    def name(cls) -> str:
        """The name that NumPy has for it, as in `x.dtype.name`.

        >>> float64.name, bool.name
        ('float64', 'bool')
        """
        return cls.__name__

    @property
    def bits(cls) -> int:
        return sum(FLOAT_FORMATS[cls]) if cls in FLOAT_FORMATS else 8 * cls.numpy.itemsize

    @property
    def is_integer(cls) -> builtins.bool:
        return cls.kind in "iu"

    @property
    def limits(cls) -> Any:
        """The limits of a float dtype: `max`, `eps` and the other fields of NumPy's `finfo`.

        >>> float(float16.limits.max)
        65504.0
        """
        assert cls.kind == "f"
        if cls is not bfloat16:
            return np.finfo(cls.numpy)
        import ml_dtypes

        return ml_dtypes.finfo(cls.numpy)  # type: ignore[no-untyped-call]

    @property
    def compute_dtype(cls) -> DType:
        """The dtype in which ops compute values of this one: float32 for the floats of 16 bits, else the dtype itself.

        >>> bfloat16.compute_dtype, float32.compute_dtype
        (float32, float32)
        """
        return float32 if cls in FLOAT_FORMATS else cls

    @property
    def range(cls) -> tuple[int, int]:
        """The lowest and the highest number of an integer dtype.

        >>> int8.range, uint8.range
        ((-128, 127), (0, 255))
        """
        assert cls.is_integer
        low = -(2 ** (cls.bits - 1)) if cls.kind == "i" else 0
        return low, low + 2**cls.bits - 1


class bool(metaclass=DType):  # noqa: N801 - these names are the Array API's
    """Truth values."""

    kind = "b"
    numpy = np.dtype(np.bool_)


class int8(metaclass=DType):  # noqa: N801
    """8-bit signed integers; arithmetic wraps."""

    kind = "i"
    numpy = np.dtype(np.int8)


class int16(metaclass=DType):  # noqa: N801
    """16-bit signed integers; arithmetic wraps."""

    kind = "i"
    numpy = np.dtype(np.int16)


class int32(metaclass=DType):  # noqa: N801
    """32-bit signed integers; arithmetic wraps."""

    kind = "i"
    numpy = np.dtype(np.int32)


class int64(metaclass=DType):  # noqa: N801
    """64-bit signed integers; arithmetic wraps. The dtype of Python's int."""

    kind = "i"
    numpy = np.dtype(np.int64)


class uint8(metaclass=DType):  # noqa: N801
    """8-bit unsigned integers; arithmetic wraps."""

    kind = "u"
    numpy = np.dtype(np.uint8)


class uint16(metaclass=DType):  # noqa: N801
    """16-bit unsigned integers; arithmetic wraps."""

    kind = "u"
    numpy = np.dtype(np.uint16)


class uint32(metaclass=DType):  # noqa: N801
    """32-bit unsigned integers; arithmetic wraps."""

    kind = "u"
    numpy = np.dtype(np.uint32)


class uint64(metaclass=DType):  # noqa: N801
    """64-bit unsigned integers; arithmetic wraps."""

    kind = "u"
    numpy = np.dtype(np.uint64)


class float32(metaclass=DType):  # noqa: N801
    """32-bit IEEE 754 floating point. Ops compute in float64 and round, except some on arrays (docs/semantics.md)."""

    kind = "f"
    numpy = np.dtype(np.float32)


class float64(metaclass=DType):  # noqa: N801
    """64-bit IEEE 754 floating point. The dtype of Python's float."""

    kind = "f"
    numpy = np.dtype(np.float64)


class float16(metaclass=DType):  # noqa: N801
    """16-bit IEEE 754 floating point. Ops compute in float32 and round."""

    kind = "f"
    numpy = np.dtype(np.float16)


class bfloat16(metaclass=DType):  # noqa: N801
    """16-bit floating point with the exponents of float32, and 8 significant bits. Ops compute in float32 and round."""

    kind = "f"


ALL: tuple[DType, ...] = (
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, float16, bfloat16
)  # fmt: skip
"""All dtypes. Column logs contain their positions."""
BY_NAME: dict[str, DType] = {repr(dtype): dtype for dtype in ALL}
_BY_NUMPY: dict[np.dtype[np.generic], DType] = {dtype.numpy: dtype for dtype in ALL if dtype is not bfloat16}
BY_PYTHON: dict[type, DType] = {builtins.bool: bool, int: int64, float: float64}
"""The dtypes whose scalars are Python's own numbers."""
PYTHON_DTYPES = frozenset(BY_PYTHON.values())


_CARRIERS: dict[str, DType] = {
    **dict.fromkeys(("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"), float16),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"), float16),
    **dict.fromkeys(("float8_e8m0fnu", "float8_e5m3fnu"), bfloat16),
    **dict.fromkeys(("int1", "int2", "int4"), int8),
    **dict.fromkeys(("uint1", "uint2", "uint4"), uint8),
}
"""The smallest dtype that contains all values of a dtype of `ml_dtypes` of 8 bits or fewer, by the name of that."""
_IS_OF_PACKAGE = 2
"""What NumPy's `dtype.isbuiltin` is for dtypes that packages add."""


class FloatFormat(NamedTuple):
    """The binary format of a float: the bits of its significand, the leading one included, and of its exponent."""

    significand_bits: int
    exponent_bits: int


FLOAT_FORMATS: dict[DType, FloatFormat] = {float16: FloatFormat(11, 5), bfloat16: FloatFormat(8, 8)}
"""The floats of 16 bits."""


def from_numpy(native: np.dtype[Any]) -> DType | None:
    """The dtype of arrays of this dtype of NumPy; None if there is none.

    >>> from_numpy(np.dtype(np.float32)), from_numpy(np.dtype(np.complex64))
    (float32, None)
    """
    dtype = _BY_NUMPY.get(native)
    if dtype is None and native.isbuiltin == _IS_OF_PACKAGE and native == bfloat16.numpy:
        return bfloat16
    return dtype


def carrier_of(native: np.dtype[Any]) -> DType | None:
    """The smallest dtype that contains all values of a dtype of `ml_dtypes` of 8 bits or fewer; None for other ones."""
    return _CARRIERS.get(native.name) if native.isbuiltin == _IS_OF_PACKAGE else None


def promote(first: DType, second: DType) -> DType | None:
    """The dtype to which these two promote by the Array API standard; None where the standard leaves it open.

    The wider of two of one kind; the narrowest signed integer that holds both a signed and an unsigned one; float32
    for float16 and bfloat16. Kinds do not mix otherwise.

    >>> promote(int8, uint8), promote(float32, float64), promote(int64, uint64), promote(int64, float64)
    (int16, float64, None, None)
    """
    if first.kind == second.kind:
        if first.bits == second.bits and first is not second:
            return float32
        return max(first, second, key=lambda dtype: dtype.bits)
    if not (first.is_integer and second.is_integer):
        return None
    signed, unsigned = (first, second) if first.kind == "i" else (second, first)
    return BY_NAME.get(f"int{max(signed.bits, 2 * unsigned.bits)}")
