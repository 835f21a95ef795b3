"""Strings with symbolic values in them: by their parts, or by their code points. Both are containers of values."""

from __future__ import annotations

from types import CellType
from typing import Any, NamedTuple

from .choice import Choice


class FormattedValue(NamedTuple):
    """A value in a printed line, with a format of Python; an empty format shows the value as `print` does."""

    value: Any
    specification: str = ""


class Text:
    """A string by its parts."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        """Strings, symbolic values, such values with a format, and code points, in order."""


class CodePoints:
    """A string by the list of its code points, which may be one of symbolic length."""

    __slots__ = ("codes",)

    def __init__(self, codes: list[Any]) -> None:
        self.codes = codes


TEXTS = (Text, CodePoints)
"""The classes of strings with symbolic values in them."""


def is_text(value: Any) -> bool:
    """Whether a value is a string, known or not, or one of several."""
    return isinstance(value, (str, *TEXTS)) or (type(value) is Choice and all(map(is_text, value.options)))


AS_CHARACTERS: CellType = CellType()
"""The code points of a string: a function of the string. `core/frontend/source/characters.py` sets it."""
