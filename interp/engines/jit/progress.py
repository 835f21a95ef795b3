"""A progress message while something compiles, which takes seconds the first time."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY_SECONDS = 1.0
"""Seconds before the message appears."""


@contextmanager
def show_compiling(what: str) -> Iterator[None]:
    """A context that shows a line on standard error if it lasts long, and removes the line afterwards.

    Only on a terminal, and not with TAGLOOM_PROGRESS=off in the environment.
    """
    if os.environ.get("TAGLOOM_PROGRESS") == "off" or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    line = f"compiling {what} ..."
    told = threading.Event()
    over = threading.Lock()
    ended = False

    def show_line() -> None:
        with over:
            if not ended:
                told.set()
                print(line, end="", file=sys.stderr, flush=True)

    timer = threading.Timer(DELAY_SECONDS, show_line)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with over:
            ended = True
        if told.is_set():
            print(f"\r{' ' * len(line)}\r", end="", file=sys.stderr, flush=True)
