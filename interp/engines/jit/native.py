"""Compiled functions of words, stored as object code and loaded without numba, whose import alone takes a third of a
second.

A file that cannot be read, or fails its checksum, is compiled again. Files are written atomically, so that two
processes may compile at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from ....core.collector import paused_collector
from ....core.files import remove_stale_files, write_atomically
from ..interrupt import import_slowly, interrupt_at_once
from . import kernels
from .cache import cache_key, module_folder

WordFunction: TypeAlias = Callable[..., int]
"""A function of words that returns a word."""
_UNREACHABLE_SYMBOLS = (
    "NRT_Free",
    "numba_do_raise",
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_runtime_build_excinfo_struct",
    "numba_unpickle",
)
"""Functions of numba that object code calls only to raise an exception, which no function here does."""
WORD_CODE, FUNCTION_CODE = "# word code", "# function code"
"""The first words of a text for `word_code`, and of a text for `function_code`; numba compiles any other text."""
SECOND_PART = "# generated functions"
"""The line between the two parts of such a text: first Python that numba compiles, then the functions."""
_NEEDS_NUMBA = b" numba"
"""The mark after the symbol of a function whose code needs symbols of numba, or of the first part of its text."""
_engines: list[Any] = []
"""Objects that must live as long as the functions do."""
_functions: dict[tuple[str, str], WordFunction] = {}
"""The functions loaded in this process, by the key of the text and their names."""


class Unlinkable(Exception):
    """Raised where object code calls a function that only numba provides."""


def load_native(name: str, text: str, function: str, arity: int) -> WordFunction:
    """Load the function of a text as machine code: it takes `arity` words. `name` is the name of the file on disk.

    Raises Unlinkable if it calls a function that a process without numba does not have.
    """
    key = cache_key(text), function
    if key not in _functions:
        _functions[key] = _load_or_compile(name, text, function, arity)
    return _functions[key]


def load_stored(name: str, text: str, function: str, arity: int) -> WordFunction:
    """Load a function as `load_native` does, from disk only. Raises OSError if it is not there, and ValueError if the
    file is damaged, which is then removed, so that it is compiled again."""
    key, path = (cache_key(text), function), native_path(name, text)
    if key not in _functions:
        try:
            _functions[key] = link_object(path.read_bytes(), arity, text)
        except ValueError:
            path.unlink(missing_ok=True)
            raise
    return _functions[key]


def native_path(name: str, text: str) -> Path:
    """The file of the object code of a text; raises OSError where nothing can be cached."""
    return module_folder(text) / f"{name}.o"


def _load_or_compile(name: str, text: str, function: str, arity: int) -> WordFunction:
    """Link the object code on disk; compile it if there is none or it is damaged."""
    with suppress(OSError, ValueError):
        return link_object(native_path(name, text).read_bytes(), arity, text)
    with interrupt_at_once(), paused_collector():  # collecting takes a fifteenth of the time
        code = compile_object(text, function, arity)
    with suppress(OSError):
        remove_stale_files(module_folder(text))
        write_atomically(native_path(name, text), code)
    return link_object(code, arity, text)


def compile_object(text: str, function: str, arity: int) -> bytes:
    """Compile to object code, preceded by two lines: the checksum of the rest, and the name of the symbol."""
    numba = import_slowly("numba")

    def compile_function(text: str, name: str, arity: int) -> Any:
        namespace: dict[str, Any] = {}
        exec(compile(text, f"<{name}>", "exec"), namespace)
        return numba.cfunc(numba.int64(*[numba.int64] * arity), error_model="numpy")(namespace[name])

    head, _, functions = text.partition(SECOND_PART)
    if text.startswith(WORD_CODE):
        from . import word_code

        kernel = compile_function(head, "scalar_kernels", word_code.KERNEL_ARITY)
        (code, calls), symbol = library_code(word_code.compile_library(functions, function, kernel)), function
    elif text.startswith(FUNCTION_CODE):
        from . import function_code

        symbol = f"{function}_{cache_key(text)}"
        code, calls = function_code.compile_functions(functions, execute_head(text), {function: symbol})
    else:
        cfunc = compile_function(text, function, arity)
        (code, calls), symbol = library_code(cfunc._library), cfunc.native_name
    try:
        check_linkable(calls)
        needs = b""
    except Unlinkable:
        if not text.startswith(FUNCTION_CODE):
            raise
        needs = _NEEDS_NUMBA
    return pack_object(symbol.encode() + needs + b"\n" + code)


def library_code(library: Any) -> tuple[bytes, list[str]]:
    """The object code of a library of numba's, and the names of the functions that it calls."""
    calls = [callee.name for callee in library._final_module.functions if callee.is_declaration]
    return library._get_compiled_object(), calls


def execute_head(text: str) -> dict[str, Any]:
    """Execute the first part of a text; the functions of the second part call its definitions, by name or by symbol."""
    namespace: dict[str, Any] = {}
    exec(compile(text.partition(SECOND_PART)[0], "<head>", "exec"), namespace)
    return namespace


def check_linkable(names: Iterable[str]) -> None:
    """Raise Unlinkable if code calls a function that a process without numba does not have: LLVM ends the process when
    it links such a call."""
    library = ctypes.CDLL(None)
    known_symbols = {*_UNREACHABLE_SYMBOLS, *map(kernels.symbol_name, kernels.c_functions())}
    unresolved = (name for name in names if name not in known_symbols and not name.startswith("llvm."))
    unknown = [name for name in unresolved if not hasattr(library, name)]
    if unknown:
        raise Unlinkable(", ".join(unknown))


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).hexdigest().encode()


def pack_object(content: bytes) -> bytes:
    """The content of a file, with a checksum before it."""
    return _checksum(content) + b"\n" + content


def unpack_object(content: bytes) -> bytes:
    """The content that `pack_object` packed; raises ValueError if it is damaged."""
    checksum, _, payload = content.partition(b"\n")
    if checksum != _checksum(payload):
        raise ValueError("damaged")
    return payload


def link_object(content: bytes, arity: int, text: str = "") -> WordFunction:
    """Link the packed object code of a function of words, compiled from a text, into this process; raises ValueError if
    it is damaged."""
    symbol, _, code = unpack_object(content).partition(b"\n")
    if symbol.endswith(_NEEDS_NUMBA):
        symbol = symbol.removesuffix(_NEEDS_NUMBA)
        with interrupt_at_once():
            execute_head(text)
        import_slowly("numba.core.registry").cpu_target.target_context.refresh()  # defines the symbols of its runtime
    _register_symbols(tuple(kernels.c_functions()))
    engine = load_object(code)
    word = ctypes.c_int64
    word_function: WordFunction = ctypes.CFUNCTYPE(word, *[word] * arity)(engine.get_function_address(symbol.decode()))
    return word_function


def load_object(code: bytes) -> Any:
    """Load object code into this process, for as long as that lives; returns the engine that has its functions."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(""), llvm.Target.from_default_triple().create_target_machine()
    )
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return engine


@cache
def _register_symbols(names: tuple[str, ...]) -> None:
    """Register the symbols that object code calls."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in names:
        llvm.add_symbol(kernels.symbol_name(name), kernels.function_address(name))
    for name in _UNREACHABLE_SYMBOLS:
        if llvm.address_of_symbol(name) is None:  # numba, if imported, needs its own
            llvm.add_symbol(name, kernels.function_address("abort"))
