"""The reader of protobuf's wire format. It turns bytes into messages, and runs nothing."""

from __future__ import annotations

import struct
from typing import Any

from ....core.errors import Malformed
from .messages import SCALARS, SCHEMAS, Message, MessageField

MAX_DEPTH = 60
"""The maximal nesting of messages."""
MAX_MESSAGES = 2**22
"""The most messages of a file."""
FIXED = {"float": struct.Struct("<f"), "double": struct.Struct("<d"), "fixed32": struct.Struct("<I")}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""The wire types."""


def parse_message(content: bytes, name: str) -> Message:
    """The message of this name that bytes encode; raises Malformed if they encode none."""
    reader = WireReader()
    try:
        return reader.message(memoryview(content), name, 0)
    except (IndexError, struct.error):
        raise Malformed("this file is damaged", required=f"a message {name}", got="its end inside a field") from None


class WireReader:
    """Reads the messages of one file."""

    def __init__(self) -> None:
        self.message_count = 0

    def message(self, content: memoryview, name: str, depth: int) -> Message:
        self.message_count += 1
        if depth > MAX_DEPTH or self.message_count > MAX_MESSAGES:
            raise Malformed("this file is too large", required=f"messages nested at most {MAX_DEPTH} deep, and at most "
                            f"{MAX_MESSAGES:,} of them")  # fmt: skip
        result, fields = Message(name), SCHEMAS[name].by_number
        position = 0
        while position < len(content):
            key, position = read_varint(content, position)
            payload, position = read_payload(content, position, key & 7)
            field = fields.get(key >> 3)
            if field is not None:
                self.read_field(result, field, key & 7, payload, depth)
        return result

    def read_field(self, message: Message, field: MessageField, wire_type: int, payload: Any, depth: int) -> None:
        """Add a value to a field. A value of another wire type is skipped, as in protobuf."""
        if field.is_map:
            if wire_type == BYTES:
                key, value = self.entry(payload, field, depth + 1)
                message.values.setdefault(field.name, {})[key] = value
        elif field.kind not in SCALARS:
            if wire_type == BYTES:
                message.add(field, self.message(payload, field.kind, depth + 1))
        elif field.kind in ("string", "bytes"):
            if wire_type == BYTES:
                message.add(field, as_text(payload) if field.kind == "string" else bytes(payload))
        elif wire_type == BYTES:
            for value in packed_values(payload, field.kind):
                message.add(field, value)
        elif wire_type == wire_type_of(field.kind):
            message.add(field, scalar_value(payload, field.kind))

    def entry(self, content: memoryview, field: MessageField, depth: int) -> tuple[str, Any]:
        """A key and its value in a map."""
        key, value = "", SCALARS[field.kind] if field.kind in SCALARS else Message(field.kind)
        position = 0
        while position < len(content):
            tag, position = read_varint(content, position)
            payload, position = read_payload(content, position, tag & 7)
            if tag == 1 << 3 | BYTES:
                key = as_text(payload)
            elif tag == 2 << 3 | BYTES:
                is_text = field.kind == "string"
                value = as_text(payload) if is_text else self.message(payload, field.kind, depth)
        return key, value


def read_varint(content: memoryview, position: int) -> tuple[int, int]:
    """A varint as an unsigned number of 64 bits, and the position after it."""
    value = shift = 0
    while True:
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift > 63:
            raise Malformed("this file is damaged", required="numbers of at most 10 bytes")


def read_payload(content: memoryview, position: int, wire_type: int) -> tuple[Any, int]:
    """A value in the form of its wire type, and the position after it."""
    if wire_type == VARINT:
        return read_varint(content, position)
    if wire_type == BYTES:
        size, position = read_varint(content, position)
    elif wire_type in (FIXED32, FIXED64):
        size = 4 if wire_type == FIXED32 else 8
    else:
        raise Malformed("this file is damaged", required="a wire type of protobuf", got=wire_type)
    if size > len(content) - position:
        raise IndexError(position)
    return content[position : position + size], position + size


def wire_type_of(kind: str) -> int:
    """The wire type of a number of this kind."""
    return {"float": FIXED32, "double": FIXED64, "fixed32": FIXED32}.get(kind, VARINT)


def scalar_value(payload: Any, kind: str) -> Any:
    """A number of this kind."""
    if kind in FIXED:
        return FIXED[kind].unpack(payload)[0]
    if kind == "bool":
        return bool(payload)
    return payload - 2**64 if kind != "uint" and payload >= 2**63 else payload


def packed_values(content: memoryview, kind: str) -> list[Any]:
    """The numbers of a packed field of this kind."""
    if kind in FIXED:
        return [value for (value,) in FIXED[kind].iter_unpack(content)]
    values, position = [], 0
    while position < len(content):
        value, position = read_varint(content, position)
        values.append(scalar_value(value, kind))
    return values


def as_text(content: memoryview) -> str:
    """A text; raises Malformed if it is not UTF-8."""
    try:
        return bytes(content).decode()
    except UnicodeDecodeError:
        raise Malformed("this file is damaged", required="UTF-8", got=bytes(content[:40])) from None
