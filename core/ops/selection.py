"""Selection and conversion: ops that return the values of their operands, or convert them."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid
from ..types import Type, broadcast_shape
from . import scalar_kernels
from .gradient_rules import adjoint_rule, zero_gradient
from .op import ScalarByDtype, ScalarFunction, op
from .type_rules import check_numeric, elementwise_type_rule, promote_operands


def where_type(condition: Type, x: Type, y: Type) -> Type:
    if condition.dtype is not dtypes.bool:
        hint = "compare first, or convert with tl.astype(x, tl.bool)"
        raise Invalid(
            "the condition of where is not of dtype bool", required="bool", got=condition, hint=hint, python=TypeError
        )
    check_numeric(x, y)
    return Type(promote_operands((x, y)), broadcast_shape([condition.shape, x.shape, y.shape]))


def stop_gradient_type(x: Type) -> Type:
    check_numeric(x)
    return x


def astype_type(x: Type, dtype: DType) -> Type:
    if not isinstance(dtype, DType):
        raise Invalid("this is not a dtype", required=", ".join(dtypes.BY_NAME), got=repr(dtype), python=TypeError)
    check_numeric(x)
    return Type(dtype, x.shape)


def astype_scalar(operand: DType, result: DType) -> ScalarFunction:
    """Integers wrap, by the cast to the dtype of the result; floats are rounded toward zero and saturate."""
    if result.kind == "b":
        return ScalarFunction(scalar_kernels.nonzero)
    if result in dtypes.FLOAT_FORMATS and operand.kind != "b":  # numba's float() takes no bool
        return ScalarFunction(scalar_kernels.round_float, dtypes.FLOAT_FORMATS[result])
    if result.kind == "f":
        return ScalarFunction(float)
    return (
        ScalarFunction(scalar_kernels.to_integer, (*result.range, int)) if operand.kind == "f" else ScalarFunction(int)
    )


def astype_array(x: Any, dtype: DType) -> Any:
    """NumPy leaves the conversion of NaN, and of floats out of range, to the machine; here it is defined. A conversion
    to float32 goes through float64, as for a scalar."""
    array = np.asarray(x)
    if dtype.kind == "f":
        return array.astype(np.float64)
    if dtype.kind == "b" or array.dtype.kind != "f":
        return array.astype(dtype.numpy)
    low, high = dtype.range
    is_inside = (array > low) & (array < high)
    converted = np.where(is_inside, array, 0.0).astype(dtype.numpy)
    lowest, highest = dtype.numpy.type(low), dtype.numpy.type(high)
    return np.where(is_inside | np.isnan(array), converted, np.where(array > 0, highest, lowest))


def bitcast_type(x: Type, dtype: DType) -> Type:
    if not isinstance(dtype, DType):
        raise Invalid("this is not a dtype", required=", ".join(dtypes.BY_NAME), got=repr(dtype), python=TypeError)
    check_numeric(x)
    if "b" in (x.dtype.kind, dtype.kind) or x.dtype.bits != dtype.bits:
        required = "integers or floats with the same number of bits"
        hint = "convert with tl.astype(x, dtype)"
        raise Invalid(f"the bits of {x.dtype!r} cannot be read as {dtype!r}", required=required, got=x, hint=hint)
    return Type(dtype, x.shape)


def bitcast_scalar(operand: DType, result: DType) -> ScalarFunction:
    if operand in dtypes.FLOAT_FORMATS and result in dtypes.FLOAT_FORMATS:
        return ScalarFunction(
            scalar_kernels.reinterpret_float, (*dtypes.FLOAT_FORMATS[operand], *dtypes.FLOAT_FORMATS[result])
        )
    if operand in dtypes.FLOAT_FORMATS:
        return ScalarFunction(scalar_kernels.float_bits, dtypes.FLOAT_FORMATS[operand])
    if result in dtypes.FLOAT_FORMATS:
        return ScalarFunction(scalar_kernels.float_of_bits, dtypes.FLOAT_FORMATS[result])
    if operand.kind == "f" != result.kind:
        return ScalarFunction(float_to_signed if result.kind == "i" else float_to_unsigned, (result.bits,))
    if result.kind == "f" != operand.kind:
        return ScalarFunction(signed_to_float if operand.kind == "i" else unsigned_to_float, (result.bits,))
    return ScalarFunction(float if result.kind == "f" else int)


def float_to_signed(x: float, bits: int) -> int:
    return int(np.float64(x).view(np.int64)) if bits == 64 else int(np.float32(x).view(np.int32))


def float_to_unsigned(x: float, bits: int) -> Any:
    return np.float64(x).view(np.uint64) if bits == 64 else np.float32(x).view(np.uint32)


def signed_to_float(x: int, bits: int) -> float:
    return float(np.int64(x).view(np.float64)) if bits == 64 else float(np.int32(x).view(np.float32))


def unsigned_to_float(x: int, bits: int) -> float:
    return float(np.uint64(x).view(np.float64)) if bits == 64 else float(np.uint32(x).view(np.float32))


def bitcast_array(x: Any, dtype: DType) -> Any:
    """float32 arrives as float64, and becomes float32 again."""
    array = np.asarray(x)
    return (array if 8 * array.itemsize == dtype.bits else array.astype(np.float32)).view(dtype.numpy)


def refuse_gradient(*_: Any, **__: Any) -> NoReturn:
    """The rule of an op whose gradient is refused."""
    raise Invalid(
        "a value without a derivative is differentiated",
        rule="D1",
        required="a differentiable computation, which a draw by rejection is not",
        hint="tl.stop_gradient(y) around the result y makes it a constant, as in tl.stop_gradient(tl.gamma(alpha))",
    )


op(
    "where",
    arity=3,
    type_rule=where_type,
    numpy=np.where,
    scalar=lambda condition, x, y: x if condition else y,
    same_dtype_operands=(1, None),
    has_innocuous_rounding=True,
    gradient=adjoint_rule(None, lambda g, z, c, x, y: c.where(g, 0.0), lambda g, z, c, x, y: c.where(0.0, g)),
    doc="""x where the condition is true, else y. All three operands are computed; `tl.cond` computes only one side.

