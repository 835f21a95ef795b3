"""Calls from peer to peer, over links that may lose, repeat, reorder and delay what they carry.

A call is repeated until its answer comes, so it may be executed several times: whatever is called must have the same
effect when it is called again. A peer has at most one open call to each other peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...engines.distributed.links import Links
from ...engines.distributed.messages import WorkerFailure
from ...engines.distributed.packing import Packed, pack, unpack


class Request(NamedTuple):
    """A call by another peer."""

    sender: int
    number: list[int]
    """The incarnation of the caller, and the number of the call among its calls."""
    name: str
    content: Any


class Reply(NamedTuple):
    """The answer to the open call to a peer."""

    sender: int
    content: Any


class _OpenCall(NamedTuple):
    """A call without an answer. `flushes` is the number of flushes when it was last sent."""

    number: list[int]
    data: Packed
    flushes: int


class RemoteCalls:
    """The calls of one peer. A content is a document that may have arrays (`packing`)."""

    def __init__(self, links: Links, incarnation: int = 0) -> None:
        """`incarnation` is greater than those of all peers that had this rank before."""
        self.links = links
        self._incarnation, self._count, self._flushes = incarnation, 0, 0
        self._open_calls: dict[int, _OpenCall] = {}

    def call(self, peer: int, name: str, content: Any) -> None:
        """Call a peer. An earlier call of it that is open is given up."""
        self._count += 1
        number = [self._incarnation, self._count]
        data = pack(["request", self.links.rank, number, name, content])
        self._open_calls[peer] = _OpenCall(number, data, self._flushes)
        self.links.post(peer, data)

    def is_open(self, peer: int) -> bool:
        """Whether there is a call to this peer without an answer."""
        return peer in self._open_calls

    def answer(self, request: Request, content: Any) -> None:
        """Answer a call."""
        self.links.post(request.sender, pack(["answer", self.links.rank, request.number, "", content]))

    def receive(self) -> Iterator[Request | Reply]:
        """The calls and answers that have arrived. Raises WorkerFailure for bytes of another form."""
        for data in self.links.poll():
            try:
                kind, sender, number, name, content = unpack(data)
            except (ValueError, LookupError, TypeError) as error:
                raise WorkerFailure("a peer has sent bytes that are not a call", got=str(error)[:80]) from error
            if kind == "request":
                yield Request(sender, number, name, content)
            elif sender in self._open_calls and self._open_calls[sender].number == number:
                del self._open_calls[sender]
                yield Reply(sender, content)

    def flush(self) -> None:
        """Repeat calls whose answer has not come for long."""
        self._flushes += 1
        for peer, call in self._open_calls.items():
            if self._flushes > call.flushes + self.links.flushes_before_resending:
                self._repeat(peer)

    def repeat_all(self) -> None:
        """Repeat all open calls now, for a peer that may be a new one."""
        for peer in self._open_calls:
            self._repeat(peer)

    def _repeat(self, peer: int) -> None:
        call = self._open_calls[peer] = self._open_calls[peer]._replace(flushes=self._flushes)
        self.links.post(peer, call.data)
