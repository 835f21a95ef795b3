"""Documented names that have moved or changed still work for one release, and warn."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tagloom as tl
from tagloom.core.graph import graph
from tagloom.interp.history.history import History
from tagloom.tui.session.commands import new_session

OLD = (
    "from tagloom.interp.reference import Limits, drive, first_state",
    "from tagloom.interp.schedule import schedule",
    "from tagloom.interp.fast.run import Fast",
    "from tagloom.interp.fast.stops import Stops",
    "from tagloom.interp.fast.keeping import Last",
    "from tagloom.tui.begin import Start",
    "from tagloom.tui.run_start import Start",
    "from tagloom.core.graph.graph import OutputPort",
)


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=100)


@pytest.mark.full(first=3)
@pytest.mark.parametrize("line", OLD)
def test_documented_imports(line: str) -> None:
    """An import that the documentation showed works, and its warning gives the new name."""
    ran = python(f"import tagloom\n{line}", "-W", "always::DeprecationWarning")
    assert ran.returncode == 0, ran.stderr
    assert "DeprecationWarning" in ran.stderr and " is now " in ran.stderr


@pytest.mark.full
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
        assert history.far == history.fast_forward
    with pytest.raises(AttributeError, match="no attribute 'near'"):
        history.near  # type: ignore[attr-defined]  # noqa: B018


def test_breakpoints_see() -> None:
    """`Breakpoints.see` warns, and does what `evaluate` does."""
    history, breakpoints = History(identity.graph, [1]), tl.Breakpoints()
    event = history.forward()
    assert event is not None
    with pytest.warns(DeprecationWarning, match=r"Breakpoints.see is now Breakpoints.evaluate"):
        assert breakpoints.see(history.state, event) == breakpoints.evaluate(history.state, event)


def test_stats_critical_path() -> None:
    """`Stats.critical_path` warns, and is the span; the key in documents has the old name."""
    out = identity.run(1)
    with pytest.warns(DeprecationWarning, match=r"Stats.critical_path is now Stats.span"):
        assert out.stats.critical_path == out.stats.span == tl.to_json(out)["stats"]["critical_path"]


def test_session_methods() -> None:
    """`Session.do` and `Session.load` warn, and do what `execute` and `load_run` do."""
    session = new_session()
    with pytest.warns(DeprecationWarning, match=r"Session.do is now Session.execute"):
        assert session.do("help").ok
    with pytest.warns(DeprecationWarning, match=r"Session.load is now Session.load_run"):
        assert session.load == session.load_run


@pytest.mark.full
def test_fast_runs() -> None:
    """`FastRun.go` and `Last` warn, and are `FastRun.resume` and `LastEventKeeper`."""
    code = """
import warnings
from tagloom.interp.engines.fast import events, run
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert events.Last is events.LastEventKeeper and "LastEventKeeper" in str(caught[0].message)
    assert run.FastRun.go is run.FastRun.resume and "FastRun.resume" in str(caught[1].message)
    assert caught[0].filename == caught[1].filename == "<string>"
"""
    ran = python(code)
    assert ran.returncode == 0, ran.stderr


def test_unknown_names() -> None:
    """A name that a module with old names never had is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match=r"module 'tagloom\.core\.graph\.graph' has no attribute 'InputPort'"):
        graph.InputPort  # type: ignore[attr-defined]  # noqa: B018


def test_the_old_option_of_functions() -> None:
    """`most_tracings` warns, and bounds the number of specializations."""
    with pytest.warns(DeprecationWarning, match="most_tracings is now maximum_specializations"):
        bounded = tl.function(most_tracings=1)(lambda x: x + 1)
    assert [bounded(1), bounded(1.0)] == [2, 2.0] and "1 dropped" in bounded.explain()


def test_the_staleness_of_gradients() -> None:
    """`TrainingReport.oldest` warns, and is `largest_staleness`."""
    with pytest.warns(DeprecationWarning, match="is now TrainingReport.largest_staleness"):
        assert tl.TrainingReport((), (), 0, 3, 0).oldest == 3


def test_the_old_option_of_runs() -> None:
    """`account` warns, and is `measures`, except in a function with a parameter of this name."""
    with pytest.warns(DeprecationWarning, match="account is now measures"):
        assert identity.run(3, account=False).value == 3
    assert tl.function(lambda account: account + 1).run(account=3).value == 4
