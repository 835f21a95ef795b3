"""Sums and matrix products of C-contiguous arrays, for compiled code. Float sums accumulate in float64, integer sums in
64 bits, float products in their own dtype. The order of additions is free: the rows of the registry bound the error.

Float products with few rows are computed row by row, all others in tiles of rows and columns that accumulate in
registers, and large ones in blocks of tiles, with a poll before each. Threads may share the tiles: the terms of an
element are added in an order that depends on the shapes only, not on the threads. Each product is a shared library
(shared_library.py). BLAS computes small products without a whole tile, and large products with few rows.

At common sizes tiles are faster than BLAS (2026-11-23, AMD EPYC with AVX-512, two cores, OpenBLAS 0.3.31; minimum of 5,
processor time of one thread): BLAS takes 1.6 times as long for 32 x 256 by 256 x 256, 1.2 for 100 x 784 by 784 x 256,
1.7 for 200 x 784 by 784 x 10, 1.2 for a row by 128 x 320 (float64: 1.6), 1.4 for a column by a row, and as long for
32 x 64 by 64 x 256. Small narrow products, with rows shorter than a tile, are left to BLAS, which takes 0.3 to 0.9 of
the time.

A training step of the perceptron 784-256-10 takes 1.7 times as long with BLAS on one thread. With BLAS on two threads
it takes 1.1 times as long on an idle machine, and 10 times as long beside other processes, since OpenBLAS's threads
wait for each other at each product. Steps of LSTM, TreeLSTM and L2HMC show no difference above the noise.

A product of 4,096 x 4,096 takes 1.2 times the processor time of one call of BLAS, which nothing can end, and 0.7 times
that of BLAS in blocks of 128 rows (2026-11-30, the same machine, load 9).
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import float32, float64, int64, types
from numba.core import cgutils

from . import arrays, intrinsics, parallel_loops, runtime
from .blas import load_blas
from .intrinsic import intrinsic
from .memory import kernel
from .shared_library import SharedLibrary
from .state import FEW_ROWS, MATMUL_FUNCTIONS

BLOCKED_MIN_PRODUCTS = 2**26
"""The number of multiplications from which on a product is computed in blocks."""
BLOCKED_MIN_TERMS = 2**12
"""The most terms of an element that are added one after another; more are added by partial sums, in blocks: a million
float32 added one after another lose a hundredth."""
_BLOCK_ROWS, _BLOCK_TERMS = 256, 256
"""The rows of a block, and the terms of its elements: with all columns of 5,000, a block takes some 10 ms on one
core."""
_BLAS_MAX_NARROW_PRODUCTS = 2**18
"""The most multiplications of a narrow product that BLAS computes; for more, BLAS wakes its own threads."""
_PARALLEL_MIN_PRODUCTS = 2**20
"""The number of multiplications from which on threads share a product: they take some 15 us. With a threshold of 2**18,
runs were no shorter, and much longer on a busy machine."""
STORE_RESULT, ADD_TO_TARGET, ADD_TO_ZEROS = 0, 1, 2
"""Store modes of a product: store it, add it to the target, or add it to zeros, which turns -0.0 into 0.0."""
_WORD = ir.IntType(64)
_contract_kernel: Any = partial(kernel, fastmath={"contract"})
_reassociate_kernel: Any = partial(kernel, fastmath={"contract", "reassoc"})
_sum_kernel: Any = partial(kernel, fastmath={"reassoc"})
_HAS_AVX512 = bool(llvm.get_host_cpu_features().get("avx512f"))
_VECTOR_BYTES, _TILE_ROWS = (64, 8) if _HAS_AVX512 else (32, 4)
"""The bytes of a vector register, and the rows of a tile, each of two vectors."""


def tile_intrinsic(vectors_per_row: int) -> Any:
    """An intrinsic that computes a tile: _TILE_ROWS rows by `vectors_per_row` vectors of columns of a product.

    It takes the addresses of the left factor, of the right factor and of the product, and their strides in elements:
    between rows and between columns of the left factor, and between rows of the others. `inner` is the number of terms
    of an element of the product. `store_mode` is one of STORE_RESULT, ADD_TO_TARGET, ADD_TO_ZEROS.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _TileEmitter(context, builder, signature.args[-1].dtype, vectors_per_row).emit(*arguments[:-1])
        return context.get_dummy_value()

    def infer_signature(  # type: ignore[no-untyped-def]
        typing, x, y, out, row_stride, column_stride, inner, right_stride, product_stride, store_mode, like
    ):
        return types.void(*[int64] * 9, like), build

    return intrinsic(infer_signature)


