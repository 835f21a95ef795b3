"""Twins of servers, workers and chiefs that differ from the true ones in one rule: the laws of trainings catch each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pytest import MonkeyPatch
from support.laws.training_laws import DEADLY, LOSSY, Training, violations
from support.twins.broken_twin import Break, broken
from tagloom.core.errors import TagloomError
from tagloom.interp.engines.distributed.network import Faults, NetworkLinks
from tagloom.interp.training.parameter_servers import server as server_module
from tagloom.interp.training.parameter_servers.chief import Chief
from tagloom.interp.training.parameter_servers.messages import ServerState, Values
from tagloom.interp.training.parameter_servers.peer import TrainingPeer
from tagloom.interp.training.parameter_servers.server import ParameterServer
from tagloom.interp.training.parameter_servers.worker import GradientWorker

BACKUP = Training(0, workers=4, servers=1, aggregate=2, faults=LOSSY, has_table=False)
"""Two workers of four are backup workers."""
SYNCHRONISED = Training(0, faults=LOSSY, has_table=False)
DEATHS = Faults(death=0.01, max_deaths=5, suspension=0.0)
KILLED = Training(0, workers=2, faults=DEATHS, has_table=False, checkpoint_steps=2)
WITH_TABLE = Training(0, workers=2, faults=LOSSY)
ASYNCHRONOUS = Training(0, servers=1, synchronisation="async", faults=LOSSY, has_table=False)


def takes_late_gradients(patch: MonkeyPatch) -> None:
    """A server takes a gradient of any step."""
    true = ParameterServer._take
    patch.setattr(
        ParameterServer, "_take", lambda self, worker, gradient: true(self, worker, gradient._replace(tag=self._step))
    )


def takes_gradients_twice(patch: MonkeyPatch) -> None:
    """A server takes a gradient each time that it comes."""
    true = ParameterServer._take

    def take(self: ParameterServer, worker: int, gradient: Any) -> None:
        self._last_tags[worker] = -1
        true(self, worker, gradient)

    patch.setattr(ParameterServer, "_take", take)


def adds_in_order_of_arrival(patch: MonkeyPatch) -> None:
    """A server adds gradients up as they come."""
    patch.setattr(server_module, "sorted", lambda gradients: list(reversed(list(gradients))), raising=False)


def rolls_back_one_server(patch: MonkeyPatch) -> None:
    """After the death of a server, the others stay at their step."""
    true = Chief._roll_back

    def roll_back(self: Chief, servers: Sequence[int]) -> None:
        true(self, servers)
        for server in servers:
            self._states[server] = self._states[server][-1:]

    patch.setattr(
        Chief, "_last_common_step", lambda self, servers: max(s.step for k in servers for s in self._states[k])
    )
    patch.setattr(Chief, "_roll_back", roll_back)


def forgets_the_slots(patch: MonkeyPatch) -> None:
    """A checkpoint has the step of a server, and the stores of the beginning."""
    true = ParameterServer._save

    def save(self: ParameterServer) -> None:
        stores = self._stores
        if not self._is_over:
            self._stores = [store * 0 for store in stores]  # type: ignore[operator]
        true(self)
        self._stores = stores

    patch.setattr(ParameterServer, "_save", save)


def ignores_incarnations(patch: MonkeyPatch) -> None:
    """A peer that replaces another takes what the chief had told that one."""
    true = TrainingPeer.__init__
    patch.setattr(TrainingPeer, "__init__", lambda self, links, epoch: true(self, links, 0))


def mixes_versions(patch: MonkeyPatch) -> None:
    """A worker computes from whatever values it has."""
    true = GradientWorker._proceed

    def proceed(self: GradientWorker) -> None:
        answers = dict(self._answers)
        steps = {answer.step for answer in answers.values()}
        if len(steps) > 1 and not all(answer.is_over for answer in answers.values()):
            self._send_gradient(list(answers.values()), [answer.step for answer in answers.values()])
        else:
            true(self)

    patch.setattr(GradientWorker, "_proceed", proceed)


def forgets_former_values(patch: MonkeyPatch) -> None:
    """A server has the values of its step only: a worker that needs those of the step before waits for ever."""
    true = ParameterServer._answer_calls

    def answer_calls(self: ParameterServer) -> None:
        self._pending_calls = {
            sender: (request, exchange._replace(is_exact=False))
            for sender, (request, exchange) in self._pending_calls.items()
        }
        true(self)

    patch.setattr(ParameterServer, "_answer_calls", answer_calls)


def says_former_values_are_current(patch: MonkeyPatch) -> None:
    """A server answers with the values of the step before, whatever was asked."""
    true = ParameterServer._answer_calls

    def answer_calls(self: ParameterServer) -> None:
        stores, self._stores = self._stores, self._former_stores
        true(self)
        self._stores = stores

    patch.setattr(ParameterServer, "_answer_calls", answer_calls)


def never_repeats_calls(patch: MonkeyPatch) -> None:
    """What is lost stays lost."""
    patch.setattr(NetworkLinks, "flushes_before_resending", 10**9)


def counts_repeated_gradients_as_dropped(patch: MonkeyPatch) -> None:
    """A gradient that comes again counts as a late one."""
    true = ParameterServer._take

    def take(self: ParameterServer, worker: int, gradient: Any) -> None:
        self._dropped_count += gradient.tag <= self._last_tags[worker]
        true(self, worker, gradient)

    patch.setattr(ParameterServer, "_take", take)


def gathers_other_rows(patch: MonkeyPatch) -> None:
    """A worker takes rows for another step."""
    true = GradientWorker._proceed

    def proceed(self: GradientWorker) -> None:
        for server, answer in self._answers.items():
            self._answers[server] = Values(*answer)._replace(rows_tag=max(self._tag, answer.step))
        true(self)

    patch.setattr(GradientWorker, "_proceed", proceed)


def keeps_records_of_lost_steps(patch: MonkeyPatch) -> None:
    """The report has also the steps that a rollback has undone."""
    true = Chief._roll_back

    def roll_back(self: Chief, servers: Sequence[int]) -> None:
        records = {server: [record for state in self._states[server] for record in state.updates] for server in servers}
        true(self, servers)
        for server in servers:
            last = self._states[server][-1]
            self._states[server][-1] = ServerState(*last)._replace(updates=records[server] + list(last.updates))

    patch.setattr(Chief, "_roll_back", roll_back)


TWINS: tuple[tuple[Break, Training], ...] = (
    (takes_late_gradients, BACKUP),
    (takes_gradients_twice, ASYNCHRONOUS),
    (adds_in_order_of_arrival, SYNCHRONISED),
    (rolls_back_one_server, KILLED),
    (forgets_the_slots, KILLED),
    (ignores_incarnations, KILLED),
    (mixes_versions, KILLED),
    (forgets_former_values, KILLED),
    (says_former_values_are_current, SYNCHRONISED),
    (never_repeats_calls, SYNCHRONISED),
    (counts_repeated_gradients_as_dropped, SYNCHRONISED),
    (gathers_other_rows, replace(WITH_TABLE, workers=4, aggregate=2)),
    (keeps_records_of_lost_steps, KILLED),
)


def differences(training: Training, seeds: int) -> Iterator[str]:
    """The violations of a training on many networks."""
    for seed in range(seeds):
        yield from violations(replace(training, seed=seed))


def first_difference(training: Training, seeds: int = 30) -> str | None:
    """The first violation, or the error of a training that fails."""
    try:
        return next(differences(training, seeds), None)
    except (AssertionError, LookupError, TypeError, ValueError, TagloomError) as error:
        return repr(error)


@pytest.mark.full
@pytest.mark.parametrize(("how", "training"), TWINS, ids=lambda part: getattr(part, "__name__", ""))
def test_the_laws_catch_broken_trainings(how: Break, training: Training) -> None:
    """All servers, workers and chiefs that differ in one rule break a law."""
    with broken(how):
        difference = first_difference(training)
    assert difference is not None
    print(difference[:200])


@pytest.mark.full
@pytest.mark.parametrize("training", [BACKUP, SYNCHRONISED, KILLED, WITH_TABLE, ASYNCHRONOUS], ids=str)
def test_true_trainings_keep_the_laws(training: Training) -> None:
    """The true ones break no law on the trainings that catch the twins."""
    assert first_difference(training, 3) is None
    assert first_difference(replace(training, faults=DEADLY), 2) is None
