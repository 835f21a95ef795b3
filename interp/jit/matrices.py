"""Products of matrices of floats that are neither tiny nor large, in C order: a tile of rows and columns at a time,
whose sums are in registers. Each element is added up in order, so it does not matter who computes which.

BLAS, which computes all others, takes 1.6 times as long for 32 x 256 by 256 x 256 on one core. On two it hands half of
that to a thread of its own: where others are at work too, the two wait for each other, some ms each time.
"""

from __future__ import annotations

from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from . import crew, machine
from .inner import kernel

LARGE = 2**26
"""From how many multiplications on a product is BLAS's, which sorts what it reads. Below, it took twice as long."""
_SHARED = 2**20
"""From how many on it is shared out: they take some 15 us. From 2**18 on a run was no shorter, and much longer where
others were at work."""
_WORD = ir.IntType(64)
_IS_WIDE = bool(llvm.get_host_cpu_features().get("avx512f"))
_BYTES, _ROWS = (64, 8) if _IS_WIDE else (32, 4)
"""What a vector register holds, and how many rows of two of them are summed up at a time."""


@intrinsic
def _tile(typing: Any, x: Any, y: Any, out: Any, inner: Any, count: Any, like: Any) -> Any:
    """_ROWS rows and two vectors of columns of a product, from three addresses on: of rows of `inner` elements, and of
    `count` of them in the other factor and in the product."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _Tile(context, builder, like.dtype).emit(*arguments[:5])
        return context.get_dummy_value()

    return types.void(int64, int64, int64, int64, int64, like), build


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

    def emit(self, x: Any, y: Any, out: Any, inner: Any, count: Any) -> None:
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
        for row in range(_ROWS):
            factor = self.everywhere(builder.load(self.element(x, builder.mul(_WORD(row), inner), k)))
            made += [builder.call(self.fused, [factor, columns[half], sums[2 * row + half]]) for half in range(2)]
        for sum_, next_ in zip(sums, made, strict=True):
            sum_.add_incoming(zero, before)
            sum_.add_incoming(next_, loop)
        further = builder.add(k, _WORD(1))
        k.add_incoming(further, loop)
        builder.cbranch(builder.icmp_signed("<", further, inner), loop, after)
        builder.position_at_end(after)
        for at, sum_ in enumerate(made):
            row, half = divmod(at, 2)
            builder.store(sum_, self.at(out, _WORD(row), count, half), align=self.align)

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
    for number in range(first, last):
        column = min(number * wide, count - wide) * size
        for at in range(0, rows, _ROWS):
            row = min(at, rows - _ROWS)
            _tile_of(x + row * inner * size, y + column, made + row * count * size + column, inner, count, like)


@kernel
def _strips32(words, first, last):  # type: ignore[no-untyped-def]
    _strips(words, first, last, _WIDE32, 4, np.float32)


@kernel
def _strips64(words, first, last):  # type: ignore[no-untyped-def]
    _strips(words, first, last, _WIDE64, 8, np.float64)


@kernel
def _shared(s, x, y, made, part, wide):  # type: ignore[no-untyped-def]
    """Have the strips of a product computed; whether all of them were."""
    words = np.array([address(x), address(y), address(made), x.shape[0], x.shape[1], y.shape[1]])
    at, strips = address(words), (y.shape[1] + wide - 1) // wide
    is_large = x.size * y.shape[1] >= _SHARED and strips > 1
    good = share(s, part, at, strips, 1) if is_large else call(part, at, 0, strips) == 0
    keep(words)
    keep(x)
    keep(y)
    keep(made)
    return good


@kernel
def product32(s, x, y):  # type: ignore[no-untyped-def]
    """The product of two matrices of float32, none of whose sizes is 0."""
    if x.shape[0] < _ROWS or y.shape[1] < _WIDE32 or x.size * y.shape[1] >= LARGE:
        return np.dot(x, y)
    made = np.empty((x.shape[0], y.shape[1]), np.float32)
    if not _shared(s, x, y, made, _part(_strips32), _WIDE32):
        raise MemoryError
    return made


@kernel
def product64(s, x, y):  # type: ignore[no-untyped-def]
    """The same of float64."""
    if x.shape[0] < _ROWS or y.shape[1] < _WIDE64 or x.size * y.shape[1] >= LARGE:
        return np.dot(x, y)
    made = np.empty((x.shape[0], y.shape[1]), np.float64)
    if not _shared(s, x, y, made, _part(_strips64), _WIDE64):
        raise MemoryError
    return made
