"""A peer of a training: a parameter server or a worker, as the chief says."""

from __future__ import annotations

from typing import Any

from ....core.errors import TagloomError
from ...engines.distributed.links import DRIVER, Links
from .calls import RemoteCalls, Request
from .messages import ServerState
from .programs import error_to_data
from .server import ParameterServer, ServerJob
from .worker import GradientWorker, WorkerJob


class TrainingPeer:
    """A peer of a training, which waits for the chief's first call, `begin`."""

    is_idle = True
    """Between two turns there is nothing to do before a message comes."""

    def __init__(self, links: Links, epoch: int) -> None:
        """It takes part in epochs after `epoch`."""
        self._calls = RemoteCalls(links, epoch)
        self._epoch = epoch
        self._server: ParameterServer | None = None
        self._worker: GradientWorker | None = None

    def take_turn(self, max_steps: int) -> None:
        """Handle the messages that have arrived. The error of a program ends the training."""
        try:
            for message in self._calls.receive():
                if isinstance(message, Request) and message.name == "begin":
                    self._begin(message)
                elif role := self._server or self._worker:
                    role.handle(message)
        except TagloomError as error:
            self._server = self._worker = None
            self._calls.call(DRIVER, "fail", error_to_data(error))
        self._calls.flush()

    def _begin(self, request: Request) -> None:
        """Be what the chief says, and go on from there; a repeated call changes nothing."""
        epoch, kind, job, state = request.content
        if epoch < self._epoch or (epoch == self._epoch and not (self._server or self._worker)):
            return  # it was for a predecessor
        if epoch > self._epoch:
            self._epoch = epoch
            if kind == "server":
                self._server = self._server or ParameterServer(ServerJob(*job), self._calls)
                if state is not None:
                    self._server.begin(ServerState(*state)._replace(epoch=epoch))
            elif self._worker is None:
                self._worker = GradientWorker(WorkerJob(*job), self._calls)
            else:
                self._worker.begin()
        self._calls.answer(request, None)

    def report_failure(self, text: str) -> None:
        """Tell the chief about an exception; `text` is its traceback."""
        self._calls.call(DRIVER, "crash", text)


def build_peer(job: dict[str, Any], links: Links, epoch: int) -> TrainingPeer:
    """The peer of a training."""
    return TrainingPeer(links, epoch)
