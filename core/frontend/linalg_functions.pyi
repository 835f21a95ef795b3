"""Written by `python tests/op_stubs.py` from the registry of ops."""

from typing import Any

__all__ = [
    "cholesky",
    "det",
    "eigvalsh",
    "inv",
    "matmul",
    "solve",
    "svdvals",
    "triangular_solve",
]

def cholesky(x: Any, /, *, upper: Any = False) -> Any:
    """The triangular matrix l of which a symmetric one is `l @ l.T`, or, with `upper`, u of which it is `u.T @ u`. One
    half is read. Traps where the matrix is not positive definite. float32 is computed in float64, and rounded. What NaN
    and infinities make is LAPACK's: NaN, other numbers, or a trap where there is one. Of a matrix without rows or
    columns it has no elements, or is an identity."""

def det(x: Any, /) -> Any:
    """Determinant of a square matrix, 1 of one without rows. float32 is computed in float64, and rounded. What NaN and
    infinities make is LAPACK's: NaN, other numbers, or a trap where there is one."""

def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of a symmetric matrix, of which the lower half is read, the smallest first. Traps where the iteration
    does not converge, and on NaN and infinities. float32 is computed in float64, and rounded. Of a matrix without rows
    or columns it has no elements, or is an identity."""

def inv(x: Any, /) -> Any:
    """Inverse of a square matrix; traps where it is singular. float32 is computed in float64, and rounded. What NaN and
    infinities make is LAPACK's: NaN, other numbers, or a trap where there is one. Of a matrix without rows or columns
    it has no elements, or is an identity."""

def matmul(x: Any, y: Any, /) -> Any:
    """Matrix product; a vector is a row on the left, and a column on the right. Before the last two axes are stacks of
    matrices, which broadcast. Shapes whose inner sizes differ trap where types leave them open."""

def solve(x: Any, y: Any, /) -> Any:
    """The x of `a @ x = b`, of a square matrix a; b is a vector where it has one axis. Traps where a is singular.
    float32 is computed in float64, and rounded. What NaN and infinities make is LAPACK's: NaN, other numbers, or a trap
    where there is one. Of a matrix without rows or columns it has no elements, or is an identity."""

def svdvals(x: Any, /) -> Any:
    """Singular values of a matrix, the largest first. Traps where the iteration does not converge, and on NaN and
    infinities. float32 is computed in float64, and rounded. Of a matrix without rows or columns it has no elements, or
    is an identity."""

def triangular_solve(
    x: Any, y: Any, /, *, lower: Any = False, transpose_a: Any = False, unit_diagonal: Any = False
) -> Any:
    """The x of `a @ x = b`, of a triangular matrix a, or of its transpose (attribute `transpose_a`); b is a vector
    where it has one axis. Only one triangle of a is read, the upper one or with `lower` the lower one; with
    `unit_diagonal` its diagonal counts as ones. Traps on a zero on the diagonal. float32 is computed in float64, and
    rounded. NaN and infinities go through substitution, row after row."""
