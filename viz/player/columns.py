"""The encoding of a run for the page: columns of small numbers, and each text once. The page's scripts read it.

A token is a row of the columns `node`, `port`, `tag`, `value` and `edge` (-1 if unknown). A move is
token * 8 + place; `move_counts` has the number of moves of each event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core.graph.graph import Graph
from ...core.ops.effects import ALL_OPS, fill_placeholders
from ...core.program.program import Location
from ...core.tag import Tag
from ...core.types import OPAQUE_CLASSES, Handle
from ...core.value import Value, abbreviate
from ...interp.machine.event import Event
from ...interp.outcome.outcome import describe_value
from ...interp.outcome.worker_lanes import WorkerLanes, crossings
from ..activation_tree import ActivationTree
from ..labels import NodeLabels
from ..source_lines import shareable_lines
from ..state_view import abbreviate_tag, abbreviate_value
from .graph_layout import PlayerPlan, PlayerPlans
from .recording import PlayerSegment, TokenPlace, recorded_arguments

JsonRow: TypeAlias = list[Any]

MAX_VALUE_LENGTH = 400
"""The most characters of a value, so that large arrays do not fill the page."""

MAX_PRINTED_LINES = 200
"""The most lines on a page that were printed before it begins."""


class _InternTable:
    """A table that stores each row once and numbers the rows."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def intern(self, row: Any) -> int:
        if row not in self._numbers:
            self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return self._numbers[row]

    def __contains__(self, row: Any) -> bool:
        return row in self._numbers


