"""The `__init__` of dataclasses, which has no source: what it assigns is what the fields say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import MISSING as MISSING_DEFAULT
from dataclasses import Field
from dataclasses import fields as fields_of
from typing import Any

__all__ = ["MISSING_DEFAULT", "Field", "dataclass_fields", "fields_of", "is_generated"]


def is_generated(function: Any) -> bool:
    """Whether `@dataclass` has written a method."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def dataclass_fields(owner: type, init: Any) -> Sequence[Field[Any]] | None:
    """The fields that the `__init__` of a class assigns; None where `@dataclass` has not written it, or where it takes
    parameters that are no fields.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> [each.name for each in dataclass_fields(Point, Point.__init__)]
    ['x', 'y']
    """
    owners = [each for each in owner.__mro__ if each.__dict__.get("__init__") is init]
    if not owners or "__dataclass_fields__" not in owners[0].__dict__ or not is_generated(init):
        return None
    every = owners[0].__dict__["__dataclass_fields__"].values()
    if any(each._field_type is dataclasses._FIELD_INITVAR for each in every):  # type: ignore[attr-defined]
        return None
    return fields_of(owners[0])
