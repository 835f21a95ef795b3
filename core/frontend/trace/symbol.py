"""Symbols: the Python objects for symbolic values, and the operators, attributes and methods that they share with
concrete arrays, after the Python Array API standard.

An operator applies an op by name. In a trace this adds a node; methods that need a concrete value raise Invalid (F1).
"""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, Usage
from ...ops.op import OPS
from ...types import HandleType, Type
from .captures import DeferredValue
from .choice import Choice
from .numbers import convert_operands, number_kind
from .program_builder import TracedValue, current_region, leak_error, suspended_region
from .python_operations import fail_as_python
from .source_location import describe_construct, user_location, user_unconverted_reason
from .stacked_items import REPEAT_ITEMS
from .text import AS_CHARACTERS

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the standard that `__array_namespace__` accepts; the last one is implemented."""
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
"""The op for each ufunc that NumPy calls for a Python operator."""
BITWISE_OPS = {
    "logical_and": "bitwise_and",
    "logical_or": "bitwise_or",
    "logical_xor": "bitwise_xor",
    "logical_not": "bitwise_invert",
}
"""The op of an operator on integers, by its logical op on bools."""
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
"""The methods that need elements: concrete arrays have them, symbols refuse them, variables forward them."""
FUNCTIONS_OF_NUMPY = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "absolute": "abs",
    "around": "round",
    "average": "mean",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "dot": "matmul",
    "fix": "trunc",
    "fliplr": "flip",
    "flipud": "flip",
    "fmax": "maximum",
    "fmin": "minimum",
    "hstack": "concat",
    "inner": "vecdot",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "norm": "linalg.vector_norm",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "swapaxes": "moveaxis",
    "transpose": "permute_dims",
    "unique": "unique_values",
    "vdot": "vecdot",
    "vstack": "concat",
}
"""The functions whose names in NumPy differ."""
METHOD_HINTS = {
    "at": "tl.scatter(x, value, index) replaces elements, tl.scatter_add(x, value, index) adds to them; there are "
    "tl.scatter_max, tl.scatter_min and tl.scatter_mul",
    **dict.fromkeys(("flatten", "ravel"), "write tl.reshape(x, (-1,))"),
    **dict.fromkeys(("item", "tolist"), "float(x), int(x) and np.asarray(x).tolist() take concrete arrays"),
    **dict.fromkeys(
        ("append", "extend", "insert", "pop", "remove", "index", "count", "clear", "reverse"),
        "this is an array; xs = list(x) makes a list of it, and a list as an argument is one",
    ),
    **dict.fromkeys(("numpy", "cpu", "data"), "np.asarray(x) takes concrete arrays"),
    **dict.fromkeys(("copy", "clone", "contiguous"), "arrays do not change, so no copy is needed"),
    **dict.fromkeys(
        ("add_", "mul_", "sub_", "div_", "zero_", "fill", "fill_", "copy_"),
        "an array does not change: write x = x + y",
    ),
    **dict.fromkeys(("backward", "grad", "requires_grad"), "tl.grad(f)(x) is the gradient of f; tl.Tape records"),
    **dict.fromkeys(("to", "float", "double", "half", "long", "int", "bool"), "write tl.astype(x, tl.float32)"),
    **dict.fromkeys(("dim", "nbytes", "itemsize"), "arrays have x.ndim, x.shape, x.size and x.dtype"),
    **dict.fromkeys(("bmm", "mm"), "write x @ y"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "write x == y, x < y"),
    "view": "write tl.reshape(x, shape)",
    "unsqueeze": "write tl.expand_dims(x, axis=axis)",
    "permute": "write tl.permute_dims(x, axes)",
    "expand": "write tl.broadcast_to(x, shape)",
    "clamp": "write tl.clip(x, min, max)",
    "masked_fill": "write tl.where(mask, value, x)",
    "index_select": "write tl.take(x, indices, axis=axis)",
    "unbind": "write tl.unstack(x)",
    "detach": "write tl.stop_gradient(x)",
    "t": "write x.T",
    "block_until_ready": "a call returns when its results are there",
}
"""Hints for other attributes that the arrays of other libraries have."""
ARRAY_METHODS: CellType = CellType(lambda array, name: None)
"""The function that finds the methods that symbols have beside those of the standard, given the symbol and the name.
`core/frontend/source/numpy_functions.py` sets it."""
_PACKAGE = __name__.partition(".")[0]


def array_namespace() -> Any:
    """The module with the standard's functions: the package itself."""
    return sys.modules[_PACKAGE]


