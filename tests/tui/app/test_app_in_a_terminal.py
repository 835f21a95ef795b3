"""The app in a real terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminals import Terminal, terminal, walked

TAGLOOM = (sys.executable, "-m", "tagloom")
FIB = "papers_examples/recursion/fib.py"


def seen_the_tour(folder: Path) -> None:
    (folder / "tagloom").mkdir()
    (folder / "tagloom" / "tour").write_text("seen")


@pytest.mark.full
@pytest.mark.timeout(120)
def test_the_first_command(tmp_path: Path) -> None:
    """`tagloom debug fib.py 5`: twenty steps forward and back, a breakpoint, a why, an edited token, quit."""
    seen_the_tour(tmp_path)
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "5"]) as at:
        at.wait_for("n <= 1")
        walked(at)
        at.type("q")
        assert at.ends() == 0


@pytest.mark.full
@pytest.mark.timeout(120)
def test_the_tour_is_shown_once(tmp_path: Path) -> None:
    """The first start begins with a tour, which follows the keys; the second does not."""
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "5"]) as at:
        at.wait_for("a tour: step 1")
        at.wait_for("merge n")
        at.type("s")
        at.wait_for("The 5 moved to fib.n, which fired.")
        at.type("q")
        assert at.ends() == 0
    assert (tmp_path / "tagloom" / "tour").exists()
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "5"]) as at:
        at.wait_for("merge n")
        at.type("s")
        at.wait_for("▶ fib.n")
        assert "a tour: step" not in at.seen
        at.type("q")
        assert at.ends() == 0


@pytest.mark.full
@pytest.mark.timeout(120)
def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    """On an ASCII terminal, the whole screen is ASCII."""
    seen_the_tour(tmp_path)
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "5"], encoding="ascii") as at:
        at.wait_for(",- 1 graph")
        at.type("ss")
        at.wait_for("> fib.less_equal 5, 1 > false")
        at.type("q")
        assert at.ends() == 0 and "\\u" not in at.seen


@pytest.mark.full
@pytest.mark.timeout(120)
def test_the_plain_prompt(tmp_path: Path) -> None:
    """With --plain, the same session is a prompt."""
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "4", "--plain"]) as at:
        at.wait_for(r"\(tagloom\) ")
        at.type("step 3\n")
        at.wait_for("3 firings")
        at.type("quit\n")
        assert at.ends() == 0


@pytest.mark.full
@pytest.mark.timeout(120)
@pytest.mark.parametrize("words", [[], ["--plain"]], ids=["screen", "prompt"])
def test_a_lost_terminal_ends_the_debugger(words: list[str], tmp_path: Path) -> None:
    """If its terminal goes away without a SIGHUP, the debugger ends within seconds, and its exit code is not 0."""
    seen_the_tour(tmp_path)
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "5", *words]) as at:
        at.wait_for(r"\(tagloom\) " if words else "n <= 1")
        at.type("step 3\n" if words else "sss")
        at.wait_for("3 firings|3 fired")
        at.hang_up()
        assert at.process.wait(10) != 0


def ends_restored(at: Terminal, modes: list[object]) -> int:
    """Read until the process has ended, check that the terminal is as it was, and return the exit code."""
    code = at.ends()
    while at.read():
        pass
    assert at.modes() == modes
    for mode in ("1049", "1000", "1003", "2004"):
        assert at.controls.rfind(f"?{mode}h") <= at.controls.rfind(f"?{mode}l"), mode
    for mode in ("25", "7"):
        assert at.controls.rfind(f"?{mode}l") <= at.controls.rfind(f"?{mode}h"), mode
    return code


@pytest.mark.full
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [[], ["--plain"]], ids=["screen", "prompt"])
def test_a_signal_leaves_the_terminal_restored(words: list[str], number: signal.Signals, tmp_path: Path) -> None:
    """SIGTERM and SIGHUP end the debugger with the exit code that a shell reports for them, and restore the
    terminal."""
    seen_the_tour(tmp_path)
    with terminal(tmp_path, [*TAGLOOM, "debug", FIB, "5", *words]) as at:
        modes = at.modes()
        at.wait_for(r"\(tagloom\) " if words else "n <= 1", 60)
        assert at.modes() != modes
        time.sleep(1)  # readline shows the prompt before it waits, and misses a signal in between until a key comes
        at.process.send_signal(number)
        assert ends_restored(at, modes) == 128 + number


FAULTY = f"""
import os, sys, time
from tagloom.tui.app.app import Debugger
from tagloom.tui.cli.main import main

def fail(*_):
    FAULT

Debugger.show_snapshot = fail
sys.argv = ["tagloom", "debug", {FIB!r}, "5"]
main()
"""
"""A debugger with a fault in it."""


@pytest.mark.full
@pytest.mark.timeout(120)
def test_a_crash_ends_with_an_exit_code(tmp_path: Path) -> None:
    """A fault of the app ends it with exit code 1, after its traceback, and restores the terminal."""
    seen_the_tour(tmp_path)
    command = FAULTY.replace("FAULT", "raise IndexError('this is a fault')")
    with terminal(tmp_path, [sys.executable, "-c", command]) as at:
        modes = at.modes()
        assert ends_restored(at, modes) == 1
        assert "this is a fault" in at.seen


@pytest.mark.full
@pytest.mark.timeout(120)
def test_an_app_that_hangs_is_ended_by_a_signal(tmp_path: Path) -> None:
    """If the app cannot end itself, SIGTERM ends it all the same, and restores the terminal."""
    seen_the_tour(tmp_path)
    command = FAULTY.replace("FAULT", "os.write(2, b'it hangs'); time.sleep(100)")
    with terminal(tmp_path, [sys.executable, "-c", command]) as at:
        modes = at.modes()
        at.wait_for("it hangs", 60)
        at.process.send_signal(signal.SIGTERM)
        assert ends_restored(at, modes) == 128 + signal.SIGTERM


HERE = """
import sys
import tagloom as tl

@tl.function
def fib(n: tl.int64) -> tl.int64:
    tl.print("n is", n)
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))

fib.debug(5, at=3, schedule="lifo")
print("and on")
"""


@pytest.mark.full
@pytest.mark.timeout(120)
def test_debug_opens_the_app(tmp_path: Path) -> None:
    """`fib.debug(5)` opens the app, which shows what the program prints, and returns when the user leaves."""
    seen_the_tour(tmp_path)
    with terminal(tmp_path, [sys.executable, "-c", HERE]) as at:
        at.wait_for("3/3 events")
        at.type("s")
        at.wait_for("switch_n 5, false")
        at.type("q")
        at.wait_for("and on")
        assert at.ends() == 0


@pytest.mark.full
@pytest.mark.timeout(120)
def test_debug_on_a_dumb_terminal(tmp_path: Path) -> None:
    """On a dumb terminal, `debug` is a prompt."""
    dumb = "import os; os.environ['TERM'] = 'dumb'"
    with terminal(tmp_path, [sys.executable, "-c", dumb + HERE]) as at:
        at.wait_for(r"\(tagloom\) ")
        at.type("quit\n")
        at.wait_for("and on")
        assert at.ends() == 0


@pytest.mark.full
def test_debug_without_a_terminal() -> None:
    """In a notebook or a pipe, the error names the alternatives."""
    ran = subprocess.run([sys.executable, "-c", HERE], capture_output=True, text=True, timeout=100)
    assert ran.returncode == 1 and "and on" not in ran.stdout
    assert "there is no terminal to debug at" in ran.stderr and "f.history(...)" in ran.stderr