class _TileEmitter:
    """Emits the code of a tile."""

    def __init__(self, context: Any, builder: Any, dtype: Any, vectors_per_row: int) -> None:
        self.vectors_per_row = vectors_per_row
        self.builder, self.element_type = builder, context.get_value_type(dtype)
        self.lanes = _VECTOR_BYTES // context.get_abi_sizeof(self.element_type)
        self.vector_type = ir.VectorType(self.element_type, self.lanes)
        bits = 8 * context.get_abi_sizeof(self.element_type)
        name, function_type = (
            f"llvm.fmuladd.v{self.lanes}f{bits}",
            ir.FunctionType(self.vector_type, [self.vector_type] * 3),
        )
        self.multiply_add: Any = cgutils.get_or_insert_function(builder.module, function_type, name)  # type: ignore[no-untyped-call]
        self.align = bits // 8

    def emit(
        self,
        x: Any,
        y: Any,
        out: Any,
        row_stride: Any,
        column_stride: Any,
        inner: Any,
        right_stride: Any,
        product_stride: Any,
        store_mode: Any,
    ) -> None:
        builder, vectors_per_row, zero = (
            self.builder,
            self.vectors_per_row,
            ir.Constant(self.vector_type, [0.0] * self.lanes),
        )
        entry_block, loop = builder.block, builder.append_basic_block("product")
        end_block = builder.append_basic_block("product.end")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(_WORD)
        k.add_incoming(_WORD(0), entry_block)
        sums = [builder.phi(self.vector_type) for _ in range(vectors_per_row * _TILE_ROWS)]
        columns = [
            builder.load(self.vector_pointer(y, k, right_stride, vector), align=self.align)
            for vector in range(vectors_per_row)
        ]
        new_sums = []
        column_offset = builder.mul(k, column_stride)
        for tile_row in range(_TILE_ROWS):
            factor = self.broadcast_scalar(
                builder.load(self.element_pointer(x, builder.mul(_WORD(tile_row), row_stride), column_offset))
            )
            new_sums += [
                builder.call(self.multiply_add, [factor, columns[vector], sums[vectors_per_row * tile_row + vector]])
                for vector in range(vectors_per_row)
            ]
        for sum_, new_sum in zip(sums, new_sums, strict=True):
            sum_.add_incoming(zero, entry_block)
            sum_.add_incoming(new_sum, loop)
        next_k = builder.add(k, _WORD(1))
        k.add_incoming(next_k, loop)
        builder.cbranch(builder.icmp_signed("<", next_k, inner), loop, end_block)
        builder.position_at_end(end_block)
        with builder.if_else(builder.icmp_signed("==", store_mode, _WORD(STORE_RESULT))) as (store_branch, add_branch):
            with store_branch:
                for tile_row, sum_ in enumerate(new_sums):
                    builder.store(sum_, self.product_pointer(out, product_stride, tile_row), align=self.align)
            with add_branch:
                is_added = builder.icmp_signed("==", store_mode, _WORD(ADD_TO_TARGET))
                for tile_row, sum_ in enumerate(new_sums):
                    pointer = self.product_pointer(out, product_stride, tile_row)
                    addend = builder.select(is_added, builder.load(pointer, align=self.align), zero)
                    builder.store(builder.fadd(addend, sum_), pointer, align=self.align)

    def product_pointer(self, out: Any, product_stride: Any, number: int) -> Any:
        """A pointer to a vector of the product, by number."""
        return self.vector_pointer(
            out, _WORD(number // self.vectors_per_row), product_stride, number % self.vectors_per_row
        )

    def element_pointer(self, base: Any, *steps: Any) -> Any:
        pointer = self.builder.inttoptr(base, self.element_type.as_pointer())
        for step in steps:
            pointer = self.builder.gep(pointer, [step])
        return pointer

    def vector_pointer(self, base: Any, row: Any, step: Any, column: int) -> Any:
        """A pointer to a vector."""
        pointer = self.element_pointer(base, self.builder.mul(row, step), _WORD(column * self.lanes))
        return self.builder.bitcast(pointer, self.vector_type.as_pointer())

    def broadcast_scalar(self, number: Any) -> Any:
        """A vector of one number."""
        vector = self.builder.insert_element(ir.Constant(self.vector_type, ir.Undefined), number, ir.IntType(32)(0))
        return self.builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None))


