"""`tagloom show --ascii`: programs, graphs and runs in the characters of the terminal that there is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tagloom.tui.cli import terminal


@pytest.mark.full
def test_graphs_and_programs(tagloom: Any) -> None:
    """Both are drawn, with what the signs mean, and nothing is said besides."""
    for form, *said in (("graph", r"\merge n/", "predicate"), ("program", "[< return cond]", "decides")):
        code, out, err = tagloom("show", "fib.py:fib", "--ascii", "--form", form)
        assert (code, err) == (0, "")
        assert all(words in out for words in said)


@pytest.mark.full
def test_runs(tagloom: Any) -> None:
    """A run has its tokens where they are, and says what run it is."""
    code, out, _ = tagloom("show", "fib.py:fib", "4", "--at", "20", "--ascii")
    assert code == 0
    assert "fib(4) after 20 events" in out and "in flight" in out


@pytest.mark.full
def test_parts(tagloom: Any) -> None:
    """What is folded is a box, and what is not asked for is left out."""
    whole, folded, only = (
        tagloom("show", "fib.py:main", "--ascii", *words).out for words in ([], ["--fold", "fib"], ["--only", "fib"])
    )
    assert "{n <= 1}" in whole and "{n <= 1}" not in folded
    assert "\u2501 main" in whole and "\u2501 main" not in only


@pytest.mark.full
def test_terminals(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ASCII for a dumb terminal; colours for a terminal, unless nobody wants any; the same drawing all the time."""
    plain = tagloom("show", "fib.py:fib", "--ascii").out
    with monkeypatch.context() as patched:
        patched.setattr(terminal, "has_colours", lambda: True)
        coloured = tagloom("show", "fib.py:fib", "--ascii").out
    assert "\x1b[" in coloured and re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("TERM", "dumb")
    dumb = tagloom("show", "fib.py:fib", "--ascii").out
    assert dumb.isascii() and re.sub("[^ \n]", "x", dumb) == re.sub("[^ \n]", "x", plain)


@pytest.mark.parametrize(("setting", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_had_off(setting: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and dumb terminals are heeded on a terminal too."""
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.has_colours()
    monkeypatch.setenv(setting, value)
    assert not terminal.has_colours()


@pytest.mark.full
def test_what_is_too_large_says_so(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr, with what can be done."""
    monkeypatch.setattr(terminal, "WIDTH", 20)
    code, out, err = tagloom("show", "fib.py:fib", "--ascii")
    assert code == 0 and "--only and --fold" in err and "merge n" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fib.py:fib", "-o", "a.svg"], "--ascii draws in the terminal"),
        (["fib.py:fib", "4", "--form", "profile"], "charts are not drawn in characters"),
    ],
)
def test_what_cannot_be_drawn(tagloom: Any, words: list[str], said: str) -> None:
    """Usage errors say why."""
    out = tagloom("show", *words, "--ascii")
    assert out.code == 2 and said in out.err
