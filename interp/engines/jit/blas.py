"""BLAS for compiled code, without the import of `scipy.linalg`, which takes as long as tracing a step.

numba's functions for products call the BLAS of SciPy. Each finds its routine when it is first called: it imports
`scipy.linalg.cython_blas`, an extension module that needs nothing of its package. So `load_blas` loads this module
alone, calls each function once, on nothing, and forgets the module: a later `import scipy.linalg` does not see it.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from .extension_modules import find_extension_file, helper_module, load_extension_file

_MODULE = "scipy.linalg.cython_blas"
_NUMBER = None
"""Stands for the address of a number."""
FUNCTIONS: dict[str, Sequence[Any]] = {
    "xxdot": (b"n", 0, _NUMBER, _NUMBER, _NUMBER),
    "xxgemv": (b"n", 0, 0, _NUMBER, _NUMBER, 1, _NUMBER, _NUMBER, _NUMBER),
    "xxgemm": (b"n", b"n", 0, 0, 0, _NUMBER, _NUMBER, 1, _NUMBER, 1, _NUMBER, _NUMBER, 1),
}
"""numba's functions for products, each with the arguments of a call on no elements: after the kind of the elements,
what is transposed, sizes, addresses, and the distances of rows, which must be positive."""


@cache
def load_blas() -> None:
    """Let numba's functions find their routines: else machine code does when it first calls BLAS, and Ctrl-C meanwhile
    would end the process. Raises ImportError without SciPy, and RuntimeError for a SciPy that does not fit numba."""
    if _MODULE in sys.modules or not _load_module():
        importlib.import_module("numba.np.linalg").ensure_blas()
        return
    try:
        check_width = getattr(sys.modules.get("numba.np.linalg"), "_check_lapack_int_width", None)
        if check_width is not None:  # not without numba: then it was called with this SciPy when code was compiled
            check_width()
        _call_functions()
    finally:
        del sys.modules[_MODULE]


def _load_module() -> bool:
    """Load the extension module alone, if its file is where it is in SciPy 1."""
    path = find_extension_file(_MODULE)
    if path is None:
        return False
    importlib.import_module("scipy")  # prepares the search for its libraries
    sys.modules[_MODULE] = load_extension_file(_MODULE, path)
    return True


def _call_functions() -> None:
    """Call each function on operands without elements, for both kinds of floats."""
    number = ctypes.c_double(0.0)
    types: dict[type, Any] = {bytes: ctypes.c_char, int: ctypes.c_ssize_t, type(_NUMBER): ctypes.c_void_p}
    for name, arguments in FUNCTIONS.items():
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char, *(types[type(argument)] for argument in arguments))
        function = prototype(helper_module().c_helpers[name])
        for element in b"s", b"d":
            operands = (ctypes.addressof(number) if argument is _NUMBER else argument for argument in arguments)
            function(element, *operands)