_TILE_ROW_BYTES = 2 * _VECTOR_BYTES
"""The bytes of a row of a tile."""
_compute_tile, _compute_half_tile = tile_intrinsic(2), tile_intrinsic(1)
data_address, array_at, call_body, keep_alive, parallel_for = (
    parallel_loops.data_address,
    cast(Any, parallel_loops.array_at),
    parallel_loops.call_body,
    cast(Any, parallel_loops.keep_alive),
    runtime.LIBRARY.declare("parallel_for"),
)
read_i: Any = intrinsics.read_i
load_relaxed: Any = intrinsics.load_relaxed
pack_words: Any = arrays.pack_words


@kernel
def compute_strips(words, first, last, like):  # type: ignore[no-untyped-def]
    """Compute the strips (columns of tiles) `first` to `last` (exclusive). The last tile of a row or column is shifted
    back so that it fits, and computes some elements again."""
    x, y, product = read_i(words, 0), read_i(words, 1), read_i(words, 2)
    rows, inner, count = read_i(words, 3), read_i(words, 4), read_i(words, 5)
    row_stride, column_stride, store_mode, size = read_i(words, 6), read_i(words, 7), read_i(words, 8), read_i(words, 9)
    tile_columns = _TILE_ROW_BYTES // size
    for number in range(first, last):
        column = min(number * tile_columns, count - tile_columns) * size
        for first_row in range(0, rows, _TILE_ROWS):
            row = min(first_row, rows - _TILE_ROWS)
            out = product + row * count * size + column
            _compute_tile(
                x + row * row_stride * size,
                y + column,
                out,
                row_stride,
                column_stride,
                inner,
                count,
                count,
                store_mode,
                like,
            )


@kernel
def _compute_strips32(words, first, last):  # type: ignore[no-untyped-def]
    compute_strips(words, first, last, np.float32)


@kernel
def _compute_strips64(words, first, last):  # type: ignore[no-untyped-def]
    compute_strips(words, first, last, np.float64)


@intrinsic
def _strips_address(typing: Any, x: Any) -> Any:
    """The address of the function that computes strips of a product of such matrices."""
    return int64(x), parallel_loops.emit_function_address(
        typing, _compute_strips32 if x.dtype == float32 else _compute_strips64
    )


_strips_body_address: Any = _strips_address


@kernel
def matmul_by_strips(s, x, y, product, row_stride, column_stride, store_mode):  # type: ignore[no-untyped-def]
    """Compute a product by strips. `row_stride` and `column_stride`, in elements, are those of the left factor."""
    rows, inner, count, size = product.shape[0], y.shape[0], y.shape[1], x.itemsize
    words = pack_words((x, y, product, rows, inner, count, row_stride, column_stride, store_mode, size))
    strips_body, strips = _strips_body_address(x), (count * size + _TILE_ROW_BYTES - 1) // _TILE_ROW_BYTES
    is_large = rows * inner * count >= _PARALLEL_MIN_PRODUCTS and strips > 1
    succeeded = (
        parallel_for(s, strips_body, words, strips, 1) if is_large else call_body(strips_body, words, 0, strips) == 0
    )
    keep_alive(x)
    keep_alive(y)
    keep_alive(product)
    if not succeeded:
        raise MemoryError


