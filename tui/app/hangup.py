"""The end of the app when its terminal goes away: without a terminal, Textual's input thread would spin for ever.

A controlling terminal sends SIGHUP, which ends the process; this module is for all other cases, such as `nohup` and
terminals of containers.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from textual.app import App

STDIN = 0
"""The file descriptor of the terminal from which Textual reads."""

EXIT_CODE = 1
"""The exit code after a lost terminal."""

POLL_MILLISECONDS = 500
"""How often the watching thread checks whether the app has ended."""

GRACE_SECONDS = 2.0
"""The time that the app has to end by itself. It may not be able to: writes to a lost terminal block."""


@contextmanager
def exits_on_hangup(app: App[int]) -> Iterator[None]:
    """While the app runs, watch its terminal. If the terminal goes away, the app exits with EXIT_CODE; if it has not
    after GRACE_SECONDS, the process ends."""
    has_ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(app, has_ended), name="hangup", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        has_ended.set()


def _watch(app: App[int], has_ended: threading.Event) -> None:
    poll = select.poll()
    poll.register(STDIN, 0)  # no events but POLLHUP, POLLERR and POLLNVAL
    while not has_ended.is_set():
        if poll.poll(POLL_MILLISECONDS):
            app.call_later(app.exit, EXIT_CODE)
            if not has_ended.wait(GRACE_SECONDS):
                os._exit(EXIT_CODE)
