"""The compiled `strided_op` of `moves_source`, cached on disk."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from numba import int64, types

from .native import load_native
from .state import STRIDED_PARAMETERS as ARITY

_PARAMETERS = ", ".join(f"a{at}" for at in range(ARITY))
_MODULE_TEXT = f"""\
from {__package__}.moves_source import strided_op as do
def strided_op({_PARAMETERS}): return do({_PARAMETERS})
"""
_SYMBOL = "tagloom_strided_op"
_native_function: Any = load_native("moves", _MODULE_TEXT, "strided_op", ARITY)
llvm.add_symbol(_SYMBOL, ctypes.cast(_native_function, ctypes.c_void_p).value)
strided_op = types.ExternalFunction(_SYMBOL, int64(*[int64] * ARITY))
