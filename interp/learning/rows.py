"""Steps by some rows of a variable: what a look-up in a table has for a gradient is of these alone."""

from __future__ import annotations

from typing import Any

from ...core.frontend.rows import Rows
from ...core.frontend.standard.creation import zeros_like
from ...core.frontend.standard.indexing import scatter, scatter_add, take
from ...core.frontend.standard.searching import inverse_indices


def summed(rows: Rows) -> Rows:
    """The same rows, where each copy has the sum over all copies.

    >>> summed(Rows([5, 2, 5], [[1.0], [2.0], [4.0]])).values.tolist()
    [[5.0], [2.0], [5.0]]
    """
    numbers = inverse_indices(rows.indices)
    return Rows(rows.indices, take(scatter_add(zeros_like(rows.values), rows.values, numbers), numbers, axis=0))


def gathered(array: Any, indices: Any) -> Any:
    """These rows of an array."""
    return take(array, indices, axis=0)


def scattered(array: Any, indices: Any, values: Any) -> Any:
    """An array with other values in these rows."""
    return scatter(array, values, indices)
