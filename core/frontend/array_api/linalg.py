"""Linear algebra: the namespace `tl.linalg`. `matmul`, `matrix_transpose`, `tensordot` and `vecdot` are in `tl` too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...dtypes import DType
from ...errors import Invalid, Usage
from ...ops.type_rules import ATTRIBUTE_INTEGER_BOUND
from .. import linalg_functions as _linalg_functions
from ..eager.apply import apply
from ..linalg_functions import *  # noqa: F403
from ..sizes import static_integer
from ..trace.source_location import user_location
from .common import (
    astype,
    check_floating,
    check_matrix,
    check_numeric,
    rank_of,
    resolve_axes,
    resolve_axis,
    shape_of,
    static_number,
    static_sizes,
    type_of,
    widen,
)
from .creation import diagonal_of_ones
from .datatypes import finfo
from .manipulation import broadcast_arrays, expand_dims, matrix_transpose
from .numeric import count_nonzero
from .numeric import max as largest
from .numeric import min as smallest
from .numeric import sum as total
from .padding import pad

__all__ = [
    "QR",
    "SVD",
    "Eigh",
    "Slogdet",
    "cross",
    "diagonal",
    "eigh",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "svd",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
__all__ += _linalg_functions.__all__


def __dir__() -> list[str]:
    return sorted(__all__)


class QR(NamedTuple):
    """The result of `qr`: orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


class Eigh(NamedTuple):
    """The result of `eigh`: eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class SVD(NamedTuple):
    """The result of `svd`: left singular vectors, singular values in descending order, right singular vectors as
    rows."""

    U: Any
    S: Any
    Vh: Any


class Slogdet(NamedTuple):
    """The result of `slogdet`: the sign of the determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The dot product of vectors along an axis: x1 * x2, summed along `axis`, which is negative. The other axes
    broadcast.

    Integers are not widened. Raises Usage for an axis that is not negative, Invalid (V4) for vectors of different sizes
    and for arrays that are not of numbers.

    >>> int(vecdot([1, 2], [3, 4]))
    11
    """
    check_numeric(x1, x2)
    position = static_integer(axis, "an axis")
    if position >= 0 or not (rank_of(x1) and rank_of(x2)):
        raise Usage(
            "the axis of vecdot is not negative",
            where=user_location(),
            required="-1 or below, counted from the last axis",
            got=axis,
        )
    first, second = shape_of(x1)[resolve_axis(position, x1)], shape_of(x2)[resolve_axis(position, x2)]
    if None not in (first, second) and first != second:
        raise Invalid("the vectors have different sizes", rule="V4", where=user_location(), required=first, got=second)
    products = apply("multiply", x1, x2)
    return total(products, axis=position, dtype=type_of(products).dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The tensor contraction of two arrays: sums of products over pairs of axes.

    `axes` is a number n, for the last n axes of x1 and the first n of x2; or a pair of tuples, the axes of x1 and those
    of x2. The result has the other axes of x1, then the other axes of x2. Raises Usage for other `axes`, Invalid (V4)
    where paired axes differ in size, or a size is not static.

    >>> tensordot([[1, 2], [3, 4]], [5, 6], axes=1).tolist()
    [17, 39]
    """
    check_numeric(x1, x2)
    if isinstance(axes, tuple | list):
        if len(axes) != 2 or not all(isinstance(side, tuple | list) for side in axes):
            required = "a number, or axes of both, as in ((0, 1), (1, 2))"
            raise Usage(
                "the axes are neither a number nor a pair of tuples",
                where=user_location(),
                required=required,
                got=repr(axes),
            )
        contracted, other_contracted = resolve_axes(tuple(axes[0]), x1), resolve_axes(tuple(axes[1]), x2)
    else:
        count = static_integer(axes, "axes")
        if not 0 <= count <= min(rank_of(x1), rank_of(x2)):
            raise Usage("there are more axes than one of the arrays has", where=user_location(), got=axes)
        contracted, other_contracted = tuple(range(rank_of(x1) - count, rank_of(x1))), tuple(range(count))
    pairs = [
        (shape_of(x1)[first], shape_of(x2)[second]) for first, second in zip(contracted, other_contracted, strict=False)
    ]
    if len(contracted) != len(other_contracted) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        got = f"{type_of(x1)} and {type_of(x2)}, axes={axes}"
        raise Invalid("the paired axes have different sizes", rule="V4", where=user_location(), got=got)
    rows = [axis for axis in range(rank_of(x1)) if axis not in contracted]
    columns = [axis for axis in range(rank_of(x2)) if axis not in other_contracted]
    product = apply("matmul", _as_matrix(x1, rows, contracted), _as_matrix(x2, other_contracted, columns))
    return apply("reshape", product, shape=(*_tensordot_sizes(x1, rows), *_tensordot_sizes(x2, columns)))


