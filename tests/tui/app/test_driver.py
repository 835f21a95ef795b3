"""Keys from the bytes of a terminal: Escape is a key of its own, or the first byte of another one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Queue
from types import SimpleNamespace
from typing import Any

import pytest
from tagloom.tui.app import driver
from tagloom.tui.app.driver import QuickEscapeDriver
from textual import constants

NEVER = 1e6
SOON, LATE = 0.3, 30
"""Seconds for what must not come, and for what must, beside other work."""


@contextmanager
def keyboard(*, is_command_running: bool) -> Iterator[tuple[Any, Queue[str]]]:
    """A function that types bytes, and the keys that the app gets."""
    reads, writes = os.pipe()
    keys: Queue[str] = Queue()
    reader: Any = object.__new__(QuickEscapeDriver)
    reader.fileno, reader.exit_event, reader._debug = reads, threading.Event(), False
    reader._app = SimpleNamespace(is_command_running=is_command_running)
    reader.process_message = lambda message: keys.put(message.key)
    thread = threading.Thread(target=reader.run_input_thread)
    thread.start()
    try:
        yield lambda content: os.write(writes, content), keys
    finally:
        reader.exit_event.set()
        os.write(writes, b"q")
        thread.join()
        os.close(reads)
        os.close(writes)


@pytest.fixture(autouse=True)
def local_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)


def test_escape_stops_a_command_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a command runs, a single byte of Escape is the key, without a wait; other keys are as ever."""
    monkeypatch.setattr(constants, "ESCAPE_DELAY", NEVER)
    with keyboard(is_command_running=True) as (type_bytes, keys):
        type_bytes(b"\x1b")
        assert keys.get(timeout=LATE) == "escape"
        type_bytes(b"\x1b[A")
        assert keys.get(timeout=LATE) == "up"


@pytest.mark.parametrize(("is_running", "is_remote"), [(False, False), (True, True)])
def test_other_keys_begin_with_escape(monkeypatch: pytest.MonkeyPatch, is_running: bool, is_remote: bool) -> None:
    """If no command runs, or a network lies between, the bytes of a key may come one after the other."""
    monkeypatch.setattr(constants, "ESCAPE_DELAY", NEVER)
    if is_remote:
        monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    with keyboard(is_command_running=is_running) as (type_bytes, keys):
        type_bytes(b"\x1b")
        with pytest.raises(Empty):
            keys.get(timeout=SOON)
        type_bytes(b"[A")
        assert keys.get(timeout=LATE) == "up"


def test_the_wait_is_no_longer_than_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its wait, Escape is a key, however rarely the driver looks otherwise: Textual's own does every 0.1 s."""
    monkeypatch.setattr(driver, "IDLE_SECONDS", NEVER)
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.001)
    with keyboard(is_command_running=False) as (type_bytes, keys):
        type_bytes(b"\x1b")
        assert keys.get(timeout=LATE) == "escape"
