"""Ops that only move elements, and reductions: `strided_op`, one function of words, cached on disk.

An array is passed as an address. Four sizes describe the loops; for the source and for the target, four strides in
elements describe the array. Arrays with fewer axes have leading sizes of 1. With a stride of 0 the loop reads, or
writes, one element repeatedly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import float32, float64, int64, types

from .intrinsic import intrinsic
from .memory import element_pointer, kernel
from .shared_library import SharedLibrary
from .state import STRIDED_ADD_ARRAYS, STRIDED_ADD_ROWS, STRIDED_COPY, STRIDED_MAX, STRIDED_SUM, STRIDED_TAKE_ROWS
from .state import STRIDED_PARAMETERS as ARITY

_BLOCK_SIDE = 8


def element_accessors(kind: Any, type_: Any) -> tuple[Any, Any]:
    """Functions that load and store an element."""

    @intrinsic
    def load(typing: Any, address: Any, index: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(element_pointer(builder, kind, *arguments))

        return type_(int64, int64), build

    @intrinsic
    def store(typing: Any, address: Any, index: Any, value: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], element_pointer(builder, kind, *arguments[:2]))
            return context.get_dummy_value()

        return types.void(int64, int64, type_), build

    return load, store


def _transpose_intrinsic(kind: Any) -> Any:
    """An intrinsic that transposes a square block, given the addresses and row strides of target and source."""

    @intrinsic
    def transpose(typing: Any, target: Any, source: Any, target_stride: Any, source_stride: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, source, target_stride, source_stride = arguments
            vector = ir.VectorType(kind, _BLOCK_SIDE)

            def at(base: Any, number: int, step: Any) -> Any:
                begin = element_pointer(builder, kind, base, builder.mul(ir.IntType(64)(number), step))
                return builder.bitcast(begin, vector.as_pointer())

            align, half_side = kind.width // 8, _BLOCK_SIDE // 2
            rows = [builder.load(at(source, number, source_stride), align=align) for number in range(_BLOCK_SIDE)]
            masks = [
                ir.Constant(
                    ir.VectorType(ir.IntType(32), _BLOCK_SIDE),
                    [first + n // 2 + _BLOCK_SIDE * (n % 2) for n in range(_BLOCK_SIDE)],
                )
                for first in (0, half_side)
            ]
            for _ in range(_BLOCK_SIDE.bit_length() - 1):  # each round interleaves the two halves
                pairs = [(rows[number], rows[number + half_side]) for number in range(half_side)]
                rows = [builder.shuffle_vector(*pair, mask) for pair in pairs for mask in masks]
            for number, row in enumerate(rows):
                builder.store(row, at(target, number, target_stride), align=align)
            return context.get_dummy_value()

        return types.void(int64, int64, int64, int64), build

    return transpose


_transpose8, _transpose32, _transpose64 = map(_transpose_intrinsic, (ir.IntType(8), ir.IntType(32), ir.IntType(64)))
_load8, _store8 = element_accessors(ir.IntType(8), types.int8)
_load32, _store32 = element_accessors(ir.IntType(32), types.int32)
_load64, _store64 = element_accessors(ir.IntType(64), int64)
_load_float32, _store_float32 = element_accessors(ir.FloatType(), float32)
_load_float64, _store_float64 = element_accessors(ir.DoubleType(), float64)


def make_copy(load: Any, store: Any, transpose_square: Any, width: int) -> Any:
    """A function that copies elements of `width` bytes, by loops over four axes."""

    @kernel
    def copy(target, source, n0, n1, n2, n3, t0, t1, t2, t3, s0, s1, s2, s3):  # type: ignore[no-untyped-def]
        for a in range(n0):
            for b in range(n1):
                target_offset, source_offset = a * t0 + b * t1, a * s0 + b * s1
                if s2 == 1 and s3 != 1 and t3 == 1:
                    transpose(target, source, n2, n3, t2, s3, target_offset, source_offset)
                    continue
                for c in range(n2):
                    i, j = target_offset + c * t2, source_offset + c * s2
                    if t3 == 1 and s3 == 1:
                        for d in range(n3):
                            store(target, i + d, load(source, j + d))
                    elif t3 == 1 and s3 == 0 and n3 > 0:
                        value = load(source, j)
                        for d in range(n3):
                            store(target, i + d, value)
                    else:
                        for d in range(n3):
                            store(target, i + d * t3, load(source, j + d * s3))

    @kernel
    def transpose(target, source, rows, columns, t, s, target_offset, source_offset):  # type: ignore[no-untyped-def]
        """Transpose, one square block at a time."""
        whole_rows, whole_columns = rows - rows % _BLOCK_SIDE, columns - columns % _BLOCK_SIDE
        for top in range(0, whole_rows, _BLOCK_SIDE):
            for left in range(0, whole_columns, _BLOCK_SIDE):
                transpose_square(
                    target + width * (target_offset + top * t + left),
                    source + width * (source_offset + left * s + top),
                    t,
                    s,
                )
        for row in range(rows):
            for column in range(whole_columns if row < whole_rows else 0, columns):
                store(target, target_offset + row * t + column, load(source, source_offset + column * s + row))

    return copy


def make_sum(load: Any) -> Any:
    """A function that adds elements to sums in float64."""

    @kernel
    def fold(target, source, n0, n1, n2, n3, t0, t1, t2, t3):  # type: ignore[no-untyped-def]
        j = 0
        for a in range(n0):
            for b in range(n1):
                for c in range(n2):
                    i = a * t0 + b * t1 + c * t2
                    if t3 == 1:
                        for d in range(n3):
                            _store_float64(target, i + d, _load_float64(target, i + d) + load(source, j + d))
                    else:
                        total = 0.0
                        for d in range(n3):
                            total += load(source, j + d)
                        _store_float64(target, i, _load_float64(target, i) + total)
                    j += n3

    return fold


def make_extremum(load: Any, store: Any) -> Any:
    """A function that reduces to the maximum or the minimum."""

    @kernel
    def fold(target, source, sign, n0, n1, n2, n3, t0, t1, t2, t3):  # type: ignore[no-untyped-def]
        """Reduce to the first largest element if `sign` is 1, the first smallest if it is -1; NaN if there is one."""
        j = 0
        for a in range(n0):
            for b in range(n1):
                for c in range(n2):
                    for d in range(n3):
                        i, value = a * t0 + b * t1 + c * t2 + d * t3, load(source, j)
                        is_first = (
                            (t0 != 0 or a == 0) and (t1 != 0 or b == 0) and (t2 != 0 or c == 0) and (t3 != 0 or d == 0)
                        )
                        extremum = load(target, i)
                        if is_first or (extremum == extremum and (value != value or sign * value > sign * extremum)):
                            store(target, i, value)
                        j += 1

    return fold


def make_row_add(load: Any, store: Any) -> Any:
    """A function that adds rows to the rows that an index selects."""

    @kernel
    def add(target, source, index, count, size, width):  # type: ignore[no-untyped-def]
        for row in range(count):
            target_row = _load64(index, row)
            target_row += size if target_row < 0 else 0
            for d in range(width):
                store(
                    target, target_row * width + d, load(target, target_row * width + d) + load(source, row * width + d)
                )

    return add


def make_array_add(load: Any, store: Any) -> Any:
    """A function that adds two arrays; the target may be one of them."""

    @kernel
    def add(target, source, other, count):  # type: ignore[no-untyped-def]
        if target == source:
            for index in range(count):
                store(target, index, load(target, index) + load(other, index))
        elif target == other:
            for index in range(count):
                store(target, index, load(source, index) + load(target, index))
        else:
            for index in range(count):
                store(target, index, load(source, index) + load(other, index))

    return add


_copy8 = make_copy(_load8, _store8, _transpose8, 1)
_copy32 = make_copy(_load32, _store32, _transpose32, 4)
_copy64 = make_copy(_load64, _store64, _transpose64, 8)
_sum32, _sum64 = make_sum(_load_float32), make_sum(_load_float64)
_extremum32, _extremum64 = make_extremum(_load_float32, _store_float32), make_extremum(_load_float64, _store_float64)
_add_rows32, _add_rows64 = make_row_add(_load_float32, _store_float32), make_row_add(_load_float64, _store_float64)
_add_arrays32, _add_arrays64 = (
    make_array_add(_load_float32, _store_float32),
    make_array_add(_load_float64, _store_float64),
)


@kernel
def _copy(target, source, width, n0, n1, n2, n3, t0, t1, t2, t3, s0, s1, s2, s3):  # type: ignore[no-untyped-def]
    if width == 8:
        _copy64(target, source, n0, n1, n2, n3, t0, t1, t2, t3, s0, s1, s2, s3)
    elif width == 4:
        _copy32(target, source, n0, n1, n2, n3, t0, t1, t2, t3, s0, s1, s2, s3)
    else:
        _copy8(target, source, n0, n1, n2, n3, t0, t1, t2, t3, s0, s1, s2, s3)


@kernel
def has_index_out_of_range(index, count, size):  # type: ignore[no-untyped-def]
    """1 if an index is outside of -size to size - 1, else 0."""
    for position in range(count):
        if not -size <= _load64(index, position) < size:
            return 1
    return 0


@kernel
def take_rows(target, source, index, count, groups, size, width):  # type: ignore[no-untyped-def]
    """Take rows of `width` bytes."""
    for group in range(groups):
        for position in range(count):
            row = _load64(index, position)
            row += size if row < 0 else 0
            source_row, target_row = source + (group * size + row) * width, target + (group * count + position) * width
            if width % 8 == 0:
                for d in range(width // 8):
                    _store64(target_row, d, _load64(source_row, d))
            elif width % 4 == 0:
                for d in range(width // 4):
                    _store32(target_row, d, _load32(source_row, d))
            else:
                for d in range(width):
                    _store8(target_row, d, _load8(source_row, d))


@kernel
def perform_strided_op(operation, target, source, width, a, b, c, d, e, f, g, h, i, j, k, m):  # type: ignore[no-untyped-def]
    """Perform an operation; returns 1, and does nothing, if an index is out of bounds, else 0.

    `target` and `source` are addresses. `width` is the number of bytes of an element of the source, or, for
    STRIDED_TAKE_ROWS, of a row. The parameters from `a` on are:

    STRIDED_COPY
        four sizes, four strides of the target, four strides of the source
    STRIDED_SUM
        four sizes, four strides of the target, which has the sums so far
    STRIDED_MAX, STRIDED_MIN
        four sizes, four strides of the target
    STRIDED_TAKE_ROWS
        the address and number of the indices, the number of groups of rows, the number of rows in a group
    STRIDED_ADD_ROWS
        the address and number of the indices, the number of rows, the number of elements of a row
    STRIDED_ADD_ARRAYS
        the address of the other source, the number of elements; the target may be either source
    """
    if operation == STRIDED_COPY:
        _copy(target, source, width, a, b, c, d, e, f, g, h, i, j, k, m)
    elif operation == STRIDED_SUM:
        if width == 4:
            _sum32(target, source, a, b, c, d, e, f, g, h)
        else:
            _sum64(target, source, a, b, c, d, e, f, g, h)
    elif operation == STRIDED_TAKE_ROWS:
        if has_index_out_of_range(a, b, d) == 1:
            return 1
        take_rows(target, source, a, b, c, d, width)
    elif operation == STRIDED_ADD_ROWS:
        if has_index_out_of_range(a, b, c) == 1:
            return 1
        if width == 4:
            _add_rows32(target, source, a, b, c, d)
        else:
            _add_rows64(target, source, a, b, c, d)
    elif operation == STRIDED_ADD_ARRAYS:
        if width == 4:
            _add_arrays32(target, source, a, b)
        else:
            _add_arrays64(target, source, a, b)
    else:
        sign = 1.0 if operation == STRIDED_MAX else -1.0
        if width == 4:
            _extremum32(target, source, sign, a, b, c, d, e, f, g, h)
        else:
            _extremum64(target, source, sign, a, b, c, d, e, f, g, h)
    return 0


LIBRARY = SharedLibrary("moves", {"strided_op": (int64(*[int64] * ARITY), perform_strided_op.py_func)})
LIBRARY.load()
strided_op = LIBRARY.declare("strided_op")
"""Calls `perform_strided_op`, for generated code; takes arrays where that takes addresses."""