@kernel
def matmul_narrow(x, y, product, row_stride, column_stride):  # type: ignore[no-untyped-def]
    """Compute a product with few columns. Tiles read past the end of a row of the right factor, from a padded copy, and
    the columns of the product that this computes are discarded."""
    rows, count, inner, size = product.shape[0], product.shape[1], y.shape[0], x.itemsize
    tile_columns = _TILE_ROW_BYTES // size if count * size > _VECTOR_BYTES else _VECTOR_BYTES // size
    padded, tile = np.empty(inner * count + tile_columns, x.dtype), np.empty((_TILE_ROWS, tile_columns), x.dtype)
    elements = array_at(data_address(y), inner * count, x.dtype)
    for index in range(inner * count):
        padded[index] = elements[index]
    for index in range(inner * count, padded.size):
        padded[index] = 0
    for index in range(0, rows, _TILE_ROWS):
        row = min(index, rows - _TILE_ROWS)
        left_address = data_address(x) + row * row_stride * size
        if count * size > _VECTOR_BYTES:
            _compute_tile(
                left_address,
                data_address(padded),
                data_address(tile),
                row_stride,
                column_stride,
                inner,
                count,
                tile_columns,
                STORE_RESULT,
                x.dtype,
            )
        else:
            _compute_half_tile(
                left_address,
                data_address(padded),
                data_address(tile),
                row_stride,
                column_stride,
                inner,
                count,
                tile_columns,
                STORE_RESULT,
                x.dtype,
            )
        for i in range(_TILE_ROWS):
            for j in range(count):
                product[row + i, j] = tile[i, j]
    keep_alive(padded)
    keep_alive(tile)


@kernel
def matmul_tiled(s, x, y, product, row_stride, column_stride):  # type: ignore[no-untyped-def]
    """Compute a product by tiles and store it."""
    if product.shape[1] * x.itemsize < _TILE_ROW_BYTES:
        matmul_narrow(x, y, product, row_stride, column_stride)
    else:
        matmul_by_strips(s, x, y, product, row_stride, column_stride, STORE_RESULT)


@_contract_kernel
def matmul_few_rows(x, y, product):  # type: ignore[no-untyped-def]
    """A product with few rows: each is a weighted sum of rows of the right factor, four at a time."""
    inner, count = y.shape
    unrolled_end = inner - inner % 4
    for i in range(x.shape[0]):
        for j in range(count):
            product[i, j] = 0
        for k in range(0, unrolled_end, 4):
            a, b, c, d = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            for j in range(count):
                product[i, j] += (a * y[k, j] + b * y[k + 1, j]) + (c * y[k + 2, j] + d * y[k + 3, j])
        for k in range(unrolled_end, inner):
            for j in range(count):
                product[i, j] += x[i, k] * y[k, j]


@_reassociate_kernel
def matmul_few_rows_transposed(x, y, product):  # type: ignore[no-untyped-def]
    """A product with few rows by a transposed matrix."""
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            sum_ = x.dtype.type(0)
            for k in range(y.shape[1]):
                sum_ += x[i, k] * y[j, k]
            product[i, j] = sum_


@_reassociate_kernel
def matmul_vector(x, y, product):  # type: ignore[no-untyped-def]
    """A product with one column."""
    column = array_at(data_address(y), y.shape[0], y.dtype)
    for i in range(x.shape[0]):
        sum_ = x.dtype.type(0)
        for k in range(x.shape[1]):
            sum_ += x[i, k] * column[k]
        product[i, 0] = sum_


@kernel
def outer_product(column, row, product, store_mode):  # type: ignore[no-untyped-def]
    """The product of a column and a row, row by row; tiles take twice as long."""
    zero = column.dtype.type(0)
    x, y = (
        array_at(data_address(column), product.shape[0], column.dtype),
        array_at(data_address(row), product.shape[1], row.dtype),
    )
    for i in range(product.shape[0]):
        factor = x[i]
        if store_mode == ADD_TO_TARGET:
            for j in range(product.shape[1]):
                product[i, j] += zero + factor * y[j]
        else:
            for j in range(product.shape[1]):
                product[i, j] = zero + factor * y[j]


@kernel
def is_large(rows, inner, count):  # type: ignore[no-untyped-def]
    """Whether a product is computed in blocks, if it has enough rows: it is large, or its elements have many terms."""
    return inner > BLOCKED_MIN_TERMS or rows * inner * count >= BLOCKED_MIN_PRODUCTS


@kernel
def suits_blas(rows, inner, count, size):  # type: ignore[no-untyped-def]
    """Whether BLAS computes a product that is not large, since it has no whole tile, or is narrow and small."""
    is_narrow = count * size < _TILE_ROW_BYTES
    return rows < _TILE_ROWS or (is_narrow and rows * inner * count <= _BLAS_MAX_NARROW_PRODUCTS)


