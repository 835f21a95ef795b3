"""Jobs of workers: JSON data from which another process builds a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.graph.graph import Graph
from ....core.json.cursor import JsonCursor
from ....core.json.graph import graph_to_json, read_graph
from ..interrupt import Interrupt
from ..limits import LimitMonitor, Limits
from .links import Links
from .worker import Worker


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
        "builder": f"{__name__}:build_worker",
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
