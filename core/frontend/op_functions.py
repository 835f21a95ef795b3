"""Op functions, derived from the rows of the registry: signature, documentation and behaviour.

A row's column `namespace` names the module that has its function. Functions of the standard that apply several ops, or
that convert their arguments, are written by hand in `array_api`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..ops import __all__ as _families
from ..ops.op import OPS, Op
from .api import apply
from .eager.dispatch import cache_single_op, op_function

assert _families, "importing the families declares the ops"
_OPERAND_NAMES = ("x", "y", "z", "w")
_MODULES = {"tagloom": "tagloom.core.frontend.functions", "linalg": "tagloom.core.frontend.array_api.linalg"}
"""Where the functions of a namespace are found."""


def derive_functions(namespace: str) -> dict[str, Callable[..., Any]]:
    """The functions of all ops in a namespace, by name."""
    return {row.name: _derive_function(row, namespace) for row in OPS.values() if row.namespace == namespace}


def _derive_function(row: Op, namespace: str) -> Callable[..., Any]:
    signature = op_signature(row)
    function = _function_with_attributes(row, signature) if row.attributes else op_function(row.name, row.arity)
    function.__module__, function.__name__, function.__qualname__ = _MODULES[namespace], row.name, row.name
    function.__doc__ = row.doc
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def op_signature(row: Op) -> inspect.Signature:
    """The signature: positional-only operands, attributes without a default, keyword-only attributes with one."""
    operand, keyword = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, operand) for name in _OPERAND_NAMES[: row.arity or 0]]
    if row.arity is None:
        parameters = [inspect.Parameter("operands", inspect.Parameter.VAR_POSITIONAL)]
    for name in row.attributes:
        if name in row.attribute_defaults:
            parameters.append(inspect.Parameter(name, keyword, default=row.attribute_defaults[name]))
        else:
            parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD))
    return inspect.Signature(parameters)


def _function_with_attributes(row: Op, signature: inspect.Signature) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        attributes = {name: bound.arguments[name] for name in row.attributes}
        operands = [each for name, each in bound.arguments.items() if name not in attributes]
        return apply(row.name, *operands, **attributes)

    return cache_single_op(call) if row.arity == 1 else call


def document(*modules: ModuleType) -> None:
    """Give each function of these modules without a docstring that of the op with the same name."""
    for module in modules:
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name in OPS:
                function.__doc__ = function.__doc__ or OPS[name].doc
