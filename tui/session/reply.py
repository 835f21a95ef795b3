"""Replies of commands: text for people, and the same as data for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

from ...core.errors import TagloomError
from ...interp.records.outcome_json import error_text


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Lines of text, and JSON-compatible data: numbers, texts, None, truth values, lists, and dicts with text keys.
    Values of the program are literals of the text form."""

    text: Sequence[str]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The reply to a command: `ok` says whether it succeeded; if not, the text is that of the error."""

    command: str
    """The command line."""
    ok: bool
    text: tuple[str, ...]
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The reply as a JSON object."""
        return {"command": self.command, "ok": self.ok, "text": list(self.text), "data": dict(self.data)}


def sanitize(text: str) -> str:
    r"""A text of one line as a terminal is to have it: a sign that no terminal shows, or that commands it, is a dot.

    >>> sanitize("a\tb\x1b[2J")
    'a   b·[2J'
    """
    return text if text.isprintable() else "".join(c if _is_printable(c) else "·" for c in text.expandtabs(4))


def _is_printable(sign: str) -> bool:
    return sign.isprintable() or category(sign) == "Zs"  # blanks of other scripts are as wide as they are


def error_result(error: TagloomError) -> CommandResult:
    """The text of an error, in the words of the command line."""
    parts = {
        "error": type(error).__name__,
        "message": error.message,
        "rule": error.rule,
        "where": None if error.where is None else str(error.where),
        "hint": error.hint,
    }
    return CommandResult(error_text(error).splitlines(), parts)


def with_omitted_count(lines: Sequence[str], count: int) -> list[str]:
    """The first of `count` lines, with one more that says how many are not there.

    >>> with_omitted_count(["a", "b"], 2), with_omitted_count(["a", "b"], 1002)
    (['a', 'b'], ['a', 'b', 'and 1,000 more'])
    """
    return [*lines, *([f"and {count - len(lines):,} more"] if count > len(lines) else [])]


def truncate_lines(lines: Sequence[str], most: int, noun: str = "more") -> list[str]:
    """As many lines, the last of which says how many have no room.

    >>> truncate_lines(["a", "b", "c"], 2), truncate_lines(["a", "b"], 2)
    (['a', 'and 2 more'], ['a', 'b'])
    """
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"and {len(lines) - most + 1:,} {noun}"]
