"""What is wrong with an expression, and where: an error that shows the text with a caret under the culprit."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.errors import Malformed, TagloomError, Usage
from ...core.program.hints import suggest_name
from ...core.text import excerpt

_MAX_LISTED = 30
_MAX_WIDTH = 40


class ExpressionFault(Exception):
    """What is wrong at a spot of a text, for `to_error` to say; `kind` is the error that it is."""

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
    """The error that shows the line of the text, and the culprit."""
    before = text[: fault.offset]
    line, column = before.count("\n"), fault.offset - (before.rfind("\n") + 1) + 1
    where = f"column {column}" if "\n" not in text else f"line {line + 1}, column {column}"
    shown = excerpt(text.split("\n")[line], column)
    said = {"required": fault.required, "got": fault.got, "hint": fault.hint}
    return fault.kind(fault.message, where=where, excerpt=shown, **said)  # type: ignore[arg-type]


def unknown_name(
    message: str, word: str, spot: int, there: list[str], *, alternatives: Iterable[str] = ()
) -> ExpressionFault:
    """The fault of a word that is not there: with what is, and with what it was probably to be; `alternatives` are
    other names of what is there."""
    more = len(there) - _MAX_LISTED
    listed = ", ".join(there[:_MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")
    hint = suggest_name(word, [*there, *alternatives]) if len(word) < 2 * _MAX_WIDTH else None
    return ExpressionFault(
        message, spot, kind=Usage, required=listed or None, got=None if listed else "none", hint=hint
    )


def abbreviate(text: str) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 3] + "..."
