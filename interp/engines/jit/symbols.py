"""The addresses of the functions that machine code calls by symbol: those of C, of NumPy's loops, and of numba.

numba defines all of them when it is imported, but machine code from disk runs without numba.
"""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ....core.ops.op import OPS
from . import blas, kernels
from .extension_modules import MissingModule, helper_module, runtime_module


class Unlinkable(Exception):
    """Raised where machine code calls functions that this process does not have: LLVM ends the process when it links
    such a call."""


def declared_names(module: Any) -> list[str]:
    """The functions and variables that a module of LLVM declares and does not define."""
    return [item.name for item in (*module.functions, *module.global_variables) if item.is_declaration]


def define_symbols(names: Iterable[str]) -> None:
    """Tell LLVM the addresses of symbols. Raises Unlinkable, before it defines any, if it cannot find some."""
    import llvmlite.binding as llvm

    addresses = {name: find_address(name) for name in names}
    process = ctypes.CDLL(None)
    unknown = [name for name, address in addresses.items() if address is None and not hasattr(process, name)]
    if unknown:
        raise Unlinkable(", ".join(unknown))
    for name, address in addresses.items():
        if address is not None:
            llvm.add_symbol(name, address)


def find_address(symbol: str) -> int | None:
    """The address of a symbol; None if it is one of this process, which LLVM finds, or unknown."""
    for prefix, find in _FINDERS:
        if symbol.startswith(prefix):
            try:
                return find(symbol.removeprefix(prefix))
            except MissingModule:
                return None
    return None


def _runtime_address(name: str) -> int | None:
    address: int | None = runtime_module().c_helpers.get(name)
    return address


def _helper_address(name: str) -> int | None:
    if name in blas.FUNCTIONS:
        blas.load_blas()
    address: int | None = helper_module().c_helpers.get(name)
    return address


def _exception_address(name: str) -> int | None:
    """The address of an exception class: under its symbol, numba expects the class, and C a pointer to it."""
    exception = getattr(builtins, name, None)
    return None if exception is None else id(exception)


def _c_address(name: str) -> int | None:
    try:
        return kernels.function_address(name)
    except AttributeError:
        return None


class _UfuncObject(ctypes.Structure):
    """NumPy's C struct `PyUFuncObject`, up to the name."""

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


def loop_symbol(ufunc: Any, code: str) -> str:
    """The symbol of a ufunc's loop on arrays of the dtype with this code."""
    return kernels.symbol_name(f"numpy_{ufunc.__name__}_{code}")


def loop_addresses(ufunc: Any, code: str) -> tuple[int, int | None]:
    """The addresses of a ufunc's loop on contiguous arrays of one dtype, and of the data that it gets: a loop that
    serves several functions gets a pointer to one of them."""
    ufunc_object = _UfuncObject.from_address(id(ufunc))
    assert ufunc_object.name == ufunc.__name__.encode()
    assert (ufunc_object.arguments, ufunc_object.count) == (ufunc.nargs, ufunc.ntypes)
    index = ufunc.types.index(code * ufunc.nin + "->" + code)
    address = ufunc_object.loops[index]
    assert address is not None
    return address, ufunc_object.data[index]


def _loop_address(name: str) -> int | None:
    """The address of the loop, or of its data, that a symbol names: `exp_d`, `square_d_data`."""
    loop, suffix, _ = name.partition("_data")
    ufunc_name, _, code = loop.rpartition("_")
    for row in OPS.values():
        if isinstance(row.float_loop, np.ufunc) and row.float_loop.__name__ == ufunc_name:
            address, data = loop_addresses(row.float_loop, code)
            return data if suffix else address
    return None


_FINDERS: tuple[tuple[str, Callable[[str], int | None]], ...] = (
    ("NRT_", _runtime_address),
    ("numba_", _helper_address),
    ("PyExc_", _exception_address),
    (kernels.symbol_name("numpy_"), _loop_address),
    (kernels.symbol_name(""), _c_address),
)
"""How to find the address of a symbol, by its beginning."""
