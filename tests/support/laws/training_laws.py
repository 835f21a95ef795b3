"""The laws of trainings with parameter servers: whatever the network loses, repeats, delays or kills, the variables are
those that one process computes from the gradients that the report names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.interp.engines.distributed.network import Faults, NetworkPool
from tagloom.interp.training.parameter_servers import cluster as cluster_module
from tagloom.interp.training.parameter_servers.messages import TrainingReport

LOSSY = Faults(death=0.0, suspension=0.0)
"""A network on which nobody dies."""
DEADLY = Faults(death=0.01, max_deaths=4, suspension=0.005)
MAX_ROUNDS = 4_000
"""The trainings below need some hundred rounds."""
ENGINE = "reference"


class Model:
    """Three weights, an offset, and a table of vectors; fitted to points that worker and step decide."""

    def __init__(self) -> None:
        self.w = tl.Variable([0.5, -0.25, 0.125], name="w")
        self.b = tl.Variable(0.0, name="b")
        self.table = tl.Embedding([[0.1 * (i + j) for j in range(2)] for i in range(7)], shards=2, name="table")
        self.optimizer = tl.optimizers.Momentum(rate=0.05)
        self.optimizer.make_slots(self.variables)

    @property
    def variables(self) -> tuple[tl.Variable, ...]:
        return (self.w, self.b, *self.table.shards)

    def ids(self, worker: Any, step: Any) -> Any:
        return (tl.arange(3) * (step + 1) + worker) % 7

    def loss(self, worker: Any, step: Any, *vectors: Any) -> Any:
        count = tl.astype(3 * step + worker, tl.float64)
        x = tl.sin(tl.reshape(tl.arange(6.0), (2, 3)) + count)
        error = tl.sum((x @ self.w + self.b - tl.cos(count)) ** 2) + 0.01 * tl.uniform_at(
            1, 3 * step + worker, shape=()
        )
        return error + sum(tl.sum((rows[1:, :] - rows[:-1, :] - 0.3) ** 2) for rows in vectors)

    def all_values(self) -> list[bytes]:
        """The bits of all variables and slots."""
        slots = [slot for slots in self.optimizer.slots.values() for slot in slots.values()]
        return [np.asarray(each).tobytes() for each in (*self.variables, *slots)]


@dataclass(frozen=True)
class Training:
    """The options of a training of the model."""

    seed: int
    workers: int = 3
    servers: int = 2
    steps: int = 8
    synchronisation: Any = "sync"
    aggregate: int | None = None
    faults: Faults = DEADLY
    has_table: bool = True
    checkpoint_steps: int = 3
    cluster: str = ""
    """The cluster, if it is not the network of this seed."""

    def run(self, model: Model) -> TrainingReport:
        """Train the model. Fails where the training does not end."""
        true = NetworkPool.advance

        def advance(pool: NetworkPool) -> list[int]:
            assert pool.clock() < MAX_ROUNDS, "the training does not end"
            return true(pool)

        with MonkeyPatch.context() as patch:
            patch.setattr(cluster_module, "NetworkPool", partial(NetworkPool, faults=self.faults))
            patch.setattr(NetworkPool, "advance", advance)
            return tl.train(
                model.loss,
                (model.w, model.b),
                model.optimizer,
                steps=self.steps,
                workers=self.workers,
                servers=self.servers,
                synchronisation=self.synchronisation,
                aggregate=self.aggregate,
                tables=[(model.table, model.ids)] if self.has_table else [],
                cluster=self.cluster or f"network:{self.seed}",
                engine=ENGINE,
                checkpoint_steps=self.checkpoint_steps,
            )


class OneProcess:
    """A training in one process: each step of each server is made of the gradients that a report names."""

    def __init__(self, training: Training, owners: list[int]) -> None:
        """`owners` are the servers of the variables."""
        self.model, self.training, self.owners = Model(), training, owners
        model = self.model
        count = len(owners)
        self.variables = model.variables[:count]

        @tl.function
        def gradients(worker: tl.int64, step: tl.int64) -> Any:
            def total() -> Any:
                vectors = [model.table(model.ids(worker, step))] if training.has_table else []
                return model.loss(worker, step, *vectors)

            return tl.value_and_grad(total, self.variables, rows=self.variables[2:])()

        self.gradients = gradients
        self.versions = [[self.values()] for _ in range(training.servers)]
        """The values of all variables at each step of each server; those of other servers do not count."""

    def values(self) -> list[Any]:
        return [variable.value for variable in self.variables]

    def gradient(self, worker: int, tag: int, versions: list[int]) -> Any:
        """The loss and the gradients of a worker, computed from these versions."""
        now = self.values()
        for number, (variable, owner) in enumerate(zip(self.variables, self.owners, strict=True)):
            variable.assign(self.versions[owner][versions[owner]][number])
        seed = tag * self.training.workers + worker
        result = self.gradients.run(worker, tag, engine=ENGINE, seed=seed).value
        for variable, value in zip(self.variables, now, strict=True):
            variable.assign(value)
        return result

    def take_step(self, server: int, records: list[Any]) -> list[float]:
        """A step of a server; returns the losses."""
        parts = [self.gradient(record.worker, record.tag, record.versions) for record in records]
        count, owned, means = len(parts), [], []
        for number, owner in enumerate(self.owners):
            if owner != server:
                continue
            each = [gradients[number] for _, gradients in parts]
            if isinstance(each[0], tl.Rows):
                indices = tl.concat([rows.indices for rows in each], axis=0)
                mean: Any = tl.Rows(indices, tl.concat([rows.values for rows in each], axis=0) / count)
            else:
                mean = each[0]
                for other in each[1:]:
                    mean = mean + other
                mean = mean / count
            owned.append(self.variables[number])
            means.append(mean)
        self.model.optimizer.apply(means, owned)
        self.versions[server].append(self.values())
        return [float(loss) for loss, _ in parts]


def violations(training: Training) -> Iterator[str]:
    """Where a training breaks a law."""
    model = Model()
    report = training.run(model)
    yield from record_violations(training, report)
    if training.synchronisation == "async" and report.deaths:
        return  # a server that went back has had two states of one version
    count = 4 if training.has_table else 2
    owners = [0] * count if training.servers == 1 else owner_list(training, count)
    alone = OneProcess(training, owners)
    positions = [0] * training.servers
    steps = [
        [[record for record in records if record.step == step] for step in range(training.steps)]
        for records in report.updates
    ]
    while min(positions) < training.steps:
        ready = [
            server
            for server, position in enumerate(positions)
            if position < training.steps
            and all(
                version < len(alone.versions[other])
                for record in steps[server][position]
                for other, version in enumerate(record.versions)
            )
        ]
        if not ready:
            yield "gradients were computed from versions that come later"
            return
        records = steps[ready[0]][positions[ready[0]]]
        losses = alone.take_step(ready[0], records)
        if losses != [record.loss for record in records]:
            yield f"losses are {[record.loss for record in records]} and not {losses}"
        positions[ready[0]] += 1
    if model.all_values() != alone.model.all_values():
        yield "the variables or slots at the end are not those of one process"


def owner_list(training: Training, count: int) -> list[int]:
    """The servers of the variables, by the rule of the docs: the largest first, to the server with the fewest bytes."""
    sizes = [24, 8, 64, 48][:count]
    loads, owners = [0] * training.servers, [0] * count
    for number in sorted(range(count), key=lambda number: -sizes[number]):
        owners[number] = loads.index(min(loads))
        loads[owners[number]] += sizes[number]
    return owners


def record_violations(training: Training, report: TrainingReport) -> Iterator[str]:
    """Where the gradients that servers took break a law."""
    is_synchronised = training.synchronisation == "sync"
    wanted = (training.aggregate or training.workers) if is_synchronised else 1
    for server, records in enumerate(report.updates):
        counts = Counter(record.step for record in records)
        if counts != dict.fromkeys(range(training.steps), wanted):
            yield f"server {server} takes so many gradients by step: {dict(counts)}"
        if [record[:2] for record in records] != sorted(record[:2] for record in records):
            yield f"server {server} adds gradients up in another order than that of workers"
        gradients = Counter((record.worker, record.tag) for record in records)
        if max(gradients.values(), default=0) > 1:
            yield f"server {server} takes a gradient more than once"
        if is_synchronised and any({record.tag, *record.versions} != {record.step} for record in records):
            yield f"server {server} takes a gradient of another step"
    if is_synchronised and report.largest_staleness:
        yield f"a gradient is {report.largest_staleness} steps old"
    if is_synchronised and wanted == training.workers and report.dropped_gradients:
        yield f"{report.dropped_gradients} gradients are dropped, though every step takes one of each worker"
    if len(report.losses) != training.steps:
        yield f"there are {len(report.losses)} losses for {training.steps} steps"
