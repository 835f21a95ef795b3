"""What workers, servers and the chief say to each other: contents of calls, as lists for documents.

A worker's call to a server, `exchange`, brings a gradient and asks for values; the answer has the values. A server's
call to the chief, `save`, has its stores; the chief's call to every peer, `begin`, says what it is and where to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....deprecation import warn_renamed


class Gradient(NamedTuple):
    """A worker's gradient, for one server.

    `tag` is the step, or, without synchronisation, the number of the gradient among those of the worker. `versions` are
    the steps of all servers whose values it was computed from. `rows` are indices, an array for each shard of a table,
    and `values` the parts by variable, then those by rows of each shard.
    """

    tag: int
    versions: list[int]
    loss: Any
    rows: list[Any]
    values: list[Any]


class Exchange(NamedTuple):
    """A worker's call to a server: a gradient or None, and the request for values: those of `requested_step`, or later
    ones unless `is_exact`. Of each shard of a table, only `rows` are sent: the rows of the gradient with the tag
    `rows_tag`. `epoch` is the server's, as far as the worker knows."""

    epoch: int
    gradient: Any
    requested_step: int
    is_exact: bool
    rows_tag: int
    rows: list[Any]


class Values(NamedTuple):
    """The answer to an `Exchange`: the values of the variables at a step, and the rows of the shards. `last_tag` is the
    tag of the last gradient of this worker that the server has had, -1 if there is none."""

    epoch: int
    step: int
    is_over: bool
    last_tag: int
    rows_tag: int
    values: list[Any]
    rows: list[Any]


class UpdateRecord(NamedTuple):
    """A gradient in an update of a server: whose it was, its tag, the versions that it was computed from, and the loss.
    `step` is the server's before the update."""

    step: int
    worker: int
    tag: int
    versions: Sequence[int]
    loss: float


class ServerState(NamedTuple):
    """The stores of a server between two updates. `last_tags` has the last tag for each worker, and `updates` are the
    records since the last state that was sent."""

    epoch: int
    step: int
    values: list[Any]
    last_tags: list[int]
    dropped_count: int
    updates: list[Any]


class TrainingReport(NamedTuple):
    """The history of a training.

    `losses` has the mean loss of each step of the first server, before the step. `updates` has, for each server, the
    gradients of each of its steps, in order. `dropped_gradients` is the number of late gradients that servers dropped.
    The staleness of a gradient is the number of steps that a server made since the values from which the gradient was
    computed; `largest_staleness` is the largest of the gradients that a server used. `deaths` is the number of servers
    and workers that died and were replaced.
    """

    losses: tuple[float, ...]
    updates: tuple[tuple[UpdateRecord, ...], ...]
    dropped_gradients: int
    largest_staleness: int
    deaths: int

    @property
    def oldest(self) -> int:
        """The old name of `largest_staleness`."""
        warn_renamed("TrainingReport.oldest", "TrainingReport.largest_staleness")
        return self.largest_staleness


class Synchronisation(NamedTuple):
    """How servers and workers keep in step. `aggregate` is the number of gradients in a step of a server."""

    is_synchronised: bool
    aggregate: int
    step_count: int
    checkpoint_steps: int
