"""The registry: all commands, in the order in which they are told."""

from __future__ import annotations

from ..begin import Options
from .activations import around
from .adjoint import there_and_back
from .asking import asking
from .command import Command
from .comparing import comparing
from .exporting import exporting
from .focusing import focusing
from .forking import forking
from .helping import helping
from .looking import looking
from .marking import marking
from .moving import moving
from .session import Session
from .stopping import stopping
from .watching import watching

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
