"""Schedules by hand: a script of positions, as a value, as a file, and as the name of a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from tagloom.core.errors import Disagreement, Malformed
from tagloom.interp.machine.schedule import FIXED_SCHEDULES, Script, read_script, write_script


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


AFTER = st.sampled_from([*FIXED_SCHEDULES, "random:0", "random:18446744073709551615"])


@settings(max_examples=30)
@given(positions=st.lists(st.integers(0, 2**62)), then=AFTER)
def test_scripts_survive_a_round_trip(tmp_path_factory: Any, positions: list[int], then: str) -> None:
    """A script is read from its file unchanged: its positions, and the schedule after them."""
    path = tmp_path_factory.getbasetemp() / "script.json"
    write_script(Script(tuple(positions), then), path)
    assert read_script(path) == Script(tuple(positions), then)


@pytest.mark.parametrize("schedule", ["fifo", "lifo", "waves", "random:7"])
def test_a_run_follows_its_own_positions(tmp_path: Path, schedule: str) -> None:
    """The positions of a run's events, as a script or as a script file, give the same events."""
    out = fib.run(5, schedule=schedule, keep="events")
    script = Script(tuple(event.position for event in out.events))
    write_script(script, tmp_path / "run.json")
    for again in (script, f"hand:{tmp_path / 'run.json'}"):
        replayed = fib.run(5, schedule=again, keep="events")
        assert [event._replace(ends_wave=False) for event in replayed.events] == [
            event._replace(ends_wave=False) for event in out.events
        ]
        assert (replayed.schedule, replayed.results) == ("hand", out.results)


def test_the_schedule_follows_the_script() -> None:
    """After its positions, a script continues with its schedule."""
    half = tuple(event.position for event in fib.run(5, schedule="random:1", keep="events").events[:30])
    out = fib.run(5, schedule=Script(half, "lifo"), keep="events")
    assert tuple(event.position for event in out.events[:30]) == half
    assert out.value == 8
    assert (
        fib.run(5, schedule=Script((), "lifo"), keep="events").events
        == fib.run(5, schedule="lifo", keep="events").events
    )


def test_a_script_that_does_not_fit_is_reported() -> None:
    """A position without a token is a Disagreement; its message says how far the script fits."""
    with pytest.raises(Disagreement) as raised:
        fib.run(1, schedule=Script((0, 7)))
    assert str(raised.value) == (
        "the script takes a token that is not there (choice 1 of the script)\n"
        "  required: a position below 2\n  got: 7\n"
        "  hint: the script was made for another program, or other arguments; it fits the first 1 step"
    )


@pytest.mark.parametrize("position", [-1, 1.0, True, "0", None])
def test_wrong_positions_are_refused(position: Any) -> None:
    """A position is an integer of at least 0; anything else is refused."""
    with pytest.raises(tl.Usage, match="a position in the flight must be an integer from 0 up"):
        Script((0, position))


GARBAGE = [
    b"",
    b"\xff\xfe",
    b"[]",
    b"{}",
    b"null",
    b'{"tagloom":"schedule"}',
    b'{"tagloom":"program","version":1}',
    b'{"tagloom":"schedule","version":1,"positions":[-1],"then":"fifo"}',
    b'{"tagloom":"schedule","version":1,"positions":[1.5],"then":"fifo"}',
    b'{"tagloom":"schedule","version":1,"positions":[true],"then":"fifo"}',
    b'{"tagloom":"schedule","version":1,"positions":0,"then":"fifo"}',
    b'{"tagloom":"schedule","version":1,"positions":[],"then":"quick"}',
    b'{"tagloom":"schedule","version":1,"positions":[],"then":7}',
    b'{"tagloom":"schedule","version":1,"positions":[],"then":"hand:x"}',
    b'{"tagloom":"schedule","version":1,"positions":[],"then":"fifo","more":1}',
    b'{"tagloom":"schedule","version":99,"positions":[],"then":"fifo"}',
    b'{"tagloom":"schedule","version":1,"positions":[],"then":"random:-1"}',
    b'{"tagloom":"schedule","version":1,"positions":[],"then":"random:18446744073709551616"}',
]


@pytest.mark.parametrize("written", GARBAGE)
def test_malformed_files_are_refused(tmp_path: Path, written: bytes) -> None:
    """A file that is no script is Malformed, both when it is read and when a run names it."""
    (tmp_path / "bad.json").write_bytes(written)
    with pytest.raises(Malformed):
        read_script(tmp_path / "bad.json")
    with pytest.raises(Malformed):
        fib.run(1, schedule=f"hand:{tmp_path / 'bad.json'}")


def test_missing_and_unwritable_files_are_refused(tmp_path: Path) -> None:
    """A missing or unwritable file is a Usage error with the path."""
    with pytest.raises(tl.Usage, match=r"this script cannot be read"):
        read_script(tmp_path / "none.json")
    with pytest.raises(tl.Usage, match=r"this script cannot be read"):
        fib.run(1, schedule=f"hand:{tmp_path / 'none.json'}")
    with pytest.raises(tl.Usage, match=r"this script cannot be written"):
        write_script(Script(()), tmp_path / "none" / "script.json")
    for name in ("hand:", "hand"):
        with pytest.raises(tl.Usage, match="no schedule is called"):
            fib.run(1, schedule=name)


def test_the_schedule_after_a_script_must_exist() -> None:
    """A script with an unknown schedule at its end is refused before the run."""
    with pytest.raises(tl.Usage, match="no such schedule can follow a script"):
        fib.run(1, schedule=Script((), "quick"))


@tl.function
def bounded(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: (i * i * i, i + 1)[1], 0, parallel_iterations=2)[0]


def test_a_script_before_waves_has_their_clock() -> None:
    """A script before `waves` releases throttled tokens between waves too, so that the run equals that of `waves`."""
    waves = bounded.run(6, keep="events")
    positions = tuple(event.position for event in waves.events)
    for script in (tl.Script((), "waves"), tl.Script(positions[:40], "waves"), tl.Script(list(positions), "waves")):
        assert bounded.run(6, schedule=script, keep="events").events == waves.events


@pytest.mark.parametrize("wrong", [5, "012", [0.5], [-1]])
def test_wrong_scripts_are_refused(wrong: Any) -> None:
    """A script is a sequence of positions; anything else is refused."""
    with pytest.raises(tl.Usage):
        tl.Script(wrong)
