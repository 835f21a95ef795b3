"""Placement: the nodes of a program that fire on the worker of their device.

The devices of a program are the first device, which begins the run, and those that `tl.device` names; the worker of a
device has its position among them. A call or loop with a device has its activation there, and is not given to another
worker. Operands are matched where their activation is. If that is on a different worker than the node, one message has
all operands, and another one the result. So a node waits for nothing but its operands, and a firing that is repeated
after a rollback has the same node, tag and operands.

Other routing nodes compute nothing. They act where their activation is, which may be any worker, and so do nodes
without a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....core.errors import Usage
from ....core.graph.graph import Graph
from ....core.graph.partition import find_places, list_devices, node_constraints, unmet_constraints
from ....core.ops.routing import ROUTING_OPS
from ...machine.fire import FiringRule
from ..limits import LimitMonitor, Limits
from ..long_ops import compute_abandonable, exceeds_memory, may_take_long
from .messages import FiringRequest, FiringResult

ENTRY_OPS = ("call", "enter")
"""The ops that open activations."""


class WorkerPlacement(NamedTuple):
    """The devices of a program, and for each node the rank of the worker on which it fires, or None for any; for an
    entry of a call or loop, of the worker that has its activation."""

    devices: tuple[str, ...]
    ranks: tuple[int | None, ...]
    unmet_constraints: tuple[str, ...] = ()
    """Soft constraints that the placement does not meet (`unmet_constraints`)."""


def find_placement(graph: Graph, *, is_soft: bool = False, worker_count: int | None = None) -> WorkerPlacement:
    """The placement of a graph; without devices where no source line names one. With `is_soft`, the program has at most
    `worker_count` devices, and a constraint that none of them meets is not kept. Raises Usage where the devices that a
    group of nodes requires are not one."""
    constraints = node_constraints(graph)
    if not any(constraints):
        return WorkerPlacement((), (None,) * len(graph.nodes))
    devices = list_devices(constraints)[: worker_count if is_soft else None]
    places = find_places(graph, constraints, devices, is_soft=is_soft)
    ranks = (
        place if node.op in ENTRY_OPS or node.op not in ROUTING_OPS else None
        for node, place in zip(graph.nodes, places, strict=True)
    )
    return WorkerPlacement(tuple(map(str, devices)), tuple(ranks), unmet_constraints(constraints, places, devices))


def require_workers(placement: WorkerPlacement, worker_count: int) -> None:
    """Raises Usage if the devices of a program are more than the workers of a run."""
    if len(placement.devices) > worker_count:
        required = f"a worker for each of {', '.join(placement.devices)}"
        hint = "soft_placement=True, or --soft-placement, moves the nodes of the last devices to the closest others"
        message = "the program has more devices than the run has workers"
        raise Usage(message, required=required, got=str(worker_count), hint=hint)


def fire_placed(
    request: FiringRequest, rules: Sequence[FiringRule], limits: Limits, monitor: LimitMonitor
) -> FiringResult:
    """Compute a firing for another worker. Raises MemoryError where the result does not fit, and OpAbandoned if a limit
    ends the run meanwhile."""
    (node_number, _, tag, _), inputs, _ = request
    rule = rules[node_number]
    node = rule.node
    if exceeds_memory(node, inputs, limits.bytes):
        raise MemoryError

    if may_take_long(node.op, inputs, node.outputs[0].type):
        outputs, trap = compute_abandonable(lambda: rule.fire(inputs, tag), lambda: monitor.exceeded_limit(0, None))
    else:
        outputs, trap = rule.fire(inputs, tag)
    return FiringResult(node_number, tag, outputs, trap, 0)
