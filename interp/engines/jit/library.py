"""Precompiled matrix products: many programs call them, and they take long to compile. Each is compiled once on a
machine, cached on disk, and called by its symbol: programs contain no copy.

`from library import matmul_float32` returns a function for generated code to call, and loads its machine code. That
must precede the loading of code that calls it, since LLVM ends a process that loads a call of an undefined symbol.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils

from . import machine
from .cache import load_module
from .state import MATMUL_FUNCTIONS

_MODULE_HEADER = f"""\
from numba import float32, float64, int64, void
from {__package__} import matrices
from {__package__}.inner import kernel
"""
_MATRIX_TYPE = "{}[:, ::1]"
_SIGNATURES = {
    "matmul": ("{m}(int64, {m}, {m})", "s, x, y"),
    "matmul_transposed_left": ("{m}(int64, {m}, {m})", "s, x, y"),
    "matmul_transposed_right": ("{m}({m}, {m})", "x, y"),
    "matmul_accumulate": ("void(int64, {m}, {m}, {m}, int64, int64)", "s, to, x, y, is_turned, how"),
}


def __getattr__(name: str) -> Any:
    """A function that calls one of MATMUL_FUNCTIONS by its symbol."""
    if name not in MATMUL_FUNCTIONS:
        raise AttributeError(name)
    return _load_function(name)


@cache
def _load_function(name: str) -> Any:
    form, bits = name.split("_float")
    signature, arguments = _SIGNATURES[form]
    signature = signature.format(m=_MATRIX_TYPE.format(f"float{bits}"))
    head = f"{_MODULE_HEADER}@kernel({signature}, cache=True)\n"
    text = f"{head}def {name}({arguments}): return matrices.{form}({arguments})\n"
    (compiled,) = getattr(load_module(name, text), name).overloads.values()
    symbol = f"tagloom_{name}"
    llvm.add_symbol(symbol, compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = context.call_conv.get_function_type(signature.return_type, signature.args)
        function = cgutils.get_or_insert_function(builder.module, form, symbol)  # type: ignore[no-untyped-call]
        return machine.emit_call(context, builder, function, signature, arguments)

    return machine.fixed_intrinsic(compiled.signature, build)
