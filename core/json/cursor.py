"""Reading untrusted JSON: text becomes plain data, and a cursor walks the data and knows its path.

This module has what all documents share: which JSON is accepted, how it is read, and the errors for other data. Data of
the wrong form is Malformed, with its path; no content of a document is ever executed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, TypeVar

from ..errors import Malformed, TagloomError, Usage
from ..program.program import MAX_NESTING

T = TypeVar("T")
FORM_VERSION = 1
"""The version of every kind of document."""
_NAME_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
INT64_BOUND = 2**63
"""Integers in documents (node numbers, sizes, lines) are below this, and at least its negative."""
MAX_DEPTH = 4 * MAX_NESTING + 20
"""The maximal nesting of objects and lists: four per region of a program, and some around and inside."""


class _DuplicateKey(NamedTuple):
    """Stands for an object that has a key twice."""

    key: str


class _NonJsonNumber(NamedTuple):
    """Stands for NaN or Infinity, which Python's parser accepts although JSON has neither."""

    text: str


def parse_json(text: str | bytes, path: str = "$") -> object:
    """The plain data of a JSON text; raises Malformed where it is not JSON.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_build_object, parse_constant=_NonJsonNumber)
    except UnicodeDecodeError as error:
        raise Malformed(
            "this is not JSON", where=path, required="UTF-8", got=f"{error.reason} at {error.start}"
        ) from None
    except json.JSONDecodeError as error:
        got = f"{error.msg}, in line {error.lineno}, column {error.colno}"
        raise Malformed("this is not JSON", where=path, got=got) from None
    except ValueError:
        raise Malformed("this JSON cannot be a document", where=path, got="an integer of thousands of digits") from None
    except RecursionError:
        raise Malformed("this JSON cannot be a document", where=path, got="lists and objects nested too deep") from None


def _build_object(pairs: list[tuple[str, object]]) -> object:
    mapping = dict(pairs)
    if len(mapping) == len(pairs):
        return mapping
    keys: set[str] = set()
    return _DuplicateKey(next(key for key, _ in pairs if key in keys or keys.add(key)))  # type: ignore[func-returns-value]


@dataclass(frozen=True, slots=True)
class JsonCursor:
    """A position in a document: the data there, and the path to it.

    >>> JsonCursor({"n": [1, True]}).fields("n")[0].entries()[1].integer()
    Traceback (most recent call last):
    ...
    tagloom.core.errors.Malformed: the document does not fit its form ($.n[1])
      required: an integer
      got: true
    """

    data: object
    path: str = "$"
    depth: int = 0
    file: str | None = None
    """The document's file, if it has one."""

    def refuse(self, required: object, got: str | None = None, hint: str | None = None) -> NoReturn:
        """Raise Malformed, with the requirement."""
        message = "the document does not fit its form"
        raise Malformed(message, where=self.path, required=required, got=got or describe_json(self.data), hint=hint)

    def fields(self, *names: str, optional: Iterable[str] = ()) -> tuple[JsonCursor, ...]:
        """The values under these keys of an object, which must have them all, and no others except `optional` ones."""
        data = self.mapping()
        allowed = {*names, *optional}
        for name in names:
            if name not in data:
                self.refuse(f"the key {name}", f"an object without it: {describe_json(data)}")
        for name in data:
            if name not in allowed:
                self.refuse(f"no keys but {', '.join([*names, *optional])}", f"the key {describe_json(name)}")
        return tuple(self._child(data[name], f".{name}") for name in names)

    def mapping(self) -> dict[str, object]:
        if type(self.data) is not dict:
            self.refuse("an object")
        return self.data

    def has_key(self, name: str) -> bool:
        return name in self.mapping()

    def value_at(self, name: str) -> JsonCursor:
        return self._child(self.mapping()[name], f".{name}")

    def items(self) -> list[tuple[str, JsonCursor]]:
        """The keys and values of an object that may have any keys."""
        return [
            (JsonCursor(key, f"{self.path}, a key").text(), self._child(value, f"[{describe_json(key)}]"))
            for key, value in self.mapping().items()
        ]

    def raw_list(self) -> list[object]:
        """A list, its entries unchecked."""
        if type(self.data) is not list:
            self.refuse("a list")
        return self.data

    def entries(self) -> list[JsonCursor]:
        return [self.entry(number) for number in range(len(self.raw_list()))]

    def entry(self, number: int) -> JsonCursor:
        return self._child(self.raw_list()[number], f"[{number}]")

    def fixed_list(self, *names: str) -> tuple[JsonCursor, ...]:
        """The entries of a list with one entry per name; the names describe them in messages."""
        entries = self.entries()
        if len(entries) != len(names):
            self.refuse(f"a list of {', '.join(names)}", f"a list of {len(entries)}")
        return tuple(entries)

    def map_entries(self, read: Callable[[JsonCursor], T]) -> tuple[T, ...]:
        return tuple(read(item) for item in self.entries())

    def optional(self, read: Callable[[JsonCursor], T]) -> T | None:
        return None if self.data is None else read(self)

    def text(self) -> str:
        if type(self.data) is not str:
            self.refuse("a string")
        if not self.data.isascii() and any("\ud800" <= letter <= "\udfff" for letter in self.data):
            self.refuse("a string of Unicode", "one with half a surrogate pair")
        return self.data

    def name(self) -> str:
        """A name, which is a text without the control characters of terminals, so that it stays on its line."""
        text = self.text()
        if not text.isprintable() and _NAME_CONTROL.search(text):
            self.refuse("a name without control characters")
        return text

    def one_of(self, words: Iterable[str]) -> str:
        if type(self.data) is not str or self.data not in words:
            self.refuse(f"one of {', '.join(words)}")
        return self.data

    def boolean(self) -> bool:
        if type(self.data) is not bool:
            self.refuse("true or false")
        return self.data

    def integer(self, minimum: int = -INT64_BOUND) -> int:
        """An integer of at most 64 bits, at least `minimum`; `true` and 1.0 do not count."""
        if type(self.data) is not int or not minimum <= self.data < INT64_BOUND:
            wide = type(self.data) is int and not -INT64_BOUND <= self.data < INT64_BOUND
            size = " of at most 64 bits" if wide else ""
            self.refuse(f"an integer{size}" if minimum == -INT64_BOUND else f"an integer{size} from {minimum} up")
        return self.data

    def number(self) -> float:
        """A finite number; integers count."""
        try:
            if type(self.data) in (int, float) and math.isfinite(number := float(self.data)):  # type: ignore[arg-type]
                return number
        except OverflowError:
            pass
        return self.refuse("a number, within the range of float64")

    def _child(self, data: object, step: str) -> JsonCursor:
        if self.depth >= MAX_DEPTH:
            self.refuse(f"at most {MAX_DEPTH} objects and lists inside each other", "more")
        return JsonCursor(data, self.path + step, self.depth + 1, self.file)


