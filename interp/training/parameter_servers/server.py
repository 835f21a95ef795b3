"""A parameter server: it owns some of the variables, and the slots of the optimizer for them.

A gradient has a tag, and counts once, however often it arrives. Synchronised servers collect gradients of their current
step, by worker. Once there are enough, the optimizer takes a step with their mean, added up in the order of workers: so
the result does not depend on the order of arrival. A gradient of an earlier step is dropped. Without synchronisation,
each gradient is a step.

A server is at most one step ahead of another one: to take its step, it needs gradients that were computed from the
values of all servers. It keeps the values of its previous step, for workers that get older ones from another server.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Trap
from ....core.value import Value
from ...engines.distributed.links import DRIVER
from .calls import RemoteCalls, Reply, Request
from .messages import Exchange, Gradient, ServerState, UpdateRecord, Values
from .programs import SentProgram, read_values, values_to_data


class ServerJob(NamedTuple):
    """The instructions that a server gets once. Stores are the values of variables and of slots, by position.

    `update` is the program of a step. Its arguments are the gradients of each variable, worker by worker; for each
    shard of a table, indices and values; and its `inputs`: the position of a store, or a list of one constant. Its
    results are stores, at the positions `results`. `variables` and `shards` are positions of what workers fetch.
    """

    first_worker: int
    worker_count: int
    step_count: int
    checkpoint_steps: int
    aggregate: int
    """The number of gradients in a step."""
    is_synchronised: bool
    engine: str | None
    update: str
    inputs: list[Any]
    results: list[int]
    variables: list[int]
    shards: list[int]


class ParameterServer:
    """The stores of one server, and its reaction to each message."""

    def __init__(self, job: ServerJob, calls: RemoteCalls) -> None:
        self._job, self._calls = job, calls
        self._update = SentProgram(job.update, job.engine)
        self._constants = [read_values(entry)[0] if isinstance(entry, list) else None for entry in job.inputs]
        self._saves = deque[Any]()
        """The states for the chief that were not sent yet."""
        self.begin(ServerState(0, 0, [], [-1] * job.worker_count, 0, []))

    def begin(self, state: ServerState) -> None:
        """Continue from these stores."""
        self._epoch, self._step, self._dropped_count = state.epoch, state.step, state.dropped_count
        self._stores = self._former_stores = read_values(state.values)
        self._last_tags = list(state.last_tags)
        self._records: list[UpdateRecord] = []
        self._gradients: dict[int, Gradient] = {}
        """The gradients of this step, by worker."""
        self._pending_calls: dict[int, tuple[Request, Exchange]] = {}
        """The calls that have no answer yet, by sender."""
        self._saves.clear()

    def handle(self, message: Request | Reply) -> None:
        """Handle a worker's call, or the chief's answer."""
        if isinstance(message, Reply):
            if self._saves:
                self._calls.call(DRIVER, "save", self._saves.popleft())
            return
        exchange = Exchange(*message.content)
        if exchange.epoch == self._epoch and exchange.gradient is not None:
            self._take(message.sender - self._job.first_worker, Gradient(*exchange.gradient))
        pending, _ = self._pending_calls.get(message.sender, (None, None))
        if pending is None or pending.number <= message.number:
            self._pending_calls[message.sender] = message, exchange
        self._answer_calls()

    @property
    def _is_over(self) -> bool:
        return self._step >= self._job.step_count

    def _take(self, worker: int, gradient: Gradient) -> None:
        """Take a gradient whose tag is new, unless it is late."""
        if gradient.tag <= self._last_tags[worker] or self._is_over:
            return
        self._last_tags[worker] = gradient.tag
        if self._job.is_synchronised and gradient.tag != self._step:
            self._dropped_count += 1
            return
        self._gradients[worker] = gradient
        if len(self._gradients) == self._job.aggregate:
            self._take_step()

    def _take_step(self) -> None:
        """Take a step with the gradients."""
        job, variable_count = self._job, len(self._job.variables)
        gradients = sorted(self._gradients.items())
        self._gradients = {}
        values = [read_values(gradient.values) for _, gradient in gradients]
        arguments: list[Value] = [value for part in values for value in part[:variable_count]]
        for shard in range(len(job.shards)):
            arguments.append(np.concatenate([gradient.rows[shard] for _, gradient in gradients]))
            arguments.append(np.concatenate([part[variable_count + shard] for part in values]))
        for entry, constant in zip(job.inputs, self._constants, strict=True):
            arguments.append(self._stores[entry] if isinstance(entry, int) else constant)  # type: ignore[arg-type]
        results = self._update.run(arguments, seed=self._step)
        self._former_stores, self._stores = self._stores, list(self._stores)
        for position, result in zip(job.results, results, strict=True):
            self._stores[position] = result
        for worker, gradient in gradients:
            loss = float(read_values([gradient.loss])[0])  # type: ignore[arg-type]
            self._records.append(UpdateRecord(self._step, worker, gradient.tag, gradient.versions, loss))
        self._step += 1
        if self._step % job.checkpoint_steps == 0 or self._is_over:
            self._save()

    def _save(self) -> None:
        """Send the stores to the chief; after an earlier state, if that is still on its way."""
        records, self._records = [list(record) for record in self._records], []
        values, tags = values_to_data(self._stores), list(self._last_tags)
        state = list(ServerState(self._epoch, self._step, values, tags, self._dropped_count, records))
        if self._calls.is_open(DRIVER):
            self._saves.append(state)
        else:
            self._calls.call(DRIVER, "save", state)

    def _answer_calls(self) -> None:
        """Answer the calls for which the values are there."""
        for sender, (request, exchange) in list(self._pending_calls.items()):
            lead = exchange.requested_step - self._step
            has_steps = self._job.is_synchronised and exchange.epoch == self._epoch
            if has_steps and lead > 0 and not self._is_over:
                continue
            del self._pending_calls[sender]
            is_former = has_steps and exchange.is_exact and lead == -1
            stores = self._former_stores if is_former else self._stores
            shards = [np.asarray(stores[position]) for position in self._job.shards]
            rows = [gather_rows(shard, rows) for shard, rows in zip(shards, exchange.rows, strict=False)]
            values = values_to_data([stores[position] for position in self._job.variables])
            last_tag = self._last_tags[sender - self._job.first_worker]
            step, is_over = self._step - is_former, self._is_over and not is_former
            answer = Values(self._epoch, step, is_over, last_tag, exchange.rows_tag, values, rows)
            self._calls.answer(request, list(answer))


def gather_rows(shard: Any, rows: Any) -> Any:
    """The rows of a shard at these indices; traps (S5) for one out of range."""
    if rows.size and not 0 <= rows.min() <= rows.max() < len(shard):
        got = f"row {rows.max()} of a shard with {len(shard)} rows"
        raise Trap("an id is out of the range of its table", rule="S5", got=got, python=IndexError)
    return shard[rows]
