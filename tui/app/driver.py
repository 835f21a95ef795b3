"""Reading the terminal, with a quick Escape.

Escape is also the first byte of other keys, so Textual takes it for the key after a wait (ESCDELAY); but it looks at
its clock every 0.1 s only. This driver takes it after ESCDELAY; and while a command runs, at once if the byte comes
alone, since a terminal on this machine sends the bytes of a key together.
"""

from __future__ import annotations

import codecs
import os
import select
from typing import cast

from textual import constants
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.message import Message

ESCAPE = b"\x1b"
IDLE_SECONDS = 0.1
"""How long the driver waits for bytes before it checks whether the app is over."""
MAX_READ_BYTES = 4096


class QuickEscapeDriver(LinuxDriver):
    """Textual's driver for terminals, with a loop of its own that reads keys."""

    def run_input_thread(self) -> None:
        """Read bytes, and hand the app the keys that they are, until the app is over."""
        parser, decoder = XTermParser(self._debug), codecs.getincrementaldecoder("utf-8")("replace")
        wait = IDLE_SECONDS
        while not self.exit_event.is_set():
            messages: list[Message] = []
            if select.select([self.fileno], [], [], wait)[0]:
                content = os.read(self.fileno, MAX_READ_BYTES)
                wait = min(constants.ESCAPE_DELAY, IDLE_SECONDS)
                if content == ESCAPE and is_escape_alone(self._app):
                    messages.append(Key("escape", ESCAPE.decode()))
                elif text := decoder.decode(content):
                    messages += parser.feed(text)
            else:
                wait = IDLE_SECONDS
            messages += parser.tick()
            for message in messages:
                self.process_message(message)


def is_escape_alone(app: App[object]) -> bool:
    """Whether a single byte of Escape is the key: a command runs, which it stops, and no network parts the bytes of
    other keys."""
    return not is_remote() and cast(bool, getattr(app, "is_command_running", False))


def is_remote() -> bool:
    """Whether the terminal is on another machine, by what ssh tells its processes."""
    return bool({"SSH_CONNECTION", "SSH_TTY"} & os.environ.keys())
