"""The driver of a distributed run: it starts the workers, performs outside effects, and notices the end.

**The end.** Workers answer probes with the number of work messages that they have sent and received, and whether they
are idle. A run has ended if all workers were idle in one round of probes, and had received as many messages by then as
all have sent by the next round. Then no message was on its way in between, and no worker has become busy since. This is
Mattern's four-counter method (Algorithms for distributed termination detection, Distributed Computing 2, 1987). Then
the run is quiescent: it has returned, trapped or deadlocked, as its stores show.

**Checkpoints.** The driver pauses the workers, waits until the counters agree, and has them send their stores. If a
worker dies, a new one takes its place, a new epoch begins, and all continue from the last checkpoint. A run begins in
the same way, or from the checkpoint of a file (`run_file`).

**Effects.** Prints and callbacks happen here, and their results are kept by node and tag. A firing that is repeated
after a rollback has the same node, tag and operands; it gets the result that is kept. So each effect happens once. A
result is dropped when a checkpoint contains it; not before, since a run that was rolled back may not have repeated the
firing by the next checkpoint.

**Limits.** A limit on firings is given out in shares. A worker that has used up its share waits until all others are
idle or wait, too. Then the driver takes back the unused firings, and shares them out among the workers that wait. So a
run makes exactly as many firings as the limit allows. A limit on tokens at once is divided by the number of workers,
and each keeps its part; so is one on bytes, if they are processes. The limit on depth is exact. The driver checks the
clock and Ctrl-C in each turn, and its own memory at intervals.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, TypeAlias

from ....core.errors import Crash, TagloomError
from ....core.tag import Tag
from ...machine.effects import effect_rule
from ...machine.state import State
from ...outcome.outcome import limit_exceeded
from ...outcome.timeline import TimelineEntry
from ..limits import CLOCK_CHECK_STEPS, LimitMonitor, Limits, depth_error, external_limit_error
from .channels import Channels
from .messages import (
    Allowance,
    FailureNotice,
    FiringRequest,
    FiringResult,
    LimitNotice,
    Message,
    Pause,
    Probe,
    Report,
    Restore,
    Resume,
    Save,
    SavedStores,
    WorkerFailure,
)
from .pool import WorkerPool
from .run_file import SavedRun
from .timeline import read_timeline

MAX_DEATHS_WITHOUT_PROGRESS = 10
"""If more workers die before a checkpoint contains another step, the run fails: the program itself may be the
reason."""


CheckpointWriter: TypeAlias = Callable[[list[Any], Iterable[FiringResult]], None]
"""Writes a checkpoint: the stores of each worker, and the results of effects that these do not contain."""


class Phase(Enum):
    """The phase of the workers: they work; they are paused, and messages are still on their way; or they send their
    stores."""

    WORKING = "working"
    DRAINING = "draining"
    SAVING = "saving"


class Driver:
    """The driver of one run."""

    def __init__(
        self,
        state: State,
        saved_run: SavedRun,
        pool: WorkerPool,
        limits: Limits,
        monitor: LimitMonitor,
        write_checkpoint: CheckpointWriter | None = None,
        *,
        has_timeline: bool = False,
    ) -> None:
        """`saved_run` is the state from which this run continues: its beginning, or a checkpoint. `state` is the first
        state of the run; its world performs the effects. `write_checkpoint` gets each checkpoint."""
        graph = state.graph
        self._graph, self._world, self._limits, self._monitor = graph, state.world, limits, monitor
        self._ranks, self._pool = range(len(saved_run.stores)), pool
        self._channels = Channels(pool.links, has_timeline=has_timeline)
        self.timeline: list[TimelineEntry] = []
        """The timeline of all peers up to the last checkpoint, if it is recorded."""
        self._effects = [effect_rule(number, node) for number, node in enumerate(graph.nodes)]
        self._effect_results = {(result.node, result.tag): result for result in saved_run.effect_results}
        """The results of the effects that a rollback may repeat, by node and tag."""
        self._requested_effects: set[tuple[int, Tag]] = set()
        """The effects that were requested in this epoch since the last checkpoint."""
        self.recorded_effects = dict(self._effect_results) if has_timeline else None
        """The results of all effects so far, by node and tag, if a timeline is recorded."""
        self._checkpoint: list[Any] = saved_run.stores
        """The stores of each worker, as documents."""
        self._write_checkpoint = write_checkpoint
        self._save_time = self._checkpoint_time = pool.clock()
        """When the workers were last asked for their stores, and when all of these had come."""
        self._deaths_without_progress = 0
        """The deaths since a checkpoint that was later in the run than the previous checkpoint."""
        self._is_over = False
        self._turns = 0
        self.checkpoints = self.deaths = 0
        self.messages: Counter[str] = Counter()
        """The number of messages sent since the last rollback, by class."""
        self.error: TagloomError | None = None
        """The limit that ended the run."""
        self._has_deadline = False
        """Whether the clock, memory or Ctrl-C has ended the run; its workers then have little time to send their
        stores."""
        self._final_deadline = float("inf")
        self._begin_epoch()

    def run_to_end(self) -> None:
        """Run until the end. Raises Crash if a worker fails, or if workers die again and again."""
        while not self._is_over:
            deaths = self._pool.advance()
            for rank, message in self._channels.receive():  # the last words of a worker say why it died
                self._handle(rank, message)
            if deaths and not self._is_over:
                self._recover(deaths)
            self._check_limits()
            self._schedule()
            self._channels.flush()

    @property
    def worker_count(self) -> int:
        return len(self._ranks)

    def take_stores(self) -> deque[Any]:
        """The stores of each worker after the end of the run, as documents. The driver gives them up, so that each can
        be in memory only once."""
        documents, self._checkpoint = deque(self._checkpoint), []
        return documents

    def _begin_epoch(self) -> None:
        """Let all workers continue from the last checkpoint."""
        self._channels.begin_epoch(self._channels.epoch + 1)
        if self._channels.recorder is not None:
            self._channels.recorder.take_entries()
        self._phase, self._is_last = Phase.WORKING, False
        self._probe_number = 0
        self._requested_effects.clear()
        self._are_shares_back = False
        self._reports: dict[int, Report] = {}
        self._saved: dict[int, SavedStores] = {}
        self._received_when_idle: int | None = None
        """The number of work messages that had been received in the last round of probes, if all workers were idle."""
        self._probe_time = self._pool.clock()
        firings = [sum(document["firings"]) for document in self._checkpoint]
        for rank, allowance in zip(self._ranks, self._shares(firings, self._ranks), strict=True):
            self._channels.send(rank, Restore(self._checkpoint[rank], allowance))

    def _recover(self, deaths: Sequence[int]) -> None:
        """Replace workers that have died, and roll the run back."""
        self.deaths += len(deaths)
        self._deaths_without_progress += len(deaths)
        if self._deaths_without_progress > MAX_DEATHS_WITHOUT_PROGRESS:
            raise Crash("too many workers died", where=self._graph.name, got=f"{self.deaths} deaths")
        if self._has_deadline:
            self._is_over = True  # the last checkpoint has to do
            return
        self.error = None
        for rank in deaths:
            self._pool.replace(rank, self._channels.epoch)
        self._begin_epoch()

    def _handle(self, rank: int, message: Message) -> None:
        match message:
            case FiringRequest():
                self._channels.send(rank, self._perform(message))
            case Report(number=self._probe_number):
                self._reports[rank] = message
                if len(self._reports) == len(self._ranks):
                    self._act_on_reports()
            case SavedStores():
                self._saved[rank] = message
                if len(self._saved) == len(self._ranks):
                    self._finish_checkpoint()
            case LimitNotice(limit):
                self._end(self._limit_error(limit))
            case FailureNotice(text):
                raise WorkerFailure("a worker failed", where=self._graph.name, got=text)

    def _perform(self, request: FiringRequest) -> FiringResult:
        """The result of an effect, which is performed unless that was done."""
        token, inputs, _ = request
        key, recorder = (token.node, token.tag), self._channels.recorder
        start = 0.0 if recorder is None else recorder.clock()
        self._requested_effects.add(key)
        if key not in self._effect_results:
            effect = self._effects[token.node]
            assert effect is not None
            outputs, trap, *_ = effect({}, self._world, token, inputs)
            self._effect_results[key] = FiringResult(token.node, token.tag, outputs, trap, 0)
        if recorder is not None:
            recorder.record_firing(token.node, token.tag, start)
        if self.recorded_effects is not None:
            self.recorded_effects[key] = self._effect_results[key]
        return self._effect_results[key]

    # Rounds of probes

    def _schedule(self) -> None:
        """Begin a checkpoint or a round of probes, if it is time."""
        now = self._pool.clock()
        if now >= self._final_deadline:
            self._is_over = True
        elif self._phase is Phase.WORKING and now >= self._checkpoint_time + self._work_time():
            self._pause()
        elif self._phase is not Phase.SAVING and now >= self._probe_time:
            self._probe_number += 1
            self._reports.clear()
            self._probe_time = float("inf")
            self._broadcast(Probe(self._probe_number))

    def _work_time(self) -> float:
        """The time from the last checkpoint to the next one. A large store takes long to send."""
        duration = max(self._checkpoint_time - self._save_time, 0)
        return max(self._pool.checkpoint_interval, self._pool.work_per_checkpoint * duration)

    def _pause(self) -> None:
        self._phase, self._received_when_idle, self._probe_time = Phase.DRAINING, None, self._pool.clock()
        self._broadcast(Pause())

    def _broadcast(self, message: Message) -> None:
        for rank in self._ranks:
            self._channels.send(rank, message)

    def _act_on_reports(self) -> None:
        """Act on a round of reports."""
        reports = self._reports.values()
        sent_count = self._channels.work_sent + sum(report.sent_count for report in reports)
        received = self._channels.work_received + sum(report.received_count for report in reports)
        is_quiescent = self._received_when_idle == sent_count
        is_idle = all(report.is_idle for report in reports)
        self._received_when_idle = received if is_idle else None
        self._probe_time = self._pool.clock() + (0 if is_idle else self._pool.probe_interval)
        if is_quiescent and self._phase is Phase.WORKING and any(report.is_stalled for report in reports):
            self._share_firings()
        elif is_quiescent:
            self._is_last |= self._phase is Phase.WORKING
            self._phase, self._save_time = Phase.SAVING, self._pool.clock()
            self._broadcast(Save())

    def _finish_checkpoint(self) -> None:
        """All stores are here: they are the checkpoint, and the outcome of a run that is over."""
        former_steps = self._checkpoint_steps()
        self._checkpoint = [self._saved[rank].document for rank in self._ranks]
        self._checkpoint_time = self._pool.clock()
        if self._checkpoint_steps() > former_steps:
            self._deaths_without_progress = 0
        self.checkpoints += 1
        for key in self._requested_effects:
            del self._effect_results[key]
        self._requested_effects.clear()
        if self._write_checkpoint is not None:
            self._write_checkpoint(self._checkpoint, self._effect_results.values())
        self.messages = sum((Counter(saved_stores.messages) for saved_stores in self._saved.values()), Counter())
        self.messages += self._channels.message_counts
        if self._channels.recorder is not None:
            self.timeline += self._channels.recorder.take_entries()
            self.timeline += [
                entry for saved_stores in self._saved.values() for entry in read_timeline(saved_stores.timeline)
            ]
            self.timeline.sort(key=lambda entry: entry.time)
        self._saved.clear()
        if self._is_last:
            self._is_over = True
            return
        self._phase, self._received_when_idle, self._probe_time = Phase.WORKING, None, self._pool.clock()
        self._broadcast(Resume())

    def _checkpoint_steps(self) -> int:
        """The number of steps up to the last checkpoint."""
        return sum(document["steps"] for document in self._checkpoint)

    # Limits

    def _check_limits(self) -> None:
        self._turns += 1
        limit = self._monitor.exceeded_limit(CLOCK_CHECK_STEPS * self._turns, None)
        if limit is not None and self.error is None:
            self._end(self._limit_error(limit))

    def _limit_error(self, limit: str) -> TagloomError:
        if limit == "tokens":
            return limit_exceeded("tokens at once", "tokens", self._limits.max_tokens)
        if limit == "depth":
            return depth_error(self._limits, "distributed", self._limits.depth)
        return external_limit_error(limit, self._limits)

    def _end(self, error: TagloomError) -> None:
        """End the run at a limit: with the stores of this moment, or the last checkpoint if that takes too long."""
        if self.error is None:
            self.error, self._is_last = error, True
            if getattr(error, "limit", None) in ("seconds", "bytes", "interrupt"):
                self._has_deadline, self._final_deadline = True, self._pool.clock() + self._pool.final_timeout
            if self._phase is Phase.WORKING:
                self._pause()

    def _shares(self, firings: Sequence[int], ranks: Sequence[int]) -> list[int | None]:
        """The largest number of firings for each worker: those that it has made, and its share of the rest."""
        if self._limits.firings is None:
            return [None] * len(firings)
        share, remainder = divmod(max(self._limits.firings - sum(firings), 0), max(len(ranks), 1))
        extra = {rank: share + (position < remainder) for position, rank in enumerate(ranks)}
        return [count + extra.get(rank, 0) for rank, count in enumerate(firings)]

    def _share_firings(self) -> None:
        """Take back the shares of all workers; once they are back, divide the remaining shares among the workers that
        need them."""
        firings = [self._reports[rank].firings for rank in self._ranks]
        limit = self._limits.firings
        assert limit is not None
        if sum(firings) >= limit:
            self._end(limit_exceeded("firings", "firings", limit))
            return
        stalled = [rank for rank in self._ranks if self._reports[rank].is_stalled and self._are_shares_back]
        self._are_shares_back = not self._are_shares_back
        for rank, allowance in zip(self._ranks, self._shares(firings, stalled), strict=True):
            assert allowance is not None
            self._channels.send(rank, Allowance(allowance))
        self._received_when_idle = None
