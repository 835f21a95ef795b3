"""Modules of StableHLO, and functions of JAX, as programs. Importing this package imports neither JAX nor jaxlib, which
are optional."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ....core.errors import Usage
from ...engines.limits import Limits
from ...function.function import Function

if TYPE_CHECKING:
    from .jax_cases import JaxCases

MAX_FIRINGS = 100_000
"""How many firings a recorded case may take, unless a limit is given."""


def from_stablehlo(source: str | os.PathLike[str] | bytes, /) -> Function:
    """The function that a module of StableHLO computes: its function `main`, or its only public one.

    `source` is the text of a module in MLIR, its bytecode, or the path of a file with either, whose name ends in .mlir
    if it is not a `pathlib.Path`. The other functions of the module are functions of the program, a `stablehlo.while`
    is one `while_loop`. Arrays of more than 64 elements become hidden arguments. jaxlib parses the module, in a process
    of its own: `pip install "tagloom[jax]"`.

    Raises Usage for a file that cannot be read, Malformed for a module that breaks the rules of MLIR or StableHLO, and,
    when the function is traced, Usage for a feature that tagloom lacks.
    """
    require_package("jaxlib", "StableHLO cannot be read")
    from .model import import_module  # here: most programs need no modules

    return import_module(source)


def from_jax(function: Callable[..., Any], /, *arguments: Any) -> Function:
    """The program of a JAX function for arguments like these (arrays, numbers or nested ones), as `jax.jit` lowers it.

    The result takes arguments of the same shapes and dtypes, nested in the same way, and returns the results of the JAX
    function. `jax.grad`, `jax.vmap`, `jax.lax.scan` and so on have been applied before. Raises Usage where JAX is not
    installed, or an argument nests in a class that tagloom lacks; and, when the function is traced, for an operation
    that tagloom lacks.
    """
    require_package("jax", "functions of JAX cannot be imported")
    from .jax_function import import_function  # here: JAX is an extra

    return import_function(function, arguments)


def trace_all(system: ModuleType, /, *, engine: str = "reference", limits: Limits | None = None) -> JaxCases:
    """Record cases from a program or a test suite of JAX: the functions that are passed to `jax.jit` during the
    recording.

    `system` is the module `jax`. Each function is imported once for each choice of shapes, dtypes and static arguments
    with which it is called, runs on an engine within limits (by default, 100,000 firings), and its results are compared
    with those of JAX. The call returns JAX's results in any case. Raises Usage for another module.

        with tl.trace_all(jax) as cases:
            run_tests()
        print(cases)
    """
    if getattr(system, "__name__", "") != "jax":
        raise Usage(
            "only functions of JAX can be recorded", required="the module jax", got=repr(system), python=TypeError
        )
    require_package("jax", "functions of JAX cannot be imported")
    from .jax_cases import JaxCases  # here: JAX is an extra

    return JaxCases(engine, limits or Limits(firings=MAX_FIRINGS))


def require_package(name: str, message: str) -> None:
    """Raises Usage where an optional package is not installed."""
    if find_spec(name) is None:
        raise Usage(message, required=f"the package {name}", hint='pip install "tagloom[jax]"', python=ImportError)
