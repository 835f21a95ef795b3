"""The registry: all commands, in the order in which `help` lists them."""

from __future__ import annotations

from ..run_start import StartOptions
from .command import Command
from .inspect_commands import focus_commands, inspect_commands
from .mark_commands import bookmark_commands, breakpoint_commands, watch_commands
from .query_commands import query_commands
from .run_commands import comparison_commands, fork_commands
from .session import Session
from .session_commands import file_commands, session_commands
from .step_commands import step_commands

COMMAND_GROUPS = (
    step_commands,
    inspect_commands,
    query_commands,
    watch_commands,
    breakpoint_commands,
    fork_commands,
    comparison_commands,
    bookmark_commands,
    focus_commands,
    file_commands,
    session_commands,
)
COMMANDS: dict[str, Command[Session]] = {command.name: command for group in COMMAND_GROUPS for command in group}


def new_session(options: StartOptions | None = None) -> Session:
    """A session with all commands, and no run yet."""
    return Session(COMMANDS, options)
