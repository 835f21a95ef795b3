"""The registry: all commands, in the order in which they are told."""

from __future__ import annotations

from ..run_start import Options
from .adjoint_commands import there_and_back
from .bookmark_commands import marking
from .breakpoint_commands import stopping
from .call_commands import around
from .command import Command
from .compare_commands import comparing
from .file_commands import exporting
from .focus_commands import focusing
from .fork_commands import forking
from .help_commands import helping
from .inspect_commands import looking
from .query_commands import asking
from .session import Session
from .step_commands import moving
from .watch_commands import watching

GROUPS = (
    moving,
    around,
    there_and_back,
    looking,
    asking,
    watching,
    stopping,
    forking,
    comparing,
    marking,
    focusing,
    exporting,
    helping,
)
COMMANDS: dict[str, Command] = {command.name: command for group in GROUPS for command in group}


def new_session(options: Options | None = None) -> Session:
    """A session with all commands, and no run yet."""
    return Session(COMMANDS, options)
