"""Linear algebra computed by LAPACK: determinants, inverses, solutions of equations, and factorisations.

A matrix is the last two axes of an array; the axes before are a stack of matrices. Each result of a factorisation is a
separate row. float32 is computed in float64 and rounded. All engines call the same routine and so give the same bits;
between machines results differ by the rounding errors of backward stable algorithms (Anderson and others, LAPACK Users'
Guide, chapter 4).

In gradient rules the adjoint of a factor is named as the factor, with a bar. An op that reads one half of a symmetric
matrix has a symmetric adjoint. There is no adjoint where a factorisation is not unique: for singular matrices, and for
vectors of two equal eigenvalues or singular values.

Inverses, products and cholesky: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008. qr: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018. svd:
Townsend, "Differentiating the singular value decomposition", 2016.
"""

from __future__ import annotations

import textwrap
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import Invalid
from ..types import Type, broadcast_shape
from .gradient_rules import (
    Term,
    adjoint_rule,
    column_vector,
    iota,
    movement_rule,
    rank,
    row_vector,
    transpose,
    zero_gradient,
)
from .op import Gradient, TrapCondition, op
from .type_rules import (
    ATTRIBUTE_INTEGER_BOUND,
    Sizes,
    check_bool,
    check_numeric,
    describe_shapes,
    format_attribute,
    promote_operands,
    require_sizes,
)


def matrix_shape(x: Type) -> Sizes:
    check_numeric(x, kinds="f")
    shape = require_sizes(x)
    if len(shape) < 2:
        raise Invalid(f"shape {describe_shapes(shape)} is not that of a matrix", required="2 axes or more", got=x)
    return shape


def square_shape(x: Type) -> Sizes:
    shape = matrix_shape(x)
    if None not in shape[-2:] and shape[-2] != shape[-1]:
        message = f"shape {describe_shapes(shape)} is no square matrix"
        raise Invalid(message, required="as many rows as columns", got=x)
    return shape


def determinant_type(x: Type) -> Type:
    return Type(x.dtype, square_shape(x)[:-2])


def square_matrix_type(x: Type) -> Type:
    square_shape(x)
    return x


def cholesky_type(x: Type, upper: object) -> Type:
    check_bool(upper, "upper")
    return square_matrix_type(x)


def solve_type(a: Type, b: Type) -> Type:
    """A b of one axis is a vector; others are stacks of matrices."""
    a_sizes, b_sizes = square_shape(a), require_sizes(b)
    check_numeric(b, kinds="f")
    b_rows = b_sizes[-2:][:1] if b_sizes else ()
    if not b_sizes or (None not in (a_sizes[-1], b_rows[0]) and a_sizes[-1] != b_rows[0]):
        message = f"shapes {describe_shapes(a_sizes, b_sizes)} make no equations"
        raise Invalid(message, required="the same number of rows on both sides", got=f"{a} and {b}")
    if len(b_sizes) == 1:
        return Type(promote_operands((a, b)), a_sizes[:-1])
    try:
        stack = broadcast_shape([a_sizes[:-2], b_sizes[:-2]]) or ()
    except Invalid as error:
        error.message = f"shapes {describe_shapes(a_sizes, b_sizes)} make no equations"
        raise
    return Type(promote_operands((a, b)), (*stack, a_sizes[-1], b_sizes[-1]))


def _smaller_size(shape: Sizes) -> int | None:
    rows, columns = shape[-2:]
    if rows is None or columns is None:
        return 0 if 0 in (rows, columns) else None
    return min(rows, columns)


def qr_q_type(x: Type, mode: object) -> Type:
    shape = matrix_shape(x)
    return Type(x.dtype, (*shape[:-1], _smaller_size(shape) if _is_reduced(mode) else shape[-2]))


def qr_r_type(x: Type, mode: object) -> Type:
    shape = matrix_shape(x)
    return Type(x.dtype, (*shape[:-2], _smaller_size(shape) if _is_reduced(mode) else shape[-2], shape[-1]))


