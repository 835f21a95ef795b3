"""Concrete arrays: values with the operators and methods of the standard, beside symbolic ones.

Like begets like: an op of which an operand is a concrete array gives one, one of which an operand is NumPy's gives
NumPy's, and an op of Python's numbers and lists alone gives Python's numbers, and arrays of NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ...dtypes import BY_PYTHON
from ...errors import Usage
from ...types import Type, interned
from ...value import Literal, Value, literal
from ..trace.captures import Resource
from ..trace.operators import UFUNCS, Operators
from ..trace.pytree import flatten, unflatten
from ..trace.source_location import here
from ..trace.trace import current


class CopyNeeded(Usage, BufferError):
    """Elements cannot be lent without a copy, which DLPack has a BufferError for."""


class Concrete(Operators):
    """An array whose elements are known. It never changes.

    >>> x = Concrete(literal([1.0, 2.5]))
    >>> x.dtype, x.shape, x
    (float64, (2,), asarray([1. , 2.5], dtype=float64))
    """

    __slots__ = ("__weakref__", "_tagloom_resource", "_type", "_value")
    _type: Type
    _value: Value

    def __init__(self, value: Literal) -> None:
        self._value, self._type = value.value, interned(value.type)
        region = current()
        if region is not None:
            region.instance.trace.make(self)

    @property
    def _tagloom_literal(self) -> Literal:
        return Literal(self._value, self._type)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._value,)

    def __repr__(self) -> str:
        elements = np.array2string(np.asarray(self), separator=", ", prefix="asarray(")
        return f"asarray({elements}, dtype={self.dtype!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """NumPy's array of the same elements, which cannot be written to unless it is a copy."""
        view = np.asarray(self._value).view()  # which nobody makes one that can be written to
        return np.array(view, dtype=dtype, copy=copy)

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        """What operators with a NumPy array on their left hand over; functions of NumPy compute as ever."""
        if function in UFUNCS and method == "__call__" and not options:
            return Operators.apply(self.operator(UFUNCS[function]), *operands)
        plain = [np.asarray(each) if isinstance(each, Concrete) else each for each in operands]
        return getattr(function, method)(*plain, **options)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """A copy of the elements for another library, since it may write to them."""
        if copy is False:
            raise CopyNeeded("arrays do not change, so that others have copies", where=here(), required="copy=None")
        if stream is not None:
            raise Usage("the cpu has no streams", where=here(), got=repr(stream))
        return np.array(self).__dlpack__(max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.asarray(self).__dlpack_device__()

    def _number(self, what: str) -> Any:
        value = self._value
        if self.shape != ():
            raise Usage(f"{what} is of arrays of no axes", where=here(), required="()", got=self._type)
        return value.item() if isinstance(value, np.generic) else value

    def __bool__(self) -> bool:
        return bool(self._number("bool()"))

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __format__(self, spec: str) -> str:
        """A number as Python formats it; without a format, as it is shown."""
        return format(self._number("a format"), spec) if spec else str(self)

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise Usage("this is no integer", where=here(), required="an integer dtype", got=self._type)
        return int(self._number("an index"))

    def _rounded(self, *_: Any) -> NoReturn:
        hint = "write tl.round(x), tl.floor(x), tl.ceil(x) or tl.trunc(x)"
        raise Usage("arrays are rounded by functions of tagloom's", where=here(), got=self._type, hint=hint)

    __round__ = __floor__ = __ceil__ = __trunc__ = _rounded

    def __len__(self) -> int:
        if not self.shape:
            raise Usage("an array of no axes has no length", where=here(), got=self._type)
        return self.shape[0] or 0

    def __iter__(self) -> Iterator[Any]:
        """Along the first axis."""
        return (self[at] for at in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        hint = "write x = tl.scatter(x, value, index), or tl.where(mask, value, x)"
        raise Usage("arrays do not change", where=here(), hint=hint)


def _again(value: Value) -> Concrete:
    """An array that was pickled."""
    return Concrete(literal(value))


def another(array: Concrete) -> Concrete:
    """Another array of the same elements."""
    return Concrete(array._tagloom_literal)


def like(operands: Sequence[Any], value: Any) -> Any:
    """A value that was computed of these: a concrete array where one of them is, else a number of NumPy's where one is
    NumPy's, so that it keeps its dtype among Python's numbers."""
    if any(isinstance(each, Concrete) for each in operands):
        return value if isinstance(value, Concrete) else Concrete(literal(value))
    is_numpy = type(value) in BY_PYTHON and any(isinstance(each, np.ndarray | np.generic) for each in operands)
    return BY_PYTHON[type(value)].numpy.type(value) if is_numpy else value


def all_like(given: Sequence[Any], value: Any) -> Any:
    """Nested results of a function: concrete arrays where one of what it was given is, or it has state."""
    leaves, structure = flatten(value, by_reference=True)
    is_concrete = any(isinstance(each, Concrete | Resource) for each in given)
    return unflatten(structure, [Concrete(literal(leaf)) if is_concrete else leaf for leaf in leaves])
