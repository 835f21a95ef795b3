"""Rules of what LAPACK computes. The adjoint of a factor is named as it, with a bar.

Of a symmetric matrix, of which one half is read, the adjoint is symmetric. There is none where a factorisation is not
unique: of singular matrices, and of vectors of two eigenvalues, or singular values, that are equal.

Inverses, products and cholesky: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008. qr: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018. svd:
Townsend, "Differentiating the singular value decomposition", 2016.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import Invalid
from ..axes import require_sizes
from ..op import Gradient
from .index import movement_rule
from .linalg import column_vector, rank, row_vector, transpose
from .term import Term, adjoint_rule, iota, zero_gradient


def _per_matrix(numbers: Term) -> Term:
    """A number a matrix, for all of its elements."""
    return numbers.index(key="..., None, None")


def _row_and_column_indices(x: Term) -> tuple[Term, Term]:
    """Number of the row, and of the column, of each element of a square matrix of so many columns."""
    numbers = iota(x.size(axis=-1))
    return column_vector(numbers), numbers


def _scaled_lower_triangle(x: Term, diagonal: float) -> Term:
    """What is on and below the diagonal, and on it so many times."""
    i, j = _row_and_column_indices(x)
    return i.greater(j).where(x, i.equal(j).where(diagonal * x, 0.0))


def _symmetrize(x: Term) -> Term:
    return 0.5 * (x + transpose(x))


def _multiply_by_inverse(x: Term, a: Term) -> Term:
    """x @ inv(a)"""
    return transpose(transpose(a).solve(transpose(x)))


def _divide_by_gaps(x: Term, numbers: Term) -> Term:
    """Each element off the diagonal over the j-th less the i-th of these numbers, on the diagonal 0."""
    i, j = _row_and_column_indices(numbers)
    gaps = i.equal(j).where(1.0, row_vector(numbers) - column_vector(numbers))
    return i.equal(j).where(0.0, (1.0 / gaps).multiply_no_nan(x))


def _det_adjoint(g: Term, z: Term, x: Term) -> Term:
    return transpose(x.inv()) * _per_matrix(z * g)


def _logabsdet_adjoint(g: Term, z: Term, x: Term) -> Term:
    return transpose(x.inv()) * _per_matrix(g)


def _inv_adjoint(g: Term, z: Term, x: Term) -> Term:
    return -(transpose(z) @ g @ transpose(z))


def _solve_adjoint(g: Term, z: Term, a: Term, b: Term) -> Term:
    """Of what a solution was asked for, as matrices."""
    return transpose(a).solve(column_vector(g) if rank(b) == 1 else g)


def _solve_a_adjoint(g: Term, z: Term, a: Term, b: Term) -> Term:
    solution = column_vector(z) if rank(b) == 1 else z
    return (-(_solve_adjoint(g, z, a, b) @ transpose(solution))).sum_like(a)


def _solve_b_adjoint(g: Term, z: Term, a: Term, b: Term) -> Term:
    made = _solve_adjoint(g, z, a, b)
    return (made.index(key="..., 0") if rank(b) == 1 else made).sum_like(b)


def _cholesky_adjoint(g: Term, z: Term, x: Term, upper: bool) -> Term:
    l, l_bar = (transpose(z), transpose(g)) if upper else (z, g)  # noqa: E741
    inner = _scaled_lower_triangle(transpose(l) @ l_bar, 0.5)
    return _symmetrize(_multiply_by_inverse(transpose(l).solve(inner), l))


def _qr_q_adjoint(g: Term, z: Term, x: Term, mode: str) -> Term:
    _check_qr_is_unique(x, mode)
    return _multiply_by_inverse(g - _multiply_by_symmetric(z, transpose(g) @ z), transpose(x.qr_r(mode=mode)))


def _qr_r_adjoint(g: Term, z: Term, x: Term, mode: str) -> Term:
    _check_qr_is_unique(x, mode)
    return _multiply_by_inverse(_multiply_by_symmetric(x.qr_q(mode=mode), z @ transpose(g)), transpose(z))


def _multiply_by_symmetric(q: Term, x: Term) -> Term:
    """q by the symmetric matrix of which x is the lower half."""
    return q @ (_scaled_lower_triangle(x, 1.0) + transpose(_scaled_lower_triangle(x, 0.0)))


def _check_qr_is_unique(x: Term, mode: str) -> None:
    rows, columns = require_sizes(x.type)[-2:]
    is_square = rows is not None and rows == columns
    is_wide = rows is not None and columns is not None and rows < columns
    if is_wide or (mode == "complete" and not is_square):
        required = 'as many rows as columns, or, with mode="reduced", more'
        raise Invalid("qr of this matrix cannot be differentiated", required=required, got=x.type)


def _eigvalsh_adjoint(g: Term, z: Term, x: Term) -> Term:
    v = x.eigh_vectors()
    return (v * row_vector(g)) @ transpose(v)


def _eigh_vectors_adjoint(g: Term, z: Term, x: Term) -> Term:
    inner = _divide_by_gaps(transpose(z) @ g, x.eigvalsh())
    return _symmetrize(z @ inner @ transpose(z))


def _svdvals_adjoint(g: Term, z: Term, x: Term) -> Term:
    u, vh = x.svd_u(full_matrices=False), x.svd_vh(full_matrices=False)
    return (u * row_vector(g)) @ vh


def _svd_u_adjoint(g: Term, z: Term, x: Term, full_matrices: bool) -> Term:
    _check_svd_is_unique(x, full_matrices)
    s, vh = x.svdvals(), x.svd_vh(full_matrices=False)
    return _singular_vectors_adjoint(g, z, s) @ vh


def _svd_vh_adjoint(g: Term, z: Term, x: Term, full_matrices: bool) -> Term:
    """Those of the matrix with rows as columns."""
    _check_svd_is_unique(x, full_matrices)
    s, u = x.svdvals(), x.svd_u(full_matrices=False)
    return u @ transpose(_singular_vectors_adjoint(transpose(g), transpose(z), s))


def _singular_vectors_adjoint(u_bar: Term, u: Term, s: Term) -> Term:
    """The adjoint of `x @ v`, by that of u."""
    inner = transpose(u) @ u_bar
    within = u @ (_divide_by_gaps(inner - transpose(inner), s * s) * row_vector(s))
    return within + (u_bar - u @ inner) / row_vector(s)


def _check_svd_is_unique(x: Term, full_matrices: bool) -> None:
    rows, columns = require_sizes(x.type)[-2:]
    if full_matrices and (rows is None or rows != columns):
        required = "a square matrix, or full_matrices=False"
        raise Invalid("all singular vectors cannot be differentiated", required=required, got=x.type)


RULES: Mapping[str, Gradient] = {
    "det": adjoint_rule(_det_adjoint),
    "slogdet_sign": zero_gradient,
    "slogdet_logabsdet": adjoint_rule(_logabsdet_adjoint),
    "inv": adjoint_rule(_inv_adjoint),
    "solve": adjoint_rule(_solve_a_adjoint, _solve_b_adjoint),
    "cholesky": adjoint_rule(_cholesky_adjoint),
    "qr_q": adjoint_rule(_qr_q_adjoint),
    "qr_r": adjoint_rule(_qr_r_adjoint),
    "eigvalsh": adjoint_rule(_eigvalsh_adjoint),
    "eigh_vectors": adjoint_rule(_eigh_vectors_adjoint),
    "svdvals": adjoint_rule(_svdvals_adjoint),
    "svd_u": adjoint_rule(_svd_u_adjoint),
    "svd_vh": adjoint_rule(_svd_vh_adjoint),
    "diagonal": movement_rule("diagonal"),
}