def _is_reduced(mode: object) -> bool:
    if mode not in ("reduced", "complete"):
        raise Invalid("this is not a mode", required='"reduced" or "complete"', got=format_attribute(mode))
    return mode == "reduced"


def svd_u_type(x: Type, full_matrices: object) -> Type:
    shape = matrix_shape(x)
    return Type(
        x.dtype, (*shape[:-1], shape[-2] if check_bool(full_matrices, "full_matrices") else _smaller_size(shape))
    )


def svd_vh_type(x: Type, full_matrices: object) -> Type:
    shape = matrix_shape(x)
    rows = shape[-1] if check_bool(full_matrices, "full_matrices") else _smaller_size(shape)
    return Type(x.dtype, (*shape[:-2], rows, shape[-1]))


def svdvals_type(x: Type) -> Type:
    return Type(x.dtype, (*matrix_shape(x)[:-2], _smaller_size(matrix_shape(x))))


def eigvalsh_type(x: Type) -> Type:
    return Type(x.dtype, square_shape(x)[:-1])


def diagonal_type(x: Type, offset: object) -> Type:
    check_numeric(x)
    if len(require_sizes(x)) < 2:
        raise Invalid(
            f"shape {describe_shapes(require_sizes(x))} is not that of a matrix", required="2 axes or more", got=x
        )
    if type(offset) is not int or abs(offset) >= ATTRIBUTE_INTEGER_BOUND:
        raise Invalid(
            "this is not a valid offset of a diagonal",
            required=f"an integer, below {ATTRIBUTE_INTEGER_BOUND:,}",
            got=format_attribute(offset),
        )
    rows, columns = require_sizes(x)[-2:]
    if rows is None or columns is None:
        return Type(x.dtype, (*require_sizes(x)[:-2], None))
    length = min(rows + min(offset, 0), columns - max(offset, 0))
    return Type(x.dtype, (*require_sizes(x)[:-2], max(length, 0)))


def failure_condition(function: Callable[..., Any], iterates: bool) -> Callable[..., bool]:
    """A predicate that is true if a LAPACK routine fails. One that iterates is not called on NaN or infinities: for
    some such matrices the search for singular values never ends."""

    def is_undefined(*operands: Any, **attributes: Any) -> bool:
        if iterates and not all(np.isfinite(operand).all() for operand in operands):
            return True
        try:
            with np.errstate(all="ignore"):
                function(*(np.asarray(operand, np.float64) for operand in operands), **attributes)
        except np.linalg.LinAlgError:
            return True
        return False

    return is_undefined


def cache_last_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """A LAPACK routine that caches its last result while the operands are alive: the trap condition calls it first,
    then each row that is a part of its result."""
    cache: dict[tuple[Any, ...], Any] = {}

    def call(*operands: Any, **attributes: Any) -> Any:
        key = (*map(id, operands), *attributes.items())
        result = cache.get(key)
        if result is None:  # also if another thread has just cleared the cache
            result = function(*operands, **attributes)
            cache.clear()
            cache[key] = result
            for operand in operands:
                weakref.finalize(operand, cache.pop, key, None)
        return result

    return call


_SINGULAR_MESSAGE, _NO_CONVERGENCE_MESSAGE = "the matrix is singular", "an iteration did not converge"
_CONVERGENCE_NOTE = "Traps if the iteration does not converge, and on NaN and infinities."
_FLOAT32_NOTE = "float32 is computed in float64, and rounded."
_NONFINITE_NOTE = "For NaN and infinities the result is LAPACK's: NaN, other numbers, or a trap if the op has one."
_EMPTY_NOTE = "For a matrix without rows or columns the result has no elements, or is an identity."


