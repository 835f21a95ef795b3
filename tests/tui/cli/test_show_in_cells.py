"""`tagloom show --ascii`: programs, graphs and runs in the characters of the terminal."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tagloom.tui.cli import terminal


@pytest.mark.full
def test_graphs_and_programs_are_drawn(tagloom: Any) -> None:
    """Both are drawn with the meaning of signs, and nothing else is printed."""
    for form, *text in (("graph", r"\merge n/", "predicate"), ("program", "[< return cond]", "control")):
        code, out, err = tagloom("show", "fib.py:fib", "--ascii", "--form", form)
        assert (code, err) == (0, "")
        assert all(words in out for words in text)


@pytest.mark.full
def test_runs_are_drawn(tagloom: Any) -> None:
    """A run is drawn with its tokens in place, and a title that names it."""
    code, out, _ = tagloom("show", "fib.py:fib", "4", "--at", "20", "--ascii")
    assert code == 0
    assert "fib(4) after 20 events" in out and "in flight" in out


@pytest.mark.full
def test_parts_are_drawn(tagloom: Any) -> None:
    """A folded part is a box, and other parts can be left out."""
    whole, folded, only = (
        tagloom("show", "fib.py:main", "--ascii", *words).out for words in ([], ["--fold", "fib"], ["--only", "fib"])
    )
    assert "{n <= 1}" in whole and "{n <= 1}" not in folded
    assert "\u2501 main" in whole and "\u2501 main" not in only


@pytest.mark.full
def test_terminals_get_their_characters(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dumb terminals get ASCII, and terminals colours unless they are switched off; the drawing is always the same."""
    plain = tagloom("show", "fib.py:fib", "--ascii").out
    with monkeypatch.context() as patched:
        patched.setattr("tagloom.tui.cli.show.has_colours", lambda: True)
        coloured = tagloom("show", "fib.py:fib", "--ascii").out
    assert "\x1b[" in coloured and re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("TERM", "dumb")
    dumb = tagloom("show", "fib.py:fib", "--ascii").out
    assert dumb.isascii() and re.sub("[^ \n]", "x", dumb) == re.sub("[^ \n]", "x", plain)


@pytest.mark.parametrize(("setting", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_switched_off(setting: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and dumb terminals switch colours off."""
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.has_colours()
    monkeypatch.setenv(setting, value)
    assert not terminal.has_colours()


@pytest.mark.full
def test_large_drawings_get_a_hint(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """stderr has a hint for drawings that are larger than the terminal."""
    monkeypatch.setattr("tagloom.tui.cli.show.WIDTH", 20)
    code, out, err = tagloom("show", "fib.py:fib", "--ascii")
    assert code == 0 and "--only and --fold" in err and "merge n" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fib.py:fib", "-o", "a.svg"], "--ascii draws in the terminal"),
        (["fib.py:fib", "4", "--form", "profile"], "a chart cannot be drawn in characters"),
    ],
)
def test_wrong_requests_are_refused(tagloom: Any, words: list[str], message: str) -> None:
    """Usage errors give the reason."""
    out = tagloom("show", *words, "--ascii")
    assert out.code == 2 and message in out.err
