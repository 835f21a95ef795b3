"""Reading the small parts: names, types, literals, strings, attributes, sites and source locations."""

from __future__ import annotations

import difflib
import json
import re

from .. import dtypes
from ..dtypes import DType
from ..errors import Malformed
from ..ops.attribute import TYPE_ATTRIBUTES
from ..ops.op import wrap
from ..program.program import DocumentLocation, Location
from ..tag import ENVIRONMENT
from ..tag import Site as SiteOf
from ..types import MAX_AXES, Type, handle_type
from ..value import Literal
from .fault import SyntaxFault
from .literals import parse_literal
from .syntax import AttributeSyntax, LiteralSyntax, LocationSyntax, SiteSyntax, SourceFileSyntax, SyntaxToken

LITERAL_WORDS = ("true", "false", "nan", "inf")
"""Words that are literals, and so no names."""
ATTRIBUTE_KINDS = "a dtype, a type, a text, sizes, true, false or none, an int64, or a float64 that is no nan"


_INTEGER_PATTERN = re.compile("[+-]?[0-9]{1,18}")


def read_name(word: SyntaxToken) -> str:
    """An identifier."""
    if word.text in LITERAL_WORDS:
        raise SyntaxFault(f"{word.text} is a literal, and no name", word.position)
    if not word.text.isidentifier():
        raise SyntaxFault(f"{word.text!r} is no name", word.position, required="letters, digits and _, as in Python")
    return word.text


def read_qualified_name(word: SyntaxToken, owner: str) -> tuple[str, str]:
    """The function and the name in `fib.loop.i`; a name without a dot belongs to `owner`."""
    if not all(part.isidentifier() and part not in LITERAL_WORDS for part in word.text.split(".")):
        raise SyntaxFault(f"{word.text!r} is no name", word.position, required="names with dots between them")
    function, dot, rest = word.text.partition(".")
    return (function, rest) if dot else (owner, function)


def read_type(word: SyntaxToken) -> Type:
    """A type: `float64[3, ?]`, `cells[float64]`."""
    head, bracket, rest = word.text.partition("[")
    if head.strip() == "cells":
        return _read_handle_type(rest.removesuffix("]").strip(), word)
    dtype = dtypes.BY_NAME.get(head.strip())
    if dtype is None:
        usual = {"int": "int64", "float": "float64", "double": "float64", "boolean": "bool", "cell": "cells[...]"}
        close = [usual.get(head.strip(), ""), *difflib.get_close_matches(head.strip(), dtypes.BY_NAME, 1, 0.5)]
        close = list(filter(None, close))
        hint = f"do you mean {close[0]}?" if close else None
        raise SyntaxFault(
            f"there is no dtype {head.strip()!r}", word.position, required=", ".join(dtypes.BY_NAME), hint=hint
        )
    if not bracket:
        return Type(dtype)
    inside = rest.removesuffix("]").strip()
    if inside == "...":
        return Type(dtype, None)
    sizes = [size.strip() for size in inside.split(",")] if inside else []
    if len(sizes) > MAX_AXES:
        raise SyntaxFault("too many sizes", word.position, required=f"{MAX_AXES} at most", got=len(sizes))
    if not all(size == "?" or _is_size(size) for size in sizes):
        wanted = "sizes, ? for one that is not known, or ... for an unknown shape"
        raise SyntaxFault(f"{word.text!r} is no type", word.position, required=wanted)
    return Type(dtype, tuple(None if size == "?" else int(size) for size in sizes))


