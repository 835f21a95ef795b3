"""Products of matrices of floats that are neither tiny nor large, in C order: a tile of rows and columns at a time,
whose sums are in registers. Each element is added up in order, so it does not matter who computes which.

BLAS, which computes all others, takes 1.6 times as long for 32 x 256 by 256 x 256 on one core. On two it hands half of
that to a thread of its own: where others are at work too, the two wait for each other, some ms each time.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from . import crew, machine
from .inner import kernel
from .state import FEW

LARGE = 2**26
"""From how many multiplications on a product is BLAS's, which sorts what it reads. Below, it took twice as long."""
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


@intrinsic
def _tile(
    typing: Any, x: Any, y: Any, out: Any, row: Any, step: Any, inner: Any, count: Any, how: Any, like: Any
) -> Any:
    """_ROWS rows and two vectors of columns of a product, from three addresses on: of rows that are `row` elements
    apart, and `inner` elements that are `step` apart, and of rows of `count` in the other factor and in the product. It
    is WRITTEN there, ADDED to what is there, or added to ZEROS."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _Tile(context, builder, like.dtype).emit(*arguments[:8])
        return context.get_dummy_value()

    return types.void(*[int64] * 8, like), build


class _Tile:
    """Emits one."""

    def __init__(self, context: Any, builder: Any, dtype: Any) -> None:
        self.builder, self.real = builder, context.get_value_type(dtype)
        self.lanes = _BYTES // context.get_abi_sizeof(self.real)
        self.vector = ir.VectorType(self.real, self.lanes)
        bits = 8 * context.get_abi_sizeof(self.real)
        name, form = f"llvm.fmuladd.v{self.lanes}f{bits}", ir.FunctionType(self.vector, [self.vector] * 3)
        self.fused: Any = cgutils.get_or_insert_function(builder.module, form, name)  # type: ignore[no-untyped-call]
        self.align = bits // 8

    def emit(self, x: Any, y: Any, out: Any, row: Any, step: Any, inner: Any, count: Any, how: Any) -> None:
        builder, zero = self.builder, ir.Constant(self.vector, [0.0] * self.lanes)
        before, loop = builder.block, builder.append_basic_block("product")
        after = builder.append_basic_block("product.end")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(_WORD)
        k.add_incoming(_WORD(0), before)
        sums = [builder.phi(self.vector) for _ in range(2 * _ROWS)]
        columns = [builder.load(self.at(y, k, count, half), align=self.align) for half in range(2)]
        made = []
        along = builder.mul(k, step)
        for at in range(_ROWS):
            factor = self.everywhere(builder.load(self.element(x, builder.mul(_WORD(at), row), along)))
            made += [builder.call(self.fused, [factor, columns[half], sums[2 * at + half]]) for half in range(2)]
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
                    builder.store(sum_, self.place(out, count, at), align=self.align)
            with other:
                is_added = builder.icmp_signed("==", how, _WORD(ADDED))
                for at, sum_ in enumerate(made):
                    place = self.place(out, count, at)
                    before = builder.select(is_added, builder.load(place, align=self.align), zero)
                    builder.store(builder.fadd(before, sum_), place, align=self.align)

    def place(self, out: Any, count: Any, at: int) -> Any:
        """A pointer to a vector of the product, by its number."""
        return self.at(out, _WORD(at // 2), count, at % 2)

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


_WIDE32, _WIDE64 = 2 * _BYTES // 4, 2 * _BYTES // 8
"""How many columns a tile has."""
_tile_of: Any = _tile
_part: Any = crew.address_of
address, call, keep, share = crew.address, crew.call, cast(Any, crew.keep), crew.share
read_i: Any = machine.read_i


@kernel
def _strips(words, first, last, wide, size, like):  # type: ignore[no-untyped-def]
    """The columns of tiles number `first` to before `last`. The last tiles of a row or column begin where they fit, and
    compute some elements again."""
    x, y, made = read_i(words, 0), read_i(words, 1), read_i(words, 2)
    rows, inner, count = read_i(words, 3), read_i(words, 4), read_i(words, 5)
    apart, step, how = read_i(words, 6), read_i(words, 7), read_i(words, 8)
    for number in range(first, last):
        column = min(number * wide, count - wide) * size
        for at in range(0, rows, _ROWS):
            row = min(at, rows - _ROWS)
            out = made + row * count * size + column
            _tile_of(x + row * apart * size, y + column, out, apart, step, inner, count, how, like)


@kernel
def _strips32(words, first, last):  # type: ignore[no-untyped-def]
    _strips(words, first, last, _WIDE32, 4, np.float32)


@kernel
def _strips64(words, first, last):  # type: ignore[no-untyped-def]
    _strips(words, first, last, _WIDE64, 8, np.float64)


@kernel
def _shared(s, x, y, made, rows, inner, apart, step, how, part, wide):  # type: ignore[no-untyped-def]
    """Have the strips of a product computed; whether all of them were."""
    words = np.array([address(x), address(y), address(made), rows, inner, y.shape[1], apart, step, how])
    at, strips = address(words), (y.shape[1] + wide - 1) // wide
    is_large = x.size * y.shape[1] >= _SHARED and strips > 1
    good = share(s, part, at, strips, 1) if is_large else call(part, at, 0, strips) == 0
    keep(words)
    keep(x)
    keep(y)
    keep(made)
    return good


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
def _by_columns(x, y, made, zero):  # type: ignore[no-untyped-def]
    """A product of few rows by a matrix with its rows as columns."""
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            sum_ = zero
            for k in range(y.shape[1]):
                sum_ += x[i, k] * y[j, k]
            made[i, j] = sum_


@kernel
def product32(s, x, y):  # type: ignore[no-untyped-def]
    """The product of two matrices of float32, none of whose sizes is 0."""
    if y.shape[1] < _WIDE32 or x.size * y.shape[1] >= LARGE or FEW <= x.shape[0] < _ROWS:
        return np.dot(x, y)
    made = np.empty((x.shape[0], y.shape[1]), np.float32)
    if x.shape[0] < FEW:
        _by_rows(x, y, made)
    elif not _shared(s, x, y, made, x.shape[0], x.shape[1], x.shape[1], 1, WRITTEN, _part(_strips32), _WIDE32):
        raise MemoryError
    return made


@kernel
def product64(s, x, y):  # type: ignore[no-untyped-def]
    """The same of float64."""
    if y.shape[1] < _WIDE64 or x.size * y.shape[1] >= LARGE or FEW <= x.shape[0] < _ROWS:
        return np.dot(x, y)
    made = np.empty((x.shape[0], y.shape[1]), np.float64)
    if x.shape[0] < FEW:
        _by_rows(x, y, made)
    elif not _shared(s, x, y, made, x.shape[0], x.shape[1], x.shape[1], 1, WRITTEN, _part(_strips64), _WIDE64):
        raise MemoryError
    return made


@kernel
def turned32(s, x, y):  # type: ignore[no-untyped-def]
    """The product of two matrices of float32, the rows of the first being columns."""
    rows, inner = x.shape[1], x.shape[0]
    if rows < _ROWS or y.shape[1] < _WIDE32 or x.size * y.shape[1] >= LARGE:
        return np.dot(x.T, y)
    made = np.empty((rows, y.shape[1]), np.float32)
    if not _shared(s, x, y, made, rows, inner, 1, rows, WRITTEN, _part(_strips32), _WIDE32):
        raise MemoryError
    return made


@kernel
def turned64(s, x, y):  # type: ignore[no-untyped-def]
    """The same of float64."""
    rows, inner = x.shape[1], x.shape[0]
    if rows < _ROWS or y.shape[1] < _WIDE64 or x.size * y.shape[1] >= LARGE:
        return np.dot(x.T, y)
    made = np.empty((rows, y.shape[1]), np.float64)
    if not _shared(s, x, y, made, rows, inner, 1, rows, WRITTEN, _part(_strips64), _WIDE64):
        raise MemoryError
    return made


@kernel
def few32(x, y):  # type: ignore[no-untyped-def]
    """The product of a matrix of few rows and one with its rows as columns."""
    made = np.empty((x.shape[0], y.shape[0]), np.float32)
    _by_columns(x, y, made, np.float32(0))
    return made


@kernel
def few64(x, y):  # type: ignore[no-untyped-def]
    """The same of float64."""
    made = np.empty((x.shape[0], y.shape[0]), np.float64)
    _by_columns(x, y, made, np.float64(0))
    return made


@kernel
def added32(s, to, x, y, is_turned, how):  # type: ignore[no-untyped-def]
    """A product of matrices of float32 that is ADDED to an array, or written as to ZEROS. All tiles are whole."""
    rows, inner = to.shape[0], y.shape[0]
    apart, step = (1, rows) if is_turned == 1 else (inner, 1)
    if not _shared(s, x, y, to, rows, inner, apart, step, how, _part(_strips32), _WIDE32):
        raise MemoryError


@kernel
def added64(s, to, x, y, is_turned, how):  # type: ignore[no-untyped-def]
    """The same of float64."""
    rows, inner = to.shape[0], y.shape[0]
    apart, step = (1, rows) if is_turned == 1 else (inner, 1)
    if not _shared(s, x, y, to, rows, inner, apart, step, how, _part(_strips64), _WIDE64):
        raise MemoryError
