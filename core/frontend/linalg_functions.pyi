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
    """The lower triangular factor l of a symmetric matrix `l @ l.T`, or with `upper` the upper factor u of `u.T @ u`.
    One half is read. Traps if the matrix is not positive definite. float32 is computed in float64, and rounded. For NaN
    and infinities the result is LAPACK's: NaN, other numbers, or a trap if the op has one. For a matrix without rows or
    columns the result has no elements, or is an identity."""

def det(x: Any, /) -> Any:
    """The determinant of a square matrix; 1 if it has no rows. float32 is computed in float64, and rounded. For NaN and
    infinities the result is LAPACK's: NaN, other numbers, or a trap if the op has one."""

def eigvalsh(x: Any, /) -> Any:
    """The eigenvalues of a symmetric matrix, the smallest first. The lower half is read. Traps if the iteration does
    not converge, and on NaN and infinities. float32 is computed in float64, and rounded. For a matrix without rows or
    columns the result has no elements, or is an identity."""

def inv(x: Any, /) -> Any:
    """The inverse of a square matrix; traps if it is singular. float32 is computed in float64, and rounded. For NaN and
    infinities the result is LAPACK's: NaN, other numbers, or a trap if the op has one. For a matrix without rows or
    columns the result has no elements, or is an identity."""

def matmul(x: Any, y: Any, /) -> Any:
    """Matrix product; a vector is a row on the left and a column on the right. The axes before the last two are stacks
    of matrices, which broadcast. Traps if inner sizes that types leave unknown differ."""

def solve(x: Any, y: Any, /) -> Any:
    """The solution x of `a @ x = b` for a square matrix a; a b of one axis is a vector. Traps if a is singular. float32
    is computed in float64, and rounded. For NaN and infinities the result is LAPACK's: NaN, other numbers, or a trap if
    the op has one. For a matrix without rows or columns the result has no elements, or is an identity."""

def svdvals(x: Any, /) -> Any:
    """The singular values of a matrix, the largest first. Traps if the iteration does not converge, and on NaN and
    infinities. float32 is computed in float64, and rounded. For a matrix without rows or columns the result has no
    elements, or is an identity."""

def triangular_solve(
    x: Any, y: Any, /, *, lower: Any = False, transpose_a: Any = False, unit_diagonal: Any = False
) -> Any:
    """The solution x of `a @ x = b` for a triangular matrix a, or with `transpose_a` for its transpose; a b of one axis
    is a vector. The upper triangle of a is read, or with `lower` the lower one; with `unit_diagonal` its diagonal
    counts as ones. Traps on a zero on the diagonal. NaN and infinities pass through substitution, row after row.
    float32 is computed in float64, and rounded."""