def _is_size(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 20 and int(word) < 2**63


def _read_handle_type(element: str, word: SyntaxToken) -> Type:
    """The type `cells[...]`, from the text in its brackets."""
    required = "the type of a number or an array in the brackets, as in cells[float64]"
    if not element or element.partition("[")[0].strip() == "cells":
        raise SyntaxFault("a handle says what its cells hold", word.position, required=required, got=word.text)
    return handle_type(read_type(SyntaxToken(element, word.position)))


def read_literal(written: LiteralSyntax) -> Literal:
    """A literal, with the type that it has in writing."""
    try:
        return parse_literal(written.text)
    except Malformed as error:
        raise SyntaxFault(error.message, written.position, required=error.required, hint=error.hint) from None


def read_string(word: SyntaxToken) -> str:
    """The text of a string in double quotes, with the escapes of JSON."""
    try:
        return str(json.loads(word.text, strict=False))
    except ValueError:
        hint = r"escapes are \" \\ \n \t and \u00e9"
        raise SyntaxFault("this text has an escape that does not exist", word.position, hint=hint) from None


def read_attribute(given: AttributeSyntax) -> tuple[str, object]:
    """A static attribute: a dtype, a type, a shape, a string, or the plain value of a literal."""
    key, value = read_name(given.name), given.value
    if key in TYPE_ATTRIBUTES and isinstance(value, SyntaxToken) and not value.text.startswith('"'):
        return key, read_type(value)
    if isinstance(value, LiteralSyntax) and value.text.startswith("["):
        return key, _read_sizes(value)
    if isinstance(value, LiteralSyntax):
        plain = read_literal(value).value
        if not is_writable_attribute(key, plain):
            raise SyntaxFault("this is no attribute", value.position, required=ATTRIBUTE_KINDS)
        return key, plain
    if value.text.startswith('"'):
        return key, read_string(value)
    if value.text == "none":
        return key, None
    if value.text not in dtypes.BY_NAME:
        raise SyntaxFault(f"{value.text!r} is no dtype", value.position, required=", ".join(dtypes.BY_NAME))
    return key, dtypes.BY_NAME[value.text]


def _read_sizes(written: LiteralSyntax) -> tuple[int, ...]:
    """Integers in brackets, as in `[2, 3]`: the sizes of a shape, or axes."""
    sizes = [size.strip() for size in written.text[1:-1].split(",")] if written.text[1:-1].strip() else []
    if not all(_INTEGER_PATTERN.fullmatch(size) for size in sizes):
        raise SyntaxFault("this is no attribute", written.position, required="integers in brackets, as in shape=[2, 3]")
    return tuple(map(int, sizes))


def is_writable_attribute(name: str, value: object) -> bool:
    """Whether the text form can write this value for an attribute of this name.

    Attributes are compared with `==`, so a NaN or an array would equal nothing. `int64` is a type or a dtype, depending
    on the attribute's name.
    """
    if isinstance(value, tuple):
        return all(type(size) is int and -(10**18) < size < 10**18 for size in value)
    if type(value) is int:
        return wrap(value) == value
    if isinstance(value, Type | DType):
        return isinstance(value, Type) == (name in TYPE_ATTRIBUTES)
    if value is None:
        return name not in TYPE_ATTRIBUTES
    return value == value if type(value) is float else isinstance(value, bool | str)


def read_site(given: SiteSyntax, kind: str | None, owner: str) -> SiteOf | None:
    """The site in brackets; `kind` is that of the op, if it has one."""
    if given.name is None:
        return None
    if given.name.text == "@":
        return ENVIRONMENT
    function, rest = read_qualified_name(given.name, owner)
    match given.kind.text if given.kind else kind:
        case "call":
            return SiteOf(function, rest, "call")
        case "loop":
            return SiteOf(function, rest, "loop")
    raise SyntaxFault("this op has no sites", given.name.position, hint="say the kind: [call f.g] or [loop f.g]")


class LocationResolver:
    """Finds the source line of each node: from `from` and `at`, or else the line in the text itself, if it is a
    file."""

    def __init__(self, file: str | None) -> None:
        self.text_file = file
        self.source_file: str | None = None

    def enter_source_file(self, statement: SourceFileSyntax) -> None:
        self.source_file = read_string(statement.file)

    def resolve(self, at: LocationSyntax | None, line: int) -> Location | None:
        if at is None:
            return DocumentLocation(self.text_file, line, self.text_file) if self.text_file is not None else None
        origin = read_string(at.file) if at.file else self.source_file
        if origin is None:
            hint = 'say it before, as in from "fib.py", or here: at "fib.py":12'
            raise SyntaxFault("a line of which file?", at.position, hint=hint)
        return DocumentLocation(origin, at.line, self.text_file)
