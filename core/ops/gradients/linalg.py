"""Rules of products of matrices. Those of LAPACK's are in `factor`."""

from __future__ import annotations

from collections.abc import Mapping

from ..axes import sizes
from ..op import Gradient
from .term import Term, adjoints


def rank(x: Term) -> int:
    return len(sizes(x.type))


def turned(x: Term) -> Term:
    """With rows as columns."""
    axes = range(rank(x))
    return x.permute_dims(axes=(*axes[:-2], axes[-1], axes[-2]))


def row(x: Term) -> Term:
    """A vector as a matrix of one row."""
    return x.index(key="..., None, :")


def column(x: Term) -> Term:
    """A vector as a matrix of one column."""
    return x.index(key="..., None")


def _of_left(g: Term, z: Term, x: Term, y: Term) -> Term:
    made = _as_matrix(g, x, y) @ (turned(y) if rank(y) > 1 else row(y))
    return _of_all(made if rank(x) > 1 else made.index(key="..., 0, :"), x, y)


def _of_right(g: Term, z: Term, x: Term, y: Term) -> Term:
    made = (turned(x) if rank(x) > 1 else column(x)) @ _as_matrix(g, x, y)
    return _of_all(made if rank(y) > 1 else made.index(key="..., 0"), y, x)


def _of_all(made: Term, x: Term, other: Term) -> Term:
    """Summed over what x was multiplied by again and again: where one of both is a stack."""
    return made.sum_like(x) if max(rank(x), rank(other)) > 2 else made


def _as_matrix(g: Term, x: Term, y: Term) -> Term:
    """With an axis of one row, or column, for a vector among the factors."""
    wide = g if rank(y) > 1 else column(g)
    return wide if rank(x) > 1 else row(wide)


RULES: Mapping[str, Gradient] = {"matmul": adjoints(_of_left, _of_right)}
