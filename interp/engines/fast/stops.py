"""Where a run of the fast machine is to stop.

Of a condition the machine knows by itself one comparison: it stops before the steps at which that holds, each costs
some 10 us, and asks whether all does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from ...image.image import NODE, PORT
from ...image.opcodes import Code
from ...machine.event import Event
from ...machine.state import State
from .registers import NEED, Options, Sign, What
from .rows import ROW, rows_of
from .store import Store


class Need(NamedTuple):
    """What is needed for a run to stop at some step, as far as the machine looks."""

    what: What = What.ANY
    sign: Sign = Sign.EQUAL
    number: int | float = 0
    is_float: bool = False

    def words(self) -> tuple[int, int, int, int]:
        """A row of NEED."""
        word = int(np.float64(self.number).view(np.int64)) if self.is_float else int(self.number)
        return self.what, self.sign, word, self.is_float


ANY, NONE = Need(), Need(What.NONE)

Spot: TypeAlias = tuple[int, int | None]
"""The firings of a node; with a port, the tokens that come there and stay."""


@dataclass(frozen=True, slots=True)
class Stops:
    """Where a run is to stop: before one of these nodes fires, before an activation opens that is so deep, or after a
    firing that trapped.

    `needs` are spots where it stops where something more holds; then `is_hit` is asked, of the event that is next and a
    state that has done it, of which only the counts of steps and firings are there.
    """

    nodes: frozenset[int] = frozenset()
    depth: int | None = None
    traps: bool = False
    needs: Mapping[Spot, Need] = field(default_factory=dict)
    is_hit: Callable[[State, Event], bool] | None = None

    def spots(self) -> dict[Spot, Need]:
        """Where it stops before a step."""
        return {**self.needs, **{(node, None): ANY for node in self.nodes}}


def watch(store: Store, spots: Mapping[Spot, Need]) -> None:
    """Have the machine stop at these spots, and at no other."""
    image = store.image
    nodes, stays = [node for node, _ in spots], any(port is not None for _, port in spots)
    store.codes[:] = image.nodes[:, NODE.CODE]
    store.codes[nodes] = Code.STOP
    store.rows = rows_of(image).rows.copy()
    store.rows[np.isin(store.rows[:, ROW.NUMBER], nodes), ROW.CODE] = Code.STOP
    store.needs = np.zeros((len(image.ports), 2, len(NEED)), np.int64)
    store.needs[:, :, NEED.WHAT] = What.NONE
    for (node, port), need in spots.items():
        at = image.ports[:, PORT.NODE] == node if port is None else image.first_port[node] + port
        store.needs[at, int(port is not None)] = need.words()
    store.options[[Options.STAYS, Options.PLAIN]] = stays, store.is_plain and not stays
    store.has_moved()
