"""The options of `tagloom debug` on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...interp.engines.limits import Limits
from ..run_start import Start, StartOptions
from .debug import DebugMode
from .debug import debug as debugged
from .options import Arguments, Bound, Bytes, Depth, Firings, Schedule, Seconds, Seed, Tokens, Unchecked

_DEFAULT_LIMITS = Limits()


def debug(
    target: Annotated[
        str, typer.Argument(metavar="[FILE[:NAME]]", help="What `run` takes, or a log; without it, `load` one.")
    ] = "",
    args: Arguments = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without a screen: read commands, print answers.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Type commands at a prompt, without panes.")] = False,
    commands: Annotated[Path | None, typer.Option(help="Read commands from this file, one a line.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each command.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Begin again when the program's file is edited.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="In a browser on this machine.")] = False,
    port: Annotated[int, typer.Option(help="Where --serve listens.")] = 8765,
    at: Annotated[int | None, typer.Option(min=0, help="Begin after so many events.")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Know every event: the fast machine never skips ahead.")
    ] = False,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    unchecked: Unchecked = False,
    max_firings: Firings = _DEFAULT_LIMITS.firings,
    max_tokens: Tokens = _DEFAULT_LIMITS.tokens,
    max_depth: Depth = _DEFAULT_LIMITS.depth,
    max_bytes: Bytes = _DEFAULT_LIMITS.bytes,
    timeout: Seconds = None,
) -> None:
    """Step through a run, forwards and backwards. Question it, and try what else could have happened."""
    if serve:
        raise typer.Exit(_serve(port))
    limits = Limits(max_firings, max_tokens, max_depth, max_bytes, timeout)
    start = Start(target, tuple(args or ()), StartOptions(schedule, limits, seed, k, unchecked, whole))
    manner = DebugMode(headless, plain, commands, as_json, watch, at)
    raise typer.Exit(debugged(start, manner))


def _serve(port: int) -> int:
    """Run the same command in a browser: the same words, without --serve and --port."""
    from ..app.serve import serve_debugger

    words, given = list[str](), iter(sys.argv[sys.argv.index("debug") + 1 :])
    for word in given:
        if word == "--port":
            next(given, None)
        elif word != "--serve" and not word.startswith("--port="):
            words.append(word)
    return serve_debugger(words, port)
