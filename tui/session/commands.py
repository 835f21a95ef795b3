"""The registry: all commands, in the order of help."""

from __future__ import annotations

from ..run_start import StartOptions
from .adjoint_commands import adjoint_commands
from .bookmark_commands import bookmark_commands
from .breakpoint_commands import breakpoint_commands
from .call_commands import activation_commands
from .command import Command
from .compare_commands import comparison_commands
from .file_commands import file_commands
from .focus_commands import focus_commands
from .fork_commands import fork_commands
from .help_commands import session_commands
from .inspect_commands import inspect_commands
from .query_commands import query_commands
from .session import Session
from .step_commands import step_commands
from .watch_commands import watch_commands

COMMAND_GROUPS = (
    step_commands,
    activation_commands,
    adjoint_commands,
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
