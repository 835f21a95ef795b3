"""NumPy's own loops, for the ops on arrays whose last bits are those of NumPy: exp, log, pow, and the others with a
column `float_loop`.

Compiled code calls the loops that NumPy calls for contiguous arrays, on the same addresses, so that an array has the
same bits. A row has a loop for float32 if it computes float32 without a cast to float64.
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

from ....core.ops.op import OPS, fault_error
from .intrinsic import intrinsic
from .memory import array_field, emit_data_address, emit_word_block, internal_njit
from .symbols import define_symbols, loop_addresses, loop_symbol

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


def loop_intrinsic(ufunc: Any, code: str = "d") -> Any:
    """An intrinsic that calls a ufunc's loop on contiguous arrays of one size and dtype; the last one is the result."""
    symbol, count, size = loop_symbol(ufunc, code), ufunc.nargs, np.dtype(code).itemsize
    _, data = loop_addresses(ufunc, code)
    define_symbols([symbol, f"{symbol}_data"] if data else [symbol])

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function_type = ir.FunctionType(ir.VoidType(), [_BYTES] * 4)
        loop_function: Any = cgutils.get_or_insert_function(builder.module, function_type, symbol)  # type: ignore[no-untyped-call]
        arrays = list(zip(signature.args, arguments, strict=True))
        addresses = [emit_data_address(context, builder, *array) for array in arrays]
        words = addresses, [array_field(context, builder, *arrays[-1], "nitems")], [_WORD(size)] * count
        blocks = [builder.bitcast(emit_word_block(builder, group), _BYTES) for group in words]
        builder.call(
            loop_function,
            [
                *blocks,
                _data_address(builder.module, f"{symbol}_data") if data else _BYTES(None),
            ],
        )
        return context.get_dummy_value()

    if count == 2:
        return intrinsic(lambda typing, x, out: (types.void(x, out), build))
    return intrinsic(lambda typing, x, y, out: (types.void(x, y, out), build))


def _data_address(module: Any, symbol: str) -> Any:
    """An address referred to by symbol, so that machine code from disk finds it too."""
    return module.globals.get(symbol) or ir.GlobalVariable(module, ir.IntType(8), symbol)


def build_loops() -> tuple[dict[str, Any], dict[str, Exception]]:
    """Build the loops of all rows, by name, and the errors of those that fail. All are built at once: machine code from
    disk finds them by their symbols."""
    loops, faults = dict[str, Any](), dict[str, Exception]()
    for row in OPS.values():
        for suffix, code in (("", "d"), ("32", "f")):
            if row.float_loop is not None and (code == "d" or row.numpy_float32 is not None):
                try:
                    loops[row.name + suffix] = loop_intrinsic(row.float_loop, code)
                except Exception as error:
                    faults[row.name + suffix] = error
    return loops, faults


_LOOPS, _FAULTS = build_loops()


def __getattr__(name: str) -> Any:
    """The loop of an op; with the suffix `32`, that for float32."""
    if name in _FAULTS:
        raise fault_error(name.removesuffix("32"), f"the column float_loop has no loop of floats: {_FAULTS[name]!r}")
    if name not in _LOOPS:
        raise AttributeError(name)
    return _LOOPS[name]


_HUGE_PAGE_BYTES, _PAGE_BYTES, _MADV_HUGEPAGE = 2**22, 4096, 14
"""The number of bytes from which memory is requested in large pages, as NumPy does; the size of a small page; and
Linux's number for this advice. The first pass over 80 MB takes half the time."""


def _madvise_function() -> Any:
    """madvise; without it, a function that does nothing."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None:
        return internal_njit(lambda address, size, advice: int32(0))
    llvm.add_symbol("tagloom_madvise", ctypes.cast(library.madvise, ctypes.c_void_p).value)
    external = types.ExternalFunction("tagloom_madvise", int32(int64, int64, int32))
    return internal_njit(lambda address, size, advice: external(address, size, advice))


_madvise = _madvise_function()


@internal_njit
def advise_huge_pages(address: int, size: int) -> None:
    """Advise the system to use large pages for `size` bytes that are about to be written for the first time."""
    if size >= _HUGE_PAGE_BYTES:
        begin = (address + _PAGE_BYTES - 1) // _PAGE_BYTES * _PAGE_BYTES
        _madvise(begin, address + size - begin, int32(_MADV_HUGEPAGE))
