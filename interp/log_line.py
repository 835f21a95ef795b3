"""One line of an event log that somebody wrote: the tags that it declares, and where it differs from an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.document.cursor import Cursor
from ..core.document.value import read_value, value_form
from ..core.tag import ROOT, Site, Tag
from ..core.value import Value, fingerprint
from .event import Event, Token
from .log import text

_LONGEST = 200
"""How much of a line a message quotes."""


class OpenTags:
    """The numbers of the open tags of a log, and of those that it has declared and not used yet."""

    def __init__(self) -> None:
        self.numbers: dict[Tag, int] = {ROOT: 0}
        self._declared: dict[tuple[int, Site, int], int] = {}
        self._keys: dict[int, tuple[int, Site, int]] = {}
        self._next = 1

    def declare(self, at: Cursor, sites: Sequence[Site]) -> None:
        """A line that declares a tag; raises Malformed where it has a line already, or its parent has none."""
        number, parent, site, iteration = at.fields("tag", "parent", "site", "iteration")
        if number.integer() != self._next:
            number.refuse(f"{self._next}, the next number")
        if parent.integer(0) >= self._next:
            parent.refuse("a tag with a line before this one")
        if site.integer(0) >= len(sites):
            site.refuse("the number of a site in the first line")
        key = (parent.integer(), sites[site.integer()], iteration.integer(0))
        if key in self._declared:
            at.refuse(
                "one line for a tag while it is open", f"a second one; the first is that of {self._declared[key]}"
            )
        self._declared[key], self._keys[self._next] = self._next, key
        self._next += 1

    def name(self, event: Event) -> None:
        """Give the tag that an event sends under its number, if it has been declared.

        Tags are looked up by their parents' numbers: to compare whole paths would cost the square of the depth.
        """
        new = [event.sent[0].tag] if event.sent else []
        while new and new[-1] not in self.numbers and new[-1].parent is not None:
            new.append(new[-1].parent)
        for tag in reversed(new):
            if tag not in self.numbers and tag.parent in self.numbers:
                number = self._declared.get((self.numbers[tag.parent], tag.site, tag.iteration))
                if number is not None:
                    self.numbers[tag] = number

    def close(self, event: Event) -> None:
        """Forget the tags that an event closed: were one to open again, it would get a new line."""
        for tag, _ in event.closed:
            if tag.parent is not None:
                del self._declared[self._keys.pop(self.numbers.pop(tag))]


def differences(at: Cursor, event: Event, numbers: dict[Tag, int]) -> Iterator[tuple[str, str, str]]:
    """Where the line of an event differs from an event: the key, what is required, and what the line has."""
    forms = _forms(event, numbers)
    fired = at.has("inputs") or at.has("outputs")
    required = ("deliver", "position", "inputs", "outputs") if fired else ("deliver", "position")
    at.fields(*required, optional=("trap", "sent", "closed"))
    for key, form in forms.items():
        line = at.key(key) if at.has(key) else None
        if line is not None and text(line.data) == text(form):
            continue  # to the letter, as in most lines: twice as fast
        got = _ABSENT[key] if line is None else _READ[key](line)
        if got != (_ABSENT[key] if form is None else _READ[key](Cursor(form))):
            yield key, _quoted(form), _quoted(line and line.data)


def _quoted(form: Any) -> str:
    said = "nothing" if form is None else text(form)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."


def _forms(event: Event, numbers: dict[Tag, int]) -> dict[str, Any]:
    """What the line of an event has under each key, None where the key is not there."""
    fired = event.inputs is not None
    return {
        "deliver": _token_form(event.token, numbers),
        "inputs": [value_form(value) for value in event.inputs] if event.inputs is not None else None,
        "outputs": [[output, value_form(value)] for output, value in event.outputs] if fired else None,
        "trap": event.trap,
        "sent": [_token_form(token, numbers) for token in event.sent] or None,
        "closed": [[numbers.get(tag, _UNKNOWN), sorted(nodes)] for tag, nodes in event.closed] or None,
    }


_UNKNOWN = 2**53
"""What stands for the number of a tag that the log has not declared."""


def _token_form(token: Token, numbers: dict[Tag, int]) -> list[Any]:
    return [token.node, token.port, numbers.get(token.tag, _UNKNOWN), value_form(token.value)]


def _read_token(at: Cursor) -> Any:
    node, port, tag, value = at.row("node", "port", "tag", "value")
    return node.integer(-1), port.integer(0), tag.integer(0), _read_bits(value)


def _read_bits(at: Cursor) -> Any:
    value: Value = read_value(at)
    return fingerprint(value)


def _read_output(at: Cursor) -> Any:
    output, value = at.row("output", "value")
    return output.integer(0), _read_bits(value)


def _read_closed(at: Cursor) -> Any:
    tag, nodes = at.row("tag", "nodes")
    return tag.integer(0), sorted(nodes.each(lambda node: node.integer(0)))


_READ: dict[str, Any] = {
    "deliver": _read_token,
    "inputs": lambda at: at.each(_read_bits),
    "outputs": lambda at: at.each(_read_output),
    "trap": Cursor.text,
    "sent": lambda at: at.each(_read_token),
    "closed": lambda at: at.each(_read_closed),
}
_ABSENT: dict[str, Any] = {"inputs": None, "outputs": None, "trap": None, "sent": (), "closed": ()}
