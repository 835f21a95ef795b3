"""The command line: registers the commands, and turns errors into messages and exit codes.

Exit codes: 0 the run returned, 1 any other ending or a difference, 2 bad usage or bad input. Results go to stdout,
diagnostics to stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from ... import __version__
from ...core.errors import Deadlock, Disagreement, Exhausted, TagloomError, Trap
from .check import check
from .debug import debug
from .examples import examples
from .explain import explain
from .ops import ops
from .options import LITERAL_SETTINGS
from .play import play
from .run import run
from .show import curve, show
from .terminal import print_error
from .warm import warm

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for program_command in (run, check, show, play, debug, warm):
    app.command(context_settings=LITERAL_SETTINGS)(program_command)
for command in (explain, examples, ops, curve):
    app.command()(command)


def print_version(is_requested: bool) -> None:
    """Print the version, and exit."""
    if is_requested:
        print(f"tagloom {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tagged-token dataflow: run a program, check it, draw it, play it, debug it."""


def main(call: Callable[[], Any] = app) -> None:
    """The entry point: turns every error that tagloom raises on purpose into a message and an exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the terminal cannot show
    try:
        try:
            call()
        finally:
            print(end="", flush=True)
    except (Trap, Exhausted, Deadlock, Disagreement) as error:
        print_error(error)
        sys.exit(1)
    except TagloomError as error:
        print_error(error)
        sys.exit(2)
    except OSError as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it on its way out
        if not isinstance(error, BrokenPipeError):
            print(f"the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(1)
