"""Sparse gradients by rows, prepared for optimizers."""

from __future__ import annotations

from ...autodiff.rows import Rows
from ..trace.operators import ArrayOperators


def sum_duplicate_rows(rows: Rows) -> Rows:
    """The same rows, where every duplicate has the sum over all duplicates of its index.

    >>> import tagloom as tl
    >>> sum_duplicate_rows(Rows(tl.asarray([5, 2, 5]), tl.asarray([[1.0], [2.0], [4.0]]))).values
    asarray([[5.],
             [2.],
             [5.]], dtype=float64)
    """
    numbers = ArrayOperators.apply("inverse_indices", rows.indices)
    zeros = ArrayOperators.apply("multiply_no_nan", rows.values, 0.0)
    totals = ArrayOperators.apply("scatter_add", zeros, rows.values, numbers)
    return Rows(rows.indices, ArrayOperators.apply("take", totals, numbers, axis=0))