def factorization_op(
    name: str,
    types: Any,
    numpy: Any,
    doc: str,
    *attributes: str,
    gradient: Gradient,
    arity: int = 1,
    trap: str = "",
    **columns: Any,
) -> None:
    condition = failure_condition(numpy, trap == _NO_CONVERGENCE_MESSAGE)
    undefined = TrapCondition(condition, trap, "f", np.linalg.LinAlgError) if trap else None
    columns |= {"attributes": attributes, "trap_condition": undefined, "has_superlinear_work": True}
    summary, example = doc.split("\n\n>>> ")
    edges = [_CONVERGENCE_NOTE, _FLOAT32_NOTE] if trap == _NO_CONVERGENCE_MESSAGE else [_FLOAT32_NOTE, _NONFINITE_NOTE]
    edges += [_EMPTY_NOTE] * (types is not determinant_type)
    doc = f"{textwrap.fill(' '.join([summary, *edges]), 119)}\n\n>>> {example}"
    op(name, arity=arity, type_rule=types, numpy=numpy, shape_rule=None, gradient=gradient, doc=doc, **columns)


def diagonal_array(x: Any, offset: int) -> Any:
    """NumPy takes offsets of 32 bits only; beyond these there are no diagonals."""
    rows, columns = np.shape(x)[-2:]
    return np.diagonal(x, max(-rows, min(offset, columns)), -2, -1)


def solve_array(a: Any, b: Any) -> Any:
    """np.linalg.solve, with a vector b used for every matrix of the stack."""
    return np.linalg.solve(a, b[:, None])[..., 0] if np.ndim(b) == 1 else np.linalg.solve(a, b)


def _per_matrix(numbers: Term) -> Term:
    """One number for each matrix, broadcast over its elements."""
    return numbers.index(key="..., None, None")


def _row_and_column_indices(x: Term) -> tuple[Term, Term]:
    """The row and column numbers of the elements of a square matrix with as many columns as x."""
    numbers = iota(x.size(axis=-1))
    return column_vector(numbers), numbers


def scaled_lower_triangle(x: Term, diagonal: float) -> Term:
    """The lower triangle, with the diagonal multiplied by a number."""
    i, j = _row_and_column_indices(x)
    return i.greater(j).where(x, i.equal(j).where(diagonal * x, 0.0))


def symmetrize(x: Term) -> Term:
    return 0.5 * (x + transpose(x))


def multiply_by_inverse(x: Term, a: Term) -> Term:
    """x @ inv(a)"""
    return transpose(transpose(a).solve(transpose(x)))


def divide_by_gaps(x: Term, numbers: Term) -> Term:
    """Each element (i, j) divided by numbers[j] - numbers[i]; 0 on the diagonal."""
    i, j = _row_and_column_indices(numbers)
    gaps = i.equal(j).where(1.0, row_vector(numbers) - column_vector(numbers))
    return i.equal(j).where(0.0, (1.0 / gaps).multiply_no_nan(x))


def det_adjoint(g: Term, z: Term, x: Term) -> Term:
    return transpose(x.inv()) * _per_matrix(z * g)


def logabsdet_adjoint(g: Term, z: Term, x: Term) -> Term:
    return transpose(x.inv()) * _per_matrix(g)


def inv_adjoint(g: Term, z: Term, x: Term) -> Term:
    return -(transpose(z) @ g @ transpose(z))


def triangular_solve_type(a: Type, b: Type, lower: object, transpose_a: object, unit_diagonal: object) -> Type:
    for value, name in ((lower, "lower"), (transpose_a, "transpose_a"), (unit_diagonal, "unit_diagonal")):
        check_bool(value, name)
    return solve_type(a, b)


