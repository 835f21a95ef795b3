"""`tagloom debug`: the session, driven from a file, from stdin, or by a person at a prompt."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from ...core.errors import Malformed, Usage
from ..run_start import Start
from ..session.command import CommandReply
from ..session.commands import new_session
from ..session.fast_forward import goto_event
from ..session.session import Session
from .prompt import PROMPT, run_prompt
from .terminal import has_unicode


class DebugMode(NamedTuple):
    """How to debug: on screen, at a prompt without panes, or without a terminal."""

    headless: bool = False
    is_prompt: bool = False
    commands: Path | None = None
    as_json: bool = False
    watches_file: bool = False
    at: int | None = None


def debug(start: Start, manner: DebugMode) -> int:
    """Debug a program; the exit code is 1 if a command failed, else 0.

    Raises Usage if there is no terminal and the mode needs one, and the errors of the program's file.
    """
    headless, plain, commands, as_json, watch, at = manner
    if not headless and (commands is not None or as_json):
        raise Usage(f"{'--json' if as_json else '--commands'} is for a session without a screen", required="--headless")
    if not headless and not has_terminal():
        raise Usage("there is no terminal to debug at", hint="--headless reads commands from stdin, or --commands FILE")
    session = new_session(start.options)
    with redirect_stdout(sys.stderr) if headless else nullcontext():
        if start.target:
            session.load_run(start)
            if at is not None and headless:
                goto_event(session, at)
    if headless:
        return transcribe(session, _read_commands(commands), reply_json if as_json else reply_text)
    return open_session(session, at if start.target else None, plain, watch)


def has_terminal() -> bool:
    """Whether there is a terminal for the session."""
    return _is_in_browser() or (sys.stdin.isatty() and sys.stdout.isatty())


def _is_in_browser() -> bool:
    return "TEXTUAL_DRIVER" in os.environ


def open_session(session: Session, at: int | None = None, is_prompt: bool = False, watches_file: bool = False) -> int:
    """Show a session after this many events, at a prompt or on screen, until the user leaves it; return the exit
    code. The app is imported only here; it goes to the position itself, so that the user sees the progress and may
    stop it."""
    if is_prompt or (os.environ.get("TERM") == "dumb" and not _is_in_browser()):
        if at is not None:
            goto_event(session, at)
        return run_prompt(session)
    from ..app.app import Debugger

    app = Debugger(session, watches_file=watches_file, shows_tour=True)
    app.writes_ascii = not has_unicode(sys.__stderr__) and not _is_in_browser()
    if at is not None:
        app.do(f"goto {at}")
    return app.run() or 0


def reply_text(reply: CommandReply) -> str:
    """A command and its reply, as a person would see them."""
    return "\n".join([f"{PROMPT}{reply.command}", *reply.text])


def reply_json(reply: CommandReply) -> str:
    """The same as one line of JSON, for programs."""
    return json.dumps(reply.to_json(), allow_nan=False)


def transcribe(session: Session, lines: Iterable[str], form: Callable[[CommandReply], str]) -> int:
    """Execute the lines, and print each with its reply; empty lines and `#` comments are skipped. What the program's
    own Python prints goes to stderr."""
    code = 0
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        with redirect_stdout(sys.stderr):
            reply = session.execute(line)
        print(form(reply), flush=True)
        code = code if reply.ok else 1
        if session.is_finished:
            break
    return code


def _read_commands(commands: Path | None) -> Iterator[str]:
    """The lines of a file, or those of stdin as they come."""
    if commands is not None:
        yield from _read_file(commands).split("\n")
        return
    try:
        yield from sys.stdin
    except UnicodeDecodeError:
        raise Malformed("stdin is no text", required="UTF-8") from None


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Usage("these commands cannot be read", got=str(file), hint=error.strerror) from None
    except UnicodeDecodeError:
        raise Malformed("these commands are no text", where=file.name, required="UTF-8") from None
