"""Workers as actors of Ray, on the hosts of a cluster.

Ray starts processes and carries bytes; it does nothing else for a run. An actor is called again and again: a call
brings the batches that have come for its worker, and returns those that it sends, which the driver passes on. We hand
over no objects but bytes, numbers and the class of the actor, which its process imports. Neither actors nor calls are
ever repeated by Ray: a new actor would be silently empty, and calls that are tried again come out of order. An actor
that dies is replaced like a process, and the run goes back to its last checkpoint.

Ray notices an actor whose process has ended. One that is stopped does not answer: if a call takes long, the actor is
pinged in another thread, and killed if it does not answer.

If the program has not started Ray, Ray joins the cluster that it finds, or starts on this host alone. It stays until
the program ends, since it takes seconds to start. Its processes listen on all addresses of the host: Ray replaces a
loopback address by an address that other hosts can reach.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from ....core.errors import Usage
from .frames import split_frames
from .packing import Packed
from .pool import ForwardingPool
from .ray_worker import RayWorker

_WAIT_SECONDS = 0.01
"""The longest time that the driver waits for a call before it looks at the clock. Each look takes processor time from
the workers."""
_IDLE_SECONDS = 0.005
"""The time between two calls of an actor that is idle, and for which nothing has come."""
_LONG_CALL_SECONDS = 2.0
"""The time of a call after which its actor is pinged."""
_START_SECONDS = 120.0
"""The time for the first answer of an actor, whose process imports tagloom before."""
PING_TIMEOUT = 20.0
"""The time for every other one."""


def import_ray() -> Any:
    """The package ray; raises Usage, which is an ImportError, where it is not installed."""
    try:
        import ray
    except ImportError as error:
        hint = 'pip install "tagloom[ray]", or cluster="processes", which needs nothing'
        raise Usage("cluster='ray' needs the package ray", got=str(error), hint=hint, python=ImportError) from None
    return ray


class WorkerActor:
    """The actor of one worker, and the call that it is executing."""

    def __init__(self, ray: Any, handle: Any) -> None:
        self._ray, self._handle = ray, handle
        self.batches: list[bytes] = []
        """The batches for the next call."""
        self.call: Any = None
        """The call that is being executed, or None."""
        self._call_time = 0.0
        """When the actor was last called, or may be called again."""
        self._ping: Any = None
        """The ping that the actor has not answered, or None."""
        self._ping_time = 0.0
        """When it was asked."""
        self._ping_timeout = _START_SECONDS
        """The time that it has to answer."""

    def call_if_due(self, now: float) -> None:
        """Call the actor, unless it is executing a call, or is idle and has nothing to hear."""
        if self.call is None and (self.batches or now >= self._call_time):
            batches, self.batches = self.batches, []
            self.call, self._call_time = self._handle.work.remote(*batches), now

    def finish_call(self) -> list[tuple[int, bytes]]:
        """The batches that the call which has ended sends, each with its receiver. Raises RayActorError if the actor is
        dead."""
        call, self.call, self._ping = self.call, None, None
        data, is_idle = self._ray.get(call)
        self._ping_timeout = PING_TIMEOUT
        self._call_time = time.monotonic() + (_IDLE_SECONDS if is_idle else 0)
        return split_frames(data)[0]

    def is_unresponsive(self, now: float) -> bool:
        """Whether a call takes long, and the actor does not answer a ping either."""
        if self.call is None or now < self._call_time + _LONG_CALL_SECONDS:
            return False
        if self._ping is None:
            self._ping, self._ping_time = self._handle.ping.remote(), now
        elif self._ray.wait([self._ping], timeout=0)[0]:
            self._ping, self._call_time = None, now
        return self._ping is not None and now > self._ping_time + self._ping_timeout

    def kill(self) -> None:
        self._ray.kill(self._handle, no_restart=True)


class RayPool(ForwardingPool):
    """Workers in actors of Ray."""

    probe_interval = 0.05
    final_timeout = 0.5

    def __init__(self, job: dict[str, Any]) -> None:
        """Start the actors of a job (`worker_job`). Raises Usage where Ray is not installed or cannot be started."""
        super().__init__(job["workers"])
        self._ray = import_ray()
        try:
            if not self._ray.is_initialized():
                self._ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise Usage("Ray cannot be started", got=str(error), python=RuntimeError) from error
        actor = self._ray.remote(RayWorker)
        self._new_actor = actor.options(
            num_cpus=0, max_restarts=0, max_task_retries=0, max_concurrency=2, scheduling_strategy="SPREAD"
        )
        self._job_text = json.dumps(job).encode()
        self.actors = {rank: self._start(rank, 0) for rank in self.peers}

    def _start(self, rank: int, epoch: int) -> WorkerActor:
        return WorkerActor(self._ray, self._new_actor.remote(self._job_text, rank, epoch))

    def microseconds(self) -> float:
        return 1e6 * time.time()

    def post(self, peer: int, batch: Packed) -> None:
        self.actors[peer].batches.append(b"".join(batch))

    def advance(self) -> Sequence[int]:
        """Call actors, and wait a moment for their replies; returns the ranks of those that have died."""
        now = self.clock()
        for actor in self.actors.values():
            actor.call_if_due(now)
        ranks = {actor.call: rank for rank, actor in self.actors.items() if actor.call is not None}
        if not ranks:
            time.sleep(_IDLE_SECONDS / 2)
            return []
        finished_calls, _ = self._ray.wait(list(ranks), num_returns=1, timeout=_WAIT_SECONDS)
        deaths = []
        for call in finished_calls:
            try:
                frames = self.actors[ranks[call]].finish_call()
            except self._ray.exceptions.RayActorError:
                deaths.append(ranks[call])
                continue
            self._forward(frames)
        deaths += [rank for rank, actor in self.actors.items() if actor.is_unresponsive(now)]
        return deaths

    def replace(self, rank: int, epoch: int) -> None:
        self.actors[rank].kill()
        self.actors[rank] = self._start(rank, epoch)

    def close(self) -> None:
        """Kill all actors."""
        for actor in self.actors.values():
            actor.kill()
