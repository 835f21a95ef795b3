"""Functions of imported programs: their specs, the names of their parameters, and the constants that they capture."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import Any

from ...core.frontend.trace.annotation import DerivedFunction, FunctionSpec
from ...core.frontend.trace.captures import Resource, constant_resource
from ...core.frontend.trace.program_builder import MAX_LITERAL_ELEMENTS, suspend_tracing
from ...core.frontend.trace.pytree import TreeType
from ...core.program.program import UniqueNames
from .refusals import tl


def identifier(name: str, default: str) -> str:
    """A foreign name as an identifier.

    >>> identifier("layer.0/weight", "constant"), identifier("", "constant")
    ('layer_0_weight', 'constant')
    """
    text = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).strip("_")[:40]
    is_name = text.isidentifier() and not keyword.iskeyword(text)
    return text if is_name else f"{default}_{text}" if text else default


def unique_identifiers(names: Iterable[str]) -> list[str]:
    """Foreign names of parameters as identifiers, all different.

    >>> unique_identifiers(["x.1", "x/1", ""])
    ['x_1', 'x_1_1', 'x']
    """
    unique = UniqueNames()
    return [unique.fresh_name(identifier(name, "x")) for name in names]


def named_signature(names: Iterable[str]) -> Signature:
    """The signature of a function with parameters of these names."""
    return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def name_parameters(names: Sequence[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that names the parameters of a function, such as the body of a loop, after its variables."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__signature__ = named_signature(names)  # type: ignore[attr-defined]
        return function

    return decorate


def function_spec(
    python: DerivedFunction, parameters: Sequence[tuple[str, TreeType | None]], result: TreeType | None = None
) -> FunctionSpec:
    """The spec of a function with these parameters, each with its name and type; a type is None where calls decide
    it."""
    return FunctionSpec(python, tuple(parameters), result, signature=named_signature(name for name, _ in parameters))


class CapturedConstants:
    """The constants of an imported program. A large one is a concrete array, which the program captures by name."""

    def __init__(self) -> None:
        self._resources: list[Resource] = []
        """Keeps the resources of large constants, with their names, while the program lives."""

    def admit(self, array: Any, name: str) -> Any:
        """A constant of the program: an array of NumPy of few elements as it is, a large one as a concrete array."""
        if array.size <= MAX_LITERAL_ELEMENTS:
            return array
        with suspend_tracing():
            concrete = tl.asarray(array)
        self._resources.append(constant_resource(concrete, lambda _: name))
        return concrete