def _tensordot_sizes(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    return static_sizes(x, "tensordot", axes, "annotate the sizes, or multiply and sum")


def _as_matrix(x: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """The array as a matrix: some axes are its rows, the others its columns."""
    permuted = apply("permute_dims", x, axes=(*rows, *columns))
    height, width = (math.prod(_tensordot_sizes(x, axes)) for axes in (rows, columns))
    return apply("reshape", permuted, shape=(height, width))


def outer(x1: Any, x2: Any, /) -> Any:
    """The outer product of two vectors: a matrix with every product of an element of x1 and one of x2.

    Raises Invalid (V4) for an array that does not have one axis.

    >>> outer([1, 2], [3, 4]).tolist()
    [[3, 4], [6, 8]]
    """
    check_numeric(x1, x2)
    for x in (x1, x2):
        if rank_of(x) != 1:
            raise Invalid("this is not a vector", rule="V4", where=user_location(), required="one axis", got=type_of(x))
    return apply("multiply", expand_dims(x1, 1), expand_dims(x2, 0))


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors along an axis of size 3. `axis` is negative, and the other axes broadcast.

    Raises Usage for an axis that is not negative, Invalid (V4) for another size.

    >>> cross([1, 0, 0], [0, 1, 0]).tolist()
    [0, 0, 1]
    """
    check_numeric(x1, x2)
    negative_axis = static_integer(axis, "an axis")
    if negative_axis >= 0:
        raise Usage(
            "the axis of cross is not negative",
            where=user_location(),
            required="-1 or below, counted from the last axis",
            got=axis,
        )
    first, second = broadcast_arrays(x1, x2)
    if any(shape_of(vectors)[resolve_axis(negative_axis, vectors)] != 3 for vectors in (x1, x2)):
        raise Invalid(
            "a cross product needs vectors of size 3", rule="V4", where=user_location(), got=[type_of(x1), type_of(x2)]
        )
    position = resolve_axis(negative_axis, first)
    next_order, previous_order = [1, 2, 0], [2, 0, 1]

    def rotate(x: Any, order: list[int]) -> Any:
        return apply("take", x, order, axis=position)

    positive_products = apply("multiply", rotate(first, next_order), rotate(second, previous_order))
    return apply(
        "subtract", positive_products, apply("multiply", rotate(first, previous_order), rotate(second, next_order))
    )


def slogdet(x: Any, /) -> Slogdet:
    """The sign of the determinant of a square matrix, and the logarithm of its absolute value.

    >>> slogdet([[0.0, 1.0], [1.0, 0.0]])
    Slogdet(sign=-1.0, logabsdet=0.0)
    """
    return Slogdet(apply("slogdet_sign", x), apply("slogdet_logabsdet", x))


def qr(x: Any, /, *, mode: str = "reduced") -> QR:
    """The QR factorization `q @ r` of a matrix of floats, or of a stack of matrices: the columns of q are orthonormal,
    and r has zeros below its diagonal. With `mode="complete"`, q is square.

    >>> q, r = qr([[0.0, 1.0], [2.0, 0.0]])
    >>> abs(q @ r).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    return QR(apply("qr_q", x, mode=mode), apply("qr_r", x, mode=mode))


def eigh(x: Any, /) -> Eigh:
    """The eigenvalues of a symmetric matrix of floats, in ascending order, and its eigenvectors as columns.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return Eigh(apply("eigvalsh", x), apply("eigh_vectors", x))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVD:
    """The singular value decomposition `u @ diag(s) @ vh` of a matrix of floats; s is in descending order. With
    `full_matrices=False`, u and vh have only as many vectors as there are singular values.

    >>> u, s, vh = svd([[0.0, 2.0], [1.0, 0.0]])
    >>> s.tolist(), abs((u * s) @ vh).tolist()
    ([2.0, 1.0], [[0.0, 2.0], [1.0, 0.0]])
    """
    values = apply("svdvals", x)
    return SVD(apply("svd_u", x, full_matrices=full_matrices), values, apply("svd_vh", x, full_matrices=full_matrices))


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    farthest = ATTRIBUTE_INTEGER_BOUND - 1  # where no array has a diagonal
    return apply("diagonal", x, offset=max(-farthest, min(static_integer(offset, "offset"), farthest)))


def trace(x: Any, /, *, offset: int = 0, dtype: DType | None = None) -> Any:
    """The sum of a diagonal of a matrix, or of each matrix of a stack; `offset` counts diagonals upwards from the main
    one. Integers are summed in 64 bits unless `dtype` is given.

    >>> int(trace([[1, 2], [3, 4]]))
    5
    """
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matrix_power(x: Any, n: int, /) -> Any:
    """The n-th power of a square matrix of floats; for a negative n, the power of its inverse. `n` is a static integer.

    Raises Invalid (V4) for a matrix that is not square, of unknown size, or not of floats.

    >>> matrix_power([[1.0, 1.0], [0.0, 1.0]], 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    count, shape = static_integer(n, "n"), shape_of(x)
    check_floating(x, "matrix_power")
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] is None:
        required = "a square matrix of static size"
        raise Invalid(
            "this is not a square matrix", rule="V4", where=user_location(), required=required, got=type_of(x)
        )
    if count == 0:
        identity = diagonal_of_ones(shape[-1], shape[-1], 0, type_of(x).dtype)
        return apply("broadcast_like", identity, x)
    base = apply("inv", x) if count < 0 else x
    power, exponent = None, abs(count)
    while exponent:
        if exponent & 1:
            power = base if power is None else apply("matmul", power, base)
        exponent >>= 1
        base = apply("matmul", base, base) if exponent else base
    return power


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The p-norm of an array of floats along `axis`, an axis or several; by default over all elements.

    `ord` is the order p: 2 is the root of the sum of squares, 1 the sum of absolute values, inf the largest absolute
    value, -inf the smallest, 0 the number of elements that are not zero. Raises Invalid (V4) for other dtypes.

    >>> float(vector_norm([3.0, 4.0])), float(vector_norm([3.0, 4.0], ord=1))
    (5.0, 7.0)
    """
    check_floating(x, "vector_norm")
    norm = _vector_norm(widen(x), static_number(ord, "ord"), axis=axis, keepdims=keepdims)
    return astype(norm, type_of(x).dtype)


def _vector_norm(x: Any, order: float, *, axis: Any, keepdims: bool) -> Any:
    size = apply("abs", x)
    if order == 0:
        return apply("astype", count_nonzero(x, axis=axis, keepdims=keepdims), dtype=type_of(x).dtype)
    if math.isinf(order):
        return (_largest_or_zero if order > 0 else smallest)(size, axis=axis, keepdims=keepdims)
    if order == 1:
        return total(size, axis=axis, keepdims=keepdims)
    if order == 2:
        return apply("sqrt", total(apply("multiply", x, x), axis=axis, keepdims=keepdims))
    powers = total(apply("pow", size, order), axis=axis, keepdims=keepdims)
    return apply("pow", powers, 1.0 / order)


def _largest_or_zero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest of non-negative elements along axes, or 0 where there are no elements. Axes of open size are padded
    with one zero."""
    axes = range(rank_of(x)) if axis is None else resolve_axes(axis, x)
    if 0 in [shape_of(x)[position] for position in axes]:
        return total(x, axis=axis, keepdims=keepdims)
    open_axes = [position for position in axes if shape_of(x)[position] is None]
    padded = pad(x, tuple((int(position in open_axes), 0) for position in range(rank_of(x)))) if open_axes else x
    return largest(padded, axis=axis, keepdims=keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of a matrix of floats, or of each matrix of a stack.

    `ord` is "fro", the root of the sum of squares; "nuc", the sum of the singular values; 2 or -2, the largest or
    smallest singular value; 1 or -1, the largest or smallest sum of absolute values of a column; inf or -inf, that of a
    row. Raises Invalid (V4) for other dtypes or fewer than two axes, Usage for another `ord`.

    >>> x = [[3.0, 0.0], [0.0, 4.0]]
    >>> float(matrix_norm(x)), float(matrix_norm(x, ord=2))
    (5.0, 4.0)
    """
    check_floating(x, "matrix_norm")
    check_matrix(x)
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if type(ord) not in (str, int, float) or ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise Usage(
            "there is no such matrix norm",
            where=user_location(),
            required='"fro", "nuc", 1, -1, 2, -2, inf, -inf',
            got=repr(ord),
        )
    if ord in ("nuc", 2, -2):
        reduce: dict[Any, Callable[..., Any]] = {"nuc": total, 2: _largest_or_zero, -2: smallest}
        norm = reduce[ord](apply("svdvals", x), axis=-1)
    else:
        summed_axis = -2 if abs(ord) == 1 else -1
        norm = (_largest_or_zero if ord > 0 else smallest)(total(apply("abs", x), axis=summed_axis), axis=-1)
    return expand_dims(norm, (-2, -1)) if keepdims else norm


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The rank of a matrix of floats, int64: the number of singular values above `rtol` times the largest.

    By default `rtol` is the larger size times the dtype's eps, which needs static sizes. For a stack of matrices it may
    be an array.

    >>> int(matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    values = apply("svdvals", x)
    tolerance = apply("multiply", _largest_or_zero(values, axis=-1, keepdims=True), _tolerance(x, rtol))
    return count_nonzero(apply("greater", values, tolerance), axis=-1)


def _tolerance(x: Any, rtol: Any) -> Any:
    """The bound on singular values that count as zero, relative to the largest; for a stack, with one more axis."""
    if rtol is not None:
        return rtol if type(rtol) in (int, float) else expand_dims(rtol, -1)
    rows, columns = shape_of(x)[-2:]
    if rows is None or columns is None:
        raise Usage("rtol is left out, and the sizes are not static", where=user_location(), got=type_of(x))
    return float(max(rows, columns)) * finfo(type_of(x).dtype).eps


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The Moore-Penrose pseudo-inverse of a matrix of floats; singular values up to `rtol` times the largest count as
    zero, with the same default as in `matrix_rank`.

    >>> pinv([[2.0, 0.0], [0.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    u, values, vh = svd(x, full_matrices=False)
    tolerance = apply("multiply", _largest_or_zero(values, axis=-1, keepdims=True), _tolerance(x, rtol))
    is_nonzero = apply("greater", values, tolerance)
    inverse = apply("where", is_nonzero, apply("divide", 1.0, apply("where", is_nonzero, values, 1.0)), 0.0)
    return apply("matmul", apply("multiply", matrix_transpose(vh), expand_dims(inverse, -2)), matrix_transpose(u))
