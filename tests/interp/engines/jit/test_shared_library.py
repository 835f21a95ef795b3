"""Libraries of shared functions: compiled once on a machine, called by symbol, and used wherever generated code can."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tagloom as tl
from numba import int64, njit
from numba.core import compiler
from tagloom.interp.engines.jit import native, runtime, shared_library
from tagloom.interp.engines.jit.native import ObjectFile
from tagloom.interp.engines.jit.shared_library import SharedLibrary
from tagloom.interp.engines.jit.state import SHARED_FUNCTIONS


class Interruption(Exception):
    """Ends a test where a library is loaded."""


def _add_library(name: str) -> SharedLibrary:
    return SharedLibrary(name, {f"test_{name}": (int64(int64, int64), lambda x, y: x + 2 * y)})


def _call(library: SharedLibrary) -> int:
    """The result of 3 + 2 * 4, by a new function that calls the library."""
    library.load()
    (name,) = library.functions
    function = library.declare(name)
    result: int = njit(int64())(lambda: function(3, 4))()
    return result


def forget_library(name: str) -> None:
    """Let this process load a library again, as another one would."""
    del native._library_symbols[f"tagloom_test_{name}"]


@pytest.fixture
def compile_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The libraries that are compiled, while the cache is an empty folder."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    names: list[str] = []
    compile_library = SharedLibrary.compile

    def record(library: SharedLibrary) -> ObjectFile:
        names.append(library.name)
        return compile_library(library)

    monkeypatch.setattr(SharedLibrary, "compile", record)
    return names


@pytest.mark.full
def test_a_library_is_compiled_once_and_then_loaded_from_disk(compile_count: list[str]) -> None:
    """A second process, here a second object, finds the object file; a damaged file is compiled again."""
    assert _call(_add_library("sum")) == 11
    forget_library("sum")
    assert _call(_add_library("sum")) == 11
    assert compile_count == ["sum"]
    path = shared_library.native_path("sum", _add_library("sum").text)
    path.write_bytes(path.read_bytes()[:-1])
    forget_library("sum")
    assert _call(_add_library("sum")) == 11
    assert compile_count == ["sum", "sum"]


@pytest.mark.full
def test_a_library_is_compiled_in_memory_where_nothing_can_be_cached(
    compile_count: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGLOOM_CACHE", "/dev/null/none")
    assert _call(_add_library("uncached")) == 11


def test_a_library_is_loaded_after_those_that_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM ends a process that loads a call of an undefined symbol."""
    loaded: list[str] = []

    def load(name: str, key: str) -> None:
        loaded.append(name)
        raise Interruption

    monkeypatch.setattr(shared_library, "load_library", load)
    with pytest.raises(Interruption):
        SharedLibrary("caller", {}, [_add_library("callee")]).load()
    assert loaded == ["callee"]


def test_generated_code_can_name_all_functions_of_the_library() -> None:
    """The list for the code generator, which does not import numba, has the names of the library."""
    assert sorted(SHARED_FUNCTIONS) == sorted(runtime.LIBRARY.functions)


@pytest.mark.full
@pytest.mark.parametrize("count", [0, 1, 5, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_in_float64(count: int, dtype: type) -> None:
    """The sum of whole numbers is exact."""
    function = getattr(runtime, f"sum_{np.dtype(dtype)}")
    numbers = np.arange(count, dtype=dtype)
    assert njit(lambda address, n: function(address, n))(numbers.ctypes.data, count) == count * (count - 1) // 2


@tl.function
def _step(w, x):  # type: ignore[no-untyped-def]
    def loss(w):  # type: ignore[no-untyped-def]
        return tl.sum(tl.mean(tl.tanh(x @ w), axis=0))

    value, slope = tl.value_and_grad(loss)(w)
    return value, w - slope


@pytest.mark.full
def test_a_program_compiles_only_functions_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the libraries on disk, numba compiles only scalar columns that the program inlines: no function of the
    generated text, and no other function of the engine."""
    w, x = np.ones((3, 40), np.float32), np.ones((50, 3), np.float32)
    expected = _step.run(w, x, engine="reference").value
    _step.run(w, x + 1, engine="compiled")  # loads the libraries
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    names: list[str] = []
    compile_extra = compiler.CompilerBase.compile_extra

    def record(pipeline: compiler.CompilerBase, function: object) -> object:
        names.append(function.__qualname__)  # type: ignore[attr-defined]
        return compile_extra(pipeline, function)

    monkeypatch.setattr(compiler.CompilerBase, "compile_extra", record)
    fresh = tl.function(lambda w, x: _step(w, x))
    value = fresh.run(w, x, engine="compiled").value
    for got, right in zip(value, expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5)
    assert {*names} <= {"div"}
