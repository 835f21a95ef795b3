"""Operators on numbers that are no arrays: sizes, and elements that are read from arrays. A number is an int, a float
or a bool of Python if it is known before the run."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..operations import require, row, tl
from .common import axis_position, dtype_of, is_number, rank_of, to_dtype

OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (operator.add, "add"), "sub": (operator.sub, "subtract"), "mul": (operator.mul, "multiply"),
    "floordiv": (operator.floordiv, "floor_divide"), "mod": (operator.mod, "remainder"),
    "truediv": (operator.truediv, "divide"), "pow": (operator.pow, "pow"), "eq": (operator.eq, "equal"),
    "ne": (operator.ne, "not_equal"), "lt": (operator.lt, "less"), "le": (operator.le, "less_equal"),
    "gt": (operator.gt, "greater"), "ge": (operator.ge, "greater_equal"), "and_": (operator.and_, "logical_and"),
    "or_": (operator.or_, "logical_or"),
}  # fmt: skip


def as_array(x: Any) -> Any:
    """An operand whose number of Python is an array without axes, which loops and branches carry."""
    return np.asarray(x, dtype_of(x).numpy if not isinstance(x, float) else np.float64) if is_number(x) else x


def check_bits(value: Any) -> Any:
    """The number itself; raises Malformed for an integer of more than 64 bits."""
    require(not isinstance(value, int) or -(2**63) <= value < 2**63, "a number of the program needs more than 64 bits")
    return value


def power(a: Any, b: Any) -> Any:
    """A power, which is not computed if it is an integer of very many bits."""
    is_huge = isinstance(a, int) and isinstance(b, int) and b * a.bit_length() > 128
    require(not is_huge or abs(a) <= 1, "a number of the program needs more than 64 bits")
    return a**b


def register_operator(name: str, python: Callable[..., Any], function: str) -> None:
    @row(name, dialect="_operator")
    def compute(a: Any, b: Any) -> Any:
        if is_number(a) and is_number(b):
            return check_bits(python(a, b) if name != "pow" else power(a, b))
        x, y = as_array(a), as_array(b)
        if function == "divide" or "f" in (dtype_of(x).kind, dtype_of(y).kind):
            x, y = (to_dtype(operand, tl.float64) for operand in (x, y))
        return getattr(tl, function)(x, y)


for _name, (_python, _function) in OPERATORS.items():
    register_operator(_name, _python, _function)


@row("neg", dialect="_operator")
def neg(a: Any) -> Any:
    return -a if is_number(a) else tl.negative(a)


@row("sym_max", dialect="torch")
def sym_max(a: Any, b: Any) -> Any:
    return max(a, b) if is_number(a) and is_number(b) else tl.maximum(as_array(a), as_array(b))


@row("sym_min", dialect="torch")
def sym_min(a: Any, b: Any) -> Any:
    return min(a, b) if is_number(a) and is_number(b) else tl.minimum(as_array(a), as_array(b))


@row("sym_not", dialect="torch")
def sym_not(a: Any) -> Any:
    return not a if is_number(a) else tl.logical_not(a)


@row("sym_float", dialect="torch")
def sym_float(a: Any) -> Any:
    return float(a) if is_number(a) else tl.astype(a, tl.float64)


@row("sym_int", dialect="torch")
def sym_int(a: Any) -> Any:
    return int(a) if is_number(a) else tl.astype(a, tl.int64)


@row("trunc", dialect="math")
def trunc(x: Any) -> Any:
    return math.trunc(x) if is_number(x) else tl.astype(tl.trunc(x), tl.int64)


@row("ceil", dialect="math")
def ceil(x: Any) -> Any:
    return math.ceil(x) if is_number(x) else tl.astype(tl.ceil(x), tl.int64)


@row("floor", dialect="math")
def floor(x: Any) -> Any:
    return math.floor(x) if is_number(x) else tl.astype(tl.floor(x), tl.int64)


@row("sym_size")
def sym_size(self: Any, dim: int | None = None) -> Any:
    sizes = tl.shape(self)
    return list(sizes) if dim is None else sizes[axis_position(dim, rank_of(self))]


@row("sym_numel")
def sym_numel(self: Any) -> Any:
    sizes = tl.shape(self)
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else tl.size(self)


@row("item", "_local_scalar_dense")
def item(self: Any) -> Any:
    """The element of an array of one element."""
    if isinstance(self, np.ndarray):
        return self.reshape(()).item()
    element = self if rank_of(self) == 0 else tl.reshape(self, ())
    kind = dtype_of(self).kind
    return element if kind == "b" else to_dtype(element, tl.float64 if kind == "f" else tl.int64)


@row("is_nonzero")
def is_nonzero(self: Any) -> Any:
    element = item(self)
    if is_number(element):
        return bool(element)
    dtype = dtype_of(element)
    return element if dtype.kind == "b" else tl.not_equal(element, np.asarray(0, dtype.numpy))


@row("_assert_scalar", is_folded=False)
def assert_scalar(self: Any, assert_msg: str = "an assertion of the program") -> Any:
    require(bool(self) if is_number(self) else self, assert_msg)
    return ()


@row("_assert_async", is_folded=False)
def assert_async(self: Any, assert_msg: str = "an assertion of the program") -> Any:
    require(is_nonzero(self), assert_msg)
    return ()


@row("_functional_assert_async", "_functional_assert_scalar", is_folded=False)
def functional_assert(self: Any, assert_msg: str, dep_token: Any) -> Any:
    assert_async(self, assert_msg)
    return dep_token


@row("sym_constrain_range_for_size", "sym_constrain_range", is_folded=False)
def constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> Any:
    """A promise to PyTorch's compiler; the program has its own assertions."""
    return ()


@row("_assert_tensor_metadata", is_folded=False)
def assert_tensor_metadata(a: Any, size: Any = None, stride: Any = None, dtype: Any = None) -> Any:
    """The types of arrays are checked where they are computed."""
    return ()
