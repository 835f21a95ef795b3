"""One line of an event log that somebody wrote: the tags that it declares, and where it differs from an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ...core.json.cursor import WORD, Cursor
from ...core.json.value import read_carried, value_form
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value, fingerprint
from ..machine.event import Cell, Event, Token
from .event_log import text

_LONGEST = 200
"""How much of a line a message quotes."""


class OpenTags:
    """The tags of a log that are open, and those that it has declared for the next event."""

    def __init__(self) -> None:
        self.numbers: dict[Tag, int] = {ROOT: 0}
        self._tags = {0: ROOT}
        """Those of `numbers` by number."""
        self._declared: list[Tag] = []
        """What the next event is to use: a tag, and what is around it and not open."""
        self._first: Cursor | None = None
        """The line of the first of those."""
        self._next = 1

    def declare(self, at: Cursor, sites: Sequence[Site], deepest: int) -> None:
        """A line that declares a tag; raises Malformed where it has a line already, where its parent is not open, or
        where no event can use it: one opens a tag that is at most one deeper than the `deepest` so far.
        """
        number, parent, site, iteration = at.fields("tag", "parent", "site", "iteration")
        if number.integer() != self._next:
            number.refuse(f"{self._next}, the next number")
        if site.integer(0) >= len(sites):
            site.refuse("the number of a site in the first line")
        tag = self._parent(parent).child(sites[site.integer()], iteration.integer(0))
        if tag in self.numbers:
            first = self.numbers[tag]
            at.refuse("one line for a tag while it is open", f"a second one; the first is that of {first}")
        if tag.depth > deepest + 1:
            at.refuse(
                "a tag that the next event uses", f"one of depth {tag.depth:,}, where the deepest has {deepest:,}"
            )
        self._first = self._first or at
        self._declared.append(tag)
        self._next += 1

    def _parent(self, at: Cursor) -> Tag:
        number = at.integer(0)
        if self._declared:
            if number != self._next - 1:
                at.refuse(f"{self._next - 1}, since an event opens one tag, and what is around it")
            return self._declared[-1]
        if number not in self._tags:
            at.refuse("a tag that is open, with a line before this one")
        return self._tags[number]

    def name(self, event: Event) -> None:
        """Give the tags that were declared their numbers, if they are those that an event opens."""
        if self._declared and event.sent and event.sent[0].tag == self._declared[-1]:
            opened = list(islice(event.sent[0].tag.steps(), len(self._declared)))
            for number, tag in enumerate(reversed(opened), self._next - len(opened)):
                self.numbers[tag], self._tags[number] = number, tag
            self._declared, self._first = [], None

    def refuse_unused(self) -> None:
        """Raises Malformed where a tag was declared that the next event did not open."""
        if self._first is not None:
            self._first.refuse("a tag that the next event uses")

    def close(self, event: Event) -> None:
        """Forget the tags that an event closed: were one to open again, it would get a new line."""
        for tag, _ in event.closed:
            if tag.parent is not None:
                del self._tags[self.numbers.pop(tag)]


def position_of(at: Cursor) -> int:
    """The position in the line of an event; raises Malformed where that has other keys than it should."""
    fired = at.has("inputs") or at.has("outputs")
    required = ("deliver", "position", "inputs", "outputs") if fired else ("deliver", "position")
    return at.fields(*required, optional=_ABSENT.keys() - set(required))[1].integer(0)


def claimed(at: Cursor) -> tuple[Value | None, str | None]:
    """What the line of an event says that an effect gave: its result, or why it trapped; or neither."""
    trap = at.key("trap").text() if at.has("trap") else None
    made = [row.row("output", "value") for row in at.key("outputs").entries()] if at.has("outputs") else []
    return next((read_carried(value) for output, value in made if output.integer(0) == 0), None), trap


def differences(at: Cursor, event: Event, numbers: dict[Tag, int]) -> Iterator[tuple[str, str, str]]:
    """Where the line of an event differs from an event: the key, what is required, and what the line has."""
    for key, form in _forms(event, numbers).items():
        line = at.key(key) if at.has(key) else None
        if key == "sent" and event.sent and event.sent[0].tag not in numbers:
            yield key, f"tokens under {event.sent[0].tag}, a tag that has no line yet", _quoted(line and line.data)
        if line is not None and form is not None and text(line.data) == text(form):
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
        "trap": event.trap,
        "outputs": [[output, value_form(value)] for output, value in event.outputs] if fired else None,
        "sent": [_token_form(token, numbers) for token in event.sent] or None,
        "closed": [[numbers.get(tag, _UNKNOWN), sorted(nodes)] for tag, nodes in event.closed] or None,
        "parked": event.parked and _cell_form(event.parked),
        "woken": [_token_form(token, numbers) for token in event.woken] or None,
        "held": event.held or None,
        "released": [[step, _token_form(token, numbers)] for step, token in event.released] or None,
    }


_UNKNOWN = WORD - 1
"""What stands for the number of a tag that the log has not declared."""


def _token_form(token: Token, numbers: dict[Tag, int]) -> list[Any]:
    return [token.node, token.port, numbers.get(token.tag, _UNKNOWN), value_form(token.value)]


def _cell_form(cell: Cell) -> list[Any]:
    return [value_form(cell.handle), cell.number]


def _read_token(at: Cursor) -> Any:
    node, port, tag, value = at.row("node", "port", "tag", "value")
    return node.integer(-1), port.integer(0), tag.integer(0), _read_bits(value)


def _read_bits(at: Cursor) -> Any:
    value: Value = read_carried(at)
    return fingerprint(value)


def _read_output(at: Cursor) -> Any:
    output, value = at.row("output", "value")
    return output.integer(0), _read_bits(value)


def _read_closed(at: Cursor) -> Any:
    tag, nodes = at.row("tag", "nodes")
    return tag.integer(0), sorted(nodes.each(lambda node: node.integer(0)))


def _read_cell(at: Cursor) -> Any:
    handle, number = at.row("handle", "number")
    return _read_bits(handle), number.integer(0)


def _read_released(at: Cursor) -> Any:
    step, token = at.row("step", "token")
    return step.integer(0), _read_token(token)


_READ: dict[str, Any] = {
    "deliver": _read_token,
    "inputs": lambda at: at.each(_read_bits),
    "outputs": lambda at: at.each(_read_output),
    "trap": Cursor.text,
    "sent": lambda at: at.each(_read_token),
    "closed": lambda at: at.each(_read_closed),
    "parked": _read_cell,
    "woken": lambda at: at.each(_read_token),
    "held": Cursor.truth,
    "released": lambda at: at.each(_read_released),
}
_ABSENT: dict[str, Any] = {
    "inputs": None, "outputs": None, "trap": None, "sent": (), "closed": (),
    "parked": None, "woken": (), "held": False, "released": (),
}  # fmt: skip
"""What a line says that has not the key."""
