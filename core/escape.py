r"""Control characters as escapes, so that text of others cannot control a terminal or look like other text.

Names, keys, messages and prints may come from documents of strangers. What is shown to people goes through one of these
functions; text for programs (JSON, logs, the text form in a file) is unchanged.

>>> escape_controls("title \x1b]0;owned\x07, \u202ereversed\nnext line"), escape_line("one\nline")
('title \\x1b]0;owned\\x07, \\u202ereversed\nnext line', 'one\\nline')
"""

from __future__ import annotations

import re
import sys

_CONTROLS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # the direction of text, and characters without width
    r"\u2028\u2029"  # the separators of lines and paragraphs
    r"\ud800-\udfff"  # half of a surrogate pair, which no stream can encode
    r"\U000e0000-\U000e007f"  # invisible tags
)
_CONTROL = re.compile(f"[{_CONTROLS}]")
_LINE_CONTROL = re.compile(f"[{_CONTROLS}\n]")


def escape_controls(text: str) -> str:
    """Text of one or several lines for people: control characters other than tab and line feed, and characters that
    change the direction of text or are invisible, are written as Python escapes."""
    return _CONTROL.sub(_escape_match, text)


def escape_line(text: str) -> str:
    """Text that must stay on one line: as `escape_controls`, line feeds included."""
    return _LINE_CONTROL.sub(_escape_match, text)


def _escape_match(match: re.Match[str]) -> str:
    return repr(match.group())[1:-1]


def escape_for_stdout(text: str) -> str:
    """Text that is data, such as what a program prints: with escapes if stdout is a terminal, otherwise unchanged."""
    return escape_controls(text) if sys.stdout is not None and sys.stdout.isatty() else text


def print_line(text: str) -> None:
    """Print what a program prints to stdout."""
    print(escape_for_stdout(text))
