"""Finds the function of tagloom that the user called, so that errors can name it: `tl.zeros((n,))` applies the op
`broadcast_to`, but the user wrote `zeros`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from inspect import isfunction, unwrap
from types import CodeType, FunctionType
from typing import Any

from .trace.source_location import is_internal_file
from .trace.symbol import OPERATOR_METHODS, array_namespace

_PACKAGE = __name__.rpartition(".")[0]


def find_called_function() -> str | None:
    """The name of the outermost public function of the front end among the callers, up to the user's code. None if the
    user called no such function, or used an operator or an index."""
    name, codes, operators = None, function_names(), operator_codes()
    frame = sys._getframe(1)
    while frame is not None and is_internal_file(frame.f_code.co_filename):
        code = frame.f_code
        if code in codes:
            name = codes[code] or name_of_op(frame.f_locals) or name
        elif code in operators or (code.co_name.startswith("__") and code.co_name != "__init__"):
            name = None
        frame = frame.f_back  # type: ignore[assignment]
    return name


def public_functions() -> Iterator[tuple[str, FunctionType]]:
    """The functions of the front end in the namespace of the package and in its `linalg`, by the names under which
    users call them."""
    namespace = array_namespace()
    for name in namespace.__all__:
        function = getattr(namespace, name)
        if isfunction(function) and function.__module__.startswith(_PACKAGE):
            yield name, function
    for name, function in vars(namespace.linalg).items():
        if isfunction(function) and not name.startswith("_") and "linalg" in function.__module__:
            yield f"linalg.{name}", function


@cache
def function_names() -> dict[CodeType, str]:
    """The name of each public function by its code; "" for code that several functions share."""
    names: dict[CodeType, str] = {}
    functions: dict[CodeType, Any] = {}
    for name, function in public_functions():
        code = unwrap(function).__code__
        names[code] = names.get(code, name) if functions.setdefault(code, function) is function else ""
    return names


@cache
def operator_codes() -> frozenset[CodeType]:
    """The code of the methods that operators and indexes call."""
    return frozenset(method.__code__ for method in OPERATOR_METHODS)


def name_of_op(variables: dict[str, Any]) -> str | None:
    """The op of a function that is derived from its row, by the variables of its frame."""
    return variables["op"] if "op" in variables else getattr(variables.get("row"), "name", None)
