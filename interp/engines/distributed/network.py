"""A network with faults inside one process, deterministic by its seed.

It loses, repeats, reorders and delays batches. Now and then a worker dies, with all that it had, or is suspended, for a
while or for ever; one that sends no heartbeat for long counts as dead. The same seed gives the same run, message for
message, so tests use this network. Without a seed nothing goes wrong: batches arrive in the next round, in order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from .links import DRIVER
from .packing import Packed
from .peer import Peer


class Faults(NamedTuple):
    """How often something goes wrong: the probabilities for a batch, and for a worker in a round."""

    loss: float = 0.1
    repetition: float = 0.1
    max_delay: int = 6
    """The most rounds that a batch is late."""
    death: float = 0.004
    max_deaths: int = 3
    """The most workers that die in a run, so that it ends; suspensions count."""
    suspension: float = 0.002
    """For a worker in a round: that it is suspended for SUSPENSION_LENGTHS."""


NO_FAULTS = Faults(0.0, 0.0, 0, 0.0, 0, 0.0)
SUSPENSION_LENGTHS = (10, 100, float("inf"))
"""The numbers of rounds in which a suspended worker does nothing."""
CHECKPOINT_ROUNDS = 60.0
"""The number of rounds between two checkpoints, where there are any."""
STEPS_PER_TURN = 64
"""The number of steps in a turn of a worker, if nothing goes wrong."""
TURN_LENGTHS = (1, 2, 5, 20, 60)
"""The numbers of steps in a turn, if something may."""


class FaultyNetwork:
    """The batches that are on their way."""

    def __init__(self, ranks: Sequence[int], faults: Faults, rng: Random) -> None:
        self.ranks, self._faults, self._rng = ranks, faults, rng
        self.round = self._posted = 0
        self._in_transit: dict[int, list[tuple[int, int, Packed]]] = {rank: [] for rank in ranks}
        """By receiver: the round in which a batch arrives, a number that decides ties, and the batch."""

    def post(self, receiver: int, batch: Packed) -> None:
        faults, rng = self._faults, self._rng
        copies = (rng.random() >= faults.loss) + (rng.random() < faults.repetition)
        for _ in range(copies):
            self._posted += 1
            arrival = self.round + 1 + rng.randint(0, faults.max_delay)
            heapq.heappush(self._in_transit[receiver], (arrival, self._posted, batch))

    def poll(self, receiver: int) -> list[Packed]:
        queue, batches = self._in_transit[receiver], []
        while queue and queue[0][0] <= self.round:
            batches.append(heapq.heappop(queue)[2])
        if self._faults.max_delay:
            self._rng.shuffle(batches)
        return batches


class NetworkLinks:
    """The links of one peer in a network."""

    flushes_before_resending = 16

    def __init__(self, network: FaultyNetwork, rank: int) -> None:
        self._network, self.rank = network, rank
        self.peers = [peer for peer in network.ranks if peer != rank]
        self._round = self._ticks = 0

    def microseconds(self) -> float:
        """A round is a millisecond, and each look at the clock advances it by a microsecond."""
        self._ticks = self._ticks + 1 if self._round == self._network.round else 0
        self._round = self._network.round
        return 1_000.0 * self._round + self._ticks

    def post(self, peer: int, batch: Packed) -> None:
        self._network.post(peer, batch)

    def poll(self) -> list[Packed]:
        return self._network.poll(self.rank)


class NetworkPool:
    """Workers in this process, which take turns. The unit of time is a round, in which each worker has a turn."""

    probe_interval = 8.0
    work_per_checkpoint = 0.0
    final_timeout = 10_000.0
    heartbeat_timeout = 40
    """The number of rounds without a heartbeat after which a worker counts as dead."""

    def __init__(
        self,
        worker_count: int,
        seed: int | None,
        new_worker: Callable[[NetworkLinks, str, int], Peer],
        faults: Faults | None = None,
        *,
        has_checkpoints: bool = False,
    ) -> None:
        """`new_worker` makes a worker from its links, the schedule of its flight, and the epoch before its first.
        Without a seed, there are no faults, and checkpoints only if `has_checkpoints`."""
        self._faults = faults or (NO_FAULTS if seed is None else Faults())
        self._rng, self._new_worker = Random(seed or 0), new_worker
        self.checkpoint_interval = CHECKPOINT_ROUNDS if self._faults.death or has_checkpoints else float("inf")
        self._network = FaultyNetwork([DRIVER, *range(worker_count)], self._faults, self._rng)
        self.links = NetworkLinks(self._network, DRIVER)
        self.workers: list[Peer] = []
        for rank in range(worker_count):
            self.workers.append(self._start(rank))
        self._deaths = 0
        self._suspensions: dict[int, tuple[float, float]] = {}
        """For each suspended worker, the rounds in which its suspension began and ends."""

    def _start(self, rank: int, epoch: int = 0) -> Peer:
        order = f"random:{self._rng.randrange(2**32)}" if self._faults.max_delay else "lifo"
        return self._new_worker(NetworkLinks(self._network, rank), order, epoch)

    def clock(self) -> float:
        return self._network.round

    def advance(self) -> list[int]:
        """One round: each worker has a turn, in random order and of random length if something may go wrong."""
        self._network.round += 1
        if not self._faults.max_delay:
            for worker in self.workers:
                worker.take_turn(STEPS_PER_TURN)
            return []
        for rank in self._rng.sample(range(len(self.workers)), len(self.workers)):
            if self._suspensions.get(rank, (0, 0))[1] <= self.clock():
                self._suspensions.pop(rank, None)
                self.workers[rank].take_turn(self._rng.choice(TURN_LENGTHS))
        if self._has_fault(self._faults.suspension):
            rank = self._rng.randrange(len(self.workers))
            self._suspensions[rank] = self.clock(), self.clock() + self._rng.choice(SUSPENSION_LENGTHS)
        deaths = {
            rank for rank, (begin, _) in self._suspensions.items() if self.clock() > begin + self.heartbeat_timeout
        }
        if self._has_fault(self._faults.death):
            deaths.add(self._rng.randrange(len(self.workers)))
        return sorted(deaths)

    def _has_fault(self, probability: float) -> bool:
        """Whether something happens to a worker in this round, which has this probability for each."""
        has_fault = self._deaths < self._faults.max_deaths and self._rng.random() < probability * len(self.workers)
        self._deaths += has_fault
        return has_fault

    def replace(self, rank: int, epoch: int) -> None:
        self._suspensions.pop(rank, None)
        self.workers[rank] = self._start(rank, epoch)

    def close(self) -> None:
        self.workers.clear()
