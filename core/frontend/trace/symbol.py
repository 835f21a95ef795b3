"""Symbolic values as Python sees them: operators become nodes; what needs a concrete value is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from ...errors import Invalid
from ...types import HandleType, Type
from .operators import UFUNCS, Operators
from .source_location import construct, here
from .trace import Value


def _refused(what: str, hint: str) -> Any:
    def method(self: Symbol, *arguments: object, **options: object) -> NoReturn:
        raise _concrete_needed(self, what, hint)

    return method


def _concrete_needed(symbol: Symbol, what: str, hint: str) -> Invalid:
    return Invalid(
        f"{what} needs a concrete value, and {symbol!r} is symbolic while tagloom traces the function",
        rule="F1",
        where=here(),
        hint=hint,
    )


_NUMPY_HINT = "use tagloom's function of that name, as in tl.sqrt(x)"


class Symbol(Operators):
    """A value that will be known when the program runs. Operators make nodes of the program under trace."""

    __slots__ = ("_tagloom_value",)
    get: ClassVar[Callable[[object, object], Any]]
    """Set by `acts`: the value of a cell."""

    def __init__(self, value: Value) -> None:
        self._tagloom_value = value

    @property
    def _type(self) -> Type:
        return self._tagloom_value.type

    def __repr__(self) -> str:
        return f"<symbolic {self._tagloom_value.name}: {self._tagloom_value.type}>"

    __hash__ = _refused("hashing, as in a set or a dict,", "compare: (x == a) | (x == b)")

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: object, **options: object) -> Any:
        """What operators with a NumPy array on their left hand over; functions of NumPy are refused."""
        if function in UFUNCS and method == "__call__" and not options:
            return Symbol.apply(self.operator(UFUNCS[function]), *operands)
        raise _concrete_needed(self, f"np.{function.__name__}", _NUMPY_HINT)

    def __bool__(self) -> NoReturn:
        what, hint = construct()
        raise _concrete_needed(self, what, hint)

    __int__ = _refused("int()", "write tl.astype(x, tl.int64)")
    __float__ = _refused("float(), or a function of math,", "write tl.astype(x, tl.float64), or tl.sqrt(x)")
    __index__ = _refused("range(), indexing or a size", "count with tl.while_loop; tl.take(x, i) takes an element")
    __complex__ = _refused("complex()", "there are no complex dtypes")
    __dlpack__ = __dlpack_device__ = _refused("DLPack", "return it from the function, and take it over then")
    __iter__ = _refused("iterating, or unpacking,", "loop with tl.while_loop")
    __len__ = _refused("len()", "a size that is known stands in x.shape; of cells, it is what tl.cells was given")
    __setitem__ = _refused(
        "assigning to an element", "values do not change; write x = tl.scatter(x, value, i), or tl.put"
    )

    def __getitem__(self, key: Any) -> Any:
        """`cells[i]`, or elements of an array."""
        return Symbol.get(self, key) if isinstance(self.dtype, HandleType) else super().__getitem__(key)

    __array__ = _refused("a NumPy function", _NUMPY_HINT)
    __round__ = __floor__ = __ceil__ = __trunc__ = _refused(
        "rounding", "write tl.round(x), tl.floor(x), tl.ceil(x) or tl.trunc(x)"
    )
