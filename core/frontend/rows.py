"""Gradients by rows: what a table of which only rows are taken has for one, beside an array of its own shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..value import literal
from .concrete import Concrete
from .operators import Operators


class Rows(NamedTuple):
    """The gradient by an array of which only some rows matter: `values[k]` is that of row `indices[k]`. That of a row
    which comes more than once is the sum."""

    indices: Any
    """Integers from 0, of shape (n,)."""
    values: Any
    """Floats, of shape (n, ...)."""


def no_rows(table: Any) -> Rows:
    """The gradient by a table of which no row is taken."""
    indices = Concrete(literal(np.zeros(0, np.int64)))
    return Rows(indices, Operators.apply("take", table, indices, axis=0))


def joined(one: Rows, other: Rows) -> Rows:
    """The sum of two gradients by rows: the rows of both."""
    pairs = zip(one, other, strict=True)
    return Rows(*(Operators.apply("concat", *pair, axis=0) for pair in pairs))


def dense(rows: Rows, table: Any) -> Any:
    """The same gradient as an array of the shape of the table."""
    zeros = Operators.apply("multiply_no_nan", table, 0.0)
    return Operators.apply("scatter_add", zeros, rows.values, rows.indices)


def summed(rows: Rows) -> Rows:
    """The same rows, where each copy has the sum over all copies.

    >>> import tagloom as tl
    >>> summed(Rows(tl.asarray([5, 2, 5]), tl.asarray([[1.0], [2.0], [4.0]]))).values
    asarray([[5.],
             [2.],
             [5.]], dtype=float64)
    """
    numbers = Operators.apply("inverse_indices", rows.indices)
    zeros = Operators.apply("multiply_no_nan", rows.values, 0.0)
    totals = Operators.apply("scatter_add", zeros, rows.values, numbers)
    return Rows(rows.indices, Operators.apply("take", totals, numbers, axis=0))
