"""Operators of quantized numbers: integers that stand for multiples of a scale, counted from a zero point."""

from __future__ import annotations

from typing import Any

from .....core import dtypes
from .....core.dtypes import DType
from ..interpreter import dtype_of_element
from ..operators import operator, tl
from ..storage import StorageArray, StorageType, carrier_of, cast_to_storage, storage_of, storage_type
from .common import axis_position, dtype_of, rank_of, scalar_like, shape_of, to_dtype
from .networks import add_bias, conv, per_channel


def spread_parameter(parameter: Any, x: Any, axis: int, block_size: int) -> Any:
    """A scale or a zero point in a shape that broadcasts with x: one for all, for each position along an axis, or for
    each block along it."""
    if parameter is None or not shape_of(parameter) or shape_of(parameter) == (1,):
        return parameter if parameter is None else tl.reshape(parameter, ())
    position = axis_position(axis, rank_of(x))
    if block_size:
        repeated = tl.repeat(parameter, block_size, axis=position)
        return tl.index(repeated, (*[slice(None)] * position, slice(None, shape_of(x)[position])))
    if rank_of(parameter) > 1:
        return parameter
    return tl.reshape(parameter, tuple(-1 if k == position else 1 for k in range(rank_of(x))))


def quantized_type(zero: Any) -> DType | StorageType:
    """The type of the numbers that are counted from a zero point."""
    return storage_of(zero) or dtype_of(zero)


def quantize(numbers: Any, zero: Any, type_: DType | StorageType, saturate: int = 1) -> Any:
    """Numbers counted from a zero point, rounded to even and limited to the range of a type. Integers are rounded
    before they are counted."""
    is_float = isinstance(type_, StorageType) and not type_.is_integer
    rounded_numbers = numbers if is_float else tl.round(numbers)
    shifted = (
        rounded_numbers
        if zero is None
        else tl.add(rounded_numbers, tl.astype(carrier_of(zero), dtype_of(rounded_numbers)))
    )
    if isinstance(type_, DType):
        return tl.astype(shifted, type_)
    if is_float:
        return cast_to_storage(shifted, type_, saturate=bool(saturate))
    least, greatest = (scalar_like(bound, shifted) for bound in type_.range)
    return StorageArray(tl.astype(tl.minimum(tl.maximum(shifted, least), greatest), type_.carrier), type_)


def wide_scale(scale: Any) -> Any:
    """A scale as a row computes with it: in float32, if it is of a storage type."""
    return scale if storage_of(scale) is None else tl.astype(carrier_of(scale), dtypes.float32)


@operator("QuantizeLinear", version=10, takes_storage=True)
def quantize_linear(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0,
    precision: int = 0, saturate: int = 1,
) -> Any:  # fmt: skip
    type_ = storage_type(output_dtype) or (dtype_of_element(output_dtype) if output_dtype else dtypes.uint8)
    if zero is not None:
        type_ = quantized_type(zero)
    has_own_dtype = dtype_of(x).kind == "f" and storage_of(scale) is None
    scale = wide_scale(scale)
    wide = to_dtype(x, precision) if precision else x if has_own_dtype else to_dtype(x, dtype_of(scale))
    divisor = to_dtype(spread_parameter(scale, x, axis, block_size), dtype_of(wide))
    return quantize(tl.divide(wide, divisor), spread_parameter(carrier_of(zero), x, axis, block_size), type_, saturate)


@operator("DequantizeLinear", version=10, takes_storage=True)
def dequantize_linear(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    scale, values = wide_scale(scale), carrier_of(x)
    dtype = dtype_of_element(output_dtype) if output_dtype else dtype_of(scale)
    shifted = tl.astype(difference(x, spread_parameter(carrier_of(zero), values, axis, block_size)), dtype_of(scale))
    return to_dtype(tl.multiply(shifted, spread_parameter(scale, values, axis, block_size)), dtype)


def difference(x: Any, zero: Any) -> Any:
    """x less its zero point, in int32; floats of a storage type in float32."""
    storage = storage_of(x)
    dtype = dtypes.int32 if storage is None or storage.is_integer else dtypes.float32
    wide = tl.astype(carrier_of(x), dtype)
    return wide if zero is None else tl.subtract(wide, tl.astype(carrier_of(zero), dtype))


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(x: Any) -> Any:
    low, high = tl.minimum(tl.min(x), 0.0), tl.maximum(tl.max(x), 0.0)
    scale = tl.divide(tl.subtract(high, low), 255.0)
    zero = tl.astype(tl.round(tl.minimum(tl.maximum(tl.divide(tl.negative(low), scale), 0.0), 255.0)), tl.uint8)
    return quantize(tl.divide(x, scale), zero, dtypes.uint8), scale, zero


def row_zero(zero: Any, rank: int) -> Any:
    """The zero point of the rows of a matrix: one for all, or one for each row."""
    if zero is None or not shape_of(zero) or shape_of(zero) == (1,) or rank_of(zero) > 1:
        return zero
    return tl.expand_dims(zero, axis=1) if rank > 1 else zero


@operator("MatMulInteger")
def mat_mul_integer(x: Any, y: Any, x_zero: Any = None, y_zero: Any = None) -> Any:
    return tl.matmul(difference(x, row_zero(x_zero, rank_of(carrier_of(x)))), difference(y, y_zero))


@operator("QLinearMatMul", takes_storage=True)
def q_linear_mat_mul(
    x: Any, x_scale: Any, x_zero: Any, y: Any, y_scale: Any, y_zero: Any, scale: Any, zero: Any
) -> Any:
    product = mat_mul_integer(x, y, carrier_of(x_zero), y_zero)
    factor = tl.divide(tl.multiply(row_zero(x_scale, rank_of(carrier_of(x))), y_scale), scale)
    numbers = tl.multiply(tl.astype(product, dtype_of(factor)), factor)
    return quantize(numbers, zero, quantized_type(zero))


@operator("ConvInteger")
def conv_integer(x: Any, weights: Any, x_zero: Any = None, weight_zero: Any = None, **options: Any) -> Any:
    kernel_zero = weight_zero
    if weight_zero is not None and shape_of(weight_zero) not in ((), (1,)):
        kernel_zero = tl.reshape(weight_zero, (-1, *[1] * (rank_of(weights) - 1)))
    return conv(difference(x, x_zero), difference(weights, kernel_zero), **options)


@operator("QLinearConv")
def q_linear_conv(
    x: Any, x_scale: Any, x_zero: Any, weights: Any, weight_scale: Any, weight_zero: Any, scale: Any, zero: Any,
    bias: Any = None, **options: Any,
) -> Any:  # fmt: skip
    sums = add_bias(conv_integer(x, weights, x_zero, weight_zero, **options), bias)
    factor = tl.divide(tl.multiply(x_scale, weight_scale), scale)
    if shape_of(factor) not in ((), (1,)):
        factor = per_channel(factor, rank_of(x))
    return quantize(tl.multiply(tl.astype(sums, dtype_of(factor)), factor), zero, dtype_of(zero))
