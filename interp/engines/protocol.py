"""The engine protocol: a job, the options and limits of a run, and the members of an engine.

A third-party engine is an object with these three members, registered under the entry-point group `tagloom.engines`
(see `registry`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from ...core.errors import Usage
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.program.program import Program
from ...core.world import World
from ..machine.schedule import Script
from ..outcome.outcome import Outcome
from ..records.event_sink import KeepOption
from .interrupt import machine_memory

Until: TypeAlias = Literal["quiet", "result", "trap"]
UNTIL_CHOICES: tuple[Until, ...] = ("quiet", "result", "trap")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that end a run. By default depth and memory are limited, which protects the machine; firings, tokens
    and seconds are not. Firings, tokens and depth are exact."""

    firings: int | None = None
    """The number of firings, or None for no limit."""
    tokens: int | None = None
    """Tokens alive at once, in flight, waiting, in deferred reads, and throttled; or None for no limit."""
    depth: int = 250_000
    """The depth of a tag: the number of nested calls and loops."""
    bytes: int = field(default_factory=lambda: machine_memory() // 2)
    """The resident memory of the process, in bytes; by default half of the machine's memory."""
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("firings", "tokens", "depth", "bytes"):
            number = getattr(self, name)
            if number is None and name in ("firings", "tokens"):
                continue
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise Usage(f"the limit on {name} must be an integer from 0 up", got=repr(number))
        if self.seconds is not None and not (type(self.seconds) in (int, float) and 0 <= self.seconds < math.inf):
            raise Usage("the limit on seconds must be a number from 0 up", got=repr(self.seconds))

    @property
    def max_firings(self) -> float:
        """The greatest number of firings; infinite if there is no limit."""
        return math.inf if self.firings is None else self.firings

    @property
    def max_tokens(self) -> float:
        """The greatest number of tokens alive at once; infinite if there is no limit."""
        return math.inf if self.tokens is None else self.tokens


def check_until(until: Until) -> None:
    """Raises Usage for an unknown value of `until`."""
    if until not in UNTIL_CHOICES:
        raise Usage(f"until cannot be {until!r}", required=", ".join(UNTIL_CHOICES))


def resolve_limits(limits: Limits | None) -> Limits:
    """The given limits, or the defaults; raises Usage for invalid ones."""
    if limits is not None and not isinstance(limits, Limits):
        raise Usage(
            "limits must be tl.Limits", required="limits=tl.Limits(firings=1000)", got=repr(limits), python=TypeError
        )
    return Limits() if limits is None else limits


class Job(NamedTuple):
    """What to run: a validated graph, and the program that it was lowered from, if known."""

    graph: Graph
    structure: TreeDef
    program: Program | None = None
    is_ill_formed: bool = False
    """Whether the graph breaks rules and runs unchecked."""


class RunOptions(NamedTuple):
    """The options of a run. With `account` the caller needs firings, statistics and residue; without it, only the
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
    """An engine: runs jobs.

    It may also have these attributes:

    - `has_tokens`: whether its outcomes have the statistics, traps and residue of the reference. If so, `tagloom check`
      compares all of them; otherwise it compares the results, or the first trap.
    - `parallel_options`: the values of other options that a run on several cores requires, by name. An engine without
      it runs on one core.
    - `is_selector`: whether it only chooses among other engines, so that `tagloom check` need not run it.
    """

    @property
    def name(self) -> str:
        """The name that `engine=` and `--engine` take."""

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        """Why this engine cannot run the job with these options; None if it can. Called before each run."""

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        """Run a supported job. How it ends is data; raises Usage where the arguments do not fit."""