class PlayerColumns:
    """The columns of a part of a run."""

    def __init__(self, segment: PlayerSegment, plans: PlayerPlans, excerpts: Sequence[SourceExcerpt]) -> None:
        self.segment, self.plans, self.excerpts = segment, plans, excerpts
        self.graph: Graph = segment.recording.graph
        self.values, self.tags = _InternTable(), _InternTable()
        self.waves = wave_numbers(segment.recording.events)
        used_tokens = dict.fromkeys(number for number, _ in segment.initial_moves)
        used_tokens.update(dict.fromkeys(number for moves in segment.moves for number, _ in moves))
        self.rows = {number: row for row, number in enumerate(used_tokens)}

    def to_json(self) -> dict[str, Any]:
        """All data of the page."""
        return {
            "name": self.graph.name,
            "event_count": len(self.segment.recording.events),
            "nodes": self._nodes(),
            "docs": self._docs(),
            "plans": [self.encode_plan(plan) for plan in self.plans.plans],
            "tokens": self._tokens(),
            "initial_moves": self.encode_moves(self.segment.initial_moves),
            "moves": [code for moves in self.segment.moves for code in self.encode_moves(moves)],
            "move_counts": [len(moves) for moves in self.segment.moves],
            "events": self._events(),
            "source": [[excerpt.file, excerpt.first, excerpt.lines] for excerpt in self.excerpts],
            "cells": self._cells(),
            "printed": self.printed_lines(),
            "partial_waves": self.partial_waves(),
            "tags": self._tags(),
            "values": [[*row] if row[0] != row[1] else [row[0]] for row in self.values.rows],
        }

    def intern_value(self, value: Value | None) -> int:
        """The number of a value in the table of texts: in a few characters, and in full up to a length. Of an array
        that exceeds the length in any case, only the first elements and the last are written."""
        if value is None:
            return self.values.intern(("?", "not known"))
        is_opaque = isinstance(value, OPAQUE_CLASSES)
        text = describe_value(self.graph, value) if is_opaque else abbreviate(value, MAX_VALUE_LENGTH // 3)
        cut = text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}\u2026"
        return self.values.intern((abbreviate_value(value), cut))

    def intern_tag(self, tag: Tag) -> int:
        """The number of a tag, assigned after the numbers of its ancestors."""
        new = []
        ancestor: Tag | None = tag
        while ancestor is not None and ancestor not in self.tags:
            new.append(ancestor)
            ancestor = ancestor.parent
        for new_tag in reversed(new):
            self.tags.intern(new_tag)
        return self.tags.intern(tag)

    def _nodes(self) -> list[JsonRow]:
        """For each node: name, op, source line as [excerpt, line], literals by port, whether the last port is a
        trigger, label, and origin."""
        labels, positions = NodeLabels(self.graph), self._source_positions()
        return [
            [
                str(node),
                node.op,
                positions.get((node.location.file, node.location.line)) if node.location else None,
                [None if literal is None else str(literal) for literal in node.ports],
                int(node.has_trigger),
                labels.label_lines(number)[0],
                str(node.origin),
            ]
            for number, node in enumerate(self.graph.nodes)
        ]

    def encode_plan(self, plan: PlayerPlan) -> dict[str, Any]:
        """A layout of the graph: the box of each node and of each result; the number of the arrow of each edge, -1 if
        none is drawn, and the number of arrows; and what it unfolds. The page itself has the SVG of the first."""
        return {
            "svg": plan.svg if plan.unfolded_box else "",
            "boxes": [plan.drawn_boxes[f"n{number}"] for number in range(len(self.graph.nodes))],
            "results": [plan.drawn_boxes[f"r{position}"] for position in range(len(self.graph.results))],
            "edges": [plan.arrow_numbers.get(key, -1) for key in self.plans.edges],
            "arrow_count": len(plan.view.arrows),
            "unfolded_box": plan.unfolded_box,
            "title": plan.title,
            "parent": plan.parent,
            "note": plan.view.caption,
        }

    def _source_positions(self) -> dict[tuple[str, int], JsonRow]:
        return {
            (excerpt.path, excerpt.first + offset): [number, offset]
            for number, excerpt in enumerate(self.excerpts)
            for offset in range(len(excerpt.lines))
        }

    def _docs(self) -> dict[str, str]:
        """The first paragraph of each op's documentation."""
        ops = {node.op for node in self.graph.nodes if node.op in ALL_OPS}
        return {op: " ".join(ALL_OPS[op].doc.strip().split("\n\n")[0].split()) for op in sorted(ops)}

    def _tokens(self) -> dict[str, list[int]]:
        columns: dict[str, list[int]] = {name: [] for name in ("node", "port", "tag", "value", "edge")}
        for number in self.rows:
            token, origin = self.segment.recording.tokens[number], self.segment.recording.origins[number]
            tail = f"n{origin.node}" if origin.node >= 0 else f"a{origin.output}"
            head = f"n{token.node}" if token.node >= 0 else f"r{token.port}"
            row = (
                token.node, token.port, self.intern_tag(token.tag), self.intern_value(token.value),
                self.plans.edges.get((tail, head, max(token.port, 0) if token.node >= 0 else 0), -1),
            )  # fmt: skip
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
        return columns

    def encode_moves(self, moves: Sequence[tuple[int, TokenPlace]]) -> list[int]:
        """Moves as token * 8 + place."""
        return [self.rows[number] * 8 + state for number, state in moves]

    def _events(self) -> dict[str, Any]:
        """A column each: the events' numbers in the run, nodes, tags, ports, codes (`event_code`), waves, operands and
        results; and the texts of some: the reason of a trap, the line of a print."""
        events, numbers = self.segment.recording.events, self.segment.event_numbers
        shown_events = [events[number] for number in numbers]
        texts = ((index, self.event_text(event)) for index, event in enumerate(shown_events))
        return {
            "number": list(numbers),
            "node": [event.token.node for event in shown_events],
            "tag": [self.intern_tag(event.token.tag) for event in shown_events],
            "port": [event.token.port for event in shown_events],
            "kind": [event_code(event) for event in shown_events],
            "wave": [self.waves[number] for number in numbers],
            "operands": [[self.intern_value(value) for value in self._operands(event)] for event in shown_events],
            "results": [[self.intern_value(value) for _, value in event.outputs] for event in shown_events],
            "texts": {index: text for index, text in texts if text is not None},
        }

    def printed_lines(self) -> dict[str, Any]:
        """The lines that the run has printed by the end of the page, each with the page position after which it is
        there; of those printed before the page only the last ones, and the number of the others."""
        lines: list[JsonRow] = []
        for number, event in enumerate(self.segment.recording.events):
            at = self.page_position(number)
            if at > len(self.segment.event_numbers):
                break
            if event.trap is None and (line := self.event_text(event)) is not None:
                lines.append([at, line])
        omitted = max(0, bisect_left(lines, 1, key=lambda row: row[0]) - MAX_PRINTED_LINES)
        return {"omitted": omitted, "lines": lines[omitted:]}

    def partial_waves(self) -> list[int]:
        """Whether the page begins inside a wave, and whether it ends inside one."""
        waves, numbers = self.waves, self.segment.event_numbers
        if not numbers:
            return [0, 0]
        first, last = numbers[0], numbers[-1]
        begins = first > 0 and waves[first - 1] == waves[first]
        return [int(begins), int(waves[last : last + 2] == [waves[last]] * 2)]

    def _cells(self) -> dict[str, list[JsonRow]]:
        """The arrays of cells: page position at creation, name of the node, tag, size. And the accesses: page position,
        0 for a store or 1 for a deferred read, array, cell, value or -1, and the node and tag of the access."""
        arrays: dict[Handle, int] = {}
        array_rows, changes = list[JsonRow](), list[JsonRow]()
        for number, event in enumerate(self.segment.recording.events):
            at = self.page_position(number)
            if at > len(self.segment.event_numbers):
                break
            token, node = event.token, self.graph.nodes[event.token.node]
            for _, value in event.outputs if node.op == "cells" else ():
                assert isinstance(value, Handle)
                arrays[value] = len(arrays)
                array_rows.append([at, str(node), self.intern_tag(value.tag), value.size])
            access = [token.node, self.intern_tag(token.tag)] if event.deferred_at or node.op == "store" else []
            if event.deferred_at is not None:
                handle, cell = event.deferred_at
                changes.append([at, 1, arrays[handle], cell, -1, *access])
            elif node.op == "store" and event.inputs is not None and event.trap is None:
                array, index, stored = event.inputs
                assert isinstance(array, Handle)
                changes.append([at, 0, arrays[array], int(np.asarray(index)), self.intern_value(stored), *access])
        return {"arrays": array_rows, "changes": changes}

    def page_position(self, number: int) -> int:
        """The page position after an event of the run: the number of the page's events up to it; 0 before the first."""
        numbers = self.segment.event_numbers
        return 0 if not numbers or number < numbers[0] else bisect_left(numbers, number) + 1

    def _operands(self, event: Event) -> Sequence[Value]:
        """The operands of a firing without the trigger; for a token that waits or is deferred, its value alone."""
        if event.inputs is None:
            return (event.token.value,)
        return event.inputs[: len(event.inputs) - self.graph.nodes[event.token.node].has_trigger]

    def event_text(self, event: Event) -> str | None:
        """The reason of a trap, or the line of a print."""
        node = self.graph.nodes[event.token.node]
        if event.trap is not None:
            return event.trap
        if node.op != "print" or event.inputs is None:
            return None
        text = str(dict(node.attributes).get("text"))
        return fill_placeholders(text, [describe_value(self.graph, value) for value in self._operands(event)])

    def _tags(self) -> dict[str, list[Any]]:
        """A column each, by tag: parent, last step, short form, the texts of its call and of its results; its call in
        full if that is abbreviated; and the page positions at which it opened, returned and closed, -1 if not on the
        page."""
        recording, lifetimes = self.segment.recording, tag_lifetimes(self.segment)
        tree = ActivationTree(self.graph, recorded_arguments(recording), recording.events)
        names = ("parent", "step", "short", "call", "results", "full_call", "opened", "returned", "closed")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for tag in list(self.tags.rows):
            open_position, return_position, close_position = lifetimes.get(tag, (0, -1, -1))
            call, full_call = tag.last_step, tag.last_step
            if tag in tree.inputs:
                call, full_call = tree.describe_call(tag), tree.describe_full_call(tag)
            row = (
                -1 if tag.parent is None else self.tags.intern(tag.parent), tag.last_step, abbreviate_tag(tag),
                call,
                tree.describe_results(tag) if tag.site.kind == "call" else "",
                "" if full_call == call else full_call,
                open_position, return_position, close_position,
            )  # fmt: skip
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
        return columns


