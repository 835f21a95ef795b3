"""`tl.train`: training on several workers, with parameter servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ....core.errors import Usage
from ....core.frontend.trace.source_location import user_location
from ...outcome.worker_lanes import MAX_WORKERS
from ..embedding import Embedding
from ..optimizers import Optimizer
from .messages import Synchronisation, TrainingReport


def train(
    loss: Callable[..., Any],
    variables: Any,
    optimizer: Optimizer,
    *,
    steps: int,
    workers: int = 2,
    servers: int = 1,
    synchronisation: Literal["sync", "async"] = "sync",
    aggregate: int | None = None,
    tables: Sequence[tuple[Embedding, Callable[..., Any]]] = (),
    cluster: str = "processes",
    engine: str | None = None,
    checkpoint_steps: int = 100,
) -> TrainingReport:
    """Train variables on several workers, with parameter servers; afterwards they have the trained values, and the
    optimizer its state.

    `loss(worker, step)` is a float: the loss of the batch of this worker, from 0, at this step. Servers own the
    variables, nested in tuples, lists and dicts. Workers fetch their values, compute the gradient of the loss, and send
    it back; each server takes `steps` steps of the optimizer.

    With `synchronisation="sync"`, a step takes the mean of one gradient of each worker. The result does not depend on
    what is fast, slow, lost or killed; with a given `engine` it has the same bits in each run. `aggregate=m` takes the
    first m gradients, and drops later ones of the step: the other workers are backup workers. With "async", a step is
    one gradient, which may be computed from old values; `step` then counts the gradients of the worker.

    `tables` are pairs of a `tl.Embedding` and a function `ids(worker, step)`. The loss has the vectors of these ids as
    further arguments, and only their rows are sent, not the tables.

    `cluster` is processes, network, network:SEED or ray, as for runs. Servers save their state every `checkpoint_steps`
    steps, and one that dies goes on from there. `engine` runs the programs of workers and servers.

    Raises Usage if an argument does not fit; the error of the loss if it traps; Crash if peers die again and again.
    """
    for name, number in (("steps", steps), ("workers", workers), ("checkpoint_steps", checkpoint_steps)):
        require_count(name, number)
    require_count("servers", servers)
    if workers + servers > MAX_WORKERS:
        required, got = f"at most {MAX_WORKERS} servers and workers", workers + servers
        raise Usage("there are too many servers and workers", where=user_location(), required=required, got=got)
    if synchronisation not in ("sync", "async"):
        message = f"synchronisation cannot be {synchronisation!r}"
        raise Usage(message, where=user_location(), required="sync or async")
    is_synchronised = synchronisation == "sync"
    if aggregate is not None:
        require_count("aggregate", aggregate)
        if not is_synchronised or aggregate > workers:
            required = f"from 1 to {workers} with synchronisation='sync'"
            raise Usage("aggregate is out of range", where=user_location(), required=required, got=aggregate)
    gradients_per_step = (aggregate or workers) if is_synchronised else 1
    from .cluster import run_training  # here: import tagloom starts without workers

    settings = Synchronisation(is_synchronised, gradients_per_step, steps, checkpoint_steps)
    return run_training(loss, variables, optimizer, tables, (servers, workers), settings, cluster, engine)


def require_count(name: str, number: object) -> None:
    """Raise Usage for anything but a positive integer."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        python = ValueError if isinstance(number, int) else TypeError
        message = f"{name} must be a positive integer"
        raise Usage(message, where=user_location(), required="from 1 up", got=repr(number)[:80], python=python)
