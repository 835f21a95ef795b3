"""A training on a cluster: its plan, its peers, and what it leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from ...engines.distributed.engine import parse_cluster
from ...engines.distributed.links import Links
from ...engines.distributed.network import NetworkPool
from ...engines.distributed.pool import WorkerPool
from ...engines.distributed.processes import ProcessPool
from ...engines.distributed.ray_pool import RayPool
from ..embedding import Embedding
from ..optimizers import Optimizer
from .chief import Chief
from .messages import Synchronisation, TrainingReport, UpdateRecord
from .peer import TrainingPeer, build_peer
from .plan import TrainingPlan


def run_training(
    loss: Callable[..., Any],
    variables: Any,
    optimizer: Optimizer,
    tables: Sequence[tuple[Embedding, Callable[..., Any]]],
    peers: tuple[int, int],
    synchronisation: Synchronisation,
    cluster: str,
    engine: str | None,
) -> TrainingReport:
    """Train on a cluster, and assign the variables and slots their values at the end. `peers` are the numbers of
    servers and of workers."""
    name = parse_cluster(cluster)
    server_count, worker_count = peers
    plan = TrainingPlan(loss, variables, optimizer, tables, server_count, synchronisation, engine)
    job = {"builder": f"{build_peer.__module__}:{build_peer.__name__}", "workers": sum(peers)}

    def new_peer(links: Links, order: str, epoch: int) -> TrainingPeer:
        return build_peer(job, links, epoch)

    pool: WorkerPool
    if name.kind == "network":
        pool = NetworkPool(sum(peers), name.seed, new_peer)
    else:
        pool = (ProcessPool if name.kind == "processes" else RayPool)(job)
    with closing(pool):
        chief = Chief(plan, pool, server_count, worker_count, synchronisation)
        chief.run_to_end()
    for server in range(server_count):
        plan.assign(server, chief.stores(server))
    updates = tuple(map(chief.updates, range(server_count)))
    ages = [record.step - record.versions[server] for server, records in enumerate(updates) for record in records]
    dropped = sum(map(chief.dropped_count, range(server_count)))
    return TrainingReport(mean_losses(updates[0]), updates, dropped, max(0, *ages), chief.deaths)


def mean_losses(records: Sequence[UpdateRecord]) -> tuple[float, ...]:
    """The mean loss of each step."""
    losses = defaultdict[int, list[float]](list)
    for record in records:
        losses[record.step].append(record.loss)
    return tuple(sum(step_losses) / len(step_losses) for _, step_losses in sorted(losses.items()))
