"""Gradients by some rows of a variable: what a look-up in a table has for one."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core import dtypes
from ...core.frontend.functions import equal
from ...core.frontend.standard.creation import zeros_like
from ...core.frontend.standard.datatypes import astype
from ...core.frontend.standard.indexing import scatter, scatter_add, take
from ...core.frontend.standard.manipulation import expand_dims
from ...core.frontend.standard.statistics import argmax


class Rows(NamedTuple):
    """The gradient by an array of which only some rows matter: `values[k]` is that of row `indices[k]`. That of a row
    which comes more than once is the sum."""

    indices: Any
    """Integers, of shape (n,)."""
    values: Any
    """Floats, of shape (n, ...)."""


def summed(rows: Rows) -> Rows:
    """The same rows, where each copy has the sum over all copies: those are gathered at the first of them.

    >>> summed(Rows([5, 2, 5], [[1.0], [2.0], [4.0]])).values.tolist()
    [[5.0], [2.0], [5.0]]
    """
    same = equal(expand_dims(rows.indices, axis=1), expand_dims(rows.indices, axis=0))
    first = argmax(astype(same, dtypes.int64), axis=1)
    return Rows(rows.indices, take(scatter_add(zeros_like(rows.values), rows.values, first), first, axis=0))


def gathered(array: Any, indices: Any) -> Any:
    """These rows of an array."""
    return take(array, indices, axis=0)


def scattered(array: Any, indices: Any, values: Any) -> Any:
    """An array with other values in these rows."""
    return scatter(array, values, indices)
