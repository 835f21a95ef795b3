"""Gradients by rows as optimizers have them."""

from __future__ import annotations

from ...autodiff.rows import Rows
from ..trace.operators import Operators


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
