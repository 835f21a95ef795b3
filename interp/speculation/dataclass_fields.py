"""The methods of dataclasses, which have no source: what they do is what the fields say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import MISSING as MISSING_DEFAULT
from dataclasses import Field
from dataclasses import fields as fields_of
from typing import Any

__all__ = ["MISSING_DEFAULT", "Field", "dataclass_fields", "dataclass_of", "fields_of"]
_OPTIONS = {"__init__": "init", "__eq__": "eq", "__setattr__": "frozen", "__delattr__": "frozen"}
"""The methods that `@dataclass` writes, each with the option that asks for it."""


def dataclass_of(owner: type, name: str) -> Any:
    """The dataclass that has written a method which a class has, itself or by inheritance; None if none has.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    >>> dataclass_of(Point, "__eq__") is Point, dataclass_of(Point, "__repr__"), dataclass_of(int, "__eq__")
    (True, None, None)
    """
    definer = next((each for each in owner.__mro__ if name in each.__dict__), object)
    parameters = definer.__dict__.get("__dataclass_params__")
    code = getattr(definer.__dict__.get(name), "__code__", None)
    is_written = name in _OPTIONS and parameters is not None and getattr(parameters, _OPTIONS[name])
    return definer if is_written and code is not None and code.co_filename == "<string>" else None


def dataclass_fields(owner: type) -> Sequence[Field[Any]] | None:
    """The fields that the `__init__` of a class assigns; None where `@dataclass` has not written it, or where it takes
    parameters that are no fields.

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
    every = definer.__dict__["__dataclass_fields__"].values()
    if any(each._field_type is dataclasses._FIELD_INITVAR for each in every):  # type: ignore[attr-defined]
        return None
    return fields_of(definer)
