"""The firings of a run by function, op and site, from the counts that every run keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, Site
from .statistics import Stats

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
    """A name for each site of the graph, `function.name`; a name that an earlier site already has is followed by `#`
    and the site's position."""
    sites = dict.fromkeys(node.site for node in graph.nodes if node.site not in (None, ENVIRONMENT))
    found: dict[str, Site] = {}
    for position, site in enumerate(sites):
        if site is not None:
            found[f"{site}#{position}" if str(site) in found else str(site)] = site
    return {site: name for name, site in found.items()}


def _sum_descending(counts: Iterable[tuple[T, int]]) -> dict[T, int]:
    """The sums by key, in descending order; equal sums keep their order of appearance."""
    sums: dict[T, int] = {}
    for key, count in counts:
        sums[key] = sums.get(key, 0) + count
    return dict(sorted(sums.items(), key=lambda entry: -entry[1]))
