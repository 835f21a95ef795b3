"""Syntax trees of Python's, made by one thread at a time: CPython counts how deep they are for all threads together,
and raises SystemError where several make them at once (seen with 3.11)."""

from __future__ import annotations

import ast
import os
from threading import Lock
from typing import Any

_TURN = Lock()


def _begin_again() -> None:
    """A child that was forked has none of the threads, one of which may have held it."""
    global _TURN
    _TURN = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


def parsed(text: str, mode: str = "exec") -> Any:
    """The tree of a text, as `ast.parse` gives it; raises SyntaxError and ValueError as that does.

    >>> parsed("x + 1", "eval").body.right.value
    1
    """
    with _TURN:
        return ast.parse(text, mode=mode)
