"""Ctrl-C in a process of the command `tagloom`: it ends the process by the signal SIGINT, without a traceback, as long
as no run could report it.

While Python imports modules, KeyboardInterrupt would print a traceback, or be swallowed: importlib, NumPy and LLVM call
Python where no exception can pass. The system's own action ends the process at any moment. Shells report the exit code
130. This module imports little, since it is the first of the package.
"""

from __future__ import annotations

import os
import signal
import sys

EXIT_CODE = 130
"""The exit code that shells report for a process that SIGINT ended."""


def is_command_process() -> bool:
    """Whether this process was started as `tagloom` or `python -m tagloom`.

    Python sets `sys.argv[0]` to `-m` while it imports the package of the module that it will run.
    """
    program = (sys.argv or [""])[0]
    if program == "-m":
        words = sys.orig_argv
        return "-m" in words and words[words.index("-m") + 1 :][:1] == [__package__]
    return os.path.splitext(os.path.basename(program))[0] == __package__


def end_on_interrupt() -> bool:
    """Let Ctrl-C end the process, until `restore_interrupts`. Changes nothing, and returns False, in other threads than
    the main one, and where Ctrl-C has another handler than Python's own."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # in another thread
        return False
    return True


def restore_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def end_by_interrupt() -> None:
    """End the process by SIGINT, at once: a thread that imports modules meanwhile is not waited for."""
    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(EXIT_CODE)


ENDS_IMPORT = is_command_process() and end_on_interrupt()
"""Whether Ctrl-C ends the process while the package is imported, until its command begins."""
