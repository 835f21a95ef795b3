"""NumPy's own loops, for functions of arrays whose last bits are NumPy's choice: exp, log, pow, and so on.

What NumPy calls for contiguous arrays is called here on the same addresses, so that an array has the same bits in
compiled code; of float32 for those ops whose rows compute narrow. A ufunc's loops stand in its record, whose form
NumPy's C interface fixes.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import int32, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from ....core.ops.op import OPS
from .clib import UFUNC_OPS
from .inner import internal_njit

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


class _UfuncObject(ctypes.Structure):
    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("inputs", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("arguments", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("loops", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("count", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    )


def _loop_intrinsic(ufunc: Any, code: str = "d") -> Any:
    """A function of contiguous arrays of one size and this dtype, the result last."""
    symbol, count, size = f"tagloom_numpy_{ufunc.__name__}_{code}", ufunc.nargs, np.dtype(code).itemsize
    found = _UfuncObject.from_address(id(ufunc))
    assert found.name == ufunc.__name__.encode() and (found.arguments, found.count) == (count, ufunc.ntypes)
    at = ufunc.types.index(code * ufunc.nin + "->" + code)
    llvm.add_symbol(symbol, found.loops[at])
    if found.data[at]:  # of a loop for many functions, which one
        llvm.add_symbol(f"{symbol}_data", found.data[at])

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(ir.VoidType(), [_BYTES] * 4)
        called: Any = cgutils.get_or_insert_function(builder.module, form, symbol)  # type: ignore[no-untyped-call]
        made = [
            context.make_array(kind)(context, builder, each)
            for kind, each in zip(signature.args, arguments, strict=True)
        ]
        addresses = [builder.ptrtoint(array.data, _WORD) for array in made]
        blocks = [_emit_word_block(builder, words) for words in (addresses, [made[-1].nitems], [_WORD(size)] * count)]
        builder.call(
            called, [*blocks, _data_address(builder.module, f"{symbol}_data") if found.data[at] else _BYTES(None)]
        )
        return context.get_dummy_value()

    if count == 2:
        return intrinsic(lambda typing, x, out: (types.void(x, out), build))
    return intrinsic(lambda typing, x, y, out: (types.void(x, y, out), build))


def _data_address(module: Any, symbol: str) -> Any:
    """An address that is known by its symbol, in machine code from disk, too."""
    return module.globals.get(symbol) or ir.GlobalVariable(module, ir.IntType(8), symbol)


def _emit_word_block(builder: Any, words: Any) -> Any:
    """The address of words on the stack."""
    block: Any = cgutils.alloca_once(builder, _WORD, len(words))  # type: ignore[no-untyped-call]
    for at, word in enumerate(words):
        builder.store(word, builder.gep(block, [_WORD(at)]))
    return builder.bitcast(block, _BYTES)


_LOOPS = {
    **{row.name: _loop_intrinsic(row.numpy) for row in OPS.values() if row.name in UFUNC_OPS and row.name != "pow"},
    **{
        f"{row.name}32": _loop_intrinsic(row.numpy_float32, "f")
        for row in OPS.values()
        if row.name in UFUNC_OPS and row.numpy_float32
    },
    "pow": _loop_intrinsic(np.power),
}
"""All of them, since machine code from disk finds them by their symbols."""


def __getattr__(name: str) -> Any:
    """The loop of an op; with `32` behind its name that of float32."""
    if name not in _LOOPS:
        raise AttributeError(name)
    return _LOOPS[name]


_HUGE_PAGE_BYTES, _PAGE_BYTES, _MADV_HUGEPAGE = 2**22, 4096, 14
"""From how many bytes on memory is asked for in large pages, as NumPy does; the size of a small one; and Linux's
number for this advice. The first pass over 80 MB takes half the time."""


def _madvise_function() -> Any:
    """madvise, where there is one."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None:
        return internal_njit(lambda address, size, advice: int32(0))
    llvm.add_symbol("tagloom_madvise", ctypes.cast(library.madvise, ctypes.c_void_p).value)
    called = types.ExternalFunction("tagloom_madvise", int32(int64, int64, int32))
    return internal_njit(lambda address, size, advice: called(address, size, advice))


_madvise = _madvise_function()


@internal_njit
def advise_huge_pages(array: Any) -> None:
    """Tell the system of an array that is about to be written for the first time."""
    if array.nbytes >= _HUGE_PAGE_BYTES:
        begin = (array.ctypes.data + _PAGE_BYTES - 1) // _PAGE_BYTES * _PAGE_BYTES
        _madvise(begin, array.ctypes.data + array.nbytes - begin, int32(_MADV_HUGEPAGE))