def triangular_solve_array(a: Any, b: Any, lower: bool, transpose_a: bool, unit_diagonal: bool) -> Any:
    """Substitution, row after row of the solution; only one triangle of a is read."""
    is_vector = np.ndim(b) == 1
    matrix, right_side = np.asarray(a), np.asarray(b)[:, None] if is_vector else np.asarray(b)
    if transpose_a:
        matrix, lower = np.swapaxes(matrix, -1, -2), not lower
    size = matrix.shape[-1]
    stack = np.broadcast_shapes(matrix.shape[:-2], right_side.shape[:-2])
    solution = np.zeros((*stack, size, right_side.shape[-1]))
    for row in range(size) if lower else reversed(range(size)):
        solved = slice(None, row) if lower else slice(row + 1, None)
        right_side_row = (
            right_side[..., row, :] - np.matmul(matrix[..., row : row + 1, solved], solution[..., solved, :])[..., 0, :]
        )
        solution[..., row, :] = right_side_row if unit_diagonal else right_side_row / matrix[..., row, row, None]
    return solution[..., 0] if is_vector else solution


def has_zero_on_diagonal(a: Any, b: Any, lower: bool, transpose_a: bool, unit_diagonal: bool) -> bool:
    return not unit_diagonal and bool((np.diagonal(a, 0, -2, -1) == 0).any())


def triangular_solve_a_adjoint(
    g: Term, z: Term, a: Term, b: Term, lower: bool, transpose_a: bool, unit_diagonal: bool
) -> Term:
    attributes = {"lower": lower, "transpose_a": not transpose_a, "unit_diagonal": unit_diagonal}
    adjoint = a.triangular_solve(column_vector(g) if rank(b) == 1 else g, **attributes)
    solution = column_vector(z) if rank(b) == 1 else z
    full = -(solution @ transpose(adjoint) if transpose_a else adjoint @ transpose(solution))
    diagonal = 0.0 if unit_diagonal else 1.0
    if lower:
        return scaled_lower_triangle(full, diagonal).sum_like(a)
    return transpose(scaled_lower_triangle(transpose(full), diagonal)).sum_like(a)


def triangular_solve_b_adjoint(
    g: Term, z: Term, a: Term, b: Term, lower: bool, transpose_a: bool, unit_diagonal: bool
) -> Term:
    attributes = {"lower": lower, "transpose_a": not transpose_a, "unit_diagonal": unit_diagonal}
    adjoint = a.triangular_solve(column_vector(g) if rank(b) == 1 else g, **attributes)
    return (adjoint.index(key="..., 0") if rank(b) == 1 else adjoint).sum_like(b)


def _solve_adjoint(g: Term, z: Term, a: Term, b: Term) -> Term:
    """The adjoint of b as a matrix."""
    return transpose(a).solve(column_vector(g) if rank(b) == 1 else g)


def solve_a_adjoint(g: Term, z: Term, a: Term, b: Term) -> Term:
    solution = column_vector(z) if rank(b) == 1 else z
    return (-(_solve_adjoint(g, z, a, b) @ transpose(solution))).sum_like(a)


def solve_b_adjoint(g: Term, z: Term, a: Term, b: Term) -> Term:
    adjoint = _solve_adjoint(g, z, a, b)
    return (adjoint.index(key="..., 0") if rank(b) == 1 else adjoint).sum_like(b)


def cholesky_adjoint(g: Term, z: Term, x: Term, upper: bool) -> Term:
    l, l_bar = (transpose(z), transpose(g)) if upper else (z, g)  # noqa: E741
    inner = scaled_lower_triangle(transpose(l) @ l_bar, 0.5)
    return symmetrize(multiply_by_inverse(transpose(l).solve(inner), l))


def qr_q_adjoint(g: Term, z: Term, x: Term, mode: str) -> Term:
    _check_qr_is_unique(x, mode)
    return multiply_by_inverse(g - multiply_by_symmetric(z, transpose(g) @ z), transpose(x.qr_r(mode=mode)))


def qr_r_adjoint(g: Term, z: Term, x: Term, mode: str) -> Term:
    _check_qr_is_unique(x, mode)
    return multiply_by_inverse(multiply_by_symmetric(x.qr_q(mode=mode), z @ transpose(g)), transpose(z))


