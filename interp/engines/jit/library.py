"""Functions that many programs call and that take long to compile: products of matrices. Each is compiled once on a
machine, kept on disk, and called by a symbol: programs have no copy of it.

`from library import matmul_float32` gives what generated code calls. It is loaded then, which must be before machine
code is that calls it, since LLVM ends a process that loads what calls a symbol which nobody has.
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
    """What calls a function of MATMUL_FUNCTIONS."""
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
