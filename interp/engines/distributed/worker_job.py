"""Jobs of workers: what a worker in another process is told, as JSON data."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from ....core.graph.graph import Graph
from ....core.json.cursor import JsonCursor
from ....core.json.graph import graph_to_json, read_graph
from ..interrupt import Interrupt
from ..limits import LimitMonitor, Limits
from .links import DRIVER, Links
from .messages import FailureNotice
from .worker import Worker

STEPS_PER_TURN = 200
"""The number of steps between two looks for messages: some 4 ms."""
MAX_FAILURE_TEXT = 4_000


def worker_job(
    graph: Graph,
    worker_count: int,
    share: Limits,
    seed: int,
    ranks: Sequence[int | None],
    *,
    has_timeline: bool,
) -> dict[str, Any]:
    """The job of every worker of a run: `share` are its limits, and `ranks` the ranks of the `WorkerPlacement`."""
    return {
        "graph": graph_to_json(graph),
        "workers": worker_count,
        "limits": {"tokens": share.tokens, "depth": share.depth, "bytes": share.bytes},
        "seed": seed,
        "ranks": ranks,
        "has_timeline": has_timeline,
    }


def build_worker(job: dict[str, Any], links: Links, epoch: int) -> Worker:
    """The worker of a job; it takes part in epochs after `epoch`."""
    limits = Limits(**job["limits"])
    monitor = LimitMonitor(None, limits.bytes, Interrupt())
    return Worker(
        read_graph(JsonCursor(job["graph"])),
        links,
        job["workers"],
        monitor,
        limits,
        job["seed"],
        epoch=epoch,
        ranks=job["ranks"],
        has_timeline=job["has_timeline"],
    )


def report_failure(worker: Worker) -> None:
    """Send the driver the traceback of the exception that is being handled."""
    worker.channels.send(DRIVER, FailureNotice(traceback.format_exc()[-MAX_FAILURE_TEXT:]))
    worker.channels.flush()
