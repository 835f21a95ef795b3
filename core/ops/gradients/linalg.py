"""Rules of products of matrices. Those of LAPACK's are in `factor`."""

from __future__ import annotations

from collections.abc import Mapping

from ..axes import require_sizes
from ..op import Gradient
from .term import Term, adjoint_rule


def rank(x: Term) -> int:
    return len(require_sizes(x.type))


def transpose(x: Term) -> Term:
    """With rows as columns."""
    axes = range(rank(x))
    return x.permute_dims(axes=(*axes[:-2], axes[-1], axes[-2]))


def row_vector(x: Term) -> Term:
    """A vector as a matrix of one row."""
    return x.index(key="..., None, :")


def column_vector(x: Term) -> Term:
    """A vector as a matrix of one column."""
    return x.index(key="..., None")


def _left_operand_adjoint(g: Term, z: Term, x: Term, y: Term) -> Term:
    made = _adjoint_as_matrix(g, x, y) @ (transpose(y) if rank(y) > 1 else row_vector(y))
    return _sum_over_stack(made if rank(x) > 1 else made.index(key="..., 0, :"), x, y)


def _right_operand_adjoint(g: Term, z: Term, x: Term, y: Term) -> Term:
    made = (transpose(x) if rank(x) > 1 else column_vector(x)) @ _adjoint_as_matrix(g, x, y)
    return _sum_over_stack(made if rank(y) > 1 else made.index(key="..., 0"), y, x)


def _sum_over_stack(made: Term, x: Term, other: Term) -> Term:
    """Summed over what x was multiplied by again and again: where one of both is a stack."""
    return made.sum_like(x) if max(rank(x), rank(other)) > 2 else made


def _adjoint_as_matrix(g: Term, x: Term, y: Term) -> Term:
    """With an axis of one row, or column, for a vector among the factors."""
    wide = g if rank(y) > 1 else column_vector(g)
    return wide if rank(x) > 1 else row_vector(wide)


RULES: Mapping[str, Gradient] = {"matmul": adjoint_rule(_left_operand_adjoint, _right_operand_adjoint)}
