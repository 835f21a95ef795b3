"""The source lines of a graph's nodes, which the page shows beside the graph."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...core.program.program import Location
from ..source_lines import shareable_lines

CONTEXT_LINES = 2
"""The lines of context before and after those that made nodes."""

MAX_GAP = 12
"""The largest gap between lines of one excerpt."""


class SourceExcerpt(NamedTuple):
    """Some lines of a file, from line number `first` on; no lines if the source cannot be read. Only the file's name
    is kept, without its folder."""

    file: str
    path: str
    first: int
    lines: list[str]


def source_excerpts(graph: Graph) -> list[SourceExcerpt]:
    """The lines that made the nodes of a graph, as far as they can still be read."""
    wanted: dict[str, list[Location]] = defaultdict(list)
    for node in graph.nodes:
        if node.location is not None:
            wanted[node.location.file].append(node.location)
    found = []
    for path, places in wanted.items():
        lines = shareable_lines(places[0])
        if not lines:
            found.append(SourceExcerpt(Path(path).name, path, 1, []))
        for first, last in _group_lines(sorted({place.line for place in places})):
            begin, end = max(1, first - CONTEXT_LINES), min(len(lines), last + CONTEXT_LINES)
            if begin <= last <= len(lines):
                kept = [line.rstrip() for line in lines[begin - 1 : end]]
                while kept and not kept[0] and begin < first:
                    kept, begin = kept[1:], begin + 1
                found.append(SourceExcerpt(Path(path).name, path, begin, kept))
    return found


def _group_lines(numbers: list[int]) -> list[tuple[int, int]]:
    """Group line numbers that are close to each other: the first and the last of each group.

    >>> _group_lines([1, 2, 5, 40])
    [(1, 5), (40, 40)]
    """
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number - found[-1][1] <= MAX_GAP:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
