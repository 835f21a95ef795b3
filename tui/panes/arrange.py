"""The arrangement of panes on a screen of a given size: pure geometry. If there is little room, several panes share
an area."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PANES = (
    "graph", "source", "flight", "waiting", "tags", "inspector", "events", "cells", "answers", "timeline", "code",
    "call",
)  # fmt: skip
"""All panes; their keys are the digits 1 to 9 and 0, `#` and `V`."""

OTHER_PANES = ("other graph", "other tags")
"""The panes of the run that is shown beside the current one. They have no keys: they are there as long as it is."""

WIDE, MEDIUM = 150, 100
"""The widths from which a screen has three columns of panes, and two."""


class PaneArea(NamedTuple):
    """An area of the screen, and the panes that share it; `front` is the visible one."""

    panes: tuple[str, ...]
    front: str
    x: int
    y: int
    width: int
    height: int


def key_of(pane: str) -> str:
    """The key of a pane; empty if it has none.

    >>> key_of("graph"), key_of("timeline"), key_of("code"), key_of("other graph")
    ('1', '0', '#', '')
    """
    return "" if pane in OTHER_PANES else "1234567890#V"[PANES.index(pane)]


def arrange_panes(
    width: int, height: int, fronts: Mapping[str, int], maximized: str | None = None, *, has_other: bool = False
) -> list[PaneArea]:
    """The areas of a screen. `fronts` orders panes by when they were last chosen; `maximized` is the maximized pane.
    With `has_other`, the graph and the tags of another run are beside those of the current run.

    >>> [area.front for area in arrange_panes(80, 22, {"source": 1})]
    ['source', 'call', 'tags', 'timeline']
    >>> [area.front for area in arrange_panes(80, 22, {}, has_other=True)]
    ['graph', 'tags', 'other graph', 'other tags']
    """
    if maximized is not None:
        return [PaneArea((maximized,), maximized, 0, 0, width, height)]
    if has_other:
        columns: list[tuple[int, _AreaStack]] | None = pair_columns(width)
    else:
        columns = wide_columns(width) if width >= WIDE else medium_columns(width) if width >= MEDIUM else None
    if columns is None:
        return narrow_areas(width, height, fronts)
    areas, x = list[PaneArea](), 0
    for across, stack in columns:
        y = 0
        for panes, share in stack:
            tall = area_height(share, height, height - y)
            areas.append(_build_area(panes, fronts, x, y, across, tall))
            y += tall
        x += across
    return areas


def area_height(share: float, height: int, left: int) -> int:
    """The rows of an area: a share of the height; for share 1 all `left` rows, below 0 all but `-share` of them."""
    return left if share == 1 else round(height * share) if share > 0 else left + round(share)


_AreaStack = list[tuple[tuple[str, ...], float]]


def wide_columns(width: int) -> list[tuple[int, _AreaStack]]:
    """Three columns of panes: each with its width, and its areas with their shares of the height."""
    left, right = min(44, width * 24 // 100), min(72, width * 34 // 100)
    return [
        (left, [(("tags",), 0.36), (("call",), 0.3), (("inspector",), 1)]),
        (width - left - right, [(("graph",), -8), (("timeline",), 1)]),
        (right, [(("source",), 0.36), (("flight", "waiting", "cells", "code"), 0.3), (("events", "answers"), 1)]),
    ]


def medium_columns(width: int) -> list[tuple[int, _AreaStack]]:
    """Two columns of panes."""
    left = width * 54 // 100
    beside = (("call", "flight", "waiting", "cells", "inspector"), 0.34)
    return [
        (left, [(("graph",), -7), (("timeline",), 1)]),
        (width - left, [(("source", "code"), 0.34), beside, (("tags", "events", "answers"), 1)]),
    ]


def pair_columns(width: int) -> list[tuple[int, _AreaStack]]:
    """A column of panes for each of two runs, the graphs above the trees of tags; on a wide screen, the other panes of
    the current run are on the right."""
    right = width * 28 // 100 if width >= WIDE else 0
    left = (width - right) // 2
    source, state, answers = ("source", "code"), ("flight", "waiting", "cells"), ("events", "answers")
    above: tuple[str, ...] = ("graph",) if right else ("graph", *source, *state)
    below: tuple[str, ...] = ("tags", "call", "inspector", *(() if right else (*answers, "timeline")))
    columns: list[tuple[int, _AreaStack]] = [
        (left, [(above, 0.6), (below, 1)]),
        (width - right - left, [(OTHER_PANES[:1], 0.6), (OTHER_PANES[1:], 1)]),
    ]
    beside: _AreaStack = [(source, 0.36), (state, 0.3), ((*answers, "timeline"), 1)]
    return [*columns, (right, beside)] if right else columns


NARROW_RIGHT_PANES = ("call", "flight", "waiting", "cells"), ("tags", "inspector", "events", "answers")
"""The panes on the right of a narrow screen: those of the upper and of the lower area."""


def narrow_areas(width: int, height: int, fronts: Mapping[str, int]) -> list[PaneArea]:
    """The areas of a narrow screen: two columns above the timeline."""
    left, line = width * 62 // 100, 4
    upper = (height - line) // 2
    above, below = NARROW_RIGHT_PANES
    return [
        _build_area(("graph", "source", "code"), fronts, 0, 0, left, height - line),
        _build_area(above, fronts, left, 0, width - left, upper),
        _build_area(below, fronts, left, upper, width - left, height - line - upper),
        _build_area(("timeline",), fronts, 0, height - line, width, line),
    ]


def _build_area(panes: tuple[str, ...], fronts: Mapping[str, int], x: int, y: int, width: int, height: int) -> PaneArea:
    front = max(panes, key=lambda pane: fronts.get(pane, 0))
    return PaneArea(panes, front, x, y, width, height)
