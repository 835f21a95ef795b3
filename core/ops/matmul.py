"""Products of matrices. Names and meanings follow the Python Array API standard 2024.12."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Invalid
from ..types import Shape, Type, broadcast_shape
from .gradient_rules import Term, adjoint_rule, column_vector, rank, row_vector, transpose
from .op import Stacking, op
from .type_rules import elementwise_type_rule, promote_operands

_numeric = elementwise_type_rule("if")


def matmul_shape(shapes: list[Shape]) -> Shape:
    """The shape of a product: the rows of the first and the columns of the second. The axes before are stacks of
    matrices, which broadcast."""
    first, second = shapes
    if first is None or second is None:
        return None
    inner = (first or (0,))[-1], (second or (0,))[-2:][0]
    if not first or not second or (None not in inner and inner[0] != inner[1]):
        raise Invalid(
            "these shapes do not multiply",
            required="as many columns in the first operand as rows in the second",
            got=f"{first} and {second}",
            hint="a vector is a row on the left, and a column on the right; numbers are multiplied by *",
        )
    stack = broadcast_shape([first[:-2], second[:-2]]) or ()
    return (*stack, *first[-2:-1], *(second[-1:] if len(second) > 1 else ()))


def matmul_type(x: Type, y: Type) -> Type:
    _numeric(Type(x.dtype), Type(y.dtype))
    return Type(promote_operands((x, y)), matmul_shape([x.shape, y.shape]))


MAX_DOT_ELEMENTS = 2**16
"""The elements of a product from which on `matmul` computes it: `dot` sets them to zero first, and other threads wait
meanwhile, for 0.1 s and more for 4,000 x 4,000."""


def matmul_kernel(x: Type, y: Type) -> Any:
    """NumPy's function for operands of these types: for two single matrices with a small product `dot`, which takes
    0.4 us less."""
    first, second = x.shape or (), y.shape or ()
    sizes = [size or 0 for size in (*first, *second)]  # 0 is unknown
    is_plain = len(first) == len(second) == 2 and min(sizes) > 1
    return np.ndarray.dot if is_plain and sizes[0] * sizes[-1] <= MAX_DOT_ELEMENTS else np.matmul


def matmul_stacking(x: Type, y: Type) -> Stacking | None:
    """A row times a matrix: for each element of a stack NumPy calls the function of BLAS that it calls for one, a
    matrix times a vector. Products of larger matrices may take another way."""
    is_row = len(x.shape or ()) == 1 or (len(x.shape or ()) == 2 and (x.shape or ())[0] == 1)
    return Stacking((2, 2)) if is_row and len(y.shape or ()) == 2 else None


def matmul_error_bound(x: Any, y: Any) -> Any:
    """The bound of a sum of n products in any order: Higham, Accuracy and Stability of Numerical Algorithms, 3.5."""
    dtype, magnitudes = np.result_type(x, y), (np.abs(np.asarray(operand, np.float64)) for operand in (x, y))
    magnitude = np.matmul(*magnitudes)
    if dtype.kind != "f":
        return np.zeros_like(magnitude)
    relative_error = np.shape(x)[-1] * (2.0**-24 if dtype == np.float32 else 2.0**-53)
    return relative_error / (1 - relative_error) * magnitude


def left_operand_adjoint(g: Term, z: Term, x: Term, y: Term) -> Term:
    product = adjoint_as_matrix(g, x, y) @ (transpose(y) if rank(y) > 1 else row_vector(y))
    return sum_over_stack(product if rank(x) > 1 else product.index(key="..., 0, :"), x, y)


def right_operand_adjoint(g: Term, z: Term, x: Term, y: Term) -> Term:
    product = (transpose(x) if rank(x) > 1 else column_vector(x)) @ adjoint_as_matrix(g, x, y)
    return sum_over_stack(product if rank(y) > 1 else product.index(key="..., 0"), y, x)


def sum_over_stack(product: Term, x: Term, other: Term) -> Term:
    """Sum over the axes along which x was broadcast, if either operand is a stack."""
    return product.sum_like(x) if max(rank(x), rank(other)) > 2 else product


def adjoint_as_matrix(g: Term, x: Term, y: Term) -> Term:
    """The adjoint with an axis of one row or column for each factor that is a vector."""
    columns = g if rank(y) > 1 else column_vector(g)
    return columns if rank(x) > 1 else row_vector(columns)


op(
    "matmul",
    arity=2,
    type_rule=matmul_type,
    namespace="linalg",
    numpy=np.matmul,
    numpy_float32=np.matmul,
    specialize_numpy=matmul_kernel,
    stacking=matmul_stacking,
    shape_rule=matmul_shape,
    shape_mismatch="do not multiply",
    has_superlinear_work=True,
    error_bound=matmul_error_bound,
    gradient=adjoint_rule(left_operand_adjoint, right_operand_adjoint),
    symbol="@",
    doc="""Matrix product; a vector is a row on the left and a column on the right. The axes before the last two are
stacks of matrices, which broadcast. Traps if inner sizes that types leave unknown differ.

Integers wrap. The order in which floats are added is open: bits may differ between engines and machines. The error
of each element is at most nu/(1 - nu) times the product of the absolute values, where n is the inner size and u is
2**-53, or 2**-24 for float32, unless a product or a partial sum is beyond the range of the dtype.

>>> tl.matmul([[1, 2], [3, 4]], [5, 6]).tolist()
[17, 39]
""",
)
