"""The end of the app by a fault or a signal: the exit code is not 0, and the terminal is as it was before.

Textual restores the terminal if the app ends normally. A process that a signal kills would leave the alternate screen,
mouse reports and a terminal without echo behind.
"""

from __future__ import annotations

import os
import sys
import termios
from contextlib import suppress
from threading import Timer
from typing import Any, TypeAlias

from textual.app import App

from ..signals import SIGNAL_EXIT_CODE, handle_signals
from .hangup import GRACE_SECONDS, STDIN

LEAVE_SCREEN = "".join(
    f"\x1b[?{mode}" for mode in ("1000l", "1002l", "1003l", "1006l", "1015l", "1004l", "2004l", "7h", "25h", "1049l")
)
"""Switches off reports of the mouse and of focus, and bracketed paste; lines wrap, the cursor is shown, and the screen
is the ordinary one."""

TerminalModes: TypeAlias = list[Any]
"""The modes of a terminal, as `termios` lists them."""


def run_app(app: App[int]) -> int:
    """Run an app until it ends, and return the exit code: the app's own, 1 after a fault, 128 and the number of a
    signal that ended it."""
    modes = _terminal_modes()

    def handle(number: int, _: object) -> None:
        code = SIGNAL_EXIT_CODE + number
        forced_end = Timer(GRACE_SECONDS, _end_process, (code, modes))
        forced_end.daemon = True
        forced_end.start()
        app.exit(code, return_code=code)

    with handle_signals(handle):
        result = app.run()
    return (app.return_code or 0) if result is None else result


def _terminal_modes() -> TerminalModes | None:
    """The modes of the terminal; None if there is none."""
    try:
        return termios.tcgetattr(STDIN)
    except (OSError, termios.error):
        return None


def _end_process(code: int, modes: TerminalModes | None) -> None:
    """Restore the terminal and end the process, because the app has not ended in time."""
    with suppress(OSError, ValueError):
        os.write(
            sys.__stderr__.fileno() if sys.__stderr__ is not None else STDIN, f"\x1b[<u{LEAVE_SCREEN}\x1b[0m".encode()
        )
    if modes is not None:
        with suppress(OSError, termios.error):
            termios.tcsetattr(STDIN, termios.TCSANOW, modes)
    os._exit(code)
