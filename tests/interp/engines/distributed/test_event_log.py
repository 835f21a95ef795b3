"""Logs of runs on workers: they are logs of one machine, which know the worker of each event."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import act_cases, unbounded
from support.generators.generator import Case, cases
from support.laws.distributed_laws import log_violations
from support.programs.parallel_programs import careless, fib, fragile, relayed, sums
from support.twins.broken_twin import Break, broken
from tagloom.core.errors import TagloomError, Usage
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.distributed import event_log
from tagloom.interp.engines.distributed.event_log import StampOrder
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import Event, Token
from tagloom.interp.machine.state import State

DICE = st.integers(0, 2**32 - 1).map(Random)


@tl.function
def asked(n: tl.int64) -> tl.int64:
    """Callbacks, prints, cells and a placed node."""
    table = tl.cells(n, tl.int64)
    for i in range(n):
        with tl.device("/job:ps/task:0"):
            table[i] = tl.callback(lambda x: x * 10, i, returns=tl.int64) + i
    tl.print("n", n)
    return tl.sum(tl.collect(table)) + fib(n)


@tl.function
def stuck(n: tl.int64) -> tl.int64:
    """A cell that nothing fills."""
    table = tl.cells(n, tl.int64)
    return fib(5) + tl.get(table, 1)


@settings(max_examples=9, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(cases() | cases(arrays=True) | act_cases(bounded=False, early=True), DICE)
def test_generated_programs(tmp_path_factory: pytest.TempPathFactory, case: Case, dice: Random) -> None:
    """The log of a run on a faulty network is a run of one machine, and its trace follows the format."""
    path = tmp_path_factory.mktemp("logs") / dice.choice(["run.jsonl", "run.npz"])
    workers, cluster = dice.choice([1, 2, 3]), f"network:{dice.randrange(10**6)}"
    assert list(log_violations(lower(unbounded(case.program)), case.arguments, workers, cluster, path)) == []


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", [fib, asked, stuck, sums, relayed, fragile, careless], ids=lambda each: each.name)
def test_small_programs(function: tl.Function, tmp_path: Path) -> None:
    """Recursion, callbacks, cells, deadlocks and traps have logs, and so have runs that a limit ends."""
    for seed, limits in ((1, Limits()), (2, Limits(firings=40)), (3, Limits(firings=0))):
        run = function.run(5, engine="distributed", workers=3, cluster=f"network:{seed}", limits=limits, keep="events")
        assert len(run.events) == len(run.cluster.lanes.ranks)
        path = tmp_path / f"{seed}.jsonl"
        function.run(5, engine="distributed", workers=3, cluster=f"network:{seed}", limits=limits, keep=path)
        history = History.load(path)
        assert history.outcome().status == run.status
        assert list(map(repr, history)) == list(map(repr, run.events))
        again = tmp_path / f"{seed}.npz"
        history.save(again)
        assert History.load(again).lanes == history.lanes == run.cluster.lanes
        history.jump(len(history) // 2)
        assert len(history.branch().lanes.ranks) == len(history) // 2


def test_questions_cross_workers(tmp_path: Path) -> None:
    """`why` names the worker of each firing, and tokens that cross are known: donations of calls, and results."""
    path = tmp_path / "run.jsonl"
    fib.run(6, engine="distributed", workers=2, keep=path)
    history = History.load(path)
    answer = history.ask.tree("fib.add", "main")
    assert "on worker 0" in answer and "on worker 1" in answer
    lanes, donations = history.lanes, [crossing for crossing in history.crossings if crossing.is_donation]
    assert lanes is not None and 0 < len(donations) < len(history.crossings)
    for donation in donations:
        sender, receiver = history[donation.sender], history[donation.receiver]
        assert lanes.ranks[donation.sender] != lanes.ranks[donation.receiver]
        assert receiver.token.tag.parent == sender.token.tag
        assert receiver.token in sender.sent


class UnscannedFlight(deque[Token]):
    """A flight through which nobody may search."""

    def __iter__(self) -> Iterator[Token]:
        raise AssertionError("the order searches through the flight")


def test_the_order_does_not_search_the_flight(monkeypatch: MonkeyPatch) -> None:
    """A loop that runs ahead has thousands of tokens in flight: a search for each event would take the square of their
    number."""
    true = StampOrder.__init__

    def begin(self: StampOrder, state: State, *arguments: Any) -> None:
        true(self, state, *arguments)
        state.flight = UnscannedFlight(state.flight)

    monkeypatch.setattr(StampOrder, "__init__", begin)
    run = fib.run(5, engine="distributed", workers=2, keep="events")
    assert run.value == 5 and len(run.events) == len(run.cluster.lanes.ranks)


def test_logs_that_are_refused(tmp_path: Path) -> None:
    """A run from a checkpoint lacks the first events; and a line of workers has a valid rank for each event."""
    checkpoint, path = tmp_path / "run.json", tmp_path / "run.jsonl"
    fib.run(4, engine="distributed", checkpoint=checkpoint)
    with pytest.raises(Usage, match="the events of a resumed run cannot be kept"):
        fib.run(4, engine="distributed", resume=checkpoint, keep=path)
    fib.run(7, engine="distributed", keep=path)
    text = path.read_text()
    for old, new in (
        ('"count":2', '"count":0'),
        ('"count":2', '"count":65'),
        ('"count":2', '"count":1'),
        ('"ranks":[', '"ranks":[2,'),
        ('"ranks":[0', '"ranks":[7'),
        ('"ranks":[0', '"ranks":[-2'),
        ('"times":[0', '"times":[-1'),
        ('"devices":[]', '"devices":["a","b","c"]'),
        ('{"workers"', '{"workers":1}\n{"workers"'),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(TagloomError):
            History.load(path)


def delivers_the_oldest(patch: MonkeyPatch) -> None:
    """Firings are not in the order of the timeline."""
    patch.setattr(StampOrder, "pick", lambda self, state: 0)


def forgets_effects(patch: MonkeyPatch) -> None:
    """Callbacks have no results."""
    true = StampOrder.__init__
    patch.setattr(StampOrder, "__init__", lambda self, state, timeline, results: true(self, state, timeline, {}))


def ignores_woken_reads(patch: MonkeyPatch) -> None:
    """A deferred read that is woken is not ready again."""
    true = StampOrder.observe

    def observe(self: StampOrder, event: Event) -> None:
        true(self, event._replace(woken=()))

    patch.setattr(StampOrder, "observe", observe)


def fires_too_early(patch: MonkeyPatch) -> None:
    """A firing is ready with its first operand."""

    def note(self: StampOrder, token: Token) -> None:
        if entry := self._entries.get((token.node, token.tag)):
            event_log.heappush(self._enabled_firings, (entry.time, next(self._serial_numbers), token.node, token.tag))

    patch.setattr(StampOrder, "_note_arrival", note)


@pytest.mark.full
@pytest.mark.parametrize("twin", [delivers_the_oldest, forgets_effects, ignores_woken_reads, fires_too_early])
def test_the_law_catches_broken_logs(twin: Break, tmp_path: Path) -> None:
    """Each twin breaks the law on a small program."""

    def breach() -> str | None:
        for function in (fib, asked, relayed, sums, stuck):
            for seed in range(20):
                path = tmp_path / "run.jsonl"
                for fault in log_violations(function.graph, [4], 3, f"network:{seed}", path):
                    return fault
        return None

    with broken(twin):
        try:
            found = breach()
        except (TagloomError, LookupError, RuntimeError) as error:
            found = repr(error)
    assert found
    print(found)
