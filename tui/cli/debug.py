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
from ..session.commands import new_session
from ..session.fast_forward import to_event
from ..session.reply import Reply
from ..session.session import Session
from .prompt import PROMPT, converse
from .terminal import has_unicode


class Manner(NamedTuple):
    """How one debugs: on screen, or else without panes at a prompt, or without a terminal."""

    headless: bool = False
    plain: bool = False
    commands: Path | None = None
    as_json: bool = False
    watch: bool = False
    at: int | None = None


def debug(start: Start, manner: Manner) -> int:
    """Debug a program; the exit code is 1 where a command failed, else 0.

    Raises Usage where there is neither a terminal nor a wish to do without, and what the program's file raises.
    """
    headless, plain, commands, as_json, watch, at = manner
    if not headless and (commands is not None or as_json):
        raise Usage(f"{'--json' if as_json else '--commands'} is for a session without a screen", required="--headless")
    if not headless and not has_terminal():
        raise Usage("there is no terminal to debug at", hint="--headless reads commands from stdin, or --commands FILE")
    session = new_session(start.options)
    with redirect_stdout(sys.stderr) if headless else nullcontext():
        if start.target:
            session.load(start)
            if at is not None and headless:
                to_event(session, at)
    if headless:
        return transcribe(session, _lines(commands), in_json if as_json else in_words)
    return shown(session, at if start.target else None, plain, watch)


def has_terminal() -> bool:
    """Whether there is somebody to show a session to."""
    return _in_browser() or (sys.stdin.isatty() and sys.stdout.isatty())


def _in_browser() -> bool:
    return "TEXTUAL_DRIVER" in os.environ


def shown(session: Session, at: int | None = None, plain: bool = False, watches: bool = False) -> int:
    """Show a session after so many events, at a prompt or on screen, until somebody leaves it; the exit code. The app
    is imported only here; it goes far itself: there one sees how far it is, and may stop it."""
    if plain or (os.environ.get("TERM") == "dumb" and not _in_browser()):
        if at is not None:
            to_event(session, at)
        return converse(session)
    from ..app.app import Debugger

    app = Debugger(session, watches=watches, tours=True)
    app.in_ascii = not has_unicode(sys.__stderr__) and not _in_browser()
    if at is not None:
        app.do(f"goto {at}")
    return app.run() or 0


def in_words(reply: Reply) -> str:
    """A command and its answer, as a person would have seen them."""
    return "\n".join([f"{PROMPT}{reply.command}", *reply.text])


def in_json(reply: Reply) -> str:
    """The same on one line, for programs."""
    return json.dumps(reply.form(), allow_nan=False)


def transcribe(session: Session, lines: Iterable[str], form: Callable[[Reply], str]) -> int:
    """Do what the lines say, and print each with its answer; empty lines and `#` comments are passed over. What the
    program's own Python prints goes to stderr."""
    code = 0
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        with redirect_stdout(sys.stderr):
            reply = session.do(line)
        print(form(reply), flush=True)
        code = code if reply.ok else 1
        if session.is_over:
            break
    return code


def _lines(commands: Path | None) -> Iterator[str]:
    """The lines of a file, or those of stdin as they come."""
    if commands is not None:
        yield from _read(commands).split("\n")
        return
    try:
        yield from sys.stdin
    except UnicodeDecodeError:
        raise Malformed("stdin is no text", required="UTF-8") from None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Usage("these commands cannot be read", got=str(file), hint=error.strerror) from None
    except UnicodeDecodeError:
        raise Malformed("these commands are no text", where=file.name, required="UTF-8") from None
