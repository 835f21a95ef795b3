"""The layout of the panes: the area and size of each, and which of the panes that share an area is in front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.app import ComposeResult
from textual.containers import Container

from ..panes.arrange import OTHER_PANES, PANES, PaneArea, arrange_panes
from ..panes.screen import PaneSize
from .graph import GraphPane
from .lines import LinesPane, TimelinePane
from .pane import Pane

RESERVED_LINES = 3
"""The rows below the panes: the last event, the position, and key hints."""


class PaneLayout(Container):
    """The container of all panes."""

    def __init__(self) -> None:
        super().__init__(id="pane-layout")
        self.sizes: Mapping[str, PaneSize] = {}
        """The inner sizes of the visible panes."""
        self._front_order: dict[str, int] = {}
        self._front_count = 0
        self._maximized_pane: str | None = None
        self._pane_room = (80, 24 - RESERVED_LINES)
        self.has_other = False
        """Whether there are panes for a run beside the current one."""

    def compose(self) -> ComposeResult:
        yield GraphPane()
        for pane in PANES:
            if pane not in ("graph", "timeline"):
                yield LinesPane(pane)
        yield TimelinePane()
        yield GraphPane(OTHER_PANES[0])
        yield LinesPane(OTHER_PANES[1])

    def panes(self) -> Mapping[str, Pane]:
        """All panes, by name."""
        return {pane.pane: pane for pane in self.query(Pane)}

    def place_panes(self) -> None:
        """Move the panes to their areas."""
        self._pane_room = (self.app.size.width, max(self.app.size.height - RESERVED_LINES, 6))
        if not self.has_other and self._maximized_pane in OTHER_PANES:
            self._maximized_pane = None
        areas = {area.front: area for area in self._arrange(self._front_order, self._maximized_pane)}
        for name, pane in self.panes().items():
            pane.display = name in areas
            if name in areas:
                pane.move_to_area(areas[name])
        self.sizes = pane_sizes(areas.values())

    def sizes_with_front(self, front: str | None) -> Mapping[str, PaneSize]:
        """The sizes of the panes that will be visible once `front` is in front; they are needed before that, because
        its content is computed first."""
        if front is None or front in self.sizes:
            return self.sizes
        fronts = {**self._front_order, front: self._front_count + 1}
        return pane_sizes(self._arrange(fronts, None if self._maximized_pane is None else front))

    def _arrange(self, fronts: Mapping[str, int], maximized: str | None) -> list[PaneArea]:
        return arrange_panes(*self._pane_room, fronts, maximized, has_other=self.has_other)

    def bring_to_front(self, pane: str) -> None:
        """Bring a pane to the front and keep the focus."""
        self._front_count += 1
        self._front_order[pane] = self._front_count
        if self._maximized_pane is not None:
            self._maximized_pane = pane
        self.place_panes()

    def toggle_maximized(self, pane: str) -> None:
        """Maximize a pane, or show all panes again if one is maximized."""
        self._maximized_pane = None if self._maximized_pane is not None else pane
        self.place_panes()


def pane_sizes(areas: Iterable[PaneArea]) -> Mapping[str, PaneSize]:
    """The inner size of the front pane of each area, in cells."""
    return {area.front: PaneSize(max(area.width - 2, 1), max(area.height - 2, 1)) for area in areas}
