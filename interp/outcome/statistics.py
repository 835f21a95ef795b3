"""Statistics of a run, collected during the run, and its firings by function, op and site.

Time is measured in waves: in a wave, every node that can fire fires, and every op takes one unit. So the span, the
parallelism and the profiles exist only under the schedule `waves`, and are None under any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, Site
from ...deprecation import RenamedAttribute
from ..machine.event import Event
from ..machine.state import State


@dataclass(frozen=True, slots=True)
class Stats:
    """The statistics of a run.

    firings              the work: nodes fired, routing ops included
    steps                tokens delivered
    span                 the length of the longest chain of firings, in waves
    parallelism          the average parallelism: work / span
    profile              P(t): firings in each wave
    waiting              W(t): tokens waiting at the end of each wave
    largest_store        the most tokens that waited at once, after any step
    largest_flight       the most tokens in flight, at the beginning or after any step
    deepest_tag          the longest path of a tag; the root's is 0
    by_node              firings of each node, by its number in the graph
    activations_by_site  activations of each site: calls, or iterations of a loop

    After a run on several cores or workers, `largest_store` and `largest_flight` are those at the ends of waves, since
    the events of a wave have no order there. After one on workers, a wave is all firings of one depth, which makes a
    difference for programs with cells only (`engines/distributed/meter.py`).

    Profiles are tuples, or sequences equal to tuples.
    """

    firings: int
    steps: int
    span: int | None
    parallelism: float | None
    profile: Sequence[int] | None
    waiting: Sequence[int] | None
    largest_store: int
    largest_flight: int
    deepest_tag: int
    by_node: tuple[int, ...]
    activations_by_site: Mapping[Site, int]

    critical_path = RenamedAttribute("span")


class Meter:
    """Collects statistics, event by event."""

    def __init__(self, state: State, *, is_clocked: bool) -> None:
        self.state = state
        self.is_clocked = is_clocked
        self.largest_store = 0
        self.largest_flight = len(state.flight)
        self.deepest_tag = 0
        self.firings_at_wave_start = state.firings
        self.wave_profile: list[int] = []
        self.wave_waiting: list[int] = []

    def observe(self, event: Event) -> None:
        """Count an event that has just been applied to the state."""
        state = self.state
        if event.inputs is None:
            if state.waiting_count > self.largest_store:
                self.largest_store = state.waiting_count
        elif event.sent:
            if len(state.flight) > self.largest_flight:
                self.largest_flight = len(state.flight)
            depth = event.sent[0].tag.depth
            if depth > self.deepest_tag:
                self.deepest_tag = depth
        if event.ends_wave and self.is_clocked:
            self.wave_profile.append(state.firings - self.firings_at_wave_start)
            self.wave_waiting.append(state.waiting_count)
            self.firings_at_wave_start = state.firings

    def stats(self) -> Stats:
        """The statistics so far; an unfinished wave counts as one."""
        state, profile = self.state, list(self.wave_profile)
        if state.firings > self.firings_at_wave_start:
            profile.append(state.firings - self.firings_at_wave_start)
        while profile and not profile[-1]:
            profile.pop()
        span = len(profile)
        return Stats(
            firings=state.firings,
            steps=state.steps,
            span=span if self.is_clocked else None,
            parallelism=(state.firings / span if span else 0.0) if self.is_clocked else None,
            profile=tuple(profile) if self.is_clocked else None,
            waiting=tuple(self.wave_waiting) if self.is_clocked else None,
            largest_store=self.largest_store,
            largest_flight=self.largest_flight,
            deepest_tag=self.deepest_tag,
            by_node=tuple(state.firings_by_node),
            activations_by_site=dict(state.activations_by_site),
        )


T = TypeVar("T")


class SiteShare(NamedTuple):
    """The activations of a site (calls, or iterations of a loop), and the firings of the site's own nodes.

    The site's own nodes are the cost of tags: calls and returns, or the entries, next iterations and exits of a loop.
    Firings inside its activations belong to the nodes that fire there.
    """

    activations: int
    firings: int


def firings_by_function(graph: Graph, stats: Stats) -> dict[str, int]:
    """The firings of each function's nodes, in descending order."""
    return _sum_descending((node.function, n) for node, n in zip(graph.nodes, stats.by_node, strict=True))


def firings_by_op(graph: Graph, stats: Stats) -> dict[str, int]:
    """The firings of each op of the graph, in descending order."""
    return _sum_descending((node.op, n) for node, n in zip(graph.nodes, stats.by_node, strict=True))


def shares_by_site(graph: Graph, stats: Stats) -> dict[Site, SiteShare]:
    """The share of each site of the graph, except the environment's, by descending firings."""
    counts = zip(graph.nodes, stats.by_node, strict=True)
    site_counts = _sum_descending((node.site, n) for node, n in counts if node.site not in (None, ENVIRONMENT))
    return {
        site: SiteShare(stats.activations_by_site.get(site, 0), firings)
        for site, firings in site_counts.items()
        if site is not None
    }


def activations(graph: Graph, stats: Stats) -> dict[str, int]:
    """How often each function was called, the first call included."""
    entered = {graph.name: 1}
    for site, callee in graph.calls:
        entered[callee] = entered.get(callee, 0) + stats.activations_by_site.get(site, 0)
    return entered


def unique_site_names(graph: Graph) -> dict[Site, str]:
    """A name for each site of the graph, `function.name`; a name that an earlier site already has is followed by `#`
    and the site's position."""
    sites = dict.fromkeys(node.site for node in graph.nodes if node.site not in (None, ENVIRONMENT))
    site_by_name: dict[str, Site] = {}
    for position, site in enumerate(sites):
        if site is not None:
            site_by_name[f"{site}#{position}" if str(site) in site_by_name else str(site)] = site
    return {site: name for name, site in site_by_name.items()}


def _sum_descending(counts: Iterable[tuple[T, int]]) -> dict[T, int]:
    """The sums by key, in descending order; equal sums keep their order of appearance."""
    sums: dict[T, int] = {}
    for key, count in counts:
        sums[key] = sums.get(key, 0) + count
    return dict(sorted(sums.items(), key=lambda entry: -entry[1]))
