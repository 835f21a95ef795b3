"""Documented names that have moved or changed still work for one release, and warn."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tagloom as tl
from tagloom.interp.history.history import History

OLD = (
    "from tagloom.interp.reference import Limits, drive, first_state",
    "from tagloom.interp.schedule import schedule",
    "from tagloom.interp.fast.run import Fast",
    "from tagloom.interp.fast.stops import Stops",
    "from tagloom.interp.fast.keeping import Last",
    "from tagloom.tui.begin import Start",
)


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=100)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("line", OLD)
def test_documented_imports(line: str) -> None:
    """An import that the documentation showed works, and its warning names the new module."""
    ran = python(f"import tagloom\n{line}", "-W", "always::DeprecationWarning")
    assert ran.returncode == 0, ran.stderr
    assert "DeprecationWarning" in ran.stderr and "is now tagloom." in ran.stderr


def test_other_old_paths_are_gone() -> None:
    """What was never documented has no alias."""
    assert "ModuleNotFoundError" in python("import tagloom.interp.alarm").stderr


@tl.function
def identity(x: tl.int64) -> tl.int64:
    return x


def test_history_far() -> None:
    """`History.far` warns, and does what `fast_forward` does; other unknown names are an AttributeError."""
    history = History(identity.graph, [1])
    with pytest.warns(DeprecationWarning, match=r"History.far is now History.fast_forward"):
        assert history.far == history.fast_forward  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'near'"):
        history.near  # type: ignore[attr-defined]  # noqa: B018


def test_breakpoints_see() -> None:
    """`Breakpoints.see` warns, and does what `evaluate` does."""
    history, breakpoints = History(identity.graph, [1]), tl.Breakpoints()
    event = history.forward()
    assert event is not None
    with pytest.warns(DeprecationWarning, match=r"Breakpoints.see is now Breakpoints.evaluate"):
        assert breakpoints.see(history.state, event) == breakpoints.evaluate(history.state, event)


def test_session_methods() -> None:
    """`Session.do` and `Session.load` warn, and do what `execute` and `load_run` do."""
    code = """
import tagloom, warnings
from tagloom.tui.session.commands import new_session
session = new_session()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    reply = session.do("help")
assert reply.ok and "execute" in str(caught[0].message), caught
assert session.load.__doc__
"""
    ran = python(code)
    assert ran.returncode == 0, ran.stderr


def test_fast_runs() -> None:
    """`FastRun.go` and `Last` warn, and are `FastRun.resume` and `LastEventKeeper`."""
    code = """
import warnings
from tagloom.interp.engines.fast import events, run
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert events.Last is events.LastEventKeeper and "LastEventKeeper" in str(caught[0].message)
    run.FastRun.resume = lambda self, steps, stops: (steps, stops)
    machine = object.__new__(run.FastRun)
    assert machine.go(5) == (5, None) and "FastRun.resume" in str(caught[1].message)
"""
    ran = python(code)
    assert ran.returncode == 0, ran.stderr
