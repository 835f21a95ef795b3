"""Parsing Python source, one thread at a time: CPython counts the parser's recursion depth for all threads together,
and raises SystemError where several parse at once (seen with 3.11)."""

from __future__ import annotations

import ast
import os
from threading import Lock
from typing import Any

_PARSE_LOCK = Lock()


def _reset_lock_after_fork() -> None:
    """Make a new lock in a forked child: the thread that held the old one may not exist there."""
    global _PARSE_LOCK
    _PARSE_LOCK = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_lock_after_fork)


def parse_python(text: str, mode: str = "exec") -> Any:
    """The syntax tree of Python source, as from `ast.parse`; raises SyntaxError and ValueError as that does.

    >>> parse_python("x + 1", "eval").body.right.value
    1
    """
    with _PARSE_LOCK:
        return ast.parse(text, mode=mode)
