"""Schedules: which token each picks, and that each name gives one run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import tagloom as tl
from support.observe.event_text import event_lines
from support.programs.hand_written_graphs import sum_graph
from tagloom.interp.machine.schedule import schedule, splitmix64
from tagloom.interp.machine.state import State

PUBLISHED = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F],
    1234567: [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
}
"""The first outputs for a seed: of 0 those of Vigna's splitmix64.c, of 1234567 those on Rosetta Code."""


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


class SplitMix:
    """SplitMix64 as in Vigna's splitmix64.c: a state that grows by the golden ratio, and a mix of it."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = ((z ^ (z >> shift)) * factor) % 2**64
        return z ^ (z >> 31)


def state_with(flight: int, steps: int) -> Any:
    return SimpleNamespace(flight=range(flight), steps=steps)


@pytest.mark.parametrize("seed", PUBLISHED)
def test_splitmix64_gives_the_published_numbers(seed: int) -> None:
    """splitmix64(seed, n) is the n-th published number of the seed."""
    assert [splitmix64(seed, number) for number in range(len(PUBLISHED[seed]))] == PUBLISHED[seed]


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63, 2**64 - 1])
def test_splitmix64_is_the_generator(seed: int) -> None:
    """splitmix64(seed, n), which has no state, is the n-th output of the generator with a state."""
    generator = SplitMix(seed)
    assert [splitmix64(seed, number) for number in range(1000)] == [generator.next() for _ in range(1000)]


@pytest.mark.parametrize(("name", "position"), [("fifo", 0), ("waves", 0), ("lifo", 4)])
def test_fifo_takes_the_oldest_and_lifo_the_youngest(name: str, position: int) -> None:
    """fifo and waves take the first token of the flight, and lifo the last, at every step."""
    assert {schedule(name)(state_with(5, steps)) for steps in range(20)} == {position}


def test_random_picks_by_the_number_of_the_step() -> None:
    """random:SEED picks splitmix64(SEED, steps so far) modulo the length of the flight, and has no state."""
    pick = schedule("random:1234567")
    numbers = PUBLISHED[1234567]
    for length in (1, 2, 5, 1000):
        picked = [pick(state_with(length, steps)) for steps in (0, 1, 2, 3, 4, 0)]
        assert picked == [number % length for number in (*numbers, numbers[0])]


@pytest.mark.parametrize("name", ["fifo", "lifo", "waves", "random:0", "random:7"])
def test_a_schedule_s_name_determines_the_run(name: str) -> None:
    """The same schedule gives the same events of the same program."""
    once, again = (fib.run(6, schedule=name, keep="events") for _ in "12")
    assert once.events == again.events
    assert once.schedule == name


@pytest.mark.full
def test_another_seed_is_another_run() -> None:
    """Different seeds deliver in different orders, with the same number of firings."""
    runs = [fib.run(6, schedule=f"random:{seed}", keep="events") for seed in range(8)]
    assert len({tuple(event_lines(run)) for run in runs}) == 8
    assert {run.stats.by_node for run in runs} == {runs[0].stats.by_node}


def test_random_picks_follow_the_formula_in_a_run() -> None:
    """The position of each event is the formula's, for the length of the flight at that step."""
    out = fib.run(6, schedule="random:7", keep="events")
    state = State(out.graph, [6])
    for number, event in enumerate(out.events):
        assert event.position == splitmix64(7, number) % len(state.flight)
        state.apply(event)


def test_waves_is_fifo_with_a_clock() -> None:
    """fifo and waves give the same events; only waves measures time."""
    fifo, waves = (fib.run(7, schedule=name, keep="events") for name in ("fifo", "waves"))
    assert fifo.events == waves.events
    assert (fifo.stats.span, waves.stats.span) == (None, len(waves.stats.profile or ()))


def test_lifo_delivers_the_youngest() -> None:
    """lifo delivers the token that was sent last first, however long others wait."""
    out = tl.run_graph(sum_graph(), [3, 4], schedule="lifo", keep="events")
    assert event_lines(out) == [
        "outer[1] <- 4 @ main: waits",
        "inner[1] <- 4 @ main: waits",
        "inner[0] <- 3 @ main: sends 7 to outer[0]",
        "outer[0] <- 7 @ main: sends 11 to return[0]",
        "return[0] <- 11 @ main: sends 11 to result 0; closes main",
    ]


UNKNOWN = ["", "FIFO", "random", "random:", "random:-1", "random:x", "random:1.5", "random:²", "random:7 ", "lifo:3"]


@pytest.mark.parametrize("name", [*UNKNOWN, "random:" + "9" * 20, 7, None])
def test_unknown_schedules_are_refused(name: Any) -> None:
    """An unknown schedule is refused before the run, with the names of the known ones."""
    with pytest.raises(tl.Usage) as raised:
        fib.run(3, schedule=name)
    assert str(raised.value) == (
        f"no schedule is called {name!r}\n  required: fifo, lifo, waves, random:SEED, hand:FILE\n"
        "  hint: as in --schedule random:7"
    )
