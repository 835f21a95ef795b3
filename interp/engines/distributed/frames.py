"""Frames: batches on a stream of bytes, each with the rank of its receiver and its length before it."""

from __future__ import annotations

import socket
import struct

from .packing import Buffer, Packed

_HEADER = struct.Struct("<iQ")
_READ_BYTES = 2**18
_MAX_READS = 64
"""The most reads at a time, 16 MiB in all: between them, a reader does other things."""


def frame(receiver: int, batch: Packed) -> tuple[Buffer, ...]:
    """A batch as a frame, in buffers.

    >>> b"".join(frame(-1, [b"bat", b"ch"]))[-5:]
    b'batch'
    """
    header = _HEADER.pack(receiver, sum(map(len, batch)))
    return (header + bytes(batch[0]), *batch[1:]) if batch and len(batch[0]) <= _READ_BYTES else (header, *batch)


def split_frames(data: bytes | bytearray) -> tuple[list[tuple[int, bytes]], int]:
    """The frames that are complete, as receiver and batch, and where the last one ends.

    >>> split_frames(b"".join([*frame(-1, [b"batch"]), *frame(2, []), b"rest"]))
    ([(-1, b'batch'), (2, b'')], 29)
    """
    frames = []
    start, size = 0, _HEADER.size
    while len(data) >= start + size:
        receiver, length = _HEADER.unpack_from(data, start)
        end = start + size + length
        if len(data) < end:
            break
        with memoryview(data) as view:
            frames.append((receiver, bytes(view[start + size : end])))
        start = end
    return frames, start


class FrameReader:
    """Reads frames from a socket that does not block."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def read(self) -> tuple[list[tuple[int, bytes]], bool]:
        """The frames that have arrived completely, as receiver and batch, and whether the other end is still open."""
        is_open = True
        try:
            for _ in range(_MAX_READS):
                data = self._connection.recv(_READ_BYTES)
                if not data:
                    is_open = False
                    break
                self._buffer += data
        except BlockingIOError:
            pass
        except ConnectionError:
            is_open = False
        frames, end = split_frames(self._buffer)
        del self._buffer[:end]
        return frames, is_open
