"""The command line as a process: its streams, signals and encodings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest
import tagloom
from tagloom import command_process

PARENT = str(Path(tagloom.__file__).parents[1])
INTERRUPTIBLE = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""The tests may run where interrupts are ignored, as in the background of a shell."""

ENDLESS = """
import tagloom as tl

@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]

print("ready", flush=True)
"""
SLEEPY = """
import time

print("ready", flush=True)
time.sleep(60)
"""
NAMED = """
import tagloom as tl

@tl.function
def größe(n: tl.int64) -> tl.int64:
    return n + 1
"""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tagloom", *words]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8", "TERM")}
    return {**kept, "TERM": "xterm", **more}


def run(*words: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*words), capture_output=True, env=environment(**more), timeout=60)


@pytest.mark.full
def test_exit_codes(folder: Path) -> None:
    """A process exits with 0 if the run returned, with 1 at another ending, and with 2 on bad input; stdout has the
    results and stderr the diagnostics."""
    returned, trapped, refused = (run("run", "ends.py:divide", "7", word) for word in ("2", "0", "x"))
    assert (returned.returncode, returned.stdout, returned.stderr) == (0, b"3\n", b"")
    assert (trapped.returncode, trapped.stdout, trapped.stderr[:4]) == (1, b"", b"S5: ")
    assert (refused.returncode, refused.stdout, refused.stderr[:10]) == (2, b"", b"argument y")


@pytest.mark.full
def test_the_script_is_the_module(folder: Path) -> None:
    """The installed command `tagloom` is `python -m tagloom`."""
    script = Path(sys.executable).parent / "tagloom"
    done = subprocess.run([script, "run", "add.py", "2", "-3"], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"-1\n", b"")


@pytest.mark.full
def test_ascii_streams(folder: Path) -> None:
    """On an ASCII stream all output is ASCII: the profile, and names with other letters."""
    (folder / "named.py").write_text(NAMED)
    done = run("run", "named.py", "3", "--stats", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr, done.stdout.isascii()) == (0, b"", True)
    assert b"1|###\n0+---\n" in done.stdout
    assert rb"activations           gr\xf6\xdfe 1" in done.stdout
    shown = run("show", "named.py", PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert rb"graph gr\xf6\xdfe(n: int64)" in shown.stdout


@pytest.mark.full
@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}])
def test_colours_and_dumb_terminals(folder: Path, variables: dict[str, str]) -> None:
    """There are no colours, with or without NO_COLOR; a dumb terminal gets ASCII."""
    done = run("run", "add.py", "3", "4", "--stats", PYTHONIOENCODING="utf-8", **variables)
    assert done.returncode == 0 and b"\x1b" not in done.stdout + done.stderr
    assert done.stdout.isascii() == ("TERM" in variables)


@pytest.mark.full
def test_a_broken_pipe(folder: Path) -> None:
    """If the reader leaves (`| head -0`), the process ends silently."""
    for words in (["run", "add.py", "2", "3"], ["check", "add.py", "2", "3"]):
        with subprocess.Popen(command(*words), stdout=PIPE, stderr=PIPE, env=environment()) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.close()
            reply = process.stderr.read()
        assert (process.returncode, reply) == (1, b"")


@pytest.mark.full
def test_a_full_disk(folder: Path) -> None:
    """A full disk is reported in words."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command("run", "add.py", "2", "3"), stdout=full, stderr=PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"the output cannot be written: No space left on device\n")


@pytest.mark.full
def test_a_closed_stdout(folder: Path) -> None:
    """Without stdout, the exit code is still right."""
    for word, code in (("2", 0), ("x", 2)):
        words = " ".join(f"'{part}'" for part in command("run", "add.py", word, "3", "--stats"))
        done = subprocess.run(["sh", "-c", f"exec {words} >&-"], stderr=PIPE, timeout=60)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False)


@pytest.mark.full
@pytest.mark.parametrize(("text", "delay"), [(ENDLESS, 0.3), (SLEEPY, 0.0)], ids=["running", "importing"])
def test_ctrl_c_ends_a_process(folder: Path, text: str, delay: float) -> None:
    """Ctrl-C ends a run, or an import, soon, without a traceback and with a nonzero exit code."""
    (folder / "endless.py").write_text(INTERRUPTIBLE + text)
    words = command("run", "endless.py", "1")
    with subprocess.Popen(words, stdout=PIPE, stderr=PIPE, env=environment()) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode != 0
    assert (out, b"Traceback" in err) == (b"", False)


def signals(process: subprocess.Popen[bytes], name: str) -> set[int]:
    """The signals that a process catches (`SigCgt`) or ignores (`SigIgn`)."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    mask = int(next(line for line in lines if line.startswith(f"{name}:")).split()[1], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def wait_for_package(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has begun to import tagloom: Python ignores SIGPIPE, but no longer catches SIGINT."""
    count = 0
    while count < 2:
        assert process.poll() is None, process.communicate()
        has_begun = signal.SIGPIPE in signals(process, "SigIgn") and signal.SIGINT not in signals(process, "SigCgt")
        count = count + 1 if has_begun else 0
        time.sleep(0.01)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not report handlers of signals")
@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("words", [["warm"], ["run", "endless.py", "1", "--engine", "compiled"]], ids=["warm", "run"])
def test_ctrl_c_at_any_moment(folder: Path, tmp_path: Path, words: list[str], delay: float) -> None:
    """A command ends soon after Ctrl-C, without a traceback, from the moment on at which it begins to import tagloom:
    while it imports numba, while it compiles, and while it runs. What does not report it ends by the signal."""
    (folder / "endless.py").write_text(ENDLESS.replace('print("ready", flush=True)', ""))
    cache = {"TAGLOOM_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join([PARENT, *sys.path[1:]])}
    settings = {name: value for name, value in environment().items() if name != "TAGLOOM_BACKGROUND"}
    arguments = [sys.executable, "-S", "-m", "tagloom", *words]
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child would inherit that it is ignored
    try:
        process = subprocess.Popen(arguments, stdout=PIPE, stderr=PIPE, env={**settings, **cache})
    finally:
        signal.signal(signal.SIGINT, handler)
    with process:
        wait_for_package(process)
        time.sleep(delay)
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        seconds = time.monotonic() - pressed
    assert seconds < 2.0  # 0.05 on a free machine
    assert b"Traceback" not in err and b"Exception ignored" not in err
    assert process.returncode == -signal.SIGINT or (process.returncode == 1 and b"interrupted" in err and delay > 0.3)


def test_only_the_command_ends_by_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is one of the command if it was started by that name or with `-m tagloom`, and not by a program that
    imports the package."""
    for program, words, is_command in [
        ("/usr/bin/tagloom", [], True),
        ("tagloom.exe", [], True),
        ("-m", ["python", "-W", "error", "-m", "tagloom", "run"], True),
        ("-m", ["python", "-m", "mine", "tagloom"], False),
        ("-m", ["python"], False),
        ("fib.py", ["python", "fib.py"], False),
        ("", ["python"], False),
    ]:
        monkeypatch.setattr(sys, "argv", [program])
        monkeypatch.setattr(sys, "orig_argv", words)
        assert command_process.is_command_process() is is_command
