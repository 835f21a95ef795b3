"""Code that tests run in a separate process, since it may crash the process, or must be interrupted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
FOLDER = TESTS / "interp" / "engines" / "compiled"
CHILD = """
import os, signal, sys, threading, time
sys.path[:0] = {paths!r}
import pytest, tagloom as tl
from tagloom.interp.engines.compiled.run import run_compiled
from tagloom.interp.engines.limits import Limits
from support.observe.ctrl_c import press_in_a_run
from support.observe.lateness import is_soon
from support.programs.compiled_programs import *
from test_ending import run, DEEP
signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored, as in the background of a shell
{code}
"""

PRESSED = """\
from tagloom.interp.engines.compiled import run as engine
right = engine.entry_call
def pressed(*given):
    work = right(*given)
    def both():
        work()
        os.kill(os.getpid(), signal.SIGINT)
    return both
"""
"""With `engine.entry_call = pressed`, Ctrl-C arrives as soon as generated code has ended."""


def in_a_process(code: str, seconds: float = 100.0) -> list[str]:
    """The output of code in a separate process; fails if the process fails or takes too long."""
    child = CHILD.format(paths=[str(FOLDER), str(TESTS)], code=code)
    ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, timeout=seconds)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.split()
