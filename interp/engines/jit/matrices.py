"""Products of matrices of floats that are not large, in C order. Those of few rows are made row by row, all others a
tile of rows and columns at a time, whose sums are in registers. Tiles may be shared out: each of their elements is
added up in order, so it does not matter who computes which.

BLAS, which computes all others, takes 1.6 times as long for 32 x 256 by 256 x 256 on one core. On two it hands half of
that to a thread of its own: where others are at work too, the two wait for each other, some ms each time.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import float32, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from . import arrays, machine
from . import thread_pool as crew
from .inner import kernel
from .state import FEW

LARGE = 2**26
"""From how many multiplications on a product is BLAS's, which sorts what it reads. Below, it took twice as long."""
LONG = 2**12
"""From more terms on than these an element is BLAS's, which adds them up in parts: one after another, a million of
float32 lose a hundredth."""
_SHARED = 2**20
"""From how many on it is shared out: they take some 15 us. From 2**18 on a run was no shorter, and much longer where
others were at work."""
WRITTEN, ADDED, ZEROS = 0, 1, 2
"""What is done with a product: written, added to what is there, or added to zeros, as which -0.0 is 0.0."""
_WORD = ir.IntType(64)
_contracted: Any = partial(kernel, fastmath={"contract"})
_in_any_order: Any = partial(kernel, fastmath={"contract", "reassoc"})
_IS_WIDE = bool(llvm.get_host_cpu_features().get("avx512f"))
_BYTES, _ROWS = (64, 8) if _IS_WIDE else (32, 4)
"""What a vector register holds, and how many rows of two of them are summed up at a time."""


