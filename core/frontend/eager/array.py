"""Concrete arrays: the eager counterpart of symbols, with the operators and methods of the standard.

The class of a result follows the operands: it is a concrete array if one of them is one, else NumPy's class if one of
them has it. Python numbers and lists alone give Python numbers and NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ...dtypes import BY_PYTHON, bfloat16
from ...errors import Usage
from ...types import Type, intern_type, type_of
from ...value import Literal, Value, format_narrow_float, literal
from ..trace.captures import Resource
from ..trace.program_builder import current_region
from ..trace.pytree import flatten, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import UFUNC_OPS, ArrayOperators, array_namespace


class ConcreteArray(ArrayOperators):
    """An immutable array whose elements are known.

    >>> x = ConcreteArray(literal([1.0, 2.5]))
    >>> x.dtype, x.shape, x
    (float64, (2,), asarray([1. , 2.5], dtype=float64))
    """

    __slots__ = ("__weakref__", "_tagloom_resource", "_type", "_value")
    _type: Type
    _value: Value

    def __init__(self, value: Literal) -> None:
        self._value, self._type = value.value, intern_type(value.type)
        region = current_region()
        if region is not None:
            region.specialization.program_builder.register_array(self)

    @property
    def _tagloom_literal(self) -> Literal:
        return Literal(self._value, self._type)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._value,)

    def __repr__(self) -> str:
        formats: Any = {"all": format_narrow_float} if self.dtype is bfloat16 else None
        elements = np.array2string(np.asarray(self), separator=", ", prefix="asarray(", formatter=formats)
        return f"asarray({elements}, dtype={self.dtype!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """A NumPy array of the same elements, read-only unless it is a copy."""
        view = np.asarray(self._value).view()  # unlike the array, a view cannot be made writable
        return np.array(view, dtype=dtype, copy=copy)

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        """Apply the op for an operator with a NumPy array on its left; other NumPy functions compute as usual."""
        if function in UFUNC_OPS and method == "__call__" and not options:
            return getattr(array_namespace(), self.resolve_op(UFUNC_OPS[function]))(*operands)
        numpy_operands = [
            np.asarray(operand) if isinstance(operand, ConcreteArray) else operand for operand in operands
        ]
        return getattr(function, method)(*numpy_operands, **options)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """A copy of the elements for another library, which may write to it. Raises Usage, which is a BufferError, for
        copy=False."""
        if copy is False:
            raise Usage(
                "arrays are immutable, so other libraries get copies",
                where=user_location(),
                required="copy=None",
                python=BufferError,
            )
        if stream is not None:
            raise Usage("the CPU has no streams", where=user_location(), got=repr(stream))
        if self.dtype is bfloat16:
            raise Usage(
                "NumPy does not export bfloat16 by DLPack",
                where=user_location(),
                got=self._type,
                hint="export its bits, tl.bitcast(x, tl.uint16), or tl.astype(x, tl.float32)",
                python=BufferError,
            )
        return np.array(self).__dlpack__(max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.asarray(self).__dlpack_device__()

    def _scalar_item(self, construct: str) -> Any:
        """The element of an array without axes; raises Usage for other arrays, with the name of the construct that
        needs the element."""
        value = self._value
        if self.shape != ():
            raise Usage(
                f"{construct} needs an array without axes",
                where=user_location(),
                required="()",
                got=self._type,
                python=TypeError,
            )
        return value.item() if isinstance(value, np.generic) else value

    def __bool__(self) -> bool:
        return bool(self._scalar_item("bool()"))

    def __int__(self) -> int:
        return int(self._scalar_item("int()"))

    def __float__(self) -> float:
        return float(self._scalar_item("float()"))

    def __complex__(self) -> complex:
        return complex(self._scalar_item("complex()"))

    def __format__(self, spec: str) -> str:
        """A number in Python's format `spec`; without one, `str`."""
        return format(self._scalar_item("a format"), spec) if spec else str(self)

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise Usage(
                "this is not an integer",
                where=user_location(),
                required="an integer dtype",
                got=self._type,
                python=TypeError,
            )
        return int(self._scalar_item("an index"))

    def _refuse_rounding(self, *_: Any) -> NoReturn:
        hint = "write tl.round(x), tl.floor(x), tl.ceil(x) or tl.trunc(x)"
        raise Usage(
            "Python's rounding functions do not take arrays",
            where=user_location(),
            got=self._type,
            hint=hint,
            python=TypeError,
        )

    __round__ = __floor__ = __ceil__ = __trunc__ = _refuse_rounding

    def __len__(self) -> int:
        if not self.shape:
            raise Usage("an array without axes has no length", where=user_location(), got=self._type, python=TypeError)
        return self.shape[0] or 0

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the first axis."""
        return (self[index] for index in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        hint = "write x = tl.scatter(x, value, index), or tl.where(mask, value, x)"
        raise Usage("arrays are immutable", where=user_location(), hint=hint, python=TypeError)


def _unpickle(value: Value) -> ConcreteArray:
    """Rebuild a pickled array."""
    return ConcreteArray(literal(value))


def copy_array(array: ConcreteArray) -> ConcreteArray:
    """A new array of the same elements, with its own identity."""
    return ConcreteArray(array._tagloom_literal)


def result_like(operands: Sequence[Any], value: Any) -> Any:
    """Wrap a value computed from these operands: as a concrete array if one of them is one. Else, if one of them is
    NumPy's, a Python number becomes a NumPy scalar, which keeps its dtype among Python numbers."""
    if any(isinstance(operand, ConcreteArray) for operand in operands):
        return value if isinstance(value, ConcreteArray) else ConcreteArray(literal(value))
    is_numpy = any(isinstance(operand, np.ndarray | np.generic) for operand in operands)
    return number_to_numpy(value) if is_numpy else value


def results_like(operands: Sequence[Any], value: Any) -> Any:
    """Wrap the nested results of a function: as concrete arrays if an operand is one, or is a resource."""
    for operand in operands:  # `any` takes 0.5 us longer
        if isinstance(operand, _CONCRETE):
            if type(value) is np.ndarray:
                return ConcreteArray(_result_literal(value))
            leaves, structure = flatten(value, by_reference=True, is_leaf=None)
            return unflatten(structure, [ConcreteArray(_result_literal(leaf)) for leaf in leaves])
    return value


_CONCRETE = (ConcreteArray, Resource)


def _result_literal(value: Any) -> Literal:
    """The literal of a result of a run: without a copy, unless it is a part of a larger result."""
    is_admitted = type(value) is np.ndarray and value.flags.c_contiguous and not value.flags.writeable
    return Literal(value, type_of(value)) if is_admitted else literal(value)


def number_to_numpy(value: Any) -> Any:
    """A Python number as a NumPy scalar of its dtype; any other value unchanged."""
    return BY_PYTHON[type(value)].numpy.type(value) if type(value) in BY_PYTHON else value
