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
from ..axes import sizes
from ..op import Gradient
from .index import moving
from .linalg import column, rank, row, turned
from .term import Term, adjoints, counted, flat


def _each(numbers: Term) -> Term:
    """A number a matrix, for all of its elements."""
    return numbers.index(key="..., None, None")


def _places(x: Term) -> tuple[Term, Term]:
    """Number of the row, and of the column, of each element of a square matrix of so many columns."""
    numbers = counted(x.size(axis=-1))
    return column(numbers), numbers


def _lower(x: Term, diagonal: float) -> Term:
    """What is on and below the diagonal, and on it so many times."""
    i, j = _places(x)
    return i.greater(j).where(x, i.equal(j).where(diagonal * x, 0.0))


def _symmetric(x: Term) -> Term:
    return 0.5 * (x + turned(x))


def _by_inverse(x: Term, a: Term) -> Term:
    """x @ inv(a)"""
    return turned(turned(a).solve(turned(x)))


def _over_gaps(x: Term, numbers: Term) -> Term:
    """Each element off the diagonal over the j-th less the i-th of these numbers, on the diagonal 0."""
    i, j = _places(numbers)
    gaps = i.equal(j).where(1.0, row(numbers) - column(numbers))
    return i.equal(j).where(0.0, (1.0 / gaps).multiply_no_nan(x))


def _det(g: Term, z: Term, x: Term) -> Term:
    return turned(x.inv()) * _each(z * g)


def _logabsdet(g: Term, z: Term, x: Term) -> Term:
    return turned(x.inv()) * _each(g)


def _inv(g: Term, z: Term, x: Term) -> Term:
    return -(turned(z) @ g @ turned(z))


def _right(g: Term, z: Term, a: Term, b: Term) -> Term:
    """Of what a solution was asked for, as matrices."""
    return turned(a).solve(column(g) if rank(b) == 1 else g)


def _solve_a(g: Term, z: Term, a: Term, b: Term) -> Term:
    solution = column(z) if rank(b) == 1 else z
    return (-(_right(g, z, a, b) @ turned(solution))).sum_like(a)


def _solve_b(g: Term, z: Term, a: Term, b: Term) -> Term:
    made = _right(g, z, a, b)
    return (made.index(key="..., 0") if rank(b) == 1 else made).sum_like(b)


def _cholesky(g: Term, z: Term, x: Term, upper: bool) -> Term:
    l, l_bar = (turned(z), turned(g)) if upper else (z, g)  # noqa: E741
    inner = _lower(turned(l) @ l_bar, 0.5)
    return _symmetric(_by_inverse(turned(l).solve(inner), l))


def _q(g: Term, z: Term, x: Term, mode: str) -> Term:
    _check_tall(x, mode)
    return _by_inverse(g - _within(z, turned(g) @ z), turned(x.qr_r(mode=mode)))


def _r(g: Term, z: Term, x: Term, mode: str) -> Term:
    _check_tall(x, mode)
    return _by_inverse(_within(x.qr_q(mode=mode), z @ turned(g)), turned(z))


def _within(q: Term, x: Term) -> Term:
    """q by the symmetric matrix of which x is the lower half."""
    return q @ (_lower(x, 1.0) + turned(_lower(x, 0.0)))


def _check_tall(x: Term, mode: str) -> None:
    rows, columns = sizes(x.type)[-2:]
    is_square = rows is not None and rows == columns
    is_wide = rows is not None and columns is not None and rows < columns
    if is_wide or (mode == "complete" and not is_square):
        required = 'as many rows as columns, or, with mode="reduced", more'
        raise Invalid("qr of this matrix cannot be differentiated", required=required, got=x.type)


def _eigenvalues(g: Term, z: Term, x: Term) -> Term:
    v = x.eigh_vectors()
    return (v * row(g)) @ turned(v)


def _eigenvectors(g: Term, z: Term, x: Term) -> Term:
    inner = _over_gaps(turned(z) @ g, x.eigvalsh())
    return _symmetric(z @ inner @ turned(z))


def _singular_values(g: Term, z: Term, x: Term) -> Term:
    u, vh = x.svd_u(full_matrices=False), x.svd_vh(full_matrices=False)
    return (u * row(g)) @ vh


def _left_vectors(g: Term, z: Term, x: Term, full_matrices: bool) -> Term:
    _check_thin(x, full_matrices)
    s, vh = x.svdvals(), x.svd_vh(full_matrices=False)
    return _of_vectors(g, z, s) @ vh


def _right_vectors(g: Term, z: Term, x: Term, full_matrices: bool) -> Term:
    """Those of the matrix with rows as columns."""
    _check_thin(x, full_matrices)
    s, u = x.svdvals(), x.svd_u(full_matrices=False)
    return u @ turned(_of_vectors(turned(g), turned(z), s))


def _of_vectors(u_bar: Term, u: Term, s: Term) -> Term:
    """The adjoint of `x @ v`, by that of u."""
    inner = turned(u) @ u_bar
    within = u @ (_over_gaps(inner - turned(inner), s * s) * row(s))
    return within + (u_bar - u @ inner) / row(s)


def _check_thin(x: Term, full_matrices: bool) -> None:
    rows, columns = sizes(x.type)[-2:]
    if full_matrices and (rows is None or rows != columns):
        required = "a square matrix, or full_matrices=False"
        raise Invalid("all singular vectors cannot be differentiated", required=required, got=x.type)


RULES: Mapping[str, Gradient] = {
    "det": adjoints(_det),
    "slogdet_sign": flat,
    "slogdet_logabsdet": adjoints(_logabsdet),
    "inv": adjoints(_inv),
    "solve": adjoints(_solve_a, _solve_b),
    "cholesky": adjoints(_cholesky),
    "qr_q": adjoints(_q),
    "qr_r": adjoints(_r),
    "eigvalsh": adjoints(_eigenvalues),
    "eigh_vectors": adjoints(_eigenvectors),
    "svdvals": adjoints(_singular_values),
    "svd_u": adjoints(_left_vectors),
    "svd_vh": adjoints(_right_vectors),
    "diagonal": moving("diagonal"),
}