def encode_lanes(segment: PlayerSegment, lanes: WorkerLanes) -> dict[str, Any]:
    """The lanes of a run on several workers: their titles; the lane of each event of the page, -1 for none; and the
    calls and loops that were donated, each as two events of the page."""
    events, numbers, ranks = segment.recording.events, segment.event_numbers, lanes.used_ranks()
    rows = {rank: row for row, rank in enumerate(ranks)}
    places = {number: place for place, number in enumerate(numbers)}
    donations = (crossing for crossing in crossings(lanes, events) if crossing.is_donation)
    return {
        "titles": [lanes.title(rank) for rank in ranks],
        "rows": [-1 if (rank := lanes.rank(number)) is None else rows[rank] for number in numbers],
        "donations": [
            [places[donation.sender], places[donation.receiver]]
            for donation in donations
            if donation.sender in places and donation.receiver in places
        ],
    }


def event_code(event: Event) -> int:
    """The code of an event: 0 if the token waits, 1 if the node fires, 2 if it traps, 3 if a read is deferred."""
    if event.inputs is None:
        return 3 if event.deferred_at is not None else 0
    return 1 if event.trap is None else 2


def wave_numbers(events: Sequence[Event]) -> list[int]:
    """The wave of each event, from 1."""
    numbers, wave = [], 1
    for event in events:
        numbers.append(wave)
        wave += event.ends_wave
    return numbers


