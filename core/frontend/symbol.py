"""Symbolic values as Python sees them: operators become nodes; what needs a concrete value is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..dtypes import DType
from ..errors import Invalid
from ..types import HandleType, Shape
from .source import construct, here
from .tracing import Value

Apply = Callable[..., Any]


def _binary(op: str, *, swapped: bool = False) -> Any:
    def method(self: Symbol, other: object) -> Any:
        return Symbol.apply(op, other, self) if swapped else Symbol.apply(op, self, other)

    return method


def _unary(op: str) -> Any:
    def method(self: Symbol) -> Any:
        return Symbol.apply(op, self)

    return method


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
_OPERATORS: dict[np.ufunc, str] = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.divide: "divide",
    np.floor_divide: "floor_divide",
    np.remainder: "remainder",
    np.power: "pow",
    np.matmul: "matmul",
    np.less: "less",
    np.less_equal: "less_equal",
    np.greater: "greater",
    np.greater_equal: "greater_equal",
    np.equal: "equal",
    np.not_equal: "not_equal",
    np.bitwise_and: "logical_and",
    np.bitwise_or: "logical_or",
    np.bitwise_xor: "logical_xor",
}
"""The functions that NumPy's arrays call for Python's operators."""


class Symbol:
    """A value that will be known when the program runs. Operators make nodes of the program under trace."""

    __slots__ = ("_tagloom_value",)
    apply: Apply
    """Set by `api`: applies an op to operands."""
    get: Callable[[object, object], Any]
    """Set by `acts`: the value of a cell."""

    def __init__(self, value: Value) -> None:
        self._tagloom_value = value

    @property
    def dtype(self) -> DType:
        return self._tagloom_value.type.dtype

    @property
    def shape(self) -> Shape:
        return self._tagloom_value.type.shape

    def __repr__(self) -> str:
        return f"<symbolic {self._tagloom_value.name}: {self._tagloom_value.type}>"

    __add__, __radd__ = _binary("add"), _binary("add", swapped=True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", swapped=True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", swapped=True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", swapped=True)
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", swapped=True)
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", swapped=True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", swapped=True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", swapped=True)
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __and__, __rand__ = _binary("logical_and"), _binary("logical_and", swapped=True)
    __or__, __ror__ = _binary("logical_or"), _binary("logical_or", swapped=True)
    __xor__, __rxor__ = _binary("logical_xor"), _binary("logical_xor", swapped=True)
    __neg__, __abs__, __invert__ = _unary("negative"), _unary("abs"), _unary("logical_not")
    __hash__ = _refused("hashing, as in a set or a dict,", "compare: (x == a) | (x == b)")

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: object, **options: object) -> Any:
        """What operators with a NumPy array on their left hand over; functions of NumPy are refused."""
        if function in _OPERATORS and method == "__call__" and not options:
            return Symbol.apply(_OPERATORS[function], *operands)
        raise _concrete_needed(self, f"np.{function.__name__}", _NUMPY_HINT)

    def __bool__(self) -> NoReturn:
        what, hint = construct()
        raise _concrete_needed(self, what, hint)

    __int__ = _refused("int()", "write tl.astype(x, tl.int64)")
    __float__ = _refused("float(), or a function of math,", "write tl.astype(x, tl.float64), or tl.sqrt(x)")
    __index__ = _refused("range(), indexing or a size", "count with tl.while_loop")
    __iter__ = _refused("iterating, or unpacking,", "loop with tl.while_loop")
    __len__ = _refused("len()", "a size that is known stands in x.shape; of cells, it is what tl.cells was given")
    __setitem__ = _refused("assigning to an element", "values do not change; write cells = tl.put(cells, i, value)")

    def __getitem__(self, index: object) -> Any:
        """`cells[i]`; arrays have no op for it yet."""
        if isinstance(self.dtype, HandleType):
            return Symbol.get(self, index)
        hint = "pass elements as arguments of their own; no op takes them from an array yet"
        raise _concrete_needed(self, "indexing", hint)

    __array__ = _refused("a NumPy function", _NUMPY_HINT)
    __round__ = __floor__ = __ceil__ = __trunc__ = _refused("rounding", "write tl.astype(x, tl.int64)")
