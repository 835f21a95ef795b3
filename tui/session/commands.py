"""The registry: all commands, in the order in which they are told."""

from __future__ import annotations

from ..begin import Options
from .command import Command
from .helping import helping
from .moving import moving
from .session import Session
from .watching import watching

GROUPS = (moving, watching, helping)
COMMANDS: dict[str, Command] = {command.name: command for group in GROUPS for command in group}


def new_session(options: Options | None = None) -> Session:
    """A session with all commands, and no run yet."""
    return Session(COMMANDS, options)