>>> tl.where(True, 1, 2)
1
""",
)
op(
    "identity",
    arity=1,
    type_rule=lambda x: x,
    numpy=lambda x: x,
    scalar=lambda x: x,
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x: g),
    doc="""The value itself. In a graph it gives a literal a token of its own.

>>> tl.identity(3)
3
""",
)
op(
    "stop_gradient",
    arity=1,
    type_rule=stop_gradient_type,
    numpy=lambda x: x,
    scalar=lambda x: x,
    has_innocuous_rounding=True,
    gradient=zero_gradient,
    doc="""The value itself, which gradients treat as a constant: no adjoint flows back through it.

>>> tl.grad(lambda x: tl.stop_gradient(x) * x)(3.0)
3.0
""",
)
op(
    "prevent_gradient",
    arity=1,
    type_rule=elementwise_type_rule("f"),
    numpy=lambda x: x,
    scalar=lambda x: x,
    has_innocuous_rounding=True,
    gradient=refuse_gradient,
    doc="""The value itself, of floats, whose gradient is refused (D1). For computations whose derivative would be
wrong, such as draws by rejection.

>>> tl.prevent_gradient(1.5)
1.5
""",
)
op(
    "astype",
    arity=1,
    type_rule=astype_type,
    numpy=astype_array,
    scalar=ScalarByDtype(astype_scalar),
    narrow_compute_dtype=dtypes.float64,
    attributes=("dtype",),
    namespace=None,
    gradient=adjoint_rule(lambda g, z, x, dtype: g if dtype.kind == "f" else None),
    doc="""x as another dtype (attribute `dtype`).

A float becomes an integer by rounding toward zero; beyond the range of the dtype it becomes the nearest number, and NaN
becomes 0. An integer wraps. To a float, a number is rounded to float64, and then once to the dtype. To bool: whether it
is not zero; NaN is not zero.

>>> tl.astype(-2.7, tl.int64)
-2
""",
)
op(
    "bitcast",
    arity=1,
    type_rule=bitcast_type,
    numpy=bitcast_array,
    scalar=ScalarByDtype(bitcast_scalar),
    narrow_compute_dtype=None,
    attributes=("dtype",),
    gradient=zero_gradient,
    doc="""The bits of x read as another dtype of as many bits (attribute `dtype`): integers of both signs, and the
floats of 16, 32 and 64 bits. It has no adjoint. A signalling NaN may become a quiet one.

>>> hex(tl.bitcast(1.0, tl.int64))
'0x3ff0000000000000'
""",
)
