"""The command line: registers the commands, and turns errors into messages and exit codes.

Exit codes: 0 the run returned, 1 any other ending or a difference, 2 bad usage or bad input; Ctrl-C ends a command by
the signal SIGINT, for which shells report 130, unless a run reports it. Results go to stdout, diagnostics to stderr.
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup

from ... import __version__, command_process
from ...core.errors import Deadlock, Disagreement, Exhausted, TagloomError, Trap, Usage
from ...interp.engines.interrupt import HELPER_THREADS
from ...interp.engines.jit.compiler_process import end_all
from ..load import split_target
from .options import LITERAL_SETTINGS
from .terminal import print_diagnostic, print_error


class CommandSpec(NamedTuple):
    """A command: the module that has its function, its line in the list of commands, which is the first sentence of the
    function's docstring, and whether it takes literals, which may begin with a minus."""

    module: str
    summary: str
    takes_literals: bool = True


COMMANDS = {
    "run": CommandSpec("run", "Run a program on arguments, and print its value."),
    "check": CommandSpec("check", "Run a program in several ways, and compare the results."),
    "conform": CommandSpec("conform", "Compare other systems with the reference."),
    "show": CommandSpec("show", "Draw a program, its graph, or a run of it."),
    "play": CommandSpec("play", "Write an HTML page that plays a run."),
    "debug": CommandSpec("debug", "Step through a run, forwards and backwards."),
    "warm": CommandSpec("warm", "Compile machine code ahead of its first use."),
    "explain": CommandSpec(
        "explain", "Explain a numbered rule, with a right and a wrong example.", takes_literals=False
    ),
    "examples": CommandSpec("examples", "List the example programs, or copy them.", takes_literals=False),
    "ops": CommandSpec("ops", "Describe an op: its operands, attributes and result.", takes_literals=False),
    "curve": CommandSpec("show", "Draw the learning curves of a training.", takes_literals=False),
    "simulate": CommandSpec("simulate", "Simulate training steps in virtual time.", takes_literals=False),
}
"""All commands, in the order in which `help` lists them. The module of a command is imported when the command is
called: together they take longer to import than most commands run."""

APP_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}


class ProgramFileGroup(TyperGroup):
    """The commands. A program in the place of a command is an error that says what to write."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, from its module; raises Usage if the word is a file."""
        file, _ = split_target(args[0])
        if args[0] not in self.commands and os.path.exists(file):
            hint = f"tagloom run {args[0]}, or tagloom debug {args[0]}"
            raise Usage("a command comes before the program", got=args[0], hint=hint)
        _, _, words = super().resolve_command(ctx, args)
        return args[0], load_command(args[0]), words

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Ctrl-C is an exit code here, since versions of typer differ in what they make of it."""
        if command_process.ENDS_IMPORT:
            command_process.restore_interrupts()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(command_process.EXIT_CODE) from None


def load_command(name: str) -> Any:
    """A command, from the function of this name in its module."""
    spec = COMMANDS[name]
    app = typer.Typer(**APP_SETTINGS)
    settings = LITERAL_SETTINGS if spec.takes_literals else None
    app.command(context_settings=settings)(getattr(import_module(f".{spec.module}", __package__), name))
    return typer.main.get_command(app)


app = typer.Typer(
    cls=ProgramFileGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    **APP_SETTINGS,
)
for command_name, command_spec in COMMANDS.items():
    app.command(command_name, help=command_spec.summary)(lambda: None)


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


CommandLineError: Any = typer.BadParameter.__mro__[2]
"""The base of errors of the command line, ClickException, which some versions of typer have from click, and others
contain."""


def main(words: Sequence[str] | None = None) -> NoReturn:
    """The entry point: runs the command line with these words, by default the words of the process, and exits. Turns
    every error that tagloom raises on purpose into a message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for names that the terminal cannot show
    if isinstance(sys.stdin, TextIOWrapper) and codecs.lookup(sys.stdin.encoding).name == "ascii":
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # as files are read
    code = run_command(words)
    if words is None:
        exit_process(code)
    sys.exit(code)


def exit_process(code: int) -> NoReturn:
    """Exit with this code; after Ctrl-C by its signal. Threads that import modules or load code are not waited for."""
    if code == command_process.EXIT_CODE:
        command_process.end_by_interrupt()
    if any(thread.name in HELPER_THREADS for thread in threading.enumerate()):
        end_all()
        os._exit(code)
    sys.exit(code)


def run_command(words: Sequence[str] | None) -> int:
    """Run the command line with these words, print its errors, and return the exit code."""
    try:
        try:
            return app(words, prog_name="tagloom", standalone_mode=False) or 0
        finally:
            if sys.stdout is not None:  # closed
                sys.stdout.flush()
    except CommandLineError as error:
        message = StringIO()
        error.show(file=message)
        print_diagnostic(message.getvalue().rstrip("\n"))
        return int(error.exit_code)
    except typer.Abort:
        print_diagnostic("Aborted!")
        return 1
    except KeyboardInterrupt:
        return command_process.EXIT_CODE
    except (Trap, Exhausted, Deadlock, Disagreement) as error:
        print_error(error)
        return 1
    except TagloomError as error:
        print_error(error)
        return 2
    except OSError as error:
        if error.filename is not None:  # a file, and not stdout
            print_diagnostic(f"{error.strerror}: {str(error.filename)[:200]}")
            return 2
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it on its way out
        if not isinstance(error, BrokenPipeError):
            print_diagnostic(f"the output cannot be written: {error.strerror}")
        return 1
