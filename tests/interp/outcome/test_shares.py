"""Shares of firings by function, op and site: each table is counted again from the events of a run."""

from __future__ import annotations

from collections import Counter

import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.generators.generator import Case, cases
from support.laws.machine_laws import LIMITS
from support.programs.hand_written_graphs import counting_loop
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.tag import Site
from tagloom.interp.outcome.statistics import (
    SiteShare,
    activations,
    firings_by_function,
    firings_by_op,
    shares_by_site,
    unique_site_names,
)
from tagloom.interp.records.documents import to_outcome_record

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@settings(max_examples=15, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_shares_are_those_of_the_events(case: Case) -> None:
    """The firings by function, by op and by site are those of the events' nodes. A site's activations are the tags that
    end in it and received tokens. Functions share all firings, and so do ops. The largest shares come first."""
    graph = lower(case.program)
    out = tl.run_graph(graph, case.arguments, limits=LIMITS, keep="events")
    fired = [graph.nodes[event.token.node] for event in out.events if event.is_firing]
    functions, ops, sites = (table(graph, out.stats) for table in (firings_by_function, firings_by_op, shares_by_site))
    assert +Counter(functions) == Counter(node.function for node in fired)
    assert +Counter(ops) == Counter(node.op for node in fired)
    own = Counter(node.site for node in fired if node.site and node.site.function)
    opened = Counter(tag.site for tag in {token.tag for event in out.events for token in event.sent if token.tag.depth})
    assert sites == {site: SiteShare(opened[site], own[site]) for site in sites}
    assert set(own) <= set(sites) == {node.site for node in graph.nodes if node.site and node.site.function}
    assert sum(functions.values()) == sum(ops.values()) == out.firings
    for counts in (functions.values(), ops.values(), [share.firings for share in sites.values()]):
        assert list(counts) == sorted(counts, reverse=True)
    assert activations(graph, out.stats) == out.activations()


def test_shares_of_a_loop_counted_by_hand() -> None:
    """A loop to 2 has 3 iterations; 2 nodes enter it, 2 go round twice, and 2 leave it."""
    graph = counting_loop([("count", 0)])
    stats = tl.run_graph(graph, [2]).stats
    assert shares_by_site(graph, stats) == {
        Site("count", "loop", "loop"): SiteShare(activations=3, firings=2 + 2 * 2 + 2)
    }
    assert firings_by_function(graph, stats) == {"count": stats.firings}
    assert list(firings_by_op(graph, stats).items())[:3] == [("merge", 6), ("switch", 6), ("next_iteration", 4)]
    assert firings_by_op(graph, stats)["less"] == 3


def graph_with_equal_names(*sites: Site) -> Graph:
    builder = tl.GraphBuilder("twins")
    x = builder.argument("x", tl.Type(tl.int64))
    for site in sites:
        builder.node("call", "c", [x], [tl.Type(tl.int64)], site=site)
    return builder.build()


def test_names_of_sites() -> None:
    """Names distinguish the sites of any graph, even of an invalid graph with two sites of one name."""
    sites = [Site("a.b", "c", "call"), Site("a", "b.c", "call"), Site("a.b", "c", "loop"), Site("a", "b", "loop")]
    assert list(unique_site_names(graph_with_equal_names(*sites)).values()) == ["a.b.c", "a.b.c#1", "a.b.c#2", "a.b"]


def test_shares_in_the_record() -> None:
    """`--json` has the tables, with sites by name; in a document without them, they are unknown."""
    graph = counting_loop([("count", 0)])
    times = {"1": 27, "2": 17}
    for schedule in ("waves", "fifo"):
        out = tl.run_graph(graph, [2], schedule=schedule)
        document = tl.to_json(out)
        stats = document["stats"]
        assert stats["by_site"] == {"count.loop": {"activations": 3, "firings": 8}}
        assert (stats["by_function"], sum(stats["by_op"].values())) == ({"count": out.firings}, out.firings)
        assert stats["time_by_waves"] == (times if schedule == "waves" else None)
        assert tl.from_json(document) == to_outcome_record(out)
        for name in ("by_site", "by_function", "by_op", "time_by_waves"):
            del stats[name]
        read = tl.from_json(document)
        assert isinstance(read, tl.OutcomeRecord) and read.stats is not None
        assert read.stats["by_site"] is read.stats["by_op"] is None
