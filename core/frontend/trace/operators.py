"""What arrays of the standard have, symbolic ones and concrete ones alike: operators, attributes and methods.

Every operator is an op, applied by name. Who has a value knows its type, and nothing else is asked here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...dtypes import DType
from ...errors import Usage
from ...types import Shape, Type
from .source_location import user_location

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the Python Array API standard that may be asked for; the last is the one that is kept."""
CPU = "cpu"
"""The only device."""
UFUNC_OPS: dict[np.ufunc, str] = {
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
    np.left_shift: "bitwise_left_shift",
    np.right_shift: "bitwise_right_shift",
}
"""The functions that NumPy's arrays call for Python's operators."""
BITWISE_OPS = {
    "logical_and": "bitwise_and",
    "logical_or": "bitwise_or",
    "logical_xor": "bitwise_xor",
    "logical_not": "bitwise_invert",
}
"""Operators that are logic of bools are of integers' bits."""
ELEMENT_METHODS = (
    *(
        "__bool__",
        "__int__",
        "__float__",
        "__complex__",
        "__index__",
        "__round__",
        "__floor__",
        "__ceil__",
        "__trunc__",
    ),
    *("__len__", "__iter__", "__array__", "__dlpack__", "__dlpack_device__"),
)
"""What asks for the elements: concrete arrays have it, symbolic ones refuse it, and variables ask what they hold."""
OPERATOR_METHODS: dict[Callable[..., Any], tuple[str, int, bool]] = {}
"""The methods that are operators: which op each is, of how many operands, and whether they are swapped."""


def _binary(op: str, *, swapped: bool = False) -> Any:
    def method(self: ArrayOperators, other: object) -> Any:
        name = self.resolve_op(op)
        return ArrayOperators.apply(name, other, self) if swapped else ArrayOperators.apply(name, self, other)

    OPERATOR_METHODS[method] = op, 2, swapped
    return method


def _unary(op: str) -> Any:
    def method(self: ArrayOperators) -> Any:
        return ArrayOperators.apply(self.resolve_op(op), self)

    OPERATOR_METHODS[method] = op, 1, False
    return method


class ArrayOperators:
    """The operators of arrays. There are none that change an array: `x += y` makes x another one."""

    __slots__ = ()
    apply: ClassVar[Callable[..., Any]]
    """Set by `api`: applies an op to operands."""
    getitem: ClassVar[Callable[[Any, Any], Any]]
    """Set by `indexing`: what a key takes out of an array."""
    namespace: ClassVar[Any] = None
    """Set by the root: the functions of the standard."""

    @property
    def _type(self) -> Type:
        raise NotImplementedError

    def resolve_op(self, op: str) -> str:
        """The op of one of Python's operators, this being an operand."""
        return BITWISE_OPS.get(op, op) if self.dtype.is_integer else op

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._type.dtype

    @property
    def shape(self) -> Shape:
        """The sizes; None for one that the run decides, and for a shape of which nothing is known."""
        return self._type.shape

    @property
    def ndim(self) -> int | None:
        """How many axes there are, where that is known."""
        return None if self.shape is None else len(self.shape)

    @property
    def size(self) -> int | None:
        """How many elements there are, where that is known."""
        if self.shape is None or None in self.shape:
            return None
        return math.prod(self.shape)  # type: ignore[arg-type]

    @property
    def device(self) -> str:
        """Where the elements are."""
        return CPU

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """The rows of a matrix as columns."""
        if self.ndim != 2:
            raise Usage(
                ".T is of matrices", where=user_location(), required="2 axes", got=self._type, hint="write x.mT"
            )
        return self.mT

    @property
    def mT(self) -> Any:  # noqa: N802 - the standard's name
        """The last two axes, swapped."""
        rank = self.ndim
        if rank is None or rank < 2:
            raise Usage(".mT is of matrices", where=user_location(), required="2 axes or more, known", got=self._type)
        return ArrayOperators.apply("permute_dims", self, axes=(*range(rank - 2), rank - 1, rank - 2))

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array, on a device, of which there is one."""
        check_device(device)
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the standard."""
        if api_version is not None and api_version not in API_VERSIONS:
            required = ", ".join(API_VERSIONS)
            raise Usage(
                "no version of the standard that is kept", where=user_location(), required=required, got=api_version
            )
        return ArrayOperators.namespace

    __add__, __radd__ = _binary("add"), _binary("add", swapped=True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", swapped=True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", swapped=True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", swapped=True)
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", swapped=True)
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", swapped=True)
    __rpow__ = _binary("pow", swapped=True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", swapped=True)
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __and__, __rand__ = _binary("logical_and"), _binary("logical_and", swapped=True)
    __or__, __ror__ = _binary("logical_or"), _binary("logical_or", swapped=True)
    __xor__, __rxor__ = _binary("logical_xor"), _binary("logical_xor", swapped=True)
    __lshift__, __rlshift__ = _binary("bitwise_left_shift"), _binary("bitwise_left_shift", swapped=True)
    __rshift__, __rrshift__ = _binary("bitwise_right_shift"), _binary("bitwise_right_shift", swapped=True)
    __neg__, __abs__, __invert__ = _unary("negative"), _unary("abs"), _unary("logical_not")

    def __pow__(self, other: object, modulus: object = None) -> Any:
        if modulus is not None:
            raise Usage("pow has two operands here", where=user_location(), hint="write tl.pow(x, y) % modulus")
        return ArrayOperators.apply("pow", self, other)

    def __pos__(self) -> Any:
        return ArrayOperators.namespace.positive(self)

    __hash__: Any = None

    def __getitem__(self, key: Any) -> Any:
        return ArrayOperators.getitem(self, key)


def check_device(device: Any) -> None:
    """Refuse all devices but the one that there is."""
    if device not in (None, CPU):
        raise Usage("there is no such device", where=user_location(), required=repr(CPU), got=repr(device))
