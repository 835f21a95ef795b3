"""The engine protocol: a job, the options of a run, and the members of an engine.

A third-party engine is an object with these three members, registered under the entry-point group `tagloom.engines`
(see `registry`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy.typing as npt

from ...core.errors import Usage
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.program.program import Program
from ...core.world import World
from ..machine.schedule import Script
from ..outcome.outcome import Outcome
from ..records.event_sink import KeepOption
from .limits import Limits

Until: TypeAlias = Literal["quiet", "result", "trap"]
UNTIL_CHOICES: tuple[Until, ...] = ("quiet", "result", "trap")


def check_until(until: Until) -> None:
    """Raises Usage for an unknown value of `until`."""
    if until not in UNTIL_CHOICES:
        raise Usage(f"until cannot be {until!r}", required=", ".join(UNTIL_CHOICES))


class Job(NamedTuple):
    """A job of an engine: a validated graph, and the program that it was lowered from, if known."""

    graph: Graph
    structure: TreeDef
    program: Program | None = None
    is_ill_formed: bool = False
    """Whether the graph breaks rules and runs unchecked."""


class PackedArrays(NamedTuple):
    """Arrays that are consecutive arguments of a run, as generated code takes them."""

    words: Sequence[int]
    """For each array 0, the address of its elements, and its sizes."""
    memory: Sequence[npt.NDArray[Any]]
    """The arrays whose memory has the elements of all."""


class RunOptions(NamedTuple):
    """The options of a run. With `measures` the caller needs firings, statistics and residue; otherwise
    only the value."""

    schedule: str | Script = "waves"
    until: Until = "quiet"
    limits: Limits | None = None
    keep: KeepOption = None
    seed: int = 0
    k: int | None = None
    world: World | None = None
    measures: bool = True
    cores: int | None = None
    workers: int | None = None
    cluster: str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    resume: str | os.PathLike[str] | None = None
    timeline: bool = False
    soft_placement: bool = False

    @property
    def has_worker_options(self) -> bool:
        """Whether an option for workers has a value."""
        values = self.workers, self.cluster, self.checkpoint, self.resume, self.timeline, self.soft_placement
        return values != (None, None, None, None, False, False)

    def token_engine_options(self) -> dict[str, Any]:
        """The options that every token engine takes, by name."""
        names = ("schedule", "until", "limits", "seed", "k", "world")
        return {name: getattr(self, name) for name in names}


class Engine(Protocol):
    """An engine: runs jobs.

    It may also have these attributes:

    - `has_tokens`: whether its outcomes have the statistics, traps and residue of the reference. If so, `tagloom check`
      compares all of them; otherwise it compares the results, or the first trap.
    - `runs_without_tokens(job, options)`: whether an engine with tokens runs this job with these options without them.
    - `parallel_options`: the values of other options that a run on several cores requires, by name. An engine without
      it runs on one core.
    - `has_workers`: whether it takes `workers`, `cluster`, `checkpoint`, `resume`, `timeline` and `soft_placement`.
    - `is_selector`: whether it only chooses among other engines, so that `tagloom check` need not run it.
    """

    @property
    def name(self) -> str:
        """The name that `engine=` and `--engine` take."""

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        """Why this engine cannot run the job with these options; None if it can. Called before each run."""

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        """Run a supported job. How it ends is data; raises Usage where the arguments do not fit."""
