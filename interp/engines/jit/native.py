"""Object code on disk: compiled functions of words, and libraries (shared_library.py).

It is loaded without numba, whose import takes longer than everything else that a first call needs.

A file that cannot be read, or fails its checksum, is compiled again. Files are written atomically, so that two
processes may compile at once.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ....core.collector import paused_collector
from ....core.files import remove_stale_files, write_atomically
from ..interrupt import import_slowly, interrupt_at_once
from .cache import cache_key, key_folder, module_folder
from .symbols import Unlinkable, declared_names, define_symbols

WordFunction: TypeAlias = Callable[..., int]
"""A function of words that returns a word."""
WORD_CODE, FUNCTION_CODE = "# word code", "# function code"
"""The first words of a text for `word_code`, and of a text for `function_code`; numba compiles any other text."""
SECOND_PART = "# generated functions"
"""The line between the two parts of such a text: first Python that numba compiles, then the functions."""
_engines: list[Any] = []
"""Objects that must live as long as the functions do."""
_functions: dict[tuple[str, str], WordFunction] = {}
"""The functions loaded in this process, by the key of the text and their names."""
_library_symbols: dict[str, tuple[str, str]] = {}
"""The symbols of the libraries loaded in this process, each with the name and the key of its library."""


class ObjectFile(NamedTuple):
    """Object code, and what it needs: `exports` are the symbols that it defines, `externals` those that it calls, and
    `libraries` the names and keys of the libraries that define some of these, to be loaded in this order. If
    `needs_head`, it calls definitions of the first part of its text, which numba has to compile."""

    exports: tuple[str, ...]
    externals: tuple[str, ...]
    libraries: tuple[tuple[str, str], ...]
    needs_head: bool
    code: bytes

    @classmethod
    def create(cls, exports: Sequence[str], declarations: Sequence[str], code: bytes) -> ObjectFile:
        """The file of code that declares these names and does not define them. The libraries that define some of them
        are loaded."""
        called = dict.fromkeys(name for name in declarations if not name.startswith("llvm."))
        libraries = dict.fromkeys(_library_symbols[name] for name in called if name in _library_symbols)
        externals = tuple(name for name in called if name not in _library_symbols)
        try:
            define_symbols(externals)
            needs_head = False
        except Unlinkable:
            needs_head = True
        return cls(tuple(exports), externals, tuple(libraries), needs_head, code)

    def pack(self) -> bytes:
        """The content of the file: a line with a checksum of the rest, a line with the fields, and the code."""
        content = json.dumps(self[:-1]).encode() + b"\n" + self.code
        return _checksum(content) + b"\n" + content

    @classmethod
    def unpack(cls, content: bytes) -> ObjectFile:
        """The file with this content; raises ValueError if it is damaged."""
        checksum, _, payload = content.partition(b"\n")
        if checksum != _checksum(payload):
            raise ValueError("damaged")
        fields, _, code = payload.partition(b"\n")
        exports, externals, libraries, needs_head = json.loads(fields)
        return cls(tuple(exports), tuple(externals), tuple(map(tuple, libraries)), needs_head, code)

    def load(self) -> Any:
        """Load the code into this process, with the libraries that it needs; returns the engine that has its functions.
        Raises OSError or ValueError where a library is not on disk, and Unlinkable where a function is unknown."""
        for name, key in self.libraries:
            load_library(name, key)
        define_symbols(self.externals)
        return load_object(self.code)


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
            _functions[key] = link_function(ObjectFile.unpack(path.read_bytes()), arity, text)
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
        return link_function(ObjectFile.unpack(native_path(name, text).read_bytes()), arity, text)
    with interrupt_at_once(), paused_collector():  # collecting takes a fifteenth of the time
        object_file = compile_object(text, function, arity)
    with suppress(OSError):
        remove_stale_files(module_folder(text))
        write_atomically(native_path(name, text), object_file.pack())
    return link_function(object_file, arity, text)


def compile_object(text: str, function: str, arity: int) -> ObjectFile:
    """Compile a function of a text to object code. Raises Unlinkable if that calls a function that only numba
    provides, and the text has no first part that defines it."""
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
    object_file = ObjectFile.create([symbol], calls, code)
    if object_file.needs_head and not text.startswith(FUNCTION_CODE):
        define_symbols(object_file.externals)
    return object_file


def library_code(library: Any) -> tuple[bytes, list[str]]:
    """The object code of a library of numba's, and the names that it declares."""
    return library._get_compiled_object(), declared_names(library._final_module)


def execute_head(text: str) -> dict[str, Any]:
    """Execute the first part of a text; the functions of the second part call its definitions, by name or by symbol."""
    namespace: dict[str, Any] = {}
    exec(compile(text.partition(SECOND_PART)[0], "<head>", "exec"), namespace)
    return namespace


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).hexdigest().encode()


def link_function(object_file: ObjectFile, arity: int, text: str = "") -> WordFunction:
    """Link the object code of a function of words, compiled from a text, into this process."""
    try:
        if object_file.needs_head:
            raise Unlinkable(", ".join(object_file.externals))
        engine = object_file.load()
    except (OSError, ValueError, Unlinkable):  # without a library, for example
        with interrupt_at_once():
            execute_head(text)
        import_slowly("numba.core.registry").cpu_target.target_context.refresh()  # defines the symbols of its runtime
        engine = load_object(object_file.code)
    word = ctypes.c_int64
    address = engine.get_function_address(object_file.exports[0])
    word_function: WordFunction = ctypes.CFUNCTYPE(word, *[word] * arity)(address)
    return word_function


def load_library(name: str, key: str) -> None:
    """Load a library from disk and define its symbols, unless that was done. Raises OSError if it is not there,
    ValueError if the file is damaged, Unlinkable where it calls an unknown function."""
    if (name, key) not in _library_symbols.values():
        define_library(name, key, ObjectFile.unpack((key_folder(key) / f"{name}.o").read_bytes()))


def define_library(name: str, key: str, object_file: ObjectFile) -> None:
    """Load the code of a library and define its symbols."""
    import llvmlite.binding as llvm

    engine = object_file.load()
    for symbol in object_file.exports:
        llvm.add_symbol(symbol, engine.get_function_address(symbol))
        _library_symbols[symbol] = name, key


@cache
def _initialize() -> None:
    """Prepare LLVM for this machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def load_object(code: bytes) -> Any:
    """Load object code into this process, for as long as that lives; returns the engine that has its functions."""
    import llvmlite.binding as llvm

    _initialize()
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(""), llvm.Target.from_default_triple().create_target_machine()
    )
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return engine
