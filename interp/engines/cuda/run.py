"""The engine `cuda`: what it supports, and a run of it from arguments to outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from threading import Lock
from typing import Any

from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ...image.image import Image, NodeColumn, build_image, is_boxed
from ...image.opcodes import Opcode
from ...outcome.outcome import Outcome
from ..protocol import Limits, resolve_limits
from ..reference import admit_arguments, first_state
from .device import missing_requirement
from .wave import WaveRun

_run_lock = Lock()
"""One run at a time: the simulator is for one thread."""


def unsupported(graph: Graph, options: dict[str, Any]) -> str | None:
    """Why a graph that keeps the rules cannot be run so, or None. `options` says which schedule, `until`, `keep` and
    `k` are wanted."""
    return (
        next(chain(_unsupported_options(options), unsupported_nodes(build_image(graph))), None) or missing_requirement()
    )


def _unsupported_options(asked: dict[str, Any]) -> Iterator[str]:
    if asked["keep"] is not None:
        yield "it keeps no events"
    if asked["schedule"] != "waves":
        yield "it runs by waves, and has no other schedule"
    if asked["until"] != "quiet":
        yield f"until={asked['until']!r}"
    if asked["k"] is not None:
        yield "it knows no bounds on iterations"


def unsupported_nodes(graph_image: Image) -> Iterator[str]:
    """What nodes of an image it has no kernels for."""
    if graph_image.has_loop_bounds:
        yield "it knows no bounds on iterations"
    for number, node in enumerate(graph_image.graph.nodes):
        first, code = graph_image.first_port[number], graph_image.nodes[number, NodeColumn.CODE]
        types = graph_image.port_types[first : first + len(node.ports)]
        if any(map(is_boxed, types)):
            yield f"{node} has operands that are no scalars"
        if node.op in ("reenter", "back"):
            yield f"{node} goes back through a loop"
        if code == Opcode.FALLBACK:
            yield f"{node} is {node.op}, which has no kernel there"


def run_cuda(
    graph: Graph, arguments: Sequence[object], *, limits: Limits | None, structure: TreeDef, seed: int = 0
) -> Outcome:
    """Run a graph that is supported; how it ends is data. Raises Usage where the arguments do not fit."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves", seed)
    with _run_lock:
        run = WaveRun(state, resolve_limits(limits))
        return run.outcome(run.go(), structure)
