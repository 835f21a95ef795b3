"""Functions of JAX as programs: JAX lowers a function to a module of StableHLO, which is imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from ....core.errors import Usage
from ....core.frontend.trace.pytree import LEAF, TreeType, flatten
from ...function.function import Function
from ..functions import identifier, unique_identifiers
from . import rows  # noqa: F401 - registers the operations
from .interpreter import ModuleInterpreter
from .model import entry_of
from .module import read_module
from .parse import describe_module

FRAME_LIMIT = "jax_traceback_in_locations_limit"
"""JAX's setting of how many frames of Python a location has; -1 for all."""


def import_function(function: Callable[..., Any], arguments: Sequence[Any]) -> Function:
    """`from_jax`, where JAX is installed."""
    with complete_locations():
        lowered = jax.jit(function, keep_unused=True).lower(*arguments)
        module = read_module(describe_module(lowered.compiler_ir("stablehlo"), None))
    name = identifier(getattr(function, "__name__", ""), "function")
    interpreter, entry = ModuleInterpreter(module, None, name, has_python_lines=True), entry_of(module)
    parameters, _ = interpreter.signature_of(entry)
    structures, types = [structure_of(argument) for argument in arguments], iter(parameters)
    trees = [TreeType(structure, tuple(next(types) for _ in range(structure.size))) for structure in structures]

    def evaluate(entry: str, *nested: Any) -> Any:
        leaves = [leaf for tree in nested for leaf in flatten(tree, is_leaf=None)[0]]
        return jax.tree_util.tree_unflatten(lowered.out_tree, interpreter.results_of(entry, leaves))

    original = inspect.unwrap(function)
    definition = original if hasattr(original, "__code__") else None
    names = argument_names(function, len(arguments))
    return interpreter.make_function(entry, name, trees, None, evaluate, names, definition)


@contextmanager
def complete_locations() -> Iterator[None]:
    """Let JAX record all frames of Python in which it traces an operation; by default, it records the innermost ones.
    Without the outer frames, the calls of the traced function are not distinguished from others."""
    config: Any = jax.config
    previous = getattr(config, FRAME_LIMIT)
    config.update(FRAME_LIMIT, -1)
    try:
        yield
    finally:
        config.update(FRAME_LIMIT, previous)


def structure_of(argument: Any) -> Any:
    """The structure of an argument. Raises Usage where tagloom nests values otherwise than JAX."""
    if jax.tree_util.all_leaves([argument]):
        return LEAF
    leaves, structure = flatten(argument, is_leaf=None)
    expected = jax.tree_util.tree_leaves(argument)
    if len(leaves) != len(expected) or any(
        leaf is not expected_leaf for leaf, expected_leaf in zip(leaves, expected, strict=True)
    ):
        required = "arrays in tuples, lists, dicts, named tuples and dataclasses"
        raise Usage(
            "an argument has a structure that tagloom does not have", required=required, got=type(argument).__name__
        )
    return structure


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters that can be passed by position; none if it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def argument_names(function: Callable[..., Any], count: int) -> list[str]:
    """Names for this many arguments by position: the names of the parameters, as far as there are any."""
    return unique_identifiers([*parameter_names(function), *["x"] * count][:count])
