"""Checkpoints of TensorFlow: an index, and files of bytes that contain the arrays. The index has the position of each
array by key, as a table in LevelDB's format, without compression."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import Malformed, Usage
from ....core.files import path_errors
from .messages import Message
from .tensors import DTYPES, element_count, read_shape
from .wire import parse_message, read_varint

MAGIC = 0xDB4775248B80FB57
"""The last eight bytes of a table."""
FOOTER_BYTES = 48
TRAILER_BYTES = 5
"""The size of the trailer of a block: its kind of compression (1 byte), and a checksum (4 bytes)."""
MAX_INDEX_BYTES = 2**28


def read_checkpoint(prefix: Path) -> Mapping[str, Any]:
    """The arrays of a checkpoint by key, except those of dtypes that tagloom lacks. `prefix` is its path without the
    suffix .index. Raises Usage if a file cannot be read, Malformed if one is damaged."""
    index = prefix.with_name(f"{prefix.name}.index")
    with path_errors(index, "this checkpoint cannot be read"):
        if not index.is_file() or index.stat().st_size > MAX_INDEX_BYTES:
            raise Usage("this checkpoint cannot be read", required="its index", got=index)
        content = index.read_bytes()
    try:
        entries = dict(table_entries(content))
        header = parse_message(entries.pop(b"", b""), "BundleHeaderProto")
        if header.endianness != 0:
            raise Usage("this checkpoint was written by a machine of the other byte order")
        return {
            key.decode(): read_entry(prefix, header.num_shards, parse_message(value, "BundleEntryProto"))
            for key, value in entries.items()
            if parse_message(value, "BundleEntryProto").dtype in DTYPES
        }
    except (IndexError, struct.error, UnicodeDecodeError):
        raise Malformed("this checkpoint is damaged", where=index.name) from None


def table_entries(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a table."""
    if len(content) < FOOTER_BYTES or struct.unpack("<Q", content[-8:])[0] != MAGIC:
        raise Malformed("this is not the index of a checkpoint", required="a table of LevelDB")
    footer = memoryview(content)[-FOOTER_BYTES:]
    _, position = read_varint(footer, 0)
    _, position = read_varint(footer, position)
    offset, position = read_varint(footer, position)
    size, position = read_varint(footer, position)
    for _, block_handle in block_entries(content, offset, size):
        view = memoryview(block_handle)
        first, position = read_varint(view, 0)
        length, _ = read_varint(view, position)
        yield from block_entries(content, first, length)


def block_entries(content: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a block. It stores each key without the first bytes that it shares with the key before."""
    if offset + size + TRAILER_BYTES > len(content) or content[offset + size] != 0:
        raise Malformed("this index of a checkpoint is damaged", required="blocks without compression in the file")
    block = memoryview(content)[offset : offset + size]
    restart_count = struct.unpack("<I", block[-4:])[0]
    end, position, key = size - 4 - 4 * restart_count, 0, b""
    while position < end:
        shared, position = read_varint(block, position)
        suffix_size, position = read_varint(block, position)
        length, position = read_varint(block, position)
        if shared > len(key) or position + suffix_size + length > end:
            raise Malformed("this index of a checkpoint is damaged", got=f"an entry at byte {offset + position}")
        key = key[:shared] + bytes(block[position : position + suffix_size])
        position += suffix_size
        yield key, bytes(block[position : position + length])
        position += length


def read_entry(prefix: Path, shard_count: int, entry: Message) -> Any:
    """The array that an entry describes."""
    dtype = DTYPES[entry.dtype].numpy
    shape = read_shape(entry.shape)
    if shape is None or None in shape or not 0 <= entry.shard_id < max(shard_count, 1):
        raise Malformed("this index of a checkpoint is damaged", got="an array without a position")
    sizes = tuple(size or 0 for size in shape)
    path = prefix.with_name(f"{prefix.name}.data-{entry.shard_id:05d}-of-{shard_count:05d}")
    with path_errors(path, "this checkpoint cannot be read"):
        available = path.stat().st_size if path.is_file() else 0
        byte_count = element_count(sizes) * dtype.itemsize
        if entry.size != byte_count or entry.offset < 0 or entry.offset + byte_count > available:
            raise Malformed("this checkpoint is damaged", where=path.name, required=f"{byte_count:,} bytes of an array",
                            got=f"a file of {available:,}")  # fmt: skip
        with path.open("rb") as file:
            file.seek(entry.offset)
            return np.frombuffer(file.read(byte_count), dtype).reshape(sizes)
