"""Libraries of compiled functions that are the same for all programs, and are called by symbol.

numba would compile such a function again in each process that compiles a program, and again as a part of each caller.
A library is one object file in the disk cache. Machine code that calls a library is loaded after it: LLVM ends a
process that loads a call of an undefined symbol. Functions that pay only if they are inlined do not belong here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from numba.core import cgutils
from numba.core.registry import cpu_target

from ....core.files import remove_stale_files, write_atomically
from ..interrupt import interrupt_at_once
from . import intrinsics
from .cache import cache_key, module_folder
from .kernels import symbol_name
from .memory import kernel
from .native import ObjectFile, define_library, load_library, native_path
from .symbols import Unlinkable, declared_names


class SharedLibrary:
    """Functions of this package in one object file, each with its only signature; `dependencies` are the libraries that
    they call."""

    def __init__(
        self,
        name: str,
        functions: Mapping[str, tuple[Any, Callable[..., Any]]],
        dependencies: Sequence[SharedLibrary] = (),
    ) -> None:
        self.name, self.dependencies = name, dependencies
        self.signatures = {function_name: signature for function_name, (signature, _) in functions.items()}
        self.functions = {function_name: function for function_name, (_, function) in functions.items()}
        self.is_loaded = False

    @property
    def text(self) -> str:
        """The names and the signatures: the hash of this text names the library's folder in the disk cache, and also
        covers the source of this package (`cache_key`)."""
        return f"# library {self.name}: {[(name, str(signature)) for name, signature in self.signatures.items()]}"

    def emit_call(self, context: Any, builder: Any, name: str, arguments: Any) -> Any:
        """Emit a call of a function by its symbol; exceptions propagate."""
        function = self.declare_symbol(context, builder.module, name)
        return intrinsics.emit_call(context, builder, function, self.signatures[name], arguments)

    def declare_symbol(self, context: Any, module: Any, name: str) -> Any:
        """The function of this name in a module of LLVM, declared by its symbol."""
        signature = self.signatures[name]
        type_ = context.call_conv.get_function_type(signature.return_type, signature.args)
        return cgutils.get_or_insert_function(module, type_, symbol_name(name))  # type: ignore[no-untyped-call]

    def load(self) -> None:
        """Load the machine code of all functions, compiled if it is not on disk, and define their symbols."""
        if self.is_loaded:
            return
        for library in self.dependencies:
            library.load()
        key = cache_key(self.text)
        try:
            load_library(self.name, key)
        except (OSError, ValueError, Unlinkable):
            with interrupt_at_once():
                object_file = self.compile()
            with suppress(OSError):
                remove_stale_files(module_folder(self.text))
                write_atomically(native_path(self.name, self.text), object_file.pack())
            define_library(self.name, key, object_file)
        self.is_loaded = True

    def declare(self, name: str) -> Any:
        """A function that compiled code can call, and that calls the library's function of this name by its symbol. It
        takes an array where the library's function takes the address of its elements."""

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return self.emit_call(context, builder, name, arguments)

        return intrinsics.word_intrinsic(self.signatures[name], build)

    def compile(self) -> ObjectFile:
        """numba compiles each function."""
        module = None
        for name, function in self.functions.items():
            (compiled,) = kernel(self.signatures[name])(function).overloads.values()
            part = compiled.library._final_module.clone()
            part.get_function(compiled.fndesc.llvm_func_name).name = symbol_name(name)
            if module is None:
                module = part
            else:
                module.link_in(part)
        assert module is not None
        code = cpu_target.target_context.codegen()._tm.emit_object(module)
        return ObjectFile.create([symbol_name(name) for name in self.functions], declared_names(module), code)
