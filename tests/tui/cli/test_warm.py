"""`tagloom warm`: what it compiles, and what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import tagloom as tl
from tagloom.interp.engines.fast.block_generation import block_program, generate_blocks
from tagloom.interp.engines.fast.block_loader import LOOKUP_STEPS, BlockLoader, block_task
from tagloom.interp.engines.fast.layout import DeliveryOrder
from tagloom.interp.engines.fast.run import FastRun
from tagloom.interp.engines.jit import compiler_process
from tagloom.interp.engines.jit.compiler_process import CompileTask
from tagloom.interp.engines.reference import first_state
from tagloom.tui.cli import run
from tagloom.tui.load import find_program

MACHINE = f"{'the token machine':38} "


@pytest.fixture(autouse=True)
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[CompileTask]:
    """A cache of the test's own, and the tasks that were compiled into it: files without code."""
    compiled: list[CompileTask] = []

    def compile_task(task: CompileTask) -> None:
        compiled.append(task)
        task.file().write_text("")

    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler_process, "is_enabled", lambda: True)
    monkeypatch.setattr(compiler_process, "compile_and_wait", compile_task)
    return compiled


@pytest.mark.full
def test_machines(tagloom: Any, tasks: list[CompileTask]) -> None:
    """Without a file, all token machines are compiled; a second time, they are on disk."""
    code, out, err = tagloom("warm")
    lines = out.splitlines()
    assert (code, err, len(tasks), len(lines)) == (0, "", 3, 3)
    assert lines[0].startswith(f"{MACHINE}compiled in 0.") and lines[0].endswith(" s")
    again = tagloom("warm")
    assert (again.code, len(tasks)) == (0, 3)
    assert all(line.endswith(" on disk") for line in again.out.splitlines())


@pytest.mark.full
def test_the_programs_of_a_file(tagloom: Any, tasks: list[CompileTask]) -> None:
    """With a file, the machine that its programs need is compiled, each program, and its blocks; with a name, those of
    that one."""
    code, out, err = tagloom("warm", "fib.py")
    assert (code, err) == (0, "")
    blocks = ["its blocks for lifo", "its blocks for waves"]
    programs = [*(f"fib: {each}" for each in blocks), "fib", *(f"main: {each}" for each in blocks), "main"]
    assert [line.split(" compiled in ")[0].strip() for line in out.splitlines()] == ["the token machine", *programs]
    assert [task.name for task in tasks] == ["token machine", *["blocks"] * 2, "fib", *["blocks"] * 2, "main"]
    lines = tagloom("warm", "fib.py:fib").out.splitlines()
    assert lines == [f"{MACHINE}on disk", *(f"{f'fib: {each}':38} on disk" for each in blocks), f"{'fib':38} on disk"]


@pytest.mark.full
@pytest.mark.parametrize("schedule", ["lifo", "waves"])
def test_blocks_are_those_of_a_run(tagloom: Any, tasks: list[CompileTask], schedule: str) -> None:
    """The task of the blocks is the one that a long run looks for."""
    tagloom("warm", "fib.py:fib")
    function = find_program("fib.py:fib")
    assert isinstance(function, tl.Function)
    state = first_state(function.graph, [3], schedule)
    image = FastRun(state, schedule, until="quiet", limits=tl.Limits()).store.image
    order = DeliveryOrder.YOUNGEST if schedule == "lifo" else DeliveryOrder.OLDEST
    loader = BlockLoader(order, steps=LOOKUP_STEPS)
    while not generate_blocks(image, order, 1.0):
        pass
    program = block_program(image, order)
    assert program is not None and block_task(program) in tasks and loader.is_ready(program)


@pytest.mark.full
def test_what_is_not_compiled(tagloom: Any, tasks: list[CompileTask]) -> None:
    """A function whose parameters have no types is skipped, unless arguments are given; so is a program that `compiled`
    does not run, with the reason."""
    out = tagloom("warm", "kinds.py").out
    assert f"{'anything':38} skipped: the type of x is not known; name the function, and give its arguments\n" in out
    assert "anything" not in [task.name for task in tasks]
    assert tagloom("warm", "kinds.py:anything", "3").code == 0
    assert tasks[-1].name == "anything"


def test_bad_targets(tagloom: Any) -> None:
    """A target that is not there is bad usage."""
    code, out, err = tagloom("warm", "nowhere.py")
    assert (code, out) == (2, "") and err.startswith("there is no such file")


@pytest.mark.full
def test_what_fails(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If something cannot be compiled, a line on stderr says so, and the exit code is 1."""
    monkeypatch.setattr(compiler_process, "compile_and_wait", lambda task: None)
    code, out, err = tagloom("warm", "add.py")
    assert (code, out, len(err.splitlines())) == (1, "", 4) and err.startswith(f"{MACHINE}not compiled: ")


@pytest.mark.full
def test_no_compiler(tagloom: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numba's compiler, or a folder for the code, the command says why it does nothing."""
    (tmp_path / "file").write_text("")
    with monkeypatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        assert tagloom("warm").err.startswith("nothing can be compiled\n  got: NUMBA_DISABLE_JIT is set")
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "file"))
    assert tagloom("warm").err.startswith("nothing can be written into the cache folder")


@pytest.mark.heavy
def test_as_a_process(folder: Path, tmp_path: Path) -> None:
    """In a process of its own the code is compiled, and a run loads it; Ctrl-C ends the command within 0.2 s."""
    environment = {name: value for name, value in os.environ.items() if name != "TAGLOOM_BACKGROUND"}
    environment["TAGLOOM_CACHE"] = str(tmp_path / "of the process")
    command = [sys.executable, "-m", "tagloom", "warm"]
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from tagloom.tui.cli.main import main; main()"
    with subprocess.Popen([sys.executable, "-c", code, "warm"], stdout=PIPE, stderr=PIPE, env=environment) as process:
        while not list(tmp_path.glob("of the process/tagloom/*")):  # created before it compiles
            time.sleep(0.05)
        time.sleep(0.5)
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - pressed < 2.0 and process.returncode == -signal.SIGINT  # beside others
    assert (out, b"Traceback" in err) == (b"", False)
    ran = subprocess.run([*command, "add.py"], capture_output=True, text=True, env=environment, cwd=folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = [line.split(" compiled in ")[0].strip() for line in ran.stdout.splitlines()]
    assert lines in (
        ["the token machine", "add"],
        ["the token machine", "add: its blocks for lifo", "add: its blocks for waves", "add"],
    )
    again = subprocess.run([*command, "add.py"], capture_output=True, text=True, env=environment, cwd=folder)
    assert again.stdout.count("on disk") == len(lines)


@pytest.mark.parametrize("is_terminal, is_unfinished", [(True, True), (True, False), (False, True)])
def test_a_run_that_ends_before_its_compiler(
    is_terminal: bool, is_unfinished: bool, tagloom: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run on a terminal whose code is not compiled when it ends says how to compile ahead."""
    compilation = compiler_process.Compilation(CompileTask("test", "x = 1\n"))
    monkeypatch.setattr(compiler_process, "_pending", [compilation])
    compilation.has_ended = not is_unfinished
    monkeypatch.setattr(run, "is_terminal", lambda stream: is_terminal)
    code, out, err = tagloom("run", "add.py", "1", "2", "--engine", "reference")
    assert (code, out) == (0, "3\n")
    assert ("`tagloom warm add.py` compiles ahead" in err) == (is_terminal and is_unfinished)
