"""Reading the small things: names, types, literals, texts, and the lines that nodes come from."""

from __future__ import annotations

import difflib
import json
import re

from .. import dtypes
from ..dtypes import DType
from ..errors import Malformed
from ..ops.attribute import TYPED
from ..ops.op import wrap
from ..program.program import Location, Quoted
from ..tag import ENVIRONMENT
from ..tag import Site as SiteOf
from ..types import MOST_AXES, Type, handle_type
from ..value import Literal
from .fault import Fault
from .literals import parse_literal
from .syntax import At, Attribute, From, Site, Word, Written

LITERALS = ("true", "false", "nan", "inf")
"""Words that mean values, and name none."""
ATTRIBUTES = "a dtype, a type, a text, sizes, true, false or none, an int64, or a float64 that is no nan"


_INTEGER = re.compile("[+-]?[0-9]{1,18}")


def name(word: Word) -> str:
    """An identifier."""
    if word.text in LITERALS:
        raise Fault(f"{word.text} is a literal, and no name", word.spot)
    if not word.text.isidentifier():
        raise Fault(f"{word.text!r} is no name", word.spot, required="letters, digits and _, as in Python")
    return word.text


def dotted(word: Word, owner: str) -> tuple[str, str]:
    """The function and the name in `fib.loop.i`; a name without a dot stands in `owner`."""
    if not all(part.isidentifier() and part not in LITERALS for part in word.text.split(".")):
        raise Fault(f"{word.text!r} is no name", word.spot, required="names with dots between them")
    function, dot, rest = word.text.partition(".")
    return (function, rest) if dot else (owner, function)


def type_(word: Word) -> Type:
    """A type as written: `float64[3, ?]`, `cells[float64]`."""
    head, bracket, rest = word.text.partition("[")
    if head.strip() == "cells":
        return _handle(rest.removesuffix("]").strip(), word)
    dtype = dtypes.BY_NAME.get(head.strip())
    if dtype is None:
        usual = {"int": "int64", "float": "float64", "double": "float64", "boolean": "bool", "cell": "cells[...]"}
        close = [usual.get(head.strip(), ""), *difflib.get_close_matches(head.strip(), dtypes.BY_NAME, 1, 0.5)]
        close = list(filter(None, close))
        hint = f"do you mean {close[0]}?" if close else None
        raise Fault(f"there is no dtype {head.strip()!r}", word.spot, required=", ".join(dtypes.BY_NAME), hint=hint)
    if not bracket:
        return Type(dtype)
    inside = rest.removesuffix("]").strip()
    if inside == "...":
        return Type(dtype, None)
    sizes = [size.strip() for size in inside.split(",")] if inside else []
    if len(sizes) > MOST_AXES:
        raise Fault("too many sizes", word.spot, required=f"{MOST_AXES} at most", got=len(sizes))
    if not all(size == "?" or _is_size(size) for size in sizes):
        wanted = "sizes, ? for one that is not known, or ... for an unknown shape"
        raise Fault(f"{word.text!r} is no type", word.spot, required=wanted)
    return Type(dtype, tuple(None if size == "?" else int(size) for size in sizes))


def _is_size(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 20 and int(word) < 2**63


def _handle(element: str, word: Word) -> Type:
    """`cells[...]`, by what stands in the brackets."""
    required = "the type of a number or an array in the brackets, as in cells[float64]"
    if not element or element.partition("[")[0].strip() == "cells":
        raise Fault("a handle says what its cells hold", word.spot, required=required, got=word.text)
    return handle_type(type_(Word(element, word.spot)))


def literal(written: Written) -> Literal:
    """A literal with the type that it says."""
    try:
        return parse_literal(written.text)
    except Malformed as error:
        raise Fault(error.message, written.spot, required=error.required, hint=error.hint) from None


def text(word: Word) -> str:
    """What stands in double quotes, with the escapes of JSON."""
    try:
        return str(json.loads(word.text, strict=False))
    except ValueError:
        hint = r"escapes are \" \\ \n \t and \u00e9"
        raise Fault("this text has an escape that does not exist", word.spot, hint=hint) from None


def attribute(given: Attribute) -> tuple[str, object]:
    """A static attribute: a dtype, a type, a shape, a text, or the plain value of a literal."""
    key, value = name(given.name), given.value
    if key in TYPED and isinstance(value, Word) and not value.text.startswith('"'):
        return key, type_(value)
    if isinstance(value, Written) and value.text.startswith("["):
        return key, _sizes(value)
    if isinstance(value, Written):
        plain = literal(value).value
        if not is_attribute(key, plain):
            raise Fault("this is no attribute", value.spot, required=ATTRIBUTES)
        return key, plain
    if value.text.startswith('"'):
        return key, text(value)
    if value.text == "none":
        return key, None
    if value.text not in dtypes.BY_NAME:
        raise Fault(f"{value.text!r} is no dtype", value.spot, required=", ".join(dtypes.BY_NAME))
    return key, dtypes.BY_NAME[value.text]


def _sizes(written: Written) -> tuple[int, ...]:
    """Integers in brackets, as in `[2, 3]`: the sizes of a shape, or axes."""
    sizes = [size.strip() for size in written.text[1:-1].split(",")] if written.text[1:-1].strip() else []
    if not all(_INTEGER.fullmatch(size) for size in sizes):
        raise Fault("this is no attribute", written.spot, required="integers in brackets, as in shape=[2, 3]")
    return tuple(map(int, sizes))


def is_attribute(name: str, value: object) -> bool:
    """Whether a value can be an attribute of this name in the text form: attributes are compared with `==`, and a nan
    or an array would equal nothing; `int64` is a type or a dtype by the attribute's name."""
    if isinstance(value, tuple):
        return all(type(size) is int and -(10**18) < size < 10**18 for size in value)
    if type(value) is int:
        return wrap(value) == value
    if isinstance(value, Type | DType):
        return isinstance(value, Type) == (name in TYPED)
    if value is None:
        return name not in TYPED
    return value == value if type(value) is float else isinstance(value, bool | str)


def site(given: Site, kind: str | None, owner: str) -> SiteOf | None:
    """The site in brackets; `kind` is that of the op, where it has one."""
    if given.name is None:
        return None
    if given.name.text == "@":
        return ENVIRONMENT
    function, rest = dotted(given.name, owner)
    match given.kind.text if given.kind else kind:
        case "call":
            return SiteOf(function, rest, "call")
        case "loop":
            return SiteOf(function, rest, "loop")
    raise Fault("this op has no sites", given.name.spot, hint="say the kind: [call f.g] or [loop f.g]")


class Lines:
    """Which line of which file a node comes from: as `from` and `at` say, else the line of the text itself, where it
    is a file's."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.origin: str | None = None

    def enter(self, statement: From) -> None:
        self.origin = text(statement.file)

    def at(self, at: At | None, line: int) -> Location | None:
        if at is None:
            return Quoted(self.file, line, self.file) if self.file is not None else None
        origin = text(at.file) if at.file else self.origin
        if origin is None:
            hint = 'say it before, as in from "fib.py", or here: at "fib.py":12'
            raise Fault("a line of which file?", at.spot, hint=hint)
        return Quoted(origin, at.line, self.file)
