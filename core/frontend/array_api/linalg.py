"""Linear algebra: `tl.linalg`, of which `matmul`, `matrix_transpose`, `tensordot` and `vecdot` are in `tl` too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...dtypes import DType
from ...errors import Invalid, Usage
from ...ops.rules import ATTRIBUTE_INTEGER_BOUND
from ..api import apply
from ..linalg_functions import *  # noqa: F403
from ..trace.source_location import user_location
from .common import (
    check_floating,
    check_numeric,
    rank_of,
    resolve_axes,
    resolve_axis,
    shape_of,
    static_integer,
    static_number,
    type_of,
)
from .creation import diagonal_of_ones
from .datatypes import finfo
from .manipulation import broadcast_arrays, expand_dims, matrix_transpose
from .networks import pad
from .numeric import count_nonzero
from .numeric import max as largest
from .numeric import min as smallest
from .numeric import sum as total


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


class Eigh(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


class Slogdet(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Sums of products along an axis of both, which broadcast otherwise.

    >>> int(vecdot([1, 2], [3, 4]))
    11
    """
    check_numeric(x1, x2)
    at = static_integer(axis, "an axis")
    if at >= 0 or not (rank_of(x1) and rank_of(x2)):
        raise Usage(
            "vecdot is along an axis counted from the last", where=user_location(), required="from -1 down", got=axis
        )
    one, other = shape_of(x1)[resolve_axis(at, x1)], shape_of(x2)[resolve_axis(at, x2)]
    if None not in (one, other) and one != other:
        raise Invalid("vectors of two sizes", rule="V4", where=user_location(), required=one, got=other)
    products = apply("multiply", x1, x2)
    return total(products, axis=at, dtype=type_of(products).dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products along axes of both: so many, the last of x1 and the first of x2, or these of the one and those
    of the other.

    >>> tensordot([[1, 2], [3, 4]], [5, 6], axes=1).tolist()
    [17, 39]
    """
    check_numeric(x1, x2)
    if isinstance(axes, tuple | list):
        mine, theirs = _resolve_axis_pairs(axes, x1, x2)
    else:
        count = static_integer(axes, "axes")
        if not 0 <= count <= min(rank_of(x1), rank_of(x2)):
            raise Usage("as many axes as both have", where=user_location(), got=axes)
        mine, theirs = tuple(range(rank_of(x1) - count, rank_of(x1))), tuple(range(count))
    pairs = [(shape_of(x1)[one], shape_of(x2)[other]) for one, other in zip(mine, theirs, strict=False)]
    if len(mine) != len(theirs) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise Invalid(
            "axes of other sizes", rule="V4", where=user_location(), got=f"{type_of(x1)} and {type_of(x2)}, axes={axes}"
        )
    rows = [at for at in range(rank_of(x1)) if at not in mine]
    columns = [at for at in range(rank_of(x2)) if at not in theirs]
    made = apply("matmul", _as_matrix(x1, rows, mine), _as_matrix(x2, theirs, columns))
    return apply("reshape", made, shape=(*_require_sizes(x1, rows), *_require_sizes(x2, columns)))


def _resolve_axis_pairs(axes: Any, x1: Any, x2: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(axes) != 2 or not all(isinstance(each, tuple | list) for each in axes):
        required = "a number, or axes of both, as in ((0, 1), (1, 2))"
        raise Usage("axes of how many arrays?", where=user_location(), required=required, got=repr(axes))
    return resolve_axes(tuple(axes[0]), x1), resolve_axes(tuple(axes[1]), x2)


def _require_sizes(x: Any, axes: Any) -> list[int]:
    found = [shape_of(x)[at] for at in axes]
    if None in found:
        hint = "multiply and sum, or say the sizes"
        raise Invalid("sizes of a tensordot must be known", rule="V4", where=user_location(), got=type_of(x), hint=hint)
    return found


def _as_matrix(x: Any, rows: Any, columns: Any) -> Any:
    """As a matrix of some axes by others."""
    turned = apply("permute_dims", x, axes=(*rows, *columns))
    return apply("reshape", turned, shape=(math.prod(_require_sizes(x, rows)), math.prod(_require_sizes(x, columns))))


def outer(x1: Any, x2: Any, /) -> Any:
    """Every product of an element of the one vector with one of the other.

    >>> outer([1, 2], [3, 4]).tolist()
    [[3, 4], [6, 8]]
    """
    check_numeric(x1, x2)
    for x in (x1, x2):
        if rank_of(x) != 1:
            raise Invalid("this is no vector", rule="V4", where=user_location(), required="one axis", got=type_of(x))
    return apply("multiply", expand_dims(x1, 1), expand_dims(x2, 0))


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector product along an axis of size 3, counted from the last.

    >>> cross([1, 0, 0], [0, 1, 0]).tolist()
    [0, 0, 1]
    """
    check_numeric(x1, x2)
    at = static_integer(axis, "an axis")
    if at >= 0:
        raise Usage(
            "cross is along an axis counted from the last", where=user_location(), required="from -1 down", got=axis
        )
    one, other = broadcast_arrays(x1, x2)
    if any(shape_of(each)[resolve_axis(at, each)] != 3 for each in (x1, x2)):
        raise Invalid(
            "a vector product is of three numbers", rule="V4", where=user_location(), got=[type_of(x1), type_of(x2)]
        )
    place = resolve_axis(at, one)
    after, before = [1, 2, 0], [2, 0, 1]

    def rotate(x: Any, order: list[int]) -> Any:
        return apply("take", x, order, axis=place)

    left = apply("multiply", rotate(one, after), rotate(other, before))
    return apply("subtract", left, apply("multiply", rotate(one, before), rotate(other, after)))


def slogdet(x: Any, /) -> Slogdet:
    """The sign of the determinant, and the logarithm of its absolute value.

    >>> slogdet([[0.0, 1.0], [1.0, 0.0]])
    Slogdet(sign=-1.0, logabsdet=0.0)
    """
    return Slogdet(apply("slogdet_sign", x), apply("slogdet_logabsdet", x))


def qr(x: Any, /, *, mode: str = "reduced") -> QR:
    """The factors q, whose columns are orthonormal, and r, with zeros below its diagonal.

    >>> q, r = qr([[0.0, 1.0], [2.0, 0.0]])
    >>> abs(q @ r).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    return QR(apply("qr_q", x, mode=mode), apply("qr_r", x, mode=mode))


def eigh(x: Any, /) -> Eigh:
    """Eigenvalues of a symmetric matrix, the smallest first, and a column for each.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return Eigh(apply("eigvalsh", x), apply("eigh_vectors", x))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVD:
    """The factors u, s, the largest first, and vh of a matrix `u @ diag(s) @ vh`.

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
    """The sum of a diagonal.

    >>> int(trace([[1, 2], [3, 4]]))
    5
    """
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matrix_power(x: Any, n: int, /) -> Any:
    """A square matrix multiplied with itself, n times over; of a negative n its inverse.

    >>> matrix_power([[1.0, 1.0], [0.0, 1.0]], 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    count, shape = static_integer(n, "n"), shape_of(x)
    check_floating(x, "matrix_power")
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] is None:
        required = "a square matrix, of a size that is known"
        raise Invalid("this is no square matrix", rule="V4", where=user_location(), required=required, got=type_of(x))
    if count == 0:
        one = diagonal_of_ones(shape[-1], shape[-1], 0, type_of(x).dtype)
        return apply("broadcast_like", one, x)
    base = apply("inv", x) if count < 0 else x
    made, left = None, abs(count)
    while left:
        if left & 1:
            made = base if made is None else apply("matmul", made, base)
        left >>= 1
        base = apply("matmul", base, base) if left else base
    return made


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The norm of floats along axes: the root of the sum of squares, or that of another order.

    >>> float(vector_norm([3.0, 4.0])), float(vector_norm([3.0, 4.0], ord=1))
    (5.0, 7.0)
    """
    check_floating(x, "vector_norm")
    order = static_number(ord, "ord")
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
    """The largest along axes of what is not negative, and 0 of no elements."""
    axes = range(rank_of(x)) if axis is None else resolve_axes(axis, x)
    sizes = [shape_of(x)[at] for at in axes]
    if 0 in sizes:
        return total(x, axis=axis, keepdims=keepdims)
    opened = [at for at in axes if shape_of(x)[at] is None]
    beside = pad(x, tuple((int(at in opened), 0) for at in range(rank_of(x)))) if opened else x
    return largest(beside, axis=axis, keepdims=keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices: the root of the sum of squares ("fro"), the sum of the singular values ("nuc"), the largest
    or smallest of them (2, -2), or of the sums of columns (1, -1) or rows (inf, -inf).

    >>> x = [[3.0, 0.0], [0.0, 4.0]]
    >>> float(matrix_norm(x)), float(matrix_norm(x, ord=2))
    (5.0, 4.0)
    """
    check_floating(x, "matrix_norm")
    if rank_of(x) < 2:
        raise Invalid("this is no matrix", rule="V4", where=user_location(), required="2 axes or more", got=type_of(x))
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if type(ord) not in (str, int, float) or ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise Usage(
            "no norm of matrices",
            where=user_location(),
            required='"fro", "nuc", 1, -1, 2, -2, inf, -inf',
            got=repr(ord),
        )
    if ord in ("nuc", 2, -2):
        reduce: dict[Any, Callable[..., Any]] = {"nuc": total, 2: _largest_or_zero, -2: smallest}
        made = reduce[ord](apply("svdvals", x), axis=-1)
    else:
        along = -2 if abs(ord) == 1 else -1
        made = (_largest_or_zero if ord > 0 else smallest)(total(apply("abs", x), axis=along), axis=-1)
    return expand_dims(made, (-2, -1)) if keepdims else made


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values are more than `rtol` of the largest, int64: of the larger size times the dtype's eps.

    >>> int(matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    values = apply("svdvals", x)
    least = apply("multiply", _largest_or_zero(values, axis=-1, keepdims=True), _tolerance(x, rtol))
    return count_nonzero(apply("greater", values, least), axis=-1)


def _tolerance(x: Any, rtol: Any) -> Any:
    """What is taken for zero, relative to the largest singular value; one for each matrix, with an axis more."""
    if rtol is not None:
        return rtol if type(rtol) in (int, float) else expand_dims(rtol, -1)
    rows, columns = shape_of(x)[-2:]
    if rows is None or columns is None:
        raise Usage("say rtol, where sizes are not known", where=user_location(), got=type_of(x))
    return float(max(rows, columns)) * finfo(type_of(x).dtype).eps


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse of Moore and Penrose, where singular values up to `rtol` of the largest count as zero.

    >>> pinv([[2.0, 0.0], [0.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    u, values, vh = svd(x, full_matrices=False)
    least = apply("multiply", _largest_or_zero(values, axis=-1, keepdims=True), _tolerance(x, rtol))
    kept = apply("greater", values, least)
    inverse = apply("where", kept, apply("divide", 1.0, apply("where", kept, values, 1.0)), 0.0)
    return apply("matmul", apply("multiply", matrix_transpose(vh), expand_dims(inverse, -2)), matrix_transpose(u))
