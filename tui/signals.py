"""The signals that ask a process to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

END_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows has no SIGHUP
"""The signals that end a process which does not handle them, and which others send on purpose."""

SIGNAL_EXIT_CODE = 128
"""A shell reports this and the signal's number for a process that a signal ended."""


@contextmanager
def handle_signals(handler: Callable[[int, object], object]) -> Iterator[None]:
    """Handle END_SIGNALS meanwhile, unless they are ignored, as under `nohup`. Outside of the main thread, where
    Python has no signal handlers, this changes nothing."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in END_SIGNALS} if is_main else {}
    changed_signals = [number for number, old in before.items() if old is not signal.SIG_IGN]
    for number in changed_signals:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in changed_signals:
            signal.signal(number, before[number])
