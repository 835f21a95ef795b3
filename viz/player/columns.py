"""What a page is told of a run: columns of small numbers, and each text once. The scripts of the page read it.

A token is a row of the columns `n` (node), `p` (port), `t` (tag), `v` (value) and `a` (arrow, -1 where none is drawn).
A move is token * 8 + place; `sizes` says how many moves each event has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.graph.graph import Graph
from ...core.handle import Handle
from ...core.ops.effect import filled
from ...core.ops.effect_op import ROWS
from ...core.tag import Tag
from ...core.value import Value
from ...interp.machine.event import Event
from ...interp.outcome.describe import shown
from ..activation_tree import Tree
from ..labels import Words
from ..state_view import brief, brief_tag
from .graph_layout import Plan
from .recording import Place, arguments_of
from .selection import Part
from .source import Piece

Row: TypeAlias = list[Any]

LONGEST = 400
"""Longer values are cut: a page is no place for a large array."""

PRINTED = 200
"""So many lines that were printed before a page begins are on it."""


class _Texts:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, row: Any) -> int:
        if row not in self._numbers:
            self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return self._numbers[row]

    def __contains__(self, row: Any) -> bool:
        return row in self._numbers


class Columns:
    """The columns of a part of a run."""

    def __init__(self, part: Part, plan: Plan, pieces: Sequence[Piece]) -> None:
        self.part, self.plan, self.pieces = part, plan, pieces
        self.graph: Graph = part.recording.graph
        self.values, self.tags = _Texts(), _Texts()
        self.waves = _waves(part.recording.events)
        used = dict.fromkeys(number for number, _ in part.start)
        used.update(dict.fromkeys(number for moved in part.moves for number, _ in moved))
        self.rows = {number: row for row, number in enumerate(used)}

    def form(self) -> dict[str, Any]:
        """All that the page is told."""
        return {
            "name": self.graph.name,
            "total": len(self.part.recording.events),
            "nodes": self._nodes(),
            "results": [f"r{position}" for position in range(len(self.graph.results))],
            "docs": self._docs(),
            "arrows": [[arrow.tail, arrow.head] for arrow in self.plan.view.arrows],
            "tokens": self._tokens(),
            "start": self._moves(self.part.start),
            "moves": [code for moved in self.part.moves for code in self._moves(moved)],
            "sizes": [len(moved) for moved in self.part.moves],
            "events": self._events(),
            "source": [[piece.file, piece.first, piece.lines] for piece in self.pieces],
            "cells": self._cells(),
            "printed": self._printed(),
            "cut": self._cut(),
            "tags": self._tags(),
            "values": [[*row] if row[0] != row[1] else [row[0]] for row in self.values.rows],
        }

    def _value(self, value: Value | None) -> int:
        if value is None:
            return self.values.number(("?", "not known"))
        said = shown(self.graph, value)
        cut = said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}\u2026"
        return self.values.number((brief(value), cut))

    def _tag(self, tag: Tag) -> int:
        """The number of a tag, after those of all around it."""
        new = []
        at: Tag | None = tag
        while at is not None and at not in self.tags:
            new.append(at)
            at = at.parent
        for around in reversed(new):
            self.tags.number(around)
        return self.tags.number(tag)

    def _nodes(self) -> list[Row]:
        """Name, op, box, the line of the source as [piece, line], literals by port, whether the last is a trigger."""
        words, places = Words(self.graph), self._lines()
        return [
            [
                str(node),
                node.op,
                self.plan.stands[f"n{number}"],
                places.get((node.location.file, node.location.line)) if node.location else None,
                [None if literal is None else str(literal) for literal in node.ports],
                int(node.triggered),
                words.of(number)[0],
                str(node.where),
            ]
            for number, node in enumerate(self.graph.nodes)
        ]

    def _lines(self) -> dict[tuple[str, int], Row]:
        return {
            (piece.path, piece.first + offset): [number, offset]
            for number, piece in enumerate(self.pieces)
            for offset in range(len(piece.lines))
        }

    def _docs(self) -> dict[str, str]:
        """The first paragraph of what each op does."""
        ops = {node.op for node in self.graph.nodes if node.op in ROWS}
        return {op: " ".join(ROWS[op].doc.strip().split("\n\n")[0].split()) for op in sorted(ops)}

    def _tokens(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {name: [] for name in "nptva"}
        for number in self.rows:
            token, origin = self.part.recording.tokens[number], self.part.recording.origins[number]
            tail = f"n{origin.node}" if origin.node >= 0 else f"a{origin.output}"
            head = f"n{token.node}" if token.node >= 0 else f"r{token.port}"
            row = (
                token.node, token.port, self._tag(token.tag), self._value(token.value),
                self.plan.ways.get((tail, head, max(token.port, 0) if token.node >= 0 else 0), -1),
            )  # fmt: skip
            for name, said in zip("nptva", row, strict=True):
                found[name].append(said)
        return found

    def _moves(self, moves: Sequence[tuple[int, Place]]) -> list[int]:
        return [self.rows[number] * 8 + place for number, place in moves]

    def _events(self) -> dict[str, Any]:
        """By event: its number in the run; token, node and tag; 0 stays, 1 fires, 2 traps, 3 is parked; its wave; what
        it made, and of some a text: of a trap why, of a print the line."""
        events, numbers = self.part.recording.events, self.part.numbers
        shown_events = [events[number] for number in numbers]
        said = ((place, self._text(event)) for place, event in enumerate(shown_events))
        return {
            "at": list(numbers),
            "node": [event.token.node for event in shown_events],
            "tag": [self._tag(event.token.tag) for event in shown_events],
            "port": [event.token.port for event in shown_events],
            "did": [_did(event) for event in shown_events],
            "wave": [self.waves[number] for number in numbers],
            "got": [[self._value(value) for value in self._operands(event)] for event in shown_events],
            "made": [[self._value(value) for _, value in event.outputs] for event in shown_events],
            "texts": {place: text for place, text in said if text is not None},
        }

    def _printed(self) -> dict[str, Any]:
        """What the whole run has printed where the page ends: after how many events of the page, and the line; of what
        came before the page the last lines, and how many are left out."""
        lines: list[Row] = []
        for number, event in enumerate(self.part.recording.events):
            at = self._after(number)
            if at > len(self.part.numbers):
                break
            if event.trap is None and (line := self._text(event)) is not None:
                lines.append([at, line])
        left = max(0, bisect_left(lines, 1, key=lambda row: row[0]) - PRINTED)
        return {"left": left, "lines": lines[left:]}

    def _cut(self) -> list[int]:
        """Whether the page begins within a wave, and whether it ends within one."""
        waves, numbers = self.waves, self.part.numbers
        if not numbers:
            return [0, 0]
        first, last = numbers[0], numbers[-1]
        begins = first > 0 and waves[first - 1] == waves[first]
        return [int(begins), int(waves[last : last + 2] == [waves[last]] * 2)]

    def _cells(self) -> dict[str, list[Row]]:
        """Arrays of cells: after how many events of the page each is made, the name of its node, its tag, its size. And
        what happens to cells: after how many events, 0 put or 1 parked, the array, the cell, the value or -1, the node
        and the tag of who does so."""
        arrays: dict[Handle, int] = {}
        made, changes = list[Row](), list[Row]()
        for number, event in enumerate(self.part.recording.events):
            at = self._after(number)
            if at > len(self.part.numbers):
                break
            token, node = event.token, self.graph.nodes[event.token.node]
            for _, value in event.outputs if node.op == "cells" else ():
                assert isinstance(value, Handle)
                arrays[value] = len(arrays)
                made.append([at, str(node), self._tag(value.tag), value.size])
            who = [token.node, self._tag(token.tag)] if event.parked or node.op == "store" else []
            if event.parked is not None:
                handle, cell = event.parked
                changes.append([at, 1, arrays[handle], cell, -1, *who])
            elif node.op == "store" and event.inputs is not None and event.trap is None:
                where, which, put = event.inputs
                assert isinstance(where, Handle)
                changes.append([at, 0, arrays[where], int(np.asarray(which)), self._value(put), *who])
        return {"arrays": made, "changes": changes}

    def _after(self, number: int) -> int:
        """After how many events of the page an event of the run has happened: 0 where it is before the first."""
        numbers = self.part.numbers
        return 0 if not numbers or number < numbers[0] else bisect_left(numbers, number) + 1

    def _operands(self, event: Event) -> Sequence[Value]:
        """What a node fired on, without the trigger; of a token that stays, that alone."""
        if event.inputs is None:
            return (event.token.value,)
        return event.inputs[: len(event.inputs) - self.graph.nodes[event.token.node].triggered]

    def _text(self, event: Event) -> str | None:
        """Of a trap why, of a print the line."""
        node = self.graph.nodes[event.token.node]
        if event.trap is not None:
            return event.trap
        if node.op != "print" or event.inputs is None:
            return None
        text = str(dict(node.attributes).get("text"))
        return filled(text, [shown(self.graph, value) for value in self._operands(event)])

    def _tags(self) -> dict[str, list[Any]]:
        """By tag: parent, last step, how it was called and what it gave; after which event it opened, gave and closed,
        -1 where that is not shown."""
        recording, life = self.part.recording, _lives(self.part)
        tree = Tree(self.graph, arguments_of(recording), recording.events)
        names = ("up", "step", "short", "called", "gave", "opened", "came", "closed")
        found: dict[str, list[Any]] = {name: [] for name in names}
        for tag in list(self.tags.rows):
            opened, came, closed = life.get(tag, (0, -1, -1))
            row = (
                -1 if tag.parent is None else self.tags.number(tag.parent), tag.last, brief_tag(tag),
                tree.called(tag) if tag in tree.given else tag.last, tree.gave(tag) if tag.site.kind == "call" else "",
                opened, came, closed,
            )  # fmt: skip
            for name, said in zip(found, row, strict=True):
                found[name].append(said)
        return found


def _did(event: Event) -> int:
    if event.inputs is None:
        return 3 if event.parked is not None else 0
    return 1 if event.trap is None else 2


def _waves(events: Sequence[Event]) -> list[int]:
    """The wave of each event, from 1."""
    found, wave = [], 1
    for event in events:
        found.append(wave)
        wave += event.ends_wave
    return found


def _lives(part: Part) -> dict[Tag, tuple[int, int, int]]:
    """For each tag, after how many of the part's events it opened, gave its last result, and closed."""
    recording = part.recording
    opened: dict[Tag, int] = {}
    for number, _ in part.start:
        opened.setdefault(recording.tokens[number].tag, 0)
    came: dict[Tag, int] = {}
    closed: dict[Tag, int] = {}
    for place, number in enumerate(part.numbers, 1):
        event = recording.events[number]
        for token, _ in part.moves[place - 1]:
            opened.setdefault(recording.tokens[token].tag, place)
        if event.fired and recording.graph.nodes[event.token.node].op == "return":
            came[event.token.tag] = place
        for each in event.closed:
            closed[each.tag] = place
    return {tag: (place, came.get(tag, -1), closed.get(tag, -1)) for tag, place in opened.items()}