def describe_call(name: str) -> str | None:
    """A hint to call the function that has this name in NumPy, of the namespace of arrays or of its `linalg`; None
    where there is none.

    >>> describe_call("reshape"), describe_call("inv")
    ('write tl.reshape(x, shape)', 'write tl.linalg.inv(x)')
    """
    name = FUNCTIONS_OF_NUMPY.get(name, name)
    namespace = array_namespace()
    if not name.startswith("linalg.") and not isinstance(getattr(namespace, name, None), FunctionType):
        name = f"linalg.{name}"
    module = namespace.linalg if name.startswith("linalg.") else namespace
    function = getattr(module, name.removeprefix("linalg."), None)
    if not isinstance(function, FunctionType):
        return None
    parameters = inspect.signature(function).parameters.values()
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    return f"write tl.{name}({', '.join(required)})"


OPERATOR_METHODS: dict[Callable[..., Any], tuple[str, int, bool]] = {}
"""For each operator method: its op, the number of operands, and whether they are swapped."""


def _binary(op: str, *, swapped: bool = False) -> Any:
    def method(self: ArrayOperators, other: object) -> Any:
        if type(other) is Choice:
            return NotImplemented
        is_repeated = op == "multiply" and type(other) in _SEQUENCES
        if (is_repeated or (type(other) is list and op in PYTHON_OPERATORS)) and number_kind(self) is not None:
            return _combine_with_sequence(op, self, other, swapped=swapped)
        if op in _RESULTS_FOR_OTHERS and type(other) in _OTHERS and isinstance(self, Symbol) and self._type.is_scalar:
            return _RESULTS_FOR_OTHERS[op]
        if not isinstance(self, Symbol):
            function = getattr(array_namespace(), self.resolve_op(op))
            return function(other, self) if swapped else function(self, other)
        left, right = convert_operands(op, *((other, self) if swapped else (self, other)))
        array: Any = left if isinstance(left, ArrayOperators) else right
        return getattr(array_namespace(), array.resolve_op(op))(left, right)

    OPERATOR_METHODS[method] = op, 2, swapped
    return method


_RESULTS_FOR_OTHERS = {"equal": False, "not_equal": True}
"""The result of a comparison of a number with something else, as in Python."""
_SEQUENCES = (list, tuple, str, bytes)
_SAMPLES = {"b": True, "i": 1, "f": 1.0}
PYTHON_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
}
"""Python's operators, but for `==` and `!=`, by their ops."""
_OTHERS = (str, bytes, type(None), tuple, list, dict, set, frozenset)


def _combine_with_sequence(op: str, number: ArrayOperators, items: Any, *, swapped: bool) -> Any:
    """The result that an operator has in Python for a number and a list, tuple or string: `*` with an integer repeats
    the items. Raises Usage, a TypeError, for any other operator; Invalid (F4) for a tuple or string that is repeated,
    since its length cannot depend on the data."""
    kind, name = number_kind(number), type(items).__name__
    if op != "multiply" or kind == "f":
        operands = (type(items)(), _SAMPLES[str(kind)])
        try:
            PYTHON_OPERATORS[op](*(operands if swapped else reversed(operands)))
        except TypeError as error:
            is_list = type(items) is list
            hint = "tl.asarray(xs) is an array, whose operators combine a number with each item" if is_list else None
            raise Usage(str(error), where=user_location(), hint=hint, python=TypeError) from None
    if type(items) is list:
        return REPEAT_ITEMS.cell_contents(items, number)
    if type(items) is str:
        return AS_CHARACTERS.cell_contents(items) * number
    raise Invalid(
        f"a {name} is repeated a symbolic number of times",
        rule="F4",
        where=user_location(),
        hint=f"tl.asarray(x) * n multiplies the items; tl.zeros(n) makes an array; a {name} has a fixed length",
        python=TypeError,
    )


def _unary(op: str) -> Any:
    def method(self: ArrayOperators) -> Any:
        operand = convert_operands(op, self)[0] if isinstance(self, Symbol) else self
        return getattr(array_namespace(), operand.resolve_op(op))(operand)

    OPERATOR_METHODS[method] = op, 1, False
    return method


