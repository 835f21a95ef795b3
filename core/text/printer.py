"""What the printers share: names, types and strings, and a writer of lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..dtypes import DType
from ..errors import Usage
from ..program.program import Location
from ..types import HandleType, Type, check_element_type
from ..value import format_value
from .atoms import ATTRIBUTE_KINDS, LITERAL_WORDS, is_writable_attribute

_MAX_LOCATION_COLUMN = 72
"""The column of source locations, unless all lines are shorter."""


class TextWriter:
    """Lines, each with an optional source location, which are aligned in one column."""

    def __init__(self, *, locations: bool) -> None:
        self.with_locations = locations
        self.source_file: str | None = None
        self.lines: list[tuple[str, str]] = []

    def add_line(self, text: str, location: Location | None = None) -> None:
        self.lines.append((text, self.format_location(location)))

    def format_location(self, location: Location | None) -> str:
        if location is None or not self.with_locations:
            return ""
        if self.source_file is None:
            self.source_file = location.file
        return (
            f"at {location.line}"
            if location.file == self.source_file
            else f"at {quote_string(location.file)}:{location.line}"
        )

    def __str__(self) -> str:
        column = min(max((len(text) for text, at in self.lines if at), default=0), _MAX_LOCATION_COLUMN)
        lines = [f"{text:{column}}  {at}" if at else text for text, at in self.lines]
        if self.source_file is not None:
            lines.insert(0, f"from {quote_string(self.source_file)}")
        return "\n".join([*lines, ""])


def format_name(word: str) -> str:
    """The name, if it is an identifier; raises Usage where the text form cannot write it."""
    if not word.isidentifier() or word in LITERAL_WORDS:
        raise Usage("the text form cannot write this name", got=repr(word), required="a name as in Python")
    return word


def format_typed_name(name: str, type_: Type) -> str:
    return f"{format_name(name)}: {format_type(type_)}"


def format_type(type_: Type) -> str:
    """A type; raises Usage for handles of handles, which the text form cannot write."""
    if isinstance(type_.dtype, HandleType):
        check_element_type(type_.dtype.element)
    return str(type_)


def format_result_types(types: Sequence[Type]) -> str:
    return f" -> {', '.join(map(format_type, types))}" if types else " -> ()"


def format_attributes(given: Iterable[tuple[str, object]]) -> list[str]:
    return [f"{format_name(name)}={_format_attribute_value(name, value)}" for name, value in given]


def _format_attribute_value(name: str, value: object) -> str:
    if not is_writable_attribute(name, value):
        raise Usage("the text form cannot write this attribute", got=repr(value), required=ATTRIBUTE_KINDS)
    if isinstance(value, str):
        return quote_string(value)
    if isinstance(value, tuple):
        return str(list(value))
    if value is None:
        return "none"
    return (
        repr(value)
        if isinstance(value, DType)
        else format_type(value)
        if isinstance(value, Type)
        else format_value(value)
    )


def quote_string(text: str) -> str:
    """A string in double quotes; escaped throughout if UTF-8 cannot encode it.

    >>> print(quote_string('say "no"'))
    "say \\"no\\""
    """
    written = json.dumps(text, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return written


def unwritable_error(what: str, got: object) -> Usage:
    return Usage(f"the text form cannot write {what}", got=got)
