"""Errors in expressions, shown with the text and a caret under the wrong part."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.errors import Malformed, TagloomError, Usage
from ...core.program.hints import suggest_name
from ...core.text import excerpt

_MAX_LISTED = 30
_MAX_WIDTH = 40


class ExpressionFault(Exception):
    """An error at a position of a text, which `to_error` turns into an error of type `kind`."""

    def __init__(
        self,
        message: str,
        spot: int,
        *,
        kind: type[TagloomError] = Malformed,
        required: object = None,
        got: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.offset = spot
        self.kind = kind
        self.required = required
        self.got = got
        self.hint = hint


def to_error(fault: ExpressionFault, text: str) -> TagloomError:
    """The error with the line of the text and a caret under the position."""
    before = text[: fault.offset]
    line, column = before.count("\n"), fault.offset - (before.rfind("\n") + 1) + 1
    where = f"column {column}" if "\n" not in text else f"line {line + 1}, column {column}"
    shown = excerpt(text.split("\n")[line], column)
    said = {"required": fault.required, "got": fault.got, "hint": fault.hint}
    return fault.kind(fault.message, where=where, excerpt=shown, **said)  # type: ignore[arg-type]


def unknown_name(
    message: str, word: str, spot: int, there: list[str], *, alternatives: Iterable[str] = ()
) -> ExpressionFault:
    """The fault of an unknown word, with the known ones and the closest match; `alternatives` are other names of known
    things."""
    more = len(there) - _MAX_LISTED
    listed = ", ".join(there[:_MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")
    hint = suggest_name(word, [*there, *alternatives]) if len(word) < 2 * _MAX_WIDTH else None
    return ExpressionFault(
        message, spot, kind=Usage, required=listed or None, got=None if listed else "none", hint=hint
    )


def abbreviate(text: str) -> str:
    """A text, shortened if it is long."""
    return text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 3] + "..."