def _tile_by(halves: int) -> Any:
    """What computes _ROWS rows and so many vectors of columns of a product, from three addresses on: of rows that are
    `row` elements apart, and `inner` elements that are `step` apart, of rows of `count` in the other factor, and of
    rows of `wide` in the product. It is WRITTEN there, ADDED to what is there, or added to ZEROS."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _Tile(context, builder, signature.args[-1].dtype, halves).emit(*arguments[:-1])
        return context.get_dummy_value()

    def typed(typing, x, y, out, row, step, inner, count, wide, how, like):  # type: ignore[no-untyped-def]
        return types.void(*[int64] * 9, like), build

    return intrinsic(typed)


class _Tile:
    """Emits one."""

    def __init__(self, context: Any, builder: Any, dtype: Any, halves: int) -> None:
        self.halves = halves
        self.builder, self.real = builder, context.get_value_type(dtype)
        self.lanes = _BYTES // context.get_abi_sizeof(self.real)
        self.vector = ir.VectorType(self.real, self.lanes)
        bits = 8 * context.get_abi_sizeof(self.real)
        name, form = f"llvm.fmuladd.v{self.lanes}f{bits}", ir.FunctionType(self.vector, [self.vector] * 3)
        self.fused: Any = cgutils.get_or_insert_function(builder.module, form, name)  # type: ignore[no-untyped-call]
        self.align = bits // 8

    def emit(self, x: Any, y: Any, out: Any, row: Any, step: Any, inner: Any, count: Any, wide: Any, how: Any) -> None:
        builder, halves, zero = self.builder, self.halves, ir.Constant(self.vector, [0.0] * self.lanes)
        before, loop = builder.block, builder.append_basic_block("product")
        after = builder.append_basic_block("product.end")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(_WORD)
        k.add_incoming(_WORD(0), before)
        sums = [builder.phi(self.vector) for _ in range(halves * _ROWS)]
        columns = [builder.load(self.at(y, k, count, half), align=self.align) for half in range(halves)]
        made = []
        along = builder.mul(k, step)
        for at in range(_ROWS):
            factor = self.everywhere(builder.load(self.element(x, builder.mul(_WORD(at), row), along)))
            made += [
                builder.call(self.fused, [factor, columns[half], sums[halves * at + half]]) for half in range(halves)
            ]
        for sum_, next_ in zip(sums, made, strict=True):
            sum_.add_incoming(zero, before)
            sum_.add_incoming(next_, loop)
        further = builder.add(k, _WORD(1))
        k.add_incoming(further, loop)
        builder.cbranch(builder.icmp_signed("<", further, inner), loop, after)
        builder.position_at_end(after)
        with builder.if_else(builder.icmp_signed("==", how, _WORD(WRITTEN))) as (plain, other):
            with plain:
                for at, sum_ in enumerate(made):
                    builder.store(sum_, self.place(out, wide, at), align=self.align)
            with other:
                is_added = builder.icmp_signed("==", how, _WORD(ADDED))
                for at, sum_ in enumerate(made):
                    place = self.place(out, wide, at)
                    before = builder.select(is_added, builder.load(place, align=self.align), zero)
                    builder.store(builder.fadd(before, sum_), place, align=self.align)

    def place(self, out: Any, wide: Any, at: int) -> Any:
        """A pointer to a vector of the product, by its number."""
        return self.at(out, _WORD(at // self.halves), wide, at % self.halves)

    def element(self, base: Any, *steps: Any) -> Any:
        pointer = self.builder.inttoptr(base, self.real.as_pointer())
        for step in steps:
            pointer = self.builder.gep(pointer, [step])
        return pointer

    def at(self, base: Any, row: Any, step: Any, half: int) -> Any:
        """A pointer to a vector."""
        pointer = self.element(base, self.builder.mul(row, step), _WORD(half * self.lanes))
        return self.builder.bitcast(pointer, self.vector.as_pointer())

    def everywhere(self, number: Any) -> Any:
        """A vector of one number."""
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), number, ir.IntType(32)(0))
        return self.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None))


_WIDE = 2 * _BYTES
"""How many bytes of a row a tile has."""
_tile_of, _half_of = _tile_by(2), _tile_by(1)
address, array, call, keep, share = crew.address, cast(Any, crew.array), crew.call, cast(Any, crew.keep), crew.share
read_i: Any = machine.read_i
words: Any = arrays.words


@kernel
def _strips(words, first, last, like):  # type: ignore[no-untyped-def]
    """The columns of tiles number `first` to before `last`. The last tiles of a row or column begin where they fit, and
    compute some elements again."""
    x, y, made = read_i(words, 0), read_i(words, 1), read_i(words, 2)
    rows, inner, count = read_i(words, 3), read_i(words, 4), read_i(words, 5)
    apart, step, how, size = read_i(words, 6), read_i(words, 7), read_i(words, 8), read_i(words, 9)
    wide = _WIDE // size
    for number in range(first, last):
        column = min(number * wide, count - wide) * size
        for at in range(0, rows, _ROWS):
            row = min(at, rows - _ROWS)
            out = made + row * count * size + column
            _tile_of(x + row * apart * size, y + column, out, apart, step, inner, count, count, how, like)


@kernel
def _strips32(words, first, last):  # type: ignore[no-untyped-def]
    _strips(words, first, last, np.float32)


@kernel
def _strips64(words, first, last):  # type: ignore[no-untyped-def]
    _strips(words, first, last, np.float64)


@intrinsic
def _strips_for(typing: Any, x: Any) -> Any:
    """The address of what computes strips of a product of such matrices."""
    return int64(x), crew.address_in(typing, _strips32 if x.dtype == float32 else _strips64)


_part_for: Any = _strips_for


@kernel
def _shared(s, x, y, made, apart, step, how):  # type: ignore[no-untyped-def]
    """Have the strips of a product computed, of a factor whose rows are `apart` elements apart, and its columns
    `step`."""
    rows, inner, count, size = made.shape[0], y.shape[0], y.shape[1], x.itemsize
    at = words((x, y, made, rows, inner, count, apart, step, how, size))
    part, strips = _part_for(x), (count * size + _WIDE - 1) // _WIDE
    is_large = rows * inner * count >= _SHARED and strips > 1
    good = share(s, part, at, strips, 1) if is_large else call(part, at, 0, strips) == 0
    keep(x)
    keep(y)
    keep(made)
    if not good:
        raise MemoryError


@kernel
def _narrow(x, y, made, apart, step):  # type: ignore[no-untyped-def]
    """The same of few columns: tiles read what comes after a row of the other factor too, which nobody looks at."""
    rows, count, inner, size = made.shape[0], made.shape[1], y.shape[0], x.itemsize
    wide = _WIDE // size if count * size > _BYTES else _BYTES // size
    read, whole = np.empty(inner * count + wide, x.dtype), np.empty((_ROWS, wide), x.dtype)
    flat = array(address(y), inner * count, x.dtype)
    for at in range(inner * count):
        read[at] = flat[at]
    for at in range(inner * count, read.size):
        read[at] = 0
    for at in range(0, rows, _ROWS):
        row = min(at, rows - _ROWS)
        of = address(x) + row * apart * size
        if count * size > _BYTES:
            _tile_of(of, address(read), address(whole), apart, step, inner, count, wide, WRITTEN, x.dtype)
        else:
            _half_of(of, address(read), address(whole), apart, step, inner, count, wide, WRITTEN, x.dtype)
        for i in range(_ROWS):
            for j in range(count):
                made[row + i, j] = whole[i, j]
    keep(read)
    keep(whole)


@kernel
def _tiled(s, x, y, made, apart, step):  # type: ignore[no-untyped-def]
    """The same, written."""
    if made.shape[1] * x.itemsize < _WIDE:
        _narrow(x, y, made, apart, step)
    else:
        _shared(s, x, y, made, apart, step, WRITTEN)


@_contracted
def _by_rows(x, y, made):  # type: ignore[no-untyped-def]
    """A product of few rows: each is a sum of rows of the other factor, four at a time."""
    inner, count = y.shape
    whole = inner - inner % 4
    for i in range(x.shape[0]):
        for j in range(count):
            made[i, j] = 0
        for k in range(0, whole, 4):
            a, b, c, d = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            for j in range(count):
                made[i, j] += (a * y[k, j] + b * y[k + 1, j]) + (c * y[k + 2, j] + d * y[k + 3, j])
        for k in range(whole, inner):
            for j in range(count):
                made[i, j] += x[i, k] * y[k, j]


@_in_any_order
def _by_columns(x, y, made):  # type: ignore[no-untyped-def]
    """A product of few rows by a matrix with its rows as columns."""
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            sum_ = x.dtype.type(0)
            for k in range(y.shape[1]):
                sum_ += x[i, k] * y[j, k]
            made[i, j] = sum_


@_in_any_order
def _by_column(x, y, made):  # type: ignore[no-untyped-def]
    """A product with one column."""
    column = array(address(y), y.shape[0], y.dtype)
    for i in range(x.shape[0]):
        sum_ = x.dtype.type(0)
        for k in range(x.shape[1]):
            sum_ += x[i, k] * column[k]
        made[i, 0] = sum_


@kernel
def _outer(column, row, made, how):  # type: ignore[no-untyped-def]
    """The product of a column and a row, row by row: tile by tile takes twice as long."""
    zero = column.dtype.type(0)
    x, y = array(address(column), made.shape[0], column.dtype), array(address(row), made.shape[1], row.dtype)
    for i in range(made.shape[0]):
        factor = x[i]
        if how == ADDED:
            for j in range(made.shape[1]):
                made[i, j] += zero + factor * y[j]
        else:
            for j in range(made.shape[1]):
                made[i, j] = zero + factor * y[j]


@kernel
def product(s, x, y):  # type: ignore[no-untyped-def]
    """The product of two matrices of floats of one dtype; where there is nothing to add, zeros."""
    rows, inner, count = x.shape[0], x.shape[1], y.shape[1]
    if rows * inner * count == 0:
        return np.zeros((rows, count), x.dtype)
    if inner > LONG or (inner > 1 and (FEW <= rows < _ROWS or rows * inner * count >= LARGE)):
        return np.dot(x, y)
    made = np.empty((rows, count), x.dtype)
    if inner == 1:
        _outer(x, y, made, WRITTEN)
    elif rows < FEW:
        _by_rows(x, y, made)
    elif count == 1:
        _by_column(x, y, made)
    else:
        _tiled(s, x, y, made, inner, 1)
    return made


@kernel
def turned(s, x, y):  # type: ignore[no-untyped-def]
    """The same, the rows of the first being columns."""
    rows, inner, count = x.shape[1], x.shape[0], y.shape[1]
    if rows * inner * count == 0:
        return np.zeros((rows, count), x.dtype)
    if inner > LONG or (inner > 1 and (rows < _ROWS or rows * inner * count >= LARGE)):
        return np.dot(x.T, y)
    made = np.empty((rows, count), x.dtype)
    if inner == 1:
        _outer(x, y, made, WRITTEN)
    else:
        _tiled(s, x, y, made, 1, rows)
    return made


@kernel
def few(x, y):  # type: ignore[no-untyped-def]
    """The product of a matrix of few rows and one with its rows as columns."""
    made = np.empty((x.shape[0], y.shape[0]), x.dtype)
    _by_columns(x, y, made)
    return made


@kernel
def added(s, to, x, y, is_turned, how):  # type: ignore[no-untyped-def]
    """A product of matrices of floats that is ADDED to an array, or written as to ZEROS. All tiles are whole."""
    rows, inner = to.shape[0], y.shape[0]
    if inner == 1:
        _outer(x, y, to, how)
    elif is_turned == 1:
        _shared(s, x, y, to, 1, rows, how)
    else:
        _shared(s, x, y, to, inner, 1, how)
