"""`tagloom debug`: a session on the screen, at a prompt with completion and line history, or without a terminal, driven
by a file or stdin."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, NamedTuple, NoReturn

import typer

from ...core.errors import Malformed, Usage
from ...core.escape import escape_line
from ...core.files import read_file
from ...interp.engines.limits import Limits
from ...interp.oracle.finding_folder import is_finding, open_finding
from ..run_start import RunRequest, StartOptions
from ..session.command import MAX_LENGTH, CommandReply
from ..session.commands import new_session
from ..session.fast_forward import goto_event
from ..session.session import Session, completions
from ..signals import SIGNAL_EXIT_CODE, handle_signals
from .options import DEFAULT_LIMITS, Arguments, Bound, Bytes, Depth, Firings, Schedule, Seconds, Seed, Tokens, Unchecked
from .terminal import has_unicode, is_terminal

PROMPT = "(tagloom) "


def debug(
    target: Annotated[
        str,
        typer.Argument(
            metavar="[FILE[:NAME]]",
            help="A program, as for `run`, a log of events, or a finding of `conform`. Without it, `load` one later.",
        ),
    ] = "",
    args: Arguments = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without a screen: read commands from stdin, and print replies.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="At a prompt, without panes.")] = False,
    commands: Annotated[
        Path | None, typer.Option(help="With --headless: read commands from this file, one on each line.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --headless: print a JSON object for each command.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Reload the program whenever its file is edited.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Show the screen in a browser on this machine.")] = False,
    port: Annotated[int, typer.Option(help="The port of --serve.")] = 8765,
    at: Annotated[int | None, typer.Option(min=0, help="Start at the position after this many events.")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Step every event: the fast machine never skips ahead.")
    ] = False,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    unchecked: Unchecked = False,
    max_firings: Firings = None,
    max_tokens: Tokens = None,
    max_depth: Depth = DEFAULT_LIMITS.depth,
    max_bytes: Bytes = DEFAULT_LIMITS.bytes,
    timeout: Seconds = None,
) -> None:
    """Step through a run, forwards and backwards.

    Ask why things happened, and try what else could have happened.
    """
    if serve:
        raise typer.Exit(serve_command(port))
    if is_finding(target):
        target, args, first = open_finding(Path(target), args)
        at = first if at is None else at
    limits = Limits(max_firings, max_tokens, max_depth, max_bytes, timeout)
    start = RunRequest(target, tuple(args or ()), StartOptions(schedule, limits, seed, k, unchecked, whole))
    mode = DebugMode(headless, plain, commands, as_json, watch, at)
    raise typer.Exit(debug_program(start, mode))


def serve_command(port: int) -> int:
    """Run the same command in a browser: the same words, without --serve and --port."""
    from ..app.serve import serve_debugger

    words, arguments = list[str](), iter(sys.argv[sys.argv.index("debug") + 1 :])
    for word in arguments:
        if word == "--port":
            next(arguments, None)
        elif word != "--serve" and not word.startswith("--port="):
            words.append(word)
    return serve_debugger(words, port)


class DebugMode(NamedTuple):
    """How to debug: on screen, at a prompt without panes, or without a terminal."""

    headless: bool = False
    is_prompt: bool = False
    commands: Path | None = None
    as_json: bool = False
    watches_file: bool = False
    at: int | None = None


def debug_program(start: RunRequest, mode: DebugMode) -> int:
    """Debug a program; the exit code is 1 if a command failed, else 0.

    Raises Usage if there is no terminal and the mode needs one, and the errors of the program's file.
    """
    headless, is_prompt, commands, as_json, watches_file, at = mode
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
        return transcribe(session, read_commands(commands), reply_json if as_json else reply_text)
    return open_session(session, at if start.target else None, is_prompt, watches_file)


def has_terminal() -> bool:
    """Whether there is a terminal, or a browser, for the session."""
    return is_in_browser() or (is_terminal(sys.stdin) and is_terminal(sys.stdout))


def is_in_browser() -> bool:
    """Whether the screen is shown by a browser, through --serve."""
    return "TEXTUAL_DRIVER" in os.environ


def open_session(session: Session, at: int | None = None, is_prompt: bool = False, watches_file: bool = False) -> int:
    """Show a session after `at` events, at a prompt or on screen, until the user leaves it; return the exit code. The
    app, which is imported only here, goes to that position itself, so that the user sees progress and can stop it."""
    if is_prompt or (os.environ.get("TERM") == "dumb" and not is_in_browser()):
        with exits_on_signals():
            if at is not None:
                goto_event(session, at)
            return run_prompt(session)
    from ..app.app import Debugger
    from ..app.hangup import exits_on_hangup
    from ..app.shutdown import run_app

    app = Debugger(session, watches_file=watches_file, shows_tour=True)
    app.writes_ascii = not has_unicode(sys.__stderr__) and not is_in_browser()
    if at is not None:
        app.do(f"goto {at}")
    if is_in_browser():
        return run_app(app)
    with exits_on_hangup(app):
        return run_app(app)


@contextmanager
def exits_on_signals() -> Iterator[None]:
    """While a prompt is open, a signal that ends the process raises SystemExit with the exit code of the shell, 128 and
    the signal's number. Otherwise readline would leave the terminal in its own mode."""

    def handle(number: int, _: object) -> NoReturn:
        raise SystemExit(SIGNAL_EXIT_CODE + number)

    with handle_signals(handle):
        yield


