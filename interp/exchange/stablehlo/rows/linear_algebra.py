"""Triangular systems and factors of matrices: StableHLO's operations, and the calls of LAPACK that JAX makes on the
CPU."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...functions import identifier
from ..interpreter import OperationCall
from ..operations import row, tl, unsupported
from .common import scalar_like, sizes_of

SHARDING_CALLS = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"})
"""Calls that only describe how values are distributed over devices."""


@row("cholesky")
def cholesky(x: Any, *, lower: bool = False) -> Any:
    return tl.linalg.cholesky(x, upper=not lower)


@row("triangular_solve")
def triangular_solve(a: Any, b: Any, *, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: str) -> Any:
    """Complex numbers, for which an adjoint is not a transpose, are not imported."""
    return solve(a, b, left_side, lower, unit_diagonal, "NO_TRANSPOSE" not in transpose_a)


def solve(a: Any, b: Any, left_side: bool, lower: bool, unit_diagonal: bool, transpose: bool) -> Any:
    """x of `a @ x = b`, or of `x @ a = b`, for a triangular a or its transpose."""
    if left_side:
        return tl.linalg.triangular_solve(a, b, lower=lower, transpose_a=transpose, unit_diagonal=unit_diagonal)
    transposed = tl.matrix_transpose(b)
    options = {"lower": lower, "transpose_a": not transpose, "unit_diagonal": unit_diagonal}
    return tl.matrix_transpose(tl.linalg.triangular_solve(a, transposed, **options))


@row("custom_call")
def custom_call(*operands: Any, operation: OperationCall, call_target_name: str) -> Any:
    """A call of code outside the module; some targets are known by name."""
    if call_target_name in SHARDING_CALLS:
        return operands
    routine = re.fullmatch(r"lapack_[sd](potrf|trsm|getrf)_ffi", call_target_name)
    if routine is None:
        name = identifier(call_target_name, "code")
        raise unsupported("op", f"a call of {name}, code outside the module, is not imported")
    options = lapack_options(operation.operation.attributes["mhlo.backend_config"])
    if routine[1] == "getrf":
        return lu_factors(operands[0])
    if routine[1] == "potrf":
        factor = tl.linalg.cholesky(operands[0], upper=options["uplo"] == "U")
        return factor, np.zeros(sizes_of(factor)[:-2], np.int32)
    flags = (options["side"] == "L", options["uplo"] == "L", options["diag"] == "U", options["trans_x"] != "N")
    return solve(operands[0], operands[1], *flags)


def lapack_options(attribute: str) -> dict[str, str]:
    """The letters that select the variant of a LAPACK routine.

    >>> lapack_options("{diag = 78 : ui8, uplo = 76 : ui8}")
    {'diag': 'N', 'uplo': 'L'}
    """
    return {name: chr(int(code)) for name, code in re.findall(r"(\w+) = (\d+) : ui8", attribute)}


def lu_factors(x: Any) -> tuple[Any, Any, Any]:
    """The triangular factors of a matrix with its rows exchanged, in one matrix; for each row, the row that it is
    exchanged with, from 1; and the number of the first column without a pivot, or 0."""
    *batch, height, width = sizes_of(x)
    count = min(height, width)
    rows, columns, steps = np.arange(height), np.arange(width), np.arange(count)
    zero = scalar_like(0, x)

    def eliminate(k: Any, matrix: Any, pivots: Any, first_failure: Any) -> Any:
        column = tl.take(matrix, k, axis=-1)
        size = tl.where(tl.greater_equal(rows, k), tl.abs(column), scalar_like(-1, x))
        pivot_row = tl.expand_dims(tl.argmax(size, axis=-1), axis=-1)
        order = tl.where(tl.equal(rows, k), pivot_row, tl.where(tl.equal(rows, pivot_row), k, rows))
        exchanged_rows = tl.take_along_axis(matrix, tl.expand_dims(order, axis=-1), axis=-2)
        own_row, column = tl.take(exchanged_rows, k, axis=-2), tl.take(exchanged_rows, k, axis=-1)
        pivot = tl.expand_dims(tl.take(column, k, axis=-1), axis=-1)
        is_singular = tl.equal(pivot, zero)
        quotients = tl.divide(column, tl.where(is_singular, scalar_like(1, x), pivot))
        factors = tl.expand_dims(tl.where(tl.greater(rows, k), quotients, zero), axis=-1)
        product = tl.multiply(factors, tl.expand_dims(tl.where(tl.greater(columns, k), own_row, zero), axis=-2))
        is_factor = tl.logical_and(tl.greater(tl.expand_dims(rows, axis=-1), k), tl.equal(columns, k))
        next_matrix = tl.where(is_factor, factors, tl.subtract(exchanged_rows, product))
        pivots = tl.where(tl.equal(steps, k), tl.astype(tl.add(pivot_row, 1), tl.int32), pivots)
        is_first = tl.logical_and(tl.squeeze(is_singular, -1), tl.equal(first_failure, np.int32(0)))
        return k + 1, next_matrix, pivots, tl.where(is_first, tl.astype(k + 1, tl.int32), first_failure)

    shape = tuple(batch)
    starts = np.int64(0), x, np.zeros((*shape, count), np.int32), np.zeros(shape, np.int32)
    return tuple(tl.while_loop(lambda k, *_: tl.less(k, np.int64(count)), eliminate, *starts)[1:])
