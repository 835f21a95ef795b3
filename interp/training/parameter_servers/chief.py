"""The chief of a training: it starts servers and workers, keeps the states of servers, and replaces what dies.

A worker that dies is replaced, and begins where the servers are; nobody else notices. A server that dies is replaced,
too, and goes on from its last state. Synchronised servers must agree on the step, so all of them then go back to the
last step for which the chief has all their states. The others are told to repeat what they have sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....core.errors import Crash
from ....core.value import Value
from ...engines.distributed.messages import WorkerFailure
from ...engines.distributed.pool import WorkerPool
from .calls import RemoteCalls, Reply, Request
from .messages import ServerState, Synchronisation, UpdateRecord
from .plan import TrainingPlan
from .programs import read_error, read_values

MAX_DEATHS_WITHOUT_PROGRESS = 10
"""If more peers die before the training has got further, it fails."""


class Chief:
    """The chief of one training. Ranks below `server_count` are those of servers."""

    def __init__(
        self,
        plan: TrainingPlan,
        pool: WorkerPool,
        server_count: int,
        worker_count: int,
        synchronisation: Synchronisation,
    ) -> None:
        self._plan, self._pool, self._calls = plan, pool, RemoteCalls(pool.links)
        self._servers, self._worker_count = range(server_count), worker_count
        self._step_count, self._is_synchronised = synchronisation.step_count, synchronisation.is_synchronised
        self._epoch = 1
        """The epoch of the last call of `begin`."""
        self._server_epochs = [1] * server_count
        self._called_peers: set[int] = set()
        """The peers that have been told what they are."""
        self._states: list[list[ServerState]] = [
            [ServerState(1, 0, plan.first_stores(server), [-1] * worker_count, 0, [])] for server in self._servers
        ]
        """The states of each server, by step. Only the last ones that may be needed have values."""
        self.deaths = self._deaths_without_progress = 0
        for rank in range(server_count + worker_count):
            self._begin(rank)

    def run_to_end(self) -> None:
        """Run until all servers have taken all steps. Raises the error of a program; Crash if a peer fails, or if peers
        die again and again."""
        while any(states[-1].step < self._step_count for states in self._states):
            deaths = self._pool.advance()
            for message in self._calls.receive():  # the last words of a peer say why it died
                self._handle(message)
            if deaths:
                self._recover(deaths)
            self._calls.flush()

    def stores(self, server: int) -> list[Value]:
        """The stores of a server at the end."""
        return read_values(self._states[server][-1].values)

    def updates(self, server: int) -> tuple[UpdateRecord, ...]:
        """The gradients that make up the steps of a server."""
        records = (UpdateRecord(*record) for state in self._states[server] for record in state.updates)
        return tuple(record._replace(versions=tuple(record.versions)) for record in records)

    def dropped_count(self, server: int) -> int:
        """The number of gradients that a server has dropped."""
        return self._states[server][-1].dropped_count

    def _begin(self, rank: int) -> None:
        """Tell a peer what it is and where to go on."""
        is_new, job, state = rank not in self._called_peers, None, None
        if rank in self._servers:
            state = list(self._states[rank][-1])
            job = list(self._plan.server_job(rank, self._worker_count)) if is_new else None
        elif is_new:
            job = list(self._plan.worker_job(rank - len(self._servers), self._worker_count))
        self._calls.call(rank, "begin", [self._epoch, "server" if rank in self._servers else "worker", job, state])

    def _recover(self, deaths: Sequence[int]) -> None:
        """Replace peers that have died."""
        self.deaths += len(deaths)
        self._deaths_without_progress += len(deaths)
        if self._deaths_without_progress > MAX_DEATHS_WITHOUT_PROGRESS:
            raise Crash("too many servers and workers died", got=f"{self.deaths} deaths")
        for rank in deaths:
            self._called_peers.discard(rank)
            self._pool.replace(rank, self._epoch)
        self._epoch += 1
        dead_servers = [rank for rank in deaths if rank in self._servers]
        if not dead_servers:
            changed = list(deaths)
        else:
            servers = list(self._servers) if self._is_synchronised else dead_servers
            self._roll_back(servers)
            changed = [*servers, *range(len(self._servers), len(self._servers) + self._worker_count)]
            changed += [rank for rank in deaths if rank not in changed]
        for rank in changed:
            self._begin(rank)

    def _roll_back(self, servers: Sequence[int]) -> None:
        """Let these servers go back to the last step for which the states of all of them are saved."""
        step = self._last_common_step(servers)
        for server in servers:
            self._server_epochs[server] = self._epoch
            self._states[server] = [state for state in self._states[server] if state.step <= step]

    def _last_common_step(self, servers: Sequence[int]) -> int:
        return max(set.intersection(*({state.step for state in self._states[server]} for server in servers)))

    def _handle(self, message: Request | Reply) -> None:
        if isinstance(message, Reply):
            self._called_peers.add(message.sender)
        elif message.name == "save":
            self._keep(message.sender, ServerState(*message.content))
            self._calls.answer(message, None)
        elif message.name == "fail":
            raise read_error(message.content)
        else:
            raise WorkerFailure("a server or worker failed", got=message.content)

    def _keep(self, server: int, state: ServerState) -> None:
        """Keep the state of a server, unless it is from before a rollback."""
        states = self._states[server]
        if state.epoch != self._server_epochs[server] or state.step <= states[-1].step:
            return
        former_step = self._last_common_step(self._servers) if self._is_synchronised else states[-1].step
        states.append(state)
        last_step = self._last_common_step(self._servers) if self._is_synchronised else state.step
        if last_step > former_step:
            self._deaths_without_progress = 0
        for others in self._states if self._is_synchronised else [states]:
            others[:] = [other if other.step >= last_step else other._replace(values=[]) for other in others]
