"""Stop conditions: before which steps a run of the fast machine stops.

The machine evaluates one comparison of a condition. It pauses before each step at which the comparison holds, which
takes some 10 us, and Python then evaluates the whole condition.
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
from .delivery_table import DeliveryColumn, delivery_table
from .layout import ComparisonColumn, MachineOption, StopOperator, StopQuantity
from .store import TokenStore


class StopComparison(NamedTuple):
    """The comparison that must hold for a run to stop at a step: the part of a condition that the machine evaluates."""

    quantity: StopQuantity = StopQuantity.ALWAYS
    operator: StopOperator = StopOperator.EQUAL
    number: int | float = 0
    is_float: bool = False

    def to_row(self) -> tuple[int, int, int, int]:
        """The row of the store's `comparisons`."""
        word = int(np.float64(self.number).view(np.int64)) if self.is_float else int(self.number)
        return self.quantity, self.operator, word, self.is_float


ALWAYS_STOP, NEVER_STOP = StopComparison(), StopComparison(StopQuantity.NEVER)

StopPoint: TypeAlias = tuple[int, int | None]
"""A node, for its firings; or a node and a port, for the tokens that wait there."""


@dataclass(frozen=True, slots=True)
class StopConditions:
    """Where a run stops: before one of `nodes` fires, before an activation of this `depth` opens, or after a trap.

    It also stops at each point of `comparisons` at which the comparison holds and `is_hit` returns True. `is_hit` gets
    the next event and the state after it, which has only the counts of steps and firings.
    """

    nodes: frozenset[int] = frozenset()
    depth: int | None = None
    traps: bool = False
    comparisons: Mapping[StopPoint, StopComparison] = field(default_factory=dict)
    is_hit: Callable[[State, Event], bool] | None = None

    def stop_points(self) -> dict[StopPoint, StopComparison]:
        """The points at which the machine pauses, with their comparisons."""
        return {**self.comparisons, **{(node, None): ALWAYS_STOP for node in self.nodes}}


def install_stop_points(store: TokenStore, points: Mapping[StopPoint, StopComparison]) -> None:
    """Have the machine pause at these points, and at no others."""
    image = store.image
    nodes, has_waiting_points = [node for node, _ in points], any(port is not None for _, port in points)
    store.codes[:] = image.nodes[:, NodeColumn.CODE]
    store.codes[nodes] = Opcode.BREAKPOINT
    store.delivery_rows = delivery_table(image).rows.copy()
    store.delivery_rows[np.isin(store.delivery_rows[:, DeliveryColumn.NODE], nodes), DeliveryColumn.CODE] = (
        Opcode.BREAKPOINT
    )
    store.comparisons = np.zeros((len(image.ports), 2, len(ComparisonColumn)), np.int64)
    store.comparisons[:, :, ComparisonColumn.QUANTITY] = StopQuantity.NEVER
    for (node, port), comparison in points.items():
        ports = image.ports[:, PortColumn.NODE] == node if port is None else image.first_port[node] + port
        store.comparisons[ports, int(port is not None)] = comparison.to_row()
    store.options[[MachineOption.STOPS_AT_WAITING, MachineOption.HAS_SCALAR_PATH]] = (
        has_waiting_points,
        store.allows_scalar_path and not has_waiting_points,
    )
    store.mark_moved()
