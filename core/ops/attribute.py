"""Static attributes: which of them are types, and how they are written."""

from __future__ import annotations

from ..dtypes import DType
from ..types import Type

TYPE_ATTRIBUTES = ("element", "returns")
"""The attributes that are types. `dtype` is a dtype; any other is a string, a number, a bool, or a tuple of these."""


def format_attribute(value: object) -> str:
    """An attribute as the text form writes it, or nearly.

    >>> format_attribute((2, 3)), format_attribute("a"), format_attribute(True), format_attribute(None)
    ('[2, 3]', '"a"', 'true', 'none')
    """
    match value:
        case tuple() | list():
            return f"[{', '.join(map(format_attribute, value))}]"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case None | bool():
            return {None: "none", True: "true", False: "false"}[value]
        case Type() | DType():
            return str(value) if isinstance(value, Type) else repr(value)
    return str(value)
