"""Twins of workers that differ from the true ones in one rule: the laws of distributed runs catch each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.distributed_laws import channel_violations, violations
from support.programs.parallel_programs import careless, fib, sums
from support.twins.broken_twin import Break, broken
from support.twins.distributed_twins import saves_without_draining
from tagloom.core import tag
from tagloom.core.errors import TagloomError
from tagloom.core.tag import Tag
from tagloom.interp.engines.distributed.channels import Channels, PeerChannel
from tagloom.interp.engines.distributed.driver import Driver
from tagloom.interp.engines.distributed.memory import CellMemory
from tagloom.interp.engines.distributed.messages import Batch, FiringRequest, FiringResult
from tagloom.interp.engines.distributed.meter import DepthMeter
from tagloom.interp.engines.distributed.network import NetworkLinks, NetworkPool
from tagloom.interp.engines.distributed.stores import WorkerStores
from tagloom.interp.engines.distributed.worker import Worker


@tl.function
def printed(n: tl.int64) -> tl.int64:
    """A tree of calls that print, and share cells."""
    table = tl.cells(n, tl.int64)
    return tl.while_loop(lambda i: i < n, lambda i: (fill(table, i), i + 1)[1], 0)[0] + tl.sum(tl.collect(table))


@tl.function
def fill(table: tl.Cells[tl.int64], i: tl.int64) -> tl.int64:
    tl.print("cell {}", i)
    tl.put(table, i, tl.cond(i < 2, lambda: i, lambda: tl.get(table, i - 1) + tl.get(table, i - 2)))
    return i


def takes_batches_twice(patch: MonkeyPatch) -> None:
    """A batch that is repeated is applied again, under the next number."""
    true = Channels.receive

    def receive(self: Channels) -> Iterator[Any]:
        for sender, message in true(self):
            yield sender, message
            if self.channels[sender].last_received % 5 == 4 and type(message).__name__ == "TokenTransfer":
                yield sender, message

    patch.setattr(Channels, "receive", receive)


def forgets_numbers(patch: MonkeyPatch) -> None:
    """Batches are taken in the order in which they come."""

    class Unordered(dict[int, Any]):
        def pop(self, number: int, default: Any = None) -> Any:
            return super().pop(next(iter(self), number), default)

    true = PeerChannel.__init__

    def init(self: PeerChannel) -> None:
        true(self)
        self.early_batches = Unordered()

    patch.setattr(PeerChannel, "__init__", init)


def never_resends(patch: MonkeyPatch) -> None:
    """What is lost stays lost."""
    patch.setattr(NetworkLinks, "flushes_before_resending", 10**9)


def ignores_epochs(patch: MonkeyPatch) -> None:
    """Batches from before a rollback are taken."""
    true = Channels._is_current

    def is_current(self: Channels, batch: Batch) -> bool:
        return true(self, batch) or (batch.epoch < self.epoch and self.has_begun)

    patch.setattr(Channels, "_is_current", is_current)


def begins_without_stores(patch: MonkeyPatch) -> None:
    """A worker goes on in a new epoch before the driver has sent its stores."""
    patch.setattr(Channels, "has_begun", property(lambda self: True))


def forgets_messages_in_transit(patch: MonkeyPatch) -> None:
    """The run counts as over as soon as all workers are idle."""
    true = Driver._act_on_reports

    def judge(self: Driver) -> None:
        if all(report.is_idle for report in self._reports.values()):
            self._received_when_idle = self._channels.work_sent + sum(
                report.sent_count for report in self._reports.values()
            )
        true(self)

    patch.setattr(Driver, "_act_on_reports", judge)


def asks_once(patch: MonkeyPatch) -> None:
    """The run counts as over when the counters of one round agree: there is no second round."""
    true = Driver._act_on_reports

    def judge(self: Driver) -> None:
        reports = self._reports.values()
        self._received_when_idle = self._channels.work_received + sum(report.received_count for report in reports)
        true(self)

    patch.setattr(Driver, "_act_on_reports", judge)


def repeats_effects(patch: MonkeyPatch) -> None:
    """Effects are performed again after a rollback."""
    true = Driver._perform

    def perform(self: Driver, request: FiringRequest) -> FiringResult:
        self._effect_results.pop((request.token.node, request.token.tag), None)
        return true(self, request)

    patch.setattr(Driver, "_perform", perform)


def forgets_effects_early(patch: MonkeyPatch) -> None:
    """A checkpoint drops all results of effects, also those that it does not contain."""
    true = Driver._finish_checkpoint

    def finish(self: Driver) -> None:
        true(self)
        self._effect_results.clear()

    patch.setattr(Driver, "_finish_checkpoint", finish)


def closes_early(patch: MonkeyPatch) -> None:
    """An activation does not wait for the calls in it that were donated."""
    true = Worker._note_donation

    def note_donation(self: Worker, tag: Tag, receiver: int) -> int:
        result = true(self, tag, receiver)
        assert tag.parent is not None
        self._state.records[tag.parent].open_children -= 1
        return result

    patch.setattr(Worker, "_note_donation", note_donation)


def opens_proxies_as_activations(patch: MonkeyPatch) -> None:
    """The outcome counts proxies as open activations; those of activations that never close stay."""
    patch.setattr(WorkerStores, "open_proxy", opens_plain_record)


def opens_plain_record(self: WorkerStores, tag: Tag, donor: int) -> None:
    self.state._open_record(tag)
    self.donors[tag] = donor


def forgets_stores_of_cells(patch: MonkeyPatch) -> None:
    """A read of a cell is as deep as its operands say."""
    patch.setattr(CellMemory, "_depth_read", lambda self, op, inputs: 0)


def forgets_depths(patch: MonkeyPatch) -> None:
    """Tokens from other workers count as if the environment had sent them."""
    true = Worker._receive_tokens
    patch.setattr(
        Worker, "_receive_tokens", lambda self, sender, message: true(self, sender, message._replace(depth=0))
    )


def forgets_waiting(patch: MonkeyPatch) -> None:
    """The operands that wait are those of one worker."""
    true = DepthMeter.add

    def add(self: DepthMeter, other: DepthMeter) -> None:
        changes = self.waiting_changes.copy()
        true(self, other)
        self.waiting_changes = changes or self.waiting_changes

    patch.setattr(DepthMeter, "add", add)


def finds_tags_by_hash(patch: MonkeyPatch) -> None:
    """Workers take tags of one key for the same; a key has four bits, so that some have."""
    patch.setattr(Tag, "__eq__", lambda self, other: isinstance(other, Tag) and self.key == other.key)


def waits_for_suspended_workers(patch: MonkeyPatch) -> None:
    """A worker counts as alive, however long it has been silent."""
    patch.setattr(NetworkPool, "heartbeat_timeout", 10**9)


MAX_ROUNDS = 5_000
"""The true workers need some hundred rounds for the programs below."""
TWINS: tuple[Any, ...] = (
    takes_batches_twice,
    forgets_numbers,
    never_resends,
    ignores_epochs,
    begins_without_stores,
    forgets_messages_in_transit,
    asks_once,
    repeats_effects,
    forgets_effects_early,
    saves_without_draining,
    closes_early,
    opens_proxies_as_activations,
    forgets_stores_of_cells,
    forgets_depths,
    forgets_waiting,
    waits_for_suspended_workers,
)


def differences(seeds: int) -> Iterator[str]:
    """The violations of channels, and of small programs, on many networks."""
    for seed in range(seeds):
        yield from channel_violations(seed)
        for function, argument in ((fib, 6), (printed, 6), (sums, 3), (careless, 5)):
            yield from violations(function.graph, [argument], 2 + seed % 3, f"network:{seed}")


def first_difference(seeds: int = 40) -> str | None:
    """The first violation, or the error of a run that fails; a run that has not ended after MAX_ROUNDS fails, too."""
    true = NetworkPool.advance

    def advance(self: NetworkPool) -> list[int]:
        assert self.clock() < MAX_ROUNDS, "the run does not end"
        return true(self)

    with MonkeyPatch.context() as patch:
        patch.setattr(NetworkPool, "advance", advance)
        try:
            return next(differences(seeds), None)
        except (AssertionError, LookupError, TypeError, ValueError, TagloomError) as error:
            return repr(error)


@pytest.mark.full
@pytest.mark.parametrize("how", TWINS, ids=lambda how: getattr(how, "__name__", None))
def test_the_laws_catch_broken_workers(how: Break) -> None:
    """All workers that differ in one rule break a law."""
    with broken(how):
        difference = first_difference()
    assert difference is not None
    print(difference[:200])


@pytest.mark.full
def test_tags_of_one_key_are_not_one_tag(monkeypatch: MonkeyPatch) -> None:
    """T4: nothing is found by the hash of a tag alone. Runs agree if many tags have the same key, and the twin that
    takes these for one tag is caught."""
    true = tag.child_key
    monkeypatch.setattr(tag, "child_key", lambda key, site, iteration: true(key, site, iteration) & 15)
    assert next(differences(3), None) is None
    with broken(finds_tags_by_hash):
        assert first_difference() is not None


@pytest.mark.full
def test_true_workers_keep_the_laws() -> None:
    """The true workers break no law on the programs that catch the twins, and end in time."""
    assert first_difference(12) is None
