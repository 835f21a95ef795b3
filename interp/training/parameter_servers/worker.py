"""A worker of a training: it fetches values, computes a gradient, and sends it, again and again.

Synchronised, it computes only from values of one step: if servers differ, it asks those that are ahead for the values
of their previous step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....core.value import Value
from .calls import RemoteCalls, Reply, Request
from .messages import Exchange, Gradient, Values
from .programs import SentProgram, read_values, values_to_data


class WorkerJob(NamedTuple):
    """The instructions that a worker gets once.

    `gradient` is the program of the loss and its gradients. Its arguments are the numbers of worker and gradient, the
    rows of each shard, and its `inputs`: a server and the position of the value among those that it sends, or a list of
    one constant. `shards` has server and position of the rows in the same way. `lookup` computes the indices of rows
    from the numbers of worker and gradient; without tables it is None. For each server, `results` has the positions of
    its gradients among the results of `gradient`, and `indices` those of its rows among the results of `lookup`.
    """

    worker: int
    worker_count: int
    server_count: int
    is_synchronised: bool
    engine: str | None
    gradient: str
    inputs: list[Any]
    shards: list[Any]
    lookup: str | None
    results: list[Any]
    indices: list[Any]


class GradientWorker:
    """A worker of a training."""

    def __init__(self, job: WorkerJob, calls: RemoteCalls) -> None:
        self._job, self._calls = job, calls
        self._program = SentProgram(job.gradient, job.engine)
        self._lookup = None if job.lookup is None else SentProgram(job.lookup, job.engine)
        self._constants = [read_values(entry)[0] if len(entry) == 1 else None for entry in job.inputs]
        self._servers = range(job.server_count)
        self._answers: dict[int, Values] = {}
        """The values that have come, by server."""
        self._epochs = [0] * job.server_count
        """The epoch of each server, as far as this worker knows."""
        self._tag = 0
        """The tag of the next gradient, as far as this worker knows."""
        self._indices: tuple[int, list[Any]] = -1, []
        """A tag, and the indices of the rows that its gradient needs."""
        for server in self._servers:
            self._ask(server)

    def begin(self) -> None:
        """Repeat the open calls, since a server may be a new one; and ask the others again, since they may have gone
        back to an earlier step."""
        self._calls.repeat_all()
        for server in self._servers:
            if not self._calls.is_open(server):
                self._ask(server)

    def _ask(
        self, server: int, requested_step: int = 0, gradient: Gradient | None = None, *, is_exact: bool = False
    ) -> None:
        """Ask a server for values, and for the rows of the next gradient."""
        self._answers.pop(server, None)
        rows = self._find_rows(server, self._tag)
        data = None if gradient is None else list(gradient)
        exchange = Exchange(self._epochs[server], data, requested_step, is_exact, self._tag, rows)
        self._calls.call(server, "exchange", list(exchange))

    def _find_rows(self, server: int, tag: int) -> list[Any]:
        """The indices of the rows that the gradient of this tag needs, for each shard of a server."""
        if self._lookup is None:
            return []
        if self._indices[0] != tag:
            self._indices = tag, [*self._lookup.run([self._job.worker, tag], seed=self._seed(tag))]
        return [self._indices[1][position] for position in self._job.indices[server]]

    def _seed(self, tag: int) -> int:
        """The seed of random numbers, another for each worker and tag."""
        return tag * self._job.worker_count + self._job.worker

    def handle(self, message: Request | Reply) -> None:
        """Handle a server's answer; compute a gradient once all are there."""
        if isinstance(message, Reply):
            values = self._answers[message.sender] = Values(*message.content)
            self._epochs[message.sender] = values.epoch
            if len(self._answers) == len(self._servers):
                self._proceed()

    def _proceed(self) -> None:
        """Compute a gradient if the values fit together; otherwise ask again for those that do not."""
        answers = [self._answers[server] for server in self._servers]
        if all(answer.is_over for answer in answers):
            return
        versions = [answer.step for answer in answers]
        if self._job.is_synchronised:
            epoch = max(answer.epoch for answer in answers)
            self._tag = step = min(answer.step for answer in answers if answer.epoch == epoch)
            misfits = [server for server in self._servers if (answers[server].epoch, versions[server]) != (epoch, step)]
        else:
            self._tag, step = max(self._tag, 1 + max(answer.last_tag for answer in answers)), 0
            misfits = []
        if self._lookup is not None:
            misfits = [server for server in self._servers if server in misfits or answers[server].rows_tag != self._tag]
        for server in misfits:
            self._ask(server, step, is_exact=self._job.is_synchronised)
        if not misfits:
            self._send_gradient(answers, versions)

    def _send_gradient(self, answers: list[Values], versions: list[int]) -> None:
        """Compute the gradient of this tag, and send each server its part."""
        job, tag = self._job, self._tag
        values = [read_values(answer.values) for answer in answers]
        arguments: list[Value] = [job.worker, tag]
        arguments += [answers[server].rows[position] for server, position in job.shards]
        for entry, constant in zip(job.inputs, self._constants, strict=True):
            arguments.append(values[entry[0]][entry[1]] if len(entry) == 2 else constant)  # type: ignore[arg-type]
        results = values_to_data(self._program.run(arguments, seed=self._seed(tag)))
        gradients = [
            Gradient(
                tag, versions, results[0], self._find_rows(server, tag), [results[at] for at in job.results[server]]
            )
            for server in self._servers
        ]
        self._tag += 1
        for server, gradient in zip(self._servers, gradients, strict=True):
            self._ask(server, self._tag, gradient)