def reply_text(reply: CommandReply) -> str:
    """A command and its reply as text, like at a prompt."""
    return "\n".join([f"{PROMPT}{escape_line(reply.command)}", *reply.text])


def reply_json(reply: CommandReply) -> str:
    """A reply as one line of JSON, for programs. Large arrays are written only here."""
    return json.dumps(reply.to_json(), allow_nan=False, default=str)


def transcribe(session: Session, lines: Iterable[str], form: Callable[[CommandReply], str]) -> int:
    """Execute the lines, and print each with its reply; empty lines and `#` comments are skipped. The output of the
    program's own Python goes to stderr."""
    code = 0
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        with redirect_stdout(sys.stderr), shows_progress(session, line):
            reply = session.execute(line)
        print(form(reply), flush=True)
        code = code if reply.ok else 1
        if session.is_finished:
            break
    return code


@contextmanager
def shows_progress(session: Session, command: str) -> Iterator[None]:
    """While a command runs for more than a second, a line on stderr says how far it is: on a terminal, and not with
    TAGLOOM_PROGRESS=off in the environment."""
    is_off = os.environ.get("TAGLOOM_PROGRESS") == "off" or os.environ.get("TERM") == "dumb"
    if is_off or not is_terminal(sys.stderr):
        yield
        return
    is_done, erase, begin = Event(), "\r\x1b[K", time.monotonic()

    def report() -> None:
        while not is_done.wait(1):
            seconds = time.monotonic() - begin
            line = f"{escape_line(command.strip())[:40]}: {seconds:.0f} s{session.describe_progress()}; Ctrl-C stops it"
            print(f"{erase}{line}", end="", file=sys.stderr, flush=True)
        if time.monotonic() - begin > 1:
            print(erase, end="", file=sys.stderr, flush=True)

    thread = Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def read_commands(file: Path | None) -> Iterator[str]:
    """The lines of a file, or the lines of stdin as they arrive; raises Usage or Malformed if they cannot be read."""
    if file is not None:
        try:
            text = read_file(file).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Malformed("these commands are not text", where=file.name, required="UTF-8") from None
        yield from text.split("\n")
        return
    if sys.stdin is None:
        raise Usage("there are no commands, because stdin is closed", required="lines on stdin, or --commands FILE")
    try:
        while line := sys.stdin.readline(MAX_LENGTH + 1):
            if len(line) > MAX_LENGTH:
                raise Usage("a line of stdin is too long", required=f"{MAX_LENGTH:,} characters at most")
            yield line
    except UnicodeDecodeError:
        raise Malformed("stdin is not text", required="UTF-8") from None


def run_prompt(session: Session) -> int:
    """Read and execute lines until the user leaves; return the exit code."""
    install_completion(session)
    while not session.is_finished:
        try:
            line = input(PROMPT)
        except KeyboardInterrupt:
            print()
            continue
        except EOFError:
            print()
            return 0
        if line.strip():
            with shows_progress(session, line):
                reply = session.execute(line)
            print("\n".join(reply.text))
    return 0


def install_completion(session: Session) -> None:
    """Make Tab complete words; without readline, Tab does nothing."""
    try:
        import readline
    except ImportError:
        return

    def complete(text: str, number: int) -> str | None:
        words = [word for word in completions(session, readline.get_line_buffer()) if word.startswith(text)]
        return words[number] if number < len(words) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
