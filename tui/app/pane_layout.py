"""The desk: where the panes stand, which of those that share a place is in front, and how large each is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.app import ComposeResult
from textual.containers import Container

from ..panes.arrange import PANES, Slot, arranged
from ..panes.screen import Size
from .graph import GraphPane
from .lines import Lines
from .pane import Pane
from .timeline import TimelinePane

LINES = 3
"""Below the panes stand what happened, where one is, and keys."""


class Desk(Container):
    """The panes."""

    def __init__(self) -> None:
        super().__init__(id="desk")
        self.sizes: Mapping[str, Size] = {}
        """Of the panes that are shown."""
        self._fronts: dict[str, int] = {}
        self._asked = 0
        self._alone: str | None = None
        self._room = (80, 24 - LINES)

    def compose(self) -> ComposeResult:
        yield GraphPane()
        for pane in PANES[1:-1]:
            yield Lines(pane)
        yield TimelinePane()

    def panes(self) -> Mapping[str, Pane]:
        """All of them, by name."""
        return {pane.pane: pane for pane in self.query(Pane)}

    def stand(self) -> None:
        """Put the panes where they stand."""
        self._room = (self.app.size.width, max(self.app.size.height - LINES, 6))
        slots = {slot.front: slot for slot in arranged(*self._room, self._fronts, self._alone)}
        for name, pane in self.panes().items():
            pane.display = name in slots
            if name in slots:
                pane.place(slots[name])
        self.sizes = _sizes(slots.values())

    def sizes_with(self, front: str | None) -> Mapping[str, Size]:
        """The sizes of the panes that are shown once this one is: it is looked at before it stands there."""
        if front is None or front in self.sizes:
            return self.sizes
        fronts = {**self._fronts, front: self._asked + 1}
        return _sizes(arranged(*self._room, fronts, None if self._alone is None else front))

    def bring(self, pane: str) -> None:
        """Have a pane stand in front, where one stays."""
        self._asked += 1
        self._fronts[pane] = self._asked
        if self._alone is not None:
            self._alone = pane
        self.stand()

    def turn_alone(self, pane: str) -> None:
        """Give a pane all the room, or take it back from the one that has it."""
        self._alone = None if self._alone is not None else pane
        self.stand()


def _sizes(slots: Iterable[Slot]) -> Mapping[str, Size]:
    return {slot.front: Size(max(slot.width - 2, 1), max(slot.height - 2, 1)) for slot in slots}