def multiply_by_symmetric(q: Term, x: Term) -> Term:
    """q times the symmetric matrix whose lower half is x."""
    return q @ (scaled_lower_triangle(x, 1.0) + transpose(scaled_lower_triangle(x, 0.0)))


def _check_qr_is_unique(x: Term, mode: str) -> None:
    rows, columns = require_sizes(x.type)[-2:]
    is_square = rows is not None and rows == columns
    is_wide = rows is not None and columns is not None and rows < columns
    if is_wide or (mode == "complete" and not is_square):
        required = 'as many rows as columns, or, with mode="reduced", more'
        raise Invalid("qr of this matrix cannot be differentiated", required=required, got=x.type)


def eigvalsh_adjoint(g: Term, z: Term, x: Term) -> Term:
    v = x.eigh_vectors()
    return (v * row_vector(g)) @ transpose(v)


def eigh_vectors_adjoint(g: Term, z: Term, x: Term) -> Term:
    inner = divide_by_gaps(transpose(z) @ g, x.eigvalsh())
    return symmetrize(z @ inner @ transpose(z))


def svdvals_adjoint(g: Term, z: Term, x: Term) -> Term:
    u, vh = x.svd_u(full_matrices=False), x.svd_vh(full_matrices=False)
    return (u * row_vector(g)) @ vh


def svd_u_adjoint(g: Term, z: Term, x: Term, full_matrices: bool) -> Term:
    _check_svd_is_unique(x, full_matrices)
    s, vh = x.svdvals(), x.svd_vh(full_matrices=False)
    return singular_vectors_adjoint(g, z, s) @ vh


def svd_vh_adjoint(g: Term, z: Term, x: Term, full_matrices: bool) -> Term:
    """As `svd_u_adjoint`: vh has the left singular vectors of the transpose."""
    _check_svd_is_unique(x, full_matrices)
    s, u = x.svdvals(), x.svd_u(full_matrices=False)
    return u @ transpose(singular_vectors_adjoint(transpose(g), transpose(z), s))


def singular_vectors_adjoint(u_bar: Term, u: Term, s: Term) -> Term:
    """The adjoint of `x @ v` from the adjoint of u."""
    inner = transpose(u) @ u_bar
    inner_part = u @ (divide_by_gaps(inner - transpose(inner), s * s) * row_vector(s))
    return inner_part + (u_bar - u @ inner) / row_vector(s)


def _check_svd_is_unique(x: Term, full_matrices: bool) -> None:
    rows, columns = require_sizes(x.type)[-2:]
    if full_matrices and (rows is None or rows != columns):
        required = "a square matrix, or full_matrices=False"
        raise Invalid("the full matrices of singular vectors cannot be differentiated", required=required, got=x.type)


MAX_LOCKED_RESULT, MAX_LOCKED_SIDE, MIN_SPLIT_ELEMENTS, MAX_BLOCK_ELEMENTS = 500, 500, 2**16, 2**18
"""NumPy keeps Python's lock while it factorises a stack of matrices for a result of up to 500 elements, however large
the matrices are: for their determinants, singular values, or Householder reflections. A square matrix of side 500 takes
10 ms."""


def _is_locked(x: Any, result_elements: int) -> bool:
    """Whether NumPy keeps the lock for long while it factorises x for a result of this many elements."""
    return result_elements <= MAX_LOCKED_RESULT and x.size >= MIN_SPLIT_ELEMENTS


def _blocks_of_stack(x: Any) -> list[Any]:
    """A stack of matrices in parts that take about as long as one of side MAX_LOCKED_SIDE."""
    stack = x.reshape(-1, *x.shape[-2:])
    size = MAX_LOCKED_SIDE**3 // x.shape[-1] ** 3
    return [stack[start : start + size] for start in range(0, len(stack), size)]


