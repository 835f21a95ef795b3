"""Symbols: the Python objects for symbolic values. Operators add nodes; what needs a concrete value is refused (F1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from ...errors import Invalid
from ...types import HandleType, Type
from .operators import UFUNC_OPS, ArrayOperators
from .source_location import describe_construct, user_location
from .trace import TracedValue


def _refuse(what: str, hint: str) -> Any:
    def method(self: Symbol, *arguments: object, **options: object) -> NoReturn:
        raise _concrete_value_error(self, what, hint)

    return method


def _concrete_value_error(symbol: Symbol, what: str, hint: str) -> Invalid:
    return Invalid(
        f"{what} needs a concrete value, and {symbol!r} is symbolic while tagloom traces the function",
        rule="F1",
        where=user_location(),
        hint=hint,
    )


_NUMPY_HINT = "use tagloom's function of that name, as in tl.sqrt(x)"


class Symbol(ArrayOperators):
    """A value that is known only when the program runs. Operators add nodes to the program under trace."""

    __slots__ = ("_tagloom_value",)
    get_cell: ClassVar[Callable[[object, object], Any]]
    """Set by `effects`: reads a cell."""

    def __init__(self, value: TracedValue) -> None:
        self._tagloom_value = value

    @property
    def _type(self) -> Type:
        return self._tagloom_value.type

    def __repr__(self) -> str:
        return f"<symbolic {self._tagloom_value.name}: {self._tagloom_value.type}>"

    __hash__ = _refuse("hashing, as in a set or a dict,", "compare: (x == a) | (x == b)")

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: object, **options: object) -> Any:
        """Apply the op for an operator with a NumPy array on its left; refuse any other NumPy function."""
        if function in UFUNC_OPS and method == "__call__" and not options:
            return Symbol.apply(self.resolve_op(UFUNC_OPS[function]), *operands)
        raise _concrete_value_error(self, f"np.{function.__name__}", _NUMPY_HINT)

    def __bool__(self) -> NoReturn:
        what, hint = describe_construct()
        raise _concrete_value_error(self, what, hint)

    __int__ = _refuse("int()", "write tl.astype(x, tl.int64)")
    __float__ = _refuse("float(), or a function of math,", "write tl.astype(x, tl.float64), or tl.sqrt(x)")
    __index__ = _refuse("range(), indexing or a size", "count with tl.while_loop; tl.take(x, i) takes an element")
    __complex__ = _refuse("complex()", "there are no complex dtypes")
    __dlpack__ = __dlpack_device__ = _refuse("DLPack", "return it from the function, and take it over then")
    __iter__ = _refuse("iterating, or unpacking,", "loop with tl.while_loop")
    __len__ = _refuse("len()", "a size that is known stands in x.shape; of cells, it is what tl.cells was given")
    __setitem__ = _refuse(
        "assigning to an element", "values do not change; write x = tl.scatter(x, value, i), or tl.put"
    )

    def __getitem__(self, key: Any) -> Any:
        """`cells[i]`, or an element or slice of an array."""
        return Symbol.get_cell(self, key) if isinstance(self.dtype, HandleType) else super().__getitem__(key)

    __array__ = _refuse("a NumPy function", _NUMPY_HINT)
    __round__ = __floor__ = __ceil__ = __trunc__ = _refuse(
        "rounding", "write tl.round(x), tl.floor(x), tl.ceil(x) or tl.trunc(x)"
    )
