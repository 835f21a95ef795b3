"""The op functions in the namespace `tagloom.linalg`, derived from the registry.

linalg_functions.pyi declares them for type checkers and editors; `python tests/op_stubs.py` writes it, and a test
compares it.
"""

from __future__ import annotations

from .eager.op_functions import derive_functions

_functions = derive_functions("linalg")
globals().update(_functions)
__all__ = list(_functions)