@kernel
def matmul_whole_tiles(s, x, y, product, rows, columns, strides):  # type: ignore[no-untyped-def]
    """Compute the first rows and columns of a product, which are whole tiles, in blocks, with a poll before each;
    meaningless after a request to stop. `x` is the address of the left factor; `strides`, in elements, are those
    between its rows and between its columns."""
    row_stride, column_stride = strides
    inner, count, size = y.shape[0], y.shape[1], y.itemsize
    right, out = data_address(y), data_address(product)
    strips_body, strips = _strips_body_address(y), columns * size // _TILE_ROW_BYTES
    for term in range(0, inner, _BLOCK_TERMS):
        terms, store_mode = min(_BLOCK_TERMS, inner - term), STORE_RESULT if term == 0 else ADD_TO_TARGET
        for row in range(0, rows, _BLOCK_ROWS):
            if load_relaxed(s) != 0:
                return
            left_address = x + (row * row_stride + term * column_stride) * size
            addresses = left_address, right + term * count * size, out + row * count * size
            block_rows = min(_BLOCK_ROWS, rows - row)
            words = (*addresses, block_rows, terms, count, row_stride, column_stride, store_mode, size)
            if not parallel_for(s, strips_body, pack_words(words), strips, 1):
                raise MemoryError
    keep_alive(y)
    keep_alive(product)


@kernel
def matmul_by_blocks(s, x, y, product, row_stride, column_stride):  # type: ignore[no-untyped-def]
    """Compute a product in blocks. Rows and columns that fill no tile are computed from copies of their factors, which
    zeros extend to a tile."""
    rows, inner, count = product.shape[0], y.shape[0], y.shape[1]
    tile_columns = _TILE_ROW_BYTES // x.itemsize
    last_rows, last_columns = rows % _TILE_ROWS, count % tile_columns
    whole_rows, whole_columns = rows - last_rows, count - last_columns
    strides = row_stride, column_stride
    matmul_whole_tiles(s, data_address(x), y, product, whole_rows, whole_columns, strides)
    bottom = np.zeros((_TILE_ROWS if last_rows else 0, inner), x.dtype)
    if last_rows:
        elements = array_at(data_address(x), rows * inner, x.dtype)
        for i in range(last_rows):
            for k in range(inner):
                bottom[i, k] = elements[(whole_rows + i) * row_stride + k * column_stride]
        tiles = np.empty((_TILE_ROWS, count), x.dtype)
        matmul_whole_tiles(s, data_address(bottom), y, tiles, _TILE_ROWS, whole_columns, (inner, 1))
        product[whole_rows:, :whole_columns] = tiles[:last_rows, :whole_columns]
    if last_columns:
        right = np.zeros((inner, tile_columns), x.dtype)
        right[:, :last_columns] = y[:, whole_columns:]
        tiles = np.empty((whole_rows + len(bottom), tile_columns), x.dtype)
        matmul_whole_tiles(s, data_address(x), right, tiles, whole_rows, tile_columns, strides)
        matmul_whole_tiles(s, data_address(bottom), right, tiles[whole_rows:], len(bottom), tile_columns, (inner, 1))
        product[:, whole_columns:] = tiles[:rows, :last_columns]
    keep_alive(x)
    keep_alive(bottom)


@kernel
def matmul(s, x, y):  # type: ignore[no-untyped-def]
    """The product of two float matrices of one dtype; zeros if the inner size is 0."""
    rows, inner, count = x.shape[0], x.shape[1], y.shape[1]
    if rows * inner * count == 0:
        return np.zeros((rows, count), x.dtype)
    is_blocked = is_large(rows, inner, count) and rows >= _TILE_ROWS
    if (
        inner > 1
        and not is_blocked
        and ((suits_blas(rows, inner, count, x.itemsize) and rows >= FEW_ROWS) or is_large(rows, inner, count))
    ):
        return np.dot(x, y)
    product = np.empty((rows, count), x.dtype)
    if inner == 1:
        outer_product(x, y, product, STORE_RESULT)
    elif rows < FEW_ROWS:
        matmul_few_rows(x, y, product)
    elif is_blocked:
        matmul_by_blocks(s, x, y, product, inner, 1)
    elif count == 1:
        matmul_vector(x, y, product)
    else:
        matmul_tiled(s, x, y, product, inner, 1)
    return product


