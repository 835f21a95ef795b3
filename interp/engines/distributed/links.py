"""Links: the connections between the peers of a run. A peer is a worker, by its rank from 0, or the driver.

Links carry batches, which are packed documents. They may lose, repeat, reorder and delay them: `channels` makes up for
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .packing import Packed

DRIVER = -1
"""The rank of the driver."""
FLUSHES_ON_RELIABLE_LINKS = 10_000
"""`flushes_before_resending` of links that lose nothing: a batch comes again only if its receiver has dropped it, which
had not begun the epoch."""


class Links(Protocol):
    """The links of one peer."""

    @property
    def rank(self) -> int:
        """The rank of this peer."""

    @property
    def peers(self) -> Sequence[int]:
        """The ranks of the other peers."""

    @property
    def flushes_before_resending(self) -> int:
        """The number of flushes after which a batch that is not acknowledged is sent again."""

    def microseconds(self) -> float:
        """The time, on one clock for all peers."""

    def post(self, peer: int, batch: Packed) -> None:
        """Send a batch to a peer. Returns at once."""

    def poll(self) -> Sequence[Packed]:
        """The batches that have arrived since the last call. Returns at once."""
