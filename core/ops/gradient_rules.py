"""The language of gradient rules: terms, which are operands whose operators and methods apply ops, and functions that
make rules.

The rule of an op is the column `gradient` of its row; helpers of one family are in the file of its rows. Rules only
apply ops and never compute, so that one rule serves graphs, tapes and every order of derivative.

>>> class Text:
...     def __call__(self, op, *operands, **attributes):
...         return f"{op}({', '.join(map(str, operands))})"
>>> x = Term(Text(), "x")
>>> (1.0 - x.tanh() * x).value
'subtract(1.0, multiply(tanh(x), x))'

At kinks: equal operands of minimum and maximum share the adjoint by halves; abs, copysign and hypot have slope 0 at 0;
pow with a base of 0 has slope 0 along its exponent; the extremes of a reduction share the adjoint equally; sort and
unique_values take the first of equal elements. Outside the domain of a function the slope is the value of its formula.
docs/gradients.md lists these conventions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..types import Type
from .op import Gradient, OpBuilder
from .type_rules import require_sizes, resolve_axis

Adjoint: TypeAlias = Callable[..., Any]
"""The adjoint of one operand as a function of the result's adjoint, the result and all operands, which are terms;
attributes are keyword arguments."""
Slope: TypeAlias = Callable[..., Any]
"""The partial derivative along one operand as a function of all operands and the result."""


class Term:
    """A value and the builder that applies ops to it."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: OpBuilder, value: Any) -> None:
        self.builder, self.value = builder, value

    @property
    def type(self) -> Type:
        """The type of the value; sizes may be unknown."""
        return self.builder.type(self.value)

    def op(self, op: str, *operands: Any, **attributes: Any) -> Term:
        """Apply an op to terms and Python numbers."""
        return Term(self.builder, self.builder(op, *map(_unwrap, operands), **attributes))

    def __getattr__(self, op: str) -> Callable[..., Term]:
        def method(*operands: Any, **attributes: Any) -> Term:
            return self.op(op, self, *operands, **attributes)

        return method

    def __add__(self, other: Any) -> Term:
        return self.op("add", self, other)

    def __radd__(self, other: float) -> Term:
        return self.op("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return self.op("subtract", self, other)

    def __rsub__(self, other: float) -> Term:
        return self.op("subtract", other, self)

    def __mul__(self, other: Any) -> Term:
        return self.op("multiply", self, other)

    def __rmul__(self, other: float) -> Term:
        return self.op("multiply", other, self)

    def __truediv__(self, other: Any) -> Term:
        return self.op("divide", self, other)

    def __rtruediv__(self, other: float) -> Term:
        return self.op("divide", other, self)

    def __matmul__(self, other: Any) -> Term:
        return self.op("matmul", self, other)

    def __neg__(self) -> Term:
        return self.op("negative", self)


def _unwrap(operand: Any) -> Any:
    return operand.value if isinstance(operand, Term) else operand


def adjoint_rule(*adjoints: Adjoint | None) -> Gradient:
    """A rule from the adjoint of each operand; the last one serves all further operands, and None means no adjoint.
    Each adjoint is converted to the dtype of its operand."""

    def gradient(builder: OpBuilder, index: int, adjoint: Any, result: Any, *operands: Any, **attributes: Any) -> Any:
        function = adjoints[min(index, len(adjoints) - 1)]
        if function is None:
            return None
        term = function(
            Term(builder, adjoint),
            Term(builder, result),
            *(Term(builder, operand) for operand in operands),
            **attributes,
        )
        if term is None:
            return None
        dtype = builder.type(operands[index]).dtype
        return (term if term.type.dtype is dtype else term.astype(dtype=dtype)).value

    return gradient


def slopes(*partials: Slope | None) -> Gradient:
    """The rule of an elementwise op, from its partial derivative along each operand; None means 0. An adjoint of 0
    stays 0 whatever the slope is."""
    return adjoint_rule(*(partial and _slope_to_adjoint(partial) for partial in partials))


def _slope_to_adjoint(slope: Slope) -> Adjoint:
    return lambda g, z, *operands: slope(*operands, z).multiply_no_nan(g)


zero_gradient = adjoint_rule(None)
"""The rule of a piecewise constant op: no operand has an adjoint."""


def movement_rule(op: str) -> Gradient:
    """The rule of an op whose result consists of elements of its first operand."""
    return adjoint_rule(lambda g, z, *operands, **attributes: scatter_back(op, g, *operands, **attributes), None)


def scatter_back(op: str, g: Term, x: Term, *operands: Term, **attributes: Any) -> Term:
    """Add up adjoints at the elements of x from which `op` moved them. To find these elements, the op is applied to the
    numbers of the elements, which it moves in the same way."""
    sources = x.op(op, iota(x.size(axis=None)).reshape_like(x), *operands, **attributes)
    return zeros_like(x).reshape(shape=(-1,)).scatter_add(g, sources).reshape_like(x)


def zeros_like(x: Term) -> Term:
    """Zeros of the dtype and shape of x."""
    return x.multiply_no_nan(0.0)


def iota(count: Term) -> Term:
    """The integers from 0 below `count`."""
    return count.op("arange", 0, count, 1)


def flip(x: Term, axis: int) -> Term:
    """x with the elements along an axis in reverse order."""
    return index_along(x, axis, "::-1")


def index_along(x: Term, axis: int, key: str) -> Term:
    """The elements that a key takes along one axis."""
    return x.index(key=":, " * resolve_axis(axis, x.type) + key)


def product_before(x: Term, axis: int) -> Term:
    """For each factor along an axis the product of those before it; 1 for the first."""
    ones = zeros_like(index_along(x, axis, ":1")) + 1.0
    return ones.concat(index_along(x, axis, ":-1"), axis=axis).cumulative_prod(axis=axis)


def product_after(x: Term, axis: int) -> Term:
    """For each factor along an axis the product of those behind it; 1 for the last."""
    return flip(product_before(flip(x, axis), axis), axis)


def rank(x: Term) -> int:
    """The number of axes; raises Invalid where it is unknown."""
    return len(require_sizes(x.type))


def transpose(x: Term) -> Term:
    """x with its last two axes exchanged."""
    axes = range(rank(x))
    return x.permute_dims(axes=(*axes[:-2], axes[-1], axes[-2]))


def row_vector(x: Term) -> Term:
    """A vector as a matrix of one row."""
    return x.index(key="..., None, :")


def column_vector(x: Term) -> Term:
    """A vector as a matrix of one column."""
    return x.index(key="..., None")
