# ruff: noqa: I001  # the order counts
"""The ops. A row (`op.Op`) holds everything about one op; a family of ops is a file of rows.

In a family, `NAME_type` is the type rule of the op NAME, `NAME_array` its NumPy column, `NAME_error_bound` its error
bound, and `NAME_adjoint` the adjoint of its operand, or of the named one. The order of families here is the order of
the registry, of the docs, and of the numbers of ops in images.
"""

from . import (
    arithmetic,
    logic,
    linalg,
    indexing,
    matmul,
    math,
    dynamic_shapes,
    reductions,
    sorting,
    rounding,
    effects,
    random,
    selection,
    shape,
    special,
)

__all__ = [
    "arithmetic",
    "dynamic_shapes",
    "effects",
    "indexing",
    "linalg",
    "logic",
    "math",
    "matmul",
    "random",
    "reductions",
    "rounding",
    "selection",
    "shape",
    "sorting",
    "special",
]
