"""Peers of a driver: the interface of a worker in its process or actor, and the function that builds it there.

A job is JSON data, and names the function that builds its peer. So processes and actors can also hold other peers, such
as the parameter servers and workers of a training.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from .links import Links

STEPS_PER_TURN = 200
"""The number of steps between two looks for messages: some 4 ms of a worker."""
MAX_FAILURE_TEXT = 4_000
"""The most characters of the traceback of a peer that fails."""


class Peer(Protocol):
    """A peer of the driver. It does nothing between two calls of `take_turn`."""

    @property
    def is_idle(self) -> bool:
        """Whether it does nothing before it gets a message."""

    def take_turn(self, max_steps: int) -> None:
        """Handle the messages that have arrived, make at most `max_steps` steps, and send messages."""

    def report_failure(self, text: str) -> None:
        """Tell the driver about an exception; `text` is its traceback."""


def build_peer(job: dict[str, Any], links: Links, epoch: int) -> Peer:
    """The peer of a job, by `job["builder"]`, "MODULE:FUNCTION"; it takes part in epochs after `epoch`."""
    module, _, function = job["builder"].partition(":")
    peer: Peer = getattr(import_module(module), function)(job, links, epoch)
    return peer