def tag_lifetimes(segment: PlayerSegment) -> dict[Tag, tuple[int, int, int]]:
    """For each tag, the positions in the segment at which it opened, returned its last result, and closed; -1 if it did
    not."""
    recording = segment.recording
    open_positions: dict[Tag, int] = {}
    for number, _ in segment.initial_moves:
        open_positions.setdefault(recording.tokens[number].tag, 0)
    return_positions: dict[Tag, int] = {}
    closed: dict[Tag, int] = {}
    for position, number in enumerate(segment.event_numbers, 1):
        event = recording.events[number]
        for token, _ in segment.moves[position - 1]:
            open_positions.setdefault(recording.tokens[token].tag, position)
        if event.is_firing and recording.graph.nodes[event.token.node].op == "return":
            return_positions[event.token.tag] = position
        for activation in event.closed:
            closed[activation.tag] = position
    return {
        tag: (position, return_positions.get(tag, -1), closed.get(tag, -1)) for tag, position in open_positions.items()
    }


# The source lines of nodes, which the page shows beside the graph


CONTEXT_LINES = 2
"""The lines of context before and after the lines of nodes."""

MAX_GAP = 12
"""The largest gap between lines of one excerpt."""


class SourceExcerpt(NamedTuple):
    """Some lines of a file, from line number `first` on; no lines if the source cannot be read. `file` is the name
    without its folder."""

    file: str
    path: str
    first: int
    lines: list[str]


def source_excerpts(graph: Graph) -> list[SourceExcerpt]:
    """The source lines of the nodes of a graph, with context, as far as they can still be read."""
    locations_by_file: dict[str, list[Location]] = defaultdict(list)
    for node in graph.nodes:
        if node.location is not None:
            locations_by_file[node.location.file].append(node.location)
    excerpts = []
    for path, locations in locations_by_file.items():
        lines = shareable_lines(locations[0])
        if not lines:
            excerpts.append(SourceExcerpt(Path(path).name, path, 1, []))
        for first, last in group_lines(sorted({location.line for location in locations})):
            begin, end = max(1, first - CONTEXT_LINES), min(len(lines), last + CONTEXT_LINES)
            if begin <= last <= len(lines):
                excerpt = [line.rstrip() for line in lines[begin - 1 : end]]
                while excerpt and not excerpt[0] and begin < first:
                    excerpt, begin = excerpt[1:], begin + 1
                excerpts.append(SourceExcerpt(Path(path).name, path, begin, excerpt))
    return excerpts


def group_lines(numbers: list[int]) -> list[tuple[int, int]]:
    """Group line numbers that are close to each other: the first and the last of each group.

    >>> group_lines([1, 2, 5, 40])
    [(1, 5), (40, 40)]
    """
    groups: list[tuple[int, int]] = []
    for number in numbers:
        if groups and number - groups[-1][1] <= MAX_GAP:
            groups[-1] = (groups[-1][0], number)
        else:
            groups.append((number, number))
    return groups