@kernel
def matmul_transposed_left(s, x, y):  # type: ignore[no-untyped-def]
    """The product of the transpose of a float matrix and another one; zeros if the inner size is 0."""
    rows, inner, count = x.shape[1], x.shape[0], y.shape[1]
    if rows * inner * count == 0:
        return np.zeros((rows, count), x.dtype)
    is_blocked = is_large(rows, inner, count) and rows >= _TILE_ROWS
    if inner > 1 and not is_blocked and (suits_blas(rows, inner, count, x.itemsize) or is_large(rows, inner, count)):
        return np.dot(x.T, y)
    product = np.empty((rows, count), x.dtype)
    if inner == 1:
        outer_product(x, y, product, STORE_RESULT)
    elif is_blocked:
        matmul_by_blocks(s, x, y, product, 1, rows)
    else:
        matmul_tiled(s, x, y, product, 1, rows)
    return product


@kernel
def matmul_transposed_right(x, y):  # type: ignore[no-untyped-def]
    """The product of a matrix with few rows and a transposed one."""
    product = np.empty((x.shape[0], y.shape[0]), x.dtype)
    matmul_few_rows_transposed(x, y, product)
    return product


@kernel
def matmul_accumulate(s, target, x, y, is_left_transposed, store_mode):  # type: ignore[no-untyped-def]
    """Add a product of float matrices to an array (ADD_TO_TARGET), or to zeros (ADD_TO_ZEROS). All tiles are whole."""
    rows, inner = target.shape[0], y.shape[0]
    if inner == 1:
        outer_product(x, y, target, store_mode)
    elif is_left_transposed == 1:
        matmul_by_strips(s, x, y, target, 1, rows, store_mode)
    else:
        matmul_by_strips(s, x, y, target, inner, 1, store_mode)


@_sum_kernel
def sum_all(x, zero):  # type: ignore[no-untyped-def]
    """The sum of all elements, accumulated in vector registers, which takes a sixth of the time."""
    flat, sum_ = x.reshape(-1), zero
    for i in range(flat.size):
        sum_ += flat[i]
    return sum_


@kernel
def sum_middle_axis(x, dtype):  # type: ignore[no-untyped-def]
    """Sums along the middle one of three axes."""
    sums = np.zeros((x.shape[0], x.shape[2]), dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(x.shape[2]):
                sums[i, j] += x[i, k, j]
    return sums


@kernel
def integer_matmul(s, x, y, dtype):  # type: ignore[no-untyped-def]
    """The product of two integer matrices, modulo the range of the dtype; meaningless after a request to stop."""
    product = np.zeros((x.shape[0], y.shape[1]), dtype)
    for i in range(x.shape[0]):
        if load_relaxed(s) != 0:
            return product
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                product[i, j] += x[i, k] * y[k, j]
    return product


def _products(dtype: Any) -> dict[str, tuple[Any, Any]]:
    """The products of a dtype, each with its signature."""
    m: Any = types.Array(dtype, 2, "C")
    return {
        f"matmul_{dtype}": (m(int64, m, m), lambda s, x, y: matmul(s, x, y)),
        f"matmul_transposed_left_{dtype}": (m(int64, m, m), lambda s, x, y: matmul_transposed_left(s, x, y)),
        f"matmul_transposed_right_{dtype}": (m(m, m), lambda x, y: matmul_transposed_right(x, y)),
        f"matmul_accumulate_{dtype}": (
            types.void(int64, m, m, m, int64, int64),
            lambda s, target, x, y, is_transposed, mode: matmul_accumulate(s, target, x, y, is_transposed, mode),
        ),
    }


def __getattr__(name: str) -> Any:
    """One of MATMUL_FUNCTIONS, for generated code to call."""
    if name not in MATMUL_FUNCTIONS:
        raise AttributeError(name)
    return load_product(name)


@cache
def load_product(name: str) -> Any:
    """A function that calls one of MATMUL_FUNCTIONS by its symbol, after loading its machine code: a library of one
    function, since programs call few of them."""
    load_blas()
    products = {**_products(float32), **_products(float64)}
    library = SharedLibrary(name, {name: products[name]}, [runtime.LIBRARY])
    library.load()
    return library.declare(name)
