"""The machine code of `moving`, for compiled code to call: made once, and kept on disk."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from numba import int64, types

from .native import native
from .state import MOVES as ARITY

_WORDS = ", ".join(f"a{at}" for at in range(ARITY))
_TEXT = f"from {__package__}.moves_source import moves as do\ndef moves({_WORDS}): return do({_WORDS})\n"
_SYMBOL = "tagloom_moves"
_function: Any = native("moves", _TEXT, "moves", ARITY)
llvm.add_symbol(_SYMBOL, ctypes.cast(_function, ctypes.c_void_p).value)
moves = types.ExternalFunction(_SYMBOL, int64(*[int64] * ARITY))
