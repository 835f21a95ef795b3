"""`check --every-schedule`: its counts, its verdict, and two scripts if endings differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.oracle import all_schedules as module
from tagloom.interp.oracle.all_schedules import every_firing, explore

RACE = "graph two(x: int64, y: int64) -> int64 {\n  m = merge x, y\n  return m\n}\n"
BREACH = "graph both(x: int64) -> int64 {\n  m = add x | x, m\n  return m\n}\n"


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@pytest.mark.full
def test_one_ending(tagloom: Any) -> None:
    """If all schedules agree, the output has the ending and the numbers of schedules and states, and the exit code is
    0."""
    assert tagloom("check", "fib.py:fib", "1", "--every-schedule") == (
        0,
        "every      agrees   Returned   1 after 7 firings\n96 schedules, 31 states, 1 ending\n",
        "",
    )
    code, out, _ = tagloom("check", "ends.py:divide", "1", "0", "--every-schedule")
    assert (code, out.splitlines()[0]) == (0, "every      agrees   Trapped    - after 3 firings")
    code, out, err = tagloom("check", "fib.py:fib", "2", "--every-order")
    outcomes = explore(fib.graph, [2], choices=every_firing)
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == f"{outcomes.schedules:,} schedules, {outcomes.states:,} states, 1 ending"


@pytest.mark.full
def test_endings_that_differ(tagloom: Any, folder: Path) -> None:
    """A race is refused without --unchecked. With it, each ending has its line, the difference has two scripts that
    lead to these endings, and the exit code is 1."""
    (folder / "race.tl").write_text(RACE)
    assert tagloom("check", "race.tl:two", "1", "2", "--every-schedule").code == 2
    code, out, err = tagloom("check", "race.tl:two", "1", "2", "--every-schedule", "--unchecked")
    lines = out.splitlines()
    assert (code, len(lines), lines[-1]) == (1, 5, "4 schedules, 5 states, 4 endings")
    assert lines[1] == "every      differs  Broken     1 after 2 firings, 1 as by 0 1 0"
    assert err.splitlines()[:3] == [
        "the endings differ (two under every schedule)",
        "  required: Broken - after 1 firing, 1 as by 0 0",
        "  got: Broken 1 after 2 firings, 1 as by 0 1 0",
    ]
    race = tl.parse_graph(RACE)
    assert [
        run_graph(race, [1, 2], schedule=tl.Script(script), unchecked=True).firings for script in ((0, 0), (0, 1, 0))
    ] == [1, 2]


def test_a_race_of_the_machine(tagloom: Any, monkeypatch: MonkeyPatch) -> None:
    """A machine whose sum is its last operand has two endings on a valid program."""

    def racing(state: State, position: int) -> Event:
        event = step(state, position)
        if event.is_firing and event.sent and state.graph.nodes[event.token.node].op == "add":
            return event._replace(sent=tuple(token._replace(value=event.token.value) for token in event.sent))
        return event

    monkeypatch.setattr(module, "step", racing)
    code, out, err = tagloom("check", "add.py", "2", "3", "--every-schedule")
    assert (code, out.splitlines()[-1], err.count("as by")) == (1, "6 schedules, 12 states, 2 endings", 2)


def test_every_schedule_is_broken(tagloom: Any, folder: Path) -> None:
    """If all schedules break in the same way they agree; the error is printed, and the exit code is 1."""
    (folder / "breach.tl").write_text(BREACH)
    code, out, err = tagloom("check", "breach.tl:both", "1", "--every-schedule", "--unchecked")
    assert (code, out.splitlines()[0]) == (1, "every      agrees   Broken     - after 0 firings")
    assert err.startswith("S4: ")


@pytest.mark.parametrize("words", [["--unchecked"], ["--unchecked", "--every-order"]])
def test_unchecked_is_for_every_schedule(tagloom: Any, words: list[str]) -> None:
    """--unchecked is refused without --every-schedule, and with --every-order, which needs a valid graph."""
    code, out, err = tagloom("check", "add.py", "2", "3", *words)
    assert (code, out) == (2, "") and err.startswith("--unchecked is for --every-schedule")


@pytest.mark.full
def test_runs_that_are_too_large(tagloom: Any) -> None:
    """A limit ends the exploration, with exit code 1 and a hint."""
    code, out, err = tagloom("check", "fib.py:fib", "6", "--every-schedule", "--max-states", "50")
    assert (code, out) == (1, "") and "more than 50 states" in err and "--max-states" in err
    assert tagloom("check", "ends.py:endless", "2", "--every-order").err.startswith("S12: the schedules of this run")
