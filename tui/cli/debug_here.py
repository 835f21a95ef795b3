"""`f.debug(...)`: the debugger in the terminal of the running Python. Its modules are imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core.errors import Usage
from ...core.world import World

if TYPE_CHECKING:
    from ...interp.history.history import History


def debug_run(begin: Callable[[World], History], at: int = 0) -> None:
    """Debug a run, which `begin` starts in a world that prints to the session, from after `at` events on.

    Raises Usage if there is no terminal, and the errors of `begin`.
    """
    from ..session.commands import new_session
    from .debug import has_terminal, open_session

    if not has_terminal():
        raise Usage("there is no terminal to debug at", hint="f.history(...) is stepped from Python")
    session = new_session()
    session.add_run(begin(session.world))
    open_session(session, at or None)
