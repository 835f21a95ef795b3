"""Writing the small things, and pages of lines: what the printers share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..dtypes import DType
from ..errors import Usage
from ..program.program import Location
from ..types import HandleType, Type, admit_element
from ..value import show
from .atoms import ATTRIBUTES, LITERALS, is_attribute

_WIDEST = 72
"""Where the lines of source stand that nodes come from, unless all text ends before."""


class Page:
    """Lines, each perhaps with the line of source that it comes from, written in a column of their own."""

    def __init__(self, *, locations: bool) -> None:
        self.locations = locations
        self.origin: str | None = None
        self.lines: list[tuple[str, str]] = []

    def add(self, text: str, location: Location | None = None) -> None:
        self.lines.append((text, self.at(location)))

    def at(self, location: Location | None) -> str:
        if location is None or not self.locations:
            return ""
        if self.origin is None:
            self.origin = location.file
        return f"at {location.line}" if location.file == self.origin else f"at {quoted(location.file)}:{location.line}"

    def __str__(self) -> str:
        column = min(max((len(text) for text, at in self.lines if at), default=0), _WIDEST)
        lines = [f"{text:{column}}  {at}" if at else text for text, at in self.lines]
        if self.origin is not None:
            lines.insert(0, f"from {quoted(self.origin)}")
        return "\n".join([*lines, ""])


def named(word: str) -> str:
    """A name, if it is one; raises Usage where the text form cannot write it."""
    if not word.isidentifier() or word in LITERALS:
        raise Usage("the text form cannot write this name", got=repr(word), required="a name as in Python")
    return word


def typed(name: str, type_: Type) -> str:
    return f"{named(name)}: {written(type_)}"


def written(type_: Type) -> str:
    """A type; raises Usage where it is that of handles of handles, which has no form."""
    if isinstance(type_.dtype, HandleType):
        admit_element(type_.dtype.element)
    return str(type_)


def arrow(types: Sequence[Type]) -> str:
    return f" -> {', '.join(map(written, types))}" if types else " -> ()"


def attributes(given: Iterable[tuple[str, object]]) -> list[str]:
    return [f"{named(name)}={_attribute(name, value)}" for name, value in given]


def _attribute(name: str, value: object) -> str:
    if not is_attribute(name, value):
        raise Usage("the text form cannot write this attribute", got=repr(value), required=ATTRIBUTES)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return str(list(value))
    if value is None:
        return "none"
    return repr(value) if isinstance(value, DType) else written(value) if isinstance(value, Type) else show(value)


def quoted(text: str) -> str:
    """A text in double quotes; what UTF-8 cannot write, with escapes.

    >>> print(quoted('say "no"'))
    "say \\"no\\""
    """
    written = json.dumps(text, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return written


def unwritable(what: str, got: object) -> Usage:
    return Usage(f"the text form cannot write {what}", got=got)
