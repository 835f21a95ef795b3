"""Stops: the steps before which a run of the fast machine stops.

The machine itself evaluates one comparison of a condition. It stops before the steps at which that holds, at a cost of
some 10 us each, and the whole condition is evaluated then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from ...image.image import NodeColumn, PortColumn
from ...image.opcodes import Opcode
from ...machine.event import Event
from ...machine.state import State
from .registers import ComparisonColumn, MachineOption, StopOperator, StopQuantity
from .rows import DeliveryColumn, delivery_table
from .store import TokenStore


class StopComparison(NamedTuple):
    """What is needed for a run to stop at some step, as far as the machine looks."""

    quantity: StopQuantity = StopQuantity.ALWAYS
    operator: StopOperator = StopOperator.EQUAL
    number: int | float = 0
    is_float: bool = False

    def to_row(self) -> tuple[int, int, int, int]:
        """A row of NEED."""
        word = int(np.float64(self.number).view(np.int64)) if self.is_float else int(self.number)
        return self.quantity, self.operator, word, self.is_float


ALWAYS_STOP, NEVER_STOP = StopComparison(), StopComparison(StopQuantity.NEVER)

StopPoint: TypeAlias = tuple[int, int | None]
"""The firings of a node; with a port, the tokens that come there and stay."""


@dataclass(frozen=True, slots=True)
class StopConditions:
    """Where a run is to stop: before one of these nodes fires, before an activation opens that is so deep, or after a
    firing that trapped.

    `comparisons` are spots where it stops where something more holds; then `is_hit` is asked, of the event that is
    next and a state that has done it, of which only the counts of steps and firings are there.
    """

    nodes: frozenset[int] = frozenset()
    depth: int | None = None
    traps: bool = False
    comparisons: Mapping[StopPoint, StopComparison] = field(default_factory=dict)
    is_hit: Callable[[State, Event], bool] | None = None

    def stop_points(self) -> dict[StopPoint, StopComparison]:
        """Where it stops before a step."""
        return {**self.comparisons, **{(node, None): ALWAYS_STOP for node in self.nodes}}


def install_stop_points(store: TokenStore, spots: Mapping[StopPoint, StopComparison]) -> None:
    """Have the machine stop at these spots, and at no other."""
    image = store.image
    nodes, stays = [node for node, _ in spots], any(port is not None for _, port in spots)
    store.codes[:] = image.nodes[:, NodeColumn.CODE]
    store.codes[nodes] = Opcode.BREAKPOINT
    store.delivery_rows = delivery_table(image).rows.copy()
    store.delivery_rows[np.isin(store.delivery_rows[:, DeliveryColumn.NODE], nodes), DeliveryColumn.CODE] = (
        Opcode.BREAKPOINT
    )
    store.comparisons = np.zeros((len(image.ports), 2, len(ComparisonColumn)), np.int64)
    store.comparisons[:, :, ComparisonColumn.QUANTITY] = StopQuantity.NEVER
    for (node, port), need in spots.items():
        at = image.ports[:, PortColumn.NODE] == node if port is None else image.first_port[node] + port
        store.comparisons[at, int(port is not None)] = need.to_row()
    store.options[[MachineOption.STOPS_AT_WAITING, MachineOption.HAS_SCALAR_PATH]] = (
        stays,
        store.allows_scalar_path and not stays,
    )
    store.mark_moved()