class ArrayOperators:
    """The base class of arrays. An operator calls the function of its op in the namespace of arrays, as the standard
    defines it. No operator changes an array: `x += y` rebinds x to a new one."""

    __slots__ = ()

    @property
    def _type(self) -> Type:
        raise NotImplementedError

    def resolve_op(self, op: str) -> str:
        """The op that an operator means for this operand's dtype."""
        return BITWISE_OPS.get(op, op) if self.dtype.is_integer else op

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._type.dtype

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """The sizes of the axes: ints, and for a symbol a symbolic int64 for a size that is known only at run time.
        None for a shape of unknown rank."""
        return self._type.shape

    @property
    def ndim(self) -> int | None:
        """The number of axes; None where it is unknown."""
        return None if self._type.shape is None else len(self._type.shape)

    @property
    def size(self) -> int | None:
        """The number of elements; None where it is unknown."""
        shape = self._type.shape
        return None if shape is None or None in shape else math.prod(shape)  # type: ignore[arg-type]

    @property
    def device(self) -> str:
        """The device of the elements, always "cpu"."""
        return CPU

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """The transpose of a matrix. Raises Usage where there are not two axes."""
        if self.ndim != 2:
            raise Usage(
                ".T needs a matrix", where=user_location(), required="2 axes", got=self._type, hint="write x.mT"
            )
        return self.mT

    @property
    def mT(self) -> Any:  # noqa: N802 - the standard's name
        """The array with its last two axes swapped. Raises Usage where the rank is unknown or below 2."""
        rank = self.ndim
        if rank is None or rank < 2:
            raise Usage(
                ".mT needs matrices", where=user_location(), required="a known rank, at least 2", got=self._type
            )
        return array_namespace().matrix_transpose(self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return this array, since there is only one device. Raises Usage for another device."""
        check_device(device)
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module with the standard's functions. Raises Usage for an unknown version."""
        if api_version is not None and api_version not in API_VERSIONS:
            required = ", ".join(API_VERSIONS)
            raise Usage(
                "this version of the standard is not supported",
                where=user_location(),
                required=required,
                got=api_version,
            )
        return array_namespace()

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
            raise Usage(
                "pow takes no modulus", where=user_location(), hint="write tl.pow(x, y) % modulus", python=TypeError
            )
        return array_namespace().pow(
            *(convert_operands("pow", self, other) if isinstance(self, Symbol) else (self, other))
        )

    def __divmod__(self, other: object) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[Any, Any]:
        return other // self, other % self

    if not TYPE_CHECKING:  # which is to report unknown attributes

        def __getattr__(self, name: str) -> Any:
            """Raises Usage, which names the replacement for methods of other libraries' arrays. It is an AttributeError
            unless the number or array of Python has the attribute: `hasattr` must not say that it has not."""
            if name.startswith("_"):  # asked for by protocols
                raise AttributeError(name)
            method = ARRAY_METHODS.cell_contents(self, name) if isinstance(self, Symbol) else None
            if method is not None:
                return method
            hint = METHOD_HINTS.get(name) or describe_call(name)
            is_number = isinstance(self, Symbol) and self._type.is_scalar
            message = f"{'numbers' if is_number else 'arrays'} have no attribute {name}"
            is_of_python = isinstance(self, Symbol) and hasattr(python_class(self._type), name)
            error = NotImplementedError if is_of_python else AttributeError
            raise Usage(message, where=user_location(), hint=hint, python=error)

    def __pos__(self) -> Any:
        return array_namespace().positive(convert_operands("positive", self)[0] if isinstance(self, Symbol) else self)

    __hash__: Any = None

    def __getitem__(self, key: Any) -> Any:
        return array_namespace().index(self, (key,) if type(key) is str else key)


def python_class(type_: Type) -> type:
    """The class that values of a type have in Python."""
    classes = {"b": bool, "i": int, "u": int, "f": float}
    return classes.get(type_.dtype.kind, Symbol) if type_.is_scalar else np.ndarray


def check_device(device: Any) -> None:
    """Raises Usage for any device but the CPU; None is the CPU."""
    if device not in (None, CPU):
        raise Usage("there is no such device", where=user_location(), required=repr(CPU), got=repr(device))


def _refusing_method(construct: str, hint: str) -> Any:
    def method(self: Symbol, *arguments: object, **options: object) -> NoReturn:
        raise _concrete_value_error(self, construct, hint)

    return method


def _concrete_value_error(symbol: Symbol, construct: str, hint: str) -> Invalid:
    if current_region() is None and suspended_region() is None:
        return leak_error([symbol._tagloom_value])
    return Invalid(
        f"{construct} needs a concrete value, and {symbol!r} is symbolic while tagloom traces the function",
        rule="F1",
        where=user_location(),
        hint=hint,
        python=TypeError,
    )


def _python_number(operand: Any) -> Any:
    """A scalar of NumPy as the number of Python that has its dtype; anything else unchanged."""
    return operand.item() if isinstance(operand, np.bool_ | np.int64 | np.float64) else operand


_UFUNC_METHODS = {
    "add.reduce": "sum",
    "multiply.reduce": "prod",
    "maximum.reduce": "max",
    "minimum.reduce": "min",
    "logical_and.reduce": "all",
    "logical_or.reduce": "any",
    "add.accumulate": "cumulative_sum",
    "multiply.accumulate": "cumulative_prod",
    "maximum.accumulate": "cummax",
    "minimum.accumulate": "cummin",
    "logaddexp.reduce": "logsumexp",
    "logaddexp.accumulate": "cumlogsumexp",
    "add.at": "scatter_add",
    "multiply.at": "scatter_mul",
    "maximum.at": "scatter_max",
    "minimum.at": "scatter_min",
}
"""The functions for methods of NumPy's ufuncs, by the ufunc and the method."""
MAX_UNROLLED_ELEMENTS = 1000
"""The most elements of the first axis that iterating over a symbol gives: each is a node of the program."""
_NO_FUNCTION_HINT = "tagloom has no function of that name; tl.callback(function, x, returns=tl.float64) calls Python"


class Symbol(ArrayOperators):
    """A value that is known only when the program runs. Operators add nodes to the program under trace."""

    __slots__ = ("_tagloom_value",)

    def __init__(self, value: TracedValue) -> None:
        self._tagloom_value = value

    @property
    def _type(self) -> Type:
        return self._tagloom_value.type

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """The sizes of the axes: ints, and a symbolic int64 for a size that is known only at run time. None for a shape
        of unknown rank."""
        shape = self._type.shape
        if shape is None or None not in shape:
            return shape
        return tuple(SymbolicSize(self, axis) if size is None else size for axis, size in enumerate(shape))

    def bit_length(self) -> Any:
        """The number of bits of an integer, without its sign, as of Python's int. Raises AttributeError for others."""
        if not self._type.is_scalar or self._type.dtype.kind not in "biu":
            fail_as_python(AttributeError(f"{self._type} has no attribute 'bit_length'"))
        namespace = array_namespace()
        if self._type.dtype.kind == "b":
            return namespace.astype(self, dtypes.int64)
        return namespace.sum(namespace.astype((abs(self) >> namespace.arange(64)) != 0, dtypes.int64))

    def __repr__(self) -> str:
        return f"<symbolic {self._tagloom_value.name}: {self._tagloom_value.type}>"

    def __str__(self) -> str:
        """The same as `repr`; raises Invalid (F1) in a function that cannot be converted, which would compute with this
        text instead of the text of the value."""
        reason = user_unconverted_reason()
        if reason is not None:
            hint = f"{reason}; repr(x) is the name of the symbol, and tl.print prints the value when the program runs"
            raise _concrete_value_error(self, "str(), print() or an f-string", hint)
        return repr(self)

    __hash__ = _refusing_method("hashing, as in a set or a dict,", "compare: (x == a) | (x == b)")

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: object, **options: object) -> Any:
        """Apply the op for an operator with a NumPy array on its left; refuse any other NumPy function."""
        if function in UFUNC_OPS and method == "__call__" and not options:
            op = UFUNC_OPS[function]
            left, right = convert_operands(op, *map(_python_number, operands))
            return getattr(array_namespace(), (left if isinstance(left, Symbol) else right).resolve_op(op))(left, right)
        name = f"{function.__name__}.{method}" if method != "__call__" else function.__name__
        hint = describe_call(_UFUNC_METHODS.get(name, name))
        if method == "outer" and (op := UFUNC_OPS.get(function, function.__name__)) in OPS:
            hint = f"write tl.{op}(tl.expand_dims(x, axis=-1), y)"
        is_of_numpy = getattr(np, function.__name__, None) is function  # not one of SciPy
        raise _concrete_value_error(self, f"np.{name}" if is_of_numpy else name, hint or _NO_FUNCTION_HINT)

    def __array_function__(self, function: Any, *call: object) -> NoReturn:
        """Refuse a NumPy function that is not a ufunc, and name it."""
        name = function.__name__
        hint = METHOD_HINTS.get(name) or describe_call(name) or _NO_FUNCTION_HINT
        module = function.__module__.replace("numpy", "np", 1)
        raise _concrete_value_error(self, f"{module}.{name}", hint)

    def __copy__(self) -> Symbol:
        """The symbol itself: its value does not change."""
        return self

    def __deepcopy__(self, memo: object) -> Symbol:
        """The symbol itself, as in `dataclasses.asdict` of an object that holds it."""
        return self

    def __bool__(self) -> NoReturn:
        construct, hint = describe_construct()
        raise _concrete_value_error(self, construct, hint)

    __int__ = _refusing_method("int()", "write tl.astype(x, tl.int64)")
    __float__ = _refusing_method("float(), or a function of math,", "write tl.astype(x, tl.float64), or tl.sqrt(x)")
    __index__ = _refusing_method(
        "range(), indexing or a size", "count with tl.while_loop; tl.take(x, i) takes an element"
    )
    __complex__ = _refusing_method("complex()", "there are no complex dtypes")
    __dlpack__ = __dlpack_device__ = _refusing_method("DLPack", "return it from the function, and export the result")
    __contains__ = _refusing_method("`in`", "write tl.any(x == a)")

    def _check_axes(self, construct: str, hint: str | None = None) -> None:
        """Raises Usage, a TypeError, for a number, which has no axes."""
        if current_region() is not None and self._type.is_scalar and not isinstance(self._type.dtype, HandleType):
            raise Usage(
                f"a number has no {construct}", where=user_location(), got=repr(self), hint=hint, python=TypeError
            )

    def __iter__(self) -> Iterator[Any]:
        """The elements along the first axis. Raises Usage for a number; Invalid (F1) for a size that is large, or not
        static."""
        self._check_axes("elements to iterate over or to unpack", "range(n) counts to an integer n")
        size = self._type.shape[0] if self._type.shape else None
        if size is None or size > MAX_UNROLLED_ELEMENTS:
            hint = "loop with tl.while_loop, tl.map or tl.foldl; tl.sum(x) adds all elements, x[0] is the first"
            if size is not None:
                hint = f"up to {MAX_UNROLLED_ELEMENTS:,} elements are unrolled; {hint}"
            raise _concrete_value_error(self, "iterating, or unpacking,", hint)
        return (self[at] for at in range(size))

    def __len__(self) -> int:
        """The size of the first axis. Raises Usage for a number, Invalid (F1) where the size is not static."""
        self._check_axes("len()")
        size = self._type.shape[0] if self._type.shape else None
        if size is None:
            hint = "x.shape[0] is a symbolic size; the number of cells is what tl.cells was given"
            raise _concrete_value_error(self, "len()", hint)
        return size

    def __format__(self, spec: str) -> str:
        """The symbol's name and type; raises Invalid (F1) for a format of its elements."""
        if spec:
            raise _concrete_value_error(self, "a format", "tl.print prints values when the program runs")
        return str(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        """`cells[i] = value`; raises Invalid (F1) for an array, since values do not change."""
        if not isinstance(self.dtype, HandleType):
            raise _concrete_value_error(
                self, "assigning to an element", "values do not change; write x = tl.scatter(x, value, i)"
            )
        array_namespace().put(self, key, value)

    __delitem__ = _refusing_method(
        "deleting an element", "values do not change; tl.concat((x[:i], x[i + 1:])) omits one"
    )

    def __getitem__(self, key: Any) -> Any:
        """`cells[i]`, or an element or slice of an array."""
        return array_namespace().get(self, key) if isinstance(self.dtype, HandleType) else super().__getitem__(key)

    __array__ = _refusing_method(
        "a NumPy function",
        "use tagloom's function of that name, as in tl.sqrt(x); tl.stack([x, y]) makes an array of values",
    )
    __round__ = __floor__ = __ceil__ = __trunc__ = _refusing_method(
        "rounding", "write tl.round(x), tl.floor(x), tl.ceil(x) or tl.trunc(x)"
    )


class SymbolicSize(Symbol, DeferredValue):
    """The size of an axis, known only at run time, int64. Its node is added where the size is first used, so that a
    function which only reads other sizes has no node for it."""

    __slots__ = ("_array", "_axis", "_values")

    def __init__(self, array: Symbol, axis: int) -> None:
        self._array, self._axis = array, axis
        self._values: list[TracedValue] = []

    @property
    def _tagloom_value(self) -> TracedValue:  # type: ignore[override]
        region = current_region()
        regions = [] if region is None else [region, *region.enclosing_regions()]
        for value in self._values:
            if any(value.region is region for region in regions):
                return value
        self._values.append(array_namespace().size(self._array, axis=self._axis)._tagloom_value)
        return self._values[-1]

    @property
    def value(self) -> Symbol:
        """The size, with its node in the region under trace."""
        return Symbol(self._tagloom_value)

    @property
    def _type(self) -> Type:
        return _INT64

    def __repr__(self) -> str:
        return f"<symbolic size of axis {self._axis} of {self._array!r}>"


_INT64 = Type(dtypes.int64)
