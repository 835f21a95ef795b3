"""The engine `cuda`: what it supports, and a run of it from arguments to outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from threading import Lock
from typing import Any

from ....core.frontend.trace.pytree import Structure
from ....core.graph.graph import Graph
from ...image.build import image
from ...image.image import NODE, Image, is_boxed
from ...image.opcodes import Code
from ...outcome.outcome import Outcome
from ..reference import Limits, admit_arguments, first_state, limits_of
from .device import lacks
from .wave import Waves

_at_work = Lock()
"""One run at a time: the simulator is for one thread."""


def supports(graph: Graph, asked: dict[str, Any]) -> str | None:
    """Why a graph that keeps the rules cannot be run so, or None. `asked` says which schedule, `until`, `keep` and `k`
    are wanted."""
    return next(chain(_options(asked), lacking(image(graph))), None) or lacks()


def _options(asked: dict[str, Any]) -> Iterator[str]:
    if asked["keep"] is not None:
        yield "it keeps no events"
    if asked["schedule"] != "waves":
        yield "it runs by waves, and has no other schedule"
    if asked["until"] != "quiet":
        yield f"until={asked['until']!r}"
    if asked["k"] is not None:
        yield "it knows no bounds on iterations"


def lacking(made: Image) -> Iterator[str]:
    """What nodes of an image it has no kernels for."""
    if made.is_bounded:
        yield "it knows no bounds on iterations"
    for number, node in enumerate(made.graph.nodes):
        first, code = made.first_port[number], made.nodes[number, NODE.CODE]
        types = made.port_types[first : first + len(node.ports)]
        if any(map(is_boxed, types)):
            yield f"{node} has operands that are no scalars"
        if node.op in ("reenter", "back"):
            yield f"{node} goes back through a loop"
        if code == Code.LEAVE:
            yield f"{node} is {node.op}, which has no kernel there"


def run_cuda(
    graph: Graph, arguments: Sequence[object], *, limits: Limits | None, structure: Structure, seed: int = 0
) -> Outcome:
    """Run a graph that is supported; how it ends is data. Raises Usage where the arguments do not fit."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves", seed)
    with _at_work:
        run = Waves(state, limits_of(limits))
        return run.outcome(run.go(), structure)
