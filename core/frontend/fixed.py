"""Fixed parts of nested values: Python objects that are no values of a program, and that a trace takes as they are.

Owns which objects those are, and when two are the same: strings and the like by what they are, anything else by
identity.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..cells import Handle

_VALUES = (bool, int, float, complex, list, np.ndarray, np.generic, Handle)
_MARKS = ("_tagloom_value", "_tagloom_literal", "__array__", "__array_interface__", "__dlpack__")
_PLAIN = (str, bytes, type(None), range, bool, int, float)


class Static:
    """An annotation: `training: tl.Static` takes an argument as Python has it, numbers too, and not as a value of the
    program. Each argument gives a trace of its own; numbers, strings and enums are the same where they are equal, any
    other where it is the same object.
    """


class Fixed:
    """A Python object as a part of a structure.

    >>> Fixed("relu") == Fixed("relu"), Fixed([]) == Fixed([]), Fixed(1) == Fixed(1.0)
    (True, False, False)
    """

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        if _is_plain(self.value):
            said = str(self.value) if isinstance(self.value, enum.Enum) else repr(self.value)
            return said if len(said) <= 40 else f"{said[:36]}..."
        name = getattr(self.value, "__name__", None) or getattr(self.value, "name", None)
        kind = type(self.value).__name__
        return f"<{kind} {name}>" if isinstance(name, str) else f"<{kind}>"


def _is_plain(value: Any) -> bool:
    """Whether an object is known by what it is, and not by which it is."""
    if isinstance(value, tuple | frozenset):
        return type(value) in (tuple, frozenset) and all(map(_is_plain, value))
    return type(value) in _PLAIN or isinstance(value, enum.Enum | np.generic)


def _key(value: Any) -> tuple[Any, ...]:
    if not _is_plain(value):
        return type(value), id(value)
    if isinstance(value, tuple | frozenset):
        parts = map(_key, value)
        return type(value), tuple(parts) if isinstance(value, tuple) else frozenset(parts)
    if isinstance(value, np.generic):
        return type(value), str(value.dtype), value.tobytes()
    return type(value), value.hex() if isinstance(value, float) else value


def is_fixed(value: object) -> bool:
    """Whether an object is no value: no number, no array, nothing that offers one."""
    kind = type(value)
    return not (issubclass(kind, _VALUES) or any(hasattr(kind, mark) for mark in _MARKS))