def sign_and_logarithm(x: Any) -> tuple[Any, Any]:
    """As np.linalg.slogdet. Large matrices are factorised by Householder reflections instead of elimination, for which
    NumPy releases Python's lock: that takes twice the operations, and limits and Ctrl-C are seen meanwhile. The
    determinant of a reflection is -1; one whose factor is 0 is the identity. A sign of 0 is positive. A stack of
    smaller ones is factorised part by part."""
    if x.shape[-1] <= MAX_LOCKED_SIDE:
        if x.ndim == 2 or not _is_locked(x, x.size // x.shape[-1] ** 2):
            return np.linalg.slogdet(x)
        signs, logarithms = zip(*map(np.linalg.slogdet, _blocks_of_stack(x)), strict=True)
        return np.concatenate(signs).reshape(x.shape[:-2]), np.concatenate(logarithms).reshape(x.shape[:-2])
    reduced, factors = np.linalg.qr(x, mode="raw")
    diagonal = np.diagonal(reduced, axis1=-2, axis2=-1)
    parity = np.count_nonzero(factors, axis=-1) % 2
    with np.errstate(divide="ignore"):
        logarithm = np.log(np.abs(diagonal)).sum(axis=-1)
    return (1 - 2 * parity) * np.sign(diagonal).prod(axis=-1) + 0.0, logarithm


def determinant(x: Any) -> Any:
    """As np.linalg.det; see `sign_and_logarithm`."""
    if x.shape[-1] <= MAX_LOCKED_SIDE:
        if x.ndim == 2 or not _is_locked(x, x.size // x.shape[-1] ** 2):
            return np.linalg.det(x)
        return np.concatenate(list(map(np.linalg.det, _blocks_of_stack(x)))).reshape(x.shape[:-2])
    sign, logarithm = _slogdet(x)
    return sign * np.exp(logarithm)


def factorize(x: Any, mode: Any) -> tuple[Any, Any]:
    """As np.linalg.qr, with other signs in some columns of large matrices that are tall or wide. The square of the
    first columns of a wide matrix determines Q; the other columns of R are a product. A tall one is factorised by
    blocks of rows, and then their stacked factors R (Demmel and others, Communication-optimal parallel and sequential
    QR and LU factorizations, SIAM J. Sci. Comput., 2012). A complete factorization of a tall one is that of the matrix
    with so many columns of zeros that NumPy releases Python's lock: they change neither Q nor the other columns of R.
    """
    rows, columns = x.shape[-2:]
    if not _is_locked(x, x.size // max(rows, columns, 1)):
        return np.linalg.qr(x, mode)
    if columns > 2 * rows:
        q, r = np.linalg.qr(x[..., :rows])
        return q, np.concatenate([r, np.swapaxes(q, -2, -1) @ x[..., rows:]], axis=-1)
    width = x.size // rows
    height = max(2 * columns, min(MAX_BLOCK_ELEMENTS // width, MAX_LOCKED_SIDE**3 // (width * columns)))
    if mode == "complete":
        extended_columns = MAX_LOCKED_RESULT * columns // width + 1
        if rows < extended_columns or rows * x.size < MAX_LOCKED_SIDE**3:
            return np.linalg.qr(x, mode)
        zeros = np.zeros((*x.shape[:-1], extended_columns - columns), x.dtype)
        q, r = np.linalg.qr(np.concatenate([x, zeros], axis=-1), mode)
        return q, r[..., :columns]
    if rows < 2 * height:
        return np.linalg.qr(x, mode)
    qs, rs = zip(*map(np.linalg.qr, np.array_split(x, rows // height, axis=-2)), strict=True)
    q, r = factorize(np.concatenate(rs, axis=-2), mode)
    parts = np.split(q, len(qs), axis=-2)
    return np.concatenate([first @ second for first, second in zip(qs, parts, strict=True)], axis=-2), r


def singular_values(x: Any) -> Any:
    """As np.linalg.svdvals. Large matrices with few singular values are decomposed with their singular vectors,
    which takes longer, but NumPy releases Python's lock for large results."""
    if not _is_locked(x, x.size // max(*x.shape[-2:], 1)):
        return np.linalg.svd(x, compute_uv=False)
    return _svd(x, full_matrices=False)[1]


_qr, _svd = cache_last_result(factorize), cache_last_result(np.linalg.svd)
_slogdet = cache_last_result(sign_and_logarithm)

factorization_op(
    "det",
    determinant_type,
    determinant,
    "The determinant of a square matrix; 1 if it has no rows.\n\n>>> tl.linalg.det([[2.0, 0.0], [0.0, 3.0]])\n6.0\n",
    gradient=adjoint_rule(det_adjoint),
    namespace="linalg",
)
factorization_op(
    "slogdet_sign",
    determinant_type,
    lambda x: _slogdet(x)[0],
    "The sign of the determinant of a square matrix: -1, 0 or 1; 1 for a matrix without rows.\n\n"
    ">>> tl.linalg.slogdet([[-2.0]]).sign\n-1.0\n",
    gradient=zero_gradient,
)
factorization_op(
    "slogdet_logabsdet",
    determinant_type,
    lambda x: _slogdet(x)[1],
    "The logarithm of the absolute value of the determinant of a square matrix; -inf if that is 0, and 0 for a\n"
    "matrix without rows.\n\n"
    ">>> tl.linalg.slogdet([[1.0]]).logabsdet\n0.0\n",
    gradient=adjoint_rule(logabsdet_adjoint),
)
factorization_op(
    "inv",
    square_matrix_type,
    cache_last_result(np.linalg.inv),
    "The inverse of a square matrix; traps if it is singular.\n\n"
    ">>> tl.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()\n[[0.5, 0.0], [0.0, 0.25]]\n",
    trap=_SINGULAR_MESSAGE,
    gradient=adjoint_rule(inv_adjoint),
    namespace="linalg",
)
factorization_op(
    "solve",
    solve_type,
    cache_last_result(solve_array),
    "The solution x of `a @ x = b` for a square matrix a; a b of one axis is a vector. Traps if a is singular.\n\n"
    ">>> tl.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).tolist()\n[1.0, 0.5]\n",
    arity=2,
    trap=_SINGULAR_MESSAGE,
    gradient=adjoint_rule(solve_a_adjoint, solve_b_adjoint),
    namespace="linalg",
)
op(
    "triangular_solve",
    arity=2,
    type_rule=triangular_solve_type,
    numpy=triangular_solve_array,
    attributes=("lower", "transpose_a", "unit_diagonal"),
    attribute_defaults={"lower": False, "transpose_a": False, "unit_diagonal": False},
    namespace="linalg",
    shape_rule=None,
    has_superlinear_work=True,
    trap_condition=TrapCondition(has_zero_on_diagonal, _SINGULAR_MESSAGE, "f", np.linalg.LinAlgError),
    gradient=adjoint_rule(triangular_solve_a_adjoint, triangular_solve_b_adjoint),
    doc="""The solution x of `a @ x = b` for a triangular matrix a, or with `transpose_a` for its transpose; a b of one
axis is a vector. The upper triangle of a is read, or with `lower` the lower one; with `unit_diagonal` its diagonal
counts as ones. Traps on a zero on the diagonal. NaN and infinities pass through substitution, row after row. float32
is computed in float64, and rounded.

>>> tl.linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [2.0, 5.0], lower=True).tolist()
[1.0, 1.0]
""",
)
factorization_op(
    "cholesky",
    cholesky_type,
    cache_last_result(np.linalg.cholesky),
    "The lower triangular factor l of a symmetric matrix `l @ l.T`, or with `upper` the upper factor u of `u.T @ u`.\n"
    "One half is read. Traps if the matrix is not positive definite.\n\n"
    ">>> tl.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]).tolist()\n[[2.0, 0.0], [1.0, 1.0]]\n",
    "upper",
    trap="the matrix is not positive definite",
    gradient=adjoint_rule(cholesky_adjoint),
    namespace="linalg",
    attribute_defaults={"upper": False},
)
factorization_op(
    "qr_q",
    qr_q_type,
    lambda x, mode: _qr(x, mode=mode)[0],
    "The q of a matrix `q @ r`: its columns are orthonormal.\n\n>>> tl.linalg.qr([[-3.0]]).Q.tolist()\n[[1.0]]\n",
    "mode",
    gradient=adjoint_rule(qr_q_adjoint),
)
factorization_op(
    "qr_r",
    qr_r_type,
    lambda x, mode: _qr(x, mode=mode)[1],
    "The r of a matrix `q @ r`: it has zeros below its diagonal.\n\n>>> tl.linalg.qr([[-3.0]]).R.tolist()\n[[-3.0]]\n",
    "mode",
    gradient=adjoint_rule(qr_r_adjoint),
)
factorization_op(
    "eigvalsh",
    eigvalsh_type,
    cache_last_result(np.linalg.eigvalsh),
    "The eigenvalues of a symmetric matrix, the smallest first. The lower half is read.\n\n"
    ">>> tl.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).tolist()\n[1.0, 2.0]\n",
    trap=_NO_CONVERGENCE_MESSAGE,
    gradient=adjoint_rule(eigvalsh_adjoint),
    namespace="linalg",
)
factorization_op(
    "eigh_vectors",
    square_matrix_type,
    cache_last_result(lambda x: np.linalg.eigh(x)[1]),
    "The eigenvectors of a symmetric matrix, one column for each eigenvalue. The lower half is read.\n\n"
    ">>> abs(tl.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvectors).tolist()\n[[0.0, 1.0], [1.0, 0.0]]\n",
    trap=_NO_CONVERGENCE_MESSAGE,
    gradient=adjoint_rule(eigh_vectors_adjoint),
)
factorization_op(
    "svd_u",
    svd_u_type,
    lambda x, full_matrices: _svd(x, full_matrices=full_matrices)[0],
    "The u of a matrix `u @ diag(s) @ vh`: its columns are orthonormal.\n\n"
    ">>> abs(tl.linalg.svd([[2.0]]).U).tolist()\n[[1.0]]\n",
    "full_matrices",
    trap=_NO_CONVERGENCE_MESSAGE,
    gradient=adjoint_rule(svd_u_adjoint),
)
factorization_op(
    "svdvals",
    svdvals_type,
    cache_last_result(singular_values),
    "The singular values of a matrix, the largest first.\n\n"
    ">>> tl.linalg.svdvals([[2.0, 0.0], [0.0, 4.0]]).tolist()\n[4.0, 2.0]\n",
    trap=_NO_CONVERGENCE_MESSAGE,
    gradient=adjoint_rule(svdvals_adjoint),
    namespace="linalg",
)
factorization_op(
    "svd_vh",
    svd_vh_type,
    lambda x, full_matrices: _svd(x, full_matrices=full_matrices)[2],
    "The vh of a matrix `u @ diag(s) @ vh`: its rows are orthonormal.\n\n"
    ">>> abs(tl.linalg.svd([[2.0]]).Vh).tolist()\n[[1.0]]\n",
    "full_matrices",
    trap=_NO_CONVERGENCE_MESSAGE,
    gradient=adjoint_rule(svd_vh_adjoint),
)
op(
    "diagonal",
    arity=1,
    type_rule=diagonal_type,
    numpy=diagonal_array,
    shape_rule=None,
    attributes=("offset",),
    gradient=movement_rule("diagonal"),
    doc="""The elements of a diagonal of a matrix, `offset` above the main diagonal.

>>> tl.linalg.diagonal([[1, 2], [3, 4]]).tolist()
[1, 4]
""",
)
