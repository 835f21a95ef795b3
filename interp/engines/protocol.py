"""The engine protocol: a job, the options of a run, and the members of an engine.

A third-party engine is an object with these three members, registered under the entry-point group `tagloom.engines`
(see `registry`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.program.program import Program
from ...core.world import World
from ..machine.schedule import Script
from ..outcome.outcome import Outcome
from ..records.keep import KeepOption
from .limits import Limits, Until


class Job(NamedTuple):
    """What to run: a validated graph, and the program that it was lowered from, if known."""

    graph: Graph
    structure: TreeDef
    program: Program | None = None
    is_ill_formed: bool = False
    """Whether the graph breaks rules and runs unchecked."""


class RunOptions(NamedTuple):
    """The options of a run. With `account` the caller wants firings, statistics and residue; without, only the
    value."""

    schedule: str | Script = "waves"
    until: Until = "quiet"
    limits: Limits | None = None
    keep: KeepOption = None
    seed: int = 0
    k: int | None = None
    world: World | None = None
    account: bool = True
    cores: int | None = None

    def token_engine_options(self) -> dict[str, Any]:
        """The options that every token engine takes, by name."""
        names = ("schedule", "until", "limits", "seed", "k", "world")
        return {name: getattr(self, name) for name in names}


class Engine(Protocol):
    """Runs jobs.

    An engine may also have an attribute `has_tokens`: true where its outcomes have the statistics, traps and residue of
    the reference. `tagloom check` then compares them all; else it compares results, or the first trap.
    """

    @property
    def name(self) -> str:
        """The name that `engine=` and `--engine` take."""

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        """Why this engine cannot run the job with these options; None if it can. Called before each run."""

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        """Run a supported job. How it ends is data; raises Usage where the arguments do not fit."""
