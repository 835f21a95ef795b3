"""BLAS is found without the import of SciPy's package, and leaves no trace."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALL = """
import ctypes, sys
from numba import _helperlib
number = (ctypes.c_double * 6)(2.0, 3.0, 5.0, 7.0, 1.0, 0.0)
def product(name):  # 2 * 5 + 3 * 7, by the function for dot products
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char, ctypes.c_char, ctypes.c_ssize_t, *[ctypes.c_void_p] * 3)
    first = ctypes.addressof(number)
    assert prototype(_helperlib.c_helpers[name])(b"d", b"n", 2, first, first + 16, first + 40) == 0
    return number[5]
"""


def run(text: str) -> str:
    return subprocess.run([sys.executable, "-c", CALL + text], capture_output=True, text=True, check=True).stdout


@pytest.mark.full
def test_functions_find_their_routines_without_the_package() -> None:
    text = """
from tagloom.interp.engines.jit import blas
blas.load_blas()
print(sorted(name for name in sys.modules if name.startswith("scipy.linalg")))
print(product("xxdot"), sorted(name for name in sys.modules if name.startswith("scipy.linalg")))
import scipy.linalg.cython_blas
print(callable(scipy.linalg.inv), hasattr(scipy.linalg, "cython_blas"), product("xxdot"))
"""
    assert run(text) == "[]\n31.0 []\nTrue True 31.0\n"


@pytest.mark.full
def test_twin_that_calls_no_function_is_caught() -> None:
    """Machine code would then import the package."""
    text = """
from tagloom.interp.engines.jit import blas
blas._call_functions = lambda: None
blas.load_blas()
print(product("xxdot"), "scipy.linalg" in sys.modules)
"""
    assert run(text) == "31.0 True\n"


@pytest.mark.full
def test_without_the_file_the_package_is_imported() -> None:
    text = """
from tagloom.interp.engines.jit import blas
blas._load_module = lambda: False
blas.load_blas()
print(product("xxdot"), "scipy.linalg" in sys.modules)
"""
    assert run(text) == "31.0 True\n"


@pytest.mark.full
def test_versions_of_numba_that_check_no_width_find_routines() -> None:
    """numba 0.62 has no function that compares the widths of integers."""
    text = """
from numba.np import linalg
linalg.__dict__.pop("_check_lapack_int_width", None)
from tagloom.interp.engines.jit import blas
blas.load_blas()
print(product("xxdot"))
"""
    assert run(text) == "31.0\n"
