"""What rules are written in: terms, on which Python's operators, and every op as a method of its name, make ops.

>>> class Said:
...     def __call__(self, op, *operands, **attributes):
...         return f"{op}({', '.join(map(str, operands))})"
>>> x = Term(Said(), "x")
>>> (1.0 - x.tanh() * x).value
'subtract(1.0, multiply(tanh(x), x))'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ...types import Type
from ..op import Gradient, OpBuilder

Adjoint: TypeAlias = Callable[..., Any]
"""The adjoint of one operand: of that of the result, the result, and all operands, which are terms; attributes by
keyword."""
Slope: TypeAlias = Callable[..., Any]
"""By how much the result changes where one operand does: of all operands, and the result."""


class Term:
    """A value, and what makes ops of it."""

    __slots__ = ("builder", "value")

    def __init__(self, do: OpBuilder, value: Any) -> None:
        self.builder, self.value = do, value

    @property
    def type(self) -> Type:
        """As far as it is known."""
        return self.builder.type(self.value)

    def op(self, op: str, *operands: Any, **attributes: Any) -> Term:
        """An op of terms and of Python's numbers."""
        return Term(self.builder, self.builder(op, *map(_unwrap, operands), **attributes))

    def __getattr__(self, op: str) -> Callable[..., Term]:
        def method(*others: Any, **attributes: Any) -> Term:
            return self.op(op, self, *others, **attributes)

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


def zeros_like(x: Term) -> Term:
    """0 of its dtype, for each of its elements."""
    return x.multiply_no_nan(0.0)


def iota(count: Term) -> Term:
    """The integers from 0, so many."""
    return count.op("arange", 0, count, 1)


def _unwrap(operand: Any) -> Any:
    return operand.value if isinstance(operand, Term) else operand


def adjoint_rule(*each: Adjoint | None) -> Gradient:
    """A rule of the adjoint of each operand, the last one for further operands, too; None: it has none. What they give
    is converted to the dtype of the operand."""

    def gradient(do: OpBuilder, index: int, adjoint: Any, result: Any, *operands: Any, **attributes: Any) -> Any:
        of = each[min(index, len(each) - 1)]
        if of is None:
            return None
        made = of(Term(do, adjoint), Term(do, result), *(Term(do, operand) for operand in operands), **attributes)
        if made is None:
            return None
        wanted = do.type(operands[index]).dtype
        return (made if made.type.dtype is wanted else made.astype(dtype=wanted)).value

    return gradient


def slopes(*each: Slope | None) -> Gradient:
    """The rule of an op that computes element by element, of the slope along each operand; None: it is 0. An adjoint of
    0 stays 0, whatever the slope."""
    return adjoint_rule(*(of and _slope_to_adjoint(of) for of in each))


def _slope_to_adjoint(slope: Slope) -> Adjoint:
    return lambda g, made, *operands: slope(*operands, made).multiply_no_nan(g)


zero_gradient = adjoint_rule(None)
"""The rule of an op whose result stays the same as far as it does not jump: no operand has an adjoint."""
