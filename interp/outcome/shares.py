"""Who has how many of a run's firings: functions, ops and sites. From the counts that every run keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, Site
from .statistics import Stats

T = TypeVar("T")


class SiteShare(NamedTuple):
    """A site's activations, which are its calls or the iterations of its loop, and the firings of its own nodes.

    Those are what the tags cost: the calls and returns, or what enters, goes round and exits. The firings inside its
    activations belong to the nodes that fire there.
    """

    activations: int
    firings: int


def firings_by_function(graph: Graph, stats: Stats) -> dict[str, int]:
    """The firings of each function's nodes, the most first."""
    return _sum_descending((node.function, n) for node, n in zip(graph.nodes, stats.by_node, strict=True))


def firings_by_op(graph: Graph, stats: Stats) -> dict[str, int]:
    """The firings of each op that the graph has, the most first."""
    return _sum_descending((node.op, n) for node, n in zip(graph.nodes, stats.by_node, strict=True))


def shares_by_site(graph: Graph, stats: Stats) -> dict[Site, SiteShare]:
    """The share of each site that the graph has, but for the environment's: the most firings first."""
    counts = zip(graph.nodes, stats.by_node, strict=True)
    own = _sum_descending((node.site, n) for node, n in counts if node.site not in (None, ENVIRONMENT))
    return {
        site: SiteShare(stats.activations_by_site.get(site, 0), firings)
        for site, firings in own.items()
        if site is not None
    }


def activations(graph: Graph, stats: Stats) -> dict[str, int]:
    """How often each function was called, the first call included."""
    entered = {graph.name: 1}
    for site, callee in graph.calls:
        entered[callee] = entered.get(callee, 0) + stats.activations_by_site.get(site, 0)
    return entered


def site_names(graph: Graph) -> dict[Site, str]:
    """A name for each site of the graph, `function.name`; where a site before it, by their first nodes, has that too,
    `#` and its position follow."""
    sites = dict.fromkeys(node.site for node in graph.nodes if node.site not in (None, ENVIRONMENT))
    found: dict[str, Site] = {}
    for position, site in enumerate(sites):
        if site is not None:
            found[f"{site}#{position}" if str(site) in found else str(site)] = site
    return {site: name for name, site in found.items()}


def _sum_descending(counts: Iterable[tuple[T, int]]) -> dict[T, int]:
    """The sums by key, the largest first; of equal ones, the one that came first."""
    sums: dict[T, int] = {}
    for key, count in counts:
        sums[key] = sums.get(key, 0) + count
    return dict(sorted(sums.items(), key=lambda entry: -entry[1]))
