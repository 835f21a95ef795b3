"""The methods of dataclasses: they have no source, and the fields determine what they do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import MISSING as MISSING_DEFAULT
from dataclasses import Field
from dataclasses import fields as fields_of
from typing import Any

__all__ = ["MISSING_DEFAULT", "Field", "dataclass_fields", "dataclass_of", "fields_of"]
_OPTIONS = {"__init__": "init", "__eq__": "eq", "__setattr__": "frozen", "__delattr__": "frozen"}
"""The methods that `@dataclass` generates, each with the option that requests it."""


def dataclass_of(owner: type, name: str) -> Any:
    """The dataclass whose decorator generated the method `name` of a class, inherited ones included; None if there is
    none.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    >>> dataclass_of(Point, "__eq__") is Point, dataclass_of(Point, "__repr__"), dataclass_of(int, "__eq__")
    (True, None, None)
    """
    definer = next((base for base in owner.__mro__ if name in base.__dict__), object)
    parameters = definer.__dict__.get("__dataclass_params__")
    code = getattr(definer.__dict__.get(name), "__code__", None)
    is_written = name in _OPTIONS and parameters is not None and getattr(parameters, _OPTIONS[name])
    return definer if is_written and code is not None and code.co_filename == "<string>" else None


def dataclass_fields(owner: type) -> Sequence[Field[Any]] | None:
    """The fields that the `__init__` of a class assigns; None if `@dataclass` did not generate it, or if it takes
    parameters that are not fields.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> [each.name for each in dataclass_fields(Point)]
    ['x', 'y']
    """
    definer = dataclass_of(owner, "__init__")
    if definer is None:
        return None
    all_fields = definer.__dict__["__dataclass_fields__"].values()
    if any(field._field_type is dataclasses._FIELD_INITVAR for field in all_fields):  # type: ignore[attr-defined]
        return None
    return fields_of(definer)