def read_natural(cursor: JsonCursor) -> int:
    """An integer of at least 0."""
    return cursor.integer(0)


def describe_json(data: object) -> str:
    """A short description of JSON data for messages.

    >>> [describe_json(data) for data in ({"a": 1, "b": 2}, [1, 2], None, 2**70)]
    ['an object of a, b', 'a list of 2', 'null', 'an integer of 71 bits']
    >>> describe_json("x" * 99)[:9]
    '"xxxxxxxx'
    """
    match data:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[data]
        case str():
            return json.dumps(data if len(data) <= 60 else f"{data[:60]}...")
        case int():
            return str(data) if data.bit_length() <= 64 else f"an integer of {data.bit_length():,} bits"
        case float():
            return repr(data)
        case dict():
            keys = [str(key)[:20] for key in list(data)[:6]]
            return f"an object of {', '.join(keys)}{', ...' * (len(data) > 6)}" if keys else "an empty object"
        case _DuplicateKey(key):
            return f"an object that has the key {describe_json(key)} twice"
        case _NonJsonNumber(text):
            return f"{text}, which JSON does not have"
        case list():
            return f"a list of {len(data)}"
    return f"a Python {type(data).__name__}"


def document_header(form: str, **content: object) -> dict[str, object]:
    """A document of this form, with its header."""
    return {"tagloom": form, "version": FORM_VERSION, **content}


def read_form(cursor: JsonCursor, forms: Iterable[str]) -> str:
    """The form that a document declares, one of `forms`; raises Malformed for another form or another version."""
    cursor.mapping()
    if not cursor.has_key("tagloom"):
        cursor.refuse(f'the key tagloom, as in "tagloom": "{next(iter(forms))}"')
    form = cursor.value_at("tagloom").one_of(forms)
    if not cursor.has_key("version"):
        cursor.refuse("the key version")
    version = cursor.value_at("version")
    if type(version.data) is not int or version.data != FORM_VERSION:
        version.refuse(f"version {FORM_VERSION}", hint="another version of tagloom reads it")
    return form


def validate_name(text: str) -> str:
    """The text, if a document may contain it as a name; raises Usage otherwise."""
    return validate_text(text, JsonCursor.name)


def validate_text(text: str, read: Callable[[JsonCursor], str] = JsonCursor.text) -> str:
    """The text, if a document may contain it; raises Usage otherwise."""
    try:
        read(JsonCursor(text))
    except TagloomError as error:
        raise Usage("this text cannot be written as JSON", required=error.required, got=ascii(text)[:80]) from None
    return text
