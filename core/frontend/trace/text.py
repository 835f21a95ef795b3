"""Strings with symbolic values in them, as their parts."""

from __future__ import annotations

from typing import Any


class Text:
    """A string with symbolic values in it."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        """Strings, symbolic values, and such values with a format, in order."""
