"""The reader of protobuf's text format (.pbtxt)."""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from ....core.errors import Malformed
from .messages import DATA_TYPES, SCALARS, Message, MessageField
from .wire import MAX_DEPTH

TOKEN = re.compile(
    r"""(?:[\s,;]|\#[^\n]*)*(?:(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>[-+]?[\w./]+)|(?P<mark>[:{}<>\[\]])|(?P<end>$))"""
)
"""Words are names and numbers."""
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
TYPES_BY_NAME = {f"DT_{name}": number for number, name in DATA_TYPES.items()} | {
    f"DT_{name}_REF": number + 100 for number, name in DATA_TYPES.items()
}


def parse_text(text: str, name: str) -> Message:
    """The message of this name in a text; raises Malformed, with the line, if the text does not describe one."""
    reader = TextReader(text)
    return reader.message(name, None, 0)


class TextReader:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.kind, self.token = "", ""
        self.advance()

    def fail(self, required: str) -> NoReturn:
        """Raise Malformed for the current token."""
        line = self.text.count("\n", 0, self.position) + 1
        actual = self.token[:40] or "the end of the text"
        raise Malformed("this text of protobuf is damaged", where=f"line {line}", required=required, got=actual)

    def advance(self) -> str:
        """Go to the next token; returns the current one."""
        previous = self.token
        match = TOKEN.match(self.text, self.position)
        if match is None:
            self.token = self.text[self.position : self.position + 40].strip()
            self.fail("a name, a number, a string or a brace")
        self.position = match.end()
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]
        return previous

    def take(self, mark: str) -> bool:
        """Whether the current token is this mark; if so, go to the next one."""
        is_there = self.kind == "mark" and self.token == mark
        if is_there:
            self.advance()
        return is_there

    def message(self, name: str, closing: str | None, depth: int) -> Message:
        """The fields up to a closing mark, or up to the end of the text."""
        if depth > MAX_DEPTH:
            self.fail(f"messages nested at most {MAX_DEPTH} deep")
        result = Message(name)
        while not (self.kind == "end" if closing is None else self.take(closing)):
            field = self.field_name(result)
            has_colon = self.take(":")
            values = self.values(field, has_colon, depth)
            for value in values:
                if field is None:
                    continue
                if field.is_map:
                    result.values.setdefault(field.name, {})[value[0]] = value[1]
                else:
                    result.add(field, value)
        return result

    def field_name(self, message: Message) -> MessageField | None:
        """The field of a message whose name is the current token; None for an unknown one, and for an extension, whose
        name is in brackets."""
        is_extension = self.take("[")
        name = self.advance() if self.kind == "word" else self.fail("the name of a field")
        if is_extension and not self.take("]"):
            self.fail("a closing bracket")
        return None if is_extension else message.schema.fields.get(name)

    def values(self, field: MessageField | None, has_colon: bool, depth: int) -> list[Any]:
        """The values of a field: one, or several in brackets."""
        if self.take("["):
            values = []
            while not self.take("]"):
                values.append(self.value(field, True, depth))
            return values
        return [self.value(field, has_colon, depth)]

    def value(self, field: MessageField | None, has_colon: bool, depth: int) -> Any:
        """A value of a field; the value of an unknown field is skipped."""
        closing = "}" if self.take("{") else ">" if self.take("<") else None
        if closing is not None:
            if field is None:
                return self.skip_message()
            if field.is_map:
                return self.entry(field, closing, depth + 1)
            if field.kind in SCALARS:
                self.fail(f"a value of field {field.name}")
            return self.message(field.kind, closing, depth + 1)
        if not has_colon or self.kind not in ("string", "word"):
            self.fail("a value")
        if self.kind == "string":
            content = self.string()
            if field is not None and field.kind not in ("string", "bytes"):
                self.fail(f"a value of field {field.name}")
            return content if field is None or field.kind == "bytes" else self.decode(content)
        return self.scalar(field)

    def entry(self, field: MessageField, closing: str, depth: int) -> tuple[str, Any]:
        """A key and its value in a map."""
        key, value = "", SCALARS[field.kind] if field.kind in SCALARS else Message(field.kind)
        fields = {"key": MessageField("key", 1, "string"), "value": MessageField("value", 2, field.kind)}
        while not self.take(closing):
            name = self.advance() if self.kind == "word" else self.fail("the name of a field")
            has_colon = self.take(":")
            content = self.value(fields.get(name), has_colon, depth)
            if name == "key":
                key = content
            elif name == "value":
                value = content
        return key, value

    def skip_message(self) -> None:
        """Skip the fields of an unknown message, up to the mark that closes it."""
        level = 1
        while level:
            if self.kind == "end":
                self.fail("a closing mark")
            if self.kind == "mark":
                level += (self.token in "{<") - (self.token in "}>")
            self.advance()

    def string(self) -> bytes:
        """The bytes of the current string; adjacent strings are joined."""
        parts = []
        while self.kind == "string":
            parts.append(ESCAPE.sub(unescape, self.advance()[1:-1].encode()))
        return b"".join(parts)

    def decode(self, content: bytes) -> str:
        """The text of a string; raises Malformed if it is not UTF-8."""
        try:
            return content.decode()
        except UnicodeDecodeError:
            self.fail("UTF-8")

    def scalar(self, field: MessageField | None) -> Any:
        """A number, a bool or the name of a dtype."""
        word = self.token
        kind = "" if field is None else field.kind
        value: Any = None
        try:
            if kind in ("float", "double", "fixed32", "int", "uint"):
                value = float(word.rstrip("fF") if word[-1:] in "fF" and "inf" not in word else word)
                is_whole = kind in ("fixed32", "int", "uint")
                value = int(word, 0) if is_whole else value
            elif kind == "bool":
                value = {"true": True, "false": False, "1": True, "0": False}[word]
            elif kind == "DataType":
                value = TYPES_BY_NAME[word] if word in TYPES_BY_NAME else int(word)
            elif field is not None:
                raise ValueError(word)
        except (ValueError, KeyError):
            self.fail(f"a value of field {field.name if field else ''}")
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            self.fail("a number of 64 bits")
        self.advance()
        return math.copysign(value, -1) if value == 0.0 and word.startswith("-") and kind != "int" else value


def unescape(match: re.Match[bytes]) -> bytes:
    """The byte that an escape sequence stands for."""
    sequence = match[1]
    if sequence[:1] == b"x" and len(sequence) > 1:
        return bytes([int(sequence[1:], 16)])
    if sequence[:1].isdigit():
        return bytes([int(sequence, 8) & 0xFF])
    return LETTERS.get(sequence, sequence)
