"""Modules of StableHLO, and functions of JAX, as programs. Importing this package imports neither JAX nor jaxlib, which
are optional."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ....core.errors import Usage
from ...function.function import Function


def from_stablehlo(source: str | os.PathLike[str] | bytes, /) -> Function:
    """The function that a module of StableHLO computes: its function `main`, or its only public one.

    `source` is the text of a module in MLIR, its bytecode, or the path of a file with either, whose name ends in .mlir
    if it is not a `pathlib.Path`. The other functions of the module are functions of the program, a `stablehlo.while`
    is one `while_loop`. Arrays of more than 64 elements become hidden arguments. jaxlib parses the module, in a process
    of its own: `pip install "tagloom[jax]"`.

    Raises Usage for a file that cannot be read, Malformed for a module that breaks the rules of MLIR or StableHLO, and,
    when the function is traced, Usage for what tagloom lacks.
    """
    require_package("jaxlib", "StableHLO cannot be read")
    from .model import import_module  # here: most programs need no modules

    return import_module(source)


def from_jax(function: Callable[..., Any], /, *arguments: Any) -> Function:
    """The function that a JAX function computes for arguments like these, arrays, numbers or nested ones: what
    `jax.jit` lowers it to, as a program.

    The result takes arguments of the same shapes and dtypes, nested as these, and returns what the JAX function
    returns. `jax.grad`, `jax.vmap`, `jax.lax.scan` and so on have been applied before. Raises Usage where JAX is not
    installed, or an argument nests in a class that tagloom lacks; and, when the function is traced, for an operation
    that tagloom lacks.
    """
    require_package("jax", "functions of JAX cannot be imported")
    from .jax_function import import_function  # here: JAX is an extra

    return import_function(function, arguments)


def require_package(name: str, message: str) -> None:
    """Raises Usage where an optional package is not installed."""
    if find_spec(name) is None:
        raise Usage(message, required=f"the package {name}", hint='pip install "tagloom[jax]"', python=ImportError)
